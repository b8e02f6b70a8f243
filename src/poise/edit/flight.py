"""Which flights an edit is for, the center of mass on its way, and how far before and after them it may act."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from poise.analysis.analyze import analyze
from poise.analysis.flights import FlightFit, fit_flight
from poise.analysis.momentum import center_of_mass
from poise.analysis.smoothing import derivatives
from poise.body.character import Character
from poise.body.fit import fit
from poise.body.posing import root_mover
from poise.check.air import why_no_flight
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import HUMAN_LEG
from poise.edit.scope import Scope
from poise.phases.flights import airborne_frames, flight_spans

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
        InvalidValue: if a given flight is no pair of frames of the clip, overlaps another or leaves the interval, or
            none is found.
    """
    lowest, highest = scope.frames(motion)
    if isinstance(wanted, str):
        if wanted != "all":
            raise InvalidValue(f"flights is {wanted!r}; give 'all' or pairs of first and last frames.")
        found = find_flights(motion, figure)
        spans = tuple(s for s in found if s[0] >= lowest and s[1] <= highest)
        if not spans:
            raise InvalidValue(_no_flight(motion, found, lowest, highest))
        reasons = _no_flights(motion, figure)
        believed = tuple(s for s in spans if s not in reasons)
        if not believed:
            why = reasons[spans[0]]
            raise InvalidValue(
                f"{_listed(motion, spans[:1]).capitalize()} is no flight: {why}. Something carries the body there that "
                f"was not found. If it is meant to fly, name it: --flight {spans[0][0]}:{spans[0][1]}."
            )
        return believed
    spans = tuple(sorted((int(a), int(b)) for a, b in wanted))
    for first, last in spans:
        if not (first >= 0 and last < motion.frame_count and last - first >= 2):
            raise InvalidValue(
                f"Flight {first}:{last} is none of this clip, which has frames 0 to {motion.frame_count - 1}; give "
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


def _no_flights(motion: Motion, figure: Figure) -> dict[Span, str]:
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
        0, len(times) - 1, times=times, com=path, linear=linear,
        angular=np.zeros_like(path) if angular is None else angular, mass=figure.mass, leg_length=figure.leg_length,
    )  # fmt: skip
