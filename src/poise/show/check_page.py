"""The page of a check: what failed first, then each clip with its pictures, and what each finding means at the end.

Pictures of a clip are a strip of figures, and the player's plots with what a flight would do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from poise import __version__
from poise.analysis.analyze import Analysis
from poise.body.anatomy import side_of
from poise.check.finding import FLAWS, Finding, frame_words
from poise.check.library import Group
from poise.check.profile import Limit, Profile
from poise.check.report import ClipReport, Pictures
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.phases.points import body_points, body_tips, pelvis
from poise.phases.travel import direction_of_travel
from poise.show.page import WEB, filled, json_text
from poise.show.physics import BALLISTIC_COLOR, plots
from poise.show.scene import Plot, Series

BUNDLE = WEB / "dist" / "check.html"
"""The built page around what is written here."""
MOST_LINKS = 4
"""Stretches of a finding that are linked."""
_ORDER = {"unreadable": 0, "fail": 1, "pass": 2}


def page(
    reports: Sequence[ClipReport], groups: Sequence[Group], profile: Profile, players: Mapping[str, str] | None = None
) -> str:
    """One HTML file that needs nothing else: no font, no address. Every name in it is escaped.

    Its script draws the plots, with the player's code; its content policy allows that script and no other.

    Args:
        reports: Of the clips.
        groups: Of the library.
        profile: What was judged by.
        players: Recordings of clips by the clips' names, as addresses beside the page; frames and plots link to them.

    Raises:
        MissingPage: if the player is not in this installation.
    """
    players = players or {}
    shown = sorted((r for r in reports if r.verdict != "skipped"), key=lambda r: (_ORDER[r.verdict], r.name))
    body = "".join(
        [
            _overview(shown),
            _strays(groups),
            *(_section(r, k, players.get(r.name, "")) for k, r in enumerate(shown)),
            _meaning(profile),
        ]
    )
    switch = '<input type="checkbox" id="only"> <label for="only">hide clips that pass</label>'
    return filled(
        f"Poise check: {_counted(shown)}",
        f'<h1>Poise check</h1><p class="lead">{_lead(shown, profile)}</p>{switch if len(shown) > 1 else ""}'
        f"<main>{body}</main>",
        bundle=BUNDLE,
    )


def _counted(reports: Sequence[ClipReport]) -> str:
    counts = Counter(r.label for r in reports)
    labels = ("fail", "unreadable", "in part", "pass")
    return ", ".join(f"{counts[v]} {v}" for v in labels if counts[v]) or "no clips"


def _lead(reports: Sequence[ClipReport], profile: Profile) -> str:
    about = f": {escape(profile.about)}" if profile.about else ""
    return (
        f"<b>{len(reports)} clip{'s' if len(reports) != 1 else ''}</b>: {_counted(reports)}. "
        f"Profile <b>{escape(profile.name)}</b>{about} Poise {escape(__version__)}."
    )


def _overview(reports: Sequence[ClipReport]) -> str:
    if len(reports) < 2:
        return ""
    rows = []
    for number, report in enumerate(reports):
        rows.append(
            f'<tr class="{_look(report)}"><td><span class="badge">{report.label}</span></td>'
            f'<td><a href="#clip-{number}">{escape(report.name)}</a></td>'
            f'<td class="number">{_length(report)}</td><td>{_chips(report)}</td></tr>'
        )
    head = '<tr><th></th><th>clip</th><th class="number">frames</th><th>findings</th></tr>'
    return f'<section class="overview"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></section>'


def _look(report: ClipReport) -> str:
    """Class of a clip in the style sheet: what is judged in part neither looks like a pass nor is hidden as one."""
    return report.label.replace(" ", "-")


def _length(report: ClipReport) -> str:
    return str(report.measures.get("frames", "")) if report.measures else ""


def _chips(report: ClipReport) -> str:
    fails, warnings = Counter(), Counter()
    for finding in report.findings:
        (fails if finding.fails else warnings)[finding.name] += 1
    times = [
        f'<span class="chip{look}">{escape(name)}{f" × {n}" if n > 1 else ""}</span>'
        for counter, look in ((fails, ""), (warnings, " warning"))
        for name, n in counter.items()
    ]
    return " ".join(times)


def _strays(groups: Sequence[Group]) -> str:
    rows = [
        f"<tr><td>{escape(stray.clip)}</td><td>{escape(stray.sentence)}</td></tr>"
        for group in groups
        for stray in group.strays
    ]
    if not rows:
        return ""
    return f"<section><h2>Unlike the other clips of the same skeleton</h2><table>{''.join(rows)}</table></section>"


def _section(report: ClipReport, number: int, player: str) -> str:
    head = (
        f'<div class="head"><span class="badge">{report.label}</span><h2>{escape(report.name)}</h2>'
        f'<span class="facts">{_facts(report)}</span></div>'
    )
    parts = [head]
    if report.verdict == "unreadable":
        parts.append(f'<p class="error">{escape(report.error)}</p>')
    if report.findings:
        rows = "".join(_row(f, report, player) for f in report.findings)
        header = (
            '<tr><th>finding</th><th>what is wrong, and what would cure it</th><th class="number">measured</th>'
            '<th class="number">allowed</th></tr>'
        )
        parts.append(f"<h3>Findings</h3><table><thead>{header}</thead><tbody>{rows}</tbody></table>")
    if report.pictures is not None:
        parts.append(_pictures(report, player))
    parts.append(_gait(report))
    if notes := (*report.notes, *report.unjudged):
        parts.append("<h3>Worth knowing</h3>" + "".join(f"<p>{escape(n)}</p>" for n in notes))
    return f'<section class="{_look(report)}" id="clip-{number}">{"".join(parts)}</section>'


def _facts(report: ClipReport) -> str:
    m = report.measures
    if not m:
        return ""
    flights = len(m["flights"])
    inside = m["cop"]["inside_ratio"]
    facts = [f"{m['frames']} frames at {m['fps']:.4g}/s"]
    facts += [f"{flights} flight{'s' if flights != 1 else ''}"] * bool(flights)
    facts += [f"center of pressure inside the support in {100.0 * inside:.0f} %"] if inside is not None else []
    if math.isfinite(m["filter"]["hz"]):
        facts.append(f"accelerations after a low-pass of {m['filter']['hz']:.3g} Hz")
    return " · ".join(facts)


def _gait(report: ClipReport) -> str:
    """How the clip goes from foot to foot, for clips of whole strides."""
    g = report.measures.get("gait", {}) if report.measures else {}
    if not g.get("strides"):
        return ""
    percent = "{:.0f} %".format
    cells = [
        ("gait", g["kind"]),
        ("whole strides", str(g["strides"])),
        ("speed", f"{g['speed_m_s']:.2f} m/s"),
        ("Froude number", _number(g["froude"])),
        ("duty factor", percent(100.0 * g["duty_factor"])),
        ("double support", percent(100.0 * g["double_support"])),
        ("flight", percent(100.0 * g["flight"])),
        ("energy recovered, as a pendulum does", percent(100.0 * g["recovery"])),
        ("kinetic with potential energy (−1 walk, +1 run)", f"{g['energy_correlation']:+.2f}".replace("-", "−")),
        ("mechanical cost of transport", _number(g["cost_of_transport"])),
    ]
    pairs = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in cells)
    return f'<h3>Gait</h3><dl class="pairs">{pairs}</dl>'


def _row(finding: Finding, report: ClipReport, player: str) -> str:
    unit = FLAWS[finding.name][1]
    frames = f' <span class="frames">frames {_frames(finding, report, player)}</span>' if finding.frames else ""
    if finding.doubt:
        frames += f' <span class="frames">A warning: {escape(finding.doubt)}.</span>'
    cures = "".join(f"<li>{escape(c.text)}</li>" for c in finding.cures)
    if finding.tried:
        cures += f'<li class="vain">Tried in vain: {escape("; ".join(finding.tried))}</li>'
    least = finding.measure < finding.threshold
    return (
        f'<tr><td class="name{"" if finding.fails else " warning"}">{escape(finding.name)}</td>'
        f'<td>{escape(finding.sentence)}.{frames}{f"""<ol class="cures">{cures}</ol>""" if cures else ""}</td>'
        f'<td class="number">{_number(finding.measure)} {escape(unit)}</td>'
        f'<td class="number">{"≥" if least else "≤"} {_number(finding.threshold)}</td></tr>'
    )


def _frames(finding: Finding, report: ClipReport, player: str) -> str:
    """The stretches of a finding, each with a link to its first frame in the player where there is one."""
    if not player:
        return frame_words(finding.frames)
    fps = report.measures["fps"]
    links = [
        f'<a href="{escape(player, quote=True)}#t={first / fps:.4f}">{frame_words(((first, last),))}</a>'
        for first, last in finding.frames[:MOST_LINKS]
    ]
    more = len(finding.frames) - MOST_LINKS
    return ", ".join(links) + (f" and {more} more" if more > 0 else "")


def _pictures(report: ClipReport, player: str) -> str:
    pictures = report.pictures
    assert pictures is not None
    link = f' data-player="{escape(player, quote=True)}"' if player else ""
    return (
        '<h3>Figures</h3><div class="wide">' + pictures.strip + "</div>"
        "<figcaption>from the side; frame numbers below, red where a finding names them"
        '<span class="key left-ink"></span>left<span class="key right-ink"></span>right</figcaption>'
        f'<h3>Over time</h3><div class="plots"{link}></div><script type="application/json">{pictures.plots}</script>'
    )


def _meaning(profile: Profile) -> str:
    rows = []
    for name, (label, unit) in FLAWS.items():
        limit = profile[name]
        state = "clip fails" if limit.fails else "warning"
        rows.append(
            f'<tr><td>{escape(name)}</td><td>{escape(label)}</td><td class="number">{_allowed(limit, unit)}</td>'
            f"<td>{state if limit.is_checked else 'not judged'}</td></tr>"
        )
    head = '<tr><th>finding</th><th>measure</th><th class="number">allowed</th><th>outside the limit</th></tr>'
    return (
        f"<section><h2>What was judged</h2><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></section>"
    )


def _allowed(limit: Limit, unit: str) -> str:
    if not limit.is_checked:
        return "—"
    ends = [f"≥ {_number(limit.least)}"] * math.isfinite(limit.least)
    ends += [f"≤ {_number(limit.most)}"] * math.isfinite(limit.most)
    return f"{', '.join(ends)} {escape(unit)}"


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


PLOTS = ("Height of the center of mass", "Weight on the ground", "Zero-moment point outside the support")
"""Of the player's plots those that findings are about."""


def pictures_of(clip: Analysis, findings: tuple[Finding, ...]) -> Pictures:
    """Draw a clip, marking what its findings name."""
    bad = [f for finding in findings for f in finding.frames if f[1] - f[0] < 0.7 * clip.motion.frame_count]
    first = bad[0][0] if bad else 0
    return Pictures(strip(clip.motion, clip.floor, bad), plots_json(clip, float(clip.times[first])))


def plots_json(clip: Analysis, time: float) -> str:
    """The plots of a clip as the page's script reads them (`web/src/check/main.ts`), NaN as null.

    Args:
        clip: The clip.
        time: Where the play heads stand [s].
    """
    chosen = [p for p in plots(clip, np.arange(len(clip.times))) if p.name in PLOTS]
    if clip.flights:
        fall = Series("ballistic, same time", BALLISTIC_COLOR, ballistic_height(clip))
        chosen[0] = Plot(chosen[0].name, chosen[0].unit, (*chosen[0].series, fall), chosen[0].lines)
    return json_text(
        {
            "time": time,
            "size": 1.8 * clip.character.leg_scale,
            "times": np.round(clip.times, 4).tolist(),
            "plots": [
                {
                    "name": p.name,
                    "unit": p.unit,
                    "lines": [list(level) for level in p.lines],
                    "series": [{"name": s.name, "color": list(s.color)} for s in p.series],
                }
                for p in chosen
            ],
            "columns": [[_numbers(s.values) for s in p.series] for p in chosen],
        }
    )


def _numbers(values: Array) -> list[float | None]:
    return [float(f"{v:.4g}") if math.isfinite(v) else None for v in values.tolist()]


def ballistic_height(clip: Analysis) -> Array:
    """Height above the floor that each flight would have between its own ends, in its own time [m], (F,).

    z(t) = chord(t) + g t (T − t) / 2, with t from take-off and T the length of the flight; NaN on the ground.
    """
    height, found = clip.com[:, 2] - clip.floor, np.full(len(clip.times), np.nan)
    for flight in clip.flights:
        inside = slice(flight.first, flight.last + 1)
        time = clip.times[inside] - clip.times[flight.first]
        chord = np.interp(time, time[[0, -1]], height[[flight.first, flight.last]])
        found[inside] = chord + 0.5 * clip.gravity * time * (time[-1] - time)
    return found


STRIP_FEWEST, STRIP_MOST = 8, 16
"""Figures in a strip."""
STRIP_HEIGHT, STRIP_FOOT, STRIP_HEAD = 170.0, 26.0, 10.0
"""Of the strip, of the frame numbers under it and of the air above it [px]."""
STRIP_WIDTH = 1060.0
"""Of the strip at most [px]."""


def strip(motion: Motion, floor: float, bad: Sequence[tuple[int, int]] = ()) -> str:
    """Figures at even frames side by side, with the frames that a finding names marked.

    Args:
        motion: The clip.
        floor: Height of the ground line [m].
        bad: First and last frame of what findings name; the worst first, of which the middles are shown.
    """
    shapes, sides = _lines(motion, chosen_frames(motion.frame_count, bad, STRIP_FEWEST))
    wide = _room(shapes)
    room = int(
        STRIP_WIDTH
        * (np.nanmax(shapes[..., 1]) - np.nanmin(shapes[..., 1]))
        / (wide * (STRIP_HEIGHT - STRIP_FOOT - STRIP_HEAD))
    )
    frames = chosen_frames(motion.frame_count, bad, min(max(room, STRIP_FEWEST), STRIP_MOST))
    shapes, sides = _lines(motion, frames)
    low = min(floor, float(np.nanmin(shapes[..., 1])))
    tall = max(float(np.nanmax(shapes[..., 1])) - low, 1e-6)
    wide = _room(shapes)
    scale = min((STRIP_HEIGHT - STRIP_FOOT - STRIP_HEAD) / tall, STRIP_WIDTH / (wide * len(frames)))
    step = max(wide * scale * 1.05, 60.0)
    width, ground = step * len(frames), STRIP_HEIGHT - STRIP_FOOT - (floor - low) * scale
    parts = [line(np.array([[0.0, ground], [width, ground]]), "ground")]
    marked = np.zeros(motion.frame_count, dtype=bool)
    for first, last in bad:
        marked[first : last + 1] = True
    for k, frame in enumerate(frames):
        middle = step * (k + 0.5)
        points = np.stack(
            [middle + shapes[k, ..., 0] * scale, STRIP_HEIGHT - STRIP_FOOT - (shapes[k, ..., 1] - low) * scale], axis=-1
        )
        look = " bad" if marked[frame] else ""
        for side in ("right", "middle", "left"):
            chosen = [points[b] for b, s in enumerate(sides) if s == side]
            if chosen:
                broken = np.concatenate([np.vstack([p, [np.nan, np.nan]]) for p in chosen])
                parts.append(line(broken, f"bone {side}{look}"))
        parts.append(text(middle, STRIP_HEIGHT - 6, str(frame), f"soft{look}", "middle"))
    return picture(width, STRIP_HEIGHT, parts, "Figures at frames " + ", ".join(map(str, frames)))


def _room(shapes: Array) -> float:
    """Room that a figure takes beside its neighbors [m]."""
    return max(2.0 * float(np.nanmax(np.abs(shapes[..., 0]))), 0.35 * float(np.nanmax(np.ptp(shapes[..., 1]))), 1e-6)


def chosen_frames(count: int, bad: Sequence[tuple[int, int]], wanted: int) -> list[int]:
    """Even frames from first to last, the nearest of them moved onto the middles of the first few marked stretches."""
    frames = np.unique(np.round(np.linspace(0, count - 1, min(wanted, count))).astype(int))
    taken: set[int] = set()
    for first, last in bad[:3]:
        middle = min(count - 1, (first + last) // 2)
        nearest = int(np.argmin(np.abs(frames - middle)))
        if nearest not in taken:
            frames[nearest] = middle
            taken.add(nearest)
    return sorted(set(frames.tolist()))


def _lines(motion: Motion, frames: list[int]) -> tuple[Array, list[str]]:
    """Bones of the chosen frames as (n, B, 2 ends, 2) side-view places about the pelvis [m], and each bone's side."""
    skeleton, heading = motion.skeleton, direction_of_travel(motion)
    along = np.array([math.cos(heading), math.sin(heading)])
    points, owners = body_points(motion)
    points, root = points[frames], pelvis(skeleton)
    place = {j: k for k, j in reversed(list(enumerate(owners.tolist())))}
    tips = len(owners) - sum(1 for s in body_tips(skeleton) if s.joint in place)
    ends: list[tuple[int, int, int]] = []  # from point, to point, joint that names the side
    for k, joint in enumerate(owners.tolist()):
        if k >= tips:
            ends.append((place[joint], k, joint))
        elif joint != root and int(skeleton.parents[joint]) in place:
            ends.append((place[int(skeleton.parents[joint])], k, joint))
    flat = np.stack([points[..., :2] @ along, points[..., 2]], axis=-1)
    flat[..., 0] -= flat[:, place[root], 0][:, None]
    return flat[:, [[a, b] for a, b, _ in ends]], [side_of(skeleton.names[j]) or "middle" for _, _, j in ends]


def picture(width: float, height: float, parts: Sequence[str], label: str) -> str:
    """An inline picture of this size in pixels at most, that shrinks with its column."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" '
        f'aria-label="{escape(label, quote=True)}">{"".join(parts)}</svg>'
    )


def line(points: Array, look: str, *, closed: bool = False) -> str:
    """A broken line through points (n, 2) with the style class `look`; NaN lifts the pen."""
    commands, pen_up = [], True
    for x, y in points.tolist():
        if x != x or y != y:
            pen_up = True
            continue
        commands.append(f"{'M' if pen_up else 'L'}{x:.1f} {y:.1f}")
        pen_up = False
    return f'<path class="{look}" d="{"".join(commands)}{"Z" if closed and commands else ""}"/>' if commands else ""


def text(x: float, y: float, label: str, look: str = "soft", anchor: str = "start") -> str:
    """Words at a place, escaped."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{look}" text-anchor="{anchor}">{escape(label)}</text>'
