"""The ground as a patch of quads around the figures' way, as few as its shape needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.show.scene import Scene

Array = npt.NDArray[np.float64]

_ALONG, _ACROSS = 0.02, 0.20  # sampling of a static ground [m]: fine along the way, where stairs have their edges
_MOVING = 0.06  # sampling of a moving ground along the way [m]; its edges wander, so no line can be left out
_MARGIN = (4.0, 3.0)  # ground beyond the figures' way, along and across [m]
_LARGEST = 80.0  # longest patch [m]
_FLATNESS = 0.003  # a grid line is left out where its neighbors tell its height to this [m]


@dataclass(frozen=True)
class Patch:
    """A grid over the ground plane, its lines parallel to a heading.

    Attributes:
        origin: Where both coordinates are zero, in the ground plane [m], shape (2,).
        heading: Unit direction of `along` in the ground plane, shape (2,).
        along: Coordinates of the grid lines along the heading [m], shape (A,).
        across: Coordinates to the left of the heading [m], shape (C,).
    """

    origin: Array
    heading: Array
    along: Array
    across: Array

    def points(self) -> Array:
        """Grid points in the ground plane [m], shape (A, C, 2)."""
        left = np.array([-self.heading[1], self.heading[0]])
        return self.origin + self.along[:, None, None] * self.heading + self.across[None, :, None] * left

    def vertices(self, scene: Scene, time: float) -> Array:
        """Grid points with the terrain's height at a time [s], world frame [m], shape (A, C, 3)."""
        points = self.points()
        height = np.asarray(scene.terrain.sample(points.reshape(-1, 2), time).height, dtype=np.float64)
        return np.concatenate([points, height.reshape(*points.shape[:2], 1)], axis=-1)


def ground_patch(scene: Scene, heading_deg: float, unit: float = 1.0) -> Patch:
    """The ground under and around all figures, seen along a heading [deg]; lengths scale with `unit` [m]."""
    angle = np.radians(heading_deg)
    heading = np.array([np.cos(angle), np.sin(angle)])
    left = np.array([-heading[1], heading[0]])
    way = np.concatenate([t.positions[:, 0, :2] for t in scene.tracks])
    origin = 0.5 * (way.min(axis=0) + way.max(axis=0))
    along, across = (way - origin) @ heading, (way - origin) @ left
    a0, a1 = _span(along, _MARGIN[0] * unit, _LARGEST * unit)
    c0, c1 = _span(across, _MARGIN[1] * unit, _LARGEST * unit)
    step = unit * (_ALONG if scene.terrain.is_static else _MOVING)
    # a patch longer than 20 m is drawn coarser, so that no terrain costs more than a thousand lines
    step = max(step, (a1 - a0) / 1000.0)
    patch = Patch(origin, heading, _lines(a0, a1, step), _lines(c0, c1, max(_ACROSS * unit, (c1 - c0) / 100.0)))
    if not scene.terrain.is_static:
        return patch
    height = patch.vertices(scene, float(scene.times[0]))[..., 2]
    along_kept = needed(patch.along, height, _FLATNESS * unit)
    across_kept = needed(patch.across, height[along_kept].T, _FLATNESS * unit)
    return Patch(origin, heading, patch.along[along_kept], patch.across[across_kept])


def needed(places: Array, values: Array, tolerance: float = _FLATNESS) -> npt.NDArray[np.int64]:
    """Rows that piecewise linear interpolation needs to tell all rows to a tolerance (Douglas and Peucker).

    Args:
        places: Rising coordinate of each row, shape (N,).
        values: The rows, shape (N, K).
        tolerance: Largest error of a row left out, in the unit of `values`.

    Returns:
        Indices of the rows kept, rising, the first and the last among them.
    """
    keep, spans = {0, len(places) - 1}, [(0, len(places) - 1)]
    while spans:
        a, b = spans.pop()
        if b - a < 2:
            continue
        blend = ((places[a + 1 : b] - places[a]) / (places[b] - places[a]))[:, None]
        error = np.abs(values[a] * (1.0 - blend) + values[b] * blend - values[a + 1 : b]).max(axis=1)
        if error.max() > tolerance:
            split = a + 1 + int(np.argmax(error))
            keep.add(split)
            spans += [(a, split), (split, b)]
    return np.array(sorted(keep), dtype=np.int64)


def _span(places: Array, margin: float, largest: float) -> tuple[float, float]:
    return max(float(places.min()) - margin, -0.5 * largest), min(float(places.max()) + margin, 0.5 * largest)


def _lines(first: float, last: float, step: float) -> Array:
    return np.linspace(first, last, max(2, int(np.ceil((last - first) / step)) + 1))
