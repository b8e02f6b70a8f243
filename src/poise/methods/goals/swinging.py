"""Swinging from what the hands hold: how far, how fast, and faster. [Jain2009]_ 6.3.

Angles are those of the line from the grips' middle to the center of mass against straight down, about the line through
the grips (a bar's axis for one hand); positive where the figure's front is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.character.character import V_SIZES
from poise.methods.goals.conditions import Condition
from poise.methods.goals.objectives import HORIZON, Wish, slowing, toward
from poise.methods.goals.view import SIDES, View
from poise.step import Objective
from poise.step.quantities import ComAcceleration, JointAcceleration

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Arc:
    """Where on its arc a figure is.

    Attributes:
        angle: [rad].
        length: From the grips to the center of mass [m].
        speed: Of the center of mass along the arc [m/s].
        rise: Of the length [m/s].
        ahead: Unit direction along the arc, toward rising angle, shape (3,).
        away: Unit direction from the grips to the center of mass, shape (3,).
    """

    angle: float
    length: float
    speed: float
    rise: float
    ahead: Array
    away: Array


def arc(view: View) -> Arc | None:
    """The arc of a figure on its hands; None where no hand holds on to the world."""
    places: list[Array] = []
    axis = None
    for side in SIDES:
        what = view.grips.get(f"{side}_hand")
        if what is None or ":" in what:
            continue
        hold = view.scene.hold(what)
        places.append(hold.nearest(view.state.centers[view.body.hands[side][-1]], view.time))
        axis = hold.axis if axis is None else axis
    if not places:
        return None
    across = places[0] - places[-1] if axis is None else np.array(axis)
    left = np.array([-view.heading[1], view.heading[0], 0.0])
    if np.linalg.norm(across) < 1e-6:
        across = left
    across = across / np.linalg.norm(across) * (1.0 if across @ left >= 0.0 else -1.0)
    below = view.com - np.mean(places, axis=0)
    below = below - (below @ across) * across
    down = np.array([0.0, 0.0, -1.0])
    front = np.cross(down, across)
    front = front / max(float(np.linalg.norm(front)), 1e-9)
    angle = float(np.arctan2(below @ front, below @ down))
    ahead, away = np.cos(angle) * front - np.sin(angle) * down, np.sin(angle) * front + np.cos(angle) * down
    length, velocity = float(np.linalg.norm(below)), view.com_velocity
    return Arc(angle, length, float(velocity @ ahead), float(velocity @ away), ahead, away)


@dataclass(frozen=True)
class SwingFaster(Wish):
    """The center of mass goes along its arc faster than now: [Jain2009]_ G_cv.

    Attributes:
        weight: Against its acceleration; in the literal form on its velocity.
        gain: Wished gain of speed [m/s]; zero keeps the speed.
        horizon: [s].
    """

    weight: float
    gain: float = 0.5
    horizon: float = HORIZON

    def objectives(self, view: View) -> list[Objective]:
        where = arc(view)
        if where is None:
            return []
        way = where.speed if abs(where.speed) > STALLED else (where.speed or 1.0) - where.angle
        change = np.array([np.copysign(self.gain, way)])
        quantity = ComAcceleration(of=view.body.index, along=tuple(where.ahead.tolist()))
        return [slowing(view, quantity, change, self.weight, self.horizon, "swing faster")]


@dataclass(frozen=True)
class Bent(Wish):
    """Joints are bent against the pose at rest, about the axis to the figure's left.

    Attributes:
        weight: Against joint accelerations.
        joints: Names or roles of the bodies beyond them.
        degrees: Turn [deg]; negative ones lift hanging legs forward.
        horizon: [s].
    """

    weight: float
    joints: tuple[str, ...]
    degrees: float
    horizon: float = HORIZON

    def objectives(self, view: View) -> list[Objective]:
        state, body = view.state, view.body
        out: list[Objective] = []
        wished = body.rest.copy()
        for name in self.joints:
            b = body.character.body_index(name)
            turn = np.radians(self.degrees) * body.left_axes[b]
            kind = body.character.bodies[b].kind
            step = np.zeros(state.model.nv)
            first = body.joints[0] - 6 + body.character.v_addresses[b]
            end = first + V_SIZES[kind]
            step[first:end] = turn if kind == "ball" else turn @ body.character.bodies[b].axis
            wished = state.model.integrate(wished, step, 1.0)
            error = state.model.difference(state.q, wished, 1.0)[first:end]
            quantity = JointAcceleration((first, end))
            out.append(toward(view, quantity, error, state.v[first:end], self.weight, self.horizon, f"bent {name}"))
        return out


@dataclass(frozen=True)
class SwingsForward(Condition):
    """The center of mass moves forward along its arc, or back no faster than `slack` [m/s]; with `is_back` the reverse."""

    is_back: bool = False
    slack: float = 0.1

    def holds(self, view: View) -> bool:
        where = arc(view)
        return where is not None and (-where.speed if self.is_back else where.speed) >= -self.slack


STALLED = 0.02
"""Slower than this [m/s] a figure falls back to below its grips, whatever way it went."""


@dataclass(frozen=True)
class SwingsBelow(Condition):
    """The figure's arc has not reached an angle [deg], or with `is_above` it has."""

    angle: float
    is_above: bool = False

    def holds(self, view: View) -> bool:
        where = arc(view)
        return where is not None and (abs(where.angle) < np.radians(self.angle)) != self.is_above
