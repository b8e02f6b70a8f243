"""Lists of objectives and constraints brought to normal form, for the fast path.

Same problem as `gather`'s rows, and what a quantity does not add by itself comes from the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.step.cones import Columns
from poise.step.constraint import Constraint, Equal, Within
from poise.step.normal import Normal
from poise.step.objective import Objective, as_rows
from poise.step.problem import add_on_coefficients
from poise.step.step import Rows, Step

Array = npt.NDArray[np.float64]


class Equalities(NamedTuple):
    """G a + D u = g, shapes (k, nv), (k, c), (k,)."""

    G: Array
    D: Array
    g: Array


class Bounds(NamedTuple):
    """Soft bounds w ‖J a + X u − s − lower‖², s ≥ 0; X has no columns where contact forces do not enter."""

    J: Array
    X: Array
    lower: Array
    weight: Array


class Condensed(NamedTuple):
    """A step in normal form; ε and λ* are `weight` and `target`, shapes (n,)."""

    normal: Normal
    equal: Equalities
    bounds: Bounds
    weight: Array
    target: Array


def condense(
    step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint], columns: Columns | None = None
) -> Condensed:
    """Bring the lists to normal form; nothing that is not in them enters.

    Args:
        step: The step.
        objectives: What is wished for.
        constraints: What must hold; all bounds soft.
        columns: What contact forces act through; the step's own if nothing needs a column for each coefficient.

    Raises:
        InvalidValue: if a target or weight has the wrong shape; names the objective.
    """
    step.require_current()
    rows = [constraint.quantity.rows(step) for constraint in constraints]
    others: list[tuple[Objective, Rows]] = []
    if columns is None:
        columns = step.columns if all([r.on_lambda is None for r in rows]) else Columns.plain(step.force_map)
    weight, target = np.zeros(step.coefficient_count), np.zeros(step.coefficient_count)
    normal = Normal(step.state, columns)
    for objective in objectives:
        quantity = objective.quantity
        if quantity.is_on_coefficients:
            add_on_coefficients(objective, weight, target)
        elif not quantity.add_normal(step, objective, normal):
            others.append((objective, quantity.rows(step)))
    if columns is step.columns and any([r.on_lambda is not None for _, r in others]):
        return condense(step, objectives, constraints, Columns.plain(step.force_map))
    for objective, r in others:
        normal.add(objective, _plain(r.on_a), r.c, None if r.on_lambda is None else _plain(r.on_lambda))
    normal.close()
    return Condensed(
        normal, _equalities(constraints, rows, normal), _bounds(constraints, rows, normal), weight, target
    )  # fmt: skip


def _equalities(constraints: Sequence[Constraint], rows: Sequence[Rows], normal: Normal) -> Equalities:
    blocks = [(c, r) for c, r in zip(constraints, rows, strict=True) if isinstance(c, Equal)]
    targets = [as_rows(c.target, len(r.c), c.name) - r.c for c, r in blocks]
    return Equalities(
        _joined([r.on_a for _, r in blocks], len(normal.b)),
        _joined([_coupling(r, normal) for _, r in blocks], len(normal.f)),
        np.concatenate(targets) if targets else np.empty(0),
    )


def _bounds(constraints: Sequence[Constraint], rows: Sequence[Rows], normal: Normal) -> Bounds:
    """A bound from above is one from below on the opposite."""
    J: list[Array] = []
    X: list[Array] = []
    lower: list[Array] = []
    weight: list[Array] = []
    is_coupled = any([r.on_lambda is not None for c, r in zip(constraints, rows, strict=True)
                      if not isinstance(c, Equal)])  # fmt: skip
    for constraint, r in zip(constraints, rows, strict=True):
        if isinstance(constraint, Equal) or constraint.weight is None:
            continue
        count, name = len(r.c), constraint.name
        for sign in (1.0, -1.0) if isinstance(constraint, Within) else (1.0,):
            wall = constraint.upper if isinstance(constraint, Within) and sign < 0.0 else constraint.lower
            J.append(r.on_a if sign > 0.0 else -r.on_a)
            lower.append(sign * (as_rows(wall, count, name) - r.c))
            weight.append(as_rows(constraint.weight, count, name))
            if is_coupled:
                X.append(sign * _coupling(r, normal))
    return Bounds(
        _joined(J, len(normal.b)),
        _joined(X, len(normal.f)) if is_coupled else np.empty((sum(map(len, lower)), 0)),
        np.concatenate(lower) if lower else np.empty(0),
        np.concatenate(weight) if weight else np.empty(0),
    )


def _coupling(rows: Rows, normal: Normal) -> Array:
    return np.zeros((len(rows.c), len(normal.f))) if rows.on_lambda is None else rows.on_lambda


def _joined(blocks: Sequence[Array], width: int) -> Array:
    if len(blocks) == 1:
        return _plain(blocks[0])
    return np.concatenate(blocks) if blocks else np.empty((0, width))


def _plain(rows: Array) -> Array:
    """In C order and writable: compiled code takes anything else for another type."""
    return rows if rows.flags.carray and rows.dtype == np.float64 else np.array(rows, dtype=np.float64, order="C")
