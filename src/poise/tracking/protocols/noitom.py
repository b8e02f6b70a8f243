"""BVH frames as Axis Neuron and Axis Studio broadcast them: UDP, or TCP with the program as the server.

Source: no specification was found; written from what open readers agree on: a header of 64 bytes, little-endian, then
`count` floats; or text, `number name f f f … ||`. Per bone, in the order of the program's BVH: with displacement place
[cm] and angles [deg] in the order Y X Z; without it the place of the hips alone, and bones of a usual person.
"""

from __future__ import annotations

import struct

import numpy as np

from poise.core import rotations
from poise.core.typing import Array
from poise.tracking.protocols.mocopi import from_y_up, turned_from_y_up
from poise.tracking.protocols.pose import Decoder, LivePose, PacketError, Skeletons, numbers

PORT = 7002
CENTIMETER = 0.01
MOST_FLOATS = 4096
_HEAD = struct.Struct("<HBBBBHBBI32sI3IH")
_OLD_HEAD = struct.Struct("<HBBBBIIII32s2IH")
BEGIN, END = 0xDDFF, 0xEEFF
_FINGERS = ("Thumb", "Index", "Middle", "Ring", "Pinky")

Bones = list[tuple[str, str, tuple[float, float, float]]]


def _bones(spine: tuple[str, ...], chest: str) -> Bones:
    """Bones with the one each hangs on, and where in a usual person [cm], y up, z ahead, x to its left."""
    found: Bones = [("Hips", "", (0.0, 95.0, 0.0))]
    for side, x in (("Right", -1.0), ("Left", 1.0)):
        found += [
            (f"{side}UpLeg", "Hips", (9.5 * x, -3.0, 0.0)),
            (f"{side}Leg", f"{side}UpLeg", (0.0, -43.0, 0.0)),
            (f"{side}Foot", f"{side}Leg", (0.0, -42.0, 0.0)),
        ]
    heights = {"Spine": 9.0, "Neck": 12.0, "Head": 8.0}
    above = "Hips"
    for name in spine:
        found.append((name, above, (0.0, heights.get(name, 11.0), 0.0)))
        above = name
    for side, x in (("Right", -1.0), ("Left", 1.0)):
        found += [
            (f"{side}Shoulder", chest, (3.0 * x, 8.0, 0.0)),
            (f"{side}Arm", f"{side}Shoulder", (13.0 * x, 0.0, 0.0)),
            (f"{side}ForeArm", f"{side}Arm", (28.0 * x, 0.0, 0.0)),
            (f"{side}Hand", f"{side}ForeArm", (26.0 * x, 0.0, 0.0)),
        ]
        for k, finger in enumerate(_FINGERS):
            hand = f"{side}Hand"
            if finger != "Thumb":
                found.append((f"{side}InHand{finger}", hand, (3.5 * x, 0.5, 4.0 - 2.0 * k)))
                hand = f"{side}InHand{finger}"
            for n in (1, 2, 3):
                far = (2.7 * x, 0.0, 3.0) if finger == "Thumb" and n == 1 else ((5.5 if n == 1 else 3.0) * x, 0.0, 0.0)
                found.append((f"{side}Hand{finger}{n}", hand, far))
                hand = f"{side}Hand{finger}{n}"
    return found


NEURON = _bones(("Spine", "Spine1", "Spine2", "Spine3", "Neck", "Head"), "Spine3")
"""The 59 bones of Axis Neuron, the program of the paper's capture system."""
STUDIO = _bones(("Spine", "Spine1", "Spine2", "Neck", "Neck1", "Head"), "Spine2")
"""The 59 bones of Axis Studio."""


class Reader(Decoder):
    """Reads both binary headers, and text.

    Args:
        bones: In the order of the program.
    """

    def __init__(self, bones: Bones = NEURON) -> None:
        self._skeletons = Skeletons()
        self._names = [name for name, _, _ in bones]
        self._parents = [self._names.index(above) if above else -1 for _, above, _ in bones]
        self._usual = np.array([place for _, _, place in bones])

    def cut(self, received: bytearray) -> list[bytes]:
        """Packets of a TCP stream: by their length where they are binary, by their end where they are text."""
        found: list[bytes] = []
        while len(received) >= 2:
            if received[:2] == struct.pack("<H", BEGIN):
                if len(received) < 64:
                    break
                count = _count(bytes(received[:64]))
                size = 64 + 4 * (count if count is not None else 0)
                if count is None or count > MOST_FLOATS:
                    del received[:2]
                    continue
                if len(received) < size:
                    break
            else:
                begin = received.find(struct.pack("<H", BEGIN), 1)
                end = received.find(b"||")
                if end >= 0 and (begin < 0 or end < begin):
                    size = end + 2
                elif begin > 0:
                    size = begin  # what is neither, counted as malformed
                else:
                    break
            found.append(bytes(received[:size]))
            del received[:size]
        return found

    def read(self, packet: bytes) -> list[LivePose]:
        if packet[:2] == struct.pack("<H", BEGIN):
            values, with_places, with_reference, actor, number = _binary(packet)
        else:
            values, with_places, with_reference, actor, number = _text(packet, len(self._names))
        bones = len(self._names)
        wanted = 6 * bones if with_places else 3 + 3 * bones
        if with_reference:
            values = values[6:]
        if len(values) < wanted:
            raise PacketError(f"{len(values)} numbers; {bones} bones need {wanted}.")
        given = numbers(values[:wanted], (wanted,), "numbers")
        if with_places:
            rows = given.reshape(bones, 6)
            places, angles = rows[:, :3], rows[:, 3:]
        else:
            angles = given[3:].reshape(bones, 3)
            places = self._usual.copy()
            places[0] = given[:3]
        moved: Array = CENTIMETER * from_y_up(places)
        turned = turned_from_y_up(rotations.from_euler("YXZ", angles))
        skeleton = self._skeletons.of(actor, self._names, self._parents, moved)
        return [LivePose(skeleton, moved, turned, None, number, actor)]


class StudioReader(Reader):
    """The same with the bones of Axis Studio."""

    def __init__(self) -> None:
        super().__init__(STUDIO)


def _count(head: bytes) -> int | None:
    """Floats that follow a header; None if it is none."""
    begin, *_, end = _HEAD.unpack_from(head)
    if begin != BEGIN or end != END:
        return None
    minor, major = head[4], head[5]
    if (major, minor) >= (1, 1):
        return int(_HEAD.unpack_from(head)[5])
    return int(_OLD_HEAD.unpack_from(head)[5])


def _binary(packet: bytes) -> tuple[Array, bool, bool, str, int | None]:
    if len(packet) < 64:
        raise PacketError("The header is cut short.")
    count = _count(packet)
    if count is None:
        raise PacketError("The header does not end as it should.")
    if count > MOST_FLOATS or len(packet) < 64 + 4 * count:
        raise PacketError("The packet is shorter than it says, or too long.")
    number: int | None = None
    if (packet[5], packet[4]) >= (1, 1):
        _, _, _, _, _, _, places, reference, _, name, number, *_ = _HEAD.unpack_from(packet)
    else:
        _, _, _, _, _, _, places, reference, _, name, *_ = _OLD_HEAD.unpack_from(packet)
    actor = name.split(b"\0", 1)[0].decode("utf-8", "replace")
    with np.errstate(invalid="ignore"):  # what is not a number is refused later
        values = np.frombuffer(packet, "<f4", count, 64).astype(np.float64)
    return values, bool(places), bool(reference), actor, number


def _text(packet: bytes, bones: int) -> tuple[Array, bool, bool, str, int | None]:
    words = packet.decode("utf-8", "replace").replace("||", " ").split()
    if len(words) < 3 or len(words) > MOST_FLOATS:
        raise PacketError("The packet is neither a binary frame nor text.")
    try:
        values = np.array([float(w) for w in words[2:]])
    except ValueError:
        raise PacketError("The packet is neither a binary frame nor text.") from None
    count = len(values)
    if count in (6 * bones, 6 * bones + 6):
        return values, True, count > 6 * bones, words[1][:100], None
    if count in (3 * bones + 3, 3 * bones + 9):
        return values, False, count > 3 * bones + 3, words[1][:100], None
    raise PacketError(f"{count} numbers do not go with {bones} bones.")
