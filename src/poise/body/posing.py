"""Between a motion's joints and a character's coordinates q, both ways, and where q puts the bodies.

q = [root position, root quaternion, then per body a quaternion (ball) or an angle (hinge)], all relative to the parent
*body*. Going back, only the deviation is written: a joint's source rotation times (reference⁻¹ · simulated), so what
did not deviate returns as it was, and carried joints keep their source rotation.

`left_out` lists what the physics leaves out of a motion; all of it comes back unchanged.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import InvalidValue, first_names, require
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import UNITS
from poise.intake.scale import UNIT_WORDS

SAME_SIZE = 1.05
"""Bones of two files that differ by less than this factor are of one size [1]."""


def other_size(character: Character, motion: Motion) -> str:
    """The sentence for a character whose bones are longer or shorter than those of the motion; "" for one size.

    A rig and its clip, say, of which neither says its unit, so that each was read in another. Characters of other
    skeletons are refused elsewhere.
    """
    if character.skeleton.names != motion.skeleton.names:
        return ""
    own, theirs = (np.linalg.norm(s.offsets, axis=1)[1:] for s in (character.skeleton, motion.skeleton))
    both = (own > 0.0) & (theirs > 0.0)
    if not both.any():
        return ""
    factor = float(np.median(own[both] / theirs[both]))
    if max(factor, 1.0 / factor) < SAME_SIZE:
        return ""
    only = "" if factor > 1.0 else "only "
    pairs = ((a, b) for a in UNITS for b in UNITS if a != b and abs(UNITS[a] / UNITS[b] / factor - 1.0) < 0.005)
    units = next(
        (f", as if one had been read in {UNIT_WORDS[a]} and the other in {UNIT_WORDS[b]}" for a, b in pairs), ""
    )
    return (
        f"The bones of the character are {only}{factor:.3g} times as long as those of the motion{units}. Masses and "
        "contacts are those of the character. Read both files in the same unit (--unit, or load(unit=...))."
    )


def require_same_skeleton(character: Character, motion: Motion) -> None:
    """Raise InvalidValue if the character was made for another skeleton."""
    if character.skeleton.names != motion.skeleton.names:
        raise InvalidValue(other_skeleton(character.skeleton.names, motion.skeleton.names))


def other_skeleton(own: Sequence[str], wanted: Sequence[str]) -> str:
    """Why a character does not go with a motion: joints that only one of them has, and what they may be called."""
    odd = [n for n in own if n not in wanted]
    close = difflib.get_close_matches(odd[0], [n for n in wanted if n not in own], n=1) if odd else []
    if close:
        return (
            f"The character has a joint {odd[0]!r} that the motion does not have. Did you mean {close[0]!r}? Change it "
            "in the character file, or fit a character to this motion: poise character CLIP."
        )
    lacking = [n for n in wanted if n not in own]
    parts = [
        f"{what} ({', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''})"
        for what, names in (
            (f"{len(odd)} joints only the character has", odd),
            (f"{len(lacking)} only the motion has", lacking),
        )
        if names
    ]
    return (
        f"The character belongs to another skeleton: {' and '.join(parts) or 'the same joints in another order'}. "
        "Fit one to this motion: poise character CLIP, Character.fit(motion)."
    )


def motion_to_q(character: Character, motion: Motion) -> Array:
    """Coordinates of every frame, shape (F, nq).

    Example:
        >>> path = poise.motion_to_q(character, motion)
        >>> height = path[:, 2]  # of the root

    Raises:
        InvalidValue: if the character belongs to another skeleton.
    """
    require(Motion, motion=motion)
    require_same_skeleton(character, motion)
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


def q_to_motion(character: Character, q: Array, times: Array | float, source: Motion | None = None) -> Motion:
    """Coordinates as a motion of the character's skeleton: what `motion_to_q` undoes.

    Example:
        >>> motion = poise.q_to_motion(character, path, times=1.0 / 120.0)
        >>> poise.save(motion, "mine.bvh")

    Args:
        character: Whose coordinates.
        q: Coordinates of each frame, shape (F, nq).
        times: Of the frames [s], shape (F,), or the time between two.
        source: A motion with the same frames, whose joints without a body (fingers, face) are kept; they keep their
            rest pose by default.

    Raises:
        InvalidValue: if shapes disagree.
    """
    q = np.atleast_2d(q)
    if q.shape[1] != character.nq:
        raise InvalidValue(f"Coordinates of shape {q.shape}; this character needs (F, {character.nq}).")
    at: Array = np.asarray(times, dtype=np.float64)
    if at.ndim == 0:
        at = np.arange(len(q)) * at
    if source is None:
        skeleton, count = character.skeleton, (len(q), 1, 1)
        source = Motion(skeleton, at, np.tile(skeleton.offsets, count), np.tile(skeleton.rest_rotations, count))
    if source.frame_count != len(q) or len(at) != len(q):
        raise InvalidValue(f"{len(q)} frames of coordinates, {len(at)} times, {source.frame_count} frames of source.")
    return replace(apply_deviation(character, source, motion_to_q(character, source), q), times=at)


def hinge_angle(axis: Array, local: Array, rest: Array | None) -> Array:
    """Angle [rad], −π … π, of hinge rotations `local` (..., 4) from the hinge's rest turn, shape (...)."""
    turn = local if rest is None else rotations.multiply(rotations.conjugate(rest), local)
    return np.remainder(rotations.twist_angle(turn, axis) + np.pi, 2.0 * np.pi) - np.pi


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
    starts = [
        address + (3 if body.kind == "free" else 0)
        for address, body in zip(character.q_addresses, character.bodies, strict=True)
        if body.kind != "hinge"
    ]
    turns = np.array(starts, dtype=np.int64)[:, None] + np.arange(4)
    first, second, part = q[index][:, turns], q[following][:, turns], part[:, None]
    blended = rotations.part_way(first, second, part)
    is_at = (part == 0.0)[..., None], (part == 1.0)[..., None]
    out[:, turns] = np.where(is_at[0], first, np.where(is_at[1], second, blended))
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


TURNS = np.radians(0.5)
"""A joint turns if it ever does by more than this [rad]."""
STRETCH = 0.02
"""A bone stretches if its length leaves the simulated one by more than this share of a leg [1]."""


@dataclass(frozen=True)
class LeftOut:
    """What is carried along instead of being simulated.

    Attributes:
        carried: Moving joints without a body: they keep their own rotation on the body that carries them.
        stretched: Bodies whose bone changes its length, and by how much at most [m]; simulated at their median.
        is_figure: False if the character has neither legs nor arms.
    """

    carried: tuple[str, ...]
    stretched: dict[str, float]
    is_figure: bool

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a user should know, in words."""
        said = []
        if not self.is_figure:
            said.append(
                "No legs and no arms were found: this may not be a figure, and what Poise says may not apply to it."
            )
        if self.carried:
            said.append(f"{len(self.carried)} moving joints keep their own turns: {first_names(self.carried, 5)}.")
        if self.stretched:
            worst = max(self.stretched, key=lambda name: self.stretched[name])
            said.append(
                f"Bones that stretch are simulated at their usual length: {first_names(tuple(self.stretched), 5)}; "
                f"{worst} by up to {100.0 * self.stretched[worst]:.3g} cm."
            )
        return tuple(said)


def left_out(character: Character, motion: Motion) -> LeftOut:
    """What a character's bodies do not hold of a motion of its skeleton."""
    skeleton, places = character.skeleton, motion.world[0]
    simulated = {body.joint for body in character.bodies}
    turn = rotations.angle_between(motion.rotations, motion.rotations[:1]).max(axis=0)
    root = character.bodies[0].joint
    above = {root, *skeleton.ancestors(root)}
    carried = [j for j in range(skeleton.joint_count) if j not in simulated | above and turn[j] > TURNS]
    stretched = {}
    for body in character.bodies[1:]:
        lengths = np.linalg.norm(places[:, body.joint] - places[:, character.bodies[body.parent].joint], axis=-1)
        most = float(np.abs(lengths - np.linalg.norm(body.offset)).max())
        if most > STRETCH * character.leg_length:
            stretched[body.name] = most
    is_figure = any(limb.kind in ("leg", "arm") for limb in character.limbs)
    return LeftOut(tuple(skeleton.names[j] for j in carried), stretched, is_figure)
