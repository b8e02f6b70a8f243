"""Whether a clip plays at its right speed: what its flights and its steps say of the frame rate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from poise.analysis.analyze import Analysis
from poise.analysis.scale import gait_speed
from poise.check import thresholds as at
from poise.check.air import why_no_flight
from poise.check.finding import Cure, Finding, ranked
from poise.check.ground import feet
from poise.check.profile import Profile
from poise.check.words import stretches
from poise.core import rotations
from poise.core.units import GRAVITY
from poise.phases.flights import implied_fps

SLIPS = (0.25, 1.0 / 3.0, 0.5, 2.0, 3.0, 4.0)
"""Rates over labels that slips make: frames left out, doubled, or labeled for another release [1]."""
RUNS = 0.05
"""A gait in the air for more than this share of its frames is a run, whose steps are others [1]."""


@dataclass(frozen=True)
class Pace:
    """How a walk's steps compare with people's.

    Attributes:
        slower: It plays so many times too slowly [1]; below 1, too fast.
        reason: In words.
    """

    slower: float
    reason: str


def rate_findings(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    """A label that flights contradict, if they agree with each other, or what was seen when it was read, or steps."""
    limit, label = profile["frame-rate"], clip.motion.fps
    if not limit.is_checked:
        return
    rate = implied_fps(clip.motion, floor=clip.floor)
    fps, reason = rate.fps, rate.reason
    source = clip.motion.source
    read = source.evidence.get("fps_by_motion") if source is not None else None
    leg = clip.character.leg_length
    if not at.HUMAN_LEGS[0] <= leg <= at.HUMAN_LEGS[1]:
        return  # how fast a figure of any size moves, nobody knows
    if rate.confidence >= at.RATE_SURE and (rate.fps < label or _flies(clip)):
        pass
    elif read is not None and read.confidence >= at.RATE_SURE:
        fps, reason = float(read.value), read.reason
    else:
        walk = pace(clip)
        if walk is None or 1.0 / at.PACE < walk.slower < at.PACE:
            return
        if walk.slower > 1.0 and not at.GROWN_LEGS[0] <= leg <= at.GROWN_LEGS[1]:
            return  # a size read wrong makes it slow as well
        slips = {r: abs(math.log(r / walk.slower)) + (at.OTHER_SLIP if r not in (0.5, 2.0) else 0.0) for r in SLIPS}
        fps = label * min(slips, key=lambda r: slips[r])
        reason = walk.reason
    ratio = fps / label
    if limit.allows(ratio):
        return
    factor = label / fps
    word = "slower" if factor > 1.0 else "faster"
    times = f"{factor if factor > 1.0 else 1.0 / factor:.3g}"
    yield Finding(
        "frame-rate", ratio, limit.passed(ratio), tuple((f.first, f.last) for f in clip.flights),
        f"The clip plays at the wrong speed: {reason}",
        ranked([
            Cure(f"read it at {fps:g} frames/s: --source-fps {fps:g} (it then plays {times} × {word})", 0.0),
            Cure(
                f"if it is meant to be at {label:.4g} frames/s, retime the whole clip by {factor:.3g} "
                f"(poise edit retime --factor {factor:.3g})",
                abs(math.log(factor)),
            ),
        ]),
        "whole clip", limit.fails,
    )  # fmt: skip


def _flies(clip: Analysis) -> bool:
    """True if two flights are some that a body could make: what hangs too long may be carried instead."""
    return sum(not why_no_flight(clip, flight) for flight in clip.flights) > 1


def pace(clip: Analysis) -> Pace | None:
    """How fast a walk's feet swing and how its step length goes with its steps, against people's; None if it is none.

    A leg swings as a pendulum does, in a time that goes with √(leg / g) and hardly with speed. The walk ratio, step
    length over steps a second, people keep at any speed. Both follow from the touches of the feet, and weighed by how
    much walks differ in them.
    """
    on_feet = feet(clip)
    others = clip.touch.flags[:, ~clip.touch.is_foot].any(axis=1)
    if len(on_feet) != 2 or others.mean() > at.ON_HANDS or clip.is_airborne.mean() > RUNS:
        return None
    speed = gait_speed(clip)
    steps, swings = steps_of(clip)
    least = at.LEAST_PACE * math.sqrt(GRAVITY * clip.character.leg_length)
    if not speed > least or len(steps) < at.LEAST_STEPS or len(swings) < at.LEAST_SWINGS:
        return None
    leg = clip.character.leg_length
    hips, trunk = clip.bodies.joints[:, 0], clip.motion.world[1][:, clip.character.bodies[0].joint]
    up = rotations.rotate(rotations.multiply(trunk, rotations.conjugate(trunk[:1])), np.array([0.0, 0.0, 1.0]))
    way = float(np.linalg.norm(hips[:, :2] - hips[0, :2], axis=1).max())
    if way < at.LEAST_WAY * leg or float(up[:, 2].min()) < at.UPRIGHT_WALK:
        return None
    second = math.sqrt(leg / GRAVITY)
    step, swing = float(np.median(steps)) / second, float(np.median(swings)) / second
    ratio = speed * float(np.median(steps)) / leg * step
    clues = ((swing / at.USUAL_SWING, at.SWING_SPREAD), (ratio / at.USUAL_RATIO, at.RATIO_SPREAD))
    if not all(value > 0.0 for value, _ in clues):
        return None
    weight = sum(s**-2 for _, s in clues)
    slower = math.exp(sum(math.log(value) * s**-2 for value, s in clues) / weight)
    return Pace(
        slower,
        f"its feet swing for {swing * second:.2f} s and step every {float(np.median(steps)):.2f} s, "
        f"{slower if slower > 1.0 else 1.0 / slower:.2g} × as {'slowly' if slower > 1.0 else 'fast'} as legs of "
        f"{leg:.2g} m walk",
    )


def landings(clip: Analysis) -> list[tuple[float, str]]:
    """Time and foot of each landing, by time [s]."""
    found = []
    for foot, columns in feet(clip).items():
        on = np.asarray(clip.touch.flags[:, columns].any(axis=1))
        found += [(t, foot) for t in clip.times[1:][on[1:] & ~on[:-1]].tolist()]
    return sorted(found)


def steps_of(clip: Analysis) -> tuple[list[float], list[float]]:
    """Times from one foot's landing to the next foot's, and for which a foot is in the air between two touches [s]."""
    order: list[tuple[float, str]] = []
    for time, foot in landings(clip):
        if not order or order[-1][1] != foot:
            order.append((time, foot))
    steps = [b[0] - a[0] for a, b in pairwise(order) if b[0] > a[0]]
    swings: list[float] = []
    for columns in feet(clip).values():
        on = np.asarray(clip.touch.flags[:, columns].any(axis=1))
        swings += [
            float(clip.times[b + 1] - clip.times[a - 1])
            for a, b in stretches(~on) if a > 0 and b < len(on) - 1
        ]  # fmt: skip
    return steps, swings
