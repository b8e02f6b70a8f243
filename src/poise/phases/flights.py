"""Times in the air, and what they say about the frame rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from poise.core.motion import Motion
from poise.core.typing import Array, Flags
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.phases.floor import find_floor
from poise.phases.glitches import glitch_frames
from poise.phases.points import body_points, bone_weights, leg_length, runs, velocities

MIN_SECONDS, MIN_FRAMES = 0.05, 5
"""Shortest flight that is fitted; at low frame rates the frames decide."""
CLEARANCE = 0.035
"""Nothing is lower than this in flight, for a leg of 0.82 m [m]."""
SUPPORT_HEIGHT, SUPPORT_SPEED, SUPPORT_SECONDS = 0.2, 0.6, 0.08
"""A point this low [m] that stays this slow [m/s] for so long [s] carries the body, for a leg of 0.82 m: a dancer on
her toes is not in flight. A falling point passes from -SUPPORT_SPEED to SUPPORT_SPEED in less than 0.13 s."""
PUSHED = -2.0
"""A path that bends upwards by more than this is not a flight [m/s²]: the body lies on something the skeleton lacks."""
ACCUSE = 2.5
"""A frame rate is doubted where flights fall this many times too fast or too slowly [1]."""
PLAUSIBLE_LEG = (0.1, 3.0)
"""Outside of this a wrong unit is the likelier cause [m]."""
COMMON_RATES = (12.0, 15.0, 24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 72.0, 90.0, 100.0, 120.0, 144.0, 200.0, 240.0)
"""Frame rates in use [1/s]."""


@dataclass(frozen=True)
class Flight:
    """One time in the air.

    Attributes:
        start_s: Time of its first frame [s].
        end_s: Time of its last frame [s].
        frames: First and last frame.
        gravity: Downward acceleration of the least-squares parabola through the center of mass [m/s²].
        residual: Root mean square distance of its height from that parabola [m].
        rise: How far above its lower end the path comes [m].
    """

    start_s: float
    end_s: float
    frames: tuple[int, int]
    gravity: float
    residual: float
    rise: float


@dataclass(frozen=True)
class FrameRate:
    """What the flights say about the frame rate.

    Attributes:
        fps: The rate at which they would fall with 9.81 m/s² [1/s]; the label's where they say nothing.
        confidence: 0 … 1 that the label is wrong; 0 where they agree with it or there are none.
        reason: In words.
    """

    fps: float
    confidence: float
    reason: str


def flights(motion: Motion, *, floor: float | None = None) -> tuple[Flight, ...]:
    """Times in which no joint and no tip is near the floor, each with the parabola of its center of mass.

    The center of mass is approximate: every bone weighs what its share of the body's length says.

    Args:
        motion: The motion.
        floor: Height of the floor [m]; found where not given.
    """
    if motion.frame_count < MIN_FRAMES:
        return ()
    positions, joints = body_points(motion)
    com = np.einsum("fnk,n->fk", positions, bone_weights(motion.skeleton, joints))
    found: list[Flight] = []
    for first, last in flight_spans(airborne_frames(motion, floor=floor), motion.times):
        end = last + 1
        time = motion.times[first:end] - motion.times[first]
        height = com[first:end, 2]
        fit = np.polynomial.Polynomial.fit(time, height, 2).convert().coef
        curve = np.polynomial.polynomial.polyval(time, fit)
        residual = float(np.sqrt(np.mean((curve - height) ** 2)))
        gravity = -2.0 * float(fit[2]) if len(fit) > 2 else 0.0
        if gravity < PUSHED:
            continue
        rise = float(height.max() - min(height[0], height[-1]))
        found.append(
            Flight(float(motion.times[first]), float(motion.times[last]), (first, last), gravity, residual, rise)
        )
    return tuple(found)


def flight_spans(airborne: Flags, times: Array) -> tuple[tuple[int, int], ...]:
    """First and last frame of each time in the air that is long enough to be fitted.

    Args:
        airborne: Frames in the air, shape (F,).
        times: Of the frames [s], shape (F,).
    """
    return tuple(
        (first, last)
        for first, last in runs(airborne)
        if last - first + 1 >= MIN_FRAMES and times[last] - times[first] >= MIN_SECONDS - 1e-9
    )


def implied_fps(motion: Motion, *, floor: float | None = None) -> FrameRate:
    """The frame rate at which a motion's flights would fall with 9.81 m/s².

    Gravity seen goes with the square of the frame rate taken: data of 60 Hz labeled 120 Hz fall with 39 m/s².
    Animators bend gravity too, so only flights that agree with each other and are far off throw doubt on a label.
    This asks any motion, also one made or changed in memory; what steps, size and noise of a file said when it was read
    is `source.evidence["implied_fps"]`.

    Args:
        motion: The motion, as labeled.
        floor: Height of the floor [m]; found where not given.
    """
    label, leg = motion.fps, leg_length(motion.skeleton)
    if not PLAUSIBLE_LEG[0] < leg < PLAUSIBLE_LEG[1]:
        return FrameRate(label, 0.0, f"a leg of {leg:.3g} m makes the size doubtful before the rate")
    good = [f for f in flights(motion, floor=floor) if f.gravity > 0.5 and f.residual < 0.2 * _sag(f)]
    if not good:
        return FrameRate(label, 0.0, "no flight is long and clean enough to tell")
    gravity = np.array([f.gravity for f in good])
    weight = np.array([_sag(f) for f in good])
    typical = float(np.exp(np.average(np.log(gravity), weights=weight)))
    spread = float(np.sqrt(np.average((np.log(gravity) - math.log(typical)) ** 2, weights=weight)))
    ratio = typical / GRAVITY
    seen = f"{len(good)} flight{'s fall' if len(good) > 1 else ' falls'} with {typical:.1f} m/s² at {label:.4g} Hz"
    if 1.0 / ACCUSE < ratio < ACCUSE:
        return FrameRate(label, 0.0, seen)
    exact = label / math.sqrt(ratio)
    rates = [r for r in COMMON_RATES if abs(math.log(r / exact)) < 0.15]
    fps = min(rates, key=lambda r: abs(math.log(r / exact))) if rates else exact
    sure = min(1.0, 0.5 + 0.15 * len(good)) * math.exp(-((spread / 0.5) ** 2)) * (1.0 if rates else 0.6)
    return FrameRate(fps, round(sure, 2), f"{seen}; at {fps:.4g} Hz with {typical * (fps / label) ** 2:.1f} m/s²")


def _sag(flight: Flight) -> float:
    """How far gravity bends the path of a flight off its chord [m]: g T^2 / 8."""
    return flight.gravity * (flight.end_s - flight.start_s) ** 2 / 8.0


def airborne_frames(motion: Motion, *, floor: float | None = None, ground: Array | None = None) -> Flags:
    """Frames in which nothing is near the ground and nothing low rests, shape (F,); glitched frames are not.

    Args:
        motion: F frames.
        floor: Height of level ground [m]; found where not given.
        ground: Height of the ground under each of the N points of `body_points` [m], shape (F, N); instead of a floor.
    """
    positions, _ = body_points(motion)
    if ground is None:
        ground = np.array(find_floor(motion).value if floor is None else floor)
    scale = leg_length(motion.skeleton) / HUMAN_LEG
    height = positions[:, :, 2] - ground
    low = height < SUPPORT_HEIGHT * scale
    near = low.any(axis=0)  # what never comes down rests nowhere
    speed = np.full(height.shape, np.inf)
    speed[:, near] = np.linalg.norm(velocities(positions[:, near], motion.times), axis=-1)
    resting = low & (speed < SUPPORT_SPEED * math.sqrt(scale))
    frames = max(2, math.ceil(SUPPORT_SECONDS * math.sqrt(scale) / motion.dt))
    supported = ndimage.binary_opening(resting, structure=np.ones((frames, 1))).any(axis=1)
    return (height.min(axis=1) > CLEARANCE * scale) & ~supported & ~glitch_frames(motion)
