"""Markers of a C3D file, as any of its three kinds of processor wrote them.

A C3D is a heading, parameters in groups, and frames of points and analog samples, in blocks of 512 bytes (user guide of
c3d.org). Only points and the few parameters that they need are read. Real files contradict themselves: a parameter
stands twice, a count differs from the heading, a group is missing. What the points need is checked; the rest is
passed over.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from poise.core.errors import FileFormatError
from poise.core.typing import Array
from poise.io.files import read_bytes

BLOCK = 512
"""Length of a block [bytes]."""
MARK = 0x50
"""Second byte of every C3D."""
INTEL, DEC, MIPS = 84, 85, 86
"""Numbers of the processors."""
FULL = 0xFFFF
"""Last frame as the heading gives it for a file that has more frames than that."""
AGAIN = "Export it again from the program that recorded it."


@dataclass(frozen=True)
class Points:
    """Points of a C3D over time.

    Attributes:
        names: Of each point.
        places: In units of the file, shape (F, N, 3); NaN where a point was not seen.
        fps: Frame rate [1/s].
        unit: As the file says it, or "".
        up: Axis that is vertical on its screen, such as "+Z", or "".
    """

    names: tuple[str, ...]
    places: Array
    fps: float
    unit: str
    up: str


def read_points(path: Path) -> Points:
    """The points of a file.

    Raises:
        FileFormatError: if it is no C3D, or ends before its frames.
    """
    data = read_bytes(path)
    try:
        return _points(data)
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise FileFormatError(f"The C3D is damaged: {error}.", path=path, cure=AGAIN) from error


def _points(data: bytes) -> Points:
    """The same from the bytes of a file; raises ValueError for what is wrong with them."""
    if len(data) < 2 * BLOCK or data[1] != MARK:
        raise ValueError("its heading is missing")
    at = (max(data[0], 1) - 1) * BLOCK
    if at + 4 > len(data):
        raise ValueError("its parameters lie beyond its end")
    kind = data[at + 3]
    if kind not in (INTEL, DEC, MIPS):
        kind = INTEL  # some write no processor at all
    order = ">" if kind == MIPS else "<"
    heading = struct.unpack_from(f"{order}9H", data, 2)
    count, analog, first, last, start = heading[0], heading[1], heading[2], heading[3], heading[7]
    scale, fps = _float(data, 12, kind), _float(data, 20, kind)
    parameters = _parameters(data, at + 4, order, kind)
    if not 0.0 < fps < 1e5:
        fps = _number(parameters, "RATE", fps)
    if scale == 0.0 or not np.isfinite(scale):
        scale = _number(parameters, "SCALE", scale)
    if count == 0:
        return Points((), np.empty((0, 0, 3)), fps, "", "")
    size = 2 if scale > 0.0 else 4  # whole numbers, which the scale multiplies, or floating-point ones
    begin, stated = (start - 1) * BLOCK, last - first + 1
    if begin < BLOCK or begin >= len(data):
        raise ValueError(f"it states {count} points and data from block {start}")
    # some count the analog samples of a frame, some those of one moment: what fits the length of the file
    strides = {size * (4 * count + analog * times) for times in (1, max(heading[8], 1))}
    stride = min(strides, key=lambda length: (abs(begin + stated * length - len(data)), length))
    present = (len(data) - begin) // stride
    frames = present if last == FULL else min(present, stated)
    if frames < 1:
        raise ValueError("no frame of it is whole")
    table = np.frombuffer(data, np.uint8, frames * stride, begin).reshape(frames, stride)[:, : 4 * size * count]
    raw = table.copy().view(f"{order}i2").astype(np.float64) if scale > 0.0 else _floats(table, kind)
    raw = raw.reshape(frames, count, 4)  # place and residual, which is negative where a point was not seen
    places = scale * raw[:, :, :3] if scale > 0.0 else raw[:, :, :3]
    is_seen = (raw[:, :, 3] >= 0.0) & np.isfinite(places).all(axis=2)
    labels = [name for k in ("", *range(2, 100)) for name in parameters.get(f"POINT:LABELS{k}", ())]
    names = tuple(str(labels[k]) if k < len(labels) and labels[k] else f"point {k + 1}" for k in range(count))
    places = np.where(is_seen[:, :, None], places, np.nan)
    return Points(names, places, fps, _word(parameters, "UNITS"), _word(parameters, "Y_SCREEN"))


def _number(parameters: dict[str, list[str] | Array], name: str, otherwise: float) -> float:
    """First value of a parameter of POINT that holds numbers."""
    values = parameters.get(f"POINT:{name}", [])
    return float(values[0]) if len(values) and not isinstance(values[0], str) else otherwise


def _word(parameters: dict[str, list[str] | Array], name: str) -> str:
    """First value of a parameter of POINT that holds words, or ""."""
    values = parameters.get(f"POINT:{name}", [])
    return values[0] if len(values) and isinstance(values[0], str) else ""


def _parameters(data: bytes, at: int, order: str, kind: int) -> dict[str, list[str] | Array]:
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
        (step,) = struct.unpack_from(f"{order}H", data, follows)
        if group < 0:
            groups.setdefault(-group, name)
        else:
            found.setdefault((group, name), _values(data, follows + 2, order, kind))
        if step < 2:
            break
        at = follows + step
    return {f"{groups.get(g, '')}:{name}": values for (g, name), values in found.items() if groups.get(g) == "POINT"}


def _values(data: bytes, at: int, order: str, kind: int) -> list[str] | Array:
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
    return np.frombuffer(body, f"{order}i2" if width == 2 else "i1").astype(np.float64)


def _float(data: bytes, at: int, kind: int) -> float:
    """The floating-point number that begins at a byte."""
    return float(_floats(np.frombuffer(data, np.uint8, 4, at)[None], kind)[0, 0])


def _floats(table: np.ndarray, kind: int) -> Array:
    """Rows of bytes (F, 4 n) as numbers (F, n). Those of DEC have their halves swapped and are 4 times too large."""
    if kind == DEC:
        halves = table.reshape(len(table), -1, 2, 2)[:, :, ::-1]
        return 0.25 * np.ascontiguousarray(halves).reshape(len(table), -1).view("<f4").astype(np.float64)
    return np.ascontiguousarray(table).view(">f4" if kind == MIPS else "<f4").astype(np.float64)
