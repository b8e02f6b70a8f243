"""Virtual Motion Capture protocol: OSC over UDP, Unity's axes, human bones turned against a T-pose.

Sources: the VMC protocol's public specification (protocol.vmc.info, MIT); the OSC 1.0 specification, of which the
bundles and messages of plain arguments that VMC needs are read and written here, guarded against hostile packets.

Root and hips are read as one joint. A bone that VMC has no name for is sent under its own name, which receivers ignore
or look up. `Humanoid` turns a character of any shape into such bones.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses
from poise.core import rotations
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.tracking.protocols.pose import Decoder, Encoder, LivePose, PacketError, Skeletons, numbers, turns
from poise.tracking.retarget import heading, yaw_turn

PORT = 39539

_FINGERS = ("Thumb", "Index", "Middle", "Ring", "Little")
_ROLES = {"collar": "Shoulder", "shoulder": "UpperArm", "elbow": "LowerArm", "hand": "Hand"} | {
    "hip": "UpperLeg",
    "knee": "LowerLeg",
    "foot": "Foot",
    "toe": "Toes",
}
_SPINE = ("Spine", "Chest", "UpperChest")


def _human() -> dict[str, str]:
    """Unity's human bones with the one each hangs on."""
    bones = {
        "Hips": "",
        "Spine": "Hips",
        "Chest": "Spine",
        "UpperChest": "Chest",
        "Neck": "UpperChest",
        "Head": "Neck",
        "Jaw": "Head",
        "LeftEye": "Head",
        "RightEye": "Head",
    }
    for side in ("Left", "Right"):
        chains = (
            ("Hips", ("UpperLeg", "LowerLeg", "Foot", "Toes")),
            ("UpperChest", ("Shoulder", "UpperArm", "LowerArm", "Hand")),
        )
        for begin, chain in chains:
            above = begin
            for bone in chain:
                bones[side + bone] = above
                above = side + bone
        for finger in _FINGERS:
            above = side + "Hand"
            for part in ("Proximal", "Intermediate", "Distal"):
                bones[side + finger + part] = above
                above = side + finger + part
    return bones


HUMAN = _human()
"""Unity's human bones, parents first, and the bone each hangs on."""
_NAMES = {name.lower(): name for name in HUMAN}
_AXES = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Unity's x right, y up, z forward (left-handed) in ours: x forward, y left, z up."""


def from_unity(places: Array, wound: Array) -> tuple[Array, Array]:
    """Places (n, 3) and quaternions x y z w (n, 4) of Unity on our axes, w x y z."""
    turned = np.concatenate([wound[:, 3:], -wound[:, :3] @ _AXES.T], axis=1)
    return places @ _AXES.T, turned


def to_unity(places: Array, turned: Array) -> tuple[Array, Array]:
    """The way back of `from_unity`."""
    return places @ _AXES, np.concatenate([-turned[:, 1:] @ _AXES, turned[:, :1]], axis=1)


class Reader(Decoder):
    """Gathers the bones of a frame; a frame is whole when every bone of the one before has come again."""

    def __init__(self) -> None:
        self._skeletons = Skeletons()
        self._bones: dict[str, list[float]] = {}
        self._received_bones: set[str] = set()
        self._expected_bones: set[str] = set()
        self._root: list[float] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        self._time: float | None = None
        self._fresh_time: float | None = None
        self.partial = self._missed = 0

    def read(self, packet: bytes) -> list[LivePose]:
        found: list[LivePose] = []
        wrong = ""
        for address, values in read_osc(packet):
            if address == "/VMC/Ext/T" and values and isinstance(values[0], float | int):
                if self._received_bones and self._fresh_time is not None:
                    found += self._whole()  # the time of the next frame, before all bones of this one came
                self._fresh_time = float(values[0])
            elif address == "/VMC/Ext/Root/Pos":
                if (pose := _pose(values)) is None:
                    wrong = address
                else:
                    self._root = pose
            elif address == "/VMC/Ext/Bone/Pos":
                pose = _pose(values)
                name = _NAMES.get(str(values[0]).lower()) if values else None
                if pose is None:
                    wrong = address
                elif name is not None:
                    if name in self._received_bones:
                        found += self._whole()
                    self._bones[name] = pose
                    self._received_bones.add(name)
        if self._expected_bones and self._received_bones >= self._expected_bones:
            found += self._whole()
        if wrong and not found:
            raise PacketError(f"A message to {wrong} has too few arguments, or wrong ones.")
        return found

    def _whole(self) -> list[LivePose]:
        """The pose of the bones that have come."""
        self.partial += bool(self._expected_bones - self._received_bones)
        if len(self._received_bones) >= len(self._expected_bones) or not self._received_bones & self._expected_bones:
            self._expected_bones = set(self._received_bones)
        elif self._expected_bones - self._received_bones:
            self._missed += 1
            if self._missed > 20:  # the sender has really left them out
                self._missed, self._expected_bones = 0, set(self._received_bones)
                self._bones = {name: self._bones[name] for name in self._received_bones}
        self._received_bones.clear()
        self._time, self._fresh_time = self._fresh_time, None
        if "Hips" not in self._bones:
            return []
        names = [name for name in HUMAN if name in self._bones]
        places = np.array([self._bones[name] for name in names])
        moved, turned = from_unity(numbers(places[:, :3], (len(names), 3), "places"), turns(places[:, 3:], len(names)))
        root = np.array([self._root])
        base, heading = from_unity(numbers(root[:, :3], (1, 3), "root"), turns(root[:, 3:], 1))
        moved[0] = base[0] + rotations.rotate(heading[0], moved[0])
        turned[0] = rotations.multiply(heading[0], turned[0])
        skeleton = self._skeletons.of("", names, parents_of(names), moved)
        return [LivePose(skeleton, moved, turned, self._time)]


def parents_of(names: list[str]) -> list[int]:
    """Index of the bone each hangs on: the nearest human one that is there; -1 for the hips."""
    found = []
    for name in names:
        above = HUMAN[name]
        while above and above not in names:
            above = HUMAN[above]
        found.append(names.index(above) if above else -1)
    return found


def _pose(values: list[Any]) -> list[float] | None:
    if len(values) < 8 or not isinstance(values[0], str):
        return None
    given = values[1:8]
    if not all(isinstance(v, float | int) and math.isfinite(v) for v in given):
        return None
    return [float(v) for v in given]


class Writer(Encoder):
    """Writes poses whose joints have human bones' names and no turn in the T-pose; see `Humanoid`."""

    def write(self, pose: LivePose) -> list[bytes]:
        places, wound = to_unity(pose.translations, pose.rotations)
        messages = [osc_message("/VMC/Ext/OK", 1)]
        messages.append(osc_message("/VMC/Ext/T", float(pose.time or 0.0)))
        messages.append(osc_message("/VMC/Ext/Root/Pos", "root", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
        for name, place, turn in zip(pose.skeleton.names, places.tolist(), wound.tolist()):
            messages.append(osc_message("/VMC/Ext/Bone/Pos", name, *place, *turn))
        return osc_bundles(messages)


BUNDLE = b"#bundle\0"
DEEPEST = 4
"""Bundles within bundles that are read."""
MOST_MESSAGES = 2048
"""Messages of one packet that are read."""

Argument = int | float | str | bytes | bool | None
_FIXED = {"i": (">i", 4), "f": (">f", 4), "h": (">q", 8), "d": (">d", 8), "t": (">Q", 8), "r": (">I", 4)}
_CONSTANT: dict[str, bool | None] = {"T": True, "F": False, "N": None, "I": None}


def read_osc(packet: bytes) -> list[tuple[str, list[Argument]]]:
    """Addresses and arguments of all messages of a packet.

    Raises:
        PacketError: if it is malformed.
    """
    found: list[tuple[str, list[Argument]]] = []
    try:
        _read(packet, 0, found)
    except (struct.error, UnicodeDecodeError, IndexError, ValueError) as error:
        raise error if isinstance(error, PacketError) else PacketError("The packet is not OSC.") from None
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


def osc_message(address: str, *values: float | str) -> bytes:
    """One message of integers, floats and texts."""
    kinds = "".join("s" if isinstance(v, str) else "i" if isinstance(v, int) else "f" for v in values)
    out = _padded(address) + _padded("," + kinds)
    for kind, value in zip(kinds, values):
        out += _padded(str(value)) if kind == "s" else struct.pack(_FIXED[kind][0], value)
    return out


def osc_bundles(messages: Sequence[bytes], most: int = 1400) -> list[bytes]:
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


def bone_names(character: Character) -> tuple[str, ...]:
    """Name of each body: a human bone where it has one's part, else its own."""
    own = [b.name for b in character.bodies]
    if own[0] == "Hips" and sum(name in HUMAN for name in own) > len(own) // 2:
        return tuple(own)
    names: dict[int, str] = {0: "Hips"}
    spine = [b for limb in character.limbs if limb.kind == "spine" for b in limb.bodies if b]
    chosen = spine if len(spine) <= 3 else [spine[0], spine[len(spine) // 2], spine[-1]]
    names |= dict(zip(chosen, _SPINE))
    neck = [b for limb in character.limbs if limb.kind == "neck" for b in limb.bodies]
    if neck:
        names[neck[0]] = "Neck"
        names[neck[-1]] = "Head"
    for role, body in character.roles.items():
        side, _, part = role.partition("_")
        if side in ("left", "right") and part in _ROLES and body not in names:
            names[body] = side.capitalize() + _ROLES[part]
    taken: set[str] = set()
    found = []
    for i, name in enumerate(own):
        bone = names.get(i, name)
        while bone in taken or (i not in names and bone in HUMAN):
            bone += "_"
        taken.add(bone)
        found.append(bone)
    return tuple(found)


class Humanoid:
    """Makes poses of a character for receivers that know human bones.

    Args:
        character: Any.
        standing: How it stands, coordinates (nq,); arms and legs are turned from there to a T-pose.
    """

    def __init__(self, character: Character, standing: Array) -> None:
        self.character, self.names = character, bone_names(character)
        places, turned = (x[0] for x in body_poses(character, standing[None]))
        is_human = self.names == tuple(b.name for b in character.bodies) and self.names[0] == "Hips"
        tee = np.tile(rotations.IDENTITY, (len(turned), 1)) if is_human else self._tee(places, turned)
        self._unturn = rotations.conjugate(tee)
        direct = [b.parent for b in character.bodies]
        at = np.zeros((len(direct), 3))
        for i, parent in enumerate(direct):
            if parent >= 0:
                at[i] = at[parent] + rotations.rotate(tee[parent], character.bodies[i].offset)
        self._parents = np.array([self._above(i, direct) for i in range(len(direct))])
        offsets = at - at[np.maximum(self._parents, 0)]
        offsets[0] = places[0]
        rest = np.tile(rotations.IDENTITY, (len(direct), 1))
        self.skeleton = Skeleton(self.names, self._parents, offsets, rest)

    def pose(self, q: Array, time: float | None = None) -> LivePose:
        """The character at coordinates (nq,)."""
        places, turned = (x[0] for x in body_poses(self.character, q[None]))
        moved = rotations.multiply(turned, self._unturn)
        local = rotations.multiply(rotations.conjugate(moved[self._parents]), moved)
        local[0] = moved[0]
        shifts = self.skeleton.offsets.copy()
        shifts[0] = places[0]
        return LivePose(self.skeleton, shifts, local, time)

    def _above(self, body: int, direct: list[int]) -> int:
        """The body that a receiver thinks a bone hangs on: of human bones the next human one."""
        parent = direct[body]
        while parent > 0 and self.names[body] in HUMAN and self.names[parent] not in HUMAN:
            parent = direct[parent]
        return parent

    def _tee(self, places: Array, turned: Array) -> Array:
        """Orientation of each body in a T-pose that faces +x: arms out to the sides, legs down."""
        about = yaw_turn(-heading(self.character, places))
        places, tee = rotations.rotate(about, places), rotations.multiply(about, turned)
        for limb in self.character.limbs:
            if limb.kind not in ("arm", "leg"):
                continue
            side = 1.0 if "left" in limb.name else -1.0
            wanted = np.array([0.0, side, 0.0]) if limb.kind == "arm" else np.array([0.0, 0.0, -1.0])
            bodies = [b for b in limb.bodies if not self.names[b].endswith(("Shoulder", "Toes"))]
            turn = rotations.IDENTITY
            for body, following in zip(bodies, [*bodies[1:], None]):
                if limb.kind == "leg" and self.names[body].endswith("Foot"):
                    break  # feet stay as they stand
                if following is not None:
                    way = places[following] - places[body]
                    size = float(np.linalg.norm(way))
                    if size > 1e-6:
                        turn = rotations.between(way / size, wanted)
                tee[body] = rotations.multiply(turn, tee[body])
        return tee
