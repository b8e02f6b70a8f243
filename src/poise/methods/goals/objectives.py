"""Kinematic goals as data: each says where something should be, how fast, and how much it matters.

A goal has two forms. With a horizon H it asks for the acceleration of a critically fast spring,

    ẍ = (x₀ − x − H ẋ) 2 / H²,

so that how fast (H) and how important (weight) are separate. In the paper's literal form it asks the next step itself
to be there, w ‖x + Δt ẋ⁺ − x₀‖², which in accelerations is the same with H² / 2 → Δt² and weight w Δt⁴.

Source: [Jain2009]_ sections 4 … 6, appendix B. Deviates: a point's J̇ v, which appendix B leaves out, is kept.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from poise.character.character import V_SIZES
from poise.methods.goals.view import View
from poise.step import Objective, Quantity
from poise.step.quantities import (
    AxisAcceleration,
    ComAcceleration,
    ContactForce,
    JointAcceleration,
    PlaceAcceleration,
    PointAcceleration,
)

Array = npt.NDArray[np.float64]

HORIZON = 0.1
"""How soon a goal wants to be met when it does not say [s]."""
UP = np.array([0.0, 0.0, 1.0])
LANDING = 60.0
"""Largest acceleration asked of a foot that is laid down, over all its points [m/s²]."""


class Wish(abc.ABC):
    """One goal of a controller, as data."""

    @abc.abstractmethod
    def objectives(self, view: View) -> list[Objective]:
        """What it adds to this step."""


def toward(
    view: View, quantity: Quantity, error: Array, speed: Array, weight: Array | float, horizon: Array | float,
    label: str, most: float = np.inf,
) -> Objective:  # fmt: skip
    """The objective that brings an error x₀ − x to zero, in the view's form.

    Args:
        view: Says which form, and Δt.
        quantity: The acceleration ẍ.
        error: x₀ − x, one number a row.
        speed: ẋ.
        weight: Of the acceleration with a horizon, of the place itself in the literal form.
        horizon: H [s].
        label: Name in reports.
        most: Largest acceleration asked for; nobody can do everything at once.
    """
    if view.is_literal:
        dt = view.dt
        return Objective(quantity, (error - dt * speed) / dt**2, np.asarray(weight) * dt**4, label)
    wished = (error - horizon * speed) * (2.0 / horizon**2)
    if most < np.inf and (size := float(np.linalg.norm(wished))) > most:
        wished = wished * (most / size)
    return Objective(quantity, wished, weight, label)


def slowing(
    view: View, quantity: Quantity, change: Array, weight: Array | float, horizon: float, label: str
) -> Objective:
    """The objective that brings a change of velocity about, within H, or in this step in the literal form."""
    if view.is_literal:
        return Objective(quantity, change / view.dt, np.asarray(weight) * view.dt**2, label)
    return Objective(quantity, change / horizon, weight, label)


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
    """The contact forces on a foot or hand go to zero: [Jain2009]_ G_c. The weight is per kN²."""

    weight: float
    part: str = "swing"

    def objectives(self, view: View) -> list[Objective]:
        return [Objective(ContactForce(view.part(self.part)), 0.0, self.weight * 1e-6, "unload")]


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


def place_toward(view: View, body: int, offset: Array, place: Array, weight: float, horizon: float) -> Objective:
    """A place on a body goes to a point of the world."""
    state, model_body = view.state, view.body.root + body
    here = state.body_place(model_body, offset)
    velocity, _ = state.body_point_motion(model_body, here)
    return toward(view, PlaceAcceleration(model_body, offset), place - here, velocity, weight, horizon, "reach")


def axis_toward(
    view: View, body: int, axis: Array, wished: Array, weight: float, horizon: float, label: str
) -> Objective:
    """An axis of a body turns to a unit direction of the world; only the part across that direction counts."""
    data, model_body = view.state.data, view.body.root + body
    u = data.xmat[model_body].reshape(3, 3) @ axis
    turn = data.cvel[model_body, :3]
    speed = _cross(turn, u)
    across = _square_to(*wished.tolist())
    return toward(view, AxisAcceleration(model_body, axis, across), -across @ u, across @ speed, weight, horizon, label)


@lru_cache
def _square_to(x: float, y: float, z: float) -> Array:
    """Two unit directions square to a third and to each other, shape (2, 3)."""
    wished = np.array([x, y, z])
    first = _cross(wished, np.eye(3)[int(np.argmin(np.abs(wished)))])
    first /= np.sqrt(first @ first)
    across = np.stack([first, _cross(wished, first)])
    across.setflags(write=False)
    return across


def _cross(a: Array, b: Array) -> Array:
    """The cross product of two vectors; NumPy's own takes ten times as long for three numbers."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def bodies_named(view: View, name: str) -> list[int]:
    """Bodies behind a name: "feet", "swing", "stance", "stance leg", "arms" (of the hands noted), a role or joint."""
    index = view.body.character.body_index
    if name == "arms":
        sides = [hand.removesuffix("_hand") for hand in view.memory.get("hands", ())]
        return [index(f"{side}_{part}") for side in sides for part in ("shoulder", "elbow", "hand")]
    if name == "feet":
        return [index("left_foot"), index("right_foot")]
    if name in ("swing leg", "stance leg"):
        side = view.memory.get(name.removesuffix(" leg"))
        return [index(f"{side}_{part}") for part in ("hip", "knee", "foot")] if side else []
    if name in ("swing", "stance"):
        side = view.memory.get(name)
        return [index(f"{side}_foot")] if side else []
    return [index(name)]
