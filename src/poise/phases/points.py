"""Points that stand for a body when there is no character yet: its joints and the tips of its chains."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton, rest_pose
from poise.core.typing import Array

AT_REST = 1e-3
"""A joint that moves less than this share of the skeleton's extent stays where it is [1]."""


def body_points(motion: Motion) -> tuple[Array, npt.NDArray[np.int64]]:
    """World positions of all joints and end sites that belong to the body.

    What stands above the pelvis, an armature or a trajectory joint on the floor, is left out; so are controls, which
    move no skin and hang on none that does.

    Returns:
        Positions [m], shape (F, N, 3), read-only, and the joint each point hangs on, shape (N,).
    """
    if "body points" not in motion.found:
        motion.found["body points"] = _body_points(motion)
    return motion.found["body points"]


def _body_points(motion: Motion) -> tuple[Array, npt.NDArray[np.int64]]:
    skeleton = motion.skeleton
    first = pelvis(skeleton)
    joints = [j for j in range(skeleton.joint_count) if j == first or first in skeleton.ancestors(j)]
    controls = _controls(skeleton)
    joints = [j for j in joints if j not in controls] or joints
    sites = [site for site in skeleton.end_sites if site.joint in joints]
    positions = motion.world[0][:, joints]
    if sites:
        positions = np.concatenate([positions, np.stack([motion.end_positions(s) for s in sites], axis=1)], axis=1)
    positions.flags.writeable = False
    return positions, np.array(joints + [site.joint for site in sites], dtype=np.int64)


def is_armature(motion: Motion, joint: int) -> bool:
    """Whether a joint only bears trunk and feet: it moves no skin, hangs on none that does, and stays where it is.

    It marks the floor and is not part of what stands there. Where no skin is known, a joint that stays is enough.
    """
    skeleton = motion.skeleton
    if skeleton.skin is not None and np.any(skeleton.skin[[joint, *skeleton.ancestors(joint)]] > 0.0):
        return False
    way = np.ptp(motion.world[0][:, joint], axis=0)
    body = np.ptp(skeleton.rest[0], axis=0)
    return len(skeleton.children[joint]) > 1 and bool(np.max(way) < AT_REST * np.max(body))


def _controls(skeleton: Skeleton) -> frozenset[int]:
    """Joints that neither move skin, nor carry any that do, nor hang on any that do."""
    if skeleton.skin is None:
        return frozenset()
    moves = skeleton.skin > 0.0
    tied = set(np.flatnonzero(moves).tolist())
    for j in np.flatnonzero(moves).tolist():
        tied.update(skeleton.ancestors(j))
    return frozenset(
        j for j in range(skeleton.joint_count) if j not in tied and not any(moves[a] for a in skeleton.ancestors(j))
    )


def pelvis(skeleton: Skeleton) -> int:
    """The first joint from the root that branches: the pelvis, not the armature or trajectory joint above it."""
    joint = 0
    while len(skeleton.children[joint]) == 1:
        joint = skeleton.children[joint][0]
    return joint if skeleton.children[joint] else 0


def velocities(positions: Array, times: Array) -> Array:
    """Central differences along axis 0, one-sided at the ends [1/s]; zeros for a single frame."""
    if len(times) < 2:
        return np.zeros_like(positions)
    return np.gradient(positions, times, axis=0)


def leg_length(skeleton: Skeleton) -> float:
    """Thigh and shank: the two longest bones between the trunk and the lowest tip of the rest pose [m].

    A stand-in for a character's own leg where none is at hand; lengths and speeds of thresholds scale with it.
    """
    positions, orientations = rest_pose(skeleton)
    tips = [(float(positions[j, 2]), j, 0.0) for j in range(skeleton.joint_count) if not skeleton.children[j]]
    for site in skeleton.end_sites:
        tip = positions[site.joint] + rotations.rotate(orientations[site.joint], site.offset)
        tips.append((float(tip[2]), site.joint, float(np.linalg.norm(site.offset))))
    _, joint, last = min(tips)
    bones = [last]
    while joint > 0 and (len(skeleton.children[joint]) < 2 or len(bones) < 3):
        bones.append(float(np.linalg.norm(skeleton.offsets[joint])))
        joint = int(skeleton.parents[joint])
    return max(sum(sorted(bones)[-2:]), 1e-6)


def bone_weights(motion: Motion, joints: npt.NDArray[np.int64]) -> Array:
    """Share of the body's length that each point of `body_points` stands for, shape (N,), summing to 1.

    Each bone's length is split evenly between its two ends.
    """
    skeleton = motion.skeleton
    count = len(joints)
    weights = np.zeros(count)
    place: dict[int, int] = {}
    joint_points = count - sum(1 for s in skeleton.end_sites if s.joint in set(joints.tolist()))
    for k, j in enumerate(joints[:joint_points].tolist()):
        place[j] = k
    sites = [s for s in skeleton.end_sites if s.joint in place]
    parents = skeleton.parents.tolist()
    bones = [(place[parents[j]], k, skeleton.offsets[j]) for j, k in place.items() if parents[j] in place]
    bones += [(place[s.joint], joint_points + k, s.offset) for k, s in enumerate(sites)]
    for a, b, offset in bones:
        length = 0.5 * float(np.linalg.norm(offset))
        weights[a] += length
        weights[b] += length
    total = weights.sum()
    return weights / total if total > 0.0 else np.full(count, 1.0 / count)


def runs(flags: npt.NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    """First and last index of each run of True in flags (F,), in order."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return tuple((first, end - 1) for first, end in edges.reshape(-1, 2).tolist())
