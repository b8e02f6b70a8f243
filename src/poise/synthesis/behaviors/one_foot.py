"""Standing on one foot, in any captured pose if there is a clip. [Jain2009]_ 6.1.1."""

from __future__ import annotations

from poise.goals.conditions import Always, Standing
from poise.goals.objectives import ComHeight, ComOver, Facing, Follow, Land, Pose, Still, Upright
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.stepping import OnOneFoot, RaiseFoot, Shifting, stand_on_left, stand_on_right
from poise.goals.surroundings import floor
from poise.synthesis.behaviors.balance import FALLEN, POSTURE
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Scenario, friction

SLOW = 0.35
"""Horizon of the weight's way [s]: sooner it overshoots the sole."""


def _one_foot(options: Options) -> Scenario:
    on_enter = stand_on_left if options["left"] else stand_on_right
    keep = (Upright(0.1, ("chest",)), Upright(0.2, ("pelvis",)), Facing(0.2), ComHeight(0.3), Still(0.003))
    machine = StateMachine(
        "one foot",
        (
            ControlState(
                "shift",
                (ComOver(3.0, "stance", horizon=SLOW), *POSTURE, Land(0.2)),
                Standing(Shifting()),
                ("fallen", "lift"),
                on_enter,
            ),
            ControlState(
                "lift",
                (
                    ComOver(10.0, "stance", horizon=SLOW),
                    *keep,
                    Pose(0.002),
                    RaiseFoot(1.0, options["height"]),
                    Follow(0.05, 0.15, ("stance leg",)),
                    Upright(0.3, ("stance",)),
                ),
                Standing(OnOneFoot()),
                ("fallen", "put down"),
                releases=("swing",),
            ),
            ControlState("put down", (ComOver(0.3), *POSTURE, Land(0.2)), Standing(Always()), ("fallen",)),
            FALLEN,
        ),
    )
    return Scenario((Role(machine),), floor(options["friction"]), 10.0)


def _literal(options: Options) -> Scenario:
    # the weights of balance, 5 beside 0.5 on all joint speeds, move the mass by 1 mm a second: it would take 95 s
    on_enter = stand_on_left if options["left"] else stand_on_right
    own = (Upright(70.0, ("chest",)), Still(0.5))
    machine = StateMachine(
        "one foot",
        (
            ControlState("shift", (ComOver(20.0 * 5.0, "stance"), *own), Shifting(), ("lift",), on_enter),
            ControlState(
                "lift",
                (ComOver(5.0 * 5.0, "stance"), *own, RaiseFoot(5.0 * 0.8, options["height"])),
                releases=("swing",),
            ),
        ),
    )
    return Scenario((Role(machine),), floor(options["friction"]), 10.0)


ONE_FOOT = Behavior(
    "one-foot",
    "Move the weight over one foot, then lift the other.",
    _one_foot,
    {
        "left": Option(True, "stand on the left foot, not on the right one"),
        "height": Option(0.25, "how high the other foot goes", "m", 0.0, 1.0),
        "friction": friction(),
    },
    _literal,
)
