"""The compiled loops over frames: contact forces, convex hulls. Each has a plain twin in the tests.

All of them live in this one file because a cached caller would not notice a changed callee in another.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_OPTIONS = {"cache": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def _columns(points, normals, flags, com, friction, length, W, owner):
    """Force and moment/length per coefficient of the touching points' pyramids as rows of W (4 P, 6); their number."""
    n = 0
    for i in range(points.shape[0]):
        if not flags[i]:
            continue
        nx, ny, nz = normals[i, 0], normals[i, 1], normals[i, 2]
        # the tangents of step.cones: the part of x orthogonal to the normal, of y where the normal is close to x
        if abs(nx) > 0.9:
            tx, ty, tz = -nx * ny, 1.0 - ny * ny, -nz * ny
        else:
            tx, ty, tz = 1.0 - nx * nx, -ny * nx, -nz * nx
        size = np.sqrt(tx * tx + ty * ty + tz * tz)
        tx, ty, tz = tx / size, ty / size, tz / size
        sx, sy, sz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
        rx, ry, rz = points[i, 0] - com[0], points[i, 1] - com[1], points[i, 2] - com[2]
        for c in range(4):
            sign = friction if c % 2 == 0 else -friction
            if c < 2:
                fx, fy, fz = nx + sign * tx, ny + sign * ty, nz + sign * tz
            else:
                fx, fy, fz = nx + sign * sx, ny + sign * sy, nz + sign * sz
            W[n, 0], W[n, 1], W[n, 2] = fx, fy, fz
            W[n, 3] = (ry * fz - rz * fy) / length
            W[n, 4] = (rz * fx - rx * fz) / length
            W[n, 5] = (rx * fy - ry * fx) / length
            owner[n] = i
            n += 1
    return n


@njit(**_OPTIONS)
def _value(W, n, b, weight, r):
    """½‖r‖² − bᵀr + weight/2 ‖max(0, W r)‖²."""
    total = 0.0
    for e in range(6):
        total += (0.5 * r[e] - b[e]) * r[e]
    for i in range(n):
        s = 0.0
        for e in range(6):
            s += W[i, e] * r[e]
        if s > 0.0:
            total += 0.5 * weight * s * s
    return total


@njit(**_OPTIONS)
def _newton(W, n, b, weight, r, H, g, d):
    """Gradient g and Newton step d of `_value` at r (Cholesky of 6 × 6); returns ‖g‖²."""
    for e in range(6):
        g[e] = r[e] - b[e]
        for k in range(6):
            H[e, k] = 1.0 if e == k else 0.0
    for i in range(n):
        s = 0.0
        for e in range(6):
            s += W[i, e] * r[e]
        if s > 0.0:
            for e in range(6):
                w = weight * W[i, e]
                g[e] += s * w
                for k in range(e + 1):
                    H[e, k] += w * W[i, k]
    size = 0.0
    for e in range(6):
        size += g[e] * g[e]
    for e in range(6):
        for k in range(e + 1):
            s = H[e, k]
            for m in range(k):
                s -= H[e, m] * H[k, m]
            H[e, k] = np.sqrt(s) if e == k else s / H[k, k]
    for e in range(6):
        s = -g[e]
        for m in range(e):
            s -= H[e, m] * d[m]
        d[e] = s / H[e, e]
    for e in range(5, -1, -1):
        s = d[e]
        for m in range(e + 1, 6):
            s -= H[m, e] * d[m]
        d[e] = s / H[e, e]
    return size


@njit(**_OPTIONS)
def _residual(W, n, b, weight, r, H, g, d, trial):
    """Minimize `_value` from r by Newton with halved steps; r is left at the minimum. Returns the iterations."""
    value = _value(W, n, b, weight, r)
    scale = 0.0
    for e in range(6):
        scale += b[e] * b[e]
    for step in range(60):
        size = _newton(W, n, b, weight, r, H, g, d)
        if size <= 1e-20 * scale:
            return step
        descent = 0.0
        for e in range(6):
            descent += g[e] * d[e]
        t = 1.0
        while True:
            for e in range(6):
                trial[e] = r[e] + t * d[e]
            new = _value(W, n, b, weight, trial)
            if new <= value + 1e-4 * t * descent or t < 1e-6:
                break
            t *= 0.5
        if not new < value:
            return step  # rounding only
        value = new
        for e in range(6):
            r[e] = trial[e]
    return 60


@njit(**_OPTIONS)
def contact_forces(points, normals, flags, com, force, moment, friction, length, regularization):
    """Forces (F, P, 3) in the pyramids of the touching points that come nearest to a wanted force and moment (F, 3).

    min over x ≥ 0 of ½‖b − Wᵀx‖² + ½ε‖x‖² with six rows is solved in its dual, the residual r of six numbers:
    min ½‖r‖² − bᵀr + ‖max(0, W r)‖² / 2ε, convex and piecewise quadratic; then x = max(0, W r) / ε. Each frame starts
    from the residual of the one before.
    """
    frames, count = flags.shape
    out = np.zeros((frames, count, 3))
    W, owner = np.empty((4 * count, 6)), np.empty(4 * count, np.int64)
    b, r, g, d, trial = np.empty(6), np.zeros(6), np.empty(6), np.empty(6), np.empty(6)
    H = np.empty((6, 6))
    for k in range(frames):
        n = _columns(points[k], normals[k], flags[k], com[k], friction, length, W, owner)
        if n == 0:
            continue
        for e in range(3):
            b[e] = force[k, e]
            b[3 + e] = moment[k, e] / length
        trace = 0.0
        for i in range(n):
            for e in range(6):
                trace += W[i, e] * W[i, e]
        weight = n / (regularization * trace)
        _residual(W, n, b, weight, r, H, g, d, trial)
        for i in range(n):
            s = 0.0
            for e in range(6):
                s += W[i, e] * r[e]
            if s > 0.0:
                for e in range(3):
                    out[k, owner[i], e] += weight * s * W[i, e]
    return out


@njit(**_OPTIONS)
def hulls(points, flags):
    """Convex hull of the flagged points of each frame, seen from above.

    Args: points (F, P, 3), flags (F, P). Returns point indices counterclockwise, padded with −1, (F, P), and counts.
    """
    frames, count = flags.shape
    out, counts = np.full((frames, count), -1, np.int64), np.zeros(frames, np.int64)
    index, stack = np.empty(count, np.int64), np.empty(2 * count + 2, np.int64)
    for k in range(frames):
        n = 0
        for i in range(count):
            if flags[k, i]:
                m = n  # insertion sort by x, then y
                while m > 0:
                    o = index[m - 1]
                    if points[k, o, 0] > points[k, i, 0] or (
                        points[k, o, 0] == points[k, i, 0] and points[k, o, 1] > points[k, i, 1]
                    ):
                        index[m] = o
                        m -= 1
                    else:
                        break
                index[m] = i
                n += 1
        if n == 0:
            continue
        top = 0
        for side in range(2):
            base = top
            for s in range(n):
                i = index[s] if side == 0 else index[n - 1 - s]
                while top - base >= 2:
                    a, c = stack[top - 2], stack[top - 1]
                    turn = (points[k, c, 0] - points[k, a, 0]) * (points[k, i, 1] - points[k, a, 1]) - (
                        points[k, c, 1] - points[k, a, 1]
                    ) * (points[k, i, 0] - points[k, a, 0])
                    if turn > 0.0:
                        break
                    top -= 1
                stack[top] = i
                top += 1
            top -= 1  # the last of one chain is the first of the other
        if n == 1:
            top = 1
            stack[0] = index[0]
        for s in range(top):
            out[k, s] = stack[s]
        counts[k] = top
    return out, counts


@njit(**_OPTIONS)
def polygon_distances(points, hull, counts, places):
    """Signed distance from places (F, 2) to the hulls, negative inside, and the hulls' perimeters, (F,) each.

    A hull of two points is a segment and of one a point: nothing is inside. Frames without a hull give nan.
    """
    frames = counts.shape[0]
    distance, perimeter = np.full(frames, np.nan), np.zeros(frames)
    for k in range(frames):
        n = counts[k]
        if n == 0:
            continue
        best, is_inside = np.inf, n > 2
        px, py = places[k, 0], places[k, 1]
        for s in range(n):
            a, c = hull[k, s], hull[k, (s + 1) % n]
            ax, ay = points[k, a, 0], points[k, a, 1]
            ex, ey = points[k, c, 0] - ax, points[k, c, 1] - ay
            square = ex * ex + ey * ey
            perimeter[k] += np.sqrt(square)
            t = 0.0
            if square > 0.0:
                t = min(1.0, max(0.0, ((px - ax) * ex + (py - ay) * ey) / square))
            dx, dy = px - ax - t * ex, py - ay - t * ey
            best = min(best, dx * dx + dy * dy)
            if ex * (py - ay) - ey * (px - ax) < 0.0:
                is_inside = False
        distance[k] = -np.sqrt(best) if is_inside else np.sqrt(best)
    return distance, perimeter
