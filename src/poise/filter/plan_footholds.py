"""Where feet stand on treads: the shift along the stairs that puts each stance where foot and leg have room.

A stance lies on one tread. Of the places that do, the best is nearest to the clip's own, but for what stands in the way
there: the edge that the standing leg would lean through, the edge that the foot would have to fall or jump over in less
time than it has, and the way that the hip would have to come down for the leg to reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from poise.body.character import Character
from poise.core.typing import Array, Flags
from poise.filter.smooth import HOLD, smoothest
from poise.terrain import Terrain

if TYPE_CHECKING:
    from poise.filter.plan import Track

Feet = tuple[tuple[int, ...], ...]

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
    track: Track, character: Character, terrain: Terrain, foot: tuple[int, ...], span: slice, shifts: Array,
    tread: Array,
) -> Array:  # fmt: skip
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
    return np.where(ground > tread[:, None, None] + 1e-6, np.maximum(deep, 0.0), 0.0).max(axis=(1, 2))


def _hurry(
    track: Track, terrain: Terrain, index: npt.NDArray[np.int64], span: slice, shifts: Array, tread: Array,
    scale: float,
) -> Array:  # fmt: skip
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
