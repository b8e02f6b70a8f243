"""Hands that move to a place, along a circle, to another figure's hand, to a bar or hold.

Source: [Jain2009]_ G_p, and 7.2 for bars and holds. Deviates: a target that moves is followed with its own velocity and
acceleration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array, Index
from poise.core.units import GRAVITY
from poise.goals.body import SIDES
from poise.goals.conditions import Condition
from poise.goals.goal import HORIZON, UP, Goal, reads, toward, writes
from poise.goals.observation import Observation, reachable
from poise.step import Objective
from poise.step.quantities import PlaceAcceleration

HANDS = tuple(f"{side}_hand" for side in SIDES)
HASTE = 30.0
"""Largest acceleration asked of a reaching hand [m/s²]."""


class Target(NamedTuple):
    """Where something shall be, and how it moves there: [m], [m/s], [m/s²], shapes (3,)."""

    place: Array
    velocity: Array
    acceleration: Array


def part_toward(
    observed: Observation,
    part: str,
    target: Target,
    weight: float,
    horizon: float,
    label: str,
    max_acceleration: float = np.inf,
) -> list[Objective]:
    """The middle of a hand's or foot's contact points goes to a target; nothing where the figure has no such part."""
    points = observed.part(part)
    if not len(points):
        return []
    return points_toward(observed, points, target, weight, horizon, label, max_acceleration)


def points_toward(
    observed: Observation,
    points: Index,
    target: Target,
    weight: float,
    horizon: float,
    label: str,
    max_acceleration: float = np.inf,
) -> list[Objective]:
    """The middle of contact points of one body goes to a target."""
    state = observed.state
    body = int(state.point_body[points[0]])
    points = points[state.point_body[points] == body]
    place = state.centers[points].mean(axis=0)
    offset = state.point_offsets[points].mean(axis=0)
    velocity, _ = state.body_point_motion(body, place)
    goal = toward(
        observed,
        PlaceAcceleration(body, offset),
        target.place - place,
        velocity - target.velocity,
        weight,
        horizon,
        label,
        max_acceleration,
    )
    return [Objective(goal.quantity, goal.target + target.acceleration, goal.weight, label)]


@dataclass(frozen=True)
class Circle(Goal):
    """A hand goes round a circle in the upright plane across the figure's first heading, to a centimeter.

    Attributes:
        weight: Against the hand's acceleration.
        part: "left_hand" or "right_hand".
        ahead, aside, height: Center from the middle of the feet at the start [m], to its own side and up.
        radius: [m].
        period: Of one round [s].
        horizon: [s].
    """

    weight: float
    part: str = "right_hand"
    ahead: float = 0.35
    aside: float = 0.2
    height: float = 1.1
    radius: float = 0.12
    period: float = 3.0
    horizon: float = HORIZON

    def objectives(self, observed: Observation) -> list[Objective]:
        return part_toward(observed, self.part, self.target(observed), self.weight, self.horizon, "reach", HASTE)

    def target(self, observed: Observation) -> Target:
        """Where the hand shall be now."""
        body, scale = observed.body, observed.body.scale
        if "reach center" not in observed.memory:
            feet = observed.state.points[observed.foot("both")].mean(axis=0)
            side = np.cross([0.0, 0.0, 1.0], body.forward) * (1.0 if self.part == "left_hand" else -1.0)
            up = np.array([0.0, 0.0, 1.0])
            observed.memory["reach center"] = feet + scale * (
                self.ahead * body.forward + self.aside * side + self.height * up
            )
        rate = 2.0 * np.pi / self.period
        angle = rate * observed.time
        side = np.cross([0.0, 0.0, 1.0], body.forward)
        out = np.cos(angle) * side + np.sin(angle) * np.array([0.0, 0.0, 1.0])
        on = -np.sin(angle) * side + np.cos(angle) * np.array([0.0, 0.0, 1.0])
        radius = self.radius * scale
        return Target(observed.memory["reach center"] + radius * out, radius * rate * on, -radius * rate**2 * out)


@dataclass(frozen=True)
class Approach(Goal):
    """A part of the body goes to the nearest place of a thing, until it touches it.

    Attributes:
        weight: Against its acceleration.
        part: A hand or foot ("left_hand", "swing", …), or a body by its name or role ("pelvis").
        thing: Name of a floor, wall, box, hold or ball.
        inside: How far inside the edges of a floor, wall or box the place lies [m].
        above: How high over the place it passes until it is over it [m].
        horizon: [s].
        max_acceleration: Largest acceleration asked for [m/s²].
    """

    weight: float
    part: str
    thing: str
    inside: float = 0.1
    above: float = 0.0
    horizon: float = 0.4
    max_acceleration: float = HASTE

    def objectives(self, observed: Observation) -> list[Objective]:
        points, scale = observed.points_of(self.part), observed.body.scale
        if not len(points):
            return []
        here = observed.state.centers[points].mean(axis=0)
        place = observed.nearest_place(self.thing, here, self.inside * scale)
        if float(np.linalg.norm((place - here)[:2])) > 0.05 * scale:
            place = place + self.above * scale * UP
        target = Target(place, np.zeros(3), np.zeros(3))
        limit = self.max_acceleration * scale
        return points_toward(observed, points, target, self.weight, self.horizon, "approach", limit)


@writes("holds")
def reach_for_ball(observed: Observation) -> None:
    """Remember that both hands reach for the ball that is nearest to the figure."""
    balls = sorted(observed.balls, key=lambda b: float(np.linalg.norm(b.place - observed.com)))
    for hand in HANDS if balls else ():
        observed.memory[f"{hand} reaches"] = balls[0].ball.name


@reads("holds")
@dataclass(frozen=True)
class Catch(Goal):
    """Both hands go to the sides of the ball that they reach for, give way with it, and carry it before the chest.

    Until the ball is near, they wait where it will come down to `height`.

    Attributes:
        weight: Against the hands' acceleration.
        ahead: How far before the feet the ball is carried [m].
        height: Over the ground, where the ball is awaited and carried [m].
        soon: The hands go along with a ball that will be there within this time [s].
        horizon: [s].
        max_acceleration: Largest acceleration asked for [m/s²].
    """

    weight: float
    ahead: float = 0.35
    height: float = 1.0
    soon: float = 0.1
    horizon: float = 0.08
    max_acceleration: float = 80.0

    def objectives(self, observed: Observation) -> list[Objective]:
        out: list[Objective] = []
        scale, ahead = observed.body.scale, np.array([*observed.heading, 0.0])
        left = np.array([-ahead[1], ahead[0], 0.0])
        level = observed.ground_height + self.height * scale
        for ball in observed.balls:
            for side, out_of in (("left", left), ("right", -left)):
                hand = f"{side}_hand"
                if observed.memory.get(f"{hand} reaches") != ball.ball.name or not len(observed.part(hand)):
                    continue
                off = ball.ball.radius * out_of
                velocity, acceleration, horizon = np.zeros(3), np.zeros(3), self.horizon
                if hand in observed.grips:
                    feet = observed.state.points[observed.foot("both")].mean(axis=0)
                    place = np.array([*feet[:2], level]) + self.ahead * scale * ahead + off
                    horizon = 4.0 * self.horizon
                else:
                    fall = ball.velocity[2] + np.sqrt(
                        max(ball.velocity[2] ** 2 + 2.0 * GRAVITY * (ball.place[2] - level), 0.0)
                    )
                    seconds = max(float(fall), 0.0) / GRAVITY
                    place = ball.place + seconds * ball.velocity + 1.2 * off
                    place[2] = level
                    if ball.is_free and seconds < self.soon:
                        place, velocity, acceleration = ball.place + off, ball.velocity, -GRAVITY * UP
                target = Target(place, velocity, acceleration)
                limit = self.max_acceleration * scale
                out += part_toward(observed, hand, target, self.weight, horizon, "catch", limit)
        return out


@reads("hand")
@dataclass(frozen=True)
class TakeHand(Goal):
    """A hand goes to another figure's nearest hand, and waits there for the grip.

    Attributes:
        weight: Against the hand's acceleration.
        horizon: [s].
    """

    weight: float
    horizon: float = 0.15

    def objectives(self, observed: Observation) -> list[Objective]:
        hand, theirs = observed.memory.get("hand"), observed.memory.get("their hand points")
        if hand is None or theirs is None or hand in observed.grips:
            return []
        state = observed.state
        place = state.centers[theirs].mean(axis=0)
        velocity, _ = state.body_point_motion(int(state.point_body[theirs[0]]), place)
        target = Target(place, velocity, np.zeros(3))
        return part_toward(observed, hand, target, self.weight, self.horizon, "take hand", HASTE)


@dataclass(frozen=True)
class OfferHand(Goal):
    """A hand is held out toward the nearest other figure, at a height, so that it can be taken.

    It draws back from one who comes too near: a hand against a chest cannot be taken.

    Attributes:
        weight: Against the hand's acceleration.
        part: "left_hand" or "right_hand".
        reach: How far from the middle of the feet [m].
        room: How far it stays from the other's center of mass [m].
        height: Over the ground [m].
        horizon: [s].
    """

    weight: float
    part: str
    reach: float = 0.4
    height: float = 0.85
    room: float = 0.35
    horizon: float = 0.25

    def objectives(self, observed: Observation) -> list[Objective]:
        if not observed.others:
            return []
        feet = observed.state.points[observed.foot("both")].mean(axis=0)
        other = next(iter(observed.others.values()))
        away = observed.state.com(other.root) - feet
        away[2] = 0.0
        distance = float(np.linalg.norm(away))
        away /= max(distance, 1e-9)
        reach = min(observed.body.scale * self.reach, max(distance - other.scale * self.room, 0.0))
        place = feet + reach * away + observed.body.scale * np.array([0.0, 0.0, self.height])
        target = Target(place, np.zeros(3), np.zeros(3))
        return part_toward(observed, self.part, target, self.weight, self.horizon, "offer hand", HASTE)


@writes("hand", "holds")
def choose_partner_hand(observed: Observation) -> None:
    """Remember the own and the other figure's hand that are nearest to one another, for `TakeHand` and its grip.

    One that already holds a hand keeps it.
    """
    if observed.memory.get("hand") in observed.grips:
        return
    best = np.inf
    for name, other in observed.others.items():
        for part in ("left_hand", "right_hand"):
            own = observed.part(part)
            for their_side, points in other.hands.items():
                if not len(own) or not len(points):
                    continue
                away = observed.state.centers[own].mean(axis=0) - observed.state.centers[points].mean(axis=0)
                distance = float(np.linalg.norm(away))
                if distance < best:
                    best = distance
                    observed.memory["hand"], observed.memory["their hand points"] = part, points
                    observed.memory[f"{part} reaches"] = f"{name}:{their_side}_hand"


@writes("holds")
def choose_bars(observed: Observation) -> None:
    """Remember for each free hand the hold or bar nearest to it that it sees and can reach: "left_hand reaches"."""
    for hand in HANDS:
        if hand in observed.grips:
            continue
        observed.memory.pop(f"{hand} reaches", None)
        found = reachable(observed, hand, 0.05, kinds=("hold", "bar")) if len(observed.part(hand)) else []
        if found:
            observed.memory[f"{hand} reaches"] = found[0].name


@reads("holds")
@dataclass(frozen=True)
class Grasping(Condition):
    """Hands are on their way to bars, for no longer than `seconds`."""

    seconds: float = 1.0

    def holds(self, observed: Observation) -> bool:
        wanted = [hand for hand in HANDS if f"{hand} reaches" in observed.memory]
        return (
            bool(wanted)
            and observed.time_in_state < self.seconds
            and not all(hand in observed.grips for hand in wanted)
        )


@dataclass(frozen=True)
class Holding(Condition):
    """A hand holds on.

    Attributes:
        is_hanging: And no foot is near anything to stand on.
        is_standing: And a foot is.
        near: Height of feet that counts as standing [m].
    """

    is_hanging: bool = False
    is_standing: bool = False
    near: float = 0.1

    def holds(self, observed: Observation) -> bool:
        stands = bool((observed.gaps[observed.foot("both")] < self.near * observed.body.scale).any())
        if (self.is_hanging and stands) or (self.is_standing and not stands):
            return False
        return any(hand in observed.grips for hand in HANDS)


@reads("holds")
@dataclass(frozen=True)
class Grasp(Goal):
    """Free hands go to what they reach for.

    Attributes:
        weight: Against the acceleration of the fingers.
        horizon: [s].
        max_acceleration: Largest acceleration asked for [m/s²].
    """

    weight: float
    horizon: float = 0.12
    max_acceleration: float = 80.0

    def objectives(self, observed: Observation) -> list[Objective]:
        out: list[Objective] = []
        for hand in HANDS:
            name = observed.memory.get(f"{hand} reaches")
            if name is None or hand in observed.grips:
                continue
            point = int(observed.part(hand)[-1])
            here, velocity = observed.state.centers[point], observed.state.point_velocities[point]
            place = observed.scene.hold(str(name)).nearest(here, observed.time)
            body = observed.body.root + observed.body.character.roles[hand]
            offset = observed.state.body_offset(body, here)
            quantity = PlaceAcceleration(body, np.asarray(offset))
            most = self.max_acceleration * observed.body.scale
            out.append(
                toward(
                    observed,
                    quantity,
                    place - here,
                    velocity,
                    self.weight,
                    self.horizon,
                    "grasp",
                    max_acceleration=most,
                )
            )
        return out
