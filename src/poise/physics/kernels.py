"""The compiled inner loops over bodies and points. Each has a plain twin in MuJoCo that the tests hold it to.

Spatial vectors are MuJoCo's: (angular, linear), linear part at the center of mass of the body's tree. A file whose
kernels call these names this one to `compiled.calls`, or its cache would not notice a change here.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from poise.compiled import INNER, KERNEL, call, shared
from poise.light import address_of, borrow, give_back, index, light, matrix, room, vector
from poise.native import compiled


@shared(**KERNEL)
def body_accelerations(parents, dof_first, dof_count, cdof, cdof_dot, v, a, out):
    """Spatial acceleration of each body, gravity left out: Σ (cdof a + cdof_dot v) along the chain, shape (B, 6)."""
    for c in range(6):
        out[0, c] = 0.0
    for b in range(1, parents.shape[0]):
        for c in range(6):
            out[b, c] = out[parents[b], c]
        for j in range(dof_first[b], dof_first[b] + dof_count[b]):
            for c in range(6):
                out[b, c] += cdof_dot[j, c] * v[j] + cdof[j, c] * a[j]


@njit(**INNER)
def point_centers(point_body, offsets, xpos, xmat, out):
    """World position of each point's center, shape (P, 3)."""
    for i in range(point_body.shape[0]):
        b = point_body[i]
        for c in range(3):
            out[i, c] = (
                xpos[b, c]
                + xmat[b, 3 * c] * offsets[i, 0]
                + xmat[b, 3 * c + 1] * offsets[i, 1]
                + xmat[b, 3 * c + 2] * offsets[i, 2]
            )


@njit(**INNER)
def _material(spatial_velocity, spatial_acceleration, rx, ry, rz, velocity, acceleration):
    wx, wy, wz = spatial_velocity[0], spatial_velocity[1], spatial_velocity[2]
    vx = spatial_velocity[3] + wy * rz - wz * ry
    vy = spatial_velocity[4] + wz * rx - wx * rz
    vz = spatial_velocity[5] + wx * ry - wy * rx
    ax, ay, az = spatial_acceleration[0], spatial_acceleration[1], spatial_acceleration[2]
    velocity[0], velocity[1], velocity[2] = vx, vy, vz
    acceleration[0] = spatial_acceleration[3] + ay * rz - az * ry + wy * vz - wz * vy
    acceleration[1] = spatial_acceleration[4] + az * rx - ax * rz + wz * vx - wx * vz
    acceleration[2] = spatial_acceleration[5] + ax * ry - ay * rx + wx * vy - wy * vx


@shared(**KERNEL)
def point_motion(point_body, points, tree_root, subtree_com, cvel, cacc, velocities, accelerations):
    """Velocity and acceleration (of the material point) at each point, shapes (P, 3)."""
    for i in range(point_body.shape[0]):
        b = point_body[i]
        o = subtree_com[tree_root[b]]
        _material(
            cvel[b],
            cacc[b],
            points[i, 0] - o[0],
            points[i, 1] - o[1],
            points[i, 2] - o[2],
            velocities[i],
            accelerations[i],
        )


@shared(**KERNEL)
def com_acceleration(masses, xipos, tree_root, subtree_com, cvel, cacc, root, out):
    """Acceleration of the center of mass of the tree that hangs on `root` [m/s^2], shape (3,)."""
    velocity, acceleration, total = room(3), room(3), 0.0
    for c in range(3):
        out[c] = 0.0
    o = subtree_com[root]
    for b in range(1, masses.shape[0]):
        if tree_root[b] == root:
            _material(
                cvel[b], cacc[b], xipos[b, 0] - o[0], xipos[b, 1] - o[1], xipos[b, 2] - o[2], velocity, acceleration
            )
            total += masses[b]
            for c in range(3):
                out[c] += masses[b] * acceleration[c]
    for c in range(3):
        out[c] /= total


@shared(**KERNEL)
def point_torques(point_body, points, forces, tree_root, subtree_com, parents, dof_first, dof_count, cdof, out):
    """Generalized force Σ Jᵀ f of forces (P, 3) at points (P, 3), shape (nv,)."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(point_body.shape[0]):
        fx, fy, fz = forces[i, 0], forces[i, 1], forces[i, 2]
        if fx == 0.0 and fy == 0.0 and fz == 0.0:
            continue
        b = point_body[i]
        o = subtree_com[tree_root[b]]
        rx, ry, rz = points[i, 0] - o[0], points[i, 1] - o[1], points[i, 2] - o[2]
        mx, my, mz = ry * fz - rz * fy, rz * fx - rx * fz, rx * fy - ry * fx
        while b > 0:
            for j in range(dof_first[b], dof_first[b] + dof_count[b]):
                out[j] += (
                    cdof[j, 0] * mx + cdof[j, 1] * my + cdof[j, 2] * mz
                    + cdof[j, 3] * fx + cdof[j, 4] * fy + cdof[j, 5] * fz
                )  # fmt: skip
            b = parents[b]


@njit(**INNER)
def move(engine):
    """Kinematics and velocities by MuJoCo, of coordinates that have been written; engine is `Data.engine`."""
    here = engine[0], engine[1]
    call(engine[2], here)
    call(engine[3], here)
    call(engine[4], here)


@njit(**INNER)
def mass_and_bias(engine):
    """M and the bias force of a state that was moved, by MuJoCo."""
    model, data = engine[0], engine[1]
    call(engine[5], (model, data))
    call(engine[6], (model, data, engine[9]))
    call(engine[7], (model, data, np.int64(0), engine[10]))


@njit(**INNER)
def inverse_dynamics(engine, a, out):
    """M a + bias by MuJoCo's recursion, into the array at the address `out`."""
    own = vector(engine[8], a.shape[0])
    for j in range(a.shape[0]):
        own[j] = a[j]
    call(engine[7], (engine[0], engine[1], np.int64(1), out))


@shared(**KERNEL)
def place(at, sizes):
    """Move a state to the coordinates that have been written; `State` says what stands where in its table.

    Fills the accelerations of the bodies at a = 0 and the centers of the points; returns the first dof that is not
    finite, or −1. A coordinate that is not finite counts as dof 0.
    """
    at, sizes = light(at), light(sizes)
    nq, nv, bodies, points = sizes[0], sizes[1], sizes[2], sizes[3]
    q, v = vector(at[10], nq), vector(at[11], nv)
    for j in range(nv):
        if not math.isfinite(v[j]):
            return j
    for j in range(nq):
        if not math.isfinite(q[j]):
            return 0
    move(index(at[0], 11))
    body_accelerations(
        index(at[1], bodies), index(at[2], bodies), index(at[3], bodies), matrix(at[8], nv, 6), matrix(at[9], nv, 6), v,
        vector(at[12], nv), matrix(at[13], bodies, 6),
    )  # fmt: skip
    point_centers(
        index(at[4], points), matrix(at[5], points, 3), matrix(at[6], bodies, 3), matrix(at[7], bodies, 9),
        matrix(at[14], points, 3),
    )  # fmt: skip
    return -1


@shared(**KERNEL)
def touch_points(
    point_body, centers, radii, normals, tree_root, subtree_com, cvel, cacc, points, velocities, accelerations
):  # fmt: skip
    """Points center − radius · normal, and how they move, shapes (P, 3)."""
    for i in range(point_body.shape[0]):
        for c in range(3):
            points[i, c] = centers[i, c] - radii[i] * normals[i, c]
    point_motion(point_body, points, tree_root, subtree_com, cvel, cacc, velocities, accelerations)


@njit(**KERNEL)
def place_rovers(
    bodies, places, start, xpos, xmat, tree_root, subtree_com, cvel, cacc, point_body, offsets, centers, points,
    velocities, accelerations,
):  # fmt: skip
    """Put points from `start` on at places (K, 3) of bodies (K,), and fill all that is known of them."""
    for k in range(bodies.shape[0]):
        i, b = start + k, bodies[k]
        point_body[i] = b
        for c in range(3):
            offsets[i, c] = 0.0
            for e in range(3):
                offsets[i, c] += xmat[b, 3 * e + c] * (places[k, e] - xpos[b, e])
            centers[i, c], points[i, c] = places[k, c], places[k, c]
    here = slice(start, start + bodies.shape[0])
    point_motion(bodies, places, tree_root, subtree_com, cvel, cacc, velocities[here], accelerations[here])


@njit(**INNER)
def moving_figure(
    parents, dof_first, dof_count, point_body, radii, tree_root, masses, root, centers, xquat, xipos, subtree_com, cdof,
    cdof_dot, cvel, v, a, orientations, spins, turns, cacc, points, velocities, accelerations, com, com_a,
):  # fmt: skip
    """Everything known of a figure that moves with (v, a) above level ground.

    Fills orientations (B, 4), angular velocities and accelerations (B, 3), spatial accelerations (B, 6), points, their
    velocities and accelerations (P, 3), center of mass and its acceleration (3,).
    """
    body_accelerations(parents, dof_first, dof_count, cdof, cdof_dot, v, a, cacc)
    for b in range(parents.shape[0]):
        for c in range(4):
            orientations[b, c] = xquat[b, c]
        for c in range(3):
            spins[b, c], turns[b, c] = cvel[b, c], cacc[b, c]
    for i in range(point_body.shape[0]):
        for c in range(3):
            points[i, c] = centers[i, c] - (radii[i] if c == 2 else 0.0)
    point_motion(point_body, points, tree_root, subtree_com, cvel, cacc, velocities, accelerations)
    com_acceleration(masses, xipos, tree_root, subtree_com, cvel, cacc, root, com_a)
    for c in range(3):
        com[c] = subtree_com[root, c]


@shared(**KERNEL)
def cone_system(points, flags, directions, place, axes, needed, regularization, length, wrenches, H, f):
    """Least squares of a wrench (6,) by the cones of the flagged points, directions (P, C, 3).

    Force in world axes, moment about `place` in `axes`, row-major (9,), over `length` [m], so that a figure of any size
    weighs them alike. Fills H and f of min ½ xᵀH x + fᵀx for the
    coefficients of the flagged points in order, with the regularization relative to the mean diagonal, and the wrench
    of each (P C, 6); returns the number of coefficients n. H and f are larger than that.
    """
    n, trace = 0, 0.0
    for i in range(flags.shape[0]):
        if flags[i]:
            rx, ry, rz = points[i, 0] - place[0], points[i, 1] - place[1], points[i, 2] - place[2]
            for c in range(directions.shape[1]):
                fx, fy, fz = directions[i, c, 0], directions[i, c, 1], directions[i, c, 2]
                mx, my, mz = ry * fz - rz * fy, rz * fx - rx * fz, rx * fy - ry * fx
                wrenches[n, 0], wrenches[n, 1], wrenches[n, 2] = fx, fy, fz
                for e in range(3):
                    wrenches[n, 3 + e] = (axes[e] * mx + axes[3 + e] * my + axes[6 + e] * mz) / length
                n += 1
    for i in range(n):
        total = 0.0
        for j in range(i + 1):
            s = 0.0
            for e in range(6):
                s += wrenches[i, e] * wrenches[j, e]
            H[i, j], H[j, i] = s, s
        trace += H[i, i]
        for e in range(6):
            total -= wrenches[i, e] * (needed[e] if e < 3 else needed[e] / length)
        f[i] = total
    for i in range(n):
        H[i, i] += regularization * trace / n
    return n


@shared(**KERNEL)
def cone_torques(
    point_body, points, flags, directions, x, tree_root, subtree_com, parents, dof_first, dof_count, cdof, needed,
    coefficients, torque,
):  # fmt: skip
    """Coefficients of all points (P, C) from those of the flagged ones (n,), and what they leave of a force.

    torque = needed − Σ Jᵀ f, shape (nv,).
    """
    count, columns = directions.shape[0], directions.shape[1]
    borrowed, n = borrow(3 * count), 0
    forces = matrix(address_of(borrowed), count, 3)
    for i in range(count):
        for e in range(3):
            forces[i, e] = 0.0
        for c in range(columns):
            coefficients[i, c] = x[n] if flags[i] else 0.0
            n += flags[i]
            for e in range(3):
                forces[i, e] += coefficients[i, c] * directions[i, c, e]
    point_torques(point_body, points, forces, tree_root, subtree_com, parents, dof_first, dof_count, cdof, torque)
    give_back(borrowed)
    for j in range(torque.shape[0]):
        torque[j] = needed[j] - torque[j]


@compiled(
    "const word point_body[points], const real places[points][3], const word tree_root[bodies],"
    "const real subtree_com[bodies][3], const word parents[bodies], const word dof_first[bodies],"
    "const word dof_count[bodies], const real cdof[nv][6], real out[rows][nv]"
)
def point_jacobians(point_body, places, tree_root, subtree_com, parents, dof_first, dof_count, cdof, out):
    """Jacobian of each point's velocity, shape (3 P, nv): column j is v_j + ω_j × (place − o) for the dofs above it."""
    out[:] = 0.0
    for i, (b, place) in enumerate(zip(point_body, places, strict=True)):
        arm = place - subtree_com[tree_root[b]]
        while b > 0:
            own = slice(dof_first[b], dof_first[b] + dof_count[b])
            out[3 * i : 3 * i + 3, own] = (cdof[own, 3:] + np.cross(cdof[own, :3], arm)).T
            b = parents[b]


@shared(**KERNEL)
def com_jacobian(subtree_mass, subtree_com, tree_root, dof_body, cdof, root, out):
    """Jacobian of the center of mass of the tree on `root`, shape (3, nv): each dof moves its subtree rigidly."""
    for e in range(3):
        for j in range(out.shape[1]):
            out[e, j] = 0.0
    o = subtree_com[root]
    for j in range(dof_body.shape[0]):
        b = dof_body[j]
        if tree_root[b] == root:
            share = subtree_mass[b] / subtree_mass[root]
            rx, ry, rz = subtree_com[b, 0] - o[0], subtree_com[b, 1] - o[1], subtree_com[b, 2] - o[2]
            wx, wy, wz = cdof[j, 0], cdof[j, 1], cdof[j, 2]
            out[0, j] = share * (cdof[j, 3] + wy * rz - wz * ry)
            out[1, j] = share * (cdof[j, 4] + wz * rx - wx * rz)
            out[2, j] = share * (cdof[j, 5] + wx * ry - wy * rx)


@shared(**KERNEL)
def com_rows(masses, subtree_mass, xipos, tree_root, dof_body, subtree_com, cvel, cdof, biases, root, jacobian, bias):
    """`com_jacobian` (3, nv) and `com_acceleration` at a = 0 (3,) of the tree on `root`."""
    com_jacobian(subtree_mass, subtree_com, tree_root, dof_body, cdof, root, jacobian)
    com_acceleration(masses, xipos, tree_root, subtree_com, cvel, biases, root, bias)


@shared(**KERNEL)
def point_rows(
    points, axes, places, biases, point_body, tree_root, subtree_com, parents, dof_first, dof_count, cdof, rows,
    constants,
):  # fmt: skip
    """Rows axes · J (K m, nv) and axes · bias (K m,) of some points, axes (K, m, 3), places and biases (P, 3)."""
    for k in range(axes.shape[0]):
        i = points[k]
        o = subtree_com[tree_root[point_body[i]]]
        for e in range(axes.shape[1]):
            at = k * axes.shape[1] + e
            x, y, z = axes[k, e, 0], axes[k, e, 1], axes[k, e, 2]
            rx, ry, rz = places[i, 0] - o[0], places[i, 1] - o[1], places[i, 2] - o[2]
            mx, my, mz = ry * z - rz * y, rz * x - rx * z, rx * y - ry * x
            constants[at] = x * biases[i, 0] + y * biases[i, 1] + z * biases[i, 2]
            for j in range(cdof.shape[0]):
                rows[at, j] = 0.0
            b = point_body[i]
            while b > 0:
                for j in range(dof_first[b], dof_first[b] + dof_count[b]):
                    rows[at, j] = (
                        cdof[j, 0] * mx + cdof[j, 1] * my + cdof[j, 2] * mz
                        + cdof[j, 3] * x + cdof[j, 4] * y + cdof[j, 5] * z
                    )  # fmt: skip
                b = parents[b]
