"""Start poses that are not standing, and shoulders that reach overhead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poise.character.character import Character, Limits
from poise.dynamics import State
from poise.dynamics.from_character import model_of
from poise.errors import InvalidValue
from poise.spatial import rotations
from poise.synthesis.stance import standing

Array = npt.NDArray[np.float64]

SIDES = ("left", "right")
RAISED = np.radians(60.0)
"""A shoulder's range is measured from an arm raised forward by so much [rad] …"""
BACK, OVERHEAD = np.radians(-120.0), np.radians(125.0)
"""… and goes so far back and up from there [rad]."""


def limber(character: Character) -> Character:
    """The figure with shoulders that reach overhead; one without arms as it is.

    A range of ±130° about a hanging arm, which is what a character fitted without clips gets, ends 50° short of
    overhead and goes as far back as forward.
    """
    roles = character.roles
    armed = [s for s in SIDES if {f"{s}_shoulder", f"{s}_elbow"} <= set(roles)]
    arms = [(roles[f"{s}_shoulder"], roles[f"{s}_elbow"]) for s in armed]
    if not arms:
        return character
    model = model_of(character)
    state = State(model).at(standing(character), np.zeros(model.nv))
    turns = state.data.xmat[model.roots[0] :].reshape(-1, 3, 3)
    hips = state.data.xpos[model.roots[0] :][[roles["left_hip"], roles["right_hip"]]]
    left = hips[0] - hips[1]
    left = np.array([left[0], left[1], 0.0]) / np.linalg.norm(left[:2])
    up = rotations.to_matrix(rotations.from_rotation_vector(-RAISED * left))
    bodies = list(character.bodies)
    for shoulder, elbow in arms:
        body = bodies[shoulder]
        if body.kind != "ball" or body.limits is None:
            continue
        axis = bodies[elbow].offset / np.linalg.norm(bodies[elbow].offset)
        raised = up @ turns[shoulder]
        bend = -raised.T @ left
        bend -= (bend @ axis) * axis
        rest = rotations.from_matrix(turns[body.parent].T @ raised)
        old = body.limits
        limits = Limits(
            rest, axis, bend / np.linalg.norm(bend), old.twist_lower, old.twist_upper, BACK, OVERHEAD,
            old.side_lower, old.side_upper,
        )  # fmt: skip
        bodies[shoulder] = replace(body, limits=limits)
    return replace(character, bodies=tuple(bodies))


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
    middle = centers[[grip_point(character, f"{side}_hand") for side in SIDES]].mean(axis=0)
    turn = rotations.from_rotation_vector(np.array([0.0, -angle, 0.0]))
    q[:3] = bar + rotations.rotate(turn, q[:3] - middle)
    q[3:7] = rotations.multiply(turn, q[3:7])
    return q


def grip_point(character: Character, part: str) -> int:
    """The contact point with which a hand grips: its last, the fingers.

    Raises:
        InvalidValue: if the figure has no such hand.
    """
    body = character.roles.get(part)
    points = [i for i, p in enumerate(character.contact_points) if p.body == body]
    if not points:
        raise InvalidValue(f"This figure has no {part.replace('_', ' ')} to hold on with.")
    return points[-1]
