"""A live actor as a source of poses: an address, a protocol, a jitter buffer, and what was counted.

Packets come by UDP, or by TCP from a sender that is a server; from loopback unless another address is given.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from poise.core.errors import InvalidValue, UnknownName
from poise.tracking.protocols import mocopi, noitom, own, rokoko, vmc, xsens
from poise.tracking.protocols.playout import Played, Playout
from poise.tracking.protocols.pose import Decoder, Encoder, LivePose, PacketError

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
                    packet, ancillary, _, sender = self.socket.recvmsg(LARGEST, 64)
                    now = time.monotonic() - _age(ancillary)
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


def _age(ancillary: list[tuple[int, int, bytes]]) -> float:
    """How long a datagram has waited to be read, by the kernel's stamp [s]; 0 if it says nothing that makes sense."""
    for _, kind, data in ancillary:
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


LOOPBACK = "127.0.0.1"
REASONS = 5
"""Reasons for which packets were refused that the report names."""


@dataclass(frozen=True)
class Protocol:
    """What can be listened to, and maybe sent.

    Attributes:
        name: As an address begins.
        title: For people.
        port: By custom.
        reader: Makes a decoder.
        writer: Makes an encoder, where poses can be sent.
        is_served: The sender may also be a TCP server.
    """

    name: str
    title: str
    port: int
    reader: Callable[[], Decoder]
    writer: Callable[[], Encoder] | None = None
    is_served: bool = False


PROTOCOLS = {
    p.name: p
    for p in (
        Protocol("poise", "Poise JSON", own.PORT, own.Reader, own.Writer),
        Protocol("vmc", "VMC (OSC)", vmc.PORT, vmc.Reader, vmc.Writer),
        Protocol("bvh", "Axis Neuron BVH", noitom.PORT, noitom.Reader, is_served=True),
        Protocol("axis", "Axis Studio BVH", noitom.PORT, noitom.StudioReader, is_served=True),
        Protocol("xsens", "Xsens MVN", xsens.PORT, xsens.Reader),
        Protocol("mocopi", "mocopi", mocopi.PORT, mocopi.Reader),
        Protocol("rokoko", "Rokoko JSON", rokoko.PORT, rokoko.Reader),
        Protocol("unreal", "Unreal JSON Live Link", own.UNREAL_PORT, own.UnrealReader),
    )
}


@dataclass(frozen=True)
class Address:
    """Where an actor is heard or a character is sent: `PROTOCOL[:tcp][:HOST][:PORT]`."""

    protocol: Protocol
    host: str
    port: int
    is_tcp: bool = False


def parse_address(text: str) -> Address:
    """An address as a user types it: "vmc", "vmc:39539", "vmc:0.0.0.0:39539", "bvh:tcp:127.0.0.1:7001".

    Raises:
        UnknownName: if there is no such protocol.
        InvalidValue: if the rest is not a host and port.
    """
    name, *rest = text.strip().split(":")
    protocol = PROTOCOLS.get(name.lower())
    if protocol is None:
        raise UnknownName(f"No live protocol {name!r}. Protocols: {', '.join(PROTOCOLS)}.")
    is_tcp = bool(rest) and rest[0].lower() == "tcp"
    rest = rest[1:] if is_tcp else rest
    if is_tcp and not protocol.is_served:
        raise InvalidValue(f"{protocol.title} comes as datagrams (UDP) alone; leave tcp out of {text!r}.")
    port = str(protocol.port)
    if rest and rest[-1].isdecimal() and len(rest) <= 2:
        port = rest.pop()
    host = rest[0] if rest else LOOPBACK
    if len(rest) > 1 or not host or not 0 <= int(port) <= 65535:
        raise InvalidValue(f"{text!r} is not an address. Write {name}:PORT or {name}:HOST:PORT.")
    return Address(protocol, host, int(port), is_tcp)


class LiveSource:
    """Poses of a live actor, at an even pace.

    Args:
        address: Where the actor is heard, such as "vmc:39539".
        delay: Of the jitter buffer [s]; found if None.

    Attributes:
        playout: The jitter buffer.
        actor: Who is followed, by the sender's name.

    Example:
        >>> with LiveSource("vmc:39539") as source:
        ...     source.wait(1.0)
        ...     played = source.at(time.monotonic(), 1 / 120)
    """

    def __init__(self, address: str | Address, *, delay: float | None = None) -> None:
        self.address = parse_address(address) if isinstance(address, str) else address
        self._decoder = self.address.protocol.reader()
        self.receiver = (
            TcpReceiver(self.address.host, self.address.port, self._decoder)
            if self.address.is_tcp
            else UdpReceiver(self.address.host, self.address.port)
        )
        self.playout = Playout(delay=delay)
        self.actor: str | None = None
        self._skeleton: object = None
        self._heard = 0.0
        self.packets = self.bytes = self.malformed = self.other_actors = 0
        self.reasons: dict[str, int] = {}

    def __enter__(self) -> LiveSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self.receiver.close()

    def take(self) -> list[LivePose]:
        """Read what has come into the buffer; the poses of the followed actor, as they came."""
        found: list[LivePose] = []
        for arrival, packet in self.receiver.take():
            self.packets += 1
            self.bytes += len(packet)
            if self.receiver.has_new_sender:
                self.receiver.has_new_sender = False
                self._decoder = self.address.protocol.reader()
                self.actor = None
            try:
                poses = self._decoder.read(packet)
            except PacketError as error:
                self.malformed += 1
                if str(error) in self.reasons or len(self.reasons) < REASONS:
                    self.reasons[str(error)] = self.reasons.get(str(error), 0) + 1
                continue
            for pose in poses:
                if self._is_followed(pose, arrival):
                    self.playout.add(pose, arrival)
                    found.append(pose)
        return found

    def _is_followed(self, pose: LivePose, arrival: float) -> bool:
        """One actor is followed; another one when it has been silent."""
        if pose.actor != self.actor:
            if self.actor is not None and arrival - self._heard < SILENT:
                self.other_actors += 1
                return False
            self.actor = pose.actor
        self._heard = arrival
        if pose.skeleton is not self._skeleton:
            self._skeleton = pose.skeleton
            self.playout.counts.actors += 1
            self.playout.renew()
        return True

    def wait(self, until: float) -> None:
        """Read what comes until a time of the monotonic clock [s]."""
        while (left := until - time.monotonic()) > 0.0:
            self.receiver.wait(left)
            self.take()

    def at(self, now: float, dt: float) -> Played | None:
        """The pose that is due; see `Playout.at`."""
        return self.playout.at(now, dt)

    def report(self) -> dict[str, Any]:
        """What was counted."""
        return {
            "protocol": self.address.protocol.name,
            "host": self.address.host,
            "port": self.address.port,
            "actor": self.actor,
            "packets": self.packets,
            "bytes": self.bytes,
            "malformed": self.malformed,
            "malformed_reasons": dict(self.reasons),
            "other_senders": self.receiver.others,
            "other_actors": self.other_actors,
            **self.playout.report(),
        }


class LiveSink:
    """Where poses are sent.

    Args:
        address: Such as "vmc:127.0.0.1:39539".

    Raises:
        InvalidValue: if the protocol cannot be sent.
    """

    def __init__(self, address: str | Address) -> None:
        self.address = parse_address(address) if isinstance(address, str) else address
        if self.address.protocol.writer is None:
            can = ", ".join(p.name for p in PROTOCOLS.values() if p.writer)
            raise InvalidValue(f"Poise cannot send {self.address.protocol.title}. It sends: {can}.")
        self.encoder = self.address.protocol.writer()
        self._sender = UdpSender(self.address.host, self.address.port)
        self.packets = 0

    def send(self, pose: LivePose) -> None:
        """Send one pose."""
        packets = self.encoder.write(pose)
        self.packets += len(packets)
        self._sender.send(packets)

    def report(self) -> dict[str, Any]:
        return {
            "protocol": self.address.protocol.name,
            "host": self.address.host,
            "port": self.address.port,
            "packets": self.packets,
            "failed": self._sender.failed,
        }

    def close(self) -> None:
        self._sender.close()
