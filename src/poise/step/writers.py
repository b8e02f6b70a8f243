"""Lists of objectives and constraints, brought into the system of a step.

The core writes the usual kinds of quantities from a table with one row for each term: what kind it is, and where its
numbers are. Every other quantity is written by its own rows, so a new one needs `rows` and nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array, Index
from poise.native import Block
from poise.native.function import address_of
from poise.step.contacts import Columns
from poise.step.problem import (
    AtLeast,
    Constraint,
    Equal,
    Named,
    Objective,
    RelativeWeight,
    Within,
    as_rows,
    coefficient_target,
    coefficient_terms,
    constant,
)
from poise.step.quantities import (
    BodyAngularAcceleration,
    ComAcceleration,
    ContactAcceleration,
    ContactCoefficients,
    JointAcceleration,
    JointTorque,
    PlaceAcceleration,
    PointAcceleration,
    Quantity,
    RootWrench,
)
from poise.step.step import Rows, Step
from poise.step.system import (
    COEFFICIENT,
    COM,
    DOF,
    HELD,
    PLACE,
    POINT,
    POINT_BOUND,
    ROW_BOUND,
    TORQUE,
    TURN,
    enlarge,
    packed,
    system_of,
    write_terms,
)

_NO_POINTS, _NO_ROWS, _WORLD = np.zeros(0, dtype=np.int64), np.zeros(0), np.eye(3)
_ENTRY = struct.Struct("=7q")
"""Seven integers, a row of `table`; written four times as fast as by NumPy."""


class _Full(Exception):
    """The block has too little room; holds the name of the count and how many are needed."""


class _NeedsCoefficients(Exception):
    """A quantity names single coefficients: they need a column each."""


class Row(NamedTuple):
    """One row of the table from which the core writes a list: what kind of term it is, and where its numbers are.

    Attributes:
        kind, first, size: `term_kind`, `term_first` and `term_count` of the block "System".
        target, weight, points, rows: Addresses.
        kept: The arrays that lie there.
        is_fixed: They are the term's own, so that the row holds as long as the term does.
    """

    kind: int
    first: int
    size: int
    target: int
    weight: int
    points: int
    rows: int
    kept: tuple[Array | Index, ...]
    is_fixed: bool


class Table:
    """The table of a block "System": rows for the terms that the core writes, and the terms that it does not.

    A term that is the same object at the same place as in the last list keeps its row, so a list that is made once is
    written without looking at it again; its arrays may hold other numbers each time.
    """

    def __init__(self) -> None:
        self.terms: list[Objective | Constraint] = []
        self.rows: list[Row | None] = []
        self.slots: list[int] = []
        self.others: list[Objective | Constraint] = []
        self.on_coefficients: list[Objective] = []
        self.is_by_point = False
        self.lists: tuple[object, object] | None = None

    def knows(self, objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> bool:
        """These are the tuples of the last list, which the core writes whole from arrays that stay the same."""
        return self.lists is not None and self.lists[0] is objectives and self.lists[1] is constraints

    def take(self, step: Step, s: Block, terms: list[Objective | Constraint]) -> None:
        """Make the table that of another list."""
        known, rows = self.terms, self.rows
        fresh: dict[int, Row | None] = {}
        is_alike = len(known) == len(terms)
        for k, term in enumerate(terms if is_alike else ()):
            if term is not known[k] or ((row := rows[k]) is not None and not row.is_fixed):
                fresh[k] = _row(step, term)
                is_alike = is_alike and _is_alike(known[k], rows[k], term, fresh[k])
        if not is_alike:
            fresh = {k: _row(step, term) for k, term in enumerate(terms)}
            self.rows = rows = list(fresh.values())
            self._assign(s, terms)
        for k, row in fresh.items():
            rows[k] = row
            if row is not None and (slot := self.slots[k]) >= 0:
                _ENTRY.pack_into(s.table, slot * _ENTRY.size, *row[:7])
        self.terms = terms
        if is_alike and all([self.slots[k] >= 0 for k in fresh]):
            return
        left = [term for term, slot in zip(terms, self.slots, strict=True) if slot < 0]
        self.on_coefficients = [t for t in left if isinstance(t, Objective) and t.quantity.is_on_coefficients]
        self.others = [t for t in left if not (isinstance(t, Objective) and t.quantity.is_on_coefficients)]

    def _assign(self, s: Block, terms: list[Objective | Constraint]) -> None:
        """Give the terms their places in the table; −1 for those that are written by their rows."""
        self.terms, self.slots = [], []
        directed = equal = count = 0
        has_com = has_held = self.is_by_point = are_bounds_over = False
        alone = sum([term.quantity.is_on_coefficients for term in terms]) == 1
        for term, row in zip(terms, self.rows, strict=True):
            kind = -1 if row is None else row.kind
            takes = row is not None
            if kind == COM:
                takes, has_com = not has_com, True
            elif kind == HELD:
                takes, has_held = not has_held, True
            elif kind == COEFFICIENT:
                takes = self.is_by_point = alone
            elif isinstance(term, AtLeast | Within):  # bounds keep their order
                takes = takes and not are_bounds_over
                are_bounds_over = not takes
            self.slots.append(count if takes else -1)
            if row is None or not takes:
                continue
            count += 1
            directed += row.size if kind in (POINT, PLACE) else 0
            equal += row.size if kind in (COM, HELD) else 0
        for name, needed in (("terms", count), ("directed", directed), ("k", equal)):
            if needed > s.most[name]:
                raise _Full(name, needed)
        if has_com and has_held:  # the core makes the rows of a center of mass, and they stand first
            first = next(k for k, row in enumerate(self.rows) if row is not None and row.kind == COM)
            place = self.slots[first]
            self.slots = [0 if k == first else x + 1 if 0 <= x < place else x for k, x in enumerate(self.slots)]
        s.values.terms = count


def _is_alike(known: Objective | Constraint, row: Row | None, term: Objective | Constraint, other: Row | None) -> bool:
    """Whether one term may take the place of another in a table."""
    if type(known) is not type(term) or known.quantity.is_on_coefficients != term.quantity.is_on_coefficients:
        return False
    return row is other if row is None or other is None else row[:3] == other[:3]


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
        s.external[:] = self.step.external
        if write_terms(s):
            raise _Full("bounds", s.bounds + s.bounds_needed)
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
            s.values.friction = float(contacts.friction)
            s.contact_points[:count], s.normals[:count] = contacts.points, contacts.normals
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
            raise _Full(name, count)
        return count

    def _equal(self, constraint: Equal) -> None:
        on_a, on_u, c = self._rows(constraint.quantity)
        at, s = self.s.values.k, self.s
        s.values.k = self.room("k", at + len(c))
        s.G[at : s.values.k], s.g[at : s.values.k] = on_a, as_rows(constraint.target, len(c), constraint) - c
        self._on_columns(s.D, at, s.values.k, on_u)

    def _bound(self, constraint: AtLeast | Within) -> None:
        """Append a soft bound; one from above is one from below on the opposite."""
        assert constraint.weight is not None, "a hard bound goes to daqp"
        s, at = self.s, self.s.values.bounds
        on_a, on_u, c = self._rows(constraint.quantity)
        if on_u is not None and not s.values.is_coupled:
            self.need_columns()
            s.values.is_coupled = 1
            packed(s.X, at, s.values.c)[:] = 0.0
        weight = as_rows(constraint.weight, len(c), constraint)
        sides = [(1.0, constraint.lower)]
        if isinstance(constraint, Within):
            sides.append((-1.0, constraint.upper))
        for sign, bound in sides:
            lower = sign * (as_rows(bound, len(c), constraint) - c)
            own = np.flatnonzero((lower != -np.inf) | isinstance(constraint, Within))  # −∞ is no bound
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
    values.friction = contacts.friction
    s.contact_points[:count], s.normals[:count], s.external[:] = contacts.points, contacts.normals, step.external
    return not write_terms(s)


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
            if are_kept and table.is_by_point and not table.others and all([r and r.is_fixed for r in table.rows]):
                table.lists = objectives, constraints
            return s
        except _Full as full:
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
    except _Full:
        return False
    return table.is_by_point and not table.others


# --- one row for each kind of term; None where its rows must do it


def _row(step: Step, term: Objective | Constraint) -> Row | None:
    quantity = term.quantity
    if isinstance(term, Objective):
        make = ROWS.get(type(quantity))
        if make is None or isinstance(term.weight, RelativeWeight) != (type(quantity) is ContactCoefficients):
            return None
        return make(step, term, quantity)
    if isinstance(term, Equal):
        torque = quantity.torque(step) if isinstance(quantity, RootWrench) else quantity
        if type(torque) is JointTorque and torque.damping is None:
            first, end = step.state.model.dofs(torque.dofs, term.name)
            return _made(term, HELD, first, end - first, term.target, 0.0)
        if type(quantity) is not ComAcceleration or quantity.without or quantity.along is not None:
            return None
        if quantity.axes not in "xyz":
            return None
        place = 3 * step.state.model.tree(quantity.of) + "xyz".index(quantity.axes)
        return _made(term, COM, place, len(quantity.axes), term.target, 0.0)
    if isinstance(term, Within) or term.weight is None:
        return None
    if type(quantity) is PointAcceleration:
        return _of_points(step, term, POINT_BOUND, quantity, term.lower, term.weight)
    if type(quantity) is JointAcceleration and quantity.along is not None:
        rows = quantity.along
        return _made(term, ROW_BOUND, 0, len(rows), term.lower, term.weight, rows=rows)
    return None


def _made(
    term: Objective | Constraint, kind: int, first: int, count: int, target: Array | float,
    weight: Array | float | RelativeWeight, points: Index | Array = _NO_POINTS, rows: Array = _NO_ROWS,
) -> Row:  # fmt: skip
    """The row of a term from its numbers."""
    targets, target_at, is_own_target = _numbers(target, count, term)
    weights, weight_at, is_own_weight = _numbers(weight, count, term)
    axes = np.ascontiguousarray(rows, dtype=np.float64)
    places: Any = np.ascontiguousarray(points, dtype=np.float64 if kind == PLACE else np.int64)
    is_fixed = is_own_target and is_own_weight and axes is rows and places is points
    rows_at, points_at = [address_of(x) if x.size else 0 for x in (axes, places)]
    return Row(kind, first, count, target_at, weight_at, points_at, rows_at, (targets, weights, axes, places), is_fixed)


def _numbers(value: Array | float | RelativeWeight, count: int, term: Named) -> tuple[Array, int, bool]:
    """One number a row, their address, and whether they hold as long as the term does."""
    if isinstance(value, int | float):
        return *constant(float(value), count), True
    array = np.ascontiguousarray(as_rows(value, count, term), dtype=np.float64)
    return array, address_of(array) if count else 0, array is value


def _of_points(
    step: Step, term: Objective | Constraint, kind: int, quantity: PointAcceleration | ContactAcceleration,
    target: Array | float, weight: Array | float | RelativeWeight,
) -> Row | None:  # fmt: skip
    count, each = quantity.axes.shape[:2]
    if not each:
        return None
    points = quantity.indices(step.state.model)
    return _made(term, kind, each, count * each, target, weight, points, quantity.axes)


def _torque(step: Step, objective: Objective, quantity: JointTorque) -> Row | None:
    if quantity.damping is not None:
        return None
    first, end = step.state.model.dofs(quantity.dofs, objective.name)
    return _made(objective, TORQUE, first, end - first, objective.target, objective.weight)


def _root_wrench(step: Step, objective: Objective, quantity: RootWrench) -> Row | None:
    return _torque(step, objective, quantity.torque(step))


def _turns(step: Step, objective: Objective, quantity: BodyAngularAcceleration) -> Row | None:
    one = quantity.index(step)
    first, count = (3, 3 * (step.state.model.body_count - 1)) if one is None else (3 * one, 3)
    return _made(objective, TURN, first, count, objective.target, objective.weight)


def _dofs(step: Step, objective: Objective, quantity: JointAcceleration) -> Row | None:
    own = quantity.own_dofs(step)
    if own is None:
        return None
    return _made(objective, DOF, own[0], own[1] - own[0], objective.target, objective.weight)


def _points(step: Step, objective: Objective, quantity: PointAcceleration) -> Row | None:
    return _of_points(step, objective, POINT, quantity, objective.target, objective.weight)


def _place(step: Step, objective: Objective, quantity: PlaceAcceleration) -> Row:
    body = step.state.model.body(quantity.body)
    along = _WORLD if quantity.along is None else quantity.along
    target, weight = objective.target, objective.weight
    return _made(objective, PLACE, body, len(along), target, weight, quantity.offset, along)


def _contact_acceleration(step: Step, objective: Objective, quantity: ContactAcceleration) -> Row | None:
    if (np.asarray(quantity.others) >= 0).any():
        return None
    return _of_points(step, objective, POINT, quantity, objective.target, objective.weight)


def _coefficients(step: Step, objective: Objective, quantity: ContactCoefficients) -> Row | None:
    weight, points = objective.weight, step.state.model.point_count
    if not quantity.is_by_point or not isinstance(weight, RelativeWeight):
        return None
    target = np.ascontiguousarray(np.reshape(objective.target, (points, 4)), dtype=np.float64)
    torque_weight = np.ascontiguousarray(as_rows(weight.torque_weight, step.nv, objective), dtype=np.float64)
    kept = target, torque_weight, np.array([weight.share])
    is_fixed = np.shares_memory(target, objective.target) and torque_weight is weight.torque_weight
    target_at, weight_at, share_at = [address_of(x) if x.size else 0 for x in kept]
    return Row(COEFFICIENT, 0, 4 * points, target_at, weight_at, 0, share_at, kept, is_fixed)


ROWS: dict[type[Quantity], Callable[[Step, Objective, Any], Row | None]] = {
    JointTorque: _torque,
    RootWrench: _root_wrench,
    BodyAngularAcceleration: _turns,
    JointAcceleration: _dofs,
    PointAcceleration: _points,
    PlaceAcceleration: _place,
    ContactCoefficients: _coefficients,
    ContactAcceleration: _contact_acceleration,
}
"""Kinds of quantities that the core writes."""
