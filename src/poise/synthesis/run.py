"""Motion from goals alone: a behavior, a figure and some pushes in, a motion and a report out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.character.character import Character
from poise.character.figure import figure
from poise.character.posing import apply_deviation, motion_to_q
from poise.errors import InvalidValue, UnknownName
from poise.methods.goals.machine import Visit
from poise.methods.goals.surroundings import Ball, Scene
from poise.motion import Motion
from poise.sim.forces import Pull, Push
from poise.spatial import rotations
from poise.synthesis.audit import Audit
from poise.synthesis.behaviors import BEHAVIORS, Role, Setup
from poise.synthesis.figure import Start
from poise.synthesis.hanging import Hanging
from poise.synthesis.poses import limber
from poise.synthesis.settings import Settings
from poise.synthesis.stance import steadied
from poise.synthesis.world import World

Array = npt.NDArray[np.float64]

FALLEN = 0.65
"""A figure whose center of mass is lower than this part of its height at rest has fallen."""


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

    Attributes:
        figures: What each figure did, the user's first.
        balls: Where the balls were.
        scene: What stood around.
        pushes: What pushed.
        report: Schema "poise.synthesize/1".
        is_complete: False if it was interrupted.
    """

    figures: tuple[FigureResult, ...]
    balls: tuple[BallResult, ...]
    scene: Scene
    pushes: tuple[Push | Pull, ...]
    report: dict[str, Any]
    is_complete: bool = True

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


def world_of(setup: Setup, character: Character | None = None, *, scene: Scene | None = None, settings: Settings | None = None) -> World:
    """The world of a behavior at its start.

    Args:
        setup: Of a behavior.
        character: Who plays the first role; by default the role's own, or the built-in grown-up.
        scene: Instead of the behavior's own.
        settings: Of the synthesizer.
    """
    starts: list[Start] = []
    for k, role in enumerate(setup.roles):
        who = character if k == 0 and character is not None else figure(role.character or "adult")
        who = limber(steadied(who))
        starts.append(Start(role.name, who, role.machine, _placed(role, role.pose(who))))
    return World(starts, scene or setup.scene, settings)


def _placed(role: Role, q: Array) -> Array:
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, role.turn]))
    q = q.copy()
    q[:3] = rotations.rotate(turn, q[:3]) + np.array([*role.place, 0.0])
    q[3:7] = rotations.multiply(turn, q[3:7])
    return q


def synthesize(
    name: str,
    character: Character | None = None,
    *,
    pushes: Iterable[Push | Pull] = (),
    seconds: float | None = None,
    options: Mapping[str, float] | None = None,
    scene: Scene | None = None,
    settings: Settings | None = None,
    on_step: Callable[[World], None] | None = None,
) -> SynthesisResult:
    """Make a motion from goals.

    Args:
        name: A behavior, see `poise.synthesis.behaviors.BEHAVIORS`.
        character: Who; by default the built-in grown-up.
        pushes: What pushes the first figure.
        seconds: How long [s]; by default as the behavior says.
        options: Changed options of the behavior.
        scene: What stands around, instead of what the behavior brings.
        settings: Of the synthesizer.
        on_step: Called after every step; may push, add wishes and so on. Raise KeyboardInterrupt to stop early.

    Raises:
        UnknownName: if there is no such behavior or option.
        InvalidValue: if the figure cannot stand or a number makes no sense.
    """
    if name not in BEHAVIORS:
        raise UnknownName(f"No behavior {name!r}. Behaviors: {', '.join(BEHAVIORS)}.")
    settings = settings or Settings()
    setup = BEHAVIORS[name].setup(options, is_literal=settings.is_literal)
    seconds = setup.seconds if seconds is None else seconds
    if not (np.isfinite(seconds) and seconds > 0.0):
        raise InvalidValue(f"seconds is {seconds}; give a positive number.")
    world = world_of(setup, character, scene=scene, settings=settings)
    for push in pushes:
        world.push(push)
    audit = Audit()
    hanging = Hanging()
    world.watchers += [audit, hanging]
    poses, velocities = [world.q], [world.v]
    fell: dict[str, float] = {}
    complete, began = True, time.perf_counter()
    try:
        for _ in range(round(seconds / settings.dt)):
            start = time.perf_counter()
            world.step()
            audit.step_seconds.append(time.perf_counter() - start)
            poses.append(world.q)
            velocities.append(world.v)
            for each in world.figures:
                if each.name not in fell and _has_fallen(world, each.body.root, each.body.com_height):
                    fell[each.name] = world.time
            if on_step is not None:
                on_step(world)
    except KeyboardInterrupt:
        complete = False
    q, v = np.array(poses), np.array(velocities)
    figures = tuple(
        FigureResult(
            f.name, f.character, motion_of(f.character, q[:, f.coordinates], settings.dt), q[:, f.coordinates],
            v[:, f.dofs], f.course.end(world.time), fell.get(f.name),
        )
        for f in world.figures
    )  # fmt: skip
    first = sum(f.character.nq for f in world.figures)
    balls = tuple(BallResult(b, q[:, first + 7 * k : first + 7 * k + 3]) for k, b in enumerate(world.scene.balls))
    report = _report(name, world, audit, hanging, figures, time.perf_counter() - began, options or {})
    return SynthesisResult(figures, balls, world.scene, world.pushes, report, complete)


def _has_fallen(world: World, root: int, height: float) -> bool:
    return float(world.state.com(root)[2]) < FALLEN * height


def motion_of(character: Character, q: Array, dt: float) -> Motion:
    """Coordinates of a figure (F, nq) as a motion of its skeleton."""
    skeleton, frames = character.skeleton, len(q)
    rest = Motion(
        skeleton,
        np.arange(frames) * dt,
        np.tile(skeleton.offsets, (frames, 1, 1)),
        np.tile(skeleton.rest_rotations, (frames, 1, 1)),
    )
    return apply_deviation(character, rest, motion_to_q(character, rest), q)


def _report(
    name: str, world: World, audit: Audit, hanging: Hanging, figures: tuple[FigureResult, ...], wall: float, options: Mapping[str, float]
) -> dict[str, Any]:
    t = world.tally
    steps = 1000.0 * np.array(audit.step_seconds or [0.0])
    settings = asdict(world.settings)
    settings["weights"] = asdict(world.weights)
    return {
        "schema": "poise.synthesize/1",
        "behavior": name,
        "fell": figures[0].fell,
        "seconds": world.time,
        "states": [{"name": v.name, "start": v.start, "end": v.end} for v in figures[0].visits],
        "figures": {f.name: {"fell": f.fell, "states": [asdict(v) for v in f.visits]} for f in figures},
        "steps_taken": sum(v.name == "take step" for v in figures[0].visits),
        "climbed_m": hanging.climbed,
        "swing_max_deg": hanging.furthest,
        "swings_deg": hanging.swings,
        "supports": [asdict(s) for s in world.supports],
        "hits": [asdict(h) for h in world.hits],
        "root_residual_max": {"force_N": audit.root_force, "moment_Nm": audit.root_moment},
        "cone_violation_max_N": audit.cone,
        "penetration_max_m": audit.penetration,
        "body_penetration_max_m": audit.overlap,
        "grip_drift_max_m": audit.grip_drift,
        "contact_work_ratio": audit.contact_work / audit.joint_work if audit.joint_work else 0.0,
        "torque_max_Nm": audit.torque,
        "slack_used_max": max(t.slack.values(), default=0.0),
        "slack": dict(t.slack),
        "solver": {
            "name": "daqp",
            "solves": t.solves,
            "failures": t.failures,
            "fallbacks": sum(t.conflicts.values()),
            "rounds": t.rounds,
            "rollbacks": t.rollbacks,
            "conflicts": dict(t.conflicts),
            "primal_residual_max": t.primal,
            "dual_residual_max": t.dual,
            "dynamics_residual_max": t.dynamics,
        },
        "wall_seconds": wall,
        "step_ms": {"median": float(np.median(steps)), "p99": float(np.percentile(steps, 99))},
        "realtime_factor": 1000.0 * world.settings.dt / float(np.median(steps)) if steps.any() else 0.0,
        "settings": {**settings, "options": dict(options)},
    }
