"""Space-time constraints: a motion is the answer of one optimization over all of its times.

    minimize    cost(functions of time)
    subject to  equations of motion at each knot, boundary and environment constraints

A function of time is known by its values at N knots, which are linear in its unknowns: the values themselves
(`Points`) or coefficients of B-splines (`BSplines`). CasADi derives, IPOPT solves.

Source: Witkin and Kass 1988, Spacetime Constraints; the lecture's particle. Deviates: interior point with exact second
derivatives instead of their sequential quadratic program.
"""

from __future__ import annotations

import importlib
import time as clock
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.interpolate import BSpline

from poise.core.errors import InvalidValue, MissingExtra, PoiseError, install_line
from poise.core.typing import Array

MOST_ITERATIONS = 1500


class SpacetimeUnsolved(PoiseError, RuntimeError):
    """The solver found no motion that meets all constraints.

    Attributes:
        status: What IPOPT said, such as "Infeasible_Problem_Detected".
        iterations: Of IPOPT.
        violation: Largest violation of each constraint where it stopped, by name, in its own unit.
        values: Each function and output at the knots where it stopped, by name, (N, D).
    """

    def __init__(
        self, status: str, iterations: int, violation: Mapping[str, float], values: Mapping[str, Array]
    ) -> None:
        self.status, self.iterations, self.violation, self.values = status, iterations, violation, values
        worst = max(violation, key=lambda name: violation[name], default="none")
        super().__init__(
            f"No motion was found: IPOPT says {status} after {iterations} iterations; the constraint {worst!r} is "
            f"broken by {violation.get(worst, 0.0):.3g}. Give more time or knots, another guess, or a task that can "
            "be done."
        )


def casadi() -> Any:
    """The module CasADi.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        return importlib.import_module("casadi")  # by name: type checkers take minutes to read its two megabytes
    except ImportError as error:
        raise MissingExtra(f"Space-time problems need CasADi and IPOPT: {install_line('spacetime')}.") from error


class Basis(Protocol):
    """How a function of time is made of its unknowns."""

    def matrix(self, times: Array, order: int) -> Array:
        """From unknowns (M,) to the function (order 0) or its first or second derivative at times [s] (N,): (N, M)."""
        ...


@dataclass(frozen=True)
class Points:
    """Values at evenly spaced knots; derivatives by central differences, as on the lecture's slides.

    ẍ_i = (x_{i+1} − 2 x_i + x_{i−1}) / h². With `is_resting`, the first and last knot are mirrored (x_{−1} = x_1), so
    the function rests there; else the end's derivative is its neighbor's.
    """

    is_resting: bool = False

    def matrix(self, times: Array, order: int) -> Array:
        n, h = len(times), float(times[1] - times[0])
        if order == 0:
            return np.eye(n)
        rows = {1: (-0.5 / h, 0.0, 0.5 / h), 2: (1.0 / h**2, -2.0 / h**2, 1.0 / h**2)}[order]
        out = np.zeros((n, n))
        for k in range(1, n - 1):
            out[k, k - 1 : k + 2] = rows
        if self.is_resting:
            out[0, [0, 1]] = rows[1], rows[0] + rows[2]
            out[-1, [-1, -2]] = rows[1], rows[0] + rows[2]
        else:
            out[0], out[-1] = out[1], out[-2]
        return out


@dataclass(frozen=True)
class BSplines:
    """Cubic B-splines: `count` coefficients over the whole time, exact derivatives.

    With `is_resting`, the first two coefficients are one, and the last two, so the function rests at both ends.
    """

    count: int = 16
    is_resting: bool = False

    def matrix(self, times: Array, order: int) -> Array:
        least = 6 if self.is_resting else 4
        if self.count < least:
            raise InvalidValue(f"{self.count} B-splines: give {least} at least.")
        inner = np.linspace(times[0], times[-1], self.count - 2)
        knots = np.concatenate([np.repeat(inner[0], 3), inner, np.repeat(inner[-1], 3)])
        spline = BSpline(knots, np.eye(self.count), 3)
        out = spline(times) if order == 0 else spline.derivative(order)(times)
        if self.is_resting:
            out = np.column_stack([out[:, 0] + out[:, 1], out[:, 2:-2], out[:, -2] + out[:, -1]])
        return np.asarray(out)


@dataclass(frozen=True)
class FunctionOfTime:
    """One unknown function: `value`, `rate` and `acceleration` are CasADi expressions (D, N), a column a knot."""

    name: str
    unknowns: Any
    to_values: Array
    value: Any
    rate: Any
    acceleration: Any


@dataclass(frozen=True)
class Solution:
    """What a problem gave.

    Attributes:
        times: Of the knots [s], (N,).
        values: Each function and output at the knots, by name, (N, D).
        cost: Sum of the objectives.
        costs: Each objective by name.
        violation: Largest violation of each constraint by name, in its own unit.
        guess: Name of the guess it started from.
        iterations: Of IPOPT.
        seconds: Wall time of building and solving [s].
        unknowns, rows, nonzeros: Size of the problem: unknowns, constraint rows, entries of their Jacobian.
    """

    times: Array
    values: Mapping[str, Array]
    cost: float
    costs: Mapping[str, float]
    violation: Mapping[str, float]
    guess: str
    iterations: int
    seconds: float
    unknowns: int
    rows: int
    nonzeros: int

    def report(self) -> dict[str, Any]:
        """The numbers without the functions, for JSON (`poise.spacetime/1`)."""
        return {
            "schema": "poise.spacetime/1",
            "guess": self.guess,
            "cost": self.cost,
            "costs": dict(self.costs),
            "violation_max": dict(self.violation),
            "iterations": self.iterations,
            "seconds": round(self.seconds, 3),
            "knots": len(self.times),
            "step_s": float(self.times[1] - self.times[0]),
            "unknowns": self.unknowns,
            "constraint_rows": self.rows,
            "jacobian_nonzeros": self.nonzeros,
        }


class Problem:
    """A space-time problem over `duration` seconds with `knots` evenly spaced knots, built term by term.

    What it is built of is its own: only its methods add to it.

    problem = Problem(1.0, 101)
    x, f = problem.function("position", 1, Points(is_resting=True)), problem.function("thrust", 1)
    problem.require("Newton", 2.0 * x.acceleration - f.value)
    problem.require("ends", casadi().horzcat(x.value[0] - 0.0, x.value[-1] - 1.0))
    problem.minimize("energy", problem.integral(f.value**2))
    print(problem.solve().cost)  # 12 m² d² / T³ = 48
    """

    def __init__(self, duration: float, knots: int) -> None:
        if not (np.isfinite(duration) and duration > 0.0 and knots >= 5):
            raise InvalidValue(
                f"A problem over {duration} s with {knots} knots: give a positive time and 5 knots at least."
            )
        self.duration, self.knots = duration, knots
        self._functions: dict[str, FunctionOfTime] = {}
        self._constraints: dict[str, list[tuple[Any, Any, Any]]] = {}
        self._objectives: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._late: list[Any] = []
        self._opti = casadi().Opti()
        self._began = clock.perf_counter()

    @property
    def step(self) -> float:
        """Time between knots [s]."""
        return self.duration / (self.knots - 1)

    @property
    def times(self) -> Array:
        """Of the knots [s], (N,)."""
        return np.linspace(0.0, self.duration, self.knots)

    def function(self, name: str, size: int, basis: Basis | None = None, *, guess: Any = 0.0) -> FunctionOfTime:
        """A new unknown function of `size` numbers; `guess` is its start, (N, D) or what spreads to it."""
        ca, basis = casadi(), basis or Points()
        matrices = [basis.matrix(self.times, order) for order in range(3)]
        unknowns = self._opti.variable(size, matrices[0].shape[1])
        value, rate, acceleration = (
            unknowns if k == 0 and isinstance(basis, Points) else unknowns @ ca.sparsify(ca.DM(m)).T
            for k, m in enumerate(matrices)
        )
        made = FunctionOfTime(name, unknowns, matrices[0], value, rate, acceleration)
        self._functions[name] = made
        self.start(made, guess)
        return made

    def numbers(self, rows: int, columns: int, *, guess: float, scale: float = 1.0) -> Any:
        """New unknown numbers (rows, columns) that are not a function over the whole time.

        The solver sees them divided by `scale`, their usual size; `guess` is in that unit, too.
        """
        unknowns = self._opti.variable(rows, columns)
        self._opti.set_initial(unknowns, guess)
        return scale * unknowns

    def output(self, name: str, expression: Any) -> None:
        """Have the value of an expression (D, N) in the solution, under this name."""
        self._outputs[name] = expression

    def start(self, function: FunctionOfTime, guess: Any) -> None:
        """Let a function start from values (N, D), or from what spreads to them."""
        size = int(function.unknowns.shape[0])
        values = np.broadcast_to(np.asarray(guess, dtype=np.float64), (self.knots, size))
        self._opti.set_initial(function.unknowns, np.linalg.lstsq(function.to_values, values, rcond=None)[0].T)

    def require(self, name: str, expression: Any, low: Any = 0.0, high: Any = None, *, is_late: bool = False) -> None:
        """Low ≤ expression ≤ high for each entry; without `high`, entries equal `low` (use `np.inf` for no bound).

        With `is_late`, the problem is solved without it first and then again from there: an obstacle has several ways
        around it, and which one is found should not depend on the guess.
        """
        high = low if high is None else high
        self._constraints.setdefault(name, []).append((expression, low, high))
        column = expression if high is low else casadi().vec(expression)
        wanted = column == low if high is low else self._opti.bounded(low, column, high)
        if is_late:
            self._late.append(wanted)
        else:
            self._opti.subject_to(wanted)

    def minimize(self, name: str, expression: Any, weight: float = 1.0) -> None:
        """Add weight · expression to the cost."""
        self._objectives[name] = weight * expression

    def integral(self, expression: Any) -> Any:
        """∫ of an expression (D, N) over time by the trapezoid rule, rows summed."""
        weights = np.full(self.knots, self.step)
        weights[[0, -1]] *= 0.5
        ca = casadi()
        return ca.sum1(expression @ ca.DM(weights))

    def size(self) -> tuple[int, int, int]:
        """Unknowns, constraint rows, and entries of their Jacobian that are not always zero."""
        opti = self._opti
        return int(opti.nx), int(opti.ng), int(casadi().jacobian(opti.g, opti.x).nnz())

    def solve(self, guess: str = "") -> Solution:
        """Solve from the functions' guesses; `guess` is their name in the report.

        Raises:
            SpacetimeUnsolved: if IPOPT stops without a solution.
        """
        opti = self._opti
        opti.minimize(sum(self._objectives.values()))
        quiet = {"print_level": 0, "sb": "yes", "max_iter": MOST_ITERATIONS, "tol": 1e-8}
        opti.solver("ipopt", {"print_time": False, "expand": True}, quiet)
        iterations = 0
        try:
            solved = opti.solve()
            if self._late:
                iterations = int(opti.stats()["iter_count"])
                opti.set_initial(solved.value_variables())
                opti.subject_to(self._late)
                opti.solve()
        except RuntimeError as error:
            stats = opti.stats()
            raise SpacetimeUnsolved(
                str(stats.get("return_status", "nothing")),
                iterations + int(stats.get("iter_count", 0)),
                self._violation(opti.debug.value),
                self._values(opti.debug.value),
            ) from error
        iterations += int(opti.stats()["iter_count"])
        costs = {name: float(opti.value(cost)) for name, cost in self._objectives.items()}
        return Solution(
            self.times,
            self._values(opti.value),
            float(sum(costs.values())),
            costs,
            self._violation(opti.value),
            guess,
            iterations,
            clock.perf_counter() - self._began,
            *self.size(),
        )

    def _values(self, value: Any) -> dict[str, Array]:
        """Each function and output at the knots, by name, (N, D)."""
        expressions = {**{name: f.value for name, f in self._functions.items()}, **self._outputs}
        dense = {name: casadi().densify(x) for name, x in expressions.items()}
        return {name: np.asarray(value(x)).reshape(-1, self.knots).T for name, x in dense.items()}

    def _violation(self, value: Any) -> dict[str, float]:
        """Largest violation of each constraint by name."""
        out: dict[str, float] = {}
        for name, parts in self._constraints.items():
            for expression, low, high in parts:
                seen = np.asarray(value(expression), dtype=np.float64)
                low, high = (np.asarray(value(b), dtype=np.float64) for b in (low, high))
                seen, low, high = (x.T.ravel() if x.ndim == 2 else x.ravel() for x in (seen, low, high))
                out[name] = max(out.get(name, 0.0), float(np.max(np.maximum(low - seen, seen - high), initial=0.0)))
        return out
