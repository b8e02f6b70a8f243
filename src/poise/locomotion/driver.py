"""A locomotion controller as what drives a figure of a world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.body.character import Character, fit
from poise.body.posing import motion_to_q
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.forces import Force, Push
from poise.filter.preset import Preset
from poise.filter.setup import Options
from poise.locomotion.examples import Locomotion
from poise.locomotion.walker import Pose, Walker
from poise.terrain import Terrain
from poise.world import Driver, Stream
from poise.world.drivers import Lists


class Walking(Driver):
    """A figure that goes as fast as you say, through the quasi-physical filter.

    Example:
        >>> ada = poise.locomotion.Walking(examples)
        >>> world = poise.World("rubble:20,1", figures={"ada": ada})
        >>> ada.velocity, ada.turn = (1.2, 0.0), 0.3

    What pushes it, and what it runs into, changes the velocity of the controller as well, and the filter adds what the
    body does about it. Source: [Levine2012]_ appendix A.

    Args:
        examples: From `build` or `load`.
        character: Fitted to the examples if not given.
        place: Where it starts [m], shape (2,).
        heading: Where it faces, counterclockwise from +x [rad].
        preset: Name of a preset, or the preset.
        options: Of the filter.

    Attributes:
        examples: Of the controller.
        velocity: Asked for: ahead and to the left [m/s].
        turn: Asked for: turning to the left [rad/s].
        walker: The controller, once the figure has begun.
    """

    def __init__(
        self, examples: Locomotion, character: Character | None = None, *, place: Sequence[float] = (0.0, 0.0),
        heading: float = 0.0, preset: str | Preset = "recommended", options: Options | None = None,
    ) -> None:  # fmt: skip
        self.character = fit(examples.motion) if character is None else character
        self.examples, self._place, self._heading = examples, place, heading
        self._preset, self._options = preset, options
        self.velocity, self.turn = (0.0, 0.0), 0.0

    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        self._figure, place, heading = character, self._place, self._heading
        if start is not None:
            ahead = self._q(Walker(self.examples, dt).step((0.0, 0.0)))
            place, heading = start[0][:2].tolist(), rotations.yaw_to(ahead[3:7], start[0][3:7])
        self.walker = Walker(self.examples, dt, place=place, heading=heading)
        first = self._q(self.walker.step((0.0, 0.0)))
        self._stream = Stream(character, first, preset=self._preset, options=self._options)
        self._stream.begin(character, dt, terrain, start)
        self.q, self.v = self._stream.q, self._stream.v

    def _q(self, pose: Pose) -> Array:
        one = Motion(self.examples.motion.skeleton, np.zeros(1), pose.translations[None], pose.rotations[None])
        return motion_to_q(self._figure, one)[0]

    def ask(self, forces: Sequence[Force]) -> Lists | None:
        walker, still = self.walker, np.zeros(3)
        for force in forces:
            if isinstance(force, Push) or force.is_solved_for:
                impulse = walker.dt * force.force_at(still, still, 0.0, self._figure.mass)
                walker.push(impulse[:2] / self._figure.mass)
        self._stream.give(self._q(walker.step(self.velocity, self.turn)))
        lists = self._stream.ask(forces)
        self.q, self.v = self._stream.q, self._stream.v
        return lists

    def move(self, lists: Lists, force: Array) -> None:
        self._stream.move(lists, force)
        self.q, self.v = self._stream.q, self._stream.v
