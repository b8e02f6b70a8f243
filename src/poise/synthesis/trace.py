"""What a synthesized run looked like from inside, frame by frame: forces, center of mass, effort, grips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from poise.synthesis.contacts import Grip
    from poise.synthesis.tally import Moved
    from poise.synthesis.world import World

Floats = npt.NDArray[np.float32]

HANGING = 0.3
"""A figure hangs while its feet carry less than this part of what its hands do."""


@dataclass(frozen=True)
class GripSpan:
    """A hand or foot that held something.

    Attributes:
        figure: Index of the figure.
        part: "left_hand", …
        what: Name of the hold, or "figure:part".
        point: Index of the contact point that held.
        start, end: [s].
    """

    figure: int
    part: str
    what: str
    point: int
    start: float
    end: float


@dataclass(frozen=True)
class Trace:
    """Numbers of every step; step k leads from frame k to frame k + 1.

    Attributes:
        points: Contact points of all figures, one after the other [m], shape (S, P, 3).
        forces: Force on each [N], shape (S, P, 3).
        owners: Index of the figure of each point, −1 of those of balls, shape (P,).
        com: Centers of mass of the figures [m], shape (S, N, 3).
        root_force: What held each figure's root [N], shape (S, N).
        effort: Largest torque of each figure in parts of its joint's limit, shape (S, N).
        is_delayed: Whether each figure could not answer yet, shape (S, N).
        swing: Angle of each figure's center of mass from below what its hands hold [deg], shape (S, N); NaN where it
            does not hang.
        grips: All grips, in the order in which they closed.
    """

    points: Floats
    forces: Floats
    owners: npt.NDArray[np.int64]
    com: Floats
    root_force: Floats
    effort: Floats
    is_delayed: npt.NDArray[np.bool_]
    swing: Floats
    grips: tuple[GripSpan, ...]


class Tracer:
    """Takes in every step of a world; one of its watchers."""

    def __init__(self) -> None:
        self._rows: list[tuple[Floats, Floats, Floats, Floats, Floats, npt.NDArray[np.bool_], Floats]] = []
        self._open: dict[int, Grip] = {}
        self._closed: list[GripSpan] = []

    def __call__(self, world: World, moved: Moved) -> None:
        """Take in one step, which led to the world's present time."""
        state, figures, count = world.state, world.figures, len(world.forces)
        com = np.array([state.com(f.body.root) for f in figures], dtype=np.float32)
        root = np.array([np.linalg.norm(f.root_wrench[:3]) for f in figures], dtype=np.float32)
        effort = np.array([f.effort for f in figures], dtype=np.float32)
        delayed = np.array([f.is_delayed(world.time) for f in figures], dtype=np.bool_)
        swing = np.array([_swing(world, k, com[k]) for k in range(len(figures))], dtype=np.float32)
        points, forces = state.points[:count].astype(np.float32), world.forces.astype(np.float32)
        self._rows.append((points, forces, com, root, effort, delayed, swing))
        self._follow(world)

    def _follow(self, world: World) -> None:
        """Note grips that closed or opened."""
        now = {id(g): g for g in world.grips}
        for key in [k for k in self._open if k not in now]:
            self._close(key, world.time)
        self._open.update(now)

    def _close(self, key: int, time: float) -> None:
        grip = self._open.pop(key)
        self._closed.append(GripSpan(grip.figure, grip.part, grip.what, grip.point, grip.start, time))

    def trace(self, world: World) -> Trace:
        """All that was taken in; open grips end now."""
        for key in list(self._open):
            self._close(key, world.time)
        figures, points = len(world.figures), len(world.forces)
        shapes = ((points, 3), (points, 3), (figures, 3), (figures,), (figures,), (figures,), (figures,))
        columns: list[Any] = [
            np.array([row[k] for row in self._rows]).reshape(len(self._rows), *shape) for k, shape in enumerate(shapes)
        ]
        owners = np.full(points, -1, dtype=np.int64)
        for k, figure in enumerate(world.figures):
            owners[figure.points] = k
        grips = tuple(sorted(self._closed, key=lambda g: (g.start, g.figure, g.part)))
        points_, forces, com, root, effort, delayed, swing = columns
        return Trace(points_, forces, owners, com, root, effort, delayed.astype(np.bool_), swing, grips)


def _swing(world: World, who: int, com: Floats) -> float:
    """How far a hanging figure has swung [deg]; NaN where it does not hang by its hands."""
    figure = world.figures[who]
    held = [g.point for g in world.grips if g.figure == who and g.part.endswith("hand")]
    if not held:
        return float("nan")
    feet = np.concatenate([figure.body.feet[side] for side in figure.body.feet])
    hands = float(np.linalg.norm(world.forces[held].sum(axis=0)))
    if float(np.linalg.norm(world.forces[feet].sum(axis=0))) > HANGING * hands:
        return float("nan")
    down = com - world.state.centers[held].mean(axis=0)
    return float(np.degrees(np.arctan2(np.linalg.norm(down[:2]), -down[2])))
