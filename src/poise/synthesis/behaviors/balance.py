"""Balance: stand, and answer small pushes in place. [Jain2009]_ 6.1.1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.goals.conditions import Always, Lying, Standing
from poise.goals.falling import BreakFall, GiveWay
from poise.goals.machine import ControlState, Machine
from poise.goals.objectives import ComHeight, ComOver, Facing, Land, Pose, Still, Upright
from poise.goals.surroundings import floor
from poise.goals.wish import Wish
from poise.synthesis.behaviors.behavior import Behavior, Options, Role, Setup
from poise.synthesis.behaviors.option import friction
from poise.synthesis.stance import standing

POSTURE: tuple[Wish, ...] = (
    Upright(0.1, ("chest",)),
    Upright(0.2, ("pelvis",)),
    Facing(0.2),
    ComHeight(0.3),
    Pose(0.005),
    Still(0.001),
)
"""What a standing figure wishes besides its balance."""


FALLEN = ControlState("fallen", (BreakFall(0.3), GiveWay(1.0)), Lying(), lifts=("body",))
"""What a figure does that falls, or lies on the ground: its hands go ahead, the rest gives way and comes to rest."""


def _balance(options: Options) -> Setup:
    state = ControlState("balance", (ComOver(0.3), *POSTURE, Land(0.2)), Standing(Always()), ("fallen",))
    return Setup((Role(Machine("balance", (state, FALLEN))),), floor(options["friction"]))


QUIET = 0.4
"""Where people who stand quietly have their center of mass, in parts of the foot's length from the heel. The literal
form moves it by a tenth of its way a second, so that it lives by the room it starts with."""


LITERAL: tuple[Wish, ...] = (ComOver(5.0), Upright(70.0, ("chest",)), Still(0.5))
"""The paper's own: 5 G_cp + 70 G_spine + 0.5 G_qv."""
REACHED = 0.8
"""Weight of a point of the body that goes somewhere in the literal form: the paper's G_p of a step, which it also uses
where it gives no number."""


def quiet(character: Character) -> npt.NDArray[np.float64]:
    """Standing as people do who stand quietly: where the literal form begins."""
    return standing(character, over=QUIET)


def _literal(options: Options) -> Setup:
    return Setup(
        (Role(Machine("balance", (ControlState("balance", LITERAL),)), pose=quiet),), floor(options["friction"])
    )


BALANCE = Behavior("balance", "Stand in place and answer pushes.", _balance, {"friction": friction()}, _literal)
