"""Support polygons in the plane: convex hulls of a few points."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from poise.core.typing import Array
from poise.native import compiled

Corner = tuple[float, float]

THIN = 1e-12
"""A hull of less area has none [m²]."""


def hull(points: Array) -> list[Corner]:
    """Corners of the convex hull of points (K, 2), counterclockwise: the monotone chain, quick for a dozen points."""
    rest: list[Corner] = sorted({(x, y) for x, y in points.tolist()})
    if len(rest) < 3:
        return rest
    half: list[list[Corner]] = []
    for way in (rest, rest[::-1]):
        chain: list[Corner] = []
        for p in way:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], p) <= 0.0:
                chain.pop()
            chain.append(p)
        half.append(chain[:-1])
    return half[0] + half[1]


def _turn(a: Corner, b: Corner, c: Corner) -> float:
    """Twice the area of the triangle a b c, positive counterclockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def centroid(points: Array) -> Array:
    """Centroid of the convex hull of points (K, 2), K ≥ 1; their mean where the hull has no area."""
    corners = hull(points)
    if len(corners) < 3:
        return points.mean(axis=0)
    x0, y0 = corners[0]
    area = x = y = 0.0
    for a, b in pairwise(corners[1:]):
        part = _turn(corners[0], a, b)
        area += part
        x += part * (a[0] + b[0] - 2.0 * x0)
        y += part * (a[1] + b[1] - 2.0 * y0)
    if area < THIN:
        return points.mean(axis=0)
    return np.array([x0 + x / (3.0 * area), y0 + y / (3.0 * area)])


def distance_inside(points: Array, place: Array) -> float:
    """How far a place (2,) lies inside the hull of points (K, 2) [m]; negative outside, -inf where there is no hull."""
    corners = hull(points)
    if len(corners) < 3:
        return -np.inf
    here = (float(place[0]), float(place[1]))
    least = np.inf
    for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
        least = min(least, _turn(a, b, here) / float(np.hypot(b[0] - a[0], b[1] - a[1])))
    return float(least)


@compiled("const real points[n][2], const real place[2], real out[2]")
def nearest_of_hull(points, place, out):  # type: ignore[no-untyped-def]
    """Write what `nearest_inside` answers to `out`, shape (2,)."""
    corners = hull(points)
    if len(corners) == 1:
        out[:] = corners[0]
        return
    x, y = here = (float(place[0]), float(place[1]))
    sides = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    if len(corners) > 2 and not any(_turn(a, b, here) < 0.0 for a, b in sides):
        out[:] = place
        return
    least = np.inf
    for a, b in sides:
        along = (b[0] - a[0], b[1] - a[1])
        share = ((x - a[0]) * along[0] + (y - a[1]) * along[1]) / (along[0] * along[0] + along[1] * along[1])
        share = min(max(share, 0.0), 1.0)
        foot = (a[0] + share * along[0], a[1] + share * along[1])
        distance = (foot[0] - x) ** 2 + (foot[1] - y) ** 2
        if distance < least:
            out[:], least = foot, distance


def nearest_inside(points: Array, place: Array) -> Array:
    """The place (2,) of the hull of points (K, 2), K ≥ 1, that is nearest to a place; of their line without a hull."""
    out = np.empty(2)
    nearest_of_hull(points, place, out)
    return out
