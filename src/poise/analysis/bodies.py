"""How each body of a character moves in a clip: places, velocities, accelerations, all frames at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.analysis.smoothing import LowPass, derivatives, rates, smooth
from poise.character.character import Character
from poise.errors import InvalidValue
from poise.motion import Motion
from poise.skeleton import world_pose
from poise.spatial import rotations

Array = npt.NDArray[np.float64]


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
            f"{len(motion.skeleton.names)}. Fit one to this motion: Character.fit(motion)."
        )


def body_motion(
    motion: Motion,
    character: Character,
    filter: LowPass,
    weights: Array | None = None,
    breaks: Sequence[int] = (),
) -> BodyMotion:
    """How the bodies move, from the motion as drawn (joints that are moved by translation are moved).

    Filtered are the root's place and the joints' rotations (as sign-continuous quaternions), so bones keep their
    length.

    Args:
        motion: F frames.
        character: B bodies.
        filter: Low-pass before the differences.
        weights: How far each frame is believed, 0 … 1, shape (F,); see `smooth`.
        breaks: First frames of stretches across which nothing is filtered or compared.
    """
    joints = np.array([b.joint for b in character.bodies])
    positions, orientations = motion.world if not filter.is_on else _smoothed_pose(motion, filter, weights, breaks)
    times, joints_at = motion.times, np.ascontiguousarray(positions[:, joints])
    turned = np.ascontiguousarray(orientations[:, joints])
    turns = rotations.to_matrix(turned)
    com = joints_at + np.einsum("fbij,bj->fbi", turns, np.stack([b.com for b in character.bodies]))
    velocities, accelerations = derivatives(com, times, breaks)
    if len(times) < 2:
        spins = angular_accelerations = np.zeros_like(com)
    else:
        relative = rotations.multiply(turned[1:], rotations.conjugate(turned[:-1]))
        slopes = rotations.to_rotation_vector(relative) / np.diff(times)[:, None, None]
        spins, angular_accelerations = rates(slopes, times, breaks)
    return BodyMotion(times, joints_at, turns, com, velocities, accelerations, spins, angular_accelerations)


def center_of_mass(motion: Motion, character: Character) -> Array:
    """Center of mass of every frame as it stands, unfiltered [m], shape (F, 3): Σ m_i c_i / Σ m_i."""
    require_same_skeleton(character, motion)
    positions, orientations = motion.world
    total = np.zeros((motion.frame_count, 3))
    for body in character.bodies:
        total += body.mass * (positions[:, body.joint] + rotations.rotate(orientations[:, body.joint], body.com))
    return total / character.mass


def _smoothed_pose(
    motion: Motion, filter: LowPass, weights: Array | None, breaks: Sequence[int]
) -> tuple[Array, Array]:
    """World positions and orientations of all joints of the low-passed motion."""
    times, frames = motion.times, motion.frame_count
    moving = sorted(motion.skeleton.translating)
    translations = motion.translations
    if moving:
        translations = translations.copy()
        translations[:, moving] = smooth(filter, times, motion.translations[:, moving], weights, breaks)
    turned = smooth(filter, times, rotations.continuous(motion.rotations).reshape(frames, -1), weights, breaks)
    return world_pose(motion.skeleton, translations, rotations.normalize(turned.reshape(frames, -1, 4)))
