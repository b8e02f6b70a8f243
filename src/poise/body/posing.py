"""Between a motion's joints and a character's coordinates q, both ways, and where q puts the bodies.

q = [root position, root quaternion, then per body a quaternion (ball) or an angle (hinge)], all relative to the parent
*body*. Going back, only the deviation is written: a joint's source rotation times (reference⁻¹ · simulated), so what
did not deviate returns as it was, and carried joints keep their source rotation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array


def motion_to_q(character: Character, motion: Motion) -> Array:
    """Coordinates of every frame, shape (F, nq)."""
    positions, orientations = motion.world
    q = np.empty((motion.frame_count, character.nq))
    for i, body in enumerate(character.bodies):
        at = character.q_addresses[i]
        if body.kind == "free":
            q[:, at : at + 3] = positions[:, body.joint]
            q[:, at + 3 : at + 7] = orientations[:, body.joint]
            continue
        parent = orientations[:, character.bodies[body.parent].joint]
        local = rotations.multiply(rotations.conjugate(parent), orientations[:, body.joint])
        if body.kind == "ball":
            q[:, at : at + 4] = rotations.normalize(local)
        else:
            assert body.axis is not None
            q[:, at] = np.unwrap(hinge_angle(body.axis, local, body.rest_rotation))
    return q


def hinge_angle(axis: Array, local: Array, rest: Array | None) -> Array:
    """Angle [rad], −π … π, of hinge rotations `local` (..., 4) from the hinge's rest turn, shape (...)."""
    turn = local if rest is None else rotations.multiply(rotations.conjugate(rest), local)
    angle = 2.0 * np.arctan2(turn[..., 1:] @ axis, turn[..., 0])
    return np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi


def apply_deviation(character: Character, motion: Motion, reference: Array, simulated: Array) -> Motion:
    """The motion with each joint turned, and its root moved, by what `simulated` deviates from `reference`.

    Args:
        character: The bodies.
        motion: Source frames, F of them.
        reference: Coordinates of the undisturbed character at those frames, shape (F, nq).
        simulated: Coordinates of the simulated one, shape (F, nq).
    """
    turned = motion.rotations.copy()
    moved = motion.translations.copy()
    for i, body in enumerate(character.bodies):
        at = character.q_addresses[i]
        if body.kind == "hinge":
            assert body.axis is not None
            difference = rotations.from_rotation_vector((simulated[:, at] - reference[:, at])[:, None] * body.axis)
        else:
            at = at + 3 if body.kind == "free" else at
            difference = rotations.multiply(rotations.conjugate(reference[:, at : at + 4]), simulated[:, at : at + 4])
        turned[:, body.joint] = rotations.multiply(turned[:, body.joint], difference)
    mover = root_mover(character)
    shift = simulated[:, :3] - reference[:, :3]
    parent = int(motion.skeleton.parents[mover])
    if parent >= 0:
        shift = rotations.rotate(rotations.conjugate(motion.world[1][:, parent]), shift)
    moved[:, mover] += shift
    return replace(motion, translations=moved, rotations=rotations.normalize(turned))


def root_mover(character: Character) -> int:
    """The joint whose translation carries the root body: its own if the file can move it, else the next above."""
    skeleton = character.skeleton
    joint = character.bodies[0].joint
    for candidate in (joint, *skeleton.ancestors(joint)):
        if candidate in skeleton.translating or skeleton.parents[candidate] < 0:
            return candidate
    return joint


def interpolate_q(character: Character, times: Array, q: Array, at: Array) -> Array:
    """Coordinates between frames: linear in positions and angles, slerp in quaternions; exact at the frames.

    Args:
        character: The bodies.
        times: Times of the frames [s], rising, shape (S,).
        q: Coordinates at those times, shape (S, nq).
        at: Wanted times [s], shape (T,); clamped to the range.
    """
    index = np.clip(np.searchsorted(times, at, side="right") - 1, 0, max(len(times) - 2, 0))
    following = np.minimum(index + 1, len(times) - 1)
    span = np.maximum(times[following] - times[index], 1e-12)
    part = np.clip((at - times[index]) / span, 0.0, 1.0)
    part = np.where(part < 1e-7, 0.0, np.where(part > 1.0 - 1e-7, 1.0, part))
    out = (1.0 - part)[:, None] * q[index] + part[:, None] * q[following]
    for i, body in enumerate(character.bodies):
        if body.kind == "hinge":
            continue
        k = character.q_addresses[i] + (3 if body.kind == "free" else 0)
        first, second = q[index, k : k + 4], q[following, k : k + 4]
        blended = rotations.part_way(first, second, part)
        blended = np.where((part == 0.0)[:, None], first, np.where((part == 1.0)[:, None], second, blended))
        out[:, k : k + 4] = blended
    return out


def body_poses(character: Character, q: Array) -> tuple[Array, Array]:
    """World positions [m] (S, B, 3) and orientations (S, B, 4) of the bodies, by forward kinematics."""
    count = len(character.bodies)
    positions, orientations = np.empty((len(q), count, 3)), np.empty((len(q), count, 4))
    for i, body in enumerate(character.bodies):
        at = character.q_addresses[i]
        if body.kind == "free":
            positions[:, i], orientations[:, i] = q[:, at : at + 3], q[:, at + 3 : at + 7]
            continue
        p = body.parent
        positions[:, i] = positions[:, p] + rotations.rotate(orientations[:, p], body.offset)
        if body.kind == "ball":
            local = q[:, at : at + 4]
        else:
            assert body.axis is not None
            local = rotations.from_rotation_vector(q[:, at, None] * body.axis)
            if body.rest_rotation is not None:
                local = rotations.multiply(body.rest_rotation, local)
        orientations[:, i] = rotations.multiply(orientations[:, p], local)
    return positions, orientations


def body_positions(character: Character, q: Array) -> Array:
    """World positions of the bodies' origins [m], shape (S, B, 3)."""
    return body_poses(character, q)[0]


def joint_deviations(character: Character, reference: Array, simulated: Array) -> Array:
    """Angle by which each body's own joint deviates [deg], shape (S, B); the root's is against the world."""
    out = np.empty((len(reference), len(character.bodies)))
    for i, body in enumerate(character.bodies):
        at = character.q_addresses[i]
        if body.kind == "hinge":
            out[:, i] = np.abs(simulated[:, at] - reference[:, at])
        else:
            at += 3 if body.kind == "free" else 0
            out[:, i] = rotations.angle_between(reference[:, at : at + 4], simulated[:, at : at + 4])
    return np.degrees(out)
