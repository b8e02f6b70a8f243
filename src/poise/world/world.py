"""Figures among bodies: one step in which both answer the forces between them.

The filter states what a figure wants as lists; `step.response` says how the answer to these lists changes with a force,
a = a₀ + B F, and a body answers by M⁻¹. `contacts` finds the impulses that suit both. The figure then solves its step
once more with that force, so that nothing but the force enters, and where it touches no body nothing enters at all.
Source: [Levine2012]_ section 3.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.typing import Array, Index
from poise.core.units import GRAVITY
from poise.filter.forces import Force, Thing
from poise.physics.mujoco_backend import Model
from poise.physics.mujoco_bodies import Bodies, Touches
from poise.step import Constraint, Equal, Objective, Step
from poise.step.quantities import BodyAngularAcceleration, ComAcceleration, JointTorque, PointAcceleration
from poise.step.solve import respond
from poise.step.step import checked_points
from poise.world.contacts import Impulses, remembered, solve_contacts
from poise.world.scenes import Surroundings, read_scene

RECOVERED, SLOP, FASTEST = 0.2, 0.001, 0.5
"""What overlaps by more than the slop [m] comes apart by this share of it a step, at most so fast [m/s]."""
SOFT_GOAL, LARGEST = 30.0, 40.0
"""While bodies touch a figure, its center of mass follows its path with this weight, times the mass, and asks for no
more than this acceleration, times the scale [m/s²]: a wall stops it."""
SOFT_ENDS = 0.0003
"""Factor on the weight of end effectors of limbs that bodies touch: the place of a foot is then the pose's."""
SOFT = 0.2
"""How firmly limbs that bodies touch keep to the clip: a factor on what they track; it divides what torques weigh."""
ROUNDS, CLOSE = 6, 1e-4
"""A figure's answer changes where one of its points begins or ends to push on the ground: contacts are solved so often
at most, until its velocity at them is the expected one [m/s]."""
HARDEST = 2.0
"""Largest force of one contact on a figure, in body weights: flesh gives. What hits harder goes in and comes out over
the next steps."""
LEAST = 1e-3
"""A figure counts as no heavier at a contact than what its bodies weigh, over this."""
SETTLED = 1.5
"""Loose bodies fall and come to rest for so long before time 0 [s]."""


@dataclass(frozen=True)
class Bump(Force):
    """The force of a body on a figure in the last step: its goal and limbs feel it; the step itself solves for it.

    Attributes:
        index: Body of the character.
        place: Where it acts, in the body's frame [m], shape (3,).
        vector: The force [N], shape (3,).
    """

    kind: ClassVar[str] = "bump"
    is_solved_for: ClassVar[bool] = True
    body: str
    start: float
    duration: float
    index: int
    place: Array
    vector: Array

    @property
    def offset(self) -> Array | None:
        return self.place

    def is_on(self, time: float) -> bool:
        del time
        return True

    def body_of(self, character: Character) -> int:
        del character
        return self.index

    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        del place, velocity, time, mass
        return self.vector


class World:
    """A scene with bodies around one figure that the filter drives.

    Example:
        >>> world = poise.World("rubble:10,1")
        >>> result = poise.simulate(motion, character, world=world)

    Args:
        scene: MJCF text, a MuJoCo file (.xml), a scene file (.toml), or "rubble:COUNT,SEED".
        friction: Least friction of what a figure touches.

    Attributes:
        bodies: The engine's model of figure and bodies, once a figure has joined.
        q, v: Coordinates and velocities of figure and bodies.
        track: Places and orientations of the bodies at every step, for recordings.
    """

    def __init__(self, scene: str | os.PathLike[str], *, friction: float = 0.8) -> None:
        self._scene, self.friction = scene, friction
        self.q = self.v = np.zeros(0)
        self.track: list[tuple[Array, Array]] = []

    def join(self, model: Model, q: Array, v: Array, dt: float, *, way: Array, scale: float) -> None:
        """Begin with a figure at a pose (nq,) and velocity (nv,); loose bodies come to rest first.

        Args:
            model: The figure's.
            q, v: Its pose and velocity.
            dt: Length of a step [s].
            way: Horizontal places that it will go through [m], shape (N, 2).
            scale: Leg length / 0.82 m.

        Raises:
            InvalidValue: if the scene cannot be read.
        """
        text = str(self._scene)
        around = Surroundings(text) if "<mujoco" in text else read_scene(self._scene, way=way, scale=scale)
        self.bodies = bodies = Bodies(model, around.mjcf, friction=self.friction, margin=0.01 * scale)
        self.dt, self.nv, self.model, self.scale = dt, model.nv, model, scale
        self.figure_mass = float(model.subtree_masses[model.roots[0]])
        self.q, self.v = bodies.q.copy(), bodies.v.copy()
        self._touches: Touches | None = None
        self._p = np.zeros((0, 3))
        self.felt: list[Bump] = []
        self._numbers: dict[str, list[float]] = {n: [] for n in ("residual", "penetration", "momentum", "contacts")}
        self._work = self._exchanged = self._risen = 0.0
        self._least, self._is_met = np.inf, False
        # without the figure, which stands far above
        self.q[: model.nq], self.v[: model.nv] = q, v
        self.q[2] += 1e3
        self._held = list(around.balls)
        for _ in range(round(SETTLED / dt)):
            self._move_bodies_alone()
            self._hold()
        self.q[: model.nq] = q
        self.track = []
        self._see()

    def _move_bodies_alone(self) -> None:
        bodies = self.bodies
        bodies.move(self.q, self.v)
        touches = bodies.touches()
        answers = bodies.answers(touches)
        start = remembered(touches, self._touches, self._p)
        found = self._solve(touches, answers, bodies.falling(self.dt), start)
        self._touches, self._p = touches, found.p
        v = found.v
        v[: self.nv] = 0.0
        self.v = v
        self.q = bodies.after(self.q, v, self.dt)

    def _solve(self, touches: Touches, answers: Array, v: Array, start: Array) -> Impulses:
        bodies = self.bodies
        wanted = np.zeros((len(touches.gaps), 3))
        deep = np.maximum(-touches.gaps - SLOP * self.scale, 0.0)
        back = np.minimum(RECOVERED * deep / self.dt, FASTEST * self.scale)
        wanted[:, 0] = np.where(touches.gaps > 0.0, -touches.gaps / self.dt, back)
        figures = np.append(bodies.is_figure, False)[touches.trees].any(axis=1)
        most = HARDEST * GRAVITY * self.scale * self.figure_mass * self.dt
        return solve_contacts(
            touches,
            answers,
            bodies.first,
            bodies.width,
            bodies.is_figure,
            v,
            wanted,
            start,
            np.where(figures, most, np.inf),
            self.figure_mass,
        )

    def meet(
        self, step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint]
    ) -> tuple[list[Objective], list[Constraint], Array]:
        """Solve the contacts of a step together with its lists.

        Returns:
            The lists as they are to be solved, and the generalized force of the bodies on the figure, shape (nv,).
        """
        bodies, nv, dt = self.bodies, self.nv, self.dt
        q, v = self.q[: self.model.nq], self.v[:nv]
        if not (np.array_equal(q, step.state.q) and np.array_equal(v, step.state.v)):  # it was moved since `advance`
            q[:], v[:] = step.state.q, step.state.v
            bodies.move(self.q, self.v)
        touches = bodies.touches()
        answers = bodies.answers(touches)
        k, side = np.nonzero(np.append(bodies.is_figure, False)[touches.trees])
        free = bodies.falling(dt)
        jacobian = touches.rows[k, side, :, :nv].reshape(-1, nv)
        start = remembered(touches, self._touches, self._p)
        free[:nv] = step.state.v
        wrong, force = 0.0, np.zeros(nv)
        if not len(k):
            found = self._solve(touches, answers, free, start)
        else:
            objectives, constraints = yielding(
                step,
                objectives,
                constraints,
                np.unique(touches.bodies[k, side]),
                mass=self.figure_mass,
                largest=LARGEST * self.scale,
            )

            def answer(along: Array) -> tuple[Array, Array]:
                """Accelerations of the figure with forces along the rows, and how they change with them."""
                now = Step(step.state, step.contacts, dt=dt, external=step.external + jacobian.T @ along)
                result, change = respond(now, objectives, constraints, jacobian)
                return result.a, monotone(change, jacobian, step.state.M)

            def solve(a: Array, change: Array) -> Impulses:
                """Impulses that suit a figure whose acceleration is a without them."""
                answers[k, side, :, :nv] = change.T.reshape(-1, 3, nv)
                free[:nv] = step.state.v + dt * a
                return self._solve(touches, answers, free.copy(), start)

            along = start[k].ravel() / dt
            a, change = answer(along)
            wrong, found = np.inf, Impulses.none(len(touches.gaps), free)
            for _ in range(ROUNDS):
                rest = a - change @ along
                guess = solve(rest, change)
                along = guess.p[k].ravel() / dt
                expected = rest + change @ along
                a, change = answer(along)
                off = float(np.abs(dt * (jacobian @ (a - expected))).max())
                if off < wrong:
                    wrong, found = off, guess
                if off < CLOSE * self.scale:
                    break
            force = jacobian.T @ found.p[k].ravel() / dt
        self._note(touches, found, k, side, free, wrong)
        self._touches, self._p, self._is_met = touches, found.p, True
        self.v[nv:] = found.v[nv:]
        return list(objectives), list(constraints), force

    def advance(self, q: Array, v: Array) -> None:
        """Go on with the figure at its next pose (nq,) and velocity (nv,)."""
        if not self._is_met:  # a step that was carried
            self._move_bodies_alone()
        following = self.bodies.after(self.q, self.v, self.dt) if self._is_met else self.q
        following[: self.model.nq], self.v[: self.nv] = q, v
        self.q, self._is_met = following, False
        self._throw(len(self.track) * self.dt)
        self._hold()
        self._see()

    def _hold(self) -> None:
        """Balls that nobody has thrown yet stay in the air."""
        for ball in self._held:
            q, v = self.bodies.coordinates(ball.name)
            self.q[q : q + 7] = (*ball.place, 1.0, 0.0, 0.0, 0.0)
            self.v[v : v + 6] = 0.0

    def _throw(self, time: float) -> None:
        """Balls whose time has come fly from their place."""
        for ball in [b for b in self._held if b.is_thrown(time)]:
            self._hold()
            self._held.remove(ball)
            _, v = self.bodies.coordinates(ball.name)
            self.v[v : v + 3] = ball.velocity
            self._work += 0.5 * ball.mass * float(np.square(ball.velocity).sum())

    def _see(self) -> None:
        self.bodies.move(self.q, self.v)
        self.track.append(self.bodies.places())
        unexplained = self.bodies.energy() - self._work
        self._least = min(self._least, unexplained)
        self._risen = max(self._risen, unexplained - self._least)

    def _note(self, touches: Touches, found: Impulses, k: Index, side: Index, free: Array, wrong: float) -> None:
        """What the report tells of this step, and what the figure will feel."""
        bodies, dt = self.bodies, self.dt
        self._numbers["contacts"].append(float(len(touches.gaps)))
        self._numbers["residual"].append(max(wrong, float(found.residual.max(initial=0.0))))
        self._numbers["penetration"].append(float(np.maximum(-touches.gaps, 0.0).max(initial=0.0)))
        given, still = bodies.impulses(touches, found.p)
        self._numbers["momentum"].append(
            float(np.abs(bodies.momentum(found.v - free) - still + given).max()) if len(k) else 0.0
        )
        self.felt = []
        if not len(k):
            return
        # a free root's first three dofs move the whole figure: they hold the force
        forces = np.einsum("krc,kr->kc", touches.rows[k, side, :, :3], found.p[k]) / dt
        own = touches.bodies[k, side]
        for body in np.unique(own).tolist():
            here = forces[own == body]
            sizes = np.linalg.norm(here, axis=1)
            if sizes.any():
                place = sizes @ touches.places[k][own == body] / sizes.sum()
                self.felt.append(Bump("", 0.0, dt, body - 1, bodies.offset(body, place), here.sum(axis=0)))
        work = bodies.work(touches, found.p, k, 1 - side, 0.5 * (self.v + found.v))
        self._work += work
        self._exchanged += abs(work)

    def things(self) -> tuple[Thing, ...]:
        """The bodies at every step so far."""
        bodies, out = self.bodies, []
        positions, orientations = (np.array([seen[k] for seen in self.track]) for k in (0, 1))
        for body in dict.fromkeys(shape.body for shape in bodies.shapes):
            shapes = tuple((s.kind, s.size, s.place, s.turn) for s in bodies.shapes if s.body == body)
            turns = rotations.continuous(orientations[:, body])
            name = bodies.names[body].removeprefix("scene/")
            out.append(Thing(name, shapes, positions[:, body], turns, float(bodies.masses[body])))
        return tuple(out)

    def report(self) -> dict[str, Any]:
        """What a run's report says under "scene"."""
        numbers = {name: np.array(values or [0.0]) for name, values in self._numbers.items()}
        return {
            "bodies": int((~self.bodies.is_figure).sum()),
            "contacts_mean": float(numbers["contacts"].mean()),
            "contact_residual_p95_m_s": float(np.percentile(numbers["residual"], 95)),
            "penetration_p95_m": float(np.percentile(numbers["penetration"], 95)),
            "penetration_max_m": float(numbers["penetration"].max()),
            "momentum_error_max_Ns": float(numbers["momentum"].max()),
            "energy_exchanged_J": self._exchanged,
            "energy_error_max_J": self._risen,
        }


def monotone(change: Array, jacobian: Array, M: Array) -> Array:
    """An answer to forces that never gives way against a force: B Jᵀ + s M⁻¹ Jᵀ with the least s ≥ 0 that does it.

    The answer of a figure is not symmetric, and now and then a push moves it against the push; no impulse would then
    part it from what it runs into.

    Args:
        change: B Jᵀ, shape (nv, m).
        jacobian: J, shape (m, nv).
        M: Mass matrix, shape (nv, nv).
    """
    own = jacobian @ change
    free = np.linalg.solve(M, jacobian.T)
    freely = jacobian @ free
    freely += 1e-9 * np.trace(freely) * np.eye(len(own))
    inverse = np.linalg.inv(np.linalg.cholesky(freely))
    least = float(np.linalg.eigvalsh(inverse @ (0.5 * (own + own.T)) @ inverse.T)[0])
    return change + (LEAST - least) * free if least < LEAST else change


def yielding(
    step: Step,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
    touched: Index,
    *,
    mass: float,
    largest: float,
) -> tuple[list[Objective], list[Constraint]]:
    """The lists of a figure that bodies touch: what stays exact on free ground gives way to them.

    The path of the center of mass becomes an objective that asks for no more than the largest acceleration: as a
    constraint it would push through walls with whatever force that takes. End effectors that touch, or whose neighbors
    do, weigh less: a foot that weighs tons crushes what lies below it.

    Args:
        step, objectives, constraints: The step and its lists.
        touched: Bodies of the model that touch something.
        mass: Of the figure [kg].
        largest: Of the acceleration of the center of mass [m/s²].
    """
    model = step.state.model
    chain = np.zeros(model.body_count, dtype=np.bool_)
    for body in touched.tolist():
        while model.parents[body] > 0:  # up to the root, which stays
            chain[body] = True
            body = int(model.parents[body])
    chain |= chain[model.parents]  # what hangs on it
    chain[list(model.roots)] = chain[0] = False
    share = np.where(chain, SOFT, 1.0)
    soft, kept = [], []
    for objective in objectives:
        quantity = objective.quantity
        if isinstance(quantity, PointAcceleration):
            points = model.point_indices(checked_points(quantity.points, objective.name), objective.name)
            own = np.repeat(share[model.point_body[points]], quantity.axes.shape[1])
            objective = replace(objective, weight=np.where(own < 1.0, SOFT_ENDS, 1.0) * np.asarray(objective.weight))
        elif isinstance(quantity, BodyAngularAcceleration) and quantity.body is None:
            objective = replace(objective, weight=np.repeat(share[1:], 3) * np.asarray(objective.weight))
        elif isinstance(quantity, JointTorque):
            dofs = slice(*quantity.dofs)
            objective = replace(objective, weight=np.asarray(objective.weight) / share[model.dof_body[dofs]])
        soft.append(objective)
    for constraint in constraints:
        if isinstance(constraint, Equal) and isinstance(constraint.quantity, ComAcceleration):
            target = np.asarray(constraint.target, dtype=np.float64)
            size = float(np.linalg.norm(target))
            part = min(1.0, largest / size) if size > 0.0 else 1.0
            soft.append(Objective(constraint.quantity, part * target, SOFT_GOAL * mass, constraint.label))
        else:
            kept.append(constraint)
    return soft, kept
