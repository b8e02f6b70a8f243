"""Unreal's JSON Live Link: UDP, `{subject: [{Name, Parent, Location, Rotation, Scale}, …]}`, cm, Z up, left-handed.

Source: the example plugin of that name reads this form. Bones are in their parent's frame; how the actor stands is not
sent, and its first pose is taken for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.tracking.protocols.own import parse_json
from poise.tracking.protocols.pose import MOST_JOINTS, Decoder, LivePose, PacketError, Skeletons, numbers, turns

PORT = 54321
MOST_ACTORS = 8
CENTIMETER = 0.01


class Reader(Decoder):
    """Reads all subjects that have bones."""

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
