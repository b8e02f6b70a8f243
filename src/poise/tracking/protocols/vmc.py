"""Virtual Motion Capture protocol: OSC over UDP, Unity's axes, human bones turned against a T-pose.

Source: the VMC protocol's public specification (protocol.vmc.info, MIT). Root and hips are read as one joint. A bone
that VMC has no name for is sent under its own name, which receivers ignore or look up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from poise.core import rotations
from poise.core.typing import Array
from poise.tracking.protocols import osc
from poise.tracking.protocols.pose import Decoder, Encoder, LivePose, PacketError, Skeletons, numbers, turns

PORT = 39539

_FINGERS = ("Thumb", "Index", "Middle", "Ring", "Little")


def _human() -> dict[str, str]:
    """Unity's human bones with the one each hangs on."""
    bones = {
        "Hips": "", "Spine": "Hips", "Chest": "Spine", "UpperChest": "Chest", "Neck": "UpperChest", "Head": "Neck",
        "Jaw": "Head", "LeftEye": "Head", "RightEye": "Head",
    }  # fmt: skip
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
        self._seen: set[str] = set()
        self._wanted: set[str] = set()
        self._root: list[float] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        self._time: float | None = None
        self._fresh_time: float | None = None
        self.partial = self._missed = 0

    def read(self, packet: bytes) -> list[LivePose]:
        found: list[LivePose] = []
        wrong = ""
        for address, values in osc.read(packet):
            if address == "/VMC/Ext/T" and values and isinstance(values[0], float | int):
                if self._seen and self._fresh_time is not None:
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
                    if name in self._seen:
                        found += self._whole()
                    self._bones[name] = pose
                    self._seen.add(name)
        if self._wanted and self._seen >= self._wanted:
            found += self._whole()
        if wrong and not found:
            raise PacketError(f"A message to {wrong} has too few arguments, or wrong ones.")
        return found

    def _whole(self) -> list[LivePose]:
        """The pose of the bones that have come."""
        self.partial += bool(self._wanted - self._seen)
        if len(self._seen) >= len(self._wanted) or not self._seen & self._wanted:
            self._wanted = set(self._seen)
        elif self._wanted - self._seen:
            self._missed += 1
            if self._missed > 20:  # the sender has really left them out
                self._missed, self._wanted = 0, set(self._seen)
                self._bones = {name: self._bones[name] for name in self._seen}
        self._seen.clear()
        self._time, self._fresh_time = self._fresh_time, None
        if "Hips" not in self._bones:
            return []
        names = [name for name in HUMAN if name in self._bones]
        places = np.array([self._bones[name] for name in names])
        moved, turned = from_unity(
            numbers(places[:, :3], (len(names), 3), "places"), turns(places[:, 3:], len(names))
        )  # fmt: skip
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
    """Writes poses whose joints have human bones' names and no turn in the T-pose; see `humanoid.py`."""

    def write(self, pose: LivePose) -> list[bytes]:
        places, wound = to_unity(pose.translations, pose.rotations)
        messages = [osc.message("/VMC/Ext/OK", 1)]
        messages.append(osc.message("/VMC/Ext/T", float(pose.time or 0.0)))
        messages.append(osc.message("/VMC/Ext/Root/Pos", "root", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
        for name, place, turn in zip(pose.skeleton.names, places.tolist(), wound.tolist()):
            messages.append(osc.message("/VMC/Ext/Bone/Pos", name, *place, *turn))
        return osc.bundles(messages)
