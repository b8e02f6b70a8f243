"""What capture and export leave behind: flips, jumps, spikes, frozen frames, rest poses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from poise.analysis.analyze import Analysis
from poise.check import thresholds as at
from poise.check.finding import Cure, Finding, length_words
from poise.check.profile import Profile
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.phases.glitches import Glitch
from poise.phases.points import body_points, leg_length

Key = tuple[str, int]
"""Kind and joint."""


@dataclass(frozen=True)
class SmallGlitch(Glitch):
    """A glitch that only this file finds.

    Attributes:
        is_length: True if its size is a length [m], and not an angle [rad].
    """

    is_length: bool = False


def capture_findings(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    """One finding per joint and kind of glitch."""
    limit = profile["glitch"]
    every = sorted((*clip.glitches, *small_glitches(clip)), key=lambda g: (g.frame, g.joint, g.kind))
    if not limit.is_checked or limit.allows(float(len(every))):
        return
    by_joint: dict[Key, list[Glitch]] = {}
    for glitch in every:
        by_joint.setdefault((glitch.kind, glitch.joint), []).append(glitch)
    # a hip and a knee that flip in the same frames are one fault
    groups: dict[tuple[str, tuple[int, ...]], list[list[Glitch]]] = {}
    for (kind, _), found in by_joint.items():
        groups.setdefault((kind, tuple(g.frame for g in found)), []).append(found)
    names = clip.motion.skeleton.names
    for (kind, _), joints in groups.items():
        found = max(joints, key=lambda each: max(g.size for g in each))
        others = [names[each[0].joint] for each in joints if each is not found]
        name = names[found[0].joint]
        also = f" (and {', '.join(others)})" if others else ""
        yield Finding(
            "glitch",
            float(sum(len(each) for each in joints)),
            limit.most,
            tuple((g.frame, g.last) for g in found),
            _sentence(kind, name + also, found, _moves(clip, found[0])),
            (_cure(clip, kind, name + also, found),),
            name,
            limit.fails and any(_is_fault(clip, g) for each in joints for g in each),
        )


def _moves(clip: Analysis, glitch: Glitch) -> bool:
    """True if the size of a glitch is a length, and not an angle."""
    if isinstance(glitch, SmallGlitch) or glitch.kind != "spike":
        return glitch.kind == "jump" or (isinstance(glitch, SmallGlitch) and glitch.is_length)
    motion, (a, b) = clip.motion, (max(glitch.frame - 1, 0), glitch.frame)
    turn = float(rotations.angle_between(motion.rotations[a, glitch.joint], motion.rotations[b, glitch.joint]))
    shift = float(np.linalg.norm(motion.translations[b, glitch.joint] - motion.translations[a, glitch.joint]))
    return abs(shift - glitch.size) < abs(turn - glitch.size)


def _is_fault(clip: Analysis, glitch: Glitch) -> bool:
    """False for what may be meant: fast pose changes at the rates of drawn animation, holds, bones that carry nothing.

    A bone that carries nothing, a target of a control rig, is not seen; nor is a round eye that turns about its axis.
    """
    motion = clip.motion
    if glitch.kind in ("flip", "spike") and not _moves(clip, glitch) and not _shows(motion, glitch):
        return False
    keyed = motion.fps < at.KEYED_FPS
    is_human = at.HUMAN_LEGS[0] <= clip.character.leg_length <= at.HUMAN_LEGS[1]
    if keyed and not is_human and (isinstance(glitch, SmallGlitch) or _moves(clip, glitch)):
        return False  # of a figure of unknown size, so is what a small glitch is
    if keyed and glitch.kind in ("flip", "spike") and _is_pose_change(clip, glitch):
        return False
    if isinstance(glitch, SmallGlitch):
        is_stretch = glitch.is_length and clip.character.bodies[0].joint in motion.skeleton.ancestors(glitch.joint)
        if keyed and glitch.kind == "spike" and (is_stretch or _is_burst(clip, glitch)):
            return False  # drawn figures stretch
        return motion.fps >= at.SMALL_FPS and glitch.joint in clip.character.carrying_joints
    if glitch.kind in ("flip", "spike") and keyed and not _moves(clip, glitch):
        return glitch.size * motion.fps >= at.KEYED_FLIP
    if glitch.kind == "frozen":
        return not keyed
    return glitch.kind != "jump" or glitch.joint in clip.character.carrying_joints


def _shows(motion: Motion, glitch: Glitch) -> bool:
    """False where the turn of a last joint takes the rigid part of a model that it alone moves onto itself."""
    document = motion.source.document if motion.source is not None else None
    meshes = getattr(document, "meshes", ())
    if not meshes or glitch.joint in motion.skeleton.parents:
        return True
    parts = []
    for mesh in meshes:
        share = np.where(mesh.joints == glitch.joint, mesh.weights, 0.0).sum(axis=1)
        if (is_its := share > 0.0).any():
            if share[is_its].min() < at.MOVES_ALONE:
                return True
            bind = mesh.inverse_binds[glitch.joint]
            parts.append(mesh.positions[is_its] @ bind[:3, :3].T + bind[:3, 3])
    if not parts:
        return True
    scales = document.joint_scales  # pyright: ignore[reportOptionalMemberAccess]  # what has meshes has scales
    part = np.concatenate(parts) * scales[glitch.joint]
    before, after = motion.rotations[[max(glitch.frame - 1, 0), glitch.frame + (glitch.kind == "flip")], glitch.joint]
    turned = rotations.rotate(rotations.multiply(rotations.conjugate(before), after), part)
    distances = np.linalg.norm(turned[:, None] - part[None, : at.MOST_VERTICES], axis=2).min(axis=1)
    return len(part) > at.MOST_VERTICES or float(distances.max()) > at.SEEN_TURN * leg_length(motion.skeleton)


def _is_pose_change(clip: Analysis, glitch: Glitch) -> bool:
    """True if other joints turn faster than bodies do in the frames of a glitch, and are none themselves.

    The whole pose then changes from drawing to drawing, as in the strike of a punch. What capture or export spoils is
    one joint, or one and those that hang on it, in a body that goes on as it did. A limb that swings in the first or
    last step may be in the middle of such a change, which the clip was cut from.
    """
    is_cut = glitch.frame == 0 or glitch.last == clip.motion.frame_count - 1
    if glitch.kind == "flip" and is_cut and _swings(clip.motion, glitch):
        return True
    found = {g.joint for g in clip.glitches if g.frame <= glitch.last and g.last >= glitch.frame}
    others = [b.joint for b in clip.character.bodies if b.joint not in found | {glitch.joint}]
    first, last = max(glitch.frame - 1, 0), min(glitch.last + 1, clip.motion.frame_count - 1)
    turned = clip.motion.rotations[first : last + 1, others]
    rates = rotations.angle_between(turned[1:], turned[:-1]) / np.diff(clip.times[first : last + 1])[:, None]
    return int((rates.max(axis=0, initial=0.0) > at.DRAWN_TURN).sum()) >= at.DRAWN_JOINTS


def _swings(motion: Motion, glitch: Glitch) -> bool:
    """True if a flip swings the bones below its joint, and does not twist them about their own axes."""
    below = [p for j, p in enumerate(motion.skeleton.offsets) if motion.skeleton.parents[j] == glitch.joint]
    before, after = motion.rotations[[glitch.frame, glitch.last], glitch.joint]
    for bone in below:
        a, b = rotations.rotate(before, bone), rotations.rotate(after, bone)
        swing = math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))
        if swing >= at.SWINGS * glitch.size:
            return True
    return False


def _is_burst(clip: Analysis, glitch: Glitch) -> bool:
    """True if the hips jump during a limb's spike: the whole body changes its pose, and the limb passes through."""
    root = clip.character.bodies[0].joint
    if glitch.joint == root:
        return False
    steps = np.linalg.norm(np.diff(clip.motion.world[0][:, root], axis=0), axis=1)
    inside = steps[max(0, glitch.frame - 2) : glitch.last + 2]
    around = np.concatenate([steps[max(0, glitch.frame - 8) : max(0, glitch.frame - 2)], steps[glitch.last + 2 :][:6]])
    return float(inside.max()) > max(at.BURST * float(np.median(around)), at.SPIKE * clip.character.leg_scale)


def small_glitches(clip: Analysis) -> list[SmallGlitch]:
    """Pops of the root and one-frame spikes of any place of the body, too small for `phases.find_glitches`.

    One frame that is off by e turns the second differences d = x − ½ (x₋ + x₊) around it into −e/2, e, −e/2; a knock or
    a landing, however hard, gives d its own sign alone. A pop is the same in the steps from frame to frame. The joint
    that is named turns or moves most in that frame, seen by how far it carries the place.
    """
    motion = clip.motion
    if motion.frame_count < 9:
        return []
    size, root = clip.character.leg_scale, clip.character.bodies[0].joint
    known = {f for g in clip.glitches for f in range(g.frame - 2, g.last + 3)}
    found: list[SmallGlitch] = []
    places, owners = body_points(motion)
    spiked: dict[int, tuple[float, int]] = {}
    second = _second(motion.times, places)
    for n in np.flatnonzero(np.linalg.norm(second, axis=2).max(axis=0) > 0.75 * at.SPIKE * size).tolist():
        for k, e in _impulses(second[:, n], at.SPIKE * size):
            if k + 1 not in known and e > spiked.get(k + 1, (0.0, 0))[0]:
                spiked[k + 1] = (e, n)
    for frame, (e, n) in spiked.items():
        far, spike = _spike(motion, frame, places[frame, n], int(owners[n]))
        if far >= at.ONE_JOINT * e:
            found.append(spike)
    known |= {f for g in found for f in range(g.frame - 2, g.last + 3)}
    steps = np.diff(motion.times)
    moved = np.diff(motion.world[0][:, root], axis=0) * (motion.dt / steps)[:, None]
    pops = _impulses(_second(motion.times[1:] - 0.5 * steps, moved), at.POP * size)
    found += [SmallGlitch(k + 1, root, "jump", e, k + 2, True) for k, e in pops if not {k + 1, k + 2} & known]
    return found


def _spike(motion: Motion, frame: int, place: Array, joint: int) -> tuple[float, SmallGlitch]:
    """How far [m] a joint carries a place of the body in one frame, and its spike: of the joints from the place up to
    the root, the one that carries it farthest.
    """
    most, best = -1.0, SmallGlitch(frame, joint, "spike", 0.0, frame)
    times = motion.times[frame - 1 : frame + 2]
    while joint >= 0:
        before, here, after = motion.rotations[frame - 1 : frame + 2, joint]
        between = rotations.part_way(before[None], after[None], (times[1:2] - times[0]) / (times[2] - times[0]))[0]
        turn = float(rotations.angle_between(between, here))
        shift = float(np.linalg.norm(_second(times, motion.translations[frame - 1 : frame + 2, joint])))
        far = turn * float(np.linalg.norm(place - motion.world[0][frame, joint]))
        if max(far, shift) > most:
            most, is_length = max(far, shift), shift > far
            best = SmallGlitch(frame, joint, "spike", shift if is_length else turn, frame, is_length)
        joint = int(motion.skeleton.parents[joint])
    return most, best


def _second(times: Array, x: Array) -> Array:
    """How far the inner samples of x (n, …, 3) are off the line between those beside them, shape (n − 2, …, 3)."""
    share = ((times[1:-1] - times[:-2]) / (times[2:] - times[:-2])).reshape(-1, *[1] * (x.ndim - 1))
    return x[1:-1] - (share * x[2:] + (1.0 - share) * x[:-2])


def _impulses(d: Array, least: float) -> list[tuple[int, float]]:
    """Samples of d (n, 3) that one sample of x thrown out by at least `least` explains: index and size.

    What the path bends by anyway is taken from the second differences two samples away, which the one thrown out does
    not reach: at low rates a limb bends by more than the fault. What is left around has to be calm.
    """
    bend = np.zeros_like(d)
    bend[2:-2] = 0.5 * (d[:-4] + d[4:])
    left = np.linalg.norm(d - bend, axis=1)
    found: list[tuple[int, float]] = []
    for k in np.flatnonzero(left[1:-1] > 0.75 * least) + 1:
        before, here, after = d[k - 1 : k + 2] - bend[k]
        out = (here - 0.5 * (before + after)) / 1.5
        e = float(np.linalg.norm(out))
        if e < least or max(float(np.linalg.norm(x + 0.5 * out)) for x in (before, after)) > 0.4 * e:
            continue
        around = np.concatenate([left[max(0, k - 8) : max(0, k - 3)], left[k + 4 : k + 9]])
        if len(around) and e >= max(at.STANDS_OUT * float(np.median(around)), 2.0 * float(around.max())):
            found.append((int(k), e))
    return found


def _sentence(kind: str, name: str, found: list[Glitch], moves: bool) -> str:
    worst = max(found, key=lambda g: g.size)
    more = f", and {_count(len(found) - 1, 'more time')}" if len(found) > 1 else ""
    between = f"between frames {worst.frame} and {worst.last}"
    if kind == "flip":
        return f"{name} flips by {math.degrees(worst.size):.0f}° {between}{more}"
    if kind == "jump":
        return f"{name} jumps {length_words(worst.size)} {between}{more}"
    if kind == "spike":
        size = length_words(worst.size) if moves else f"{math.degrees(worst.size):.0f}°"
        place = f"at frame {worst.frame}" if worst.last == worst.frame else f"in frames {worst.frame}–{worst.last}"
        return f"{name} spikes by {size} {place}{more}"
    if kind == "frozen":
        return f"All joints stand still for {worst.size:.2f} s in full motion, frames {worst.frame}–{worst.last}{more}"
    frames = "Frame 0 is a rest pose" if worst.last == 0 else f"Frames 0–{worst.last} are a rest pose"
    return f"{frames} put in front of the motion"


def _cure(clip: Analysis, kind: str, name: str, found: list[Glitch]) -> Cure:
    worst = max(found, key=lambda g: g.size)
    others = f", and so at {_count(len(found) - 1, 'other place')}" if len(found) > 1 else ""
    if kind == "t-pose":
        keep = worst.last + 1
        seconds = f"{float(clip.times[min(keep, len(clip.times) - 1)]):.4f}".rstrip("0").rstrip(".")
        return Cure(f"cut it off: begin at frame {keep} (poise convert --start {seconds})", 0.0)
    if kind == "frozen":
        text = f"delete the keys {worst.frame + 1}–{worst.last - 1} of all joints and interpolate{others}"
        return Cure(text, worst.size)
    if kind in ("flip", "jump"):
        what = "turn" if kind == "flip" else "move"
        size = f"{math.degrees(worst.size):.0f}°" if kind == "flip" else length_words(worst.size)
        back = f"{what} {name} back by {size} from frame {worst.last} on"
        return Cure(f"{back}, or blend over it from frame {worst.frame} to {worst.last}{others}", worst.size)
    frames = f"frame {worst.frame}" if worst.last == worst.frame else f"frames {worst.frame}–{worst.last}"
    return Cure(f"delete the keys of {name} at {frames} and interpolate{others}", worst.size)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 else ''}"
