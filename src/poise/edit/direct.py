"""Flights as a director asks for them: higher, longer, under another gravity.

A repair then makes take-off and landing follow.

Source: Popović 2000, as the lecture behind [Hodgins1995]_ shows it: change the physics, keep the style. Deviates:
flights get their new paths in closed form, and the whole clip is then repaired with the least change.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.analysis.analyze import Analysis
from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.edit.ballistic import PathTarget, ballistic
from poise.edit.flight import Figure, find_flights

PART = re.compile(r"(height|length)\s*([+-]\s*\d+(?:\.\d+)?)\s*%", re.IGNORECASE)
NEAR = 0.02
"""A rise or a way that is so near to what was asked is reached [m]."""
LEAST, MOST = 0.2, 3.0
"""Shares of the height and the length of a flight that can be asked for [1]."""


@dataclass(frozen=True)
class FlightChange:
    """How flights differ from those of the clip.

    Example:
        >>> change = poise.edit.FlightChange.parse("height +20%, length -10%")
        >>> edited = poise.edit.repair(poise.load(poise.sample_path("hover_hop")), flight=change, trust_time=True)

    Attributes:
        height: New rise of the center of mass above the take-off, over the old one [1].
        length: New way over the ground, over the old one [1].
    """

    height: float = 1.0
    length: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("height", self.height), ("length", self.length)):
            if not LEAST <= value <= MOST:
                raise InvalidValue(
                    f"The {name} of a flight cannot change by {100.0 * (value - 1.0):+.4g}%. Give a change from "
                    f"{100.0 * (LEAST - 1.0):+g}% to {100.0 * (MOST - 1.0):+g}%."
                )

    def by(self, amount: float) -> FlightChange:
        """A part of it, 0 … 1."""
        return FlightChange(1.0 + amount * (self.height - 1.0), 1.0 + amount * (self.length - 1.0))

    @classmethod
    def parse(cls, text: str) -> FlightChange:
        """Read it as a user types it: "height +20%, length -10%".

        Raises:
            InvalidValue: naming the part that cannot be read.
        """
        found: dict[str, float] = {}
        for part in text.split(","):
            match = PART.fullmatch(part.strip())
            if match is None or match[1].lower() in found:
                raise InvalidValue(
                    f"Flight {part.strip()!r} cannot be read. Write it as 'height +20%' or 'height +20%, length -10%'."
                )
            found[match[1].lower()] = 1.0 + float(match[2].replace(" ", "")) / 100.0
        return cls(**found)


def directed(
    motion: Motion, character: Character, change: FlightChange, gravity: float
) -> tuple[Motion, list[dict[str, Any]]]:
    """The clip with each flight on the path that was asked for, and what was asked of each.

    A path that rises by h above its take-off leaves the ground with v = √(2 g h), and comes down by d after
    (v + √(v² − 2 g d)) / g. Flights take whole frames. What follows a longer flight moves along with its landing.

    Raises:
        InvalidValue: if there is no flight, or one that is to be lower than its landing.
    """
    figure = Figure.of(motion, character)
    spans = find_flights(motion, figure)
    if not spans:
        raise InvalidValue("The clip has no flight that could be changed; leave --flight out.")
    asked: list[dict[str, Any]] = []
    for first, last in reversed(spans):  # from the last on, so that frames before keep their numbers
        com = figure.com(motion)
        start, end, seconds = com[first], com[last], float(motion.times[last] - motion.times[first])
        rise = max(float(com[first : last + 1, 2].max() - start[2]), 0.0)
        wanted = _path(start, end, rise, change, gravity)
        edited = ballistic(
            motion,
            character,
            flights=[(first, last)],
            gravity=gravity,
            target=PathTarget(end=wanted[0], duration=wanted[1]),
            verify=False,
        )
        added = edited.motion.duration - motion.duration
        motion = edited.motion
        for later in asked:
            later["start_s"] += added
        asked.insert(
            0,
            {
                "start_s": edited.report["after"]["flights"][0]["start_s"],
                "duration_before_s": seconds,
                "duration_s": wanted[1],
                "rise_before_m": rise,
                "rise_m": wanted[2],
                "length_before_m": float(np.linalg.norm((end - start)[:2])),
                "length_m": float(np.linalg.norm((wanted[0] - start)[:2])),
            },
        )
    return motion, asked


def reached(asked: list[dict[str, Any]], seen: Analysis) -> list[dict[str, Any]]:
    """What was asked of each flight, and what it does: rise [m], way [m] and the gravity it falls with [m/s²]."""
    found: list[dict[str, Any]] = []
    for wanted in asked:
        flight = min(seen.flights, key=lambda f: abs(f.start_s - wanted["start_s"]), default=None)
        after: dict[str, float] = {}
        if flight is not None:
            way = flight.velocity * (flight.end_s - flight.start_s)
            after = {
                "rise_after_m": float(max(flight.velocity[2], 0.0) ** 2 / (2.0 * flight.gravity)),
                "length_after_m": float(np.linalg.norm(way[:2])),
                "gravity_after_m_s2": flight.gravity,
            }
        found.append(wanted | after)
    return found


def flight_notes(flights: list[dict[str, Any]]) -> list[str]:
    """The same in words."""
    return [
        f"Flight at {f['start_s']:.2f} s: rise {100.0 * f['rise_before_m']:.1f} → {100.0 * f['rise_after_m']:.1f} cm "
        f"(asked {100.0 * f['rise_m']:.1f}), way {f['length_before_m']:.2f} → {f['length_after_m']:.2f} m "
        f"(asked {f['length_m']:.2f}); it falls with {f['gravity_after_m_s2']:.2f} m/s²."
        + (" This is not the flight that was asked for." if _misses(f) else "")
        for f in flights
        if "rise_after_m" in f
    ]


def _misses(f: dict[str, Any]) -> bool:
    """Whether a flight comes less than halfway from what it was to what was asked, in height or length."""
    for what in ("rise", "length"):
        before, asked, after = (f[f"{what}_{when}m"] for when in ("before_", "", "after_"))
        if abs(after - asked) > max(0.5 * abs(asked - before), NEAR):
            return True
    return False


def _path(start: Array, end: Array, rise: float, change: FlightChange, gravity: float) -> tuple[Array, float, float]:
    """Landing [m], duration [s] and rise above the take-off [m] that are asked for."""
    drop, higher = float(end[2] - start[2]), change.height * rise
    if higher < max(drop, 0.0) + 1e-3:
        raise InvalidValue(
            f"A flight that lands {100.0 * drop:.0f} cm above its take-off cannot rise by {100.0 * higher:.0f} cm. "
            "Ask for more height."
        )
    leaving = math.sqrt(2.0 * gravity * higher)
    lasting = (leaving + math.sqrt(leaving**2 - 2.0 * gravity * drop)) / gravity
    landing = start + change.length * (end - start)
    landing[2] = end[2]
    return landing, lasting, higher
