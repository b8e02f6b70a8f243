"""A character from any skeleton, with no parameters: each stage takes values and gives one, and is entered once.

Anatomy (what the joints are for), frames (which of them are bodies), ground (feet, floor, soles), shapes, masses,
joints (kinds and limits), contact points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.body import anthropometry
from poise.body.anatomy import Anatomy, gather_poses
from poise.body.feet import find_ground, leg_length
from poise.body.fit_bodies import Frames, make_frames
from poise.body.limbs import find_anatomy
from poise.body.limits import Joints, fit_joints
from poise.body.parts import Body, ContactPoint, Limb, unique_names
from poise.body.shapes import Shapes, make_contact_points, make_shapes
from poise.core.arguments import require, require_each
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.core.units import HUMAN_LEG
from poise.intake.anatomy import anatomy_of, height_of

MOST_POSES = 1500
"""Poses that decide shape, limbs and contact points; the limits look at every pose of the clip."""


STRETCHED = 1.2
"""A drawn figure is no taller when stretched out than this, against its rest pose [1]."""


THINNEST = 1e-6
"""The skin of anything encloses more than this share of the cube of its longest path through the bones [1]."""


SPINE_STRENGTH = 3.0
"""Strength of spine joints: the trunk holds together better than the limbs."""


@dataclass(frozen=True)
class Fitted:
    """What the stages find: the fields of `poise.body.character.Character`, which see."""

    skeleton: Skeleton
    bodies: tuple[Body, ...]
    contact_points: tuple[ContactPoint, ...]
    limbs: tuple[Limb, ...]
    roles: dict[str, int]
    leg_length: float
    floor: float


def fit_stages(source: Motion | Skeleton | Sequence[Motion], *, mass: float | None, masses: str) -> Fitted:
    """All stages; arguments and errors are those of `poise.body.character.fit`."""
    if isinstance(source, Sequence) and not isinstance(source, str):
        require_each(Motion, source=source)
    else:
        require(Motion, Skeleton, source=source)
    if mass is not None and not (np.isfinite(mass) and mass > 0.0):
        raise InvalidValue(f"The mass must be positive and finite; {mass} kg was given.")
    if masses not in anthropometry.RULES:
        raise InvalidValue(f'masses must be "auto", "anthropometric" or "length"; {masses!r} was given.')
    every_pose = gather_poses(source)
    poses = every_pose.thinned(MOST_POSES)
    anatomy = find_anatomy(poses)
    frames = make_frames(poses, anatomy)
    names = unique_names(poses.skeleton.names[j] for j in frames.joints)
    ground = find_ground(poses, anatomy, frames, names)
    shapes = make_shapes(frames, ground)
    leg = leg_length(ground)
    total = _default_mass(poses.skeleton, ground.rest.frames, anatomy, leg) if mass is None else mass
    two_legged = not anatomy.four_legged
    shares = anthropometry.shares(masses, frames.parts, frames.sides, shapes.lengths, two_legged=two_legged)
    joints = fit_joints(every_pose, frames, anatomy)
    return Fitted(
        skeleton=poses.skeleton,
        bodies=_bodies(poses.skeleton, frames, shapes, joints, total * shares),
        contact_points=make_contact_points(frames, names, ground, shapes),
        limbs=_limbs(frames, anatomy),
        roles=_roles(frames, anatomy),
        leg_length=leg,
        floor=ground.floor,
    )


def _bodies(skeleton: Skeleton, frames: Frames, shapes: Shapes, joints: Joints, masses: Array) -> tuple[Body, ...]:
    bodies: list[Body] = []
    for i, j in enumerate(frames.joints):
        com, inertia = anthropometry.capsule_inertia(shapes.capsules[i], float(masses[i]))
        bodies.append(
            Body(
                name=skeleton.names[j],
                joint=j,
                parent=frames.parents[i],
                offset=frames.offsets[i],
                kind=joints.kinds[i],
                mass=float(masses[i]),
                com=com,
                inertia=inertia,
                capsules=shapes.capsules[i],
                axis=joints.axes[i],
                limits=joints.limits[i],
                strength=SPINE_STRENGTH if i and frames.parts[i] in ("spine", "chest") else 1.0,
                rest_rotation=joints.rests[i],
            )
        )
    return tuple(bodies)


def _default_mass(skeleton: Skeleton, frames: Frames, anatomy: Anatomy, leg: float) -> float:
    """Mass of a figure when none is given [kg]: what its file says, else by its size; a hand alone by its length."""
    if skeleton.mass:
        return skeleton.mass
    known = anatomy_of(skeleton)
    if known.is_hand:
        return anthropometry.PERSON_MASS * anthropometry.DE_LEVA["hand"] * (known.leg_length / HUMAN_LEG) ** 3
    legs, volume = anatomy.limbs("leg"), skeleton.skin_volume
    if volume and not THINNEST * anatomy.span**3 < volume < anatomy.span**3:
        volume = None  # the skin of a broken file is not where its bones are, or has shrunk to nothing at rest
    if volume and (len(legs) > 4 or not (legs or anatomy.limbs("arm"))):
        return anthropometry.beast_mass(volume)
    height = _height(skeleton, frames, anatomy, leg)
    return anthropometry.default_mass(height, two_legged=not anatomy.four_legged, volume=volume)


def _height(skeleton: Skeleton, frames: Frames, anatomy: Anatomy, leg_length: float) -> float:
    """Stature that a mass goes with [m]: leg, spine, neck and head stretched out, on two legs at least twice the leg.

    (Otherwise, a missing trunk bone would make a child of an adult.) If this is not a person's height, a figure on two
    legs has the height that every command prints. One on four legs without a neck is at least as high as its rest pose.
    """
    by_joint = {j: i for i, j in enumerate(frames.joints)}
    heights = [leg_length]
    for chain in anatomy.limbs("neck"):
        body = by_joint[chain.joints[-1]]
        height = leg_length + max((float(np.linalg.norm(t)) for t in frames.tips[body]), default=0.0)
        while body > 0:
            height += float(np.linalg.norm(frames.offsets[body]))
            body = frames.parents[body]
        heights.append(height)
    if len(anatomy.limbs("leg")) > 4:  # a spider's legs do not give its height
        return max(height_of(skeleton), 0.2 * leg_length)
    if anatomy.four_legged:
        return max(heights) if anatomy.limbs("neck") else max(*heights, height_of(skeleton))
    stretched = max(*heights, 2.0 * leg_length)
    if skeleton.skin is not None and anatomy.limbs("arm"):  # without arms it may crouch on bent legs, as birds do
        stretched = min(stretched, STRETCHED * height_of(skeleton))
    low, high = anthropometry.PERSON_HEIGHTS
    if low <= stretched <= high or len(anatomy.limbs("leg")) != 2:
        return stretched
    return max(height_of(skeleton), 1.6 * leg_length)


def _limbs(frames: Frames, anatomy: Anatomy) -> tuple[Limb, ...]:
    by_joint = {j: i for i, j in enumerate(frames.joints)}
    names = unique_names(c.name for c in anatomy.chains)
    return tuple(Limb(n, c.kind, tuple(by_joint[j] for j in c.joints)) for n, c in zip(names, anatomy.chains))


_LEG_ROLES = ("hip", "knee", "foot", "toe")


_ARM_ROLES = ("shoulder", "elbow", "hand")


_FRONT_ROLES = ("shoulder", "elbow", "foot", "toe")


def _roles(frames: Frames, anatomy: Anatomy) -> dict[str, int]:
    """Body by role. On four legs "left_foot" is also the hind foot and "left_hand" the front one."""
    by_joint = {j: i for i, j in enumerate(frames.joints)}
    # the pelvis is where the legs hang; the root body may be a trunk above it
    hubs = [by_joint.get(chain.hub, 0) for chain in anatomy.limbs("leg") if chain.place != "front"]
    roles = {"pelvis": max(set(hubs), key=hubs.count, default=0), "chest": by_joint.get(anatomy.chest, 0)}
    for chain in anatomy.chains:
        bodies = [by_joint[j] for j in chain.joints]
        if chain.kind == "neck":
            roles.setdefault("neck", bodies[0])
            roles.setdefault("head", bodies[-1])
        elif chain.kind == "tail":
            roles.setdefault("tail", bodies[0])
        elif chain.kind in ("arm", "leg"):
            prefix = f"{chain.side}_{chain.place}_" if chain.place else f"{chain.side}_"
            role_names = _ARM_ROLES if chain.kind == "arm" else _FRONT_ROLES if chain.place == "front" else _LEG_ROLES
            if chain.upper:
                roles.setdefault(f"{chain.side}_collar", bodies[chain.upper - 1])
            main = bodies[chain.upper :]
            for word, body in zip(role_names, main):
                roles.setdefault(prefix + word, body)
            for missing in role_names[len(main) : 3]:
                roles.setdefault(prefix + missing, main[-1])
            if chain.place == "hind":
                for word, body in zip(_LEG_ROLES, main):
                    roles.setdefault(f"{chain.side}_{word}", body)
            if chain.place == "front":
                for word, body in zip(_ARM_ROLES, main):
                    roles.setdefault(f"{chain.side}_{word}", body)
    return roles
