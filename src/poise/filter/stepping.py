"""Steps back: a limb that a push made stand off its place goes home once the goal has.

A foot that lands while the goal is away sticks where it lands. In a walk the next step mends that; in a pose that is
held nothing would, and the legs would stay askew. So a foot that stands off its place, is not about to lift by itself
and has another to stand on, takes one small step. Nothing steps unless something pushed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.core.typing import Array, Flags
from poise.filter.preset import Protective, Stepping


@dataclass
class _Limb:
    """A foot or hand on its way; `part` of the way is gone, none while it stands."""

    points: npt.NDArray[np.int64]
    start: Array
    part: float = math.inf
    has_stepped: bool = False
    is_urgent: bool = False

    @property
    def moves(self) -> bool:
        return self.part < 1.0


@dataclass(frozen=True)
class StepBack:
    """What the stepping limbs add to their places in one step.

    Attributes:
        moves: Points on their way, shape (P,).
        lift: Above the ground [m], shape (P,).
        velocities, accelerations: Of the way, shape (P, 3).
    """

    moves: Flags
    lift: Array
    velocities: Array
    accelerations: Array


class SteppingBack:
    """Decides which limb steps back and moves its offset; one limb at a time.

    Args:
        settings, protective: The stepping parts of the preset.
        limbs: Contact points of each limb that can step.
        needed: How many other limbs must stand meanwhile.
        count: Number of contact points.
        scale: Leg length / 0.82 m; scales lengths, and durations with its root.

    Attributes:
        members, ends: Points of all limbs, limb after limb, and where each ends, shape (L,): see `kernels.limbs_seen`.
    """

    def __init__(
        self, settings: Stepping, protective: Protective, limbs: tuple[tuple[int, ...], ...], needed: int, count: int,
        scale: float,
    ) -> None:  # fmt: skip
        self._distance, self._height = settings.distance * scale, settings.height * scale
        self._duration, self._pause = settings.duration * math.sqrt(scale), settings.pause * math.sqrt(scale)
        self._urgent_height, self._far = protective.height * scale, 0.82 * protective.far * scale
        self._urgent_duration = protective.duration * math.sqrt(scale)
        self._limbs = [_Limb(np.array(points), np.zeros((len(points), 2))) for points in limbs]
        self._needed = needed
        self._rested = math.inf
        self._are_settled = True  # no limb steps, or has stepped
        self._count = count
        self.members = np.concatenate([[], *(limb.points for limb in self._limbs)]).astype(np.int64)
        self.ends = np.cumsum([len(limb.points) for limb in self._limbs], dtype=np.int64)

    def advance(
        self, offsets: Array, flags: Flags, seen: Array, home: tuple[float, float], away: float, dt: float,
        points: Array | None = None,
    ) -> StepBack | None:  # fmt: skip
        """Move the offsets of the limb that steps, and start the next; None while nothing steps.

        Args:
            offsets: Of standing points to the reference [m], shape (P, 3); those of a stepping limb are changed.
            flags: Points that touch in the reference, shape (P,).
            seen: What `kernels.limbs_seen` tells of each limb, shape (L, 4).
            home: Where the goal will rest, against the reference [m].
            away: How far the goal is from there [m].
            dt: [s].
            points: Where the points are [m], shape (P, 3), if the steps are protective: quick, and the foot that is
                foremost on the way goes first.
        """
        self._rested += dt
        limbs = seen.tolist()
        if self._are_settled and not any([self._is_far(time_to_lift, way) for _, _, time_to_lift, way in limbs]):
            return None
        moving = None
        for limb, (touching, _, _, _) in zip(self._limbs, limbs, strict=True):
            if not touching or away > 4.0 * self._distance:
                limb.has_stepped = False
            if moving is None and limb.moves:
                moving = limb
        if moving is None and points is not None:
            moving = self._hurry(offsets, limbs, np.array(home), points)
        elif moving is None and self._rested >= self._pause:
            moving = self._begin(offsets, limbs, away)
        self._are_settled = not any([limb.has_stepped for limb in self._limbs]) and moving is None
        return None if moving is None else self._move(moving, offsets, flags, np.array(home), dt)

    def _is_far(self, time_to_lift: float, way: float) -> bool:
        """A limb that is off its place and will not lift by itself soon."""
        return way > self._distance and time_to_lift >= 2.0 * self._duration

    def _begin(self, offsets: Array, seen: list[list[float]], away: float) -> _Limb | None:
        """Let the limb that is furthest from home go, if one may."""
        if sum([standing > 0.0 for _, standing, _, _ in seen]) <= self._needed:
            return None
        furthest, chosen = self._distance, None
        for limb, (touching, standing, time_to_lift, way) in zip(self._limbs, seen, strict=True):
            if limb.has_stepped or not touching or standing < touching or not self._is_far(time_to_lift, way):
                continue
            if way > furthest and away < 0.5 * way:
                furthest, chosen = way, limb
        if chosen is not None:
            chosen.part, chosen.has_stepped, chosen.is_urgent = 0.0, True, False
            chosen.start = offsets[chosen.points, :2].copy()
        return chosen

    def _hurry(self, offsets: Array, seen: list[list[float]], home: Array, points: Array) -> _Limb | None:
        """Let the foot go that is foremost on the way to where the goal will rest, if one is far from there."""
        if sum([standing > 0.0 for _, standing, _, _ in seen]) <= self._needed:
            return None
        chosen, foremost = None, -math.inf
        for limb, (touching, standing, time_to_lift, way) in zip(self._limbs, seen, strict=True):
            if not touching or not standing or way < self._far or time_to_lift < self._urgent_duration:
                continue
            ahead = home - offsets[limb.points, :2].mean(axis=0)
            # the farther it has to go the sooner, the more it is ahead the sooner: legs do not cross
            reach = float(points[limb.points, :2].mean(axis=0) @ ahead) / max(float(np.linalg.norm(ahead)), 1e-9)
            if way + reach > foremost:
                chosen, foremost = limb, way + reach
        if chosen is not None:
            chosen.part, chosen.has_stepped, chosen.is_urgent = 0.0, True, True
            chosen.start = offsets[chosen.points, :2].copy()
        return chosen

    def _move(self, limb: _Limb, offsets: Array, flags: Flags, home: Array, dt: float) -> StepBack | None:
        duration, height = self._duration, self._height
        if limb.is_urgent:
            duration, height = self._urgent_duration, self._urgent_height
        limb.part += dt / duration
        if not flags[limb.points].any():
            limb.part = math.inf  # it lifts by itself, from where it has come to
            return None
        if not limb.moves:
            self._rested = 0.0
            offsets[limb.points, :2] = home
            return None
        s, rate = limb.part, 1.0 / duration
        gone, speed, turn = smooth(s)
        rise, climb, bend = hump(s)
        way = home - limb.start
        moves, lift = np.zeros(self._count, dtype=np.bool_), np.zeros(self._count)
        velocities, accelerations = np.zeros((self._count, 3)), np.zeros((self._count, 3))
        index = limb.points
        offsets[index, :2] = limb.start + gone * way
        moves[index], lift[index] = True, height * rise
        velocities[index, :2], velocities[index, 2] = rate * speed * way, rate * height * climb
        accelerations[index, :2], accelerations[index, 2] = rate**2 * turn * way, rate**2 * height * bend
        return StepBack(moves, lift, velocities, accelerations)


def smooth(s: float) -> tuple[float, float, float]:
    """Least-jerk way from 0 to 1 at part s of its time: 10 s³ − 15 s⁴ + 6 s⁵, and its two derivatives."""
    return (
        s**3 * (10.0 - 15.0 * s + 6.0 * s * s),
        30.0 * s * s * (1.0 - s) ** 2,
        60.0 * s * (1.0 - s) * (1.0 - 2.0 * s),
    )


def hump(s: float) -> tuple[float, float, float]:
    """Way up to 1 and down again: 16 s² (1 − s)², and its two derivatives."""
    r = 1.0 - s
    return 16.0 * s * s * r * r, 32.0 * s * r * (1.0 - 2.0 * s), 32.0 * (1.0 - 6.0 * s + 6.0 * s * s)
