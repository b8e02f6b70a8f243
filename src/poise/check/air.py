"""What a flight can have wrong: gravity, arc, track, drift, spin; each with its cures."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from poise.analysis.analyze import Analysis
from poise.analysis.flights import FlightFit
from poise.check.finding import Cure, Finding, ranked
from poise.check.flight_cures import gravity_cures
from poise.check.profile import Limit, Profile
from poise.check.words import facing_at, length_words, stretches, turn_word, way_word
from poise.core.errors import PoiseError
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.edit.angular_momentum import Tumble, off_steady
from poise.edit.spin import spin
from poise.phases.flights import implied_fps

Array = npt.NDArray[np.float64]

BEND = 0.02
"""A flight that bends less than this off its chord, for a leg of 0.82 m, says nothing of gravity or arc [m]."""
SIGMAS = 2.0
"""A flight's gravity is called wrong where it is outside by this many standard errors of the fit [1]."""
SEEN, SEEN_ASIDE = 0.01, 0.04
"""A center of mass nearer to where it should be than this, up or aside, for a leg of 0.82 m, is no fault [m]: aside the
fitted masses place it no better."""
SEEN_SPEED = 0.15
"""The same of its horizontal speed [m/s]."""
LANDS_TURNED = 3.0
"""A cure says so where the body lands turned by more than this [deg]."""
SURE = 0.7
"""Confidence from which a frame rate is called wrong [1]: two flights that agree have it, one alone has not."""


def flight_findings(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    """Everything wrong in the air, flight by flight."""
    for number, flight in enumerate(clip.flights, 1):
        where = f"flight {number}" if len(clip.flights) > 1 else "flight"
        yield from _gravity(clip, flight, where, profile)
        yield from _arc(clip, flight, where, profile)
        yield from _track(clip, flight, where, profile)
        yield from _drift(clip, flight, where, profile)
        yield from _spin(clip, flight, where, profile)


def bend_of(flight: FlightFit) -> float:
    """How far 1 g bends a path of this duration off its chord [m]: g T² / 8."""
    return GRAVITY * flight.duration**2 / 8.0


def is_clear(flight: FlightFit, leg: float) -> bool:
    """True if a flight is long enough to tell how it falls."""
    return bend_of(flight) >= BEND * leg / HUMAN_LEG and flight.last - flight.first >= 4


def frame_rate_findings(clip: Analysis, profile: Profile) -> Iterator[Finding]:
    """A label that the flights contradict, if they agree with each other."""
    limit = profile["frame-rate"]
    rate = implied_fps(clip.motion, floor=clip.floor)
    label = clip.motion.fps
    ratio = rate.fps / label
    if not limit.is_checked or rate.confidence < SURE or limit.allows(ratio):
        return
    factor = label / rate.fps
    word = "slower" if factor > 1.0 else "faster"
    times = f"{factor if factor > 1.0 else 1.0 / factor:.3g}"
    yield Finding(
        "frame-rate", ratio, limit.passed(ratio), tuple((f.first, f.last) for f in clip.flights),
        f"The clip plays at the wrong speed: {rate.reason}",
        ranked([
            Cure(f"read it at {rate.fps:g} frames/s: --source-fps {rate.fps:g} (it then plays {times} × {word})", 0.0),
            Cure(
                f"if it is meant to be at {label:.4g} frames/s, retime the whole clip by {factor:.3g} "
                f"(poise edit retime --factor {factor:.3g})",
                abs(math.log(factor)),
            ),
        ]),
        "whole clip", limit.fails,
    )  # fmt: skip


def _gravity(clip: Analysis, flight: FlightFit, where: str, profile: Profile) -> Iterator[Finding]:
    limit, leg = profile["gravity"], clip.character.leg_length
    if not limit.is_checked or not is_clear(flight, leg):
        return
    slack = SIGMAS * flight.gravity_error / GRAVITY
    nearest = min(max(flight.gravity_g, limit.least), limit.most)
    if limit.allows(flight.gravity_g) or abs(flight.gravity_g - nearest) <= slack:
        return
    heavy = flight.gravity_g > limit.most
    seconds = f"{flight.last - flight.first + 1} frames ({flight.duration:.2f} s)"
    yield Finding(
        "gravity", flight.gravity_g, limit.passed(flight.gravity_g), ((flight.first, flight.last),),
        f"{where.capitalize()} of {seconds} falls at {flight.gravity_g:.2f} g: "
        + ("it comes down too fast for its height" if heavy else "it hangs too long for its height"),
        gravity_cures(flight.first, flight.last, clip.motion.dt, flight.gravity_g, limit, leg),
        where, limit.fails,
    )  # fmt: skip


def _arc(clip: Analysis, flight: FlightFit, where: str, profile: Profile) -> Iterator[Finding]:
    limit, leg = profile["arc"], clip.character.leg_length
    if not limit.is_checked or not is_clear(flight, leg):
        return
    off = clip.com[flight.first : flight.last + 1, 2] - parabola_height(flight, clip.times)
    worst = int(np.argmax(np.abs(off)))
    far = float(abs(off[worst]))
    ratio = far / bend_of(flight)
    if limit.allows(ratio) or far < SEEN * leg / HUMAN_LEG:
        return
    bad = stretches(np.abs(off) > max(limit.most * bend_of(flight), SEEN * leg / HUMAN_LEG), flight.first)
    frame = flight.first + worst
    word = "lower" if off[worst] > 0.0 else "raise"
    yield Finding(
        "arc", ratio, limit.most, bad,
        f"{where.capitalize()} leaves its parabola by {length_words(far)} at frame {frame}",
        ranked([
            Cure(f"{word} the hips {length_words(far)} at frame {frame}, less and less toward frames {flight.first} "
                 f"and {flight.last}", far / leg),
            _ballistic("let the path follow the parabola", flight, far / leg),
        ]),
        where, limit.fails,
    )  # fmt: skip


def _ballistic(words: str, flight: FlightFit, cost: float) -> Cure:
    """The same done by `poise edit ballistic`, ranked just behind the cure by hand."""
    return Cure(f"{words}: poise edit ballistic --flight {flight.first}:{flight.last}", cost + 1e-6)


def _track(clip: Analysis, flight: FlightFit, where: str, profile: Profile) -> Iterator[Finding]:
    limit, leg = profile["track"], clip.character.leg_length
    far = float(flight.track.max(initial=0.0))
    if not limit.is_checked or limit.allows(flight.track_error) or far < SEEN_ASIDE * leg / HUMAN_LEG:
        return
    worst = int(np.argmax(flight.track))
    frame = flight.first + worst
    path = clip.com[flight.first : flight.last + 1, :2]
    line = path[-1] - path[0]
    on_line = path[0] + line * np.clip((path[worst] - path[0]) @ line / max(float(line @ line), 1e-12), 0.0, 1.0)
    way = way_word(on_line - path[worst], facing_at(clip, frame))
    bad = stretches(flight.track > max(limit.most * flight.track_length, SEEN_ASIDE * leg / HUMAN_LEG), flight.first)
    yield Finding(
        "track", flight.track_error, limit.most, bad,
        f"{where.capitalize()} curves: seen from above it is {length_words(far)} off the straight line of "
        f"{length_words(flight.track_length)} at frame {frame}",
        ranked([
            Cure(f"move the hips {length_words(far)} {way} at frame {frame}, less and less toward frames "
                 f"{flight.first} and {flight.last}", far / leg),
            _ballistic("let the path be straight", flight, far / leg),
        ]),
        where, limit.fails,
    )  # fmt: skip


def _drift(clip: Analysis, flight: FlightFit, where: str, profile: Profile) -> Iterator[Finding]:
    limit, leg = profile["drift"], clip.character.leg_length
    if not limit.is_checked or flight.last - flight.first < 4:
        return
    level, change = horizontal_speeds(clip, flight)
    scale = max(float(np.linalg.norm(level)), math.sqrt(GRAVITY * leg))
    size = np.linalg.norm(change, axis=1) / scale
    worst = int(np.argmax(size))
    ratio = float(size[worst])
    if limit.allows(ratio) or ratio * scale < SEEN_SPEED * math.sqrt(leg / HUMAN_LEG):
        return
    frame = flight.first + worst
    even = float(np.linalg.norm(level))
    here = float((level + change[worst]) @ level) / max(even, 1e-9)
    path = clip.com[flight.first : flight.last + 1, :2]
    share = (clip.times[flight.first : flight.last + 1] - flight.start_s)[:, None] / flight.duration
    moved = float(np.linalg.norm(path - path[0] - share * (path[-1] - path[0]), axis=1).max(initial=0.0))
    yield Finding(
        "drift", ratio, limit.most, stretches(size > limit.most, flight.first),
        f"{where.capitalize()} {'speeds up' if here > even else 'slows down'} in the air: {here:.2f} m/s over the "
        f"ground at frame {frame}, {even:.2f} m/s on the whole",
        ranked([
            Cure(f"space the hips evenly from frame {flight.first} to {flight.last}, which moves them "
                 f"{length_words(moved)} at most", moved / leg),
            _ballistic("let the path be even", flight, moved / leg),
        ]),
        where, limit.fails,
    )  # fmt: skip


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


def _spin(clip: Analysis, flight: FlightFit, where: str, profile: Profile) -> Iterator[Finding]:
    limit = profile["spin"]
    if not limit.is_checked or flight.last - flight.first < 4:
        return
    span = f"--flight {flight.first}:{flight.last}"
    try:
        turn = off_steady(Tumble.of(clip.motion, clip.character, flight.first, flight.last))
    except PoiseError:
        yield Finding(
            "spin", 180.0, limit.most, ((flight.first, flight.last),),
            f"{where.capitalize()} changes its spin so much that no turn of the whole body makes it steady",
            tuple(_swing(clip, flight, limit, f"poise edit spin {span} --by pose", 0.0)), where, limit.fails,
        )  # fmt: skip
        return
    size = np.linalg.norm(turn, axis=1)
    most = int(np.argmax(size))
    degrees = math.degrees(float(size[most]))
    if limit.allows(degrees):
        return
    frame, landing = flight.first + most, math.degrees(float(size[-1]))
    word = turn_word(turn[most], facing_at(clip, frame))
    fading = f"less and less toward frames {flight.first} and {flight.last}"
    if landing > LANDS_TURNED:
        fading = f"less and less toward frame {flight.first}, and {landing:.0f}° still at frame {flight.last}"
    yield Finding(
        "spin", degrees, limit.most, stretches(size > math.radians(limit.most), flight.first),
        f"{where.capitalize()} gains and loses spin with nothing to push against: by frame {frame} the body is "
        f"{degrees:.0f}° from where steady spin would have it",
        ranked([
            Cure(f"{word} the whole body {degrees:.0f}° at frame {frame}, {fading} (poise edit spin {span})",
                 float(size[most])),
            *_swing(clip, flight, limit, f"poise edit spin {span} --by pose", float(size[most]) + 1e-6),
        ]),
        where, limit.fails,
    )  # fmt: skip


def _swing(clip: Analysis, flight: FlightFit, limit: Limit, command: str, cost: float) -> list[Cure]:
    """Swing the limbs against the spin, where that leaves what is allowed: tried, since their limits have a say."""
    span = (flight.first, flight.last)
    try:
        report = spin(clip.motion, clip.character, flights=[span], by="pose").report
    except PoiseError:
        return []
    left, turn = report["after"]["flights"][0]["turn_off_steady_max_deg"], report["changed"]["joint_angle_max_deg"]
    if left is None or not limit.allows(left):
        return []
    return [Cure(f"swing the free limbs against it, by up to {turn:.0f}°, which leaves {left:.1f}°: {command}", cost)]


def parabola_height(flight: FlightFit, times: Array) -> Array:
    """Height of the fitted parabola at the flight's frames [m], shape (n,); `times` are the clip's (F,) [s]."""
    t = times[flight.first : flight.last + 1] - flight.start_s
    return flight.start[2] + t * flight.velocity[2] - 0.5 * flight.gravity * t * t
