"""Flights as a director asks for them: higher, longer, with more of a turn, of a heavier body, under another gravity.

A repair then makes take-off and landing follow.

Source: Popović 2000, as the lecture behind [Hodgins1995]_ shows it: change the physics, keep the style. Deviates:
flights get their new paths in closed form, and the whole clip is then repaired with the least change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poise.analysis.momentum import center_of_mass
from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.edit.ballistic import PathTarget, ballistic
from poise.edit.budget import Scope
from poise.edit.flight import Figure, Span, choose_flights
from poise.edit.legs import turn_root
from poise.edit.paths import fit_path
from poise.edit.spin import spin

PART = re.compile(
    r"(?:(height|length|mass)\s*([+-]\s*\d+(?:\.\d+)?)\s*%)|(?:(turn)\s*([+-]\s*\d+(?:\.\d+)?)\s*(?:deg|°))",
    re.IGNORECASE,
)
NEAR = 0.02
"""A rise or a way that is so near to what was asked is reached, for a leg of 0.82 m [m]."""
LEAST, MOST = 0.2, 3.0
"""Shares of height, length and mass that can be asked for [1]."""
TURNS = 4.0 * math.pi
"""Largest turn that can be added to a flight [rad]."""
CROUCH = 1.0
"""A take-off pushes from the lowest point of the center of mass in this time before it [s]."""


@dataclass(frozen=True)
class FlightChange:
    """How flights differ from those of the clip.

    Example:
        >>> change = poise.edit.FlightChange.parse("height +20%, turn +180deg")
        >>> hop = poise.load(poise.sample_path("hover_hop")).cut(2.0, 4.3)
        >>> edited = poise.edit.repair(hop, jump=change, trust_time=True)

    Attributes:
        height: New rise of the center of mass above the take-off, over the old one [1].
        length: New way over the ground, over the old one [1].
        turn: Turn about the vertical that is added between take-off and landing, to the left [rad].
        mass: New mass of the body, over the old one [1]. The legs push as hard and as far as before, so a heavier body
            rises less and flies less far; `height` and `length` come on top.
    """

    height: float = 1.0
    length: float = 1.0
    turn: float = 0.0
    mass: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("height", self.height), ("length", self.length), ("mass", self.mass)):
            if not LEAST <= value <= MOST:
                raise InvalidValue(
                    f"The {name} of a flight cannot change by {100.0 * (value - 1.0):+.4g}%. Give a change from "
                    f"{100.0 * (LEAST - 1.0):+g}% to {100.0 * (MOST - 1.0):+g}%."
                )
        if not abs(self.turn) <= TURNS:
            raise InvalidValue(
                f"A flight cannot turn by {math.degrees(self.turn):+.4g}deg more. Give a turn from "
                f"{-math.degrees(TURNS):+g}deg to {math.degrees(TURNS):+g}deg."
            )

    def by(self, amount: float) -> FlightChange:
        """A part of it, 0 … 1."""
        height, length, mass = (1.0 + amount * (share - 1.0) for share in (self.height, self.length, self.mass))
        return FlightChange(height, length, amount * self.turn, mass)

    @classmethod
    def parse(cls, text: str) -> FlightChange:
        """Read it as a user types it: "height +20%, length -10%, turn +180deg, mass +30%".

        Raises:
            InvalidValue: naming the part that cannot be read.
        """
        found: dict[str, float] = {}
        for part in text.split(","):
            match = PART.fullmatch(part.strip())
            name = "" if match is None else (match[1] or match[3]).lower()
            if match is None or name in found:
                raise InvalidValue(
                    f"The change {part.strip()!r} of a flight cannot be read. Write it as 'height +20%', 'length "
                    "-10%', 'turn +180deg' or 'mass +30%', each once, with commas between."
                )
            number = float((match[2] or match[4]).replace(" ", ""))
            found[name] = math.radians(number) if name == "turn" else 1.0 + number / 100.0
        return cls(**found)


def directed(
    motion: Motion, character: Character, change: FlightChange, gravity: float, flights: str | Sequence[Span] = "all"
) -> tuple[Motion, list[dict[str, Any]]]:
    """The clip with each flight on the path that was asked for, and what was asked of each.

    A path that rises by h above its take-off leaves the ground with v = √(2 g h), and comes down by d after
    (v + √(v² − 2 g d)) / g. Flights take whole frames. What follows a longer flight moves along with its landing.
    Legs that push over s with the same work lift a body of k times the mass by h' = (h + s) / k − s. A turn makes all
    that follows the flight turn with it; in flight the angular momentum is then made constant.

    Raises:
        InvalidValue: if there is no flight, one that is to be lower than its landing, or a body too heavy for its legs.
    """
    figure = Figure.of(motion, character)
    spans = choose_flights(motion, figure, flights, Scope())
    asked: list[dict[str, Any]] = []
    for first, last in reversed(spans):  # from the last on, so that frames before keep their numbers
        com = figure.com(motion)
        start, end, seconds = com[first], com[last], float(motion.times[last] - motion.times[first])
        rise = max(float(com[first : last + 1, 2].max() - start[2]), 0.0)
        since = motion.times[: first + 1] >= motion.times[first] - CROUCH
        push = float(start[2] - com[: first + 1][since, 2].min())
        wanted = _path(start, end, rise, _of_mass(change, rise, push), gravity)
        edited = ballistic(
            motion,
            character,
            flights=[(first, last)],
            gravity=gravity,
            target=PathTarget(end=wanted[0], duration=wanted[1]),
            verify=False,
        )
        added = edited.motion.frame_count - motion.frame_count
        motion = edited.motion
        span: Span = tuple(edited.report["after"]["flights"][0]["frames"])
        if change.turn:
            motion = _turned(motion, character, figure.root, span, change.turn)
        for later in asked:
            later["frames"] = [frame + added for frame in later["frames"]]
            later["start_s"] = float(motion.times[later["frames"][0]])
        asked.insert(
            0,
            {
                "frames": list(span),
                "start_s": float(motion.times[span[0]]),
                "duration_before_s": seconds,
                "duration_s": wanted[1],
                "rise_before_m": rise,
                "rise_m": wanted[2],
                "length_before_m": float(np.linalg.norm((end - start)[:2])),
                "length_m": float(np.linalg.norm((wanted[0] - start)[:2])),
                "turn_deg": math.degrees(change.turn),
            },
        )
    return motion, asked


def _of_mass(change: FlightChange, rise: float, push: float) -> FlightChange:
    """What a heavier or lighter body makes of it: its height and its length change with the rise that is left."""
    if change.mass == 1.0 or rise <= 0.0:
        return change
    share = ((rise + push) / change.mass - push) / rise
    if share < LEAST:
        most = (rise + push) / (LEAST * rise + push) - 1.0
        raise InvalidValue(
            f"With {100.0 * (change.mass - 1.0):+.3g}% of mass, legs that push over {100.0 * push:.0f} cm would hardly "
            f"leave the ground (the flight rises by {100.0 * rise:.0f} cm). Ask for at most {100.0 * most:+.3g}%."
        )
    return replace(change, height=min(share * change.height, MOST), length=min(share * change.length, MOST))


def _turned(motion: Motion, character: Character, root: int, span: Span, angle: float) -> Motion:
    """The motion with a turn about the vertical added over a flight and kept after it; its spin is made steady."""
    first, last = span
    com = center_of_mass(motion, character)
    part = np.clip((motion.times - motion.times[first]) / (motion.times[last] - motion.times[first]), 0.0, 1.0)
    center = com.copy()
    center[last:] = com[last]
    turns = rotations.from_rotation_vector((angle * part)[:, None] * np.array([0.0, 0.0, 1.0]))
    return spin(
        turn_root(motion, root, turns, center), character, flights=[span], priority=(first, last), verify=False
    ).motion


def reached(asked: list[dict[str, Any]], motion: Motion, character: Character) -> list[dict[str, Any]]:
    """What was asked of each flight, and what it does: rise [m], way [m] and the gravity it falls with [m/s²]."""
    com, found = center_of_mass(motion, character), []
    for wanted in asked:
        first, last = wanted["frames"]
        flown = com[first : last + 1]
        after = {
            "rise_after_m": float(flown[:, 2].max() - flown[0, 2]),
            "length_after_m": float(np.linalg.norm((flown[-1] - flown[0])[:2])),
            "gravity_after_m_s2": -float(fit_path(motion.times[first : last + 1], flown).acceleration[2]),
        }
        found.append(wanted | after)
    return found


def flight_notes(flights: list[dict[str, Any]], near: float = NEAR) -> list[str]:
    """The same in words; what is so near to what was asked is reached [m]."""
    return [
        f"Flight at {f['start_s']:.2f} s: rise {100.0 * f['rise_before_m']:.1f} → {100.0 * f['rise_after_m']:.1f} cm "
        f"(asked {100.0 * f['rise_m']:.1f}), way {f['length_before_m']:.2f} → {f['length_after_m']:.2f} m "
        f"(asked {f['length_m']:.2f}); it falls with {f['gravity_after_m_s2']:.2f} m/s²."
        + (" This is not the flight that was asked for." if _misses(f, near) else "")
        for f in flights
    ]


def _misses(f: dict[str, Any], near: float) -> bool:
    """Whether a flight comes less than halfway from what it was to what was asked, in height or length."""
    for what in ("rise", "length"):
        before, asked, after = (f[f"{what}_{when}m"] for when in ("before_", "", "after_"))
        if abs(after - asked) > max(0.5 * abs(asked - before), near):
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
