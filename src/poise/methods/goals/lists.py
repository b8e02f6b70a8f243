"""Motion from goals as two lists: what is wished for, and what must hold.

    min  w_τ ‖τ − τ_last‖² + Σ wishes + w_c ‖contacts stay‖² + small terms
    s.t. root wrench = 0,  λ ≥ 0,  no point below the ground,  |τ| ≤ limit,  τ within a band of τ_held while delayed

Source: [Jain2009]_ eq. (14) and 4.1. Deviates: the delay of 200 ms is a hard band on the torque instead of an
objective, which kinematic goals outweigh (in the literal form it is the paper's objective); torques are limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.errors import InvalidValue
from poise.methods.goals.view import View
from poise.step import AtLeast, Constraint, Equal, Objective, Step, Within
from poise.step.quantities import ContactCoefficients, JointAcceleration, JointTorque, PointAcceleration, RootWrench

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Weights:
    """Weights that belong to no single goal.

    Attributes:
        torque_change: [1/(N m)²] against accelerations of 1 m/s², for a joint as strong as `STRONG`.
        contact_stays: Against the acceleration that would stop a touching point within the step.
        coefficients: On contact coefficients, so that redundant points share a load [1/N²].
        acceleration: On joint accelerations, so that nothing is left free.
        bounds: Of soft joint limits.
    """

    torque_change: float = 1e-7
    contact_stays: float = 1000.0
    coefficients: float = 1e-10
    acceleration: float = 1e-6
    bounds: float = 10.0


LITERAL = Weights(torque_change=1e-6, contact_stays=50.0 * 0.01**2)
"""The paper's weights in SI: its torques and forces are in kN m and kN, its contacts' weight is not given."""


STRONG = 250.0
"""A hip's largest torque in a person of 70 kg [N m]: a change counts by its part of what the joint can give, so that a
wrist is not shaken for what a hip would not notice."""


@dataclass(frozen=True)
class Effort:
    """What the muscles may do.

    Attributes:
        last: Joint torques of the last step [N m], one per joint dof of the figure, or None in the first.
        strength: Largest torque each dof could give [N m].
        limit: Largest torque each dof may give [N m]; `strength`, or inf.
        held: Torques that cannot change yet, or None.
        band: Half-width around `held` [N m].
    """

    last: Array | None
    strength: Array
    limit: Array
    held: Array | None = None
    band: Array | float = 0.0


def goal_control(
    step: Step, view: View, wishes: Sequence[Objective], effort: Effort, weights: Weights, lifted: Index,
    bounds: Sequence[Constraint],
) -> tuple[list[Objective], list[Constraint]]:  # fmt: skip
    """Objectives and constraints of one step of a figure that nobody holds.

    Args:
        step: State, contacts and pushes.
        view: What the figure sees.
        wishes: Goals of the controller's present state.
        effort: What the muscles did and may do.
        weights: Of everything that is no goal.
        lifted: Points that may leave their contact.
        bounds: Joint limits and further constraints of the user.
    """
    body = view.body
    count = body.joints[1] - body.joints[0]
    if np.shape(effort.limit) != (count,):
        raise InvalidValue(f"Torque limits have shape {np.shape(effort.limit)}; ({count},), one per joint dof, is needed.")
    torque = JointTorque(body.joints)
    reference = effort.last if effort.last is not None else np.zeros(count)
    change = np.full(count, weights.torque_change * (1.0 if effort.last is not None else 1e-3))
    if not view.is_literal:
        change *= (STRONG * body.character.mass * body.character.leg_length / (70.0 * 0.82) / effort.strength) ** 2
    if effort.held is not None and view.is_literal:
        reference = effort.held
    objectives = [
        Objective(torque, reference, change, "torque change"),
        *wishes,
        Objective(ContactCoefficients(), 0.0, weights.coefficients, "share"),
        Objective(JointAcceleration(), 0.0, weights.acceleration, "smallest"),
    ]
    constraints: list[Constraint] = [Equal(RootWrench(of=body.index), 0.0, "root wrench"), *bounds]
    points = step.contacts.points
    if len(points):
        stays = np.setdiff1d(points, lifted)
        if len(stays):
            axes = np.tile(np.eye(3), (len(stays), 1, 1))
            stop = -step.state.point_velocities[stays] / step.dt
            size = np.linalg.norm(stop, axis=1, keepdims=True)
            stop *= np.minimum(1.0, MOST_STOPPING / np.maximum(size, MOST_STOPPING))
            quantity = PointAcceleration(stays, axes)
            objectives.append(Objective(quantity, stop.ravel(), weights.contact_stays, "contact stays"))
        constraints.append(_ground(step, view))
    if np.isfinite(effort.limit).all():
        constraints.append(Within(torque, -effort.limit, effort.limit, None, "torque limit"))
    if effort.held is not None and not view.is_literal:
        lower, upper = effort.held - effort.band, effort.held + effort.band
        constraints.append(Within(torque, lower, upper, None, "reaction delay"))
    return objectives, constraints


MOST_STOPPING = 40.0
"""Largest acceleration asked of a touching point that moves [m/s²]."""
RETURN = 0.2
"""Part of a point's depth in the ground that a step takes back."""


def _ground(step: Step, view: View) -> AtLeast:
    """No touching point goes below its surface in this step: gap + Δt n · ẋ⁺ + bend ≥ 0."""
    points, normals, dt = step.contacts.points, step.contacts.normals, step.dt
    gaps = view.gaps[points]
    speed = np.einsum("ki,ki->k", normals, step.state.point_velocities[points])
    lower = (-(np.where(gaps > 0.0, gaps, RETURN * gaps) + view.bends[points]) / dt - speed) / dt
    return AtLeast(PointAcceleration(points, normals[:, None, :]), lower, None, "ground")
