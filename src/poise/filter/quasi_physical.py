"""The quasi-physical filter as two lists: what is wished for, and what must hold.

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
import numpy.typing as npt

from poise.core.errors import InvalidValue
from poise.filter.load_share import LoadShare
from poise.filter.preset import Weights
from poise.filter.reference import ReferenceFrame
from poise.step import AtLeast, Constraint, Equal, Objective, RelativeWeight, Step
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

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

HOVERING = 0.1
"""Part of the root's weight, but for its horizontal force, that is left where a motion hovers."""


@dataclass(frozen=True)
class PlaceGoal:
    """A place on a body that shall accelerate so; hard without a weight."""

    body: int
    offset: Array
    acceleration: Array
    weight: float | None
    label: str


class Targets(NamedTuple):
    """What the controllers ask of one step.

    Attributes:
        turning: Wished angular acceleration of every body but the world [rad/s²], shape (3 (B − 1),).
        root: Wished acceleration of the root [m/s²], shape (3,).
        points: Wished acceleration of the contact points along their axes [m/s²], shape (3 P,).
        axes: Two tangents and the surface normal at each point, rows, shape (P, 3, 3).
        shares: Weight of each of these, 0 … 2, shape (3 P,), [Levine2012]_ 2.5.
        stands: Points that stand, shape (P,).
        goal: Wished horizontal acceleration of the center of mass [m/s²], shape (2,), or None.
        places: Goals of single places.
        bounds: Joint limits, ground.
        joints: Wished acceleration of every dof, shape (nv,), where nobody holds the root; then `turning` is not used.
        authority: Factor on the weights of what needs the ground's help, below 1 for a figure that falls.
        hung: How far the figure hovers, 0 … 1: then the root, which carries it in the reference, may bring it back,
            since no ground will.
        rise: Factor on the weight of the root's height.
        strengths: Factor on the strength of every body's joint where limbs give, shape (B,), the world's first.
    """

    turning: Array
    root: Array
    points: Array
    axes: Array
    shares: Array
    stands: Flags
    goal: Array | None
    places: Sequence[PlaceGoal]
    bounds: Sequence[AtLeast]
    joints: Array | None = None
    authority: float = 1.0
    hung: float = 0.0
    rise: float = 1.0
    strengths: Array | None = None


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
_PLACE, _COEFFICIENTS = JointAcceleration((0, 3)), ContactCoefficients()


class _Weighed(NamedTuple):
    """What the targets of one step weigh, whichever form its list takes.

    Attributes:
        effort: Torque of every dof, shape (nv,), [1/kg] and [1/(kg m²)].
        place: The root's translation [kg], shape (3,).
        ends: Contact points along their axes [kg], shape (3 P,).
    """

    effort: Array
    place: Array
    ends: Array


def _weighed(targets: Targets, weights: Weights, load: LoadShare, physicality: Physicality) -> _Weighed:
    effort = load.effort(targets.stands, weights.joint_torque, physicality.factor * weights.root_wrench)
    if targets.hung:
        effort = effort.copy()
        effort[2:6] *= 1.0 - (1.0 - HOVERING) * targets.hung
    if targets.strengths is not None:
        effort = effort / targets.strengths[load.dof_body]
    place = targets.authority * weights.pose * load.total
    ends = targets.authority * weights.end_effector * load.total * targets.shares
    return _Weighed(effort, np.array((place, place, place * targets.rise)), ends)


def _turning(targets: Targets, weights: Weights, load: LoadShare) -> Array:
    """Weight of the turning of every body but the world, shape (3 (B − 1),)."""
    held = load.turning(weights.pose)
    return held if targets.strengths is None else held * np.repeat(targets.strengths[1:], 3)


def quasi_physical(
    step: Step,
    reference: ReferenceFrame,
    targets: Targets,
    weights: Weights,
    load: LoadShare,
    *,
    physicality: Physicality,
    goal_without: tuple[int, ...] = (),
) -> tuple[list[Objective], list[Constraint]]:
    """Objectives and constraints of one step of the filter.

    Args:
        step: State, contacts and pushes.
        reference: The undisturbed character at this step.
        targets: What the controllers ask for.
        weights: The preset's weights.
        load: Masses carried by the joints.
        physicality: The knob.
        goal_without: Bodies (of the model) left out of the goal's center of mass.
    """
    effort, place, ends = _weighed(targets, weights, load, physicality)
    objectives: list[Objective] = []
    constraints: list[Constraint] = []
    if physicality.is_strict:
        constraints.append(Equal(_ROOT, 0.0, "root wrench"))
    elif not physicality.is_off:
        objectives.append(Objective(_ROOT, reference.torque[:6], effort[:6], "root wrench"))
    if not physicality.is_off:
        objectives.append(Objective(_MUSCLES, reference.torque[6:], effort[6:], "joint torque"))
    if targets.joints is None:
        objectives.append(Objective(_TURNING, targets.turning, _turning(targets, weights, load), "pose"))
    else:
        hanging = weights.pose * load.hanging
        objectives += [
            Objective(JointAcceleration((6, None)), targets.joints[6:], hanging[6:], "pose"),
            Objective(JointAcceleration((3, 6)), targets.joints[3:6], targets.authority * hanging[3:6], "root turn"),
        ]
    objectives.append(Objective(_PLACE, targets.root, place, "root place"))
    points = PointAcceleration(load.every_point, targets.axes)
    objectives.append(Objective(points, targets.points, ends, "end effectors"))
    if step.coefficient_count:
        objectives.append(
            Objective(
                _COEFFICIENTS,
                reference.coefficients[step.contacts.points].ravel(),
                weights.coefficients if physicality.is_off else RelativeWeight(weights.coefficients, effort),
                "contact coefficients",
            )
        )
    if targets.goal is not None:
        quantity = ComAcceleration("xy", without=goal_without)
        if physicality.is_strict:
            weight = targets.authority * weights.end_effector * load.total
            objectives.append(Objective(quantity, targets.goal, weight, "center of mass"))
        else:
            constraints.append(Equal(quantity, targets.goal, "center of mass"))
    for wish in targets.places:
        quantity = PlaceAcceleration(wish.body, wish.offset)
        if wish.weight is None:
            constraints.append(Equal(quantity, wish.acceleration, wish.label))
        else:
            objectives.append(Objective(quantity, wish.acceleration, wish.weight, wish.label))
    constraints += targets.bounds
    return objectives, constraints
