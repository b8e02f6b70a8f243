"""mocopi: UDP, little-endian fields of length, four letters and value; 27 bones, Y up, right-handed.

Source: no official specification was found; written from what open readers of it agree on. The order of a bone's seven
numbers shows in the numbers: four of them are a unit quaternion. `skdf` says how the actor stands, `fram` how it moves.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.tracking.protocols.pose import Decoder, LivePose, PacketError, numbers, turns

PORT = 12351
NAMES = (
    "root",
    "torso_1",
    "torso_2",
    "torso_3",
    "torso_4",
    "torso_5",
    "torso_6",
    "torso_7",
    "neck_1",
    "neck_2",
    "head",
    "l_shoulder",
    "l_up_arm",
    "l_low_arm",
    "l_hand",
    "r_shoulder",
    "r_up_arm",
    "r_low_arm",
    "r_hand",
    "l_up_leg",
    "l_low_leg",
    "l_foot",
    "l_toes",
    "r_up_leg",
    "r_low_leg",
    "r_foot",
    "r_toes",
)
"""Names of bones by their number."""
_NESTED = {b"head", b"sndf", b"skdf", b"bons", b"bndt", b"fram", b"btrs", b"btdt"}
_LISTS = {b"bndt", b"btdt"}
MOST_BONES = 256


def from_y_up(places: Array) -> Array:
    """Places (n, 3) with y up and z ahead, right-handed, on our axes: x ahead, z up."""
    return places[:, [2, 0, 1]]


def turned_from_y_up(quaternions: Array) -> Array:
    """Quaternions w x y z (n, 4) of such axes on ours."""
    return quaternions[:, [0, 3, 1, 2]]


class Reader(Decoder):
    """Reads the actor's rest pose and its frames."""

    def __init__(self) -> None:
        self._skeleton: Skeleton | None = None
        self._raw: bytes = b""
        self._order: list[int] = []

    def read(self, packet: bytes) -> list[LivePose]:
        fields = _fields(packet, 0)
        if "skdf" in fields:
            self._take_skeleton(packet, fields["skdf"])
            return []
        frame = fields.get("fram")
        if not isinstance(frame, dict):
            raise PacketError("The packet has neither skdf nor fram.")
        if self._skeleton is None:
            return []  # its rest pose is yet to come
        bones = _bones(frame.get("btrs"), "btdt")
        count = self._skeleton.joint_count
        if any(bone not in bones for bone in self._order):
            raise PacketError("The frame lacks bones of the rest pose.")
        moved, turned = _transforms([bones[bone][1] for bone in self._order], count)
        return [LivePose(self._skeleton, moved, turned, _time(frame), _whole(frame.get("fnum")), "mocopi")]

    def _take_skeleton(self, packet: bytes, part: Any) -> None:
        if packet == self._raw:
            return
        bones = _bones(part.get("bons") if isinstance(part, dict) else None, "bndt")
        names, parents, order = [], [], []
        waiting = dict(bones)
        while waiting:  # parents first
            ready = [b for b, (above, _) in waiting.items() if above in order or above == b or above not in bones]
            if not ready or (order and all(bones[b][0] not in order for b in ready)):
                raise PacketError("The bones do not hang together.")
            for b in ready:
                above = bones[b][0]
                if above not in order and order:
                    raise PacketError("The rest pose has more than one root.")
                parents.append(order.index(above) if above in order else -1)
                order.append(b)
                names.append(NAMES[b] if b < len(NAMES) else f"bone_{b}")
                del waiting[b]
        moved, turned = _transforms([bones[b][1] for b in order], len(order))
        try:
            self._skeleton = Skeleton(tuple(names), np.array(parents, dtype=np.int64), moved, turned)
        except ValueError as error:
            raise PacketError(str(error)) from None
        self._raw, self._order = packet, order


def _fields(data: bytes, depth: int) -> dict[str, Any]:
    """Fields by name, nested; those that repeat as a list."""
    if depth > 4:
        raise PacketError("Fields nested too deep.")
    found: dict[str, Any] = {}
    at = 0
    while at < len(data):
        if at + 8 > len(data):
            raise PacketError("A field is cut short.")
        size = int.from_bytes(data[at : at + 4], "little")
        name = data[at + 4 : at + 8]
        if size > len(data) - at - 8:
            raise PacketError("A field is longer than the packet.")
        value: Any = data[at + 8 : at + 8 + size]
        value = _fields(value, depth + 1) if name in _NESTED else value
        key = name.decode("ascii", "replace")
        if name in _LISTS:
            found.setdefault(key, []).append(value)
            if len(found[key]) > MOST_BONES:
                raise PacketError(f"More than {MOST_BONES} bones.")
        else:
            found[key] = value
        at += 8 + size
    return found


def _bones(part: Any, name: str) -> dict[int, tuple[int, tuple[float, ...]]]:
    """Parent and seven numbers of each bone by its id."""
    found: dict[int, tuple[int, tuple[float, ...]]] = {}
    for bone in part.get(name, []) if isinstance(part, dict) else []:
        try:
            (own,) = struct.unpack("<H", bone["bnid"])
            (above,) = struct.unpack("<H", bone["pbid"]) if "pbid" in bone else (0xFFFF,)
            found[own] = above, struct.unpack("<7f", bone["tran"])
        except (struct.error, KeyError, TypeError):
            raise PacketError("A bone lacks its id or its seven numbers.") from None
    if not found:
        raise PacketError("There are no bones in the packet.")
    return found


def _transforms(rows: list[tuple[float, ...]], count: int) -> tuple[Array, Array]:
    values = numbers(rows, (count, 7), "places and rotations")
    first, last = (np.abs(np.linalg.norm(part, axis=1) - 1.0).max() for part in (values[:, :4], values[:, 3:]))
    wound, places = (values[:, :4], values[:, 4:]) if first <= last else (values[:, 3:], values[:, :3])
    return from_y_up(places), turned_from_y_up(turns(wound[:, [3, 0, 1, 2]], count))


def _time(frame: dict[str, Any]) -> float | None:
    """The sender's clock [s]: `uttm` as a double, else `time` as a float, or milliseconds where it is an integer."""
    try:
        if "uttm" in frame:
            (time,) = struct.unpack("<d", frame["uttm"])
        else:
            (time,) = struct.unpack("<f", frame["time"])
            if not 1e-6 < abs(time) < 1e9:  # no sensible float: an integer
                time = 0.001 * struct.unpack("<I", frame["time"])[0]
    except (struct.error, KeyError, TypeError):
        return None
    return time if abs(time) < 1e12 else None


def _whole(value: Any) -> int | None:
    return int.from_bytes(value, "little") if isinstance(value, bytes) and len(value) == 4 else None
