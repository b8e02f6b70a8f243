"""Compiled servo and joint-limit loops."""

from __future__ import annotations

import math

from numba import njit

from poise.compiled import INNER, KERNEL, shared
from poise.light import address_of, larger, matrix, room, smaller
from poise.terrain.kernels import heights_below, surface


@njit(**INNER)
def servos(
    current, velocities, target, target_velocities, target_accelerations, reference_q, reference_v, reference_a, q, v,
    moved, speed, stiffness, turning, root, off,
):  # fmt: skip
    """Wished accelerations a* + speed Δv + stiffness Δx of the bodies' turns and of the root's place.

    Fills `turning` (3 (B − 1),) from orientations (B, 4) and spatial velocities (B, 6): α* + speed (ω* − ω) + stiffness
    Log(R* Rᵀ) of every body but the world, in world axes; `off`, the way of the root to its wished place, and `root`,
    its wished acceleration (3,): the reference moved by a way, with its rates, `moved` (9,).
    """
    for b in range(1, current.shape[0]):
        # d = target · conj(current)
        aw, ax, ay, az = target[b, 0], target[b, 1], target[b, 2], target[b, 3]
        bw, bx, by, bz = current[b, 0], -current[b, 1], -current[b, 2], -current[b, 3]
        w = aw * bw - ax * bx - ay * by - az * bz
        x = aw * bx + ax * bw + ay * bz - az * by
        y = aw * by - ax * bz + ay * bw + az * bx
        z = aw * bz + ax * by - ay * bx + az * bw
        sine = math.sqrt(x * x + y * y + z * z)
        scale = 2.0 * math.atan2(sine, abs(w)) / sine if sine > 1e-9 else 2.0
        if w < 0.0:
            scale = -scale
        error = (scale * x, scale * y, scale * z)
        for c in range(3):
            turning[3 * b - 3 + c] = (
                target_accelerations[b, c] + speed * (target_velocities[b, c] - velocities[b, c]) + stiffness * error[c]
            )
    for c in range(3):
        x, dx, ddx = moved[c], moved[3 + c], moved[6 + c]
        off[c] = reference_q[c] + x - q[c]
        root[c] = reference_a[c] + ddx + speed * (reference_v[c] + dx - v[c]) + stiffness * off[c]


@njit(**INNER)
def _ball_angles(w, x, y, z, rest, axis, bend, side, out):
    """Twist, bend and side of rest⁻¹ · (w, x, y, z), split as swing · twist."""
    rw, rx, ry, rz = rest[0], -rest[1], -rest[2], -rest[3]
    dw = rw * w - rx * x - ry * y - rz * z
    dx = rw * x + rx * w + ry * z - rz * y
    dy = rw * y - rx * z + ry * w + rz * x
    dz = rw * z + rx * y - ry * x + rz * w
    if dw < 0.0:
        dw, dx, dy, dz = -dw, -dx, -dy, -dz
    t = dx * axis[0] + dy * axis[1] + dz * axis[2]
    length = math.sqrt(dw * dw + t * t)
    if length < 1e-12:
        tw, ts = 1.0, 0.0
    else:
        tw, ts = dw / length, t / length
    out[0] = 2.0 * math.atan2(ts, tw)
    # swing = d · conj(twist)
    kx, ky, kz = -ts * axis[0], -ts * axis[1], -ts * axis[2]
    sw = dw * tw - dx * kx - dy * ky - dz * kz
    sx = dw * kx + dx * tw + dy * kz - dz * ky
    sy = dw * ky - dx * kz + dy * tw + dz * kx
    sz = dw * kz + dx * ky - dy * kx + dz * tw
    sine = math.sqrt(sx * sx + sy * sy + sz * sz)
    scale = 2.0 * math.atan2(sine, sw) / sine if sine > 1e-9 else 2.0
    out[1] = scale * (sx * bend[0] + sy * bend[1] + sz * bend[2])
    out[2] = scale * (sx * side[0] + sy * side[1] + sz * side[2])


@shared(**KERNEL)
def limit_angles(q, address, is_hinge, rest, axis, bend, side, out):
    """Angles of every limited joint: (twist, bend, side) of balls, (angle, 0, 0) of hinges, shape (L, 3)."""
    for i in range(address.shape[0]):
        k = address[i]
        if is_hinge[i]:
            out[i, 0], out[i, 1], out[i, 2] = q[k], 0.0, 0.0
        else:
            _ball_angles(q[k], q[k + 1], q[k + 2], q[k + 3], rest[i], axis[i], bend[i], side[i], out[i])


@njit(**INNER)
def _ball_rate(w, x, y, z, ex, ey, ez, rest, axis, bend, side, ahead, behind):
    """Rates of (twist, bend, side) per unit of turn along the unit vector e in the joint's own axes, into `ahead`.

    Central differences of 1e-6 rad.
    """
    half = 0.5e-6
    dw, dx = -x * ex - y * ey - z * ez, w * ex + y * ez - z * ey
    dy, dz = w * ey + z * ex - x * ez, w * ez + x * ey - y * ex
    for i in range(2):
        t, out = (half, ahead) if i == 0 else (-half, behind)
        _ball_angles(w + t * dw, x + t * dx, y + t * dy, z + t * dz, rest, axis, bend, side, out)
    for r in range(3):
        ahead[r] = (ahead[r] - behind[r]) / (4.0 * half)


@shared(**KERNEL)
def limit_rows(
    q, v, reference_q, reference_v, reference_a, dt, margin, share, address, v_address, is_hinge, rest, axis, bend,
    side, lower, upper, angles, rows, bounds,
):  # fmt: skip
    """Rows and lower bounds of the angles nearer to a limit than the margin, as accelerations; returns how many.

    Fills the angles (L, 3), and the leading rows of rows (3 L, nv) and bounds (3 L,).

    For an angle θ with rates θ̇ = E ω: sign (θ + dt E v + dt² E a) ≥ the limit, widened to the reference's own next
    angle; from outside it comes back by a share of the way a step.
    """
    count, planned = address.shape[0], room(3)
    limit_angles(q, address, is_hinge, rest, axis, bend, side, angles)
    rates, ahead, behind = matrix(address_of(room(9)), 3, 3), room(3), room(3)
    for c in range(3):
        planned[c] = 0.0
    m = 0
    for i in range(count):
        is_near = False
        for c in range(3):
            is_near |= angles[i, c] < lower[i, c] + margin or angles[i, c] > upper[i, c] - margin
        if not is_near:
            continue
        k, d = address[i], v_address[i]
        if is_hinge[i]:
            width = 1
            rates[0, 0] = 1.0
            planned[0] = reference_q[k] + dt * reference_v[d] + dt * dt * reference_a[d]
        else:
            width = 3
            sx = dt * reference_v[d] + dt * dt * reference_a[d]
            sy = dt * reference_v[d + 1] + dt * dt * reference_a[d + 1]
            sz = dt * reference_v[d + 2] + dt * dt * reference_a[d + 2]
            size = larger(math.sqrt(sx * sx + sy * sy + sz * sz), 1e-30)
            rw, rx, ry, rz = reference_q[k], reference_q[k + 1], reference_q[k + 2], reference_q[k + 3]
            _ball_angles(rw, rx, ry, rz, rest[i], axis[i], bend[i], side[i], planned)
            for c in range(4):
                # along the joint's own axes, and last along the reference's step
                if c < 3:
                    qw, qx, qy, qz = q[k], q[k + 1], q[k + 2], q[k + 3]
                    ex, ey, ez = 1.0 * (c == 0), 1.0 * (c == 1), 1.0 * (c == 2)
                else:
                    qw, qx, qy, qz = rw, rx, ry, rz
                    ex, ey, ez = sx / size, sy / size, sz / size
                _ball_rate(qw, qx, qy, qz, ex, ey, ez, rest[i], axis[i], bend[i], side[i], ahead, behind)
                for r in range(3):
                    if c < 3:
                        rates[r, c] = ahead[r]
                    else:
                        planned[r] += size * ahead[r]
        for c in range(3):
            is_low = angles[i, c] < lower[i, c] + margin
            if not (is_low or angles[i, c] > upper[i, c] - margin):
                continue
            sign = 1.0 if is_low else -1.0
            bound = lower[i, c] if is_low else -upper[i, c]
            speed = 0.0
            for j in range(v.shape[0]):
                rows[m, j] = 0.0
            for e in range(width):
                speed += rates[c, e] * v[d + e]
                rows[m, d + e] = sign * rates[c, e]
            now = sign * angles[i, c]
            floor = smaller(bound if now >= bound else now + share * (bound - now), sign * planned[c] - 1e-9)
            bounds[m] = (floor - now - dt * sign * speed) / (dt * dt)
            m += 1
    return m


@njit(**INNER)
def _turned(w, x, y, z, a, out):
    """Vector a turned by the unit quaternion (w, x, y, z)."""
    tx, ty, tz = 2.0 * (y * a[2] - z * a[1]), 2.0 * (z * a[0] - x * a[2]), 2.0 * (x * a[1] - y * a[0])
    out[0] = a[0] + w * tx + y * tz - z * ty
    out[1] = a[1] + w * ty + z * tx - x * tz
    out[2] = a[2] + w * tz + x * ty - y * tx


@shared(**KERNEL)
def turned_figure(
    sway_share, sway, sway_velocity, sway_acceleration, lean_share, lean, lean_velocity, orientations, velocities,
    accelerations, turned, speeds, turns,
):  # fmt: skip
    """Turn bodies that each take a share of two rotation vectors (3,), with their rates.

    Fills orientations (B, 4), angular velocities and accelerations (B, 3) from those before.
    """
    turn = room(3)
    for b in range(orientations.shape[0]):
        for c in range(3):
            turn[c] = sway_share[b] * sway[c] + lean_share[b] * lean[c]
        angle = math.sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2])
        scale = math.sin(0.5 * angle) / angle if angle > 1e-9 else 0.5
        w, x, y, z = math.cos(0.5 * angle), scale * turn[0], scale * turn[1], scale * turn[2]
        qw, qx, qy, qz = orientations[b, 0], orientations[b, 1], orientations[b, 2], orientations[b, 3]
        turned[b, 0] = w * qw - x * qx - y * qy - z * qz
        turned[b, 1] = w * qx + x * qw + y * qz - z * qy
        turned[b, 2] = w * qy - x * qz + y * qw + z * qx
        turned[b, 3] = w * qz + x * qy - y * qx + z * qw
        _turned(w, x, y, z, velocities[b], speeds[b])
        _turned(w, x, y, z, accelerations[b], turns[b])
        for c in range(3):
            speeds[b, c] += sway_share[b] * sway_velocity[c] + lean_share[b] * lean_velocity[c]
            turns[b, c] += sway_share[b] * sway_acceleration[c]


@njit(**INNER)
def ground_rows(
    axes, gaps, velocities, ground_velocities, reference_points, reference_velocities, reference_accelerations, floor,
    dt, reach, share, index, normals, lower,
):  # fmt: skip
    """Points nearer to the ground than `reach` next step; returns how many.

    Fills the leading rows of index (P,), normals (P, 1, 3) and least accelerations (P,). A point may not be below the
    ground next step, nor deeper than the reference itself goes; one that is below comes up by a share of the way.
    """
    near = 0
    for i in range(gaps.shape[0]):
        speed = 0.0
        for c in range(3):
            speed += axes[i, 2, c] * (velocities[i, c] - ground_velocities[i, c])
        ahead = gaps[i] + dt * speed
        if ahead < reach:
            planned = (
                reference_points[i, 2]
                - floor
                + dt * reference_velocities[i, 2]
                + dt * dt * reference_accelerations[i, 2]
            )
            least = smaller(0.0, planned - 1e-9)
            if gaps[i] < least:
                least = smaller((1.0 - share) * gaps[i], least)
            index[near], lower[near] = i, (least - ahead) / (dt * dt)
            for c in range(3):
                normals[near, 0, c] = axes[i, 2, c]
            near += 1
    return near


@njit(**INNER)
def timed_ends(
    wished_a, wished_v, wished, v, now, axes, speed, stiffness, times_to_contact, contact_time, heights, reach, gaps,
    targets, weights,
):  # fmt: skip
    """What the contact points wish for along their axes (P, 3, 3), and how much it matters, both (3 P,).

    A target is axis · (a* + speed (v* − v) + stiffness (p* − p)). The weight along the tangents is 1 − t / t_m, along
    the normal that and low · (1 − h / h_m): t is the time to contact, h the distance to the ground, each at most t_m
    and h_m (`reach`). heights (P,) are the reference's. Source: [Levine2012]_ 2.5. Deviates by `low`: 1 where the
    reference is below h_m, 0 from 2 h_m up, so that a fallen hand is not held down.
    """
    for i in range(gaps.shape[0]):
        tangent = smaller(larger(1.0 - times_to_contact[i] / contact_time, 0.0), 1.0)
        low = smaller(larger(2.0 - heights[i] / reach, 0.0), 1.0)
        normal = tangent + low * (1.0 - smaller(larger(gaps[i] / reach, 0.0), 1.0))
        for e in range(3):
            weights[3 * i + e], total = normal if e == 2 else tangent, 0.0
            for c in range(3):
                wish = wished_a[i, c] + speed * (wished_v[i, c] - v[i, c]) + stiffness * (wished[i, c] - now[i, c])
                total += axes[i, e, c] * wish
            targets[3 * i + e] = total


@njit(**INNER)
def follow(relief, root, velocity, shift_x, shift_y, is_planned, dt, settings, state):
    """Move a `ground.GroundFollower` by the rates of the last step, semi-implicitly, and set those of this one.

    From place and velocity of the reference's root (3,) and the goal's shift.
    """
    w, lean, floor, reach = settings[0], settings[1], settings[2], settings[3]
    state[1] += dt * state[2]
    state[0] += dt * state[1]
    for e in range(6, 9):
        state[e] += dt * state[3 + e]
    # crosses around three places: ahead and shifted with the goal, ahead, and now but shifted
    cross, heights, means = matrix(address_of(room(30)), 15, 2), room(15), room(3)
    for k in range(15):
        is_ahead, is_shifted, arm = k < 10, k < 5 or k >= 10, k % 5
        cross[k, 0] = root[0] + (2.0 / w * velocity[0] if is_ahead else 0.0) + (shift_x if is_shifted else 0.0)
        cross[k, 1] = root[1] + (2.0 / w * velocity[1] if is_ahead else 0.0) + (shift_y if is_shifted else 0.0)
        cross[k, 0] += reach if arm == 1 else -reach if arm == 2 else 0.0
        cross[k, 1] += reach if arm == 3 else -reach if arm == 4 else 0.0
        means[k // 5] = 0.0
    heights_below(relief, cross, heights)
    for k in range(15):
        means[k // 5] += (heights[k] - floor) / 5.0
    slope_x, slope_y = (heights[1] - heights[2]) / (2.0 * reach), (heights[3] - heights[4]) / (2.0 * reach)
    if state[12] == 0.0 and not is_planned:
        state[0], state[1] = means[2], slope_x * velocity[0] + slope_y * velocity[1]
    state[12] = 1.0
    # with the look-ahead a steady ramp is followed exactly; a plan knows the ground, but not below a shifted goal
    target = means[0] - means[1] if is_planned else means[0]
    state[2] = w * w * (target - state[0]) - 2.0 * w * state[1]
    # the axis z × gradient tips up towards uphill
    size = math.sqrt(slope_x * slope_x + slope_y * slope_y)
    tip = math.atan(size) / size if size > 1e-9 else 0.0
    state[9], state[10] = lean * (-slope_y * tip - state[6]), lean * (slope_x * tip - state[7])
    state[11] = -lean * state[8]


@njit(**INNER)
def near_ground(points, radii, heights, normals, band, gaps, index, chosen):
    """Distances of points to the ground, and which are nearer than the band.

    A point is center − radius · normal; the heights are those below the centers.
    Fills gaps (P,), and the leading rows of index (P,) and of their normals `chosen` (P, 3); returns how many.
    """
    near = 0
    for i in range(points.shape[0]):
        up = normals[i, 2]
        gaps[i] = (points[i, 2] + radii[i] * up - heights[i]) * up - radii[i]
        if gaps[i] < band:
            index[near] = i
            for c in range(3):
                chosen[near, c] = normals[i, c]
            near += 1
    return near


@njit(**INNER)
def stick(
    flags, gaps, band, heights, floors, points, reference_points, ground_velocities, dt, offset, left_with, stood,
    swung, stands,
):  # fmt: skip
    """Fill which points stand (P,); keeps up their offsets to the reference, whose own floors (P,) may differ.

    A point that touches sticks where it is, and goes with the ground; one that leaves starts from where it was. Changes
    offset, left_with (P, 3), stood and swung (P,).
    """
    for i in range(flags.shape[0]):
        stands[i] = flags[i] and gaps[i] < band
        lift = heights[i] - floors[i]
        if stands[i] and not stood[i]:
            offset[i, 0] = points[i, 0] - reference_points[i, 0]
            offset[i, 1] = points[i, 1] - reference_points[i, 1]
            offset[i, 2] = lift
        if not flags[i] and not swung[i]:
            left_with[i, 0] = offset[i, 0] if stood[i] else points[i, 0] - reference_points[i, 0]
            left_with[i, 1] = offset[i, 1] if stood[i] else points[i, 1] - reference_points[i, 1]
            left_with[i, 2] = offset[i, 2] if stood[i] else lift
        if stands[i]:
            offset[i, 0] += dt * ground_velocities[i, 0]
            offset[i, 1] += dt * ground_velocities[i, 1]
        offset[i, 2] = lift
        stood[i], swung[i] = stands[i], not flags[i]


@njit(**INNER)
def limbs_seen(members, ends, flags, stands, times_to_lift, offsets, home_x, home_y, seen):
    """Fill rows of (points that touch, of them stand, least time to lift [s], mean way home [m]), one for each limb.

    members are the points of all limbs, limb after limb, and ends (L,) where each ends; `stands` only where `flags`.
    """
    first = 0
    for limb in range(ends.shape[0]):
        touching, standing, least, way = 0, 0, math.inf, 0.0
        for k in range(first, ends[limb]):
            i = members[k]
            if flags[i]:
                touching += 1
                standing += 1 if stands[i] else 0
                least = smaller(least, times_to_lift[i])
                x, y = offsets[i, 0] - home_x, offsets[i, 1] - home_y
                way += math.sqrt(x * x + y * y)
        first = ends[limb]
        seen[limb, 0], seen[limb, 1], seen[limb, 2], seen[limb, 3] = (
            touching,
            standing,
            least,
            way / larger(touching, 1),
        )


@njit(**INNER)
def swing_places(points, velocities, landings, shift_x, shift_y, foot_shift, look_ahead, clearance_time, out):
    """Where the ground's height is wanted, (4 P, 2): landing places, ahead, at the clearance's edge, half way there."""
    count = points.shape[0]
    for i in range(count):
        place = landings[i] if math.isfinite(landings[i, 0]) else points[i]
        out[i, 0], out[i, 1] = place[0] + shift_x + foot_shift[i, 0], place[1] + shift_y + foot_shift[i, 1]
        for c in range(2):
            out[count + i, c] = points[i, c] + look_ahead * velocities[i, c]
            out[2 * count + i, c] = points[i, c] + clearance_time * velocities[i, c]
            out[3 * count + i, c] = points[i, c] + 0.5 * clearance_time * velocities[i, c]


@njit(**INNER)
def lifted(relief, landings, shift_x, shift_y, out):
    """How much higher points (P,) land for being shifted with the goal [m]."""
    for i in range(landings.shape[0]):
        is_known = math.isfinite(landings[i, 0])
        x, y = landings[i, 0] if is_known else 0.0, landings[i, 1] if is_known else 0.0
        out[i] = surface(relief, x + shift_x, y + shift_y)[0] - surface(relief, x, y)[0]


@njit(**INNER)
def foothold_targets(
    reference_points, landings, progress, left_with, offset, held, goal_shift, foot_shift, heights, floor, ground,
    is_level, clearance, out,
):  # fmt: skip
    """Fill wished places of the points (P, 3): held ones at their offset, swinging ones on the way to their landing.

    ground (4 P,) are the heights at `swing_places`, not looked at on level ground. Above other ground a point stays
    above what is below and just ahead of it, no higher above that than the reference is above its own floor.
    """
    count = reference_points.shape[0]
    shift = room(3)
    for i in range(count):
        if held[i]:
            for c in range(3):
                out[i, c] = reference_points[i, c] + offset[i, c]
            continue
        is_known = math.isfinite(landings[i, 0])
        part = progress[i] * progress[i] * (3.0 - 2.0 * progress[i])
        for c in range(2):
            landing = goal_shift[c] + foot_shift[i, c]
            shift[c] = (1.0 - part) * left_with[i, c] + part * landing if is_known else landing
        if is_level:
            shift[2] = (1.0 - part) * left_with[i, 2] if is_known else 0.0
        else:
            lift = heights[i] - floor
            if is_known:
                shift[2] = (1.0 - part) * left_with[i, 2] + part * (ground[i] - floor)
            else:
                shift[2] = larger(lift, ground[count + i] - floor)
            height = reference_points[i, 2] - floor
            highest = larger(larger(ground[2 * count + i], ground[3 * count + i]) - floor, lift)
            shift[2] = larger(shift[2], highest + smaller(height, clearance) - height)
        for c in range(3):
            out[i, c] = reference_points[i, c] + shift[c]


@njit(**INNER)
def planned_targets(
    planned_points, floors, landings, progress, left_with, offset, held, goal_shift, lifts, heights, clearance, out
):  # fmt: skip
    """Fill the wished places of points (P, 3) that have a plan: the plan, with what differs from it fading in a swing.

    floors (P,) is the height of the ground that the planned points belong to, lifts (P,) how much higher they land for
    being shifted, heights (P,) the ground below them now. No point is sent below it.
    """
    for i in range(planned_points.shape[0]):
        if held[i]:
            for c in range(3):
                out[i, c] = planned_points[i, c] + offset[i, c]
            continue
        part = progress[i] * progress[i] * (3.0 - 2.0 * progress[i]) if math.isfinite(landings[i, 0]) else 1.0
        for c in range(2):
            out[i, c] = planned_points[i, c] + ((1.0 - part) * left_with[i, c] + part * goal_shift[c])
        out[i, 2] = planned_points[i, 2] + ((1.0 - part) * left_with[i, 2] + part * lifts[i])
        height = planned_points[i, 2] - floors[i]
        out[i, 2] = larger(out[i, 2], heights[i] + smaller(height, clearance))


@njit(**INNER)
def shortened(targets, places, reach):
    """Draw targets (P, 3) towards places (P, 3) until none is further off than `reach` [m]."""
    for i in range(targets.shape[0]):
        way = 0.0
        for c in range(3):
            away = targets[i, c] - places[i, c]
            way += away * away
        part = smaller(1.0, reach / larger(math.sqrt(way), 1e-12))
        for c in range(3):
            targets[i, c] = places[i, c] + part * (targets[i, c] - places[i, c])
