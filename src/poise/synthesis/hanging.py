"""What a figure did on its hands: how far it swung, how high it climbed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from poise.goals.swinging import arc_about

if TYPE_CHECKING:
    from poise.synthesis.tally import Moved
    from poise.synthesis.world import World


@dataclass
class Hanging:
    """The first figure's swings and climb; one of the world's watchers.

    Attributes:
        swings: Largest angle of each half swing, from one passage below the grips to the next [deg]; the first, which
            began where the figure was put, left out.
        climbed: Rise of the center of mass since the start, when a hand last held on [m].
    """

    swings: list[float] = field(default_factory=list)
    climbed: float = 0.0
    _largest: float = 0.0
    _side: float = 0.0
    _passed: int = 0
    _start: float | None = None

    def __call__(self, world: World, moved: Moved) -> None:
        """Take in one step."""
        figure, state = world.figures[0], world.state
        com = state.com(figure.body.root)
        self._start = float(com[2]) if self._start is None else self._start
        holding = [g for g in world.grips if g.figure == 0 and g.other < 0 and g.part.endswith("_hand")]
        if not holding:
            return
        self.climbed = float(com[2]) - self._start
        holds = [world.scene.hold(g.what) for g in holding]
        places = [h.nearest(state.centers[g.point], world.time) for h, g in zip(holds, holding, strict=True)]
        left = state.data.xmat[figure.body.root].reshape(3, 3) @ figure.body.left_axes[0] * np.array([1.0, 1.0, 0.0])
        angle = float(np.degrees(arc_about(places, left, com, np.zeros(3)).angle))
        side = np.sign(angle)
        if side * self._side < 0.0:
            if self._passed:
                self.swings.append(self._largest)
            self._passed, self._largest = self._passed + 1, 0.0
        self._side = side or self._side
        self._largest = max(self._largest, abs(angle))

    @property
    def furthest(self) -> float:
        """Largest angle after the first passage below the grips [deg]."""
        return max([*self.swings, self._largest if self._passed else 0.0])
