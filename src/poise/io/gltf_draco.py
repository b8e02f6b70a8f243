"""glTF meshes packed with Draco (KHR_draco_mesh_compression), unpacked by the package DracoPy (extra `draco`)."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
import zipfile
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core.errors import FileFormatError
from poise.io.gltf_document import COMPONENTS, MAX_BYTES, WIDTHS, GltfDocument

DRACO = "KHR_draco_mesh_compression"
HEADER = b"DRACO\x02\x02\x01"
"""Begin of a triangle mesh in Draco's bit stream 2.2, the only version that the extension allows."""

MAX_VERTICES = 3_000_000
"""Most vertices, and most triangles, of a mesh that is unpacked."""
SECONDS = 30.0
"""Longest time for the meshes of a file [s]; 8,000 vertices take 0.01 s."""
CHILD = """
import io, sys
import DracoPy
import numpy as np
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
except (ImportError, OSError, ValueError):
    pass
found = {}
for key, data in np.load(io.BytesIO(sys.stdin.buffer.read())).items():
    try:
        mesh = DracoPy.decode(data.tobytes())
        arrays = {"indices": mesh.faces} | {a["unique_id"]: a["data"] for a in mesh.attributes}
    except Exception:
        continue
    found |= {key[4:] + "/" + str(name): values for name, values in arrays.items()}
if sum(values.nbytes for values in found.values()) > int(sys.argv[1]):
    sys.exit(1)
packed = io.BytesIO()
np.savez(packed, **found)
sys.stdout.buffer.write(packed.getvalue())
"""


def is_installed() -> bool:
    """True if DracoPy is there."""
    return importlib.util.find_spec("DracoPy") is not None


def is_packed(primitive: dict[str, Any]) -> bool:
    """True if a primitive's vertices are packed with Draco."""
    return DRACO in primitive.get("extensions", {})


def unpacked(document: GltfDocument, primitive: dict[str, Any]) -> dict[str, npt.NDArray[Any]] | None:
    """Numbers of a packed primitive's attributes, and its `indices`, as `GltfDocument.accessor` would give them.

    None without DracoPy, and where the data are damaged or claim more than the accessors declare: such a mesh is not
    drawn, and its file is read all the same.
    """
    if not is_installed():
        return None
    every = [p for mesh in document.items("meshes") for p in mesh.get("primitives", []) if is_packed(p)]
    streams = {s: None for p in every if (s := _stream(document, p)) is not None}
    stream = _stream(document, primitive)
    mesh = None if stream is None else _decoded(tuple(streams)).get(stream)
    if mesh is None:
        return None
    ids, found = primitive["extensions"][DRACO]["attributes"], {"indices": mesh["indices"].reshape(-1, 1)}
    for name in ids:
        accessor, values = document.item("accessors", primitive["attributes"][name]), mesh.get(str(ids[name]))
        dtype, width = COMPONENTS.get(accessor.get("componentType", 0)), WIDTHS.get(accessor.get("type", ""))
        if dtype is None or values is None or values.shape[1:] != (width,) or len(values) > accessor.get("count", 0):
            return None
        if dtype.kind != "f" and accessor.get("normalized") is True:
            found[name] = np.maximum(values / float(np.iinfo(dtype).max), -1.0)
        elif name.startswith("WEIGHTS") or np.isfinite(values).all():
            found[name] = values.astype(dtype)
        else:
            return None
    return found


def _stream(document: GltfDocument, primitive: dict[str, Any]) -> bytes | None:
    """The packed bytes of a primitive; None where they are not there or claim more than its accessors declare."""
    try:
        note, declared = primitive["extensions"][DRACO], primitive["attributes"]
        corners = document.item("accessors", primitive["indices"])["count"]
        for accessor in (document.item("accessors", declared[name]) for name in note["attributes"]):
            if not 0 < accessor["count"] <= MAX_VERTICES:
                return None
        data = bytes(document.view(note["bufferView"])[0])
        vertices, faces = _claimed(data)
    except (FileFormatError, LookupError, TypeError, ValueError):
        return None
    return data if 0 < 3 * faces <= corners <= 3 * MAX_VERTICES and vertices <= corners else None


@lru_cache(maxsize=2)
def _decoded(streams: tuple[bytes, ...]) -> dict[bytes, dict[str, npt.NDArray[Any]]]:
    """Arrays of each stream by the number of their attribute, and `indices`; a stream that fails is left out.

    All streams of a file go to one process of their own, which has a time limit: some damaged streams keep Draco
    busy for longer than half a minute.
    """
    given, found = io.BytesIO(), {}
    np.savez(given, *(np.frombuffer(s, dtype=np.uint8) for s in streams))
    try:
        command = [sys.executable, "-P", "-c", CHILD, str(MAX_BYTES)]
        done = subprocess.run(command, input=given.getvalue(), capture_output=True, timeout=SECONDS, check=True)
        with np.load(io.BytesIO(done.stdout), allow_pickle=False) as arrays:
            for key in arrays.files:
                stream, name = key.split("/")
                found.setdefault(streams[int(stream)], {})[name] = arrays[key]
    except (OSError, subprocess.SubprocessError, LookupError, ValueError, zipfile.BadZipFile):
        return {}
    return found


def _claimed(data: bytes) -> tuple[int, int]:
    """How many vertices and triangles a stream says that it holds.

    Raises:
        ValueError: if it is no triangle mesh of version 2.2.
        IndexError: if it is cut off.
    """
    method = data[8]
    if not data.startswith(HEADER) or method not in (0, 1):
        raise ValueError
    first, place = _number(data, 11 + method)  # after the flags; edgebreaker (1) has a byte for its kind
    second, _ = _number(data, place)
    return (second, first) if method == 0 else (first, second)


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, and where the next begins."""
    found = shift = 0
    while True:
        found |= (data[place] & 127) << shift
        shift, place = shift + 7, place + 1
        if data[place - 1] < 128:
            return found, place
        if shift > 28:
            raise ValueError
