"""What a synthesized run did, measured step by step: forces, work, penetration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from poise.synthesis.contact import Spots
    from poise.synthesis.tally import Moved
    from poise.synthesis.world import World

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Deepest:
    """Who was deepest in a thing: figure or ball, its body (a ball's is itself), the thing, when [s]."""

    figure: str
    body: str
    object: str
    time: float


def _deepest(world: World, spots: Spots, k: int) -> Deepest:
    """For the k-th of the contact points and then the points at corners."""
    if k < spots.point_count:
        point, surface = k, int(spots.surface[k])
    else:
        k -= spots.point_count
        point, surface = int(spots.points[spots.at_corners][k]), int(spots.corners[k])
    stand = np.flatnonzero(spots.footing.points == point)
    what = world.scene.surfaces[surface].name if len(world.scene.surfaces) and not len(stand) else "a hold"
    for figure in world.figures:
        if figure.points.start <= point < figure.points.stop:
            own = figure.character.contact_points[point - figure.points.start]
            return Deepest(figure.name, figure.character.bodies[own.body].name, what, world.time)
    ball = world.scene.balls[point - world.figures[-1].points.stop].name
    return Deepest(ball, ball, what, world.time)


@dataclass
class Audit:
    """Extremes and sums over a run; one of the world's watchers.

    Attributes:
        root_force, root_moment: Largest wrench that held a root, by inverse dynamics [N], [N m].
        cone: Largest excess of a tangential force over μ times the normal one [N].
        penetration: Deepest point below a surface [m].
        deepest: Whose body that was, in what and when, None before anything sank.
        overlap: Deepest overlap of two bodies [m].
        grip_drift: Largest distance of a closed hand from what it holds [m].
        contact_work: Work that contacts put in, by true displacements against what they touch [J].
        joint_work: Work of the joints, in and out added up [J].
        torque: Largest joint torque [N m].
    """

    root_force: float = 0.0
    root_moment: float = 0.0
    cone: float = 0.0
    penetration: float = 0.0
    deepest: Deepest | None = None
    overlap: float = 0.0
    grip_drift: float = 0.0
    contact_work: float = 0.0
    joint_work: float = 0.0
    torque: float = 0.0
    step_seconds: list[float] = field(default_factory=list)

    def __call__(self, world: World, moved: Moved) -> None:
        """Take in one step."""
        spots, forces, dt = moved.spots, moved.forces, world.settings.dt
        for figure in world.figures:
            self.root_force = max(self.root_force, float(np.linalg.norm(figure.root_wrench[:3])))
            self.root_moment = max(self.root_moment, float(np.linalg.norm(figure.root_wrench[3:])))
            torque = figure.torque
            if torque is not None:
                speed = world.v[figure.dofs][6:]
                self.joint_work += float(np.abs((torque - figure.damping * speed) * speed).sum()) * dt
                self.torque = max(self.torque, float(np.abs(torque).max()))
        pressing = np.einsum("si,si->s", forces, spots.normals)
        across = forces - pressing[:, None] * spots.normals
        over = np.linalg.norm(across, axis=1) - spots.friction * pressing
        self.cone = max(self.cone, float(over.max(initial=0.0)))
        pairs = moved.gaps[spots.between]
        own = np.concatenate([moved.gaps[: spots.point_count], moved.gaps[spots.at_corners]])
        own = np.where(own > -0.2, own, 0.0)
        if len(own) and -own.min() > self.penetration:
            self.penetration = float(-own.min())
            self.deepest = _deepest(world, spots, int(own.argmin()))
        self.overlap = max(self.overlap, float(-pairs.min(initial=0.0)))
        work = np.einsum("si,si->s", forces, moved.ways - moved.drifts)
        self.contact_work += float(np.maximum(work, 0.0).sum())
        for grip in world.grips:
            self.grip_drift = max(self.grip_drift, grip.drift)
            self.contact_work += max(float(grip.force @ grip.way), 0.0)
