"""Outside of a flight: the root is led smoothly into what the flight needs, while the legs keep the feet in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.character.character import Character
from poise.edit.legs import Leg, find_legs, reach, solve_legs
from poise.edit.root import move_root
from poise.motion import Motion
from poise.units import HUMAN_LEG

Array = npt.NDArray[np.float64]

SLACK = 0.002
"""How far a foot may be out of reach before the correction at a border is made smaller [m]."""


MOST = 0.12
"""How far a correction at a border moves the root at most, for a leg of 0.82 m [m]."""


@dataclass(frozen=True)
class Carry:
    """A change of velocity at a border that the frames beside it take up.

    Attributes:
        frame: The frame at the border; it does not move.
        until: Frame at which the correction has faded, before or after it.
        slope: What the velocity of the root changes by at `frame` [m/s], shape (3,).
    """

    frame: int
    until: int
    slope: Array

    def shift(self, times: Array) -> tuple[npt.NDArray[np.int64], Array]:
        """The frames it moves, and by how much [m], shape (n, 3).

        A quintic that is zero at both ends, has the slope at the border, and is otherwise at rest there.
        """
        step = 1 if self.until > self.frame else -1
        frames = np.arange(self.frame + step, self.until, step)
        span = float(times[self.frame] - times[self.until])
        x = (times[frames] - times[self.until]) / span
        return frames, span * (x**3 * (-4.0 + x * (7.0 - 3.0 * x)))[:, None] * self.slope


def absorb(motion: Motion, character: Character | None, root: int, carries: list[Carry]) -> tuple[Motion, float]:
    """The motion with velocity changes at borders taken up by the root beside them; feet stay by bending the legs.

    A correction that legs are too short for, or that moves the root further than MOST, is made smaller: then a part of
    the kink stays.

    Returns:
        The motion, and how far a foot came off its place at most [m].
    """
    legs = find_legs(character, motion) if character is not None else ()
    lengths = {leg: reach(leg, motion) for leg in legs}
    shift = np.zeros((motion.frame_count, 3))
    for carry in carries:
        frames, moved = carry.shift(motion.times)
        if len(frames) and np.abs(moved).max() > 1e-9:
            most = MOST * (character.leg_length / HUMAN_LEG if character is not None else 1.0)
            moved = moved * min(1.0, most / float(np.linalg.norm(moved, axis=1).max()))
            shift[frames] += _within_reach(motion, legs, lengths, frames, moved) * moved
    changed = np.flatnonzero(np.abs(shift).max(axis=1) > 1e-9)
    if not len(changed):
        return motion, 0.0
    lowered = move_root(motion, root, shift)
    if not legs:
        return lowered, 0.0
    positions, orientations = motion.world
    targets = {leg: (positions[:, leg.foot], orientations[:, leg.foot]) for leg in legs}
    result = solve_legs(lowered, targets, changed)
    after = result.world[0]
    return result, max(
        float(np.linalg.norm(after[changed, leg.foot] - positions[changed, leg.foot], axis=1).max()) for leg in legs
    )


def _within_reach(
    motion: Motion, legs: tuple[Leg, ...], lengths: dict[Leg, Array], frames: npt.NDArray[np.int64], moved: Array
) -> float:
    """Part of a movement of the root after which every leg still reaches its foot."""
    if not legs:
        return 1.0
    positions = motion.world[0]

    def is_fine(part: float) -> bool:
        for leg in legs:
            away = positions[frames, leg.foot] - positions[frames, leg.hip]
            allowed = np.maximum(lengths[leg][frames], np.linalg.norm(away, axis=1)) + SLACK
            if (np.linalg.norm(away - part * moved, axis=1) > allowed).any():
                return False
        return True

    if is_fine(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(8):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_fine(middle) else (low, middle)
    return low
