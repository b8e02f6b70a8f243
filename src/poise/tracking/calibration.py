"""How a figure stands: its standing pose, its rest poses by name, and where its limbs touch the ground
then; and a pose at targets by damped least squares, for the start of a run and getting up after a fall.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from poise.body.character import Q_SIZES, Character
from poise.body.mjcf import scene_mjcf
from poise.body.posing import body_poses, hinge_angle, motion_to_q
from poise.body.stride import STANDING, off_standing
from poise.core import rotations
from poise.core.errors import InvalidValue, UnknownName
from poise.core.motion import Motion
from poise.core.typing import Array, Index
from poise.filter.quasi_physical import AtRest, JointLimits
from poise.physics import State
from poise.physics.bodies import chain
from poise.physics.mujoco_backend import Model, Point, model_of
from poise.tracking.lists import Ground, Targets
from poise.tracking.retarget import Role, Standing, dofs_of, end_body, heading, yaw_turn
from poise.tracking.stance import Foot

FULL_REACH = 0.965
"""Legs are stretched to so much of their length at the most [1]."""
FOLDED, BENT = 2.3, 0.1
"""Knees fold by up to this [rad]; bent by less as the character stands, they fold back [1]."""
LYING = 1e-3
"""A point no higher than this lies on the ground [m]."""
BOUND_WEIGHT, BOUND_ROUNDS = 30.0, 3
"""Weight of bounds that would be passed, beside the targets [1], and rounds in which these bounds are found."""
CROOKED = 0.8
"""A rest pose with a foot farther than this from straight under its hip does not stand, in legs [1]."""


def standing_pose(character: Character, poses: Array | None = None) -> Array:
    """Coordinates of how the character stands, shape (nq,).

    That is the rest pose "standing" of its file, else the skeleton's own. Files also hold rest poses that do not stand:
    lying, legs up, or all bones along one axis. Then it is the given pose whose feet are nearest to straight under
    their hips.

    Args:
        character: Who.
        poses: Coordinates of poses to choose from, shape (F, nq).
    """
    skeleton = character.skeleton
    still = Motion(skeleton, np.zeros(1), skeleton.offsets[None].copy(), skeleton.rest_rotations[None].copy())
    q = motion_to_q(character, still)[0]
    q = _turned(character, q, character.rest_poses.get(STANDING, {}))
    if poses is None or STANDING in character.rest_poses or not len(poses):
        return q
    off, found = _off_standing(character, np.concatenate([q[None], poses])), 0
    if off[0] > CROOKED:
        found = int(np.argmin(off))
    return q if found == 0 else poses[found - 1].copy()


def _off_standing(character: Character, poses: Array) -> Array:
    """How far the farthest foot of each pose (F, nq) is from straight under its hip, over its leg [1], shape (F,)."""
    legs = [limb for limb in character.limbs if limb.kind == "leg"]
    ends = [end_body(character, leg.name) for leg in legs]
    lengths = [limb_length(character, leg.name, end) for leg, end in zip(legs, ends)]
    return off_standing(body_poses(character, poses)[0], [leg.bodies[0] for leg in legs], ends, lengths)


def styled_pose(character: Character, standing: Array, style: Mapping[str, float]) -> Array:
    """A standing pose (nq,) moved toward rest poses of the character's file: q ⊕ Σ share (pose ⊖ q); the root stays.

    Args:
        character: Whose.
        standing: Coordinates of how it stands, shape (nq,).
        style: Shares of rest poses by name [1], such as `{"sad": 1.0}`.

    Raises:
        UnknownName: if the character's file has no such rest pose.
    """
    model, moved = model_of(character), np.zeros(character.nv)
    for name, share in style.items():
        if name not in character.rest_poses:
            known = ", ".join(character.rest_poses) or "none"
            raise UnknownName(f"There is no rest pose {name!r}. Rest poses of the character's file: {known}.")
        moved += share * model.difference(
            standing, _turned(character, standing.copy(), character.rest_poses[name]), 1.0
        )
    moved[:6] = 0.0
    return model.integrate(standing, moved, 1.0)


def model_with_ends(character: Character, driven: Sequence[Role]) -> Model:
    """The character's model with the origins of the ends of driven limbs as points after its contact points."""
    points = [
        Point(p.name, p.body + 1, (float(p.offset[0]), float(p.offset[1]), float(p.offset[2])), p.radius)
        for p in character.contact_points
    ]
    points += [Point(f"end of {role.limb}", end_body(character, role.limb) + 1, (0.0, 0.0, 0.0)) for role in driven]
    return Model(scene_mjcf((character,)), points)


class Style(NamedTuple):
    """How a character holds itself otherwise than it stands.

    Attributes:
        pose: Coordinates to which joints and free limbs are drawn, shape (nq,).
        shifts: Of each target: a way in the frame of the pelvis [m] and a rotation vector in its own [rad], (T, 6).
    """

    pose: Array
    shifts: Array


def style_of(
    character: Character, standing: Array, roles: Sequence[Role], rows: Mapping[str, int], shares: Mapping[str, float]
) -> Style:
    """A style made of shares of rest poses by name [1]; `rows` are those of driven limbs among the targets.

    Raises:
        UnknownName: if the character's file has no such rest pose.
    """
    pose = styled_pose(character, standing, shares)
    places, turns = body_poses(character, np.stack([standing, pose]))
    shifts = np.zeros((2 + len(rows), 6))
    for role in (role for role in roles if role.kind == "targeted"):
        end = end_body(character, role.limb)
        way = places[1, end] - places[0, end]
        shifts[rows[role.limb], :3] = rotations.rotate(rotations.conjugate(turns[0, 0]), way)
        turned = rotations.multiply(rotations.conjugate(turns[0, end]), turns[1, end])
        shifts[rows[role.limb], 3:] = rotations.to_rotation_vector(turned)
    return Style(pose, shifts)


def in_style(place: Array, turn: Array, shifts: Array) -> tuple[Array, Array]:
    """Places (T, 3) and turns (T, 4) of targets, shifted as `Style.shifts` says."""
    turned = rotations.multiply(turn[2:], rotations.from_rotation_vector(shifts[2:, 3:]))
    return place + rotations.rotate(turn[0], shifts[:, :3]), np.concatenate([turn[:2], turned])


def _turned(character: Character, q: Array, turns: Mapping[str, Array]) -> Array:
    """The pose with some bodies turned in their parents' frames."""
    names = [body.name for body in character.bodies]
    for name, turn in turns.items():
        number = names.index(name)
        body, at = character.bodies[number], character.q_addresses[number]
        if body.kind == "hinge":
            assert body.axis is not None
            q[at] = float(hinge_angle(body.axis, turn, body.rest_rotation))
        else:
            at += 3 if body.kind == "free" else 0
            q[at : at + 4] = turn
    return q


def inertia_of(state: State) -> float:
    """Mean moment of inertia about the center of mass, of bodies as points [kg m²]."""
    off = state.data.xipos[1:] - state.com()
    return float(np.sum(state.model.body_masses[1:] * np.sum(off**2, axis=1)) * 2.0 / 3.0)


def limb_points(character: Character, limb: str) -> Index:
    """Contact points of a limb."""
    bodies = next(item.bodies for item in character.limbs if item.name == limb)
    return np.array([i for i, p in enumerate(character.contact_points) if p.body in bodies], dtype=np.int64)


def lowest_points(character: Character, places: Array, turns: Array, points: Index) -> Array:
    """Lowest places of contact points of a posed character [m], shape (n, 3).

    Args:
        character: Whose.
        places, turns: Of its bodies, shapes (B, 3) and (B, 4).
        points: Which, shape (n,).
    """
    chosen = [character.contact_points[int(i)] for i in points]
    at = [places[p.body] + rotations.rotate(turns[p.body], p.offset) - [0.0, 0.0, p.radius] for p in chosen]
    return np.array(at).reshape(-1, 3)


def lowest_of(character: Character, limb: str, places: Array, turns: Array) -> float:
    """Height of a limb's lowest contact point [m]; of its end where it has none."""
    at = lowest_points(character, places, turns, limb_points(character, limb))
    return float(at[:, 2].min()) if len(at) else float(places[end_body(character, limb)][2])


def standing_at(actor: Character, q: Array, limbs: Sequence[str], floor: float, places: Array) -> Standing:
    """How the actor stands where it is now, facing as it does.

    Args:
        actor: Who.
        q: Its standing pose, shape (nq,).
        limbs: That stand on the floor.
        floor: Its height [m].
        places: Of the bodies now, shape (B, 3).

    Raises:
        InvalidValue: if the hips are no higher than the ends of these limbs.
    """
    still = [x[0] for x in body_poses(actor, q[None])]
    about = yaw_turn(heading(actor, places) - heading(actor, still[0]))
    there = rotations.rotate(about, still[0] - still[0][0])
    turned = rotations.multiply(np.broadcast_to(about, still[1].shape), still[1])
    low = min(lowest_of(actor, limb, there, turned) for limb in limbs)
    standing = Standing.of(actor, there + np.array([*places[0, :2], floor - low]), turned, floor)
    if standing.leg <= 0.0:
        raise InvalidValue(
            f"The actor cannot stand on {', '.join(limbs)}: as it stands, its hips are {-standing.leg:.2g} m below "
            "where these limbs end. Let limbs that reach the ground drive those that carry the character."
        )
    return standing


def put_on(character: Character, q: Array, limbs: Sequence[str], floor: float) -> Array:
    """The pose (nq,) at the height in which the limbs touch the floor [m]."""
    places, turns = (x[0] for x in body_poses(character, q[None]))
    out = q.copy()
    out[2] += floor - min(lowest_of(character, limb, places, turns) for limb in limbs)
    return out


def driven_arms(character: Character, actor: Character, roles: Sequence[Role]) -> dict[str, str]:
    """The character's arms that follow an arm of the actor, and which one."""
    kinds = {limb.name: limb.kind for limb in character.limbs}, {limb.name: limb.kind for limb in actor.limbs}
    return {
        role.limb: role.actor
        for role in roles
        if role.kind == "targeted" and kinds[0][role.limb] == "arm" and kinds[1].get(role.actor) == "arm"
    }


def with_arms_of(character: Character, q: Array, arms: Mapping[str, str], theirs: Standing) -> Array:
    """A standing pose (nq,) whose arms point where the actor's do: rest poses hold them level, slanted or hanging.

    Args:
        character: Who stands.
        q: How.
        arms: Its arms, and which of the actor's each follows.
        theirs: How the actor stands.
    """
    out, (places, turns) = q.copy(), (x[0] for x in body_poses(character, q[None]))
    about = yaw_turn(heading(character, places) - theirs.yaw)
    for limb, actor in arms.items():
        bodies = next(item.bodies for item in character.limbs if item.name == limb)
        first = next((b for b in bodies if character.bodies[b].kind == "ball"), None)
        ours = places[end_body(character, limb)] - places[bodies[0]]
        way = rotations.rotate(about, theirs.ends[actor] - theirs.bases[actor])
        if first is None or min(np.linalg.norm(ours), np.linalg.norm(way)) < 1e-6:
            continue
        at, parent = character.q_addresses[first], turns[character.bodies[first].parent]
        turned = rotations.multiply(rotations.between(ours, way), turns[first])
        out[at : at + 4] = rotations.multiply(rotations.conjugate(parent), turned)
    return out


def foot_of(
    character: Character, role: Role, row: int, standing: Standing, places: Array, turns: Array, dt: float
) -> Foot:
    """A limb's foot, which is level as the character stands.

    Args:
        character: Whose.
        role: Of the limb.
        row: Of its end among the targets.
        standing: How the character stands.
        places, turns: Of its bodies then, shapes (B, 3) and (B, 4).
        dt: Of a step [s].
    """
    limb = role.limb
    end, points = end_body(character, limb), limb_points(character, limb)
    own = np.array([i for i in points if character.contact_points[int(i)].body == end], dtype=np.int64)
    under = lowest_points(character, places, turns, own if len(own) else points)
    sole = rotations.rotate(rotations.conjugate(turns[end]), under - places[end])
    level = rotations.multiply(yaw_turn(-standing.yaw), standing.end_turns[limb])
    height = float(standing.ends[limb][2]) - standing.floor
    first = next(item.bodies[0] for item in character.limbs if item.name == limb)
    hip = rotations.rotate(rotations.conjugate(turns[0]), places[first] - places[0])
    length = limb_length(character, limb, end)
    at = [character.contact_points[int(i)] for i in points]
    offsets = np.array([p.offset for p in at]).reshape(-1, 3)
    reaching = offsets, np.array([p.radius if p.body == end else np.inf for p in at])
    reach, scale = FULL_REACH * length, character.leg_scale
    return Foot(row, points, sole, level, height, hip, reach, scale, dt, role.actor, end + 1, reaching)


class Bend(NamedTuple):
    """How a leg bends between hip and end: a straight leg does not know which way it could.

    Attributes:
        at: Coordinates of its knees in q, shape (C,).
        dofs: Their dofs, shape (V,).
        knees: Those coordinates from straight to folded, shape (S, C).
        lengths: From hip to end then, falling [m], shape (S,).
    """

    at: Index
    dofs: Index
    knees: Array
    lengths: Array

    def knees_at(self, length: float) -> Array:
        """Coordinates of the knees for a way from hip to end [m], shape (C,)."""
        last = len(self.lengths) - 2
        first = min(max(last + 1 - int(self.lengths[::-1].searchsorted(length)), 0), last)
        longer, shorter = self.lengths[first : first + 2].tolist()
        share = min(max((longer - length) / (longer - shorter), 0.0), 1.0)
        return self.knees[first] + share * (self.knees[first + 1] - self.knees[first])


def bend_of(character: Character, limb: str, standing: Array) -> Bend | None:
    """How a leg bends; None if it has no knee.

    Knees turn about the axis across the body, all by the same angle: further the way they are bent as the character
    stands, or back if they are straight then.

    Args:
        character: Whose.
        limb: Name of the leg.
        standing: Coordinates of the standing pose, shape (nq,).
    """
    end, chain = end_body(character, limb), list[int]()
    body, first = end, next(item.bodies[0] for item in character.limbs if item.name == limb)
    while body != first:
        chain.insert(0, body)
        body = character.bodies[body].parent
    knees = chain[:-1]
    if not knees:
        return None
    places, turns = (x[0] for x in body_poses(character, standing[None]))
    across = rotations.rotate(yaw_turn(heading(character, places)), np.array([0.0, 1.0, 0.0]))
    angles, poses = np.linspace(-FOLDED, FOLDED, 65), np.repeat(standing[None], 65, axis=0)
    for knee, below in zip(knees, chain[1:], strict=True):
        upper, lower = places[knee] - places[character.bodies[knee].parent], places[below] - places[knee]
        bent = float(np.cross(upper, lower) @ across) / max(float(np.linalg.norm(upper) * np.linalg.norm(lower)), 1e-9)
        axis, joint = across * (-1.0 if bent < -BENT else 1.0), character.bodies[knee]
        own, at = rotations.rotate(rotations.conjugate(turns[knee]), axis), character.q_addresses[knee]
        if joint.kind == "hinge":
            assert joint.axis is not None
            poses[:, at] += angles * float(np.sign(own @ joint.axis))
        else:
            turned = rotations.from_rotation_vector(angles[:, None] * own)
            poses[:, at : at + 4] = rotations.multiply(np.broadcast_to(standing[at : at + 4], (65, 4)), turned)
    placed = body_poses(character, poses)[0]
    lengths = np.linalg.norm(placed[:, end] - placed[:, first], axis=1)
    straight = int(np.argmax(lengths))
    falls = straight + int(np.argmin(np.append(np.diff(lengths[straight:]) < 1e-9, False)))
    at = np.concatenate([character.q_addresses[b] + np.arange(Q_SIZES[character.bodies[b].kind]) for b in knees])
    dofs = np.concatenate([dofs_of(character, b) for b in knees])
    return Bend(at, dofs, poses[straight : falls + 1, at], lengths[straight : falls + 1]) if falls > straight else None


def limb_length(character: Character, limb: str, end: int) -> float:
    """Of a limb's bones from its first body to another [m]."""
    first, length = next(item.bodies[0] for item in character.limbs if item.name == limb), 0.0
    while end != first:
        length += float(np.linalg.norm(character.bodies[end].offset))
        end = character.bodies[end].parent
    return length


class Posing(NamedTuple):
    """What poses a character.

    Attributes:
        model, state: Of the character; the state is moved.
        ends: Body in the model of the end of each driven limb, shape (E,).
        supports: Which of them stand, shape (E,).
        stiff: Weight on staying in the standing pose, of each dof but the root's, shape (nv − 6,).
        standing: Coordinates of that pose, shape (nq,).
        ground: What is under the contact points of `state` as it is posed.
        limits: Of its joints; widened to the standing pose.
    """

    model: Model
    state: State
    ends: Index
    supports: Array
    stiff: Array
    standing: Array
    ground: Callable[[], Ground]
    limits: JointLimits


def unlocked(posing: Posing, q: Array) -> Array:
    """A pose (nq,) with all joints a little within their limits.

    A search that begins with a straight knee cannot tell which way to bend it.
    """
    rows, past = _past_limits(posing, q)
    return posing.model.integrate(q, np.maximum(past + BENT, 0.0) @ rows, 1.0)


def _past_limits(posing: Posing, q: Array) -> tuple[Array, Array]:
    """Joint limits near a pose: rows (K, nv) that lead away from them, and how far it is past each [rad], (K,)."""
    still, most = np.zeros(posing.model.nv), posing.limits.most
    rows, past = np.empty((most, posing.model.nv)), np.empty(most)
    near = posing.limits.fill(q, still, AtRest(posing.standing, still, still), 1.0, rows, past) if most else 0
    return rows[:near], np.where(past > 0.0, past / posing.limits.share, past)[:near]


def pose_at(posing: Posing, goal: Targets, q: Array, rounds: int) -> Array:
    """A pose (nq,) at the targets, from another, in so many rounds at the most.

    What would be in the ground is put on it: a foot that swings is pitched as the actor's, and its toes bend.
    """
    model, weights = posing.model, _weights(posing)
    still = np.zeros(model.nv)
    for _ in range(rounds):
        state = posing.state.at(q, still)
        gap, normal = posing.ground()
        off = rotations.to_rotation_vector(rotations.multiply(rotations.conjugate(q[3:7]), goal.turn[0]))
        rows = [10.0 * state.com_jacobian()[:2], 10.0 * np.eye(4, model.nv, 2), 3.0 * np.eye(2, model.nv)]
        ways = [10.0 * (goal.place[1] - state.com())[:2], 10.0 * np.array([goal.place[0, 2] - q[2], *off])]
        ways.append(3.0 * (goal.place[0] - q[:3])[:2])
        for k, body in enumerate(posing.ends.tolist()):
            at = state.data.xpos[body]
            rows.append(weights[k] * state.body_jacobian(body, at))
            ways.append(weights[k] * (goal.place[2 + k] - at))
            if posing.supports[k]:
                turn = rotations.multiply(goal.turn[2 + k], rotations.conjugate(state.data.xquat[body]))
                rows.append(3.0 * np.where(chain(state.pose, body), state.data.cdof[:, :3].T, 0.0))
                ways.append(3.0 * rotations.to_rotation_vector(turn))
        low = np.flatnonzero(gap < -1e-9)  # [m]; what lies on it is not in it, however numbers are rounded
        rows.append(
            BOUND_WEIGHT * np.einsum("pi,pij->pj", normal[low], state.point_jacobians.reshape(-1, 3, model.nv)[low])
        )
        ways.append(-BOUND_WEIGHT * gap[low])
        rows.append(posing.stiff[:, None] * np.eye(model.nv - 6, model.nv, 6))
        ways.append(posing.stiff * model.difference(q, posing.standing, 1.0)[6:])
        step = _solved(rows, ways, 0.02, *_past_limits(posing, q))
        q = model.integrate(q, step.clip(-0.1, 0.1), 1.0)
        if np.abs(step).max() < 1e-4:
            break
    return q


def velocity_at(posing: Posing, goal: Targets, q: Array) -> Array:
    """Velocities (nv,) of a pose (nq,) that moves as the targets do, and not into the ground on which it stands."""
    nv, weights = posing.model.nv, _weights(posing)
    state = posing.state.at(q, np.zeros(nv))
    gap, normal = posing.ground()
    spin = rotations.rotate(rotations.conjugate(q[3:7]), goal.spin[0])
    rows = [10.0 * state.com_jacobian()[:2], 10.0 * np.eye(4, nv, 2), 0.3 * np.eye(nv - 6, nv, 6)]
    ways = [10.0 * goal.velocity[1, :2], 10.0 * np.array([goal.velocity[0, 2], *spin]), np.zeros(nv - 6)]
    for k, body in enumerate(posing.ends.tolist()):
        rows.append(weights[k] * state.body_jacobian(body, state.data.xpos[body]))
        ways.append(weights[k] * goal.velocity[2 + k])
        if posing.supports[k]:
            rows.append(3.0 * np.where(chain(state.pose, body), state.data.cdof[:, :3].T, 0.0))
            ways.append(3.0 * goal.spin[2 + k])
    low = np.flatnonzero(gap < LYING)
    down = np.einsum("pi,pij->pj", normal[low], state.point_jacobians.reshape(-1, 3, nv)[low])
    return _solved(rows, ways, 1e-6, down, np.zeros(len(low)))


def _solved(rows: Sequence[Array], ways: Sequence[Array], damping: float, bounds: Array, least: Array) -> Array:
    """Least squares with bounds: x (nv,) for which rows @ x is near `ways`, and bounds @ x ≥ least, shape (K,).

    A bound that x would not meet becomes one more row, with a large weight.
    """
    met, x = np.zeros(len(bounds), dtype=np.bool_), np.zeros(rows[0].shape[1])
    for _ in range(BOUND_ROUNDS):
        A, b = np.concatenate([*rows, BOUND_WEIGHT * bounds[met]]), np.concatenate([*ways, BOUND_WEIGHT * least[met]])
        x = np.asarray(np.linalg.solve(A.T @ A + damping * np.eye(A.shape[1]), A.T @ b), dtype=np.float64)
        if not (below := ~met & (bounds @ x < least - 1e-3)).any():
            break
        met |= below
    return x


def _weights(posing: Posing) -> Array:
    return np.where(posing.supports, 10.0, 1.0)
