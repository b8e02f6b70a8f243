"""Motion from goals alone: a behavior, a figure and some pushes in, a motion and a report out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Protocol

import numpy as np

from poise.body.character import Character
from poise.body.posing import q_to_motion
from poise.core import rotations
from poise.core.errors import InvalidValue, SimulationDiverged, StepInfeasible, require, require_each
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.forces import Companion, Force, Pull, Push, Thing
from poise.filter.report import Report
from poise.goals.body import Body
from poise.goals.state_machine import Visit
from poise.goals.surroundings import Ball, Scene, Surface
from poise.physics import State
from poise.physics.mujoco_engine import Engine, Slab
from poise.synthesis.behaviors import Role, Scenario
from poise.synthesis.clip import MotionClip
from poise.synthesis.contacts import BODY_FRICTION
from poise.synthesis.controller_file import Wanted, find_behavior
from poise.synthesis.figure import Settings, Start
from poise.synthesis.prepared import prepared, prepared_figure
from poise.synthesis.records import Applied, Cast, Moved, on_top
from poise.synthesis.report import Audit, Energy, Hanging, Trace, Tracer, report_of
from poise.synthesis.scene_file import load_scene
from poise.synthesis.world import World

FALLEN, LIES = 0.65, 0.45
"""A figure falls whose center of mass is lower than the first part of its height at rest and sinks faster than
`SINKING`; it has fallen if it is lower than the second."""
SINKING = 0.5
"""[m/s], of a grown-up."""

LONGEST = 3600.0
"""No run is longer than this [s]: what is kept of every step would not fit in memory."""
TIMESTEP = 0.00025
"""Of the engine [s]. At 0.001 s a hand that comes to a wall goes 4 mm into it."""
REST = 0.02
"""Time in which a step asks standing contacts to come to rest [s]. Feet on the engine's soft ground always move by a
hair; who stops that within one step of 0.01 s throws the whole weight from foot to foot in each."""


@dataclass(frozen=True)
class FigureResult:
    """What one figure did.

    Attributes:
        name: In its world.
        character: Its body.
        motion: One frame a step, the start included.
        q, v: Coordinates (F, nq) and velocities (F, nv).
        visits: States its controller was in.
        fell: When it fell [s], or None.
    """

    name: str
    character: Character
    motion: Motion
    q: Array
    v: Array
    visits: tuple[Visit, ...]
    fell: float | None

    @property
    def outcome(self) -> str:
        """Whether it fell, in words; of a run that ends in the middle of a fall, when its controller gave up."""
        if self.fell is not None:
            return f"fell at {self.fell:.2f} s"
        gave_up = (v.start for v in self.visits if v.name.rpartition(" / ")[2] == "fallen")
        lost = next(gave_up, None)
        return "did not fall" if lost is None else f"lost its balance at {lost:.2f} s"

    def __repr__(self) -> str:
        fell = "" if self.fell is None else f", fell at {self.fell:.2f} s"
        return f"<figure {self.name!r}: {len(self.q)} frames, {self.motion.duration:.2f} s{fell}>"


@dataclass(frozen=True)
class BallResult:
    """Where a ball was.

    Attributes:
        ball: What was thrown.
        places: Of its middle [m], shape (F, 3).
    """

    ball: Ball
    places: Array


@dataclass(frozen=True)
class SynthesisResult:
    """A synthesized motion.

    Example:
        >>> result = poise.synthesize("balance", seconds=0.1)
        >>> poise.save(result.figures[0].motion, "stands.bvh")

    Attributes:
        figures: What each figure did, the user's first.
        balls: Where the balls were.
        scene: What stood around.
        pushes: What pushed and pulled.
        push_owners: Index of the figure that each acted on.
        trace: What it looked like from inside.
        report: Schema "poise.synthesize/1".
        is_complete: False if it was interrupted, or if a step had no solution; the report's "stopped" says why.
        view: From where pictures show it best, a name of `record.VIEWS`.
        things: Bodies of a `poise.World`, also those that never move.
        companions: Other figures in it.
    """

    figures: tuple[FigureResult, ...]
    balls: tuple[BallResult, ...]
    scene: Scene
    pushes: tuple[Force, ...]
    push_owners: tuple[int, ...]
    trace: Trace
    report: Report
    is_complete: bool = True
    view: str = "quarter"
    things: tuple[Thing, ...] = ()
    companions: tuple[Companion, ...] = ()

    def __repr__(self) -> str:
        return f"<synthesized {self.report['behavior']!r}: {', '.join(map(repr, self.figures))}>"

    @property
    def motion(self) -> Motion:
        """Of the first figure."""
        return self.figures[0].motion

    @property
    def character(self) -> Character:
        """Of the first figure."""
        return self.figures[0].character

    @property
    def q(self) -> Array:
        """Of the first figure, shape (F, nq)."""
        return self.figures[0].q

    @property
    def v(self) -> Array:
        """Of the first figure, shape (F, nv)."""
        return self.figures[0].v

    @property
    def visits(self) -> tuple[Visit, ...]:
        """Of the first figure."""
        return self.figures[0].visits


class GoalWorld(Protocol):
    """Bodies and figures around a figure that goals drive: `poise.World`."""

    def admit(
        self, behavior: Wanted, character: Character | None, options: Mapping[str, Any] | None, settings: Settings
    ) -> World:
        """Begin with one more figure, which a behavior drives; the world that its controller knows."""
        ...

    def step(self) -> None:
        """Move everything on by one step."""

    def report(self) -> dict[str, Any]:
        """What a run's report says under "scene"."""
        ...

    def things(self) -> tuple[Thing, ...]:
        """The bodies over time."""
        ...

    def companions(self) -> tuple[Companion, ...]:
        """All figures over time."""
        ...


def world_of(
    setup: Scenario,
    character: Character | None = None,
    *,
    scene: Scene | None = None,
    clip: Motion | None = None,
    settings: Settings | None = None,
) -> World:
    """The world of a behavior at its start.

    Args:
        setup: Of a behavior.
        character: Who plays the first role; by default the role's own, or the built-in grown-up.
        scene: Instead of the behavior's own.
        clip: A captured motion for the first role to follow, of its own skeleton.
        settings: Of the synthesizer.
    """
    starts: list[Start] = []
    scene = scene or setup.scene
    for k, role in enumerate(setup.roles):
        who = prepared(character) if k == 0 and character else prepared_figure(role.character or "adult")
        seen = MotionClip(clip, who) if clip is not None and k == 0 else None
        q = on_top(role.name, who, _placed(role, role.pose(who)), scene)
        starts.append(Start(role.name, who, role.machine, q, seen, _begins(role, seen)))
    world = World(starts, scene, settings)
    if world.settings.engine == "mujoco":
        world.mover = EngineMover(world.cast, world.q, world.v, world.settings.dt)
    return world


def _begins(role: Role, clip: MotionClip | None) -> tuple[Array, Array] | None:
    if not role.begins_as_clip:
        return None
    if clip is None:
        raise InvalidValue(f"{role.machine.name!r} begins as its clip does, and there is none; give --clip FILE.")
    return clip.start


def _placed(role: Role, q: Array) -> Array:
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, role.turn]))
    q = q.copy()
    q[:3] = rotations.rotate(turn, q[:3]) + np.array([*role.place, 0.0])
    q[3:7] = rotations.multiply(turn, q[3:7])
    return q


def synthesize(
    behavior: Wanted,
    character: Character | None = None,
    *,
    pushes: Iterable[Push | Pull] = (),
    seconds: float | None = None,
    options: Mapping[str, Any] | None = None,
    scene: Scene | str | os.PathLike[str] | None = None,
    clip: Motion | None = None,
    drawn: Motion | None = None,
    settings: Settings | None = None,
    on_step: Callable[[World], None] | None = None,
    world: GoalWorld | None = None,
) -> SynthesisResult:
    """Make a motion from goals.

    Example:
        >>> result = poise.synthesize("balance", pushes=[poise.Push("chest", (60.0, 0.0, 0.0))], seconds=0.1)
        >>> poise.save(result.figures[0].motion, "sways.bvh")

    Args:
        behavior: A built-in one's name (`poise.synthesis.BEHAVIORS`), a controller file, a machine, a behavior.
        character: Who; by default the built-in grown-up.
        pushes: What pushes the first figure, or the one a body's name begins with, such as "adult.chest".
        seconds: How long [s]; by default as the behavior says.
        options: Changed options of the behavior.
        scene: What stands around, instead of what the behavior brings; also the path of a scene file. For
            `poise.synthesize` also of one whose bodies move, of a MuJoCo file (.xml), or "rubble:COUNT,SEED".
        clip: A captured motion for the first figure to follow, where its controller does (goal `Follow`); without
            a character, the figure is fitted to it.
        drawn: A motion of the first figure's own file, for its skin; by default the clip.
        settings: Of the synthesizer.
        on_step: Called after every step; may push, add goals and so on. Raise KeyboardInterrupt to stop early.
        world: Bodies that move by physics, and other figures: a `poise.World`, in place of `scene`.

    Raises:
        UnknownName: if there is no such behavior or option.
        InvalidValue: if the figure cannot stand or a number makes no sense.
        StepInfeasible: if the first step has no solution; a later one ends the run, which is then not complete.
    """
    scene = load_scene(scene) if isinstance(scene, str | os.PathLike) else scene
    require(Character, NoneType, character=character)
    require(Scene, NoneType, scene=scene)
    require(Motion, NoneType, clip=clip)
    require(Motion, NoneType, drawn=drawn)
    require(Settings, NoneType, settings=settings)
    require_each(Push, Pull, pushes=pushes)
    pushes = list(pushes)
    settings, wanted = settings or Settings(), find_behavior(behavior)
    setup = wanted.setup(options, is_literal=settings.is_literal)
    seconds = setup.seconds if seconds is None else seconds
    if not settings.dt <= seconds <= LONGEST:
        raise InvalidValue(
            f"seconds is {seconds:g} s; give at least {settings.dt:g} s, which is one step, and at most {LONGEST:g}."
        )
    if clip is not None and character is None:
        character = Character.fit(clip)
    if world is None:
        controlled = world_of(setup, character, scene=scene, clip=clip, settings=settings)
    elif scene is not None or clip is not None or settings.engine == "mujoco":
        raise InvalidValue("scene, clip and the engine mujoco cannot be combined with a world; leave them out.")
    else:
        controlled = world.admit(wanted, character, options, settings)
    step = controlled.step if world is None else world.step
    for push in pushes:
        controlled.push(push)
    audit, energy, tracer, hanging = Audit(), Energy(), Tracer(), Hanging()
    controlled.watchers += [audit, energy, tracer, hanging]
    poses, velocities = [controlled.q], [controlled.v]
    fell: dict[str, float] = {}
    complete, stopped, began = True, None, time.perf_counter()
    try:
        for _ in range(round(seconds / settings.dt)):
            start = time.perf_counter()
            step()
            tracer.repeat_last(len(poses))
            audit.step_seconds.append(time.perf_counter() - start)
            poses.append(controlled.q)
            velocities.append(controlled.v)
            for each in controlled.figures:
                if each.name not in fell and has_fallen(controlled.state, each.body):
                    fell[each.name] = controlled.time
            if on_step is not None:
                on_step(controlled)
    except KeyboardInterrupt:
        complete, stopped = False, "interrupted"
    except (StepInfeasible, SimulationDiverged) as error:
        stopped = controlled.why_it_ended(error)
        if len(poses) == 1:
            raise StepInfeasible(f"The run did not begin: {stopped}.") from error
        complete = False
    frames = len(velocities)  # an interrupt may fall between the two
    q, v = np.array(poses[:frames]), np.array(velocities)
    skins = {controlled.figures[0].name: drawn or clip}
    figures = tuple(
        FigureResult(
            f.name,
            f.character,
            q_to_motion(f.character, q[:, f.coordinates], settings.dt).with_skin_of(skins.get(f.name)),
            q[:, f.coordinates],
            v[:, f.dofs],
            f.controller.end(controlled.time),
            fell.get(f.name),
        )
        for f in controlled.figures
    )
    balls = tuple(BallResult(b, q[:, at]) for b, at in zip(controlled.scene.balls, controlled.ball_places, strict=True))
    trace = tracer.trace(controlled.cast, controlled.time)
    report = report_of(
        wanted.name,
        audit,
        energy,
        trace,
        hanging,
        [(f.name, f.character.mass, f.fell, f.visits) for f in figures],
        seconds=(len(q) - 1) * settings.dt,
        stuck=controlled.figures[0].controller.stuck,
        counts=controlled.counts,
        supports=controlled.supports,
        losses=controlled.losses,
        hits=controlled.hits,
        pushes=controlled.pushes,
        engine=None if controlled.mover is None else controlled.mover.report(),
        settings=settings,
        weights=controlled.weights,
        wall=time.perf_counter() - began,
        options=wanted.chosen(options),
        stopped=stopped,
    )
    things: tuple[Thing, ...] = ()
    companions: tuple[Companion, ...] = ()
    if world is not None:
        report.data["scene"], things = world.report(), world.things()
        companions = tuple(c for c in world.companions() if c.name != figures[0].name)
        report.data["penetration_max_m"] = report["scene"]["penetration_max_m"]
    return SynthesisResult(
        figures,
        balls,
        controlled.scene,
        controlled.pushes,
        controlled.push_owners,
        trace,
        report,
        complete,
        setup.view,
        things,
        companions,
    )


def has_fallen(state: State, body: Body) -> bool:
    """Whether the center of mass is low and sinks fast, or lies; who sits down does neither."""
    height = float(state.com(body.root)[2])
    sinks = float(state.com_jacobian(body.root)[2] @ state.v)
    return height < LIES * body.com_height or (height < FALLEN * body.com_height and sinks < -SINKING * body.tempo)


class EngineMover:
    """Moves the figures of a run by MuJoCo; see `records.Mover`.

    Attributes:
        engine: The simulation.
        rest: As `Mover.rest`.
        surprise: Largest difference of a joint's speed from what the step expected [rad/s].
    """

    def __init__(self, cast: Cast, q: Array, v: Array, dt: float, timestep: float = TIMESTEP) -> None:
        """Start the engine in a state.

        Args:
            cast: Who takes part.
            q, v: Coordinates (nq,) and velocities (nv,).
            dt: Length of the run's steps [s].
            timestep: Of the engine [s].

        Raises:
            InvalidValue: if there are things that the engine does not simulate, or the times do not fit.
        """
        _require_simple(cast.scene)
        if abs(dt / timestep - round(dt / timestep)) > 1e-6:
            raise InvalidValue(
                f"A step of {dt} s is not a whole number of the engine's {timestep} s; change one of them."
            )
        damping = np.zeros(cast.model.nv)
        self._joints = np.zeros(cast.model.nv, dtype=np.bool_)
        for each in cast.figures:
            damping[slice(*each.body.joints)] = each.damping
            self._joints[slice(*each.body.joints)] = True
        apart = np.flatnonzero(cast.overlaps == 0.0)
        self.engine = Engine(
            cast.model,
            [_slab(s) for s in cast.scene.surfaces],
            damping=damping,
            pairs=cast.capsules.pairs[apart],
            friction=BODY_FRICTION,
            timestep=timestep,
        )
        self.engine.place(q, v)
        self.rest, self.surprise = REST, 0.0

    def __call__(self, torque: Array, expected: Array, applied: Sequence[Applied], dt: float) -> Moved:
        """Hold the torques for the length of a step; the state and the contact forces after it."""
        self.engine.advance(torque, dt, list(applied))
        off = np.abs(self.engine.v - expected)[self._joints]
        self.surprise = max(self.surprise, float(off.max(initial=0.0)))
        return Moved(self.engine.q, self.engine.v, self.engine.forces)

    def report(self) -> dict[str, float | str]:
        """What the engine saw: for the run's report."""
        return {
            "name": "mujoco",
            "timestep_s": self.engine.timestep,
            "penetration_max_m": self.engine.depth,
            "body_penetration_max_m": self.engine.overlap,
            "contact_work_J": self.engine.work,
            "joint_speed_surprise_max": self.surprise,
        }


def _require_simple(scene: Scene) -> None:
    lacking = [f"{b.name} (a ball)" for b in scene.balls] + [f"{h.name} (a hold)" for h in scene.holds]
    for s in scene.surfaces:
        if s.movement is not None or np.isfinite(s.until):
            lacking.append(f"{s.name} ({'moves' if s.movement is not None else 'is taken away'})")
    if lacking:
        raise InvalidValue(
            f"On MuJoCo's own simulation figures meet floors and walls at rest; this scene has {', '.join(lacking)}. "
            "Leave them out, or run without the engine."
        )


def _slab(surface: Surface) -> Slab:
    half = (0.5 * surface.size[0], 0.5 * surface.size[1])
    return Slab(np.array(surface.origin), surface.frame, half, surface.depth, surface.friction)
