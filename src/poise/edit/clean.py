"""Capture faults taken out: a rest pose in front, pops of the root, spikes, and flips that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poise.analysis.analyze import analyze
from poise.body.character import Character
from poise.check.capture import small_glitches
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.edit.report import Budget, Changes, Edited, report_of
from poise.edit.scope import Scope
from poise.phases.glitches import Glitch
from poise.phases.points import pelvis

POP_SECONDS = 0.5
"""What a pop leaves behind fades over this time [s]; nobody sees a drift so slow."""


def clean(
    motion: Motion, character: Character | None = None, *, scope: Scope | None = None, budget: Budget | None = None
) -> Edited:
    """Take out what capture and export left behind.

    Frames of a rest pose in front are cut off. In a spike or frozen frames the joint goes the smooth way from the frame
    before to the frame after. A pop of the root is taken out of what follows, and fades. A joint that flips and flips
    back is turned back in between; one that flips and stays is left, since nobody can tell which side is right.

    Args:
        motion: F frames.
        character: Fitted to the motion if not given.
        scope: Amount and interval.
        budget: What may change at most.

    Raises:
        BudgetExceeded: if more would change than the budget allows.
    """
    scope = scope or Scope()
    clip = analyze(motion, character)
    first, last = scope.frames(motion)
    found = [g for g in (*clip.glitches, *small_glitches(clip)) if g.frame >= first and g.last <= last]
    lead = max((g.last + 1 for g in found if g.kind == "t-pose"), default=0)
    found = [replace(g, frame=g.frame - lead, last=g.last - lead) for g in found if g.frame >= lead]
    kept = motion.frames(np.arange(lead, motion.frame_count)) if lead and scope.amount > 0.0 else motion
    result = _bridged(kept, found, scope.amount)
    result = _without_flips(result, found, scope.amount)
    result = _without_pops(result, found, scope.amount)
    root = pelvis(motion.skeleton)
    changes = Changes.between(kept, result, root)
    names = motion.skeleton.names
    left = [g for g in found if g.kind == "flip" and np.array_equal(
        result.rotations[g.last, g.joint], kept.rotations[g.last, g.joint])]  # fmt: skip
    notes = tuple(
        f"{names[g.joint]} flips at frame {g.frame + lead} and stays: which side is right is not known, so it is left"
        for g in left
    )
    report = report_of(
        "clean", motion, result, changes,
        settings={"amount": scope.amount, "interval": scope.interval},
        before={"glitches": len(found) + bool(lead), "frames": motion.frame_count},
        after={"glitches": len(left), "frames": result.frame_count},
        kept={"frames_cut": lead if scope.amount > 0.0 else 0}, budget=budget, amount=scope.amount, notes=notes,
    )  # fmt: skip
    return Edited(result, report)


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
            ends = np.broadcast_to(turned[[a, b], j], (2, 4))
            way = rotations.part_way(
                np.tile(ends[0], (len(inside), 1)), np.tile(ends[1], (len(inside), 1)), share[:, 0]
            )
            turned[inside, j] = rotations.part_way(turned[inside, j], way, np.full(len(inside), amount))
            even = placed[a, j] + share * (placed[b, j] - placed[a, j])
            placed[inside, j] += amount * (even - placed[inside, j])
    return replace(motion, rotations=rotations.normalize(turned), translations=placed)


def _without_flips(motion: Motion, glitches: Sequence[Glitch], amount: float) -> Motion:
    """Joints that flip and flip back, turned back between the two."""
    turned = motion.rotations.copy()
    for joint in sorted({g.joint for g in glitches if g.kind == "flip"}):
        flips = [g for g in glitches if g.kind == "flip" and g.joint == joint]
        for there, back in zip(flips[::2], flips[1::2], strict=False):
            jump = _jump(motion.rotations[:, joint], there)
            returned = _jump(motion.rotations[:, joint], back)
            # turned back if the second flip undoes the first, nearly
            if float(rotations.angle_between(jump, rotations.conjugate(returned))) > 0.5 * there.size:
                continue
            span = slice(there.last, back.frame + 1)
            count = back.frame + 1 - there.last
            undone = rotations.multiply(turned[span, joint], np.tile(rotations.conjugate(jump), (count, 1)))
            turned[span, joint] = rotations.part_way(turned[span, joint], undone, np.full(count, amount))
    return replace(motion, rotations=rotations.normalize(turned))


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
        fade = fade * fade * (3.0 - 2.0 * fade) * (np.arange(motion.frame_count) >= g.last)
        placed[:, g.joint] -= amount * fade[:, None] * jump
    return replace(motion, translations=placed)
