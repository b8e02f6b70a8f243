"""Joint limits as rows on the accelerations.

For each limited angle θ (twist, bend, side of a ball; the angle of a hinge) with rates θ̇ = E ω, one step leads to
θ + dt E v + dt² E a (to first order). The bound is widened to the reference's own prediction, so a clip that breaks a
limit by itself still comes back exactly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.character.character import Character
from poise.control import kernels
from poise.control.reference import ReferenceFrame
from poise.step import AtLeast
from poise.step.quantities import JointAcceleration

Array = npt.NDArray[np.float64]

_NEAR = np.radians(15.0)


class JointLimits:
    """The limits of a character as arrays."""

    def __init__(self, character: Character) -> None:
        limited = [
            (i, b)
            for i, b in enumerate(character.bodies)
            if b.kind != "free" and b.limits is not None
        ]
        self.nv = character.nv
        self.names = [b.name for _, b in limited]
        self._q = np.array([character.q_addresses[i] for i, _ in limited], dtype=np.int64)
        self._v = np.array([character.v_addresses[i] for i, _ in limited], dtype=np.int64)
        self._hinge = np.array([b.kind == "hinge" for _, b in limited], dtype=np.bool_)
        limits = [b.limits for _, b in limited if b.limits is not None]
        self._rest = np.array([x.rest for x in limits]).reshape(-1, 4)
        self._axis = np.array([x.axis for x in limits]).reshape(-1, 3)
        self._bend = np.array([x.swing_axis for x in limits]).reshape(-1, 3)
        self._side = np.cross(self._axis, self._bend).reshape(-1, 3)
        self.lower = np.array([[x.twist_lower, x.bend_lower, x.side_lower] for x in limits]).reshape(-1, 3)
        self.upper = np.array([[x.twist_upper, x.bend_upper, x.side_upper] for x in limits]).reshape(-1, 3)
        self.lower[self._hinge, 1:], self.upper[self._hinge, 1:] = -np.inf, np.inf
        self._angles, self._reference = np.zeros((len(limits), 3)), np.zeros((len(limits), 3))
        self._rates, self._reference_rates = np.zeros((3, 3)), np.zeros((3, 3))

    def angles(self, q: Array) -> Array:
        """Limited angles [rad] of a pose: (twist, bend, side) of each limited joint, shape (L, 3)."""
        out = np.zeros_like(self._angles)
        kernels.limit_angles(q, self._q, self._hinge, self._rest, self._axis, self._bend, self._side, out)
        return out

    def constraint(self, q: Array, v: Array, reference: ReferenceFrame, dt: float, weight: float | None) -> AtLeast | None:
        """Rows for the limits that are near, or None; soft with a weight, hard without."""
        if not len(self._q):
            return None
        shape = (self._q, self._hinge, self._rest, self._axis, self._bend, self._side)
        kernels.limit_angles(q, *shape, self._angles)
        near = (self._angles < self.lower + _NEAR) | (self._angles > self.upper - _NEAR)
        joints = np.flatnonzero(near.any(axis=1))
        if not joints.size:
            return None
        kernels.limit_angles(reference.q, *shape, self._reference)
        along: list[Array] = []
        lower: list[float] = []
        for j in joints:
            kernels.limit_rates(q, *shape, j, self._rates)
            kernels.limit_rates(reference.q, *shape, j, self._reference_rates)
            k, width = self._v[j], 1 if self._hinge[j] else 3
            speeds = self._rates[:, :width] @ v[k : k + width]
            planned = self._reference[j] + self._reference_rates[:, :width] @ (
                dt * reference.v[k : k + width] + dt * dt * reference.a[k : k + width]
            )
            for c in np.flatnonzero(near[j]):
                sign = 1.0 if self._angles[j, c] < self.lower[j, c] + _NEAR else -1.0
                bound = self.lower[j, c] if sign > 0.0 else -self.upper[j, c]
                # already outside: come back by a third of the way a step, not at once
                now = sign * self._angles[j, c]
                floor = min(bound if now >= bound else now + 0.3 * (bound - now), sign * planned[c] - 1e-9)
                row = np.zeros(self.nv)
                row[k : k + width] = sign * self._rates[c, :width]
                along.append(row)
                lower.append((floor - now - dt * sign * speeds[c]) / (dt * dt))
        return AtLeast(JointAcceleration(along=np.array(along)), np.array(lower), weight, "joint limits")
