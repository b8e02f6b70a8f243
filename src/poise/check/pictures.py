"""Inline pictures of a clip: a film strip of figures, one path per flight, and the support seen from above."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from poise.analysis.analyze import Analysis
from poise.check.air import parabola_height
from poise.check.finding import Finding
from poise.check.report import Pictures
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.phases.points import body_points, pelvis
from poise.phases.travel import direction_of_travel


def picture(width: float, height: float, parts: Sequence[str], label: str) -> str:
    """An inline picture of this size in pixels at most, that shrinks with its column."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px" role="img" '
        f'aria-label="{escape(label, quote=True)}">{"".join(parts)}</svg>'
    )


def line(points: Array, look: str, *, closed: bool = False) -> str:
    """A broken line through points (n, 2) with the style class `look`; NaN lifts the pen."""
    words, pen_up = [], True
    for x, y in points.tolist():
        if x != x or y != y:
            pen_up = True
            continue
        words.append(f"{'M' if pen_up else 'L'}{x:.1f} {y:.1f}")
        pen_up = False
    return f'<path class="{look}" d="{"".join(words)}{"Z" if closed and words else ""}"/>' if words else ""


def dots(points: Array, look: str, radius: float = 1.8) -> str:
    """Dots at points (n, 2)."""
    # zero-length strokes with round caps: a tenth of the bytes of circles
    words = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points.tolist() if x == x and y == y)
    return f'<path class="dots {look}" stroke-width="{2.0 * radius:.1f}" d="{words}"/>' if words else ""


def text(x: float, y: float, words: str, look: str = "soft", anchor: str = "start") -> str:
    """Words at a place, escaped."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{look}" text-anchor="{anchor}">{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, look: str, title: str = "") -> str:
    """A rectangle; a title shows under the pointer."""
    inner = f"<title>{escape(title)}</title>" if title else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{look}">{inner}</rect>'


def round_step(span: float, count: int) -> float:
    """A round number that divides a span into about so many parts: 1, 2 or 5 × 10ⁿ."""
    rough = max(span, 1e-9) / count
    ten = 10.0 ** np.floor(np.log10(rough))
    return float(next(m * ten for m in (1.0, 2.0, 5.0, 10.0) if rough <= m * ten * (1.0 + 1e-9)))


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
    return flat[:, [[a, b] for a, b, _ in ends]], [side_of(skeleton.names[j]) for _, _, j in ends]


def side_of(name: str) -> str:
    """One of "left", "right" and "middle", as a joint's name says it."""
    plain = name.rsplit(":", 1)[-1].lower()
    for side, letter in (("left", "l"), ("right", "r")):
        if side in plain or plain.endswith((f"_{letter}", f".{letter}", f"-{letter}")) or f"_{letter}_" in plain:
            return side
    # CMU and Daz: lfemur, rShldr; "lowerback" and "root" are neither
    stem = name.rsplit(":", 1)[-1]
    if len(stem) > 1 and stem[0] in "lr" and (stem[1].isupper() or stem[1:].lower() in _LIMB_WORDS):
        return "left" if stem[0] == "l" else "right"
    if len(stem) > 2 and stem[0] in "LR" and stem[1].isupper() and stem[2].islower():
        return "left" if stem[0] == "L" else "right"
    return "middle"


_LIMB_WORDS = frozenset(
    {
        "femur",
        "tibia",
        "foot",
        "toes",
        "clavicle",
        "humerus",
        "radius",
        "wrist",
        "hand",
        "fingers",
        "thumb",
        "hipjoint",
        "hip",
        "knee",
        "ankle",
        "shoulder",
        "elbow",
        "upleg",
        "leg",
        "arm",
        "forearm",
        "toebase",
    }
)
"""What follows an l or r in skeletons that write sides so: lfemur, rhand."""


Box = tuple[float, float, float, float]
"""Left, right, low, high."""

ARC_WIDTH, ARC_HEIGHT = 300.0, 190.0
ARC_LEFT, ARC_RIGHT, ARC_TOP, ARC_BOTTOM = 40.0, 12.0, 24.0, 34.0
ARC_TRAVELS = 0.3
"""Height is drawn over the ground covered if that is this share of the height's range, else over time [1]."""
ARC_MARGIN = 4
"""Frames shown before and after the flight."""


@dataclass(frozen=True)
class Arc:
    """One flight to draw.

    Attributes:
        first, last: Its frames.
        gravity: What it falls with [g].
        ground: Distance along the ground track from take-off, over all shown frames [m], shape (n,).
        time: From take-off [s], shape (n,).
        height: Of the center of mass above the floor [m], shape (n,).
        fitted: Height of the fitted parabola [m], NaN outside the flight, shape (n,).
        is_bad: True if a finding names it.
    """

    first: int
    last: int
    gravity: float
    ground: Array
    time: Array
    height: Array
    fitted: Array
    is_bad: bool


def arc_of(
    times: Array, com: Array, floor: float, first: int, last: int, gravity: float, fitted: Array, is_bad: bool
) -> Arc:
    """The data of one flight's picture.

    Args:
        times: Of the clip [s], shape (F,).
        com: Center of mass [m], shape (F, 3).
        floor: Height of the floor [m].
        first, last: Frames of the flight.
        gravity: [g].
        fitted: Height of the fitted parabola at frames first … last [m].
        is_bad: True if a finding names it.
    """
    a, b = max(0, first - ARC_MARGIN), min(len(times), last + ARC_MARGIN + 1)
    across = com[last, :2] - com[first, :2]
    length = float(np.linalg.norm(across))
    direction = across / length if length > 1e-9 else np.array([1.0, 0.0])
    full = np.full(b - a, np.nan)
    full[first - a : last - a + 1] = fitted - floor
    return Arc(
        first,
        last,
        gravity,
        (com[a:b, :2] - com[first, :2]) @ direction,
        times[a:b] - times[first],
        com[a:b, 2] - floor,
        full,
        is_bad,
    )


def arc(data: Arc) -> str:
    """Dots: the center of mass; line: its parabola; dashes: the parabola of 1 g between the same ends and times."""
    inside = np.isfinite(data.fitted)
    time, ends = data.time[inside], data.fitted[inside][[0, -1]]
    chord = np.interp(time, time[[0, -1]], ends)
    right = np.full_like(data.fitted, np.nan)
    right[inside] = chord + 0.5 * GRAVITY * time * (time[-1] - time)
    rise = float(np.ptp(np.concatenate([data.height, right[inside]])))
    over_ground = float(np.ptp(data.ground)) > ARC_TRAVELS * rise
    x = data.ground if over_ground else data.time
    even = x.copy()  # a free body covers equal ground in equal times, whatever the clip does
    even[inside] = np.interp(time, time[[0, -1]], x[inside][[0, -1]])
    y = np.concatenate([data.height, data.fitted[inside], right[inside]])
    box = _box(x, y, is_square=over_ground)
    name = f"frames {data.first}–{data.last}: {data.gravity:.2f} g"
    parts = [text(ARC_LEFT, 15, name, "title bad" if data.is_bad else "title")]
    parts += _axes(box, "m along the ground" if over_ground else "s")
    place = _placer(box)
    parts.append(line(place(even, right), "right-path"))
    parts.append(line(place(even, data.fitted), "fit-path"))
    parts.append(dots(place(x[~inside], data.height[~inside]), "com-out"))
    parts.append(dots(place(x[inside], data.height[inside]), "com-in"))
    return picture(ARC_WIDTH, ARC_HEIGHT, parts, f"Path of the center of mass, {name}")


def _box(x: Array, y: Array, *, is_square: bool) -> Box:
    """Ranges of x and y with a little room; equal scales where both are lengths and neither is too thin."""
    left, right, low, high = float(x.min()), float(x.max()), float(np.nanmin(y)), float(np.nanmax(y))
    if is_square:
        wide, tall = max(right - left, 1e-6), max(high - low, 1e-6)
        aspect = (ARC_WIDTH - ARC_LEFT - ARC_RIGHT) / (ARC_HEIGHT - ARC_TOP - ARC_BOTTOM)
        if 0.25 < wide / tall / aspect < 4.0:
            more = max(tall * aspect - wide, 0.0) / 2.0
            left, right = left - more, right + more
            more = max(wide / aspect - tall, 0.0) / 2.0
            low, high = low - more, high + more
    pad_x, pad_y = 0.04 * (right - left) + 1e-6, 0.06 * (high - low) + 1e-6
    return left - pad_x, right + pad_x, low - pad_y, high + pad_y


def _placer(box: Box) -> Callable[[Array, Array], Array]:
    left, right, low, high = box

    def place(x: Array, y: Array) -> Array:
        return np.stack(
            [
                ARC_LEFT + (ARC_WIDTH - ARC_LEFT - ARC_RIGHT) * (x - left) / (right - left),
                ARC_HEIGHT - ARC_BOTTOM - (ARC_HEIGHT - ARC_TOP - ARC_BOTTOM) * (y - low) / (high - low),
            ],
            axis=-1,
        )

    return place


def _axes(box: Box, unit: str) -> list[str]:
    left, right, low, high = box
    place, parts = _placer(box), []
    step = round_step(high - low, 4)
    for value in np.arange(np.ceil(low / step) * step, high, step):
        y = float(place(np.array(left), np.array(value))[1])
        parts.append(line(np.array([[ARC_LEFT, y], [ARC_WIDTH - ARC_RIGHT, y]]), "grid"))
        parts.append(text(ARC_LEFT - 5, y + 4, f"{value:.3g}", "soft", "end"))
    step = round_step(right - left, 5)
    for value in np.round(np.arange(np.ceil(left / step) * step, right, step), 9):
        x = float(place(np.array(value), np.array(low))[0])
        parts.append(text(x, ARC_HEIGHT - ARC_BOTTOM + 14, f"{value + 0.0:.3g}".replace("-", "−"), "soft", "middle"))
    parts.append(text((ARC_LEFT + ARC_WIDTH - ARC_RIGHT) / 2, ARC_HEIGHT - 5, unit, "soft", "middle"))
    return parts


MAP_WIDTH, MAP_HEIGHT, MAP_MARGIN = 640.0, 300.0, 16.0
MAP_FAR = 0.15
"""How far beyond support and path a center of pressure is still drawn, as a part of the map [1]."""
MAP_MOST, MAP_APART = 50, 0.03
"""Support areas drawn at most, and how far their middles are apart at least [m]."""


def support(com: Array, cop: Array, distance: Array, areas: Sequence[Array]) -> str:
    """A map: areas of support, the center of pressure over them, the center of mass's track.

    Args:
        com: Center of mass of every frame [m], shape (F, 3).
        cop: Center of pressure [m], NaN where nothing carries load, shape (F, 2 or 3).
        distance: Signed distance from the support over its radius, positive outside, shape (F,).
        areas: Corners of the support area of each frame [m], shape (k, 2 or 3); k < 3 where there is none.
    """
    loaded = np.isfinite(cop).all(axis=1)
    shown = _few([a[:, :2] for a in areas if len(a) >= 3])
    ground = [com[:, :2], *shown]
    low = np.min([p.min(axis=0) for p in ground], axis=0)
    high = np.max([p.max(axis=0) for p in ground], axis=0)
    # far outliers would shrink all the rest: they are left out
    beyond = MAP_FAR * float((high - low).max())
    flat = np.where(np.isfinite(cop[:, :2]), cop[:, :2], np.inf)
    seen = loaded & (flat > low - beyond).all(axis=1) & (flat < high + beyond).all(axis=1)
    if seen.any():
        low, high = np.minimum(low, cop[seen, :2].min(axis=0)), np.maximum(high, cop[seen, :2].max(axis=0))
    upright = (high - low)[1] > (high - low)[0]
    if upright:  # the longer way lies across the page: turned by a quarter
        com, cop, shown = _turned(com), _turned(cop), [_turned(a) for a in shown]
        low, high = np.array([low[1], -high[0]]), np.array([high[1], -low[0]])
    span = np.maximum(high - low, 0.3)
    scale = min((MAP_WIDTH - 2 * MAP_MARGIN) / span[0], (MAP_HEIGHT - 2 * MAP_MARGIN) / span[1])
    width, height = span[0] * scale + 2 * MAP_MARGIN, span[1] * scale + 2 * MAP_MARGIN + 18

    def place(points: Array) -> Array:
        flat = (points[:, :2] - low) * scale
        return np.stack([MAP_MARGIN + flat[:, 0], height - 18 - MAP_MARGIN - flat[:, 1]], axis=1)

    parts = [line(place(a), "support", closed=True) for a in shown]
    parts.append(line(place(com), "com-track"))
    for chosen, look in (
        (distance <= 0.0, "cop-in"),
        ((distance > 0.0) & (distance <= 1.0), "cop-near"),
        (distance > 1.0, "cop-out"),
    ):
        parts.append(dots(place(cop[seen & chosen]), look, 1.6))
    step = round_step(span[0], 4)
    parts.append(line(np.array([[MAP_MARGIN, height - 8], [MAP_MARGIN + step * scale, height - 8]]), "ruler"))
    parts.append(text(MAP_MARGIN + step * scale + 6, height - 4, f"{step:g} m"))
    return picture(max(width, 160.0), height, parts, "Center of pressure and support, seen from above")


def _turned(points: Array) -> Array:
    return np.stack([points[:, 1], -points[:, 0]], axis=1)


def _few(areas: list[Array]) -> list[Array]:
    """Areas that differ by more than MAP_APART from the last one kept, evenly thinned to MAP_MOST."""
    keep: list[Array] = []
    for area in areas:
        if not keep or np.linalg.norm(area.mean(axis=0) - keep[-1].mean(axis=0)) > MAP_APART:
            keep.append(area)
    index = np.unique(np.linspace(0, len(keep) - 1, min(MAP_MOST, len(keep))).astype(int)) if keep else []
    return [keep[int(k)] for k in index]


MOST_ARCS = 6
"""Flights drawn of one clip: those that a finding names first, then the longest."""


def pictures_of(clip: Analysis, findings: tuple[Finding, ...]) -> Pictures:
    """Draw a clip, marking what its findings name."""
    bad = [f for finding in findings for f in finding.frames if f[1] - f[0] < 0.7 * clip.motion.frame_count]
    named = {f for finding in findings for f in finding.frames}
    flights = sorted(clip.flights, key=lambda f: ((f.first, f.last) not in named, -f.duration))[:MOST_ARCS]
    arcs = [
        arc(
            arc_of(
                clip.times,
                clip.com,
                clip.floor,
                f.first,
                f.last,
                f.gravity_g,
                parabola_height(f, clip.times),
                any(a <= f.last and b >= f.first for a, b in named if b - a <= f.last - f.first),
            )
        )
        for f in sorted(flights, key=lambda f: f.first)
    ]
    areas = [clip.support_polygon(k) for k in range(clip.motion.frame_count)]
    drawn = support(clip.com, clip.support.zmp, clip.support.error, areas) if clip.support.is_loaded.any() else ""
    return Pictures(strip(clip.motion, clip.floor, bad), tuple(arcs), drawn)
