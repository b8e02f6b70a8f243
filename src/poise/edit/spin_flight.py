"""A flight whose angular momentum is to be constant: target, measures, and the turn of the figure that does it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poise.analysis.angular_momentum import Tumble, momentum_between, off_steady, turns_for
from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import InvalidValue, PoiseError
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.edit.budget import Scope
from poise.edit.flight import Span, hold_feet, windows
from poise.edit.legs import turn_root

TAKEOFF = 0.05
"""The momentum at take-off is the mean over this time after it [s]."""
TINY = 0.05
"""A mean momentum below this share of its natural scale is not a divisor [1]."""


@dataclass(frozen=True)
class SpinFlight:
    """One flight.

    Attributes:
        span: First and last frame.
        tumble: Its bodies, as they move before the edit.
        asked: Target of its angular momentum [kg m²/s], shape (3,).
    """

    span: Span
    tumble: Tumble
    asked: Array


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


def checked_momentum(momentum: str | Array) -> str | Array:
    """The target as given: "mean", "takeoff", or a vector [kg m²/s], shape (3,).

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
    """A flight of a motion, with its target as a vector."""
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
        motion: Whose times are reported.
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
        "momentum_error_max_kg_m2_s": float(np.linalg.norm(seen - flight.asked, axis=1).max()),
    }
    if target is not None:
        out["solver_error_max_kg_m2_s"] = float(np.abs(seen - target).max())
    return out


FASTEST_FADE = 2.0
"""A turn that fades beside a flight goes on by this many times itself over the fade at most [1]: it then overshoots by
less than a third of itself, where the last two frames of a fast flip would have it double."""
SEEN_TURN = 1.0
"""A landing that is turned by more than this is reported [deg]."""


def spin_by_root(
    motion: Motion,
    character: Character,
    root: int,
    com: Array,
    flights: Sequence[SpinFlight],
    *,
    priority: Sequence[int],
    damping: float,
    scope: Scope,
) -> Spun:
    """Flights turned as a whole, frame by frame; no joint angle changes in flight, and the center of mass stays.

    Args:
        motion: F frames.
        character: Fitted to it.
        root: The joint that carries it.
        com: Center of mass of every frame [m], shape (F, 3).
        flights: The flights, each with its target.
        priority: Frames whose pose must survive; the first of each flight where none is given.
        damping: γ of the Newton steps, 0 < γ ≤ 1.
        scope: Amount, interval and blend.

    Raises:
        PoiseError: if no turns of the root give the momentum asked for.
    """
    spans = tuple(f.span for f in flights)
    beside = windows(motion, spans, scope)
    turn = np.tile(rotations.IDENTITY, (motion.frame_count, 1))
    targets: list[Array] = []
    notes: list[str] = []
    landing = 0.0
    for flight, window in zip(flights, beside):
        first, last = flight.span
        fixed = tuple(sorted({f - first for f in priority if first <= f <= last})) or (0,)
        turns, target, _ = turns_for(flight.tumble, flight.asked, fixed, damping=damping)
        targets.append(target)
        if len(fixed) > 1:
            notes.append(_joined(flight.span, fixed, target))
        vectors = scope.amount * _continuous(rotations.to_rotation_vector(turns))
        landing = max(landing, math.degrees(float(np.linalg.norm(vectors[-1]))))
        faded = _faded(motion.times, vectors, flight.span, window)
        turn[window[0] : window[1] + 1] = rotations.from_rotation_vector(faded)
    turned = turn_root(motion, root, turn, com)
    result, held = hold_feet(motion, turned, character, root, com, spans, beside)
    kept = {"com_path_beside_max_m": held.com}
    if len(held.frames):
        kept |= {"feet_error_max_m": held.feet, "feet_error_settled_max_m": held.settled}
    if landing > SEEN_TURN:
        notes.append(_landed(landing, scope.blend, is_held=bool(len(held.frames))))
    return Spun(result, kept, tuple(notes), tuple(targets))


def _joined(span: Span, fixed: tuple[int, ...], target: Array) -> str:
    first, last = span[0] + fixed[0], span[0] + fixed[-1]
    words = ", ".join(f"{x:.2f}" for x in target[fixed[0]])
    return (
        f"Between frames {first} and {last} both poses are kept, so the momentum is the constant that joins them: "
        f"{words} kg m²/s{' at first' if len(fixed) > 2 else ''}."
    )


def _landed(degrees: float, blend: float, *, is_held: bool) -> str:
    feet = " while the legs hold the feet that touch" if is_held else ""
    return (
        f"The pose at landing is turned by up to {degrees:.1f}°, which fades in {blend:g} s{feet}; a priority frame at "
        "the landing keeps it."
    )


def _continuous(vectors: Array) -> Array:
    """Rotation vectors (n, 3) without jumps of a whole turn."""
    out = vectors.copy()
    for k in range(1, len(out)):
        angle = float(np.linalg.norm(out[k]))
        if angle > 1e-9 and float(np.linalg.norm(out[k] - out[k - 1])) > math.pi:
            axis = out[k] / angle
            out[k] -= 2.0 * math.pi * round(float((out[k] - out[k - 1]) @ axis) / (2.0 * math.pi)) * axis
    return out


def _faded(times: Array, vectors: Array, span: Span, window: Span) -> Array:
    """Rotation vectors of a flight's frames (n, 3), led to zero at both ends of its window with value and slope.

    The slope of a flight of few frames says little: more than FASTEST_FADE of it is not followed.
    """
    out = np.zeros((window[1] - window[0] + 1, 3))
    a, b = span[0] - window[0], span[1] - window[0]
    out[a : b + 1] = vectors
    for edge, far, inner in ((a, 0, 1), (b, len(out) - 1, -1)):
        if edge == far or not np.abs(vectors[0 if edge == a else -1]).max() > 1e-12:
            continue
        clock = times[window[0] : window[1] + 1]
        value = out[edge]
        length = clock[edge] - clock[far]
        over = length * (out[edge + inner] - value) / (clock[edge + inner] - clock[edge])
        over *= min(1.0, FASTEST_FADE * float(np.linalg.norm(value)) / max(float(np.linalg.norm(over)), 1e-12))
        part = slice(far, edge) if far < edge else slice(edge + 1, far + 1)
        x = ((clock[part] - clock[far]) / length)[:, None]
        out[part] = x**3 * (10.0 + x * (6.0 * x - 15.0)) * value + x**3 * (-4.0 + x * (7.0 - 3.0 * x)) * over
    return out
