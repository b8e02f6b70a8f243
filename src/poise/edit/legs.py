"""Legs that bend so that feet are where they should be: two-bone inverse kinematics, all frames at once.

A leg turns in two joints: the knee about its own bend axis until hip and foot are as far apart as wanted, then the hip
by the least turn that brings the foot to its place. So a knee stays on its side, keeps bending the way it bends, and
nothing jumps from frame to frame; the foot keeps its orientation in the world.

The whole figure is moved and turned by its root joint; no other joint angle changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from poise.analysis.momentum import cross
from poise.body.character import Character
from poise.check.ground import end_index
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array, Index

REACH = 0.9999
"""Part of its full length that a leg stretches to at most [1]."""
STRAIGHT = 0.15
"""Sine of a flexion below which the bend axis of the joint limits counts more than the plane the leg lies in [1]."""
BACKWARDS = 0.1
"""A clip whose mean sine of the bend is below minus this bends the other way than the limits say [1]."""
OPPOSITE = 1e-7
"""Twice the cosine of half a turn below which two directions are opposite: the least turn between has no axis [1]."""
SAME_PLACE = 1e-9
"""A foot this near to its target is not touched [m]."""


@dataclass(frozen=True, eq=False)
class Leg:
    """A limb that can be solved for its foot, as joints of the skeleton.

    Attributes:
        name: Of the limb.
        hip, knee, foot: Joints; the knee is the joint between that folds the limb most.
        axis: Bend axis of the knee: in the knee's own frame for a hinge, else in the frame of its parent body at rest.
        axis_joint: The joint whose frame `axis` is given in.
        is_hinge: The knee turns about `axis` only.
        foot_turns: False where the foot's joint cannot be turned freely.
    """

    name: str
    hip: int
    knee: int
    foot: int
    axis: Array
    axis_joint: int
    is_hinge: bool
    foot_turns: bool


def find_legs(character: Character, motion: Motion, *, arms: bool = False) -> tuple[Leg, ...]:
    """The legs of a character that can be solved; with `arms`, its arms as well, for figures on their hands.

    The foot is the first body of the limb with contact points of a foot (or hand); a limb without a joint between hip
    and foot is left out.
    """
    found: list[Leg] = []
    for limb in character.limbs:
        if limb.kind != "leg" and not (arms and limb.kind == "arm"):
            continue
        at = end_index(character, limb)
        if at < 2:
            continue
        chain = limb.bodies[: at + 1]
        joints = [character.bodies[b].joint for b in chain]
        positions = motion.world[0]
        hip, foot = positions[:, joints[0]], positions[:, joints[-1]]

        def lever(k: int, hip: Array = hip, foot: Array = foot, joints: list[int] = joints) -> float:
            knee = motion.world[0][:, joints[k]]
            return float(np.mean(np.linalg.norm(knee - hip, axis=1) * np.linalg.norm(knee - foot, axis=1)))

        k = max(range(1, at), key=lever)
        body, last = character.bodies[chain[k]], character.bodies[chain[-1]]
        if body.kind == "hinge":
            assert body.axis is not None
            axis, frame = body.axis, body.joint
        elif body.limits is not None:
            axis = rotations.rotate(body.limits.rest, body.limits.swing_axis)
            frame = character.bodies[body.parent].joint
        else:
            continue
        leg = Leg(limb.name, joints[0], joints[k], joints[-1], axis, frame, body.kind == "hinge", last.kind == "ball")
        found.append(_right_way(leg, motion))
    return tuple(found)


def _right_way(leg: Leg, motion: Motion) -> Leg:
    """The leg with its axis turned so that the flexion of the clip is positive; limits decide where it hardly bends."""
    bend = _pose(leg, motion, np.arange(motion.frame_count)).sine
    return replace(leg, axis=-leg.axis) if np.mean(bend) < -BACKWARDS else leg


def knee_flexion(leg: Leg, motion: Motion) -> Array:
    """Angle by which the knee is bent, positive the way this knee bends [rad], shape (F,)."""
    return _pose(leg, motion, np.arange(motion.frame_count)).flexion


def reach(leg: Leg, motion: Motion) -> Array:
    """How far the foot's joint gets from the hip with the knee straight [m], shape (F,)."""
    pose = _pose(leg, motion, np.arange(motion.frame_count))
    return REACH * np.sqrt(pose.square + 2.0 * pose.rho)


def solve_legs(
    motion: Motion,
    targets: dict[Leg, tuple[Array, Array]],
    frames: Index,
    bends: dict[Leg, Array] | None = None,
) -> Motion:
    """The motion with the feet of some legs brought to their targets in some frames.

    Args:
        motion: The pose that legs start from; root and trunk stay.
        targets: For each leg, wanted place of its foot's joint [m] (F, 3) and the foot's orientation (F, 4), world.
        frames: Frames to solve.
        bends: How much further knees bend [rad], shape (F,), where it is not the targets that say so: then a foot
            comes to lie on the line from the hip to its target, as near to it as this knee brings it.

    Returns:
        The motion. A foot out of reach comes as near as the leg's length allows.
    """
    turned = np.array(motion.rotations, dtype=np.float64, order="C")
    positions, orientations = motion.world
    parents = motion.skeleton.parents
    for leg, (places, turns) in targets.items():
        bend = None if bends is None else bends.get(leg)
        off = np.abs(places[frames] - positions[frames, leg.foot]).max(axis=1, initial=0.0) > SAME_PLACE
        off |= rotations.angle_between(turns[frames], orientations[frames, leg.foot]) > 1e-8
        if bend is not None:
            off |= np.abs(bend[frames]) > 1e-8
        index = frames[off]
        if not len(index):
            continue
        pose = _pose(leg, motion, index)
        more = _bend_to(pose, places[index]) if bend is None else bend[index]
        knee = _turn_about(pose.normal, more)
        hip = _least_turn(rotations.rotate(knee, pose.w) - pose.u, places[index] - pose.hip, pose.normal)
        # turned in the world; the knee's parent turns with the hip, so its turn is seen from where that was before
        for joint, turn in ((leg.hip, hip), (leg.knee, knee)):
            now = rotations.multiply(turn, orientations[index, joint])
            turned[index, joint] = _in_parent(now, orientations[index], int(parents[joint]))
        if leg.foot_turns:
            carried = rotations.multiply(rotations.multiply(hip, knee), orientations[index, parents[leg.foot]])
            turned[index, leg.foot] = rotations.normalize(
                rotations.multiply(rotations.conjugate(carried), turns[index])
            )
    return replace(motion, rotations=turned)


def _in_parent(turn: Array, orientations: Array, parent: int) -> Array:
    """Orientations in the world (n, 4) as seen from a parent joint, −1 for none; orientations are of all (n, J, 4)."""
    if parent >= 0:
        turn = rotations.multiply(rotations.conjugate(orientations[:, parent]), turn)
    return rotations.normalize(turn)


def _turn_about(axis: Array, angle: Array) -> Array:
    """Unit quaternions (n, 4) about unit axes (n, 3) by angles [rad] (n,)."""
    return np.concatenate([np.cos(0.5 * angle)[:, None], np.sin(0.5 * angle)[:, None] * axis], axis=1)


def _least_turn(start: Array, end: Array, normal: Array) -> Array:
    """The least turns from directions to others, (n, 4); half a turn is about what of `normal` lies across."""
    a, b = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (start, end))
    turn = np.concatenate([1.0 + (a * b).sum(axis=1, keepdims=True), cross(a, b)], axis=1)
    across = normal - (normal * a).sum(axis=1, keepdims=True) * a
    is_half = np.linalg.norm(turn, axis=1) < OPPOSITE
    turn[is_half] = np.concatenate([np.zeros((len(turn), 1)), across], axis=1)[is_half]
    return rotations.normalize(turn)


@dataclass(frozen=True)
class _Pose:
    """A leg in n frames: the hip's place, knee to hip and knee to foot [m], and what its length hangs on.

    |u − w(f)|² = square + 2 ρ cos f for a flexion f about the normal; `sine` is that of the bend about the joint's own
    axis.
    """

    hip: Array
    u: Array
    w: Array
    normal: Array
    flexion: Array
    square: Array
    rho: Array
    sine: Array


def _pose(leg: Leg, motion: Motion, frames: Index) -> _Pose:
    """Bends are about the normal of the plane the leg lies in, on the side of the joint's own axis; hinges about it."""
    positions, orientations = motion.world
    hip, knee, foot = (positions[frames, joint] for joint in (leg.hip, leg.knee, leg.foot))
    u, w = hip - knee, foot - knee
    own = rotations.rotate(orientations[frames, leg.axis_joint], leg.axis)
    size = np.linalg.norm(u, axis=1) * np.linalg.norm(w, axis=1) + 1e-12
    plane = cross(w, u) / size[:, None]
    bend = (plane * own).sum(axis=1)
    normal = own
    if not leg.is_hinge:
        normal = np.where(bend < 0.0, -1.0, 1.0)[:, None] * plane + STRAIGHT * own
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    along_u, along_w = (u * normal).sum(axis=1), (w * normal).sum(axis=1)
    # of the parts across the normal
    cosine = along_u * along_w - (u * w).sum(axis=1)
    sine = size * (plane * normal).sum(axis=1)
    square = (u**2).sum(axis=1) + (w**2).sum(axis=1) - 2.0 * along_u * along_w
    return _Pose(hip, u, w, normal, np.arctan2(sine, cosine), square, np.hypot(sine, cosine), bend)


def _bend_to(pose: _Pose, places: Array) -> Array:
    """How much further the knee must bend for the foot to reach its place [rad], shape (n,): law of cosines."""
    longest = REACH * np.sqrt(pose.square + 2.0 * pose.rho)
    distance = np.linalg.norm(places - pose.hip, axis=1)
    distance = np.minimum(distance, np.maximum(longest, np.linalg.norm(pose.u - pose.w, axis=1)))
    bent = np.arccos(np.clip((distance**2 - pose.square) / (2.0 * pose.rho + 1e-15), -1.0, 1.0))
    # a knee that capture left bent backwards stays so only as far as it was
    bent = np.where((pose.flexion < 0.0) & (bent <= -pose.flexion), -bent, bent)
    return bent - pose.flexion


def bends_to(leg: Leg, motion: Motion, places: Array) -> tuple[Array, Array]:
    """How much further the knee must bend for the foot to reach its place, and how much that moves the foot.

    Args:
        leg: Which leg.
        motion: F frames.
        places: Where the foot's joint should be [m], shape (F, 3).

    Returns:
        The change of the flexion [rad], shape (F,), and by how much the distance of hip and foot changes with it,
        at the middle of the change [m/rad], shape (F,): near zero where the leg is straight.
    """
    pose = _pose(leg, motion, np.arange(motion.frame_count))
    more = _bend_to(pose, places)
    middle = pose.flexion + 0.5 * more
    length = np.sqrt(np.maximum(pose.square + 2.0 * pose.rho * np.cos(middle), 1e-12))
    return more, np.abs(pose.rho * np.sin(middle)) / length


def move_root(motion: Motion, root: int, shift: Array) -> Motion:
    """The motion with the figure moved by `shift` [m] (F, 3) in the world; a frame without one keeps its numbers."""
    local = shift
    parent = int(motion.skeleton.parents[root])
    if parent >= 0:
        local = rotations.rotate(rotations.conjugate(motion.world[1][:, parent]), shift)
    translations = motion.translations.copy()
    translations[:, root] += local
    result = replace(motion, translations=translations)
    # where everything then is follows from where it was, which is known already or soon asked for
    positions, orientations = motion.world
    carried = motion.skeleton.carried_by(root)
    placed = positions.copy()
    placed[:, carried] += shift[:, None, :]
    return result.placed(placed, orientations.copy())


def turn_root(motion: Motion, root: int, turn: Array, center: Array) -> Motion:
    """The motion with the figure turned in the world by `turn` (F, 4) about `center` (F, 3) [m].

    Frames whose turn is the identity keep their numbers.
    """
    positions, orientations = motion.world
    moved = center + rotations.rotate(turn, positions[:, root] - center)
    turned = rotations.multiply(turn, orientations[:, root])
    parent = int(motion.skeleton.parents[root])
    if parent >= 0:
        back = rotations.conjugate(orientations[:, parent])
        moved, turned = rotations.rotate(back, moved - positions[:, parent]), rotations.multiply(back, turned)
    changed = (np.abs(turn[:, 1:]) > 1e-15).any(axis=1)
    translations, joint_rotations = motion.translations.copy(), motion.rotations.copy()
    translations[changed, root] = moved[changed]
    joint_rotations[changed, root] = rotations.normalize(turned[changed])
    return replace(motion, translations=translations, rotations=joint_rotations)
