"""The base of all quantities."""

from __future__ import annotations

import abc
from typing import ClassVar

from poise.step.step import Rows, Step


class Quantity(abc.ABC):
    """Something physical that is affine in the unknowns of one step: y(z) = A z + c.

    It does not know whether it is an objective or a constraint; that is said where it is used.
    """

    is_on_coefficients: ClassVar[bool] = False
    """True for the contact coefficients themselves, whose rows are the identity on λ."""

    def own_dofs(self, step: Step) -> tuple[int, int] | None:
        """First dof and the one after the last, if its rows are the accelerations of these dofs and nothing else."""
        del step
        return None

    @abc.abstractmethod
    def rows(self, step: Step) -> Rows:
        """The rows of A and c for this step."""
