"""A skeleton: named joints, who hangs on whom, and where. It has no mass and no motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import LISTING, InvalidValue, UnknownName, known_names
from poise.core.typing import Array
from poise.native import compiled


@dataclass(frozen=True)
class EndSite:
    """The tip of a chain: where the last bone ends. It does not turn.

    Attributes:
        joint: Index of the joint it hangs on.
        offset: Place in that joint's frame [m], shape (3,).
        name: As the file calls it; often "End Site".
    """

    joint: int
    offset: Array
    name: str = "End Site"


@dataclass(frozen=True)
class Hinge:
    """A joint that turns about one axis only.

    Attributes:
        axis: Unit axis in the joint's own frame, shape (3,); the same in the parent's rest-turned frame.
        lower: Smallest angle [rad] the file allows, -inf if it says nothing.
        upper: Largest angle [rad], inf if it says nothing.
    """

    axis: Array
    lower: float = -np.inf
    upper: float = np.inf


@dataclass(frozen=True)
class Skeleton:
    """Joints in file order, parents before children; exactly one root.

    The pose of joint j in its parent's frame is a translation (`offsets` when nothing moves it) followed by a
    rotation. The world is Z up and in meters; a Y-up file is turned at the door by its root alone: the root's
    translation and rotation carry the turn, every other joint keeps the file's own axes.

    Example:
        >>> skeleton = poise.load_skeleton("walk.bvh")
        >>> root = skeleton.names[0]

    Attributes:
        names: Names as in the file, one per joint.
        parents: Index of each joint's parent, -1 for the root, shape (J,).
        offsets: Rest translation of each joint in its parent's frame [m], shape (J, 3).
        rest_rotations: Rest rotation of each joint in its parent's frame, shape (J, 4).
        end_sites: Tips of chains, in file order.
        hinges: Joints with one axis, by index; every other joint is a ball.
        translating: Joints whose file can move them by translation; the root always can.
        fixed: Joints whose file cannot turn them at all: they stay at their rest rotation.
        skin: Vertices of the file's skin that each joint moves, by weight, shape (J,); None where there is none.
        skin_volume: What that skin encloses at rest [m³]; None where there is none.
        sole, crown: Height of its lowest point in the rest pose, and of its highest but for arms and what they hold
            [m]; None where there is none.
        mass: What the figure weighs, where the file says it [kg].
    """

    names: tuple[str, ...]
    parents: npt.NDArray[np.int64]
    offsets: Array
    rest_rotations: Array
    end_sites: tuple[EndSite, ...] = ()
    hinges: Mapping[int, Hinge] = field(default_factory=dict)
    translating: frozenset[int] = frozenset({0})
    fixed: frozenset[int] = frozenset()
    skin: Array | None = None
    skin_volume: float | None = None
    sole: float | None = None
    crown: float | None = None
    mass: float | None = None

    def __post_init__(self) -> None:
        count = len(self.names)
        if count == 0:
            raise InvalidValue("A skeleton needs at least one joint; none was given.")
        if (
            self.parents.shape != (count,)
            or self.offsets.shape != (count, 3)
            or self.rest_rotations.shape != (count, 4)
        ):
            raise InvalidValue(
                f"Skeleton arrays disagree: {count} names, parents {self.parents.shape}, offsets {self.offsets.shape}, "
                f"rest rotations {self.rest_rotations.shape}. Give (J,), (J, 3) and (J, 4)."
            )
        if self.parents[0] != -1 or any(not 0 <= p < j for j, p in enumerate(self.parents.tolist()) if j):
            raise InvalidValue(
                "Joint 0 must be the only root (parent -1) and every parent must come before its children."
            )
        if not np.isfinite(self.offsets).all():
            bad = self.names[int(np.argmin(np.isfinite(self.offsets).all(axis=1)))]
            raise InvalidValue(f"Joint {bad!r} has an offset that is not finite.")
        if (found := rotations.first_not_unit(self.rest_rotations)) is not None:
            raise InvalidValue(
                f"The rest rotation of joint {self.names[found[0]]!r} has "
                f"length {np.linalg.norm(self.rest_rotations[found]):.6g}, not 1. Give unit quaternions, w first."
            )

    @property
    def joint_count(self) -> int:
        return len(self.names)

    @cached_property
    def found(self) -> dict[str, Any]:
        """What was once found of this skeleton, by name, as `Motion.found`."""
        return {}

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of each joint, in file order."""
        kids: list[list[int]] = [[] for _ in self.names]
        for j, p in enumerate(self.parents.tolist()):
            if p >= 0:
                kids[p].append(j)
        return tuple(tuple(k) for k in kids)

    @cached_property
    def rest(self) -> tuple[Array, Array]:
        """Positions (J, 3) [m] and orientations (J, 4) of the rest pose in the world frame, read-only."""
        pose = world_pose(self, self.offsets, self.rest_rotations)
        for values in pose:
            values.setflags(write=False)
        return pose

    def index(self, name: str) -> int:
        """Index of the joint with this name; exact first, then case-insensitive.

        Raises:
            UnknownName: if no joint, or more than one, answers to the name.
        """
        if name in self.names:
            return self.names.index(name)
        found = [j for j, n in enumerate(self.names) if n.lower() == name.lower()]
        if len(found) != 1:
            raise UnknownName(f"No joint {name!r} in this skeleton.{known_names(name, self.names, 'joints', LISTING)}")
        return found[0]

    def scaled(self, size: float) -> Skeleton:
        """The same skeleton, so many times as large."""
        sites = tuple(replace(site, offset=size * site.offset) for site in self.end_sites)
        volume, mass = (None if x is None else size**3 * x for x in (self.skin_volume, self.mass))
        sole, crown = (None if x is None else size * x for x in (self.sole, self.crown))
        larger = replace(self, offsets=size * self.offsets, end_sites=sites, sole=sole, crown=crown)
        return replace(larger, skin_volume=volume, mass=mass)

    def carried_by(self, joint: int) -> npt.NDArray[np.int64]:
        """The joint and all below it, in file order."""
        found = {joint}
        for j, p in enumerate(self.parents.tolist()):
            if p in found:
                found.add(j)
        return np.array(sorted(found), dtype=np.int64)

    def ancestors(self, joint: int) -> tuple[int, ...]:
        """Parent, grandparent, … up to the root."""
        chain: list[int] = []
        while (joint := int(self.parents[joint])) >= 0:
            chain.append(joint)
        return tuple(chain)


def world_pose(skeleton: Skeleton, translations: Array, joint_rotations: Array) -> tuple[Array, Array]:
    """Positions and orientations of all joints in the world frame.

    Args:
        skeleton: The J joints.
        translations: Translation of each joint in its parent's frame [m], shape (..., J, 3).
        joint_rotations: Rotation of each joint in its parent's frame, shape (..., J, 4).

    Returns:
        Positions [m], shape (..., J, 3), and orientations, shape (..., J, 4).
    """
    count, leading = skeleton.joint_count, translations.shape[:-2]
    local = (
        np.asarray(translations, dtype=np.float64).reshape(-1, count, 3),
        np.asarray(joint_rotations, dtype=np.float64).reshape(-1, count, 4),
    )
    positions, orientations = (np.empty(x.shape) for x in local)
    place_joints(np.asarray(skeleton.parents, dtype=np.int64), *local, positions, orientations)
    return positions.reshape(*leading, count, 3), orientations.reshape(*leading, count, 4)


@compiled(
    "const word parents[joints], const real translations[frames][joints][3], const real turns[frames][joints][4],"
    "real positions[frames][joints][3], real orientations[frames][joints][4]"
)
def place_joints(parents, translations, turns, positions, orientations):
    """Fill positions p and orientations q in the world: p = p_parent + q_parent t, q = q_parent r, parents first."""
    for j, parent in enumerate(parents.tolist()):
        if parent < 0:
            positions[:, j], orientations[:, j] = translations[:, j], turns[:, j]
        else:
            above = orientations[:, parent]
            positions[:, j] = positions[:, parent] + rotations.rotate(above, translations[:, j])
            orientations[:, j] = rotations.multiply(above, turns[:, j])


def rest_pose(skeleton: Skeleton) -> tuple[Array, Array]:
    """Positions (J, 3) [m] and orientations (J, 4) of the rest pose in the world frame, read-only."""
    return skeleton.rest
