"""Ways of the contact points over known ground: heights to stand on and to clear."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from poise.filter.plan_footholds import EDGE
from poise.terrain import Terrain

if TYPE_CHECKING:
    from poise.filter.plan import Track

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Feet = tuple[tuple[int, ...], ...]

EDGE_TIME = 0.15
"""That distance is reached so long after a foot lifts, and left so long before it lands [s]."""
RETURN_TIME = 0.6
"""A point that touches nothing for longer than this goes with the body [s]."""


class Ways(NamedTuple):
    """Heights for the points of every frame against the clip's own floor [m], shapes (F, P).

    Attributes:
        ground: Offset of a point that touches.
        highest: The ground below and, for swinging feet, just before and behind.
        lower: Least offset of a point that passes.
    """

    ground: Array
    highest: Array
    lower: Array


def ways(
    track: Track, terrain: Terrain, shift: Array, feet: Feet, radii: Array, scale: float, clearance: float
) -> Ways:
    """Heights to stand on and to clear.

    Args:
        track: The undisturbed clip.
        terrain: Placed terrain.
        shift: Of the points along the stairs [m], shape (F, P).
        feet: Groups of points that land together.
        radii: Of the points [m], shape (P,).
        scale: Leg length / 0.82 m.
        clearance: Kept above ground that is passed, if the reference is that high [m].
    """
    flat = (track.points[..., :2] + shift[..., None] * terrain.forward).reshape(-1, 2)
    surface = terrain.sample(flat)
    up = np.asarray(surface.normal)[:, 2].reshape(shift.shape)
    level = np.asarray(surface.height).reshape(shift.shape) - track.floor
    # the center of a ball on a slope is higher above the ground below it
    ground = level + radii * (1.0 / up - up)
    highest = ground
    if terrain.treads:
        swings = np.zeros(shift.shape)
        for foot in feet:
            flying = ~np.logical_or.reduce(np.asarray(track.flags[:, foot]), axis=1)
            away = np.asarray(ndimage.distance_transform_edt(flying)) if not flying.all() else np.full(len(flying), 1e9)
            swings[:, foot] = np.minimum(away * track.dt / EDGE_TIME, 1.0)[:, None]
        away = EDGE * scale * swings.reshape(-1, 1) * terrain.forward
        around = np.maximum(terrain.heights(flat + away), terrain.heights(flat - away))
        highest = np.maximum(ground, around.reshape(shift.shape) - track.floor)
    height = track.points[..., 2] - track.floor
    return Ways(ground, highest, highest + np.minimum(height, clearance) - height)


def straight(touching: Flags, ground: Array, body: Array, dt: float) -> Array:
    """Height offsets of a point (F,): the ground's while it touches, else straight from the last touch to the next.

    Both are against the body's own offset (F,), with which a point goes that touches nothing for long.
    """
    frames = np.arange(len(ground))
    known = frames[touching]
    if not known.size:
        return body.copy()
    between = np.interp(frames, known, (ground - body)[known])
    following = np.searchsorted(known, frames)
    before, after = known[np.maximum(following - 1, 0)], known[np.minimum(following, len(known) - 1)]
    away = dt * np.minimum(np.abs(frames - before), np.abs(frames - after))
    return body + np.clip(2.0 - 2.0 * away / RETURN_TIME, 0.0, 1.0) * between
