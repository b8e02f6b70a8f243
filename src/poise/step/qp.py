"""The readable path: the whole quadratic program in (a, λ, s), handed to daqp.

    min ½ zᵀP z + qᵀz    subject to  G z = g (equalities),  H z ≥ h (hard bounds),  λ ≥ 0, s ≥ 0.

It is the oracle of the fast path and the solver of hard bounds.
"""

from __future__ import annotations

import daqp
import numpy as np

from poise.core.errors import StepInfeasible
from poise.core.typing import Array
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
MISSED = 1e-7
"""An answer that misses an equality by more, in its own unit, is moved to the nearest point that meets them all."""


def solve_full(problem: Gathered) -> tuple[Array, Array, Array, Array]:
    """Solve for accelerations (nv,), coefficients (n,) and slacks (k,).

    The fourth array holds the relative residuals (primal, dual, duality gap) and the number of iterations.

    Raises:
        StepInfeasible: if the hard constraints cannot hold together.
    """
    nv, n = problem.A.shape[1], len(problem.lambda_weight)
    k = len(problem.soft_weight)
    # least-squares rows over z = (a, λ, s)
    m = len(problem.w)
    rows = np.zeros((m + k, nv + n + k))
    rows[:m, :nv], rows[m:, :nv] = problem.A, problem.soft_J
    rows[: problem.coupled, nv : nv + n] = problem.X
    if problem.soft_X.shape[1]:
        rows[m:, nv : nv + n] = problem.soft_X
    rows[m:, nv + n :] = -np.eye(k)
    weights = np.concatenate([problem.w, problem.soft_weight])
    targets = np.concatenate([problem.r, problem.soft_lower])
    P = rows.T @ (weights[:, None] * rows)
    q = -rows.T @ (weights * targets)
    diagonal = np.einsum("ii->i", P)
    diagonal[:nv] += problem.dof_weight
    diagonal[nv : nv + n] += problem.lambda_weight
    q[:nv] -= problem.dof_pull
    q[nv : nv + n] -= problem.lambda_weight * problem.lambda_target
    # daqp works to absolute tolerances: give it unknowns of order one
    scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-300))
    equals, bounds = len(problem.g), len(problem.hard_lower)
    A = np.zeros((equals + bounds, nv + n + k))
    A[:equals, :nv], A[equals:, :nv] = problem.G, problem.hard_J
    A[:equals, nv : nv + n], A[equals:, nv : nv + n] = problem.D, problem.hard_X
    A = A * scale
    sides = np.concatenate([problem.g, problem.hard_lower])
    # a row is as exact as its own numbers are large, but must not vanish
    size = np.maximum(np.linalg.norm(A, axis=1), 1e-300)
    size *= np.clip(np.where(np.isfinite(sides), np.abs(sides), 0.0) / size, 1.0, 1e3)
    lower = np.concatenate([np.full(nv, -np.inf), np.zeros(n + k), sides / size])
    upper = np.concatenate(
        [np.full(nv + n + k, np.inf), problem.g / size[: len(problem.g)], problem.hard_upper / size[len(problem.g) :]]
    )
    sense = np.zeros(len(lower), dtype=np.int32)
    sense[nv + n + k : nv + n + k + len(problem.g)] = _EQUALITY
    P_scaled, A_scaled = np.ascontiguousarray(P * scale * scale[:, None]), np.ascontiguousarray(A / size[:, None])
    most, least = np.minimum(upper, 1e30), np.maximum(lower, -1e30)
    z, flag, info = None, 0, {}
    for proximal, primal, dual, pivot, reduced in _TRIES if (diagonal > 0.0).all() else _TRIES[:1]:
        z, _, flag, info = daqp.solve(
            P_scaled, q * scale, A_scaled, most, least, sense,
            primal_tol=primal, dual_tol=dual, eps_prox=proximal, sing_tol=pivot, eq_reduction=reduced,
            cycle_tol=50,  # many points on one body: progress is slow without being a cycle
            iter_limit=MOST_ITERATIONS,
        )  # fmt: skip
        if flag >= 1 and z is not None:
            break
    if flag < 1 or z is None:
        raise _infeasible(problem, flag)
    scaled = _met(A_scaled[:equals], upper[nv + n + k :][:equals], size[:equals], np.asarray(z), nv)
    z = scaled * scale
    if not np.isfinite(z).all():
        raise _infeasible(problem, flag)
    residuals = _certify(
        P_scaled, q * scale, A_scaled, lower, upper, scaled, np.asarray(info["lam"]), info["iterations"]
    )
    return z[:nv], np.maximum(z[nv : nv + n], 0.0), np.maximum(z[nv + n :], 0.0), residuals


def _met(A: Array, sides: Array, size: Array, z: Array, nv: int) -> Array:
    """The answer with coefficients and slacks of zero or more, and accelerations, its first nv, that meet A z = sides.

    An answer that does within a hair is returned as it is; `size` is what the rows were divided by.
    """
    bounded = np.concatenate([z[:nv], np.maximum(z[nv:], 0.0)])
    missed = sides - A @ bounded
    if float(np.abs(size * missed).max(initial=0.0)) <= MISSED:
        return z
    own = A[:, :nv]
    bounded[:nv] += own.T @ np.linalg.lstsq(own @ own.T, missed, rcond=None)[0]
    return bounded


def _infeasible(problem: Gathered, flag: int) -> StepInfeasible:
    names = tuple(dict.fromkeys(problem.equal_names + problem.hard_names))
    return StepInfeasible(
        f"No solution: daqp stopped with flag {flag}. Hard constraints in play: {', '.join(names) or 'none'}. "
        "Give one of them a weight, or move its target.",
        problem=problem,
        constraints=names,
    )


def _certify(
    P: Array, q: Array, A: Array, lower: Array, upper: Array, z: Array, multipliers: Array, iterations: int
) -> Array:
    """Relative KKT residuals of the scaled problem as daqp saw it; a multiplier is positive at an upper bound."""
    value = np.concatenate([z, A @ z])
    gradient = P @ z + q + multipliers[: len(z)] + A.T @ multipliers[len(z) :]
    short = np.maximum(np.maximum(lower - value, value - upper), 0.0)
    acting = np.flatnonzero(multipliers)
    own = multipliers[acting]
    room = np.abs(own * (value[acting] - np.where(own > 0.0, upper[acting], lower[acting])))
    largest = max(float(np.abs(q).max(initial=0.0)), 1e-300)
    return np.array(
        [
            float((short / (1.0 + np.abs(value))).max(initial=0.0)),
            float(np.abs(gradient).max(initial=0.0)) / largest,
            float(room.sum()) / max(float(np.abs(q * z).sum()), 1e-300),
            float(iterations),
        ]
    )
