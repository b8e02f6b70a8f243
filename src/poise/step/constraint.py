"""Constraints: the same quantities as in objectives, enforced exactly or as a bound.

With a weight a bound is soft: w ‖y − s − lower‖² with slack s ≥ 0, which costs nothing on the allowed side. Without a
weight it is hard.
"""

from __future__ import annotations

from dataclasses import dataclass

from poise.core.typing import Array
from poise.step.objective import Named
from poise.step.quantity import Quantity


@dataclass(frozen=True)
class Equal(Named):
    """quantity = target, hard."""

    quantity: Quantity
    target: Array | float
    label: str = ""


@dataclass(frozen=True)
class AtLeast(Named):
    """quantity ≥ lower; hard without a weight, soft with one. A row whose lower bound is −inf has none."""

    quantity: Quantity
    lower: Array | float
    weight: Array | float | None = None
    label: str = ""


@dataclass(frozen=True)
class Within(Named):
    """lower ≤ quantity ≤ upper; hard without a weight, soft with one."""

    quantity: Quantity
    lower: Array | float
    upper: Array | float
    weight: Array | float | None = None
    label: str = ""


Constraint = Equal | AtLeast | Within
