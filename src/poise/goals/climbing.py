"""Climbing: which limb moves next and to which hold, how it gets there, and where the body stays meanwhile.

Source: [Jain2009]_ 6.2. Deviates: feet only push, so the mass is kept over those that stay and near the wall; a foot
goes around the holds on its way, off the wall and down on its hold from above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.body.holding import hold_points
from poise.goals.conditions import Condition
from poise.goals.memory import reads, writes
from poise.goals.sense import reachable, socket
from poise.goals.surroundings import Hold
from poise.goals.view import View
from poise.goals.wish import UP, Wish, place_toward, toward
from poise.step import Objective
from poise.step.quantities import ComAcceleration, PlaceAcceleration

Array = npt.NDArray[np.float64]

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


def limb_place(view: View, part: str) -> tuple[int, Array]:
    """Body (of the character) and place in its frame [m] with which a limb meets a hold: fingers, ball of the foot."""
    character = view.body.character
    offsets = [character.contact_points[i].offset for i in hold_points(character, part)]
    return character.roles[part], np.mean(offsets, axis=0)


def where(view: View, part: str) -> Array:
    """Where a limb's fingers or ball are [m], shape (3,)."""
    body, offset = limb_place(view, part)
    return view.state.body_place(view.body.root + body, offset)


@writes("holds")
def settle(view: View) -> None:
    """Remember that no limb moves; the first time, that each is on the hold that is nearest to it."""
    view.memory["moves"] = False
    for part in LIMBS:
        if f"{part} reaches" in view.memory:
            continue
        here = where(view, part)
        near = min(view.scene.holds, key=lambda h: float(np.linalg.norm(h.nearest(here, view.time) - here)))
        view.memory[f"{part} reaches"] = near.name


@writes("mover")
def choose_hand(view: View) -> None:
    """Remember as "mover" the lower hand and its next hold, if it is a hand's turn."""
    _choose(view, "hand")


@writes("mover")
def choose_foot(view: View) -> None:
    """Remember as "mover" the lower foot and its next hold, if it is a foot's turn."""
    _choose(view, "foot")


def _choose(view: View, kind: str) -> None:
    other = "foot" if kind == "hand" else "hand"
    choice = next_hold(view, kind)
    if view.memory.get("last kind") == kind and next_hold(view, other) is not None:
        choice = None
    view.memory["mover"] = view.memory["mover target"] = None
    view.memory["moves"] = choice is not None
    if choice is not None:
        view.memory["mover"], view.memory["mover target"] = choice
        view.memory["last kind"] = kind
        before = view.memory.get(f"{choice[0]} left", ())
        view.memory[f"{choice[0]} left"] = (*before, view.memory[f"{choice[0]} reaches"])[-BEHIND:]
        view.memory[f"{choice[0]} reaches"] = choice[1]


def next_hold(view: View, kind: str) -> tuple[str, str] | None:
    """The lowest hand or foot that has a hold to move to, and the nearest such hold; None if there is none.

    Args:
        view: Of the figure.
        kind: "hand" or "foot".
    """
    limbs = [p for p in LIMBS if p.endswith(kind)]
    heights = {p: float(where(view, p)[2]) if p in view.grips else -np.inf for p in limbs}
    limbs.sort(key=lambda p: (heights[p], p))
    near = {p: reachable(view, p, 0.0, is_blind=kind == "foot", kinds=("hold", "bar")) for p in limbs}
    left = np.array([-view.heading[1], view.heading[0], 0.0])
    scale, used = view.body.scale, set(view.grips.values())
    beside = {p: float(where(view, p) @ left) for p in LIMBS}
    others = [beside[p] for p in LIMBS if not p.endswith(kind)]
    stays = {p: beside[q] for p, q in (limbs, limbs[::-1])}
    free = [p for p in limbs if _outside(stays[p], others) < DOOR * scale]
    for tier, (gain, aside, below) in enumerate(TIERS):
        for part in free:
            side = 1.0 if part.startswith("left") else -1.0
            hip = socket(view, part)
            highest = np.inf if kind == "hand" else hip.place[2] - below * hip.length
            known = view.memory.get(f"{part} left", ()) if tier + 1 == len(TIERS) else ()
            for within in near[part]:
                is_up = heights[part] + gain * scale < within.place[2] < highest
                is_beside = side * float((within.place - view.com) @ left) > aside * scale
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

    def holds(self, view: View) -> bool:
        mover = view.memory.get("mover")
        if mover is None or view.since > self.seconds:
            return False
        return view.since < self.least or view.load(view.part(mover)) > self.force * view.weight


@reads("mover")
@dataclass(frozen=True)
class OnTheWay(Condition):
    """The moving limb has not arrived on its hold, and has some time left [s]."""

    seconds: float = 2.0

    def holds(self, view: View) -> bool:
        mover = view.memory.get("mover")
        return mover is not None and (view.since < OPENING or mover not in view.grips) and view.since < self.seconds


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

    def holds(self, view: View) -> bool:
        if view.since < self.least:
            return True
        off = body_goal(view) - view.com
        moves = float(np.linalg.norm(view.com_velocity)) > self.speed or float(np.linalg.norm(off)) > 0.12
        return moves and view.since < self.seconds


@dataclass(frozen=True)
class Climb(Wish):
    """The center of mass goes up between hands and feet, near the wall, over those that stay: [Jain2009]_ G_com.

    Attributes:
        weight: Against its acceleration.
        horizon: [s].
    """

    weight: float
    horizon: float = 0.35

    def objectives(self, view: View) -> list[Objective]:
        quantity = ComAcceleration(of=view.body.index)
        error = body_goal(view) - view.com
        return [toward(view, quantity, error, view.com_velocity, self.weight, self.horizon, "climb", most=8.0)]


def body_goal(view: View, away: float = 0.25, reach: float = 0.92, under: float = 0.25) -> Array:
    """Where the center of mass wants to be [m], shape (3,).

    Args:
        view: Of the figure.
        away: Distance from the holds, in a grown-up [m].
        reach: How far the legs are straightened, in parts of their length.
        under: How far under the hands it stays, in a grown-up [m].
    """
    scale = view.body.scale
    places = {p: view.scene.hold(h).middle(view.time) for p, h in view.grips.items() if p in LIMBS}
    if not places:
        return view.com
    mover = view.memory.get("mover") if view.memory.get("moves") else None
    stays = {p: x for p, x in places.items() if p != mover}
    ahead = np.array([*view.heading, 0.0])
    left = np.array([-ahead[1], ahead[0], 0.0])
    middle = np.mean(list(places.values()), axis=0)
    feet = [x for p, x in stays.items() if p.endswith("foot")]
    hands = [x for p, x in stays.items() if p.endswith("hand")]
    aside = float(np.mean([x @ left for x in (*feet, *feet, *hands)])) if stays else float(middle @ left)
    tops = [min(x[2] for x in feet) + (reach * view.body.character.leg_length + 0.08 * scale)] if feet else []
    tops += [float(np.mean([x[2] for x in hands])) - under * scale] if hands else []
    return (float(middle @ ahead) - away * scale) * ahead + aside * left + min(tops, default=view.com[2]) * UP


@dataclass(frozen=True)
class StandOn(Wish):
    """Feet that are on holds and hang over them press down again.

    Attributes:
        weight: Against their acceleration.
        horizon: [s].
    """

    weight: float
    horizon: float = 0.1

    def objectives(self, view: View) -> list[Objective]:
        out: list[Objective] = []
        for part in LIMBS[2:]:
            leaves = part == view.memory.get("mover") and view.memory.get("moves")
            if part in view.grips and not leaves and not view.touching[view.part(part)].any():
                body, offset = limb_place(view, part)
                hold = view.scene.hold(view.grips[part])
                top = hold.middle(view.time) + hold.radius * np.array(hold.normal) - 0.01 * UP
                out.append(place_toward(view, body, offset, top, self.weight, self.horizon))
        return out


@reads("mover")
@dataclass(frozen=True)
class MoveTo(Wish):
    """The chosen limb goes to its hold: [Jain2009]_ G_p, which weighs more as it comes near.

    Attributes:
        weight: Against its acceleration far from the hold.
        near: The same within 10 cm.
        horizon: [s].
        off: How far a foot goes off the wall on its way [m].
        most: Largest acceleration asked for, in a grown-up [m/s²]: more, and the body lunges after a far hold.
    """

    weight: float
    near: float
    horizon: float = 0.25
    off: float = 0.1
    most: float = 12.0

    def objectives(self, view: View) -> list[Objective]:
        part, target = view.memory.get("mover"), view.memory.get("mover target")
        if part is None or target is None:
            return []
        body, offset = limb_place(view, part)
        hold, here = view.scene.hold(target), where(view, part)
        goal = self.goal(view, part, hold, here)
        far = float(np.linalg.norm(hold.middle(view.time) - here))
        weight = self.near if far < 0.1 * view.body.scale + hold.radius else self.weight
        model_body = view.body.root + body
        velocity, _ = view.state.body_point_motion(model_body, here)
        reach, most = PlaceAcceleration(model_body, offset), self.most * view.body.scale
        return [toward(view, reach, goal - here, velocity, weight, self.horizon, "move to", most=most)]

    def goal(self, view: View, part: str, hold: Hold, here: Array) -> Array:
        """Where the limb heads now [m], shape (3,)."""
        ahead = np.array([*view.heading, 0.0])
        if part.endswith("_hand"):
            return hold.nearest(here, view.time) - 0.5 * hold.radius * ahead
        top = hold.middle(view.time) + hold.radius * np.array(hold.normal)
        away = top - here
        level = float(np.linalg.norm(away - (away @ UP) * UP))
        if level < 0.6 * hold.radius and away[2] < 0.02:
            return top - 0.015 * UP
        low = float(np.clip((away[2] + 0.03) / 0.1, 0.0, 1.0))
        return top + 0.05 * view.body.scale * UP - low * self.off * ahead
