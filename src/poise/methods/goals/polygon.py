"""Support polygons in the plane: convex hulls of a few points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

Array = npt.NDArray[np.float64]


def centroid(points: Array) -> Array:
    """Centroid of the convex hull of points (K, 2), K ≥ 1; their mean where the hull has no area."""
    if len(points) < 3:
        return points.mean(axis=0)
    try:
        corners = points[ConvexHull(points).vertices]
    except QhullError:
        return points.mean(axis=0)
    following = np.roll(corners, -1, axis=0)
    cross = corners[:, 0] * following[:, 1] - following[:, 0] * corners[:, 1]
    return ((corners + following) * cross[:, None]).sum(axis=0) / (3.0 * cross.sum())


def distance_inside(points: Array, place: Array) -> float:
    """How far a place (2,) lies inside the hull of points (K, 2) [m]; negative outside, -inf where there is no hull."""
    if len(points) < 3:
        return -np.inf
    try:
        edges = ConvexHull(points).equations
    except QhullError:
        return -np.inf
    return float(-(edges[:, :2] @ place + edges[:, 2]).max())


def nearest_inside(points: Array, place: Array) -> Array:
    """The place (2,) of the hull of points (K, 2) that is nearest to a place; their mean where there is no hull."""
    if len(points) < 3:
        return points.mean(axis=0)
    try:
        hull = ConvexHull(points)
    except QhullError:
        return points.mean(axis=0)
    if (hull.equations[:, :2] @ place + hull.equations[:, 2]).max() <= 0.0:
        return place
    corners = points[hull.vertices]
    ways = np.roll(corners, -1, axis=0) - corners
    shares = np.clip(((place - corners) * ways).sum(axis=1) / (ways * ways).sum(axis=1), 0.0, 1.0)
    feet = corners + shares[:, None] * ways
    return feet[int(((feet - place) ** 2).sum(axis=1).argmin())]
