"""Out of the way of a thrown ball, a harmful thing with more haste, while balancing. [Jain2009]_ 6.1.4."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.goals.conditions import AllOf, Balanced, Standing
from poise.goals.dodging import Dodge, Safe, Threatened
from poise.goals.goal import Goal
from poise.goals.objectives import ComOver, Land, Still, Upright
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import Ball, Scene, Surface, Triple, throw
from poise.synthesis.behaviors.balance import POSTURE, STEPPING
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Scenario, friction

FLIGHT = 4.0
"""How far away the ball is let go [m]."""
LESS_OVER_FEET, LESS_UPRIGHT = 2.0 / 5.0, 30.0 / 70.0
"""What fear does to the weights of balancing: [Jain2009]_ goes from 5, 70, 0.5 to 2, 30, 0.5."""

CALM: tuple[Goal, ...] = (ComOver(1.0), *POSTURE, Land(0.2))
FEAR: tuple[Goal, ...] = tuple(
    replace(w, weight=LESS_OVER_FEET * w.weight)
    if isinstance(w, ComOver)
    else replace(w, weight=LESS_UPRIGHT * w.weight)
    if isinstance(w, Upright)
    else w
    for w in CALM
)


def dodging(machine: StateMachine, name: str, urge: float = 1.0) -> StateMachine:
    """A controller that gets out of the way of what it sees coming, whenever it stands.

    Args:
        machine: With states "balance", "relax foot" and "fallen".
        name: Of the new controller.
        urge: Multiplies the weight of getting out of the way.
    """
    calm = machine.state("balance")
    calm = replace(calm, condition=AllOf((calm.condition, Safe())), then=("dodge in fear", "dodge", *calm.then))
    back = tuple(n for n in ("fallen", "balance", "relax foot") if n in {s.name for s in machine.states})
    states = (
        ControlState("dodge in fear", (*FEAR, Dodge(urge * 0.8, max_speed=4.0)), _standing(harmful=True), back),
        ControlState("dodge", (*CALM, Dodge(urge * 0.3, near=0.6)), _standing(harmful=False), back),
    )
    return StateMachine(name, (calm, *states, *(s for s in machine.states if s.name != "balance")))


def _standing(*, harmful: bool) -> Standing:
    return Standing(AllOf((Balanced(), Threatened(harmful=harmful))))


def ball(options: Options) -> Ball:
    """The ball that the options ask for, thrown so that it would pass over the spot where the figure stands."""
    turn = np.radians(options["ball.from"])
    out, aside = np.array([np.cos(turn), np.sin(turn), 0.0]), np.array([-np.sin(turn), np.cos(turn), 0.0])
    to = options["ball.aside"] * aside + np.array([0.0, 0.0, options["ball.height"]])
    start: Triple = tuple((to + FLIGHT * out).tolist())
    velocity = throw(start, tuple(to.tolist()), FLIGHT / options["ball.speed"])
    return Ball(
        "ball",
        start,
        velocity,
        options["ball.at"],
        options["ball.radius"],
        options["ball.mass"],
        bool(options["ball.harmful"]),
    )


def _scene(options: Options) -> Scene:
    return Scene((Surface("floor", friction=options["friction"]),), balls=(ball(options),))


def _dodge(options: Options) -> Scenario:
    return Scenario((Role(dodging(STEPPING, "dodge", options["urge"])),), _scene(options), 4.0)


def _literal(options: Options) -> Scenario:
    away = Dodge(0.15 * options["urge"])
    calm = ControlState("balance", (ComOver(5.0), Upright(70.0), Still(0.5)), Safe(), ("dodge in fear", "dodge"))
    fear = ControlState(
        "dodge in fear", (ComOver(2.0), Upright(30.0), Still(0.5), away), Threatened(harmful=True), ("balance",)
    )
    dodge = ControlState("dodge", (*calm.goals, away), Threatened(), ("balance",))
    return Scenario((Role(StateMachine("dodge", (calm, fear, dodge))),), _scene(options), 4.0)


DODGE = Behavior(
    "dodge",
    "Get out of the way of a thrown ball.",
    _dodge,
    {
        "ball.from": Option(0.0, "where it comes from, to the left of straight ahead", "degrees", -360.0, 360.0),
        "ball.speed": Option(7.0, "over the ground", "m/s", 1.0, 100.0),
        "ball.height": Option(1.58, "in which it would pass the figure's place", "m", 0.0, 5.0),
        "ball.aside": Option(0.03, "how far beside the figure's place it would pass", "m", -5.0, 5.0),
        "ball.at": Option(0.5, "when it is thrown", "s", 0.0, 1000.0),
        "ball.radius": Option(0.034, "of the ball", "m", 0.005, 1.0),
        "ball.mass": Option(0.058, "of the ball", "kg", 0.001, 100.0),
        "ball.harmful": Option(False, "whether it is to be feared"),
        "urge": Option(1.0, "multiplies the weight of getting out of the way", low=0.0, high=1e6),
        "friction": friction(),
    },
    _literal,
)
