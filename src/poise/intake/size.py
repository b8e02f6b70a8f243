"""How tall a figure is, one definition for every command, and what `--height` means."""

from __future__ import annotations

import re

import numpy as np

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.units import UNITS
from poise.intake.anatomy import Anatomy, anatomy_of
from poise.phases.points import body_points

UPRIGHT = 0.6
"""A rest pose stands if trunk and legs reach this share of their length upwards, and its head beyond 0.7 of all [1]."""
LYING, ALL_FOURS = 0.6, 0.15
"""A rest pose lower than this share of the clip's poses lies; hands this near to the height of feet, as a share of the
whole height, are feet [1]."""
HEIGHTS = (0.01, 100.0)
"""Heights that make sense [m]."""


def height_of(source: Motion | Skeleton) -> float:
    """How tall a figure is [m].

    On two legs: the height of its rest pose if that stands, else leg, trunk and head stretched out. On other legs or
    none: how high the rest pose reaches, or the poses of the clip where that lies.
    """
    skeleton = source.skeleton if isinstance(source, Motion) else source
    anatomy = anatomy_of(skeleton)
    rest = _rest_height(skeleton)
    if len(anatomy.legs) != 2 or anatomy.head is None or _is_on_all_fours(anatomy, source):
        if isinstance(source, Motion):
            moving = float(np.median(np.ptp(body_points(source)[0][:, :, 2], axis=1)))
            return rest if rest > LYING * moving else moving
        return rest
    tips = [float(np.linalg.norm(s.offset)) for s in skeleton.end_sites if s.joint == anatomy.head]
    stretched = anatomy.leg_length + anatomy.trunk_length + max(tips, default=0.0)
    feet = {j for foot in anatomy.feet for j in foot}
    below = [float(np.linalg.norm(s.offset)) for s in skeleton.end_sites if s.joint in feet]
    stretched += 0.3 * max(below, default=0.0)  # a sole lies a third of a foot's length below its ankle
    heights = skeleton.rest[0][:, 2]
    low, head = float(heights.min()), float(heights[anatomy.head])
    hips = float(np.mean(heights[[leg.first for leg in anatomy.legs]]))
    stands = head - low > 0.7 * rest and head - hips > UPRIGHT * anatomy.trunk_length
    return rest if stands and hips - low > UPRIGHT * anatomy.leg_length else stretched


def _is_on_all_fours(anatomy: Anatomy, source: Motion | Skeleton) -> bool:
    """True if what would be arms reaches as far down as what would be legs, in the rest pose and over the clip."""
    if not anatomy.arms:
        return False
    poses = [anatomy.skeleton.rest[0][None]] + ([source.world[0]] if isinstance(source, Motion) else [])
    for places in poses:
        height = places[..., 2]
        arms, legs = (height[:, [limb.end for limb in limbs]].min(axis=1) for limbs in (anatomy.arms, anatomy.legs))
        if float(np.median((arms - legs) / np.maximum(np.ptp(height, axis=1), 1e-9))) > ALL_FOURS:
            return False
    return True


def height_in_meters(text: str | float) -> float:
    """A height as a user writes it: "1.8", "1.8m", "180cm", "6ft" [m].

    Raises:
        InvalidValue: if it is no length between HEIGHTS.
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-z]*)\s*", str(text).lower())
    unit = None if match is None else {"": 1.0, **UNITS, "in": UNITS["inch"]}.get(match[2])
    value = float(match[1]) * unit if match is not None and unit is not None else None
    if value is None or not HEIGHTS[0] <= value <= HEIGHTS[1]:
        raise InvalidValue(f"Height {text!r} is no length between 1 cm and 100 m. Say it as 1.8m, 180cm or 6ft.")
    return value


def _rest_height(skeleton: Skeleton) -> float:
    """Height of the rest pose, tips and all [m]."""
    places, turned = skeleton.rest
    tips = [places[s.joint] + rotations.rotate(turned[s.joint], s.offset) for s in skeleton.end_sites]
    return float(np.ptp(np.concatenate([places, np.reshape(tips, (-1, 3))])[:, 2]))
