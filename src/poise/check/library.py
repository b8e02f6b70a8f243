"""Clips of one skeleton held against each other: whose gravity, size or timing leaves the others' spread?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_CLIPS = 4
"""Clips that say what is usual; of fewer nobody is called unusual."""
SPREADS = 3.5
"""A clip leaves the spread beyond this many robust standard deviations of the group [1]."""
ROBUST = 1.4826
"""Standard deviation over median absolute deviation, of normal values [1]."""

QUANTITIES: dict[str, tuple[str, str, float]] = {
    "gravity": ("implied gravity", "g", 0.25),
    "leg": ("leg length", "m", 0.05),
    "size": ("size the motion implies", "×", 0.25),
    "step": ("time of a step", "s", 0.2),
}
"""Each quantity: in words, unit, and the smallest spread that is believed, as |ln of a ratio|: animators and people
differ by that much anyway."""


@dataclass(frozen=True)
class Facts:
    """What a clip says of its character.

    Attributes:
        skeleton: A key that clips of one skeleton share.
        gait: "walk", "run" or "other"; step times are compared within one gait.
        values: Each quantity it has a value for, all positive.
    """

    skeleton: str
    gait: str
    values: dict[str, float]


@dataclass(frozen=True)
class Stray:
    """A clip that leaves its group's spread."""

    clip: str
    quantity: str
    value: float
    usual: float
    low: float
    high: float
    sentence: str


@dataclass(frozen=True)
class Group:
    """The clips of one skeleton."""

    skeleton: str
    clips: tuple[str, ...]
    strays: tuple[Stray, ...]


def compare(facts: Sequence[tuple[str, Facts]]) -> tuple[Group, ...]:
    """Groups of clips by skeleton, each with those that leave its spread, the farthest first.

    The middle is the median and the spread the median absolute deviation, both of logarithms, so that a few strays
    do not hide each other and twice as much is as far as half.

    Args:
        facts: Name and facts of each clip.

    Source: the discussion of [ShapiroLee2011]_ asks for clips of one character that agree; the statistics are ours.
    """
    by_skeleton: dict[str, list[tuple[str, Facts]]] = defaultdict(list)
    for name, fact in facts:
        by_skeleton[fact.skeleton].append((name, fact))
    groups = []
    for skeleton, members in by_skeleton.items():
        strays: list[tuple[float, Stray]] = []
        for quantity in QUANTITIES:
            sets = [members]
            if quantity == "step":
                sets = [[m for m in members if m[1].gait == gait] for gait in ("walk", "run")]
            for chosen in sets:
                strays += _strays(quantity, [(n, f.values[quantity]) for n, f in chosen if quantity in f.values])
        strays.sort(key=lambda s: -s[0])
        groups.append(Group(skeleton, tuple(n for n, _ in members), tuple(s for _, s in strays)))
    return tuple(groups)


def _strays(quantity: str, named: list[tuple[str, float]]) -> list[tuple[float, Stray]]:
    named = [(n, v) for n, v in named if math.isfinite(v) and v > 0.0]
    if len(named) < LEAST_CLIPS:
        return []
    words, unit, least = QUANTITIES[quantity]
    logs = np.log([v for _, v in named])
    middle = float(np.median(logs))
    # against the smallest believed spread, so that a library that agrees to a hair is not full of strays
    half = max(SPREADS * ROBUST * float(np.median(np.abs(logs - middle))), least)
    usual, low, high = math.exp(middle), math.exp(middle - half), math.exp(middle + half)
    found = []
    for (name, value), log in zip(named, logs):
        away = abs(float(log) - middle)
        if away > half:
            sentence = (
                f"{words} {value:.3g} {unit}; its {len(named)} companions have {usual:.3g} {unit}, "
                f"most of them {low:.3g}–{high:.3g}"
            )
            found.append((away / half, Stray(name, quantity, value, usual, low, high, sentence)))
    return found
