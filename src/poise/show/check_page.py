"""The page: what failed first, then each clip with its pictures, and what each finding means at the end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

from poise import __version__
from poise.check.finding import FLAWS, Finding, frame_words
from poise.check.library import Group
from poise.check.profile import Limit, Profile
from poise.check.report import ClipReport
from poise.show.page import WEB, filled

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
    counts = Counter(r.verdict for r in reports)
    labels = {"fail": "fail", "unreadable": "unreadable", "pass": "pass"}
    return ", ".join(f"{counts[v]} {word}" for v, word in labels.items() if counts[v]) or "no clips"


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
            f'<tr class="{report.verdict}"><td><span class="badge">{report.verdict}</span></td>'
            f'<td><a href="#clip-{number}">{escape(report.name)}</a></td>'
            f'<td class="number">{_length(report)}</td><td>{_chips(report)}</td></tr>'
        )
    head = '<tr><th></th><th>clip</th><th class="number">frames</th><th>findings</th></tr>'
    return f'<section class="overview"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></section>'


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
        f'<div class="head"><span class="badge">{report.verdict}</span><h2>{escape(report.name)}</h2>'
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
    if report.notes:
        parts.append("<h3>Worth knowing</h3>" + "".join(f"<p>{escape(n)}</p>" for n in report.notes))
    return f'<section class="{report.verdict}" id="clip-{number}">{"".join(parts)}</section>'


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
        state = "fails" if limit.fails else "warning"
        rows.append(
            f'<tr><td>{escape(name)}</td><td>{escape(label)}</td><td class="number">{_allowed(limit, unit)}</td>'
            f"<td>{state if limit.is_checked else 'not judged'}</td></tr>"
        )
    head = '<tr><th>finding</th><th>measure</th><th class="number">allowed</th><th></th></tr>'
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
