"""What stands around a synthesized figure: flat surfaces, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.errors import InvalidValue

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

FAR = 1e3
"""Gap of a point that is beside every surface [m]."""


@dataclass(frozen=True)
class Surface:
    """A flat face that pushes back: a floor, a wall, the side of a box.

    Attributes:
        name: What it is called in reports.
        origin: Its middle [m].
        normal: Unit, away from the matter.
        size: Width and height around the middle [m]; inf for a floor without end.
        friction: Coulomb coefficient.
        depth: Points deeper inside than this are behind the face and do not touch it [m].
    """

    name: str
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    size: tuple[float, float] = (np.inf, np.inf)
    friction: float = 1.0
    depth: float = 0.2

    def __post_init__(self) -> None:
        if abs(np.linalg.norm(self.normal) - 1.0) > 1e-6:
            raise InvalidValue(f"Surface {self.name!r} has normal {self.normal}; give a unit vector.")
        if not self.friction >= 0.0:
            raise InvalidValue(f"Surface {self.name!r} has friction {self.friction}; give zero or more.")

    def heights(self, points: Array) -> Array:
        """Height of points (P, 3) over it [m], `FAR` where they are beside or behind it, shape (P,)."""
        normal, away = np.array(self.normal), points - np.array(self.origin)
        heights = away @ normal
        side = np.array([0.0, 1.0, 0.0]) if abs(normal[1]) < 0.9 else np.array([1.0, 0.0, 0.0])
        across = np.cross(side, normal)
        across /= np.linalg.norm(across)
        side = np.cross(normal, across)
        inside = (np.abs(away @ side) <= self.size[0] / 2.0) & (np.abs(away @ across) <= self.size[1] / 2.0)
        return np.where(inside & (heights > -self.depth), heights, FAR)


@dataclass(frozen=True)
class Ground:
    """The nearest surface of each point.

    Attributes:
        gaps: Height over it [m], shape (P,).
        normals: Its normal, shape (P, 3).
        friction: Shape (P,).
        surface: Its index, shape (P,).
    """

    gaps: Array
    normals: Array
    friction: Array
    surface: Index


def ground_below(surfaces: Sequence[Surface], points: Array) -> Ground:
    """For each of the points (P, 3), the surface it is nearest to."""
    heights = np.array([s.heights(points) for s in surfaces]).reshape(len(surfaces), len(points))
    nearest = np.abs(heights).argmin(axis=0) if len(surfaces) else np.zeros(len(points), dtype=np.int64)
    if not len(surfaces):
        return Ground(np.full(len(points), FAR), np.tile([0.0, 0.0, 1.0], (len(points), 1)), np.ones(len(points)), nearest)
    normals = np.array([s.normal for s in surfaces])[nearest]
    friction = np.array([s.friction for s in surfaces])[nearest]
    return Ground(heights[nearest, np.arange(len(points))], normals, friction, nearest)
