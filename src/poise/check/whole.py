"""What a whole clip can have wrong: help from nowhere, shaking or hectic joints, a size that is not its own."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from poise.analysis.analyze import Analysis
from poise.analysis.measures import Measures, normalized_jerk
from poise.analysis.scale import ImpliedScale, unlikely_leg
from poise.analysis.smoothing import LowPass, smooth
from poise.check import thresholds as at
from poise.check.balance import judged_frames
from poise.check.finding import Cure, Finding, ranked
from poise.check.profile import Profile
from poise.check.words import stretches
from poise.phases.flights import PLAUSIBLE_LEG


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
            "limits", far, limit.most, stretches(excess[:, body] > limit.most),
            f"{name} bends {far:.0f}° further than it can at frame {frame}",
            (Cure(f"turn {name} back by {far:.0f}° at frame {frame}, or widen its limits in the character file",
                  math.radians(far)),),
            name, limit.fails,
        )  # fmt: skip


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
        "root-residual", rms, limit.most, bad,
        f"The motion needs a hand at its hips: {rms:.2f} body weights (rms) that the feet cannot give, "
        f"{float(size[peak]):.1f} at frame {peak}",
        (Cure(f"give the hips {longer:.2f} × the time to change their speed around frame {peak} (frames {first}–{last}"
              " are the worst)", math.log(longer)),),
        "whole clip", limit.fails,
    )  # fmt: skip


def _jerk(clip: Analysis, quality: Measures, profile: Profile) -> Iterator[Finding]:
    limit = profile["jerk"]
    jerk = np.where(clip.is_glitch[:, None], np.nan, quality.normalized_jerk)
    defined = np.isfinite(jerk)
    if not limit.is_checked or not defined.any():
        return
    high = defined & (jerk > at.HIGH_JERK)
    share = float(high.sum() / defined.sum())
    if limit.allows(share):
        return
    body = int(np.argmax(high.sum(axis=0)))
    name = clip.character.bodies[body].name
    bad = stretches(np.asarray(high.any(axis=1)))
    yield Finding(
        "jerk", share, limit.most, bad,
        f"Joints shake in {100.0 * share:.0f} % of their motion, most of all {name}",
        _smoothing(clip, limit.most), name, limit.fails,
    )  # fmt: skip


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
        "joint-speed", fastest, limit.most, bursts,
        f"{name} turns at {fastest:.0f} rad/s into frame {frame}: {step:.0f}° in one frame{also}",
        ranked([
            Cure(f"spread that turn of {name} over {spread} frames", math.log(fastest / limit.most)),
            Cure(f"if it is a spike, delete the keys of {name} at frame {frame} and interpolate",
                 fastest * clip.motion.dt),
        ]),
        name, limit.fails and whirls,
    )  # fmt: skip


def _size(clip: Analysis, scale: ImpliedScale, profile: Profile) -> Iterator[Finding]:
    """Legs that no creature has, and flights that tell another size. A gait alone does not: people stroll and sneak."""
    limit, leg = profile["size"], clip.character.leg_length
    if not limit.is_checked:
        return
    said, units = unlikely_leg(leg, clip.motion)
    if said:
        usual = min(max(leg, PLAUSIBLE_LEG[0]), PLAUSIBLE_LEG[1])
        yield Finding(
            "size", leg / usual, limit.passed(leg / usual), (),
            said, (Cure(f"say what the file's unit is: {units}", 0.0),), "whole clip", limit.fails,
        )  # fmt: skip
        return
    if not math.isfinite(scale.gravity_g) or limit.allows(scale.size):
        return
    word = "slower" if scale.retime > 1.0 else "faster"
    times = max(scale.retime, 1.0 / scale.retime)
    yield Finding(
        "size", scale.size, limit.passed(scale.size), (),
        f"It moves like a body {scale.size:.2g} × as tall ({scale.reason})",
        ranked([
            Cure(f"play it {times:.2f} × {word} (poise edit retime --factor {scale.retime:.2f})", math.log(times)),
            Cure(f"build the character {scale.size:.2g} × as tall, or read the file with another unit (--unit)",
                 abs(math.log(scale.size))),
        ]),
        "whole clip", limit.fails,
    )  # fmt: skip
