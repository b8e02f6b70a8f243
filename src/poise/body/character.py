"""What a character is: bodies on joints, with mass, shape, limits, strength, and the points that may touch.

`fit` makes one from any skeleton, with no parameters. Ready ones are the built-in adult and child, a skeleton of 18
joints fitted like any other, and single bodies that can be thrown at a figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from itertools import accumulate

import numpy as np

from poise.body.anthropometry import PERSON_MASS
from poise.body.fit_stages import fit_stages
from poise.body.parts import Body, Capsule, ContactPoint, Limb, Limits
from poise.core import rotations
from poise.core.errors import LISTING, InvalidValue, UnknownName, known_names
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Hinge, Skeleton
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

    Example:
        >>> character = poise.Character.fit(motion)
        >>> print(character.mass, character.leg_length)

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
        doubt: Why the limbs may have been read wrongly, as a sentence; "" where nothing speaks against them.
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
    doubt: str = ""

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
        """Fit a character to a motion, several of one skeleton, or a bare skeleton; see `poise.body.character.fit`."""
        known = source.found if isinstance(source, (Motion, Skeleton)) else {}
        asked = f"character {mass} {masses}"
        if asked not in known:
            fitted = fit_stages(source, mass=mass, masses=masses)
            known[asked] = cls(**{part.name: getattr(fitted, part.name) for part in fields(fitted)})
        return known[asked]

    def scaled(self, size: float) -> Character:
        """The same figure this many times as large [1]: lengths by K, masses by K³, inertias by K⁵."""

        def body(b: Body) -> Body:
            rods = tuple(Capsule(size * c.start, size * c.end, size * c.radius) for c in b.capsules)
            return replace(
                b,
                offset=size * b.offset,
                com=size * b.com,
                capsules=rods,
                mass=size**3 * b.mass,
                inertia=size**5 * b.inertia,
            )

        return replace(
            self,
            skeleton=self.skeleton.scaled(size),
            bodies=tuple(body(b) for b in self.bodies),
            contact_points=tuple(
                replace(p, offset=size * p.offset, radius=size * p.radius) for p in self.contact_points
            ),
            leg_length=size * self.leg_length,
            floor=size * self.floor,
        )

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

    @cached_property
    def nq(self) -> int:
        return sum(Q_SIZES[b.kind] for b in self.bodies)

    @cached_property
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
    def indices(self) -> dict[str, int]:
        """Index of each body by all of its names in lower case: its own, its roles, its joints; "hips" as "pelvis"."""
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
        if "pelvis" in self.roles:
            out.setdefault("hips", self.roles["pelvis"])
        return out

    def body_index(self, name: str) -> int:
        """Index of the body a user means by a joint's own name or a role, case-insensitive.

        A carried joint answers with the body that carries it. It is the place in `bodies`; in the physics model, whose
        body 0 is the world, the same body is one later. Quantities take names, too.

        Raises:
            UnknownName: if nothing answers to the name.
        """
        wanted = name.strip().lower()
        if wanted in self.indices:
            return self.indices[wanted]
        known = known_names(name, [*sorted(self.roles), *(b.name for b in self.bodies)], "roles and joints", LISTING)
        raise UnknownName(f"No body or role {name!r}.{known}")


def fit(source: Motion | Skeleton | Sequence[Motion], *, mass: float | None = None, masses: str = "auto") -> Character:
    """Fit a character to a motion, to several motions of one skeleton, or to a bare skeleton's rest pose.

    Bodies stand on the joints that matter; fingers, faces, doubled and unturnable joints are carried. Limbs are read
    from geometry and motion (`poise.body.limbs`). Leg length and mass come from the skeleton alone, so that every clip
    of it gives the same figure. Capsules are sized from bones (`anthropometry`), contact points and the floor fitted
    to the clip (`contact_points`), limits widened until every frame is inside (`limits`). A motion or skeleton
    keeps the character that was fitted to it: asked again, it gives the same one.

    Example:
        >>> fitted = poise.body.fit(motion, mass=62.0)

    Args:
        source: What to fit to.
        mass: Whole mass [kg]; by default 70 kg for a human-sized figure, else 70 kg · (height / 1.7 m)³.
        masses: "auto" shares the mass by the segment table of de Leva (1996) where the figure is a person, else by
            bone length; "anthropometric" by that table, for people only; "length" in proportion to bone length for
            all, as [Levine2012]_ 2.1 does.

    Raises:
        InvalidValue: if the mass is not positive, `masses` is none of these, the motions have different
            skeletons, or the table is asked for a figure that is not a person.
    """
    return Character.fit(source, mass=mass, masses=masses)


def hold_points(character: Character, part: str) -> list[int]:
    """Indices of the contact points that meet a hold: a hand's last, its fingers; the two sides of a foot's ball.

    Args:
        character: Whose.
        part: "left_hand", "right_hand", "left_foot" or "right_foot".

    Raises:
        InvalidValue: if the figure has no such hand or foot, or nothing on it that touches.
    """
    body = character.roles.get(part)
    own = [i for i, p in enumerate(character.contact_points) if p.body == body and p.part in ("hand", "foot")]
    if not own:
        raise InvalidValue(
            f"This figure has no {part.replace('_', ' ')} to hold on with. Roles: "
            f"{', '.join(sorted(character.roles)) or 'none'}."
        )
    if part.endswith("_hand"):
        return own[-1:]
    return [i for i in own if ".ball" in character.contact_points[i].name] or own


def ball(name: str, radius: float, mass: float) -> Character:
    """A solid ball: one free body around its middle, one sphere, and its middle as the one contact point.

    Args:
        name: Of the body, and of the point.
        radius: [m].
        mass: [kg]; its inertia is 2/5 mass radius².

    Raises:
        InvalidValue: if radius or mass is not a positive number.
    """
    for what, value in (("radius", radius), ("mass", mass)):
        if not (np.isfinite(value) and value > 0.0):
            raise InvalidValue(f"Ball {name!r} has {what} {value}; give a positive number.")
    middle = np.zeros(3)
    body = Body(
        name=name,
        joint=0,
        parent=-1,
        offset=middle,
        kind="free",
        mass=mass,
        com=middle,
        inertia=0.4 * mass * radius**2 * np.eye(3),
        capsules=(Capsule(middle, middle, radius),),
    )
    return Character(
        skeleton=Skeleton((name,), np.array([-1]), np.zeros((1, 3)), rotations.IDENTITY[None].copy()),
        bodies=(body,),
        contact_points=(ContactPoint(name, 0, middle, radius, "thing"),),
        limbs=(),
        roles={},
        leg_length=radius,
    )


FIGURES = {"adult": (1.70, 70.0, 1.0), "child": (1.20, 24.0, 1.18)}
"""Stature [m], mass [kg], and the head's size against a grown-up's of the same stature."""

_TRUNK = (
    ("Hips", "", (0.0, 0.0, 0.925)),
    ("Abdomen", "Hips", (0.0, 0.0, 0.10)),
    ("Chest", "Abdomen", (0.0, 0.0, 0.16)),
    ("Head", "Chest", (0.0, 0.0, 0.25)),
)
_SIDE = (
    ("Arm", "Chest", (0.0, 0.18, 0.19)),
    ("ForeArm", "Arm", (0.0, 0.0, -0.28)),
    ("Hand", "ForeArm", (0.0, 0.0, -0.25)),
    ("UpLeg", "Hips", (0.0, 0.09, -0.04)),
    ("Leg", "UpLeg", (0.0, 0.0, -0.41)),
    ("Foot", "Leg", (0.0, 0.0, -0.40)),
    ("Toe", "Foot", (0.135, 0.0, -0.05)),
)
_TIPS = {"Head": (0.0, 0.0, 0.22), "Hand": (0.0, 0.0, -0.17), "Toe": (0.065, 0.0, 0.0)}
_HINGES = {"Leg": (0.0, 150.0), "ForeArm": (-145.0, 0.0), "Toe": (-60.0, 25.0)}
"""Range of the joints with one axis, about the axis to the figure's left [deg]."""


def figure_skeleton(stature: float = 1.70, head: float = 1.0) -> Skeleton:
    """Skeleton of a standing figure that faces +x, soles at z = 0, arms hanging.

    Args:
        stature: [m].
        head: Size of the head against a grown-up's.
    """
    scale = stature / 1.70
    parts = list(_TRUNK)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        own = {name for name, _, _ in _SIDE}
        for name, parent, (x, y, z) in _SIDE:
            parts.append((side + name, side + parent if parent in own else parent, (x, sign * y, z)))
    names = [name for name, _, _ in parts]
    bare = [name.removeprefix("Left").removeprefix("Right") for name in names]
    sites = tuple(
        EndSite(j, scale * np.array(_TIPS[p]) * (head if p == "Head" else 1.0))
        for j, p in enumerate(bare)
        if p in _TIPS
    )
    hinges = {
        j: Hinge(np.array([0.0, 1.0, 0.0]), *np.radians(_HINGES[p]).tolist())
        for j, p in enumerate(bare)
        if p in _HINGES
    }
    return Skeleton(
        names=tuple(names),
        parents=np.array([names.index(parent) if parent else -1 for _, parent, _ in parts], dtype=np.int64),
        offsets=scale * np.array([offset for _, _, offset in parts]),
        rest_rotations=np.tile(rotations.IDENTITY, (len(names), 1)),
        end_sites=sites,
        hinges=hinges,
    )


@cache
def figure(name: str = "adult") -> Character:
    """A built-in figure by name: "adult" (1.70 m, 70 kg) or "child" (1.20 m, 24 kg).

    Raises:
        UnknownName: if there is no such figure.
    """
    if name not in FIGURES:
        raise UnknownName(f"No built-in figure {name!r}. Figures: {', '.join(FIGURES)}; or give a character file.")
    stature, mass, head = FIGURES[name]
    return Character.fit(figure_skeleton(stature, head), mass=mass, masses="anthropometric")


LARGEST = {
    "hip": (250.0, 200.0, 100.0),
    "knee": (300.0, 80.0, 80.0),
    "foot": (200.0, 80.0, 60.0),
    "toe": (30.0, 30.0, 30.0),
    "spine": (250.0, 200.0, 150.0),
    "neck": (40.0, 40.0, 40.0),
    "shoulder": (100.0, 100.0, 100.0),
    "elbow": (80.0, 80.0, 80.0),
    "hand": (20.0, 20.0, 20.0),
    "other": (100.0, 100.0, 100.0),
}
"""Largest torque about bend, side and twist axis of a strong person of `PERSON_MASS` with legs of `HUMAN_LEG` [N m]."""


def torque_of(person: float, character: Character) -> float:
    """What is a torque in a person of `PERSON_MASS` with legs of `HUMAN_LEG`, in a character, by mass and leg [N m]."""
    return person * character.mass * character.leg_length / (PERSON_MASS * HUMAN_LEG)


def torque_limits(character: Character) -> Array:
    """Largest torque of each dof of the joints [N m], shape (nv − 6,), in proportion to mass and leg length.

    A ball joint's limit about an axis of its own frame is that of the ellipsoid spanned by bend, side and twist.
    """
    scale = torque_of(1.0, character)
    parts = _parts(character)
    out = np.empty(character.nv)
    for i, body in enumerate(character.bodies):
        first = character.v_addresses[i]
        size = V_SIZES[body.kind]
        bend, side, twist = (scale * x * (body.strength if parts[i] != "spine" else 1.0) for x in LARGEST[parts[i]])
        if body.kind == "ball" and body.limits is not None:
            along, swing = body.limits.axis, body.limits.swing_axis
            axes = np.stack([swing, np.cross(along, swing), along])
            out[first : first + size] = np.sqrt(((np.array([bend, side, twist])[:, None] * axes) ** 2).sum(axis=0))
        else:
            out[first : first + size] = bend
    return out[6:]


def _parts(character: Character) -> list[str]:
    """Key of `LARGEST` for each body."""
    parts = ["other"] * len(character.bodies)
    for limb in character.limbs:
        if limb.kind in ("spine", "neck"):
            for body in limb.bodies:
                parts[body] = limb.kind
    for role, body in character.roles.items():
        part = role.split("_")[-1]
        if part in LARGEST and part not in ("spine", "neck"):
            parts[body] = part
    return parts
