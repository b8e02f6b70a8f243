"""Turns about the file axes (X left, Y up, Z forward) and the two-bone leg."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.core import rotations

Array = npt.NDArray[np.float64]


def about(axis: str, degrees: Array | float) -> Array:
    """Quaternions (..., 4) of a turn about one axis."""
    return rotations.from_euler(axis, np.asarray(degrees, dtype=np.float64)[..., None])


def chain(*turns: Array) -> Array:
    """Product of turns, outermost first."""
    q = turns[0]
    for turn in turns[1:]:
        q = rotations.multiply(q, turn)
    return q


def within(outer: Array, inner: Array) -> Array:
    """The turn that takes world orientation `outer` to world orientation `inner`, in outer's frame."""
    return rotations.multiply(rotations.conjugate(outer), inner)


def mirror(q: Array) -> Array:
    """The same turn on the other side of the plane x = 0."""
    return np.asarray(q) * np.array([1.0, 1.0, -1.0, -1.0])


def knee_bend(distance: Array, thigh: float, shank: float) -> Array:
    """Bend [rad] of a two-bone leg whose ends are `distance` apart; 0 is straight."""
    cosine = (thigh**2 + shank**2 - distance**2) / (2.0 * thigh * shank)
    return np.pi - np.arccos(np.clip(cosine, -1.0, 1.0))


def leg(hip: Array, ankle: Array, forward: Array, thigh: float, shank: float, side: float = 1.0) -> tuple[Array, Array]:
    """World orientations (F, 4) of thigh and shank whose bones hang along −Y at rest.

    Args:
        hip: Upper end [m], shape (F, 3).
        ankle: Lower end [m], shape (F, 3).
        forward: Where a knee points, shape (F, 3) or (3,); made orthogonal to the leg.
        thigh, shank: Bone lengths [m].
        side: 1 bends like a knee (middle joint forward), −1 like an elbow of a foreleg (backward).
    """
    reach = ankle - hip
    distance = np.linalg.norm(reach, axis=-1)
    up = -reach / distance[:, None]
    left = np.cross(up, np.broadcast_to(forward, up.shape))
    left /= np.linalg.norm(left, axis=-1, keepdims=True)
    straight = rotations.from_matrix(np.stack([left, up, np.cross(left, up)], axis=-1))
    bend = knee_bend(distance, thigh, shank)
    cosine = (thigh**2 + distance**2 - shank**2) / (2.0 * thigh * distance)
    raised = np.arccos(np.clip(cosine, -1.0, 1.0))
    upper = chain(straight, about("X", -side * np.degrees(raised)))
    return rotations.continuous(upper), rotations.continuous(chain(upper, about("X", side * np.degrees(bend))))
