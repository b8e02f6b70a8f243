"""Ground with boxes on it that figures step on, wherever the boxes are now: planks, a seesaw, low steps."""

from __future__ import annotations

import math

import numpy as np

from poise.core.typing import Array, Index
from poise.terrain.shapes import AXES, HALF, MIDDLE, SPIN, VELOCITY, Form, Place, Shape

LEVEL = 0.8
"""A top is ground where its normal rises at least so much [1]: up to 37°."""

BENEATH = 0.5
"""A point that is lower than a top by this part of the height that a figure steps up is beneath the box."""


BEFORE = np.linspace(0.02, 0.4, 5)
"""The ground before a box is looked for so far from it, over gaps, as parts of the height that a figure steps up."""


class Tops(Shape):
    """Ground on which boxes lie, as one figure knows it.

    A top counts where it is level enough and no higher than the figure can step. So a table does not count, unless the
    figure stands on it already. A point of the figure that is far below a top is beneath the box. A box that
    rises by more than a step where the figure would meet it is no ground but in the way.

    Args:
        base: The ground without them.
        place: Where that lies.
        boxes: Who moves them writes here where they are now, shape (K, 21); see `shapes.MIDDLE`.
        step: How much higher than where it stands a figure steps [m].

    Attributes:
        base, place: As given.
        level: Height of the ground on which the figure stands [m]; infinite before it does.
        is_high: Boxes that are in its way, shape (K,).
    """

    is_static = False
    treads = True

    def __init__(self, base: Shape, place: Place, boxes: Array, step: float) -> None:
        self._all, self.level, self.is_high = boxes, math.inf, np.zeros(len(boxes), dtype=np.bool_)
        self.base, self.place, self._step = base, place, step

    @property
    def boxes(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Those that are ground, as given; the others are infinitely low."""
        if not self.is_high.any():
            return self._all
        out = self._all.copy()
        out[self.is_high, 2] = -np.inf
        return out

    def look_from(self, place: Array) -> None:
        """Tell the boxes in the way of a figure whose root is at a place (2,) [m] from those that it steps on.

        What counts is where a box is nearest to the figure: how much higher its top is there than the ground before it.
        """
        self.is_high[:] = False
        tilt = np.abs(self._all[:, 9:12])
        tops = self._all[:, 2] + np.einsum("kj,kj->k", tilt, self._all[:, HALF])
        for k in np.flatnonzero(tops > self.highest).tolist():
            box = self._all[k]
            axes, half = box[AXES].reshape(3, 3), box[HALF]
            own = axes.T @ np.append(place - box[:2], 0.0)
            near = box[:2] + (axes @ np.clip(own, -0.99 * half, 0.99 * half))[:2]
            found, top = top_under(box[None], np.inf, near[:1], near[1:], np.array([-np.inf]))[:2]
            way = place - near
            far, before = float(np.hypot(*way)), self.level
            if far > 0.02 * self._step:
                out = near + np.minimum(BEFORE * self._step, far)[:, None] * way / far
                others, below = np.delete(self._all, k, axis=0), self.base.at(out, self.place, 0.0)[0]
                before = float(top_under(others, np.inf, out[:, 0], out[:, 1], below)[1].max())
            self.is_high[k] = (top[0] if found[0] >= 0 else tops[k]) > before + self._step

    @property
    def highest(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.level + self._step

    @property
    def beneath(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return BENEATH * self._step

    def at(self, points: Array, place: Place, time: float) -> tuple[Array, Array | None, Array | None]:
        del place
        below, normals, moving = self.base.at(points, self.place, time)
        top, height, along_x, along_y = top_under(self.boxes, self.highest, points[:, 0], points[:, 1], below)
        on = top >= 0
        usual = self.place.to_world(self.base.normal)
        normal = np.tile(usual, (len(points), 1)) if normals is None else normals.copy()
        normal[on] = np.stack([-along_x, -along_y, np.ones(len(points))], axis=1)[on]
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        velocity = np.zeros((len(points), 3)) if moving is None else moving.copy()
        box = self.boxes[top[on]]
        way = np.column_stack([points, height])[on] - box[:, MIDDLE]
        velocity[on] = box[:, VELOCITY] + np.cross(box[:, SPIN], way)
        return height, normal, velocity

    def begun_at(self, place: Array) -> tuple[Tops, float]:
        """The same for a figure that begins at a place (1, 2), and the height there [m]."""
        own = Tops(self.base, self.place, self._all, self._step)
        own.level = float(own.at(place, self.place, 0.0)[0][0])
        return own, own.level

    def under(self, points: Array, time: float) -> Index:
        """The box on which each of some points (n, 3) lies, −1 where it is other ground, shape (n,)."""
        below = self.base.at(points[:, :2], self.place, time)[0]
        most = np.minimum(self.highest, points[:, 2] + self.beneath)
        return top_under(self.boxes, most, points[:, 0], points[:, 1], below)[0]

    def form(self, place: Place, time: float) -> Form:
        del place
        return self.base.form(self.place, time)

    def scaled(self, size: float) -> Shape:
        raise NotImplementedError("Ground with bodies on it belongs to a world, which has its own size.")


def top_under(
    boxes: Array, highest: float | Array, x: Array, y: Array, below: Array
) -> tuple[Index, Array, Array, Array]:
    """The highest box under places whose top is ground there.

    An upright line through the place leaves a box through one of its sides, which has to be level enough.

    Args:
        boxes: See `Tops`, shape (K, 21).
        highest: Of the tops that count [m], one or shape (n,).
        x, y: Places [m], shape (n,).
        below: Height of the ground without boxes [m], shape (n,).

    Returns:
        Its number, −1 where there is none; the height of the ground [m], and how the box rises along x and y [1],
        shapes (n,).
    """
    found, z, slopes = np.full(len(x), -1), below.copy(), np.zeros((2, len(x)))
    for number, box in enumerate(boxes):
        axes, half = box[AXES].reshape(3, 3), box[HALF]
        at = (x - box[0])[:, None] * axes[0] + (y - box[1])[:, None] * axes[1]
        is_across = np.abs(axes[2]) < 1e-9
        way = np.where(is_across, 1.0, axes[2])
        ends = np.stack([(-half - at) / way, (half - at) / way])
        low = np.where(is_across, -np.inf, ends.min(axis=0)).max(axis=1)
        leaves = np.where(is_across, np.inf, ends.max(axis=0))
        side, high = leaves.argmin(axis=1), leaves.min(axis=1)
        up = axes[2, side]
        top = box[2] + high
        counts = (high >= low) & (np.abs(up) >= LEVEL) & (top > z) & (top <= highest)
        counts &= ~(is_across & (np.abs(at) > half)).any(axis=1)
        found[counts], z[counts] = number, top[counts]
        slopes[:, counts] = (-axes[:2, side] / np.where(up == 0.0, 1.0, up))[:, counts]
    return found, z, slopes[0], slopes[1]
