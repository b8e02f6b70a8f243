"""The base of all quantities."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from poise.step.objective import Objective
    from poise.step.step import Rows, Step

Array = npt.NDArray[np.float64]


class Quantity(abc.ABC):
    """Something physical that is affine in the unknowns of one step: y(z) = A z + c.

    It does not know whether it is wished for or enforced; that is said where it is used.
    """

    is_on_coefficients: bool = False
    """True for the contact coefficients themselves, whose rows are the identity on λ."""

    @abc.abstractmethod
    def rows(self, step: Step) -> Rows:
        """The rows of A and c for this step."""

    def add_normal(self, step: Step, objective: Objective, Q: Array, b: Array) -> float | None:
        """Add w ‖A a + c − target‖² to the normal form (upper triangle of Q, and b) without making rows.

        Only for quantities that have a cheaper way; they return the constant Σ w (target − c)², all others None.
        """
        del step, objective, Q, b
        return None
