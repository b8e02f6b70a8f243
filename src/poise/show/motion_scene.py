"""Clips as scenes: one with its analysis, several in one place, two beside each other in step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from poise.analysis import Analysis, analyze
from poise.body.character import Character
from poise.body.fit import fit
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.units import GRAVITY
from poise.phases.ground import carried_ground
from poise.phases.travel import direction_of_travel
from poise.show.align import in_step
from poise.show.join import resampled, side_by_side
from poise.show.physics import with_physics
from poise.show.scene import SOLID, Color, Plot, Scene, Series, Style, track_of_motion
from poise.show.skins import skins_of
from poise.terrain import Terrain

Array = npt.NDArray[np.float64]

COLORS: tuple[Color, ...] = (
    (0.93, 0.63, 0.29), (0.30, 0.55, 0.80), (0.45, 0.70, 0.40), (0.75, 0.45, 0.70), (0.85, 0.45, 0.40),
    (0.40, 0.68, 0.68),
)  # fmt: skip
"""Colors of clips shown together, in turn."""

MOST_CLIPS = 12
"""More clips than this in one page are too many to tell apart."""


def scene_of_motion(
    motion: Motion,
    character: Character | None = None,
    *,
    terrain: Terrain | None = None,
    name: str = "",
    style: Style = SOLID,
    physics: bool = True,
    gravity: float = GRAVITY,
) -> Scene:
    """A clip with what its analysis finds: forces, support, center of mass, momenta, flights and their plots.

    Args:
        motion: The clip.
        character: Fitted to the motion if not given.
        terrain: The ground as it lies; if not given the one the clip carries, else flat at the character's floor.
        name: What it is called; by default the name of its file.
        style: How it is drawn.
        physics: Analyze it.
        gravity: What its flights are compared with [m/s^2].
    """
    return _seen(motion, character, terrain, name, style, physics, gravity)[0]


def scene_of_motions(motions: Sequence[Motion], *, names: Sequence[str] = (), physics: bool = True) -> Scene:
    """Several clips in one place, each in its own color, all from time 0; the analysis drawn is that of the first.

    Raises:
        InvalidValue: if there is none, or more than a page shows.
    """
    if not 1 <= len(motions) <= MOST_CLIPS:
        raise InvalidValue(f"{len(motions)} clips were given; 1 to {MOST_CLIPS} are shown together.")
    names = _names(motions, names)
    scenes = []
    for k, (motion, name) in enumerate(zip(motions, names)):
        scenes.append(_seen(motion, None, None, name, Style("solid", COLORS[k % len(COLORS)]), physics)[0])
    times = max((s.times for s in scenes), key=lambda t: float(t[-1]))
    parts = [resampled(s, times) for s in scenes]
    first = parts[0]
    if len(parts) == 1:
        return first
    plots = [
        Plot(p.name, p.unit, tuple(_line(q, k, name) for k, (q, name) in enumerate(zip(same, names))), p.lines)
        for p, *_ in [(p,) for p in first.plots]
        if (same := [next((q for q in s.plots if q.name == p.name), None) for s in parts])
        and all(q is not None and len(q.series) == 1 for q in same)
    ]
    rows = tuple(replace(r, name=f"{name}: {r.name}") for s, name in zip(parts, names) for r in s.timeline)
    return replace(
        first, tracks=tuple(s.tracks[0] for s in parts), title=", ".join(names), timeline=rows, plots=tuple(plots),
        notes=tuple(n for s in parts for n in s.notes),
    )  # fmt: skip


def compare(motions: Sequence[Motion], *, names: Sequence[str] = (), physics: bool = True) -> Scene:
    """Clips beside each other, in step: each from the same place and heading, and all but the first in the first's
    time, so that feet come down together.

    Raises:
        InvalidValue: if there are fewer than two, or more than four.
    """
    if not 2 <= len(motions) <= 4:
        raise InvalidValue(f"{len(motions)} clips were given; two to four are shown side by side.")
    names = _names(motions, names)
    heading = direction_of_travel(motions[0])
    seen: list[tuple[Scene, Analysis | None]] = []
    for motion, name in zip(motions, names):
        character = fit(motion)
        placed = _placed(motion, heading, character.floor)
        style = Style("solid", COLORS[len(seen) % len(COLORS)])
        seen.append(_seen(placed, replace(character, floor=0.0), Terrain.flat(), name, style, physics))
    first = seen[0][1]
    scenes = [seen[0][0]]
    for scene, analysis in seen[1:]:
        stepped = in_step(scene, analysis, first) if analysis is not None and first is not None else scene
        scenes.append(stepped)
    return side_by_side([resampled(s, scenes[0].times) for s in scenes])


def _seen(
    motion: Motion,
    character: Character | None,
    terrain: Terrain | None,
    name: str,
    style: Style,
    physics: bool,
    gravity: float = GRAVITY,
) -> tuple[Scene, Analysis | None]:
    character = fit(motion) if character is None else character
    name = name or _names([motion], ())[0]
    if terrain is None:
        terrain = carried_ground(motion) or Terrain.flat(character.floor)
    track = track_of_motion(motion, character, name=name, style=style, skins=skins_of(motion))
    note = f"{name}: {motion.frame_count} frames at {motion.fps:.4g} Hz, {character.mass:.4g} kg"
    scene = Scene(motion.times, (track,), terrain, title=name, notes=(note,))
    if not physics or motion.frame_count < 5:
        return scene, None
    analysis = analyze(motion, character, terrain=terrain, gravity=gravity)
    return with_physics(scene, analysis), analysis


def _placed(motion: Motion, heading: float, floor: float) -> Motion:
    """The motion moved and turned: its root starts over the origin, its floor at 0, its way along a heading [rad]."""
    angle = heading - direction_of_travel(motion)
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, angle]))
    start = np.array([*motion.translations[0, 0, :2], floor])
    translations, turned = motion.translations.copy(), motion.rotations.copy()
    translations[:, 0] = rotations.rotate(turn, translations[:, 0] - start)
    turned[:, 0] = rotations.multiply(turn, turned[:, 0])
    return replace(motion, translations=translations, rotations=turned)


def _line(plot: Plot | None, k: int, name: str) -> Series:
    assert plot is not None
    return Series(name, COLORS[k % len(COLORS)], plot.series[0].values)


def _names(motions: Sequence[Motion], names: Sequence[str]) -> list[str]:
    """Given names, or those of the files; where two are the same, numbered."""
    found: list[str] = []
    for k, motion in enumerate(motions):
        path = motion.source.path if motion.source else ""
        own = PurePosixPath(path.replace("\\", "/")).stem or "clip"
        name = names[k] if k < len(names) else own
        found.append(name if name not in found else f"{name} ({sum(n.startswith(name) for n in found) + 1})")
    return found
