"""One step: a state, what touches, what pushes, and quantities with their rows on it.

Unknowns z = (a, λ): joint accelerations and contact-cone coefficients, contact forces f = V λ, λ ≥ 0. Torque follows
from the equations of motion, τ(z) = M a + bias − Bᵀ λ − τ_ext with B = Vᵀ J. Source: [Levine2012]_ eqs. (3), (6).
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array, Index
from poise.physics import State
from poise.step.contacts import Columns, Contacts


class Rows(NamedTuple):
    """m rows of a quantity that is affine in the unknowns: y = on_a · a + on_lambda · λ + c.

    Example:
        >>> rows = y.ComAcceleration().rows(step)
        >>> now = rows.on_a @ a + rows.c  # acceleration of the center of mass

    Attributes:
        on_a: Shape (m, nv).
        c: Shape (m,).
        on_lambda: Shape (m, n), or None where contact forces do not enter.
    """

    on_a: Array
    c: Array
    on_lambda: Array | None = None


class Step:
    """One step to solve: a state, what touches, what pushes, and how long it lasts.

    Valid until the state moves on; using it later raises.

    Example:
        >>> state = State(model).at(clip.q[k], clip.v[k])
        >>> step = Step(state, Contacts.on_floor(state, character.floor), dt=0.01)

    Attributes:
        state: The state; `state.complete()` has been called.
        contacts: Active contacts.
        dt: Length of the step [s].
        external: Generalized force of pushes and pulls, shape (nv,).
        directions, owner: Columns of V as rows (n, 3), and the contact of each (n,).
        columns: What the coefficients act through.
    """

    def __init__(
        self, state: State, contacts: Contacts | None = None, *, dt: float, external: Array | None = None
    ) -> None:
        if not 0.0 < dt < math.inf:
            raise InvalidValue(f"A step lasts {dt} s; give a positive time.")
        self.state, self.dt = state, dt
        self.contacts = contacts = contacts if contacts is not None else Contacts.none()
        if contacts.__dict__.get("known_to") is not state.model:  # contacts that stay are checked once
            for points in (contacts.points, *(() if contacts.others is None else (np.maximum(contacts.others, 0),))):
                state.model.require_points(points, "Contacts")
            contacts.__dict__["known_to"] = state.model
        self.external = np.zeros(state.model.nv) if external is None else external
        if self.external.shape != (state.model.nv,) or not math.isfinite(self.external.dot(self.external)):
            raise InvalidValue(f"The external force of a step: {external}; give {state.model.nv} finite numbers.")
        self._generation = state.generation

    @property
    def nv(self) -> int:
        return self.state.model.nv

    @property
    def coefficient_count(self) -> int:
        return 4 * self.contacts.count if self.contacts.is_plain else len(self.directions)

    @property
    def directions(self) -> Array:
        return self._acting[0]

    @property
    def owner(self) -> Index:
        return self._acting[1]

    @cached_property
    def columns(self) -> Columns:
        return self._acting[2] or Columns.plain(self.force_map)

    @cached_property
    def _acting(self) -> tuple[Array, Index, Columns | None]:
        """What acts, looked up when first asked for; columns only where the core makes them."""
        self.require_current()
        return self.contacts.columns(self.state) if self.contacts.is_plain else (*self.contacts.directions(), None)

    @cached_property
    def force_map(self) -> Array:
        """B = Vᵀ J, shape (n, nv)."""
        directions, owner, columns = self._acting
        return columns.force_map() if columns else self.contacts.force_map(self.state, directions, owner)

    def require_current(self) -> None:
        """Raise if the state has moved on since this step was made."""
        if self.state.generation != self._generation:
            raise InvalidValue("This step belongs to an earlier state; make a new Step after moving the state.")

    def require_complete(self) -> None:
        """Raise if the state has moved on, or has no mass matrix yet."""
        self.require_current()
        if not self.state.is_complete:
            raise InvalidValue(
                "The state of this step is not complete. After state.move_to() call state.touch() and state.complete()"
                ", or state.at() for all three."
            )

    def torque(self, a: Array, coefficients: Array) -> Array:
        """τ = M a + bias − Bᵀ λ − τ_ext [N, N m], shape (nv,)."""
        return self.state.M @ a + self.state.bias - coefficients @ self.force_map - self.external

    def forces(self, coefficients: Array) -> Array:
        """Force of each contact in the world [N], shape (K, 3)."""
        out = np.zeros((self.contacts.count, 3))
        np.add.at(out, self.owner, coefficients[:, None] * self.directions)
        return out


class Quantity(abc.ABC):
    """Something physical that is affine in the unknowns of one step: y(z) = A z + c.

    It does not know whether it is an objective or a constraint; that is said where it is used.

    Example:
        >>> class Height(Quantity):
        ...     def rows(self, step: Step) -> Rows:
        ...         return y.ComAcceleration("z").rows(step)
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


def require_body(body: int | str | None, whose: str) -> None:
    """Raise InvalidValue unless this may be a body: an index, or a name."""
    is_index = isinstance(body, (int, np.integer)) and not isinstance(body, bool) and body >= 0
    if not (body is None or isinstance(body, str) or is_index):
        raise InvalidValue(f"{whose}: body is {body!r}; give a name, or an index of the model from 0.")


def require_dofs(dofs: tuple[int, int | None], whose: str) -> None:
    """Raise InvalidValue unless this may be a range of dofs."""
    ends = [dof for dof in dofs if dof is not None] if isinstance(dofs, tuple) and len(dofs) == 2 else []
    if not ends or dofs[0] is None or any([not isinstance(dof, (int, np.integer)) or dof < 0 for dof in ends]):
        raise InvalidValue(f"{whose}: dofs are {dofs!r}; give the first dof and the one after the last, (first, end).")


def require_tree(of: int, whose: str) -> None:
    """Raise InvalidValue unless this may be the number of a tree."""
    if not isinstance(of, (int, np.integer)) or of < 0:
        raise InvalidValue(f"{whose}: of is {of!r}; give the number of a tree of the model, from 0.")


Points = Index | Sequence[int | str]
"""Contact points by index or by name."""


def checked_points(points: Points, whose: str) -> Index | tuple[int | str, ...]:
    """Points as an array of indices, or as a tuple where there are names among them.

    Raises:
        InvalidValue: if they are something else, or an index is below zero.
    """
    if not isinstance(points, np.ndarray):
        names = (points,) if isinstance(points, str) else tuple(points)
        if any([isinstance(name, str) for name in names]):
            return names
        points = np.array(names if names else np.zeros(0, dtype=np.int64))
    if points.dtype.kind not in "iu" or points.ndim != 1:
        raise InvalidValue(f"{whose}: points are {points.dtype} {points.shape}; give a list of indices or names.")
    if points.size and points.min() < 0:
        raise InvalidValue(f"{whose}: point {points.min()}; points count from 0.")
    return points
