"""Goals that a captured clip sets: where its hands, feet and center of mass are now, and where it faces.

Each adds the clip's own acceleration, so a weight only decides what is done about an error.

Source: [Jain2009]_ section 8, which proposes to find the weights of goals from captured motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.goals.conditions import Condition
from poise.goals.goal import HORIZON, Goal, axis_toward, cross, toward
from poise.goals.observation import Observation
from poise.goals.reaching import HASTE, Target, part_toward
from poise.step import Objective
from poise.step.quantities import ComAcceleration


@dataclass(frozen=True)
class FollowPart(Goal):
    """A hand or foot goes where the clip has it now, as fast as it moves there. Nothing without a clip.

    Attributes:
        weight: Against its acceleration.
        part: "left_hand", "right_hand", "left_foot", "right_foot", or "swing" or "stance", stored in the memory.
        horizon: [s].
        catches: How much farther it goes for how far the capture point is off the clip's; 1 brings the figure to rest
            as the clip would, 0 goes where the clip's does.
    """

    weight: float
    part: str
    horizon: float = HORIZON
    catches: float = 0.0

    def objectives(self, observed: Observation) -> list[Objective]:
        part = self.part
        if part in ("swing", "stance"):
            part = f"{observed.memory.get(part)}_foot"
        if observed.clip is None or not len(observed.part(self.part)):
            return []
        target = Target(*observed.clip.place(part, observed.time))
        if self.catches:
            place, velocity, _ = observed.clip.place("com", observed.time)
            off = observed.capture_point - (place + velocity / observed.pendulum)[:2]
            target = target._replace(place=target.place + self.catches * np.array([*off, 0.0]))
        return part_toward(
            observed, self.part, target, self.weight, self.horizon, f"follow {self.part}", HASTE * observed.body.scale
        )


@dataclass(frozen=True)
class FollowCom(Goal):
    """The center of mass goes where the clip has it now, as fast as it moves there. Nothing without a clip.

    Attributes:
        weight: Against its acceleration.
        horizon: [s].
        axes: Which of "xyz" count.
    """

    weight: float
    horizon: float = HORIZON
    axes: str = "xyz"

    def objectives(self, observed: Observation) -> list[Objective]:
        if observed.clip is None:
            return []
        place, velocity, acceleration = observed.clip.place("com", observed.time)
        own = ["xyz".index(axis) for axis in self.axes]
        goal = toward(
            observed,
            ComAcceleration(self.axes, of=observed.body.index),
            (place - observed.com)[own],
            (observed.com_velocity - velocity)[own],
            self.weight,
            self.horizon,
            "follow com",
        )
        return [Objective(goal.quantity, goal.target + acceleration[own], goal.weight, "follow com")]


@dataclass(frozen=True)
class FollowHeading(Goal):
    """The pelvis faces where the clip's does now. Nothing without a clip.

    Attributes:
        weight: Against the second rate of the axis that points ahead.
        horizon: [s].
    """

    weight: float
    horizon: float = HORIZON

    def objectives(self, observed: Observation) -> list[Objective]:
        if observed.clip is None:
            return []
        body, ahead = observed.body, np.array([*observed.clip.facing(observed.time), 0.0])
        axis = cross(body.left_axes[0], body.up_axes[0])
        return [axis_toward(observed, 0, axis, ahead, self.weight, self.horizon, "follow heading")]


@dataclass(frozen=True)
class ClipStands(Condition):
    """The clip stands on this foot alone now, or on both. Always true without a clip.

    Attributes:
        foot: "left", "right" or "both".
    """

    foot: str = "both"

    def holds(self, observed: Observation) -> bool:
        if observed.clip is None:
            return True
        stands = {side: observed.clip.stands(side, observed.time) for side in ("left", "right")}
        if self.foot == "both":
            return bool(np.all(list(stands.values())))
        return stands[self.foot] and sum(stands.values()) == 1
