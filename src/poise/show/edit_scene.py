"""A clip before and after an edit as a scene: after solid, before as a ghost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from poise.analysis import center_of_mass
from poise.body.fit import fit
from poise.core.motion import Motion
from poise.core.units import GRAVITY
from poise.show.join import paler, resampled
from poise.show.motion_scene import scene_of_motion
from poise.show.scene import GHOST, GHOST_COLOR, Curve, Plot, Scene, Series, Skinned, file_name, track_of_motion
from poise.show.skins import skins_of
from poise.terrain import Terrain


def scene_of_edit(
    before: Motion, after: Motion, report: dict[str, Any] | None = None, *, physics: bool = False
) -> Scene:
    """What a recording of an edit shows, in the time of the edited clip.

    Args:
        before: The clip as it was; it stands on its last frame where the edited one lasts longer.
        after: The edited clip.
        report: The edit's report, for the title and the notes.
        physics: Show the analysis of the edited clip (flights, momenta, support, pressure), dashed the path that the
            center of mass took before, and in each plot the lines of before besides those of after.
    """
    own, edited = fit(before), fit(after)
    lasting = after.times[after.times <= before.times[-1]]
    seen = before.resampled(lasting) if len(lasting) and before.frame_count > 1 else before
    ghost = track_of_motion(seen, own, name="before", style=GHOST, skins=skins_of(before))
    hold = np.minimum(np.arange(after.frame_count), len(ghost.positions) - 1)
    skin = ghost.skinned
    if skin is not None:
        skin = Skinned(skin.skins, skin.positions[hold], skin.orientations[hold])
    ghost = replace(ghost, positions=ghost.positions[hold], orientations=ghost.orientations[hold], skinned=skin)
    terrain = Terrain.flat(own.floor)
    scene = scene_of_motion(after, edited, terrain=terrain, name="after", physics=physics, gravity=_gravity(report))
    overlays = scene.overlays
    if any(layer.name == "com" for layer in scene.layers):
        path = center_of_mass(before, own)
        overlays += (Curve("center of mass before", "com", GHOST_COLOR, path, is_dashed=True),)
    if physics:
        was = scene_of_motion(before, own, terrain=terrain, name="before", gravity=_gravity(report))
        scene = replace(scene, plots=_both(scene.plots, resampled(was, scene.times).plots))
    title, notes = file_name(before), scene.notes
    if report is not None:
        title, notes = f"{title}: edit {report['edit']}", notes + tuple(report["notes"])
    return replace(scene, tracks=(*scene.tracks, ghost), overlays=overlays, title=title, notes=notes)


def _both(after: tuple[Plot, ...], before: tuple[Plot, ...]) -> tuple[Plot, ...]:
    """The plots of after, and under them the lines that were there before: pale, or one alone in the ghost's color."""
    known = {plot.name: plot for plot in before}
    return tuple(
        replace(plot, series=_named("before", _pale(known[plot.name].series)) + _named("after", plot.series))
        if plot.name in known
        else plot
        for plot in after
    )


def _named(when: str, lines: tuple[Series, ...]) -> tuple[Series, ...]:
    return tuple(replace(line, name=f"{when} {line.name}") for line in lines)


def _pale(lines: tuple[Series, ...]) -> tuple[Series, ...]:
    if len(lines) == 1:
        return (replace(lines[0], color=GHOST_COLOR),)
    return tuple(replace(line, color=paler(line.color, 0.5)) for line in lines)


def _gravity(report: dict[str, Any] | None) -> float:
    """The gravity that an edit was told to give the flights, where it points down; else that of the Earth [m/s^2]."""
    told = None if report is None else report["settings"].get("gravity_m_s2")
    if told is None or np.ndim(told) == 0:
        return GRAVITY if told is None else float(told)
    x, y, z = (float(v) for v in told)
    return -z if z < 0.0 and x == y == 0.0 else GRAVITY
