"""What may touch in a step: contact points near surfaces, bodies near other bodies, feet on holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from poise.core.typing import Array, Flags, Index
from poise.goals.lists import relative
from poise.goals.surroundings import EDGE, FAR, Faces
from poise.physics import State
from poise.physics.collisions import CapsulePairs, Near

REACH = 0.08
"""Bodies nearer to one another than this may touch in a step [m]."""
FARTHEST = 1.0
"""No two bodies farther apart than this meet in one step [m]."""
NEAR = 24
"""Most pairs of bodies that may touch in one step."""
OVERLAPPING = 0.002
"""Pairs nearer than this at the start count as overlapping [m]."""
SLIDING = 0.05
"""A touching point that moves along its surface faster than this slides [m/s]."""
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
class Candidates:
    """Contact candidates: every place where something may touch in this step.

    First all contact points with the surface nearest to each, then near pairs of bodies, then contact points again with
    further surfaces they are near to, as in the corner of a room.

    A point that is a sphere pushes on a further surface from where it touches the first; soles are points.

    Attributes:
        points, others: The model's point, and the point it touches or -1 for the world, shape (S,).
        normals: Away from what is touched, shape (S, 3).
        gaps: [m], shape (S,).
        friction: Shape (S,).
        surface: Index of the surface of each contact point, shape (P,).
        pairs: Which pair of capsules each candidate after the points is, shape (K,).
        corners: Index of the surface of each candidate after those, shape (S − P − K,).
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
        """Contact points of the figures and balls, the first of the candidates."""
        return len(self.surface)

    @property
    def between(self) -> slice:
        """The candidates that are pairs of bodies."""
        return slice(len(self.surface), len(self.surface) + len(self.pairs))

    @property
    def at_corners(self) -> slice:
        """The candidates that are points near a further surface."""
        return slice(len(self.surface) + len(self.pairs), len(self.points))

    @cached_property
    def keys(self) -> list[tuple[int, int]]:
        """Key of each candidate, the same in the next step: a point and its surface, or −1 and a pair."""
        first = list(enumerate(self.surface.tolist()))
        last = zip(self.points[self.at_corners].tolist(), self.corners.tolist(), strict=True)
        return [*first, *((-1, pair) for pair in self.pairs.tolist()), *last]

    def relative(self, values: Array) -> Array:
        """Values at the model's points (P, 3), less those of what they touch, shape (S, 3)."""
        return relative(values, self.points, self.others)

    def along(self, values: Array) -> Array:
        """Part along the normals of the candidates' own values (S, 3), shape (S,)."""
        return np.einsum("si,si->s", self.normals, values)


def overlaps(capsules: CapsulePairs, state: State) -> Array:
    """How far pairs of capsules overlap in a state [m], shape (N,): that much is allowed later."""
    every = np.arange(len(capsules.pairs))
    return np.maximum(OVERLAPPING - capsules.gaps_at(every, state.data.xpos, state.data.xmat), 0.0)


def find_candidates(
    state: State,
    faces: Faces,
    capsules: CapsulePairs,
    allowed: Array,
    radii: Array,
    gripped: Flags,
    footing: Footing,
    dt: float,
    met: Index,
) -> Candidates:
    """What may touch in a state that has been moved; places its roving points and completes it.

    Args:
        state: After `move_to`.
        faces: The surfaces now.
        capsules: Of all bodies.
        allowed: How far each pair of them may overlap without touching [m], shape (N,).
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
        free = near.gaps + allowed[near.pairs]
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
    if len(faces.origins) > 1:
        is_on_ground = np.ones(count, dtype=np.bool_)
        is_on_ground[footing.points] = False
        first = np.flatnonzero(is_on_ground)
        near_too[ground.surface[first], first] = False
        near_too &= faces.solids[:, None] != faces.solids[ground.surface]  # a box pushes out by its nearest face
    else:
        near_too[:] = False
    corners, again = np.nonzero(near_too)
    if len(corners):
        points, others = np.concatenate([points, again]), np.concatenate([others, np.full(len(again), -1)])
        normals = np.concatenate([normals, faces.frames[corners, 2]])
        gaps = np.concatenate([gaps, ground.heights[corners, again]])
        friction = np.concatenate([friction, faces.friction[corners]])
    state.touch(every)
    state.complete()
    return Candidates(points, others, normals, gaps, friction, ground.surface, pairs, corners, footing)


def _nearest_soon(state: State, capsules: CapsulePairs, near: Near, free: Array, dt: float, met: Index) -> Index:
    """Which of the pairs to watch, nearest first: if there is no room for all, those that will be nearest.

    Args:
        state: After `move_to`.
        capsules: Of all bodies.
        near: Pairs, K of them.
        free: Their gaps plus the allowed overlap [m], shape (K,).
        dt, met: As in `look`.
    """
    integrator = np.isin(near.pairs, met) if len(met) else np.zeros(len(free), dtype=np.bool_)
    order = np.argsort(free, kind="stable")
    order = order[(near.gaps < REACH)[order] | integrator[order]]
    if len(order) <= NEAR:
        return order
    firsts = state.body_velocities(capsules.first_body[near.pairs], near.firsts)
    seconds = state.body_velocities(capsules.second_body[near.pairs], near.seconds)
    closing = np.einsum("ki,ki->k", near.normals, firsts - seconds)
    soon = np.where(integrator, -np.inf, free + dt * np.minimum(closing, 0.0))
    kept = np.zeros(len(free), dtype=np.bool_)
    kept[order[np.argsort(soon[order], kind="stable")[:NEAR]]] = True
    return order[kept[order]]


def pairs_that_met(candidates: Candidates, state: State, capsules: CapsulePairs, allowed: Array, depth: float) -> Index:
    """Pairs that no candidate watches and that overlap by more than `depth` [m] in a state."""
    near = capsules.near_pairs(state.data.xpos, state.data.xmat, -depth)
    deep = near.pairs[near.gaps + allowed[near.pairs] < -depth]
    return deep[~np.isin(deep, candidates.pairs)] if len(deep) else deep


def gaps_after(
    candidates: Candidates, state: State, faces: Faces, capsules: CapsulePairs, allowed: Array, radii: Array
) -> Array:
    """Gaps of the same candidates in another state [m], shape (S,)."""
    count = candidates.point_count
    own = faces.gaps(state.centers[:count], radii, candidates.surface) if len(faces.origins) else np.full(count, np.inf)
    # what was beside or behind every face, or whose face is gone, has nothing to sink into
    parts = [np.where(candidates.gaps[:count] < 0.5 * FAR, own, np.inf)]
    parts[0][candidates.footing.points] = candidates.footing.gaps(state.centers, radii, is_after=True)
    if len(candidates.pairs):
        parts.append(capsules.gaps_at(candidates.pairs, state.data.xpos, state.data.xmat) + allowed[candidates.pairs])
    if len(candidates.corners):
        again = candidates.points[candidates.at_corners]
        own = faces.gaps(state.centers[again], radii[again], candidates.corners)
        parts.append(np.where(candidates.gaps[candidates.at_corners] < 0.5 * FAR, own, np.inf))
    return np.concatenate(parts)


def without_passing_balls(candidates: Candidates, balls: slice, known: Flags, velocities: Array) -> Candidates:
    """The candidates, but balls that come out of a wall from behind: walls push from the side they face.

    Args:
        candidates: What may touch.
        balls: The balls' points among them.
        known: Spots that touched in the step before, shape (S,).
        velocities: Of the model's points [m/s], shape (P, 3).
    """
    if balls.start == balls.stop:
        return candidates
    points = candidates.points
    are_balls = (candidates.others < 0) & (points >= balls.start) & (points < balls.stop)
    out = candidates.along(candidates.relative(velocities)) > 0.0
    passing = are_balls & ~known & out & (candidates.gaps < -EDGE)
    return replace(candidates, gaps=np.where(passing, np.inf, candidates.gaps))


def drifts_of(candidates: Candidates, points: Array, faces: Faces, later: Faces) -> Array:
    """Way of the matter that candidates touch in a step, given the surfaces before and after it [m], shape (S, 3)."""
    out, count = np.zeros((len(candidates.points), 3)), candidates.point_count
    if faces is not later:
        again = candidates.points[candidates.at_corners]
        out[:count] = faces.carried(later, points[:count], candidates.surface)
        out[candidates.at_corners] = faces.carried(later, points[again], candidates.corners)
    out[candidates.footing.points] = candidates.footing.after - candidates.footing.places
    return out


def reaction(
    state: State, candidates: Candidates, forces: Array, held: tuple[Index, Index], grip_forces: Array
) -> Array:
    """Generalized force of all contacts and grips, shape (nv,).

    Args:
        state: In which they act.
        candidates: What may touch.
        forces: On them [N], shape (S, 3).
        held: The model's point of each grip, and the point it holds or −1, shapes (G,).
        grip_forces: [N], shape (G, 3).
    """
    points, others = np.concatenate([candidates.points, held[0]]), np.concatenate([candidates.others, held[1]])
    every = np.concatenate([forces, grip_forces])
    loaded = np.flatnonzero(every.any(axis=1))
    paired = loaded[others[loaded] >= 0]
    pushed = np.concatenate([points[loaded], others[paired]])
    return state.points_torque(pushed, np.concatenate([every[loaded], -every[paired]]))


def ways_of(candidates: Candidates, centers: Array, after: Array, rolled: Array, radii: Array) -> Array:
    """Way of each candidate's point in a step [m], shape (S, 3); zero for pairs of bodies.

    Args:
        candidates: What may touch.
        centers, after: Of the model's points before and after it [m], shapes (P, 3).
        rolled: Δt J v⁺ of the points, shape (P, 3): a sphere rolls, and where it touches is not where its middle goes.
        radii: Of the contact points of figures and balls [m].
    """
    ways, count = np.zeros((len(candidates.points), 3)), candidates.point_count
    ways[:count] = after[:count] - centers[:count]
    round_ones = np.flatnonzero(radii > 0.0)
    ways[round_ones] = rolled[round_ones]
    ways[candidates.at_corners] = ways[candidates.points[candidates.at_corners]]
    return ways


def across(candidates: Candidates, velocities: Array) -> Array:
    """Part along what candidates touch of their points' velocities against it [m/s], shape (S, 3)."""
    return velocities - candidates.along(velocities)[:, None] * candidates.normals


def slips_of(candidates: Candidates, velocities: Array) -> Array:
    """Direction in which points slide along what they touch, zero where they stand, shape (S, 3).

    Args:
        candidates: What may touch.
        velocities: Of their points, against the matter that they touch [m/s], shape (S, 3).
    """
    aside = across(candidates, velocities)
    speed = np.sqrt(np.einsum("si,si->s", aside, aside))
    return np.where((speed > SLIDING)[:, None], aside / np.maximum(speed, SLIDING)[:, None], 0.0)


def inside_cone(candidates: Candidates, forces: Array, share: float) -> Flags:
    """Spots whose friction is less than this share of what it could be, shape (S,)."""
    aside = across(candidates, forces)
    return np.sqrt(np.einsum("si,si->s", aside, aside)) < share * candidates.friction * candidates.along(forces)
