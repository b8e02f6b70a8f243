"""Ways of the contact points over known ground: heights to stand on and to clear, and feet that rise before edges.

A foot is one thing: while any of its points touches, all of them have the ground that they stand on, and they rise and
come down together. Else a heel that lifts early would turn the toes down on every stair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import ndimage

from poise.core.typing import Array, Flags
from poise.filter.plan_footholds import EDGE, stances
from poise.filter.smooth import HOLD, smoothest
from poise.terrain import Terrain

if TYPE_CHECKING:
    from poise.filter.plan import Track

Feet = tuple[tuple[int, ...], ...]

EDGE_TIME = 0.15
"""That distance is reached so long after a foot lifts, and left so long before it lands [s]."""
RETURN_TIME = 0.6
"""A point that touches nothing for longer than this goes with the body [s]."""
HASTE, SPEED = 40.0, 2.5
"""A foot that leaves the ground rises with this acceleration [m/s²] up to this speed [m/s], for a leg of 0.82 m; it
comes down like that too."""
FURTHEST = 0.2
"""A foot waits for its rise no farther from its way than this, for a leg of 0.82 m [m]."""
WAIT_SPACING = 0.01
"""Places to wait in are tried so far apart, for a leg of 0.82 m [m]."""
WAIT_WEIGHT, WAIT_BOUND = 0.1**-4, 0.02**-4
"""Weights of keeping a foot on its way along the stairs while it flies, and of waiting, against its acceleration: it
goes from one to the other in about so long [1/s⁴]."""


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


def standing(touching: Flags, ground: Array, dt: float, *, has_treads: bool) -> tuple[Flags, Array]:
    """When a foot stands, shape (F,), and the ground of all its points then [m], shape (F, P): of a point that does not
    touch, the ground it touches next or touched last in the same stance, else the mean of the others; on treads, the
    highest that the foot stands on.

    Args:
        touching: Points of the foot, shape (F, P).
        ground: Offsets of points that touch [m], shape (F, P).
        dt: [s].
        has_treads: The ground has level treads.
    """
    held, out = np.zeros(len(touching), dtype=np.bool_), ground.copy()
    for span in stances(np.logical_or.reduce(touching, axis=1), dt):
        held[span] = True
        own, frames = touching[span], np.arange(span.start, span.stop)
        if has_treads:
            out[span] = ground[span][own].max()
            continue
        known = [i for i in range(touching.shape[1]) if own[:, i].any()]
        for i in known:
            at = frames[own[:, i]]
            nearest = at[np.abs(frames[:, None] - at).argmin(axis=1)]
            out[span, i] = ground[nearest, i]
        for i in set(range(touching.shape[1])) - set(known):
            out[span, i] = out[span][:, known].mean(axis=1)
    return held, out


def waits(track: Track, terrain: Terrain, shift: Array, feet: Feet, scale: float) -> Array:
    """Shifts along the stairs (F, P) with which feet wait before an edge until they have risen above it, and go past
    one before they come down.
    """
    out = shift.copy()
    if not terrain.treads:
        return out
    along, height = track.points[..., :2] @ terrain.forward, track.points[..., 2] - track.floor
    steps = WAIT_SPACING * scale * np.arange(-round(FURTHEST / WAIT_SPACING), round(FURTHEST / WAIT_SPACING) + 1)
    steps = steps[np.argsort(np.abs(steps), kind="stable")]
    for foot in feet:
        index = np.array(foot)
        flags = np.asarray(track.flags[:, index])
        spans = stances(np.logical_or.reduce(flags, axis=1), track.dt)
        own = shift[:, index[0]]
        targets, weights = own.copy(), np.full(len(own), WAIT_WEIGHT)
        lower, upper = np.full(len(own), -np.inf), np.full(len(own), np.inf)
        for span in spans:
            weights[span] = HOLD
        if not spans:
            continue
        weights[:2] = HOLD
        end = slice(len(own), len(own))
        for before, after in zip(spans, [*spans[1:], end], strict=True):
            frames = np.arange(before.stop, after.start)
            if not frames.size:
                continue
            places = along[frames][:, index] + own[frames, None]
            ends = [
                _ground_of(terrain, along[span][:, index] + own[span, None], flags[span]) - track.floor
                for span in (before, after if after is not end else before)
            ]
            since, left = track.dt * (frames - before.stop + 1.0), track.dt * (after.start - frames)
            if after is end:  # where it lands is not known: as high as what it passes
                ends[1] = float(terrain.heights(places.reshape(-1, 1) * terrain.forward).max()) - track.floor
            for level, time in zip(ends, (since, left), strict=True):
                most = level + _risen(time, scale)
                margin = EDGE * scale * np.minimum(time / EDGE_TIME, 1.0)
                for k in np.flatnonzero(most < max(ends) + 1e-6):
                    # what is in the way: ground higher than the foot can be by then
                    tried = (places[k] + steps[:, None])[..., None] + margin[k] * np.array([-1.0, 0.0, 1.0])
                    ground = terrain.heights(tried.reshape(-1, 1) * terrain.forward).reshape(tried.shape).max(axis=2)
                    deep = (ground - track.floor - most[k] - height[frames[k], index]).max(axis=1)
                    free = np.flatnonzero(deep <= 1e-6)
                    if not free.size or free[0] == 0:
                        continue
                    best = own[frames[k]] + steps[free[0]]
                    if steps[free[0]] < 0.0:
                        upper[frames[k]] = min(upper[frames[k]], best)
                    else:
                        lower[frames[k]] = max(lower[frames[k]], best)
        if np.isfinite(upper).any() or np.isfinite(lower).any():
            way = smoothest(targets, weights, np.ones(len(own)), track.dt, lower, upper, WAIT_BOUND)
            out[:, index] = way[:, None]
    return out


def _risen(time: Array, scale: float) -> Array:
    """How far a foot rises in so long [m]: it speeds up, then goes on."""
    haste, speed = HASTE, SPEED * scale**0.5  # times go with the root of the size
    until = speed / haste
    return np.where(time < until, 0.5 * haste * time**2, speed * time - 0.5 * speed * until)


def _ground_of(terrain: Terrain, along: Array, flags: Flags) -> float:
    """Height of the ground that a stance of a foot stands on [m]."""
    return float(np.median(terrain.heights(along[flags].reshape(-1, 1) * terrain.forward)))


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
