"""Constant angular momentum in flight: by turning the figure as a whole, or by swinging its limbs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.analysis.bodies import center_of_mass
from poise.character.character import Character
from poise.edit.angular_momentum import Tumble, momentum_between, turns_for
from poise.edit.borders import hold_feet
from poise.edit.flight import Figure, Span, choose_flights, windows
from poise.edit.report import Budget, Changes, Edited, report_of
from poise.edit.root import move_root, turn_root
from poise.edit.scope import Scope
from poise.edit.spin_pose import swing
from poise.errors import InvalidValue
from poise.motion import Motion
from poise.spatial import rotations
from poise.units import GRAVITY

Array = npt.NDArray[np.float64]

TAKEOFF = 0.05
"""The momentum at take-off is the mean over this time after it [s]."""


def spin(
    motion: Motion,
    character: Character | None = None,
    *,
    flights: str | Sequence[Span] = "all",
    momentum: str | Array = "mean",
    by: str = "root",
    priority: Sequence[int] = (),
    limbs: Sequence[str] = (),
    damping: float = 1.0,
    scope: Scope | None = None,
    budget: Budget | None = None,
) -> Edited:
    """Give each flight a constant angular momentum about its center of mass; its path stays exactly as it is.

    By the root, the figure turns as a whole in every frame and no joint angle changes in flight. The first frame of a
    flight keeps its pose, or the priority frames do; between two frames that keep it, the momentum is the constant
    that leads from one to the other. What the last frame is turned by fades after the flight, while the legs keep
    feet that touch there where they were.

    By the pose, limbs swing in the least-squares sense and within the joint limits, the trunk keeps its orientation,
    and the first and last frame of the flight and the priority frames keep their poses.

    Args:
        motion: F frames.
        character: Fitted to the motion if not given.
        flights: "all", or first and last frame of each.
        momentum: "mean" of the flight, "takeoff", or the vector [kg m²/s], shape (3,), world, Z up.
        by: "root" or "pose".
        priority: Frames whose pose must survive.
        limbs: With "pose", names of the limbs that may swing; arms and tails if empty (legs where there are none).
        damping: γ of the Newton steps, 0 < γ ≤ 1.
        scope: Amount, interval and blend.
        budget: What may change at most.

    Raises:
        InvalidValue: if there is no flight, or an argument makes no sense.
        PoiseError: if no turns of the root give the wished momentum.
        BudgetExceeded: if more would change than the budget allows.

    Source: [ShapiroLee2011]_ "The Angular-Momentum Tool"; by the pose is what the paper leaves open.
    """
    scope = scope or Scope()
    if by not in ("root", "pose"):
        raise InvalidValue(f"by is {by!r}; give 'root' or 'pose'.")
    if not 0.0 < damping <= 1.0:
        raise InvalidValue(f"damping is {damping}; give a number above 0 and up to 1.")
    wished = _wish(momentum)
    figure = Figure.of(motion, character)
    body = figure.character
    if body is None:
        raise InvalidValue("An object without a shape has no angular momentum; give it a character: poise character.")
    spans = choose_flights(motion, figure, flights, scope)
    _require_priority(priority, spans)
    com = center_of_mass(motion, body)
    tumbles = [Tumble.of(motion, body, *span) for span in spans]
    wishes = [_value(wished, tumble) for tumble in tumbles]
    notes: list[str] = []
    kept: dict[str, Any] = {}
    targets: list[Array | None] = [None] * len(spans)
    if scope.amount == 0.0:
        result = motion
    elif by == "root":
        beside = windows(motion, spans, scope)
        turn, targets, joined = _turns(motion, spans, beside, tumbles, wishes, priority, damping, scope.amount)
        notes += joined
        result = turn_root(motion, figure.root, turn, com)
        result, held = hold_feet(motion, result, body, figure.root, com, spans, beside)
        kept |= {"com_path_beside_max_m": held.com}
        if len(held.frames):
            kept |= {"feet_error_max_m": held.feet, "feet_error_settled_max_m": held.settled}
    else:
        result = swing(motion, body, figure.root, spans, wishes, tuple(priority), tuple(limbs), com)
        result = _part(motion, body, figure.root, result, scope.amount, com)
    final = [Tumble.of(result, body, *span) for span in spans]
    changes = Changes.between(motion, result, figure.root)
    moved = center_of_mass(result, body) - com
    flying = np.concatenate([np.arange(a, b + 1) for a, b in spans])
    kept["com_path_error_max_m"] = float(np.linalg.norm(moved[flying], axis=1).max())
    posed = list(priority) or [s[0] for s in spans]
    kept["priority_angle_max_deg"] = math.degrees(float(changes.angles[posed].max()))
    if by == "root":
        others = np.delete(changes.angles[flying], figure.root, axis=1)
        kept["joint_angle_in_flight_max_deg"] = math.degrees(float(others.max(initial=0.0)))
        ends = max(math.degrees(float(changes.angles[s[1], figure.root])) for s in spans)
        if ends > 1.0:
            notes.append(
                f"The pose at landing is turned by up to {ends:.1f}°, which fades in {scope.blend:g} s while the legs "
                "hold the feet that touch; a priority frame at the landing keeps it."
            )
    elif scope.amount == 1.0:
        notes += [text for a, b, span in zip(tumbles, final, spans) if (text := _left(a, b, span))]
    scale = body.mass * math.sqrt(GRAVITY * body.leg_length) * body.leg_length
    report = report_of(
        "spin", motion, result, changes,
        settings={
            "momentum": momentum, "by": by, "priority": list(priority), "limbs": list(limbs), "amount": scope.amount,
            "blend_s": scope.blend, "interval": scope.interval, "scale_kg_m2_s": scale,
        },
        before={"flights": [_measures(motion, s, t, w, scale, None) for s, t, w in zip(spans, tumbles, wishes)]},
        after={
            "flights": [
                _measures(motion, s, t, w, scale, g if scope.amount == 1.0 else None)
                for s, t, w, g in zip(spans, final, wishes, targets)
            ]
        },
        kept=kept, budget=budget, amount=scope.amount, notes=tuple(notes),
    )  # fmt: skip
    return Edited(result, report)


def _turns(
    motion: Motion,
    spans: tuple[Span, ...],
    beside: tuple[Span, ...],
    tumbles: list[Tumble],
    wishes: list[Array],
    priority: Sequence[int],
    damping: float,
    amount: float,
) -> tuple[Array, list[Array | None], list[str]]:
    """What each frame is turned by as a whole (F, 4), the momentum that each flight then has, and what to say of it."""
    turn = np.tile(rotations.IDENTITY, (motion.frame_count, 1))
    targets: list[Array | None] = []
    notes: list[str] = []
    for span, window, tumble, wish in zip(spans, beside, tumbles, wishes):
        fixed = tuple(sorted({f - span[0] for f in priority if span[0] <= f <= span[1]})) or (0,)
        turns, target, _ = turns_for(tumble, wish, fixed, damping=damping)
        targets.append(target)
        if len(fixed) > 1:
            notes.append(_joined(span, fixed, target))
        vectors = amount * _continuous(rotations.to_rotation_vector(turns))
        turn[window[0] : window[1] + 1] = rotations.from_rotation_vector(_faded(motion.times, vectors, span, window))
    return turn, targets, notes


def _wish(momentum: str | Array) -> str | Array:
    if isinstance(momentum, str):
        if momentum not in ("mean", "takeoff"):
            raise InvalidValue(f"momentum is {momentum!r}; give mean, takeoff or three numbers in kg m²/s.")
        return momentum
    vector = np.asarray(momentum, dtype=np.float64)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InvalidValue(f"momentum is {np.asarray(momentum).tolist()}; give mean, takeoff or three finite numbers.")
    return vector


def _require_priority(priority: Sequence[int], spans: tuple[Span, ...]) -> None:
    for frame in priority:
        if not any(a <= frame <= b for a, b in spans):
            listed = ", ".join(f"{a}:{b}" for a, b in spans)
            raise InvalidValue(f"Priority frame {frame} is in no flight that is edited: {listed}.")


def _value(wished: str | Array, tumble: Tumble) -> Array:
    """The constant that the momentum of a flight is wished to be [kg m²/s], shape (3,)."""
    if not isinstance(wished, str):
        return wished
    seen, steps = momentum_between(tumble), tumble.steps
    if wished == "takeoff":
        early = np.cumsum(steps) <= TAKEOFF + 1e-9
        early[0] = True
        seen, steps = seen[early], steps[early]
    return steps @ seen / steps.sum()


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
    """Rotation vectors of a flight's frames (n, 3), led to zero at both ends of its window with value and slope."""
    out = np.zeros((window[1] - window[0] + 1, 3))
    a, b = span[0] - window[0], span[1] - window[0]
    out[a : b + 1] = vectors
    for edge, far, inner in ((a, 0, 1), (b, len(out) - 1, -1)):
        if edge == far or not np.abs(vectors[0 if edge == a else -1]).max() > 1e-12:
            continue
        clock = times[window[0] : window[1] + 1]
        value = out[edge]
        slope = (out[edge + inner] - value) / (clock[edge + inner] - clock[edge])
        length = clock[edge] - clock[far]
        part = slice(far, edge) if far < edge else slice(edge + 1, far + 1)
        x = ((clock[part] - clock[far]) / length)[:, None]
        out[part] = x**3 * (10.0 + x * (6.0 * x - 15.0)) * value + length * x**3 * (-4.0 + x * (7.0 - 3.0 * x)) * slope
    return out


def _part(motion: Motion, body: Character, root: int, whole: Motion, amount: float, com: Array) -> Motion:
    """A part of a change of pose, with the center of mass on its path."""
    if amount == 1.0:
        return whole
    difference = rotations.to_rotation_vector(
        rotations.multiply(rotations.conjugate(motion.rotations), whole.rotations)
    )
    turned = rotations.multiply(motion.rotations, rotations.from_rotation_vector(amount * difference))
    same = np.abs(difference).max(axis=-1, keepdims=True) < 1e-12
    posed = replace(motion, rotations=np.where(same, motion.rotations, turned))
    return move_root(posed, root, com - center_of_mass(posed, body))


def _joined(span: Span, fixed: tuple[int, ...], target: Array) -> str:
    first, last = span[0] + fixed[0], span[0] + fixed[-1]
    words = ", ".join(f"{x:.2f}" for x in target[fixed[0]])
    return (
        f"Between frames {first} and {last} both poses are kept, so the momentum is the constant that joins them: "
        f"{words} kg m²/s{' at first' if len(fixed) > 2 else ''}."
    )


def _left(before: Tumble, after: Tumble, span: Span) -> str:
    """What to say where the limbs, within their limits, cannot take most of the unevenness."""

    def spread(tumble: Tumble) -> float:
        seen, steps = momentum_between(tumble), tumble.steps
        return float(np.linalg.norm(seen - steps @ seen / steps.sum(), axis=1).max())

    first, last = spread(before), spread(after)
    if last <= 0.5 * first:
        return ""
    taken = 100.0 * max(0.0, 1.0 - last / first)
    return (
        f"Flight {span[0]}:{span[1]}: within their limits the limbs take only {taken:.0f} % of the unevenness; name "
        "more --limbs, or turn the figure as a whole (--by root)."
    )


def _measures(
    motion: Motion, span: Span, tumble: Tumble, wish: Array, scale: float, target: Array | None
) -> dict[str, Any]:
    seen, steps = momentum_between(tumble), tumble.steps
    mean = steps @ seen / steps.sum()
    size = float(np.linalg.norm(mean))
    by = size if size >= 0.05 * scale else scale
    out: dict[str, Any] = {
        "frames": list(span),
        "start_s": float(motion.times[span[0]]),
        "end_s": float(motion.times[span[1]]),
        "angular_momentum_mean_kg_m2_s": mean,
        "angular_momentum_spread_kg_m2_s": float(np.linalg.norm(seen - mean, axis=1).max()),
        "angular_momentum_error": float(np.abs(seen - mean).max()) / by,
        "wish_error_max_kg_m2_s": float(np.linalg.norm(seen - wish, axis=1).max()),
    }
    if target is not None:
        out["solver_error_max_kg_m2_s"] = float(np.abs(seen - target).max())
    return out
