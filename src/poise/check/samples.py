"""What one clip gives to the statistics of a library."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


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
