"""One step of a run as values, and the events in it: hits, supports and losses.

A `StepRecord` is all that recorders, checks and reports see; nobody but the world itself reaches into a world.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array, Flags, Index
from poise.goals.surroundings import Scene
from poise.physics import Model, State
from poise.physics.capsules import CapsulePairs
from poise.step import StepResult
from poise.synthesis.contacts import Candidates, Foothold, Grip
from poise.synthesis.figure import Figure

AGAIN = 0.5
"""A part that comes to rest on the same thing again within this time is not listed again [s]."""
STILL = 0.03
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
class StepRecord:
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


def supports_of(
    cast: Cast, candidates: Candidates, new: Index, time: float, known: Sequence[Support]
) -> list[Support]:  # fmt: skip
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
        if (old.ball, old.figure, old.body) == (hit.ball, hit.figure, hit.body) and hit.time - old.until < STILL:
            x, y, z = (a + b for a, b in zip(old.momentum, hit.momentum, strict=True))
            return [*hits[:k], replace(old, until=hit.time, momentum=(x, y, z)), *hits[k + 1 :]], False
    return [*hits, hit], True
