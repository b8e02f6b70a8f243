"""Reaching: a hand tracks a moving point while the figure balances."""

from __future__ import annotations

from poise.methods.goals.conditions import Always, Standing
from poise.methods.goals.machine import ControlState, Machine
from poise.methods.goals.objectives import ComOver, Land
from poise.methods.goals.reaching import Circle
from poise.methods.goals.surroundings import floor
from poise.synthesis.behaviors.balance import FALLEN, POSTURE
from poise.synthesis.behaviors.behavior import Behavior, Options, Role, Setup


def _reach(options: Options) -> Setup:
    hand = "left_hand" if options["left"] > 0.5 else "right_hand"
    circle = Circle(3.0, hand, radius=options["radius"], period=options["period"])
    wishes = (ComOver(0.3), *POSTURE, Land(0.2), circle)
    machine = Machine("reach", (ControlState("reach", wishes, Standing(Always()), ("fallen",)), FALLEN))
    return Setup((Role(machine),), floor(options["friction"]), 8.0)


REACH = Behavior(
    "reach", "A hand goes round a circle while the figure balances.", _reach,
    {"left": 0.0, "radius": 0.12, "period": 3.0, "friction": 1.0},
)  # fmt: skip
