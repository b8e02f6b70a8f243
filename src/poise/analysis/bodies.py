"""How each body of a character moves in a clip: places, velocities, accelerations, all frames at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.analysis.smoothing import LowPass, derivatives, rates, smooth
from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import world_pose
from poise.core.typing import Array


@dataclass(frozen=True)
class BodyMotion:
    """Motion of B bodies over F frames, in the world frame.

    Places are those of the filtered motion, of which velocities and accelerations are central differences.

    Attributes:
        times: [s], shape (F,).
        joints: Place of each body's joint [m], shape (F, B, 3).
        turns: Orientation as matrices, shape (F, B, 3, 3).
        com: Center of mass of each body [m], shape (F, B, 3).
        velocities, accelerations: Of those centers [m/s], [m/s^2], shape (F, B, 3).
        angular_velocities, angular_accelerations: [rad/s], [rad/s^2], shape (F, B, 3).
    """

    times: Array
    joints: Array
    turns: Array
    com: Array
    velocities: Array
    accelerations: Array
    angular_velocities: Array
    angular_accelerations: Array


def require_same_skeleton(character: Character, motion: Motion) -> None:
    """Raise InvalidValue if the character was made for another skeleton."""
    if character.skeleton.names != motion.skeleton.names:
        raise InvalidValue(
            f"The character belongs to another skeleton: {len(character.skeleton.names)} joints, where the motion has "
            f"{len(motion.skeleton.names)}. Leave it out, or fit one to this motion: poise character, "
            "Character.fit(motion)."
        )


def body_motion(
    motion: Motion,
    character: Character,
    filter: LowPass,
    weights: Array | None = None,
    breaks: Sequence[int] = (),
) -> BodyMotion:
    """How the bodies move, from the motion as drawn: joints that are moved by translation are moved.

    Filtered are the root's place and the joints' rotations (as sign-continuous quaternions), so bones keep their
    length.

    Args:
        motion: F frames.
        character: B bodies.
        filter: Low-pass before the differences.
        weights: How far each frame is believed, 0 … 1, shape (F,); see `smooth`.
        breaks: First frames of stretches across which nothing is filtered or compared.
    """
    joints, times = [b.joint for b in character.bodies], motion.times
    positions, orientations = _filtered_world(motion, character.carrying_joints, filter, weights, breaks)
    at, quaternions = positions[:, joints], orientations[:, joints]
    com = at + rotations.rotate(quaternions, np.stack([b.com for b in character.bodies]))
    velocities, accelerations = derivatives(com, times, breaks)
    spins = rotations.to_rotation_vector(rotations.multiply(quaternions[1:], rotations.conjugate(quaternions[:-1])))
    angular = rates(spins / np.diff(times)[:, None, None], times, breaks)
    return BodyMotion(times, at, rotations.to_matrix(quaternions), com, velocities, accelerations, *angular)


def _filtered_world(
    motion: Motion, carrying: Sequence[int], filter: LowPass, weights: Array | None, breaks: Sequence[int]
) -> tuple[Array, Array]:
    """Places (F, J, 3) and orientations (F, J, 4) of the joints that bodies hang on, from the filtered motion."""
    if not filter.is_on or motion.frame_count < 5:
        return motion.world
    skeleton, needed = motion.skeleton, set(carrying)
    moving, turning = sorted(needed & skeleton.translating), sorted(needed - skeleton.fixed)
    translations, turns = motion.translations.copy(), motion.rotations.copy()
    translations[:, moving] = smooth(filter, motion.times, translations[:, moving], weights, breaks)
    smoothed = smooth(filter, motion.times, rotations.continuous(turns[:, turning]), weights, breaks)
    turns[:, turning] = rotations.normalize(smoothed)
    return world_pose(skeleton, translations, turns)


def center_of_mass(motion: Motion, character: Character) -> Array:
    """Center of mass of every frame as it stands, unfiltered [m], shape (F, 3): Σ m_i c_i / Σ m_i."""
    require_same_skeleton(character, motion)
    joints = [b.joint for b in character.bodies]
    masses = np.array([b.mass for b in character.bodies])
    positions, orientations = motion.world
    centers = positions[:, joints] + rotations.rotate(
        orientations[:, joints], np.stack([b.com for b in character.bodies])
    )
    return np.matmul(masses / masses.sum(), centers)
