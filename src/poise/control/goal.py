"""The moving goal: a particle that the push carries along, and a trunk that the push turns.

With the goal fixed to the reference's own center of mass a push is cancelled by the root. Moving, it is seen. Both
parts are exactly zero until something pushes. What moves them is the push times leg length / 0.82 m: by mechanics alone
an impulse gives figures of any size the same speed, so that a small one is thrown and a large one does not stir; so
each goes the same part of its leg, and comes back in the same time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.control.preset import Goal

Array = npt.NDArray[np.float64]


class GoalParticle:
    """Horizontal displacement of the goal: ẍ = −ω² (x − d) − 2 ω (ẋ − ḋ) + f / m, d the way of the ground.

    Attributes:
        shift, velocity, acceleration: Of the goal against the reference [m], [m/s], [m/s²], shape (2,).
    """

    def __init__(self, frequency: float) -> None:
        self.frequency = frequency
        self.shift, self.velocity, self.acceleration = np.zeros(2), np.zeros(2), np.zeros(2)
        self.ground = np.zeros(2)

    def accelerate(self, force: Array, mass: float, ground_velocity: Array) -> None:
        """Set the acceleration for this step from the force [N] (3,) and the ground's velocity [m/s] (2,)."""
        w = self.frequency
        self.acceleration = (
            w * w * (self.ground - self.shift) + 2.0 * w * (ground_velocity - self.velocity) + force[:2] / mass
        )
        self.ground_velocity = ground_velocity

    def advance(self, dt: float) -> None:
        """Semi-implicit step, like the character's own."""
        self.velocity = self.velocity + dt * self.acceleration
        self.shift = self.shift + dt * self.velocity
        self.ground = self.ground + dt * self.ground_velocity


class TrunkSway:
    """Turn of the trunk by the moment of the pushes: θ̈ = g (r × F) / I − ω² θ − 2 ζ ω θ̇.

    Attributes:
        turn, velocity, acceleration: Rotation vector in world axes [rad] and its rates, shape (3,).
    """

    def __init__(self, goal: Goal, mass: float, leg_scale: float) -> None:
        self._goal = goal
        self._inertia = goal.sway_inertia * (mass / 70.0) * leg_scale**2
        self.turn, self.velocity, self.acceleration = np.zeros(3), np.zeros(3), np.zeros(3)

    def accelerate(self, moment: Array) -> None:
        """Set the acceleration for this step from the moment of the pushes about the center of mass [N m]."""
        g = self._goal
        self.acceleration = (
            g.sway_gain * moment / self._inertia
            - g.sway_frequency**2 * self.turn
            - 2.0 * g.sway_damping * g.sway_frequency * self.velocity
        )

    def advance(self, dt: float) -> None:
        """Semi-implicit step."""
        self.velocity = self.velocity + dt * self.acceleration
        self.turn = self.turn + dt * self.velocity
