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
def _ball_angles(w, x, y, z, rest, axis, bend, side, out):
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
            _ball_angles(q[k], q[k + 1], q[k + 2], q[k + 3], rest[i], axis[i], bend[i], side[i], out[i])


@njit(**_OPTIONS)
def _ball_rates(w, x, y, z, rest, axis, bend, side, ahead, behind, out):
    """∂(twist, bend, side)/∂(turn about the joint's own axes), shape (3, 3), by central differences of 1e-6 rad."""
    half = 0.5e-6
    for c in range(3):
        ex, ey, ez = half * (c == 0), half * (c == 1), half * (c == 2)
        dw, dx = -x * ex - y * ey - z * ez, w * ex + y * ez - z * ey
        dy, dz = w * ey + z * ex - x * ez, w * ez + x * ey - y * ex
        _ball_angles(w + dw, x + dx, y + dy, z + dz, rest, axis, bend, side, ahead)
        _ball_angles(w - dw, x - dx, y - dy, z - dz, rest, axis, bend, side, behind)
        for r in range(3):
            out[r, c] = (ahead[r] - behind[r]) / (4.0 * half)


@njit(**_OPTIONS)
def limit_rows(
    q, v, reference_q, reference_v, reference_a, dt, margin, address, v_address, is_hinge, rest, axis, bend, side, lower, upper
):  # fmt: skip
    """Rows and lower bounds (m, nv), (m,) of the angles nearer to a limit than the margin, as accelerations.

    For an angle θ with rates θ̇ = E ω: sign (θ + dt E v + dt² E a) ≥ the limit, widened to the reference's own next
    angle; from outside it comes back by 0.3 of the way a step.
    """
    count = address.shape[0]
    angles, planned = np.empty((count, 3)), np.empty(3)
    limit_angles(q, address, is_hinge, rest, axis, bend, side, angles)
    m = 0
    for i in range(count):
        for c in range(3):
            m += angles[i, c] < lower[i, c] + margin or angles[i, c] > upper[i, c] - margin
    rows, bounds = np.zeros((m, v.shape[0])), np.empty(m)
    rates, reference_rates = np.empty((3, 3)), np.empty((3, 3))
    ahead, behind = np.empty(3), np.empty(3)
    m = 0
    for i in range(count):
        is_near = False
        for c in range(3):
            is_near |= angles[i, c] < lower[i, c] + margin or angles[i, c] > upper[i, c] - margin
        if not is_near:
            continue
        k, d = address[i], v_address[i]
        if is_hinge[i]:
            width = 1
            rates[:, :], reference_rates[:, :] = 0.0, 0.0
            rates[0, 0], reference_rates[0, 0] = 1.0, 1.0
            planned[:] = 0.0
            planned[0] = reference_q[k]
        else:
            width = 3
            _ball_rates(q[k], q[k + 1], q[k + 2], q[k + 3], rest[i], axis[i], bend[i], side[i], ahead, behind, rates)
            rw, rx, ry, rz = reference_q[k], reference_q[k + 1], reference_q[k + 2], reference_q[k + 3]
            _ball_rates(rw, rx, ry, rz, rest[i], axis[i], bend[i], side[i], ahead, behind, reference_rates)
            _ball_angles(rw, rx, ry, rz, rest[i], axis[i], bend[i], side[i], planned)
        for c in range(3):
            is_low = angles[i, c] < lower[i, c] + margin
            if not (is_low or angles[i, c] > upper[i, c] - margin):
                continue
            sign = 1.0 if is_low else -1.0
            bound = lower[i, c] if is_low else -upper[i, c]
            speed, step = 0.0, planned[c]
            for e in range(width):
                speed += rates[c, e] * v[d + e]
                step += reference_rates[c, e] * (dt * reference_v[d + e] + dt * dt * reference_a[d + e])
                rows[m, d + e] = sign * rates[c, e]
            now = sign * angles[i, c]
            floor = min(bound if now >= bound else now + 0.3 * (bound - now), sign * step - 1e-9)
            bounds[m] = (floor - now - dt * sign * speed) / (dt * dt)
            m += 1
    return rows, bounds
