"""What a whole clip can have wrong: frame rate, force from nowhere, shaking or hectic joints, a size not its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import ndimage

from poise.analysis.analyze import Analysis
from poise.analysis.measures import JERK_WINDOW, ImpliedScale, Measures, gait_speed, normalized_jerk, unlikely_leg
from poise.analysis.smoothing import LowPass, smooth
from poise.check import thresholds as at
from poise.check.air import why_no_flight
from poise.check.balance import judged_frames
from poise.check.finding import Cure, Finding, ranked, stretches
from poise.check.gravity import height_cure
from poise.check.ground import feet
from poise.check.profile import Profile
from poise.core import rotations
from poise.core.typing import Flags
from poise.core.units import GRAVITY
from poise.intake.reading import agrees_on, doubted_rate
from poise.phases.flights import PLAUSIBLE_LEG, implied_fps


def timed_findings(clip: Analysis, quality: Measures, scale: ImpliedScale, profile: Profile) -> Iterator[Finding]:
    """What only a right frame rate can tell: root residual, jerk, joint speeds, size."""
    yield from _root_residual(clip, profile)
    yield from _jerk(clip, quality, profile)
    yield from _joint_speed(clip, quality, profile)
    yield from _size(clip, scale, profile)


def limit_findings(clip: Analysis, quality: Measures, profile: Profile) -> Iterator[Finding]:
    """Joints beyond their limits; those of a fitted character hold whatever its clip does."""
    limit = profile["limits"]
    excess = np.degrees(quality.limit_excess)
    if not limit.is_checked:
        return
    for body in np.flatnonzero(excess.max(axis=0) > limit.most).tolist():
        frame = int(np.argmax(excess[:, body]))
        far = float(excess[frame, body])
        name = clip.character.bodies[body].name
        yield Finding(
            "limits",
            far,
            limit.most,
            stretches(excess[:, body] > limit.most),
            f"{name} bends {far:.0f}° further than it can at frame {frame}",
            (
                Cure(
                    f"turn {name} back by {far:.0f}° at frame {frame}, or widen its limits in the character file",
                    math.radians(far),
                ),
            ),
            name,
            limit.fails,
        )


def _root_residual(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    limit = profile["root-residual"]
    judged = judged_frames(clip)
    if not limit.is_checked or not judged.any():
        return
    size = np.linalg.norm(clip.forces.residual_force, axis=1) / (clip.mass * clip.gravity)
    rms = float(np.sqrt(np.mean(size[judged] ** 2)))
    if limit.allows(rms):
        return
    bad = stretches(judged & (size > limit.most))
    first, last = max(bad, key=lambda s: float(size[s[0] : s[1] + 1].sum()))
    peak = first + int(np.argmax(size[first : last + 1]))
    # accelerations go with the square of the time they are given
    longer = math.sqrt(rms / limit.most)
    yield Finding(
        "root-residual",
        rms,
        limit.most,
        bad,
        f"The motion needs a hand at its hips: {rms:.2f} body weights (rms) that the feet cannot give, "
        f"{float(size[peak]):.1f} at frame {peak}",
        (
            Cure(
                f"give the hips {longer:.2f} × the time to change their speed around frame {peak} (frames "
                f"{first}–{last} are the worst)",
                math.log(longer),
            ),
        ),
        "whole clip",
        limit.fails,
    )


def _jerk(clip: Analysis, quality: Measures, profile: Profile) -> Iterator[Finding]:
    limit = profile["jerk"]
    jerk = np.where(clip.is_glitch[:, None], np.nan, quality.normalized_jerk)
    defined = np.isfinite(jerk)
    if not limit.is_checked or not defined.any():
        return
    high = defined & (jerk > at.HIGH_JERK)
    if clip.motion.fps < at.KEYED_FPS:  # drawn poses may change abruptly
        high &= _alternates(clip)
    share = float(high.sum() / defined.sum())
    if limit.allows(share):
        return
    body = int(np.argmax(high.sum(axis=0)))
    name = clip.character.bodies[body].name
    bad = stretches(np.asarray(high.any(axis=1)))
    yield Finding(
        "jerk",
        share,
        limit.most,
        bad,
        f"Joints shake in {100.0 * share:.0f} % of their motion, most of all {name}",
        _smoothing(clip, limit.most),
        name,
        limit.fails,
    )


def _alternates(clip: Analysis) -> Flags:
    """Where the acceleration of a body's joint turns round from frame to frame for a while, shape (F, B).

    White noise does so with a correlation of −2/3 between second differences, a smooth or a linear way does not.
    """
    places = clip.motion.world[0][:, [b.joint for b in clip.character.bodies]]
    bend = np.zeros_like(places)
    bend[1:-1] = places[2:] - 2.0 * places[1:-1] + places[:-2]
    turned = np.zeros(places.shape[:2])
    turned[1:] = (bend[1:] * bend[:-1]).sum(axis=2)
    size = max(3, round(JERK_WINDOW / clip.motion.dt))
    sums = [ndimage.uniform_filter1d(x, size, axis=0, mode="constant") for x in (turned, (bend**2).sum(axis=2))]
    return np.asarray(sums[0] < at.ALTERNATES * sums[1])


def _smoothing(clip: Analysis, most: float) -> tuple[Cure, ...]:
    """The highest cut-off of a low-pass that brings the shaking below the limit."""
    joints = [b.joint for b in clip.character.bodies]
    places = np.ascontiguousarray(clip.motion.world[0][:, joints])
    shortest = at.MOVES * clip.character.leg_scale
    start = clip.filter.hz if clip.filter.is_on else 0.4 * clip.motion.fps
    for hz in start * np.array([0.85, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]):
        jerk = normalized_jerk(smooth(LowPass(float(hz)), clip.times, places), clip.times, shortest=shortest)
        defined = np.isfinite(jerk) & ~clip.is_glitch[:, None]
        if float((jerk[defined] > at.HIGH_JERK).mean()) <= most:
            return (Cure(f"smooth the joints: a low-pass at {hz:.2g} Hz is enough", math.log(start / hz)),)
    return (Cure("smooth the joints, or take the motion again: no low-pass calms it", 3.0),)


def _joint_speed(clip: Analysis, quality: Measures, profile: Profile) -> Iterator[Finding]:
    limit = profile["joint-speed"]
    speed = np.where(clip.is_glitch[:, None], 0.0, quality.joint_speed)
    if not limit.is_checked:
        return
    fast = np.flatnonzero(speed.max(axis=0) > limit.most)
    if not len(fast):
        return
    body = int(np.argmax(speed.max(axis=0)))
    frame = int(np.argmax(speed[:, body]))
    fastest = float(speed[frame, body])
    name = clip.character.bodies[body].name
    others = [clip.character.bodies[b].name for b in fast.tolist() if b != body]
    also = f"; {', '.join(others)} {'is' if len(others) == 1 else 'are'} too fast as well" if others else ""
    step = math.degrees(fastest * clip.motion.dt)
    spread = math.ceil(fastest / limit.most)
    bursts = stretches(np.asarray((speed > limit.most).any(axis=1)))
    whirls = any(b - a + 1 >= at.WHIRLS for a, b in bursts)
    yield Finding(
        "joint-speed",
        fastest,
        limit.most,
        bursts,
        f"{name} turns at {fastest:.0f} rad/s into frame {frame}: {step:.0f}° in one frame{also}",
        ranked(
            [
                Cure(f"spread that turn of {name} over {spread} frames", math.log(fastest / limit.most)),
                Cure(
                    f"if it is a spike, delete the keys of {name} at frame {frame} and interpolate",
                    fastest * clip.motion.dt,
                ),
            ]
        ),
        name,
        limit.fails and whirls,
    )


def _size(clip: Analysis, scale: ImpliedScale, profile: Profile) -> Iterator[Finding]:
    """Legs that no creature has, and flights that tell another size. A gait alone does not: people stroll and sneak."""
    limit, leg = profile["size"], clip.character.leg_length
    if not limit.is_checked:
        return
    said, units = unlikely_leg(leg, clip.motion)
    if said:
        usual = min(max(leg, PLAUSIBLE_LEG[0]), PLAUSIBLE_LEG[1])
        yield Finding(
            "size",
            leg / usual,
            1.0,
            (),
            said,
            (
                Cure(f"say what the file's unit is: {units}", 0.0),
                Cure("say how tall the figure is, such as --height 1.8m", 0.0),
            ),
            "whole clip",
            limit.fails,
        )
        return
    if not math.isfinite(scale.gravity_g) or limit.allows(scale.size):
        return
    word = "slower" if scale.retime > 1.0 else "faster"
    times = max(scale.retime, 1.0 / scale.retime)
    taller = height_cure(clip, scale.size) or [
        Cure(
            f"build the character {scale.size:.2g} × as tall, or read the file with another unit (--unit)",
            abs(math.log(scale.size)),
        )
    ]
    yield Finding(
        "size",
        scale.size,
        limit.passed(scale.size),
        (),
        f"It moves like a body {scale.size:.2g} × as tall ({scale.reason})",
        ranked(
            [
                *taller,
                Cure(f"play it {times:.2f} × {word} (poise edit retime --factor {scale.retime:.2f})", math.log(times)),
            ]
        ),
        "whole clip",
        limit.fails,
    )


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
    read = doubted_rate(clip.motion) if source is None else source.evidence.get("implied_fps")
    leg = clip.character.leg_length
    if not at.HUMAN_LEGS[0] <= leg <= at.HUMAN_LEGS[1]:
        return  # how fast a figure of any size moves, nobody knows
    if read is not None and read.confidence >= at.RATE_SURE:  # what the reader and `poise info` say
        fps, reason = float(read.value), read.reason
    elif not (rate.confidence >= at.RATE_SURE and (rate.fps < label or _flies(clip))):
        walk = pace(clip)
        if walk is None or 1.0 / at.PACE < walk.slower < at.PACE:
            return
        if walk.slower > 1.0 and not at.GROWN_LEGS[0] <= leg <= at.GROWN_LEGS[1]:
            return  # a size read wrong makes it slow as well
        slips = {r: abs(math.log(r / walk.slower)) + (at.OTHER_SLIP if r not in (0.5, 2.0) else 0.0) for r in SLIPS}
        fps = label * min(slips, key=lambda r: slips[r])
        reason = walk.reason
        if not agrees_on(clip.motion, fps):
            return
    ratio = fps / label
    if limit.allows(ratio):
        return
    factor = label / fps
    word = "slower" if factor > 1.0 else "faster"
    times = f"{factor if factor > 1.0 else 1.0 / factor:.3g}"
    yield Finding(
        "frame-rate",
        ratio,
        limit.passed(ratio),
        tuple((f.first, f.last) for f in clip.flights),
        f"The clip plays at the wrong speed: {reason}",
        ranked(
            [
                *height_cure(clip, ratio**2),
                Cure(f"read it at {fps:g} frames/s: --source-fps {fps:g} (it then plays {times} × {word})", 0.0),
                Cure(
                    f"if it is meant to be at {label:.4g} frames/s, retime the whole clip by {factor:.3g} "
                    f"(poise edit retime --factor {factor:.3g})",
                    abs(math.log(factor)),
                ),
            ]
        ),
        "whole clip",
        limit.fails,
    )


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
    if float(np.median(clip.hips)) < at.TALL_WALK * leg:
        return None  # who crouches or sneaks steps short and often
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


def steps_of(clip: Analysis) -> tuple[list[float], list[float]]:
    """Times from one foot's landing to the next foot's, and for which a foot swings between two touches [s].

    A touch that ends and begins again where the foot already was is no step.
    """
    falls: list[tuple[float, str]] = []
    swings: list[float] = []
    least = at.SHORTEST_SWING * clip.character.leg_length
    for foot, columns in feet(clip).items():
        on = np.asarray(clip.touch.flags[:, columns].any(axis=1))
        place = clip.touch.points[:, columns, :2].mean(axis=1)
        for a, b in stretches(~on):
            is_swing = a > 0 and b < len(on) - 1
            if b == len(on) - 1 or (is_swing and float(np.linalg.norm(place[b + 1] - place[a - 1])) < least):
                continue
            falls.append((float(clip.times[b + 1]), foot))
            if is_swing:
                swings.append(float(clip.times[b + 1] - clip.times[a - 1]))
    order: list[tuple[float, str]] = []
    for time, foot in sorted(falls):
        if not order or order[-1][1] != foot:
            order.append((time, foot))
    steps = [b[0] - a[0] for a, b in pairwise(order) if b[0] > a[0]]
    return steps, swings
