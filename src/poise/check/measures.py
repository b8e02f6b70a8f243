"""The numbers of a clip: fields of poise.check/1, samples for statistics, facts for a library."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from poise.analysis.analyze import Analysis
from poise.analysis.flights import FlightFit
from poise.analysis.measures import Measures, standing
from poise.analysis.scale import ImpliedScale
from poise.check import thresholds as at
from poise.check.ground import feet
from poise.check.library import Facts, FlightSample, Samples, gait_of
from poise.check.rate import landings
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.phases.points import pelvis


def measures_of(clip: Analysis, quality: Measures, scale: ImpliedScale) -> dict[str, Any]:
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
            {"kind": p.kind, "supports": list(p.supports), "start_s": p.start_s, "end_s": p.end_s,
             "cop_error": p.cop_error} for p in clip.phases
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
            "implied_size": scale.size, "confidence": scale.confidence, "gravity_g": scale.gravity_g,
            "froude": scale.froude, "retime": scale.retime,
        },
        "root_residual": {
            "force_max_N": _most(force), "force_rms_N": _rms(force),
            "moment_max_Nm": _most(moment), "moment_rms_Nm": _rms(moment),
            "force_rms_weights": _rms(force) / (clip.mass * GRAVITY),
        },
        "glitches": [{"frame": g.frame, "joint": names[g.joint], "kind": g.kind} for g in clip.glitches],
    }  # fmt: skip


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
    gait = gait_of(speed, float(air.mean()), float(double.mean()), float(single.mean()), _steps(clip))
    if float(others.mean()) > at.ON_HANDS:
        gait = "other"
    error = clip.support.error
    return Samples(
        clip.motion.frame_count, gait, tuple(_sample(clip, f) for f in clip.flights),
        error[np.isfinite(error) & ~clip.is_glitch],
    )  # fmt: skip


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
    steps = _step_seconds(clip)
    if steps is not None and gait in ("walk", "run"):
        values["step"] = steps
    return Facts(key[:12], gait, values)


def _steps(clip: Analysis) -> int:
    """How often a foot lands after another."""
    order = [foot for _, foot in landings(clip)]
    return sum(a != b for a, b in pairwise(order))


def _step_seconds(clip: Analysis) -> float | None:
    """Median time from one foot's landing to the next foot's [s], None for fewer than three."""
    apart = np.diff([t for t, _ in landings(clip)])
    apart = apart[apart > 0.1 * math.sqrt(clip.character.leg_scale)]
    return float(np.median(apart)) if len(apart) >= 2 else None


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
