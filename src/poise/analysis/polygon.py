"""Convex hulls of contact points seen from above, and how far places are from them; all frames at once."""

from __future__ import annotations

import numpy as np

from poise.core.typing import Array, Flags, Index


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
