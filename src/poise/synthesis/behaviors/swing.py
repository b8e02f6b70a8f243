"""Swinging from a bar. [Jain2009]_ 6.3: one goal, more speed along the arc, and in the third variant a stiff body."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from poise.character.character import Character
from poise.methods.goals.machine import ControlState, Machine
from poise.methods.goals.objectives import Pose, Still, Wish
from poise.methods.goals.surroundings import Hold, Scene, Surface
from poise.methods.goals.swinging import SwingFaster, SwingsBelow
from poise.methods.goals.view import View
from poise.synthesis.behaviors.behavior import Behavior, Options, Role, Setup
from poise.synthesis.poses import hanging

BAR = Hold("bar", (0.0, 0.0, 2.6), 0.016, (0.0, 1.0, 0.0), 0.6)
HANDS = ("left_hand", "right_hand")


def hold_bar(view: View) -> None:
    """Remember that both hands hold the bar."""
    for hand in HANDS:
        view.memory[f"{hand} reaches"] = BAR.name


def _pose(angle: float, character: Character) -> npt.NDArray[np.float64]:
    return hanging(character, np.array(BAR.place), np.radians(angle))


def _machine(speed: float, still: float, stiff: tuple[Wish, ...], enough: float) -> Machine:
    return Machine(
        "swing",
        (
            ControlState(
                "try swing", (SwingFaster(speed), Still(still), *stiff), SwingsBelow(enough), ("passive swing",),
                hold_bar, grips=HANDS,
            ),
            ControlState(
                "passive swing", (SwingFaster(speed, 0.0), Still(still), *stiff), SwingsBelow(enough, is_above=True), ("try swing",),
                grips=HANDS,
            ),
        ),
    )  # fmt: skip


def _setup(machine: Machine, options: Options) -> Setup:
    scene = Scene((Surface("floor"),), (BAR,))
    return Setup((Role(machine, pose=partial(_pose, options["start"])),), scene, 16.0)


def _literal(options: Options) -> Setup:
    if options["coordinated"]:
        stiff = (Pose(5.0, without=("Abdomen",)),)
        return _setup(_machine(15.0, 0.1, stiff, options["enough"]), options)
    return _setup(_machine(4.0, 0.1, (), options["enough"]), options)


SWING = Behavior(
    "swing", "Swing from a bar.", _literal, {"start": 0.0, "coordinated": False, "enough": 70.0}, _literal
)
