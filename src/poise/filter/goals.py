"""Point goals: a place on a body with a target of its own, such as a hand held on a rail while shoved."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.filter.forces import acts


@dataclass(frozen=True)
class PointGoal:
    """A place on a body that goes to a target, critically damped, and stays.

    Attributes:
        body: A joint's own name or a role.
        target: World place [m] (3,); or one for each frame of the clip or stream, shape (F, 3); or (times [s] (N,),
            places (N, 3)), from the first frame on; or a function of time [s] that gives one. Between given places
            the target moves on a cubic spline, before the first and after the last it rests.
        start, duration: When it acts [s].
        offset: The place in the body's frame [m]; the joint itself by default.
        is_hard: A constraint of the step; soft goals give way to others.
    """

    body: str
    target: tuple[float, float, float] | Array | tuple[Array, Array] | Callable[[float], Array]
    start: float = 0.0
    duration: float = math.inf
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    is_hard: bool = True

    def __post_init__(self) -> None:
        if callable(self.target) or (len(self.target) == 3 and np.ndim(self.target[0]) == 0):
            return
        if isinstance(self.target, tuple) and len(self.target) == 2:
            object.__setattr__(self, "target", _path(self.body, *self.target))
        elif np.ndim(self.target) != 2 or np.shape(self.target)[1] != 3:
            raise InvalidValue(
                f"The goal of {self.body!r} has a target of shape {np.shape(self.target)}; give a place (3,), one for "
                "each frame (F, 3), (times, places), or a function of time."
            )

    def timed(self, times: Array | float) -> PointGoal:
        """The goal with a place per frame bound to the frames' times; any other goal as it is.

        Args:
            times: Of the frames [s], shape (F,), or the time between two [s].

        Raises:
            InvalidValue: if there are not as many places as frames.
        """
        if callable(self.target) or np.ndim(self.target) != 2:
            return self
        places = np.asarray(self.target)
        own = times * np.arange(len(places)) if isinstance(times, float | int) else times - times[0]
        return replace(self, target=(own, places))

    def is_on(self, time: float) -> bool:
        return acts(self.start, self.duration, time)

    def place(self, time: float) -> Array:
        """Target now [m], shape (3,)."""
        value = np.asarray(self.target(time) if callable(self.target) else self.target, dtype=np.float64)
        if value.shape != (3,) or not np.isfinite(value).all():
            raise InvalidValue(f"The goal of {self.body!r} at {time:.3f} s is {value}; give three finite meters.")
        return value


def _path(body: str, times: Array, places: Array) -> Callable[[float], Array]:
    """Places over time as a function: a cubic spline, at rest before and after."""
    times, places = np.asarray(times, dtype=np.float64), np.asarray(places, dtype=np.float64)
    if times.ndim != 1 or places.shape != (len(times), 3) or not len(times):
        raise InvalidValue(
            f"The goal of {body!r} has times of shape {times.shape} and places of shape {places.shape}; give (N,) and "
            "(N, 3), as many places as times or frames."
        )
    if not (np.isfinite(times).all() and np.isfinite(places).all() and (np.diff(times) > 0.0).all()):
        raise InvalidValue(f"The goal of {body!r} needs finite places at finite times that rise.")
    if len(times) == 1:
        return lambda time: places[0]
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(times, places)
    return lambda time: np.asarray(spline(min(max(time, times[0]), times[-1])))


_FORM = "JOINT X,Y,Z [@START+DURATION]"


def parse_goal(text: str) -> PointGoal:
    """Read "JOINT X,Y,Z [@START+DURATION]" in meters and seconds; the name may hold spaces.

    Raises:
        InvalidValue: with the form that is wanted.
    """
    match = re.match(r"^(?P<body>.+)\s+(?P<place>[^\s@]+)(\s+@(?P<start>[^+\s]+)(\+(?P<duration>\S+))?)?\s*$", text)
    try:
        if match is None:
            raise ValueError
        x, y, z = (float(w) for w in match["place"].split(","))
        start = 0.0 if match["start"] is None else float(match["start"])
        duration = math.inf if match["duration"] is None else float(match["duration"])
    except ValueError:
        raise InvalidValue(
            f"Cannot read {text!r}. Write it as {_FORM!r}, for example 'left_hand 0.4,0.3,1.1 @1+2'."
        ) from None
    return PointGoal(match["body"].strip(), (x, y, z), start, duration)
