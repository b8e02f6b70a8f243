"""The way over known ground: where each contact point of a clip goes, and how high the body.

A clip run knows its contacts and its ground in advance, so what a stream must guess is planned once. Standing points
follow the ground below them; on treads every stance of a foot is first shifted so that all of it lies on one tread. A
swinging point goes straight from the height it leaves to the height it lands on, and rises smoothly over what is in its
way. The body keeps to the mean height of what it stands on, no higher than its legs reach, and changes its rise where
something stands rather than in flight. All of it is zero on level ground. Source: [Levine2012]_ 2.5 corrects heights by
a look-ahead of 0.2 s at every step, which steps high on slopes, comes late where runners land, and puts feet on edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from poise.body.character import Character
from poise.core.typing import Array, Flags
from poise.filter import plan_feet
from poise.filter.plan_footholds import tread_shifts
from poise.filter.plan_root import let_go, rise
from poise.filter.preset import EndEffector
from poise.filter.smooth import HOLD, smoothest
from poise.terrain import Terrain

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
        self, track: Track, character: Character, terrain: Terrain, settings: EndEffector,
        feet: tuple[tuple[int, ...], ...], upright: Array,
    ) -> None:  # fmt: skip
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
        self, track: Track, feet: tuple[tuple[int, ...], ...], ways: plan_feet.Ways, upright: Array, *, is_level: bool,
        has_treads: bool,
    ) -> tuple[Array, Array]:  # fmt: skip
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
            self.offsets[k], self._velocities[k], self._accelerations[k],
            float(self.height[k]), float(self._rise[k]), float(self._rise_rate[k]),
            self._landings[k], self._gaps[k], self._climbs[k],
        )  # fmt: skip


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
