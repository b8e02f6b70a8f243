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
            "poise": "skeleton/1", "actor": "A", "names": names,
            "parents": [names.index(above) if above else -1 for above, _ in PERSON.values()],
            "offsets": [list(offset) for _, offset in PERSON.values()],
        }
    ).encode()  # fmt: skip
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


SENDERS: dict[str, Callable[[Sent], Iterator[bytes]]] = {"poise": own, "vmc": vmc}
