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

from poise.core.typing import Array, Flags
from poise.filter.plan import PlannedFrame
from poise.filter.preset import EndEffector, Protective, Stepping
from poise.filter.protective import Recovery
from poise.filter.reference import ReferenceFrame
from poise.filter.stepping import StepBack, SteppingBack
from poise.terrain import Terrain


class Footholds(NamedTuple):
    """What the targets must know of the contact points at one step.

    Attributes:
        stands: Points that stand: touching in the reference, near the ground here, and not stepping back, shape (P,).
        back: The limb that steps back, if one does.
    """

    stands: Flags
    back: StepBack | None


class Footing:
    """Holds the offsets of standing and swinging points from step to step.

    Args:
        settings, stepping, protective: The end-effector and the stepping parts of the preset.
        terrain: Placed terrain.
        floor: Height of the reference's own floor [m].
        feet: Groups of points that land together, for footholds on treads.
        limbs: Groups of points that step back together.
        scale: Leg length / 0.82 m; scales lengths.

    Attributes:
        stands: Points that touch in the reference and are near the ground here, shape (P,).
        held: Points whose target is at their offset: those that stand or step back, shape (P,).
        arrays: What the block "Frame" reads and keeps up, by field.
    """

    def __init__(
        self,
        settings: EndEffector,
        stepping: Stepping,
        protective: Protective,
        terrain: Terrain,
        floor: float,
        feet: tuple[tuple[int, ...], ...],
        limbs: tuple[tuple[int, ...], ...],
        count: int,
        scale: float,
    ) -> None:
        self._settings, self._terrain, self._floor, self.feet, self._scale = settings, terrain, floor, feet, scale
        self._stepping = SteppingBack(stepping, protective, limbs, max(1, len(feet) // 2), count, scale)
        self._offset = np.zeros((count, 3))
        self.stands, self.held = np.zeros((2, count), dtype=np.bool_)
        self._late = protective.late
        self._shift = np.zeros((count, 2))
        self._chosen = np.full((count, 2), np.nan)
        self._seen = np.zeros((len(limbs), 4))
        self._wanted = np.zeros((4 * count, 2))
        self.arrays = {
            "offset": self._offset, "stands": self.stands, "held": self.held, "foot_shift": self._shift,
            "members": self._stepping.members, "ends": self._stepping.ends, "limbs_seen": self._seen,
            "wanted": self._wanted,
        }  # fmt: skip

    def place(
        self, reference: ReferenceFrame, points: Array, goal_shift: tuple[float, float],
        home: tuple[float, float] | None, time: float, dt: float, planned: PlannedFrame | None = None,
        recovery: Recovery | None = None,
    ) -> Footholds:  # fmt: skip
        """Let limbs step back, and choose treads where there are any: after sensing, before targets.

        Args:
            reference: The undisturbed character.
            points: Of the simulated points [m], shape (P, 3).
            goal_shift: Horizontal displacement of the goal [m].
            home: The same when the goal will have come to rest, or None where nothing moves it.
            time: [s].
            dt: Length of the step [s].
            planned: The plan over the ground, if there is one.
            recovery: What the figure does about a push.
        """
        back, stands = None, self.stands
        if home is not None:
            away = math.dist(goal_shift, home)
            is_urgent = recovery is not None and recovery.steps
            back = self._stepping.advance(
                self._offset, reference.flags, self._seen, home, away, dt, points if is_urgent else None
            )
        if back is not None:
            self.held |= back.moves & reference.flags
            stands = stands & ~back.moves
        if planned is None and self._terrain.treads and self._settings.foothold_shift > 0.0:
            self._choose_treads(reference, points, goal_shift, time)
        elif recovery is not None:
            self._shift[reference.times_to_contact > self._late] = recovery.landing
        return Footholds(stands, back)

    def _choose_treads(
        self, reference: ReferenceFrame, points: Array, goal_shift: tuple[float, float], time: float
    ) -> None:
        """Per foot, the smallest shift along the stairs that puts all its points on one tread; kept for the swing."""
        known = np.isfinite(reference.landings[:, 0])
        places = np.where(known[:, None], reference.landings[:, :2], points[:, :2]) + np.array(goal_shift)
        reach = self._settings.foothold_shift * self._scale
        spacing = 0.01 * self._scale
        count = int(reach / spacing)
        candidates = spacing * np.arange(-count, count + 1)
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
        self._wanted[: len(places)] = places + self._shift
