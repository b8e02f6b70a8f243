"""Findings on feet that stand: they slide, sink, hover, or rise with the body."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from poise.analysis.analyze import Analysis
from poise.body.character import Character, Limb
from poise.check import thresholds as at
from poise.check.finding import (
    Cure,
    Finding,
    facing_at,
    length_words,
    opposite,
    ranked,
    stretches,
    way_word,
)
from poise.check.profile import Limit, Profile
from poise.core.typing import Array, Index


@dataclass(frozen=True)
class Stance:
    """One touch of one foot, without heel strike and toe-off.

    Attributes:
        foot: Its limb's name.
        points: Columns of its contact points.
        first, last: Frames.
        slide: Where the standing point of the foot goes over the touch [m], shape (2,).
        gap: Median gap under its lowest point [m].
        carries: False where the hips are low or come down: who sits or lies down drags feet.
    """

    foot: str
    points: Index
    first: int
    last: int
    slide: Array
    gap: float
    carries: bool


def ground_findings(clip: Analysis, profile: Profile, *, is_timed: bool = True) -> Iterator[Finding]:
    """Rise, skate, penetration and float; without a right frame rate, only what no speed or force says."""
    standing = stances(clip)
    yield from _rise(clip, profile)
    yield from _skate(clip, standing, profile)
    if is_timed:
        yield from _nothing_stands(clip, profile)
    yield from _penetration(clip, profile)
    yield from _float(clip, standing, profile)


def has_knees(character: Character) -> bool:
    """True if a leg has a joint between hip and foot, so that `poise edit ground` can move its foot."""
    return any(limb.kind == "leg" and end_index(character, limb) >= 2 for limb in character.limbs)


def _grounding(clip: Analysis, text: str, cost: float) -> Cure:
    """A cure that `poise edit ground` does where the figure has knees; without, it is to be done by hand."""
    return Cure(f"{text} (poise edit ground)" if has_knees(clip.character) else text, cost)


def end_index(character: Character, limb: Limb) -> int:
    """Which body of a leg is the first with contact points of a foot, of an arm with those of a hand; else the last."""
    part = "hand" if limb.kind == "arm" else "foot"
    touching = {p.body for p in character.contact_points if p.part == part}
    return next((k for k, b in enumerate(limb.bodies) if b in touching), len(limb.bodies) - 1)


def stances(clip: Analysis) -> tuple[Stance, ...]:
    """Every touch of every foot that is long enough to judge.

    The standing point of a frame is the slowest of the foot's points that touch: a rolling foot passes from heel to
    toe without sliding.
    """
    touch, scale = clip.touch, clip.character.leg_scale
    trim = math.ceil(at.SETTLING * math.sqrt(scale) / clip.motion.dt)
    longest = max(trim, math.ceil(at.LONGEST_SETTLING * math.sqrt(scale) / clip.motion.dt))
    found: list[Stance] = []
    for foot, points in feet(clip).items():
        flags = touch.flags[:, points] & ~clip.is_glitch[:, None]
        speed = np.where(flags, np.linalg.norm(touch.velocities[:, points, :2], axis=-1), np.inf)
        slowest = points[np.argmin(speed, axis=1)]
        moving = touch.velocities[np.arange(len(flags)), slowest, :2]
        low = np.where(flags, touch.gaps[:, points], np.inf).min(axis=1)
        step = np.gradient(clip.times) if len(clip.times) > 1 else np.zeros(1)
        fastness = np.linalg.norm(moving, axis=1) / (at.STANDING_STILL * math.sqrt(scale))
        for begin, end in stretches(np.asarray(flags.any(axis=1))):
            for first, last in _rests(fastness, begin, end, trim):
                settling = min(max(trim, math.ceil(at.SETTLES * (last - first))), longest)
                a, b = first + settling, last - settling
                if b - a >= 1:
                    slide = (moving[a : b + 1] * step[a : b + 1, None]).sum(axis=0)
                    gap = float(np.median(low[a : b + 1]))
                    carries = feet_carry(clip.hips[a : b + 1], clip.character)
                    found.append(Stance(foot, points, first, last, slide, gap, carries))
    return tuple(found)


def _rests(fastness: Array, begin: int, end: int, trim: int) -> list[tuple[int, int]]:
    """The rests of a foot that touches: where it moves fast for a moment between two rests, it takes a step that drags.

    A touch that slides fast from or to its end is one rest, and so is one whose rests are too short to judge, or slide
    themselves: then the foot slides all along.

    Args:
        fastness: Speed of the foot over the fastest that stands [1], shape (F,).
        begin: The first frame of the touch.
        end: The last one.
        trim: Frames at either end of a rest that are not judged.
    """
    rests: list[tuple[int, int]] = []
    start = begin
    for a, b in stretches(fastness[begin : end + 1] > 1.0, begin):
        is_long = a - start > 2 * trim and end - b > 2 * trim
        if is_long and max(np.median(fastness[start:a]), np.median(fastness[b + 1 : end + 1])) < at.RESTS:
            rests.append((start, a - 1))
            start = b + 1
    return [*rests, (start, end)]


def feet_carry(hips: Array, character: Character) -> bool:
    """Whether feet carry a body whose hips are this high over the ground [m]: whoever sits or crawls drags them."""
    return float(np.quantile(hips, at.STAYS_UP)) > at.CARRIED_HIPS * character.leg_length


def feet(clip: Analysis) -> dict[str, Index]:
    """Columns of the contact points of each foot, by its limb's name."""
    touch = clip.touch
    names = dict.fromkeys(name for name, is_foot in zip(touch.supports, touch.is_foot) if is_foot)
    return {
        name: np.array([i for i, s in enumerate(touch.supports) if s == name and touch.is_foot[i]]) for name in names
    }


def foot_word(limb: str) -> str:
    """The foot at the end of a leg: "left_leg" is the left foot."""
    name = limb.replace("_", " ").lower()
    return name.removesuffix(" leg") + " foot" if name.endswith(" leg") else name


def _limit(clip: Analysis, profile: Profile, flaw: str) -> Limit:
    """A profile's length, which is for a leg of 0.82 m, for the legs of this clip [m]."""
    return profile[flaw].scaled(clip.character.leg_scale)


@dataclass(frozen=True)
class Rise:
    """A body that goes up or down through the air at an even pace while its feet stand.

    Attributes:
        pace: Upward [m/s].
        height: Of standing feet above the ground at each frame, shape (F,) [m]; a line over time.
        far: What it goes up by while feet stand [m].
        first: The first frame in which a foot stands.
        last: The last one.
        steps: How often another foot stands.
    """

    pace: float
    height: Array
    far: float
    first: int
    last: int
    steps: int


def rise_of(clip: Analysis, limit: Limit) -> Rise | None:
    """How far a body goes up or down through the air, wherever the floor is; None where that is allowed.

    The heights of feet that stand, over the ground that is known, lie on one line over time. On other slopes and
    stairs they may as well, but there a foot rests while it stands, and whoever comes back to a place is at its height
    again.
    """
    size = clip.character.leg_scale
    stood = standing_feet(clip) if limit.is_checked else []
    if sum(len(frames) for _, frames, _ in stood) * clip.motion.dt < at.LEAST_RISING * math.sqrt(size):
        return None
    points = np.concatenate([at_rest for _, _, at_rest in stood])
    times = np.concatenate([clip.times[frames] for _, frames, _ in stood])
    (pace,), off = _plane(times[:, None], points[:, 2])
    far = pace * float(np.ptp(times))
    own = float(np.median([_plane(clip.times[f][:, None], p[:, 2])[0][0] for _, f, p in stood]))
    rides = abs(own - pace) < at.RISES_EVENLY * abs(pace) and off < at.RISES_EVENLY * abs(far)
    level = at.LEVEL * size
    returns = off < level and _plane(points[:, :2], points[:, 2])[1] > 2.0 * level
    if limit.allows(abs(far)) or not (rides or returns):
        return None
    steps = sum(a[0] != b[0] for a, b in pairwise(sorted(stood, key=lambda s: s[1][0])))
    first, last = int(np.argmin(np.abs(clip.times - times.min()))), int(np.argmin(np.abs(clip.times - times.max())))
    height = float(points[:, 2].mean()) + pace * (clip.times - float(times.mean()))
    return Rise(pace, height, far, first, last, steps)


def _rise(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    """A body that goes through the air; a figure that does not step may ride a lift that the clip does not hold."""
    limit = _limit(clip, profile, "rise")
    rise = rise_of(clip, limit)
    if rise is None:
        return
    pace, far, first, last = abs(rise.pace), abs(rise.far), rise.first, rise.last
    word, back = ("up", "down") if rise.pace > 0.0 else ("down", "up")
    yield Finding(
        "rise",
        far,
        limit.most,
        ((first, last),),
        f"The body goes {word} through the air: feet that stand go {word} at {pace:.2g} m/s, "
        f"{length_words(far)} in frames {first}–{last}",
        (
            _grounding(
                clip,
                f"move the hips {back} at {pace:.2g} m/s over frames {first}–{last}, so that standing feet rest",
                far / clip.character.leg_length,
            ),
        ),
        "feet",
        limit.fails and rise.steps >= at.LEAST_STEPS,
    )


def standing_feet(clip: Analysis) -> list[tuple[str, Index, Array]]:
    """Where feet stand: foot, frames, and place and gap to the ground of its lowest point in each, shape (n, 3) [m]."""
    touch, size, every = clip.touch, clip.character.leg_scale, np.arange(clip.motion.frame_count)
    lowest = {foot: columns[np.argmin(touch.gaps[:, columns], axis=1)] for foot, columns in feet(clip).items()}
    if not lowest:
        return []
    level = np.min([touch.gaps[every, c] for c in lowest.values()], axis=0) + at.LEVEL * size
    carried = ~clip.is_glitch & (clip.forces.demanded[:, 2] > at.CARRIED * clip.mass * clip.gravity)
    found: list[tuple[str, Index, Array]] = []
    for foot, columns in lowest.items():
        point = np.column_stack([touch.points[every, columns, :2], touch.gaps[every, columns]])
        speed = np.linalg.norm(touch.velocities[every, columns, :2], axis=1)
        stands = carried & (point[:, 2] < level) & (speed < at.STANDING_STILL * math.sqrt(size))
        for a, b in stretches(stands):
            if clip.times[b] - clip.times[a] >= at.SHORTEST_STAND * math.sqrt(size):
                found.append((foot, every[a : b + 1], point[a : b + 1]))
    return found


def _plane(places: Array, heights: Array) -> tuple[list[float], float]:
    """Slopes of heights (n,) over places (n, k), and how far 95 of 100 heights are off the plane at most [m]."""
    terms = np.column_stack([places - places.mean(axis=0), np.ones(len(places))])
    slopes, *_ = np.linalg.lstsq(terms, heights, rcond=None)
    return slopes[:-1].tolist(), float(np.quantile(np.abs(heights - terms @ slopes), 0.95))


def _skate(clip: Analysis, standing: tuple[Stance, ...], profile: Profile) -> Iterator[Finding]:
    limit, leg = _limit(clip, profile, "skate"), clip.character.leg_length
    if not limit.is_checked:
        return
    for foot in dict.fromkeys(s.foot for s in standing):
        sliding = [s for s in standing if s.foot == foot and not limit.allows(float(np.linalg.norm(s.slide)))]
        if not sliding:
            continue
        worst = max(sliding, key=lambda s: (s.carries, float(np.linalg.norm(s.slide))))
        far = float(np.linalg.norm(worst.slide))
        way = way_word(worst.slide, facing_at(clip, worst.first))
        more = f", and in {len(sliding) - 1} more steps" if len(sliding) > 1 else ""
        name = foot_word(foot)
        others = f" and {len(sliding) - 1} more" if len(sliding) > 1 else ""
        yield Finding(
            "skate",
            far,
            limit.most,
            tuple((s.first, s.last) for s in sliding),
            f"The {name} slides {length_words(far)} {way} while it stands, frames {worst.first}–{worst.last}{more}",
            ranked(
                [
                    _grounding(
                        clip,
                        f"pin the {name} from frame {worst.first} to {worst.last}{others}: it moves "
                        f"{length_words(far)} at most",
                        far / leg,
                    ),
                    Cure(
                        f"move the hips {length_words(far)} {opposite(way)} over frames {worst.first}–{worst.last}, so "
                        "that the body goes with the foot",
                        far / leg + 1e-6,
                    ),
                ]
            ),
            foot,
            limit.fails and any(s.carries for s in sliding),
        )


def _nothing_stands(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    """Frames in which the body is carried, and yet all that is near the floor moves: too fast to count as a touch."""
    limit, touch, leg = _limit(clip, profile, "skate"), clip.touch, clip.character.leg_length
    if not limit.is_checked:
        return
    scale = clip.character.leg_scale
    columns = np.flatnonzero(touch.is_foot)
    if not len(columns):
        return
    near = touch.gaps < at.NEAR_FLOOR * scale
    speed = np.linalg.norm(touch.velocities[:, :, :2], axis=-1)
    still = (near & (speed < at.STANDING_STILL * math.sqrt(scale))).any(axis=1) | touch.flags.any(axis=1)
    down = (touch.gaps[:, columns] < at.DOWN * scale).any(axis=1)
    weight = clip.forces.demanded[:, 2] / (clip.mass * clip.gravity)
    carried = weight > at.CARRIED
    shortest = at.GLIDE_SECONDS * math.sqrt(scale)
    for first, last in stretches(~carried):
        inside = first > 0 and last < len(carried) - 1
        if inside and weight[first : last + 1].min() > at.DIP and clip.times[last] - clip.times[first] < shortest:
            carried[first : last + 1] = True  # short and shallow: no hop
    sliding = down & carried & ~still & ~clip.is_airborne & ~clip.is_glitch & (clip.hips > at.CARRIED_HIPS * leg)
    slowest = np.where(near, speed, np.inf).min(axis=1)
    found = []
    for first, last in stretches(sliding):
        if clip.times[last] - clip.times[first] < shortest:
            continue
        far = float(np.trapezoid(slowest[first : last + 1], clip.times[first : last + 1]))
        if not limit.allows(far):
            found.append((far, first, last))
    if not found:
        return
    far, first, last = max(found)
    speed_word = f"{far / max(clip.times[last] - clip.times[first], 1e-9):.1f} m/s"
    yield Finding(
        "skate",
        far,
        limit.most,
        tuple((a, b) for _, a, b in found),
        f"No foot stands in frames {first}–{last}: the slowest near the floor slides {length_words(far)}, at "
        f"{speed_word}",
        ranked(
            [
                Cure(f"hold a foot where it comes down at frame {first}, up to frame {last}", far / leg),
                Cure(
                    "if the clip walks in place and its travel was lost, put the travel back into the root",
                    far / leg + 1e-6,
                ),
            ]
        ),
        "feet",
        limit.fails and far > at.GLIDES * scale,
    )


def _penetration(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    limit, touch, leg = _limit(clip, profile, "penetration"), clip.touch, clip.character.leg_length
    if not limit.is_checked or not touch.names:
        return
    depth = np.where(clip.is_glitch[:, None], 0.0, np.maximum(-touch.gaps, 0.0))
    for support in dict.fromkeys(touch.supports):
        columns = np.array([i for i, s in enumerate(touch.supports) if s == support])
        deepest = depth[:, columns].max(axis=1)
        frame = int(np.argmax(deepest))
        deep = float(deepest[frame])
        point = touch.names[int(columns[int(np.argmax(depth[frame, columns]))])]
        part = next(p.part for p in clip.character.contact_points if p.name == point)
        most = limit.most * (1.0 if part == "foot" else at.GUESSED)
        bad = stretches(deepest > most)
        seconds = at.SINKS_SECONDS * math.sqrt(clip.character.leg_scale)
        lasts = any(clip.times[b] - clip.times[a] >= seconds for a, b in bad)
        if deep <= most:
            continue
        name = foot_word(support) if part == "foot" else f"{support.replace('_', ' ')} ({part})"
        around = next((a, b) for a, b in bad if a <= frame <= b)
        cures = [
            _grounding(
                clip,
                f"raise the {name} {length_words(deep)} at frame {frame}, less and less toward frames "
                f"{max(0, around[0] - 1)} and {around[1] + 1}",
                deep / leg,
            ),
        ]
        sunk = deepest[touch.flags[:, columns].any(axis=1)]
        if len(sunk) and float(np.median(sunk)) > most:
            always = float(np.median(sunk))
            cures.append(
                Cure(f"raise the whole clip {length_words(always)}: it is as deep in most of its touches", always / leg)
            )
        yield Finding(
            "penetration",
            deep,
            most,
            bad,
            f"The {name} is {length_words(deep)} below the floor at frame {frame}",
            ranked(cures),
            support,
            limit.fails and (lasts or deep > at.SINKS_FAR * most),
        )


def _float(clip: Analysis, standing: tuple[Stance, ...], profile: Profile) -> Iterator[Finding]:
    limit, leg = _limit(clip, profile, "float"), clip.character.leg_length
    if not limit.is_checked:
        return
    for foot in dict.fromkeys(s.foot for s in standing):
        high = [s for s in standing if s.foot == foot and not limit.allows(s.gap)]
        if not high:
            continue
        worst = max(high, key=lambda s: s.gap)
        name = foot_word(foot)
        more = f", and in {len(high) - 1} more steps" if len(high) > 1 else ""
        yield Finding(
            "float",
            worst.gap,
            limit.most,
            tuple((s.first, s.last) for s in high),
            f"The {name} stands {length_words(worst.gap)} above the floor, frames {worst.first}–{worst.last}{more}",
            (
                _grounding(
                    clip,
                    f"lower the {name} {length_words(worst.gap)} in frames {worst.first}–{worst.last}",
                    worst.gap / leg,
                ),
            ),
            foot,
            limit.fails,
        )
    yield from _hovering(clip, profile)


def _hovering(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    """Stretches where nothing touches and the body does not fall either."""
    limit, touch, leg = _limit(clip, profile, "float"), clip.touch, clip.character.leg_length
    if not touch.names:
        return
    scale = clip.character.leg_scale
    lowest = touch.gaps.min(axis=1)
    slow = np.linalg.norm(touch.velocities, axis=-1).min(axis=1) < at.STANDING_STILL * math.sqrt(scale)
    hangs = ~touch.flags.any(axis=1) & ~clip.is_airborne & slow & ~clip.is_glitch
    found = []
    for first, last in stretches(hangs):
        gap = float(np.median(lowest[first : last + 1]))
        if clip.times[last] - clip.times[first] >= at.HOVER_SECONDS * math.sqrt(scale) and not limit.allows(gap):
            found.append((gap, first, last))
    if found:
        gap, first, last = max(found)
        lands = first > 0 and last < len(hangs) - 1  # else what holds it may lie outside of the clip
        yield Finding(
            "float",
            gap,
            limit.most,
            tuple((a, b) for _, a, b in found),
            f"Nothing touches the floor in frames {first}–{last}, and yet the body does not fall: it hovers "
            f"{length_words(gap)} above it",
            (_grounding(clip, f"lower the body {length_words(gap)} in frames {first}–{last}", gap / leg),),
            "body",
            limit.fails and lands,
        )
