"""What witnesses look at: a motion as it stands in its file, measured in lengths of its own leg and in its own frames.

Nothing here knows which way is up, how long a unit is or how fast the clip was recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from poise.core.motion import Motion
from poise.core.typing import Array
from poise.intake.anatomy import Anatomy, anatomy_of
from poise.phases.points import body_points, bone_weights, velocities
from poise.phases.runs import runs

AXES = ("x", "y", "z", "-x", "-y", "-z")
"""Every way up could be."""
MOST_FRAMES = 1500
"""A longer clip is looked at in steps [frames]."""
NEAR = 0.07
"""A point is at the floor if it lies this close to it [leg lengths]."""
STILL = 0.5
"""It stands if it moves slower than this share of what the body's points do [1]."""
CLEAR = 0.12
"""Nothing is lower than this in a flight [leg lengths]."""
SHORTEST_FLIGHT = 5
"""Fewer frames say nothing about how a body falls."""
STRAY = 0.12
"""A flight's path stays this close to a parabola, as a share of how far gravity bends it [1]."""


@dataclass(frozen=True)
class Stances:
    """How a motion meets the lowest level of one axis.

    Attributes:
        level: Height of that level [leg lengths].
        standing: Share of frames in which something stands still there [1].
        near: Share of frames in which the lowest point is there [1].
        hanging: Share of frames that nothing carries and that do not fall either [1].
        flights: First and last frame of each fall, and its acceleration along the axis [leg lengths / frame²].
    """

    level: float
    standing: float
    near: float
    hanging: float
    flights: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class Figure:
    """A motion in its file's own axes, in leg lengths and frames."""

    motion: Motion

    @cached_property
    def anatomy(self) -> Anatomy:
        return anatomy_of(self.motion.skeleton)

    @cached_property
    def step(self) -> int:
        """Frames between those that are looked at."""
        return max(1, -(-self.motion.frame_count // MOST_FRAMES))

    @cached_property
    def leg(self) -> float:
        """Length of the leg [file units]."""
        return self.anatomy.leg_length

    @cached_property
    def _looked_at(self) -> Motion:
        """The frames that are looked at: of a long clip, a part takes a part of the memory."""
        if self.step == 1:
            return self.motion
        return replace(self.motion, source=None).frames(np.arange(0, self.motion.frame_count, self.step))

    @cached_property
    def _points(self) -> tuple[Array, Array]:
        positions, joints = body_points(self._looked_at)
        return positions / self.leg, bone_weights(self._looked_at, joints)

    @property
    def points(self) -> Array:
        """Places of joints and tips, shape (F, N, 3) [leg lengths]."""
        return self._points[0]

    @cached_property
    def com(self) -> Array:
        """Center of mass, every bone weighing what its length says, shape (F, 3) [leg lengths]."""
        return np.einsum("fnk,n->fk", *self._points)

    @cached_property
    def speeds(self) -> Array:
        """Speed of each point, shape (F, N) [leg lengths / frame looked at]."""
        frames = np.arange(len(self.points), dtype=np.float64)
        return np.linalg.norm(velocities(self.points, frames), axis=-1)

    @cached_property
    def pace(self) -> float:
        """How fast the body's points usually move [leg lengths / frame looked at]."""
        return float(np.median(self.speeds.max(axis=1)))

    @property
    def moves(self) -> bool:
        """True if there is a motion to speak of."""
        return len(self.points) >= 8 and self.pace > 1e-3

    def places(self, joints: tuple[int, ...] | list[int]) -> Array:
        """Mean place of some joints, shape (F, 3) [leg lengths]."""
        return self._looked_at.world[0][:, list(joints)].mean(axis=1) / self.leg

    @cached_property
    def rest(self) -> Array:
        """Places of all joints in the rest pose, shape (J, 3) [leg lengths]."""
        return self.motion.skeleton.rest[0] / self.leg

    def heights(self, up: str) -> Array:
        """How far up along an axis each point lies, shape (F, N) [leg lengths]."""
        return along(self.points, up)

    @cached_property
    def _stances(self) -> dict[str, Stances]:
        return {}

    def stances(self, up: str) -> Stances:
        """How the motion meets the lowest level of an axis."""
        if up not in self._stances:
            self._stances[up] = _stances(self, up)
        return self._stances[up]


def along(vectors: Array, up: str) -> Array:
    """Part of vectors (..., 3) along an axis named "x" … "-z"."""
    part = vectors[..., "xyz".index(up[-1])]
    return -part if up.startswith("-") else part


def _stances(figure: Figure, up: str) -> Stances:
    height = figure.heights(up)
    low = height.min(axis=1)
    typical = float(np.median(figure.speeds))
    still = figure.speeds < STILL * max(typical, 1e-9)
    level = float(np.percentile(low, 20.0))
    at_floor = height < level + NEAR
    standing = float((at_floor & still).any(axis=1).mean())
    near = float((np.abs(low - level) < NEAR).mean())
    free = low > level + CLEAR
    flights: list[tuple[int, int, float]] = []
    falling = np.zeros(len(low), dtype=bool)
    for first, last in runs(free):
        if last - first + 1 < SHORTEST_FLIGHT:
            continue
        path = figure.com[first : last + 1]
        time = np.arange(len(path), dtype=np.float64)
        bend, stray = _parabola(time, path)
        fall = -float(along(bend, up))
        sag = abs(fall) * time[-1] ** 2 / 8.0
        if fall > 0.9 * float(np.linalg.norm(bend)) and stray < STRAY * sag:
            flights.append((first, last, fall / figure.step**2))
            falling[first : last + 1] = True
    return Stances(level, standing, near, float((free & ~falling).mean()), tuple(flights))


def _parabola(time: Array, path: Array) -> tuple[Array, float]:
    """Acceleration (3,) of the least-squares parabola through a path (T, 3), and the root mean square distance."""
    basis = np.stack([np.ones_like(time), time, 0.5 * time**2], axis=1)
    coefficients, *_ = np.linalg.lstsq(basis, path, rcond=None)
    stray = float(np.sqrt(np.mean(np.sum((basis @ coefficients - path) ** 2, axis=1))))
    return coefficients[2], stray
