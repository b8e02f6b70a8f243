"""How the center of mass is kept over feet: where the force on the ground should act, and where feet should land.

With the force through p on level ground, a center of mass at x and height h accelerates by ω² (x − p), ω² = g / h. The
capture point ξ = x + ẋ / ω runs away from p, so p is put beyond it:

    p = p* + (1 + k) (ξ − ξ*),  ẍ = ω² (x − p)

with ξ*, p* the actor's. p* is taken no further than the soles of the feet that stand, p no further than what touches
the ground, so that a trembling actor does not throw the character about.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.core.typing import Array
from poise.core.units import GRAVITY


class Sway(NamedTuple):
    """A center of mass over the ground: place [m], velocity [m/s], acceleration [m/s²], each (2,), height [m]."""

    place: Array
    velocity: Array
    acceleration: Array
    height: float

    @property
    def rate(self) -> float:
        """ω [1/s]."""
        return math.sqrt(GRAVITY / max(self.height, 1e-3))


def capture_error(own: Sway, wanted: Sway) -> Array:
    """ξ − ξ* [m], shape (2,), both with the character's ω."""
    return own.place - wanted.place + (own.velocity - wanted.velocity) / own.rate


def within(points: Array, place: Array, margin: float = 0.0) -> Array:
    """A place (2,), no further from the middle of points (n, 2) than they reach that way, and a margin [m]."""
    middle = points.sum(axis=0) / len(points)
    way = place - middle
    size = math.hypot(way[0], way[1])
    if size < 1e-9:
        return place
    reach = max(float(((points - middle) @ way).max()) / size, 0.0) + margin
    return place if size <= reach else middle + way * (reach / size)


def com_acceleration(
    own: Sway, wanted: Sway, shift: Array, soles: Array, touching: Array, gain: float, margin: float
) -> Array:
    """What is asked of the center of mass over the ground [m/s²], shape (2,).

    Args:
        own: Of the character.
        wanted: The actor's on the character's scale, with the height of the actor's, so that p* is the actor's.
        shift: How far the character is off the actor's way [m], shape (2,).
        soles: Points of the soles of feet that should stand, on the actor's way [m], shape (n, 2).
        touching: What touches the ground [m], shape (m, 2).
        gain: k [1].
        margin: How far out of what touches the force may be asked for [m].
    """
    there = wanted.place - wanted.acceleration / wanted.rate**2
    if len(soles):
        there = within(soles, there)
    moved = wanted._replace(place=wanted.place + shift)
    force = there + shift + (1.0 + gain) * capture_error(own, moved)
    if len(touching):
        force = within(touching, force, margin)
    return own.rate**2 * (own.place - force)
