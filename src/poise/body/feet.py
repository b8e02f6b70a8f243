"""Feet and the floor under them: where soles, balls and toe tips are, fitted to the clip."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.body.anatomy import Anatomy, Chain, Poses, gather_poses
from poise.body.anthropometry import RADII
from poise.body.fit_bodies import PERSON_SPAN, Frames, make_frames
from poise.body.limbs import find_anatomy
from poise.body.parts import ContactPoint
from poise.body.soles import FLAT, flattened, sole_plane
from poise.core import rotations
from poise.core.typing import Array
from poise.phases.floor import floor_under, stands_on_zero
from poise.phases.points import runs

SLOW_SHARE = 0.25
"""A foot's slowest quarter of frames tells where it stands."""

HIGH_HEEL = 0.17
"""An ankle higher than this above the toes belongs to a paw or hoof, as a share of thigh and shin [1]."""

STRAIGHT = 0.9
"""A figure with arms whose thigh and shin go straight down by so much of their length in the rest pose stands on its
heels, however high its ankles are, as in boots. Bent legs end in paws or hooves [1]."""

SUNK = 0.08
"""A hand seen no deeper than this below the feet does not lower the floor, on a figure of a person's size [m]."""

STEEP = 0.75
"""A foot in the rest pose that points down more steeply than this does not stand: sine of its angle [1]."""

ODD_SOLE, ODD_HEIGHT = np.radians(45.0), (0.25, 3.5)
"""A sole turned more than this from that of the rest pose [rad], or so much nearer to or further from the ankle [1], is
not the foot's own."""

THICK_SOLE = 0.15
"""No sole is thicker than this, as a share of thigh and shin [1]."""

BARE_SOLE = 0.14
"""A leg without a foot stands on a sole that reaches so far ahead of its end, in a figure of a person's size [m]."""

STEP = 0.06
"""A foot that stands higher above the floor than this stands on a step, as a share of thigh and shin [1]."""


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
        root: Place of the ankle in its body [m], shape (3,): its joint, or the end of a shin that no foot ends.
        pace: Speed of its outermost body [m/s], shape (F,).
        slow: Frames in which the foot moves slowest, shape (F,).
        heading: Level direction the foot points in each frame, shape (F, 3).
        drop: Height of the ankle over ball and tip where the foot moves slowly [m].
        heel: Height of the ankle over the heel [m]; 0 if the rest pose does not show that it stands on one; `STRAIGHT`.
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
    root: Array
    drop: float = 0.0
    heel: float = 0.0

    @property
    def has_ankle(self) -> bool:
        """Whether it is more than the end of a shin."""
        return not self.root.any()

    @property
    def last(self) -> int:
        """Outermost body."""
        return self.ankle if self.toe is None else self.toe


@dataclass(frozen=True)
class RestPose:
    """The figure as its skeleton draws it, without any motion.

    Attributes:
        poses: The one pose.
        frames: Body frames of it.
        feet: Of all legs.
    """

    poses: Poses
    frames: Frames
    feet: tuple[Foot, ...]


@dataclass(frozen=True)
class Ground:
    """How a figure stands.

    Attributes:
        feet: Of all legs.
        floor: Height of the clip's floor [m].
        soles: Points of all feet that touch it.
        rest: The rest pose, which gives the sizes.
    """

    feet: tuple[Foot, ...]
    floor: float
    soles: tuple[ContactPoint, ...]
    rest: RestPose

    def plane(self, body: int) -> tuple[Array, Array, Array] | None:
        """Middle of the heel and of the ball of a foot's body, and unit normal to the ankle; None for paws."""
        return sole_plane([p for p in self.soles if p.body == body])

    def has_heel(self, foot: Foot) -> bool:
        """Whether a foot stands on its heel: not on its toes alone, as paws and hooves do."""
        return any(p.body == foot.ankle and ".heel." in p.name for p in self.soles)


def find_ground(poses: Poses, anatomy: Anatomy, frames: Frames, names: tuple[str, ...]) -> Ground:
    """Feet, floor and soles of a figure.

    Args:
        poses: What it does.
        anatomy: What the joints are for.
        frames: Body frames over the poses.
        names: Unique name of each body.
    """
    rest = _rest_pose(poses, anatomy, frames)
    feet = find_feet(poses, anatomy, frames, rest)
    floor = find_floor(poses, frames, feet)
    return Ground(feet, floor, tuple(_soles(frames, feet, rest, names, floor)), rest)


def _rest_pose(poses: Poses, anatomy: Anatomy, frames: Frames) -> RestPose:
    if poses.is_bare:
        return RestPose(poses, frames, find_feet(poses, anatomy, frames))
    rest = gather_poses(poses.skeleton)
    rest_frames = make_frames(rest, anatomy)
    found = poses.skeleton.found
    if "facing" not in found:  # of its rest pose: the same for all its clips
        found["facing"] = find_anatomy(rest).forward
    feet = find_feet(rest, replace(anatomy, forward=found["facing"]), rest_frames)
    return RestPose(rest, rest_frames, feet)


def find_feet(poses: Poses, anatomy: Anatomy, frames: Frames, rest: RestPose | None = None) -> tuple[Foot, ...]:
    """The feet of all legs, with ball and tip guessed where the file gives none.

    Args:
        poses: What the figure does.
        anatomy: What the joints are for.
        frames: Body frames over the poses.
        rest: The rest pose, which is asked as well whether a heel is high.
    """
    joints = list(frames.joints)
    speeds, rises = poses.speeds[:, joints], poses.rises[:, joints]
    stands = _stands_straight(frames, anatomy) if rest is None else any(foot.heel for foot in rest.feet)
    feet = tuple(_foot(frames, anatomy, chain, speeds, rises, rest, stands) for chain in anatomy.limbs("leg"))
    if rest is None:  # legs of a figure are alike, though one may be lifted in its rest pose
        lowest = min((foot.heel for foot in feet), default=0.0)
        feet = tuple(replace(foot, heel=lowest) for foot in feet)
    return feet


def find_floor(poses: Poses, frames: Frames, feet: tuple[Foot, ...]) -> float:
    """Height of the floor [m] under the lowest point of the character in each frame, found as `phases.find_floor` does.

    Args:
        poses: What the figure does.
        frames: Body frames over the poses.
        feet: Of all legs.
    """
    height, speed = _lowest_points(poses, frames, feet)
    armature, hips = poses.positions[:, 0], frames.positions[:, 0, 2]
    return floor_under(poses.skeleton, armature, hips, height, speed, frames.scale).value


def _lowest_points(poses: Poses, frames: Frames, feet: tuple[Foot, ...]) -> tuple[Array, Array]:
    """Height [m] and speed over the floor [m/s] of the character's lowest point in each frame, shapes (F,).

    Points are ball and tip of the feet, and the joints of all other parts less half their thickness: a joint's center
    cannot be under the floor. A hand a little lower than all else is the capture's error: wrists sink when hands carry.
    """
    heights, owners = [_lowest(frames, foot) for foot in feet], [foot.last for foot in feet]
    for i, part in enumerate(frames.parts):
        at = [frames.positions[:, i]] + [frames.world(i, tip) for tip in frames.tips[i] if part == "toe"]
        heights.append(np.min([a[:, 2] for a in at], axis=0) - _least_thickness(part) * frames.scale)
        owners.append(i)
    hands = np.array([frames.parts[i] == "hand" for i in owners])
    lowest = np.argmin(np.stack(heights, axis=1) + SUNK * frames.scale * hands, axis=1)
    every, joints = np.arange(len(lowest)), np.array(frames.joints)[owners]
    return np.stack(heights, axis=1)[every, lowest], poses.speeds[every, joints[lowest]]


def _soles(
    frames: Frames, feet: tuple[Foot, ...], rest: RestPose, names: tuple[str, ...], floor: float
) -> list[ContactPoint]:
    """Sole points of all feet: from the clip where the foot stands in it, else from the skeleton's rest pose.

    A clip may stand on its toes or on a ledge all the time. A sole that is far from that of a standing rest pose is not
    believed.
    """
    points: list[ContactPoint] = []
    is_skinned = stands_on_zero(rest.poses.skeleton, frames.scale)
    for foot, at_rest in zip(feet, rest.feet):
        name, standing = names[foot.ankle], stands(frames, foot)
        can_stand = bool(stands(rest.frames, at_rest).any())
        level = float(_lowest_points(rest.poses, rest.frames, (at_rest,))[0][0])
        is_above = is_skinned and 0.0 < level < THICK_SOLE * _leg_bones(rest.frames, at_rest)
        thick = level if is_above else 0.0  # the sole of the skin is so far below the joints
        seen = sole_points(frames, foot, name, floor, standing if standing.any() else foot.slow, thick)
        drawn: list[ContactPoint] = []
        if can_stand:
            drawn = sole_points(rest.frames, at_rest, name, level - thick, np.ones(1, dtype=bool), thick)
        is_seen = standing.sum() >= min(3, len(frames.positions))
        points += seen if not can_stand or (is_seen and _agrees(seen, drawn, rest.frames, at_rest)) else drawn
    return points


def _agrees(seen: list[ContactPoint], drawn: list[ContactPoint], rest: Frames, at_rest: Foot) -> bool:
    """Whether the sole that a clip shows may be the foot's own, against the one of the rest pose."""
    if _is_steep(rest, at_rest):
        return True  # the rest pose points its toes
    shown, expected = (sole_plane([p for p in own if p.body == at_rest.ankle]) for own in (seen, drawn))
    if shown is None or expected is None:
        return expected is None or at_rest.ball_body != at_rest.ankle
    (heel, _, up), (drawn_heel, _, drawn_up) = shown, expected
    ratio = float(heel @ up) / float(drawn_heel @ drawn_up)
    return float(up @ drawn_up) > np.cos(ODD_SOLE) and ODD_HEIGHT[0] < ratio < ODD_HEIGHT[1]


def _is_steep(frames: Frames, foot: Foot) -> bool:
    """Whether a rest pose points a foot down or up, so that it does not show how the foot stands."""
    along = frames.world(foot.last, foot.tip)[0] - frames.world(foot.ankle, foot.root)[0]
    return abs(float(along[2])) > STEEP * float(np.linalg.norm(along))


ANKLE_HEIGHT = 0.08
"""Height of an ankle over the sole where the rest pose does not show it, as a share of thigh and shin [1]."""

LOW_ANKLE = 0.05
"""No ankle is lower over its sole than this; a rest pose ends at joints, which lie inside the flesh [1]."""


def leg_length(ground: Ground) -> float:
    """Thigh, shin and what lies below the ankle of the longest leg [m], by the skeleton alone.

    Below a person's ankle lies its height over the sole in the rest pose, below a paw's the bone down to the ball.
    A figure without legs has the height of its root over its lowest point, a fifth of its span at the least.
    """
    frames = ground.rest.frames
    lengths: list[float] = []
    flat: list[float] = []  # feet that stand flat: their bones, and how far they reach below the ankle
    drops: list[float] = []
    for foot, in_clip in zip(ground.rest.feet, ground.feet):
        if frames.parts[foot.ankle] == "shin":
            lengths.append(float(np.linalg.norm(frames.offsets[foot.ankle]) + np.linalg.norm(foot.root)))
            continue
        body, bones = foot.ankle, 0.0
        while frames.parts[body] in ("foot", "shin"):
            bones += float(np.linalg.norm(frames.offsets[body]))
            body = frames.parents[body]
        drop = foot.drop / max(bones, 1e-12)
        if in_clip.ball_body != in_clip.ankle:
            lengths.append(bones + float(np.linalg.norm(frames.offsets[foot.last])))
        elif in_clip.heel:
            flat.append(bones)
            drops.append(in_clip.heel / max(bones, 1e-12))
        elif (0.5 * (drop + in_clip.drop / max(bones, 1e-12)) if _is_steep(frames, foot) else drop) > HIGH_HEEL:
            lengths.append(bones + float(np.linalg.norm(foot.ball)))
        else:
            flat.append(bones)
            drops += [drop] if 0.0 < drop < HIGH_HEEL else []
    if flat:  # a foot that points down in the rest pose seems to reach further: the other one counts
        lengths.append(max(flat) * (1.0 + max(min(drops, default=ANKLE_HEIGHT), LOW_ANKLE)))
    if lengths and max(lengths) > 0.0:
        return max(lengths)
    low = min(
        float((frames.positions[0, i] + rotations.rotate(frames.orientations[0, i], tip))[2])
        for i, tips in enumerate(frames.tips)
        for tip in (np.zeros(3), *tips)
    )
    return max(float(frames.positions[0, 0, 2]) - low, 0.2 * PERSON_SPAN * frames.scale)


def _least_thickness(part: str) -> float:
    """Flesh between a joint and the floor at the least, in a person [m]."""
    return {"toe": 0.0, "foot": 0.02}.get(part, 0.5 * RADII[part][0])


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
    frames: Frames, foot: Foot, name: str, floor: float, standing: npt.NDArray[np.bool_], thick: float = 0.0
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
        thick: What is known to be between its lowest joint or tip and its sole [m].
    """
    scale = frames.scale
    leg = _leg_bones(frames, foot)
    ankle_at, ball_at = frames.world(foot.ankle, foot.root), frames.world(foot.ball_body, foot.ball)
    tip_at = frames.world(foot.last, foot.tip)
    across = np.cross(np.array([0.0, 0.0, 1.0]), foot.heading)
    half = 0.035 * scale
    level = _level_under(frames, foot, floor, standing, thick) if foot.has_ankle else ankle_at[:, 2]
    points: list[ContactPoint] = []

    def add(label: str, body: int, at: Array, shift: Array) -> None:
        height = at[:, 2] - level
        low = standing & (height <= np.quantile(height[standing], 0.3) + 0.002 * scale)
        world = at + shift
        world[:, 2] = np.maximum(level, at[:, 2] - max(THICK_SOLE * leg, foot.heel))
        offset = np.median(frames.local(body, world)[low], axis=0)
        points.append(ContactPoint(f"{name}.{label}", body, offset, 0.0, "foot"))

    outward = 1.0 if foot.chain.side == "left" else -1.0
    low_ankle = float(np.quantile((ankle_at[:, 2] - level)[standing], 0.2))
    if (low_ankle < 0.17 * leg or foot.heel or not foot.has_ankle) and foot.ball_body == foot.ankle:
        for label, sign in (("heel.in", -outward), ("heel.out", outward)):
            add(label, foot.ankle, ankle_at, sign * 0.8 * half * across - 0.045 * scale * foot.heading)
    for label, sign in (("ball.in", -outward), ("ball.out", outward)):
        add(label, foot.ball_body, ball_at, sign * half * across)
    if np.median(np.linalg.norm(tip_at - ball_at, axis=-1)) > 0.01 * scale:
        add("toe", foot.last, tip_at, np.zeros(3))
    return flattened(points, foot.ankle, FLAT * scale)


def _level_under(frames: Frames, foot: Foot, floor: float, standing: npt.NDArray[np.bool_], thick: float) -> Array:
    """Height of the ground under a foot in each frame [m], shape (F,): the floor, or the step that it stands on.

    Where it stands lower than the floor, the level of the capture drifts: ball and tip are never below their sole.
    """
    lowest = _lowest(frames, foot)
    level = np.full(len(lowest), floor)
    for elsewhere in (lowest > floor + thick + STEP * _leg_bones(frames, foot), lowest < floor):
        for first, last in runs(standing & elsewhere):
            under = float(np.median(lowest[first : last + 1]))
            level[first : last + 1] = under - (thick if under > floor else 0.0)
    return level


def _foot(
    frames: Frames, anatomy: Anatomy, chain: Chain, speeds: Array, rises: Array, rest: RestPose | None, stands: bool
) -> Foot:
    by_joint = {j: i for i, j in enumerate(frames.joints)}
    bodies = [by_joint[j] for j in chain.joints[chain.upper :]]
    ankle = bodies[2] if len(bodies) > 2 else bodies[-1]
    toe = bodies[3] if len(bodies) > 3 else None
    last = ankle if toe is None else toe
    pace = _pace(frames, last, speeds[:, last], rises[:, last])
    slow = pace <= np.quantile(pace, SLOW_SHARE) + 1e-9
    leg = sum(float(np.linalg.norm(frames.offsets[b])) for b in bodies[1:3])
    tips, root = frames.tips[last], np.zeros(3)
    if frames.parts[last] in ("thigh", "shin"):  # no foot: it stands on a sole of a person's proportions
        root = tips[0]
        ahead = BARE_SOLE * frames.scale * anatomy.forward
        tip = root + np.median(frames.local(last, frames.positions[:, last] + ahead)[slow], axis=0)
    elif tips:
        tip = tips[0]
    else:
        tip = _guessed_tip(frames, anatomy, last, slow, leg, is_toe=toe is not None)
    if toe is not None and not stands and (len(bodies) < 4 or _heel_is_high(frames, ankle, toe, slow, leg, rest)):
        ball_body, ball = toe, np.zeros(3)
    elif toe is not None:
        ball_body, ball = ankle, frames.offsets[toe]
    else:
        ball_body, ball = ankle, root + 0.65 * (tip - root)
    along = frames.world(last, tip) - frames.world(ankle, root)
    along[:, 2] = 0.0
    size = np.linalg.norm(along, axis=-1, keepdims=True)
    heading = np.where(size > 0.02 * leg, along / np.maximum(size, 1e-9), anatomy.forward)
    foot = Foot(chain, ankle, toe, ball, ball_body, tip, pace, slow, heading, root)
    drop = float(np.median((frames.world(ankle, root)[:, 2] - _lowest(frames, foot))[slow]))
    heel = max(drop, 0.0) if stands else 0.0
    drawn = next((f for f in rest.feet if f.ankle == ankle), None) if stands and rest is not None else None
    if rest is not None and drawn is not None:  # a foot that points down at rest does not show how it stands
        heel = min(heel, drawn.heel) if _is_steep(rest.frames, drawn) else drawn.heel
    return replace(foot, drop=drop, heel=heel)


def _stands_straight(frames: Frames, anatomy: Anatomy) -> bool:
    """Whether a rest pose stands on a straight leg, on a figure with two and with arms, so that its heels stand."""
    legs, by_joint = anatomy.limbs("leg"), {j: i for i, j in enumerate(frames.joints)}
    if anatomy.four_legged or len(legs) != 2 or not anatomy.limbs("arm"):
        return False
    for chain in legs:
        bodies = [by_joint[j] for j in chain.joints[chain.upper :]]
        way = frames.positions[0, bodies[0]] - frames.positions[0, bodies[min(2, len(bodies) - 1)]]
        if len(bodies) > 2 and way[2] > STRAIGHT * sum(float(np.linalg.norm(frames.offsets[b])) for b in bodies[1:3]):
            return True
    return False


def _pace(frames: Frames, body: int, speed: Array, rise: Array) -> Array:
    """Speed that is small where the foot stands [m/s], shape (F,): its own, or in a clip walking in place, its rise.

    Walking in place, the standing foot slides back under the figure and is no slower than the other.
    """
    height = frames.positions[:, body, 2]
    low = height <= np.quantile(height, 0.25)
    treads = float(np.median(speed[low])) > 0.5 * float(np.median(speed)) + 1e-9
    return rise if treads else speed


def _heel_is_high(
    frames: Frames, ankle: int, toe: int, slow: npt.NDArray[np.bool_], leg: float, rest: RestPose | None
) -> bool:
    """True for paws and hooves: the ankle is far above the toes at rest, and in the clip if the rest pose is steep."""
    rise = float(np.median(frames.positions[slow, ankle, 2] - frames.positions[slow, toe, 2]))
    foot = None if rest is None else next((f for f in rest.feet if f.ankle == ankle), None)
    if rest is not None and foot is not None:
        drawn = float(rest.frames.positions[0, ankle, 2] - rest.frames.positions[0, toe, 2])
        rise = 0.5 * (rise + drawn) if _is_steep(rest.frames, foot) else drawn
    return rise > HIGH_HEEL * leg


def _guessed_tip(
    frames: Frames, anatomy: Anatomy, last: int, slow: npt.NDArray[np.bool_], leg: float, *, is_toe: bool
) -> Array:
    """Tip of a foot whose file ends at the ankle or the toe joint: forward, and down to the floor.

    The floor is taken at world height 0 if that lies where a sole can be (3 to 12 % of the leg below the joint), else
    6 % of the leg below it. A foot reaches 0.2 legs ahead, toes or paws 0.07.
    """
    height = float(np.median(frames.positions[slow, last, 2]))
    drop = height if 0.0 < height < 0.12 * leg else 0.06 * leg
    ahead = (0.07 if is_toe or anatomy.four_legged else 0.2) * leg
    at = frames.positions[:, last] + ahead * anatomy.forward
    at[:, 2] -= drop
    return np.median(frames.local(last, at)[slow], axis=0)


def _lowest(frames: Frames, foot: Foot) -> Array:
    ball, tip = frames.world(foot.ball_body, foot.ball), frames.world(foot.last, foot.tip)
    return np.minimum(ball[:, 2], tip[:, 2])


def _leg_bones(frames: Frames, foot: Foot) -> float:
    """Thigh and shin together [m]."""
    by_joint = {j: i for i, j in enumerate(frames.joints)}
    bodies = [by_joint[j] for j in foot.chain.joints[foot.chain.upper :]]
    return sum(float(np.linalg.norm(frames.offsets[b])) for b in bodies[1:3])
