"""Athletes: a person who hops on one leg, and one who runs. The state machine is that of [Hodgins1995]_."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from poise.core.units import GRAVITY
from poise.goals.conditions import AllOf, AnyOf, Condition, For, Lying, Not, Touching
from poise.goals.goal import Goal
from poise.goals.living import BreakFall, GiveWay
from poise.goals.objectives import ComHeight, ComOver, Facing, Pose, Still, Upright
from poise.goals.observation import Observation
from poise.goals.running import Below, Bounce, MirrorHips, PlaceFoot, Sinking, Straight, keep_leg, land, swap_legs, time_on_ground
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import floor
from poise.goals.swinging import Bent
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Scenario, friction

DOWN = Lying(0.65, 0.65)
"""An athlete is down when its center of mass is so low, however fast it sinks and wherever its feet are."""
FALLEN = ControlState("fallen", (BreakFall(0.3), GiveWay(1.0)), DOWN, releases=("body",))
TRUNK = 10.0
LEGS = 2.0
SPINE = 0.1
MOVING = ("stance leg", "swing leg", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow")
KV, ASIDE, LEAN, ARMS, HEIGHT, FOOT, STANCE_GAIN = 0.1, 0.04, 4.0, 0.3, 0.96, 10.0, 1.0
STIFF = 0.12
"""Weight of the trunk's balance, and how soon it is upright again [s]."""


def _trunk(ahead: float, aside: float) -> tuple[Goal, ...]:
    """Balance of pitch, roll and yaw, for a trunk that leans ahead and to the side of the foot that carries [deg]."""
    return (
        Upright(TRUNK, ("pelvis", "chest"), STIFF, ahead, aside),
        Facing(0.5 * TRUNK, STIFF),
        Facing(0.05 * TRUNK, STIFF, ("chest",)),
    )


def _up(*conditions: Condition) -> Condition:
    return AllOf((Not(DOWN), *conditions))


def _machine(
    name: str,
    choose: Callable[[Observation], None],
    trunk: tuple[Goal, ...],
    bounce: Bounce,
    place: tuple[Goal, ...],
    limbs: tuple[Goal, ...],
) -> StateMachine:
    """Flight, loading, compression, thrust, unloading, and the start from a crouch."""
    body = (*trunk, *limbs, Still(0.002))
    soles: tuple[Goal, ...] = (Upright(3.0, ("stance",), 0.06), Upright(0.3, ("swing",), 0.1), Straight(LEGS))
    swinging = tuple(g for g in place if isinstance(g, PlaceFoot) and g.foot == "swing")
    if swinging:
        swinging += (Upright(0.3, ("swing",), 0.1),)
    ground = (bounce, *swinging, *body, Straight(LEGS))
    states = (
        ControlState(
            "crouch",
            (ComOver(3.0), ComHeight(3.0, bounce.height - 0.09, 0.15), *_trunk(0.0, 0.0), Pose(0.02, 0.25), Still(0.002)),
            _up(For(0.5)),
            ("fallen", "jump"),
            choose,
        ),
        ControlState(
            "jump",
            (replace(bounce, foot="both"), *_trunk(0.0, 0.0), Pose(0.02, 0.25)),
            _up(AllOf((AnyOf((Touching("left_foot"), Touching("right_foot"))), Below(bounce.height - 0.02)))),
            ("fallen", "flight"),
        ),
        ControlState(
            "flight",
            (*place, *body, *soles),
            _up(Not(AllOf((Touching("stance"), Sinking(), Below(bounce.height + 0.01))))),
            ("fallen", "loading"),
            choose,
            ("left_foot", "right_foot"),
        ),
        ControlState(
            "loading", ground, _up(Touching("stance"), Sinking(), For(0.03)), ("fallen", "compression", "thrust", "flight"), land, ("swing",)
        ),
        ControlState(
            "compression", ground, _up(Touching("stance"), Sinking()), ("fallen", "thrust", "flight"), releases=("swing",)
        ),
        ControlState(
            "thrust",
            ground,
            _up(Touching("stance"), Below(bounce.height + 0.03), AnyOf((Below(bounce.height - 0.03), Sinking(0.3 * GRAVITY * bounce.flight)))),
            ("fallen", "unloading", "flight"),
            releases=("swing",),
        ),
        ControlState(
            "unloading", ground, _up(Touching("stance"), Below(bounce.height), Not(Sinking())), ("fallen", "flight"), releases=("swing", "heel")
        ),
        FALLEN,
    )
    return StateMachine(name, states)


def _hopper(options: Options) -> Scenario:
    flight, sinks, speed, height = options["flight"], options["sinks"], options["speed"], 0.96
    bounce = Bounce(300.0, flight, sinks, height, speed)
    place = (PlaceFoot(10.0, flight, sinks, height, speed, swings=flight),)
    limbs = (
        MirrorHips(0.3),
        Bent(0.5, ("right_hip",), -35.0),
        Bent(0.5, ("right_knee",), 85.0),
        Bent(0.3, ("left_elbow", "right_elbow"), -80.0),
        Pose(SPINE, 0.15, without=MOVING),
        Pose(0.05, 0.15, only=("right_foot",)),
    )
    machine = _machine("hopper", partial(keep_leg, speed=speed), _trunk(0.0, 5.0), bounce, place, limbs)
    return Scenario((Role(machine),), floor(options["friction"]), 10.0, "side")


def _run(options: Options) -> Scenario:
    flight, sinks, speed, height = options["flight"], options["sinks"], options["speed"], HEIGHT
    bounce = Bounce(300.0, flight, sinks, height, speed, STANCE_GAIN)
    swings = 2.0 * flight + time_on_ground(flight, sinks)
    own = {"swings": swings, "lift": options["lift"], "aside": ASIDE}
    own |= {"gain": KV}
    place = tuple(PlaceFoot(w, flight, sinks, height, speed, foot, **own) for w, foot in ((FOOT, "stance"), (FOOT, "swing")))
    limbs = (
        MirrorHips(ARMS),
        Bent(0.3, ("left_elbow", "right_elbow"), -80.0),
        Pose(SPINE, 0.15, without=MOVING),
    )
    machine = _machine("run", partial(swap_legs, speed=speed), _trunk(LEAN, 0.0), bounce, place, limbs)
    return Scenario((Role(machine),), floor(options["friction"]), 10.0, "side")


def _options(flight: float, sinks: float, speed: float) -> dict[str, Option]:
    return {
        "speed": Option(speed, "speed ahead", "m/s", 0.0, 6.0),
        "flight": Option(flight, "time in the air", "s", 0.05, 0.5),
        "sinks": Option(sinks, "how far the center of mass sinks on the ground", "m", 0.02, 0.2),
        "friction": friction(),
    }


HOPPER = Behavior("hopper", "Hop on one leg, in place or ahead.", _hopper, _options(0.16, 0.09, 0.0))
RUN = Behavior(
    "run",
    "Run at a speed.",
    _run,
    {**_options(0.14, 0.055, 2.5), "lift": Option(0.2, "how high a foot swings", "m", 0.0, 0.5)},
)
