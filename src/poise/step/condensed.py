"""The fast path: accelerations eliminated, a non-negative least-squares problem in x = (λ, s) left.

In normal form, with z = (u, s), u = Σ λ_i share_i the columns contact forces act through, and s slacks of soft bounds,
the problem reads

    min ½ aᵀQ a − aᵀ(b + Cᵀz) + ½ zᵀS z + fᵀz + ½ Σ ε (λ − λ*)²    subject to  G a + D z = g,  λ ≥ 0, s ≥ 0.

Q = UᵀU; Y = U⁻ᵀ[b, Gᵀ, Cᵀ]; the columns of G are made orthonormal; what is left in x is solved by an active set. A soft
bound is left out until an answer breaks it; then its row and its slack s are taken in and the step is solved again.

Matrices are in C order; a symmetric one is kept in its upper triangle, which is the lower one in LAPACK's eyes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poise.step import lapack
from poise.step.active_set import nonnegative
from poise.step.condense import Condensed
from poise.step.eliminate import DEPENDENT, NOT_POSITIVE, SOLVED, eliminate
from poise.step.recover import MORE, recover

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CYCLED = 3
__all__ = ["CYCLED", "DEPENDENT", "NOT_POSITIVE", "SOLVED", "Answer", "solve_condensed"]
_ROUNDS = 12
_ADDRESSES = lapack.addresses()


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
    given: Any = (
        normal.Q,
        normal.b,
        normal.S,
        normal.f,
        normal.C,
        *equal,
        *bounds,
        share,
        first,
        width,
        weight,
        target,
    )
    a, residuals, slacks = np.empty(nv), np.zeros(4), np.zeros(len(taken))
    status = MORE
    for _ in range(_ROUNDS):
        chosen = taken.nonzero()[0]
        more = len(chosen)
        size, count = c + more, n + more
        U, Y, N, z = np.empty((nv, nv)), np.empty((1 + k + size, nv)), np.empty((k, 2 + 2 * size)), np.empty(size)
        x, h, H = np.empty(count), np.empty(count), np.empty((count, count))
        Z, half = np.empty((size, size)), np.empty((n, size))
        status = eliminate(*given, chosen, _ADDRESSES, U, Y, N, Z, half, z, H, h)  # pyright: ignore[reportCallIssue]
        if status != SOLVED:
            break
        solves = nonnegative(H, h, np.concatenate([warm, np.zeros(more, dtype=np.bool_)]) if more else warm, x)
        if solves < 0:
            status = CYCLED
            break
        residuals[3] += solves
        status = recover(*given, chosen, U, Y, N, x, z, a, slacks, taken, residuals)  # pyright: ignore[reportCallIssue]
        if status == SOLVED:
            return Answer(SOLVED, a, x[:n], taken & (slacks <= 0.0), residuals)
        if status != MORE:
            break
    return Answer(CYCLED if status == MORE else status, a, np.zeros(n), taken, residuals)
