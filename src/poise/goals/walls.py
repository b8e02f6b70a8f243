"""Walls as support: which hand, when it is on its way, when it leans, and where it goes.

Source: [Jain2009]_ 6.1.3: the hand reaches for the nearest point on the wall, its own projection. Deviates: only the
nearest hand reaches, with the other if that is as near; a hand goes a part of the way up to the shoulder (a push at hip
height cannot turn the trunk); no step begins while a hand carries; and a hand that carries may slide and leave, since
one that is kept at its place holds the figure that wants to stand up again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.goals.body import SIDES
from poise.goals.conditions import Balanced, Condition
from poise.goals.goal import UP, Goal, axis_toward, reads, toward, writes
from poise.goals.observation import Observation, Within, reachable
from poise.step import Objective
from poise.step.quantities import PlaceAcceleration

QUICK = 80.0
"""Largest acceleration asked of a hand [m/s²]."""
AS_NEAR = 0.05
"""A second hand reaches along if its way is longer by no more than this [m]."""
LONGEST = 0.97
"""A hand whose arm is stretched further, in parts of its length, has nothing to push with."""


def near_hands(observed: Observation) -> dict[str, Within]:
    """The hand nearest to a wall that it sees and can reach, and the other if that is as near, each with where.

    Only walls toward which the figure falls.
    """
    found: list[tuple[float, str, Within]] = []
    off = observed.capture_point - observed.support_center("both", 0.03 * observed.body.scale)
    for side in SIDES:
        hand = f"{side}_hand"
        if len(observed.body.hands[side]):
            ahead = [w for w in reachable(observed, hand, kinds=("wall",)) if off @ w.normal[:2] < 0.0]
            found += [(w.distance, hand, w) for w in ahead[:1]]
    found.sort(key=lambda f: f[:2])
    return {hand: w for away, hand, w in found if away <= found[0][0] + AS_NEAR * observed.body.scale}


@writes("hands")
def choose_wall_hands(observed: Observation) -> None:
    """Remember the hands that reach for a wall: those that touch one and those chosen before, else the nearest.

    The memory gets "hands", their names, and for each "left_hand wall" or "right_hand wall", the wall's name.
    """
    near = near_hands(observed)
    touching = {h: w for side in SIDES if is_on(observed, h := f"{side}_hand") for w in reachable(observed, h, 0.0)[:1]}
    if touching:
        near = {
            **{h: w for h, w in walls_in_reach(observed).items() if h in observed.memory.get("hands", ())},
            **touching,
        }
    observed.memory["hands"] = tuple(sorted(near))
    for hand, within in near.items():
        observed.memory[f"{hand} wall"] = within.name


def walls_in_reach(observed: Observation, margin: float = 1.0 - LONGEST) -> dict[str, Within]:
    """The remembered hands that could still reach their walls, and where."""
    out: dict[str, Within] = {}
    for hand in observed.memory.get("hands", ()):
        wall = observed.memory.get(f"{hand} wall")
        for within in reachable(observed, hand, margin, kinds=("wall",), is_blind=True):
            if within.name == wall:
                out[hand] = within
    return out


def is_on(observed: Observation, hand: str) -> bool:
    """Whether a hand touches."""
    return bool(observed.touching[observed.part(hand)].any())


@reads("hands")
@dataclass(frozen=True)
class Reaching(Condition):
    """Hands are on their way to walls in reach, for no longer than `seconds`."""

    seconds: float = 0.6

    def holds(self, observed: Observation) -> bool:
        if observed.time_in_state >= self.seconds:
            return False
        return not observed.touching[observed.part("hands")].any() and bool(walls_in_reach(observed))


@reads("hands")
@dataclass(frozen=True)
class Leaning(Condition):
    """A hand carries, and the figure could not do without.

    It ends when no hand has touched for a while, when the figure could have stood without for a while, when it falls
    away from the wall, when the hand does not stop it, or after a while that has not been enough.

    Attributes:
        lost: [s].
        settled: [s].
        patience: How long a hand may take to stop it [s].
        speed: Toward the wall, at which it counts as stopped [m/s].
        longest: [s].
        calm: Of the center of mass, below which the figure could stand without [m/s].
    """

    lost: float = 0.1
    settled: float = 0.2
    patience: float = 0.3
    speed: float = 0.15
    longest: float = 1.5
    calm: float = 0.2

    def holds(self, observed: Observation) -> bool:
        memory, touches = observed.memory, bool(observed.touching[observed.part("hands")].any())
        if observed.time_in_state == 0.0:
            memory["unsettled"] = memory["leaned"] = observed.time
            return touches
        if touches:
            memory["leaned"] = observed.time
        if float(np.linalg.norm(observed.com_velocity[:2])) > self.calm:
            memory["unsettled"] = observed.time
        walls = list(walls_in_reach(observed, -1.0).values())
        if not Balanced(margin=0.02).holds(observed):
            memory["unsettled"] = observed.time
            off = observed.capture_point - observed.support_center("both", 0.03 * observed.body.scale)
            normals = [within.normal[:2] for within in walls]
            if all(off @ normal > 0.0 for normal in normals):
                return False
            if observed.time_in_state > self.patience and all(
                observed.com_velocity[:2] @ n < -self.speed for n in normals
            ):
                return False
        if observed.time_in_state > self.longest or (
            observed.time_in_state > self.patience and all(w.stretch > LONGEST for w in walls)
        ):
            return False
        return observed.time - memory["leaned"] < self.lost and observed.time - memory["unsettled"] < self.settled


@dataclass(frozen=True)
class HandsFree(Condition):
    """No hand has touched a wall for so long that it could be taken away [s]."""

    seconds: float = 0.5

    def holds(self, observed: Observation) -> bool:
        hands = [f"{side}_hand" for side in SIDES]
        if not any(
            is_on(observed, hand) and reachable(observed, hand, 0.0, kinds=("wall",), is_blind=True) for hand in hands
        ):
            observed.memory["hands free"] = observed.time
        return (
            observed.time_in_state < self.seconds
            or observed.time - observed.memory.get("hands free", 0.0) < self.seconds
        )


@reads("hands", unless="is_nearest")
@dataclass(frozen=True)
class Brace(Goal):
    """The remembered hands go to their walls, fingers along them.

    Attributes:
        weight: Against the acceleration of a hand on its way.
        is_nearest: Use the hands nearest to a wall now instead of those in the memory.
        flat: Weight of turning the fingers along the wall.
        horizon: [s].
        raised: Part of the way up from the hand's height to the shoulder's.
    """

    weight: float
    is_nearest: bool = False
    flat: float = 0.4
    horizon: float = 0.1
    raised: float = 0.6

    def objectives(self, observed: Observation) -> list[Objective]:
        out: list[Objective] = []
        for hand, within in (near_hands(observed) if self.is_nearest else walls_in_reach(observed)).items():
            out += self._hand(observed, hand, within)
        return out

    def _hand(self, observed: Observation, hand: str, within: Within) -> list[Objective]:
        if is_on(observed, hand):
            return []
        character, data = observed.body.character, observed.state.data
        body, side = character.roles[hand], hand.removesuffix("_hand")
        model_body = observed.body.root + body
        middle, velocity = observed.middle(observed.part(hand))
        offset = observed.state.body_offset(model_body, middle)
        quantity = PlaceAcceleration(model_body, offset)
        shoulder = data.xpos[observed.body.root + character.roles[f"{side}_shoulder"]]
        place = within.place + self.raised * max(float(shoulder[2] - within.place[2]), 0.0) * UP - 0.01 * within.normal
        most = QUICK * observed.body.scale
        out = [
            toward(
                observed, quantity, place - middle, velocity, self.weight, self.horizon, "brace", max_acceleration=most
            )
        ]
        arm = data.xpos[model_body] - data.xpos[observed.body.root + character.roles[f"{side}_elbow"]]
        along = 0.5 * arm / np.linalg.norm(arm) + UP
        along -= (along @ within.normal) * within.normal
        size = float(np.linalg.norm(along))
        if size > 0.1:
            tip = observed.body.tips[body]
            axis, desired = tip / np.linalg.norm(tip), along / size
            now = data.xmat[model_body].reshape(3, 3) @ axis
            if desired @ now < 0.2:
                # an axis that points the other way would stay there: a large turn goes by way of the wall
                desired = (now - within.normal) / max(float(np.linalg.norm(now - within.normal)), 1e-9)
            out.append(axis_toward(observed, body, axis, desired, self.flat, self.horizon, "fingers along the wall"))
        return out
