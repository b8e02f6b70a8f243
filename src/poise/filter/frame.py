"""One step of the filter on arrays: what is sensed of state and ground, and the targets that follow.

`f` is a block "Frame" of `native.fields`: inputs, what is kept from step to step, and what comes out. The compiled core
does this in two calls; the NumPy twins below say the same.

A figure with nothing at its root may fall, and must not tear itself apart. With the root wrench at zero a figure in the
air cannot turn itself back, and targets in the world would whirl its limbs ever faster in the attempt. So the pose is
asked for joint by joint, and what only the ground can give (the root's own turn, feet on their places, the center of
mass on its path) is asked for with errors no larger than a stride, and ever less the further the figure has fallen.
"""

from __future__ import annotations

import math

import numpy as np

from poise.core import rotations
from poise.core.typing import Array
from poise.filter import giving, swinging
from poise.native import Block, compiled
from poise.physics import bodies
from poise.step.system import frames
from poise.terrain import ground as terrain

LARGEST_TURN = 0.35
"""Largest error of the root's orientation that is asked back [rad]."""
LARGEST_WAY = 0.25
"""Largest error of a place that is asked back [m], for a leg of 0.82 m."""
LARGEST_LEAN = 0.04
"""Largest error of the center of mass against what stands that is asked back [m], for a leg of 0.82 m."""
FALLEN_TILT = 1.2
"""Tilt from which a figure counts as fallen [rad]."""
FALLEN_DROP = 0.5
"""Drop of the root from which a figure counts as fallen, in leg lengths."""


def authority(tilt: float, drop: float, leg_length: float) -> float:
    """How much a figure can do about its place: 1 upright and high, 0.01 fallen; tilt [rad], drop and leg [m]."""
    upright = max(0.0, 1.0 - tilt / FALLEN_TILT)
    high = max(0.0, 1.0 - max(drop, 0.0) / (FALLEN_DROP * leg_length))
    return max(0.01, upright * high)


def joint_servo(
    error: Array, velocity: Array, target_velocity: Array, target_acceleration: Array, speed: float, stiffness: float
) -> Array:
    """Acceleration asked of every dof, a* + speed Δv + stiffness Δq, the root's turn shortened, shape (nv,).

    Args:
        error: q* ⊖ q, shape (nv,).
        velocity, target_velocity, target_acceleration: v, v*, a*, shape (nv,).
        speed, stiffness: Of the servo [1/s], [1/s²].
    """
    error = error.copy()
    turn = float(np.linalg.norm(error[3:6]))
    if turn > LARGEST_TURN:
        error[3:6] *= LARGEST_TURN / turn
    return target_acceleration + speed * (target_velocity - velocity) + stiffness * error


def within(errors: Array, scale: float) -> Array:
    """Errors [m] (…, 3 or 2) shortened to the largest that is asked back."""
    return shortened(errors, LARGEST_WAY * scale)


def shortened(errors: Array, limit: float) -> Array:
    """Errors [m] (…, 3 or 2), none longer than the limit [m]."""
    size = np.linalg.norm(errors, axis=-1, keepdims=True)
    return errors * np.minimum(1.0, limit / np.maximum(size, 1e-12))


@compiled("Frame *f", returns="word")
def sense(f):
    """Bodies and contact points of a state against the ground: which touch, which stand, where they will want to go.

    Moves the state to the coordinates that have been written; returns 0 where they are not finite. Where forces will
    act, `give_way` waits for them.
    """
    p, r = f.pose, f.reference
    if bodies.place.twin(p) >= 0:
        return 0
    if not f.is_level:
        terrain.sample.twin(f.ground, p.centers, f.heights, f.surface_normals)
        frames.twin(f.surface_normals, f.axes)
    if f.is_moving:
        terrain.ground_velocities.twin(f.ground, p.centers, f.ground_velocities)
    bodies.touch.twin(p, f.surface_normals)
    bodies.mass_and_bias.twin(p)
    up = f.surface_normals[:, 2]
    f.gaps[:] = (p.places[:, 2] + p.point_radii * up - f.heights) * up - p.point_radii
    near = np.flatnonzero(f.gaps < f.band)
    f.touching_count = len(near)
    f.touching[: len(near)], f.normals[: len(near)] = near, f.surface_normals[near]
    offsets = f.plan_offsets if f.is_planned else np.zeros_like(f.plan_offsets)
    f.floors[:], f.base[:] = f.floor + offsets[:, 2], r.points + offsets
    _stick(f)
    if f.has_home:
        _sense_limbs(f)
    _sense_groups(f)
    if not (f.is_level or f.is_planned):
        landing = np.where(np.isfinite(r.landings[:, :1]), r.landings, p.places)[:, :2]
        now, speed = p.places[:, :2], p.velocities[:, :2]
        ahead = f.look_ahead, f.clearance_time, 0.5 * f.clearance_time
        f.wanted[:] = np.concatenate([landing + f.shift + f.foot_shift, *(now + t * speed for t in ahead)])
    if not f.is_level:
        _follow(f)
    if not f.giving.hits:
        giving.give_way.twin(f)
    return 1


def _sense_groups(f: Block) -> None:
    """Of each group of points that land together: whether it touches, least time to contact, most of a swing that is
    gone, most time to lift; and the mean offset of what stands.
    """
    r = f.reference
    for group, points in enumerate(np.split(f.grouped, f.group_ends[:-1])):
        times = r.times_to_contact[points].min(), r.progress[points].max(), r.times_to_lift[points].max()
        f.groups_seen[group] = r.flags[points].any(), *times
    f.standing_count = np.count_nonzero(f.stands)
    f.standing[:] = f.offset[f.stands, :2].sum(axis=0) / max(f.standing_count, 1)


def _move_landings(f: Block) -> None:
    """Where points land against the reference: with the goal, and so much farther; a foot that comes down keeps its
    place, and the rest of one that stands in part comes down where that has landed.
    """
    for seen, points in zip(f.groups_seen, np.split(f.grouped, f.group_ends[:-1]), strict=True):
        stands = f.stands[points]
        if stands.any() and not stands.all():
            f.landing[points] = f.offset[points[stands], :2].mean(axis=0)
        elif seen[1] > f.late:
            f.landing[points] = f.shift + f.landing_ahead
    f.foot_shift[:] = f.landing - f.shift


def _stick(f: Block) -> None:
    """Which points stand. One that touches sticks where it will be in the next step, and goes with the ground; one
    that leaves starts from where it was. One that a protective step lifts early keeps its place until it swings, and so
    does one that lifts for a moment while its foot stands: points that stuck apart would tug at one foot for good.
    """
    flags, stood, kept = f.reference.flags, f.stood.copy(), f.held.copy()
    for points in np.split(f.grouped, f.group_ends[:-1]):
        kept[points] &= stood[points].any()
    f.stands[:] = flags & (f.gaps < f.band)
    here = f.pose.places - f.base
    here[:, 2] = f.heights - f.floors
    began = f.stands & ~stood & ~kept
    speed = f.pose.velocities - f.ground_velocities - f.reference.point_velocities
    f.offset[began, :2] = (here + f.dt * speed)[began, :2]
    left = ~flags & ~f.swung
    f.left_with[left] = np.where(stood[:, None], f.offset, here)[left]
    f.left_at[left] = f.base[left, :2]
    f.swings_for[:] = np.where(flags, 0.0, f.swings_for + f.dt)
    f.offset[f.stands, :2] += f.dt * f.ground_velocities[f.stands, :2]
    f.offset[:, 2] = here[:, 2]
    stays = f.held & flags if f.has_home and f.home.any() else np.zeros_like(flags)
    f.stood[:], f.swung[:], f.held[:] = f.stands, ~flags, f.stands | stays


def _sense_limbs(f: Block) -> None:
    """Of each limb: points that touch, of them stand, least time to lift [s], mean way home [m]."""
    for limb, points in enumerate(np.split(f.members, f.ends[:-1])):
        own = points[f.reference.flags[points]]
        way = np.linalg.norm(f.offset[own, :2] - f.home, axis=1)
        least = f.reference.times_to_lift[own].min(initial=np.inf)
        f.limbs_seen[limb] = len(own), np.count_nonzero(f.stands[own]), least, way.sum() / max(len(own), 1)


def _height(f: Block, places: Array) -> Array:
    """Height of the ground at places (n, 2) [m]."""
    return terrain.surface(f.ground, places[:, 0], places[:, 1])[0]


def _follow(f: Block) -> None:
    """Move a `ground.GroundFollower` by the rates of the last step, semi-implicitly, and set those of this one."""
    (w, lean, floor, reach), s = f.follower_settings.tolist(), f.follower
    root, v = f.reference.q[:2], f.reference.v[:2]
    s[1] += f.dt * s[2]
    s[0] += f.dt * s[1]
    s[6:9] += f.dt * s[9:12]
    # crosses around three places: ahead and shifted with the goal, ahead, and now but shifted
    cross = reach * np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    middles = root + 2.0 / w * v + f.shift, root + 2.0 / w * v, root + f.shift
    heights = _height(f, np.concatenate([middle + cross for middle in middles])).reshape(3, 5)
    means = (heights - floor).mean(axis=1)
    slope = np.array([heights[0, 1] - heights[0, 2], heights[0, 3] - heights[0, 4]]) / (2.0 * reach)
    if s[12] == 0.0 and not f.is_planned:
        s[0], s[1] = means[2], slope @ v
    s[12] = 1.0
    # with the look-ahead a steady ramp is followed exactly; a plan knows the ground, but not below a shifted goal
    target = means[0] - means[1] if f.is_planned else means[0]
    s[2] = w * w * (target - s[0]) - 2.0 * w * s[1]
    # the axis z × gradient tips up towards uphill
    size = math.hypot(*slope)
    tip = math.atan(size) / size if size > 1e-9 else 0.0
    s[9:12] = lean * (np.array([-slope[1] * tip, slope[0] * tip, 0.0]) - s[6:9])


@compiled("Frame *f")
def set_targets(f):
    """Fill targets and bounds of a step from a state that was sensed, a reference frame, and the ground ahead."""
    p, r = f.pose, f.reference
    if f.lands:
        _move_landings(f)
    f.moved[2::3] += f.follower[:3] + f.follower[3:6]
    _turn_targets(f)
    f.off[:] = r.q[:3] + f.moved[:3] - p.q[:3]
    speed = f.pose_speed * (r.v[:3] + f.moved[3:6] - p.v[:3])
    f.place_target[:] = r.a[:3] + f.moved[6:] + speed + f.pose_stiffness * f.off
    if f.is_planned:
        _planned_targets(f)
    else:
        if not f.is_level:
            f.wanted_heights[:] = _height(f, f.wanted)
        _foothold_targets(f)
    _point_targets(f)
    limb = f.giving.limb_of[p.dof_body[f.limit_v]]
    # what a kick throws about is stopped by its tissue, not in one step
    loose = np.append(f.giving.is_leg * f.giving.loose, 0.0)[limb]
    f.limit_part[:] = 1.0 / (1.0 + loose * f.limit_time / f.dt)
    f.limit_count = limit_rows.twin(
        p.q, p.v, r.q, r.v, r.a, f.dt, f.limit_margin, f.return_share, f.limit_q, f.limit_v, f.is_hinge, f.limit_rest,
        f.limit_axis, f.limit_bend, f.limit_side, f.limit_below, f.limit_above, f.limit_part, f.angles, f.limit_rows,
        f.limit_lower,
    )  # fmt: skip
    f.limit_lower[f.limit_count :] = -np.inf
    _ground_bounds(f)
    if f.has_goal:
        _goal_target(f)
    squares = np.bincount(p.dof_body, (p.v - r.v) ** 2, p.bodies)
    body, give = giving.read(f.giving)
    f.giving.strengths[0] = 1.0
    f.giving.strengths[1:] = giving.strengths(give, body, f.giving, np.sqrt(squares[1:]))
    _weigh(f)


def _weigh(f: Block) -> None:
    """Weights: torques by the mass that each joint carries (its subtree, or for the legs a figure stands on, the rest
    of it) times its strength; turns and places by the mass that hangs on them.

    Weights on turns are multiplied, and those on moments divided, by (leg / 0.82 m)², so that figures of any size are
    alike: forces, places and turns keep their share in the sum. A joint's strength divides the weight of its torque, as
    in the paper; below one it also multiplies the weight of its body's pose, which is so much the larger of the two
    that a weak joint would else be held like any other. Where limbs give, so does `giving.strengths`. Where the
    reference hovers, the root, which carries it there, may bring it back, since no ground will: it weighs less. Feet
    that stand while a push carries the figure away are held harder, since it turns and drags them.
    """
    p, r, k = f.pose, f.reference, f.giving
    hanging, total = p.subtree_masses, p.subtree_masses[k.root]
    standing = f.stands & ~f.leaving if f.is_stepping else f.stands
    f.carried[:] = hanging
    for body in p.point_body[standing]:
        while p.parents[body] != 0:
            f.carried[body] = max(f.carried[body], total - hanging[body])
            body = p.parents[body]
    f.effort[:] = f.torque_share / (f.area * f.carried * f.joint_strength)[p.dof_body]
    f.effort[:6] = f.root_share / total * np.array([1.0, 1.0, 1.0, *[1.0 / f.area] * 3])
    f.turn_weight[1:] = (f.pose_share * f.area * hanging * np.minimum(f.joint_strength, 1.0))[1:, None]
    if not f.touching_count and not f.is_falling:
        f.effort[2:6] *= 1.0 - (1.0 - f.hovering) * min(max(r.torque[2] / (k.gravity * total), 0.0), 1.0)
    if k.is_pushed and not f.is_falling:
        f.effort[:] = f.effort / k.strengths[p.dof_body]
        f.turn_weight[1:] *= k.strengths[1:, None]
    rises = standing.any() and (f.is_planned or k.pressed != 0.0) and not f.is_falling
    f.place_weight[:] = f.authority * f.pose_share * total * np.array([1.0, 1.0, f.rise if rises else 1.0])
    harder = 1.0 if f.is_at_goal else 1.0 + (1.0 - k.lifted) ** 3 * (f.holding - 1.0)
    held = np.repeat(np.where(standing, harder, 1.0), 3)
    f.point_weight[:] = f.authority * f.end_share * total * f.shares * held
    f.torque_target[:] = 0.0 if f.is_falling else r.torque
    f.coefficient_target[:] = 0.0 if f.is_falling else r.coefficients


def _goal_target(f: Block) -> None:
    """Horizontal acceleration that puts the center of mass on the goal in the next step, in error form.

    Source: [Levine2012]_ 2.2. Deviates: written as a* + (2 e_k − e_{k−1}) / Δt², which is the paper's G without its
    mismatch of order Δt between differences of positions and J a + J̇ v. With a strict root, where it is a target
    that cannot always be met, it is a critically damped servo instead: to where the reference is against its feet, with
    an error no larger than `largest_way`, so that it never goes faster than a foot can stop it; where it goes in the
    world is decided by where feet land. It is a servo, too, where a limb swings freely, and as an objective, since what
    a step leaves undone would be a jolt in the next; the faster the goal goes, the more that weighs, and the stiffer.
    """
    p, r, k = f.pose, f.reference, f.giving
    out = f.left_out if f.has_left_out else np.zeros(p.bodies, dtype=np.bool_)
    total, shift = p.subtree_masses[k.root], np.array([*f.moved[:2], 0.0])
    com = (total * p.subtree_com[k.root] - p.body_masses[out] @ p.xipos[out]) / (total - p.body_masses[out].sum())
    way, own = np.zeros(3), np.zeros(3)
    if k.is_pushed and not f.is_at_goal:
        body, give = giving.read(k)
        way = giving.limbs_way(give, body, p.subtree_com[k.first_body], r.subtree_coms[k.first_body], shift)
        own = k.own_acceleration
    error = (r.com + shift + way - com)[:2]
    change = (error - f.goal_error) / f.dt if f.has_previous else np.zeros(2)
    firm = 1.0 + (float(f.moved[3:5] @ f.moved[3:5]) / f.firm_speed**2) ** 2
    part, w = min(1.0, max(f.is_soft / firm, f.loose_part * float(k.loose.max(initial=0.0)))), f.soft_frequency
    servo = ((1.0 - part) / f.dt**2 + part * w * w) * error + ((1.0 - part) / f.dt + part * 2.0 * w) * change + own[:2]
    if f.is_strict:
        w, stands = f.goal_frequency, f.standing - shift[:2] if f.standing_count else np.zeros(2)
        servo = w * w * shortened(error + stands, f.largest_way) + 2.0 * w * change
    f.goal_target[:] = r.com_acceleration[:2] + f.moved[6:8] + servo
    f.goal_error[:], f.has_previous, f.goal_weight[:] = error, 1, f.soft * firm


def _turn_targets(f: Block) -> None:
    """Angular accelerations α* + speed (ω* − ω) + stiffness Log(R* Rᵀ) of the bodies, each turned by its share of the
    trunk's sway, of the lean along the slope, and of what its limb trails behind the trunk.
    """
    p, r, k = f.pose, f.reference, f.giving
    target, speed, rate = r.orientations, r.angular_velocities, r.angular_accelerations
    if f.is_turned or k.is_pushed:
        sway, lean = f.sway_share[:, None], (f.leaning * f.lean_share - f.lying)[:, None]
        own = np.zeros((p.bodies, 9))
        if k.is_pushed:
            own = k.swings
        turn = rotations.from_rotation_vector(sway * f.sway[:3] + lean * f.follower[6:9] + own[:, :3])
        target = rotations.multiply(turn, target)
        speed = rotations.rotate(turn, speed) + sway * f.sway[3:6] + lean * f.follower[9:12] + own[:, 3:6]
        rate = rotations.rotate(turn, rate) + sway * f.sway[6:] + own[:, 6:]
    error = rotations.to_rotation_vector(rotations.multiply(target, rotations.conjugate(p.xquat)))
    f.turn_target[1:] = (rate + f.pose_speed * (speed - p.cvel[:, :3]) + f.pose_stiffness * error)[1:]


def _smooth(progress: Array) -> Array:
    return rotations.eased(progress)[:, None]


def _foothold_targets(f: Block) -> None:
    """Where points should be: held ones at their offset, swinging ones on the way to their landing. Above other ground
    a point stays above what is below and just ahead of it, no higher above that than the reference is above its floor.
    """
    r, is_known = f.reference, np.isfinite(f.reference.landings[:, 0])
    part, shift = _smooth(r.progress), np.zeros((len(is_known), 3))
    landing = f.moved[:2] + f.foot_shift
    shift[:, :2] = np.where(is_known[:, None], (1.0 - part) * f.left_with[:, :2] + part * landing, landing)
    rest = (1.0 - part[:, 0]) * f.left_with[:, 2]
    if f.is_level:
        shift[:, 2] = np.where(is_known, rest, 0.0)
    else:
        below, ahead, edge, half = f.wanted_heights.reshape(4, -1) - f.floor
        lift, height = f.heights - f.floor, r.points[:, 2] - f.floor
        shift[:, 2] = np.where(is_known, rest + part[:, 0] * below, np.maximum(lift, ahead))
        highest = np.maximum(np.maximum(edge, half), lift)
        shift[:, 2] = np.maximum(shift[:, 2], highest + np.minimum(height, f.clearance) - height)
    f.point_goal[:] = r.points + np.where(f.held[:, None], f.offset, shift)


def _planned_targets(f: Block) -> None:
    """The same where there is a plan: the plan, with what differs from it fading in a swing; none goes below ground."""
    r = f.reference
    landings = np.where(np.isfinite(f.plan_landings[:, :1]), f.plan_landings, 0.0)[:, :2]
    f.lifts[:] = _height(f, landings + f.moved[:2]) - _height(f, landings)
    part = np.where(np.isfinite(r.landings[:, :1]), _smooth(r.progress), 1.0)
    way = np.concatenate([np.broadcast_to(f.moved[:2], (len(part), 2)), f.lifts[:, None]], axis=1)
    goal = f.base + (1.0 - part) * f.left_with + part * way
    height = f.base[:, 2] - f.floors
    goal[:, 2] = np.maximum(goal[:, 2], f.heights + np.minimum(height, f.clearance))
    f.point_goal[:] = np.where(f.held[:, None], f.base + f.offset, goal)


def _point_targets(f: Block) -> None:
    """Accelerations of the points along their axes, axis · (a* + speed (v* − v) + stiffness (p* − p)), and how much
    each matters: along the tangents 1 − t / t_m, along the normal that and low · (1 − h / h_m); t is the time to
    contact, h the distance to the ground. Source: [Levine2012]_ 2.5. Deviates by `low`: 1 where the reference is below
    h_m, 0 from 2 h_m up, so that a fallen hand is not held down; the tangents of a foot that leaves while the goal is
    away fade within `leaving_time` (a leg that is askew would snap to its pose), and hold it where it is led around the
    other one; and all times (1 − l)⁴ for a limb that was hit and is loose by l: a foot that is kicked goes where the
    kick takes it, and stands where it lands. Where the figure is lifted by l, what stands weighs (1 − l) along the
    normal: feet do not hold it down, and its heels rise.
    """
    p, r = f.pose, f.reference
    swinging.pass_by(f)
    f.point_goal_v[:], f.point_goal_a[:] = r.point_velocities, r.point_accelerations
    f.point_goal_v[:, :2] += f.shift_rates
    height, gap = r.points[:, 2] - f.floor, f.gaps
    if f.is_planned:
        f.point_goal_v[:], f.point_goal_a[:] = f.point_goal_v + f.plan_rates[0], f.point_goal_a + f.plan_rates[1]
        height, gap = np.minimum(height, f.plan_gaps), np.minimum(gap, f.plan_gaps)
    f.point_goal_v[f.stands] += f.ground_velocities[f.stands]
    if f.is_stepping:
        f.point_goal[:], f.point_goal_v[:] = f.point_goal + f.stepping[0], f.point_goal_v + f.stepping[1]
        f.point_goal_a[:] = f.point_goal_a + f.stepping[2]
    firm = swinging.keep_in_reach(f) if f.has_home and f.home.any() else 1.0
    if f.reach > 0.0:
        way = f.point_goal - p.places
        size = np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-12)
        f.point_goal[:] = p.places + np.minimum(1.0, f.reach / size) * way
    tangent = np.clip(1.0 - r.times_to_contact / f.contact_time, 0.0, 1.0)
    low = np.clip(2.0 - height / f.contact_height, 0.0, 1.0)
    normal = tangent + low * (1.0 - np.clip(gap / f.contact_height, 0.0, 1.0))
    if f.is_planned:
        tangent, normal = np.maximum(tangent, f.plan_climbs), np.maximum(normal, f.plan_climbs)
    limb = f.giving.limb_of[p.point_body]
    if not f.is_at_goal:
        leaves = np.where(np.isfinite(r.landings[:, 0]), 1.0 - f.swings_for / f.leaving_time, 0.0)
        tangent = np.maximum(tangent, np.maximum(leaves, f.bent_share))
    kept = firm * np.where((limb < 0) | f.held, 1.0, 1.0 - np.append(f.giving.loose, 0.0)[limb]) ** 4
    tangent, normal = tangent * kept, normal * kept * np.where(r.flags, 1.0 - f.giving.lifted, 1.0)
    f.shares[:] = np.stack([tangent, tangent, normal], axis=1).ravel()
    speed = f.end_speed * (f.point_goal_v - p.velocities)
    asked = f.point_goal_a + speed + f.end_stiffness * (f.point_goal - p.places)
    f.point_target[:] = np.einsum("pec,pc->pe", f.axes, asked).ravel()


def ball_angles(q: Array, rest: Array, axis: Array, bend: Array, side: Array) -> Array:
    """Twist, bend and side [rad] of rest⁻¹ · q, split as swing · twist, shape (3,); q need not be of unit length."""
    d = rotations.multiply(rotations.conjugate(rest), q)
    d = -d if d[0] < 0.0 else d
    t = float(d[1:] @ axis)
    length = math.hypot(d[0], t)
    w, s = (1.0, 0.0) if length < 1e-12 else (d[0] / length, t / length)
    swing = rotations.multiply(d, np.array([w, *(-s * axis)]))
    sine = float(np.linalg.norm(swing[1:]))
    scale = 2.0 * math.atan2(sine, swing[0]) / sine if sine > 1e-9 else 2.0
    return np.array([2.0 * math.atan2(s, w), scale * swing[1:] @ bend, scale * swing[1:] @ side])


@compiled(
    "const real q[nq], const word limit_q[n], const flag is_hinge[n], const real rest[n][4], const real axis[n][3],"
    "const real bend[n][3], const real side[n][3], real out[n][3]"
)
def limit_angles(q, limit_q, is_hinge, rest, axis, bend, side, out):
    """Angles of every limited joint: (twist, bend, side) of balls, (angle, 0, 0) of hinges, shape (L, 3)."""
    for i, k in enumerate(limit_q):
        own = rest[i], axis[i], bend[i], side[i]
        out[i] = (q[k], 0.0, 0.0) if is_hinge[i] else ball_angles(q[k : k + 4], *own)


@compiled(
    "const real q[nq], const real v[nv], const real reference_q[nq], const real reference_v[nv],"
    "const real reference_a[nv], real dt, real margin, real share, const word limit_q[n], const word limit_v[n],"
    "const flag is_hinge[n], const real rest[n][4], const real axis[n][3], const real bend[n][3],"
    "const real side[n][3],"
    "const real below[n][3], const real above[n][3], const real parts[n], real angles[n][3], real rows[most][nv],"
    "real bounds[most]",
    returns="word",
)
def limit_rows(
    q, v, reference_q, reference_v, reference_a, dt, margin, share, limit_q, limit_v, is_hinge, rest, axis, bend, side,
    below, above, parts, angles, rows, bounds,
):  # fmt: skip
    """Rows and lower bounds of the angles nearer to a limit than the margin, as accelerations; returns how many.

    For an angle θ with rates θ̇ = E ω: sign (θ + dt E v + dt² E a) ≥ the limit, widened to the reference's own next
    angle. In a step a joint goes no more than its part of the way there, and from outside it comes back by a share.
    """
    m = 0
    limit_angles.twin(q, limit_q, is_hinge, rest, axis, bend, side, angles)
    low, high = angles < below + margin, angles > above - margin
    for i in np.flatnonzero((low | high).any(axis=1)):
        k, d = limit_q[i], limit_v[i]
        axes = slice(d, d + (1 if is_hinge[i] else 3))
        step = dt * reference_v[axes] + dt * dt * reference_a[axes]
        if is_hinge[i]:
            rates, planned = np.array([[1.0], [0.0], [0.0]]), np.array([reference_q[k] + step[0], 0.0, 0.0])
        else:
            own, now, then = (rest[i], axis[i], bend[i], side[i]), q[k : k + 4], reference_q[k : k + 4]
            rates = np.stack([_ball_rate(now, e, own) for e in np.eye(3)], axis=1)
            size = max(float(np.linalg.norm(step)), 1e-30)
            planned = ball_angles(then, *own) + size * _ball_rate(then, step / size, own)
        for c in np.flatnonzero(low[i] | high[i]):
            sign, bound = (1.0, below[i, c]) if low[i, c] else (-1.0, -above[i, c])
            rows[m] = 0.0
            rows[m, axes] = sign * rates[c]
            here = sign * angles[i, c]
            back = here + (parts[i] if here >= bound else share) * (bound - here)
            least = min(back, sign * planned[c] - 1e-9)
            bounds[m] = (least - here - dt * sign * rates[c] @ v[axes]) / (dt * dt)
            m += 1
    return m


def _ball_rate(q: Array, e: Array, frame: tuple[Array, Array, Array, Array]) -> Array:
    """Rates of (twist, bend, side) per unit of turn along the unit vector e in the joint's own axes, by central
    differences of 1e-6 rad.
    """
    half, d = 0.5e-6, rotations.multiply(q, np.array([0.0, *e]))
    return (ball_angles(q + half * d, *frame) - ball_angles(q - half * d, *frame)) / (4.0 * half)


def _ground_bounds(f: Block) -> None:
    """Points nearer to the ground than `ground_reach` next step may not be below it then, nor deeper than the reference
    itself goes; one that is below comes up by a share of the way.
    """
    p, r, dt = f.pose, f.reference, f.dt
    normals = f.axes[:, 2]
    ahead = f.gaps + dt * np.sum(normals * (p.velocities - f.ground_velocities), axis=1)
    planned = r.points[:, 2] - f.floor + dt * r.point_velocities[:, 2] + dt * dt * r.point_accelerations[:, 2]
    least = np.minimum(0.0, planned - 1e-9 * f.giving.scale)
    least = np.where(f.gaps < least, np.minimum((1.0 - f.return_share) * f.gaps, least), least)
    f.ground_normals[:, 0] = normals
    f.ground_lower[:] = np.where(ahead < f.ground_reach, (least - ahead) / (dt * dt), -np.inf)
