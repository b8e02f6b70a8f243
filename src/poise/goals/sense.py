"""What a figure sees, and what of it its hands and feet can reach.

Source: [Jain2009]_ 5.2, which augments the state of the environment with a list of objects that each end effector can
reach. Here the list is made from a field of view: what is not seen does not exist for a controller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.goals.surroundings import Hold, Surface
from poise.goals.view import View

Array = npt.NDArray[np.float64]

FIELD = float(np.radians(100.0))
"""Half-angle of the field of view about where the head faces [rad]: eyes that turn in a resting head; straight below
and above are seen, behind is not."""
MARGIN = 0.1
"""Part of a limb's length that is kept in reserve: an arm that is straight cannot push."""
FLOOR = 0.7
"""A surface whose normal rises more than this is a floor, and no wall to push."""


@dataclass(frozen=True)
class Limb:
    """An arm or a leg: where it hangs [m], shape (3,), and how long it is when straight [m]."""

    place: Array
    length: float


@dataclass(frozen=True)
class Within:
    """Something a hand or foot could use.

    Attributes:
        name: Of the surface or hold.
        kind: "wall" to push, "hold" or "bar" to grip.
        place: Where the hand would be on it [m], shape (3,).
        normal: Of a wall, away from it; zero for a hold, shape (3,).
        distance: From the hand or foot now [m].
        stretch: From the shoulder or hip to the place, in parts of the limb's length; 1 is a straight limb.
    """

    name: str
    kind: str
    place: Array
    normal: Array
    distance: float
    stretch: float


def eyes(view: View) -> tuple[Array, Array]:
    """Where the head is [m] and the unit direction it faces, shapes (3,)."""
    body = view.body
    head = body.root + body.head
    return view.state.data.xipos[head].copy(), view.state.data.xmat[head].reshape(3, 3) @ body.face


def sees(view: View, place: Array, field: float = FIELD) -> bool:
    """Whether a place lies in the field of view.

    Args:
        view: Of the figure that looks.
        place: [m], shape (3,).
        field: Half-angle about where the head faces [rad].
    """
    eye, ahead = eyes(view)
    away = np.asarray(place) - eye
    size = float(np.linalg.norm(away))
    return size < 1e-9 or float(away @ ahead) >= float(np.cos(field)) * size


def effector(view: View, part: str) -> tuple[Array, Array]:
    """Middle of a hand's or foot's contact points [m] and its velocity [m/s], shapes (3,)."""
    return view.middle(view.part(part))


def socket(view: View, part: str) -> Limb:
    """The limb of a hand or foot, from its shoulder or hip to the middle of its contact points.

    Args:
        view: Of the figure.
        part: "left_hand", "right_hand"; "left_foot" or "left", "right_foot" or "right".
    """
    side, _, kind = part.partition("_")
    roles, bodies = view.body.character.roles, view.body.character.bodies
    is_hand = kind == "hand"
    root = roles[f"{side}_shoulder" if is_hand else f"{side}_hip"]
    last = roles[f"{side}_hand" if is_hand else f"{side}_foot"]
    own = [p.offset for p in view.body.character.contact_points if p.body == last]
    length = float(np.linalg.norm(np.mean(own, axis=0))) if own else 0.0
    while last > root:
        length += float(np.linalg.norm(bodies[last].offset))
        last = bodies[last].parent
    return Limb(view.state.data.xpos[view.body.root + root].copy(), length)


def reachable(
    view: View, part: str, margin: float = MARGIN, *, is_blind: bool = False, kinds: tuple[str, ...] = ()
) -> list[Within]:
    """What a hand or foot can reach from where its figure is now, nearest to it first.

    Args:
        view: Of the figure.
        part: As in `socket`.
        margin: Part of the limb's length kept in reserve.
        is_blind: Also what lies outside the field of view.
        kinds: Only these: "wall", "hold", "bar"; all if empty.
    """
    limb = socket(view, part)
    most = (1.0 - margin) * limb.length
    hand = effector(view, part)[0]
    found = [on_hold(view, hold, hand) for hold in view.scene.holds if hold.exists(view.time)]
    found += [
        on_wall(view, surface, hand, limb.place, most)
        for surface in view.scene.surfaces
        if part.endswith("_hand") and surface.normal[2] <= FLOOR and surface.exists(view.time)
    ]
    out: list[Within] = []
    for name, kind, place, normal in found:
        away = float(np.linalg.norm(place - limb.place))
        if away <= most + 1e-9 and (not kinds or kind in kinds) and (is_blind or sees(view, place)):
            out.append(Within(name, kind, place, normal, float(np.linalg.norm(place - hand)), away / limb.length))
    return sorted(out, key=lambda w: (w.distance, w.name))


def on_hold(view: View, hold: Hold, hand: Array) -> tuple[str, str, Array, Array]:
    """Where a hand would grip a hold: name, kind, place and a normal of zero."""
    return hold.name, "hold" if hold.axis is None else "bar", hold.nearest(hand, view.time), np.zeros(3)


def on_wall(view: View, wall: Surface, hand: Array, shoulder: Array, most: float) -> tuple[str, str, Array, Array]:
    """Where a hand would push a wall: its projection, drawn toward the shoulder's until the arm is long enough."""
    origin, frame = np.array(wall.origin), wall.frame
    if wall.movement is not None:
        origin, turn = wall.movement.placed(origin, view.time)
        frame = frame @ turn.T
    half = 0.5 * np.array(wall.size)

    def onto(place: Array) -> Array:
        local = frame @ (place - origin)
        local[:2] = np.clip(local[:2], -half, half)
        local[2] = 0.0
        return origin + local @ frame

    place, foot = onto(hand), onto(shoulder)
    height = float(np.linalg.norm(foot - shoulder))
    across = place - foot
    most_across = float(np.sqrt(max(most**2 - height**2, 0.0)))
    far = float(np.linalg.norm(across))
    if far > most_across:
        place = foot + across * (most_across / far)
    return wall.name, "wall", place, frame[2]


def clear_of_walls(view: View, foot: Array, toes: float = 0.18) -> Array:
    """A place for the middle of a foot [m], (2,), moved back so far that its toes stay off the walls the figure sees.

    Args:
        view: Of the figure.
        foot: Where the foot would stand [m], shape (2,).
        toes: From the middle of a grown-up's foot to a little beyond its toes [m].
    """
    most = toes * view.body.scale
    place = np.array([foot[0], foot[1], view.ground_height + 0.05])
    for wall in view.scene.surfaces:
        if wall.normal[2] > FLOOR or not wall.exists(view.time):
            continue
        _, _, on, normal = on_wall(view, wall, place, place, np.inf)
        gap, beside = float((place - on) @ normal), place - on
        beside -= gap * normal
        if -wall.depth < gap < most and float(np.linalg.norm(beside)) < most and sees(view, on):
            place[:2] += (most - gap) * normal[:2]
    return place[:2]
