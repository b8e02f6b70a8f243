"""Quantities of bodies in the world: turning, and places fixed to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.step.quantity import Quantity
from poise.step.step import Rows, Step

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BodyAngularAcceleration(Quantity):
    """Angular acceleration of every body in the world frame [rad/s^2], three rows a body (the world left out).

    As an objective it is written without building its rows.
    """

    def rows(self, step: Step) -> Rows:
        model, cdof = step.state.model, step.state.data.cdof
        on_a = np.zeros((3 * (model.body_count - 1), model.nv))
        for body in range(1, model.body_count):
            b = body
            while b > 0:
                dofs = slice(model.dof_first[b], model.dof_first[b] + model.dof_count[b])
                on_a[3 * body - 3 : 3 * body, dofs] = cdof[dofs, :3].T
                b = int(model.parents[b])
        return Rows(on_a, step.state.body_biases[1:, :3].ravel().copy())


@dataclass(frozen=True, eq=False)
class PlaceAcceleration(Quantity):
    """Acceleration in the world of a place fixed to a body [m/s^2].

    Attributes:
        body: The body.
        offset: The place in the body's frame [m], shape (3,).
        along: World directions to measure along, shape (m, 3); all three by default.
    """

    body: int
    offset: Array
    along: Array | None = None

    def rows(self, step: Step) -> Rows:
        state = step.state
        place = state.body_place(self.body, self.offset)
        jacobians, biases = state.body_rows(self.body, place[None])
        jacobian, bias = jacobians[0], biases[0]
        if self.along is None:
            return Rows(jacobian, bias)
        return Rows(self.along @ jacobian, self.along @ bias)


@dataclass(frozen=True, eq=False)
class AxisAcceleration(Quantity):
    """Second rate of a unit axis fixed to a body, α × u + ω × (ω × u) [1/s^2].

    Attributes:
        body: The body.
        axis: The unit axis in the body's frame, shape (3,).
        along: World directions to measure along, shape (m, 3); all three by default.
    """

    body: int
    axis: Array
    along: Array | None = None

    def rows(self, step: Step) -> Rows:
        state = step.state
        foot = state.data.xpos[self.body]
        tip = foot + state.data.xmat[self.body].reshape(3, 3) @ self.axis
        # the axis is the way from one material point to another
        jacobians, biases = state.body_rows(self.body, np.array([tip, foot]))
        jacobian, bias = jacobians[0] - jacobians[1], biases[0] - biases[1]
        if self.along is None:
            return Rows(jacobian, bias)
        return Rows(self.along @ jacobian, self.along @ bias)
