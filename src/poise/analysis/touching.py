"""Which contact points touch the ground in which frames, and how they move against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.analysis.smoothing import derivatives
from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array, Flags
from poise.phases.contacts import contact_flags, contact_limits
from poise.phases.points import pelvis, velocities
from poise.phases.runs import runs
from poise.phases.travel import in_place_velocity
from poise.terrain import Terrain

OFF_GROUND = 0.03
"""In flight every contact point is higher than this, for a leg of 0.82 m [m]."""
LOST_HEIGHT = 3.0
"""Where nothing touches, a point lower than so many height limits may still carry [1]."""


@dataclass(frozen=True)
class Touching:
    """The P contact points of a character over F frames, of the motion as it stands (unfiltered).

    Attributes:
        names: Of the points.
        supports: Name of the limb each point belongs to ("left_leg"), or of its body where it belongs to none.
        is_foot: True for points of feet, shape (P,).
        points: World place [m], shape (F, P, 3).
        velocities: Against the ground [m/s], shape (F, P, 3).
        gaps: Distance to the ground along its normal [m], negative inside it, shape (F, P).
        normals: Of the ground there, shape (F, P, 3).
        flags: True while the point touches, shape (F, P): low and slow, as `phases.contact_flags` has it.
        carries: Points that may bear load, shape (F, P): those that touch and, where none does and the body is in no
            flight, those that come nearest to touching (a toe that rolls off, a sole on a floor the capture tilted).
    """

    names: tuple[str, ...]
    supports: tuple[str, ...]
    is_foot: Flags
    points: Array
    velocities: Array
    gaps: Array
    normals: Array
    flags: Flags
    carries: Flags

    def times(self, times: Array) -> tuple[tuple[str, float, float], ...]:
        """Every touch as (point, first, last time [s]), by point and time; `times` are those of the frames (F,)."""
        found: list[tuple[str, float, float]] = []
        for i, name in enumerate(self.names):
            found += [(name, float(times[a]), float(times[b])) for a, b in runs(self.flags[:, i])]
        return tuple(found)


def touching(
    motion: Motion,
    character: Character,
    *,
    terrain: Terrain,
    contacts: Flags | None = None,
    airborne: Flags | None = None,
) -> Touching:
    """The contact points of a clip: where they are, how they move, when they touch (see `phases.contact_flags`).

    Args:
        motion: F frames.
        character: P contact points.
        terrain: The ground as it lies (see `Terrain.placed`).
        contacts: Flags (F, P) to take instead of finding them.
        airborne: Frames in which no joint is near the ground, shape (F,); in those of them in which no contact point
            is below OFF_GROUND, none carries. Without them the points alone decide.

    Raises:
        InvalidValue: if `contacts` has another shape.
    """
    positions, orientations = motion.world
    count, frames = len(character.contact_points), motion.frame_count
    centers = np.zeros((frames, count, 3))
    for i, p in enumerate(character.contact_points):
        joint = character.bodies[p.body].joint
        centers[:, i] = positions[:, joint] + rotations.rotate(orientations[:, joint], p.offset)
    height, normals, ground = ground_under(terrain, centers, motion.times)
    radii = np.array([p.radius for p in character.contact_points])
    points = centers - radii[:, None] * normals
    gaps = (centers[:, :, 2] - height) * normals[:, :, 2] - radii
    drift = in_place_velocity(motion)
    moving = derivatives(points, motion.times)[0] - ground - drift
    if contacts is not None or not count:
        flags = np.zeros((frames, 0), dtype=np.bool_) if contacts is None else np.asarray(contacts, dtype=np.bool_)
        carries = flags
        if flags.shape != (frames, count):
            raise InvalidValue(f"contacts has shape {flags.shape}; give a flag per frame and point, {(frames, count)}.")
    else:
        root = velocities(positions[:, pelvis(motion.skeleton)], motion.times) - drift
        height_limit, speed_limit = contact_limits(root, character.leg_length)
        flags = contact_flags(points, moving, gaps, height_limit=height_limit, speed_limit=speed_limit)
        off = gaps.min(axis=1) > OFF_GROUND * character.leg_scale
        lost = ~flags.any(axis=1) & ~(off if airborne is None else off & airborne)
        carries = flags.copy()
        carries[lost] = _nearest_to_touching(gaps[lost], moving[lost], height_limit, speed_limit[lost])
    return Touching(
        tuple(p.name for p in character.contact_points), support_names(character),
        np.array([p.part == "foot" for p in character.contact_points], dtype=np.bool_),
        points, moving, gaps, normals, flags, carries,
    )  # fmt: skip


def _nearest_to_touching(gaps: Array, moving: Array, height_limit: float, speed_limit: Array) -> Flags:
    """Points that come nearest to the limits of a touch, shape (F, P).

    Nearness is height over its limit plus speed over its limit. Taken are the best point of a frame, if it is lower
    than LOST_HEIGHT limits, and those of its height (to a third of the limit) that are nearly as good.
    """
    height = np.maximum(gaps, 0.0) / height_limit
    score = height + np.linalg.norm(moving, axis=-1) / speed_limit
    score = np.where(height < LOST_HEIGHT, score, np.inf)
    best = np.argmin(score, axis=1)
    rows = np.arange(len(best))
    low = height[rows, best]
    alike = (score <= 1.5 * score[rows, best][:, None]) & (height <= low[:, None] + 1.0 / 3.0)
    return alike & np.isfinite(score)


def support_names(character: Character) -> tuple[str, ...]:
    """What each contact point belongs to: its leg or arm, else its body."""
    owner = {b: limb.name for limb in character.limbs if limb.kind in ("leg", "arm") for b in limb.bodies}
    return tuple(owner.get(p.body, character.bodies[p.body].name) for p in character.contact_points)


def ground_under(terrain: Terrain, centers: Array, times: Array) -> tuple[Array, Array, Array]:
    """Height (F, P), normal and velocity (F, P, 3) of the ground under points (F, P, 3)."""
    frames, count = centers.shape[:2]
    if terrain.is_static:
        surface = terrain.sample(centers.reshape(-1, 3)[:, :2])
        shape = (frames, count)
        return surface.height.reshape(shape), surface.normal.reshape(*shape, 3), surface.velocity.reshape(*shape, 3)
    each = [terrain.sample(centers[k, :, :2], float(times[k])) for k in range(frames)]
    return np.stack([s.height for s in each]), np.stack([s.normal for s in each]), np.stack([s.velocity for s in each])
