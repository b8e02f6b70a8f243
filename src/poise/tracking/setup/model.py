"""A character while it is set up: values in, values out. Every edit of the page is one function here.

Bodies are kept by joint, each against the joint of the body above it; `Setup.character` puts them together. A bone that
gets a body takes the one that Poise proposes for it, else a capsule along its bone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from poise.body.anthropometry import capsule_inertia
from poise.body.character import Body, Capsule, Character, ContactPoint, Limb
from poise.body.parts import unique_names
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.skeleton import Skeleton, rest_pose
from poise.core.typing import Array
from poise.tracking.retarget import KINDS, with_roles

ACTOR_LIMBS = {"left_leg": "leg", "right_leg": "leg", "left_arm": "arm", "right_arm": "arm", "neck": "neck"}
"""Limbs of the actor, a person, and of what kind a limb is that is made for them."""
DENSITY = 1000.0
"""Of a body that nobody has proposed [kg/m³]."""
THICKNESS = 0.18
"""Radius of such a body against the length of its bone [1]."""
DENSITIES = (20.0, 20_000.0)
"""Lightest and heaviest that a body may be made [kg/m³]."""


@dataclass(frozen=True)
class Part:
    """A body, and the joint of the body above it that its place and limits are measured against (-1 for the root)."""

    body: Body
    above: int


@dataclass(frozen=True)
class Chain:
    """A limb by its joints, from the trunk outwards."""

    name: str
    kind: str
    joints: tuple[int, ...]
    role: str = ""
    actor: str = ""


@dataclass(frozen=True)
class Setup:
    """What is edited.

    Attributes:
        proposal: What Poise proposes for this skeleton.
        parts: Bodies by joint.
        limbs: Chains with their roles.
        points: Contact points by joint.
        weights, rest_poses: As the character's.
    """

    proposal: Character
    parts: Mapping[int, Part]
    limbs: tuple[Chain, ...]
    points: tuple[tuple[int, ContactPoint], ...]
    weights: Mapping[str, float] = field(default_factory=dict)
    rest_poses: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)

    @property
    def skeleton(self) -> Skeleton:
        return self.proposal.skeleton

    @property
    def root(self) -> int:
        """The joint of the root body."""
        return self.proposal.bodies[0].joint

    @property
    def order(self) -> tuple[int, ...]:
        """Joints with bodies, parents first, depth first."""
        waiting, found = [self.root], []
        while waiting:
            j = waiting.pop()
            if j in self.parts:
                found.append(j)
            waiting.extend(reversed(self.skeleton.children[j]))
        return tuple(found)

    def above(self, joint: int) -> int:
        """The nearest joint with a body above one; -1 for the root."""
        return next((j for j in self.skeleton.ancestors(joint) if j in self.parts), -1)

    @property
    def character(self) -> Character:
        """The character as it is set up now."""
        order = self.order
        index = {j: i for i, j in enumerate(order)}
        bodies = tuple(self._body(j, index) for j in order)
        limbs = tuple(
            Limb(c.name, c.kind, tuple(index[j] for j in c.joints if j in index), c.role, c.actor)
            for c in self.limbs
            if any(j in index for j in c.joints)
        )
        points = [(index[j], p) for j, p in self.points if j in index]
        names = unique_names(p.name for _, p in points)
        made = tuple(replace(p, name=name, body=b) for name, (b, p) in zip(names, points))
        leg = self._leg_length(bodies, limbs, made)
        poses = {
            pose: {name: turn for name, turn in turns.items() if any(b.name == name for b in bodies)}
            for pose, turns in self.rest_poses.items()
        }
        return Character(
            self.skeleton,
            bodies,
            made,
            limbs,
            self._roles(index, limbs),
            leg,
            self.proposal.floor,
            dict(self.weights),
            poses,
        )

    def _body(self, joint: int, index: Mapping[int, int]) -> Body:
        part, above = self.parts[joint], self.above(joint)
        if above < 0:
            return replace(part.body, parent=-1)
        body = replace(part.body, parent=index[above])
        if above == part.above:
            return body
        # measured against another body: the skeleton's rest pose says how the two lie to each other
        places, turned = rest_pose(self.skeleton)
        back = rotations.conjugate(turned[above])
        offset = rotations.rotate(back, places[joint] - places[above])
        over = part.above if part.above >= 0 else above
        turn = rotations.multiply(back, turned[over])
        limits, rest = body.limits, body.rest_rotation
        if limits is not None:
            limits = replace(limits, rest=rotations.normalize(rotations.multiply(turn, limits.rest)))
        if rest is not None:
            rest = rotations.normalize(rotations.multiply(turn, rest))
        return replace(body, offset=offset, limits=limits, rest_rotation=rest)

    def _roles(self, index: Mapping[int, int], limbs: tuple[Limb, ...]) -> dict[str, int]:
        """The proposal's, where its bodies are still there, and those of legs and arms that were made."""
        found = {
            role: index[self.proposal.bodies[b].joint]
            for role, b in self.proposal.roles.items()
            if self.proposal.bodies[b].joint in index
        }
        found.setdefault("pelvis", 0)
        known = {limb.name for limb in self.proposal.limbs}
        for limb in limbs:
            words = {"leg": ("hip", "knee", "foot", "toe"), "arm": ("shoulder", "elbow", "hand")}.get(limb.kind, ())
            side = limb.name.partition("_")[0]
            if limb.name in known or side not in ("left", "right"):
                continue
            bodies = limb.bodies
            if len(bodies) > len(words):
                bodies = (*bodies[: len(words) - 1], bodies[-1])
            if limb.kind == "leg" and len(bodies) < 3:  # the last of a short leg is its foot
                words = ("hip", "foot") if len(bodies) == 2 else ("foot",)
            for word, body in zip(words, bodies):
                found.setdefault(f"{side}_{word}", body)
        return found

    def _leg_length(self, bodies: tuple[Body, ...], limbs: tuple[Limb, ...], points: tuple[ContactPoint, ...]) -> float:
        lengths = []
        for limb in limbs:
            if limb.role != "support" and limb.kind != "leg":
                continue
            chain = sum(float(np.linalg.norm(bodies[b].offset)) for b in limb.bodies[1:])
            ends = [float(np.linalg.norm(p.offset)) + p.radius for p in points if p.body == limb.bodies[-1]]
            lengths.append(chain + max(ends, default=0.0))
        changed = {limb.name for limb in limbs} != {limb.name for limb in self.proposal.limbs}
        return max(lengths) if changed and lengths and max(lengths) > 0.0 else self.proposal.leg_length


def begin(character: Character) -> Setup:
    """A character as it is, or as Poise proposes it; limbs nobody has said anything of get the roles it proposes."""
    has_roles = any(limb.role for limb in character.limbs)
    given = character if has_roles else with_roles(character)
    joints = [b.joint for b in given.bodies]
    parts = {b.joint: Part(b, joints[b.parent] if b.parent >= 0 else -1) for b in given.bodies}
    limbs = tuple(Chain(x.name, x.kind, tuple(joints[b] for b in x.bodies), x.role, x.actor) for x in given.limbs)
    points = tuple((joints[p.body], p) for p in given.contact_points)
    return Setup(given, parts, limbs, points, dict(given.weights), dict(given.rest_poses))


# --- bodies


def with_body(setup: Setup, joint: int) -> Setup:
    """Give a bone a body."""
    _require_joint(setup, joint)
    if joint in setup.parts:
        return setup
    if setup.root not in setup.skeleton.ancestors(joint):
        raise InvalidValue(f"{setup.skeleton.names[joint]} is not connected to the root body; it cannot get a body.")
    proposed = next((b for b in setup.proposal.bodies if b.joint == joint), None)
    if proposed is not None:
        bodies = setup.proposal.bodies
        above = bodies[proposed.parent].joint
        points = tuple((joint, p) for p in setup.proposal.contact_points if bodies[p.body].joint == joint)
        parts = {**setup.parts, joint: Part(proposed, above)}
        return replace(setup, parts=parts, points=(*setup.points, *points))
    return replace(setup, parts={**setup.parts, joint: Part(_plain_body(setup, joint), -2)})


def _plain_body(setup: Setup, joint: int) -> Body:
    """A capsule along a bone, of the density of water, on a ball joint or the hinge of its file."""
    skeleton = setup.skeleton
    places, turned = rest_pose(skeleton)
    size = float(np.ptp(places, axis=0).max()) or 1.0
    ends = [places[k] for k in skeleton.children[joint]]
    ends += [places[joint] + rotations.rotate(turned[joint], s.offset) for s in skeleton.end_sites if s.joint == joint]
    parent = int(skeleton.parents[joint])
    ends = [e for e in ends if np.linalg.norm(e - places[joint]) > 0.01 * size]
    if ends:
        tip = np.mean(ends, axis=0) - places[joint]
    else:  # on along the bone before
        tip = 0.7 * (places[joint] - places[parent]) if parent >= 0 else np.array([0.0, 0.0, 0.05 * size])
    length = float(np.linalg.norm(tip))
    if length < 0.01 * size:
        tip, length = np.array([0.0, 0.0, 0.03 * size]), 0.03 * size
    local = rotations.rotate(rotations.conjugate(turned[joint]), tip)
    capsule = Capsule(np.zeros(3), local, max(THICKNESS * length, 0.004 * size))
    mass = DENSITY * volume((capsule,))
    com, inertia = capsule_inertia((capsule,), mass)
    hinge = skeleton.hinges.get(joint)
    above = setup.above(joint)
    offset = rotations.rotate(rotations.conjugate(turned[above]), places[joint] - places[above])
    if hinge is None:
        return Body(skeleton.names[joint], joint, 0, offset, "ball", mass, com, inertia, (capsule,))
    rest = rotations.multiply(rotations.conjugate(turned[above]), turned[joint])
    return Body(
        skeleton.names[joint], joint, 0, offset, "hinge", mass, com, inertia, (capsule,), hinge.axis, rest_rotation=rest
    )


def without_body(setup: Setup, joint: int) -> Setup:
    """Take a bone's body; what hung on it hangs on the next one, limbs lose the bone."""
    _require_joint(setup, joint)
    if joint == setup.root:
        raise InvalidValue("The root body cannot be removed; all other bodies depend on it.")
    parts = {j: p for j, p in setup.parts.items() if j != joint}
    limbs = tuple(replace(c, joints=tuple(j for j in c.joints if j != joint)) for c in setup.limbs)
    points = tuple((j, p) for j, p in setup.points if j != joint)
    return replace(setup, parts=parts, limbs=tuple(c for c in limbs if c.joints), points=points)


def filled(setup: Setup, first: int, last: int) -> Setup:
    """Give bodies to all bones on the way from one to another."""
    _require_joint(setup, first)
    _require_joint(setup, last)
    skeleton = setup.skeleton
    ways = [[j, *skeleton.ancestors(j)] for j in (first, last)]
    shared = next((j for j in ways[0] if j in ways[1]), -1)
    way = [*ways[0][: ways[0].index(shared)], *ways[1][: ways[1].index(shared)], shared]
    for joint in sorted(way):
        if joint not in setup.parts and setup.root in skeleton.ancestors(joint):
            setup = with_body(setup, joint)
    return setup


def cleared(setup: Setup) -> Setup:
    """The root body alone."""
    parts = {j: p for j, p in setup.parts.items() if j == setup.root}
    return replace(setup, parts=parts, limbs=(), points=tuple((j, p) for j, p in setup.points if j == setup.root))


def reshaped(setup: Setup, joint: int, index: int, start: Array, end: Array, radius: float) -> Setup:
    """Another size for a capsule of a body, of the same density.

    Args:
        setup: What is edited.
        joint: The bone.
        index: Which capsule of its body.
        start, end: In the body's frame [m].
        radius: [m].
    """
    body = _body(setup, joint)
    if not 0 <= index < len(body.capsules):
        raise InvalidValue(f"{body.name} has no capsule {index + 1}.")
    size = max(float(np.ptp(rest_pose(setup.skeleton)[0], axis=0).max()), 1e-6)
    if not 1e-4 * size <= radius <= size:
        raise InvalidValue(f"A radius of {radius:.3g} m does not go with a figure of {size:.2f} m.")
    if max(float(np.abs(start).max()), float(np.abs(end).max())) > 4.0 * size:
        raise InvalidValue("The capsule would reach further than the figure.")
    density = body.mass / volume(body.capsules)
    capsules = tuple(Capsule(start, end, radius) if k == index else c for k, c in enumerate(body.capsules))
    return _with_mass(setup, joint, capsules, density * volume(capsules))


def with_mass(setup: Setup, joint: int, mass: float) -> Setup:
    """Another mass [kg] for a body."""
    body = _body(setup, joint)
    low, high = (d * volume(body.capsules) for d in DENSITIES)
    if not low <= mass <= high:
        raise InvalidValue(f"{mass:.3g} kg is too {'little' if mass < low else 'much'} for {body.name} at its size.")
    return _with_mass(setup, joint, body.capsules, mass)


def with_density(setup: Setup, joint: int, density: float) -> Setup:
    """Another density [kg/m³] for a body."""
    return with_mass(setup, joint, density * volume(_body(setup, joint).capsules))


def scaled_limb(setup: Setup, limb: str, factor: float) -> Setup:
    """A limb heavier or lighter by a factor."""
    for joint in _limb(setup, limb).joints:
        if joint in setup.parts:
            setup = with_mass(setup, joint, factor * setup.parts[joint].body.mass)
    return setup


def _with_mass(setup: Setup, joint: int, capsules: tuple[Capsule, ...], mass: float) -> Setup:
    part = setup.parts[joint]
    com, inertia = capsule_inertia(capsules, mass)
    body = replace(part.body, capsules=capsules, mass=mass, com=com, inertia=inertia)
    return replace(setup, parts={**setup.parts, joint: replace(part, body=body)})


def with_contact(setup: Setup, joint: int, *, touches: bool) -> Setup:
    """Whether a body may touch the ground: by the round ends of its capsules."""
    body = _body(setup, joint)
    points = tuple((j, p) for j, p in setup.points if j != joint)
    if touches:
        proposed = [p for p in setup.proposal.contact_points if setup.proposal.bodies[p.body].joint == joint]
        part = "foot" if any(joint in c.joints and c.role == "support" for c in setup.limbs) else "trunk"
        made = proposed or [
            ContactPoint(f"{body.name}.{label}", 0, at, c.radius, part)
            for c in body.capsules
            for label, at in (("end", c.end), ("start", c.start))
        ]
        points = (*points, *((joint, p) for p in made))
    return replace(setup, points=points)


def volume(capsules: tuple[Capsule, ...]) -> float:
    """Of capsules, each counted whole [m³]."""
    return (
        sum(math.pi * c.radius**2 * (float(np.linalg.norm(c.end - c.start)) + 4.0 / 3.0 * c.radius) for c in capsules)
        or 1e-9
    )


# --- limbs


def assigned(setup: Setup, joint: int, actor: str) -> Setup:
    """Let a limb of the actor drive the limb that a bone is of; "free" lets it swing. A new limb is made if need be."""
    _require_joint(setup, joint)
    if actor != "free" and actor not in ACTOR_LIMBS:
        raise InvalidValue(f"The actor has no limb {actor!r}. Limbs: {', '.join(ACTOR_LIMBS)}, or free.")
    limb = next((c for c in setup.limbs if joint in c.joints and c.kind != "spine"), None)
    if limb is None:
        setup, limb = _grown(setup, joint, actor)
    role = "free" if actor == "free" else "support" if ACTOR_LIMBS[actor] == "leg" else "targeted"
    return with_role(setup, limb.name, role, "" if actor == "free" else actor)


def _grown(setup: Setup, joint: int, actor: str) -> tuple[Setup, Chain]:
    """A limb through a bone, from where it leaves the trunk to its tip, all its bones with bodies."""
    skeleton = setup.skeleton
    if setup.root == joint or setup.root not in skeleton.ancestors(joint):
        raise InvalidValue(f"{skeleton.names[joint]} belongs to the trunk; a limb begins further out.")
    taken = {j for c in setup.limbs for j in c.joints}
    first = joint
    while True:
        parent = int(skeleton.parents[first])
        if parent == setup.root or parent in taken or _forks(skeleton, parent):
            break
        first = parent
    chain = [first]
    while chain[-1] != joint:  # down to the bone that was meant
        below = chain[-1]
        chain.append(next(k for k in skeleton.children[below] if k == joint or k in skeleton.ancestors(joint)))
    while kids := [k for k in skeleton.children[chain[-1]] if k not in taken]:
        if len(kids) >= 3:
            break  # fingers
        chain.append(max(kids, key=lambda k: _reach(skeleton, k)))
    kind = ACTOR_LIMBS.get(actor, "tail")
    name = {"neck": "neck", "free": "tail"}.get(actor, actor)
    names = unique_names([*(c.name for c in setup.limbs), name])
    limb = Chain(names[-1].replace(".", "_"), kind, tuple(chain))
    for k in chain:
        setup = with_body(setup, k)
    return replace(setup, limbs=(*setup.limbs, limb)), limb


def _reach(skeleton: Skeleton, joint: int) -> float:
    """Length of the longest way from a bone's parent through it to a tip [m]."""
    own = float(np.linalg.norm(skeleton.offsets[joint]))
    return own + max((_reach(skeleton, k) for k in skeleton.children[joint]), default=0.0)


def _forks(skeleton: Skeleton, joint: int) -> bool:
    """Whether two branches of some length leave a bone."""
    reaches = sorted((_reach(skeleton, k) for k in skeleton.children[joint]), reverse=True)
    return len(reaches) > 1 and reaches[1] > 0.25 * reaches[0]


def with_role(setup: Setup, name: str, role: str, actor: str = "") -> Setup:
    """What a limb does, and who drives it. A limb that carries gets points that touch the ground."""
    limb = _limb(setup, name)
    if role not in KINDS:
        raise InvalidValue(f"{role!r} is none of {', '.join(KINDS)}.")
    if actor and actor not in ACTOR_LIMBS:
        raise InvalidValue(f"The actor has no limb {actor!r}. Limbs: {', '.join(ACTOR_LIMBS)}.")
    changed = replace(limb, role=role, actor="" if role == "free" else actor)
    setup = replace(setup, limbs=tuple(changed if c is limb else c for c in setup.limbs))
    ends = [j for j in limb.joints if j in setup.parts]
    if role == "support" and ends and not any(j in ends for j, _ in setup.points):
        setup = with_contact(setup, ends[-1], touches=True)
    return setup


def without_limb(setup: Setup, name: str) -> Setup:
    """Forget that some bodies are a limb; they stay as part of the trunk."""
    limb = _limb(setup, name)
    return replace(setup, limbs=tuple(c for c in setup.limbs if c is not limb))


def with_weight(setup: Setup, name: str, value: float) -> Setup:
    """A weight of tracking that this character needs."""
    from poise.tracking.lists import Settings

    if name not in vars(Settings()):
        raise InvalidValue(f"There is no weight {name!r} of tracking.")
    if not 0.0 <= value <= 1e6:
        raise InvalidValue(f"{name} is {value:g}; give 0 to 1e6.")
    return replace(setup, weights={**setup.weights, name: value})


def _limb(setup: Setup, name: str) -> Chain:
    for limb in setup.limbs:
        if limb.name == name:
            return limb
    raise InvalidValue(f"There is no limb {name!r}. Limbs: {', '.join(c.name for c in setup.limbs) or 'none'}.")


def _body(setup: Setup, joint: int) -> Body:
    _require_joint(setup, joint)
    if joint not in setup.parts:
        raise InvalidValue(f"{setup.skeleton.names[joint]} has no body.")
    return setup.parts[joint].body


def _require_joint(setup: Setup, joint: int) -> None:
    if not 0 <= joint < setup.skeleton.joint_count:
        raise InvalidValue(f"There is no bone {joint}.")
