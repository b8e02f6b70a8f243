"""When points touch the ground, and how long until they do.

Skating has one definition, which `poise check`, `poise edit ground` and the report of a run share. A foot skates in a
frame where one of its points is low in this frame and the one before and moves against the ground faster than a limit.
Literal: a foot that swings through low counts too; how far standing feet slide is another measure.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from poise.core.errors import InvalidValue
from poise.core.typing import Array, Flags
from poise.core.units import HUMAN_LEG

HEIGHT_LIMIT = 0.03
"""Height below which a slow point touches, for a leg of 0.82 m [m]."""
SPEED_LIMIT = 0.35
"""Speed below which a low point touches, for a leg of 0.82 m and a clip that stays in place [m/s]."""
TRAVEL_SHARE = 0.2
"""What a touching point may move at, as a share of the speed the body travels at [1]."""
LOOSEN = 1.5
"""A touch lasts until a limit is passed by this factor [1]."""


def contact_limits(root_velocity: Array, leg_length: float) -> tuple[float, Array]:
    """Height and speed limits for `contact_flags` that fit a clip's own size and speed.

    Lengths scale with leg length over 0.82 m and speeds with its root, as times of like motions do. A running foot
    rolls and slips faster than a walking one, so the speed limit follows the horizontal speed of the body.

    Args:
        root_velocity: Velocity of the root, shape (F, 3) [m/s].
        leg_length: Hip to sole [m].

    Returns:
        Height limit [m], and speed limit of each frame [m/s], shape (F, 1).
    """
    scale = leg_length / HUMAN_LEG
    speed = np.linalg.norm(root_velocity[:, :2], axis=1)
    return HEIGHT_LIMIT * scale, np.maximum(SPEED_LIMIT * math.sqrt(scale), TRAVEL_SHARE * speed)[:, None]


def contact_flags(
    positions: Array,
    velocities: Array,
    height: Array,
    *,
    height_limit: float | Array,
    speed_limit: float | Array,
    min_frames: int = 2,
) -> Flags:
    """Which points touch the ground in which frames.

    A point touches where it is lower than the height limit and slower than the speed limit, and goes on touching
    for as long as it stays under LOOSEN times both (hysteresis, so that capture noise does not tear a stance
    apart). Gaps and touches shorter than `min_frames` are taken for noise.

    Args:
        positions: World positions [m], shape (F, N, 3); only their shape is used, the height says how high.
        velocities: World velocities [m/s], less that of the ground, shape (F, N, 3).
        height: Height above the ground [m], shape (F, N).
        height_limit: [m], a number or an array that broadcasts to (F, N).
        speed_limit: [m/s], the same.
        min_frames: Shortest touch and shortest gap that count.

    Raises:
        InvalidValue: if the shapes disagree.
    """
    if positions.shape != velocities.shape or positions.shape[:2] != height.shape:
        raise InvalidValue(
            f"Contact arrays disagree: positions {positions.shape}, velocities {velocities.shape}, "
            f"height {height.shape}. Give (F, N, 3), (F, N, 3) and (F, N)."
        )
    speed = np.linalg.norm(velocities, axis=-1)
    tight = (height < height_limit) & (speed < speed_limit)
    loose = tight | ((height < np.multiply(height_limit, LOOSEN)) & (speed < np.multiply(speed_limit, LOOSEN)))
    label, count = _runs(loose)
    wanted = np.zeros(count + 1, dtype=bool)
    wanted[label[tight]] = True
    flags = wanted[label]
    if min_frames > 1 and len(flags) > 2 * min_frames:
        flags = _without_short(~_without_short(~flags, min_frames, keep_ends=True), min_frames, keep_ends=False)
    return flags


def _runs(flags: Flags) -> tuple[npt.NDArray[np.int32], int]:
    """Number of the run along axis 0 that each flag belongs to, from 1 (0 where it is off), and how many there are."""
    label = np.zeros(flags.shape, dtype=np.int32)
    count = ndimage.label(flags, structure=np.array([[0, 1, 0], [0, 1, 0], [0, 1, 0]]), output=label)
    return label, cast(int, count)


def _without_short(flags: Flags, shortest: int, *, keep_ends: bool) -> Flags:
    """The flags without runs along axis 0 that are shorter than `shortest`; runs at either end may stay."""
    label, count = _runs(flags)
    sizes = np.bincount(label.ravel(), minlength=count + 1)
    keep = sizes >= shortest
    if keep_ends:
        keep[label[0]] = True
        keep[label[-1]] = True
    keep[0] = False
    return keep[label]


def times_to_contact(flags: Flags, times: Array) -> Array:
    """Time from each frame to the next one in which the point touches [s], shape (F, N): 0 while it does, inf if never.

    Args:
        flags: Which points touch, shape (F, N).
        times: Time of each frame [s], shape (F,).
    """
    when = np.where(flags, np.asarray(times)[:, None], np.inf)
    following = np.minimum.accumulate(when[::-1], axis=0)[::-1]
    return following - np.asarray(times)[:, None]


def time_to_contact_estimate(height: Array, vertical_velocity: Array, cap: float) -> Array:
    """Time until points touch if they keep their downward speed [s]: t = height / -vertical_velocity, at most `cap`.

    For a stream, where the future is not known. A point at or below the ground gives 0, one that does not come
    down gives `cap`.

    Args:
        height: Above the ground [m], any shape.
        vertical_velocity: Upwards, less that of the ground [m/s], same shape.
        cap: Longest time to give [s].
    """
    height, falling = np.asarray(height, dtype=np.float64), -np.asarray(vertical_velocity, dtype=np.float64)
    return np.clip(height / np.maximum(falling, 1e-9), 0.0, cap)


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
