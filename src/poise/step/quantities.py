"""Physical quantities that are affine in the unknowns of one step: y(z) = A z + c.

They belong to bodies (turning, places fixed to them), contact points (accelerations, forces), joints (accelerations,
torques), or a whole character (center of mass, angular momentum).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.typing import Array, Index, checked
from poise.physics import Model, State
from poise.step.step import Points, Quantity, Rows, Step, checked_points, require_body, require_dofs, require_tree

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


@dataclass(frozen=True)
class BodyAngularAcceleration(Quantity):
    """Angular acceleration of every body, or of one, in the world frame [rad/s^2], three rows a body (no world).

    As an objective it is written without building its rows.

    Example:
        >>> level = Objective(y.BodyAngularAcceleration("head"), np.zeros(3), 5.0)
        >>> result = solve_step(step, [level, *objectives])

    Attributes:
        body: Index or name of the body in the model; all by default.
    """

    body: int | str | None = None

    def __post_init__(self) -> None:
        require_body(self.body, "BodyAngularAcceleration")

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

    Example:
        >>> up = Objective(y.PlaceAcceleration("left_hand"), np.array([0.0, 0.0, 2.0]), 10.0)
        >>> result = solve_step(step, [up, *objectives])

    Attributes:
        body: Index or name of the body in the model.
        offset: The place in the body's frame [m], shape (3,); the joint of the body by default.
        along: World directions to measure along, shape (m, 3); all three by default.
    """

    body: int | str
    offset: Array = field(default_factory=lambda: np.zeros(3))
    along: Array | None = None

    def __post_init__(self) -> None:
        require_body(self.body, "PlaceAcceleration")
        object.__setattr__(self, "offset", checked(self.offset, (3,), "PlaceAcceleration: offset"))
        if self.along is not None:
            object.__setattr__(self, "along", checked(self.along, (None, 3), "PlaceAcceleration: along"))

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

    Example:
        >>> upright = Objective(y.AxisAcceleration("chest", np.array([0.0, 0.0, 1.0])), np.zeros(3), 5.0)
        >>> result = solve_step(step, [upright, *objectives])

    Attributes:
        body: Index or name of the body in the model.
        axis: The unit axis in the body's frame, shape (3,).
        along: World directions to measure along, shape (m, 3); all three by default.
    """

    body: int | str
    axis: Array
    along: Array | None = None

    def __post_init__(self) -> None:
        require_body(self.body, "AxisAcceleration")
        object.__setattr__(self, "axis", checked(self.axis, (3,), "AxisAcceleration: axis"))
        if self.along is not None:
            object.__setattr__(self, "along", checked(self.along, (None, 3), "AxisAcceleration: along"))

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

    Example:
        >>> names = [point.name for point in model.points[:2]]
        >>> stop = Objective(y.PointAcceleration(names, np.tile(np.eye(3), (2, 1, 1))), 0.0, 10.0)

    Attributes:
        points: Index or name of each point in the model, K of them.
        axes: Directions to measure along, shape (K, m, 3): all world axes, tangents and normal, or a normal alone.
    """

    points: Points
    axes: Array

    def __post_init__(self) -> None:
        points = checked_points(self.points, type(self).__name__)
        object.__setattr__(self, "points", points)
        axes = checked(self.axes, (len(points), None, 3), f"PointAcceleration: axes of {len(points)} points")
        object.__setattr__(self, "axes", axes)

    def indices(self, model: Model) -> Index:
        """Indices of the points, checked."""
        return model.point_indices(checked_points(self.points, "PointAcceleration"), "PointAcceleration")

    def rows(self, step: Step) -> Rows:
        points = np.ascontiguousarray(self.indices(step.state.model), dtype=np.int64)
        return Rows(*step.state.point_rows(points, np.ascontiguousarray(self.axes)))

    def error(self, state: State, actor: State) -> Array:
        # places of the body, since what touches of a round one changes as it turns
        points = self.indices(state.model)
        bodies, places = state.point_body[points], state.points[points]
        turns, others = (s.data.xmat[bodies].reshape(-1, 3, 3) for s in (state, actor))
        arms = np.einsum("kji,kj->ki", turns, places - state.data.xpos[bodies])
        off = actor.data.xpos[bodies] + np.einsum("kij,kj->ki", others, arms) - places
        return np.einsum("kmc,kc->km", self.axes, off).ravel()


@dataclass(frozen=True, eq=False)
class ContactAcceleration(Quantity):
    """Acceleration of contact points against what they touch [m/s^2]: the world, or another contact point.

    Example:
        >>> world, axes = np.array([-1, -1]), np.tile(np.eye(3), (2, 1, 1))
        >>> stop = Objective(y.ContactAcceleration(np.array([0, 1]), world, axes), 0.0, 10.0)

    Attributes:
        points: Index of each point in the state, shape (K,).
        others: Index of the point it is measured against, -1 for the world, shape (K,).
        axes: Directions to measure along, shape (K, m, 3).
    """

    points: Index
    others: Index
    axes: Array

    def __post_init__(self) -> None:
        checked_points(self.points, "ContactAcceleration")
        checked(self.axes, (len(self.points), None, 3), f"ContactAcceleration: axes of {len(self.points)} points")
        if np.shape(self.others) != (len(self.points),):
            raise InvalidValue(
                f"ContactAcceleration: others has shape {np.shape(self.others)}; give one for each of "
                f"{len(self.points)} points, -1 for the world."
            )

    def indices(self, model: Model) -> Index:
        """Indices of the points, checked."""
        return model.point_indices(self.points, "ContactAcceleration")

    def rows(self, step: Step) -> Rows:
        points, axes = np.ascontiguousarray(self.points, dtype=np.int64), np.ascontiguousarray(self.axes)
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

    Example:
        >>> light = Objective(y.ContactCoefficients(), 0.0, 1e-6)
        >>> result = solve_step(step, [light, *objectives])

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

    Example:
        >>> unload = Objective(y.ContactForce([model.points[0].name]), 0.0, 1e-3)
        >>> result = solve_step(step, [unload, *objectives])

    Attributes:
        points: Index or name of each point in the model, K of them.
    """

    points: Points

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", checked_points(self.points, "ContactForce"))

    def rows(self, step: Step) -> Rows:
        points = step.state.model.point_indices(checked_points(self.points, "ContactForce"), "ContactForce")
        mine = step.contacts.points[step.owner][None, :] == points[:, None]
        on_lambda = (mine[:, None, :] * step.directions.T[None]).reshape(3 * len(mine), step.coefficient_count)
        return Rows(np.zeros((len(on_lambda), step.nv)), np.zeros(len(on_lambda)), on_lambda)


@dataclass(frozen=True, eq=False)
class JointAcceleration(Quantity):
    """Joint accelerations [rad/s^2; m/s^2 for the root's translation], of some dofs or of combinations of dofs.

    Example:
        >>> root = y.JointAcceleration((0, 6))
        >>> result = solve_step(step, [Objective(root, 0.0, 10.0), *objectives])

    Attributes:
        dofs: First dof and the one after the last; all by default.
        along: Rows that combine dofs, shape (m, nv), instead of `dofs`; their direction is fixed for the step.
    """

    dofs: tuple[int, int | None] = (0, None)
    along: Array | None = None

    def __post_init__(self) -> None:
        require_dofs(self.dofs, "JointAcceleration")
        if self.along is not None and np.ndim(self.along) != 2:
            raise InvalidValue(f"JointAcceleration: along has shape {np.shape(self.along)}; give rows (m, nv).")

    def rows(self, step: Step) -> Rows:
        if self.along is not None:
            checked(self.along, (None, step.nv), "JointAcceleration: along")
            return Rows(self.along, np.zeros(len(self.along)))
        first, end = step.state.model.dofs(self.dofs, "JointAcceleration")
        return Rows(np.eye(end - first, step.nv, first), np.zeros(end - first))

    def own_dofs(self, step: Step) -> tuple[int, int] | None:
        return None if self.along is not None else step.state.model.dofs(self.dofs, "JointAcceleration")

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

    Example:
        >>> lazy = Objective(y.JointTorque((6, None)), 0.0, 1e-4)
        >>> result = solve_step(step, [lazy, *objectives])

    Attributes:
        dofs: First dof and the one after the last; all by default.
        damping: Per dof of `dofs` [N m s, N s/m]; then the quantity is τ + dt · damping · a, the torque of a servo that
            already counts the velocity this step's own acceleration leads to.
    """

    dofs: tuple[int, int | None] = (0, None)
    damping: Array | None = None

    def __post_init__(self) -> None:
        require_dofs(self.dofs, "JointTorque")
        if self.damping is not None and not (checked(self.damping, (None,), "JointTorque: damping") >= 0.0).all():
            raise InvalidValue("JointTorque: damping is below zero somewhere; give zero or more.")

    def rows(self, step: Step) -> Rows:
        on_a, c = self.on_a(step)
        return Rows(on_a, c, -step.force_map.T[slice(*self.dofs)])

    def on_a(self, step: Step) -> tuple[Array, Array]:
        """Part on a, and the constant part."""
        k = slice(*step.state.model.dofs(self.dofs, "JointTorque"))
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

    Example:
        >>> free = Equal(y.RootWrench(), 0.0)
        >>> result = solve_step(step, objectives, [free])

    Attributes:
        of: Which tree of the model, counted from 0.
    """

    of: int = 0

    def __post_init__(self) -> None:
        require_tree(self.of, "RootWrench")

    def rows(self, step: Step) -> Rows:
        return self.torque(step).rows(step)

    def torque(self, step: Step) -> JointTorque:
        """The same as torques of the root's six dofs."""
        model = step.state.model
        first = int(model.dof_first[model.tree(self.of)])
        return JointTorque((first, first + 6))


@dataclass(frozen=True)
class ComAcceleration(Quantity):
    """Acceleration of the center of mass in the world frame [m/s^2], one row per axis.

    Example:
        >>> level = Equal(y.ComAcceleration("z"), 0.0)
        >>> result = solve_step(step, objectives, [level])

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

    def __post_init__(self) -> None:
        require_tree(self.of, "ComAcceleration")
        if not (isinstance(self.axes, str) and self.axes and len(set(self.axes) & set("xyz")) == len(self.axes)):
            raise InvalidValue(f"ComAcceleration: axes are {self.axes!r}; give some of x, y and z, each once.")
        for body in self.without:
            require_body(body, "ComAcceleration: without")
        if self.along is not None:
            checked(self.along, (3,), "ComAcceleration: along")

    def rows(self, step: Step) -> Rows:
        state = step.state
        root = state.model.tree(self.of)
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
        root = state.model.tree(self.of)
        off = actor.com_without(root, self.without) - state.com_without(root, self.without)
        return np.array([off @ self.along]) if self.along else off[["xyz".index(axis) for axis in self.axes]]


@dataclass(frozen=True)
class AngularMomentumRate(Quantity):
    """Rate of the angular momentum about the center of mass, world frame [N m], three rows.

    The tree has a free root; see `State.angular_momentum_rows`.

    Example:
        >>> calm = Objective(y.AngularMomentumRate(), np.zeros(3), 0.01)
        >>> result = solve_step(step, [calm, *objectives])

    Attributes:
        of: Which tree of the model.
    """

    of: int = 0

    def __post_init__(self) -> None:
        require_tree(self.of, "AngularMomentumRate")

    def rows(self, step: Step) -> Rows:
        state = step.state
        return Rows(*state.angular_momentum_rows(state.model.tree(self.of)))

    def error(self, state: State, actor: State) -> Array:
        """Zero: only the momentum itself can follow an actor, it has no position."""
        del state, actor
        return np.zeros(3)
