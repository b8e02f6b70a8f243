"""Angular momentum by the pose: limbs swing so that a flight keeps it, as windmilling arms do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from poise.analysis.angular_momentum import Tumble, body_jacobians, momentum_between
from poise.analysis.momentum import center_of_mass
from poise.body.character import Character, Limits
from poise.body.limits import clamp_rotation, limit_angles
from poise.body.posing import hinge_angle
from poise.core import rotations
from poise.core.errors import InvalidValue, UnknownName
from poise.core.motion import Motion
from poise.core.typing import Array, Index
from poise.edit.flight import Span
from poise.edit.legs import move_root
from poise.edit.spin_flight import SpinFlight, Spun, natural_scale, spread, turn_off_steady

ITERATIONS = 25
"""Gauss-Newton steps at most."""
LONGEST_STEP = 0.7
"""How far a joint swings in one of them at most [rad]."""
LEAST_PART = 0.01
"""A step that has been shortened to less than this part of itself leads nowhere [1]."""
SETTLED = 1e-6
"""A step that lowers the cost by less than this part of it is the last [1]."""
WORTH, MOST = 0.25, 0.5
"""A swing that takes less of the unevenness than the first is not made; less than the second, it is reported [1]."""
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
    """The motion with limbs swung in each flight so that the angular momentum comes nearest to its target.

    Minimizes Σ ‖L − L*‖² / scale² plus small prices on the swing and on bending its course, by Gauss-Newton with a
    banded system over all frames of a flight; limits are kept by clamping, and the center of mass is put back on
    its path. A swing that takes less than WORTH of the unevenness is not made.

    Args:
        motion: F frames.
        character: Fitted to it.
        root: The joint that carries it.
        com: Center of mass of every frame [m], shape (F, 3).
        flights: The flights, each with its target.
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
        swung = _swing_flight(result, character, root, flight.span, flight.asked, held, axes, com)
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
            elif turn > 2.0 * gain:
                notes.append(_costs(flight.span, gain, turn))
        elif taken < WORTH:
            notes.append(_little(flight.span, taken, turn))
        else:
            notes.append(_dear(flight.span, gain, turn))
    return Spun(_part(motion, character, root, result, amount, com), notes=tuple(notes))


def _off_steady(flight: SpinFlight) -> float | None:
    """How far a flight is off the spin asked for [deg]; None where another momentum than its mean is."""
    seen, steps = momentum_between(flight.tumble), flight.tumble.steps
    if float(np.abs(steps @ seen / steps.sum() - flight.asked).max()) > 1e-9 * max(1.0, float(np.abs(seen).max())):
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


def _costs(span: Span, gain: float, turn: float) -> str:
    """What to say where a swing turns limbs by far more than it turns the body."""
    return (
        f"Flight {span[0]}:{span[1]}: limbs turn by up to {turn:.0f}° to bring the body {gain:.1f}° nearer to steady "
        "spin; --by root turns the figure as a whole by that instead."
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
    asked: Array,
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
        error = (momentum_between(tumble) - asked) / scale
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


SWING_WEIGHT = 3e-4
"""Price of a swing of a radian for 0.05 s, against squared momentum error over its scale m √(g h) h [1]."""
SMOOTH_WEIGHT = 3e-3
"""Price of bending the swing's course in time, second differences over (0.05 s)² [1]."""


@dataclass(frozen=True)
class SwingAxis:
    """One degree of freedom of the swing: a joint and its axis in the parent body's frame, or a whole ball."""

    body: int
    carried: tuple[int, ...]
    axes: Array


def swing_jacobians(
    tumble: Tumble, piece: Motion, character: Character, axes: tuple[SwingAxis, ...]
) -> tuple[Array, Array]:
    """How the momentum between frames answers to swings of the earlier and of the later one, (n − 1, 3, width) each."""
    positions, orientations = piece.world
    com = center_of_mass(piece, character)
    spin_earlier, spin_later = body_jacobians(tumble)
    before, after = tumble.places[:-1], tumble.places[1:]
    dt = tumble.steps[:, None, None]
    columns: tuple[list[Array], list[Array]] = ([], [])
    for a in axes:
        body = character.bodies[a.body]
        index = list(a.carried)
        pivot = positions[:, body.joint] - com
        m = tumble.masses[index]
        lever = tumble.places[:, index] - pivot[:, None]
        one = np.eye(3)
        # a turn φ of the later frame moves its bodies by φ × lever: m r × (φ × d') = m ((r·d') 1 − d' rᵀ) φ
        outer = np.einsum("b,fbi,fbj->fij", m, lever[1:], before[:, index])
        later = np.trace(outer, axis1=1, axis2=2)[:, None, None] * one - outer
        outer = np.einsum("b,fbi,fbj->fij", m, lever[:-1], after[:, index])
        earlier = outer - np.trace(outer, axis1=1, axis2=2)[:, None, None] * one
        parent = character.bodies[body.parent].joint if body.parent >= 0 else 0
        above = int(piece.skeleton.parents[body.joint])
        frame = orientations[:, above] if above >= 0 else orientations[:, parent]
        world = rotations.rotate(frame[:, None], a.axes[None])
        columns[0].append(np.matmul(earlier / dt + spin_earlier[:, index].sum(axis=1), np.swapaxes(world[:-1], 1, 2)))
        columns[1].append(np.matmul(later / dt + spin_later[:, index].sum(axis=1), np.swapaxes(world[1:], 1, 2)))
    return np.concatenate(columns[0], axis=2), np.concatenate(columns[1], axis=2)


def gauss_newton(
    tumble: Tumble,
    piece: Motion,
    character: Character,
    axes: tuple[SwingAxis, ...],
    error: Array,
    scale: float,
    free: Index,
    price: Array,
    total: Array,
) -> Array:
    """The swing's next step for every frame, shape (n, width)."""
    from scipy.linalg import solveh_banded

    earlier, later = (j / scale for j in swing_jacobians(tumble, piece, character, axes))
    n, width = total.shape
    place = np.full(n, -1)
    place[free] = np.arange(len(free))
    band = price.copy()
    right = -banded_times(price, total[free].reshape(-1))
    for k in range(n - 1):
        blocks = [(place[k], earlier[k]), (place[k + 1], later[k])]
        for i, (p, J) in enumerate(blocks):
            if p < 0:
                continue
            right[p * width : (p + 1) * width] -= J.T @ error[k]
            for o, K in blocks[i:]:
                if o >= 0:
                    _add_block(band, p * width, o * width, J.T @ K)
    step = np.zeros_like(total)
    step[free] = solveh_banded(band, right, check_finite=False).reshape(-1, width)
    return step


def swing_price(times: Array, free: Index, width: int) -> Array:
    """Upper band of the quadratic price of a swing over the free frames: its size, and its second differences."""
    n, count = len(times), len(free)
    place = np.full(n, -1)
    place[free] = np.arange(count)
    band = np.zeros((3 * width, count * width))
    dt = float(np.median(np.diff(times)))
    band[-1] += SWING_WEIGHT * dt / 0.05
    weight = SMOOTH_WEIGHT * SWING_WEIGHT * (0.05 / dt) ** 3
    for k in range(1, n - 1):
        rows = [(place[k - 1], 1.0), (place[k], -2.0), (place[k + 1], 1.0)]
        for p, x in rows:
            for o, y in rows:
                if 0 <= p <= o:
                    _add_block(band, p * width, o * width, weight * x * y * np.eye(width))
    return band


def _add_block(band: Array, row: int, column: int, block: Array) -> None:
    """Add a square block at (row, column ≥ row) to a symmetric matrix in upper band form."""
    size, depth = len(block), len(band) - 1
    for j in range(size):
        top = size if column > row else j + 1
        i = np.arange(top)
        band[depth + row + i - (column + j), column + j] += block[i, j]


def banded_times(band: Array, x: Array) -> Array:
    """A symmetric matrix in upper band form times a vector."""
    depth = len(band) - 1
    out = band[depth] * x
    for offset in range(1, depth + 1):
        above = band[depth - offset, offset:]
        out[:-offset] += above * x[offset:]
        out[offset:] += above * x[:-offset]
    return out
