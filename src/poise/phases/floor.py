"""Where the floor of a clip lies, and which ground is under it: its own, one it carries, or one asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poise.core import rotations
from poise.core.motion import Evidence, Ground, Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.core.units import HUMAN_LEG
from poise.phases.glitches import glitch_frames
from poise.phases.points import body_parts, body_points, leg_length, lowest_at_rest, pelvis, velocities
from poise.phases.travel import direction_of_travel, in_place_velocity
from poise.terrain import Terrain
from poise.terrain.shapes import Plane

SPREAD = 0.02
"""Stances on one floor agree to this, for a leg of 0.82 m [m]."""
BELOW = 2.5
"""A point is in the floor if it lies deeper than this many SPREADs [1]."""
DEEPER = 0.3
"""A frame with a point in the floor speaks so much against it as one that stands there speaks for it [1]: joints of a
body that lies are deeper than toes that stand, and limbs of a game's gallop swing through the ground."""


LOWER_SHARE = 0.25
"""A level on which an upright body is for this share of its resting time carries it: the floor is no higher [1]."""
LOWER_PACE = 0.25
"""A point at this speed counts half as resting, for a leg of 0.82 m [m/s]."""
UPRIGHT_HIPS = 0.75
"""A pelvis at this share of its height over standing feet, and above half a leg, is carried by them [1]: joints of a
body that lies are nearer to the floor than those of feet."""


ARMATURE = 0.6
"""How much the ground of a rest pose is worth: less than feet that stand [1]."""
ABOVE = 0.5
"""A body that is higher above that ground in every frame stands on nothing there [leg lengths]."""
THICK = 0.2
"""Toes of a rest pose lie at most so high above its armature [leg lengths]: drawn figures have thick shoes."""


DEEPEST_SHARE = 0.25
"""A floor that the lowest point is under for a larger share of the frames is none [1]."""
ON_ZERO = 0.02
"""A skin whose lowest point is nearer than this to height 0 in its rest pose was drawn to stand there, for a leg of
0.82 m [m]."""


def find_floor(motion: Motion) -> Evidence:
    """Height of the floor in the clip's world frame: what the body stands on.

    The lowest joint or tip of each frame is taken with its speed, glitched frames left out. Two ways to find what it
    rests on are tried, and the one that is surer of itself is taken: the height at which most frames rest, the slower
    the more, while few are deeper; and the height in the slowest frames. The floor lies where the skeleton's lowest
    joints or tips touch: a skeleton that ends at the ankles has a sole below it that only a character knows. Under a
    motion on the spot the floor moves with the standing feet.

    Where the level of a capture drifts, the lowest level on which the body stands for long is the floor.

    Returns:
        The height [m], with confidence: how well the frames that rest there agree, and how slow they are.
    """
    positions, _ = body_points(motion)
    good = ~glitch_frames(motion)
    if good.sum() < 3:
        good[:] = True
    scale = leg_length(motion.skeleton) / HUMAN_LEG
    lowest = np.argmin(positions[:, :, 2], axis=1)
    frames = np.arange(len(positions))
    height = positions[frames, lowest, 2]
    ground = in_place_velocity(motion)
    speed = np.linalg.norm(velocities(positions, motion.times)[frames, lowest] - ground, axis=-1)
    places = motion.world[0]
    hips = places[good, pelvis(motion.skeleton), 2]
    return floor_under(motion.skeleton, places[:, 0], hips, height[good], speed[good], scale)


def floor_under(
    skeleton: Skeleton, armature: Array, hips: Array, height: Array, speed: Array, scale: float
) -> Evidence:
    """Height of the floor under the lowest point of each frame, whether that is a joint or the sole of a character.

    Args:
        skeleton: Of the motion.
        armature: World positions of its first joint [m], shape (F, 3).
        hips: Height of the pelvis [m], shape (F',).
        height: Of the lowest point [m], shape (F',).
        speed: Of that point over the floor [m/s], shape (F',).
        scale: Size of the figure, 1 for a person.
    """
    found = [_where_it_rests(height, speed, scale), _where_it_is_slowest(height, speed, scale)]
    drawn = _where_the_armature_stands(skeleton, armature, height, scale)
    best = max(found, key=lambda e: e.confidence)
    if drawn is not None and drawn.confidence >= best.confidence:
        best = drawn
    else:
        best = _where_it_stands_lower(best, height, speed, hips, scale) or best
    return _where_the_skin_stands(best, skeleton, armature, height, scale) or best


def _where_the_armature_stands(skeleton: Skeleton, armature: Array, height: Array, scale: float) -> Evidence | None:
    """The lowest point of the rest pose, where an armature that never moves stands on its level, under the clip.

    A body that is never near it sits on a seat, hangs or flies: what it rests on then is not the floor.
    """
    first = pelvis(skeleton)
    if first == 0 or skeleton.parents[first] < 0:
        return None
    lowest = lowest_at_rest(skeleton, np.array(body_parts(skeleton)[0]))
    near = 0.1 * scale
    level = float(armature[:, 2].min())  # it may bob with the body of a toy that runs
    is_still = float(np.ptp(armature[:, :2], axis=0).max()) < 1e-3 * scale and float(np.ptp(armature[:, 2])) < near
    leg = HUMAN_LEG * scale if skeleton.sole is None else min(HUMAN_LEG * scale, leg_length(skeleton))
    is_far = float(height.min()) - lowest > ABOVE * leg
    beside = THICK * HUMAN_LEG * scale if is_far else near
    if not is_still or abs(level - lowest) > beside or float(height.min()) < lowest - near:
        return None
    reason = "the rest pose stands there, beside the armature of all clips"
    return Evidence(lowest, 1.0 if is_far else ARMATURE, reason)


def _where_the_skin_stands(
    found: Evidence, skeleton: Skeleton, armature: Array, height: Array, scale: float
) -> Evidence | None:
    """Height 0, where the skin of the rest pose stands on it and the clip rests there, too: soles are below joints.

    Exporters of games put the ground there. Less than half a SPREAD is no difference; nothing may be deeper for long.
    """
    near = BELOW * SPREAD * scale
    if not stands_on_zero(skeleton, scale):
        return None
    lowest = lowest_at_rest(skeleton, np.array(body_parts(skeleton)[0]))
    is_still = pelvis(skeleton) == 0 or float(np.ptp(armature[:, 2])) < near
    is_there = 0.5 * SPREAD * scale < found.value < lowest + near
    if not (is_still and is_there) or float(np.mean(height < -near)) > DEEPEST_SHARE:
        return None
    reason = f"the skin of the rest pose stands there; lowest joints or tips rest {100.0 * found.value:.1f} cm above it"
    return Evidence(0.0, found.confidence, reason)


def stands_on_zero(skeleton: Skeleton, scale: float) -> bool:
    """Whether the skin of the rest pose stands on height 0, for a figure of this size against a person's [1]."""
    return skeleton.sole is not None and abs(skeleton.sole) < ON_ZERO * scale


def _where_it_rests(height: Array, speed: Array, scale: float) -> Evidence:
    """The height that most frames rest at, and few are below."""
    still = _stillness(speed, 0.5, scale)
    spread = SPREAD * scale
    candidates = _levels(height)
    away = (height[None] - candidates[:, None]) / spread
    support = (np.exp(-0.5 * away**2) * still).sum(axis=1) - DEEPER * (away < -BELOW).sum(axis=1)
    best = candidates[int(np.argmax(support))]
    near = np.abs(height - best) < 2.0 * spread
    near[np.argmin(np.abs(height - best))] = True  # of a figure without a size, rounding leaves none near
    slow = np.flatnonzero(near)[np.argsort(speed[near], kind="stable")[: max(1, (int(near.sum()) + 3) // 4)]]
    floor = float(np.median(height[slow]))
    apart = float(np.median(np.abs(height[slow] - floor)))
    pace = float(np.median(speed[slow]))
    share = float(near.mean())
    reason = (
        f"the body rests there in {100.0 * share:.0f} % of the frames, moving at {pace:.2f} m/s; it is deeper in "
        f"{100.0 * float((height < floor - BELOW * spread).mean()):.0f} %"
    )
    enough = min(1.0, float(near.sum()) / 20.0) * min(1.0, 0.25 + share)
    return Evidence(floor, _confidence(apart, pace, enough, scale), reason)


def _where_it_is_slowest(height: Array, speed: Array, scale: float) -> Evidence:
    """The median height of the slowest quarter of the frames."""
    slow = np.argsort(speed, kind="stable")[: max(1, (len(speed) + 3) // 4)]
    floor = float(np.median(height[slow]))
    apart = float(np.median(np.abs(height[slow] - floor)))
    pace = float(np.median(speed[slow]))
    reason = (
        f"median height of the lowest point over the slowest {len(slow)} of {len(height)} frames; "
        f"they agree to {100.0 * apart:.1f} cm and move at {pace:.2f} m/s"
    )
    return Evidence(floor, _confidence(apart, pace, len(slow) / 5.0, scale), reason)


def _where_it_stands_lower(found: Evidence, height: Array, speed: Array, hips: Array, scale: float) -> Evidence | None:
    """The lowest level below the one found on which the body stands upright for long; None if there is none.

    The level of a capture may drift: the floor is not above feet that stand.
    """
    spread = SPREAD * scale
    still = _stillness(speed, LOWER_PACE, scale)
    there = np.abs(height - found.value) < 2.0 * spread
    if not there.any():
        return None
    least = max(UPRIGHT_HIPS * float(np.median((hips - height)[there])), 0.5 * HUMAN_LEG * scale)
    carried = still * (hips - height > least)
    levels = _levels(height)
    levels = levels[levels < found.value - BELOW * spread]
    away = (height[None] - levels[:, None]) / spread
    share = (np.exp(-0.5 * away**2) * carried).sum(axis=1) / float(still.sum())
    enough = np.flatnonzero(share > LOWER_SHARE)
    if len(enough) == 0:
        return None
    near = np.flatnonzero(np.abs(height - levels[enough[0]]) < 2.0 * spread)
    near = near[np.argsort(height[near], kind="stable")]
    summed = np.cumsum(carried[near])
    floor = float(height[near][np.searchsorted(summed, 0.5 * summed[-1])])
    rest = 100.0 * float(share[enough[0]])
    higher = 100.0 * (found.value - floor)
    reason = (
        f"the body stands there for {rest:.0f} % of its resting time; the level found first is {higher:.0f} cm higher"
    )
    return Evidence(floor, round(found.confidence * (1.0 - float(share[enough[0]])), 3), reason)


def _stillness(speed: Array, pace: float, scale: float) -> Array:
    """How much each point counts as resting, half at this pace [m/s] of a figure of human size [1]."""
    return 1.0 / (1.0 + (speed / (pace * math.sqrt(scale))) ** 2)


def _levels(height: Array) -> Array:
    """Heights at which the floor may be [m]: percentiles of those of the lowest points."""
    return np.unique(np.percentile(height, np.linspace(0.0, 100.0, 101)))


def _confidence(apart: float, pace: float, enough: float, scale: float) -> float:
    """How much heights that differ by this [m] at this speed [m/s] are worth, of a figure of this size [1]."""
    agreement = 1.0 / (1.0 + (apart / (0.03 * scale)) ** 2)
    stillness = 1.0 / (1.0 + (pace / math.sqrt(scale)) ** 2)
    return round(agreement * stillness * min(1.0, enough), 3)


def start_of(motion: Motion) -> Array:
    """Where a clip starts: the place of the pelvis in the first frame [m], shape (3,).

    The first joint of a file may stay at the origin while the figure walks.
    """
    return motion.world[0][0, pelvis(motion.skeleton)]


def hips_over(motion: Motion, terrain: Terrain) -> Array:
    """Height of the pelvis over the ground below it [m], shape (F,)."""
    hips = motion.world[0][:, pelvis(motion.skeleton)]
    if terrain.is_static:
        return hips[:, 2] - terrain.heights(hips[:, :2])
    below = [terrain.heights(place[None, :2], time)[0] for place, time in zip(hips, motion.times.tolist(), strict=True)]
    return hips[:, 2] - np.array(below)


def laid_under(terrain: Terrain | None, motion: Motion, floor: float) -> Terrain:
    """A ground laid under a clip: it begins where the root is in the first frame and rises where the clip goes."""
    start = start_of(motion)
    terrain = Terrain.flat() if terrain is None else terrain
    return terrain.placed(origin=(float(start[0]), float(start[1])), heading=direction_of_travel(motion), ground=floor)


SAME_GROUND = 0.01
"""Two grounds lie as high if they differ by less than this [m]."""


def carried_ground(motion: Motion) -> Terrain | None:
    """The ground that a clip was made for, where its file says so."""
    ground = motion.source.ground if motion.source is not None else None
    if ground is None:
        return None
    laid = Terrain.parse(ground.spec)
    return replace(laid, fixed_heading=None).placed(origin=ground.origin, heading=ground.heading, ground=ground.height)


def leveled(motion: Motion, terrain: Terrain) -> Motion:
    """A motion on some ground as it would be on level ground, so that feet can be measured on it; no more is meant.

    On a slope all is turned until that is level. Elsewhere every frame is moved up or down until the ground under its
    lowest point, that which is nearest to the ground, is as high as the terrain's own level.
    """
    translations, turned = motion.translations.copy(), motion.rotations.copy()
    if isinstance(terrain.shape, Plane):
        normal = terrain.sample(np.array([terrain.origin])).normal[0]
        axis = np.array([normal[1], -normal[0], 0.0])  # about which the normal turns to the vertical
        sine = float(np.linalg.norm(axis))
        angle = math.atan2(sine, float(normal[2]))
        back = rotations.from_rotation_vector(axis * (angle / sine if sine > 1e-12 else 0.0))
        pivot = np.array([*terrain.origin, terrain.ground])
        translations[:, 0] = rotations.rotate(back, translations[:, 0] - pivot) + pivot
        turned[:, 0] = rotations.multiply(back, turned[:, 0])
    else:
        points, _ = body_points(motion)
        for frame, (time, places) in enumerate(zip(motion.times.tolist(), points, strict=True)):
            heights = terrain.heights(places[:, :2], time)
            lowest = int(np.argmin(places[:, 2] - heights))
            translations[frame, 0, 2] += terrain.ground - heights[lowest]
    return replace(motion, translations=translations, rotations=turned, source=None)


def carrying(motion: Motion, terrain: Terrain) -> Motion:
    """The motion with the ground it was made for, which its file will carry; level ground needs no word."""
    if motion.source is None:
        return motion
    note = None if terrain.is_flat else Ground(terrain.spec, terrain.origin, terrain.heading, terrain.ground)
    if note == motion.source.ground:
        return motion
    return replace(motion, source=replace(motion.source, ground=note)).placed(*motion.world)


def carrying_larger(motion: Motion, size: float) -> Motion:
    """A motion that was scaled about the world's origin, with the ground that it carries scaled [1] likewise."""
    ground = carried_ground(motion)
    return motion if ground is None else carrying(motion, ground.scaled(size))


def carrying_last(motion: Motion, grounds: Sequence[tuple[float, Terrain]]) -> Motion:
    """The motion carrying the last ground it was made on, if those before it lay as high under all joints meanwhile.

    Args:
        motion: What was made.
        grounds: Each ground and the time from which on it lay there [s], in order.
    """
    _, last = grounds[-1]
    until = [begin for begin, _ in grounds[1:]]
    for (begin, ground), end in zip(grounds, until, strict=False):
        during = (motion.times - motion.times[0] >= begin) & (motion.times - motion.times[0] < end)
        under = motion.world[0][during].reshape(-1, 3)[:, :2]
        if len(under) and np.abs(ground.heights(under) - last.heights(under)).max() > SAME_GROUND:
            return motion
    return carrying(motion, last)
