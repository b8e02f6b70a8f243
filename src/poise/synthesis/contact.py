"""What may touch in a step: contact points and the surfaces nearest to them, bodies near other bodies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from poise.goals.faces import FAR, Faces
from poise.goals.lists import relative
from poise.physics import State
from poise.physics.capsules import CapsulePairs, Near

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

REACH = 0.08
"""Bodies nearer to one another than this may touch in a step [m]."""
FARTHEST = 1.0
"""No two bodies farther apart than this meet in one step [m]."""
NEAR = 24
"""Most pairs of bodies that may touch in one step."""
FLESH = 0.002
"""Pairs nearer than this at the start count as overlapping [m]."""
BODY_FRICTION = 0.5
"""Coulomb coefficient between bodies."""


@dataclass(frozen=True)
class Footing:
    """Points that stand on holds, each on a little face of its own.

    Attributes:
        points: The model's points, shape (F,).
        places: A place on each face, and where it will be after the step [m], shape (F, 3).
        normals: Of the faces, shape (F, 3).
        friction: Shape (F,).
    """

    points: Index
    places: Array
    after: Array
    normals: Array
    friction: Array

    def gaps(self, centers: Array, radii: Array, *, is_after: bool = False) -> Array:
        """Height of the points over their faces [m], shape (F,)."""
        away = centers[self.points] - (self.after if is_after else self.places)
        return np.einsum("fi,fi->f", away, self.normals) - radii[self.points]


@dataclass(frozen=True)
class Spots:
    """Every place where something may touch in this step: all contact points with the surface nearest to each, then
    near pairs of bodies, then contact points again with further surfaces they are near to, as in the corner of a room.

    A point that is a sphere pushes on a further surface from where it touches the first; soles are points.

    Attributes:
        points, others: The model's point, and the point it touches or -1 for the world, shape (S,).
        normals: Away from what is touched, shape (S, 3).
        gaps: [m], shape (S,).
        friction: Shape (S,).
        surface: Index of the surface of each contact point, shape (P,).
        pairs: Which pair of capsules each spot after the points is, shape (K,).
        corners: Index of the surface of each spot after those, shape (S − P − K,).
        footing: Contact points on holds.
    """

    points: Index
    others: Index
    normals: Array
    gaps: Array
    friction: Array
    surface: Index
    pairs: Index
    corners: Index
    footing: Footing

    @property
    def point_count(self) -> int:
        """Contact points of the figures and balls, the first of the spots."""
        return len(self.surface)

    @property
    def between(self) -> slice:
        """The spots that are pairs of bodies."""
        return slice(len(self.surface), len(self.surface) + len(self.pairs))

    @property
    def at_corners(self) -> slice:
        """The spots that are points near a further surface."""
        return slice(len(self.surface) + len(self.pairs), len(self.points))

    @cached_property
    def keys(self) -> list[tuple[int, int]]:
        """What each spot is, so that it is known again in the next step: a point and its surface, or −1 and a pair."""
        first = list(enumerate(self.surface.tolist()))
        last = zip(self.points[self.at_corners].tolist(), self.corners.tolist(), strict=True)
        return [*first, *((-1, pair) for pair in self.pairs.tolist()), *last]

    def along(self, values: Array) -> Array:
        """Part along the normals of values at the model's points (P, 3), less those of what they touch, shape (S,)."""
        return np.einsum("si,si->s", self.normals, relative(values, self.points, self.others))


def overlaps(capsules: CapsulePairs, state: State) -> Array:
    """How far pairs of capsules overlap in a state [m], shape (N,): that much is flesh, and touches nobody later."""
    every = np.arange(len(capsules.pairs))
    return np.maximum(FLESH - capsules.gaps_at(every, state.data.xpos, state.data.xmat), 0.0)


def look(
    state: State, faces: Faces, capsules: CapsulePairs, flesh: Array, radii: Array, gripped: Flags, footing: Footing,
    dt: float, met: Index,
) -> Spots:  # fmt: skip
    """The spots of a state that has been moved; places its roving points and completes it.

    Args:
        state: After `move_to`.
        faces: The surfaces now.
        capsules: Of all bodies.
        flesh: How far each pair of them overlaps without touching [m], shape (N,).
        radii: Of the figures' own contact points [m], shape (P,).
        gripped: Points that hold something and touch nothing else, shape (P,).
        footing: Points that stand on holds and touch nothing else.
        dt: Length of the step [s].
        met: Pairs that are farther apart than `REACH`, or had no room, and would meet in this step all the same.
    """
    count = len(radii)
    ground = faces.below(state.centers[:count], radii)
    normals = ground.normals.copy()
    normals[gripped] = 0.0
    normals[footing.points] = footing.normals
    every = np.zeros((state.model.point_count, 3))
    every[:count] = normals
    pairs, others, points = np.zeros(0, dtype=np.int64), np.full(count, -1), np.arange(count)
    gaps, friction = np.where(gripped, np.inf, ground.gaps), ground.friction.copy()
    gaps[footing.points] = footing.gaps(state.centers, radii)
    friction[footing.points] = footing.friction
    if len(capsules.pairs):
        near = capsules.near_pairs(state.data.xpos, state.data.xmat, FARTHEST if len(met) else REACH)
        free = near.gaps + flesh[near.pairs]
        chosen = _nearest_soon(state, capsules, near, free, dt, met)
        if len(chosen):
            pairs = near.pairs[chosen]
            bodies = np.stack([capsules.first_body[pairs], capsules.second_body[pairs]], axis=1).ravel()
            places = np.stack([near.firsts[chosen], near.seconds[chosen]], axis=1).reshape(-1, 3)
            rovers = state.place_rovers(0, bodies, places).reshape(-1, 2)
            points, others = np.concatenate([points, rovers[:, 0]]), np.concatenate([others, rovers[:, 1]])
            normals = np.concatenate([normals, near.normals[chosen]])
            gaps = np.concatenate([gaps, free[chosen]])
            friction = np.concatenate([friction, np.full(len(pairs), BODY_FRICTION)])
    near_too = (np.abs(ground.heights) < REACH) & ~gripped
    if len(near_too):
        first = np.setdiff1d(np.arange(count), footing.points)
        near_too[ground.surface[first], first] = False
    corners, again = np.nonzero(near_too)
    if len(corners):
        points, others = np.concatenate([points, again]), np.concatenate([others, np.full(len(again), -1)])
        normals = np.concatenate([normals, faces.frames[corners, 2]])
        gaps = np.concatenate([gaps, ground.heights[corners, again]])
        friction = np.concatenate([friction, faces.friction[corners]])
    state.touch(every)
    state.complete()
    return Spots(points, others, normals, gaps, friction, ground.surface, pairs, corners, footing)


def _nearest_soon(state: State, capsules: CapsulePairs, near: Near, free: Array, dt: float, met: Index) -> Index:
    """Which of the pairs to watch, nearest first: if there is no room for all, those that will be nearest.

    Args:
        state: After `move_to`.
        capsules: Of all bodies.
        near: Pairs, K of them.
        free: Their gaps less what is flesh [m], shape (K,).
        dt, met: As in `look`.
    """
    ahead = np.isin(near.pairs, met) if len(met) else np.zeros(len(free), dtype=np.bool_)
    order = np.argsort(free, kind="stable")
    order = order[(near.gaps < REACH)[order] | ahead[order]]
    if len(order) <= NEAR:
        return order
    firsts = state.body_velocities(capsules.first_body[near.pairs], near.firsts)
    seconds = state.body_velocities(capsules.second_body[near.pairs], near.seconds)
    closing = np.einsum("ki,ki->k", near.normals, firsts - seconds)
    soon = np.where(ahead, -np.inf, free + dt * np.minimum(closing, 0.0))
    kept = np.zeros(len(free), dtype=np.bool_)
    kept[order[np.argsort(soon[order], kind="stable")[:NEAR]]] = True
    return order[kept[order]]


def pairs_met(spots: Spots, state: State, capsules: CapsulePairs, flesh: Array, depth: float) -> Index:
    """Pairs that no spot watches and that overlap by more than `depth` [m] in a state."""
    near = capsules.near_pairs(state.data.xpos, state.data.xmat, -depth)
    deep = near.pairs[near.gaps + flesh[near.pairs] < -depth]
    return deep[~np.isin(deep, spots.pairs)] if len(deep) else deep


def gaps_after(
    spots: Spots, state: State, faces: Faces, capsules: CapsulePairs, flesh: Array, radii: Array
) -> Array:  # fmt: skip
    """Gaps of the same spots in another state [m], shape (S,)."""
    count = spots.point_count
    own = faces.gaps(state.centers[:count], radii, spots.surface) if len(faces.origins) else np.full(count, np.inf)
    # what was beside or behind every face, or whose face is gone, has nothing to sink into
    parts = [np.where(spots.gaps[:count] < 0.5 * FAR, own, np.inf)]
    parts[0][spots.footing.points] = spots.footing.gaps(state.centers, radii, is_after=True)
    if len(spots.pairs):
        parts.append(capsules.gaps_at(spots.pairs, state.data.xpos, state.data.xmat) + flesh[spots.pairs])
    if len(spots.corners):
        again = spots.points[spots.at_corners]
        own = faces.gaps(state.centers[again], radii[again], spots.corners)
        parts.append(np.where(spots.gaps[spots.at_corners] < 0.5 * FAR, own, np.inf))
    return np.concatenate(parts)
