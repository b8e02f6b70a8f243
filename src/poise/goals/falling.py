"""What a figure does that falls: its hands go to the ground ahead of it, and as it comes down its muscles let go.

Source: none; [Jain2009]_ 3 lets the character fall as it may.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.body.character import torque_of
from poise.goals.goal import Goal
from poise.goals.lists import STRONG
from poise.goals.objectives import Pose, Still
from poise.goals.observation import Observation
from poise.goals.reaching import HASTE, Target, part_toward
from poise.step import Objective
from poise.step.quantities import JointTorque


@dataclass(frozen=True)
class BreakFall(Goal):
    """While the figure falls, its hands go to the ground where it falls to, a shoulder's width apart.

    Attributes:
        weight: Against the hands' acceleration.
        ahead: How far before the chest they go, along its way [m].
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
        out = np.array([-way[1], way[0]])
        # each hand on its own side of the way, whichever side of it the figure turns there
        left = observed.state.data.xmat[body.root].reshape(3, 3) @ body.left_axes[0]
        sign = 1.0 if float(left[:2] @ out) >= 0.0 else -1.0
        found: list[Objective] = []
        for part, side in (("left_hand", sign), ("right_hand", -sign)):
            if len(observed.part(part)):
                place = chest[:2] + scale * (self.ahead * way + side * self.aside * out)
                height = max(observed.ground_height, float(chest[2]) - scale * self.below)
                target = Target(np.array([*place, height]), along, np.zeros(3))
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
    """

    weight: float
    tone: float = 0.05
    pose: float = 0.02
    still: float = 0.02
    lying: float = 0.05
    high: float = 0.65
    low: float = 0.3

    def objectives(self, observed: Observation) -> list[Objective]:
        body, height = observed.body, float(observed.com[2]) - observed.ground_height
        held = float(np.clip((height / body.com_height - self.low) / (self.high - self.low), 0.0, 1.0))
        found = Still(self.still if held > 0.0 else self.lying).objectives(observed)
        if held > 0.0:
            found += Pose(held * self.pose, horizon=0.3).objectives(observed)
        if held < 1.0:
            damping = self.tone * body.strength
            speed = observed.state.v[body.joints[0] : body.joints[1]]
            weight = (1.0 - held) * self.weight * (torque_of(STRONG, body.character) / body.strength) ** 2
            found.append(Objective(JointTorque(body.joints, damping), -damping * speed, weight, "give way"))
        return found
