"""How each body of a character moves in a clip: places, velocities, accelerations, all frames at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.analysis import motion_kernels as kernels
from poise.analysis.smoothing import LowPass, smooth_columns
from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.motion import Motion

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


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
    figure = _Figure.of(motion, character)
    frames = motion.frame_count
    columns = np.empty((0, 0))
    if filter.is_on and frames >= 5:
        columns = np.empty((frames, 3 * len(figure.moving) + 4 * len(figure.turning)))
        kernels.gather(figure.translations, figure.rotations, figure.moving, figure.turning, columns)
        smooth_columns(filter, motion.times, columns, weights, breaks)
    joints, quaternions, turns, com = kernels.bodies(
        figure.parents, figure.order, figure.translations, figure.rotations, columns, figure.moving, figure.turning,
        figure.joints, figure.offsets,
    )  # fmt: skip
    velocities, accelerations, spins, spin_rates = (np.zeros_like(com) for _ in range(4))
    edges = np.array([0, *breaks, frames], dtype=np.int64)
    kernels.rates(motion.times, edges, com, quaternions, velocities, accelerations, spins, spin_rates)
    return BodyMotion(motion.times, joints, turns, com, velocities, accelerations, spins, spin_rates)


def center_of_mass(motion: Motion, character: Character) -> Array:
    """Center of mass of every frame as it stands, unfiltered [m], shape (F, 3): Σ m_i c_i / Σ m_i."""
    require_same_skeleton(character, motion)
    figure = _Figure.of(motion, character)
    masses = np.array([b.mass for b in character.bodies])
    return kernels.centers(
        figure.parents, figure.order, figure.translations, figure.rotations, figure.joints, figure.offsets, masses
    )


@dataclass(frozen=True)
class _Figure:
    """What the compiled loops read of a motion and a character.

    Attributes:
        parents: Of all joints, shape (J,).
        order: Joints that bodies hang on, parents first.
        joints: Joint of each body, shape (B,).
        offsets: Center of mass of each body in its frame [m], shape (B, 3).
        moving, turning: Those of `order` that are moved by translation, and that turn.
        translations, rotations: Of the motion.
    """

    parents: Index
    order: Index
    joints: Index
    offsets: Array
    moving: Index
    turning: Index
    translations: Array
    rotations: Array

    @classmethod
    def of(cls, motion: Motion, character: Character) -> _Figure:
        skeleton = motion.skeleton
        joints = [b.joint for b in character.bodies]
        order = character.carrying_joints
        needed = set(order)
        return cls(
            np.ascontiguousarray(skeleton.parents, dtype=np.int64), np.array(order, dtype=np.int64),
            np.array(joints, dtype=np.int64), np.stack([b.com for b in character.bodies]).astype(np.float64),
            np.array(sorted(needed & skeleton.translating), dtype=np.int64),
            np.array(sorted(needed - skeleton.fixed), dtype=np.int64),
            _writeable(motion.translations), _writeable(motion.rotations),
        )  # fmt: skip


def _writeable(values: Array) -> Array:
    """The same values in one block; compiled code takes a read-only array for another type."""
    out = np.ascontiguousarray(values, dtype=np.float64)
    return out if out.flags.writeable else out.copy()
