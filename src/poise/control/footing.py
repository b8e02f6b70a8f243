"""Where contact points should be: the reference moved onto the terrain, and held where it stands.

A standing point keeps the horizontal offset it had when it touched, so it sticks; its height is the reference's above
the terrain below it. A swinging point goes from the offset it left with to the offset of its landing place, by the
reference's own timing, and clears what lies ahead. Source: [Levine2012]_ 2.5. Deviates: the paper looks 0.2 s ahead for
every point, which makes feet step high on slopes; here the landing place is used where it is known, and the look-ahead
is left for points with none. All offsets are zero on flat ground with nothing pushing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.control import kernels
from poise.control.plan import PlannedFrame
from poise.control.preset import EndEffector, Stepping
from poise.control.reference import ReferenceFrame
from poise.control.stepping import SteppingBack
from poise.terrain import Terrain

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Footholds(NamedTuple):
    """Targets of the contact points at one step.

    Attributes:
        positions, velocities, accelerations: Wished place [m], velocity and acceleration of each point, shape (P, 3).
        stands: Points that stand: touching in the reference and near the ground here, shape (P,).
    """

    positions: Array
    velocities: Array
    accelerations: Array
    stands: Flags


class Footing:
    """Holds the offsets of standing and swinging points from step to step.

    Args:
        settings, stepping: The end-effector and the stepping part of the preset.
        terrain: Placed terrain.
        floor: Height of the reference's own floor [m].
        feet: Groups of points that land together, for footholds on treads.
        limbs: Groups of points that step back together.
        scale: Leg length / 0.82 m; scales lengths.
    """

    def __init__(
        self,
        settings: EndEffector,
        stepping: Stepping,
        terrain: Terrain,
        floor: float,
        feet: tuple[tuple[int, ...], ...],
        limbs: tuple[tuple[int, ...], ...],
        count: int,
        scale: float,
    ) -> None:
        self._settings, self._terrain, self._floor, self.feet, self._scale = settings, terrain, floor, feet, scale
        self._stepping = SteppingBack(stepping, limbs, max(1, len(feet) // 2), count, scale)
        self._offset = np.zeros((count, 3))
        self._left_with = np.zeros((count, 3))
        self._stood = np.zeros(count, dtype=np.bool_)
        self._swung = np.zeros(count, dtype=np.bool_)
        self._shift = np.zeros((count, 2))
        self._chosen = np.full((count, 2), np.nan)
        self._nowhere = np.zeros(0)
        self._no_lift = np.zeros(count)

    @property
    def held(self) -> tuple[Array, Array, Flags, Flags]:
        """Offsets of the points (P, 3), those they left with (P, 3), which stood and which swung (P,): see `stick`."""
        return self._offset, self._left_with, self._stood, self._swung

    def place(
        self, reference: ReferenceFrame, points: Array, velocities: Array, heights: Array, stands: Flags,
        ground_velocities: Array | None, goal_shift: Array, home: Array | None, time: float, dt: float,
        planned: PlannedFrame | None = None,
    ) -> Footholds:  # fmt: skip
        """Targets for this step.

        Args:
            reference: The undisturbed character.
            points, velocities: Of the simulated points, shape (P, 3).
            heights: Terrain under them [m], shape (P,).
            stands: Those that stand, with offsets kept up by `kernels.stick`, shape (P,).
            ground_velocities: Of the terrain under them [m/s], shape (P, 3), or None where it rests.
            goal_shift: Horizontal displacement of the goal [m], shape (2,).
            home: The same when the goal will have come to rest, or None where nothing moves it.
            time: [s].
            dt: Length of the step [s].
            planned: The plan over the ground, if there is one.
        """
        back = None
        if home is not None:
            back = self._stepping.advance(
                self._offset, reference.flags, stands, reference.times_to_lift, home,
                math.dist(goal_shift.tolist(), home.tolist()), dt,
            )  # fmt: skip
        held = stands if back is None else stands | (back.moves & reference.flags)
        e = self._settings
        speeds, accelerations = reference.point_velocities, reference.point_accelerations
        if planned is None:
            targets = kernels.foothold_targets(
                reference.points, reference.landings, reference.progress, self._left_with, self._offset, held,
                goal_shift, self._shift, heights, self._floor,
                self._ground(reference, points, velocities, goal_shift, time), e.clearance * self._scale,
            )  # fmt: skip
        else:
            base, floors = reference.points + planned.offsets, self._floor + planned.offsets[:, 2]
            targets = kernels.planned_targets(
                base, floors, np.isfinite(planned.landings[:, 0]), reference.progress, self._left_with, self._offset,
                held, goal_shift, self._lifts(planned, goal_shift, time), heights, e.clearance * self._scale,
            )  # fmt: skip
            speeds, accelerations = speeds + planned.velocities, accelerations + planned.accelerations
        if ground_velocities is not None:
            speeds = speeds + np.where(stands[:, None], ground_velocities, 0.0)
        if back is not None:
            targets[:, 2] += back.lift
            speeds, accelerations, stands = (
                speeds + back.velocities, accelerations + back.accelerations, stands & ~back.moves,
            )  # fmt: skip
        return Footholds(targets, speeds, accelerations, stands)

    def _lifts(self, planned: PlannedFrame, goal_shift: Array, time: float) -> Array:
        """How much higher the points land for being shifted with the goal [m], shape (P,)."""
        if not goal_shift.any():
            return self._no_lift
        places = np.where(np.isfinite(planned.landings[:, :2]), planned.landings[:, :2], 0.0)
        return self._terrain.heights(places + goal_shift, time) - self._terrain.heights(places, time)

    def _ground(
        self, reference: ReferenceFrame, points: Array, velocities: Array, goal_shift: Array, time: float
    ) -> Array:
        """Heights of the ground where the points go [m], shape (4 P,); empty on level ground."""
        if self._terrain.is_flat:
            return self._nowhere
        e = self._settings
        known = np.isfinite(reference.landings[:, 0])
        places = np.where(known[:, None], reference.landings[:, :2], points[:, :2]) + goal_shift
        if self._terrain.treads and e.foothold_shift > 0.0:
            self._choose_treads(reference, places, known, time)
            places += self._shift
        wanted = kernels.swing_places(points, velocities, places, e.look_ahead, e.clearance_time)
        return np.array(self._terrain.heights(wanted, time))

    def _choose_treads(self, reference: ReferenceFrame, places: Array, known: Flags, time: float) -> None:
        """Per foot, the smallest shift along the stairs that puts all its points on one tread; kept for the swing."""
        reach = self._settings.foothold_shift * self._scale
        count = int(reach / 0.01)
        candidates = 0.01 * np.arange(-count, count + 1)
        candidates = candidates[np.argsort(np.abs(candidates), kind="stable")]
        forward = self._terrain.forward
        margin = 0.05 * self._scale
        for foot in self.feet:
            index = np.array(foot)
            if not known[index].all() or reference.flags[index].any():
                continue
            goal = reference.landings[index[0], :2]
            if np.isfinite(self._chosen[index[0], 0]) and np.linalg.norm(self._chosen[index[0]] - goal) < 1e-6:
                continue
            self._chosen[index[0]] = goal
            grid = places[index][None] + candidates[:, None, None] * forward
            wide = np.concatenate([grid - margin * forward, grid + margin * forward], axis=1)
            h = self._terrain.heights(wide.reshape(-1, 2), time).reshape(len(candidates), -1)
            level = np.flatnonzero(np.ptp(h, axis=1) < 0.02 * self._scale)
            self._shift[index] = candidates[level[0]] * forward if level.size else 0.0
