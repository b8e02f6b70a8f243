"""When things happen: clips played faster or slower in parts, with smooth borders, on frames of the same rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.polynomial.polynomial import polyint

from poise.core.motion import Motion
from poise.core.typing import Array


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
    """The motion with this timing: frames of the source where moments fall on them, C² splines between.

    Each new frame carries the source file's own numbers of the nearest frame, so that what did not change is written
    as it stood.
    """
    result = replace(motion.resampled(timing.source), times=timing.times)
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

    Where the new duration is no whole number of frames, the last pose stands on the frame after it.
    """
    end = float(to_new(motion.times[-1:])[0])
    count = int(np.ceil(end / motion.dt - 1e-3)) + 1
    times = motion.dt * np.arange(count, dtype=np.float64)
    return Timing(times, np.clip(to_source(np.minimum(times, end)), motion.times[0], motion.times[-1]))
