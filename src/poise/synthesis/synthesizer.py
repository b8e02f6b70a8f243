"""A figure that moves by goals alone: one step problem a step, contacts made, kept, broken and rolled back.

    v⁺ = v + Δt a,    q⁺ = q ⊕ Δt v⁺

Source: [Jain2009]_ section 4. Deviates where `methods.goals` says so, and in contacts: one is made when a point would go
below its surface in this step, and the step is solved again; it ends when the point leaves by more than a hair, not at
any velocity; a contact that would break while it carries a force is dropped and the step solved again without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.character.character import Character
from poise.character.torque_limits import torque_limits
from poise.control.limits import JointLimits
from poise.control.preset import Bounds
from poise.dynamics import State
from poise.dynamics.from_character import model_of
from poise.errors import InvalidValue, StepInfeasible
from poise.methods.goals.lists import LITERAL, Effort, Weights, goal_control
from poise.methods.goals.machine import Course, Machine
from poise.methods.goals.objectives import Wish
from poise.methods.goals.view import View, body_of
from poise.sim.forces import Pull, Push
from poise.synthesis.audit import Audit
from poise.synthesis.surroundings import Ground, Surface, ground_below
from poise.step import AtLeast, Constraint, Contacts, Objective, Step, StepResult, Within, solve_step
from poise.step.quantities import JointAcceleration

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MADE = 2e-4
"""A closing point nearer than this touches [m]."""
DEEPER = 1e-4
"""A point that this step would bring this far below its surface touches, and the step is solved again [m]."""
LEFT, LEAVING = 1e-3, 0.01
"""A contact ends when its point will be so high [m] and leaves so fast [m/s]."""
PULLED = 1.0
"""A contact that ends while it carries more than this is rolled back [N]."""
SLIDING = 0.05
"""A touching point that moves along its surface faster than this slides [m/s]."""
FASTEST = 20.0
"""No joint wishes to turn faster than this [rad/s]; a living knee in a kick reaches it."""
LIMITS = Bounds(near_angle=20.0, near_ground=0.05, return_share=0.3)
"""When a joint's limit acts."""
BRAKING = 0.02
"""Joints near a limit slow down so that they would reach it in no less than this time [s]."""
ROUNDS = 6
"""Solves of one step at most."""
SLACK_WEIGHTS = {"torque limit": 1.0, "reaction delay": 1.0, "ground": 1e4}
"""Weights of the hard bounds where they cannot all hold."""


@dataclass(frozen=True)
class Settings:
    """How a synthesizer works.

    Attributes:
        dt: Length of a step [s].
        responsiveness: Scales all goals against torque change, [Jain2009]_ 7.1.
        delay: How long after a push the muscles cannot answer [s].
        band: How far torques may change in that time, in parts of their limits.
        torque_limits: Whether joints are limited.
        is_literal: The paper's own form of goals.
        weights: Of everything that is no goal; by default those of the form.
    """

    dt: float = 0.01
    responsiveness: float = 1.0
    delay: float = 0.2
    band: float = 0.05
    torque_limits: bool = True
    is_literal: bool = False
    weights: Weights | None = None

    def __post_init__(self) -> None:
        for name in ("dt", "responsiveness", "band"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise InvalidValue(f"{name} is {value}; give a positive number.")


class _Rest(NamedTuple):
    """What joint limits are measured against: a figure at rest, inside all of them."""

    q: Array
    v: Array
    a: Array


@dataclass
class Tally:
    """What happened, counted."""

    solves: int = 0
    failures: int = 0
    rounds: int = 0
    rollbacks: int = 0
    slack: float = 0.0
    primal: float = 0.0
    dual: float = 0.0
    dynamics: float = 0.0
    conflicts: dict[str, int] = field(default_factory=dict)


class Synthesizer:
    """One figure, its controller, and what stands around it; holds the changing state of a run.

    Attributes:
        q, v: Coordinates (nq,) and velocities (nv,).
        time: [s].
        course: The controller at work.
        weights: Of everything that is no goal.
        root_wrench: What held the root in the last step, by recursive Newton-Euler: force [N], moment [N m], shape (6,).
        audit: Takes in every step if there is one.
        touching: Points in contact, shape (P,).
        forces: Contact forces of the last step [N], shape (P, 3).
        torque: Joint torques of the last step [N m], or None before the first.
        tally: What was counted.
    """

    def __init__(
        self, character: Character, machine: Machine, *, start: Array, surfaces: Sequence[Surface] = (Surface("floor"),),
        settings: Settings | None = None,
    ) -> None:  # fmt: skip
        self.character, self.settings = character, settings or Settings()
        self.surfaces = list(surfaces)
        self.model = model_of(character)
        self.state = State(self.model).at(start, np.zeros(self.model.nv))
        self._other = State(self.model)
        self.body = body_of(character, self.state)
        self.q, self.v, self.time = start.copy(), np.zeros(self.model.nv), 0.0
        self.course = Course(machine)
        self.touching = np.zeros(self.model.point_count, dtype=np.bool_)
        self.forces = np.zeros((self.model.point_count, 3))
        self.torque: Array | None = None
        self.tally = Tally()
        self.pushes: list[Push | Pull] = []
        self.wishes: dict[str, Wish] = {}
        self.root_wrench = np.zeros(6)
        self.audit: Audit | None = None
        self._strength = torque_limits(character)
        self._limit = self._strength if self.settings.torque_limits else np.full(len(self._strength), np.inf)
        self._band = self.settings.band * self._strength
        self._joint_limits = JointLimits(character, LIMITS)
        self.weights = self.settings.weights or (LITERAL if self.settings.is_literal else Weights())
        self._held: Array | None = None
        self._held_until = -np.inf
        self._felt: set[int] = set()

    def push(self, push: Push | Pull) -> None:
        """Add a push or a pull."""
        push.body_of(self.character)
        self.pushes.append(push)

    def _look(self) -> tuple[View, Ground]:
        """Complete the state where the figure is, and what it sees there."""
        s = self.state
        s.move_to(self.q, self.v)
        s.touch(ground_below(self.surfaces, s.centers).normals)
        s.complete()
        ground = ground_below(self.surfaces, s.points)
        view = View(
            self.body, self.state, self.time, self.settings.dt, 0.0, self.touching, ground.gaps,
            np.zeros_like(ground.gaps), self.forces,
            self.time < self._held_until - 1e-9, self.settings.is_literal, self.course.memory,
        )  # fmt: skip
        return view, ground

    def step(self) -> StepResult:
        """Move on by one step.

        Raises:
            StepInfeasible: if no solver got through, even with every bound soft.
        """
        s, dt = self.state, self.settings.dt
        view, ground = self._look()
        external = self._external()
        view = replace(view, is_delayed=self.time < self._held_until - 1e-9)
        now = self.course.advance(view)
        view = replace(view, since=self.time - self.course.entered)
        wishes = [o for wish in (*now.wishes, *self.wishes.values()) for o in wish.objectives(view)]
        factor = self.settings.responsiveness
        if factor != 1.0:
            wishes = [replace(o, weight=factor * np.asarray(o.weight)) for o in wishes]
        lifted = [view.part(part) for part in now.lifts]
        free = np.concatenate(lifted) if lifted else np.zeros(0, dtype=np.int64)
        velocities = s.point_velocities
        closing = np.einsum("pi,pi->p", ground.normals, velocities)
        self.touching |= (ground.gaps < 0.0) | ((ground.gaps < MADE) & (closing <= 1e-6))
        self.touching &= ground.gaps < 0.5
        slips = self._slips(ground)
        jacobians = s.point_jacobians
        bias = np.einsum("pi,pi->p", ground.normals, s.point_biases)
        bend = -0.5 * dt**2 * bias
        for attempt in range(ROUNDS):
            result, points = self._solve(replace(view, bends=bend), wishes, free, ground, slips, external)
            after = self.v + dt * result.a
            q = self.model.integrate(self.q, after, dt)
            rising = np.einsum("pi,pi->p", ground.normals, (jacobians @ after).reshape(-1, 3))
            landed = self._places(q)
            gaps = ground.gaps + np.einsum("pi,pi->p", ground.normals, landed - s.centers)
            forces = np.zeros_like(self.forces)
            forces[points] = result.forces
            leaving = self.touching & (gaps > LEFT) & (rising > LEAVING)
            made = ~self.touching & (gaps < -DEEPER)
            pulled = leaving & (np.linalg.norm(forces, axis=1) > PULLED)
            sunk = self.touching & (gaps < -DEEPER) & (gaps < ground.gaps - 0.1 * DEEPER)
            if attempt + 1 == ROUNDS or not (made.any() or pulled.any() or sunk.any()):
                break
            bend = np.where(self.touching | made, gaps - ground.gaps - dt * (rising + dt * bias), 0.0)
            self.tally.rollbacks += int(pulled.sum())
            self.tally.rounds += 1
            self.touching = (self.touching | made) & ~pulled
        self.touching = self.touching & ~leaving
        self.forces, self.torque = forces, result.torque[6:].copy()
        jacobians = jacobians.reshape(-1, 3, self.model.nv)
        # by recursive Newton-Euler, a path of its own
        self.root_wrench = (
            s.data.inverse_dynamics(result.a) - np.einsum("pij,pi->j", jacobians[points], result.forces) - external
        )[:6]
        self.v, self.q = after, q
        self.time += dt
        if self.audit is not None:
            self.audit.take(self, result, ground, landed - s.centers)
        return result

    def _places(self, q: Array) -> Array:
        """Centers of the contact points at other coordinates [m], shape (P, 3)."""
        self._other.move_to(q, self.v)
        return self._other.centers

    def _slips(self, ground: Ground) -> Array:
        """Direction in which points slide along their surface, zero where they stand, shape (P, 3)."""
        velocities = self.state.point_velocities
        across = velocities - np.einsum("pi,pi->p", velocities, ground.normals)[:, None] * ground.normals
        speed = np.linalg.norm(across, axis=1)
        return np.where((speed > SLIDING)[:, None], across / np.maximum(speed, SLIDING)[:, None], 0.0)

    def _external(self) -> Array:
        """Generalized force of the pushes; the first step of each starts the reaction delay."""
        external = np.zeros(self.model.nv)
        for k, push in enumerate(self.pushes):
            if not push.start - 1e-9 <= self.time < push.start + push.duration - 1e-9:
                continue
            body = push.body_of(self.character) + 1
            place = self.state.data.xipos[body].copy()
            velocity, _ = self.state.body_point_motion(body, place)
            force = push.force_at(place, velocity, self.time, float(self.model.body_masses[body]))
            external += self.state.external_torque(body, place, force)
            if k not in self._felt:
                self._felt.add(k)
                self.startle()
        return external

    def startle(self) -> None:
        """Hold the present torques for the reaction delay: what a push, a hit or a lost support does."""
        if self.torque is not None and self.settings.delay > 0.0:
            self._held, self._held_until = self.torque.copy(), self.time + self.settings.delay

    def _solve(
        self, view: View, wishes: list[Objective], free: npt.NDArray[np.int64], ground: Ground, slips: Array,
        external: Array,
    ) -> tuple[StepResult, npt.NDArray[np.int64]]:
        points = np.flatnonzero(self.touching)
        held = self._held if view.is_delayed else None
        effort = Effort(self.torque, self._strength, self._limit, held, self._band)
        bounds = self._bounds()

        def attempt(slips: Array | None, *, soft: bool) -> StepResult:
            contacts = None
            if len(points):
                of = None if slips is None or not slips[points].any() else slips[points]
                contacts = Contacts(points, ground.normals[points], ground.friction[points], slips=of)
            step = Step(self.state, contacts, dt=self.settings.dt, external=external)
            objectives, constraints = goal_control(step, view, wishes, effort, self.weights, free, bounds)
            if soft:
                constraints = [_softened(c) for c in constraints]
            return solve_step(step, objectives, constraints, readable=soft, costs=False)

        self.tally.solves += 1
        result = None
        # a sliding point whose friction is fixed can be asked for the impossible; as one that sticks it cannot
        for kind, slide, soft in (("", slips, False), ("sliding made sticking", None, False), ("bounds made soft", None, True)):
            try:
                result = attempt(slide, soft=soft)
            except StepInfeasible:
                if soft:
                    raise
                continue
            if kind:
                self.tally.conflicts[kind] = self.tally.conflicts.get(kind, 0) + 1
            if soft:
                self.tally.failures += 1
                self.tally.slack = max(self.tally.slack, self._overrun(result, held))
            break
        assert result is not None
        t, c = self.tally, result.certificate
        t.primal, t.dual, t.dynamics = max(t.primal, c.primal), max(t.dual, c.dual), max(t.dynamics, c.dynamics)
        return result, points

    def _bounds(self) -> list[Constraint]:
        rest = _Rest(self.body.rest, np.zeros(self.model.nv), np.zeros(self.model.nv))
        limits = self._joint_limits.constraint(self.q, self.v, rest, BRAKING, self.weights.bounds)
        bounds: list[Constraint] = [] if limits is None else [limits]
        first, end = self.body.joints
        fast = first + np.flatnonzero(np.abs(self.v[first:end]) > 0.5 * FASTEST)
        if len(fast):
            along = np.zeros((len(fast), self.model.nv))
            along[np.arange(len(fast)), fast] = -np.sign(self.v[fast])
            lower = (np.abs(self.v[fast]) - FASTEST) / self.settings.dt
            bounds.append(AtLeast(JointAcceleration(along=along), lower, self.weights.bounds, "joint speed"))
        return bounds

    def _overrun(self, result: StepResult, held: Array | None) -> float:
        """How far torques leave their limits or the band they are held in [N m]."""
        torque = result.torque[6:]
        over = float(np.maximum(np.abs(torque) - self._limit, 0.0).max())
        if held is not None:
            over = max(over, float((np.abs(torque - held) - self._band).max()))
        return max(over, 0.0)


def _softened(constraint: Constraint) -> Constraint:
    if isinstance(constraint, (AtLeast, Within)) and constraint.name in SLACK_WEIGHTS and constraint.weight is None:
        return replace(constraint, weight=SLACK_WEIGHTS[constraint.name])
    return constraint
