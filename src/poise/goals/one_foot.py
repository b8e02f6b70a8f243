"""Standing on one foot: the weight moves first, then the foot lifts. [Jain2009]_ 6.1.1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.goals.conditions import Condition
from poise.goals.memory import reads, writes
from poise.goals.polygon import distance_inside
from poise.goals.swing_foot import outward, swing_foot
from poise.goals.view import View
from poise.goals.wish import Wish, toward
from poise.step import Objective


@writes("swing")
def stand_on_left(view: View) -> None:
    """Remember that the left foot carries."""
    view.memory["stance"], view.memory["swing"] = "left", "right"


@writes("swing")
def stand_on_right(view: View) -> None:
    """Remember that the right foot carries."""
    view.memory["stance"], view.memory["swing"] = "right", "left"


def _inside(view: View) -> float:
    """How far the capture point lies inside the stance foot's sole [m]."""
    points = view.foot("stance")
    return distance_inside(view.state.points[points, :2], view.capture_point)


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

    def holds(self, view: View) -> bool:
        if view.since < self.least:
            return True
        is_light = view.load(view.foot("swing")) < self.load * view.weight
        return not (is_light and _inside(view) > self.margin * view.body.scale)


@reads("swing")
@dataclass(frozen=True)
class OnOneFoot(Condition):
    """The capture point is over the stance foot, at most `margin` outside its sole [m]."""

    margin: float = 0.02

    def holds(self, view: View) -> bool:
        return view.is_delayed or _inside(view) > -self.margin * view.body.scale


@reads("swing")
@dataclass(frozen=True)
class RaiseFoot(Wish):
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

    def objectives(self, view: View) -> list[Objective]:
        foot = swing_foot(view)
        if foot is None:
            return []
        stance = view.place(view.foot("stance"))
        ahead, scale = view.heading, view.body.scale
        goal = stance[:2] + scale * (0.16 * outward(view, foot.side) + self.ahead * ahead)
        height = view.ground_height_below("stance") + scale * self.height
        error = np.array([goal[0], goal[1], height]) - foot.place
        return [toward(view, foot.quantity, error, foot.velocity, self.weight, self.horizon, "raise foot")]
