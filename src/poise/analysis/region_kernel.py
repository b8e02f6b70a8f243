"""The compiled support region of points at different heights: a small linear program, asked in many directions.

The coefficients λ ≥ 0 of the friction pyramids that add up to a wanted force, Σ λ_j w_j = f, form a polyhedron with
three equations. Every λ in it moves the place where the force would have to act by d(λ), linear in λ; the region is the
convex polygon of all d. Its corners are found as in Bretl and Lall (2008): the farthest point in a direction is a
linear program, and an edge of the polygon found so far is real if nothing lies beyond it. The tests hold it to a plain
solver.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_OPTIONS = {"cache": True, "error_model": "numpy"}
MOST_CORNERS = 32


@njit(**_OPTIONS)
def _inverse(A, out):
    """Inverse of A (3, 3) into out; False if it is singular."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for c in range(3):
            d, e = (c + 1) % 3, (c + 2) % 3
            out[c, i] = A[j, d] * A[k, e] - A[j, e] * A[k, d]
    determinant = A[0, 0] * out[0, 0] + A[0, 1] * out[1, 0] + A[0, 2] * out[2, 0]
    if not abs(determinant) > 1e-12:
        return False
    for i in range(3):
        for c in range(3):
            out[i, c] /= determinant
    return True


@njit(**_OPTIONS)
def _maximize(W, n, f, cost, basis, B, inverse, x):
    """Maximize cost·λ over λ ≥ 0, Σ λ_j W_j = f by the simplex method, from a feasible basis (3,), which it moves.

    Columns are rows of W (n, 3). Returns the value, or nan if the basis is singular.
    """
    value = np.nan
    for turn in range(60 + 4 * n):
        for b in range(3):
            for e in range(3):
                B[e, b] = W[basis[b], e]
        if not _inverse(B, inverse):
            return np.nan
        value = 0.0
        for b in range(3):
            x[b] = inverse[b, 0] * f[0] + inverse[b, 1] * f[1] + inverse[b, 2] * f[2]
            value += cost[basis[b]] * x[b]
        y0 = y1 = y2 = 0.0
        for b in range(3):
            c = cost[basis[b]]
            y0 += c * inverse[b, 0]
            y1 += c * inverse[b, 1]
            y2 += c * inverse[b, 2]
        enter, gain = -1, 1e-10
        for j in range(n):
            g = cost[j] - (y0 * W[j, 0] + y1 * W[j, 1] + y2 * W[j, 2])
            if g > gain:
                enter = j
                if turn > 40:  # Bland's rule ends what the steepest column may turn in circles
                    break
                gain = g
        if enter < 0:
            return value
        leave, least = -1, np.inf
        for b in range(3):
            step = inverse[b, 0] * W[enter, 0] + inverse[b, 1] * W[enter, 1] + inverse[b, 2] * W[enter, 2]
            if step > 1e-12:
                ratio = max(x[b], 0.0) / step
                if ratio < least or (ratio == least and basis[b] < basis[leave]):
                    leave, least = b, ratio
        if leave < 0:
            return np.nan
        basis[leave] = enter
    return value


@njit(**_OPTIONS)
def _corner(W, n, f, reach, ux, uy, cost, basis, B, inverse, x, out):
    """Farthest d(λ) in a direction, into out (2,); True if there is one. reach (n, 2) is d per coefficient."""
    for j in range(n):
        cost[j] = ux * reach[j, 0] + uy * reach[j, 1]
    if np.isnan(_maximize(W, n, f, cost, basis, B, inverse, x)):
        return False
    out[0] = out[1] = 0.0
    for b in range(3):
        out[0] += reach[basis[b], 0] * x[b]
        out[1] += reach[basis[b], 1] * x[b]
    return True


@njit(**_OPTIONS)
def _feasible(W, n, f, cost, basis, B, inverse, x):
    """A basis whose coefficients are not negative: three artificial columns are driven out. False if there is none."""
    size = abs(f[0]) + abs(f[1]) + abs(f[2])
    for e in range(3):
        for c in range(3):
            W[n + e, c] = 0.0
        W[n + e, e] = 1.0 if f[e] >= 0.0 else -1.0
        basis[e] = n + e
    for j in range(n):
        cost[j] = 0.0
    for e in range(3):
        cost[n + e] = -1.0
    value = _maximize(W, n + 3, f, cost, basis, B, inverse, x)
    if np.isnan(value) or value < -1e-9 * size:
        return False
    for b in range(3):  # an artificial column left at zero is exchanged for any that keeps the basis regular
        if basis[b] >= n:
            for j in range(n):
                step = inverse[b, 0] * W[j, 0] + inverse[b, 1] * W[j, 1] + inverse[b, 2] * W[j, 2]
                if abs(step) > 1e-9:
                    basis[b] = j
                    break
            if basis[b] >= n:
                return False
            for c in range(3):
                for e in range(3):
                    B[e, c] = W[basis[c], e]
            if not _inverse(B, inverse):
                return False
    return True


@njit(**_OPTIONS)
def regions(points, normals, flags, place, force, moment, friction, tolerance):
    """Support region of every frame: where, around 0, the demanded force could act and still be given.

    Args: points, normals (F, P, 3), flags (F, P); place, force, moment (F, 3): the force f and moment that are demanded
    about a place; friction; tolerance [m] to which corners are found.

    Returns: corners d (F, MOST_CORNERS, 2) [m], counterclockwise, and counts (F,); −1 where no forces add up to f.
    """
    frames, points_count = flags.shape
    out, counts = np.zeros((frames, MOST_CORNERS, 2)), np.zeros(frames, np.int64)
    W, reach = np.empty((4 * points_count + 3, 3)), np.empty((4 * points_count, 2))
    cost, basis = np.empty(4 * points_count + 3), np.empty(3, np.int64)
    B, inverse, x, new = np.empty((3, 3)), np.empty((3, 3)), np.empty(3), np.empty(2)
    for k in range(frames):
        n = 0
        f = force[k]
        for i in range(points_count):
            if not flags[k, i]:
                continue
            nx, ny, nz = normals[k, i, 0], normals[k, i, 1], normals[k, i, 2]
            if abs(nx) > 0.9:
                tx, ty, tz = -nx * ny, 1.0 - ny * ny, -nz * ny
            else:
                tx, ty, tz = 1.0 - nx * nx, -ny * nx, -nz * nx
            size = np.sqrt(tx * tx + ty * ty + tz * tz)
            tx, ty, tz = tx / size, ty / size, tz / size
            sx, sy, sz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
            rx, ry, rz = points[k, i, 0] - place[k, 0], points[k, i, 1] - place[k, 1], points[k, i, 2] - place[k, 2]
            for c in range(4):
                sign = friction if c % 2 == 0 else -friction
                if c < 2:
                    W[n, 0], W[n, 1], W[n, 2] = nx + sign * tx, ny + sign * ty, nz + sign * tz
                else:
                    W[n, 0], W[n, 1], W[n, 2] = nx + sign * sx, ny + sign * sy, nz + sign * sz
                # d = (−m_y, m_x) / f_z, m = r × w: the shift of the force's line that this coefficient balances
                reach[n, 0] = -(rz * W[n, 0] - rx * W[n, 2]) / f[2]
                reach[n, 1] = (ry * W[n, 2] - rz * W[n, 1]) / f[2]
                n += 1
        if n == 0:
            continue
        if not _feasible(W, n, f, cost, basis, B, inverse, x):
            counts[k] = -1
            continue
        d0, d1 = moment[k, 1] / f[2], -moment[k, 0] / f[2]
        corners = out[k]
        count = 0
        for side in range(4):
            ux = 1.0 if side == 0 else (-1.0 if side == 2 else 0.0)
            uy = 1.0 if side == 1 else (-1.0 if side == 3 else 0.0)
            if not _corner(W, n, f, reach, ux, uy, cost, basis, B, inverse, x, new):
                continue
            if count == 0 or (
                abs(new[0] - corners[count - 1, 0]) + abs(new[1] - corners[count - 1, 1]) > tolerance
                and abs(new[0] - corners[0, 0]) + abs(new[1] - corners[0, 1]) > tolerance
            ):
                corners[count] = new
                count += 1
        a = 0
        while count > 1 and a < count and count < MOST_CORNERS:
            c = (a + 1) % count
            ex, ey = corners[c, 0] - corners[a, 0], corners[c, 1] - corners[a, 1]
            length = np.sqrt(ex * ex + ey * ey)
            beyond = -1.0
            if length > tolerance and _corner(
                W, n, f, reach, ey / length, -ex / length, cost, basis, B, inverse, x, new
            ):
                beyond = ((new[0] - corners[a, 0]) * ey - (new[1] - corners[a, 1]) * ex) / length
            if beyond > tolerance:
                for s in range(count, a + 1, -1):
                    corners[s] = corners[s - 1]
                corners[a + 1] = new
                count += 1
            else:
                a += 1
        for s in range(count):
            corners[s, 0] += d0
            corners[s, 1] += d1
        counts[k] = count
    return out, counts
