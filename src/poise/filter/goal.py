"""The moving goal: a particle that the push carries along, and a trunk that the push turns.

With the goal fixed to the reference's own center of mass a push is cancelled by the root. Moving, it is seen. Both
parts are exactly zero until something pushes. What moves them is the push times leg length / 0.82 m: by mechanics alone
an impulse gives figures of any size the same speed, so that a small one is thrown and a large one does not stir; so
each goes the same part of its leg, and comes back in the same time.
"""

from __future__ import annotations

from poise.filter.preset import Goal

Pair = tuple[float, float]
Vector = tuple[float, float, float]


class GoalParticle:
    """Horizontal displacement of the goal: ẍ = −ω² (x − d) − 2 ω (ẋ − ḋ) + f / m, d the way of the ground.

    Attributes:
        shift, velocity, acceleration: Of the goal against the reference along x and y [m], [m/s], [m/s²].
        ground, ground_velocity: Where it will rest [m], and how that moves [m/s].
    """

    def __init__(self, frequency: float) -> None:
        self.frequency = frequency
        self.shift: Pair = (0.0, 0.0)
        self.velocity: Pair = (0.0, 0.0)
        self.acceleration: Pair = (0.0, 0.0)
        self.ground: Pair = (0.0, 0.0)
        self.ground_velocity: Pair = (0.0, 0.0)

    @property
    def is_away(self) -> bool:
        """The goal is not at the reference's own place."""
        return any(self.shift)

    @property
    def is_at_rest(self) -> bool:
        """The goal is at the reference's own place and does not move from it."""
        return not (any(self.shift) or any(self.velocity))

    def accelerate(self, force: Vector, mass: float, ground_velocity: Pair) -> None:
        """Set the acceleration for this step from the force [N] and the ground's velocity [m/s]."""
        near, far = self.frequency * self.frequency, 2.0 * self.frequency
        (x, y), (vx, vy), (dx, dy) = self.shift, self.velocity, self.ground
        (fx, fy, _), (ux, uy) = force, ground_velocity
        self.acceleration = (
            near * (dx - x) + far * (ux - vx) + fx / mass,
            near * (dy - y) + far * (uy - vy) + fy / mass,
        )
        self.ground_velocity = ground_velocity

    def advance(self, dt: float) -> None:
        """Semi-implicit step, like the character's own."""
        (x, y), (vx, vy), (ax, ay) = self.shift, self.velocity, self.acceleration
        vx, vy = vx + dt * ax, vy + dt * ay
        self.velocity, self.shift = (vx, vy), (x + dt * vx, y + dt * vy)
        if any(self.ground_velocity):
            (dx, dy), (ux, uy) = self.ground, self.ground_velocity
            self.ground = dx + dt * ux, dy + dt * uy


class TrunkSway:
    """Turn of the trunk by the moment of the pushes: θ̈ = g (r × F) / I − ω² θ − 2 ζ ω θ̇.

    Attributes:
        turn, velocity, acceleration: Rotation vector in world axes [rad] and its rates.
        is_at_rest: Nothing has turned it yet; all three are zero.
    """

    def __init__(self, goal: Goal, mass: float, leg_scale: float) -> None:
        inertia = goal.sway_inertia * (mass / 70.0) * leg_scale**2
        self._push = goal.sway_gain / inertia
        self._spring, self._damper = goal.sway_frequency**2, 2.0 * goal.sway_damping * goal.sway_frequency
        self.turn: Vector = (0.0, 0.0, 0.0)
        self.velocity: Vector = (0.0, 0.0, 0.0)
        self.acceleration: Vector = (0.0, 0.0, 0.0)
        self.is_at_rest = True

    def accelerate(self, moment: Vector) -> None:
        """Set the acceleration for this step from the moment of the pushes about the center of mass [N m]."""
        if self.is_at_rest and not any(moment):
            return
        self.is_at_rest = False
        push, spring, damper = self._push, self._spring, self._damper
        (x, y, z), (vx, vy, vz), (mx, my, mz) = self.turn, self.velocity, moment
        self.acceleration = (
            push * mx - spring * x - damper * vx,
            push * my - spring * y - damper * vy,
            push * mz - spring * z - damper * vz,
        )

    def advance(self, dt: float) -> None:
        """Semi-implicit step."""
        if self.is_at_rest:
            return
        (x, y, z), (vx, vy, vz), (ax, ay, az) = self.turn, self.velocity, self.acceleration
        vx, vy, vz = vx + dt * ax, vy + dt * ay, vz + dt * az
        self.velocity, self.turn = (vx, vy, vz), (x + dt * vx, y + dt * vy, z + dt * vz)
