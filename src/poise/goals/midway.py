"""The paper's own protective steps: the foot that is farther, to where the center of mass is midway between the feet.

Source: [Jain2009]_ 6.1.2, for the literal form; `stepping` has what works better. Deviates: whether the foot's distance
grows is asked only after a while, since one that starts from rest falls behind at first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.goals.conditions import Condition
from poise.goals.memory import reads, writes
from poise.goals.stepping import OTHER
from poise.goals.view import View
from poise.goals.wish import Wish, place_toward
from poise.step import Objective

Array = npt.NDArray[np.float64]


@writes("swing")
def choose_farther_foot(view: View) -> None:
    """Remember which foot shall step, the one farther from below the center of mass: memory "swing" and "stance"."""
    away = {side: float(np.linalg.norm(view.place(view.body.feet[side])[:2] - view.com[:2])) for side in OTHER}
    swing = max(away, key=lambda side: away[side])
    view.memory.update(swing=swing, stance=OTHER[swing])


def midway(view: View) -> Array:
    """Where the swing foot stands when the center of mass is midway between the feet, on the ground [m], shape (3,)."""
    stance = view.place(view.foot("stance"))
    return np.array([*(2.0 * view.com[:2] - stance[:2]), view.ground_height_below("stance")])


@reads("swing")
@dataclass(frozen=True)
class StepMidway(Wish):
    """The swing foot goes to where the center of mass is midway between the feet: [Jain2009]_ G_p of takeStep.

    Attributes:
        weight: Against the foot's acceleration, or its place in the literal form.
        horizon: [s].
    """

    weight: float
    horizon: float = 0.1

    def objectives(self, view: View) -> list[Objective]:
        if "swing" not in view.memory:
            return []
        body = view.body.character.body_index(f"{view.memory['swing']}_foot")
        offset = view.state.body_offset(view.body.root + body, view.place(view.foot("swing")))
        return [place_toward(view, body, offset, midway(view), self.weight, self.horizon)]


@reads("swing")
@dataclass(frozen=True)
class Nearing(Condition):
    """The swing foot does not get farther from where it shall stand: [Jain2009]_ takeStep.

    Attributes:
        least: Time before it is asked [s].
    """

    least: float = 0.1

    def holds(self, view: View) -> bool:
        if view.since < self.least:
            return True
        place, velocity = view.middle(view.foot("swing"))
        away = (midway(view) - place)[:2]
        leaving = float(away @ (2.0 * view.com_velocity[:2] - velocity[:2])) > 0.0
        if leaving:
            view.memory["placed"] = view.time
        return not leaving
