"""What witnesses look at: a motion as it stands in its file, measured in lengths of its own leg and in its own frames.

Nothing here knows which way is up, how long a unit is or how fast the clip was recorded.

Steps, falls and noise of the motion are measured in leg lengths and frames. They show its size and frame rate.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import world_pose
from poise.core.typing import Array, Flags
from poise.intake.anatomy import Anatomy, anatomy_of
from poise.phases.glitches import glitch_frames
from poise.phases.points import body_parts, bone_weights, runs, velocities

AXES = ("x", "y", "z", "-x", "-y", "-z")
"""Every way up could be."""
MOST_FRAMES = 1500
"""A longer clip is looked at in steps [frames]."""
NEAR = 0.07
"""A point is at the floor if it lies this close to it [leg lengths]."""
STANDING_SHARE = 0.5
"""It stands if it moves slower than this share of what the body's points do [1]."""
CLEAR = 0.12
"""Nothing is lower than this in a flight [leg lengths]."""
SHORTEST_FLIGHT = 5
"""Fewer frames say nothing about how a body falls."""
MOSTLY_GLITCHES = 0.25
"""A clip with glitches in so many of its frames says nothing of sizes and rates [1]."""
STRAY = 0.12
"""A flight's path stays this close to a parabola, as a share of how far gravity bends it [1]."""

Reals = npt.NDArray[np.float32] | npt.NDArray[np.float64]
"""Numbers of single or double precision."""
BLOCK, BLOCK_VALUES = 32, 20_000
"""Points whose velocities, and points times frames whose places, are taken at once: what lies in between takes several
times their own memory."""


@dataclass(frozen=True)
class Stances:
    """How a motion meets the lowest level of one axis.

    Attributes:
        level: Height of that level [leg lengths].
        standing: Share of frames in which something stands still there [1].
        near: Share of frames in which the lowest point is there [1].
        hanging: Share of frames that nothing carries and that do not fall either [1].
        flights: First and last frame of each fall, and its acceleration along the axis [leg lengths / frame²].
    """

    level: float
    standing: float
    near: float
    hanging: float
    flights: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class Figure:
    """A motion in leg lengths and frames.

    Attributes:
        motion: In its file's own axes, or in the world.
        axes: What its axes, in the order of AXES, are called in its file.
    """

    motion: Motion
    axes: tuple[str, ...] = AXES

    def named(self, axis: str) -> str:
        """What one of AXES is called in the file."""
        return self.axes[AXES.index(axis)]

    @cached_property
    def anatomy(self) -> Anatomy:
        return anatomy_of(self.motion.skeleton)

    @cached_property
    def step(self) -> int:
        """Frames between those that are looked at."""
        return max(1, -(-self.motion.frame_count // MOST_FRAMES))

    @cached_property
    def leg(self) -> float:
        """Length of the leg [file units]."""
        return self.anatomy.leg_length

    @cached_property
    def _points(self) -> tuple[Reals, Array, Reals, npt.NDArray[np.int64]]:
        """Places of the body's joints and tips, center of mass, places of the other joints, too, and which is whose.

        A part of the frames at a time, in single precision around where the body begins: a file with many joints has
        few numbers for each of them.
        """
        motion, skeleton = self.motion, self.motion.skeleton
        joints, sites = body_parts(skeleton)
        others = sorted({*range(skeleton.joint_count)} - {*joints})
        weights = bone_weights(skeleton, np.array(joints + [site.joint for site in sites], dtype=np.int64))
        tips = np.array([site.joint for site in sites], dtype=np.int64)
        offsets = np.array([site.offset for site in sites]).reshape(-1, 3)
        frames = np.arange(0, motion.frame_count, self.step)
        count = len(joints) + len(sites)
        places = np.empty((len(frames), count + len(others), 3), dtype=np.float32)
        com, origin = np.empty((len(frames), 3)), np.zeros(3)
        size = max(1, BLOCK_VALUES // places.shape[1])
        for first in range(0, len(frames), size):
            some = slice(first, first + size)
            at, turned = world_pose(skeleton, motion.translations[frames[some]], motion.rotations[frames[some]])
            ends = at[:, tips] + rotations.rotate(turned[:, tips], offsets)
            at = np.concatenate([at[:, joints], ends, at[:, others]], axis=1) / self.leg
            if first == 0:
                origin = at[0, 0].copy()
            at -= origin
            places[some], com[some] = at, np.einsum("fnk,n->fk", at[:, :count], weights)
        where = np.empty(skeleton.joint_count, dtype=np.int64)
        where[joints], where[others] = np.arange(len(joints)), count + np.arange(len(others))
        return places[:, :count], com, places, where

    @property
    def points(self) -> Reals:
        """Places of the body's joints and tips from where it begins, shape (F, N, 3) [leg lengths]."""
        return self._points[0]

    @property
    def com(self) -> Array:
        """Center of mass, every bone weighing what its length says, shape (F, 3) [leg lengths]."""
        return self._points[1]

    @cached_property
    def speeds(self) -> Reals:
        """Speed of each point, shape (F, N) [leg lengths / frame looked at]."""
        frames = np.arange(len(self.points), dtype=np.float64)
        speeds = np.empty(self.points.shape[:2], dtype=np.float32)
        for some, points in zip(in_blocks(speeds), in_blocks(self.points)):
            some[:] = np.linalg.norm(velocities(points, frames), axis=-1)
        return speeds

    @cached_property
    def usual_speed(self) -> float:
        """Median speed of points over all frames [leg lengths / frame looked at]."""
        return float(np.median(self.speeds))

    @cached_property
    def pace(self) -> float:
        """How fast the body's points usually move [leg lengths / frame looked at]."""
        return float(np.median(self.speeds.max(axis=1)))

    @cached_property
    def moves(self) -> bool:
        """True if there is enough motion, and not mostly capture glitches, whose falls mean nothing."""
        if len(self.points) < 8 or self.pace <= 1e-3:
            return False
        start = self.motion if self.step == 1 else self.motion.frames(np.arange(MOST_FRAMES))
        return float(np.mean(glitch_frames(start))) < MOSTLY_GLITCHES

    def places(self, joints: tuple[int, ...] | list[int]) -> Array:
        """Mean place of some joints, shape (F, 3) [leg lengths]."""
        _, _, places, where = self._points
        return places[:, where[list(joints)]].mean(axis=1, dtype=np.float64)

    @cached_property
    def rest(self) -> Array:
        """Places of all joints in the rest pose, shape (J, 3) [leg lengths]."""
        return self.motion.skeleton.rest[0] / self.leg

    def heights(self, up: str) -> Reals:
        """How far up along an axis each point lies, shape (F, N) [leg lengths]."""
        return along(self.points, up)

    @cached_property
    def _stances(self) -> dict[str, Stances]:
        return {}

    def stances(self, up: str) -> Stances:
        """How the motion meets the lowest level of an axis."""
        if up not in self._stances:
            self._stances[up] = _stances(self, up)
        return self._stances[up]


def along(vectors: Reals, up: str) -> Reals:
    """Part of vectors (..., 3) along an axis named "x" … "-z"."""
    part = vectors[..., "xyz".index(up[-1])]
    return -part if up.startswith("-") else part


def _stances(figure: Figure, up: str) -> Stances:
    height = figure.heights(up)
    low = height.min(axis=1)
    still = figure.speeds < np.float32(STANDING_SHARE * max(figure.usual_speed, 1e-9))
    level = float(np.percentile(low, 20.0))
    at_floor = height < level + NEAR
    standing = float((at_floor & still).any(axis=1).mean())
    near = float((np.abs(low - level) < NEAR).mean())
    free = low > level + CLEAR
    flights: list[tuple[int, int, float]] = []
    falling = np.zeros(len(low), dtype=bool)
    for first, last in runs(free):
        if last - first + 1 < SHORTEST_FLIGHT:
            continue
        path = figure.com[first : last + 1]
        time = np.arange(len(path), dtype=np.float64)
        bend, stray = _parabola(time, path)
        fall = -float(along(bend, up))
        sag = abs(fall) * time[-1] ** 2 / 8.0
        if fall > 0.9 * float(np.linalg.norm(bend)) and stray < STRAY * sag:
            flights.append((first, last, fall / figure.step**2))
            falling[first : last + 1] = True
    return Stances(level, standing, near, float((free & ~falling).mean()), tuple(flights))


def _parabola(time: Array, path: Array) -> tuple[Array, float]:
    """Acceleration (3,) of the least-squares parabola through a path (T, 3), and the root mean square distance."""
    basis = np.stack([np.ones_like(time), time, 0.5 * time**2], axis=1)
    coefficients, *_ = np.linalg.lstsq(basis, path, rcond=None)
    stray = float(np.sqrt(np.mean(np.sum((basis @ coefficients - path) ** 2, axis=1))))
    return coefficients[2], stray


SLOW_FOOT = 0.3
"""A foot stands while it moves slower than this share of its fastest [1]."""
SHORTEST_STRIDE = 0.4
"""A stride carries a foot at least this far [leg lengths]."""
SHORTEST_SWING, STRAIGHT, STEEP = 0.25, 0.8, 0.7
"""A swing carries a foot at least this far [leg lengths], this share of its path from end to end, and no steeper than
this share of its way up or down [1]."""
FEWEST_STRIDES = 3
"""Fewer strides make no gait."""
WALKING, HOPPING = 0.12, 0.6
"""Feet that move at the same time for less than this share of their way walk, for more than that hop [1]."""
AHEAD = 0.3
"""The strides of a walk go on in their direction at least so much, as a cosine [1]."""
EVEN = 0.45
"""The logarithms of a gait's stride times spread no more than this [1]."""


@dataclass(frozen=True)
class Gait:
    """How a figure steps.

    Attributes:
        stride: Time from a foot's stance to its next one [frames].
        length: Length of a step, half a stride [leg lengths].
        spread: Standard deviation of the logarithm of stride times [1].
        aloft: How much of the time in which a foot moves the other one moves, too: hardly any in a walk [1].
        count: How many strides were seen.
        legs: How many legs step.
        ahead: Cosine between a stride and the next one of that foot, the median: 1 for a walk, less for a dance.
    """

    stride: float
    length: float
    spread: float
    aloft: float
    count: int
    legs: int
    ahead: float

    @property
    def on_foot(self) -> bool:
        """True for two legs of which one stands at any time, however fast the frames follow each other."""
        return self.legs == 2 and self.aloft < WALKING

    @property
    def walks(self) -> bool:
        """True for one that goes on in its direction: a walk and no dance."""
        return self.on_foot and self.ahead > AHEAD


def find_gait(figure: Figure) -> Gait | None:
    """How the figure steps, looked for once."""
    found = figure.motion.found
    if "gait" not in found:
        found["gait"] = _find_gait(figure)
    return found["gait"]


def _find_gait(figure: Figure) -> Gait | None:
    """The strides of a figure that walks or runs; None where it does not.

    A foot's own speed shows its stances, so neither the floor nor the way up is asked. The feet of a gait
    stand in turn: what hops with both feet at a time, or kicks, is none.
    """
    feet = figure.anatomy.feet
    if not figure.moves or len(feet) < 2:
        return None
    strides: list[float] = []
    lengths: list[float] = []
    turns: list[float] = []
    stances: list[Flags] = []
    for foot in feet:
        place, standing = _foot_stances(figure, foot)
        stances.append(standing)
        middle = [(first + last) / 2.0 for first, last in runs(standing)]
        ways = np.diff(place[np.round(middle).astype(np.int64)], axis=0)
        ways /= np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-12)
        turns += np.sum(ways[1:] * ways[:-1], axis=1).tolist()
        for begin, end in itertools.pairwise(middle):
            way = float(np.linalg.norm(place[round(end)] - place[round(begin)]))
            if way > SHORTEST_STRIDE:
                strides.append(end - begin)
                lengths.append(0.5 * way)
    if len(strides) < FEWEST_STRIDES:
        return None
    spread = float(np.std(np.log(strides)))
    moving = [~s for s in stances[:2]]
    together = float((moving[0] & moving[1]).sum() / max(1, min(m.sum() for m in moving)))
    if spread > EVEN or together > HOPPING:
        return None
    return Gait(
        stride=figure.step * float(np.median(strides)),
        length=float(np.median(lengths)),
        spread=spread,
        aloft=together,
        count=len(strides),
        legs=len(feet),
        ahead=float(np.median(turns)) if turns else 1.0,
    )


def _foot_stances(figure: Figure, foot: tuple[int, ...]) -> tuple[Array, Flags]:
    """Where a foot is, shape (F, 3) [leg lengths], and in which of the frames it stands, by its own speed."""
    place = figure.places(foot)
    speed = np.linalg.norm(np.gradient(place, axis=0), axis=1)
    standing = speed < SLOW_FOOT * float(np.percentile(speed, 90))
    pair = np.ones(2)
    return place, np.asarray(ndimage.binary_closing(ndimage.binary_opening(standing, pair), pair), dtype=bool)


@dataclass(frozen=True)
class Swing:
    """How long a foot is on its way from one stance to the next, and how far: medians over all steps.

    Attributes:
        time: [frames].
        length: [leg lengths].
    """

    time: float
    length: float


def find_swing(figure: Figure, up: str) -> Swing | None:
    """The swings of feet that go straight ahead, whether they make a gait or not; None where most do not.

    A foot that gets higher or lower by more than it goes ahead takes no step: it jumps, falls or dives.
    """
    if not figure.moves:
        return None
    found: list[tuple[float, float]] = []
    count = 0
    for foot in figure.anatomy.feet:
        place, standing = _foot_stances(figure, foot)
        for (_, begin), (end, _) in itertools.pairwise(runs(standing)):
            way = float(np.linalg.norm(place[end] - place[begin]))
            if abs(along(place[end] - place[begin], up)) > STEEP * way:
                continue
            path = float(np.linalg.norm(np.diff(place[begin : end + 1], axis=0), axis=1).sum())
            count += way > SHORTEST_SWING
            if way > max(SHORTEST_SWING, STRAIGHT * path):
                found.append((figure.step * (end - begin), way))
    return Swing(*np.median(found, axis=0).tolist()) if found and 2 * len(found) >= count else None


HELD = 0.3
"""Feet hold a body if its zero-moment point is no farther from the foot that stands, root mean square [leg lengths]."""
SOLE = 0.06
"""A sole reaches this far around the line from ankle to toes [leg lengths]."""
LEAST_LOAD = 0.2
"""A foot that stands alone carries at least this share of the weight [1]."""
FEWEST_STANDING = 16
"""Fewer frames on one foot say nothing of balance."""
GRAVITIES = 2.0 ** np.linspace(6.0, -4.0, 81)
"""Gravities that are tried, greatest first, over the usual acceleration of the body across the ground [1]."""


def least_gravity(figure: Figure, up: str) -> float | None:
    """The least gravity that still holds the body over the foot it stands on [leg lengths / frame²].

    A body of height z over the ground that stands on one foot and accelerates by c̈ needs its foot at
    p = c − z c̈ / (g + c̈_z), the zero-moment point of a body without spin. Played too fast it would fall off its feet.
    Accelerations are smoothed over a window of frames. In a run only frames count whose window lies within one stance.
    None where no two feet stand in turn, or no gravity holds it.
    """
    swing, feet = find_swing(figure, up), figure.anatomy.feet
    if swing is None or len(feet) != 2:
        return None
    width = max(5, round(0.5 * swing.time / figure.step) | 1)
    count, half = len(figure.points), width // 2
    if count < width + FEWEST_STANDING:
        return None
    place, bend = _smoothed(figure.com, width)
    bend = bend / figure.step**2
    standing = [_foot_stances(figure, foot)[1] for foot in feet]
    alone = standing[0] ^ standing[1]
    gait = find_gait(figure)
    if gait is None or not gait.walks:
        alone = _all_along(standing[0] & ~standing[1], width) | _all_along(standing[1] & ~standing[0], width)
    alone[:half] = alone[count - half :] = False
    if alone.sum() < FEWEST_STANDING:
        return None
    on_left = standing[0][alone]
    sole = [np.where(on_left[:, None], *(figure.places([foot[k]])[alone] for foot in feet)) for k in (0, -1)]
    place, bend = place[alone], bend[alone]
    height = along(place, up) - np.minimum(*(along(end, up) for end in sole))
    across = [k for k in range(3) if k != "xyz".index(up[-1])]
    heel, way = sole[0][:, across], (sole[1] - sole[0])[:, across]
    long = np.maximum(np.linalg.norm(way, axis=1), 1e-6)
    usual = float(np.sqrt(np.mean(bend[:, across] ** 2)))
    rise = along(bend, up)

    def outside(gravity: float) -> float:
        lever = height / np.maximum(gravity + rise, LEAST_LOAD * gravity)
        beside = place[:, across] - lever[:, None] * bend[:, across] - heel
        share = np.clip(np.sum(beside * way, axis=1) / long**2, -SOLE / long, 1.0 + SOLE / long)
        far = np.maximum(np.linalg.norm(beside - share[:, None] * way, axis=1) - SOLE, 0.0)
        return float(np.sqrt(np.mean(np.minimum(far, 1.0) ** 2)))

    least = None
    for gravity in usual * GRAVITIES:
        if outside(gravity) > HELD:
            break
        least = gravity
    return least


def _all_along(flags: Flags, width: int) -> Flags:
    """Frames that have these flags in the whole window of this width about them [frames]."""
    return np.asarray(ndimage.binary_erosion(flags, np.ones(width)), dtype=bool)


def _smoothed(path: Array, width: int) -> tuple[Array, Array]:
    """A path (F, 3) and its second derivative by the frame, from the polynomial that fits each window best.

    Of third degree (Savitzky and Golay 1964). Within half a window of the ends they are wrong.
    """
    time = np.arange(width, dtype=np.float64) - width // 2
    fit = np.linalg.pinv(np.stack([time**0, time, 0.5 * time**2, time**3], axis=1))
    place, bend = (ndimage.correlate1d(path, fit[k], axis=0, mode="nearest") for k in (0, 2))
    return place, bend


def fastest_fall(figure: Figure, up: str, window: float) -> float | None:
    """The greatest downward acceleration of the center of mass [leg lengths / frame²], smoothed over `window` frames.

    The fastest two in a hundred frames are left out; None where the clip is too short to tell.
    """
    height = along(figure.com, up)
    width = max(5, round(window / figure.step) | 1)
    if not figure.moves or len(height) < width + 4:
        return None
    # second derivative of the parabola that fits each window best (Savitzky and Golay 1964)
    half = width // 2
    square = np.arange(-half, half + 1, dtype=np.float64) ** 2
    square -= square.mean()
    fall = np.pad(-2.0 / float(square @ square) * np.convolve(height, square, mode="valid"), half, mode="edge")
    return float(np.percentile(fall, 98.0)) / figure.step**2


def in_blocks(points: Reals) -> list[Reals]:
    """Views of some points at a time, of values of all points (F, N, …)."""
    return [points[:, k : k + BLOCK] for k in range(0, max(points.shape[1], 1), BLOCK)]


def busiest_frequency(figure: Figure) -> float | None:
    """The frequency below which nine tenths of the motion of joints lies [1 / frame]; None where there is too little.

    Motion of bodies is slow beside that of noise: what lies far above is measured where a body does not move.
    """
    if not figure.moves or len(figure.points) < 24:
        return None
    power = np.zeros(len(figure.points) // 2 + 1)
    for points in in_blocks(figure.points):
        velocity: Array = np.gradient(points - figure.com[:, None], axis=0)
        power += (np.abs(np.fft.rfft(velocity - velocity.mean(axis=0), axis=0)) ** 2).sum(axis=(1, 2))
    share = np.cumsum(power) / max(float(power.sum()), 1e-300)
    return float(np.fft.rfftfreq(len(figure.points), figure.step)[int(np.searchsorted(share, 0.9))])
