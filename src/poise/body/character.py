"""What a character is: bodies on joints, with mass, shape, limits, strength, and the points that may touch."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from poise.core.errors import InvalidValue, UnknownName
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.units import HUMAN_LEG

Array = npt.NDArray[np.float64]

Q_SIZES = {"free": 7, "ball": 4, "hinge": 1}
"""Coordinates of each kind of body in q."""
V_SIZES = {"free": 6, "ball": 3, "hinge": 1}
"""Degrees of freedom of each kind of body."""


@dataclass(frozen=True)
class Capsule:
    """A rod with round ends, in the frame of its body [m]."""

    start: Array
    end: Array
    radius: float


@dataclass(frozen=True)
class Limits:
    """How far a joint turns.

    A ball joint is split as rotation = swing · twist about `axis` (the bone's direction, in the joint's own frame);
    both are measured from `rest`. A hinge uses `twist_lower` and `twist_upper` about its own axis, `rest` unused.

    Attributes:
        rest: Rotation in the parent's frame from which swing and twist are measured, unit wxyz, shape (4,).
        axis: Unit twist axis in the joint's frame, shape (3,).
        swing_axis: Unit axis of the main bend (a knee's flexion), orthogonal to `axis`, shape (3,).
        twist_lower, twist_upper: Twist angle range [rad].
        bend_lower, bend_upper: Swing rotation-vector component about `swing_axis` [rad].
        side_lower, side_upper: Swing component about axis × swing_axis [rad]; narrow for knees and elbows.
    """

    rest: Array
    axis: Array
    swing_axis: Array
    twist_lower: float
    twist_upper: float
    bend_lower: float
    bend_upper: float
    side_lower: float
    side_upper: float


@dataclass(frozen=True)
class Body:
    """One simulated body, moved by one joint of the skeleton.

    Attributes:
        name: The joint's own name.
        joint: Its index in the skeleton.
        parent: Index of the parent body, -1 for the root body.
        offset: Place in the parent body's frame [m], shape (3,); zero for the root body.
        kind: "free" (the root body), "ball" or "hinge".
        axis: Hinge axis in the body's frame, shape (3,), or None.
        mass: [kg].
        com: Center of mass in the body's frame [m], shape (3,).
        inertia: About the center of mass in the body's frame [kg m²], shape (3, 3).
        capsules: Its shape.
        limits: Joint limits, or None where nothing is known.
        strength: Divides the weight of the joint's torque; 1, and 3 for the spine.
        rest_rotation: Turn of a hinge at angle zero in the parent body's frame, unit wxyz; None for others (identity).
    """

    name: str
    joint: int
    parent: int
    offset: Array
    kind: str
    mass: float
    com: Array
    inertia: Array
    capsules: tuple[Capsule, ...]
    axis: Array | None = None
    limits: Limits | None = None
    strength: float = 1.0
    rest_rotation: Array | None = None


@dataclass(frozen=True)
class ContactPoint:
    """A point, or small sphere, that may touch the world.

    Attributes:
        name: Unique, such as "LeftFoot.heel.out".
        body: Index of its body.
        offset: Center in the body's frame [m], shape (3,).
        radius: The touching point lies this far from the center against the surface's normal [m]; 0 for soles.
        part: "foot", "hand", "knee", "elbow", "head" or "trunk"; "thing" for what is no figure.
    """

    name: str
    body: int
    offset: Array
    radius: float
    part: str


@dataclass(frozen=True)
class Limb:
    """A chain of bodies with a purpose.

    Attributes:
        name: Unique, such as "left_leg" or "tail".
        kind: "leg", "arm", "spine", "neck", "tail" or "other".
        bodies: Body indices from the trunk outwards.
    """

    name: str
    kind: str
    bodies: tuple[int, ...]


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
    """

    skeleton: Skeleton
    bodies: tuple[Body, ...]
    contact_points: tuple[ContactPoint, ...]
    limbs: tuple[Limb, ...]
    roles: dict[str, int]
    leg_length: float
    floor: float = 0.0

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
        from poise.body.fit import fit

        return fit(source, mass=mass, masses=masses)

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
        known = [*self.roles, *(b.name.lower() for b in self.bodies)]
        close = difflib.get_close_matches(wanted, known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownName(
            f"No body or role {name!r}.{hint} Roles: {', '.join(sorted(self.roles))}. "
            f"Joints: {', '.join(b.name for b in self.bodies)}."
        )
