"""What a flight can have wrong: gravity, arc, track, drift, spin; each with its cures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from poise.analysis.analyze import Analysis, FlightFit
from poise.analysis.angular_momentum import Tumble, off_steady
from poise.analysis.measures import ImpliedScale, implied_scale
from poise.check import thresholds as at
from poise.check.finding import Cure, Finding, Trials, facing_at, length_words, ranked, stretches, turn_word, way_word
from poise.check.gravity import FALLS, can_leap, gravity_cures, height_cure
from poise.check.profile import Profile
from poise.core import rotations
from poise.core.errors import PoiseError
from poise.core.typing import Array
from poise.core.units import GRAVITY

SEEN_SPEED = 0.15
"""A horizontal speed nearer to even than this is not a fault, for a leg of 0.82 m [m/s]."""


def flight_findings(clip: Analysis, profile: Profile, *, trials: Trials | None = None) -> Iterator[Finding]:
    """Everything wrong in the air, flight by flight.

    A flight that nobody could make is none: what carries the body there was not found, and nothing else is judged.
    """
    for number, flight in enumerate(clip.flights, 1):
        where = f"flight {number}" if len(clip.flights) > 1 else "flight"
        why = why_no_flight(clip, flight)
        if why:
            yield from _contacts(flight, where, why, profile)
            continue
        found = [
            *_gravity(clip, flight, where, profile),
            *_arc(clip, flight, where, profile),
            *_track(clip, flight, where, profile),
            *_drift(clip, flight, where, profile),
            *_spin(clip, flight, where, profile, trials=trials),
        ]
        unseen = _unseen_end(clip, flight)
        yield from (f.as_warning(unseen) if unseen and f.fails else f for f in found)


def _unseen_end(clip: Analysis, flight: FlightFit) -> str:
    """What to say of a flight beside which nothing gets down to the ground: it may be shorter; "" of others."""
    size = clip.character.leg_scale
    near = 1 + math.ceil(at.BESIDE_ENDS * math.sqrt(size) / clip.motion.dt)
    down = clip.touch.gaps.min(axis=1, initial=np.inf) < at.DOWN * size
    before, after = down[max(0, flight.first - near) : flight.first], down[flight.last + 1 :][:near]
    if before.any() and after.any():
        return ""
    what = "takes off from" if not before.any() else "lands on"
    return f"it was not seen what the body {what}, so the flight may be shorter than it looks"


def why_no_flight(clip: Analysis, flight: FlightFit, *, needs_ends: bool = True) -> str:
    """Why a time in the air is not a flight: the body does not leave the ground, or something low stands; "" if it is.

    Args:
        clip: Whose it is.
        flight: The time in the air.
        needs_ends: Without its take-off or landing in the clip it is none.
    """
    first, last = flight.first, flight.last
    if first == 0 or last == len(clip.times) - 1:
        return "the clip does not hold both its ends" if needs_ends else ""
    speed = at.TAKES_OFF * math.sqrt(GRAVITY * clip.character.leg_length)
    beside = (clip.com[[first + 1, last], 2] - clip.com[[first, last - 1], 2]) / clip.motion.dt
    fitted = flight.velocity[2], flight.velocity[2] - flight.gravity * flight.duration
    falls_right = flight.gravity_g > 0.7  # a drop from a step leaves downwards
    if not falls_right and (min(beside[0], fitted[0]) < speed or max(beside[1], fitted[1]) > -speed):
        return "the body does not take off and come down"
    if falls_right:
        return ""  # what carries a body slows its fall
    rise = flight.gravity_g * bend_of(flight)
    if not can_leap(rise, clip.character.leg_length):
        return f"nobody leaps {length_words(rise)} high"
    size = clip.character.leg_scale
    span = slice(first, last + 1)
    lowest = np.argmin(clip.touch.gaps[span], axis=1)
    slow = np.linalg.norm(clip.touch.velocities[span], axis=2)[np.arange(last + 1 - first), lowest]
    moving = np.linalg.norm(np.gradient(clip.com[span], clip.times[span], axis=0), axis=1)
    stands = (slow < at.STANDS_STILL * math.sqrt(size)) & (slow < at.STANDS_BESIDE * moving)
    edge = max(1, (last - first) // 10)  # a foot that has just left the ground is slow as well
    stands[:edge] = stands[-edge:] = False
    for a, b in stretches(stands):
        seconds = (b - a) * clip.motion.dt
        if b - a + 1 >= at.STANDS_FRAMES and seconds >= at.STANDS_SECONDS * math.sqrt(size):
            point = clip.touch.names[int(lowest[(a + b) // 2])]
            return f"{point} stands still in frames {first + a}–{first + b}"
    return ""


def scale_of(clip: Analysis) -> ImpliedScale:
    """The size that a motion implies, told by those of its flights that a body could make."""
    return implied_scale(clip, flights=[f for f in clip.flights if not why_no_flight(clip, f)])


def wrong_gravity(clip: Analysis) -> float | None:
    """What the flights fall with in the median, over gravity [1], where it is so far off that no repair should hide it.

    Then the frame rate, the size or the timing is wrong. None where it may be right, or nothing flies, or what hangs in
    the air may not fall at all: no rate would mend that.
    """
    share, unsure = share_of_gravity(clip)
    least, most = at.PLAUSIBLE_GRAVITY
    return None if not share > unsure or least - unsure <= share <= most + unsure else share


def share_of_gravity(clip: Analysis) -> tuple[float, float]:
    """What the flights fall with in the median, over gravity, and twice its uncertainty [1]; NaN if nothing flies."""
    flights = [f for f in clip.flights if not why_no_flight(clip, f, needs_ends=False)]
    if not flights or clip.gravity <= 0.0:
        return math.nan, math.nan
    falls = np.array([f.gravity for f in flights])
    trust = 1.0 / np.maximum([f.gravity_error for f in flights], 1e-6) ** 2
    order = np.argsort(falls)
    middle = int(np.searchsorted(np.cumsum(trust[order]), 0.5 * trust.sum()))
    share = float(falls[order][middle]) / clip.gravity  # the median: a touch that was missed spoils one flight only
    return share, 2.0 / math.sqrt(float(trust.sum())) / clip.gravity


def _contacts(flight: FlightFit, where: str, why: str, profile: Profile) -> Iterator[Finding]:
    limit = profile["contacts"]
    slack = at.SIGMAS * flight.gravity_error / GRAVITY
    if limit.allows(flight.gravity_g) or limit.allows(flight.gravity_g + slack):
        return
    yield Finding(
        "contacts",
        flight.gravity_g,
        limit.passed(flight.gravity_g),
        ((flight.first, flight.last),),
        f"No support was found in frames {flight.first}–{flight.last}, and they are not a flight: {why}",
        (),
        where,
        limit.fails,
    )


def bend_of(flight: FlightFit) -> float:
    """How far 1 g bends a path of this duration off its chord [m]: g T² / 8."""
    return GRAVITY * flight.duration**2 / 8.0


def is_clear(flight: FlightFit, size: float) -> bool:
    """True if a flight is long enough to tell how it falls."""
    return bend_of(flight) >= at.BEND * size and flight.last - flight.first >= 4


def trunk_turns(clip: Analysis, flight: FlightFit) -> Array:
    """Turn of the trunk from each frame of a flight to the next, world axes [rad], shape (n − 1, 3)."""
    turns = clip.motion.world[1][flight.first : flight.last + 1, clip.character.bodies[0].joint]
    return rotations.to_rotation_vector(rotations.multiply(turns[1:], rotations.conjugate(turns[:-1])))


def spin_slack(clip: Analysis, flight: FlightFit) -> float:
    """How uneven the modeled inertia and turns between frames let a steady spin look [rad].

    Turns there and back cancel.
    """
    steps = trunk_turns(clip, flight)
    largest = float(np.linalg.norm(steps, axis=1).max(initial=0.0))
    return float(np.linalg.norm(steps.sum(axis=0))) * (at.INERTIA + at.SAMPLED * largest**2)


@dataclass(frozen=True)
class MassSlack:
    """How far the modeled center of mass may leave the path of the true one within a flight [m].

    Masses are guessed: the center lies off by a little along the trunk and less across it, and a body that turns
    carries that error round. What the turn adds evenly over the flight bends no path and is left out.

    Attributes:
        up: Up or down.
        level: Anywhere over the ground.
    """

    up: float
    level: float


def mass_slack(clip: Analysis, flight: FlightFit) -> MassSlack:
    """The slack of one flight."""
    size, (ahead, side, along) = clip.character.leg_scale, _turned_axes(clip, flight)
    across = at.MASS_CENTER_ACROSS * np.maximum(np.linalg.norm(ahead, axis=1), np.linalg.norm(side, axis=1)).max()
    level = float(np.linalg.norm(along[:, :2], axis=1).max())
    least = at.MASS_CENTER + across
    return MassSlack(
        (least + at.MASS_CENTER_ALONG * float(np.abs(along[:, 2]).max())) * size,
        (least + at.MASS_CENTER_ALONG * level) * size,
    )


def mass_error_bend(clip: Analysis, flight: FlightFit, off: Array) -> Array:
    """The part of a flight's bend over the ground that the likeliest error of the mass center gives [m], shape (n, 2).

    The true center lies at a fixed offset c from the modeled one, in the trunk, which carries it round. The likeliest
    offset is

        argmin  Σ_t |off_t − bent(R_t c)|² / (n σ²) + |c / s|²,

    with σ = `MASS_CENTER` and s = `MASS_CENTER_ACROSS` across the trunk and `MASS_CENTER_ALONG` along it.

    Args:
        clip: The clip.
        flight: One of its flights, n frames long.
        off: How far the center of mass is off its even way over the ground [m], shape (n, 2).
    """
    carried = np.stack([axis[:, :2] for axis in _turned_axes(clip, flight)], axis=2).reshape(-1, 3)
    size = clip.character.leg_scale
    spread = np.array([at.MASS_CENTER_ACROSS, at.MASS_CENTER_ACROSS, at.MASS_CENTER_ALONG]) * size
    trust = 1.0 / (math.sqrt(len(off)) * at.MASS_CENTER * size)
    rows = np.concatenate([trust * carried, np.diag(1.0 / spread)])
    offset = np.linalg.lstsq(rows, np.concatenate([trust * off.ravel(), np.zeros(3)]))[0]
    return (carried @ offset).reshape(off.shape)


def _turned_axes(clip: Analysis, flight: FlightFit) -> list[Array]:
    """Ways of the tips of x, y and z as the trunk turns in a flight, off their even ways, shapes (n, 3)."""
    turns = clip.motion.world[1][flight.first : flight.last + 1, clip.character.bodies[0].joint]
    turns = rotations.multiply(turns, rotations.conjugate(turns[:1]))
    return [_bent(rotations.rotate(turns, axis)) for axis in np.eye(3)]


def _bent(path: Array) -> Array:
    """A path (n, 3) off the even way from its start to its end."""
    share = np.linspace(0.0, 1.0, len(path))[:, None]
    return path - path[0] - share * (path[-1] - path[0])


def is_on_the_spot(clip: Analysis, flight: FlightFit) -> bool:
    """True if a flight hardly goes anywhere: then nothing is along it, and nothing aside."""
    return flight.track_length < at.SHORT_LINE * clip.character.leg_length


def _gravity(clip: Analysis, flight: FlightFit, where: str, profile: Profile) -> Iterator[Finding]:
    limit, leg = profile["gravity"], clip.character.leg_length
    if not limit.is_checked or not is_clear(flight, clip.character.leg_scale):
        return
    modeled = 8.0 * mass_slack(clip, flight).up / flight.duration**2
    slack = math.hypot(at.SIGMAS * flight.gravity_error, modeled) / GRAVITY
    nearest = min(max(flight.gravity_g, limit.least), limit.most)
    if limit.allows(flight.gravity_g) or abs(flight.gravity_g - nearest) <= slack:
        return
    heavy = flight.gravity_g > limit.most
    cures = [*gravity_cures(flight.first, flight.last, clip.motion.dt, flight.gravity_g, limit, leg)]
    if flight.gravity_g > FALLS:
        cures += height_cure(clip, 1.0 / flight.gravity_g)
        cures.append(_ballistic("give the flight the frames it needs", flight, 0.5 * abs(math.log(flight.gravity_g))))
    seconds = f"{flight.last - flight.first + 1} frames ({flight.duration:.2f} s)"
    yield Finding(
        "gravity",
        flight.gravity_g,
        limit.passed(flight.gravity_g),
        ((flight.first, flight.last),),
        f"{where.capitalize()} of {seconds} falls at {flight.gravity_g:.2f} g: "
        + ("it comes down too fast for its height" if heavy else "it hangs too long for its height"),
        ranked(cures),
        where,
        limit.fails,
    )


def _arc(clip: Analysis, flight: FlightFit, where: str, profile: Profile) -> Iterator[Finding]:
    limit, leg = profile["arc"], clip.character.leg_length
    if not limit.is_checked or not is_clear(flight, clip.character.leg_scale):
        return
    seen = at.SEEN_UP * clip.character.leg_scale + mass_slack(clip, flight).up
    off = clip.com[flight.first : flight.last + 1, 2] - parabola_height(flight, clip.times)
    worst = int(np.argmax(np.abs(off)))
    far = float(abs(off[worst]))
    ratio = far / bend_of(flight)
    if limit.allows(ratio) or far < seen:
        return
    bad = stretches(np.abs(off) > max(limit.most * bend_of(flight), seen), flight.first)
    frame = flight.first + worst
    word = "lower" if off[worst] > 0.0 else "raise"
    yield Finding(
        "arc",
        ratio,
        limit.most,
        bad,
        f"{where.capitalize()} leaves its parabola by {length_words(far)} at frame {frame}",
        ranked(
            [
                Cure(
                    f"{word} the hips {length_words(far)} at frame {frame}, less and less toward frames {flight.first} "
                    f"and {flight.last}",
                    far / leg,
                ),
                _ballistic("let the path follow the parabola", flight, far / leg),
            ]
        ),
        where,
        limit.fails,
    )


def _ballistic(action: str, flight: FlightFit, cost: float) -> Cure:
    """The same done by `poise edit ballistic`, ranked just behind the cure by hand."""
    return Cure(f"{action}: poise edit ballistic --flight {flight.first}:{flight.last}", cost + 1e-6)


def _track(clip: Analysis, flight: FlightFit, where: str, profile: Profile) -> Iterator[Finding]:
    leg, limit = clip.character.leg_length, profile["track"].scaled(clip.character.leg_scale)
    path = clip.com[flight.first : flight.last + 1, :2]
    line = path[-1] - path[0]
    share = (clip.times[flight.first : flight.last + 1] - flight.start_s)[:, None] / max(flight.duration, 1e-9)
    off = path - path[0] - share * line  # a free body covers even ground in even times
    off = off - mass_error_bend(clip, flight, off)
    if not is_on_the_spot(clip, flight):
        off = off - np.outer(off @ line, line) / float(line @ line)
    size = np.linalg.norm(off, axis=1)
    worst = int(np.argmax(size))
    far = float(size[worst])
    if not limit.is_checked or far <= limit.most:
        return
    frame = flight.first + worst
    way = way_word(-off[worst], facing_at(clip, frame))
    yield Finding(
        "track",
        far,
        limit.most,
        stretches(size > limit.most, flight.first),
        f"{where.capitalize()} curves: seen from above it is {length_words(far)} beside its straight line of "
        f"{length_words(flight.track_length)} at frame {frame}",
        ranked(
            [
                Cure(
                    f"move the hips {length_words(far)} {way} at frame {frame}, less and less toward frames "
                    f"{flight.first} and {flight.last}",
                    far / leg,
                ),
                _ballistic("let the path be straight", flight, far / leg),
            ]
        ),
        where,
        limit.fails,
    )


def _changes_pace(here: float, even: float, when: str) -> str:
    """How a flight that goes ahead at `even` differs at one frame, where it goes ahead at `here` [m/s]."""
    if here < 0.0:
        return f"turns back in the air: {-here:.2f} m/s backward {when}"
    return f"{'speeds up' if here > even else 'slows down'} in the air: {here:.2f} m/s over the ground {when}"


def _drift(clip: Analysis, flight: FlightFit, where: str, profile: Profile) -> Iterator[Finding]:
    limit, leg = profile["drift"], clip.character.leg_length
    if not limit.is_checked or flight.last - flight.first < 4:
        return
    level, change = horizontal_speeds(clip, flight)
    scale = max(float(np.linalg.norm(level)), math.sqrt(GRAVITY * leg))
    size = np.linalg.norm(change, axis=1) / scale
    worst = int(np.argmax(size))
    ratio = float(size[worst])
    path = clip.com[flight.first : flight.last + 1, :2]
    share = (clip.times[flight.first : flight.last + 1] - flight.start_s)[:, None] / flight.duration
    moved = float(np.linalg.norm(path - path[0] - share * (path[-1] - path[0]), axis=1).max(initial=0.0))
    seen = max(profile["track"].most, at.SEEN_LEVEL) * clip.character.leg_scale + mass_slack(clip, flight).level
    if limit.allows(ratio) or ratio * scale < SEEN_SPEED * math.sqrt(clip.character.leg_scale) or moved < seen:
        return
    frame = flight.first + worst
    even = float(np.linalg.norm(level))
    here = float((level + change[worst]) @ level) / max(even, 1e-9)
    yield Finding(
        "drift",
        ratio,
        limit.most,
        stretches(size > limit.most, flight.first),
        f"{where.capitalize()} {_changes_pace(here, even, f'at frame {frame}')}, {even:.2f} m/s on the whole",
        ranked(
            [
                Cure(
                    f"space the hips evenly from frame {flight.first} to {flight.last}, which moves them "
                    f"{length_words(moved)} at most",
                    moved / leg,
                ),
                _ballistic("let the path be even", flight, moved / leg),
            ]
        ),
        where,
        limit.fails,
    )


def horizontal_speeds(clip: Analysis, flight: FlightFit) -> tuple[Array, Array]:
    """Mean horizontal velocity of a flight (2,), and what each frame's differs by [m/s], shape (n, 2).

    From a parabola through the raw path over the ground: the momenta of the filtered motion carry the push of take-off
    and landing into the flight's ends.
    """
    t = clip.times[flight.first : flight.last + 1] - flight.start_s
    path = clip.com[flight.first : flight.last + 1, :2]
    curve = np.polynomial.polynomial.polyfit(t, path, 2)
    velocity: Array = np.add(curve[1], np.multiply.outer(2.0 * t, curve[2]))
    level = (path[-1] - path[0]) / max(flight.duration, 1e-9)
    return level, velocity - level


def _spin(
    clip: Analysis, flight: FlightFit, where: str, profile: Profile, *, trials: Trials | None
) -> Iterator[Finding]:
    limit = profile["spin"]
    if not limit.is_checked or flight.last - flight.first < 4:
        return
    span = f"--flight {flight.first}:{flight.last}"
    try:
        turn = off_steady(Tumble.of(clip.motion, clip.character, flight.first, flight.last))
    except PoiseError:
        yield Finding(
            "spin",
            180.0,
            limit.most,
            ((flight.first, flight.last),),
            f"{where.capitalize()} changes its spin so much that no turn of the whole body makes it steady",
            tuple(_swing(clip, flight, limit.most, span, 0.0, trials=trials)),
            where,
            limit.fails,
        )
        return
    size = np.linalg.norm(turn, axis=1)
    most = int(np.argmax(size))
    degrees = math.degrees(float(size[most]))
    most_allowed = limit.most + math.degrees(spin_slack(clip, flight))
    if degrees <= most_allowed:
        return
    frame, landing = flight.first + most, math.degrees(float(size[-1]))
    word = turn_word(turn[most], facing_at(clip, frame))
    fading = f"less and less toward frames {flight.first} and {flight.last}"
    if landing > at.LANDS_TURNED:
        fading = f"less and less toward frame {flight.first}, and {landing:.0f}° still at frame {flight.last}"
    swung = _swing(clip, flight, most_allowed, span, float(size[most]), trials=trials)
    yield Finding(
        "spin",
        degrees,
        most_allowed,
        stretches(size > math.radians(most_allowed), flight.first),
        f"{where.capitalize()} gains and loses spin with nothing to push against: by frame {frame} the body is "
        f"{degrees:.0f}° from where steady spin would have it",
        ranked(
            [
                Cure(
                    f"{word} the whole body {degrees:.0f}° at frame {frame}, {fading} (poise edit spin {span})",
                    float(size[most]),
                ),
                *swung,
            ]
        ),
        where,
        limit.fails,
        tried=("swinging the free limbs against it",) * (not swung),
    )


def _swing(
    clip: Analysis, flight: FlightFit, most: float, span: str, cost: float, *, trials: Trials | None
) -> list[Cure]:
    """Swing the limbs against the spin: named, or tried, since their limits have a say, and offered where it does."""
    command = f"poise edit spin {span} --by pose"
    if trials is None:
        return [Cure(f"swing the free limbs against it: {command} (not tried; --try-cures tries it)", cost + 1e-6)]
    tried = trials.swing(clip, (flight.first, flight.last))
    if tried is None or tried[0] > most:
        return []
    left, turn = tried
    cost = max(cost, math.radians(turn)) + 1e-6
    return [Cure(f"swing the free limbs against it, by up to {turn:.0f}°, which leaves {left:.1f}°: {command}", cost)]


def parabola_height(flight: FlightFit, times: Array) -> Array:
    """Height of the fitted parabola at the flight's frames [m], shape (n,); `times` are the clip's (F,) [s]."""
    t = times[flight.first : flight.last + 1] - flight.start_s
    return flight.start[2] + t * flight.velocity[2] - 0.5 * flight.gravity * t * t
