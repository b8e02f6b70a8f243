"""Balance of a tracked character: where the force on the ground should act, and where feet should land.

With the force through p on level ground,
a center of mass at x and height h accelerates by ω² (x − p), ω² = g / h. The capture point ξ = x + ẋ / ω runs away from
p, so p is put beyond it:

    p = p* + (1 + k) (ξ − ξ*),  ẍ = ω² (x − p)

with ξ*, p* the actor's. p* is taken no further than the soles of the feet that stand, p no further than what touches
the ground, so that a trembling actor does not throw the character about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.core import rotations
from poise.core.typing import Array
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.goals.polygon import nearest_inside
from poise.tracking.stance import Foot, RecoveryStep

TREMBLE = 0.03
"""Time constant with which feet that are placed off their targets move there [s]."""
SHIFTING, PASSING = 0.1, 0.03
"""Targets follow where the feet stand within so long [s]; the second where the actor steps: while they lag behind the
foot that takes the weight, the body is asked to go elsewhere."""
STEADY, RESTLESS = 0.5, 0.2
"""A center of mass that rests is within so much of the soles [1]; one that moves this fast is half at rest [m/s]."""
CATCHING = 0.1
"""A foot that is placed to catch the body is there so long after it was asked to [s]."""
HELD_SHIFT = 0.2
"""Targets of a character that is held follow its body, not its feet, within so long [s], while a foot swings."""
HELD_STIFFNESS = 36.0
"""Of the way of a center of mass whose root is held [1/s²]."""
HOMING = 0.05
"""The body is asked to be so much nearer to the actor's way than its feet are, in legs."""
UNEXPLAINED = 0.06
"""Where the force on the actor is further from the feet that stand than this, in legs, another foot must carry."""
WEIGHTLESS = 0.5
"""An actor that accelerates downward by more than this share of gravity flies: no foot must carry it [1]."""
OFF_BALANCE, OUTSIDE = 0.15, 0.05
"""A capture point that errs by more than this, and is further outside what touches the ground than that, in legs, calls
for a recovery step."""
WAITING = 0.4
"""An actor that walks will step: the character does not before all feet have rested for so long, for a leg of 0.82 m
[s]."""
STUMBLING = 0.3
"""A character whose capture point errs by more than this, in legs, does not wait for that [1]."""
STEP_TIME, STEP_HEIGHT = 0.2, 0.1
"""A recovery step takes so long, for a leg of 0.82 m [s], and lifts the foot so high, in legs."""
LATE, SWUNG, LANDING = 0.5, 0.2, 0.12
"""Where the capture point errs by more than this, in legs, a foot that the actor has swung for so long [s] comes down
within so long [s], for a leg of 0.82 m: with the actor's it would land too late."""
BEYOND = 1.25
"""A recovery step goes so much further than to where the capture point will be, to slow the body down [1]."""
QUIET, TOGETHER = 0.4, 0.06
"""A character whose feet stand further apart than the actor's, in legs, and that has been still for so long, for a leg
of 0.82 m [s], makes a calm step back."""
SHIFTED, CALM_TIME, CALM_HEIGHT = 0.7, 0.5, 0.06
"""Its weight takes so long to go over the other foot [s], its step so long [s]; it lifts the foot so high, in legs."""
ALARMING, ALARMED, RELIEVED = 0.05, 0.02, 0.4
"""A character whose capture point errs by more than this, in legs, minds its trunk more than its way: within so long
[s], and back within so long [s]."""
SETTLED = 0.6
"""It does so where all feet of the actor have rested for so long, for a leg of 0.82 m [s]."""
BESIDE = 0.12
"""A recovery step lands so far beside other feet at the least, in legs."""


class Sway(NamedTuple):
    """A center of mass over the ground: place [m], velocity [m/s], acceleration [m/s²], each (2,), height [m]."""

    place: Array
    velocity: Array
    acceleration: Array
    height: float

    @property
    def rate(self) -> float:
        """ω [1/s]."""
        return math.sqrt(GRAVITY / max(self.height, 1e-3))


def capture_error(own: Sway, wanted: Sway) -> Array:
    """ξ − ξ* [m], shape (2,), both with the character's ω."""
    return own.place - wanted.place + (own.velocity - wanted.velocity) / own.rate


def outside(points: Array, place: Array) -> float:
    """How far a place (2,) is outside the convex hull of points (n, 2) [m]; 0 inside."""
    inside = nearest_inside(points, place)
    return math.hypot(place[0] - inside[0], place[1] - inside[1])


def within(points: Array, place: Array, margin: float = 0.0) -> Array:
    """A place (2,), no further from the convex hull of points (n, 2) than a margin [m]."""
    inside = nearest_inside(points, place)
    way = place - inside
    size = math.hypot(way[0], way[1])
    return place if size <= margin else inside + way * (margin / size)


def restlessness(velocity: Array) -> float:
    """How much of a center of mass's motion is meant, 0 at rest to 1, by its velocity over the ground (2,) [m/s]."""
    speed = float(velocity @ velocity) / RESTLESS**2
    return speed / (1.0 + speed)


def off_soles(place: Array, velocity: Array, soles: Array) -> Array:
    """How far a center of mass (2,) that rests is off where soles (n, 2) carry it [m], shape (2,); less if it moves.

    People lean over their toes, skeletons are drawn upright, and feet differ: what an actor's balance allows the
    character's may not.
    """
    middle = soles.sum(axis=0) / len(soles)
    inside = within(middle + STEADY * (soles - middle), place)
    return (1.0 - restlessness(velocity)) * (place - inside)


def must_carry(weight: Array, feet: Sequence[Foot], places: Array, leg: float) -> Foot | None:
    """The foot that must carry the actor though it seems not to stand: the force acts far from those that do.

    Args:
        weight: p* [m], shape (2,).
        feet: All.
        places: Rows of the targets [m], shape (T, 2).
        leg: Length of a leg [m].
    """
    standing = [places[foot.row] + foot.arms() for foot in feet if foot.stands]
    others = [foot for foot in feet if not foot.stands]
    if not others:
        return None
    off = outside(np.concatenate(standing), weight) if standing else math.inf
    if off <= UNEXPLAINED * leg:
        return None
    away = [outside(places[foot.row] + foot.arms(), weight) for foot in others]
    least = int(np.argmin(away))
    return others[least] if off > away[least] else None


def is_needed(weight: Array, foot: Foot, feet: Sequence[Foot], places: Array, leg: float) -> bool:
    """Whether no other foot that stands carries the actor: the force acts far from those, and nearer to this one.

    Args:
        weight: p* [m], shape (2,).
        foot: One that stands.
        feet: All.
        places: Rows of the targets [m], shape (T, 2).
        leg: Length of a leg [m].
    """
    standing = [places[other.row] + other.arms() for other in feet if other.stands and other is not foot]
    if not standing:
        return True
    off = outside(np.concatenate(standing), weight)
    return off > UNEXPLAINED * leg and off > outside(foot.place[:2] - foot.shift + foot.arms(), weight)


def com_acceleration(
    own: Sway, wanted: Sway, shift: Array, soles: Array, touching: Array, gain: float, margin: float
) -> Array:
    """What is asked of the center of mass over the ground [m/s²], shape (2,).

    Args:
        own: Of the character.
        wanted: The actor's on the character's scale, with the height of the actor's, so that p* is the actor's.
        shift: How far the character is off the actor's way [m], shape (2,).
        soles: Points of the soles of feet that should stand, on the actor's way [m], shape (n, 2).
        touching: What touches the ground [m], shape (m, 2).
        gain: k [1].
        margin: How far out of what touches the force may be asked for [m].
    """
    there = wanted.place - wanted.acceleration / wanted.rate**2
    if len(soles):
        there = within(soles, there)
    moved = wanted._replace(place=wanted.place + shift)
    force = there + shift + (1.0 + gain) * capture_error(own, moved)
    if len(touching):
        force = within(touching, force, margin)
    return own.rate**2 * (own.place - force)


def held_pull(place: Array, velocity: Array, acceleration: Array, com: Array, speed: Array) -> Array:
    """What is asked of the center of mass where the root is held: the actor's way [m/s²], shape (2,).

    Args:
        place, velocity, acceleration: That way [m, m/s, m/s²], of which x and y count.
        com: Of the character [m].
        speed: Its velocity [m/s], shape (2,).
    """
    k = HELD_STIFFNESS
    return acceleration[:2] + k * (place[:2] - com[:2]) + 2.0 * math.sqrt(k) * (velocity[:2] - speed)


class Placed(NamedTuple):
    """Where swinging feet and targets go: what `place_feet` answers.

    Attributes:
        shifts: How far each foot is off its target [m], shape (K, 2).
        drifts: How fast that changes [m/s], shape (K, 2).
        shift: How far targets are off the actor's way [m], shape (2,).
        stood: How far they would be by where feet stand [m], shape (2,).
    """

    shifts: Array
    drifts: Array
    shift: Array
    stood: Array


def place_feet(
    feet: Sequence[Foot],
    targets: Array,
    ahead: Array,
    shift: Array,
    catch: Array,
    leg: float,
    dt: float,
    *,
    is_held: bool = False,
) -> Placed:
    """Swinging feet move to where they catch the body, and targets along with standing feet.

    Args:
        feet: All, in order.
        targets: Rows of places over the ground on the actor's way [m], shape (T, 2).
        ahead: The actor's capture point [m], shape (2,): the foot next to it is about to carry and counts most.
        shift: How far targets were off the actor's way [m], shape (2,).
        catch: How far a foot has to step off to catch the body [m], shape (2,).
        leg: Length of a leg [m].
        dt: Of a step [s].
        is_held: Whether a force at the root brings the body back: targets then go with it until all feet stand.
    """
    shifts, drifts = np.array([foot.shift for foot in feet]), np.zeros((len(feet), 2))
    mean, total = np.zeros(2), 0.0
    for k, foot in enumerate(feet):
        if foot.stands and foot.has_landed:
            off = targets[foot.row] - ahead
            weight = 1.0 / (float(off @ off) + (0.1 * leg) ** 2)
            mean, total = mean + weight * foot.shift, total + weight
            continue
        if foot.recovery is not None:
            shifts[k] += (moved := foot.recovery.share(dt) * (foot.recovery.shift - foot.shift))
            drifts[k] = moved / dt
            continue
        moved = (1.0 - math.exp(-dt / TREMBLE)) * (shift + catch - foot.shift)
        shifts[k] += moved
        drifts[k] = moved / dt
    rests = min(foot.rested for foot in feet) >= SETTLED * math.sqrt(leg / HUMAN_LEG)
    part = (1.0 - math.exp(-dt / (SHIFTING if rests or is_held else PASSING))) if total > 0.0 else 0.0
    stood = mean / max(total, 1e-12) if total > 0.0 else shift
    goes_along = is_held and not all(foot.stands and foot.has_landed for foot in feet)
    along = (1.0 - math.exp(-dt / HELD_SHIFT)) * catch if goes_along else part * (stood - shift)
    return Placed(shifts, drifts, shift + along, stood)


def recovery_steps(
    feet: Sequence[Foot],
    own: Sway,
    wanted: Sway,
    targets: Array,
    shift: Array,
    touching: Array,
    pelvis_turn: Array,
    *,
    leg: float,
    dt: float,
    step_reach: float,
    is_held: bool = False,
) -> list[RecoveryStep | None]:
    """Steps that feet make on the character's own account, because the actor makes none that would save it.

    While it steps, the force on the ground stays within the feet that remain, at the place p next to the capture
    point. The error e = ξ − ξ* grows until the step lands, T later, to

        e(T) = δ + (e − δ) exp(ω T),  δ = p − p*

    and the feet land on the line from those that remain through the predicted capture point, a quarter beyond it, so
    that it lies between all feet and no further step is needed. Of the actor's limbs the one steps whose feet, once
    there, leave the capture point least outside all soles.

    A foot that the actor swings comes down early by such a step where it would land too late.

    Args:
        feet: All, in order.
        own, wanted: See `com_acceleration`.
        targets: Rows of places over the ground on the actor's way [m], shape (T, 2).
        shift: How far targets are off the actor's way [m], shape (2,).
        touching: What touches the ground [m], shape (m, 2).
        pelvis_turn: Orientation of the pelvis, wxyz.
        leg: Length of a leg [m].
        dt: Of a step [s].
        step_reach: How far a foot steps off at the most, in legs.
        is_held: Whether a force at the root brings the body back: feet then land under it.

    Returns:
        For each foot its step, None where it makes none.
    """
    error = capture_error(own, wanted._replace(place=wanted.place + shift))
    size = math.hypot(error[0], error[1]) / leg
    capture = own.place + own.velocity / own.rate
    steps = [foot.recovery for foot in feet]
    tempo = math.sqrt(leg / HUMAN_LEG)
    active, swings = {foot.driver for foot in feet if foot.recovery is not None}, set[str]()
    if not active:
        swings = {foot.driver for foot in feet if not foot.stands and foot.swung > SWUNG * tempo}
        waits = min(foot.rested for foot in feet) < WAITING * tempo and size < STUMBLING
        stand = all(foot.stands and foot.has_landed for foot in feet if foot.driver not in swings)
        if not stand or not len(touching) or size < (LATE if swings else OFF_BALANCE) or (waits and not swings):
            return steps
        if outside(touching, capture) < OUTSIDE * leg:
            return steps
    drivers = active or swings or {foot.driver for foot in feet}
    duration, down, peak = STEP_TIME * tempo, LANDING * tempo, STEP_HEIGHT * leg
    first = RecoveryStep(duration, duration, peak, shift)
    if swings:
        first = RecoveryStep(2.0 * down, down, peak, shift, is_early=True)
    best, found = math.inf, [None if s is None else s.later(dt, s.shift) for s in steps]
    if active and size < OFF_BALANCE and all(s is None or s.is_calm for s in steps):
        return found
    for driver in sorted(drivers):
        remain = [foot for foot in feet if foot.driver != driver and foot.stands]
        if not remain:
            continue
        begun = [f.recovery for f in feet if f.driver == driver and f.recovery is not None]
        left = begun[0].left if begun else first.left
        under = np.concatenate([targets[foot.row] + foot.shift + foot.arms() for foot in remain])
        delta = nearest_inside(under, capture) - (wanted.place + shift - wanted.acceleration / wanted.rate**2)
        grown = delta + (error - delta) * math.exp(own.rate * left)
        end = wanted.place + wanted.velocity / own.rate + shift + grown
        stance = under.sum(axis=0) / len(under)
        own_feet = [foot for foot in feet if foot.driver == driver]
        now = np.concatenate([targets[foot.row] + foot.arms() for foot in own_feet])
        there = own.place - wanted.place  # a foot lands within reach of where the body is
        ahead = stance + BEYOND * (end - stance) - now.sum(axis=0) / len(now) - there
        ahead *= min(1.0, step_reach * leg / max(math.hypot(ahead[0], ahead[1]), 1e-9))
        after, soles = list(steps), [under]
        for k, foot in enumerate(feet):
            if foot.driver != driver:
                continue
            off = there if is_held else there + ahead
            for other in remain:
                across = rotations.rotate(pelvis_turn, foot.hip - other.hip)[:2]
                across = across / max(math.hypot(across[0], across[1]), 1e-9)
                apart = (targets[foot.row] + off - targets[other.row] - other.shift) @ across
                off = off + max(0.0, BESIDE * leg - float(apart)) * across
            soles.append(targets[foot.row] + off + foot.arms())
            step = foot.recovery or first._replace(shift=off)
            after[k] = step._replace(is_calm=False).later(dt, off)
        left_out = outside(np.concatenate(soles), end) + math.hypot(ahead[0], ahead[1])
        if left_out < best:
            best, found = left_out, after
    return found


class Return(NamedTuple):
    """A calm step back: the weight goes over the feet that stay, then the others come beside them.

    Attributes:
        driver: The actor's limb whose feet step.
        since: For so long the weight has been shifting [s].
        has_lifted: Whether the feet have left the ground.
    """

    driver: str
    since: float = 0.0
    has_lifted: bool = False


def alarm_of(before: float, error: float, feet: Sequence[Foot], leg: float, dt: float) -> float:
    """How much the character catches itself, 0 … 1; not while its actor steps.

    Args:
        before: A step ago.
        error: Of the capture point, in legs.
        feet: All.
        leg: Length of a leg [m].
        dt: Of a step [s].
    """
    rests = min(foot.rested for foot in feet) >= SETTLED * math.sqrt(leg / HUMAN_LEG)
    goal = min(1.0, max(0.0, (error - ALARMING) / (OFF_BALANCE - ALARMING))) if rests else 0.0
    if any(foot.recovery is not None and not foot.recovery.is_early for foot in feet):
        goal = 1.0
    return before + (1.0 - math.exp(-dt / (ALARMED if goal > before else RELIEVED))) * (goal - before)


def stillness_of(feet: Sequence[Foot], leg: float) -> float:
    """How much the actor stands, 0 … 1: 0 until no foot has moved for `WAITING` [s], 1 after `SETTLED` [s].

    Both are for a leg of 0.82 m and go with the square root of `leg` [m].
    """
    rested = min(foot.rested for foot in feet) / math.sqrt(leg / HUMAN_LEG)
    return min(1.0, max(0.0, (rested - WAITING) / (SETTLED - WAITING)))


def calm_return(
    before: Return | None, quiet: float, error: float, feet: Sequence[Foot], leg: float, dt: float
) -> Return | None:
    """Whether the character brings its feet together again, and how far it is with that.

    Args:
        before: What it did a step ago.
        quiet: For so long it has stood still [s].
        error: Of the capture point, in legs.
        feet: All, in order.
        leg: Length of a leg [m].
        dt: Of a step [s].
    """
    is_stepping = any(foot.recovery is not None for foot in feet)
    if before is not None:
        if error > OFF_BALANCE or any(foot.recovery is not None and not foot.recovery.is_calm for foot in feet):
            return None
        if before.has_lifted and not is_stepping and all(foot.has_landed for foot in feet):
            return None
        if not before.has_lifted and not all(foot.stands and foot.has_landed for foot in feet):
            return None  # the actor steps: a foot lifted now would leave nothing on the ground
        return before._replace(since=before.since + dt)
    drivers = sorted({foot.driver for foot in feet})
    if is_stepping or quiet < QUIET or len(drivers) < 2:
        return None
    off = {name: np.mean([foot.shift for foot in feet if foot.driver == name], axis=0) for name in drivers}
    far = max(drivers, key=lambda name: math.hypot(*off[name]))
    near = min(drivers, key=lambda name: math.hypot(*off[name]))
    apart = off[far] - off[near]
    return Return(far) if math.hypot(*apart) > TOGETHER * leg else None


class Balance(NamedTuple):
    """What keeps a character on its feet for one step.

    Attributes:
        pull: Asked of the center of mass over the ground [m/s²], shape (2,).
        catch: How far a foot has to step off to catch the body [m], shape (2,).
        placed: Where swinging feet and targets go.
    """

    pull: Array
    catch: Array
    placed: Placed


def balance(
    own: Sway,
    wanted: Sway,
    feet: Sequence[Foot],
    targets: Array,
    shift: Array,
    catch: Array,
    touching: Array,
    *,
    leg: float,
    dt: float,
    gain: float,
    reach: float,
    step_reach: float,
    held_off: Array | None = None,
) -> Balance:
    """Where the center of mass should go, and where feet land that catch it.

    Args:
        own, wanted: See `com_acceleration`.
        feet: All, in order.
        targets: Rows of places over the ground on the actor's way [m], shape (T, 2).
        shift: How far targets were off the actor's way [m], shape (2,).
        catch: That of the step before.
        touching: What touches the ground [m], shape (m, 2).
        leg: Length of a leg [m].
        dt: Of a step [s].
        gain: k of `com_acceleration` [1].
        reach: How far out of what touches the force may be asked for, in legs.
        step_reach: How far a foot steps off at the most, in legs.
        held_off: How far the center of mass is from its place on the shifted way [m], shape (2,), while a force at the
            root brings it back; None otherwise. Feet of a held body go under it, not to where it would fall.
    """
    soles = [targets[foot.row] + foot.arms() for foot in feet if foot.stands]
    size = max(math.hypot(shift[0], shift[1]), 1e-9)
    home = shift * (1.0 - min(0.5, HOMING * leg / size))
    under = np.concatenate(soles) if soles else np.zeros((0, 2))
    pull = com_acceleration(own, wanted, home, under, touching, gain, reach * leg)
    error = held_off
    if error is None:  # it grows until the foot is there
        error = capture_error(own, wanted._replace(place=wanted.place + shift)) * math.exp(own.rate * CATCHING)
    error = error * min(1.0, step_reach * leg / max(math.hypot(error[0], error[1]), 1e-9))
    catch = catch + (1.0 - math.exp(-dt / TREMBLE)) * (error - catch)
    ahead = wanted.place + wanted.velocity / own.rate
    return Balance(pull, catch, place_feet(feet, targets, ahead, shift, catch, leg, dt, is_held=held_off is not None))
