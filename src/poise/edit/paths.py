"""The path of a free point in closed form: between two places, from a start, to an end, or nearest to positions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.core.units import GRAVITY

UP: Array = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class BallisticPath:
    """r(t) = start + t velocity + t² acceleration / 2 for 0 ≤ t ≤ duration.

    Example:
        >>> path = poise.edit.path_between(np.zeros(3), np.array([1.0, 0.0, 0.0]), duration=0.5)
        >>> highest = path.start + 0.25 * path.velocity + 0.25**2 * path.acceleration / 2  # after 0.25 s

    Source: [ShapiroLee2011]_ eq. (1). Deviates: the printed factor M in the gravity term is dropped; with it the term
    has units kg·m.

    Attributes:
        start: Position at t = 0 in the world frame [m], shape (3,).
        velocity: Velocity at t = 0 [m/s], shape (3,).
        acceleration: Gravity [m/s²], shape (3,), such as (0, 0, -9.81).
        duration: Time of flight [s].
    """

    start: Array
    velocity: Array
    acceleration: Array
    duration: float

    def position(self, time: float | Array) -> Array:
        """Position at a time from the start [s], shape (..., 3) [m]."""
        t = np.asarray(time, dtype=np.float64)[..., None]
        return self.start + t * (self.velocity + 0.5 * t * self.acceleration)

    def velocity_at(self, time: float | Array) -> Array:
        """Velocity at a time from the start [s], shape (..., 3) [m/s]."""
        return self.velocity + np.asarray(time, dtype=np.float64)[..., None] * self.acceleration

    @property
    def end(self) -> Array:
        """Position at t = duration [m], shape (3,)."""
        return self.position(self.duration)

    @property
    def end_velocity(self) -> Array:
        """Velocity at t = duration [m/s], shape (3,)."""
        return self.velocity_at(self.duration)

    @property
    def rise(self) -> float:
        """How far the path comes above the higher of its ends, against gravity [m]; 0 if an end is the highest."""
        g = float(np.linalg.norm(self.acceleration))
        if g == 0.0:
            return 0.0
        up = -self.acceleration / g
        top = float(np.clip(self.velocity @ up / g, 0.0, self.duration))
        return float(self.position(top) @ up - max(self.start @ up, self.end @ up))


def gravity_vector(gravity: float | Array, up: Array = UP) -> Array:
    """Acceleration of free fall [m/s²], shape (3,).

    Example:
        >>> assert poise.edit.gravity_vector(1.62)[2] == -1.62  # the moon

    Args:
        gravity: How strong it is, along -up [m/s²], or the vector itself, shape (3,).
        up: Direction against gravity, any length, shape (3,); unused for a vector.

    Raises:
        InvalidValue: if it is not finite, or `up` has no direction.
    """
    if np.ndim(gravity) == 0:
        length = float(np.linalg.norm(up))
        if not length > 0.0:
            raise InvalidValue("The up direction has no length; give one such as (0, 0, 1).")
        gravity = -float(gravity) * np.asarray(up, dtype=np.float64) / length
    return _vector("gravity", gravity)


def path_between(
    start: Array, end: Array, duration: float, *, gravity: float | Array = GRAVITY, up: Array = UP
) -> BallisticPath:
    """The path from one place to another in a given time.

    Example:
        >>> path = poise.edit.path_between(np.zeros(3), np.array([1.0, 0.0, 0.0]), duration=0.5)
        >>> assert abs(path.velocity[0] - 2.0) < 1e-9  # [m/s]

    Args:
        start: Position at t = 0 in the world frame [m], shape (3,).
        end: Position at t = duration [m], shape (3,).
        duration: Flight time [s], positive.
        gravity: Strength [m/s²] along -up, or the vector (3,).
        up: Direction against gravity, shape (3,).

    Raises:
        InvalidValue: if the duration is not positive, or anything is not finite.

    Source: [ShapiroLee2011]_ eq. (1), a and b from origin and destination.
    """
    start, end, duration = _vector("start", start), _vector("end", end), _positive("duration", duration)
    g = gravity_vector(gravity, up)
    return BallisticPath(start, (end - start) / duration - 0.5 * duration * g, g, duration)


def path_from_start(
    start: Array, velocity: Array, duration: float, *, gravity: float | Array = GRAVITY, up: Array = UP
) -> BallisticPath:
    """The path that leaves a place with a velocity; arguments as for `path_between`, velocity [m/s], shape (3,).

    Example:
        >>> path = poise.edit.path_from_start(np.zeros(3), np.array([1.0, 0.0, 2.0]), duration=0.4)
    """
    g, duration = gravity_vector(gravity, up), _positive("duration", duration)
    return BallisticPath(_vector("start", start), _vector("velocity", velocity), g, duration)


def path_to_end(
    end: Array, velocity: Array, duration: float, *, gravity: float | Array = GRAVITY, up: Array = UP
) -> BallisticPath:
    """The path that reaches a place with a velocity; arguments as for `path_between`, velocity [m/s], shape (3,).

    Example:
        >>> path = poise.edit.path_to_end(np.zeros(3), np.array([1.0, 0.0, -2.0]), duration=0.4)
    """
    g, duration = gravity_vector(gravity, up), _positive("duration", duration)
    end, velocity = _vector("end", end), _vector("velocity", velocity)
    return BallisticPath(end - duration * velocity + 0.5 * duration**2 * g, velocity - duration * g, g, duration)


def path_family(
    start: Array,
    end: Array,
    shortest: float,
    longest: float,
    count: int,
    *,
    gravity: float | Array = GRAVITY,
    up: Array = UP,
) -> tuple[BallisticPath, ...]:
    """Paths between two places with durations evenly spread from a shortest to a longest, both included.

    Example:
        >>> paths = poise.edit.path_family(np.zeros(3), np.array([1.0, 0.0, 0.0]), 0.4, 0.8, count=3)
        >>> assert [round(p.duration, 3) for p in paths] == [0.4, 0.6, 0.8]

    Args:
        start: Position at t = 0 in the world frame [m], shape (3,).
        end: Position at landing [m], shape (3,).
        shortest, longest: Flight times [s], positive.
        count: Number of paths, at least 2.
        gravity: Strength [m/s²] along -up, or the vector (3,).
        up: Direction against gravity, shape (3,).

    Raises:
        InvalidValue: if count is less than 2, or the longest is not longer than the shortest.
    """
    if count < 2:
        raise InvalidValue(f"A family of {count} path(s) was asked for; give at least 2, or one duration.")
    if not _positive("longest", longest) > _positive("shortest", shortest):
        raise InvalidValue(f"Durations from {shortest:g} s to {longest:g} s: the second must be the longer one.")
    times = np.linspace(shortest, longest, count).tolist()
    return tuple(path_between(start, end, t, gravity=gravity, up=up) for t in times)


def fit_path(times: Array, positions: Array, *, gravity: float | Array | None = None, up: Array = UP) -> BallisticPath:
    """The path nearest to given positions in the least-squares sense.

    Example:
        >>> times = np.array([0.0, 0.1, 0.2])
        >>> path = poise.edit.fit_path(times, np.array([[0.0, 0.0, 1.0], [0.1, 0.0, 1.1], [0.2, 0.0, 1.1]]))

    Args:
        times: Rising [s], shape (F,), at least 2, or 3 where gravity is to be found.
        positions: [m], shape (F, 3).
        gravity: Strength along -up or vector [m/s²]; None finds the strength along up that fits best.
        up: Direction against gravity, shape (3,).

    Returns:
        The path from the first to the last time. Its `acceleration` holds the gravity that was found.

    Raises:
        InvalidValue: if there are too few positions.
    """
    least = 3 if gravity is None else 2
    if len(times) < least:
        raise InvalidValue(f"A path cannot be fitted to {len(times)} position(s); give at least {least}.")
    t = np.asarray(times, dtype=np.float64) - times[0]
    lines = np.stack([np.ones_like(t), t], axis=1)
    positions = np.asarray(positions, dtype=np.float64)
    if gravity is None:
        axis = -gravity_vector(1.0, up)
        height = np.linalg.lstsq(np.column_stack([lines, 0.5 * t * t]), positions @ axis, rcond=None)[0]
        g = height[2] * axis
    else:
        g = gravity_vector(gravity, up)
    a, b = np.linalg.lstsq(lines, positions - 0.5 * t[:, None] ** 2 * g, rcond=None)[0]
    return BallisticPath(a, b, g, float(t[-1]))


def _vector(name: str, value: Array | float) -> Array:
    vector = np.array(value, dtype=np.float64)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InvalidValue(f"{name} is {np.asarray(value).tolist()}; give three finite numbers.")
    return vector


def _positive(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidValue(f"{name} is {value} s; give a positive time.")
    return float(value)
