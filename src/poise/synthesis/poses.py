"""Poses to start from: standing, hanging, hands and feet on given places; and which way a figure is up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.body.character import Character, hold_points
from poise.body.limits import clamp_rotation
from poise.body.posing import hinge_angle
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.physics import State
from poise.physics.mujoco_backend import model_of

SIDES = ("left", "right")
DOWN = np.array([0.0, 0.0, -1.0])
STEEP = 0.75
"""Cosine of how far the legs and the trunk of a figure that stands may lean."""
NARROW = 0.1
"""Sole points whose spread to the side is less than this part of that along the foot tell no plane."""
STRAIGHT_KNEE = 0.8
"""Cosine of how far the knee of a leg that counts as straight may be bent."""
HIGH = 0.2
"""Ankles higher over the soles than this part of the hips' height are those of legs that stand on their toes."""
INSIDE = (0.2, 0.8)
"""The center of mass of a figure that stands is between these parts of the soles' length from the heels."""
PLUMB = 0.96
"""Cosine of how far a leg of a rest pose that is kept may lean. Legs that straddle further, 20° in some files, are put
below the hips: from there the weight never comes over one foot."""
TRUNK_PLUMB = 0.92
"""Cosine of how far a trunk may lean and count as upright."""
SEPARATE = 0.02
"""Places of left and right joints nearer than this part of a leg do not tell the sides."""
SHORTEST = 0.15
"""A trunk shorter than this part of a leg points nowhere."""
APART = 0.25
"""Legs that are straightened end at least this part of a leg from one another."""
LEANING = 0.9
"""Cosine of how far the shin may be turned to level a foot that is one with it."""
LEFT = np.array([0.0, 1.0, 0.0])
"""To the left of a figure that faces +x."""
LEVEL = 1e-8
"""A sole looks down where the cosine of its way is as near to one."""


def upright(character: Character) -> Array:
    """World orientations of the bodies of a figure that is upright on level ground, unit wxyz, shape (B, 4).

    The skeleton's rest pose, if it stands. Else its legs are straightened and, where it lies, its trunk is turned
    upright and to face +x. Some files keep no pose in their skeleton: bones along one axis, the pose in the channels.
    For those each joint is in the middle of what the character was fitted to, which knows the clip. Only places of
    hips, knees, feet and the trunk's top count, not the axes of bones.

    Args:
        character: With two legs.

    Raises:
        InvalidValue: if it has no two legs, or none of these poses stands.
    """
    missing = [r for side in SIDES for r in (f"{side}_hip", f"{side}_knee") if r not in character.roles]
    if missing:
        raise InvalidValue(f"This figure cannot stand: it has no {missing[0]}. Motion from goals needs two legs.")
    rest = _at_rest(character)
    if stands(character, rest) and _has_straight_legs(character, rest):
        return rest
    tried = [_put_together(character, begun) for begun in (rest, _in_the_middle(character))]
    standing = [turned for turned in tried if turned is not None and stands(character, turned)]
    if standing:  # some rest in the middle of a stride, leaning
        return max(standing, key=lambda turned: min(_steepness(character, turned), TRUNK_PLUMB))
    raise InvalidValue(
        "This figure does not stand: in its skeleton's rest pose trunk or legs lie, and with legs straight and "
        "joints in the middle its feet are not level. Fit the character to a clip in which it stands."
    )


def stands(character: Character, turned: Array) -> bool:
    """Whether trunk and legs point upward in these world orientations (B, 4), soles at one height."""
    places, roles = places_of(character, turned), character.roles
    legs = [places[roles[f"{side}_hip"]] - leg_end(character, turned, side) for side in SIDES]
    way = _trunk(character, places)
    ways = [*legs, *([] if way is None else [way])]
    if any(way[2] < STEEP * np.linalg.norm(way) for way in ways):
        return False
    return abs(legs[0][2] - legs[1][2]) < (1.0 - STEEP) * max(np.linalg.norm(leg) for leg in legs)


def _steepness(character: Character, turned: Array) -> float:
    """Cosine between the trunk and the vertical; 1 without a trunk."""
    way = _trunk(character, places_of(character, turned))
    return 1.0 if way is None else float(way[2] / np.linalg.norm(way))


def _has_straight_legs(character: Character, turned: Array) -> bool:
    """Whether hip, knee and the end of the leg are nearly on a plumb line, on both sides.

    Legs that stand on their toes, the ankle high above the ground, are bent as they are: those of a bird or a mech.
    """
    places = places_of(character, turned)
    for side in SIDES:
        hip, knee = (places[character.roles[f"{side}_{role}"]] for role in ("hip", "knee"))
        end = leg_end(character, turned, side)
        thigh, shin = knee - hip, end - knee
        is_high = end[2] - _lowest(character, turned, side) > HIGH * (hip[2] - _lowest(character, turned, side))
        is_bent = thigh @ shin < STRAIGHT_KNEE * np.linalg.norm(thigh) * np.linalg.norm(shin)
        if not is_high and (is_bent or (hip - end)[2] < PLUMB * np.linalg.norm(hip - end)):
            return False
    return True


def is_one_with_shin(character: Character, side: str) -> bool:
    """Whether a leg has no joint between its knee and its sole."""
    return ankle_of(character, side) == character.roles[f"{side}_knee"]


def leg_end(character: Character, turned: Array, side: str) -> Array:
    """Place of the ankle [m], root at zero; of a foot that is one with the shin, the middle of its sole."""
    ankle = places_of(character, turned)[ankle_of(character, side)]
    soles = soles_of(character, turned, side)
    if not is_one_with_shin(character, side) or not len(soles):
        return ankle
    far = np.linalg.norm(soles, axis=1)
    return ankle + soles[far >= 0.5 * far.max()].mean(axis=0)


def places_of(character: Character, turned: Array) -> Array:
    """World places of the bodies [m], root at zero, shape (B, 3)."""
    places = np.zeros((len(character.bodies), 3))
    for i, body in enumerate(character.bodies):
        if body.parent >= 0:
            places[i] = places[body.parent] + rotations.rotate(turned[body.parent], body.offset)
    return places


def _at_rest(character: Character) -> Array:
    skeleton = character.skeleton
    world = np.empty((skeleton.joint_count, 4))
    for j, parent in enumerate(skeleton.parents.tolist()):
        own = skeleton.rest_rotations[j]
        world[j] = own if parent < 0 else rotations.multiply(world[parent], own)
    return world[[b.joint for b in character.bodies]]


def _in_the_middle(character: Character) -> Array:
    """Each joint in the middle of its range, as the fit saw it."""
    turned = np.tile(rotations.IDENTITY, (len(character.bodies), 1))
    for i, body in enumerate(character.bodies):
        if body.parent < 0:
            continue
        middle = body.rest_rotation
        if body.kind == "ball" and body.limits is not None:
            middle = body.limits.rest
        own = character.skeleton.rest_rotations[body.joint] if middle is None else middle
        turned[i] = rotations.multiply(turned[body.parent], own)
    return turned


def _put_together(character: Character, begun: Array) -> Array | None:
    """A pose with legs straight down and soles level; a trunk that lies is turned upright and to face +x.

    None where the pose has no left and right.
    """
    turned, roles = begun.copy(), character.roles
    places = places_of(character, turned)
    hips = np.mean([places[roles[f"{side}_hip"]] for side in SIDES], axis=0)
    trunk = _trunk(character, places)
    up = hips - np.mean([leg_end(character, turned, side) for side in SIDES], axis=0) if trunk is None else trunk
    up = up / max(float(np.linalg.norm(up)), 1e-9)
    if up[2] >= STEEP:
        up = -DOWN
    left = across(character, turned, up)
    if left is None:
        return None
    if not np.allclose(up, -DOWN):
        ahead: Array = np.asarray(np.cross(left, up), dtype=np.float64)
        turn_limb(character, turned, 0, rotations.from_matrix(np.stack([ahead, left, up])))
        left = LEFT
    places = places_of(character, turned)
    gap = (places[roles["left_hip"]] - places[roles["right_hip"]]) @ left
    for side, out in (("left", left), ("right", -left)):
        way = DOWN + max(0.5 * (APART - gap / character.leg_length), 0.0) * out
        way /= np.linalg.norm(way)
        chain = list(dict.fromkeys([roles[f"{side}_hip"], roles[f"{side}_knee"], ankle_of(character, side)]))
        for body, beyond in zip(chain, [*chain[1:], None], strict=True):
            if beyond is None and not is_one_with_shin(character, side):
                break
            places = places_of(character, turned)
            end = leg_end(character, turned, side) if beyond is None else places[beyond]
            bone = end - places[body]
            if (size := float(np.linalg.norm(bone))) > 1e-9:
                turn_limb(character, turned, body, rotations.between(bone / size, way))
        level_sole(character, turned, side)
    return turned


def across(character: Character, turned: Array, up: Array) -> Array | None:
    """Unit way to the left, across `up`: from hip to hip; where hips are at one place, by knees, feet or shoulders."""
    places, roles = places_of(character, turned), character.roles
    for role in ("hip", "knee", "foot", "shoulder", "elbow"):
        if {f"left_{role}", f"right_{role}"} <= set(roles):
            left = places[roles[f"left_{role}"]] - places[roles[f"right_{role}"]]
            left = left - (left @ up) * up
            if (size := float(np.linalg.norm(left))) > SEPARATE * character.leg_length:
                return left / size
    return None


def _trunk(character: Character, places: Array) -> Array | None:
    """From the middle of the hips to the top of the trunk [m]; None for a figure whose top is at its hips."""
    top = _top(character)
    if top is None:
        return None
    way = places[top] - np.mean([places[character.roles[f"{side}_hip"]] for side in SIDES], axis=0)
    return way if np.linalg.norm(way) > SHORTEST * character.leg_length else None


def _top(character: Character) -> int | None:
    """The highest body of the trunk."""
    roles = character.roles
    return next((roles[role] for role in ("head", "neck", "chest") if role in roles), None)


def ankle_of(character: Character, side: str) -> int:
    """The body of a foot; of a figure without one, what its sole points lie on."""
    roles, knee = character.roles, character.roles[f"{side}_knee"]
    if f"{side}_foot" in roles:
        return roles[f"{side}_foot"]
    beyond = [p.body for p in character.contact_points if p.part == "foot" and p.body in character.carried(knee)]
    return beyond[0] if beyond else character.carried(knee)[-1]


def sole_points(character: Character, side: str) -> list[int]:
    """Indices of the contact points under a foot."""
    below = character.carried(ankle_of(character, side))
    return [i for i, p in enumerate(character.contact_points) if p.part == "foot" and p.body in below]


def soles_of(character: Character, turned: Array, side: str) -> Array:
    """World places of the points under a foot [m], from its ankle, shape (n, 3)."""
    places, ankle = places_of(character, turned), ankle_of(character, side)
    points = [character.contact_points[i] for i in sole_points(character, side)]
    at = [places[p.body] - places[ankle] + rotations.rotate(turned[p.body], p.offset) for p in points]
    return np.array(at).reshape(-1, 3)


def plane_of(points: Array) -> tuple[Array, Array] | None:
    """Middle of a sole and the unit way it looks, away from the ankle; None where its points tell no plane.

    Args:
        points: Places from the ankle [m], shape (n, 3).
    """
    if len(points) < 3:
        return None
    middle = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - middle)
    if sizes[1] < NARROW * sizes[0] or abs(middle @ axes[2]) < 1e-6:
        return None
    return middle, axes[2] * float(np.sign(middle @ axes[2]))


def level_sole(character: Character, turned: Array, side: str) -> None:
    """Turn a foot so that its sole looks down: `turned` (B, 4) is changed, unless it does already."""
    plane = plane_of(soles_of(character, turned, side))
    if plane is not None and is_one_with_shin(character, side) and plane[1] @ DOWN < LEANING:
        return  # the shin would be turned with it
    if plane is not None and plane[1] @ DOWN < 1.0 - LEVEL:
        turn_limb(character, turned, ankle_of(character, side), rotations.between(plane[1], DOWN))


def turn_limb(character: Character, turned: Array, body: int, turn: Array) -> None:
    """Turn a body and all it carries, in the world: `turned` (B, 4) is changed."""
    for b in character.carried(body):
        turned[b] = rotations.multiply(turn, turned[b])


BEND = {"hip": -0.55, "knee": 0.45, "elbow": -1.0}
"""Turn of a thigh, a shin and a forearm in the world about the axis to the left, in parts of the bend."""

STRAIGHT = 1e-6
"""A figure whose left is so near to `LEFT` faces +x."""
CROSSED = 0.5
"""A hand that hangs further inside than this part of the upper arm crosses the body."""
SPREAD = 0.14
"""Slope of hanging upper arms away from the sides."""
NEAR = 1e-3
"""The center of mass is where it is wanted when it is as near as this part of the soles' length."""
MOST_LEANT = 0.3
"""A figure leans by no more to bring its center of mass over its soles, unless it is asked to [rad]."""
ROUNDS = 4
"""Most corrections of the lean."""
EVEN = 1e-3
"""Soles whose heights differ by less than this part of a leg are at one height."""
MOST_BENT = 1.5
"""No leg is longer than the other by more than this bend of its knee takes away [rad]."""


def standing(
    character: Character, *, knees: float = 0.12, elbows: float = 0.25, arms: float = 0.0, over: float | None = None
) -> Array:
    """Coordinates of a figure that stands, shape (nq,), with its skeleton's rest pose bent at knees and elbows.

    It faces +x, whichever way its rest pose does. The upper arms hang, whatever the rest pose does with them, clear of
    the sides. Where the rest pose does not stand on legs that are nearly straight, they are straightened and
    the trunk is turned upright. Soles are level and at one height: the longer leg bends its knee.

    Args:
        character: With two legs.
        knees, elbows: How far they bend [rad].
        arms: How far they are raised forward, π for overhead [rad].
        over: Where the center of mass stands, in parts of the soles' length from the heels; it leans there from the
            ankles. None leaves it where the pose has it, if that is over the soles.

    Raises:
        InvalidValue: if the figure has no left and right leg, or no such pose stands.
    """
    turned = upright(character)
    roles = character.roles
    left = across(character, turned, -DOWN)
    if left is None:
        raise InvalidValue("This figure cannot stand: its left and right joints are at the same places.")
    if np.abs(left - LEFT).max() > STRAIGHT:
        turned = rotations.multiply(rotations.between(left, LEFT), turned)
        left = LEFT
    places = places_of(character, turned)
    for side, out in (("left", left), ("right", -left)):
        _hang(character, turned, places, side, np.array([0.0, 0.0, -1.0]) + SPREAD * out)
        if f"{side}_shoulder" in roles:
            raised = rotations.from_rotation_vector(-arms * left)
            turn_limb(character, turned, roles[f"{side}_shoulder"], raised)
    for role, share in BEND.items():
        for side in ("left", "right"):
            body = roles.get(f"{side}_{role}")
            if body is not None:
                turn = rotations.from_rotation_vector(share * (elbows if role == "elbow" else knees) * left)
                reached = [body, roles.get(f"{side}_hand", body)] if role == "elbow" else [body]
                for b in set(reached):
                    turned[b] = rotations.multiply(turn, turned[b])
    for side in SIDES:
        level_sole(character, turned, side)
    _even_legs(character, turned, left)
    state = State(model_of(character))
    soles = [i for i, p in enumerate(character.contact_points) if p.part == "foot"]
    q = _coordinates(character, turned)
    state.at(q, np.zeros(state.model.nv))
    forward = np.array([left[1], -left[0]])
    feet = {b for side in SIDES for b in character.carried(ankle_of(character, side))}
    before, total = q, 0.0
    for _ in range(ROUNDS if soles else 0):
        lengthwise, height = state.points[soles, :2] @ forward, state.com()[2] - state.points[soles, 2].min()
        at = (state.com()[:2] @ forward - lengthwise.min()) / max(float(np.ptp(lengthwise)), 1e-9)
        wanted = float(np.clip(at, *INSIDE)) if over is None else over
        if abs(wanted - at) < NEAR:
            break
        angle = float(np.arctan2((wanted - at) * np.ptp(lengthwise), height))
        total += angle
        if over is None and abs(total) > MOST_LEANT:  # soles that are not below the figure: it begins as it is
            state.at(before, np.zeros(state.model.nv))
            q = before
            break
        lean = rotations.from_rotation_vector(angle * left)
        for b in set(range(len(character.bodies))) - feet:
            turned[b] = rotations.multiply(lean, turned[b])
        q = _coordinates(character, turned)
        state.at(q, np.zeros(state.model.nv))
    q[2] -= state.points[soles, 2].min()
    return q


def _even_legs(character: Character, turned: Array, left: Array) -> None:
    """Bend the knee of the longer leg until both soles are at one height; `turned` (B, 4) is changed."""
    lowest = {side: _lowest(character, turned, side) for side in SIDES}
    longer, other = sorted(SIDES, key=lambda side: lowest[side])
    if lowest[other] - lowest[longer] < EVEN * character.leg_length:
        return
    least, most = 0.0, MOST_BENT
    bent = turned
    for _ in range(20):
        bend = 0.5 * (least + most)
        bent = turned.copy()
        for role in ("hip", "knee"):
            body = character.roles[f"{longer}_{role}"]
            bent[body] = rotations.multiply(rotations.from_rotation_vector(BEND[role] * bend * left), bent[body])
        least, most = (bend, most) if _lowest(character, bent, longer) < lowest[other] else (least, bend)
    turned[:] = bent


def _lowest(character: Character, turned: Array, side: str) -> float:
    """Height of the lowest point of a sole over the root [m]."""
    ankle = places_of(character, turned)[ankle_of(character, side), 2]
    return float(ankle + soles_of(character, turned, side)[:, 2].min(initial=0.0))


def _hang(character: Character, turned: Array, places: Array, side: str, way: Array) -> None:
    """Turn an arm as a whole so that its upper arm points along a way."""
    shoulder, elbow = character.roles.get(f"{side}_shoulder"), character.roles.get(f"{side}_elbow")
    if shoulder is None or elbow is None:
        return
    arm = places[elbow] - places[shoulder]
    if np.linalg.norm(arm) < 1e-6 * character.leg_length:  # a rig whose arm is moved by its hand alone
        return
    before = turned.copy()
    turn_limb(character, turned, shoulder, rotations.between(arm / np.linalg.norm(arm), way / np.linalg.norm(way)))
    hand, out = character.roles.get(f"{side}_hand", elbow), way * np.array([1.0, 1.0, 0.0])
    reach = (places_of(character, turned)[hand] - places[shoulder]) @ out / np.linalg.norm(out)
    if reach < -CROSSED * np.linalg.norm(arm):  # a bent arm that would hang across the body is left as it is
        turned[:] = before


def _coordinates(character: Character, turned: Array) -> Array:
    """Coordinates of bodies with these world orientations (B, 4), root at the origin, shape (nq,)."""
    q = np.zeros(character.nq)
    for i, body in enumerate(character.bodies):
        at = character.q_addresses[i]
        if body.kind == "free":
            q[at + 3 : at + 7] = turned[i]
            continue
        local = rotations.multiply(rotations.conjugate(turned[body.parent]), turned[i])
        if body.kind == "ball":
            q[at : at + 4] = local
        else:
            assert body.axis is not None
            q[at] = hinge_angle(body.axis, local[None], body.rest_rotation)[0]
    return q


SIDES = ("left", "right")


def hanging(character: Character, bar: Array, angle: float = 0.0) -> Array:
    """Coordinates of a figure that hangs straight from a bar by both hands, shape (nq,).

    Args:
        character: With two arms and two legs, as it stands facing +x.
        bar: Middle of a bar along y [m], shape (3,).
        angle: How far it has swung forward [rad].

    Raises:
        InvalidValue: if the figure has no two hands or cannot stand.
    """
    q = standing(character, knees=0.0, elbows=0.0, arms=np.pi)
    model = model_of(character)
    centers = State(model).at(q, np.zeros(model.nv)).centers
    middle = centers[[point for side in SIDES for point in hold_points(character, f"{side}_hand")]].mean(axis=0)
    turn = rotations.from_rotation_vector(np.array([0.0, -angle, 0.0]))
    q[:3] = bar + rotations.rotate(turn, q[:3] - middle)
    q[3:7] = rotations.multiply(turn, q[3:7])
    return q


def placed(
    character: Character, q: Array, places: Mapping[str, Array], *, rounds: int = 200, pull: float = 0.02
) -> Array:
    """Coordinates near q with hands and feet on given places, by damped least squares inside the joint limits.

    Args:
        character: Whose.
        q: Pose to stay near, shape (nq,).
        places: Where the fingers of a "left_hand" and the ball of a "left_foot" and so on shall be [m].
        rounds: Steps taken.
        pull: Weight of staying near q against a place's error of 1 m.

    Raises:
        InvalidValue: if a place is out of reach, or there is no such hand or foot.
    """
    model = model_of(character)
    state, rest = State(model), q.copy()
    points = {part: hold_points(character, part) for part in places}
    limits = [(character.q_addresses[i], b) for i, b in enumerate(character.bodies) if b.limits is not None]
    weight = np.full(model.nv, pull)
    weight[:6] = 0.1 * pull
    off = np.inf
    for _ in range(rounds):
        state.at(q, np.zeros(model.nv))
        jacobians = state.point_jacobians.reshape(-1, 3, model.nv)
        rows = np.concatenate([jacobians[points[part]].mean(axis=0) for part in places])
        errors = np.concatenate([places[part] - state.centers[points[part]].mean(axis=0) for part in places])
        off = float(np.abs(errors).max())
        home = model.difference(q, rest, 1.0)
        left = rows.T @ rows + np.diag(weight**2) + 1e-4 * np.eye(model.nv)
        step: Array = np.asarray(np.linalg.solve(left, rows.T @ errors + weight**2 * home), dtype=np.float64)
        if off < 1e-3 and float(np.abs(step).max()) < 1e-3:
            break
        q = model.integrate(q, step * min(1.0, 0.3 / max(float(np.abs(step).max()), 1e-9)), 1.0)
        weight *= 0.97
        for at, body in limits:
            assert body.limits is not None
            if body.kind == "ball":
                q[at : at + 4] = clamp_rotation(body.limits, q[at : at + 4])
            elif body.kind == "hinge":
                q[at] = np.clip(q[at], body.limits.twist_lower, body.limits.twist_upper)
    if off > 0.02:
        raise InvalidValue(
            f"A hand or foot stays {100.0 * off:.0f} cm from its place; give places nearer to one another."
        )
    return q
