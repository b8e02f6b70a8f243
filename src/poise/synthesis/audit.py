"""What a synthesized run did, measured step by step: forces, work, penetration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.physics import State

if TYPE_CHECKING:
    from poise.synthesis.contacts import Spots
    from poise.synthesis.tally import Moved
    from poise.synthesis.world import World

STILL = 1.0
"""A world whose kinetic energy is less than this is at rest [J]."""


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


class Energy:
    """Total energy of a run and what explains it; one of the world's watchers.

        E(q ⊖ ½ Δt v, v) = ½ vᵀ M v + Σ m g z

    A step moves places by Δt v⁺, so v belongs to the middle of the step before (the leapfrog scheme); mass matrix and
    heights are taken there too. Otherwise a body in free flight would seem to gain or lose energy. Work is force times
    Δt (v + v⁺) / 2, which for a constant mass matrix is exactly the change of kinetic energy.

    What muscles, pushes, and matter that moves (a rocking floor, a bar) put in explains a rise of E. Contacts with
    matter at rest, between bodies, and the tissue of joints can only take out; what they or the integration put in is
    not explained.

    Attributes:
        total: E before each step, of figures and balls [J].
        kinetic: Its kinetic part [J].
        explained: Work of muscles, pushes and moving matter until then [J].
    """

    def __init__(self) -> None:
        self.total: list[float] = []
        self.kinetic: list[float] = []
        self.explained: list[float] = []
        self._work = 0.0
        self._v: Array | None = None
        self._middle: State | None = None

    def __call__(self, world: World, moved: Moved) -> None:
        """Take in one step; the world's state is still that before it."""
        state, dt = world.state, world.settings.dt
        v, after = state.v, world.v
        if self._v is not None and not np.array_equal(v, self._v):  # a ball was let go with a speed of its own
            self._work += 0.5 * float(v @ state.M @ v - self._v @ state.M @ self._v)
        self._v = after
        mean = 0.5 * (v + after)
        middle = self._middle = self._middle or State(world.model)
        middle.at(world.model.integrate(state.q, v, -0.5 * dt), v)
        kinetic = 0.5 * float(v @ middle.M @ v)
        height = 0.0
        for root in (*(f.body.root for f in world.figures), *world.ball_roots):
            height += middle.mass(root) * GRAVITY * float(middle.com(root)[2])
        self.kinetic.append(kinetic)
        self.total.append(kinetic + height)
        self.explained.append(self._work)
        for figure in world.figures:
            if figure.torque is not None:
                first, end = figure.body.joints
                self._work += dt * float(figure.torque @ mean[first:end])
        for body, place, force in world.pushed:
            self._work += dt * float(state.external_torque(body, place, force) @ mean)
        self._work += float(np.einsum("si,si->", moved.forces, moved.drifts))
        for grip in world.grips:
            if grip.other < 0:
                self._work += float(grip.force @ (world.grip_anchor(grip, dt) - world.grip_anchor(grip, 0.0)))

    def report(self, fell: float | None, dt: float) -> dict[str, Any]:
        """The run's energies [J], and since when it has been at rest [s].

        Args:
            fell: When the first figure fell [s], or None.
            dt: Length of a step [s].
        """
        total, kinetic = np.array(self.total or [0.0]), np.array(self.kinetic or [0.0])
        own = total - np.array(self.explained or [0.0])
        moving = np.flatnonzero(kinetic > STILL)
        begins = int(moving[-1]) + 1 if len(moving) else 0
        after = None if fell is None else total[min(round(fell / dt), len(total) - 1) :]
        return {
            "start_J": float(total[0]),
            "end_J": float(total[-1]),
            "unexplained_rise_max_J": rise(own),
            "rise_after_fall_max_J": None if after is None else rise(after),
            "at_rest_since": begins * dt if begins < len(kinetic) else None,
        }


def rise(values: Array) -> float:
    """How far a row of numbers gets above the least before it."""
    return float((values - np.minimum.accumulate(values)).max())
