"""Momentum and energy, per body and whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.analysis.bodies import BodyMotion
from poise.body.character import Character
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
        com, velocity, acceleration, total * velocity, angular, total * acceleration, angular_rate,
        translational.sum(axis=1), rotational.sum(axis=1), total * gravity * com[:, 2],
        own, own_rate, translational + rotational,
    )  # fmt: skip


def world_inertias(turns: Array, inertias: Array) -> Array:
    """Inertias of bodies (B, 3, 3) seen in world axes, R I Rᵀ, shape (F, B, 3, 3)."""
    return np.matmul(np.matmul(turns, inertias), np.swapaxes(turns, -1, -2))


def composite_inertia(bodies: BodyMotion, character: Character) -> Array:
    """Inertia of the whole as if frozen, about its center of mass [kg m²], world axes, shape (F, 3, 3)."""
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
