"""The way of a runner: straight ahead, or round a circle that it leans into.

A body on a circle of radius R accelerates to its middle by v² / R. Legs push through the center of mass, so trunk and
legs lean in by v² / (R g), and the foot stands farther out by this times the height of the center of mass.
"""

from __future__ import annotations

import math

import numpy as np

from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.goals.observation import Observation

STEERS, MOST = 0.15, 0.3
"""How far a runner turns toward its track for each meter that it is off it, for a leg of 0.82 m [rad/m], and at most
[rad]."""
STEEPEST = 0.5
"""Largest acceleration across that it leans for, in parts of g [1]."""


def begin_track(observed: Observation, radius: float) -> None:
    """The figure's way is a circle from here on, to the left; to the right if the radius is negative [m].

    Zero is straight ahead.
    """
    if radius and "track" not in observed.memory:
        x, y, _ = observed.body.forward
        own = radius * observed.body.scale
        observed.memory["track"] = (*(observed.com[:2] + own * np.array([-y, x])), own)


def _outward(observed: Observation) -> tuple[Array, float, float]:
    """Unit direction away from the middle of the circle, how far the figure is from it, and its radius [m]."""
    *middle, radius = observed.memory["track"]
    away = observed.com[:2] - middle
    far = max(math.hypot(*away.tolist()), 1e-6)
    return away / far, far, radius


def course(observed: Observation) -> Array:
    """Unit direction in the plane in which a figure should go and face, shape (3,)."""
    if "track" not in observed.memory:
        return observed.body.forward
    out, far, radius = _outward(observed)
    along = math.copysign(1.0, radius) * np.array([-out[1], out[0]])
    steer = STEERS * (far - abs(radius)) / observed.body.scale
    along -= min(max(steer, -MOST), MOST) * out
    return np.array([*along, 0.0]) / math.hypot(*along.tolist())


def lean_in(observed: Observation) -> Array:
    """Acceleration to the middle of the circle, in parts of g, shape (2,); zero if the figure goes straight ahead."""
    if "track" not in observed.memory:
        return np.zeros(2)
    out, far, radius = _outward(observed)
    speed = float(observed.com_velocity[:2] @ course(observed)[:2])
    return -min(speed**2 / (max(far, 0.5 * abs(radius)) * GRAVITY), STEEPEST) * out
