"""The AMC half of ASF/AMC: numbered frames, each a line of numbers per bone; parsed a block of frames at a time.

The numbers become poses of the skeleton, and poses become numbers again on the source's own Euler branch.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, MotionWarning
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.io.asf_amc_skeleton import AsfBone, AsfDocument, sized, skeleton_of, static_euler
from poise.io.files import read_bytes
from poise.io.format import SAME_UNIT, door_turn

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

    def as_stated(self) -> AmcDocument:
        """The same figure in the unit that its .asf states, where it was read in another."""
        own = self.asf.unit
        return self if abs(self.unit / own - 1.0) < SAME_UNIT else replace(self.sized(self.unit / own), unit=own)


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
                cure="The first frame has lost its number, or this is not an AMC file.",
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
        tokens = line.split()
        if not tokens:
            continue
        name, count = tokens[0], len(tokens) - 1
        if name not in wanted:
            problem = f"Bone {name!r} is not one that {Path(asf.path).name} gives channels."
        elif name in dict(layout):
            problem = f"Bone {name!r} appears twice in one frame."
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
        tokens = line.split()
        if not tokens:
            continue
        if len(tokens) == 1 and tokens[0].isdigit():
            if place != len(layout):
                problem = f"Frame {frame} has {place} of {len(layout)} bones; {layout[place][0]!r} comes next."
                return FileFormatError(problem, path=path, line=line_number, text=line.strip(), cure=again)
            frame, place = tokens[0], 0
            continue
        name, count = layout[place] if place < len(layout) else ("the next frame's number", 0)
        if tokens[0] != name:
            problem = f"Frame {frame} has {tokens[0]!r} where {name!r} stands in the first frame."
            return FileFormatError(problem, path=path, line=line_number, text=line.strip(), cure=again)
        if len(tokens) - 1 != count:
            problem = f"Bone {name!r} has {len(tokens) - 1} numbers in frame {frame} and {count} in the first."
            return FileFormatError(problem, path=path, line=line_number, text=line.strip(), cure=again)
        for column, word in enumerate(tokens[1:], start=2):
            if not _is_finite_number(word):
                problem = f"Number {column - 1} of bone {name!r} in frame {frame} is not a finite number."
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


SAME_ANGLE = 2e-8
"""A rotation this close [rad] to the source's (1e-6 degrees) is unchanged: the source's numbers are written."""
SAME_LENGTH = 1e-9
"""The same for translations [m]."""


def _dofs(document: AmcDocument, bone: AsfBone | None) -> tuple[tuple[str, ...], str, Array]:
    """Channels, order of application of the turns, and axis frame of a bone; of the root for None."""
    if bone is None:
        return document.asf.root_dofs, document.asf.root_letters, document.asf.orientation
    return bone.dofs, "".join(d[1] for d in bone.dofs if d[0] == "r").upper(), bone.axis


def pose_of(document: AmcDocument) -> tuple[Array, Array]:
    """Translations (F, J, 3) [m] and rotations (F, J, 4) of a clip's numbers."""
    asf, turn = document.asf, door_turn(document.up)
    skeleton = skeleton_of(asf, unit=document.unit, turn=turn)
    frames = len(document.values)
    translations = np.tile(skeleton.offsets, (frames, 1, 1))
    turned = np.tile(skeleton.rest_rotations, (frames, 1, 1))
    columns = document.columns
    for j, bone in enumerate((None, *asf.bones)):
        name = "root" if bone is None else bone.name
        if name not in columns:
            continue
        values = document.values[:, columns[name]]
        dofs, letters, axis = _dofs(document, bone)
        local = _local_rotation(values, dofs, letters, axis, document.degrees)
        moved = np.zeros((frames, 3))
        for k, dof in enumerate(dofs):
            if dof[0] == "t":
                moved[:, "xyz".index(dof[1])] = document.unit * values[:, k]
        if bone is None:
            translations[:, 0] = rotations.rotate(turn, moved + document.unit * asf.position)
            turned[:, 0] = rotations.multiply(turn, local)
        else:
            turned[:, j] = local
            if j in skeleton.translating:
                translations[:, j] += rotations.rotate(axis, moved)
    return translations, turned


def _local_rotation(values: Array, dofs: tuple[str, ...], letters: str, axis: Array, degrees: bool) -> Array:
    """C R C⁻¹ of a bone's numbers (F, n), shape (F, 4)."""
    angles = (
        np.stack([values[:, dofs.index("r" + c)] for c in letters.lower()], axis=-1)
        if letters
        else np.zeros((len(values), 0))
    )
    turned = static_euler(letters, angles if degrees else np.degrees(angles))
    return rotations.multiply(rotations.multiply(axis, turned), rotations.conjugate(axis))


def values_of(motion: Motion, document: AmcDocument) -> Array:
    """The numbers of all channels, shape (F, C), in file units."""
    frames = motion.frame_count
    has_source = len(document.values) == frames
    source = document.values if has_source else np.zeros((frames, document.values.shape[1]))
    before = pose_of(document) if has_source else None
    turn_back = rotations.conjugate(door_turn(document.up))
    to_unit = 1.0 if document.degrees else np.pi / 180.0
    values = source.copy()
    columns = document.columns
    asf_skeleton = skeleton_of(document.asf, unit=document.unit, turn=door_turn(document.up))
    worst = (0.0, "")
    for j, bone in enumerate((None, *document.asf.bones)):
        name = "root" if bone is None else bone.name
        local, moved = motion.rotations[:, j], motion.translations[:, j] - motion.skeleton.offsets[j]
        dofs, letters, axis = _dofs(document, bone)
        if bone is None:
            local = rotations.multiply(turn_back, local)
            moved = rotations.rotate(turn_back, motion.translations[:, 0]) - document.unit * document.asf.position
        else:
            _check_bone(motion, asf_skeleton, j)
            moved = rotations.rotate(rotations.conjugate(axis), moved)
        if name not in columns:
            loss = float(np.max(rotations.angle_between(local, rotations.IDENTITY)))
            worst = max(worst, (loss, name))
            continue
        block = values[:, columns[name]]
        is_new = np.ones(frames, dtype=bool)
        if before is not None:
            is_new = rotations.angle_between(motion.rotations[:, j], before[1][:, j]) > SAME_ANGLE
        if letters and is_new.any():
            inner = rotations.multiply(rotations.multiply(rotations.conjugate(axis), local), axis)
            guide = _turn_columns(block, dofs, letters) / to_unit
            angles = _angles(inner, letters, guide, is_new, has_source)
            for k, letter in enumerate(letters.lower()):
                column = dofs.index("r" + letter)
                block[is_new, column] = to_unit * angles[is_new, k]
            rebuilt = _local_rotation(block, dofs, letters, axis, document.degrees)
            worst = max(worst, (float(np.max(rotations.angle_between(rebuilt, local))), name))
        for k, dof in enumerate(dofs):
            if dof[0] == "t":
                wanted = moved[:, "xyz".index(dof[1])]
                is_moved = np.abs(wanted - document.unit * block[:, k]) > SAME_LENGTH
                block[:, k] = np.where(is_moved | (not has_source), wanted / document.unit, block[:, k])
    if worst[0] > 1e-6:
        warnings.warn(
            f"The channels of bone {worst[1]!r} cannot state its turn: up to {np.degrees(worst[0]):.3g} degrees "
            "were lost. Write .bvh, .npz or .glb to keep them.",
            MotionWarning,
            stacklevel=3,
        )
    return values


def _check_bone(motion: Motion, skeleton: Skeleton, joint: int) -> None:
    """A bone must start where the .asf says, unless its channels move it."""
    away = float(np.abs(motion.translations[:, joint] - skeleton.offsets[joint]).max())
    if away > 1e-6 and joint not in skeleton.translating:
        raise InvalidValue(
            f"Bone {skeleton.names[joint]!r} starts {away:.3g} m off the place its .asf says, which no .amc states. "
            "Write .bvh, .npz or .glb instead."
        )


def _turn_columns(block: Array, dofs: tuple[str, ...], letters: str) -> Array:
    """The rotation columns of a bone in the order of their application, shape (F, n)."""
    return np.stack([block[:, dofs.index("r" + c)] for c in letters.lower()], axis=-1)


def _angles(turned: Array, letters: str, source: Array, is_new: npt.NDArray[np.bool_], has_source: bool) -> Array:
    """Angles [deg] (F, n) of turns about fixed axes that give `turned` (F, 4).

    The branch is the one nearest `source` (F, n) where that is the source's, else the one nearest the frame before.
    A missing third axis is taken as applied last, and its angle dropped.
    """
    if len(letters) == 1:
        candidates = [np.degrees(2.0 * np.arctan2(turned[:, 1 + "XYZ".index(letters)], turned[:, 0]))[:, None]]
    else:
        order = letters + "".join(c for c in "XYZ" if c not in letters)
        full = rotations.to_euler(order[::-1], turned)[:, ::-1]
        other = np.stack([full[:, 0] + 180.0, 180.0 - full[:, 1], full[:, 2] + 180.0], axis=-1)
        candidates = [full, other]
        if len(letters) == 2:
            small = np.cos(np.radians(full[:, 2:])) >= 0.0
            candidates = [np.where(small, full, other)[:, :2]]
    angles = source.copy()
    if has_source:
        near = np.stack([c + 360.0 * np.round((source - c) / 360.0) for c in candidates])
        best = np.argmin(np.abs(near - source).sum(axis=-1), axis=0)
        angles[is_new] = near[best, np.arange(len(source))][is_new]
        return angles
    guide = np.zeros(len(letters))
    for frame in range(len(turned)):
        near = [c[frame] + 360.0 * np.round((guide - c[frame]) / 360.0) for c in candidates]
        guide = min(near, key=lambda a: float(np.abs(a - guide).sum()))
        angles[frame] = guide
    return angles
