"""Skating: the one definition that `poise check`, `poise edit ground` and the report of a run share.

A foot skates in a frame where one of its points is low in this frame and the one before and moves against the ground
faster than a limit. Literal: a foot that swings through low counts too; how far standing feet slide is another measure.
"""

from __future__ import annotations

import math

import numpy as np

from poise.core.typing import Array, Flags
from poise.core.units import HUMAN_LEG

SKATING_HEIGHT = 0.05
"""A foot that is lower than this in two frames on end should not slide, for a leg of 0.82 m [m]."""
SKATING_SPEED = 0.5
"""It skates if its horizontal speed exceeds this, for a leg of 0.82 m [m/s]; 0.2 is the strict form."""


def skating_limits(leg_length: float, *, speed: float = SKATING_SPEED) -> tuple[float, float]:
    """Height [m] and speed [m/s] for a figure of this leg length [m]: lengths go with it, speeds with its root."""
    size = leg_length / HUMAN_LEG
    return SKATING_HEIGHT * size, speed * math.sqrt(size)


def skating_frames(gaps: Array, velocities: Array, leg_length: float, *, speed: float = SKATING_SPEED) -> Flags:
    """Frames in which a foot point skates, shape (F,); the first never does.

    Args:
        gaps: Of the points of feet to the ground [m], shape (F, P).
        velocities: Against the ground [m/s], shape (F, P, 3).
        leg_length: Hip to sole [m].
        speed: Limit for a leg of 0.82 m [m/s].
    """
    height, fastest = skating_limits(leg_length, speed=speed)
    low = gaps < height
    both = low.copy()
    both[1:] &= low[:-1]
    both[:1] = False
    return np.asarray((both & (np.linalg.norm(velocities[:, :, :2], axis=2) > fastest)).any(axis=1))
