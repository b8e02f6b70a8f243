"""The moving goal: a particle that the push carries along, and a trunk that the push turns.

With the goal fixed to the reference's own center of mass a push is cancelled by the root. Moving, it is seen. Both
parts are exactly zero until something pushes. What moves them is the push times leg length / 0.82 m: by mechanics alone
an impulse gives figures of any size the same speed, so that a small one is thrown and a large one does not stir; so
each goes the same part of its leg, and comes back in the same time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.core.units import HUMAN_LEG
from poise.filter.preset import Goal, Protective

FRESH = 1e-3
"""A trunk turned by less than this [rad] when flight begins turns with the whole figure at once."""
WHOLE_HALFLIFE = 0.06
"""Else the rest of the figure joins it, and after landing leaves it, with this half-life [s]."""

PENDULUM = 3.3
"""Frequency of a standing person as an inverted pendulum [1/s]; figures of any size fall and step in the same time."""
WALKING = 1.4
"""A walk, whose next foot catches it, holds a capture point so much farther off."""

AHEAD = 8
"""Steps in which the goal is looked ahead until the next foot lands."""

Pair = tuple[float, float]
Vector = tuple[float, float, float]


class Support(NamedTuple):
    """The foot that stands while the other is about to land: over it the goal deviates as an inverted pendulum.

    ẍ = ω² (x − p), with the pressure p under the foot; all against the reference.

    Attributes:
        place: Of the foot [m].
        time: Until the other lands [s].
        ankle: Pressure under the foot goes so far aside [m].
        reach: A capture point so far off when the other lands needs no help [m].
        farthest: The other lands no farther from this one, beyond the clip's own way [m].
        after: From then until this one lands again [s].
        left: Part of the capture point's way that is left by then.
    """

    place: Pair
    time: float
    ankle: float
    reach: float
    farthest: float
    after: float
    left: float

    def carried(self, x: float, y: float, vx: float, vy: float, asked_x: float, asked_y: float, time: float) -> Pair:
        """Acceleration of the goal [m/s²]: that asked for, as far as the ankle can.

        A capture point ξ that would be out of reach when the next foot lands is brought back by what no foot can do.

        Args:
            x, y: Place of the goal [m].
            vx, vy: Its velocity [m/s].
            asked_x, asked_y: [m/s²].
            time: Until the next foot lands [s].
        """
        w, (px, py) = PENDULUM, self.place
        free_x, free_y = w * w * (x - px), w * w * (y - py)
        left = math.exp(-w * time)
        off = math.hypot(x + vx / w - px, y + vy / w - py)
        most = w * w * (self.ankle + max(0.0, off - self.reach * left) / max(1.0 - left, 1e-3))
        ux, uy = asked_x - free_x, asked_y - free_y
        part = most / math.hypot(most, ux, uy)
        return free_x + part * ux, free_y + part * uy

    def landing(self, particle: GoalParticle) -> Pair:
        """How far beyond the goal the next foot lands [m].

        It lands where ξ will be then and farther out by the part (1 − left) / (exp(ω t) − 1), no farther than
        `farthest`, so that ξ moves back towards home in the next t seconds. Source: Hof, Vermerris and Gjaltema 2010.

        Args:
            particle: The goal now; it is looked ahead in a few steps of its own law.
        """
        w, h, (x, y), (vx, vy) = PENDULUM, self.time / AHEAD, particle.shift, particle.velocity
        near, far, (home_x, home_y) = particle.frequency * particle.frequency, 2.0 * particle.frequency, particle.home
        for k in range(AHEAD):
            asked_x, asked_y = near * (home_x - x) - far * vx, near * (home_y - y) - far * vy
            ax, ay = self.carried(x, y, vx, vy, asked_x, asked_y, self.time - k * h)
            vx, vy = vx + h * ax, vy + h * ay
            x, y = x + h * vx, y + h * vy
        farther = 1.0 + (1.0 - self.left) / (math.exp(w * self.after) - 1.0)
        out_x, out_y = farther * (x + vx / w) - self.place[0], farther * (y + vy / w) - self.place[1]
        part = min(1.0, self.farthest / max(math.hypot(out_x, out_y), 1e-9))
        return self.place[0] + part * out_x - particle.shift[0], self.place[1] + part * out_y - particle.shift[1]


class Recovery(NamedTuple):
    """What a figure does about a push.

    Attributes:
        rest: Where the goal of the center of mass ends, from the reference [m].
        since: How long since it last had to be moved outward [s].
        steps: It takes protective steps.
        falls: It fell.
        landing: By how much more than the goal a swinging foot's landing place is moved [m].
    """

    rest: Pair = (0.0, 0.0)
    since: float = math.inf
    steps: bool = False
    falls: bool = False
    landing: Pair = (0.0, 0.0)


def recover(
    recovery: Recovery, settings: Protective, shift: Pair, velocity: Pair, ground: Pair, leg_length: float, dt: float,
    *, returns: bool = True, is_guided: bool = True, landing: Pair | None = None,
) -> Recovery:  # fmt: skip
    """One step later.

    Args:
        recovery: Before.
        settings: How far is held and how far is stepped.
        shift, velocity: Of the goal against the reference [m], [m/s].
        ground: Where the ground has carried the reference's place [m].
        leg_length: [m].
        dt: [s].
        returns: Go home again after stepping.
        landing: How far beyond the goal the next foot of a walk lands [m]; None for a figure that stands.
        is_guided: Something keeps the figure up; else it takes no step and falls where it would take one.
    """
    w, (x, y), (foot_x, foot_y) = PENDULUM, recovery.rest, recovery.landing
    dx, dy = shift[0] - ground[0], shift[1] - ground[1]  # where the goal is
    out_x, out_y = dx + velocity[0] / w, dy + velocity[1] / w  # where it would come to rest
    since, steps = recovery.since + dt, recovery.steps
    is_farther = math.hypot(out_x, out_y) > math.hypot(x, y)
    hold = settings.hold * (1.0 if landing is None else WALKING) * leg_length
    if is_farther and math.hypot(out_x - x, out_y - y) > hold:
        x, y, since, steps = out_x, out_y, 0.0, True
    elif is_farther and steps and since < settings.settling:
        x, y = out_x, out_y  # the push goes on
    elif steps and returns and since > settings.settling:
        size = math.hypot(x, y)
        left = max(0.0, size - dt * settings.pace * leg_length / HUMAN_LEG)
        x, y = (x * left / size, y * left / size) if left else (0.0, 0.0)
    size = math.hypot(x, y)
    longest = (settings.longest if is_guided else settings.hold) * leg_length
    falls = recovery.falls or (size > longest and size > math.hypot(*recovery.rest))
    wanted_x, wanted_y = (0.0, 0.0) if landing is None else landing
    if steps:
        wanted_x, wanted_y = x - dx, y - dy
    part = dt / (settings.bending + dt)
    foot_x, foot_y = foot_x + part * (wanted_x - foot_x), foot_y + part * (wanted_y - foot_y)
    if max(abs(foot_x), abs(foot_y), abs(wanted_x), abs(wanted_y)) < 1e-6:
        foot_x = foot_y = 0.0
    steps = steps and (x != 0.0 or y != 0.0 or since < settings.settling)
    return Recovery((x, y), since, steps, falls, (foot_x, foot_y))


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
        """How far the legs must bend or stretch for the height, 0 … 1."""
        way = max(-self.height, 0.0) / self._lowest
        return max(way / (way + 0.1), self.lifted)

    @property
    def lifted(self) -> float:
        """How far a force from below has taken the load off the feet, 0 … 1.

        A figure that is lifted farther than its heels can rise leaves the ground, and its legs with it: from there to
        half as far again they come to hold as they did.
        """
        way = max(self.height, 0.0) / self._highest
        return way / (way + 0.1) * min(1.0, max(0.0, 2.0 * (1.5 - way)))

    @property
    def is_at_rest(self) -> bool:
        """The goal is at the reference's own place and does not move from it."""
        return not (any(self.shift) or any(self.velocity) or self.height or self.height_velocity)

    def accelerate(
        self, force: Vector, mass: float, ground_velocity: Pair, dt: float, *, flies: bool = False, weight: float = 0.0,
        support: Support | None = None,
    ) -> None:  # fmt: skip
        """Set the acceleration for this step.

        Where the figure flies nothing brings the goal back: it keeps its momentum, and the landing moves.

        Args:
            force: [N].
            mass: Of the figure [kg].
            ground_velocity: [m/s].
            dt: [s].
            flies: Nothing touches.
            weight: Gravity that the reference does not feel there, since it stands [m/s²].
            support: The foot that stands while the other is about to land.
        """
        (x, y), (vx, vy), (fx, fy, fz), ax, ay = self.shift, self.velocity, force, 0.0, 0.0
        if not flies:
            near, far, (dx, dy) = self.frequency * self.frequency, 2.0 * self.frequency, self.home
            ax = near * (dx - x) + far * (ground_velocity[0] - vx)
            ay = near * (dy - y) + far * (ground_velocity[1] - vy)
            if support is not None:
                ax, ay = support.carried(x, y, vx, vy, ax, ay, support.time)
        self.acceleration = ax + fx / mass, ay + fy / mass
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
