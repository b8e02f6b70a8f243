"""What a controller observes in one step: the figure, its contacts, the scene around it, and its memory.

Source: [Jain2009]_ 5.2, which lists the objects that each end effector can reach. Here the list is made from a field of
view: what is not seen does not exist for a controller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from poise.core.errors import UnknownName
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.goals.body import FEET, PARTS, SIDES, Body
from poise.goals.polygon import centroid
from poise.goals.surroundings import Ball, Hold, Scene, Surface
from poise.physics import State


@dataclass(frozen=True)
class BallState:
    """A ball as it is now.

    Attributes:
        ball: What was thrown.
        place, velocity: Of its middle [m], [m/s], shapes (3,).
        is_free: Whether it has been let go.
    """

    ball: Ball
    place: Array
    velocity: Array
    is_free: bool


class Clip(Protocol):
    """A captured motion of this very figure."""

    def at(self, time: float) -> tuple[Array, Array]:
        """Coordinates (nq,) and velocities (nv,) at a time [s]; its ends are held."""
        ...

    def place(self, part: str, time: float) -> tuple[Array, Array, Array]:
        """Where "com", a hand or a foot is, how fast it moves and accelerates: [m], [m/s], [m/s²], shapes (3,)."""
        ...

    def facing(self, time: float) -> Array:
        """Where the hips face in the plane, unit, shape (2,)."""
        ...

    def stands(self, side: str, time: float) -> bool:
        """Whether a foot, "left" or "right", is on the ground."""
        ...


@dataclass
class Observation:
    """What one figure observes in one step; valid until the figure moves on.

    Attributes:
        body: The figure's parts.
        state: Completed dynamic state.
        time: [s].
        dt: Length of the step [s].
        time_in_state: Since the state was entered [s].
        touching: Points in contact, shape (P,).
        gaps: Height of each point over the nearest surface [m], shape (P,).
        forces: Contact force on each point in the last step [N], shape (P, 3).
        is_delayed: The figure has been pushed and cannot answer yet.
        is_literal: Objectives in the paper's own form, without a horizon.
        scene: What stands around.
        balls: Held or in flight.
        others: The other figures.
        grips: Name of the hold, or "figure:part", that each closed hand or foot has: "left_hand" → "bar".
        clip: What `Follow` follows, if there is one.
        nearest: Index of the surface nearest to each point in the scene, shape (P,).
        memory: Shared by all states; conditions and actions may write here, goals only read.
    """

    body: Body
    state: State
    time: float
    dt: float
    time_in_state: float
    touching: Flags
    gaps: Array
    forces: Array
    is_delayed: bool
    is_literal: bool
    scene: Scene = field(default_factory=Scene)
    balls: tuple[BallState, ...] = ()
    others: Mapping[str, Body] = field(default_factory=dict)
    grips: Mapping[str, str] = field(default_factory=dict)
    clip: Clip | None = None
    nearest: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    memory: dict[str, Any] = field(default_factory=dict)
    _centers: dict[tuple[str, float], Array] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def coordinates(self) -> slice:
        """The figure's coordinates in the model."""
        first = int(np.searchsorted(self.state.model.q_body, self.body.root))
        return slice(first, first + self.body.character.nq)

    @cached_property
    def weight(self) -> float:
        """Of the figure [N]."""
        return self.state.mass(self.body.root) * GRAVITY

    @cached_property
    def com(self) -> Array:
        """Center of mass [m], shape (3,)."""
        return self.state.com(self.body.root)

    @cached_property
    def com_velocity(self) -> Array:
        """[m/s], shape (3,)."""
        return self.state.com_velocity(self.body.root)

    @cached_property
    def pendulum(self) -> float:
        """Rate ω = √(g / h) of the inverted pendulum the figure stands as [1/s]."""
        height = max(float(self.com[2] - self.ground_height), 0.5 * self.body.com_height)
        return float(np.sqrt(GRAVITY / height))

    @cached_property
    def ground_height(self) -> float:
        """Height of the ground below the feet [m]."""
        return self.ground_height_below("both")

    def ground_height_below(self, foot: str) -> float:
        """Height of the ground below a foot [m]."""
        points = self.foot(foot)
        return float(np.add.reduce(self.state.points[points, 2] - self.gaps[points])) / len(points)

    @cached_property
    def friction(self) -> float:
        """Least friction coefficient of what one can stand on here; 1 where nothing is."""
        return min((s.friction for s in self.scene.surfaces if s.normal[2] > 0.7), default=1.0)

    @cached_property
    def stretch(self) -> float:
        """How much lower the center of mass is when the legs reach to both feet [m]."""
        leg = self.body.com_height
        away = max(
            math.hypot(*(self.place(self.body.feet[side])[:2] - self.com[:2]).tolist()) - 0.1 * self.body.scale
            for side in SIDES
        )
        away = min(max(away, 0.0), 0.6 * leg)
        return leg - float(np.sqrt(leg**2 - away**2))

    def at(self, time_in_state: float) -> Observation:
        """The same observation for a state that was entered so long ago [s]."""
        if time_in_state == self.time_in_state:
            return self
        observed = copy(self)
        observed.time_in_state = time_in_state
        return observed

    def from_place(self, place: Array, velocity: Array) -> Observation:
        """The same with the center of mass seen from a place in the plane that moves [m], [m/s], shapes (2,)."""
        observed = copy(self)
        observed.__dict__.pop("capture_point", None)
        observed.__dict__.update(com=self.com - [*place, 0.0], com_velocity=self.com_velocity - [*velocity, 0.0])
        return observed

    @cached_property
    def trailing(self) -> Index:
        """Heels of feet that the capture point has left behind, whose ankles bend no further."""
        far = 0.25 * self.body.scale
        feet = (self.body.feet[side] for side in SIDES)
        out = [self.heel(p) for p in feet if (self.capture_point - self.place(p)[:2]) @ self.heading > far]
        return np.concatenate(out) if out else np.zeros(0, dtype=np.int64)

    def heel(self, points: Index) -> Index:
        """Those contact points of a foot that are behind its ball."""
        ahead = (self.state.points[points, :2] - self.place(points)[:2]) @ self.heading
        return points[ahead < 0.03 * self.body.scale]

    @cached_property
    def capture_point(self) -> Array:
        """Where the figure must stand to come to rest, r + ṙ / ω, in the plane [m], shape (2,)."""
        return self.com[:2] + self.com_velocity[:2] / self.pendulum

    @cached_property
    def heading(self) -> Array:
        """Unit direction the pelvis faces in the plane, shape (2,); the figure's left is (−y, x)."""
        left = (self.state.data.xmat[self.body.root].reshape(3, 3) @ self.body.left_axes[0])[:2]
        size = float(np.linalg.norm(left))
        left = left / size if size > 1e-9 else np.array([0.0, 1.0])
        return np.array([left[1], -left[0]])

    def foot(self, which: str) -> Index:
        """Contact points of a foot, as `body.FEET` names it; "swing" and "stance" are stored in the memory.

        Raises:
            UnknownName: if it is none of these.
        """
        if which in ("swing", "stance"):
            which = self.memory.get(which, "both")
        if which == "both":
            return self.body.soles
        if which not in self.body.feet:
            raise UnknownName(f"No foot {which!r}. Feet: {', '.join(FEET)}; parts: {', '.join(PARTS)}.")
        return self.body.feet[which]

    def part(self, which: str) -> Index:
        """Contact points of a part, as `body.PARTS` names it; some are stored in the memory.

        "loose arms" are without the first touching point of each hand, so that a hand at rest can still turn.
        """
        if which == "trailing":
            return self.trailing
        if which == "heel":
            return self.heel(self.foot("stance"))
        if which in ("hands", "arms", "loose arms"):
            sides = [hand.removesuffix("_hand") for hand in self.memory.get("hands", ())]
            parts = [self.body.hands[s] if which == "hands" else self.body.arms[s] for s in sides]
            points = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
            if which == "loose arms":
                kept = [own[self.touching[own]][:1] for own in (self.body.hands[s] for s in sides)]
                points = np.setdiff1d(points, np.concatenate([np.zeros(0, dtype=np.int64), *kept]))
            return points
        if which == "body":
            return self.body.points
        which = self.named(which)
        if which.endswith("_hand"):
            return self.body.hands.get(which.removesuffix("_hand"), np.zeros(0, dtype=np.int64))
        return self.foot(which.removesuffix("_foot"))

    def points_of(self, part: str) -> Index:
        """Contact points of a part as in `part`, or of a body by its name or role.

        Raises:
            UnknownName: if the figure has no such part or body.
        """
        character = self.body.character
        if part not in character.roles and part not in {b.name for b in character.bodies}:
            return self.part(part)
        if part.endswith(("_hand", "_foot")) and part in character.roles:
            return self.part(part)
        body = character.body_index(part)
        own = [k for k, point in enumerate(character.contact_points) if point.body == body]
        return self.body.points[np.array(own, dtype=np.int64)]

    def faces_of(self, thing: str) -> list[int]:
        """Indices of the surfaces of a thing: itself, or the six faces of a box.

        Raises:
            UnknownName: if no surface, box, hold or ball of the scene has this name.
        """
        faces = [k for k, s in enumerate(self.scene.surfaces) if thing in (s.name, s.solid)]
        others = [x.name for x in (*self.scene.holds, *self.scene.balls)]
        if not faces and thing not in others:
            known = dict.fromkeys([*(s.name for s in self.scene.surfaces), *others])
            raise UnknownName(f"There is no {thing!r} in the scene. Things: {', '.join(known) or 'none'}.")
        return faces

    def touches(self, part: str, thing: str = "") -> Flags:
        """Which contact points of a part touch a floor, wall or box; any if it is empty."""
        points = self.points_of(part)
        touching = self.touching[points]
        return touching & np.isin(self.nearest[points], self.faces_of(thing)) if thing else touching

    def nearest_place(self, thing: str, place: Array, inside: float = 0.0) -> Array:
        """The place of a thing nearest to another place, so far inside the edges of its faces [m], shape (3,)."""
        found = [h.nearest(place, self.time) for h in self.scene.holds if h.name == thing]
        for state in (b for b in self.balls if b.ball.name == thing):
            away = place - state.place
            found.append(state.place + away * min(1.0, state.ball.radius / max(float(np.linalg.norm(away)), 1e-9)))
        for k in self.faces_of(thing):
            surface = self.scene.surfaces[k]
            found.append(on_wall(self, surface, place, place, np.inf, inside)[2])
        return min(found, key=lambda p: float(np.linalg.norm(p - place)))

    def named(self, which: str) -> str:
        """The part stored as "mover" in the memory; any other name as it is."""
        return (self.memory.get(which) or "none_hand") if which == "mover" else which

    def middle(self, points: Index) -> tuple[Array, Array]:
        """Mean place [m] and velocity [m/s] of some contact points, shapes (3,)."""
        return self.place(points), np.add.reduce(self.state.point_velocities[points]) / len(points)

    def place(self, points: Index) -> Array:
        """Mean place of some contact points [m], shape (3,)."""
        return np.add.reduce(self.state.points[points]) / len(points)

    def load(self, points: Index) -> float:
        """Force that some points carried in the last step [N]."""
        return float(np.linalg.norm(self.forces[points].sum(axis=0)))

    def near_ground(self, which: str, height: float) -> Array:
        """Places in the plane of those points of a foot that are within a height of the ground [m], shape (K, 2)."""
        points = self.foot(which)
        return self.state.points[points[self.gaps[points] < height], :2]

    def support_center(self, which: str, height: float) -> Array:
        """Center of the polygon of points near the ground; the foot's own middle where nothing is near, shape (2,).

        With "touching", the center of all that touches, hands and knees too.
        """
        if which == "touching" and self.touching[self.body.points].any():
            own = self.body.points[self.touching[self.body.points]]
            return centroid(self.state.points[own, :2])
        which = "both" if which == "touching" else which
        which = self.memory.get(which, "both") if which in ("swing", "stance") else which
        center = self._centers.get((which, height))
        if center is None:  # several goals ask for it
            near = self.near_ground(which, height)
            center = centroid(near if len(near) else self.state.points[self.foot(which), :2])
            self._centers[which, height] = center
        return center


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


def eyes(observed: Observation) -> tuple[Array, Array]:
    """Where the head is [m] and the unit direction it faces, shapes (3,)."""
    body = observed.body
    head = body.root + body.head
    return observed.state.data.xipos[head].copy(), observed.state.data.xmat[head].reshape(3, 3) @ body.face


def sees(observed: Observation, place: Array, field: float = FIELD) -> bool:
    """Whether a place lies in the field of view.

    Args:
        observed: Of the figure that looks.
        place: [m], shape (3,).
        field: Half-angle about where the head faces [rad].
    """
    eye, ahead = eyes(observed)
    away = np.asarray(place) - eye
    size = float(np.linalg.norm(away))
    return size < 1e-9 or float(away @ ahead) >= float(np.cos(field)) * size


def effector(observed: Observation, part: str) -> tuple[Array, Array]:
    """Middle of a hand's or foot's contact points [m] and its velocity [m/s], shapes (3,)."""
    return observed.middle(observed.part(part))


def socket(observed: Observation, part: str) -> Limb:
    """The limb of a hand or foot, from its shoulder or hip to the middle of its contact points.

    Args:
        observed: Of the figure.
        part: "left_hand", "right_hand"; "left_foot" or "left", "right_foot" or "right".
    """
    side, _, kind = part.partition("_")
    roles, bodies = observed.body.character.roles, observed.body.character.bodies
    is_hand = kind == "hand"
    root = roles[f"{side}_shoulder" if is_hand else f"{side}_hip"]
    last = roles[f"{side}_hand" if is_hand else f"{side}_foot"]
    own = [p.offset for p in observed.body.character.contact_points if p.body == last]
    length = float(np.linalg.norm(np.mean(own, axis=0))) if own else 0.0
    while last > root:
        length += float(np.linalg.norm(bodies[last].offset))
        last = bodies[last].parent
    return Limb(observed.state.data.xpos[observed.body.root + root].copy(), length)


def reachable(
    observed: Observation, part: str, margin: float = MARGIN, *, is_blind: bool = False, kinds: tuple[str, ...] = ()
) -> list[Within]:
    """What a hand or foot can reach from where its figure is now, nearest to it first.

    Args:
        observed: Of the figure.
        part: As in `socket`.
        margin: Part of the limb's length kept in reserve.
        is_blind: Also what lies outside the field of view.
        kinds: Only these: "wall", "hold", "bar"; all if empty.
    """
    limb = socket(observed, part)
    most = (1.0 - margin) * limb.length
    hand = effector(observed, part)[0]
    found = [on_hold(observed, hold, hand) for hold in observed.scene.holds if hold.exists(observed.time)]
    found += [
        on_wall(observed, surface, hand, limb.place, most)
        for surface in observed.scene.surfaces
        if part.endswith("_hand") and surface.normal[2] <= FLOOR and surface.exists(observed.time)
    ]
    out: list[Within] = []
    for name, kind, place, normal in found:
        away = float(np.linalg.norm(place - limb.place))
        if away <= most + 1e-9 and (not kinds or kind in kinds) and (is_blind or sees(observed, place)):
            out.append(Within(name, kind, place, normal, float(np.linalg.norm(place - hand)), away / limb.length))
    return sorted(out, key=lambda w: (w.distance, w.name))


def on_hold(observed: Observation, hold: Hold, hand: Array) -> tuple[str, str, Array, Array]:
    """Where a hand would grip a hold: name, kind, place and a normal of zero."""
    return hold.name, "hold" if hold.axis is None else "bar", hold.nearest(hand, observed.time), np.zeros(3)


def on_wall(
    observed: Observation, wall: Surface, hand: Array, shoulder: Array, most: float, inside: float = 0.0
) -> tuple[str, str, Array, Array]:
    """Where a hand would push a wall: its projection, drawn toward the shoulder's until the arm is long enough."""
    origin, frame = wall.place(observed.time)
    half = np.maximum(0.5 * np.array(wall.size) - inside, 0.0)

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


def clear_of_walls(observed: Observation, foot: Array, toes: float = 0.18) -> Array:
    """A place for the middle of a foot [m], (2,), moved back so far that its toes stay off the walls the figure sees.

    Args:
        observed: Of the figure.
        foot: Where the foot would stand [m], shape (2,).
        toes: From the middle of a grown-up's foot to a little beyond its toes [m].
    """
    most = toes * observed.body.scale
    place = np.array([foot[0], foot[1], observed.ground_height + 0.05])
    for wall in observed.scene.surfaces:
        if wall.normal[2] > FLOOR or not wall.exists(observed.time):
            continue
        _, _, on, normal = on_wall(observed, wall, place, place, np.inf)
        gap, beside = float((place - on) @ normal), place - on
        beside -= gap * normal
        if -wall.depth < gap < most and float(np.linalg.norm(beside)) < most and sees(observed, on):
            place[:2] += (most - gap) * normal[:2]
    return place[:2]
