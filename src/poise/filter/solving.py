"""Solving one step of the filter, with named fallbacks where the constraints conflict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.errors import StepInfeasible
from poise.filter.pd import proportional_derivative
from poise.filter.quasi_physical import Targets, quasi_physical
from poise.filter.reference import ReferenceFrame
from poise.filter.sensing import Sensed
from poise.filter.targets import targets
from poise.step import Constraint, Equal, Objective, Step, StepResult, solve_step

if TYPE_CHECKING:
    from poise.filter.filter import Machine

Array = npt.NDArray[np.float64]

FALLBACK_WEIGHT = 1e3
"""Weight of hard constraints that had to give way in a step, times the total mass [kg]; such steps are counted."""


class StepRecord(NamedTuple):
    """The last solved step, for reports."""

    frame: int
    reference: ReferenceFrame
    result: StepResult
    step: Step
    gaps: Array
    velocities: Array
    com: Array


def solve(m: Machine, reference: ReferenceFrame, sensed: Sensed) -> StepResult | None:
    """Solve this step and keep what the next one starts from; None where nothing helps."""
    points = sensed.step.contacts.points
    if m.options.engine == "pd":
        objectives, constraints = proportional_derivative(sensed.step, reference, m.preset.pd)
    else:
        objectives, constraints = lists(m, targets(m, reference, sensed))
    if m.options.objectives:
        objectives, constraints = [*objectives], [*constraints]
    for make in m.options.objectives:
        for term in make(sensed.step, reference):
            if isinstance(term, Objective):
                objectives.append(term)
            else:
                constraints.append(term)
    if m.world is not None:
        step = sensed.step
        objectives, constraints, force = m.world.meet(step, objectives, constraints)
        sensed = sensed._replace(step=Step(step.state, step.contacts, dt=step.dt, external=step.external + force))
    result = attempt(m, sensed.step, objectives, constraints, m.warm[points].ravel(), reference.a + m.off)
    if result is None:
        return None
    m.warm[:] = False
    m.warm[points] = (result.coefficients > 0.0).reshape(-1, 4)
    return _keep(m, reference, sensed, result)


def lists(m: Machine, asked: Targets) -> tuple[list[Objective], list[Constraint]]:
    """The list of a step: made once for targets that stay the same arrays, anew for others."""
    if asked is not m.usual:
        share = m.preset.weights.coefficients
        return quasi_physical(asked, coefficient_share=share, physicality=m.physicality, goal_without=m.goal_without)
    return m.usual_lists


def _keep(m: Machine, reference: ReferenceFrame, sensed: Sensed, result: StepResult) -> StepResult:
    """Keep the answer, and what the next step starts from."""
    m.off = result.a - reference.a
    m.tally.count(result.certificate)
    root, state = m.model.roots[0], m.state
    com = state.com_without(root, m.goal_without) if m.goal_without else state.com(root)
    velocities = state.point_velocities.copy()
    m.last = StepRecord(m.frame, reference, result, sensed.step, sensed.gaps.copy(), velocities, com)
    return result


def attempt(
    m: Machine, step: Step, objectives: list[Objective], constraints: list[Constraint], warm: npt.NDArray[np.bool_],
    guess: Array,
) -> StepResult | None:  # fmt: skip
    """The answer of the fast path, else of the full program, else with the goal softened; None where all fail."""
    try:
        return solve_step(
            step, objectives, constraints, readable=m.options.readable, warm=warm, guess=guess, costs=False
        )
    except StepInfeasible as error:
        m.tally.failures += 1
        names = " + ".join(error.constraints) or "none"
        m.tally.conflicts[names] = m.tally.conflicts.get(names, 0) + 1
    try:
        result = solve_step(step, objectives, constraints, readable=True, costs=False)
        m.tally.fallbacks["daqp"] += 1
        return result
    except StepInfeasible:
        pass
    soft: list[Constraint] = []
    for c in constraints:
        if isinstance(c, Equal):
            objectives = [*objectives, Objective(c.quantity, c.target, FALLBACK_WEIGHT * m.mass, c.name)]
        else:
            soft.append(c if c.weight is not None else replace(c, weight=FALLBACK_WEIGHT * m.mass))
    try:
        result = solve_step(step, objectives, soft, costs=False)
        m.tally.fallbacks["goal_soft"] += 1
        return result
    except StepInfeasible:
        return None
