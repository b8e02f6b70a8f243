"""How bodies and their center of mass move, and their momentum and energy, per body and whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.analysis.smoothing import LowPass, derivatives, rates, smooth
from poise.body.character import Character
from poise.body.posing import require_same_skeleton
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import world_pose
from poise.core.typing import Array
from poise.core.units import GRAVITY


@dataclass(frozen=True)
class Momentum:
    """Momentum and energy of a character over F frames, world frame; "angular" is about its own center of mass.

    Attributes:
        com, com_velocity, com_acceleration: Of the whole, of the filtered motion [m], [m/s], [m/s^2], shape (F, 3).
        linear: Σ m_i v_i [kg m/s], shape (F, 3).
        angular: Σ (c_i − c) × m_i (v_i − v) + I_i ω_i [kg m²/s], shape (F, 3).
        linear_rate, angular_rate: Their rates [N], [N m], shape (F, 3).
        translational, rotational: Kinetic energy Σ ½ m_i v_i², Σ ½ ω_i·I_i ω_i [J], shape (F,).
        potential: m g height of the center of mass above z = 0 [J], shape (F,).
        body_angular: I_i ω_i of each body about its own center [kg m²/s], shape (F, B, 3).
        body_angular_rate: Its rate I_i α_i + ω_i × I_i ω_i [N m], shape (F, B, 3).
        body_kinetic: Kinetic energy of each body [J], shape (F, B).

    Example:
        >>> whole = poise.analyze(motion, character).momentum
        >>> energy = whole.translational + whole.rotational + whole.potential
    """

    com: Array
    com_velocity: Array
    com_acceleration: Array
    linear: Array
    angular: Array
    linear_rate: Array
    angular_rate: Array
    translational: Array
    rotational: Array
    potential: Array
    body_angular: Array
    body_angular_rate: Array
    body_kinetic: Array


def momentum(bodies: BodyMotion, character: Character, *, gravity: float = GRAVITY) -> Momentum:
    """Momentum and energy of moving bodies.

    Example:
        >>> filter = poise.analysis.choose_filter("auto", fps=motion.fps, leg_length=character.leg_length)
        >>> bodies = poise.analysis.body_motion(motion, character, filter)
        >>> whole = poise.analysis.momentum(bodies, character)

    Args:
        bodies: How they move.
        character: Their masses and inertias.
        gravity: Downward [m/s^2].

    Source: [ShapiroLee2011]_ eq. (2). Deviates: about the whole's own center of mass in world axes, with velocities
    by central differences of the filtered motion.
    """
    masses = np.array([b.mass for b in character.bodies])
    share = masses / masses.sum()
    com, velocity, acceleration = (np.matmul(share, x) for x in (bodies.com, bodies.velocities, bodies.accelerations))
    inertias = world_inertias(bodies.turns, np.stack([b.inertia for b in character.bodies]))
    spins = bodies.angular_velocities
    own = np.matmul(inertias, spins[..., None])[..., 0]
    own_rate = np.matmul(inertias, bodies.angular_accelerations[..., None])[..., 0] + cross(spins, own)
    arms = masses[:, None] * (bodies.com - com[:, None])
    # Σ m_i (c_i − c) = 0: velocity and acceleration of the whole drop out
    angular = (cross(arms, bodies.velocities) + own).sum(axis=1)
    angular_rate = (cross(arms, bodies.accelerations) + own_rate).sum(axis=1)
    translational = 0.5 * masses * (bodies.velocities**2).sum(axis=2)
    rotational = 0.5 * (spins * own).sum(axis=2)
    total = float(masses.sum())
    return Momentum(
        com,
        velocity,
        acceleration,
        total * velocity,
        angular,
        total * acceleration,
        angular_rate,
        translational.sum(axis=1),
        rotational.sum(axis=1),
        total * gravity * com[:, 2],
        own,
        own_rate,
        translational + rotational,
    )


def world_inertias(turns: Array, inertias: Array) -> Array:
    """Inertias of bodies (B, 3, 3) seen in world axes, R I Rᵀ, shape (F, B, 3, 3)."""
    return np.matmul(np.matmul(turns, inertias), np.swapaxes(turns, -1, -2))


def composite_inertia(bodies: BodyMotion, character: Character) -> Array:
    """Inertia of the whole as if frozen, about its center of mass [kg m²], world axes, shape (F, 3, 3).

    Example:
        >>> clip = poise.analyze(motion, character)
        >>> inertia = poise.analysis.composite_inertia(clip.bodies, character)
    """
    masses = np.array([b.mass for b in character.bodies])
    inertias = np.stack([b.inertia for b in character.bodies])
    com = np.einsum("b,fbi->fi", masses / masses.sum(), bodies.com)
    places = bodies.com - com[:, None]
    square = np.einsum("b,fbi,fbi->f", masses, places, places)
    turned = world_inertias(bodies.turns, inertias).sum(axis=1)
    return turned + square[:, None, None] * np.eye(3) - np.einsum("b,fbi,fbj->fij", masses, places, places)


def cross(a: Array, b: Array) -> Array:
    """Cross product a × b over the last axis, shapes (..., 3); np.cross copies more."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., i] = a[..., j] * b[..., k] - a[..., k] * b[..., j]
    return out


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

    Example:
        >>> bodies = poise.analyze(motion, character).bodies
        >>> fastest = np.linalg.norm(bodies.velocities, axis=2).max()
    """

    times: Array
    joints: Array
    turns: Array
    com: Array
    velocities: Array
    accelerations: Array
    angular_velocities: Array
    angular_accelerations: Array


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

    Example:
        >>> filter = poise.analysis.choose_filter("auto", fps=motion.fps, leg_length=character.leg_length)
        >>> bodies = poise.analysis.body_motion(motion, character, filter)

    Args:
        motion: F frames.
        character: B bodies.
        filter: Low-pass before the differences.
        weights: How far each frame is believed, 0 … 1, shape (F,); see `smooth`.
        breaks: First frames of stretches across which nothing is filtered or compared.
    """
    joints, times = [b.joint for b in character.bodies], motion.times
    positions, orientations = _filtered_world(motion, character.carrying_joints, filter, weights, breaks)
    at, quaternions = positions[:, joints], orientations[:, joints]
    com = at + rotations.rotate(quaternions, np.stack([b.com for b in character.bodies]))
    velocities, accelerations = derivatives(com, times, breaks)
    spins = rotations.to_rotation_vector(rotations.multiply(quaternions[1:], rotations.conjugate(quaternions[:-1])))
    angular = rates(spins / np.diff(times)[:, None, None], times, breaks)
    return BodyMotion(times, at, rotations.to_matrix(quaternions), com, velocities, accelerations, *angular)


def _filtered_world(
    motion: Motion, carrying: Sequence[int], filter: LowPass, weights: Array | None, breaks: Sequence[int]
) -> tuple[Array, Array]:
    """Places (F, J, 3) and orientations (F, J, 4) of the joints that bodies hang on, from the filtered motion."""
    if not filter.is_on or motion.frame_count < 5:
        return motion.world
    skeleton, needed = motion.skeleton, set(carrying)
    moving, turning = sorted(needed & skeleton.translating), sorted(needed - skeleton.fixed)
    translations, turns = motion.translations.copy(), motion.rotations.copy()
    translations[:, moving] = smooth(filter, motion.times, translations[:, moving], weights, breaks)
    smoothed = smooth(filter, motion.times, rotations.continuous(turns[:, turning]), weights, breaks)
    turns[:, turning] = rotations.normalize(smoothed)
    return world_pose(skeleton, translations, turns)


def center_of_mass(motion: Motion, character: Character) -> Array:
    """Center of mass of every frame as it stands, unfiltered [m], shape (F, 3): Σ m_i c_i / Σ m_i.

    Example:
        >>> com = poise.analysis.center_of_mass(motion, character)
        >>> assert com.shape == (motion.frame_count, 3)
    """
    require_same_skeleton(character, motion)
    joints = [b.joint for b in character.bodies]
    masses = np.array([b.mass for b in character.bodies])
    positions, orientations = motion.world
    centers = positions[:, joints] + rotations.rotate(
        orientations[:, joints], np.stack([b.com for b in character.bodies])
    )
    return np.matmul(masses / masses.sum(), centers)
