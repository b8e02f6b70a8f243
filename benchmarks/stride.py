"""Where a clip's own stride can reach: if every stance has a place on steps and stairs, whatever the filter does."""

from __future__ import annotations

import numpy as np

from benchmarks.clips import Clip
from poise.body.posing import motion_to_q
from poise.filter.filter import SimulatedCharacter
from poise.filter.plan_feet import footholds, stances
from poise.filter.preset import load_preset
from poise.filter.reference import ClipSchedule, ReferenceBuilder
from poise.filter.setup import Options
from poise.physics.state import velocities
from poise.terrain import Terrain

BLOCKED = 3.0
"""A stride with more than this in its way in the best place of a stance is out of reach, for a leg of 0.82 m [cm]."""


def blocked(clip: Clip, terrain: Terrain) -> float:
    """The most that stands in the way of a stance in its best place [m]; 0 where there are no treads.

    A stance has the places that put all of its foot on one tread, no farther from its own than the preset shifts feet
    (0.25 m for a leg of 0.82 m). In the way are the edge that the standing leg, as bent as in the clip, leans into, and
    the part of an edge that the foot cannot fall from or rise over in the time of its swing at 2 m/s (times the root of
    the size). Infinite for a foot that fits on no tread.

    Args:
        clip: The clip.
        terrain: Ground placed under it.
    """
    if not terrain.treads:
        return 0.0
    motion, character = clip.motion, clip.character
    preset = load_preset("recommended")
    figure = SimulatedCharacter(character, preset, terrain, Options(), dt=motion.dt, floor=character.floor)
    q = motion_to_q(character, motion)
    builder = ReferenceBuilder(figure.model, dt=motion.dt, friction=figure.options.friction)
    v = velocities(figure.model, q, motion.dt)
    track = ClipSchedule(builder, q, v, dt=motion.dt, floor=character.floor, leg_length=character.leg_length).track
    reach = preset.end_effector.foothold_shift * character.leg_scale
    worst = 0.0
    for foot in figure.footing.feet:
        standing = np.asarray(np.logical_or.reduce(track.flags[:, np.array(foot)], axis=1))
        for span in stances(standing, track.dt):
            worst = max(worst, footholds(track, character, terrain, foot, span, reach).blocked)
    return worst
