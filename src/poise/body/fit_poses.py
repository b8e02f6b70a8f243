"""The poses a character is fitted to: every frame of its clips, or the rest pose of a bare skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton, rest_pose
from poise.core.typing import Array


@dataclass(frozen=True)
class Poses:
    """Poses of one skeleton, from any number of clips.

    Attributes:
        skeleton: The J joints.
        positions: World positions [m], shape (F, J, 3).
        orientations: World orientations, shape (F, J, 4).
        rotations: Rotations in the parent's frame, shape (F, J, 4).
        speeds: Speed of each joint [m/s], shape (F, J); zeros for a bare skeleton.
        rises: Absolute vertical part of it [m/s], shape (F, J).
        is_bare: True if these are not from a clip but the one rest pose.
    """

    skeleton: Skeleton
    positions: Array
    orientations: Array
    rotations: Array
    speeds: Array
    rises: Array
    is_bare: bool

    @property
    def frame_count(self) -> int:
        return len(self.positions)

    def thinned(self, most: int) -> Poses:
        """Evenly chosen poses, at most this many: enough to tell what a body is, at a fraction of the time."""
        if self.frame_count <= most:
            return self
        keep = np.linspace(0, self.frame_count - 1, most).astype(np.int64)
        return replace(
            self,
            positions=self.positions[keep],
            orientations=self.orientations[keep],
            rotations=self.rotations[keep],
            speeds=self.speeds[keep],
            rises=self.rises[keep],
        )


def gather_poses(source: Motion | Skeleton | Sequence[Motion]) -> Poses:
    """Poses of a motion, of several motions of one skeleton, or of a bare skeleton's rest pose.

    Raises:
        InvalidValue: if no motion is given, or their skeletons differ.
    """
    if isinstance(source, Skeleton):
        positions, orientations = rest_pose(source)
        return Poses(
            source,
            positions[None],
            orientations[None],
            source.rest_rotations[None],
            np.zeros((1, source.joint_count)),
            np.zeros((1, source.joint_count)),
            is_bare=True,
        )
    motions = [source] if isinstance(source, Motion) else list(source)
    if not motions:
        raise InvalidValue("No motion was given to fit a character to. Give a motion, several, or a skeleton.")
    skeleton = motions[0].skeleton
    for other in motions[1:]:
        if other.skeleton.names != skeleton.names or not np.allclose(
            other.skeleton.offsets, skeleton.offsets, atol=1e-6
        ):
            raise InvalidValue(
                "The motions have different skeletons (joint names or offsets differ). Fit one character a skeleton."
            )
    positions = np.concatenate([m.world[0] for m in motions])
    orientations = np.concatenate([m.world[1] for m in motions])
    turned = np.concatenate([m.rotations for m in motions])
    velocities = np.concatenate([_velocities(m) for m in motions])
    speeds, rises = np.linalg.norm(velocities, axis=-1), np.abs(velocities[..., 2])
    return Poses(skeleton, positions, orientations, turned, speeds, rises, is_bare=False)


def _velocities(motion: Motion) -> Array:
    positions = motion.world[0]
    if motion.frame_count < 2:
        return np.zeros_like(positions)
    return np.gradient(positions, motion.times, axis=0)
