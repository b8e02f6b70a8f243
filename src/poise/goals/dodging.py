"""Out of the way of what flies: points of the body near the line of flight move away from it.

Source: [Jain2009]_ 6.1.4, G_dodge = −w Σ dist(xᵢ, l). Deviates: by default each point aims for the velocity that
clears the line in the time that is left, and all of the trunk goes to one side; the paper's own form, a distance
linearized so that the problem stays convex, is kept as the literal one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.goals.conditions import Condition
from poise.goals.goal import Goal, slowing
from poise.goals.observation import BallState, Observation, sees
from poise.step import Objective
from poise.step.quantities import PlaceAcceleration


@dataclass(frozen=True)
class Threat:
    """A thing on its way to a figure.

    Attributes:
        thing: What flies.
        place: Of its middle when it passes the figure [m], shape (3,).
        way: Its unit direction then, shape (3,).
        seconds: Until then [s].
    """

    thing: BallState
    place: Array
    way: Array
    seconds: float

    def away(self, place: Array) -> Array:
        """From the line of flight to a place, square to the line [m], shape (3,)."""
        off = place - self.place
        return off - (off @ self.way) * self.way


def threats(observed: Observation, soon: float = 1.0, near: float = 1.0) -> list[Threat]:
    """What the figure sees flying toward it, the soonest first.

    Args:
        observed: Of the figure.
        soon: Things that need longer are not a threat yet [s].
        near: Things whose line passes farther from the center of mass are none [m].
    """
    out: list[Threat] = []
    for thing in observed.balls:
        across = thing.velocity[:2]
        speed = float(across @ across)
        if not thing.is_free or speed < 1.0 or not sees(observed, thing.place):
            continue
        seconds = float((observed.com[:2] - thing.place[:2]) @ across) / speed
        if not 0.0 < seconds < soon:
            continue
        drop = np.array([0.0, 0.0, -GRAVITY])
        place = thing.place + seconds * thing.velocity + 0.5 * seconds**2 * drop
        way = thing.velocity + seconds * drop
        threat = Threat(thing, place, way / np.linalg.norm(way), seconds)
        if float(np.linalg.norm(threat.away(observed.com))) < near * observed.body.scale:
            out.append(threat)
    return sorted(out, key=lambda t: (t.seconds, t.thing.ball.name))


@dataclass(frozen=True)
class Threatened(Condition):
    """Something flies toward the figure, and it has seen it; the memory gets "side THING", where the trunk goes.

    Attributes:
        harmful: Only what is to be feared.
        linger: How long the state goes on after it has passed [s].
    """

    harmful: bool = False
    linger: float = 0.1

    def holds(self, observed: Observation) -> bool:
        for threat in threats(observed):
            if threat.thing.ball.harmful or not self.harmful:
                note_side(observed, threat)
                observed.memory["threatened"] = observed.time
        return observed.time - observed.memory.get("threatened", -np.inf) <= self.linger


@dataclass(frozen=True)
class Safe(Condition):
    """Nothing flies toward the figure that it has seen."""

    def holds(self, observed: Observation) -> bool:
        return not threats(observed)


def note_side(observed: Observation, threat: Threat) -> None:
    """Remember the level direction square to the line of flight in which the trunk goes: the shorter way out."""
    name = f"side {threat.thing.ball.name}"
    if name not in observed.memory:
        level = np.array([-threat.way[1], threat.way[0], 0.0])
        level /= max(float(np.linalg.norm(level)), 1e-9)
        off = [threat.away(place) @ level for place in _places(observed)[observed.body.trunk]]
        observed.memory[name] = level if float(np.mean(off)) >= 0.0 else -level


@dataclass(frozen=True)
class Dodge(Goal):
    """Points near the line of flight move away from it, as fast as the time that is left asks for.

    Attributes:
        weight: Against their acceleration; for a point on the line itself, falling to zero at `near`. In the literal
            form the weight of a distance, from a third of it at `near` up to all of it.
        clear: Distance that the line shall keep from the middle of each body [m].
        near: Points farther from the line stay as they are [m].
        max_speed: Largest velocity asked for [m/s].
        horizon: [s].
    """

    weight: float
    clear: float = 0.35
    near: float = 1.0
    max_speed: float = 2.5
    horizon: float = 0.1

    def objectives(self, observed: Observation) -> list[Objective]:
        out: list[Objective] = []
        for threat in threats(observed):
            for body, place in enumerate(_places(observed)):
                out += self._point(observed, threat, body, place)
        return out

    def _point(self, observed: Observation, threat: Threat, body: int, place: Array) -> list[Objective]:
        away = threat.away(place)
        scale, size = observed.body.scale, float(np.linalg.norm(away))
        side = observed.memory.get(f"side {threat.thing.ball.name}")
        if size > self.near * scale:
            return []
        if body in observed.body.trunk and side is not None:
            axis, off = side, float(away @ side)
        else:
            axis, off = (away / size if size > 1e-6 else np.array([0.0, 0.0, 1.0])), size
        model_body = observed.body.root + body
        offset = observed.state.body_offset(model_body, place)
        quantity = PlaceAcceleration(model_body, offset, axis[None])
        if observed.is_literal:
            nearness = self.near * scale / max(size, self.near * scale / 3.0)
            return [_pushed_up(observed, quantity, self.weight * nearness / 3.0)]
        lacking = self.clear * scale + threat.thing.ball.radius - off
        if lacking <= 0.0:
            return []
        speed = min(lacking / max(threat.seconds, self.horizon), self.max_speed)
        velocity, _ = observed.state.body_point_motion(model_body, place)
        change = np.array([speed - float(velocity @ axis)])
        weight = self.weight * max(0.0, 1.0 - size / (self.near * scale))
        return [slowing(observed, quantity, change, weight, self.horizon, "dodge")]


def _pushed_up(observed: Observation, quantity: PlaceAcceleration, weight: float) -> Objective:
    """A term −w Δt² (u · a), linear part of −w dist(x + Δt ẋ⁺, l): a weak square with a far target."""
    slope, tiny = weight * observed.dt**2, 1e-4 * weight * observed.dt**4
    return Objective(quantity, np.array([slope / (2.0 * tiny)]), tiny, "dodge")


def _places(observed: Observation) -> Array:
    """Centers of mass of the figure's bodies [m], shape (B, 3)."""
    first = observed.body.root
    return observed.state.data.xipos[first : first + len(observed.body.character.bodies)]
