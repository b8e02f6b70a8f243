"""What the controllers ask of one step, from the reference and what was sensed: targets and their weights."""

from __future__ import annotations

import itertools
import math

import numpy as np

from poise.body.character import Character
from poise.core.typing import Array, Flags
from poise.filter import bracing, falling
from poise.filter.falling import Fall
from poise.filter.forces import PointGoal
from poise.filter.frame import authority, joint_servo, shortened, within
from poise.filter.goal import PENDULUM
from poise.filter.preset import Preset
from poise.filter.quasi_physical import HOVERING, PlaceGoal, Targets
from poise.filter.reference import ReferenceFrame
from poise.filter.setup import Setup
from poise.filter.steps import Pair, SteppingBack
from poise.native import Block
from poise.physics import State
from poise.step import AtLeast
from poise.step.quantities import JointAcceleration, PointAcceleration

RISE = 10.0
"""Factor on the weight of the root's height where a plan says it and something stands [1]."""

GRIP, LET_GO = 0.2, 1e-3
"""Factors on the weights of what touches the ground, and of the root, while a figure falls."""
REACH = 0.97
"""Part of a limb's length up to which a hard goal is held; beyond it no pose may meet it."""

LONGEST_SWING, LONGEST_STEP = 0.6, 0.6
"""Where nobody holds the root: a foot that lands later than this [s] lands as if it were then, and no foot lands
farther than this from under the center of mass [m], for a leg of 0.82 m, than it would else."""

HELD = 0.12
"""Where nobody holds the root: a figure steps with its capture point so far off the middle of its feet [m]."""

LEGS = 0.3
"""Part of the pose's weight that legs keep after such a step, since the clip's angles pull the feet back [1]."""

SUNK = 0.35
"""A figure whose root nobody holds falls from where its center of mass is so far below its place [leg lengths]."""

UP = np.array([[0.0, 0.0, 1.0]])
"""The vertical, as the only direction of a goal."""
FIRM = 5.0
"""Spine and neck of a figure that loses its balance follow their pose so much more firmly than limbs do, if it
falls backward [1]."""
HANDS, LET_DOWN = 2.0, 30.0
"""Weights of the hands of a falling figure, and of its trunk's descent, times its mass [kg]."""


def weigh(f: Block, setup: Setup) -> None:
    """Write the weights of a preset into the block "Frame", once."""
    w = setup.preset.weights
    f.torque_share, f.root_share = w.joint_torque, setup.options.physicality.factor * w.root_wrench
    f.pose_share, f.end_share, f.authority, f.rise = w.pose, w.end_effector, 1.0, RISE
    f.hovering, f.area, f.joint_strength[:] = HOVERING, setup.scale**2, setup.strengths
    f.soft = w.goal * w.root_wrench * setup.mass


def say_what_moves(setup: Setup, goal: Block, f: Block, is_pushed: bool, is_alone: bool) -> None:
    """Whether anything moves the goal, and its path is an objective; else, and in a world, it is a constraint."""
    g, kind = goal.values, setup.options.goal
    moves = is_pushed or not g.rests or not setup.terrain.is_static
    g.is_moving = kind == "moving" or (kind != "com-xy" and moves)
    f.values.is_soft = bool(g.is_moving and moves and is_alone and f.values.soft)


def usual_targets(setup: Setup, f: Block, legs: Block) -> Targets:
    """The targets of a figure whose root is held: fields of "Frame" and "Legs", which every step fills anew."""
    near = PointAcceleration(np.arange(setup.model.point_count), f.ground_normals)
    # not past them next step, nor farther than the reference itself
    bounds = [
        AtLeast(
            JointAcceleration(along=f.limit_rows), f.limit_lower, setup.scale**2 * setup.bound_weight, "joint limits"
        ),
        AtLeast(near, f.ground_lower, None if setup.options.hard_contact else setup.bound_weight, "ground"),
    ]
    if len(legs.lower) and (weight := setup.preset.apart.weight):
        bounds.append(AtLeast(JointAcceleration(along=legs.rows), legs.lower, weight * setup.mass, "legs apart"))
    return Targets(
        f.torque_target, f.effort, f.turn_target[1:].reshape(-1), f.turn_weight[1:].reshape(-1), f.place_target,
        f.place_weight, f.point_target, f.point_weight, f.axes, f.coefficient_target,
        None if setup.options.goal == "none" else f.goal_target, f.goal_weight, bounds,
    )  # fmt: skip


def strict_targets(
    usual: Targets, setup: Setup, f: Block, state: State, reference: ReferenceFrame, part: float
) -> Targets:
    """The targets where nobody holds the root, from those of the step; `part` is what `free_root.authority` says."""
    pose, weights, error = setup.preset.pose, setup.preset.weights, setup.model.difference(state.q, reference.q, 1.0)
    joints = joint_servo(error, state.v, reference.v, reference.a, pose.speed, pose.stiffness)
    weight = weights.pose * setup.hanging
    if f.giving.is_pushed:
        weight[6:] *= _strengths(f)[setup.model.dof_body[6:]]
    if f.has_home and not f.is_at_goal:
        weight[_leg_dofs(setup, f)] *= LEGS
    weight[3:6] *= part
    root = usual.root + pose.stiffness * (within(f.off, setup.scale) - f.off)
    goal_weight = part * weights.end_effector * setup.mass
    place_weight = usual.root_weight.copy()
    if usual.goal is not None:
        place_weight[:2] = 0.0  # horizontally the center of mass says where it goes
    return usual._replace(
        root=root, root_weight=place_weight, joints=joints, joint_weight=weight, goal_weight=goal_weight
    )


def _leg_dofs(setup: Setup, f: Block) -> Flags:
    """Which dofs are those of legs, shape (nv,)."""
    k = f.giving
    is_leg = np.append(k.is_leg.astype(np.bool_), False)[k.limb_of]
    return is_leg[setup.model.dof_body]


def _strengths(f: Block) -> Array:
    """Strength of every joint, 1 outside limbs that were hit: a trunk that is pushed keeps the others to balance."""
    k = f.giving
    is_hit = np.append(k.loose > 0.0, False)[k.limb_of]
    return np.where(is_hit, k.strengths, 1.0)


def strict_authority(setup: Setup, state: State, reference: ReferenceFrame, height: float) -> tuple[float, bool]:
    """How much a figure whose root nobody holds can still do about where it is, and whether it falls.

    It falls where its center of mass is too far below its place; see `SUNK`. The ground is so high [m].
    """
    error, leg = setup.model.difference(state.q, reference.q, 1.0), setup.character.leg_length
    tilt, drop = float(np.linalg.norm(error[3:6])), float(error[2]) + height
    sunk = float(reference.com[2]) + height - float(state.com(setup.model.roots[0])[2])
    return authority(tilt, drop, leg), bool(sunk > SUNK * leg)


def strict_away(setup: Setup, state: State, reference: ReferenceFrame, mirror: State) -> tuple[Pair, Pair]:
    """How far the center of mass is from the reference's [m], and its velocity against it [m/s].

    Args:
        setup: What never changes.
        state: Of the figure.
        reference: Of the undisturbed figure.
        mirror: Another state, which is moved to the reference.
    """
    root = setup.model.roots[0]
    way = state.com(root)[:2] - reference.com[:2]
    speed = (state.com_jacobian(root) @ state.v - mirror.at(reference.q, reference.v).com_velocity(root))[:2]
    return tuple(way.tolist()), tuple(speed.tolist())


def strict_steps(
    setup: Setup, f: Block, goal: Block, stepping: SteppingBack, away: tuple[Pair, Pair], home: Pair | None
) -> Pair | None:
    """Where feet land if nothing holds the root: at the capture point, where the center of mass would come to rest.

    Now it is ξ = x + ẋ / ω, with the displacement x of the center of mass from the reference's and ω of the standing
    pendulum; when a foot lands, after a time T, it is ξ(T) = s + (ξ − s) e^(ω T), with the offset s of the support from
    its place in the clip. A foot that swings in the clip lands there. If none steps and ξ is farther than `HELD` from
    s, a standing foot takes a step of its own.

    Args:
        setup: What never changes.
        f: The block "Frame", sensed; `moved` and `standing` are written.
        goal: The block "MovingGoal"; `landing`, for feet that swing in the clip, is written.
        stepping: Decides which foot steps.
        away: See `strict_away`.
        home: What this returned in the last step.

    Returns:
        Where feet that step by themselves go, from their places in the clip [m]; None before the first such step.
    """
    f.moved.reshape(3, 3)[:, :2] = 0.0  # nothing carries the figure
    if f.is_stepping and (own := f.stands & ~f.leaving).any():
        f.standing[:] = f.offset[own, :2].mean(axis=0)
    w, way = PENDULUM / math.sqrt(setup.scale), np.array(away[0])
    capture = way + np.array(away[1]) / w
    stands = _nearest_support(f, capture) if f.standing_count else way
    out = capture - stands

    def landing(left: float) -> Array:
        return way + shortened(stands + out * math.exp(w * left) - way, LONGEST_STEP * setup.scale)

    swings = (f.groups_seen[:, 0] == 0.0) & (f.groups_seen[:, 1] > 0.0)
    goal.landing[:] = landing(min(float(f.groups_seen[swings, 1].min(initial=np.inf)), LONGEST_SWING))
    left = stepping.time_to_catch()
    if left is None:
        if not (goal.is_guided and f.standing_count) or math.hypot(*out) < HELD * setup.scale:
            return home
        left = stepping.urgent_duration
    x, y = landing(left).tolist()
    return x, y


def _nearest_support(f: Block, place: Array) -> Array:
    """The offset nearest to a place [m]: that of a foot that stands, or one between those of two."""
    standing = f.stands & ~f.leaving if f.is_stepping else f.stands
    groups = [group[standing[group]] for group in np.split(f.grouped, f.group_ends[:-1])]
    feet = [f.offset[group, :2].mean(axis=0) for group in groups if len(group)]
    found = feet or [f.standing]
    for one, other in itertools.combinations(feet, 2):
        way = other - one
        part = float((place - one) @ way) / max(float(way @ way), 1e-12)
        found.append(one + min(max(part, 0.0), 1.0) * way)
    return min(found, key=lambda here: math.dist(here, place))


def falling_targets(
    usual: Targets, setup: Setup, f: Block, state: State, fall: Fall, standing_height: float, time: float
) -> tuple[Targets, Fall]:
    """What a figure asks for that has lost its balance, and its fall one step later.

    Args:
        usual: The targets of the step.
        setup: What never changes.
        f: The block "Frame", sensed.
        state: Of the figure.
        fall: As it was.
        standing_height: Of the center of mass when the figure stood [m].
        time: [s].
    """
    model, root = setup.model, setup.model.roots[0]
    com, velocity = state.com(root), state.com_jacobian(root) @ state.v
    ground = float(setup.terrain.heights(com[None, :2], time)[0])
    high = falling.highness(float(com[2]) - ground, standing_height)
    fall = falling.later(fall, float(np.linalg.norm(velocity)), high, setup.dt)
    low = falling.ON_GROUND * f.band
    touches = f.gaps < low
    hangs = falling.bearing(model, state, falling.nearness(f.gaps, low, setup.scale))
    sinks, bears = falling.sinking(model, state, hangs), hangs >= 1.0
    trunk = setup.character.roles.get("chest", 0) + 1
    chest = state.data.xpos[trunk].copy()
    along = state.body_point_motion(trunk, chest)[0]
    yields = falling.yielding(float(chest[2] - ground) / setup.scale, float(np.linalg.norm(along)), fall.low)
    arms = np.where(setup.arms & bears, yields, 0.0)
    limp = falling.limpness(state.v, fall, setup.held, setup.limp & bears, arms)
    error, tension = model.difference(state.q, fall.q, 1.0), falling.tension(fall, setup.held)
    joints = falling.joint_accelerations(error, state.v, sinks, tension)
    points, shares = falling.resting_accelerations(state.point_velocities - f.ground_velocities, f.axes, touches)
    places = _hands(setup, state, fall, touches, ground) + _let_down(setup, state, fall, touches, ground)
    joint_weight = setup.preset.weights.pose * setup.hanging
    joint_weight[3:6] *= LET_GO
    inertia = state.M.diagonal()
    damping, limp_weight = limp.rate * inertia, limp.torque * joint_weight / inertia**2
    firm = (FIRM - 1.0) * fall.high * fall.back**2
    joint_weight *= limp.pose * (1.0 + firm * setup.trunk)
    level = np.abs(f.gaps) < low  # what is deeper has to come out
    down, normals = np.flatnonzero(level), f.ground_normals.reshape(-1, 3)[level]
    most = falling.unthrown(state.point_velocities[down] - f.ground_velocities[down], normals, setup.dt)
    unthrown = AtLeast(PointAcceleration(down, -normals[:, None]), -most, setup.bound_weight, "ground throws nothing")
    made = usual._replace(
        bounds=[*usual.bounds, unthrown],
        root=np.zeros(3), points=points, point_weight=GRIP * setup.preset.weights.end_effector * setup.mass * shares,
        goal=None, places=places, joints=joints, joint_weight=joint_weight, coefficients=None,
        torque=-damping * state.v, damping=damping, limp_weight=limp_weight,
    )  # fmt: skip
    return made, fall


def _hands(setup: Setup, state: State, fall: Fall, touches: Flags, ground: float) -> list[PlaceGoal]:
    """Goals of the hands that are not on the ground yet."""
    roles, places, out = setup.character.roles, state.data.xpos, []
    trunk = roles.get("chest", 0) + 1
    chest = places[trunk].copy()
    along = state.body_point_motion(trunk, chest)[0]
    sign = bracing.side_of_left(setup.character, places[1:], fall.way)
    haste = bracing.haste(float(chest[2]) - ground, float(along[2]), setup.scale, fall.back)
    for role, side in (("left_hand", sign), ("right_hand", -sign)):
        body = roles.get(role)
        if body is None or not fall.high or touches[setup.model.point_body == body + 1].any():
            continue
        here = state.data.xipos[body + 1].copy()
        target = bracing.hand_target(chest, fall.way, fall.back, side, ground, setup.scale)
        pull = bracing.hand_acceleration(target, here, state.body_point_motion(body + 1, here)[0] - along, haste)
        offset = state.body_offset(body + 1, here)
        out.append(PlaceGoal(body + 1, offset, pull, HANDS * fall.high * setup.mass, f"{role} breaks the fall"))
    return out


def _let_down(setup: Setup, state: State, fall: Fall, touches: Flags, ground: float) -> list[PlaceGoal]:
    """Goals that let pelvis, chest and head down while limbs bear the figure, if it falls backward.

    In other falls feet that brake the pelvis would throw the head down. Once the figure has come down, only a chest
    that arms prop up has such a goal, until it lies; after a fall backward its upper end has it.
    """
    roles, model = setup.character.roles, setup.model
    # one body may have several roles: the first of `PARTS` counts
    shares = {roles[role] + 1: share for role, share in reversed(bracing.PARTS.items()) if role in roles}
    bearing = set(model.point_body[touches].tolist()) - set(shares)
    arms = [b + 1 for limb in setup.character.limbs if limb.kind == "arm" for b in limb.bodies]
    on_arms = not bearing.isdisjoint(arms)
    out = []
    for body, share in shares.items():
        is_propped = on_arms and body == roles.get("chest", 0) + 1
        part = fall.back**2 if fall.high else (1.0 - falling.calmness(fall)) * is_propped
        here = state.data.xpos[body].copy()
        end = 0.0 if fall.high else fall.back**2  # of the chest, for arms would prop that up for good
        here += end * (state.data.xpos[roles.get("neck", body - 1) + 1] - here)
        share += end * (bracing.PROPPED - share)
        height = float(here[2]) - ground - end * bracing.UPPER * setup.scale
        speed = float(state.body_point_motion(body, here)[0][2])
        weight = LET_DOWN * setup.mass * part * share * bracing.above(height, setup.scale)
        if weight and bearing:
            is_pelvis = body == 1
            strongest = bracing.BY_ARMS if on_arms and not is_pelvis else bracing.STRONGEST
            asked = np.array([bracing.descent(height, speed, setup.scale, strongest)])
            out.append(PlaceGoal(body, state.body_offset(body, here), asked, weight, "trunk is let down", along=UP))
    return out


def place_goal(goal: PointGoal, setup: Setup, state: State, time: float) -> PlaceGoal:
    """The target of a point goal in this step: a = a_t + 2 ω (v_t − v) + ω² (p_t − p), target rates by differences."""
    body = setup.character.body_index(goal.body) + 1
    offset = np.array(goal.offset)
    here = state.body_place(body, offset)
    velocity = state.body_point_motion(body, here)[0]
    t, dt, w = time, setup.dt, setup.preset.goal.point_frequency
    now = goal.place(t)
    ahead = goal.place(t + dt) if callable(goal.target) else now
    behind = goal.place(t - dt) if callable(goal.target) else now
    target_v, target_a = (ahead - behind) / (2.0 * dt), (ahead - 2.0 * now + behind) / dt**2
    # no pose may meet this as a constraint, so it is an objective
    is_far = goal.is_hard and not _reaches(setup.character, state, body - 1, now)
    is_hard = goal.is_hard and not is_far
    error = now - here if is_hard else within(now - here, setup.scale)
    pull = target_a + 2.0 * w * (target_v - velocity) + w * w * error
    weight = None if is_hard else setup.preset.weights.end_effector * setup.mass
    return PlaceGoal(body, offset, pull, weight, f"goal of {goal.body}", is_far)


def _reaches(character: Character, state: State, body: int, target: Array) -> bool:
    """True unless the body ends a limb too short to bring it to the target from where the limb begins."""
    for limb in character.limbs:
        if limb.kind in ("arm", "leg") and body in limb.bodies:
            chain = limb.bodies[: limb.bodies.index(body) + 1]
            length = sum(float(np.linalg.norm(character.bodies[b].offset)) for b in chain[1:])
            base = state.data.xpos[chain[0] + 1]
            return float(np.linalg.norm(target - base)) < REACH * length
    return True


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
