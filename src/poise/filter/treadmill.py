"""Clips that walk on the spot, as on a treadmill: simulated where the floor rests and the figure travels.

Physics is the same in both frames, because the floor moves at a constant velocity. What is given and what comes back
is in the frame of the clip, where the figure stays and the floor moves. Under a figure that fell the floor stops, as a
treadmill does, so that it lies where it fell.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.forces import Force, PointGoal, Push
from poise.phases.travel import in_place_velocity

STOPS = 0.5
"""A floor stops in this time under a figure that fell, and is as fast again as long after it got up [s]."""


@dataclass(frozen=True)
class Treadmill:
    """The floor under a clip, which may move.

    Attributes:
        velocity: Of the floor in the frame of the clip, horizontal [m/s], shape (3,).
    """

    velocity: Array = field(default_factory=lambda: np.zeros(3))

    @classmethod
    def under(cls, motion: Motion) -> Treadmill:
        """The floor of a clip: at the speed of the standing feet if it walks on the spot, else at rest."""
        return cls(in_place_velocity(motion))

    @property
    def moves(self) -> bool:
        return bool(np.any(self.velocity))

    def travel(self, times: Array | float) -> Array:
        """Where the clip's frame is at these times [s], seen from the floor [m], shape (..., 3)."""
        return -np.multiply.outer(np.asarray(times, dtype=np.float64), self.velocity)

    def on_floor(self, q: Array, times: Array) -> Array:
        """Coordinates (F, nq) of the clip's frame in that of the floor."""
        if not self.moves:
            return q
        out = q.copy()
        out[:, :3] += self.travel(times)
        return out

    def on_spot(self, simulated: Array, reference: Array, own: Array, lags: Array) -> Array:
        """Simulated coordinates (F, nq) in the clip's frame.

        They are as far from its `own` as from the traveling reference, plus how far the floor `lags` (F, 3) [m].
        """
        if not self.moves:
            return simulated
        out = simulated.copy()
        out[:, :3] = own[:, :3] + (simulated - reference)[:, :3] + lags
        return out

    def pace(self, before: float, has_fallen: bool, dt: float) -> float:
        """Part of its velocity that the floor has after a step of dt [s], 0 … 1."""
        return max(0.0, before - dt / STOPS) if has_fallen else min(1.0, before + dt / STOPS)

    def lag(self, pace: float, dt: float) -> Array:
        """How much further a floor that never stops takes the clip's frame in a step of dt [s], shape (3,) [m]."""
        return -(1.0 - pace) * dt * self.velocity

    def force(self, force: Force, lag: Array, pace: float) -> Force:
        """A force in the frame of the floor. Only the direction of a push counts; a pull is tied to a place.

        Args:
            force: In the frame of the clip.
            lag: How far the floor lags [m], shape (3,).
            pace: Part of its velocity that it has.
        """
        return _Carried(force, self, lag, pace) if self.moves and not isinstance(force, Push) else force

    def goal(self, goal: PointGoal) -> PointGoal:
        """A point goal, whose target is a place in the frame of the clip, in that of the floor."""
        return replace(goal, target=lambda time: goal.place(time) + self.travel(time)) if self.moves else goal

    def add_to(self, data: dict[str, Any]) -> None:
        """Add the floor's velocity to a report, and put its places into the frame of the clip."""
        data["floor_velocity_m_s"] = self.velocity.tolist()
        frames = data["per_frame"]
        if self.moves:
            away = self.travel(np.array(frames["time"]))
            for name in ("com_m", "com_reference_m"):
                frames[name] = (np.array(frames[name]) - away).tolist()


class _Carried(Force):
    """A force that was given in the frame of the clip."""

    def __init__(self, own: Force, belt: Treadmill, lag: Array, pace: float) -> None:
        self._own, self._belt, self._lag, self._pace = own, belt, lag, pace
        self.body, self.start, self.duration = own.body, own.start, own.duration

    @property
    def offset(self) -> Array | None:
        return self._own.offset

    def is_on(self, time: float) -> bool:
        return self._own.is_on(time)

    def is_over(self, time: float) -> bool:
        return self._own.is_over(time)

    def body_of(self, character: Character) -> int:
        return self._own.body_of(character)

    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        belt = self._belt
        place = place - belt.travel(time) + self._lag
        return self._own.force_at(place, velocity + self._pace * belt.velocity, time, mass)
