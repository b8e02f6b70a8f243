"""Numbers, places and directions as an animator says them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from poise.core.typing import Array, Flags

if TYPE_CHECKING:
    from poise.analysis.analyze import Analysis


Frames = tuple[tuple[int, int], ...]


def length_words(meters: float) -> str:
    """A length: "7 cm", "4 mm", "1.2 m"."""
    size = abs(meters)
    if size >= 0.995:
        return f"{meters:.2g} m" if size < 9.95 else f"{meters:.0f} m"
    if size >= 0.00995:
        return f"{100.0 * meters:.0f} cm" if size >= 0.0995 else f"{100.0 * meters:.2g} cm"
    return f"{1000.0 * meters:.1f} mm" if size < 0.00095 else f"{1000.0 * meters:.0f} mm"


def frame_words(frames: Frames, limit: int = 4) -> str:
    """Stretches of frames: "12–18, 40", at most `limit` of them."""
    words = [f"{a}–{b}" if b > a else str(a) for a, b in frames[:limit]]
    return ", ".join(words) + (f" and {len(frames) - limit} more" if len(frames) > limit else "")


def stretches(flags: Flags, offset: int = 0) -> Frames:
    """First and last frame of each run of flags, counted from `offset`."""
    from poise.phases.runs import runs

    return tuple((offset + a, offset + b) for a, b in runs(flags))


def facing_at(clip: Analysis, frame: int) -> float:
    """Where the body looks in one frame, counterclockwise from world +x [rad]."""
    from poise.phases.travel import facing

    return facing(clip.motion.frames(np.array([frame])))


def way_word(way: Array, facing: float) -> str:
    """A horizontal direction (2,) as a character has it that looks along `facing`, from world +x [rad]."""
    ahead = float(way[0]) * math.cos(facing) + float(way[1]) * math.sin(facing)
    left = -float(way[0]) * math.sin(facing) + float(way[1]) * math.cos(facing)
    if abs(ahead) >= abs(left):
        return "forward" if ahead >= 0.0 else "backward"
    return "to its left" if left > 0.0 else "to its right"


def opposite(way: str) -> str:
    """The other way round."""
    pairs = {"forward": "backward", "to its left": "to its right"}
    return (pairs | {b: a for a, b in pairs.items()})[way]


def turn_word(turn: Array, facing: float) -> str:
    """What a rotation vector (3,) [rad], world axes, does to a body that looks along `facing`, from world +x [rad]."""
    ahead = np.array([math.cos(facing), math.sin(facing), 0.0])
    left = np.array([-math.sin(facing), math.cos(facing), 0.0])
    roll, pitch, yaw = float(turn @ ahead), float(turn @ left), float(turn[2])
    if abs(pitch) >= max(abs(roll), abs(yaw)):
        return "tip forward" if pitch > 0.0 else "tip backward"
    if abs(yaw) >= abs(roll):
        return "turn left" if yaw > 0.0 else "turn right"
    return "lean to its right" if roll > 0.0 else "lean to its left"
