"""Protective steps when balance fails, also on ice. [Jain2009]_ 6.1.2."""

from __future__ import annotations

from poise.methods.goals.conditions import Balanced, Loaded, Standing, Stepping
from poise.methods.goals.machine import ControlState, Machine
from poise.methods.goals.objectives import ComOver, Land, Unload, Upright
from poise.methods.goals.stepping import StepTo, choose_swing_foot
from poise.synthesis.behaviors.balance import FALLEN, POSTURE
from poise.methods.goals.surroundings import floor
from poise.synthesis.behaviors.behavior import Behavior, Options, Role, Setup

STEPPING = Machine(
    "step",
    (
        ControlState("balance", (ComOver(0.3), *POSTURE, Land(0.2)), Standing(Balanced()), ("fallen", "relax foot")),
        ControlState(
            "relax foot", (ComOver(0.5, "stance"), Unload(1.0), *POSTURE), Standing(Loaded()),
            ("fallen", "take step"), choose_swing_foot
        ),
        ControlState(
            "take step",
            (StepTo(1.0), Upright(0.3, ("swing",)), Upright(0.05, ("stance",)), *POSTURE),
            Standing(Stepping()),
            ("fallen", "balance"),
            lifts=("swing",),
        ),
        FALLEN,
    ),
)


def _step(options: Options) -> Setup:
    return Setup((Role(STEPPING),), floor(options["friction"]))


STEP = Behavior("step", "Take protective steps when pushed off balance.", _step, {"friction": 1.0})
ICE = Behavior("ice", "The same on ice.", _step, {"friction": 0.2})
