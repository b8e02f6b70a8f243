"""How a body follows the ground: root height, and a lean towards the slope. Both are zero on flat ground."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.control.plan import PlannedFrame
from poise.control.preset import Ground
from poise.terrain import Terrain

Array = npt.NDArray[np.float64]


class GroundFollower:
    """Height of the ground under the root, and its slope, smoothed.

    The height is the mean of five places, the middle and the ends of a cross along the world's axes, looked ahead by
    2/ω so that the critically damped filter does not trail on a slope. It never depends on which feet stand: a runner
    has none most of the time. With a plan over the ground the height is the plan's, and the filter follows only what
    a displaced goal makes different.

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
        self._extra = self._extra_velocity = self._extra_acceleration = 0.0

    def accelerate(
        self, root: Array, root_velocity: Array, shift: Array, time: float, planned: PlannedFrame | None = None
    ) -> None:
        """Set the rates for this step.

        Args:
            root, root_velocity: Of the reference [m], [m/s], shape (3,).
            shift: Of the goal [m], shape (2,).
            time: [s].
            planned: The plan over the ground, if there is one.
        """
        if self._terrain.is_flat:
            return
        w = self._settings.frequency
        ahead = root[:2] + (2.0 / w) * root_velocity[:2]
        r = self._reach
        cross = np.array([[0.0, 0.0], [r, 0.0], [-r, 0.0], [0.0, r], [0.0, -r]])
        h = self._terrain.heights(ahead + shift + cross, time) - self._floor
        target = float(h.mean())
        slope = np.array([h[1] - h[2], h[3] - h[4]]) / (2.0 * r)
        size = float(np.linalg.norm(slope))
        # the axis z × gradient tips up towards uphill
        wanted = np.zeros(3)
        if size > 1e-9:
            wanted[0], wanted[1] = -slope[1], slope[0]
            wanted *= np.arctan(size) / size
        if planned is not None:
            target = (
                float((h - self._terrain.heights(ahead + cross, time) + self._floor).mean()) if shift.any() else 0.0
            )
        elif not self._started:
            here = root[:2] + shift + cross
            self._extra = float((self._terrain.heights(here, time) - self._floor).mean())
            self._extra_velocity = float(slope @ root_velocity[:2])
        self._started = True
        # with the look-ahead a steady ramp is followed exactly
        self._extra_acceleration = w * w * (target - self._extra) - 2.0 * w * self._extra_velocity
        self._plan(planned)
        s = self._settings.lean_frequency
        self.turn_velocity = s * (wanted - self.turn)

    @property
    def is_level(self) -> bool:
        """Nothing tips the figure."""
        return not (any(self.turn.tolist()) or any(self.turn_velocity.tolist()))

    def carry(self, planned: PlannedFrame | None = None) -> None:
        """A step in which nothing is solved: the plan goes on, the rest coasts."""
        self._extra_acceleration = 0.0
        self._plan(planned)

    def _plan(self, planned: PlannedFrame | None) -> None:
        self.height, self.velocity = self._extra, self._extra_velocity
        self.acceleration = self._extra_acceleration
        if planned is not None:
            self.height += planned.height
            self.velocity += planned.height_velocity
            self.acceleration += planned.height_acceleration

    def advance(self, dt: float) -> None:
        """Semi-implicit step."""
        self._extra_velocity += dt * self._extra_acceleration
        self._extra += dt * self._extra_velocity
        self.turn = self.turn + dt * self.turn_velocity
