"""Which bodies are near each other: gaps between the capsules of one or several characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.body.character import Body, Capsule, Character
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.typing import Array, Flags, Index
from poise.native import compiled

SOLE = 3
"""A body with so many contact points stands on them."""


class Shape(NamedTuple):
    """What a body looks like, in its frame.

    Attributes:
        body: Index of the body, 0 for what never moves.
        kind: "sphere", "box", "capsule", "cylinder", "ellipsoid" or "mesh".
        size: Half of its sides, or radius and half length [m], shape (3,); of a mesh its corners, shape (N, 3).
        place, turn: In the body's frame [m] (3,), unit wxyz (4,).
    """

    body: int
    kind: str
    size: Array
    place: Array
    turn: Array


def feet(parents: Index, points: Index) -> Flags:
    """Bodies of a figure that stand on points, and their toes: their capsules go deeper than the sole, shape (B,).

    Args:
        parents: Of each body, 0 for a root, shape (B,).
        points: Body of each contact point, shape (P,).
    """
    is_foot = (np.bincount(points, minlength=len(parents)) >= SOLE) & (parents > 0)
    is_end = ~np.isin(np.arange(len(parents)), parents[1:])
    return is_foot | (is_end & is_foot[parents])


def stiffness(forces: Array, levers: Array, owner: Index, count: int) -> Array:
    """How bodies that are pulled at points resist turning: K = Σ (f · r) 1 − (f rᵀ + r fᵀ) / 2 [N m], ≥ 0.

    Used implicitly, it keeps a light piece that is pulled hard at both ends from turning too far and back in each step.
    What forces that press would add is left out. Source: Andrews, Teichmann and Kövecses 2017, "Geometric stiffness for
    real-time constrained multibody dynamics". Deviates: K is made positive by its eigenvalues, not made diagonal.

    Args:
        forces: At each point, in the body's frame [N], shape (P, 3).
        levers: From the body's center of mass to the point [m], shape (P, 3).
        owner: Body of each point, shape (P,).
        count: Of bodies.

    Returns:
        In each body's frame, shape (count, 3, 3).
    """
    outer: Array = np.einsum("ki,kj->kij", forces, levers)
    total: Array = np.zeros((count, 3, 3))
    even = 0.5 * (outer + outer.transpose(0, 2, 1))
    np.add.at(total, owner, np.trace(outer, axis1=1, axis2=2)[:, None, None] * np.eye(3) - even)
    size, way = np.linalg.eigh(total)
    return np.einsum("tik,tk,tjk->tij", way, np.maximum(size, 0.0), way, dtype=np.float64)


OVERLAP = 0.05
"""Neighboring bodies nearer at rest than this part of how thick they are overlap for good: they are not a pair."""
PARALLEL = 1e-8
"""Middle lines whose squared sine is below this are parallel."""


class Near(NamedTuple):
    """Pairs of capsules, K of them, in the order of the pairs.

    Attributes:
        pairs: Index of each in `CapsulePairs`, shape (K,).
        gaps: Between the two surfaces [m], negative where they overlap, shape (K,).
        firsts, seconds: The nearest points of the two surfaces in the world [m], shape (K, 3).
        normals: Unit vectors from the second to the first, shape (K, 3).
    """

    pairs: Index
    gaps: Array
    firsts: Array
    seconds: Array
    normals: Array


class CapsulePairs:
    """All pairs of capsules that may meet, of characters whose bodies follow each other in one model.

    Every two capsules on different bodies are a pair, except those of a body and its parent, and those of neighbors
    (bodies at most two joints apart, where a link shorter than the two are thick does not count) any of whose capsules
    overlap at rest.

    Attributes:
        capsule_body: Body of each capsule in the model, shape (C,).
        starts, ends: In the body's frame [m], shape (C, 3).
        radii: [m], shape (C,).
        pairs: The two capsules of each pair, shape (N, 2).
        first_body, second_body: The bodies of each pair in the model, shape (N,).
    """

    def __init__(self, characters: Sequence[Character]) -> None:
        """Collect capsules and pairs of characters in the order of the model, see `model_of_scene`."""
        owners: list[tuple[int, int]] = []
        capsules: list[Capsule] = []
        for c, character in enumerate(characters):
            for b, body in enumerate(character.bodies):
                owners += [(c, b)] * len(body.capsules)
                capsules += body.capsules
        first = np.cumsum([1, *(len(c.bodies) for c in characters)])
        self.capsule_body: Index = np.array([first[c] + b for c, b in owners], dtype=np.int64)
        self.starts: Array = np.array([c.start for c in capsules], dtype=np.float64).reshape(-1, 3)
        self.ends: Array = np.array([c.end for c in capsules], dtype=np.float64).reshape(-1, 3)
        self.radii: Array = np.array([c.radius for c in capsules], dtype=np.float64)
        poses = [_rest_pose(c) for c in characters]
        everyone = np.array(
            [(i, j) for i in range(len(owners)) for j in range(i + 1, len(owners)) if owners[i] != owners[j]],
            dtype=np.int64,
        ).reshape(-1, 2)
        places = np.concatenate([np.zeros((1, 3)), *(p for p, _ in poses)])
        turns = np.concatenate([np.zeros((1, 9)), *(m for _, m in poses)])
        at_rest = self._near(everyone, places, turns, np.inf).gaps
        apart: set[tuple[tuple[int, int], tuple[int, int]]] = set()
        for (i, j), gap in zip(everyone, at_rest, strict=True):
            (c, a), (d, b) = owners[i], owners[j]
            bodies = characters[c].bodies
            if c != d:
                continue
            thickness = float(self.radii[i] + self.radii[j])
            is_near = gap < OVERLAP * thickness and _joints_between(bodies, a, b, thickness) <= 2
            if is_near or bodies[a].parent == b or bodies[b].parent == a:
                apart.add((owners[i], owners[j]))
        kept = [n for n, (i, j) in enumerate(everyone) if (owners[i], owners[j]) not in apart]
        self.pairs: Index = np.ascontiguousarray(everyone[kept])
        self.first_body: Index = self.capsule_body[self.pairs[:, 0]]
        self.second_body: Index = self.capsule_body[self.pairs[:, 1]]

    def near_pairs(self, xpos: Array, xmat: Array, reach: float) -> Near:
        """Pairs nearer than a reach.

        Args:
            xpos, xmat: Places (B, 3) [m] and orientations (B, 9) of the bodies, as in `State.data`.
            reach: Largest gap that is reported [m].
        """
        return self._near(self.pairs, xpos, xmat, reach)

    def gaps_at(self, pairs: Index, xpos: Array, xmat: Array) -> Array:
        """Gaps of chosen pairs (K,) where the bodies are now [m], shape (K,).

        Raises:
            InvalidValue: if there is no such pair.
        """
        pairs = np.asarray(pairs, dtype=np.int64)
        if len(pairs) and not (pairs.min() >= 0 and pairs.max() < len(self.pairs)):
            raise InvalidValue(f"Pairs {pairs.min()} to {pairs.max()} were asked for; there are {len(self.pairs)}.")
        return self._near(self.pairs[pairs], xpos, xmat, np.inf).gaps

    def _near(self, pairs: Index, xpos: Array, xmat: Array, reach: float) -> Near:
        """Those of some pairs (N, 2) of capsules that are nearer than a reach."""
        n, lines = len(pairs), np.empty((len(self.radii), 7))
        index, gaps, firsts, seconds, normals = (
            np.empty(n, np.int64),
            np.empty(n),
            np.empty((n, 3)),
            np.empty((n, 3)),
            np.empty((n, 3)),
        )
        count = near_capsules(
            pairs,
            self.capsule_body,
            self.starts,
            self.ends,
            self.radii,
            xpos,
            xmat,
            reach,
            lines,
            index,
            gaps,
            firsts,
            seconds,
            normals,
        )
        return Near(index[:count], gaps[:count], firsts[:count], seconds[:count], normals[:count])


def _rest_pose(character: Character) -> tuple[Array, Array]:
    """Places (B, 3) and orientations (B, 9) of the bodies with all joints at zero."""
    count = len(character.bodies)
    places, turns = np.zeros((count, 3)), np.tile(np.eye(3), (count, 1, 1))
    for i, body in enumerate(character.bodies):
        if body.parent >= 0:
            places[i] = places[body.parent] + turns[body.parent] @ body.offset
            own = np.eye(3) if body.rest_rotation is None else rotations.to_matrix(body.rest_rotation)
            turns[i] = turns[body.parent] @ own
    return places, turns.reshape(-1, 9)


def _joints_between(bodies: Sequence[Body], a: int, b: int, thickness: float) -> int:
    """Joints on the way from one body to another in the tree, those with a link shorter than `thickness` left out."""
    chains: list[list[int]] = []
    for body in (a, b):
        chain = [body]
        while bodies[chain[-1]].parent >= 0:
            chain.append(bodies[chain[-1]].parent)
        chains.append(chain)
    common = next(body for body in chains[0] if body in chains[1])
    count = 0
    for end, chain in zip((a, b), chains, strict=True):
        for body in chain[: chain.index(common)]:
            is_link = body != end  # a joint's link is the bone before it: what lies between the two bodies
            count += not (is_link and float(np.linalg.norm(bodies[body].offset)) < thickness)
    return count


@compiled(
    "const word pair[pairs][2], const word body[capsules], const real starts[capsules][3],"
    "const real ends[capsules][3], const real radii[capsules], const real xpos[bodies][3], const real xmat[bodies][9],"
    "real reach, real lines[capsules][7], word out[pairs], real gaps[pairs], real firsts[pairs][3],"
    "real seconds[pairs][3], real normals[pairs][3]",
    returns="word",
)
def near_capsules(pair, body, starts, ends, radii, xpos, xmat, reach, lines, out, gaps, firsts, seconds, normals):
    """Fill pairs with a gap below `reach`, their gaps, surface points and normals in order; returns how many.

    `lines` gets the middle lines in the world: start, way to the end, length.
    """
    turns = xmat.reshape(-1, 3, 3)[body]
    lines[:, :3] = xpos[body] + np.matmul(turns, starts[..., None])[..., 0]
    lines[:, 3:6] = np.matmul(turns, (ends - starts)[..., None])[..., 0]
    lines[:, 6] = np.linalg.norm(lines[:, 3:6], axis=1)
    one, two = pair[:, 0], pair[:, 1]
    p, d, q, g = lines[one, :3], lines[one, 3:6], lines[two, :3], lines[two, 3:6]
    s, t = (share[:, None] for share in _nearest(p, d, q, g))
    normal = p + s * d - q - t * g
    length = np.linalg.norm(normal, axis=1)
    gap = length - radii[one] - radii[two]
    crossing = ~(length > 1e-9)
    normal[~crossing] /= length[~crossing, None]
    normal[crossing] = _across(p[crossing], d[crossing], q[crossing], g[crossing])
    found = np.flatnonzero(~(gap >= reach))
    count = len(found)
    out[:count], gaps[:count], normals[:count] = found, gap[found], normal[found]
    firsts[:count] = (p + s * d - radii[one, None] * normal)[found]
    seconds[:count] = (q + t * g + radii[two, None] * normal)[found]
    return count


def _nearest(p: Array, d: Array, q: Array, g: Array) -> tuple[Array, Array]:
    """Shares (s, t) of the points p + s d and q + t g, 0 ≤ s, t ≤ 1, that are nearest to each other, shapes (N,).

    Of parallel lines that lie beside each other the middle of the common part, so that a body that lies along another
    is pushed where it lies. A line of no length is a point.
    """
    r = p - q
    a, b, e, c, f = ((x * y).sum(axis=1) for x, y in ((d, d), (d, g), (g, g), (d, r), (g, r)))
    is_point, is_other_point = a < 1e-14, e < 1e-14
    a, e = np.where(is_point, 1.0, a), np.where(is_other_point, 1.0, e)
    apart = a * e - b * b
    is_parallel = ~(apart > PARALLEL * a * e)
    first, second = -c / a, (b - c) / a  # the ends of the second line on the first
    low = np.maximum(np.minimum(first, second), 0.0)
    high = np.minimum(np.maximum(first, second), 1.0)
    common = np.where(low <= high, 0.5 * (low + high), np.clip(0.5 * (first + second), 0.0, 1.0))
    s = np.where(is_parallel, common, np.clip((b * f - c * e) / np.where(is_parallel, 1.0, apart), 0.0, 1.0))
    t = (b * s + f) / e
    beyond = (t < 0.0) | (t > 1.0)
    t = np.clip(t, 0.0, 1.0)
    s = np.where(beyond, np.clip((b * t - c) / a, 0.0, 1.0), s)
    s = np.where(is_point, 0.5, np.where(is_other_point, np.clip((0.5 * b - c) / a, 0.0, 1.0), s))
    t = np.where(is_other_point, 0.5, np.where(is_point, np.clip((f + 0.5 * b) / e, 0.0, 1.0), t))
    return s, t


def _across(p: Array, d: Array, q: Array, g: Array) -> Array:
    """Where middle lines cross: orthogonal to both, or to the longer one, on the side of the first one's middle."""
    normal = np.cross(d, g)
    long, wide = (d * d).sum(axis=1), (g * g).sum(axis=1)
    axis = np.where((long >= wide)[:, None], d, g)
    square = np.maximum(long, wide)
    least = np.where(square > 0.0, np.argmin(np.abs(axis), axis=1), 2)
    share = np.take_along_axis(axis, least[:, None], axis=1) / np.where(square > 0.0, square, 1.0)[:, None]
    along = np.eye(3)[least] - share * axis
    normal = np.where(((normal**2).sum(axis=1) <= PARALLEL * long * wide)[:, None], along, normal)
    side = (normal * (p + 0.5 * d - q - 0.5 * g)).sum(axis=1, keepdims=True)
    return np.where(side >= 0.0, 1.0, -1.0) * normal / np.linalg.norm(normal, axis=1, keepdims=True)
