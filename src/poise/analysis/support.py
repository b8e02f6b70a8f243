"""Where the load is, must be and can be: pressure, zero-moment point, support polygon, and phases of support."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from poise.analysis.forces import Forces, Touching
from poise.analysis.region import regions
from poise.body.character import Character
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.phases.points import runs

CARRIED = 0.05
"""The ground carries load where it gives this share of the weight [1]; below it, no place of it is defined."""
SMALLEST_RADIUS = 0.02
"""Mean radius that a support has at least, for a leg of 0.82 m [m]: a toe tip is not a mathematical point."""


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

    Example:
        >>> support = poise.analyze(motion, character).support
        >>> outside = support.is_loaded & (support.distance > 0.0)
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

    Example:
        >>> clip = poise.analyze(motion, character)
        >>> found = poise.analysis.support(clip.momentum.com, clip.forces, clip.touch, character)
    """
    weight = character.mass * gravity
    size = character.leg_scale
    cop = center_of_pressure(forces.contact, touch, CARRIED * weight)
    hull, counts = hulls(touch.points, touch.carries)
    loaded = touch.carries.any(axis=1) & (forces.demanded[:, 2] > CARRIED * weight)
    level = _level(touch, cop)
    zmp = np.full_like(com, np.nan)
    zmp[loaded] = zero_moment_point(com[loaded], forces.demanded[loaded], forces.demanded_moment[loaded], level[loaded])
    if is_flat:
        corners = counts
        across = np.abs(forces.demanded[:, :2]).sum(axis=1)
        slips = loaded & (across > friction * forces.demanded[:, 2])
        index = np.maximum(hull[:, : max(1, int(counts.max(initial=1)))], 0)
        polygon = np.take_along_axis(touch.points, index[:, :, None], axis=1)
    else:
        where = np.flatnonzero(loaded)
        found, number = regions(
            touch.points[where],
            touch.normals[where],
            touch.carries[where],
            com[where],
            forces.demanded[where],
            forces.demanded_moment[where],
            friction=friction,
            tolerance=1e-4 * size,
        )
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
    return Support(cop, zmp, loaded, slips, polygon, corners, distance, radius, distance / radius, hull, counts)


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


def hulls(points: Array, flags: Flags) -> tuple[Index, Index]:
    """Convex hull of the flagged points of each frame, seen from above.

    Andrew's monotone chain (1979): points sorted by x, then y, are walked through there and back, and a corner that
    does not turn left is dropped. Each step is taken for all frames together.

    Args:
        points: Places [m], shape (F, P, 2 or 3).
        flags: Which points count, shape (F, P).

    Returns:
        Indices of the corners counterclockwise, padded with −1, shape (F, P), and how many there are, shape (F,).
    """
    frames, count = flags.shape
    out, numbers = np.full((frames, count), -1, dtype=np.int64), flags.sum(axis=1)
    most = int(numbers.max(initial=0))
    if most == 0:
        return out, numbers
    order = np.lexsort((points[..., 1], points[..., 0], ~flags), axis=1)[:, :most]
    rows = np.arange(frames)
    places = np.take_along_axis(points[..., :2], order[..., None], axis=1)
    stack = np.zeros((frames, 2 * most + 1), dtype=np.int64)  # columns of `order`
    top = np.zeros(frames, dtype=np.int64)
    for there in (True, False):
        base = top.copy()
        for s in range(most):
            at = rows[s < numbers]
            new = np.full(len(at), s) if there else numbers[at] - 1 - s
            falling = np.arange(len(at))  # those whose last corner may not be one
            while len(falling):
                falling = falling[top[at[falling]] - base[at[falling]] >= 2]
                k = at[falling]
                a, b, c = places[k, stack[k, top[k] - 2]], places[k, stack[k, top[k] - 1]], places[k, new[falling]]
                turn = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
                falling = falling[~(turn > 0.0)]
                top[at[falling]] -= 1
            stack[at, top[at]] = new
            top[at] += 1
        top = np.maximum(top - 1, 0)  # the last of one chain is the first of the other
    found = np.where(numbers == 1, 1, top)
    corners = np.take_along_axis(order, stack[:, :most], axis=1)
    out[:, :most] = np.where(np.arange(most) < found[:, None], corners, -1)
    return out, found


def polygon_distances(points: Array, hull: Index, counts: Index, places: Array) -> tuple[Array, Array]:
    """Signed distance from places to polygons, negative inside, and the polygons' perimeters.

    A polygon of two corners is a segment and of one a point: nothing is inside. Frames without one give nan.

    Args:
        points: [m], shape (F, P, 2 or 3).
        hull: Indices of the corners, counterclockwise, shape (F, at least the largest count).
        counts: How many corners, shape (F,).
        places: [m], shape (F, 2).

    Returns:
        Both [m], shape (F,).
    """
    most = max(1, int(counts.max(initial=1)))
    step = np.arange(most)
    is_edge = step < counts[:, None]
    last = np.maximum(counts[:, None] - 1, 0)
    # beyond the last corner stands the first one
    closed = np.where(is_edge, hull[:, :most], np.take_along_axis(hull, np.zeros_like(last), axis=1))
    corners = np.take_along_axis(points[..., :2], np.maximum(closed, 0)[..., None], axis=1)
    following = np.where((step == last)[..., None], corners[:, :1], np.roll(corners, -1, axis=1))
    edge, way = following - corners, places[:, None] - corners
    square = (edge**2).sum(axis=2)
    part = np.clip((way * edge).sum(axis=2) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    off = ((way - part[..., None] * edge) ** 2).sum(axis=2)
    nearest = np.sqrt(np.where(is_edge, off, np.inf).min(axis=1))
    is_left = edge[..., 0] * way[..., 1] - edge[..., 1] * way[..., 0] >= 0.0
    is_inside = (is_left | ~is_edge).all(axis=1) & (counts > 2)
    distance = np.where(counts > 0, np.where(is_inside, -nearest, nearest), np.nan)
    return distance, (np.sqrt(square) * is_edge).sum(axis=1)


KINDS = ("flight", "single", "double", "multiple", "none")
"""By number of limbs that carry: 0 in the air, 1, 2, 3 or more; "none": nothing can, and yet it is not a flight."""
SHORTEST = 0.035
"""Shorter gaps and touches of a support are noise [s]."""


@dataclass(frozen=True)
class SupportPhase:
    """A stretch with one set of supports.

    Attributes:
        kind: One of KINDS.
        supports: Limbs (or bodies) that carry, by name.
        first, last: Frames.
        start_s, end_s: Their times [s].
        cop_error: Largest normalized distance of the zero-moment point from the polygon; nan where undefined.
        inside_ratio: Share of its loaded frames in which that point lies inside; nan without any.
        within_radius_ratio: Share in which it lies inside or within one mean radius.

    Example:
        >>> phases = poise.analyze(motion, character).phases
        >>> single = sum(phase.end_s - phase.start_s for phase in phases if phase.kind == "single")
    """

    kind: str
    supports: tuple[str, ...]
    first: int
    last: int
    start_s: float
    end_s: float
    cop_error: float
    inside_ratio: float
    within_radius_ratio: float


def supporting(touch: Touching) -> tuple[tuple[str, ...], Flags]:
    """Names of all supports, and which of them carry in each frame, shape (F, S)."""
    names = tuple(dict.fromkeys(touch.supports))
    columns = [touch.carries[:, [i for i, s in enumerate(touch.supports) if s == name]].any(axis=1) for name in names]
    return names, np.stack(columns, axis=1) if columns else np.zeros((len(touch.carries), 0), dtype=np.bool_)


def steady_supports(touch: Touching, airborne: Flags, times: Array) -> Flags:
    """`supporting` without gaps and touches shorter than SHORTEST, which are noise, shape (F, S).

    A touch that alone carries a frame stays, however short. A gap is closed by the limb that carries on both sides, or
    by those that carried before it.
    """
    on = supporting(touch)[1] & ~airborne[:, None]
    frames = max(2, math.ceil(SHORTEST / float(np.median(np.diff(times))))) if len(times) > 1 else 2
    for s in range(on.shape[1]):
        for first, last in runs(~on[:, s]):
            if first > 0 and last + 1 < len(on) and last + 1 - first < frames:
                on[first : last + 1, s] = True
    nowhere: Flags = np.logical_not(on.any(axis=1))
    for first, last in runs(nowhere):
        if first > 0 and last + 1 < len(on) and last + 1 - first < frames:
            on[first : last + 1] = on[first - 1]
    for s in range(on.shape[1]):
        for first, last in runs(on[:, s]):
            if last + 1 - first < frames and (on[first : last + 1].sum(axis=1) > 1).all():
                on[first : last + 1, s] = False
    return on


def kind_per_frame(on: Flags, airborne: Flags) -> Index:
    """Index into KINDS for each frame, shape (F,), from what carries, shape (F, S)."""
    count = on.sum(axis=1)
    return np.where(count == 0, np.where(airborne, 0, 4), np.minimum(count, 3)).astype(np.int64)


def support_phases(
    names: tuple[str, ...], on: Flags, airborne: Flags, pressure: Support, times: Array
) -> tuple[SupportPhase, ...]:
    """All stretches in order; a new one begins where the set of supports changes.

    Args:
        names: Of the supports.
        on: Which of them carry in each frame, shape (F, S).
        airborne: True in flight, shape (F,).
        pressure: Zero-moment point and polygon.
        times: Of the frames [s], shape (F,).
    """
    kinds = kind_per_frame(on, airborne)
    state = np.column_stack([kinds, on])
    cuts = [0, *(np.flatnonzero((np.diff(state, axis=0) != 0).any(axis=1)) + 1).tolist(), len(times)]
    found: list[SupportPhase] = []
    for first, end in pairwise(cuts):
        error = pressure.error[first:end]
        error = error[np.isfinite(error)]
        some = len(error) > 0
        held = tuple(name for name, is_on in zip(names, on[first]) if is_on)
        found.append(
            SupportPhase(
                KINDS[int(kinds[first])],
                held,
                first,
                end - 1,
                float(times[first]),
                float(times[end - 1]),
                float(error.max()) if some else float("nan"),
                float((error <= 0.0).mean()) if some else float("nan"),
                float((error <= 1.0).mean()) if some else float("nan"),
            )
        )
    return tuple(found)
