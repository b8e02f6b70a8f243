"""Running and hopping: a bouncing mass over a leg, feet placed ahead of it, limbs that mirror each other.

    compression   f / m = k d,              k = (v₀² + 2 g c) / c²,            v₀ = g T_f / 2
    thrust        f / m = k d,              k = (v₀² − ż² + 2 g d) / d²
    foot          x − r = ẋ T_s / 2 + k_v (ẋ − ẋ_d)

d is how far the center of mass is below its height at landing, c how far it shall sink, T_f the time in flight, T_s the
time on the ground, measured in the stance before. The spring pushes from the foot to the center of mass. It is as stiff
as the energy needs that it must store: that of the fall in compression, that of the coming flight in thrust. A speed
that stays wrong moves the foot too, a little after each flight.

Source: [Hodgins1995]_: state machine, flight duration, forward velocity, ground-speed matching, balance, mirroring.
Deviates: the laws ask the step problem for accelerations, and it finds torques and contact forces, so servos are goals
with a horizon; the thrust follows from the energy of the coming flight, in each step anew, not from the flight before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.goals.conditions import Condition
from poise.goals.course import begin_track, course, lean_in
from poise.goals.goal import Goal, axis_toward, bodies_named, reads, writes
from poise.goals.living import left_of, turned
from poise.goals.observation import Observation
from poise.goals.stepping import OTHER, SwingFoot, foot_in_air, outward
from poise.step import Objective
from poise.step.quantities import ComAcceleration

# Not from the source: LEARNS, SETS_DOWN, WAITS, LAG and LONGER by CMA-ES (docs/synthesis.md), the rest by trial.
LEARNS, MOST_AHEAD = 0.017, 0.12
"""After each flight the foot goes farther ahead for each m/s too fast [s], in all by so much at most [m]."""
LATE = 0.012
"""A foot would be over its place so long after it lands: it still moves ahead a little [s]."""
SETS_DOWN = 1.136
"""How fast a foot comes down on the ground [m/s]."""
SHORTEST = 0.02
"""A spring shorter than this part of a grown-up's compression is not asked for its stiffness [m]."""
WAITS = 0.107
"""In the air the leg behind waits for the one ahead: the weight of its level way is multiplied by this [1]."""
LOWERS, LAST, SOONER = 0.08, 0.03, 0.01
"""In its last part a foot comes straight down [s]; it is asked to arrive no sooner than this, and so much before the
center of mass is at its height at landing [s]."""
LAG = 0.055
"""So long after a foot touched it begins to bear: it is placed farther ahead by the way in this time [s]."""
LEG, SOLE = 0.9, 0.06
"""Length of a leg in parts of the height of the mass center; how far an ankle is behind the middle of a sole [m]."""
HARDEST = 4.0
"""Largest force of the leg, in weights."""
BEGINS, RAMP = 0.5, 0.5
"""After this time in place [s] the asked speed rises from zero, so fast [m/s²]."""
STEADY, LONGER = 2.0, 0.0128
"""Above this speed [m/s] flights get longer, so much for each m/s [s]."""

FADES = 0.25
"""Above `STEADY` the leg pushes at the middle of its sole again, once so much faster [m/s]."""


def time_on_ground(flight: float, sinks: float) -> float:
    """How long a mass is on a spring that stops its fall after so many meters, both ways [s]."""
    landing = 0.5 * GRAVITY * flight
    omega = math.sqrt(landing**2 + 2.0 * GRAVITY * sinks) / sinks
    return (math.pi + 2.0 * math.atan(GRAVITY / (omega * landing))) / omega


def _landing_height(observed: Observation, height: float) -> float:
    """Height of the center of mass in the world as the foot lands [m]: lower for a leg that reaches ahead."""
    lower = observed.memory.get("lower", 0.0)
    return observed.ground_height_below("stance") + height * observed.body.com_height - lower


def _asked_speed(observed: Observation, speed: float) -> float:
    """The speed asked for by now [m/s]."""
    tempo = observed.body.tempo
    return min(speed * tempo, RAMP * max(observed.time - BEGINS * tempo, 0.0))


def _asked_velocity(observed: Observation, speed: float) -> Array:
    """The velocity asked for in the plane [m/s], shape (2,)."""
    return _asked_speed(observed, speed) * course(observed)[:2]


def _flight(observed: Observation, flight: float, speed: float) -> float:
    """Time in the air at the speed asked for by now, before it is scaled to the body [s]: longer for a fast runner."""
    return flight + LONGER * max(_asked_speed(observed, speed) / observed.body.tempo - STEADY, 0.0)


def _pushes_ahead(observed: Observation, toes: float, speed: float) -> Array:
    """From the middle of the sole to where the leg pushes [m], shape (2,)."""
    fast = (_asked_speed(observed, speed) / observed.body.tempo - STEADY) / FADES
    return toes * observed.body.scale * min(max(1.0 - fast, 0.0), 1.0) * course(observed)[:2]


@reads("swing")
@dataclass(frozen=True)
class Bounce(Goal):
    """The leg that carries is a spring from its foot to the center of mass; rising, it stores the coming flight.

    Attributes:
        weight: Against the acceleration of the center of mass.
        flight: Time in the air that follows, at up to 2 m/s [s].
        sinks: How far the center of mass sinks [m].
        height: At which it takes off, in parts of that at rest.
        speed: Asked for [m/s].
        gain: How fast a wrong speed is mended on the ground [1/s].
        foot: That carries.
        toes: How far ahead of the middle of its sole it pushes, at up to 2 m/s [m].
    """

    weight: float
    flight: float
    sinks: float
    height: float = 0.97
    speed: float = 0.0
    gain: float = 1.0
    foot: str = "stance"
    toes: float = 0.0

    def objectives(self, observed: Observation) -> list[Objective]:
        body, r, v = observed.body, observed.com, observed.com_velocity
        scale, tempo = body.scale, body.tempo
        below = _landing_height(observed, self.height) - float(r[2])
        push = 0.5 * GRAVITY * _flight(observed, self.flight, self.speed) * tempo
        sinks = self.sinks * scale
        stiffness = (push**2 + 2.0 * GRAVITY * sinks) / sinks**2
        if v[2] > 0.0:
            d = max(below, SHORTEST * scale)
            wanted = (push**2 - float(v[2]) ** 2 + 2.0 * GRAVITY * d) / d**2
            stiffness = min(max(wanted, 0.2 * stiffness), 4.0 * stiffness)
        force = stiffness * below
        force = min(max(force, 0.0), HARDEST * GRAVITY)
        away = r - observed.place(observed.foot(self.foot))
        away[:2] -= _pushes_ahead(observed, self.toes, self.speed)
        across = force * away[:2] / max(float(away[2]), 0.3 * body.com_height)
        loaded = min(1.0, force / GRAVITY)
        across += self.gain / tempo * loaded * (_asked_velocity(observed, self.speed) - v[:2])
        target = np.array([*across, force - GRAVITY])
        return [Objective(ComAcceleration("xyz", of=body.index), target, self.weight, "bounce")]


def _take_off(observed: Observation, stance: str, speed: float) -> None:
    memory = observed.memory
    if "landed" in memory:
        memory["on_ground"] = observed.time - memory["landed"]
        wrong = float((observed.com_velocity[:2] - _asked_velocity(observed, speed)) @ course(observed)[:2])
        most = MOST_AHEAD * observed.body.scale
        memory["ahead"] = min(max(memory.get("ahead", 0.0) + LEARNS * observed.body.tempo * wrong, -most), most)
    reach = 0.5 * memory.get("on_ground", 0.0) * max(float(observed.com_velocity[:2] @ course(observed)[:2]), 0.0)
    reach = min(max(reach - SOLE * observed.body.scale, 0.0), 0.5 * observed.body.com_height)
    leg = LEG * observed.body.com_height
    memory["lower"] = leg - math.sqrt(leg**2 - reach**2)
    memory.update(swing=OTHER[stance], stance=stance, airborne=observed.time)


@writes("swing")
def swap_legs(observed: Observation, *, speed: float = 0.0, radius: float = 0.0) -> None:
    """The leg that swung carries next: memory "swing" and "stance"; how long it was on the ground; first, the track."""
    begin_track(observed, radius)
    _take_off(observed, OTHER[observed.memory.get("stance", "left")], speed)


@writes("swing")
def keep_leg(observed: Observation, *, speed: float = 0.0) -> None:
    """The same leg carries again, at first the left one: memory as in `swap_legs`."""
    _take_off(observed, observed.memory.get("stance", "left"), speed)


@writes()
def land(observed: Observation) -> None:
    """Remember when the foot landed."""
    observed.memory["landed"] = observed.time


def _other_carries(observed: Observation) -> bool:
    """Whether the other foot has landed since the figure left the ground."""
    return observed.memory.get("landed", -1.0) >= observed.memory.get("airborne", 0.0)


def _lowest(observed: Observation, foot: SwingFoot) -> float:
    """Height of the lowest point of its sole [m]."""
    return float(observed.state.points[observed.body.feet[foot.side], 2].min())


@reads("swing")
@dataclass(frozen=True)
class PlaceFoot(Goal):
    """A foot swings to where it lands: as far ahead of the center of mass as keeps the speed, and farther to slow down.

    The place is seen from where the center of mass will be at landing. The foot is nearly at rest as it lands
    (ground-speed matching, `LATE`). It rises at once as it leaves the ground and is highest after a third of its swing.

    Attributes:
        weight: Against the foot's acceleration.
        flight, sinks, height, speed: As in `Bounce`.
        foot: "stance" for the foot that lands next, "swing" for the one after.
        swings: For how long it swings [s].
        lift: How high [m].
        gain: How far the foot goes ahead for each m/s too fast [s].
        aside: Distance from the line under the center of mass, to its own side [m].
        horizon: Of the height [s].
        max_acceleration: Largest acceleration asked of the foot [m/s²].
        toes: As in `Bounce`.
    """

    weight: float
    flight: float
    sinks: float
    height: float = 0.97
    speed: float = 0.0
    foot: str = "stance"
    swings: float = 0.2
    lift: float = 0.1
    gain: float = 0.1
    aside: float = 0.0
    horizon: float = 0.05
    max_acceleration: float = 150.0
    toes: float = 0.0

    def objectives(self, observed: Observation) -> list[Objective]:
        foot, left = foot_in_air(observed, observed.memory[self.foot]), self._left(observed)
        span = max(left + LATE * observed.body.tempo, self.horizon * observed.body.tempo)
        goal = self.target(observed, foot.side, left)
        across = 6.0 * (goal - foot.place[:2]) / span**2 - 4.0 * foot.velocity[:2] / span
        most = self.max_acceleration
        across *= min(1.0, most / max(float(np.linalg.norm(across)), 1e-9))
        is_low = left < LOWERS * observed.body.tempo
        up = self._set_down(observed, foot, left) if is_low else self._swing(observed, foot, left)
        desired = np.array([*across, min(max(up, -most), most)])
        along = 1.0 if _other_carries(observed) or self.foot == "stance" else WAITS
        weight = self.weight * np.array([along, along, 1.0])
        return [Objective(foot.quantity, desired, weight, "place foot")]

    def _swing(self, observed: Observation, foot: SwingFoot, left: float) -> float:
        """Upward acceleration along the arc of a foot that lands in so long [m/s²]."""
        body, swings, horizon = observed.body, self.swings * observed.body.tempo, self.horizon * observed.body.tempo
        phase = min(max(1.0 - left / swings, 0.0), 1.0)
        lift, rate = 6.75 * self.lift * body.scale, 1.0 / swings  # p (1 − p)² is at most 1 / 6.75, at p = 1/3
        height = observed.ground_height_below(self.foot) + lift * phase * (1.0 - phase) ** 2
        speed = lift * rate * (1.0 - phase) * (1.0 - 3.0 * phase)
        bend = lift * rate**2 * (6.0 * phase - 4.0)
        above = height - _lowest(observed, foot)
        return bend + 2.0 / horizon**2 * above + 2.0 / horizon * (speed - foot.velocity[2])

    def _set_down(self, observed: Observation, foot: SwingFoot, left: float) -> float:
        """Upward acceleration of a foot that comes down on the ground in so long [m/s²]."""
        tempo = observed.body.tempo
        span, down = max(left - SOONER * tempo, LAST * tempo), SETS_DOWN * tempo
        height = observed.ground_height_below(self.foot) + down * min(left - SOONER * tempo, 0.0)
        return 6.0 * (height - _lowest(observed, foot)) / span**2 - (4.0 * foot.velocity[2] - 2.0 * down) / span

    def _left(self, observed: Observation) -> float:
        """How long until the foot lands [s]."""
        tempo = observed.body.tempo
        on_ground, in_air = self._on_ground(observed), _flight(observed, self.flight, self.speed) * tempo
        above = float(observed.com[2]) - _landing_height(observed, self.height)
        rises = float(observed.com_velocity[2])
        carries = _other_carries(observed)
        if carries and (rises < 0.0 or above < -0.3 * self.sinks * observed.body.scale):  # the other foot
            return max(on_ground - (observed.time - observed.memory["landed"]), 0.02) + in_air
        falls = (rises + math.sqrt(max(rises**2 + 2.0 * GRAVITY * above, 0.0))) / GRAVITY
        return falls if carries or self.foot == "stance" else falls + on_ground + in_air

    def _on_ground(self, observed: Observation) -> float:
        """How long the figure was on the ground the last time [s]."""
        flight = _flight(observed, self.flight, self.speed)
        expected = time_on_ground(flight, self.sinks) * observed.body.tempo
        return min(max(observed.memory.get("on_ground", expected), 0.7 * expected), 1.5 * expected)

    def target(self, observed: Observation, side: str, left: float) -> Array:
        """Where the middle of the sole lands after so long [m], shape (2,)."""
        tempo, v = observed.body.tempo, observed.com_velocity[:2]
        ahead = (0.5 * self._on_ground(observed) + LAG * tempo) * v
        ahead += self.gain * tempo * (v - _asked_velocity(observed, self.speed))
        ahead += observed.memory.get("ahead", 0.0) * course(observed)[:2]
        ahead -= _pushes_ahead(observed, self.toes, self.speed)
        aside = self.aside * observed.body.scale * outward(observed, side)
        aside -= self.height * observed.body.com_height * lean_in(observed)
        return observed.com[:2] + left * v + ahead + aside


@dataclass(frozen=True)
class Straight(Goal):
    """Limbs swing straight ahead: the axis of each body that points to the figure's left at rest stays there.

    Attributes:
        weight: Against the second rate of that axis.
        bodies: Names as in `Upright`.
        horizon: [s].
    """

    weight: float
    bodies: tuple[str, ...] = ("stance leg", "swing leg")
    horizon: float = 0.1

    def objectives(self, observed: Observation) -> list[Objective]:
        body = observed.body
        left = left_of(course(observed))
        left[2] -= float(lean_in(observed) @ left[:2])
        left /= np.linalg.norm(left)
        own = [b for name in self.bodies for b in bodies_named(observed, name)]
        return [axis_toward(observed, b, body.left_axes[b], left, self.weight, self.horizon, "straight") for b in own]


@dataclass(frozen=True)
class MirrorHips(Goal):
    """Upper arms follow the foot of the other side, place and speed.

    Deviates from the lecture: the distance of the foot ahead of the center of mass stands for the angle of its hip.

    Attributes:
        weight: Against joint accelerations.
        gain: Turn of the arm for the foot's distance ahead of the center of mass [rad/m].
        max_angle: Largest turn [rad].
        aside: Angle at which it is held away from the trunk [rad].
        horizon: [s].
    """

    weight: float
    gain: float = 1.0
    max_angle: float = 0.7
    aside: float = 0.0
    horizon: float = 0.1

    def objectives(self, observed: Observation) -> list[Objective]:
        body, roles, out = observed.body, observed.body.character.roles, []
        left = left_of(body.forward)
        for side in OTHER:
            if f"{side}_shoulder" not in roles:
                continue
            place, velocity = observed.middle(body.feet[OTHER[side]])
            # the foot's speed counts as well: an arm that only knows where the foot is comes late, and the chest twists
            soon = place - observed.com + self.horizon * body.tempo * (velocity - observed.com_velocity)
            angle = self.gain * float(soon[:2] @ observed.heading) / body.scale
            angle = min(max(angle, -self.max_angle), self.max_angle)
            turn = (self.aside if side == "left" else -self.aside) * body.forward - angle * left
            out += turned(observed, roles[f"{side}_shoulder"], turn, self.weight, self.horizon, "mirror hips")
        return out


@dataclass(frozen=True)
class Sinking(Condition):
    """The center of mass moves down, or up slower than a speed [m/s]."""

    speed: float = 0.0

    def holds(self, observed: Observation) -> bool:
        return float(observed.com_velocity[2]) < self.speed * observed.body.tempo


@reads("swing")
@dataclass(frozen=True)
class Below(Condition):
    """The center of mass is lower than where it takes off.

    Attributes:
        height: In parts of its height at rest.
    """

    height: float = 0.97

    def holds(self, observed: Observation) -> bool:
        return float(observed.com[2]) < _landing_height(observed, self.height)
