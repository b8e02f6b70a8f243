"""The step problem: quantities, objectives, constraints, and one solver for all methods."""

from __future__ import annotations

from poise.step.contacts import Contacts
from poise.step.problem import AtLeast, Constraint, Equal, Objective, RelativeWeight, Within
from poise.step.quantities import Quantity
from poise.step.servo import follow, servo, unit_weight
from poise.step.solve import Certificate, StepResult, respond, solve_step
from poise.step.step import Rows, Step

__all__ = [
    "AtLeast",
    "Certificate",
    "Constraint",
    "Contacts",
    "Equal",
    "Objective",
    "Quantity",
    "RelativeWeight",
    "Rows",
    "Step",
    "StepResult",
    "Within",
    "follow",
    "respond",
    "servo",
    "solve_step",
    "unit_weight",
]
