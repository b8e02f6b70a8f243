"""Capture faults are taken out: a rest pose in front, pops of the root, spikes, and flips that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from poise.analysis.analyze import analyze
from poise.body.character import Character, fit
from poise.check.capture import small_glitches
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.edit.budget import Budget, Scope
from poise.edit.report import Changes, Edited, report_of
from poise.phases.glitches import Glitch
from poise.phases.points import pelvis

POP_SECONDS = 0.5
"""What a pop leaves behind fades over this time [s]; nobody sees a drift so slow."""
SHORT_SIDE = 0.1
"""Of a joint that flips and stays, the side that lasts less than this part of the other is wrong [1]."""
STAYED = 0.35
"""The end of a limb stays at a flip if it moves by less than this part of what lies between [1]."""
TWISTED = 0.3
"""Between two flips a bone is wrong if it is twisted further than beside them, by this part of the flip [1]."""
ROUNDS = 4
"""Faults may hide others, so they are looked for again this often at most."""


def clean(
    motion: Motion, character: Character | None = None, *, scope: Scope | None = None, budget: Budget | None = None
) -> Edited:
    """Take out what capture and export left behind.

    Frames of a rest pose in front are cut off. In a spike or frozen frames the joint goes the smooth way from the frame
    before to the frame after. A pop of the root is taken out of what follows, and fades. A joint that flips and flips
    back is turned back in between, and one that flips near the start or end of the clip there; one that flips and stays
    is else left, since nobody can tell which side is right. Where a knee changes sides over a foot that stays, the foot
    stays, and the leg is turned back on the side where the thigh is twisted.

    Args:
        motion: F frames.
        character: Fitted to the motion if not given.
        scope: Amount and interval.
        budget: What may change at most.

    Raises:
        BudgetExceeded: if more would change than the budget allows.

    Example:
        >>> edited = poise.edit.clean(motion, character)
        >>> assert edited.motion.frame_count == motion.frame_count
    """
    scope = scope or Scope()
    first, last = scope.frames(motion)
    character = fit(motion) if character is None else character
    found = _found(motion, character, first, last)
    lead = max((g.last + 1 for g in found if g.kind == "t-pose"), default=0)
    faults = len([g for g in found if g.frame >= lead]) + bool(lead)
    kept = motion.frames(np.arange(lead, motion.frame_count)) if lead and scope.amount > 0.0 else motion
    first, last = max(0, first - lead), last - lead
    found = [replace(g, frame=g.frame - lead, last=g.last - lead) for g in found if g.frame >= lead]
    result = _without(kept, found, scope.amount)
    for _ in range(ROUNDS if scope.amount == 1.0 else 0):
        found = _found(result, character, first, last)
        following = _without(result, found, 1.0)
        if np.array_equal(following.rotations, result.rotations) and np.array_equal(
            following.translations, result.translations
        ):
            break
        result = following
    root = pelvis(motion.skeleton)
    changes = Changes.between(kept, result, root)
    names = motion.skeleton.names
    left = [
        g
        for g in found
        if g.kind == "flip" and np.array_equal(result.rotations[g.last, g.joint], kept.rotations[g.last, g.joint])
    ]
    notes = tuple(
        f"{names[g.joint]} flips at frame {g.frame + lead} and stays: which side is right is not known, so it is left"
        for g in left
    )
    report = report_of(
        "clean",
        motion,
        result,
        changes,
        settings={"amount": scope.amount, "interval": scope.interval},
        before={"glitches": faults, "frames": motion.frame_count},
        after={"glitches": len(left), "frames": result.frame_count},
        kept={"frames_cut": lead if scope.amount > 0.0 else 0},
        budget=budget,
        amount=scope.amount,
        notes=notes,
    )
    return Edited(result, report)


def _found(motion: Motion, character: Character | None, first: int, last: int) -> list[Glitch]:
    """The faults of these frames."""
    clip = analyze(motion, character)
    return [g for g in (*clip.glitches, *small_glitches(clip)) if g.frame >= first and g.last <= last]


def _without(motion: Motion, found: Sequence[Glitch], amount: float) -> Motion:
    """The motion without these faults."""
    for take_out in (_bridged, _without_flips, _without_pops):
        motion = take_out(motion, found, amount)
    return motion


def _bridged(motion: Motion, glitches: Sequence[Glitch], amount: float) -> Motion:
    """Spikes and frozen frames led the smooth way from the frame before to the frame after."""
    turned, placed = motion.rotations.copy(), motion.translations.copy()
    for g in glitches:
        if g.kind not in ("spike", "frozen"):
            continue
        inside = np.arange(g.frame + (g.kind == "frozen"), g.last + 1 - (g.kind == "frozen"))
        a, b = int(inside[0]) - 1 if len(inside) else 0, int(inside[-1]) + 1 if len(inside) else 0
        if not len(inside) or a < 0 or b >= motion.frame_count:
            continue
        joints = [g.joint] if g.kind == "spike" else list(range(motion.skeleton.joint_count))
        share = ((motion.times[inside] - motion.times[a]) / (motion.times[b] - motion.times[a]))[:, None]
        for j in joints:
            start, end = np.repeat(turned[[a, b], j][:, None], len(inside), axis=1)
            way = rotations.part_way(start, end, share[:, 0])
            turned[inside, j] = rotations.part_way(turned[inside, j], way, np.full(len(inside), amount))
            even = placed[a, j] + share * (placed[b, j] - placed[a, j])
            placed[inside, j] += amount * (even - placed[inside, j])
    return replace(motion, rotations=rotations.normalize(turned), translations=placed)


def _without_flips(motion: Motion, glitches: Sequence[Glitch], amount: float) -> Motion:
    """Joints that flip and flip back, turned back between the two if it is there that they are wrong. A foot that stays
    where it is while a knee changes sides keeps its place. A flip without a second one is turned back before the first
    or after the last, where that is short: it is the side that is wrong.
    """
    turned, count = motion.rotations.copy(), motion.frame_count
    held: list[tuple[int, slice]] = []
    for joint in sorted({g.joint for g in glitches if g.kind == "flip"}):
        flips = sorted((g for g in glitches if g.kind == "flip" and g.joint == joint), key=lambda g: g.frame)
        jumps = [_jump(motion.rotations[:, joint], g) for g in flips]
        paired: set[int] = set()
        for k, (there, back) in enumerate(pairwise(flips)):
            returned = rotations.conjugate(jumps[k + 1])
            # turned back if the second flip undoes the first, nearly, and belongs to no pair yet
            if k not in paired and float(rotations.angle_between(jumps[k], returned)) <= 0.5 * there.size:
                paired |= {k, k + 1}
                inside = slice(there.last, back.frame + 1)
                if any(j == joint and s.start < inside.stop and inside.start < s.stop for j, s in held):
                    continue
                end = _end_that_stayed(motion, joint, there)
                end = end if end == _end_that_stayed(motion, joint, back) else None
                if not _is_wrong(motion, joint, inside, there.size, by_twist=end is not None):
                    continue
                _turn_back(turned[inside, joint], jumps[k], returned, amount)
                if end is not None:
                    _hold_end(turned[inside, joint], motion, joint, end, inside)
                    if all(_keeps_direction(motion, end, g) for g in (there, back)):
                        held.append((end, inside))
        alone = [k for k in range(len(flips)) if k not in paired]
        for k in alone[:1]:
            if flips[k].frame + 1 <= SHORT_SIDE * (count - flips[k].last):
                back = rotations.conjugate(jumps[k])
                _turn_back(turned[: flips[k].frame + 1, joint], back, back, amount)
        for k in alone[-1:]:
            if count - flips[k].last <= SHORT_SIDE * (flips[k].frame + 1):
                _turn_back(turned[flips[k].last :, joint], jumps[k], jumps[k], amount)
    for end, inside in held:
        bearing = replace(motion, rotations=rotations.normalize(turned)).world[1][inside, motion.skeleton.parents[end]]
        turned[inside, end] = rotations.multiply(rotations.conjugate(bearing), motion.world[1][inside, end])
    return replace(motion, rotations=rotations.normalize(turned))


def _is_wrong(motion: Motion, joint: int, inside: slice, flip: float, *, by_twist: bool) -> bool:
    """Whether a joint is further from its mean between two flips than in as many frames on either side.

    Where a knee changed sides, it is the bone's twist that counts, and it is further by a good part of the flip [rad].
    """
    q = motion.rotations[:, joint]
    mean = rotations.mean(q)
    away = rotations.angle_between(q, mean)
    if by_twist:
        bone = motion.skeleton.offsets[_main_child(motion.skeleton, joint)]
        turned = rotations.multiply(rotations.conjugate(mean), q)
        twist = rotations.twist_angle(turned, bone / max(float(np.linalg.norm(bone)), 1e-12))
        away = np.abs(np.mod(twist + np.pi, 2.0 * np.pi) - np.pi)
    count = inside.stop - inside.start
    beside = np.concatenate(
        [away[max(0, inside.start - count) : inside.start], away[inside.stop : inside.stop + count]]
    )
    return float(away[inside].mean() - beside.mean()) > (TWISTED * flip if by_twist else 0.0)


def _keeps_direction(motion: Motion, joint: int, flip: Glitch) -> bool:
    """Whether a joint points the same way in the world before and after the flip of one above it, nearly."""
    before, after = motion.world[1][[flip.frame, flip.last], joint]
    return float(rotations.angle_between(before, after)) < STAYED * flip.size


def _main_child(skeleton: Skeleton, joint: int) -> int:
    """The child that most joints hang on."""
    return max(skeleton.children[joint], key=lambda child: len(skeleton.carried_by(child)))


def _end_that_stayed(motion: Motion, joint: int, flip: Glitch) -> int | None:
    """The joint further down that stays in its place as another between goes far: the foot, where a knee changes sides.

    None if all below go along, as where a limb is turned as a whole.
    """
    at, chain = motion.world[0], [joint]
    while motion.skeleton.children[chain[-1]]:
        chain.append(_main_child(motion.skeleton, chain[-1]))
    from_joint = at[[flip.frame, flip.last]][:, chain[1:]] - at[[flip.frame, flip.last]][:, [joint]]
    way = np.linalg.norm(from_joint[1] - from_joint[0], axis=-1)
    for n in range(1, len(way)):
        if way[n] < STAYED * way[:n].max():
            return chain[n + 1]
    return None


def _hold_end(q: Array, motion: Motion, joint: int, end: int, inside: slice) -> None:
    """Turn a joint (n, 4) again, in place and by the least, so that a joint further down is where it was."""
    at, orientations = motion.world[0][inside], motion.world[1][inside]
    own = rotations.rotate(rotations.conjugate(orientations[:, joint]), at[:, end] - at[:, joint])
    was, now = rotations.rotate(motion.rotations[inside, joint], own), rotations.rotate(q, own)
    q[:] = rotations.multiply(rotations.between(now, was), q)


def _turn_back(q: Array, first: Array, last: Array, amount: float) -> None:
    """Take a turn (4,) out of the rotations (n, 4), in place; it goes from first to last, so that nothing is left
    at either end.
    """
    ends, count = np.stack([first, last])[:, None], len(q)
    share = np.linspace(0.0, 1.0, count)
    between = rotations.part_way(np.repeat(ends[0], count, axis=0), np.repeat(ends[1], count, axis=0), share)
    undone = rotations.multiply(q, rotations.conjugate(between))
    q[:] = rotations.part_way(q, undone, np.full(count, amount))


def _jump(q: Array, flip: Glitch) -> Array:
    """The turn of a flip (4,), in the joint's own frame."""
    return rotations.multiply(rotations.conjugate(q[flip.frame]), q[flip.last])


def _without_pops(motion: Motion, glitches: Sequence[Glitch], amount: float) -> Motion:
    """Jumps taken out of what follows; what that leaves fades."""
    placed = motion.translations.copy()
    for g in glitches:
        if g.kind != "jump" or g.frame < 1 or g.last + 1 >= motion.frame_count:
            continue
        path = motion.translations[:, g.joint]
        usual = 0.5 * ((path[g.frame] - path[g.frame - 1]) + (path[g.last + 1] - path[g.last]))
        jump = path[g.last] - path[g.frame] - usual
        fade = np.clip(1.0 - (motion.times - motion.times[g.last]) / POP_SECONDS, 0.0, 1.0)
        fade = rotations.eased(fade) * (np.arange(motion.frame_count) >= g.last)
        placed[:, g.joint] -= amount * fade[:, None] * jump
    return replace(motion, translations=placed)
