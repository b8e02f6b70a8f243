"""Findings on balance: motions that ask for a moment which the feet cannot give."""

from __future__ import annotations

import math
from collections.abc import Iterator

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
    ranked,
    stretches,
    way_word,
)
from poise.check.profile import Profile
from poise.core.typing import Array, Flags
from poise.core.units import GRAVITY


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
        how_far = f", up to {most:.2g} ×" * (most >= 1.05)
        tried += [f"playing it slower{how_far}{' (then its flights fall too slowly)' * (most < at.SLOWEST)}"]
    yield Finding(
        "balance",
        share,
        limit.least,
        bad,
        what,
        ranked([*shifted, *slowed]),
        "whole clip",
        limit.fails and bool(stands),
        tried=tuple(tried),
    )


def stands_beside(clip: Analysis, judged: Flags) -> Frames:
    """Stretches in which the figure stands upright on its feet, hardly moves, and its center of mass is beside them."""
    leg = clip.character.leg_length
    speed = np.linalg.norm(clip.momentum.linear, axis=1) / clip.mass
    near = clip.touch.gaps < at.NEAR_FLOOR * clip.character.leg_scale  # whatever may carry, on a floor not quite known
    points, near = _with_heels(clip, near)
    hull, counts = hulls(points, near)
    beside, _ = polygon_distances(points, hull, counts, np.ascontiguousarray(clip.com[:, :2]))
    still = judged & (speed < at.STILL_SPEED * math.sqrt(GRAVITY * leg)) & (clip.hips > at.STANDS_HIGH * leg)
    touches = (clip.touch.flags & clip.touch.is_foot)[:, :, None]
    low = np.where(touches, clip.touch.points[:, :, :2], np.inf).min(axis=1)
    high = np.where(touches, clip.touch.points[:, :, :2], -np.inf).max(axis=1)
    still &= np.linalg.norm(np.maximum(high - low, 0.0), axis=1) > at.STILL_SOLE * leg
    seconds = at.STILL_SECONDS * math.sqrt(clip.character.leg_scale)
    return tuple(
        (a, b)
        for a, b in stretches(still & (beside > at.STILL_BESIDE * leg))
        if clip.times[b] - clip.times[a] >= seconds
    )


def _with_heels(clip: Analysis, near: Flags) -> tuple[Array, Flags]:
    """Contact points and which of them are near the ground, with a heel under each ankle whose foot is near it.

    Where a heel lies in a clip is only an estimate, and no bone shows the high heel of a shoe.
    """
    ankles, down = [clip.touch.points], [near]
    for limb in clip.character.limbs:
        own = [i for i, s in enumerate(clip.touch.supports) if s == limb.name and clip.touch.is_foot[i]]
        if limb.kind == "leg" and own:
            ankles.append(clip.bodies.joints[:, list(limb.bodies[:3][-1:])])
            down.append(np.asarray(near[:, own].any(axis=1, keepdims=True)))
    return np.ascontiguousarray(np.concatenate(ankles, axis=1)), np.concatenate(down, axis=1)


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
    shifts, most = [], 0.0
    for first, last in longest:
        lacking = clip.support.distance[first : last + 1] - clip.support.radius[first : last + 1]
        frame = first + int(np.nanargmax(lacking))
        far = float(np.nanmax(lacking))
        feet = clip.touch.points[frame, clip.touch.carries[frame]].mean(axis=0)
        way = way_word(feet[:2] - clip.support.zmp[frame, :2], facing_at(clip, frame))
        shifts.append(f"{length_words(far)} {way} around frame {frame} (frames {first}–{last})")
        most = max(most, far)
    leg = clip.character.leg_length
    if most > at.FARTHEST_SHIFT * leg:  # no one leans that far: the pose is not the cause
        return []
    return [Cure(f"move the hips {', and '.join(shifts)}", most / leg)]


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
        advice = f"play it {k:.2f} × slower: about {100.0 * expected[k]:.0f} % are then in balance"
        return [Cure(f"{advice} (poise edit retime --factor {k:.2f}; not tried; --try-cures tries it)", math.log(k))]
    for k in hopeful[: at.TRIALS]:
        slower = trials.slower(clip, k)
        frames = judged_frames(slower)
        seen = float((slower.support.error[frames] <= 1.0).mean()) if frames.any() else 0.0
        if seen >= wanted:
            advice = f"play it {k:.2f} × slower: {100.0 * seen:.0f} % are then in balance"
            return [Cure(f"{advice} (poise edit retime --factor {k:.2f})", math.log(k))]
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
