"""Feet that stand, stand still: slips taken out where feet touch, soles on the floor, legs solved for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.analysis.smoothing import choose_filter, smooth
from poise.analysis.touching import Touching, support_names, touching
from poise.character.character import Character
from poise.character.fit import fit
from poise.character.posing import root_mover
from poise.edit.foot_paths import Foot, correction, spread
from poise.edit.legs import Leg, find_legs, knee_flexion, reach, solve_legs
from poise.edit.report import Budget, Changes, Edited, report_of
from poise.edit.root import move_root
from poise.edit.scope import Scope
from poise.errors import InvalidValue
from poise.motion import Motion
from poise.phases.travel import in_place_velocity
from poise.terrain import Terrain
from poise.units import HUMAN_LEG

Array = npt.NDArray[np.float64]

DONE = 2e-4
"""Corrections smaller than this are none, for a leg of 0.82 m [m]: files round, and what was done must stay done."""
ROUNDS, MOST_ROUNDS = 8, 40
"""Touches are found anew after each correction until nothing is left to do, at most this often; and with characters
fitted anew, this often in all."""
MOST_LOWERED = 0.06
"""How far the root goes down or up at most, for a leg of 0.82 m [m]."""
ROOT_HZ = 6.0
"""How fast it may do so, for a leg of 0.82 m [Hz]."""
SKATING_HEIGHT, SKATING_SPEED = 0.05, 0.2
"""A foot this low in two frames that moves faster than this skates, for a leg of 0.82 m [m], [m/s]."""


@dataclass(frozen=True)
class _Ground:
    """What stays the same in every round."""

    character: Character
    root: int
    floor: float
    terrain: Terrain
    drift: Array
    size: float


def ground(
    motion: Motion,
    character: Character | None = None,
    *,
    floor: float | None = None,
    scope: Scope | None = None,
    budget: Budget | None = None,
) -> Edited:
    """Lock feet where they touch and take penetration out, by moving the feet and solving the legs for them.

    While a foot touches, the slip of what it stands on is taken out, so rolling from heel to toe and turning on the
    ball stay; its lowest point is put on the floor. In the air the correction goes smoothly from one stance to the
    next, and nothing goes below the floor. The foot keeps its orientation; knees keep their side and bend the way they
    bend; where a leg is too short the root comes down a little. Doing it again changes nothing.

    Args:
        motion: F frames.
        character: Fitted to the motion if not given.
        floor: Height of the floor [m]; where the feet mostly stand if not given.
        scope: Amount, interval and blend.
        budget: What may change at most.

    Raises:
        InvalidValue: if the character has no leg that could be solved.
        BudgetExceeded: if more would change than the budget allows.
    """
    scope = scope or Scope()
    fixed = _fixed(motion, character, floor)
    legs = find_legs(fixed.character, motion, arms=True)
    if not legs:
        raise InvalidValue("This character has no leg with a knee, so no foot could be put anywhere else.")
    touch = _touch(motion, fixed)
    before = _measures(motion, fixed, touch)
    result, rounds, now = motion, 0, fixed
    while scope.amount > 0.0:
        legs = tuple(leg for leg in legs if touch.flags[:, _points(now.character, leg, touch)].any())
        result, more = _rounds(result, now, legs, touch, scope)
        rounds += more
        if more == 0 or character is not None or scope.amount < 1.0 or rounds >= MOST_ROUNDS:
            break
        # a later run fits its own character to this result: it must find nothing to do either
        now = _fixed(result, None, floor)
        legs, touch = find_legs(now.character, result, arms=True), _touch(result, now)
    legs = find_legs(fixed.character, motion, arms=True)
    changes = Changes.between(motion, result, fixed.root)
    after = _measures(result, fixed, touch if result is motion else _touch(result, fixed))
    report = report_of(
        "ground", motion, result, changes,
        settings={
            "floor_m": fixed.floor, "amount": scope.amount, "blend_s": scope.blend, "interval": scope.interval,
            "limbs": [leg.name for leg in legs],
        },
        before=before, after=after,
        kept={
            "foot_angle_max_deg": _foot_turn(motion, result, legs),
            "knees_bend_the_right_way": _knees(motion, result, legs),
            "rounds": rounds,
        },
        budget=budget, amount=scope.amount,
    )  # fmt: skip
    return Edited(result, report)


def _fixed(motion: Motion, character: Character | None, floor: float | None) -> _Ground:
    """The floor is as high as the feet mostly stand, unless it is given: only what leaves that level is wrong."""
    character = fit(motion, masses="auto") if character is None else character
    drift, size = in_place_velocity(motion), character.leg_length / HUMAN_LEG
    fixed = _Ground(character, root_mover(character), 0.0, _flat(character.floor), drift, size)
    if floor is None:
        fixed = replace(fixed, floor=character.floor)
        touch = _touch(motion, fixed)
        feet = touch.flags & touch.is_foot
        standing = feet.any(axis=1)
        lowest = np.where(feet, touch.gaps, np.inf).min(axis=1, initial=np.inf)[standing]
        floor = character.floor + (float(np.median(lowest)) if len(lowest) else 0.0)
    return replace(fixed, floor=float(floor), terrain=_flat(float(floor)))


def _flat(floor: float) -> Terrain:
    return Terrain.flat().placed(origin=(0.0, 0.0), heading=0.0, ground=floor)


def _touch(motion: Motion, fixed: _Ground) -> Touching:
    return touching(motion, fixed.character, terrain=fixed.terrain)


def _points(character: Character, leg: Leg, touch: Touching) -> npt.NDArray[np.int64]:
    """Contact points of a limb's foot or hand."""
    parts = ("foot", "hand")
    return np.array(
        [i for i, p in enumerate(character.contact_points) if touch.supports[i] == leg.name and p.part in parts],
        dtype=np.int64,
    )


def _rounds(motion: Motion, fixed: _Ground, legs: tuple[Leg, ...], touch: Touching, scope: Scope) -> tuple[Motion, int]:
    """Correct, find touches anew, correct what they say, until nothing is left; the part asked for at the end."""
    shifts = {leg: np.zeros((motion.frame_count, 3)) for leg in legs}
    weights = scope.weights(motion)
    result = motion
    flags = touch.flags.copy()
    for count in range(ROUNDS):
        # what once stood goes on standing: touches only ever grow, so that this ends
        flags = flags | touch.flags
        more = {leg: weights[:, None] * _foot(motion, fixed, leg, touch, flags, scope) for leg in legs}
        largest = max((float(np.abs(m).max()) for m in more.values()), default=0.0)
        if largest < DONE * fixed.size:
            return result, count
        shifts = {leg: shifts[leg] + more[leg] for leg in legs}
        height = _root_height(motion, fixed, legs, shifts, flags, scope)
        result = _placed(motion, fixed, legs, shifts, height, scope.amount)
        if scope.amount < 1.0:  # a part of the correction leaves feet that still slip: once is what was asked for
            return result, 1
        touch = _touch(result, fixed)
    return result, ROUNDS


def _foot(
    motion: Motion, fixed: _Ground, leg: Leg, touch: Touching, flags: npt.NDArray[np.bool_], scope: Scope
) -> Array:
    """What one foot must still be moved by [m], shape (F, 3)."""
    index = _points(fixed.character, leg, touch)
    foot = Foot(motion.times, touch.points[:, index], touch.gaps[:, index], flags[:, index], fixed.drift, fixed.size)
    return correction(foot, scope.blend)


def _root_height(
    motion: Motion,
    fixed: _Ground,
    legs: tuple[Leg, ...],
    shifts: dict[Leg, Array],
    flags: npt.NDArray[np.bool_],
    scope: Scope,
) -> Array:
    """How far the root goes up or down so that standing legs keep their length and reach their feet [m], shape (F,).

    A nearly straight knee turns far for a centimeter, so it is the body that gives: per frame the height that keeps
    the legs' lengths in the least-squares sense, low-passed over time. Then it comes down where a leg is too short.
    """
    positions, frames = motion.world[0], motion.frame_count
    names = support_names(fixed.character)
    wanted, weight = np.zeros(frames), np.zeros(frames)
    stances: dict[Leg, npt.NDArray[np.bool_]] = {}
    for leg in legs:
        stances[leg] = np.asarray(flags[:, [i for i, n in enumerate(names) if n == leg.name]].any(axis=1))
        away = positions[:, leg.foot] - positions[:, leg.hip]
        along = away / np.linalg.norm(away, axis=1, keepdims=True)
        moves = stances[leg] | (np.abs(shifts[leg]).max(axis=1) > 1e-4)
        stiff = np.where(moves, along[:, 2] ** 2 / (0.02 + np.sin(0.5 * knee_flexion(leg, motion)) ** 2), 0.0)
        # u·(shift − h z) = 0 keeps the length
        wanted += stiff * np.einsum("fi,fi->f", along, shifts[leg]) / np.where(stiff > 0.0, along[:, 2], 1.0)
        weight += stiff
    height = np.zeros(frames)
    if weight.any() and np.abs(wanted).max() > 1e-6:
        filter = choose_filter(ROOT_HZ / math.sqrt(fixed.size), fps=motion.fps, leg_length=fixed.character.leg_length)
        believed = weight / (weight + np.median(weight[weight > 0.0]))
        limit = MOST_LOWERED * fixed.size
        target = np.clip(wanted / np.maximum(weight, 1e-12), -limit, limit)
        height = smooth(filter, motion.times, target, believed)
    short = np.zeros(frames)
    for leg in legs:
        away = positions[:, leg.foot] + shifts[leg] - positions[:, leg.hip]
        own = np.linalg.norm(positions[:, leg.foot] - positions[:, leg.hip], axis=1)
        longest = np.maximum(reach(leg, motion), own)
        drop = np.sqrt(np.maximum(longest**2 - np.einsum("fi,fi->f", away[:, :2], away[:, :2]), 0.0))
        lacks = np.where(stances[leg] & (away[:, 2] < 0.0), height - away[:, 2] - drop, 0.0)
        short = np.maximum(short, np.clip(lacks, 0.0, MOST_LOWERED * fixed.size))
    short[short < 1e-6] = 0.0
    return scope.weights(motion) * (height - spread(motion.times, short, scope.blend))


def _placed(
    motion: Motion, fixed: _Ground, legs: tuple[Leg, ...], shifts: dict[Leg, Array], height: Array, amount: float
) -> Motion:
    """The motion with feet moved by their shifts and the root by its height, legs solved."""
    positions, orientations = motion.world
    start = motion
    if height.any():
        start = move_root(motion, fixed.root, amount * height[:, None] * np.array([0.0, 0.0, 1.0]))
    targets = {leg: (positions[:, leg.foot] + amount * shifts[leg], orientations[:, leg.foot]) for leg in legs}
    return solve_legs(start, targets, np.arange(motion.frame_count))


def _foot_turn(motion: Motion, result: Motion, legs: tuple[Leg, ...]) -> float:
    from poise.spatial import rotations

    turns = [rotations.angle_between(motion.world[1][:, leg.foot], result.world[1][:, leg.foot]).max() for leg in legs]
    return math.degrees(float(max(turns, default=0.0)))


def _knees(motion: Motion, result: Motion, legs: tuple[Leg, ...]) -> bool:
    """True if no knee bends backwards further than it did anywhere in the clip."""
    slack = math.radians(0.1)
    return all(
        float(knee_flexion(leg, result).min()) >= min(0.0, float(knee_flexion(leg, motion).min())) - slack
        for leg in legs
    )


def _measures(motion: Motion, fixed: _Ground, touch: Touching) -> dict[str, Any]:
    """Skating, slide, penetration and float of feet."""
    feet = touch.is_foot
    speed = np.linalg.norm(touch.velocities[:, feet, :2], axis=2)
    low = touch.gaps[:, feet] < SKATING_HEIGHT * fixed.size
    both = low[1:] & low[:-1]
    skates = (both & (speed[1:] > SKATING_SPEED * math.sqrt(fixed.size)) & touch.flags[1:, feet]).any(axis=1)
    flags, gaps = touch.flags[:, feet], touch.gaps[:, feet]
    moved = np.linalg.norm(np.diff(touch.points[:, feet, :2], axis=0) - (fixed.drift[:2] * motion.dt), axis=2)
    sliding = moved[flags[1:] & flags[:-1]]
    standing = flags.any(axis=1)
    return {
        "skating_ratio": float(skates.mean()) if len(skates) else 0.0,
        "foot_slide_mm_per_frame": 1000.0 * float(sliding.mean()) if len(sliding) else 0.0,
        "penetration_max_m": float(np.maximum(-gaps, 0.0).max(initial=0.0)),
        "float_max_m": float(np.where(flags, gaps, np.inf).min(axis=1)[standing].max(initial=0.0)),
        "contact_frames": int(standing.sum()),
    }
