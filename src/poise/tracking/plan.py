"""A way of the center of mass that the character's own soles can keep, for an actor whose future is known.

The actor's soles are often longer than the character's: the force on the ground that the actor's motion needs, at p*,
then acts where the character has no foot. Let p be the place within the character's soles that is nearest to p*. Then
the capture point of the character must be

    ξ(t) = ∫ ω exp(−ω (s − t)) p(s) ds,  s = t … ∞

which is the only solution of ξ' = ω (ξ − p) that does not run away. Since all of it is linear, only the difference from
the actor's motion is computed: d = p − p*, then Δξ backwards and Δx forwards in time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.tracking.balance import restlessness, within
from poise.tracking.targets import TargetGenerator

INNER = 0.9
"""The force is kept within so much of the soles [1]: the rest is left to keep the balance."""
FARTHEST = 0.12
"""It is moved by no more than this, in legs: where a foot lands later than the actor's, it may be far from soles."""


class Detour(NamedTuple):
    """How far the center of mass goes beside the actor's way, at every step [m, m/s, m/s²], each of shape (F, 2)."""

    place: Array
    velocity: Array
    acceleration: Array


def detour_of(moved: Array, rate: float, dt: float) -> Detour:
    """The detour for a force on the ground that acts elsewhere.

    Args:
        moved: d, how far it acts from p* at every step [m], shape (F, 2).
        rate: ω [1/s].
        dt: Of a step [s].
    """
    capture, place, kept = np.zeros_like(moved), np.zeros_like(moved), math.exp(-rate * dt)
    later = np.zeros(2)
    for k in range(len(moved) - 1, -1, -1):
        later = kept * later + (1.0 - kept) * moved[k]
        capture[k] = later
    place[0] = capture[0]
    for k in range(len(moved) - 1):
        place[k + 1] = place[k] + (1.0 - kept) * (capture[k] - place[k])
    return Detour(place, rate * (capture - place), rate**2 * (place - moved))


def plan_ahead(generator: TargetGenerator, poses: Array) -> Detour:
    """The detour of a character for a recorded actor: goes through the motion once, to see which feet stand where.

    Args:
        generator: Of the targets, before its first pose; it is left as it was, its motion is rewound.
        poses: All that the actor will do, shape (F, nq).
    """
    generator = generator.anew()
    motion, retargeter, feet, dt = generator.motion, generator.retargeter, generator.feet, generator.dt
    height = retargeter.ratio * float(retargeter.theirs.com[2] - retargeter.theirs.floor)
    rate, moved = math.sqrt(GRAVITY / height), np.zeros((len(poses), 2))
    for k, pose in enumerate(poses):
        motion.advance(pose)
        generator.advance(k * dt, None, is_beginning=k == 0)
        standing = [foot for foot in feet.values() if foot.stands]
        for foot in standing:
            foot.has_landed = True
        if standing:
            rows = motion.rows
            force = rows.x[1, :2] - restlessness(rows.v[1, :2]) * rows.a[1, :2] / rate**2
            arms = [(foot.place[:2], foot.arms()) for foot in standing]
            soles = [at + (1.0 - INNER) * arm.mean(axis=0) + INNER * arm for at, arm in arms]
            moved[k] = within(np.concatenate(soles), force) - force
    motion.rewind()
    size = np.hypot(moved[:, 0], moved[:, 1])[:, None]
    most = FARTHEST * retargeter.ours.leg
    return detour_of(moved * np.minimum(1.0, most / np.maximum(size, 1e-9)), rate, dt)
