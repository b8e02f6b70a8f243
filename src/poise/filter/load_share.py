"""How much of the body each joint carries, and the weights of torques and turns that follow from it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.physics import Model

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

REMEMBERED = 1000
"""So many sets of standing points a `LoadShare` remembers the weights of."""


class LoadShare:
    """The mass each joint carries: its subtree, or for the legs a character stands on, the rest of it.

    Weights on turns are multiplied, and those on moments divided, by (leg / 0.82 m)², so that figures of any size are
    alike: forces, places and turns keep their share in the sum.

    A joint's strength divides the weight of its torque, as in the paper; below one it also multiplies the weight of its
    body's pose, which is so much the larger of the two that a weak joint would else be held like any other.
    """

    def __init__(self, model: Model, strengths: Array, scale: float = 1.0) -> None:
        root = model.roots[0]
        self.total = float(model.subtree_masses[root])
        self.dof_body, self._strengths = model.dof_body, strengths
        self._hanging = model.subtree_masses.copy()
        self._standing = np.zeros((model.body_count, model.body_count))
        for foot in range(1, model.body_count):
            b = foot
            while model.parents[b] != 0:
                self._standing[foot, b] = self.total - model.subtree_masses[b]
                b = int(model.parents[b])
        self._point_body = model.point_body
        self.every_point = np.arange(model.point_count)
        self._known: dict[tuple[bytes, float, float], Array] = {}
        self._turns: tuple[float, Array] = (0.0, np.zeros(3 * (model.body_count - 1)))
        self.area = scale**2
        held = self._hanging * np.minimum(strengths, 1.0)
        self.hanging = held[model.dof_body] * np.where(np.arange(model.nv) < 3, 1.0, self.area)
        self.hanging_by_row = self.area * np.repeat(held[1:], 3)

    def effort(self, stands: Flags, joints: float, root: float) -> Array:
        """Weight of the torque of every dof, shape (nv,), when some points stand; not to be changed.

        `joints` over the mass each carries times its strength [1/kg]; for the root's force and moment `root` over the
        total mass.
        """
        key = stands.tobytes(), joints, root
        known = self._known.get(key)
        if known is None:
            carried = self._hanging
            if stands.any():
                carried = np.maximum(carried, self._standing[self._point_body[stands]].max(axis=0))
            known = joints * (1.0 / (self.area * (carried * self._strengths)[self.dof_body]))
            known[:6] = root / self.total * np.array([1.0, 1.0, 1.0, *([1.0 / self.area] * 3)])
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = known
        return known

    def turning(self, pose: float) -> Array:
        """Weight of the turning of every body but the world, shape (3 (B − 1),); not to be changed."""
        if self._turns[0] != pose:
            self._turns = pose, pose * self.hanging_by_row
        return self._turns[1]
