"""Objectives in normal form: every block adds its weighted squares to the same few small matrices.

    Σ w ‖A a + X u − r‖² = aᵀQ a − 2 aᵀ(b + Cᵀu) + uᵀS u + 2 fᵀu + constant

u are the columns through which contact forces act (`cones.Columns`). Matrices are in C order; a symmetric one is kept
in its upper triangle.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from poise.compiled import INNER_SUMS, SUMS, call, shared
from poise.light import address_of, borrow, give_back, kept, room, smaller, vector
from poise.light import index as whole_numbers
from poise.physics import State
from poise.step.cones import Columns
from poise.step.lapack import limit_threads
from poise.step.objective import Objective, as_rows

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class Normal:
    """The sum under construction, for one solve.

    Attributes:
        state: The state of the step.
        columns: What contact forces act through.
        Q, b, S, f, C: As above, shapes (nv, nv), (nv,), (c, c), (c,), (c, nv).
    """

    def __init__(self, state: State, columns: Columns) -> None:
        nv, c = state.model.nv, columns.map.shape[1]
        self.state, self.columns = state, columns
        self.Q, self.b = np.zeros((nv, nv)), np.zeros(nv)
        self.S, self.f, self.C = np.zeros((c, c)), np.zeros(c), np.zeros((c, nv))
        self._on_bodies: tuple[Array, Array] | None = None

    def add(
        self, objective: Objective, on_a: Array, c: Array, on_columns: Array | None = None, sign: float = 1.0
    ) -> None:
        """Add w ‖on_a a + sign on_columns u + c − target‖²; shapes (m, nv), (m, columns), (m,)."""
        weight, target = _numbers(objective, len(c))
        if on_columns is None:
            on_columns = np.empty((len(c), 0))
        add_rows(on_a, on_columns, sign, weight, target, c, self.Q, self.b, self.S, self.f, self.C)

    def add_dofs(self, objective: Objective, first: int, end: int) -> None:
        """Add w (a_i − target)² of the dofs from first to end."""
        add_dofs(first, *_numbers(objective, end - first), self.Q, self.b)

    def add_turns(self, objective: Objective) -> bool:
        """Add w ‖α − target‖² of all bodies but the world, three rows each; False if a body's three weights differ."""
        state = self.state
        weight, target = _numbers(objective, 3 * (state.model.body_count - 1))
        squares, sums = self._bodies()
        return add_turns(weight, target, state.body_biases, squares, sums)

    def add_directions(self, objective: Objective, points: Index, axes: Array) -> None:
        """Add w (axis · acceleration − target)² of contact points (K,), axes (K, m, 3)."""
        state, model = self.state, self.state.model
        weight, target = _numbers(objective, axes.shape[0] * axes.shape[1])
        squares, sums = self._bodies()
        add_directions(
            points, axes, weight, target, state.points, state.point_biases, state.point_body, model.tree_root,
            state.data.subtree_com, squares, sums,
        )  # fmt: skip

    def close(self) -> None:
        """Bring what was added on bodies to the joints; call once, at the end."""
        if self._on_bodies is not None:
            m = self.state.model
            close_bodies(m.parents, m.dof_first, m.dof_count, self.state.data.cdof, *self._on_bodies, self.Q, self.b)

    def _bodies(self) -> tuple[Array, Array]:
        """Squares (B, 6, 6) and sums (B, 6) of wishes on the spatial accelerations (angular, linear) of the bodies."""
        if self._on_bodies is None:
            count = self.state.model.body_count
            self._on_bodies = np.zeros((count, 6, 6)), np.zeros((count, 6))
        return self._on_bodies


def _numbers(term: Objective, count: int) -> tuple[Array, Array]:
    """Weight and target, one number per row."""
    return as_rows(term.weight, count, term), as_rows(term.target, count, term)


@shared(**SUMS)
def add_rows(A, X, sign, w, target, constant, Q, b, S, f, C):
    """Add the normal form of Σ w (A a + sign X u + constant − target)², A (m, nv), X (m, c) or (m, 0).

    Rows of a tree are mostly zeros: for each column those that are not are gathered, and taken in four at a time. With
    Q of shape (0, 0) what is of a alone is left to `add_square`: faster where there are as many rows as dofs.
    """
    m, nv, c = A.shape[0], A.shape[1], X.shape[1]
    borrowed = borrow(2 * (m + 4))
    index, value = whole_numbers(address_of(borrowed), m + 4), vector(address_of(borrowed) + 8 * (m + 4), m + 4)
    for i in range(0 if Q.shape[0] > 0 else nv, nv + c):
        count, total = 0, 0.0
        for k in range(m):
            x = A[k, i] if i < nv else X[k, i - nv]
            if x != 0.0:
                x *= w[k] if w[k] >= 0.0 else math.nan
                total += x * (target[k] - constant[k])
                index[count], value[count] = k, x
                count += 1
        for k in range(count, count + 3):
            index[k], value[k] = 0, 0.0
        u = i - nv
        if i < nv:
            b[i] += total
        else:
            f[u] -= sign * total
        for g in range(0, count, 4):
            p, q, s, t = index[g], index[g + 1], index[g + 2], index[g + 3]
            vp, vq, vs, vt = value[g], value[g + 1], value[g + 2], value[g + 3]
            if i < nv:
                for j in range(i, nv):
                    Q[i, j] += vp * A[p, j] + vq * A[q, j] + vs * A[s, j] + vt * A[t, j]
            else:
                for j in range(nv):
                    C[u, j] -= sign * (vp * A[p, j] + vq * A[q, j] + vs * A[s, j] + vt * A[t, j])
                for j in range(u, c):
                    S[u, j] += vp * X[p, j] + vq * X[q, j] + vs * X[s, j] + vt * X[t, j]
    give_back(borrowed)


@njit(**INNER_SUMS)
def add_square(A, w, target, constant, rows, Q, b, addresses):
    """Add Aᵀ W A to the upper triangle of Q, by BLAS, and Aᵀ W (target − constant) to b; `rows` is room, A's shape."""
    m, nv = A.shape[0], A.shape[1]
    for k in range(m):
        root = math.sqrt(w[k])  # nan where a weight is negative
        wished = root * (target[k] - constant[k])
        for j in range(nv):
            rows[k, j] = root * A[k, j]
            b[j] += wished * rows[k, j]
    low, plain, wide, deep = kept(np.uint8(76)), kept(np.uint8(78)), kept(np.int32(nv)), kept(np.int32(m))
    one = kept(1.0)
    threads = limit_threads(addresses[3], 1) if addresses[3] != 0 else 0
    call(addresses[0], (low, plain, wide, deep, one, address_of(rows), wide, one, address_of(Q), wide))
    if threads > 1:
        limit_threads(addresses[3], threads)


@shared(**SUMS)
def add_dofs(first, weight, target, Q, b):
    """Add Σ w (a_i − target)² of the dofs from `first` on."""
    for i in range(weight.shape[0]):
        w = weight[i] if weight[i] >= 0.0 else math.nan
        Q[first + i, first + i] += w
        b[first + i] += w * target[i]


@shared(**SUMS)
def add_turns(weight, target, biases, squares, sums):
    """Add wishes on angular accelerations; False, with nothing added, where the three weights of a body differ."""
    for i in range(0, weight.shape[0], 3):
        if weight[i + 1] != weight[i] or weight[i + 2] != weight[i]:
            return False
    for i in range(weight.shape[0]):
        body, e = i // 3 + 1, i % 3
        w = weight[i] if weight[i] >= 0.0 else math.nan
        squares[body, e, e] += w
        sums[body, e] += w * (target[i] - biases[body, e])
    return True


@shared(**SUMS)
def add_directions(points, axes, weight, target, places, biases, point_body, tree_root, subtree_com, squares, sums):
    """Add wishes on accelerations of points along axes."""
    row = room(6)
    for k in range(points.shape[0]):
        i = points[k]
        body = point_body[i]
        root = tree_root[body]
        for m in range(axes.shape[1]):
            at = k * axes.shape[1] + m
            w, r = weight[at] if weight[at] >= 0.0 else math.nan, target[at]
            if w == 0.0:
                continue
            for e in range(3):
                # the row is (place × axis, axis), the place seen from the tree's center of mass
                y, z = (e + 1) % 3, (e + 2) % 3
                row[e] = (places[i, y] - subtree_com[root, y]) * axes[k, m, z]
                row[e] -= (places[i, z] - subtree_com[root, z]) * axes[k, m, y]
                row[3 + e] = axes[k, m, e]
                r -= axes[k, m, e] * biases[i, e]
            for e in range(6):
                sums[body, e] += w * r * row[e]
                for d in range(6):
                    squares[body, e, d] += w * row[e] * row[d]


@shared(**SUMS)
def close_bodies(parents, dof_first, dof_count, cdof, squares, sums, Q, b):
    """Add Σ_bodies Jᵀ squares J to Q and Jᵀ sums to b, J the spatial Jacobian of a body.

    Its columns are cdof of the body's own and its ancestors' dofs, so the entry (i, j) of the sum is
    cdof_iᵀ (squares summed over the subtree of the deeper body) cdof_j.
    """
    moved = room(6)
    for body in range(parents.shape[0] - 1, 0, -1):
        parent = parents[body]
        for e in range(6):
            sums[parent, e] += sums[body, e]
            for d in range(6):
                squares[parent, e, d] += squares[body, e, d]
        for j in range(dof_first[body], dof_first[body] + dof_count[body]):
            for e in range(6):
                s = 0.0
                for d in range(6):
                    s += squares[body, e, d] * cdof[j, d]
                moved[e] = s
                b[j] += cdof[j, e] * sums[body, e]
            x = body
            while x > 0:
                for i in range(dof_first[x], smaller(dof_first[x] + dof_count[x], j + 1)):
                    s = 0.0
                    for e in range(6):
                        s += cdof[i, e] * moved[e]
                    Q[i, j] += s
                x = parents[x]
