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
        self.ground, self.ground_velocity = np.zeros(2), np.zeros(2)

    @property
    def is_away(self) -> bool:
        """The goal is not at the reference's own place."""
        return any(self.shift.tolist())

    @property
    def is_at_rest(self) -> bool:
        """The goal is at the reference's own place and does not move from it."""
        return not (any(self.shift.tolist()) or any(self.velocity.tolist()))

    def accelerate(self, force: Array, mass: float, ground_velocity: Array) -> None:
        """Set the acceleration for this step from the force [N] (3,) and the ground's velocity [m/s] (2,)."""
        w = self.frequency
        near, far = w * w, 2.0 * w
        (x, y), (vx, vy), (dx, dy) = self.shift.tolist(), self.velocity.tolist(), self.ground.tolist()
        fx, fy, _ = force.tolist()
        ux, uy = ground_velocity.tolist()
        self.acceleration = np.array(
            (near * (dx - x) + far * (ux - vx) + fx / mass, near * (dy - y) + far * (uy - vy) + fy / mass)
        )
        self.ground_velocity = ground_velocity

    def advance(self, dt: float) -> None:
        """Semi-implicit step, like the character's own."""
        (x, y), (vx, vy), (ax, ay) = self.shift.tolist(), self.velocity.tolist(), self.acceleration.tolist()
        vx, vy = vx + dt * ax, vy + dt * ay
        self.velocity = np.array((vx, vy))
        self.shift = np.array((x + dt * vx, y + dt * vy))
        if any(self.ground_velocity.tolist()):
            self.ground = self.ground + dt * self.ground_velocity


class TrunkSway:
    """Turn of the trunk by the moment of the pushes: θ̈ = g (r × F) / I − ω² θ − 2 ζ ω θ̇.

    Attributes:
        turn, velocity, acceleration: Rotation vector in world axes [rad] and its rates, shape (3,).
        is_at_rest: Nothing has turned it yet; all three are zero.
    """

    def __init__(self, goal: Goal, mass: float, leg_scale: float) -> None:
        inertia = goal.sway_inertia * (mass / 70.0) * leg_scale**2
        self._push = goal.sway_gain / inertia
        self._spring, self._damper = goal.sway_frequency**2, 2.0 * goal.sway_damping * goal.sway_frequency
        self.turn, self.velocity, self.acceleration = np.zeros(3), np.zeros(3), np.zeros(3)
        self.is_at_rest = True

    def accelerate(self, moment: Array) -> None:
        """Set the acceleration for this step from the moment of the pushes about the center of mass [N m]."""
        if self.is_at_rest and not any(moment.tolist()):
            return
        self.is_at_rest = False
        self.acceleration = self._push * moment - self._spring * self.turn - self._damper * self.velocity

    def advance(self, dt: float) -> None:
        """Semi-implicit step."""
        if self.is_at_rest:
            return
        self.velocity = self.velocity + dt * self.acceleration
        self.turn = self.turn + dt * self.velocity
