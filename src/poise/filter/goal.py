"""The moving goal: a particle that the push carries along, and a trunk that the push turns.

With the goal fixed to the reference's own center of mass a push is cancelled by the root. Moving, it is seen. Both
parts are exactly zero until something pushes. What moves them is the push times leg length / 0.82 m: by mechanics alone
an impulse gives figures of any size the same speed, so that a small one is thrown and a large one does not stir; so
each goes the same part of its leg, and comes back in the same time.
"""

from __future__ import annotations

from poise.filter.preset import Goal

FRESH = 1e-3
"""A trunk turned by less than this [rad] when flight begins turns with the whole figure at once."""
WHOLE_HALFLIFE = 0.06
"""Else the rest of the figure joins it, and after landing leaves it, with this half-life [s]."""

Pair = tuple[float, float]
Vector = tuple[float, float, float]


class GoalParticle:
    """Horizontal displacement of the goal: ẍ = −ω² (x − d) − 2 ω (ẋ − ḋ) + f / m, d the way of the ground.

    Attributes:
        shift, velocity, acceleration: Of the goal against the reference along x and y [m], [m/s], [m/s²].
        height, height_velocity, height_acceleration: Of the root against the reference, upward.
        rest: Where protective steps take it, against where it would rest else [m].
        ground, ground_velocity: Where it will rest [m], and how that moves [m/s].
    """

    def __init__(self, goal: Goal, leg_length: float) -> None:
        self.frequency, self.vertical_frequency = goal.frequency, goal.vertical_frequency
        self._lowest, self._highest = goal.lowest * leg_length, goal.highest * leg_length
        self.height = self.height_velocity = self.height_acceleration = 0.0
        self.shift: Pair = (0.0, 0.0)
        self.velocity: Pair = (0.0, 0.0)
        self.acceleration: Pair = (0.0, 0.0)
        self.ground: Pair = (0.0, 0.0)
        self.ground_velocity: Pair = (0.0, 0.0)
        self.rest: Pair = (0.0, 0.0)

    @property
    def is_away(self) -> bool:
        """The goal is not at the reference's own place."""
        return any(self.shift)

    @property
    def home(self) -> Pair:
        """Where it will rest, with the ground's way and the protective steps' [m]."""
        return self.ground[0] + self.rest[0], self.ground[1] + self.rest[1]

    @property
    def pressed(self) -> float:
        """How far the legs must bend for the height, 0 … 1."""
        way = max(-self.height, 0.0) / self._lowest
        return way / (way + 0.1)

    @property
    def is_at_rest(self) -> bool:
        """The goal is at the reference's own place and does not move from it."""
        return not (any(self.shift) or any(self.velocity) or self.height or self.height_velocity)

    def accelerate(
        self, force: Vector, mass: float, ground_velocity: Pair, dt: float, *, flies: bool = False, weight: float = 0.0
    ) -> None:
        """Set the acceleration for this step.

        Where the figure flies nothing brings the goal back: it keeps its momentum, and the landing moves.

        Args:
            force: [N].
            mass: Of the figure [kg].
            ground_velocity: [m/s].
            dt: [s].
            flies: Nothing touches.
            weight: Gravity that the reference does not feel there, since it stands [m/s²].
        """
        near, far = (0.0, 0.0) if flies else (self.frequency * self.frequency, 2.0 * self.frequency)
        (x, y), (vx, vy), (dx, dy) = self.shift, self.velocity, self.home
        (fx, fy, fz), (ux, uy) = force, ground_velocity
        self.acceleration = (
            near * (dx - x) + far * (ux - vx) + fx / mass,
            near * (dy - y) + far * (uy - vy) + fy / mass,
        )
        self.ground_velocity = ground_velocity
        if fz or self.height or self.height_velocity:
            z, w = self.height, 0.0 if flies else self.vertical_frequency
            part = z / (self._lowest if z < 0.0 else self._highest)
            free = fz / mass - weight - w * w * (1.0 + part * part) * z - 2.0 * w * self.height_velocity
            self.height_acceleration = free / (1.0 + 2.0 * w * dt + w * w * (1.0 + 3.0 * part * part) * dt * dt)

    def advance(self, dt: float) -> None:
        """Semi-implicit step, like the character's own."""
        (x, y), (vx, vy), (ax, ay) = self.shift, self.velocity, self.acceleration
        vx, vy = vx + dt * ax, vy + dt * ay
        self.velocity, self.shift = (vx, vy), (x + dt * vx, y + dt * vy)
        self.height_velocity += dt * self.height_acceleration
        self.height += dt * self.height_velocity
        if any(self.ground_velocity):
            (dx, dy), (ux, uy) = self.ground, self.ground_velocity
            self.ground = dx + dt * ux, dy + dt * uy


class TrunkSway:
    """Turn of the trunk by the moment of the pushes: θ̈ = g (r × F) / I − ω² θ − 2 ζ ω θ̇.

    Attributes:
        turn, velocity, acceleration: Rotation vector in world axes [rad] and its rates.
        whole: How far the legs and the root turn with it, 1 in flight … 0 on the ground.
        is_at_rest: Nothing has turned it yet; all three are zero.
    """

    def __init__(self, goal: Goal, mass: float, leg_scale: float) -> None:
        inertia = goal.sway_inertia * (mass / 70.0) * leg_scale**2
        self.pivot = goal.sway_pivot * 0.82 * leg_scale
        self._push, self._twist = goal.sway_gain / inertia, goal.twist_gain / inertia
        self._limit = max(goal.sway_limit, 1e-9)
        self._spring, self._damper = goal.sway_frequency**2, 2.0 * goal.sway_damping * goal.sway_frequency
        self.turn: Vector = (0.0, 0.0, 0.0)
        self.velocity: Vector = (0.0, 0.0, 0.0)
        self.acceleration: Vector = (0.0, 0.0, 0.0)
        self.whole = 0.0
        self.is_at_rest = True

    def accelerate(self, moment: Vector, *, spin: Vector | None = None, dt: float = 0.0) -> None:
        """Set the acceleration for this step from the moment of the pushes [N m].

        Args:
            moment: About the pivot, for a trunk on its legs.
            spin: Angular acceleration of the whole figure where it flies [rad/s²]; it keeps what it has.
            dt: [s].
        """
        if self.is_at_rest and not any(moment) and not (spin and any(spin)):
            return
        if spin is not None:
            is_fresh = max(map(abs, self.turn)) < FRESH
            self.whole = 1.0 if is_fresh else 1.0 - (1.0 - self.whole) * 0.5 ** (dt / WHOLE_HALFLIFE)
            self.is_at_rest, self.acceleration = False, spin
            return
        self.whole *= 0.5 ** (dt / WHOLE_HALFLIFE)
        self.is_at_rest = False
        push, twist, spring, damper = self._push, self._twist, self._spring, self._damper
        (x, y, z), (vx, vy, vz), (mx, my, mz) = self.turn, self.velocity, moment
        far = (x * x + y * y + z * z) / self._limit**2
        implicit = 1.0 + (3.0 * spring * far * dt * dt if far > 1.0 else 0.0)
        spring *= 1.0 + far
        self.acceleration = (
            (push * mx - spring * x - damper * vx) / implicit,
            (push * my - spring * y - damper * vy) / implicit,
            (twist * mz - spring * z - damper * vz) / implicit,
        )

    def advance(self, dt: float) -> None:
        """Semi-implicit step."""
        if self.is_at_rest:
            return
        (x, y, z), (vx, vy, vz), (ax, ay, az) = self.turn, self.velocity, self.acceleration
        vx, vy, vz = vx + dt * ax, vy + dt * ay, vz + dt * az
        self.velocity, self.turn = (vx, vy, vz), (x + dt * vx, y + dt * vy, z + dt * vz)
