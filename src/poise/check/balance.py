"""Whether the weight is over the feet, and what would bring it there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from poise.analysis.analyze import Analysis, analyze
from poise.analysis.polygon import polygon_distances
from poise.analysis.support import zero_moment_point
from poise.check.capture import capture_findings
from poise.check.finding import Cure, Finding, ranked
from poise.check.ground import NEAR_FLOOR, ground_findings
from poise.check.profile import Profile
from poise.check.words import Frames, facing_at, length_words, stretches, way_word
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.edit.retime import retime

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

BESIDE_FLIGHT = 0.08
"""The low-pass carries the push of take-off and landing this far, for a leg of 0.82 m [s]."""
SHORT_STANCE = 0.4
"""Ground between two flights shorter than this is a run's, for a leg of 0.82 m [s]."""
LEAST_SECONDS = 0.25
"""Time on the ground that tells anything of balance, for a leg of 0.82 m [s]."""
CARRIED = 0.3
"""A frame that asks less of its weight than this of the ground has no place where it presses worth telling [1]."""
MOST_SHIFTS, FARTHEST_SHIFT = 2, 0.25
"""Stretches that are mended by moving the hips at most, and how far, in leg lengths [1]."""
FURTHER = 1.3
"""A second retiming is offered where its logarithm is this many times the first's [1]."""
NEARLY_ALL = 0.97
"""Part of the best that a clip reaches slower which a cure may stop at [1]."""
SLOWEST = 4.0
"""Slowest retiming that is offered as a cure [1]."""
LEAST_SLOWING = 1.02
"""And the least: nobody sees less [1]."""
SPEEDS = 40
"""So many between them are tried."""
SPARE, TRIALS = 0.01, 6
"""What a retimed clip must have above the bound, since a character is fitted to it anew [1]; and how many of the speeds
that should do are tried by retiming before none is offered."""
LONGEST_TRIED = 5000
"""Of more frames than this no retimed copy is analyzed, which takes as much memory again: what is expected is told."""


def judged_frames(clip: Analysis) -> Flags:
    """Frames that stand on feet alone, long enough to tell whether they are in balance, shape (F,).

    Left out are glitches, frames beside take-off and landing, those that hardly press on the ground, and those in
    which a hand, a knee or the trunk is near the floor: where those touch is guessed from bones. The short stances of
    a run are left out, too: there the weight flies from foot to foot.
    """
    scale = clip.character.leg_scale
    touch, root = clip.touch, math.sqrt(scale)
    flags = np.isfinite(clip.support.error) & ~clip.is_glitch
    flags &= clip.forces.demanded[:, 2] > CARRIED * clip.mass * clip.gravity
    if not touch.is_foot.all():
        flags &= touch.gaps[:, ~touch.is_foot].min(axis=1) > NEAR_FLOOR * scale
    if clip.is_airborne.any():
        air = clip.is_airborne.copy()
        for first, last in stretches(~air):
            if first > 0 and last < len(air) - 1 and clip.times[last] - clip.times[first] < SHORT_STANCE * root:
                air[first : last + 1] = True
        reach = max(1, math.ceil(BESIDE_FLIGHT * root / clip.motion.dt))
        flags &= ~np.asarray(ndimage.binary_dilation(air, iterations=reach), dtype=np.bool_)
    return flags


def balance_findings(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    """Too many frames whose center of pressure would have to be off the feet."""
    limit, leg = profile["balance"], clip.character.leg_length
    if not limit.is_checked:
        return
    judged = judged_frames(clip)
    error = clip.support.error
    if judged.sum() * clip.motion.dt < LEAST_SECONDS * math.sqrt(leg / HUMAN_LEG):
        return
    share = float((error[judged] <= 1.0).mean())
    if limit.allows(share):
        return
    bad = stretches(judged & (error > 1.0))
    first, last = max(bad, key=lambda s: float(np.nansum(error[s[0] : s[1] + 1] - 1.0)))
    frame = first + int(np.nanargmax(error[first : last + 1]))
    slowest = _slowest(clip, profile)
    cures = [*_shift(clip, judged, bad, limit.least), *_slow(clip, judged, profile, slowest)]
    yield Finding(
        "balance", share, limit.least, bad,
        f"The weight is over the feet in only {100.0 * share:.0f} % of the frames on the ground; worst at frame "
        f"{frame}, where it would have to press {length_words(float(clip.support.distance[frame]))} beside them"
        + ("" if cures else f". {_no_cure(clip, slowest)}"),
        ranked(cures),
        "whole clip", limit.fails,
    )  # fmt: skip


def _no_cure(clip: Analysis, slowest: float) -> str:
    """Why nothing is offered: what was tried, and did not do."""
    slow = f"playing it up to {slowest:.2g} × slower"
    if slowest <= LEAST_SLOWING:
        slow = "playing it slower (its flights would hang)"
    far = length_words(FARTHEST_SHIFT * clip.character.leg_length)
    return (
        f"Neither moving the hips once or twice, by up to {far}, nor {slow} cures it: the poses around those frames "
        "need other feet or another timing"
    )


def _shift(clip: Analysis, judged: Flags, bad: Frames, wanted: float) -> list[Cure]:
    """Move the body over the feet in the worst stretches, where one or two of them are what is lacking."""
    missing = wanted * judged.sum() - (judged & (clip.support.error <= 1.0)).sum()
    longest = sorted(bad, key=lambda s: s[0] - s[1])[:MOST_SHIFTS]
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
    if most > FARTHEST_SHIFT * leg:  # no one leans that far: the pose is not the cause
        return []
    return [Cure(f"move the hips {', and '.join(words)}", most / leg)]


def _slowest(clip: Analysis, profile: Profile) -> float:
    """How many times slower a clip may play before one of its flights hangs in the air, by the same profile [1]."""
    least = profile["gravity"].least
    if not least:
        return SLOWEST
    return min([SLOWEST, *(math.sqrt(max(f.gravity_g, 0.0) / least) for f in clip.flights)])


def _slow(clip: Analysis, judged: Flags, profile: Profile, slowest: float) -> list[Cure]:
    """Play the clip slower: k times the time leaves 1 / k² of its accelerations.

    Offered are the least that passes, and the least that gains nearly all there is to gain: both tried, unless the clip
    is very long.
    """

    def share(k: float) -> float:
        return float((slowed_error(clip, k)[judged] <= 1.0).mean())

    if slowest <= LEAST_SLOWING:
        return []
    wanted = profile["balance"].least
    speeds = [math.floor(100.0 * k) / 100.0 for k in np.geomspace(LEAST_SLOWING, slowest, SPEEDS).tolist()]
    expected = {k: share(k) for k in speeds}  # two decimals, as printed
    most = max(expected.values())
    cures: list[Cure] = []

    @cache
    def before() -> set[tuple[str, str]]:
        return _failing(clip, profile)

    @cache  # both goals may ask for the same speeds
    def tried(k: float) -> float:
        return _retimed(clip, k, profile, before())

    for goal in (wanted, max(wanted, NEARLY_ALL * most)):
        hopeful = [k for k, seen in expected.items() if seen >= goal][:TRIALS]
        is_tried = clip.motion.frame_count * hopeful[0] <= LONGEST_TRIED if hopeful else False
        shares = ((k, tried(k) if is_tried else expected[k]) for k in hopeful)
        k, seen = next((each for each in shares if each[1] >= wanted + SPARE), (0.0, 0.0))
        if k and (not cures or math.log(k) > FURTHER * cures[0].cost):
            about = "" if is_tried else "about "
            words = f"play it {k:.2f} × slower: {about}{100.0 * seen:.0f} % are then in balance"
            cures.append(Cure(f"{words} (poise edit retime --factor {k:.2f})", math.log(k)))
    return cures


def _retimed(clip: Analysis, k: float, profile: Profile, before: set[tuple[str, str]]) -> float:
    """Share in balance of the clip retimed, as a check of it finds it; 0 where it then fails more than it did before.

    Between old frames a joint may seem to flip, and a foot that is slow enough to stand slides.
    """
    slower = analyze(retime(clip.motion, clip.character, factor=k).motion, clip.character)
    judged = judged_frames(slower)
    if not judged.any() or _failing(slower, profile) - before:
        return 0.0
    return float((slower.support.error[judged] <= 1.0).mean())


def _failing(clip: Analysis, profile: Profile) -> set[tuple[str, str]]:
    found = (*capture_findings(clip, profile), *ground_findings(clip, profile))
    return {(f.name, f.where) for f in found if f.fails}


def slowed_error(clip: Analysis, k: float) -> Array:
    """Normalized distance of the center of pressure from the feet if the clip took k times the time, shape (F,)."""
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
