"""How a body follows the ground: root height, and a lean towards the slope. Both are zero on flat ground."""

from __future__ import annotations

import numpy as np

from poise.filter.plan import PlannedFrame
from poise.filter.preset import Ground


class GroundFollower:
    """Height of the ground under the root, and its slope, smoothed; `kernels.follow` moves it on in every step.

    The height is the mean of five places, the middle and the ends of a cross along the world's axes, looked ahead by
    2/ω so that the critically damped filter does not trail on a slope. It never depends on which feet stand: a runner
    has none most of the time. With a plan over the ground the height is the plan's, and the filter follows only what
    a displaced goal makes different.

    Args:
        settings: The ground part of the preset.
        floor: Height of the reference's own floor [m].
        reach: Half the width of the cross [m].

    Attributes:
        settings: Frequencies of height and lean [rad/s], floor and reach [m], shape (4,).
        state: Height of the root against the reference [m] and its two rates, without the plan (3) and of the plan (3);
            the rotation vector that tips an up axis uphill by the slope's angle [rad] (3) and its rate (3), whose
            inverse lays a level body along the slope; 1 once it has started; shape (13,).
    """

    def __init__(self, settings: Ground, floor: float, reach: float) -> None:
        self.settings = np.array([settings.frequency, settings.lean_frequency, floor, reach])
        self.state = np.zeros(13)

    @property
    def height(self) -> float:
        """Of the root against the reference [m]."""
        return float(self.state[0] + self.state[3])

    @property
    def is_level(self) -> bool:
        """Nothing tips the figure."""
        return not any(self.state[6:12].tolist())

    def plan(self, planned: PlannedFrame | None) -> None:
        """Take over what the plan says of the root in this step."""
        if planned is not None:
            self.state[3:6] = planned.height, planned.height_velocity, planned.height_acceleration

    def carry(self, planned: PlannedFrame | None, dt: float) -> None:
        """A step in which nothing is solved: the plan goes on, the rest coasts."""
        s = self.state
        s[1] += dt * s[2]
        s[0] += dt * s[1]
        s[6:9] += dt * s[9:12]
        s[2] = 0.0
        self.plan(planned)
