"""Quantities at contact points: their accelerations, against the world and each other, and contact forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from poise.core.typing import Array, Index
from poise.step.quantity import Quantity
from poise.step.step import Rows, Step


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
        return Rows(*step.state.point_rows(*self._arrays()))

    def _arrays(self) -> tuple[Index, Array]:
        return np.ascontiguousarray(self.points, dtype=np.int64), np.ascontiguousarray(self.axes)


@dataclass(frozen=True, eq=False)
class ContactAcceleration(Quantity):
    """Acceleration of contact points against what they touch [m/s^2]: the world, or another contact point.

    Attributes:
        points: Index of each point in the state, shape (K,).
        others: Index of the point it is measured against, -1 for the world, shape (K,).
        axes: Directions to measure along, shape (K, m, 3).
    """

    points: Index
    others: Index
    axes: Array

    def rows(self, step: Step) -> Rows:
        points, axes = PointAcceleration(self.points, self.axes)._arrays()
        on_a, c = step.state.point_rows(points, axes)
        joined = np.flatnonzero(np.asarray(self.others) >= 0)
        if len(joined):
            others = np.ascontiguousarray(self.others, dtype=np.int64)[joined]
            minus_a, minus_c = step.state.point_rows(others, axes[joined])
            count = axes.shape[1]
            at = (joined[:, None] * count + np.arange(count)).ravel()
            on_a[at] -= minus_a
            c[at] -= minus_c
        return Rows(on_a, c)


@dataclass(frozen=True)
class ContactCoefficients(Quantity):
    """The contact-cone coefficients λ [N] themselves, one row each.

    Attributes:
        is_by_point: The target of an objective has four numbers for every contact point of the model, shape (4 P,) or
            (P, 4); those of the points that touch count.
    """

    is_by_point: bool = False

    is_on_coefficients: ClassVar[bool] = True

    def rows(self, step: Step) -> Rows:
        n = step.coefficient_count
        return Rows(np.zeros((n, step.nv)), np.zeros(n), np.eye(n))


@dataclass(frozen=True, eq=False)
class ContactForce(Quantity):
    """Force on contact points f = V λ in the world [N], three rows a point; zero for a point that touches nothing.

    Attributes:
        points: Index of each point in the model, shape (K,).
    """

    points: Index

    def rows(self, step: Step) -> Rows:
        mine = step.contacts.points[step.owner][None, :] == np.asarray(self.points)[:, None]
        on_lambda = (mine[:, None, :] * step.directions.T[None]).reshape(3 * len(mine), step.coefficient_count)
        return Rows(np.zeros((len(on_lambda), step.nv)), np.zeros(len(on_lambda)), on_lambda)
