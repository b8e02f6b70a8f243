"""What is known of a clip, and which findings need it: where it is in doubt, they are warnings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from poise.analysis.analyze import Analysis
from poise.analysis.gait import is_on_the_spot
from poise.check import thresholds as at
from poise.check.finding import Finding
from poise.phases.floor import find_floor
from poise.phases.points import pelvis

NEEDS: dict[str, tuple[str, ...]] = {
    "gravity": ("limbs", "size"),
    "arc": ("limbs", "size"),
    "track": ("limbs", "travel", "size"),
    "drift": ("limbs", "travel", "size"),
    "spin": ("limbs", "size"),
    "balance": ("limbs", "travel", "floor", "size"),
    "skate": ("limbs", "travel", "floor", "size"),
    "penetration": ("limbs", "floor"),
    "float": ("limbs", "floor"),
    "root-residual": ("limbs", "travel", "floor", "size"),
    "joint-speed": ("size",),
}
"""What each finding needs to be known; the others need nothing. All that depends on time needs the frame rate: where
that is wrong, they are not judged at all."""


FORCES = ("balance", "root-residual")
"""Findings about forces, which say nothing at all where a need of theirs is in doubt."""


@dataclass(frozen=True)
class Doubts:
    """What is in doubt, by name, each with its reason in words."""

    reasons: dict[str, str] = field(default_factory=dict)

    def of(self, finding: str) -> tuple[str, ...]:
        """Reasons to doubt what a finding of this name needs."""
        return tuple(self.reasons[need] for need in NEEDS.get(finding, ()) if need in self.reasons)

    def weigh(self, finding: Finding) -> Finding | None:
        """The finding as it may be called: a warning where something that it needs is in doubt, or none."""
        reasons = self.of(finding.name)
        if reasons and finding.name in FORCES:
            return None
        return finding.as_warning(reasons[0]) if reasons and finding.fails else finding


def doubts(clip: Analysis, *, is_floor_given: bool = False) -> Doubts:
    """What nobody can tell of a clip."""
    found: dict[str, str] = {}
    leg, motion = clip.character.leg_length, clip.motion
    hips = motion.world[0][:, pelvis(motion.skeleton)]
    height = float(np.median(hips[:, 2] - clip.floor)) / leg
    mass = float(np.median(clip.com[:, 2] - clip.floor)) / leg
    if height < at.LOW_HIPS and mass > at.LOW_MASS:
        found["limbs"] = "it is not clear which bones are legs and hips"
    if not is_floor_given:
        floor = find_floor(motion)
        sunk = (clip.touch.gaps < -at.DOWN * clip.character.leg_scale).any(axis=1).mean()
        apart = abs(float(floor.value) - clip.floor)
        if floor.confidence < at.SURE_FLOOR or apart > at.FLOORS_AGREE * leg or sunk > at.SUNK:
            found["floor"] = "it is not clear where the floor lies (--floor says it)"
    if is_on_the_spot(clip):
        found["travel"] = "the clip goes on the spot: its travel is not in it"
    if not at.HUMAN_LEGS[0] <= leg <= at.HUMAN_LEGS[1]:
        found["size"] = f"legs of {leg:.2g} m are not a person's, so how it should move and weigh is not known"
    return Doubts(found)
