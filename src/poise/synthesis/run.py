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
from poise.character.posing import apply_deviation
from poise.errors import InvalidValue, UnknownName
from poise.methods.goals.machine import Visit
from poise.motion import Motion
from poise.sim.forces import Pull, Push
from poise.synthesis.audit import Audit
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.stance import standing, steadied
from poise.synthesis.synthesizer import Settings, Synthesizer

Array = npt.NDArray[np.float64]

FALLEN = 0.65
"""A figure whose center of mass is lower than this part of its height at rest has fallen."""


@dataclass(frozen=True)
class SynthesisResult:
    """A synthesized motion.

    Attributes:
        motion: One frame a step, the start included.
        character: The figure.
        q, v: Coordinates (F, nq) and velocities (F, nv).
        visits: States the controller was in.
        pushes: What pushed.
        report: Schema "poise.synthesize/1".
        is_complete: False if it was interrupted.
    """

    motion: Motion
    character: Character
    q: Array
    v: Array
    visits: tuple[Visit, ...]
    pushes: tuple[Push | Pull, ...]
    report: dict[str, Any]
    is_complete: bool = True


def synthesize(
    name: str,
    character: Character | None = None,
    *,
    pushes: Iterable[Push | Pull] = (),
    seconds: float | None = None,
    options: Mapping[str, float] | None = None,
    settings: Settings | None = None,
    on_step: Callable[[Synthesizer], None] | None = None,
) -> SynthesisResult:
    """Make a motion from goals.

    Args:
        name: A behavior, see `poise.synthesis.behaviors.BEHAVIORS`.
        character: Who; by default the built-in grown-up.
        pushes: What pushes it.
        seconds: How long [s]; by default as the behavior says.
        options: Changed options of the behavior.
        settings: Of the synthesizer.
        on_step: Called after every step; may push, add wishes and so on. Raise KeyboardInterrupt to stop early.

    Raises:
        UnknownName: if there is no such behavior or option.
        InvalidValue: if the figure cannot stand or a number makes no sense.
    """
    if name not in BEHAVIORS:
        raise UnknownName(f"No behavior {name!r}. Behaviors: {', '.join(BEHAVIORS)}.")
    settings = settings or Settings()
    character = steadied(character or figure())
    setup = BEHAVIORS[name].setup(options, is_literal=settings.is_literal)
    seconds = setup.seconds if seconds is None else seconds
    if not (np.isfinite(seconds) and seconds > 0.0):
        raise InvalidValue(f"seconds is {seconds}; give a positive number.")
    runner = Synthesizer(character, setup.machine, start=standing(character), surfaces=setup.surfaces, settings=settings)
    for push in pushes:
        runner.push(push)
    audit = Audit()
    runner.audit = audit
    poses, velocities = [runner.q], [runner.v]
    fell, complete, began = None, True, time.perf_counter()
    try:
        for _ in range(round(seconds / settings.dt)):
            start = time.perf_counter()
            runner.step()
            audit.step_seconds.append(time.perf_counter() - start)
            poses.append(runner.q)
            velocities.append(runner.v)
            if fell is None and _has_fallen(runner):
                fell = runner.time
            if on_step is not None:
                on_step(runner)
    except KeyboardInterrupt:
        complete = False
    q, v = np.array(poses), np.array(velocities)
    visits = runner.course.end(runner.time)
    report = _report(name, runner, audit, visits, fell, time.perf_counter() - began, options or {})
    return SynthesisResult(
        motion_of(character, q, settings.dt), character, q, v, visits, tuple(runner.pushes), report, complete
    )


def _has_fallen(runner: Synthesizer) -> bool:
    return float(runner.state.com(runner.body.root)[2]) < FALLEN * runner.body.com_height


def motion_of(character: Character, q: Array, dt: float) -> Motion:
    """Coordinates of a figure (F, nq) as a motion of its skeleton."""
    skeleton, frames = character.skeleton, len(q)
    rest = Motion(
        skeleton,
        np.arange(frames) * dt,
        np.tile(skeleton.offsets, (frames, 1, 1)),
        np.tile(skeleton.rest_rotations, (frames, 1, 1)),
    )
    from poise.character.posing import motion_to_q

    return apply_deviation(character, rest, motion_to_q(character, rest), q)


def _report(
    name: str, runner: Synthesizer, audit: Audit, visits: tuple[Visit, ...], fell: float | None, wall: float,
    options: Mapping[str, float],
) -> dict[str, Any]:  # fmt: skip
    t = runner.tally
    steps = 1000.0 * np.array(audit.step_seconds or [0.0])
    settings = asdict(runner.settings)
    settings["weights"] = asdict(runner.weights)
    return {
        "schema": "poise.synthesize/1",
        "behavior": name,
        "fell": fell,
        "seconds": runner.time,
        "states": [{"name": v.name, "start": v.start, "end": v.end} for v in visits],
        "steps_taken": sum(v.name == "take step" for v in visits),
        "climbed_m": 0.0,
        "swing_max_deg": 0.0,
        "supports": [],
        "hits": [],
        "root_residual_max": {"force_N": audit.root_force, "moment_Nm": audit.root_moment},
        "cone_violation_max_N": audit.cone,
        "penetration_max_m": audit.penetration,
        "grip_drift_max_m": 0.0,
        "contact_work_ratio": audit.contact_work / audit.joint_work if audit.joint_work else 0.0,
        "torque_max_Nm": audit.torque,
        "slack_used_max": t.slack,
        "solver": {
            "name": "daqp",
            "solves": t.solves,
            "failures": t.failures,
            "fallbacks": t.failures,
            "rounds": t.rounds,
            "rollbacks": t.rollbacks,
            "conflicts": dict(t.conflicts),
            "primal_residual_max": t.primal,
            "dual_residual_max": t.dual,
            "dynamics_residual_max": t.dynamics,
        },
        "wall_seconds": wall,
        "step_ms": {"median": float(np.median(steps)), "p99": float(np.percentile(steps, 99))},
        "realtime_factor": 1000.0 * runner.settings.dt / float(np.median(steps)) if steps.any() else 0.0,
        "settings": {**settings, "options": dict(options)},
    }
