"""Smooth curves: everything here has a continuous second derivative."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.interpolate import BPoly, CubicSpline, PchipInterpolator, make_interp_spline

Array = npt.NDArray[np.float64]
Curve = Callable[[Array], Array]


def smooth_step(x: Array) -> Array:
    """0 below 0, 1 above 1, 6x⁵ − 15x⁴ + 10x³ between."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x**2)


def keys(text: str) -> tuple[Array, Array]:
    """Times and values of keys written as "time:value  time:value  …"."""
    times, values = np.array([[float(x) for x in key.split(":")] for key in text.split()]).T
    return times, values


def cyclic(text: str) -> Curve:
    """Cubic spline of period 1 through "phase:value" keys."""
    phases, values = keys(text)
    spline = CubicSpline(np.append(phases, phases[0] + 1.0), np.append(values, values[0]), bc_type="periodic")
    return lambda x: np.asarray(spline(np.asarray(x)))


def held(text: str) -> Curve:
    """Spline through "time:value" keys that leaves the first value and reaches the last without a jerk.

    Outside the keys the end values are held; a quintic spline with zero first and second derivative at both ends.
    """
    times, values = keys(text)
    still = [(1, 0.0), (2, 0.0)]
    spline = make_interp_spline(times, values, k=5, bc_type=(still, still))
    return lambda x: np.asarray(spline(np.clip(x, times[0], times[-1])))


def through(text: str) -> Curve:
    """Curve through "time:value" keys that never swings beyond them; it starts and ends at rest."""
    times, values = keys(text)
    slopes = PchipInterpolator(times, values).derivative()(times)
    slopes[[0, -1]] = 0.0
    curve = BPoly.from_derivatives(times, np.stack([values, slopes, 0.0 * slopes], axis=-1))
    return lambda x: np.asarray(curve(np.clip(x, times[0], times[-1])))


def derivatives(curve: Curve, at: float, dt: float = 1e-3) -> tuple[Array, Array, Array]:
    """Value, first and second derivative of a curve at one time, by differences of fourth order."""
    x = np.asarray(curve(at + dt * np.arange(-2.0, 3.0)))
    first = (x[0] - 8.0 * x[1] + 8.0 * x[3] - x[4]) / (12.0 * dt)
    second = (-x[0] + 16.0 * x[1] - 30.0 * x[2] + 16.0 * x[3] - x[4]) / (12.0 * dt**2)
    return x[2], first, second


def bridge(
    start: tuple[Array, Array, Array],
    end: tuple[Array, Array, Array],
    duration: float,
    s: Array,
    wish: Array,
    weight: Array,
) -> Array:
    """Polynomial that joins two states (value, velocity, acceleration) and stays close to a wished path.

    Args:
        start, end: States to meet exactly, each three arrays of shape (D,).
        duration: Time between them.
        s: Where to evaluate, 0 … 1, shape (S,).
        wish: Wished path at s, shape (S, D).
        weight: Weight of each wish, shape (S,).

    Returns:
        The path at s, shape (S, D): a quintic, plus s³(1 − s)³ times a cubic fitted to the wish.
    """
    p0, v0, a0 = start[0], start[1] * duration, start[2] * duration**2
    p1, v1, a1 = end[0], end[1] * duration, end[2] * duration**2
    c3 = 10 * (p1 - p0) - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1
    c4 = -15 * (p1 - p0) + 8 * v0 + 7 * v1 + 1.5 * a0 - a1
    c5 = 6 * (p1 - p0) - 3 * v0 - 3 * v1 - 0.5 * a0 + 0.5 * a1
    coefficients = np.stack([p0, v0, 0.5 * a0, c3, c4, c5])
    path = np.vander(s, 6, increasing=True) @ coefficients
    free = 64.0 * (s**3 * (1.0 - s) ** 3)[:, None] * np.vander(2.0 * s - 1.0, 4, increasing=True)
    root = np.sqrt(weight)[:, None]
    # a small wish for zero keeps the correction from growing where the wish says nothing
    rows = np.concatenate([root * free, 0.03 * np.sqrt(weight.sum()) * np.eye(4)])
    miss = np.concatenate([root * (wish - path), np.zeros((4, wish.shape[1]))])
    return path + free @ np.linalg.lstsq(rows, miss, rcond=None)[0]


def frequencies(count: int, duration: float) -> Array:
    """Angular frequencies [rad/s] of a real Fourier series over `count` samples of a period."""
    return np.asarray(2.0 * np.pi * np.fft.rfftfreq(count, duration / count), dtype=np.float64)


def periodic_derivative(x: Array, duration: float, order: int = 1) -> Array:
    """Derivative along axis 0 of samples of one period."""
    w = frequencies(len(x), duration).reshape(-1, *[1] * (x.ndim - 1))
    return np.fft.irfft(np.fft.rfft(x, axis=0) * (1j * w) ** order, n=len(x), axis=0)


def pendulum(zmp: Array, duration: float, height: float, gravity: float) -> Array:
    """Periodic path of a center of mass over a given zero moment point: x − (height/g) ẍ = zmp, along axis 0."""
    w = frequencies(len(zmp), duration).reshape(-1, *[1] * (zmp.ndim - 1))
    return np.fft.irfft(np.fft.rfft(zmp, axis=0) / (1.0 + height / gravity * w**2), n=len(zmp), axis=0)


def wobble(t: npt.ArrayLike, duration: float, seed: int, slowest: int = 1, fastest: int = 5) -> Array:
    """Quiet irregularity of period `duration`, about −1 … 1, from a few sines; the same for the same seed."""
    t = np.asarray(t, dtype=np.float64)
    total = np.zeros_like(t)
    for k in range(slowest, fastest + 1):
        total += np.sin(2.0 * np.pi * (k * t / duration + 0.618034 * (seed + 1) * (k + 2) ** 2)) / np.sqrt(k)
    return total / np.sqrt(sum(1.0 / k for k in range(slowest, fastest + 1)))


def calm(x: Array, duration: float, frequency: float) -> Array:
    """Samples of one period without what is faster than `frequency` [Hz], along axis 0; a third of it fades out."""
    hertz = frequencies(len(x), duration).reshape(-1, *[1] * (x.ndim - 1)) / (2.0 * np.pi)
    keep = 1.0 - smooth_step(3.0 * (hertz / frequency - 1.0) + 0.5)
    return np.fft.irfft(np.fft.rfft(x, axis=0) * keep, n=len(x), axis=0)
