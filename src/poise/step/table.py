"""The table of a list: one row for each term, from which the core writes it.

A row says what kind a term is, and where its numbers are. An objective of any other quantity gives the rows of that
quantity, so a new one needs `rows` and nothing else; see `writers` for what does not fit into the table.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array, Index
from poise.native import Block, compiled
from poise.native.function import address_of
from poise.physics.bodies import com_rows
from poise.step.problem import (
    AtLeast,
    Constraint,
    Equal,
    Named,
    Objective,
    RelativeWeight,
    Within,
    as_rows,
    constant,
    require_term,
)
from poise.step.quantities import (
    AngularMomentumRate,
    AxisAcceleration,
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
from poise.step.step import Step

(
    TORQUE, TURN, DOF, POINT, PLACE, AXIS, MEAN, SPIN, COM, HELD, POINT_BOUND, ROW_BOUND, TORQUE_BOUND, COEFFICIENT, OWN
) = range(15)  # fmt: skip
"""How a term of a list is written."""


def numbers_at(address: int, *shape: int, kind: Any = ctypes.c_double) -> Array:
    """The numbers at an address, as an array of this shape."""
    if not math.prod(shape):
        return np.zeros(shape)
    return np.ctypeslib.as_array((kind * math.prod(shape)).from_address(address)).reshape(shape)


def _join(weight: Array, target: Array, more: Array, other: Array) -> None:
    """Two squares of one number are one: w (x − t)² with the sum of the weights and the mean of the targets."""
    more = np.where(more >= 0.0, more, np.nan)
    mean = (weight * target + more * other) / np.where(weight + more == 0.0, 1.0, weight + more)
    target[:] = np.where(weight == 0.0, other, np.where(more == 0.0, target, mean))
    weight += more


@compiled("System *s", returns="word")
def write_terms(s):
    """Write the terms in the table, and nothing that stood there before; how many bounds found no room."""
    s.is_coupled = s.has_turns = s.directed = s.rows = s.com_count = s.held_count = s.k = s.bounds = s.bounds_needed = 0
    s.relative = 0.0
    s.torque_weight[:], s.damping[:], s.dof_weight[:], s.dof_pull[:] = 0.0, 0.0, 0.0, 0.0
    p = s.pose
    for t in range(s.terms):
        kind, first, count, target_at, weight_at, points_at, rows_at = s.table[t].tolist()
        target, own = numbers_at(target_at, count), slice(first, first + count)
        weights = {COM: 0, HELD: 0, COEFFICIENT: s.pose.nv}.get(kind, count)
        weight = numbers_at(weight_at, weights)
        axes, points, wide = np.zeros((count, 3)), np.zeros(count, dtype=np.int64), 3
        if kind in (POINT, POINT_BOUND):
            points = numbers_at(points_at, count // first, kind=ctypes.c_int64).repeat(first)
        if kind in (POINT, PLACE, AXIS, POINT_BOUND, ROW_BOUND, OWN):
            wide = s.pose.nv if kind in (ROW_BOUND, OWN) else 3
            axes = numbers_at(rows_at, count, wide)
        if kind in (TORQUE, TORQUE_BOUND) and rows_at:
            s.damping[own] = s.dt * numbers_at(rows_at, count)
        if kind == TORQUE:
            _join(s.torque_weight[own], s.torque_target[own], weight, target)
        elif kind == TURN:
            if not s.has_turns:
                s.turn_weight[:] = 0.0
            s.has_turns = 1
            _join(s.turn_weight.reshape(-1)[own], s.turn_target.reshape(-1)[own], weight, target)
        elif kind == DOF:
            s.dof_weight[own] += weight
            s.dof_pull[own] += weight * target
        elif kind == POINT:
            at = slice(s.directed, s.directed + count)
            s.direction_point[at], s.direction[at], s.directed = points, axes, s.directed + count
            s.direction_weight[at], s.direction_target[at] = weight, target
        elif kind == PLACE:
            at = slice(s.directed, s.directed + count)
            place = s.pose.xpos[first] + s.pose.xmat[first].reshape(3, 3) @ numbers_at(points_at, 3)
            s.direction_point[at], s.direction_body[at], s.direction_place[at] = -1, first, place
            s.direction[at], s.direction_weight[at], s.direction_target[at] = axes, weight, target
            s.directed += count
        elif kind == AXIS:
            at = slice(s.directed, s.directed + count)
            u, turn = p.xmat[first].reshape(3, 3) @ numbers_at(points_at, 3), p.cvel[first, :3]
            s.direction_point[at], s.direction_body[at] = -2, first
            s.direction[at] = np.cross(u, axes)  # along · (α × u) = α · (u × along)
            s.direction_place[at] = 0.0
            s.direction_place[at, 0] = (
                axes @ np.cross(turn, np.cross(turn, u)) + s.direction[at] @ p.body_biases[first, :3]
            )
            s.direction_weight[at], s.direction_target[at] = weight, target
            s.directed += count
        elif kind == MEAN:
            jacobian, bias, pick = np.empty((3, p.nv)), np.empty(3), slice(first % 3, first % 3 + count)
            com_rows.twin(p, first // 3, jacobian, bias)
            _append_rows(s, jacobian[pick], bias[pick], weight, target)
        elif kind == SPIN:
            # the moment of the root's force (x − c) × F and of its torque R N
            root = slice(p.dof_first[first], p.dof_first[first] + 6)
            arm, axis = p.xpos[first] - p.subtree_com[first], p.xmat[first].reshape(3, 3)
            across = np.concatenate([np.cross(np.eye(3), arm), axis], axis=1)
            _append_rows(s, across @ p.M[root], across @ p.bias[root], weight, target)
        elif kind == OWN:
            _append_rows(s, axes, numbers_at(points_at, count), weight, target)
        elif kind == HELD:
            s.held_count, s.held_first = count, first
            s.g[s.k : s.k + count] = target
            s.k += count
        elif kind == COM:
            s.k = s.com_count = count
            s.com_first, s.com_root, s.g[:count] = first % 3, first // 3, target
        elif kind == COEFFICIENT:
            s.relative, s.relative_weight[:] = numbers_at(rows_at, 1)[0], weight
            s.target[: 4 * s.touching] = target.reshape(-1, 4)[s.contact_points[: s.touching]].ravel()
        elif kind == TORQUE_BOUND:
            upper = numbers_at(points_at, count)
            at = slice(s.bounds, min(s.bounds + 2 * count, s.most_bounds))
            found = at.stop - at.start
            s.bounds_needed += 2 * count - found
            s.is_given[at], s.is_coupled = False, 1
            s.bound_point[at] = np.tile(-1 - np.arange(first, first + count), 2)[:found]
            s.bound_axis[at] = 0.0
            s.bound_axis[at, 0] = np.repeat([1.0, -1.0], count)[:found]
            s.lower[at], s.bound_weight[at] = np.concatenate([target, -upper])[:found], np.tile(weight, 2)[:found]
            s.bounds += found
        else:
            bound = np.flatnonzero(target != -np.inf)  # without a lower bound there is none
            found = bound[: s.most_bounds - s.bounds]
            s.bounds_needed += len(bound) - len(found)
            at = slice(s.bounds, s.bounds + len(found))
            s.is_given[at], s.lower[at], s.bound_weight[at] = kind == ROW_BOUND, target[found], weight[found]
            if kind == ROW_BOUND:
                s.J[at] = axes[found]
            else:
                s.bound_point[at], s.bound_axis[at] = points[found], axes[found]
            s.bounds += len(found)
    s.tabled_rows, s.tabled_bounds = s.rows, s.bounds
    return s.bounds_needed


def _append_rows(s: Block, rows: Array, constant: Array, weight: Array, target: Array) -> None:
    """Append an objective as rows on accelerations."""
    at = slice(s.rows, s.rows + len(rows))
    s.row_a[at], s.row_weight[at], s.row_target[at] = rows, weight, target - constant
    s.rows += len(rows)


_WORLD = np.eye(3)
_ENTRY = struct.Struct("=7q")
"""Seven integers, a row of `table`; written four times as fast as by NumPy."""


class Full(Exception):
    """The block has too little room; holds the name of the count and how many are needed."""


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
            made = fresh
            fresh = {k: made[k] if k in made else _row(step, term) for k, term in enumerate(terms)}
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
        directed = equal = count = dense = 0
        torques: list[tuple[int, int, int]] = []
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
            if row is not None and kind in (TORQUE, TORQUE_BOUND):  # a torque has one damping
                first, end = row.first, row.first + row.size
                takes = all([row.rows == own or end <= low or high <= first for low, high, own in torques])
                torques += [(first, end, row.rows)] * takes
            if isinstance(term, AtLeast | Within):  # bounds keep their order
                takes = takes and not are_bounds_over
                are_bounds_over = not takes
            self.slots.append(count if takes else -1)
            if row is None or not takes:
                continue
            count += 1
            directed += row.size if kind in (POINT, PLACE, AXIS) else 0
            dense += row.size if kind in (MEAN, SPIN, OWN) else 0
            equal += row.size if kind in (COM, HELD) else 0
        for name, needed in (("terms", count), ("directed", directed), ("rows", dense), ("k", equal)):
            if needed > s.most[name]:
                raise Full(name, needed)
        if has_com and has_held:  # the core makes the rows of a center of mass, and they stand first
            first = next(k for k, row in enumerate(self.rows) if row is not None and row.kind == COM)
            place = self.slots[first]
            self.slots = [0 if k == first else x + 1 if 0 <= x < place else x for k, x in enumerate(self.slots)]
        s.values.terms = count


def _is_alike(known: Objective | Constraint, row: Row | None, term: Objective | Constraint, other: Row | None) -> bool:
    """Whether one term may take the place of another in a table."""
    if type(known) is not type(term) or known.quantity.is_on_coefficients != term.quantity.is_on_coefficients:
        return False
    if row is None or other is None:
        return row is other
    # which torques have the same damping must not change either
    return row[:3] == other[:3] and (row.kind not in (TORQUE, TORQUE_BOUND) or row.rows == other.rows)


# --- one row for each kind of term; None where its rows must do it


def _row(step: Step, term: Objective | Constraint) -> Row | None:
    require_term(term)
    quantity = term.quantity
    if isinstance(term, Objective):
        if isinstance(term.weight, RelativeWeight) != (type(quantity) is ContactCoefficients):
            return None
        make = ROWS.get(type(quantity))
        return _own(step, term, quantity) if make is None else make(step, term, quantity)
    if isinstance(term, Equal):
        torque = quantity.torque(step) if isinstance(quantity, RootWrench) else quantity
        if type(torque) is JointTorque and torque.damping is None:
            first, end = step.state.model.dofs(torque.dofs, term.name)
            return _made(term, HELD, first, end - first, term.target, 0.0)
        if type(quantity) is not ComAcceleration or (place := _com_place(step, quantity)) is None:
            return None
        return _made(term, COM, place, len(quantity.axes), term.target, 0.0)
    if isinstance(term, Within):
        torque = quantity.torque(step) if isinstance(quantity, RootWrench) else quantity
        if type(torque) is not JointTorque:
            return None
        first, end = step.state.model.dofs(torque.dofs, term.name)
        upper, _, is_own = _numbers(term.upper, end - first, term)
        row = _of_torque(step, term, TORQUE_BOUND, torque, term.lower, bound_weight(term), upper)
        return row if is_own else row._replace(is_fixed=False)
    if type(quantity) is PointAcceleration:
        return _of_points(step, term, POINT_BOUND, quantity, term.lower, bound_weight(term))
    if type(quantity) is JointAcceleration and quantity.along is not None:
        rows = quantity.along
        return _made(term, ROW_BOUND, 0, len(rows), term.lower, bound_weight(term), rows=rows)
    return None


def bound_weight(term: AtLeast | Within) -> Array | float:
    """Of a bound; a hard one weighs infinitely much."""
    return np.inf if term.weight is None else term.weight


def _made(
    term: Objective | Constraint, kind: int, first: int, count: int, target: Array | float,
    weight: Array | float | RelativeWeight, points: Index | Array | None = None, rows: Array | None = None,
) -> Row:  # fmt: skip
    """The row of a term from its numbers."""
    targets, target_at, is_own_target = _numbers(target, count, term)
    weights, weight_at, is_own_weight = _numbers(weight, count, term)
    is_fixed = is_own_target and is_own_weight
    kept: tuple[Array | Index, ...] = targets, weights
    points_at = rows_at = 0
    if points is not None and len(points):
        places: Any = np.ascontiguousarray(points, dtype=np.int64 if kind in (POINT, POINT_BOUND) else np.float64)
        points_at, is_fixed, kept = address_of(places), is_fixed and places is points, (*kept, places)
    if rows is not None and len(rows):
        axes = np.ascontiguousarray(rows, dtype=np.float64)
        rows_at, is_fixed, kept = address_of(axes), is_fixed and axes is rows, (*kept, axes)
    return Row(kind, first, count, target_at, weight_at, points_at, rows_at, kept, is_fixed)


def _numbers(value: Array | float | RelativeWeight, count: int, term: Named) -> tuple[Array, int, bool]:
    """One number a row, their address, and whether they hold as long as the term does."""
    if type(value) is np.ndarray and value.shape == (count,) and value.dtype == np.float64 and value.flags.c_contiguous:
        return value, address_of(value), True
    if isinstance(value, int | float):
        return *constant(float(value), count), True
    array = np.ascontiguousarray(as_rows(value, count, term), dtype=np.float64)
    return array, address_of(array), array is value


def _of_points(
    step: Step, term: Objective | Constraint, kind: int, quantity: PointAcceleration | ContactAcceleration,
    target: Array | float, weight: Array | float | RelativeWeight,
) -> Row | None:  # fmt: skip
    count, each = quantity.axes.shape[:2]
    if not each:
        return None
    points = quantity.indices(step.state.model)
    return _made(term, kind, each, count * each, target, weight, points, quantity.axes)


def _of_torque(
    step: Step, term: Objective | Within, kind: int, quantity: JointTorque, target: Array | float,
    weight: Array | float | RelativeWeight, upper: Array | None = None,
) -> Row:  # fmt: skip
    first, end = step.state.model.dofs(quantity.dofs, term.name)
    damping = None if quantity.damping is None else as_rows(quantity.damping, end - first, term)
    return _made(term, kind, first, end - first, target, weight, upper, damping)


def _torque(step: Step, objective: Objective, quantity: JointTorque) -> Row:
    return _of_torque(step, objective, TORQUE, quantity, objective.target, objective.weight)


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


def _axis(step: Step, objective: Objective, quantity: AxisAcceleration) -> Row:
    body = step.state.model.body(quantity.body)
    along = _WORLD if quantity.along is None else quantity.along
    return _made(objective, AXIS, body, len(along), objective.target, objective.weight, quantity.axis, along)


def _com(step: Step, objective: Objective, quantity: ComAcceleration) -> Row | None:
    place = _com_place(step, quantity)
    return (
        None if place is None else _made(objective, MEAN, place, len(quantity.axes), objective.target, objective.weight)
    )


def _com_place(step: Step, quantity: ComAcceleration) -> int | None:
    """Tree and first axis of a center of mass in one number; None where axes do not follow each other."""
    if quantity.without or quantity.along is not None or quantity.axes not in "xyz":
        return None
    return 3 * step.state.model.tree(quantity.of) + "xyz".index(quantity.axes)


def _spin(step: Step, objective: Objective, quantity: AngularMomentumRate) -> Row | None:
    model = step.state.model
    root = model.tree(quantity.of)
    return None if model.dof_count[root] != 6 else _made(objective, SPIN, root, 3, objective.target, objective.weight)


def _own(step: Step, objective: Objective, quantity: Quantity) -> Row | None:
    """A row that holds for this step alone, of any quantity on accelerations."""
    if quantity.is_on_coefficients:
        return None
    on_a, c, on_lambda = quantity.rows(step)
    if on_lambda is not None or not len(c):
        return None
    if np.shape(on_a) != (len(c), step.nv):
        raise InvalidValue(
            f"{objective.name}: rows on accelerations have shape {np.shape(on_a)}; {(len(c), step.nv)} is needed for "
            f"{len(c)} constants."
        )
    targets, target_at, _ = _numbers(objective.target, len(c), objective)
    weights, weight_at, _ = _numbers(objective.weight, len(c), objective)
    on_a, c = np.ascontiguousarray(on_a, dtype=np.float64), np.ascontiguousarray(c, dtype=np.float64)
    kept = targets, weights, c, on_a
    return Row(OWN, 0, len(c), target_at, weight_at, address_of(c), address_of(on_a), kept, is_fixed=False)


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
    AxisAcceleration: _axis,
    ComAcceleration: _com,
    AngularMomentumRate: _spin,
    ContactCoefficients: _coefficients,
    ContactAcceleration: _contact_acceleration,
}
"""Kinds of quantities that the core writes."""
