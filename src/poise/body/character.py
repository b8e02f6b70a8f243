"""What a character is: bodies on joints, with mass, shape, limits, strength, and the points that may touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import accumulate

import numpy as np

from poise.body.fit_stages import fit_stages
from poise.body.parts import Body, Capsule, ContactPoint, Limb, Limits
from poise.core.errors import InvalidValue, UnknownName, did_you_mean
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.core.units import HUMAN_LEG

__all__ = ["Q_SIZES", "V_SIZES", "Body", "Capsule", "Character", "ContactPoint", "Limb", "Limits"]

Q_SIZES = {"free": 7, "ball": 4, "hinge": 1}
"""Coordinates of each kind of body in q."""
V_SIZES = {"free": 6, "ball": 3, "hinge": 1}
"""Degrees of freedom of each kind of body."""


@dataclass(frozen=True)
class Character:
    """A skeleton with weight.

    Attributes:
        skeleton: All joints of the source.
        bodies: The simulated ones, parents first; joints without a body are carried: they keep their source rotation.
        contact_points: What may touch the world.
        limbs: Chains with a purpose.
        roles: Body index by role: "pelvis", "chest", "head", "left_hand", "right_foot", …
        leg_length: Hip to sole of the longest leg [m].
        floor: Height of the floor of the clip it was fitted to, in the clip's world frame [m].
        weights: Settings of tracking that this character needs, by name (`poise.tracking.Settings`).
        rest_poses: Poses by name: of some bodies, by name, the rotation in the parent body's frame, unit wxyz. The one
            called "standing" is how the character stands.
    """

    skeleton: Skeleton
    bodies: tuple[Body, ...]
    contact_points: tuple[ContactPoint, ...]
    limbs: tuple[Limb, ...]
    roles: dict[str, int]
    leg_length: float
    floor: float = 0.0
    weights: Mapping[str, float] = field(default_factory=dict)
    rest_poses: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.bodies or self.bodies[0].kind != "free" or self.bodies[0].parent != -1:
            raise InvalidValue("A character's first body must be its root: kind 'free', parent -1.")
        for b in self.bodies:
            if not b.mass > 0.0 or not np.isfinite(b.mass):
                raise InvalidValue(f"Body {b.name!r} has mass {b.mass} kg; every mass must be positive.")

    @classmethod
    def fit(
        cls, source: Motion | Skeleton | Sequence[Motion], *, mass: float | None = None, masses: str = "auto"
    ) -> Character:
        """Fit a character to a motion, several of one skeleton, or a bare skeleton; see `poise.body.fit.fit`."""
        fitted = fit_stages(source, mass=mass, masses=masses)
        return cls(**{part.name: getattr(fitted, part.name) for part in fields(fitted)})

    @cached_property
    def mass(self) -> float:
        """Total mass [kg]."""
        return float(sum(b.mass for b in self.bodies))

    @cached_property
    def leg_scale(self) -> float:
        """Leg length / 0.82 m (`units.HUMAN_LEG`) [1]: settings' lengths go with it, times and speeds with its root."""
        return self.leg_length / HUMAN_LEG

    @cached_property
    def carrying_joints(self) -> tuple[int, ...]:
        """Joints that the bodies hang on, their own among them, parents first."""
        joints = [b.joint for b in self.bodies]
        return tuple(sorted(set(joints).union(*(self.skeleton.ancestors(j) for j in joints))))

    @cached_property
    def q_addresses(self) -> tuple[int, ...]:
        """First index of each body's coordinates in q."""
        return tuple(accumulate((Q_SIZES[b.kind] for b in self.bodies[:-1]), initial=0))

    @cached_property
    def v_addresses(self) -> tuple[int, ...]:
        """First index of each body's coordinates in v."""
        return tuple(accumulate((V_SIZES[b.kind] for b in self.bodies[:-1]), initial=0))

    @property
    def nq(self) -> int:
        return sum(Q_SIZES[b.kind] for b in self.bodies)

    @property
    def nv(self) -> int:
        return sum(V_SIZES[b.kind] for b in self.bodies)

    def carried(self, body: int) -> tuple[int, ...]:
        """Indices of a body and of all that hang on it, in rising order."""
        inside = {body}
        for i, b in enumerate(self.bodies):
            if b.parent in inside:
                inside.add(i)
        return tuple(sorted(inside))

    @cached_property
    def _indices(self) -> dict[str, int]:
        """Index of a body by every name it answers to, in lower case: bodies go before roles, those before joints."""
        out: dict[str, int] = {}
        for i, b in enumerate(self.bodies):
            out.setdefault(b.name.lower(), i)
        for role, i in self.roles.items():
            out.setdefault(role, i)
        by_joint = {b.joint: i for i, b in enumerate(self.bodies)}
        for j, joint in enumerate(self.skeleton.names):
            while j >= 0 and j not in by_joint:
                j = int(self.skeleton.parents[j])
            out.setdefault(joint.lower(), by_joint.get(j, 0))
        return out

    def body_index(self, name: str) -> int:
        """Index of the body a user means by a joint's own name or a role, case-insensitive.

        A carried joint answers with the body that carries it.

        Raises:
            UnknownName: if nothing answers to the name.
        """
        wanted = name.strip().lower()
        if wanted in self._indices:
            return self._indices[wanted]
        hint = did_you_mean(name, [*self.roles, *(b.name for b in self.bodies)])
        raise UnknownName(
            f"No body or role {name!r}.{hint} Roles: {', '.join(sorted(self.roles))}. "
            f"Joints: {', '.join(b.name for b in self.bodies)}."
        )
