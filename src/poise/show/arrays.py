"""Arrays of a pack (docs/scene_format.md): small integers, deltas, byte planes, zlib. Both ways.

`unpack` reads a whole pack as a page sees it, for tests and to look into a recording without a browser.
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.typing import Array
from poise.io.files import read_text

Header = dict[str, Any]

MAGIC = b"POISESC1"
VERSION = 1

KINDS = {"f32": "<f4", "u8": "<u1", "u16": "<u2", "u32": "<u4"}
"""Numbers that are stored as they are, and their NumPy type."""

TIME_STEP = 1e-6
"""Times are stored to half of this [s]."""

QUATERNION_STEP = 1.0 / 32767.0
"""A component's error is half of this: an orientation's at most 0.004 degrees."""

PLACE_STEP = 5e-5
"""Step of a stored coordinate [m]."""


LARGEST = 2**30
"""Largest packed integer in size."""

MAX_BLOB = 1 << 28
"""No blob unpacks to more than this [bytes]."""

MOST_ORDER, MOST_PLANES = 2, 4
"""Differences that are taken at most, and bytes of a packed integer."""


class Blobs:
    """Collects the runs of bytes that follow a pack's header."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._sizes: list[int] = []

    def bytes(self, data: bytes, *, compressed: bool = True) -> int:
        """Add a run of bytes; its number. What is compressed already (a JPEG) goes in as it is, and so does nothing."""
        compressed = compressed and bool(data)  # a size of 0 says: as it is
        self._data.append(zlib.compress(data, 9) if compressed else data)
        self._sizes.append(len(data) if compressed else 0)
        return len(self._data) - 1

    def exact(self, values: npt.ArrayLike, kind: str) -> Header:
        """An array of numbers as they are."""
        table = np.ascontiguousarray(np.asarray(values), dtype=KINDS[kind])
        return {"blob": self.bytes(table.tobytes()), "shape": list(table.shape), "kind": kind}

    def packed(self, values: npt.ArrayLike, step: float) -> Header:
        """An array of real numbers to the nearest multiple of a step: an error of at most step / 2.

        Raises:
            InvalidValue: if a value is not finite, or more than 2^30 steps.
        """
        table = np.asarray(values, dtype=np.float64)
        counts = np.round(table / step)
        if not np.isfinite(counts).all() or np.abs(counts).max(initial=0.0) > LARGEST:
            raise InvalidValue(f"A value of an array {table.shape} is not finite or beyond {LARGEST * step:g}.")
        whole = counts.astype(np.int64).reshape(len(table), -1) if table.size else np.zeros((len(table), 0), np.int64)
        order, residuals = min(
            ((k, _differences(whole, k)) for k in range(3)), key=lambda d: float(np.log2(1.0 + np.abs(d[1])).sum())
        )
        zigzag = ((residuals << 1) ^ (residuals >> 31)).astype(np.uint32).T
        planes = max(1, -(-int(zigzag.max(initial=0)).bit_length() // 8))
        data = b"".join(((zigzag >> (8 * p)) & 0xFF).astype(np.uint8).tobytes() for p in range(planes))
        return {
            "blob": self.bytes(data),
            "shape": list(table.shape),
            "kind": "packed",
            "step": step,
            "order": order,
            "planes": planes,
        }

    def join(self) -> tuple[list[list[int]], bytes]:
        """The header's table of blobs, and all of them in a row."""
        places, at = [], 0
        for data, size in zip(self._data, self._sizes):
            places.append([at, len(data), size])
            at += len(data)
        return places, b"".join(self._data)


def _differences(whole: npt.NDArray[np.int64], order: int) -> npt.NDArray[np.int64]:
    """Differences of an order over the rows, before the first row all zeros, wrapped to 32 bits."""
    for _ in range(order):
        whole = np.diff(whole, axis=0, prepend=np.zeros((1, whole.shape[1]), np.int64))
    return whole.astype(np.int32).astype(np.int64)


def read_array(array: Header, blobs: Sequence[bytes]) -> npt.NDArray[Any]:
    """An array of a header, from the unpacked blobs.

    Raises:
        InvalidValue: if blob and description do not fit.
    """
    try:
        data, shape, kind = blobs[array["blob"]], tuple(int(n) for n in array["shape"]), str(array["kind"])
        order, count, step = int(array.get("order", 0)), int(array.get("planes", 1)), float(array.get("step", 1.0))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InvalidValue(f"An array of a pack is not described as it must be: {error!r}.") from error
    if any(n < 0 for n in shape) or not 0 <= order <= MOST_ORDER or not 1 <= count <= MOST_PLANES:
        raise InvalidValue(f"An array of a pack has the shape {shape}, order {order} and {count} planes.")
    size = math.prod(shape)
    if kind in KINDS:
        dtype = np.dtype(KINDS[kind])
        if len(data) != size * dtype.itemsize:
            raise InvalidValue(f"An array of shape {shape} needs {size * dtype.itemsize} bytes; there are {len(data)}.")
        return np.frombuffer(data, dtype).reshape(shape)
    if kind != "packed" or len(data) != size * count:
        raise InvalidValue(f"An array of kind {kind!r} and shape {shape} does not fit {len(data)} bytes.")
    rows = shape[0] if shape else 1
    planes = np.frombuffer(data, np.uint8).reshape(count, -1).astype(np.uint32)
    zigzag = np.zeros(size, np.uint32)
    for p, plane in enumerate(planes):
        zigzag |= plane << np.uint32(8 * p)
    whole = ((zigzag >> np.uint32(1)) ^ (np.uint32(0) - (zigzag & np.uint32(1)))).view(np.int32)
    whole = whole.reshape(-1, rows).T.astype(np.int64) if size else np.zeros((rows, 0), np.int64)
    for _ in range(order):
        whole = np.cumsum(whole, axis=0).astype(np.int32).astype(np.int64)
    return whole.reshape(shape) * step


def inflate(data: bytes, size: int) -> bytes:
    """A zlib stream that must give exactly so many bytes; a longer one is not unpacked to its end.

    Raises:
        InvalidValue: if it is broken, or of another size.
    """
    if not 0 < size <= MAX_BLOB:
        raise InvalidValue(f"A blob says it unpacks to {size} bytes; 1 to {MAX_BLOB} are allowed.")
    stream = zlib.decompressobj()
    try:
        out = stream.decompress(data, size + 1)
    except zlib.error as error:
        raise InvalidValue(f"A blob cannot be unpacked: {error}.") from error
    if len(out) != size or not stream.eof:
        raise InvalidValue(f"A blob says it unpacks to {size} bytes and does not.")
    return out


MOST_BODIES = 4096
"""Bodies of all tracks together."""

MOST_POSES = 40_000_000
"""Frames times bodies of all tracks together."""

MOST_VERTICES = 4_000_000
"""Vertices of all skins and meshes together."""


def require_within(header: dict[str, Any]) -> None:
    """Refuse a header that describes more than a page should hold.

    Args:
        header: Of a pack.

    Raises:
        InvalidValue: if it has too many bodies, poses or vertices.
    """
    bodies = sum(len(track["bodies"]) for track in header["tracks"])
    frames = 0 if header["times"] is None else int(header["times"]["shape"][0])
    meshes = [skin for track in header["tracks"] for skin in track["skins"]]
    meshes += [shape for track in header["tracks"] for body in track["bodies"] for shape in body["shapes"]]
    meshes += header["terrain"]
    vertices = sum(int(mesh["vertices"]["shape"][0]) for mesh in meshes if "vertices" in mesh)
    for name, seen, most in (
        ("bodies", bodies, MOST_BODIES),
        ("poses (frames times bodies)", frames * bodies, MOST_POSES),
        ("vertices", vertices, MOST_VERTICES),
    ):
        if seen > most:
            raise InvalidValue(
                f"A scene of {seen} {name} is too large for a page; at most {most} are allowed. Show fewer clips "
                "together, a part of them, or a simpler mesh."
            )


MAX_HEADER = 32_000_000
"""Largest header, unpacked [bytes]."""

MAX_WHOLE = 1 << 30
"""No pack unpacks to more than this in all [bytes]."""

_RECORDING = re.compile(r'<script[^>]*\bid="poise-recording"[^>]*>([^<]*)</script>')


@dataclass(frozen=True)
class Unpacked:
    """A header and its blobs."""

    header: dict[str, Any]
    blobs: tuple[bytes, ...]

    def array(self, array: dict[str, Any]) -> npt.NDArray[Any]:
        """An array the header describes."""
        return read_array(array, self.blobs)

    def poses(self, track: int) -> tuple[Array, Array]:
        """World positions [m] (T, B, 3) and orientations (T, B, 4) of a track, as a page sees them."""
        entry = self.header["tracks"][track]
        frames, bodies = entry["frames"], entry["bodies"]
        turns = rotations.normalize(np.concatenate([self.array(a) for a in frames["orientations"]]))
        stored = np.concatenate([self.array(a) for a in frames["positions"]]) if frames["positions"] else None
        places = np.empty((len(turns), len(bodies), 3))
        at = 0
        for i, body in enumerate(bodies):
            if "offset" in body:
                parent = body["parent"]
                moved = rotations.rotate(turns[:, parent], np.array(body["offset"]))
                places[:, i] = places[:, parent] + moved
            else:
                assert stored is not None
                places[:, i] = stored[:, at]
                at += 1
        return places, turns


def unpack(data: bytes) -> Unpacked:
    """Read a pack.

    Raises:
        InvalidValue: if it is none, of a higher version, too large, or its lengths do not fit.
    """
    if data[:8] != MAGIC or len(data) < 16:
        raise InvalidValue("These bytes are not a pack: they do not begin with POISESC1.")
    packed, size = (int.from_bytes(data[k : k + 4], "little") for k in (8, 12))
    if size > MAX_HEADER or 16 + packed > len(data):
        raise InvalidValue(f"A pack's header of {packed} bytes, {size} unpacked, does not fit {len(data)} bytes.")
    try:
        header = json.loads(inflate(data[16 : 16 + packed], size))
        if header["format"] != "poise.scene" or not 1 <= header["version"] <= VERSION:
            raise InvalidValue(f"A pack of version {header['version']} cannot be read; this Poise reads {VERSION}.")
        require_within(header)
        places = [(int(at), int(length), int(raw)) for at, length, raw in header["blobs"]]
    except InvalidValue:
        raise
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(f"A pack's header is not as docs/scene_format.md has it: {error!r}.") from error
    whole = sum(raw or length for _, length, raw in places)
    if whole > MAX_WHOLE:
        raise InvalidValue(f"A pack would unpack to {whole} bytes; at most {MAX_WHOLE} are read.")
    body, blobs = data[16 + packed :], []
    for at, length, raw in places:
        if not 0 <= at <= at + length <= len(body):
            raise InvalidValue("A blob of the pack lies outside of it.")
        part = body[at : at + length]
        blobs.append(inflate(part, raw) if raw else part)
    return Unpacked(header, tuple(blobs))


def read_recording(path: Path) -> Unpacked:
    """The scene in a recorded page.

    Raises:
        FileFormatError: if the page holds none.
    """
    found = _RECORDING.search(read_text(path))
    if found is None:
        raise FileFormatError("This page is not a recording of Poise.", path=path, cure="Record one with --record.")
    try:
        return unpack(base64.b64decode(found[1], validate=True))
    except ValueError as error:
        cure = "Record it again, or open it with the Poise that wrote it."
        raise FileFormatError(f"The recording cannot be read: {error}", path=path, cure=cure) from error
