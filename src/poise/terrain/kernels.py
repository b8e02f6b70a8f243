"""The ground in compiled code: one function that every kind of it answers, several times in every step."""

from __future__ import annotations

import math

from numba import njit

from poise.compiled import INNER, KERNEL, shared
from poise.light import larger, light, matrix, smaller, vector
from poise.terrain.shapes import GRID, PLANE, STEPS

NUMBERS = 12
"""So many numbers a ground has at most."""


@njit(**INNER)
def surface(relief, x, y):
    """Height of the ground at a place of the world [m], and how it rises along x and y [1]; see `relief.Relief`."""
    n = vector(relief[1], NUMBERS)
    if relief[0] == GRID:
        return _grid(matrix(relief[2], relief[3], relief[4]), n, x, y)
    if relief[0] == STEPS:
        beyond = n[0] * x + n[1] * y - n[2]
        risers = (1.0 if beyond >= 0.0 else 0.0) if math.isinf(n[3]) else larger(math.floor(beyond / n[3]) + 1.0, 0.0)
        return risers * n[4] + n[5], 0.0, 0.0
    return n[0] * x + n[1] * y + n[2], n[0], n[1]


@njit(**INNER)
def _grid(table, n, x, y):
    """The biquadratic B-spline over a table of control heights, with one ring of neighbors around them.

    Around the nearest control height, at (u, v) cells from it with |u|, |v| <= 1/2:
    z = sum_ij w_i(v) w_j(u) table[row + i, column + j], i, j = -1 … 1, with
    w(t) = ((1/2 - t)^2 / 2, 3/4 - t^2, (1/2 + t)^2 / 2).
    """
    rows, columns = table.shape[0] - 2, table.shape[1] - 2
    density, repeats, c, s = n[0], n[3] != 0.0, n[6], n[7]
    dx, dy = x - n[4], y - n[5]
    x, y = (c * dx + s * dy - n[1]) * density, (c * dy - s * dx - n[2]) * density
    if repeats:
        x -= math.floor(x / columns) * columns
        y -= math.floor(y / rows) * rows
    else:
        # half a cell beyond the last control height the surface is level: from there on it stays so
        x, y = smaller(larger(x, -0.5), columns - 0.5), smaller(larger(y, -0.5), rows - 0.5)
    column, row = math.floor(x + 0.5), math.floor(y + 0.5)
    if repeats:
        u, v = x - column, y - row
        column, row = column % columns, row % rows
    else:
        column, row = smaller(column, columns - 1), smaller(row, rows - 1)
        u, v = x - column, y - row
    z, along, across = 0.0, 0.0, 0.0
    for i in range(3):
        weight = 0.5 * (0.5 - v) ** 2 if i == 0 else 0.75 - v * v if i == 1 else 0.5 * (0.5 + v) ** 2
        rate = v - 0.5 if i == 0 else -2.0 * v if i == 1 else v + 0.5
        a, b, d = table[row + i, column], table[row + i, column + 1], table[row + i, column + 2]
        line = 0.5 * (0.5 - u) ** 2 * a + (0.75 - u * u) * b + 0.5 * (0.5 + u) ** 2 * d
        z += weight * line
        along += weight * ((u - 0.5) * a - 2.0 * u * b + (u + 0.5) * d)
        across += rate * line
    return z + n[8], density * (c * along - s * across), density * (s * along + c * across)


@shared(**KERNEL)
def sample(relief, points, heights, normals):
    """Height (n,) [m] and upward unit normal (n, 3) of the ground under points (n, 2 or 3) [m]."""
    relief, points, heights, normals = light(relief), light(points), light(heights), light(normals)
    for k in range(points.shape[0]):
        heights[k], x, y = surface(relief, points[k, 0], points[k, 1])
        length = math.sqrt(1.0 + x * x + y * y)
        normals[k, 0], normals[k, 1], normals[k, 2] = -x / length, -y / length, 1.0 / length


@njit(**INNER)
def heights_below(relief, points, heights):
    """Height (n,) [m] of the ground under points (n, 2) [m]."""
    for k in range(points.shape[0]):
        heights[k], _, _ = surface(relief, points[k, 0], points[k, 1])


@njit(**INNER)
def moving_plane(relief, points, velocities):
    """Velocity [m/s] (n, 3) of the ground under points (n, 2 or 3) [m]; only a plane moves."""
    n = vector(relief[1], NUMBERS)
    for k in range(points.shape[0]):
        for c in range(3):
            moved = n[3 + c] * points[k, 0] + n[6 + c] * points[k, 1] + n[9 + c]
            velocities[k, c] = moved if relief[0] == PLANE else 0.0
