"""Points that stand for a body when there is no character yet: its joints and the tips of its chains."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Skeleton, rest_pose
from poise.core.typing import Array

AT_REST = 1e-3
"""A joint that moves less than this share of the skeleton's extent stays where it is [1]."""

LEAST_SKIN, COVERS = 0.25, 0.7
"""A skin over a smaller share of the joints, and over less than this share of the figure's height or width, is that of
a head or an arm alone and does not tell which joints belong to the figure [1]. A rig may have many controls."""

FEWEST_SKINNED = 15
"""A whole figure has so many bones: hips, spine, head, and three in each limb."""

FLAT, TWINS = 0.2, 0.03
"""A rest pose lower than this share of its longest extent does not stand, nor one far above its pelvis; lengths of
limbs that differ by this share are those of a left and a right one [1]."""

STRAY = 0.02
"""Less skin than this share of what a joint usually moves was painted by accident [1]."""

FAR = 10.0
"""A last bone is drawn to no end of the body if it is so many times as long as the one before, and longer than any way
from the pelvis to a joint that goes on [1]."""

FILLER, STRAIGHT_ON, LIKE_THIGH, LOWEST = 0.01, 0.95, 0.7, 0.1
"""An exporter that knows no foot's length writes the shank's again, within this share and straight on: cosine of the
angle. Of thigh and shank one is no shorter than this share of the other; toes are. The ankle is in this lowest share of
the height [1]."""


def body_points(motion: Motion) -> tuple[Array, npt.NDArray[np.int64]]:
    """World positions of all joints and end sites that belong to the body.

    What stands above the pelvis, an armature or a trajectory joint on the floor, is left out; so are controls, which
    move no skin.

    Returns:
        Positions [m], shape (F, N, 3), read-only, and the joint each point hangs on, shape (N,).
    """
    if "body points" not in motion.found:
        joints, sites = body_parts(motion.skeleton)
        positions = np.empty((motion.frame_count, len(joints) + len(sites), 3))
        for k, joint in enumerate(joints):
            positions[:, k] = motion.world[0][:, joint]
        for k, site in enumerate(sites, len(joints)):
            positions[:, k] = motion.end_positions(site)
        positions.flags.writeable = False
        owners = np.array(joints + [site.joint for site in sites], dtype=np.int64)
        motion.found["body points"] = positions, owners
    return motion.found["body points"]


def body_parts(skeleton: Skeleton) -> tuple[list[int], list[EndSite]]:
    """Joints and end sites that belong to the body: not what stands above the pelvis, nor controls."""
    first = pelvis(skeleton)
    joints = [j for j in range(skeleton.joint_count) if j == first or first in skeleton.ancestors(j)]
    controls = _controls(skeleton)
    joints = [j for j in joints if j not in controls] or joints
    kept = set(joints)
    return joints, [site for site in body_tips(skeleton) if site.joint in kept]


def lowest_at_rest(skeleton: Skeleton, joints: npt.NDArray[np.int64]) -> float:
    """Height of the lowest of these joints and their tips in the rest pose [m]."""
    places, turns = skeleton.rest
    tips = [s for s in body_tips(skeleton) if s.joint in set(joints.tolist())]
    ends = [float((places[s.joint] + rotations.rotate(turns[s.joint], s.offset))[2]) for s in tips]
    return min(float(places[joints, 2].min()), *ends, math.inf)


def is_armature(motion: Motion, joint: int) -> bool:
    """Whether a joint only bears trunk and feet: it moves no skin, hangs on none that does, and stays where it is.

    It marks the floor and is not part of what stands there. Where no skin is known, a joint that stays is enough.
    """
    skeleton = motion.skeleton
    skin = figure_skin(skeleton)
    if skin is not None and np.any(skin[[joint, *skeleton.ancestors(joint)]] > 0.0):
        return False
    way = np.ptp(motion.world[0][:, joint], axis=0)
    body = np.ptp(skeleton.rest[0], axis=0)
    return len(skeleton.children[joint]) > 1 and bool(np.max(way) < AT_REST * np.max(body))


def figure_skin(skeleton: Skeleton) -> Array | None:
    """Vertices that each joint moves, by weight, shape (J,); None where no skin shows which joints are the figure's.

    A skin of the head or an arm alone says nothing of the others.
    """
    if "figure skin" not in skeleton.found:
        skin = skeleton.skin
        if skin is not None and (skin > 0.0).any():
            skin = np.where(skin < STRAY * np.median(skin[skin > 0.0]), 0.0, skin)
        covers = skin is not None and _covers(skin, skeleton.rest[0])
        skeleton.found["figure skin"] = skin if covers else None
    return skeleton.found["figure skin"]


def _covers(skin: Array, places: Array) -> bool:
    """Whether a skin is that of the whole figure: it moves many of the joints, or those from one end to the other."""
    has_skin = skin > 0.0
    if not has_skin.any() or float(np.mean(has_skin)) >= LEAST_SKIN:
        return bool(has_skin.any())
    if np.count_nonzero(has_skin) < FEWEST_SKINNED:
        return False
    whole = np.diff(np.quantile(places, [0.05, 0.95], axis=0), axis=0)[0]  # some controls lie far away
    is_long = whole > 0.5 * whole.max()  # pole targets lie before the knees
    return bool((np.ptp(places[has_skin], axis=0) >= COVERS * whole)[is_long].all())


def far_tips(skeleton: Skeleton) -> frozenset[int]:
    """Last joints that move no skin and lie farther off than the body reaches: tips that were written in another unit.

    A limb's own end is not that far from the joint before, nor is a tail's, a wing's or a weapon's with skin.
    """
    if "far tips" not in skeleton.found:
        children, parents, skin = skeleton.children, skeleton.parents, skeleton.skin
        lengths, way = np.linalg.norm(skeleton.offsets, axis=1), np.zeros(skeleton.joint_count)
        first = 0
        while len(children[first]) == 1:
            first = children[first][0]
        for j in skeleton.carried_by(first).tolist()[1:]:
            way[j] = way[parents[j]] + lengths[j]
        reach = max((float(way[j]) for j, kids in enumerate(children) if kids), default=0.0)
        bare = {j for j, kids in enumerate(children) if not kids and (skin is None or skin[j] <= 0.0)}
        bare -= {site.joint for site in skeleton.end_sites if np.any(site.offset)}
        far = (j for j in bare if lengths[j] > max(reach, FAR * float(lengths[parents[j]])))
        skeleton.found["far tips"] = frozenset(j for j in far if way[parents[j]] > lengths[parents[j]] > 0.0)
    return skeleton.found["far tips"]


def body_tips(skeleton: Skeleton) -> tuple[EndSite, ...]:
    """End sites but those of two feet that an exporter filled in: a second shank straight below each ankle."""
    if "body tips" not in skeleton.found:
        fillers = [site for site in skeleton.end_sites if _repeats_shank(skeleton, site)]
        is_pair = len(fillers) == 2 and fillers[0].joint != fillers[1].joint
        skeleton.found["body tips"] = tuple(
            s for s in skeleton.end_sites if not (is_pair and any(s is f for f in fillers))
        )
    return skeleton.found["body tips"]


def _repeats_shank(skeleton: Skeleton, site: EndSite) -> bool:
    """Whether thigh, shank and ankle follow one another without a branch, and the tip lies one more shank below."""
    ankle, (places, turns) = site.joint, skeleton.rest
    if len(above := skeleton.ancestors(ankle)) < 3 or skeleton.children[ankle]:
        return False
    knee, hip, _ = above[:3]
    if any(len(skeleton.children[j]) != 1 for j in (knee, hip)):
        return False
    thigh, shank = places[knee] - places[hip], places[ankle] - places[knee]
    tip, length = rotations.rotate(turns[ankle], site.offset), float(np.linalg.norm(shank))
    if abs(float(np.linalg.norm(tip)) - length) > FILLER * length:
        return False
    if not LIKE_THIGH * length < float(np.linalg.norm(thigh)) < length / LIKE_THIGH:
        return False
    heights = places[skeleton.carried_by(pelvis(skeleton)), 2]
    is_low = places[ankle, 2] <= heights.min() + LOWEST * float(np.ptp(heights))
    return bool(is_low and tip[2] < -0.5 * length and tip @ shank > STRAIGHT_ON * length**2)


def _controls(skeleton: Skeleton) -> frozenset[int]:
    """Joints that neither move skin nor carry any that do, but for those in which a limb with skin ends; far tips."""
    skin, far = figure_skin(skeleton), far_tips(skeleton)
    if skin is None:
        return far
    parents, children = skeleton.parents.tolist(), skeleton.children
    carries, hangs, found = skin > 0.0, skin > 0.0, set[int](far)
    for j in range(len(parents) - 1, 0, -1):
        carries[parents[j]] |= carries[j]
    for j in range(len(parents)):
        parent = parents[j]
        hangs[j] |= parent >= 0 and hangs[parent]
        if carries[j]:
            continue
        goes_on = parent >= 0 and any(carries[c] for c in children[parent])
        if parent in found or not hangs[j] or goes_on:
            found.add(j)
    return frozenset(found)


def pelvis(skeleton: Skeleton) -> int:
    """The first joint from the root that branches: the pelvis, not the armature or trajectory joint above it.

    Where the skin shows which joints are controls, those are no branches.
    """
    if "pelvis" not in skeleton.found:
        controls, joint = _controls(skeleton), 0
        while len(on := [c for c in skeleton.children[joint] if c not in controls]) == 1:
            joint = on[0]
        skeleton.found["pelvis"] = joint if on else 0
    return skeleton.found["pelvis"]


def velocities(positions: npt.ArrayLike, times: Array) -> Array:
    """Central differences along axis 0, one-sided at the ends [1/s]; zeros for a single frame."""
    places = np.asarray(positions, dtype=np.float64)
    if len(times) < 2:
        return np.zeros_like(places)
    return np.gradient(places, times, axis=0)


def leg_length(skeleton: Skeleton) -> float:
    """Thigh and shank: the two longest bones between the trunk and the lowest tip of the rest pose [m].

    In a rest pose that lies, as where each bone follows its own axis, they are the longest that a left and a right
    limb share.
    A stand-in for a character's own leg where none is at hand; lengths and speeds of thresholds scale with it.
    """
    positions, orientations = rest_pose(skeleton)
    controls = _controls(skeleton)
    children = [[c for c in kids if c not in controls] for kids in skeleton.children]
    joints = [j for j in range(skeleton.joint_count) if j not in controls] or list(range(skeleton.joint_count))
    tips = [(float(positions[j, 2]), j, 0.0) for j in joints if not children[j]]
    for site in body_tips(skeleton):
        tip = positions[site.joint] + rotations.rotate(orientations[site.joint], site.offset)
        if site.joint not in controls:
            tips.append((float(tip[2]), site.joint, float(np.linalg.norm(site.offset))))
    far = list(far_tips(skeleton))
    extent = np.ptp(np.delete(positions, far, axis=0), axis=0)
    below = np.linalg.norm(skeleton.offsets, axis=1)  # length of each joint's bone with all that it carries
    below[far] = 0.0
    for site in body_tips(skeleton):
        below[site.joint] += float(np.linalg.norm(site.offset))
    for j in range(skeleton.joint_count - 1, 0, -1):
        below[skeleton.parents[j]] += below[j]
    lowest, least = min(tips)[0], 0.1 * float(extent[2])
    near = [tip for tip in sorted(tips) if tip[0] <= lowest + least]
    lies = float(extent[2]) < FLAT * float(extent.max())
    if lies or lowest - float(positions[pelvis(skeleton), 2]) > 0.4 * float(extent[2]):
        return max(_longest_pair([_two_longest(skeleton, children, below, tip) for tip in tips]), 1e-6)
    first, *others = (_two_longest(skeleton, children, below, tip, 2.0 * least) for tip in near)
    found = first if first > least else max([first, *others])  # a control may be lower than the feet
    return max(found, 1e-6)


def _longest_pair(lengths: list[float]) -> float:
    """The longest of lengths that two limbs share, else the longest of all: tail, neck and trunk have no twin."""
    ordered = sorted(lengths, reverse=True)
    pairs = (longer for longer, shorter in pairwise(ordered) if shorter > (1.0 - TWINS) * longer)
    return next(pairs, ordered[0])


def _two_longest(
    skeleton: Skeleton, children: list[list[int]], below: Array, tip: tuple[float, int, float], least: float = 0.0
) -> float:
    """The two longest bones between a tip and the trunk, together [m].

    The trunk begins where a chain of two bones, at least so long, meets others that are as long together: not at a
    foot with toes, nor at a shank on which something hangs.
    """
    _, joint, last = tip
    bones, came = [last], -1
    while joint > 0:
        others = sum(float(below[c]) for c in children[joint] if c != came)
        if len(bones) >= 2 and sum(bones) >= least and others > 0.9 * sum(bones):
            break
        bones.append(float(np.linalg.norm(skeleton.offsets[joint])))
        came, joint = joint, int(skeleton.parents[joint])
    return sum(sorted(bones)[-2:])


def bone_weights(skeleton: Skeleton, joints: npt.NDArray[np.int64]) -> Array:
    """Share of the body's length that each point of `body_points` stands for, shape (N,), summing to 1.

    Each bone's length is split evenly between its two ends.
    """
    count = len(joints)
    weights = np.zeros(count)
    place: dict[int, int] = {}
    joint_points = count - sum(1 for s in body_tips(skeleton) if s.joint in set(joints.tolist()))
    for k, j in enumerate(joints[:joint_points].tolist()):
        place[j] = k
    sites = [s for s in body_tips(skeleton) if s.joint in place]
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
