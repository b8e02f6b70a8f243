"""A walker that stands, or nearly does, breathes, sways and shifts its weight."""

from __future__ import annotations

import math

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.typing import Array
from poise.filter.sensing import feet_of
from poise.locomotion.examples import Locomotion
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.world.living import alive, swaying

RESTS, TURNED = 0.3, 0.02
"""A figure slower than the first part of its slowest walk [1] begins to sway and breathe as one that stands. In which
directions is found anew once it has turned by more than the second [rad]."""


class Life:
    """Makes the poses of a walker lively, the more the slower it goes.

    Args:
        examples: Of the controller.
        figure: Fitted to them.
        seed: Number of the figure; no two sway and breathe as one.
    """

    def __init__(self, examples: Locomotion, figure: Character, seed: int = 0) -> None:
        self._examples, self._figure, self._seed = examples, figure, seed
        self._state, self._ways, self._faces = State(model_of(figure)), np.zeros(0), math.inf

    def enliven(self, q: Array, velocity: Array, heading: float, time: float) -> Array:
        """A pose (nq,) with breath and sway; the pose itself where the figure walks.

        Args:
            q: Of the walker, shape (nq,).
            velocity: Ahead, to the left [m/s], turning left [rad/s], shape (3,).
            heading: Where it faces, counterclockwise from world +x [rad].
            time: [s].
        """
        figure = self._figure
        moves = float(np.linalg.norm(velocity * self._examples.scale)) / (RESTS * self._examples.walk)
        if moves >= 1.0:
            return q
        if abs(heading - self._faces) > TURNED:
            self._faces, state = heading, self._state.at(q, np.zeros(figure.nv))
            ahead = np.array([math.cos(heading), math.sin(heading), 0.0])
            self._ways = swaying(state, np.concatenate(feet_of(figure)), ahead, figure.roles.get("chest", 0) + 1)
        change = (1.0 - rotations.eased(moves)) * self._ways @ alive(time, self._seed, figure.leg_scale)
        return self._state.model.integrate(q, change, 1.0)
