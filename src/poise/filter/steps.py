"""Steps that a push asks for: which limb takes one, when, and on what way.

Steps back: after a push, a foot that stands off its place goes home once the goal has. A foot that lands while the goal
is away sticks where it lands. In a walk the next step mends that; in a pose that is held nothing would, and the legs
would stay askew. So a foot that stands off its place, is not about to lift by itself and has another to stand on, takes
one small step. Nothing steps unless something pushed.

Protective steps: a figure that is pushed farther than its ankles and hips can carry steps, and past that it falls. A
push leaves the center of mass displaced by x at a speed ẋ. As an inverted pendulum of frequency ω it comes to rest over
the capture point ξ = x + ẋ / ω, and nowhere else without a step. While ξ is near, the goal's spring brings the figure
back. Farther off, the goal's resting place moves by what ξ exceeds that distance, and the feet step as far: a stronger
push makes a longer step, beginning with none. One step goes only so far past the other foot, less far aside than ahead;
then the other one steps, past it or up to it, until they have arrived. A walk deviates as a pendulum over the foot that
stands (`goal.Support`), and its next foot lands as far out as ξ says. When a figure has stood there for a while, it
walks home: the goal in one way, the feet in turn to where it will be when the other one steps, and not across each
other. With ξ farther from its feet than two steps it falls. Source: Hof, Vermerris and Gjaltema 2010 for the place of
the foot.

Lifting early: in a walk that is pushed far, the leg that stands may run out of reach before the reference lifts its
foot. Then the foot lifts as soon as another one stands, or nearly does, and is not dragged along the ground.

Landing later: in a walk, a swinging foot may be too far from the capture point to get there by the time it lands in the
reference. Then it swings on, and lands later at the place where the capture point is by then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.typing import Array, Flags
from poise.filter.goal import PEAK, smooth
from poise.filter.preset import Protective, Stepping

Pair = tuple[float, float]


@dataclass
class _Limb:
    """A foot or hand that can step.

    Attributes:
        points: Its contact points, shape (N,).
        start: Their offsets to the reference where the step began [m], shape (N, 2).
        part: Share of the step's time that is over; 1 or more while it does not step.
        is_urgent: The step is to catch the figure.
        lasts: Duration of the step [s].
        fastest: Largest speed of the step [m/s].
        end: Where it lands, against the reference [m], shape (2,); None if that is where the goal will rest.
        speed: Horizontal speed against the reference with which a foot that lands later begins [m/s], shape (2,);
            None for a step from the ground.
        is_landing: It lands later than in the reference, where it has not landed yet either.
    """

    points: npt.NDArray[np.int64]
    start: Array
    part: float = math.inf
    is_urgent: bool = False
    lasts: float = 0.0
    fastest: float = math.inf
    end: Array | None = None
    speed: Array | None = None
    is_landing: bool = False

    @property
    def moves(self) -> bool:
        return self.part < 1.0


@dataclass(frozen=True)
class StepBack:
    """What the limb that steps adds to its places at one step.

    Attributes:
        moves: Points on their way, shape (P,).
        lift: Above the ground [m], shape (P,).
        velocities, accelerations: Of the way, shape (P, 3).
        is_landing: The limb lands later than in the reference, where it has not landed yet either.
    """

    moves: Flags
    lift: Array
    velocities: Array
    accelerations: Array
    is_landing: bool = False


class Swing(NamedTuple):
    """What decides whether a swinging foot lands later than in the reference.

    Attributes:
        place: Where a foot would catch the figure, against the reference [m], shape (2,).
        landing: Where feet will land if they land in time, against the reference [m].
        times_to_contact: Of the points in the reference [s], shape (P,).
        offsets, speeds: Of the points against the reference [m], [m/s], shapes (P, 3).
    """

    place: Array
    landing: Pair
    times_to_contact: Array
    offsets: Array
    speeds: Array


class Dragged(NamedTuple):
    """What decides whether a foot that stands in a walk lifts early.

    Attributes:
        ways: How far points that should stand are off their places [m], shape (P,).
        end: Where feet go, against the reference [m], shape (2,).
        times_to_contact, times_to_lift: Of the points in the reference [s], shapes (P,).
    """

    ways: Array
    end: Array
    times_to_contact: Array
    times_to_lift: Array


class SteppingBack:
    """Decides which limb steps and moves its offset; one limb at a time.

    Args:
        settings, protective: The stepping parts of the preset.
        limbs: Contact points of each limb that can step.
        needed: How many other limbs must stand meanwhile.
        count: Number of contact points.
        scale: Leg length / 0.82 m; scales lengths, and durations with its root.

    Attributes:
        members, ends: Points of all limbs, limb after limb, and where each ends, shape (L,).
        needed: So many other limbs must stand while one steps.
        far, lasting: A limb so far off its place [m] steps back, unless it lifts by itself before [s].
        pause, rested: Least time from one step to the next, and time since the last one [s].
        stood: For so long each limb has touched in the reference, counted only while limbs step, have stepped or have
            to [s], shape (L,).
        has_stepped: Limbs that have stepped, and since then neither lifted in the reference nor has the goal gone far,
            shape (L,).
        latest: A foot may decide to land later from so long before its landing on [s].
        dragged: A foot of a walk so far off its place may lift [m].
        urgent_far, urgent_duration: Least way and duration of a step that catches the figure [m], [s].
        has_moved: A limb was on its way in the last step.
        landed: Points of the limb that has come to the end of its way in this step.
        settles: A foot comes down where its place was before the end, although the goal goes on; else it follows to the
            end, as it must where nobody holds the root.
    """

    def __init__(
        self,
        settings: Stepping,
        protective: Protective,
        limbs: tuple[tuple[int, ...], ...],
        needed: int,
        count: int,
        scale: float,
    ) -> None:
        self.far, self._height = settings.distance * scale, settings.height * scale
        self._duration, self.pause = settings.duration * math.sqrt(scale), settings.pause * math.sqrt(scale)
        self.lasting, self.latest = 2.0 * self._duration, LATEST * math.sqrt(scale)
        self._longest = LONGEST * scale, WIDEST * scale
        self.dragged, self._soon = DRAGGED * scale, SOON * math.sqrt(scale)
        self._urgent_height, self.urgent_far = protective.height * scale, 0.82 * protective.far * scale
        self.urgent_duration = protective.duration * math.sqrt(scale)
        speeds = protective.swift, protective.brisk, protective.pace
        self._swift, self._brisk, self._pace = (speed * math.sqrt(scale) for speed in speeds)
        self._limbs = [_Limb(np.array(points), np.zeros((len(points), 2))) for points in limbs]
        self.needed, self.rested, self.stood = needed, math.inf, np.full(len(limbs), math.inf)
        self.landed, self.has_stepped = np.zeros(0, dtype=np.int64), np.zeros(len(limbs), dtype=np.bool_)
        self.has_moved, self.settles = False, True
        self._count = count
        self.members = np.concatenate([[], *(limb.points for limb in self._limbs)]).astype(np.int64)
        self.ends = np.cumsum([len(limb.points) for limb in self._limbs], dtype=np.int64)

    def advance(
        self,
        offsets: Array,
        flags: Flags,
        seen: Array,
        home: tuple[float, float],
        away: float,
        dt: float,
        points: Array | None = None,
        *,
        returns: bool = False,
        swing: Swing | None = None,
        dragged: Dragged | None = None,
    ) -> StepBack | None:
        """Move the offsets of the limb that steps, and start the next; None while nothing steps.

        Args:
            offsets: Of standing points to the reference [m], shape (P, 3); those of a stepping limb are changed.
            flags: Points that touch in the reference, shape (P,).
            seen: `limbs_seen` of the block "Frame", shape (L, 4).
            home: Where the goal will rest, against the reference [m].
            away: How far the goal is from there [m].
            dt: [s].
            points: Where the points would be without offsets [m], shape (P, 3), if the steps are protective: quick,
                and the foot that is foremost on the way goes first.
            returns: They take the figure home: one after the other, and not quick.
            swing: If a swinging foot may land later than in the reference.
            dragged: If the figure drags a foot along that stands in a walk.
        """
        self.rested += dt
        limbs, self.landed = seen.tolist(), self.landed[:0]
        late = None
        if swing is not None:
            late = self._lands_later(limbs, swing)
            for limb in self._limbs:
                if limb.is_landing and limb.part < FOLLOWS:
                    limb.end = swing.place
                    limb.lasts = max(limb.lasts, self._time_for(math.dist(swing.place, limb.start.mean(axis=0))))
        is_any_far = any([self._is_far(time_to_lift, way) for _, _, time_to_lift, way in limbs])
        is_idle = not (self.has_moved or self.has_stepped.any() or is_any_far)
        if is_idle and late is None and dragged is None:
            return None
        moving = late
        self.stood[:] = np.where(seen[:, 0] > 0.0, self.stood + dt, 0.0)
        self.has_stepped &= (seen[:, 0] > 0.0) & (away <= 4.0 * self.far)
        for limb in self._limbs:
            if moving is None and limb.moves:
                moving = limb
        if moving is None and dragged is not None:
            moving = self._lets_go(offsets, limbs, dragged)
        if moving is None and points is not None:
            if not returns or self.rested >= self.pause:
                reach = self._longest if swing is not None else (math.inf, math.inf) if returns else None
                goes_home = returns and swing is None
                moving = self._hurry(offsets, limbs, np.array(home), points, reach, goes_home=goes_home)
        elif moving is None and self.rested >= self.pause:
            moving = self._begin(offsets, limbs, away)
        self.has_moved = moving is not None
        if moving is None:
            return None
        end = np.array(home) if moving.end is None else moving.end
        if points is not None and swing is not None and moving.end is None:
            end = self._within(moving, end, limbs, offsets, points, self._longest)
        if moving.part >= FOLLOWS and self.settles:
            moving.end = end
        rise = LIFT if swing is not None or returns else LOW
        return self._move(moving, offsets, flags, end, dt, rise)

    @property
    def is_moving(self) -> bool:
        """Whether a limb is on its way."""
        return any([limb.moves for limb in self._limbs])

    def wait(self, dt: float) -> None:
        """A step [s] in which nothing is to step."""
        self.rested, self.has_moved = self.rested + dt, False

    def _time_for(self, far: float) -> float:
        """How long a foot that lands later takes for a way [m] [s]."""
        return GOES_ON * far / max(self._swift, 1e-9)

    def _lands_later(self, seen: list[list[float]], swing: Swing) -> _Limb | None:
        """Let a foot swing on that cannot be at its place in time; another foot must stand until then."""
        for k, (limb, (touching, _, _, _)) in enumerate(zip(self._limbs, seen, strict=True)):
            left = float(swing.times_to_contact[limb.points].min())
            if touching or limb.moves or not left < self.latest:
                continue
            others = [x for x, y in zip(seen, self._limbs, strict=True) if y is not limb]
            if not any([standing > 0.0 and lift > left for _, standing, lift, _ in others]):
                continue
            here, speed = swing.offsets[limb.points, :2], swing.speeds[limb.points, :2].mean(axis=0)
            way = swing.place - here.mean(axis=0)
            far = float(np.linalg.norm(way))
            duration = min(self._time_for(far), BRAKES * far**2 / max(float(speed @ way), 1e-9))
            if math.dist(swing.place, swing.landing) > 2.0 * self.urgent_far and duration > left:
                limb.part, self.has_stepped[k], limb.is_urgent, limb.is_landing = 0.0, True, True, True
                limb.start, limb.end, limb.lasts, limb.speed = here.copy(), swing.place, duration, speed
                return limb
        return None

    def _lets_go(self, offsets: Array, seen: list[list[float]], dragged: Dragged) -> _Limb | None:
        """Lift a foot that is dragged along before the reference lifts it; another one stands or is about to land."""
        lifts = [float(dragged.times_to_lift[limb.points].max()) for limb in self._limbs]
        lands = [float(dragged.times_to_contact[limb.points].min()) for limb in self._limbs]
        for k, (limb, (touching, standing, _, _)) in enumerate(zip(self._limbs, seen, strict=True)):
            way = float(dragged.ways[limb.points].max())
            if not touching or not standing or way < self.dragged or lifts[k] < self._soon:
                continue
            others = [i for i in range(len(seen)) if i != k]
            stands = any([seen[i][1] > 0.0 and lifts[i] > lifts[k] for i in others])
            if stands or (way > 2.5 * self.dragged and any([lands[i] < 2.0 * self._soon for i in others])):
                return self._lift(k, offsets, self._swift, dragged.end, is_urgent=True)
        return None

    def _lift(self, k: int, offsets: Array, fastest: float, end: Array | None = None, *, is_urgent: bool) -> _Limb:
        """Let a limb that stands begin its step, from where it is."""
        limb, self.has_stepped[k] = self._limbs[k], True
        limb.part, limb.is_urgent, limb.fastest, limb.end, limb.speed = 0.0, is_urgent, fastest, end, None
        limb.start = offsets[limb.points, :2].copy()
        return limb

    def time_to_catch(self) -> float | None:
        """Time until a foot lands that is to catch the figure [s]; None if there is none on its way."""
        for limb in self._limbs:
            if limb.moves and limb.is_urgent:
                return (1.0 - limb.part) * limb.lasts
        return None

    def _is_far(self, time_to_lift: float, way: float) -> bool:
        """A limb that is off its place and will not lift by itself soon."""
        return way > self.far and time_to_lift >= self.lasting

    def _begin(self, offsets: Array, seen: list[list[float]], away: float) -> _Limb | None:
        """Let the limb that is furthest from home go, if one may."""
        if sum([standing > 0.0 for _, standing, _, _ in seen]) <= self.needed:
            return None
        furthest, chosen = self.far, None
        for k, (touching, standing, time_to_lift, way) in enumerate(seen):
            if (
                self.has_stepped[k]
                or not touching
                or standing < touching
                or self.stood[k] < self.pause
                or not self._is_far(time_to_lift, way)
            ):
                continue
            if way > furthest and away < 0.5 * way:
                furthest, chosen = way, k
        return None if chosen is None else self._lift(chosen, offsets, self._brisk, is_urgent=False)

    def _hurry(
        self,
        offsets: Array,
        seen: list[list[float]],
        home: Array,
        points: Array,
        reach: Pair | None,
        *,
        goes_home: bool,
    ) -> _Limb | None:
        """Let the foot go that is foremost on the way to where the goal will rest, if one is far from there.

        With a reach of one step, ahead and aside [m], feet take turns: the one goes that has farther to go. It goes to
        its own end on the way home, not to where the goal rests by then.
        """
        if sum([standing > 0.0 for _, standing, _, _ in seen]) <= self.needed:
            return None
        chosen, foremost, end = None, -math.inf, home
        for k, (limb, (touching, standing, time_to_lift, way)) in enumerate(zip(self._limbs, seen, strict=True)):
            if not touching or not standing or way < self.urgent_far or time_to_lift < self.urgent_duration:
                continue
            here, its_end = offsets[limb.points, :2].mean(axis=0), home
            if reach is not None:
                its_end = self._within(limb, home, seen, offsets, points, reach)
                way = math.dist(its_end, here)
                if way < self.urgent_far:
                    continue
            ahead = home - here
            # the farther it has to go the sooner, the more it is ahead the sooner: legs do not cross
            far = max(float(np.linalg.norm(ahead)), 1e-9)
            lead = float((points[limb.points, :2].mean(axis=0) + here) @ ahead) / far
            first = way + (lead if reach is None else TURNS * lead)
            if first > foremost:
                chosen, foremost, end = k, first, its_end
        if chosen is None:
            return None
        if goes_home:
            return self._lift(chosen, offsets, self._pace, end, is_urgent=False)
        # a foot that comes after one that caught the figure does not hurry
        is_first = all([way >= self.urgent_far or not standing for _, standing, _, way in seen])
        return self._lift(chosen, offsets, self._swift if is_first else self._brisk, is_urgent=is_first)

    def _within(
        self, limb: _Limb, end: Array, seen: list[list[float]], offsets: Array, points: Array, reach: Pair
    ) -> Array:
        """The place on the way to `end` that a foot reaches with one step, and where it does not cross another."""
        longest, widest = reach
        for other, (_, standing, _, _) in zip(self._limbs, seen, strict=True):
            if other is limb or not standing:
                continue
            apart = (points[limb.points].mean(axis=0) - points[other.points].mean(axis=0))[:2]
            distance = max(float(np.linalg.norm(apart)), 1e-9)
            across, there = apart / distance, offsets[other.points, :2].mean(axis=0)
            aside = float((end - there) @ across)
            ahead = end - there - aside * across
            ahead = ahead * min(1.0, longest / max(float(np.linalg.norm(ahead)), 1e-9))
            end = there + ahead + min(max(aside, (CLOSEST - 1.0) * distance), widest) * across
        return end

    def _move(self, limb: _Limb, offsets: Array, flags: Flags, home: Array, dt: float, rise: float) -> StepBack | None:
        far = math.dist(home, limb.start.mean(axis=0))
        height = max(self._height, min(rise * far, self._urgent_height))
        least = self.urgent_duration if limb.is_urgent else self._duration
        duration = max(least, PEAK * far / max(limb.fastest, 1e-9))
        if limb.speed is not None:
            duration, height = limb.lasts, self._height
        limb.part += dt / duration
        limb.lasts = duration
        if flags[limb.points].any():
            limb.is_landing = False
        elif not limb.is_landing:
            limb.part = math.inf  # it lifts by itself, from where it has come to
            return None
        if not limb.moves:
            self.rested = 0.0
            offsets[limb.points, :2], self.landed = home, limb.points
            return None
        s, rate = limb.part, 1.0 / duration
        early, late = LIFTS if limb.speed is None else (0.0, SETTLES)
        if early < s < late:
            gone, speed, turn = (x / (late - early) ** k for k, x in enumerate(smooth((s - early) / (late - early))))
        else:
            gone, speed, turn = float(s >= late), 0.0, 0.0
        high, climb, bend = hump(s)
        way = home - limb.start
        moves, lift = np.zeros(self._count, dtype=np.bool_), np.zeros(self._count)
        velocities, accelerations = np.zeros((self._count, 3)), np.zeros((self._count, 3))
        index = limb.points
        offsets[index, :2] = limb.start + gone * way
        moves[index], lift[index] = True, height * high
        velocities[index, :2], velocities[index, 2] = rate * speed * way, rate * height * climb
        accelerations[index, :2], accelerations[index, 2] = rate**2 * turn * way, rate**2 * height * bend
        if limb.speed is not None:
            gone, speed, turn = fading(min(s / late, 1.0))
            offsets[index, :2] += late * duration * gone * limb.speed
            velocities[index, :2] += speed * limb.speed
            accelerations[index, :2] += rate / late * turn * limb.speed
        return StepBack(moves, lift, velocities, accelerations, limb.is_landing)


LIFT, LOW = 0.4, 0.25
"""A foot rises by this part of its way, but no less than one that steps back and no more than the preset allows; the
second one without a force at the root, and where nothing hurries."""
LIFTS = 0.12, 0.88
"""A foot that steps from the ground lifts before it moves: it moves in this part of the step's time [1]."""
SETTLES = 0.9
"""A foot that lands later is over its place after this part of its time, and then only comes down [1]."""
TURNS = 0.1
"""Where feet take turns, the foot that is farther ahead goes first only by this part of its lead [1]."""
LONGEST, WIDEST = 0.45, 0.4
"""One step goes no farther past the other foot than this, ahead and aside, for a leg of 0.82 m [m]."""
CLOSEST = 0.9
"""Where feet take turns, one comes no nearer to the other than this part of their distance in the clip [1]."""
GOES_ON = 1.9
"""A foot that lands later takes this times its way over the largest speed of a protective step [1]."""
BRAKES = 2.5
"""It takes no longer than this times its way over its speed, so that it does not pass its place and come back [1]."""
FOLLOWS = 0.7
"""Its place follows the capture point, and that of any step the goal, for this part of the step's time [1]."""
DRAGGED = 0.008
"""A foot so far off where it should stand is dragged along, for a leg of 0.82 m [m]; 2.5 times as far, it lifts
although no other one stands yet."""
SOON = 0.03
"""It does not lift by itself where the reference lifts it within this time, for a leg of 0.82 m [s]."""
LATEST = 0.15
"""It decides to land later no earlier than this before its landing, for a leg of 0.82 m [s]."""


def fading(s: float) -> tuple[float, float, float]:
    """Way from 0 to 0 that begins with speed 1, s − 6 s³ + 8 s⁴ − 3 s⁵, and its two derivatives."""
    r = 1.0 - s
    return (
        s * r**3 * (1.0 + 3.0 * s),
        r * r * (1.0 + 2.0 * s - 15.0 * s * s),
        -12.0 * s * r * (3.0 - 5.0 * s),
    )


def hump(s: float) -> tuple[float, float, float]:
    """Way up to 1 and down again: 16 s² (1 − s)², and its two derivatives."""
    r = 1.0 - s
    return 16.0 * s * s * r * r, 32.0 * s * r * (1.0 - 2.0 * s), 32.0 * (1.0 - 6.0 * s + 6.0 * s * s)
