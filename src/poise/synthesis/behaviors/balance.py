"""Balance: stand, and answer small pushes in place. [Jain2009]_ 6.1.1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.goals.conditions import Always, Lying, Standing
from poise.goals.goal import Goal
from poise.goals.living import BalanceArms, BreakFall, Breathe, Gaze, GiveWay, Sway
from poise.goals.objectives import ComeToRest, ComHeight, ComOver, Facing, Land, Pose, Still, Upright
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import floor
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Scenario, friction
from poise.synthesis.poses import standing

POSTURE: tuple[Goal, ...] = (
    Upright(0.1, ("chest",)),
    Upright(0.2, ("pelvis",)),
    Facing(0.2),
    ComHeight(0.3),
    Pose(0.005),
    Still(0.001),
)
"""Goals of a standing figure besides its balance."""


FALLEN = ControlState("fallen", (BreakFall(0.3), GiveWay(1.0)), Lying(), releases=("body",))
"""What a figure does that falls, or lies on the ground: its hands go ahead, the rest gives way and comes to rest."""


ALIVE: tuple[Goal, ...] = (BalanceArms(0.05), Gaze(0.02))
"""What makes every state of a standing figure look alive."""


def alive(machine: StateMachine, options: Options) -> StateMachine:
    """A controller with the living layer in all its states but "fallen", if the options ask for it.

    Args:
        machine: With a state "balance", where the figure stands quietly: there it breathes and sways.
        options: "alive", whether it does, and "seed" of the sway.
    """
    if not options["alive"]:
        return machine
    seed, states = int(options["seed"]), []
    for state in machine.states:
        goals = state.goals
        if state.name == "balance":
            goals = tuple(Sway(g, seed=seed) if isinstance(g, ComOver | ComeToRest) else g for g in goals)
            goals = (*goals, Breathe(0.05))
        if state.name != "fallen":
            goals = (*goals, *ALIVE)
        states.append(replace(state, goals=goals))
    return replace(machine, states=tuple(states))


def living(seed: float = 1.0) -> dict[str, Option]:
    """The options of a behavior with the living layer."""
    return {
        "alive": Option(True, "arms that balance, breathing, sway and gaze; false for none of them"),
        "seed": Option(seed, "of the sway; --seed is the same", low=0.0, high=1e9, is_whole=True),
    }


def _balance(options: Options) -> Scenario:
    state = ControlState("balance", (ComOver(0.3), *POSTURE, Land(0.2)), Standing(Always()), ("fallen",))
    machine = alive(StateMachine("balance", (state, FALLEN)), options)
    return Scenario((Role(machine),), floor(options["friction"]))


QUIET = 0.4
"""Where people who stand quietly have their center of mass, in parts of the foot's length from the heel. The literal
form moves it by a tenth of its way a second, so that it lives by the room it starts with."""


LITERAL: tuple[Goal, ...] = (ComOver(5.0), Upright(70.0, ("chest",)), Still(0.5))
"""The paper's own: 5 G_cp + 70 G_spine + 0.5 G_qv."""
REACHED = 0.8
"""Weight of a point of the body that goes somewhere in the literal form: the paper's G_p of a step, which it also uses
where it gives no number."""


def quiet(character: Character) -> npt.NDArray[np.float64]:
    """Standing as people do who stand quietly: where the literal form begins."""
    return standing(character, over=QUIET)


def _literal(options: Options) -> Scenario:
    return Scenario(
        (Role(StateMachine("balance", (ControlState("balance", LITERAL),)), pose=quiet),), floor(options["friction"])
    )


BALANCE = Behavior(
    "balance", "Stand in place and answer pushes.", _balance, {"friction": friction(), **living()}, _literal
)
