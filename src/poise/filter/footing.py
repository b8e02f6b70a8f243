"""Where contact points should be: the reference moved onto the terrain, and held where it stands.

A standing point keeps the horizontal offset it had when it touched, so it sticks; its height is the reference's above
the terrain below it. A swinging point goes from the offset it left with to the offset of its landing place, by the
reference's own timing, and clears what lies ahead. Source: [Levine2012]_ 2.5. Deviates: the paper looks 0.2 s ahead for
every point, which makes feet step high on slopes; here the landing place is used where it is known, and the look-ahead
is left for points with none. All offsets are zero on flat ground with nothing pushing.

The body follows the ground in root height and leans towards the slope. Both are zero on flat ground.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array, Flags
from poise.filter.plan import PlannedFrame
from poise.filter.preset import EndEffector, Ground, Protective, Stepping
from poise.filter.reference import ReferenceFrame
from poise.filter.steps import Dragged, Pair, StepBack, SteppingBack, Swing
from poise.terrain import Terrain

SLIDES = 0.3
"""Points slower than this are not dragged, for a leg of 0.82 m [m/s]."""


class GroundFollower:
    """Height of the ground under the root, and its slope, smoothed; `kernels.follow` moves it on in every step.

    The height is the mean of five places, the middle and the ends of a cross along the world's axes, looked ahead by
    2/ω so that the critically damped filter does not trail on a slope. It never depends on which feet stand: a runner
    has none most of the time. With a plan over the ground the height is the plan's, and the filter follows only what
    a displaced goal makes different.

    Args:
        settings: The ground part of the preset.
        floor: Height of the reference's own floor [m].
        reach: Half the width of the cross [m].

    Attributes:
        settings: Frequencies of height and lean [rad/s], floor and reach [m], shape (4,).
        state: Height of the root against the reference [m] and its two rates, without the plan (3) and of the plan (3);
            the rotation vector that tips an up axis uphill by the slope's angle [rad] (3) and its rate (3), whose
            inverse lays a level body along the slope; 1 once it has started; shape (13,).
    """

    def __init__(self, settings: Ground, floor: float, reach: float) -> None:
        self.settings = np.array([settings.frequency, settings.lean_frequency, floor, reach])
        self.state = np.zeros(13)

    @property
    def height(self) -> float:
        """Of the root against the reference [m]."""
        return float(self.state[0] + self.state[3])

    @property
    def is_level(self) -> bool:
        """Nothing tips the figure."""
        return not any(self.state[6:12].tolist())

    def plan(self, planned: PlannedFrame | None) -> None:
        """Take over what the plan says of the root in this step."""
        if planned is not None:
            self.state[3:6] = planned.height, planned.height_velocity, planned.height_acceleration

    def carry(self, planned: PlannedFrame | None, dt: float) -> None:
        """A step in which nothing is solved: the plan goes on, the rest coasts."""
        s = self.state
        s[1] += dt * s[2]
        s[0] += dt * s[1]
        s[6:9] += dt * s[9:12]
        s[2] = 0.0
        self.plan(planned)


class Footholds(NamedTuple):
    """What the targets must know of the contact points at one step.

    Attributes:
        stands: Points that stand: touching in the reference, near the ground here, and not stepping back, shape (P,).
        back: The limb that steps back, if one does.
        landing: By how much more than the goal swinging points land [m]; None where they keep their places.
    """

    stands: Flags
    back: StepBack | None
    landing: Pair | None = None


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
        stepping: What steps back.
        has_treads: Feet choose treads.
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
        self.stepping = SteppingBack(stepping, protective, limbs, max(1, len(feet) // 2), count, scale)
        self.has_treads = bool(self._terrain.treads) and settings.foothold_shift > 0.0
        self._offset = np.zeros((count, 3))
        self.stands, self.held, self._stood = np.zeros((3, count), dtype=np.bool_)
        self._shift, self._landing = np.zeros((2, count, 2))
        alone = set(range(count)).difference(*feet)
        groups = [*feet, *((point,) for point in sorted(alone))]
        groups_seen = np.zeros((len(groups), 4))
        self._chosen = np.full((count, 2), np.nan)
        self._seen = np.zeros((len(limbs), 4))
        self._wanted = np.zeros((4 * count, 2))
        self.arrays = {
            "offset": self._offset,
            "stands": self.stands,
            "held": self.held,
            "stood": self._stood,
            "foot_shift": self._shift,
            "members": self.stepping.members,
            "ends": self.stepping.ends,
            "limbs_seen": self._seen,
            "limbs_stood": self.stepping.stood,
            "has_stepped": self.stepping.has_stepped,
            "wanted": self._wanted,
            "landing": self._landing,
            "standing": np.zeros(2),
            "grouped": np.array([point for group in groups for point in group], dtype=np.int64),
            "group_ends": np.cumsum([len(group) for group in groups], dtype=np.int64),
            "groups_seen": groups_seen,
        }

    def place(
        self,
        reference: ReferenceFrame,
        points: Array,
        goal_shift: tuple[float, float],
        home: tuple[float, float] | None,
        time: float,
        dt: float,
        planned: PlannedFrame | None = None,
        *,
        landing: tuple[float, float] = (0.0, 0.0),
        steps: bool = False,
        returns: bool = False,
        catching: tuple[Array, Array] | None = None,
        walking: Array | None = None,
    ) -> Footholds:
        """Let limbs step back, and choose treads where there are any: after sensing, before targets.

        Args:
            reference: The undisturbed character.
            points: Of the simulated points [m], shape (P, 3).
            goal_shift: Horizontal displacement of the goal [m].
            home: The same when the goal will have come to rest, or None where nothing moves it.
            time: [s].
            dt: Length of the step [s].
            planned: The plan over the ground, if there is one.
            landing: By how much more than the goal the next landing is moved [m].
            steps: The figure takes protective steps.
            returns: It goes home by steps.
            catching: If a foot may land later to catch the figure: where, against the reference [m], shape (2,), and
                velocities of the points [m/s], shape (P, 3).
            walking: Velocities of the points [m/s], shape (P, 3), if the figure walks and was pushed so far that it
                steps: a foot that is dragged along lifts.
        """
        back, stands, moved = None, self.stands, None
        if home is not None:
            away = math.dist(goal_shift, home)
            swing = None
            if catching is not None:
                place, velocities = catching
                ways = points - reference.points, velocities - reference.point_velocities
                lands = goal_shift[0] + landing[0], goal_shift[1] + landing[1]
                swing = Swing(place, lands, reference.times_to_contact, *ways)
            dragged = None
            if walking is not None:
                speeds = np.linalg.norm(walking - reference.point_velocities, axis=1)
                ways = self.slips(points - reference.points)
                ways = np.where(speeds > SLIDES * math.sqrt(self._scale), ways, 0.0)
                times = reference.times_to_contact, reference.times_to_lift
                if ways.max(initial=0.0) > self.stepping.dragged:
                    dragged = Dragged(ways, np.array(goal_shift) + landing, *times)
            # feet whose places nothing at the root ensures are where they are, not where they were to be
            own = reference.points if swing is not None or returns else points - self._offset
            back = self.stepping.advance(
                self._offset,
                reference.flags,
                self._seen,
                home,
                away,
                dt,
                own if steps else None,
                returns=returns,
                swing=swing,
                dragged=dragged,
            )
            self._stood[self.stepping.landed] = False  # it stands where it has come to
        if back is not None:
            self.held |= back.moves if back.is_landing else back.moves & reference.flags
            stands = stands & ~back.moves
        if planned is None and self.has_treads:
            self._choose_treads(reference, points, goal_shift, time)
        elif any(goal_shift) or any(landing):
            moved = landing
        return Footholds(stands, back, moved)

    def slips(self, offsets: Array) -> Array:
        """How far points that should stand are off their places, shape (P,), with offsets to the reference [m], shape
        (P, 3).
        """
        ways = offsets[:, :2] - self._offset[:, :2]
        return np.where(self.stands, np.hypot(ways[:, 0], ways[:, 1]), 0.0)

    def keep(self, moved: Array) -> None:
        """Keep points that stand at their places, though their reference has moved by so much [m], shape (P, 2)."""
        self._offset[:, :2] -= np.where((self.stands | self.held)[:, None], moved, 0.0)

    def begin_at(self, goal_shift: Pair) -> None:
        """Points land this far off the reference [m], where the goal has been put."""
        self._landing[:] = goal_shift

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
