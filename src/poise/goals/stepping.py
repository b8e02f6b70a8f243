"""Steps: which foot moves, where to and how long it takes; feet brought together; standing on one foot.

During a step the figure is an inverted pendulum that pushes at one point p of its stance foot; its capture point ξ
moves away from there, ξ(T) = p + (ξ − p) e^{ωT}. Both feet and a few durations are tried; the pair is taken whose foot
lands nearest to where the figure can come to rest.

Source: [Jain2009]_ 6.1.1 and 6.1.2. Deviates: "farther from the center of mass" crosses the legs in a shove from the
side and "the center of mass midway between the feet" gains nothing over standing: foot, place and time are searched.
The paper's own form is `StepMidway`, for the literal mode; there, the foot's distance is compared only after a while,
since a foot that starts from rest falls behind at first. The paper ends where the last step does; here the other
foot is brought up (`BringUp`), since a lunge tires and the next push would find it.

On one foot ([Jain2009]_ 6.1.1, G_cf) the weight goes over it first. Deviates: the other foot is lifted once it is
light.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array
from poise.goals.conditions import Condition
from poise.goals.goal import Goal, place_toward, reads, toward, writes
from poise.goals.observation import Observation, clear_of_walls
from poise.goals.polygon import distance_inside, nearest_inside
from poise.step import Objective
from poise.step.quantities import PlaceAcceleration


class SwingFoot(NamedTuple):
    """A foot in the air, or about to be.

    Attributes:
        side: "left" or "right".
        place, velocity: Of the middle of its sole [m], [m/s], shapes (3,).
        quantity: Acceleration of that middle.
    """

    side: str
    place: Array
    velocity: Array
    quantity: PlaceAcceleration


def swing_foot(observed: Observation) -> SwingFoot | None:
    """The swing foot; None where no action chose one."""
    side = observed.memory.get("swing")
    return None if side is None else foot_in_air(observed, side)


def foot_in_air(observed: Observation, side: str) -> SwingFoot:
    """The foot of a side, as one that moves through the air."""
    place, velocity = observed.middle(observed.body.feet[side])
    body = observed.body.root + observed.body.character.body_index(f"{side}_foot")
    return SwingFoot(side, place, velocity, PlaceAcceleration(body, observed.state.body_offset(body, place)))


def outward(observed: Observation, side: str) -> Array:
    """Unit direction in the plane from the middle of the figure to its left or right, shape (2,)."""
    ahead = observed.heading
    return (1.0 if side == "left" else -1.0) * np.array([-ahead[1], ahead[0]])


STEEPEST = 1.5
"""How far legs may lean between the feet of a step, in angles of friction: ice makes small steps."""
MISSED = 4.0
"""What it costs to land 1 m short of where the capture point goes; 1 s costs `SLOW`, 1 m/s of speed `HASTY`."""
SLOW, HASTY = 0.3, 0.1
CLEAR = 0.01
"""Height over the ground from which a foot that steps goes ahead freely [m]."""
RESTS = 0.04
"""How long a foot that steps is over its place before it lands, of a grown-up [s]."""
OTHER = {"left": "right", "right": "left"}


@dataclass(frozen=True)
class Stride:
    """What a step may be; lengths [m], times [s] and speeds [m/s] are a grown-up's, for others in proportion.

    Attributes:
        durations: Times a step may take [s].
        beyond: How far past the capture point the foot lands, so that the figure comes to rest between its feet.
        longest, widest, narrowest: Bounds of the way from the stance foot ahead and to the side.
        speed: Mean speed of the foot above which a step counts as hard [m/s].
    """

    durations: tuple[float, ...] = (0.2, 0.25, 0.3)
    beyond: float = 0.08
    longest: float = 0.75
    widest: float = 0.85
    narrowest: float = 0.13
    speed: float = 2.0


STRIDE = Stride()


def landing(observed: Observation, swing: str, seconds: float, stride: Stride = STRIDE) -> tuple[Array, float]:
    """Where a foot should stand after so many seconds [m], (2,), and how far from its support the capture point is."""
    scale = observed.body.scale
    stance = observed.body.feet[OTHER[swing]]
    middle = observed.place(stance)[:2]
    push = nearest_inside(observed.state.points[stance, :2], observed.capture_point)
    goal = push + (observed.capture_point - push) * np.exp(observed.pendulum * seconds)
    way = goal - middle
    size = float(np.linalg.norm(way))
    way *= 1.0 + stride.beyond * scale * min(1.0, size / (0.3 * scale)) / max(size, 1e-9)
    ahead, out = observed.heading, outward(observed, swing)
    # legs that lean by much more than the angle of friction slip apart when the figure stands between them
    far = STEEPEST * 2.0 * observed.friction * observed.body.com_height
    widest, longest = min(stride.widest * scale, far), min(stride.longest * scale, far)
    aside = float(np.clip(way @ out, stride.narrowest * scale, widest))
    forward = float(np.clip(way @ ahead, -longest, longest))
    place = clear_of_walls(observed, middle + aside * out + forward * ahead)
    soles = observed.state.points[stance, :2]
    support = np.concatenate([soles, soles + place - middle])
    return place, float(np.linalg.norm(nearest_inside(support, goal) - goal))


@writes("swing", "seconds")
def choose_step(observed: Observation) -> None:
    """Remember which foot shall step and for how long: memory "swing", "stance" and "seconds"."""
    best, scale, tempo = np.inf, observed.body.scale, observed.body.tempo
    for swing in OTHER:
        if not observed.touching[observed.body.feet[OTHER[swing]]].any():
            continue  # it stands on this one
        here = observed.place(observed.body.feet[swing])[:2]
        for seconds in STRIDE.durations:
            place, miss = landing(observed, swing, tempo * seconds)
            speed = float(np.linalg.norm(place - here)) / (tempo * seconds)
            cost = MISSED * miss / scale + SLOW * seconds + HASTY * max(0.0, speed / tempo - STRIDE.speed)
            if cost < best:
                best = cost
                observed.memory.update(swing=swing, stance=OTHER[swing], seconds=tempo * seconds)


@writes()
def begin_step(observed: Observation) -> None:
    """Remember how high the swing foot is where it starts [m]: memory "rise"."""
    if "swing" in observed.memory:
        observed.memory["rise"] = max(
            0.0, float(observed.place(observed.foot("swing"))[2]) - observed.ground_height_below("stance")
        )


def lifted(phase: float, lift: float, seconds: float) -> tuple[float, float, float]:
    """Height [m], its speed [m/s] and acceleration [m/s²] on a foot's path, up at once and down gently.

    27/4 h φ (1 − φ)² is h at a third of the way and ends at rest.

    Args:
        phase: φ, part of the step that is over, 0 … 1.
        lift: h, largest height [m].
        seconds: Duration of the step [s].
    """
    height = 6.75 * lift * phase * (1.0 - phase) ** 2
    speed = 6.75 * lift * (1.0 - phase) * (1.0 - 3.0 * phase) / seconds
    return height, speed, 6.75 * lift * (6.0 * phase - 4.0) / seconds**2


@reads("swing", "seconds")
@dataclass(frozen=True)
class StepTo(Goal):
    """The swing foot goes to its landing place, along the path of least acceleration, lifted on its way.

    Near the ground it does not move along it: it lifts first, and rests over its place before it lands.

    Attributes:
        weight: Against the foot's acceleration.
        lift: Height of the foot's path [m].
        horizon: Of the height, and the least of the way, of a grown-up [s].
        max_acceleration: Largest acceleration asked of the foot [m/s²].
    """

    weight: float
    lift: float = 0.06
    horizon: float = 0.05
    max_acceleration: float = 120.0

    def objectives(self, observed: Observation) -> list[Objective]:
        foot = swing_foot(observed)
        if foot is None:
            return []
        place, velocity, seconds = foot.place, foot.velocity, observed.memory["seconds"]
        goal, horizon = self.target(observed), self.horizon * observed.body.tempo
        left = max(seconds - observed.time_in_state - RESTS * observed.body.tempo, 1.5 * horizon)
        across = 6.0 * (goal - place[:2]) / left**2 - 4.0 * velocity[:2] / left
        phase = observed.time_in_state / seconds
        lift = self.lift * observed.body.scale
        if phase < 1.0:
            height, speed, bend = lifted(phase, lift, seconds)
        else:
            height, speed, bend = -0.02 * observed.body.scale, -0.2 * observed.body.tempo, 0.0
        height += (
            observed.ground_height_below("stance") + observed.memory.get("rise", 0.0) * (1.0 - min(phase, 1.0)) ** 2
        )
        speed -= 2.0 * observed.memory.get("rise", 0.0) * max(0.0, 1.0 - phase) / seconds
        up = bend + 2.0 / horizon**2 * (height - place[2]) + 2.0 / horizon * (speed - velocity[2])
        # off the ground before it goes ahead, at rest over its place before it is on the ground again
        free = float(np.clip(observed.gaps[observed.foot("swing")].min() / CLEAR, 0.0, 1.0))
        across = free * across - (1.0 - free) * velocity[:2] / horizon
        size = float(np.linalg.norm(across))
        across *= min(1.0, self.max_acceleration / max(size, 1e-9))
        desired = np.array([*across, np.clip(up, -0.5 * self.max_acceleration, 0.5 * self.max_acceleration)])
        return [Objective(foot.quantity, desired, self.weight, "step")]

    def target(self, observed: Observation) -> Array:
        """Where the swing foot shall stand [m], shape (2,)."""
        left = max(0.0, observed.memory["seconds"] - observed.time_in_state)
        return landing(observed, observed.memory["swing"], left)[0]


@writes("swing")
def choose_farther_foot(observed: Observation) -> None:
    """Remember which foot shall step, the one farther from below the center of mass: memory "swing" and "stance"."""
    away = {
        side: float(np.linalg.norm(observed.place(observed.body.feet[side])[:2] - observed.com[:2])) for side in OTHER
    }
    swing = max(away, key=lambda side: away[side])
    observed.memory.update(swing=swing, stance=OTHER[swing])


def midway(observed: Observation) -> Array:
    """Where the swing foot stands when the center of mass is midway between the feet, on the ground [m], shape (3,)."""
    stance = observed.place(observed.foot("stance"))
    return np.array([*(2.0 * observed.com[:2] - stance[:2]), observed.ground_height_below("stance")])


@reads("swing")
@dataclass(frozen=True)
class StepMidway(Goal):
    """The swing foot goes to where the center of mass is midway between the feet: [Jain2009]_ G_p of takeStep.

    Attributes:
        weight: Against the foot's acceleration, or its place in the literal form.
        horizon: [s].
    """

    weight: float
    horizon: float = 0.1

    def objectives(self, observed: Observation) -> list[Objective]:
        if "swing" not in observed.memory:
            return []
        body = observed.body.character.body_index(f"{observed.memory['swing']}_foot")
        offset = observed.state.body_offset(observed.body.root + body, observed.place(observed.foot("swing")))
        return [place_toward(observed, body, offset, midway(observed), self.weight, self.horizon)]


@reads("swing")
@dataclass(frozen=True)
class Nearing(Condition):
    """The swing foot does not get farther from where it shall stand: [Jain2009]_ takeStep.

    Attributes:
        least: Time before it is asked [s].
    """

    least: float = 0.1

    def holds(self, observed: Observation) -> bool:
        if observed.time_in_state < self.least:
            return True
        place, velocity = observed.middle(observed.foot("swing"))
        away = (midway(observed) - place)[:2]
        leaving = float(away @ (2.0 * observed.com_velocity[:2] - velocity[:2])) > 0.0
        if leaving:
            observed.memory["placed"] = observed.time
        return not leaving


SECONDS, HURRIED = 0.45, 0.35
"""How long a foot takes that is brought up, and one that must catch the figure on its way [s]."""
OVER = 0.06
"""A capture point at most so far outside the stance foot's sole is as good as over it [m]."""
FOLLOWS = 0.12
"""After a step the other foot follows at once if the capture point is at most so far off the sole that landed [m]."""
LEANS = 0.6
"""It does so if the body leans from this foot by less than this part of the angle of friction: not on ice."""
HOLDS = 0.02
"""A foot holds the figure for as long as the other takes if the capture point is so far inside its sole [m]."""
SOLE, HELD = 0.08, 0.15
"""A capture point so far ahead of the middle of the stance foot or behind it is held by this foot alone; one so far off
is not held by it at all [m]."""


def beside(observed: Observation, swing: str) -> Array:
    """Where a foot stands beside the other, as far from it as at rest [m], shape (2,)."""
    away = observed.body.stance * outward(observed, swing)
    return clear_of_walls(observed, observed.place(observed.body.feet[OTHER[swing]])[:2] + away)


@writes("swing", "seconds")
def choose_gathering(observed: Observation) -> None:
    """Remember which foot is brought up, the one that did not take the last step: "swing", "stance" and "seconds"."""
    loads = {side: observed.load(observed.body.feet[side]) for side in OTHER}
    swing = observed.memory.get("stance", min(loads, key=lambda side: loads[side]))
    observed.memory.update(swing=swing, stance=OTHER[swing], seconds=SECONDS * observed.body.tempo)


@writes("seconds")
def begin_gathering(observed: Observation) -> None:
    """Remember how high the foot to bring up is, as `begin_step`, and hurry if the weight is not over the other."""
    begin_step(observed)
    soles = observed.state.points[observed.foot("stance"), :2]
    over = distance_inside(soles, observed.capture_point) > -OVER * observed.body.scale
    observed.memory["seconds"] = (SECONDS if over else HURRIED) * observed.body.tempo


@writes("swing", "seconds")
def follow(observed: Observation) -> None:
    """Remember to bring up the other foot at once if the capture point is over the foot that has just stepped."""
    memory, scale = observed.memory, observed.body.scale
    landed, foot = memory.get("swing", "left"), observed.foot("swing")
    inside = distance_inside(observed.state.points[foot, :2], observed.capture_point)
    lean = float(np.linalg.norm(observed.com[:2] - observed.place(foot)[:2])) / observed.body.com_height
    memory["follows"] = inside > -FOLLOWS * scale and lean < LEANS * observed.friction
    if memory["follows"]:
        memory.update(swing=OTHER[landed], stance=landed)
        begin_step(observed)
        memory["seconds"] = (SECONDS if inside > HOLDS * scale else HURRIED) * observed.body.tempo


@dataclass(frozen=True)
class Follows(Condition):
    """The action `follow` found that the other foot can be brought up at once."""

    def holds(self, observed: Observation) -> bool:
        return observed.memory.get("follows", False)


@dataclass(frozen=True)
class Gathered(Condition):
    """The feet stand beside each other, or there is more to do than to mind them: the figure still moves.

    Attributes:
        near: How far a foot may be from its place beside the other [m].
        calm: Speed of the center of mass up to which it is at rest [m/s].
        after: How long the state lasts at least [s].
    """

    near: float = 0.12
    calm: float = 0.15
    after: float = 0.5

    def holds(self, observed: Observation) -> bool:
        scale = observed.body.scale
        if observed.time_in_state < self.after * observed.body.tempo or observed.is_delayed:
            return True
        if float(np.linalg.norm(observed.com_velocity)) > self.calm * observed.body.tempo:
            return True
        away = observed.place(observed.body.feet["left"])[:2] - beside(observed, "left")
        return float(np.linalg.norm(away)) <= self.near * scale


@reads("swing", "seconds")
@dataclass(frozen=True)
class Caught(Condition):
    """The swing foot can land so that the capture point is between the feet then.

    Attributes:
        margin: How far outside it may be [m].
        after: Time before it is asked [s].
    """

    margin: float = 0.05
    after: float = 0.0

    def holds(self, observed: Observation) -> bool:
        if observed.time_in_state < self.after * observed.body.tempo:
            return True
        if observed.is_delayed or "seconds" not in observed.memory:
            return True
        left = max(0.0, observed.memory["seconds"] - observed.time_in_state)
        return landing(observed, observed.memory["swing"], left)[1] < self.margin * observed.body.scale


@dataclass(frozen=True)
class BringUp(StepTo):
    """The swing foot goes beside the stance foot, as far from it as at rest, or where it must to catch the figure.

    Settings are those of `StepTo`.
    """

    def target(self, observed: Observation) -> Array:
        body, swing = observed.body, observed.memory["swing"]
        left = max(0.0, observed.memory["seconds"] - observed.time_in_state)
        near = replace(STRIDE, beyond=0.0, narrowest=body.stance / body.scale)
        place, _ = landing(observed, swing, left, near)
        ahead, home = observed.heading, beside(observed, swing)
        forward = float((place - home) @ ahead)
        # near the middle of the stance foot it holds the figure alone, beyond its toes and heel it does not
        alone = np.clip((abs(forward) / body.scale - SOLE) / (HELD - SOLE), 0.0, 1.0)
        place = place - (1.0 - alone) * forward * ahead
        return clear_of_walls(observed, place)


@writes("swing")
def stand_on_left(observed: Observation) -> None:
    """Remember that the left foot carries."""
    observed.memory["stance"], observed.memory["swing"] = "left", "right"


@writes("swing")
def stand_on_right(observed: Observation) -> None:
    """Remember that the right foot carries."""
    observed.memory["stance"], observed.memory["swing"] = "right", "left"


def _inside(observed: Observation) -> float:
    """How far the capture point lies inside the stance foot's sole [m]."""
    points = observed.foot("stance")
    return distance_inside(observed.state.points[points, :2], observed.capture_point)


@reads("swing")
@dataclass(frozen=True)
class Shifting(Condition):
    """The weight is not yet over the stance foot: until the capture point is inside its sole and the other is light.

    Attributes:
        margin: How far inside [m].
        load: Part of the weight that the other foot may still carry.
        least: How long this takes at least [s].
    """

    margin: float = 0.012
    load: float = 0.3
    least: float = 0.2

    def holds(self, observed: Observation) -> bool:
        if observed.time_in_state < self.least:
            return True
        is_light = observed.load(observed.foot("swing")) < self.load * observed.weight
        return not (is_light and _inside(observed) > self.margin * observed.body.scale)


@reads("swing")
@dataclass(frozen=True)
class OnOneFoot(Condition):
    """The capture point is over the stance foot, at most `margin` outside its sole [m]."""

    margin: float = 0.02

    def holds(self, observed: Observation) -> bool:
        return observed.is_delayed or _inside(observed) > -self.margin * observed.body.scale


@reads("swing")
@dataclass(frozen=True)
class RaiseFoot(Goal):
    """The swing foot hangs beside the stance foot, at a height.

    Attributes:
        weight: Against the foot's acceleration.
        height: Over the ground [m].
        ahead: [m].
        horizon: [s].
    """

    weight: float
    height: float = 0.25
    ahead: float = 0.1
    horizon: float = 0.25

    def objectives(self, observed: Observation) -> list[Objective]:
        foot = swing_foot(observed)
        if foot is None:
            return []
        stance = observed.place(observed.foot("stance"))
        ahead, scale = observed.heading, observed.body.scale
        goal = stance[:2] + scale * (0.16 * outward(observed, foot.side) + self.ahead * ahead)
        height = observed.ground_height_below("stance") + scale * self.height
        error = np.array([goal[0], goal[1], height]) - foot.place
        return [toward(observed, foot.quantity, error, foot.velocity, self.weight, self.horizon, "raise foot")]
