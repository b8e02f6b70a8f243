"""What the controllers wish for in every step, kept where the step problem reads it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.compiled import Table
from poise.filter.footing import Footholds, Footing
from poise.filter.goal import GoalParticle, TrunkSway
from poise.filter.ground import GroundFollower
from poise.filter.limits import JointLimits
from poise.filter.plan import PlannedFrame
from poise.filter.preset import Preset
from poise.filter.reference import ReferenceFrame
from poise.filter.routine_kernel import see, wish
from poise.step import UsualProblem
from poise.terrain import Terrain
from poise.terrain.relief import Relief

Array = npt.NDArray[np.float64]
Pair = tuple[float, float]


class Routine:
    """Writes the servos of bodies, root and contact points, joint limits and ground into a `UsualProblem`.

    Args:
        problem: Where the wishes go.
        footing: Whose offsets are kept up.
        limits: The character's joint limits.
        preset: Weights and gains.
        terrain: Placed terrain.
        follower: How the body follows it.
        sway_share, lean_share: Part of the trunk's sway and lean that each body takes, shape (B,).
        dt, floor, scale: Step [s], height of the reference's own floor [m], leg length / 0.82 m.
        reach: Points are asked no further than so far at once [m]; zero if they may be.

    Attributes:
        gaps: Distances of the contact points to the ground [m], shape (P,).
        moving: Velocity of the ground below them [m/s], shape (P, 3).
        shares: How much each row of a contact point matters, 0 … 2, shape (3 P,).
        off: Way of the root to its wished place [m], shape (3,).
    """

    def __init__(
        self, problem: UsualProblem, footing: Footing, limits: JointLimits, terrain: Terrain, follower: GroundFollower,
        preset: Preset, sway_share: Array, lean_share: Array, *, dt: float, floor: float, scale: float, reach: float,
    ) -> None:  # fmt: skip
        s, m, P = problem.state, problem.state.model, problem.state.model.point_count
        d, e, b = s.data, preset.end_effector, preset.bounds
        self._problem, self._state, self._is_level, self._is_static = problem, s, terrain.is_flat, terrain.is_static
        self.gaps, self.moving, self.shares, self.off = np.zeros(P), np.zeros((P, 3)), np.zeros(3 * P), np.zeros(3)
        normals, heights = np.tile([0.0, 0.0, 1.0], (P, 1)), np.full(P, floor)
        self._plan_gaps, self._climbs, self._landings = np.zeros(P), np.zeros(P), np.zeros((P, 3))
        self._offsets, self._base, self._floors = np.zeros((P, 3)), np.zeros((P, 3)), np.zeros(P)
        self._planned, self._stepping = np.zeros((2, P, 3)), np.zeros((3, P, 3))
        self._feet, self._relief = Table(footing.arrays).at, Relief(terrain.shape, terrain.place)
        self._sight = Table([
            m.point_body, m.tree_root, d.subtree_com, d.cvel, s.body_biases, s.centers, m.point_radii, s.points,
            normals, heights, problem.axes, s.point_velocities, s.point_biases, self.gaps, problem.touching,
            problem.normals, self._base, self._floors, self._offsets, self.moving, self._relief.at, follower.settings,
            follower.state,
        ])  # fmt: skip
        limbs, members = (len(array) for array in (footing.arrays[8], footing.arrays[7]))
        self._sight_sizes = np.array([*s.sizes, limbs, members, self._is_level, 0, 0, not self._is_static])
        self._sight_numbers = np.array([
            dt, floor, preset.contact.height * scale, e.look_ahead, e.clearance_time, *[0.0] * 4,
        ])  # fmt: skip
        self._table = Table([
            d.xquat, d.cvel, d.qpos, d.qvel, s.points, s.point_velocities, problem.axes, self.gaps, self.moving,
            sway_share, lean_share, problem.turn_target, problem.place_target, self.off, np.empty(P), np.empty(P),
            self._plan_gaps, self._climbs, self.shares, problem.point_target, *limits.arrays, problem.limit_rows,
            problem.limit_lower, problem.ground_points, problem.ground_normals, problem.ground_lower, heights,
            self._base, self._floors, *np.zeros((3, P, 3)), self._landings, self._planned, self._stepping,
            follower.state, np.zeros(m.body_count), self._relief.at,
        ])  # fmt: skip
        self._sizes = np.array([*s.sizes, limits.most // 3, 0, 0, 0, self._is_level, 0, 0])
        self._numbers = np.array([
            dt, floor, preset.pose.speed, preset.pose.stiffness, e.speed, e.stiffness, e.contact_time,
            e.contact_height * scale, limits.near, limits.share, b.near_ground * scale, *[0.0] * 20,
            e.clearance * scale, reach,
        ])  # fmt: skip

    def see(
        self, reference: ReferenceFrame, shift: Pair, home: Pair | None, planned: PlannedFrame | None, time: float
    ) -> bool:
        """Fill the state, its points, `gaps`, what stands, and the problem's axes and contacts; False if not finite.

        The state has begun its move.

        Args:
            reference: The undisturbed character.
            shift: Horizontal displacement of the goal [m].
            home: The same when it will have come to rest, or None where nothing moves it.
            planned: The plan over the ground, if there is one.
            time: [s].
        """
        sizes, numbers = self._sight_sizes, self._sight_numbers
        if planned is not None:
            self._offsets[:] = planned.offsets
        if not self._is_static:
            self._relief.move_to(time)
        sizes[7:9] = planned is not None, home is not None
        numbers[5:] = *shift, *(home or shift)
        near = see(self._sight.at, self._state.places.at, self._feet, reference.at, sizes, numbers)
        self._problem.touching_count = near
        return near >= 0

    def wish(
        self, reference: ReferenceFrame, feet: Footholds, particle: GoalParticle, sway: TrunkSway,
        lean: Pair | None, planned: PlannedFrame | None,
    ) -> None:  # fmt: skip
        """Fill the problem's targets and bounds, and `shares` and `off`; after `see` and `Footing.place`.

        Args:
            reference: The undisturbed character.
            feet: What stands and what steps back.
            particle, sway: Of the goal and the trunk, with their rates for this step.
            lean: How much of its share in the slope's turn each body takes, and how far the whole figure lies along
                the slope, 0 … 1; None on level ground.
            planned: The plan over the ground, if there is one.
        """
        p, sizes = self._problem, self._sizes
        if planned is not None:
            self._plan_gaps[:], self._climbs[:], self._landings[:] = planned.gaps, planned.climbs, planned.landings
            self._planned[0], self._planned[1] = planned.velocities, planned.accelerations
        if feet.back is not None:
            self._stepping[0, :, 2] = feet.back.lift
            self._stepping[1], self._stepping[2] = feet.back.velocities, feet.back.accelerations
        self._numbers[11:31] = (
            *particle.shift, particle.height, *particle.velocity, particle.height_velocity,
            *particle.acceleration, particle.height_acceleration,
            *sway.turn, *sway.velocity, *sway.acceleration, *(lean or (0.0, 0.0)),
        )  # fmt: skip
        is_turned = not (sway.is_at_rest and lean is None)
        sizes[5:8] = is_turned, planned is not None, feet.back is not None
        wish(self._table.at, self._feet, reference.at, sizes, self._numbers)
        p.limit_count, p.ground_count = sizes[9:].tolist()
