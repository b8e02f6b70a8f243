"""What the filter knows of the undisturbed motion at one instant.

One rule makes an undisturbed run exact: every reference quantity comes from the same linear formulas as the simulated
one. With J*, J̇*v* taken at (q*, v*), the reference velocity of a point is J*v* and its acceleration J*a* + J̇*v*, not
differences of positions. Then a = a*, λ = λ* makes every residual zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poise.compiled import Table
from poise.filter.reference_kernel import reference
from poise.physics import Model, State, kernels
from poise.step.contacts import Contacts

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]


class Touch(NamedTuple):
    """What is known of the contacts at one instant, shapes as in `ReferenceFrame`."""

    flags: Flags
    times_to_contact: Array
    landings: Array
    progress: Array
    times_to_lift: Array


class ReferenceFrame(NamedTuple):
    """The undisturbed character at one step; clip and stream both yield it, and methods see nothing else.

    Attributes:
        q, v, a: Coordinates (nq,), velocities and accelerations (nv,): [Levine2012]_ eqs. (4), (5) on the rotation
            group.
        orientations: Body orientations in the world, shape (B, 4); body 0 is the world.
        angular_velocities, angular_accelerations: Of the bodies, in the world [rad/s], [rad/s^2], shape (B, 3).
        points, point_velocities, point_accelerations: Of the contact points, [m] …, shape (P, 3).
        com, com_acceleration: Of the center of mass that the goal guides, shape (3,).
        flags: Which points touch in the reference, shape (P,).
        times_to_contact: Time until each point touches [s]; 0 while it does, inf if never, shape (P,).
        landings: Where each point will touch next in the reference [m], shape (P, 3); nan where unknown.
        progress: Part of each point's swing that is over, 0 … 1, shape (P,); 1 while it touches.
        times_to_lift: Time until each point no longer touches [s]; 0 while it does not, inf if ever after, shape (P,).
        torque: τ*, the torque left when the touching points carry what they can, shape (nv,).
        coefficients: λ* of every point, zero where it does not touch, shape (P, 4).
        at: Addresses of all these, for compiled code, shape (18,).
    """

    q: Array
    v: Array
    a: Array
    orientations: Array
    angular_velocities: Array
    angular_accelerations: Array
    points: Array
    point_velocities: Array
    point_accelerations: Array
    com: Array
    com_acceleration: Array
    flags: Flags
    times_to_contact: Array
    landings: Array
    progress: Array
    times_to_lift: Array
    torque: Array
    coefficients: Array
    at: Index


_TOGETHER = 64
"""So many frames share their storage: rows of the same arrays, which are never written to twice."""


class ReferenceBuilder:
    """Makes reference frames; keeps storage and the last active set, nothing else.

    Args:
        model: The character's model.
        dt: Step length [s].
        friction: Coulomb coefficient; the same as the simulation's, else the undisturbed run is not exact.
        without: Bodies left out of the goal's center of mass.
        regularization: Weight of ‖λ*‖² relative to the mean diagonal of the small problem.
        scale: Leg length / 0.82 m; moments count over so many meters against forces.
    """

    def __init__(
        self, model: Model, *, dt: float, friction: float, without: tuple[int, ...] = (), regularization: float = 1e-6,
        scale: float = 1.0,
    ) -> None:  # fmt: skip
        self.model, self.dt, self.friction, self.regularization = model, dt, friction, regularization
        self._scale = scale
        self.without = without
        self._state = State(model)
        self._acceleration = np.zeros((model.body_count, 6))
        up = np.zeros((model.point_count, 3))
        up[:, 2] = 1.0
        cone = Contacts(np.arange(model.point_count), up, friction)
        m, s, d, most = model, self._state, self._state.data, 4 * model.point_count
        self._table = Table([
            m.parents, m.dof_first, m.dof_count, m.tree_root, m.point_body, m.body_masses, m.point_offsets,
            m.point_radii, d.xpos, d.xmat, d.xquat, d.xipos, d.subtree_com, d.cdof, d.cdof_dot, d.cvel,
            np.ascontiguousarray(cone.directions()[0]), np.empty(m.nv), np.empty((most, 6)), np.empty((most, most)),
            np.empty(most), self._acceleration, np.zeros(most, dtype=np.bool_), s.centers,
            d.engine, d.qpos, d.qvel,
        ])  # fmt: skip
        self._sizes = np.array([m.nq, m.nv, m.body_count, m.point_count, m.roots[0]])
        self._frames: Iterator[tuple[Any, ...]] = iter(())

    def kinematics(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Positions [m] and velocities [m/s] of the contact points at (q, v), shapes (P, 3)."""
        self._state.move_to(q, v)
        self._state.touch()
        return self._state.points.copy(), self._state.point_velocities.copy()

    def body_places(self) -> Array:
        """Places of the bodies' joints [m] in the pose last given to `kinematics`, shape (B − 1, 3)."""
        return self._state.data.xpos[1:].copy()

    def com(self) -> Array:
        """Center of mass [m] in the pose last given to `kinematics`, shape (3,)."""
        return self._state.com(self.model.roots[0]).copy()

    def frame(self, q: Array, v: Array, a: Array, touch: Touch) -> ReferenceFrame:
        """The reference at (q, v, a) with known contacts."""
        m, s = self.model, self._state
        values = next(self._frames, None)
        if values is None:
            self._frames = _storage(m)
            values = next(self._frames)
        frame = ReferenceFrame._make(values)
        frame.q[:], frame.v[:], frame.a[:] = q, v, a
        frame.flags[:], frame.times_to_contact[:], frame.landings[:], frame.progress[:], frame.times_to_lift[:] = touch
        if not reference(self._table.at, frame.at, self._sizes, self.regularization, self._scale):
            s.move_to(q, v)  # says which joint
        if not self.without:
            return frame
        root, com_acceleration = m.roots[0], frame.com_acceleration
        frame.com[:] = s.com_without(root, self.without)
        total = s.mass(root)
        com_acceleration *= total
        for body in self.without:
            share = float(m.body_masses[body])
            com_acceleration -= share * self._place_acceleration(body)
            total -= share
        com_acceleration /= total
        return frame

    def _place_acceleration(self, body: int) -> Array:
        """Acceleration of a body's center of mass in the frame being made [m/s^2]."""
        m, d = self.model, self._state.data
        velocity, acceleration = np.empty((1, 3)), np.empty((1, 3))
        kernels.point_motion(
            np.array([body]),
            d.xipos[body : body + 1],
            m.tree_root,
            d.subtree_com,
            d.cvel,
            self._acceleration,
            velocity,
            acceleration,
        )
        return acceleration[0]


def _storage(m: Model) -> Iterator[tuple[Any, ...]]:
    """Values for the next frames, in the order of `ReferenceFrame`."""
    B, P = m.body_count, m.point_count
    shapes = (
        (m.nq,), (m.nv,), (m.nv,), (B, 4), (B, 3), (B, 3), (P, 3), (P, 3), (P, 3), (3,), (3,), (P,), (P,), (P, 3), (P,),
        (P,), (m.nv,), (P, 4),
    )  # fmt: skip
    kinds = [np.bool_ if k == 11 else np.float64 for k in range(len(shapes))]
    arrays = [np.empty((_TOGETHER, *shape), dtype=kind) for shape, kind in zip(shapes, kinds, strict=True)]
    steps = np.array([array.strides[0] for array in arrays])
    at = np.arange(_TOGETHER)[:, None] * steps + Table(arrays).at
    return zip(*arrays, at, strict=True)
