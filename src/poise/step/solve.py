"""Solve one step: the compiled condensed path where it applies, the full program where it must."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poise.core.errors import StepInfeasible
from poise.step import condensed, qp
from poise.step.balance import balance
from poise.step.condense import condense
from poise.step.constraint import Constraint, Equal
from poise.step.objective import Objective
from poise.step.problem import Gathered, gather, require_numbers
from poise.step.result import Certificate, StepResult
from poise.step.step import Step

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def solve_step(
    step: Step,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint] = (),
    *,
    readable: bool = False,
    warm: Flags | None = None,
    warm_bounds: Flags | None = None,
    guess: Array | None = None,
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
        guess: Accelerations expected, shape (nv,); the soft bounds they would break are expected to act.
        costs: Also report the cost of each objective.

    Raises:
        StepInfeasible: if the hard constraints conflict or depend on one another, or no solver got through.
        InvalidValue: if a target or weight has the wrong shape or is not finite, or a weight is negative.
    """
    if readable or any([c.weight is None for c in constraints if not isinstance(c, Equal)]):
        problem = gather(step, objectives, constraints)
        if not problem.has_numbers:
            require_numbers(objectives, constraints)
        a, coefficients, slacks, residuals = qp.solve_full(problem)
        result = _result(step, a, coefficients, residuals, "daqp", np.asarray(slacks <= 1e-12))
    else:
        result = _condensed(step, objectives, constraints, warm, warm_bounds, guess)
    return result._replace(costs=_costs(step, objectives, result)) if costs else result


def _condensed(
    step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint], warm: Flags | None,
    warm_bounds: Flags | None, guess: Array | None,
) -> StepResult:  # fmt: skip
    problem = condense(step, objectives, constraints)
    bounds, n = problem.bounds, step.coefficient_count
    taken = np.zeros(len(bounds.lower), dtype=np.bool_)
    if warm_bounds is not None and len(warm_bounds) == len(taken):
        taken |= warm_bounds
    if guess is not None and len(taken) and not bounds.X.shape[1]:
        taken |= bounds.J @ guess < bounds.lower
    if warm is None or len(warm) != n:
        warm = np.zeros(n, dtype=np.bool_)
    answer = condensed.solve_condensed(problem, warm, taken)
    if answer.status != condensed.SOLVED:
        require_numbers(objectives, constraints)
        raise _failure(gather(step, objectives, constraints), answer.status)
    return _result(step, answer.a, answer.coefficients, answer.residuals, "active set", answer.acting)


def _result(step: Step, a: Array, coefficients: Array, residuals: Array, solver: str, acting: Flags) -> StepResult:
    torque, forces, dynamics = balance(step, a, coefficients)
    primal, dual, gap, solves = residuals.tolist()
    certificate = Certificate(primal, dual, gap, dynamics)
    return StepResult(a, coefficients, torque, forces, certificate, solver, int(solves), acting)


def _costs(step: Step, objectives: Sequence[Objective], result: StepResult) -> dict[str, float]:
    """Weight ‖quantity − target‖² of each objective, added up by name."""
    out: dict[str, float] = {}
    for objective in objectives:
        rows = objective.quantity.rows(step)
        residual = rows.on_a @ result.a + rows.c - objective.target
        if rows.on_lambda is not None:
            residual = residual + rows.on_lambda @ result.coefficients
        out[objective.name] = out.get(objective.name, 0.0) + float(np.sum(objective.weight * residual**2))
    return out


def _failure(problem: Gathered, status: int) -> StepInfeasible:
    reason = {
        condensed.NOT_POSITIVE: "the objectives leave some motion of the joints free",
        condensed.DEPENDENT: "two hard constraints ask for the same motion",
        condensed.CYCLED: "the active set did not come to rest",
    }.get(status, "the answer is not finite")
    names = tuple(dict.fromkeys(problem.equal_names))
    return StepInfeasible(
        f"The step could not be solved: {reason}. Hard constraints: {', '.join(names) or 'none'}.",
        problem=problem,
        constraints=names,
    )
