"""The compiled loops over all frames of a clip: low-pass, forward kinematics, rates, momentum.

Each does what its caller's docstring says, one frame after the other. The tests hold the same in NumPy.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# sums may be reordered, which lets them run on vector units; nan and inf keep their meaning
_OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


@njit(**_OPTIONS)
def solve_banded(band, x):
    """Solve A x = b in place for symmetric positive A (F, F) of bandwidth 3; band (4, F) holds its lower diagonals."""
    frames, count = x.shape
    lower = np.zeros((frames, 3))  # L with unit diagonal: L[k, k − 1 − i] = lower[k, i]
    d = np.empty(frames)
    for k in range(frames):
        for i in range(2, -1, -1):
            j = k - 1 - i
            if j < 0:
                continue
            s = band[1 + i, j]
            for m in range(i + 1, 3):
                n = k - 1 - m
                if n >= 0 and j - n <= 3:
                    s -= lower[k, m] * d[n] * lower[j, j - 1 - n]
            lower[k, i] = s / d[j]
        s = band[0, k]
        for i in range(3):
            if k - 1 - i >= 0:
                s -= lower[k, i] * lower[k, i] * d[k - 1 - i]
        d[k] = s
    for k in range(frames):
        for i in range(min(k, 3)):
            factor = lower[k, i]
            if factor != 0.0:
                for c in range(count):
                    x[k, c] -= factor * x[k - 1 - i, c]
    for k in range(frames):
        for c in range(count):
            x[k, c] /= d[k]
    for k in range(frames - 1, -1, -1):
        for i in range(min(frames - 1 - k, 3)):
            factor = lower[k + 1 + i, i]
            if factor != 0.0:
                for c in range(count):
                    x[k, c] -= factor * x[k + 1 + i, c]


@njit(**_OPTIONS)
def gather(translations, rotations, moving, turning, out):
    """Places of some joints and sign-continuous rotations of others as columns (F, 3 M + 4 T)."""
    frames = translations.shape[0]
    base = 3 * moving.shape[0]
    for k in range(frames):
        for m in range(moving.shape[0]):
            for e in range(3):
                out[k, 3 * m + e] = translations[k, moving[m], e]
        for t in range(turning.shape[0]):
            at = base + 4 * t
            sign = 1.0
            if k:
                s = 0.0
                for e in range(4):
                    s += rotations[k, turning[t], e] * out[k - 1, at + e]
                if s < 0.0:
                    sign = -1.0
            for e in range(4):
                out[k, at + e] = sign * rotations[k, turning[t], e]


@njit(**_OPTIONS)
def _pose(parents, order, translation, rotation, positions, turned):
    """World place and orientation of the joints in `order`, parents first, for one frame."""
    for o in range(order.shape[0]):
        j = order[o]
        p = parents[j]
        w, x, y, z = rotation[j, 0], rotation[j, 1], rotation[j, 2], rotation[j, 3]
        size = 1.0 / np.sqrt(w * w + x * x + y * y + z * z)
        w, x, y, z = w * size, x * size, y * size, z * size
        if p < 0:
            for e in range(3):
                positions[j, e] = translation[j, e]
            turned[j, 0], turned[j, 1], turned[j, 2], turned[j, 3] = w, x, y, z
            continue
        a, b, c, d = turned[p, 0], turned[p, 1], turned[p, 2], turned[p, 3]
        turned[j, 0] = a * w - b * x - c * y - d * z
        turned[j, 1] = a * x + b * w + c * z - d * y
        turned[j, 2] = a * y - b * z + c * w + d * x
        turned[j, 3] = a * z + b * y - c * x + d * w
        vx, vy, vz = translation[j, 0], translation[j, 1], translation[j, 2]
        tx, ty, tz = 2.0 * (c * vz - d * vy), 2.0 * (d * vx - b * vz), 2.0 * (b * vy - c * vx)
        positions[j, 0] = positions[p, 0] + vx + a * tx + c * tz - d * ty
        positions[j, 1] = positions[p, 1] + vy + a * ty + d * tx - b * tz
        positions[j, 2] = positions[p, 2] + vz + a * tz + b * ty - c * tx


@njit(**_OPTIONS)
def _matrix(q, out):
    """Rotation matrix (3, 3) of a unit quaternion."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0, 0], out[0, 1], out[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    out[1, 0], out[1, 1], out[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    out[2, 0], out[2, 1], out[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@njit(**_OPTIONS)
def centers(parents, order, translations, rotations, joints, offsets, masses):
    """Center of mass of every frame (F, 3): bodies on `joints` (B,), their centers at `offsets` (B, 3)."""
    frames, count = translations.shape[0], parents.shape[0]
    out = np.zeros((frames, 3))
    positions, turned, turn = np.empty((count, 3)), np.empty((count, 4)), np.empty((3, 3))
    total = masses.sum()
    for k in range(frames):
        _pose(parents, order, translations[k], rotations[k], positions, turned)
        for b in range(joints.shape[0]):
            j = joints[b]
            _matrix(turned[j], turn)
            share = masses[b] / total
            for e in range(3):
                out[k, e] += share * (
                    positions[j, e]
                    + turn[e, 0] * offsets[b, 0]
                    + turn[e, 1] * offsets[b, 1]
                    + turn[e, 2] * offsets[b, 2]
                )
    return out


@njit(**_OPTIONS)
def bodies(parents, order, translations, rotations, columns, moving, turning, joints, offsets):
    """Places (F, B, 3), quaternions (F, B, 4), matrices (F, B, 3, 3) and centers (F, B, 3) of bodies.

    `columns` (F, 3 M + 4 T), if not empty, replace the places of the `moving` and rotations of the `turning` joints.
    """
    frames, count, number = translations.shape[0], parents.shape[0], joints.shape[0]
    at, quaternions = np.empty((frames, number, 3)), np.empty((frames, number, 4))
    turns, com = np.empty((frames, number, 3, 3)), np.empty((frames, number, 3))
    positions, turned, turn = np.empty((count, 3)), np.empty((count, 4)), np.empty((3, 3))
    translation, rotation = np.empty((count, 3)), np.empty((count, 4))
    base = 3 * moving.shape[0]
    for k in range(frames):
        translation[:] = translations[k]
        rotation[:] = rotations[k]
        if columns.shape[0]:
            for m in range(moving.shape[0]):
                for e in range(3):
                    translation[moving[m], e] = columns[k, 3 * m + e]
            for t in range(turning.shape[0]):
                for e in range(4):
                    rotation[turning[t], e] = columns[k, base + 4 * t + e]
        _pose(parents, order, translation, rotation, positions, turned)
        for b in range(number):
            j = joints[b]
            _matrix(turned[j], turn)
            for e in range(4):
                quaternions[k, b, e] = turned[j, e]
            for e in range(3):
                for c in range(3):
                    turns[k, b, e, c] = turn[e, c]
                at[k, b, e] = positions[j, e]
                com[k, b, e] = (
                    positions[j, e]
                    + turn[e, 0] * offsets[b, 0]
                    + turn[e, 1] * offsets[b, 1]
                    + turn[e, 2] * offsets[b, 2]
                )
    return at, quaternions, turns, com


@njit(**_OPTIONS)
def _turn_rate(q, r, dt, out):
    """Mean angular velocity (world) from orientation q to r in dt."""
    w = r[0] * q[0] + r[1] * q[1] + r[2] * q[2] + r[3] * q[3]
    x = -r[0] * q[1] + r[1] * q[0] - r[2] * q[3] + r[3] * q[2]
    y = -r[0] * q[2] + r[1] * q[3] + r[2] * q[0] - r[3] * q[1]
    z = -r[0] * q[3] - r[1] * q[2] + r[2] * q[1] + r[3] * q[0]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = np.sqrt(x * x + y * y + z * z)
    scale = 2.0 / dt
    if sine > 1e-12:
        scale = 2.0 * np.arctan2(sine, w) / (sine * dt)
    out[0], out[1], out[2] = scale * x, scale * y, scale * z


@njit(**_OPTIONS)
def rates(times, edges, com, quaternions, velocities, accelerations, spins, spin_rates):
    """First and second derivatives (F, B, 3) of centers and orientations by central differences.

    Nothing is compared across `edges`: first frames of stretches, with 0 and F (see `smoothing.rates`).
    """
    number = com.shape[1]
    slope, before = np.empty((2, 3)), np.empty((number, 2, 3))
    for s in range(edges.shape[0] - 1):
        first, end = edges[s], edges[s + 1]
        for k in range(first, end - 1):
            step = times[k + 1] - times[k]
            last = times[k] - times[k - 1] if k > first else 0.0
            for b in range(number):
                for e in range(3):
                    slope[0, e] = (com[k + 1, b, e] - com[k, b, e]) / step
                _turn_rate(quaternions[k, b], quaternions[k + 1, b], step, slope[1])
                for e in range(3):
                    if k > first:
                        both = step + last
                        velocities[k, b, e] = (step * before[b, 0, e] + last * slope[0, e]) / both
                        accelerations[k, b, e] = 2.0 * (slope[0, e] - before[b, 0, e]) / both
                        spins[k, b, e] = (step * before[b, 1, e] + last * slope[1, e]) / both
                        spin_rates[k, b, e] = 2.0 * (slope[1, e] - before[b, 1, e]) / both
                    if k == first:  # completed below, when the next frame's acceleration is known
                        velocities[k, b, e] = slope[0, e]
                        spins[k, b, e] = slope[1, e]
                    if k == end - 2:
                        velocities[end - 1, b, e] = slope[0, e]
                        spins[end - 1, b, e] = slope[1, e]
                    before[b, 0, e], before[b, 1, e] = slope[0, e], slope[1, e]
        if end - first < 3:
            continue
        for side in range(2):
            k, inner = (first, first + 1) if side == 0 else (end - 1, end - 2)
            half = 0.5 * (times[k] - times[inner])
            for b in range(number):
                for e in range(3):
                    accelerations[k, b, e] = accelerations[inner, b, e]
                    spin_rates[k, b, e] = spin_rates[inner, b, e]
                    velocities[k, b, e] += half * accelerations[k, b, e]
                    spins[k, b, e] += half * spin_rates[k, b, e]


@njit(**_OPTIONS)
def _with_inertia(turn, inertia, x, local, out):
    """R I Rᵀ x."""
    for i in range(3):
        local[i] = turn[0, i] * x[0] + turn[1, i] * x[1] + turn[2, i] * x[2]
    a = inertia[0, 0] * local[0] + inertia[0, 1] * local[1] + inertia[0, 2] * local[2]
    b = inertia[1, 0] * local[0] + inertia[1, 1] * local[1] + inertia[1, 2] * local[2]
    c = inertia[2, 0] * local[0] + inertia[2, 1] * local[1] + inertia[2, 2] * local[2]
    for i in range(3):
        out[i] = turn[i, 0] * a + turn[i, 1] * b + turn[i, 2] * c


@njit(**_OPTIONS)
def momenta(masses, inertias, turns, com, velocities, accelerations, spins, spin_rates):
    """Everything of `momentum.Momentum` but the potential energy, in its order."""
    frames, number = com.shape[0], masses.shape[0]
    whole = np.zeros((3, frames, 3))  # place, velocity, acceleration
    angular, angular_rate = np.zeros((frames, 3)), np.zeros((frames, 3))
    straight, turning = np.zeros(frames), np.zeros(frames)
    own, own_rate = np.empty((frames, number, 3)), np.empty((frames, number, 3))
    kinetic = np.empty((frames, number))
    local = np.empty(3)
    total = masses.sum()
    for k in range(frames):
        for b in range(number):
            share = masses[b] / total
            for e in range(3):
                whole[0, k, e] += share * com[k, b, e]
                whole[1, k, e] += share * velocities[k, b, e]
                whole[2, k, e] += share * accelerations[k, b, e]
        for b in range(number):
            m = masses[b]
            L, N, w = own[k, b], own_rate[k, b], spins[k, b]
            _with_inertia(turns[k, b], inertias[b], w, local, L)
            _with_inertia(turns[k, b], inertias[b], spin_rates[k, b], local, N)
            N[0] += w[1] * L[2] - w[2] * L[1]
            N[1] += w[2] * L[0] - w[0] * L[2]
            N[2] += w[0] * L[1] - w[1] * L[0]
            x, y, z = com[k, b, 0] - whole[0, k, 0], com[k, b, 1] - whole[0, k, 1], com[k, b, 2] - whole[0, k, 2]
            vx = m * (velocities[k, b, 0] - whole[1, k, 0])
            vy = m * (velocities[k, b, 1] - whole[1, k, 1])
            vz = m * (velocities[k, b, 2] - whole[1, k, 2])
            ax = m * (accelerations[k, b, 0] - whole[2, k, 0])
            ay = m * (accelerations[k, b, 1] - whole[2, k, 1])
            az = m * (accelerations[k, b, 2] - whole[2, k, 2])
            angular[k, 0] += y * vz - z * vy + L[0]
            angular[k, 1] += z * vx - x * vz + L[1]
            angular[k, 2] += x * vy - y * vx + L[2]
            angular_rate[k, 0] += y * az - z * ay + N[0]
            angular_rate[k, 1] += z * ax - x * az + N[1]
            angular_rate[k, 2] += x * ay - y * ax + N[2]
            v, one, two = velocities[k, b], 0.0, 0.0
            for e in range(3):
                one += v[e] * v[e]
                two += w[e] * L[e]
            one, two = 0.5 * m * one, 0.5 * two
            straight[k] += one
            turning[k] += two
            kinetic[k, b] = one + two
    return whole, angular, angular_rate, straight, turning, own, own_rate, kinetic
