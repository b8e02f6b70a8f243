"""Compiled surface axes and friction pyramids of plain contacts.

`tangents`, `Contacts.directions` and `Contacts.force_map` are the plain twins.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def _tangents(n, first, second):
    # the part of x orthogonal to the normal; of y where the normal is close to x
    axis = 1 if abs(n[0]) > 0.9 else 0
    length = 0.0
    for e in range(3):
        first[e] = (1.0 if e == axis else 0.0) - n[e] * n[axis]
        length += first[e] * first[e]
    length = np.sqrt(length)
    for e in range(3):
        first[e] /= length
    second[0] = n[1] * first[2] - n[2] * first[1]
    second[1] = n[2] * first[0] - n[0] * first[2]
    second[2] = n[0] * first[1] - n[1] * first[0]


@njit(cache=True, error_model="numpy")
def frames(normals):
    """Two tangents and the normal as rows, shape (K, 3, 3)."""
    out = np.empty((normals.shape[0], 3, 3))
    for k in range(normals.shape[0]):
        for e in range(3):
            out[k, 2, e] = normals[k, e]
        _tangents(normals[k], out[k, 0], out[k, 1])
    return out


@njit(cache=True, error_model="numpy")
def pyramids(points, normals, friction, jacobians):
    """Columns of V as rows (4 K, 3), the contact of each (4 K,), and Vᵀ J (4 K, nv), for contacts with the world.

    jacobians (3 P, nv) holds those of all points of the model.
    """
    count, nv = points.shape[0], jacobians.shape[1]
    directions, owner = np.empty((4 * count, 3)), np.empty(4 * count, np.int64)
    force_map = np.empty((4 * count, nv))
    first, second = np.empty(3), np.empty(3)
    for k in range(count):
        n = normals[k]
        _tangents(n, first, second)
        at, row = 4 * k, 3 * points[k]
        for e in range(3):
            directions[at, e] = n[e] + friction * first[e]
            directions[at + 1, e] = n[e] - friction * first[e]
            directions[at + 2, e] = n[e] + friction * second[e]
            directions[at + 3, e] = n[e] - friction * second[e]
        for c in range(4):
            owner[at + c] = k
            x, y, z = directions[at + c, 0], directions[at + c, 1], directions[at + c, 2]
            for j in range(nv):
                force_map[at + c, j] = x * jacobians[row, j] + y * jacobians[row + 1, j] + z * jacobians[row + 2, j]
    return directions, owner, force_map
