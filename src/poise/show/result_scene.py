"""A simulated clip as a scene: the simulated figure, its reference as a ghost, the ground, what pushed, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from poise.body.posing import body_poses
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import kilograms
from poise.filter.report import SimulationResult
from poise.show.look import ARROW_COLOR, arrow_of, words_of
from poise.show.motion_scene import scene_of_motion, skins_of
from poise.show.scene import (
    GHOST,
    GOALS,
    SOLID,
    Color,
    Plot,
    Points,
    Row,
    Scene,
    Series,
    Skinned,
    Track,
    file_name,
)
from poise.show.world_scene import companion_tracks, props_of_thing, scene_of_world
from poise.tracking.live import LiveResult
from poise.world import World

if TYPE_CHECKING:
    from poise.synthesis.run import SynthesisResult


SIMULATED_COLOR: Color = (0.85, 0.50, 0.15)
GOAL_COLOR: Color = (0.10, 0.60, 0.30)

FIELDS = {
    "deviation_rms_deg": ("Change of the pose", "deg"),
    "root_force_N": ("Outside help at the hips: force", "N"),
    "root_moment_Nm": ("Outside help at the hips: moment", "N m"),
    "contacts": ("Points that touch the ground", ""),
}
"""Fields of the report that are plotted first, and what they are called."""


def scene_of(
    result: SimulationResult | SynthesisResult | LiveResult | World,
    *,
    ghost: bool = True,
    title: str = "",
    physics: bool = True,
) -> Scene:
    """What a recording of this result shows.

    Example:
        >>> scene = poise.scene_of(poise.simulate(motion, character, pushes=[push]), title="A push")
        >>> poise.View(scene).save("push.html")

    Args:
        result: The run; one that was synthesized has no reference, and its forces are its own (`scene_of_synthesis`).
            Or a live run, of which what moved is shown, or a world, of which all figures and bodies are.
        ghost: Show the reference.
        title: One line; by default the clip's name.
        physics: Analyze the moved clip: forces, support, center of mass, momenta, flights and their plots.
    """
    if isinstance(result, World):
        return scene_of_world(result, title=title)
    if isinstance(result, LiveResult):
        return scene_of_motion(result.motion, result.character, name=title, physics=physics)
    if not isinstance(result, SimulationResult):
        from poise.show.synthesis_scene import scene_of_synthesis

        return scene_of_synthesis(result, title=title)
    character, motion = result.character, result.motion
    skins = skins_of(motion)
    skinned = Skinned(skins, *_at(motion, result.times).world) if skins else None
    tracks = [Track("simulated", character, *body_poses(character, result.q), SOLID, skinned)]
    if ghost:
        own = Skinned(skins, *_at(result.source, result.times).world) if skins else None
        tracks.append(Track("original", character, *body_poses(character, result.reference_q), GHOST, own))
    tracks += companion_tracks(result.companions, first=1)
    arrows = tuple(arrow_of(push, 0, tracks[0], result.times) for push in result.pushes)
    scene = Scene(
        result.times,
        tuple(tracks),
        result.terrain,
        arrows,
        title or _title(result),
        overlays=_goals(result),
        timeline=_events(result),
        props=tuple(prop for thing in result.things for prop in props_of_thing(thing)),
        plots=report_plots(result),
        notes=_notes(result),
    )
    if not physics or motion.frame_count < 5:
        return scene
    from poise.analysis import analyze, touching
    from poise.show.physics import with_physics

    contacts = None
    if result.touches is not None:  # bodies carry, too
        at = np.searchsorted(result.times, motion.times - motion.times[0] - 1e-9).clip(max=len(result.times) - 1)
        contacts = result.touches[at]
        nothing = ~contacts.any(axis=1)
        contacts[nothing] = touching(motion, character, terrain=result.terrain).carries[nothing]
    return with_physics(scene, analyze(motion, character, terrain=result.terrain, contacts=contacts))


def _goals(result: SimulationResult) -> tuple[Points, ...]:
    """A cross at the target of every point goal while it acts."""
    reach = 0.2 * result.character.leg_length
    marks = []
    for goal in result.goal_points:
        places = [goal.place(t) if goal.is_on(t) else np.full(3, np.nan) for t in result.times.tolist()]
        name = f"goal of {goal.body}"
        marks.append(Points(name, GOALS, GOAL_COLOR, np.array(places)[:, None], reach, "cross", (goal.body,)))
    return tuple(marks)


def report_plots(result: SimulationResult) -> tuple[Plot, ...]:
    """A plot for every field of the report that has one number a frame."""
    return fields_plots(result.report["per_frame"], result.times, result.times)


def fields_plots(fields: Mapping[str, Any], own: Array, times: Array) -> tuple[Plot, ...]:
    """Fields of a report with one number a frame as plots.

    Args:
        fields: Values by name, as `per_frame` of a report.
        own: Time of each value [s], shape (N,).
        times: Times of the scene [s], shape (T,); before and after its own times a field has no value.
    """

    def line(values: Array) -> tuple[Series, ...]:
        return (Series("simulated", SIMULATED_COLOR, np.interp(times, own, values, left=np.nan, right=np.nan)),)

    plots = []
    for key in [*FIELDS, *(k for k in fields if k not in FIELDS and k not in ("time", "com_m", "com_reference_m"))]:
        values = np.asarray(fields.get(key, ()), dtype=np.float64)
        if values.shape == own.shape:
            name, unit = FIELDS.get(key, (key, ""))
            plots.append(Plot(name, unit, line(values)))
    places = [np.asarray(fields.get(k, ()), dtype=np.float64) for k in ("com_m", "com_reference_m")]
    if all(p.shape == (len(own), 3) for p in places):
        moved = np.linalg.norm((places[0] - places[1])[:, :2], axis=1)
        plots.insert(1, Plot("Center of mass moved horizontally", "m", line(moved)))
    return tuple(plots)


def _events(result: SimulationResult) -> tuple[Row, ...]:
    """Pushes and pulls as a row of the timeline."""
    if not result.pushes:
        return ()
    last = float(result.times[-1])
    spans = tuple((p.start, min(p.start + p.duration, last), words_of(p)) for p in result.pushes if p.start <= last)
    return (Row("pushes", ARROW_COLOR, spans),)


def _title(result: SimulationResult) -> str:
    """The file's name and what was done: "walk.bvh: push of chest, 300 N at 1.00 s; slope:5"."""
    name = file_name(result.motion)
    done = [f"{p.kind} of {words_of(p)} at {p.start:.2f} s" for p in result.pushes[:2]]
    if len(result.pushes) > 2:
        done.append(f"{len(result.pushes) - 2} more")
    if result.terrain.spec != "flat":
        done.append(result.terrain.spec)
    return f"{name}: {'; '.join(done)}" if done else name


def _notes(result: SimulationResult) -> tuple[str, ...]:
    motion, name = result.motion, file_name(result.motion, "a motion")
    d = result.report.data
    return (
        f"{name}: {motion.frame_count} frames at {motion.fps:.4g} Hz, simulated at {1.0 / d['dt']:.4g} Hz",
        f"{kilograms(result.character.mass)}, {len(result.character.bodies)} bodies, ground {result.terrain.spec}",
        f"preset {d['settings'].get('preset', '')}, physicality {d['settings'].get('physicality', '')}",
    )


def _at(motion: Motion, times: Array) -> Motion:
    """The motion at the simulated times."""
    own = motion.times - motion.times[0]
    if len(own) == len(times) and np.allclose(own, times, atol=1e-9):
        return motion
    return motion.resampled(motion.times[0] + times)
