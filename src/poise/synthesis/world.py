"""Figures that move by goals alone: one step problem a step for all of them and all they touch.

    v⁺ = v + Δt a,    q⁺ = q ⊕ Δt v⁺

Source: [Jain2009]_ section 4; deviates where `methods.goals` and `synthesis.settling` say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from poise.body.character import Q_SIZES
from poise.body.holding import hold_points
from poise.body.thing import ball
from poise.core.errors import InvalidValue, UnknownName
from poise.core.typing import Array, Flags, Index
from poise.filter.forces import Force, Pull, Push
from poise.filter.hand import Hand
from poise.goals.lists import LITERAL, Weights, figure_control
from poise.goals.observation import BallState, Observation
from poise.goals.surroundings import EDGE, Faces, Scene
from poise.physics import State
from poise.physics.capsules import CapsulePairs
from poise.physics.from_character import model_of_scene
from poise.step import Constraint, Equal, Objective, StepResult
from poise.step.quantities import JointAcceleration, RootWrench
from poise.synthesis.beginning import require_outside
from poise.synthesis.contacts import NEAR, Grip, Grips, Spots, look, overlaps
from poise.synthesis.ending import require_followed
from poise.synthesis.figure import Figure, Start
from poise.synthesis.settings import Settings
from poise.synthesis.settling import Ahead, Settled, settle
from poise.synthesis.solving import Problem
from poise.synthesis.tally import Hit, Loss, Moved, Support, Tally, add_hit, hits_of, supports_of, tell_losses

NONE = np.zeros(0, dtype=np.int64)
LOOSE = 0.01
"""How much it matters that a body that lies stays where it touches: friction holds it, its muscles do not."""
LOOKS = 4
"""How often a step looks what may touch: again where bodies would meet that it did not watch."""


class Mover(Protocol):
    """Another simulation that moves a world's figures; see `synthesis.engine`.

    Attributes:
        rest: Time in which a step asks contacts that last to come to rest [s].
    """

    rest: float

    def __call__(self, world: World, result: StepResult) -> tuple[Array, Array]:
        """The state (q, v) after a step, given the step as it was solved."""
        ...

    def report(self) -> dict[str, float | str]:
        """What it saw, for the run's report."""
        ...


class World:
    """Figures, their controllers, and what stands around them; holds the changing state of a run.

    Attributes:
        figures: All of them; the first is the one that pushes and reports mean if nobody is named.
        scene: What stands around.
        model, state: Of everything that moves; complete for the present state only within a step.
        q, v: Coordinates (nq,) and velocities (nv,).
        time: [s].
        ball_roots: The model's body of each ball.
        ball_places: Which of the coordinates are the place of each ball's middle.
        touching: Contact points of the figures that touch a surface, shape (P,).
        forces: Contact forces of the last step on them, from surfaces and grips [N], shape (P, 3).
        hits, supports, losses: What happened, in order.
        tally: What was counted.
        watchers: Called with the world and each step as it was made.
        mover: Gives the state after a step instead of the step's own; then the step does not know of pushes.
        pushed: Body, place [m] and force [N] of each push in this step.
    """

    def __init__(self, starts: Sequence[Start], scene: Scene | None = None, settings: Settings | None = None) -> None:
        if not starts:
            raise InvalidValue("A world needs at least one figure.")
        names = [s.name for s in starts]
        if len(set(names)) < len(names):
            raise InvalidValue(f"Figures need names of their own; they are {', '.join(names)}.")
        self.scene, self.settings = scene or Scene(), settings or Settings()
        characters = [s.character for s in starts]
        balls = [ball(b.name, b.radius, b.mass) for b in self.scene.balls]
        self.capsules = CapsulePairs([*characters, *balls])
        self.model = model_of_scene(
            [*characters, *balls], 2 * NEAR, names=[*names, *(b.name for b in self.scene.balls)]
        )
        self._count = self.model.point_count - 2 * NEAR
        self._radii = self.model.point_radii[: self._count].copy()
        balls = [np.array([*b.place, 1.0, 0.0, 0.0, 0.0]) for b in self.scene.balls]
        self.q, self.v, self.time = np.concatenate([*(s.q for s in starts), *balls]), np.zeros(self.model.nv), 0.0
        self.state, self._other, self._mean = State(self.model).at(self.q, self.v), State(self.model), State(self.model)
        self.overlaps = overlaps(self.capsules, self.state)
        self.figures: list[Figure] = []
        point = coordinate = 0
        for k, start in enumerate(starts):
            self.figures.append(Figure(start, self.state, k, point, coordinate))
            point, coordinate = point + len(start.character.contact_points), coordinate + start.character.nq
        self._joints = np.zeros(self.model.nv, dtype=np.bool_)
        self._strength = np.zeros(self.model.nv)
        for figure in self.figures:
            self._joints[slice(*figure.body.joints)] = True
            self._strength[slice(*figure.body.joints)] = figure.strength
        self.ball_places = [slice(k, k + 3) for k in range(coordinate, self.model.nq, Q_SIZES["free"])]
        self.ball_roots = [int(self.model.roots[len(starts) + k]) for k in range(len(balls))]
        self._ball_dofs = [int(self.model.dof_first[root]) for root in self.ball_roots]
        self._free = [False] * len(balls)
        self.touching: Flags = np.zeros(self._count, dtype=np.bool_)
        self.forces = np.zeros((self._count, 3))
        self._grips = Grips(self.scene, self._radii)
        self.hits: list[Hit] = []
        self.supports: list[Support] = []
        self.losses: list[Loss] = []
        self.tally = Tally()
        self.watchers: list[Callable[[World, Moved], None]] = []
        self.mover: Mover | None = None
        self.pushed: list[tuple[int, Array, Array]] = []
        self.weights = self.settings.weights or (LITERAL if self.settings.is_literal else Weights())
        self._known: set[tuple[int, int]] = set()
        self._pushes: list[tuple[int, Force]] = []
        self._carried: list[tuple[int, Hand]] = []
        self._felt: set[int] = set()
        self._surface: Index | None = None
        self._stays = not any(s.movement is not None or np.isfinite(s.until) for s in self.scene.surfaces)
        self._faces = Faces.at(self.scene.surfaces, 0.0)
        require_outside(self, self._faces, self._radii)

    # --- what a user does to it while it runs

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

    def grip_anchor(self, grip: Grip, later: float) -> Array:
        """Where a grip's point belongs, so long after the present step began [m], shape (3,)."""
        return self._grips.anchor(grip, self.state, self.time - self.settings.dt + later)

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
        out: list[BallState] = []
        for spec, root, dof, is_free in zip(
            self.scene.balls, self.ball_roots, self._ball_dofs, self._free, strict=True
        ):
            out.append(BallState(spec, self.state.data.xpos[root].copy(), self.v[dof : dof + 3].copy(), is_free))
        return tuple(out)

    # --- one step

    def step(self) -> StepResult:
        """Move on by one step.

        Raises:
            StepInfeasible: if no solver got through, even with every bound soft.
        """
        s, dt = self.state, self.settings.dt
        after = self._faces if self._stays else Faces.at(self.scene.surfaces, self.time + dt)
        self._throw()
        s.move_to(self.q, self.v)
        self._startle_by_loss()
        flesh = self._grips.flesh(self.overlaps, self.capsules, s)
        spots = self._look(flesh)
        external = self._external()
        holding = self._holding()
        objectives, constraints, keeps = self._lists(spots)
        if holding != self._holding():
            flesh = self._grips.flesh(self.overlaps, self.capsules, s)
            spots = self._look(flesh)
        rest = dt if self.mover is None else max(self.mover.rest, dt)
        problem = Problem(
            s, dt, objectives, constraints, external, self.weights, self.tally, rest, self._joints, self._strength
        )
        ahead = Ahead(self.q, self.v, self.time, self._other, self._mean, after, self.capsules, flesh, self._radii)
        spots, known, drifts, settled = self._settled(problem, ahead, spots, keeps)
        if self.mover is None:
            require_followed(self, settled.v)
        moved = Moved(spots, settled.forces, self._ways(spots, settled), drifts, settled.gaps, settled.result)
        self._note(spots, settled, known)
        self.q, self.v = (settled.q, settled.v) if self.mover is None else self.mover(self, settled.result)
        self._faces = after
        self.time += dt
        for watch in self.watchers:
            watch(self, moved)
        return settled.result

    def _settled(
        self, problem: Problem, ahead: Ahead, spots: Spots, keeps: Array
    ) -> tuple[Spots, Flags, Array, Settled]:  # fmt: skip
        """The step with its contacts settled, looked at again while bodies would meet that are not watched.

        And while grips would tear: they open, and the step is made without them.

        Returns:
            The spots, which of them touched before, the ways of the matter they touch, and the step.
        """
        met, looks = NONE, 1
        while True:
            known = np.array([key in self._known for key in spots.keys], dtype=np.bool_)
            self._let_through(spots, known)
            drifts, is_last = self._drifts(spots, ahead.faces), looks == LOOKS
            settled = settle(problem, ahead, spots, drifts, self._grips, known, keeps, looks_again=not is_last)
            if len(settled.met) and not is_last:
                met, looks = np.union1d(met, settled.met), looks + 1
            elif torn := self._grips.slip(self._other, self.time, self.settings.dt):
                tell_losses(self, torn)
                ahead = replace(ahead, flesh=self._grips.flesh(self.overlaps, self.capsules, self.state))
            else:
                return spots, known, drifts, settled
            spots = self._look(ahead.flesh, met)

    # --- what stands around

    def _look(self, flesh: Array, met: Index = NONE) -> Spots:
        """What may touch in this step, pairs of bodies included that were found to meet."""
        grips = self._grips
        dt = self.settings.dt
        footing = grips.footing(self.time, dt)
        spots = look(self.state, self._faces, self.capsules, flesh, self._radii, grips.closed(), footing, dt, met)
        # friction for a whole step of 0.01 s would over-spin a ball that lands
        spots.friction[self.figures[-1].points.stop : self._count] = 0.0
        return spots

    def _let_through(self, spots: Spots, known: Flags) -> None:
        """Walls push from the side they face: a ball that comes out of one from behind touches nothing."""
        first = self.figures[-1].points.stop
        if first == self._count:
            return
        balls = (spots.others < 0) & (spots.points >= first) & (spots.points < self._count)
        out = spots.along(self.state.point_velocities) > 0.0
        spots.gaps[balls & ~known & out & (spots.gaps < -EDGE)] = np.inf

    def _holding(self) -> list[int]:
        """Points that hold or stand on something by name."""
        return [g.point for g in (*self._grips.all, *self._grips.feet)]

    def _throw(self) -> None:
        """Let go the balls whose time has come."""
        for k, spec in enumerate(self.scene.balls):
            if not self._free[k] and spec.is_thrown(self.time):
                self._free[k] = True
                dof = self._ball_dofs[k]
                self.v = self.v.copy()
                self.v[dof : dof + 3] = spec.velocity

    def _startle_by_loss(self) -> None:
        """Open grips on what is gone, and startle those who held it or stood on it."""
        delay = self.settings.delay
        tell_losses(self, self._grips.lose(self.time))
        if self._surface is None or self._faces.exists.all():
            return
        for figure in self.figures:
            own = np.flatnonzero(self.touching[figure.points]) + figure.points.start
            if (~self._faces.exists[self._surface[own]]).any() and not figure.is_delayed(self.time):
                figure.startle(self.time, delay)

    def _drifts(self, spots: Spots, after: Faces) -> Array:
        """Way of the matter that spots touch in this step [m], shape (S, 3)."""
        out = np.zeros((len(spots.points), 3))
        if not self._stays:
            points = self.state.points
            out[: self._count] = self._faces.carried(after, points[: self._count], spots.surface)
            again = spots.points[spots.at_corners]
            out[spots.at_corners] = self._faces.carried(after, points[again], spots.corners)
        out[spots.footing.points] = spots.footing.after - spots.footing.places
        return out

    def _external(self) -> Array:
        """Generalized force of the pushes; the first step of each starts the reaction delay."""
        external = np.zeros(self.model.nv)
        self.pushed.clear()
        for k, (who, push) in enumerate(self._pushes):
            if not push.is_on(self.time):
                continue
            figure = self.figures[who]
            body = figure.body.root + push.body_of(figure.character)
            place = self.state.data.xipos[body].copy()
            if push.offset is not None:
                place = self.state.body_place(body, push.offset)
            velocity, _ = self.state.body_point_motion(body, place)
            force = push.force_at(place, velocity, self.time, float(self.model.body_masses[body]))
            self.pushed.append((body, place, force))
            if self.mover is None:
                external += self.state.external_torque(body, place, force)
            if k not in self._felt:
                self._felt.add(k)
                figure.startle(self.time, self.settings.delay)
        self._carried = [(k, hand) for k, hand in self._carried if hand.is_held]
        for k, hand in self._carried:
            self._free[k] = True
            body = self.ball_roots[k]
            place, velocity = self.state.data.xipos[body].copy(), self.v[self._ball_dofs[k] :][:3]
            force = hand.force_at(place, velocity, self.time, self.scene.balls[k].mass)
            self.pushed.append((body, place, force))
            if self.mover is None:
                external += self.state.external_torque(body, place, force)
        return external

    # --- goals

    def _observation(self, who: int, spots: Spots, balls: tuple[BallState, ...]) -> Observation:
        figure = self.figures[who]
        return Observation(
            figure.body, self.state, self.time, self.settings.dt, self.time - figure.controller.entered, self.touching,
            spots.gaps[: self._count], self.forces, figure.is_delayed(self.time), self.settings.is_literal,
            scene=self.scene, balls=balls,
            others={f.name: f.body for f in self.figures if f is not figure},
            grips=self._grips.of(who), clip=figure.clip,
            memory=figure.controller.memory,
        )  # fmt: skip

    def _lists(self, spots: Spots) -> tuple[list[Objective], list[Constraint], Array]:
        """Goals and bounds of everybody, and how much it matters that points stay, shape (point_count,)."""
        objectives: list[Objective] = []
        constraints: list[Constraint] = []
        keeps = np.ones(self.model.point_count)
        keeps[self.figures[-1].points.stop : self._count] = 0.0  # a ball may roll
        balls = self.balls()
        settings = self.settings
        for who, figure in enumerate(self.figures):
            observed = self._observation(who, spots, balls)
            controller = figure.controller
            controller.advance(observed)
            for part in controller.releases():
                keeps[observed.part(part)] = LOOSE if part == "body" else 0.0
                self._grips.open(who, observed.named(part))
            for part in controller.grips():
                self._close(who, observed.named(part), observed)
            goals, required = figure.objectives(observed, settings.responsiveness)
            limits = figure.limits(self.q, self.v, self.weights.bounds)
            muscles = figure.muscles(
                self.time, self.v, is_limited=settings.torque_limits, band=settings.band,
                is_literal=settings.is_literal, is_stopped=self.mover is None,
            )  # fmt: skip
            more, bounds = figure_control(observed, goals, required, muscles, self.weights)
            objectives += more
            constraints += bounds
            constraints += figure.bounds(limits, self.v, settings.dt, self.weights.bounds)
        for k, dof in enumerate(self._ball_dofs):
            if self._free[k]:
                constraints.append(Equal(RootWrench(of=len(self.figures) + k), 0.0, "ball"))
            else:
                constraints.append(Equal(JointAcceleration((dof, dof + 6)), 0.0, "ball"))
        return objectives, constraints, keeps

    def _close(self, who: int, part: str, observed: Observation) -> None:
        """Close a hand that has arrived at what it reaches for."""
        what = observed.memory.get(f"{part} reaches")
        if what is None or part in self._grips.of(who) or self._grips.is_tired(who, part, self.time):
            return
        name, _, theirs = str(what).partition(":")
        points, at = observed.part(part), (self.state, self.time)
        if part.endswith("_foot"):
            own, first = self.figures[who].character, self.figures[who].points.start
            self._grips.stand(who, part, [first + p for p in hold_points(own, part)], name, *at)
            return
        if theirs:
            hand = self.figure(name).body.hands[theirs.removesuffix("_hand")]
            grip = self._grips.take_hand(who, part, points, str(what), hand, *at)
        else:
            grip = self._grips.take_hold(who, part, points, name, *at)
        if grip is not None:
            self.touching[grip.point] = False
            self.supports.append(Support(self.figures[who].name, part, grip.what, self.time))

    # --- what is remembered

    def _ways(self, spots: Spots, settled: Settled) -> Array:
        """Way of each spot's point in this step [m], shape (S, 3); none is told of pairs of bodies."""
        ways = np.zeros((len(spots.points), 3))
        ways[: self._count] = self._other.centers[: self._count] - self.state.centers[: self._count]
        round_ones = np.flatnonzero(self._radii > 0.0)
        # a sphere rolls: where it touches is not where its middle goes
        ways[round_ones] = self.settings.dt * (settled.jacobians[round_ones] @ settled.v)
        ways[spots.at_corners] = ways[spots.points[spots.at_corners]]
        return ways

    def _note(self, spots: Spots, settled: Settled, known: Flags) -> None:
        count, on, dt = self._count, settled.touches, self.settings.dt
        again = spots.points[spots.at_corners]
        self.forces = settled.forces[:count].copy()
        np.add.at(self.forces, again, settled.forces[spots.at_corners])
        self._grips.note(settled.grip_forces, self.state, self._other, self.time, dt)
        for grip in self.grips:
            self.forces[grip.point] = grip.force
        self._surface = spots.surface
        self.touching = on[:count].copy()
        np.logical_or.at(self.touching, again, on[spots.at_corners])
        self._known = {key for key, touches in zip(spots.keys, on.tolist(), strict=True) if touches}
        new = np.flatnonzero(on & ~known)
        supports_of(self, spots, new)
        for hit in hits_of(self, spots, settled.forces):
            if add_hit(self.hits, hit):
                self.figure(hit.figure).startle(self.time, self.settings.delay)
        wrench = self.state.data.inverse_dynamics(settled.result.a) - self._reaction(spots, settled) - settled.external
        for figure in self.figures:
            first = figure.dofs.start
            joints = slice(first + 6, figure.dofs.stop)
            figure.root_wrench = wrench[first : first + 6]  # by recursive Newton-Euler, a path of its own
            speed = (self.v + dt * settled.result.a)[joints]
            torque = settled.result.torque[joints] + figure.damping * speed
            figure.remember(torque, is_limited=self.settings.torque_limits)

    def _reaction(self, spots: Spots, settled: Settled) -> Array:
        """Generalized force of all contacts and grips, shape (nv,)."""
        held, holding = self._grips.points
        points, others = np.concatenate([spots.points, held]), np.concatenate([spots.others, holding])
        forces = np.concatenate([settled.forces, settled.grip_forces])
        loaded = np.flatnonzero(forces.any(axis=1))
        paired = loaded[others[loaded] >= 0]
        nv = settled.jacobians.shape[-1]
        on_points = forces[loaded].ravel() @ settled.jacobians[points[loaded]].reshape(-1, nv)
        return on_points - forces[paired].ravel() @ settled.jacobians[others[paired]].reshape(-1, nv)
