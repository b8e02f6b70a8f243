"""The surfaces of a scene at one time, as arrays: how high points are over them, and where their matter goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.goals.surroundings import Surface

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

FAR = 1e3
"""Gap of a point that is beside every surface [m]."""

EDGE = 0.01
"""A face reaches so far beyond its edges, so that a corner of two has no gap [m]."""


@dataclass(frozen=True)
class Faces:
    """The surfaces of a scene at one time, as arrays.

    Attributes:
        origins: [m], shape (S, 3).
        frames: As `Surface.frame`, shape (S, 3, 3).
        half: Half of width and height [m], shape (S, 2).
        depth, friction: Shape (S,).
        exists: False for one that was taken away, shape (S,).
    """

    origins: Array
    frames: Array
    half: Array
    depth: Array
    friction: Array
    exists: npt.NDArray[np.bool_]

    @staticmethod
    def at(surfaces: Sequence[Surface], time: float) -> Faces:
        """The surfaces at a time [s]."""
        origins = np.array([s.origin for s in surfaces], dtype=np.float64).reshape(-1, 3)
        frames = np.array([s.frame for s in surfaces]).reshape(-1, 3, 3)
        for i, surface in enumerate(surfaces):
            if surface.movement is not None:
                origins[i], turn = surface.movement.placed(origins[i], time)
                frames[i] = frames[i] @ turn.T
        return Faces(
            origins, frames, np.array([s.size for s in surfaces], dtype=np.float64).reshape(-1, 2) / 2.0,
            np.array([s.depth for s in surfaces]), np.array([s.friction for s in surfaces]),
            np.array([s.exists(time) for s in surfaces], dtype=np.bool_),
        )  # fmt: skip

    def heights(self, places: Array) -> Array:
        """Height of places (P, 3) over each surface [m], `FAR` where they are beside or behind it, shape (S, P)."""
        local = np.einsum("sij,spj->spi", self.frames, places[None] - self.origins[:, None])
        inside = (np.abs(local[..., :2]) <= self.half[:, None] + EDGE).all(axis=-1)
        inside &= (local[..., 2] > -self.depth[:, None]) & self.exists[:, None]
        return np.where(inside, local[..., 2], FAR)

    def below(self, places: Array, radii: Array) -> Ground:
        """For each sphere at places (P, 3) with radii (P,), the surface it is nearest to."""
        count, gaps = len(places), self.heights(places) - radii
        if not len(self.origins):
            none = np.zeros(count, dtype=np.int64)
            return Ground(np.full(count, FAR), np.tile([0.0, 0.0, 1.0], (count, 1)), np.ones(count), none, gaps)
        nearest = np.abs(gaps).argmin(axis=0)
        return Ground(gaps[nearest, np.arange(count)], self.frames[nearest, 2], self.friction[nearest], nearest, gaps)

    def gaps(self, places: Array, radii: Array, surface: Index) -> Array:
        """Gap of spheres (P, 3) to given surfaces (P,), however far beside them [m], shape (P,)."""
        away = places - self.origins[surface]
        return np.einsum("pi,pi->p", away, self.frames[surface, 2]) - radii

    def carried(self, after: Faces, places: Array, surface: Index) -> Array:
        """Way of the matter at places (P, 3) of the given surfaces (P,) until a later time [m], shape (P, 3)."""
        local = np.einsum("pij,pj->pi", self.frames[surface], places - self.origins[surface])
        return after.origins[surface] + np.einsum("pij,pi->pj", after.frames[surface], local) - places


@dataclass(frozen=True)
class Ground:
    """The nearest surface of each point.

    Attributes:
        gaps: Height over it [m], shape (P,).
        normals: Its normal, shape (P, 3).
        friction: Shape (P,).
        surface: Its index, shape (P,).
        heights: Over every surface [m], as `Faces.heights` less the point's radius, shape (S, P).
    """

    gaps: Array
    normals: Array
    friction: Array
    surface: Index
    heights: Array
