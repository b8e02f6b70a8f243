"""How much of an edit, where, and how it fades in and out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array


@dataclass(frozen=True)
class Scope:
    """How much of an edit is kept, and where it may act.

    Example:
        >>> scope = poise.edit.Scope(amount=0.5, interval=(0.1, 0.4))  # half of the change, in this part only
        >>> edited = poise.edit.ground(motion, character, scope=scope, verify=False)

    Attributes:
        amount: Part of the change that is kept, 0 … 1; 0 gives the motion back as it was.
        interval: First and last time at which anything may change [s]; None for the whole clip.
        blend: Time over which a change comes and goes at the borders of what it is for [s].
    """

    amount: float = 1.0
    interval: tuple[float, float] | None = None
    blend: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 <= self.amount <= 1.0:
            raise InvalidValue(f"amount is {self.amount}; give a number from 0 to 1.")
        if not (math.isfinite(self.blend) and self.blend >= 0.0):
            raise InvalidValue(f"blend is {self.blend} s; give zero or a positive time.")
        if self.interval is not None:
            start, end = self.interval
            if not (math.isfinite(start) and math.isfinite(end) and start < end):
                raise InvalidValue(f"The interval {start:g}:{end:g} is empty; give a start before its end, in seconds.")

    def frames(self, motion: Motion) -> tuple[int, int]:
        """First and last frame that may change.

        Raises:
            InvalidValue: if the interval holds no frame of the motion.
        """
        if self.interval is None:
            return 0, motion.frame_count - 1
        slack = 0.01 * motion.dt
        inside = np.flatnonzero((motion.times >= self.interval[0] - slack) & (motion.times <= self.interval[1] + slack))
        if not len(inside):
            raise InvalidValue(
                f"No frame lies in the interval {self.interval[0]:g}:{self.interval[1]:g} s; the motion lasts "
                f"{motion.duration:.4g} s."
            )
        return int(inside[0]), int(inside[-1])

    def weights(self, motion: Motion) -> Array:
        """Part of a change that each frame takes, shape (F,): 0 outside of the interval, rising to 1 inside it.

        A border at an end of the clip does not fade.
        """
        first, last = self.frames(motion)
        weights = np.zeros(motion.frame_count)
        times = motion.times[first : last + 1]
        inside = np.ones(last - first + 1)
        if self.interval is not None and self.blend > 0.0:
            blend = min(self.blend, 0.5 * float(times[-1] - times[0]))
            if first > 0:
                inside *= smooth_step((times - times[0]) / max(blend, 1e-12))
            if last < motion.frame_count - 1:
                inside *= smooth_step((times[-1] - times) / max(blend, 1e-12))
        weights[first : last + 1] = inside
        return weights


def smooth_step(x: Array) -> Array:
    """0 up to x = 0, 1 from x = 1 on, with first and second derivatives zero at both: 6x⁵ − 15x⁴ + 10x³."""
    x = np.clip(x, 0.0, 1.0)
    return x * x * x * (x * (6.0 * x - 15.0) + 10.0)
