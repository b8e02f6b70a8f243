"""JSON in UDP datagrams: Poise's own protocol, and Unreal's JSON Live Link.

Poise's own has Z up, meters, quaternions w x y z; docs/live.md describes it. A sender says who moves once a second and
how they move in every frame:

    {"poise": "skeleton/1", "actor": "Ann", "names": ["Hips", …], "parents": [-1, 0, …], "offsets": [[x, y, z], …],
     "rest": [[w, x, y, z], …]}
    {"poise": "pose/1", "actor": "Ann", "frame": 12, "time": 0.1, "root": [x, y, z], "rotations": [[w, x, y, z], …]}
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from poise.core.skeleton import Skeleton
from poise.tracking.protocols.pose import (
    MOST_JOINTS,
    Decoder,
    Encoder,
    LivePose,
    PacketError,
    Skeletons,
    numbers,
    turns,
)

PORT = 39600
SKELETON_EVERY = 1.0
"""A sender repeats the skeleton so often [s], for those who come later and packets that are lost."""
UNREAL_PORT = 54321
MOST_ACTORS = 8
CENTIMETER = 0.01


def parse_json(packet: bytes) -> Any:
    """JSON of a packet.

    Raises:
        PacketError: if it is none.
    """
    try:
        return json.loads(packet)
    except (ValueError, RecursionError):
        raise PacketError("The packet is not JSON.") from None


class Reader(Decoder):
    """Reads `skeleton/1` and `pose/1`."""

    def __init__(self) -> None:
        self._skeletons: dict[str, Skeleton] = {}
        self._raw: dict[str, Any] = {}

    def read(self, packet: bytes) -> list[LivePose]:
        data = parse_json(packet)
        if not isinstance(data, dict):
            raise PacketError("The packet is not an object.")
        kind, actor = data.get("poise"), data.get("actor", "")
        if not isinstance(actor, str) or len(actor) > 100:
            raise PacketError("The name of the actor is not a text of up to 100 letters.")
        if kind == "skeleton/1":
            self._take_skeleton(actor, data)
            return []
        if kind != "pose/1":
            raise PacketError("The packet is neither skeleton/1 nor pose/1.")
        skeleton = self._skeletons.get(actor)
        if skeleton is None:
            return []  # its skeleton is yet to come
        turned = turns(data.get("rotations"), skeleton.joint_count)
        if "translations" in data:
            moved = numbers(data["translations"], skeleton.offsets.shape, "translations")
        else:
            moved = skeleton.offsets.copy()
        if "root" in data:
            moved[0] = numbers(data["root"], (3,), "root")
        return [LivePose(skeleton, moved, turned, number_of(data.get("time")), whole(data.get("frame")), actor)]

    def _take_skeleton(self, actor: str, data: dict[str, Any]) -> None:
        if self._raw.get(actor) == data:
            return
        names, parents = data.get("names"), data.get("parents")
        if not isinstance(names, list) or not all(isinstance(n, str) and len(n) <= 200 for n in names):
            raise PacketError("The names are not a list of texts.")
        if not 0 < len(names) <= MOST_JOINTS or not isinstance(parents, list) or len(parents) != len(names):
            raise PacketError(f"A skeleton has 1 to {MOST_JOINTS} names, and a parent for each.")
        if not all(isinstance(p, int) and not isinstance(p, bool) and -1 <= p < len(names) for p in parents):
            raise PacketError("The parents are not a list of indices.")
        count = len(names)
        offsets = numbers(data.get("offsets"), (count, 3), "offsets")
        rests = turns(data.get("rest", [[1.0, 0.0, 0.0, 0.0]] * count), count, "rest rotations")
        try:
            made = Skeleton(tuple(names), np.array(parents, dtype=np.int64), offsets, rests)
        except ValueError as error:
            raise PacketError(str(error)) from None
        if len(self._raw) >= 16 and actor not in self._raw:
            raise PacketError("More than 16 actors.")
        self._skeletons[actor], self._raw[actor] = made, data


class Writer(Encoder):
    """Writes poses as `pose/1`, and their skeleton as often as `SKELETON_EVERY` says."""

    def __init__(self) -> None:
        self._said: tuple[Skeleton, float] | None = None
        self._count = 0

    def write(self, pose: LivePose) -> list[bytes]:
        now = pose.time or 0.0
        packets = []
        if self._said is None or self._said[0] is not pose.skeleton or abs(now - self._said[1]) >= SKELETON_EVERY:
            self._said = (pose.skeleton, now)
            packets.append(skeleton_packet(pose.skeleton, pose.actor))
        number = self._count if pose.number is None else pose.number
        self._count += 1
        moves = len(pose.skeleton.translating) > 1
        text: dict[str, Any] = {"poise": "pose/1", "actor": pose.actor, "frame": number}
        if pose.time is not None:
            text["time"] = round(pose.time, 6)
        if moves:
            text["translations"] = np.round(pose.translations, 5).tolist()
        else:
            text["root"] = np.round(pose.translations[0], 5).tolist()
        text["rotations"] = np.round(pose.rotations, 6).tolist()
        return [*packets, json.dumps(text, separators=(",", ":")).encode()]


def skeleton_packet(skeleton: Skeleton, actor: str = "") -> bytes:
    """The packet that says who moves."""
    return json.dumps(
        {
            "poise": "skeleton/1",
            "actor": actor,
            "names": list(skeleton.names),
            "parents": skeleton.parents.tolist(),
            "offsets": np.round(skeleton.offsets, 6).tolist(),
            "rest": np.round(skeleton.rest_rotations, 6).tolist(),
        },
        separators=(",", ":"),
    ).encode()


def number_of(value: Any) -> float | None:
    """A time as a packet holds it: a finite number, or none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise PacketError("The time is not a number of seconds.")
    return float(value)


def whole(value: Any) -> int | None:
    """A count as a packet holds it, or none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise PacketError("The number of the frame is not a count.")
    return value


class UnrealReader(Decoder):
    """Reads all subjects of `{subject: [{Name, Parent, Location, Rotation, Scale}, …]}` that have bones.

    cm, Z up, left-handed; bones are in their parent's frame. How the actor stands is not sent, and its first pose is
    taken for it. Source: the example plugin "JSON Live Link" reads this form.
    """

    def __init__(self) -> None:
        self._skeletons = Skeletons()

    def read(self, packet: bytes) -> list[LivePose]:
        data = parse_json(packet)
        if not isinstance(data, dict) or not data:
            raise PacketError("The packet is not an object of subjects.")
        found = []
        for actor, bones in list(data.items())[:MOST_ACTORS]:
            if isinstance(bones, list) and bones:
                found.append(self._pose(actor[:100], bones))
        if not found:
            raise PacketError("No subject has bones.")
        return found

    def _pose(self, actor: str, bones: list[Any]) -> LivePose:
        if len(bones) > MOST_JOINTS or not all(isinstance(b, dict) and isinstance(b.get("Name"), str) for b in bones):
            raise PacketError(f"The bones are not a list of up to {MOST_JOINTS} with names.")
        count = len(bones)
        parents = [b.get("Parent") for b in bones]
        if not all(isinstance(p, int) and not isinstance(p, bool) and -1 <= p < count for p in parents):
            raise PacketError("The parents are not a list of indices.")
        places = CENTIMETER * numbers([b.get("Location") for b in bones], (count, 3), "locations")
        wound = turns([b.get("Rotation") for b in bones], count)
        # x ahead, y to the right, z up: the mirror of ours in y
        moved = places * np.array([1.0, -1.0, 1.0])
        turned = np.stack([wound[:, 3], -wound[:, 0], wound[:, 1], -wound[:, 2]], axis=1)
        names = [b["Name"][:200] for b in bones]
        skeleton = self._skeletons.of(actor, names, [int(p) for p in parents], moved, turned)
        return LivePose(skeleton, moved, turned, None, None, actor)
