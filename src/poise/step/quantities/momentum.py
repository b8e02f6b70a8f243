"""Quantities of a whole character: center of mass and angular momentum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.step.quantity import Quantity
from poise.step.step import Rows, Step


@dataclass(frozen=True)
class ComAcceleration(Quantity):
    """Acceleration of the center of mass in the world frame [m/s^2], one row per axis.

    Attributes:
        axes: Which of "x", "y", "z".
        of: Which tree of the model.
        without: Bodies left out of the center of mass, each alone (not its subtree).
        along: One direction of the world to measure along, instead of axes.
    """

    axes: str = "xyz"
    of: int = 0
    without: tuple[int, ...] = ()
    along: tuple[float, float, float] | None = None

    def rows(self, step: Step) -> Rows:
        state = step.state
        root = state.model.roots[self.of]
        jacobian, bias = step.com_rows(root)
        if self.without:
            total = state.mass(root)
            jacobian, bias = total * jacobian, total * bias
            for body in self.without:
                share = float(state.model.body_masses[body])
                place = state.data.xipos[body]
                jacobian -= share * state.body_jacobian(body, place)
                bias -= share * state.body_point_motion(body, place)[1]
                total -= share
            jacobian, bias = jacobian / total, bias / total
        if self.along is not None:
            along = np.array(self.along)
            return Rows((along @ jacobian)[None], np.array([along @ bias]))
        if self.axes in "xyz":
            first = "xyz".index(self.axes)
            return Rows(jacobian[first : first + len(self.axes)], bias[first : first + len(self.axes)])
        pick = ["xyz".index(axis) for axis in self.axes]
        return Rows(jacobian[pick], bias[pick])


@dataclass(frozen=True)
class AngularMomentumRate(Quantity):
    """Rate of the angular momentum about the center of mass, world frame [N m], three rows.

    The tree has a free root; see `State.angular_momentum_rows`.

    Attributes:
        of: Which tree of the model.
    """

    of: int = 0

    def rows(self, step: Step) -> Rows:
        state = step.state
        return Rows(*state.angular_momentum_rows(state.model.roots[self.of]))
