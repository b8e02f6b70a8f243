"""The step problem: lists of objectives and constraints for one step, gathered into numbers.

    min over a, λ   Σ weight ‖quantity(a, λ) − target‖²   subject to the constraints and λ ≥ 0.

Source: [Levine2012]_ eqs. (1)-(3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.errors import InvalidValue
from poise.step.constraint import AtLeast, Constraint, Equal, Within
from poise.step.objective import Objective
from poise.step.step import Rows, Step

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Gathered:
    """Objectives and constraints of a step as numbers; letters as in `poise.step.qp`.

    Least-squares rows: Σ w (A a + X λ − r)², those with a part on λ first. Direct parts are added to the normal form.
    Soft bounds: w ‖J a + X λ − s − lower‖², s ≥ 0. Hard bounds: rows ≥ lower.
    """

    A: Array
    X: Array
    w: Array
    r: Array
    coupled: int
    Q_direct: Array
    b_direct: Array
    constant: float
    lambda_weight: Array
    lambda_target: Array
    G: Array
    D: Array
    g: Array
    equal_names: tuple[str, ...]
    soft_J: Array
    soft_X: Array
    soft_lower: Array
    soft_weight: Array
    hard_J: Array
    hard_X: Array
    hard_lower: Array
    hard_names: tuple[str, ...]
    spans: tuple[tuple[str, int, int], ...]


def gather(step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint] = ()) -> Gathered:
    """Turn the lists into numbers; nothing that is not in the lists enters.

    Raises:
        InvalidValue: if a target or weight has the wrong shape or is not finite; names the objective.
    """
    step.require_current()
    nv, n = step.nv, step.coefficient_count
    coupled: list[tuple[Rows, Array, Array]] = []
    plain: list[tuple[Rows, Array, Array]] = []
    coupled_names: list[str] = []
    plain_names: list[str] = []
    Q_direct, b_direct, constant = np.zeros((nv, nv)), np.zeros(nv), 0.0
    lambda_weight, lambda_target = np.zeros(n), np.zeros(n)
    for objective in objectives:
        quantity = objective.quantity
        if quantity.is_on_coefficients:
            lambda_weight = lambda_weight + objective.weight
            lambda_target = np.asarray(objective.target, dtype=np.float64)
            continue
        constant_part = quantity.add_normal(step, objective, Q_direct, b_direct)
        if constant_part is not None:
            constant += constant_part
            continue
        rows = quantity.rows(step)
        entry = (rows, _spread(objective.weight, rows, objective.name), _spread(objective.target, rows, objective.name) - rows.c)
        (plain if rows.on_lambda is None else coupled).append(entry)
        (plain_names if rows.on_lambda is None else coupled_names).append(objective.name)
    A, X, w, r = _stack(coupled + plain, nv, n)
    ends = np.cumsum([0] + [len(e[1]) for e in coupled + plain]).tolist()
    spans = tuple(zip(coupled_names + plain_names, ends[:-1], ends[1:], strict=True))
    coupled_count = ends[len(coupled)]
    equal: list[tuple[Rows, Array]] = []
    equal_names: list[str] = []
    soft: list[tuple[Rows, Array, Array]] = []
    hard: list[tuple[Rows, Array, Array]] = []
    hard_names: list[str] = []
    for constraint in constraints:
        rows = constraint.quantity.rows(step)
        if isinstance(constraint, Equal):
            equal.append((rows, _spread(constraint.target, rows, constraint.name) - rows.c))
            equal_names += [constraint.name] * len(rows.c)
            continue
        for side in _one_sided(constraint, rows):
            if constraint.weight is None:
                hard.append(side)
                hard_names += [constraint.name] * len(side[2])
            else:
                soft.append((side[0], _spread(constraint.weight, side[0], constraint.name), side[2]))
    G, D, _, g = _stack([(rows, np.ones(len(t)), t) for rows, t in equal], nv, n)
    soft_J, soft_X, soft_weight, soft_lower = _stack(soft, nv, n)
    hard_J, hard_X, _, hard_lower = _stack(hard, nv, n)
    return Gathered(
        A, X, w, r, coupled_count, Q_direct, b_direct, constant, lambda_weight, lambda_target, G, D, g, tuple(equal_names),
        soft_J, soft_X, soft_lower, soft_weight, hard_J, hard_X, hard_lower, tuple(hard_names), spans,
    )  # fmt: skip


def _one_sided(constraint: AtLeast | Within, rows: Rows) -> list[tuple[Rows, Array, Array]]:
    """The constraint as blocks rows ≥ lower."""
    ones = np.ones(len(rows.c))
    sides = [(rows, ones, _spread(constraint.lower, rows, constraint.name) - rows.c)]
    if isinstance(constraint, Within):
        flipped = Rows(-rows.on_a, -rows.c, None if rows.on_lambda is None else -rows.on_lambda)
        sides.append((flipped, ones, rows.c - _spread(constraint.upper, rows, constraint.name)))
    return sides


def _spread(values: Array | float, rows: Rows, name: str) -> Array:
    try:
        out = np.broadcast_to(np.asarray(values, dtype=np.float64), rows.c.shape)
    except ValueError:
        raise InvalidValue(f"{name}: target or weight has shape {np.shape(values)}; {rows.c.shape} is needed.") from None
    return out


def _stack(blocks: Sequence[tuple[Rows, Array, Array]], nv: int, n: int) -> tuple[Array, Array, Array, Array]:
    count = sum(len(b[1]) for b in blocks)
    A, X, w, r = np.empty((count, nv)), np.zeros((count, n)), np.empty(count), np.empty(count)
    at = 0
    for rows, weights, targets in blocks:
        end = at + len(weights)
        A[at:end] = rows.on_a
        if rows.on_lambda is not None:
            X[at:end] = rows.on_lambda
        w[at:end] = weights
        r[at:end] = targets
        at = end
    return A, X, w, r
