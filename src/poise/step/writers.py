"""Lists of objectives and constraints, written into the system of a step: one writer for each kind of quantity.

A writer is faster than the rows of its quantity and says the same; a test holds the two together. A quantity without
one is written by its rows, so a new quantity needs `rows` and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from poise.core.typing import Array, Flags
from poise.native import Block
from poise.step.constraint import AtLeast, Constraint, Equal, Within
from poise.step.contacts import Columns
from poise.step.objective import Objective, RelativeWeight, as_rows
from poise.step.problem import coefficient_terms
from poise.step.quantities import (
    BodyAngularAcceleration,
    ComAcceleration,
    ContactAcceleration,
    JointAcceleration,
    JointTorque,
    PointAcceleration,
    RootWrench,
)
from poise.step.quantity import Quantity
from poise.step.step import Rows, Step
from poise.step.system import enlarge, packed, system_of


class _Full(Exception):
    """The block has too little room; holds the name of the count and how many are needed."""


class _NeedsCoefficients(Exception):
    """A quantity names single coefficients: they need a column each."""


class Writer:
    """Writes one problem into the block of a state.

    Attributes:
        step: The step.
        s: Its block "System".
        torques: Spans of dofs whose torque is wished for already.
        turns: Bodies whose turn is; None for all.
    """

    def __init__(self, step: Step, s: Block, *, is_plain: bool) -> None:
        self.step, self.s, self.nv = step, s, step.nv
        self.torques: list[tuple[int, int]] = []
        self.turns: set[int | None] = set()
        self.is_plain = is_plain
        values = s.values
        values.is_coupled = values.has_turns = values.directed = values.rows = 0
        values.com_count = values.k = values.bounds = 0
        s.values.relative = 0.0
        s.torque_weight.fill(0.0)
        s.dof_weight.fill(0.0)
        s.dof_pull.fill(0.0)
        self._contacts()
        if step.external is not s.external:
            s.external[:] = step.external

    def _contacts(self) -> None:
        """What touches, and the columns through which it acts unless the core makes them."""
        s, step, contacts = self.s, self.step, self.step.contacts
        s.values.touching = self.room("touching", contacts.count)
        if self.is_plain and contacts.is_plain:
            s.values.is_spread, s.values.n = 0, self.room("n", 4 * contacts.count)
            s.values.friction = float(contacts.friction)
            s.contact_points[: s.values.touching], s.normals[: s.values.touching] = contacts.points, contacts.normals
            self.room("c", 3 * contacts.count)
            self.columns = None
            return
        columns = step.columns if self.is_plain else Columns.plain(step.force_map)
        n, c = self.room("n", len(columns.first)), self.room("c", columns.map.shape[1])
        s.values.is_spread, s.values.n, s.values.c = 1, n, c
        s.directions[:n], s.owner[:n] = step.directions, step.owner
        s.share[:n], s.first[:n], s.width[:n] = columns.share, columns.first, columns.width
        packed(s.acts, self.nv, c)[:] = columns.map
        self.columns = columns

    def need_columns(self) -> Columns:
        """The columns of the step, for what is written in them."""
        if self.columns is None:
            self.columns = self.step.columns
            self.s.values.c = self.columns.map.shape[1]
        return self.columns

    def room(self, name: str, count: int) -> int:
        """The count, if the block has room for it."""
        if count > self.s.most[name]:
            raise _Full(name, count)
        return count

    def objectives(self, objectives: Sequence[Objective]) -> None:
        """Write what is wished for."""
        on_lambda: list[Objective] = []
        for objective in objectives:
            quantity = objective.quantity
            if quantity.is_on_coefficients:
                on_lambda.append(objective)
                continue
            writer = WRITERS.get(type(quantity))
            if writer is None or not writer(self, objective, quantity):
                on_a, on_u, c = self._rows(quantity)
                self.rows(objective, on_a, on_u, c)
        s, n = self.s, self.s.values.n
        if not n:
            return
        if len(on_lambda) == 1 and isinstance(on_lambda[0].weight, RelativeWeight):
            relative = on_lambda[0].weight
            s.values.relative, s.relative_weight[:] = relative.share, relative.torque_weight
            s.target[:n] = as_rows(on_lambda[0].target, n, on_lambda[0])
            return
        s.weight[:n], s.target[:n] = coefficient_terms(self.step, on_lambda)

    def constraints(self, constraints: Sequence[Constraint]) -> None:
        """Write what must hold; all bounds are soft here."""
        equal = [c for c in constraints if isinstance(c, Equal)]
        # the core makes the rows of one center of mass, and they stand first
        for first in equal:
            if _write_com(self, first):
                equal.remove(first)
                break
        for constraint in equal:
            on_a, on_u, c = self._rows(constraint.quantity)
            at, s = self.s.values.k, self.s
            s.values.k = self.room("k", at + len(c))
            s.G[at : s.values.k], s.g[at : s.values.k] = on_a, as_rows(constraint.target, len(c), constraint) - c
            self._on_columns(s.D, at, s.values.k, on_u)
        for constraint in constraints:
            if not isinstance(constraint, Equal):
                self._bound(constraint)

    def _bound(self, constraint: AtLeast | Within) -> None:
        """Append a soft bound; one from above is one from below on the opposite."""
        assert constraint.weight is not None, "a hard bound goes to daqp"
        s, quantity, at = self.s, constraint.quantity, self.s.values.bounds
        if type(quantity) is PointAcceleration and not isinstance(constraint, Within):
            count = quantity.axes.shape[0] * quantity.axes.shape[1]
            s.values.bounds = end = self.room("bounds", at + count)
            s.is_given[at:end] = False
            s.bound_point[at:end] = np.repeat(quantity.points, quantity.axes.shape[1])
            s.bound_axis[at:end] = quantity.axes.reshape(-1, 3)
            s.lower[at:end] = as_rows(constraint.lower, count, constraint)
            s.bound_weight[at:end] = as_rows(constraint.weight, count, constraint)
            if s.values.is_coupled:
                self._on_columns(s.X, at, end, None)
            return
        if type(quantity) is JointAcceleration and quantity.along is not None:
            on_a, on_u, c = quantity.along, None, np.zeros(len(quantity.along))
        else:
            on_a, on_u, c = self._rows(quantity)
        if on_u is not None and not s.values.is_coupled:
            self.need_columns()
            s.values.is_coupled = 1
            packed(s.X, at, s.values.c)[:] = 0.0
        sides = [(1.0, constraint.lower)]
        if isinstance(constraint, Within):
            sides.append((-1.0, constraint.upper))
        for sign, bound in sides:
            s.values.bounds = end = self.room("bounds", at + len(c))
            s.J[at:end] = on_a if sign > 0.0 else -on_a
            s.is_given[at:end] = True
            s.lower[at:end] = sign * (as_rows(bound, len(c), constraint) - c)
            s.bound_weight[at:end] = as_rows(constraint.weight, len(c), constraint)
            if s.values.is_coupled:
                self._on_columns(s.X, at, end, None if on_u is None else sign * on_u)
            at = end

    def _on_columns(self, array: Array, at: int, end: int, on_u: Array | None) -> None:
        """Rows on columns, packed behind those before them."""
        if on_u is not None:
            self.need_columns()
        elif not self.s.values.is_spread and self.columns is None:
            # nothing is known of the columns yet, and nothing acts through them: zero, however many there are
            array[:end] = 0.0
            return
        c = self.s.values.c
        array.reshape(-1)[at * c : end * c].reshape(end - at, c)[:] = 0.0 if on_u is None else on_u

    def _rows(self, quantity: Quantity) -> tuple[Array, Array | None, Array]:
        """Rows of a quantity on accelerations (m, nv) and columns (m, c), and its constant part (m,)."""
        own = quantity.torque(self.step) if isinstance(quantity, RootWrench) else quantity
        if type(own) is JointTorque:
            on_a, c = own.on_a(self.step)
            return on_a, -self.need_columns().map[slice(*own.dofs)], c
        r: Rows = quantity.rows(self.step)
        if r.on_lambda is None:
            return r.on_a, None, r.c
        if self.is_plain:
            raise _NeedsCoefficients
        return r.on_a, r.on_lambda, r.c

    def rows(self, objective: Objective, on_a: Array, on_u: Array | None, c: Array) -> None:
        """Append wishes as rows."""
        s, at = self.s, self.s.values.rows
        s.values.rows = end = self.room("rows", at + len(c))
        s.row_a[at:end] = on_a
        s.row_weight[at:end] = as_rows(objective.weight, len(c), objective)
        s.row_target[at:end] = as_rows(objective.target, len(c), objective) - c
        self._on_columns(s.row_u, at, end, on_u)


def write(step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> Block:
    """Bring the lists of a step into its block "System"; nothing that is not in them enters.

    Raises:
        InvalidValue: if a target or weight has the wrong shape; names the objective.
    """
    step.require_complete()
    s, is_plain = system_of(step.state), True
    while True:
        try:
            writer = Writer(step, s, is_plain=is_plain)
            writer.objectives(objectives)
            writer.constraints(constraints)
            return s
        except _Full as full:
            name, count = full.args
            s = enlarge(step.state, name, count)
        except _NeedsCoefficients:
            is_plain = False


# --- one writer for each kind of quantity; False where the rows must do it


def _write_torque(w: Writer, objective: Objective, quantity: JointTorque) -> bool:
    if quantity.damping is not None:
        return False
    first, end, _ = slice(*quantity.dofs).indices(w.nv)
    if any(first < other_end and other < end for other, other_end in w.torques):
        return False  # two wishes on one torque
    w.torques.append((first, end))
    w.s.torque_weight[first:end] = as_rows(objective.weight, end - first, objective)
    w.s.torque_target[first:end] = as_rows(objective.target, end - first, objective)
    return True


def _write_root_wrench(w: Writer, objective: Objective, quantity: RootWrench) -> bool:
    return _write_torque(w, objective, quantity.torque(w.step))


def _write_turns(w: Writer, objective: Objective, quantity: BodyAngularAcceleration) -> bool:
    s, one = w.s, quantity.index(w.step)
    if one in w.turns or None in w.turns or (one is None and w.turns):
        return False  # two wishes on one body
    own = slice(3, None) if one is None else slice(3 * one, 3 * one + 3)
    weights, targets = s.turn_weight.reshape(-1), s.turn_target.reshape(-1)
    if one is not None and not w.turns:
        s.turn_weight.fill(0.0)
    s.values.has_turns = 1
    w.turns.add(one)
    weights[own] = as_rows(objective.weight, len(weights[own]), objective)
    targets[own] = as_rows(objective.target, len(targets[own]), objective)
    return True


def _write_dofs(w: Writer, objective: Objective, quantity: JointAcceleration) -> bool:
    own = quantity.own_dofs(w.step)
    if own is None:
        return False
    dofs, count = slice(*own), own[1] - own[0]
    weight = as_rows(objective.weight, count, objective)
    w.s.dof_weight[dofs] += weight
    w.s.dof_pull[dofs] += weight * as_rows(objective.target, count, objective)
    return True


def _write_points(w: Writer, objective: Objective, quantity: PointAcceleration) -> bool:
    s, axes, at = w.s, quantity.axes, w.s.values.directed
    count = axes.shape[0] * axes.shape[1]
    s.values.directed = end = w.room("directed", at + count)
    s.direction_point[at:end] = np.repeat(quantity.points, axes.shape[1])
    s.direction[at:end] = axes.reshape(-1, 3)
    s.direction_weight[at:end] = as_rows(objective.weight, count, objective)
    s.direction_target[at:end] = as_rows(objective.target, count, objective)
    return True


def _write_contact_acceleration(w: Writer, objective: Objective, quantity: ContactAcceleration) -> bool:
    if (np.asarray(quantity.others) >= 0).any():
        return False
    return _write_points(w, objective, PointAcceleration(quantity.points, quantity.axes))


def _write_com(w: Writer, constraint: Equal) -> bool:
    """The center of mass of a tree along neighboring axes, as an equality."""
    quantity = constraint.quantity
    if type(quantity) is not ComAcceleration or quantity.without or quantity.along is not None:
        return False
    if quantity.axes not in "xyz" or w.s.values.k:
        return False
    s, count = w.s, len(quantity.axes)
    s.values.k = s.values.com_count = w.room("k", count)
    s.values.com_first, s.values.com_root = "xyz".index(quantity.axes), w.step.state.model.roots[quantity.of]
    s.g[:count] = as_rows(constraint.target, count, constraint)
    return True


WRITERS: dict[type[Quantity], Callable[[Writer, Objective, Any], bool]] = {
    JointTorque: _write_torque,
    RootWrench: _write_root_wrench,
    BodyAngularAcceleration: _write_turns,
    JointAcceleration: _write_dofs,
    PointAcceleration: _write_points,
    ContactAcceleration: _write_contact_acceleration,
}
"""Kinds of quantities that are written without rows."""


def expect(s: Block, warm: Flags | None, bounds: Flags | None, guess: Array | None) -> None:
    """Write what is expected of the answer: coefficients above zero, bounds that act, accelerations."""
    n, count = s.values.n, s.values.bounds
    s.warm[:n] = warm if warm is not None and len(warm) == n else False
    s.taken[:count] = bounds if bounds is not None and len(bounds) == count else False
    s.values.has_guess = guess is not None
    if guess is not None:
        s.guess[:] = guess
