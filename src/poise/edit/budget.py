"""What an edit may change at most: joints, single limbs and joints, the root."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from poise.body.character import Character
from poise.core.errors import InvalidValue, UnknownName
from poise.core.skeleton import Skeleton

_LENGTHS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001}
_PART = re.compile(r"(\S(?:.*\S)?)\s+([0-9.]+(?:e-?\d+)?)\s*(deg|°|rad|m|dm|cm|mm)", re.IGNORECASE)


@dataclass(frozen=True)
class Budget:
    """What an edit may change at most.

    Example:
        >>> budget = poise.edit.Budget.parse("joint 3deg, root 2cm")
        >>> edited = poise.edit.ground(motion, character, budget=budget, verify=False)

    Attributes:
        joint: How far any joint may turn, the root among them unless `root_turn` says otherwise [rad].
        root: How far the root may move [m].
        root_turn: How far the root may turn [rad].
        parts: How far the joints of a limb, a role, a body or a joint of this name may turn instead [rad]. Where
            several names mean one joint, the last one counts.
    """

    joint: float = math.inf
    root: float = math.inf
    root_turn: float = math.inf
    parts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in (self.limits | dict(self.parts)).items():
            if math.isnan(value) or value < 0.0:
                raise InvalidValue(f"The budget for {name} is {value}; give zero or more.")

    @property
    def limits(self) -> dict[str, float]:
        """Of joints and root by name, [rad] and [m]."""
        return {"joint": self.joint, "root": self.root, "root_turn": self.root_turn}

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read a budget as a user types it: "joint 3deg, left_arm 10deg, root 2cm"; "root 5deg" is for the root's turn.

        Raises:
            InvalidValue: naming the part that cannot be read.
        """
        found: dict[str, float] = {}
        parts: dict[str, float] = {}
        for part in (p.strip() for p in text.split(",")):
            match = _PART.fullmatch(part)
            try:
                number = float(match[2]) if match else math.nan
            except ValueError:
                number = math.nan
            if match is None or math.isnan(number):
                raise InvalidValue(
                    f"Budget {part!r} cannot be read. Write it as 'joint 3deg, root 2cm', or with limbs and joints of "
                    "their own as 'joint 3deg, left_arm 10deg, root 2cm'."
                )
            name, unit = match[1].lower(), match[3].lower()
            if unit in _LENGTHS:
                if name != "root":
                    raise InvalidValue(f"Budget {part!r}: joints turn; give an angle, such as '{match[1]} 3deg'.")
                found["root"] = number * _LENGTHS[unit]
                continue
            angle = number if unit == "rad" else math.radians(number)
            if name in ("joint", "root"):
                found["joint" if name == "joint" else "root_turn"] = angle
            else:
                parts[match[1]] = angle
        return cls(**found, parts=parts)

    def joints_of(self, skeleton: Skeleton, character: Character | None) -> dict[str, list[int]]:
        """Joints that each of `parts` is for, each joint once, under the last name that means it.

        Args:
            skeleton: Whose joints.
            character: Knows limbs and roles; without one, only joints have names.

        Raises:
            UnknownName: if a name is not a limb, role, body or joint.
        """
        owner = {joint: name for name in self.parts for joint in joints_named(name, skeleton, character)}
        return {name: found for name in self.parts if (found := [j for j, n in owner.items() if n == name])}


def joints_named(name: str, skeleton: Skeleton, character: Character | None) -> list[int]:
    """Joints of a limb, of a role or body, or the joint of this name.

    Raises:
        UnknownName: if it is none of them.
    """
    wanted = name.strip().lower()
    if character is not None:
        for limb in character.limbs:
            if limb.name.lower() == wanted:
                return [character.bodies[b].joint for b in limb.bodies]
    own = [j for j, n in enumerate(skeleton.names) if n.lower() == wanted]
    if own:
        return own
    if character is None:
        raise UnknownName(f"No joint {name!r}. Joints: {', '.join(skeleton.names)}.")
    try:
        return [character.bodies[character.body_index(name)].joint]
    except UnknownName as error:
        limbs = ", ".join(limb.name for limb in character.limbs)
        raise UnknownName(f"The budget names {name!r}, which is not a limb ({limbs}). {error}") from None
