"""Compiled surface axes, friction pyramids, and the columns through which plain contacts act.

`contacts.tangents`, `Contacts.directions` and `Contacts.force_map` are the plain twins.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from poise.compiled import INNER, KERNEL, shared
from poise.light import address_of, borrow, give_back, index, larger, room
from poise.physics import State

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class Columns(NamedTuple):
    """A few columns u through which the coefficients λ act on the joints: Bᵀ λ = map u, u = Σ_i λ_i share_i.

    The points of one body push through one wrench, so there are at most six columns a body; a body with one or two
    points gets three a point instead, its force.

    Attributes:
        share: What each coefficient adds to `width` columns from `first` on, shape (n, 6).
        first, width: Per coefficient, shape (n,).
        map: Generalized force of each column, shape (nv, c).
    """

    share: Array
    first: Index
    width: Index
    map: Array

    @staticmethod
    def plain(force_map: Array) -> Columns:
        """One column for each coefficient, from B (n, nv)."""
        n = len(force_map)
        share = np.zeros((n, 6))
        share[:, 0] = 1.0
        return Columns(share, np.arange(n), np.ones(n, dtype=np.int64), np.ascontiguousarray(force_map.T))

    def force_map(self) -> Array:
        """B, shape (n, nv)."""
        if (self.width == 1).all():
            return self.map.T[self.first] * self.share[:, :1]
        out = np.zeros((len(self.first), len(self.map)))
        for i, (first, width) in enumerate(zip(self.first, self.width, strict=True)):
            out[i] = self.map[:, first : first + width] @ self.share[i, :width]
        return out

    def mean_diagonal(self, weights: Array) -> float:
        """Mean diagonal of B W Bᵀ for a diagonal W, shape (nv,)."""
        return mean_diagonal_of(self.map, self.share, self.first, self.width, weights)


def columns(state: State, points: Index, normals: Array, friction: float) -> tuple[Array, Index, Columns]:
    """Columns of V as rows (4 K, 3), the contact of each (4 K,), and what they act through; for the world alone."""
    m, n = state.model, 4 * len(points)
    directions, share = np.empty((n, 3)), np.empty((n, 6))
    owner, first, width = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    count = spread(
        points, np.ascontiguousarray(normals), float(friction), state.points, state.point_body, m.tree_root,
        state.data.subtree_com, directions, owner, share, first, width,
    )  # fmt: skip
    acts = np.zeros((m.nv, count))
    act(
        points, first, width, state.points, state.point_body, m.tree_root, state.data.subtree_com, m.parents,
        m.dof_first, m.dof_count, state.data.cdof, acts,
    )  # fmt: skip
    return directions, owner, Columns(share, first, width, acts)


@njit(**INNER)
def _tangents(n, first, second):
    # the part of x orthogonal to the normal; of y where the normal is close to x
    axis = 1 if abs(n[0]) > 0.9 else 0
    length = 0.0
    for e in range(3):
        first[e] = (1.0 if e == axis else 0.0) - n[e] * n[axis]
        length += first[e] * first[e]
    length = math.sqrt(length)
    for e in range(3):
        first[e] /= length
    second[0] = n[1] * first[2] - n[2] * first[1]
    second[1] = n[2] * first[0] - n[0] * first[2]
    second[2] = n[0] * first[1] - n[1] * first[0]


@njit(**KERNEL)
def frames(normals):
    """Two tangents and the normal as rows, shape (K, 3, 3)."""
    out = np.empty((normals.shape[0], 3, 3))
    put_frames(normals, out)
    return out


@njit(**INNER)
def put_frames(normals, out):
    """Fill `frames`."""
    for k in range(normals.shape[0]):
        for e in range(3):
            out[k, 2, e] = normals[k, e]
        _tangents(normals[k], out[k, 0], out[k, 1])


@shared(**KERNEL)
def spread(
    points, normals, friction, places, point_body, tree_root, subtree_com, directions, owner, share, first, width
):  # fmt: skip
    """Fill `directions`, `owner` and what `Columns` holds but its map; returns the number of columns."""
    bodies = tree_root.shape[0]
    borrowed = borrow(2 * bodies)
    tally, start = index(address_of(borrowed), bodies), index(address_of(borrowed) + 8 * bodies, bodies)
    for b in range(bodies):
        tally[b], start[b] = 0, -1
    for k in range(points.shape[0]):
        tally[point_body[points[k]]] += 1
    one, two, count = room(3), room(3), 0
    for k in range(points.shape[0]):
        i = points[k]
        b = point_body[i]
        root = tree_root[b]
        is_alone = tally[b] <= 2
        at = count if is_alone or start[b] < 0 else start[b]
        start[b] = at
        count = larger(count, at + (3 if is_alone else 6))
        _tangents(normals[k], one, two)
        for c in range(4):
            row = 4 * k + c
            owner[row], first[row], width[row] = k, at, 3 if is_alone else 6
            for e in range(3):
                side = one[e] if c < 2 else two[e]
                directions[row, e] = normals[k, e] + (friction if c % 2 == 0 else -friction) * side
            for e in range(3):
                y, z = (e + 1) % 3, (e + 2) % 3
                moment = (places[i, y] - subtree_com[root, y]) * directions[row, z]
                moment -= (places[i, z] - subtree_com[root, z]) * directions[row, y]
                share[row, e] = directions[row, e]
                share[row, 3 + e] = 0.0 if is_alone else moment
    give_back(borrowed)
    return count


@shared(**KERNEL)
def act(
    points, first, width, places, point_body, tree_root, subtree_com, parents, dof_first, dof_count, cdof, out
):  # fmt: skip
    """Fill the map of `Columns`, zero before: the motion of a body, at a point or at its tree's center of mass."""
    done = 0
    for k in range(points.shape[0]):
        at = first[4 * k]
        if at < done:
            continue
        done = at + width[4 * k]
        i = points[k]
        b = point_body[i]
        o = subtree_com[tree_root[b]]
        rx, ry, rz = places[i, 0] - o[0], places[i, 1] - o[1], places[i, 2] - o[2]
        if width[4 * k] == 6:
            rx = ry = rz = 0.0
        while b > 0:
            for j in range(dof_first[b], dof_first[b] + dof_count[b]):
                wx, wy, wz = cdof[j, 0], cdof[j, 1], cdof[j, 2]
                out[j, at] = cdof[j, 3] + wy * rz - wz * ry
                out[j, at + 1] = cdof[j, 4] + wz * rx - wx * rz
                out[j, at + 2] = cdof[j, 5] + wx * ry - wy * rx
                if width[4 * k] == 6:
                    out[j, at + 3], out[j, at + 4], out[j, at + 5] = wx, wy, wz
            b = parents[b]


@njit(**KERNEL)
def mean_diagonal_of(acts, share, first, width, weights):
    """Mean diagonal of B W Bᵀ for the B of `Columns` and a diagonal W (nv,)."""
    total, gram = 0.0, np.empty((6, 6))
    known = -1
    for i in range(first.shape[0]):
        at, w = first[i], width[i]
        if at != known:
            known = at
            for c in range(w):
                for d in range(c + 1):
                    s = 0.0
                    for j in range(acts.shape[0]):
                        s += acts[j, at + c] * acts[j, at + d] * weights[j]
                    gram[c, d], gram[d, c] = s, s
        for c in range(w):
            for d in range(w):
                total += share[i, c] * share[i, d] * gram[c, d]
    return total / max(first.shape[0], 1)
