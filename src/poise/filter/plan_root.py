"""Height of the body over known ground."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from poise.body.character import Character
from poise.core.typing import Array
from poise.filter.plan_footholds import chain_of, headroom, stances
from poise.filter.smooth import HOLD, smoothest
from poise.terrain import Terrain

if TYPE_CHECKING:
    from poise.filter.plan import Track

Feet = tuple[tuple[int, ...], ...]

FOLDED = 0.7
"""A leg that is folded to this part of its length no longer stands, if another does [1]."""
RISE_TIME = 0.15
"""The body follows the height of what it stands on within about so long [s]."""
FLIGHT_COST = 100.0
"""An acceleration of the rise in flight costs so much more than one while something stands [1]."""
REACH_WEIGHT = 2e1
"""Weight of keeping within reach against that of keeping to the mean height [1]."""


def rise(
    track: Track, character: Character, terrain: Terrain, ground: Array, shift: Array, feet: Feet, upright: Array, *,
    is_level: bool, ways: Array | None = None,
) -> Array:  # fmt: skip
    """Height of the root against the reference [m], shape (F,).

    The upright stand on their feet; those that lie along the slope turn about their center of mass, whose place is
    given, and keep to the ground below it.

    Args:
        track: The undisturbed clip.
        character: Whose clip.
        terrain: Placed terrain.
        ground: Height offset of points that touch [m], shape (F, P).
        shift: Of the points along the stairs [m], shape (F, P).
        feet: Groups of points that land together.
        upright: 1 where the figure stands on its feet, 0 where it lies along the slope, shape (F,).
        is_level: The clip starts on its own ground, so the height starts at zero.
        ways: Height offset of points on their way [m], shape (F, P), once it is planned: swinging feet are reached too.
    """
    frames = len(ground)
    under = _laid(track, terrain, 0.25 * character.leg_scale)
    grouped = {i for foot in feet for i in foot}
    groups = [*feet, tuple(i for i in range(ground.shape[1]) if i not in grouped)]
    total, share = np.zeros(frames), np.zeros(frames)
    upper = np.full(frames, np.inf)
    for group in groups:
        index = np.array(group, dtype=np.int64)
        flags = track.flags[:, index]
        count = flags.sum(axis=1)
        mean = (ground[:, index] * flags).sum(axis=1) / np.maximum(count, 1)
        total += mean
        share += count > 0
        if group in feet:
            most = mean + headroom(track, character, terrain, group, slice(None), shift[:, index[0]])
            upper = np.where((count > 0) & (upright > 0.5), np.minimum(upper, most), upper)
            if ways is not None:
                most = ways[:, index].mean(axis=1) + most - mean
                upper = np.where((count == 0) & (upright > 0.5), np.minimum(upper, most), upper)
    stands = share > 0.0
    if not stands.any():
        return under
    targets = upright * total / np.maximum(share, 1.0) + (1.0 - upright) * under
    weights = np.where(stands, 1.0, 0.0)
    if is_level:
        targets[:2], weights[:2] = 0.0, HOLD
    bends = RISE_TIME**4 * np.where(stands, 1.0, FLIGHT_COST)
    return smoothest(targets, weights, bends, track.dt, upper=upper, bound_weight=REACH_WEIGHT)


def let_go(track: Track, character: Character, height: Array, ground: Array, feet: Feet, upright: Array) -> Track:
    """The clip with the ends of stances left out in which a leg would fold up: on a ledge that the body has left.

    Args:
        track: The undisturbed clip.
        character: Whose clip.
        height: Of the root against the reference [m], shape (F,).
        ground: Height offset of points that touch [m], shape (F, P).
        feet: Groups of points that land together.
        upright: 1 where the figure stands on its feet, shape (F,).
    """
    flags = track.flags.copy()
    stands = np.stack([track.flags[:, list(foot)].any(axis=1) for foot in feet], axis=1)
    for k, foot in enumerate(feet):
        index, chain = np.array(foot), chain_of(character, foot)
        length = sum(float(np.linalg.norm(character.bodies[b].offset)) for b in chain[1:])
        way = track.bodies[:, chain[-1]] - track.bodies[:, chain[0]]
        level = ground[:, index].mean(axis=1)
        now = np.linalg.norm(way + np.outer(level - height, [0.0, 0.0, 1.0]), axis=1)
        folds = (now < FOLDED * length) & (now < 0.9 * np.linalg.norm(way, axis=1)) & (upright > 0.5)
        others = np.logical_or.reduce(np.delete(stands, k, axis=1), axis=1)
        for span in stances(stands[:, k], track.dt):
            if span.stop >= len(flags):
                continue
            alone = np.flatnonzero(~others[span])
            last = span.start + (int(alone[-1]) + 1 if alone.size else 0)  # from here on another foot stands as well
            bad = np.flatnonzero(folds[last : span.stop])
            if last > span.start and bad.size:
                flags[last + int(bad[0]) : span.stop, index] = False
    return replace(track, flags=flags)


def _laid(track: Track, terrain: Terrain, reach: float) -> Array:
    """Height of the root against the reference [m], shape (F,), if the body is laid along the ground below it."""
    cross = reach * np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    places = track.com[:, None, :2] + cross
    h = terrain.heights(places.reshape(-1, 2)).reshape(-1, 5) - track.floor
    gradient = np.stack([h[:, 1] - h[:, 2], h[:, 3] - h[:, 4]], axis=1) / (2.0 * reach)
    # a vector that rises with the slope by the angle atan |g|
    to_root = track.bodies[:, 0] - track.com
    cosine = 1.0 / np.sqrt(1.0 + np.einsum("kc,kc->k", gradient, gradient))
    uphill = np.einsum("kc,kc->k", gradient, to_root[:, :2])
    risen = (1.0 / cosine - 1.0) * (track.com[:, 2] - track.floor) + (cosine - 1.0) * to_root[:, 2]
    return h.mean(axis=1) + cosine * uphill + risen
