"""A character of any shape as human bones turned against a T-pose, as VMC avatars and game engines take it."""

from __future__ import annotations

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses
from poise.core import rotations
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.tracking.protocols.pose import LivePose
from poise.tracking.protocols.vmc import HUMAN
from poise.tracking.retarget import heading, yaw_turn

_ROLES = {"collar": "Shoulder", "shoulder": "UpperArm", "elbow": "LowerArm", "hand": "Hand"} | {
    "hip": "UpperLeg",
    "knee": "LowerLeg",
    "foot": "Foot",
    "toe": "Toes",
}
_SPINE = ("Spine", "Chest", "UpperChest")


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
