"""Inverse dynamics: the contact forces that explain a motion best, the joint torques, and what is left at the root."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.analysis import kernels
from poise.analysis.bodies import BodyMotion
from poise.analysis.momentum import Momentum, cross
from poise.analysis.touching import Touching
from poise.body.character import Character
from poise.core.units import GRAVITY

Array = npt.NDArray[np.float64]

REGULARIZATION = 1e-5
"""Weight of ‖λ‖² against the mean square of a column's wrench: spreads the load where points leave it open [1]."""


@dataclass(frozen=True)
class Forces:
    """What acts on and inside a character over F frames, world axes.

    Attributes:
        demanded: Force that the motion asks of the world, m (c̈ − g) [N], shape (F, 3).
        demanded_moment: Moment it asks about the center of mass, Ḣ [N m], shape (F, 3).
        contact: Force on each contact point [N], shape (F, P, 3); zero where it does not touch.
        residual_force: What the contacts cannot give [N], shape (F, 3).
        residual_moment: The same about the root body's joint [N m], shape (F, 3).
        joint_torques: Moment that the parent exerts on each body about its joint [N m], shape (F, B, 3); that of the
            root body is `residual_moment`.
        joint_forces: Force that the parent exerts on each body [N], shape (F, B, 3).
    """

    demanded: Array
    demanded_moment: Array
    contact: Array
    residual_force: Array
    residual_moment: Array
    joint_torques: Array
    joint_forces: Array


def inverse_dynamics(
    bodies: BodyMotion, whole: Momentum, touch: Touching, character: Character,
    *, friction: float = 0.8, gravity: float = GRAVITY,
) -> Forces:  # fmt: skip
    """Best contact forces and the joint torques that go with them.

    Contact forces are V λ, λ ≥ 0, with the friction pyramids of `step.contacts.Contacts`, and minimize
    ‖force residual‖² + ‖moment residual about the center of mass / leg length‖² + a small weight on ‖λ‖²
    ([Levine2012]_ 2.3 takes them the same way, about the root and for a leg of 1 m). Torques follow by Newton and
    Euler from the tips to the root.

    Args:
        bodies: How the bodies move.
        whole: Their momentum.
        touch: Which points touch.
        character: Masses and inertias.
        friction: Coulomb coefficient.
        gravity: Downward [m/s^2].
    """
    lift = np.array([0.0, 0.0, gravity])
    demanded = whole.linear_rate + character.mass * lift
    contact = kernels.contact_forces(
        touch.points, touch.normals, touch.carries, whole.com, demanded, whole.angular_rate,
        float(friction), float(character.leg_length), REGULARIZATION,
    )  # fmt: skip
    masses = np.array([b.mass for b in character.bodies])
    force = masses[:, None] * (bodies.accelerations + lift)
    moment = whole.body_angular_rate + cross(bodies.com - bodies.joints, force)
    for i, p in enumerate(character.contact_points):
        at = np.flatnonzero(touch.carries[:, i])
        if len(at):
            push = contact[at, i]
            force[at, p.body] -= push
            moment[at, p.body] -= cross(touch.points[at, i] - bodies.joints[at, p.body], push)
    for b in range(len(character.bodies) - 1, 0, -1):
        parent = character.bodies[b].parent
        force[:, parent] += force[:, b]
        moment[:, parent] += moment[:, b] + cross(bodies.joints[:, b] - bodies.joints[:, parent], force[:, b])
    return Forces(
        demanded, whole.angular_rate, contact, force[:, 0].copy(), moment[:, 0].copy(), moment, force
    )  # fmt: skip
