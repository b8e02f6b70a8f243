"""Kinematic goals as data: each says where something should be, how fast, and how much it matters.

Source: [Jain2009]_ sections 4 … 6; the two forms of each are those of `goal`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.body.anthropometry import PERSON_MASS
from poise.body.character import V_SIZES
from poise.core.units import GRAVITY
from poise.goals.course import course, lean_in
from poise.goals.goal import HORIZON, UP, Goal, axis_toward, bodies_named, cross, place_toward, slowing, toward
from poise.goals.observation import Observation
from poise.step import AtLeast, Objective
from poise.step.quantities import ComAcceleration, ContactForce, JointAcceleration, PointAcceleration

LANDING = 60.0
"""Largest acceleration asked of a foot that is laid down, over all its points [m/s²]."""


@dataclass(frozen=True)
class ComOver(Goal):
    """The center of mass stands over a foot's support: [Jain2009]_ G_cp, and G_cf with one foot.

    Attributes:
        weight: Against its acceleration.
        foot: "both", "left", "right", "swing", "stance", or "touching" for all that touches, hands and knees too.
        horizon: [s].
        near: Points at most this far over the ground count as support [m].
    """

    weight: float
    foot: str = "both"
    horizon: float = HORIZON
    near: float = 0.03

    def objectives(self, observed: Observation) -> list[Objective]:
        error = observed.support_center(self.foot, self.near * observed.body.scale) - observed.com[:2]
        return [
            toward(
                observed,
                ComAcceleration("xy", of=observed.body.index),
                error,
                observed.com_velocity[:2],
                self.weight,
                self.horizon,
                "com over feet",
            )
        ]


@dataclass(frozen=True)
class ComeToRest(Goal):
    """The capture point goes to the center of the support, as fast as a foot that pushes there could bring it.

    The inverted pendulum with its pressure point beyond the capture point, r̈ = ω² (r − p), p = ξ + gain (ξ − center).

    Attributes:
        weight: Against the acceleration of the center of mass.
        gain: Rate of the capture point, in ω.
        foot: As in `ComOver`.
        near: Points at most this far over the ground count as support [m].
        max_acceleration: Largest acceleration asked for [m/s²].
    """

    weight: float
    gain: float = 1.5
    foot: str = "both"
    near: float = 0.03
    max_acceleration: float = 6.0

    def objectives(self, observed: Observation) -> list[Objective]:
        center = observed.support_center(self.foot, self.near * observed.body.scale)
        omega, v = observed.pendulum, observed.com_velocity[:2]
        desired = -omega * v - self.gain * omega**2 * (observed.capture_point - center)
        size = float(np.linalg.norm(desired))
        desired = desired if size <= self.max_acceleration else desired * (self.max_acceleration / size)
        return [Objective(ComAcceleration("xy", of=observed.body.index), desired, self.weight, "come to rest")]


@dataclass(frozen=True)
class ComHeight(Goal):
    """The center of mass keeps a height over the ground, lower over feet far apart.

    Attributes:
        weight: Against its acceleration.
        height: In parts of its height at rest.
        horizon: [s].
        foot: Below which the ground counts: "both", "left", "right", "swing" or "stance".
    """

    weight: float
    height: float = 1.0
    horizon: float = HORIZON
    foot: str = "both"

    def objectives(self, observed: Observation) -> list[Objective]:
        ground = observed.ground_height_below(self.foot)
        desired = ground + self.height * observed.body.com_height - observed.stretch
        error, speed = np.array([desired - observed.com[2]]), observed.com_velocity[2:]
        quantity = ComAcceleration("z", of=observed.body.index)
        return [toward(observed, quantity, error, speed, self.weight, self.horizon, "com height")]


@dataclass(frozen=True)
class Upright(Goal):
    """A body's own up axis points up: [Jain2009]_ G_spine for the chest. Its error is the sine of the tilt.

    Attributes:
        weight: Against the second rate of the axis.
        bodies: Names or roles of bodies; "feet" are both feet, "swing" and "stance" one of them.
        horizon: [s].
        ahead: How far it leans forward [deg].
        aside: How far it leans to the side of the foot that carries [deg].
    """

    weight: float
    bodies: tuple[str, ...] = ("chest",)
    horizon: float = HORIZON
    ahead: float = 0.0
    aside: float = 0.0

    def objectives(self, observed: Observation) -> list[Objective]:
        out: list[Objective] = []
        up = UP
        if self.ahead or self.aside:
            left = np.array([-observed.heading[1], observed.heading[0]])
            side = {"left": 1.0, "right": -1.0}.get(observed.memory.get("stance", ""), 0.0)
            lean = np.tan(np.radians(self.ahead)) * observed.heading + np.tan(np.radians(self.aside)) * side * left
            lean += lean_in(observed)
            up = np.array([*lean, 1.0]) / np.sqrt(1.0 + lean @ lean)
        for name in self.bodies:
            for body in bodies_named(observed, name):
                axis = observed.body.up_axes[body]
                out.append(axis_toward(observed, body, axis, up, self.weight, self.horizon, f"upright {name}"))
        return out


@dataclass(frozen=True)
class Facing(Goal):
    """Bodies, by default the pelvis, keep the heading they had when the run began, or that of the figure's track.

    Attributes:
        weight: Against the second rate of the axis that points ahead.
        horizon: [s].
        bodies: Names as in `Upright`.
    """

    weight: float
    horizon: float = HORIZON
    bodies: tuple[str, ...] = ("pelvis",)

    def objectives(self, observed: Observation) -> list[Objective]:
        body, ahead, out = observed.body, course(observed), []
        for b in (b for name in self.bodies for b in ([0] if name == "pelvis" else bodies_named(observed, name))):
            axis = cross(body.left_axes[b], body.up_axes[b])
            out.append(axis_toward(observed, b, axis, ahead, self.weight, self.horizon, "facing"))
        return out


@dataclass(frozen=True)
class Still(Goal):
    """Joints come to rest: [Jain2009]_ G_qv. The root is left out unless asked for."""

    weight: float
    horizon: float = HORIZON
    root: bool = False

    def objectives(self, observed: Observation) -> list[Objective]:
        first, end = observed.body.joints
        first -= 6 if self.root else 0
        change = -observed.state.v[first:end]
        return [slowing(observed, JointAcceleration((first, end)), change, self.weight, self.horizon, "still")]


@dataclass(frozen=True)
class Pose(Goal):
    """Joints go to their pose at rest: [Jain2009]_ G_pose.

    Attributes:
        weight: Against joint accelerations.
        horizon: [s].
        only: Bodies meant; all but the root if empty.
        without: Bodies left free; "arms" are those of the hands stored in the memory.
    """

    weight: float
    horizon: float = HORIZON
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def objectives(self, observed: Observation) -> list[Objective]:
        state, character = observed.state, observed.body.character
        first, end = observed.body.joints
        error = state.model.difference(state.q, observed.body.rest, 1.0)[first:end]
        chosen = np.full(len(error), not self.only)
        for names, value in ((self.only, True), (self.without, False)):
            for body in (b for name in names for b in bodies_named(observed, name)):
                if body > 0:
                    at = character.v_addresses[body] - 6
                    chosen[at : at + V_SIZES[character.bodies[body].kind]] = value
        weight = np.where(chosen, self.weight, 0.0)
        quantity = JointAcceleration((first, end))
        return [toward(observed, quantity, error, state.v[first:end], weight, self.horizon, "pose")]


@dataclass(frozen=True)
class Unload(Goal):
    """The contact forces on a foot or hand go to zero: [Jain2009]_ G_c. The weight is per kN² for a grown-up's mass."""

    weight: float
    part: str = "swing"

    def objectives(self, observed: Observation) -> list[Objective]:
        weight = self.weight if observed.is_literal else self.weight * (PERSON_MASS / observed.body.character.mass) ** 2
        return [Objective(ContactForce(observed.part(self.part)), 0.0, 1e-6 * weight, "unload")]


@dataclass(frozen=True)
class Land(Goal):
    """Feet that hang near the ground are laid flat on it.

    Attributes:
        weight: Against the acceleration of sole points.
        flat: Weight of turning the foot level.
        foot: Which: "both", "left", "right", "swing" or "stance".
        horizon: [s].
    """

    weight: float
    flat: float = 0.3
    horizon: float = 0.06
    foot: str = "both"

    def objectives(self, observed: Observation) -> list[Objective]:
        out: list[Objective] = []
        only = observed.memory.get(self.foot, self.foot)
        for side, points in observed.body.feet.items():
            if only not in ("both", side):
                continue
            hanging = points[~observed.touching[points]]
            if len(points) - len(hanging) >= 4 or (points[:, None] == observed.trailing).any():
                continue
            out += Upright(self.flat, (f"{side}_foot",)).objectives(observed)
            # down, and at rest over the ground: a foot that skids off again bears nothing
            axes = np.tile(np.eye(3), (len(hanging), 1, 1))
            error = np.zeros((len(hanging), 3))
            error[:, 2] = -0.003 - observed.gaps[hanging]
            speed = observed.state.point_velocities[hanging].ravel()
            quantity = PointAcceleration(hanging, axes)
            out.append(
                toward(
                    observed,
                    quantity,
                    error.ravel(),
                    speed,
                    self.weight,
                    self.horizon,
                    "landing",
                    max_acceleration=LANDING,
                )
            )
        return out


@dataclass(frozen=True)
class LandSoftly(Goal):
    """Legs give way rather than be pushed by the ground with more than a few body weights.

    The ground pushes with m (z̈ + g) in all, so that z̈ ≤ (most − 1) g bounds it. The bound is soft.

    Attributes:
        weight: Against the acceleration of the center of mass beyond it.
        most: Largest force of the ground in body weights.
    """

    weight: float
    most: float = 1.9

    def objectives(self, observed: Observation) -> list[AtLeast]:
        downward = ComAcceleration(of=observed.body.index, along=(0.0, 0.0, -1.0))
        return [AtLeast(downward, (1.0 - self.most) * GRAVITY, self.weight, "land softly")]


@dataclass(frozen=True)
class Reach(Goal):
    """A body's end (a hand, a foot, the head) goes to a point: [Jain2009]_ G_p.

    Attributes:
        weight: Against its acceleration.
        body: Name or role.
        place: [m], in the world, shape (3,).
        horizon: [s].
    """

    weight: float
    body: str
    place: tuple[float, float, float]
    horizon: float = HORIZON

    def objectives(self, observed: Observation) -> list[Objective]:
        body = observed.body.character.body_index(self.body)
        return [place_toward(observed, body, observed.body.tips[body], np.array(self.place), self.weight, self.horizon)]


@dataclass(frozen=True)
class Follow(Goal):
    """Joints go where the clip's are now, as fast as they move there; the last pose is held. Nothing without a clip.

    Attributes:
        weight: Against joint accelerations.
        horizon: [s].
        without: Bodies left free, as in `Pose`; "stance leg" is the whole leg that carries.
    """

    weight: float
    horizon: float = HORIZON
    without: tuple[str, ...] = ()

    def objectives(self, observed: Observation) -> list[Objective]:
        clip = observed.clip
        if clip is None:
            return []
        state, character = observed.state, observed.body.character
        first, end = observed.body.joints
        q, v = clip.at(observed.time)
        wanted = state.q.copy()
        wanted[observed.coordinates] = q
        error = state.model.difference(state.q, wanted, 1.0)[first:end]
        weight = np.full(len(error), self.weight)
        for name in self.without:
            for body in bodies_named(observed, name):
                if body > 0:
                    at = character.v_addresses[body] - 6
                    weight[at : at + V_SIZES[character.bodies[body].kind]] = 0.0
        speed = state.v[first:end] - v[6:]
        return [toward(observed, JointAcceleration((first, end)), error, speed, weight, self.horizon, "follow")]
