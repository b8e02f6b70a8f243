"""glTF data packed by meshoptimizer (EXT_meshopt_compression), unpacked: vertices and keys, triangles, indices.

Written from the bit streams that the extension's text describes; names in brackets are the text's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")

Bytes = npt.NDArray[np.uint8]

_ATTRIBUTES, _TRIANGLES, _INDICES = 0xA0, 0xE1, 0xD1
_GROUP = 16
_TAIL = 32
"""Least bytes that end a stream of attributes; the first element is at their end."""


def decoded(buffers: Sequence[bytes], note: dict[str, Any], most: int) -> bytes:
    """The bytes of a buffer view, at most so many, from what the extension says of it.

    Raises:
        ValueError, LookupError, TypeError: if a stream is cut off, damaged, or of a version that is not read.
    """
    start, length = note.get("byteOffset", 0), note["byteLength"]
    count, stride, mode, how = note["count"], note["byteStride"], note["mode"], note.get("filter", "NONE")
    if any(type(n) is not int or n < 0 for n in (start, length, count, stride, note["buffer"])):
        raise ValueError("its offset, length, count or stride is not a number")
    source = buffers[note["buffer"]][start : start + length]
    if len(source) < length or not 0 < stride <= 256 or count * stride > most:
        raise ValueError("it lies outside its buffer or is too large")
    if mode == "ATTRIBUTES":
        if stride % 4 or count > 64 * _GROUP * length:
            raise ValueError(f"stride {stride}, count {count}")
        return FILTERS[how](_attributes(source, count, stride)).tobytes()
    if stride not in (2, 4) or count > 4 * length:
        raise ValueError(f"stride {stride}, count {count}")
    found = {"TRIANGLES": _triangles, "INDICES": _indices}[mode](source, count)
    return np.array(found, dtype=np.int64).astype(f"<u{stride}").tobytes()


def _attributes(source: bytes, count: int, stride: int) -> Bytes:
    """Elements of a stream of attributes, shape (count, stride): per byte, sums of small differences."""
    _require(source, _ATTRIBUTES)
    data = np.frombuffer(source, dtype=np.uint8)
    out = np.empty((count, stride), dtype=np.uint8)
    last = data[len(data) - stride :].copy()
    ends = len(data) - max(stride, _TAIL)
    most = min((8192 // stride) & ~(_GROUP - 1), 256)
    place = 1
    for begin in range(0, count, most):
        size = min(most, count - begin)
        groups = -(-size // _GROUP)
        for k in range(stride):
            head = data[place : place + -(-groups // 4)]
            place += len(head)
            values = np.zeros((groups, _GROUP), dtype=np.uint8)
            for g in range(groups):
                kind = (int(head[g // 4]) >> (g % 4 * 2)) & 3
                if kind:
                    values[g], place = _group(data, place, kind)
            if place > ends:
                raise ValueError("it is cut off")
            signed = (values >> 1) ^ (0 - (values & 1)).astype(np.uint8)
            own = np.cumsum(signed.reshape(-1)[:size], dtype=np.uint8) + last[k]
            out[begin : begin + size, k] = own
            last[k] = own[-1]
    return out


def _group(data: Bytes, place: int, kind: int) -> tuple[Bytes, int]:
    """Sixteen differences of 2, 4 or 8 bits, and where the next begin; the largest stands for a byte after them."""
    if kind == 3:
        return data[place : place + _GROUP], place + _GROUP
    bits = 2 * kind
    size = _GROUP * bits // 8
    packed = data[place : place + size]
    shifts = np.arange(8 - bits, -1, -bits, dtype=np.uint8)
    most = np.uint8((1 << bits) - 1)
    values = ((packed[:, None] >> shifts) & most).reshape(-1)
    large = np.flatnonzero(values == most)
    place += size
    values[large] = data[place : place + len(large)]
    return values, place + len(large)


class _Words:
    """Whole numbers of seven bits a byte, one after the other."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place

    def byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def number(self) -> int:
        found = shift = 0
        while shift < 35:
            byte = self.byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        return found

    def after(self, last: int) -> int:
        """A number told by its difference to the last one."""
        return (last + _signed(self.number())) & 0xFFFFFFFF


def _signed(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def _indices(source: bytes, count: int) -> list[int]:
    _require(source, _INDICES)
    stream, last, out = _Words(source, 1), [0, 0], []
    for _ in range(count):
        value = stream.number()
        which = value & 1
        last[which] = (last[which] + _signed(value >> 1)) & 0xFFFFFFFF
        out.append(last[which])
    return out


def _triangles(source: bytes, count: int) -> list[int]:
    """Corners of triangles, told by edges and corners that were there shortly before."""
    _require(source, _TRIANGLES)
    if count % 3:
        raise ValueError(f"count {count}")
    stream, table = _Words(source, 1 + count // 3), source[-16:]
    edges, corners, out = [(0, 0)] * 16, [0] * 16, list[int]()
    new = last = 0

    def corner(code: int) -> tuple[int, bool]:
        nonlocal new
        if code == 0:
            new += 1
            return new - 1, True
        return corners[-code], False

    for code in source[1 : 1 + count // 3]:
        fresh: list[int] = []
        if code < 0xF0:
            a, b = edges[-1 - (code >> 4)]
            low = code & 15
            if low < 13:
                c, is_new = corner(0) if low == 0 else (corners[-1 - low], False)
            else:
                last = stream.after(last) if low == 15 else last + (low - (low ^ 3))
                c, is_new = last, True
            fresh += [c] if is_new else []
            edges += [(c, b), (a, c)]
        else:
            packed = table[code & 15] if code < 0xFE else stream.byte()
            if code >= 0xFE and packed == 0:
                new = 0
            codes = (15 if code == 0xFF else 0, packed >> 4, packed & 15)
            own = [(0, True) if n == 15 and code >= 0xFE else corner(n) for n in codes]
            for k, n in enumerate(codes):
                if n == 15 and code >= 0xFE:
                    last = stream.after(last)
                    own[k] = (last, True)
            (a, _), (b, _), (c, _) = own
            fresh += [value for value, is_new in own if is_new]
            edges += [(b, a), (c, b), (a, c)]
        out += (a, b, c)
        corners += fresh
        del edges[:-16], corners[:-16]
    return out


def _require(source: bytes, head: int) -> None:
    if not source or source[0] != head:
        raise ValueError("its version is not known")


def _octahedral(values: Bytes) -> npt.NDArray[Any]:
    """Directions on an octahedron, back on the sphere."""
    whole = values.view("<i1" if values.shape[1] == 4 else "<i2")
    x, y, one = (whole[:, k].astype(np.float64) for k in range(3))
    z = one - np.abs(x) - np.abs(y)
    below = np.minimum(z, 0.0)
    v = np.stack([x + np.where(x >= 0.0, below, -below), y + np.where(y >= 0.0, below, -below), z], axis=1)
    v *= np.iinfo(whole.dtype).max / np.maximum(np.linalg.norm(v, axis=1), 1e-30)[:, None]
    out = whole.copy()
    out[:, :3] = np.rint(v)
    return out


def _quaternion(values: Bytes) -> npt.NDArray[Any]:
    """Three components of a unit quaternion; the fourth, the largest, follows from them."""
    whole = values.view("<i2")
    scale = np.sqrt(0.5) / (whole[:, 3] | 3)
    three = whole[:, :3] * scale[:, None]
    rest = np.sqrt(np.maximum(0.0, 1.0 - np.sum(three**2, axis=1)))
    largest = whole[:, 3] & 3
    out = np.empty_like(whole)
    for k, part in enumerate((rest, *three.T)):
        out[np.arange(len(out)), (largest + k) % 4] = np.rint(part * 32767.0)
    return out


def _exponential(values: Bytes) -> npt.NDArray[Any]:
    """Numbers as 24 bits times a power of two."""
    whole = values.view("<i4")
    with np.errstate(over="ignore"):  # the accessor refuses what is not finite
        return np.ldexp(((whole << 8) >> 8).astype(np.float64), whole >> 24).astype("<f4")


FILTERS: dict[str, Callable[[Bytes], npt.NDArray[Any]]] = {
    "NONE": lambda values: values,
    "OCTAHEDRAL": _octahedral,
    "QUATERNION": _quaternion,
    "EXPONENTIAL": _exponential,
}
