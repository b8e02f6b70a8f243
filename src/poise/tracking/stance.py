"""Which feet stand, decided pose by pose, and where a standing foot is held.

A foot lands when it is low, slow and no longer rising; it leaves when it rises, moves off, or turns away from where it
stands. Height alone, as the paper has it, freezes the ball of a foot that turns on the spot. Targets blend between held
and free, so that nothing jumps.

Balance: where the force on the ground should act, and where feet should land. With the force through p on level ground,
a center of mass at x and height h accelerates by ω² (x − p), ω² = g / h. The capture point ξ = x + ẋ / ω runs away from
p, so p is put beyond it:

    p = p* + (1 + k) (ξ − ξ*),  ẍ = ω² (x − p)

with ξ*, p* the actor's. p* is taken no further than the soles of the feet that stand, p no further than what touches
the ground, so that a trembling actor does not throw the character about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.goals.polygon import nearest_inside
from poise.tracking.retarget import end_body, yaw_turn

LAND_HEIGHT, LEAVE_HEIGHT = 0.045, 0.055
"""Soles of the actor below which a foot may land and above which it leaves, for a leg of 0.82 m [m]."""
LAND_SPEED, LEAVE_SPEED, RISING = 0.6, 0.8, 0.05
"""Horizontal speeds of the sole, and the upward one that stops a landing, for a leg of 0.82 m [m/s]."""
ASTRAY, TURNED = 0.10, 0.5
"""A standing foot leaves where its target is further away than this [m], or turned further [rad]."""
BLEND = 0.1
"""Time in which a target is held or let go [s]."""
AHEAD = 0.05
"""A landing foot is held where it will be in so long at the most [s]."""
TREMBLE = 0.03
"""Time constant with which feet that are placed off their targets move there [s]."""
SHIFTING = 0.1
"""Targets follow where the feet stand within so long [s]."""
FLAT = 0.2
"""Turns of a standing foot against the ground up to which it stays flat [rad]."""
STEADY, RESTLESS = 0.5, 0.2
"""A center of mass that rests is within so much of the soles [1]; one that moves this fast is half at rest [m/s]."""
RESTING = 1.0
"""An actor's foot that turns slower [rad/s], low and slow over the floor, lies flat on it."""
SINKING = 25.0
"""Rate at which the pelvis is lowered for legs to reach their feet [1/s]."""
CATCHING = 0.1
"""A foot that is placed to catch the body is there so long after it was asked to [s]."""
HOMING = 0.05
"""The body is asked to be so much nearer to the actor's way than its feet are, in legs."""
LEARNING = 2.0
"""What lies flat is learned within so long [s]."""


class Foot:
    """One foot over time.

    Attributes:
        row: Its row among the targets.
        points: Its contact points in the model.
        sole: Those of its end body in that body's frame as it stands, on the sole [m], shape (n, 3).
        level: Its orientation when it stands facing along x, wxyz.
        height: Of its joint over the ground then [m].
        hip: Where its leg begins in the frame of the pelvis [m], shape (3,).
        reach: How far the leg reaches from there [m].
        stands: Whether it stands.
        place, turn: Where and how it stands.
        share: How much of the target is the held one, 0 … 1.
        shift, drift: How far it is placed off its target [m], and how fast that changes [m/s], shape (2,).
        has_landed: Whether it has come down since it stands.
    """

    def __init__(
        self,
        row: int,
        points: Index,
        sole: Array,
        level: Array,
        height: float,
        hip: Array,
        reach: float,
        scale: float,
        dt: float,
    ) -> None:
        self.row, self.points, self.sole, self.level, self.height = row, points, sole, level, height
        self.hip, self.reach = hip, reach
        self.scale, self.dt = scale, dt
        self.stands, self.has_landed, self.share = False, False, 0.0
        self.place, self.turn = np.zeros(3), level
        self.shift, self.drift = np.zeros(2), np.zeros(2)
        self._tilt, self._seen = np.zeros(3), 0

    def leveled(self, over: float, velocity: Array, scale: float, wanted: Goal) -> Array:
        """The turn of a target without the tilt that the actor's foot has while it lies flat: rigs are drawn tilted.

        Args:
            over, velocity, scale: Of the actor's sole, see `decide`.
            wanted: Where the character's foot would go.
        """
        straight = rotations.multiply(yaw_turn(rotations.yaw_to(self.level, wanted.turn)), self.level)
        slow = math.hypot(velocity[0], velocity[1]) < 0.5 * LAND_SPEED * math.sqrt(scale)
        if over < LAND_HEIGHT * scale and slow and float(np.linalg.norm(wanted.spin)) < RESTING:
            self._seen += 1
            tilt = rotations.to_rotation_vector(rotations.multiply(rotations.conjugate(straight), wanted.turn))
            share = max(1.0 / (self._seen + BLEND / self.dt), self.dt / LEARNING)
            self._tilt = self._tilt + share * (tilt - self._tilt)
        return rotations.multiply(wanted.turn, rotations.from_rotation_vector(-self._tilt))

    def decide(self, over: float, velocity: Array, scale: float, wanted: Goal, ground: float, *, others: bool) -> None:
        """Whether it stands, from the sole of the actor.

        Args:
            over: Height of the actor's sole over its floor [m].
            velocity: Of that sole [m/s], shape (3,).
            scale: The actor's leg over that of a person [1].
            wanted: Where the character's foot would go.
            ground: Height of the character's ground there [m].
            others: Whether another foot carries; if none does, only one that is lifted, or pulled away, leaves.
        """
        along, fast = math.hypot(velocity[0], velocity[1]), math.sqrt(scale)
        if self.stands:
            leaves = over > LEAVE_HEIGHT * scale or along > 2.0 * LEAVE_SPEED * fast
            if others and not leaves:
                astray = math.hypot(wanted.place[0] - self.place[0], wanted.place[1] - self.place[1])
                leaves = along > LEAVE_SPEED * fast or astray > ASTRAY * self.scale
                leaves = leaves or abs(rotations.yaw_to(self.turn, wanted.turn)) > TURNED
            self.stands = not leaves
            if self.stands and not self.has_landed:
                self._aim(over, velocity, wanted, ground)
        elif over < LAND_HEIGHT * scale and along < LAND_SPEED * fast and velocity[2] < RISING * fast:
            self._aim(over, velocity, wanted, ground)
            self.stands, self.has_landed = True, False
        self.share = min(1.0, max(0.0, self.share + (1.0 if self.stands else -1.0) * self.dt / BLEND))

    def _aim(self, over: float, speed: Array, wanted: Goal, ground: float) -> None:
        """Where it will stand: where it goes to until it is down."""
        falling = max(-float(speed[2]), 1e-6)
        velocity = wanted.velocity.copy()
        velocity[:2] -= self.drift  # that part ends where the foot is placed, not further on
        self.place = wanted.place + velocity * min(max(over, 0.0) / falling, AHEAD)
        self.place[2] = ground + self.height
        self.face(wanted.turn)

    def face(self, turn: Array) -> None:
        """Stand flat, facing as the foot would with an orientation."""
        self.turn = rotations.multiply(yaw_turn(rotations.yaw_to(self.level, turn)), self.level)

    def arms(self) -> Array:
        """Where the points of its sole are from its joint, over the ground [m], shape (n, 2)."""
        if not len(self.sole):
            return np.zeros((1, 2))
        return rotations.rotate(self.turn, self.sole)[:, :2]

    def hold(self, wanted: Goal) -> Goal:
        """The target, held where the foot stands."""
        if self.share <= 0.0:
            return wanted
        s = self.share * self.share * (3.0 - 2.0 * self.share)
        place, turn = self._rolled(wanted.turn)
        rest = 1.0 - s
        return Goal(
            rest * wanted.place + s * place,
            rest * wanted.velocity,
            rest * wanted.acceleration,
            turn if s >= 1.0 else rotations.part_way(wanted.turn, turn, s),
            rest * wanted.spin,
        )

    def _rolled(self, wanted: Array) -> tuple[Array, Array]:
        """The standing foot with the pitch and roll that are wanted, turned about its lowest point, which stays."""
        if abs(_upright(wanted, self.turn)) >= math.cos(0.5 * FLAT):
            return self.place, self.turn
        turn = rotations.multiply(yaw_turn(rotations.yaw_to(wanted, self.turn)), wanted)
        rolled = rotations.to_rotation_vector(rotations.multiply(turn, rotations.conjugate(self.turn)))
        size = float(np.linalg.norm(rolled))
        kept = rotations.from_rotation_vector(rolled * max(0.0, size - FLAT) / max(size, 1e-9))
        turn = rotations.multiply(kept, self.turn)
        if not len(self.sole):
            return self.place, turn
        arms = rotations.rotate(turn, self.sole)
        lowest = int(np.argmin(arms[:, 2]))
        stays = self.place + rotations.rotate(self.turn, self.sole[lowest])
        return stays - arms[lowest], turn


@dataclass
class Goal:
    """One target.

    Attributes:
        place, velocity, acceleration: [m], [m/s], [m/s²], shape (3,).
        turn: Orientation, wxyz.
        spin: Angular velocity in the world [rad/s], shape (3,).
    """

    place: Array
    velocity: Array
    acceleration: Array
    turn: Array
    spin: Array


def _upright(first: Array, second: Array) -> float:
    """Cosine of half of the turn between two orientations that no turn about the vertical takes away."""
    a, b, c, d = first.tolist()
    w, x, y, z = second.tolist()
    return math.hypot(w * a + x * b + y * c + z * d, z * a - w * d + y * b - x * c)


def pelvis_drop(feet: Iterable[Foot], places: Array, pelvis_turn: Array) -> float:
    """How much lower the pelvis has to be for all legs to reach their feet [m].

    A straight leg cannot push: neither up nor to the side.

    Args:
        feet: Of the character.
        places: Of the targets, the pelvis first [m], shape (T, 3).
        pelvis_turn: Orientation of the pelvis, wxyz.
    """
    most = 0.0
    for foot in feet:
        hip = places[0] + rotations.rotate(pelvis_turn, foot.hip)
        way = places[foot.row] - hip
        over = math.sqrt(max(foot.reach**2 - float(way[0] ** 2 + way[1] ** 2), (0.5 * foot.reach) ** 2))
        most = max(most, -float(way[2]) - over)
    return most


class Sinking(NamedTuple):
    """How far the pelvis is lowered [m], how fast [m/s], and how that changes [m/s²]: a critically damped spring."""

    depth: float = 0.0
    speed: float = 0.0
    acceleration: float = 0.0

    def toward(self, depth: float, dt: float) -> Sinking:
        """A step later, drawn to a depth [m]."""
        pull = SINKING * SINKING * (depth - self.depth) - 2.0 * SINKING * self.speed
        speed = self.speed + dt * pull
        return Sinking(self.depth + dt * speed, speed, pull)


class Sway(NamedTuple):
    """A center of mass over the ground: place [m], velocity [m/s], acceleration [m/s²], each (2,), height [m]."""

    place: Array
    velocity: Array
    acceleration: Array
    height: float

    @property
    def rate(self) -> float:
        """ω [1/s]."""
        return math.sqrt(GRAVITY / max(self.height, 1e-3))


def capture_error(own: Sway, wanted: Sway) -> Array:
    """ξ − ξ* [m], shape (2,), both with the character's ω."""
    return own.place - wanted.place + (own.velocity - wanted.velocity) / own.rate


def within(points: Array, place: Array, margin: float = 0.0) -> Array:
    """A place (2,), no further from the convex hull of points (n, 2) than a margin [m]."""
    inside = nearest_inside(points, place)
    way = place - inside
    size = math.hypot(way[0], way[1])
    return place if size <= margin else inside + way * (margin / size)


def restlessness(velocity: Array) -> float:
    """How much of a center of mass's motion is meant, 0 at rest to 1, by its velocity over the ground (2,) [m/s]."""
    speed = float(velocity @ velocity) / RESTLESS**2
    return speed / (1.0 + speed)


def off_soles(place: Array, velocity: Array, soles: Array) -> Array:
    """How far a center of mass (2,) that rests is off where soles (n, 2) carry it [m], shape (2,); less if it moves.

    People lean over their toes, skeletons are drawn upright, and feet differ: what an actor's balance allows the
    character's may not.
    """
    middle = soles.sum(axis=0) / len(soles)
    inside = within(middle + STEADY * (soles - middle), place)
    return (1.0 - restlessness(velocity)) * (place - inside)


def com_acceleration(
    own: Sway, wanted: Sway, shift: Array, soles: Array, touching: Array, gain: float, margin: float
) -> Array:
    """What is asked of the center of mass over the ground [m/s²], shape (2,).

    Args:
        own: Of the character.
        wanted: The actor's on the character's scale, with the height of the actor's, so that p* is the actor's.
        shift: How far the character is off the actor's way [m], shape (2,).
        soles: Points of the soles of feet that should stand, on the actor's way [m], shape (n, 2).
        touching: What touches the ground [m], shape (m, 2).
        gain: k [1].
        margin: How far out of what touches the force may be asked for [m].
    """
    there = wanted.place - wanted.acceleration / wanted.rate**2
    if len(soles):
        there = within(soles, there)
    moved = wanted._replace(place=wanted.place + shift)
    force = there + shift + (1.0 + gain) * capture_error(own, moved)
    if len(touching):
        force = within(touching, force, margin)
    return own.rate**2 * (own.place - force)


def carrying_points(
    character: Character, feet: Mapping[str, Foot], place: Array, turn: Array, gap: Array, near: float
) -> tuple[Index, Flags]:
    """Points of standing feet that carry: those their target has on the ground and that are there.

    Args:
        character: Whose.
        feet: By limb.
        place, turn: Of the targets, shapes (T, 3), (T, 4).
        gap: Of the contact points over the ground [m], shape (P,).
        near: What is lower than this touches [m].

    Returns:
        Indices of the points, and for each target whether it is such a foot's, shape (T,).
    """
    found, held = list[int](), np.zeros(len(place), dtype=np.bool_)
    for limb, foot in feet.items():
        if not foot.stands or foot.share < 0.5:
            continue
        end, count = end_body(character, limb), len(found)
        for i in foot.points.tolist():
            if gap[i] >= near:
                continue
            point = character.contact_points[i]
            if point.body == end:
                at = place[foot.row, 2] + rotations.rotate(turn[foot.row], point.offset)[2] - point.radius
                if at - (foot.place[2] - foot.height) >= near:
                    continue
            found.append(i)
        held[foot.row] = len(found) > count
    return np.array(found, dtype=np.int64), held


class Placed(NamedTuple):
    """Where swinging feet and targets go: what `place_feet` answers.

    Attributes:
        shifts: How far each foot is off its target [m], shape (K, 2).
        drifts: How fast that changes [m/s], shape (K, 2).
        shift: How far targets are off the actor's way [m], shape (2,).
    """

    shifts: Array
    drifts: Array
    shift: Array


def place_feet(
    feet: Sequence[Foot], targets: Array, ahead: Array, shift: Array, catch: Array, leg: float, dt: float
) -> Placed:
    """Swinging feet move to where they catch the body, and targets along with standing feet.

    Args:
        feet: All, in order.
        targets: Rows of places over the ground on the actor's way [m], shape (T, 2).
        ahead: The actor's capture point [m], shape (2,): the foot next to it is about to carry and counts most.
        shift: How far targets were off the actor's way [m], shape (2,).
        catch: How far a foot has to step off to catch the body [m], shape (2,).
        leg: Length of a leg [m].
        dt: Of a step [s].
    """
    shifts, drifts = np.array([foot.shift for foot in feet]), np.zeros((len(feet), 2))
    mean, total = np.zeros(2), 0.0
    for k, foot in enumerate(feet):
        if foot.stands and foot.has_landed:
            off = targets[foot.row] - ahead
            weight = 1.0 / (float(off @ off) + (0.1 * leg) ** 2)
            mean, total = mean + weight * foot.shift, total + weight
            continue
        moved = (1.0 - math.exp(-dt / TREMBLE)) * (shift + catch - foot.shift)
        shifts[k] += moved
        drifts[k] = moved / dt
    part = (1.0 - math.exp(-dt / SHIFTING)) if total > 0.0 else 0.0
    return Placed(shifts, drifts, shift + part * (mean / max(total, 1e-12) - shift))


class Balance(NamedTuple):
    """What keeps a character on its feet for one step.

    Attributes:
        pull: Asked of the center of mass over the ground [m/s²], shape (2,).
        catch: How far a foot has to step off to catch the body [m], shape (2,).
        placed: Where swinging feet and targets go.
    """

    pull: Array
    catch: Array
    placed: Placed


def balance(
    own: Sway,
    wanted: Sway,
    feet: Sequence[Foot],
    targets: Array,
    shift: Array,
    catch: Array,
    touching: Array,
    *,
    leg: float,
    dt: float,
    gain: float,
    reach: float,
    step_reach: float,
) -> Balance:
    """Where the center of mass should go, and where feet land that catch it.

    Args:
        own, wanted: See `com_acceleration`.
        feet: All, in order.
        targets: Rows of places over the ground on the actor's way [m], shape (T, 2).
        shift: How far targets were off the actor's way [m], shape (2,).
        catch: That of the step before.
        touching: What touches the ground [m], shape (m, 2).
        leg: Length of a leg [m].
        dt: Of a step [s].
        gain: k of `com_acceleration` [1].
        reach: How far out of what touches the force may be asked for, in legs.
        step_reach: How far a foot steps off at the most, in legs.
    """
    soles = [targets[foot.row] + foot.arms() for foot in feet if foot.stands]
    size = max(math.hypot(shift[0], shift[1]), 1e-9)
    home = shift * (1.0 - min(0.5, HOMING * leg / size))
    under = np.concatenate(soles) if soles else np.zeros((0, 2))
    pull = com_acceleration(own, wanted, home, under, touching, gain, reach * leg)
    # the error grows until the foot is there
    error = capture_error(own, wanted._replace(place=wanted.place + shift)) * math.exp(own.rate * CATCHING)
    error = error * min(1.0, step_reach * leg / max(math.hypot(error[0], error[1]), 1e-9))
    catch = catch + (1.0 - math.exp(-dt / TREMBLE)) * (error - catch)
    ahead = wanted.place + wanted.velocity / own.rate
    return Balance(pull, catch, place_feet(feet, targets, ahead, shift, catch, leg, dt))
