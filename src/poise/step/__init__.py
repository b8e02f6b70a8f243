"""The step problem: quantities, objectives, constraints, and one solver for all methods."""

from __future__ import annotations

from poise.step.constraint import AtLeast, Constraint, Equal, Within
from poise.step.contacts import Contacts
from poise.step.objective import Objective, RelativeWeight
from poise.step.quantity import Quantity
from poise.step.result import Certificate, StepResult
from poise.step.solve import solve_step
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
    "solve_step",
]
