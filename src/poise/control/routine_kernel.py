"""What the controllers wish for in every step, by one compiled call; `Routine` says what stands where in the tables."""

from __future__ import annotations

from numba import njit

from poise import compiled
from poise.compiled import KERNEL, cube, flags, index, matrix, vector
from poise.control import kernels
from poise.dynamics import kernels as dynamics
from poise.step import cones
from poise.step.cones import put_frames


@njit(**KERNEL)
def wish(at, frame, feet, sizes, numbers):
    """Fill the wishes of a step from a state, a reference frame and the addresses of three arrays of footholds."""
    nq, nv, bodies, points, limited = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    is_turned, is_planned = sizes[5] != 0, sizes[6] != 0
    dt, floor, pose_speed, pose_stiffness = numbers[0], numbers[1], numbers[2], numbers[3]
    end_speed, end_stiffness, contact_time, contact_height = numbers[4], numbers[5], numbers[6], numbers[7]
    limit_margin, return_share, ground_reach = numbers[8], numbers[9], numbers[10]
    moved, sway, lean = numbers[11:20], numbers[20:29], numbers[29:35]
    xquat, cvel, q, v = matrix(at[0], bodies, 4), matrix(at[1], bodies, 6), vector(at[2], nq), vector(at[3], nv)
    places, velocities, axes = matrix(at[4], points, 3), matrix(at[5], points, 3), cube(at[6], points, 3, 3)
    gaps, ground_velocities = vector(at[7], points), matrix(at[8], points, 3)
    reference_q, reference_v, reference_a = vector(frame[0], nq), vector(frame[1], nv), vector(frame[2], nv)
    reference_points, reference_speeds = matrix(frame[6], points, 3), matrix(frame[7], points, 3)

    # turns of the bodies, and the root's place
    target, speeds, turns = matrix(frame[3], bodies, 4), matrix(frame[4], bodies, 3), matrix(frame[5], bodies, 3)
    if is_turned:
        target, speeds, turns = kernels.turned_figure(
            vector(at[9], bodies), sway[:3], sway[3:6], sway[6:9], vector(at[10], bodies), lean[:3], lean[3:6], target,
            speeds, turns,
        )  # fmt: skip
    kernels.servos(
        xquat, cvel, target, speeds, turns, reference_q, reference_v, reference_a, q, v, moved, pose_speed,
        pose_stiffness, vector(at[11], 3 * bodies - 3), vector(at[12], 3), vector(at[13], 3),
    )  # fmt: skip

    # contact points
    heights, near = vector(at[14], points), vector(at[15], points)
    plan_gaps, climbs, shares = vector(at[16], points), vector(at[17], points), vector(at[18], 3 * points)
    for i in range(points):
        heights[i], near[i] = reference_points[i, 2] - floor, gaps[i]
        if is_planned:
            heights[i], near[i] = min(heights[i], plan_gaps[i]), min(gaps[i], plan_gaps[i])
    kernels.timed_ends(
        matrix(feet[2], points, 3), matrix(feet[1], points, 3), matrix(feet[0], points, 3), velocities, places, axes,
        end_speed, end_stiffness, vector(frame[12], points), contact_time, heights, contact_height, near,
        vector(at[19], 3 * points), shares,
    )  # fmt: skip
    if is_planned:
        for i in range(points):
            shares[3 * i + 2] = max(shares[3 * i + 2], climbs[i])

    # bounds
    sizes[7] = kernels.limit_rows(
        q, v, reference_q, reference_v, reference_a, dt, limit_margin, return_share, index(at[20], limited),
        index(at[21], limited), flags(at[22], limited), matrix(at[23], limited, 4), matrix(at[24], limited, 3),
        matrix(at[25], limited, 3), matrix(at[26], limited, 3), matrix(at[27], limited, 3), matrix(at[28], limited, 3),
        matrix(at[29], limited, 3), matrix(at[30], 3 * limited, nv), vector(at[31], 3 * limited),
    )  # fmt: skip
    sizes[8] = kernels.ground_rows(
        axes, gaps, velocities, ground_velocities, reference_points, reference_speeds, matrix(frame[8], points, 3),
        floor, dt, ground_reach, return_share, index(at[32], points), cube(at[33], points, 1, 3),
        vector(at[34], points),
    )  # fmt: skip


@njit(**KERNEL)
def see(at, frame, sizes, numbers):
    """Bodies and contact points of a state MuJoCo was moved to, against the ground; which touch, which stand.

    Returns how many touch; −1 where the state is not finite. On level ground in one go, else after the bodies have been
    placed and the ground below their points been looked up.
    """
    nq, nv, bodies, points = sizes[0], sizes[1], sizes[2], sizes[3]
    is_level, is_planned = sizes[4] != 0, sizes[5] != 0
    dt, floor, band = numbers[0], numbers[1], numbers[2]
    point_body, tree_root = index(at[0], points), index(at[1], bodies)
    subtree_com, cvel, biases = matrix(at[2], bodies, 3), matrix(at[3], bodies, 6), matrix(at[4], bodies, 6)
    centers, radii, places = matrix(at[5], points, 3), vector(at[6], points), matrix(at[7], points, 3)
    normals, heights, axes = matrix(at[8], points, 3), vector(at[9], points), cube(at[10], points, 3, 3)
    if is_level:
        bad = dynamics.place_bodies(
            index(at[11], bodies), index(at[12], bodies), index(at[13], bodies), point_body, matrix(at[14], points, 3),
            matrix(at[15], bodies, 3), matrix(at[16], bodies, 9), matrix(at[17], nv, 6), matrix(at[18], nv, 6),
            vector(at[19], nq), vector(at[20], nv), vector(at[21], nv), biases, centers,
        )  # fmt: skip
        if bad >= 0:
            return -1
    else:
        put_frames(normals, axes)
    dynamics.touch_points(
        point_body, centers, radii, normals, tree_root, subtree_com, cvel, biases, places, matrix(at[22], points, 3),
        matrix(at[23], points, 3),
    )  # fmt: skip
    gaps = vector(at[24], points)
    near = kernels.near_ground(
        places, radii, heights, normals, band, gaps, index(at[25], points), matrix(at[26], points, 3)
    )  # fmt: skip
    # where the reference's points are, and on which floor, with the plan over the ground
    base, floors, reference_points = matrix(at[27], points, 3), vector(at[28], points), matrix(frame[6], points, 3)
    offsets = matrix(at[29], points, 3)
    for i in range(points):
        floors[i] = floor + (offsets[i, 2] if is_planned else 0.0)
        for c in range(3):
            base[i, c] = reference_points[i, c] + (offsets[i, c] if is_planned else 0.0)
    kernels.stick(
        flags(frame[11], points), gaps, band, heights, floors, places, base, matrix(at[30], points, 3), dt,
        matrix(at[31], points, 3), matrix(at[32], points, 3), flags(at[33], points), flags(at[34], points),
        flags(at[35], points),
    )  # fmt: skip
    return near


wish = compiled.calls(wish, str(kernels.__file__))
see = compiled.calls(see, *(str(file.__file__) for file in (kernels, dynamics, cones)))
