"""Reaching: a hand tracks a moving point while the figure balances."""

from __future__ import annotations

from poise.goals.conditions import Always, Standing
from poise.goals.objectives import ComOver, Land
from poise.goals.reaching import Circle
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import floor
from poise.synthesis.behaviors.balance import FALLEN, LITERAL, POSTURE, REACHED, quiet
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Setup, friction


def _reach(options: Options) -> Setup:
    goals = (ComOver(0.3), *POSTURE, Land(0.2), _circle(3.0, options))
    machine = StateMachine("reach", (ControlState("reach", goals, Standing(Always()), ("fallen",)), FALLEN))
    return Setup((Role(machine),), floor(options["friction"]), 8.0)


def _literal(options: Options) -> Setup:
    machine = StateMachine("reach", (ControlState("reach", (*LITERAL, _circle(REACHED, options))),))
    return Setup((Role(machine, pose=quiet),), floor(options["friction"]), 8.0)


def _circle(weight: float, options: Options) -> Circle:
    hand = "left_hand" if options["left"] else "right_hand"
    return Circle(weight, hand, radius=options["radius"], period=options["period"])


REACH = Behavior(
    "reach", "A hand goes round a circle while the figure balances.", _reach,
    {
        "left": Option(False, "with the left hand, not with the right one"),
        "radius": Option(0.12, "of the circle", "m", 0.0, 1.0),
        "period": Option(3.0, "of one round", "s", 0.2, 60.0),
        "friction": friction(),
    }, _literal,
)  # fmt: skip
