"""From an actor's pose to places that a character of another size and shape should reach.

Pelvis and feet move by the actor's ways times the ratio of the legs; feet stand at the actor's width. Hands and head
move against the pelvis by the ratio of their limbs. Turns are those of the actor against a standing pose, put on the
character's own. Everything but the feet passes two poles at 6 Hz.

Source: [Tracking]_ section 5, equation (2). Deviates: ways of hands and head are taken in the pelvis's frame (taken in
the world, a hand leaves the body after a meter); the head's ratio is capped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.typing import Array
from poise.tracking.roles import Role

POLE = 6.0
"""Cut-off of each of the two poles that targets pass, but those of feet [Hz]."""
SMOOTH_ACCELERATION = 0.03
"""Time constant of the accelerations of targets [s]."""
STEEP = 0.8
"""Soles that are further from level than this in the standing pose are not taken for flat feet [rad]."""
LARGEST_RATIO = 1.3
"""Necks of skeletons are drawn with many lengths: no limb is driven further than this times the actor's way [1]."""


@dataclass(frozen=True)
class Standing:
    """A figure that stands: what ways and turns are counted from.

    Attributes:
        pelvis: Place of the root body [m], shape (3,).
        turn: Its orientation, wxyz.
        yaw: Where it faces [rad].
        ends: Place of the end of each limb [m].
        end_turns: Orientation of the last body of each limb.
        com: Center of mass [m], shape (3,).
        floor: Height of the floor [m].
        leg: Height of the pelvis over the floor [m].
        lengths: Of each limb [m].
    """

    pelvis: Array
    turn: Array
    yaw: float
    ends: dict[str, Array]
    end_turns: dict[str, Array]
    com: Array
    floor: float
    leg: float
    lengths: dict[str, float]

    @classmethod
    def of(cls, character: Character, places: Array, turns: Array, floor: float) -> Standing:
        """From the places (B, 3) and orientations (B, 4) of the bodies of a figure that stands."""
        ends = {limb.name: end_body(character, limb.name) for limb in character.limbs}
        lengths = {
            limb.name: float(sum(np.linalg.norm(character.bodies[b].offset) for b in limb.bodies[1:]))
            for limb in character.limbs
        }
        end_places = {name: places[b].copy() for name, b in ends.items()}
        end_turns = {name: turns[b].copy() for name, b in ends.items()}
        for limb in character.limbs:
            if limb.kind == "leg":
                end_turns[limb.name], height = _flat(character, ends[limb.name], end_turns[limb.name])
                if height is not None:
                    end_places[limb.name][2] = floor + height
        return cls(
            places[0].copy(), turns[0].copy(), heading(character, places), end_places, end_turns,
            center_of_mass(character, places, turns), floor, float(places[0, 2] - floor), lengths,
        )  # fmt: skip


@dataclass(frozen=True)
class Target:
    """Where something should be, and how fast.

    Attributes:
        place, velocity: [m], [m/s], shape (3,).
        turn: Orientation, wxyz.
        spin: Angular velocity, world [rad/s], shape (3,).
        acceleration: [m/s^2], shape (3,).
    """

    place: Array
    velocity: Array
    turn: Array
    spin: Array
    acceleration: Array


def end_body(character: Character, limb: str) -> int:
    """The body at the end of a limb: the foot of a leg (toes follow it), the last of others."""
    chosen = next(item for item in character.limbs if item.name == limb)
    if chosen.kind == "leg":
        feet = [b for role, b in character.roles.items() if role.endswith("foot") and b in chosen.bodies]
        if feet:
            return feet[0]
    return chosen.bodies[-1]


def _flat(character: Character, body: int, turn: Array) -> tuple[Array, float | None]:
    """A foot as it stands flat, facing as it does: the sole level, and how high its joint is then [m].

    Rest poses are drawn with feet that point down or roll; what the sole is, its contact points say. A sole that is
    further than `STEEP` from level is left as it is.
    """
    points = [p for p in character.contact_points if p.body == body]
    if len(points) < 3:
        return turn, None
    at = rotations.rotate(turn, np.stack([p.offset for p in points]))
    _, sizes, axes = np.linalg.svd(at - at.mean(axis=0))
    normal = axes[2] if axes[2][2] >= 0.0 else -axes[2]
    if sizes[1] < 1e-3 or normal[2] < math.cos(STEEP):
        return turn, None
    across = np.cross(normal, [0.0, 0.0, 1.0])
    size = float(np.linalg.norm(across))
    if size > 1e-9:
        level = rotations.from_rotation_vector(across / size * math.atan2(size, normal[2]))
        turn = rotations.multiply(level, turn)
        at = rotations.rotate(turn, np.stack([p.offset for p in points]))
    return turn, float(np.max(np.array([p.radius for p in points]) - at[:, 2]))


def center_of_mass(character: Character, places: Array, turns: Array) -> Array:
    """Of bodies at places (B, 3) with orientations (B, 4) [m], shape (3,)."""
    masses = np.array([b.mass for b in character.bodies])
    centers = places + rotations.rotate(turns, np.stack([b.com for b in character.bodies]))
    return masses @ centers / masses.sum()


def heading(character: Character, places: Array) -> float:
    """Where a figure faces [rad]: across the line from its right hip to its left; along the spine on four legs."""
    legs = [limb for limb in character.limbs if limb.kind == "leg"]
    left = [places[limb.bodies[0]] for limb in legs if "left" in limb.name]
    right = [places[limb.bodies[0]] for limb in legs if "right" in limb.name]
    if not left or not right:
        return 0.0
    across = np.mean(left, axis=0) - np.mean(right, axis=0)
    return math.atan2(-across[0], across[1])


@dataclass
class Retargeter:
    """Turns poses of the actor into targets of the character, one after the other.

    Attributes:
        character, actor: The two.
        roles: Of the character's limbs.
        theirs, ours: How they stand.
        dt: Time between poses [s].
    """

    character: Character
    actor: Character
    roles: tuple[Role, ...]
    theirs: Standing
    ours: Standing
    dt: float
    _poles: dict[str, list[Array]] = field(default_factory=dict)
    _last: dict[str, tuple[Array, Array, Array, Array]] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """The character's legs over the actor's."""
        return self.ours.leg / self.theirs.leg

    def targets(self, places: Array, turns: Array) -> dict[str, Target]:
        """Of the pelvis ("pelvis"), of the center of mass ("com") and of each limb that is driven.

        Args:
            places, turns: Of the actor's bodies, shapes (B, 3), (B, 4).
        """
        about = yaw_turn(self.ours.yaw - self.theirs.yaw)
        facing = heading(self.actor, places) + self.ours.yaw - self.theirs.yaw
        found: dict[str, Target] = {}
        pelvis = self._scaled(places[0], about)
        turn = self._turned(turns[0], self.theirs.turn, self.ours.turn, about)
        found["pelvis"] = self._moving("pelvis", pelvis, turn, is_smooth=True)
        lean = self.ours.com - np.array([*self.ours.pelvis[:2], self.ours.floor])
        lean = _into(yaw_turn(self.ours.yaw), lean) - self.ratio * _into(
            yaw_turn(self.theirs.yaw), self.theirs.com - np.array([*self.theirs.pelvis[:2], self.theirs.floor])
        )
        com = self._scaled(center_of_mass(self.actor, places, turns), about)
        com = com + rotations.rotate(yaw_turn(facing), lean)
        found["com"] = self._moving("com", com, turn, is_smooth=True)
        frame, their_frame = yaw_turn(facing), yaw_turn(heading(self.actor, places))
        for role in self.roles:
            if not role.actor:
                continue
            end = end_body(self.actor, role.actor)
            turn = self._turned(turns[end], self.theirs.end_turns[role.actor], self.ours.end_turns[role.limb], about)
            if role.kind == "support":
                place = self._scaled(places[end], about) + rotations.rotate(frame, self._foot_offset(role))
            else:
                ratio = min(
                    self.ours.lengths[role.limb] / max(self.theirs.lengths[role.actor], 1e-6),
                    LARGEST_RATIO * self.ratio,
                )
                way = _into(their_frame, places[end] - places[0]) - _into(
                    yaw_turn(self.theirs.yaw), self.theirs.ends[role.actor] - self.theirs.pelvis
                )
                rest = _into(yaw_turn(self.ours.yaw), self.ours.ends[role.limb] - self.ours.pelvis)
                place = pelvis + rotations.rotate(frame, rest + ratio * way)
            found[role.limb] = self._moving(role.limb, place, turn, is_smooth=role.kind != "support")
        return found

    def _scaled(self, place: Array, about: Array) -> Array:
        """A place of the actor on the character's scale, both standing where they stood."""
        start = np.array([*self.theirs.pelvis[:2], self.theirs.floor])
        ours = np.array([*self.ours.pelvis[:2], self.ours.floor])
        return ours + self.ratio * rotations.rotate(about, place - start)

    def _foot_offset(self, role: Role) -> Array:
        """What the character's standing foot lies ahead of and above the actor's scaled one, in its facing frame [m].

        Sideways there is none for a pair of legs: feet go at the actor's width, under the body.
        """
        ours = self.ours.ends[role.limb] - np.array([*self.ours.pelvis[:2], self.ours.floor])
        theirs = self.theirs.ends[role.actor] - np.array([*self.theirs.pelvis[:2], self.theirs.floor])
        offset = _into(yaw_turn(self.ours.yaw), ours) - self.ratio * _into(yaw_turn(self.theirs.yaw), theirs)
        own_side = ("left" in role.limb) == ("left" in role.actor)
        return np.array([offset[0], 0.0 if own_side else offset[1], offset[2]])

    def _turned(self, turn: Array, standing: Array, ours: Array, about: Array) -> Array:
        """The actor's turn against its standing pose, put on the character's."""
        moved = rotations.multiply(turn, rotations.conjugate(standing))
        moved = rotations.multiply(rotations.multiply(about, moved), rotations.conjugate(about))
        return rotations.normalize(rotations.multiply(moved, ours))

    def _moving(self, name: str, place: Array, turn: Array, *, is_smooth: bool) -> Target:
        """The target with its velocities, after the poles."""
        if is_smooth:
            place, turn = self._smoothed(name, place, turn)
        before = self._last.get(name)
        if before is None:
            self._last[name] = (place, turn, np.zeros(3), np.full(3, np.nan))
            return Target(place, np.zeros(3), turn, np.zeros(3), np.zeros(3))
        step = rotations.multiply(turn, rotations.conjugate(before[1]))
        step = step if step[0] >= 0.0 else -step
        velocity = (place - before[0]) / self.dt
        gained = np.zeros(3) if np.isnan(before[3][0]) else (velocity - before[3]) / self.dt
        share = 1.0 - math.exp(-self.dt / SMOOTH_ACCELERATION)
        acceleration = before[2] + share * (gained - before[2])
        self._last[name] = (place, turn, acceleration, velocity)
        return Target(place, velocity, turn, rotations.to_rotation_vector(step) / self.dt, acceleration)

    def _smoothed(self, name: str, place: Array, turn: Array) -> tuple[Array, Array]:
        """Place and turn after two poles, ahead by the time that the poles are late."""
        late = 1.0 / (2.0 * math.pi * POLE)
        share = 1.0 - math.exp(-self.dt / late)
        given = np.concatenate([place, turn])
        poles = self._poles.get(name)
        if poles is None:
            self._poles[name] = [given, given, given]
            return place, turn
        if given[3:] @ poles[2][3:] < 0.0:
            given[3:] *= -1.0
        if len(poles) == 3:  # the second pose: as if it had moved so before
            speed = (given - poles[2]) / self.dt
            poles = self._poles[name] = [given - late * speed, given - 2.0 * late * speed, given, given]
        else:
            poles[0] = poles[0] + share * (given - poles[0])
            before = poles[1]
            poles[1] = before + share * (poles[0] - before)
            speed = (poles[1] - before) / self.dt
        ahead = poles[1] + 2.0 * late * speed
        return ahead[:3], rotations.normalize(ahead[3:])


def yaw_turn(angle: float) -> Array:
    """Rotation about the vertical, wxyz."""
    return np.array([math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)])


def _into(frame: Array, way: Array) -> Array:
    return rotations.rotate(rotations.conjugate(frame), way)
