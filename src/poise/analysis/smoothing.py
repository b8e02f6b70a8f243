"""The low-pass filter before second differences, by name and cut-off.

x minimizes Σ_k w_k (x_k − y_k)² + λ Σ ‖third divided difference of x‖² (Whittaker 1923, Henderson 1924): a banded
linear system. At frequency f it passes 1 / (1 + (sin πfΔt / s)⁶), which is the response of a third-order Butterworth
filter run forwards and backwards. It shifts nothing in time, and any motion of constant acceleration goes through
unchanged, up to the first and the last frame: the ends need no padding. Nor do the borders of a flight: where `breaks`
are given, no difference is taken across them, so the blow of a landing is not smeared into the air before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import solveh_banded

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.core.units import HUMAN_LEG

CUTOFF = 8.0
"""Cut-off for a leg of 0.82 m [Hz]; it goes with 1/√leg, as times of like motions do."""
WIDEST = 0.45
"""A cut-off above this share of the frame rate filters nothing [1]."""
STRONGEST = 1e12
"""Most that third differences weigh [1]: with more, as for legs of kilometers, doubles no longer hold the values."""


@dataclass(frozen=True)
class LowPass:
    """What was done before differences were taken.

    Attributes:
        hz: Where the response is down by 3 dB [Hz]; inf if nothing was filtered.
        name: For reports.

    Example:
        >>> lowpass = poise.analysis.LowPass(8.0)
        >>> smoothed = poise.analysis.smooth(lowpass, motion.times, motion.translations[:, 0])
    """

    hz: float
    name: str = "Whittaker-Henderson, third differences, zero phase"

    @property
    def is_on(self) -> bool:
        """True if anything is filtered."""
        return math.isfinite(self.hz)

    def __str__(self) -> str:
        return f"{self.name}, {self.hz:.3g} Hz" if self.is_on else "no filter"


def choose_filter(hz: float | str | None, *, fps: float, leg_length: float) -> LowPass:
    """The filter a caller asked for.

    Example:
        >>> filter = poise.analysis.choose_filter("auto", fps=120.0, leg_length=0.82)

    Args:
        hz: A cut-off [Hz]; "auto" for CUTOFF fitted to the size; None for no filter.
        fps: Frame rate [1/s].
        leg_length: Hip to sole [m].

    Raises:
        InvalidValue: if the cut-off is not positive.
    """
    if hz is None:
        return LowPass(math.inf)
    if isinstance(hz, str):
        if hz != "auto":
            raise InvalidValue(f"filter_hz is {hz!r}; give a cut-off in hertz, 'auto', or None for no filter.")
        hz = CUTOFF / math.sqrt(leg_length / HUMAN_LEG)
    if not hz > 0.0:
        raise InvalidValue(f"filter_hz is {hz}; give a positive cut-off in hertz, 'auto', or None for no filter.")
    return LowPass(float(hz) if hz < WIDEST * fps else math.inf)


def smooth(
    filter: LowPass, times: Array, values: Array, weights: Array | None = None, breaks: Sequence[int] = ()
) -> Array:
    """The values, low-passed along axis 0.

    Example:
        >>> filter = poise.analysis.choose_filter(8.0, fps=motion.fps, leg_length=0.82)
        >>> root = poise.analysis.smooth(filter, motion.times, motion.translations[:, 0])

    Args:
        filter: Which filter.
        times: Of each frame [s], shape (F,); they need not be evenly spaced.
        values: Shape (F, ...).
        weights: How far each frame is believed, 0 … 1, shape (F,); a frame of weight 0 is bridged.
        breaks: First frames of stretches that know nothing of what was before.
    """
    frames = len(times)
    if not filter.is_on or frames < 5:
        return values
    columns = np.asarray(values, dtype=np.float64).reshape(frames, -1)
    dt = float(np.median(np.diff(times)))
    strength = min((math.sqrt(2.0) - 1.0) / (2.0 * math.sin(math.pi * filter.hz * dt)) ** 6, STRONGEST)
    rows = _third_differences(times, dt)
    for b in breaks:
        rows[max(0, b - 3) : b] = 0.0
    band = np.zeros((4, frames))  # the lower diagonals of W + λ DᵀD
    for i in range(4):
        for j in range(i, 4):
            band[j - i, i : frames - 3 + i] += strength * rows[:, i] * rows[:, j]
    if weights is None:
        band[0] += 1.0
    else:
        trusted = _trusted(weights, breaks)
        band[0] += trusted
        columns = columns * trusted[:, None]
    return np.ascontiguousarray(solveh_banded(band, columns, lower=True, overwrite_ab=True)).reshape(values.shape)


def stretches(frames: int, breaks: Sequence[int]) -> list[slice]:
    """The frames between breaks."""
    edges = [0, *breaks, frames]
    return [slice(a, b) for a, b in pairwise(edges)]


def _trusted(weights: Array, breaks: Sequence[int]) -> Array:
    """The weights, all of them 1 in stretches where fewer than four frames would be left."""
    out = np.array(weights, dtype=np.float64)
    for part in stretches(len(out), breaks):
        if np.count_nonzero(out[part]) < 4:
            out[part] = 1.0
    return out


def _third_differences(times: Array, dt: float) -> Array:
    """Coefficients of dt³ times the third derivative over four frames, shape (F − 3, 4); −1, 3, −3, 1 when even."""
    t = np.stack([times[i : len(times) - 3 + i] for i in range(4)], axis=1) / dt
    rows = np.empty_like(t)
    for i in range(4):
        rows[:, i] = 6.0 / np.prod([t[:, i] - t[:, j] for j in range(4) if j != i], axis=0)
    return rows


def rates(slopes: Array, times: Array, breaks: Sequence[int] = ()) -> tuple[Array, Array]:
    """First and second derivative at the frames from slopes between them; exact for constant acceleration.

    Args:
        slopes: Mean rate from each frame to the next, shape (F − 1, ...).
        times: [s], shape (F,).
        breaks: First frames of stretches across which nothing is compared.

    Returns:
        Both of shape (F, ...). A stretch of two frames has no second derivative, one of a single frame none at all.
    """
    shape = (len(times), *slopes.shape[1:])
    first, second = np.zeros(shape), np.zeros(shape)
    for part in stretches(len(times), breaks):
        inner = slice(part.start, part.stop - 1)
        step = np.diff(times[part]).reshape(-1, *[1] * (slopes.ndim - 1))
        _rates(slopes[inner], step, first[part], second[part])
    return first, second


def _rates(slopes: Array, step: Array, first: Array, second: Array) -> None:
    """`rates` of one stretch, into its arrays."""
    if len(first) == 2:
        first[:] = slopes[0]
    if len(first) < 3:
        return
    before, after = step[:-1], step[1:]
    first[1:-1] = (after * slopes[:-1] + before * slopes[1:]) / (before + after)
    second[1:-1] = 2.0 * (slopes[1:] - slopes[:-1]) / (before + after)
    second[0], second[-1] = second[1], second[-2]
    first[0] = slopes[0] - 0.5 * step[0] * second[0]
    first[-1] = slopes[-1] + 0.5 * step[-1] * second[-1]


def derivatives(values: Array, times: Array, breaks: Sequence[int] = ()) -> tuple[Array, Array]:
    """First and second derivative of values (F, ...) by central differences, none of them across a break."""
    if len(times) < 2:
        return np.zeros_like(values), np.zeros_like(values)
    step = np.diff(times).reshape(-1, *[1] * (values.ndim - 1))
    return rates(np.diff(values, axis=0) / step, times, breaks)
