"""What is counted and told of a synthesized run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from poise.core.typing import Array, Index
from poise.step import StepResult
from poise.synthesis.contacts import Spots

if TYPE_CHECKING:
    from poise.synthesis.contacts import Foothold, Grip
    from poise.synthesis.world import World

AGAIN = 0.5
"""A part that comes to rest on the same thing again within this time is not told again [s]."""
STILL = 0.03
"""A ball that pushes the same body again within this time has not left it [s]."""


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


def supports_of(world: World, spots: Spots, new: Index) -> None:
    """Tell the world's supports of spots (K,) that began to touch a surface; feet are not told."""
    keys = spots.keys
    for point, surface in (keys[spot] for spot in new.tolist()):
        for figure in world.figures:
            if not figure.points.start <= point < figure.points.stop:
                continue
            own = figure.character.contact_points[point - figure.points.start]
            if own.part == "foot":
                continue
            body, what = figure.character.bodies[own.body].name, world.scene.surfaces[surface].name
            known = [x.time for x in world.supports if (x.figure, x.body, x.what) == (figure.name, body, what)]
            if not known or world.time - known[-1] > AGAIN:
                world.supports.append(Support(figure.name, body, what, world.time))


def tell_losses(world: World, lost: Sequence[Grip | Foothold]) -> None:
    """Tell the world's losses of grips and feet that are off their holds; who held or was held is startled."""
    gone = {hold.name for hold in world.scene.holds if not hold.exists(world.time)}
    for grip in {(x.figure, x.part, x.what): x for x in lost}.values():
        figure, other = world.figures[grip.figure], grip.what.partition(":")[0]
        why = "gone" if grip.what in gone else "slipped"
        world.losses.append(Loss(figure.name, grip.part, grip.what, world.time, why))
        for each in (f for f in world.figures if f is figure or f.name == other):
            each.startle(world.time, world.settings.delay)


def hits_of(world: World, spots: Spots, forces: Array) -> list[Hit]:
    """Balls that push figures in this step with forces (S, 3) [N]; one for each body struck."""
    momenta: dict[tuple[str, str, str], Array] = {}
    first = spots.between.start
    for k in np.flatnonzero(forces[spots.between].any(axis=1)).tolist():
        pair = int(spots.pairs[k])
        ends = (int(world.capsules.first_body[pair]), int(world.capsules.second_body[pair]))
        roots = [int(world.model.tree_root[end]) for end in ends]
        balls = [root in world.ball_roots for root in roots]
        if sum(balls) != 1:
            continue
        struck, thing = (ends[0], roots[1]) if balls[1] else (ends[1], roots[0])
        figure = next(f for f in world.figures if f.body.root == int(world.model.tree_root[struck]))
        body = figure.character.bodies[struck - figure.body.root].name
        key = (world.scene.balls[world.ball_roots.index(thing)].name, figure.name, body)
        momentum = (1.0 if balls[1] else -1.0) * world.settings.dt * forces[first + k]
        momenta[key] = momenta.get(key, 0.0) + momentum
    return [Hit(*key, world.time, world.time, (float(p[0]), float(p[1]), float(p[2]))) for key, p in momenta.items()]


def add_hit(hits: list[Hit], hit: Hit) -> bool:
    """Add what a ball did in one step to the hits so far, in place; whether it has begun to touch only now."""
    for k in reversed(range(len(hits))):
        old = hits[k]
        if (old.ball, old.figure, old.body) == (hit.ball, hit.figure, hit.body) and hit.time - old.until < STILL:
            x, y, z = (a + b for a, b in zip(old.momentum, hit.momentum, strict=True))
            hits[k] = replace(old, until=hit.time, momentum=(x, y, z))
            return False
    hits.append(hit)
    return True
