"""A world as a scene: its figures, each in a color of its own, and its bodies."""

from __future__ import annotations

import numpy as np

from poise.body.posing import body_poses
from poise.show.result_scene import prop_of
from poise.show.scene import Scene, Style, Track
from poise.show.synthesis_scene import FIGURE_COLORS
from poise.world import World


def scene_of_world(world: World, *, title: str = "") -> Scene:
    """Figures and bodies of a world at every step so far.

    Example:
        >>> world.step()
        >>> poise.View(poise.scene_of(world)).save("world.html")

    Args:
        world: After its first step.
        title: One line; by default the names of the figures.
    """
    times = world.dt * np.arange(len(world.track), dtype=np.float64)
    title = title or ", ".join(figure.name for figure in world.figures) or "A world"
    props = tuple(prop_of(thing) for thing in world.things())
    return Scene(times, tracks_of(world), world.terrain, title=title, props=props)


def tracks_of(world: World) -> tuple[Track, ...]:
    """A track for every figure."""
    return tuple(
        Track(f.name, f.character, *body_poses(f.character, np.array(f.poses)), Style(color=color))
        for f, color in zip(world.figures, FIGURE_COLORS * len(world.figures))
    )
