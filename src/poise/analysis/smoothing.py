"""The low-pass filter before second differences, by name and cut-off.

x minimizes Σ_k w_k (x_k − y_k)² + λ Σ ‖third divided difference of x‖² (Whittaker 1923, Henderson 1924): a banded
linear system. At frequency f it passes 1 / (1 + (sin πfΔt / s)⁶), which is the response of a third-order Butterworth
filter run forwards and backwards. It shifts nothing in time, and any motion of constant acceleration goes through
unchanged, up to the first and the last frame: the ends need no padding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.errors import InvalidValue

Array = npt.NDArray[np.float64]

CUTOFF = 8.0
"""Cut-off for a leg of 0.82 m [Hz]; it goes with 1/√leg, as times of like motions do."""
WIDEST = 0.45
"""A cut-off above this share of the frame rate filters nothing [1]."""


@dataclass(frozen=True)
class LowPass:
    """What was done before differences were taken.

    Attributes:
        hz: Where the response is down by 3 dB [Hz]; inf if nothing was filtered.
        name: For reports.
    """

    hz: float
    name: str = "Whittaker-Henderson, third differences, zero phase"

    @property
    def is_on(self) -> bool:
        return math.isfinite(self.hz)

    def __str__(self) -> str:
        return f"{self.name}, {self.hz:.3g} Hz" if self.is_on else "no filter"


def choose_filter(hz: float | str | None, *, fps: float, leg_length: float) -> LowPass:
    """The filter a caller asked for.

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
        hz = CUTOFF / math.sqrt(leg_length / 0.82)
    if not hz > 0.0:
        raise InvalidValue(f"filter_hz is {hz}; give a positive cut-off in hertz, 'auto', or None for no filter.")
    return LowPass(float(hz) if hz < WIDEST * fps else math.inf)


def smooth(filter: LowPass, times: Array, values: Array, weights: Array | None = None) -> Array:
    """The values, low-passed along axis 0.

    Args:
        filter: Which filter.
        times: Of each frame [s], shape (F,); they need not be evenly spaced.
        values: Shape (F, ...).
        weights: How far each frame is believed, 0 … 1, shape (F,); a frame of weight 0 is bridged.
    """
    frames = len(times)
    if not filter.is_on or frames < 5:
        return values
    from scipy.linalg import solveh_banded

    trusted = np.ones(frames) if weights is None or np.count_nonzero(weights) < 4 else weights
    dt = float(np.median(np.diff(times)))
    strength = (math.sqrt(2.0) - 1.0) / (2.0 * math.sin(math.pi * filter.hz * dt)) ** 6
    rows = _third_differences(times, dt)
    band = np.zeros((4, frames))
    for i in range(4):
        for j in range(i, 4):
            band[j - i, i : frames - 3 + i] += strength * rows[:, i] * rows[:, j]
    band[0] += trusted
    flat = values.reshape(frames, -1)
    right = flat if weights is None or trusted is not weights else flat * trusted[:, None]
    return np.asarray(solveh_banded(band, right, lower=True, check_finite=False)).reshape(values.shape)


def _third_differences(times: Array, dt: float) -> Array:
    """Coefficients of dt³ times the third derivative over four frames, shape (F − 3, 4); −1, 3, −3, 1 when even."""
    t = np.stack([times[i : len(times) - 3 + i] for i in range(4)], axis=1) / dt
    rows = np.empty_like(t)
    for i in range(4):
        rows[:, i] = 6.0 / np.prod([t[:, i] - t[:, j] for j in range(4) if j != i], axis=0)
    return rows


def rates(slopes: Array, times: Array) -> tuple[Array, Array]:
    """First and second derivative at the frames from slopes between them; exact for constant acceleration.

    Args:
        slopes: Mean rate from each frame to the next, shape (F − 1, ...).
        times: [s], shape (F,).

    Returns:
        Both of shape (F, ...). With two frames the second is zero.
    """
    step = np.diff(times).reshape(-1, *[1] * (slopes.ndim - 1))
    shape = (len(times), *slopes.shape[1:])
    first, second = np.zeros(shape), np.zeros(shape)
    if len(times) < 2:
        return first, second
    if len(times) == 2:
        first[:] = slopes[0]
        return first, second
    before, after = step[:-1], step[1:]
    first[1:-1] = (after * slopes[:-1] + before * slopes[1:]) / (before + after)
    second[1:-1] = 2.0 * (slopes[1:] - slopes[:-1]) / (before + after)
    second[0], second[-1] = second[1], second[-2]
    first[0] = slopes[0] - 0.5 * step[0] * second[0]
    first[-1] = slopes[-1] + 0.5 * step[-1] * second[-1]
    return first, second


def derivatives(values: Array, times: Array) -> tuple[Array, Array]:
    """First and second derivative of values (F, ...) by central differences."""
    if len(times) < 2:
        return np.zeros_like(values), np.zeros_like(values)
    step = np.diff(times).reshape(-1, *[1] * (values.ndim - 1))
    return rates(np.diff(values, axis=0) / step, times)
