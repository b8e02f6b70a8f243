"""The ground of a pack: a grid of heights where it is smooth, triangles where it has edges, moving where it moves."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.typing import Array
from poise.show.arrays import PLACE_STEP, QUATERNION_STEP, Blobs, Header
from poise.show.camera import stature
from poise.show.scene import Scene
from poise.terrain.platform import Platform
from poise.terrain.shapes import Steps

HEIGHT_STEP = 2e-4
"""Step of a height [m]."""

SPACING = 0.08
"""Distance between heights of smooth ground [m, for a person]."""

MARGIN = 6.0
"""Ground beyond the figures' way [m, for a person]."""

LIVE_MARGIN = 14.0
"""The same where nobody knows the way [m, for a person]."""

LIVE_RATE, MOST_POSES = 30.0, 20_000
"""Poses a second of a platform in a live page [1/s], and how many at most."""

MOST_LINES = 400
"""Grid lines in one direction."""

FLATNESS = 1e-3
"""A grid line is left out where its neighbors tell its height to this [m, for a person]."""

_FLATNESS = 0.003  # a grid line is left out where its neighbors tell its height to this [m]


def pack_terrain(scene: Scene, blobs: Blobs, *, is_live: bool = False) -> list[Header]:
    """The ground under and around all figures; live, of which only a first place is known, farther around it."""
    shape, place = scene.terrain.shape, scene.terrain.place
    unit = stature(scene) / 1.7
    low, high = _extent(scene, (LIVE_MARGIN if is_live else MARGIN) * unit)
    if isinstance(shape, Steps):
        return [_steps(scene, low, high, blobs)]
    if isinstance(shape, Platform):
        entry = _grid(scene, np.array([low[0], high[0]]), np.array([low[1], high[1]]), np.zeros((2, 2)), blobs)
        # the shape's frame itself is what moves: its grid lies at height 0 of a frame without place or turn
        entry |= {"origin": [0.0, 0.0], "heading": 0.0}
        times = _own_times(shape) if is_live else scene.times
        poses = [_platform_pose(shape, scene, float(t)) for t in times]
        positions, turns = np.array([p for p, _ in poses]), rotations.continuous(np.array([q for _, q in poses]))
        entry["poses"] = {
            "positions": blobs.packed(positions, PLACE_STEP), "orientations": blobs.packed(turns, QUATERNION_STEP)
        }  # fmt: skip
        if is_live:  # its frames are not the scene's: it has one
            entry["poses"]["times"] = blobs.plain(times, "f32")
        return [entry]
    along, across = (_lines(low[k], high[k], SPACING * unit) for k in range(2))
    left = np.array([-place.forward[1], place.forward[0]])
    points = np.array(place.origin) + along[:, None, None] * place.forward + across[None, :, None] * left
    heights = scene.terrain.heights(points.reshape(-1, 2), float(scene.times[0])).reshape(points.shape[:2])
    a = needed(along, heights, FLATNESS * unit)
    c = needed(across, heights[a].T, FLATNESS * unit)
    return [_grid(scene, along[a], across[c], heights[np.ix_(a, c)], blobs)]


def _grid(scene: Scene, along: Array, across: Array, heights: Array, blobs: Blobs) -> Header:
    place = scene.terrain.place
    return {
        "kind": "grid", "origin": list(place.origin), "heading": place.heading,
        "along": blobs.plain(along, "f32"), "across": blobs.plain(across, "f32"),
        "heights": blobs.packed(heights, HEIGHT_STEP),
    }  # fmt: skip


def _steps(scene: Scene, low: Array, high: Array, blobs: Blobs) -> Header:
    """Treads and risers as triangles with sharp edges."""
    shape, place = scene.terrain.shape, scene.terrain.place
    assert isinstance(shape, Steps)
    edges = [shape.first]
    if not math.isinf(shape.tread):
        edges = np.arange(shape.first, high[0], shape.tread).tolist()
    edges = [e for e in edges if low[0] < e < high[0]]
    level = 0.0 if not edges else round((edges[0] - shape.first) / shape.tread) if not math.isinf(shape.tread) else 0
    ends, heights = [low[0], *np.repeat(edges, 2).tolist(), high[0]], []
    for k in range(len(edges) + 1):
        heights += [place.ground + (level + k) * shape.rise] * 2
    left = np.array([-place.forward[1], place.forward[0]])
    rows = np.array(place.origin) + np.array(ends)[:, None] * place.forward
    sides = [np.column_stack([rows + side * left, heights]) for side in (low[1], high[1])]
    vertices = np.stack(sides, axis=1).reshape(-1, 3)
    quads = 2 * np.arange(len(ends) - 1)[:, None]
    indices = np.concatenate([quads + np.array(corner) for corner in ([0, 2, 3], [0, 3, 1])])
    wide = "u16" if len(vertices) < 65536 else "u32"
    return {"kind": "mesh", "vertices": blobs.plain(vertices, "f32"), "indices": blobs.plain(indices, wide)}


def _own_times(shape: Platform) -> Array:
    """Times between a platform's first and last key, close enough for straight lines between them [s]."""
    first, last = float(shape.keys[0, 0]), float(shape.keys[-1, 0])
    return np.linspace(first, last, int(np.clip((last - first) * LIVE_RATE, 1, MOST_POSES)) + 1)


def _platform_pose(shape: Platform, scene: Scene, time: float) -> tuple[Array, Array]:
    """Place [m] and orientation of a moving platform's frame in the world."""
    place = scene.terrain.place
    pose = shape.pose(time)[0]
    position = np.array([*place.origin, place.ground]) + place.to_world(pose[:3])
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, place.heading]))
    for axis, angle in ((np.array([0.0, -1.0, 0.0]), pose[3]), (np.array([1.0, 0.0, 0.0]), pose[4])):
        turn = rotations.multiply(turn, rotations.from_rotation_vector(axis * angle))
    return position, turn


def _extent(scene: Scene, margin: float) -> tuple[Array, Array]:
    """Where the figures go in the terrain's own frame, and a margin: lowest and highest along and across [m]."""
    place = scene.terrain.place
    left = np.array([-place.forward[1], place.forward[0]])
    way = np.concatenate([t.positions[:, 0, :2] for t in scene.tracks] + [p.positions[:, :2] for p in scene.props])
    own = np.stack([(way - place.origin) @ place.forward, (way - place.origin) @ left], axis=-1)
    return own.min(axis=0) - margin, own.max(axis=0) + margin


def _lines(first: float, last: float, step: float) -> Array:
    return np.linspace(first, last, int(np.clip(np.ceil((last - first) / step), 1, MOST_LINES)) + 1)


def needed(places: Array, values: Array, tolerance: float = _FLATNESS) -> npt.NDArray[np.int64]:
    """Rows that piecewise linear interpolation needs to tell all rows to a tolerance (Douglas and Peucker).

    Args:
        places: Rising coordinate of each row, shape (N,).
        values: The rows, shape (N, K).
        tolerance: Largest error of a row left out, in the unit of `values`.

    Returns:
        Indices of the rows kept, rising, the first and the last among them.
    """
    keep, spans = {0, len(places) - 1}, [(0, len(places) - 1)]
    while spans:
        a, b = spans.pop()
        if b - a < 2:
            continue
        blend = ((places[a + 1 : b] - places[a]) / (places[b] - places[a]))[:, None]
        error = np.abs(values[a] * (1.0 - blend) + values[b] * blend - values[a + 1 : b]).max(axis=1)
        if error.max() > tolerance:
            split = a + 1 + int(np.argmax(error))
            keep.add(split)
            spans += [(a, split), (split, b)]
    return np.array(sorted(keep), dtype=np.int64)
