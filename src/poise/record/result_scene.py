"""A simulated clip as a scene: the simulated figure, its reference as a ghost, the ground, and what pushed."""

from __future__ import annotations

import numpy as np

from poise.scene import GHOST, SOLID, Arrow, Scene, Track
from poise.sim.forces import Push
from poise.sim.report import body_poses
from poise.sim.result import SimulationResult


def scene_of(result: SimulationResult, *, ghost: bool = True, title: str = "") -> Scene:
    """What a recording of this result shows."""
    character = result.character
    positions, orientations = body_poses(character, result.q)
    tracks = [Track("simulated", character, positions, orientations, SOLID)]
    if ghost:
        tracks.append(Track("reference", character, *body_poses(character, result.reference_q), GHOST))
    arrows: list[Arrow] = []
    for push in result.pushes:
        body = push.body_of(character)
        end = min(push.start + push.duration, float(result.times[-1]))
        com = character.bodies[body].com
        if isinstance(push, Push):
            force = np.array(push.force, dtype=np.float64)
        else:
            force = push.stiffness * (np.array(push.point) - positions[:, body])
        arrows.append(Arrow(0, body, push.start, end, force, com, pulls=not isinstance(push, Push)))
    return Scene(result.times, tuple(tracks), result.terrain, tuple(arrows), title)
