"""Objects with goals of their own: a ball that reaches the hoop, a crate that lands on its face.

A helper force moves the object toward its goal, S (a* − a): a* is the acceleration that reaches the goal in time with
the least effort, and S a share of the object's mass matrix M. So S / (M + S) of what is lacking is made up for in every
step, and the object answers contacts by (M + S)⁻¹: figures and bodies meet it in the same solve, and may keep it from
its goal. Source: [Levine2012]_ section 5 names this as future work; eq. (7) for an object whose torques are the
helper's, Q_a = S, Q_τ = M⁻¹.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.core import rotations
from poise.core.errors import InvalidValue, UnknownName
from poise.core.typing import Array
from poise.filter.forces import Force
from poise.physics.mujoco_bodies import Bodies

MOST_HELP = 1e3
"""Largest help of a guide [1]."""


@dataclass(frozen=True)
class Guide:
    """A goal of a body of a scene: where it is to be at a time, and how much help it may have.

    Example:
        >>> world.guide("piece 1", poise.world.Guide((0.0, 1.0, 2.0), by=0.8))

    Attributes:
        place: Of the body [m].
        by: When it is to be there, in the world's time [s]; the goal ends then.
        turn: Its orientation there, axis times angle in the world [rad]; any if not given.
        help: The helper force over what would do it all, as a ratio to the body's own inertia: at 1 each step makes up
            for half of what is lacking, at 0.1 for a tenth. A body with more help is heavier to what stands in its way.
    """

    place: tuple[float, float, float]
    by: float
    turn: tuple[float, float, float] | None = None
    help: float = 1.0

    def __post_init__(self) -> None:
        if not np.isfinite([*self.place, self.by, *(self.turn or ())]).all():
            raise InvalidValue("A guide needs finite numbers for place, by and turn.")
        if not 0.0 < self.help <= MOST_HELP:
            raise InvalidValue(f"help of a guide is {self.help}; give a number above 0, up to {MOST_HELP:g}.")

    def acceleration(self, left: int, dt: float, q: Array, v: Array, gravity: Array) -> Array:
        """That of the six dofs that reaches the goal in so many steps, with the least sum of squares, shape (6,).

        Without help it gets to q + n Δt v + n (n + 1) / 2 Δt² g. What is lacking there, times
        6 / ((n + 1) (2 n + 1) Δt²), is the first of the smallest accelerations that add up to it.

        Args:
            left: Steps, n.
            dt: Of each [s].
            q, v: Place and orientation (7,), and velocities (6,), the last three in the body's frame.
            gravity: [m/s²], shape (3,).
        """
        gain = 6.0 / ((left + 1) * (2 * left + 1) * dt**2)
        falls = q[:3] + left * dt * v[:3] + 0.5 * left * (left + 1) * dt**2 * gravity
        linear, angular = gravity + gain * (np.array(self.place) - falls), np.zeros(3)
        if self.turn is not None:
            goal = rotations.from_rotation_vector(np.array(self.turn))
            lacks = rotations.to_rotation_vector(rotations.multiply(rotations.conjugate(q[3:7]), goal))
            angular = gain * (lacks - left * dt * v[3:])
        return np.concatenate([linear, angular])


class Guided(NamedTuple):
    """A body with a goal.

    Attributes:
        body: Its index.
        q, v: Its first coordinate and dof.
        guide: Its goal.
    """

    body: int
    q: int
    v: int
    guide: Guide


def guided(bodies: Bodies, name: str, guide: Guide) -> Guided:
    """A body of the scene with its goal.

    Raises:
        UnknownName: if there is no such body.
        InvalidValue: if it hangs on a hinge or slide, or never moves.
    """
    if f"scene/{name}" not in bodies.names:
        known = ", ".join(b.removeprefix("scene/") for b in bodies.names if b.startswith("scene/")) or "none"
        raise UnknownName(f"No body {name!r} in the scene. Bodies: {known}.")
    body = bodies.names.index(f"scene/{name}")
    if not bodies.is_free(body):
        raise InvalidValue(f"{name!r} does not move freely; only a body without hinge or slide can have a goal.")
    return Guided(body, *bodies.coordinates(name), guide)


def guide_bodies(bodies: Bodies, guided: list[Guided], time: float, dt: float) -> list[Guided]:
    """Let helper forces act in the step from a time on [s]; returns those whose goals are still to come."""
    coming = [one for one in guided if one.guide.by > time + 1e-9]
    for body, q, v, guide in coming:
        left = max(1, round((guide.by - time) / dt))
        a = guide.acceleration(left, dt, bodies.q[q : q + 7], bodies.v[v : v + 6], bodies.gravity)
        bodies.guide(body, guide.help, a, turns=guide.turn is not None)
    return coming


def pulled(bodies: Bodies, pulls: Sequence[tuple[int, Force]], time: float) -> Array:
    """Generalized force on bodies of what pushes and pulls them from outside at a time [s], shape (nv,)."""
    out = np.zeros(bodies.nv)
    for body, push in pulls:
        if push.is_on(time):
            place, rows = bodies.point(body, push.offset)
            out += rows.T @ push.force_at(place, rows @ bodies.v, time, float(bodies.masses[body]))
    return out
