"""Size and time together: a figure K times as tall moves √K times slower."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import rest_pose
from poise.edit.budget import Budget, Scope
from poise.edit.report import Changes, Edited, report_of, verified
from poise.edit.retime import on_grid, retimed, seen_slower
from poise.phases.floor import carrying_larger
from poise.phases.points import pelvis

SIZES = (1e-3, 1e3)
"""Outside of this a size is a slip of the keyboard [1]."""


def scale(
    motion: Motion,
    size: float,
    *,
    keep_time: bool = False,
    keep_size: bool = False,
    scope: Scope | None = None,
    budget: Budget | None = None,
    verify: bool = True,
) -> Edited:
    """Make a figure K times as large: its bones and its path by K, its time by √K; joint angles stay.

    So it falls under the same gravity as before: K / √K² = 1.

    Example:
        >>> edited = poise.edit.scale(motion, 2.0, verify=False)  # twice as tall, √2 times as long

    Args:
        motion: F frames.
        size: K, new height over old one [1].
        keep_time: Change the size only.
        keep_size: Change the time only: it then moves like a figure K times as tall.
        scope: Amount (K becomes K to that power); no interval, since a figure has one size.
        budget: What may change at most.
        verify: Check the result, and say in the report what is new.

    Raises:
        InvalidValue: if the size is not positive, both are to be kept, or an interval is given.
        BudgetExceeded: if more would change than the budget allows.

    Source: [ShapiroLee2011]_ eq. (22), t₁/t₂ = √(h₁/h₂). Their example says 3.19 for ten times the size; √10 is 3.16.
    """
    scope = scope or Scope()
    if not (math.isfinite(size) and SIZES[0] <= size <= SIZES[1]):
        raise InvalidValue(f"size is {size:g}; give a number from {SIZES[0]:g} to {SIZES[1]:g}.")
    if keep_time and keep_size:
        raise InvalidValue("Keeping both time and size changes nothing; leave one of them out.")
    if scope.interval is not None:
        raise InvalidValue("A figure has one size in a clip; leave the interval out. `poise edit retime` takes one.")
    part = size**scope.amount
    slow = 1.0 if keep_time else math.sqrt(part)
    played = motion
    if slow != 1.0 and motion.frame_count > 1:
        played = retimed(motion, on_grid(motion, lambda t: slow * t, lambda t: t / slow))
    result = played if keep_size or part == 1.0 else sized(played, part)
    changes = Changes.between(played, result, pelvis(motion.skeleton))
    report = report_of(
        "scale",
        motion,
        result,
        changes,
        settings={"size": size, "keep_time": keep_time, "keep_size": keep_size, "amount": scope.amount},
        before={"height_m": rest_height(motion), "duration_s": motion.duration},
        after={"height_m": rest_height(result), "duration_s": result.duration},
        kept={"joint_angle_max_deg": math.degrees(float(changes.angles.max()))},
        budget=budget,
        amount=scope.amount,
        notes=_companions(motion) if result is not played else (),
    )
    report.data["changed"]["time_max_s"] = (slow - 1.0) * motion.duration
    report.data["changed"]["size"] = 1.0 if keep_size else part
    edited = Edited(result, report)
    if not verify:
        return edited
    moments = np.linspace(0.0, motion.frame_count - 1.0, result.frame_count)
    asked = seen_slower if slow > 1.0 else None
    return verified(edited, motion, None, asked=asked, moments=moments)


def sized(motion: Motion, size: float) -> Motion:
    """Bones, tips and all translations multiplied by `size`, what the source file says of bones, and its ground."""
    larger = motion.skeleton.scaled(size)
    source = motion.source
    sized = getattr(source.document, "sized", None) if source is not None else None
    if source is not None and sized is not None:
        source = replace(source, document=sized(size))
    result = replace(motion, skeleton=larger, translations=size * motion.translations, source=source)
    return carrying_larger(result, size)


def _companions(motion: Motion) -> tuple[str, ...]:
    """What becomes of the other clips of the source file, if it has any and is sized as a whole."""
    source = motion.source
    if source is None or not hasattr(source.document, "sized") or len(source.clips) < 2:
        return ()
    others = ", ".join(repr(n) for k, n in enumerate(source.clips) if k != source.clip)
    return (f"In its own format, the other clips ({others}) show the figure as large, and keep their own pace.",)


def rest_height(motion: Motion) -> float:
    """Height of the rest pose's joints [m]."""
    return float(np.ptp(rest_pose(motion.skeleton)[0][:, 2]))
