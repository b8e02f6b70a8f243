"""Objectives: a quantity, a target, and how much it matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.step.quantity import Quantity
from poise.step.step import Step


class Named:
    """An objective or a constraint: a quantity, and what it is called in reports."""

    quantity: Quantity
    label: str

    @property
    def name(self) -> str:
        return self.label or type(self.quantity).__name__


@dataclass(frozen=True)
class RelativeWeight:
    """Weight of the contact coefficients as a share of the mean diagonal of B W Bᵀ: what torques weigh, seen from λ.

    With it redundant points share their load alike, however heavy a figure is.

    Attributes:
        share: Above zero.
        torque_weight: W, the weight of every dof's torque, shape (nv,).
    """

    share: float
    torque_weight: Array

    def value(self, step: Step) -> float:
        """The weight in this step."""
        return self.share * step.columns.mean_diagonal(self.torque_weight)


@dataclass(frozen=True)
class Objective(Named):
    """weight · ‖quantity − target‖², one term of the sum that a step makes small.

    Attributes:
        quantity: Something affine in the unknowns.
        target: Target value, one number or one per row.
        weight: Multiplies the squared residual, one number or one per row; never negative. Of contact coefficients
            also a `RelativeWeight`.
        label: Name in reports; the quantity's own name if empty.
    """

    quantity: Quantity
    target: Array | float
    weight: Array | float | RelativeWeight = 1.0
    label: str = ""


def as_rows(value: Array | float | RelativeWeight, count: int, term: Named) -> Array:
    """A weight, target or bound of a term as one number per row, shape (count,).

    Raises:
        InvalidValue: if it has another shape; says whose it is.
    """
    if type(value) is np.ndarray and value.shape == (count,):
        return value
    out = np.empty(count)
    if isinstance(value, RelativeWeight):
        raise InvalidValue(f"{term.name}: a RelativeWeight is for contact coefficients; give numbers.")
    try:
        out[:] = value
    except ValueError:
        raise InvalidValue(
            f"{term.name}: weight or target has shape {np.shape(value)}; {(count,)} is needed, or one number."
        ) from None
    return out
