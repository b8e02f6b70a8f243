"""Rokoko Studio's custom streaming, JSON v3: UDP, the whole datagram maybe an LZ4 frame; Unity's axes, in the world.

Source: no specification was found; written from what open readers agree on. How the actor stands is not sent: its first
pose is taken for it.
"""

from __future__ import annotations

import struct
from typing import Any

from poise.tracking.protocols.own import number_of, parse_json
from poise.tracking.protocols.pose import Decoder, LivePose, PacketError, Skeletons, from_world, numbers, turns
from poise.tracking.protocols.vmc import from_unity

PORT = 14043
LARGEST = 1_000_000
"""What a datagram may unpack to [bytes]."""
MOST_ACTORS = 8


def _hierarchy() -> dict[str, str]:
    bones = {"hip": "", "spine": "hip", "chest": "spine", "neck": "chest", "head": "neck"}
    for side in ("left", "right"):
        above = "hip"
        for bone in ("UpLeg", "Leg", "Foot", "Toe", "ToeEnd"):
            bones[side + bone] = above
            above = side + bone
        above = "chest"
        for bone in ("Shoulder", "UpperArm", "LowerArm", "Hand"):
            bones[side + bone] = above
            above = side + bone
        for finger in ("Thumb", "Index", "Middle", "Ring", "Little"):
            above = side + "Hand"
            for part in ("Proximal", "Medial", "Distal", "Tip"):
                bones[f"{side}{finger}{part}"] = above
                above = f"{side}{finger}{part}"
    return bones


BONES = _hierarchy()
"""Bones, parents first, and the one each hangs on."""


class Reader(Decoder):
    """Reads all actors of a frame."""

    def __init__(self) -> None:
        self._skeletons = Skeletons()

    def read(self, packet: bytes) -> list[LivePose]:
        data = parse_json(unpacked(packet) if packet[:4] == MAGIC else packet)
        scene = data.get("scene") if isinstance(data, dict) else None
        if not isinstance(scene, dict) or not isinstance(scene.get("actors"), list):
            raise PacketError("The packet has no scene with actors.")
        time = number_of(scene.get("timestamp"))
        return [self._pose(actor, time) for actor in scene["actors"][:MOST_ACTORS]]

    def _pose(self, actor: Any, time: float | None) -> LivePose:
        body = actor.get("body") if isinstance(actor, dict) else None
        if not isinstance(body, dict) or not isinstance(body.get("hip"), dict):
            raise PacketError("An actor has no body with a hip.")
        name = actor.get("name", "")
        names = [bone for bone in BONES if isinstance(body.get(bone), dict)]
        try:
            places = [[body[b]["position"][axis] for axis in "xyz"] for b in names]
            wound = [[body[b]["rotation"][axis] for axis in "xyzw"] for b in names]
        except (KeyError, TypeError):
            raise PacketError("A bone has no position or rotation.") from None
        count = len(names)
        world, turned = from_unity(numbers(places, (count, 3), "positions"), turns(wound, count))
        parents = []
        for bone in names:
            above = BONES[bone]
            while above and above not in names:
                above = BONES[above]
            parents.append(names.index(above) if above else -1)
        moved, local = from_world(parents, world, turned)
        actor_name = name[:100] if isinstance(name, str) else ""
        skeleton = self._skeletons.of(actor_name, names, parents, moved, local)
        return LivePose(skeleton, moved, local, time, None, actor_name)


# --- LZ4 frames: a few lines, with a limit, rather than a package for one protocol

MAGIC = b"\x04\x22\x4d\x18"


def unpacked(packet: bytes) -> bytes:
    """What an LZ4 frame holds.

    Raises:
        PacketError: if it is malformed, or larger than `LARGEST`.

    Source: the LZ4 frame and block formats.
    """
    out = bytearray()
    try:
        flags = packet[4]
        at = 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
        while True:
            (size,) = struct.unpack_from("<I", packet, at)
            at += 4
            if size == 0:
                return bytes(out)
            length = size & 0x7FFFFFFF
            block = packet[at : at + length]
            if len(block) < length:
                raise PacketError("The LZ4 frame is cut short.")
            if size & 0x80000000:
                out += block
            else:
                _block(block, out)
            at += length + (4 if flags & 0x10 else 0)
            if len(out) > LARGEST:
                raise PacketError("The packet unpacks to too much.")
    except (IndexError, struct.error):
        raise PacketError("The LZ4 frame is cut short.") from None


def _block(block: bytes, out: bytearray) -> None:
    at = 0
    while at < len(block):
        token = block[at]
        at += 1
        count, at = _length(block, at, token >> 4)
        if count > len(block) - at:
            raise PacketError("The LZ4 frame is cut short.")
        out += block[at : at + count]
        at += count
        if at >= len(block):
            return
        back = block[at] | block[at + 1] << 8
        at += 2
        count, at = _length(block, at, token & 15)
        count += 4
        if not 0 < back <= len(out) or len(out) + count > LARGEST:
            raise PacketError("The LZ4 frame points outside of itself, or unpacks to too much.")
        piece = bytes(out[-back:])
        out += (piece * (count // back + 1))[:count]


def _length(block: bytes, at: int, count: int) -> tuple[int, int]:
    if count == 15:
        while True:
            more = block[at]
            at += 1
            count += more
            if more != 255:
                break
    return count, at
