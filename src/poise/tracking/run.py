"""A recorded actor drives a character: one call, a motion and a report."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses, interpolate_q, motion_to_q, q_to_motion
from poise.core import rotations
from poise.core.errors import InvalidValue, require, require_each
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.forces import Force
from poise.phases.glitches import find_glitches
from poise.phases.travel import direction_of_travel, in_place_velocity, off_the_spot
from poise.physics import State
from poise.terrain import Terrain
from poise.tracking.actor import BEGINNING
from poise.tracking.calibration import standing_pose
from poise.tracking.lists import Settings
from poise.tracking.prior import PosePrior
from poise.tracking.retarget import Role, end_body, heading
from poise.tracking.smooth import calmed
from poise.tracking.tracker import NEAR, PerformanceTracker

RATE = 120.0
"""Steps a second unless others are asked for; an actor recorded at another rate is interpolated."""


@dataclass(frozen=True)
class TrackResult:
    """What the character did.

    Example:
        >>> result = poise.track(motion, character)
        >>> assert result.report["steps"] > 0

    Attributes:
        motion: Of the character's skeleton, one frame for each of the actor's.
        report: `poise.track/1`.
        q: Coordinates of every step, shape (S, nq).
        times: Of the steps [s], shape (S,).
        terrain: The character's ground, as it lies; level at height 0 if None.
    """

    motion: Motion
    report: dict[str, Any] = field(repr=False)
    q: Array = field(repr=False)
    times: Array = field(repr=False)
    terrain: Terrain | None = None


@dataclass(frozen=True)
class RecordedActor:
    """A motion of an actor, made ready to be followed: calm, off the spot, a pose for every step.

    Attributes:
        character: The actor's limbs and feet.
        poses: Its coordinates at every step, shape (S, nq).
        times: Of the steps [s], shape (S,).
        begin: The first step that is not a rest pose in front of the motion.
        fps: Of the file [1/s].
        way: Where it goes [rad].
        noise, cutoff: How far it trembles [m]; above which frequency that was smoothed away [Hz], None for a calm one.
        off_the_spot: How fast one that walks on the spot was moved ahead [m/s].
    """

    character: Character
    poses: Array = field(repr=False)
    times: Array = field(repr=False)
    begin: int
    fps: float
    way: float
    noise: float
    cutoff: float | None
    off_the_spot: float

    def since(self, step: int) -> dict[str, Any]:
        """What `PerformanceTracker` takes of it, where it is followed from this step on."""
        return {
            "actor_standing": standing_pose(self.character, self.poses[self.begin :]),
            "actor_floor": self.character.floor,
            "actor_rate": self.fps,
            "recorded": self.poses[step:],
        }


def recorded_actor(actor: Motion, fps: float = RATE, character: Character | None = None) -> RecordedActor:
    """Make a motion ready to be followed at `fps` steps a second; its character is fitted if not given."""
    slide = in_place_velocity(actor)
    actor = off_the_spot(actor)
    theirs = Character.fit(actor) if character is None else character
    poses = motion_to_q(theirs, actor)
    lead = max((g.last + 1 for g in find_glitches(actor) if g.kind == "t-pose"), default=0)
    lead = min(lead, actor.frame_count - 1)
    poses[:lead] = poses[lead]
    calm = calmed(theirs, poses, actor.fps)
    times = actor.times[0] + np.arange(math.floor(actor.duration * fps + 1e-6) + 1) / fps
    return RecordedActor(
        theirs,
        interpolate_q(theirs, actor.times, calm.q, times),
        times,
        int(np.searchsorted(times, actor.times[lead] - 1e-9)),
        actor.fps,
        direction_of_travel(actor),
        calm.noise,
        calm.cutoff,
        float(np.linalg.norm(slide)),
    )


def track(
    actor: Motion,
    character: Character,
    *,
    actor_character: Character | None = None,
    roles: Sequence[Role] | None = None,
    settings: Settings | None = None,
    root: str = "hard",
    standing: Motion | Array | None = None,
    pushes: Sequence[Force] = (),
    terrain: Terrain | None = None,
    fps: float = RATE,
    drawn: Motion | None = None,
    style: Mapping[str, float] | None = None,
    prior: Sequence[Motion] = (),
    progress: Callable[[int, int], None] | None = None,
) -> TrackResult:
    """Let a recorded actor drive a character of another shape.

    Args:
        actor: F frames of the actor.
        character: What is driven.
        actor_character: The actor's limbs and feet; fitted to the motion if not given.
        roles: Of the character's limbs; proposed if not given.
        settings: Weights.
        root: "hard", "strict" or "soft"; see `PerformanceTracker`.
        standing: How the character stands: a motion whose first frame it is, or coordinates (nq,); the skeleton's rest
            pose if not given.
        pushes: Pushes and pulls on the character.
        terrain: The character's ground; slopes, steps and stairs rise the way the actor goes. Level if not given.
        fps: Steps a second [1/s], 50 or more.
        drawn: A motion read from the character's own file; the result keeps its skin, see `Motion.with_skin_of`.
        style: Shares of the rest poses of the character's file by name [1], such as `{"sad": 1.0}`.
        prior: Clips of the character itself; its joints are drawn to their poses, see `poise.tracking.prior`.
        progress: Called with steps done and all steps.

    A noisy actor is low-passed first, see `poise.tracking.smooth.calmed`; the report's `actor_noise` says how much. One
    that walks on the spot goes ahead as fast as its feet slide back, `off_the_spot_m_s`: sliding feet carry nobody.

    Raises:
        UnknownName: if a push names a body, or a style a rest pose, that the character does not have.
        InvalidValue: if the actor has too few frames, no limb of the character is support, or its legs are more than
            2.5 times as long as the actor's.

    Example:
        >>> result = poise.track(poise.load("walk.bvh"), poise.load_character("raptor.toml"))
        >>> poise.save(result.motion, "raptor_walks.glb")
    """
    require(Motion, actor=actor)
    require(Character, character=character)
    require(Character, NoneType, actor_character=actor_character)
    require(Terrain, NoneType, terrain=terrain)
    require_each(Force, pushes=pushes)
    require_each(Motion, prior=prior)
    if actor.frame_count < 2:
        raise InvalidValue(f"The actor has {actor.frame_count} frame; tracking needs two or more.")
    if not 50.0 <= fps <= 1000.0:
        raise InvalidValue(f"fps is {fps:g}; give 50 to 1000 steps a second.")
    for push in pushes:
        push.body_of(character)
    given = recorded_actor(actor, fps, actor_character)
    still = standing_pose(character) if standing is None else standing
    if isinstance(still, Motion):
        still = motion_to_q(character, still)[0]
    tracker = PerformanceTracker(
        character,
        given.character,
        dt=1.0 / fps,
        roles=roles,
        settings=settings,
        root=root,
        standing=still,
        terrain=place_terrain(terrain, given, still, character),
        floor=0.0,
        prior=PosePrior.of(character, prior, still) if prior else None,
        **given.since(given.begin),
    )
    for push in pushes:
        tracker.push(push)
    if style:
        tracker.set_style(style)
    seconds = 0.0
    times, poses = given.times, given.poses
    out = np.empty((len(times), character.nq))
    seen = _Seen(tracker)
    for k in range(given.begin, len(times)):
        began = time.perf_counter()
        out[k] = tracker.step(poses[k])
        seconds += time.perf_counter() - began
        seen.add()
        if progress is not None and k % 10 == 9:
            progress(k + 1, len(poses))
    out[: given.begin] = out[given.begin]
    at = interpolate_q(character, times, out, np.minimum(actor.times, times[-1]))
    motion = q_to_motion(character, at, actor.times).with_skin_of(drawn)
    report = seen.report(actor, out, seconds)
    report["actor_noise"] = {"noise_m": given.noise, "cutoff_hz": given.cutoff}
    report["off_the_spot_m_s"] = given.off_the_spot
    return TrackResult(motion, report, out, times, tracker.terrain)


def place_terrain(terrain: Terrain | None, actor: RecordedActor, still: Array, character: Character) -> Terrain | None:
    """The ground under where the character begins; it rises the way it will go. None where it is flat.

    Args:
        terrain: Not yet placed.
        actor: Whose way it goes.
        still: How the character stands, shape (nq,).
        character: Who stands there.
    """
    if terrain is None or terrain.is_flat:
        return None
    first = ((actor.character, actor.poses[0]), (character, still))
    there, own = (heading(c, body_poses(c, q[None])[0][0]) for c, q in first)
    way = actor.way - there + own
    return terrain.placed(origin=(float(still[0]), float(still[1])), heading=way, ground=0.0)


class _Seen:
    """What the report says of the steps, gathered while they are made."""

    def __init__(self, tracker: PerformanceTracker) -> None:
        self.tracker, self.state = tracker, State(tracker.model)
        self.slips: list[float] = []
        self.held_slips: list[float] = []
        self.depths: list[float] = []
        self.swings: list[float] = []
        self.pelvis: list[float] = []
        self.momentum: list[Array] = []
        self.modes: list[str] = []

    def add(self) -> None:
        tracker = self.tracker
        state = self.state.at(tracker.q, tracker.v)
        count = len(tracker.character.contact_points)
        heights = state.points[:count, 2] - tracker.floor
        if tracker.terrain is not None:
            heights = state.points[:count, 2] - tracker.terrain.heights(state.points[:count, :2], tracker.time)
        self.depths.append(float(max(0.0, -heights.min(initial=0.0))))
        self.pelvis.append(float(np.linalg.norm(state.data.xpos[1] - tracker.targets.place[0])))
        self.momentum.append(state.data.angular_momentum(1))
        self.modes.append(tracker.mode)
        for limb, foot in tracker.feet.items():
            if tracker.mode != "following":
                continue
            if foot.stands and foot.share >= 1.0:
                low = foot.points[heights[foot.points] < NEAR * tracker.scale]
                if len(low):
                    slip = float(np.linalg.norm(state.point_velocities[low, :2], axis=1).min())
                    self.slips.append(slip)
                    if tracker.is_held:
                        self.held_slips.append(slip)
            elif not foot.stands and foot.share <= 0.0:
                end = state.data.xpos[end_body(tracker.character, limb) + 1]
                self.swings.append(float(np.linalg.norm(end - tracker.targets.place[foot.row])))

    def report(self, actor: Motion, q: Array, seconds: float) -> dict[str, Any]:
        tracker, counts = self.tracker, self.tracker.counts
        forces = np.array(counts.root_force) if counts.root_force else np.zeros(1)
        source = actor.source
        rate = np.diff(np.array(self.momentum), axis=0)[BEGINNING:] / tracker.dt
        return {
            "schema": "poise.track/1",
            "source": {"file": source.path if source else None, "frames": actor.frame_count, "fps": actor.fps},
            "character": {"dof": tracker.character.nv, "mass": tracker.character.mass},
            "leg_ratio": tracker.character.leg_length / tracker.actor.leg_length,
            "roles": [{"limb": role.limb, "kind": role.kind, "actor": role.actor or None} for role in tracker.roles],
            "settings": vars(tracker.settings) | {"root": tracker.root, "dt": tracker.dt},
            "complete": counts.is_complete,
            "steps": counts.steps,
            "beginning_steps": counts.beginning_steps,
            "fallback_steps": int(counts.fallback_steps),
            "carried_steps": counts.carried,
            "falls": counts.falls,
            "crumpled_steps": counts.crumpled_steps,
            "fallen_steps": counts.fallen_steps,
            "rising_steps": counts.rising_steps,
            "root_residual": {
                "force_max_N": float(forces.max()),
                "force_rms_N": float(np.sqrt(np.mean(forces**2))),
            },
            "stance_slip_p95_m_s": _percentile(self.slips, 95),
            "held_slip_p95_m_s": _percentile(self.held_slips, 95),
            "penetration_p95_m": _percentile(self.depths, 95),
            "swing_error_median_m": _percentile(self.swings, 50),
            "pelvis_error_median_m": _percentile(self.pelvis, 50),
            "way_off_m": float(np.linalg.norm(tracker.shift)),
            "angular_momentum_rate_rms_N_m": float(np.sqrt(np.mean(np.sum(rate**2, axis=1)))) if len(rate) else None,
            "free_limbs": _free_limbs(tracker, q),
            "step_ms": 1000.0 * seconds / max(1, len(q)),
            "realtime_factor": actor.duration / max(seconds, 1e-9),
        }


def _percentile(values: Sequence[float], share: float) -> float | None:
    return float(np.percentile(values, share)) if len(values) else None


def _free_limbs(tracker: PerformanceTracker, q: Array) -> dict[str, dict[str, float | None]]:
    """How the tips of free limbs swing against the pelvis, and how late: yaw against the standing pose."""
    character = tracker.character
    _, turns = body_poses(character, q)
    found: dict[str, dict[str, float | None]] = {}
    still = body_poses(character, tracker.standing[None])[1][0]
    for role in tracker.roles:
        if role.kind != "free":
            continue
        bodies = next(limb.bodies for limb in character.limbs if limb.name == role.limb)

        def yaw(body: int, against: int | None) -> Array:
            moved = rotations.multiply(turns[:, body], rotations.conjugate(still[body]))
            if against is not None:
                base = rotations.multiply(turns[:, against], rotations.conjugate(still[against]))
                moved = rotations.multiply(rotations.conjugate(base), moved)
            return np.unwrap(2.0 * np.arctan2(moved[:, 3], moved[:, 0]))

        tip, base = yaw(bodies[-1], 0), yaw(bodies[0], 0)
        found[role.limb] = {
            "tip_yaw_rms_deg": float(np.degrees(np.std(tip))),
            "lag_to_base_s": _lag(base, tip, tracker.dt),
            "lag_to_trunk_s": _lag(yaw(0, None), yaw(bodies[-1], None), tracker.dt),
        }
    return found


def _lag(first: Array, second: Array, dt: float) -> float | None:
    """How much later the second goes like the first, up to 0.5 s [s]: where their correlation is largest."""
    first, second = _detrended(first), _detrended(second)
    if first.std() < 1e-4 or second.std() < 1e-4:
        return None
    shifts = np.arange(min(round(0.5 / dt), len(first) // 3))
    scores = [float(np.corrcoef(first[: len(first) - s], second[s:])[0, 1]) for s in shifts]
    return float(shifts[int(np.argmax(scores))] * dt)


def _detrended(values: Array) -> Array:
    """Values less the straight line through them."""
    at = np.arange(len(values)) - 0.5 * (len(values) - 1)
    values = values - values.mean()
    return values - at * float(at @ values) / max(float(at @ at), 1e-12)
