"""Climbing: which limb moves next and to which hold, how it gets there, and where the body stays meanwhile.

Source: [Jain2009]_ 6.2. Deviates: feet only push, so the mass is kept over those that stay and near the wall; a foot
goes around the holds on its way, off the wall and down on its hold from above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.body.character import hold_points
from poise.core.errors import UnknownName
from poise.core.typing import Array
from poise.goals.conditions import Condition
from poise.goals.goal import UP, Goal, place_toward, reads, toward, writes
from poise.goals.observation import FLOOR, Observation, reachable, socket
from poise.goals.stepping import SwingFoot, outward, swing_foot
from poise.goals.surroundings import Hold
from poise.step import Objective
from poise.step.quantities import ComAcceleration, PlaceAcceleration

LIMBS = ("left_hand", "right_hand", "left_foot", "right_foot")
TIERS = ((0.15, 0.02, 0.38), (0.04, -0.15, 0.32), (-0.3, -0.2, 0.3))
"""What makes a hold worth moving to, and what has to do where there is no such: how much higher than the one before,
how far on the limb's own side of the body, in a grown-up [m], and, for feet, how far below the hip in legs' lengths."""
DOOR = 0.15
"""Three limbs hold the body while the fourth moves. How far beside the span of the two alike, a foot under two hands or
a hand over two feet, the third may be in a grown-up [m]: farther out, and the body swings around them like a door."""
BEHIND = 4
"""So many holds a limb has left do not count where it must go down or across [count]."""
OPENING = 0.05
"""A limb that moves has let go after this time [s]."""


def limb_place(observed: Observation, part: str) -> tuple[int, Array]:
    """Body (of the character) and place in its frame [m] with which a limb meets a hold: fingers, ball of the foot."""
    character = observed.body.character
    offsets = [character.contact_points[i].offset for i in hold_points(character, part)]
    return character.roles[part], np.mean(offsets, axis=0)


def where(observed: Observation, part: str) -> Array:
    """Where a limb's fingers or ball are [m], shape (3,)."""
    body, offset = limb_place(observed, part)
    return observed.state.body_place(observed.body.root + body, offset)


@writes("holds")
def settle(observed: Observation) -> None:
    """Remember that no limb moves; the first time, that each is on the hold that is nearest to it."""
    observed.memory["moves"] = False
    for part in LIMBS:
        if f"{part} reaches" in observed.memory:
            continue
        here = where(observed, part)
        near = min(observed.scene.holds, key=lambda h: float(np.linalg.norm(h.nearest(here, observed.time) - here)))
        observed.memory[f"{part} reaches"] = near.name


@writes("mover")
def choose_hand(observed: Observation) -> None:
    """Remember as "mover" the lower hand and its next hold, if it is a hand's turn."""
    _choose(observed, "hand")


@writes("mover")
def choose_foot(observed: Observation) -> None:
    """Remember as "mover" the lower foot and its next hold, if it is a foot's turn."""
    _choose(observed, "foot")


def _choose(observed: Observation, kind: str) -> None:
    other = "foot" if kind == "hand" else "hand"
    choice = next_hold(observed, kind)
    if observed.memory.get("last kind") == kind and next_hold(observed, other) is not None:
        choice = None
    observed.memory["mover"] = observed.memory["mover target"] = None
    observed.memory["moves"] = choice is not None
    if choice is not None:
        observed.memory["mover"], observed.memory["mover target"] = choice
        observed.memory["last kind"] = kind
        before = observed.memory.get(f"{choice[0]} left", ())
        observed.memory[f"{choice[0]} left"] = (*before, observed.memory[f"{choice[0]} reaches"])[-BEHIND:]
        observed.memory[f"{choice[0]} reaches"] = choice[1]


def next_hold(observed: Observation, kind: str) -> tuple[str, str] | None:
    """The lowest hand or foot that has a hold to move to, and the nearest such hold; None if there is none.

    Args:
        observed: Of the figure.
        kind: "hand" or "foot".
    """
    limbs = [p for p in LIMBS if p.endswith(kind)]
    heights = {p: float(where(observed, p)[2]) if p in observed.grips else -np.inf for p in limbs}
    limbs.sort(key=lambda p: (heights[p], p))
    near = {p: reachable(observed, p, 0.0, is_blind=kind == "foot", kinds=("hold", "bar")) for p in limbs}
    left = np.array([-observed.heading[1], observed.heading[0], 0.0])
    scale, used = observed.body.scale, set(observed.grips.values())
    beside = {p: float(where(observed, p) @ left) for p in LIMBS}
    others = [beside[p] for p in LIMBS if not p.endswith(kind)]
    stays = {p: beside[q] for p, q in (limbs, limbs[::-1])}
    free = [p for p in limbs if _outside(stays[p], others) < DOOR * scale]
    for tier, (gain, aside, below) in enumerate(TIERS):
        for part in free:
            side = 1.0 if part.startswith("left") else -1.0
            hip = socket(observed, part)
            highest = np.inf if kind == "hand" else hip.place[2] - below * hip.length
            known = observed.memory.get(f"{part} left", ()) if tier + 1 == len(TIERS) else ()
            for within in near[part]:
                is_up = heights[part] + gain * scale < within.place[2] < highest
                is_beside = side * float((within.place - observed.com) @ left) > aside * scale
                if not (is_up and is_beside) or within.name in used or within.name in known:
                    continue
                at = float(within.place @ left)
                doors = [_outside(at, others), *(_outside(other, [at, stays[part]]) for other in others)]
                if tier + 1 == len(TIERS) or max(doors) < DOOR * scale:
                    return part, within.name
    return None


def _outside(place: float, span: Sequence[float]) -> float:
    """How far a place lies beside a span [m]."""
    return max(min(span) - place, place - max(span), 0.0)


@reads("mover")
@dataclass(frozen=True)
class HasHold(Condition):
    """A hand or foot has been chosen that has a hold to move to, and it still carries weight.

    Attributes:
        force: Weight under which it counts as free, in parts of body weight.
        least, seconds: How long this takes at least and at most [s].
    """

    force: float = 0.05
    least: float = 0.1
    seconds: float = 0.6

    def holds(self, observed: Observation) -> bool:
        mover = observed.memory.get("mover")
        if mover is None or observed.time_in_state > self.seconds:
            return False
        return observed.time_in_state < self.least or observed.load(observed.part(mover)) > self.force * observed.weight


@reads("mover")
@dataclass(frozen=True)
class OnTheWay(Condition):
    """The moving limb has not arrived on its hold, and has some time left [s]."""

    seconds: float = 2.0

    def holds(self, observed: Observation) -> bool:
        mover = observed.memory.get("mover")
        return (
            mover is not None
            and (observed.time_in_state < OPENING or mover not in observed.grips)
            and observed.time_in_state < self.seconds
        )


@dataclass(frozen=True)
class Settling(Condition):
    """The body is still on its way to where it wants to be: [Jain2009]_ allSupport.

    Attributes:
        least, seconds: How long this takes at least and at most [s].
        speed: Slower than this it is at rest [m/s].
    """

    least: float = 0.25
    seconds: float = 1.0
    speed: float = 0.15

    def holds(self, observed: Observation) -> bool:
        if observed.time_in_state < self.least:
            return True
        off = body_goal(observed) - observed.com
        moves = float(np.linalg.norm(observed.com_velocity)) > self.speed or float(np.linalg.norm(off)) > 0.12
        return moves and observed.time_in_state < self.seconds


@dataclass(frozen=True)
class Climb(Goal):
    """The center of mass goes up between hands and feet, near the wall, over those that stay: [Jain2009]_ G_com.

    Attributes:
        weight: Against its acceleration.
        horizon: [s].
    """

    weight: float
    horizon: float = 0.35

    def objectives(self, observed: Observation) -> list[Objective]:
        quantity = ComAcceleration(of=observed.body.index)
        error = body_goal(observed) - observed.com
        return [
            toward(
                observed,
                quantity,
                error,
                observed.com_velocity,
                self.weight,
                self.horizon,
                "climb",
                max_acceleration=8.0,
            )
        ]


def body_goal(observed: Observation, away: float = 0.25, reach: float = 0.92, under: float = 0.25) -> Array:
    """Where the center of mass wants to be [m], shape (3,).

    Args:
        observed: Of the figure.
        away: Distance from the holds, in a grown-up [m].
        reach: How far the legs are straightened, in parts of their length.
        under: How far under the hands it stays, in a grown-up [m].
    """
    scale = observed.body.scale
    places = {p: observed.scene.hold(h).middle(observed.time) for p, h in observed.grips.items() if p in LIMBS}
    if not places:
        return observed.com
    mover = observed.memory.get("mover") if observed.memory.get("moves") else None
    stays = {p: x for p, x in places.items() if p != mover}
    ahead = np.array([*observed.heading, 0.0])
    left = np.array([-ahead[1], ahead[0], 0.0])
    middle = np.mean(list(places.values()), axis=0)
    feet = [x for p, x in stays.items() if p.endswith("foot")]
    hands = [x for p, x in stays.items() if p.endswith("hand")]
    aside = float(np.mean([x @ left for x in (*feet, *feet, *hands)])) if stays else float(middle @ left)
    tops = [min(x[2] for x in feet) + (reach * observed.body.character.leg_length + 0.08 * scale)] if feet else []
    tops += [float(np.mean([x[2] for x in hands])) - under * scale] if hands else []
    return (float(middle @ ahead) - away * scale) * ahead + aside * left + min(tops, default=observed.com[2]) * UP


@dataclass(frozen=True)
class StandOn(Goal):
    """Feet that are on holds and hang over them press down again.

    Attributes:
        weight: Against their acceleration.
        horizon: [s].
    """

    weight: float
    horizon: float = 0.1

    def objectives(self, observed: Observation) -> list[Objective]:
        out: list[Objective] = []
        for part in LIMBS[2:]:
            leaves = part == observed.memory.get("mover") and observed.memory.get("moves")
            if part in observed.grips and not leaves and not observed.touching[observed.part(part)].any():
                body, offset = limb_place(observed, part)
                hold = observed.scene.hold(observed.grips[part])
                top = hold.middle(observed.time) + hold.radius * np.array(hold.normal) - 0.01 * UP
                out.append(place_toward(observed, body, offset, top, self.weight, self.horizon))
        return out


@reads("mover")
@dataclass(frozen=True)
class MoveTo(Goal):
    """The chosen limb goes to its hold: [Jain2009]_ G_p, which weighs more as it comes near.

    Attributes:
        weight: Against its acceleration far from the hold.
        near: The same within 10 cm.
        horizon: [s].
        off: How far a foot goes off the wall on its way [m].
        max_acceleration: Largest acceleration, in a grown-up [m/s²]; with more the body lunges at far holds.
    """

    weight: float
    near: float
    horizon: float = 0.25
    off: float = 0.1
    max_acceleration: float = 12.0

    def objectives(self, observed: Observation) -> list[Objective]:
        part, target = observed.memory.get("mover"), observed.memory.get("mover target")
        if part is None or target is None:
            return []
        body, offset = limb_place(observed, part)
        hold, here = observed.scene.hold(target), where(observed, part)
        goal = self.goal(observed, part, hold, here)
        far = float(np.linalg.norm(hold.middle(observed.time) - here))
        weight = self.near if far < 0.1 * observed.body.scale + hold.radius else self.weight
        model_body = observed.body.root + body
        velocity, _ = observed.state.body_point_motion(model_body, here)
        reach, most = PlaceAcceleration(model_body, offset), self.max_acceleration * observed.body.scale
        return [toward(observed, reach, goal - here, velocity, weight, self.horizon, "move to", max_acceleration=most)]

    def goal(self, observed: Observation, part: str, hold: Hold, here: Array) -> Array:
        """Where the limb heads now [m], shape (3,)."""
        ahead = np.array([*observed.heading, 0.0])
        if part.endswith("_hand"):
            return hold.nearest(here, observed.time) - 0.5 * hold.radius * ahead
        top = hold.middle(observed.time) + hold.radius * np.array(hold.normal)
        away = top - here
        level = float(np.linalg.norm(away - (away @ UP) * UP))
        if level < 0.6 * hold.radius and away[2] < 0.02:
            return top - 0.015 * UP
        low = float(np.clip((away[2] + 0.03) / 0.1, 0.0, 1.0))
        return top + 0.05 * observed.body.scale * UP - low * self.off * ahead


@reads("swing")
@dataclass(frozen=True)
class StepOnto(Goal):
    """The swing foot is lifted over an edge and set down on a thing: up first, then across, then down.

    Attributes:
        weight: Against the foot's acceleration.
        thing: Name of a box or deck.
        clearance: How high over it the foot crosses its edge [m].
        inside: How far inside its edges the middle of the foot is set down [m].
        horizon: [s].
        max_acceleration: Largest acceleration asked of the foot [m/s²].
    """

    weight: float
    thing: str
    clearance: float = 0.1
    inside: float = 0.18
    horizon: float = 0.15
    max_acceleration: float = 30.0

    def objectives(self, observed: Observation) -> list[Objective]:
        foot = swing_foot(observed)
        if foot is None:
            return []
        scale = observed.body.scale
        place = self.target(observed, foot)
        away = place - foot.place
        is_over = float(np.linalg.norm(away[:2])) < 0.04 * scale
        if is_over:
            away[2] -= 0.02 * scale
        else:
            away[2] += self.clearance * scale
            if away[2] > 0.5 * self.clearance * scale:  # it would meet the edge
                away[:2] = 0.0
        horizon, limit = self.horizon, self.max_acceleration * scale
        return [toward(observed, foot.quantity, away, foot.velocity, self.weight, horizon, "step onto", limit)]

    def target(self, observed: Observation, foot: SwingFoot) -> Array:
        """Where the middle of the sole is set down on the top of the thing [m], shape (3,).

        Raises:
            UnknownName: if the thing has no top to stand on.
        """
        tops = [observed.scene.surfaces[k] for k in observed.faces_of(self.thing)]
        tops = [s for s in tops if s.normal[2] > FLOOR]
        if not tops:
            raise UnknownName(f"{self.thing!r} has no top to stand on.")
        origin, frame = tops[0].place(observed.time)
        half = np.maximum(0.5 * np.array(tops[0].size) - self.inside * observed.body.scale, 0.0)
        beside = observed.place(observed.foot("stance"))[:2] + observed.body.stance * outward(observed, foot.side)
        local = frame @ (np.array([*beside, origin[2]]) - origin)
        local[:2], local[2] = np.clip(local[:2], -half, half), 0.0
        return origin + local @ frame
