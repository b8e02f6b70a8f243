"""MuJoCo's own answers for a state, without any of Poise's kernels in between."""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

import mujoco
import numpy as np
import numpy.typing as npt

from poise.physics import Model, State

Array = npt.NDArray[np.float64]


class Oracle:
    """A second, plain MuJoCo model of the same XML."""

    def __init__(self, model: Model) -> None:
        self.m = mujoco.MjModel.from_xml_string(model.xml)
        self.m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.d = mujoco.MjData(self.m)

    def at(self, q: Array, v: Array) -> Oracle:
        """Move to (q, v)."""
        self.d.qpos[:] = q
        self.d.qvel[:] = v
        mujoco.mj_fwdPosition(self.m, self.d)
        mujoco.mj_fwdVelocity(self.m, self.d)
        mujoco.mj_subtreeVel(self.m, self.d)
        return self

    def of(self, state: State) -> Oracle:
        return self.at(state.q, state.v)

    def jacobians(self, body: int, place: Array) -> tuple[Array, Array]:
        """Linear and angular Jacobian of a material point of a body."""
        linear, angular = np.zeros((3, self.m.nv)), np.zeros((3, self.m.nv))
        mujoco.mj_jac(self.m, self.d, linear, angular, place, body)
        return linear, angular

    def jacobian_rates(self, body: int, place: Array) -> tuple[Array, Array]:
        """Time derivatives of the Jacobians, the point moving with its body."""
        linear, angular = np.zeros((3, self.m.nv)), np.zeros((3, self.m.nv))
        mujoco.mj_jacDot(self.m, self.d, linear, angular, place, body)
        return linear, angular

    def place(self, body: int, offset: Array) -> Array:
        """World place of an offset in a body's frame."""
        return self.d.xpos[body] + self.d.xmat[body].reshape(3, 3) @ offset

    def offset(self, body: int, place: Array) -> Array:
        """The offset in a body's frame of a world place."""
        return self.d.xmat[body].reshape(3, 3).T @ (place - self.d.xpos[body])

    def place_velocity(self, body: int, offset: Array) -> Array:
        return self.jacobians(body, self.place(body, offset))[0] @ self.d.qvel

    def inverse(self, a: Array) -> Array:
        """Generalized force that gives the acceleration a, by mj_inverse."""
        self.d.qacc[:] = a
        mujoco.mj_inverse(self.m, self.d)
        return self.d.qfrc_inverse.copy()

    def applied(self, body: int, place: Array, force: Array) -> Array:
        """Generalized force of a force at a place on a body, by mj_applyFT."""
        out = np.zeros(self.m.nv)
        mujoco.mj_applyFT(self.m, self.d, force, np.zeros(3), place, body, out)
        return out


def moving(model: Model, state: State, a: Array, t: float) -> tuple[Array, Array]:
    """(q, v) at time t of a motion with velocity v and acceleration a: q ⊕ (v t + a t² / 2), v + a t."""
    return model.integrate(state.q, state.v + 0.5 * t * a, t), state.v + t * a
