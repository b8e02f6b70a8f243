"""Quantities at contact points: accelerations of points, and the coefficients of the contact forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.step.step import Rows, Step
from poise.step.quantity import Quantity

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PointAcceleration(Quantity):
    """Acceleration of contact points [m/s^2], in axes of one's own.

    Attributes:
        points: Index of each point in the model, shape (K,).
        axes: Directions to measure along, shape (K, m, 3): all world axes, tangents and normal, or a normal alone.
    """

    points: Index
    axes: Array

    def rows(self, step: Step) -> Rows:
        state = step.state
        jacobians = state.point_jacobians.reshape(-1, 3, step.nv)[self.points]
        on_a = np.matmul(self.axes, jacobians).reshape(-1, step.nv)
        return Rows(on_a, np.matmul(self.axes, state.point_biases[self.points][:, :, None]).ravel())


@dataclass(frozen=True)
class ContactCoefficients(Quantity):
    """The contact-cone coefficients λ [N] themselves, one row each."""

    is_on_coefficients = True

    def rows(self, step: Step) -> Rows:
        n = step.coefficient_count
        return Rows(np.zeros((n, step.nv)), np.zeros(n), np.eye(n))
