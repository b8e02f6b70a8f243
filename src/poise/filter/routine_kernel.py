"""What the controllers see and wish for in every step, by two compiled calls; `Routine` says what stands where."""

from __future__ import annotations

from numba import njit

from poise import compiled
from poise.compiled import KERNEL
from poise.filter import kernels
from poise.light import address_of, borrow, cube, flags, give_back, index, larger, light, matrix, smaller, vector
from poise.physics import kernels as dynamics
from poise.step import cones
from poise.step.cones import put_frames
from poise.terrain import kernels as terrain
from poise.terrain.kernels import heights_below, moving_plane, sample


@njit(**KERNEL)
def see(at, placing, feet, frame, sizes, numbers):
    """Bodies and contact points of a state against the ground: which touch, which stand, where they will want to go.

    Returns how many touch; −1 where the state is not finite. `placing` is for `dynamics.kernels.place`, `feet` from
    `Footing`.
    """
    at, placing, feet = light(at), light(placing), light(feet)
    frame, sizes, numbers = light(frame), light(sizes), light(numbers)
    bodies, points, limbs, members = sizes[2], sizes[3], sizes[4], sizes[5]
    is_level, is_planned, has_home, is_moving = sizes[6] != 0, sizes[7] != 0, sizes[8] != 0, sizes[9] != 0
    relief, moving = index(at[20], 5), matrix(at[19], points, 3)
    dt, floor, band, look_ahead, clearance_time = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    point_body, tree_root = index(at[0], points), index(at[1], bodies)
    subtree_com, cvel, biases = matrix(at[2], bodies, 3), matrix(at[3], bodies, 6), matrix(at[4], bodies, 6)
    centers, radii, places = matrix(at[5], points, 3), vector(at[6], points), matrix(at[7], points, 3)
    normals, heights, axes = matrix(at[8], points, 3), vector(at[9], points), cube(at[10], points, 3, 3)
    if dynamics.place(placing, sizes) >= 0:
        return -1
    if not is_level:
        sample(relief, centers, heights, normals)
        put_frames(normals, axes)
    if is_moving:
        moving_plane(relief, centers, moving)
    velocities = matrix(at[11], points, 3)
    dynamics.touch_points(
        point_body, centers, radii, normals, tree_root, subtree_com, cvel, biases, places, velocities,
        matrix(at[12], points, 3),
    )  # fmt: skip
    dynamics.mass_and_bias(index(placing[0], 11))
    gaps = vector(at[13], points)
    near = kernels.near_ground(
        places, radii, heights, normals, band, gaps, index(at[14], points), matrix(at[15], points, 3)
    )  # fmt: skip
    # where the reference's points are, and on which floor, with the plan over the ground
    base, floors, reference_points = matrix(at[16], points, 3), vector(at[17], points), matrix(frame[6], points, 3)
    offsets = matrix(at[18], points, 3)
    for i in range(points):
        floors[i] = floor + (offsets[i, 2] if is_planned else 0.0)
        for c in range(3):
            base[i, c] = reference_points[i, c] + (offsets[i, c] if is_planned else 0.0)
    touching, offset = flags(frame[11], points), matrix(feet[0], points, 3)
    stands, held = flags(feet[4], points), flags(feet[5], points)
    kernels.stick(
        touching, gaps, band, heights, floors, places, base, moving, dt, offset,
        matrix(feet[1], points, 3), flags(feet[2], points), flags(feet[3], points), stands,
    )  # fmt: skip
    for i in range(points):
        held[i] = stands[i]
    if has_home:
        kernels.limbs_seen(
            index(feet[7], members), index(feet[8], limbs), touching, stands, vector(frame[15], points), offset,
            numbers[7], numbers[8], matrix(feet[9], limbs, 4),
        )  # fmt: skip
    if not (is_level or is_planned):
        kernels.swing_places(
            places, velocities, matrix(frame[13], points, 3), numbers[5], numbers[6], matrix(feet[6], points, 2),
            look_ahead, clearance_time, matrix(feet[10], 4 * points, 2),
        )  # fmt: skip
    if not is_level:
        kernels.follow(
            relief, vector(frame[0], 3), vector(frame[1], 3), numbers[5], numbers[6], is_planned, dt,
            vector(at[21], 4), vector(at[22], 13),
        )  # fmt: skip
    return near


@njit(**KERNEL)
def wish(at, feet, frame, sizes, numbers):
    """Fill the wishes of a step from a state that was seen, a reference frame, and the ground where its points go."""
    at, feet, frame, sizes, numbers = light(at), light(feet), light(frame), light(sizes), light(numbers)
    nq, nv, bodies, points, limited = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    is_turned, is_planned, is_stepping, is_level = sizes[5] != 0, sizes[6] != 0, sizes[7] != 0, sizes[8] != 0
    dt, floor, pose_speed, pose_stiffness = numbers[0], numbers[1], numbers[2], numbers[3]
    end_speed, end_stiffness, contact_time, contact_height = numbers[4], numbers[5], numbers[6], numbers[7]
    limit_margin, return_share, ground_reach = numbers[8], numbers[9], numbers[10]
    moved, sway, leaning, lying = numbers[11:20], numbers[20:29], numbers[29], numbers[30]
    clearance, reach = numbers[31], numbers[32]
    xquat, cvel, q, v = matrix(at[0], bodies, 4), matrix(at[1], bodies, 6), vector(at[2], nq), vector(at[3], nv)
    places, velocities, axes = matrix(at[4], points, 3), matrix(at[5], points, 3), cube(at[6], points, 3, 3)
    gaps, ground_velocities = vector(at[7], points), matrix(at[8], points, 3)
    reference_q, reference_v, reference_a = vector(frame[0], nq), vector(frame[1], nv), vector(frame[2], nv)
    reference_points, reference_speeds = matrix(frame[6], points, 3), matrix(frame[7], points, 3)
    reference_rates = matrix(frame[8], points, 3)

    # turns of the bodies, and the root's place
    follower, lean_share, lean = vector(at[44], 13), vector(at[10], bodies), vector(at[45], bodies)
    for e in range(3):
        moved[2 + 3 * e] += follower[e] + follower[3 + e]
    target, speeds, turns = matrix(frame[3], bodies, 4), matrix(frame[4], bodies, 3), matrix(frame[5], bodies, 3)
    borrowed = borrow(10 * bodies)
    if is_turned:
        turned, more = matrix(address_of(borrowed), bodies, 4), address_of(borrowed) + 32 * bodies
        turned_speeds, turned_turns = matrix(more, bodies, 3), matrix(more + 24 * bodies, bodies, 3)
        for b in range(bodies):
            lean[b] = leaning * lean_share[b] - lying
        kernels.turned_figure(
            vector(at[9], bodies), sway[:3], sway[3:6], sway[6:9], lean, follower[6:9], follower[9:12], target, speeds,
            turns, turned, turned_speeds, turned_turns,
        )  # fmt: skip
        target, speeds, turns = turned, turned_speeds, turned_turns
    kernels.servos(
        xquat, cvel, target, speeds, turns, reference_q, reference_v, reference_a, q, v, moved, pose_speed,
        pose_stiffness, vector(at[11], 3 * bodies - 3), vector(at[12], 3), vector(at[13], 3),
    )  # fmt: skip
    give_back(borrowed)

    # where contact points should be, and how fast
    relief, wanted, ground = index(at[46], 5), matrix(feet[10], 4 * points, 2), vector(feet[11], 4 * points)
    held, heights, floors = flags(feet[5], points), vector(at[35], points), vector(at[37], points)
    wished, wished_v, wished_a = matrix(at[38], points, 3), matrix(at[39], points, 3), matrix(at[40], points, 3)
    offset, left_with = matrix(feet[0], points, 3), matrix(feet[1], points, 3)
    if is_planned:
        landings, lifts = matrix(at[41], points, 3), vector(feet[12], points)
        kernels.lifted(relief, landings, moved[0], moved[1], lifts)
        kernels.planned_targets(
            matrix(at[36], points, 3), floors, landings, vector(frame[14], points), left_with, offset, held, moved,
            lifts, heights, clearance, wished,
        )  # fmt: skip
    else:
        if not is_level:
            heights_below(relief, wanted, ground)
        kernels.foothold_targets(
            reference_points, matrix(frame[13], points, 3), vector(frame[14], points), left_with, offset, held, moved,
            matrix(feet[6], points, 2), heights, floor, ground, is_level, clearance, wished,
        )  # fmt: skip
    stands, planned, stepping = flags(feet[4], points), cube(at[42], 2, points, 3), cube(at[43], 3, points, 3)
    for i in range(points):
        for c in range(3):
            wished_v[i, c], wished_a[i, c] = reference_speeds[i, c], reference_rates[i, c]
            if is_planned:
                wished_v[i, c] += planned[0, i, c]
                wished_a[i, c] += planned[1, i, c]
            if stands[i]:
                wished_v[i, c] += ground_velocities[i, c]
            if is_stepping:
                wished[i, c] += stepping[0, i, c]
                wished_v[i, c] += stepping[1, i, c]
                wished_a[i, c] += stepping[2, i, c]
    if reach > 0.0:
        kernels.shortened(wished, places, reach)
    height, near = vector(at[14], points), vector(at[15], points)
    plan_gaps, climbs, shares = vector(at[16], points), vector(at[17], points), vector(at[18], 3 * points)
    for i in range(points):
        height[i], near[i] = reference_points[i, 2] - floor, gaps[i]
        if is_planned:
            height[i], near[i] = smaller(height[i], plan_gaps[i]), smaller(gaps[i], plan_gaps[i])
    kernels.timed_ends(
        wished_a, wished_v, wished, velocities, places, axes, end_speed, end_stiffness, vector(frame[12], points),
        contact_time, height, contact_height, near, vector(at[19], 3 * points), shares,
    )  # fmt: skip
    if is_planned:
        for i in range(points):
            shares[3 * i + 2] = larger(shares[3 * i + 2], climbs[i])

    # bounds
    sizes[9] = kernels.limit_rows(
        q, v, reference_q, reference_v, reference_a, dt, limit_margin, return_share, index(at[20], limited),
        index(at[21], limited), flags(at[22], limited), matrix(at[23], limited, 4), matrix(at[24], limited, 3),
        matrix(at[25], limited, 3), matrix(at[26], limited, 3), matrix(at[27], limited, 3), matrix(at[28], limited, 3),
        matrix(at[29], limited, 3), matrix(at[30], 3 * limited, nv), vector(at[31], 3 * limited),
    )  # fmt: skip
    sizes[10] = kernels.ground_rows(
        axes, gaps, velocities, ground_velocities, reference_points, reference_speeds, reference_rates, floor, dt,
        ground_reach, return_share, index(at[32], points), cube(at[33], points, 1, 3), vector(at[34], points),
    )  # fmt: skip


wish = compiled.calls(wish, *(str(file.__file__) for file in (kernels, terrain)))
see = compiled.calls(see, *(str(file.__file__) for file in (kernels, dynamics, cones, terrain)))
