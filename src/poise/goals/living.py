"""What makes a figure look alive: arms balance, it breathes and sways, eyes follow what flies, hands break a fall.

Goals with small weights beside those of balance; without them a figure is as still as a statue and reacts like one.

Source: none; [Jain2009]_ has nothing of the kind, and its 3 lets the character fall as it may. That arms move within a
few tenths of a second as a counterweight, to the side the body does not fall to: Gait & Posture 37:300 (2013).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from poise.body.character import V_SIZES, torque_of
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.filter.bracing import hand_target
from poise.goals.body import SIDES
from poise.goals.goal import Goal, axis_toward, toward
from poise.goals.lists import STRONG
from poise.goals.objectives import Pose, Still
from poise.goals.observation import Observation, eyes, sees
from poise.goals.reaching import HASTE, Target, part_toward
from poise.goals.stepping import OTHER
from poise.step import Objective
from poise.step.quantities import JointAcceleration, JointTorque

NEAR = 0.03
"""Points at most this far over the ground count as support [m]."""


BEGINS = 2.0
"""The sway grows for so long [s]: a figure begins at rest."""


@dataclass(frozen=True)
class BalanceArms(Goal):
    """Upper arms swing against the way the body falls, and against the legs.

    Forward they turn by gain times how far the capture point is behind the middle of the support, and by `stride` times
    how far the other foot is ahead; they are spread by gain times how far it is beside. Nobody's arms do so at rest.

    Attributes:
        weight: Against joint accelerations.
        gain: Turn for an offset [rad/m].
        stride: Turn for the distance between the feet [rad/m].
        max_angle: Largest turn [rad].
        lost: A figure whose capture point is farther off falls: its arms have other work [m].
        horizon: [s].
    """

    weight: float
    gain: float = 3.0
    stride: float = 0.8
    max_angle: float = 0.5
    lost: float = 0.25
    horizon: float = 0.2

    def objectives(self, observed: Observation) -> list[Objective]:
        body, roles, out = observed.body, observed.body.character.roles, []
        ahead, scale = observed.heading, observed.body.scale
        left = np.array([-ahead[1], ahead[0]])
        off = (observed.capture_point - observed.support_center("both", NEAR * scale)) / scale
        if math.hypot(*off.tolist()) > self.lost:
            return []
        feet = {side: float(observed.place(body.feet[side])[:2] @ ahead) / scale for side in SIDES}
        spread = min(abs(self.gain * float(off @ left)), self.max_angle)
        for side in SIDES:
            if f"{side}_shoulder" not in roles or observed.memory.get("hands"):
                continue
            forward = -self.gain * float(off @ ahead) + self.stride * (feet[OTHER[side]] - feet[side])
            forward = min(max(forward, -0.5 * self.max_angle), self.max_angle)
            outward = spread if side == "left" else -spread
            # about the axes of the figure at rest: forward is against the axis to the left, out about the one ahead
            turn = -forward * left_of(body.forward) + outward * body.forward
            out += turned(observed, roles[f"{side}_shoulder"], turn, self.weight, self.horizon, "arms balance")
        return out


@dataclass(frozen=True)
class Breathe(Goal):
    """The chest rises and falls: it turns back and forth about the axis to the left.

    Attributes:
        weight: Against joint accelerations.
        period: Of one breath [s].
        degrees: How far it turns [deg].
        horizon: [s].
    """

    weight: float
    period: float = 4.0
    degrees: float = 0.7
    horizon: float = 0.2

    def objectives(self, observed: Observation) -> list[Objective]:
        chest = observed.body.character.roles.get("chest")
        if chest is None:
            return []
        angle = np.radians(self.degrees) * np.sin(2.0 * np.pi * observed.time / self.period)
        turn = -angle * left_of(observed.body.forward)
        return turned(observed, chest, turn, self.weight, self.horizon, "breathe")


@dataclass(frozen=True)
class Sway(Goal):
    """A goal for the center of mass, about a place that wanders as that of people who stand quietly.

    The center of pressure p = r − r̈ / ω² follows a sum of waves drawn from the seed, of about the same power in each
    octave up to `knee` and little beyond; the path r of the center of mass is the one that goes with it.

    Attributes:
        of: What brings the center of mass to its place: `ComOver` or `ComeToRest`.
        ahead, aside: Root mean square of the center of pressure of a grown-up, in both directions [m].
        knee: Frequency above which the power falls [Hz].
        seed: Of the waves.

    Source: the spectrum and the sizes are those of young adults in [SantosDuarte2016]_.
    """

    of: Goal
    ahead: float = 0.0042
    aside: float = 0.0027
    knee: float = 0.6
    seed: int = 1

    def objectives(self, observed: Observation) -> list[Objective]:
        body, heading = observed.body, observed.heading
        axes = body.scale * np.array([self.ahead * heading, self.aside * np.array([-heading[1], heading[0]])])
        moves = wander(observed.time, observed.pendulum, body.tempo, knee=self.knee, seed=self.seed)
        place, velocity, acceleration = moves @ axes
        goals = self.of.objectives(observed.from_place(place, velocity))
        moved: list[Objective] = []
        for goal in goals:
            if not isinstance(goal, Objective):
                raise InvalidValue(f"Sway moves a target; {type(self.of).__name__} is a bound. Put it beside Sway.")
            moved.append(replace(goal, target=goal.target + acceleration))
        return moved


@dataclass(frozen=True)
class Gaze(Goal):
    """The head turns to the nearest thing that flies and that the figure sees.

    Attributes:
        weight: Against the second rate of the axis that the face points along.
        horizon: [s].
    """

    weight: float
    horizon: float = 0.2

    def objectives(self, observed: Observation) -> list[Objective]:
        eye, _ = eyes(observed)
        flying = [t.place - eye for t in observed.balls if t.is_free and sees(observed, t.place)]
        away = min(flying, key=lambda a: float(np.linalg.norm(a)), default=None)
        if away is None or float(np.linalg.norm(away)) < 0.3 * observed.body.scale:
            return []
        desired = away / np.linalg.norm(away)
        return [
            axis_toward(observed, observed.body.head, observed.body.face, desired, self.weight, self.horizon, "gaze")
        ]


def wander(time: float, pendulum: float, tempo: float, *, knee: float = Sway.knee, seed: int = Sway.seed) -> Array:
    """Place, velocity and acceleration of the center of mass as it sways, ahead and aside, shape (3, 2).

    In parts of the root mean square of the center of pressure, see `Sway`: [1], [1/s] and [1/s²].

    Args:
        time: Since the figure began to stand [s].
        pendulum: ω of the inverted pendulum [1/s].
        tempo: Of the figure, see `Body.tempo` [1].
        knee, seed: As in `Sway`.
    """
    rates, phases, sizes = _waves(seed, knee)
    rates = rates / tempo
    sizes = sizes * pendulum**2 / (pendulum**2 + rates**2) * min(1.0, time / BEGINS)
    angles = rates * time + phases
    waves = sizes * np.sin(angles), sizes * rates * np.cos(angles), -sizes * rates**2 * np.sin(angles)
    return np.array([wave.sum(axis=1) for wave in waves], dtype=np.float64)


@lru_cache
def _waves(seed: int, knee: float) -> tuple[Array, Array, Array]:
    """Rates [rad/s], phases and sizes of the waves of both directions, shapes (2, 20); their sum has an rms of 1."""
    rng = np.random.default_rng(seed)
    frequencies = np.geomspace(0.025, 3.0, 20) * rng.uniform(0.9, 1.1, (2, 20))
    sizes = (1.0 + (frequencies / knee) ** 3) ** -0.5 * rng.uniform(0.7, 1.3, (2, 20))
    sizes *= np.sqrt(2.0) / np.linalg.norm(sizes, axis=1, keepdims=True)
    return 2.0 * np.pi * frequencies, rng.uniform(0.0, 2.0 * np.pi, (2, 20)), sizes


def left_of(forward: Array) -> Array:
    """The axis up × forward, which is to the left of a figure that faces forward, shape (3,)."""
    return np.array([-forward[1], forward[0], 0.0])


def turned(observed: Observation, b: int, turn: Array, weight: float, horizon: float, label: str) -> list[Objective]:
    """A body's joint is turned from its pose at rest by a rotation vector of the world in which the figure stood."""
    state, body = observed.state, observed.body
    kind = body.character.bodies[b].kind
    if kind == "free":  # a chest that is one with the pelvis turns with the whole figure
        return []
    first = body.joints[0] - 6 + body.character.v_addresses[b]
    end = first + V_SIZES[kind]
    own = body.rest_turns[b].T @ turn
    step = np.zeros(state.model.nv)
    step[first:end] = own if kind == "ball" else own @ body.character.bodies[b].axis
    error = state.model.difference(state.q, state.model.integrate(body.rest, step, 1.0), 1.0)[first:end]
    quantity = JointAcceleration((first, end))
    return [toward(observed, quantity, error, state.v[first:end], weight, horizon, label)]


@dataclass(frozen=True)
class BreakFall(Goal):
    """While the figure falls, its hands go to the ground where it falls to, a shoulder's width apart.

    Attributes:
        weight: Against the hands' acceleration.
        ahead: How far before the chest they go, along its way [m]. In a fall backward `BEHIND` of the filter's falls
            takes the place of this and of `aside`.
        aside: Half of their distance [m].
        below: How far below the chest they go, until they are at the ground [m].
        fast: Speed of the center of mass from which it falls [m/s].
        horizon: [s].
    """

    weight: float
    ahead: float = 0.4
    aside: float = 0.22
    below: float = 0.1
    fast: float = 0.5
    horizon: float = 0.15

    def objectives(self, observed: Observation) -> list[Objective]:
        body, velocity = observed.body, observed.com_velocity
        speed = float(np.linalg.norm(velocity))
        hands = [points for points in body.hands.values() if len(points)]
        if speed < self.fast * body.tempo or any(observed.touching[points].any() for points in hands):
            return []
        way = velocity[:2] / max(float(np.linalg.norm(velocity[:2])), 1e-9)
        roles, scale = body.character.roles, body.scale
        trunk = body.root + roles.get("chest", 0)
        chest = observed.state.data.xpos[trunk]
        along, _ = observed.state.body_point_motion(trunk, chest)
        out, back = np.array([-way[1], way[0]]), max(0.0, -float(way @ observed.heading))
        # each hand on its own side of the way, whichever side of it the figure turns there
        left = observed.state.data.xmat[body.root].reshape(3, 3) @ body.left_axes[0]
        sign = 1.0 if float(left[:2] @ out) >= 0.0 else -1.0
        found: list[Objective] = []
        for part, side in (("left_hand", sign), ("right_hand", -sign)):
            if len(observed.part(part)):
                place = hand_target(
                    chest, way, back, side, observed.ground_height, scale, (self.ahead, self.aside), self.below
                )
                target = Target(place, along, np.zeros(3))
                found += part_toward(observed, part, target, self.weight, self.horizon, "break fall", HASTE)
        return found


@dataclass(frozen=True)
class GiveWay(Goal):
    """Muscles let go as the body comes down: from what holds a pose to a tone that only slows the limbs, τ = −d v⁺.

    A body that lies is relaxed: nothing holds a leg in the air.

    Attributes:
        weight: Against the torque beyond the tone [1/(N m)²], for a joint as strong as `lists.STRONG`.
        tone: d in parts of a joint's strength, per rad/s; the tissue's own damping is part of it.
        pose: Weight of `Pose` while it is high.
        still: Weight of `Still` as it falls; without it the limbs flail at what the ground gives them.
        lying: Weight of `Still` once it is low.
        high, low: Heights of the center of mass, in parts of that at rest, between which they give way.
        limp_from: Height from which hips and knees do so already, wholly at `high`; see `limp_dofs`.
    """

    weight: float
    tone: float = 0.05
    pose: float = 0.02
    still: float = 0.02
    lying: float = 0.05
    high: float = 0.65
    low: float = 0.3
    limp_from: float = 0.95

    def objectives(self, observed: Observation) -> list[Objective]:
        body, height = observed.body, float(observed.com[2]) - observed.ground_height
        high = height / body.com_height
        held = float(np.clip((high - self.low) / (self.high - self.low), 0.0, 1.0))
        limp = float(np.clip((self.limp_from - high) / (self.limp_from - self.high), 0.0, 1.0))
        let_go = np.maximum(1.0 - held, np.where(body.limp, limp, 0.0))
        found = Still(self.still if held > 0.0 else self.lying).objectives(observed)
        if held > 0.0:
            goals = Pose(held * self.pose, horizon=0.3).objectives(observed)
            found += [replace(goal, weight=np.where(body.limp, 1.0 - limp, 1.0) * goal.weight) for goal in goals]
        if let_go.any():
            damping = self.tone * body.strength
            speed = observed.state.v[body.joints[0] : body.joints[1]]
            weight = let_go * self.weight * (torque_of(STRONG, body.character) / body.strength) ** 2
            found.append(Objective(JointTorque(body.joints, damping), -damping * speed, weight, "give way"))
        return found
