"""A captured motion as something to follow."""

from __future__ import annotations

import numpy as np

from poise.body.character import Character
from poise.body.posing import interpolate_q, motion_to_q
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.physics import Model
from poise.physics.from_character import model_of

SPAN = 0.01
"""Velocities are differences over this time [s]."""


class MotionClip:
    """A motion of a character at any time, its ends held; see `methods.goals.view.Clip`."""

    def __init__(self, motion: Motion, character: Character) -> None:
        """Take a motion.

        Args:
            motion: Of the character's own skeleton.
            character: Who follows it.

        Raises:
            InvalidValue: if the motion is another skeleton's.
        """
        if motion.skeleton.names != character.skeleton.names:
            raise InvalidValue(
                f"The clip moves a skeleton of {len(motion.skeleton.names)} joints, the figure has another of "
                f"{len(character.skeleton.names)}. Fit the figure to the clip's own skeleton."
            )
        self._character = character
        self._model: Model = model_of(character)
        self._times = motion.times - motion.times[0]
        self._q = motion_to_q(character, motion)

    def at(self, time: float) -> tuple[Array, Array]:
        """Coordinates (nq,) and velocities (nv,) at a time [s]."""
        ends = np.clip([time - SPAN / 2.0, time, time + SPAN / 2.0], 0.0, self._times[-1])
        before, now, after = interpolate_q(self._character, self._times, self._q, ends)
        span = float(ends[2] - ends[0])
        return now, self._model.difference(before, after, span) if span > 0.0 else np.zeros(self._character.nv)
