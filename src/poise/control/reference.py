"""What the filter knows of the undisturbed motion at one instant.

One rule makes an undisturbed run exact: every reference quantity comes from the same linear formulas as the simulated
one. With J*, J̇*v* taken at (q*, v*), the reference velocity of a point is J*v* and its acceleration J*a* + J̇*v*, not
differences of positions. Then a = a*, λ = λ* makes every residual zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.dynamics import Model, State, kernels
from poise.step.active_set import nonnegative
from poise.step.contacts import Contacts

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


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


class ReferenceBuilder:
    """Makes reference frames; keeps storage and the last active set, nothing else.

    Args:
        model: The character's model.
        dt: Step length [s].
        friction: Coulomb coefficient; the same as the simulation's, else the undisturbed run is not exact.
        without: Bodies left out of the goal's center of mass.
        regularization: Weight of ‖λ*‖² relative to the mean diagonal of the small problem.
    """

    def __init__(
        self, model: Model, *, dt: float, friction: float, without: tuple[int, ...] = (), regularization: float = 1e-6
    ) -> None:
        self.model, self.dt, self.friction, self.regularization = model, dt, friction, regularization
        self.without = without
        self._state = State(model)
        self._acceleration = np.zeros((model.body_count, 6))
        self._warm = np.zeros((model.point_count, 4), dtype=np.bool_)
        up = np.zeros((model.point_count, 3))
        up[:, 2] = 1.0
        cone = Contacts(np.arange(model.point_count), up, friction)
        self._directions = cone.directions()[0].reshape(-1, 4, 3)
        most = 4 * model.point_count
        self._wrenches, self._H, self._f = np.empty((most, 6)), np.empty((most, most)), np.empty(most)

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
        s.move_to(q, v)
        d, root, bodies, count = s.data, m.roots[0], m.body_count, m.point_count
        orientations, spins, turns = np.empty((bodies, 4)), np.empty((bodies, 3)), np.empty((bodies, 3))
        points, velocities, accelerations = np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 3))
        com, com_acceleration = np.empty(3), np.empty(3)
        kernels.moving_figure(
            m.parents, m.dof_first, m.dof_count, s.point_body, m.point_radii, m.tree_root, m.body_masses, root,
            s.centers, d.xquat, d.xipos, d.subtree_com, d.cdof, d.cdof_dot, d.cvel, v, a, orientations, spins, turns,
            self._acceleration, points, velocities, accelerations, com, com_acceleration,
        )  # fmt: skip
        if self.without:
            com = s.com_without(root, self.without)
            total = s.mass(root)
            com_acceleration *= total
            for body in self.without:
                share = float(m.body_masses[body])
                com_acceleration -= share * self._place_acceleration(body)
                total -= share
            com_acceleration /= total
        torque, coefficients = self._contact_torque(d.inverse_dynamics(a), points, touch.flags)
        return ReferenceFrame(
            q, v, a, orientations, spins, turns, points, velocities, accelerations, com, com_acceleration,
            *touch, torque, coefficients,
        )  # fmt: skip

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

    def _contact_torque(self, needed: Array, points: Array, flags: Flags) -> tuple[Array, Array]:
        """τ* and λ*: the touching points take as much of the root wrench as their cones allow, [Levine2012]_ 2.3.

        Deviates: λ* is regularized (relative 1e-6), since four and more points a foot leave it undetermined.
        """
        m, d = self.model, self._state.data
        root = m.roots[0]
        n = kernels.cone_system(
            points, flags, self._directions, d.xpos[root], d.xmat[root], needed, self.regularization, self._wrenches,
            self._H, self._f,
        )  # fmt: skip
        x, coefficients, torque = np.zeros(n), np.empty((m.point_count, 4)), np.empty(m.nv)
        if n and nonnegative(self._H, self._f[:n], self._warm[flags].ravel(), x) < 0:
            x[:] = 0.0  # any λ* keeps the run exact: τ* takes what is left
        kernels.cone_torques(
            self._state.point_body, points, flags, self._directions, x, m.tree_root, d.subtree_com, m.parents,
            m.dof_first,
            m.dof_count, d.cdof, needed, coefficients, torque,
        )  # fmt: skip
        self._warm = coefficients > 0.0
        return torque, coefficients
