"""The HIERARCHY part of a BVH file."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from poise.core.errors import FileFormatError
from poise.io.bvh_document import BvhJoint, Channel, Span

MAX_JOINTS = 2_000
MAX_NAME = 400
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_WORD = re.compile(r"[{}]|[^\s{}]+")
_NAME = re.compile(r"[^\n{]*")


def parse_hierarchy(path: Path, text: str) -> tuple[tuple[BvhJoint, ...], tuple[BvhJoint, ...]]:
    """Joints and end sites of a hierarchy's text, in file order.

    Keywords are read in any case; names run to the end of their line, so they may hold spaces and any letters.

    Raises:
        FileFormatError: with the line, if the text is no complete hierarchy.
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
                    f"{name[:40]!r} is no channel; joint {joint!r} announces {word}.",
                    at,
                    "Channels are Xposition, Yposition, Zposition, Xrotation, Yrotation, Zrotation.",
                )
            channel = Channel(found[2].lower() == "position", "XYZ".index(found[1].upper()))
            if channel in channels and (channel.is_position or channels[-1] == channel):
                raise self.fault(f"Channel {name!r} stands twice in joint {joint!r}.", at)
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
