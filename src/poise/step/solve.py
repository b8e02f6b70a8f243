"""Solve one step: the condensed system, or the full program where hard bounds ask for it.

The answer comes with its own proof. `respond` says how it changes with a force that is not among its unknowns: a figure
among bodies answers their contact forces by its own lists: a = a₀ + B F for a generalized force F, where B comes from
the same objectives and constraints that give a₀. Source: [Levine2012]_ eq. (7). Deviates: the contacts with the ground
stay unknowns of the step; those that push keep pushing and those that do not stay out, so B holds until one of them
changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.errors import InvalidValue, StepInfeasible
from poise.core.typing import Array, Flags
from poise.native import Block
from poise.step import qp
from poise.step.problem import (
    Constraint,
    Equal,
    Gathered,
    Objective,
    RelativeWeight,
    coefficient_target,
    gather,
    require_numbers,
)
from poise.step.quantities import JointTorque, RootWrench
from poise.step.step import Step
from poise.step.system import (
    CYCLED,
    DEPENDENT,
    NO_SUCH_POINT,
    NOT_POSITIVE,
    SOLVED,
    answer,
    expect,
    form_of,
    packed,
    share_matrix,
    system_of,
)
from poise.step.writers import table_of, write


class Certificate(NamedTuple):
    """How well the answer satisfies the conditions of optimality; all relative but the last.

    Example:
        >>> result = solve_step(step, objectives)
        >>> assert result.certificate.holds(1e-6)

    Attributes:
        primal: Largest violation of a constraint or of λ ≥ 0, against 1 + the size of its right-hand side.
        dual: Largest residual of stationarity, against the largest term in it.
        gap: Complementarity Σ |x · gradient| over x = (λ, s), against Σ |x| times the largest term of the gradient.
        dynamics: Largest difference between M a + bias of the answer and inverse dynamics by recursion [N, N m].
    """

    primal: float
    dual: float
    gap: float
    dynamics: float

    def holds(self, tolerance: float = 1e-6) -> bool:
        """True if primal, dual and gap are below the tolerance and everything is finite."""
        return (
            max(self.primal, self.dual, self.gap) <= tolerance
            and np.isfinite([self.primal, self.dual, self.gap, self.dynamics]).all().item()
        )


class StepResult(NamedTuple):
    """The answer of one step; owns its arrays.

    Example:
        >>> result = solve_step(step, objectives)
        >>> v = state.v + step.dt * result.a

    Attributes:
        a: Joint accelerations, shape (nv,).
        coefficients: Contact-cone coefficients λ ≥ 0 [N], shape (n,).
        torque: Generalized force joints and root must supply [N m, N], shape (nv,).
        forces: Force of each contact in the world [N], shape (K, 3).
        certificate: Its proof.
        solver: "active set", or "daqp".
        solves: Small systems solved inside.
        bounds_active: Which rows of the bounds act, in the order of the constraints; of a `Within` first the lower
            ones.
        costs: Cost of each objective by name; empty unless asked for.
    """

    a: Array
    coefficients: Array
    torque: Array
    forces: Array
    certificate: Certificate
    solver: str
    solves: int
    bounds_active: npt.NDArray[np.bool_]
    costs: Mapping[str, float] = MappingProxyType({})


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

    Example:
        >>> result = solve_step(step, [Objective(y.JointAcceleration(), 0.0), *objectives])
        >>> q = model.integrate(state.q, state.v + step.dt * result.a, step.dt)

    Args:
        step: State, contacts and external forces.
        objectives: Weighted targets.
        constraints: What must hold.
        readable: Solve the whole program with daqp instead of the condensed one; the oracle of the tests.
        warm: Coefficients expected to be positive, shape (n,); changes the time, not the answer.
        warm_bounds: Rows of the bounds expected to act, as `StepResult.bounds_active` of a similar step.
        guess: Accelerations expected, shape (nv,); the bounds they would break are expected to act.
        costs: Also report the cost of each objective.

    Raises:
        StepInfeasible: if the hard constraints conflict or depend on one another, or no solver got through.
        InvalidValue: if a target or weight has the wrong shape or is not finite, or a weight is negative.
    """
    if readable:
        result = _readable(step, objectives, constraints, warm, warm_bounds)
    else:
        s = write(step, objectives, constraints)
        expect(s, warm, warm_bounds, guess)
        status = answer(s)
        if status == NO_SUCH_POINT:
            _require_points(step, objectives, constraints)
        if status == SOLVED:
            result = result_of(s)
        elif any([c.weight is None for c in constraints if not isinstance(c, Equal)]):
            result = _readable(step, objectives, constraints, warm, warm_bounds)
        else:
            require_numbers(objectives, constraints)
            raise _failure(gather(step, objectives, constraints), status)
    return result._replace(costs=_costs(step, objectives, result)) if costs else result


def _require_points(step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> None:
    """Raise InvalidValue if a contact or a term is on a point that the model does not have."""
    model = step.state.model
    model.require_points(step.contacts.points, "Contacts")
    for term in (*objectives, *constraints):
        points = getattr(term.quantity, "points", None)
        if points is not None:
            model.require_points(points, term.name)


def result_of(s: Block) -> StepResult:
    """The answer in a block, as arrays of its own."""
    return StepResult(
        s.a.copy(), s.x[: s.values.n].copy(), s.torque.copy(), s.forces[: s.values.touching].copy(),
        certificate_of(s), "active set", int(s.residuals[3]), s.acting[: s.values.bounds].copy(),
    )  # fmt: skip


def certificate_of(s: Block) -> Certificate:
    """The proof of the answer in a block."""
    primal, dual, gap, _, dynamics = s.residuals.tolist()
    return Certificate(primal, dual, gap, dynamics)


def _readable(
    step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint],
    warm: Flags | None, warm_bounds: Flags | None,
) -> StepResult:  # fmt: skip
    problem = gather(step, objectives, constraints)
    if not problem.has_numbers:
        require_numbers(objectives, constraints)
    found = qp.solve_full(problem, warm, warm_bounds)
    moved = step.state.M @ found.a + step.state.bias
    left = float(np.abs(step.state.data.inverse_dynamics(found.a) - moved).max(initial=0.0))
    return StepResult(
        found.a, found.coefficients, step.torque(found.a, found.coefficients), step.forces(found.coefficients),
        Certificate(*found.residuals, left), "daqp", found.iterations, found.acting,
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


def _held(step: Step, s: Block) -> list[tuple[int, slice]]:
    """Which equalities of a written step are torques: the first row of each, and its dofs."""
    at = s.values.com_count
    out = [(at, slice(s.values.held_first, s.values.held_first + s.values.held_count))]
    at += s.values.held_count
    for term in table_of(s).others:
        if isinstance(term, Equal):
            own = term.quantity.torque(step) if isinstance(term.quantity, RootWrench) else term.quantity
            if isinstance(own, JointTorque):
                out.append((at, slice(*step.state.model.dofs(own.dofs, term.name))))
            at += len(own.rows(step).c)
    return out


def respond(
    step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint], jacobian: Array
) -> tuple[StepResult, Array]:
    """The answer of a step without a further force, and how its accelerations change per unit of it.

        result, change = respond(step, objectives, constraints, jacobian)
        a = result.a + change @ force                       # with forces (m,) along the rows of the Jacobian

    Example:
        >>> at_hand = state.body_jacobian("left_hand", state.body_place("left_hand"))
        >>> result, change = respond(step, objectives, (), at_hand)

    Args:
        step: State, contacts and known external forces.
        objectives, constraints: The lists; all bounds are soft.
        jacobian: Rows along which forces act, shape (m, nv).

    Returns:
        The answer, and B Jᵀ, shape (nv, m).

    Raises:
        StepInfeasible: as `solve_step`.
        InvalidValue: if a hard bound acts.
    """
    result = solve_step(step, objectives, constraints, costs=False)
    return result, response(step, result, jacobian)


def response(step: Step, result: StepResult, jacobian: Array) -> Array:
    """How the accelerations of the answer last given for a state change with a force: B Jᵀ, shape (nv, m).

        change = response(step, result, jacobian)     # a + change @ force, with forces (m,) along the Jacobian's rows

    Args:
        step: The step that was solved.
        result: Its answer.
        jacobian: Rows along which forces act, shape (m, nv).

    Raises:
        InvalidValue: if a hard bound acts.
    """
    if not len(jacobian):
        return np.zeros((step.nv, 0))
    s = system_of(step.state)
    nv, n, c, k = step.nv, s.values.n, s.values.c, s.values.k
    form, at = form_of(s)[:, :-1].copy(), nv + k
    acting = s.acting[: s.values.bounds].astype(np.bool_)
    if result.solver == "daqp" or np.isinf(s.bound_weight[: s.values.bounds][acting]).any():
        raise InvalidValue(
            "A hard bound acts in this step; give it a weight, then it can be said how the step answers."
        )
    if acting.any():
        rows = np.zeros((int(acting.sum()), len(form)))
        rows[:, :nv] = s.J[: s.values.bounds][acting]
        if s.values.is_coupled:
            rows[:, at:] = packed(s.X, s.values.bounds, c)[acting]
        form += (rows.T * s.bound_weight[: s.values.bounds][acting]) @ rows
    # coefficients that push are free, the others stay zero
    pushing = result.coefficients > 0.0
    share = share_matrix(s)[pushing]
    own = np.empty((at + len(share), at + len(share)))
    own[:at, :at], own[:at, at:] = form[:at, :at], form[:at, at:] @ share.T
    own[at:, :at], own[at:, at:] = own[:at, at:].T, share @ form[at:, at:] @ share.T
    own[at:, at:] += np.diag(s.weight[:n][pushing])
    # a force is a part of the torque's target
    felt = s.torque_weight[:, None] * jacobian.T
    right = np.zeros((len(own), len(jacobian)))
    right[:nv] = step.state.M @ felt + s.damping[:, None] * felt
    for row, dofs in _held(step, s):
        right[nv + row : nv + row + dofs.stop - dofs.start] = jacobian.T[dofs]
    right[at:] = -share @ (packed(s.acts, nv, c).T @ felt)
    change: Array = np.linalg.solve(own, right)[:nv].astype(np.float64, copy=False)
    return change
