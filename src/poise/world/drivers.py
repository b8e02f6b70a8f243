"""What drives a figure of a world; a clip and a stream of poses through the filter.

A driver says in every step what its figure wants, as a step with its lists; the world finds the forces of what touches
it; then the driver moves the figure with them. A figure that plays a clip or a stream stands on the ground by its own
step. One that only its muscles move, or nothing, meets the ground as it meets bodies, see `muscles`.
"""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from poise.body.character import Character, fit
from poise.body.posing import motion_to_q, q_to_motion
from poise.core import rotations
from poise.core.errors import MotionWarning
from poise.core.motion import Motion
from poise.core.typing import Array, Flags
from poise.filter import rising
from poise.filter.falling import begun
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Force
from poise.filter.goal import put_goal
from poise.filter.preset import Preset, load_preset
from poise.filter.report import touched_points
from poise.filter.sensing import Asked
from poise.filter.setup import Options
from poise.filter.simulate import Playback
from poise.filter.stream import QuasiPhysicalFilter
from poise.goals.surroundings import Surface
from poise.phases.points import pelvis
from poise.phases.travel import direction_of_travel, in_place_velocity, is_in_place, loops, off_the_spot, repeat
from poise.physics.mujoco_bodies import Bodies
from poise.step import Constraint, Objective, Step
from poise.terrain import Terrain
from poise.world.pacing import Pacing
from poise.world.stands import Finder, finder_of
from poise.world.steering import Room

LONGEST = 60.0
"""A clip that loops is repeated to this length [s], and one that does not is held so long."""
STOPPING = 0.4
"""A clip that does not loop slows down over its last part before it is held [s]."""
AHEAD = 10.0
"""Rubble lies on the way of a clip for so long [s]."""
STRIDE, STOPPED = 1.0, 0.4
"""Others take a figure to go on at its mean speed of the first time, for a leg of 0.82 m [s]. One that goes slower now
than the second part of that speed has stopped, and they take its present speed [1]."""
LYING = 0.6
"""A figure whose center of mass is lower than this part of its height in the clip gets up first."""


class Lists(NamedTuple):
    """What a figure wants in a step.

    Attributes:
        step, objectives, constraints: Of the step problem.
        limits: Rows on the velocities that joint limits keep above a least one, shapes (L, nv) and (L,) [rad/s]; the
            world meets them as contacts without friction.
    """

    step: Step
    objectives: Sequence[Objective]
    constraints: Sequence[Constraint]
    limits: tuple[Array, Array] | None = None


class Driver(abc.ABC):
    """Drives one figure.

    Attributes:
        character: The figure; None where another driver is to hand it over.
        q, v: Its pose (nq,) and velocity (nv,).
        friction: Least friction of what the figure touches; its world says so before it begins.
        walls: What stands around it and never falls, as far as the scene file says; likewise.
        room: How far ahead of its root the first thing in its way is [m], see `Sight.distance`. Its world says so, too.
        seed: Of what it does by chance; its world gives every figure another.
        finders: Of the stands in the clips that the world's figures began with; its world lets them share these.
        meets_ground: The ground is a body to it, which it meets in the world's contacts.
        way: Horizontal places that it will go through [m], shape (N, 2), if they are known.
        drawn: A motion of the figure's own file, for its skin.
    """

    meets_ground: ClassVar[bool] = False
    friction: float = 0.8
    walls: tuple[Surface, ...] = ()
    room: Room = staticmethod(lambda look: look.reach)
    seed: int = 0
    character: Character | None = None
    way: Array | None = None
    drawn: Motion | None = None
    finders: list[Finder]
    q: Array
    v: Array

    @abc.abstractmethod
    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        """Drive a character on a ground in steps of dt [s], from a pose (nq,) and velocity (nv,) if one is given."""

    @property
    def simulated(self) -> SimulatedCharacter | None:
        """The filter's figure, which stands on ground by its own step; None where the ground is one more body to it."""
        return None

    @abc.abstractmethod
    def ask(self, forces: Sequence[Force]) -> Lists | None:
        """What the figure wants in this step, in which forces act on it; None where it was moved without a step."""

    @abc.abstractmethod
    def move(self, lists: Lists, force: Array) -> None:
        """Move on, with the lists as they are to be solved and the generalized force of all that touches (nv,)."""


class Figure:
    """A figure of a world: who it is, what drives it, and where it was.

    Attributes:
        name: In the world.
        character: Its body.
        driver: What drives it; None for one that `poise.simulate` drives, which gives it as `outside`.
        pushes: What pushes and pulls it, besides what it touches.
        felt: Forces on it in the last step, of bodies and of other figures.
        poses: At every step so far, each (nq,).
        drawn: A motion of its own file, for its skin.
    """

    def __init__(
        self, name: str, character: Character, driver: Driver | None, outside: SimulatedCharacter | None = None
    ) -> None:
        self.name, self.character, self.driver, self._outside = name, character, driver, outside
        self.pushes: list[Force] = []
        self.felt: list[Force] = []
        self.poses: list[Array] = []
        self._touches: list[Flags] = []
        self.drawn = None if driver is None else driver.drawn

    @property
    def simulated(self) -> SimulatedCharacter | None:
        """The filter's figure; None for one that only its muscles move, or nothing."""
        return self._outside if self.driver is None else self.driver.simulated

    @property
    def meets_ground(self) -> bool:
        """Whether the ground is a body to it."""
        return self.driver is not None and self.driver.meets_ground

    def note(self, pose: Array) -> None:
        """Keep a pose (nq,), and what carries the figure in the step that led to it."""
        self.poses.append(pose)
        self._touches.append(touched_points(self.character, self.simulated, self.felt))

    def record(self, since: int) -> tuple[Array, Motion | None, Flags]:
        """Poses from a step on, a motion with its skin, and the contact points that carry, as `Companion` has them."""
        return np.array(self.poses[since:]), self.drawn, np.array(self._touches[since:])

    def motion(self, dt: float) -> Motion:
        """What it has done so far, a frame for every step of dt [s], with its skin."""
        return q_to_motion(self.character, np.array(self.poses), dt).with_skin_of(self.drawn)


def paces_of(bodies: Bodies, figures: Sequence[Figure], dt: float) -> Array:
    """How fast figures and bodies go, horizontally [m/s], shape (T + 1, 2); see `Bodies.paces`.

    A figure sways as it walks, so its mean speed over the last stride counts, unless it has stopped or only just begun.
    """
    paces = bodies.paces()
    for k, figure in enumerate(figures):
        steps = round(STRIDE * math.sqrt(figure.character.leg_scale) / dt)
        if len(figure.poses) > steps:
            mean = (figure.poses[-1][:2] - figure.poses[-1 - steps][:2]) / (steps * dt)
            if math.hypot(*paces[k].tolist()) > STOPPED * math.hypot(*mean.tolist()):
                paces[k] = mean
    return paces


class Clip(Driver):
    """A clip through the quasi-physical filter; one that loops is repeated, another held at its end.

    Example:
        >>> driver = poise.world.Clip(motion, place=(0.0, 1.0), heading=0.5)
        >>> world = poise.World("rubble:3,1", figures={"ada": driver})

    Args:
        motion: The clip.
        character: Fitted to the clip if not given.
        place: Where its hips begin, horizontally [m]; the clip's own if not given.
        heading: Where it goes, counterclockwise from +x [rad]; the clip's own if not given.
        preset: Name of a preset, or the preset.
        options: Of the filter.
        get_up: A clip of the same skeleton that brings a figure back that lies; else it gets up by blending.
        travels: Whether a clip that walks on the spot, as on a treadmill, goes ahead as fast as its feet slide back.
        sees: Whether it stops before what is heavy and in its way; else it walks into it.

    A figure that was driven by something else goes on where it is: the clip is laid there and turned as it faces. If it
    lies it gets up first. Where a body holds the figure back its clip runs slower and comes to a stand, until
    the way is free.
    """

    def __init__(
        self,
        motion: Motion,
        character: Character | None = None,
        *,
        place: Sequence[float] | None = None,
        heading: float | None = None,
        preset: str | Preset = "recommended",
        options: Options | None = None,
        get_up: Motion | None = None,
        travels: bool = False,
        sees: bool = True,
    ) -> None:
        if not travels and is_in_place(motion):
            pace = float(np.hypot(*in_place_velocity(motion)[:2]))
            name = "" if motion.source is None else f" {Path(motion.source.path).name}"
            warnings.warn(
                f"The clip{name} walks on the spot: its feet slide on this floor at {pace:.2f} m/s. It goes ahead with "
                "travels = true in its scene file, or Clip(motion, travels=True).",
                MotionWarning,
                stacklevel=2,
            )
        self.character = fit(motion) if character is None else character
        self._motion, self.drawn = _lasting(off_the_spot(motion) if travels else motion), motion
        self._sees = sees
        self._place, self._heading, self._get_up = place, heading, get_up
        self._preset = load_preset(preset) if isinstance(preset, str) else preset
        self._options = options or Options()
        self._asked: Asked | None = None

    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        place, heading = self._place, self._heading
        if start is not None:
            first = motion_to_q(character, self._motion.frames(np.array([0])))[0]
            place, heading = start[0][:2].tolist(), direction_of_travel(self._motion)
            heading += rotations.yaw_to(first[3:7], start[0][3:7])
        at = _first_place(self._motion) if place is None else place
        goes = direction_of_travel(self._motion) if heading is None else heading
        terrain = terrain.begun_at(at, goes, is_lifted=True)
        motion = moved_to(self._motion, place, heading, terrain.ground - character.floor)
        options = self._options
        if self._get_up is None and options.after == "path":
            options = replace(options, after="blend")
        playback = Playback(motion, character, terrain, self._preset, options, 1.0 / dt, terrain.ground, self._get_up)
        playback.start()
        self.way = playback.q[: round(AHEAD / dt) : max(1, round(0.1 / dt)), :2]
        self._playback, figure = playback, playback.figure
        finder = finder_of(playback, self.finders)
        if start is None and finder not in self.finders:
            self.finders.append(finder)
        self.pacing = Pacing(
            playback, self.room, sees=self._sees, returns=options.after != "stay", seed=self.seed, finder=finder
        )
        if start is not None:
            _go_on(figure, terrain, *start, playback.q[0])
        self.q, self.v = figure.q, figure.v

    @property
    def simulated(self) -> SimulatedCharacter:
        return self._playback.figure

    def ask(self, forces: Sequence[Force]) -> Lists | None:
        figure = self._playback.figure
        self._asked = asked = figure.ask(self.pacing.advance(forces, forces))
        self.q, self.v = figure.q, figure.v
        return None if asked is None else Lists(asked.step, asked.objectives, asked.constraints)

    def move(self, lists: Lists, force: Array) -> None:
        assert self._asked is not None
        figure = self._playback.figure
        asked = self._asked._replace(objectives=lists.objectives, constraints=lists.constraints)
        figure.move(asked, force)
        self.q, self.v = figure.q, figure.v


class Stream(Driver):
    """Poses that you give, one a step, through the quasi-physical filter; without a new one the last is held.

    Example:
        >>> world = poise.World(figures={"ada": poise.world.Stream(character, poses[0])})
        >>> for pose in poses[1:]:
        ...     world.step({"ada": pose})

    The answer comes one step late: it is known where a pose goes once the next one is here.

    Args:
        character: The figure.
        pose: The first pose q, shape (nq,).
        preset: Name of a preset, or the preset.
        options: Of the filter.
    """

    def __init__(
        self,
        character: Character,
        pose: Array,
        *,
        preset: str | Preset = "recommended",
        options: Options | None = None,
    ) -> None:
        self.character, self._preset, self._options = character, preset, options
        self._pose = np.array(pose, dtype=np.float64)

    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        terrain = terrain.begun_at(self._pose if start is None else start[0], 0.0, is_lifted=False)
        self._filter = QuasiPhysicalFilter(character, dt, terrain, preset=self._preset, options=self._options)
        self._filter.ask(self._pose, ())
        self._start, self._terrain, self._has_begun = start, terrain, False
        self._asked: Asked | None = None
        self.q, self.v = (self._pose.copy(), np.zeros(character.nv)) if start is None else start

    def give(self, pose: Array) -> None:
        """The pose that this step goes to, shape (nq,)."""
        self._pose = np.array(pose, dtype=np.float64)

    @property
    def simulated(self) -> SimulatedCharacter:
        return self._filter.figure

    def ask(self, forces: Sequence[Force]) -> Lists | None:
        figure, self._asked = self._filter.figure, self._filter.ask(self._pose, forces)
        if not self._has_begun and self._start is not None:
            _go_on(figure, self._terrain, *self._start, self._pose)
        self._has_begun = True
        self.q, self.v = figure.q, figure.v
        return None if self._asked is None else Lists(*self._asked[:3])

    def move(self, lists: Lists, force: Array) -> None:
        assert self._asked is not None
        figure = self._filter.figure
        figure.move(self._asked._replace(objectives=lists.objectives, constraints=lists.constraints), force)
        self.q, self.v = figure.q, figure.v


def _go_on(figure: SimulatedCharacter, terrain: Terrain, q: Array, v: Array, wanted: Array) -> None:
    """Let a filter go on from a pose (nq,) and velocity (nv,) toward a wanted pose; one that lies gets up first."""
    figure.q, figure.v = q.copy(), v.copy()
    root, still = figure.model.roots[0], np.zeros(figure.model.nv)
    figure.mirror.move_to(wanted, still)
    goal = figure.mirror.com(root).copy()
    figure.state.move_to(q, v)
    com = figure.state.com(root).copy()
    ground = float(terrain.heights(com[None, :2])[0])
    if com[2] - ground < LYING * (goal[2] - terrain.ground):
        fall = begun(figure.character, q, np.zeros(3), figure.state.data.xpos[1:])
        figure.fall = fall._replace(rested=rising.REST)
    else:
        x, y = (com - goal)[:2].tolist()
        put_goal(figure.goal, (x, y))
        figure.footing.begin_at((x, y))


def moved_to(motion: Motion, place: Sequence[float] | None, heading: float | None, up: float) -> Motion:
    """A motion whose hips begin at a place [m]; it goes toward a heading [rad], and lies higher by so much [m]."""
    start = _first_place(motion)
    turn = 0.0 if heading is None else heading - direction_of_travel(motion)
    spin = rotations.from_rotation_vector(np.array([0.0, 0.0, turn]))
    shift = np.array([*(start[:2] if place is None else place[:2]), start[2] + up])
    if not turn and np.array_equal(shift, start):
        return motion
    root = int(np.flatnonzero(motion.skeleton.parents < 0)[0])
    translations, turns = motion.translations.copy(), motion.rotations.copy()
    translations[:, root] = rotations.rotate(spin, translations[:, root] - start) + shift
    turns[:, root] = rotations.multiply(spin, turns[:, root])
    return replace(motion, translations=translations, rotations=turns)


def _first_place(motion: Motion) -> Array:
    """Where the hips begin [m], shape (3,); a root above them may stay at the origin."""
    return motion.world[0][0, pelvis(motion.skeleton)]


def _lasting(motion: Motion) -> Motion:
    """A motion that goes on: one that loops again and again, another comes to a stop and is held."""
    if loops(motion):
        return repeat(motion, max(1, math.ceil(LONGEST / motion.duration)))
    end, dt = motion.duration, motion.dt
    slow = min(STOPPING, 0.5 * end)
    part = np.minimum(np.arange(1, math.ceil(2.0 * slow / dt) + 1) * dt / (2.0 * slow), 1.0)
    times = np.concatenate([np.arange(0.0, end - slow, dt), end - slow + slow * (2.0 * part - part**2)])
    times[len(times) - len(part) :] += 1e-9 * np.arange(len(part))  # times rise
    times = np.append(times, end + dt * np.arange(1, 4))  # what is beyond the end is held
    return replace(motion.resampled(motion.times[0] + times), times=motion.times[0] + dt * np.arange(len(times)))
