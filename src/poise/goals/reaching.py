"""Hands that go somewhere: to a place, along a circle, to another figure's hand.

Source: [Jain2009]_ G_p. Deviates: a target that moves is followed with its own velocity and acceleration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.goals.memory import reads, writes
from poise.goals.view import View
from poise.goals.wish import HORIZON, Wish, toward
from poise.step import Objective
from poise.step.quantities import PlaceAcceleration

Array = npt.NDArray[np.float64]

HASTE = 30.0
"""Largest acceleration asked of a reaching hand [m/s²]."""


class Target(NamedTuple):
    """Where something shall be, and how it moves there: [m], [m/s], [m/s²], shapes (3,)."""

    place: Array
    velocity: Array
    acceleration: Array


def part_toward(
    view: View, part: str, target: Target, weight: float, horizon: float, label: str, most: float = np.inf
) -> list[Objective]:
    """The middle of a hand's or foot's contact points goes to a target; nothing where the figure has no such part."""
    points = view.part(part)
    if not len(points):
        return []
    state = view.state
    body = int(state.point_body[points[0]])
    points = points[state.point_body[points] == body]
    place = state.centers[points].mean(axis=0)
    offset = state.point_offsets[points].mean(axis=0)
    velocity, _ = state.body_point_motion(body, place)
    wish = toward(
        view,
        PlaceAcceleration(body, offset),
        target.place - place,
        velocity - target.velocity,
        weight,
        horizon,
        label,
        most,
    )
    return [Objective(wish.quantity, wish.target + target.acceleration, wish.weight, label)]


@dataclass(frozen=True)
class Circle(Wish):
    """A hand goes round a circle in the upright plane across the figure's first heading, to a centimeter.

    Attributes:
        weight: Against the hand's acceleration.
        part: "left_hand" or "right_hand".
        ahead, aside, height: Center from the middle of the feet at the start [m], to its own side and up.
        radius: [m].
        period: Of one round [s].
        horizon: [s].
    """

    weight: float
    part: str = "right_hand"
    ahead: float = 0.35
    aside: float = 0.2
    height: float = 1.1
    radius: float = 0.12
    period: float = 3.0
    horizon: float = HORIZON

    def objectives(self, view: View) -> list[Objective]:
        return part_toward(view, self.part, self.target(view), self.weight, self.horizon, "reach", HASTE)

    def target(self, view: View) -> Target:
        """Where the hand shall be now."""
        body, scale = view.body, view.body.scale
        if "reach center" not in view.memory:
            feet = view.state.points[view.foot("both")].mean(axis=0)
            side = np.cross([0.0, 0.0, 1.0], body.forward) * (1.0 if self.part == "left_hand" else -1.0)
            up = np.array([0.0, 0.0, 1.0])
            view.memory["reach center"] = feet + scale * (
                self.ahead * body.forward + self.aside * side + self.height * up
            )
        rate = 2.0 * np.pi / self.period
        angle = rate * view.time
        side = np.cross([0.0, 0.0, 1.0], body.forward)
        out = np.cos(angle) * side + np.sin(angle) * np.array([0.0, 0.0, 1.0])
        on = -np.sin(angle) * side + np.cos(angle) * np.array([0.0, 0.0, 1.0])
        radius = self.radius * scale
        return Target(view.memory["reach center"] + radius * out, radius * rate * on, -radius * rate**2 * out)


@reads("hand")
@dataclass(frozen=True)
class TakeHand(Wish):
    """A hand goes to another figure's nearest hand, and waits there for the grip.

    Attributes:
        weight: Against the hand's acceleration.
        horizon: [s].
    """

    weight: float
    horizon: float = 0.15

    def objectives(self, view: View) -> list[Objective]:
        hand, theirs = view.memory.get("hand"), view.memory.get("their hand points")
        if hand is None or theirs is None or hand in view.grips:
            return []
        state = view.state
        place = state.centers[theirs].mean(axis=0)
        velocity, _ = state.body_point_motion(int(state.point_body[theirs[0]]), place)
        target = Target(place, velocity, np.zeros(3))
        return part_toward(view, hand, target, self.weight, self.horizon, "take hand", HASTE)


@dataclass(frozen=True)
class OfferHand(Wish):
    """A hand is held out toward the nearest other figure, at a height, so that it can be taken.

    It draws back from one who comes too near: a hand against a chest cannot be taken.

    Attributes:
        weight: Against the hand's acceleration.
        part: "left_hand" or "right_hand".
        reach: How far from the middle of the feet [m].
        room: How far it stays from the other's center of mass [m].
        height: Over the ground [m].
        horizon: [s].
    """

    weight: float
    part: str
    reach: float = 0.4
    height: float = 0.85
    room: float = 0.35
    horizon: float = 0.25

    def objectives(self, view: View) -> list[Objective]:
        if not view.people:
            return []
        feet = view.state.points[view.foot("both")].mean(axis=0)
        other = next(iter(view.people.values()))
        away = view.state.com(other.root) - feet
        away[2] = 0.0
        distance = float(np.linalg.norm(away))
        away /= max(distance, 1e-9)
        reach = min(view.body.scale * self.reach, max(distance - other.scale * self.room, 0.0))
        place = feet + reach * away + view.body.scale * np.array([0.0, 0.0, self.height])
        target = Target(place, np.zeros(3), np.zeros(3))
        return part_toward(view, self.part, target, self.weight, self.horizon, "offer hand", HASTE)


@writes("hand", "holds")
def choose_hands(view: View) -> None:
    """Remember the own and the other figure's hand that are nearest to one another, for `TakeHand` and its grip.

    One that already holds a hand keeps it.
    """
    if view.memory.get("hand") in view.grips:
        return
    best = np.inf
    for name, other in view.people.items():
        for part in ("left_hand", "right_hand"):
            own = view.part(part)
            for their_side, points in other.hands.items():
                if not len(own) or not len(points):
                    continue
                away = view.state.centers[own].mean(axis=0) - view.state.centers[points].mean(axis=0)
                distance = float(np.linalg.norm(away))
                if distance < best:
                    best = distance
                    view.memory["hand"], view.memory["their hand points"] = part, points
                    view.memory[f"{part} reaches"] = f"{name}:{their_side}_hand"
