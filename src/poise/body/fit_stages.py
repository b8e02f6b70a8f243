"""A character from any skeleton, with no parameters: each stage takes values and gives one, and is entered once.

Anatomy (what the joints are for), frames (which of them are bodies), ground (feet, floor, soles), shapes, masses,
joints (kinds and limits), contact points.

Shapes are capsules as thick as that part of a figure is. Contact points are soles fitted to the clip, and small spheres
on hands, knees, elbows, head, trunk and ankles without a heel.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from poise.body import anthropometry
from poise.body.anatomy import Anatomy, gather_poses
from poise.body.feet import Foot, Ground, find_ground, leg_length
from poise.body.fit_bodies import Frames, make_frames
from poise.body.limbs import find_anatomy
from poise.body.limits import Joints, fit_joints
from poise.body.parts import Body, Capsule, ContactPoint, Limb, unique_names
from poise.body.stride import standing_in
from poise.core.errors import InvalidValue, MotionWarning, require, require_each
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.core.units import HUMAN_LEG
from poise.intake.anatomy import anatomy_of, height_of


@dataclass(frozen=True)
class Shapes:
    """Shape of the B bodies.

    Attributes:
        radii: Thickness [m], shape (B,).
        capsules: Capsules of each body.
        lengths: Length of all bones of each body [m]; a body without any counts as its own thickness.
        middle: Where the root body is, if it is a root on the ground that only carries; else None.
    """

    radii: tuple[float, ...]
    capsules: tuple[tuple[Capsule, ...], ...]
    lengths: tuple[float, ...]
    middle: Array | None


def make_shapes(frames: Frames, ground: Ground) -> Shapes:
    """Capsules of all bodies, feet laid on their soles."""
    middle = far_middle(frames, 0)
    radii, capsules = _shapes(frames, ground, middle)
    lengths = [max(sum(float(np.linalg.norm(t)) for t in tips), 2.0 * r) for tips, r in zip(frames.tips, radii)]
    if middle is not None:
        lengths[0] = 2.0 * radii[0]
    return Shapes(radii, capsules, tuple(lengths), middle)


def _shapes(
    frames: Frames, ground: Ground, middle: Array | None
) -> tuple[tuple[float, ...], tuple[tuple[Capsule, ...], ...]]:
    """Thickness [m] and capsules of each body."""
    feet = ground.feet
    radii: list[float] = []
    shapes: list[tuple[Capsule, ...]] = []
    foot_bodies = {b for foot in feet for b in (foot.ankle, foot.last) if frames.parts[b] in ("foot", "toe")}
    tips_of_feet = {foot.last: foot.tip for foot in feet}
    drops = {frames.parents[foot.ankle]: _drop(foot, ground) for foot in feet if frames.parts[foot.ankle] == "foot"}
    for i, part in enumerate(frames.parts):
        tips = frames.tips[i] or ((tips_of_feet[i],) if i in tips_of_feet else ())
        far = max((float(np.linalg.norm(t)) for t in tips), default=0.0)
        radius = anthropometry.radius_of(part, far, frames.scale)
        radii.append(radius)
        ends = [t for t in tips if np.linalg.norm(t) > 0.3 * radius]
        if i in foot_bodies:
            shapes.append(_foot_shape(i, tips, ground, radius))
        elif part == "head" and ends:
            top = ends[0]
            inset = min(radius / far, 0.45)
            low = min(0.35, radius / far) * top
            shapes.append((Capsule(low, (1.0 - inset) * top if inset < 0.6 else top, radius),))
        elif i == 0 and middle is not None:
            shapes.append((Capsule(middle, middle, radius),))
        elif part in ("pelvis", "chest") and len(ends) > 1:
            shapes.append(tuple(_trunk_capsule(t, radius) for t in ends))
        elif i in drops and len(ends) == 1:
            # the round end at the ankle must not reach through the sole
            short = min(max(radius - drops[i], 0.0), 0.3 * far)
            shapes.append((Capsule(np.zeros(3), ends[0] * (1.0 - short / far), radius),))
        elif ends:
            shapes.append(tuple(Capsule(np.zeros(3), t, radius) for t in ends))
        else:
            shapes.append((Capsule(np.zeros(3), np.zeros(3), radius),))
    for i, ankle in _ankle_shapes(frames, ground, radii, shapes).items():
        shapes[i] = (*shapes[i], ankle)
    return tuple(radii), tuple(shapes)


def _ankle_shapes(
    frames: Frames, ground: Ground, radii: list[float], shapes: list[tuple[Capsule, ...]]
) -> dict[int, Capsule]:
    """By ankle: a capsule down to the foot, where the ankle is so high that the shank would end in the air.

    Either all feet have one or none: both legs are built alike.
    """
    found: dict[int, Capsule] = {}
    for ankle in (foot.ankle for foot in ground.feet if frames.parts[foot.ankle] == "foot"):
        if (plane := ground.plane(ankle)) is None:
            continue
        heel, _, up = plane
        lift, shank, height = shapes[ankle][0].radius, radii[frames.parents[ankle]], float(-heel @ up)
        if height <= 2.0 * lift + shank:
            return {}
        found[ankle] = Capsule(np.zeros(3), -up * (height - lift), min(shank, lift))
    return found


def _trunk_capsule(tip: Array, radius: float) -> Capsule:
    """A capsule towards a limb's root that ends inside the trunk's outline."""
    length = float(np.linalg.norm(tip))
    return Capsule(np.zeros(3), tip * max(length - 0.5 * radius, 0.3 * length) / length, radius)


def _foot_shape(body: int, tips: tuple[Array, ...], ground: Ground, radius: float) -> tuple[Capsule, ...]:
    """A foot lies on its sole: from heel to ball, or from the toe joint to the tip, raised by its own thickness."""
    plane = ground.plane(body)
    if plane is not None:
        heel, ball, up = plane
        lift = min(radius, 0.8 * float(-heel @ up))
        along = (ball - heel) / float(np.linalg.norm(ball - heel))
        return (Capsule(heel + (up + along) * lift, ball + up * lift, lift),)
    tip = tips[0] if tips else np.zeros(3)
    if np.linalg.norm(tip) > 0.3 * radius:
        return (Capsule(np.zeros(3), tip, radius),)
    return (Capsule(np.zeros(3), np.zeros(3), radius),)


def _drop(foot: Foot, ground: Ground) -> float:
    """Height of an ankle over the foot's sole [m]; infinite for paws."""
    plane = ground.plane(foot.ankle)
    return float("inf") if plane is None else float(-plane[0] @ plane[2])


def far_middle(frames: Frames, body: int) -> Array | None:
    """Where all bones of a body end together, far from its joint: a root on the ground that only carries; else None."""
    tips = np.array(frames.tips[body])
    if len(tips) < 2 or float(np.linalg.norm(np.ptp(tips, axis=0))) > 0.05 * frames.scale:
        return None
    middle = tips.mean(axis=0)
    return middle if float(np.linalg.norm(middle)) > 0.15 * frames.scale else None


def make_contact_points(
    frames: Frames, names: tuple[str, ...], ground: Ground, shapes: Shapes
) -> tuple[ContactPoint, ...]:
    """Soles and spheres of all bodies, their names unique."""
    points = [*ground.soles, *_body_spheres(frames, names, shapes, ground)]
    unique = unique_names(p.name for p in points)
    return tuple(ContactPoint(n, p.body, p.offset, p.radius, p.part) for n, p in zip(unique, points))


def _body_spheres(frames: Frames, names: tuple[str, ...], shapes: Shapes, ground: Ground) -> list[ContactPoint]:
    """Spheres on hands, knees, elbows, head and trunk, as thick as the body there but not thicker than the clip shows.

    An ankle over no heel has one of half the foot's thickness, at the end of the shin, so that it is no part of a sole.

    Args:
        frames: Body frames over the poses.
        names: Unique name of each body.
        shapes: Of the bodies.
        ground: How the figure stands.
    """
    radii = shapes.radii
    points: list[ContactPoint] = []

    def add(label: str, body: int, offset: Array, radius: float, part: str) -> None:
        center, fitting = _out_of_floor(frames, body, offset, radius, ground.floor)
        points.append(ContactPoint(f"{names[body]}.{label}", body, center, fitting, part))

    for i, part in enumerate(frames.parts):
        tips, r = frames.tips[i], radii[i]
        if part == "hand" and tips:
            add("wrist", i, np.zeros(3), 0.9 * r, "hand")
            add("fingers", i, 0.92 * tips[0], 0.5 * r, "hand")
        elif part == "forearm":
            add("elbow", i, np.zeros(3), r, "elbow")
            if not any(frames.parents[k] == i for k in range(frames.body_count)) and tips:
                add("hand", i, tips[0], 0.9 * r, "hand")
        elif part == "shin":
            add("knee", i, np.zeros(3), r, "knee")
        elif part == "head":
            add("head", i, 0.55 * tips[0] if tips else np.zeros(3), r, "head")
            far = float(np.linalg.norm(tips[0])) if tips else 0.0
            if 0.45 * far > BARE_CROWN * r:  # one ball does not reach to the end of a large head
                add("crown", i, (1.0 - r / far) * tips[0], r, "head")
        elif part == "pelvis":
            add("pelvis", i, np.zeros(3) if shapes.middle is None else shapes.middle, r, "trunk")
        elif part == "chest":
            add("chest", i, np.mean(tips, axis=0) if tips else np.zeros(3), r, "trunk")
        if part in ("thigh", "upper_arm") and frames.parents[i] >= 0:
            label = f"{frames.sides[i]}_{'hip' if part == 'thigh' else 'shoulder'}"
            thick = 0.9 * r if part == "thigh" else 1.1 * r
            add(label, frames.parents[i], frames.offsets[i], thick, "trunk")
    for ankle in (foot.ankle for foot in ground.feet if foot.has_ankle and not ground.has_heel(foot)):
        add("ankle", frames.parents[ankle], frames.offsets[ankle], 0.5 * radii[ankle], "ankle")
    if not points and len(names):
        for i, tips in enumerate(frames.tips):
            add("end", i, tips[0] if tips else np.zeros(3), radii[i], "trunk")
    return points


def _out_of_floor(frames: Frames, body: int, center: Array, radius: float, floor: float) -> tuple[Array, float]:
    """Center and radius of a sphere that the clip does not push through the floor by more than it must.

    First the sphere is made thinner, to 0.4 of its radius at the least; where it is still too deep (stiff fingers that
    the capture drives through the ground), its center is moved, 6 cm at most, to where it would touch in the deepest
    frames.
    """
    height = float(np.quantile(frames.world(body, center)[:, 2], 0.02)) - floor
    fitting = float(np.clip(height, 0.4 * radius, radius))
    first, most = center, 0.06 * frames.scale
    for _ in range(3):
        world = frames.world(body, center)
        depth = floor + fitting - world[:, 2]
        if float(np.quantile(depth, 0.97)) < 0.005 * frames.scale:
            break
        deep = depth >= np.quantile(depth, 0.93)
        world[:, 2] += np.maximum(depth, 0.0)
        moved = np.median(frames.local(body, world)[deep], axis=0) - first
        center = first + moved * min(1.0, most / max(float(np.linalg.norm(moved)), 1e-9))
    return center, fitting


BARE_CROWN = 1.25
"""A head that reaches farther than this many of its thicknesses from its middle has a second contact point [1]."""

MOST_POSES = 1500
"""Poses that decide shape, limbs and contact points; the limits look at every pose of the clip."""


DRAWN_TALLER = 1.2
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
    rest_poses: Mapping[str, Mapping[str, Array]]
    doubt: str


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
    if anatomy.doubt and "has warned of doubt" not in poses.skeleton.found:  # once for all clips of a skeleton
        poses.skeleton.found["has warned of doubt"] = True
        warnings.warn(anatomy.doubt, MotionWarning, stacklevel=4)
    frames = make_frames(poses, anatomy)
    names = unique_names(poses.skeleton.names[j] for j in frames.joints)
    ground = find_ground(poses, anatomy, frames, names)
    shapes = make_shapes(frames, ground)
    leg = leg_length(ground)
    total = _default_mass(poses.skeleton, ground.rest.frames, anatomy, leg) if mass is None else mass
    two_legged = not anatomy.four_legged
    shares = anthropometry.shares(masses, frames.parts, frames.sides, shapes.lengths, two_legged=two_legged)
    joints = fit_joints(every_pose, frames, anatomy)
    limbs, roles = _limbs(frames, anatomy), _roles(frames, anatomy)
    return Fitted(
        skeleton=poses.skeleton,
        bodies=_bodies(poses.skeleton, frames, shapes, joints, total * shares),
        contact_points=make_contact_points(frames, names, ground, shapes),
        limbs=limbs,
        roles=roles,
        leg_length=leg,
        floor=ground.floor,
        rest_poses=standing_in(poses, frames, limbs, roles, joints.kinds, leg),
        doubt=anatomy.doubt,
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
        stretched = min(stretched, DRAWN_TALLER * height_of(skeleton))
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
