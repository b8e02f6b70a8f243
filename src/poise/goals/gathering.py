"""Standing again: when steps have brought the figure to rest with its feet apart, the other foot is brought up.

Source: none; [Jain2009]_ 6.1.2 ends where the last step does. People bring the foot up: a lunge tires, and the next
push would find it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.goals.conditions import Condition
from poise.goals.memory import reads, writes
from poise.goals.polygon import distance_inside
from poise.goals.sense import clear_of_walls
from poise.goals.stepping import OTHER, STRIDE, StepTo, begin_step, landing
from poise.goals.swing_foot import outward
from poise.goals.view import View

Array = npt.NDArray[np.float64]

SECONDS, HURRIED = 0.45, 0.25
"""How long a foot takes that is brought up, and one that must catch the figure on its way [s]."""
OVER = 0.06
"""A capture point at most so far outside the stance foot's sole is as good as over it [m]."""
SOLE = 0.15
"""Part of a sole's length that holds the figure, ahead of its middle or behind [m]."""


def beside(view: View, swing: str) -> Array:
    """Where a foot stands beside the other, as far from it as at rest [m], shape (2,)."""
    away = view.body.stance * outward(view, swing)
    return clear_of_walls(view, view.place(view.body.feet[OTHER[swing]])[:2] + away)


@writes("swing", "seconds")
def choose_gathering(view: View) -> None:
    """Remember which foot is brought up, the one that did not take the last step: "swing", "stance" and "seconds"."""
    loads = {side: view.load(view.body.feet[side]) for side in OTHER}
    swing = view.memory.get("stance", min(loads, key=lambda side: loads[side]))
    view.memory.update(swing=swing, stance=OTHER[swing], seconds=SECONDS * view.body.tempo)


@writes("seconds")
def begin_gathering(view: View) -> None:
    """Remember how high the foot to bring up is, as `begin_step`, and hurry if the weight is not over the other."""
    begin_step(view)
    soles = view.state.points[view.foot("stance"), :2]
    over = distance_inside(soles, view.capture_point) > -OVER * view.body.scale
    view.memory["seconds"] = (SECONDS if over else HURRIED) * view.body.tempo


@dataclass(frozen=True)
class Gathered(Condition):
    """The feet stand beside each other, or there is more to do than to mind them: the figure still moves.

    Attributes:
        near: How far a foot may be from its place beside the other [m].
        calm: Speed of the center of mass up to which it is at rest [m/s].
        after: How long the state lasts at least [s].
    """

    near: float = 0.12
    calm: float = 0.15
    after: float = 0.5

    def holds(self, view: View) -> bool:
        scale = view.body.scale
        if view.since < self.after * view.body.tempo or view.is_delayed:
            return True
        if float(np.linalg.norm(view.com_velocity)) > self.calm * view.body.tempo:
            return True
        away = view.place(view.body.feet["left"])[:2] - beside(view, "left")
        return float(np.linalg.norm(away)) <= self.near * scale


@reads("swing", "seconds")
@dataclass(frozen=True)
class Caught(Condition):
    """The swing foot can land so that the capture point is between the feet then.

    Attributes:
        margin: How far outside it may be [m].
    """

    margin: float = 0.05

    def holds(self, view: View) -> bool:
        if view.is_delayed or "seconds" not in view.memory:
            return True
        left = max(0.0, view.memory["seconds"] - view.since)
        return landing(view, view.memory["swing"], left)[1] < self.margin * view.body.scale


@dataclass(frozen=True)
class BringUp(StepTo):
    """The swing foot goes beside the stance foot, as far from it as at rest, or where it must to catch the figure.

    Settings are those of `StepTo`.
    """

    def target(self, view: View) -> Array:
        body, swing = view.body, view.memory["swing"]
        left = max(0.0, view.memory["seconds"] - view.since)
        near = replace(STRIDE, beyond=0.0, narrowest=body.stance / body.scale)
        place, _ = landing(view, swing, left, near)
        ahead, home = view.heading, beside(view, swing)
        forward = float((place - home) @ ahead)
        # within a sole's length the stance foot holds the figure
        place = place - np.clip(forward, -SOLE * body.scale, SOLE * body.scale) * ahead
        return clear_of_walls(view, place)
