"""A live actor drives a character, or passes the quasi-physical filter, in real time: poses in, poses out.

One thread reads what has come until the next step is due, takes the pose of that moment from the jitter buffer, makes
the step, and sends the answer; a second one reads an actor that is new. Whatever comes over the network is counted;
nothing of it ends the run.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.body.posing import motion_to_q, q_to_motion
from poise.core.errors import InvalidValue, PoiseError
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.tracking.calibration import standing_pose
from poise.tracking.followers import Follower, Tracking
from poise.tracking.protocols.pose import LivePose
from poise.tracking.protocols.source import LiveSink, LiveSource
from poise.tracking.protocols.vmc import Humanoid
from poise.tracking.run import RATE, RecordedActor

CALIBRATE = 0.25
"""A new actor is followed no sooner than so long after its first pose [s]."""
BEHIND = 0.03
"""A run that is later than this skips the steps it missed [s]."""
SWITCHING = 0.0005
"""While a new actor is read, threads of Python take turns of so long [s]."""
MOST_KEPT = 2 * 3600
"""A run keeps its motion for so long [s]; what is older is dropped."""


@dataclass
class LiveResult:
    """What a live run was.

    Attributes:
        character: What moved; None if no data arrived.
        q: Coordinates of every step that was kept, shape (S, nq).
        times: Of these steps since the first [s], shape (S,).
        report: `poise.live/1`.
        drawn: A motion read from the character's own file; what is saved keeps its skin, see `Motion.with_skin_of`.
    """

    character: Character | None
    q: Array
    times: Array
    report: dict[str, Any] = field(repr=False)
    drawn: Motion | None = field(default=None, repr=False)

    @property
    def is_complete(self) -> bool:
        """False if it was interrupted."""
        return not self.report["interrupted"]

    @property
    def motion(self) -> Motion:
        """Of the character's skeleton, one frame a step.

        Raises:
            InvalidValue: if no data arrived.
        """
        if self.character is None or not len(self.q):
            raise InvalidValue("No data arrived; there is no motion to write.")
        return q_to_motion(self.character, self.q, self.times).with_skin_of(self.drawn)


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
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCHING)
    try:
        run.play(seconds, patience, is_over)
    except KeyboardInterrupt:
        run.is_interrupted = True
    finally:
        sys.setswitchinterval(before)
        run.reader.shutdown(wait=False)
    return run.result()


def play(actor: RecordedActor, follower: Tracking, *, is_over: Callable[[], bool] = lambda: False) -> LiveResult:
    """Follow a recorded actor from its beginning as `run_live` does a live one, as fast as `is_over` lets it.

    Args:
        actor: The actor.
        follower: What follows; it was given the same actor.
        is_over: Asked before every step; True ends the run.
    """
    kept: list[Array] = []
    follower.set_actor(actor.character)
    is_interrupted = False
    try:
        for pose in actor.poses[actor.begin :]:
            is_interrupted = is_over()
            if is_interrupted:
                break
            kept.append(follower.step(pose))
    except KeyboardInterrupt:
        is_interrupted = True
    report = {"schema": "poise.live/1", "interrupted": is_interrupted, "run": follower.report()}
    q = np.array(kept).reshape(len(kept), follower.character.nq)
    return LiveResult(follower.character, q, np.arange(len(kept)) / RATE, report)


@dataclass
class _NewActor:
    """An actor that is being read: how many of its poses came, and what `_met` will answer."""

    skeleton: Skeleton
    met: Future[tuple[Character, Callable[[], None]]]
    seen: int = 0


def _met(pose: LivePose, follower: Follower) -> tuple[Character, Callable[[], None]]:
    """A new actor, and what lets the follower begin with it."""
    actor = Character.fit(pose.skeleton)
    return actor, follower.meet(actor, motion_to_q(actor, pose.motion())[0])


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
        self.new: _NewActor | None = None
        self.reader = ThreadPoolExecutor(1, "poise actor")
        self.last: Array | None = None
        self.misfits: dict[str, int] = {}
        self.kept: list[Array] = []
        self.lags: list[float] = []
        self.work: list[float] = []
        self.takeovers: list[float] = []
        self.buffers: list[float] = []
        self.skipped = self.held = 0
        self.still = 0.0

    def play(self, seconds: float | None, patience: float | None, is_over: Callable[[], bool]) -> None:
        dt, began, first = 1.0 / RATE, time.monotonic(), None
        due = began
        while True:
            asked = time.monotonic()
            if is_over():
                return
            if (waited := time.monotonic() - asked) > BEHIND:  # it was paused: no step was missed
                due += math.ceil(waited / dt) * dt
            self.source.wait(due)
            played = self.source.at(due, dt)
            if played is not None:
                worked, before = time.thread_time(), self.actor
                self._meet(played.pose)
                if self.actor is not None:
                    first = due if first is None else first
                    self.still = self.still + dt if played.is_held else 0.0
                    self._step(played.pose, due, due - first)
                    self.work.append(time.thread_time() - worked)
                    if self.actor is not before:
                        self.takeovers.append(self.work[-1])
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
        """Read an actor that is new in another thread, and begin with it; the one before is followed no more."""
        if pose.skeleton is self.known:
            return
        if self.new is None or self.new.skeleton is not pose.skeleton:
            self.new = _NewActor(pose.skeleton, self.reader.submit(_met, pose, self.follower))
        self.new.seen += 1
        if self.new.seen < CALIBRATE * RATE or not self.new.met.done():
            return
        met, self.new, self.known, self.last = self.new.met, None, pose.skeleton, None
        try:
            self.actor, take = met.result()
        except PoiseError as error:  # what cannot be read is not tried again
            self.misfits[str(error)[:300]] = self.misfits.get(str(error)[:300], 0) + 1
            self.actor = None
            return
        take()
        if self.humanoid is None or self.humanoid.character is not self.follower.character:
            self.humanoid = Humanoid(self.follower.character, standing_pose(self.follower.character))

    def _step(self, pose: LivePose, due: float, at: float) -> None:
        assert self.actor is not None
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
            "takeover_processor_ms": [1000.0 * x for x in self.takeovers],
        }
        return LiveResult(character, np.array(self.kept), times, report)


def _spread(seconds: list[float]) -> dict[str, float] | None:
    """Median, 99th percentile and largest [ms]."""
    if not seconds:
        return None
    values = 1000.0 * np.array(seconds)
    return {"median": float(np.median(values)), "p99": float(np.percentile(values, 99)), "max": float(values.max())}
