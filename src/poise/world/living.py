"""What makes a figure look alive that stands in a clip: it breathes, sways, and shifts its weight from leg to leg."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from poise.core.typing import Array, Index
from poise.filter.goal import PENDULUM, smooth
from poise.goals.living import Breathe, Sway, wander
from poise.physics import State

GOLDEN = 0.618
"""Breaths of one figure and the next are this part of a breath apart [1]."""
SHIFTS, FAR, TAKES = 7.0, 0.03, 1.4
"""It shifts its weight once in the first time [s], by up to the second, for a leg of 0.82 m [m], within the third [s];
by trial."""


def alive(time: float, seed: int, scale: float) -> Array:
    """How far the center of mass of a figure that stands is ahead and aside [m], and its chest turns [rad], (3,).

    Args:
        time: [s].
        seed: Number of the figure; no two sway and breathe as one.
        scale: Leg length over 0.82 m [1].
    """
    tempo = math.sqrt(scale)
    place = wander(time, PENDULUM / tempo, tempo, seed=Sway.seed + seed)[0]
    breath = np.radians(Breathe.degrees) * np.sin(2.0 * np.pi * (time / Breathe.period + seed * GOLDEN))
    aside = Sway.aside * place[1] + FAR * _weight(time / tempo, seed)
    return np.array([scale * Sway.ahead * place[0], scale * aside, breath])


def _weight(time: float, seed: int) -> float:
    """How far a figure has shifted its weight at a time [s]: 1 is to the left, −1 to the right."""
    k = int(time // SHIFTS)
    (_, before), (begins, after) = _shift(k - 1, seed), _shift(k, seed)
    return before + (after - before) * smooth(min(1.0, max(0.0, (time - begins) / TAKES)))[0]


@lru_cache
def _shift(k: int, seed: int) -> tuple[float, float]:
    """When the k-th shift of a figure's weight begins [s], and where it brings it, −1 … 1."""
    if k < 0:
        return 0.0, 0.0
    part, size = np.random.default_rng((seed, k)).uniform((0.1, 0.4), (0.7, 1.0)).tolist()
    return SHIFTS * (k + part), size if (k + seed) % 2 else -size


def swaying(state: State, standing: Index, ahead: Array, chest: int) -> Array:
    """Change of a pose for each meter of its center of mass ahead and aside, and radian of its chest, shape (nv, 3).

    The points that stand stay where they are; all else moves as little as it can, measured by its inertia.

    Args:
        state: The figure in that pose.
        standing: Its points that stand.
        ahead: Unit vector, shape (3,).
        chest: Its chest, in the engine's count.
    """
    aside, place = np.array([-ahead[1], ahead[0], 0.0]), state.data.xpos[chest]
    up = np.array([0.0, 0.0, 1.0])
    feet, _ = state.point_rows(standing, np.tile(np.eye(3), (len(standing), 1, 1)))
    com = np.array([ahead, aside]) @ state.com_jacobian(state.model.roots[0])
    turn = -ahead @ (state.body_jacobian(chest, place + up) - state.body_jacobian(chest, place))
    return least_moves(state.M, np.concatenate([feet, com, turn[None]]))[:, -3:]


def least_moves(M: Array, J: Array) -> Array:
    """Changes of a pose that move each row of J by one and the others by none, least by M: M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁻¹.

    Rows may depend on each other: a part in a million of the trace is added to the diagonal.
    """
    answer = np.linalg.solve(M, J.T)
    A = J @ answer
    A[np.diag_indices(len(A))] += 1e-6 * np.trace(A)
    return np.asarray(answer @ np.linalg.inv(A))
