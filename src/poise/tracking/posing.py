"""A pose and velocities at targets, by damped least squares: for the start of a run and getting up after a fall."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.core import rotations
from poise.core.typing import Array, Index
from poise.physics import State
from poise.physics.bodies import chain
from poise.physics.mujoco_backend import Model
from poise.tracking.lists import Targets


class Posing(NamedTuple):
    """What poses a character.

    Attributes:
        model, state: Of the character; the state is moved.
        ends: Body in the model of the end of each driven limb, shape (E,).
        supports: Which of them stand, shape (E,).
        stiff: Weight on staying in the standing pose, of each dof but the root's, shape (nv − 6,).
        standing: Coordinates of that pose, shape (nq,).
    """

    model: Model
    state: State
    ends: Index
    supports: Array
    stiff: Array
    standing: Array


def pose_at(posing: Posing, goal: Targets, q: Array, rounds: int) -> Array:
    """A pose (nq,) at the targets, from another, in so many rounds at the most."""
    model, weights = posing.model, _weights(posing)
    still = np.zeros(model.nv)
    for _ in range(rounds):
        state = posing.state.at(q, still)
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
        rows.append(posing.stiff[:, None] * np.eye(model.nv - 6, model.nv, 6))
        ways.append(posing.stiff * model.difference(q, posing.standing, 1.0)[6:])
        A, b = np.concatenate(rows), np.concatenate(ways)
        step = np.asarray(np.linalg.solve(A.T @ A + 0.02 * np.eye(model.nv), A.T @ b), dtype=np.float64)
        q = model.integrate(q, step.clip(-0.1, 0.1), 1.0)
        if np.abs(step).max() < 1e-4:
            break
    return q


def velocity_at(posing: Posing, goal: Targets, q: Array) -> Array:
    """Velocities (nv,) of a pose (nq,) that moves as the targets do."""
    nv, weights = posing.model.nv, _weights(posing)
    state = posing.state.at(q, np.zeros(nv))
    spin = rotations.rotate(rotations.conjugate(q[3:7]), goal.spin[0])
    rows = [10.0 * state.com_jacobian()[:2], 10.0 * np.eye(4, nv, 2), 0.3 * np.eye(nv - 6, nv, 6)]
    ways = [10.0 * goal.velocity[1, :2], 10.0 * np.array([goal.velocity[0, 2], *spin]), np.zeros(nv - 6)]
    for k, body in enumerate(posing.ends.tolist()):
        rows.append(weights[k] * state.body_jacobian(body, state.data.xpos[body]))
        ways.append(weights[k] * goal.velocity[2 + k])
    A, b = np.concatenate(rows), np.concatenate(ways)
    return np.asarray(np.linalg.solve(A.T @ A + 1e-6 * np.eye(nv), A.T @ b), dtype=np.float64)


def _weights(posing: Posing) -> Array:
    return np.where(posing.supports, 10.0, 1.0)
