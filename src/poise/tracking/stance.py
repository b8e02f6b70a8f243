"""Which feet stand, decided pose by pose, and where a standing foot is held.

A foot lands when it is low, slow and no longer rising; it leaves when it rises, moves off, or turns away from where it
stands. Height alone, as the paper has it, freezes the ball of a foot that turns on the spot. Targets blend between held
and free, so that nothing jumps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.core import rotations
from poise.core.rotations import eased
from poise.core.typing import Array, Flags, Index
from poise.physics import State
from poise.tracking.retarget import yaw_turn

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
FLAT = 0.2
"""Turns of a standing foot against the ground up to which it stays flat [rad]."""
RESTING = 1.0
"""An actor's foot that turns slower [rad/s], low and slow over the floor, lies flat on it."""
EARLY = 0.5
"""A foot that came down before the actor's waits for it so long at the most [s]."""
SINKING = 25.0
"""Rate at which the pelvis is lowered for legs to reach their feet [1/s]."""
LONG, PITCHED = 0.5, 0.3
"""Shoulders further ahead of the hips than this, in legs, sink by themselves; the trunk slopes so much at most [1]."""
RESTING_SPEED, RESTING_HEIGHT = 0.2, 0.13
"""A sole slower than this [m/s] and no higher than that [m], for a leg of 0.82 m, rests on something."""
FORGETTING = 3.0
"""Time constant with which the height on which a sole rested is forgotten while it moves [s]."""
LEARNING = 2.0
"""What lies flat is learned within so long [s]."""


class RecoveryStep(NamedTuple):
    """A step that a foot makes on the character's own account, to where it catches the body.

    Attributes:
        total, left: How long it takes, and how long it still does [s].
        peak: How high it goes [m].
        shift: How far off its target it lands [m], shape (2,).
        is_calm: Whether it brings the foot back to the other, rather than catch the body.
        is_early: Whether it ends a step of the actor's that would land too late.
    """

    total: float
    left: float
    peak: float
    shift: Array
    is_calm: bool = False
    is_early: bool = False

    @property
    def height(self) -> float:
        """Of the foot over the ground now [m]."""
        u = 1.0 - self.left / self.total
        return self.peak * 16.0 * (u * (1.0 - u)) ** 2

    @property
    def rate(self) -> float:
        """How fast that changes [m/s]."""
        u = 1.0 - self.left / self.total
        return self.peak * 32.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / self.total

    def share(self, dt: float) -> float:
        """How much of its remaining way a foot goes in a step of `dt`, for it to set off and arrive slowly [1]."""
        now, before = eased(1.0 - self.left / self.total), eased(max(0.0, 1.0 - (self.left + dt) / self.total))
        return min(1.0, (now - before) / max(1.0 - before, 1e-9))

    def later(self, dt: float, shift: Array) -> RecoveryStep:
        """A step of `dt` later; where it lands changes until shortly before."""
        left = max(0.0, self.left - dt)
        shift = shift if left > 0.5 * self.total else self.shift
        return self._replace(left=left, shift=shift)


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
        driver: The actor's limb that it follows.
        recovery: The step it makes on its own account; None while it follows.
        rested: For so long the actor has not lifted it [s].
        swung: For so long it has not stood [s].
        early: For so long at most it stands, though the actor still swings it [s].
        end: Its end body in the model.
        reaching: Of `points`, places in the frame of the end body [m], shape (P, 3), and radii [m], shape (P,); those
            of other bodies have an infinite radius.
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
        driver: str = "",
        end: int = 0,
        reaching: tuple[Array, Array] = (np.zeros((0, 3)), np.zeros(0)),
    ) -> None:
        self.end, self.reaching = end, reaching
        self.row, self.points, self.sole, self.level, self.height = row, points, sole, level, height
        self.hip, self.reach = hip, reach
        self.scale, self.dt = scale, dt
        self.stands, self.has_landed, self.share = False, False, 0.0
        self.place, self.turn = np.zeros(3), level
        self.shift, self.drift = np.zeros(2), np.zeros(2)
        self.driver, self.rested = driver, 0.0
        self.recovery: RecoveryStep | None = None
        self.early, self.swung = 0.0, 0.0
        self._tilt, self._seen = np.zeros(3), 0
        self._base, self._still = 0.0, 0.0
        self._arms: tuple[Array | None, Array] = None, np.zeros((1, 2))

    def over(self, height: float, velocity: Array, scale: float, *, begins: bool) -> float:
        """Height of the actor's sole over where it rests [m]: recordings have feet that rest above the floor.

        Args:
            height: Of the sole over the floor [m].
            velocity, scale: See `decide`.
            begins: Whether the run begins: the foot is taken as it is.
        """
        is_still = float(velocity @ velocity) < RESTING_SPEED**2 * scale and height < RESTING_HEIGHT * scale
        self._still = self._still + self.dt if is_still else 0.0
        if self._still >= BLEND or (begins and is_still):
            self._base += (1.0 if begins else 1.0 - math.exp(-self.dt / BLEND)) * (max(0.0, height) - self._base)
        elif not is_still:
            self._base *= math.exp(-self.dt / FORGETTING)
        return height - self._base

    def leveled(self, over: float, velocity: Array, scale: float, wanted: Goal, *, begins: bool) -> Array:
        """The turn of a target without the tilt that the actor's foot has while it lies flat: rigs are drawn tilted.

        Args:
            over, velocity, scale: Of the actor's sole, see `decide`.
            begins: See `over`.
            wanted: Where the character's foot would go.
        """
        slow = math.hypot(velocity[0], velocity[1]) < 0.5 * LAND_SPEED * math.sqrt(scale)
        if over < LAND_HEIGHT * scale and slow and float(wanted.spin @ wanted.spin) < RESTING**2:
            self._seen += 1
            straight = rotations.multiply(yaw_turn(rotations.yaw_to(self.level, wanted.turn)), self.level)
            tilt = rotations.to_rotation_vector(rotations.multiply(rotations.conjugate(straight), wanted.turn))
            share = max(1.0 / (self._seen + (0.0 if begins else BLEND / self.dt)), self.dt / LEARNING)
            self._tilt = self._tilt + share * (tilt - self._tilt)
        return rotations.multiply(wanted.turn, rotations.from_rotation_vector(-self._tilt))

    def decide(
        self,
        over: float,
        velocity: Array,
        scale: float,
        wanted: Goal,
        ground: float,
        *,
        others: bool,
        stays: bool = False,
        carries: bool = False,
        begins: bool = False,
    ) -> None:
        """Whether it stands, from the sole of the actor.

        Args:
            over: Height of the actor's sole over its floor [m].
            velocity: Of that sole [m/s], shape (3,).
            scale: The actor's leg over that of a person [1].
            wanted: Where the character's foot would go.
            ground: Height of the character's ground there [m].
            others: Whether another foot carries; if none does, only one that is lifted, or pulled away, leaves, and one
                that is low lands though it rises slowly.
            stays: Whether it must not leave, because another foot makes a recovery step.
            carries: Whether the actor's weight must be on it, see `poise.tracking.balance.must_carry`.
            begins: See `over`.
        """
        along, fast = math.hypot(velocity[0], velocity[1]), math.sqrt(scale)
        steps = over > LEAVE_HEIGHT * scale or along > LEAVE_SPEED * fast
        if self.recovery is not None and not self.recovery.is_early and steps:
            self.recovery = None  # the actor steps now
        self.early = max(0.0, self.early - self.dt) if steps else 0.0
        if self.recovery is not None:
            self.stands, self.has_landed, self.share = False, False, 0.0
            if self.recovery.left <= 0.0:
                self._aim(0.0, velocity, wanted, ground)
                self.early = EARLY if self.recovery.is_early and steps else 0.0
                self.stands, self.recovery = True, None
        elif self.stands:
            leaves = self.leaves(over, velocity, scale, wanted, others=others)
            # one that carries alone stays where it is, though the actor's heel is up
            leaves = leaves and not stays and not self.early and not (carries and along < LEAVE_SPEED * fast)
            self.stands = not leaves
            if self.stands and not self.has_landed:
                self._aim(over, velocity, wanted, ground)
        elif (
            along < (LAND_SPEED if others else LEAVE_SPEED) * fast
            and (velocity[2] < RISING * fast or not others)
            and (over < LAND_HEIGHT * scale or carries)
        ):
            if carries:
                self._base, over = self._base + over, 0.0
            self._aim(over, velocity, wanted, ground)
            self.stands, self.has_landed = True, False
        self.rested = self.rested + self.dt if self.stands or self.recovery is not None else 0.0
        self.swung = 0.0 if self.stands else self.swung + self.dt
        if begins:
            self.share = float(self.stands)
        self.share = min(1.0, max(0.0, self.share + (1.0 if self.stands else -1.0) * self.dt / BLEND))

    def leaves(self, over: float, velocity: Array, scale: float, wanted: Goal, *, others: bool) -> bool:
        """Whether the actor lifts the foot, pulls it away or turns it; see `decide`."""
        along, fast = math.hypot(velocity[0], velocity[1]), math.sqrt(scale)
        if over > LEAVE_HEIGHT * scale or along > 2.0 * LEAVE_SPEED * fast:
            return True
        lands = along < LAND_SPEED * fast and velocity[2] < RISING * fast and over < LAND_HEIGHT * scale
        if not others or lands:  # it would come down at once
            return False
        astray = math.hypot(wanted.place[0] - self.place[0], wanted.place[1] - self.place[1])
        if along > LEAVE_SPEED * fast or astray > ASTRAY * self.scale:
            return True
        return abs(rotations.yaw_to(self.turn, wanted.turn)) > TURNED

    def recovering(self, wanted: Goal, ground: float) -> Goal:
        """The target in a recovery step: level, on its way to the ground [m]."""
        assert self.recovery is not None
        place, velocity, level = wanted.place.copy(), np.zeros(3), np.zeros(3)
        velocity[:2] = self.drift
        place[2], velocity[2] = ground + self.height + self.recovery.height, self.recovery.rate
        turn = rotations.multiply(yaw_turn(rotations.yaw_to(self.level, wanted.turn)), self.level)
        return Goal(place, velocity, level, turn, np.zeros(3))

    def _aim(self, over: float, speed: Array, wanted: Goal, ground: float) -> None:
        """Where it will stand: where it goes to until it is down."""
        falling = max(-float(speed[2]), 1e-6)
        velocity = wanted.velocity.copy()
        velocity[:2] -= self.drift  # that part ends where the foot is placed, not further on
        self.place = wanted.place + velocity * min(max(over, 0.0) / falling, AHEAD)
        self.place[2] = ground + self.height
        self.face(wanted.turn)

    def go_on(self, before: Foot) -> None:
        """Stand or swing as a foot of the same limb did before roles changed."""
        self.stands, self.has_landed, self.share = before.stands, before.has_landed, before.share
        self.place, self.turn, self.shift, self.drift = before.place, before.turn, before.shift, before.drift
        self.rested, self.recovery = before.rested, before.recovery
        self.early, self.swung = before.early, before.swung
        self._tilt, self._seen, self._base, self._still = before._tilt, before._seen, before._base, before._still

    def face(self, turn: Array) -> None:
        """Stand flat, facing as the foot would with an orientation."""
        self.turn = rotations.multiply(yaw_turn(rotations.yaw_to(self.level, turn)), self.level)

    def arms(self) -> Array:
        """Where the points of its sole are from its joint, over the ground [m], shape (n, 2)."""
        if self._arms[0] is not self.turn:
            arms = rotations.rotate(self.turn, self.sole)[:, :2] if len(self.sole) else np.zeros((1, 2))
            self._arms = self.turn, arms
        return self._arms[1]

    def hold(self, wanted: Goal) -> Goal:
        """The target, held where the foot stands."""
        if self.share <= 0.0:
            return wanted
        s = eased(self.share)
        place, turn = (self.place, self.turn) if self.early else self._rolled(wanted.turn)
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


def leans(first: Array, second: Array) -> float:
    """The turn between two orientations that no turn about the vertical takes away [rad]."""
    return 2.0 * math.acos(min(1.0, _upright(first, second)))


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


class Trunk(NamedTuple):
    """Of a figure with shoulders ahead of its hips: which feet are theirs, and where.

    Attributes:
        fore, hind: Limbs whose legs begin there.
        fore_at, hind_at: How far ahead of the pelvis as it stands [m].
        across: The axis about which the trunk pitches, in the frame of the pelvis, shape (3,).
    """

    fore: tuple[str, ...]
    hind: tuple[str, ...]
    fore_at: float
    hind_at: float
    across: Array

    @classmethod
    def of(cls, feet: Mapping[str, Foot], turn: Array, yaw: float, leg: float) -> Trunk | None:
        """None for a figure on two legs, or whose legs begin close to each other.

        Args:
            feet: By limb.
            turn: Orientation of the pelvis as it stands, wxyz.
            yaw: Where it faces then [rad].
            leg: Length of a leg [m].
        """
        facing = rotations.rotate(rotations.conjugate(turn), rotations.rotate(yaw_turn(yaw), np.eye(3)))
        at = {name: float(foot.hip @ facing[0]) for name, foot in feet.items()}
        if len(at) < 3:
            return None
        middle = 0.5 * (min(at.values()) + max(at.values()))
        fore, hind = (tuple(n for n in at if (at[n] > middle) is side) for side in (True, False))
        there, back = (sum(at[n] for n in names) / max(len(names), 1) for names in (fore, hind))
        return cls(fore, hind, there, back, facing[1]) if there - back > LONG * leg else None

    def lowered(self, feet: Mapping[str, Foot], places: Array, pelvis_turn: Array) -> tuple[float, float]:
        """How much lower the pelvis has to be [m], and by how much the trunk has to pitch forward [rad].

        Hips and shoulders sink by what their own legs need: front legs are often shorter and straighter.

        Args:
            feet, places, pelvis_turn: See `pelvis_drop`; by limb.
        """
        fore, hind = (pelvis_drop([feet[n] for n in names], places, pelvis_turn) for names in (self.fore, self.hind))
        slope = min(PITCHED, max(-PITCHED, (fore - hind) / (self.fore_at - self.hind_at)))
        return max(0.0, fore - slope * self.fore_at, hind - slope * self.hind_at), math.atan(slope)

    def bounded(self, turn: Array, spin: Array, standing: Array) -> tuple[Array, Array]:
        """A turn of the pelvis and its spin [rad/s] without what front legs that stand cannot follow, as in a bow.

        Args:
            turn, spin: Of the target, wxyz and in the world.
            standing: The turn of the pelvis as it stands, wxyz.
        """
        upright = rotations.multiply(yaw_turn(rotations.yaw_to(standing, turn)), standing)
        off = rotations.to_rotation_vector(rotations.multiply(rotations.conjugate(upright), turn))
        pitch = float(off @ self.across)
        over = pitch - min(PITCHED, max(-PITCHED, pitch))
        if not over:
            return turn, spin
        axis = rotations.rotate(turn, self.across)
        back = rotations.from_rotation_vector(-over * self.across)
        return rotations.multiply(turn, back), spin - float(spin @ axis) * axis


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


def settle(feet: Iterable[Foot], state: State, gap: Array, near: float) -> None:
    """A foot that has come down is held where it is and as it faces, not where it should have come down.

    Args:
        feet: Of the character.
        state: Of the character.
        gap: Of the contact points over the ground [m], shape (P,).
        near: What is lower than this touches [m].
    """
    for foot in feet:
        if not foot.stands or foot.has_landed:
            continue
        if not len(foot.points) or gap[foot.points].min() < near:
            foot.has_landed = True
            off = state.data.xpos[foot.end][:2] - foot.place[:2]
            foot.shift = foot.shift + off
            foot.place[:2] += off
            foot.face(state.data.xquat[foot.end])


def carrying_points(feet: Iterable[Foot], place: Array, turn: Array, gap: Array, near: float) -> tuple[Index, Flags]:
    """Points of standing feet that carry: those their target has on the ground and that are there.

    Args:
        feet: Of the character.
        place, turn: Of the targets, shapes (T, 3), (T, 4).
        gap: Of the contact points over the ground [m], shape (P,).
        near: What is lower than this touches [m].

    Returns:
        Indices of the points, and for each target whether it is such a foot's, shape (T,).
    """
    found, held = list[Index](), np.zeros(len(place), dtype=np.bool_)
    for foot in feet:
        if not foot.stands or foot.share < 0.5:
            continue
        w, x, y, z = turn[foot.row].tolist()
        up = np.array([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)])
        offsets, radii = foot.reaching
        lower = offsets @ up - radii < near + foot.place[2] - foot.height - place[foot.row, 2]
        own = foot.points[lower & (gap[foot.points] < near)]
        found.append(own)
        held[foot.row] = len(own) > 0
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64), held
