"""The placed ground as numbers: height, slope and motion below a place, several times in every step."""

from __future__ import annotations

import numpy as np

from poise.core.typing import Array
from poise.native import Block, compiled
from poise.terrain.shapes import GRID, MIDDLE, PLANE, SPIN, STEPS, VELOCITY, Place, Shape
from poise.terrain.tops import top_under


class PlacedGround:
    """Keeps the numbers of a ground where the compiled core finds them.

    Attributes:
        block: The block "Ground" of `native.fields`; another one where the ground becomes another.
    """

    def __init__(self, shape: Shape, place: Place) -> None:
        self._shape, self._place = shape, place
        self.block = self._made(0.0)

    def move_to(self, time: float) -> None:
        """Bring ground that moves, or that becomes other ground, to this time [s]."""
        kind, numbers, table = self._shape.form(self._place, time)
        if table.shape != self.block.table.shape or len(self._shape.boxes) != self.block.boxes:
            self.block = self._made(time)
            return
        self.block.kind_of_ground, self.block.table = kind, table
        self.block.numbers[:] = 0.0
        self.block.numbers[: len(numbers)] = numbers
        self._write_tops(self.block)

    def _made(self, time: float) -> Block:
        kind, numbers, table = self._shape.form(self._place, time)
        rows, columns = table.shape
        sizes = {"kind_of_ground": kind, "rows": rows, "columns": columns, "boxes": len(self._shape.boxes)}
        block = Block("Ground", sizes, {"table": table})
        block.numbers[: len(numbers)] = numbers
        self._write_tops(block)
        return block

    def _write_tops(self, block: Block) -> None:
        block.tops[:], block.highest, block.beneath = self._shape.boxes, self._shape.highest, self._shape.beneath


@compiled("Ground *ground, const real places[n][m], real heights[n], real normals[n][3]")
def sample(ground, places, heights, normals):
    """Height (n,) [m] and upward unit normal (n, 3) of the ground under places (n, 2 or 3) [m].

    A place with a height may be beneath a box on the ground.
    """
    heights[:], along_x, along_y = surface(ground, places[:, 0], places[:, 1], _most(ground, places))
    normals[:] = np.stack([-along_x, -along_y, np.ones(len(places))], axis=1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)


@compiled("Ground *ground, const real places[n][m], real velocities[n][3]")
def ground_velocities(ground, places, velocities):
    """Velocity [m/s] (n, 3) of the ground under places (n, 2 or 3) [m]; only a plane moves."""
    own = ground.numbers
    moved = places[:, :1] * own[3:6] + places[:, 1:2] * own[6:9] + own[9:12]
    velocities[:] = moved if ground.kind_of_ground == PLANE else 0.0
    if ground.boxes:
        x, y = places[:, 0], places[:, 1]
        top, height, _, _ = top_under(ground.tops, _most(ground, places), x, y, base(ground, x, y)[0])
        on = top >= 0
        box = ground.tops[top[on]]
        way = np.stack([x[on], y[on], height[on]], axis=1) - box[:, MIDDLE]
        velocities[on] = box[:, VELOCITY] + np.cross(box[:, SPIN], way)


def _most(ground: Block, places: Array) -> Array | float:
    """Height of the highest top that counts at each place (n, 2 or 3) [m]."""
    return ground.highest if places.shape[1] < 3 else np.minimum(ground.highest, places[:, 2] + ground.beneath)


def surface(ground: Block, x: Array, y: Array, most: Array | float | None = None) -> tuple[Array, Array, Array]:
    """Height of the ground at places of the world [m], and how it rises along x and y [1], shapes (n,).

    Tops of boxes count up to a height [m]; all that the figure can step on if it is not given.
    """
    z, along_x, along_y = base(ground, x, y)
    if not ground.boxes:
        return z, along_x, along_y
    top, z, rise_x, rise_y = top_under(ground.tops, ground.highest if most is None else most, x, y, z)
    return z, np.where(top >= 0, rise_x, along_x), np.where(top >= 0, rise_y, along_y)


def base(ground: Block, x: Array, y: Array) -> tuple[Array, Array, Array]:
    """The same without the boxes on it."""
    n = ground.numbers
    if ground.kind_of_ground == GRID:
        return _grid(ground, x, y)
    if ground.kind_of_ground == STEPS:
        beyond = n[0] * x + n[1] * y - n[2]
        risers = 1.0 * (beyond >= 0.0) if np.isinf(n[3]) else np.maximum(np.floor(beyond / n[3]) + 1.0, 0.0)
        return risers * n[4] + n[5], np.zeros(len(x)), np.zeros(len(x))
    return n[0] * x + n[1] * y + n[2], np.full(len(x), n[0]), np.full(len(x), n[1])


def _grid(ground: Block, x: Array, y: Array) -> tuple[Array, Array, Array]:
    """The biquadratic B-spline over a table of control heights, with one ring of neighbors around them.

    Around the nearest control height, at (u, v) cells from it with |u|, |v| <= 1/2:
    z = sum_ij w_i(v) w_j(u) table[row + i, column + j], i, j = -1 … 1, with
    w(t) = ((1/2 - t)^2 / 2, 3/4 - t^2, (1/2 + t)^2 / 2).
    """
    n, rows, columns = ground.numbers, ground.rows - 2, ground.columns - 2
    c, s, dx, dy = n[6], n[7], x - n[4], y - n[5]
    x, y = (c * dx + s * dy - n[1]) * n[0], (c * dy - s * dx - n[2]) * n[0]
    is_finite = np.isfinite(x) & np.isfinite(y)
    x, y = np.where(is_finite, x, 0.0), np.where(is_finite, y, 0.0)
    if n[3] != 0.0:
        x, y = x - np.floor(x / columns) * columns, y - np.floor(y / rows) * rows
    else:
        # half a cell beyond the last control height the surface is level: from there on it stays so
        x, y = np.clip(x, -0.5, columns - 0.5), np.clip(y, -0.5, rows - 0.5)
    column, row = np.floor(x + 0.5).astype(np.int64), np.floor(y + 0.5).astype(np.int64)
    if n[3] == 0.0:
        column, row = np.minimum(column, columns - 1), np.minimum(row, rows - 1)
    u, v = x - column, y - row
    column, row = column % columns, row % rows
    near = np.arange(3)
    at = ground.table[row[:, None, None] + near[:, None], column[:, None, None] + near]
    weights, rates = (
        (lambda t: np.stack([0.5 * (0.5 - t) ** 2, 0.75 - t * t, 0.5 * (0.5 + t) ** 2], axis=1)),
        (lambda t: np.stack([t - 0.5, -2.0 * t, t + 0.5], axis=1)),
    )
    z = np.einsum("ki,kj,kij->k", weights(v), weights(u), at)
    along = np.einsum("ki,kj,kij->k", weights(v), rates(u), at)
    across = np.einsum("ki,kj,kij->k", rates(v), weights(u), at)
    wrong = np.where(is_finite, 0.0, np.nan)
    return z + n[8] + wrong, n[0] * (c * along - s * across) + wrong, n[0] * (s * along + c * across) + wrong
