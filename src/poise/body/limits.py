"""Joint limits: the swing-twist angles of a joint, and ranges that hold every frame of a clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from poise.body.anatomy import Anatomy, Poses
from poise.body.fit_bodies import PERSON_SPAN, Frames
from poise.body.parts import Limits
from poise.body.standing import UP
from poise.core import rotations
from poise.core.skeleton import Hinge
from poise.core.typing import Array

MARGIN = np.radians(2.5)
"""Room left between a clip's own extremes and the limits [rad]."""

RANGES = {
    "spine": (40.0, (-50.0, 50.0), 40.0),
    "chest": (40.0, (-50.0, 50.0), 40.0),
    "neck": (60.0, (-60.0, 60.0), 50.0),
    "head": (60.0, (-60.0, 60.0), 50.0),
    "collar": (30.0, (-30.0, 30.0), 30.0),
    "upper_arm": (90.0, (-130.0, 130.0), 110.0),
    "forearm": (90.0, (0.0, 150.0), 6.0),
    "hand": (45.0, (-80.0, 80.0), 45.0),
    "thigh": (50.0, (-60.0, 120.0), 55.0),
    "shin": (12.0, (0.0, 150.0), 5.0),
    "foot": (30.0, (-50.0, 50.0), 30.0),
    "toe": (15.0, (-60.0, 60.0), 15.0),
    "tail": (40.0, (-70.0, 70.0), 70.0),
    "other": (60.0, (-90.0, 90.0), 90.0),
}
"""Default ranges by part [deg]: twist ±, bend (lower, upper), sideways ±; about the straight limb for shins and
forearms (whose bend is a flexion), about the clip's mean pose for the rest. Generous against a living person's, since
they must not fight a stylized clip. A forearm's own twist (pronation) is wide, a shin's is narrow."""

NECK = (80.0, (-65.0, 65.0), 45.0)
"""Ranges of all joints of a neck and its head together [deg], as in `RANGES`. Each joint has an equal share: what one
joint may do alone, three in a row would add up to a head that folds under the chest. They grow with the length of a
neck that is longer than a person's."""
PERSON_NECK = 0.1
"""Length of a person's neck, from its first joint to its last, over the longest path through the bones [1]; the longest
of all rigs tried (0.03 to 0.095). A fox has 0.07, an alpaca 0.29."""
NECK_PARTS = ("neck", "head")


def limit_angles(limits: Limits, local_rotation: Array) -> Array:
    """Twist, bend and side angles [rad] (..., 3) of rotations (..., 4) of a body in its parent body's frame.

    With d = rest⁻¹ · local: d = swing · twist, twist about `axis` (w : v·axis), swing = d · twist⁻¹ about an axis
    orthogonal to `axis`. bend and side are the swing's rotation vector along `swing_axis` and axis × swing_axis.
    Smooth but at a swing of 180°, where the split is undefined.

    Example:
        >>> limits = next(body.limits for body in character.bodies if body.limits is not None)
        >>> twist, bend, side = poise.body.limit_angles(limits, limits.rest)

    Args:
        limits: Of a ball joint.
        local_rotation: Unit wxyz, shape (..., 4).
    """
    d = rotations.multiply(rotations.conjugate(limits.rest), np.asarray(local_rotation))
    d = np.where(d[..., :1] < 0.0, -d, d)
    along = d[..., 1:] @ limits.axis
    length = np.maximum(np.hypot(d[..., 0], along), 1e-12)
    twist = np.concatenate([d[..., :1], along[..., None] * limits.axis], axis=-1) / length[..., None]
    swing = rotations.to_rotation_vector(rotations.multiply(d, rotations.conjugate(twist)))
    side_axis = _cross(limits.axis, limits.swing_axis)
    return np.stack([2.0 * np.arctan2(along, d[..., 0]), swing @ limits.swing_axis, swing @ side_axis], axis=-1)


def clamp_rotation(limits: Limits, local_rotation: Array) -> Array:
    """The rotations (..., 4) with each of their three limit angles brought inside its range; inside ones unchanged.

    Example:
        >>> limits = next(body.limits for body in character.bodies if body.limits is not None)
        >>> inside = poise.body.clamp_rotation(limits, np.array([0.0, 1.0, 0.0, 0.0]))  # half a turn
    """
    angles = limit_angles(limits, local_rotation)
    lower = np.array([limits.twist_lower, limits.bend_lower, limits.side_lower])
    upper = np.array([limits.twist_upper, limits.bend_upper, limits.side_upper])
    inside = np.clip(angles, lower, upper)
    changed = (inside != angles).any(axis=-1, keepdims=True)
    return np.where(changed, from_limit_angles(limits, inside), local_rotation)


def from_limit_angles(limits: Limits, angles: Array) -> Array:
    """Rotations (..., 4) with these twist, bend and side angles [rad] (..., 3): the inverse of `limit_angles`."""
    angles = np.asarray(angles, dtype=np.float64)
    side_axis = _cross(limits.axis, limits.swing_axis)
    swing = rotations.from_rotation_vector(angles[..., 1:2] * limits.swing_axis + angles[..., 2:3] * side_axis)
    twist = rotations.from_rotation_vector(angles[..., :1] * limits.axis)
    return rotations.multiply(limits.rest, rotations.multiply(swing, twist))


@dataclass(frozen=True)
class Joints:
    """How the B bodies turn on each other.

    Attributes:
        kinds: "free" for the root, "ball" or "hinge".
        limits: Of each, None for the root.
        axes: Axis of each hinge, else None.
        rests: Turn of each hinge at angle zero in the parent body's frame, unit wxyz, else None.
    """

    kinds: tuple[str, ...]
    limits: tuple[Limits | None, ...]
    axes: tuple[Array | None, ...]
    rests: tuple[Array | None, ...]


def fit_joints(poses: Poses, frames: Frames, anatomy: Anatomy) -> Joints:
    """Kind and limits of every body's joint.

    Args:
        poses: Every pose, all of which the limits must hold.
        frames: Body frames over the poses that decide rest and axes.
        anatomy: What the joints are for.
    """
    rows: list[tuple[str, Limits | None, Array | None, Array | None]] = [("free", None, None, None)]
    for i in range(1, frames.body_count):
        hinge, every = poses.skeleton.hinges.get(frames.joints[i]), _relative(poses, frames, i)
        if hinge is None:
            rows.append(("ball", fit_ball_limits(frames, anatomy, i, every), None, None))
        else:
            rest = _hinge_rest(poses, frames, i)
            rows.append(("hinge", fit_hinge_limits(hinge, rest, every), hinge.axis, rest))
    kinds, limits, axes, rests = zip(*rows)
    return Joints(kinds, limits, axes, rests)


def _relative(poses: Poses, frames: Frames, body: int) -> Array:
    """Rotation of a body in its parent body's frame in every pose, shape (F, 4)."""
    parent = poses.orientations[:, frames.joints[frames.parents[body]]]
    return rotations.multiply(rotations.conjugate(parent), poses.orientations[:, frames.joints[body]])


def _hinge_rest(poses: Poses, frames: Frames, body: int) -> Array:
    """Rest rotation of a hinge in its parent *body*: the carried joints between, as they mostly stand, then its own."""
    skeleton, j = poses.skeleton, frames.joints[body]
    between = rotations.IDENTITY
    stop, k = frames.joints[frames.parents[body]], int(skeleton.parents[j])
    while k != stop:
        between = rotations.multiply(rotations.mean(poses.rotations[:, k]), between)
        k = int(skeleton.parents[k])
    return rotations.multiply(between, skeleton.rest_rotations[j])


def fit_ball_limits(frames: Frames, anatomy: Anatomy, body: int, every: Array) -> Limits:
    """Limits of a ball joint: the default ranges of its part, widened until every pose lies 2.5° inside.

    Shins and forearms are measured from the straight limb. Their bend axis is the main direction in which the clip
    bends them, or, where it hardly does, the one that folds a knee backward and an elbow forward; flexion is positive.
    A knee or elbow may overextend only as far as the clip itself does.

    Args:
        frames: Body frames over the poses that decide rest and axes.
        anatomy: What the joints are for.
        body: The body, not the root.
        every: Rotations in the parent body's frame that must all lie inside, shape (F, 4).
    """
    part = frames.parts[body]
    axis = _bone(frames, body)
    local = frames.relative(body)
    folds = part in ("shin", "forearm")
    rest = _straight(frames, body, axis, local) if folds else rotations.mean(local)
    swing_axis = _bend_axis(frames, anatomy, body, rest, axis, local)
    twist, (bend_low, bend_high), side = _range(frames, body)
    base = Limits(rest, axis, swing_axis, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0)
    angles = limit_angles(base, every)
    low, high = angles.min(axis=0) - MARGIN, angles.max(axis=0) + MARGIN
    least = np.radians([-twist, bend_low, -side])
    most = np.radians([twist, bend_high, side])
    low, high = np.minimum(low, least), np.maximum(high, most)
    low, high = _whole_tenths(low, high)
    return Limits(rest, axis, swing_axis, *(float(x) for pair in zip(low, high) for x in pair))


def _range(frames: Frames, body: int) -> tuple[float, tuple[float, float], float]:
    """Default range of a body's joint [deg]: that of its part, or its share of that of a neck if this is less."""
    own = RANGES[frames.parts[body]]
    if frames.parts[body] not in NECK_PARTS:
        return own
    joints, length = _neck(frames, body)
    longer = max(1.0, length / (PERSON_NECK * PERSON_SPAN * frames.scale))
    twist, (low, high), side = (longer * np.asarray(x) / joints for x in NECK)
    return (
        min(own[0], float(twist)),
        (max(own[1][0], float(low)), min(own[1][1], float(high))),
        min(own[2], float(side)),
    )


def _neck(frames: Frames, body: int) -> tuple[int, float]:
    """How many joints of a neck are in a row with this one, and how far the last is from the first [m].

    The most where it forks.
    """
    before, length, i = 0, 0.0, body
    while (parent := frames.parents[i]) > 0 and frames.parts[parent] in NECK_PARTS:
        before, length, i = before + 1, length + float(np.linalg.norm(frames.offsets[i])), parent
    after, ways = [0] * frames.body_count, [0.0] * frames.body_count
    for i in range(frames.body_count - 1, body, -1):
        if frames.parts[i] in NECK_PARTS:
            parent, own = frames.parents[i], float(np.linalg.norm(frames.offsets[i]))
            after[parent], ways[parent] = max(after[parent], after[i] + 1), max(ways[parent], ways[i] + own)
    return before + 1 + after[body], length + ways[body]


def fit_hinge_limits(hinge: Hinge, rest: Array, local: Array) -> Limits:
    """Limits of a hinge: the file's range, or ±150° where it has none, widened until every pose lies 2.5° inside.

    Args:
        hinge: The file's hinge.
        rest: Rotation at angle zero in the parent body's frame, shape (4,).
        local: Rotation in the parent body's frame in each pose, shape (F, 4).
    """
    d = rotations.multiply(rotations.conjugate(rest), local)
    angles = np.unwrap(rotations.twist_angle(d, hinge.axis)) if len(d) else np.zeros(1)
    angles = angles - 2.0 * np.pi * np.round(np.median(angles) / (2.0 * np.pi))
    file_range = (hinge.lower, hinge.upper)
    lower, upper = (
        (file_range[0] if np.isfinite(file_range[0]) else -np.radians(150.0)),
        (file_range[1] if np.isfinite(file_range[1]) else np.radians(150.0)),
    )
    lower, upper = min(lower, float(angles.min() - MARGIN)), max(upper, float(angles.max() + MARGIN))
    other = rotations.perpendicular(hinge.axis)
    return Limits(rotations.IDENTITY.copy(), hinge.axis, other, lower, upper, 0.0, 0.0, 0.0, 0.0)


def _whole_tenths(low: Array, high: Array) -> tuple[Array, Array]:
    """Ranges widened to whole tenths of a degree, which read well in a file and return unchanged from it."""
    down = np.floor(np.round(np.degrees(low) * 10.0, 6)) / 10.0
    up = np.ceil(np.round(np.degrees(high) * 10.0, 6)) / 10.0
    return np.radians(down), np.radians(up)


def _cross(a: Array, b: Array) -> Array:
    return cast(Array, np.cross(a, b))


def _bone(frames: Frames, body: int) -> Array:
    """Direction of the body's main bone in its own frame: to the child body that goes on, else to its tip.

    A body without any tip (a last joint whose file has no end site) is taken to go up, like one of length zero.
    """
    tips = frames.tips[body]
    tip = max(tips, key=lambda t: float(np.linalg.norm(t)), default=np.zeros(3))
    if len(tips) > 1 and frames.parts[body] in ("spine", "chest", "pelvis"):
        tip = np.mean(tips, axis=0)
    length = float(np.linalg.norm(tip))
    if length < 1e-9:
        along = np.mean(frames.local(body, frames.positions[:, body] + UP), axis=0)
        size = float(np.linalg.norm(along))
        return along / size if size > 1e-9 else UP.copy()
    return tip / length


def _straight(frames: Frames, body: int, axis: Array, local: Array) -> Array:
    """Rotation that lays the body's bone along its parent's bone, with the clip's mean twist.

    Where the parent's bone has no length there is no straight: the mean rotation.
    """
    length = float(np.linalg.norm(frames.offsets[body]))
    if length < 1e-6 * PERSON_SPAN * frames.scale:
        return rotations.mean(local)
    before = frames.offsets[body] / length
    bones = rotations.rotate(local, axis)
    # least turn from each frame's bone back onto the parent's bone; its rotation times the pose is straight
    cosine = np.clip(bones @ before, -1.0 + 1e-6, 1.0)
    back = rotations.normalize(np.concatenate([1.0 + cosine[:, None], _cross(bones, before)], axis=-1))
    rest = rotations.mean(rotations.multiply(back, local))
    # the mean is only nearly straight: finish it
    return rotations.multiply(rotations.between(rotations.rotate(rest, axis), before), rest)


def _bend_axis(frames: Frames, anatomy: Anatomy, body: int, rest: Array, axis: Array, local: Array) -> Array:
    part = frames.parts[body]
    likely = _likely_bend_axis(frames, anatomy, body, rest, axis)
    if part not in ("shin", "forearm"):
        return likely
    any_axis = rotations.perpendicular(axis)
    angles = limit_angles(Limits(rest, axis, any_axis, 0, 0, 0, 0, 0, 0), local)[:, 1:]
    values, vectors = np.linalg.eigh(angles.T @ angles / len(angles))
    if np.sqrt(values[1]) < np.radians(8.0) or values[0] > 0.25 * values[1]:
        return likely
    main = vectors[0, 1] * any_axis + vectors[1, 1] * _cross(axis, any_axis)
    along = angles @ vectors[:, 1]
    # flexion is where the clip spends its bend; a limb that bends both ways follows the likely side
    sign = np.sign(np.mean(along)) if abs(np.mean(along)) > 0.3 * np.sqrt(values[1]) else np.sign(main @ likely)
    return main * (sign if sign != 0.0 else 1.0)


def _likely_bend_axis(frames: Frames, anatomy: Anatomy, body: int, rest: Array, axis: Array) -> Array:
    """Axis, in the rest-turned joint frame, about which a part of this kind bends: knees backward, others forward."""
    forward = anatomy.forward
    if frames.parts[body] == "shin":
        forward = -forward
    parent = frames.parents[body]
    at_rest = rotations.multiply(frames.orientations[:, parent], rest)
    ahead = np.mean(rotations.rotate(rotations.conjugate(at_rest), forward), axis=0)
    bend = _cross(axis, ahead)
    size = float(np.linalg.norm(bend))
    return bend / size if size > 0.1 else rotations.perpendicular(axis)
