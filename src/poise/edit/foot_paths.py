"""How a foot must move so that it neither slips nor sinks in while it stands, and smoothly so in between."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from poise.edit.scope import smooth_step
from poise.phases.runs import runs

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

BEARS = 0.005
"""A point of a standing foot bears the less the more it is above the lowest one, by this scale, leg 0.82 m [m].

It hangs on the foot alone and not on which points count as touching, so that what was locked stays locked."""
ON_FLOOR = 0.012
"""A touching foot whose lowest point is nearer than this is put on the floor, for a leg of 0.82 m [m]."""
SLIPS = 0.008
"""A stance that slips no further than this from its mean place stands still, for a leg of 0.82 m [m]."""
OFF, LEFT = 0.0045, 0.0015
"""A foot this far from the floor is put within the second of it, for a leg of 0.82 m [m]; `poise check` takes 5 mm."""


@dataclass(frozen=True)
class Foot:
    """The contact points of one foot.

    Attributes:
        times: [s], shape (F,).
        points: In the world [m], shape (F, P, 3).
        gaps: Above the floor [m], shape (F, P).
        flags: True while a point touches, shape (F, P).
        drift: Velocity of the ground (in a clip on the spot) [m/s], shape (3,).
        size: Leg length over 0.82 m.
    """

    times: Array
    points: Array
    gaps: Array
    flags: Flags
    drift: Array
    size: float


def correction(foot: Foot, blend: float) -> Array:
    """What the foot must be moved by in each frame [m], shape (F, 3).

    A stance that slips by less than SLIPS and is less than OFF away from the floor is left alone, and so is a swing
    that goes no deeper: fitted soles know no better. Where more is wrong it is put right to within LEFT, so that what
    was done once is not done again.

    Args:
        foot: As it moves now.
        blend: Time in which a correction comes and goes where the foot is in the air for long [s].
    """
    standing = np.asarray(foot.flags.any(axis=1))
    lowest = foot.gaps.min(axis=1)
    on_floor = standing & (np.abs(lowest) < ON_FLOOR * foot.size)
    on_floor |= standing & (lowest < 0.0)
    out = np.zeros((len(foot.times), 3))
    out[:, :2] = between(foot.times, _still(foot, standing), standing, blend)
    level = np.zeros(len(foot.times))
    for first, last in runs(on_floor):
        part = lowest[first : last + 1]
        if np.abs(part).max() > OFF * foot.size:
            level[first : last + 1] = -np.sign(part) * np.maximum(np.abs(part) - LEFT * foot.size, 0.0)
    out[:, 2] = between(foot.times, level[:, None], on_floor, blend)[:, 0]
    deep = np.where(on_floor, 0.0, np.maximum(-(lowest + out[:, 2]), 0.0))
    sunk = np.zeros(len(deep))
    for first, last in runs(deep > LEFT * foot.size):
        if deep[first : last + 1].max() > OFF * foot.size:
            sunk[first : last + 1] = deep[first : last + 1] - LEFT * foot.size
    out[:, 2] += spread(foot.times, sunk, blend, held=on_floor)
    return out


def _still(foot: Foot, standing: Flags) -> Array:
    """For each stance, minus the way its bearing points slip, about its mean [m], shape (F, 2)."""
    above = foot.gaps - foot.gaps.min(axis=1, keepdims=True)
    bears = np.exp(-above / (BEARS * foot.size))
    both = bears[1:] * bears[:-1]
    moved = np.diff(foot.points[:, :, :2], axis=0) - foot.drift[:2] * np.diff(foot.times)[:, None, None]
    slip = np.einsum("fp,fpi->fi", both, moved) / np.maximum(both.sum(axis=1), 1e-300)[:, None]
    out = np.zeros((len(foot.times), 2))
    for first, last in runs(standing):
        way = np.concatenate([np.zeros((1, 2)), np.cumsum(slip[first:last], axis=0)])
        way -= way.mean(axis=0)
        if np.linalg.norm(way, axis=1).max() > SLIPS * foot.size:
            out[first : last + 1] = -way
    return out


def spread(times: Array, values: Array, blend: float, *, held: Flags | None = None) -> Array:
    """A smooth curve nowhere below `values` (F,) that fades within `blend` [s] of them, and before any held frame."""
    out = values.copy()
    held_times = times[:0] if held is None else times[held]
    for k in np.flatnonzero(values):
        room = float(np.abs(held_times - times[k]).min()) if len(held_times) else blend
        width = min(blend, room)
        if width <= 0.0:
            continue
        near = np.flatnonzero(np.abs(times - times[k]) < width)
        fade = smooth_step(1.0 - np.abs(times[near] - times[k]) / width)
        out[near] = np.maximum(out[near], values[k] * fade)
    return out


def between(times: Array, values: Array, held: Flags, blend: float) -> Array:
    """Values (F, n) where they are held, and smooth ways from one held run to the next, or to zero and back.

    A gap of less than twice `blend` [s] is crossed in one smooth step; in a longer one the value fades to zero.
    """
    out = np.where(held[:, None], values, 0.0)
    stances = runs(held)
    for before, after in pairwise((None, *stances, None) if stances else ()):
        first = 0 if before is None else before[1] + 1
        last = len(times) - 1 if after is None else after[0] - 1
        if last < first:
            continue
        t = times[first : last + 1]
        length = np.inf
        if before is not None and after is not None:
            length = float(times[after[0]] - times[before[1]])
        width = max(blend if length >= 2.0 * blend else length, 1e-12)
        gap = np.zeros((len(t), values.shape[1]))
        if before is not None:
            gap += smooth_step(1.0 - (t - times[before[1]]) / width)[:, None] * values[before[1]]
        if after is not None:
            gap += smooth_step(1.0 - (times[after[0]] - t) / width)[:, None] * values[after[0]]
        out[first : last + 1] = gap
    return out
