"""A clip, or a part of it, slower or faster: by a factor, to a gravity, or with keys at given times."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyint

from poise.body.character import Character
from poise.check.clip import findings_of
from poise.check.finding import Finding
from poise.check.profile import ROOT, load_profile
from poise.core.errors import InvalidValue, NotForThisClip, PoiseError
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.edit.budget import Budget, Scope
from poise.edit.flight import Figure, Span, choose_flights, find_flights, measure
from poise.edit.report import Changes, Edited, report_of, verified
from poise.intake.reading import asked_again
from poise.phases.points import pelvis

TimeMap = Callable[[Array], Array]

FACTORS = (0.05, 20.0)
"""Outside of this a factor is a slip of the keyboard [1]."""
SEEN_SLOWER = ("spin", "track", "skate", "float", "penetration")
"""Findings whose measure does not change in slow motion, but which a check ignores while they are brief."""
FALLS = 0.05
"""A flight that falls with less than this of the gravity asked for does not fall [1]."""
NEARLY = 0.005
"""An interval whose duration is as near as this to what was asked for took it [1]: frames are whole."""


def retime(
    motion: Motion,
    character: Character | None = None,
    *,
    factor: float | None = None,
    gravity: float | None = None,
    keys: Mapping[int, float] | None = None,
    move_keys: bool = False,
    keep_flights: bool = False,
    scope: Scope | None = None,
    budget: Budget | None = None,
    verify: bool = True,
) -> Edited:
    """Play a clip slower or faster; poses stay, only when they happen changes.

    Inside an interval the speed comes and goes over `blend` within it, every part takes a whole number of frames, and
    what lies outside keeps the source's own frames. So the interval as a whole comes nearer to its old duration than
    the factor says; what lies between its borders takes the factor. The report tells both, and what gravity they imply.

    Example:
        >>> edited = poise.edit.retime(motion, character, factor=1.2, verify=False)  # 1.2 times as long

    Args:
        motion: F frames.
        character: Whose flights fall; fitted to the motion if not given.
        factor: New duration over old one [1].
        gravity: Retime so that the flights fall with this [m/s²] on the whole.
        keys: New time [s] of some frames; the time between is a smooth rising curve through them.
        move_keys: Keep every frame and move it to its new time, instead of new frames at the clip's own rate. For
            formats that hold key times; BVH does not.
        keep_flights: Let flights keep their own pace, so that they fall as before; only what is on the ground between
            them takes the factor.
        scope: Amount (of the change of time), interval and blend.
        budget: What may change at most; retiming turns no joint and moves no root.
        verify: Check the result, and say in the report what is new.

    Raises:
        InvalidValue: if not exactly one of factor, gravity and keys is given, or it cannot be used.
    """
    scope = scope or Scope()
    given = [x for x in (factor, gravity, keys) if x is not None]
    if len(given) != 1:
        raise InvalidValue(
            f"{'More than one' if given else 'None'} of factor, gravity and keys is given; give one of them."
        )
    if motion.frame_count < 2:
        raise NotForThisClip("A motion of one frame has no time to change.")
    figure = _figure(motion, character, is_needed=gravity is not None)
    spans: tuple[Span, ...] = ()
    if gravity is not None and figure is not None:
        spans = choose_flights(motion, figure, "all", scope)
        factor = gravity_factor(motion, figure, spans, gravity)
    elif figure is not None:
        lowest, highest = scope.frames(motion)
        spans = tuple(s for s in find_flights(motion, figure) if s[0] <= highest and s[1] >= lowest)
    notes: tuple[str, ...] = ()
    if scope.amount == 0.0:
        timing, to_new = Timing(motion.times, motion.times), _identity
    elif keys is not None:
        if scope.interval is not None:
            raise InvalidValue("Keys already set where time changes; leave the interval out.")
        to_new, to_source = key_map(motion, keys, scope.amount)
        timing = on_grid(motion, to_new, to_source)
    else:
        assert factor is not None
        if not (math.isfinite(factor) and FACTORS[0] <= factor <= FACTORS[1]):
            raise InvalidValue(f"factor is {factor:g}; give a number from {FACTORS[0]:g} to {FACTORS[1]:g}.")
        slow = 1.0 + (factor - 1.0) * scope.amount
        if scope.interval is None and not (keep_flights and spans):
            to_new, to_source = (lambda t: slow * t), (lambda t: t / slow)
            timing = on_grid(motion, to_new, to_source)
        else:
            timing = stretched(motion, _parts(motion, scope, slow, spans if keep_flights else ()))
            notes = _reached(motion, timing, scope, factor, slow)
            known = timing
            to_new = lambda t: np.interp(t, known.source, known.times)  # noqa: E731
    result = motion
    if scope.amount > 0.0:
        result = asked_again(rekeyed(motion, to_new) if move_keys else retimed(motion, timing))
    played = motion if move_keys else result
    before: dict[str, Any] = {"duration_s": motion.duration, "frames": motion.frame_count}
    after: dict[str, Any] = {"duration_s": result.duration, "frames": result.frame_count}
    if figure is not None:
        before["flights"] = [_gravity(motion, figure, s) for s in spans]
        moved = spans if move_keys else tuple(tuple(timing.frame(float(motion.times[f])) for f in s) for s in spans)
        after["flights"] = [_gravity(result, figure, (s[0], s[1])) for s in moved]
    report = report_of(
        "retime",
        motion,
        result,
        Changes.between(played, result, pelvis(motion.skeleton)),
        settings={
            "factor": factor,
            "gravity_m_s2": gravity,
            "keys": dict(keys) if keys is not None else None,
            "move_keys": move_keys,
            "keep_flights": keep_flights,
            "amount": scope.amount,
            "blend_s": scope.blend,
            "interval": scope.interval,
        },
        before=before,
        after=after,
        kept={"joint_angle_max_deg": 0.0, "root_position_max_m": 0.0},
        budget=budget,
        amount=scope.amount,
        notes=notes,
    )
    late = to_new(motion.times) - motion.times
    report.data["changed"]["time_max_s"] = float(np.abs(late).max())
    report.data["changed"]["frames"] = int((np.abs(late) > 1e-9).sum())
    edited = Edited(result, report)
    if not verify or figure is None:
        return edited
    gravities = tuple(f["gravity_g"] for f in before["flights"])
    is_whole = factor is not None and scope.interval is None and not move_keys
    asked = partial(
        _follows,
        before=before["flights"],
        after=after["flights"],
        is_slower=result.duration > motion.duration,
        gentler=cache(partial(_gentler, motion, character, factor or 1.0, scope.amount, gravities))
        if is_whole
        else str,
    )
    frames = np.arange(motion.frame_count, dtype=np.float64)
    moments = frames if move_keys else np.interp(timing.source, motion.times, frames)
    return verified(edited, motion, character, asked=asked, moments=moments)


def seen_slower(found: Finding) -> str:
    """What to say of a place or a turn that was as wrong before, too briefly to be judged; "" of other findings."""
    if found.name not in SEEN_SLOWER:
        return ""
    return f"{found.sentence}. The poses are the clip's own; they now last long enough for a check to judge this."


def _follows(
    found: Finding,
    before: list[dict[str, Any]],
    after: list[dict[str, Any]],
    *,
    is_slower: bool,
    gentler: Callable[[], str],
) -> str:
    """What to say of a finding that follows from the new timing; "" of others."""
    if is_slower and (why := seen_slower(found)):
        return why
    if found.name not in ("gravity", "size", "frame-rate") or not after:
        return ""
    now, was = (float(np.median([f["gravity_g"] for f in flights])) for flights in (after, before))
    return (
        f"Flights now fall with {now:.2g} g ({was:.2g} g before), which follows from their new duration; a check calls "
        f"it wrong. {gentler()}--keep-flights lets them keep their pace, and poise edit ballistic their height."
    )


def _gentler(
    motion: Motion, character: Character | None, factor: float, amount: float, gravities: tuple[float, ...]
) -> str:
    """The factor nearest to this one that leaves flights which a check calls right, seen by trying it; "" for none.

    Gravity goes with one over the factor squared, so the flight that is nearest to the bound decides.
    """
    bounds, factor = load_profile(ROOT)["gravity"], 1.0 + (factor - 1.0) * amount
    if factor > 1.0:
        nearest = math.floor(100.0 * math.sqrt(max(min(gravities), 0.0) / bounds.least)) / 100.0
    else:
        nearest = math.ceil(100.0 * math.sqrt(max(gravities) / bounds.most)) / 100.0
    if not min(factor, 1.0) < nearest < max(factor, 1.0):
        return ""
    try:
        found = findings_of(retime(motion, character, factor=nearest, verify=False).motion, character)
    except PoiseError:
        return ""
    if any(f.fails and f.name == "gravity" for f in found):
        return ""
    return f"--factor {nearest:g} is as far as a check lets them go; "


def _figure(motion: Motion, character: Character | None, *, is_needed: bool) -> Figure | None:
    """Whose flights are measured; None where nobody can be fitted and nobody must."""
    try:
        return Figure.of(motion, character)
    except PoiseError:
        if is_needed or character is not None:
            raise
        return None


def _reached(motion: Motion, timing: Timing, scope: Scope, factor: float, slow: float) -> tuple[str, ...]:
    """What to say of an interval that took less than the factor: its borders, and the amount."""
    first, last = scope.frames(motion)
    old = float(motion.times[last] - motion.times[first])
    new = float(timing.times[timing.frame(float(motion.times[last]))] - motion.times[first])
    if abs(new / old - factor) <= NEARLY * factor:
        return ()
    why = f"an amount of {scope.amount:g} and borders" if scope.amount != 1.0 else "borders"
    return (
        f"The interval of {old:.3g} s takes {new:.3g} s, {new / old:.3g} × as long and not {factor:.3g} ×: {why} over "
        f"which the speed comes and goes ({scope.blend:g} s each). Between them all is {slow:.3g} × as long, so what "
        f"falls there falls with {1.0 / slow**2:.3g} of its gravity. A shorter --blend, or a wider --interval, comes "
        "nearer.",
    )


def gravity_factor(
    motion: Motion, figure: Figure, spans: tuple[tuple[int, int], ...], gravity: float = GRAVITY
) -> float:
    """How many times longer a clip must last for its flights to fall with `gravity` [m/s²], on the whole.

    Gravity seen goes with one over time squared. Flights count by how far gravity bends their paths.

    Raises:
        InvalidValue: if the gravity is not positive, or no flight falls at all.
    """
    if not (math.isfinite(gravity) and gravity > 0.0):
        raise InvalidValue(f"gravity is {gravity} m/s²; give a positive number.")
    com = figure.com(motion)
    fits = [measure(motion, figure, com, s) for s in spans]
    good = [f for f in fits if f.gravity > FALLS * gravity]
    if not good:
        raise InvalidValue("No flight of this clip falls, so timing cannot change its gravity. Give a factor instead.")
    weight = np.array([f.gravity * f.duration**2 for f in good])
    typical = math.exp(float(np.average(np.log([f.gravity for f in good]), weights=weight)))
    return math.sqrt(typical / gravity)


def key_map(motion: Motion, keys: Mapping[int, float], amount: float = 1.0) -> tuple[TimeMap, TimeMap]:
    """The rising C¹ curve from old times to new ones through some keys, and its inverse.

    Before the first key the clip starts at 0 as it did; after the last one it goes on at its own speed.

    Raises:
        InvalidValue: if a frame is none of the clip's or times do not rise.
    """
    from scipy.interpolate import PchipInterpolator

    if not keys:
        raise InvalidValue("No keys were given; give some as frame:time.")
    frames = sorted(keys)
    if frames[0] < 0 or frames[-1] >= motion.frame_count:
        raise InvalidValue(f"Frames {frames[0]} … {frames[-1]} were given; the clip has 0 to {motion.frame_count - 1}.")
    old = [float(motion.times[f]) for f in frames]
    new = [float(keys[f]) for f in frames]
    if frames[0] == 0 and abs(new[0]) > 1e-9:
        raise InvalidValue(f"Frame 0 was given the time {new[0]:g} s; a clip starts at 0.")
    if frames[0] != 0:
        old, new = [0.0, *old], [0.0, *new]
    if frames[-1] != motion.frame_count - 1:
        end = float(motion.times[-1])
        new, old = [*new, new[-1] + end - old[-1]], [*old, end]
    if not all(b > a for a, b in pairwise(new)) or not all(math.isfinite(t) for t in new):
        listed = ", ".join(f"{f}:{keys[f]:g}" for f in frames)
        raise InvalidValue(f"The times of keys {listed} do not rise from 0; give later frames later times.")
    curve = PchipInterpolator(old, (1.0 - amount) * np.array(old) + amount * np.array(new))
    slope = curve.derivative()
    grid = np.unique(np.concatenate([np.linspace(old[0], old[-1], 2000), old]))
    values = curve(grid)

    def to_source(t: Array) -> Array:
        s = np.interp(t, values, grid)
        for _ in range(3):
            s = np.clip(s - (curve(s) - t) / np.maximum(slope(s), 1e-6), grid[0], grid[-1])
        return s

    return (lambda t: np.asarray(curve(t))), to_source


def _identity(t: Array) -> Array:
    return t


def _parts(motion: Motion, scope: Scope, slow: float, kept: tuple[Span, ...]) -> list[Stretch]:
    """Speed going to 1/slow inside the scope's interval and back, in whole frames, but for spans that are kept."""
    first, last = scope.frames(motion)
    if last - first < 2:
        raise InvalidValue("The interval holds fewer than three frames; give a longer one.")
    begins = [first, *(min(max(b, first), last) for _, b in kept)]
    ends = [*(min(max(a, first), last) for a, _ in kept), last]
    found = [part for a, b in zip(begins, ends) if b - a >= 2 for part in _between(motion, scope, slow, a, b)]
    if not found:
        raise InvalidValue("All of it is in the air, and flights keep their pace: there is nothing to retime.")
    return found


def _between(motion: Motion, scope: Scope, slow: float, first: int, last: int) -> list[Stretch]:
    """Speed going to 1/slow between two frames and back, in whole frames."""
    times = motion.times
    blend = min(scope.blend, float(times[last] - times[first]) / 3.0)
    a = first if first == 0 else int(np.argmin(np.abs(times - (times[first] + blend))))
    b = last if last == motion.frame_count - 1 else int(np.argmin(np.abs(times - (times[last] - blend))))
    parts: list[Stretch] = []
    if a > first:
        parts.append(border(motion, first, a, slow, leads_in=True))
    if b > a:
        parts.append(Stretch(a, b, max(1, round(float(times[b] - times[a]) / motion.dt * slow))))
    if last > b:
        parts.append(border(motion, b, last, slow, leads_in=False))
    return parts


def _gravity(motion: Motion, figure: Figure, span: tuple[int, int]) -> dict[str, Any]:
    fit = measure(motion, figure, figure.com(motion), span)
    return {
        "frames": list(span),
        "start_s": float(motion.times[span[0]]),
        "end_s": float(motion.times[span[1]]),
        "gravity_g": fit.gravity_g,
    }


def _polynomial(*coefficients: float) -> Array:
    """Coefficients by rising powers, which nobody can write to."""
    out = np.array(coefficients)
    out.setflags(write=False)
    return out


FALL = _polynomial(1.0, 0.0, 0.0, -10.0, 15.0, -6.0)
"""Coefficients by rising powers, as of all here: 1 at 0, 0 at 1, with first and second derivatives zero at both."""
RISE = _polynomial(0.0, 0.0, 0.0, 10.0, -15.0, 6.0)
"""0 at 0, 1 at 1, likewise."""
BUMP = _polynomial(0.0, 0.0, 30.0, -60.0, 30.0, 0.0)
"""0 at both ends with their slopes, area 1: takes up the fraction of a frame."""
FLAT = _polynomial(1.0)
"""The same speed all through."""


LEAST_SLOWNESS = 0.1
"""Where a border would pass moments this many times faster than either side does, it takes one even speed [1]."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """A part of a clip that is played at another speed.

    Attributes:
        first, last: Its frames in the source.
        steps: Frame steps it takes afterwards.
        slowness: New time per source time over the part (0 … 1), positive, as coefficients of a polynomial by rising
            powers; only its shape counts.
    """

    first: int
    last: int
    steps: int
    slowness: Array = field(default_factory=lambda: FLAT)


@dataclass(frozen=True)
class Timing:
    """New frames and the moments of the source they show.

    Attributes:
        times: Time of each new frame [s], shape (T,).
        source: Time in the source that it shows [s], shape (T,).
    """

    times: Array
    source: Array

    def frame(self, source_time: float) -> int:
        """The new frame nearest to a moment of the source [s]."""
        return int(np.argmin(np.abs(self.source - source_time)))


def stretched(motion: Motion, parts: list[Stretch]) -> Timing:
    """Timing of a clip whose parts (in order, not overlapping) take other numbers of frames; the rest is shifted."""
    dt = motion.dt
    times: list[Array] = []
    source: list[Array] = []
    at, shift = 0, 0.0
    for part in parts:
        times.append(motion.times[at : part.first + 1] + shift)
        source.append(motion.times[at : part.first + 1])
        begin, end = float(motion.times[part.first]), float(motion.times[part.last])
        steps = np.arange(1, part.steps + 1)
        moments = _inverse(part.slowness, steps / part.steps)
        length = (end - begin) if part.steps == part.last - part.first else part.steps * dt
        new = begin + shift + length * steps / part.steps
        # the last of them is the frame `part.last` itself, which the next piece brings
        times.append(new[:-1])
        source.append(begin + (end - begin) * moments[:-1])
        shift = float(new[-1]) - end
        at = part.last
    times.append(motion.times[at:] + shift)
    source.append(motion.times[at:])
    return Timing(np.concatenate(times), np.concatenate(source))


def _inverse(slowness: Array, shares: Array) -> Array:
    """Where in its source (0 … 1) a part is after each share (0 … 1) of its new time."""
    if len(slowness) == 1:
        return shares
    whole = float(polyint(slowness).sum())
    slowness, total = slowness / whole, np.asarray(polyint(slowness), dtype=np.float64) / whole
    grid = np.linspace(0.0, 1.0, 513)
    s = np.interp(shares, _value(total, grid), grid)
    # off by less than a millionth already; Newton's step squares that
    for _ in range(2):
        s = np.clip(s - (_value(total, s) - shares) / _value(slowness, s), 0.0, 1.0)
    return s


def _value(polynomial: Array, x: Array) -> Array:
    """A polynomial, coefficients by rising powers, at places x: Horner's rule."""
    out = np.full_like(x, polynomial[-1])
    for c in polynomial[-2::-1].tolist():
        out = out * x + c
    return out


def border(motion: Motion, first: int, last: int, factor: float, *, leads_in: bool) -> Stretch:
    """A part over which the speed goes from the clip's own to 1/factor (`leads_in`), or back.

    It takes a whole number of frames, so that what lies beyond keeps the source's own frames; a slight bump in the
    middle takes up the rest.
    """
    span = float(motion.times[last] - motion.times[first]) / motion.dt
    steps = max(1, round(span * (1.0 + 0.5 * (factor - 1.0))))
    rest = steps / span - 1.0 - 0.5 * (factor - 1.0)
    slowness = (factor - 1.0) * (RISE if leads_in else FALL) + rest * BUMP
    slowness[0] += 1.0
    if _value(slowness, np.linspace(0.0, 1.0, 65)).min() < LEAST_SLOWNESS * min(1.0, factor):
        slowness = FLAT
    return Stretch(first, last, steps, slowness)


def retimed(motion: Motion, timing: Timing) -> Motion:
    """The motion with this timing: frames of the source where moments fall on them, bounded splines between.

    Each new frame carries the source file's own numbers of the nearest frame, so that what did not change is written
    as it stood.
    """
    result = replace(motion.resampled(timing.source, is_bounded=True), times=timing.times)
    source = motion.source
    select = getattr(source.document, "select_frames", None) if source is not None else None
    if source is None or select is None:
        return result
    nearest = np.clip(np.searchsorted(motion.times, timing.source), 1, motion.frame_count - 1)
    nearest -= (timing.source - motion.times[nearest - 1]) < (motion.times[nearest] - timing.source)
    return replace(result, source=replace(source, document=select(nearest))).placed(*result.world)


def rekeyed(motion: Motion, to_new: Callable[[Array], Array]) -> Motion:
    """The motion with its own frames moved to other times: poses stay as they are, only when they happen changes."""
    times = to_new(motion.times)
    return replace(motion, times=times - times[0])


def on_grid(motion: Motion, to_new: Callable[[Array], Array], to_source: Callable[[Array], Array]) -> Timing:
    """Timing of a whole clip under a monotone map of time, on frames of the clip's own rate, both ends included.

    Where the new duration is not a whole number of frames, the last pose stands on the frame after it.
    """
    end = float(to_new(motion.times[-1:])[0])
    count = int(np.ceil(end / motion.dt - 1e-3)) + 1
    times = motion.dt * np.arange(count, dtype=np.float64)
    return Timing(times, np.clip(to_source(np.minimum(times, end)), motion.times[0], motion.times[-1]))
