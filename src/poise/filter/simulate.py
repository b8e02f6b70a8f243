"""A clip run: the stream with known contact times, and the deviation put back on the source's frames."""

from __future__ import annotations

import math
import time as clock
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from poise.body.character import Character, fit
from poise.body.posing import (
    apply_deviation,
    interpolate_q,
    motion_to_q,
    other_size,
    other_skeleton,
    require_same_skeleton,
)
from poise.core import rotations
from poise.core.errors import (
    InvalidValue,
    MotionWarning,
    NotForThisClip,
    SimulationDiverged,
    require,
    require_each,
)
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Companion, Force, Surroundings, Thing
from poise.filter.plan import Track
from poise.filter.preset import Preset, load_preset
from poise.filter.reference import ClipSchedule, ReferenceBuilder, Touch
from poise.filter.report import Recorder, SimulationResult
from poise.filter.sensing import Given
from poise.filter.setup import Options
from poise.filter.stream import require_stable
from poise.filter.treadmill import Treadmill
from poise.phases.floor import carrying, laid_under
from poise.phases.glitches import glitch_frames
from poise.physics.state import velocities
from poise.terrain import Terrain

HIGHEST_RATE = 2000.0
"""Highest simulation rate [1/s]; more is a slip of the keyboard."""
FINEST_RATE = 500.0
"""A run that diverges at its own rate begins again at twice of it, up to so many steps a second [1/s]."""
UNEXPLAINED = 5.0 / 70.0
"""So does a fall that gains more energy than this which no force gave [J/kg]."""
AMONG_BODIES = 100.0
"""Least simulation rate among bodies that move [1/s]."""
SOON = 0.1
"""A clip that begins with glitches is stood up in a pose no later than this after them [s]."""
SHORTEST_LEG, LONGEST_LEG = 1e-2, 1e3
"""Legs that a run makes sense for [m]; others are a wrong unit."""
SLOWEST = 0.1
"""Contacts of a clip that stands still come and go as if it ran at this part of its speed."""


@dataclass(frozen=True)
class Live:
    """What a callback may look at and push while a clip runs.

    Attributes:
        time: Simulated time [s].
        fraction: Part of the clip that is done.
        figure: The running filter.
        push: Adds a push or pull from now on.
    """

    time: float
    fraction: float
    figure: SimulatedCharacter
    push: Callable[[Force], None]


class ClipWorld(Surroundings, Protocol):
    """Bodies and figures around a clip's figure: `poise.World`."""

    def ground(self, character: Character, terrain: Terrain | None = None) -> Terrain:
        """A ground with the bodies that a figure can step on."""
        ...

    def join(self, playback: Playback, way: Array) -> None:
        """Begin with the figure of a clip, which will go through horizontal places [m], shape (N, 2)."""

    def advance_clip(self, pushes: Sequence[Force]) -> tuple[Given, float]:
        """Move the clip on by one step: what the figure is given for it, and the frame of the clip after it."""
        ...

    def report(self) -> dict[str, Any]:
        """What a run's report says under "scene"."""
        ...

    def things(self) -> tuple[Thing, ...]:
        """The bodies over time."""
        ...

    def companions(self) -> tuple[Companion, ...]:
        """The other figures over time."""
        ...


def simulate(
    motion: Motion,
    character: Character | None = None,
    *,
    terrain: Terrain | None = None,
    pushes: Sequence[Force] = (),
    preset: str | Preset = "recommended",
    options: Options | None = None,
    fps: float | None = None,
    floor: float | None = None,
    amount: float = 1.0,
    only: Sequence[str] = (),
    freeze: Sequence[str] = (),
    watch: Callable[[Live], bool | None] | None = None,
    get_up: Motion | None = None,
    world: ClipWorld | None = None,
) -> SimulationResult:
    """Give a clip physical reactions: shoves, slopes, stairs; with nothing disturbing it, the clip itself.

    Example:
        >>> result = poise.simulate(motion, pushes=[poise.Push("chest", (0.0, 150.0, 0.0), start=0.1)])
        >>> poise.save(result.motion, "pushed.bvh")

    Args:
        motion: Source frames.
        character: Fitted to the motion if not given.
        terrain: Flat if not given; slopes, steps and stairs are turned to the clip's direction of travel.
        pushes: Pushes and pulls.
        preset: Name of a preset, or the preset.
        options: Goal, physicality, friction, engine.
        fps: Simulation rate [1/s]; by default the source's times the smallest whole number that gives 50 Hz, and twice,
            four or eight times that where blows are so hard that the run diverges, or a fall gains energy.
        floor: Height of the source's floor [m]; found from the clip if not given.
        amount: Part of the deviation that is kept in the result, 0 … 1.
        only: Joints (or roles) that may deviate; all if empty.
        freeze: Joints (or roles) that keep their source rotation.
        watch: Called after every step; returning False stops the run, and what is done is kept.
        get_up: A clip of the same skeleton, from lying to standing, that brings a figure back that fell.
        world: Bodies around the figure, a `poise.World`. The clip runs slower where they hold the figure back, and the
            figure stops before what does not yield.

    Raises:
        InvalidValue: if the rate is one at which the preset's gains are unstable, or an argument makes no sense.
        SimulationDiverged: if the run leaves the range where its answer means anything.
    """
    require(Motion, motion=motion)
    require(Motion, NoneType, get_up=get_up)
    require(Character, NoneType, character=character)
    require(Terrain, NoneType, terrain=terrain)
    require(Options, NoneType, options=options)
    require(str, Preset, preset=preset)
    require_each(Force, pushes=pushes)
    require_each(str, only=only, freeze=freeze)
    if motion.frame_count < 3:
        raise NotForThisClip(f"A run needs at least 3 frames; this motion has {motion.frame_count}.")
    if not 0.0 <= amount <= 1.0:
        raise InvalidValue(f"amount is {amount}; give a number from 0 to 1.")
    preset = load_preset(preset) if isinstance(preset, str) else preset
    options = options or Options()
    character = fit(motion) if character is None else character
    require_same_skeleton(character, motion)
    if not SHORTEST_LEG <= character.leg_length <= LONGEST_LEG:
        raise InvalidValue(
            f"The figure's legs are {character.leg_length:.3g} m long; from {SHORTEST_LEG:g} m to {LONGEST_LEG:g} m a "
            "run makes sense. Read the file with another unit (--unit, or load(unit=...))."
        )
    floor = character.floor if floor is None else floor
    rate = _rate(motion, 50.0 if world is None else AMONG_BODIES) if fps is None else fps
    if not 0.0 < rate <= HIGHEST_RATE:
        raise InvalidValue(f"fps is {rate:g}; give a rate above 0 and up to {HIGHEST_RATE:g}.")
    for name in (*(p.body for p in pushes), *(g.body for g in options.goal_points), *only, *freeze):
        character.body_index(name)  # a name nobody answers to is refused before the run
    loose = _loose(character, only, freeze)
    doubt = other_size(character, motion)
    for sentence in (*without_effect(pushes, motion.duration), *([doubt] if doubt else ())):
        warnings.warn(sentence, MotionWarning, stacklevel=2)
    while True:
        # where it left the bodies of a world, and what `watch` pushed, would be gone
        felt, is_last = list(pushes), fps is not None or world is not None or 2.0 * rate > FINEST_RATE
        try:
            result = _run(
                motion, character, terrain, felt, preset, options, rate, floor, amount, loose, watch, get_up, world
            )
            fall = result.report["fall"]
            is_right = fall is None or fall["unexplained_rise_J"] < UNEXPLAINED * character.mass
            if is_right or is_last or len(felt) > len(pushes) or not result.is_complete:
                return result
        except SimulationDiverged as error:  # blows that turn joints by radians in a step need shorter steps
            if is_last or error.reason != "too fast" or len(felt) > len(pushes):
                raise
        rate *= 2.0


def without_effect(pushes: Sequence[Force], duration: float) -> list[str]:
    """A sentence on each push that starts after the end of a clip [s]."""
    said = "The {0.kind} of {0.body!r} starts at {0.start:g} s, but the clip ends at {1:.2f} s, so it has no effect."
    return [said.format(p, duration) for p in pushes if p.start >= duration]


def _run(
    motion: Motion,
    character: Character,
    terrain: Terrain | None,
    felt: list[Force],
    preset: Preset,
    options: Options,
    rate: float,
    floor: float,
    amount: float,
    loose: frozenset[int],
    watch: Callable[[Live], bool | None] | None,
    get_up: Motion | None,
    world: ClipWorld | None,
) -> SimulationResult:
    """One run at a rate [1/s]; `felt` holds the pushes, and gains those that `watch` adds; `loose` bodies may
    deviate.
    """
    ground = laid_under(terrain, motion, floor)
    belt = Treadmill.under(motion) if ground.is_flat and world is None else Treadmill()
    under = ground if world is None else world.ground(character, ground)
    playback = Playback(motion, character, under, preset, options, rate, floor, get_up, belt)
    figure, q, times, frames = playback.figure, playback.q, playback.times, playback.frame_count
    playback.start()
    simulated, reference = np.empty_like(q), q.copy()
    clip_frames = np.arange(frames, dtype=np.float64)  # they fall behind where something holds the figure
    simulated[0] = figure.q
    if world is not None:
        world.join(playback, q[:: max(1, round(0.1 * rate)), :2])
        figure.world = world
    recorder = Recorder(figure, reference, times, playback.track.points[:, :, 2].min(axis=0))
    lags, pace = np.zeros((frames, 3)), 1.0  # of a treadmill's floor [m], and part of its speed
    done = 1
    began = clock.perf_counter()
    try:
        for k in range(frames - 1):
            started = clock.perf_counter()
            active = [belt.force(p, lags[k], pace) for p in felt if p.is_on(figure.time)]
            if world is None:
                given = playback.at(k, active)
            else:
                given, clip_frames[k + 1] = world.advance_clip(active)
            reference[k + 1] = given.following
            simulated[k + 1] = figure.advance(given)
            pace = belt.pace(pace, figure.fall is not None, playback.dt)
            lags[k + 1] = lags[k] + belt.lag(pace, playback.dt)
            recorder.record(k, clock.perf_counter() - started)
            done = k + 2
            if watch is not None and watch(Live(figure.time, done / frames, figure, felt.append)) is False:
                break
    except KeyboardInterrupt:
        warnings.warn(f"Interrupted at {figure.time:.2f} s; what is done is kept.", MotionWarning, stacklevel=2)
    wall = clock.perf_counter() - began
    times, reference, simulated, lags = times[:done], reference[:done], simulated[:done], lags[:done]
    kept = motion if done == frames else motion.frames(np.flatnonzero(motion.times <= times[-1] + 1e-9))
    if amount < 1.0 or len(loose) < len(character.bodies):
        simulated = _blend(character, reference, simulated, amount, loose)
    own, played = playback.own[:done], kept
    shown = belt.on_spot(simulated, q[:done], own, lags)
    is_slower = clip_frames[done - 1] < done - 1
    if is_slower:
        clip_frames = clip_frames[:done]
        own, played = np.array([playback.pose(frame) for frame in clip_frames]), _slower(kept, times, clip_frames)
    result = carrying(_on_source(character, played, times, own, shown), ground)
    if belt.moves:
        result.found["in_place_velocity"] = belt.velocity  # a pushed walk does not show it as well as its source
    report = recorder.report(
        motion=motion, glitches=playback.glitches, wall=wall, pushes=tuple(felt), simulated=simulated, lags=lags
    )  # fmt: skip
    belt.add_to(report.data)
    if world is not None:
        short = float(np.hypot(*(q[done - 1] - shown[-1])[:2])) if is_slower else 0.0
        report.data["scene"] = {**world.report(), "short_m": short}
    return SimulationResult(
        result,
        kept,
        character,
        ground,
        times,
        shown,
        reference if is_slower else own,
        tuple(felt),
        report,
        playback.goal_points,
        done == frames,
        () if world is None else world.things(),
        () if world is None else world.companions(),
        None if world is None else recorder.touches[:done],
    )


class Playback:
    """A clip under the filter: the figure, and what its steps are given.

    Attributes:
        figure: The running filter.
        q, v: Poses (F, nq) and velocities (F, nv) of the clip.
        times, dt: Of the frames, and between them [s].
        glitches: Frames of the clip that cannot be trusted, shape (F,).
        own: The poses in the frame of the clip, where a walk on the spot stays, shape (F, nq).
        goal_points: Places on bodies that have targets of their own, in the frame of the clip.
    """

    def __init__(
        self,
        motion: Motion,
        character: Character,
        ground: Terrain,
        preset: Preset,
        options: Options,
        rate: float,
        floor: float,
        get_up: Motion | None = None,
        belt: Treadmill | None = None,
    ) -> None:
        """Prepare a clip at a rate [1/s], on a ground that is placed; `floor` is the height of its own [m].

        The figure is simulated in the frame of the floor. That moves in the clip's frame as `belt` says; without it, it
        is at rest.
        """
        belt = belt or Treadmill()
        self.dt = dt = 1.0 / rate
        require_stable(preset, dt)
        self.times = dt * np.arange(max(2, math.floor(motion.duration * rate + 1e-6) + 1), dtype=np.float64)
        self.glitches = _glitches(motion, self.times)
        self.own = motion_to_q(character, motion.resampled(self.times))
        self.q = belt.on_floor(self.own, self.times)
        self.figure = figure = SimulatedCharacter(character, preset, ground, options, dt=dt, floor=floor)
        if get_up is not None:
            if get_up.skeleton.names != motion.skeleton.names:
                raise InvalidValue(
                    f"The clip of getting up: {other_skeleton(get_up.skeleton.names, motion.skeleton.names)}"
                )
            figure.get_up = motion_to_q(character, get_up.resampled(np.arange(0.0, get_up.duration + 1e-9, dt)))
        self.goal_points = tuple(g.timed(motion.times) for g in options.goal_points)
        figure.goal_points = tuple(belt.goal(g) for g in self.goal_points)
        self._builder = builder = ReferenceBuilder(
            figure.model, dt=dt, friction=options.friction, without=figure.goal_without, scale=figure.scale
        )
        self.v = velocities(figure.model, self.q, dt)
        leg = character.leg_length
        self._schedule = ClipSchedule(builder, self.q, self.v, dt=dt, floor=floor, leg_length=leg)
        self._plan = figure.plan(self._schedule.track)
        # a clip often begins with frames that nobody stood in, such as an inserted T-pose
        self._first = _first_standing(self.glitches, self._schedule.flags, dt)
        if self._plan is not None:
            self._schedule.let_go(self._plan.flags)

    @property
    def frame_count(self) -> int:
        return len(self.times)

    def start(self) -> None:
        """Stand the figure up where the clip begins."""
        figure, q, v, first = self.figure, self.q, self.v, self._first
        figure.start(q[first], v[first])
        still = np.zeros_like(v[0])
        standing = self._builder.frame(q[first], still, still, self._schedule.touch(first))
        figure.settle(standing, None if self._plan is None else self._plan.frame(first))
        figure.carry_to(q[first], v[first], q[0], v[0])

    def at(self, k: int, pushes: Sequence[Force] = ()) -> Given:
        """What the step from frame k to the next is given."""
        q, v = self.q, self.v
        reference = self._builder.frame(q[k], v[k], (v[k + 1] - v[k]) / self.dt, self._schedule.touch(k))
        is_glitch, planned = bool(self.glitches[k] or self.glitches[k + 1]), None
        if self._plan is not None:
            planned = self._plan.frame(k)
        return Given(reference, q[k + 1], v[k + 1], pushes, is_glitch, planned)

    def between(
        self,
        poses: tuple[Array, Array, Array],
        frame: float,
        rate: float,
        pushes: Sequence[Force] = (),
        touch: Touch | None = None,
        slides: Array | None = None,
    ) -> Given:
        """The same from a place between two frames, where the clip runs at a part of its speed.

        Args:
            poses: Of the step before, of this one and of the next, each (nq,).
            frame: Place in the clip, in frames.
            rate: How many frames this step goes on, from 0 to 1.
            pushes, touch: What pushes and pulls now; contacts, those of the clip if not given.
            slides: How far what bends the clip moves each point in this step [m], (P, 2). What stands stays in place.
        """
        model, k, (before, now, following) = self.figure.model, int(frame), poses
        v, following_v = model.difference(before, now, self.dt), model.difference(now, following, self.dt)
        if touch is None:
            touch, slower = self._schedule.touch(k), 1.0 / max(rate, SLOWEST)
            touch = touch._replace(
                times_to_contact=slower * touch.times_to_contact, times_to_lift=slower * touch.times_to_lift
            )
        reference = self._builder.frame(now, v, (following_v - v) / self.dt, touch)
        if slides is not None:
            reference.point_velocities[reference.flags, :2] -= slides[reference.flags] / self.dt
        planned = None if self._plan is None else self._plan.frame(k)
        return Given(reference, following, following_v, pushes, bool(self.glitches[k : k + 2].any()), planned)

    def pose(self, frame: float) -> Array:
        """The pose at a place between two frames, or before the first (nq,)."""
        k, dt = min(max(int(frame), 0), self.frame_count - 2), self.dt
        model = self.figure.model
        return model.integrate(self.q[k], model.difference(self.q[k], self.q[k + 1], dt), (frame - k) * dt)

    @property
    def track(self) -> Track:
        """Contact points, contacts and centers of mass of all frames."""
        return self._schedule.track

    def touch(self, frame: float) -> Touch:
        """Contacts of the clip in the frame before a place between two frames, or at it."""
        return self._schedule.touch(int(frame))

    def points(self, q: Array) -> Array:
        """Places of the contact points in a pose (nq,) [m], shape (P, 3)."""
        return self._builder.kinematics(q, np.zeros(self.v.shape[1]))[0]


def _rate(motion: Motion, least: float) -> float:
    """The source's rate times the smallest whole number that gives at least so many frames a second."""
    fps = motion.fps if motion.is_uniform or motion.source is None else max(motion.fps, 60.0)
    return fps * max(1, math.ceil(least / fps - 1e-3))


def _first_standing(glitches: npt.NDArray[np.bool_], flags: npt.NDArray[np.bool_], dt: float) -> int:
    """The frame to stand up in: 0, or after leading glitches the first in which something touches, if that is soon."""
    trusted = ~(glitches[:-1] | glitches[1:])
    first = int(np.argmax(trusted))
    if first == 0:
        return 0
    soon = slice(first, first + math.ceil(SOON / dt))
    stands = trusted[soon] & flags[:-1][soon].any(axis=1)
    return first + int(np.argmax(stands))


def _glitches(motion: Motion, times: Array) -> npt.NDArray[np.bool_]:
    """Glitched source frames as flags of the simulated frames; a step is glitched if it touches one."""
    flags = glitch_frames(motion)
    if not flags.any():
        return np.zeros(len(times), dtype=np.bool_)
    after = np.clip(np.searchsorted(motion.times, times - 1e-9), 0, len(flags) - 1)
    before = np.clip(np.searchsorted(motion.times, times + 1e-9, side="right") - 1, 0, len(flags) - 1)
    out = flags[before] | flags[after]
    return np.asarray(out | np.roll(out, 1) & (np.arange(len(out)) > 0))


def _loose(character: Character, only: Sequence[str], freeze: Sequence[str]) -> frozenset[int]:
    """The bodies that may deviate."""
    may = {character.body_index(name) for name in only}
    both = [name for name in freeze if character.body_index(name) in may]
    if both:
        raise InvalidValue(f"{', '.join(map(repr, both))}: both in only and in freeze; leave each out of one of them.")
    every = may or set(range(len(character.bodies)))
    return frozenset(every - {character.body_index(name) for name in freeze})


def _blend(character: Character, q: Array, simulated: Array, amount: float, loose: frozenset[int]) -> Array:
    """Simulated coordinates with a part of their deviation, on some bodies; the root's place goes with the root."""
    out = q.copy()
    for i in loose:
        body, at = character.bodies[i], character.q_addresses[i]
        straight = {"free": 3, "ball": 0, "hinge": 1}[body.kind]
        out[:, at : at + straight] += amount * (simulated - q)[:, at : at + straight]
        if body.kind != "hinge":
            k = slice(at + straight, at + straight + 4)
            out[:, k] = simulated[:, k] if amount == 1.0 else rotations.part_way(q[:, k], simulated[:, k], amount)
    return out


def _slower(motion: Motion, times: Array, clip_frames: Array) -> Motion:
    """The motion as it was played where something held it up.

    Args:
        motion: The clip.
        times: Simulated times [s], shape (S,).
        clip_frames: The simulated frame of the clip that was shown at each of them, shape (S,).
    """
    at = np.interp(motion.times - motion.times[0], times, times[1] * clip_frames)
    at += 1e-9 * np.arange(len(at))  # times rise
    return replace(motion.resampled(motion.times[0] + at), times=motion.times)


def _on_source(character: Character, motion: Motion, times: Array, q: Array, simulated: Array) -> Motion:
    """The deviation, interpolated at the source's own frame times and added to its frames."""
    own = motion.times - motion.times[0]
    reference = interpolate_q(character, times, q, own)
    return apply_deviation(character, motion, reference, interpolate_q(character, times, simulated, own))
