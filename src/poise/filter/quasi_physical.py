"""The quasi-physical filter as two lists: objectives, and constraints.

    min  W_τ ‖τ − τ*‖² + W_p ‖pose − servo‖² + W_e ‖end effectors − servo‖² + ε ‖λ − λ*‖²
    s.t. center of mass on its path,  λ ≥ 0,  joint limits,  no point below the ground

Source: [Levine2012]_ section 2. Deviates: the pose is tracked by the world angular acceleration of every body (real
Jacobian rows) instead of parent-space targets with a fixed parent, which count a parent's error twice; λ is drawn to λ*
where the paper leaves it undetermined; joint limits and the ground are bounds of the step, where the paper clamps
targets; where the reference hovers, the root wrench that carries it is weighed less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.step import AtLeast, Constraint, Equal, Objective, RelativeWeight
from poise.step.quantities import (
    BodyAngularAcceleration,
    ComAcceleration,
    ContactCoefficients,
    JointAcceleration,
    JointTorque,
    PlaceAcceleration,
    PointAcceleration,
    RootWrench,
)

HOVERING = 0.1
"""Part of the root's weight, but for its horizontal force, that is left where a motion hovers."""


@dataclass(frozen=True)
class PlaceGoal:
    """A place on a body that shall accelerate so; hard without a weight.

    Attributes:
        body, offset: The place [m], in the body's frame.
        acceleration: [m/s²], shape (3,).
        weight: Soft with one.
        label: Name in reports.
        is_out_of_reach: It was to be hard, but no pose can meet it.
    """

    body: int
    offset: Array
    acceleration: Array
    weight: float | None
    label: str
    is_out_of_reach: bool = False


class Targets(NamedTuple):
    """What the controllers ask of one step, and how much each matters. For most frames these are fields of the block
    "Frame", which every step fills anew, so that the list made of them stays the same.

    Attributes:
        torque, effort: Torque of every dof [N m, N], shapes (nv,).
        turning, turn_weight: Angular acceleration of every body but the world [rad/s²], shapes (3 (B − 1),).
        root, root_weight: Acceleration of the root [m/s²], shapes (3,).
        points, point_weight: Acceleration of the contact points along their axes [m/s²], shapes (3 P,); weights 0 … 2
            times one, [Levine2012]_ 2.5.
        axes: Two tangents and the surface normal at each point, rows, shape (P, 3, 3).
        coefficients: Contact coefficients of every point [N], shape (P, 4).
        goal, goal_weight: Horizontal acceleration of the center of mass [m/s²], shape (2,), or None.
        bounds: Joint limits, ground.
        places: Goals of single places.
        joints, joint_weight: Acceleration of every dof, shapes (nv,), where nobody holds the root; then `turning` is
            not used.
    """

    torque: Array
    effort: Array
    turning: Array
    turn_weight: Array
    root: Array
    root_weight: Array
    points: Array
    point_weight: Array
    axes: Array
    coefficients: Array
    goal: Array | None
    goal_weight: float
    bounds: Sequence[AtLeast]
    places: Sequence[PlaceGoal] = ()
    joints: Array | None = None
    joint_weight: Array | None = None


@dataclass(frozen=True)
class Physicality:
    """The knob: factor on the weight of the root wrench, or its two ends.

    Attributes:
        factor: 1 is the paper's weight; 5 exaggerates.
        is_off: Drop the torque term of all joints.
        is_strict: Root wrench zero as a constraint; the goal is then an objective, since both cannot always hold.
    """

    factor: float = 1.0
    is_off: bool = False
    is_strict: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.factor) and self.factor > 0.0):
            raise InvalidValue(f"The physicality factor is {self.factor}; give a positive number.")
        if self.is_off and self.is_strict:
            raise InvalidValue("Physicality cannot be off and strict at once; choose one.")


_ROOT, _MUSCLES, _TURNING = RootWrench(), JointTorque((6, None)), BodyAngularAcceleration()
_PLACE, _COEFFICIENTS = JointAcceleration((0, 3)), ContactCoefficients(is_by_point=True)


def quasi_physical(
    targets: Targets, *, coefficient_share: float, physicality: Physicality, goal_without: tuple[int, ...] = ()
) -> tuple[list[Objective], list[Constraint]]:
    """Objectives and constraints of one step of the filter.

    Args:
        targets: What the controllers ask for.
        coefficient_share: Weight of the contact coefficients, against what torques weigh.
        physicality: The knob.
        goal_without: Bodies (of the model) left out of the goal's center of mass.
    """
    t, every = targets, np.arange(len(targets.axes))
    objectives: list[Objective] = []
    constraints: list[Constraint] = []
    if physicality.is_strict:
        constraints.append(Equal(_ROOT, 0.0, "root wrench"))
    elif not physicality.is_off:
        objectives.append(Objective(_ROOT, t.torque[:6], t.effort[:6], "root wrench"))
    if not physicality.is_off:
        objectives.append(Objective(_MUSCLES, t.torque[6:], t.effort[6:], "joint torque"))
    if t.joints is None or t.joint_weight is None:
        objectives.append(Objective(_TURNING, t.turning, t.turn_weight, "pose"))
    else:
        objectives += [
            Objective(JointAcceleration((6, None)), t.joints[6:], t.joint_weight[6:], "pose"),
            Objective(JointAcceleration((3, 6)), t.joints[3:6], t.joint_weight[3:6], "root turn"),
        ]
    objectives += [
        Objective(_PLACE, t.root, t.root_weight, "root place"),
        Objective(PointAcceleration(every, t.axes), t.points, t.point_weight, "end effectors"),
    ]
    share = coefficient_share if physicality.is_off else RelativeWeight(coefficient_share, t.effort)
    objectives.append(Objective(_COEFFICIENTS, t.coefficients, share, "contact coefficients"))
    if t.goal is not None:
        quantity = ComAcceleration("xy", without=goal_without)
        if physicality.is_strict:
            objectives.append(Objective(quantity, t.goal, t.goal_weight, "center of mass"))
        else:
            constraints.append(Equal(quantity, t.goal, "center of mass"))
    for place in t.places:
        quantity = PlaceAcceleration(place.body, place.offset)
        if place.weight is None:
            constraints.append(Equal(quantity, place.acceleration, place.label))
        else:
            objectives.append(Objective(quantity, place.acceleration, place.weight, place.label))
    constraints += t.bounds
    return objectives, constraints
