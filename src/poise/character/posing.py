"""Between a motion's joints and a character's coordinates q, both ways.

q = [root position, root quaternion, then per body a quaternion (ball) or an angle (hinge)], all relative to the parent
*body*. Going back, only the deviation is written: a joint's source rotation times (reference⁻¹ · simulated), so what
did not deviate returns as it was, and carried joints keep their source rotation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poise.character.character import Character
from poise.motion import Motion
from poise.spatial import rotations

Array = npt.NDArray[np.float64]


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
            q[:, at] = hinge_angle(body.axis, local, body.rest_rotation)
    return q


def hinge_angle(axis: Array | None, local: Array, rest: Array | None) -> Array:
    """Angle [rad] of hinge rotations `local` (..., 4) from the hinge's rest turn, continuous along axis 0."""
    assert axis is not None
    turn = local if rest is None else rotations.multiply(rotations.conjugate(rest), local)
    angle = 2.0 * np.arctan2(turn[..., 1:] @ axis, turn[..., 0])
    angle = np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi
    return np.unwrap(angle, axis=0)


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
        turn = rotations.to_rotation_vector(rotations.multiply(rotations.conjugate(first), second))
        blended = rotations.multiply(first, rotations.from_rotation_vector(part[:, None] * turn))
        blended = np.where((part == 0.0)[:, None], first, np.where((part == 1.0)[:, None], second, blended))
        out[:, k : k + 4] = blended
    return out
