"""When points touch: known for a clip, estimated for a stream."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from poise.core.typing import Array, Flags
from poise.filter.plan import Track
from poise.filter.preset import EndEffector
from poise.filter.reference import ReferenceBuilder, Touch
from poise.native import compiled
from poise.phases.contacts import contact_flags, contact_limits, time_to_contact_estimate, times_to_contact
from poise.physics import Model


def reference_velocities(model: Model, q: Array, dt: float) -> Array:
    """v_k = (q_k ⊖ q_{k−1}) / dt on the rotation group, [Levine2012]_ eq. (4), shape (F, nv); v_0 = v_1, so a_0 = 0."""
    v = np.zeros((len(q), model.nv))
    for k in range(1, len(q)):
        v[k] = model.difference(q[k - 1], q[k], dt)
    if len(q) > 1:
        v[0] = v[1]
    return v


class ClipSchedule:
    """Contacts of a whole clip, found from the motion of its points.

    Attributes:
        flags: Touching in the reference, shape (F, P).
        track: What a plan over the ground must know.
    """

    def __init__(
        self, builder: ReferenceBuilder, q: Array, v: Array, *, dt: float, floor: float, leg_length: float
    ) -> None:
        frames, count = len(q), builder.model.point_count
        points, velocities = np.zeros((frames, count, 3)), np.zeros((frames, count, 3))
        bodies, com = np.zeros((frames, builder.model.body_count - 1, 3)), np.zeros((frames, 3))
        for k in range(frames):
            points[k], velocities[k] = builder.kinematics(q[k], v[k])
            bodies[k], com[k] = builder.body_places(), builder.com()
        heights = points[:, :, 2] - floor
        height_limit, speed_limit = contact_limits(v[:, :3], leg_length)
        flags = contact_flags(points, velocities, heights, height_limit=height_limit, speed_limit=speed_limit)
        # what may push in the simulation is what is nearer than the same height: the reference must not reach further
        self.flags: Flags = flags & (heights < height_limit)
        self.track = Track(points, self.flags, bodies, com, floor, dt)
        self._find_swings()

    def _find_swings(self) -> None:
        track = self.track
        times = track.dt * np.arange(len(track.points), dtype=np.float64)
        self._times, self._lifts = times_to_contact(self.flags, times), times_to_contact(~self.flags, times)
        self._landings, self._progress = _swings(self.flags, track.points)

    def let_go(self, flags: Flags) -> None:
        """Take over the contacts of a plan, which lets feet go early, shape (F, P)."""
        if not np.array_equal(flags, self.flags):
            self.flags, self.track = flags, replace(self.track, flags=flags)
            self._find_swings()

    def touch(self, k: int) -> Touch:
        """Contacts of frame k."""
        return Touch(self.flags[k], self._times[k], self._landings[k], self._progress[k], self._lifts[k])


def _swings(flags: Flags, points: Array) -> tuple[Array, Array]:
    """Landing place of each swing and the part of it that is over, shapes (F, P, 3) and (F, P)."""
    frames, count = flags.shape
    landings = np.full((frames, count, 3), np.nan)
    progress = np.ones((frames, count))
    index = np.arange(frames)
    for i in range(count):
        touching = flags[:, i]
        following = np.minimum.accumulate(np.where(touching, index, frames)[::-1])[::-1]
        before = np.maximum.accumulate(np.where(touching, index, -1))
        known = ~touching & (following < frames)
        landings[known, i] = points[following[known], i]
        landings[touching, i] = points[touching, i]
        start = np.maximum(before, 0)
        span = np.maximum(following - start, 1)
        progress[known, i] = ((index - start) / span)[known]
    return landings, progress


def estimated_touch(
    points: Array, velocities: Array, floor: float, settings: EndEffector, leg_length: float, root_v: Array
) -> Touch:
    """Contacts of a streamed frame: low and slow points touch, others will after height over downward speed."""
    height_limit, speed_limit = contact_limits(root_v[None, :3], leg_length)
    slow, count = float(speed_limit[0, 0]), len(points)
    out = Touch(
        np.empty(count, dtype=np.bool_), np.empty(count), np.empty((count, 3)), np.empty(count), np.empty(count)
    )  # fmt: skip
    # nobody knows when a streamed foot lifts; while the root rests it is not soon
    rests = math.hypot(root_v[0], root_v[1]) < 0.5 * slow
    estimate_touch(points, velocities, floor, height_limit, slow, settings.contact_time, int(rests), *out)
    return out


@compiled(
    "const real points[n][3], const real velocities[n][3], real floor_height, real height_limit, real slow, real soon,"
    "word rests, flag flags[n], real times[n], real landings[n][3], real progress[n], real lifts[n]"
)
def estimate_touch(
    points, velocities, floor_height, height_limit, slow, soon, rests, flags, times, landings, progress, lifts
):  # fmt: skip
    """Fill a `Touch` from places and velocities of points."""
    heights, falling = points[:, 2] - floor_height, velocities[:, 2] < 0.0
    flags[:] = (heights < height_limit) & (np.linalg.norm(velocities, axis=1) < slow)
    times[:] = np.where(falling, time_to_contact_estimate(heights, velocities[:, 2], 10.0 * soon), np.inf)
    times[flags] = 0.0
    # a landing is known only when it is near: before that the look-ahead serves
    near = times < soon
    landings[:] = np.where(near[:, None], points + np.where(near, times, 0.0)[:, None] * velocities, np.nan)
    progress[:] = np.where(flags, 1.0, np.where(near, 1.0 - times / soon, 0.0))
    lifts[:] = np.where(flags & bool(rests), np.inf, 0.0)
