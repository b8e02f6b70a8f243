"""The compiled inner loop of a heightfield; it runs several times in every step of a simulation."""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True, error_model="numpy")
def sample_grid(table, grid, frame, points, height, normal):
    """Height and normal of the biquadratic B-spline over a table of control heights.

    Around the nearest control height, at (u, v) cells from it with |u|, |v| <= 1/2:
    z = sum_ij w_i(v) w_j(u) table[row + i, column + j], i, j = -1 … 1, with
    w(t) = ((1/2 - t)^2 / 2, 3/4 - t^2, (1/2 + t)^2 / 2).

    Args:
        table: Control heights with one ring of neighbors around them [m], shape (rows + 2, columns + 2).
        grid: Control heights per meter, place of the first one x, y [m], and 1 if it repeats, else 0, shape (4,).
        frame: Where the grid lies: origin x, y [m], cosine and sine of its heading, ground [m], shape (5,).
        points: Places in the world [m], shape (n, 2).
        height: Result [m], shape (n,).
        normal: Result, shape (n, 3).
    """
    rows, columns = table.shape[0] - 2, table.shape[1] - 2
    density, first_x, first_y, repeats = grid[0], grid[1], grid[2], grid[3] != 0.0
    origin_x, origin_y, c, s, ground = frame[0], frame[1], frame[2], frame[3], frame[4]
    for k in range(points.shape[0]):
        dx, dy = points[k, 0] - origin_x, points[k, 1] - origin_y
        x, y = (c * dx + s * dy - first_x) * density, (c * dy - s * dx - first_y) * density
        if repeats:
            x -= math.floor(x / columns) * columns
            y -= math.floor(y / rows) * rows
        else:
            # half a cell beyond the last control height the surface is level: from there on it stays so
            x, y = min(max(x, -0.5), columns - 0.5), min(max(y, -0.5), rows - 0.5)
        column, row = math.floor(x + 0.5), math.floor(y + 0.5)
        if repeats:
            u, v = x - column, y - row
            column, row = column % columns, row % rows
        else:
            column, row = min(column, columns - 1), min(row, rows - 1)
            u, v = x - column, y - row
        z, slope_x, slope_y = 0.0, 0.0, 0.0
        for i in range(3):
            weight_y = 0.5 * (0.5 - v) ** 2 if i == 0 else 0.75 - v * v if i == 1 else 0.5 * (0.5 + v) ** 2
            rate_y = v - 0.5 if i == 0 else -2.0 * v if i == 1 else v + 0.5
            a, b, d = table[row + i, column], table[row + i, column + 1], table[row + i, column + 2]
            line = 0.5 * (0.5 - u) ** 2 * a + (0.75 - u * u) * b + 0.5 * (0.5 + u) ** 2 * d
            z += weight_y * line
            slope_x += weight_y * ((u - 0.5) * a - 2.0 * u * b + (u + 0.5) * d)
            slope_y += rate_y * line
        slope_x *= density
        slope_y *= density
        length = math.sqrt(1.0 + slope_x * slope_x + slope_y * slope_y)
        height[k] = z + ground
        normal[k, 0] = (s * slope_y - c * slope_x) / length
        normal[k, 1] = (-s * slope_x - c * slope_y) / length
        normal[k, 2] = 1.0 / length
