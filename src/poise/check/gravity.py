"""Cures of flights that fall with the wrong gravity, in closed form; smallest change first."""

from __future__ import annotations

import math

from poise.analysis.analyze import Analysis
from poise.check import thresholds as at
from poise.check.finding import Cure, length_words, ranked
from poise.check.profile import Limit
from poise.core.units import GRAVITY
from poise.intake.anatomy import height_of

FALLS = 0.05
"""A body falls if it does so with this part of gravity at least [1]."""


def can_leap(height: float, leg: float) -> bool:
    """True if a body with such legs may leap so high [m]; of figures that are not of a person's size nobody knows."""
    return height <= at.HIGHEST_LEAP * leg or not at.HUMAN_LEGS[0] <= leg <= at.HUMAN_LEGS[1]


def height_cure(clip: Analysis, size: float) -> list[Cure]:
    """Say how tall the figure is, if its legs are no grown person's and those of a body `size` times as tall are."""
    leg, (least, most) = clip.character.leg_length, at.GROWN_LEGS
    if least <= leg <= most or not least <= size * leg <= most:
        return []
    tall = size * height_of(clip.motion)
    return [Cure(f"if the figure is about {tall:.2g} m tall, say so: --height {tall:.2g}m", 0.0)]


def aimed_gravity(gravity: float, limit: Limit) -> float:
    """The gravity a cure aims at, in the same unit [g].

    Halfway (in the logarithm) from the end of the allowed range that was passed to 1 g, or to the range's middle where
    1 g is not allowed: the smallest change that passes with room for rounding to whole frames.
    """
    edge = limit.passed(gravity)
    if limit.least <= 1.0 <= limit.most:
        middle = 1.0
    else:
        middle = math.sqrt(max(limit.least, 1e-3) * min(limit.most, 1e3))
    return math.sqrt(max(edge, 1e-3) * middle)


def retimed_intervals(intervals: int, gravity: float, limit: Limit) -> int | None:
    """Frames between take-off and landing at which the same path falls with an allowed gravity; None if no number does.

    A path kept in space and played over k times the time falls with 1 / k² of its gravity.

    Args:
        intervals: Frame intervals of the flight as it is, at least 1.
        gravity: What it falls with now [g], positive.
        limit: What is allowed [g].
    """
    exact = intervals * math.sqrt(gravity / aimed_gravity(gravity, limit))
    longer = gravity > limit.most
    for count in (round(exact), math.ceil(exact) if longer else math.floor(exact)):
        if count >= 2 and limit.allows(gravity * (intervals / count) ** 2):
            return count
    return None


def apex_change(intervals: int, dt: float, gravity: float, limit: Limit) -> float:
    """How much the path must rise above the chord between its ends, more than it does, to fall right [m].

    A path over time T bends g T² / 8 off its chord; negative: the apex comes down.
    """
    duration = intervals * dt
    return (aimed_gravity(gravity, limit) - gravity) * GRAVITY * duration**2 / 8.0


def gravity_cures(first: int, last: int, dt: float, gravity: float, limit: Limit, leg: float) -> tuple[Cure, ...]:
    """Cures of a flight that falls with the wrong gravity, smallest change first.

    An apex that nobody leaps to is none.

    Args:
        first: Its first frame.
        last: Its last frame.
        dt: Time between frames [s].
        gravity: What it falls with [g].
        limit: What is allowed [g].
        leg: Leg length, which the change of an apex is held against [m].
    """
    intervals = last - first
    bend = apex_change(intervals, dt, gravity, limit)
    apex = aimed_gravity(gravity, limit) * GRAVITY * (intervals * dt) ** 2 / 8.0
    is_leap = bend < 0.0 or can_leap(apex, leg)
    if gravity <= FALLS or intervals < 2:
        if not is_leap:
            return ()
        up = (
            f"give the flight an arc: raise the hips {length_words(bend)} in the middle of frames {first}–{last}, "
            "following a parabola"
        )
        return (Cure(up, abs(bend) / leg),)
    cures = []
    count = retimed_intervals(intervals, gravity, limit)
    if count is not None:
        verb = "lengthen" if count > intervals else "shorten"
        then = gravity * (intervals / count) ** 2
        cures.append(
            Cure(
                f"{verb} the flight {intervals + 1}→{count + 1} frames (it then falls at {then:.2f} g)",
                abs(math.log(count / intervals)),
            )
        )
    if is_leap:
        verb = "raise" if bend > 0.0 else "lower"
        cures.append(
            Cure(
                f"{verb} the apex {length_words(abs(bend))} (it then falls at {aimed_gravity(gravity, limit):.2f} g)",
                abs(bend) / leg,
            )
        )
    cures.append(
        Cure(
            f"call gravity {gravity:.2g} in this shot, or the character {1.0 / gravity:.2g} × as tall as it is built",
            abs(math.log(gravity)),
        )
    )
    return ranked(cures)
