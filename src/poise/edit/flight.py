"""Which flights an edit is for, and what surrounds them.

Before and after a flight, the root is led smoothly into what the flight needs, while the legs keep the feet in place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from poise.analysis.analyze import FlightFit, analyze, fit_flight
from poise.analysis.forces import touching
from poise.analysis.momentum import center_of_mass
from poise.analysis.smoothing import derivatives
from poise.body.character import Character, fit
from poise.body.posing import root_mover
from poise.check.air import why_no_flight
from poise.core import rotations
from poise.core.errors import InvalidValue, NotForThisClip
from poise.core.motion import Motion
from poise.core.typing import Array, Flags, Index
from poise.core.units import HUMAN_LEG
from poise.edit.budget import Scope, smooth_step
from poise.edit.legs import Leg, bends_to, find_legs, knee_flexion, move_root, reach, solve_legs
from poise.edit.planting import points_of
from poise.phases.flights import airborne_frames, flight_spans
from poise.terrain import Terrain

Span = tuple[int, int]


@dataclass(frozen=True)
class Figure:
    """What moves as a whole: a character, or an object with one joint.

    Attributes:
        character: Its bodies; None for an object whose weight sits in its joint.
        root: The joint that carries it.
        mass: [kg]; 1 for an object.
        leg_length: A length that its sizes go with [m].
    """

    character: Character | None
    root: int
    mass: float
    leg_length: float

    @classmethod
    def of(cls, motion: Motion, character: Character | None) -> Figure:
        """The given character; else one fitted to the motion, or an object where the motion has one joint only."""
        if character is None and motion.skeleton.joint_count == 1 and not motion.skeleton.end_sites:
            return cls(None, 0, 1.0, HUMAN_LEG)
        character = fit(motion) if character is None else character
        return cls(character, root_mover(character), character.mass, character.leg_length)

    def com(self, motion: Motion) -> Array:
        """Center of mass of every frame [m], shape (F, 3)."""
        return motion.world[0][:, 0] if self.character is None else center_of_mass(motion, self.character)


def choose_flights(motion: Motion, figure: Figure, wanted: str | Sequence[Span], scope: Scope) -> tuple[Span, ...]:
    """First and last frame of each flight an edit is for.

    Args:
        motion: F frames.
        figure: Whose they are.
        wanted: "all" for every flight in the scope's interval, or first and last frames.
        scope: Its interval limits "all".

    Raises:
        InvalidValue: if a given flight is not a pair of frames of the clip, overlaps another or leaves the interval, or
            none is found.
    """
    lowest, highest = scope.frames(motion)
    if isinstance(wanted, str):
        if wanted != "all":
            raise InvalidValue(f"flights is {wanted!r}; give 'all' or pairs of first and last frames.")
        found = find_flights(motion, figure)
        spans = tuple(s for s in found if s[0] >= lowest and s[1] <= highest)
        if not spans:
            raise NotForThisClip(_no_flight(motion, found, lowest, highest))
        reasons = no_flights(motion, figure)
        believed = tuple(s for s in spans if s not in reasons)
        if not believed:
            why = reasons[spans[0]]
            raise NotForThisClip(
                f"{_listed(motion, spans[:1]).capitalize()} is not a flight: {why}. Something carries the body there "
                f"that was not found. If it is meant to fly, name it: --flight {spans[0][0]}:{spans[0][1]}."
            )
        return believed
    spans = tuple(sorted((int(a), int(b)) for a, b in wanted))
    for first, last in spans:
        if not (first >= 0 and last < motion.frame_count and last - first >= 2):
            raise InvalidValue(
                f"Flight {first}:{last} is not in this clip, which has frames 0 to {motion.frame_count - 1}; give "
                "a first and a last frame at least two apart."
            )
        if first < lowest or last > highest:
            raise InvalidValue(f"Flight {first}:{last} leaves the interval, which holds frames {lowest} to {highest}.")
    for one, other in pairwise(spans):
        if other[0] <= one[1]:
            raise InvalidValue(f"Flights {one[0]}:{one[1]} and {other[0]}:{other[1]} overlap; give one of them.")
    if not spans:
        raise InvalidValue("No flight was given; give 'all' or pairs of first and last frames.")
    return spans


def find_flights(motion: Motion, figure: Figure) -> tuple[Span, ...]:
    """First and last frame of every flight of a clip, as `poise check` finds them."""
    if figure.character is None:
        airborne = airborne_frames(motion)
    else:
        airborne = analyze(motion, figure.character, filter_hz=None).is_airborne
    return flight_spans(airborne, motion.times)


def no_flights(motion: Motion, figure: Figure) -> dict[Span, str]:
    """Times in the air that nobody could make, each with the reason."""
    if figure.character is None:
        return {}
    clip = analyze(motion, figure.character, filter_hz=None)
    reasons = {(f.first, f.last): why_no_flight(clip, f, needs_ends=False) for f in clip.flights}
    return {span: why for span, why in reasons.items() if why}


def _no_flight(motion: Motion, found: Sequence[Span], lowest: int, highest: int) -> str:
    """Why no flight lies within frames `lowest` to `highest`, and what would help."""
    if not found:
        return (
            "No flight was found: at no time is every point of the figure off the floor for long enough. Name its "
            "first and last frame, such as --flight 120:131."
        )
    cut = [s for s in found if s[0] <= highest and s[1] >= lowest]
    if not cut:
        return f"No flight lies in the interval; the clip has {_listed(motion, found)}. Give an interval around one."
    return (
        f"The interval cuts {_listed(motion, cut)}, and a flight is edited as a whole: give an interval around it, or "
        "the part of it that you mean as --flight A:B."
    )


def _listed(motion: Motion, spans: Sequence[Span]) -> str:
    words = ", ".join(f"{a}:{b} ({motion.times[a]:.2f}–{motion.times[b]:.2f} s)" for a, b in spans)
    return f"flight{'s' * (len(spans) > 1)} {words}"


def windows(motion: Motion, spans: Sequence[Span], scope: Scope) -> tuple[Span, ...]:
    """For each flight the first and last frame that may change with it: `blend` around it, half way to the next."""
    lowest, highest = scope.frames(motion)
    times = motion.times
    found: list[Span] = []
    for k, (first, last) in enumerate(spans):
        before = lowest if k == 0 else (spans[k - 1][1] + first + 1) // 2
        after = highest if k == len(spans) - 1 else (last + spans[k + 1][0]) // 2
        inside = np.flatnonzero(
            (times >= times[first] - scope.blend - 1e-9) & (times <= times[last] + scope.blend + 1e-9)
        )
        found.append((min(first, max(before, int(inside[0]))), max(last, min(after, int(inside[-1])))))
    return tuple(found)


def measure(motion: Motion, figure: Figure, com: Array, span: Span, angular: Array | None = None) -> FlightFit:
    """A flight against a free body, from its own frames only.

    Args:
        motion: The frames.
        figure: Whose flight it is.
        com: Center of mass of every frame [m], shape (F, 3).
        span: First and last frame.
        angular: Angular momentum of the flight's frames [kg m²/s], shape (n, 3); zero if not given.
    """
    inside = slice(span[0], span[1] + 1)
    times, path = motion.times[inside], com[inside]
    linear = figure.mass * derivatives(path, times)[0]
    return fit_flight(
        0,
        len(times) - 1,
        times=times,
        com=path,
        linear=linear,
        angular=np.zeros_like(path) if angular is None else angular,
        mass=figure.mass,
        leg_length=figure.leg_length,
    )


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
