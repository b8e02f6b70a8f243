"""Kinematic goals as data: each says where something should be, how fast, and how much it matters.

Source: [Jain2009]_ sections 4 … 6; the two forms of each are those of `wish`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.body.anthropometry import PERSON_MASS
from poise.body.character import V_SIZES
from poise.goals.view import View
from poise.goals.wish import HORIZON, UP, Wish, axis_toward, bodies_named, place_toward, slowing, toward
from poise.step import Objective
from poise.step.quantities import ComAcceleration, ContactForce, JointAcceleration, PointAcceleration

Array = npt.NDArray[np.float64]

LANDING = 60.0
"""Largest acceleration asked of a foot that is laid down, over all its points [m/s²]."""


@dataclass(frozen=True)
class ComOver(Wish):
    """The center of mass stands over a foot's support: [Jain2009]_ G_cp, and G_cf with one foot.

    Attributes:
        weight: Against its acceleration.
        foot: "both", "left", "right", "swing" or "stance".
        horizon: [s].
        near: Points at most this far over the ground count as support [m].
    """

    weight: float
    foot: str = "both"
    horizon: float = HORIZON
    near: float = 0.03

    def objectives(self, view: View) -> list[Objective]:
        error = view.support_center(self.foot, self.near * view.body.scale) - view.com[:2]
        return [
            toward(
                view,
                ComAcceleration("xy", of=view.body.index),
                error,
                view.com_velocity[:2],
                self.weight,
                self.horizon,
                "com over feet",
            )
        ]


@dataclass(frozen=True)
class ComeToRest(Wish):
    """The capture point goes to the center of the support, as fast as a foot that pushes there could bring it.

    The inverted pendulum with its pressure point beyond the capture point, r̈ = ω² (r − p), p = ξ + gain (ξ − center).

    Attributes:
        weight: Against the acceleration of the center of mass.
        gain: Rate of the capture point, in ω.
        foot: As in `ComOver`.
        near: Points at most this far over the ground count as support [m].
        most: Largest acceleration asked for [m/s²].
    """

    weight: float
    gain: float = 1.5
    foot: str = "both"
    near: float = 0.03
    most: float = 6.0

    def objectives(self, view: View) -> list[Objective]:
        center = view.support_center(self.foot, self.near * view.body.scale)
        omega, v = view.pendulum, view.com_velocity[:2]
        wished = -omega * v - self.gain * omega**2 * (view.capture_point - center)
        size = float(np.linalg.norm(wished))
        wished = wished if size <= self.most else wished * (self.most / size)
        return [Objective(ComAcceleration("xy", of=view.body.index), wished, self.weight, "come to rest")]


@dataclass(frozen=True)
class ComHeight(Wish):
    """The center of mass keeps a height over the ground, in parts of its height at rest, lower over feet far apart."""

    weight: float
    height: float = 1.0
    horizon: float = HORIZON

    def objectives(self, view: View) -> list[Objective]:
        wished = view.ground_height + self.height * view.body.com_height - view.stretch
        error, speed = np.array([wished - view.com[2]]), view.com_velocity[2:]
        quantity = ComAcceleration("z", of=view.body.index)
        return [toward(view, quantity, error, speed, self.weight, self.horizon, "com height")]


@dataclass(frozen=True)
class Upright(Wish):
    """A body's own up axis points up: [Jain2009]_ G_spine for the chest. Its error is the sine of the tilt.

    Attributes:
        weight: Against the second rate of the axis.
        bodies: Names or roles of bodies; "feet" are both feet, "swing" and "stance" one of them.
        horizon: [s].
    """

    weight: float
    bodies: tuple[str, ...] = ("chest",)
    horizon: float = HORIZON

    def objectives(self, view: View) -> list[Objective]:
        out: list[Objective] = []
        for name in self.bodies:
            for body in bodies_named(view, name):
                axis = view.body.up_axes[body]
                out.append(axis_toward(view, body, axis, UP, self.weight, self.horizon, f"upright {name}"))
        return out


@dataclass(frozen=True)
class Facing(Wish):
    """Bodies, by default the pelvis, keep the heading they had when the run began.

    Attributes:
        weight: Against the second rate of the axis that points ahead.
        horizon: [s].
        bodies: Names as in `Upright`.
    """

    weight: float
    horizon: float = HORIZON
    bodies: tuple[str, ...] = ("pelvis",)

    def objectives(self, view: View) -> list[Objective]:
        body, out = view.body, []
        for b in (b for name in self.bodies for b in ([0] if name == "pelvis" else bodies_named(view, name))):
            axis = np.cross(body.left_axes[b], body.up_axes[b])
            out.append(axis_toward(view, b, axis, body.forward, self.weight, self.horizon, "facing"))
        return out


@dataclass(frozen=True)
class Still(Wish):
    """Joints come to rest: [Jain2009]_ G_qv. The root is left out unless asked for."""

    weight: float
    horizon: float = HORIZON
    root: bool = False

    def objectives(self, view: View) -> list[Objective]:
        first, end = view.body.joints
        first -= 6 if self.root else 0
        change = -view.state.v[first:end]
        return [slowing(view, JointAcceleration((first, end)), change, self.weight, self.horizon, "still")]


@dataclass(frozen=True)
class Pose(Wish):
    """Joints go to their pose at rest: [Jain2009]_ G_pose.

    Attributes:
        weight: Against joint accelerations.
        horizon: [s].
        only: Bodies meant; all but the root if empty.
        without: Bodies left free; "arms" are those of the hands that the machine remembers.
    """

    weight: float
    horizon: float = HORIZON
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def objectives(self, view: View) -> list[Objective]:
        state, character = view.state, view.body.character
        first, end = view.body.joints
        error = state.model.difference(state.q, view.body.rest, 1.0)[first:end]
        chosen = np.full(len(error), not self.only)
        for names, value in ((self.only, True), (self.without, False)):
            for body in (b for name in names for b in bodies_named(view, name)):
                if body > 0:
                    at = character.v_addresses[body] - 6
                    chosen[at : at + V_SIZES[character.bodies[body].kind]] = value
        weight = np.where(chosen, self.weight, 0.0)
        quantity = JointAcceleration((first, end))
        return [toward(view, quantity, error, state.v[first:end], weight, self.horizon, "pose")]


@dataclass(frozen=True)
class Unload(Wish):
    """The contact forces on a foot or hand go to zero: [Jain2009]_ G_c. The weight is per kN² for a grown-up's mass."""

    weight: float
    part: str = "swing"

    def objectives(self, view: View) -> list[Objective]:
        weight = self.weight if view.is_literal else self.weight * (PERSON_MASS / view.body.character.mass) ** 2
        return [Objective(ContactForce(view.part(self.part)), 0.0, 1e-6 * weight, "unload")]


@dataclass(frozen=True)
class Land(Wish):
    """Feet that hang near the ground are laid flat on it.

    Attributes:
        weight: Against the acceleration of sole points.
        flat: Weight of turning the foot level.
        horizon: [s].
    """

    weight: float
    flat: float = 0.3
    horizon: float = 0.06

    def objectives(self, view: View) -> list[Objective]:
        out: list[Objective] = []
        for side, points in view.body.feet.items():
            hanging = points[~view.touching[points]]
            if len(points) - len(hanging) >= 4 or (points[:, None] == view.trailing).any():
                continue
            out += Upright(self.flat, (f"{side}_foot",)).objectives(view)
            # down, and at rest over the ground: a foot that skids off again bears nothing
            axes = np.tile(np.eye(3), (len(hanging), 1, 1))
            error = np.zeros((len(hanging), 3))
            error[:, 2] = -0.003 - view.gaps[hanging]
            speed = view.state.point_velocities[hanging].ravel()
            quantity = PointAcceleration(hanging, axes)
            out.append(toward(view, quantity, error.ravel(), speed, self.weight, self.horizon, "landing", most=LANDING))
        return out


@dataclass(frozen=True)
class Reach(Wish):
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

    def objectives(self, view: View) -> list[Objective]:
        body = view.body.character.body_index(self.body)
        return [place_toward(view, body, view.body.tips[body], np.array(self.place), self.weight, self.horizon)]
