"""Which bodies are near each other: gaps between the capsules of one or several characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from poise.body.character import Body, Capsule, Character
from poise.compiled import INNER, KERNEL
from poise.core import rotations
from poise.core.errors import InvalidValue

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

OVERLAP = 0.05
"""Neighboring bodies nearer at rest than this part of how thick they are overlap for good: they are no pair."""
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
        at_rest = _gaps(
            everyone, self.capsule_body, self.starts, self.ends, self.radii,
            np.concatenate([np.zeros((1, 3)), *(p for p, _ in poses)]),
            np.concatenate([np.zeros((1, 9)), *(m for _, m in poses)]),
        )  # fmt: skip
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
            reach: Largest gap told of [m].
        """
        n = len(self.pairs)
        near = Near(np.empty(n, np.int64), np.empty(n), np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3)))
        count = _near_pairs(
            self.pairs, self.capsule_body, self.starts, self.ends, self.radii, xpos, xmat, float(reach), *near
        )
        pairs, gaps, firsts, seconds, normals = near
        return Near(pairs[:count], gaps[:count], firsts[:count], seconds[:count], normals[:count])

    def gaps_at(self, pairs: Index, xpos: Array, xmat: Array) -> Array:
        """Gaps of chosen pairs (K,) where the bodies are now [m], shape (K,).

        Raises:
            InvalidValue: if there is no such pair.
        """
        pairs = np.asarray(pairs, dtype=np.int64)
        if len(pairs) and not (pairs.min() >= 0 and pairs.max() < len(self.pairs)):
            raise InvalidValue(f"Pairs {pairs.min()} to {pairs.max()} were asked for; there are {len(self.pairs)}.")
        chosen = np.ascontiguousarray(self.pairs[pairs])
        return _gaps(chosen, self.capsule_body, self.starts, self.ends, self.radii, xpos, xmat)


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


@njit(**INNER)
def _share(x, low, high):
    return low if x < low else (high if x > high else x)


@njit(**INNER)
def _lines(capsule_body, starts, ends, xpos, xmat, out):
    """Middle lines in the world: start, way to the end, length, shape (C, 7)."""
    for i in range(starts.shape[0]):
        b, square = capsule_body[i], 0.0
        for e in range(3):
            x, y, z = xmat[b, 3 * e], xmat[b, 3 * e + 1], xmat[b, 3 * e + 2]
            out[i, e] = xpos[b, e] + x * starts[i, 0] + y * starts[i, 1] + z * starts[i, 2]
            way = x * (ends[i, 0] - starts[i, 0]) + y * (ends[i, 1] - starts[i, 1]) + z * (ends[i, 2] - starts[i, 2])
            out[i, 3 + e] = way
            square += way * way
        out[i, 6] = np.sqrt(square)


@njit(**INNER)
def _nearest(p, d, q, g):
    """Shares (s, t) of the points p + s d and q + t g, 0 ≤ s, t ≤ 1, that are nearest to each other.

    Of parallel lines that lie beside each other the middle of the common part, so that a body that lies along another
    is pushed where it lies. A line of no length is a point.
    """
    a, b, e, c, f = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        r = p[i] - q[i]
        a += d[i] * d[i]
        b += d[i] * g[i]
        e += g[i] * g[i]
        c += d[i] * r
        f += g[i] * r
    if a < 1e-14 and e < 1e-14:
        return 0.5, 0.5
    if a < 1e-14:
        return 0.5, _share((f + 0.5 * b) / e, 0.0, 1.0)
    if e < 1e-14:
        return _share((0.5 * b - c) / a, 0.0, 1.0), 0.5
    apart = a * e - b * b
    if apart > PARALLEL * a * e:
        s = _share((b * f - c * e) / apart, 0.0, 1.0)
    else:
        one, two = -c / a, (b - c) / a  # the ends of the second line on the first
        low, high = max(min(one, two), 0.0), min(max(one, two), 1.0)
        s = 0.5 * (low + high) if low <= high else _share(0.5 * (one + two), 0.0, 1.0)
    t = (b * s + f) / e
    if t < 0.0 or t > 1.0:
        t = _share(t, 0.0, 1.0)
        s = _share((b * t - c) / a, 0.0, 1.0)
    return s, t


@njit(**INNER)
def _touch(one, two, radius, other_radius, first, second, normal):
    """Gap of two capsules; fills points and normal."""
    p, d, q, g = one[:3], one[3:6], two[:3], two[3:6]
    s, t = _nearest(p, d, q, g)
    length = 0.0
    for e in range(3):
        normal[e] = p[e] + s * d[e] - q[e] - t * g[e]
        length += normal[e] * normal[e]
    length = np.sqrt(length)
    if length > 1e-9:
        for e in range(3):
            normal[e] /= length
    else:
        _across(p, d, q, g, normal)
    for e in range(3):
        first[e] = p[e] + s * d[e] - radius * normal[e]
        second[e] = q[e] + t * g[e] + other_radius * normal[e]
    return length - radius - other_radius


@njit(**INNER)
def _across(p, d, q, g, normal):
    """Where middle lines cross: orthogonal to both, or to the longer one, on the side of the first one's middle."""
    size = 0.0
    for e in range(3):
        y, z = (e + 1) % 3, (e + 2) % 3
        normal[e] = d[y] * g[z] - d[z] * g[y]
        size += normal[e] * normal[e]
    long, wide = 0.0, 0.0
    for e in range(3):
        long += d[e] * d[e]
        wide += g[e] * g[e]
    if size <= PARALLEL * long * wide:
        axis = d if long >= wide else g
        least = 0
        for e in range(3):
            if abs(axis[e]) < abs(axis[least]):
                least = e
        square = max(long, wide)
        size = 0.0
        for e in range(3):
            share = axis[e] * axis[least] / square if square > 0.0 else 0.0
            normal[e] = (1.0 if e == (least if square > 0.0 else 2) else 0.0) - share
            size += normal[e] * normal[e]
    side = 0.0
    for e in range(3):
        side += normal[e] * (p[e] + 0.5 * d[e] - q[e] - 0.5 * g[e])
    size = np.sqrt(size) if side >= 0.0 else -np.sqrt(size)
    for e in range(3):
        normal[e] /= size


@njit(**KERNEL)
def _near_pairs(
    pairs, capsule_body, starts, ends, radii, xpos, xmat, reach, out, gaps, firsts, seconds, normals
):  # fmt: skip
    """Fill the pairs with a gap below `reach` in order; returns how many."""
    count, lines = 0, np.empty((starts.shape[0], 7))
    _lines(capsule_body, starts, ends, xpos, xmat, lines)
    for n in range(pairs.shape[0]):
        i, j = pairs[n, 0], pairs[n, 1]
        # balls around both tell most of them apart
        within = reach + radii[i] + radii[j] + 0.5 * (lines[i, 6] + lines[j, 6])
        between = 0.0
        for e in range(3):
            between += (lines[i, e] - lines[j, e] + 0.5 * (lines[i, 3 + e] - lines[j, 3 + e])) ** 2
        if within <= 0.0 or between >= within * within:
            continue
        gap = _touch(lines[i], lines[j], radii[i], radii[j], firsts[count], seconds[count], normals[count])
        if gap < reach:
            out[count], gaps[count] = n, gap
            count += 1
    return count


@njit(**KERNEL)
def _gaps(pairs, capsule_body, starts, ends, radii, xpos, xmat):
    """Gap of each pair, shape (N,)."""
    out, lines = np.empty(pairs.shape[0]), np.empty((starts.shape[0], 7))
    _lines(capsule_body, starts, ends, xpos, xmat, lines)
    one, two, normal = np.empty(3), np.empty(3), np.empty(3)
    for n in range(pairs.shape[0]):
        i, j = pairs[n, 0], pairs[n, 1]
        out[n] = _touch(lines[i], lines[j], radii[i], radii[j], one, two, normal)
    return out
