"""Euler angles that stay on the source's branch: of all angles of a rotation, the ones an animator expects to see."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.typing import Array

LOCKED = 1e-5
"""Gimbal lock: the middle angle is this close to its end [deg]."""

PREVIOUS_WEIGHT = 0.5
"""How much a jump against the previous frame counts beside the distance to the source's angles."""


def branch_angles(order: str, turned: Array, source: Array | None, changed: npt.NDArray[np.bool_] | None) -> Array:
    """Angles [deg] of rotations, nearest the source's, then nearest the previous frame's.

    A rotation has two triples of angles, each up to whole turns; at gimbal lock it has a line of them.

    Args:
        order: Three axes, such as "ZXY".
        turned: Rotations of joints with this order, shape (F, J, 4).
        source: What the source has in these places [deg], shape (F, J, 3), or None without a source.
        changed: Where the rotation is not the source's, shape (F, J); elsewhere the source's angles are returned.

    Returns:
        Angles [deg], shape (F, J, 3).
    """
    first = rotations.to_euler(order, turned)
    second = _other_triple(order, first)
    candidates = np.stack([first, second], axis=2)  # (F, J, 2, 3)
    result = np.empty_like(first) if source is None else source.copy()
    frames = np.arange(len(turned)) if changed is None else np.flatnonzero(changed.any(axis=1))
    joints = np.arange(turned.shape[1])
    sense = _lock_sense(order, first)
    for f in frames:
        near = result[f - 1] if f else None
        wanted = source[f] if source is not None else near
        if wanted is None:
            wanted = np.zeros_like(first[0])
        options = _at_lock(candidates[f], sense[f], wanted)
        options = options + 360.0 * np.round((wanted[:, None] - options) / 360.0)
        cost = np.abs(options - wanted[:, None]).sum(axis=-1)
        if near is not None:
            # where the source itself jumps, its jump is followed: it is the deviation that has to go on
            expected = near if source is None else wanted + near - source[f - 1]
            cost = cost + PREVIOUS_WEIGHT * np.abs(options - expected[:, None]).sum(axis=-1)
        best = options[joints, np.argmin(cost, axis=1)]
        result[f] = best if changed is None else np.where(changed[f][:, None], best, result[f])
    return result


def _is_proper(order: str) -> bool:
    return order[0] == order[2]


def _other_triple(order: str, angles: Array) -> Array:
    middle = -angles[..., 1] if _is_proper(order) else 180.0 - angles[..., 1]
    return np.stack([angles[..., 0] + 180.0, middle, angles[..., 2] + 180.0], axis=-1)


def _lock_sense(order: str, angles: Array) -> Array:
    """+1 where only the sum of first and last angle is fixed, -1 where only the difference is, 0 elsewhere."""
    middle = angles[..., 1]
    if _is_proper(order):
        low, high = np.abs(middle) < LOCKED, np.abs(np.abs(middle) - 180.0) < LOCKED
        return np.where(low, 1.0, np.where(high, -1.0, 0.0))
    parity = 1.0 if order in ("XYZ", "YZX", "ZXY") else -1.0
    return np.where(np.abs(np.abs(middle) - 90.0) < LOCKED, parity * np.sign(middle), 0.0)


def _at_lock(candidates: Array, sense: Array, wanted: Array) -> Array:
    """Candidates (J, 2, 3) with first and last angle split as near the wanted ones (J, 3) as the lock allows."""
    if not sense.any():
        return candidates
    locked = sense != 0.0
    s = sense[:, None]
    fixed = candidates[..., 0] + s * candidates[..., 2] - (wanted[:, None, 0] + s * wanted[:, None, 2])
    half = 0.5 * (fixed - 360.0 * np.round(fixed / 360.0))
    split = candidates.copy()
    split[..., 0] = wanted[:, None, 0] + half
    split[..., 2] = wanted[:, None, 2] + s * half
    return np.where(locked[:, None, None], split, candidates)
