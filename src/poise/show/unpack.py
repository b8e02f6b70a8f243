"""A pack read back: what a page sees. For tests, and to look into a recording without a browser."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.typing import Array
from poise.io.files import read_text
from poise.show.arrays import inflate, read_array, require_within
from poise.show.pack import MAGIC, VERSION

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
