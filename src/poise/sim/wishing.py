"""What the controllers wish for in one step, from the reference and a look at the world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poise.character.character import Character
from poise.control import kernels
from poise.control.preset import Preset
from poise.control.reference import ReferenceFrame
from poise.control.unheld import authority, joint_servo, within
from poise.methods.quasi_physical import Wishes
from poise.sim.looking import Scene
from poise.step import AtLeast
from poise.step.quantities import JointAcceleration, PointAcceleration
from poise.units import GRAVITY

if TYPE_CHECKING:
    from poise.sim.filter import Machine

Array = npt.NDArray[np.float64]

RISE = 10.0
"""Factor on the weight of the root's height where a plan says it and something stands [1]."""


def wishes(m: Machine, reference: ReferenceFrame, scene: Scene) -> Wishes:
    """What the controllers ask of this step."""
    s, p = m.state, m.preset
    e = p.end_effector
    target, speeds, accelerations = _turned(m, reference)
    joints, standing = None, 1.0
    if m.options.physicality.is_strict:
        error = m.model.difference(s.q, reference.q, 1.0)
        joints = joint_servo(error, s.v, reference.v, reference.a, p.pose.speed, p.pose.stiffness)
        drop = float(error[2]) + m.follower.height
        standing = authority(float(np.linalg.norm(error[3:6])), drop, m.character.leg_length)
    shift, ground = m.particle, m.follower
    problem = m.problem
    off, root, points = np.empty(3), problem.place_target, problem.point_target
    kernels.servos(
        s.data.xquat, s.data.cvel, target, speeds, accelerations, root, reference.q, reference.v, reference.a, s.q,
        s.v, shift.shift, shift.velocity, shift.acceleration,
        (float(ground.height), float(ground.velocity), float(ground.acceleration)), p.pose.speed, p.pose.stiffness,
        problem.turn_target, off,
    )  # fmt: skip
    feet = scene.footholds
    places = feet.positions
    if m.options.physicality.is_strict:
        root += p.pose.stiffness * (within(off, m.scale) - off)
        places = s.points + within(feet.positions - s.points, m.scale)
    heights, gaps = reference.points[:, 2] - m.floor, scene.gaps
    if scene.planned is not None:
        heights, gaps = np.minimum(heights, scene.planned.gaps), np.minimum(gaps, scene.planned.gaps)
    shares = np.empty(3 * m.model.point_count)
    kernels.timed_ends(
        feet.accelerations, feet.velocities, places, s.point_velocities, s.points, scene.axes, e.speed, e.stiffness,
        reference.times_to_contact, e.contact_time, heights, e.contact_height * m.scale, gaps, points, shares,
    )  # fmt: skip
    if scene.planned is not None:
        shares[2::3] = np.maximum(shares[2::3], scene.planned.climbs)
    problem.ground_weight = p.weights.bounds * m.mass
    problem.limit_weight = m.load.area * problem.ground_weight
    problem.limit_count = m.limits.fill(s.q, s.v, reference, m.dt, problem.limit_rows, problem.limit_lower)
    problem.ground_count = kernels.ground_rows(
        scene.axes, scene.gaps, s.point_velocities, m.level.still if scene.moving is None else scene.moving,
        reference.points, reference.point_velocities, reference.point_accelerations, m.floor, m.dt,
        p.bounds.near_ground * m.scale, p.bounds.return_share, problem.ground_points, problem.ground_normals,
        problem.ground_lower,
    )  # fmt: skip
    return Wishes(
        problem.turn_target, root, points, scene.axes, shares, feet.stands, _goal(m, reference),
        [g.at(m) for g in m.goal_points if g.is_on(m.time)], (), joints, standing,
        _hung(m, reference, scene),
        RISE if scene.planned is not None and feet.stands.any() else 1.0,
    )  # fmt: skip


def _hung(m: Machine, reference: ReferenceFrame, scene: Scene) -> float:
    """How far the figure hovers, 0 … 1: nothing touches, and in the reference the root carries it."""
    carried = min(max(float(reference.torque[2]) / (GRAVITY * m.mass), 0.0), 1.0)
    return 0.0 if scene.step.contacts.count else carried


def _turned(m: Machine, reference: ReferenceFrame) -> tuple[Array, Array, Array]:
    """Reference orientations and rates of the bodies, turned by sway and lean; untouched while both are zero."""
    sway, ground = m.sway, m.follower
    is_level = not (any(ground.turn.tolist()) or any(ground.turn_velocity.tolist()))
    if is_level and sway.is_at_rest:
        return reference.orientations, reference.angular_velocities, reference.angular_accelerations
    lean = m.no_lean if is_level else _lean(m, reference)
    return kernels.turned_figure(
        m.sway_share, sway.turn, sway.velocity, sway.acceleration, lean, ground.turn,
        ground.turn_velocity, reference.orientations, reference.angular_velocities, reference.angular_accelerations,
    )  # fmt: skip


def _lean(m: Machine, reference: ReferenceFrame) -> Array:
    """Part of the slope's turn each body takes: the upright lean uphill a little, others lie along the slope."""
    lean = m.preset.ground.lean
    if lean == 0.0:
        return 0.0 * m.lean_share
    if m.is_quadruped:
        return -m.lean_share
    stands = upright(m, float(reference.com[2]))
    return stands * lean * m.lean_share - (1.0 - stands)


def upright(m: Machine, height: float) -> float:
    """1 for a figure that stands on two legs with its center of mass so high, 0 for one that lies or has four."""
    ground = m.preset.ground
    if ground.lean == 0.0:
        return 1.0
    height = (height - m.floor) / m.character.leg_length
    part = (height - ground.lies_below) / (ground.stands_above - ground.lies_below)
    return 0.0 if m.is_quadruped else min(max(float(part), 0.0), 1.0)


def _goal(m: Machine, reference: ReferenceFrame) -> Array | None:
    """Horizontal acceleration that puts the center of mass on the goal in the next step, in error form.

    Source: [Levine2012]_ 2.2. Deviates: written as a* + (2 e_k − e_{k−1}) / Δt², which is the paper's G without its
    mismatch of order Δt between differences of positions and J a + J̇ v. With a strict root, where it is a wish
    that cannot always be met, it is a critically damped servo instead.
    """
    if m.options.goal == "none":
        return None
    root, particle, dt = m.model.roots[0], m.particle, m.dt
    com = m.state.com_without(root, m.goal_without) if m.goal_without else m.state.com(root)
    (x, y, _), (own_x, own_y, _) = com.tolist(), reference.com.tolist()
    shift_x, shift_y = particle.shift.tolist()
    error = own_x + shift_x - x, own_y + shift_y - y
    previous = error if m.previous_error is None else m.previous_error
    m.previous_error = error
    if m.options.physicality.is_strict:
        w = m.preset.goal.point_frequency
        way = np.array(error)
        servo = 2.0 * w * (way - np.array(previous)) / dt + w * w * within(way, m.scale)
        return reference.com_acceleration[:2] + particle.acceleration + servo
    (a, b, _), (da, db) = reference.com_acceleration.tolist(), particle.acceleration.tolist()
    return np.array((a + da + (2.0 * error[0] - previous[0]) / dt**2, b + db + (2.0 * error[1] - previous[1]) / dt**2))


def bounds(m: Machine) -> list[AtLeast]:
    """Joint limits and the ground as constraints, from the rows that `wishes` filled."""
    p, out = m.problem, []
    if k := p.limit_count:
        along = JointAcceleration(along=p.limit_rows[:k].copy())
        out.append(AtLeast(along, p.limit_lower[:k].copy(), p.limit_weight, "joint limits"))
    if k := p.ground_count:
        # not below it next step, nor deeper than the reference itself goes
        points = PointAcceleration(p.ground_points[:k].copy(), p.ground_normals[:k].copy())
        weight = None if m.options.hard_contact else p.ground_weight
        out.append(AtLeast(points, p.ground_lower[:k].copy(), weight, "ground"))
    return out


def shares_of(character: Character, preset: Preset, is_quadruped: bool) -> tuple[Array, Array]:
    """Part of the trunk's sway and of its lean that each body of the model takes, shapes (B,); the world's is 0."""
    goal, ground = preset.goal, preset.ground
    swaying = {"spine": 1.0, "neck": 1.0, "arm": goal.sway_arms}
    leaning = {"spine": 1.0, "neck": ground.lean_neck, "arm": ground.lean_arms, "tail": ground.lean_tail}
    sway, lean = np.zeros(len(character.bodies) + 1), np.zeros(len(character.bodies) + 1)
    for limb in character.limbs:
        for body in limb.bodies:
            sway[body + 1] = swaying.get(limb.kind, 0.0)
            lean[body + 1] = leaning.get(limb.kind, 0.0)
    sway[1], lean[1] = goal.sway_pelvis, 1.0 if is_quadruped else ground.lean_pelvis
    return sway, lean
