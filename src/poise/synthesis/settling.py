"""Contacts of one step: the step is solved again until no point sinks, pulls or is pushed the way it slides.

Source: [Jain2009]_ 4.2. Deviates: a contact is made when a point would go below its surface in this step, not when it
has; it ends when the point leaves by more than a hair, not at any velocity; one that would break while it carries a
force is dropped and the step solved again without it. What a point's way has beyond its velocity (it turns with its
body, surfaces move) is measured after each solve and enters the next, so that no point sinks.

Where hard rows of a step cannot all hold, named ones are made soft.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.core.errors import StepInfeasible
from poise.core.typing import Array, Flags, Index
from poise.goals.lists import GOAL, Held, Touching, Weights, contact_control
from poise.goals.surroundings import Faces
from poise.physics import State
from poise.physics.collisions import CapsulePairs
from poise.step import AtLeast, Constraint, Contacts, Equal, Objective, Step, StepResult, Within, solve_step
from poise.synthesis.contacts import SLIDING, Candidates, across, gaps_after, inside_cone, pairs_that_met, slips_of
from poise.synthesis.figure import BRAKED, FASTEST, speed_limit, with_ligaments
from poise.synthesis.grips import Grips
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
SOFT_GOAL_TIME, SOFT_GOAL_SPEED = 0.1, 2.0
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
        weights: Of everything that is not a goal.
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
    problem: Problem, touching: Touching, held: Held, friction: Array, slips: Array, last: StepResult | None = None
) -> tuple[StepResult, str]:
    """Solve the step of a world whose contacts are known.

    Args:
        problem: What the contacts do not change.
        touching: Contacts.
        held: Grips.
        friction: Coulomb coefficient of each contact, shape (K,).
        slips: Unit direction in which each contact slides, zero where it stands, shape (K, 3).
        last: Of a step like this one: saves time.

    Returns:
        The solved step, and in words what was changed to make it solvable; "" if nothing was.

    Raises:
        StepInfeasible: if no solver got through, even with every bound soft.
    """
    points, others, normals, grips = touching.points, touching.others, touching.normals, None
    if count := len(held.points):
        points, others = np.concatenate([points, held.points]), np.concatenate([others, held.others])
        normals = np.concatenate([normals, np.tile([0.0, 0.0, 1.0], (count, 1))])
        grips = np.arange(len(points)) >= len(touching.points)
        friction = np.concatenate([friction, np.ones(count)])
        slips = np.concatenate([slips, np.zeros((count, 3))])
    counts = problem.counts
    warm, warm_bounds = (None, None) if last is None else (last.coefficients > 0.0, last.bounds_active)

    def attempt(slips: Array | None, soft: Callable[[Constraint], float | None] | None) -> StepResult:
        contacts = None
        if len(points):
            contacts = Contacts(
                points, normals, friction, others=others if (others >= 0).any() else None,
                grips=grips, slips=slips if slips is not None and slips.any() else None,
            )  # fmt: skip
        step = Step(problem.state, contacts, dt=problem.dt, external=problem.external)
        more, bounds = contact_control(step, touching, held, problem.weights)
        desired, hard = [*problem.objectives, *more], [*problem.constraints, *bounds]
        if soft is None:
            return solve_step(step, desired, hard, warm=warm, warm_bounds=warm_bounds, costs=False)
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
    step: Step,
    objectives: list[Objective],
    constraints: list[Constraint],
    weight_of: Callable[[Constraint], float | None],
) -> tuple[list[Objective], list[Constraint], list[Constraint]]:
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
            target = _soft_target(step, c) if _is_goal(c) else c.target
            objectives = [*objectives, Objective(c.quantity, target, weight, c.name)]
        else:
            hard.append(replace(c, weight=weight))
    return objectives, hard, softened


def _size(target: Array | float) -> float:
    return float(np.linalg.norm(target))


def _soft_target(step: Step, constraint: Equal) -> Array | float:
    """The target of a softened goal: as asked, but approached no faster than `SOFT_GOAL_SPEED`."""
    size, rows = _size(constraint.target), constraint.quantity.rows(step)
    if size == 0.0 or rows.on_lambda is not None:
        return constraint.target
    speed = float(np.sum(constraint.target / size * (rows.on_a @ step.state.v)))
    return constraint.target * (min(size, max(SOFT_GOAL_SPEED - speed, 0.0) / SOFT_GOAL_TIME) / size)


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


MADE = 2e-4
"""A closing point nearer than this touches [m]."""
FAR_AWAY = 0.5
"""A point farther than this touches nothing [m]."""
DEEPER = 1e-4
"""A point that this step would bring this far below its surface touches, and the step is solved again [m]."""
LEFT, LEAVING = 1e-3, 0.01
"""A contact ends when its point will be so high [m] and leaves so fast [m/s]."""
PULLED = 1.0
"""A contact that ends while it carries more than this is rolled back [N]."""
HELPED = 1e-3
"""Friction that puts more work than this into a sliding point in one step is none [J]."""
INSIDE, FIRMER, FIRMEST = 0.95, 30.0, 900.0
"""A standing point that its friction would push along, though that is less than this part of what it could be, stands
more firmly in the next solve: its weight grows by such a factor, up to so much. Only what is at the edge slides."""
TURNS = 3
"""Friction that helps in so many solves is left out, whichever way it was made to point."""
ROUNDS, ROLLBACKS = 30, 5
"""Solves of one step at most, and how many of them may still drop a contact."""
TOO_FAST = 1.2
"""A solve that turns a joint faster than this, in parts of `FASTEST`, is made again with a speed limit."""
JAMMED = 3.0
"""Friction of fixed direction can jam: the harder a point is pressed, the more it is thrown off. A solve that turns a
joint faster than this, in parts of `FASTEST`, is made again with points that stick instead of slide."""
HASTY = 4
"""After so many solves what is measured enters by half: two answers that call for each other meet in the middle."""
SPUN = 0.05
"""A solve whose Coriolis force does that much more or less work than the one it was made with is made again [J]."""
PATIENT = 10
"""… but not after so many solves."""
MOST_BEND = 0.1
"""What the way of a gap has beyond its velocity counts up to this [m]: in an impact it may know no bound."""


@dataclass(frozen=True)
class Integrator:
    """Where a step leads: what it starts from, and all that is needed to measure where it ends.

    Attributes:
        q, v: Coordinates (nq,) and velocities (nv,) before the step.
        time: Before the step [s].
        after: Storage for the state after it; `settle` leaves it at the end of the answer.
        mean: Storage for the state before it with the step's mean velocities.
        faces: The surfaces then.
        capsules, allowed, radii: As in `contact.gaps_after`.
    """

    q: Array
    v: Array
    time: float
    after: State
    mean: State
    faces: Faces
    capsules: CapsulePairs
    allowed: Array
    radii: Array

    def move(self, dt: float, a: Array) -> tuple[Array, Array]:
        """Coordinates and velocities after the step; `after` is moved there."""
        v = self.v + dt * a
        q = self.after.model.integrate(self.q, v, dt)
        self.after.move_to(q, v)
        return q, v

    def spin(self, bias: Array, after: Array) -> Array:
        """What the Coriolis force is less at the step's mean velocity, for velocities after it: b(q, v) − b(q, v̄).

        Places move by Δt v⁺, so velocities belong to the middle of steps, and v̄ = (v + v⁺) / 2 to their boundary,
        where the forces are (the leapfrog scheme). With b(q, v) fast limbs gain energy: up to 5 kJ in a hard fall.

        Args:
            bias: b(q, v), shape (nv,).
            after: v⁺, shape (nv,).
        """
        self.mean.move_to(self.q, 0.5 * (self.v + after))
        return bias - self.mean.data.bias_force()


@dataclass(frozen=True)
class Settled:
    """A step whose contacts have settled.

    Attributes:
        q, v: Coordinates (nq,) and velocities (nv,) after it.
        result: The solved step.
        touches: Spots that still touch after it, shape (S,).
        forces: On each candidate's point [N], shape (S, 3).
        gaps: After it [m], shape (S,).
        met: Pairs of bodies that are not candidates and would overlap: search again with them, and settle anew.
        grip_forces: [N], shape (G, 3).
        velocities: Of all points after it, as the solve had them [m/s], shape (P, 3).
        external: Generalized force of pushes, and what the Coriolis force is less than at the state, shape (nv,).
    """

    q: Array
    v: Array
    result: StepResult
    touches: Flags
    forces: Array
    gaps: Array
    met: Index
    grip_forces: Array
    velocities: Array
    external: Array


def touching_now(candidates: Candidates, known: Flags, velocities: Array) -> Flags:
    """Spots that touch as a step begins: those that did, and those that are closing within a hair, shape (S,).

    Args:
        candidates: What may touch.
        known: Spots that touched in the step before, shape (S,).
        velocities: Of the candidates' points against what they touch [m/s], shape (S, 3).
    """
    closing = candidates.along(velocities) <= 1e-6
    return (known | (candidates.gaps < 0.0) | ((candidates.gaps < MADE) & closing)) & (candidates.gaps < FAR_AWAY)


def settle(
    problem: Problem, integrator: Integrator, candidates: Candidates, drifts: Array, grips: Grips, known: Flags,
    stay_weights: Array, *, before: StepResult | None = None, looks_again: bool = False,
) -> Settled:  # fmt: skip
    """Solve a step, and again until its contacts hold.

    Args:
        problem: What the contacts do not change.
        integrator: Where it leads.
        candidates: What may touch.
        drifts: Way of the touched matter in this step [m], shape (S, 3).
        grips: Closed hands.
        known: Spots that touched in the step before, shape (S,).
        stay_weights: How much it matters that each point stays where it touches, 1 as usual, shape (point_count,).
        before: The step before: saves time.
        looks_again: Whether to come back as soon as bodies meet that are not candidates.

    Raises:
        StepInfeasible: if the first round has no solution even with every bound soft.
    """
    s, dt, counts = problem.state, problem.dt, problem.counts
    moving = candidates.relative(s.point_velocities)
    on = touching_now(candidates, known, moving)
    jacobians = s.point_jacobians
    # half of the points' own curves: by so much their ways in the last step and in this one differ from Δt ẋ
    biases = candidates.relative(s.point_biases)
    curves = 0.5 * dt**2 * biases
    # a new contact stands in its first step
    slips = np.where(known[:, None], slips_of(candidates, moving - (drifts + curves) / dt), 0.0)
    own_bias = candidates.along(biases)
    drifting = np.einsum("si,si->s", candidates.normals, drifts)
    # what a gap's way has beyond Δt n · ẋ⁺: half of the point's own curve to begin with, then as the last solve had it
    curve = np.where(candidates.others < 0, 0.5 * dt**2 * own_bias, 0.0)
    ways = grips.ways(s, integrator.time + dt)
    grip_bends = -0.5 * dt**2 * grips.at(s.point_biases)
    none = np.zeros(len(on), dtype=np.bool_)
    yielding = known & (problem.rest > dt)  # another simulation carries them
    kept, dropped = none.copy(), none.copy()
    turned, friction = np.zeros(len(on), dtype=np.int64), candidates.friction.copy()
    firm = np.ones(len(on))
    # ways, up and down, in which a dof turns no faster: those that are fast have their speed limits
    braked = ~problem.joints | (np.array([integrator.v, -integrator.v]) > BRAKED * FASTEST)
    answer: Settled | None = None
    last: Settled | None = None
    changes: set[str] = set()
    spin = np.zeros(len(integrator.v))
    best = np.inf
    for attempt in range(ROUNDS):
        k = np.flatnonzero(on)
        touching = Touching(
            candidates.points[k], candidates.others[k], candidates.normals[k], moving[k], candidates.gaps[k],
            (curve - drifting - dt**2 * own_bias)[k], (drifts + curves)[k],
            (firm * _stays(candidates, stay_weights, slips))[k], np.where(known[k], problem.rest, dt), kept[k],
        )  # fmt: skip
        try:
            held = Held(*grips.points, ways, grip_bends)
            result, change = solve(problem, touching, held, friction[k], slips[k], before)
        except StepInfeasible:
            if answer is None:
                raise
            changes.add("contacts not settled")
            break
        changes |= {change} - {""}
        before = result
        q, v = integrator.move(dt, result.a)
        if slips.any() and float(np.abs(v[problem.joints]).max(initial=0.0)) > JAMMED * FASTEST:
            slips = np.zeros_like(slips)
            changes.add(STICKING)
            continue
        gaps = gaps_after(
            candidates, integrator.after, integrator.faces, integrator.capsules, integrator.allowed, integrator.radii
        )
        met = pairs_that_met(candidates, integrator.after, integrator.capsules, integrator.allowed, DEEPER)
        forces = np.zeros((len(on), 3))
        forces[k] = result.forces[: len(k)]
        velocities = (jacobians @ v).reshape(-1, 3)
        after = candidates.relative(velocities)
        rising = candidates.along(after) - drifting / dt
        leaving = on & (gaps > LEFT) & (rising > LEAVING)
        last = Settled(
            q, v, result, on & ~leaving, forces, gaps, met, result.forces[len(k) :],
            velocities, problem.external,
        )  # fmt: skip
        if len(met) and looks_again:
            return last
        depth = float(-(gaps - np.minimum(candidates.gaps, 0.0)).min(initial=0.0))
        fast = ~braked & (np.array([v, -v]) > TOO_FAST * FASTEST)
        if answer is None or (depth <= max(best, DEEPER) and not fast.any()):
            answer, best = last, np.inf if fast.any() else depth
        made = ~on & (gaps < -DEEPER)
        pulls = leaving
        if leaving.any():
            pulls = leaving & (np.linalg.norm(forces, axis=1) > PULLED) & ~kept
        pulled = pulls & (attempt < ROLLBACKS)
        mean = 0.5 * (moving + after) - drifts / dt
        helped = _helped(candidates, forces, mean, dt)
        sunk = on & ~yielding & (gaps < -DEEPER) & (gaps < candidates.gaps - 0.1 * DEEPER)
        moves = grips.moves(s, integrator.after)
        strained = len(moves) > 0 and float(np.abs(moves - ways).max()) > DEEPER
        now = integrator.spin(s.bias, v)
        spun = attempt < PATIENT and 0.5 * dt * abs(float((integrator.v + v) @ (now - spin))) > SPUN
        if not (strained or spun or fast.any() or (made | pulls | helped | sunk).any()):
            answer = last
            break
        if attempt + 1 == ROUNDS:
            changes.add("contacts not settled")
            break
        if fast.any():
            braked |= fast
            dofs = np.flatnonzero(fast.any(axis=0))
            more = speed_limit(integrator.v, np.sign(v), dofs, dt, problem.weights.bounds)
            constraints = with_ligaments(problem.constraints, problem.strength, np.sign(v), dofs)
            problem = replace(problem, constraints=[*constraints, more])
        if spun:
            change = (now - spin) * (1.0 if attempt < HASTY else 0.5)
            problem, spin = replace(problem, external=problem.external + change), spin + change
        k = np.flatnonzero(on | made)
        bend = np.clip(gaps[k] - candidates.gaps[k] - dt * rising[k], -MOST_BEND, MOST_BEND)
        curve[k] += (bend - curve[k]) * (1.0 if attempt < HASTY else 0.5)
        if len(moves):
            grip_bends = moves - dt * grips.at(velocities) - dt**2 * grips.at(s.point_biases)
        counts.rollbacks += int(pulled.sum())
        counts.rounds += 1
        kept |= (made & dropped) | (pulls & ~pulled)
        dropped |= pulled
        firmer = helped & (firm < FIRMEST) & ~slips.any(axis=1) & inside_cone(candidates, forces, INSIDE)
        firm[firmer] *= FIRMER
        helped &= ~firmer
        slips = np.where(helped[:, None], slips_of(candidates, mean), slips)
        turned += helped
        friction[turned > TURNS] = 0.0
        on = (on | made) & ~pulled
    assert answer is not None
    for change in sorted(changes):
        counts.count(change)
    if answer is not last:
        integrator.after.move_to(answer.q, answer.v)
    return answer


def _stays(candidates: Candidates, stay_weights: Array, slips: Array) -> Array:
    """How much it matters that candidates stay, shape (S,); zero for one that only friction holds and that slides."""
    own = np.where(candidates.others < 0, stay_weights[candidates.points], 0.0)
    return np.where((own < 1.0) & slips.any(axis=1), 0.0, own)


def _helped(candidates: Candidates, forces: Array, velocities: Array, dt: float) -> Flags:
    """Spots that slide the way their friction pushes: friction cannot do that, shape (S,)."""
    aside = across(candidates, velocities)
    work = dt * np.einsum("si,si->s", forces, aside)
    return (np.sqrt(np.einsum("si,si->s", aside, aside)) > SLIDING) & (work > HELPED)
