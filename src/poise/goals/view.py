"""What a controller sees in one step: the figure, what it touches, what stands around it, and what it remembers."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from poise.core.errors import UnknownName
from poise.core.units import GRAVITY
from poise.goals.body import SIDES, Body
from poise.goals.polygon import centroid
from poise.goals.surroundings import Ball, Scene
from poise.physics import State

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Thing:
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


@dataclass
class View:
    """One look at the figure and the world; valid until the figure moves on.

    Attributes:
        body: The figure's parts.
        state: Completed dynamic state.
        time: [s].
        dt: Length of the step [s].
        since: Time since the machine entered its present state [s].
        touching: Points in contact, shape (P,).
        gaps: Height of each point over the nearest surface [m], shape (P,).
        forces: Contact force on each point in the last step [N], shape (P, 3).
        is_delayed: The figure has been pushed and cannot answer yet.
        is_literal: Objectives in the paper's own form, without a horizon.
        scene: What stands around.
        things: Balls, held or in flight.
        people: The other figures.
        grips: Name of the hold, or "figure:part", that each closed hand or foot has: "left_hand" → "bar".
        clip: What `Follow` follows, if there is one.
        memory: What the machine remembers; conditions and entries may write here, goals only read.
    """

    body: Body
    state: State
    time: float
    dt: float
    since: float
    touching: Flags
    gaps: Array
    forces: Array
    is_delayed: bool
    is_literal: bool
    scene: Scene = field(default_factory=Scene)
    things: tuple[Thing, ...] = ()
    people: Mapping[str, Body] = field(default_factory=dict)
    grips: Mapping[str, str] = field(default_factory=dict)
    clip: Clip | None = None
    memory: dict[str, Any] = field(default_factory=dict)

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
        return self.state.com_jacobian(self.body.root) @ self.state.v

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
        return float((self.state.points[points, 2] - self.gaps[points]).mean())

    @cached_property
    def friction(self) -> float:
        """Least friction coefficient of what one can stand on here; 1 where nothing is."""
        return min((s.friction for s in self.scene.surfaces if s.normal[2] > 0.7), default=1.0)

    @cached_property
    def stretch(self) -> float:
        """How much lower the center of mass is when the legs reach to both feet [m]."""
        leg = self.body.com_height
        away = max(
            float(np.linalg.norm(self.place(self.body.feet[side])[:2] - self.com[:2])) - 0.1 * self.body.scale
            for side in SIDES
        )
        away = min(max(away, 0.0), 0.6 * leg)
        return leg - float(np.sqrt(leg**2 - away**2))

    def at(self, since: float) -> View:
        """The same look for a state that was entered so long ago [s]; what has been looked up is kept."""
        if since == self.since:
            return self
        view = copy(self)
        view.since = since
        return view

    @cached_property
    def trailing(self) -> Index:
        """Heels of feet that the capture point has left behind, whose ankles bend no further."""
        out = []
        for side in SIDES:
            points = self.body.feet[side]
            middle = self.place(points)[:2]
            if (self.capture_point - middle) @ self.heading > 0.25 * self.body.scale:
                out.append(points[(self.state.points[points, :2] - middle) @ self.heading < 0.03 * self.body.scale])
        return np.concatenate(out) if out else np.zeros(0, dtype=np.int64)

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
        """Contact points of a foot: "left", "right", "both", or "swing" and "stance" as the machine remembers.

        Raises:
            UnknownName: if it is none of these.
        """
        if which in ("swing", "stance"):
            which = self.memory.get(which, "both")
        if which == "both":
            return np.concatenate([self.body.feet[side] for side in SIDES])
        if which not in self.body.feet:
            raise UnknownName(f"No foot {which!r}. Feet: left, right, both, swing, stance.")
        return self.body.feet[which]

    def part(self, which: str) -> Index:
        """Contact points of a foot as in `foot`, of "left_hand" or "right_hand", "trailing" heels, the "body".

        Also of the "mover", "hands" and "arms" in memory, and of "loose arms": those without the first touching
        point of each hand, so that a hand at rest can still turn.
        """
        if which == "trailing":
            return self.trailing
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

    def named(self, which: str) -> str:
        """The part that the machine remembers as its "mover"; any other name as it is."""
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
        """Center of the polygon of points near the ground; the foot's own middle where nothing is near, shape (2,)."""
        near = self.near_ground(which, height)
        return centroid(near if len(near) else self.state.points[self.foot(which), :2])
