"""Swinging from what the hands hold: how far, how fast, and faster. [Jain2009]_ 6.3.

Deviates: the paper's goal is a velocity, all of it; here only its part along the arc counts, so that the body may
shorten and lengthen. Angles are those of the line from the grips' middle to the center of mass against straight down,
about the line through the grips (a bar's axis for one hand); positive where the figure's front is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.body.character import V_SIZES
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.goals.body import SIDES
from poise.goals.conditions import Condition
from poise.goals.goal import HORIZON, Goal, bodies_named, slowing, toward, writes
from poise.goals.observation import Observation
from poise.step import Objective
from poise.step.quantities import ComAcceleration, JointAcceleration

DOWN = np.array([0.0, 0.0, -1.0])
"""Unit direction of gravity in the world."""
STALLED = 0.02
"""Slower than this [m/s] a figure falls back to below its grips, whatever way it went."""


@dataclass(frozen=True)
class Arc:
    """Where on its arc a figure is.

    Attributes:
        angle: [rad].
        speed: Of the center of mass along the arc [m/s].
        ahead: Unit direction along the arc, toward rising angle, shape (3,).
        reach: Largest angle it will come to as a rigid pendulum with its mass in one point, π if it goes round [rad].
    """

    angle: float
    speed: float
    ahead: Array
    reach: float


def arc_about(places: Sequence[Array], left: Array, com: Array, velocity: Array) -> Arc:
    """The arc of a mass about the line through some places.

    Args:
        places: Where it hangs from, at least one [m], shape (3,) each.
        left: Direction of the line where the places do not tell; horizontal, shape (3,).
        com, velocity: Of the mass [m], [m/s], shapes (3,).
    """
    across = places[0] - places[-1]
    across = left if np.linalg.norm(across) < 1e-6 else across / np.linalg.norm(across)
    across = across if across @ left >= 0.0 else -across
    below = com - np.mean(places, axis=0)
    below = below - (below @ across) * across
    down = DOWN - (DOWN @ across) * across
    down = down / max(float(np.linalg.norm(down)), 1e-9)
    front = np.cross(across, DOWN)
    front = -front / max(float(np.linalg.norm(front)), 1e-9)
    angle = float(np.arctan2(below @ front, below @ down))
    ahead = np.cos(angle) * front - np.sin(angle) * down
    speed = float(velocity @ ahead)
    length = max(float(np.linalg.norm(below)), 1e-6)
    reach = float(np.arccos(np.clip(np.cos(angle) - 0.5 * speed**2 / (GRAVITY * length), -1.0, 1.0)))
    return Arc(angle, speed, ahead, reach)


def arc(observed: Observation) -> Arc | None:
    """The arc of a figure on its hands; None where no hand holds on to the world."""
    places: list[Array] = []
    left = np.array([-observed.heading[1], observed.heading[0], 0.0])
    for side in SIDES:
        what = observed.grips.get(f"{side}_hand")
        if what not in {hold.name for hold in observed.scene.holds}:
            continue
        places.append(
            observed.scene.hold(what).nearest(observed.state.centers[observed.body.hands[side][-1]], observed.time)
        )
        axis = observed.scene.hold(what).axis
        left = left if axis is None else np.array(axis) * (1.0 if left @ axis >= 0.0 else -1.0)
    return arc_about(places, left, observed.com, observed.com_velocity) if places else None


@writes("holds")
def take_bar(observed: Observation) -> None:
    """Remember that each hand holds the hold or bar that is nearest to it."""
    for side in SIDES:
        if not len(observed.body.hands[side]):
            continue
        hand = observed.state.centers[observed.body.hands[side][-1]]
        near = [
            (float(np.linalg.norm(hold.nearest(hand, observed.time) - hand)), hold.name)
            for hold in observed.scene.holds
            if hold.exists(observed.time)
        ]
        if near:
            observed.memory[f"{side}_hand reaches"] = min(near)[1]


@dataclass(frozen=True)
class SwingFaster(Goal):
    """The center of mass goes along its arc faster than now: [Jain2009]_ G_cv.

    Attributes:
        weight: Against its acceleration; in the literal form on its velocity.
        gain: Desired gain of speed [m/s]; zero keeps the speed.
        horizon: [s].
    """

    weight: float
    gain: float = 0.5
    horizon: float = HORIZON

    def objectives(self, observed: Observation) -> list[Objective]:
        where = arc(observed)
        if where is None:
            return []
        way = where.speed if abs(where.speed) > STALLED else (where.speed or 1.0) - where.angle
        change = np.array([np.copysign(self.gain, way)])
        quantity = ComAcceleration(of=observed.body.index, along=tuple(where.ahead.tolist()))
        return [slowing(observed, quantity, change, self.weight, self.horizon, "swing faster")]


@dataclass(frozen=True)
class Bent(Goal):
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

    def objectives(self, observed: Observation) -> list[Objective]:
        state, body = observed.state, observed.body
        out: list[Objective] = []
        desired = body.rest.copy()
        for b in (b for name in self.joints for b in bodies_named(observed, name)):
            turn = np.radians(self.degrees) * body.left_axes[b]
            kind = body.character.bodies[b].kind
            step = np.zeros(state.model.nv)
            first = body.joints[0] - 6 + body.character.v_addresses[b]
            end = first + V_SIZES[kind]
            step[first:end] = turn if kind == "ball" else turn @ body.character.bodies[b].axis
            desired = state.model.integrate(desired, step, 1.0)
            error = state.model.difference(state.q, desired, 1.0)[first:end]
            quantity = JointAcceleration((first, end))
            out.append(
                toward(
                    observed,
                    quantity,
                    error,
                    state.v[first:end],
                    self.weight,
                    self.horizon,
                    f"bent {body.character.bodies[b].name}",
                )
            )
        return out


@dataclass(frozen=True)
class SwingsForward(Condition):
    """The center of mass moves forward along its arc, or back no faster than `slack`.

    Attributes:
        is_back: The reverse.
        slack: [m/s].
        below: The swing will not reach this angle [deg].
    """

    is_back: bool = False
    slack: float = 0.1
    below: float = 180.0

    def holds(self, observed: Observation) -> bool:
        where = arc(observed)
        if where is None or where.reach >= np.radians(self.below):
            return False
        return (-where.speed if self.is_back else where.speed) >= -self.slack


@dataclass(frozen=True)
class SwingsBelow(Condition):
    """The swing will not reach an angle [deg]; with `is_above` it will."""

    angle: float
    is_above: bool = False

    def holds(self, observed: Observation) -> bool:
        where = arc(observed)
        return where is not None and (where.reach < np.radians(self.angle)) != self.is_above
