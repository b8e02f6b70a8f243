"""What a run of tracking counts, and when a character that has not fallen is no longer up."""

from __future__ import annotations

from dataclasses import dataclass, field

CRUMPLED, LEANS, LASTS = 0.25, 0.6, 0.3
"""A character is down where its pelvis is so many legs lower than the actor's would be, or leans so much away from it
[rad], for longer than this [s]."""


@dataclass
class Counts:
    """What a run counts.

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
