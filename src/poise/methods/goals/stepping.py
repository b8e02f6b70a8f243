"""Protective steps: which foot, and where to.

Source: [Jain2009]_ 6.1.2. Deviates: the foot is chosen by where the capture point goes, and put where the figure can
come to rest at landing, since "farther from the center of mass" crosses the legs in a shove from the side and "the
center of mass midway between the feet" gains nothing over standing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.methods.goals.objectives import Wish, toward
from poise.methods.goals.view import View
from poise.step import Objective
from poise.step.quantities import PlaceAcceleration

Array = npt.NDArray[np.float64]

HASTE = 100.0
"""Largest acceleration asked of a stepping foot [m/s²]."""
OTHER = {"left": "right", "right": "left"}


def choose_swing_foot(view: View, *, sideways: float = 0.7, least: float = 0.08) -> None:
    """Remember which foot shall step: the falling side's in a fall to the side, else the one farther from the mass.

    Args:
        view: Its memory gets "swing" and "stance".
        sideways: A fall counts as sideways from this ratio of its parts to the side and ahead.
        least: Smallest distance to the side that decides [m].
    """
    far = {s: float(np.linalg.norm(view.middle(view.body.feet[s])[0][:2] - view.com[:2])) for s in OTHER}
    swing = max(far, key=lambda side: far[side])
    ahead, left = view.heading, np.array([-view.heading[1], view.heading[0]])
    off = view.capture_point - view.support_center("both", 0.03 * view.body.scale)
    if abs(off @ left) > sideways * abs(off @ ahead) and abs(off @ left) > least * view.body.scale:
        swing = "left" if off @ left > 0.0 else "right"
    view.memory["swing"], view.memory["stance"] = swing, OTHER[swing]


@dataclass(frozen=True)
class StepTo(Wish):
    """The swing foot goes to where the capture point will be when it lands, lifted on its way.

    Attributes:
        weight: Against the foot's acceleration.
        seconds: Time of the step [s].
        lift: Height of the foot's path [m].
        overshoot: Factor on the way from the stance foot to the capture point.
        longest, widest, narrowest: Bounds of the step ahead and to the side [m].
        horizon: Of the height, and the least of the way [s].
    """

    weight: float
    seconds: float = 0.25
    lift: float = 0.08
    overshoot: float = 1.1
    longest: float = 0.7
    widest: float = 0.6
    narrowest: float = 0.14
    horizon: float = 0.06

    def objectives(self, view: View) -> list[Objective]:
        if "swing" not in view.memory:
            return []
        place, velocity = view.middle(view.foot("swing"))
        left = max(self.seconds - view.since, self.horizon)
        goal = self.target(view)
        phase = min(1.0, (view.since + self.horizon) / self.seconds)
        lift = self.lift * view.body.scale
        height = view.ground_height_below("stance") + (lift * np.sin(np.pi * phase) ** 2 if phase < 1.0 else -0.01)
        body = view.body.root + view.body.character.body_index(f"{view.memory['swing']}_foot")
        data = view.state.data
        offset = data.xmat[body].reshape(3, 3).T @ (place - data.xpos[body])
        error = np.array([goal[0], goal[1], height]) - place
        horizons = np.array([left, left, self.horizon])
        foot = PlaceAcceleration(body, offset)
        return [toward(view, foot, error, velocity, self.weight, horizons, "step", most=HASTE * view.body.scale)]

    def target(self, view: View) -> Array:
        """Where the swing foot shall stand [m], shape (2,)."""
        stance = view.middle(view.foot("stance"))[0][:2]
        time = max(0.0, self.seconds - view.since)
        way = (view.capture_point - stance) * np.exp(view.pendulum * time) * self.overshoot
        scale = view.body.scale
        ahead = view.heading
        out = (1.0 if view.memory["swing"] == "left" else -1.0) * np.array([-ahead[1], ahead[0]])
        aside = float(np.clip(way @ out, self.narrowest * scale, self.widest * scale))
        forward = float(np.clip(way @ ahead, -self.longest * scale, self.longest * scale))
        return stance + aside * out + forward * ahead
