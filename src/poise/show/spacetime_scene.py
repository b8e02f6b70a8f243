"""The answer of a space-time problem as a scene: who moves, what pushes, what is in the way, and torques over time."""

from __future__ import annotations

import numpy as np

from poise.core import rotations
from poise.core.units import GRAVITY
from poise.show.look import ARROW_COLOR, force_scale
from poise.show.physics import COM_COLOR, FORCE_COLOR, ROW_COLOR
from poise.show.scene import (
    Ball,
    Color,
    Curve,
    Layer,
    Overlay,
    Plot,
    Points,
    Prop,
    Row,
    Scene,
    Series,
    Vectors,
    track_of_motion,
)
from poise.spacetime.ready import Answer
from poise.terrain import Terrain

LINES: tuple[Color, ...] = (
    (0.85, 0.45, 0.10),
    (0.20, 0.45, 0.80),
    (0.25, 0.60, 0.35),
    (0.60, 0.35, 0.70),
    (0.50, 0.40, 0.25),
    (0.80, 0.30, 0.45),
    (0.35, 0.60, 0.65),
)


def scene_of_spacetime(answer: Answer, *, title: str = "") -> Scene:
    """What a recording of an answer shows: figure, path, forces or thrust, obstacles, gates, and plots."""
    task, solution, times = answer.task, answer.solution, answer.solution.times
    values, figure, motion, character = solution.values, task.figure, answer.motion, answer.character
    overlays: list[Overlay] = []
    rows: list[Row] = []
    if figure is None:
        path, size = values["position"], 0.12
        scale = 0.5 / max(float(np.abs(values["thrust"]).max()), 1e-9)
        thrust = values["thrust"][:, None]
        overlays.append(Vectors("thrust", "forces", ARROW_COLOR, path[:, None], thrust, "N", scale, 0.02, True))
        plots = (Plot("Thrust", "N", _series(("along x", "along y", "upward"), values["thrust"])),)
    else:
        q, size = values["q"], 0.06 * character.leg_length
        path = np.stack([q[:, 0], np.zeros(len(q)), q[:, 1]], axis=1)
        scale, weight = force_scale(character.leg_length, figure.mass), figure.mass * GRAVITY
        total = np.zeros(len(q))
        for k, stance in enumerate(task.stances):
            forces = values[f"force {k}"]
            spots = np.stack([figure.point(q.T, stance.link, p).T for p in stance.points], axis=1)
            pushes = forces.reshape(len(q), -1, 2)
            pushes = np.where(np.abs(pushes).sum(axis=2, keepdims=True) > 0.01 * weight, pushes, np.nan)
            spots, pushes = (np.insert(a, 1, 0.0, axis=2) for a in (spots, pushes))
            pushes[:, :, 1] = np.where(np.isfinite(pushes[:, :, 0]), 0.0, np.nan)
            overlays.append(
                Vectors(f"ground on {stance.link}", "forces", FORCE_COLOR, spots, pushes, "N", scale, 0.25 * size)
            )
            total += forces[:, 1::2].sum(axis=1)
            rows.append(
                Row(stance.link, ROW_COLOR, ((float(times[stance.first]), float(times[stance.last]), "stands"),))
            )
        joints = [link.name for link in figure.links[1:]]
        plots = (
            Plot("Joint torques", "N m", _series(joints, values["torque"])),
            Plot("Force of the ground", "weights", _series(("upward",), total[:, None] / weight)),
        )
    overlays += [
        Curve("path of the center of mass", "com", COM_COLOR, path, times, "always"),
        Points("center of mass", "com", COM_COLOR, path[:, None], size),
    ]
    if task.gates:
        gates = np.array(task.gates)[None]
        overlays.append(Points("gates", "gates", (0.10, 0.60, 0.30), gates, 0.15, "cross"))
    props = tuple(
        Prop(f"ball {k}", (Ball(np.zeros(3), radius),), np.array([place]), rotations.IDENTITY[None])
        for k, (place, radius) in enumerate(task.circles)
    )
    lowest = float(min(path[:, 2].min(), *(p[2] - r for p, r in task.circles), 0.0)) if figure is None else 0.0
    notes = (
        f"cost {solution.cost:.6g}, {solution.iterations} iterations from the guess {solution.guess!r}",
        f"{solution.unknowns} unknowns, {solution.rows} constraints, a knot every {1e3 * task.problem.step:g} ms",
        ", ".join(f"{name} {value:.4g}" for name, value in answer.checks.items()),
    )
    return Scene(
        times,
        (track_of_motion(motion, character, name=answer.name),),
        Terrain.flat(lowest - (0.5 if figure is None else 0.0)),
        title=title or answer.name,
        props=props,
        overlays=tuple(overlays),
        timeline=tuple(rows),
        plots=plots,
        layers=(Layer("com", "Center of mass"), Layer("forces", "Forces"), Layer("gates", "Gates")),
        notes=notes,
    )


def _series(names: tuple[str, ...] | list[str], values: np.ndarray) -> tuple[Series, ...]:
    return tuple(Series(name, LINES[k % len(LINES)], values[:, k]) for k, name in enumerate(names))
