"""Measures of a clip's quality that need no forces: sliding, sinking, floating, shaking, speeding, bending too far.

The size that a motion looks like is measured here too, with the retiming that would fit it to the real size. Times of
like motions go with √(size / gravity): a giant ten times as tall moves √10 = 3.16 times more slowly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.analysis.analyze import Analysis, FlightFit
from poise.analysis.smoothing import smooth
from poise.analysis.support import supporting
from poise.body.character import Character
from poise.body.limits import limit_angles
from poise.body.posing import motion_to_q
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array, Flags
from poise.core.units import GRAVITY, HUMAN_LEG, UNITS
from poise.phases.contacts import SKATING_SPEED, skating_frames
from poise.phases.flights import PLAUSIBLE_LEG
from poise.phases.points import pelvis, velocities
from poise.phases.travel import in_place_velocity

JERK_WINDOW = 0.4
"""Length of the windows of the normalized jerk [s]."""
SHORTEST_PATH = 0.1
"""A joint that moves less than this within a window has no normalized jerk, for a leg of 0.82 m [m]."""


@dataclass(frozen=True)
class Measures:
    """Quality of a clip of F frames, P contact points, B bodies, J joints; definitions and units with each.

    Attributes:
        skates: Frames in which a foot skates (see `skating`), shape (F,).
        skating_ratio: Share of such frames.
        slide_speed: Horizontal speed against the ground of each foot point while it touches [m/s], shape (F, P); 0
            elsewhere. Unlike `skates` it knows a stance from a swing.
        slide_mm_per_frame: Mean horizontal displacement per frame of foot points while they touch.
        penetration: Depth of each contact point in the ground [m], shape (F, P).
        floating: Gap below the lowest carrying point of the support that floats highest [m], shape (F,).
        jitter: Norm of the third difference of joint positions × fps³, mean over joints [m/s³], shape (F,); nan in the
            frames next to the ends.
        normalized_jerk: T⁵ ∫‖jerk‖² dt / path² of each body's joint over the window of JERK_WINDOW around each frame,
            of its low-passed place (landings included) [1], shape (F, B); nan where the window does not fit or the path
            is too short.
        joint_speed: Angular speed of each body against its parent [rad/s], shape (F, B); the root's against the world.
        limit_excess: How far each joint is beyond the character's limits [rad], shape (F, B).

    Example:
        >>> table = poise.analysis.measures(poise.analyze(motion, character))
        >>> deepest = table.penetration.max()
    """

    skates: Flags
    skating_ratio: float
    slide_speed: Array
    slide_mm_per_frame: float
    penetration: Array
    floating: Array
    jitter: Array
    normalized_jerk: Array
    joint_speed: Array
    limit_excess: Array


@dataclass(frozen=True)
class Standing:
    """How feet stand and what is in the floor: what `poise check` and `poise edit ground` tell of a clip.

    Attributes:
        skating_ratio: Share of frames in which a foot skates [1].
        slide_mm_per_frame: Mean horizontal displacement per frame of foot points while they touch.
        penetration_max_m: Depth of the deepest contact point [m].
        float_max_m: Gap below the support that floats highest [m].

    Example:
        >>> feet = poise.analysis.standing(poise.analyze(motion, character))
        >>> assert feet.float_max_m < 0.05
    """

    skating_ratio: float
    slide_mm_per_frame: float
    penetration_max_m: float
    float_max_m: float


def standing(analysis: Analysis) -> Standing:
    """How feet stand and what is in the floor; depth and gap where the clip is not a glitch.

    Example:
        >>> feet = poise.analysis.standing(poise.analyze(motion, character))
    """
    good, touch = ~analysis.is_glitch, analysis.touch
    return Standing(
        float(_skates(analysis, SKATING_SPEED).mean()),
        _slide_mm(analysis, _sliding(analysis)),
        float(np.maximum(0.0, -touch.gaps)[good].max(initial=0.0)),
        float(_floating(analysis)[good].max(initial=0.0)),
    )


def measures(analysis: Analysis, *, skating_speed: float = SKATING_SPEED) -> Measures:
    """All measures of a clip.

    Example:
        >>> table = poise.analysis.measures(poise.analyze(motion, character))

    Args:
        analysis: Of the clip.
        skating_speed: Horizontal speed above which a low foot skates, for a leg of 0.82 m [m/s].
    """
    touch, motion, character = analysis.touch, analysis.motion, analysis.character
    scale = character.leg_scale
    skates, sliding = _skates(analysis, skating_speed), _sliding(analysis)
    return Measures(
        skates,
        float(skates.mean()),
        sliding,
        _slide_mm(analysis, sliding),
        np.maximum(0.0, -touch.gaps),
        _floating(analysis),
        jitter(motion),
        normalized_jerk(_smooth_joints(analysis), analysis.times, shortest=SHORTEST_PATH * scale),
        joint_speeds(motion, character),
        limit_excess(motion, character),
    )


def _skates(analysis: Analysis, speed: float) -> Flags:
    touch, feet = analysis.touch, analysis.touch.is_foot
    return skating_frames(touch.gaps[:, feet], touch.velocities[:, feet], analysis.character.leg_length, speed=speed)


def _sliding(analysis: Analysis) -> Array:
    """Horizontal speed of foot points while they touch [m/s], shape (F, P); 0 elsewhere."""
    touch = analysis.touch
    return np.where(touch.flags & touch.is_foot, np.linalg.norm(touch.velocities[:, :, :2], axis=2), 0.0)


def _slide_mm(analysis: Analysis, sliding: Array) -> float:
    stands = analysis.touch.flags & analysis.touch.is_foot
    return 1e3 * analysis.motion.dt * float(sliding[stands].mean()) if stands.any() else 0.0


def _smooth_joints(analysis: Analysis) -> Array:
    """Low-passed places of the bodies' joints [m], shape (F, B, 3)."""
    joints = [b.joint for b in analysis.character.bodies]
    return smooth(analysis.filter, analysis.times, np.ascontiguousarray(analysis.motion.world[0][:, joints]))


def _floating(analysis: Analysis) -> Array:
    """Gap under the support that floats highest, by its lowest carrying point [m], shape (F,)."""
    touch = analysis.touch
    names, on = supporting(touch)
    gap = np.zeros(len(touch.gaps))
    for s, name in enumerate(names):
        mine = [i for i, owner in enumerate(touch.supports) if owner == name]
        lowest = np.where(touch.carries[:, mine], touch.gaps[:, mine], np.inf).min(axis=1)
        gap = np.where(on[:, s], np.maximum(gap, np.where(on[:, s], lowest, 0.0)), gap)
    return gap


def jitter(motion: Motion) -> Array:
    """Norm of the third difference of joint positions × fps³, mean over the joints [m/s³], shape (F,).

    The difference over four frames is given to the second of them; the first and the last two frames are nan.
    """
    out = np.full(motion.frame_count, np.nan)
    if motion.frame_count >= 4:
        third = np.diff(motion.world[0], n=3, axis=0) / motion.dt**3
        out[1:-2] = np.linalg.norm(third, axis=2).mean(axis=1)
    return out


def normalized_jerk(positions: Array, times: Array, *, window: float = JERK_WINDOW, shortest: float) -> Array:
    """T⁵ ∫‖jerk‖² dt / path² over a window around each frame [1], shape (F, N).

    A straight reach of least jerk has 720 from rest to rest, whatever its length, duration and frame rate.

    Args:
        positions: Low-passed [m], shape (F, N, 3).
        times: [s], shape (F,).
        window: T [s].
        shortest: Shortest path that counts [m].
    """
    frames, count = positions.shape[:2]
    out = np.full((frames, count), np.nan)
    dt = float(np.median(np.diff(times))) if frames > 1 else 1.0
    steps = round(window / dt)
    if steps < 4 or frames < steps + 3:
        return out
    jerk = np.sum(np.diff(positions, n=3, axis=0) ** 2, axis=2) / dt**6  # number k at the middle of frame k to k + 3
    path = np.linalg.norm(np.diff(positions, axis=0), axis=2)
    sums = np.concatenate([np.zeros((1, count)), np.cumsum(jerk, axis=0)]) * dt
    length = np.concatenate([np.zeros((1, count)), np.cumsum(path, axis=0)])
    # the window from frame f to f + steps holds the middles of differences f − 1 … f + steps − 2
    integral = sums[steps:] - sums[:-steps]
    covered = (length[steps:] - length[:-steps])[1 : 1 + len(integral)]
    value = (steps * dt) ** 5 * integral / np.where(covered > shortest, covered, np.nan) ** 2
    out[1 + steps // 2 : 1 + steps // 2 + len(value)] = value
    return out


def joint_speeds(motion: Motion, character: Character) -> Array:
    """Angular speed of each body against its parent body, frame to frame [rad/s], shape (F, B); the first repeats."""
    orientations = motion.world[1]
    out = np.zeros((motion.frame_count, len(character.bodies)))
    if motion.frame_count < 2:
        return out
    for i, body in enumerate(character.bodies):
        local = orientations[:, body.joint]
        if body.parent >= 0:
            parent = orientations[:, character.bodies[body.parent].joint]
            local = rotations.multiply(rotations.conjugate(parent), local)
        out[1:, i] = rotations.angle_between(local[1:], local[:-1]) / np.diff(motion.times)
    out[0] = out[1]
    return out


def limit_excess(motion: Motion, character: Character) -> Array:
    """How far each joint is beyond its limits [rad], shape (F, B); the largest of twist, bend and side."""
    q = motion_to_q(character, motion)
    out = np.zeros((motion.frame_count, len(character.bodies)))
    for i, body in enumerate(character.bodies):
        at, limits = character.q_addresses[i], body.limits
        if limits is None or body.kind == "free":
            continue
        if body.kind == "hinge":
            angles = q[:, at : at + 1]
            lower, upper = np.array([limits.twist_lower]), np.array([limits.twist_upper])
        else:
            angles = limit_angles(limits, q[:, at : at + 4])
            lower = np.array([limits.twist_lower, limits.bend_lower, limits.side_lower])
            upper = np.array([limits.twist_upper, limits.bend_upper, limits.side_upper])
        out[:, i] = np.maximum(np.maximum(lower - angles, angles - upper), 0.0).max(axis=1)
    return out


@dataclass(frozen=True)
class PoseDifference:
    """How far two motions of one skeleton are apart, means over frames and joints.

    Attributes:
        global_mm: Mean joint distance in the world.
        aligned_mm: Mean joint distance after the roots are laid onto each other, place and turn.
        angle_deg: Mean angle between the joints' rotations in their parents' frames.
        frames_mm: Mean joint distance in the world of each frame, shape (F,).

    Example:
        >>> same = poise.analysis.pose_difference(motion, motion)
        >>> assert same.global_mm == 0.0
    """

    global_mm: float
    aligned_mm: float
    angle_deg: float
    frames_mm: Array


def pose_difference(first: Motion, second: Motion) -> PoseDifference:
    """Distance between two motions, frame by frame.

    Example:
        >>> difference = poise.analysis.pose_difference(motion, motion)

    Raises:
        InvalidValue: if their joints or frame counts differ.
    """
    if first.skeleton.names != second.skeleton.names or first.frame_count != second.frame_count:
        raise InvalidValue(
            f"Motions with different frames or joints cannot be compared: {first.frame_count} frames of "
            f"{first.skeleton.joint_count} joints against {second.frame_count} of {second.skeleton.joint_count}. "
            "Resample one, or retarget it."
        )
    distances = np.linalg.norm(first.world[0] - second.world[0], axis=2)
    aligned = np.linalg.norm(_from_root(first) - _from_root(second), axis=2)
    angle = rotations.angle_between(first.rotations, second.rotations)
    return PoseDifference(
        1e3 * float(distances.mean()),
        1e3 * float(aligned.mean()),
        float(np.degrees(angle.mean())),
        1e3 * distances.mean(axis=1),
    )


def _from_root(motion: Motion) -> Array:
    """Joint positions in the root's own frame [m], shape (F, J, 3)."""
    positions, orientations = motion.world
    return rotations.rotate(rotations.conjugate(orientations[:, :1]), positions - positions[:, :1])


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
LEAST_HIPS = 0.6
"""And holds its hips this high above the floor, in leg lengths [1]: who crawls has no gait."""
FLYING = 0.1
"""A gait in the air for more than this share of its frames is a run [1]."""
LEAST_GRAVITY, TELLS = 0.05, 0.5
"""A flight tells of gravity if it falls with more g than the first, known to better than this part of it [1]."""
LEAST_SPREAD = 0.03
"""No flight tells the logarithm of gravity better than this [1]."""


def unlikely_leg(leg: float, motion: Motion) -> tuple[str, str]:
    """What to say of legs [m] that no creature has, and the units that would fit; nothing of others.

    Example:
        >>> said, units = poise.analysis.unlikely_leg(0.82, motion)
        >>> assert not said
    """
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

    Example:
        >>> scale = poise.analysis.implied_scale(poise.analyze(motion, character))
        >>> assert 0.8 < scale.retime < 1.25
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


def implied_scale(analysis: Analysis, *, flights: Sequence[FlightFit] | None = None) -> ImpliedScale:
    """The size a motion implies, from the gravity of its flights and the Froude number of its gait.

    A body of size k falls, seen at its own size, with 9.81 / k: flights at 0.7 g look like a body 1.4 × as tall. The
    gait's Froude number, against what people like, adds weak evidence: v² / (g leg) goes with 1 / k, too. Both are put
    together by their spreads, with a prior that says 1 (spread 1 in the logarithm).

    Args:
        analysis: The dynamics of the motion.
        flights: Those of its flights that tell; default: all.

    Example:
        >>> size = poise.analysis.implied_scale(poise.analyze(motion, character))
    """
    leg = analysis.character.leg_length
    clues: list[tuple[float, float, str]] = []
    gravity = _flight_gravity(analysis.flights if flights is None else flights)
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
        size,
        gravity[0],
        froude,
        gait,
        round(confidence, 3),
        spread,
        1.0 / math.sqrt(size),
        "; ".join(c[2] for c in clues) or "no flight and no gait to tell by",
    )


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
    upright = float(np.median(root[:, 2] - analysis.floor)) > LEAST_HIPS * leg
    return steady if goes and upright else math.nan


def _steps(analysis: Analysis) -> int:
    """How often a support begins to carry after the start."""
    on = analysis.supports
    return int((on[1:] & ~on[:-1]).sum())


def _flight_gravity(flights: Sequence[FlightFit]) -> tuple[float, float]:
    """Weighted mean of the flights' gravity over 9.81, and the spread of its logarithm; nan without any."""
    found = [(f.gravity_g, f.gravity_error / GRAVITY) for f in flights if f.gravity_g > LEAST_GRAVITY]
    found = [(g, e) for g, e in found if e < TELLS * g]
    if not found:
        return math.nan, math.nan
    logs = np.array([math.log(g) for g, _ in found])
    spreads = np.array([math.hypot(e / g, LEAST_SPREAD) for g, e in found])
    weights = spreads**-2.0
    mean = float((weights * logs).sum() / weights.sum())
    disagree = float((weights * (logs - mean) ** 2).sum() / max(len(found) - 1, 1))
    return math.exp(mean), float(math.sqrt(max(disagree, 1.0) / weights.sum()))
