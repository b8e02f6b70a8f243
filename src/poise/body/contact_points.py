"""What touches the world: soles fitted to the clip, and small spheres on hands, knees, elbows, head and trunk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.body.anatomy import Anatomy, Chain
from poise.body.anthropometry import RADII
from poise.body.character import ContactPoint
from poise.body.fit_bodies import Frames
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


def find_feet(frames: Frames, anatomy: Anatomy, speeds: Array, rises: Array) -> tuple[Foot, ...]:
    """The feet of all legs, with ball and tip guessed where the file gives none.

    Args:
        frames: Body frames over the poses.
        anatomy: What the joints are for.
        speeds: Speed of each body's frame [m/s], shape (F, B).
        rises: Vertical part of it, absolute [m/s], shape (F, B).
    """
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


def body_spheres(frames: Frames, names: tuple[str, ...], radii: tuple[float, ...], floor: float) -> list[ContactPoint]:
    """Spheres on hands, knees, elbows, head and trunk, as thick as the body there but not thicker than the clip shows.

    Args:
        frames: Body frames over the poses.
        names: Unique name of each body.
        radii: Thickness of each body [m].
        floor: Height of the floor [m].
    """
    points: list[ContactPoint] = []

    def add(label: str, body: int, offset: Array, radius: float, part: str) -> None:
        center, fitting = _out_of_floor(frames, body, offset, radius, floor)
        points.append(ContactPoint(f"{names[body]}.{label}", body, center, fitting, part))

    for i, part in enumerate(frames.parts):
        tips, r = frames.tips[i], radii[i]
        if part == "hand" and tips:
            add("wrist", i, np.zeros(3), 0.9 * r, "hand")
            add("fingers", i, 0.92 * tips[0], 0.5 * r, "hand")
        elif part == "forearm":
            add("elbow", i, np.zeros(3), r, "elbow")
            if not any(frames.parents[k] == i for k in range(frames.body_count)) and tips:
                add("hand", i, tips[0], 0.9 * r, "hand")
        elif part == "shin":
            add("knee", i, np.zeros(3), r, "knee")
        elif part == "head":
            add("head", i, 0.55 * tips[0] if tips else np.zeros(3), r, "head")
        elif part == "pelvis":
            middle = far_middle(frames, i)
            add("pelvis", i, np.zeros(3) if middle is None else middle, r, "trunk")
        elif part == "chest":
            add("chest", i, np.mean(tips, axis=0) if tips else np.zeros(3), r, "trunk")
        if part in ("thigh", "upper_arm") and frames.parents[i] >= 0:
            label = f"{frames.sides[i]}_{'hip' if part == 'thigh' else 'shoulder'}"
            thick = 0.9 * r if part == "thigh" else 1.1 * r
            add(label, frames.parents[i], frames.offsets[i], thick, "trunk")
    if not points and len(names):
        for i, tips in enumerate(frames.tips):
            add("end", i, tips[0] if tips else np.zeros(3), radii[i], "trunk")
    return points


def _out_of_floor(frames: Frames, body: int, center: Array, radius: float, floor: float) -> tuple[Array, float]:
    """Center and radius of a sphere that the clip does not push through the floor by more than it must.

    First the sphere is made thinner, to 0.4 of its radius at the least; where it is still too deep (stiff fingers that
    the capture drives through the ground), its center is moved, 6 cm at most, to where it would touch in the deepest
    frames.
    """
    height = float(np.quantile(frames.world(body, center)[:, 2], 0.02)) - floor
    fitting = float(np.clip(height, 0.4 * radius, radius))
    first, most = center, 0.06 * frames.scale
    for _ in range(3):
        world = frames.world(body, center)
        depth = floor + fitting - world[:, 2]
        if float(np.quantile(depth, 0.97)) < 0.005 * frames.scale:
            break
        deep = depth >= np.quantile(depth, 0.93)
        world[:, 2] += np.maximum(depth, 0.0)
        moved = np.median(frames.local(body, world)[deep], axis=0) - first
        center = first + moved * min(1.0, most / max(float(np.linalg.norm(moved)), 1e-9))
    return center, fitting


def far_middle(frames: Frames, body: int) -> Array | None:
    """Where all bones of a body end together, far from its joint: a root on the ground that only carries; else None."""
    tips = np.array(frames.tips[body])
    if len(tips) < 2 or float(np.linalg.norm(np.ptp(tips, axis=0))) > 0.05 * frames.scale:
        return None
    middle = tips.mean(axis=0)
    return middle if float(np.linalg.norm(middle)) > 0.15 * frames.scale else None


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
