"""What a figure targets for that has lost its balance: its hands go to the ground first, then its muscles let go.

Nobody holds the root any more. Joints are asked for a half bent pose ever less as the figure comes down, and to slow
down ever more; what touches the ground is asked to stay where it is, as far as friction can.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.units import GRAVITY

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

TENSE, LIMP = 8.0, 1.0
"""Frequency of the pose servo of a figure that has just lost its balance, and of one that lies [1/s]."""
BRAKE = 5.0
"""How fast joints slow down by themselves [1/s]."""
HASTE = 12.0
"""Frequency with which hands go to the ground [1/s]."""
STOP = 0.05
"""What touches the ground is asked to stop within so long [s]."""
AHEAD, ASIDE = 0.45, 0.22
"""Where the hands go: before the chest along its way, and to each side of it [m], for a leg of 0.82 m."""
SLOW = 0.05
"""A figure whose center of mass moves slower than this [m/s] while it lies has come to rest."""


class Fall(NamedTuple):
    """A fall that has begun.

    Attributes:
        q: The pose in which it began, which the joints keep at first, shape (nq,).
        way: Horizontal way of the fall, a unit vector, shape (2,).
        since: How long ago [s].
        rested: How long it has lain still [s].
    """

    q: Array
    way: Array
    since: float = 0.0
    rested: float = 0.0


def highness(height: float, standing: float) -> float:
    """1 for a figure with its center of mass as high as it stands, 0 for one that lies.

    Args:
        height, standing: Of the center of mass above the ground, now and when it stood [m].
    """
    return min(max((height / max(standing, 1e-9) - 0.3) / 0.5, 0.0), 1.0)


def joint_wishes(error: Array, velocity: Array, high: float) -> Array:
    """Wished acceleration of every dof: of the pose in which the fall began, and slower, shape (nv,).

    Args:
        error: That pose less the present one, shape (nv,).
        velocity: Shape (nv,).
        high: See `highness`.
    """
    w = LIMP + high * (TENSE - LIMP)
    return w * w * np.clip(error, -1.0, 1.0) - (2.0 * w + BRAKE) * velocity


def resting_wishes(velocities: Array, axes: Array, touches: Flags) -> tuple[Array, Array]:
    """Wished accelerations of contact points along their axes, and how much they matter, both (3 P,).

    Args:
        velocities: Of the points against the ground [m/s], shape (P, 3).
        axes: Shape (P, 3, 3).
        touches: Shape (P,).
    """
    along = np.einsum("pec,pc->pe", axes, velocities)
    shares = np.repeat(touches.astype(np.float64), 3)
    return (-along / STOP).ravel(), shares


def hand_target(chest: Array, way: Array, side: float, ground: float, scale: float) -> Array:
    """Where a hand goes to break the fall [m], shape (3,).

    Args:
        chest: [m], shape (3,).
        way: Of the fall, shape (2,).
        side: 1 for the hand on the left of the way, −1 for the other.
        ground: Height of the ground [m].
        scale: Leg length / 0.82 m.
    """
    out = np.array([-way[1], way[0]])
    place = chest[:2] + scale * (AHEAD * way + side * ASIDE * out)
    # no arm reaches the ground from above; it goes ahead of the chest and down with it
    return np.array([*place, max(ground, float(chest[2]) - 0.35 * scale)])


def hand_wish(target: Array, place: Array, velocity: Array) -> Array:
    """Wished acceleration of a hand towards its target [m/s²], shape (3,), held to what an arm can do.

    Args:
        target, place: [m], shape (3,).
        velocity: Of the hand against the chest [m/s], shape (3,).
    """
    wish = HASTE**2 * (target - place) - 2.0 * HASTE * velocity
    return wish * min(1.0, 8.0 * GRAVITY / max(float(np.linalg.norm(wish)), 1e-9))


def later(fall: Fall, speed: float, high: float, dt: float) -> Fall:
    """One step later, with the center of mass at this speed [m/s]."""
    lies = high < 0.5 and speed < SLOW
    return fall._replace(since=fall.since + dt, rested=fall.rested + dt if lies else 0.0)


def begun(q: Array, velocity: Array) -> Fall:
    """A fall that begins in a pose (nq,) with the center of mass at a velocity [m/s], shape (3,)."""
    size = math.hypot(velocity[0], velocity[1])
    return Fall(q.copy(), velocity[:2] / size if size > 1e-6 else np.array([1.0, 0.0]))
