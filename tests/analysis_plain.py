"""Motion and momentum of bodies straight from their definitions: what the tests hold the analysis to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.analysis.smoothing import derivatives, rates
from poise.body.character import Character
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import world_pose

Array = npt.NDArray[np.float64]


def body_motion(motion: Motion, character: Character, breaks: tuple[int, ...]) -> tuple[Array, ...]:
    """Joints, matrices, centers, velocities, accelerations, spins and their rates, unfiltered."""
    joints = np.array([b.joint for b in character.bodies])
    positions, orientations = world_pose(motion.skeleton, motion.translations, motion.rotations)
    at, turned = positions[:, joints], orientations[:, joints]
    turns = rotations.to_matrix(turned)
    com = at + np.einsum("fbij,bj->fbi", turns, np.stack([b.com for b in character.bodies]))
    velocities, accelerations = derivatives(com, motion.times, breaks)
    relative = rotations.multiply(turned[1:], rotations.conjugate(turned[:-1]))
    slopes = rotations.to_rotation_vector(relative) / np.diff(motion.times)[:, None, None]
    return at, turns, com, velocities, accelerations, *rates(slopes, motion.times, breaks)


def momentum(character: Character, bodies: tuple[Array, ...]) -> dict[str, Array]:
    """The fields of `Momentum` by their definitions."""
    _, turns, com, velocities, accelerations, spins, spin_rates = bodies
    masses = np.array([b.mass for b in character.bodies])
    inertias = turns @ np.stack([b.inertia for b in character.bodies]) @ np.swapaxes(turns, -1, -2)
    share = masses / masses.sum()
    c, v, a = (np.einsum("b,fbi->fi", share, x) for x in (com, velocities, accelerations))
    own = np.einsum("fbij,fbj->fbi", inertias, spins)
    own_rate = np.einsum("fbij,fbj->fbi", inertias, spin_rates) + np.cross(spins, own)
    arms = com - c[:, None]
    moving, forced = (masses[:, None] * (x - y[:, None]) for x, y in ((velocities, v), (accelerations, a)))
    straight = 0.5 * masses * (velocities**2).sum(axis=2)
    turning = 0.5 * (spins * own).sum(axis=2)
    return {
        "com": c,
        "com_velocity": v,
        "com_acceleration": a,
        "angular": (np.cross(arms, moving) + own).sum(axis=1),
        "angular_rate": (np.cross(arms, forced) + own_rate).sum(axis=1),
        "translational": straight.sum(axis=1),
        "rotational": turning.sum(axis=1),
        "body_angular": own,
        "body_angular_rate": own_rate,
        "body_kinetic": straight + turning,
    }
