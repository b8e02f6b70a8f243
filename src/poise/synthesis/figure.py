"""One figure of a world: its controller, its muscles, and what it is asked from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue, UnknownName
from poise.core.typing import Array, Index
from poise.filter.preset import Bounds
from poise.filter.quasi_physical import JointLimits
from poise.goals.body import Body, body_of
from poise.goals.goal import Goal
from poise.goals.lists import Muscles, Weights, figure_control
from poise.goals.observation import Clip, Observation
from poise.goals.state_machine import Controller, StateMachine
from poise.goals.surroundings import INSTANT
from poise.physics import State
from poise.step import AtLeast, Constraint, Objective, Within
from poise.step.quantities import JointAcceleration, JointTorque

ENGINES = ("poise", "mujoco")
"""Who can move the figures."""


@dataclass(frozen=True)
class Settings:
    """How a synthesizer works.

    Attributes:
        dt: Length of a step [s].
        responsiveness: Scales all goals against torque change, [Jain2009]_ 7.1.
        delay: How long after a push, a hit or a lost support the muscles cannot answer [s].
        band: How far torques may change in that time, in parts of their limits.
        torque_limits: Whether joints are limited.
        is_literal: The paper's own form of goals.
        engine: Who moves the figures: "poise", the step's own integration, or "mujoco", its forward simulation with its
            own contacts, to which the figures' torques are given; see `synthesis.run.EngineMover`.
        weights: Of everything that is not a goal; by default those of the form.
    """

    dt: float = 0.01
    responsiveness: float = 1.0
    delay: float = 0.2
    band: float = 0.05
    torque_limits: bool = True
    is_literal: bool = False
    engine: str = "poise"
    weights: Weights | None = None

    def __post_init__(self) -> None:
        for name in ("dt", "responsiveness", "band"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise InvalidValue(f"{name} is {value}; give a positive number.")
        if not (np.isfinite(self.delay) and self.delay >= 0.0):
            raise InvalidValue(f"delay is {self.delay} s; give zero or more.")
        if self.engine not in ENGINES:
            raise UnknownName(f"No engine {self.engine!r}. Engines: {', '.join(ENGINES)}.")


FASTEST = 20.0
"""No joint is asked to turn faster than this [rad/s]; a living knee in a kick reaches it."""
LIMITS = Bounds(near_angle=20.0, near_ground=0.05, return_share=0.3)
"""When a joint's limit acts."""
TISSUE = 0.005
"""Damping of a joint's tissue, in parts of its strength, per rad/s; about 1 N m s in a hip."""
BRAKING = 0.02
"""Joints near a limit slow down so that they would reach it in no less than this time [s]."""
BRAKED = 0.9
"""A joint that turns faster than this, in parts of `FASTEST`, is braked by what holds it together."""
STEP = 0.01
"""A joint that would be far past its limit so soon is stopped by bones and ligaments [s]."""
SLACK = 0.05
"""How far past its limit a joint gets before they do [rad]: up to there its own muscles keep it."""
RETURN = 2.0
"""A joint past its limit comes back no faster than this [rad/s]: ligaments stop it, they do not throw it back."""
LIGAMENT = 10.0
"""Largest torque with which they stop it, in parts of the muscles' strength: they act only back from the limit."""


@dataclass(frozen=True)
class Start:
    """Who takes part, how it is controlled, and where it begins.

    Attributes:
        name: Unique in its world.
        character: Its body.
        machine: Its controller.
        q: Coordinates where it stands at rest, shape (nq,): its start, unless `begins` says another.
        clip: What it follows where its controller says so.
        begins: Coordinates (nq,) and velocities (nv,) at the start.
    """

    name: str
    character: Character
    machine: StateMachine
    q: Array
    clip: Clip | None = None
    begins: tuple[Array, Array] | None = None


class _Rest(NamedTuple):
    """What joint limits are measured against: a figure at rest, inside all of them."""

    q: Array
    v: Array
    a: Array


class Figure:
    """A figure at work; holds what changes in a run.

    Attributes:
        name, character: As started.
        body: Its parts in the model.
        course: The controller at work.
        goals: Added by the user, by name.
        constraints: Goals added by the user that must be met, by name.
        torque: What the muscles gave in the last step [N m], or None before the first.
        damping: Of the joints' tissue [N m s], on top of the muscles, shape (nv − 6,).
        held, held_until: Torques that cannot change, and until when [s].
        points: The model's contact points that are its own.
        root_wrench: What held the root in the last step, by recursive Newton-Euler: force [N] and moment [N m], (6,).
    """

    def __init__(self, start: Start, state: State, index: int, first_point: int, first_q: int) -> None:
        self.name, self.character, self.clip = start.name, start.character, start.clip
        self.body: Body = body_of(start.character, state, index, first_point)
        self.controller = Controller(start.machine)
        self.goals: dict[str, Goal] = {}
        self.constraints: dict[str, Goal] = {}
        self.torque: Array | None = None
        self.held: Array | None = None
        self.held_until = -np.inf
        self.points = slice(first_point, first_point + len(start.character.contact_points))
        self.root_wrench = np.zeros(6)
        self.strength = self.body.strength
        self.damping = TISSUE * self.strength
        self._q = slice(first_q, first_q + start.character.nq)
        self._v = slice(self.body.joints[0] - 6, self.body.joints[1])
        nv = start.character.nv
        self._rest = _Rest(start.q.copy(), np.zeros(nv), np.zeros(nv))
        self._limits = JointLimits(start.character, LIMITS)
        self._stopped = np.zeros((2, nv - 6))
        self._range = (-self.strength, self.strength)

    @property
    def dofs(self) -> slice:
        """Its dofs in the model."""
        return self._v

    @property
    def coordinates(self) -> slice:
        """Its coordinates in the model."""
        return self._q

    def start_delay(self, time: float, delay: float) -> None:
        """Hold the present torques for the reaction delay: what a push, a hit or a lost support does."""
        if self.torque is not None and delay > 0.0:
            self.held, self.held_until = self.torque.copy(), time + delay

    def is_delayed(self, time: float) -> bool:
        """Whether it was startled and cannot answer yet."""
        return time < self.held_until - INSTANT

    @property
    def effort(self) -> float:
        """Largest torque of the last step in parts of its joint's limit; zero before the first."""
        return 0.0 if self.torque is None else float((np.abs(self.torque) / self.strength).max())

    def limits(self, q: Array, v: Array, weight: float) -> AtLeast | None:
        """Soft joint limits that are near, on the figure's own dofs; where ligaments act follows from them."""
        limits = self._limits.constraint(q[self._q], v[self._v], self._rest, BRAKING, weight)
        self._stopped[:] = 0.0
        if limits is not None:
            along = limits.quantity.along  # type: ignore[attr-defined]
            # the row asks for ≥ lower so that the limit is kept in BRAKING; this is how far past it a step would lead
            past = BRAKING * (BRAKING * limits.lower) + (BRAKING - STEP) * (along @ v[self._v])
            for row in along[past > SLACK]:
                share = row[6:] / max(float(np.abs(row[6:]).max()), 1e-9)
                self._stopped[0] = np.maximum(self._stopped[0], -share)
                self._stopped[1] = np.maximum(self._stopped[1], share)
            # a joint that already turns back needs no ligament; one that could push on would be a muscle
            speed = v[self.body.joints[0] : self.body.joints[1]]
            self._stopped[0, speed < -RETURN] = 0.0
            self._stopped[1, speed > RETURN] = 0.0
            gentle = (RETURN - along @ v[self._v]) / STEP
            limits = replace(limits, lower=np.minimum(limits.lower, gentle))
        return limits

    def muscles(
        self, time: float, v: Array, *, is_limited: bool, band: float, is_literal: bool, is_stopped: bool
    ) -> Muscles:
        """What its muscles did and may do now, after `limits`.

        Args:
            time: [s].
            v: Velocities of the whole model, shape (nv,).
            is_limited: Whether torques are.
            band: How far they may change while it is startled, in parts of their limits.
            is_literal: Whether that is an objective, not a bound.
            is_stopped: Whether bones and ligaments help where a joint is past its limit, or turns too fast.
        """
        limit = self.strength if is_limited else np.full(len(self.strength), np.inf)
        held = self.held if self.is_delayed(time) else None
        speed = v[self.body.joints[0] : self.body.joints[1]]
        if is_stopped:
            self._stopped[0, speed > BRAKED * FASTEST] = 1.0
            self._stopped[1, speed < -BRAKED * FASTEST] = 1.0
        else:
            self._stopped[:] = 0.0
        around = None if held is None or is_literal else np.clip(held, -limit, limit)
        own = band * self.strength
        self._range = (-limit, limit)
        if around is not None:
            self._range = (np.maximum(around - own, -limit), np.minimum(around + own, limit))
        stops = LIGAMENT * self._stopped * self.strength if self._stopped.any() else None
        return Muscles(self.torque, self.strength, limit, held, own, self.damping, speed, stops)

    def remember(self, torque: Array, *, is_limited: bool) -> None:
        """Take in the torques of a step (nv − 6,) [N m]: what is beyond a muscle's limit was bones and ligaments."""
        self.torque = np.clip(torque, *self._range) if is_limited else torque

    def lists(
        self, observed: Observation, q: Array, v: Array, settings: Settings, weights: Weights, *, is_stopped: bool
    ) -> tuple[list[Objective], list[Constraint]]:
        """Objectives and constraints of the figure in this step, after its controller has advanced.

        Args:
            observed: What it observes.
            q, v: Coordinates (nq,) and velocities (nv,) of the whole model.
            settings, weights: Of the run.
            is_stopped: As in `muscles`.
        """
        goals, required = self.objectives(observed, settings.responsiveness)
        limits = self.limits(q, v, weights.bounds)
        muscles = self.muscles(
            observed.time,
            v,
            is_limited=settings.torque_limits,
            band=settings.band,
            is_literal=settings.is_literal,
            is_stopped=is_stopped,
        )
        objectives, constraints = figure_control(observed, goals, required, muscles, weights)
        return objectives, [*constraints, *self.bounds(limits, v, settings.dt, weights.bounds)]

    def objectives(
        self, observed: Observation, factor: float
    ) -> tuple[list[Objective | AtLeast], list[Objective | AtLeast]]:
        """Objectives of the controller and the user now, times `factor`, and those that must be met."""
        for name, goal in (*self.goals.items(), *self.constraints.items()):
            if not isinstance(goal, Goal):
                raise InvalidValue(f"Goal {name!r} of {self.name!r} is {goal!r}; give one, such as ComOver(1.0).")
        desired = self.controller.objectives(observed) + [
            o for goal in self.goals.values() for o in goal.objectives(observed)
        ]
        if factor != 1.0:
            desired = [replace(o, weight=factor * np.asarray(o.weight)) for o in desired]
        return desired, self.controller.constraints(observed) + [
            o for constraint in self.constraints.values() for o in constraint.objectives(observed)
        ]

    def bounds(self, limits: AtLeast | None, v: Array, dt: float, weight: float) -> list[Constraint]:
        """Soft joint limits, as `limits` found them, and joint speeds."""
        bounds: list[Constraint] = []
        if limits is not None:
            assert isinstance(limits.quantity, JointAcceleration)
            assert limits.quantity.along is not None
            own = limits.quantity.along
            along = np.zeros((len(own), len(v)))
            along[:, self._v] = own
            bounds.append(AtLeast(JointAcceleration(along=along), limits.lower, weight, "joint limits"))
        first, end = self.body.joints
        fast = first + np.flatnonzero(np.abs(v[first:end]) > 0.5 * FASTEST)
        if len(fast):
            bounds.append(speed_limit(v, np.sign(v), fast, dt, weight))
        return bounds


def speed_limit(v: Array, sense: Array, dofs: Index, dt: float, weight: float) -> AtLeast:
    """Soft: some dofs turn no faster than `FASTEST` the way `sense` says, for velocities and senses of all, (nv,)."""
    along = np.zeros((len(dofs), len(v)))
    along[np.arange(len(dofs)), dofs] = -sense[dofs]
    return AtLeast(JointAcceleration(along=along), (sense[dofs] * v[dofs] - FASTEST) / dt, weight, "joint speed")


def with_ligaments(constraints: Sequence[Constraint], strength: Array, sense: Array, dofs: Index) -> list[Constraint]:
    """Constraints whose torque limits let ligaments brake some dofs that turn too fast the way `sense` (nv,) says."""
    out: list[Constraint] = []
    for c in constraints:
        if isinstance(c, Within) and isinstance(c.quantity, JointTorque):
            first, end = c.quantity.dofs
            own = dofs[(dofs >= first) & (dofs < (first if end is None else end))] - first
            lower, upper = np.array(c.lower), np.array(c.upper)
            turning, reach = sense[own + first], LIGAMENT * strength[own + first]
            lower[own] -= np.where(turning > 0.0, reach, 0.0)
            upper[own] += np.where(turning < 0.0, reach, 0.0)
            c = replace(c, lower=lower, upper=upper)
        out.append(c)
    return out
