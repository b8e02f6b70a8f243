"""Quantities of bodies in the world: turning, and places fixed to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.core.typing import Array
from poise.physics.bodies import chain
from poise.step.quantity import Quantity
from poise.step.step import Rows, Step


@dataclass(frozen=True)
class BodyAngularAcceleration(Quantity):
    """Angular acceleration of every body, or of one, in the world frame [rad/s^2], three rows a body (no world).

    As an objective it is written without building its rows. A head that is drawn to an orientation:

        error = rotations.to_rotation_vector(rotations.multiply(upright, rotations.conjugate(state.data.xquat[head])))
        spin = state.data.cvel[head, :3]
        Objective(BodyAngularAcceleration("head"), 100.0 * error - 20.0 * spin, 5.0)

    Attributes:
        body: Index or name of the body in the model; all by default.
    """

    body: int | str | None = None

    def index(self, step: Step) -> int | None:
        """Index of the one body, checked; None for all.

        Raises:
            InvalidValue: if the model has no such body; names those it has.
        """
        model = step.state.model
        if self.body is None:
            return None
        body = model.body(self.body) if isinstance(self.body, str) else self.body
        model.require_bodies(np.array([body]))
        return body

    def rows(self, step: Step) -> Rows:
        p, one = step.state.pose, self.index(step)
        bodies = range(1, p.bodies) if one is None else (one,)
        on_a = np.zeros((3 * len(bodies), step.nv))
        for k, body in enumerate(bodies):
            own = chain(p, body)
            on_a[3 * k : 3 * k + 3, own] = p.cdof[own, :3].T
        return Rows(on_a, step.state.body_biases[list(bodies), :3].ravel())


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
        state, body = step.state, self.body
        state.model.require_bodies(np.array([body]))
        turn, rate = _times(state.data.cvel[body, :3]), state.body_biases[body, :3]
        u = state.data.xmat[body].reshape(3, 3) @ self.axis
        on_turn = -_times(u)  # α × u = −u × α
        bias = on_turn @ rate + turn @ (turn @ u)
        if self.along is not None:
            on_turn, bias = self.along @ on_turn, self.along @ bias
        own, on_a = chain(state.pose, body), np.zeros((len(on_turn), step.nv))
        on_a[:, own] = on_turn @ state.pose.cdof[own, :3].T
        return Rows(on_a, bias)


def _times(a: Array) -> Array:
    """The matrix that makes a × b of b, shape (3, 3)."""
    x, y, z = a.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
