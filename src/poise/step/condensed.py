"""The fast path: accelerations eliminated, a non-negative least-squares problem in x = (λ, s) left.

In normal form, with z = (u, s), u = Σ λ_i share_i the columns contact forces act through, and s slacks of soft bounds,
the problem reads

    min ½ aᵀQ a − aᵀ(b + Cᵀz) + ½ zᵀS z + fᵀz + ½ Σ ε (λ − λ*)²    subject to  G a + D z = g,  λ ≥ 0, s ≥ 0.

Q = UᵀU; Y = U⁻ᵀ[b, Gᵀ, Cᵀ]; the columns of G are made orthonormal; what is left in x is solved by an active set. A soft
bound is left out until an answer breaks it; then its row and its slack s are taken in and the step is solved again.

Matrices are in C order; a symmetric one is kept in its upper triangle, which is the lower one in LAPACK's eyes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from poise import compiled
from poise.compiled import INNER_SUMS, SUMS, Table
from poise.light import address_of, borrow, flags, give_back, index, light, matrix, vector
from poise.step import active_set, algebra, lapack
from poise.step import eliminate as first_half
from poise.step import recover as second_half
from poise.step.active_set import nonnegative
from poise.step.condense import Condensed
from poise.step.eliminate import factorize, orthonormalize, project, take_in, to_coefficients
from poise.step.recover import certify, go_back, take_broken

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

SOLVED, NOT_POSITIVE, DEPENDENT, CYCLED = 0, 1, 2, 3
__all__ = ["CYCLED", "DEPENDENT", "NOT_POSITIVE", "SOLVED", "Answer", "solve_condensed", "solve_table"]
_ROUNDS = 12
ADDRESSES = np.array(lapack.addresses(), dtype=np.int64)
"""Of what the kernels call, see `lapack.addresses`, shape (5,)."""


class Answer(NamedTuple):
    """What a solve found.

    Attributes:
        status: SOLVED, or why not.
        a, coefficients: Shapes (nv,), (n,).
        acting: Which bounds act: their slack is zero.
        residuals: Primal, dual, gap (see `Certificate`), and the number of small solves.
    """

    status: int
    a: Array
    coefficients: Array
    acting: Flags
    residuals: Array


def solve_condensed(problem: Condensed, warm: Flags, taken: Flags) -> Answer:
    """Solve a step.

    Args:
        problem: The step in normal form.
        warm: Coefficients expected to be positive, shape (n,).
        taken: Bounds that are in from the start; those that turn out to be needed are added to it.
    """
    normal, equal, bounds, weight, target = problem
    share, first, width, _ = normal.columns
    (c, nv), n, k = normal.C.shape, len(weight), len(equal.g)
    a, x, slacks, residuals = np.empty(nv), np.zeros(n), np.zeros(len(taken)), np.zeros(4)
    arrays = (
        normal.Q, normal.b, normal.S, normal.f, normal.C, *equal, *bounds, share, first, width, weight, target, warm,
        taken, a, x, slacks, residuals,
    )  # fmt: skip
    table = Table([np.ascontiguousarray(array) if array is not taken else array for array in arrays])
    status = solve_table(table.at, np.array([nv, c, n, k, len(taken), bounds.X.shape[1]]))
    return Answer(status, a, x, taken & (slacks <= 0.0), residuals)


def solve_table(at: Index, sizes: Index) -> int:
    """Solve a problem whose arrays stand in a table, in the order of `solve_at`; fills its answer, returns a status."""
    return solve_at(at, sizes, ADDRESSES)


@njit(**SUMS)
def solve_at(at, sizes, addresses):
    sizes = light(sizes)
    nv, c, n, k, count = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    size, wide = c + count, n + count  # the most there can be, with every bound taken in
    room = (2 + k + size) * nv + (nv + 1) * nv + 2 * k * (1 + size) + size * (size + 1) + wide * (wide + 3) + count
    spare = (n + 3) * (size + 5) + count + k * (k + 1)
    borrowed = borrow(room + spare)
    status = _solve(light(at), sizes, light(addresses), address_of(borrowed))
    give_back(borrowed)
    return status


@njit(**INNER_SUMS)
def _solve(at, sizes, addresses, room):
    """`solve_at`, with room for what it makes at an address."""
    nv, c, n, k, count, wide = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    Q, b, S, f, C = (
        matrix(at[0], nv, nv),
        vector(at[1], nv),
        matrix(at[2], c, c),
        vector(at[3], c),
        matrix(at[4], c, nv),
    )
    G, D, g = matrix(at[5], k, nv), matrix(at[6], k, c), vector(at[7], k)
    J, X, lower, bound_weight = (
        matrix(at[8], count, nv),
        matrix(at[9], count, wide),
        vector(at[10], count),
        vector(at[11], count),
    )
    share, first, width = matrix(at[12], n, 6), index(at[13], n), index(at[14], n)
    weight, target, warm, taken = vector(at[15], n), vector(at[16], n), flags(at[17], n), flags(at[18], count)
    a, coefficients, slacks = vector(at[19], nv), vector(at[20], n), vector(at[21], count)
    residuals = vector(at[22], 4)
    chosen, expected = index(room, count), flags(room + 8 * count, n + count)
    room += 8 * (n + 2 * count)
    for i in range(4):
        residuals[i] = 0.0
    for i in range(n + count):
        expected[i] = i < n and warm[i]
    for i in range(n):
        coefficients[i] = 0.0
        if not (weight[i] >= 0.0 and math.isfinite(weight[i] * target[i])):
            return NOT_POSITIVE
    for _ in range(_ROUNDS):
        more = 0
        for i in range(count):
            slacks[i] = 0.0
            if taken[i]:
                chosen[more] = i
                more += 1
        now, size = chosen[:more], c + more
        # Y: y, the rows of N (k) and of P (c + more) for z = (u, s); N: t0, N y, and T, N Cᵀ by rows
        unknowns, rows, at_Y = n + more, 1 + k + size, room + 8 * nv * nv
        at_N = at_Y + 8 * rows * nv
        at_Z = at_N + 16 * k * (1 + size)
        at_z = at_Z + 8 * size * size
        at_h = at_z + 8 * size
        at_H = at_h + 16 * unknowns
        spare = at_H + 8 * unknowns * unknowns
        U, Y, N = matrix(room, nv, nv), matrix(at_Y, rows, nv), matrix(at_N, k, 2 + 2 * size)
        Z, z, H = matrix(at_Z, size, size), vector(at_z, size), matrix(at_H, unknowns, unknowns)
        h, x = vector(at_h, unknowns), vector(at_h + 8 * unknowns, unknowns)
        take_in(Q, b, S, f, C, G, J, X, lower, bound_weight, now, U, Y, Z, z)
        if not factorize(U, Y, addresses):
            return NOT_POSITIVE
        if not orthonormalize(Y, D, g, N):
            return DEPENDENT
        project(Y, N, Z, z, addresses)
        to_coefficients(share, first, width, weight, target, z, Z, H, h, spare)
        solves = nonnegative(H, h, expected, x)
        if solves < 0:
            return CYCLED
        residuals[3] += solves
        if not go_back(share, first, width, now, U, Y, N, x, z, a, slacks):
            return NOT_POSITIVE
        if take_broken(J, X, lower, bound_weight, a, z, taken):
            certify(
                Q, b, S, f, C, G, D, g, J, X, lower, bound_weight, share, first, width, weight, target, x, z, a,
                slacks, taken, residuals, spare,
            )  # fmt: skip
            for i in range(n):
                coefficients[i] = x[i]
            return SOLVED
    return CYCLED


solve_at = compiled.calls(solve_at, *(str(file.__file__) for file in (active_set, algebra, first_half, second_half)))
