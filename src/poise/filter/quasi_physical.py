"""The quasi-physical filter as two lists: objectives, and constraints.

    min  W_τ ‖τ − τ*‖² + W_p ‖pose − servo‖² + W_e ‖end effectors − servo‖² + ε ‖λ − λ*‖²
         + W_g ‖center of mass − servo‖²
    s.t. λ ≥ 0,  joint limits,  no point below the ground;  center of mass on its path, where nothing moves it

Source: [Levine2012]_ section 2. Deviates: the pose is tracked by the world angular acceleration of every body (real
Jacobian rows) instead of parent-space targets with a fixed parent, which count a parent's error twice; λ is drawn to λ*
where the paper leaves it undetermined; joint limits and the ground are bounds of the step, where the paper clamps
targets; where the reference hovers, the root wrench that carries it is weighed less; the path of the center of mass is
an objective while something moves the goal, where the paper has a constraint.

Why an objective: once the pressure has reached the edge of a foot, contacts can do no more, and a constraint makes
the root carry all noise of the capture. As an objective, the center of mass leaves its path by some millimeters. Its
weight grows with the goal's speed, so hard pushes begin nearly as with the constraint. It is the paper's constraint
if the goal is "com-xy" or the preset's `weights.goal` is 0, among bodies, and wherever nothing moves the goal.

The baseline of the paper's comparison has proportional-derivative torques on every joint and on the root:

    τ = bias + diag(M) (ω² Δq' + 2 ζ ω Δv'),   contact points stopped as far as their cones allow

The errors Δq', Δv' are those at the end of the step (stable PD, Tan, Liu and Turk 2011), affine in a like any quantity;
with the errors of now the explicit step is unstable at 120 Hz.

Source: [Levine2012]_ section 4, "Importance of Minimization". It is the same step problem with another list: the
torques are a constraint, and the contact forces that are left free stop the points that touch. Nothing minimizes the
root force.

Joint limits are rows on the accelerations. For each limited angle θ (twist, bend, side of a ball; the angle of a hinge)
with rates θ̇ = E ω, one step leads to θ + dt E v + dt² E a (to first order). The bound is widened to the reference's
own prediction, so a clip that breaks a limit by itself still comes back exactly.

Where the constraints conflict, `attempt` solves again with named fallbacks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.core.errors import InvalidValue, StepInfeasible
from poise.core.typing import Array
from poise.filter.frame import limit_angles, limit_rows
from poise.filter.preset import Bounds, PdGains
from poise.filter.reference import ReferenceFrame
from poise.native import Block
from poise.step import AtLeast, Constraint, Equal, Objective, RelativeWeight, Step, StepResult, solve_step
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
        acceleration: Along the world's axes, or along those of `along` [m/s²], shape (3,) or (m,).
        weight: Soft with one.
        label: Name in reports.
        is_out_of_reach: It was to be hard, but no pose can meet it.
        along: Directions in the world, shape (m, 3).
    """

    body: int
    offset: Array
    acceleration: Array
    weight: float | None
    label: str
    is_out_of_reach: bool = False
    along: Array | None = None


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
        coefficients: Contact coefficients of every point [N], shape (P, 4), or None for zero.
        goal, goal_weight: Horizontal acceleration of the center of mass [m/s²], shape (2,), or None; hard if no weight.
        bounds: Joint limits, ground.
        places: Goals of single places.
        joints, joint_weight: Acceleration of every dof, shapes (nv,), where nobody holds the root; then `turning` is
            not used.
        damping, limp_weight: Of joints that only their tissue slows down, as `torque` says with the velocity after the
            step [N m s], shapes (nv,); None for a figure that is not limp.
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
    coefficients: Array | None
    goal: Array | None
    goal_weight: Array | float | None
    bounds: Sequence[AtLeast]
    places: Sequence[PlaceGoal] = ()
    joints: Array | None = None
    joint_weight: Array | None = None
    damping: Array | None = None
    limp_weight: Array | None = None


@dataclass(frozen=True)
class Physicality:
    """The knob: factor on the weight of the root wrench, or its two ends.

    Example:
        >>> strict = poise.Physicality(is_strict=True)  # nobody holds the root
        >>> result = poise.simulate(motion, character, options=poise.Options(physicality=strict))

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
    if t.damping is not None and t.limp_weight is not None:
        limp = JointTorque((6, None), t.damping[6:])
        objectives.append(Objective(limp, t.torque[6:], t.limp_weight[6:], "limp joints"))
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
    coefficients = _COEFFICIENTS if t.coefficients is not None else ContactCoefficients()
    asked = 0.0 if t.coefficients is None else t.coefficients
    objectives.append(Objective(coefficients, asked, share, "contact coefficients"))
    if t.goal is not None:
        quantity = ComAcceleration("xy", without=goal_without)
        if t.goal_weight is not None:
            objectives.append(Objective(quantity, t.goal, t.goal_weight, "center of mass"))
        else:
            constraints.append(Equal(quantity, t.goal, "center of mass"))
    for place in t.places:
        quantity = PlaceAcceleration(place.body, place.offset, place.along)
        if place.weight is None:
            constraints.append(Equal(quantity, place.acceleration, place.label))
        else:
            objectives.append(Objective(quantity, place.acceleration, place.weight, place.label))
    constraints += t.bounds
    return objectives, constraints


REST = 1e-9
"""Weight of accelerations that nothing else decides, times the total mass [kg]: it makes the answer unique."""
LIGHT = 1e-6
"""Weight of the contact coefficients [1/kg]: redundant points share their load."""


def proportional_derivative(
    step: Step, reference: ReferenceFrame, gains: PdGains
) -> tuple[list[Objective], list[Constraint]]:
    """Objectives and constraints of one step of the baseline."""
    state = step.state
    frequency = np.full(step.nv, gains.joint_frequency)
    frequency[:6] = gains.root_frequency
    error = state.model.difference(state.q, reference.q, 1.0)
    stiffness = np.diag(state.M) * frequency**2
    damping = np.diag(state.M) * 2.0 * gains.damping * frequency + step.dt * stiffness
    torque = (
        state.bias
        + stiffness * (error + step.dt * (reference.v - state.v))
        + (damping - step.dt * stiffness) * (reference.v + step.dt * reference.a - state.v)
    )
    mass = state.mass(state.model.roots[0])
    objectives = [Objective(JointAcceleration(), 0.0, REST * mass, "nothing else")]
    points = step.contacts.points
    if points.size:
        stop = -state.point_velocities[points] / step.dt
        axes = np.tile(np.eye(3), (points.size, 1, 1))
        objectives.append(Objective(PointAcceleration(points, axes), stop.ravel(), mass, "stop contacts"))
        objectives.append(Objective(ContactCoefficients(), 0.0, LIGHT, "contact coefficients"))
    return objectives, [Equal(JointTorque(damping=damping), torque, "servo torques")]


class Moving(Protocol):
    """A pose with its rates: coordinates (nq,), velocities (nv,) and accelerations (nv,)."""

    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def a(self) -> Array: ...


class AtRest(NamedTuple):
    """A pose q (nq,) that stays: v and a (nv,) are zero."""

    q: Array
    v: Array
    a: Array


class JointLimits:
    """The limits of a character as arrays, and when they act.

    Attributes:
        lower, upper: Of the angles [rad], shape (L, 3).
        near, share: Rows are made from so near on [rad]; a joint past its limit comes back by such a share a step.
        arrays: What the block "Frame" reads of them, by field.
    """

    def __init__(self, character: Character, bounds: Bounds) -> None:
        self.near, self.share = math.radians(bounds.near_angle), bounds.return_share
        limited = [(i, b) for i, b in enumerate(character.bodies) if b.kind != "free" and b.limits is not None]
        self.nv = character.nv
        self.names = [b.name for _, b in limited]
        self._q = np.array([character.q_addresses[i] for i, _ in limited], dtype=np.int64)
        self._v = np.array([character.v_addresses[i] for i, _ in limited], dtype=np.int64)
        self._hinge = np.array([b.kind == "hinge" for _, b in limited], dtype=np.bool_)
        limits = [b.limits for _, b in limited if b.limits is not None]
        self._rest = np.array([x.rest for x in limits]).reshape(-1, 4)
        self._axis = np.array([x.axis for x in limits]).reshape(-1, 3)
        self._bend = np.array([x.swing_axis for x in limits]).reshape(-1, 3)
        self._side = np.cross(self._axis, self._bend).reshape(-1, 3)
        self.lower = np.array([[x.twist_lower, x.bend_lower, x.side_lower] for x in limits]).reshape(-1, 3)
        self.upper = np.array([[x.twist_upper, x.bend_upper, x.side_upper] for x in limits]).reshape(-1, 3)
        self.lower[self._hinge, 1:], self.upper[self._hinge, 1:] = -np.inf, np.inf
        self.arrays = {
            "limit_q": self._q, "limit_v": self._v, "is_hinge": self._hinge, "limit_rest": self._rest,
            "limit_axis": self._axis, "limit_bend": self._bend, "limit_side": self._side, "limit_below": self.lower,
            "limit_above": self.upper, "limit_part": np.ones(len(self._q)),
        }  # fmt: skip

    def angles(self, q: Array) -> Array:
        """Limited angles [rad] of a pose: (twist, bend, side) of each limited joint, shape (L, 3)."""
        out = np.zeros((len(self._q), 3))
        limit_angles(q, self._q, self._hinge, self._rest, self._axis, self._bend, self._side, out)
        return out

    def constraint(self, q: Array, v: Array, reference: Moving, dt: float, weight: float | None) -> AtLeast | None:
        """Rows for the limits that are near, or None; soft with a weight, hard without."""
        rows, lower = np.empty((self.most, self.nv)), np.empty(self.most)
        near = self.fill(q, v, reference, dt, rows, lower)
        return AtLeast(JointAcceleration(along=rows[:near]), lower[:near], weight, "joint limits") if near else None

    @property
    def most(self) -> int:
        """The largest number of rows."""
        return 3 * len(self._q)

    def fill(self, q: Array, v: Array, reference: Moving, dt: float, rows: Array, lower: Array) -> int:
        """Fill the leading rows (most, nv) and lower bounds (most,) for the limits that are near; how many."""
        angles = np.empty((len(self._q), 3))
        return limit_rows(
            q, v, reference.q, reference.v, reference.a, dt, self.near, self.share, *self.arrays.values(), angles, rows,
            lower,
        )  # fmt: skip

    def stop(self, f: Block) -> None:
        """Fill the rows of a block "Frame" so that a joint that is past its limit stops there and is not brought back.

        The clip, by which limits are widened else, goes on while a figure falls, and would pull at its joints.
        """
        p, zeros = f.pose, np.zeros(self.nv)
        near = self.fill(p.q, p.v, AtRest(p.q, zeros, zeros), f.dt, f.limit_rows, f.limit_lower)
        f.limit_lower[near:], f.values.limit_count = -np.inf, near


FALLBACK_WEIGHT = 1e3
"""Weight of hard constraints that had to give way in a step, times the total mass [kg]; such steps are counted."""


class StepRecord(NamedTuple):
    """The last solved step, for reports."""

    frame: int
    reference: ReferenceFrame
    result: StepResult
    step: Step
    gaps: Array
    velocities: Array
    com: Array


class Attempt(NamedTuple):
    """How a step was solved.

    Attributes:
        result: The answer; None where nothing helps.
        conflict: The hard constraints that conflicted on the fast path, empty where none did.
        fallback: "" for the fast path, else "daqp" or "goal_soft".
    """

    result: StepResult | None
    conflict: str = ""
    fallback: str = ""


def attempt(
    step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint], warm: npt.NDArray[np.bool_],
    guess: Array, mass: float, *, readable: bool,
) -> Attempt:  # fmt: skip
    """The answer of the fast path, else of the full program, else with the goal softened."""
    try:
        result = solve_step(step, objectives, constraints, readable=readable, warm=warm, guess=guess, costs=False)
        return Attempt(result)
    except StepInfeasible as error:
        conflict = " + ".join(error.constraints) or "none"
    try:
        return Attempt(solve_step(step, objectives, constraints, readable=True, costs=False), conflict, "daqp")
    except StepInfeasible:
        pass
    soft: list[Constraint] = []
    for c in constraints:
        if isinstance(c, Equal):
            objectives = [*objectives, Objective(c.quantity, c.target, FALLBACK_WEIGHT * mass, c.name)]
        else:
            soft.append(c if c.weight is not None else replace(c, weight=FALLBACK_WEIGHT * mass))
    try:
        return Attempt(solve_step(step, objectives, soft, costs=False), conflict, "goal_soft")
    except StepInfeasible:
        return Attempt(None, conflict)
