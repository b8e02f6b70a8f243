"""What the page of a check shows of a clip: a strip of figures, and the player's plots with what a flight would do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from poise.analysis.analyze import Analysis
from poise.body.anatomy import side_of
from poise.check.finding import Finding
from poise.check.report import Pictures
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.phases.points import body_points, pelvis
from poise.phases.travel import direction_of_travel
from poise.show.page import json_text
from poise.show.physics import BALLISTIC_COLOR, plots
from poise.show.scene import Plot, Series

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
    tips = len(owners) - sum(1 for s in skeleton.end_sites if s.joint in place)
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
