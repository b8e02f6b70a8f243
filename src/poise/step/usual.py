"""The problem that most steps pose, with storage that is kept from step to step.

A figure that follows a motion has the same list at every step, and only the numbers in it change:

    torque of every dof, turning of every body, place of the root, contact points along axes, contact coefficients;
    center of mass on its path, joint rows and points along normals above their bounds (soft).

So the arrays of these numbers stand ready to be written to, and one compiled call (`assemble`) brings them to the
normal form that `condense` makes of a list of any other kind. `UsualProblem.lists` is the same problem as objects.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.compiled import Table
from poise.physics import State
from poise.step import condensed
from poise.step.assemble import assemble
from poise.step.balance import finish
from poise.step.condensed import solve_table
from poise.step.constraint import AtLeast, Constraint, Equal
from poise.step.objective import Objective
from poise.step.quantities import (
    BodyAngularAcceleration,
    ComAcceleration,
    ContactCoefficients,
    JointAcceleration,
    JointTorque,
    PointAcceleration,
)
from poise.step.result import Certificate, StepResult
from poise.step.step import Step

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class UsualProblem:
    """Numbers of the usual lists, for a state that is moved from step to step.

    Write to the arrays, set the counts, then `solve`. Nothing is checked here: numbers that are not finite, or negative
    weights, end in a status that is not `condensed.SOLVED`.

    Args:
        state: The state; its storage is read at each solve.
        friction: Coulomb coefficient of all contacts.
        limited: The most rows on joints.

    Attributes:
        torque_weight, torque_target: Of every dof, shape (nv,).
        turn_weight, turn_target: Of the turning of every body but the world, three rows each, shape (3 (B − 1),).
        place_weight, place_target: Of the root's translation, shape (3,).
        point_weight, point_target: Of the contact points' accelerations along `axes`, shape (3 P,).
        axes: Rows to measure along, shape (P, 3, 3).
        coefficient_target: λ* of every point, shape (P, 4).
        coefficient_share: Weight of λ − λ*, as a share of the mean diagonal of B W Bᵀ, W the torque weights.
        touching, normals, touching_count: Points in contact and their normals, leading rows of (P,), (P, 3).
        external: Generalized force of pushes and pulls, shape (nv,).
        goal: Acceleration of the center of mass along x and y [m/s²], shape (2,); used where `has_goal`.
        limit_rows, limit_lower, limit_count: Bounds on accelerations of joints, leading rows of (3 L, nv), (3 L,).
        ground_points, ground_normals, ground_lower, ground_count: Bounds on points, of (P,), (P, 1, 3), (P,).
        limit_weight, ground_weight: Of these bounds.
        expected: Coefficients expected to be positive, shape (P, 4); a solve leaves those that are.
        guess: Accelerations expected, shape (nv,): bounds they would break are expected to act.
    """

    def __init__(self, state: State, friction: float, limited: int) -> None:
        m, d, self.state, self.friction = state.model, state.data, state, friction
        nv, bodies, points, rows = m.nv, m.body_count, m.point_count, limited + m.point_count
        n, columns = 4 * points, 3 * points
        self.torque_weight, self.torque_target, self.external = np.zeros((3, nv))
        self.turn_weight, self.turn_target = np.zeros((2, 3 * (bodies - 1)))
        self.place_weight, self.place_target, self.goal = np.zeros(3), np.zeros(3), np.zeros(2)
        self.point_weight, self.point_target = np.zeros((2, 3 * points))
        self.axes, self.coefficient_target = np.zeros((points, 3, 3)), np.zeros((points, 4))
        self.coefficient_share, self.limit_weight, self.ground_weight = 0.0, 0.0, 0.0
        self.touching, self.normals = np.zeros(points, dtype=np.int64), np.zeros((points, 3))
        self.limit_rows, self.limit_lower = np.zeros((limited, nv)), np.zeros(limited)
        self.ground_points, self.ground_normals = np.zeros(points, dtype=np.int64), np.zeros((points, 1, 3))
        self.ground_lower, self.guess = np.zeros(points), np.zeros(nv)
        self.expected = np.zeros((points, 4), dtype=np.bool_)
        self.touching_count = self.limit_count = self.ground_count = 0
        self.has_goal = True
        # the normal form, as in `condense.Condensed`, and the answer
        directions, owner = np.empty((n, 3)), np.empty(n, dtype=np.int64)
        share, first, width = np.empty((n, 6)), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        acts, Q, b = np.empty((nv, columns)), np.empty((nv, nv)), np.empty(nv)
        S, f, C = np.empty((columns, columns)), np.empty(columns), np.empty((columns, nv))
        G, D, g = np.empty((2, nv)), np.empty((2, columns)), np.empty(2)
        J, X, lower, bound_weight = np.empty((rows, nv)), np.empty(0), np.empty(rows), np.empty(rows)
        weight, target, warm, taken = np.empty(n), np.empty(n), np.empty(n, np.bool_), np.empty(rows, np.bool_)
        # the answer in one block, so that a result owns a copy of it by one call
        self._block = np.empty(2 * nv + 7 * points)
        self._parts = nv, 2 * nv, 2 * nv + 3 * points
        a, torque, forces, x = np.split(self._block, self._parts)
        self._a, self._slacks, self._residuals = a, np.empty(rows), np.empty(4)
        self._acting = np.empty(rows, np.bool_)
        self._sizes, self._numbers = np.zeros(14, dtype=np.int64), np.zeros(4)
        self._solved_sizes = self._sizes[8:]
        self._sizes[:4] = nv, bodies, points, m.roots[0]
        self._form = Table([
            m.parents, m.dof_first, m.dof_count, m.dof_body, m.tree_root, m.point_body, m.body_masses, m.subtree_masses,
            state.M, state.bias, d.cdof, d.cvel, d.xipos, d.subtree_com, state.body_biases, state.points,
            state.point_biases, self.torque_weight, self.torque_target, self.turn_weight, self.turn_target,
            self.place_weight, self.place_target, self.point_weight, self.point_target, self.axes,
            self.coefficient_target, self.external, self.goal, self.touching, self.normals, self.limit_rows,
            self.limit_lower, self.ground_points, self.ground_normals, self.ground_lower, np.empty(nv), directions,
            owner, share, first, width, acts, Q, b, S, f, C, weight, target, G, D, g, J, lower, bound_weight,
            np.empty((bodies, 6, 6)), np.empty((bodies, 6)), warm, taken, self.guess, np.arange(points), self.expected,
            np.empty((3, nv)), np.empty(3), np.empty((nv, nv)), condensed.ADDRESSES,
        ])  # fmt: skip
        self._problem = Table([
            Q, b, S, f, C, G, D, g, J, X, lower, bound_weight, share, first, width, weight, target, warm, taken,
            a, x, self._slacks, self._residuals,
        ])  # fmt: skip
        self._answer = Table([
            state.M, state.bias, share, first, width, acts, self.external, directions, owner, a, x,
            np.empty(nv), torque, forces, taken, self._slacks, self._acting, self.touching, self.expected,
            d.engine,
        ])  # fmt: skip

    def solve(self) -> tuple[int, StepResult | None]:
        """Status (see `condensed`) and answer, None unless it is SOLVED."""
        sizes, numbers = self._sizes, self._numbers
        sizes[4:8] = self.touching_count, self.limit_count, self.ground_count, 2 * self.has_goal
        numbers[:] = self.friction, self.coefficient_share, self.limit_weight, self.ground_weight
        assemble(self._form.at, sizes, numbers)
        status = solve_table(self._problem.at, self._solved_sizes)
        if status != condensed.SOLVED:
            return status, None
        left = finish(self._answer.at, sizes)
        primal, dual, gap, solves = self._residuals.tolist()
        answer, (first, second, third), k = self._block.copy(), self._parts, self.touching_count
        return status, StepResult(
            answer[:first], answer[third : third + 4 * k], answer[first:second],
            answer[second : second + 3 * k].reshape(k, 3), Certificate(primal, dual, gap, left), "active set",
            int(solves), self._acting[: self.limit_count + self.ground_count].copy(),
        )  # fmt: skip

    def lists(self, step: Step) -> tuple[list[Objective], list[Constraint]]:
        """The same problem as objectives and constraints of a step on the same state and contacts."""
        every = np.arange(self.state.model.point_count)
        objectives = [
            Objective(JointTorque(), self.torque_target, self.torque_weight, "joint torque"),
            Objective(BodyAngularAcceleration(), self.turn_target, self.turn_weight, "pose"),
            Objective(JointAcceleration((0, 3)), self.place_target, self.place_weight, "root place"),
            Objective(PointAcceleration(every, self.axes), self.point_target, self.point_weight, "end effectors"),
        ]
        if step.coefficient_count:
            weight = self.coefficient_share * step.columns.mean_diagonal(self.torque_weight)
            target = self.coefficient_target[self.touching[: self.touching_count]].ravel()
            objectives.append(Objective(ContactCoefficients(), target, weight, "contact coefficients"))
        constraints: list[Constraint] = []
        if self.has_goal:
            constraints.append(Equal(ComAcceleration("xy"), self.goal, "center of mass"))
        if k := self.limit_count:
            along = JointAcceleration(along=self.limit_rows[:k])
            constraints.append(AtLeast(along, self.limit_lower[:k], self.limit_weight, "joint limits"))
        if k := self.ground_count:
            points = PointAcceleration(self.ground_points[:k], self.ground_normals[:k])
            constraints.append(AtLeast(points, self.ground_lower[:k], self.ground_weight, "ground"))
        return objectives, constraints
