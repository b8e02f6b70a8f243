"""How a foot must move so that it neither slips nor sinks in while it stands, and smoothly so in between."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from poise.analysis.smoothing import choose_filter, smooth
from poise.core.typing import Array, Flags
from poise.core.units import HUMAN_LEG
from poise.edit.scope import smooth_step
from poise.phases.runs import runs

BEARS = 0.005
"""A point of a standing foot bears the less the more it is above the lowest one, by this scale, leg 0.82 m [m].

It hangs on the foot alone and not on which points count as touching, so that what was locked stays locked."""
SLIPS = 0.008
"""A stance that slips no further than this from its mean place stands still, for a leg of 0.82 m [m]."""
OFF, LEFT = 0.0045, 0.0015
"""A foot this far from the floor is put within the second of it, for a leg of 0.82 m [m]; `poise check` takes 5 mm."""
LIFT_SECONDS = 0.12
"""A foot that must come up comes and goes within this time at least, for a leg of 0.82 m [s]."""
HZ = 15.0
"""How fast a correction may change, for a leg of 0.82 m [Hz]."""
SWING = 0.1
"""How far a correction of a foot or its knee is believed where the foot swings, against 1 where it stands [1]."""
BRIDGED = 0.01
"""The same where a frame says nothing: just enough to keep long bridges from swinging up [1]."""


@dataclass(frozen=True)
class Foot:
    """The contact points of one foot.

    Attributes:
        times: [s], shape (F,).
        points: In the world [m], shape (F, P, 3).
        gaps: Above the floor [m], shape (F, P).
        flags: True while a point touches, shape (F, P).
        is_glitch: Frames that say nothing, shape (F,); corrections pass over them.
        drift: Velocity of the ground (in a clip on the spot) [m/s], shape (3,).
        size: Leg length over 0.82 m.
    """

    times: Array
    points: Array
    gaps: Array
    flags: Flags
    is_glitch: Flags
    drift: Array
    size: float


def correction(foot: Foot, blend: float, *, may_slip: bool = False) -> Array:
    """What the foot should be moved by in each frame [m], shape (F, 3).

    A stance that slips by less than SLIPS is left alone, and so is one that hovers by less than OFF in the middle of
    its frames, and a foot that goes no deeper than OFF: fitted soles know no better. Where more is wrong it is put
    right to within LEFT, so that what was done once is not done again.

    Args:
        foot: As it moves now.
        blend: Time in which a correction comes and goes where the foot is in the air for long [s].
        may_slip: Leave slips as they are.
    """
    standing = np.asarray(foot.flags.any(axis=1)) & ~foot.is_glitch
    lowest = foot.gaps.min(axis=1)
    out = np.zeros((len(foot.times), 3))
    if not may_slip:
        out[:, :2] = between(foot.times, _still(foot, standing), standing, blend)
    level = np.zeros(len(foot.times))
    for first, last in runs(standing):
        high = float(np.median(lowest[first : last + 1]))
        if high > OFF * foot.size:
            level[first : last + 1] = LEFT * foot.size - high
    out[:, 2] = between(foot.times, level[:, None], standing, blend)[:, 0]
    out = eased(foot, out, standing)
    depth = np.where(foot.is_glitch, 0.0, -(lowest + out[:, 2]))
    seconds = LIFT_SECONDS * math.sqrt(foot.size)
    out[:, 2] += made_good(foot.times, depth, most=OFF * foot.size, left=LEFT * foot.size, seconds=seconds)
    return out


def eased(foot: Foot, values: Array, standing: Flags) -> Array:
    """The values (F, n) without changes faster than HZ; glitches are bridged."""
    if not values.any():
        return values
    dt = float(np.median(np.diff(foot.times)))
    filter = choose_filter(HZ / math.sqrt(foot.size), fps=1.0 / dt, leg_length=HUMAN_LEG * foot.size)
    believed = np.where(foot.is_glitch, BRIDGED, np.where(standing, 1.0, SWING))
    return smooth(filter, foot.times, values, believed)


def made_good(times: Array, lack: Array, *, most: float, left: float, seconds: float) -> Array:
    """A smooth curve that takes out what lacks more than `most`, to within `left`; nowhere negative, shape (F,).

    Args:
        times: [s], shape (F,).
        lack: What lacks, negative where there is more than enough, in any unit, shape (F,).
        most, left: In the same unit.
        seconds: Time in which the curve comes and goes [s].
    """
    out = np.zeros(len(lack))
    for first, last in runs(lack > left):
        if lack[first : last + 1].max() > most:
            out[first : last + 1] = lack[first : last + 1] - left
    return spread(times, out, seconds)


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


def spread(times: Array, values: Array, blend: float) -> Array:
    """A smooth curve nowhere below `values` (F,) that fades within `blend` [s] of them."""
    out = values.copy()
    for k in np.flatnonzero(values):
        near = slice(*np.searchsorted(times, (times[k] - blend, times[k] + blend)))
        fade = smooth_step(1.0 - np.abs(times[near] - times[k]) / max(blend, 1e-12))
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
