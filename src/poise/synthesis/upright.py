"""Which way a figure is up: its skeleton's rest pose where that stands, else one put together from its joints."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import InvalidValue

Array = npt.NDArray[np.float64]

SIDES = ("left", "right")
DOWN = np.array([0.0, 0.0, -1.0])
STEEP = 0.75
"""Cosine of how far the legs and the trunk of a figure that stands may lean."""
NARROW = 0.1
"""Sole points whose spread to the side is less than this part of that along the foot tell no plane."""
LEVEL = 1e-8
"""A sole looks down where the cosine of its way is as near to one."""


def upright(character: Character) -> Array:
    """World orientations of the bodies of a figure that is upright on level ground, unit wxyz, shape (B, 4).

    Some files keep no pose in their skeleton: bones along one axis, the pose in the channels. For those each joint is
    in the middle of what the character was fitted to, which knows the clip, and the whole is turned upright, facing +x.

    Args:
        character: With two legs.

    Raises:
        InvalidValue: if neither pose stands.
    """
    turned = _at_rest(character)
    if stands(character, turned):
        return turned
    turned = _put_together(character)
    if not stands(character, turned):
        raise InvalidValue(
            "This figure does not stand: in its skeleton's rest pose trunk or legs lie, and with legs straight and "
            "joints in the middle its feet are not level. Fit the character to a clip in which it stands."
        )
    return turned


def stands(character: Character, turned: Array) -> bool:
    """Whether trunk and legs point upward in these world orientations (B, 4), soles at one height."""
    places, roles = places_of(character, turned), character.roles
    legs = [places[roles[f"{side}_hip"]] - places[ankle_of(character, side)] for side in SIDES]
    hips = np.mean([places[roles[f"{side}_hip"]] for side in SIDES], axis=0)
    ways = [*legs, *([] if (top := _top(character)) is None else [places[top] - hips])]
    if any(way[2] < STEEP * np.linalg.norm(way) for way in ways):
        return False
    return abs(legs[0][2] - legs[1][2]) < (1.0 - STEEP) * max(np.linalg.norm(leg) for leg in legs)


def places_of(character: Character, turned: Array) -> Array:
    """World places of the bodies [m], root at zero, shape (B, 3)."""
    places = np.zeros((len(character.bodies), 3))
    for i, body in enumerate(character.bodies):
        if body.parent >= 0:
            places[i] = places[body.parent] + rotations.rotate(turned[body.parent], body.offset)
    return places


def _at_rest(character: Character) -> Array:
    skeleton = character.skeleton
    world = np.empty((skeleton.joint_count, 4))
    for j, parent in enumerate(skeleton.parents.tolist()):
        own = skeleton.rest_rotations[j]
        world[j] = own if parent < 0 else rotations.multiply(world[parent], own)
    return world[[b.joint for b in character.bodies]]


def _put_together(character: Character) -> Array:
    """Joints in the middle, the trunk turned upright and to face +x, legs straight down, soles level."""
    turned = np.tile(rotations.IDENTITY, (len(character.bodies), 1))
    for i, body in enumerate(character.bodies):
        if body.parent < 0:
            continue
        middle = body.rest_rotation
        if body.kind == "ball" and body.limits is not None:
            middle = body.limits.rest
        own = character.skeleton.rest_rotations[body.joint] if middle is None else middle
        turned[i] = rotations.multiply(turned[body.parent], own)
    roles, places = character.roles, places_of(character, turned)
    hips = [places[roles[f"{side}_hip"]] for side in SIDES]
    top = _top(character)
    up = places[top] - np.mean(hips, axis=0) if top is not None else -places[ankle_of(character, "left")]
    left = hips[0] - hips[1]
    up /= max(float(np.linalg.norm(up)), 1e-9)
    left -= (left @ up) * up
    left /= max(float(np.linalg.norm(left)), 1e-9)
    ahead: Array = np.asarray(np.cross(left, up), dtype=np.float64)
    turn_limb(character, turned, 0, rotations.from_matrix(np.stack([ahead, left, up])))
    for side in SIDES:
        chain = [roles[f"{side}_hip"], roles[f"{side}_knee"], ankle_of(character, side)]
        for body, beyond in pairwise(chain):
            places = places_of(character, turned)
            bone = places[beyond] - places[body]
            if (size := float(np.linalg.norm(bone))) > 1e-9:
                turn_limb(character, turned, body, rotations.between(bone / size, DOWN))
        level_sole(character, turned, side)
    return turned


def _top(character: Character) -> int | None:
    """The highest body of the trunk."""
    roles = character.roles
    return next((roles[role] for role in ("head", "neck", "chest") if role in roles), None)


def ankle_of(character: Character, side: str) -> int:
    """The body of a foot; of a figure without one, what its sole points lie on."""
    roles, knee = character.roles, character.roles[f"{side}_knee"]
    if f"{side}_foot" in roles:
        return roles[f"{side}_foot"]
    beyond = [p.body for p in character.contact_points if p.part == "foot" and p.body in character.carried(knee)]
    return beyond[0] if beyond else character.carried(knee)[-1]


def sole_points(character: Character, side: str) -> list[int]:
    """Indices of the contact points under a foot."""
    below = character.carried(ankle_of(character, side))
    return [i for i, p in enumerate(character.contact_points) if p.part == "foot" and p.body in below]


def soles_of(character: Character, turned: Array, side: str) -> Array:
    """World places of the points under a foot [m], from its ankle, shape (n, 3)."""
    places, ankle = places_of(character, turned), ankle_of(character, side)
    points = [character.contact_points[i] for i in sole_points(character, side)]
    at = [places[p.body] - places[ankle] + rotations.rotate(turned[p.body], p.offset) for p in points]
    return np.array(at).reshape(-1, 3)


def plane_of(points: Array) -> tuple[Array, Array] | None:
    """Middle of a sole and the unit way it looks, away from the ankle; None where its points tell no plane.

    Args:
        points: Places from the ankle [m], shape (n, 3).
    """
    if len(points) < 3:
        return None
    middle = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - middle)
    if sizes[1] < NARROW * sizes[0] or abs(middle @ axes[2]) < 1e-6:
        return None
    return middle, axes[2] * float(np.sign(middle @ axes[2]))


def level_sole(character: Character, turned: Array, side: str) -> None:
    """Turn a foot so that its sole looks down: `turned` (B, 4) is changed, unless it does already."""
    plane = plane_of(soles_of(character, turned, side))
    if plane is not None and plane[1] @ DOWN < 1.0 - LEVEL:
        turn_limb(character, turned, ankle_of(character, side), rotations.between(plane[1], DOWN))


def turn_limb(character: Character, turned: Array, body: int, turn: Array) -> None:
    """Turn a body and all it carries, in the world: `turned` (B, 4) is changed."""
    for b in character.carried(body):
        turned[b] = rotations.multiply(turn, turned[b])
