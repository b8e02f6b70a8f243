"""Solving one step of the filter, with named fallbacks where the constraints conflict."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.errors import StepInfeasible
from poise.core.typing import Array
from poise.filter.reference import ReferenceFrame
from poise.step import Constraint, Equal, Objective, Step, StepResult, solve_step

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


class Attempt(NamedTuple):
    """How a step was solved.

    Attributes:
        result: The answer; None where nothing helps.
        conflict: The hard constraints that conflicted on the fast path, empty where none did.
        fallback: "" for the fast path, else "daqp" or "goal_soft".
    """

    result: StepResult | None
    conflict: str = ""
    fallback: str = ""


def attempt(
    step: Step, objectives: list[Objective], constraints: list[Constraint], warm: npt.NDArray[np.bool_], guess: Array,
    mass: float, *, readable: bool,
) -> Attempt:  # fmt: skip
    """The answer of the fast path, else of the full program, else with the goal softened."""
    try:
        result = solve_step(step, objectives, constraints, readable=readable, warm=warm, guess=guess, costs=False)
        return Attempt(result)
    except StepInfeasible as error:
        conflict = " + ".join(error.constraints) or "none"
    try:
        return Attempt(solve_step(step, objectives, constraints, readable=True, costs=False), conflict, "daqp")
    except StepInfeasible:
        pass
    soft: list[Constraint] = []
    for c in constraints:
        if isinstance(c, Equal):
            objectives = [*objectives, Objective(c.quantity, c.target, FALLBACK_WEIGHT * mass, c.name)]
        else:
            soft.append(c if c.weight is not None else replace(c, weight=FALLBACK_WEIGHT * mass))
    try:
        return Attempt(solve_step(step, objectives, soft, costs=False), conflict, "goal_soft")
    except StepInfeasible:
        return Attempt(None, conflict)
