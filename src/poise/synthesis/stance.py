"""The pose a figure starts from and likes to return to: standing, knees a little bent, soles on the ground."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poise.body.anthropometry import PERSON_MASS
from poise.body.character import Body, Character
from poise.body.posing import hinge_angle
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.physics import State
from poise.physics.from_character import model_of
from poise.synthesis.upright import SIDES, ankle_of, level_sole, places_of, soles_of, turn_limb, upright

Array = npt.NDArray[np.float64]

BEND = {"hip": -0.55, "knee": 0.45, "elbow": -1.0}
"""Turn of a thigh, a shin and a forearm in the world about the axis to the left, in parts of the bend."""

LEFT = np.array([0.0, 1.0, 0.0])
"""To the left of a figure that faces +x."""
STRAIGHT = 1e-6
"""A figure whose left is so near to `LEFT` faces +x."""
SPREAD = 0.14
"""Slope of hanging upper arms away from the sides."""
EVEN = 1e-3
"""Soles whose heights differ by less than this part of a leg are at one height."""
MOST_BENT = 1.5
"""No leg is longer than the other by more than this bend of its knee takes away [rad]."""
LEAST_INERTIA = 4e-3
"""No body of a person of `PERSON_MASS` with legs of `HUMAN_LEG` turns more easily than this about any axis [kg m²]."""


def steadied(character: Character) -> Character:
    """The figure with no body that turns too easily for a step of 0.01 s.

    A hand of 0.4 kg turns about its own length with 1e-4 kg m²; a wrist's 20 N m would spin it by 2000 rad/s in a step.
    A living wrist turns the forearm with it. Masses stay, inertias are widened, in proportion to mass times leg².
    """
    least = LEAST_INERTIA * character.mass / PERSON_MASS * character.leg_scale**2
    bodies: list[Body] = []
    for body in character.bodies:
        values, vectors = np.linalg.eigh(body.inertia)
        wide = (vectors * np.maximum(values, least)) @ vectors.T
        bodies.append(replace(body, inertia=wide) if values.min() < least else body)
    return replace(character, bodies=tuple(bodies))


def standing(
    character: Character, *, knees: float = 0.12, elbows: float = 0.25, arms: float = 0.0, over: float | None = None
) -> Array:
    """Coordinates of a figure that stands, shape (nq,), with its skeleton's rest pose bent at knees and elbows.

    It faces +x, whichever way its rest pose does. The upper arms hang, whatever the rest pose does with them, clear of
    the sides. Where the rest pose does not stand, joints are in the middle of what the character was fitted to, the
    trunk upright, legs down. Soles are level and at one height: the longer leg bends its knee.

    Args:
        character: With two legs.
        knees, elbows: How far they bend [rad].
        arms: How far they are raised forward, π for overhead [rad].
        over: Where the center of mass stands, in parts of the soles' length from the heels; it leans there from the
            ankles. None leaves it where the rest pose has it.

    Raises:
        InvalidValue: if the figure has no left and right leg, or no such pose stands.
    """
    missing = [r for side in ("left", "right") for r in (f"{side}_hip", f"{side}_knee") if r not in character.roles]
    if missing:
        raise InvalidValue(f"This figure cannot stand: it has no {missing[0]}. Motion from goals needs two legs.")
    turned = upright(character)
    roles = character.roles
    left = _left(character, turned)
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
    if over is not None:
        forward = np.array([left[1], -left[0]])
        lengthwise, height = state.points[soles, :2] @ forward, state.com()[2] - state.points[soles, 2].min()
        wanted = lengthwise.min() + over * np.ptp(lengthwise)
        lean = rotations.from_rotation_vector(np.arctan2(wanted - state.com()[:2] @ forward, height) * left)
        feet = {character.contact_points[i].body for i in soles}
        for b in set(range(len(character.bodies))) - feet:
            turned[b] = rotations.multiply(lean, turned[b])
        q = _coordinates(character, turned)
        state.at(q, np.zeros(state.model.nv))
    q[2] -= state.points[soles, 2].min()
    return q


def _left(character: Character, turned: Array) -> Array:
    """Level unit direction from the right hip to the left."""
    places, roles = places_of(character, turned), character.roles
    left = places[roles["left_hip"]] - places[roles["right_hip"]]
    return np.array([left[0], left[1], 0.0]) / np.linalg.norm(left[:2])


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
    hung = rotations.between(arm / np.linalg.norm(arm), way / np.linalg.norm(way))
    turn_limb(character, turned, shoulder, hung)


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
