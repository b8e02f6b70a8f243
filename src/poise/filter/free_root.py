"""Targets for a figure with nothing at its root, so that it may fall without tearing itself apart.

With the root wrench at zero a figure in the air cannot turn itself back, and targets in the world would whirl its limbs
ever faster in the attempt. So the pose is asked for joint by joint, and what only the ground can give (the root's own
turn, feet on their places, the center of mass on its path) is asked for with errors no larger than a stride, and ever
less the further the figure has fallen.
"""

from __future__ import annotations

import numpy as np

from poise.core.typing import Array

LARGEST_TURN = 0.35
"""Largest error of the root's orientation that is asked back [rad]."""
LARGEST_WAY = 0.25
"""Largest error of a place that is asked back [m], for a leg of 0.82 m."""
FALLEN_TILT = 1.2
"""Tilt from which a figure counts as fallen [rad]."""
FALLEN_DROP = 0.5
"""Drop of the root from which a figure counts as fallen, in leg lengths."""


def authority(tilt: float, drop: float, leg_length: float) -> float:
    """How much a figure can still do about where it is: 1 upright and at its height, 0.01 fallen.

    Args:
        tilt: Angle between the root and where it should be [rad].
        drop: How far the root is below where it should be [m].
        leg_length: [m].
    """
    upright = max(0.0, 1.0 - tilt / FALLEN_TILT)
    high = max(0.0, 1.0 - max(drop, 0.0) / (FALLEN_DROP * leg_length))
    return max(0.01, upright * high)


def joint_servo(
    error: Array, velocity: Array, target_velocity: Array, target_acceleration: Array, speed: float, stiffness: float
) -> Array:
    """Acceleration asked of every dof, a* + speed Δv + stiffness Δq, the root's turn shortened, shape (nv,).

    Args:
        error: q* ⊖ q, shape (nv,).
        velocity, target_velocity, target_acceleration: v, v*, a*, shape (nv,).
        speed, stiffness: Of the servo [1/s], [1/s²].
    """
    error = error.copy()
    turn = float(np.linalg.norm(error[3:6]))
    if turn > LARGEST_TURN:
        error[3:6] *= LARGEST_TURN / turn
    return target_acceleration + speed * (target_velocity - velocity) + stiffness * error


def within(errors: Array, scale: float) -> Array:
    """Errors [m] (…, 3 or 2) shortened to the largest that is asked back."""
    return shortened(errors, LARGEST_WAY * scale)


def shortened(errors: Array, limit: float) -> Array:
    """Errors [m] (…, 3 or 2), none longer than the limit [m]."""
    size = np.linalg.norm(errors, axis=-1, keepdims=True)
    return errors * np.minimum(1.0, limit / np.maximum(size, 1e-12))
