"""Figures that move by goals alone: one step problem a step for all of them and all they touch.

    v⁺ = v + Δt a,    q⁺ = q ⊕ Δt v⁺

A step goes: state → contact candidates → observations → lists of objectives and constraints → `settle`, which solves
them until the contacts hold → new state and a `WorldStep`.

Source: [Jain2009]_ section 4; deviates where `goals.lists` and `synthesis.settling` say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from poise.body.character import Q_SIZES, ball
from poise.core.errors import InvalidValue, PoiseError, UnknownName
from poise.core.typing import Array, Flags, Index
from poise.filter.forces import Force, Hand, Pull, Push
from poise.goals.lists import LITERAL, Weights
from poise.goals.observation import BallState, Observation
from poise.goals.surroundings import Faces, Scene
from poise.physics import State
from poise.physics.collisions import CapsulePairs
from poise.physics.mujoco_backend import model_of_scene
from poise.step import Constraint, Equal, Objective, StepResult
from poise.step.quantities import JointAcceleration, RootWrench
from poise.synthesis.contacts import (
    NEAR,
    Candidates,
    drifts_of,
    find_candidates,
    overlaps,
    reaction,
    ways_of,
    without_passing_balls,
)
from poise.synthesis.figure import Figure, Settings, Start
from poise.synthesis.grips import Grip, Grips
from poise.synthesis.records import (
    Applied,
    Cast,
    FigureRecord,
    Hit,
    Loss,
    Moved,
    Mover,
    SolverCounts,
    Support,
    WorldStep,
    blows_of,
    hits_of,
    losses_of,
    require_followed,
    require_outside,
    supports_of,
    why_it_ended,
    with_hit,
)
from poise.synthesis.settling import Integrator, Problem, Settled, settle

NONE = np.zeros(0, dtype=np.int64)
LOOSE = 0.01
"""How much it matters that a body that lies stays where it touches: friction holds it, its muscles do not."""
SEARCHES = 4
"""How often a step searches contact candidates: again where bodies would meet that were none."""


class Solved(NamedTuple):
    """A step that is solved, before anything moves.

    Attributes:
        settled: The step with its contacts.
        candidates, ways, drifts: Where bodies may touch, and how the two sides move there.
        applied: Pushes.
        later: Surfaces after the step.
    """

    settled: Settled
    candidates: Candidates
    applied: tuple[Applied, ...]
    ways: Array
    drifts: Array
    later: Faces


class World:
    """Figures, their controllers, and what stands around them; holds the changing state of a run.

    Attributes:
        cast: What stays the same: scene, model, figures.
        figures: All of them; the first is the one that pushes and reports mean if nobody is named.
        state: Of everything that moves; complete for the present state only within a step.
        q, v: Coordinates (nq,) and velocities (nv,).
        time: [s].
        ball_places: Which of the coordinates are the place of each ball's middle.
        touching: Contact points of the figures that touch a surface, shape (P,).
        forces: Contact forces of the last step on them, from surfaces and grips [N], shape (P, 3).
        hits, supports, losses: What happened, in order.
        counts: What the solver did.
        watchers: Called with the record of each step.
        mover: Gives the state after a step instead of the step's own; then the step does not know of pushes.
    """

    def __init__(self, starts: Sequence[Start], scene: Scene | None = None, settings: Settings | None = None) -> None:
        if not starts:
            raise InvalidValue("A world needs at least one figure.")
        names = [s.name for s in starts]
        if len(set(names)) < len(names):
            raise InvalidValue(f"Each figure needs a name of its own; they are {', '.join(names)}.")
        scene, self.settings = scene or Scene(), settings or Settings()
        bodies = [*(s.character for s in starts), *(ball(b.name, b.radius, b.mass) for b in scene.balls)]
        capsules = CapsulePairs(bodies)
        model = model_of_scene(bodies, 2 * NEAR, names=[*names, *(b.name for b in scene.balls)])
        self._count = model.point_count - 2 * NEAR
        places = [np.array([*b.place, 1.0, 0.0, 0.0, 0.0]) for b in scene.balls]
        self.q, self.v, self.time = np.concatenate([*(s.q for s in starts), *places]), np.zeros(model.nv), 0.0
        self.state, self._other, self._mean = State(model).at(self.q, self.v), State(model), State(model)
        figures: list[Figure] = []
        point = coordinate = 0
        for k, start in enumerate(starts):
            figures.append(Figure(start, self.state, k, point, coordinate))
            point, coordinate = point + len(start.character.contact_points), coordinate + start.character.nq
        for start, figure in zip(starts, figures, strict=True):
            if start.begins is not None:
                self.q[figure.coordinates], self.v[figure.dofs] = start.begins
        self.state.at(self.q, self.v)
        radii, roots = model.point_radii[: self._count].copy(), model.roots[len(starts) : len(bodies)]
        ball_roots = tuple(int(root) for root in roots)
        touched = overlaps(capsules, self.state)
        self.cast = Cast(scene, model, tuple(figures), capsules, touched, radii, ball_roots)
        self.ball_places = [slice(k, k + 3) for k in range(coordinate, model.nq, Q_SIZES["free"])]
        self.touching: Flags = np.zeros(self._count, dtype=np.bool_)
        self.forces = np.zeros((self._count, 3))
        self.hits: list[Hit] = []
        self.supports: list[Support] = []
        self.losses: list[Loss] = []
        self.counts = SolverCounts()
        self.watchers: list[Callable[[WorldStep], None]] = []
        self.mover: Mover | None = None
        self.weights = self.settings.weights or (LITERAL if self.settings.is_literal else Weights())
        self._joints = np.zeros(model.nv, dtype=np.bool_)
        self._strength = np.zeros(model.nv)
        for figure in figures:
            self._joints[slice(*figure.body.joints)] = True
            self._strength[slice(*figure.body.joints)] = figure.strength
        self._ball_dofs = [int(model.dof_first[root]) for root in ball_roots]
        self._free = [False] * len(ball_roots)
        self._grips = Grips(scene, radii, {b.name: point + k for k, b in enumerate(scene.balls)})
        self._were_touching: set[tuple[int, int]] = set()
        self._pushes: list[tuple[int, Force]] = []
        self._carried: list[tuple[int, Hand]] = []
        self._felt: set[int] = set()
        self._surface: Index | None = None
        self._last: StepResult | None = None
        self._is_at_rest = not any(s.movement is not None or np.isfinite(s.until) for s in scene.surfaces)
        self._faces = Faces.at(scene.surfaces, 0.0)
        require_outside(self.cast, self.state, self._faces)

    # --- what a user does to it while it runs

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures."""
        return self.cast.figures

    @property
    def scene(self) -> Scene:
        """What stands around."""
        return self.cast.scene

    def figure(self, name: str | None = None) -> Figure:
        """The figure with this name; the first by default.

        Raises:
            InvalidValue: if nobody has this name.
        """
        for figure in self.figures:
            if name is None or figure.name == name:
                return figure
        raise InvalidValue(f"No figure {name!r}. Figures: {', '.join(f.name for f in self.figures)}.")

    def push(self, push: Force, figure: str | None = None) -> None:
        """Add a push or a pull on the first figure, the one named, or the one its body begins with: "child.chest"."""
        named, dot, body = push.body.partition(".")
        is_named = dot and any(f.name == named for f in self.figures)
        if figure is None and is_named and isinstance(push, Push | Pull):
            figure, push = named, replace(push, body=body)
        who = self.figure(figure)
        try:
            push.body_of(who.character)
        except UnknownName as error:
            names = ", ".join(f.name for f in self.figures)
            is_figure = dot and figure is None and len(self.figures) > 1
            raise UnknownName(f"No figure {named!r}. Figures: {names}. {error}" if is_figure else str(error)) from error
        self._pushes.append((self.figures.index(who), push))

    def carry(self, hand: Hand, ball: str) -> None:
        """Add a hand that holds a ball, which is free from then on: it falls when it is let go.

        Raises:
            InvalidValue: if there is no such ball.
        """
        names = [b.name for b in self.scene.balls]
        if ball not in names:
            raise InvalidValue(f"No ball {ball!r}. Balls: {', '.join(names) or 'none'}.")
        self._carried.append((names.index(ball), hand))

    @property
    def grips(self) -> list[Grip]:
        """Closed hands and feet."""
        return self._grips.all

    @property
    def pushes(self) -> tuple[Force, ...]:
        """All pushes and pulls so far."""
        return tuple(push for _, push in self._pushes)

    @property
    def push_owners(self) -> tuple[int, ...]:
        """Index of the figure that each of them acts on."""
        return tuple(who for who, _ in self._pushes)

    def balls(self) -> tuple[BallState, ...]:
        """The balls as they are now."""
        data, v = self.state.data, self.v
        return tuple(
            BallState(ball, data.xpos[root].copy(), v[dof : dof + 3].copy(), is_free)
            for ball, root, dof, is_free in zip(
                self.scene.balls, self.cast.ball_roots, self._ball_dofs, self._free, strict=True
            )
        )

    def why_it_ended(self, error: PoiseError) -> str:
        """Why the run ended in the step after this time: what was seen, and what to change."""
        dt = self.settings.dt
        blows = blows_of(self.figures, self.state, self.balls(), self.hits, self.time, dt)
        return why_it_ended(error, self.time, [(self.figures[who], push) for who, push in self._pushes], blows)

    # --- one step

    def step(self) -> StepResult:
        """Move on by one step.

        Raises:
            StepInfeasible: if no solver got through, even with every bound soft.
        """
        solved = self.solve()
        if self.mover is None:
            return self.move(solved, Moved(solved.settled.q, solved.settled.v, self.forces))
        after = self.v + self.settings.dt * solved.settled.result.a
        return self.move(solved, self.mover(self.torque, after, solved.applied, self.settings.dt))

    @property
    def torque(self) -> Array:
        """What the muscles of all figures gave in the step last solved, zero elsewhere [N m], shape (nv,)."""
        torque = np.zeros(self.cast.model.nv)
        for figure in self.figures:
            assert figure.torque is not None
            torque[slice(*figure.body.joints)] = figure.torque
        return torque

    def solve(self) -> Solved:
        """The first half of a step: what the muscles do."""
        state, dt = self.state, self.settings.dt
        later = self._faces if self._is_at_rest else Faces.at(self.scene.surfaces, self.time + dt)
        self._throw_balls()
        state.move_to(self.q, self.v)
        self._lose_supports()
        allowed = self._grips.allowed_overlaps(self.cast.overlaps, self.cast.capsules, state)
        candidates = self._candidates(allowed)
        applied = self._applied()
        holding, balls = self._grips.holding, self.balls()
        observations = [self._observe(who, candidates, balls) for who in range(len(self.figures))]
        stay_weights = self._change_contacts(observations)
        if holding != self._grips.holding:
            allowed = self._grips.allowed_overlaps(self.cast.overlaps, self.cast.capsules, state)
            candidates = self._candidates(allowed)
        objectives, constraints = self._lists(observations)
        external = np.zeros(self.cast.model.nv)
        if self.mover is None:
            for body, place, force in applied:
                external += state.external_torque(body, place, force)
        rest = dt if self.mover is None else max(self.mover.rest, dt)
        problem = Problem(
            state, dt, objectives, constraints, external, self.weights, self.counts, rest, self._joints, self._strength
        )
        integrator = Integrator(
            self.q, self.v, self.time, self._other, self._mean, later, self.cast.capsules, allowed, self.cast.radii
        )
        candidates, known, drifts, settled = self._settle(problem, integrator, candidates, stay_weights)
        if self.mover is None:
            require_followed(self.figures, settled.v, self.time, dt)
        self._accept(candidates, settled, known)
        ways = ways_of(candidates, state.centers, self._other.centers, dt * settled.velocities, self.cast.radii)
        return Solved(settled, candidates, tuple(applied), ways, drifts, later)

    def move(self, solved: Solved, moved: Moved) -> StepResult:
        """The second half: go on where the figures have come to."""
        settled, dt = solved.settled, self.settings.dt
        self.q, self.v = moved.q, moved.v
        self.forces = moved.forces[: self._count].copy()
        self._faces, self.time = solved.later, self.time + dt
        record = WorldStep(
            self.cast, self.time, dt, self.state, self.v,
            tuple(FigureRecord(f.torque, f.root_wrench, f.effort, f.is_delayed(self.time)) for f in self.figures),
            solved.candidates, settled.forces, solved.ways, solved.drifts, settled.gaps, self.touching,
            self.forces, tuple(self._grips.all), solved.applied, settled.result,
        )  # fmt: skip
        for watch in self.watchers:
            watch(record)
        return settled.result

    # --- contacts

    def _candidates(self, allowed: Array, met: Index = NONE) -> Candidates:
        """What may touch in this step, pairs of bodies included that were found to meet."""
        grips, cast, dt = self._grips, self.cast, self.settings.dt
        found = find_candidates(
            self.state, self._faces, cast.capsules, allowed, cast.radii, grips.closed(), grips.footing(self.time, dt),
            dt, met,
        )  # fmt: skip
        # friction for a whole step of 0.01 s would over-spin a ball that lands
        found.friction[self.figures[-1].points.stop : self._count] = 0.0
        return found

    def _settle(
        self, problem: Problem, integrator: Integrator, candidates: Candidates, stay_weights: Array
    ) -> tuple[Candidates, Flags, Array, Settled]:
        """The step with its contacts settled; searched again while bodies would meet that were not candidates.

        And while grips would tear: they open, and the step is made without them.

        Returns:
            The candidates, which of them touched before, the ways of the matter they touch, and the step.
        """
        met, searches, balls = NONE, 1, slice(self.figures[-1].points.stop, self._count)
        while True:
            known = np.array([key in self._were_touching for key in candidates.keys], dtype=np.bool_)
            candidates = without_passing_balls(candidates, balls, known, problem.state.point_velocities)
            drifts = drifts_of(candidates, problem.state.points, self._faces, integrator.faces)
            is_last = searches == SEARCHES
            settled = settle(
                problem, integrator, candidates, drifts, self._grips, known, stay_weights, before=self._last,
                looks_again=not is_last,
            )  # fmt: skip
            self._last = settled.result
            if len(settled.met) and not is_last:
                met, searches = np.union1d(met, settled.met), searches + 1
            elif torn := self._grips.slip(self._other, self.time, self.settings.dt):
                self._lose(losses_of(self.cast, torn, self.time))
                allowed = self._grips.allowed_overlaps(self.cast.overlaps, self.cast.capsules, self.state)
                integrator = replace(integrator, allowed=allowed)
            else:
                return candidates, known, drifts, settled
            candidates = self._candidates(integrator.allowed, met)

    # --- pushes, balls and losses

    def _throw_balls(self) -> None:
        """Let go the balls whose time has come."""
        for k, spec in enumerate(self.scene.balls):
            if not self._free[k] and spec.is_thrown(self.time):
                self._free[k] = True
                dof = self._ball_dofs[k]
                self.v = self.v.copy()
                self.v[dof : dof + 3] = spec.velocity

    def _lose_supports(self) -> None:
        """Open grips on what is gone, and start the delay of those who held it or stood on it."""
        self._lose(losses_of(self.cast, self._grips.lose(self.time), self.time))
        if self._surface is None or self._faces.exists.all():
            return
        for figure in self.figures:
            own = np.flatnonzero(self.touching[figure.points]) + figure.points.start
            if (~self._faces.exists[self._surface[own]]).any() and not figure.is_delayed(self.time):
                figure.start_delay(self.time, self.settings.delay)

    def _lose(self, losses: Sequence[Loss]) -> None:
        """List losses, and start the delay of who held or was held."""
        self.losses += losses
        for loss in losses:
            for figure in self.figures:
                if figure.name in (loss.figure, loss.what.partition(":")[0]):
                    figure.start_delay(self.time, self.settings.delay)

    def _applied(self) -> list[Applied]:
        """Forces of pushes and of a user's hands; the first step of a push starts the reaction delay."""
        out: list[Applied] = []
        for k, (who, push) in enumerate(self._pushes):
            if not push.is_on(self.time):
                continue
            figure = self.figures[who]
            body = figure.body.root + push.body_of(figure.character)
            place = self.state.data.xipos[body].copy()
            if push.offset is not None:
                place = self.state.body_place(body, push.offset)
            velocity, _ = self.state.body_point_motion(body, place)
            mass = float(self.cast.model.body_masses[body])
            out.append(Applied(body, place, push.force_at(place, velocity, self.time, mass)))
            if k not in self._felt:
                self._felt.add(k)
                figure.start_delay(self.time, self.settings.delay)
        self._carried = [(k, hand) for k, hand in self._carried if hand.is_held]
        for k, hand in self._carried:
            self._free[k] = True
            body = self.cast.ball_roots[k]
            place, velocity = self.state.data.xipos[body].copy(), self.v[self._ball_dofs[k] :][:3]
            out.append(Applied(body, place, hand.force_at(place, velocity, self.time, self.scene.balls[k].mass)))
        return out

    # --- goals

    def _observe(self, who: int, candidates: Candidates, balls: tuple[BallState, ...]) -> Observation:
        """What a figure observes now."""
        figure, settings = self.figures[who], self.settings
        return Observation(
            figure.body, self.state, self.time, settings.dt, self.time - figure.controller.entered, self.touching,
            candidates.gaps[: self._count], self.forces, figure.is_delayed(self.time), settings.is_literal,
            scene=self.scene, balls=balls, others={f.name: f.body for f in self.figures if f is not figure},
            grips=self._grips.of(who), clip=figure.clip, nearest=candidates.surface, memory=figure.controller.memory,
        )  # fmt: skip

    def _change_contacts(self, observations: Sequence[Observation]) -> Array:
        """Advance the controllers, open and close hands; how much it matters that points stay, shape (point_count,)."""
        weights = np.ones(self.cast.model.point_count)
        weights[self.figures[-1].points.stop : self._count] = 0.0  # a ball may roll
        for who, (figure, observed) in enumerate(zip(self.figures, observations, strict=True)):
            figure.controller.advance(observed)
            for part in figure.controller.releases():
                weights[observed.points_of(part)] = LOOSE if part == "body" else 0.0
                self._grips.open(who, observed.named(part))
            for part in figure.controller.grips():
                grip = self._grips.close(who, observed.named(part), observed)
                if grip is not None:
                    self.touching[grip.point] = False
                    self.supports.append(Support(figure.name, grip.part, grip.what, self.time))
        return weights

    def _lists(self, observations: Sequence[Observation]) -> tuple[list[Objective], list[Constraint]]:
        """Objectives and constraints of all figures and balls."""
        objectives: list[Objective] = []
        constraints: list[Constraint] = []
        for figure, observed in zip(self.figures, observations, strict=True):
            more, bounds = figure.lists(
                observed, self.q, self.v, self.settings, self.weights, is_stopped=self.mover is None
            )
            objectives += more
            constraints += bounds
        for k, dof in enumerate(self._ball_dofs):
            free = Equal(RootWrench(of=len(self.figures) + k), 0.0, "ball")
            held = Equal(JointAcceleration((dof, dof + 6)), 0.0, "ball")
            constraints.append(free if self._free[k] else held)
        return objectives, constraints

    # --- the end of a step

    def _accept(self, candidates: Candidates, settled: Settled, known: Flags) -> None:
        """Keep what the step did: touching points, forces, events, torques."""
        count, on, dt = self._count, settled.touches, self.settings.dt
        again = candidates.points[candidates.at_corners]
        self.forces = settled.forces[:count].copy()
        np.add.at(self.forces, again, settled.forces[candidates.at_corners])
        self._grips.note(settled.grip_forces, self.state, self._other, self.time, dt)
        for grip in self._grips.all:
            self.forces[grip.point] = grip.force
        self._surface = candidates.surface
        self.touching = on[:count].copy()
        np.logical_or.at(self.touching, again, on[candidates.at_corners])
        self._were_touching = {key for key, touches in zip(candidates.keys, on.tolist(), strict=True) if touches}
        new = np.flatnonzero(on & ~known)
        self.supports += supports_of(self.cast, candidates, new, self.time, self.supports)
        for hit in hits_of(self.cast, candidates, settled.forces, self.time, dt):
            self.hits, has_begun = with_hit(self.hits, hit)
            if has_begun:
                self.figure(hit.figure).start_delay(self.time, self.settings.delay)
        acts = reaction(self.state, candidates, settled.forces, self._grips.points, settled.grip_forces)
        wrench = self.state.data.inverse_dynamics(settled.result.a) - acts - settled.external
        for figure in self.figures:
            first = figure.dofs.start
            joints = slice(first + 6, figure.dofs.stop)
            figure.root_wrench = wrench[first : first + 6]  # by recursive Newton-Euler, a path of its own
            speed = (self.v + dt * settled.result.a)[joints]
            torque = settled.result.torque[joints] + figure.damping * speed
            figure.remember(torque, is_limited=self.settings.torque_limits)
