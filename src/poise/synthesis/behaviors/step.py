"""Protective steps when balance fails, also on ice. [Jain2009]_ 6.1.2."""

from __future__ import annotations

from dataclasses import replace

from poise.goals.conditions import AllOf, Balanced, For, Loaded, Standing, Stepping
from poise.goals.goal import Goal
from poise.goals.objectives import ComeToRest, ComHeight, ComOver, Facing, Land, Pose, Still, Unload, Upright
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.stepping import (
    BringUp,
    Caught,
    Gathered,
    Nearing,
    Shifting,
    StepMidway,
    StepTo,
    begin_gathering,
    begin_step,
    choose_farther_foot,
    choose_gathering,
    choose_step,
)
from poise.goals.surroundings import floor
from poise.synthesis.behaviors.balance import FALLEN, LITERAL, REACHED, alive, living, quiet
from poise.synthesis.behaviors.behavior import Behavior, Options, Role, Scenario, friction

POISE: tuple[Goal, ...] = (
    Upright(0.5, ("chest", "pelvis"), 0.15),
    Facing(0.3, 0.2),
    ComHeight(1.0, horizon=0.2),
    Pose(0.02, 0.25),
    Still(0.002),
)
"""Goals of a figure that must keep its feet, besides its balance: softer than a standing one's posture."""
SLOWLY = tuple(replace(w, horizon=0.4) if isinstance(w, ComHeight) else w for w in POISE)
"""The same while a foot is brought up: a figure that rises from a lunge at once leaps."""

STEPPING = StateMachine(
    "step",
    (
        ControlState(
            "balance",
            (ComeToRest(10.0), *POISE, Land(1.0, 1.0)),
            Standing(AllOf((Balanced(), Gathered()))),
            ("fallen", "shift weight", "relax foot", "take step"),
            releases=("trailing",),
        ),
        ControlState(
            "relax foot",
            (ComeToRest(10.0, foot="stance"), Unload(1.0), *POISE),
            Standing(Loaded()),
            ("fallen", "take step"),
            choose_step,
        ),
        ControlState(
            "take step",
            (
                StepTo(10.0),
                Upright(5.0, ("swing",), 0.1),
                Upright(2.0, ("pelvis", "chest"), 0.15),
                Facing(2.0, 0.2),
                Facing(5.0, 0.1, ("swing",)),
                ComeToRest(1.0, foot="stance"),
                ComHeight(5.0, 0.95, 0.2),
                Pose(0.05, 0.25, without=("swing leg",)),
                Still(0.002),
            ),
            Standing(Stepping()),
            ("fallen", "balance"),
            begin_step,
            ("swing", "trailing"),
        ),
        ControlState(
            "shift weight",
            (ComeToRest(10.0, foot="stance"), *SLOWLY, Land(1.0, 1.0)),
            Standing(AllOf((Balanced(), Shifting(-0.04, 0.4, 0.1), For(0.8)))),
            ("fallen", "bring up", "balance", "relax foot", "take step"),
            choose_gathering,
            ("trailing",),
        ),
        ControlState(
            "bring up",
            (
                BringUp(10.0),
                Upright(5.0, ("swing",), 0.1),
                Facing(5.0, 0.1, ("swing",)),
                ComeToRest(10.0, foot="stance"),
                *SLOWLY,
            ),
            Standing(AllOf((Stepping(), Caught()))),
            ("fallen", "balance", "relax foot", "take step"),
            begin_gathering,
            ("swing", "trailing"),
        ),
        FALLEN,
    ),
)


def _step(options: Options) -> Scenario:
    return Scenario((Role(alive(STEPPING, options)),), floor(options["friction"]))


LITERAL_STEPPING = StateMachine(
    "step",
    (
        ControlState("balance", LITERAL, Balanced(literal=True), ("relax foot",)),
        ControlState(
            "relax foot", (Still(0.2), ComOver(50.0, "stance"), Unload(1.0)), Loaded(), ("take step",),
            choose_farther_foot,
        ),
        ControlState(
            "take step", (Still(3.0), Upright(20.0), StepMidway(REACHED)), Nearing(), ("balance", "relax foot"),
            releases=("swing",),
        ),
    ),
)  # fmt: skip
"""The paper's own three states."""


def _literal(options: Options) -> Scenario:
    return Scenario((Role(LITERAL_STEPPING, pose=quiet),), floor(options["friction"]))


STEP = Behavior(
    "step", "Take protective steps when pushed off balance.", _step, {"friction": friction(), **living()}, _literal
)
ICE = Behavior("ice", "The same on ice.", _step, {"friction": friction(0.2), **living()}, _literal)
