"""How tall a body the motion looks like, and the retiming that would cure it.

Times of like motions go with √(size / gravity): a giant ten times as tall moves √10 = 3.16 times more slowly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from poise.analysis.analyze import Analysis
from poise.core.motion import Motion
from poise.core.units import GRAVITY, HUMAN_LEG, UNITS
from poise.phases.flights import PLAUSIBLE_LEG
from poise.phases.points import pelvis, velocities
from poise.phases.travel import in_place_velocity

WALK_FROUDE, RUN_FROUDE = 0.25, 1.0
"""v² / (g leg) at which people like to walk, and at which a run is easy [1]."""
WALK_SPREAD, RUN_SPREAD = 1.2, 1.2
"""Standard deviation of the logarithm of Froude numbers among walks and runs, strolls, sneaking and sprints included:
speed alone says little of size."""
SURE, WORTH_SAYING = 0.9, 0.1
"""Another size is spoken of if it is this sure, and its logarithm differs by this much [1]."""
LEAST_TRAVEL = 1.0
"""A gait is judged where it goes at least so many leg lengths [1]."""
LEAST_STEPS = 4
"""And takes at least so many steps."""
LEAST_SPEED = 0.3
"""And is no slower, for a leg of 0.82 m [m/s]."""
UPRIGHT = 0.6
"""And holds its hips this high above the floor, in leg lengths [1]: who crawls has no gait."""
FLYING = 0.1
"""A gait in the air for more than this share of its frames is a run [1]."""
LEAST_GRAVITY, TELLS = 0.05, 0.5
"""A flight tells of gravity if it falls with more g than the first, known to better than this part of it [1]."""
LEAST_SPREAD = 0.03
"""No flight tells the logarithm of gravity better than this [1]."""


def unlikely_leg(leg: float, motion: Motion) -> tuple[str, str]:
    """What to say of legs [m] that no creature has, and the units that would fit; nothing of others."""
    least, most = PLAUSIBLE_LEG
    if least <= leg <= most:
        return "", ""
    unit = motion.source.unit if motion.source is not None else 1.0
    fits = [n for n, u in UNITS.items() if least <= leg / unit * u <= most]
    return (
        f"Its legs are {leg:.3g} m long, which few creatures have: the unit ({unit:g} m) may be wrong",
        ", or ".join(f"--unit {n}" for n in fits[:2]) or "--unit U",
    )


@dataclass(frozen=True)
class ImpliedScale:
    """What a clip's timing says about the size of its body.

    Attributes:
        size: The motion looks like that of a body so many times as tall [1]; 1 where nothing is known.
        gravity_g: Gravity that the flights imply, over 9.81; nan without flights that tell.
        froude: v² / (g leg) of the steady gait [1]; nan where it does not go anywhere.
        gait: "walk", "run" or "" where there is none.
        confidence: 0 … 1 that the size differs from 1 as much as `size` says, by the spread of the evidence.
        spread: Standard deviation of log(size).
        retime: Play the clip's times by this factor to cure it [1]: above 1 is slower.
        reason: In words.
    """

    size: float
    gravity_g: float
    froude: float
    gait: str
    confidence: float
    spread: float
    retime: float
    reason: str

    def __str__(self) -> str:
        if self.confidence < SURE or abs(math.log(self.size)) < WORTH_SAYING:
            return f"moves like a body of its own size ({self.reason})"
        word = "slower" if self.retime > 1.0 else "faster"
        much = self.retime if self.retime > 1.0 else 1.0 / self.retime
        return f"moves like a body {self.size:.2g} × as tall; {much:.2f} × {word} would cure it ({self.reason})"


def implied_scale(analysis: Analysis) -> ImpliedScale:
    """The size a motion implies, from the gravity of its flights and the Froude number of its gait.

    A body of size k falls, seen at its own size, with 9.81 / k: flights at 0.7 g look like a body 1.4 × as tall. The
    gait's Froude number, against what people like, adds weak evidence: v² / (g leg) goes with 1 / k, too. Both are put
    together by their spreads, with a prior that says 1 (spread 1 in the logarithm).
    """
    leg = analysis.character.leg_length
    clues: list[tuple[float, float, str]] = []
    gravity = _flight_gravity(analysis)
    if math.isfinite(gravity[0]):
        clues.append((-math.log(gravity[0]), gravity[1], f"flights fall with {gravity[0]:.2f} g"))
    speed = gait_speed(analysis)
    gait = ""
    froude = speed**2 / (GRAVITY * leg) if math.isfinite(speed) else math.nan
    if math.isfinite(froude):
        gait = "run" if float(analysis.is_airborne.mean()) > FLYING else "walk"
        usual, spread = (RUN_FROUDE, RUN_SPREAD) if gait == "run" else (WALK_FROUDE, WALK_SPREAD)
        clues.append((math.log(usual / froude), spread, f"{gait} at a Froude number of {froude:.2g}"))
    weight = 1.0 + sum(1.0 / s**2 for _, s, _ in clues)
    mean = sum(x / s**2 for x, s, _ in clues) / weight
    spread = 1.0 / math.sqrt(weight)
    confidence = math.erf(abs(mean) / spread / math.sqrt(2.0)) if clues else 0.0
    size = math.exp(mean)
    return ImpliedScale(
        size, gravity[0], froude, gait, round(confidence, 3), spread, 1.0 / math.sqrt(size),
        "; ".join(c[2] for c in clues) or "no flight and no gait to tell by",
    )  # fmt: skip


def gait_speed(analysis: Analysis) -> float:
    """Horizontal speed of a body that goes somewhere on its legs [m/s]; nan for one that does not.

    The median over the clip of the pelvis's horizontal speed against the ground, unfiltered, glitches left out.
    """
    motion = analysis.motion
    leg = analysis.character.leg_length
    root = motion.world[0][:, pelvis(motion.skeleton)]
    ground = in_place_velocity(motion)
    moving = (velocities(root, motion.times) - ground)[~analysis.is_glitch, :2]
    if len(moving) < 4:
        return math.nan
    speed = np.linalg.norm(moving, axis=1)
    steady = float(np.median(speed))
    goes = steady * motion.duration > LEAST_TRAVEL * leg and steady > LEAST_SPEED * math.sqrt(leg / HUMAN_LEG)
    goes = goes and _steps(analysis) >= LEAST_STEPS
    upright = float(np.median(root[:, 2] - analysis.floor)) > UPRIGHT * leg
    return steady if goes and upright else math.nan


def _steps(analysis: Analysis) -> int:
    """How often a support begins to carry after the start."""
    on = analysis.supports
    return int((on[1:] & ~on[:-1]).sum())


def _flight_gravity(analysis: Analysis) -> tuple[float, float]:
    """Weighted mean of the flights' gravity over 9.81, and the spread of its logarithm; nan without any."""
    found = [(f.gravity_g, f.gravity_error / GRAVITY) for f in analysis.flights if f.gravity_g > LEAST_GRAVITY]
    found = [(g, e) for g, e in found if e < TELLS * g]
    if not found:
        return math.nan, math.nan
    logs = np.array([math.log(g) for g, _ in found])
    spreads = np.array([math.hypot(e / g, LEAST_SPREAD) for g, e in found])
    weights = spreads**-2.0
    mean = float((weights * logs).sum() / weights.sum())
    disagree = float((weights * (logs - mean) ** 2).sum() / max(len(found) - 1, 1))
    return math.exp(mean), float(math.sqrt(max(disagree, 1.0) / weights.sum()))
