"""Outside of a flight: the root is led smoothly into what the flight needs, while the legs keep the feet in place."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from poise.analysis.momentum import center_of_mass
from poise.analysis.touching import touching
from poise.body.character import Character
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array, Flags, Index
from poise.core.units import HUMAN_LEG
from poise.edit.flight import Span
from poise.edit.legs import Leg, bends_to, find_legs, knee_flexion, reach, solve_legs
from poise.edit.planting import points_of
from poise.edit.root import move_root
from poise.edit.scope import smooth_step
from poise.terrain import Terrain

SLACK = 0.002
"""How far a foot may be out of reach before the correction at a border is made smaller [m]."""


KNEE_FREE, KNEE_PER = math.radians(3.0), 5.0
"""A knee turns by no more than the first [rad] and so much for each meter that the root moves, for a leg of 0.82 m
[rad/m]: for a centimeter, the knee of a nearly straight leg would turn far more."""
KNEE_STEP, KNEE_OWN = math.radians(3.0), 1.0
"""From frame to frame a correction turns a knee by no more than this [rad], or this much of what the knee does by
itself around it [1]."""
MOST = 0.12
"""How far a correction at a border moves the root at most, for a leg of 0.82 m [m]."""
SETTLING = 0.05
"""A foot comes to its place until it touches, but takes this long at least, for a leg of 0.82 m [s]."""
PASSES = 4
"""How often the root is put back under its center of mass, and the legs solved again; each leaves about a fifth."""


@dataclass(frozen=True)
class Carry:
    """A change of velocity at a border that the frames beside it take up.

    Attributes:
        frame: The frame at the border; it does not move.
        until: Frame at which the correction has faded, before or after it.
        slope: What the velocity of the root changes by at `frame` [m/s], shape (3,).
    """

    frame: int
    until: int
    slope: Array

    def shift(self, times: Array) -> tuple[Index, Array]:
        """The frames it moves, and by how much [m], shape (n, 3).

        A quintic that is zero at both ends, has the slope at the border, and is otherwise at rest there.
        """
        step = 1 if self.until > self.frame else -1
        frames = np.arange(self.frame + step, self.until, step)
        span = float(times[self.frame] - times[self.until])
        x = (times[frames] - times[self.until]) / span
        return frames, span * (x**3 * (-4.0 + x * (7.0 - 3.0 * x)))[:, None] * self.slope


def absorb(motion: Motion, character: Character | None, root: int, carries: list[Carry]) -> tuple[Motion, float]:
    """The motion with velocity changes at borders taken up by the root beside them; feet stay by bending the legs.

    A correction that legs are too short for, or that moves the root further than MOST, is made smaller: then a part of
    the kink stays.

    Returns:
        The motion, and how far a foot came off its place at most [m].
    """
    legs = find_legs(character, motion) if character is not None else ()
    lengths = {leg: reach(leg, motion) for leg in legs}
    shift = np.zeros((motion.frame_count, 3))
    for carry in carries:
        frames, moved = carry.shift(motion.times)
        if len(frames) and np.abs(moved).max() > 1e-9:
            most = MOST * (character.leg_scale if character is not None else 1.0)
            moved = moved * min(1.0, most / float(np.linalg.norm(moved, axis=1).max()))
            shift[frames] += _within_reach(motion, legs, lengths, frames, moved) * moved
    changed = np.flatnonzero(np.abs(shift).max(axis=1) > 1e-9)
    if not len(changed):
        return motion, 0.0
    lowered = move_root(motion, root, shift)
    if not legs:
        return lowered, 0.0
    positions, orientations = motion.world
    targets = {leg: (positions[:, leg.foot], orientations[:, leg.foot]) for leg in legs}
    result = solve_legs(lowered, targets, changed)
    after = result.world[0]
    return result, max(
        float(np.linalg.norm(after[changed, leg.foot] - positions[changed, leg.foot], axis=1).max()) for leg in legs
    )


def _within_reach(
    motion: Motion, legs: tuple[Leg, ...], lengths: dict[Leg, Array], frames: Index, moved: Array
) -> float:
    """Part of a movement of the root after which every leg still reaches its foot, and no knee jerks for it."""
    if not legs:
        return 1.0
    order = np.argsort(frames)
    piece, moved = motion.frames(frames[order]), moved[order]
    lengths = {leg: lengths[leg][frames[order]] for leg in legs}
    positions, far = piece.world[0], np.linalg.norm(moved, axis=1)
    own = {leg: float(np.abs(np.diff(knee_flexion(leg, piece))).max(initial=0.0)) for leg in legs}

    def is_fine(part: float) -> bool:
        for leg in legs:
            away = positions[:, leg.foot] - positions[:, leg.hip] - part * moved
            allowed = np.maximum(lengths[leg], np.linalg.norm(away + part * moved, axis=1)) + SLACK
            if (np.linalg.norm(away, axis=1) > allowed).any():
                return False
            bent = bends_to(leg, piece, positions[:, leg.foot] - part * moved)[0]
            steps = np.abs(np.diff(np.concatenate([[0.0], bent, [0.0]])))
            size = float(lengths[leg].max()) / HUMAN_LEG
            if (np.abs(bent) > KNEE_FREE + KNEE_PER * part * far / size).any():
                return False
            if steps.max() > max(KNEE_STEP, KNEE_OWN * own[leg]):
                return False
        return True

    if is_fine(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(8):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_fine(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class Held:
    """How well feet were held beside flights.

    Attributes:
        feet: How far a touching foot is off its place at most [m]; it takes `SETTLING` to come home.
        settled: The same, once it has come home.
        com: How far the center of mass is off its path at most [m].
        frames: In which legs were solved, shape (n,).
    """

    feet: float
    settled: float
    com: float
    frames: Index


def hold_feet(
    motion: Motion,
    turned: Motion,
    character: Character,
    root: int,
    com: Array,
    spans: tuple[Span, ...],
    windows: tuple[Span, ...],
) -> tuple[Motion, Held]:
    """The turned motion with feet that touch beside its flights where they were, by the legs.

    A foot leaves the turned flight with it and comes to its own place by the time it touches, but in no less than
    `SETTLING`, so one that touches at once slides that long; then it keeps its place until the window ends. A foot
    that touches nothing there goes with the body, as do the flights themselves.

    Args:
        motion: F frames, before.
        turned: The same frames, with flights turned and the turn fading in the windows around them.
        character: Whose contact points touch.
        root: The joint that carries it.
        com: Where the center of mass is to be kept [m], shape (F, 3).
        spans: First and last frame of each flight.
        windows: First and last frame that may change with it.
    """
    floor = Terrain.flat(character.floor)
    touch = touching(motion, character, terrain=floor)
    parts: dict[Leg, Array] = {}
    carried: dict[Leg, Flags] = {}
    standing: dict[Leg, Flags] = {}
    beside = np.zeros(motion.frame_count, dtype=np.bool_)
    for (first, last), (start, end) in zip(spans, windows, strict=True):
        beside[start : end + 1] = True
        beside[first : last + 1] = False
    for leg in find_legs(character, motion):
        touches = np.asarray(touch.carries[:, points_of(character, leg, touch)].any(axis=1))
        parts[leg] = _way_kept(motion.times, touches, spans, windows, SETTLING * math.sqrt(character.leg_scale))
        standing[leg] = touches & beside
        carried[leg] = standing[leg] & (parts[leg] == 0.0)
    own, now = motion.world[0], turned.world[0]
    frames = np.flatnonzero(np.abs(now - own).max(axis=(1, 2)) > 1e-9)
    frames = frames[np.any([left[frames] < 1.0 for left in parts.values()] or [frames < 0], axis=0)]
    if not len(frames):
        return turned, Held(0.0, 0.0, 0.0, frames)
    result = solve_legs(turned, _targets(motion, turned, parts), frames)
    for _ in range(PASSES):
        shift = np.zeros_like(com)
        shift[frames] = (com - center_of_mass(result, character))[frames]
        result = move_root(result, root, shift)
        result = solve_legs(result, _targets(motion, turned, parts, result), frames)
    after = result.world[0]
    off = {leg: np.linalg.norm(after[:, leg.foot] - own[:, leg.foot], axis=1) for leg in parts}
    feet, settled = (
        max(float(off[leg].max(initial=0.0, where=where[leg])) for leg in off) for where in (standing, carried)
    )
    return result, Held(
        feet, settled, float(np.linalg.norm(center_of_mass(result, character) - com, axis=1).max()), frames
    )


def _targets(
    motion: Motion, turned: Motion, parts: dict[Leg, Array], now: Motion | None = None
) -> dict[Leg, tuple[Array, Array]]:
    """Where feet are to be: on their own place, but for the part (F,) of the way to the turned one that is left.

    A foot that keeps all of it stays as it is `now`.
    """
    now = turned if now is None else now
    found: dict[Leg, tuple[Array, Array]] = {}
    for leg, left in parts.items():
        (own, turn), (place, goal), (here, held) = ([x[:, leg.foot] for x in m.world] for m in (motion, turned, now))
        off = rotations.to_rotation_vector(rotations.multiply(goal, rotations.conjugate(turn)))
        places = own + left[:, None] * (place - own)
        turns = rotations.multiply(rotations.from_rotation_vector(left[:, None] * off), turn)
        free = left[:, None] == 1.0
        found[leg] = (np.where(free, here, places), np.where(free, held, turns))
    return found


def _way_kept(
    times: Array, touches: Flags, spans: tuple[Span, ...], windows: tuple[Span, ...], settling: float
) -> Array:
    """Part of its way with the turned body that a foot keeps, shape (F,): 1 in flight, 0 from where it touches on."""
    left = np.ones(len(times))
    for (first, last), (start, end) in zip(spans, windows):
        for edge, frames in ((last, np.arange(last + 1, end + 1)), (first, np.arange(first - 1, start - 1, -1))):
            held = frames[touches[frames]]
            if len(held):
                away = np.abs(times[frames] - times[edge])
                time = max(abs(float(times[held[0]] - times[edge])), settling)
                left[frames] = np.minimum(left[frames], 1.0 - smooth_step(away / time))
    return left
