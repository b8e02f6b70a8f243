"""Rough ground from a seed: the same bumps on every machine."""

from __future__ import annotations

import math

import numpy as np

from poise.core.typing import Array
from poise.terrain.shapes import Heightfield, Place

SIZE = 20.0
"""Side of the square after which the bumps repeat [m]."""
SPACING = 0.1
"""Distance between control heights [m]."""
WAVELENGTH = 1.0
"""Dominant wavelength of the bumps [m]."""
FLAT_RADIUS, FADE = 0.5, 1.0
"""Radius around the start that is flat, and the width over which the bumps fade in [m]."""
SPREAD = 4.0
"""Peak to peak height over standard deviation."""


def rough(height: float, seed: int, max_slope: float | None) -> Heightfield:
    """Bumps of one dominant wavelength over 20 x 20 m, repeated beyond; flat around the start.

    A periodic field of random phases, its wave numbers in a ring around 1 / WAVELENGTH, is squashed by tanh until
    its peak to peak height is SPREAD standard deviations, so that no single bump rules the scale. The random bits
    are PCG64's own, which NumPy promises never to change.

    Args:
        height: Peak to peak height over the square [m].
        seed: Not negative.
        max_slope: Steepest slope anywhere [deg], or None for no limit. Where it bites, peaks and hollows become
            cones; a height that cannot be had under the limit comes out lower.
    """
    unit = _squashed(_waves(seed))
    x = (np.arange(len(unit)) - len(unit) // 2) * SPACING
    radius = np.hypot(*np.meshgrid(x, x))
    blend = np.clip((radius - FLAT_RADIUS - 2.2 * SPACING) / FADE, 0.0, 1.0)
    unit *= blend * blend * (3.0 - 2.0 * blend)
    corner = np.array([x[0], x[0]])
    if height == 0.0:
        return Heightfield(unit * 0.0, SPACING, corner, periodic=True)
    field = _measured(unit * height, corner)
    scaled = unit * (height * height / field[0])
    if max_slope is None:
        return Heightfield(scaled, SPACING, corner, periodic=True)
    limit = math.tan(math.radians(max_slope))
    gain, before = 1.0, 0.0
    heights = scaled
    for _ in range(5):
        heights = _limited(scaled * gain, limit)
        reached = _measured(heights, corner)[0]
        if reached > 0.999 * height or reached < 1.01 * before:
            break
        gain, before = gain * min(height / reached, 1.5), reached
    reached, steepest = _measured(heights, corner)
    return Heightfield(heights * min(height / reached, limit / max(steepest, 1e-12)), SPACING, corner, periodic=True)


def _waves(seed: int) -> Array:
    """Periodic field of random phases whose wave numbers lie in a ring around 1 / WAVELENGTH."""
    count = round(SIZE / SPACING)
    wave = np.fft.fftfreq(count, SPACING)
    number = np.hypot(*np.meshgrid(wave, wave))
    ring = np.exp(-0.5 * ((number * WAVELENGTH - 1.0) / 0.2) ** 2)
    ring[number * WAVELENGTH > 1.8] = 0.0
    bits = np.random.PCG64(seed).random_raw(count * count)
    phase = 2.0 * np.pi * (np.asarray(bits >> np.uint64(11), dtype=np.float64) * 2.0**-53).reshape(count, count)
    field = np.real(np.fft.ifft2(ring * np.exp(1j * phase)))
    return np.asarray(field / field.std())


def _squashed(field: Array) -> Array:
    """The field through tanh(field / c), with c such that peak to peak is SPREAD standard deviations, scaled to 1."""
    low, high = 0.1, 20.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        trial = np.tanh(field / middle)
        low, high = (middle, high) if np.ptp(trial) / trial.std() < SPREAD else (low, middle)
    trial = np.tanh(field / low)
    return np.asarray(trial / np.ptp(trial))


def _limited(heights: Array, limit: float) -> Array:
    """Mean of the highest surface below and the lowest above that are nowhere steeper than `limit` [1]."""
    return 0.5 * (_below(heights, limit) - _below(-heights, limit))


def _below(heights: Array, limit: float) -> Array:
    """The highest periodic surface under `heights` that rises by no more than `limit` [1] toward 16 neighbors."""
    steps = [(i, j) for i in range(-2, 3) for j in range(-2, 3) if math.gcd(i, j) == 1]
    low = heights
    while True:
        lower = low
        for i, j in steps:
            lower = np.minimum(lower, np.roll(lower, (i, j), axis=(0, 1)) + limit * SPACING * math.hypot(i, j))
        if np.array_equal(lower, low):
            return low
        low = lower


def _measured(heights: Array, corner: Array) -> tuple[float, float]:
    """Peak to peak height [m] and steepest slope [1] of the smooth surface, on a grid four times as fine."""
    surface = Heightfield(heights, SPACING, corner, periodic=True)
    x = corner[0] + np.arange(4 * len(heights)) * (0.25 * SPACING)
    points = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    height, normal, _ = surface.at(points, Place((0.0, 0.0), 0.0, 0.0), 0.0)
    steepest = 0.0 if normal is None else float((np.hypot(normal[:, 0], normal[:, 1]) / normal[:, 2]).max())
    return float(np.ptp(height)), steepest
