"""Start poses that are not standing, and shoulders that reach overhead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poise.body.character import Character, Limits
from poise.body.holding import hold_points
from poise.body.limits import clamp_rotation
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.physics import State
from poise.physics.from_character import model_of
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
