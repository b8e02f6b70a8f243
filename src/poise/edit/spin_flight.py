"""A flight whose angular momentum is to be constant: what is wished, what is measured, and what an edit makes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poise.analysis.angular_momentum import Tumble, momentum_between, off_steady
from poise.body.character import Character
from poise.core.errors import InvalidValue, PoiseError
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.edit.flight import Span

TAKEOFF = 0.05
"""The momentum at take-off is the mean over this time after it [s]."""
TINY = 0.05
"""A mean momentum below this share of its natural scale is no divisor [1]."""


@dataclass(frozen=True)
class SpinFlight:
    """One flight.

    Attributes:
        span: First and last frame.
        tumble: Its bodies, as they move before the edit.
        wish: What its angular momentum is wished to be [kg m²/s], shape (3,).
    """

    span: Span
    tumble: Tumble
    wish: Array


@dataclass(frozen=True)
class Spun:
    """What came of an edit.

    Attributes:
        motion: The result.
        kept: What was promised, and its error.
        notes: What to say of it.
        targets: For each flight the momentum that each of its intervals must then have (n − 1, 3), where that is exact.
    """

    motion: Motion
    kept: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    targets: tuple[Array, ...] = ()


def natural_scale(character: Character) -> float:
    """What momenta are held against: m √(g h) h for legs of length h [kg m²/s]."""
    return character.mass * math.sqrt(GRAVITY * character.leg_length) * character.leg_length


def checked_wish(momentum: str | Array) -> str | Array:
    """The wish itself: "mean", "takeoff", or a vector of shape (3,).

    Raises:
        InvalidValue: if it is something else.
    """
    if isinstance(momentum, str):
        if momentum not in ("mean", "takeoff"):
            raise InvalidValue(f"momentum is {momentum!r}; give mean, takeoff or three numbers in kg m²/s.")
        return momentum
    vector = np.asarray(momentum, dtype=np.float64)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InvalidValue(f"momentum is {np.asarray(momentum).tolist()}; give mean, takeoff or three finite numbers.")
    return vector


def spin_flight(motion: Motion, character: Character, span: Span, momentum: str | Array) -> SpinFlight:
    """A flight of a motion, with its wish as a vector."""
    tumble = Tumble.of(motion, character, *span)
    if not isinstance(momentum, str):
        return SpinFlight(span, tumble, momentum)
    seen, steps = momentum_between(tumble), tumble.steps
    if momentum == "takeoff":
        early = np.cumsum(steps) <= TAKEOFF + 1e-9
        early[0] = True
        seen, steps = seen[early], steps[early]
    return SpinFlight(span, tumble, steps @ seen / steps.sum())


def spread(tumble: Tumble) -> float:
    """How far the momentum goes from its mean at most [kg m²/s]."""
    seen, steps = momentum_between(tumble), tumble.steps
    return float(np.linalg.norm(seen - steps @ seen / steps.sum(), axis=1).max())


def turn_off_steady(tumble: Tumble) -> float | None:
    """How far the body is at most from where steady spin would have it [rad]; None if no turn makes it steady."""
    try:
        return float(np.linalg.norm(off_steady(tumble), axis=1).max())
    except PoiseError:
        return None


def flight_measures(
    motion: Motion, flight: SpinFlight, tumble: Tumble, scale: float, target: Array | None = None
) -> dict[str, Any]:
    """What the report says of one flight, before or after.

    Args:
        motion: Whose times are told.
        flight: The flight as it was.
        tumble: Its bodies, before or after.
        scale: Natural scale of its momentum [kg m²/s].
        target: What each interval was to have (n − 1, 3), where that is exact.
    """
    seen, steps = momentum_between(tumble), tumble.steps
    mean = steps @ seen / steps.sum()
    size = float(np.linalg.norm(mean))
    turn = turn_off_steady(tumble)
    out: dict[str, Any] = {
        "frames": list(flight.span),
        "start_s": float(motion.times[flight.span[0]]),
        "end_s": float(motion.times[flight.span[1]]),
        "turn_off_steady_max_deg": None if turn is None else math.degrees(turn),
        "angular_momentum_mean_kg_m2_s": mean,
        "angular_momentum_spread_kg_m2_s": spread(tumble),
        "angular_momentum_error": float(np.abs(seen - mean).max()) / (size if size >= TINY * scale else scale),
        "wish_error_max_kg_m2_s": float(np.linalg.norm(seen - flight.wish, axis=1).max()),
    }
    if target is not None:
        out["solver_error_max_kg_m2_s"] = float(np.abs(seen - target).max())
    return out
