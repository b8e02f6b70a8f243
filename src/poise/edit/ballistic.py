"""The center of mass on a ballistic path: by moving the root, and by giving the flight the time it needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.edit.budget import Budget, Scope
from poise.edit.flight import Carry, Figure, Span, absorb, choose_flights, measure, windows
from poise.edit.legs import move_root
from poise.edit.paths import UP, BallisticPath, fit_path, gravity_vector, path_between, path_from_start
from poise.edit.report import Changes, Edited, hurried, report_of, verified
from poise.edit.retime import Stretch, Timing, border, retimed, stretched

FACTORS = (0.25, 4.0)
"""Outside of this no flight is retimed: what was taken for a flight falls in no way that timing could cure [1]."""


@dataclass(frozen=True)
class PathTarget:
    """What a path must do; what is left open comes from the clip.

    Example:
        >>> target = poise.edit.PathTarget(duration=0.6)  # for poise.edit.ballistic(motion, target=target)

    Attributes:
        start: Center of mass at take-off [m], shape (3,).
        end: At landing [m], shape (3,).
        duration: From one to the other [s]; taken to whole frames.
        start_velocity: At take-off [m/s], shape (3,); leaves the end open.
        end_velocity: At landing [m/s], shape (3,); leaves the start open.
    """

    start: Array | None = None
    end: Array | None = None
    duration: float | None = None
    start_velocity: Array | None = None
    end_velocity: Array | None = None

    def __post_init__(self) -> None:
        if self.start_velocity is not None and self.end_velocity is not None:
            raise InvalidValue("A path has one velocity to choose: give it at the start or at the end.")
        if (self.start_velocity is not None or self.end_velocity is not None) and not (
            self.start is None or self.end is None
        ):
            raise InvalidValue("Start, end and a velocity together determine the path twice; leave one of them out.")
        if self.duration is not None and not (math.isfinite(self.duration) and self.duration > 0.0):
            raise InvalidValue(f"duration is {self.duration} s; give a positive time.")

    @property
    def is_open(self) -> bool:
        """True if nothing is asked for."""
        return all(x is None for x in (self.start, self.end, self.duration, self.start_velocity, self.end_velocity))

    def path(self, start: Array, end: Array, duration: float, gravity: Array) -> BallisticPath:
        """The path of this duration [s], with the clip's own start and end [m] where none are given."""
        velocity = self.start_velocity
        if self.end_velocity is not None:
            velocity = np.asarray(self.end_velocity, dtype=np.float64) - duration * gravity
        if velocity is None:
            start = start if self.start is None else self.start
            end = end if self.end is None else self.end
            return path_between(start, end, duration, gravity=gravity)
        velocity = np.asarray(velocity, dtype=np.float64)
        from_end = self.end is not None or (self.end_velocity is not None and self.start is None)
        if from_end:
            end = end if self.end is None else np.asarray(self.end, dtype=np.float64)
            start = end - duration * velocity - 0.5 * duration**2 * gravity
        elif self.start is not None:
            start = self.start
        return path_from_start(start, velocity, duration, gravity=gravity)


def ballistic(
    motion: Motion,
    character: Character | None = None,
    *,
    flights: str | Sequence[Span] = "all",
    keep: str = "ends",
    gravity: float | Array = GRAVITY,
    up: Array = UP,
    target: PathTarget | None = None,
    scope: Scope | None = None,
    budget: Budget | None = None,
    verify: bool = True,
) -> Edited:
    """Put the center of mass of each flight on a ballistic path, by moving the root; joint angles stay.

    With keep "ends", the flight takes as many frames as a fall under `gravity` along the clip's own path needs, and
    begins and ends where it did; around it the speed of the clip comes and goes smoothly, and what lies beyond keeps
    its frames. With keep "timing", every frame stays at its time and the height of the path gives.

    Just outside of the flight the root is led smoothly into the new path (a deeper crouch for a higher jump) while
    the legs keep the feet where they were.

    Example:
        >>> hop = poise.load(poise.sample_path("hover_hop"))
        >>> edited = poise.edit.ballistic(hop, keep="timing", verify=False)

    Args:
        motion: F frames.
        character: Fitted to the motion if not given; a motion of one joint is an object and needs none.
        flights: "all", or first and last frame of each.
        keep: "ends" or "timing".
        gravity: Strength along -up [m/s²], or the vector, shape (3,).
        up: Direction against gravity, shape (3,).
        target: Start, end, duration or velocity of the path; for one flight. What comes before the flight moves with
            its start, what follows it with its end.
        scope: Amount, interval and blend.
        budget: What may change at most.
        verify: Check the result, and say in the report what is new.

    Raises:
        InvalidValue: if there is no flight, several with a target for one, or one that no timing can cure.
        BudgetExceeded: if more would change than the budget allows.

    Source: [ShapiroLee2011]_ "Ballistic Paths". Deviates: the paper leaves take-off and landing to the animator.
    """
    scope, target = scope or Scope(), target or PathTarget()
    if keep not in ("ends", "timing"):
        raise InvalidValue(f"keep is {keep!r}; give 'ends' or 'timing'.")
    g = gravity_vector(gravity, up)
    figure = Figure.of(motion, character)
    spans = choose_flights(motion, figure, flights, scope)
    if not target.is_open and len(spans) > 1:
        listed = ", ".join(f"{a}:{b}" for a, b in spans)
        raise InvalidValue(
            f"A path was given and the clip has {len(spans)} flights: {listed}. Say which: --flight A:B."
        )
    if not target.is_open and scope.interval is not None and not (target.start is None and target.end is None):
        raise InvalidValue("A path with new ends moves the rest of the clip too; leave the interval out.")
    com = figure.com(motion)
    before = [_measures(motion, figure, com, span, g) for span in spans]
    notes: list[str] = []
    if scope.amount == 0.0:
        played, timing, placed = motion, Timing(motion.times, motion.times), spans
    else:
        played, timing, placed = _timed(motion, com, spans, keep, g, target, scope, notes)
    moving = com if played is motion else figure.com(played)
    result, paths, kept = _on_paths(played, figure, moving, placed, g, target, scope)
    final = figure.com(result)
    after = [_measures(result, figure, final, span, g) for span in placed]
    flying = np.zeros(result.frame_count, dtype=bool)
    for span in placed:
        flying[span[0] : span[1] + 1] = True
    changes = Changes.between(played, result, figure.root)
    off = max(
        float(np.linalg.norm(path.position(_clock(result, span)) - final[span[0] : span[1] + 1], axis=1).max())
        for path, span in zip(paths, placed)
    )
    kept |= {
        "joint_angle_in_flight_max_deg": math.degrees(float(changes.angles[flying].max())),
        "path_error_max_m": off if scope.amount == 1.0 else None,
    }
    report = report_of(
        "ballistic",
        motion,
        result,
        changes,
        settings={
            "keep": keep,
            "gravity_m_s2": g,
            "amount": scope.amount,
            "blend_s": scope.blend,
            "interval": scope.interval,
        },
        before={"flights": before, "frames": motion.frame_count},
        after={"flights": after, "frames": result.frame_count},
        kept=kept,
        budget=budget,
        amount=scope.amount,
        notes=tuple(notes),
    )
    report.data["changed"]["time_max_s"] = float(np.abs(timing.times - timing.source).max())
    report.data["paths"] = [_describe(path) for path in paths]
    said, report.data["hurried"] = hurried(motion, result, timing.source, figure.leg_length / HUMAN_LEG)
    if said:
        report.data["notes"].append(
            f"{said} Calm the limbs in the flight first, or leave it as it is (mend: --only, without gravity); "
            "ballistic --keep timing keeps their pace and makes the flight as high as its time needs."
        )
    edited = Edited(result, report)

    def less(amount: float) -> Edited:
        part = replace(scope, amount=amount)
        return ballistic(
            motion, character, flights=spans, keep=keep, gravity=gravity, up=up, target=target, scope=part, verify=False
        )

    if not verify or figure.character is None:
        return edited
    moments = np.interp(timing.source, motion.times, np.arange(motion.frame_count, dtype=np.float64))
    return verified(edited, motion, character, less, moments=moments)


def _timed(
    motion: Motion,
    com: Array,
    spans: tuple[Span, ...],
    keep: str,
    g: Array,
    target: PathTarget,
    scope: Scope,
    notes: list[str],
) -> tuple[Motion, Timing, tuple[Span, ...]]:
    """The motion with each flight as long as it needs to be, and where the flights then are."""
    parts: list[Stretch] = []
    for span, window in zip(spans, windows(motion, spans, scope)):
        seconds = float(motion.times[span[1]] - motion.times[span[0]])
        own = seconds / motion.dt
        if target.duration is not None:
            factor = target.duration / seconds
        elif keep == "timing" or not target.is_open:
            continue
        else:
            factor = _factor(motion, com, span, g)
        steps = max(2, round(own * (1.0 + (factor - 1.0) * scope.amount)))
        if target.duration is not None and abs(steps * motion.dt - target.duration) > 1e-6 and scope.amount == 1.0:
            notes.append(
                f"{target.duration:g} s is not a whole number of frames; the flight takes {steps * motion.dt:.4g} s."
            )
        if steps == round(own):
            continue
        factor = steps / own
        if window[0] < span[0]:
            parts.append(border(motion, window[0], span[0], factor, leads_in=True))
        parts.append(Stretch(span[0], span[1], steps))
        if span[1] < window[1]:
            parts.append(border(motion, span[1], window[1], factor, leads_in=False))
    if not parts:
        return motion, Timing(motion.times, motion.times), spans
    timing = stretched(motion, parts)
    placed = tuple((timing.frame(float(motion.times[a])), timing.frame(float(motion.times[b]))) for a, b in spans)
    return retimed(motion, timing), timing, placed


def _factor(motion: Motion, com: Array, span: Span, g: Array) -> float:
    """How many times longer the flight must last for its own path to fall with g."""
    strength = float(np.linalg.norm(g))
    inside = slice(span[0], span[1] + 1)
    up = -g / strength if strength > 0.0 else UP
    seen = -float(fit_path(motion.times[inside], com[inside], up=up).acceleration @ up)
    factor = math.sqrt(seen / strength) if seen > 0.0 and strength > 0.0 else 0.0
    if not FACTORS[0] <= factor <= FACTORS[1]:
        raise InvalidValue(
            f"Flight {span[0]}:{span[1]} falls with {seen:.2f} m/s²; no timing changes that to {strength:.2f} m/s². "
            "Keep its timing and change the height of the path (--keep timing), or name another flight."
        )
    return factor


def _on_paths(
    motion: Motion, figure: Figure, com: Array, spans: tuple[Span, ...], g: Array, target: PathTarget, scope: Scope
) -> tuple[Motion, list[BallisticPath], dict[str, Any]]:
    """The root moved so that the center of mass follows its paths; paths, and how well the feet kept their place."""
    shift, carried = np.zeros((motion.frame_count, 3)), np.zeros((motion.frame_count, 3))
    paths: list[BallisticPath] = []
    carries: list[Carry] = []
    for span, window in zip(spans, windows(motion, spans, scope)):
        a, b = span
        clock = _clock(motion, span)
        path = target.path(com[a], com[b], float(clock[-1]), g)
        paths.append(path)
        shift[a : b + 1] = scope.amount * (path.position(clock) - com[a : b + 1])
        if not target.is_open:
            carried[:a], carried[b + 1 :] = shift[a], shift[b]
            carried[a : b + 1] = shift[a : b + 1]
        leaving, landing = path.velocity, path.velocity_at(float(clock[-1]))
        if window[0] < a:
            carries.append(Carry(a, window[0], scope.amount * (leaving - _slope(motion.times, com, a))))
        if b < window[1]:
            carries.append(Carry(b, window[1], scope.amount * (landing - _slope(motion.times, com, b))))
    inside = np.zeros(motion.frame_count, dtype=bool)
    for a, b in spans:
        inside[a : b + 1] = True
    shift = np.where(inside[:, None], shift, carried)
    if not shift.any() and not any(c.slope.any() for c in carries):
        return motion, paths, {"feet_error_max_m": 0.0}
    moved = move_root(motion, figure.root, shift) if shift.any() else motion
    result, error = absorb(moved, figure.character, figure.root, carries)
    return result, paths, {"feet_error_max_m": error}


def _slope(times: Array, values: Array, frame: int) -> Array:
    """Rate of change at a frame by a central difference, one-sided at the ends of the clip."""
    before, after = max(frame - 1, 0), min(frame + 1, len(times) - 1)
    return (values[after] - values[before]) / (times[after] - times[before])


def _clock(motion: Motion, span: Span) -> Array:
    """Time of each frame of a flight from its first one [s]."""
    return motion.times[span[0] : span[1] + 1] - motion.times[span[0]]


def _measures(motion: Motion, figure: Figure, com: Array, span: Span, g: Array) -> dict[str, Any]:
    fit = measure(motion, figure, com, span)
    clock = _clock(motion, span)
    path = path_between(com[span[0]], com[span[1]], float(clock[-1]), gravity=g)
    return {
        "frames": list(span),
        "start_s": float(motion.times[span[0]]),
        "end_s": float(motion.times[span[1]]),
        "gravity_g": fit.gravity_g,
        "rise_m": fit.rise,
        "track_error": fit.track_error,
        "linear_momentum_error": float(np.abs(fit.linear_error).max()),
        "path_error_max_m": float(np.linalg.norm(path.position(clock) - com[span[0] : span[1] + 1], axis=1).max()),
    }


def _describe(path: BallisticPath) -> dict[str, Any]:
    return {
        "start_m": path.start.tolist(),
        "end_m": path.end.tolist(),
        "start_velocity_m_s": path.velocity.tolist(),
        "end_velocity_m_s": path.end_velocity.tolist(),
        "duration_s": path.duration,
        "rise_m": path.rise,
    }
