"""What is wished for: a quantity, a target, and how much it matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.step.quantity import Quantity

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Objective:
    """weight · ‖quantity − target‖², one term of the sum that a step makes small.

    Attributes:
        quantity: Something affine in the unknowns.
        target: Wished value, one number or one per row.
        weight: Multiplies the squared residual, one number or one per row; never negative.
        label: Name in reports; the quantity's own name if empty.
    """

    quantity: Quantity
    target: Array | float
    weight: Array | float = 1.0
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or type(self.quantity).__name__
