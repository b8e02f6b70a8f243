"""Compiled servo and joint-limit loops."""

from __future__ import annotations

import numpy as np
from numba import njit

_OPTIONS = {"cache": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def orientation_servo(current, velocities, target, target_velocities, target_accelerations, speed, stiffness, out):
    """α* + speed (ω* − ω) + stiffness Log(R* Rᵀ) of every body but the world, in world axes, into out (3 (B − 1),)."""
    for b in range(1, current.shape[0]):
        # d = target · conj(current)
        aw, ax, ay, az = target[b, 0], target[b, 1], target[b, 2], target[b, 3]
        bw, bx, by, bz = current[b, 0], -current[b, 1], -current[b, 2], -current[b, 3]
        w = aw * bw - ax * bx - ay * by - az * bz
        x = aw * bx + ax * bw + ay * bz - az * by
        y = aw * by - ax * bz + ay * bw + az * bx
        z = aw * bz + ax * by - ay * bx + az * bw
        if w < 0.0:
            w, x, y, z = -w, -x, -y, -z
        sine = np.sqrt(x * x + y * y + z * z)
        scale = 2.0 * np.arctan2(sine, w) / sine if sine > 1e-9 else 2.0
        error = (scale * x, scale * y, scale * z)
        for c in range(3):
            out[3 * b - 3 + c] = (
                target_accelerations[b, c] + speed * (target_velocities[b, c] - velocities[b, c]) + stiffness * error[c]
            )


@njit(**_OPTIONS)
def _limit_angles(w, x, y, z, rest, axis, bend, side, out):
    """Twist, bend and side of rest⁻¹ · (w, x, y, z), split as swing · twist."""
    rw, rx, ry, rz = rest[0], -rest[1], -rest[2], -rest[3]
    dw = rw * w - rx * x - ry * y - rz * z
    dx = rw * x + rx * w + ry * z - rz * y
    dy = rw * y - rx * z + ry * w + rz * x
    dz = rw * z + rx * y - ry * x + rz * w
    if dw < 0.0:
        dw, dx, dy, dz = -dw, -dx, -dy, -dz
    t = dx * axis[0] + dy * axis[1] + dz * axis[2]
    length = np.sqrt(dw * dw + t * t)
    if length < 1e-12:
        tw, ts = 1.0, 0.0
    else:
        tw, ts = dw / length, t / length
    out[0] = 2.0 * np.arctan2(ts, tw)
    # swing = d · conj(twist)
    kx, ky, kz = -ts * axis[0], -ts * axis[1], -ts * axis[2]
    sw = dw * tw - dx * kx - dy * ky - dz * kz
    sx = dw * kx + dx * tw + dy * kz - dz * ky
    sy = dw * ky - dx * kz + dy * tw + dz * kx
    sz = dw * kz + dx * ky - dy * kx + dz * tw
    sine = np.sqrt(sx * sx + sy * sy + sz * sz)
    scale = 2.0 * np.arctan2(sine, sw) / sine if sine > 1e-9 else 2.0
    out[1] = scale * (sx * bend[0] + sy * bend[1] + sz * bend[2])
    out[2] = scale * (sx * side[0] + sy * side[1] + sz * side[2])


@njit(**_OPTIONS)
def limit_angles(q, address, is_hinge, rest, axis, bend, side, out):
    """Angles of every limited joint: (twist, bend, side) of balls, (angle, 0, 0) of hinges, shape (L, 3)."""
    for i in range(address.shape[0]):
        k = address[i]
        if is_hinge[i]:
            out[i, 0], out[i, 1], out[i, 2] = q[k], 0.0, 0.0
        else:
            _limit_angles(q[k], q[k + 1], q[k + 2], q[k + 3], rest[i], axis[i], bend[i], side[i], out[i])


@njit(**_OPTIONS)
def limit_rates(q, address, is_hinge, rest, axis, bend, side, joint, out):
    """∂(twist, bend, side)/∂(turn about the joint's own axes), shape (3, 3), by central differences of 1e-6 rad."""
    k = address[joint]
    out[:, :] = 0.0
    if is_hinge[joint]:
        out[0, 0] = 1.0
        return
    step = 1e-6
    ahead, behind = np.empty(3), np.empty(3)
    w, x, y, z = q[k], q[k + 1], q[k + 2], q[k + 3]
    for c in range(3):
        ex = 0.5 * step if c == 0 else 0.0
        ey = 0.5 * step if c == 1 else 0.0
        ez = 0.5 * step if c == 2 else 0.0
        for sign in (1.0, -1.0):
            fx, fy, fz = sign * ex, sign * ey, sign * ez
            nw = w - x * fx - y * fy - z * fz
            nx = x + w * fx + y * fz - z * fy
            ny = y + w * fy + z * fx - x * fz
            nz = z + w * fz + x * fy - y * fx
            if sign > 0.0:
                _limit_angles(nw, nx, ny, nz, rest[joint], axis[joint], bend[joint], side[joint], ahead)
            else:
                _limit_angles(nw, nx, ny, nz, rest[joint], axis[joint], bend[joint], side[joint], behind)
        for r in range(3):
            out[r, c] = (ahead[r] - behind[r]) / (2.0 * step)
