"""A clip bent round what stands in its figure's way: the body turns along its path, and each foot where it lands.

The reference itself is bent, so the filter walks on the new path as on any other. Feet that stand stay where they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.typing import Array
from poise.filter.reference import Touch
from poise.filter.sensing import feet_of

COMES, BEGINS = 0.5, 0.25
"""A figure comes to its line in about the first time, no faster than a figure drifts; its speed aside changes within
the second [s]."""
SLOWEST = 0.5
"""A figure that goes slower than this, for a leg of 0.82 m, turns no further than at this speed [m/s]."""
NEGLIGIBLE = 1e-3
"""A smaller bend is none [m], [m/s], [rad]."""


class Bend(NamedTuple):
    """How a clip is bent.

    Attributes:
        aside: How far to the left of the clip's the figure is [m].
        speed: Of `aside` [m/s].
        yaw: How far the body is turned to the left [rad].
        legs: How far each leg is turned [rad].
    """

    aside: float
    speed: float
    yaw: float
    legs: tuple[float, ...]

    @property
    def is_none(self) -> bool:
        """Whether the clip is not bent at all."""
        return not (self.aside or self.speed or self.yaw or any(self.legs))


def straight(character: Character) -> Bend:
    """No bend."""
    return Bend(0.0, 0.0, 0.0, (0.0,) * len(hips_of(character)))


def hips_of(character: Character) -> list[int]:
    """The first bodies of the legs, if all of them turn freely at their hips and have a foot each; else none."""
    hips = [limb.bodies[0] for limb in character.limbs if limb.kind == "leg"]
    turns = all(character.bodies[hip].kind == "ball" for hip in hips)
    return hips if turns and len(hips) == len(feet_of(character)) else []


def bent_on(
    bend: Bend, wanted: float, character: Character, touch: Touch, pace: float, *, drift: float, dt: float
) -> Bend:
    """The bend one step later, nearer to the one that is wanted.

    The body faces along its path, atan2(speed aside, speed ahead). A leg that stands keeps its own turn, and one that
    swings has that of the body when it lands.

    Args:
        bend: Now.
        wanted: `Bend.aside` to come to [m].
        character: Of the figure.
        touch: Contacts of the clip now.
        pace: Of the clip [m/s].
        drift: Fastest speed aside [m/s].
        dt: Of the step [s].
    """
    scale = character.leg_scale
    speed = float(np.clip((wanted - bend.aside) / COMES, -drift, drift))
    speed = bend.speed + dt / (BEGINS + dt) * (speed - bend.speed)
    aside = bend.aside + dt * speed
    if max(abs(aside - wanted), abs(speed)) < NEGLIGIBLE * scale:
        aside, speed = wanted, 0.0
    yaw = math.atan2(speed, max(pace, SLOWEST * math.sqrt(scale)))
    legs: list[float] = []
    for foot, own in zip(feet_of(character), bend.legs, strict=False):
        points, turn = list(foot), own
        if not touch.flags[points].any():
            time = float(touch.times_to_contact[points].min())
            turn = own + min(1.0, dt / max(time, dt)) * (yaw - own)
        legs.append(0.0 if abs(turn) < NEGLIGIBLE and not yaw else turn)
    return Bend(aside, speed, yaw if legs else 0.0, tuple(legs))


def bent(character: Character, q: Array, bend: Bend, left: Array) -> Array:
    """A pose (nq,) of the clip, bent.

    Args:
        character: Of the figure.
        q: The pose.
        bend: How the clip is bent.
        left: To the left of the way of the clip, of length 1, shape (2,).
    """
    out = q.copy()
    out[:2] += bend.aside * left
    if not (bend.yaw or any(bend.legs)):
        return out
    out[3:7] = rotations.multiply(_about_up(bend.yaw), q[3:7])
    for hip, own in zip(hips_of(character), bend.legs, strict=True):
        at = character.q_addresses[hip]
        parent = _orientation(character, q, character.bodies[hip].parent)
        turned = rotations.multiply(_about_up(own - bend.yaw), rotations.multiply(parent, q[at : at + 4]))
        out[at : at + 4] = rotations.multiply(rotations.conjugate(parent), turned)
    return out


def _about_up(angle: float) -> Array:
    return rotations.from_rotation_vector(np.array([0.0, 0.0, angle]))


def _orientation(character: Character, q: Array, b: int) -> Array:
    """Of one body in the world, shape (4,), without those of all bodies, which `body_poses` finds."""
    body, at = character.bodies[b], character.q_addresses[b]
    if body.kind == "free":
        return q[at + 3 : at + 7]
    local = q[at : at + 4]
    if body.kind == "hinge":
        assert body.axis is not None
        local = rotations.from_rotation_vector(q[at] * body.axis)
        local = local if body.rest_rotation is None else rotations.multiply(body.rest_rotation, local)
    return rotations.multiply(_orientation(character, q, body.parent), local)
