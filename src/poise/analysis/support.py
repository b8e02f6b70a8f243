"""Where the load is, where it would have to be, and where it can be: pressure, zero-moment point, support polygon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.analysis.forces import Forces
from poise.analysis.polygon import hulls, polygon_distances
from poise.analysis.region import regions
from poise.analysis.touching import Touching
from poise.body.character import Character
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY

CARRIED = 0.05
"""The ground carries load where it gives this share of the weight [1]; below it, no place of it is defined."""
SMALLEST_RADIUS = 0.02
"""Mean radius that a support has at least, for a leg of 0.82 m [m]: a toe tip is no mathematical point."""


@dataclass(frozen=True)
class Support:
    """Pressure and support over F frames, world frame.

    Attributes:
        cop: Center of pressure of the contact forces found [m], shape (F, 3); nan where nothing carries load. It can
            not leave the support: the forces press only.
        zmp: Zero-moment point of the motion [m], shape (F, 3): where the line of the force that the motion demands
            meets the level of the support, so that no horizontal moment is left. This is the center of pressure of
            [ShapiroLee2011]_, which leaves the polygon where the motion is not possible. nan where nothing touches, or
            the motion demands less than CARRIED of its weight.
        is_loaded: True where `zmp` is defined, shape (F,).
        slips: Loaded frames in which no contact forces within their friction pyramids add up to the demanded force,
            wherever it acts, shape (F,).
        polygon: Corners of the support region, counterclockwise from above, at the level of `zmp` [m], padded with the
            last one, shape (F, K, 3). On flat ground the hull of the carrying points; on uneven ground see `support`.
        corners: How many there are, shape (F,); 0 where there is no region.
        distance: Signed distance from `zmp` to that polygon, negative inside [m], shape (F,); nan where not loaded or
            without a region.
        radius: Mean radius of the polygon, perimeter / 2π, at least SMALLEST_RADIUS [m], shape (F,); nan without one.
        error: distance / radius: the normalized distance of the paper's figure 7, shape (F,).
        hull: Indices of the carrying points on their convex hull, counterclockwise from above, padded with −1, (F, P).
        hull_counts: How many there are, shape (F,).
    """

    cop: Array
    zmp: Array
    is_loaded: Flags
    slips: Flags
    polygon: Array
    corners: Index
    distance: Array
    radius: Array
    error: Array
    hull: Index
    hull_counts: Index


def support(
    com: Array,
    forces: Forces,
    touch: Touching,
    character: Character,
    *,
    is_flat: bool = True,
    friction: float = 0.8,
    gravity: float = GRAVITY,
) -> Support:
    """Pressure and support of every frame.

    On flat ground the support region is the ordinary polygon, the convex hull of the carrying points. On uneven ground
    the carrying points lie in no plane, and [ShapiroLee2011]_ leaves it open. Here the region is, projected along
    gravity, the set of places p at the level of the zero-moment point through which the demanded force could act, so
    that forces in the friction pyramids of the contacts give this force and its horizontal moment:

        {p : ∃ f_i ∈ K_i, Σ f_i = f, (Σ (p_i − p) × f_i)_xy = 0}.

    It is convex (Bretl and Lall 2008 draw it for a body at rest, f = −m g). The moment about the vertical is left out,
    as the ordinary polygon leaves it out. On flat ground, with a force inside the pyramid, it is the ordinary polygon.

    Args:
        com: Center of mass that `forces` belong to [m], shape (F, 3).
        forces: What the motion demands, and the contact forces.
        touch: The carrying points.
        character: Its mass and size.
        is_flat: True for level ground: the ordinary polygon serves.
        friction: Coulomb coefficient.
        gravity: Downward [m/s^2].
    """
    weight = character.mass * gravity
    size = character.leg_scale
    cop = center_of_pressure(forces.contact, touch, CARRIED * weight)
    hull, counts = hulls(touch.points, touch.carries)
    loaded = touch.carries.any(axis=1) & (forces.demanded[:, 2] > CARRIED * weight)
    level = _level(touch, cop)
    zmp = np.full_like(com, np.nan)
    zmp[loaded] = zero_moment_point(
        com[loaded], forces.demanded[loaded], forces.demanded_moment[loaded], level[loaded]
    )  # fmt: skip
    if is_flat:
        corners = counts
        across = np.abs(forces.demanded[:, :2]).sum(axis=1)
        slips = loaded & (across > friction * forces.demanded[:, 2])
        index = np.maximum(hull[:, : max(1, int(counts.max(initial=1)))], 0)
        polygon = np.take_along_axis(touch.points, index[:, :, None], axis=1)
    else:
        where = np.flatnonzero(loaded)
        found, number = regions(
            touch.points[where], touch.normals[where], touch.carries[where], com[where], forces.demanded[where],
            forces.demanded_moment[where], friction=friction, tolerance=1e-4 * size,
        )  # fmt: skip
        most = max(1, int(number.max(initial=1)))
        corners, slips = np.zeros(len(com), dtype=np.int64), np.zeros(len(com), dtype=np.bool_)
        corners[where], slips[where] = np.maximum(number, 0), number < 0
        polygon = np.zeros((len(com), most, 3))
        polygon[where, :, :2] = zmp[where, None, :2] + found[:, :most]
    polygon[:, :, 2] = level[:, None]
    places = np.minimum(np.arange(polygon.shape[1]), np.maximum(corners[:, None] - 1, 0))
    polygon = np.take_along_axis(polygon, places[:, :, None], axis=1)
    order = np.broadcast_to(np.arange(polygon.shape[1]), polygon.shape[:2])
    distance, perimeter = polygon_distances(polygon, order, corners, zmp[:, :2])
    distance[~loaded] = np.nan
    radius = np.where(corners > 0, np.maximum(perimeter / (2.0 * np.pi), SMALLEST_RADIUS * size), np.nan)
    return Support(
        cop, zmp, loaded, slips, polygon, corners, distance, radius, distance / radius, hull, counts
    )  # fmt: skip


def center_of_pressure(contact: Array, touch: Touching, smallest: float) -> Array:
    """Mean place of the contact points, weighted by how hard they press [m], shape (F, 3).

    nan where they press with less than `smallest` [N] in all.
    """
    pressing = np.einsum("fpi,fpi->fp", contact, touch.normals)
    total = pressing.sum(axis=1)
    carried = total > smallest
    cop = np.full((len(contact), 3), np.nan)
    cop[carried] = np.einsum("fp,fpi->fi", pressing[carried], touch.points[carried]) / total[carried, None]
    return cop


def zero_moment_point(com: Array, force: Array, moment: Array, level: Array) -> Array:
    """Point at a height where a force, and a vertical moment alone, do what is demanded.

    (p − c) × f has the horizontal components of the moment about c: p = c + (−M_y, M_x)/f_z − (c_z − z) f_xy / f_z.

    Args:
        com: c [m], shape (F, 3).
        force: f, with f_z not zero [N], shape (F, 3).
        moment: M about c [N m], shape (F, 3).
        level: z [m], shape (F,).
    """
    up = force[:, 2]
    out = com.copy()
    down = com[:, 2] - level
    out[:, 0] += -(moment[:, 1] + down * force[:, 0]) / up
    out[:, 1] += (moment[:, 0] - down * force[:, 1]) / up
    out[:, 2] = level
    return out


def _level(touch: Touching, cop: Array) -> Array:
    """Height at which the load meets the ground [m], shape (F,): that of the pressure, else of the touching points."""
    count = touch.carries.sum(axis=1)
    mean = (touch.points[:, :, 2] * touch.carries).sum(axis=1) / np.maximum(count, 1)
    return np.where(np.isfinite(cop[:, 2]), cop[:, 2], mean)
