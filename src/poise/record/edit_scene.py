"""A clip before and after an edit as a scene: after solid, before as a ghost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from poise.analysis import center_of_mass
from poise.character.fit import fit
from poise.motion import Motion
from poise.record.motion_scene import scene_of_motion
from poise.scene import GHOST, GHOST_COLOR, Curve, Scene, track_of_motion
from poise.terrain import Terrain
from poise.units import GRAVITY


def scene_of_edit(
    before: Motion, after: Motion, report: dict[str, Any] | None = None, *, physics: bool = False
) -> Scene:
    """What a recording of an edit shows, in the time of the edited clip.

    Args:
        before: The clip as it was; it stands on its last frame where the edited one lasts longer.
        after: The edited clip.
        report: The edit's report, for the title and the notes.
        physics: Show the analysis of the edited clip (flights, momenta, support, pressure), and dashed the path that
            the center of mass took before.
    """
    own, edited = fit(before, masses="auto"), fit(after, masses="auto")
    ghost = track_of_motion(before, own, name="before", style=GHOST)
    lasting = after.times[after.times <= before.times[-1]]
    if len(lasting) and before.frame_count > 1:
        ghost = track_of_motion(before.resampled(lasting), own, name="before", style=GHOST)
    hold = np.minimum(np.arange(after.frame_count), len(ghost.positions) - 1)
    ghost = replace(ghost, positions=ghost.positions[hold], orientations=ghost.orientations[hold])
    terrain = Terrain.flat().placed(origin=(0.0, 0.0), heading=0.0, ground=own.floor)
    scene = scene_of_motion(after, edited, terrain=terrain, name="after", physics=physics, gravity=_gravity(report))
    overlays = scene.overlays
    if any(layer.name == "com" for layer in scene.layers):
        path = center_of_mass(before, own)
        overlays += (Curve("center of mass before", "com", GHOST_COLOR, path, is_dashed=True),)
    title, notes = "", scene.notes
    if report is not None:
        title, notes = f"poise edit {report['edit']}", notes + tuple(report["notes"])
    return replace(scene, tracks=(*scene.tracks, ghost), overlays=overlays, title=title, notes=notes)


def _gravity(report: dict[str, Any] | None) -> float:
    """The gravity that an edit was told to give the flights, where it points down; else that of the Earth [m/s^2]."""
    told = None if report is None else report["settings"].get("gravity_m_s2")
    if told is None or np.ndim(told) == 0:
        return GRAVITY if told is None else float(told)
    x, y, z = (float(v) for v in told)
    return -z if z < 0.0 and x == y == 0.0 else GRAVITY
