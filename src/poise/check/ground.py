"""Findings on standing: feet that slide, sink or hover, and motions that need a moment which the feet cannot give."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import ndimage

from poise.analysis.analyze import Analysis
from poise.analysis.support import hulls, polygon_distances, zero_moment_point
from poise.check import thresholds as at
from poise.check.finding import (
    Cure,
    Finding,
    Frames,
    Trials,
    facing_at,
    length_words,
    opposite,
    ranked,
    stretches,
    way_word,
)
from poise.check.profile import Limit, Profile
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.phases.points import pelvis


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


def stances(clip: Analysis) -> tuple[Stance, ...]:
    """Every touch of every foot that is long enough to judge.

    The standing point of a frame is the slowest of the foot's points that touch: a rolling foot passes from heel to
    toe without sliding.
    """
    touch, scale = clip.touch, clip.character.leg_scale
    trim = math.ceil(at.SETTLING * math.sqrt(scale) / clip.motion.dt)
    longest = max(trim, math.ceil(at.LONGEST_SETTLING * math.sqrt(scale) / clip.motion.dt))
    found: list[Stance] = []
    hips = clip.motion.world[0][:, pelvis(clip.motion.skeleton), 2] - clip.floor

    def carries(a: int, b: int) -> bool:
        return float(np.quantile(hips[a : b + 1], at.STAYS_UP)) > at.UPRIGHT * clip.character.leg_length

    for foot, points in feet(clip).items():
        flags = touch.flags[:, points] & ~clip.is_glitch[:, None]
        speed = np.where(flags, np.linalg.norm(touch.velocities[:, points, :2], axis=-1), np.inf)
        slowest = points[np.argmin(speed, axis=1)]
        moving = touch.velocities[np.arange(len(flags)), slowest, :2]
        low = np.where(flags, touch.gaps[:, points], np.inf).min(axis=1)
        step = np.gradient(clip.times) if len(clip.times) > 1 else np.zeros(1)
        fast = np.linalg.norm(moving, axis=1) > at.STANDING_STILL * math.sqrt(scale)
        for begin, end in stretches(np.asarray(flags.any(axis=1))):
            for first, last in _rests(fast, begin, end, trim):
                settling = min(max(trim, math.ceil(at.SETTLES * (last - first))), longest)
                a, b = first + settling, last - settling
                if b - a >= 1:
                    slide = (moving[a : b + 1] * step[a : b + 1, None]).sum(axis=0)
                    gap = float(np.median(low[a : b + 1]))
                    found.append(Stance(foot, points, first, last, slide, gap, carries(a, b)))
    return tuple(found)


def _rests(fast: Flags, begin: int, end: int, trim: int) -> list[tuple[int, int]]:
    """The rests of a foot that touches: where it moves fast for a moment between two rests, it takes a step that drags.

    A touch that slides fast from or to its end is one rest, and so is one whose rests are too short to judge.
    """
    rests: list[tuple[int, int]] = []
    start = begin
    for a, b in stretches(fast[begin : end + 1]):
        if begin + a - start > 2 * trim and end - (begin + b) > 2 * trim:
            rests.append((start, begin + a - 1))
            start = begin + b + 1
    return [*rests, (start, end)]


def feet(clip: Analysis) -> dict[str, Index]:
    """Columns of the contact points of each foot, by its limb's name."""
    touch = clip.touch
    names = dict.fromkeys(name for name, is_foot in zip(touch.supports, touch.is_foot) if is_foot)
    return {
        name: np.array([i for i, s in enumerate(touch.supports) if s == name and touch.is_foot[i]]) for name in names
    }


def foot_word(limb: str) -> str:
    """The foot at the end of a leg: "left_leg" is the left foot."""
    words = limb.replace("_", " ").lower()
    return words.removesuffix(" leg") + " foot" if words.endswith(" leg") else words


def _limit(clip: Analysis, profile: Profile, flaw: str) -> Limit:
    """A profile's length, which is for a leg of 0.82 m, for the legs of this clip [m]."""
    return profile[flaw].scaled(clip.character.leg_scale)


def _rise(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    """A body that goes up or down through the air while its feet stand, wherever the floor is.

    On stairs and slopes a standing foot is at rest. Where nothing is under it, every standing foot rises with the body.
    What touches the ground that is known is judged by its gaps. A figure that does not step may ride a lift that the
    clip does not hold: a warning.
    """
    limit, touch = _limit(clip, profile, "rise"), clip.touch
    columns = np.flatnonzero(touch.is_foot)
    if not limit.is_checked or not len(columns):
        return
    scale, frames = clip.character.leg_scale, np.arange(clip.motion.frame_count)
    height, velocity = touch.points[:, columns, 2], touch.velocities[:, columns]
    is_low = height < height.min(axis=1, keepdims=True) + at.LEVEL * scale
    speed = np.where(is_low, np.linalg.norm(velocity[:, :, :2], axis=2), np.inf)
    stands = np.argmin(speed, axis=1)
    still = (speed[frames, stands] < at.STANDING_STILL * math.sqrt(scale)) & ~clip.is_glitch
    still &= ~touch.flags.any(axis=1) & (clip.forces.demanded[:, 2] > at.CARRIED * clip.mass * clip.gravity)
    if still.sum() * clip.motion.dt < at.LEAST_RISING * math.sqrt(scale):
        return
    rising = velocity[frames, stands, 2]
    pace, far = float(np.median(rising[still])), float(rising[still].sum() * clip.motion.dt)
    even = np.abs(rising[still] - pace) < at.RISES_EVENLY * abs(pace)
    if abs(pace) < at.RISES * math.sqrt(scale) or even.mean() < at.RISING or limit.allows(abs(far)):
        return
    feet_used = [touch.supports[columns[k]] for k in stands[still].tolist()]
    steps = sum(a != b for a, b in pairwise(feet_used))
    first, last = int(np.flatnonzero(still)[0]), int(np.flatnonzero(still)[-1])
    word, back = ("up", "down") if pace > 0.0 else ("down", "up")
    yield Finding(
        "rise", abs(far), limit.most, ((first, last),),
        f"The body goes {word} through the air: feet that stand go {word} at {abs(pace):.2g} m/s, "
        f"{length_words(abs(far))} in frames {first}–{last}",
        (Cure(f"move the hips {back} at {abs(pace):.2g} m/s over frames {first}–{last}, so that standing feet rest",
              abs(far) / clip.character.leg_length),),
        "feet", limit.fails and steps >= at.LEAST_STEPS,
    )  # fmt: skip


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
            "skate", far, limit.most, tuple((s.first, s.last) for s in sliding),
            f"The {name} slides {length_words(far)} {way} while it stands, frames {worst.first}–{worst.last}{more}",
            ranked([
                Cure(f"pin the {name} from frame {worst.first} to {worst.last}{others}: it moves "
                     f"{length_words(far)} at most (poise edit ground)", far / leg),
                Cure(f"move the hips {length_words(far)} {opposite(way)} over frames {worst.first}–{worst.last}, so "
                     "that the body goes with the foot", far / leg + 1e-6),
            ]),
            foot, limit.fails and any(s.carries for s in sliding),
        )  # fmt: skip


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
    hips = clip.motion.world[0][:, pelvis(clip.motion.skeleton), 2] - clip.floor
    sliding = down & carried & ~still & ~clip.is_airborne & ~clip.is_glitch & (hips > at.UPRIGHT * leg)
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
        "skate", far, limit.most, tuple((a, b) for _, a, b in found),
        f"No foot stands in frames {first}–{last}: the slowest near the floor slides {length_words(far)}, at "
        f"{speed_word}",
        ranked([
            Cure(f"hold a foot where it comes down at frame {first}, up to frame {last}", far / leg),
            Cure("if the clip walks in place and its travel was lost, put the travel back into the root",
                 far / leg + 1e-6),
        ]),
        "feet", limit.fails and far > at.GLIDES * scale,
    )  # fmt: skip


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
            Cure(f"raise the {name} {length_words(deep)} at frame {frame}, less and less toward frames "
                 f"{max(0, around[0] - 1)} and {around[1] + 1} (poise edit ground)", deep / leg),
        ]  # fmt: skip
        sunk = deepest[touch.flags[:, columns].any(axis=1)]
        if len(sunk) and float(np.median(sunk)) > most:
            always = float(np.median(sunk))
            cures.append(Cure(f"raise the whole clip {length_words(always)}: it is as deep in most of its touches",
                              always / leg))  # fmt: skip
        yield Finding(
            "penetration", deep, most, bad,
            f"The {name} is {length_words(deep)} below the floor at frame {frame}",
            ranked(cures), support, limit.fails and (lasts or deep > at.SINKS_FAR * most),
        )  # fmt: skip


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
            "float", worst.gap, limit.most, tuple((s.first, s.last) for s in high),
            f"The {name} stands {length_words(worst.gap)} above the floor, frames {worst.first}–{worst.last}{more}",
            (Cure(f"lower the {name} {length_words(worst.gap)} in frames {worst.first}–{worst.last} "
                  "(poise edit ground)", worst.gap / leg),),
            foot, limit.fails,
        )  # fmt: skip
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
            "float", gap, limit.most, tuple((a, b) for _, a, b in found),
            f"Nothing touches the floor in frames {first}–{last}, and yet the body does not fall: it hovers "
            f"{length_words(gap)} above it",
            (Cure(f"lower the body {length_words(gap)} in frames {first}–{last}", gap / leg),),
            "body", limit.fails and lands,
        )  # fmt: skip


def judged_frames(clip: Analysis) -> Flags:
    """Frames that stand on feet alone, long enough to tell whether they are in balance, shape (F,).

    Left out are glitches, frames beside take-off and landing, those that hardly press on the ground, and those in
    which a hand, a knee or the trunk is near the floor: where those touch is guessed from bones. The short stances of
    a run are left out, too: there the weight flies from foot to foot.
    """
    scale = clip.character.leg_scale
    touch, root = clip.touch, math.sqrt(scale)
    flags = np.isfinite(clip.support.error) & ~clip.is_glitch
    flags &= clip.forces.demanded[:, 2] > at.PRESSES * clip.mass * clip.gravity
    if not touch.is_foot.all():
        flags &= touch.gaps[:, ~touch.is_foot].min(axis=1) > at.NEAR_FLOOR * scale
    if clip.is_airborne.any():
        air = clip.is_airborne.copy()
        for first, last in stretches(~air):
            if first > 0 and last < len(air) - 1 and clip.times[last] - clip.times[first] < at.SHORT_STANCE * root:
                air[first : last + 1] = True
        reach = max(1, math.ceil(at.BESIDE_FLIGHT * root / clip.motion.dt))
        flags &= ~np.asarray(ndimage.binary_dilation(air, iterations=reach), dtype=np.bool_)
    return flags


def balance_findings(clip: Analysis, profile: Profile, *, trials: Trials | None = None) -> Iterator[Finding]:
    """Frames on the ground whose moment no forces of the feet give.

    The motion asks the ground for a force f and a moment M about the center of mass. Feet give the part whose line
    meets the ground within them (the zero-moment point); what lies d beyond lacks a moment d f_z. Hands on a rail, a
    chair or a partner give it in clips that do not hold them, so this fails a clip only where the figure stands, moves
    nothing, and its weight is beside its feet; else it is a warning.
    """
    limit = profile["balance"]
    if not limit.is_checked:
        return
    judged = judged_frames(clip)
    error = clip.support.error
    if judged.sum() * clip.motion.dt < at.LEAST_SECONDS * math.sqrt(clip.character.leg_scale):
        return
    stands = stands_beside(clip, judged)
    share = float((error[judged] <= 1.0).mean())
    if stands:  # there alone it is measured
        share = float((error[_within(stands, len(error))] <= 1.0).mean())
    if limit.allows(share):
        return
    bad = stands or stretches(judged & (error > 1.0))
    first, last = max(bad, key=lambda s: float(np.nansum(error[s[0] : s[1] + 1] - 1.0)))
    frame = first + int(np.nanargmax(error[first : last + 1]))
    far = float(clip.support.distance[frame])
    lacks = far * float(clip.forces.demanded[frame, 2])
    if stands:
        what = (
            f"The figure stands still with its weight beside its feet, frames {first}–{last}: they lack "
            f"{lacks:.0f} N·m to hold it, and would have to press {length_words(far)} further out"
        )
    else:
        what = (
            f"The feet can give the moment in only {100.0 * share:.0f} % of the frames on the ground; at frame {frame} "
            f"{lacks:.0f} N·m are lacking, as if they had to press {length_words(far)} beside themselves"
        )
    shifted, slowed = _shift(clip, judged, bad, limit.least), _slow(clip, judged, profile, trials=trials)
    tried = ["moving the hips (too far, or in too many places)"] * (not shifted)
    if not slowed:
        most = _slowest(clip, profile)
        tried += [f"playing it slower, up to {most:.2g} ×{' (then its flights fall too slowly)' * (most < at.SLOWEST)}"]
    yield Finding(
        "balance", share, limit.least, bad, what, ranked([*shifted, *slowed]), "whole clip",
        limit.fails and bool(stands), tried=tuple(tried),
    )  # fmt: skip


def stands_beside(clip: Analysis, judged: Flags) -> Frames:
    """Stretches in which the figure stands upright on its feet, hardly moves, and its center of mass is beside them."""
    leg, motion = clip.character.leg_length, clip.motion
    hips = motion.world[0][:, pelvis(motion.skeleton), 2] - clip.floor
    speed = np.linalg.norm(clip.momentum.linear, axis=1) / clip.mass
    near = clip.touch.gaps < at.NEAR_FLOOR * clip.character.leg_scale  # whatever may carry, on a floor not quite known
    hull, counts = hulls(clip.touch.points, near)
    beside, _ = polygon_distances(clip.touch.points, hull, counts, np.ascontiguousarray(clip.com[:, :2]))
    still = judged & (speed < at.STILL_SPEED * math.sqrt(GRAVITY * leg)) & (hips > at.STANDS_HIGH * leg)
    still &= clip.touch.flags[:, clip.touch.is_foot].any(axis=1)
    seconds = at.STILL_SECONDS * math.sqrt(clip.character.leg_scale)
    return tuple(
        (a, b) for a, b in stretches(still & (beside > at.STILL_BESIDE * leg))
        if clip.times[b] - clip.times[a] >= seconds
    )  # fmt: skip


def _within(spans: Frames, count: int) -> Flags:
    flags = np.zeros(count, dtype=np.bool_)
    for first, last in spans:
        flags[first : last + 1] = True
    return flags


def _shift(clip: Analysis, judged: Flags, bad: Frames, wanted: float) -> list[Cure]:
    """Move the body over the feet in the worst stretches, where one or two of them are what is lacking."""
    missing = wanted * judged.sum() - (judged & (clip.support.error <= 1.0)).sum()
    longest = sorted(bad, key=lambda s: s[0] - s[1])[: at.MOST_SHIFTS]
    while len(longest) > 1 and sum(b - a + 1 for a, b in longest[:-1]) >= missing:
        longest.pop()
    if sum(b - a + 1 for a, b in longest) < missing:
        return []
    words, most = [], 0.0
    for first, last in longest:
        lacking = clip.support.distance[first : last + 1] - clip.support.radius[first : last + 1]
        frame = first + int(np.nanargmax(lacking))
        far = float(np.nanmax(lacking))
        feet = clip.touch.points[frame, clip.touch.carries[frame]].mean(axis=0)
        way = way_word(feet[:2] - clip.support.zmp[frame, :2], facing_at(clip, frame))
        words.append(f"{length_words(far)} {way} around frame {frame} (frames {first}–{last})")
        most = max(most, far)
    leg = clip.character.leg_length
    if most > at.FARTHEST_SHIFT * leg:  # no one leans that far: the pose is not the cause
        return []
    return [Cure(f"move the hips {', and '.join(words)}", most / leg)]


def _slow(clip: Analysis, judged: Flags, profile: Profile, *, trials: Trials | None) -> list[Cure]:
    """Play the clip slower, as slowly as its flights allow: k times the time leaves 1 / k² of its accelerations.

    Offered is the least that should pass; with `trials`, the least that does.
    """
    wanted, slowest = profile["balance"].least, _slowest(clip, profile)
    if slowest <= at.LEAST_SLOWING:
        return []
    speeds = [math.floor(100.0 * k) / 100.0 for k in np.geomspace(at.LEAST_SLOWING, slowest, at.SPEEDS).tolist()]
    expected = {k: float((slowed_error(clip, k)[judged] <= 1.0).mean()) for k in speeds}  # two decimals, as printed
    hopeful = [k for k, seen in expected.items() if seen >= wanted + at.SPARE]
    if not hopeful:
        return []
    if trials is None:
        k = hopeful[0]
        words = f"play it {k:.2f} × slower: about {100.0 * expected[k]:.0f} % are then in balance"
        return [Cure(f"{words} (poise edit retime --factor {k:.2f}; not tried; --try-cures tries it)", math.log(k))]
    for k in hopeful[: at.TRIALS]:
        slower = trials.slower(clip, k)
        frames = judged_frames(slower)
        seen = float((slower.support.error[frames] <= 1.0).mean()) if frames.any() else 0.0
        if seen >= wanted:
            words = f"play it {k:.2f} × slower: {100.0 * seen:.0f} % are then in balance"
            return [Cure(f"{words} (poise edit retime --factor {k:.2f})", math.log(k))]
    return []


def _slowest(clip: Analysis, profile: Profile) -> float:
    """How many times slower a clip may play before one of its flights falls too slowly [1]; 1 where one does so now."""
    least = profile["gravity"].least
    if least <= 0.0:
        return at.SLOWEST
    return max(1.0, min([at.SLOWEST, *(math.sqrt(max(f.gravity_g, 0.0) / least) for f in clip.flights)]))


def slowed_error(clip: Analysis, k: float) -> Array:
    """Normalized distance of the zero-moment point from the feet if the clip took k times the time, shape (F,)."""
    forces, support, touch = clip.forces, clip.support, clip.touch
    weight = np.array([0.0, 0.0, clip.mass * clip.gravity])
    force = (forces.demanded - weight) / k**2 + weight
    force[:, 2] = np.maximum(force[:, 2], 1e-3 * clip.mass * GRAVITY)
    loaded = support.is_loaded
    zmp = np.full_like(support.zmp, np.nan)
    zmp[loaded] = zero_moment_point(
        clip.momentum.com[loaded], force[loaded], forces.demanded_moment[loaded] / k**2, support.zmp[loaded, 2]
    )
    distance, _ = polygon_distances(touch.points, support.hull, support.hull_counts, zmp[:, :2])
    return np.where(loaded, distance, np.nan) / support.radius
