"""The way over known ground: where each contact point of a clip goes, and how high the body.

A clip run knows its contacts and its ground in advance, so what a stream must guess is planned once. Standing points
follow the ground below them; on treads every stance of a foot is first shifted so that all of it lies on one tread. A
swinging point goes straight from the height it leaves to the height it lands on, and rises smoothly over what is in its
way. The body keeps to the mean height of what it stands on, no higher than its legs reach, and changes its rise where
something stands rather than in flight. All of it is zero on level ground. Source: [Levine2012]_ 2.5 corrects heights by
a look-ahead of 0.2 s at every step, which steps high on slopes, comes late where runners land, and puts feet on edges.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from poise.body.character import Character
from poise.core.typing import Array, Flags
from poise.filter import plan_feet
from poise.filter.curve import HOLD, smoothest
from poise.filter.plan_feet import Track, chain_of, headroom, stances, tread_shifts
from poise.filter.preset import EndEffector
from poise.terrain import Terrain

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
    track: Track,
    character: Character,
    terrain: Terrain,
    ground: Array,
    shift: Array,
    feet: Feet,
    upright: Array,
    *,
    is_level: bool,
    ways: Array | None = None,
) -> Array:
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
    under = _rise_along_ground(track, terrain, 0.25 * character.leg_scale)
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
    if not feet:
        return track
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


def _rise_along_ground(track: Track, terrain: Terrain, reach: float) -> Array:
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


SWING_TIME = 0.15
"""A point that had to rise over something is back on its straight way within about so long [s]."""
AROUND = 0.1
"""Ground that a point passes so long before or after counts as near [s]."""
CLIMB = 0.1
"""A point that must rise so much above its straight way is followed with full weight, for a leg of 0.82 m [m]."""
CLIMB_TIME = 0.2
"""It is followed so long before and after [s]."""


class PlannedFrame(NamedTuple):
    """The plan at one step.

    Attributes:
        offsets, velocities, accelerations: Of the contact points against the reference, [m] …, shape (P, 3).
        height, height_velocity, height_acceleration: Of the root against the reference, [m] ….
        landings: Where each point stands or will next, x, y and the offset of its height [m], shape (P, 3); nan where
            it never does.
        gaps: How far above the highest ground nearby in time each point passes [m], shape (P,).
        climbs: 0 … 1, how much each point must soon rise above its straight way to clear something, shape (P,).
    """

    offsets: Array
    velocities: Array
    accelerations: Array
    height: float
    height_velocity: float
    height_acceleration: float
    landings: Array
    gaps: Array
    climbs: Array

    def at_rest(self) -> PlannedFrame:
        """The same places with nothing moving."""
        still = np.zeros_like(self.velocities)
        return self._replace(velocities=still, accelerations=still, height_velocity=0.0, height_acceleration=0.0)


class GroundPlan:
    """Offsets of all points and of the root for every frame of a clip on resting ground.

    Args:
        track: The undisturbed clip.
        character: Whose clip.
        terrain: Placed terrain.
        settings: The end-effector part of the preset.
        feet: Groups of points that land together.
        upright: 1 where the figure stands on its feet, 0 where its body lies along the slope, shape (F,).

    Attributes:
        offsets: Of the contact points against the reference [m], shape (F, P, 3).
        height: Of the root against the reference [m], shape (F,).
        flags: Touching, as planned, shape (F, P): a foot on a ledge is let go before its leg folds up.
    """

    def __init__(
        self,
        track: Track,
        character: Character,
        terrain: Terrain,
        settings: EndEffector,
        feet: tuple[tuple[int, ...], ...],
        upright: Array,
    ) -> None:
        scale = character.leg_scale
        dt = track.dt
        is_level = starts_level(track.points[0], terrain, track.floor, scale)
        reach = settings.foothold_shift * scale
        own_shift = tread_shifts(track, character, terrain, feet, reach, is_level=is_level)
        shift = plan_feet.waits(track, terrain, own_shift, feet, scale)
        radii = np.array([p.radius for p in character.contact_points])
        ways = plan_feet.ways(track, terrain, shift, feet, radii, scale, settings.clearance * scale)
        climbs = np.abs(shift - own_shift)
        self.offsets = np.zeros_like(track.points)
        self.offsets[..., :2] = shift[..., None] * terrain.forward
        bounds, climb = None, np.zeros_like(climbs)
        for stage in range(2):  # where the body is decides how feet fly, and how feet fly where the body must be
            self.height = rise(
                track, character, terrain, ways.ground, shift, feet, upright, is_level=is_level, ways=bounds
            )
            if stage == 0:
                track = let_go(track, character, self.height, ways.ground, feet, upright)
            bounds, climb = self._flights(
                track, feet, ways, upright, is_level=is_level, has_treads=bool(terrain.treads)
            )
        self.offsets[..., 2], climbs = bounds, climbs + climb
        self.flags = track.flags
        self._velocities, self._accelerations = rates(self.offsets, dt)
        self._rise, self._rise_rate = rates(self.height, dt)
        self._landings = _following(track.flags, np.add(track.points * [1.0, 1.0, 0.0], self.offsets))
        ahead = 2 * round(CLIMB_TIME / dt) + 1
        self._climbs = np.clip(ndimage.maximum_filter1d(climbs, ahead, axis=0) / (CLIMB * scale), 0.0, 1.0)
        highest = ndimage.maximum_filter1d(ways.highest, 2 * round(AROUND / dt) + 1, axis=0)
        self._gaps = track.points[..., 2] - track.floor + self.offsets[..., 2] - highest

    def _flights(
        self,
        track: Track,
        feet: tuple[tuple[int, ...], ...],
        ways: plan_feet.Ways,
        upright: Array,
        *,
        is_level: bool,
        has_treads: bool,
    ) -> tuple[Array, Array]:
        """Height offset of every point over time, and how much of it is climbed to clear something [m], both (F, P)."""
        dt, grouped = track.dt, {i for foot in feet for i in foot}
        heights, climbs = np.zeros_like(ways.ground), np.zeros_like(ways.ground)
        for group in (*feet, *((i,) for i in range(track.flags.shape[1]) if i not in grouped)):
            index = np.array(group)
            held, ground = plan_feet.standing(
                np.asarray(track.flags[:, index]), ways.ground[:, index], dt, has_treads=has_treads and len(group) > 1
            )
            # what lies along the slope rises with the ground below it, what stands with the root
            body = upright * self.height + (1.0 - upright) * ways.ground[:, index].mean(axis=1)
            straight = np.stack([plan_feet.straight(held, x, body, dt) for x in ground.T], axis=1)
            if is_level or group in feet:  # where it came from is not known: from the ground below it
                straight[:2] = 0.0 if is_level else ways.ground[:2, index]
                held[:2] = True
            weights, bends = np.where(held, HOLD, SWING_TIME**-4), np.ones(len(straight))
            middle = straight.mean(axis=1)
            apart = straight - middle[:, None]  # a foot is not bent by the ground it passes
            lower = np.where(held, -np.inf, (ways.lower[:, index] - apart).max(axis=1))
            whole = smoothest(middle, weights, bends, dt, lower)
            climbs[:, index] = (whole - middle)[:, None]
            for i, x in zip(group, apart.T, strict=True):
                own = smoothest(x, weights, bends, dt) if np.abs(x).max() > 1e-9 else x
                heights[:, i] = whole + own
        return heights, climbs

    def frame(self, k: int) -> PlannedFrame:
        """The plan for the step from frame k."""
        return PlannedFrame(
            self.offsets[k],
            self._velocities[k],
            self._accelerations[k],
            float(self.height[k]),
            float(self._rise[k]),
            float(self._rise_rate[k]),
            self._landings[k],
            self._gaps[k],
            self._climbs[k],
        )


def rates(values: Array, dt: float) -> tuple[Array, Array]:
    """First and second rate of values (F, ...) at steps of `dt` [s], by [Levine2012]_ eqs. (4), (5)."""
    v, a = np.zeros_like(values), np.zeros_like(values)
    v[1:] = np.diff(values, axis=0) / dt
    v[0] = v[1]
    a[:-1] = np.diff(v, axis=0) / dt
    return v, a


def starts_level(points: Array, terrain: Terrain, floor: float, scale: float, time: float = 0.0) -> bool:
    """True if the ground under the first pose is the clip's own.

    Args:
        points: Contact points of the pose [m], shape (P, 3); those less than a leg high count.
        terrain: Placed terrain.
        floor: Height of the clip's own floor [m].
        scale: Leg length / 0.82 m.
        time: [s].
    """
    low = points[:, 2] - floor < scale
    return not np.any(terrain.heights(points[low, :2], time) != floor)


def _following(flags: Flags, places: Array) -> Array:
    """Places (F, P, 3) of the frame in which each point touches next; nan where it never does."""
    frames = len(flags)
    index = np.where(flags, np.arange(frames)[:, None], frames)
    following = np.minimum.accumulate(index[::-1], axis=0)[::-1]
    found = np.take_along_axis(places, np.minimum(following, frames - 1)[..., None], axis=0)
    return np.where((following < frames)[..., None], found, np.nan)
