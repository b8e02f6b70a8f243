"""Angular momentum by the pose: limbs swing so that a flight keeps it, as windmilling arms do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poise.analysis.angular_momentum import Tumble, momentum_between
from poise.analysis.bodies import center_of_mass
from poise.body.character import Character, Limits
from poise.body.limits import clamp_rotation, limit_angles
from poise.body.posing import hinge_angle
from poise.core import rotations
from poise.core.errors import InvalidValue, UnknownName
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.edit.flight import Span
from poise.edit.root import move_root
from poise.edit.spin_flight import SpinFlight, Spun, natural_scale, spread, turn_off_steady
from poise.edit.swing_system import SwingAxis, banded_times, gauss_newton, swing_price

ITERATIONS = 25
"""Gauss-Newton steps at most."""
LONGEST_STEP = 0.7
"""How far a joint swings in one of them at most [rad]."""
LEAST_PART = 0.01
"""A step that has been shortened to less than this part of itself leads nowhere [1]."""
SETTLED = 1e-6
"""A step that lowers the cost by less than this part of it is the last [1]."""
WORTH, MOST = 0.25, 0.5
"""A swing that takes less of the unevenness than the first is not made; less than the second, it is told [1]."""
STEADY = 1.5
"""A flight whose body is this near to steady spin is left as it is [deg]: nobody sees that."""
DEAR = 8.0
"""A swing that turns a limb by more than this for each degree that the whole body comes nearer to steady is not made
[1]; of people, arms have about a seventh of the inertia of the rest."""
NARROW = 0.35
"""A joint that swings sideways by less than this both ways is a fold: it only bends [rad]."""


def spin_by_pose(
    motion: Motion,
    character: Character,
    root: int,
    com: Array,
    flights: Sequence[SpinFlight],
    *,
    priority: tuple[int, ...],
    limbs: tuple[str, ...],
    amount: float,
) -> Spun:
    """The motion with limbs swung in each flight so that the angular momentum comes nearest to its wish.

    Minimizes Σ ‖L − L*‖² / scale² plus small prices on the swing and on bending its course, by Gauss-Newton with a
    banded system over all frames of a flight; limits are kept by clamping, and the center of mass is put back on
    its path. A swing that takes less than WORTH of the unevenness is not made.

    Args:
        motion: F frames.
        character: Fitted to it.
        root: The joint that carries it.
        com: Center of mass of every frame [m], shape (F, 3).
        flights: What is wished where.
        priority: Frames that keep their poses, besides the first and last of each flight.
        limbs: Names of those that swing; arms and tails if empty (legs where there are none).
        amount: Part of each swing that is made.

    Raises:
        UnknownName: if a limb is none of the character's.
        InvalidValue: if no limb can swing.
    """
    axes = _axes(character, limbs)
    result, notes = motion, []
    for flight in flights:
        first, last = flight.span
        off = _off_steady(flight)
        if off is not None and off <= STEADY:
            notes.append(f"Flight {first}:{last} spins steadily to {off:.1f}°; it is left as it was.")
            continue
        held = {0, last - first, *(f - first for f in priority if first <= f <= last)}
        swung = _swing_flight(result, character, root, flight.span, flight.wish, held, axes, com)
        tumble = Tumble.of(swung, character, first, last)
        before, after = spread(flight.tumble), spread(tumble)
        taken = 1.0 - after / before if before > 0.0 else 0.0
        turn = math.degrees(float(rotations.angle_between(motion.rotations, swung.rotations)[first : last + 1].max()))
        gain = math.inf
        if off is not None:
            left = turn_off_steady(tumble)
            gain = off - math.degrees(left) if left is not None else 0.0
        if (taken >= WORTH and turn <= DEAR * gain) or turn == 0.0:
            result = swung
            if taken < MOST and turn > 0.0:
                notes.append(_little(flight.span, taken, turn))
        elif taken < WORTH:
            notes.append(_little(flight.span, taken, turn))
        else:
            notes.append(_dear(flight.span, gain, turn))
    return Spun(_part(motion, character, root, result, amount, com), notes=tuple(notes))


def _off_steady(flight: SpinFlight) -> float | None:
    """How far a flight is off the spin wished for [deg]; None where another momentum than its mean is."""
    seen, steps = momentum_between(flight.tumble), flight.tumble.steps
    if float(np.abs(steps @ seen / steps.sum() - flight.wish).max()) > 1e-9 * max(1.0, float(np.abs(seen).max())):
        return None
    turn = turn_off_steady(flight.tumble)
    return None if turn is None else math.degrees(turn)


def _dear(span: Span, gain: float, turn: float) -> str:
    """What to say where a swing costs more than what it mends."""
    return (
        f"Flight {span[0]}:{span[1]}: limbs would turn by up to {turn:.0f}° to bring the body {max(gain, 0.0):.1f}° "
        "nearer to steady spin; that is not worth it, so the flight is left as it was. Turn the figure as a whole "
        "(--by root)."
    )


def _little(span: Span, taken: float, turn: float) -> str:
    """What to say where the limbs, within their limits, cannot take most of the unevenness."""
    what = (
        f"Flight {span[0]}:{span[1]}: within their limits the limbs can take only {100.0 * max(taken, 0.0):.0f} % of "
    )
    what += f"the unevenness, for turns of up to {turn:.0f}°"
    if taken < WORTH:
        what += "; that is not worth it, so the flight is left as it was"
    return f"{what}. Name more --limbs, or turn the figure as a whole (--by root)."


def _part(motion: Motion, body: Character, root: int, whole: Motion, amount: float, com: Array) -> Motion:
    """A part of a change of pose, with the center of mass on its path."""
    if amount == 1.0 or whole is motion:
        return whole
    difference = rotations.to_rotation_vector(
        rotations.multiply(rotations.conjugate(motion.rotations), whole.rotations)
    )
    turned = rotations.multiply(motion.rotations, rotations.from_rotation_vector(amount * difference))
    same = np.abs(difference).max(axis=-1, keepdims=True) < 1e-12
    posed = replace(motion, rotations=np.where(same, motion.rotations, turned))
    return move_root(posed, root, com - center_of_mass(posed, body))


def _axes(character: Character, limbs: tuple[str, ...]) -> tuple[SwingAxis, ...]:
    known = {limb.name.lower(): limb for limb in character.limbs}
    for name in limbs:
        if name.strip().lower() not in known:
            raise UnknownName(f"No limb {name!r}. Limbs: {', '.join(known)}.")
    chosen = [known[name.strip().lower()] for name in limbs]
    if not chosen:
        chosen = [limb for limb in character.limbs if limb.kind in ("arm", "tail")]
        chosen = chosen or [limb for limb in character.limbs if limb.kind == "leg"]
    found: list[SwingAxis] = []
    for limb in chosen:
        # shoulder blades and hands stay: the first of a long chain, and the tip
        bodies = limb.bodies if len(limb.bodies) < 3 else limb.bodies[len(limb.bodies) > 3 : -1]
        for b in bodies:
            body = character.bodies[b]
            if body.kind == "free":
                continue
            limits = body.limits
            if body.kind == "hinge" and body.axis is not None:
                rest = rotations.IDENTITY if body.rest_rotation is None else body.rest_rotation
                axes = rotations.rotate(rest, body.axis)[None]
            elif limits is not None and max(-limits.side_lower, limits.side_upper) < NARROW:
                axes = rotations.rotate(limits.rest, limits.swing_axis)[None]
            else:
                axes = np.eye(3)
            found.append(SwingAxis(b, character.carried(b), axes))
    if not found:
        raise InvalidValue("This character has no limb that could swing; turn it by the root instead.")
    return tuple(found)


def _swing_flight(
    motion: Motion,
    character: Character,
    root: int,
    span: tuple[int, int],
    wish: Array,
    held: set[int],
    axes: tuple[SwingAxis, ...],
    com: Array,
) -> Motion:
    first, last = span
    free = np.array([k for k in range(last - first + 1) if k not in held])
    if not len(free):
        return motion
    scale = natural_scale(character)
    inside = slice(first, last + 1)
    piece = replace(motion.frames(np.arange(first, last + 1)), source=None)
    original = piece.rotations
    width = sum(len(a.axes) for a in axes)
    total = np.zeros((len(piece.times), width))
    best, best_cost, best_total = piece, math.inf, total
    price = swing_price(piece.times, free, width)
    part = 1.0
    step = np.zeros_like(total)
    for _ in range(ITERATIONS):
        tumble = Tumble.of(piece, character, 0, len(piece.times) - 1)
        error = (momentum_between(tumble) - wish) / scale
        flat = total[free].reshape(-1)
        cost = float((error**2).sum() + flat @ banded_times(price, flat))
        if cost > best_cost * (1.0 + 1e-9):
            part *= 0.5
            if part < LEAST_PART:
                break
            total = best_total + part * step
        else:
            converged = best_cost - cost < SETTLED * best_cost
            best, best_cost, best_total, part = piece, cost, total, 1.0
            if converged:
                break
            step = gauss_newton(tumble, piece, character, axes, error, scale, free, price, total)
            step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-12))
            total = total + step
        piece, total = _posed(piece, character, original, axes, total)
    placed = move_root(best, root, com[inside] - center_of_mass(best, character))
    turned, moved = motion.rotations.copy(), motion.translations.copy()
    turned[first + free], moved[first + free] = placed.rotations[free], placed.translations[free]
    return replace(motion, rotations=turned, translations=moved)


def _posed(
    piece: Motion, character: Character, original: Array, axes: tuple[SwingAxis, ...], total: Array
) -> tuple[Motion, Array]:
    """The flight with each joint turned from its original by `total` about its axes, inside its limits."""
    turned, kept = original.copy(), total.copy()
    at = 0
    for a in axes:
        body = character.bodies[a.body]
        own = slice(at, at + len(a.axes))
        at += len(a.axes)
        changed = np.abs(total[:, own]).max(axis=1) > 0.0
        if not changed.any():
            continue
        vector = total[changed, own] @ a.axes
        before = original[changed, body.joint]
        after = rotations.multiply(rotations.from_rotation_vector(vector), before)
        if body.limits is not None and body.kind == "ball":
            after = _inside(body.limits, before, after)
        elif body.limits is not None and body.axis is not None:
            angle = hinge_angle(body.axis, before, body.rest_rotation)
            lower, upper = np.minimum(body.limits.twist_lower, angle), np.maximum(body.limits.twist_upper, angle)
            kept[changed, own] = (np.clip(angle + total[changed, own][:, 0], lower, upper) - angle)[:, None]
            after = rotations.multiply(rotations.from_rotation_vector(kept[changed, own] @ a.axes), before)
        turned[changed, body.joint] = rotations.normalize(after)
        if body.kind == "ball":
            done = rotations.to_rotation_vector(rotations.multiply(after, rotations.conjugate(before)))
            kept[changed, own] = done @ a.axes.T
    return replace(piece, rotations=turned), kept


def _inside(limits: Limits, before: Array, after: Array) -> Array:
    """Rotations brought inside the limits, unless they were outside before the edit, where they may stay."""
    clamped = clamp_rotation(limits, after)
    angles = limit_angles(limits, before)
    lower = np.array([limits.twist_lower, limits.bend_lower, limits.side_lower]) - 1e-9
    upper = np.array([limits.twist_upper, limits.bend_upper, limits.side_upper]) + 1e-9
    was_inside = ((angles >= lower) & (angles <= upper)).all(axis=-1, keepdims=True)
    return np.where(was_inside, clamped, before)
