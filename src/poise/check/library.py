"""The numbers of a clip (fields of poise.check/1), samples for statistics, and facts by which clips are compared."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from poise.analysis.analyze import Analysis, FlightFit
from poise.analysis.gait import gait
from poise.analysis.measures import ImpliedScale, Measures, standing
from poise.check import thresholds as at
from poise.check.ground import feet
from poise.check.whole import steps_of
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.phases.points import pelvis


def _none() -> Array:
    return np.zeros(0)


@dataclass(frozen=True)
class FlightSample:
    """One flight, frame by frame, in the frame of its own ground track.

    Attributes:
        frames: First and last frame.
        gravity: Of the fitted parabola [g].
        uncertainty: Its standard error [g].
        track: Distance of the center of mass from the straight ground line over its length, shape (n,); NaN
            where the line has no length to speak of.
        linear: (p - mean p) / |mean p|, horizontal: along and across the track, shape (n, 2).
        angular: (L - mean L) / |mean L|: along, up, across, shape (n, 3); NaN where the mean is near zero.
    """

    frames: tuple[int, int]
    gravity: float
    uncertainty: float
    track: Array
    linear: Array
    angular: Array

    @property
    def is_clear(self) -> bool:
        """True if the flight tells its gravity: twice the uncertainty is less than half of it."""
        return self.gravity > 4.0 * self.uncertainty


@dataclass(frozen=True)
class Samples:
    """Everything the statistics want of one clip.

    Attributes:
        frames: Number of frames.
        gait: "walk", "run" or "other".
        flights: Its flights.
        cop: Signed distance of the center of pressure from the support over the support's radius, at the frames
            where something carries load; positive outside, shape (m,).
        is_counted: False where the clip's frame rate is wrong: all of this depends on time.
        gait_measures: Duty factor, double support, energies, cost of transport: `poise.analysis.Gait.as_json`.
    """

    frames: int = 0
    gait: str = "other"
    flights: tuple[FlightSample, ...] = ()
    cop: Array = field(default_factory=_none)
    is_counted: bool = True
    gait_measures: dict[str, Any] = field(default_factory=dict)

    @property
    def flight_frames(self) -> int:
        """Frames in the air."""
        return sum(f.frames[1] - f.frames[0] + 1 for f in self.flights)


WALK_SPEED, RUN_FLIGHT, WALK_FLIGHT = 0.3, 0.1, 0.02
"""A gait travels at least this many leg lengths a second; a run is in the air for at least this share of its frames, a
walk for no more than that [1]."""
TOGETHER = 0.1
"""Feet that land within this time land together, for a leg of 0.82 m [s]."""
LEAST_STEPS = 2
"""A gait puts one foot down and then another at least so often."""


def gait_of(speed: float, flight_share: float, double_share: float, single_share: float, steps: int) -> str:
    """The class of a clip by its phases: "walk", "run" or "other".

    A walk travels from foot to foot with one or two on the ground at all times, and with two for a part of them; a run
    travels from foot to foot with flights and hardly any double support.

    Args:
        speed: Mean horizontal speed [leg lengths / s].
        flight_share: Share of frames in the air [1].
        double_share: Share of frames on two feet or more [1].
        single_share: Share of frames on one foot [1].
        steps: How often a foot lands and the one that landed before it was another.
    """
    if speed < WALK_SPEED or steps < LEAST_STEPS:
        return "other"
    if flight_share >= RUN_FLIGHT and double_share < flight_share:
        return "run"
    if flight_share <= WALK_FLIGHT and double_share > 0.02 and single_share > 0.1:
        return "walk"
    return "other"


LEAST_CLIPS = 4
"""Clips that say what is usual; of fewer nobody is called unusual."""
SPREADS = 3.5
"""A clip leaves the spread beyond this many robust standard deviations of the group [1]."""
ROBUST = 1.4826
"""Standard deviation over median absolute deviation, of normal values [1]."""

QUANTITIES: dict[str, tuple[str, str, float]] = {
    "gravity": ("implied gravity", "g", 0.25),
    "leg": ("leg length", "m", 0.05),
    "size": ("size the motion implies", "×", 0.25),
    "step": ("time of a step", "s", 0.2),
}
"""Each quantity: in words, unit, and the smallest spread that is believed, as |ln of a ratio|: animators and people
differ by that much anyway."""


@dataclass(frozen=True)
class Facts:
    """What a clip says of its character.

    Attributes:
        skeleton: A key that clips of one skeleton share.
        gait: "walk", "run" or "other"; step times are compared within one gait.
        values: Each quantity it has a value for, all positive.
    """

    skeleton: str
    gait: str
    values: dict[str, float]


@dataclass(frozen=True)
class Stray:
    """A clip that leaves its group's spread."""

    clip: str
    quantity: str
    value: float
    usual: float
    low: float
    high: float
    sentence: str


@dataclass(frozen=True)
class Group:
    """The clips of one skeleton."""

    skeleton: str
    clips: tuple[str, ...]
    strays: tuple[Stray, ...]


def compare(facts: Sequence[tuple[str, Facts]]) -> tuple[Group, ...]:
    """Groups of clips by skeleton, each with those that leave its spread, the farthest first.

    The middle is the median and the spread the median absolute deviation, both of logarithms, so that a few strays
    do not hide each other and twice as much is as far as half.

    Args:
        facts: Name and facts of each clip.

    Source: the discussion of [ShapiroLee2011]_ asks for clips of one character that agree; the statistics are ours.
    """
    by_skeleton: dict[str, list[tuple[str, Facts]]] = defaultdict(list)
    for name, fact in facts:
        by_skeleton[fact.skeleton].append((name, fact))
    groups = []
    for skeleton, members in by_skeleton.items():
        strays: list[tuple[float, Stray]] = []
        for quantity in QUANTITIES:
            sets = [members]
            if quantity == "step":
                sets = [[m for m in members if m[1].gait == gait] for gait in ("walk", "run")]
            for chosen in sets:
                strays += _strays(quantity, [(n, f.values[quantity]) for n, f in chosen if quantity in f.values])
        strays.sort(key=lambda s: -s[0])
        groups.append(Group(skeleton, tuple(n for n, _ in members), tuple(s for _, s in strays)))
    return tuple(groups)


def _strays(quantity: str, named: list[tuple[str, float]]) -> list[tuple[float, Stray]]:
    named = [(n, v) for n, v in named if math.isfinite(v) and v > 0.0]
    if len(named) < LEAST_CLIPS:
        return []
    label, unit, least = QUANTITIES[quantity]
    logs = np.log([v for _, v in named])
    middle = float(np.median(logs))
    # against the smallest believed spread, so that a library that agrees to a hair is not full of strays
    half = max(SPREADS * ROBUST * float(np.median(np.abs(logs - middle))), least)
    usual, low, high = math.exp(middle), math.exp(middle - half), math.exp(middle + half)
    found = []
    for (name, value), log in zip(named, logs):
        away = abs(float(log) - middle)
        if away > half:
            sentence = (
                f"{label} {value:.3g} {unit}; its {len(named) - 1} companions have {usual:.3g} {unit}, "
                f"most of them {low:.3g}–{high:.3g}"
            )
            found.append((away / half, Stray(name, quantity, value, usual, low, high, sentence)))
    return found


def measures_of(
    clip: Analysis, quality: Measures, scale: ImpliedScale, samples: Samples | None = None
) -> dict[str, Any]:
    """The fields of one clip in poise.check/1, but for file, verdict and findings."""
    error = clip.support.error[np.isfinite(clip.support.error)]
    names, good = clip.motion.skeleton.names, ~clip.is_glitch
    force = np.linalg.norm(clip.forces.residual_force, axis=1)[good]
    moment = np.linalg.norm(clip.forces.residual_moment, axis=1)[good]
    return {
        "frames": clip.motion.frame_count,
        "fps": clip.motion.fps,
        "filter": {"name": clip.filter.name, "hz": clip.filter.hz},
        "floor_m": clip.floor,
        "mass_kg": clip.mass,
        "leg_m": clip.character.leg_length,
        "flights": [_flight(f) for f in clip.flights],
        "contacts": [list(t) for t in clip.touch.times(clip.times)],
        "phases": [
            {
                "kind": p.kind,
                "supports": list(p.supports),
                "start_s": p.start_s,
                "end_s": p.end_s,
                "cop_error": p.cop_error,
            }
            for p in clip.phases
        ],
        "cop": {
            "inside_ratio": float((error <= 0.0).mean()) if len(error) else None,
            "within_radius_ratio": float((error <= 1.0).mean()) if len(error) else None,
        },
        **asdict(standing(clip)),
        "jitter": _mean(quality.jitter[good]),
        "normalized_jerk_max": _highest(quality.normalized_jerk[good]),
        "joint_speed_max": _most(quality.joint_speed[good]),
        "limit_violations": int((quality.limit_excess > at.TOUCHES_LIMIT).any(axis=1).sum()),
        "scale": {
            "implied_size": scale.size,
            "confidence": scale.confidence,
            "gravity_g": scale.gravity_g,
            "froude": scale.froude,
            "retime": scale.retime,
        },
        "root_residual": {
            "force_max_N": _most(force),
            "force_rms_N": _rms(force),
            "moment_max_Nm": _most(moment),
            "moment_rms_Nm": _rms(moment),
            "force_rms_weights": _rms(force) / (clip.mass * GRAVITY),
        },
        "gait": gait(clip).as_json() if samples is None else samples.gait_measures,
        "glitches": [{"frame": g.frame, "joint": names[g.joint], "kind": g.kind} for g in clip.glitches],
    }


def _flight(flight: FlightFit) -> dict[str, Any]:
    return {
        "start_s": flight.start_s,
        "end_s": flight.end_s,
        "frames": [flight.first, flight.last],
        "gravity_g": flight.gravity_g,
        "gravity_uncertainty_g": flight.gravity_error / GRAVITY,
        "track_error": flight.track_error,
        "linear_momentum_error": np.abs(flight.linear_error).max(axis=0).tolist(),
        "angular_momentum_error": np.abs(flight.angular_error).max(axis=0).tolist(),
        "angular_momentum_scale": flight.angular_scale,
        "rise_m": flight.rise,
    }


def samples_of(clip: Analysis) -> Samples:
    """What the clip gives to the statistics of a library."""
    root = clip.motion.world[0][:, pelvis(clip.motion.skeleton), :2]
    path = float(np.linalg.norm(np.diff(root, axis=0), axis=1).sum())
    speed = path / max(clip.motion.duration, 1e-9) / clip.character.leg_length
    on_feet = np.zeros(clip.motion.frame_count, dtype=np.int64)
    for columns in feet(clip).values():
        on_feet += clip.touch.flags[:, columns].any(axis=1)
    others = clip.touch.flags[:, ~clip.touch.is_foot].any(axis=1)
    air = clip.is_airborne & (on_feet == 0)
    double, single = (on_feet > 1) & ~others, (on_feet == 1) & ~others
    kind = gait_of(speed, float(air.mean()), float(double.mean()), float(single.mean()), len(steps_of(clip)[0]))
    if float(others.mean()) > at.ON_HANDS:
        kind = "other"
    error = clip.support.error
    return Samples(
        clip.motion.frame_count,
        kind,
        tuple(_sample(clip, f) for f in clip.flights),
        error[np.isfinite(error) & ~clip.is_glitch],
        gait_measures=gait(clip).as_json(),
    )


def _sample(clip: Analysis, flight: FlightFit) -> FlightSample:
    """A flight in the frame of its own ground track: along, across (to the left), up."""
    line = clip.com[flight.last, :2] - clip.com[flight.first, :2]
    length = float(np.linalg.norm(line))
    along = line / length if length > 1e-9 else np.array([1.0, 0.0])
    left = np.array([-along[1], along[0]])
    level = flight.linear_error[:, :2]
    flat = flight.angular_error[:, :2]
    angular = np.stack([flat @ along, flight.angular_error[:, 2], flat @ left], axis=1)
    if flight.angular_is_tiny:
        angular = np.full_like(angular, np.nan)
    linear = np.stack([level @ along, level @ left], axis=1)
    if flight.linear_is_tiny:
        linear = np.full_like(linear, np.nan)
    track = flight.track / flight.track_length if math.isfinite(flight.track_error) else flight.track * np.nan
    return FlightSample(
        (flight.first, flight.last), flight.gravity_g, flight.gravity_error / GRAVITY, track, linear, angular
    )


def facts_of(clip: Analysis, scale: ImpliedScale, gait: str) -> Facts:
    """What the clip says of its character, for comparison with others of the same skeleton."""
    skeleton = clip.motion.skeleton
    key = hashlib.sha256("\n".join(map(str, zip(skeleton.names, skeleton.parents.tolist()))).encode()).hexdigest()
    values = {"leg": clip.character.leg_length}
    if math.isfinite(scale.gravity_g) and scale.gravity_g > 0.0:
        values |= {"gravity": scale.gravity_g, "size": scale.size}
    steps = [s for s in steps_of(clip)[0] if s > TOGETHER * math.sqrt(clip.character.leg_scale)]
    if len(steps) >= LEAST_STEPS and gait in ("walk", "run"):
        values["step"] = float(np.median(steps))
    return Facts(key[:12], gait, values)


def _mean(values: Array) -> float:
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else math.nan


def _highest(values: Array) -> float:
    values = values[np.isfinite(values)]
    return float(values.max()) if len(values) else math.nan


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0


def _most(values: Array) -> float:
    return float(values.max(initial=0.0))
