"""How tall a figure is, one definition for every command, and what `--height` means."""

from __future__ import annotations

import re

import numpy as np

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.units import UNITS
from poise.intake.anatomy import anatomy_of
from poise.phases.points import body_points

STANDS, ON_TOP = 0.6, 0.7
"""A rest pose stands if it is this high, as a share of leg, trunk and head stretched out, with its head in the upper
part beyond this share of its height [1]."""
HEIGHTS = (0.01, 100.0)
"""Heights that make sense [m]."""


def height_of(source: Motion | Skeleton) -> float:
    """How tall a figure is [m].

    On two legs: the height of its rest pose if that stands, else leg, trunk and head stretched out. On other legs or
    none: how high the body reaches, in the middle of the clip's frames or at rest.
    """
    skeleton = source.skeleton if isinstance(source, Motion) else source
    anatomy = anatomy_of(skeleton)
    rest = _rest_height(skeleton)
    if len(anatomy.legs) != 2 or anatomy.head is None:
        if isinstance(source, Motion):
            return float(np.median(np.ptp(body_points(source)[0][:, :, 2], axis=1)))
        return rest
    tips = [float(np.linalg.norm(s.offset)) for s in skeleton.end_sites if s.joint == anatomy.head]
    stretched = anatomy.leg_length + anatomy.trunk_length + max(tips, default=0.0)
    feet = {j for foot in anatomy.feet for j in foot}
    below = [float(np.linalg.norm(s.offset)) for s in skeleton.end_sites if s.joint in feet]
    stretched += 0.3 * max(below, default=0.0)  # a sole lies a third of a foot's length below its ankle
    heights = skeleton.rest[0][:, 2]
    is_on_top = heights[anatomy.head] - heights.min() > ON_TOP * rest
    return rest if is_on_top and rest > STANDS * stretched else stretched


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
