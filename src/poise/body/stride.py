"""A standing pose, taken from the clip, for a figure whose rest pose is a stride."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from poise.body.anatomy import Poses
from poise.body.fit_bodies import Frames
from poise.body.parts import Limb
from poise.core import rotations
from poise.core.typing import Array

STANDING = "standing"
"""The rest pose of a character's file in which it stands."""
STRIDE = 0.3
"""A rest pose with one foot so far ahead of the other is a stride, in legs [1]."""


def standing_in(
    poses: Poses, frames: Frames, limbs: Sequence[Limb], roles: Mapping[str, int], kinds: Sequence[str], leg: float
) -> dict[str, dict[str, Array]]:
    """The rest pose "standing" of a figure on two legs whose own is a stride, from its clip; else nothing.

    An exporter may write any frame of a walk as the rest pose. The frame whose feet are nearest to straight under their
    hips takes its place, if its feet are less than half as far apart along the way it faces.

    Args:
        poses: Of the clip.
        frames: The bodies' over these poses.
        limbs: Its limbs, of bodies.
        roles: Body by role.
        kinds: Of the bodies' joints.
        leg: Length of its legs [m].
    """
    legs = [limb.bodies for limb in limbs if limb.kind == "leg"]
    if len(legs) != 2 or poses.is_bare or "hinge" in kinds:
        return {}
    hips = [bodies[0] for bodies in legs]
    feet = [b for role, b in roles.items() if role.endswith("foot")]
    ends = [next((b for b in bodies if b in feet), bodies[-1]) for bodies in legs]
    still = poses.skeleton.rest[0][None, list(frames.joints)]
    if (before := float(_strides(still, hips, ends)[0])) < STRIDE * leg:
        return {}
    lengths = [_length(frames, hip, end) for hip, end in zip(hips, ends)]
    found = int(np.argmin(off_standing(frames.positions, hips, ends, lengths)))
    if _strides(frames.positions[found : found + 1], hips, ends)[0] > 0.5 * before:
        return {}
    own, turns = frames.orientations[found], {}
    for body, (joint, parent) in enumerate(zip(frames.joints, frames.parents)):
        turn = own[body] if parent < 0 else rotations.multiply(rotations.conjugate(own[parent]), own[body])
        turns[poses.skeleton.names[joint]] = rotations.normalize(turn)
    return {STANDING: turns}


def _strides(positions: Array, hips: Sequence[int], ends: Sequence[int]) -> Array:
    """How far one foot is ahead of the other, of poses (F, B, 3) [m], shape (F,)."""
    hip, end = positions[:, hips], positions[:, ends]
    across = (hip[:, 0] - hip[:, 1]) * (1.0, 1.0, 0.0)
    ahead = np.cross(across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9), (0.0, 0.0, 1.0))
    return np.abs(np.sum((end[:, 0] - end[:, 1] - hip[:, 0] + hip[:, 1]) * ahead, axis=1))


def off_standing(positions: Array, hips: Sequence[int], ends: Sequence[int], lengths: Sequence[float]) -> Array:
    """How far the farthest foot of each pose is from straight under its hip, over its leg [1], shape (F,).

    Args:
        positions: Places of bodies [m], shape (F, B, 3).
        hips: First body of each leg.
        ends: Foot of each leg.
        lengths: Of the legs [m].
    """
    off = np.zeros(len(positions))
    for hip, end, length in zip(hips, ends, lengths):
        below = positions[:, end] - positions[:, hip]
        below[:, 2] += length
        off = np.maximum(off, np.linalg.norm(below, axis=1) / max(length, 1e-6))
    return off


def _length(frames: Frames, hip: int, end: int) -> float:
    """Length of the bones from a hip to a foot [m]."""
    length = 0.0
    while end != hip:
        length, end = length + float(np.linalg.norm(frames.offsets[end])), frames.parents[end]
    return length
