"""What must hold: the same quantities as in objectives, enforced instead of wished for.

With a weight a bound is soft: w ‖y − s − lower‖² with slack s ≥ 0, which costs nothing on the allowed side. Without a
weight it is hard.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.step.quantity import Quantity

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Equal:
    """quantity = target, hard."""

    quantity: Quantity
    target: Array | float
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or type(self.quantity).__name__


@dataclass(frozen=True)
class AtLeast:
    """quantity ≥ lower; hard without a weight, soft with one."""

    quantity: Quantity
    lower: Array | float
    weight: Array | float | None = None
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or type(self.quantity).__name__


@dataclass(frozen=True)
class Within:
    """lower ≤ quantity ≤ upper; hard without a weight, soft with one."""

    quantity: Quantity
    lower: Array | float
    upper: Array | float
    weight: Array | float | None = None
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or type(self.quantity).__name__


Constraint = Equal | AtLeast | Within
