"""Quantities of joints: their accelerations and the torques that the equations of motion ask of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.core.typing import Array
from poise.step.quantity import Quantity
from poise.step.step import Rows, Step


@dataclass(frozen=True, eq=False)
class JointAcceleration(Quantity):
    """Joint accelerations [rad/s^2; m/s^2 for the root's translation], of some dofs or of combinations of dofs.

    Attributes:
        dofs: First dof and the one after the last; all by default.
        along: Rows that combine dofs, shape (m, nv), instead of `dofs`; their direction is fixed for the step.
    """

    dofs: tuple[int, int | None] = (0, None)
    along: Array | None = None

    def rows(self, step: Step) -> Rows:
        if self.along is not None:
            return Rows(self.along, np.zeros(len(self.along)))
        first, end, _ = slice(*self.dofs).indices(step.nv)
        return Rows(np.eye(end - first, step.nv, first), np.zeros(end - first))

    def own_dofs(self, step: Step) -> tuple[int, int] | None:
        return None if self.along is not None else slice(*self.dofs).indices(step.nv)[:2]


@dataclass(frozen=True, eq=False)
class JointTorque(Quantity):
    """Generalized force that joints must supply, τ = M a + bias − Bᵀ λ − τ_ext [N m; N], [Levine2012]_ eq. (6).

    Attributes:
        dofs: First dof and the one after the last; all by default.
        damping: Per dof of `dofs` [N m s, N s/m]; then the quantity is τ + dt · damping · a, the torque of a servo that
            already counts the velocity this step's own acceleration leads to.
    """

    dofs: tuple[int, int | None] = (0, None)
    damping: Array | None = None

    def rows(self, step: Step) -> Rows:
        on_a, c = self.on_a(step)
        return Rows(on_a, c, -step.force_map.T[slice(*self.dofs)])

    def on_a(self, step: Step) -> tuple[Array, Array]:
        """Part on a, and the constant part."""
        k = slice(*self.dofs)
        on_a = step.state.M[k]
        if self.damping is not None:
            on_a = on_a + step.dt * self.damping[:, None] * np.eye(step.nv)[k]
        return on_a, step.state.bias[k] - step.external[k]


@dataclass(frozen=True)
class RootWrench(Quantity):
    """Force [N] (world axes) and moment [N m] (root axes) on the free root: what nobody's muscles supply.

    As an objective it is the paper's soft unactuated root; as the constraint `Equal(RootWrench(), 0.0)` it is exact.

    Attributes:
        of: Which tree of the model, counted from 0.
    """

    of: int = 0

    def rows(self, step: Step) -> Rows:
        return self.torque(step).rows(step)

    def torque(self, step: Step) -> JointTorque:
        """The same as torques of the root's six dofs."""
        model = step.state.model
        first = int(model.dof_first[model.roots[self.of]])
        return JointTorque((first, first + 6))
