"""Xsens MVN network streamer: UDP, big-endian, segments with places and quaternions in the world, Z up.

Source: the public description of the protocol (MV0305P): header of 24 bytes, message 02 (quaternions) with items of 32
bytes. A pose may come in several datagrams; the top bit of their counter marks the last. Names that message 12 carries
are not read. In the T-pose all segments are turned by nothing.
"""

from __future__ import annotations

import struct

import numpy as np

from poise.core.typing import Array
from poise.tracking.protocols.pose import Decoder, LivePose, PacketError, Skeletons, from_world, numbers, turns

PORT = 9763
SEGMENTS = (
    ("Pelvis", -1),
    ("L5", 0),
    ("L3", 1),
    ("T12", 2),
    ("T8", 3),
    ("Neck", 4),
    ("Head", 5),
    ("RightShoulder", 4),
    ("RightUpperArm", 7),
    ("RightForearm", 8),
    ("RightHand", 9),
    ("LeftShoulder", 4),
    ("LeftUpperArm", 11),
    ("LeftForearm", 12),
    ("LeftHand", 13),
    ("RightUpperLeg", 0),
    ("RightLowerLeg", 15),
    ("RightFoot", 16),
    ("RightToe", 17),
    ("LeftUpperLeg", 0),
    ("LeftLowerLeg", 19),
    ("LeftFoot", 20),
    ("LeftToe", 21),
)
"""Segments by their id less one, and the segment each hangs on."""
_HEAD = struct.Struct(">6sIBBIBBBB2xH")
_ITEM = struct.Struct(">I7f")


class Reader(Decoder):
    """Reads message 02; others are passed over."""

    def __init__(self) -> None:
        self._skeletons = Skeletons()
        self._sample: dict[int, tuple[int, dict[int, tuple[float, ...]]]] = {}

    def read(self, packet: bytes) -> list[LivePose]:
        if len(packet) < _HEAD.size or not packet.startswith(b"MXTP"):
            raise PacketError("The packet does not begin with MXTP.")
        kind, sample, datagram, count, milliseconds, actor, *_ = _HEAD.unpack_from(packet)
        if kind != b"MXTP02":
            return []
        if len(packet) < _HEAD.size + count * _ITEM.size:
            raise PacketError("The packet is shorter than its items.")
        before = self._sample.get(actor)
        found = before[1] if before is not None and before[0] == sample else {}
        for k in range(count):
            segment, *values = _ITEM.unpack_from(packet, _HEAD.size + k * _ITEM.size)
            if 1 <= segment <= len(SEGMENTS):
                found[segment - 1] = tuple(values)
        self._sample = {actor: (sample, found)} if len(self._sample) > 15 else {**self._sample, actor: (sample, found)}
        if not datagram & 0x80 or len(found) < len(SEGMENTS):
            return []
        del self._sample[actor]
        rows = np.array([found[k] for k in range(len(SEGMENTS))])
        places: Array = numbers(rows[:, :3], (len(SEGMENTS), 3), "places")
        parents = [parent for _, parent in SEGMENTS]
        moved, turned = from_world(parents, places, turns(rows[:, 3:], len(SEGMENTS)))
        skeleton = self._skeletons.of(str(actor), [name for name, _ in SEGMENTS], parents, moved)
        return [LivePose(skeleton, moved, turned, 0.001 * milliseconds, sample, f"character {actor}")]
