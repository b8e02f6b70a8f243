"""A world as a scene: its figures, and the bodies around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from poise.analysis.forces import touching
from poise.body.character import Capsule
from poise.body.posing import body_poses, q_to_motion
from poise.core import rotations
from poise.core.typing import Array
from poise.filter.forces import Companion, Thing
from poise.show.look import ARROW_COLOR, FIGURE_COLORS, arrow_of, words_of
from poise.show.motion_scene import LIVE_VERTICES, MAX_VERTICES, skins_on
from poise.show.physics import side_color, spans_of
from poise.show.scene import Arrow, Ball, Box, Color, Cylinder, Mesh, Prop, Row, Scene, Shape, Skinned, Style, Track
from poise.terrain import Terrain
from poise.world import World

THING_COLOR: Color = (0.62, 0.54, 0.44)

MOST_FIGURES = 4
"""Figures of a world whose legs have rows under the timeline."""

CLEAR, STEEP = 0.8, 0.7
"""What stands taller than `CLEAR` [m], broad side up no more than `STEEP`, is clear: nobody is hidden behind it."""


def scene_of_world(world: World, *, title: str = "", is_now: bool = False) -> Scene:
    """Figures and bodies of a world at every step so far.

    Args:
        world: The world.
        title: One line; by default the names of the figures.
        is_now: Only as it is now, with hands on what moves by physics.
    """
    since = len(world.track) - 1 if is_now else 0
    times = world.dt * np.arange(since, len(world.track), dtype=np.float64)
    companions = world.companions(since)
    tracks = companion_tracks(companions, most=LIVE_VERTICES if is_now else MAX_VERTICES)
    pushes = () if is_now else tuple(_pushes(world, tracks, times))
    title = title or ", ".join(track.name for track in tracks) or "A world"
    props = [(prop, thing.mass > 0.0) for thing in world.things(since) for prop in props_of_thing(thing)]
    own = tuple(replace(prop, is_draggable=is_now and is_loose) for prop, is_loose in props)
    return Scene(
        times, tuple(tracks), world.terrain, tuple(arrow for arrow, _ in pushes), title, props=own,
        timeline=() if is_now else _rows(companions, world.terrain, times, tuple(span for _, span in pushes)),
    )  # fmt: skip


def _rows(
    companions: Sequence[Companion], terrain: Terrain, times: Array, pushes: tuple[tuple[float, float, str], ...]
) -> tuple[Row, ...]:
    """Rows of the timeline: pushes, and when each leg of the first figures stands on the ground."""
    rows = [Row("pushes", ARROW_COLOR, pushes)] if pushes else []
    for c in companions[:MOST_FIGURES] if len(times) > 1 else ():
        touch = touching(q_to_motion(c.character, c.q, times), c.character, terrain=terrain)
        flags = touch.flags if c.touches is None else touch.flags | c.touches
        bodies = np.array([p.body for p in c.character.contact_points], dtype=np.intp)
        for limb in (x for x in c.character.limbs if x.kind == "leg"):
            stands = np.asarray(flags[:, np.isin(bodies, limb.bodies)].any(axis=1))
            name = limb.name.replace("_", " ")
            name = f"{c.name}: {name}" if len(companions) > 1 else name
            rows.append(Row(name, side_color(limb.name), spans_of(stands, times)))
    return tuple(rows)


def _pushes(world: World, tracks: Sequence[Track], times: Array) -> Iterator[tuple[Arrow, tuple[float, float, str]]]:
    """What pushed and pulled the figures of a world: an arrow, and a span of the timeline, for each."""
    for who, (figure, track) in enumerate(zip(world.figures, tracks)):
        for push in figure.pushes:
            if push.start <= times[-1]:
                words = f"{figure.name}: {words_of(push)}" if len(tracks) > 1 else words_of(push)
                yield arrow_of(push, who, track, times), (push.start, min(push.start + push.duration, times[-1]), words)


def companion_tracks(companions: Sequence[Companion], *, first: int = 0, most: int = MAX_VERTICES) -> list[Track]:
    """A track for every figure of a world, in its skin or in colors that tell them apart, counted from the first.

    Args:
        companions: The figures.
        first: Number of the first one.
        most: Figures whose skins have more vertices are shown as capsules.
    """
    tracks: list[Track] = []
    for k, c in enumerate(companions, first):
        skins, skinned = skins_on(c.character, c.drawn, most=most), None
        if skins:
            skinned = Skinned(skins, *q_to_motion(c.character, c.q, np.arange(len(c.q), dtype=np.float64)).world)
        color = Style(color=FIGURE_COLORS[k % len(FIGURE_COLORS)])
        tracks.append(Track(c.name, c.character, *body_poses(c.character, c.q), color, skinned))
    return tracks


def is_wall(half: Array, turn: Array) -> bool:
    """Whether a box of these half sizes (3,) [m], turned so (4,), hides who stands behind it."""
    axes = np.abs(rotations.to_matrix(turn)[2])  # how far each of its axes rises
    thin = axes[half <= half.min() + 1e-9].max()  # of several equal sides the one that lies flattest
    return bool(thin <= STEEP and 2.0 * axes @ half > CLEAR)


def _hull(points: Array) -> Mesh:
    """The convex hull of points (N, 3): what a mesh collides as, with flat faces."""
    from scipy.spatial import ConvexHull

    corners = points[ConvexHull(points).simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    is_inward = np.einsum("ki,ki->k", normals, corners[:, 0] - points.mean(axis=0)) < 0.0
    corners[is_inward] = corners[is_inward, ::-1]
    return Mesh(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3))


def props_of_thing(thing: Thing) -> tuple[Prop, ...]:
    """A body around a figure as something to see; of what has walls and more, the walls by themselves."""
    shapes: list[Shape] = []
    walls: list[Shape] = []
    for kind, size, place, turn in thing.shapes:
        if kind == "mesh":
            shapes.append(_hull(place + rotations.rotate(turn, size)))
            continue
        along = rotations.rotate(turn, np.array([0.0, 0.0, size[1]]))
        if kind == "box":
            is_clear = is_wall(size, rotations.multiply(thing.orientations[0], turn))
            (walls if is_clear else shapes).append(Box(place, size, turn))
        elif kind == "capsule":
            shapes.append(Capsule(place - along, place + along, float(size[0])))
        elif kind == "cylinder":
            shapes.append(Cylinder(place - along, place + along, float(size[0])))
        else:  # a ball, or an ellipsoid as one of its mean radius
            shapes.append(Ball(place, float(size[0] if kind == "sphere" else size.mean())))
    if thing.mass > 0.0 and shapes:  # what may topple stays one thing
        shapes, walls = shapes + walls, []
    clear = f"{thing.name}: walls" if shapes else thing.name
    return tuple(
        Prop(name, tuple(own), thing.positions, thing.orientations, THING_COLOR, thing.mass, is_clear=own is walls)
        for name, own in ((thing.name, shapes), (clear, walls))
        if own
    )
