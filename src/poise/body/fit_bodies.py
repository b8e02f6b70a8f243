"""Body frames: which joints are bodies, where they hang on each other, what part of a figure each one is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.body.anatomy import Anatomy, Poses, is_aside, is_end, sound_ends
from poise.core import rotations
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.phases.points import far_tips

PERSON_SPAN = 2.3
"""Longest path through a person's bones, toe to fingertip [m]; sizes of parts scale with a skeleton's own span."""


@dataclass(frozen=True)
class Frames:
    """The B bodies' frames over the F poses.

    Attributes:
        joints: Skeleton joint of each body, depth first.
        parents: Parent body, -1 for the root.
        parts: What each body is: "pelvis", "spine", "chest", "neck", "head", "collar", "upper_arm", "forearm", "hand",
            "thigh", "shin", "foot", "toe", "tail" or "other".
        sides: "left", "right" or "".
        positions: World position of each body's frame [m], shape (F, B, 3).
        orientations: World orientation, shape (F, B, 4).
        offsets: Place in the parent body's frame, the median over the poses [m], shape (B, 3); zero for the root.
        tips: Where each body's bones end in its own frame: child bodies first, then ends of carried joints.
        scale: Size against a person: span / 2.3 m.
    """

    joints: tuple[int, ...]
    parents: tuple[int, ...]
    parts: tuple[str, ...]
    sides: tuple[str, ...]
    positions: Array
    orientations: Array
    offsets: Array
    tips: tuple[tuple[Array, ...], ...]
    scale: float

    @property
    def body_count(self) -> int:
        return len(self.joints)

    def local(self, body: int, world: Array) -> Array:
        """World positions (F, 3) in a body's frame, shape (F, 3)."""
        return rotations.rotate(rotations.conjugate(self.orientations[:, body]), world - self.positions[:, body])

    def world(self, body: int, offset: Array) -> Array:
        """A point of a body in the world, shape (F, 3)."""
        return self.positions[:, body] + rotations.rotate(self.orientations[:, body], offset)

    def relative(self, body: int) -> Array:
        """Rotation of a body in its parent body's frame in each pose, shape (F, 4)."""
        parent = self.parents[body]
        if parent < 0:
            return self.orientations[:, body]
        return rotations.multiply(rotations.conjugate(self.orientations[:, parent]), self.orientations[:, body])


def make_frames(poses: Poses, anatomy: Anatomy) -> Frames:
    """Body frames of a skeleton whose joints have been read as an anatomy."""
    skeleton, joints = poses.skeleton, anatomy.simulated
    by_joint = {j: i for i, j in enumerate(joints)}
    carrier = _carriers(skeleton.parents, by_joint)
    parents = tuple(-1 if i == 0 else carrier[int(skeleton.parents[j])] for i, j in enumerate(joints))
    index = list(joints)
    frames = Frames(
        joints,
        parents,
        *_parts(anatomy, by_joint),
        poses.positions[:, index],
        poses.orientations[:, index],
        np.zeros((len(joints), 3)),
        (),
        anatomy.span / PERSON_SPAN,
    )
    offsets = np.zeros((len(joints), 3))
    for i in range(1, len(joints)):
        offsets[i] = np.median(frames.local(parents[i], frames.positions[:, i]), axis=0)
    tips = _tips(poses, anatomy, frames, offsets, carrier)
    return Frames(
        joints, parents, frames.parts, frames.sides, frames.positions, frames.orientations, offsets, tips, frames.scale
    )


def _carriers(parents: npt.NDArray[np.int64], by_joint: dict[int, int]) -> list[int]:
    """Body that carries each joint: its own, else its nearest ancestor's; the root body where there is none."""
    carrier: list[int] = []
    for j, p in enumerate(parents.tolist()):
        carrier.append(by_joint[j] if j in by_joint else (carrier[p] if p >= 0 else 0))
    return carrier


def _parts(anatomy: Anatomy, by_joint: dict[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    parts = ["other"] * len(by_joint)
    sides = [""] * len(by_joint)
    parts[0] = "pelvis"
    for chain in anatomy.chains:
        for n, j in enumerate(chain.joints):
            sides[by_joint[j]] = chain.side
            parts[by_joint[j]] = _part(chain.kind, n - chain.upper, n == len(chain.joints) - 1)
    if anatomy.chest != anatomy.root and anatomy.chest in by_joint:
        parts[by_joint[anatomy.chest]] = "chest"
    return tuple(parts), tuple(sides)


def _part(kind: str, place: int, is_last: bool) -> str:
    if kind == "arm":
        return "collar" if place < 0 else ("upper_arm", "forearm", "hand")[min(place, 2)]
    if kind == "leg":
        return "collar" if place < 0 else ("thigh", "shin", "foot", "toe")[min(place, 3)]
    if kind == "neck":
        return "head" if is_last else "neck"
    return kind


def _tips(
    poses: Poses, anatomy: Anatomy, frames: Frames, offsets: Array, carrier: list[int]
) -> tuple[tuple[Array, ...], ...]:
    skeleton = poses.skeleton
    tips: list[list[Array]] = [[] for _ in frames.joints]
    for i in range(1, frames.body_count):
        tips[frames.parents[i]].append(offsets[i])
    tiny, unsound = 0.01 * anatomy.span, far_tips(skeleton)
    for i, j in enumerate(frames.joints):
        if tips[i]:
            continue
        ends: list[tuple[bool, Array]] = []
        is_head = frames.parts[i] == "head"

        def is_beside(joint: int, *, is_head: bool = is_head) -> bool:
            return is_aside(skeleton.names[joint]) and not (is_head and _is_marked_end(skeleton, joint))

        for site in sound_ends(skeleton):
            if carrier[site.joint] == i and _is_below(skeleton.parents, site.joint, j):
                at = poses.positions[:, site.joint]
                at = at + rotations.rotate(poses.orientations[:, site.joint], site.offset)
                ends.append((is_beside(site.joint), np.median(frames.local(i, at), axis=0)))
        for k in range(skeleton.joint_count):
            if k != j and carrier[k] == i and k not in unsound and _is_below(skeleton.parents, k, j):
                end = np.median(frames.local(i, poses.positions[:, k]), axis=0)
                ends.append((is_beside(k), end))
        far = [(aside, e) for aside, e in ends if np.linalg.norm(e) > tiny]
        straight = [e for aside, e in far if not aside]
        if frames.parts[i] == "hand":
            # the fingers' mean direction to the farthest of them: a thumb alone would turn the hand
            every = [e for _, e in far]
            if every:
                longest = max(every, key=lambda e: float(np.linalg.norm(e)))
                tips[i].append(longest)
        elif frames.parts[i] == "head":
            if straight:
                tips[i].append(max(straight, key=_along_neck(skeleton, frames, i)))
        elif far:
            tips[i].append(max(straight or [e for _, e in far], key=lambda e: float(np.linalg.norm(e))))
        if not tips[i] and frames.parts[i] not in ("foot", "toe"):
            tips[i].append(_guessed_tip(anatomy, frames, offsets, i))
    return tuple(tuple(t) for t in tips)


def _is_marked_end(skeleton: Skeleton, joint: int) -> bool:
    """Whether a joint only marks where a bone ends, as "head_end" does; some exporters put another below it."""
    name, above = skeleton.names[joint], int(skeleton.parents[joint])
    is_second = above >= 0 and is_end(skeleton.names[above])
    return is_end(name) and not is_second and not is_aside(name, has_skin=True)


UPRIGHT_NECK = 0.7
"""A neck that rises by so much of its length in the rest pose carries a head on top of it [1]."""


def _along_neck(skeleton: Skeleton, frames: Frames, i: int) -> Callable[[Array], float]:
    """How far a point of a head is from its joint [m]: on an upright neck along it, so that a nose is not a crown."""
    places, turns = skeleton.rest
    joint = frames.joints[i]
    neck = places[joint] - places[frames.joints[frames.parents[i]]]
    size = float(np.linalg.norm(neck))
    if neck[2] <= UPRIGHT_NECK * size:
        return lambda point: float(np.linalg.norm(point))
    along = rotations.rotate(rotations.conjugate(turns[joint]), neck / size)
    return lambda point: float(point @ along)


def _is_below(parents: npt.NDArray[np.int64], joint: int, ancestor: int) -> bool:
    while joint >= 0:
        if joint == ancestor:
            return True
        joint = int(parents[joint])
    return False


LEG_END = (0.3, 1.5)
"""Shins end on the floor where it is so far below the knee, in parts of the thigh [1]."""


def _guessed_tip(anatomy: Anatomy, frames: Frames, offsets: Array, i: int) -> Array:
    """End of a bone the file does not give: on along the bone before, as long as such a part of a person is."""
    span, part = anatomy.span, frames.parts[i]
    if i == 0:  # a thing with one joint turns about it: it is a ball
        return np.array([0.0, 0.0, 0.05 * span if len(frames.parts) > 1 else 0.0])
    bone = float(np.linalg.norm(offsets[i]))
    length = {"head": 0.1 * span, "hand": 0.07 * span, "shin": 0.6 * bone, "tail": 0.8 * bone}.get(part, 0.7 * bone)
    if part == "head" and bone > 0.03 * span:
        length = min(length, 1.2 * bone)
    along = frames.local(i, 2.0 * frames.positions[:, i] - frames.positions[:, frames.parents[i]])
    height = float(np.median(frames.positions[:, i, 2]))
    if part in ("thigh", "shin") and LEG_END[0] * bone < height < LEG_END[1] * bone + (part == "thigh") * span:
        length = height  # a leg that the file does not end is taken to end on the floor at height 0
        along = frames.local(i, frames.positions[:, i] - np.array([0.0, 0.0, 1.0]))
    elif bone < 0.01 * span:
        along = frames.local(i, frames.positions[:, i] + np.array([0.0, 0.0, 1.0]))
    direction = np.mean(along, axis=0)
    size = float(np.linalg.norm(direction))
    return direction / size * max(length, 0.02 * span) if size > 1e-9 else np.array([0.0, 0.0, 0.02 * span])
