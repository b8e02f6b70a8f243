"""One solve of a world's step, and what gives way where its hard rows cannot all hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.core.errors import StepInfeasible
from poise.core.typing import Array
from poise.goals.lists import GOAL, Held, Touching, Weights, contact_control
from poise.physics import State
from poise.step import AtLeast, Constraint, Contacts, Equal, Objective, Step, StepResult, Within, solve_step
from poise.synthesis.records import SolverCounts

SOFT = {"torque limit": 1.0, "reaction delay": 1.0, "ground": 1e4, "grip": 1e4}
"""Weights of hard rows where they cannot all hold; goals get `SOFT_GOAL`."""
SOFT_CONTACT = 1e4
"""Weight of contacts that give way alone: bodies wedged between each other can be asked for what no torque moves."""
SOFT_GOAL = 100.0
GOALS_SOFTENED = "goals made soft"
"""Reported when only goals given as constraints were softened: they are before torque limits."""
STICKING = "sliding made sticking"
"""Reported when friction of fixed direction asked for the impossible."""
JOINTS, FIRM = ("joint limits", "joint speed"), 1e5
"""Soft rows of what joints can do, and their weight beside a goal or a contact that gives way: they outweigh it."""
MOST_ASKED = 50.0
"""A goal as a constraint that asks for more than this is softened [m/s² or rad/s²]; a thrower's hand reaches it."""
PATIENT, SPEED = 0.1, 2.0
"""What gives way is approached no faster than this [m/s or rad/s], a speed that is reached within this time [s]:
what is far away is no reason to be torn apart."""


@dataclass(frozen=True)
class Problem:
    """What a step asks for, whatever touches.

    Attributes:
        state: Complete.
        dt: Length of the step [s].
        objectives, constraints: Of all figures and things.
        external: Generalized force of pushes, shape (nv,).
        weights: Of everything that is no goal.
        counts: Of the run so far.
        rest: Time in which contacts that last come to rest [s]; the step's, where nothing but the step stops them.
        joints: Dofs that are joints of figures, shape (nv,).
        strength: Of what holds each joint together when it turns too fast [N m], zero for none, shape (nv,).
    """

    state: State
    dt: float
    objectives: Sequence[Objective]
    constraints: Sequence[Constraint]
    external: Array
    weights: Weights
    counts: SolverCounts
    rest: float
    joints: npt.NDArray[np.bool_]
    strength: Array


def solve(
    problem: Problem, touching: Touching, held: Held, friction: Array, slips: Array
) -> tuple[StepResult, str]:  # fmt: skip
    """Solve the step of a world whose contacts are known.

    Args:
        problem: What the contacts do not change.
        touching: Contacts.
        held: Grips.
        friction: Coulomb coefficient of each contact, shape (K,).
        slips: Unit direction in which each contact slides, zero where it stands, shape (K, 3).

    Returns:
        The solved step, and in words what was changed to make it solvable; "" if nothing was.

    Raises:
        StepInfeasible: if no solver got through, even with every bound soft.
    """
    points = np.concatenate([touching.points, held.points])
    others = np.concatenate([touching.others, held.others])
    normals = np.concatenate([touching.normals, np.tile([0.0, 0.0, 1.0], (len(held.points), 1))])
    grips = np.arange(len(points)) >= len(touching.points)
    friction = np.concatenate([friction, np.ones(len(held.points))])
    slips = np.concatenate([slips, np.zeros((len(held.points), 3))])
    counts = problem.counts

    def attempt(slips: Array | None, soft: Callable[[Constraint], float | None] | None) -> StepResult:
        contacts = None
        if len(points):
            contacts = Contacts(
                points, normals, friction, others=others if (others >= 0).any() else None,
                grips=grips if grips.any() else None, slips=slips if slips is not None and slips.any() else None,
            )  # fmt: skip
        step = Step(problem.state, contacts, dt=problem.dt, external=problem.external)
        more, bounds = contact_control(step, touching, held, problem.weights)
        desired, hard = [*problem.objectives, *more], [*problem.constraints, *bounds]
        if soft is None:
            return solve_step(step, desired, hard, costs=False)
        desired, hard, softened = _softened(step, desired, hard, soft)
        result = solve_step(step, desired, hard, readable=True, costs=False)
        for name, slack in _slack(step, softened, result).items():
            counts.slack[name] = max(counts.slack.get(name, 0.0), slack)
        return result

    counts.solves += 1
    # a sliding point whose friction is fixed can be asked for the impossible; as one that sticks it cannot
    constraints = [c for c in problem.constraints if isinstance(c, Equal) and _is_goal(c)]
    ways: list[tuple[str, Array | None, Callable[[Constraint], float | None] | None]] = []
    if all(_size(c.target) <= MOST_ASKED for c in constraints):
        ways += [("", slips, None), (STICKING, None, None)]
    if constraints:
        ways += [(GOALS_SOFTENED, slips, _weight_of_goal), (GOALS_SOFTENED, None, _weight_of_goal)]
    ways += [("contacts made soft", None, _weight_of_contact), ("bounds made soft", None, _weight_of_any)]
    for kind, slide, soft in ways:
        try:
            result = attempt(slide, soft)
        except StepInfeasible:
            if soft is _weight_of_any:
                counts.failures += 1
                raise
            continue
        t, c = counts, result.certificate
        t.primal, t.dual, t.dynamics = max(t.primal, c.primal), max(t.dual, c.dual), max(t.dynamics, c.dynamics)
        return result, kind
    raise AssertionError("the last attempt returns or raises")


def _is_goal(constraint: Constraint) -> bool:
    return constraint.name.startswith(GOAL)


def _weight_of_goal(constraint: Constraint) -> float | None:
    return SOFT_GOAL if _is_goal(constraint) else None


def _weight_of_contact(constraint: Constraint) -> float | None:
    return SOFT_CONTACT if constraint.name == "ground" else _weight_of_goal(constraint)


def _weight_of_any(constraint: Constraint) -> float | None:
    return SOFT_GOAL if _is_goal(constraint) else SOFT.get(constraint.name)


def _softened(
    step: Step, objectives: list[Objective], constraints: list[Constraint],
    weight_of: Callable[[Constraint], float | None],
) -> tuple[list[Objective], list[Constraint], list[Constraint]]:  # fmt: skip
    """The lists with every hard row that has a weight made soft, and those rows as they were."""
    hard: list[Constraint] = []
    softened: list[Constraint] = []
    is_firm = weight_of is _weight_of_contact or any(_is_goal(c) for c in constraints)
    for c in constraints:
        if is_firm and c.name in JOINTS and isinstance(c, AtLeast):
            hard.append(replace(c, weight=FIRM))
            continue
        weight = weight_of(c)
        if weight is None or (isinstance(c, (AtLeast, Within)) and c.weight is not None):
            hard.append(c)
            continue
        softened.append(c)
        if isinstance(c, Equal):
            target = _patient(step, c) if _is_goal(c) else c.target
            objectives = [*objectives, Objective(c.quantity, target, weight, c.name)]
        else:
            hard.append(replace(c, weight=weight))
    return objectives, hard, softened


def _size(target: Array | float) -> float:
    return float(np.linalg.norm(target))


def _patient(step: Step, constraint: Equal) -> Array | float:
    """The target of a goal that is softened: as asked, but so that it is approached no faster than `SPEED`."""
    size, rows = _size(constraint.target), constraint.quantity.rows(step)
    if size == 0.0 or rows.on_lambda is not None:
        return constraint.target
    speed = float(np.sum(constraint.target / size * (rows.on_a @ step.state.v)))
    return constraint.target * (min(size, max(SPEED - speed, 0.0) / PATIENT) / size)


def _slack(step: Step, softened: Sequence[Constraint], result: StepResult) -> dict[str, float]:
    """How far rows are missed, the largest by name."""
    out: dict[str, float] = {}
    for c in softened:
        rows = c.quantity.rows(step)
        y = rows.on_a @ result.a + rows.c
        if rows.on_lambda is not None:
            y = y + rows.on_lambda @ result.coefficients
        if isinstance(c, Equal):
            missed = np.abs(y - c.target)
        elif isinstance(c, AtLeast):
            missed = c.lower - y
        else:
            missed = np.maximum(c.lower - y, y - c.upper)
        out[c.name] = max(out.get(c.name, 0.0), float(np.max(missed, initial=0.0)))
    return out
