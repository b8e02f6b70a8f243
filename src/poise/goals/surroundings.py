"""What stands around a synthesized figure, as data: flat surfaces that may move, holds to grip, balls in flight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import InvalidValue, UnknownName
from poise.core.typing import Array, Index
from poise.core.units import GRAVITY

Triple = tuple[float, float, float]

INSTANT = 1e-9
"""Times nearer to one another than this are the same: those of steps are sums of many Δt [s]."""


@dataclass(frozen=True)
class Movement:
    """A key-framed path of a thing: smooth from key to key, at rest in each, resting before and after.

    Attributes:
        times: Rising [s], at least one.
        shifts: Displacement from its place at each key [m].
        turns: Rotation vector at each key [rad]; none turns it if left out.
        about: Point of the world that it turns about before it is shifted [m]; None for each thing's own origin.
    """

    times: tuple[float, ...]
    shifts: tuple[Triple, ...]
    turns: tuple[Triple, ...] = ()
    about: Triple | None = None

    def __post_init__(self) -> None:
        if not self.times or len(self.shifts) != len(self.times) or len(self.turns) not in (0, len(self.times)):
            raise InvalidValue(
                f"A movement needs one shift (and one turn, or none at all) a key; it has {len(self.times)} times, "
                f"{len(self.shifts)} shifts and {len(self.turns)} turns."
            )
        if any(b <= a for a, b in zip(self.times, self.times[1:], strict=False)):
            raise InvalidValue(f"Keys of a movement must rise in time; they are at {self.times}.")

    def at(self, time: float) -> tuple[Array, Array]:
        """Shift [m], shape (3,), and rotation matrix (3, 3) at a time [s]."""
        k = int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, max(len(self.times) - 2, 0)))
        after = min(k + 1, len(self.times) - 1)
        span = self.times[after] - self.times[k]
        part = rotations.eased(float(np.clip((time - self.times[k]) / span, 0.0, 1.0)) if span > 0.0 else 0.0)
        shift = (1.0 - part) * np.array(self.shifts[k]) + part * np.array(self.shifts[after])
        if not self.turns:
            return shift, np.eye(3)
        turn = (1.0 - part) * np.array(self.turns[k]) + part * np.array(self.turns[after])
        return shift, rotations.to_matrix(rotations.from_rotation_vector(turn))

    def placed(self, place: Array, time: float) -> tuple[Array, Array]:
        """Where a place (3,) of the thing is at a time [m], and how the thing is turned, (3, 3)."""
        shift, turn = self.at(time)
        if self.about is None:
            return place + shift, turn
        pivot = np.array(self.about)
        return pivot + turn @ (place - pivot) + shift, turn


def _place(place: Triple, movement: Movement | None, time: float) -> Array:
    return np.array(place) if movement is None else movement.placed(np.array(place), time)[0]


@dataclass(frozen=True)
class Surface:
    """A flat face that pushes back: a floor, a wall, the side of a box.

    Attributes:
        name: What it is called in reports.
        origin: Its middle [m].
        normal: Unit, away from the matter.
        size: Width and height around the middle [m]; inf for a floor without end.
        friction: Coulomb coefficient.
        depth: Points deeper inside than this are behind the face and do not touch it [m].
        movement: How it moves, if it does.
        until: When it is taken away [s].
        solid: Name of the box that it is a face of; a point in a box is pushed out by the nearest face alone.
    """

    name: str
    origin: Triple = (0.0, 0.0, 0.0)
    normal: Triple = (0.0, 0.0, 1.0)
    size: tuple[float, float] = (np.inf, np.inf)
    friction: float = 1.0
    depth: float = 0.2
    movement: Movement | None = None
    until: float = np.inf
    solid: str = ""

    def __post_init__(self) -> None:
        if abs(np.linalg.norm(self.normal) - 1.0) > 1e-6:
            raise InvalidValue(f"Surface {self.name!r} has normal {self.normal}; give a unit vector.")
        if not self.friction >= 0.0:
            raise InvalidValue(f"Surface {self.name!r} has friction {self.friction}; give zero or more.")

    def exists(self, time: float) -> bool:
        """Whether it is still there at a time [s]."""
        return time < self.until - INSTANT

    def place(self, time: float) -> tuple[Array, Array]:
        """Its middle [m], shape (3,), and its frame, shape (3, 3), at a time [s]."""
        if self.movement is None:
            return np.array(self.origin), self.frame
        origin, turn = self.movement.placed(np.array(self.origin), time)
        return origin, self.frame @ turn.T

    @cached_property
    def frame(self) -> Array:
        """Rows: the directions of its width, of its height, and its normal, right-handed, shape (3, 3)."""
        normal = np.array(self.normal)
        side = np.array([0.0, 1.0, 0.0]) if abs(normal[1]) < 0.9 else np.array([1.0, 0.0, 0.0])
        across = np.cross(side, normal)
        across /= np.linalg.norm(across)
        return np.stack([np.cross(across, normal), across, normal])


@dataclass(frozen=True)
class Hold:
    """Something a hand closes around and a foot stands on: a point, or a bar.

    Attributes:
        name: Unique in its scene.
        place: Its middle [m].
        radius: [m].
        axis: Direction of a bar, unit; none for a point.
        half_length: Of a bar [m].
        movement: How it moves, if it does.
        until: When it is taken away [s].
        friction: Coulomb coefficient, for feet.
        normal: Direction in which it carries a foot, unit.
    """

    name: str
    place: Triple
    radius: float = 0.02
    axis: Triple | None = None
    half_length: float = 0.0
    movement: Movement | None = None
    until: float = np.inf
    friction: float = 1.0
    normal: Triple = (0.0, 0.0, 1.0)

    def exists(self, time: float) -> bool:
        """Whether it is still there at a time [s]."""
        return time < self.until - INSTANT

    def turn(self, time: float) -> Array:
        """How it is turned against its place at the start at a time [s], a rotation matrix, shape (3, 3)."""
        return np.eye(3) if self.movement is None else self.movement.at(time)[1]

    def middle(self, time: float) -> Array:
        """Its middle at a time [m], shape (3,)."""
        return _place(self.place, self.movement, time)

    def nearest(self, place: Array, time: float) -> Array:
        """The point of its axis nearest to a place [m], shape (3,)."""
        middle = self.middle(time)
        if self.axis is None:
            return middle
        axis = np.array(self.axis)
        return middle + axis * float(np.clip((place - middle) @ axis, -self.half_length, self.half_length))


@dataclass(frozen=True)
class Ball:
    """Something thrown: held at its place until its time, then free.

    Attributes:
        name: Unique in its scene.
        place: Where it starts [m].
        velocity: When it is let go [m/s].
        at: When it is let go [s].
        radius: [m].
        mass: [kg].
        harmful: Whether it is to be feared.
    """

    name: str
    place: Triple
    velocity: Triple
    at: float = 1.0
    radius: float = 0.034
    mass: float = 0.058
    harmful: bool = False

    def __post_init__(self) -> None:
        if not (self.radius > 0.0 and self.mass > 0.0):
            raise InvalidValue(
                f"Ball {self.name!r} has radius {self.radius} m and mass {self.mass} kg; give positive ones."
            )

    def is_thrown(self, time: float) -> bool:
        """Whether it has been let go at a time [s]."""
        return time >= self.at - INSTANT


def throw(place: Triple, to: Triple, seconds: float) -> Triple:
    """Velocity with which a ball that is let go at a place passes another after its flight: (to − place) / T + g T / 2.

    Args:
        place, to: [m].
        seconds: T [s], positive.

    Returns:
        When it is let go [m/s].
    """
    x, y, z = ((b - a) / seconds for a, b in zip(place, to, strict=True))
    return x, y, z + 0.5 * GRAVITY * seconds


@dataclass(frozen=True)
class Scene:
    """All that stands around the figures.

    Attributes:
        surfaces, holds, balls: Each with a name of its own.
    """

    surfaces: tuple[Surface, ...] = (Surface("floor"),)
    holds: tuple[Hold, ...] = ()
    balls: tuple[Ball, ...] = ()

    def __post_init__(self) -> None:
        names = [x.name for x in (*self.surfaces, *self.holds, *self.balls)]
        doubles = sorted({n for n in names if names.count(n) > 1})
        if doubles:
            raise InvalidValue(
                f"Names in a scene must differ; {', '.join(map(repr, doubles))} are used more than once."
            )

    def hold(self, name: str) -> Hold:
        """The hold with this name.

        Raises:
            UnknownName: if there is none.
        """
        for hold in self.holds:
            if hold.name == name:
                return hold
        raise UnknownName(f"No hold {name!r} in the scene. Holds: {', '.join(h.name for h in self.holds) or 'none'}.")


def floor(friction: float = 1.0) -> Scene:
    """A level floor without end."""
    return Scene((Surface("floor", friction=friction),))


FAR = 1e3
"""Gap of a point that is beside every surface [m]."""

EDGE = 0.01
"""A face reaches so far beyond its edges, so that a corner of two has no gap [m]."""


@dataclass(frozen=True)
class Faces:
    """The surfaces of a scene at one time, as arrays.

    Attributes:
        origins: [m], shape (S, 3).
        frames: As `Surface.frame`, shape (S, 3, 3).
        half: Half of width and height [m], shape (S, 2).
        depth, friction: Shape (S,).
        exists: False for one that was taken away, shape (S,).
        solids: The same number for faces of one box, shape (S,).
    """

    origins: Array
    frames: Array
    half: Array
    depth: Array
    friction: Array
    exists: npt.NDArray[np.bool_]
    solids: Index

    @staticmethod
    def at(surfaces: Sequence[Surface], time: float) -> Faces:
        """The surfaces at a time [s]."""
        origins = np.array([s.origin for s in surfaces], dtype=np.float64).reshape(-1, 3)
        frames = np.array([s.frame for s in surfaces]).reshape(-1, 3, 3)
        for i, surface in enumerate(surfaces):
            if surface.movement is not None:
                origins[i], turn = surface.movement.placed(origins[i], time)
                frames[i] = frames[i] @ turn.T
        names = [s.solid or s.name for s in surfaces]
        return Faces(
            origins,
            frames,
            np.array([s.size for s in surfaces], dtype=np.float64).reshape(-1, 2) / 2.0,
            np.array([s.depth for s in surfaces]),
            np.array([s.friction for s in surfaces]),
            np.array([s.exists(time) for s in surfaces], dtype=np.bool_),
            np.array([names.index(s.solid or s.name) for s in surfaces], dtype=np.int64),
        )

    def heights(self, places: Array) -> Array:
        """Height of places (P, 3) over each surface [m], `FAR` where they are beside or behind it, shape (S, P)."""
        local = np.einsum("sij,spj->spi", self.frames, places[None] - self.origins[:, None])
        inside = (np.abs(local[..., :2]) <= self.half[:, None] + EDGE).all(axis=-1)
        inside &= (local[..., 2] > -self.depth[:, None]) & self.exists[:, None]
        return np.where(inside, local[..., 2], FAR)

    def below(self, places: Array, radii: Array) -> Ground:
        """For each sphere at places (P, 3) with radii (P,), the surface it is nearest to."""
        count, gaps = len(places), self.heights(places) - radii
        if not len(self.origins):
            none = np.zeros(count, dtype=np.int64)
            return Ground(np.full(count, FAR), np.tile([0.0, 0.0, 1.0], (count, 1)), np.ones(count), none, gaps)
        nearest = np.abs(gaps).argmin(axis=0)
        return Ground(gaps[nearest, np.arange(count)], self.frames[nearest, 2], self.friction[nearest], nearest, gaps)

    def gaps(self, places: Array, radii: Array, surface: Index) -> Array:
        """Gap of spheres (P, 3) to given surfaces (P,), however far beside them [m], shape (P,)."""
        away = places - self.origins[surface]
        return np.einsum("pi,pi->p", away, self.frames[surface, 2]) - radii

    def carried(self, after: Faces, places: Array, surface: Index) -> Array:
        """Way of the matter at places (P, 3) of the given surfaces (P,) until a later time [m], shape (P, 3)."""
        local = np.einsum("pij,pj->pi", self.frames[surface], places - self.origins[surface])
        return after.origins[surface] + np.einsum("pij,pi->pj", after.frames[surface], local) - places


@dataclass(frozen=True)
class Ground:
    """The nearest surface of each point.

    Attributes:
        gaps: Height over it [m], shape (P,).
        normals: Its normal, shape (P, 3).
        friction: Shape (P,).
        surface: Its index, shape (P,).
        heights: Over every surface [m], as `Faces.heights` less the point's radius, shape (S, P).
    """

    gaps: Array
    normals: Array
    friction: Array
    surface: Index
    heights: Array
