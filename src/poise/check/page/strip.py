"""A film strip of stick figures, seen from the side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poise.check.page.svg import line, picture, text
from poise.core.motion import Motion
from poise.phases.points import body_points, pelvis
from poise.phases.travel import direction_of_travel

Array = npt.NDArray[np.float64]

FEWEST, MOST = 8, 16
"""Figures in a strip."""
HEIGHT, FOOT, HEAD = 170.0, 26.0, 10.0
"""Of the strip, of the frame numbers under it and of the air above it [px]."""
WIDTH = 1060.0
"""Of the strip at most [px]."""


def strip(motion: Motion, floor: float, bad: Sequence[tuple[int, int]] = ()) -> str:
    """Figures at even frames side by side, with the frames that a finding names marked.

    Args:
        motion: The clip.
        floor: Height of the ground line [m].
        bad: First and last frame of what findings name; the worst first, of which the middles are shown.
    """
    shapes, sides = _lines(motion, chosen_frames(motion.frame_count, bad, FEWEST))
    wide = _width(shapes)
    room = int(WIDTH * (np.nanmax(shapes[..., 1]) - np.nanmin(shapes[..., 1])) / (wide * (HEIGHT - FOOT - HEAD)))
    frames = chosen_frames(motion.frame_count, bad, min(max(room, FEWEST), MOST))
    shapes, sides = _lines(motion, frames)
    low = min(floor, float(np.nanmin(shapes[..., 1])))
    tall = max(float(np.nanmax(shapes[..., 1])) - low, 1e-6)
    wide = _width(shapes)
    scale = min((HEIGHT - FOOT - HEAD) / tall, WIDTH / (wide * len(frames)))
    step = max(wide * scale * 1.05, 60.0)
    width, ground = step * len(frames), HEIGHT - FOOT - (floor - low) * scale
    parts = [line(np.array([[0.0, ground], [width, ground]]), "ground")]
    marked = np.zeros(motion.frame_count, dtype=bool)
    for first, last in bad:
        marked[first : last + 1] = True
    for k, frame in enumerate(frames):
        middle = step * (k + 0.5)
        points = np.stack(
            [middle + shapes[k, ..., 0] * scale, HEIGHT - FOOT - (shapes[k, ..., 1] - low) * scale], axis=-1
        )
        look = " bad" if marked[frame] else ""
        for side in ("right", "middle", "left"):
            chosen = [points[b] for b, s in enumerate(sides) if s == side]
            if chosen:
                broken = np.concatenate([np.vstack([p, [np.nan, np.nan]]) for p in chosen])
                parts.append(line(broken, f"bone {side}{look}"))
        parts.append(text(middle, HEIGHT - 6, str(frame), f"soft{look}", "middle"))
    return picture(width, HEIGHT, parts, "Figures at frames " + ", ".join(map(str, frames)))


def _width(shapes: Array) -> float:
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


_LIMB_WORDS = frozenset({
    "femur", "tibia", "foot", "toes", "clavicle", "humerus", "radius", "wrist", "hand", "fingers", "thumb", "hipjoint",
    "hip", "knee", "ankle", "shoulder", "elbow", "upleg", "leg", "arm", "forearm", "toebase",
})  # fmt: skip
"""What follows an l or r in skeletons that write sides so: lfemur, rhand."""
