"""The glTF 2.0 container: JSON, buffers and accessors, where no claimed size, offset or address is believed.

Source: Khronos glTF 2.0 specification, sections 3.6 (binary data) and 4 (GLB).
"""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from poise.core.errors import FileFormatError
from poise.io.files import file_size, parse_json, read_bytes
from poise.io.gltf_meshopt import MESHOPT, decoded

MAX_BYTES = 96_000_000
"""Largest file that is read, and largest sum of its buffers [bytes]."""
MAX_JSON = 64_000_000
"""Largest JSON text [bytes]."""
MAX_IMPLIED = 1_000_000
"""Most numbers of an accessor that states none and leaves them all zero."""

COMPONENTS = {
    5120: np.dtype("<i1"),
    5121: np.dtype("<u1"),
    5122: np.dtype("<i2"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_VIEW = {"bufferView": int, "byteOffset": int, "componentType": int}
FORM: Any = {
    "accessors": [
        {
            **_VIEW,
            "count": int,
            "type": str,
            "normalized": bool,
            "sparse": {"count": int, "indices": _VIEW, "values": _VIEW},
        }
    ],
    "animations": [
        {
            "channels": [{"sampler": int, "target": {"node": int, "path": str}}],
            "samplers": [{"input": int, "output": int, "interpolation": str}],
        }
    ],
    "asset": {"version": str},
    "buffers": [{"byteLength": int, "uri": str, "extensions": {}}],
    "bufferViews": [{"buffer": int, "byteOffset": int, "byteLength": int, "byteStride": int, "extensions": {}}],
    "images": [{"uri": str, "bufferView": int, "mimeType": str}],
    "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": int}}, "extensions": {}}],
    "meshes": [{"primitives": [{"attributes": {}, "indices": int, "material": int, "mode": int, "extensions": {}}]}],
    "nodes": [{"children": [int], "mesh": int, "skin": int, "extensions": {}}],
    "scenes": [{"nodes": [int]}],
    "skins": [{"joints": [int], "inverseBindMatrices": int}],
    "textures": [{"source": int, "extensions": {}}],
    "extensions": {},
}
"""Members of a glTF that are read, and what each must be: a kind, a list of one form, or an object of named forms."""

AGAIN = "The file is damaged or its exporter wrote it wrongly: export it again."


@dataclass(frozen=True)
class GltfDocument:
    """A glTF file as it stands.

    Attributes:
        path: The file.
        json: Its JSON, untouched.
        buffers: Bytes of each buffer, cut to what the JSON claims.
        raw: The file's own bytes; empty once anything in it was changed.
    """

    path: Path
    json: dict[str, Any]
    buffers: tuple[bytes, ...]
    raw: bytes

    @property
    def is_whole(self) -> bool:
        """True if no buffer lies in a file beside it."""
        return all(str(b.get("uri", "data:")).startswith("data:") for b in self.items("buffers"))

    def fault(self, problem: str, cure: str = AGAIN) -> FileFormatError:
        return FileFormatError(problem, path=self.path, cure=cure)

    def items(self, key: str) -> list[dict[str, Any]]:
        """One of the top-level lists of objects in `FORM`; empty if absent."""
        return self.json.get(key, [])

    def item(self, key: str, index: Any) -> dict[str, Any]:
        """One object of a top-level list.

        Raises:
            FileFormatError: if there is no such object.
        """
        found = self.items(key)
        if type(index) is not int or not 0 <= index < len(found):
            raise self.fault(f"It points to {key} {index!r}; there are {len(found)}.")
        return found[index]

    def view(self, index: Any) -> tuple[memoryview, int]:
        """Bytes of a buffer view, and its stride (0 if packed)."""
        view = self.item("bufferViews", index)
        buffer, start = view.get("buffer"), view.get("byteOffset", 0)
        length, stride = view.get("byteLength"), view.get("byteStride", 0)
        if type(buffer) is not int or not 0 <= buffer < len(self.buffers):
            raise self.fault(f"Buffer view {index} lies in buffer {buffer!r}; there are {len(self.buffers)}.")
        if any(type(n) is not int or n < 0 for n in (start, length, stride)) or stride > 252:
            raise self.fault(f"Buffer view {index} has offset {start!r}, length {length!r} and stride {stride!r}.")
        if start + length > len(self.buffers[buffer]):
            raise self.fault(
                f"Buffer view {index} ends at byte {start + length} of buffer {buffer}; that has "
                f"{len(self.buffers[buffer])}."
            )
        return memoryview(self.buffers[buffer])[start : start + length], stride

    def accessor(self, index: Any, *, finite: bool = True) -> npt.NDArray[Any]:
        """Numbers of an accessor, shape (count, width); normalized integers become their fractions.

        Args:
            index: Of the accessor.
            finite: False to be given what is not finite, where nothing depends on it but how a vertex is drawn.

        Raises:
            FileFormatError: if it claims what is not there, or holds something not finite that it must not.
        """
        accessor = self.item("accessors", index)
        dtype, width = COMPONENTS.get(accessor.get("componentType", 0)), WIDTHS.get(accessor.get("type", ""))
        count = accessor.get("count")
        if dtype is None or width is None or type(count) is not int or count < 1:
            raise self.fault(
                f"Accessor {index} has component type {accessor.get('componentType')!r}, type "
                f"{accessor.get('type')!r} and count {count!r}."
            )
        if "bufferView" in accessor:
            values = self._strided(f"Accessor {index}", accessor, dtype, width, count)
        elif count * width > MAX_IMPLIED:
            raise self.fault(f"Accessor {index} claims {count} elements and names no data.")
        else:
            values = np.zeros((count, width), dtype)
        if "sparse" in accessor:
            values = self._with_sparse(index, accessor["sparse"], values)
        if values.dtype.kind == "f":
            if finite and not np.isfinite(values).all():
                raise self.fault(f"Accessor {index} holds a value that is not finite.", "Mend it at its source.")
        elif accessor.get("normalized") is True:
            values = np.maximum(values / float(np.iinfo(dtype).max), -1.0)
        return values

    def _strided(
        self, what: str, part: dict[str, Any], dtype: np.dtype[Any], width: int, count: int
    ) -> npt.NDArray[Any]:
        data, stride = self.view(part.get("bufferView"))
        start = part.get("byteOffset", 0)
        step = stride or width * dtype.itemsize
        if type(start) is not int or start < 0 or step < width * dtype.itemsize:
            raise self.fault(f"{what} has offset {start!r} and stride {stride}.")
        end = start + (count - 1) * step + width * dtype.itemsize
        if end > len(data):
            raise self.fault(f"{what} claims {count} elements up to byte {end}; its view has {len(data)} bytes.")
        return np.ndarray((count, width), dtype, data, start, (step, dtype.itemsize)).copy()

    def _with_sparse(self, index: Any, sparse: Any, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        try:
            count, at, new = sparse["count"], sparse["indices"], sparse["values"]
            dtype = COMPONENTS[at["componentType"]]
            if type(count) is not int or not 0 < count <= len(values) or dtype.kind != "u":
                raise KeyError
        except (KeyError, TypeError):
            raise self.fault(f"The sparse part of accessor {index} is not complete.") from None
        rows = self._strided(f"The sparse part of accessor {index}", at, dtype, 1, count)[:, 0].astype(np.int64)
        if rows.max() >= len(values):
            raise self.fault(f"The sparse part of accessor {index} changes element {rows.max()} of {len(values)}.")
        values[rows] = self._strided(f"The sparse part of accessor {index}", new, values.dtype, values.shape[1], count)
        return values

    def image(self, index: Any) -> tuple[bytes, str]:
        """Bytes of an image and its MIME type."""
        image = self.item("images", index)
        if "bufferView" in image:
            return bytes(self.view(image["bufferView"])[0]), str(image.get("mimeType", ""))
        uri = image.get("uri")
        if not isinstance(uri, str):
            raise self.fault(f"Image {index} names no data.")
        kind = uri[5 : uri.index(";")] if uri.startswith("data:") and ";" in uri[:64] else ""
        suffix = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}.get(
            Path(unquote(uri[-8:])).suffix.lower()
        )
        return _from_uri(self.path, uri, None), str(image.get("mimeType", "")) or kind or suffix or ""


def is_glb(head: bytes) -> bool:
    """True if a file's first bytes are those of a GLB container."""
    return head[:4] == b"glTF"


def open_gltf(path: Path, last: GltfDocument | None = None) -> GltfDocument:
    """Open a .glb or .gltf file with its buffers.

    Args:
        path: The file.
        last: What was opened before; given back if it is the same file, whole in itself, with the same bytes.

    Raises:
        FileFormatError: if it is cut off, claims more than is there, or reaches outside its folder.
    """
    raw = read_bytes(path, limit=MAX_BYTES)
    if last is not None and last.path == path and last.raw == raw and last.is_whole:
        return last
    text, binary = _chunks(path, raw) if is_glb(raw) else (raw, None)
    content = _json(path, text)
    document = GltfDocument(path, content, (), raw)
    if wrong := _misshapen(content, FORM, ""):
        raise document.fault(wrong)
    version = content.get("asset", {}).get("version")
    if version is None or not version.startswith("2."):
        raise document.fault(f"glTF version {version!r} is not read; 2.0 is.", "Export it as glTF 2.0.")
    buffers: list[bytes] = []
    for index, buffer in enumerate(document.items("buffers")):
        length = buffer.get("byteLength")
        if type(length) is not int or length < 0 or sum(map(len, buffers)) + length > MAX_BYTES:
            raise document.fault(f"Buffer {index} claims {length!r} bytes; at most {MAX_BYTES} are read.")
        if "uri" in buffer:
            data = memoryview(_from_uri(path, buffer["uri"], length))
        elif index == 0 and binary is not None:
            data = binary
        elif any(name in MESHOPT for name in buffer.get("extensions", {})):
            buffers.append(b"")  # what lies in it is packed elsewhere
            continue
        else:
            raise document.fault(
                f"Buffer {index} names no data.", "Keep the .bin file beside the .gltf, or export a .glb."
            )
        if len(data) < length:
            raise document.fault(f"Buffer {index} claims {length} bytes and has {len(data)}.")
        buffers.append(bytes(data[:length]))
    return _unpacked(GltfDocument(path, content, tuple(buffers), raw))


def _unpacked(file: GltfDocument) -> GltfDocument:
    """The same document without meshopt compression; itself if nothing is packed.

    Raises:
        FileFormatError: if packed data are damaged or of a version that is not read.
    """
    views = list(file.items("bufferViews"))
    data = bytearray()
    for k, view in enumerate(views):
        extensions = view.get("extensions", {})
        note = next((extensions[name] for name in MESHOPT if name in extensions), None)
        if note is None:
            continue
        try:
            values = decoded(file.buffers, note, MAX_BYTES)
        except (LookupError, TypeError, ValueError) as error:
            problem = f"Buffer view {k} is packed with meshopt compression and cannot be unpacked ({error})."
            raise file.fault(problem, "Export it again without compression.") from None
        data += bytes(-len(data) % 8)
        if len(data) + len(values) > MAX_BYTES:
            raise file.fault(f"Its packed data unpack to more than {MAX_BYTES} bytes.")
        views[k] = {n: v for n, v in view.items() if n != "extensions"} | {
            "buffer": len(file.buffers),
            "byteOffset": len(data),
            "byteLength": len(values),
        }
        data += values
    if not data:
        return file
    content = file.json | {"bufferViews": views}
    content["buffers"] = [{"byteLength": len(b)} for b in (*file.buffers, data)]
    for key in ("extensionsUsed", "extensionsRequired"):
        names = [n for n in content.pop(key, []) if n not in MESHOPT]
        content |= {key: names} if names else {}
    return GltfDocument(file.path, content, (*file.buffers, bytes(data)), b"")


def _misshapen(value: Any, form: Any, where: str) -> str:
    """A sentence on the first member of a JSON value that is not of its form; empty if there is none."""
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return f"{where} is not an object."
        parts = ((value[k], part, f"{where}.{k}".lstrip(".")) for k, part in form.items() if k in value)
    elif isinstance(form, list):
        if not isinstance(value, list) or (isinstance(form[0], dict) and not all(isinstance(v, dict) for v in value)):
            return f"{where!r} is not a list{' of objects' if isinstance(form[0], dict) else ''}."
        parts = ((v, form[0], f"{where}[{i}]") for i, v in enumerate(value))
    else:
        return "" if type(value) is form else f"{where} is {repr(value)[:60]}, which is not {_KINDS[form]}."
    return next((wrong for v, part, at in parts if (wrong := _misshapen(v, part, at))), "")


_KINDS = {int: "a whole number", str: "text", bool: "true or false"}


def _chunks(path: Path, raw: bytes) -> tuple[bytes, memoryview | None]:
    """The JSON and the binary chunk of a GLB."""
    if len(raw) < 20:
        raise FileFormatError("The GLB header is cut off.", path=path, cure=AGAIN)
    version, length = struct.unpack_from("<II", raw, 4)
    if version != 2:
        raise FileFormatError(f"GLB version {version} is not read; 2 is.", path=path, cure="Export it as glTF 2.0.")
    if length > len(raw):
        raise FileFormatError(f"The GLB claims {length} bytes and has {len(raw)}.", path=path, cure=AGAIN)
    found: list[tuple[bytes, memoryview]] = []
    at = 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<I4s", raw, at)
        if at + 8 + size > length:
            raise FileFormatError(
                f"A chunk at byte {at} claims {size} bytes; {length - at - 8} are left.", path=path, cure=AGAIN
            )
        found.append((kind, memoryview(raw)[at + 8 : at + 8 + size]))
        at += 8 + size
    if not found or found[0][0] != b"JSON":
        raise FileFormatError("The GLB does not begin with its JSON.", path=path, cure=AGAIN)
    binary = found[1][1] if len(found) > 1 and found[1][0] == b"BIN\0" else None
    return bytes(found[0][1]), binary


def _json(path: Path, text: bytes) -> dict[str, Any]:
    if len(text) > MAX_JSON:
        raise FileFormatError(
            f"Its JSON has {len(text)} bytes; at most {MAX_JSON} are read.", path=path, cure="Export a .glb."
        )
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError("Its JSON is not UTF-8 text.", path=path, cure=AGAIN) from None
    content = parse_json(path, decoded)
    if not isinstance(content, dict):
        raise FileFormatError("This JSON is not glTF: it is not an object.", path=path, cure="Check the file.")
    return content


def _from_uri(path: Path, uri: Any, length: int | None) -> bytes:
    """Bytes of a data URI, or of a file inside the glTF's own folder."""
    if not isinstance(uri, str):
        raise FileFormatError("A URI is not text.", path=path, cure=AGAIN)
    if uri.startswith("data:"):
        head, comma, body = uri.partition(",")
        if not comma or not head.endswith(";base64"):
            raise FileFormatError("A data URI is not base64.", path=path, text=uri[:60], cure="Export a .glb.")
        try:
            return base64.b64decode(body, validate=True)
        except (binascii.Error, ValueError):
            raise FileFormatError("A data URI is damaged.", path=path, text=uri[:60], cure=AGAIN) from None
    folder = path.parent.resolve()
    try:
        target = (folder / unquote(uri)).resolve()
        is_inside = "\0" not in uri and ":" not in uri and target.is_relative_to(folder)
    except (OSError, ValueError):
        target, is_inside = folder, False
    if not is_inside:
        raise FileFormatError(
            "It points to data outside its own folder; Poise neither follows that nor opens a network address.",
            path=path,
            text=uri[:120],
            cure="Put the data beside the file, or export a .glb.",
        )
    try:
        is_there = target.is_file()
    except OSError:  # a name too long, or a folder that may not be entered
        is_there = False
    if not is_there:
        raise FileFormatError(
            f"Its data file {unquote(uri)[:120]!r} is not there.",
            path=path,
            cure="Keep it beside the .gltf, or export a .glb.",
        )
    if length is not None and file_size(target) < length:
        raise FileFormatError(
            f"Its data file {unquote(uri)!r} has {file_size(target)} bytes; {length} are claimed.",
            path=path,
            cure=AGAIN,
        )
    return read_bytes(target, limit=MAX_BYTES)
