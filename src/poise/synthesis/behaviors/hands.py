"""Hands: a child takes a grown-up's hand when it is about to fall, [Jain2009]_ 6.1.5; a hand goes round a circle."""

from __future__ import annotations

import math
from dataclasses import replace

from poise.goals.conditions import Always, Balanced, Standing
from poise.goals.objectives import ComOver, Land
from poise.goals.reaching import Circle, OfferHand, TakeHand, choose_partner_hand
from poise.goals.state_machine import ControlState, Part, StateMachine
from poise.goals.surroundings import floor
from poise.synthesis.behaviors.balance import FALLEN, LITERAL, POSTURE, REACHED, STEPPING, quiet
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Scenario, friction

FURTHEST = 0.15
"""A hand is given so much time: until the capture point is this far outside the feet, before a step is taken [m]."""


def _hands(options: Options) -> Scenario:
    stand = (ComOver(0.3), *POSTURE, Land(0.2))
    hold = TakeHand(options["weight"])
    grips = ("left_hand", "right_hand") if options["grip"] else ()
    steps = (Part(STEPPING),) if options["step"] else ()
    child = StateMachine(
        "child",
        (
            ControlState("balance", stand, Standing(Balanced()), ("fallen", "take hand", "step")),
            ControlState(
                "take hand",
                (*stand, hold),
                Standing(Balanced(margin=-FURTHEST) if steps else Always()),
                ("fallen", "step"),
                choose_partner_hand,
                grips=grips,
            ),
            ControlState(
                "step", (hold,), Standing(Always()), ("fallen",), choose_partner_hand, grips=grips, inside=steps
            ),
            FALLEN,
        ),
    )
    offer = OfferHand(0.5, "right_hand")
    grown_up = StateMachine(
        "adult",
        (
            ControlState(
                "hold out hand", (offer,) if steps else (*stand, offer), Standing(Always()), ("fallen",), inside=steps
            ),
            FALLEN,
        ),
    )
    return Scenario(
        (
            Role(child, "child", "child"),
            Role(grown_up, "adult", "adult", (options["ahead"], options["distance"]), math.radians(options["turn"])),
        ),
        floor(options["friction"]),
        6.0,
        "front",
    )


def _literal(options: Options) -> Scenario:
    setup = _hands(options)
    grips = ("left_hand", "right_hand") if options["grip"] else ()
    child = StateMachine(
        "child",
        (
            ControlState("balance", LITERAL, Balanced(literal=True), ("take hand",)),
            ControlState(
                "take hand",
                (*LITERAL, TakeHand(REACHED * options["weight"])),
                on_enter=choose_partner_hand,
                grips=grips,
            ),
        ),
    )
    grown_up = StateMachine("adult", (ControlState("balance", (*LITERAL, OfferHand(REACHED, "right_hand"))),))
    first, second = (replace(r, machine=m, pose=quiet) for r, m in zip(setup.roles, (child, grown_up), strict=True))
    return replace(setup, roles=(first, second))


HANDS = Behavior(
    "hands",
    "A child takes a grown-up's hand when it is about to fall.",
    _hands,
    {
        "distance": Option(0.75, "how far to the child's left the grown-up stands", "m", 0.3, 5.0),
        "ahead": Option(0.0, "how far ahead of the child the grown-up stands", "m", -5.0, 5.0),
        "turn": Option(0.0, "where the grown-up looks, to the left of where the child does", "degrees", -180.0, 180.0),
        "weight": Option(1.0, "of the child's goal to take the hand", low=0.0, high=1000.0),
        "grip": Option(True, "whether the child's hand closes around the other"),
        "step": Option(True, "whether both may step where the hands do not suffice"),
        "friction": friction(),
    },
    _literal,
)


def _reach(options: Options) -> Scenario:
    goals = (ComOver(0.3), *POSTURE, Land(0.2), _circle(3.0, options))
    machine = StateMachine("reach", (ControlState("reach", goals, Standing(Always()), ("fallen",)), FALLEN))
    return Scenario((Role(machine),), floor(options["friction"]), 8.0)


def _reach_literal(options: Options) -> Scenario:
    machine = StateMachine("reach", (ControlState("reach", (*LITERAL, _circle(REACHED, options))),))
    return Scenario((Role(machine, pose=quiet),), floor(options["friction"]), 8.0)


def _circle(weight: float, options: Options) -> Circle:
    hand = "left_hand" if options["left"] else "right_hand"
    return Circle(weight, hand, radius=options["radius"], period=options["period"])


REACH = Behavior(
    "reach",
    "A hand goes round a circle while the figure balances.",
    _reach,
    {
        "left": Option(False, "with the left hand, not with the right one"),
        "radius": Option(0.12, "of the circle", "m", 0.0, 1.0),
        "period": Option(3.0, "of one round", "s", 0.2, 60.0),
        "friction": friction(),
    },
    _reach_literal,
)
