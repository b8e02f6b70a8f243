"""What the controllers wish for in one step, from the reference and a look at the world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.filter import falling
from poise.filter.falling import Fall
from poise.filter.free_root import authority, joint_servo, within
from poise.filter.preset import Preset
from poise.filter.quasi_physical import PlaceGoal, Targets
from poise.filter.reference import ReferenceFrame
from poise.filter.sensing import Sensed
from poise.step import AtLeast
from poise.step.quantities import JointAcceleration, PointAcceleration

if TYPE_CHECKING:
    from poise.filter.filter import Machine

Array = npt.NDArray[np.float64]

RISE = 10.0
"""Factor on the weight of the root's height where a plan says it and something stands [1]."""

GRIP, LET_GO = 0.2, 1e-3
"""Factors on the weights of what touches the ground, and of the root, while a figure falls."""
HANDS = 2.0
"""Weight of the hands of a falling figure, times its mass [kg]."""


def usual_targets(m: Machine) -> Targets:
    """The targets of a figure whose root is held: fields of the block "Frame", which every step fills anew."""
    f = m.problem
    return Targets(
        f.torque_target, f.effort, f.turn_target[1:].reshape(-1), f.turn_weight[1:].reshape(-1), f.place_target,
        f.place_weight, f.point_target, f.point_weight, f.axes, f.coefficient_target,
        None if m.options.goal == "none" else f.goal_target, 0.0, bounds(m),
    )  # fmt: skip


def targets(m: Machine, reference: ReferenceFrame, sensed: Sensed) -> Targets:
    """What the controllers ask of this step."""
    s, p, problem, routine = m.state, m.preset, m.problem, m.routine
    feet, ground = sensed.footholds, m.follower
    if m.fall is not None:
        return _falling(m, reference, m.fall, sensed)
    lean = None if ground.is_level else _lean(m, reference)
    is_strict, has_goal, out = m.options.physicality.is_strict, m.options.goal != "none", m.usual
    if is_strict:
        error = m.model.difference(s.q, reference.q, 1.0)
        joints = joint_servo(error, s.v, reference.v, reference.a, p.pose.speed, p.pose.stiffness)
        drop = float(error[2]) + ground.height
        part = authority(float(np.linalg.norm(error[3:6])), drop, m.character.leg_length)
        weight = p.weights.pose * m.hanging
        weight[3:6] *= part
        goal_weight = part * p.weights.end_effector * m.mass
        out = out._replace(joints=joints, joint_weight=weight, goal_weight=goal_weight)
        problem.values.authority = part
    routine.set_targets(reference, feet, m.particle, m.sway, lean, sensed.planned, has_goal=has_goal)
    if is_strict:
        problem.place_target += p.pose.stiffness * (within(problem.off, m.scale) - problem.off)
    places = [g.at(m) for g in m.goal_points if g.is_on(m.time)]
    return out._replace(places=places) if places else out


def _falling(m: Machine, reference: ReferenceFrame, fall: Fall, sensed: Sensed) -> Targets:
    """What a figure asks for that has lost its balance."""
    s, problem, routine, root = m.state, m.problem, m.routine, m.model.roots[0]
    problem.authority, problem.is_falling = LET_GO, 1
    # fills the bounds
    routine.set_targets(reference, sensed.footholds, m.particle, m.sway, None, sensed.planned, has_goal=False)
    problem.authority, problem.is_falling = 1.0, 0
    com, velocity = s.com(root), s.com_jacobian(root) @ s.v
    ground = float(m.terrain.heights(com[None, :2], m.time)[0])
    high = falling.highness(float(com[2]) - ground, m.standing_height)
    m.fall = falling.later(fall, float(np.linalg.norm(velocity)), high, m.dt)
    touches = sensed.gaps < 0.5 * m.preset.contact.height * m.scale
    weight = falling.sinking(m.model, s, touches)
    joints = falling.joint_wishes(m.model.difference(s.q, fall.q, 1.0), s.v, weight, high)
    targets, shares = falling.resting_wishes(s.point_velocities - problem.ground_velocities, problem.axes, touches)
    places: list[PlaceGoal] = []
    trunk = m.character.roles.get("chest", 0) + 1
    chest = s.data.xpos[trunk].copy()
    along = s.body_point_motion(trunk, chest)[0]
    for role, side in (("left_hand", 1.0), ("right_hand", -1.0)):
        body = m.character.roles.get(role)
        if body is None or not high or touches[m.model.point_body == body + 1].any():
            continue
        here = s.data.xipos[body + 1].copy()
        target = falling.hand_target(chest, fall.way, side, ground, m.scale)
        wish = falling.hand_wish(target, here, s.body_point_motion(body + 1, here)[0] - along)
        offset = s.body_offset(body + 1, here)
        places.append(PlaceGoal(body + 1, offset, wish, HANDS * high * m.mass, f"{role} breaks the fall"))
    joint_weight = m.preset.weights.pose * m.hanging
    joint_weight[3:6] *= LET_GO
    joint_weight[6:] *= falling.tone(s.v, m.fall)
    return m.usual._replace(
        root=np.zeros(3), points=targets, point_weight=GRIP * m.preset.weights.end_effector * m.mass * shares,
        goal=None, places=places, joints=joints, joint_weight=joint_weight,
    )  # fmt: skip


def _lean(m: Machine, reference: ReferenceFrame) -> tuple[float, float]:
    """For `Routine.wish`: the upright lean uphill a little, others lie along the slope."""
    lean = m.preset.ground.lean
    if lean == 0.0:
        return 0.0, 0.0
    if m.is_quadruped:
        return -1.0, 0.0
    stands = upright(m, float(reference.com[2]))
    return stands * lean, 1.0 - stands


def upright(m: Machine, height: float) -> float:
    """1 for a figure that stands on two legs with its center of mass so high, 0 for one that lies or has four."""
    ground = m.preset.ground
    if ground.lean == 0.0:
        return 1.0
    height = (height - m.floor) / m.character.leg_length
    part = (height - ground.lies_below) / (ground.stands_above - ground.lies_below)
    return 0.0 if m.is_quadruped else min(max(float(part), 0.0), 1.0)


def bounds(m: Machine) -> list[AtLeast]:
    """Joint limits and the ground as constraints: not past them next step, nor farther than the reference itself."""
    f = m.problem
    near = PointAcceleration(np.arange(m.model.point_count), f.ground_normals)
    weight = None if m.options.hard_contact else m.ground_weight
    return [
        AtLeast(JointAcceleration(along=f.limit_rows), f.limit_lower, m.limit_weight, "joint limits"),
        AtLeast(near, f.ground_lower, weight, "ground"),
    ]


def shares_of(character: Character, preset: Preset, is_quadruped: bool) -> tuple[Array, Array]:
    """Part of the trunk's sway and of its lean that each body of the model takes, shapes (B,); the world's is 0."""
    goal, ground = preset.goal, preset.ground
    swaying = {"spine": 1.0, "neck": 1.0, "arm": goal.sway_arms}
    leaning = {"spine": 1.0, "neck": ground.lean_neck, "arm": ground.lean_arms, "tail": ground.lean_tail}
    sway, lean = np.zeros(len(character.bodies) + 1), np.zeros(len(character.bodies) + 1)
    for limb in character.limbs:
        for i, body in enumerate(limb.bodies):
            sway[body + 1] = swaying.get(limb.kind, 0.0)
            if limb.kind == "spine":  # it bends evenly from the pelvis up
                sway[body + 1] = goal.sway_pelvis + (1.0 - goal.sway_pelvis) * (i + 1) / len(limb.bodies)
            lean[body + 1] = leaning.get(limb.kind, 0.0)
    sway[1], lean[1] = goal.sway_pelvis, 1.0 if is_quadruped else ground.lean_pelvis
    return sway, lean
