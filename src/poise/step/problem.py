"""The step problem: lists of objectives and constraints for one step, gathered into numbers.

    min over a, λ   Σ weight ‖quantity(a, λ) − target‖²   subject to the constraints and λ ≥ 0.

Source: [Levine2012]_ eqs. (1)-(3).

An objective is a quantity with a target and a weight. A constraint enforces a quantity exactly or as a bound. With a
weight a bound is soft: w ‖y − s − lower‖² with slack s ≥ 0, which costs nothing on the allowed side. Without a weight
it is hard.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.errors import InvalidValue
from poise.core.typing import Array, Index
from poise.native.function import address_of
from poise.step.quantities import ContactCoefficients, Quantity
from poise.step.step import Rows, Step


class Named:
    """An objective or a constraint: a quantity, and what it is called in reports."""

    quantity: Quantity
    label: str

    @property
    def name(self) -> str:
        return self.label or type(self.quantity).__name__


def require_term(term: object) -> None:
    """Raise InvalidValue unless it is an objective or a constraint."""
    if not isinstance(term, Named):
        raise InvalidValue(
            f"{term!r} stands in a list of objectives and constraints; give Objective(quantity, target, weight), or "
            "Equal, AtLeast or Within."
        )


def _require_quantity(term: Named) -> None:
    """Raise InvalidValue unless a term is of a quantity."""
    if not isinstance(term.quantity, Quantity):
        raise InvalidValue(
            f"{type(term).__name__} is of {term.quantity!r}; give a quantity, such as ComAcceleration()."
        )


def _require_number(term: Named, what: str, value: Any, *, is_bound: bool = False) -> None:
    """Raise InvalidValue unless a value is a finite number or an array, whose numbers a step checks."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "fiu":
            raise InvalidValue(f"{term.name}: {what} is an array of {value.dtype}; give numbers.")
    elif isinstance(value, (int, float, np.number)):
        if not (math.isfinite(value) or (is_bound and value == value)):
            raise InvalidValue(f"{term.name}: {what} is {value}; give a finite number.")
    else:
        raise InvalidValue(f"{term.name}: {what} is {value!r}; give a number or an array, one number a row.")


def _require_weight(term: Named, weight: Any) -> None:
    """Raise InvalidValue unless a weight may be one."""
    if weight is None or isinstance(weight, RelativeWeight):
        return
    _require_number(term, "weight", weight)
    if not isinstance(weight, np.ndarray) and weight < 0.0:
        raise InvalidValue(f"{term.name}: weight is {weight}; give zero or more.")


@dataclass(frozen=True)
class RelativeWeight:
    """Weight of the contact coefficients as a share of the mean diagonal of B W Bᵀ: what torques weigh, seen from λ.

    With it redundant points share their load alike, however heavy a figure is.

    Example:
        >>> weight = RelativeWeight(1e-3, np.full(step.nv, 0.01))
        >>> even = Objective(y.ContactCoefficients(), 0.0, weight)

    Attributes:
        share: Above zero.
        torque_weight: W, the weight of every dof's torque, shape (nv,).
    """

    share: float
    torque_weight: Array

    def value(self, step: Step) -> float:
        """The weight in this step."""
        return self.share * step.columns.mean_diagonal(self.torque_weight)


@dataclass(frozen=True)
class Objective(Named):
    """weight · ‖quantity − target‖², one term of the sum that a step makes small.

    Example:
        >>> still = Objective(y.JointAcceleration(), 0.0, 1.0, "still")
        >>> result = solve_step(step, [still, *objectives])

    Attributes:
        quantity: Something affine in the unknowns.
        target: Target value, one number or one per row.
        weight: Multiplies the squared residual, one number or one per row; never negative. Of contact coefficients
            also a `RelativeWeight`.
        label: Name in reports; the quantity's own name if empty.
    """

    quantity: Quantity
    target: Array | float
    weight: Array | float | RelativeWeight = 1.0
    label: str = ""

    def __post_init__(self) -> None:
        _require_quantity(self)
        _require_number(self, "target", self.target)
        _require_weight(self, self.weight)


def as_rows(value: Array | float | RelativeWeight, count: int, term: Named) -> Array:
    """A weight, target or bound of a term as one number per row, shape (count,).

    Raises:
        InvalidValue: if it has another shape; says whose it is.
    """
    if type(value) is np.ndarray and value.shape == (count,):
        return value
    if isinstance(value, int | float):
        return constant(float(value), count)[0]
    out = np.empty(count)
    if isinstance(value, RelativeWeight):
        raise InvalidValue(f"{term.name}: a RelativeWeight is for contact coefficients; give numbers.")
    try:
        out[:] = value
    except ValueError:
        raise InvalidValue(
            f"{term.name}: weight or target has shape {np.shape(value)}; {(count,)} is needed, or one number."
        ) from None
    return out


@lru_cache(maxsize=256)
def constant(value: float, count: int) -> tuple[Array, int]:
    """One number so many times, read-only, and its address: lists made anew in each step have the same weights."""
    array = np.full(count, value)
    address = address_of(array)
    array.flags.writeable = False
    return array, address


@dataclass(frozen=True)
class Equal(Named):
    """quantity = target, hard.

    Example:
        >>> free_root = Equal(y.RootWrench(), 0.0, "no force at the root")
        >>> result = solve_step(step, objectives, [free_root])
    """

    quantity: Quantity
    target: Array | float
    label: str = ""

    def __post_init__(self) -> None:
        _require_quantity(self)
        _require_number(self, "target", self.target)


@dataclass(frozen=True)
class AtLeast(Named):
    """quantity ≥ lower; hard without a weight, soft with one. A row whose lower bound is −inf has none.

    Example:
        >>> above = AtLeast(y.PlaceAcceleration("left_hand", along=np.eye(3)[2:]), -5.0, weight=10.0)
        >>> result = solve_step(step, objectives, [above])
    """

    quantity: Quantity
    lower: Array | float
    weight: Array | float | None = None
    label: str = ""

    def __post_init__(self) -> None:
        _require_quantity(self)
        _require_number(self, "lower", self.lower, is_bound=True)
        _require_weight(self, self.weight)


@dataclass(frozen=True)
class Within(Named):
    """lower ≤ quantity ≤ upper; hard without a weight, soft with one.

    Example:
        >>> limits = Within(y.JointAcceleration((6, 9)), -50.0, 50.0, weight=1.0)
        >>> result = solve_step(step, objectives, [limits])
    """

    quantity: Quantity
    lower: Array | float
    upper: Array | float
    weight: Array | float | None = None
    label: str = ""

    def __post_init__(self) -> None:
        _require_quantity(self)
        _require_number(self, "lower", self.lower, is_bound=True)
        _require_number(self, "upper", self.upper, is_bound=True)
        _require_weight(self, self.weight)
        if isinstance(self.lower, (int, float)) and isinstance(self.upper, (int, float)) and self.lower > self.upper:
            raise InvalidValue(f"{self.name}: lower {self.lower:g} is above upper {self.upper:g}.")


Constraint = Equal | AtLeast | Within


class Gathered(NamedTuple):
    """Objectives and constraints of a step as numbers; letters as in `poise.step.qp`.

    Least-squares rows: Σ w (A a + X λ − r)², those with a part on λ first; only these are in X. Soft bounds:
    w ‖J a + X λ − s − lower‖², s ≥ 0; their X has no columns if λ enters in none. Hard bounds: lower ≤ rows ≤ upper.
    Squares of single accelerations need no rows: Σ dof_weight a² − 2 dof_pull a, shapes (nv,).
    Every bound, in the order of the constraints and of a `Within` first the lower ones, belongs to a row: `bound_row`
    counts the soft rows and then the hard ones; `bound_sign` is 1 for an upper bound of a hard row, else −1.
    D and the X are transposed views, so that a column per coefficient is contiguous.
    """

    A: Array
    X: Array
    w: Array
    r: Array
    dof_weight: Array
    dof_pull: Array
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
    hard_upper: Array
    hard_names: tuple[str, ...]
    bound_row: Index
    bound_sign: Array

    @property
    def has_numbers(self) -> bool:
        """Whether targets, lower bounds and weights are finite, and no weight is negative; `require_numbers` says whose
        is not.
        """
        total = 0.0
        for numbers in (self.w, self.soft_weight, self.dof_weight, self.lambda_weight):
            if len(numbers):
                total += float(np.add.reduce(numbers))
                if not np.minimum.reduce(numbers) >= 0.0:
                    return False
        others = (self.r, self.dof_pull, self.lambda_target, self.g, self.soft_lower, self.hard_lower)
        for numbers in others:
            total += float(np.add.reduce(numbers))
        return math.isfinite(total) and not np.isnan(np.minimum.reduce(self.hard_upper, initial=0.0))

    @property
    def coupled(self) -> int:
        """Number of least-squares rows with a part on λ."""
        return len(self.X)


class _Block(NamedTuple):
    """Rows with a weight and a target, for the sake of a message with the term they come from."""

    rows: Rows
    weight: Array | float | RelativeWeight
    target: Array | float
    term: Objective | Constraint
    sign: float = 1.0


def gather(step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint] = ()) -> Gathered:
    """Turn the lists into numbers; nothing that is not in the lists enters.

    Raises:
        InvalidValue: if a target or weight has the wrong shape; names the objective.
    """
    step.require_complete()
    nv, n = step.nv, step.coefficient_count
    coupled: list[_Block] = []
    plain: list[_Block] = []
    on_lambda: list[Objective] = []
    known: dict[int, Rows] = {}  # of quantities that have a target and a bound
    dof_weight, dof_pull = np.zeros(nv), np.zeros(nv)
    for objective in objectives:
        quantity = objective.quantity
        if quantity.is_on_coefficients:
            on_lambda.append(objective)
            continue
        if (own := quantity.own_dofs(step)) is not None:
            count, dofs = own[1] - own[0], slice(*own)
            weight = as_rows(objective.weight, count, objective)
            dof_weight[dofs] += weight
            dof_pull[dofs] += weight * as_rows(objective.target, count, objective)
            continue
        rows = known[id(quantity)] = quantity.rows(step)
        weight = objective.weight
        if isinstance(weight, np.ndarray) and weight.shape == rows.c.shape and not weight.all():
            rows, objective = _weighty(rows, objective, weight != 0.0)
        block = _Block(rows, objective.weight, objective.target, objective)
        (plain if rows.on_lambda is None else coupled).append(block)
    lambda_weight, lambda_target = coefficient_terms(step, on_lambda)
    equal: list[_Block] = []
    soft: list[_Block] = []
    hard: list[_Block] = []
    hard_upper: list[Array] = [np.zeros(0)]
    soft_count = hard_count = 0
    sides: list[tuple[bool, int, int, float]] = []
    for constraint in constraints:
        rows = known.get(id(constraint.quantity)) or constraint.quantity.rows(step)
        rows, constraint = _bounded(rows, constraint)
        if isinstance(constraint, Equal):
            equal.append(_Block(rows, 1.0, constraint.target, constraint))
            continue
        if constraint.weight is None:
            hard.append(_Block(rows, 1.0, constraint.lower, constraint))
            upper = constraint.upper if isinstance(constraint, Within) else np.inf
            hard_upper.append(as_rows(upper, len(rows.c), constraint) - rows.c)
            first, hard_count = hard_count, hard_count + len(rows.c)
            sides.append((True, first, hard_count, -1.0))
            if isinstance(constraint, Within):
                sides.append((True, first, hard_count, 1.0))
            continue
        blocks = [_Block(rows, constraint.weight, constraint.lower, constraint)]
        if isinstance(constraint, Within):
            blocks.append(_Block(rows, constraint.weight, constraint.upper, constraint, -1.0))
        soft += blocks
        first, soft_count = soft_count, soft_count + len(blocks) * len(rows.c)
        sides.append((False, first, soft_count, -1.0))
    A, X, w, r = _stack(coupled + plain, nv, n, sum([len(block.rows.c) for block in coupled]))
    G, D, _, g = _stack(equal, nv, n)
    is_soft_coupled = any([block.rows.on_lambda is not None for block in soft])
    soft_J, soft_X, soft_weight, soft_lower = _stack(soft, nv, n if is_soft_coupled else 0)
    hard_J, hard_X, _, hard_lower = _stack(hard, nv, n)
    return Gathered(
        A, X, w, r, dof_weight, dof_pull, lambda_weight, lambda_target,
        G, D, g, tuple([block.term.name for block in equal]),
        soft_J, soft_X, soft_lower, soft_weight, hard_J, hard_X, hard_lower, np.concatenate(hard_upper),
        tuple([block.term.name for block in hard]),
        np.concatenate([np.arange(first, end) + hard * soft_count for hard, first, end, _ in sides] or [_NO_BOUNDS]),
        np.concatenate([np.full(end - first, sign) for _, first, end, sign in sides] or [np.zeros(0)]),
    )  # fmt: skip


_NO_BOUNDS = np.zeros(0, dtype=np.int64)


def _weighty(rows: Rows, objective: Objective, kept: npt.NDArray[np.bool_]) -> tuple[Rows, Objective]:
    """Rows that weigh something; the others add nothing."""
    target = as_rows(objective.target, len(kept), objective)[kept]
    on_lambda = None if rows.on_lambda is None else rows.on_lambda[kept]
    weight = as_rows(objective.weight, len(kept), objective)[kept]
    return Rows(rows.on_a[kept], rows.c[kept], on_lambda), replace(objective, target=target, weight=weight)


def _bounded(rows: Rows, constraint: Constraint) -> tuple[Rows, Constraint]:
    """Rows that have a bound; a lower bound of −∞ is none."""
    if not isinstance(constraint, AtLeast) or np.min(constraint.lower, initial=0.0) > -np.inf:
        return rows, constraint
    count = len(rows.c)
    lower = as_rows(constraint.lower, count, constraint)
    held = lower != -np.inf
    weight = None if constraint.weight is None else as_rows(constraint.weight, count, constraint)[held]
    on_lambda = None if rows.on_lambda is None else rows.on_lambda[held]
    return Rows(rows.on_a[held], rows.c[held], on_lambda), replace(constraint, lower=lower[held], weight=weight)


def coefficient_terms(step: Step, objectives: Sequence[Objective]) -> tuple[Array, Array]:
    """Weight and target of λ, shapes (n,); several such terms are one with the mean target."""
    n = step.coefficient_count
    weight, target = np.zeros(n), np.zeros(n)
    for k, objective in enumerate(objectives):
        own = objective.weight.value(step) if isinstance(objective.weight, RelativeWeight) else objective.weight
        more, own_target = as_rows(own, n, objective), coefficient_target(step, objective)
        if not k:
            weight, target = more, own_target
            continue
        mean = weight * target + more * own_target
        weight = weight + more
        target = np.divide(mean, weight, out=np.zeros(n), where=weight != 0.0)
    return weight, target


def coefficient_target(step: Step, objective: Objective) -> Array:
    """λ* of the contacts of a step, shape (n,)."""
    target, quantity = objective.target, objective.quantity
    if isinstance(quantity, ContactCoefficients) and quantity.is_by_point:
        every = np.reshape(target, (step.state.model.point_count, 4))
        return every[step.contacts.points].ravel()
    return as_rows(target, step.coefficient_count, objective)


def require_numbers(objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> None:
    """Raise InvalidValue if a target, bound or weight is not finite, or a weight negative; says whose it is."""
    for term in (*objectives, *constraints):
        for what in ("target", "lower", "upper", "weight"):
            value = getattr(term, what, None)
            value = value.torque_weight if isinstance(value, RelativeWeight) else value
            if value is not None and what == "lower" and isinstance(term, AtLeast):
                value = np.maximum(value, -1e300)  # −∞ is not a bound
            if value is not None and not np.isfinite(value).all():
                raise InvalidValue(f"{term.name}: the {what} is {value}; give finite numbers.")
            if what == "weight" and value is not None and np.min(value, initial=0.0) < 0.0:
                raise InvalidValue(f"{term.name}: the weight is {value}; give numbers of zero or more.")


def _stack(blocks: Sequence[_Block], nv: int, n: int, coupled: int | None = None) -> tuple[Array, Array, Array, Array]:
    """Rows on a (m, nv) and on λ (c, n), weights and targets less the constant part (m,)."""
    count = 0
    for block in blocks:
        count += len(block.rows.c)
    A, w, r = np.empty((count, nv)), np.empty(count), np.empty(count)
    XT = np.zeros((n, count if coupled is None else coupled))
    if not count:
        return A, XT.T, w, r
    at = 0
    for rows, weight, target, term, sign in blocks:
        end = at + len(rows.c)
        A[at:end] = rows.on_a
        if rows.on_lambda is not None:
            XT[:, at:end] = rows.on_lambda.T
        w[at:end] = as_rows(weight, end - at, term)
        r[at:end] = as_rows(target, end - at, term) - rows.c
        if sign < 0.0:
            A[at:end] *= -1.0
            r[at:end] *= -1.0
            if rows.on_lambda is not None:
                XT[:, at:end] *= -1.0
        at = end
    return A, XT.T, w, r
