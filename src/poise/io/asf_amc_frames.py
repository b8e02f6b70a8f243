"""The AMC half of ASF/AMC: numbered frames, each a line of numbers per bone; parsed a block of frames at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.core.errors import FileFormatError
from poise.core.typing import Array
from poise.io.asf_amc_skeleton import AsfDocument, sized
from poise.io.files import read_bytes

Layout = tuple[tuple[str, int], ...]

MAX_BYTES = 200_000_000
"""A clip of this size lasts half an hour; more is refused before it is read."""
MAX_FRAME_BYTES = 200_000
"""No frame is longer, nor what stands before the first."""
CHUNK_FRAMES = 2000
"""Frames that are split into words at a time, which bounds the memory."""


@dataclass(frozen=True)
class AmcDocument:
    """An AMC file as it stands.

    Attributes:
        asf: Its skeleton file.
        header: Lines before the first frame, without line ends.
        degrees: True if its angles are in degrees.
        first_frame: Number of the first frame, usually 1.
        layout: Bone name and count of numbers, in file order.
        values: The numbers of all frames in file order and file units, shape (F, C).
        unit, up: How they were read: meters per file unit, and the file's up axis.
    """

    asf: AsfDocument
    header: tuple[str, ...]
    degrees: bool
    first_frame: int
    layout: Layout
    values: Array
    unit: float
    up: str

    @property
    def columns(self) -> dict[str, slice]:
        """Columns of each bone in `values`."""
        found, column = {}, 0
        for name, count in self.layout:
            found[name] = slice(column, column + count)
            column += count
        return found

    def select_frames(self, index: npt.NDArray[np.int64]) -> AmcDocument:
        """The same file with these frames only."""
        return replace(self, values=self.values[index])

    def sized(self, factor: float) -> AmcDocument:
        """The same file for a skeleton `factor` times as large, which is written beside it [1]."""
        return replace(self, asf=sized(self.asf, factor))


_FRAME_LINE = re.compile(rb"^[ \t]*(\d{1,9})[ \t\r]*$", re.MULTILINE)


def parse_amc(path: Path, asf: AsfDocument) -> AmcDocument:
    """Read an AMC file for its skeleton.

    Raises:
        FileFormatError: with the line, where a frame is not as the skeleton and the first frame have it.
    """
    data = read_bytes(path, limit=MAX_BYTES)
    header, degrees, first_frame = (), asf.degrees, 1
    layout: Layout = ()
    columns: tuple[list[tuple[int, bytes]], list[int]] = ([], [])
    blocks: list[Array] = []
    for spans in _chunks(path, data):
        (start, number), end = spans[0], spans[-1][0]
        if not layout:
            header, degrees = _header(path, data[:start], asf)
            first_frame, layout = number, _layout(path, data, start, spans[1][0], asf)
            columns = _token_columns(layout)
        values = _table(data[start:end].split(), 1 + sum(1 + n for _, n in layout), len(spans) - 1, *columns)
        if values is None:
            raise _fault(path, data, start, end, layout)
        blocks.append(values)
    return AmcDocument(
        asf=asf,
        header=header,
        degrees=degrees,
        first_frame=first_frame,
        layout=layout,
        values=np.concatenate(blocks),
        unit=asf.unit,
        up="y",
    )


def _chunks(path: Path, data: bytes) -> Iterator[list[tuple[int, int]]]:
    """Start and number of up to `CHUNK_FRAMES` frames at a time, and last where the next begins (numbered -1)."""
    again = "The file was cut or put together wrongly: get it again from its source."
    spans: list[tuple[int, int]] = []
    for match in _FRAME_LINE.finditer(data):
        at, number = match.start(), int(match.group(1))
        if spans and number != spans[-1][1] + 1:
            problem = f"Frame {number} follows frame {spans[-1][1]}; frames are numbered one by one."
            raise FileFormatError(problem, path=path, line=_line_at(data, at), text=str(number), cure=again)
        _check_length(path, data, spans, at)
        if len(spans) == CHUNK_FRAMES:
            yield [*spans, (at, -1)]
            spans = []
        spans.append((at, number))
    if not spans:
        raise FileFormatError(
            "No frame was found; in an AMC clip each frame begins with its number on a line of its own.",
            path=path,
            line=data.count(b"\n") + 1,
            cure="Check that this is an AMC file and that it is complete.",
        )
    _check_length(path, data, spans, len(data))
    yield [*spans, (len(data), -1)]


def _check_length(path: Path, data: bytes, spans: list[tuple[int, int]], end: int) -> None:
    """What stands before the first frame, or in one frame, must be of a size that makes sense."""
    start = spans[-1][0] if spans else 0
    if end - start > MAX_FRAME_BYTES:
        what = f"Frame {spans[-1][1]}" if spans else "The text before the first frame"
        raise FileFormatError(
            f"{what} has {end - start} bytes; at most {MAX_FRAME_BYTES} make sense.",
            path=path,
            line=_line_at(data, start),
            text=data[start : start + 120].decode("utf-8", errors="replace"),
            cure="Check that this is an AMC file.",
        )


def _token_columns(layout: Layout) -> tuple[list[tuple[int, bytes]], list[int]]:
    """Among the words of one frame: where each bone's name stands, and where the numbers."""
    names, values, column = [], [], 1
    for name, count in layout:
        names.append((column, name.encode()))
        values += range(column + 1, column + 1 + count)
        column += 1 + count
    return names, values


def _table(
    tokens: list[bytes], per_frame: int, frames: int, names: list[tuple[int, bytes]], values: list[int]
) -> Array | None:
    """The numbers of some frames, shape (frames, C), or None if anything is not as the first frame has it."""
    if len(tokens) != per_frame * frames or any(set(tokens[c::per_frame]) != {name} for c, name in names):
        return None
    table = np.empty((frames, len(values)))
    try:
        for k, c in enumerate(values):
            column = tokens[c::per_frame]
            if b"_" in b"".join(column):
                return None
            table[:, k] = list(map(float, column))
    except ValueError:
        return None
    return table if np.isfinite(table).all() else None


def _header(path: Path, data: bytes, asf: AsfDocument) -> tuple[tuple[str, ...], bool]:
    """Lines before the first frame, and whether angles are in degrees."""
    lines = data.decode("utf-8", errors="replace").splitlines()
    degrees = asf.degrees
    for number, line in enumerate(lines, start=1):
        word = line.strip().upper()
        if word and not word.startswith(("#", ":")):
            raise FileFormatError(
                "Before the first frame an AMC has '#' comments and ':' keywords only.",
                path=path,
                line=number,
                text=line,
                cure="The first frame has lost its number, or this is no AMC file.",
            )
        if word in (":DEGREES", ":RADIANS"):
            degrees = word == ":DEGREES"
    return tuple(lines), degrees


def _layout(path: Path, data: bytes, start: int, end: int, asf: AsfDocument) -> Layout:
    """Bones and counts of numbers of the first frame, checked against the skeleton."""
    wanted = {"root": 6} | {b.name: len(b.dofs) for b in asf.bones if b.dofs}
    layout: list[tuple[str, int]] = []
    first = _line_at(data, start)
    lines = data[start:end].decode("utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines[1:], start=first + 1):
        words = line.split()
        if not words:
            continue
        name, count = words[0], len(words) - 1
        if name not in wanted:
            problem = f"Bone {name!r} is not one that {Path(asf.path).name} gives channels."
        elif name in dict(layout):
            problem = f"Bone {name!r} stands twice in one frame."
        elif count != wanted[name]:
            problem = f"Bone {name!r} has {count} numbers; {Path(asf.path).name} gives it {wanted[name]}."
        else:
            layout.append((name, count))
            continue
        raise FileFormatError(
            problem, path=path, line=number, text=line.strip(), cure="Name the right .asf with --skeleton."
        )
    lost = [n for n in wanted if n not in dict(layout)]
    if lost:
        raise FileFormatError(
            f"The first frame lacks {', '.join(lost[:5])}: {len(layout)} of {len(wanted)} bones are there.",
            path=path,
            line=first + len(lines) - 1,
            cure="The clip is cut off here, or belongs to another skeleton: name it with --skeleton.",
        )
    return tuple(layout)


def _fault(path: Path, data: bytes, start: int, end: int, layout: Layout) -> FileFormatError:
    """The first place where frames differ from the first frame's layout."""
    again = "Get the file again from its source; Poise fills nothing in."
    line_number = _line_at(data, start) - 1
    frame, place = "", len(layout)
    for line in data[start:end].decode("utf-8", errors="replace").split("\n"):
        line_number += 1
        words = line.split()
        if not words:
            continue
        if len(words) == 1 and words[0].isdigit():
            if place != len(layout):
                problem = f"Frame {frame} has {place} of {len(layout)} bones; {layout[place][0]!r} comes next."
                return FileFormatError(problem, path=path, line=line_number, text=line.strip(), cure=again)
            frame, place = words[0], 0
            continue
        name, count = layout[place] if place < len(layout) else ("the next frame's number", 0)
        if words[0] != name:
            problem = f"Frame {frame} has {words[0]!r} where {name!r} stands in the first frame."
            return FileFormatError(problem, path=path, line=line_number, text=line.strip(), cure=again)
        if len(words) - 1 != count:
            problem = f"Bone {name!r} has {len(words) - 1} numbers in frame {frame} and {count} in the first."
            return FileFormatError(problem, path=path, line=line_number, text=line.strip(), cure=again)
        for column, word in enumerate(words[1:], start=2):
            if not _is_finite_number(word):
                problem = f"Number {column - 1} of bone {name!r} in frame {frame} is no finite number."
                return FileFormatError(problem, path=path, line=line_number, text=line.strip(), cure=again)
        place += 1
    problem = f"The file ends inside frame {frame}: {place} of {len(layout)} bones are there."
    return FileFormatError(problem, path=path, line=line_number, cure=again)


def _is_finite_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word))) and "_" not in word
    except ValueError:
        return False


def _line_at(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
