"""Feet and the floor under them: where soles, balls and toe tips are, fitted to the clip."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.body.anatomy import Anatomy, Chain
from poise.body.anthropometry import RADII
from poise.body.fit_bodies import PERSON_SPAN, Frames, make_frames
from poise.body.fit_poses import Poses, gather_poses
from poise.body.limbs import find_anatomy
from poise.body.parts import ContactPoint
from poise.core import rotations

Array = npt.NDArray[np.float64]

SLOW_SHARE = 0.25
"""A foot's slowest quarter of frames tells where it stands."""


@dataclass(frozen=True)
class Foot:
    """A foot before its floor is known.

    Attributes:
        chain: Its leg.
        ankle: Body of the foot.
        toe: Body of the toes, or None.
        ball: Place of the ball in `ball_body` [m], shape (3,).
        ball_body: Body the ball belongs to.
        tip: Place of the toe tip in the last body [m], shape (3,).
        pace: Speed of its outermost body [m/s], shape (F,).
        slow: Frames in which the foot moves slowest, shape (F,).
        heading: Level direction the foot points in each frame, shape (F, 3).
    """

    chain: Chain
    ankle: int
    toe: int | None
    ball: Array
    ball_body: int
    tip: Array
    pace: Array
    slow: npt.NDArray[np.bool_]
    heading: Array

    @property
    def last(self) -> int:
        """Outermost body."""
        return self.ankle if self.toe is None else self.toe


@dataclass(frozen=True)
class Ground:
    """How a figure stands.

    Attributes:
        feet: Of all legs.
        floor: Height of the clip's floor [m].
        soles: Points of all feet that touch it.
    """

    feet: tuple[Foot, ...]
    floor: float
    soles: tuple[ContactPoint, ...]

    def plane(self, body: int) -> tuple[Array, Array, Array] | None:
        """Middle of the heel and of the ball of a foot's body, and unit normal to the ankle; None for paws."""
        return _sole_plane([p for p in self.soles if p.body == body])


def find_ground(poses: Poses, anatomy: Anatomy, frames: Frames, names: tuple[str, ...]) -> Ground:
    """Feet, floor and soles of a figure.

    Args:
        poses: What it does.
        anatomy: What the joints are for.
        frames: Body frames over the poses.
        names: Unique name of each body.
    """
    feet = find_feet(poses, anatomy, frames)
    floor = find_floor(frames, feet)
    return Ground(feet, floor, tuple(_soles(poses, anatomy, frames, feet, names, floor)))


def find_feet(poses: Poses, anatomy: Anatomy, frames: Frames) -> tuple[Foot, ...]:
    """The feet of all legs, with ball and tip guessed where the file gives none."""
    joints = list(frames.joints)
    speeds, rises = poses.speeds[:, joints], poses.rises[:, joints]
    return tuple(_foot(frames, anatomy, chain, speeds, rises) for chain in anatomy.limbs("leg"))


def find_floor(frames: Frames, feet: tuple[Foot, ...]) -> float:
    """Height of the floor [m]: median height of the lowest foot point over the slowest quarter of its frames.

    "Its frames" are the ones in which that foot is the lowest, so that a leg held still in the air does not count.
    Where an ankle, a knee, a hand, the trunk or the head is seen lower still (crawling, lying, a cartwheel, toes bent
    up), the floor is as low as the lowest of them less half its thickness: a joint's center cannot be under the floor.
    """
    centers = [
        _resting_height(frames.positions[:, i, 2], frames.scale) - _least_thickness(part) * frames.scale
        for i, part in enumerate(frames.parts)
        if part != "toe"
    ]
    seen = float(min(centers, default=0.0))
    if not feet:
        return seen
    heights = np.stack([_lowest(frames, foot) for foot in feet], axis=1)
    lowest = np.argmin(heights, axis=1)
    pace = np.stack([foot.pace for foot in feet], axis=1)[np.arange(len(lowest)), lowest]
    slow = pace <= np.quantile(pace, SLOW_SHARE) + 1e-9
    return min(float(np.median(heights.min(axis=1)[slow])), seen)


def _soles(
    poses: Poses, anatomy: Anatomy, frames: Frames, feet: tuple[Foot, ...], names: tuple[str, ...], floor: float
) -> list[ContactPoint]:
    """Sole points of all feet: from the clip where the foot stands in it, else from the skeleton's rest pose."""
    points: list[ContactPoint] = []
    rest = gather_poses(poses.skeleton)
    for n, foot in enumerate(feet):
        standing = stands(frames, foot)
        if standing.sum() < min(3, poses.frame_count):
            rest_frames = make_frames(rest, anatomy)
            as_rest = replace(anatomy, forward=find_anatomy(rest).forward)
            rest_foot = find_feet(rest, as_rest, rest_frames)[n]
            if stands(rest_frames, rest_foot).any():
                level = find_floor(rest_frames, (rest_foot,))
                at = np.ones(1, dtype=bool)
                points += sole_points(rest_frames, rest_foot, names[foot.ankle], level, at)
                continue
            standing = foot.slow
        points += sole_points(frames, foot, names[foot.ankle], floor, standing)
    return points


def leg_length(frames: Frames, ground: Ground) -> float:
    """Thigh, shin and what lies below the ankle of the longest leg [m]; without legs, the root's median height.

    Below a person's ankle lies its height over the sole, below a paw's the bone down to the ball.
    """
    lengths: list[float] = []
    for foot in ground.feet:
        body, length = foot.ankle, 0.0
        while frames.parts[body] in ("foot", "shin"):
            length += float(np.linalg.norm(frames.offsets[body]))
            body = frames.parents[body]
        plane = ground.plane(foot.ankle)
        if plane is not None:
            length += float(-plane[0] @ plane[2])
        elif foot.ball_body != foot.ankle or frames.parts[foot.ankle] == "foot":
            length += float(np.linalg.norm(foot.ball if foot.ball_body == foot.ankle else frames.offsets[foot.last]))
        if frames.parts[foot.ankle] == "shin":
            length = float(np.linalg.norm(frames.offsets[foot.ankle]) + np.linalg.norm(foot.tip))
        lengths.append(length)
    if lengths and max(lengths) > 0.0:
        return max(lengths)
    return max(float(np.median(frames.positions[:, 0, 2])) - ground.floor, 0.2 * PERSON_SPAN * frames.scale)


def _least_thickness(part: str) -> float:
    """Flesh between a joint and the floor at the least, in a person [m]."""
    return 0.02 if part == "foot" else 0.5 * RADII[part][0]


def _resting_height(heights: Array, scale: float) -> float:
    """Height at which a joint rests when it is lowest: of the frames within 12 cm of its minimum the stiller half.

    The lower quartile of those: a short dip of the capture through the floor is fast and does not count.
    """
    if len(heights) < 3:
        return float(heights.min())
    low = heights < heights.min() + 0.12 * scale
    change = np.abs(np.gradient(heights))
    return float(np.quantile(heights[low & (change <= np.median(change[low]))], 0.25))


def stands(frames: Frames, foot: Foot) -> npt.NDArray[np.bool_]:
    """Frames in which the foot may be standing: slow, as low as it mostly is then, and with the shin above it."""
    lowest = _lowest(frames, foot)
    knee = frames.parents[foot.ankle] if frames.parts[foot.ankle] == "foot" else -1
    upright = np.ones(len(lowest), dtype=bool)
    if knee >= 0:
        shin = float(np.linalg.norm(frames.offsets[foot.ankle]))
        upright = frames.positions[:, knee, 2] - frames.positions[:, foot.ankle, 2] > 0.5 * shin
    slow = foot.slow & upright
    if not slow.any():
        return slow
    return slow & (lowest <= np.quantile(lowest[slow], 0.4) + 0.01 * frames.scale)


def sole_points(
    frames: Frames, foot: Foot, name: str, floor: float, standing: npt.NDArray[np.bool_]
) -> list[ContactPoint]:
    """Heel in and out, ball in and out, and toe tip of a foot, laid on the floor where the foot stands on it.

    Each point is the median over the foot's slow, low frames, each group taken where its own joint is lowest, so that
    a heel that lifts early still gets its place on the ground. A heel that never comes near the ground (paws, hooves)
    has no points.

    Args:
        frames: Body frames over the poses.
        foot: The foot.
        name: What its points are called.
        floor: Height of the floor [m].
        standing: Frames in which it stands, at least one, shape (F,).
    """
    scale = frames.scale
    leg = _leg_bones(frames, foot)
    ankle_at, ball_at = frames.positions[:, foot.ankle], frames.world(foot.ball_body, foot.ball)
    tip_at = frames.world(foot.last, foot.tip)
    across = np.cross(np.array([0.0, 0.0, 1.0]), foot.heading)
    half = 0.035 * scale
    points: list[ContactPoint] = []

    def add(label: str, body: int, at: Array, shift: Array) -> None:
        low = standing & (at[:, 2] <= np.quantile(at[standing, 2], 0.3) + 0.002 * scale)
        world = at + shift
        world[:, 2] = np.maximum(floor, at[:, 2] - 0.15 * leg)
        offset = np.median(frames.local(body, world)[low], axis=0)
        points.append(ContactPoint(f"{name}.{label}", body, offset, 0.0, "foot"))

    outward = 1.0 if foot.chain.side == "left" else -1.0
    low_ankle = float(np.quantile(ankle_at[standing, 2], 0.2)) - floor
    if low_ankle < 0.17 * leg and foot.ball_body == foot.ankle:
        for label, sign in (("heel.in", -outward), ("heel.out", outward)):
            add(label, foot.ankle, ankle_at, sign * 0.8 * half * across - 0.045 * scale * foot.heading)
    for label, sign in (("ball.in", -outward), ("ball.out", outward)):
        add(label, foot.ball_body, ball_at, sign * half * across)
    if np.median(np.linalg.norm(tip_at - ball_at, axis=-1)) > 0.01 * scale:
        add("toe", foot.last, tip_at, np.zeros(3))
    return points


def _foot(frames: Frames, anatomy: Anatomy, chain: Chain, speeds: Array, rises: Array) -> Foot:
    by_joint = {j: i for i, j in enumerate(frames.joints)}
    bodies = [by_joint[j] for j in chain.joints[chain.upper :]]
    ankle = bodies[2] if len(bodies) > 2 else bodies[-1]
    toe = bodies[3] if len(bodies) > 3 else None
    last = ankle if toe is None else toe
    pace = _pace(frames, last, speeds[:, last], rises[:, last])
    slow = pace <= np.quantile(pace, SLOW_SHARE) + 1e-9
    leg = sum(float(np.linalg.norm(frames.offsets[b])) for b in bodies[1:3])
    tips = frames.tips[last]
    if tips:
        tip = tips[0]
    else:
        tip = _guessed_tip(frames, anatomy, last, slow, leg, is_toe=toe is not None)
    if toe is not None and (len(bodies) < 4 or _heel_is_high(frames, ankle, toe, slow, leg)):
        ball_body, ball = toe, np.zeros(3)
    elif toe is not None:
        ball_body, ball = ankle, frames.offsets[toe]
    else:
        ball_body, ball = ankle, 0.65 * tip
    along = frames.world(last, tip) - frames.positions[:, ankle]
    along[:, 2] = 0.0
    size = np.linalg.norm(along, axis=-1, keepdims=True)
    heading = np.where(size > 0.02 * leg, along / np.maximum(size, 1e-9), anatomy.forward)
    return Foot(chain, ankle, toe, ball, ball_body, tip, pace, slow, heading)


def _pace(frames: Frames, body: int, speed: Array, rise: Array) -> Array:
    """Speed that is small where the foot stands [m/s], shape (F,): its own, or in a clip walking in place, its rise.

    Walking in place, the standing foot slides back under the figure and is no slower than the other.
    """
    height = frames.positions[:, body, 2]
    low = height <= np.quantile(height, 0.25)
    treads = float(np.median(speed[low])) > 0.5 * float(np.median(speed)) + 1e-9
    return rise if treads else speed


def _heel_is_high(frames: Frames, ankle: int, toe: int, slow: npt.NDArray[np.bool_], leg: float) -> bool:
    """True for paws and hooves: the ankle stays far above the toes."""
    rise = frames.positions[slow, ankle, 2] - frames.positions[slow, toe, 2]
    return bool(np.median(rise) > 0.17 * leg)


def _guessed_tip(
    frames: Frames, anatomy: Anatomy, last: int, slow: npt.NDArray[np.bool_], leg: float, *, is_toe: bool
) -> Array:
    """Tip of a foot whose file ends at the ankle or the toe joint: forward, and down to the floor.

    The floor is taken at world height 0 if that lies where a sole can be (3 to 12 % of the leg below the joint), else
    6 % of the leg below it. A foot reaches 0.2 legs ahead, toes or paws 0.07.
    """
    if frames.parts[last] == "shin":
        return _on(frames, last, 0.6)
    height = float(np.median(frames.positions[slow, last, 2]))
    drop = height if 0.0 < height < 0.12 * leg else 0.06 * leg
    ahead = (0.07 if is_toe or anatomy.four_legged else 0.2) * leg
    at = frames.positions[:, last] + ahead * anatomy.forward
    at[:, 2] -= drop
    return np.median(frames.local(last, at)[slow], axis=0)


def _on(frames: Frames, body: int, share: float) -> Array:
    parent = frames.parents[body]
    along = frames.positions[:, body] - frames.positions[:, parent]
    return np.median(rotations.rotate(rotations.conjugate(frames.orientations[:, body]), share * along), axis=0)


def _lowest(frames: Frames, foot: Foot) -> Array:
    ball, tip = frames.world(foot.ball_body, foot.ball), frames.world(foot.last, foot.tip)
    return np.minimum(ball[:, 2], tip[:, 2])


def _leg_bones(frames: Frames, foot: Foot) -> float:
    """Thigh and shin together [m]."""
    by_joint = {j: i for i, j in enumerate(frames.joints)}
    bodies = [by_joint[j] for j in foot.chain.joints[foot.chain.upper :]]
    return sum(float(np.linalg.norm(frames.offsets[b])) for b in bodies[1:3])


def _sole_plane(own: list[ContactPoint]) -> tuple[Array, Array, Array] | None:
    """Middle of the heel, middle of the ball and unit normal towards the ankle, in the foot's frame; None for paws."""
    by_label = {_label(p): p.offset for p in own}
    if not {"heel.in", "heel.out", "ball.in", "ball.out"} <= set(by_label):
        return None
    heel = 0.5 * (by_label["heel.in"] + by_label["heel.out"])
    ball = 0.5 * (by_label["ball.in"] + by_label["ball.out"])
    up = np.cross(ball - heel, by_label["ball.out"] - by_label["ball.in"])
    size = float(np.linalg.norm(up))
    if size < 1e-12:
        return None
    up = up / size
    up = up if heel @ up < 0.0 else -up
    return (heel, ball, up) if -heel @ up > 1e-3 else None


def _label(point: ContactPoint) -> str:
    return ".".join(point.name.split(".")[-2:])
