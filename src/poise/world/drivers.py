"""What drives a figure of a world: a clip through the filter, nothing, goals.

A driver says in every step what its figure wants, as a step with its lists; the world finds the forces of what touches
it; then the driver moves the figure with them. A figure that plays a clip stands on the ground by its own step. One
that only its muscles' torques move, or nothing, meets the ground as it meets bodies:

    M a + bias = τ − D (v + Δt a) + Jᵀ f,    so B = (M + Δt D)⁻¹

This is a list too: the torques are a constraint, `poise.step` solves it as any other.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from poise.body.character import Character, fit
from poise.body.character import figure as built_in
from poise.body.posing import motion_to_q
from poise.core import rotations
from poise.core.errors import InvalidValue, StepInfeasible
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter import rising
from poise.filter.falling import begun
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Force
from poise.filter.goal import put_goal
from poise.filter.preset import Bounds, Preset, load_preset
from poise.filter.quasi_physical import JointLimits
from poise.filter.sensing import Asked
from poise.filter.setup import Options
from poise.filter.simulate import Playback
from poise.filter.stream import QuasiPhysicalFilter
from poise.goals.surroundings import Scene, Surface
from poise.phases.travel import direction_of_travel, loops, repeat
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.step import Constraint, Equal, Objective, Step
from poise.step.quantities import JointAcceleration, JointTorque
from poise.step.solve import solve_step
from poise.synthesis.controller_file import Wanted, find_behavior
from poise.synthesis.figure import Settings
from poise.synthesis.figure import Start as StartOf
from poise.synthesis.prepared import prepared, steadied
from poise.synthesis.records import Applied, Moved
from poise.synthesis.world import Solved
from poise.synthesis.world import World as Controlled
from poise.terrain import Terrain

LONGEST = 60.0
"""A clip that loops is repeated to this length [s], and one that does not is held so long."""
STOPPING = 0.4
"""A clip that does not loop slows down over its last part before it is held [s]."""
BRAKE = 3.0
"""How fast a joint of a ragdoll slows down by itself [1/s]."""
LIMITS = Bounds(near_angle=20.0, near_ground=0.05, return_share=0.3)
"""When the limit of a joint acts."""
RETURN = 0.3
"""A joint past its limit comes back no faster than this [rad/s]: ligaments stop it, they do not throw it back."""
UNIQUE = 1e-9
"""Weight of accelerations besides the torques, which decide them, times the mass [kg]."""
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
        meets_ground: The ground is a body to it, which it meets in the world's contacts.
    """

    meets_ground: ClassVar[bool] = False
    character: Character | None = None
    q: Array
    v: Array

    @abc.abstractmethod
    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        """Drive a character on a ground in steps of dt [s], from a pose (nq,) and velocity (nv,) if one is given."""

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
        driver: What drives it; None for one that the filter of `poise.simulate` drives from outside.
        pushes: What pushes and pulls it, besides what it touches.
        felt: Forces on it in the last step, of bodies and of other figures.
        poses: At every step so far, each (nq,).
    """

    def __init__(self, name: str, character: Character, driver: Driver | None) -> None:
        self.name, self.character, self.driver = name, character, driver
        self.pushes: list[Force] = []
        self.felt: list[Force] = []
        self.poses: list[Array] = []

    @property
    def meets_ground(self) -> bool:
        """Whether the ground is a body to it."""
        return self.driver is not None and self.driver.meets_ground


class Clip(Driver):
    """A clip through the quasi-physical filter; one that loops is repeated, another held at its end.

    Example:
        >>> driver = poise.world.Clip(motion, place=(0.0, 1.0), heading=0.5)
        >>> world = poise.World("rubble:3,1", figures={"ada": driver})

    Args:
        motion: The clip.
        character: Fitted to the clip if not given.
        place: Where its root begins, horizontally [m]; the clip's own if not given.
        heading: Where it goes, counterclockwise from +x [rad]; the clip's own if not given.
        preset: Name of a preset, or the preset.
        options: Of the filter.
        get_up: A clip of the same skeleton that brings a figure back that lies; else it gets up by blending.

    A figure that was driven by something else goes on where it is: the clip is laid there and turned as it faces. If it
    lies it gets up first.
    """

    def __init__(
        self, motion: Motion, character: Character | None = None, *, place: Sequence[float] | None = None,
        heading: float | None = None, preset: str | Preset = "recommended", options: Options | None = None,
        get_up: Motion | None = None,
    ) -> None:  # fmt: skip
        self.character = fit(motion) if character is None else character
        self._motion = _lasting(motion)
        self._place, self._heading, self._get_up = place, heading, get_up
        self._preset = load_preset(preset) if isinstance(preset, str) else preset
        self._options = options or Options()
        self._frame = 0
        self._asked: Asked | None = None

    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        place, heading = self._place, self._heading
        if start is not None:
            first = motion_to_q(character, self._motion.frames(np.array([0])))[0]
            place, heading = start[0][:2].tolist(), direction_of_travel(self._motion)
            heading += _turned(start[0][3:7], first[3:7])
        motion = laid(self._motion, place, heading, terrain.ground - character.floor)
        options = self._options
        if self._get_up is None and options.after == "path":
            options = replace(options, after="blend")
        playback = Playback(
            motion, character, terrain, self._preset, options, 1.0 / dt, terrain.ground, self._get_up
        )  # fmt: skip
        playback.start()
        self._playback, self._frame, figure = playback, 0, playback.figure
        if start is not None:
            _go_on(figure, terrain, *start, playback.q[0])
        self.q, self.v = figure.q, figure.v

    def ask(self, forces: Sequence[Force]) -> Lists | None:
        figure, playback = self._playback.figure, self._playback
        given = playback.at(min(self._frame, playback.frame_count - 2), forces)
        self._frame += 1
        self._asked = asked = figure.ask(given)
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
        self, character: Character, pose: Array, *, preset: str | Preset = "recommended",
        options: Options | None = None,
    ) -> None:  # fmt: skip
        self.character, self._preset, self._options = character, preset, options
        self._pose = np.array(pose, dtype=np.float64)

    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        self._filter = QuasiPhysicalFilter(character, dt, terrain, preset=self._preset, options=self._options)
        self._filter.ask(self._pose, ())
        self._start, self._terrain, self._has_begun = start, terrain, False
        self._asked: Asked | None = None
        self.q, self.v = (self._pose.copy(), np.zeros(character.nv)) if start is None else start

    def give(self, pose: Array) -> None:
        """The pose that this step goes to, shape (nq,)."""
        self._pose = np.array(pose, dtype=np.float64)

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


class Ragdoll(Driver):
    """Nothing drives it: weight, joint limits, and tissue that slows its joints down.

    Example:
        >>> world = poise.World(figures={"doll": poise.world.Ragdoll(character, q)})
        >>> world.step()

    Args:
        character: The figure; not needed where another driver hands over to it.
        q, v: Where it begins, shapes (nq,) and (nv,).
    """

    meets_ground: ClassVar[bool] = True

    def __init__(self, character: Character | None = None, q: Array | None = None, v: Array | None = None) -> None:
        self.character = character
        self._start = None if q is None else (q, v)

    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        del terrain
        if start is None and self._start is not None:
            q, v = self._start
            start = q, np.zeros(character.nv) if v is None else v
        if start is None:
            raise InvalidValue("A ragdoll begins where another driver leaves it, or at a pose: Ragdoll(character, q).")
        self._dt, self._figure, self._model = dt, character, model_of(steadied(character))
        self._state, self._limits = State(self._model), JointLimits(character, LIMITS)
        self.q, self.v = start[0].copy(), start[1].copy()
        self._rest = _Still(self.q, np.zeros_like(self.v), np.zeros_like(self.v))

    def ask(self, forces: Sequence[Force]) -> Lists:
        state = self._state.at(self.q, self.v)
        damping = BRAKE * np.diag(state.M)
        damping[:6] = 0.0
        lists = muscles_alone(state, self._figure, self._dt, np.zeros(state.model.nv), damping, forces)
        limits = self._limits.constraint(self.q, self.v, self._rest, self._dt, 1.0)
        if limits is None:
            return lists
        along = cast("JointAcceleration", limits.quantity).along
        assert along is not None
        least = along @ self.v + self._dt * np.asarray(limits.lower, dtype=np.float64)
        return lists._replace(limits=(along, np.minimum(least, RETURN)))

    def move(self, lists: Lists, force: Array) -> None:
        self.q, self.v = moved_on(lists, force, self.q, self.v)


class Goals(Driver):
    """A controller of `poise.synthesize` moves it by the torques of its muscles.

    The controller solves its step for the plane of the ground where it begins, and knows nothing of bodies; what
    touches it only startles it. Where its step has no solution, the muscles let go for that step.

    Example:
        >>> world = poise.World("rubble:3,1", figures={"eve": poise.world.Goals("balance")})
        >>> world.step()

    Args:
        behavior: A built-in one's name, a controller file or a machine, of one figure.
        character: The built-in grown-up if not given.
        options: Changed options of the behavior.
        place: Where it stands, horizontally [m]; the behavior's own if not given.
        heading: Where it faces, counterclockwise from +x [rad].
        settings: Of the synthesizer, but for the length of its steps.

    Attributes:
        failed_count: Steps without an answer, in which the muscles let go.
    """

    meets_ground: ClassVar[bool] = True

    def __init__(
        self, behavior: Wanted = "balance", character: Character | None = None, *,
        options: Mapping[str, Any] | None = None, place: Sequence[float] | None = None, heading: float = 0.0,
        settings: Settings | None = None,
    ) -> None:  # fmt: skip
        self._settings, self._place, self._heading = settings or Settings(), place, heading
        setup = find_behavior(behavior).setup(options, is_literal=self._settings.is_literal)
        if len(setup.roles) != 1:
            names = ", ".join(role.name for role in setup.roles)
            raise InvalidValue(f"{behavior!r} is played by {names}; a figure of a world is driven by itself alone.")
        self._role = setup.roles[0]
        self.character = prepared(built_in(self._role.character or "adult") if character is None else character)
        self.failed_count = 0
        self._solved: Solved | None = None

    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        who = prepared(character)
        q = self._role.pose(who)
        turn = rotations.from_rotation_vector(np.array([0.0, 0.0, self._role.turn + self._heading]))
        place = self._role.place if self._place is None else self._place
        if start is not None:
            place, turn = start[0][:2], _upright(start[0][3:7], q[3:7])
        below = terrain.sample(np.array([place[:2]]))
        foot = np.array([*place[:2], float(below.height[0])])
        q[:3] = rotations.rotate(turn, q[:3]) + foot
        q[3:7] = rotations.multiply(turn, q[3:7])
        self._state = state = State(model_of(who))
        if not terrain.is_flat:  # no point begins below a slope
            points = state.at(q, np.zeros(who.nv)).points
            lowest = points[:, 2] - state.model.point_radii - terrain.heights(points[:, :2])
            q[2] -= float(lowest.min(initial=0.0))
        (x, y, z), (across, along, up) = foot.tolist(), below.normal[0].tolist()
        ground = Scene((Surface("floor", (x, y, z), (across, along, up)),))
        settings = replace(self._settings, dt=dt)
        self._world = world = Controlled([StartOf(self._role.name, who, self._role.machine, q)], ground, settings)
        world.mover = _Elsewhere()
        self._dt, self._figure, self._felt = dt, character, False
        self.q, self.v = (q, np.zeros(who.nv)) if start is None else (start[0].copy(), start[1].copy())
        world.q, world.v = self.q, self.v

    def ask(self, forces: Sequence[Force]) -> Lists:
        world, figure = self._world, self._world.figures[0]
        is_new, self._felt = bool(forces) and not self._felt, bool(forces)
        if is_new:
            figure.start_delay(world.time, world.settings.delay)
        try:
            self._solved = world.solve()
            torque = world.torque
        except StepInfeasible:
            self._solved, self.failed_count = None, self.failed_count + 1
            torque = np.zeros(len(self.v))
        damping = np.concatenate([np.zeros(6), figure.damping])
        return muscles_alone(self._state.at(self.q, self.v), self._figure, self._dt, torque, damping, forces)

    def move(self, lists: Lists, force: Array) -> None:
        self.q, self.v = moved_on(lists, force, self.q, self.v)
        if self._solved is None:
            self._world.q, self._world.v = self.q, self.v
            self._world.time += self._dt
        else:
            self._world.move(self._solved, Moved(self.q, self.v, self._world.forces))


class _Elsewhere:
    """A stand-in for a mover of `synthesis.world`, whose figures this world moves."""

    rest = 0.02

    def __call__(self, torque: Array, expected: Array, applied: Sequence[Applied], dt: float) -> Moved:
        raise NotImplementedError("The figure is moved by `Goals.move`.")

    def report(self) -> dict[str, float | str]:
        """Nothing: `World.report` tells it."""
        return {}


class _Still(NamedTuple):
    """A pose that joint limits never push away from."""

    q: Array
    v: Array
    a: Array


def muscles_alone(
    state: State, character: Character, dt: float, torque: Array, damping: Array, forces: Sequence[Force]
) -> Lists:
    """The lists of a figure that only its muscles move: torques less damping, and nothing at the root.

    Args:
        state: Of the figure.
        character: The figure.
        dt: Length of the step [s].
        torque, damping: Of each dof [N m], [N m s], shapes (nv,); zero at the root.
        forces: What pushes it from outside.
    """
    model, external = state.model, np.zeros(state.model.nv)
    for force in forces:
        if force.is_solved_for:
            continue
        body = 1 + force.body_of(character)
        place = state.data.xipos[body].copy() if force.offset is None else state.body_place(body, force.offset)
        velocity, _ = state.body_point_motion(body, place)
        now = force.force_at(place, velocity, 0.0, float(model.body_masses[body]))
        external += state.external_torque(body, place, now)
    step = Step(state, dt=dt, external=external)
    mass = state.mass(model.roots[0])
    free = [Objective(JointAcceleration(), 0.0, UNIQUE * mass, "nothing else")]
    return Lists(step, free, [Equal(JointTorque(damping=damping), torque - damping * state.v, "muscles")])


def moved_on(lists: Lists, force: Array, q: Array, v: Array) -> tuple[Array, Array]:
    """Pose (nq,) and velocity (nv,) after a step that is solved with a further generalized force (nv,)."""
    step = Step(lists.step.state, dt=lists.step.dt, external=lists.step.external + force)
    v = v + step.dt * solve_step(step, lists.objectives, lists.constraints, costs=False).a
    return step.state.model.integrate(q, v, step.dt), v


def laid(motion: Motion, place: Sequence[float] | None, heading: float | None, up: float) -> Motion:
    """A motion that begins at a place [m], goes toward a heading [rad], and lies higher by so much [m]."""
    start = motion.world[0][0, 0]
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


def _upright(q: Array, other: Array) -> Array:
    """The turn about the vertical of one orientation against another."""
    return rotations.from_rotation_vector(np.array([0.0, 0.0, _turned(q, other)]))


def _turned(q: Array, other: Array) -> float:
    """How far one orientation is turned about the vertical against another [rad]."""
    turn = rotations.multiply(q, rotations.conjugate(other))
    return 2.0 * math.atan2(float(turn[3]), float(turn[0]))


def _lasting(motion: Motion) -> Motion:
    """A motion that goes on: one that loops again and again, another comes to a stop and is held."""
    if loops(motion):
        return repeat(motion, max(1, math.ceil(LONGEST / motion.duration)))
    end, dt = motion.duration, motion.dt
    slow = min(STOPPING, 0.5 * end)
    part = np.arange(1, math.ceil(2.0 * slow / dt) + 1) * dt / (2.0 * slow)
    times = np.concatenate([np.arange(0.0, end - slow, dt), end - slow + slow * np.minimum(2.0 * part - part**2, 1.0)])
    times[len(times) - len(part) :] += 1e-9 * np.arange(len(part))  # times rise
    times = np.append(times, end + dt * np.arange(1, 4))  # what is beyond the end is held
    return replace(motion.resampled(motion.times[0] + times), times=motion.times[0] + dt * np.arange(len(times)))
