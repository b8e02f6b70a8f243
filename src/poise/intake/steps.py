"""Steps, falls and noise of a motion, in leg lengths and frames: what its size and frame rate show themselves in."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from poise.intake.figure import Array, Figure, along
from poise.phases.runs import runs

SLOW_FOOT = 0.3
"""A foot stands while it moves slower than this share of its fastest [1]."""
SHORTEST_STRIDE = 0.4
"""A stride carries a foot at least this far [leg lengths]."""
FEWEST_STRIDES = 3
"""Fewer strides make no gait."""
WALKING, HOPPING = 0.12, 0.6
"""Feet that move at the same time for less than this share of their way walk, for more than that hop [1]."""
EVEN = 0.45
"""The logarithms of a gait's stride times spread no more than this [1]."""


@dataclass(frozen=True)
class Gait:
    """How a figure steps.

    Attributes:
        stride: Time from a foot's stance to its next one [frames].
        length: Length of a step, half a stride [leg lengths].
        spread: Standard deviation of the logarithm of stride times [1].
        aloft: How much of the time in which a foot moves the other one moves, too: hardly any in a walk [1].
        count: How many strides were seen.
        legs: How many legs step.
    """

    stride: float
    length: float
    spread: float
    aloft: float
    count: int
    legs: int

    @property
    def walks(self) -> bool:
        """True for two legs of which one stands at any time: a walk, however fast the frames follow each other."""
        return self.legs == 2 and self.aloft < WALKING


def find_gait(figure: Figure) -> Gait | None:
    """How the figure steps, looked for once."""
    found = figure.motion.found
    if "gait" not in found:
        found["gait"] = _find_gait(figure)
    return found["gait"]


def _find_gait(figure: Figure) -> Gait | None:
    """The strides of a figure that walks or runs; None where it does not.

    A foot's stances are told by its own speed, so neither the floor nor the way up is asked. The feet of a gait
    stand in turn: what hops with both feet at a time, or kicks, is none.
    """
    feet = figure.anatomy.feet
    if not figure.moves or len(feet) < 2:
        return None
    strides: list[float] = []
    lengths: list[float] = []
    stances: list[npt.NDArray[np.bool_]] = []
    for foot in feet:
        place = figure.places(foot)
        speed = np.linalg.norm(np.gradient(place, axis=0), axis=1)
        standing = speed < SLOW_FOOT * float(np.percentile(speed, 90))
        pair = np.ones(2)
        standing = np.asarray(ndimage.binary_closing(ndimage.binary_opening(standing, pair), pair), dtype=bool)
        stances.append(standing)
        middle = [(first + last) / 2.0 for first, last in runs(standing)]
        for begin, end in itertools.pairwise(middle):
            way = float(np.linalg.norm(place[round(end)] - place[round(begin)]))
            if way > SHORTEST_STRIDE:
                strides.append(end - begin)
                lengths.append(0.5 * way)
    if len(strides) < FEWEST_STRIDES:
        return None
    spread = float(np.std(np.log(strides)))
    moving = [~s for s in stances[:2]]
    together = float((moving[0] & moving[1]).sum() / max(1, min(m.sum() for m in moving)))
    if spread > EVEN or together > HOPPING:
        return None
    return Gait(
        figure.step * float(np.median(strides)), float(np.median(lengths)), spread, together, len(strides), len(feet)
    )


def fastest_fall(figure: Figure, up: str, window: float) -> float | None:
    """The greatest downward acceleration of the center of mass [leg lengths / frame²], smoothed over `window` frames.

    The fastest two in a hundred frames are left out; None where the clip is too short to tell.
    """
    height = along(figure.com, up)
    width = max(5, round(window / figure.step) | 1)
    if not figure.moves or len(height) < width + 4:
        return None
    # second derivative of the parabola that fits each window best (Savitzky and Golay 1964)
    half = width // 2
    square = np.arange(-half, half + 1, dtype=np.float64) ** 2
    square -= square.mean()
    fall = np.pad(-2.0 / float(square @ square) * np.convolve(height, square, mode="valid"), half, mode="edge")
    return float(np.percentile(fall, 98.0)) / figure.step**2


def busiest_frequency(figure: Figure) -> float | None:
    """The frequency below which nine tenths of the motion of joints lies [1 / frame]; None where there is too little.

    Motion of bodies is slow beside that of noise: what lies far above is measured where a body does not move.
    """
    if not figure.moves or len(figure.points) < 24:
        return None
    velocity: Array = np.gradient(figure.points - figure.com[:, None], axis=0)
    power = (np.abs(np.fft.rfft(velocity - velocity.mean(axis=0), axis=0)) ** 2).sum(axis=(1, 2))
    share = np.cumsum(power) / max(float(power.sum()), 1e-300)
    return float(np.fft.rfftfreq(len(velocity), figure.step)[int(np.searchsorted(share, 0.9))])
