"""Physical quantities that are affine in the unknowns of one step: y(z) = A z + c.

They belong to bodies (turning, places fixed to them), contact points (accelerations, forces), joints (accelerations,
torques), or a whole character (center of mass, angular momentum).
"""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.typing import Array, Index
from poise.physics import State
from poise.step.step import Rows, Step

__all__ = [
    "AngularMomentumRate",
    "AxisAcceleration",
    "BodyAngularAcceleration",
    "ComAcceleration",
    "ContactAcceleration",
    "ContactCoefficients",
    "ContactForce",
    "JointAcceleration",
    "JointTorque",
    "PlaceAcceleration",
    "PointAcceleration",
    "Quantity",
    "RootWrench",
]


class Quantity(abc.ABC):
    """Something physical that is affine in the unknowns of one step: y(z) = A z + c.

    It does not know whether it is an objective or a constraint; that is said where it is used.
    """

    is_on_coefficients: ClassVar[bool] = False
    """True for the contact coefficients themselves, whose rows are the identity on λ."""

    def own_dofs(self, step: Step) -> tuple[int, int] | None:
        """First dof and the one after the last, if its rows are the accelerations of these dofs and nothing else."""
        del step
        return None

    @abc.abstractmethod
    def rows(self, step: Step) -> Rows:
        """The rows of A and c for this step."""

    def rates(self, state: State, a: Array) -> tuple[Array, Array]:
        """Its velocity and its acceleration where the joints accelerate by a, as its rows say, shapes (m,).

        For accelerations; a quantity that knows both without its rows says so here.
        """
        rows = self.rows(Step(state, dt=1.0))
        return rows.on_a @ state.v, rows.on_a @ a + rows.c

    def error(self, state: State, actor: State) -> Array:
        """By how much the actor is ahead of a state, one number a row [m, rad]; `poise.step.follow` needs it.

        Raises:
            InvalidValue: unless the quantity is the acceleration of something that has a position.
        """
        del state, actor
        raise InvalidValue(f"{type(self).__name__} has no position that could follow an actor: it has no error().")


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
        return None if self.body is None else step.state.model.body(self.body)

    def rows(self, step: Step) -> Rows:
        p, one = step.state.pose, self.index(step)
        bodies = range(1, p.bodies) if one is None else (one,)
        on_a = np.zeros((3 * len(bodies), step.nv))
        for k, body in enumerate(bodies):
            own = step.state.model.chain(body)
            on_a[3 * k : 3 * k + 3, own] = p.cdof[own, :3].T
        return Rows(on_a, step.state.body_biases[list(bodies), :3].ravel())

    def rates(self, state: State, a: Array) -> tuple[Array, Array]:
        bodies = slice(1, None) if self.body is None else state.model.body(self.body)
        return state.data.cvel[bodies, :3].ravel(), state.body_accelerations(a)[bodies, :3].ravel()

    def error(self, state: State, actor: State) -> Array:
        bodies = slice(1, None) if self.body is None else state.model.body(self.body)
        back = rotations.conjugate(state.data.xquat[bodies])
        return rotations.to_rotation_vector(rotations.multiply(actor.data.xquat[bodies], back)).ravel()


@dataclass(frozen=True, eq=False)
class PlaceAcceleration(Quantity):
    """Acceleration in the world of a place fixed to a body [m/s^2].

    Attributes:
        body: Index or name of the body in the model.
        offset: The place in the body's frame [m], shape (3,); the joint of the body by default.
        along: World directions to measure along, shape (m, 3); all three by default.
    """

    body: int | str
    offset: Array = field(default_factory=lambda: np.zeros(3))
    along: Array | None = None

    def rows(self, step: Step) -> Rows:
        state, body = step.state, step.state.model.body(self.body)
        place = state.body_place(body, self.offset)
        jacobians, biases = state.body_rows(body, place[None])
        jacobian, bias = jacobians[0], biases[0]
        if self.along is None:
            return Rows(jacobian, bias)
        return Rows(self.along @ jacobian, self.along @ bias)

    def rates(self, state: State, a: Array) -> tuple[Array, Array]:
        velocity, acceleration = state.body_point_motion(self.body, state.body_place(self.body, self.offset), a)
        return (velocity, acceleration) if self.along is None else (self.along @ velocity, self.along @ acceleration)

    def error(self, state: State, actor: State) -> Array:
        off = actor.body_place(self.body, self.offset) - state.body_place(self.body, self.offset)
        return off if self.along is None else self.along @ off


@dataclass(frozen=True, eq=False)
class AxisAcceleration(Quantity):
    """Second rate of a unit axis fixed to a body, α × u + ω × (ω × u) [1/s^2].

    Attributes:
        body: Index or name of the body in the model.
        axis: The unit axis in the body's frame, shape (3,).
        along: World directions to measure along, shape (m, 3); all three by default.
    """

    body: int | str
    axis: Array
    along: Array | None = None

    def rows(self, step: Step) -> Rows:
        state, body = step.state, step.state.model.body(self.body)
        turn, rate = _times(state.data.cvel[body, :3]), state.body_biases[body, :3]
        u = state.data.xmat[body].reshape(3, 3) @ self.axis
        on_turn = -_times(u)  # α × u = −u × α
        bias = on_turn @ rate + turn @ (turn @ u)
        if self.along is not None:
            on_turn, bias = self.along @ on_turn, self.along @ bias
        own, on_a = state.model.chain(body), np.zeros((len(on_turn), step.nv))
        on_a[:, own] = on_turn @ state.data.cdof[own, :3].T
        return Rows(on_a, bias)

    def error(self, state: State, actor: State) -> Array:
        body = state.model.body(self.body)
        off = (actor.data.xmat[body] - state.data.xmat[body]).reshape(3, 3) @ self.axis
        return off if self.along is None else self.along @ off


def _times(a: Array) -> Array:
    """The matrix that makes a × b of b, shape (3, 3)."""
    x, y, z = a.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


@dataclass(frozen=True, eq=False)
class PointAcceleration(Quantity):
    """Acceleration of contact points [m/s^2], in axes of one's own.

    Attributes:
        points: Index of each point in the model, shape (K,).
        axes: Directions to measure along, shape (K, m, 3): all world axes, tangents and normal, or a normal alone.
    """

    points: Index
    axes: Array

    def rows(self, step: Step) -> Rows:
        return Rows(*step.state.point_rows(*self._arrays()))

    def error(self, state: State, actor: State) -> Array:
        # places of the body, since what touches of a round one changes as it turns
        bodies, places = state.point_body[self.points], state.points[self.points]
        turns, others = (s.data.xmat[bodies].reshape(-1, 3, 3) for s in (state, actor))
        arms = np.einsum("kji,kj->ki", turns, places - state.data.xpos[bodies])
        off = actor.data.xpos[bodies] + np.einsum("kij,kj->ki", others, arms) - places
        return np.einsum("kmc,kc->km", self.axes, off).ravel()

    def _arrays(self) -> tuple[Index, Array]:
        return np.ascontiguousarray(self.points, dtype=np.int64), np.ascontiguousarray(self.axes)


@dataclass(frozen=True, eq=False)
class ContactAcceleration(Quantity):
    """Acceleration of contact points against what they touch [m/s^2]: the world, or another contact point.

    Attributes:
        points: Index of each point in the state, shape (K,).
        others: Index of the point it is measured against, -1 for the world, shape (K,).
        axes: Directions to measure along, shape (K, m, 3).
    """

    points: Index
    others: Index
    axes: Array

    def rows(self, step: Step) -> Rows:
        points, axes = PointAcceleration(self.points, self.axes)._arrays()
        on_a, c = step.state.point_rows(points, axes)
        joined = np.flatnonzero(np.asarray(self.others) >= 0)
        if len(joined):
            others = np.ascontiguousarray(self.others, dtype=np.int64)[joined]
            minus_a, minus_c = step.state.point_rows(others, axes[joined])
            count = axes.shape[1]
            at = (joined[:, None] * count + np.arange(count)).ravel()
            on_a[at] -= minus_a
            c[at] -= minus_c
        return Rows(on_a, c)


@dataclass(frozen=True)
class ContactCoefficients(Quantity):
    """The contact-cone coefficients λ [N] themselves, one row each.

    Attributes:
        is_by_point: The target of an objective has four numbers for every contact point of the model, shape (4 P,) or
            (P, 4); those of the points that touch count.
    """

    is_by_point: bool = False

    is_on_coefficients: ClassVar[bool] = True

    def rows(self, step: Step) -> Rows:
        n = step.coefficient_count
        return Rows(np.zeros((n, step.nv)), np.zeros(n), np.eye(n))


@dataclass(frozen=True, eq=False)
class ContactForce(Quantity):
    """Force on contact points f = V λ in the world [N], three rows a point; zero for a point that touches nothing.

    Attributes:
        points: Index of each point in the model, shape (K,).
    """

    points: Index

    def rows(self, step: Step) -> Rows:
        mine = step.contacts.points[step.owner][None, :] == np.asarray(self.points)[:, None]
        on_lambda = (mine[:, None, :] * step.directions.T[None]).reshape(3 * len(mine), step.coefficient_count)
        return Rows(np.zeros((len(on_lambda), step.nv)), np.zeros(len(on_lambda)), on_lambda)


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

    def rates(self, state: State, a: Array) -> tuple[Array, Array]:
        if self.along is not None:
            return self.along @ state.v, self.along @ a
        own = slice(*self.dofs)
        return state.v[own], a[own]

    def error(self, state: State, actor: State) -> Array:
        off = state.model.difference(state.q, actor.q, 1.0)
        return off[slice(*self.dofs)] if self.along is None else self.along @ off


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
            on_a = on_a.copy()
            first, end, _ = k.indices(step.nv)
            on_a.reshape(-1)[first : first + (end - first) * (step.nv + 1) : step.nv + 1] += step.dt * self.damping
        return on_a, step.state.bias[k] - step.external[k]


@dataclass(frozen=True)
class RootWrench(Quantity):
    """Force [N] (world axes) and moment [N m] (root axes) on the free root: what no muscle can supply.

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
        jacobian, bias = state.com_rows(root)
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

    def error(self, state: State, actor: State) -> Array:
        root = state.model.roots[self.of]
        off = actor.com_without(root, self.without) - state.com_without(root, self.without)
        return np.array([off @ self.along]) if self.along else off[["xyz".index(axis) for axis in self.axes]]


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

    def error(self, state: State, actor: State) -> Array:
        """Zero: only the momentum itself can follow an actor, it has no position."""
        del state, actor
        return np.zeros(3)
