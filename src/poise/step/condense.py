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
from poise.step.problem import coefficient_terms
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
    if columns is None:
        columns = step.columns
        for r in rows:
            if r.on_lambda is not None:
                columns = Columns.plain(step.force_map)
                break
    normal = Normal(step.state, columns)
    on_lambda: list[Objective] = []
    for objective in objectives:
        quantity = objective.quantity
        if quantity.is_on_coefficients:
            on_lambda.append(objective)
        elif not quantity.add_normal(step, objective, normal):
            r = quantity.rows(step)
            if r.on_lambda is not None and columns is step.columns:
                # rows that name single coefficients need a column for each: begin again with those
                return condense(step, objectives, constraints, Columns.plain(step.force_map))
            normal.add(objective, _plain(r.on_a), r.c, None if r.on_lambda is None else _plain(r.on_lambda))
    normal.close()
    weight, target = coefficient_terms(on_lambda, step.coefficient_count)
    equal: list[tuple[Constraint, Rows]] = []
    bounds: list[tuple[Constraint, Rows]] = []
    for pair in zip(constraints, rows, strict=True):
        (equal if isinstance(pair[0], Equal) else bounds).append(pair)
    return Condensed(normal, _equalities(equal, normal), _bounds(bounds, normal), weight, target)


def _equalities(blocks: Sequence[tuple[Constraint, Rows]], normal: Normal) -> Equalities:
    G: list[Array] = []
    D: list[Array] = []
    g: list[Array] = []
    for constraint, r in blocks:
        assert isinstance(constraint, Equal)
        G.append(r.on_a)
        D.append(_coupling(r, normal))
        g.append(as_rows(constraint.target, len(r.c), constraint) - r.c)
    return Equalities(_joined(G, len(normal.b)), _joined(D, len(normal.f)), _joined_numbers(g))


def _bounds(blocks: Sequence[tuple[Constraint, Rows]], normal: Normal) -> Bounds:
    """A bound from above is one from below on the opposite."""
    J: list[Array] = []
    X: list[Array] = []
    lower: list[Array] = []
    weight: list[Array] = []
    is_coupled = any([r.on_lambda is not None for _, r in blocks])
    for constraint, r in blocks:
        assert not isinstance(constraint, Equal)
        assert constraint.weight is not None, "a hard bound goes to daqp"
        count = len(r.c)
        J.append(r.on_a)
        lower.append(as_rows(constraint.lower, count, constraint) - r.c)
        weight.append(as_rows(constraint.weight, count, constraint))
        if is_coupled:
            X.append(_coupling(r, normal))
        if isinstance(constraint, Within):
            J.append(-r.on_a)
            lower.append(r.c - as_rows(constraint.upper, count, constraint))
            weight.append(weight[-1])
            if is_coupled:
                X.append(-X[-1])
    low = _joined_numbers(lower)
    no_columns = np.empty((len(low), 0))
    return Bounds(
        _joined(J, len(normal.b)), _joined(X, len(normal.f)) if is_coupled else no_columns, low, _joined_numbers(weight)
    )


def _coupling(rows: Rows, normal: Normal) -> Array:
    return np.zeros((len(rows.c), len(normal.f))) if rows.on_lambda is None else rows.on_lambda


def _joined(blocks: Sequence[Array], width: int) -> Array:
    if len(blocks) == 1:
        return _plain(blocks[0])
    return np.concatenate(blocks) if blocks else np.empty((0, width))


def _joined_numbers(blocks: Sequence[Array]) -> Array:
    if len(blocks) == 1:
        return blocks[0]
    return np.concatenate(blocks) if blocks else np.empty(0)


def _plain(rows: Array) -> Array:
    """In C order and writable: compiled code takes anything else for another type."""
    return rows if rows.flags.carray and rows.dtype == np.float64 else np.array(rows, dtype=np.float64, order="C")
