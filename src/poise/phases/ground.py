"""The ground under a clip: the one it carries along, the one that was asked for, or its own floor."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from poise.core import rotations
from poise.core.motion import Ground, Motion
from poise.core.typing import Array
from poise.phases.points import body_points, pelvis
from poise.phases.travel import direction_of_travel
from poise.terrain import Terrain
from poise.terrain.shapes import Plane


def start_of(motion: Motion) -> Array:
    """Where a clip starts: the place of the pelvis in the first frame [m], shape (3,).

    The first joint of a file may stay at the origin while the figure walks.
    """
    return motion.world[0][0, pelvis(motion.skeleton)]


def laid_under(terrain: Terrain | None, motion: Motion, floor: float) -> Terrain:
    """A ground laid under a clip: it begins where the root is in the first frame and rises where the clip goes."""
    start = start_of(motion)
    terrain = Terrain.flat() if terrain is None else terrain
    return terrain.placed(origin=(float(start[0]), float(start[1])), heading=direction_of_travel(motion), ground=floor)


def carried_ground(motion: Motion) -> Terrain | None:
    """The ground that a clip was made for, where its file says so."""
    ground = motion.source.ground if motion.source is not None else None
    if ground is None:
        return None
    laid = Terrain.parse(ground.spec)
    return replace(laid, fixed_heading=None).placed(origin=ground.origin, heading=ground.heading, ground=ground.height)


def leveled(motion: Motion, terrain: Terrain) -> Motion:
    """A motion on some ground as it would be on level ground, so that feet can be measured on it; no more is meant.

    On a slope all is turned until that is level. Elsewhere every frame is moved up or down until the ground under its
    lowest point, that which is nearest to the ground, is as high as the terrain's own level.
    """
    translations, turned = motion.translations.copy(), motion.rotations.copy()
    if isinstance(terrain.shape, Plane):
        normal = terrain.sample(np.array([terrain.origin])).normal[0]
        axis = np.array([normal[1], -normal[0], 0.0])  # about which the normal turns to the vertical
        sine = float(np.linalg.norm(axis))
        angle = math.atan2(sine, float(normal[2]))
        back = rotations.from_rotation_vector(axis * (angle / sine if sine > 1e-12 else 0.0))
        pivot = np.array([*terrain.origin, terrain.ground])
        translations[:, 0] = rotations.rotate(back, translations[:, 0] - pivot) + pivot
        turned[:, 0] = rotations.multiply(back, turned[:, 0])
    else:
        points, _ = body_points(motion)
        for frame, (time, places) in enumerate(zip(motion.times.tolist(), points, strict=True)):
            heights = terrain.heights(places[:, :2], time)
            lowest = int(np.argmin(places[:, 2] - heights))
            translations[frame, 0, 2] += terrain.ground - heights[lowest]
    return replace(motion, translations=translations, rotations=turned, source=None)


def carrying(motion: Motion, terrain: Terrain) -> Motion:
    """The motion with the ground it was made for, which its file will carry; level ground needs no word."""
    if motion.source is None:
        return motion
    note = None if terrain.is_flat else Ground(terrain.spec, terrain.origin, terrain.heading, terrain.ground)
    if note == motion.source.ground:
        return motion
    return replace(motion, source=replace(motion.source, ground=note)).placed(*motion.world)
