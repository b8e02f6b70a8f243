"""Faults of capture and export: flips, jumps, spikes, frozen stretches, rest poses put in front.

A fault is a step from one frame to the next that is large, fast, and alone: neither the steps beside it nor those
around it come near. Real motion at any usual frame rate has neighbors of its own size, however fast it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array, Flags
from poise.core.units import HUMAN_LEG
from poise.phases.points import leg_length, pelvis

Alone = Callable[[int, int, float], bool]
"""Does a step of this size, from step `first` to step `last`, stand alone?"""
Apart = Callable[[int, int], float]
"""How far two frames are apart."""

FLIP_ANGLE, FLIP_BESIDE, FLIP_AROUND = math.radians(60.0), 2.5, 6.0
"""A turn of this angle [rad] is a flip if it is so many times the largest step beside it and the median around it."""
SNAP_ANGLE, SNAP_BESIDE, SNAP_AROUND = math.radians(20.0), 8.0, 8.0
"""A smaller turn [rad] has to stand out more."""
FLIP_RATE = 30.0
"""Slowest flip [rad/s]."""
JUMP, JUMP_RATE = 0.1, 8.0
"""Shortest [m] and slowest [m/s] jump of a joint that is moved by translation, for a leg of 0.82 m."""
SPIKE_FRAMES, SPIKE_RETURN = 4, 0.35
"""A spike is out for at most so many frames and comes back to this share of its size."""
AROUND = 3
"""Steps on either side that a step is compared with."""
FROZEN_FRAMES, FROZEN_SECONDS = 3, 0.03
"""Shortest frozen stretch: so many equal frames that last so long [s]."""
FROZEN_USUAL = math.radians(0.1)
"""A clip whose joints turn less than this a frame [rad, rms] stands still anyway."""
REST_ANGLE, REST_STEP = math.radians(10.0), math.radians(4.0)
"""A rest pose is this near to the skeleton's own [rad, rms], and left by at least this step [rad, rms]."""
REST_REACH = 0.1
"""Joints that move less of the body than this say nothing of a rest pose, such as those of fingers: for a leg of 0.82 m
[m]."""
REST_STANDS_OUT = 1.5
"""A step out of a leading rest pose is so many times the clip's 98th percentile."""
GUARD_SECONDS = 0.012
"""How far a fault spoils the accelerations beside it [s], and at least one frame."""


@dataclass(frozen=True)
class Glitch:
    """One fault.

    Attributes:
        frame: The first frame that is spoiled; of a flip or jump the last one before it.
        joint: Index of the joint; of a fault of the whole body, 0.
        kind: "flip" (a joint turns and stays), "jump" (it is moved and stays), "spike" (out and back), "frozen"
            (equal frames in full motion), "t-pose" (a rest pose in front).
        size: Angle [rad] of a flip, a turned spike and the step out of a t-pose; distance [m] of a jump and a moved
            spike; time [s] of a frozen stretch.
        last: The last frame that is spoiled.
    """

    frame: int
    joint: int
    kind: str
    size: float
    last: int


def find_glitches(motion: Motion) -> tuple[Glitch, ...]:
    """All faults of a motion, by frame.

    Compared are the rotations in the parent's frame, and the places of the root and of joints the file can move.
    """
    if "glitches" not in motion.found:
        motion.found["glitches"] = _find_glitches(motion)
    return motion.found["glitches"]


def _find_glitches(motion: Motion) -> tuple[Glitch, ...]:
    if motion.frame_count < 4:
        return ()
    lead = leading_rest_frames(motion)
    found: list[Glitch] = []
    if lead:
        found.append(Glitch(0, 0, "t-pose", float(_body_steps(motion)[lead - 1]), lead - 1))
    steps = _turns(motion)
    for j in np.flatnonzero(steps.max(axis=0) > SNAP_ANGLE).tolist():
        found += _turned(motion, j, steps[:, j], lead)
    for j in sorted(motion.skeleton.translating | {pelvis(motion.skeleton)}):
        found += _moved(motion, j, lead)
    found += _frozen(motion, lead)
    return tuple(sorted(found, key=lambda g: (g.frame, g.joint, g.kind)))


def glitch_frames(
    motion: Motion,
    *,
    joints: Collection[int] | None = None,
    guard: int | None = None,
    glitches: Collection[Glitch] | None = None,
) -> Flags:
    """Frames whose accelerations nobody should follow: those of every fault, with a few on either side.

    Args:
        motion: The motion.
        joints: Only flips and spikes of these joints count; by default all but those that move less than 5 cm of
            body (for a leg of 0.82 m), such as thumbs.
        guard: Frames added on either side; by default 0.012 s, at least one.
        glitches: What `find_glitches` found, where the caller has it.

    Returns:
        Shape (F,).
    """
    flags = np.zeros(motion.frame_count, dtype=bool)
    found = find_glitches(motion) if glitches is None else glitches
    if not found:
        return flags
    if joints is None:
        smallest = 0.05 * leg_length(motion.skeleton) / HUMAN_LEG
        joints = set(np.flatnonzero(reach(motion.skeleton) >= smallest).tolist()) | {0, pelvis(motion.skeleton)}
    spread = max(1, math.ceil(GUARD_SECONDS / motion.dt)) if guard is None else guard
    for glitch in found:
        if glitch.kind in ("t-pose", "frozen") or glitch.joint in joints:
            flags[max(0, glitch.frame - spread) : glitch.last + spread + 1] = True
    return flags


def leading_rest_frames(motion: Motion) -> int:
    """Number of frames at the start that do not belong to the motion: a rest or T-pose, and a ramp out of it.

    Counted are the first frames while they are near the skeleton's rest pose, if the motion leaves it by a step
    that stands out, and further ones while the steps still do. A first frame alone counts in any pose if
    the step after it is four times the clip's largest percent.
    """
    if motion.frame_count < 8 or motion.skeleton.joint_count < 3:
        return 0
    step = _body_steps(motion)
    away = _angles(motion.rotations, motion.skeleton.rest_rotations[None])[:, _large(motion.skeleton)]
    near = np.sqrt((away**2).mean(axis=1)) < REST_ANGLE
    count = int(np.argmin(near)) if not near.all() else 0
    limit = max(REST_STEP, REST_STANDS_OUT * float(np.percentile(step, 98.0)))
    if count == 0:
        return int(step[0] > max(REST_STEP, 4.0 * float(np.percentile(step[1:], 99.0))) and step[0] > 5.0 * step[1])
    if step[count - 1 : count + 1].max() <= limit:
        return 0
    while count < len(step) and step[count] > limit:
        count += 1
    return count


def reach(skeleton: Skeleton) -> Array:
    """Bone length from each joint to the farthest tip beyond it [m], shape (J,): how much of the body it moves."""
    far = np.zeros(skeleton.joint_count)
    for site in skeleton.end_sites:
        far[site.joint] = max(far[site.joint], float(np.linalg.norm(site.offset)))
    for j in range(skeleton.joint_count - 1, 0, -1):
        parent = int(skeleton.parents[j])
        far[parent] = max(far[parent], far[j] + float(np.linalg.norm(skeleton.offsets[j])))
    return far


def _body_steps(motion: Motion) -> Array:
    """Root mean square turn of the large joints but the root from each frame to the next [rad], shape (F - 1,)."""
    turn = _turns(motion)[:, _large(motion.skeleton)]
    return np.sqrt((turn**2).mean(axis=1)) if turn.shape[1] else np.zeros(motion.frame_count - 1)


def _large(skeleton: Skeleton) -> list[int]:
    """Joints but the root that move a good part of the body; all where those are fewer than three."""
    large = np.flatnonzero(reach(skeleton) >= REST_REACH * leg_length(skeleton) / HUMAN_LEG)
    large = large[large > 0]
    return (large if len(large) >= 3 else np.arange(1, skeleton.joint_count)).tolist()


def _turns(motion: Motion) -> Array:
    """Turn of each joint from each frame to the next [rad], shape (F - 1, J)."""
    return _angles(motion.rotations[1:], motion.rotations[:-1])


def _angles(a: Array, b: Array) -> Array:
    """Angles between rotations of joints [rad], shape (F, J); joint by joint, which takes less memory."""
    angles = np.empty((len(a), a.shape[1]))
    for j in range(a.shape[1]):
        angles[:, j] = rotations.angle_between(a[:, j], b[:, j])
    return angles


def _turned(motion: Motion, joint: int, step: Array, lead: int) -> list[Glitch]:
    """Flips and spikes of one joint's rotation."""
    rate = step / np.diff(motion.times)
    q = motion.rotations[:, joint]

    def apart(a: int, b: int) -> float:
        return float(rotations.angle_between(q[a], q[b]))

    def alone(first: int, last: int, size: float) -> bool:
        if rate[first] < FLIP_RATE or rate[last] < FLIP_RATE or size < SNAP_ANGLE:
            return False
        beside = _beside(step, first, last)
        is_flip, is_snap = size >= FLIP_ANGLE and size >= FLIP_BESIDE * beside, size >= SNAP_BESIDE * beside
        if not (is_flip or is_snap):
            return False
        around = _around(step, first, last)
        return (is_flip and size >= FLIP_AROUND * around) or (is_snap and size >= SNAP_AROUND * around)

    return _steps_alone(step, joint, "flip", SNAP_ANGLE, lead, alone, apart)


def _moved(motion: Motion, joint: int, lead: int) -> list[Glitch]:
    """Jumps and spikes of one joint's place in its parent's frame."""
    place = motion.translations[:, joint]
    step = np.linalg.norm(np.diff(place, axis=0), axis=1)
    scale = leg_length(motion.skeleton) / HUMAN_LEG
    if step.max() < JUMP * scale:
        return []
    rate = step / np.diff(motion.times)

    def apart(a: int, b: int) -> float:
        return float(np.linalg.norm(place[a] - place[b]))

    def alone(first: int, last: int, size: float) -> bool:
        if min(rate[first], rate[last]) < JUMP_RATE * math.sqrt(scale) or size < JUMP * scale:
            return False
        return size >= FLIP_BESIDE * _beside(step, first, last) and size >= FLIP_AROUND * _around(step, first, last)

    return _steps_alone(step, joint, "jump", JUMP * scale, lead, alone, apart)


def _beside(step: Array, first: int, last: int) -> float:
    """The larger of the steps before and after the steps `first` … `last`."""
    return float(max(step[first - 1] if first else 0.0, step[last + 1] if last + 1 < len(step) else 0.0))


def _around(step: Array, first: int, last: int) -> float:
    """The median of AROUND steps on either side of the steps `first` … `last`."""
    around = np.concatenate([step[max(0, first - AROUND) : first], step[last + 1 : last + 1 + AROUND]])
    return float(np.median(around)) if len(around) else 0.0


def _steps_alone(
    step: Array, joint: int, kind: str, smallest: float, lead: int, alone: Alone, apart: Apart
) -> list[Glitch]:
    """Glitches among the steps of one joint: pairs that cancel are spikes, the others stay what they are."""
    found: list[Glitch] = []
    k = lead
    while k < len(step):
        if step[k] >= smallest:
            spike = _spike(step, k, smallest, alone, apart)
            if spike:
                found.append(Glitch(k + 1, joint, "spike", spike[1], spike[0]))
                k = spike[0] + 1
                continue
            if alone(k, k, float(step[k])):
                found.append(Glitch(k, joint, kind, float(step[k]), k + 1))
        k += 1
    return found


def _spike(step: Array, k: int, smallest: float, alone: Alone, apart: Apart) -> tuple[int, float] | None:
    """The last frame out and the size of a spike whose first step is k, or None."""
    for last in range(k + 1, min(k + SPIKE_FRAMES + 1, len(step))):
        size = float(min(step[k], step[last]))
        inside = step[k + 1 : last].max(initial=0.0)
        calm = inside * FLIP_BESIDE <= size
        if size >= smallest and calm and apart(k, last + 1) <= SPIKE_RETURN * size and alone(k, last, size):
            return last, size
    return None


def _frozen(motion: Motion, lead: int) -> list[Glitch]:
    """Stretches of equal frames that begin and end in full motion."""
    turn = _turns(motion)
    shift = np.max([np.abs(np.diff(t, axis=0)).max(axis=1) for t in np.moveaxis(motion.translations, 1, 0)], axis=0)
    equal = (turn.max(axis=1) < 1e-9) & (shift < 1e-9)
    if equal.mean() > 0.4:  # a rate doubled by repeating frames, or a clip of holds
        return []
    amount = np.sqrt((turn**2).mean(axis=1))
    moving = amount[~equal]
    usual = float(np.median(moving)) if len(moving) else 0.0
    if usual < FROZEN_USUAL:
        return []
    found: list[Glitch] = []
    k = lead
    while k < len(equal):
        if not equal[k]:
            k += 1
            continue
        end = k
        while end < len(equal) and equal[end]:
            end += 1
        seconds = float(motion.times[end] - motion.times[k])
        lasts = end - k + 1 >= FROZEN_FRAMES and seconds >= FROZEN_SECONDS
        # a hold that the motion eases into is a pose; one it runs into at speed is a drop-out
        if lasts and k > 0 and end < len(equal) and min(amount[k - 1], amount[end]) > 0.5 * usual:
            found.append(Glitch(k, 0, "frozen", seconds, end))
        k = end
    return found
