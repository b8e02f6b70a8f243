"""What clips give to a library: samples for statistics, and facts by which clips of one skeleton are compared."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from poise.core.typing import Array


def _none() -> Array:
    return np.zeros(0)


@dataclass(frozen=True)
class FlightSample:
    """One flight, frame by frame, in the frame of its own ground track.

    Attributes:
        frames: First and last frame.
        gravity: Of the fitted parabola [g].
        uncertainty: Its standard error [g].
        track: Distance of the center of mass from the straight ground line over its length, shape (n,); NaN
            where the line has no length to speak of.
        linear: (p - mean p) / |mean p|, horizontal: along and across the track, shape (n, 2).
        angular: (L - mean L) / |mean L|: along, up, across, shape (n, 3); NaN where the mean is near zero.
    """

    frames: tuple[int, int]
    gravity: float
    uncertainty: float
    track: Array
    linear: Array
    angular: Array

    @property
    def is_clear(self) -> bool:
        """True if the flight tells its gravity: twice the uncertainty is less than half of it."""
        return self.gravity > 4.0 * self.uncertainty


@dataclass(frozen=True)
class Samples:
    """Everything the statistics want of one clip.

    Attributes:
        frames: Number of frames.
        gait: "walk", "run" or "other".
        flights: Its flights.
        cop: Signed distance of the center of pressure from the support over the support's radius, at the frames
            where something carries load; positive outside, shape (m,).
        is_counted: False where the clip's frame rate is wrong: all of this depends on time.
    """

    frames: int = 0
    gait: str = "other"
    flights: tuple[FlightSample, ...] = ()
    cop: Array = field(default_factory=_none)
    is_counted: bool = True

    @property
    def flight_frames(self) -> int:
        """Frames in the air."""
        return sum(f.frames[1] - f.frames[0] + 1 for f in self.flights)


WALK_SPEED, RUN_FLIGHT, WALK_FLIGHT = 0.3, 0.1, 0.02
"""A gait travels at least this many leg lengths a second; a run is in the air for at least this share of its frames, a
walk for no more than that [1]."""
LEAST_STEPS = 2
"""A gait puts one foot down and then another at least so often."""


def gait_of(speed: float, flight_share: float, double_share: float, single_share: float, steps: int) -> str:
    """The class of a clip by its phases: "walk", "run" or "other".

    A walk travels from foot to foot with one or two on the ground at all times, and with two for a part of them; a run
    travels from foot to foot with flights and hardly any double support.

    Args:
        speed: Mean horizontal speed [leg lengths / s].
        flight_share: Share of frames in the air [1].
        double_share: Share of frames on two feet or more [1].
        single_share: Share of frames on one foot [1].
        steps: How often a foot lands and the one that landed before it was another.
    """
    if speed < WALK_SPEED or steps < LEAST_STEPS:
        return "other"
    if flight_share >= RUN_FLIGHT and double_share < flight_share:
        return "run"
    if flight_share <= WALK_FLIGHT and double_share > 0.02 and single_share > 0.1:
        return "walk"
    return "other"


LEAST_CLIPS = 4
"""Clips that say what is usual; of fewer nobody is called unusual."""
SPREADS = 3.5
"""A clip leaves the spread beyond this many robust standard deviations of the group [1]."""
ROBUST = 1.4826
"""Standard deviation over median absolute deviation, of normal values [1]."""

QUANTITIES: dict[str, tuple[str, str, float]] = {
    "gravity": ("implied gravity", "g", 0.25),
    "leg": ("leg length", "m", 0.05),
    "size": ("size the motion implies", "×", 0.25),
    "step": ("time of a step", "s", 0.2),
}
"""Each quantity: in words, unit, and the smallest spread that is believed, as |ln of a ratio|: animators and people
differ by that much anyway."""


@dataclass(frozen=True)
class Facts:
    """What a clip says of its character.

    Attributes:
        skeleton: A key that clips of one skeleton share.
        gait: "walk", "run" or "other"; step times are compared within one gait.
        values: Each quantity it has a value for, all positive.
    """

    skeleton: str
    gait: str
    values: dict[str, float]


@dataclass(frozen=True)
class Stray:
    """A clip that leaves its group's spread."""

    clip: str
    quantity: str
    value: float
    usual: float
    low: float
    high: float
    sentence: str


@dataclass(frozen=True)
class Group:
    """The clips of one skeleton."""

    skeleton: str
    clips: tuple[str, ...]
    strays: tuple[Stray, ...]


def compare(facts: Sequence[tuple[str, Facts]]) -> tuple[Group, ...]:
    """Groups of clips by skeleton, each with those that leave its spread, the farthest first.

    The middle is the median and the spread the median absolute deviation, both of logarithms, so that a few strays
    do not hide each other and twice as much is as far as half.

    Args:
        facts: Name and facts of each clip.

    Source: the discussion of [ShapiroLee2011]_ asks for clips of one character that agree; the statistics are ours.
    """
    by_skeleton: dict[str, list[tuple[str, Facts]]] = defaultdict(list)
    for name, fact in facts:
        by_skeleton[fact.skeleton].append((name, fact))
    groups = []
    for skeleton, members in by_skeleton.items():
        strays: list[tuple[float, Stray]] = []
        for quantity in QUANTITIES:
            sets = [members]
            if quantity == "step":
                sets = [[m for m in members if m[1].gait == gait] for gait in ("walk", "run")]
            for chosen in sets:
                strays += _strays(quantity, [(n, f.values[quantity]) for n, f in chosen if quantity in f.values])
        strays.sort(key=lambda s: -s[0])
        groups.append(Group(skeleton, tuple(n for n, _ in members), tuple(s for _, s in strays)))
    return tuple(groups)


def _strays(quantity: str, named: list[tuple[str, float]]) -> list[tuple[float, Stray]]:
    named = [(n, v) for n, v in named if math.isfinite(v) and v > 0.0]
    if len(named) < LEAST_CLIPS:
        return []
    words, unit, least = QUANTITIES[quantity]
    logs = np.log([v for _, v in named])
    middle = float(np.median(logs))
    # against the smallest believed spread, so that a library that agrees to a hair is not full of strays
    half = max(SPREADS * ROBUST * float(np.median(np.abs(logs - middle))), least)
    usual, low, high = math.exp(middle), math.exp(middle - half), math.exp(middle + half)
    found = []
    for (name, value), log in zip(named, logs):
        away = abs(float(log) - middle)
        if away > half:
            sentence = (
                f"{words} {value:.3g} {unit}; its {len(named)} companions have {usual:.3g} {unit}, "
                f"most of them {low:.3g}–{high:.3g}"
            )
            found.append((away / half, Stray(name, quantity, value, usual, low, high, sentence)))
    return found
