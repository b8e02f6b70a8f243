"""What a character is made of: bodies with shape and limits, contact points, limbs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from poise.core.typing import Array


@dataclass(frozen=True)
class Capsule:
    """A rod with round ends, in the frame of its body [m].

    Example:
        >>> shin = poise.body.Capsule(np.zeros(3), np.array([0.0, 0.0, -0.4]), radius=0.05)
    """

    start: Array
    end: Array
    radius: float


@dataclass(frozen=True)
class Limits:
    """How far a joint turns.

    A ball joint is split as rotation = swing · twist about `axis` (the bone's direction, in the joint's own frame);
    both are measured from `rest`. A hinge uses `twist_lower` and `twist_upper` about its own axis, `rest` unused.

    Example:
        >>> knee = next(body.limits for body in character.bodies if body.limits is not None)
        >>> twist = np.degrees([knee.twist_lower, knee.twist_upper])

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

    Example:
        >>> foot = character.bodies[character.roles["left_foot"]]
        >>> assert foot.mass > 0.0  # [kg]

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

    Example:
        >>> names = [point.name for point in character.contact_points]

    Attributes:
        name: Unique, such as "LeftFoot.heel.out".
        body: Index of its body.
        offset: Center in the body's frame [m], shape (3,).
        radius: The touching point lies this far from the center against the surface's normal [m]; 0 for soles.
        part: "foot", "hand", "knee", "elbow", "head" or "trunk"; "ankle" of a foot without a heel; "thing" for what is
            not a figure.
    """

    name: str
    body: int
    offset: Array
    radius: float
    part: str


@dataclass(frozen=True)
class Limb:
    """A chain of bodies with a purpose.

    Example:
        >>> legs = [limb.bodies for limb in character.limbs if limb.kind == "leg"]

    Attributes:
        name: Unique, such as "left_leg" or "tail".
        kind: "leg", "arm", "spine", "neck", "tail" or "other".
        bodies: Body indices from the trunk outwards.
        role: What it does while an actor is followed: "support", "targeted" or "free"; "" where nobody has said.
        actor: The limb of the actor that drives it, such as "left_leg"; "" for none.
    """

    name: str
    kind: str
    bodies: tuple[int, ...]
    role: str = ""
    actor: str = ""


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """The same names, later doubles told apart by a number: ("a", "a") becomes ("a", "a.2")."""
    seen: set[str] = set()
    result: list[str] = []
    for name in names:
        given, count = name or "unnamed", 1
        while given in seen:
            count += 1
            given = f"{name or 'unnamed'}.{count}"
        seen.add(given)
        result.append(given)
    return tuple(result)
