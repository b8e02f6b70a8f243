"""A cable car that rocks and breaks: balance, steps, walls, bars, hanging and swinging on. [Jain2009]_ 7.2.

Nothing here says when the figure does what: the car's events are key-framed, the figure sees and decides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.goals.conditions import Standing
from poise.goals.goal import Goal
from poise.goals.objectives import ComOver, Land, Pose, Still
from poise.goals.reaching import HANDS, Grasp, Grasping, Holding, choose_bars
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import Hold, Movement, Scene, Surface
from poise.goals.swinging import SwingFaster
from poise.synthesis.behaviors.balance import LITERAL, POSTURE, REACHED, quiet
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Scenario
from poise.synthesis.behaviors.wall import BRACING, LITERAL_BRACING

ARMS = ("left_shoulder", "left_elbow", "left_hand", "right_shoulder", "right_elbow", "right_hand")
FREE = tuple(replace(w, without=ARMS) if isinstance(w, Pose) else w for w in POSTURE)
TOP = (0.0, 0.0, 3.5)
"""Where the car hangs [m]."""

GRAB: tuple[Goal, ...] = (ComOver(0.3), *FREE, Land(0.2), Grasp(1.0))
HOLD: tuple[Goal, ...] = (ComOver(0.3, horizon=0.3), *FREE, Land(0.2), Grasp(1.0))
HANG: tuple[Goal, ...] = (SwingFaster(1.0), Still(0.02), Pose(0.01, horizon=0.3), Grasp(1.0))


def with_bars(
    machine: StateMachine,
    name: str,
    grab: tuple[Goal, ...] = GRAB,
    hold: tuple[Goal, ...] = HOLD,
    hang: tuple[Goal, ...] = HANG,
) -> StateMachine:
    """A controller that grabs a bar in reach wherever it would reach for a wall or begin a step, and holds on.

    Args:
        machine: With states "balance" and "relax foot".
        name: Of the new controller.
        grab, hold, hang: Goals while hands are on their way, while they hold and feet stand, while the figure hangs.
    """
    first = ("hold", "hang", "grab")
    states: list[ControlState] = []
    for state in machine.states:
        if state.name != "fallen" and ("reach" in state.then or "relax foot" in state.then):
            k = min(state.then.index(n) for n in ("let go", "lean", "reach", "relax foot") if n in state.then)
            state = replace(state, then=(*state.then[:k], *first, *state.then[k:]))
        states.append(state)
    fallen = tuple(s.name for s in machine.states if s.name == "fallen")
    back = (*fallen, "balance", "relax foot")
    states += [
        ControlState("grab", grab, Standing(Grasping()), ("hang", "hold", *back), choose_bars, grips=HANDS),
        ControlState("hold", hold, Holding(is_standing=True), ("hang", *back), choose_bars, grips=HANDS),
        ControlState("hang", hang, Holding(is_hanging=True), ("hold", *fallen), choose_bars, grips=HANDS),
    ]
    return StateMachine(name, tuple(states))


def car(options: Options) -> Scene:
    """Floor, two walls and an overhead bar of a car that hangs from its cable and rocks about it."""
    starts, period = options["rock.at"], options["rock.period"]
    sizes = (0.0, *(options["rock.degrees"] * s for s in (0.25, -0.25, 0.4, -1.0, 1.0, -0.6, 0.3)), 0.0)
    times = tuple(starts + 0.5 * period * k for k in range(len(sizes)))
    turns = tuple((0.0, float(np.radians(size)), 0.0) for size in sizes)
    rocking = Movement(times, tuple((0.0, 0.0, 0.0) for _ in sizes), turns, TOP)
    ground = Surface("floor", size=(2.4, 3.0), movement=rocking, until=options["floor.until"])
    ahead, behind = (
        Surface(
            name,
            (side * 1.2, 0.0, 1.1),
            (-side, 0.0, 0.0),
            (2.4, 2.2),
            0.8,
            movement=rocking,
            until=options["wall.until"],
        )
        for name, side in (("wall ahead", 1.0), ("wall behind", -1.0))
    )
    bar = Hold("bar", (options["bar.ahead"], 0.0, options["bar.height"]), 0.02, (0.0, 1.0, 0.0), 0.7, rocking)
    return Scene((ground, ahead, behind), (bar,))


def _cable_car(options: Options) -> Scenario:
    return Scenario((Role(with_bars(BRACING, "cable-car")),), car(options), 7.0)


def _literal(options: Options) -> Scenario:
    stand = (*LITERAL, Grasp(REACHED))
    machine = with_bars(LITERAL_BRACING, "cable-car", stand, stand, (SwingFaster(4.0), Still(0.1), Grasp(REACHED)))
    return Scenario((Role(machine, pose=quiet),), car(options), 7.0)


CABLE_CAR = Behavior(
    "cable-car",
    "Get through a cable car that rocks and breaks.",
    _cable_car,
    {
        "rock.at": Option(0.5, "when the car begins to rock", "s", 0.0, 1000.0),
        "rock.period": Option(1.2, "of its rocking", "s", 0.2, 60.0),
        "rock.degrees": Option(8.0, "how far it rocks", "degrees", 0.0, 45.0),
        "wall.until": Option(4.0, "when the walls break", "s", 0.0),
        "floor.until": Option(4.6, "when the floor breaks", "s", 0.0),
        "bar.ahead": Option(0.2, "how far ahead of the figure the bar is", "m", -2.0, 2.0),
        "bar.height": Option(1.78, "of the bar over the floor", "m", 0.5, 4.0),
    },
    _literal,
)
