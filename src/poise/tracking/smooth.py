"""Places and turns of an actor, with velocities and accelerations.

What is recorded has a future: `Known` takes rates from before and after, and nothing comes late. A live actor has
none, and trembles: `Smoother` fits a parabola to the past of every number, with weights that fade: the fading-memory
filter of second order. It does not lag behind what accelerates evenly. How long it remembers goes with the noise that
is seen in third differences, so that a clean actor is followed closely and a trembling one calmly.

    x⁻ = x + v T + a T²/2,  v⁻ = v + a T,  e = z − x⁻
    x = x⁻ + (1 − θ³) e,  v = v⁻ + 3/2 (1 − θ)² (1 + θ) e / T,  a = a + (1 − θ)³ e / T²
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses
from poise.core import rotations
from poise.core.typing import Array

MEMORY = 0.03
"""Time that a clean actor is remembered [s]."""
LONGEST = 0.1
"""The longest memory [s]."""
CALM = 0.06
"""What noise may add to velocities of places, for a leg of 0.82 m [m/s]; ten times that to turns [rad/s]."""
STEADY = 0.15
"""What noise may add to the speeds of soles, for a leg of 0.82 m [m/s]."""
SWIFT = 0.045
"""The longest memory of feet [s]: they stop suddenly."""
WATCHED = 0.3
"""Time over which noise is measured [s]."""


LOOK = 0.025
"""Rates of a recorded actor are taken over so much before and after, or over a frame of his if that is longer [s]."""


class Rows:
    """Numbers over time.

    Attributes:
        x, v, a: Present numbers and their rates, shape (N, 3), or (N, 7) with quaternions after the places.
        turns: Unit quaternions, shape (N, 4), of places that have an orientation.
        spins: Their angular velocities in the world [rad/s], shape (N, 3).
    """

    x: Array
    v: Array
    a: Array
    turns: Array
    spins: Array


def _turns_of(x: Array) -> Array:
    """Unit quaternions of rows (..., 7), shape (..., 4)."""
    return rotations.normalize(x[..., 3:])


def _spins_of(x: Array, v: Array) -> Array:
    """Angular velocities in the world, 2 q̇ q*, shape (..., 3)."""
    return 2.0 * rotations.multiply(v[..., 3:], rotations.conjugate(x[..., 3:]))[..., 1:]


class Known(Rows):
    """Rows of a recorded actor, one frame after the other; nothing comes late.

        v = (x(t + h) − x(t − h)) / 2h,  a = (x(t + h) − 2 x(t) + x(t − h)) / h²

    The parabola next to an end of the recording goes on to it.

    Args:
        rows: Of all frames, shape (F, N, 3) or (F, N, 7).
        dt: Between frames [s].
        every: So many of them make one frame of the actor.
    """

    def __init__(self, rows: Array, dt: float, every: int = 1) -> None:
        rows, count = rows.copy(), len(rows)
        flips = np.sign(np.einsum("fni,fni->fn", rows[1:, :, 3:], rows[:-1, :, 3:]))
        rows[1:, :, 3:] *= np.cumprod(np.where(flips < 0.0, -1.0, 1.0), axis=0)[..., None]
        self._x, self._v, self._a, self._at = rows, np.zeros_like(rows), np.zeros_like(rows), -1
        if wide := min(every * max(1, round(LOOK / (every * dt))), (count - 1) // 2):
            middle = np.clip(np.arange(count), wide, count - 1 - wide)
            before, after, h = rows[middle - wide], rows[middle + wide], wide * dt
            self._a = (after - 2.0 * rows[middle] + before) / h**2
            off = dt * (np.arange(count) - middle)[:, None, None]
            self._v = (after - before) / (2.0 * h) + off * self._a
        self._has_turns = rows.shape[2] > 3
        if self._has_turns:
            self._turns, self._spins = _turns_of(rows), _spins_of(rows, self._v)

    def move(self, row: int, place: Array, velocity: Array, acceleration: Array) -> None:
        """Move one row over the ground [m, m/s, m/s²], each of shape (F, 2)."""
        for own, by in ((self._x, place), (self._v, velocity), (self._a, acceleration)):
            own[:, row, :2] += by

    def rewind(self) -> None:
        """Go back before the first frame."""
        self._at = -1

    def advance(self) -> None:
        """Go to the next frame; the last one stays."""
        self._at = min(self._at + 1, len(self._x) - 1)
        self.x, self.v, self.a = self._x[self._at], self._v[self._at], self._a[self._at]
        if self._has_turns:
            self.turns, self.spins = self._turns[self._at], self._spins[self._at]


class Soles(Rows):
    """Soles: straight lines through their last places, so that what they did before is forgotten.

    x is at the middle of the time looked at; a is not found.
    """

    def __init__(self, dt: float, scale: float, every: int = 1) -> None:
        self.dt, self.every, self.limit = dt, every, STEADY * scale
        self._past: list[Array] = []
        self._noise = 0.0
        self._most = math.ceil(LONGEST / dt) + 1

    def add(self, places: Array) -> None:
        """One pose later: places (S, 3)."""
        past, e = self._past, self.every
        past.append(places)
        if len(past) > max(self._most, 3 * e + 1):
            past.pop(0)
        if len(past) > 3 * e:
            third = places - past[-1 - 3 * e] + 3.0 * (past[-1 - 2 * e] - past[-1 - e])
            # the stillest sole tells: one that swings has third differences of its own
            seen = float((third * third).sum(axis=1).min()) / 60.0
            self._noise += max(1.0 - math.exp(-self.dt / WATCHED), 1.0 / (len(past) + 1)) * (seen - self._noise)
        frame = self.dt * e
        # the slope of a line over a time W has 12 T / W³ of the variance
        window = (12.0 * self._noise * frame / self.limit**2) ** (1.0 / 3.0)
        count = min(len(past), max(round(max(window, 3.0 * frame, 0.025) / self.dt), 2) + 1, self._most)
        at = np.array(past[-count:])
        self.x = at.sum(axis=0) / count
        arms = np.arange(count) - 0.5 * (count - 1)
        size = float(arms @ arms)
        self.v = np.tensordot(arms, at, 1) / (size * self.dt) if size > 0.0 else np.zeros_like(places)


class Smoother(Rows):
    """Places and turns, pose after pose.

    Args:
        count: N.
        dt: Time between poses [s].
        scale: The actor's leg over that of a person [1].
        every: So many poses make one frame of the actor, who is recorded slower; those between add no news.
        swift: Rows of feet.

    Attributes:
        is_young: Whether it has seen less than it can remember.
    """

    def __init__(self, count: int, dt: float, scale: float, every: int = 1, swift: Sequence[int] = ()) -> None:
        self.dt, self.every = dt, every
        self._longest = np.full(count, LONGEST)
        self._longest[list(swift)] = SWIFT
        self.x, self.v, self.a = (np.zeros((count, 7)) for _ in range(3))
        self._past: list[Array] = []
        self._noise = np.zeros((count, 2))
        self._least = np.array([CALM * scale, 5.0 * CALM])  # a quaternion turns half as fast
        self._count = 0
        self.is_young = True

    def add(self, rows: Array) -> None:
        """One pose later: places and turns (N, 7)."""
        z, T = rows.copy(), self.dt
        if self._count:
            z[:, 3:] *= np.where(np.einsum("ij,ij->i", z[:, 3:], self.x[:, 3:]) < 0.0, -1.0, 1.0)[:, None]
        before = self.x + T * self.v + (0.5 * T * T) * self.a
        e = z - before
        self._watch(z)
        g, h, k = self._gains()
        self.x = before + g * e
        self.v += T * self.a + (h / T) * e
        self.a += (k / (T * T)) * e
        self.turns, self.spins = _turns_of(self.x), _spins_of(self.x, self.v)
        self._count += 1

    def _watch(self, z: Array) -> None:
        """Noise by third differences, whose variance is 20 times that of white noise."""
        past = self._past
        past.append(z)
        e = self.every
        if len(past) < 3 * e + 1:
            return
        third = z - past[0] + 3.0 * (past[e] - past[2 * e])
        past.pop(0)
        third *= third
        seen = np.empty_like(self._noise)
        seen[:, 0] = third[:, :3].sum(axis=1) / 60.0
        seen[:, 1] = third[:, 3:].sum(axis=1) / 60.0
        share = max(1.0 - math.exp(-self.dt / WATCHED), 1.0 / (self._count - 3 * e + 1))
        self._noise += share * (seen - self._noise)

    def _gains(self) -> tuple[Array, Array, Array]:
        """g, h and k of every row, shape (N, 1): those of a growing memory at first."""
        n = self._count
        # the filter passes 1.75 (T / memory)³ / T² of the variance to velocities, T of the actor's frames
        frame = self.every * self.dt
        memory = frame * (1.75 * self._noise / (self._least * frame) ** 2) ** (1.0 / 3.0)
        memory = np.clip(memory.max(axis=1), MEMORY, self._longest)
        rest = np.exp(-self.dt / memory)[:, None]
        one = 1.0 - rest
        g, h, k = 1.0 - rest**3, 1.5 * one * one * (1.0 + rest), one**3
        d = (n + 1.0) * (n + 2.0) * (n + 3.0)
        first = 3.0 * (3.0 * n * n + 3.0 * n + 2.0) / d
        if n < 2:
            return np.full_like(g, 1.0), np.full_like(g, float(n)), np.zeros_like(g)
        is_young = first > g
        self.is_young = bool(is_young.any())
        if self.is_young:
            g = np.where(is_young, first, g)
            h = np.where(is_young, 18.0 * (2.0 * n + 1.0) / d, h)
            k = np.where(is_young, 60.0 / d, k)
        return g, h, k


def no_faster(angles: Array, most: float) -> Array:
    """Angles that change by no more than `most` from one to the next, as near to those given as can be, shape (F,).

        θ = (max_s (α(s) − m |t − s|) + min_s (α(s) + m |t − s|)) / 2

    No angles that are no faster have a smaller largest error. Where those given are slow enough, they come back.

    Args:
        angles: α, without jumps of a whole turn, shape (F,).
        most: m.
    """
    if not math.isfinite(most):
        return angles
    ramp = most * np.arange(len(angles))

    def above(given: Array) -> Array:
        before = np.maximum.accumulate(given + ramp) - ramp
        after = np.maximum.accumulate((given - ramp)[::-1])[::-1] + ramp
        return np.maximum(before, after)

    out = 0.5 * (above(angles) - above(-angles))
    return np.where(np.abs(out - angles) < 1e-9, angles, out)


LOWEST_CUTOFF = 4.0
"""Motion slower than this is never taken for noise [Hz]."""


class Calmed(NamedTuple):
    """A recorded actor without its noise.

    Attributes:
        q: Coordinates, shape (F, nq).
        noise: White noise that was seen in the places of its bodies [m].
        cutoff: Of the filter that passed it [Hz]; None where nothing was changed.
    """

    q: Array
    noise: float
    cutoff: float | None


def calmed(character: Character, q: Array, fps: float) -> Calmed:
    """A whole recorded motion, low-passed forwards and backwards, so that nothing comes late.

    White noise σ at f frames a second leaves √(8 π² σ² c³ / 3 f) in velocities after a cutoff c. The cutoff is chosen
    so that this is `CALM`; a clean actor's is beyond its rate, and it comes back as it is. σ is the median over bodies
    and frames of fourth differences, whose variance is 70 times that of the noise.

    Args:
        character: The actor.
        q: Its poses, shape (F, nq).
        fps: Frames a second [1/s].
    """
    from scipy.signal import butter

    if len(q) < 20:
        return Calmed(q, 0.0, None)
    fourth = np.diff(body_poses(character, q)[0], 4, axis=0)
    noise = float(np.median(np.median(np.abs(fourth), axis=0)) / (0.6745 * math.sqrt(70.0)))
    most = CALM * character.leg_scale
    cutoff = max(LOWEST_CUTOFF, (3.0 * most**2 * fps / (8.0 * math.pi**2 * max(noise, 1e-9) ** 2)) ** (1.0 / 3.0))
    if cutoff >= 0.45 * fps:
        return Calmed(q, noise, None)
    out = q.copy()
    quaternions = [
        slice(at + 3, at + 7) if body.kind == "free" else slice(at, at + 4)
        for body, at in zip(character.bodies, character.q_addresses)
        if body.kind != "hinge"
    ]
    for turn in quaternions:  # neighbors of one sign
        flips = np.sign(np.einsum("ij,ij->i", out[1:, turn], out[:-1, turn]))
        out[1:, turn] *= np.cumprod(np.where(flips < 0.0, -1.0, 1.0))[:, None]
    sections = np.asarray(butter(2, cutoff, fs=fps, output="sos"))
    out = _passed(sections, out, max(2, round(fps / (2.0 * cutoff))))
    for turn in quaternions:
        out[:, turn] = rotations.normalize(out[:, turn])
    return Calmed(out, noise, cutoff)


def _passed(sections: Array, rows: Array, memory: int) -> Array:
    """Rows (F, N) after a low pass, forwards and backwards.

    Before its beginning the motion goes on mirrored at the place where a line through the first `memory` frames
    begins, and likewise after its end. Mirrored at the first frame, as is usual, its noise would stay.
    """
    from scipy.signal import sosfiltfilt

    memory = min(memory, len(rows))
    arms = np.arange(memory) - 0.5 * (memory - 1)
    slopes = arms / float(arms @ arms)
    mean = np.full(memory, 1.0 / memory)
    first = (mean + arms[0] * slopes) @ rows[:memory]
    last = (mean + arms[-1] * slopes) @ rows[-memory:]
    reach = min(3 * memory, len(rows) - 1)
    around = np.concatenate([2.0 * first - rows[reach:0:-1], rows, 2.0 * last - rows[-2 : -reach - 2 : -1]])
    return np.asarray(sosfiltfilt(sections, around, axis=0)[reach:-reach], dtype=np.float64)
