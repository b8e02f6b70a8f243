"""How a body follows the ground: root height, and a lean towards the slope. Both are zero on flat ground."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from poise.control.plan import PlannedFrame
from poise.control.preset import Ground
from poise.terrain import Terrain

Array = npt.NDArray[np.float64]
Vector = tuple[float, float, float]


class GroundFollower:
    """Height of the ground under the root, and its slope, smoothed.

    The height is the mean of five places, the middle and the ends of a cross along the world's axes, looked ahead by
    2/ω so that the critically damped filter does not trail on a slope. It never depends on which feet stand: a runner
    has none most of the time. With a plan over the ground the height is the plan's, and the filter follows only what
    a displaced goal makes different.

    Attributes:
        height, velocity, acceleration: Of the root against the reference [m] and its rates.
        turn, turn_velocity: Rotation vector that tips an up axis uphill by the slope's angle [rad], and its rate; its
            inverse lays a level body along the slope.
    """

    def __init__(self, settings: Ground, terrain: Terrain, floor: float, reach: float) -> None:
        self._settings, self._terrain, self._floor = settings, terrain, floor
        self._reach, self._cross = reach, reach * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
        self.height = self.velocity = self.acceleration = 0.0
        self.turn: Vector = (0.0, 0.0, 0.0)
        self.turn_velocity: Vector = (0.0, 0.0, 0.0)
        self._started = False
        self._extra = self._extra_velocity = self._extra_acceleration = 0.0

    def accelerate(
        self, root: Array, root_velocity: Array, shift: tuple[float, float], time: float,
        planned: PlannedFrame | None = None,
    ) -> None:  # fmt: skip
        """Set the rates for this step.

        Args:
            root, root_velocity: Of the reference [m], [m/s], shape (3,).
            shift: Of the goal [m].
            time: [s].
            planned: The plan over the ground, if there is one.
        """
        if self._terrain.is_flat:
            return
        w = self._settings.frequency
        (x, y, _), (vx, vy, _), (dx, dy) = root.tolist(), root_velocity.tolist(), shift
        ahead_x, ahead_y = x + (2.0 / w) * vx, y + (2.0 / w) * vy
        target, slope_x, slope_y = self._below(ahead_x + dx, ahead_y + dy, time)
        size = math.sqrt(slope_x * slope_x + slope_y * slope_y)
        # the axis z × gradient tips up towards uphill
        tip = math.atan(size) / size if size > 1e-9 else 0.0
        if planned is not None:
            target = target - self._below(ahead_x, ahead_y, time)[0] if dx or dy else 0.0
        elif not self._started:
            self._extra = self._below(x + dx, y + dy, time)[0]
            self._extra_velocity = slope_x * vx + slope_y * vy
        self._started = True
        # with the look-ahead a steady ramp is followed exactly
        self._extra_acceleration = w * w * (target - self._extra) - 2.0 * w * self._extra_velocity
        self._plan(planned)
        s, (turn_x, turn_y, turn_z) = self._settings.lean_frequency, self.turn
        self.turn_velocity = s * (-slope_y * tip - turn_x), s * (slope_x * tip - turn_y), -s * turn_z

    def _below(self, x: float, y: float, time: float) -> tuple[float, float, float]:
        """Mean height of the cross around a place above the reference's floor [m], and the slope there along x, y."""
        r, floor = self._reach, self._floor
        heights = self._terrain.heights(np.add(self._cross, (x, y)), time).tolist()
        middle, east, west, north, south = [height - floor for height in heights]
        return (middle + east + west + north + south) / 5.0, (east - west) / (2.0 * r), (north - south) / (2.0 * r)

    @property
    def is_level(self) -> bool:
        """Nothing tips the figure."""
        return not (any(self.turn) or any(self.turn_velocity))

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
        (x, y, z), (vx, vy, vz) = self.turn, self.turn_velocity
        self.turn = x + dt * vx, y + dt * vy, z + dt * vz
