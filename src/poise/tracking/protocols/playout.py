"""From poses that come when they come to poses at an even pace: jitter buffer, the sender's clock, pauses, jumps.

Poses carry the sender's time. Its clock is placed on ours by the packets that came fastest within a few seconds, which
follows a clock that runs fast or slow. What is played lies a little behind: by how late packets come, and one frame to
interpolate. Nothing is made up: where no pose comes the last one is held, and what comes after it is blended in.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from poise.core import rotations
from poise.core.typing import Array
from poise.tracking.protocols.pose import LivePose

WINDOW = 2.0
"""Packets of so long say how the sender's clock stands and how late packets come [s]."""
LEAST, MOST = 0.002, 0.25
"""Shortest and longest delay of the buffer beyond one frame [s]."""
KEPT = 256
"""Poses that are kept at most."""
PAUSE = 0.25
"""No pose for so long is a pause [s]."""
BLEND = 0.4
"""After a pause or a jump poses are blended in over so long [s]."""
FASTEST = 12.0
"""A root that is faster than this jumped, and is carried on from where it was [m/s]."""
RESET = 1.0
"""A sender's clock that is off by more than this began anew [s]."""


@dataclass
class Counts:
    """What was seen of a stream."""

    poses: int = 0
    lost: int = 0
    late: int = 0
    reordered: int = 0
    duplicate: int = 0
    pauses: int = 0
    longest_pause_s: float = 0.0
    jumps: int = 0
    clock_resets: int = 0
    actors: int = 0


@dataclass(frozen=True)
class Played:
    """A pose that is due.

    Attributes:
        pose: Between the two that were received around its time.
        buffered: How long ago it would have come without a buffer [s].
        is_held: No pose came for it: the last one is shown.
    """

    pose: LivePose
    buffered: float
    is_held: bool


@dataclass
class Playout:
    """Poses in as they arrive, poses out when they are due.

    Attributes:
        delay: Fixed delay behind the fastest packets [s]; found from how late packets come if None.
        counts: What was seen.
    """

    delay: float | None = None
    counts: Counts = field(default_factory=Counts)
    _times: list[float] = field(default_factory=list)
    _poses: list[LivePose] = field(default_factory=list)
    _ways: deque[tuple[float, float]] = field(default_factory=deque)
    _offset: float | None = None
    _lateness: float = 0.0
    _period: float = 1.0 / 60.0
    _number: int | None = None
    _ticks: tuple[float, float] | None = None
    _head: float | None = None
    _last: LivePose | None = None
    _from: LivePose | None = None
    _from_age: float = 0.0
    _from_time: float = BLEND
    _starved: float = 0.0
    _shift: Array = field(default_factory=lambda: np.zeros(3))
    _arrived: float | None = None
    _drift: list[tuple[float, float]] = field(default_factory=list)
    _paused: bool = False
    _before: LivePose | None = None

    # --- in

    def add(self, pose: LivePose, arrival: float) -> None:
        """A pose that arrived now [s], on our clock."""
        self.counts.poses += 1
        time = self._time_of(pose, arrival)
        newest = self._times[-1] if self._times else None
        if newest is not None and abs(time - newest) > RESET:
            gap = arrival - (self._arrived if self._arrived is not None else arrival)
            if abs(time - newest - gap) > RESET:  # no pause: another clock
                self.counts.clock_resets += 1
                self._forget()
                newest = None
        self._arrived = arrival
        self._clock(time, arrival)
        self._count(pose, time, newest)
        at = bisect_left(self._times, time - 1e-6)
        if at < len(self._times) and abs(self._times[at] - time) < 1e-6:
            self.counts.duplicate += 1
            return
        if self._head is not None and time < self._head:
            self.counts.late += 1
            if at == 0:
                return  # older than anything that is still needed
        self._times.insert(at, time)
        self._poses.insert(at, pose)
        while len(self._times) > KEPT:
            del self._times[0], self._poses[0]

    def _time_of(self, pose: LivePose, arrival: float) -> float:
        """The sender's time; of a sender without a clock, an even pace through the arrivals."""
        if pose.time is not None:
            return pose.time
        if self._ticks is None:
            self._ticks = (arrival, self._period)
            return arrival
        last, period = self._ticks
        count = 1
        if pose.number is not None and self._number is not None and 0 < abs(pose.number - self._number) < 1000:
            count = pose.number - self._number
        elif pose.number is None:
            count = max(1, round((arrival - last) / period - 0.25))
        guess = last + count * period
        off = arrival - guess
        if abs(off) > PAUSE:
            self._ticks = (arrival, period)
            return arrival
        if count < 0:
            return guess  # an old one: it says nothing of the pace
        guess += 0.1 * off
        self._ticks = (guess, min(0.2, max(0.002, period + 0.02 * off / count)))
        return guess

    def _clock(self, time: float, arrival: float) -> None:
        """Place the sender's clock on ours by the fastest packets, and see how late the others come."""
        self._ways.append((arrival, arrival - time))
        while self._ways and (arrival - self._ways[0][0] > WINDOW or len(self._ways) > 1000):
            self._ways.popleft()
        ways = [way for _, way in self._ways]
        best = min(ways)
        if self._offset is None or best < self._offset:
            self._offset = best
        else:
            self._offset += 0.05 * (best - self._offset)
        late = float(np.percentile(ways, 99.0)) - best
        self._lateness = max(late, self._lateness + 0.02 * (late - self._lateness))
        if not self._drift or arrival - self._drift[-1][0] >= 0.5 * WINDOW:
            self._drift.append((arrival, best))
            del self._drift[:-600]

    def _count(self, pose: LivePose, time: float, newest: float | None) -> None:
        if newest is not None and time > newest:
            step = time - newest
            if 1e-4 < step < 1.5 * self._period or self.counts.poses < 8:
                self._period += 0.1 * (min(step, 0.1) - self._period)
        if pose.number is not None:
            if self._number is None or not abs(pose.number - self._number) < 100_000:
                self._number = pose.number
            elif pose.number > self._number:
                self.counts.lost += pose.number - self._number - 1
                self._number = pose.number
            elif pose.number < self._number:
                self.counts.reordered += 1
                self.counts.lost = max(0, self.counts.lost - 1)
        elif newest is not None:
            if time < newest - 1e-6:
                self.counts.reordered += 1
                self.counts.lost = max(0, self.counts.lost - 1)
            elif self.counts.poses > 8 and pose.time is not None and time - newest < PAUSE:
                self.counts.lost += max(0, round((time - newest) / self._period) - 1)

    def _forget(self) -> None:
        self._times.clear()
        self._poses.clear()
        self._ways.clear()
        self._drift.clear()
        self._offset, self._head, self._ticks, self._number, self._lateness = None, None, None, None, 0.0
        self._begin_blend()

    def renew(self) -> None:
        """Another actor comes: what is kept of this one is of no use."""
        self._forget()
        self._last = self._from = self._before = None
        self._shift = np.zeros(3)

    # --- out

    @property
    def wanted_delay(self) -> float:
        """How far behind the fastest packets is played [s]."""
        if self.delay is not None:
            return self.delay
        return min(MOST, max(LEAST, self._lateness)) + self._period

    def at(self, now: float, dt: float) -> Played | None:
        """The pose that is due now [s], a step [s] after the last; None before the first.

        The pace follows the sender's clock within a tenth of real time, so that nothing jumps.
        """
        if self._offset is None or not self._times:
            return None if self._last is None else Played(self._last, 0.0, is_held=True)
        target = now - self._offset - self.wanted_delay
        if self._head is None:
            if target < self._times[0] and self._times[-1] - self._times[0] < self.wanted_delay:
                return None if self._last is None else Played(self._last, 0.0, is_held=True)
            self._head = target
        else:
            off = target - (self._head + dt)
            if abs(off) > 0.5:
                self._head, self._before = target, None
                self._begin_blend()
            else:
                self._head += dt + max(-0.1 * dt, min(0.1 * dt, 0.05 * off))
        is_held = self._head > self._times[-1] + 1e-9
        self._pauses()
        if is_held:
            self._starved += dt
        elif self._starved:
            if self._starved > 2.0 * self._period and not self._from:
                self._begin_blend(min(BLEND, 3.0 * self._starved))
            self._starved = 0.0
        pose = self._between(self._head)
        pose = self._placed(pose, dt)
        self._last = pose
        while len(self._times) > 2 and self._times[1] < self._head - PAUSE:
            del self._times[0], self._poses[0]
        return Played(replace(pose, time=self._head), now - self._offset - self._head, is_held)

    def _pauses(self) -> None:
        assert self._head is not None
        gap = self._head - self._times[-1]
        if gap > PAUSE:
            self.counts.pauses += not self._paused
            self._paused = True
            self.counts.longest_pause_s = max(self.counts.longest_pause_s, gap)
        elif self._paused:
            self._paused = False
            self._begin_blend()

    def _between(self, time: float) -> LivePose:
        k = bisect_left(self._times, time)
        if k <= 0:
            return self._poses[0]
        if k >= len(self._times):
            return self._poses[-1]
        first, second = self._poses[k - 1], self._poses[k]
        span = self._times[k] - self._times[k - 1]
        way = float(np.linalg.norm(second.translations[0] - first.translations[0]))
        if first.skeleton is not second.skeleton or span > PAUSE or way > max(0.1, FASTEST * span):
            return first if time - self._times[k - 1] < 0.5 * span else second
        return _part_way(first, second, (time - self._times[k - 1]) / span)

    def _begin_blend(self, seconds: float = BLEND) -> None:
        if self._last is not None:
            self._from, self._from_age, self._from_time = self._last, 0.0, seconds

    def _placed(self, raw: LivePose, dt: float) -> LivePose:
        """Carried on from where it was after a jump, and blended in after a pause."""
        before, self._before = self._before, raw
        jumped = 0.0
        if before is not None and before.skeleton is raw.skeleton:
            jumped = float(np.linalg.norm(raw.translations[0] - before.translations[0]))
        if jumped > max(0.1, FASTEST * dt):
            assert before is not None
            self.counts.jumps += 1
            moved = before.translations[0] - raw.translations[0]
            self._shift = self._shift + np.array([moved[0], moved[1], 0.0])
            self._begin_blend()
        moved = raw.translations.copy()
        moved[0] += self._shift
        pose = replace(raw, translations=moved)
        if self._from is None or self._from.skeleton is not raw.skeleton:
            self._from = None
            return pose
        self._from_age += dt
        part = min(1.0, self._from_age / self._from_time)
        held = self._from
        if part >= 1.0:
            self._from = None
        return _part_way(held, pose, rotations.eased(part))

    # --- report

    def report(self) -> dict[str, Any]:
        """Counts, pace and delay."""
        drift = None
        if len(self._drift) >= 5:
            at = np.array(self._drift)
            drift = float(np.polyfit(at[:, 0] - at[0, 0], at[:, 1] - at[0, 1], 1)[0] * -1e6)
        return {
            **vars(self.counts),
            "fps": round(1.0 / self._period, 3) if self.counts.poses > 1 else None,
            "clock_drift_ppm": drift,
            "delay_ms": 1000.0 * self.wanted_delay,
        }


def _part_way(first: LivePose, second: LivePose, part: float) -> LivePose:
    part = min(1.0, max(0.0, part))
    if part <= 0.0 or part >= 1.0 or math.isnan(part):
        return second if part >= 1.0 else first
    moved = (1.0 - part) * first.translations + part * second.translations
    # frames lie close together: chords of short arcs; opposite signs are the same turn
    sign = np.where(np.sum(first.rotations * second.rotations, axis=1, keepdims=True) < 0.0, -1.0, 1.0)
    turned = (1.0 - part) * first.rotations + part * sign * second.rotations
    small = np.sum(turned * turned, axis=1) < 0.25
    if small.any():  # half turns, after a pause
        turned = rotations.part_way(first.rotations, second.rotations, np.full(len(turned), part))
    return replace(second, translations=moved, rotations=rotations.normalize(turned))
