"""Findings: what can be wrong with a clip, where it is wrong, and what would mend it.

Each finding needs some facts of the clip (limbs, floor, rate, size). Where these are uncertain, it is a warning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from poise.analysis.analyze import Analysis
from poise.analysis.gait import is_on_the_spot
from poise.check import thresholds as at
from poise.core.typing import Array, Flags
from poise.phases.floor import find_floor
from poise.phases.points import pelvis

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
    "rise": ("how far the body goes up or down while its feet stand", "m"),
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
        tried: What was tried and cures nothing, in words.
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
    tried: tuple[str, ...] = ()

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
            "tried": list(self.tried),
            "fails": self.fails,
            "doubt": self.doubt,
        }


def ranked(cures: list[Cure]) -> tuple[Cure, ...]:
    """Cures by what they change, smallest first."""
    return tuple(sorted(cures, key=lambda c: c.cost))


Frames = tuple[tuple[int, int], ...]


def length_words(meters: float) -> str:
    """A length: "7 cm", "4 mm", "1.2 m"."""
    size = abs(meters)
    if size >= 0.995:
        return f"{meters:.2g} m" if size < 9.95 else f"{meters:.0f} m"
    if size >= 0.00995:
        return f"{100.0 * meters:.0f} cm" if size >= 0.0995 else f"{100.0 * meters:.2g} cm"
    return f"{1000.0 * meters:.1f} mm" if size < 0.00095 else f"{1000.0 * meters:.0f} mm"


def frame_words(frames: Frames, limit: int = 4) -> str:
    """Stretches of frames: "12–18, 40", at most `limit` of them."""
    ranges = [f"{a}–{b}" if b > a else str(a) for a, b in frames[:limit]]
    return ", ".join(ranges) + (f" and {len(frames) - limit} more" if len(frames) > limit else "")


def stretches(flags: Flags, offset: int = 0) -> Frames:
    """First and last frame of each run of flags, counted from `offset`."""
    from poise.phases.points import runs

    return tuple((offset + a, offset + b) for a, b in runs(flags))


def facing_at(clip: Analysis, frame: int) -> float:
    """Where the body looks in one frame, counterclockwise from world +x [rad]."""
    from poise.phases.travel import facing

    return facing(clip.motion.frames(np.array([frame])))


def way_word(way: Array, facing: float) -> str:
    """A horizontal direction (2,) as a character has it that looks along `facing`, from world +x [rad]."""
    ahead = float(way[0]) * math.cos(facing) + float(way[1]) * math.sin(facing)
    left = -float(way[0]) * math.sin(facing) + float(way[1]) * math.cos(facing)
    if abs(ahead) >= abs(left):
        return "forward" if ahead >= 0.0 else "backward"
    return "to its left" if left > 0.0 else "to its right"


def opposite(way: str) -> str:
    """The other way round."""
    pairs = {"forward": "backward", "to its left": "to its right"}
    return (pairs | {b: a for a, b in pairs.items()})[way]


def turn_word(turn: Array, facing: float) -> str:
    """What a rotation vector (3,) [rad], world axes, does to a body that looks along `facing`, from world +x [rad]."""
    ahead = np.array([math.cos(facing), math.sin(facing), 0.0])
    left = np.array([-math.sin(facing), math.cos(facing), 0.0])
    roll, pitch, yaw = float(turn @ ahead), float(turn @ left), float(turn[2])
    if abs(pitch) >= max(abs(roll), abs(yaw)):
        return "tip forward" if pitch > 0.0 else "tip backward"
    if abs(yaw) >= abs(roll):
        return "turn left" if yaw > 0.0 else "turn right"
    return "lean to its right" if roll > 0.0 else "lean to its left"


NEEDS: dict[str, tuple[str, ...]] = {
    "frame-rate": ("floor",),
    "gravity": ("limbs", "size"),
    "arc": ("limbs", "size"),
    "track": ("limbs", "travel", "size"),
    "drift": ("limbs", "travel", "size"),
    "spin": ("limbs", "size"),
    "balance": ("limbs", "travel", "floor", "size"),
    "skate": ("limbs", "travel", "floor", "size"),
    "penetration": ("limbs", "floor"),
    "float": ("limbs", "floor"),
    "rise": ("limbs",),
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

    @property
    def unjudged(self) -> tuple[str, ...]:
        """A sentence on the findings that are not made at all, and why; none where all are."""
        reasons = self.of(FORCES[0])
        return (f"Balance and the force at the hips are not judged: {reasons[0]}.",) if reasons else ()


def doubts(clip: Analysis, *, is_floor_given: bool = False, is_floor_shared: bool = False) -> Doubts:
    """What nobody can tell of a clip.

    Args:
        clip: Its dynamics.
        is_floor_given: The ground was said, or the clip carries it: no doubt of it.
        is_floor_shared: It is that of other clips: as good as found where this one touches it, too.
    """
    found: dict[str, str] = {}
    leg, motion = clip.character.leg_length, clip.motion
    ground = motion.world[0][:, pelvis(motion.skeleton), 2] - clip.hips
    height, mass = (float(np.median(h)) / leg for h in (clip.hips, clip.com[:, 2] - ground))
    if height < at.LOW_HIPS and mass > at.LOW_MASS:
        found["limbs"] = "it is not clear which bones are legs and hips"
    if not is_floor_given or is_floor_shared:
        floor = find_floor(motion)
        sunk = (clip.touch.gaps < -at.DOWN * clip.character.leg_scale).any(axis=1).mean()
        above = ~clip.touch.flags.any(axis=1) & (is_floor_shared | ~clip.is_airborne)
        difference = abs(float(floor.value) - clip.floor)
        is_off = sunk > at.SUNK or ((is_floor_shared or bool(clip.touch.names)) and above.mean() > at.ABOVE)
        is_found = floor.confidence >= at.SURE_FLOOR and difference <= at.FLOORS_AGREE * leg
        if is_off or not (is_found or is_floor_shared):
            found["floor"] = "it is not clear where the floor lies (poise check --floor M says it)"
        elif sunk > 0.0 and _lacks_feet(clip):
            found["floor"] = "its legs have no joint at the ankle, so where their soles are is guessed"
    if is_on_the_spot(clip):
        found["travel"] = "the clip goes on the spot (its hips stay where they are): its travel is not in it"
    if not at.HUMAN_LEGS[0] <= leg <= at.HUMAN_LEGS[1]:
        found["size"] = f"legs of {leg:.2g} m are not a person's, so how it should move and weigh is not known"
    return Doubts(found)


def _lacks_feet(clip: Analysis) -> bool:
    """Whether a leg of a two-legged figure ends in its shin, which has to serve as its foot."""
    roles = clip.character.roles
    feet = [(roles.get(f"{side}_knee"), roles.get(f"{side}_foot")) for side in ("left", "right")]
    return any(knee is not None and knee == foot for knee, foot in feet)
