"""What to wish for when nobody holds the root, so that a figure may fall without tearing itself apart.

With the root wrench at zero a figure in the air cannot turn itself back, and wishes in the world would whirl its limbs
ever faster in the attempt. So the pose is asked for relative to the root, and what only the ground can give (the root's
own turn, feet on their places, the center of mass on its path) is asked for with errors no larger than a stride, and
ever less the further the figure has fallen.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.spatial import rotations

Array = npt.NDArray[np.float64]

LARGEST_TURN = 0.35
"""Largest error of the root's orientation that is asked back [rad]."""
LARGEST_WAY = 0.25
"""Largest error of a place that is asked back [m], for a leg of 0.82 m."""


def relative_to_root(
    orientations: Array, velocities: Array, accelerations: Array, root: Array, root_velocity: Array
) -> tuple[Array, Array, Array]:
    """Wished orientations and rates of the bodies (B, …), carried along with the simulated root (body 1).

    Args:
        orientations, velocities, accelerations: Wished in the world, shapes (B, 4), (B, 3), (B, 3).
        root: Simulated orientation of the root, shape (4,).
        root_velocity: Its angular velocity [rad/s], shape (3,).
    """
    error = rotations.multiply(root, rotations.conjugate(orientations[1]))
    angle = rotations.to_rotation_vector(error)
    carried = rotations.multiply(error, orientations)
    size = float(np.linalg.norm(angle))
    if size > LARGEST_TURN:
        angle = angle * (LARGEST_TURN / size)
    carried[1] = rotations.multiply(rotations.from_rotation_vector(-angle), root)
    speeds = root_velocity + rotations.rotate(error, velocities - velocities[1])
    speeds[1] = velocities[1]
    return carried, speeds, rotations.rotate(error, accelerations)


def authority(tilt: float, drop: float, leg_length: float) -> float:
    """How much a figure can still do about where it is, 1 … 0.01: upright and at its height, or fallen.

    Args:
        tilt: Angle between the root and where it should be [rad].
        drop: How far the root is below where it should be [m].
        leg_length: [m].
    """
    part = (1.0 - tilt / 1.2) * (1.0 - max(drop, 0.0) / (0.5 * leg_length))
    return max(part, 0.01) if tilt < 1.2 and drop < 0.5 * leg_length else 0.01


def within(errors: Array, scale: float) -> Array:
    """Errors [m] (…, 3 or 2) shortened to the largest that is asked back."""
    limit = LARGEST_WAY * scale
    size = np.linalg.norm(errors, axis=-1, keepdims=True)
    return errors * np.minimum(1.0, limit / np.maximum(size, 1e-12))
