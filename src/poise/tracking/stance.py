"""Which feet stand, decided pose by pose, and where a standing foot is held.

A foot lands when it is low, slow and no longer rising; it leaves when it rises, moves off, or turns away from where it
stands. Height alone, as the paper has it, freezes the ball of a foot that turns on the spot. Targets blend between held
and free, so that nothing jumps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from poise.core import rotations
from poise.core.typing import Array
from poise.tracking.retarget import Target, yaw_turn

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
SMOOTH = 0.02
"""Time constant of the speeds that decide [s]."""


@dataclass
class Stance:
    """One foot over time.

    Attributes:
        sole: Contact points of the character's foot in the frame of its end body, as it stands [m], shape (n, 3).
        scale: The character's leg over that of a person [1].
        dt: Time between poses [s].
        stands: Whether it stands.
        held: Where and how it stands.
        share: How much of the target is the held one, 0 … 1.
    """

    sole: Array
    scale: float
    dt: float
    stands: bool = False
    held: Target | None = None
    share: float = 0.0
    _velocity: Array | None = None
    _last: Array | None = None

    def decide(self, sole: Array, floor: float, target: Target, scale: float, level: Array, height: float) -> Target:
        """The target of a pose, held where the foot stands.

        Args:
            sole: Lowest place of the actor's foot [m], shape (3,).
            floor: The actor's floor [m].
            target: Where the character's foot would go.
            scale: The actor's leg over that of a person [1].
            level: Orientation of the character's foot when it stands facing along x, wxyz.
            height: Height of the foot's joint then, over the character's floor, as a world height [m].
        """
        last, self._last = self._last, sole.copy()
        if last is None:
            return target
        speed = (sole - last) / self.dt
        share, is_first = 1.0 - math.exp(-self.dt / SMOOTH), self._velocity is None
        self._velocity = speed if self._velocity is None else self._velocity + share * (speed - self._velocity)
        over, along = sole[2] - floor, float(np.hypot(*self._velocity[:2]))
        fast = math.sqrt(scale)
        if self.stands:
            assert self.held is not None
            astray = float(np.hypot(*(target.place - self.held.place)[:2]))
            turned = abs(_yaw_between(self.held.turn, target.turn))
            leaves = over > LEAVE_HEIGHT * scale or along > LEAVE_SPEED * fast
            self.stands = not (leaves or astray > ASTRAY * self.scale or turned > TURNED)
        elif over < LAND_HEIGHT * scale and along < LAND_SPEED * fast and self._velocity[2] < RISING * fast:
            falling = max(-float(self._velocity[2]), 1e-6)
            place = target.place + target.velocity * min(max(over, 0.0) / falling, AHEAD)
            place = np.array([place[0], place[1], height])
            flat = rotations.multiply(yaw_turn(_yaw_between(level, target.turn)), level)
            self.held, self.stands = Target(place, np.zeros(3), flat, np.zeros(3), np.zeros(3)), True
            if is_first:
                self.share = 1.0
        self.share = min(1.0, max(0.0, self.share + (1.0 if self.stands else -1.0) * self.dt / BLEND))
        if self.held is None or self.share <= 0.0:
            return target
        s = self.share * self.share * (3.0 - 2.0 * self.share)
        held = self._rolled(target.turn)
        return Target(
            (1.0 - s) * target.place + s * held.place, (1.0 - s) * target.velocity,
            rotations.part_way(target.turn[None], held.turn[None], np.array([s]))[0], (1.0 - s) * target.spin,
            (1.0 - s) * target.acceleration,
        )  # fmt: skip

    def _rolled(self, wanted: Array) -> Target:
        """The standing foot with the pitch and roll that are wanted, turned about its lowest point, which stays."""
        assert self.held is not None
        turn = rotations.multiply(yaw_turn(_yaw_between(wanted, self.held.turn)), wanted)
        rolled = rotations.to_rotation_vector(_short(rotations.multiply(turn, rotations.conjugate(self.held.turn))))
        size = float(np.linalg.norm(rolled))
        kept = rotations.from_rotation_vector(rolled * max(0.0, size - FLAT) / max(size, 1e-9))
        turn = rotations.multiply(kept, self.held.turn)
        if not len(self.sole):
            return Target(self.held.place, np.zeros(3), turn, np.zeros(3), np.zeros(3))
        arms = rotations.rotate(turn, self.sole)
        lowest = int(np.argmin(arms[:, 2]))
        stays = self.held.place + rotations.rotate(self.held.turn, self.sole[lowest])
        return Target(stays - arms[lowest], np.zeros(3), turn, np.zeros(3), np.zeros(3))


def _short(turn: Array) -> Array:
    return turn if turn[0] >= 0.0 else -turn


def _yaw_between(first: Array, second: Array) -> float:
    """Turn about the vertical from one orientation to another [rad]."""
    turn = rotations.multiply(second, rotations.conjugate(first))
    return 2.0 * math.atan2(turn[3], turn[0]) if turn[0] >= 0.0 else 2.0 * math.atan2(-turn[3], -turn[0])
