"""Joint limits as rows on the accelerations.

For each limited angle θ (twist, bend, side of a ball; the angle of a hinge) with rates θ̇ = E ω, one step leads to
θ + dt E v + dt² E a (to first order). The bound is widened to the reference's own prediction, so a clip that breaks a
limit by itself still comes back exactly.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from poise.body.character import Character
from poise.core.typing import Array
from poise.filter.frame import limit_angles, limit_rows
from poise.filter.preset import Bounds
from poise.step import AtLeast
from poise.step.quantities import JointAcceleration


class Moving(Protocol):
    """A pose with its rates: coordinates (nq,), velocities (nv,) and accelerations (nv,)."""

    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def a(self) -> Array: ...


class JointLimits:
    """The limits of a character as arrays, and when they act.

    Attributes:
        lower, upper: Of the angles [rad], shape (L, 3).
        near, share: Rows are made from so near on [rad]; a joint past its limit comes back by such a share a step.
        arrays: What the block "Frame" reads of them, by field.
    """

    def __init__(self, character: Character, bounds: Bounds) -> None:
        self.near, self.share = math.radians(bounds.near_angle), bounds.return_share
        limited = [(i, b) for i, b in enumerate(character.bodies) if b.kind != "free" and b.limits is not None]
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
        self.arrays = {
            "limit_q": self._q, "limit_v": self._v, "is_hinge": self._hinge, "limit_rest": self._rest,
            "limit_axis": self._axis, "limit_bend": self._bend, "limit_side": self._side, "limit_below": self.lower,
            "limit_above": self.upper,
        }  # fmt: skip

    def angles(self, q: Array) -> Array:
        """Limited angles [rad] of a pose: (twist, bend, side) of each limited joint, shape (L, 3)."""
        out = np.zeros((len(self._q), 3))
        limit_angles(q, self._q, self._hinge, self._rest, self._axis, self._bend, self._side, out)
        return out

    def constraint(self, q: Array, v: Array, reference: Moving, dt: float, weight: float | None) -> AtLeast | None:
        """Rows for the limits that are near, or None; soft with a weight, hard without."""
        rows, lower = np.empty((self.most, self.nv)), np.empty(self.most)
        near = self.fill(q, v, reference, dt, rows, lower)
        return AtLeast(JointAcceleration(along=rows[:near]), lower[:near], weight, "joint limits") if near else None

    @property
    def most(self) -> int:
        """The largest number of rows."""
        return 3 * len(self._q)

    def fill(self, q: Array, v: Array, reference: Moving, dt: float, rows: Array, lower: Array) -> int:
        """Fill the leading rows (most, nv) and lower bounds (most,) for the limits that are near; how many."""
        angles = np.empty((len(self._q), 3))
        return limit_rows(
            q, v, reference.q, reference.v, reference.a, dt, self.near, self.share, *self.arrays.values(), angles, rows,
            lower,
        )  # fmt: skip
