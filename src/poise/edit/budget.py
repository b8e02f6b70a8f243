"""How much an edit may change: how much of it is kept, where and how it fades, and the budget that it keeps to."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue, UnknownName
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array

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


@dataclass(frozen=True)
class Scope:
    """How much of an edit is kept, and where it may act.

    Example:
        >>> scope = poise.edit.Scope(amount=0.5, interval=(0.1, 0.4))  # half of the change, in this part only
        >>> edited = poise.edit.ground(motion, character, scope=scope, verify=False)

    Attributes:
        amount: Part of the change that is kept, 0 … 1; 0 gives the motion back as it was.
        interval: First and last time at which anything may change [s]; None for the whole clip.
        blend: Time over which a change comes and goes at the borders of what it is for [s].
    """

    amount: float = 1.0
    interval: tuple[float, float] | None = None
    blend: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 <= self.amount <= 1.0:
            raise InvalidValue(f"amount is {self.amount}; give a number from 0 to 1.")
        if not (math.isfinite(self.blend) and self.blend >= 0.0):
            raise InvalidValue(f"blend is {self.blend} s; give zero or a positive time.")
        if self.interval is not None:
            start, end = self.interval
            if not (math.isfinite(start) and math.isfinite(end) and start < end):
                raise InvalidValue(f"The interval {start:g}:{end:g} is empty; give a start before its end, in seconds.")

    def frames(self, motion: Motion) -> tuple[int, int]:
        """First and last frame that may change.

        Raises:
            InvalidValue: if the interval holds no frame of the motion.
        """
        if self.interval is None:
            return 0, motion.frame_count - 1
        slack = 0.01 * motion.dt
        inside = np.flatnonzero((motion.times >= self.interval[0] - slack) & (motion.times <= self.interval[1] + slack))
        if not len(inside):
            raise InvalidValue(
                f"No frame lies in the interval {self.interval[0]:g}:{self.interval[1]:g} s; the motion lasts "
                f"{motion.duration:.4g} s."
            )
        return int(inside[0]), int(inside[-1])

    def weights(self, motion: Motion) -> Array:
        """Part of a change that each frame takes, shape (F,): 0 outside of the interval, rising to 1 inside it.

        A border at an end of the clip does not fade.
        """
        first, last = self.frames(motion)
        weights = np.zeros(motion.frame_count)
        times = motion.times[first : last + 1]
        inside = np.ones(last - first + 1)
        if self.interval is not None and self.blend > 0.0:
            blend = min(self.blend, 0.5 * float(times[-1] - times[0]))
            if first > 0:
                inside *= smooth_step((times - times[0]) / max(blend, 1e-12))
            if last < motion.frame_count - 1:
                inside *= smooth_step((times[-1] - times) / max(blend, 1e-12))
        weights[first : last + 1] = inside
        return weights


def smooth_step(x: Array) -> Array:
    """0 up to x = 0, 1 from x = 1 on, with first and second derivatives zero at both: 6x⁵ − 15x⁴ + 10x³."""
    x = np.clip(x, 0.0, 1.0)
    return x * x * x * (x * (6.0 * x - 15.0) + 10.0)
