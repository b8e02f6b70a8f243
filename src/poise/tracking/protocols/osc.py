"""Open Sound Control 1.0 as VMC needs it: bundles and messages of plain arguments, read and written.

Source: the OSC 1.0 specification. Fewer lines than fitting a library to hostile packets would take.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from poise.tracking.protocols.pose import PacketError

BUNDLE = b"#bundle\0"
DEEPEST = 4
"""Bundles within bundles that are read."""
MOST_MESSAGES = 2048
"""Messages of one packet that are read."""

Argument = int | float | str | bytes | bool | None
_FIXED = {"i": (">i", 4), "f": (">f", 4), "h": (">q", 8), "d": (">d", 8), "t": (">Q", 8), "r": (">I", 4)}
_CONSTANT: dict[str, bool | None] = {"T": True, "F": False, "N": None, "I": None}


def read(packet: bytes) -> list[tuple[str, list[Argument]]]:
    """Addresses and arguments of all messages of a packet.

    Raises:
        PacketError: if it is malformed.
    """
    found: list[tuple[str, list[Argument]]] = []
    try:
        _read(packet, 0, found)
    except (struct.error, UnicodeDecodeError, IndexError, ValueError) as error:
        raise error if isinstance(error, PacketError) else PacketError("The packet is no OSC.") from None
    return found


def _read(part: bytes, depth: int, found: list[tuple[str, list[Argument]]]) -> None:
    if not part.startswith(BUNDLE):
        if len(found) >= MOST_MESSAGES:
            raise PacketError(f"More than {MOST_MESSAGES} messages in a packet.")
        found.append(_message(part))
        return
    if depth >= DEEPEST:
        raise PacketError(f"Bundles more than {DEEPEST} deep.")
    at = 16
    while at < len(part):
        size = int.from_bytes(part[at : at + 4], "big")
        if size == 0 or size > len(part) - at - 4:
            raise PacketError("A part of a bundle is longer than the packet, or empty.")
        _read(part[at + 4 : at + 4 + size], depth + 1, found)
        at += 4 + size


def _message(part: bytes) -> tuple[str, list[Argument]]:
    address, at = _text(part, 0)
    if not address.startswith("/"):
        raise PacketError("A message has no address.")
    if at >= len(part):
        return address, []
    kinds, at = _text(part, at)
    values: list[Argument] = []
    for kind in kinds[1:]:
        if kind in _FIXED:
            form, size = _FIXED[kind]
            values.append(struct.unpack_from(form, part, at)[0])
            at += size
        elif kind in "sS":
            text, at = _text(part, at)
            values.append(text)
        elif kind == "b":
            size = struct.unpack_from(">i", part, at)[0]
            if not 0 <= size <= len(part) - at - 4:
                raise PacketError("A blob is longer than the packet.")
            values.append(part[at + 4 : at + 4 + size])
            at += 4 + (size + 3) // 4 * 4
        elif kind in _CONSTANT:
            values.append(_CONSTANT[kind])
        elif kind not in "[]":
            raise PacketError(f"There is no argument of kind {kind!r}.")
    return address, values


def _text(part: bytes, at: int) -> tuple[str, int]:
    end = part.index(0, at)
    return part[at:end].decode("utf-8"), end // 4 * 4 + 4


def message(address: str, *values: float | str) -> bytes:
    """One message of integers, floats and texts."""
    kinds = "".join("s" if isinstance(v, str) else "i" if isinstance(v, int) else "f" for v in values)
    out = _padded(address) + _padded("," + kinds)
    for kind, value in zip(kinds, values):
        out += _padded(str(value)) if kind == "s" else struct.pack(_FIXED[kind][0], value)
    return out


def bundles(messages: Sequence[bytes], most: int = 1400) -> list[bytes]:
    """Messages as bundles of up to `most` bytes each, to be obeyed at once."""
    head = BUNDLE + bytes(7) + b"\1"
    out: list[bytes] = []
    now = head
    for item in messages:
        if len(now) > len(head) and len(now) + 4 + len(item) > most:
            out.append(now)
            now = head
        now += struct.pack(">i", len(item)) + item
    return [*out, now] if len(now) > len(head) else out


def _padded(text: str) -> bytes:
    data = text.encode()
    return data + bytes(4 - len(data) % 4)
