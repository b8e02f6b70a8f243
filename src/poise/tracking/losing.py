"""When a character is about to be lost: how far it is off, how hard its root is held, and what a run counts of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from poise.core.typing import Array
from poise.tracking.stance import leans

ASTRAY, TILTED = 0.35, 0.7
"""Where the pelvis is further from its target than this, in legs, or tilted further [rad], the root is held softly."""
LOW, LEANING = 0.22, 0.5
"""So too where the pelvis is so many legs lower than the actor's would be, or leans so far away from it [rad]."""
LOW_SAFE, STEADY = 0.154, 0.3
"""It is let go once it is less than so many legs too low, and its capture point less than so many legs off where its
feet want it."""
FIRST, HARDEST = 10.0, 1e3
"""How much more than the soft root a root is held at first and at the most [1]."""
LOST, STRICTLY_LOST = 2.3, 1.8
"""So many times `ASTRAY` or `TILTED`, and the character falls; the second for a root that is never held [1]."""

CRUMPLED, LEANS, LASTS = 0.25, 0.6, 0.3
"""A character is down where its pelvis is so many legs lower than the actor's would be, or leans so much away from it
[rad], for longer than this [s]."""


class Off(NamedTuple):
    """How far a character is off its targets.

    Attributes:
        away, tilt: How far the pelvis is away or tilted, 1 at `ASTRAY` and `TILTED` [1].
        low: How much lower the pelvis is than the actor's would be, in legs.
        lean: How far it is tilted against the actor's, but for turns about the vertical [rad].
    """

    away: float
    tilt: float
    low: float
    lean: float


def off_targets(pelvis: Array, turn: Array, place: Array, wanted: Array, sunk: float, leg: float) -> Off:
    """How far off a character is.

    Args:
        pelvis, turn: Place [m] and orientation of its pelvis, shapes (3,), (4,).
        place, wanted: The same of its target.
        sunk: How far the target was lowered for legs to reach their feet [m].
        leg: [m].
    """
    tilt = 2.0 * math.acos(min(1.0, abs(float(turn @ wanted))))
    away, low = math.dist(place, pelvis) / leg / ASTRAY, (float(place[2] - pelvis[2]) + sunk) / leg
    return Off(away, tilt / TILTED, low, leans(turn, wanted))


def softness_after(softness: float, off: Off, unsteady: float, dt: float) -> float:
    """How much a hard root is held in a step: 0 not at all, else as many times as the soft root.

    Once it fades, it fades to the end: a root that is hardly held keeps the character neither up nor on its feet.

    Args:
        softness: In the step before.
        off: How far off the character is; how far away does not count while it is steady.
        unsteady: How far its capture point is off where its feet want it, in legs; 0 above what touches the ground.
        dt: Of the step [s].
    """
    if max(off.tilt, off.low / LOW, off.lean / LEANING, off.away if unsteady > 0.0 else 0.0) > 1.0:
        return min(HARDEST, max(FIRST, softness * math.exp(dt / 0.03)))
    if softness < FIRST or (off.low < LOW_SAFE and unsteady < STEADY):
        softness *= math.exp(-dt / 0.05)
    return softness if softness > 0.1 * FIRST else 0.0


def is_lost(off: Off, softness: float, root: str) -> bool:
    """Whether the character falls: one whose root may be held only when that no longer helps."""
    may_be_saved = root == "hard" and softness < HARDEST
    return max(off.away, off.tilt) > (STRICTLY_LOST if root == "strict" else LOST) and not may_be_saved


@dataclass
class Counts:
    """What a run of tracking counts.

    Attributes:
        low_for: For so long the pelvis has been too low, or has leaned too much [s].
        crumpled_steps: Steps in which that lasted longer than `LASTS`.
    """

    beginning_steps: int = 0
    steps: int = 0
    fallback_steps: int = 0
    carried: int = 0
    falls: int = 0
    fallen_steps: int = 0
    rising_steps: int = 0
    crumpled_steps: int = 0
    low_for: float = 0.0
    root_force: list[float] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether the character has neither fallen nor crumpled."""
        return not self.falls and not self.crumpled_steps

    def see(self, low: float, lean: float, dt: float) -> None:
        """Count a step in which the character follows.

        Args:
            low: How much lower the pelvis is than the actor's would be, in legs.
            lean: How far it is tilted against the actor's, but for turns about the vertical [rad].
            dt: Of the step [s].
        """
        self.low_for = self.low_for + dt if low > CRUMPLED or lean > LEANS else 0.0
        self.crumpled_steps += self.low_for > LASTS
