"""A reference frame by one compiled call; `ReferenceBuilder` says what stands where in the tables."""

from __future__ import annotations

import math

from numba import njit

from poise import compiled
from poise.compiled import KERNEL
from poise.light import address_of, borrow, cube, flags, give_back, index, light, matrix, vector
from poise.physics import kernels
from poise.step import active_set
from poise.step.active_set import nonnegative


@njit(**KERNEL)
def reference(at, frame, sizes, regularization, length):
    """Fill a frame, from orientations on, at its (q, v, a); False where they are not finite.

    τ* and λ*: the touching points take as much of the root wrench as their cones allow, [Levine2012]_ 2.3. Deviates: λ*
    is regularized, since four and more points a foot leave it undetermined; moments count over a `length` [m].
    """
    at, frame, sizes = light(at), light(frame), light(sizes)
    nq, nv, bodies, points, root = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    parents, dof_first, dof_count = index(at[0], bodies), index(at[1], bodies), index(at[2], bodies)
    tree_root, point_body, masses = index(at[3], bodies), index(at[4], points), vector(at[5], bodies)
    offsets, radii, xpos, xmat = (
        matrix(at[6], points, 3),
        vector(at[7], points),
        matrix(at[8], bodies, 3),
        matrix(at[9], bodies, 9),
    )
    xquat, xipos, subtree_com = matrix(at[10], bodies, 4), matrix(at[11], bodies, 3), matrix(at[12], bodies, 3)
    cdof, cdof_dot, cvel = matrix(at[13], nv, 6), matrix(at[14], nv, 6), matrix(at[15], bodies, 6)
    directions, needed = cube(at[16], points, 4, 3), vector(at[17], nv)
    wrenches, H, f = matrix(at[18], 4 * points, 6), matrix(at[19], 4 * points, 4 * points), vector(at[20], 4 * points)
    cacc, warm, centers = matrix(at[21], bodies, 6), flags(at[22], 4 * points), matrix(at[23], points, 3)
    q, v, a = vector(frame[0], nq), vector(frame[1], nv), vector(frame[2], nv)
    places, touching = matrix(frame[6], points, 3), flags(frame[11], points)
    for i in range(nq):
        if not math.isfinite(q[i]):
            return False
    for i in range(nv):
        if not math.isfinite(v[i]):
            return False
    own_q, own_v = vector(at[25], nq), vector(at[26], nv)
    for i in range(nq):
        own_q[i] = q[i]
    for i in range(nv):
        own_v[i] = v[i]
    engine = index(at[24], 11)
    kernels.move(engine)
    kernels.inverse_dynamics(engine, a, at[17])
    kernels.point_centers(point_body, offsets, xpos, xmat, centers)
    kernels.moving_figure(
        parents, dof_first, dof_count, point_body, radii, tree_root, masses, root, centers, xquat, xipos, subtree_com,
        cdof, cdof_dot, cvel, v, a, matrix(frame[3], bodies, 4), matrix(frame[4], bodies, 3),
        matrix(frame[5], bodies, 3), cacc, places, matrix(frame[7], points, 3), matrix(frame[8], points, 3),
        vector(frame[9], 3), vector(frame[10], 3),
    )  # fmt: skip
    n = kernels.cone_system(
        places, touching, directions, xpos[root], xmat[root], needed, regularization, length, wrenches, H, f
    )  # fmt: skip
    borrowed, k = borrow(2 * n), 0
    x, expected = vector(address_of(borrowed), n), flags(address_of(borrowed) + 8 * n, n)
    for i in range(n):
        x[i] = 0.0
    for i in range(points):
        if touching[i]:
            for e in range(4):
                expected[k] = warm[4 * i + e]
                k += 1
    if n > 0 and nonnegative(H, f[:n], expected, x) < 0:
        for i in range(n):
            x[i] = 0.0  # any λ* keeps the run exact: τ* takes what is left
    coefficients = matrix(frame[17], points, 4)
    kernels.cone_torques(
        point_body, places, touching, directions, x, tree_root, subtree_com, parents, dof_first, dof_count, cdof,
        needed, coefficients, vector(frame[16], nv),
    )  # fmt: skip
    give_back(borrowed)
    for i in range(points):
        for e in range(4):
            warm[4 * i + e] = coefficients[i, e] > 0.0
    return True


reference = compiled.calls(reference, str(kernels.__file__), str(active_set.__file__))
