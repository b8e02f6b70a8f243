"""What can be wrong with a clip, one thing that is, and what would mend it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from poise.analysis.analyze import Analysis

FLAWS: dict[str, tuple[str, str]] = {
    "frame-rate": ("flights fall as at another frame rate", "× the labeled rate"),
    "gravity": ("implied gravity of a flight", "g"),
    "arc": ("height off the parabola, as a part of how far the flight bends", ""),
    "track": ("ground track in flight off the straight line", "m"),
    "drift": ("change of horizontal speed in flight, as a part of it or of √(g h), the larger", ""),
    "spin": ("turn of the whole body in flight that steady spin does not explain", "deg"),
    "contacts": ("gravity of a time in the air that no body could make: what carries it was not found", "g"),
    "balance": ("share of standing frames whose moment the feet can give", ""),
    "skate": ("slide of a foot over one touch of the ground", "m"),
    "penetration": ("depth of a contact point below the floor", "m"),
    "float": ("gap under a foot that should carry the body", "m"),
    "jerk": ("share of joint motion whose normalized jerk is above 6500", ""),
    "joint-speed": ("turning speed of a joint", "rad/s"),
    "limits": ("joint angle beyond its limit", "deg"),
    "root-residual": ("force at the root that nothing supplies, rms", "body weights"),
    "glitch": ("flips, jumps, spikes, frozen frames, rest poses in front", "of them"),
    "size": ("size the motion implies over the size it has", "×"),
}
"""Every flaw: its measure in words, and the unit."""


@dataclass(frozen=True)
class Cure:
    """One way to mend a finding.

    Attributes:
        text: What to do, in an animator's words, with the numbers of the clip.
        cost: How much it changes [1]: lengths in leg lengths, times and gravity as |ln of the ratio|, turns in
            radians. Cures are ranked by it; it compares, it does not measure.
    """

    text: str
    cost: float


class Trials(Protocol):
    """Cures that take long to try. The edits can; a check that is not given them names those cures untried."""

    def swing(self, clip: Analysis, span: tuple[int, int]) -> tuple[float, float] | None:
        """Swing limbs against the spin of a flight: degrees off steady spin then, and degrees a limb turns; or None."""
        ...

    def slower(self, clip: Analysis, factor: float) -> Analysis:
        """The clip played slower."""
        ...

    def repaired(self, clip: Analysis) -> tuple[float, float, float, float] | None:
        """Repair the whole clip: force that contacts cannot give before and after [body weights], largest turn of a
        joint [degrees] and shift of the root [m]; None where it changes nothing.
        """
        ...


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong at one place of a clip.

    Attributes:
        name: A key of FLAWS.
        measure: The measured value, in the flaw's unit.
        threshold: The end of the allowed range that it has passed.
        frames: First and last frame of each stretch, counted from 0 as in the file.
        sentence: What is wrong, in words.
        cures: What would mend it, smallest change first.
        where: The flight, foot or joint, where there is one.
        fails: True if it makes the clip fail; False for a warning.
        doubt: Why it is a warning though the profile calls it a failure; "" where it does not.
    """

    name: str
    measure: float
    threshold: float
    frames: tuple[tuple[int, int], ...]
    sentence: str
    cures: tuple[Cure, ...] = ()
    where: str = ""
    fails: bool = True
    doubt: str = ""

    def as_warning(self, doubt: str) -> Finding:
        """The same as a warning, with the reason."""
        return replace(self, fails=False, doubt=doubt)

    @property
    def excess(self) -> float:
        """How many times the threshold was passed, at least 1; what findings are sorted by."""
        a, b = abs(self.measure), abs(self.threshold)
        small, large = min(a, b), max(a, b)
        return large / small if small > 1e-12 else float("inf") if large > 0.0 else 1.0

    def as_json(self) -> dict[str, object]:
        """The fields of poise.check/1."""
        return {
            "name": self.name,
            "measure": self.measure,
            "unit": FLAWS[self.name][1],
            "threshold": self.threshold,
            "frames": [list(f) for f in self.frames],
            "where": self.where,
            "sentence": self.sentence,
            "cures": [c.text for c in self.cures],
            "fails": self.fails,
            "doubt": self.doubt,
        }


def ranked(cures: list[Cure]) -> tuple[Cure, ...]:
    """Cures by what they change, smallest first."""
    return tuple(sorted(cures, key=lambda c: c.cost))
