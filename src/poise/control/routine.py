"""What the controllers wish for in every step, kept where the step problem reads it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.compiled import Table
from poise.control.footing import Footholds, Footing
from poise.control.goal import GoalParticle, TrunkSway
from poise.control.ground import GroundFollower
from poise.control.limits import JointLimits
from poise.control.plan import PlannedFrame
from poise.control.preset import Preset
from poise.control.reference import ReferenceFrame
from poise.control.routine_kernel import see, wish
from poise.step import UsualProblem

Array = npt.NDArray[np.float64]


class Routine:
    """Writes the servos of bodies, root and contact points, joint limits and ground into a `UsualProblem`.

    Args:
        problem: Where the wishes go.
        footing: Whose offsets are kept up.
        limits: The character's joint limits.
        preset: Weights and gains.
        sway_share: Part of the trunk's sway that each body takes, shape (B,).
        dt, floor, scale: Step [s], height of the reference's own floor [m], leg length / 0.82 m.

    Attributes:
        lean: Part of the slope's turn that each body takes, shape (B,); to be written before `wish`.
        normals, heights: Of the ground below the contact points, (P, 3), (P,) [m]; to be written before `see` where it
            is not level.
        gaps: Their distances to it [m], shape (P,).
        stands: Those that stand, shape (P,).
        moving: Velocity of the ground below them [m/s], shape (P, 3); to be written before where it moves.
        shares: How much each row of a contact point matters, 0 … 2, shape (3 P,).
        off: Way of the root to its wished place [m], shape (3,).
    """

    def __init__(
        self, problem: UsualProblem, footing: Footing, limits: JointLimits, preset: Preset, sway_share: Array, *,
        dt: float, floor: float, scale: float,
    ) -> None:  # fmt: skip
        s, m, P = problem.state, problem.state.model, problem.state.model.point_count
        self._problem, self._state = problem, s
        self.lean, self.gaps, self.moving = np.zeros(m.body_count), np.zeros(P), np.zeros((P, 3))
        self.shares, self.off = np.zeros(3 * P), np.zeros(3)
        self._plan_gaps, self._climbs, self._feet = np.zeros(P), np.zeros(P), np.zeros((3, P, 3))
        self._table = Table([
            s.data.xquat, s.data.cvel, s.data.qpos, s.data.qvel, s.points, s.point_velocities, problem.axes, self.gaps,
            self.moving, sway_share, self.lean, problem.turn_target, problem.place_target, self.off, np.empty(P),
            np.empty(P), self._plan_gaps, self._climbs, self.shares, problem.point_target, *limits.arrays,
            problem.limit_rows, problem.limit_lower, problem.ground_points, problem.ground_normals,
            problem.ground_lower,
        ])  # fmt: skip
        self._own_feet = Table(list(self._feet)).at
        self._feet_at = self._own_feet.copy()
        self._sizes = np.array([m.nq, m.nv, m.body_count, P, limits.most // 3, 0, 0, 0, 0])
        e, b = preset.end_effector, preset.bounds
        up = np.zeros((P, 3))
        up[:, 2] = 1.0
        self.normals, self.heights, self.stands = up, np.full(P, floor), np.zeros(P, dtype=np.bool_)
        self._offsets, d = np.zeros((P, 3)), s.data
        self._sight = Table([
            m.point_body, m.tree_root, d.subtree_com, d.cvel, s.body_biases, s.centers, m.point_radii, s.points,
            self.normals, self.heights, problem.axes, m.parents, m.dof_first, m.dof_count, m.point_offsets, d.xpos,
            d.xmat, d.cdof, d.cdof_dot, d.qpos, d.qvel, np.zeros(m.nv), s.point_velocities, s.point_biases, self.gaps,
            problem.touching, problem.normals, np.empty((P, 3)), np.empty(P), self._offsets, self.moving,
            *footing.held, self.stands,
        ])  # fmt: skip
        self._sight_sizes = np.array([m.nq, m.nv, m.body_count, P, 0, 0])
        self._sight_numbers = np.array([dt, floor, preset.contact.height * scale])
        self._numbers = np.array([
            dt, floor, preset.pose.speed, preset.pose.stiffness, e.speed, e.stiffness, e.contact_time,
            e.contact_height * scale, limits.near, limits.share, b.near_ground * scale, *[0.0] * 24,
        ])  # fmt: skip

    def see(self, reference: ReferenceFrame, planned: PlannedFrame | None, *, is_level: bool) -> bool:
        """Fill the state's points, `gaps`, `stands`, and the problem's axes and contacts; False if it is not finite.

        The state has begun its move; above other than level ground its bodies have been placed.
        """
        if planned is not None:
            self._offsets[:] = planned.offsets
        self._sight_sizes[4:] = is_level, planned is not None
        near = see(self._sight.at, reference.at, self._sight_sizes, self._sight_numbers)
        self._problem.touching_count = near
        return near >= 0

    def wish(
        self, reference: ReferenceFrame, feet: Footholds, particle: GoalParticle, sway: TrunkSway,
        ground: GroundFollower, planned: PlannedFrame | None,
    ) -> None:  # fmt: skip
        """Fill the problem's targets and bounds, and `shares` and `off`."""
        p, sizes, numbers = self._problem, self._sizes, self._numbers
        # what is not the reference's own is put where the kernel can find it
        own, at = self._own_feet, self._feet_at
        self._feet[0], at[1], at[2] = feet.positions, reference.at[7], reference.at[8]
        if feet.velocities is not reference.point_velocities:
            self._feet[1], at[1] = feet.velocities, own[1]
        if feet.accelerations is not reference.point_accelerations:
            self._feet[2], at[2] = feet.accelerations, own[2]
        if planned is not None:
            self._plan_gaps[:], self._climbs[:] = planned.gaps, planned.climbs
        is_turned = not (sway.is_at_rest and ground.is_level)
        numbers[11:20] = (
            *particle.shift.tolist(), ground.height, *particle.velocity.tolist(), ground.velocity,
            *particle.acceleration.tolist(), ground.acceleration,
        )  # fmt: skip
        if is_turned:
            numbers[20:23], numbers[23:26], numbers[26:29] = sway.turn, sway.velocity, sway.acceleration
            numbers[29:32], numbers[32:35] = ground.turn, ground.turn_velocity
        sizes[5], sizes[6] = is_turned, planned is not None
        wish(self._table.at, reference.at, at, sizes, numbers)
        p.limit_count, p.ground_count = sizes[7:].tolist()
