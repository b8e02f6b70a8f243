"""Lists of objectives and constraints, brought into the system of a step.

The core writes the usual kinds of quantities from a `table`. Every other quantity is written here, by its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.native import Block
from poise.step.contacts import Columns
from poise.step.problem import (
    AtLeast,
    Constraint,
    Equal,
    Objective,
    RelativeWeight,
    Within,
    as_rows,
    coefficient_target,
    coefficient_terms,
)
from poise.step.quantities import JointTorque, Quantity, RootWrench
from poise.step.step import Rows, Step
from poise.step.system import enlarge, packed, system_of
from poise.step.table import Full, Table, bound_weight, write_terms


class _NeedsCoefficients(Exception):
    """A quantity names single coefficients: they need a column each."""


class Writer:
    """Writes one problem into the block of a state.

    Attributes:
        step: The step.
        s: Its block "System".
    """

    def __init__(self, step: Step, s: Block, *, is_plain: bool) -> None:
        self.step, self.s, self.nv = step, s, step.nv
        self.is_plain = is_plain
        self.columns: Columns | None = None

    def write(self, terms: list[Objective | Constraint], table: Table) -> None:
        """Write a list."""
        s = self.s
        table.lists = None
        table.take(self.step, s, terms)
        self._contacts()
        if table.is_by_point and s.values.n != 4 * s.values.touching:
            raise InvalidValue("Coefficients by point are for plain contacts, which have four each.")
        s.values.dt, s.external[:] = self.step.dt, self.step.external
        if write_terms(s):
            raise Full("bounds", s.bounds + s.bounds_needed)
        for term in table.others:
            if isinstance(term, Objective):
                self.rows(term, *self._rows(term.quantity))
            elif isinstance(term, Equal):
                self._equal(term)
            else:
                self._bound(term)
        n, on_lambda = s.values.n, table.on_coefficients
        if not n or table.is_by_point:
            return
        if len(on_lambda) == 1 and isinstance(weight := on_lambda[0].weight, RelativeWeight):
            s.values.relative, s.relative_weight[:] = weight.share, weight.torque_weight
            s.target[:n] = coefficient_target(self.step, on_lambda[0])
            return
        s.weight[:n], s.target[:n] = coefficient_terms(self.step, on_lambda)

    def _contacts(self) -> None:
        """What touches, and the columns through which it acts unless the core makes them."""
        s, step, contacts = self.s, self.step, self.step.contacts
        count = self.room("touching", len(contacts.points))
        s.values.touching = count
        if self.is_plain and contacts.is_plain:
            s.values.is_spread, s.values.n = 0, self.room("n", 4 * count)
            s.contact_points[:count], s.normals[:count] = contacts.points, contacts.normals
            s.friction[:count] = contacts.friction
            self.room("c", 3 * count)
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
            raise Full(name, count)
        return count

    def _equal(self, constraint: Equal) -> None:
        on_a, on_u, c = self._rows(constraint.quantity)
        at, s = self.s.values.k, self.s
        s.values.k = self.room("k", at + len(c))
        s.G[at : s.values.k], s.g[at : s.values.k] = on_a, as_rows(constraint.target, len(c), constraint) - c
        self._on_columns(s.D, at, s.values.k, on_u)

    def _bound(self, constraint: AtLeast | Within) -> None:
        """Append a bound; one from above is one from below on the opposite."""
        s, at = self.s, self.s.values.bounds
        on_a, on_u, c = self._rows(constraint.quantity)
        if on_u is not None and not s.values.is_coupled:
            self.need_columns()
            s.values.is_coupled = 1
            packed(s.X, at, s.values.c)[:] = 0.0
        weight = as_rows(bound_weight(constraint), len(c), constraint)
        sides = [(1.0, constraint.lower)]
        if isinstance(constraint, Within):
            sides.append((-1.0, constraint.upper))
        for sign, bound in sides:
            lower = sign * (as_rows(bound, len(c), constraint) - c)
            own = np.flatnonzero((lower != -np.inf) | isinstance(constraint, Within))  # −∞ is not a bound
            s.values.bounds = end = self.room("bounds", at + len(own))
            s.J[at:end] = sign * on_a[own]
            s.is_given[at:end] = True
            s.lower[at:end], s.bound_weight[at:end] = lower[own], weight[own]
            if s.values.is_coupled:
                self._on_columns(s.X, at, end, None if on_u is None else sign * on_u[own])
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
        """Append an objective as rows."""
        s, at = self.s, self.s.values.rows
        s.values.rows = end = self.room("rows", at + len(c))
        s.row_a[at:end] = on_a
        s.row_weight[at:end] = as_rows(objective.weight, len(c), objective)
        s.row_target[at:end] = as_rows(objective.target, len(c), objective) - c
        self._on_columns(s.row_u, at, end, on_u)


def table_of(s: Block) -> Table:
    """The table of a block "System"."""
    return s.__dict__.get("known") or s.__dict__.setdefault("known", Table())


def _write_again(step: Step, s: Block) -> bool:
    """Write the list of the last step; False where contacts or room ask for `Writer`."""
    contacts, values, most = step.contacts, s.values, s.most
    count = len(contacts.points)
    if not contacts.is_plain or count > most["touching"] or 4 * count > most["n"] or 3 * count > most["c"]:
        return False
    values.is_spread, values.touching, values.n = 0, count, 4 * count
    values.dt, s.friction[:count] = step.dt, contacts.friction
    s.contact_points[:count], s.normals[:count], s.external[:] = contacts.points, contacts.normals, step.external
    for term in table_of(s).on_coefficients:
        s.weight[: 4 * count], s.target[: 4 * count] = term.weight, term.target
    return not write_terms(s)


def _are_constant(terms: Sequence[Objective]) -> bool:
    """Whether contact coefficients have at most one target and weight, which are the same for all of them."""
    return len(terms) <= 1 and all([isinstance(x, float) for term in terms for x in (term.weight, term.target)])


def write(step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> Block:
    """Bring the lists of a step into its block "System"; nothing that is not in them enters.

    Raises:
        InvalidValue: if a target or weight has the wrong shape; names the objective.
    """
    step.require_complete()
    s, is_plain = system_of(step.state), True
    if table_of(s).knows(objectives, constraints) and _write_again(step, s):
        return s
    terms = [*objectives, *constraints]
    while True:
        table = table_of(s)
        try:
            Writer(step, s, is_plain=is_plain).write(terms, table)
            are_kept = type(objectives) is tuple and type(constraints) is tuple
            are_kept = are_kept and (table.is_by_point or _are_constant(table.on_coefficients))
            rows = [r for r, slot in zip(table.rows, table.slots, strict=True) if slot >= 0]
            if are_kept and not table.others and all([r and r.is_fixed for r in rows]):
                table.lists = objectives, constraints
            return s
        except Full as full:
            name, count = full.args
            s = enlarge(step.state, name, count)
        except _NeedsCoefficients:
            is_plain = False


def prepare(step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> bool:
    """Bring the table of a state to a list, for `write_terms`; False if that does not write all of it."""
    table = table_of(s := system_of(step.state))
    table.lists = None
    try:
        table.take(step, s, [*objectives, *constraints])
    except Full:
        return False
    return table.is_by_point and not table.others
