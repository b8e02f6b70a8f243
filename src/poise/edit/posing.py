"""Posing with weight: hands, feet or any body are dragged to places, and the rest of the body follows.

The quasi-physical filter holds a pose q* while some bodies have goals. In every step q* moves toward the pose q that
the filter answers,

    q* ← q* ⊕ r Δt (q ⊖ q*)

The figure moves until its bodies are where they should be. Without goals it keeps the pose that it has reached. The
lowest point of q* keeps its height above the ground, and the center of mass stays over the feet, since the filter keeps
it where that of q* is.
[Levine2012]_ section 5 names plausible inverse kinematics as future work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.filter.forces import PointGoal, Push
from poise.filter.setup import Options
from poise.filter.stream import QuasiPhysicalFilter
from poise.physics import State
from poise.terrain import Terrain

FOLLOWING = 8.0
"""How fast the pose that is held follows the answer, r [1/s]."""
GOAL_FREQUENCY = 8.0
"""A goal moves to the place that it is dragged to as a critically damped spring of this frequency [1/s]."""
NEAR = 0.15
"""A goal is a constraint once its body is this near to its place, for a leg of 0.82 m [m]. Farther away it only pulls:
the place may be out of reach."""
FASTEST = 1.5
"""No goal moves faster, for a leg of 0.82 m [m/s]."""


@dataclass(frozen=True)
class _Drag:
    """A body on its way to a place: where it is asked to be, where its goal is now and how fast that moves."""

    body: str
    offset: tuple[float, float, float]
    target: Array
    place: Array
    velocity: Array

    def later(self, dt: float, fastest: float) -> _Drag:
        """One step on."""
        w = GOAL_FREQUENCY
        velocity = self.velocity + dt * w * (w * (self.target - self.place) - 2.0 * self.velocity)
        velocity = velocity * min(1.0, fastest / max(float(np.linalg.norm(velocity)), 1e-9))
        return replace(self, place=self.place + dt * velocity, velocity=velocity)

    def goal(self, now: float, *, is_hard: bool) -> PointGoal:
        """For the step at a time [s]."""
        place, velocity = self.place, self.velocity
        return PointGoal(self.body, lambda time: place + (time - now) * velocity, offset=self.offset, is_hard=is_hard)


class Poser:
    """A figure that holds a pose while some of its bodies are dragged to places.

    Example:
        >>> poser = poise.edit.Poser(character, poise.motion_to_q(character, motion)[0])
        >>> poser.drag("left_hand", (0.3, 0.2, 1.4))
        >>> poses = [poser.step() for _ in range(100)]

    Args:
        character: The figure.
        q: The pose that it begins in, shape (nq,).
        dt: Length of a step [s].
        terrain: Placed terrain; level at the character's floor if not given.

    Attributes:
        q: The pose now, shape (nq,).
        time: Since the beginning [s].
    """

    def __init__(self, character: Character, q: Array, *, dt: float = 0.01, terrain: Terrain | None = None) -> None:
        self.character, self.dt, self.time = character, dt, 0.0
        self._filter = QuasiPhysicalFilter(character, dt, terrain, options=Options(goal="com-xy"))
        self.q = self._held = np.array(q, dtype=np.float64)
        self._drags: dict[str, _Drag] = {}
        self._state = State(self._filter.figure.model)
        self._terrain = terrain or Terrain.flat(character.floor)
        self._lowest = self._lowest_of(self._held)
        for _ in range(2):  # an answer comes once the next pose is here
            self._filter.step(self._held)

    @property
    def places(self) -> dict[str, Array]:
        """Where dragged bodies are asked to be [m], each (3,)."""
        return {name: drag.target for name, drag in self._drags.items()}

    def drag(self, body: str, target: Sequence[float] | Array, offset: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """Let a body go to a place and stay there; again for where it goes next.

        Args:
            body: A joint's own name or a role.
            target: The place [m], shape (3,).
            offset: Of the body that goes there, in its own frame [m].

        Raises:
            UnknownName: if there is no such body.
            InvalidValue: if the place is not three finite meters.
        """
        index, place = self.character.body_index(body), np.array(target, dtype=np.float64)
        if place.shape != (3,) or not np.isfinite(place).all():
            raise InvalidValue(f"The place of {body!r} is {target}; give three finite meters.")
        x, y, z = (float(v) for v in offset)
        known = self._drags.get(body)
        if known is not None and known.offset == (x, y, z):
            self._drags[body] = replace(known, target=place)
            return
        places, turns = body_poses(self.character, self.q[None])
        here = places[0, index] + rotations.rotate(turns[0, index], np.array([x, y, z]))
        self._drags[body] = _Drag(body, (x, y, z), place, here, np.zeros(3))

    def let_go(self, body: str | None = None) -> None:
        """Let a body be free again, or all."""
        self._drags = {} if body is None else {name: d for name, d in self._drags.items() if name != body}

    def push(self, push: Push) -> None:
        """Push it; the start counts from the first step."""
        self._filter.push(push)

    def step(self) -> Array:
        """Move on by one step; the pose, shape (nq,)."""
        figure, fastest = self._filter.figure, FASTEST * self.character.leg_scale
        self._drags = {name: drag.later(self.dt, fastest) for name, drag in self._drags.items()}
        places, turns = body_poses(self.character, self.q[None])
        goals: list[PointGoal] = []
        for drag in self._drags.values():
            index = self.character.body_index(drag.body)
            here = places[0, index] + rotations.rotate(turns[0, index], np.array(drag.offset))
            near = float(np.linalg.norm(drag.target - here)) < NEAR * self.character.leg_scale
            goals.append(drag.goal(figure.time, is_hard=near))
        figure.goal_points = tuple(goals)
        answer = self._filter.step(self._held)
        assert answer is not None
        self.q, model = answer, figure.model
        self._held = model.integrate(self._held, FOLLOWING * self.dt * model.difference(self._held, answer, 1.0), 1.0)
        self._held[2] += self._lowest - self._lowest_of(self._held)
        self.time += self.dt
        return answer

    def _lowest_of(self, q: Array) -> float:
        """Height of the lowest contact point of a pose (nq,) above the ground [m]."""
        points = self._state.at(q, np.zeros(self._state.model.nv)).points
        heights = points[:, 2] - self._state.model.point_radii - self._terrain.heights(points[:, :2])
        return float(heights.min()) if len(heights) else 0.0


class Posed(NamedTuple):
    """What `pose` gives.

    Example:
        >>> q = poise.motion_to_q(character, motion)[0]
        >>> posed = poise.edit.pose(character, q, {"left_hand": (0.3, 0.2, 1.4)}, seconds=0.1)
        >>> still, short_by = posed.q[-1], posed.off["left_hand"]

    Attributes:
        q: The poses on the way, the last one is the pose, shape (F, nq).
        off: How far each body is from its place in the end [m].
    """

    q: Array
    off: dict[str, float]


def pose(
    character: Character,
    q: Array,
    places: Mapping[str, Sequence[float]],
    *,
    seconds: float = 3.0,
    dt: float = 0.01,
    terrain: Terrain | None = None,
) -> Posed:
    """Bring bodies of a figure to places; the rest of it follows with its weight over its feet.

    Example:
        >>> places = {"left_hand": (0.3, 0.2, 1.4)}
        >>> q, off = poise.edit.pose(character, poise.motion_to_q(character, motion)[0], places, seconds=0.1)
        >>> poise.save(poise.q_to_motion(character, q, 0.01), "reaches.bvh")

    Args:
        character: The figure.
        q: The pose that it begins in, shape (nq,).
        places: Where bodies go [m], by a joint's own name or a role. Name a foot to keep it where it is.
        seconds: How long it takes [s].
        dt: Length of a step [s].
        terrain: Placed terrain; level at the character's floor if not given.

    Raises:
        UnknownName: if there is no such body.
        InvalidValue: if a place is not three finite meters, two names mean one body, or the time is out of range.
    """
    if not dt <= seconds <= 600.0:
        raise InvalidValue(f"seconds is {seconds:g}; give at least {dt:g}, which is one step, and at most 600.")
    named: dict[int, str] = {}
    for body in places:
        other = named.setdefault(character.body_index(body), body)
        if other != body:
            raise InvalidValue(f"{other!r} and {body!r} are one body, which goes to one place; leave one out.")
    poser = Poser(character, q, dt=dt, terrain=terrain)
    for body, place in places.items():
        poser.drag(body, place)
    poses = np.array([poser.q, *(poser.step() for _ in range(round(seconds / dt)))])
    ends, _ = body_poses(character, poses[-1:])
    found = {
        body: float(np.linalg.norm(ends[0, character.body_index(body)] - np.array(place)))
        for body, place in places.items()
    }
    return Posed(poses, found)
