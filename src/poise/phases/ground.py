"""The ground under a clip: the one it carries along, the one that was asked for, or its own floor."""

from __future__ import annotations

from dataclasses import replace

from poise.core.motion import Ground, Motion
from poise.phases.travel import direction_of_travel
from poise.terrain import Terrain


def laid_under(terrain: Terrain | None, motion: Motion, floor: float) -> Terrain:
    """A ground laid under a clip: it begins where the root is in the first frame and rises where the clip goes."""
    start = motion.world[0][0, 0, :2]
    terrain = Terrain.flat() if terrain is None else terrain
    return terrain.placed(origin=(float(start[0]), float(start[1])), heading=direction_of_travel(motion), ground=floor)


def carried_ground(motion: Motion) -> Terrain | None:
    """The ground that a clip was made for, where its file says so."""
    ground = motion.source.ground if motion.source is not None else None
    if ground is None:
        return None
    laid = Terrain.parse(ground.spec)
    return replace(laid, fixed_heading=None).placed(origin=ground.origin, heading=ground.heading, ground=ground.height)


def carrying(motion: Motion, terrain: Terrain) -> Motion:
    """The motion with the ground it was made for, which its file will carry; level ground needs no word."""
    if motion.source is None:
        return motion
    note = None if terrain.is_flat else Ground(terrain.spec, terrain.origin, terrain.heading, terrain.ground)
    if note == motion.source.ground:
        return motion
    return replace(motion, source=replace(motion.source, ground=note)).placed(*motion.world)
