"""Solve one step: the compiled condensed path where it applies, the full program where it must."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poise.errors import StepInfeasible
from poise.step import condensed, lapack, qp
from poise.step.constraint import Constraint
from poise.step.objective import Objective
from poise.step.problem import Gathered, gather
from poise.step.result import Certificate, StepResult
from poise.step.step import Step

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_ADDRESSES = lapack.addresses()
_ROUNDS = 12


def solve_step(
    step: Step,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint] = (),
    *,
    readable: bool = False,
    warm: Flags | None = None,
    warm_bounds: Flags | None = None,
    costs: bool = True,
) -> StepResult:
    """The accelerations and contact coefficients that satisfy the constraints and serve the objectives best.

    Args:
        step: State, contacts and external forces.
        objectives: What is wished for.
        constraints: What must hold.
        readable: Solve the whole program with daqp instead of the condensed one; the oracle of the tests.
        warm: Coefficients expected to be positive, shape (n,); changes the time, not the answer.
        warm_bounds: Rows of the soft bounds expected to act.
        costs: Also report the cost of each objective.

    Raises:
        StepInfeasible: if the hard constraints conflict or depend on one another, or no solver got through.
        InvalidValue: if a target has the wrong shape or is not finite.
    """
    problem = gather(step, objectives, constraints)
    if readable or len(problem.hard_lower):
        return _full(step, problem, costs)
    return _condensed(step, problem, warm, warm_bounds, costs)


def _condensed(step: Step, problem: Gathered, warm: Flags | None, warm_bounds: Flags | None, costs: bool) -> StepResult:
    n, bounds = step.coefficient_count, len(problem.soft_weight)
    taken = np.zeros(bounds, dtype=np.bool_)
    if warm_bounds is not None and len(warm_bounds) == bounds:
        taken |= warm_bounds
    warm = np.zeros(n, dtype=np.bool_) if warm is None or len(warm) != n else warm
    a, residuals = np.empty(step.nv), np.empty(4)
    solves = 0
    for _ in range(_ROUNDS):
        k = int(taken.sum())
        x = np.zeros(n + k)
        status = condensed.solve(
            *_with_bounds(problem, taken, n), problem.Q_direct, problem.b_direct,
            np.concatenate([problem.lambda_weight, np.zeros(k)]), np.concatenate([problem.lambda_target, np.zeros(k)]),
            problem.G, np.concatenate([problem.D, np.zeros((len(problem.g), k))], axis=1) if k else problem.D, problem.g,
            np.concatenate([warm, np.zeros(k, dtype=np.bool_)]) if k else warm, *_ADDRESSES, a, x, residuals,
        )  # fmt: skip
        if status != condensed.SOLVED or not np.isfinite(a).all():
            raise _failure(problem, status)
        solves += int(residuals[3])
        if not bounds:
            break
        # a bound left out must hold by itself; one that does not is taken in and the step solved again
        value = problem.soft_J @ a - problem.soft_lower
        if n:
            value += problem.soft_X @ x[:n]
        missing = ~taken & (value < -1e-9 * (1.0 + np.abs(problem.soft_lower)))
        if not missing.any():
            break
        taken = taken | missing
    else:
        return _full(step, problem, costs)
    coefficients = x[:n].copy()
    acting = taken.copy()
    acting[taken] = x[n:] <= 0.0
    return _result(step, problem, a.copy(), coefficients, residuals, "active set", solves, acting, costs)


def _with_bounds(problem: Gathered, taken: Flags, n: int) -> tuple[Array, Array, Array, Array, int]:
    """Rows with the chosen soft bounds put between the coupled and the plain ones; each brings its slack column."""
    k, c = int(taken.sum()), problem.coupled
    if k == 0:
        return problem.A, problem.X[:c], problem.w, problem.r, c
    A = np.concatenate([problem.A[:c], problem.soft_J[taken], problem.A[c:]])
    w = np.concatenate([problem.w[:c], problem.soft_weight[taken], problem.w[c:]])
    r = np.concatenate([problem.r[:c], problem.soft_lower[taken], problem.r[c:]])
    X = np.zeros((c + k, n + k))
    X[:c, :n] = problem.X[:c]
    X[c:, :n] = problem.soft_X[taken]
    X[c:, n:] = -np.eye(k)
    return A, X, w, r, c + k


def _full(step: Step, problem: Gathered, costs: bool) -> StepResult:
    a, coefficients, slacks, iterations = qp.solve_full(problem)
    residuals = np.zeros(4)
    acting = np.asarray(slacks <= 1e-12)
    gaps = [np.abs(problem.G @ a + problem.D @ coefficients - problem.g) / (1.0 + np.abs(problem.g))]
    gaps.append(np.maximum(0.0, problem.hard_lower - problem.hard_J @ a - problem.hard_X @ coefficients) / (1.0 + np.abs(problem.hard_lower)))
    residuals[0] = max((float(g.max()) for g in gaps if g.size), default=0.0)
    return _result(step, problem, a, coefficients, residuals, "daqp", iterations, acting, costs)


def _result(
    step: Step, problem: Gathered, a: Array, coefficients: Array, residuals: Array, solver: str, solves: int,
    acting: Flags, costs: bool,
) -> StepResult:  # fmt: skip
    torque = step.torque(a, coefficients)
    left = step.state.data.inverse_dynamics(a) - step.external - coefficients @ step.force_map - torque
    certificate = Certificate(float(residuals[0]), float(residuals[1]), float(residuals[2]), float(np.abs(left).max()))
    return StepResult(
        a, coefficients, torque, step.forces(coefficients), certificate, solver, solves, acting,
        _costs(problem, a, coefficients) if costs else {},
    )  # fmt: skip


def _costs(problem: Gathered, a: Array, coefficients: Array) -> dict[str, float]:
    residual = problem.A @ a + problem.X @ coefficients - problem.r
    out: dict[str, float] = {}
    for name, first, end in problem.spans:
        out[name] = out.get(name, 0.0) + float(problem.w[first:end] @ residual[first:end] ** 2)
    direct = problem.Q_direct + np.triu(problem.Q_direct, 1).T
    if problem.constant or direct.any():
        out["direct"] = float(a @ direct @ a - 2.0 * problem.b_direct @ a + problem.constant)
    if problem.lambda_weight.any():
        out["coefficients"] = float(problem.lambda_weight @ (coefficients - problem.lambda_target) ** 2)
    return out


def _failure(problem: Gathered, status: int) -> StepInfeasible:
    reason = {
        condensed.NOT_POSITIVE: "the objectives leave some motion of the joints free (or hold a number that is not finite)",
        condensed.DEPENDENT: "two hard constraints ask for the same motion",
        condensed.CYCLED: "the active set did not come to rest",
    }.get(status, "the answer is not finite")
    names = tuple(dict.fromkeys(problem.equal_names))
    return StepInfeasible(
        f"The step could not be solved: {reason}. Hard constraints: {', '.join(names) or 'none'}.",
        problem=problem,
        constraints=names,
    )
