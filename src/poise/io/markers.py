"""Recordings of markers, TRC and C3D: places without a skeleton. They can be viewed, not moved.

A C3D, as any of its three kinds of processor wrote it, is a heading, parameters in groups, and frames of points and
analog samples, in blocks of 512 bytes (user guide of c3d.org). Only points and the few parameters that they need are
read. Real files contradict themselves: a parameter stands twice, a count differs from the heading, a group is missing.
What the points need is checked; the rest is passed over.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.motion import Evidence, Motion
from poise.core.typing import Array
from poise.core.units import UNITS
from poise.io.files import read_bytes, read_text
from poise.io.format import door_turn

if TYPE_CHECKING:
    from poise.io.format import ReadOptions

NAME = "markers"
EXTENSIONS = (".trc", ".c3d")

NO_SKELETON = (
    "`poise view` shows them. To move them, fit a skeleton to them in the program that recorded them (or in OpenSim, "
    "Mokka or Blender) and export BVH, or glTF."
)
UNSURE = 0.6
"""Confidence in an up axis or a unit that the file does not state [1]."""
USUAL_UNIT = 0.001
"""Meters per unit of a file that states none."""
AGAIN = "Export it again from the program that recorded it."

BLOCK = 512
"""Length of a block of a C3D [bytes]."""
MARK = 0x50
"""Second byte of every C3D."""
INTEL, DEC, MIPS = 84, 85, 86
"""Numbers of the processors."""
FULL = 0xFFFF
"""Last frame as the heading gives it for a file that has more frames than that."""


@dataclass(frozen=True)
class Markers:
    """Places of markers over time.

    Attributes:
        names: Of each marker.
        times: Of each frame [s], rising from 0, shape (F,).
        places: In the world, Z up [m], shape (F, N, 3); NaN where a marker was not seen.
        fps: As the file states it [1/s].
        unit: Meters per file unit.
        up: The file's up axis.
        evidence: How sure unit and axis are.
    """

    names: tuple[str, ...]
    times: Array
    places: Array
    fps: float
    unit: float
    up: str
    evidence: dict[str, Evidence]


def matches(path: Path, head: bytes) -> bool:
    """True for the first words of a TRC, or the mark in a C3D's second byte."""
    if head.lstrip().startswith(b"PathFileType"):
        return True
    return path.suffix.lower() == ".c3d" and head[1:2] == bytes([MARK])


def read(path: Path, options: ReadOptions) -> Motion:
    """Refuse: markers are not a skeleton.

    Raises:
        FileFormatError: always.
    """
    raise FileFormatError("It holds positions of markers and no skeleton.", path=path, cure=NO_SKELETON)


def describe(path: Path, options: ReadOptions) -> dict[str, Any]:
    """What `poise info` says of a recording of markers."""
    found = read_markers(path, options)
    lost = float(np.isnan(found.places).any(axis=2).mean())
    seen = f"{len(found.names)} markers, {lost:.1%} of their places lost: {', '.join(found.names[:8])}"
    return {
        "dialect": path.suffix[1:].upper(),
        "frames": len(found.times),
        "fps": found.fps,
        "duration_s": float(found.times[-1]),
        "unit_m": found.unit,
        "up": found.up,
        "evidence": found.evidence,
        "reason": f"{seen}{', …' if len(found.names) > 8 else ''}. They are not a skeleton: {NO_SKELETON}",
    }


def read_markers(path: Path, options: ReadOptions) -> Markers:
    """Read a recording of markers.

    Raises:
        FileFormatError: with the line, if it is not what it should be.
    """
    names, places, fps, unit, up = (_c3d if path.suffix.lower() == ".c3d" else _trc)(path)
    if not len(names) or not len(places):
        raise FileFormatError("It holds no marker, or no frame.", path=path, cure=AGAIN)
    if not np.isfinite(places).any():
        raise FileFormatError("No marker is seen in any frame.", path=path, cure=AGAIN)
    fps, factor = options.fps or fps, options.unit or _unit(unit)
    if factor is None or not (np.isfinite(fps) and fps > 0.0):
        problem = f"Its unit is {unit!r} and its rate {fps:g}."
        raise FileFormatError(problem, path=path, cure="Give --unit and --source-fps.")
    if options.unit is not None:
        known = Evidence(factor, 1.0, "as its user says")
    elif unit:
        known = Evidence(factor, 1.0, f"the file says {unit}")
    else:
        known = Evidence(factor, UNSURE, "such files are nearly always in millimeters; this one says nothing")
    evidence = {"unit": known}
    if options.up is not None:
        up, sure, why = options.up, 1.0, "as its user says"
    elif up:
        sure, why = 0.9, "the file's vertical screen axis"
    else:
        up, why = _upright(places)
        sure = UNSURE
    evidence["up"] = Evidence(up, sure, why)
    turned = rotations.rotate(door_turn(up), factor * places)
    return Markers(tuple(names), np.arange(len(places)) / fps, turned, fps, factor, up, evidence)


def _unit(words: str) -> float | None:
    """Meters per unit; None for an unknown one. Some files cut the word short: "mete"."""
    starts = {"met": 1.0, "cent": 0.01, "mill": 0.001}
    spelled = next((meters for start, meters in starts.items() if words.lower().startswith(start)), None)
    return UNITS.get(words.lower(), spelled) if words else USUAL_UNIT


def _upright(places: Array) -> tuple[str, str]:
    """The axis along which the lowest marker keeps its height: people stay on the ground."""
    lowest = np.nanmin(np.where(np.isfinite(places), places, np.inf), axis=1)
    lowest = lowest[np.isfinite(lowest).all(axis=1)]
    heights = np.nanmedian(places[:, :, 1:], axis=(0, 1)) - np.median(lowest[:, 1:], axis=0)
    spread = lowest[:, 1:].std(axis=0) / np.maximum(heights, 1e-9)
    axis = "yz"[int(np.argmin(spread))]
    return axis, f"along {axis} the lowest marker keeps its height best; the file does not say"


def _trc(path: Path) -> tuple[list[str], Array, float, str, str]:
    """Names, places in file units, rate, unit and up axis ("": not stated) of a TRC."""
    lines = read_text(path).splitlines()
    mark = "\t" if "\t" in "".join(lines[:4]) else ","

    def refuse(problem: str, line: int) -> NoReturn:
        text = lines[line - 1][:60] if 0 < line <= len(lines) else ""
        raise FileFormatError(problem, path=path, line=line, text=text, cure=AGAIN)

    if len(lines) < 6:
        refuse("It ends within its heading.", max(len(lines), 1))
    fields, values = ([f.strip() for f in line.split(mark)] for line in lines[1:3])
    fields, filled = [f for f in fields if f], [f for f in values if f]  # some put two marks between two values
    facts = dict(zip(fields, filled if len(filled) == len(fields) else values))
    try:
        fps, count = float(facts["DataRate"]), int(facts["NumMarkers"])
    except (KeyError, ValueError):
        refuse("It states no DataRate and NumMarkers.", 3)
    # some put a marker's name above its first coordinate, some above its second
    names = [f.strip() for f in lines[3].split(mark)[2:] if f.strip()]
    if len(names) > count or not 0 < count <= 10_000:
        refuse(f"It states {count} markers and names {len(names)}.", 4)
    names += [f"marker {k + 1}" for k in range(len(names), count)]
    rows = []
    for number, line in enumerate(lines[5:], 6):
        fields = line.split(mark)
        if not line.strip() or not fields[0].strip():
            continue
        values = (fields[2:] + [""] * (3 * count))[: 3 * count]
        try:
            rows.append([float(v) if v.strip() else np.nan for v in values])
        except ValueError:
            refuse("A place is not a number.", number)
    return names, np.array(rows).reshape(len(rows), count, 3), fps, facts.get("Units", ""), ""


def _c3d(path: Path) -> tuple[list[str], Array, float, str, str]:
    """The same of a C3D; a place is NaN where a point was not seen."""
    data = read_bytes(path)
    try:
        kind, at = _processor(data)
        parameters = _parameters(data, at, kind)
        fps = _float(data, 20, kind)
        if not 0.0 < fps < 1e5:
            fps = _number(parameters, "RATE", fps)
        scale = _float(data, 12, kind)
        if scale == 0.0 or not np.isfinite(scale):
            scale = _number(parameters, "SCALE", scale)
        places = _places(data, kind, scale)
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise FileFormatError(f"The C3D is damaged: {error}.", path=path, cure=AGAIN) from error
    labels = [name for k in ("", *range(2, 100)) for name in parameters.get(f"POINT:LABELS{k}", ())]
    count = places.shape[1]
    names = [str(labels[k]) if k < len(labels) and labels[k] else f"point {k + 1}" for k in range(count)]
    up = _word(parameters, "Y_SCREEN").lower().lstrip("+")
    return names, places, fps, _word(parameters, "UNITS"), up if up in ("x", "y", "z", "-x", "-y", "-z") else ""


def _processor(data: bytes) -> tuple[int, int]:
    """The processor that wrote a C3D, and where its parameters begin."""
    if len(data) < 2 * BLOCK or data[1] != MARK:
        raise ValueError("its heading is missing")
    at = (max(data[0], 1) - 1) * BLOCK
    if at + 4 > len(data):
        raise ValueError("its parameters lie beyond its end")
    kind = data[at + 3]
    return kind if kind in (INTEL, DEC, MIPS) else INTEL, at + 4  # some write no processor at all


def _order(kind: int) -> str:
    """Order of the bytes of a whole number, as `struct` writes it."""
    return ">" if kind == MIPS else "<"


def _places(data: bytes, kind: int, scale: float) -> Array:
    """Places of the points in units of the file, shape (F, N, 3)."""
    count, analog, first, last, *_, start, times = struct.unpack_from(f"{_order(kind)}9H", data, 2)
    if count == 0:
        return np.empty((0, 0, 3))
    size = 2 if scale > 0.0 else 4  # whole numbers, which the scale multiplies, or floating-point ones
    begin, stated = (start - 1) * BLOCK, last - first + 1
    if begin < BLOCK or begin >= len(data):
        raise ValueError(f"it states {count} points and data from block {start}")
    # some count the analog samples of a frame, some those of one moment: what fits the length of the file
    strides = {size * (4 * count + analog * samples) for samples in (1, max(times, 1))}
    stride = min(strides, key=lambda length: (abs(begin + stated * length - len(data)), length))
    present = (len(data) - begin) // stride
    frames = present if last == FULL else min(present, stated)
    if frames < 1:
        raise ValueError("no frame of it is whole")
    table = np.frombuffer(data, np.uint8, frames * stride, begin).reshape(frames, stride)[:, : 4 * size * count]
    raw = table.copy().view(f"{_order(kind)}i2").astype(np.float64) if scale > 0.0 else _floats(table, kind)
    raw = raw.reshape(frames, count, 4)  # place and residual, which is negative where a point was not seen
    places = scale * raw[:, :, :3] if scale > 0.0 else raw[:, :, :3]
    is_seen = (raw[:, :, 3] >= 0.0) & np.isfinite(places).all(axis=2)
    return np.where(is_seen[:, :, None], places, np.nan)


def _number(parameters: dict[str, list[str] | Array], name: str, otherwise: float) -> float:
    """First value of a parameter of POINT that holds numbers."""
    values = parameters.get(f"POINT:{name}", [])
    return float(values[0]) if len(values) and not isinstance(values[0], str) else otherwise


def _word(parameters: dict[str, list[str] | Array], name: str) -> str:
    """First value of a parameter of POINT that holds words, or ""."""
    values = parameters.get(f"POINT:{name}", [])
    return values[0] if len(values) and isinstance(values[0], str) else ""


def _parameters(data: bytes, at: int, kind: int) -> dict[str, list[str] | Array]:
    """Values of the group POINT by "POINT:NAME"; the first where a name stands twice."""
    groups: dict[int, str] = {}
    found: dict[tuple[int, str], list[str] | Array] = {}
    while at + 4 <= len(data):
        letters, group = struct.unpack_from("bb", data, at)
        letters = abs(letters)
        if letters == 0 or group == 0:
            break
        name = data[at + 2 : at + 2 + letters].decode("ascii", "replace").strip().upper()
        follows = at + 2 + letters
        (step,) = struct.unpack_from(f"{_order(kind)}H", data, follows)
        if group < 0:
            groups.setdefault(-group, name)
        else:
            found.setdefault((group, name), _values(data, follows + 2, kind))
        if step < 2:
            break
        at = follows + step
    return {f"{groups.get(g, '')}:{name}": values for (g, name), values in found.items() if groups.get(g) == "POINT"}


def _values(data: bytes, at: int, kind: int) -> list[str] | Array:
    """One parameter: words, or numbers in one row."""
    width, dimensions = struct.unpack_from("bB", data, at)
    shape = list(data[at + 2 : at + 2 + dimensions])
    at += 2 + dimensions
    count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    body = data[at : at + abs(width) * count]
    if len(body) < abs(width) * count:
        return []
    if width == -1:
        length = shape[0] if shape else 1
        parts = [body[k : k + length] for k in range(0, count, length)] if length else []
        return [p.split(b"\0")[0].decode("utf-8", "replace").strip() for p in parts]
    if width == 4:
        return _floats(np.frombuffer(body, np.uint8)[None], kind)[0]
    return np.frombuffer(body, f"{_order(kind)}i2" if width == 2 else "i1").astype(np.float64)


def _float(data: bytes, at: int, kind: int) -> float:
    """The floating-point number that begins at a byte."""
    return float(_floats(np.frombuffer(data, np.uint8, 4, at)[None], kind)[0, 0])


def _floats(table: np.ndarray, kind: int) -> Array:
    """Rows of bytes (F, 4 n) as numbers (F, n). Those of DEC have their halves swapped and are 4 times too large."""
    if kind == DEC:
        halves = table.reshape(len(table), -1, 2, 2)[:, :, ::-1]
        return 0.25 * np.ascontiguousarray(halves).reshape(len(table), -1).view("<f4").astype(np.float64)
    return np.ascontiguousarray(table).view(">f4" if kind == MIPS else "<f4").astype(np.float64)
