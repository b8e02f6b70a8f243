"""Athletes: a person who hops on one leg, and one who runs. The state machine is that of [Hodgins1995]_."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from poise.core.units import GRAVITY
from poise.goals.conditions import AllOf, AnyOf, Condition, For, Lying, Not, Touching
from poise.goals.goal import Goal
from poise.goals.living import BreakFall, GiveWay
from poise.goals.objectives import ComHeight, ComOver, Facing, Land, Pose, Still, Upright
from poise.goals.observation import Observation
from poise.goals.running import (
    Below,
    Bounce,
    MirrorHips,
    PlaceFoot,
    Sinking,
    Straight,
    keep_leg,
    land,
    swap_legs,
    time_on_ground,
)
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import floor
from poise.goals.swinging import Bent
from poise.synthesis.behaviors.behavior import Behavior, Option, Options, Role, Scenario, friction

DOWN = Lying(0.65, 0.65)
"""An athlete is down when its center of mass is so low, however fast it sinks and wherever its feet are."""
FALLEN = ControlState("fallen", (BreakFall(0.3), GiveWay(1.0)), DOWN, releases=("body",))
MOVING = ("stance leg", "swing leg", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow")
"""Bodies that have other goals than the pose at rest."""
FLEXED = 0.09
"""An athlete begins lower by so much than it lands, in parts of its height at rest."""
LIGHT = 0.0871
"""A runner's weights are multiplied by this: goals that are heavier beside the contacts' own weight would push the foot
along the ground, friction then points the other way, and the leg cannot bear."""
NEARLY = 0.03
"""The heel may rise in the last part of the thrust, in parts of the height at rest."""
TOES = 0.02
"""A runner's leg pushes so far ahead of the middle of its sole [m]: that spares the knee and stretches the leg."""
ARMS_SWING = 2.0
"""A runner's arms swing so far for each meter that the foot is ahead [rad/m]."""
ARMS_ASIDE = 0.2
"""A runner's arms are held so far from its trunk [rad]: a forearm that hits the belly or a thigh can throw it off."""


@dataclass(frozen=True)
class Style:
    """What a way to run or hop is like, besides its options.

    Attributes:
        height: Of the center of mass as the foot lands, in parts of that at rest.
        ahead, aside: How far the trunk leans ahead, and to the side of the foot that carries [deg].
        upright, horizon: Weight of the trunk's balance, and how soon it is mended [s].
        straight: Weight of legs that swing straight ahead.
        spine: Weight of the pose of spine, head and hands.
        head: Weight of the head's pose besides: the goals of the whole body swing a loose head as a counterweight.
        arms: Weight of arms that mirror the thighs.
        foot: Weight of a foot's way to where it lands.
        gain: How far the foot goes ahead for each m/s too fast [s].
        on_ground: How fast a wrong speed is mended on the ground [1/s].
        apart: Distance of a foot from the line under the center of mass [m].
    """

    height: float
    ahead: float
    aside: float
    upright: float
    horizon: float
    straight: float
    spine: float
    head: float
    arms: float
    foot: float
    gain: float
    on_ground: float
    apart: float

    def trunk(self, lean: float = 1.0) -> tuple[Goal, ...]:
        """Balance of pitch, roll and yaw, and the head."""
        w, h = self.upright, self.horizon
        head = (Pose(self.head, 0.15, only=("head",)),) if self.head else ()
        return (
            Upright(w, ("pelvis", "chest"), h, lean * self.ahead, lean * self.aside),
            Facing(0.5 * w, h),
            Facing(0.05 * w, h, ("chest",)),
            *head,
        )


HOPPING = Style(0.96, 0.0, 5.0, 10.0, 0.12, 2.0, 0.1, 0.0, 0.3, 10.0, 0.1, 1.0, 0.0)
# weights of trunk and spine were found by a random search of 65 tries, the rest by looking: docs/synthesis.md
RUNNING = Style(0.98, 8.0, 0.0, 7.446, 0.15, 6.221, 0.0506, 0.5, 1.0, 13.04, 0.0947, 2.5, 0.06)


def _up(*conditions: Condition) -> Condition:
    return AllOf((Not(DOWN), *conditions))


def _machine(
    name: str,
    take_off: Callable[[Observation], None],
    style: Style,
    bounce: Bounce,
    places: tuple[PlaceFoot, ...],
    limbs: tuple[Goal, ...],
    light: float = 1.0,
) -> StateMachine:
    """The start from a crouch, then flight, loading, compression, thrust and unloading again and again.

    All weights are multiplied by `light`.
    """
    height, still = bounce.height, style.trunk(0.0)
    body = (*style.trunk(), *limbs, Straight(style.straight), Pose(style.spine, 0.15, without=MOVING), Still(0.002))
    swinging = tuple(place for place in places if place.foot == "swing")
    level = (Pose(0.1, 0.1, only=("swing",)),) if swinging else ()
    ground = (bounce, *swinging, *level, *body)
    set_down = (Land(10.0, 3.0, foot="stance"),)
    # who leaves the ground tries this before flight, which changes the legs as it is entered: one of the two holds
    landed = AllOf((Touching("stance"), Sinking(), Below(height + 0.01)))
    slow = Sinking(0.3 * GRAVITY * bounce.flight)
    states = (
        ControlState(
            "crouch",
            (ComOver(3.0), ComHeight(3.0, height - FLEXED, 0.15), *still, Pose(0.02, 0.25), Still(0.002)),
            _up(For(0.5)),
            ("fallen", "jump"),
            take_off,
        ),
        ControlState(
            "jump",
            (replace(bounce, foot="both"), *still, Pose(0.02, 0.25)),
            _up(AnyOf((Touching("left_foot"), Touching("right_foot"))), Below(height - 0.02)),
            ("fallen", "flight"),
        ),
        ControlState(
            "flight",
            (*places, Upright(3.0, ("stance",), 0.06), *level, *body),
            _up(Not(landed)),
            ("fallen", "loading"),
            take_off,
            ("left_foot", "right_foot"),
        ),
        ControlState(
            "loading",
            (*ground, *set_down),
            _up(Touching("stance"), Sinking(), For(0.03)),
            ("fallen", "compression", "thrust", "unloading", "flight"),
            land,
            ("swing",),
        ),
        ControlState(
            "compression",
            (*ground, *set_down),
            _up(landed),
            ("fallen", "thrust", "unloading", "flight"),
            releases=("swing",),
        ),
        ControlState(
            "thrust",
            ground,
            _up(Touching("stance"), Below(height + NEARLY), AnyOf((Below(height - NEARLY), slow))),
            ("fallen", "unloading", "compression", "flight"),
            releases=("swing",),
        ),
        ControlState(
            "unloading",
            ground,
            _up(Touching("stance"), Below(height), Not(Sinking())),
            ("fallen", "compression", "flight"),
            releases=("swing", "heel"),
        ),
    )
    return StateMachine(name, (*(_lighter(state, light) for state in states), FALLEN))


def _lighter(state: ControlState, light: float) -> ControlState:
    def weighed(goal: Any) -> Goal:
        flat = {"flat": light * goal.flat} if isinstance(goal, Land) else {}
        return replace(goal, weight=light * goal.weight, **flat)

    return replace(state, goals=tuple(weighed(goal) for goal in state.goals))


def _hopper(options: Options) -> Scenario:
    style, gait = HOPPING, (options["flight"], options["sinks"], HOPPING.height, options["speed"])
    limbs = (
        MirrorHips(style.arms),
        Bent(0.5, ("right_hip",), -60.0),
        Bent(0.5, ("right_knee",), 100.0),
        Bent(0.3, ("left_elbow", "right_elbow"), -80.0),
        Pose(0.05, 0.15, only=("right_foot",)),
    )
    place = PlaceFoot(style.foot, *gait, swings=options["flight"], lift=0.1, gain=style.gain)
    take_off = partial(keep_leg, speed=options["speed"])
    machine = _machine("hopper", take_off, style, Bounce(300.0, *gait, style.on_ground), (place,), limbs)
    return Scenario((Role(machine),), floor(options["friction"]), 10.0, "side")


def _run(options: Options) -> Scenario:
    style = replace(RUNNING, **{name: options[name] for name in TUNED})
    gait = (options["flight"], options["sinks"], style.height, options["speed"])
    swings = 2.0 * options["flight"] + time_on_ground(options["flight"], options["sinks"])
    places = tuple(
        PlaceFoot(style.foot, *gait, foot, swings, options["lift"], style.gain, style.apart, toes=TOES)
        for foot in ("stance", "swing")
    )
    limbs = (MirrorHips(style.arms, ARMS_SWING, aside=ARMS_ASIDE), Bent(0.3, ("left_elbow", "right_elbow"), -95.0))
    take_off = partial(swap_legs, speed=options["speed"], radius=options["radius"])
    machine = _machine("run", take_off, style, Bounce(3000.0, *gait, style.on_ground, toes=TOES), places, limbs, LIGHT)
    return Scenario((Role(machine),), floor(options["friction"]), 10.0, "side")


def _options(speed: float, fastest: float, flight: float, sinks: float) -> dict[str, Option]:
    return {
        "speed": Option(speed, "speed ahead, from 0.5 s on rising by 0.5 m/s each second", "m/s", 0.0, fastest),
        "flight": Option(flight, "time in the air", "s", 0.05, 0.5),
        "sinks": Option(sinks, "how far the center of mass sinks on the ground", "m", 0.02, 0.2),
        "friction": friction(),
    }


HOPPER = Behavior(
    "hopper", "Hop on one leg, in place or ahead.", _hopper, _options(0.0, 2.0, 0.16, 0.09), is_athletic=True
)
TUNED = {
    "height": Option(RUNNING.height, "height of the center of mass as a foot lands, of that at rest", "", 0.85, 1.0),
    "ahead": Option(RUNNING.ahead, "how far the trunk leans ahead", "deg", -5.0, 20.0),
    "upright": Option(RUNNING.upright, "weight of the trunk's balance", "", 1.0, 60.0),
    "straight": Option(RUNNING.straight, "weight of legs that swing straight ahead", "", 0.5, 30.0),
    "spine": Option(RUNNING.spine, "weight of the pose of spine, head and hands", "", 0.01, 1.0),
    "arms": Option(RUNNING.arms, "weight of arms that mirror the thighs", "", 0.01, 10.0),
    "foot": Option(RUNNING.foot, "weight of a foot's way to where it lands", "", 1.0, 80.0),
    "gain": Option(RUNNING.gain, "how far the foot goes ahead for each m/s too fast", "s", 0.0, 0.4),
    "on_ground": Option(RUNNING.on_ground, "how fast a wrong speed is mended on the ground", "1/s", 0.0, 6.0),
}
"""Fields of `Style` that are options of the runner, so that a tuner can find them."""
RUN = Behavior(
    "run",
    "Run at a given speed, straight ahead or round a bend. Found for a grown person; few game figures can.",
    _run,
    {
        **_options(2.0, 4.0, 0.111, 0.0623),
        "radius": Option(
            0.0, "of a track that bends to the left, to the right if negative; 0 is straight", "m", -1000.0, 1000.0
        ),
        "lift": Option(0.2, "how high a foot swings", "m", 0.0, 0.5),
        **TUNED,
    },
    is_athletic=True,
)
