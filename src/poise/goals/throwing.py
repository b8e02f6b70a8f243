"""A hand that throws what it holds: it swings so that a ball, let go at the end, flies to a place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.goals.goal import UP, Goal
from poise.goals.observation import Observation
from poise.goals.reaching import Target, part_toward
from poise.step import Objective


@dataclass(frozen=True)
class Fling(Goal):
    """A hand swings from beside the hip forward and up; what it lets go at the end flies to a place. It lets nothing
    go by itself.

    Attributes:
        weight: Against the hand's acceleration.
        to: Where the ball is to go, in the world [m].
        flight: For how long it flies [s].
        part: "left_hand" or "right_hand".
        seconds: Of the swing [s], from entering the state on.
        back: Before the swing the hand is so far behind the feet [m].
        ahead, height: There it lets go, from the feet [m].
        aside: All the time, to the hand's own side [m].
        low: Over the ground, before the swing [m].
        horizon: [s].
        max_acceleration: Largest acceleration asked for [m/s²].
    """

    weight: float
    to: tuple[float, float, float]
    flight: float = 0.5
    part: str = "right_hand"
    seconds: float = 0.4
    back: float = 0.3
    ahead: float = 0.45
    aside: float = 0.22
    low: float = 0.8
    height: float = 1.15
    horizon: float = 0.08
    max_acceleration: float = 120.0

    def objectives(self, observed: Observation) -> list[Objective]:
        limit = self.max_acceleration * observed.body.scale
        return part_toward(observed, self.part, self.target(observed), self.weight, self.horizon, "fling", limit)

    def target(self, observed: Observation) -> Target:
        """Where the hand shall be now: on a cubic from rest to where it lets go, with the velocity of the throw."""
        body, T = observed.body, self.seconds
        side = np.cross(UP, body.forward) * (1.0 if self.part == "left_hand" else -1.0)
        feet = observed.state.points[observed.foot("both")].mean(axis=0)
        feet[2] = observed.ground_height

        def at(ahead: float, height: float) -> Array:
            return feet + body.scale * (ahead * body.forward + self.aside * side + height * UP)

        first, last = at(-self.back, self.low), at(self.ahead, self.height)
        goes = (np.array(self.to) - last) / self.flight + 0.5 * GRAVITY * self.flight * UP
        way, s = last - first, min(observed.time_in_state / T, 1.0)
        if T <= 0.0:
            return Target(first, np.zeros(3), np.zeros(3))
        a, b = 3.0 * way - T * goes, T * goes - 2.0 * way
        return Target(first + a * s**2 + b * s**3, (2.0 * a * s + 3.0 * b * s**2) / T, (2.0 * a + 6.0 * b * s) / T**2)
