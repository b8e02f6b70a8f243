"""Senders of live protocols, written from the published formats and not with Poise's own code.

Every sender sends the same little walk on the spot: a person of 1.7 m whose left arm rises. What a reader should find
is told in Poise's axes: x ahead, y left, z up.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RATE = 60.0

PERSON: dict[str, tuple[str, tuple[float, float, float]]] = {
    "hips": ("", (0.0, 0.0, 0.92)),
    "spine": ("hips", (0.0, 0.0, 0.12)),
    "chest": ("spine", (0.0, 0.0, 0.18)),
    "neck": ("chest", (0.0, 0.0, 0.20)),
    "head": ("neck", (0.0, 0.0, 0.10)),
    "left_shoulder": ("chest", (0.0, 0.06, 0.14)),
    "left_upper_arm": ("left_shoulder", (0.0, 0.12, 0.0)),
    "left_lower_arm": ("left_upper_arm", (0.0, 0.28, 0.0)),
    "left_hand": ("left_lower_arm", (0.0, 0.25, 0.0)),
    "right_shoulder": ("chest", (0.0, -0.06, 0.14)),
    "right_upper_arm": ("right_shoulder", (0.0, -0.12, 0.0)),
    "right_lower_arm": ("right_upper_arm", (0.0, -0.28, 0.0)),
    "right_hand": ("right_lower_arm", (0.0, -0.25, 0.0)),
    "left_upper_leg": ("hips", (0.0, 0.09, -0.04)),
    "left_lower_leg": ("left_upper_leg", (0.0, 0.0, -0.42)),
    "left_foot": ("left_lower_leg", (0.0, 0.0, -0.40)),
    "left_toes": ("left_foot", (0.14, 0.0, -0.05)),
    "right_upper_leg": ("hips", (0.0, -0.09, -0.04)),
    "right_lower_leg": ("right_upper_leg", (0.0, 0.0, -0.42)),
    "right_foot": ("right_lower_leg", (0.0, 0.0, -0.40)),
    "right_toes": ("right_foot", (0.14, 0.0, -0.05)),
}
"""A T-pose: what hangs on what, and where [m], in x ahead, y left, z up."""


@dataclass
class Sent:
    """What is sent: times, angles of the left upper arm about x [rad], and where joints should be found at the end."""

    times: list[float]
    angles: list[float]
    expected: dict[str, tuple[float, float, float]] = field(default_factory=dict)


def places(angle: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """World place and orientation (matrix) of every part, the left arm raised by an angle about x."""
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    c, s = math.cos(angle), math.sin(angle)
    raised = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    for part, (above, offset) in PERSON.items():
        at, turn = found[above] if above else (np.zeros(3), np.eye(3))
        found[part] = (at + turn @ np.array(offset), turn @ raised if part == "left_upper_arm" else turn)
    return found


NAMES: dict[str, dict[str, str]] = {
    "poise": {"left_hand": "left_hand", "right_foot": "right_foot", "head": "head"},
    "vmc": {"left_hand": "LeftHand", "right_foot": "RightFoot", "head": "Head"},
    "bvh": {"left_hand": "LeftHand", "right_foot": "RightFoot", "head": "Head"},
    "axis": {"left_hand": "LeftHand", "right_foot": "RightFoot", "head": "Neck1"},
    "xsens": {"left_hand": "LeftHand", "right_foot": "RightFoot", "head": "Head"},
    "mocopi": {"left_hand": "l_hand", "right_foot": "r_foot", "head": "head"},
    "rokoko": {"left_hand": "leftHand", "right_foot": "rightFoot", "head": "head"},
    "unreal": {"left_hand": "left_hand", "right_foot": "right_foot", "head": "head"},
}
"""How each protocol calls three parts."""


def posed(protocol: str) -> Sent:
    """What is sent in these tests."""
    count = 20
    angles = [0.8 * k / (count - 1) for k in range(count)]
    at = places(angles[-1])
    wanted = {theirs: tuple(at[ours][0].tolist()) for ours, theirs in NAMES[protocol].items()}
    return Sent([k / RATE for k in range(count)], angles, wanted)  # type: ignore[arg-type]


def quaternion(turn: np.ndarray) -> tuple[float, float, float, float]:
    """w x y z of a turn about x."""
    half = 0.5 * math.atan2(turn[2, 1], turn[1, 1])
    return math.cos(half), math.sin(half), 0.0, 0.0


def own(sent: Sent) -> Iterator[bytes]:
    names = list(PERSON)
    yield json.dumps(
        {
            "poise": "skeleton/1",
            "actor": "A",
            "names": names,
            "parents": [names.index(above) if above else -1 for above, _ in PERSON.values()],
            "offsets": [list(offset) for _, offset in PERSON.values()],
        }
    ).encode()
    for k, (time, angle) in enumerate(zip(sent.times, sent.angles)):
        turned: list[Any] = [[1.0, 0.0, 0.0, 0.0] for _ in names]
        turned[names.index("left_upper_arm")] = [math.cos(angle / 2), math.sin(angle / 2), 0.0, 0.0]
        data = {"poise": "pose/1", "actor": "A", "frame": k, "time": time, "root": [0, 0, 0.92], "rotations": turned}
        yield json.dumps(data).encode()


def _osc(address: str, kinds: str, *values: Any) -> bytes:
    """A message by the OSC specification: texts padded by zeros to fours, numbers big-endian."""

    def text(given: str) -> bytes:
        raw = given.encode() + b"\0"
        return raw + b"\0" * (-len(raw) % 4)

    out = text(address) + text("," + kinds)
    for kind, value in zip(kinds, values):
        out += text(value) if kind == "s" else struct.pack(">" + kind, value)
    return out


def vmc(sent: Sent) -> Iterator[bytes]:
    human = {"hips": "Hips", "spine": "Spine", "chest": "Chest", "neck": "Neck", "head": "Head"}
    human |= {p: "".join(w.capitalize() for w in p.split("_")) for p in PERSON if p not in human}
    for time, angle in zip(sent.times, sent.angles):
        messages = [_osc("/VMC/Ext/OK", "i", 1), _osc("/VMC/Ext/T", "f", time)]
        messages.append(_osc("/VMC/Ext/Root/Pos", "sfffffff", "root", 0, 0, 0, 0, 0, 0, 1))
        messages.append(_osc("/VMC/Ext/Blend/Val", "sf", "Joy", 0.5))
        for part, (_, (x, y, z)) in PERSON.items():
            # Unity: x right, y up, z ahead, left-handed: about x ahead (our x, their z) a turn counts the other way
            half = 0.5 * angle if part == "left_upper_arm" else 0.0
            bone = (human[part], -y, z, x, 0.0, 0.0, -math.sin(half), math.cos(half))
            messages.append(_osc("/VMC/Ext/Bone/Pos", "sfffffff", *bone))
        for begin in range(0, len(messages), 16):
            bundle = b"#bundle\0" + struct.pack(">Q", 1)
            for message in messages[begin : begin + 16]:
                bundle += struct.pack(">i", len(message)) + message
            yield bundle


def _y_up(place: Any) -> list[float]:
    """Right-handed axes with y up and z ahead: x to the left."""
    x, y, z = (float(v) for v in place)
    return [y, z, x]


def _axis(names: list[str], parts: dict[str, str], split: list[str], sent: Sent) -> Iterator[bytes]:
    """Frames of Axis programs: a header of 64 bytes, then place [cm] and angles [deg], y x z, of each bone."""
    offsets = {theirs: PERSON[ours][1] for ours, theirs in parts.items()}
    for name in split:  # the trunk from spine to chest in equal bones
        x, y, z = PERSON["chest"][1]
        offsets[name] = (x / len(split), y / len(split), z / len(split))
    for k, angle in enumerate(sent.angles):
        values: list[float] = []
        for name in names:
            given = offsets.get(name)
            if given is None:  # fingers: along the hand
                side = 1.0 if name.startswith("Left") else -1.0
                given = (0.01 if "Thumb" in name else 0.0, 0.03 * side, 0.0)
            turned = math.degrees(angle) if name == "LeftArm" else 0.0
            values += [*(100.0 * v for v in _y_up(given)), 0.0, 0.0, turned]
        head = struct.pack("<H4BHBBI32sI3IH", 0xDDFF, 0, 0, 1, 1, len(values), 1, 0, 0, b"A", k, 0, 0, 0, 0xEEFF)
        yield head + struct.pack(f"<{len(values)}f", *values)


_AXIS_PARTS = {
    "hips": "Hips", "spine": "Spine", "neck": "Neck", "head": "Head", "left_upper_leg": "LeftUpLeg",
    "left_lower_leg": "LeftLeg", "left_foot": "LeftFoot", "right_upper_leg": "RightUpLeg",
    "right_lower_leg": "RightLeg", "right_foot": "RightFoot", "left_shoulder": "LeftShoulder",
    "left_upper_arm": "LeftArm", "left_lower_arm": "LeftForeArm", "left_hand": "LeftHand",
    "right_shoulder": "RightShoulder", "right_upper_arm": "RightArm", "right_lower_arm": "RightForeArm",
    "right_hand": "RightHand",
}  # fmt: skip


def _axis_names(spine: list[str]) -> list[str]:
    names = ["Hips"]
    for side in ("Right", "Left"):
        names += [side + bone for bone in ("UpLeg", "Leg", "Foot")]
    names += spine
    for side in ("Right", "Left"):
        names += [side + bone for bone in ("Shoulder", "Arm", "ForeArm", "Hand")]
        names += [f"{side}HandThumb{n}" for n in (1, 2, 3)]
        for finger in ("Index", "Middle", "Ring", "Pinky"):
            names += [f"{side}InHand{finger}", *(f"{side}Hand{finger}{n}" for n in (1, 2, 3))]
    assert len(names) == 59
    return names


def neuron(sent: Sent) -> Iterator[bytes]:
    names = _axis_names(["Spine", "Spine1", "Spine2", "Spine3", "Neck", "Head"])
    return _axis(names, _AXIS_PARTS, ["Spine1", "Spine2", "Spine3"], sent)


def studio(sent: Sent) -> Iterator[bytes]:
    names = _axis_names(["Spine", "Spine1", "Spine2", "Neck", "Neck1", "Head"])
    parts = {**_AXIS_PARTS, "head": "Neck1"}
    return _axis(names, parts, ["Spine1", "Spine2"], sent)


def xsens(sent: Sent) -> Iterator[bytes]:
    """Header of 24 bytes and items of 32, big-endian, in two datagrams a pose."""
    trunk = ["hips", "spine", None, None, "chest", "neck", "head"]
    arms = [f"{side}_{part}" for side in ("right", "left") for part in ("shoulder", "upper_arm", "lower_arm", "hand")]
    legs = [f"{side}_{part}" for side in ("right", "left") for part in ("upper_leg", "lower_leg", "foot", "toes")]
    for k, (time, angle) in enumerate(zip(sent.times, sent.angles)):
        found = places(angle)
        items = []
        for segment, part in enumerate([*trunk, *arms, *legs], start=1):
            if part is None:  # L3 and T12 lie between
                share = (segment - 2) / 3.0
                at, turn = (1 - share) * found["spine"][0] + share * found["chest"][0], np.eye(3)
            else:
                at, turn = found[part]
            items.append(struct.pack(">I7f", segment, *at, *quaternion(turn)))
        for datagram, chosen in ((0, items[:12]), (0x81, items[12:])):
            body = b"".join(chosen)
            milliseconds = round(1000.0 * time)
            yield (
                struct.pack(">6sIBBIBBBB2xH", b"MXTP02", k, datagram, len(chosen), milliseconds, 0, 23, 0, 0, len(body))
                + body
            )


def _field(name: str, value: bytes) -> bytes:
    return struct.pack("<I", len(value)) + name.encode() + value


def mocopi(sent: Sent) -> Iterator[bytes]:
    """Fields of length, name and value, little-endian; quaternion x y z w, then place."""
    torso = [f"torso_{n}" for n in range(1, 8)]
    chain = ["root", *torso, "neck_1", "neck_2", "head"]
    parents = [0xFFFF, *range(10)]
    parts: list[tuple[str, Any]] = [("root", PERSON["hips"][1])]
    whole = [a + b for a, b in zip(PERSON["spine"][1], PERSON["chest"][1])]
    parts += [(name, [v / 7.0 for v in whole]) for name in torso]
    parts += [("neck_1", PERSON["neck"][1]), ("neck_2", [0.5 * v for v in PERSON["head"][1]])]
    parts += [("head", [0.5 * v for v in PERSON["head"][1]])]
    assert [name for name, _ in parts] == chain
    for side in ("left", "right"):
        begin = len(parts)
        parts += [(f"{side[0]}_{p}", PERSON[f"{side}_{p}"][1]) for p in ("shoulder", "upper_arm", "lower_arm", "hand")]
        parents += [chain.index("torso_7"), begin, begin + 1, begin + 2]
    for side in ("left", "right"):
        begin = len(parts)
        parts += [(f"{side[0]}_{p}", PERSON[f"{side}_{p}"][1]) for p in ("upper_leg", "lower_leg", "foot", "toes")]
        parents += [0, begin, begin + 1, begin + 2]
    assert len(parts) == 27

    def tran(index: int, angle: float) -> bytes:
        name, place = parts[index]
        half = 0.5 * angle if name == "l_upper_arm" else 0.0
        return _field("tran", struct.pack("<7f", 0.0, 0.0, math.sin(half), math.cos(half), *_y_up(place)))

    head = _field("head", _field("ftyp", b"sony motion format") + _field("vrsn", b"\1"))
    head += _field("sndf", _field("ipad", bytes(8)) + _field("rcvp", struct.pack("<H", 12351)))
    bones = b"".join(
        _field(
            "bndt", _field("bnid", struct.pack("<H", b)) + _field("pbid", struct.pack("<H", parents[b])) + tran(b, 0.0)
        )
        for b in range(27)
    )
    yield head + _field("skdf", _field("bons", bones))
    for k, (time, angle) in enumerate(zip(sent.times, sent.angles)):
        bones = b"".join(_field("btdt", _field("bnid", struct.pack("<H", b)) + tran(b, angle)) for b in range(27))
        frame = _field("fnum", struct.pack("<I", k)) + _field("time", struct.pack("<f", time))
        yield head + _field("fram", frame + _field("uttm", struct.pack("<d", 1.7e9 + time)) + _field("btrs", bones))


def _lz4(data: bytes) -> bytes:
    """An LZ4 frame by its specification, in literals but for one match: the first four bytes come twice."""
    block = bytearray([0x40, *data[:4], 4, 0])  # four literals, then a match of four, four back
    rest = data[8:] if data[4:8] == data[:4] else data[4:]
    if data[4:8] != data[:4]:
        block = bytearray()
        rest = data
    count = len(rest)
    block += bytes([min(count, 15) << 4])
    if count >= 15:
        count -= 15
        block += b"\xff" * (count // 255) + bytes([count % 255])
    block += rest
    return b"\x04\x22\x4d\x18\x60\x40\x82" + struct.pack("<I", len(block)) + bytes(block) + bytes(4)


def rokoko(sent: Sent) -> Iterator[bytes]:
    """JSON v3: places and turns in the world, on Unity's axes; every other datagram as an LZ4 frame."""
    names = {"hips": "hip", "spine": "spine", "chest": "chest", "neck": "neck", "head": "head"}
    for side in ("left", "right"):
        names |= {
            f"{side}_{ours}": side + theirs
            for ours, theirs in (
                ("shoulder", "Shoulder"), ("upper_arm", "UpperArm"), ("lower_arm", "LowerArm"), ("hand", "Hand"),
                ("upper_leg", "UpLeg"), ("lower_leg", "Leg"), ("foot", "Foot"), ("toes", "Toe"),
            )
        }  # fmt: skip
    for k, (time, angle) in enumerate(zip(sent.times, sent.angles)):
        body = {}
        for part, (at, turn) in places(angle).items():
            w, x, _, _ = quaternion(turn)
            body[names[part]] = {
                "position": {"x": -at[1], "y": at[2], "z": at[0]},
                "rotation": {"x": 0.0, "y": 0.0, "z": -x, "w": w},
            }
        scene = {"timestamp": time, "actors": [{"name": "A", "body": body}], "props": []}
        data = ("    " * (k % 2 * 2) + json.dumps({"version": "3,0", "fps": 60, "scene": scene})).encode()
        yield _lz4(data) if k % 2 else data


def unreal(sent: Sent) -> Iterator[bytes]:
    """Bones in their parent's frame, centimeters, y to the right."""
    names = list(PERSON)
    for angle in sent.angles:
        bones = []
        for name, (above, (x, y, z)) in PERSON.items():
            half = 0.5 * angle if name == "left_upper_arm" else 0.0
            bones.append(
                {
                    "Name": name,
                    "Parent": names.index(above) if above else -1,
                    "Scale": [1, 1, 1],
                    "Location": [100.0 * x, -100.0 * y, 100.0 * z],
                    "Rotation": [-math.sin(half), 0.0, 0.0, math.cos(half)],
                }
            )
        yield json.dumps({"A": bones}).encode()


SENDERS: dict[str, Callable[[Sent], Iterator[bytes]]] = {
    "poise": own, "vmc": vmc, "bvh": neuron, "axis": studio, "xsens": xsens, "mocopi": mocopi, "rokoko": rokoko,
    "unreal": unreal,
}  # fmt: skip
