"""Swinging from a bar. [Jain2009]_ 6.3: one goal, more speed along the arc.

In the literal form the paper's three cases: from rest the swing grows and stalls; from high it decays; from high with
straight, stiff legs and a free abdomen ("coordinated") it holds. With a horizon the coordinated figure knows a little
gymnastics: it pikes on the way forward and is straight on the way back, and the swing grows.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.goals.goal import Goal
from poise.goals.objectives import Pose, Still
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import Hold, Scene, Surface
from poise.goals.swinging import Bent, SwingFaster, SwingsBelow, SwingsForward, take_bar
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Scenario
from poise.synthesis.poses import hanging

BAR = Hold("bar", (0.0, 0.0, 2.6), 0.016, (0.0, 1.0, 0.0), 0.6)
HANDS = ("left_hand", "right_hand")
HIPS, TRUNK, SHOULDERS = ("left_hip", "right_hip"), ("Abdomen", "Chest"), ("left_shoulder", "right_shoulder")

FREE: tuple[Goal, ...] = (Still(0.02), Pose(0.01, horizon=0.3), Pose(0.05, only=("left_elbow", "right_elbow")))
START: tuple[Goal, ...] = (Still(0.01), Pose(0.002, horizon=0.3))
LOOSE: tuple[Goal, ...] = (Pose(0.02, horizon=0.3, without=(*TRUNK, *HIPS, *SHOULDERS)), Still(0.001))


def _bent(hips: float, trunk: float, shoulders: float) -> tuple[Goal, ...]:
    return (Bent(0.05, HIPS, hips, 0.2), Bent(0.05, TRUNK, trunk, 0.2), Bent(0.05, SHOULDERS, shoulders, 0.2))


def _pose(angle: float, character: Character) -> npt.NDArray[np.float64]:
    return hanging(character, np.array(BAR.place), np.radians(angle))


def _setup(options: Options, *states: ControlState) -> Scenario:
    role = Role(StateMachine("swing", states), pose=partial(_pose, options["start"]))
    return Scenario((role,), Scene((Surface("floor"),), (BAR,)), 16.0)


def _plain(options: Options, speed: float, rest: tuple[Goal, ...]) -> Scenario:
    """The paper's two states: to and fro between them as the swing's angle reaches what is enough and loses it."""
    enough = options["enough"]
    return _setup(
        options,
        ControlState(
            "try swing", (SwingFaster(speed), *rest), SwingsBelow(enough), ("passive swing",), take_bar, grips=HANDS
        ),
        ControlState(
            "passive swing",
            (SwingFaster(speed, 0.0), *rest),
            SwingsBelow(enough, is_above=True),
            ("try swing",),
            grips=HANDS,
        ),
    )


def _swing(options: Options) -> Scenario:
    if not options["coordinated"]:
        return _plain(options, 1.0, FREE)
    enough = options["enough"]
    return _setup(
        options,
        ControlState(
            "try swing",
            (SwingFaster(1.0), *START),
            SwingsBelow(10.0),
            ("passive swing", "forward", "back"),
            take_bar,
            grips=HANDS,
        ),
        ControlState(
            "forward",
            (*LOOSE, *_bent(-80.0, -25.0, 40.0)),
            SwingsForward(below=enough),
            ("passive swing", "back"),
            grips=HANDS,
        ),
        ControlState(
            "back",
            (*LOOSE, *_bent(25.0, 15.0, -10.0)),
            SwingsForward(is_back=True, below=enough),
            ("passive swing", "forward"),
            grips=HANDS,
        ),
        ControlState(
            "passive swing",
            (*LOOSE, *_bent(0.0, 0.0, 0.0)),
            SwingsBelow(enough, is_above=True),
            ("back", "forward"),
            grips=HANDS,
        ),
    )


def _literal(options: Options) -> Scenario:
    if options["coordinated"]:
        return _plain(options, 15.0, (Still(0.1), Pose(5.0, without=TRUNK)))
    return _plain(options, 4.0, (Still(0.1),))


SWING = Behavior(
    "swing",
    "Swing from a bar.",
    _swing,
    {
        "start": Option(0.0, "how far from straight down it starts, forward", "degrees", -120.0, 120.0),
        "coordinated": Option(False, "whether it knows when to bend and when to stretch"),
        "enough": Option(70.0, "how far it wants to swing", "degrees", 1.0, 180.0),
    },
    _literal,
)
