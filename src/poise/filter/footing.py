"""Where contact points should be: the reference moved onto the terrain, and held where it stands.

A standing point keeps the horizontal offset it had when it touched, so it sticks; its height is the reference's above
the terrain below it. A swinging point goes from the offset it left with to the offset of its landing place, by the
reference's own timing, and clears what lies ahead. Source: [Levine2012]_ 2.5. Deviates: the paper looks 0.2 s ahead for
every point, which makes feet step high on slopes; here the landing place is used where it is known, and the look-ahead
is left for points with none. All offsets are zero on flat ground with nothing pushing.

The body follows the ground in root height and leans towards the slope. Both are zero on flat ground.

Steps back: after a push, a foot that stands off its place goes home once the goal has. A foot that lands while the goal
is away sticks where it lands. In a walk the next step mends that; in a pose that is held nothing would, and the legs
would stay askew. So a foot that stands off its place, is not about to lift by itself and has another to stand on, takes
one small step. Nothing steps unless something pushed.

Protective steps: a figure that is pushed farther than its ankles and hips can carry steps, and past that it falls. A
push leaves the center of mass displaced by x at a speed ẋ. As an inverted pendulum of frequency ω it comes to rest over
the capture point ξ = x + ẋ / ω, and nowhere else without a step. While ξ is near, the goal's spring brings the figure
back. Farther off, the goal's resting place moves by what ξ exceeds that distance, and the feet step as far: a stronger
push makes a longer step, beginning with none. A walk deviates as a pendulum over the foot that stands (`goal.Support`),
and its next foot lands as far out as ξ says. When a figure has stood there for a while, each foot takes a step home,
the nearer one first, and the goal goes along; from far off it takes two. With ξ farther from its feet than two steps it
falls. Source: Hof, Vermerris and Gjaltema 2010 for the place of the foot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.typing import Array, Flags
from poise.filter.goal import PEAK
from poise.filter.plan import PlannedFrame
from poise.filter.preset import EndEffector, Ground, Protective, Stepping
from poise.filter.reference import ReferenceFrame
from poise.terrain import Terrain


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


@dataclass
class _Limb:
    """A foot or hand on its way; `part` of the way is gone, none while it stands. On the way home it knows its end."""

    points: npt.NDArray[np.int64]
    start: Array
    part: float = math.inf
    has_stepped: bool = False
    is_urgent: bool = False
    lasts: float = 0.0
    fastest: float = math.inf
    end: Array | None = None

    @property
    def moves(self) -> bool:
        return self.part < 1.0


@dataclass(frozen=True)
class StepBack:
    """What the stepping limbs add to their places in one step.

    Attributes:
        moves: Points on their way, shape (P,).
        lift: Above the ground [m], shape (P,).
        velocities, accelerations: Of the way, shape (P, 3).
    """

    moves: Flags
    lift: Array
    velocities: Array
    accelerations: Array


class SteppingBack:
    """Decides which limb steps back and moves its offset; one limb at a time.

    Args:
        settings, protective: The stepping parts of the preset.
        limbs: Contact points of each limb that can step.
        needed: How many other limbs must stand meanwhile.
        count: Number of contact points.
        scale: Leg length / 0.82 m; scales lengths, and durations with its root.

    Attributes:
        members, ends: Points of all limbs, limb after limb, and where each ends, shape (L,).
        far, lasting: A limb so far off its place [m] steps back, unless it lifts by itself before [s].
        is_settled: No limb steps, or has stepped.
        landed: Points of the limb that has come to the end of its way in this step.
    """

    def __init__(
        self, settings: Stepping, protective: Protective, limbs: tuple[tuple[int, ...], ...], needed: int, count: int,
        scale: float,
    ) -> None:  # fmt: skip
        self.far, self._height = settings.distance * scale, settings.height * scale
        self._duration, self._pause = settings.duration * math.sqrt(scale), settings.pause * math.sqrt(scale)
        self.lasting = 2.0 * self._duration
        self._urgent_height, self._far = protective.height * scale, 0.82 * protective.far * scale
        self._urgent_duration = protective.duration * math.sqrt(scale)
        speeds = protective.swift, protective.brisk, protective.pace
        self._swift, self._brisk, self._pace = (speed * math.sqrt(scale) for speed in speeds)
        self._limbs = [_Limb(np.array(points), np.zeros((len(points), 2))) for points in limbs]
        self._needed = needed
        self._rested = math.inf
        self.is_settled, self.landed = True, np.zeros(0, dtype=np.int64)
        self._count = count
        self.members = np.concatenate([[], *(limb.points for limb in self._limbs)]).astype(np.int64)
        self.ends = np.cumsum([len(limb.points) for limb in self._limbs], dtype=np.int64)

    def advance(
        self, offsets: Array, flags: Flags, seen: Array, home: tuple[float, float], away: float, dt: float,
        points: Array | None = None, *, returns: bool = False,
    ) -> StepBack | None:  # fmt: skip
        """Move the offsets of the limb that steps, and start the next; None while nothing steps.

        Args:
            offsets: Of standing points to the reference [m], shape (P, 3); those of a stepping limb are changed.
            flags: Points that touch in the reference, shape (P,).
            seen: `limbs_seen` of the block "Frame", shape (L, 4).
            home: Where the goal will rest, against the reference [m].
            away: How far the goal is from there [m].
            dt: [s].
            points: Where the points are [m], shape (P, 3), if the steps are protective: quick, and the foot that is
                foremost on the way goes first.
            returns: They take the figure home: one after the other, and not quick.
        """
        self.wait(dt)
        limbs, self.landed = seen.tolist(), self.landed[:0]
        if self.is_settled and not any([self._is_far(time_to_lift, way) for _, _, time_to_lift, way in limbs]):
            return None
        moving = None
        for limb, (touching, _, _, _) in zip(self._limbs, limbs, strict=True):
            if not touching or away > 4.0 * self.far:
                limb.has_stepped = False
            if moving is None and limb.moves:
                moving = limb
        if moving is None and points is not None:
            if not returns or self._rested >= self._pause:
                moving = self._hurry(offsets, limbs, np.array(home), points, returns=returns)
        elif moving is None and self._rested >= self._pause:
            moving = self._begin(offsets, limbs, away)
        self.is_settled = not any([limb.has_stepped for limb in self._limbs]) and moving is None
        if moving is None:
            return None
        return self._move(moving, offsets, flags, np.array(home) if moving.end is None else moving.end, dt)

    def wait(self, dt: float) -> None:
        """A step [s] in which nothing is to step."""
        self._rested += dt

    @property
    def quick(self) -> float:
        """Least duration of a step that catches the figure [s]."""
        return self._urgent_duration

    def left(self) -> float | None:
        """Time until a foot lands that is to catch the figure [s]; None where none is on its way."""
        for limb in self._limbs:
            if limb.moves and limb.is_urgent:
                return (1.0 - limb.part) * limb.lasts
        return None

    def _is_far(self, time_to_lift: float, way: float) -> bool:
        """A limb that is off its place and will not lift by itself soon."""
        return way > self.far and time_to_lift >= self.lasting

    def _begin(self, offsets: Array, seen: list[list[float]], away: float) -> _Limb | None:
        """Let the limb that is furthest from home go, if one may."""
        if sum([standing > 0.0 for _, standing, _, _ in seen]) <= self._needed:
            return None
        furthest, chosen = self.far, None
        for limb, (touching, standing, time_to_lift, way) in zip(self._limbs, seen, strict=True):
            if limb.has_stepped or not touching or standing < touching or not self._is_far(time_to_lift, way):
                continue
            if way > furthest and away < 0.5 * way:
                furthest, chosen = way, limb
        if chosen is not None:
            chosen.part, chosen.has_stepped, chosen.is_urgent = 0.0, True, False
            chosen.fastest, chosen.end = self._brisk, None
            chosen.start = offsets[chosen.points, :2].copy()
        return chosen

    def _hurry(
        self, offsets: Array, seen: list[list[float]], home: Array, points: Array, *, returns: bool
    ) -> _Limb | None:
        """Let the foot go that is foremost on the way to where the goal will rest, if one is far from there."""
        if sum([standing > 0.0 for _, standing, _, _ in seen]) <= self._needed:
            return None
        chosen, foremost = None, -math.inf
        for limb, (touching, standing, time_to_lift, way) in zip(self._limbs, seen, strict=True):
            if not touching or not standing or way < self._far or time_to_lift < self._urgent_duration:
                continue
            ahead = home - offsets[limb.points, :2].mean(axis=0)
            # the farther it has to go the sooner, the more it is ahead the sooner: legs do not cross
            reach = float(points[limb.points, :2].mean(axis=0) @ ahead) / max(float(np.linalg.norm(ahead)), 1e-9)
            if way + reach > foremost:
                chosen, foremost = limb, way + reach
        if chosen is not None:
            # a foot that comes after one that caught the figure does not hurry
            is_first = all([way >= self._far or not standing for _, standing, _, way in seen])
            chosen.part, chosen.has_stepped, chosen.is_urgent = 0.0, True, is_first and not returns
            chosen.end = home if returns else None
            chosen.fastest = self._pace if returns else self._swift if is_first else self._brisk
            chosen.start = offsets[chosen.points, :2].copy()
        return chosen

    def _move(self, limb: _Limb, offsets: Array, flags: Flags, home: Array, dt: float) -> StepBack | None:
        far = math.dist(home, limb.start.mean(axis=0))
        height = max(self._height, min(LIFT * far, self._urgent_height))
        least = self._urgent_duration if limb.is_urgent else self._duration
        duration = max(least, PEAK * far / max(limb.fastest, 1e-9))
        limb.part += dt / duration
        limb.lasts = duration
        if not flags[limb.points].any():
            limb.part = math.inf  # it lifts by itself, from where it has come to
            return None
        if not limb.moves:
            self._rested = 0.0
            offsets[limb.points, :2], self.landed = home, limb.points
            return None
        s, rate = limb.part, 1.0 / duration
        early, late = LIFTS
        if early < s < late:
            gone, speed, turn = (x / (late - early) ** k for k, x in enumerate(smooth((s - early) / (late - early))))
        else:
            gone, speed, turn = float(s >= late), 0.0, 0.0
        rise, climb, bend = hump(s)
        way = home - limb.start
        moves, lift = np.zeros(self._count, dtype=np.bool_), np.zeros(self._count)
        velocities, accelerations = np.zeros((self._count, 3)), np.zeros((self._count, 3))
        index = limb.points
        offsets[index, :2] = limb.start + gone * way
        moves[index], lift[index] = True, height * rise
        velocities[index, :2], velocities[index, 2] = rate * speed * way, rate * height * climb
        accelerations[index, :2], accelerations[index, 2] = rate**2 * turn * way, rate**2 * height * bend
        return StepBack(moves, lift, velocities, accelerations)


LIFT = 0.25
"""A foot rises by this part of its way, but no less than one that steps back and no more than the preset allows."""
LIFTS = 0.12, 0.88
"""It lifts before it moves: the part of its time in which it does."""


def smooth(s: float) -> tuple[float, float, float]:
    """Least-jerk way from 0 to 1 at part s of its time: 10 s³ − 15 s⁴ + 6 s⁵, and its two derivatives."""
    return (
        s**3 * (10.0 - 15.0 * s + 6.0 * s * s),
        30.0 * s * s * (1.0 - s) ** 2,
        60.0 * s * (1.0 - s) * (1.0 - 2.0 * s),
    )


def hump(s: float) -> tuple[float, float, float]:
    """Way up to 1 and down again: 16 s² (1 − s)², and its two derivatives."""
    r = 1.0 - s
    return 16.0 * s * s * r * r, 32.0 * s * r * (1.0 - 2.0 * s), 32.0 * (1.0 - 6.0 * s + 6.0 * s * s)


Pair = tuple[float, float]


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
            "offset": self._offset, "stands": self.stands, "held": self.held, "stood": self._stood,
            "foot_shift": self._shift, "members": self.stepping.members, "ends": self.stepping.ends,
            "limbs_seen": self._seen,
            "wanted": self._wanted, "landing": self._landing, "standing": np.zeros(2),
            "grouped": np.array([point for group in groups for point in group], dtype=np.int64),
            "group_ends": np.cumsum([len(group) for group in groups], dtype=np.int64),
            "groups_seen": groups_seen,
        }  # fmt: skip

    def place(
        self, reference: ReferenceFrame, points: Array, goal_shift: tuple[float, float],
        home: tuple[float, float] | None, time: float, dt: float, planned: PlannedFrame | None = None,
        *, landing: tuple[float, float] = (0.0, 0.0), steps: bool = False, returns: bool = False,
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
            landing: By how much more than the goal the next landing is moved [m].
            steps: The figure takes protective steps.
            returns: It goes home by steps.
        """
        back, stands, moved = None, self.stands, None
        if home is not None:
            away = math.dist(goal_shift, home)
            back = self.stepping.advance(
                self._offset, reference.flags, self._seen, home, away, dt, points if steps else None, returns=returns
            )
            self._stood[self.stepping.landed] = False  # it stands where it has come to
        if back is not None:
            self.held |= back.moves & reference.flags
            stands = stands & ~back.moves
        if planned is None and self.has_treads:
            self._choose_treads(reference, points, goal_shift, time)
        elif any(goal_shift) or any(landing):
            moved = landing
        return Footholds(stands, back, moved)

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
