"""Ways of the contact points over known ground: heights to stand on and to clear, and feet that rise before edges.

A foot is one thing: while any of its points touches, all of them have the ground that they stand on, and they rise and
come down together. Else a heel that lifts early would turn the toes down on every stair.

On stairs every stance is shifted along the treads to where foot and leg have room. A stance lies on one tread. Of the
places that do, the best is nearest to the clip's own, but for what stands in the way there: the edge that the standing
leg would lean through, the edge that the foot would have to fall or jump over in less time than it has, and the way
that the hip would have to come down for the leg to reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from poise.body.character import Character
from poise.core.typing import Array, Flags
from poise.filter.curve import HOLD, smoothest
from poise.terrain import Terrain


@dataclass(frozen=True)
class Track:
    """What the plan must know of the undisturbed clip.

    Attributes:
        points: Places of the contact points [m], shape (F, P, 3).
        flags: Touching, shape (F, P).
        bodies: Places of the bodies' joints [m], shape (F, B, 3), without the world.
        com: Center of mass [m], shape (F, 3).
        floor: Height of the clip's own floor [m].
        dt: [s].
    """

    points: Array
    flags: Flags
    bodies: Array
    com: Array
    floor: float
    dt: float


REACH = 0.985
"""Part of its length that a leg is stretched to, unless the clip itself stretches it further [1]."""
EDGE = 0.04
"""Feet keep so far from a riser where they can, for a leg of 0.82 m [m]."""
OVERHANGS = (0.1, 0.2, 0.3, 0.4)
"""Parts of a foot that may stand out over a lower tread where none is as long as the foot [1]."""
LOW = 0.05
"""Points of a standing foot lower than this must lie on its tread, for a leg of 0.82 m [m]."""
PAUSE = 0.06
"""A foot that lifts for less than this still stands [s]."""
SPACING = 0.005
"""Shifts are tried so far apart, for a leg of 0.82 m [m]."""
SHIFT_COST = 0.3
"""A shift is worth so much less of what stands in the way [m/m]."""
FALL_SPEED = 2.0
"""A foot comes down and rises no faster than this, for a leg of 0.82 m [m/s]."""
FALL_TIME = 0.3
"""So long before it lands and after it lifts its way is looked at [s]."""
LEG_RADIUS = 0.05
"""Thickness of a leg, for a leg of 0.82 m [m]."""
MOST_FRAMES = 60
"""A longer stance is looked at in so many of its frames."""


class Footholds(NamedTuple):
    """Places on one tread for a stance of a foot, nearest to its own first; none where it has no room on any.

    Attributes:
        shifts: Along the stairs [m], shape (S,).
        leaning: How deep the standing leg would lean into higher ground [m], shape (S,).
        hurry: How much higher the ground is that the foot passes just before and after than it can fall and rise in
            that time [m], shape (S,).
        short: How far the hip would have to come down for the leg to reach [m], shape (S,).
    """

    shifts: Array
    leaning: Array
    hurry: Array
    short: Array

    @property
    def blocked(self) -> float:
        """The least that stands in the way of leg and foot in any place [m]; infinite where there is no place."""
        return float((self.leaning + self.hurry).min(initial=np.inf))

    @property
    def best(self) -> float:
        """The shift to take [m]; 0 where there is none."""
        if not self.shifts.size:
            return 0.0
        cost = self.leaning + self.hurry + self.short + SHIFT_COST * np.abs(self.shifts)
        return float(self.shifts[np.argmin(cost)])


def chain_of(character: Character, foot: tuple[int, ...]) -> tuple[int, ...]:
    """Bodies of the leg that a foot's points belong to, from the thigh to the foot."""
    ankle = character.contact_points[foot[0]].body
    limb = next(x for x in character.limbs if ankle in x.bodies and x.kind == "leg")
    return limb.bodies[: limb.bodies.index(ankle) + 1]


def headroom(
    track: Track, character: Character, terrain: Terrain, foot: tuple[int, ...], frames: slice, shift: Array
) -> Array:
    """How much higher against its foot than in the clip a hip may be before the leg is stretched [m], shape (..., F).

    Args:
        track: The undisturbed clip.
        character: Whose clip.
        terrain: Placed terrain.
        foot: Contact points of the foot.
        frames: The F frames that are asked for.
        shift: Of the foot along the stairs [m], broadcasts to (..., F).
    """
    chain = chain_of(character, foot)
    length = sum(float(np.linalg.norm(character.bodies[b].offset)) for b in chain[1:])
    way = track.bodies[frames, chain[-1]] - track.bodies[frames, chain[0]]
    longest = np.maximum(REACH * length, np.linalg.norm(way, axis=1))
    aside = np.linalg.norm(way[:, :2] + shift[..., None] * terrain.forward, axis=-1)
    return np.sqrt(np.maximum(longest**2 - aside**2, 0.0)) + way[:, 2]


def stances(standing: Flags, dt: float) -> list[slice]:
    """Frames of each time a foot stands, shape (F,); short pauses do not end one."""
    size = max(1, round(PAUSE / dt))
    closed = ndimage.binary_closing(np.pad(standing, size), np.ones(size + 1, dtype=np.bool_))[size:-size]
    label = np.asarray(ndimage.label(np.logical_or(closed, standing))[0])  # pyright: ignore[reportIndexIssue]
    return [s[0] for s in ndimage.find_objects(label)]


def tread_shifts(
    track: Track, character: Character, terrain: Terrain, feet: Feet, reach: float, *, is_level: bool
) -> Array:
    """Shift of every point along the stairs [m], shape (F, P), that puts each stance of a foot on one tread.

    All the low points of the foot stay clear of the risers; with no room for that, off them.

    Args:
        track: The undisturbed clip.
        character: Whose clip.
        terrain: Placed terrain.
        feet: Groups of points that land together.
        reach: Largest shift [m].
        is_level: The clip starts on its own ground: feet in the air are not shifted there.
    """
    frames = len(track.points)
    out = np.zeros(track.flags.shape)
    if not terrain.treads or reach == 0.0:
        return out
    for foot in feet:
        index = np.array(foot)
        targets, weights = np.zeros(frames), np.full(frames, 1e-6)
        for span in stances(np.logical_or.reduce(track.flags[:, index], axis=1), track.dt):
            targets[span] = footholds(track, character, terrain, foot, span, reach).best
            weights[span] = HOLD
        if is_level and weights[0] < HOLD:
            weights[:2] = HOLD
        out[:, index] = smoothest(targets, weights, np.ones(frames), track.dt)[:, None]
    return out


def footholds(
    track: Track, character: Character, terrain: Terrain, foot: tuple[int, ...], span: slice, reach: float
) -> Footholds:
    """Where a stance of a foot has room, no farther than `reach` [m] from its own place.

    Args:
        track: The undisturbed clip.
        character: Whose clip.
        terrain: Placed terrain.
        foot: Contact points of the foot.
        span: Frames in which it stands.
        reach: Largest shift [m].
    """
    scale = character.leg_scale
    index = np.array(foot)
    flags = np.asarray(track.flags[span, index])
    low = track.points[span, index, 2] - track.floor < LOW * scale
    along = (track.points[span, :, :2] @ terrain.forward)[:, index]
    places = along[flags | (low & flags.any(axis=1, keepdims=True))]
    most = int(reach / (SPACING * scale))
    steps = SPACING * scale * np.arange(-most, most + 1, dtype=np.float64)
    steps = steps[np.argsort(np.abs(steps), kind="stable")]
    first, last = float(places.min()), float(places.max())
    rooms = [(m, m) for m in EDGE * scale * np.linspace(1.0, 0.0, 9)]
    # a foot longer than its tread stands out over the lower one
    rooms += [x for part in OVERHANGS for x in ((-part * (last - first), 0.0), (0.0, -part * (last - first)))]
    for before, behind in rooms:
        h = _heights(terrain, steps[:, None] + np.array([first - before, last + behind, first, last]))
        tread = h[:, 0]
        level = np.flatnonzero((np.abs(h[:, 1] - tread) < 1e-6) & (h[:, 2:].max(axis=1) < tread + 1e-6))
        if level.size:
            shifts, tread = steps[level], tread[level]
            short = -headroom(track, character, terrain, foot, span, shifts[:, None]).min(axis=1)
            return Footholds(
                shifts,
                _leaning(track, character, terrain, foot, span, shifts, tread),
                _hurry(track, terrain, index, span, shifts, tread, scale),
                np.maximum(short, 0.0),
            )
    return Footholds(*np.zeros((4, 0)))


def _heights(terrain: Terrain, along: Array) -> Array:
    """Height of the ground so far along the stairs [m], any shape."""
    return terrain.heights(along.reshape(-1, 1) * terrain.forward).reshape(along.shape)


def _leaning(
    track: Track,
    character: Character,
    terrain: Terrain,
    foot: tuple[int, ...],
    span: slice,
    shifts: Array,
    tread: Array,
) -> Array:
    """How deep the standing leg would lean into higher ground, for each shift [m].

    The leg stands on its foot as in the clip, and its hip stays where the clip has it along the stairs.
    """
    chain = list(chain_of(character, foot))
    scale = character.leg_scale
    every = slice(span.start, span.stop, max(1, (span.stop - span.start) // MOST_FRAMES))
    joints = track.bodies[every][:, chain]
    lengths = np.array([0.0, *(float(np.linalg.norm(character.bodies[b].offset)) for b in chain[1:])])
    share = np.cumsum(lengths) / max(float(lengths.sum()), 1e-9)
    # joints below the hip and the middles of the bones between them
    places = np.concatenate([joints[:, 1:-1], 0.5 * (joints[:, 1:] + joints[:, :-1])], axis=1)
    share = np.concatenate([share[1:-1], 0.5 * (share[1:] + share[:-1])])
    along = (places[..., :2] @ terrain.forward)[None] + share * shifts[:, None, None]
    ground = _heights(terrain, along)
    deep = ground + LEG_RADIUS * scale - (places[..., 2] - track.floor + tread[:, None, None])
    return np.where(ground > tread[:, None, None] + 1e-6, np.maximum(deep, 0.0), 0.0).max(axis=(1, 2), initial=0.0)


def _hurry(
    track: Track,
    terrain: Terrain,
    index: npt.NDArray[np.int64],
    span: slice,
    shifts: Array,
    tread: Array,
    scale: float,
) -> Array:
    """How much too high the ground is that the foot passes just before and after its stance, for each shift [m]."""
    most = round(FALL_TIME / track.dt)
    speed = FALL_SPEED * scale**0.5
    worst = np.zeros(len(shifts))
    for frames in (np.arange(max(0, span.start - most), span.start), np.arange(span.stop, span.stop + most)):
        frames = frames[frames < len(track.points)]
        if not frames.size:
            continue
        away = track.dt * np.minimum(np.abs(frames - span.start), np.abs(frames - span.stop + 1))
        along = (track.points[frames][:, index, :2] @ terrain.forward)[None] + shifts[:, None, None]
        rise = _heights(terrain, along).max(axis=2) - tread[:, None]
        worst = np.maximum(worst, (rise - speed * away).max(axis=1))
    return worst


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
