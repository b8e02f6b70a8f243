"""One solve of a world's step, and what gives way where its hard rows cannot all hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.dynamics import State
from poise.errors import StepInfeasible
from poise.methods.goals.lists import Held, Touching, Weights, contact_control
from poise.step import AtLeast, Constraint, Contacts, Equal, Objective, Step, StepResult, Within, solve_step
from poise.synthesis.tally import Tally

Array = npt.NDArray[np.float64]

SOFT = {"torque limit": 1.0, "reaction delay": 1.0, "ground": 1e4, "grip": 1e4}
"""Weights of hard rows where they cannot all hold; other musts get `SOFT_MUST`."""
SOFT_MUST = 1e3


@dataclass(frozen=True)
class Problem:
    """What a step asks for, whatever touches.

    Attributes:
        state: Complete.
        dt: Length of the step [s].
        objectives, constraints: Of all figures and things.
        external: Generalized force of pushes, shape (nv,).
        weights: Of everything that is no goal.
        tally: Counts.
        rest: Time in which contacts that last come to rest [s]; the step's, where nothing but the step stops them.
    """

    state: State
    dt: float
    objectives: Sequence[Objective]
    constraints: Sequence[Constraint]
    external: Array
    weights: Weights
    tally: Tally
    rest: float


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
    tally = problem.tally

    def attempt(slips: Array | None, *, soft: bool) -> StepResult:
        contacts = None
        if len(points):
            contacts = Contacts(
                points, normals, friction, others=others if (others >= 0).any() else None,
                grips=grips if grips.any() else None, slips=slips if slips is not None and slips.any() else None,
            )  # fmt: skip
        step = Step(problem.state, contacts, dt=problem.dt, external=problem.external)
        more, bounds = contact_control(step, touching, held, problem.weights)
        wished, hard = [*problem.objectives, *more], [*problem.constraints, *bounds]
        if not soft:
            return solve_step(step, wished, hard, costs=False)
        wished, hard, softened = _softened(wished, hard)
        result = solve_step(step, wished, hard, readable=True, costs=False)
        for name, slack in _slack(step, softened, result).items():
            tally.slack[name] = max(tally.slack.get(name, 0.0), slack)
        return result

    tally.solves += 1
    # a sliding point whose friction is fixed can be asked for the impossible; as one that sticks it cannot
    for kind, slide, soft in (
        ("", slips, False),
        ("sliding made sticking", None, False),
        ("bounds made soft", None, True),
    ):
        try:
            result = attempt(slide, soft=soft)
        except StepInfeasible:
            if soft:
                tally.failures += 1
                raise
            continue
        t, c = tally, result.certificate
        t.primal, t.dual, t.dynamics = max(t.primal, c.primal), max(t.dual, c.dual), max(t.dynamics, c.dynamics)
        return result, kind
    raise AssertionError("the last attempt returns or raises")


def _softened(
    objectives: list[Objective], constraints: list[Constraint]
) -> tuple[list[Objective], list[Constraint], list[Constraint]]:
    """The lists with every hard row that can give way made soft, and those rows as they were."""
    hard: list[Constraint] = []
    softened: list[Constraint] = []
    for c in constraints:
        weight = SOFT_MUST if c.name.startswith("must: ") else SOFT.get(c.name)
        if weight is None or (isinstance(c, (AtLeast, Within)) and c.weight is not None):
            hard.append(c)
            continue
        softened.append(c)
        if isinstance(c, Equal):
            objectives = [*objectives, Objective(c.quantity, c.target, weight, c.name)]
        else:
            hard.append(replace(c, weight=weight))
    return objectives, hard, softened


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
