"""A BVH file as it stands: its text, its joints, its channels and its table of numbers.

BVH has no place for unit, up axis and ground. Poise writes them after the frame time as blanks and tabs, which every
reader skips: eight for a letter, a blank for 0 and a tab for 1, of a text such as "y0.01". The ground that a clip was
made for follows after a semicolon.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.motion import Evidence, Ground
from poise.core.skeleton import EndSite, Hinge, Skeleton
from poise.core.typing import Array
from poise.io.format import ReadOptions, door_turn, ground_of_text, ground_text

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


MAX_JOINTS = 2_000
MAX_NAME = 400
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_WORD = re.compile(r"[{}]|[^\s{}]+")
_NAME = re.compile(r"[^\n{]*")


def parse_hierarchy(path: Path, text: str) -> tuple[tuple[BvhJoint, ...], tuple[BvhJoint, ...]]:
    """Joints and end sites of a hierarchy's text, in file order.

    Keywords are read in any case; names run to the end of their line, so they may hold spaces and any letters.

    Raises:
        FileFormatError: with the line, if the text is not a complete hierarchy.
    """
    return _Scanner(path, text).hierarchy()


def finite_number(word: str) -> float | None:
    """The number a word spells in plain decimal notation, or None."""
    value = float(word) if NUMBER.fullmatch(word) else math.inf
    return value if abs(value) < 1e15 else None


class _Scanner:
    """Reads words from left to right; one instance per file."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text, self.position = path, text, 0
        self.joints: list[BvhJoint] = []
        self.end_sites: list[BvhJoint] = []
        self.channel_count = 0
        self.line, self.counted = 1, 0

    def line_here(self) -> int:
        """Line number of the reading position, counted on from the last time it was asked."""
        self.line += self.text.count("\n", self.counted, self.position)
        self.counted = self.position
        return self.line

    def fault(self, problem: str, at: int | None = None, cure: str = "") -> FileFormatError:
        at = self.position if at is None else at
        before = self.text[:at]
        begin = before.rfind("\n") + 1
        return FileFormatError(
            problem,
            path=self.path,
            line=before.count("\n") + 1,
            column=at - begin + 1,
            text=self.text[begin : begin + 400].split("\n", 1)[0].strip() or None,
            cure=cure or "Get the file again from its source, or export it anew.",
        )

    def word(self, wanted: str) -> tuple[str, int]:
        """The next word and where it begins."""
        found = _WORD.search(self.text, self.position)
        if found is None:
            raise self.fault(f"The hierarchy ends where {wanted} should follow.", len(self.text.rstrip()))
        self.position = found.end()
        return found.group(), found.start()

    def peek(self) -> str:
        found = _WORD.search(self.text, self.position)
        return found.group().upper() if found else ""

    def expect(self, wanted: str) -> None:
        word, at = self.word(f"{wanted!r}")
        if word.upper() != wanted:
            raise self.fault(f"Here {wanted!r} should stand.", at)

    def name(self, keyword: str) -> str:
        found = _NAME.match(self.text, self.position)
        assert found is not None
        name, at = found.group().strip(), self.position
        self.position = found.end()
        if not name:
            raise self.fault(f"{keyword} without a name.", at)
        if len(name) > MAX_NAME:
            raise self.fault(f"A joint's name of {len(name)} letters.", at)
        return name

    def numbers(self, keyword: str) -> tuple[list[float], Span]:
        values: list[float] = []
        begin = end = self.position
        for _ in range(3):
            word, at = self.word(f"a number of {keyword}")
            value = finite_number(word)
            if value is None:
                raise self.fault(f"{keyword} needs three numbers; {word[:40]!r} is none.", at)
            begin = begin if values else at
            values.append(value)
            end = self.position
        return values, (begin, end)

    def channels(self, joint: str) -> tuple[tuple[Channel, ...], Span]:
        word, begin = self.word("the number of channels")
        if not word.isdecimal() or len(word) > 3 or int(word) > 6:
            raise self.fault(f"CHANNELS needs a count from 0 to 6; {word[:40]!r} is none.", begin)
        channels: list[Channel] = []
        for _ in range(int(word)):
            name, at = self.word("a channel's name")
            found = re.fullmatch(r"([XYZ])(position|rotation)", name, re.IGNORECASE)
            if found is None:
                raise self.fault(
                    f"{name[:40]!r} is not a channel; joint {joint!r} announces {word}.",
                    at,
                    "Channels are Xposition, Yposition, Zposition, Xrotation, Yrotation, Zrotation.",
                )
            channel = Channel(found[2].lower() == "position", "XYZ".index(found[1].upper()))
            if channel in channels and (channel.is_position or channels[-1] == channel):
                raise self.fault(f"Channel {name!r} appears twice in joint {joint!r}.", at)
            channels.append(channel)
        if sum(not c.is_position for c in channels) > 3:
            raise self.fault(f"Joint {joint!r} has more than three rotation channels.", begin)
        return tuple(channels), (begin, self.position)

    def hierarchy(self) -> tuple[tuple[BvhJoint, ...], tuple[BvhJoint, ...]]:
        self.expect("HIERARCHY")
        self.expect("ROOT")
        open_joints = [self.block("ROOT", -1)]
        while open_joints:
            word, at = self.word("'JOINT', 'End Site' or '}'")
            key = word.upper()
            if key == "}":
                open_joints.pop()
            elif key == "JOINT":
                open_joints.append(self.block("JOINT", open_joints[-1]))
            elif key == "END":
                self.end_site(open_joints[-1])
            else:
                raise self.fault(f"{word[:40]!r} stands where 'JOINT', 'End Site' or '}}' should.", at)
        if (rest := _WORD.search(self.text, self.position)) is not None:
            self.position = rest.start()
            if rest.group().upper() == "ROOT":
                raise self.fault("A second ROOT; one skeleton is read per file.", cure="Split the file in two.")
            if rest.group().upper().startswith("FRAME"):
                problem = f"The line MOTION is missing: {rest.group()[:40]!r} follows the hierarchy at once."
                raise self.fault(problem, cure="Add the line, or export the clip anew.")
            raise self.fault(f"{rest.group()[:40]!r} stands after the last '}}' of the hierarchy.")
        return tuple(self.joints), tuple(self.end_sites)

    def block(self, keyword: str, parent: int) -> int:
        """Read a joint up to its first child; its index."""
        if len(self.joints) >= MAX_JOINTS:
            raise self.fault(f"More than {MAX_JOINTS} joints.")
        line = self.line_here()
        name = self.name(keyword)
        self.expect("{")
        offset, offset_span, channels, channels_span = None, (0, 0), None, (0, 0)
        while (key := self.peek()) in ("OFFSET", "CHANNELS"):
            _, at = self.word(key)
            if key == "OFFSET" and offset is None:
                offset, offset_span = self.numbers("OFFSET")
            elif key == "CHANNELS" and channels is None:
                channels, channels_span = self.channels(name)
            else:
                raise self.fault(f"A second {key} in joint {name!r}.", at)
        if offset is None:
            self.word("'OFFSET'")
            raise self.fault(f"Joint {name!r} has no OFFSET.")
        if channels is None:
            channels, channels_span = (), (offset_span[1], offset_span[1])
        self.joints.append(
            BvhJoint(name, parent, np.array(offset), channels, self.channel_count, offset_span, channels_span, line)
        )
        self.channel_count += len(channels)
        return len(self.joints) - 1

    def end_site(self, parent: int) -> None:
        line = self.line_here()
        name = self.name("End")
        self.expect("{")
        self.expect("OFFSET")
        offset, span = self.numbers("OFFSET")
        if self.peek() == "CHANNELS":
            self.word("'CHANNELS'")
            channels, _ = self.channels("End Site")
            if channels:
                raise self.fault("An End Site does not move; it cannot have channels.")
        self.expect("}")
        if len(self.end_sites) >= MAX_JOINTS:
            raise self.fault(f"More than {MAX_JOINTS} end sites.")
        self.end_sites.append(BvhJoint(f"End {name}", parent, np.array(offset), (), 0, span, (span[1], span[1]), line))


_TEXT = re.compile(r"(-?[xyz])(\d[\d.e+-]*)(;\{.*\})?")
_TIME = re.compile(r"Frame\s*Time\s*:[ \t]*\S+(?P<mark>[ \t]*)", re.IGNORECASE)
MOST_BLANKS = 8 * 500
"""More blanks are not a mark."""
WRITTEN = Evidence(None, 1.0, "Poise wrote the file and noted it there")


def marked(head: str, unit: float, up: str, ground: Ground | None = None) -> str:
    """The head of a BVH file, from MOTION to its first row, with the mark after the frame time."""
    under = ground_text(ground)
    bits = "".join(f"{ord(letter):08b}" for letter in f"{up}{unit!r}{';' if under else ''}{under}")
    return _TIME.sub(lambda m: m[0][: m.start("mark") - m.start()] + bits.replace("0", " ").replace("1", "\t"), head, 1)


def read_mark(head: str) -> tuple[float, str] | None:
    """Unit [m] and up axis that the head of a file notes, or None."""
    found = _TEXT.fullmatch(_text(head))
    try:
        unit = float(found.group(2)) if found else 0.0
    except ValueError:
        return None
    return (unit, found.group(1)) if found and 1e-9 < unit < 1e9 else None


def read_ground(head: str) -> Ground | None:
    """The ground that the head of a file notes, or None."""
    found = _TEXT.fullmatch(_text(head))
    return ground_of_text(found.group(3)[1:]) if found and found.group(3) else None


def _text(head: str) -> str:
    """What the blanks after the frame time say."""
    found = _TIME.search(head)
    bits = (found["mark"] if found else "").replace(" ", "0").replace("\t", "1")[:MOST_BLANKS]
    return "".join(chr(int(bits[k : k + 8], 2)) for k in range(0, len(bits) - 7, 8))


def with_mark(options: ReadOptions, head: str) -> tuple[ReadOptions, dict[str, Evidence]]:
    """The options with what the file notes where the caller said nothing, and the evidence for that."""
    note = read_mark(head)
    if note is None:
        return options, {}
    noted = {"unit": note[0], "up": note[1]}
    found = {k: replace(WRITTEN, value=v) for k, v in noted.items() if getattr(options, k) is None}
    return replace(options, unit=options.unit or note[0], up=options.up or note[1]), found
