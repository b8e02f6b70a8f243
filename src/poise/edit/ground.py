"""Feet that stand, stand still: slips taken out where feet touch, soles on the floor, legs solved for it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import ndimage

from poise.analysis.gait import is_on_the_spot
from poise.analysis.measures import standing, unlikely_leg
from poise.body.character import Character
from poise.body.posing import root_mover
from poise.check.clip import on_ground
from poise.check.ground import rise_of, standing_feet
from poise.check.profile import ROOT, load_profile
from poise.check.report import Wanted
from poise.check.thresholds import LEAST_STEPS
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.edit.budget import Budget, Scope
from poise.edit.legs import Leg, find_legs, knee_flexion, move_root
from poise.edit.planting import MOST_LOWERED, Ground, drags, plant
from poise.edit.report import Changes, Edited, report_of, rounded_down, verified
from poise.edit.scale import sized
from poise.phases.floor import carried_ground
from poise.phases.travel import find_loop, in_place_velocity, with_rounds
from poise.terrain import Terrain

ON_FEET = 0.2
"""Share of the frames with a touch in which feet alone must touch to say how high the floor is [1]."""
DONE = 5e-4
"""A round that moves nothing further than this is not made, for a leg of 0.82 m [m]; once begun, rounds go on to half
of it: files round, and what was done must stay done."""
FAR = 45.0
"""A joint that turns further is reported [deg]; in captured clips none turns by more than half of it."""
TOO_FAST = 3.0
"""Feet faster than this beside the root, in √(g leg), are those of a smaller figure in another unit [1]; walks have
about 0.4, sprints 1.5."""
HOVERS, LEFT, HOVER_SECONDS = (0.06, 0.2), 0.02, 0.2
"""Where feet stand this far above or in the floor, least and most, the root moves by all but the second; both for a leg
of 0.82 m [m]. Legs alone correct less. The movement is smoothed over the third [s]."""
LONGEST_CYCLE = 10.0
"""A longer cycle is corrected alone, since with a round before and after it that takes three times as long [s]."""
BETTER, PATIENCE = 0.8, 6
"""Where rounds come to no end, the best result is taken once none of so many further ones leaves less than this part of
what it leaves to do [1]; a later run finds the same, and changes nothing."""


def ground(
    motion: Motion,
    character: Character | None = None,
    *,
    floor: float | None = None,
    scope: Scope | None = None,
    budget: Budget | None = None,
    verify: bool = True,
) -> Edited:
    """Lock feet where they touch and take penetration out, by moving the feet and solving the legs for them.

    Where the feet that stand are all above or in the floor, the root comes down or up with them first: a body that
    hovers, or rises while it stands. While a foot touches, the slip of what it stands on is taken out, so rolling
    from heel to toe and turning on the ball stay; a foot that hovers comes down, and one that is in the floor comes
    up. A foot that drags far while the hips are low is not locked. In the air the correction goes smoothly from one
    stance to the next, and to none where the foot is in the air for long. The foot keeps its orientation; knees keep
    their side, bend the way they bend, and what is added to them changes smoothly; for this, the foot may miss its
    place by a millimeter near the straight leg and in glitches. The root moves where a leg would be too short or too
    long. It rises where knees, a trunk, or hands that no arm can lift are in the floor.
    At full amount over the whole clip, doing it again changes nothing. The report's `before` and `after` are what
    `poise check` measures of either clip, with the character that it fits to it where none is given.

    Example:
        >>> edited = poise.edit.ground(motion, character, verify=False)

    Args:
        motion: F frames.
        character: Fitted to the motion if not given.
        floor: Height of the floor [m]; where the feet mostly stand if not given.
        scope: Amount, interval and blend.
        budget: What may change at most.
        verify: Check the result, and say in the report what is new.

    Raises:
        InvalidValue: if the character has no leg that could be solved.
        BudgetExceeded: if more would change than the budget allows.
    """
    scope = scope or Scope()
    fixed = _fixed(motion, character, floor)
    legs = find_legs(fixed.character, motion, arms=True)
    if not legs:
        raise InvalidValue("This character has no leg with a knee, so its feet cannot be moved.")
    whole, rounds = _whole(motion, fixed, character, floor, scope) if scope.amount != 0.0 else (motion, 0)
    result = _part(motion, whole, fixed.root, scope)
    changes = Changes.between(motion, result, fixed.root)
    before = _measures(motion, character, floor)
    after = before if result is motion else _measures(result, character, floor)
    lifted = (result.world[0] - motion.world[0])[:, fixed.root, 2]
    report = report_of(
        "ground",
        motion,
        result,
        changes,
        settings={
            "floor_m": fixed.floor,
            "amount": scope.amount,
            "blend_s": scope.blend,
            "interval": scope.interval,
            "limbs": [leg.name for leg in legs],
        },
        before=before,
        after=after,
        kept={
            "foot_angle_max_deg": _foot_turn(motion, result, legs),
            "knees_bend_the_right_way": _knees(motion, result, legs),
            "rounds": rounds,
            "root_height_max_m": float(np.abs(lifted).max()),
        },
        budget=budget,
        amount=scope.amount,
        notes=_cautions(changes, lifted, fixed, legs, motion, scope.amount),
    )
    edited = Edited(result, report)

    def less(amount: float) -> Edited:
        return ground(motion, character, floor=floor, scope=replace(scope, amount=amount), verify=False)

    return verified(edited, motion, character, less, floor=floor) if verify else edited


def _fixed(motion: Motion, character: Character | None, floor: float | None) -> Ground:
    """The floor is as high as the feet mostly stand, unless it is given: only what leaves that level is wrong.

    Where hands, knees or a trunk carry in nearly all frames, feet say little: then it is the character's own floor. A
    clip that carries the slope or stairs it was made for has its feet on those.
    """
    clip, carried = on_ground(motion, Wanted(floor=floor), character), carried_ground(motion)
    character, drift = clip.character, in_place_velocity(motion)
    fixed = Ground(
        character,
        root_mover(character),
        character.floor,
        Terrain.flat(character.floor),
        drift,
        character.leg_scale,
        clip.is_glitch,
        not drift.any() and is_on_the_spot(clip),
    )
    if carried is not None and floor is None:
        return replace(fixed, floor=carried.ground, terrain=carried)
    if floor is None:
        floor = character.floor
        touch = fixed.touch(motion)
        feet = touch.flags & touch.is_foot
        on_feet = feet.any(axis=1) & ~(touch.flags & ~touch.is_foot).any(axis=1)
        if on_feet.sum() > ON_FEET * touch.flags.any(axis=1).sum():
            lowest = np.where(feet, touch.gaps, np.inf).min(axis=1, initial=np.inf)[on_feet]
            floor += float(np.median(lowest))
    return replace(fixed, floor=float(floor), terrain=Terrain.flat(floor))


def _whole(
    motion: Motion, fixed: Ground, character: Character | None, floor: float | None, scope: Scope
) -> tuple[Motion, int]:
    """The clip, corrected as a whole, and the number of rounds.

    A cycle is corrected between a round before and one after it, so that its ends still meet.
    """
    ends, height = find_loop(motion), motion.world[0][:, fixed.root, 2]
    is_whole = scope.interval is None and carried_ground(motion) is None
    is_level = abs(height[-1] - height[0]) < HOVERS[0] * fixed.character.leg_length / HUMAN_LEG
    if not (ends.is_closed and is_level and is_whole and motion.duration < LONGEST_CYCLE):
        return _once(motion, fixed, character, floor, scope)
    beside = motion.frame_count - 2
    clip = with_rounds(motion, ends, beside)
    done, rounds = _once(clip, _fixed(clip, character, floor), character, floor, scope)
    own = slice(beside, beside + motion.frame_count)
    if done is clip:
        return motion, rounds
    return replace(motion, translations=done.translations[own], rotations=done.rotations[own]), rounds


def _once(
    motion: Motion, fixed: Ground, character: Character | None, floor: float | None, scope: Scope
) -> tuple[Motion, int]:
    """A clip, lowered and corrected, and the number of rounds."""
    lowered = _lowered(motion, fixed)
    again = fixed if lowered is motion else _fixed(lowered, character, fixed.floor if floor is None else floor)
    return _made(lowered, again, character, floor, scope)


def _lowered(motion: Motion, fixed: Ground) -> Motion:
    """The motion with its root lowered by what the feet that stand are above the floor, and smoothly in between.

    A few centimeters are left to the legs. Feet count only while they are the lowest part of the body: somebody who
    kneels or sits has feet in the air. A body that is far above the floor stands on something, unless it goes there
    through the air at an even pace, step by step: then that is taken out.
    """
    is_carried = not fixed.terrain.is_flat
    clip = on_ground(motion, Wanted(floor=None if is_carried else fixed.floor), fixed.character)
    touch, size = clip.touch, fixed.size
    rise = rise_of(clip, load_profile(ROOT)["rise"].scaled(clip.character.leg_scale))
    if rise is not None and rise.steps >= LEAST_STEPS:
        return move_root(motion, fixed.root, -rise.height[:, None] * np.array([0.0, 0.0, 1.0]))
    height = np.full(motion.frame_count, np.inf)
    for _, frames, places in standing_feet(clip):
        height[frames] = np.minimum(height[frames], places[:, 2])
    height[touch.gaps.min(axis=1, initial=np.inf) < height - LEFT * size] = np.inf
    known = np.flatnonzero(np.isfinite(height))
    if not len(known) or not HOVERS[0] * size < np.abs(height[known]).max() < HOVERS[1] * size:
        return motion
    way = np.interp(motion.times, motion.times[known], height[known])
    way = ndimage.gaussian_filter1d(way, 0.5 * HOVER_SECONDS * math.sqrt(size) / motion.dt, mode="nearest")
    down = np.sign(way) * np.maximum(np.abs(way) - LEFT * size, 0.0)
    return move_root(motion, fixed.root, -down[:, None] * np.array([0.0, 0.0, 1.0]))


def _made(
    motion: Motion, fixed: Ground, character: Character | None, floor: float | None, scope: Scope
) -> tuple[Motion, int]:
    """The corrected motion, and the number of rounds.

    Feet far too fast for the length of the legs come from a wrong unit: then a copy with legs of a person is corrected
    in the clip's own time, and its joint angles and the way of its root, at the clip's size, are the answer. Touches
    and the speed of corrections would else be those of a giant that moves eight times as slowly.
    """
    if character is not None or _pace(motion, fixed) < TOO_FAST:
        return _chain(motion, fixed, character, floor, scope)
    size = HUMAN_LEG / fixed.character.leg_length
    small = sized(motion, size)
    floor = None if floor is None else floor * size
    done, rounds = _chain(small, _fixed(small, None, floor), None, floor, scope)
    if done is small:
        return motion, rounds
    translations = motion.translations + (done.translations - small.translations) / size
    return replace(motion, translations=translations, rotations=done.rotations), rounds


def _pace(motion: Motion, fixed: Ground) -> float:
    """Speed of the feet beside the root, root mean square, over √(g leg) [1]: times of like motions go with √leg."""
    feet = [leg.foot for leg in find_legs(fixed.character, motion)]
    if not feet or motion.frame_count < 2:
        return 0.0
    places = motion.world[0]
    moved = np.gradient(places[:, feet] - places[:, [fixed.root]], motion.times, axis=0)
    return float(np.sqrt(np.mean(np.sum(moved**2, axis=-1)) / (GRAVITY * fixed.character.leg_length)))


def _chain(
    motion: Motion, fixed: Ground, character: Character | None, floor: float | None, scope: Scope
) -> tuple[Motion, int]:
    """Rounds until nothing is left, with a character fitted anew to each result: a later run fits its own to it.

    Returns:
        The motion, and the number of rounds that led to it.
    """
    now, ground, rounds, since = motion, fixed, 0, 0
    best, least = (motion, 0), math.inf
    while since < PATIENCE:
        left = _to_do(now, _round(now, ground, scope.blend), ground)
        if left == 0.0:
            return now, rounds
        if left < BETTER * least:
            best, least, since = (now, rounds), left, 0
        since += 1
        now, more = _rounds(now, ground, scope.blend)
        rounds += more
        if more == 0:
            return best
        if character is not None:
            return now, rounds
        ground = _fixed(now, None, floor)
    return best


def _rounds(motion: Motion, fixed: Ground, blend: float) -> tuple[Motion, int]:
    """Correct, find touches anew, correct what they say, until nothing is left; and how many rounds that took.

    Every round hangs on the motion alone, so a later run goes on where this one ended, which is nowhere.
    """
    now, rounds, since = motion, 0, 0
    best, least = (motion, 0), math.inf
    while since < PATIENCE:
        following = _round(now, fixed, blend)
        left = _to_do(now, following, fixed, part=1.0 if rounds == 0 else 0.5)
        if left == 0.0:
            return now, rounds
        if left < BETTER * least:
            best, least, since = (now, rounds), left, 0
        since += 1
        now, rounds = following, rounds + 1
    return best


def _round(motion: Motion, fixed: Ground, blend: float) -> Motion:
    return plant(motion, fixed, find_legs(fixed.character, motion, arms=True), fixed.touch(motion), blend)


def _to_do(motion: Motion, following: Motion, fixed: Ground, part: float = 1.0) -> float:
    """How far a round moves the joints in the mean [m]; 0 if none by more than a part of DONE."""
    moved = np.linalg.norm(following.world[0] - motion.world[0], axis=2)
    return float(moved.mean()) if moved.max() >= part * DONE * fixed.size else 0.0


def _part(motion: Motion, whole: Motion, root: int, scope: Scope) -> Motion:
    """As much of the correction as was asked for, frame by frame."""
    weights = scope.amount * scope.weights(motion)
    if whole is motion or not weights.any():
        return motion
    if (weights == 1.0).all():
        return whole
    part = rotations.part_way(motion.rotations, whole.rotations, weights[:, None])
    changed = (whole.rotations != motion.rotations).any(axis=2) & (weights > 0.0)[:, None]
    turned = np.where(changed[..., None], rotations.normalize(part), motion.rotations)
    translations = motion.translations.copy()
    translations[:, root] += weights[:, None] * (whole.translations[:, root] - motion.translations[:, root])
    return replace(motion, translations=translations, rotations=turned)


def _foot_turn(motion: Motion, result: Motion, legs: tuple[Leg, ...]) -> float:
    turns = [rotations.angle_between(motion.world[1][:, leg.foot], result.world[1][:, leg.foot]).max() for leg in legs]
    return math.degrees(float(max(turns, default=0.0)))


def _knees(motion: Motion, result: Motion, legs: tuple[Leg, ...]) -> bool:
    """True if no knee bends backwards further than it did anywhere in the clip."""
    slack = math.radians(0.1)
    return all(
        float(knee_flexion(leg, result).min()) >= min(0.0, float(knee_flexion(leg, motion).min())) - slack
        for leg in legs
    )


def _measures(motion: Motion, character: Character | None, floor: float | None) -> dict[str, Any]:
    """How feet stand and what is in the floor, as `poise check` measures it."""
    seen = standing(clip := on_ground(motion, Wanted(floor=floor), character))
    on_feet = clip.touch.flags[:, clip.touch.is_foot].any(axis=1) & ~clip.is_glitch
    return {
        "skating_ratio": seen.skating_ratio,
        "foot_slide_mm_per_frame": seen.slide_mm_per_frame,
        "penetration_max_m": seen.penetration_max_m,
        "float_max_m": seen.float_max_m,
        "contact_frames": int(on_feet.sum()),
    }


def _cautions(
    changes: Changes, lifted: Array, fixed: Ground, legs: tuple[Leg, ...], motion: Motion, amount: float
) -> tuple[str, ...]:
    """What a user should look at: a size that is none, joints that turn far, a body that goes up or down far."""
    notes = []
    said, units = unlikely_leg(fixed.character.leg_length, motion)
    if said:
        notes.append(f"{said} ({units}). What touches, and how fast anything may change, is judged for that size.")
    frame, joint = (int(x) for x in np.unravel_index(np.argmax(changes.angles), changes.angles.shape))
    turn = math.degrees(changes.angles[frame, joint])
    if turn > FAR:
        less = rounded_down(amount * 0.5 * FAR / turn, digits=2)
        notes.append(
            f"{changes.names[joint]} turns by {turn:.0f}° in frame {frame}, far more than slips and soles ask for: "
            f"look at the result there. With --amount {less:g} no joint turns by more than {0.5 * FAR:.0f}°; "
            "a --budget sets another limit."
        )
    most = float(np.abs(lifted).max())
    if most > MOST_LOWERED * fixed.size:
        way = "up" if lifted[np.argmax(np.abs(lifted))] > 0.0 else "down"
        notes.append(f"The body goes {way} by as much as {100.0 * most:.3g} cm, to spare legs or to leave the floor.")
    if drags(motion, fixed, legs):
        notes.append("Feet that drag far while the hips are low are not locked: knees or hands carry the body there.")
    return tuple(notes)
