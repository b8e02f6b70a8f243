"""Climbing a wall with randomly placed holds. [Jain2009]_ 6.2: the paper's five states, a hold chosen for each limb."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.body.character import Character
from poise.core.typing import Array
from poise.goals.climbing import (
    LIMBS,
    Climb,
    HasHold,
    MoveTo,
    OnTheWay,
    Settling,
    StandOn,
    choose_foot,
    choose_hand,
    settle,
)
from poise.goals.goal import Goal
from poise.goals.objectives import Facing, Pose, Still, Unload, Upright
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import Hold, Scene, Surface
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Scenario
from poise.synthesis.poses import placed, standing

WALL, OFF, RADIUS = 0.62, 0.15, 0.04
"""Distance of the wall from where the figure is put, of holds from the wall, and size of holds [m]. At 0.08 m toes and
knees meet the wall, and a climb takes three times as long."""
START = {"left_hand": (0.22, 1.75), "right_hand": (-0.22, 1.6), "left_foot": (0.16, 0.3), "right_foot": (-0.16, 0.45)}
"""Where hands and feet begin: to the left, and up [m], in a grown-up."""
NEAREST = 0.17
"""No two holds are nearer to one another [m]."""

KEEP: tuple[Goal, ...] = (
    Still(0.002),
    StandOn(5.0),
    Pose(0.005, horizon=0.4),
    Upright(0.05, ("chest",), horizon=0.3),
    Facing(0.05, horizon=0.3),
    Upright(0.02, ("feet",), horizon=0.2),
)


def random_holds(seed: int, height: float, width: float, density: float) -> tuple[Hold, ...]:
    """Holds scattered over a wall: the four to start from, then others at random, none too near to another.

    Args:
        seed: Of the scatter.
        height, width: Of the wall [m].
        density: How many are tried on a square meter.
    """
    rng = np.random.default_rng(seed)
    places = [np.array(p) for p in START.values()]
    for _ in range(int(density * height * width)):
        place = rng.uniform([-width / 2.0, 0.2], [width / 2.0, height])
        if min(float(np.linalg.norm(place - p)) for p in places) >= NEAREST:
            places.append(place)
    return tuple(Hold(f"hold {k + 1}", (WALL - OFF, float(y), float(z)), RADIUS) for k, (y, z) in enumerate(places))


def _pose(character: Character) -> Array:
    """Hands and feet on the first four holds."""
    q = standing(character, knees=1.2, elbows=0.9, arms=2.2)
    q[2] += START["left_foot"][1]
    places: dict[str, Array] = {}
    for part, (y, z) in START.items():
        is_hand = part.endswith("hand")
        places[part] = np.array([WALL - OFF - (0.5 * RADIUS if is_hand else 0.0), y, z + (0.0 if is_hand else RADIUS)])
    q[0] = WALL - OFF - 0.33
    return placed(character, q, places)


def _climb(options: Options) -> Scenario:
    moving = (Climb(3.0), MoveTo(10.0, 20.0, horizon=0.2), *KEEP)
    relax = (Climb(1.0), Unload(1.0, "mover"), *KEEP)
    return _setup(options, (Climb(3.0), *KEEP), relax, {"hand": moving, "foot": moving})


def _literal(options: Options) -> Scenario:
    still = Still(0.2)
    moving: dict[str, tuple[Goal, ...]] = {
        "hand": (still, MoveTo(0.1, 0.25), Climb(10.0)),
        "foot": (still, MoveTo(0.01, 0.3), Climb(10.0), Pose(2.0)),
    }
    return _setup(options, (still, Climb(20.0)), (still, Unload(1.0, "mover")), moving)


def _setup(
    options: Options, support: tuple[Goal, ...], relax: tuple[Goal, ...], moving: Mapping[str, tuple[Goal, ...]]
) -> Scenario:
    """The paper's five states with the goals of all support, of relaxing, and of moving a "hand" or a "foot"."""
    holds = random_holds(int(options["seed"]), options["height"], options["width"], options["density"])
    wall = Surface(
        "wall",
        (WALL, 0.0, 0.5 * options["height"] + 1.0),
        (-1.0, 0.0, 0.0),
        (options["width"] + 1.0, options["height"] + 2.0),
    )

    def limb(kind: str) -> tuple[ControlState, ControlState]:
        choose = choose_hand if kind == "hand" else choose_foot
        return (
            ControlState(f"relax {kind}", relax, HasHold(), (f"move {kind}",), choose),
            ControlState(
                f"move {kind}",
                moving[kind],
                OnTheWay(),
                ("all support",),
                releases=("mover",),
                grips=("mover",),
            ),
        )

    states = (
        ControlState("all support", support, Settling(), ("relax hand", "relax foot"), settle, grips=LIMBS),
        *limb("hand"),
        *limb("foot"),
    )
    role = Role(StateMachine("climb", states), pose=_pose)
    return Scenario((role,), Scene((Surface("floor"), wall), holds), 30.0)


CLIMB = Behavior(
    "climb",
    "Climb a wall with holds placed at random.",
    _climb,
    {
        "seed": Option(1.0, "of where the holds are; --seed is the same", low=0.0, high=1e9, is_whole=True),
        "height": Option(6.0, "of the wall", "m", 2.0, 1000.0),
        "width": Option(1.2, "of the part of the wall with holds", "m", 0.5, 100.0),
        "density": Option(40.0, "holds tried on a square meter", low=1.0, high=1000.0),
    },
    _literal,
)
