"""Figures that move by goals alone: one step problem a step for all of them and all they touch.

    v⁺ = v + Δt a,    q⁺ = q ⊕ Δt v⁺

Source: [Jain2009]_ section 4. Deviates where `methods.goals` says so, and in contacts: one is made when a point would go
below its surface in this step, and the step is solved again; it ends when the point leaves by more than a hair, not at
any velocity; a contact that would break while it carries a force is dropped and the step solved again without it. What
a point's way has beyond its acceleration (it turns with its body, and surfaces move) is measured after each solve and
enters the next, so that no point sinks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from poise.character.thing import ball
from poise.dynamics import State
from poise.dynamics.capsules import CapsulePairs
from poise.dynamics.from_character import model_of_scene
from poise.errors import InvalidValue, StepInfeasible
from poise.methods.goals.lists import LITERAL, Held, Touching, Weights, contact_control, figure_control, relative
from poise.methods.goals.surroundings import Faces, Scene
from poise.methods.goals.view import Thing, View
from poise.sim.forces import Pull, Push
from poise.step import AtLeast, Constraint, Contacts, Equal, Objective, Step, StepResult, Within, solve_step
from poise.step.quantities import JointAcceleration, RootWrench
from poise.synthesis.contact import NEAR, Grip, Spots, gaps_after, look, overlaps
from poise.synthesis.figure import Figure, Start
from poise.synthesis.settings import Settings

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

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
HELPED = 1e-3
"""A point that friction moves along by more than this in a step is solved again as one that slides [J]."""
CLOSE = 0.02
"""A hand this near to the surface of a hold closes [m]."""
CLOSING = 0.2
"""Speed at which hands that took one another draw together [m/s]."""
PALM = 0.07
"""Hands whose middles are this near take one another [m]."""
SLIP_OUT = 0.03
"""A grip that has drifted so far has lost what it held [m]."""
ROUNDS, ROLLBACKS = 16, 5
"""Solves of one step at most, and how many of them may still drop a contact."""
MOST_BEND = 0.03
"""What the way of a gap has beyond its velocity counts up to this [m]: in an impact it may know no bound."""
SOFT = {"torque limit": 1.0, "reaction delay": 1.0, "ground": 1e4, "grip": 1e4}
"""Weights of hard rows where they cannot all hold; other musts get `SOFT_MUST`."""
SOFT_MUST = 1e3


@dataclass
class Tally:
    """What happened, counted.

    Attributes:
        solves, rounds, rollbacks: Step problems solved, those that were solved again, contacts that were rolled back.
        failures: Steps that no list, hard or soft, could solve as given: their bounds were made soft.
        slack: How far hard rows were missed where they could not all hold, by name.
        primal, dual, dynamics: Largest residuals of the solver.
        conflicts: Steps that were changed to be solvable, by what was changed.
    """

    solves: int = 0
    failures: int = 0
    rounds: int = 0
    rollbacks: int = 0
    slack: dict[str, float] = field(default_factory=dict)
    primal: float = 0.0
    dual: float = 0.0
    dynamics: float = 0.0
    conflicts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Hit:
    """A ball that struck a figure: what, whom, where, when [s], and the momentum that changed hands [N s]."""

    ball: str
    figure: str
    body: str
    time: float
    impulse: float


@dataclass(frozen=True)
class Support:
    """A hand or another part that came to rest on something: who, which body, on what, when [s]."""

    figure: str
    body: str
    what: str
    time: float


@dataclass(frozen=True)
class Moved:
    """One step as it was made, for those who look on.

    Attributes:
        spots: What might have touched.
        forces: On each spot's point [N], shape (S, 3).
        ways, drifts: Way of each spot's point, and of the matter it touches [m], shape (S, 3).
        gaps: Of each spot after the step [m], shape (S,).
        result: The solved step.
    """

    spots: Spots
    forces: Array
    ways: Array
    drifts: Array
    gaps: Array
    result: StepResult


class Mover(Protocol):
    """Another simulation that moves a world's figures; see `synthesis.engine`."""

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
        touching: Contact points of the figures that touch a surface, shape (P,).
        forces: Contact forces of the last step on them, from surfaces and grips [N], shape (P, 3).
        grips: Closed hands and feet.
        hits, supports: What happened, in order.
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
        things = [ball(b.name, b.radius, b.mass) for b in self.scene.balls]
        self.capsules = CapsulePairs([*characters, *things])
        self.model = model_of_scene(
            [*characters, *things], 2 * NEAR, names=[*names, *(b.name for b in self.scene.balls)]
        )
        self._count = self.model.point_count - 2 * NEAR
        self._radii = self.model.point_radii[: self._count].copy()
        balls = [np.array([*b.place, 1.0, 0.0, 0.0, 0.0]) for b in self.scene.balls]
        self.q, self.v, self.time = np.concatenate([*(s.q for s in starts), *balls]), np.zeros(self.model.nv), 0.0
        self.state, self._other = State(self.model).at(self.q, self.v), State(self.model)
        self.overlaps = overlaps(self.capsules, self.state)
        self.figures: list[Figure] = []
        point = coordinate = 0
        for k, start in enumerate(starts):
            self.figures.append(Figure(start, self.state, k, point, coordinate))
            point, coordinate = point + len(start.character.contact_points), coordinate + start.character.nq
        self._ball_roots = [int(self.model.roots[len(starts) + k]) for k in range(len(things))]
        self._ball_dofs = [int(self.model.dof_first[root]) for root in self._ball_roots]
        self._free = [False] * len(things)
        self.touching: Flags = np.zeros(self._count, dtype=np.bool_)
        self.forces = np.zeros((self._count, 3))
        self.grips: list[Grip] = []
        self.hits: list[Hit] = []
        self.supports: list[Support] = []
        self.tally = Tally()
        self.watchers: list[Callable[[World, Moved], None]] = []
        self.mover: Mover | None = None
        self.pushed: list[tuple[int, Array, Array]] = []
        self.weights = self.settings.weights or (LITERAL if self.settings.is_literal else Weights())
        self._touched: set[tuple[int, int]] = set()
        self._pushes: list[tuple[int, Push | Pull]] = []
        self._felt: set[int] = set()
        self._owner = [k for k, figure in enumerate(self.figures) for _ in range(len(figure.character.bodies))]
        self._stays = not any(s.movement is not None or np.isfinite(s.until) for s in self.scene.surfaces)
        self._faces = Faces.at(self.scene.surfaces, 0.0)

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

    def push(self, push: Push | Pull, figure: str | None = None) -> None:
        """Add a push or a pull."""
        who = self.figure(figure)
        push.body_of(who.character)
        self._pushes.append((self.figures.index(who), push))

    @property
    def pushes(self) -> tuple[Push | Pull, ...]:
        """All pushes and pulls so far."""
        return tuple(push for _, push in self._pushes)

    def things(self) -> tuple[Thing, ...]:
        """The balls as they are now."""
        out: list[Thing] = []
        for spec, root, dof, is_free in zip(
            self.scene.balls, self._ball_roots, self._ball_dofs, self._free, strict=True
        ):
            out.append(Thing(spec, self.state.data.xpos[root].copy(), self.v[dof : dof + 3].copy(), is_free))
        return tuple(out)

    # --- one step

    def step(self) -> StepResult:
        """Move on by one step.

        Raises:
            StepInfeasible: if no solver got through, even with every bound soft.
        """
        s, dt, count = self.state, self.settings.dt, self._count
        now = self._faces
        after = now if self._stays else Faces.at(self.scene.surfaces, self.time + dt)
        self._throw()
        s.move_to(self.q, self.v)
        self._lose(now)
        flesh = self._flesh()
        spots = look(s, now, self.capsules, flesh, self._radii, self._gripped())
        external = self._external()
        self._startle_by_loss()
        objectives, constraints, lifted = self._wish(spots)
        closing = spots.along(s.point_velocities)
        on = np.array([key in self._touched for key in spots.keys], dtype=np.bool_)
        before = on.copy()
        on |= (spots.gaps < 0.0) | ((spots.gaps < MADE) & (closing <= 1e-6))
        on &= spots.gaps < 0.5
        drifts = np.zeros((len(spots.points), 3))
        if not self._stays:
            drifts[:count] = now.carried(after, s.points[:count], spots.surface)
            again = spots.points[spots.at_corners]
            drifts[spots.at_corners] = now.carried(after, s.points[again], spots.corners)
        slips = np.where(before[:, None], self._slips(spots, drifts, s.point_velocities), 0.0)
        slid = np.zeros(len(on), dtype=np.bool_)
        jacobians = s.point_jacobians
        own_bias = spots.along(s.point_biases)
        drifting = np.einsum("si,si->s", spots.normals, drifts)
        # what a gap's way has beyond Δt n · ẋ⁺: half of the point's own curve to begin with, then as the last solve had it
        curve = np.where(spots.others < 0, 0.5 * dt**2 * own_bias, 0.0)
        ways = self._grip_ways(self.time + dt)
        grip_bends = -0.5 * dt**2 * self._at_grips(s.point_biases)
        kept, dropped = np.zeros(len(on), dtype=np.bool_), np.zeros(len(on), dtype=np.bool_)
        result: StepResult | None = None
        for attempt in range(ROUNDS):
            k = np.flatnonzero(on)
            touching = Touching(
                spots.points[k], spots.others[k], spots.normals[k], spots.gaps[k],
                (curve - drifting - dt**2 * own_bias)[k], drifts[k],
                (spots.others[k] < 0) & ~lifted[spots.points[k]],
            )  # fmt: skip
            held = Held(*self._grip_points(), ways, grip_bends)
            try:
                result = self._solve(objectives, constraints, touching, held, spots.friction[k], slips[k], external)
            except StepInfeasible:
                if result is None:
                    raise
                self._count_conflict("contacts not settled")
                break
            v = self.v + dt * result.a
            q = self.model.integrate(self.q, v, dt)
            self._other.move_to(q, v)
            gaps = gaps_after(spots, self._other, after, self.capsules, flesh, self._radii)
            forces = np.zeros((len(on), 3))
            forces[k] = result.forces[: len(k)]
            velocities = (jacobians @ v).reshape(-1, 3)
            rising = spots.along(velocities) - drifting / dt
            leaving = on & (gaps > LEFT) & (rising > LEAVING)
            made = ~on & (gaps < -DEEPER)
            pulled = leaving & (np.linalg.norm(forces, axis=1) > PULLED) & ~kept
            pulled &= attempt < ROLLBACKS
            helped = self._helped(spots, forces, velocities, drifts) & ~slid
            sunk = on & (gaps < -DEEPER) & (gaps < spots.gaps - 0.1 * DEEPER)
            gone = self._grip_moves(ways)
            strained = len(gone) > 0 and float(np.abs(gone - ways).max()) > DEEPER
            again = made.any() or pulled.any() or sunk.any() or helped.any() or strained
            if attempt + 1 == ROUNDS or not again:
                break
            k = np.flatnonzero(on | made)
            curve[k] = np.clip(gaps[k] - spots.gaps[k] - dt * rising[k], -MOST_BEND, MOST_BEND)
            if len(gone):
                grip_bends = gone - dt * self._at_grips(velocities) - dt**2 * self._at_grips(s.point_biases)
            self.tally.rollbacks += int(pulled.sum())
            self.tally.rounds += 1
            kept |= made & dropped
            dropped |= pulled
            slid |= helped
            slips = np.where(helped[:, None], self._slips(spots, drifts, velocities), slips)
            on = (on | made) & ~pulled
        assert result is not None
        on &= ~leaving
        moved = Moved(spots, forces, self._ways(spots), drifts, gaps, result)
        self._note(spots, forces, on, before, result, external, jacobians)
        if self.mover is not None:
            q, v = self.mover(self, result)
        self.v, self.q, self._faces = v, q, after
        self.time += dt
        for watch in self.watchers:
            watch(self, moved)
        return result

    # --- what stands around

    def _throw(self) -> None:
        """Let go the balls whose time has come."""
        for k, spec in enumerate(self.scene.balls):
            if not self._free[k] and self.time >= spec.at - 1e-9:
                self._free[k] = True
                dof = self._ball_dofs[k]
                self.v = self.v.copy()
                self.v[dof : dof + 3] = spec.velocity

    def _lose(self, faces: Faces) -> None:
        """Open grips on holds that are gone or slipped out of."""
        lost = [
            g for g in self.grips
            if (g.other < 0 and self.time >= self.scene.hold(g.what).until - 1e-9) or g.drift > SLIP_OUT
        ]  # fmt: skip
        for grip in lost:
            self.grips.remove(grip)
            self.figures[grip.figure].startle(self.time, self.settings.delay)
        self._gone = ~faces.exists

    def _startle_by_loss(self) -> None:
        """A surface that was taken away startles those who stood on it."""
        if self._stays or not self.touching.any():
            return
        for figure in self.figures:
            own = np.flatnonzero(self.touching[figure.points]) + figure.points.start
            on = getattr(self, "_surface", None)
            if on is not None and len(own) and self._gone[on[own]].any() and not figure.is_delayed(self.time):
                figure.startle(self.time, self.settings.delay)

    def _flesh(self) -> Array:
        """How far pairs of bodies overlap without touching [m], shape (N,): hands that hold one another do not push."""
        held = [(g.point, g.other) for g in self.grips if g.other >= 0]
        if not held:
            return self.overlaps
        out, bodies = self.overlaps.copy(), self.state.point_body
        for ends in held:
            hands = [bodies[list(ends)]]
            hands.append(self.model.parents[hands[0]])
            both = [np.isin(x, np.concatenate(hands)) for x in (self.capsules.first_body, self.capsules.second_body)]
            out[both[0] & both[1]] = np.inf
        return out

    def _gripped(self) -> Flags:
        out = np.zeros(self._count, dtype=np.bool_)
        for grip in self.grips:
            out[grip.point] = True
            if grip.other >= 0:
                out[grip.other] = True
        return out

    def _slips(self, spots: Spots, drifts: Array, velocities: Array) -> Array:
        """Direction in which points slide along what they touch, zero where they stand, shape (S, 3)."""
        across = self._across(spots, drifts, velocities)
        speed = np.linalg.norm(across, axis=1)
        return np.where((speed > SLIDING)[:, None], across / np.maximum(speed, SLIDING)[:, None], 0.0)

    def _across(self, spots: Spots, drifts: Array, velocities: Array) -> Array:
        """Velocity of each spot's point along what it touches [m/s], shape (S, 3), for velocities of all points."""
        velocities = relative(velocities, spots.points, spots.others) - drifts / self.settings.dt
        return velocities - np.einsum("si,si->s", velocities, spots.normals)[:, None] * spots.normals

    def _helped(self, spots: Spots, forces: Array, velocities: Array, drifts: Array) -> Flags:
        """Spots that slide the way their friction pushes: friction cannot do that, shape (S,)."""
        across = self._across(spots, drifts, velocities)
        work = self.settings.dt * np.einsum("si,si->s", forces, across)
        return (np.linalg.norm(across, axis=1) > SLIDING) & (work > HELPED)

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
            velocity, _ = self.state.body_point_motion(body, place)
            force = push.force_at(place, velocity, self.time, float(self.model.body_masses[body]))
            self.pushed.append((body, place, force))
            if self.mover is None:
                external += self.state.external_torque(body, place, force)
            if k not in self._felt:
                self._felt.add(k)
                figure.startle(self.time, self.settings.delay)
        return external

    # --- goals

    def _view(self, figure: Figure, spots: Spots, things: tuple[Thing, ...]) -> View:
        who = self.figures.index(figure)
        return View(
            figure.body, self.state, self.time, self.settings.dt, self.time - figure.course.entered, self.touching,
            spots.gaps[: self._count], self.forces, figure.is_delayed(self.time), self.settings.is_literal,
            scene=self.scene, things=things,
            people={f.name: f.body for f in self.figures if f is not figure},
            grips={g.part: g.what for g in self.grips if g.figure == who}, clip=figure.clip,
            memory=figure.course.memory,
        )  # fmt: skip

    def _wish(self, spots: Spots) -> tuple[list[Objective], list[Constraint], Flags]:
        """Goals and bounds of everybody, and the points that may leave their contacts, shape (point_count,)."""
        objectives: list[Objective] = []
        constraints: list[Constraint] = []
        lifted = np.zeros(self.model.point_count, dtype=np.bool_)
        things = self.things()
        settings = self.settings
        for who, figure in enumerate(self.figures):
            view = self._view(figure, spots, things)
            course = figure.course
            course.advance(view)
            for part in course.lifts():
                lifted[view.part(part)] = True
                self.grips = [g for g in self.grips if not (g.figure == who and g.part == part)]
            for part in course.grips():
                self._close(who, part, view)
            wishes, musts = figure.goals(view, settings.responsiveness)
            effort = figure.effort(self.time, self.v, is_limited=settings.torque_limits, band=settings.band)
            more, bounds = figure_control(view, wishes, musts, effort, self.weights)
            objectives += more
            constraints += bounds
            constraints += figure.bounds(self.q, self.v, settings.dt, self.weights.bounds)
        for k, dof in enumerate(self._ball_dofs):
            if self._free[k]:
                constraints.append(Equal(RootWrench(of=len(self.figures) + k), 0.0, "ball"))
            else:
                constraints.append(Equal(JointAcceleration((dof, dof + 6)), 0.0, "ball"))
        return objectives, constraints, lifted

    # --- grips

    def _close(self, who: int, part: str, view: View) -> None:
        """Close a hand that has arrived at what it reaches for."""
        what = view.memory.get(f"{part} reaches")
        if what is None or any(g.figure == who and g.part == part for g in self.grips):
            return
        points, centers = view.part(part), self.state.centers
        if not len(points):
            return
        name, _, other_part = str(what).partition(":")
        if other_part:
            other = self.figure(name)
            theirs = other.body.hands[other_part.removesuffix("_hand")]
            away = np.linalg.norm(centers[points][:, None] - centers[theirs][None], axis=2)
            i, j = np.unravel_index(int(away.argmin()), away.shape)
            if away[i, j] <= PALM:
                anchor = centers[points[i]] - centers[theirs[j]]
                self._grip(Grip(who, part, str(what), int(points[i]), int(theirs[j]), anchor, self.time))
            return
        hold = self.scene.hold(name)
        if self.time >= hold.until:
            return
        away = np.array([np.linalg.norm(centers[p] - hold.nearest(centers[p], self.time)) for p in points])
        i = int(away.argmin())
        if away[i] <= hold.radius + self._radii[points[i]] + CLOSE:
            turn = np.eye(3) if hold.movement is None else hold.movement.at(self.time)[1]
            anchor = turn.T @ (centers[points[i]] - hold.middle(self.time))
            self._grip(Grip(who, part, name, int(points[i]), -1, anchor, self.time))

    def _grip(self, grip: Grip) -> None:
        self.grips.append(grip)
        self.touching[grip.point] = False
        figure = self.figures[grip.figure]
        self.supports.append(Support(figure.name, grip.part, grip.what, self.time))
        self.state.points[grip.point] = self.state.centers[grip.point]

    def _grip_points(self) -> tuple[Index, Index]:
        return (
            np.array([g.point for g in self.grips], dtype=np.int64),
            np.array([g.other for g in self.grips], dtype=np.int64),
        )

    def _at_grips(self, values: Array) -> Array:
        return relative(values, *self._grip_points()) if self.grips else np.zeros((0, 3))

    def _grip_anchor(self, grip: Grip, state: State, time: float) -> Array:
        """Where a grip's point belongs [m], shape (3,)."""
        if grip.other >= 0:
            return state.centers[grip.other] + grip.anchor
        hold = self.scene.hold(grip.what)
        turn = np.eye(3) if hold.movement is None else hold.movement.at(time)[1]
        return hold.middle(time) + turn @ grip.anchor

    def _grip_ways(self, time: float) -> Array:
        """Way that each grip's point must go in this step, against what it holds [m], shape (G, 3)."""
        ways = np.zeros((len(self.grips), 3))
        for i, grip in enumerate(self.grips):
            here = self.state.centers[grip.point]
            ways[i] = self._grip_anchor(grip, self.state, time) - here
        return ways

    def _grip_moves(self, ways: Array) -> Array:
        """Way that each grip's point went in this step, against what it holds [m], shape (G, 3)."""
        out = np.zeros_like(ways)
        for i, grip in enumerate(self.grips):
            out[i] = self._other.centers[grip.point] - self.state.centers[grip.point]
            if grip.other >= 0:
                out[i] -= self._other.centers[grip.other] - self.state.centers[grip.other]
        return out

    # --- solving

    def _solve(
        self, objectives: list[Objective], constraints: list[Constraint], touching: Touching, held: Held,
        friction: Array, slips: Array, external: Array,
    ) -> StepResult:  # fmt: skip
        points = np.concatenate([touching.points, held.points])
        others = np.concatenate([touching.others, held.others])
        normals = np.concatenate([touching.normals, np.tile([0.0, 0.0, 1.0], (len(held.points), 1))])
        grips = np.arange(len(points)) >= len(touching.points)
        friction = np.concatenate([friction, np.ones(len(held.points))])
        slips = np.concatenate([slips, np.zeros((len(held.points), 3))])

        def attempt(slips: Array | None, *, soft: bool) -> StepResult:
            contacts = None
            if len(points):
                contacts = Contacts(
                    points, normals, friction, others=others if (others >= 0).any() else None,
                    grips=grips if grips.any() else None, slips=slips if slips is not None and slips.any() else None,
                )  # fmt: skip
            step = Step(self.state, contacts, dt=self.settings.dt, external=external)
            more, bounds = contact_control(step, touching, held, self.weights)
            wished, hard = [*objectives, *more], [*constraints, *bounds]
            if not soft:
                return solve_step(step, wished, hard, costs=False)
            wished, hard, softened = _softened(wished, hard)
            result = solve_step(step, wished, hard, readable=True, costs=False)
            for name, slack in _slack(step, softened, result).items():
                self.tally.slack[name] = max(self.tally.slack.get(name, 0.0), slack)
            return result

        self.tally.solves += 1
        result = None
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
                    self.tally.failures += 1
                    raise
                continue
            if kind:
                self._count_conflict(kind)
            break
        assert result is not None
        t, c = self.tally, result.certificate
        t.primal, t.dual, t.dynamics = max(t.primal, c.primal), max(t.dual, c.dual), max(t.dynamics, c.dynamics)
        return result

    def _count_conflict(self, kind: str) -> None:
        self.tally.conflicts[kind] = self.tally.conflicts.get(kind, 0) + 1

    # --- what is remembered

    def _ways(self, spots: Spots) -> Array:
        """Way of each spot's point in this step [m], shape (S, 3); pairs by the velocity after it."""
        ways = np.zeros((len(spots.points), 3))
        count = self._count
        ways[:count] = self._other.centers[:count] - self.state.centers[:count]
        ways[spots.at_corners] = ways[spots.points[spots.at_corners]]
        return ways

    def _note(
        self,
        spots: Spots,
        forces: Array,
        on: Flags,
        before: Flags,
        result: StepResult,
        external: Array,
        jacobians: Array,
    ) -> None:
        count = self._count
        again = spots.points[spots.at_corners]
        self.forces = forces[:count].copy()
        np.add.at(self.forces, again, forces[spots.at_corners])
        for grip, force in zip(self.grips, result.forces[len(result.forces) - len(self.grips) :], strict=True):
            grip.force = force
            self.forces[grip.point] = force
            off = self._other.centers[grip.point] - self._grip_anchor(grip, self._other, self.time + self.settings.dt)
            grip.way = off - (self.state.centers[grip.point] - self._grip_anchor(grip, self.state, self.time))
            grip.drift = float(np.linalg.norm(off))
            if grip.other >= 0:  # hands that met close until they touch
                apart = float(np.linalg.norm(grip.anchor))
                close = min(self._radii[grip.point] + self._radii[grip.other], apart)
                grip.anchor = grip.anchor * (max(apart - CLOSING * self.settings.dt, close) / max(apart, 1e-9))
        self._surface = spots.surface
        self.touching = on[:count].copy()
        np.logical_or.at(self.touching, again, on[spots.at_corners])
        new = np.flatnonzero(on & ~before)
        between = spots.between
        self._note_supports(spots, new[(new < between.start) | (new >= between.stop)])
        self._note_hits(spots, new[(new >= between.start) & (new < between.stop)], forces)
        self._touched = {key for key, touches in zip(spots.keys, on.tolist(), strict=True) if touches}
        reaction = np.zeros(self.model.nv)
        jacobians = jacobians.reshape(-1, 3, self.model.nv)
        held, holding = self._grip_points()
        points, others = np.concatenate([spots.points, held]), np.concatenate([spots.others, holding])
        every = np.concatenate([forces, np.array([g.force for g in self.grips]).reshape(-1, 3)])
        loaded = np.flatnonzero(every.any(axis=1))
        reaction += np.einsum("pij,pi->j", jacobians[points[loaded]], every[loaded])
        paired = loaded[others[loaded] >= 0]
        reaction -= np.einsum("pij,pi->j", jacobians[others[paired]], every[paired])
        # by recursive Newton-Euler, a path of its own
        wrench = self.state.data.inverse_dynamics(result.a) - reaction - external
        for figure in self.figures:
            first = figure.dofs.start
            figure.root_wrench = wrench[first : first + 6]
            joints = slice(first + 6, figure.dofs.stop)
            figure.torque = result.torque[joints] + figure.damping * (self.v + self.settings.dt * result.a)[joints]

    def _note_supports(self, spots: Spots, new: Index) -> None:
        keys = spots.keys
        for point, surface in (keys[spot] for spot in new.tolist()):
            for figure in self.figures:
                if figure.points.start <= point < figure.points.stop:
                    own = figure.character.contact_points[point - figure.points.start]
                    if own.part == "foot":
                        continue
                    body = figure.character.bodies[own.body].name
                    what = self.scene.surfaces[surface].name
                    known = [x for x in self.supports if (x.figure, x.body, x.what) == (figure.name, body, what)]
                    if not known or self.time - known[-1].time > 0.5:
                        self.supports.append(Support(figure.name, body, what, self.time))

    def _note_hits(self, spots: Spots, new: Index, forces: Array) -> None:
        for spot in new.tolist():
            pair = int(spots.pairs[spot - self._count])
            ends = (int(self.capsules.first_body[pair]), int(self.capsules.second_body[pair]))
            roots = [int(self.model.tree_root[e]) for e in ends]
            balls = [r in self._ball_roots for r in roots]
            if sum(balls) != 1:
                continue
            struck = ends[0] if balls[1] else ends[1]
            thing = self._ball_roots.index(roots[0] if balls[0] else roots[1])
            figure = self.figures[self._owner[struck - 1]]
            name = figure.character.bodies[struck - figure.body.root].name
            impulse = float(np.linalg.norm(forces[spot])) * self.settings.dt
            self.hits.append(Hit(self.scene.balls[thing].name, figure.name, name, self.time, impulse))
            figure.startle(self.time, self.settings.delay)


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
