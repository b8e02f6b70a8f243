"""Quaternions (wxyz, unit, scalar first), vectorized over leading axes.

`A @ B` of rotations reads left to right from the outer frame in: R_world_body @ R_body_point.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from poise.core import rotations
from poise.core.typing import Array

IDENTITY: Array = np.array([1.0, 0.0, 0.0, 0.0])
_OPPOSITE: Array = np.array([1.0, -1.0, -1.0, -1.0])
GIMBAL_LOCK = 5e-8
"""Half of the angle [rad] between the first and the third axis below which only one of their turns is known."""


def multiply(a: Array, b: Array) -> Array:
    """Product a b of quaternions, shapes (..., 4) that broadcast."""
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim == 1 and b.ndim == 1:  # one pair, in plain floats: a fifth of the time
        w, x, y, z = a.tolist()
        e, f, g, h = b.tolist()
        return np.array(
            [
                w * e - x * f - y * g - z * h,
                w * f + x * e + y * h - z * g,
                w * g - x * h + y * e + z * f,
                w * h + x * g - y * f + z * e,
            ]
        )
    aw, ax, ay, az = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bw, bx, by, bz = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    # written into place: np.stack of the four takes half of the time again
    first = aw * bw - ax * bx - ay * by - az * bz
    out = np.empty((*first.shape, 4), dtype=first.dtype)
    out[..., 0] = first
    out[..., 1] = aw * bx + ax * bw + ay * bz - az * by
    out[..., 2] = aw * by - ax * bz + ay * bw + az * bx
    out[..., 3] = aw * bz + ax * by - ay * bx + az * bw
    return out


def conjugate(q: Array) -> Array:
    """Inverse of unit quaternions, shape (..., 4)."""
    return np.asarray(q) * _OPPOSITE


def rotate(q: Array, x: Array) -> Array:
    """Vectors x (..., 3) turned by unit quaternions q (..., 4), broadcasting."""
    # x + w t + u × t with t = 2 u × x, written out: np.cross takes five times as long
    q, x = np.asarray(q, dtype=np.float64), np.asarray(x, dtype=np.float64)
    if q.ndim == 1 and x.ndim == 1:  # one vector, in plain floats
        w, a, b, c = q.tolist()
        x0, x1, x2 = x.tolist()
        t0, t1, t2 = 2.0 * (b * x2 - c * x1), 2.0 * (c * x0 - a * x2), 2.0 * (a * x1 - b * x0)
        return np.array(
            [x0 + w * t0 + (b * t2 - c * t1), x1 + w * t1 + (c * t0 - a * t2), x2 + w * t2 + (a * t1 - b * t0)]
        )
    w, a, b, c = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    x0, x1, x2 = x[..., 0], x[..., 1], x[..., 2]
    t0, t1, t2 = 2.0 * (b * x2 - c * x1), 2.0 * (c * x0 - a * x2), 2.0 * (a * x1 - b * x0)
    out = np.empty((*t0.shape, 3))
    out[..., 0] = x0 + w * t0 + (b * t2 - c * t1)
    out[..., 1] = x1 + w * t1 + (c * t0 - a * t2)
    out[..., 2] = x2 + w * t2 + (a * t1 - b * t0)
    return out


def normalize(q: Array) -> Array:
    """Quaternions scaled to unit length, shape (..., 4)."""
    q = np.asarray(q, dtype=np.float64)
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def first_not_unit(q: Array) -> tuple[int, ...] | None:
    """Index of the first quaternion whose length is not 1 to a hundredth; None where all are unit."""
    off = ~(np.abs(np.einsum("...i,...i->...", q, q) - 1.0) <= 0.02)
    return tuple(np.argwhere(off)[0].tolist()) if off.any() else None


def to_matrix(q: Array) -> Array:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    q = np.asarray(q)
    return np.asarray(Rotation.from_quat(q.reshape(-1, 4), scalar_first=True).as_matrix()).reshape(*q.shape[:-1], 3, 3)


def from_matrix(m: Array) -> Array:
    """Unit quaternions (..., 4) of rotation matrices (..., 3, 3)."""
    m = np.asarray(m)
    return np.asarray(Rotation.from_matrix(m.reshape(-1, 3, 3)).as_quat(scalar_first=True)).reshape(*m.shape[:-2], 4)


def from_rotation_vector(r: Array) -> Array:
    """Unit quaternions (..., 4) of rotation vectors [rad], shape (..., 3)."""
    r = np.asarray(r, dtype=np.float64)
    if r.ndim == 1:
        x, y, z = r.tolist()
        half = 0.5 * math.sqrt(x * x + y * y + z * z)
        share = 0.5 * math.sin(half) / half if half else 0.5
        return np.array([math.cos(half), share * x, share * y, share * z])
    angle = np.linalg.norm(r, axis=-1, keepdims=True)
    half = 0.5 * angle
    # sin(x/2)/x without a division by zero: np.sinc(t) = sin(pi t)/(pi t)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * r], axis=-1)


def to_rotation_vector(q: Array) -> Array:
    """Shortest rotation vectors [rad] (..., 3) of unit quaternions (..., 4)."""
    q = np.asarray(q)
    if q.ndim == 1:
        w, x, y, z = q.tolist()
        sine = math.sqrt(x * x + y * y + z * z)
        share = 2.0 * math.atan2(sine, abs(w)) / sine if sine > 1e-12 else 2.0
        share = -share if w < 0.0 else share
        return np.array([share * x, share * y, share * z])
    q = np.where(q[..., :1] < 0.0, -q, q)
    sines = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sines, q[..., :1])
    scale = np.where(sines > 1e-12, angle / np.where(sines > 1e-12, sines, 1.0), 2.0)
    return scale * q[..., 1:]


def angle_between(a: Array, b: Array) -> Array:
    """Angle [rad] between orientations a and b (..., 4); accurate for tiny angles."""
    a, b = np.asarray(a), np.asarray(b)
    chord = np.minimum(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    return 4.0 * np.arcsin(np.clip(0.5 * chord, 0.0, 1.0))


def part_way(a: Array, b: Array, part: Array | float) -> Array:
    """Orientations on the shortest turn from a to b (..., 4), a part 0 … 1 of the way: a exp(part log(a⁻¹ b))."""
    turn = to_rotation_vector(multiply(conjugate(a), b))
    return multiply(a, from_rotation_vector(np.asarray(part)[..., None] * turn))


Part = TypeVar("Part", float, Array)


def eased(part: Part) -> Part:
    """A part 0 … 1 of the way that sets off and arrives slowly: u² (3 − 2 u)."""
    return part * part * (3.0 - 2.0 * part)


def perpendicular(axis: Array) -> Array:
    """Some unit vector orthogonal to an axis (3,)."""
    across = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    return np.asarray(across / np.linalg.norm(across), dtype=np.float64)


def between(a: Array, b: Array) -> Array:
    """Shortest unit quaternions that turn directions a (..., 3) into directions b (..., 3); none where one is zero."""
    a = np.asarray(a) / np.maximum(np.linalg.norm(a, axis=-1, keepdims=True), 1e-300)
    b = np.asarray(b) / np.maximum(np.linalg.norm(b, axis=-1, keepdims=True), 1e-300)
    w = 1.0 + np.sum(a * b, axis=-1, keepdims=True)
    turns = np.concatenate([w, np.cross(a, b)], axis=-1)
    opposite = w[..., 0] < 1e-9
    if opposite.any():
        turns[opposite] = [[0.0, *perpendicular(axis)] for axis in a[opposite]]
    return normalize(turns)


def mean(q: Array) -> Array:
    """Mean of rotations (F, ..., 4), shape (..., 4): nearest to all, by the largest eigenvector of Σ q qᵀ."""
    q = np.moveaxis(q, 0, -2)
    nearest = np.linalg.eigh(np.swapaxes(q, -1, -2) @ q)[1][..., -1]
    return np.where(nearest[..., :1] >= 0.0, nearest, -nearest)


def twist_angle(q: Array, axis: Array) -> Array:
    """How far rotations (..., 4) turn about a unit axis (3,) [rad], −2π … 2π, shape (...): of q = swing · twist."""
    return 2.0 * np.arctan2(q[..., 1:] @ axis, q[..., 0])


def yaw_between(first: Array, second: Array) -> Array:
    """Turn about the vertical that brings one orientation nearest to another [rad], −π … π; 0 where all are as near."""
    turn = multiply(second, conjugate(first))
    w, z = turn[..., 0], turn[..., 3]
    yaw = np.where(np.abs(w) + np.abs(z) < 1e-9, 0.0, 2.0 * np.arctan2(z, w))
    return yaw - 2.0 * np.pi * np.round(yaw / (2.0 * np.pi))


def yaw_to(first: Array, second: Array) -> float:
    """`yaw_between` for one pair of orientations (4,), in plain floats: a thirtieth of its time."""
    a, b, c, d = first.tolist()
    w, x, y, z = second.tolist()
    real, up = w * a + x * b + y * c + z * d, z * a - w * d + y * b - x * c
    return 2.0 * math.atan2(up, real) if real >= 0.0 else 2.0 * math.atan2(-up, -real)


def continuous(q: Array) -> Array:
    """The same rotations with signs chosen so that neighbors along axis 0 lie in one hemisphere, shape (F, ..., 4)."""
    q = np.array(q, dtype=np.float64)
    if len(q) > 1:
        flip = np.where(np.sum(q[1:] * q[:-1], axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
        q[1:] *= np.cumprod(flip, axis=0)
    return q


def from_euler(order: str, degrees: Array) -> Array:
    """Unit quaternions (..., 4) of intrinsic Euler angles [deg] (..., len(order)), order such as "ZXY"."""
    degrees = np.asarray(degrees, dtype=np.float64)
    q = np.broadcast_to(IDENTITY, (*degrees.shape[:-1], 4))
    half = np.radians(degrees) * 0.5
    for k, axis in enumerate(order.upper()):
        turn = np.zeros((*degrees.shape[:-1], 4))
        turn[..., 0] = np.cos(half[..., k])
        turn[..., 1 + "XYZ".index(axis)] = np.sin(half[..., k])
        q = multiply(q, turn)
    return np.ascontiguousarray(q)


def to_euler(order: str, q: Array) -> Array:
    """Intrinsic Euler angles [deg] (..., 3) of unit quaternions (..., 4) in three-axis order such as "ZXY".

    The quaternion of turns α, β, γ about axes i, j, k holds the half sum and the half difference of α and ±γ, each with
    its sine and its cosine times a number that β alone decides. Where that number vanishes (gimbal lock), only the
    other of the two is known, and γ is zero.

    Source: the half-angle products written out; Bernardes and Viollet 2022 found that they serve every order.
    """
    q = np.asarray(q, dtype=np.float64)
    i, j, k = ("XYZ".index(axis) for axis in order.upper())
    is_proper = i == k  # as in ZXZ
    handed = (i - j) * (j - (3 - i - j)) * ((3 - i - j) - i) / 2.0
    w, x, y, z = q[..., 0], q[..., 1 + i], q[..., 1 + j], handed * q[..., 4 - i - j]
    sums, differences = ((w, x), (y, z)) if is_proper else ((w + y, x + z), (w - y, x - z))
    large, small = np.hypot(*sums), np.hypot(*differences)
    second = 2.0 * (np.arctan2(small, large) if is_proper else np.arctan2(large, small))
    half_sum, half_difference = np.arctan2(*sums[::-1]), np.arctan2(*differences[::-1])
    locked = GIMBAL_LOCK * np.hypot(large, small)
    half_sum, half_difference = (
        np.where(large < locked, half_difference, half_sum),
        np.where(small < locked, half_sum, half_difference),
    )
    first, third = half_sum + half_difference, half_sum - half_difference
    if not is_proper:
        second, third = second - 0.5 * np.pi, handed * third
    angles = np.stack([first, second, third], axis=-1)
    return np.degrees(np.where(np.abs(angles) > np.pi, angles - np.copysign(2.0 * np.pi, angles), angles))


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
