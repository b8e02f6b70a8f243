"""How a body follows the ground: root height, and a lean towards the slope. Both are zero on flat ground."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.control.preset import Ground
from poise.terrain import Terrain

Array = npt.NDArray[np.float64]


class GroundFollower:
    """Height of the ground under the root, and its slope, smoothed.

    The height is the mean of five places, the middle and the ends of a cross along the world's axes, looked ahead by
    2/ω so that the critically damped filter does not trail on a slope. It never depends on which feet stand: a runner
    has none most of the time.

    Attributes:
        height, velocity, acceleration: Of the root against the reference [m] and its rates.
        turn, turn_velocity: Rotation vector that tips an up axis uphill by the slope's angle [rad], and its rate,
            shape (3,); its inverse lays a level body along the slope.
    """

    def __init__(self, settings: Ground, terrain: Terrain, floor: float, reach: float) -> None:
        self._settings, self._terrain, self._floor = settings, terrain, floor
        self._reach = reach
        self.height = self.velocity = self.acceleration = 0.0
        self.turn, self.turn_velocity = np.zeros(3), np.zeros(3)
        self._started = False

    def accelerate(self, root: Array, root_velocity: Array, time: float) -> None:
        """Set the rates for this step from where the reference root (moved by the goal) is and goes."""
        if self._terrain.is_flat:
            return
        w = self._settings.frequency
        ahead = root[:2] + (2.0 / w) * root_velocity[:2]
        r = self._reach
        places = ahead + np.array([[0.0, 0.0], [r, 0.0], [-r, 0.0], [0.0, r], [0.0, -r]])
        h = self._terrain.heights(places, time) - self._floor
        target = float(h.mean())
        slope = np.array([h[1] - h[2], h[3] - h[4]]) / (2.0 * r)
        size = float(np.linalg.norm(slope))
        # the axis z × gradient tips up towards uphill
        wanted = np.zeros(3)
        if size > 1e-9:
            wanted[0], wanted[1] = -slope[1], slope[0]
            wanted *= np.arctan(size) / size
        if not self._started:
            self._started = True
            here = root[:2] + np.array([[0.0, 0.0], [r, 0.0], [-r, 0.0], [0.0, r], [0.0, -r]])
            self.height = float((self._terrain.heights(here, time) - self._floor).mean())
            self.velocity = float(slope @ root_velocity[:2])
        # with the look-ahead a steady ramp is followed exactly
        self.acceleration = w * w * (target - self.height) - 2.0 * w * self.velocity
        s = self._settings.lean_frequency
        self.turn_velocity = s * (wanted - self.turn)

    def advance(self, dt: float) -> None:
        """Semi-implicit step."""
        self.velocity += dt * self.acceleration
        self.height += dt * self.velocity
        self.turn = self.turn + dt * self.turn_velocity
