"""One round of planting feet: how each foot and the root must move, and knees that turn smoothly for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from poise.analysis.forces import Touching, touching
from poise.analysis.smoothing import choose_filter, smooth
from poise.body.character import Character
from poise.check.ground import feet_carry
from poise.core.motion import Motion
from poise.core.typing import Array, Flags, Index
from poise.core.units import HUMAN_LEG
from poise.edit.budget import smooth_step
from poise.edit.legs import Leg, bends_to, knee_flexion, move_root, reach, solve_legs
from poise.phases.floor import hips_over
from poise.phases.points import runs
from poise.terrain import Terrain

MOST_LOWERED = 0.06
"""How far the root goes down or up for the legs at most in a round, for a leg of 0.82 m [m]; more is reported."""
LEG_HZ = 6.0
"""How fast that, and the correction of a knee, may change, for a leg of 0.82 m [Hz]."""
STIFF = 0.02
"""Squared sine of half a flexion at which a leg asks half as much for its length as a straight one [1]."""
LEVER = 0.06
"""A knee that moves its foot by so much is corrected by half of what it should be in a round, leg 0.82 m [m/rad]."""
MATTERS = 1e-3
"""A foot lifted by more than this is lifted, for a leg of 0.82 m [m]."""
MOVED = 1e-4
"""A foot that is to move further asks the root to give way, for a leg of 0.82 m [m]."""
NOTHING = 1e-6
"""Corrections below this are none [m, rad]."""
BODY_OFF, BODY_LEFT = 0.012, 0.008
"""Knees, trunks and other parts deeper than this lift the whole figure, to within the second, leg 0.82 m [m]: they are
guessed from bones, and feet are not."""


@dataclass(frozen=True)
class Ground:
    """What stays the same in every round.

    Attributes:
        character: Who stands.
        root: The joint that carries it.
        floor: [m].
        terrain: The floor as ground.
        drift: Velocity of the ground (in a clip on the spot) [m/s], shape (3,).
        size: Leg length over 0.82 m.
        is_glitch: Frames that say nothing, shape (F,).
        may_slip: True where the clip goes on the spot and nobody can tell how fast the ground should move: then feet
            slide by intent.
    """

    character: Character
    root: int
    floor: float
    terrain: Terrain
    drift: Array
    size: float
    is_glitch: Flags
    may_slip: bool = False

    def touch(self, motion: Motion) -> Touching:
        """What touches this floor."""
        return touching(motion, self.character, terrain=self.terrain)


def points_of(character: Character, leg: Leg, touch: Touching) -> Index:
    """Contact points of a limb's foot or hand."""
    parts = ("foot", "hand")
    return np.array(
        [i for i, p in enumerate(character.contact_points) if touch.supports[i] == leg.name and p.part in parts],
        dtype=np.int64,
    )


def plant(motion: Motion, ground: Ground, legs: tuple[Leg, ...], touch: Touching, blend: float) -> Motion:
    """The motion with feet and root moved by what they still should be.

    Args:
        motion: F frames.
        ground: Character and floor.
        legs: That may be solved.
        touch: Of the motion.
        blend: Time over which corrections come and go [s].
    """
    columns = {leg: points_of(ground.character, leg, touch) for leg in legs}
    standing = {leg: touch.flags[:, columns[leg]].any(axis=1) & ~ground.is_glitch for leg in legs}
    shifts = {leg: _shift(motion, ground, touch, columns[leg], blend) for leg in legs}
    height = _lifted(motion, ground, touch, columns, _root_height(motion, ground, legs, shifts, standing, blend))
    start = motion
    if height.any():
        start = move_root(motion, ground.root, height[:, None] * np.array([0.0, 0.0, 1.0]))
    positions, orientations = motion.world
    targets: dict[Leg, tuple[Array, Array]] = {}
    bends: dict[Leg, Array] = {}
    for leg in legs:
        held = between(motion.times, np.ones((motion.frame_count, 1)), standing[leg], blend)[:, 0]
        places = positions[:, leg.foot] + shifts[leg]
        # a foot in the air goes with the body, so that its knee need not turn
        places[:, 2] += (1.0 - held) * height
        targets[leg] = (places, orientations[:, leg.foot])
        matters = standing[leg] | (np.abs(shifts[leg][:, 2]) > MATTERS * ground.size)
        bends[leg] = _knee(leg, start, ground, places, matters)
    return solve_legs(start, targets, np.arange(motion.frame_count), bends)


def _shift(motion: Motion, ground: Ground, touch: Touching, columns: Index, blend: float) -> Array:
    """What one foot should be moved by [m], shape (F, 3)."""
    return correction(_foot(motion, ground, touch, columns), blend, may_slip=ground.may_slip)


def drags(motion: Motion, ground: Ground, legs: tuple[Leg, ...]) -> bool:
    """Whether some foot drags over the ground while the hips are low, and so is not locked."""
    touch = ground.touch(motion)
    feet = [_foot(motion, ground, touch, points_of(ground.character, leg, touch)) for leg in legs]
    return not ground.may_slip and any(_drags(foot, *slip) for foot in feet for slip in _slips(foot))


def _foot(motion: Motion, ground: Ground, touch: Touching, columns: Index) -> Foot:
    """How a foot moves whose contact points are these columns."""
    hips = hips_over(motion, ground.terrain)
    is_hand = not touch.is_foot[columns].any()
    return Foot(
        motion.times,
        touch.points[:, columns],
        touch.gaps[:, columns],
        touch.flags[:, columns],
        ground.is_glitch,
        ground.drift,
        ground.size,
        lambda first, last: is_hand or feet_carry(hips[first : last + 1], ground.character),
    )


def _root_height(
    motion: Motion,
    ground: Ground,
    legs: tuple[Leg, ...],
    shifts: dict[Leg, Array],
    standing: dict[Leg, Flags],
    blend: float,
) -> Array:
    """How far the root goes up or down so that standing legs keep their length and reach their feet [m], shape (F,).

    A nearly straight knee turns far for a centimeter, so it is the body that gives: per frame the height that keeps
    the legs' lengths in the least-squares sense, low-passed over time. Then it comes down where a leg is too short.
    """
    positions, frames = motion.world[0], motion.frame_count
    wanted, weight = np.zeros(frames), np.zeros(frames)
    for leg in legs:
        away = positions[:, leg.foot] - positions[:, leg.hip]
        along = away / np.linalg.norm(away, axis=1, keepdims=True)
        moves = standing[leg] | (np.abs(shifts[leg]).max(axis=1) > MOVED * ground.size)
        stiff = along[:, 2] ** 2 / (STIFF + np.sin(0.5 * knee_flexion(leg, motion)) ** 2)
        stiff = np.where(moves & ~ground.is_glitch, stiff, 0.0)
        # u·(shift − h z) = 0 keeps the length
        wanted += stiff * np.einsum("fi,fi->f", along, shifts[leg]) / np.where(stiff > 0.0, along[:, 2], 1.0)
        weight += stiff
    height = np.zeros(frames)
    limit = MOST_LOWERED * ground.size
    if weight.any() and np.abs(wanted).max() > NOTHING:
        filter = choose_filter(LEG_HZ / math.sqrt(ground.size), fps=motion.fps, leg_length=ground.character.leg_length)
        believed = weight / (weight + np.median(weight[weight > 0.0]))
        target = np.clip(wanted / np.maximum(weight, 1e-12), -limit, limit)
        height = smooth(filter, motion.times, target, np.maximum(believed, BRIDGED))
    short = np.zeros(frames)
    for leg in legs:
        away = positions[:, leg.foot] + shifts[leg] - positions[:, leg.hip]
        own = np.linalg.norm(positions[:, leg.foot] - positions[:, leg.hip], axis=1)
        longest = np.maximum(reach(leg, motion), own)
        drop = np.sqrt(np.maximum(longest**2 - np.einsum("fi,fi->f", away[:, :2], away[:, :2]), 0.0))
        lacks = np.where(standing[leg] & (away[:, 2] < 0.0), height - away[:, 2] - drop, 0.0)
        short = np.maximum(short, np.clip(lacks, 0.0, limit))
    short[short < NOTHING] = 0.0
    return height - spread(motion.times, short, blend)


def _lifted(motion: Motion, ground: Ground, touch: Touching, columns: dict[Leg, Index], height: Array) -> Array:
    """The height raised where knees, trunk or anything else that no leg could move would be in the floor.

    They come down no farther than they have room. Else one part of a round would lower what the other lifts, and what
    is left of both at the edges would grow from round to round: in a crawl, to jumps of the root.
    """
    others = np.setdiff1d(np.arange(len(touch.names)), np.concatenate([*columns.values(), np.zeros(0, dtype=np.int64)]))
    if not len(others):
        return height
    gaps = touch.gaps[:, others].min(axis=1)
    height = np.maximum(height, -np.maximum(gaps, 0.0))
    depth = np.where(ground.is_glitch, 0.0, -gaps - height)
    seconds = LIFT_SECONDS * math.sqrt(ground.size)
    return height + made_good(
        motion.times, depth, most=BODY_OFF * ground.size, left=BODY_LEFT * ground.size, seconds=seconds
    )


def _knee(leg: Leg, motion: Motion, ground: Ground, places: Array, matters: Flags) -> Array:
    """How much further a knee bends [rad], shape (F,): as its foot asks, but with changes no faster than LEG_HZ.

    Near the straight leg a millimeter asks for many degrees: there, in the air and in glitches the knee follows its
    neighbors in time rather than its foot, which then stays off its place by as little as that knee can move it.
    """
    more, lever = bends_to(leg, motion, places)
    if not np.abs(more).max() > NOTHING:
        return np.zeros_like(more)
    square, least = lever**2, (LEVER * ground.size) ** 2
    # the least of lever² (x − more)² + LEVER² x²
    damped = np.where(ground.is_glitch, 0.0, more * square / (square + least))
    believed = (square + least) / (square + least).max() * np.where(matters, 1.0, SWING)
    believed = np.where(ground.is_glitch, BRIDGED, believed)
    filter = choose_filter(LEG_HZ / math.sqrt(ground.size), fps=motion.fps, leg_length=ground.character.leg_length)
    eased = smooth(filter, motion.times, damped, believed)
    flexion = knee_flexion(leg, motion)
    backwards = np.maximum(np.minimum(flexion, 0.0) - flexion - eased, 0.0)
    eased += made_good(motion.times, backwards, most=0.0, left=0.0, seconds=LIFT_SECONDS * math.sqrt(ground.size))
    eased[np.abs(eased) < NOTHING] = 0.0
    return eased


BEARS = 0.005
"""A point of a standing foot bears the less the more it is above the lowest one, by this scale, leg 0.82 m [m].

It hangs on the foot alone and not on which points count as touching, so that what was locked stays locked."""
SLIPS = 0.008
"""A stance that slips no further than this from its mean place stands still, for a leg of 0.82 m [m]."""
DRAGS = 0.05
"""One that goes farther than this from its mean place while the hips are low is not locked, leg 0.82 m [m]."""
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
        carries: Whether it carries the body in a stance, given by its first and last frame; else it may drag.
    """

    times: Array
    points: Array
    gaps: Array
    flags: Flags
    is_glitch: Flags
    drift: Array
    size: float
    carries: Callable[[int, int], bool]

    @property
    def standing(self) -> Flags:
        """Frames in which it touches, shape (F,)."""
        return np.asarray(self.flags.any(axis=1)) & ~self.is_glitch


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
    standing = foot.standing
    lowest = foot.gaps.min(axis=1)
    out = np.zeros((len(foot.times), 3))
    if not may_slip:
        out[:, :2] = between(foot.times, _still(foot), standing, blend)
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


def _slips(foot: Foot) -> Iterator[tuple[int, int, Array]]:
    """First and last frame of each stance that slips, and the way of its bearing points about its mean [m], (n, 2)."""
    above = foot.gaps - foot.gaps.min(axis=1, keepdims=True)
    bears = np.exp(-above / (BEARS * foot.size))
    both = bears[1:] * bears[:-1]
    moved = np.diff(foot.points[:, :, :2], axis=0) - foot.drift[:2] * np.diff(foot.times)[:, None, None]
    slip = np.einsum("fp,fpi->fi", both, moved) / np.maximum(both.sum(axis=1), 1e-300)[:, None]
    for first, last in runs(foot.standing):
        way = np.concatenate([np.zeros((1, 2)), np.cumsum(slip[first:last], axis=0)])
        way -= way.mean(axis=0)
        if np.linalg.norm(way, axis=1).max() > SLIPS * foot.size:
            yield first, last, way


def _drags(foot: Foot, first: int, last: int, way: Array) -> bool:
    """Whether a stance, given as by `_slips`, drags far without carrying the body."""
    return bool(np.linalg.norm(way, axis=1).max() > DRAGS * foot.size) and not foot.carries(first, last)


def _still(foot: Foot) -> Array:
    """Minus the way that each stance slips but does not drag [m], shape (F, 2)."""
    out = np.zeros((len(foot.times), 2))
    for first, last, way in _slips(foot):
        if not _drags(foot, first, last, way):
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
