"""Shapes of ground in their own frame: x forward from the start, y left, z up, height 0 the clip's floor."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Shape(abc.ABC):
    """A ground in its own frame. The defaults say: not flat, still, without treads."""

    is_flat: bool = False
    is_static: bool = True
    treads: bool = False

    @abc.abstractmethod
    def at(self, points: Array, time: float) -> tuple[Array, Array, Array | None]:
        """Ground under points, in the shape's own frame.

        Args:
            points: Horizontal places [m], shape (n, 2).
            time: [s].

        Returns:
            Height [m] (n,), unit normal (n, 3) or (3,) where it is the same everywhere, and the velocity of the
            ground itself [m/s] (n, 3), or None where it stands still.
        """


@dataclass(frozen=True)
class Plane(Shape):
    """A plane through the start that rises forward.

    Attributes:
        rise: Height gained per meter forward [1].
    """

    rise: float

    @property
    def is_flat(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.rise == 0.0

    def at(self, points: Array, time: float) -> tuple[Array, Array, Array | None]:
        return points[:, 0] * self.rise, np.array([-self.rise, 0.0, 1.0]) / math.hypot(1.0, self.rise), None


@dataclass(frozen=True)
class Steps(Shape):
    """Level treads with vertical risers across the way; the normal is vertical everywhere.

    Attributes:
        rise: Height of each riser [m]; negative goes down.
        tread: Depth of each tread [m], infinite for a single step.
        first: Distance from the start to the first riser [m].
    """

    rise: float
    tread: float
    first: float
    treads = True

    def at(self, points: Array, time: float) -> tuple[Array, Array, Array | None]:
        return self.number(points[:, 0]) * self.rise, np.array([0.0, 0.0, 1.0]), None

    def number(self, forward: Array) -> Array:
        """Number of risers behind each place [m] (n,); a point on an edge stands on the upper tread."""
        beyond = forward - self.first
        if math.isinf(self.tread):
            return (beyond >= 0.0).astype(np.float64)
        return np.maximum(np.floor(beyond / self.tread) + 1.0, 0.0)

    def edges(self, forward: Array) -> tuple[Array, Array]:
        """Distance back to the riser behind and ahead to the next one [m], each (n,); infinite where there is none."""
        number = self.number(forward)
        width = self.tread if not math.isinf(self.tread) else 0.0
        last = self.first + (number - 1.0) * width
        behind = np.where(number > 0.0, forward - last, np.inf)
        ahead = np.where(number > 0.0, last + self.tread - forward, self.first - forward)
        return behind, ahead


class Heightfield(Shape):
    """Heights on a square grid, joined by a smooth surface.

    The surface is the uniform biquadratic B-spline with the grid's heights as control values: once continuously
    differentiable, never above or below the heights around it, and never steeper. It rounds off what is finer than
    the spacing; it does not run through the grid's heights.

    Attributes:
        heights: Control values [m], shape (rows, columns): rows along y, columns along x.
        spacing: Distance between neighbours [m].
        corner: Place of heights[0, 0] [m], shape (2,).
        periodic: True if the grid repeats in both directions; else its edge goes on outwards.
    """

    def __init__(self, heights: Array, spacing: float, corner: Array, *, periodic: bool) -> None:
        self.heights, self.spacing, self.corner, self.periodic = heights, spacing, np.asarray(corner, float), periodic
        # one ring of neighbours, so that a 3 x 3 neighbourhood never leaves the table
        self._padded = np.ascontiguousarray(np.pad(heights, 1, mode="wrap" if periodic else "edge"))
        self._flat = self._padded.ravel()
        rows, columns = heights.shape
        self._last = np.array([columns - 1, rows - 1], dtype=np.float64)
        self._size = np.array([columns, rows], dtype=np.float64)
        self._stride = np.array([1.0, columns + 2.0])
        self._offsets = (np.arange(3)[:, None] * (columns + 2) + np.arange(3)).ravel()
        self._inverse = 1.0 / spacing
        self._shift = -self.corner / spacing

    # powers of the place in a cell, measured from its middle -> weights of the three neighbours and their slopes
    _BLEND = np.array(
        [[0.125, 0.75, 0.125, -0.5, 0.0, 0.5], [-0.5, 0.0, 0.5, 1.0, -2.0, 1.0], [0.5, -1.0, 0.5, 0.0, 0.0, 0.0]]
    )

    def at(self, points: Array, time: float) -> tuple[Array, Array, Array | None]:
        count = len(points)
        place = points * self._inverse + self._shift
        if self.periodic:
            place %= self._size
            cell = np.floor(place + 0.5)
            inside = place - cell
            np.minimum(cell, self._last + 1.0, out=cell)
            cell = np.where(cell > self._last, 0.0, cell)
        else:
            place = np.clip(place, 0.0, self._last)
            cell = np.floor(place + 0.5)
            inside = place - cell
        powers = np.ones((count, 2, 3))
        powers[:, :, 1] = inside
        np.multiply(inside, inside, out=powers[:, :, 2])
        blend = (powers @ self._BLEND).reshape(count, 2, 2, 3)
        base = (cell @ self._stride).astype(np.intp)
        around = self._flat.take(base[:, None] + self._offsets).reshape(count, 3, 3)
        # rows: y, columns: x; answer[:, i, j] has derivative i in y and j in x
        answer = blend[:, 1] @ around @ blend[:, 0].transpose(0, 2, 1)
        normal = np.ones((count, 3))
        slope_x, slope_y = answer[:, 0, 1] * -self._inverse, answer[:, 1, 0] * -self._inverse
        if not self.periodic:
            outside = (points * self._inverse + self._shift) != place
            slope_x = np.where(outside[:, 0], 0.0, slope_x)
            slope_y = np.where(outside[:, 1], 0.0, slope_y)
        normal[:, 0], normal[:, 1] = slope_x, slope_y
        normal /= np.sqrt(1.0 + slope_x * slope_x + slope_y * slope_y)[:, None]
        return answer[:, 0, 0], normal, None
