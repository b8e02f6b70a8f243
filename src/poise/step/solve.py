"""Solve one step: the condensed system where it applies, the full program where it must."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.core.errors import StepInfeasible
from poise.core.typing import Array, Flags
from poise.native import Block
from poise.step import qp
from poise.step.constraint import Constraint, Equal
from poise.step.objective import Objective, RelativeWeight
from poise.step.problem import Gathered, coefficient_target, gather, require_numbers
from poise.step.result import Certificate, StepResult
from poise.step.step import Step
from poise.step.system import CYCLED, DEPENDENT, NO_SUCH_POINT, NOT_POSITIVE, SOLVED, answer
from poise.step.writers import expect, write


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
        objectives: Weighted targets.
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
        result = _readable(step, objectives, constraints)
    else:
        s = write(step, objectives, constraints)
        expect(s, warm, warm_bounds, guess)
        status = answer(s)
        if status == NO_SUCH_POINT:
            _require_points(step, objectives, constraints)
        if status != SOLVED:
            require_numbers(objectives, constraints)
            raise _failure(gather(step, objectives, constraints), status)
        result = _result(s)
    return result._replace(costs=_costs(step, objectives, result)) if costs else result


def _require_points(step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> None:
    """Raise InvalidValue if a contact or a term is on a point that the model does not have."""
    model = step.state.model
    model.require_points(step.contacts.points, "Contacts")
    for term in (*objectives, *constraints):
        points = getattr(term.quantity, "points", None)
        if points is not None:
            model.require_points(points, term.name)


def _result(s: Block) -> StepResult:
    """The answer in a block, as arrays of its own."""
    primal, dual, gap, solves, dynamics = s.residuals.tolist()
    return StepResult(
        s.a.copy(), s.x[: s.values.n].copy(), s.torque.copy(), s.forces[: s.values.touching].copy(),
        Certificate(primal, dual, gap, dynamics), "active set", int(solves), s.acting[: s.values.bounds].copy(),
    )  # fmt: skip


def _readable(step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> StepResult:
    problem = gather(step, objectives, constraints)
    if not problem.has_numbers:
        require_numbers(objectives, constraints)
    a, coefficients, slacks, residuals = qp.solve_full(problem)
    primal, dual, gap, iterations = residuals.tolist()
    moved = step.state.M @ a + step.state.bias
    left = float(np.abs(step.state.data.inverse_dynamics(a) - moved).max(initial=0.0))
    return StepResult(
        a, coefficients, step.torque(a, coefficients), step.forces(coefficients), Certificate(primal, dual, gap, left),
        "daqp", int(iterations), np.asarray(slacks <= 1e-12),
    )  # fmt: skip


def _costs(step: Step, objectives: Sequence[Objective], result: StepResult) -> dict[str, float]:
    """Weight ‖quantity − target‖² of each objective, added up by name."""
    out: dict[str, float] = {}
    for objective in objectives:
        rows = objective.quantity.rows(step)
        target = coefficient_target(step, objective) if objective.quantity.is_on_coefficients else objective.target
        residual = rows.on_a @ result.a + rows.c - target
        if rows.on_lambda is not None:
            residual = residual + rows.on_lambda @ result.coefficients
        weight = objective.weight
        weight = weight.value(step) if isinstance(weight, RelativeWeight) else weight
        out[objective.name] = out.get(objective.name, 0.0) + float(np.sum(weight * residual**2))
    return out


def _failure(problem: Gathered, status: int) -> StepInfeasible:
    reason = {
        NOT_POSITIVE: "the objectives leave some motion of the joints free",
        DEPENDENT: "two hard constraints ask for the same motion",
        CYCLED: "the active set did not come to rest",
    }.get(status, "the answer is not finite")
    names = tuple(dict.fromkeys(problem.equal_names))
    return StepInfeasible(
        f"The step could not be solved: {reason}. Hard constraints: {', '.join(names) or 'none'}.",
        problem=problem,
        constraints=names,
    )
