"""A BVH file as it stands: its text, its joints, its channels and its table of numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.skeleton import EndSite, Hinge, Skeleton
from poise.core.typing import Array
from poise.io.door import door_turn

Span = tuple[int, int]

BLOCK = 1 << 15
"""Angles of so many joints are turned into quaternions at once."""


@dataclass(frozen=True)
class Channel:
    """One column of the table: a position [file units] or a rotation [deg] along or about one axis.

    Attributes:
        is_position: True for Xposition …, False for Xrotation ….
        axis: 0, 1 or 2 for x, y, z.
    """

    is_position: bool
    axis: int


@dataclass(frozen=True)
class BvhJoint:
    """One ROOT or JOINT block, or one End Site.

    Attributes:
        name: As in the file, spaces and all.
        parent: Index of the parent joint, -1 for the root.
        offset: OFFSET in file units and file axes, shape (3,).
        channels: In file order.
        first: Column of its first channel.
        offset_span: Where its three offset numbers stand in the hierarchy's text.
        channels_span: Where its channel list stands (count and names), or the empty span after OFFSET without one.
        line: Line of its name.
    """

    name: str
    parent: int
    offset: Array
    channels: tuple[Channel, ...]
    first: int
    offset_span: Span
    channels_span: Span
    line: int

    @property
    def order(self) -> str:
        """Axes of its rotation channels from the outermost turn in, such as "ZXY"."""
        return "".join("XYZ"[c.axis] for c in self.channels if not c.is_position)

    @property
    def rotation_columns(self) -> list[int]:
        return [self.first + i for i, c in enumerate(self.channels) if not c.is_position]

    @property
    def position_columns(self) -> list[tuple[int, int]]:
        """Column and axis of each position channel."""
        return [(self.first + i, c.axis) for i, c in enumerate(self.channels) if c.is_position]


@dataclass(frozen=True)
class BvhDocument:
    """A BVH file as it stands.

    Attributes:
        encoding: Of its text, "utf-8" or "latin-1".
        hierarchy: Text from the first character to the end of the hierarchy.
        head: Text from MOTION to the first row of numbers.
        count_span: Where the frame count stands in `head`.
        time_span: Where the frame time stands in `head`.
        joints: ROOT and JOINT blocks in file order.
        end_sites: End Site blocks in file order; their `parent` is the joint they hang on.
        values: Table of numbers, shape (F, C).
        rows: The rows as they stand, line ends and blank lines included.
        row_starts: First byte of each row in `rows`, and its length at the end, shape (F + 1,).
        adds_offset: True if the position channels of a child are added to its OFFSET, False if they replace it.
        is_told: True if the caller said the unit or the up axis; then they are noted in what is written.
        unit: Meters per file unit, as read.
        up: Up axis, as read.
    """

    encoding: str
    hierarchy: str
    head: str
    count_span: Span
    time_span: Span
    joints: tuple[BvhJoint, ...]
    end_sites: tuple[BvhJoint, ...]
    values: Array
    rows: bytes
    row_starts: npt.NDArray[np.int64]
    adds_offset: bool = False
    is_told: bool = False
    unit: float = 1.0
    up: str = "y"

    @property
    def frame_count(self) -> int:
        return len(self.values)

    @property
    def channel_count(self) -> int:
        return sum(len(j.channels) for j in self.joints)

    @property
    def frame_time(self) -> float:
        """Frame time as the file states it [s]."""
        return float(self.head[slice(*self.time_span)])

    def row(self, frame: int) -> bytes:
        """One row as it stands, up to the next one."""
        return self.rows[self.row_starts[frame] : self.row_starts[frame + 1]]

    def select_frames(self, index: npt.NDArray[np.int64]) -> BvhDocument:
        """The same file with these frames only."""
        kept = [self.row(int(f)) for f in index]
        return replace(
            self,
            values=self.values[index],
            rows=b"".join(kept),
            row_starts=np.concatenate([[0], np.cumsum([len(r) for r in kept])]).astype(np.int64),
        )


def skeleton_of(document: BvhDocument) -> Skeleton:
    """The skeleton in meters and Z up; one rotation channel makes a hinge, none a fixed joint."""
    joints, unit, turn = document.joints, document.unit, door_turn(document.up)
    offsets = unit * np.array([j.offset for j in joints])
    offsets[0] = rotations.rotate(turn, offsets[0])
    rest = np.tile(rotations.IDENTITY, (len(joints), 1))
    rest[0] = turn
    return Skeleton(
        names=tuple(j.name for j in joints),
        parents=np.array([j.parent for j in joints], dtype=np.int64),
        offsets=offsets,
        rest_rotations=rest,
        end_sites=tuple(EndSite(s.parent, unit * s.offset, s.name) for s in document.end_sites),
        hinges={i: Hinge(np.eye(3)["XYZ".index(j.order)]) for i, j in enumerate(joints) if i and len(j.order) == 1},
        translating=frozenset({0, *(i for i, j in enumerate(joints) if j.position_columns)}),
        fixed=frozenset(i for i, j in enumerate(joints) if i and not j.order),
    )


def file_pose(document: BvhDocument, values: Array) -> tuple[Array, Array]:
    """Pose in file units and file axes: translations (F, J, 3) and rotations (F, J, 4) of rows `values` (F, C).

    Angles are turned in blocks of frames: what lies between them and quaternions takes three times what is returned.
    """
    joints = document.joints
    translations = np.broadcast_to(np.array([j.offset for j in joints]), (len(values), len(joints), 3)).copy()
    for i, joint in enumerate(joints):
        for column, axis in joint.position_columns:
            base = joint.offset[axis] if document.adds_offset and i else 0.0
            translations[:, i, axis] = values[:, column] + base
    turned = np.empty((len(values), len(joints), 4))
    turned[:] = rotations.IDENTITY
    for order in {j.order for j in joints} - {""}:
        same = [i for i, j in enumerate(joints) if j.order == order]
        columns = np.array([joints[i].rotation_columns for i in same])
        step = max(1, BLOCK // len(same))
        for first in range(0, len(values), step):
            block = slice(first, first + step)
            turned[block, same] = rotations.from_euler(order, values[block, columns])
    return translations, turned


def pose(document: BvhDocument) -> tuple[Array, Array]:
    """Pose of every frame in meters and Z up: translations (F, J, 3) [m] and rotations (F, J, 4)."""
    return through_door(document, *file_pose(document, document.values))


def through_door(document: BvhDocument, translations: Array, turned: Array) -> tuple[Array, Array]:
    """What `file_pose` returned, in meters and Z up; written into the arrays given."""
    turn = door_turn(document.up)
    translations *= document.unit
    translations[:, 0] = rotations.rotate(turn, translations[:, 0])
    turned[:, 0] = rotations.multiply(turn, turned[:, 0])
    return translations, turned
