"""Bars and holds as support: which to grab, on the way there, holding on, hanging.

Source: [Jain2009]_ 7.2, where a figure in a cable car decides what to grab from what is around it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.goals.body import SIDES
from poise.goals.conditions import Condition
from poise.goals.memory import reads, writes
from poise.goals.sense import reachable
from poise.goals.view import View
from poise.goals.wish import Wish, toward
from poise.step import Objective
from poise.step.quantities import PlaceAcceleration

HANDS = tuple(f"{side}_hand" for side in SIDES)


@writes("holds")
def choose_bars(view: View) -> None:
    """Remember for each free hand the hold or bar nearest to it that it sees and can reach: "left_hand reaches"."""
    for hand in HANDS:
        if hand in view.grips:
            continue
        view.memory.pop(f"{hand} reaches", None)
        found = reachable(view, hand, 0.05, kinds=("hold", "bar")) if len(view.part(hand)) else []
        if found:
            view.memory[f"{hand} reaches"] = found[0].name


@reads("holds")
@dataclass(frozen=True)
class Grasping(Condition):
    """Hands are on their way to bars, for no longer than `seconds`."""

    seconds: float = 1.0

    def holds(self, view: View) -> bool:
        wanted = [hand for hand in HANDS if f"{hand} reaches" in view.memory]
        return bool(wanted) and view.since < self.seconds and not all(hand in view.grips for hand in wanted)


@dataclass(frozen=True)
class Holding(Condition):
    """A hand holds on.

    Attributes:
        is_hanging: And no foot is near anything to stand on.
        is_standing: And a foot is.
        near: Height of feet that counts as standing [m].
    """

    is_hanging: bool = False
    is_standing: bool = False
    near: float = 0.1

    def holds(self, view: View) -> bool:
        stands = bool((view.gaps[view.foot("both")] < self.near * view.body.scale).any())
        if (self.is_hanging and stands) or (self.is_standing and not stands):
            return False
        return any(hand in view.grips for hand in HANDS)


@reads("holds")
@dataclass(frozen=True)
class Grasp(Wish):
    """Free hands go to what they reach for.

    Attributes:
        weight: Against the acceleration of the fingers.
        horizon: [s].
        most: Largest acceleration asked for [m/s²].
    """

    weight: float
    horizon: float = 0.12
    most: float = 80.0

    def objectives(self, view: View) -> list[Objective]:
        out: list[Objective] = []
        for hand in HANDS:
            name = view.memory.get(f"{hand} reaches")
            if name is None or hand in view.grips:
                continue
            point = int(view.part(hand)[-1])
            here, velocity = view.state.centers[point], view.state.point_velocities[point]
            place = view.scene.hold(str(name)).nearest(here, view.time)
            body = view.body.root + view.body.character.roles[hand]
            offset = view.state.body_offset(body, here)
            quantity = PlaceAcceleration(body, np.asarray(offset))
            most = self.most * view.body.scale
            out.append(toward(view, quantity, place - here, velocity, self.weight, self.horizon, "grasp", most=most))
        return out
