"""The compiled loops over frames and bodies of the angular-momentum tool. `angular_momentum.py` holds the plain twins.

All of them live in this one file because a cached caller would not notice a changed callee in another.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_OPTIONS = {"cache": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def _turn_frames(turn, places, quaternions, inertias, r, q, inertia):
    """Places, orientations and inertias of every body with every frame turned as a whole by `turn` (n, 4)."""
    n, bodies = places.shape[0], places.shape[1]
    m, half = np.empty((3, 3)), np.empty((3, 3))
    for k in range(n):
        w, x, y, z = turn[k, 0], turn[k, 1], turn[k, 2], turn[k, 3]
        m[0, 0], m[0, 1], m[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
        m[1, 0], m[1, 1], m[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
        m[2, 0], m[2, 1], m[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
        for b in range(bodies):
            for i in range(3):
                r[k, b, i] = m[i, 0] * places[k, b, 0] + m[i, 1] * places[k, b, 1] + m[i, 2] * places[k, b, 2]
            c, d, e, f = quaternions[k, b, 0], quaternions[k, b, 1], quaternions[k, b, 2], quaternions[k, b, 3]
            q[k, b, 0] = w * c - x * d - y * e - z * f
            q[k, b, 1] = w * d + x * c + y * f - z * e
            q[k, b, 2] = w * e - x * f + y * c + z * d
            q[k, b, 3] = w * f + x * e - y * d + z * c
            for i in range(3):
                for j in range(3):
                    half[i, j] = (
                        m[i, 0] * inertias[k, b, 0, j] + m[i, 1] * inertias[k, b, 1, j] + m[i, 2] * inertias[k, b, 2, j]
                    )
            for i in range(3):
                for j in range(3):
                    inertia[k, b, i, j] = half[i, 0] * m[j, 0] + half[i, 1] * m[j, 1] + half[i, 2] * m[j, 2]


@njit(**_OPTIONS)
def _spin(a, b, s):
    """Rotation vector of b a⁻¹, and κ of the inverse left Jacobian 1 − ½ [s] + κ [s]²."""
    w = b[0] * a[0] + b[1] * a[1] + b[2] * a[2] + b[3] * a[3]
    x = -b[0] * a[1] + b[1] * a[0] - b[2] * a[3] + b[3] * a[2]
    y = -b[0] * a[2] + b[2] * a[0] - b[3] * a[1] + b[1] * a[3]
    z = -b[0] * a[3] + b[3] * a[0] - b[1] * a[2] + b[2] * a[1]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = np.sqrt(x * x + y * y + z * z)
    scale = 2.0
    if sine > 1e-12:
        scale = 2.0 * np.arctan2(sine, w) / sine
    s[0], s[1], s[2] = scale * x, scale * y, scale * z
    angle = scale * sine
    if angle < 1e-3:
        return 1.0 / 12.0
    return 1.0 / (angle * angle) - 0.5 / (angle * np.tan(0.5 * angle))


@njit(**_OPTIONS)
def turned_momentum(turn, places, quaternions, inertias, masses, steps, momentum, earlier, later):
    """Momentum between the frames turned by `turn`, and how it answers to further turns of either frame.

    Fills momentum (n − 1, 3), earlier and later (n − 1, 3, 3).
    """
    n, bodies = places.shape[0], places.shape[1]
    r, q, inertia = np.empty((n, bodies, 3)), np.empty((n, bodies, 4)), np.empty((n, bodies, 3, 3))
    _turn_frames(turn, places, quaternions, inertias, r, q, inertia)
    s, outer, hat, square = np.empty(3), np.empty((3, 3)), np.zeros((3, 3)), np.empty((3, 3))
    for k in range(n - 1):
        dt = steps[k]
        outer[:, :] = 0.0
        momentum[k] = 0.0
        earlier[k] = 0.0
        later[k] = 0.0
        for b in range(bodies):
            for i in range(3):
                for j in range(3):
                    outer[i, j] += masses[b] * r[k + 1, b, i] * r[k, b, j]
            kappa = _spin(q[k, b], q[k + 1, b], s)
            hat[0, 1], hat[0, 2], hat[1, 2] = -s[2], s[1], -s[0]
            hat[1, 0], hat[2, 0], hat[2, 1] = s[2], -s[1], s[0]
            size = s[0] * s[0] + s[1] * s[1] + s[2] * s[2]
            for i in range(3):
                for j in range(3):
                    square[i, j] = s[i] * s[j]
                square[i, i] -= size
            I0, I1 = inertia[k, b], inertia[k + 1, b]
            for i in range(3):
                own = 0.0
                for j in range(3):
                    own += 0.5 * (I0[i, j] + I1[i, j]) * s[j]
                momentum[k, i] += own
                for j in range(3):
                    before, after = 0.0, 0.0
                    for c in range(3):
                        middle = 0.5 * (I0[i, c] + I1[i, c])
                        one = 1.0 if c == j else 0.0
                        before += 0.5 * I0[i, c] * hat[c, j] - middle * (one + 0.5 * hat[c, j] + kappa * square[c, j])
                        after += 0.5 * I1[i, c] * hat[c, j] + middle * (one - 0.5 * hat[c, j] + kappa * square[c, j])
                    earlier[k, i, j] += before
                    later[k, i, j] += after
            # −½ [I ω]
            for side in range(2):
                I, out = (I0, earlier) if side == 0 else (I1, later)
                u = 0.5 * (I[0, 0] * s[0] + I[0, 1] * s[1] + I[0, 2] * s[2])
                v = 0.5 * (I[1, 0] * s[0] + I[1, 1] * s[1] + I[1, 2] * s[2])
                w = 0.5 * (I[2, 0] * s[0] + I[2, 1] * s[1] + I[2, 2] * s[2])
                out[k, 0, 1] += w
                out[k, 0, 2] -= v
                out[k, 1, 2] += u
                out[k, 1, 0] -= w
                out[k, 2, 0] += v
                out[k, 2, 1] -= u
        trace = outer[0, 0] + outer[1, 1] + outer[2, 2]
        momentum[k, 0] += outer[2, 1] - outer[1, 2]
        momentum[k, 1] += outer[0, 2] - outer[2, 0]
        momentum[k, 2] += outer[1, 0] - outer[0, 1]
        for i in range(3):
            momentum[k, i] /= dt
            for j in range(3):
                earlier[k, i, j] += outer[j, i]
                later[k, i, j] -= outer[i, j]
            earlier[k, i, i] -= trace
            later[k, i, i] += trace
            for j in range(3):
                earlier[k, i, j] /= dt
                later[k, i, j] /= dt


@njit(**_OPTIONS)
def _inverse(a, out):
    """Inverse of a 3 × 3 matrix by cofactors."""
    out[0, 0] = a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1]
    out[0, 1] = a[0, 2] * a[2, 1] - a[0, 1] * a[2, 2]
    out[0, 2] = a[0, 1] * a[1, 2] - a[0, 2] * a[1, 1]
    out[1, 0] = a[1, 2] * a[2, 0] - a[1, 0] * a[2, 2]
    out[1, 1] = a[0, 0] * a[2, 2] - a[0, 2] * a[2, 0]
    out[1, 2] = a[0, 2] * a[1, 0] - a[0, 0] * a[1, 2]
    out[2, 0] = a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0]
    out[2, 1] = a[0, 1] * a[2, 0] - a[0, 0] * a[2, 1]
    out[2, 2] = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    determinant = a[0, 0] * out[0, 0] + a[0, 1] * out[1, 0] + a[0, 2] * out[2, 0]
    for i in range(3):
        for j in range(3):
            out[i, j] /= determinant


@njit(**_OPTIONS)
def substitute(momentum, wanted, earlier, later, fixed, change, target):
    """One Newton step: φ (n, 3) with earlier φ_k + later φ_{k+1} = target − momentum; fixed frames (rising) stay.

    Where two fixed frames enclose some, their target is the constant that joins them; elsewhere the wanted one.
    """
    n = momentum.shape[0] + 1
    change[:, :] = 0.0
    target[:, :] = wanted
    inverse, M, b = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for c in range(fixed.shape[0] - 1):
        offset, slope = np.zeros(3), np.zeros((3, 3))
        for k in range(fixed[c], fixed[c + 1]):
            _inverse(later[k], inverse)
            # φ' = later⁻¹ (λ − L − earlier φ), φ = offset + slope λ
            for i in range(3):
                b[i] = -momentum[k, i]
                for j in range(3):
                    b[i] -= earlier[k, i, j] * offset[j]
                    M[i, j] = 1.0 if i == j else 0.0
                    for e in range(3):
                        M[i, j] -= earlier[k, i, e] * slope[e, j]
            for i in range(3):
                offset[i] = inverse[i, 0] * b[0] + inverse[i, 1] * b[1] + inverse[i, 2] * b[2]
                for j in range(3):
                    slope[i, j] = inverse[i, 0] * M[0, j] + inverse[i, 1] * M[1, j] + inverse[i, 2] * M[2, j]
        _inverse(slope, inverse)
        for k in range(fixed[c], fixed[c + 1]):
            for i in range(3):
                target[k, i] = -(inverse[i, 0] * offset[0] + inverse[i, 1] * offset[1] + inverse[i, 2] * offset[2])
    for k in range(fixed[0], n - 1):
        _inverse(later[k], inverse)
        for i in range(3):
            b[i] = target[k, i] - momentum[k, i]
            for j in range(3):
                b[i] -= earlier[k, i, j] * change[k, j]
        for i in range(3):
            change[k + 1, i] = inverse[i, 0] * b[0] + inverse[i, 1] * b[1] + inverse[i, 2] * b[2]
    for c in range(fixed.shape[0]):
        change[fixed[c]] = 0.0
    for k in range(fixed[0] - 1, -1, -1):
        _inverse(earlier[k], inverse)
        for i in range(3):
            b[i] = target[k, i] - momentum[k, i]
            for j in range(3):
                b[i] -= later[k, i, j] * change[k + 1, j]
        for i in range(3):
            change[k, i] = inverse[i, 0] * b[0] + inverse[i, 1] * b[1] + inverse[i, 2] * b[2]
