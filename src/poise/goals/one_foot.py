"""Standing on one foot: the weight goes over it, then the other foot rises.

Source: [Jain2009]_ 6.1.1, G_cf. Deviates: the other foot is lifted once it is light.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.goals.conditions import Condition
from poise.goals.goal import Goal, reads, toward, writes
from poise.goals.observation import Observation
from poise.goals.polygon import distance_inside
from poise.goals.stepping import outward, swing_foot
from poise.step import Objective


@writes("swing")
def stand_on_left(observed: Observation) -> None:
    """Remember that the left foot carries."""
    observed.memory["stance"], observed.memory["swing"] = "left", "right"


@writes("swing")
def stand_on_right(observed: Observation) -> None:
    """Remember that the right foot carries."""
    observed.memory["stance"], observed.memory["swing"] = "right", "left"


def _inside(observed: Observation) -> float:
    """How far the capture point lies inside the stance foot's sole [m]."""
    points = observed.foot("stance")
    return distance_inside(observed.state.points[points, :2], observed.capture_point)


@reads("swing")
@dataclass(frozen=True)
class Shifting(Condition):
    """The weight is not yet over the stance foot: until the capture point is inside its sole and the other is light.

    Attributes:
        margin: How far inside [m].
        load: Part of the weight that the other foot may still carry.
        least: How long this takes at least [s].
    """

    margin: float = 0.012
    load: float = 0.3
    least: float = 0.2

    def holds(self, observed: Observation) -> bool:
        if observed.time_in_state < self.least:
            return True
        is_light = observed.load(observed.foot("swing")) < self.load * observed.weight
        return not (is_light and _inside(observed) > self.margin * observed.body.scale)


@reads("swing")
@dataclass(frozen=True)
class OnOneFoot(Condition):
    """The capture point is over the stance foot, at most `margin` outside its sole [m]."""

    margin: float = 0.02

    def holds(self, observed: Observation) -> bool:
        return observed.is_delayed or _inside(observed) > -self.margin * observed.body.scale


@reads("swing")
@dataclass(frozen=True)
class RaiseFoot(Goal):
    """The swing foot hangs beside the stance foot, at a height.

    Attributes:
        weight: Against the foot's acceleration.
        height: Over the ground [m].
        ahead: [m].
        horizon: [s].
    """

    weight: float
    height: float = 0.25
    ahead: float = 0.1
    horizon: float = 0.25

    def objectives(self, observed: Observation) -> list[Objective]:
        foot = swing_foot(observed)
        if foot is None:
            return []
        stance = observed.place(observed.foot("stance"))
        ahead, scale = observed.heading, observed.body.scale
        goal = stance[:2] + scale * (0.16 * outward(observed, foot.side) + self.ahead * ahead)
        height = observed.ground_height_below("stance") + scale * self.height
        error = np.array([goal[0], goal[1], height]) - foot.place
        return [toward(observed, foot.quantity, error, foot.velocity, self.weight, self.horizon, "raise foot")]
