"""A wall, or two, as support when balance fails: the nearest hand goes there. [Jain2009]_ 6.1.3."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.goals.conditions import AllOf, Balanced, For, Standing
from poise.goals.goal import Goal
from poise.goals.objectives import ComOver, Land, Pose, Unload
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import Scene, Surface
from poise.goals.walls import Brace, HandsFree, Leaning, Reaching, choose_wall_hands
from poise.synthesis.behaviors.balance import LITERAL, LITERAL_STEPPING, POSTURE, REACHED, STEPPING, quiet
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Scenario, friction

BACK = ComOver(1.0, horizon=0.6)
"""A hand on a wall can push much harder than feet can pull: a slow way back, or the figure throws itself over."""
POSED: tuple[Goal, ...] = (*POSTURE, Land(0.2))
FREE = tuple(replace(w, without=("arms",)) if isinstance(w, Pose) else w for w in POSED)
"""Goals of a leaning figure besides its balance; arms are left free for the wall."""

REACH = ControlState(
    "reach",
    (ComOver(0.3), *FREE, Brace(0.5)),
    Standing(Reaching()),
    ("fallen", "lean", "balance", "relax foot"),
    choose_wall_hands,
)
LEAN = ControlState(
    "lean",
    (BACK, *FREE, Brace(0.5)),
    Standing(Leaning()),
    ("fallen", "let go", "reach", "relax foot"),
    choose_wall_hands,
    ("loose arms",),
)
LET_GO = ControlState(
    "let go",
    (ComOver(0.3), *POSED, Unload(1.0, "hands")),
    Standing(AllOf((Balanced(), For(0.3)))),
    ("fallen", "balance", "lean", "reach", "relax foot"),
    choose_wall_hands,
    ("arms",),
)


def with_hands(machine: StateMachine, name: str) -> StateMachine:
    """A controller that first tries a hand wherever it would begin a step, and steps where no hand helps.

    Args:
        machine: With states "balance", "relax foot" and "fallen".
        name: Of the new controller.
    """
    states: list[ControlState] = []
    for state in machine.states:
        if "relax foot" in state.then:
            k = state.then.index("relax foot")
            state = replace(
                state,
                condition=AllOf((state.condition, HandsFree())),
                then=(*state.then[:k], "let go", "lean", "reach", *state.then[k:]),
            )
        if state.name == "take step":
            state = replace(state, goals=(*state.goals, Brace(0.3, is_nearest=True)))
        states.append(state)
    return StateMachine(name, (*states, REACH, LEAN, LET_GO))


BRACING = with_hands(STEPPING, "wall")

LITERAL_BRACING = StateMachine(
    "wall",
    (
        *(
            replace(state, then=("lean", "reach", *state.then)) if state.name != "relax foot" else state
            for state in LITERAL_STEPPING.states
        ),
        ControlState(
            "reach", (*LITERAL, Brace(REACHED)), Reaching(), ("lean", "balance", "relax foot"), choose_wall_hands
        ),
        ControlState(
            "lean",
            (*LITERAL, Brace(REACHED)),
            Leaning(),
            ("reach", "balance", "relax foot"),
            choose_wall_hands,
            ("loose arms",),
        ),
    ),
)
"""The paper's own weights: balance, and an objective that moves the hand to the wall when balance fails."""


def walls(options: Options) -> tuple[Surface, ...]:
    """The walls that the options ask for, around where the figure stands."""
    out: list[Surface] = []
    for name in ("wall", "wall2")[: round(options["wall.count"])]:
        turn, away = np.radians(options[f"{name}.direction"]), options[f"{name}.distance"]
        ahead, left = float(np.cos(turn)), float(np.sin(turn))
        place, size = (away * ahead, away * left, 1.25), (4.0, 2.5)
        out.append(Surface(name, place, (-ahead, -left, 0.0), size, options["wall.friction"]))
    return tuple(out)


def _wall(options: Options) -> Scenario:
    return Scenario((Role(BRACING),), _scene(options))


def _literal(options: Options) -> Scenario:
    return Scenario((Role(LITERAL_BRACING, pose=quiet),), _scene(options))


def _scene(options: Options) -> Scene:
    return Scene((Surface("floor", friction=options["friction"]), *walls(options)))


WALL = Behavior(
    "wall",
    "Use a wall, or two, for support with the nearest hand.",
    _wall,
    {
        "wall.count": Option(1.0, "how many walls there are", low=0.0, high=2.0, is_whole=True),
        "wall.distance": Option(0.6, "from the figure's middle", "m", 0.1, 100.0),
        "wall.direction": Option(0.0, "where it is, to the left of straight ahead", "degrees", -360.0, 360.0),
        "wall2.distance": Option(0.5, "of the second wall", "m", 0.1, 100.0),
        "wall2.direction": Option(90.0, "of the second wall", "degrees", -360.0, 360.0),
        "wall.friction": Option(0.8, "Coulomb friction of the walls", low=0.0, high=10.0),
        "friction": friction(),
    },
    _literal,
)
