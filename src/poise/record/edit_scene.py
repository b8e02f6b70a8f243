"""A clip before and after an edit as a scene: after solid, before as a ghost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from poise.character.fit import fit
from poise.motion import Motion
from poise.scene import GHOST, SOLID, Scene, track_of_motion
from poise.terrain import Terrain


def scene_of_edit(before: Motion, after: Motion, report: dict[str, Any] | None = None) -> Scene:
    """What a recording of an edit shows, in the time of the edited clip.

    Args:
        before: The clip as it was; it stands on its last frame where the edited one lasts longer.
        after: The edited clip.
        report: The edit's report, for the title.
    """
    own, edited = fit(before, masses="auto"), fit(after, masses="auto")
    solid = track_of_motion(after, edited, name="after", style=SOLID)
    ghost = track_of_motion(before, own, name="before", style=GHOST)
    lasting = after.times[after.times <= before.times[-1]]
    if len(lasting) and before.frame_count > 1:
        ghost = track_of_motion(before.resampled(lasting), own, name="before", style=GHOST)
    hold = np.minimum(np.arange(after.frame_count), len(ghost.positions) - 1)
    tracks = (solid, replace(ghost, positions=ghost.positions[hold], orientations=ghost.orientations[hold]))
    terrain = Terrain.flat().placed(origin=(0.0, 0.0), heading=0.0, ground=own.floor)
    title = f"poise edit {report['edit']}" if report else ""
    return Scene(after.times, tracks, terrain, title=title)
