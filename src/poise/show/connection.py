"""A connection of the live server that answers what is no request, and sends a flood of frames away.

`websockets` closes such connections without a word and logs a traceback of its own. Imported at use: it needs the
extra "studio".
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.protocol import Event

from poise.show.protocol import BURST, RATE, Meter

MAX_HEAD = 65536
"""Longest head of a request that is looked at here [bytes]; the library refuses what is longer."""

_HEAD = re.compile(rb"GET [\x21-\x7e]+ HTTP/1\.1\r\n([!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e]*\r\n)*\r\n")
_METHOD = re.compile(rb"[A-Z]{3,10} [\x21-\x7e]+ HTTP/1\.[01]\r\n")


class Connection(ServerConnection):
    """One connection, from its first byte."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head: bytearray | None = bytearray()
        # twice what messages are allowed: each may come in two frames
        self._frames = Meter(2.0 * RATE, 2.0 * BURST)

    def data_received(self, data: bytes) -> None:
        """Pass a whole head of a request on, and everything after it; answer what is none."""
        if self._head is None:
            return super().data_received(data)
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end < 0 and len(self._head) < MAX_HEAD and b"GET ".startswith(self._head[:4]):
            return None  # more of it is to come; if none does, the opening times out
        head, self._head = bytes(self._head), None
        is_whole = end >= 0 and _HEAD.fullmatch(head[: end + 4]) is not None
        if is_whole or (len(head) >= MAX_HEAD and head.startswith(b"GET ")):
            return super().data_received(head)
        other = _METHOD.match(head) is not None and not head.startswith(b"GET ")
        self._answer(HTTPStatus.METHOD_NOT_ALLOWED if other else HTTPStatus.BAD_REQUEST)
        return None

    def process_event(self, event: Event) -> None:
        """Count frames of every kind, pings and empty parts among them, which are never given to a reader."""
        if self.protocol.handshake_exc is None and self.state.name == "OPEN" and not self._frames.take():
            self.protocol.fail(1008, "too many frames")
            self.send_data()
            return
        super().process_event(event)

    def _answer(self, status: HTTPStatus) -> None:
        body = f"{status.phrase}. This server answers GET alone.\n".encode()
        allow = "Allow: GET\r\n" if status is HTTPStatus.METHOD_NOT_ALLOWED else ""
        first = f"HTTP/1.1 {status.value} {status.phrase}\r\n{allow}"
        self.transport.write(f"{first}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()
