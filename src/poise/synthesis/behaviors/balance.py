"""Balance: stand, on one foot too, and answer small pushes in place, [Jain2009]_ 6.1.1; step where it fails, 6.1.2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.goals.conditions import AllOf, Always, Balanced, For, Loaded, Lying, Standing, Stepping
from poise.goals.goal import Goal
from poise.goals.living import BalanceArms, BreakFall, Breathe, Gaze, GiveWay, Sway
from poise.goals.objectives import (
    ComeToRest,
    ComHeight,
    ComOver,
    Facing,
    Follow,
    Land,
    LandSoftly,
    Pose,
    Still,
    Unload,
    Upright,
)
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.stepping import (
    BringUp,
    Caught,
    Follows,
    Gathered,
    Nearing,
    OnOneFoot,
    RaiseFoot,
    Shifting,
    StepMidway,
    StepTo,
    begin_gathering,
    begin_step,
    choose_farther_foot,
    choose_gathering,
    choose_step,
    follow,
    stand_on_left,
    stand_on_right,
)
from poise.goals.surroundings import floor
from poise.goals.swinging import Bent
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


def _balance_literal(options: Options) -> Scenario:
    return Scenario(
        (Role(StateMachine("balance", (ControlState("balance", LITERAL),)), pose=quiet),), floor(options["friction"])
    )


BALANCE = Behavior(
    "balance", "Stand in place and answer pushes.", _balance, {"friction": friction(), **living()}, _balance_literal
)


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
                    RaiseFoot(5.0, options["height"]),
                    Upright(0.5, ("swing",)),
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


def _one_foot_literal(options: Options) -> Scenario:
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
    _one_foot_literal,
)


POISE: tuple[Goal, ...] = (
    Upright(0.5, ("chest", "pelvis"), 0.15),
    Facing(0.3, 0.2),
    ComHeight(1.0, horizon=0.2),
    Pose(0.02, 0.25),
    Still(0.002),
    LandSoftly(1000.0),
)
"""Goals of a figure that must keep its feet, besides its balance: softer than a standing one's posture."""
SLOWLY = tuple(replace(w, horizon=0.4) if isinstance(w, ComHeight) else w for w in POISE)
"""The same while a foot is brought up: a figure that rises from a lunge at once leaps."""

BEND = Bent(0.1, ("swing knee",), 50.0)
"""The knee of a leg that steps: straight, a leg cannot lift its foot, which then skims the ground."""
BROUGHT_UP: tuple[Goal, ...] = (
    BringUp(10.0),
    BEND,
    Upright(5.0, ("swing",), 0.1),
    Facing(5.0, 0.1, ("swing",)),
    ComeToRest(10.0, foot="stance"),
    *SLOWLY,
)
"""Goals of a figure that brings up a foot beside the other."""

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
                BEND,
                Upright(5.0, ("swing",), 0.1),
                Upright(2.0, ("pelvis", "chest"), 0.15),
                Facing(2.0, 0.2),
                Facing(5.0, 0.1, ("swing",)),
                ComeToRest(1.0, foot="stance"),
                ComHeight(5.0, 0.95, 0.2),
                Pose(0.05, 0.25, without=("swing leg",)),
                Still(0.002),
                LandSoftly(1000.0),
            ),
            Standing(Stepping()),
            ("fallen", "follow", "balance"),
            begin_step,
            ("swing", "trailing"),
        ),
        ControlState(
            "follow",
            BROUGHT_UP,
            Standing(AllOf((Follows(), Stepping(), Caught(after=0.1)))),
            ("fallen", "balance", "relax foot", "take step"),
            follow,
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
            BROUGHT_UP,
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
            "relax foot",
            (Still(0.2), ComOver(50.0, "stance"), Unload(1.0)),
            Loaded(),
            ("take step",),
            choose_farther_foot,
        ),
        ControlState(
            "take step",
            (Still(3.0), Upright(20.0), StepMidway(REACHED)),
            Nearing(),
            ("balance", "relax foot"),
            releases=("swing",),
        ),
    ),
)
"""The paper's own three states."""


def _step_literal(options: Options) -> Scenario:
    return Scenario((Role(LITERAL_STEPPING, pose=quiet),), floor(options["friction"]))


STEP = Behavior(
    "step", "Take protective steps when pushed off balance.", _step, {"friction": friction(), **living()}, _step_literal
)
ICE = Behavior("ice", "The same on ice.", _step, {"friction": friction(0.2), **living()}, _step_literal)
