"""Motion from goals as two lists: objectives and constraints.

    min  w_τ ‖τ − τ_last‖² + Σ goals + w_c ‖contacts stay‖² + small terms
    s.t. root wrench = 0,  λ ≥ 0,  no point below the ground,  |τ| ≤ limit,  τ within a band of τ_held while delayed

Source: [Jain2009]_ eq. (14) and 4.1. Deviates: the delay of 200 ms is a hard band on the torque instead of an
objective, which kinematic goals outweigh (in the literal form it is the paper's objective); torques are limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array, Flags, Index
from poise.goals.observation import Observation
from poise.step import AtLeast, Constraint, Equal, Objective, Quantity, Step, Within
from poise.step.quantities import (
    ContactAcceleration,
    ContactCoefficients,
    JointAcceleration,
    JointTorque,
    PointAcceleration,
    RootWrench,
)

MOST_STOPPING = 40.0
"""Largest acceleration asked of a touching point that moves [m/s²]."""
RETURN = 0.2
"""Part of a point's depth in the ground that a step takes back."""


GOAL = "goal: "
"""Names of constraints that are goals begin so."""
KEPT = 1e4
"""Weight against the acceleration with which a contact that pushes would leave: it must not push itself off."""


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


LITERAL = Weights(torque_change=1e-6, contact_stays=5000.0 * 0.01**2)
"""The paper's weights in SI: its torques and forces are in kN m and kN. Its contacts' weight is not given. With 50 on
their velocity, a hundred times the joints' 0.5, a foot follows its shin by a part of the ankle's speed, up and down
under its load, and contacts do 7 to 23 % of the joints' work; with 5000 they do a thousandth of it."""


STRONG = 250.0
"""A hip's largest torque in a person [N m]: a change counts by its part of what the joint can give, so that a wrist is
not shaken for what a hip would not notice."""


@dataclass(frozen=True)
class Muscles:
    """What the muscles of a figure did and may do.

    Attributes:
        last: Joint torques of the last step [N m], one per joint dof of the figure, or None in the first.
        strength: Largest torque each dof could give [N m].
        limit: Largest torque each dof may give [N m]; `strength`, or inf.
        held: Torques that cannot change yet, or None.
        band: Half-width around `held` [N m].
        damping: Of the joints' tissue [N m s]; it answers at once, and what the muscles do comes on top of it.
        speed: Of the joints now [rad/s].
        stops: How far below and above the muscles' range bones and ligaments reach where a joint is past its limit
            [N m], shape (2, nv − 6), or None where none is.
    """

    last: Array | None
    strength: Array
    limit: Array
    held: Array | None = None
    band: Array | float = 0.0
    damping: Array | float = 0.0
    speed: Array | float = 0.0
    stops: Array | None = None


def figure_control(
    observed: Observation,
    goals: Sequence[Objective | AtLeast],
    goal_constraints: Sequence[Objective | AtLeast],
    muscles: Muscles,
    weights: Weights,
) -> tuple[list[Objective], list[Constraint]]:
    """Objectives and constraints of one figure that nobody holds.

    Args:
        observed: What the figure observes.
        goals: Objectives and soft bounds of the controller's present state.
        goal_constraints: Goals that must be met: hard rows.
        muscles: What they did and may do.
        weights: Of everything that is not a goal.

    Raises:
        InvalidValue: if there is not one torque limit for each joint dof.
    """
    body = observed.body
    count = body.joints[1] - body.joints[0]
    if np.shape(muscles.limit) != (count,):
        raise InvalidValue(
            f"Torque limits have shape {np.shape(muscles.limit)}; ({count},), one per joint dof, is needed."
        )
    # muscles give τ + d v⁺ = (τ + Δt d a) + d v, so that tissue, −d v⁺, and muscles together are τ
    damping = np.full(count, muscles.damping) if np.ndim(muscles.damping) == 0 else np.asarray(muscles.damping)
    torque, tissue = JointTorque(body.joints, damping), damping * muscles.speed
    reference = muscles.last if muscles.last is not None else np.zeros(count)
    change = np.full(count, weights.torque_change * (1.0 if muscles.last is not None else 1e-3))
    if not observed.is_literal:
        change *= (STRONG / muscles.strength) ** 2
    if muscles.held is not None and observed.is_literal:
        reference = muscles.held
    objectives = [Objective(torque, reference - tissue, change, "torque change")]
    objectives += [g for g in goals if isinstance(g, Objective)]
    constraints: list[Constraint] = [Equal(RootWrench(of=body.index), 0.0, "root wrench")]
    constraints += [g for g in goals if isinstance(g, AtLeast)]
    constraints += [
        Equal(g.quantity, g.target, f"{GOAL}{g.name}")
        if isinstance(g, Objective)
        else replace(g, weight=None, label=f"{GOAL}{g.name}")
        for g in goal_constraints
    ]
    below, above = muscles.stops if muscles.stops is not None else (0.0, 0.0)
    is_limited = bool(np.isfinite(muscles.limit).all())
    if muscles.held is not None and not observed.is_literal:
        held = np.clip(muscles.held, -muscles.limit, muscles.limit)
        lower, upper = np.maximum(held - muscles.band, -muscles.limit), np.minimum(held + muscles.band, muscles.limit)
        constraints.append(Within(torque, lower - tissue - below, upper - tissue + above, None, "reaction delay"))
    elif is_limited:
        lower, upper = -muscles.limit - tissue - below, muscles.limit - tissue + above
        constraints.append(Within(torque, lower, upper, None, "torque limit"))
    return objectives, constraints


@dataclass(frozen=True)
class Touching:
    """The contacts of one step that push, and where they must not go.

    Attributes:
        points, others: Index of each contact's point, and of the point it touches or -1 for the world, shape (K,).
        normals: Away from what is touched, shape (K, 3).
        velocities: Of the points against each other [m/s], shape (K, 3).
        gaps: Now [m], shape (K,).
        bends: What the way of the gap in this step has beyond what its acceleration says [m], shape (K,).
        drifts: Way of the touched matter in this step [m], shape (K, 3).
        stays: How much it matters that the point stays, in parts of `Weights.contact_stays`; zero where it may move as
            it likes, shape (K,).
        rest: Time in which its point comes to rest [s], shape (K,): the step, where nothing else stops it.
        kept: It sinks without a force and would leave with one: it gets one and does neither, shape (K,).
    """

    points: Index
    others: Index
    normals: Array
    velocities: Array
    gaps: Array
    bends: Array
    drifts: Array
    stays: Array
    rest: Array
    kept: Flags


@dataclass(frozen=True)
class Held:
    """Grips of one step: points that stay on what they hold.

    Attributes:
        points, others: As in `Touching`, shape (G,).
        ways: Way each point must go, against the other, in this step [m], shape (G, 3).
        bends: What its way has beyond what its acceleration says [m], shape (G, 3).
    """

    points: Index
    others: Index
    ways: Array
    bends: Array


def contact_control(
    step: Step, touching: Touching, held: Held, weights: Weights
) -> tuple[list[Objective], list[Constraint]]:
    """Objectives and constraints of all contacts: they stay if they can, never sink, and grips hold."""
    dt = step.dt
    objectives = [
        Objective(ContactCoefficients(), 0.0, weights.coefficients, "share"),
        Objective(JointAcceleration(), 0.0, weights.acceleration, "smallest"),
    ]
    constraints: list[Constraint] = []
    t = touching
    if len(t.points):
        velocities = t.velocities
        k = np.flatnonzero(t.stays > 0.0)
        if len(k):
            stop = (t.drifts[k] / dt - velocities[k]) / t.rest[k, None]
            size = np.sqrt(np.einsum("ki,ki->k", stop, stop))[:, None]
            stop *= np.minimum(1.0, MOST_STOPPING / np.maximum(size, MOST_STOPPING))
            stays = acceleration_of(t.points[k], t.others[k], world_axes(len(k)))
            objectives.append(
                Objective(stays, stop.ravel(), weights.contact_stays * np.repeat(t.stays[k], 3), "contact stays")
            )
        # gap + Δt n · ẋ⁺ + bend ≥ 0; a part of what has already sunk comes back
        gaps = np.where(t.gaps > 0.0, t.gaps, RETURN * t.gaps) + t.bends
        lower = -(gaps / dt + np.einsum("ki,ki->k", t.normals, velocities)) / t.rest
        constraints.append(AtLeast(acceleration_of(t.points, t.others, t.normals[:, None, :]), lower, None, "ground"))
        if len(k := np.flatnonzero(t.kept)):
            along = acceleration_of(t.points[k], t.others[k], t.normals[k, None, :])
            objectives.append(Objective(along, lower[k], KEPT, "contact kept"))
    if len(held.points):
        velocities = relative(step.state.point_velocities, held.points, held.others)
        target = ((held.ways - held.bends) / dt - velocities) / dt
        holds = acceleration_of(held.points, held.others, world_axes(len(held.points)))
        constraints.append(Equal(holds, target.ravel(), "grip"))
    return objectives, constraints


def relative(values: Array, points: Index, others: Index) -> Array:
    """Values (P, 3) at points (K,), less those at the points they touch; the world's are zero. Shape (K, 3)."""
    out = values[points]
    moving = others >= 0
    if moving.any():
        out = out - np.where(moving[:, None], values[others], 0.0)
    return out


@lru_cache(maxsize=64)
def world_axes(count: int) -> Array:
    """The axes of the world for each of so many points, shape (count, 3, 3), read-only."""
    axes = np.eye(3)[None].repeat(count, axis=0)
    axes.setflags(write=False)
    return axes


def acceleration_of(points: Index, others: Index, axes: Array) -> Quantity:
    """Acceleration of points (K,) against what they touch, along axes (K, m, 3)."""
    return PointAcceleration(points, axes) if (others < 0).all() else ContactAcceleration(points, others, axes)
