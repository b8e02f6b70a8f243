"""Where packets come from and go to: UDP, and TCP to a sender that is a server. Loopback unless said otherwise."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import sys
import time

from poise.core.errors import InvalidValue
from poise.tracking.protocols.pose import Decoder

LARGEST = 65_535
"""Largest datagram [bytes]."""
MOST_WAITING = 1_000_000
"""Bytes of a TCP stream that may wait for the end of a packet."""
MOST_AT_ONCE = 256
"""Packets that are read in one go; the others wait for the next step."""
SILENT = 1.0
"""A sender that has been silent for so long may be followed by another [s]."""
_STAMP = 35 if sys.platform == "linux" else None
"""SO_TIMESTAMPNS: the kernel says when a datagram came, which does not depend on when it is read."""
AGAIN = 1.0
"""A TCP connection that failed is tried again after so long [s]."""


class UdpReceiver:
    """Datagrams of one sender at a time; others are counted until it falls silent.

    Args:
        host, port: What is listened to; a port of 0 takes a free one.

    Raises:
        InvalidValue: if the address is taken or none of this machine's.
    """

    def __init__(self, host: str, port: int) -> None:
        self.others = 0
        self.sender: tuple[str, int] | None = None
        self._heard = 0.0
        self.has_new_sender = False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            with contextlib.suppress(OSError):
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
                if _STAMP is not None:
                    self.socket.setsockopt(socket.SOL_SOCKET, _STAMP, 1)
            self.socket.bind((host, port))
        except (OSError, OverflowError) as error:
            self.socket.close()
            raise InvalidValue(f"Cannot listen to {host}:{port}: {error}. Give another port.") from None
        self.socket.setblocking(False)
        self.host, self.port = self.socket.getsockname()

    def wait(self, seconds: float) -> None:
        """Until something comes, at most so long [s]."""
        select.select([self.socket], [], [], max(0.0, seconds))

    def take(self) -> list[tuple[float, bytes]]:
        """What has come: time of arrival [s] and packet."""
        found: list[tuple[float, bytes]] = []
        for _ in range(MOST_AT_ONCE):
            try:
                if _STAMP is None:
                    packet, sender = self.socket.recvfrom(LARGEST)
                    now = time.monotonic()
                else:
                    packet, told, _, sender = self.socket.recvmsg(LARGEST, 64)
                    now = time.monotonic() - _age(told)
            except BlockingIOError:
                break
            except OSError:  # a reply of the network to something sent; nothing was received
                continue
            if sender != self.sender:
                if self.sender is not None and now - self._heard < SILENT:
                    self.others += 1
                    continue
                self.has_new_sender = self.sender is not None
                self.sender = sender
            self._heard = now
            found.append((now, packet))
        return found

    def close(self) -> None:
        self.socket.close()


def _age(told: list[tuple[int, int, bytes]]) -> float:
    """How long a datagram has waited to be read, by the kernel's stamp [s]; 0 if it says nothing that makes sense."""
    for _, kind, data in told:
        if kind == _STAMP and len(data) >= 16:
            seconds, rest = struct.unpack_from("=qq", data)
            age = time.time() - seconds - 1e-9 * rest
            return age if 0.0 <= age < 1.0 else 0.0
    return 0.0


class TcpReceiver:
    """Packets of a server that sends a stream of them; a lost connection is tried again.

    Args:
        host, port: Of the server.
        decoder: Cuts the stream.
    """

    def __init__(self, host: str, port: int, decoder: Decoder) -> None:
        self.host, self.port, self._decoder = host, port, decoder
        self.others, self.reconnects, self.has_new_sender = 0, 0, False
        self._socket: socket.socket | None = None
        self._is_open, self._tried = False, -AGAIN
        self._received = bytearray()

    def wait(self, seconds: float) -> None:
        """Until something comes, at most so long [s]."""
        self._connect()
        if self._socket is None:
            time.sleep(max(0.0, min(seconds, AGAIN)))
            return
        writing = [] if self._is_open else [self._socket]
        select.select([self._socket], writing, [], max(0.0, seconds))

    def take(self) -> list[tuple[float, bytes]]:
        """What has come: time of arrival [s] and packet."""
        self._connect()
        found: list[tuple[float, bytes]] = []
        for _ in range(64):
            if self._socket is None:
                break
            try:
                data = self._socket.recv(LARGEST)
            except BlockingIOError:
                break
            except OSError as error:
                if not self._is_open and error.errno in (107, 57, 10057):  # not connected yet
                    break
                data = b""
            if not data:
                self._drop()
                break
            self._is_open = True
            self._received += data
            now = time.monotonic()
            found += [(now, packet) for packet in self._decoder.cut(self._received)]
            if len(self._received) > MOST_WAITING:
                self._received.clear()
                found.append((now, b""))  # counted as a malformed packet
        return found

    def _connect(self) -> None:
        now = time.monotonic()
        if self._socket is not None or now - self._tried < AGAIN:
            return
        self._tried = now
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setblocking(False)
        try:
            made.connect((self.host, self.port))
        except BlockingIOError:
            pass
        except OSError:
            made.close()
            return
        self._socket, self._is_open = made, False

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self.reconnects += self._is_open
        self._socket, self._is_open = None, False
        self._received.clear()

    def close(self) -> None:
        self._drop()


class UdpSender:
    """Datagrams to one address. A receiver that is not there is no error."""

    def __init__(self, host: str, port: int) -> None:
        try:
            self._to = (socket.gethostbyname(host), port)
        except OSError:
            raise InvalidValue(f"There is no machine called {host!r}.") from None
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.failed = 0

    def send(self, packets: list[bytes]) -> None:
        for packet in packets:
            try:
                self.socket.sendto(packet, self._to)
            except OSError:
                self.failed += 1

    def close(self) -> None:
        self.socket.close()
