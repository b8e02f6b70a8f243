"""One step of a run as values, and the events in it: hits, supports and losses.

A `WorldStep` is all that recorders, checks and reports see; nobody but the world itself reaches into a world.

A run is checked: figures that would begin inside things, steps too fast to follow, and why it ended.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue, PoiseError, SimulationDiverged
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.filter.forces import Force, Push
from poise.goals.observation import BallState
from poise.goals.surroundings import EDGE, Faces, Scene
from poise.physics import Model, State
from poise.physics.collisions import CapsulePairs
from poise.physics.mujoco_backend import model_of
from poise.step import StepResult
from poise.synthesis.contacts import OVERLAPPING, Candidates
from poise.synthesis.figure import Figure
from poise.synthesis.grips import Foothold, Grip

AGAIN = 0.5
"""A part that comes to rest on the same thing again within this time is not listed again [s]."""
SAME_PUSH = 0.03
"""A ball that pushes the same body again within this time has not left it [s]."""


@dataclass
class SolverCounts:
    """What the solver did, counted.

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

    def count(self, conflict: str) -> None:
        """Count a step that was changed to be solvable."""
        self.conflicts[conflict] = self.conflicts.get(conflict, 0) + 1


@dataclass(frozen=True)
class Hit:
    """A ball that struck a figure.

    Attributes:
        ball, figure, body: What struck whom where.
        time, until: When they touched first and last [s].
        momentum: What the figure got from the ball in all that time [N s], shape (3,).
    """

    ball: str
    figure: str
    body: str
    time: float
    until: float
    momentum: tuple[float, float, float]

    @property
    def impulse(self) -> float:
        """Size of the momentum [N s]."""
        return math.hypot(*self.momentum)


@dataclass(frozen=True)
class Support:
    """A hand or another part that came to rest on something: who, which body, on what, when [s]."""

    figure: str
    body: str
    what: str
    time: float


@dataclass(frozen=True)
class Loss:
    """A hand or foot that lost what it held or stood on.

    Attributes:
        figure, body, what: Who lost what.
        time: [s].
        why: "gone", or "slipped" if it could not be held.
    """

    figure: str
    body: str
    what: str
    time: float
    why: str


@dataclass(frozen=True)
class Cast:
    """What a run is made of; the same in every step.

    Attributes:
        scene: What stands around.
        model: Of everything that moves.
        figures: All of them.
        capsules: Of all bodies.
        overlaps: How far pairs of capsules overlap at the start [m], shape (N,).
        radii: Of the contact points of figures and balls [m], shape (P,).
        ball_roots: The model's body of each ball.
    """

    scene: Scene
    model: Model
    figures: tuple[Figure, ...]
    capsules: CapsulePairs
    overlaps: Array
    radii: Array
    ball_roots: tuple[int, ...]

    def body_name(self, body: int) -> tuple[str, str]:
        """Figure and body of a body of the model; a ball is its own body."""
        root = int(self.model.tree_root[body])
        if root in self.ball_roots:
            name = self.scene.balls[self.ball_roots.index(root)].name
            return name, name
        figure = next(f for f in self.figures if f.body.root == root)
        return figure.name, figure.character.bodies[body - root].name

    def point_name(self, point: int) -> tuple[str, str]:
        """Figure and body of a contact point; a ball is its own body."""
        for figure in self.figures:
            if figure.points.start <= point < figure.points.stop:
                own = figure.character.contact_points[point - figure.points.start]
                return figure.name, figure.character.bodies[own.body].name
        name = self.scene.balls[point - self.figures[-1].points.stop].name
        return name, name


class Applied(NamedTuple):
    """A force of a push or of a user's hand in one step: the model's body, the place [m] and the force [N]."""

    body: int
    place: Array
    force: Array


@dataclass(frozen=True)
class FigureRecord:
    """One figure in one step.

    Attributes:
        torque: Of the muscles [N m], or None before the first step.
        root_wrench: What held the root, by recursive Newton-Euler: force [N] and moment [N m], (6,).
        effort: Largest torque in parts of its joint's limit.
        is_delayed: Whether it could not answer yet.
    """

    torque: Array | None
    root_wrench: Array
    effort: float
    is_delayed: bool


@dataclass(frozen=True)
class WorldStep:
    """One step as it was made; its state is valid until the next one.

    Attributes:
        cast: Who takes part.
        time: When it ended [s].
        dt: Its length [s].
        state: Before it.
        v: Velocities after it, shape (nv,).
        figures: As it left them, in the order of the cast.
        candidates: What might have touched.
        forces: On each candidate's point [N], shape (S, 3).
        ways, drifts: Way of each candidate's point, and of the matter it touches [m], shape (S, 3).
        gaps: Of each candidate after the step [m], shape (S,).
        touching: Contact points of figures and balls that touch a surface, shape (P,).
        point_forces: On each of them, from surfaces and grips [N], shape (P, 3).
        grips: Closed hands.
        applied: Pushes.
        result: The solved step.
    """

    cast: Cast
    time: float
    dt: float
    state: State
    v: Array
    figures: tuple[FigureRecord, ...]
    candidates: Candidates
    forces: Array
    ways: Array
    drifts: Array
    gaps: Array
    touching: Flags
    point_forces: Array
    grips: tuple[Grip, ...]
    applied: tuple[Applied, ...]
    result: StepResult


def supports_of(cast: Cast, candidates: Candidates, new: Index, time: float, known: Sequence[Support]) -> list[Support]:
    """Supports by candidates (K,) that began to touch a surface; feet are left out, and what is known already."""
    out: list[Support] = []
    keys = candidates.keys
    for point, surface in (keys[k] for k in new.tolist()):
        for figure in cast.figures:
            if not figure.points.start <= point < figure.points.stop:
                continue
            own = figure.character.contact_points[point - figure.points.start]
            if own.part == "foot":
                continue
            support = Support(
                figure.name, figure.character.bodies[own.body].name, cast.scene.surfaces[surface].name, time
            )
            same = [x.time for x in (*known, *out) if replace(x, time=time) == support]
            if not same or time - same[-1] > AGAIN:
                out.append(support)
    return out


def losses_of(cast: Cast, lost: Sequence[Grip | Foothold], time: float) -> list[Loss]:
    """Grips and feet that are off their holds."""
    gone = {hold.name for hold in cast.scene.holds if not hold.exists(time)}
    return [
        Loss(cast.figures[grip.figure].name, grip.part, grip.what, time, "gone" if grip.what in gone else "slipped")
        for grip in {(x.figure, x.part, x.what): x for x in lost}.values()
    ]


def hits_of(cast: Cast, candidates: Candidates, forces: Array, time: float, dt: float) -> list[Hit]:
    """Balls that push figures in this step with forces (S, 3) [N]; one for each body struck."""
    momenta: dict[tuple[str, str, str], Array] = {}
    first = candidates.between.start
    for k in np.flatnonzero(forces[candidates.between].any(axis=1)).tolist():
        pair = int(candidates.pairs[k])
        ends = (int(cast.capsules.first_body[pair]), int(cast.capsules.second_body[pair]))
        balls = [int(cast.model.tree_root[end]) in cast.ball_roots for end in ends]
        if sum(balls) != 1:
            continue
        struck, thing = ends if balls[1] else ends[::-1]
        key = (cast.body_name(thing)[0], *cast.body_name(struck))
        momenta[key] = momenta.get(key, 0.0) + (1.0 if balls[1] else -1.0) * dt * forces[first + k]
    return [Hit(*key, time, time, (float(p[0]), float(p[1]), float(p[2]))) for key, p in momenta.items()]


def with_hit(hits: Sequence[Hit], hit: Hit) -> tuple[list[Hit], bool]:
    """The hits so far and what a ball did in one step; whether it has begun to touch only now."""
    for k in reversed(range(len(hits))):
        old = hits[k]
        if (old.ball, old.figure, old.body) == (hit.ball, hit.figure, hit.body) and hit.time - old.until < SAME_PUSH:
            x, y, z = (a + b for a, b in zip(old.momentum, hit.momentum, strict=True))
            return [*hits[:k], replace(old, until=hit.time, momentum=(x, y, z)), *hits[k + 1 :]], False
    return [*hits, hit], True


DEEP = 0.005
"""A figure may begin this deep in a thing [m]: it rises out of it unseen."""

UPWARD = 0.7
"""Surfaces whose normal points up by more than this can be stood on."""


class Moved(NamedTuple):
    """Where another simulation has come to: the state (q, v), and forces on contact points [N], shape (P, 3)."""

    q: Array
    v: Array
    forces: Array


class Mover(Protocol):
    """Another simulation that moves the figures; see `synthesis.run.EngineMover` and `world.drivers`.

    Attributes:
        rest: Time in which a step asks contacts that last to come to rest [s].
    """

    rest: float

    def __call__(self, torque: Array, expected: Array, applied: Sequence[Applied], dt: float) -> Moved:
        """Move on by one step.

        Args:
            torque: Of the muscles [N m], zero for other dofs, shape (nv,).
            expected: Velocities after the step as it was solved, shape (nv,).
            applied: Pushes.
            dt: Length of the step [s].
        """
        ...

    def report(self) -> dict[str, float | str]:
        """What it saw, for the run's report."""
        ...


def on_top(name: str, character: Character, q: Array, scene: Scene) -> Array:
    """Coordinates at the start, raised onto the crate or deck that a figure on the ground would stand in.

    Args:
        name: Of the figure.
        character: Its body.
        q: Coordinates of a figure that stands at height zero, or anywhere else, where it is left as it is (nq,).
        scene: What stands around.

    Raises:
        InvalidValue: if only a part of its feet is over the thing.
    """
    decks = [s for s in scene.surfaces if s.normal[2] > UPWARD and s.origin[2] > DEEP]
    if not decks:
        return q
    model = model_of(character)
    soles = State(model).at(q, np.zeros(model.nv)).points[[p.part == "foot" for p in character.contact_points]]
    if not len(soles) or abs(float(soles[:, 2].min())) > DEEP:
        return q
    faces = Faces.at(decks, 0.0)
    local = np.einsum("sij,spj->spi", faces.frames, soles[None] - faces.origins[:, None])
    over = (np.abs(local[..., :2]) <= faces.half[:, None] + EDGE).all(axis=-1) & faces.exists[:, None]
    rises = -local[..., 2] / faces.frames[:, 2, 2, None]
    rises = np.where(over & (rises > 0.0) & (rises < character.leg_length), rises, 0.0)
    rise = float(rises.max())
    if rise <= DEEP:
        return q
    if float(rises.max(axis=0).min()) < rise - DEEP:
        deck = decks[int(rises.max(axis=1).argmax())].name
        raise InvalidValue(
            f"{_who(name)} begins with only a part of its feet over {deck!r}. Move the thing all the way under the "
            "feet, or away from them."
        )
    q = q.copy()
    q[2] += rise
    return q


def require_outside(cast: Cast, state: State, faces: Faces) -> None:
    """Refuse a start at which figures are inside walls, boxes, the floor or balls.

    Args:
        cast: Who takes part.
        state: Complete, at the start.
        faces: The surfaces then.

    Raises:
        InvalidValue: naming the figure, its body, the thing and how deep.
    """
    ground, surfaces = faces.below(state.centers[: len(cast.radii)], cast.radii), cast.scene.surfaces
    for figure in cast.figures:
        first, gaps = figure.points.start, ground.gaps[figure.points]
        if gaps.min(initial=0.0) < -DEEP:
            k = int(gaps.argmin())
            thing = surfaces[int(ground.surface[first + k])].name
            raise _inside(*cast.point_name(first + k), thing, -float(gaps[k]))
        depths = _enclosed(faces, state.centers[figure.points])
        if depths.max(initial=0.0) > 0.0:
            nearest = np.where(depths > 0.0, depths, np.inf).min(axis=0)
            k = int(np.where(np.isfinite(nearest), nearest, 0.0).argmax())
            s = int(np.where(depths[:, k] > 0.0, depths[:, k], np.inf).argmin())
            raise _inside(*cast.point_name(first + k), surfaces[s].name, float(depths[s, k]))
    for k in np.flatnonzero(cast.overlaps > DEEP + OVERLAPPING).tolist():
        ends = [int(b[k]) for b in (cast.capsules.first_body, cast.capsules.second_body)]
        balls = [int(cast.model.tree_root[end]) in cast.ball_roots for end in ends]
        if sum(balls) == 1:
            body, ball = ends if balls[1] else ends[::-1]
            raise _inside(*cast.body_name(body), cast.body_name(ball)[0], float(cast.overlaps[k]) - OVERLAPPING)


def _enclosed(faces: Faces, places: Array) -> Array:
    """How far behind each face places (P, 3) are that six faces of a box enclose, zero for others [m], shape (S, P).

    In its middle a box does not push: a point there is behind all its faces.
    """
    local = np.einsum("sij,spj->spi", faces.frames, places[None] - faces.origins[:, None])
    behind = (
        (np.abs(local[..., :2]) <= faces.half[:, None]).all(axis=-1) & faces.exists[:, None] & (local[..., 2] < -DEEP)
    )
    normals = faces.frames[:, 2]
    opposite = np.triu(normals @ normals.T < -0.999)
    first, second = np.nonzero(opposite)
    is_in = (behind[first] & behind[second]).sum(axis=0) >= 3
    return np.where(behind & is_in, -local[..., 2], 0.0)


def _inside(figure: str, body: str, thing: str, deep: float) -> InvalidValue:
    return InvalidValue(
        f"{_who(figure)} begins inside {thing!r}: its {body} is {1000.0 * deep:.0f} mm deep. Move the thing away from "
        "where the figure starts, or start elsewhere."
    )


def _who(figure: str) -> str:
    return "The figure" if figure == "figure" else f"Figure {figure!r}"


MOST_TURN = 10.0
"""A joint that turns further than this within one step cannot be followed [rad]; a wrist in a hard fall gets to 5."""
NEAR, BLOW = 1.5, 5.0
"""A ball is named that is nearer than this to a figure's middle [m] and could throw it off by so much [m/s]."""
RECENT, HARD = 0.5, 3.0
"""A push is named where it ended no longer ago than this [s] and was as large as this, in parts of body weight."""


def require_followed(figures: Sequence[Figure], v: Array, time: float, dt: float) -> None:
    """Refuse velocities after a step (nv,) at which a figure is thrown about faster than steps can follow.

    Raises:
        SimulationDiverged: naming the figure, the body and its speed.
    """
    for figure in figures:
        speeds = np.abs(v[figure.dofs][6:])
        if speeds.max(initial=0.0) * dt < MOST_TURN:  # also true of no number at all, which the next lines name
            continue
        dof = int(speeds.argmax()) + 6
        body = max(k for k, first in enumerate(figure.character.v_addresses) if first <= dof)
        raise SimulationDiverged(
            f"{figure.character.bodies[body].name} of {figure.name!r} would turn by {np.degrees(speeds[dof - 6]):.3g}° "
            f"per second, faster than steps of {dt:g} s can follow",
            frame=round(time / dt),
            reason="too fast",
        )


def why_it_ended(error: PoiseError, time: float, pushes: Sequence[tuple[Figure, Force]], blows: Sequence[str]) -> str:
    """Why a run ended in the step after a time [s]: what was seen, and what to change; without a full stop.

    Args:
        error: What ended it.
        time: Of the last step [s].
        pushes: All so far, each with whom it acts on.
        blows: As `blows_of`.
    """
    seen = str(error) if isinstance(error, SimulationDiverged) else "no forces were found that carry the figures on"
    hard = []
    for figure, push in pushes:
        if not (isinstance(push, Push) and 0.0 <= time - push.start <= push.duration + RECENT):
            continue
        size = float(np.linalg.norm(push.force))
        if size > HARD * figure.character.mass * GRAVITY:
            hard.append(f"the push of {size:.3g} N on {push.body} at {push.start:g} s")
    less = " and ".join(["push less hard"] * bool(hard) + ["throw something lighter or slower"] * bool(blows))
    cause = " and ".join([*hard, *blows])
    cure = f"{cause} came just before: {less}" if cause else "change what the figure is asked to do"
    return f"at {time:.2f} s {seen}; {cure}"


def blows_of(
    figures: Sequence[Figure], state: State, balls: Sequence[BallState], hits: Sequence[Hit], time: float, dt: float
) -> list[str]:
    """Balls that struck a figure just now, or are about to, and would throw it about."""
    lightest = min(f.character.mass for f in figures)
    recent = {h.ball for h in hits if time - h.until <= RECENT}
    middles = [state.com(f.body.root) for f in figures]
    out = []
    for now in balls:
        ball, speed = now.ball, float(np.linalg.norm(now.velocity))
        thrown = float(np.linalg.norm(ball.velocity))
        near = min(float(np.linalg.norm(now.place - m)) for m in middles) < NEAR + speed * dt
        if (ball.name in recent or near) and ball.mass * max(speed, thrown) > BLOW * lightest:
            out.append(f"{ball.name!r}, {ball.mass:g} kg thrown at {thrown:.3g} m/s,")
    return out
