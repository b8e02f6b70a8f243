"""A live actor drives a character, or passes the quasi-physical filter, in real time: poses in, poses out.

One thread does it all: it reads what has come until the next step is due, takes the pose of that moment from the jitter
buffer, makes the step, and sends the answer. Whatever comes over the network is counted; nothing of it ends the run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Protocol

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses, interpolate_q, motion_to_q, q_to_motion
from poise.core import rotations
from poise.core.errors import InvalidValue, PoiseError
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.filter.forces import Force
from poise.filter.setup import Options
from poise.filter.stream import QuasiPhysicalFilter
from poise.terrain import Terrain
from poise.tracking.calibration import standing_pose
from poise.tracking.lists import Settings
from poise.tracking.protocols.humanoid import Humanoid
from poise.tracking.protocols.playout import PAUSE
from poise.tracking.protocols.pose import LivePose
from poise.tracking.protocols.source import LiveSink, LiveSource
from poise.tracking.retarget import Role, heading, parse_roles, yaw_turn
from poise.tracking.tracker import PerformanceTracker

RATE = 120.0
"""Steps a second."""
CALIBRATE = 0.25
"""An actor is measured from the poses of so long [s]."""
BEHIND = 0.03
"""A run that is later than this skips the steps it missed [s]."""
EASE = 0.8
"""Time in which an actor whose stream is silent is brought to stand at ease, and back [s]."""
TOO_FAST = 15.0
"""A root of a person's size that is faster than this has flown off [m/s]."""
LOST_FOR = 10.0
"""A character that has lain on the ground for so long begins again where it was [s]."""
MOST_KEPT = 2 * 3600
"""A run keeps its motion for so long [s]; what is older is dropped."""


class Follower(Protocol):
    """What turns an actor's poses into a character's."""

    @property
    def character(self) -> Character:
        """What moves."""
        ...

    def meet(self, actor: Character) -> None:
        """An actor begins, or another one takes over."""
        ...

    def step(self, pose: Array, still: float = 0.0) -> Array | None:
        """Coordinates of the character for the actor's; None while there are none yet.

        Args:
            pose: Of the actor, shape (nq,).
            still: For so long the stream has been silent, and this is its last pose [s].
        """
        ...

    def report(self) -> dict[str, Any]: ...


class Tracking:
    """A character of another shape follows: `PerformanceTracker`.

    Args:
        character: What is driven.
        roles: Of its limbs, or as they are typed ("tail=free").
        settings, root: See `PerformanceTracker`.
    """

    def __init__(
        self,
        character: Character,
        *,
        roles: Sequence[Role] | str = "",
        settings: Settings | None = None,
        root: str = "hard",
    ) -> None:
        self.character = character
        self._roles, self._settings, self._root = roles, settings, root
        self.tracker: PerformanceTracker | None = None
        self.restarts = 0
        self._counts: list[Any] = []
        self._actor: Character | None = None
        self._neutral: Array = np.zeros(0)
        self._rested, self._lost = 0.0, 0
        self._last = standing_pose(character)

    def meet(self, actor: Character) -> None:
        before = self.tracker
        standing = standing_pose(self.character)
        if before is not None:  # another actor: the character goes on from where it is, facing as it does
            turn = rotations.multiply(before.q[3:7], rotations.conjugate(before.standing[3:7]))
            standing[3:7] = rotations.multiply(yaw_turn(2.0 * math.atan2(turn[3], turn[0])), standing[3:7])
            standing[:2] = before.q[:2]
        roles = parse_roles(self._roles, self.character, actor) if isinstance(self._roles, str) else self._roles
        self.tracker = PerformanceTracker(
            self.character,
            actor,
            dt=1.0 / RATE,
            roles=roles,
            settings=self._settings,
            root=self._root,
            standing=standing,
            actor_standing=like_standing(actor, self.character, roles),
        )
        self._actor, self._neutral, self._rested, self._lost = actor, grounded(actor, standing_pose(actor)), 0.0, 0
        self._counts.append(self.tracker.counts)
        if before is not None:
            self.tracker.join(before.q)

    def step(self, pose: Array, still: float = 0.0) -> Array:
        assert self.tracker is not None
        assert self._actor is not None
        q = self.tracker.step(self._at_rest(pose, still))
        fast = float(np.abs(self.tracker.v[:3]).max()) > TOO_FAST * math.sqrt(self.character.leg_scale)
        self._lost = self._lost + 1 if self.tracker.mode == "falling" else 0
        if fast or not np.isfinite(q).all() or self._lost > LOST_FOR * RATE:
            self._begin_anew()
            return self._last.copy()
        self._last = q
        return q

    def _at_rest(self, pose: Array, still: float) -> Array:
        """The actor's pose; where nothing has come for a while, standing at ease: nobody can stay in mid-stride."""
        assert self._actor is not None
        goal = 1.0 if still > PAUSE else 0.0
        step = 1.0 / (RATE * EASE)
        self._rested += max(-step, min(step, goal - self._rested))
        if self._rested <= 0.0:
            return pose
        neutral = self._neutral.copy()
        facing = heading(self._actor, body_poses(self._actor, pose[None])[0][0])
        own = heading(self._actor, body_poses(self._actor, neutral[None])[0][0])
        neutral[3:7] = rotations.multiply(yaw_turn(facing - own), neutral[3:7])
        neutral[:2] = pose[:2]
        assert self.tracker is not None
        neutral[2] += self.tracker.actor_floor or 0.0
        part = self._rested * self._rested * (3.0 - 2.0 * self._rested)
        poses = np.stack([pose, neutral])
        return interpolate_q(self._actor, np.array([0.0, 1.0]), poses, np.array([part]))[0]

    def _begin_anew(self) -> None:
        """The character is lost: it stands where it was last seen, and begins again."""
        assert self.tracker is not None
        assert self._actor is not None
        self.restarts += 1
        before, actor = self.tracker, self._actor
        place = self._last.copy()
        before.q[:], before.v[:] = before.standing, 0.0
        before.q[:2] = place[:2]
        self.meet(actor)

    def report(self) -> dict[str, Any]:
        tracker = self.tracker
        if tracker is None:
            return {"steps": 0}
        forces = [f for counts in self._counts for f in counts.root_force]
        return {
            "complete": not tracker.has_fallen and not self.restarts,
            "steps": sum(t.steps for t in self._counts),
            "restarts": self.restarts,
            "fallback_steps": int(sum(t.fallback_steps for t in self._counts)),
            "carried_steps": sum(t.carried for t in self._counts),
            "root_residual": {"force_max_N": max(forces, default=0.0)},
            "roles": [{"limb": r.limb, "kind": r.kind, "actor": r.actor or None} for r in tracker.roles],
        }


def like_standing(actor: Character, character: Character, roles: Sequence[Role]) -> Array:
    """How the actor stands when its arms point as the character's do, coordinates (nq,).

    Streams give a T-pose or none; characters rest in poses of all kinds. What hands do is counted from poses that are
    alike.
    """
    q, ours = standing_pose(actor), standing_pose(character)
    there = [x[0] for x in body_poses(character, ours[None])]
    limbs = {limb.name: limb.bodies for limb in character.limbs}
    theirs = {limb.name: limb.bodies for limb in actor.limbs}
    about = yaw_turn(heading(actor, body_poses(actor, q[None])[0][0]) - heading(character, there[0]))
    for role in roles:
        if role.kind != "targeted" or not role.actor:
            continue
        chain = theirs[role.actor]
        first = next((b for b in chain if "collar" not in _role_of(actor, b)), chain[0])
        last = chain[-1]
        if actor.bodies[first].kind != "ball" or first == last:
            continue
        places, turned = (x[0] for x in body_poses(actor, q[None]))
        bodies = limbs[role.limb]
        wanted = there[0][bodies[-1]] - there[0][bodies[0]]
        way = places[last] - places[first]
        if min(float(np.linalg.norm(wanted)), float(np.linalg.norm(way))) < 1e-6:
            continue
        turn = rotations.between(way, rotations.rotate(about, wanted))
        parent = turned[actor.bodies[first].parent]
        local = rotations.multiply(rotations.conjugate(parent), rotations.multiply(turn, turned[first]))
        at = actor.q_addresses[first]
        q[at : at + 4] = local
    return q


def _role_of(character: Character, body: int) -> str:
    return next((role for role, b in character.roles.items() if b == body), "")


def grounded(character: Character, q: Array) -> Array:
    """The same pose with its lowest contact point at height zero."""
    places, turned = (x[0] for x in body_poses(character, q[None]))
    low = [
        float(places[p.body][2] + rotations.rotate(turned[p.body], p.offset)[2] - p.radius)
        for p in character.contact_points
    ]
    out = q.copy()
    out[2] -= min(low, default=float(places[:, 2].min()))
    return out


class Filtering:
    """The actor itself passes the quasi-physical filter.

    Args:
        options, terrain, pushes: As for `poise.simulate`; a push counts its start from the first pose.
        mass: Of the actor [kg].
    """

    def __init__(
        self,
        *,
        options: Options | None = None,
        terrain: Terrain | None = None,
        pushes: Sequence[Force] = (),
        mass: float | None = None,
        preset: str = "recommended",
    ) -> None:
        self._options, self._terrain, self._pushes, self._mass = options, terrain, tuple(pushes), mass
        self._preset = preset
        self.filter: QuasiPhysicalFilter | None = None
        self.fell_apart = 0

    @property
    def character(self) -> Character:
        if self.filter is None:
            raise InvalidValue("There is no actor yet.")
        return self.filter.figure.character

    def meet(self, actor: Character) -> None:
        if self._mass is not None:
            actor = Character.fit(actor.skeleton, mass=self._mass)
        is_first = self.filter is None
        self.filter = QuasiPhysicalFilter(actor, 1.0 / RATE, self._terrain, preset=self._preset, options=self._options)
        for push in self._pushes if is_first else ():
            self.filter.push(push)

    def step(self, pose: Array, still: float = 0.0) -> Array | None:
        assert self.filter is not None
        try:
            return self.filter.step(pose)
        except PoiseError:  # it begins again with the next pose
            self.fell_apart += 1
            self.filter.reset()
            return None

    def report(self) -> dict[str, Any]:
        return {"fell_apart": self.fell_apart}


@dataclass
class LiveResult:
    """What a live run was.

    Attributes:
        character: What moved; None if nobody was heard.
        q: Coordinates of every step that was kept, shape (S, nq).
        times: Of these steps since the first [s], shape (S,).
        report: `poise.live/1`.
    """

    character: Character | None
    q: Array
    times: Array
    report: dict[str, Any] = field(repr=False)

    @property
    def motion(self) -> Motion:
        """Of the character's skeleton, one frame a step.

        Raises:
            InvalidValue: if nobody was heard.
        """
        if self.character is None or not len(self.q):
            raise InvalidValue("Nobody was heard; there is no motion to write.")
        return q_to_motion(self.character, self.q, self.times)

    def save_report(self, path: str | PathLike[str]) -> None:
        """Write the report as JSON, whole or not at all."""
        from poise.io.files import write_json

        write_json(path, self.report)


def run_live(
    source: LiveSource,
    follower: Follower,
    *,
    sinks: Sequence[LiveSink] = (),
    seconds: float | None = None,
    patience: float | None = None,
    is_kept: bool = True,
    is_over: Callable[[], bool] = lambda: False,
    on_step: Callable[[float, Array], None] | None = None,
) -> LiveResult:
    """Follow a live actor until `is_over`, the end of `seconds`, or Ctrl-C.

    Args:
        source: The actor.
        follower: What follows.
        sinks: Where every pose goes.
        seconds: Ends so long after the first pose [s].
        patience: Ends if no pose comes within so long from the beginning [s].
        is_kept: Keep the motion for the result.
        is_over: Asked after every step.
        on_step: Called with time since the first pose [s] and coordinates (nq,) after every step.
    """
    run = _Run(source, follower, tuple(sinks), is_kept, on_step)
    try:
        run.play(seconds, patience, is_over)
    except KeyboardInterrupt:
        run.is_interrupted = True
    return run.result()


class _Run:
    """The state of one live run."""

    def __init__(
        self,
        source: LiveSource,
        follower: Follower,
        sinks: tuple[LiveSink, ...],
        is_kept: bool,
        on_step: Callable[[float, Array], None] | None,
    ) -> None:
        self.source, self.follower, self.sinks = source, follower, sinks
        self.is_kept, self.on_step, self.is_interrupted = is_kept, on_step, False
        self.actor: Character | None = None
        self.known: Skeleton | None = None
        self.humanoid: Humanoid | None = None
        self.measured: list[LivePose] = []
        self.last: Array | None = None
        self.misfits: dict[str, int] = {}
        self.kept: list[Array] = []
        self.lags: list[float] = []
        self.work: list[float] = []
        self.buffers: list[float] = []
        self.skipped = self.held = 0
        self.still = 0.0

    def play(self, seconds: float | None, patience: float | None, is_over: Callable[[], bool]) -> None:
        dt, began, first = 1.0 / RATE, time.monotonic(), None
        due = began
        while not is_over():
            self.source.wait(due)
            played = self.source.at(due, dt)
            if played is not None:
                self._meet(played.pose)
                if self.actor is not None:
                    first = due if first is None else first
                    self.still = self.still + dt if played.is_held else 0.0
                    self._step(played.pose, due, due - first)
                    self.buffers.append(played.buffered)
                    self.held += played.is_held
            if first is None and patience is not None and due - began > patience:
                return
            if first is not None and seconds is not None and due - first >= seconds - 1e-9:
                return
            due += dt
            late = time.monotonic() - due
            if late > BEHIND:
                self.skipped += math.ceil(late / dt)
                due += math.ceil(late / dt) * dt

    def _meet(self, pose: LivePose) -> None:
        """Measure an actor that is new, and begin with it; the one before is followed no more."""
        if pose.skeleton is self.known:
            return
        if not self.measured or self.measured[-1].skeleton is not pose.skeleton:
            self.measured = []
        self.measured.append(pose)
        if len(self.measured) < CALIBRATE * RATE:
            return
        try:
            actor = Character.fit(pose.skeleton)
            self.follower.meet(actor)
        except PoiseError as error:
            self.misfits[str(error)[:300]] = self.misfits.get(str(error)[:300], 0) + 1
            self.known = pose.skeleton  # what cannot be read is not tried again
            self.actor = self.last = None
            return
        finally:
            self.measured = []
        self.actor, self.known, self.last = actor, pose.skeleton, None
        if self.humanoid is None or self.humanoid.character is not self.follower.character:
            self.humanoid = Humanoid(self.follower.character, standing_pose(self.follower.character))

    def _step(self, pose: LivePose, due: float, at: float) -> None:
        assert self.actor is not None
        began = time.thread_time()
        if pose.skeleton is self.known:
            self.last = motion_to_q(self.actor, pose.motion())[0]
        # held while a new actor is measured
        q = None if self.last is None else self.follower.step(self.last, self.still)
        if q is None:
            return
        if self.sinks and self.humanoid is not None:
            out = self.humanoid.pose(q, pose.time)
            for sink in self.sinks:
                sink.send(out)
        self.lags.append(time.monotonic() - due)
        self.work.append(time.thread_time() - began)
        if self.is_kept and len(self.kept) < MOST_KEPT * RATE:
            if self.kept and len(self.kept[-1]) != len(q):  # another skeleton: the motion is that of the last actor
                self.kept = []
            self.kept.append(q)
        if self.on_step is not None:
            self.on_step(at, q)

    def result(self) -> LiveResult:
        character = self.follower.character if self.actor is not None else None
        times = np.arange(len(self.kept)) / RATE  # a step is a step, even where the machine came too late for one
        report = {
            "schema": "poise.live/1",
            "interrupted": self.is_interrupted,
            "source": self.source.report(),
            "sinks": [sink.report() for sink in self.sinks],
            "run": self.follower.report(),
            "unreadable_actors": dict(self.misfits),
            "held_steps": self.held,
            "skipped_steps": self.skipped,
            "buffer_ms": _spread(self.buffers),
            "processing_ms": _spread(self.lags),
            "processor_ms": _spread(self.work),
        }
        return LiveResult(character, np.array(self.kept), times, report)


def _spread(seconds: list[float]) -> dict[str, float] | None:
    """Median, 99th percentile and largest [ms]."""
    if not seconds:
        return None
    values = 1000.0 * np.array(seconds)
    return {"median": float(np.median(values)), "p99": float(np.percentile(values, 99)), "max": float(values.max())}
