"""How strong a figure's joints are: the largest torque each can give."""

from __future__ import annotations

import numpy as np

from poise.body.anthropometry import PERSON_MASS
from poise.body.character import V_SIZES, Character
from poise.core.typing import Array
from poise.core.units import HUMAN_LEG

LARGEST = {
    "hip": (250.0, 200.0, 100.0),
    "knee": (300.0, 80.0, 80.0),
    "foot": (200.0, 80.0, 60.0),
    "toe": (30.0, 30.0, 30.0),
    "spine": (250.0, 200.0, 150.0),
    "neck": (40.0, 40.0, 40.0),
    "shoulder": (100.0, 100.0, 100.0),
    "elbow": (80.0, 80.0, 80.0),
    "hand": (20.0, 20.0, 20.0),
    "other": (100.0, 100.0, 100.0),
}
"""Largest torque about bend, side and twist axis of a strong person of `PERSON_MASS` with legs of `HUMAN_LEG` [N m]."""


def torque_of(person: float, character: Character) -> float:
    """What is a torque in a person of `PERSON_MASS` with legs of `HUMAN_LEG`, in a character, by mass and leg [N m]."""
    return person * character.mass * character.leg_length / (PERSON_MASS * HUMAN_LEG)


def torque_limits(character: Character) -> Array:
    """Largest torque of each dof of the joints [N m], shape (nv − 6,), in proportion to mass and leg length.

    A ball joint's limit about an axis of its own frame is that of the ellipsoid spanned by bend, side and twist.
    """
    scale = torque_of(1.0, character)
    parts = _parts(character)
    out = np.empty(character.nv)
    for i, body in enumerate(character.bodies):
        first = character.v_addresses[i]
        size = V_SIZES[body.kind]
        bend, side, twist = (scale * x * (body.strength if parts[i] != "spine" else 1.0) for x in LARGEST[parts[i]])
        if body.kind == "ball" and body.limits is not None:
            along, swing = body.limits.axis, body.limits.swing_axis
            axes = np.stack([swing, np.cross(along, swing), along])
            out[first : first + size] = np.sqrt(((np.array([bend, side, twist])[:, None] * axes) ** 2).sum(axis=0))
        else:
            out[first : first + size] = bend
    return out[6:]


def _parts(character: Character) -> list[str]:
    """Key of `LARGEST` for each body."""
    parts = ["other"] * len(character.bodies)
    for limb in character.limbs:
        if limb.kind in ("spine", "neck"):
            for body in limb.bodies:
                parts[body] = limb.kind
    for role, body in character.roles.items():
        part = role.split("_")[-1]
        if part in LARGEST and part not in ("spine", "neck"):
            parts[body] = part
    return parts
