"""The readable path: the whole quadratic program in (a, λ, s), handed to daqp.

    min ½ zᵀP z + qᵀz    subject to  G z = g (equalities),  H z ≥ h (hard bounds),  λ ≥ 0, s ≥ 0.

It is the oracle of the fast path and the solver of hard bounds.

daqp first makes a least-distance problem of it: with P = Uᵀ U and y = U z + U⁻ᵀ q it is min ½ ‖y‖² under the rows
times U⁻¹. Here LAPACK does that, which is faster, and daqp gets the problem in y. It starts from what is expected to
act: that changes the time, not the answer.
"""

# pyright: reportAttributeAccessIssue=false
# SciPy's doors to BLAS and LAPACK are compiled and carry no types
from __future__ import annotations

from typing import NamedTuple

import daqp
import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack, null_space

from poise.core.errors import StepInfeasible
from poise.core.typing import Array, Flags, Index
from poise.step.problem import Gathered

_EQUALITY = 5
_USUAL, _FINE = 3.7e-11, 1e-14
_TRIES = (
    (0.0, 1e-11, 1e-13, _USUAL, 0),
    (0.0, 1e-11, 1e-13, _FINE, 1),
    (1e-7, 1e-9, 1e-11, _FINE, 1),
    (1e-5, 1e-8, 1e-10, _FINE, 1),
)
"""Proximal term, primal and dual tolerance, the pivot below which rows depend on each other, and whether equalities are
eliminated first. Exact first; then finer, since weights of 1e-7 beside 1e3 make rows of a narrow torque band seem
dependent, and daqp calls what has a solution infeasible; then more patient."""

MOST_ITERATIONS = 2000
"""So often daqp changes its active set in one try; hard steps need up to 900, one without an end ran for minutes."""
PATIENCE = 50
"""So many changes without progress are not a cycle: with many points on one body progress is slow."""
_MOST = 1e30
"""daqp's infinity."""
ROUNDING = float(np.finfo(float).eps)
NONE: tuple[Array | None, Array, int] = None, np.zeros(0), 0
"""No answer, multipliers and iterations."""
MISSED = 1e-7
"""An answer that misses an equality by more, in its own unit, is moved to the nearest point that meets them all."""


class _Program(NamedTuple):
    """min ½ zᵀP z + qᵀz, lower ≤ (z, A z) ≤ upper; its unknowns and rows are of order one.

    Attributes:
        P, q, A, lower, upper: As above, shapes (N, N), (N,), (m, N), (N + m,).
        sense: daqp's: 5 for equalities, shape (N + m,).
        free: The first unknowns, so many, have no bound of their own.
        scale: What the unknowns were divided by, shape (N,).
        size: What the rows were divided by, shape (m,).
    """

    P: Array
    q: Array
    A: Array
    lower: Array
    upper: Array
    sense: npt.NDArray[np.int32]
    free: int
    scale: Array
    size: Array


class FullAnswer(NamedTuple):
    """What `solve_full` found.

    Attributes:
        a, coefficients, slacks: Shapes (nv,), (n,), (k,).
        acting: Which bounds act, in the order of `Gathered.bound_row`.
        residuals: Relative: primal, dual, duality gap.
        iterations: Of daqp.
    """

    a: Array
    coefficients: Array
    slacks: Array
    acting: Flags
    residuals: tuple[float, float, float]
    iterations: int


def solve_full(problem: Gathered, warm: Flags | None = None, warm_bounds: Flags | None = None) -> FullAnswer:
    """Solve for accelerations, coefficients and slacks.

    Args:
        problem: Objectives and constraints as numbers.
        warm, warm_bounds: As in `solve_step`.

    Raises:
        StepInfeasible: if the hard constraints cannot hold together, or if the objectives and the equalities leave some
            motion free, so that any answer is as good as another.
    """
    nv, n, equals = problem.A.shape[1], len(problem.lambda_weight), len(problem.g)
    p = _program(problem)
    U, failed = lapack.dpotrf(p.P.T, lower=0, clean=1)
    # a square root that rounding alone made is none
    is_definite = not failed and float(np.diagonal(U).min()) ** 2 > ROUNDING * len(U)
    if not is_definite and _leaves_free(p.P, p.A[:equals]):
        raise StepInfeasible(
            "The step could not be solved: the objectives leave some motion of the joints free. Give every joint an "
            "objective with a weight, for example JointAcceleration.",
            problem=problem,
            constraints=tuple(dict.fromkeys(problem.equal_names)),
        )
    start = _start(problem, warm, warm_bounds)
    scaled, multipliers, iterations = _least_distance(p, U, start) if is_definite else NONE
    flag = 1
    if scaled is None:
        scaled, multipliers, iterations, flag = _whole(p)
    if scaled is None:
        raise _infeasible(problem, flag)
    # λ and s are zero or more before the equalities are met: later it would be undone
    own = np.where(multipliers[nv : len(scaled)] < 0.0, 0.0, np.maximum(scaled[nv:], 0.0))
    scaled = np.concatenate([scaled[:nv], own])
    scaled = _met(p.A[:equals], p.upper[len(p.q) :][:equals], p.size[:equals], scaled, nv)
    z = scaled * p.scale
    if not np.isfinite(z).all():
        raise _infeasible(problem, flag)
    residuals = _certify(p, scaled, multipliers)
    acting = multipliers[nv:][_places(problem)] * problem.bound_sign > 0.0
    return FullAnswer(z[:nv], z[nv : nv + n], z[nv + n :], acting, residuals, iterations)


def _places(problem: Gathered) -> Index:
    """Where the multiplier of each bound is behind those of the accelerations."""
    is_hard = problem.bound_row >= len(problem.soft_weight)
    return len(problem.lambda_weight) + problem.bound_row + is_hard * len(problem.g)


def _start(problem: Gathered, warm: Flags | None, warm_bounds: Flags | None) -> Array | None:
    """Multipliers of λ ≥ 0, s ≥ 0, the equalities and the hard bounds of whose signs daqp starts; None where nothing is
    known. They are positive at an upper bound.
    """
    n, places = len(problem.lambda_weight), _places(problem)
    out = np.zeros(n + len(problem.soft_weight) + len(problem.g) + len(problem.hard_lower))
    if warm is not None and len(warm) == n:
        out[:n] = np.where(warm, 0.0, -1.0)
    if warm_bounds is not None and len(warm_bounds) == len(places):
        out[places[warm_bounds]] = problem.bound_sign[warm_bounds]
    return out if out.any() else None


def _program(problem: Gathered) -> _Program:
    """The program over z = (a, λ, s)."""
    nv, n, k = problem.A.shape[1], len(problem.lambda_weight), len(problem.soft_weight)
    m, count = len(problem.w), nv + n + k
    rows = np.zeros((m + k, count))
    rows[:m, :nv], rows[m:, :nv] = problem.A, problem.soft_J
    rows[: problem.coupled, nv : nv + n] = problem.X
    if problem.soft_X.shape[1]:
        rows[m:, nv : nv + n] = problem.soft_X
    rows[m:, nv + n :].flat[:: k + 1] = -1.0
    roots = np.sqrt(np.concatenate([problem.w, problem.soft_weight]))
    rows *= roots[:, None]
    P = rows.T @ rows
    q = rows.T @ (roots * np.concatenate([problem.r, problem.soft_lower]))
    diagonal = P.reshape(-1)[:: count + 1]
    diagonal[:nv] += problem.dof_weight
    diagonal[nv : nv + n] += problem.lambda_weight
    q[:nv] += problem.dof_pull
    q[nv : nv + n] += problem.lambda_weight * problem.lambda_target
    # daqp works to absolute tolerances: give it unknowns of order one
    scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-300))
    P *= scale
    P *= scale[:, None]
    equals, bounds = len(problem.g), len(problem.hard_lower)
    A = np.zeros((equals + bounds, count))
    A[:equals, :nv], A[equals:, :nv] = problem.G, problem.hard_J
    A[:equals, nv : nv + n], A[equals:, nv : nv + n] = problem.D, problem.hard_X
    A *= scale
    sides = np.concatenate([problem.g, problem.hard_lower])
    # a row is as exact as its own numbers are large, but must not vanish
    size = np.maximum(np.sqrt(np.einsum("ij,ij->i", A, A)), 1e-300)
    size *= np.clip(np.where(np.isfinite(sides), np.abs(sides), 0.0) / size, 1.0, 1e3)
    A /= size[:, None]
    lower, upper = np.zeros(count + equals + bounds), np.full(count + equals + bounds, np.inf)
    lower[:nv] = -np.inf
    np.divide(sides, size, out=lower[count:])
    np.divide(problem.g, size[:equals], out=upper[count : count + equals])
    np.divide(problem.hard_upper, size[equals:], out=upper[count + equals :])
    sense = np.zeros(len(lower), dtype=np.int32)
    sense[count : count + equals] = _EQUALITY
    return _Program(P, -scale * q, A, lower, upper, sense, nv, scale, size)


def _leaves_free(P: Array, equalities: Array) -> bool:
    """True if a direction that the equalities leave free costs nothing."""
    free = null_space(equalities) if len(equalities) else np.eye(len(P))
    costs = np.linalg.eigvalsh(free.T @ P @ free) if free.size else np.ones(1)
    return float(costs[0]) <= ROUNDING * len(P) * max(float(costs[-1]), 1.0)


def _least_distance(p: _Program, U: Array, start: Array | None) -> tuple[Array | None, Array, int]:
    """The answer, its multipliers and iterations by way of y = U z + U⁻ᵀ q; no answer where that does not get through.

    Rows of the unknowns' own bounds have no part on the free ones, since U is a triangle.
    """
    count, free = len(p.q), p.free
    sides = np.empty((count, len(p.A) + 1), order="F")
    sides[:, :-1], sides[:, -1] = p.A.T, p.q
    sides = blas.dtrsm(1.0, U, sides, trans_a=1, overwrite_b=1)
    rows = np.zeros((count - free + len(p.A), count))
    if free < count:
        rows[: count - free, free:], _ = lapack.dtrtri(U[free:, free:])
    rows[count - free :] = sides[:, :-1].T
    moved = rows @ sides[:, -1]
    lower, upper = np.maximum(p.lower[free:] + moved, -_MOST), np.minimum(p.upper[free:] + moved, _MOST)
    _, primal, dual, pivot, _ = _TRIES[0]
    starts = [start, None] if start is not None else [None]
    for dual_start in starts:
        y, _, flag, info = daqp.solve(
            np.eye(count),
            None,
            rows,
            upper,
            lower,
            p.sense[free:].copy(),
            primal_tol=primal,
            dual_tol=dual,
            eps_prox=0.0,
            sing_tol=pivot,
            cycle_tol=PATIENCE,
            iter_limit=MOST_ITERATIONS,
            dual_start=dual_start,
        )
        if flag >= 1 and y is not None:
            z = blas.dtrsv(U, np.asarray(y) - sides[:, -1])
            return z, np.concatenate([np.zeros(free), info["lam"]]), int(info["iterations"])
    return NONE


def _whole(p: _Program) -> tuple[Array | None, Array, int, int]:
    """The answer, its multipliers, iterations and daqp's flag, with more and more patience."""
    lower, upper = np.maximum(p.lower, -_MOST), np.minimum(p.upper, _MOST)
    flag = 0
    for proximal, primal, dual, pivot, reduced in _TRIES:
        z, _, flag, info = daqp.solve(
            p.P,
            p.q,
            p.A,
            upper,
            lower,
            p.sense.copy(),
            primal_tol=primal,
            dual_tol=dual,
            eps_prox=proximal,
            sing_tol=pivot,
            eq_reduction=reduced,
            cycle_tol=PATIENCE,
            iter_limit=MOST_ITERATIONS,
        )
        if flag >= 1 and z is not None:
            return np.asarray(z), np.asarray(info["lam"]), int(info["iterations"]), flag
    return None, p.q, 0, flag


def _met(A: Array, sides: Array, size: Array, z: Array, nv: int) -> Array:
    """The answer with accelerations, its first nv, moved so that they meet A z = sides.

    An answer that does within a hair is returned as it is; `size` is what the rows were divided by.
    """
    missed = sides - A @ z
    if float(np.abs(size * missed).max(initial=0.0)) <= MISSED:
        return z
    own = A[:, :nv]
    return np.concatenate([z[:nv] + own.T @ np.linalg.lstsq(own @ own.T, missed, rcond=None)[0], z[nv:]])


def _infeasible(problem: Gathered, flag: int) -> StepInfeasible:
    names = tuple(dict.fromkeys(problem.equal_names + problem.hard_names))
    return StepInfeasible(
        f"No solution: daqp stopped with flag {flag}. Hard constraints in play: {', '.join(names) or 'none'}. "
        "Give one of them a weight, or move its target.",
        problem=problem,
        constraints=names,
    )


def _certify(p: _Program, z: Array, multipliers: Array) -> tuple[float, float, float]:
    """Relative KKT residuals of the program; a multiplier is positive at an upper bound."""
    value = np.concatenate([z, p.A @ z])
    gradient = p.P @ z + p.q + multipliers[: len(z)] + multipliers[len(z) :] @ p.A
    short = np.maximum(np.maximum(p.lower - value, value - p.upper), 0.0)
    acting = np.flatnonzero(multipliers)
    own = multipliers[acting]
    room = np.abs(own * (value[acting] - np.where(own > 0.0, p.upper[acting], p.lower[acting])))
    largest = max(float(np.abs(p.q).max(initial=0.0)), 1e-300)
    return (
        float((short / (1.0 + np.abs(value))).max(initial=0.0)),
        float(np.abs(gradient).max(initial=0.0)) / largest,
        float(room.sum()) / max(float(np.abs(p.q * z).sum()), 1e-300),
    )
