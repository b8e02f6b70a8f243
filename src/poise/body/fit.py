"""A character from any skeleton, with no parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poise.body import anthropometry, contact_points, limits
from poise.body.anatomy import Anatomy
from poise.body.character import Body, Capsule, Character, ContactPoint, Limb
from poise.body.contact_points import Foot
from poise.body.fit_bodies import PERSON_SPAN, Frames, make_frames
from poise.body.fit_poses import Poses, gather_poses
from poise.body.limbs import find_anatomy
from poise.body.mjcf import unique_names
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton

Array = npt.NDArray[np.float64]

MOST_POSES = 1500
"""Poses that decide shape, limbs and contact points; the limits look at every pose of the clip."""

SPINE_STRENGTH = 3.0
"""Strength of spine joints: the trunk holds together better than the limbs."""


def fit(source: Motion | Skeleton | Sequence[Motion], *, mass: float | None = None, masses: str = "auto") -> Character:
    """Fit a character to a motion, to several motions of one skeleton, or to a bare skeleton's rest pose.

    Bodies stand on the joints that matter; fingers, faces, doubled and unturnable joints are carried. Limbs are read
    from geometry and motion (`poise.body.limbs`), capsules sized from bones (`anthropometry`), contact points and
    the floor fitted to the clip (`contact_points`), limits widened until every frame is inside (`limits`).

    Args:
        source: What to fit to.
        mass: Whole mass [kg]; by default 70 kg for a human-sized figure, else 70 kg · (height / 1.7 m)³.
        masses: "auto" shares the mass by the segment table of de Leva (1996) where the figure is a person, else by
            bone length; "anthropometric" by that table, for people only; "length" in proportion to bone length for
            all, as [Levine2012]_ 2.1 does.

    Raises:
        InvalidValue: if the mass is not positive, `masses` is none of these, the motions have different
            skeletons, or the table is asked for a figure that is no person.
    """
    if mass is not None and not (np.isfinite(mass) and mass > 0.0):
        raise InvalidValue(f"The mass must be positive and finite; {mass} kg was given.")
    if masses not in ("length", "anthropometric", "auto"):
        raise InvalidValue(f'masses must be "length", "anthropometric" or "auto"; {masses!r} was given.')
    every_pose = gather_poses(source)
    poses = every_pose.thinned(MOST_POSES)
    anatomy = find_anatomy(poses)
    frames = make_frames(poses, anatomy)
    feet = _feet(poses, anatomy, frames)
    floor = contact_points.find_floor(frames, feet)
    names = unique_names(poses.skeleton.names[j] for j in frames.joints)
    soles = _soles(poses, anatomy, frames, feet, names, floor)
    radii, shapes = _shapes(frames, feet, soles)
    points = soles + contact_points.body_spheres(frames, names, radii, floor)
    leg_length = _leg_length(frames, feet, soles, floor)
    height = _height(frames, anatomy, leg_length)
    total = anthropometry.default_mass(height, two_legged=not anatomy.four_legged) if mass is None else mass
    bone_lengths = _bone_lengths(frames, radii)
    is_person = not anatomy.four_legged and anthropometry.is_person(frames.parts, frames.sides)
    if masses == "length" or (masses == "auto" and not is_person):
        shares = anthropometry.shares_by_length(bone_lengths)
    else:
        shares = anthropometry.shares_by_table(frames.parts, frames.sides, bone_lengths)
    bodies = _bodies(every_pose, anatomy, frames, shapes, total * shares)
    return Character(
        skeleton=poses.skeleton,
        bodies=bodies,
        contact_points=_unique_points(points),
        limbs=_limbs(frames, anatomy),
        roles=_roles(frames, anatomy),
        leg_length=leg_length,
        floor=floor,
    )


def _feet(poses: Poses, anatomy: Anatomy, frames: Frames) -> tuple[Foot, ...]:
    joints = list(frames.joints)
    return contact_points.find_feet(frames, anatomy, poses.speeds[:, joints], poses.rises[:, joints])


def _soles(
    poses: Poses, anatomy: Anatomy, frames: Frames, feet: tuple[Foot, ...], names: tuple[str, ...], floor: float
) -> list[ContactPoint]:
    """Sole points of all feet: from the clip where the foot stands in it, else from the skeleton's rest pose."""
    points: list[ContactPoint] = []
    rest = gather_poses(poses.skeleton)
    for n, foot in enumerate(feet):
        standing = contact_points.stands(frames, foot)
        if standing.sum() < min(3, poses.frame_count):
            rest_frames = make_frames(rest, anatomy)
            as_rest = replace(anatomy, forward=find_anatomy(rest).forward)
            rest_foot = _feet(rest, as_rest, rest_frames)[n]
            if contact_points.stands(rest_frames, rest_foot).any():
                level = contact_points.find_floor(rest_frames, (rest_foot,))
                at = np.ones(1, dtype=bool)
                points += contact_points.sole_points(rest_frames, rest_foot, names[foot.ankle], level, at)
                continue
            standing = foot.slow
        points += contact_points.sole_points(frames, foot, names[foot.ankle], floor, standing)
    return points


def _bodies(
    poses: Poses, anatomy: Anatomy, frames: Frames, shapes: tuple[tuple[Capsule, ...], ...], masses: Array
) -> tuple[Body, ...]:
    skeleton = poses.skeleton
    bodies: list[Body] = []
    for i, j in enumerate(frames.joints):
        com, inertia = anthropometry.capsule_inertia(shapes[i], float(masses[i]))
        hinge = skeleton.hinges.get(j) if i else None
        kind = "free" if i == 0 else "ball" if hinge is None else "hinge"
        rest, bounds = None, None
        if hinge is not None:
            rest = _hinge_rest(poses, frames, i)
            bounds = limits.fit_hinge_limits(hinge, rest, _relative(poses, frames, i))
        elif i:
            bounds = limits.fit_ball_limits(frames, anatomy, i, _relative(poses, frames, i))
        bodies.append(
            Body(
                name=skeleton.names[j],
                joint=j,
                parent=frames.parents[i],
                offset=frames.offsets[i],
                kind=kind,
                mass=float(masses[i]),
                com=com,
                inertia=inertia,
                capsules=shapes[i],
                axis=None if hinge is None else hinge.axis,
                limits=bounds,
                strength=SPINE_STRENGTH if i and frames.parts[i] in ("spine", "chest") else 1.0,
                rest_rotation=rest,
            )
        )
    return tuple(bodies)


def _relative(poses: Poses, frames: Frames, body: int) -> Array:
    """Rotation of a body in its parent body's frame in every pose, shape (F, 4)."""
    parent = poses.orientations[:, frames.joints[frames.parents[body]]]
    return rotations.multiply(rotations.conjugate(parent), poses.orientations[:, frames.joints[body]])


def _hinge_rest(poses: Poses, frames: Frames, body: int) -> Array:
    """Rest rotation of a hinge in its parent *body*: the carried joints between, as they mostly stand, then its own."""
    skeleton, j = poses.skeleton, frames.joints[body]
    between = rotations.IDENTITY
    stop, k = frames.joints[frames.parents[body]], int(skeleton.parents[j])
    while k != stop:
        between = rotations.multiply(limits.mean_rotation(poses.rotations[:, k]), between)
        k = int(skeleton.parents[k])
    return rotations.multiply(between, skeleton.rest_rotations[j])


def _shapes(
    frames: Frames, feet: tuple[Foot, ...], soles: list[ContactPoint]
) -> tuple[tuple[float, ...], tuple[tuple[Capsule, ...], ...]]:
    """Thickness [m] and capsules of each body."""
    radii: list[float] = []
    shapes: list[tuple[Capsule, ...]] = []
    foot_bodies = {b for foot in feet for b in (foot.ankle, foot.last) if frames.parts[b] in ("foot", "toe")}
    tips_of_feet = {foot.last: foot.tip for foot in feet}
    drops = {frames.parents[foot.ankle]: _drop(foot, soles) for foot in feet if frames.parts[foot.ankle] == "foot"}
    for i, part in enumerate(frames.parts):
        tips = frames.tips[i] or ((tips_of_feet[i],) if i in tips_of_feet else ())
        far = max((float(np.linalg.norm(t)) for t in tips), default=0.0)
        radius = anthropometry.radius_of(part, far, frames.scale)
        radii.append(radius)
        ends = [t for t in tips if np.linalg.norm(t) > 0.3 * radius]
        if i in foot_bodies:
            shapes.append(_foot_shape(i, tips, soles, radius))
        elif part == "head" and ends:
            top = ends[0]
            inset = min(radius / far, 0.45)
            shapes.append((Capsule(0.35 * top, (1.0 - inset) * top if inset < 0.6 else top, radius),))
        elif part == "pelvis" and (middle := contact_points.far_middle(frames, i)) is not None:
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
    return tuple(radii), tuple(shapes)


def _trunk_capsule(tip: Array, radius: float) -> Capsule:
    """A capsule towards a limb's root that ends inside the trunk's outline."""
    length = float(np.linalg.norm(tip))
    return Capsule(np.zeros(3), tip * max(length - 0.5 * radius, 0.3 * length) / length, radius)


def _foot_shape(body: int, tips: tuple[Array, ...], soles: list[ContactPoint], radius: float) -> tuple[Capsule, ...]:
    """A foot lies on its sole: from heel to ball, or from the toe joint to the tip, raised by its own thickness."""
    plane = _sole_plane([p for p in soles if p.body == body])
    if plane is not None:
        heel, ball, up = plane
        lift = min(radius, 0.8 * float(-heel @ up))
        along = (ball - heel) / float(np.linalg.norm(ball - heel))
        return (Capsule(heel + (up + along) * lift, ball + up * lift, lift),)
    tip = tips[0] if tips else np.zeros(3)
    if np.linalg.norm(tip) > 0.3 * radius:
        return (Capsule(np.zeros(3), tip, radius),)
    return (Capsule(np.zeros(3), np.zeros(3), radius),)


def _drop(foot: Foot, soles: list[ContactPoint]) -> float:
    """Height of an ankle over the foot's sole [m]; infinite for paws."""
    plane = _sole_plane([p for p in soles if p.body == foot.ankle])
    return float("inf") if plane is None else float(-plane[0] @ plane[2])


def _sole_plane(own: list[ContactPoint]) -> tuple[Array, Array, Array] | None:
    """Middle of the heel, middle of the ball and unit normal towards the ankle, in the foot's frame; None for paws."""
    by_label = {_label(p): p.offset for p in own}
    if not {"heel.in", "heel.out", "ball.in", "ball.out"} <= set(by_label):
        return None
    heel = 0.5 * (by_label["heel.in"] + by_label["heel.out"])
    ball = 0.5 * (by_label["ball.in"] + by_label["ball.out"])
    up = np.cross(ball - heel, by_label["ball.out"] - by_label["ball.in"])
    size = float(np.linalg.norm(up))
    if size < 1e-12:
        return None
    up = up / size
    up = up if heel @ up < 0.0 else -up
    return (heel, ball, up) if -heel @ up > 1e-3 else None


def _label(point: ContactPoint) -> str:
    return ".".join(point.name.split(".")[-2:])


def _bone_lengths(frames: Frames, radii: tuple[float, ...]) -> tuple[float, ...]:
    """Length of all bones of each body [m]; a body without any counts as its own thickness."""
    lengths = [max(sum(float(np.linalg.norm(t)) for t in tips), 2.0 * r) for tips, r in zip(frames.tips, radii)]
    if contact_points.far_middle(frames, 0) is not None:
        lengths[0] = 2.0 * radii[0]
    return tuple(lengths)


def _leg_length(frames: Frames, feet: tuple[Foot, ...], soles: list[ContactPoint], floor: float) -> float:
    """Thigh, shin and what lies below the ankle of the longest leg [m]; without legs, the root's median height.

    Below a person's ankle lies its height over the sole, below a paw's the bone down to the ball.
    """
    lengths: list[float] = []
    for foot in feet:
        body, length = foot.ankle, 0.0
        while frames.parts[body] in ("foot", "shin"):
            length += float(np.linalg.norm(frames.offsets[body]))
            body = frames.parents[body]
        plane = _sole_plane([p for p in soles if p.body == foot.ankle])
        if plane is not None:
            length += float(-plane[0] @ plane[2])
        elif foot.ball_body != foot.ankle or frames.parts[foot.ankle] == "foot":
            length += float(np.linalg.norm(foot.ball if foot.ball_body == foot.ankle else frames.offsets[foot.last]))
        if frames.parts[foot.ankle] == "shin":
            length = float(np.linalg.norm(frames.offsets[foot.ankle]) + np.linalg.norm(foot.tip))
        lengths.append(length)
    if lengths and max(lengths) > 0.0:
        return max(lengths)
    return max(float(np.median(frames.positions[:, 0, 2])) - floor, 0.2 * PERSON_SPAN * frames.scale)


def _height(frames: Frames, anatomy: Anatomy, leg_length: float) -> float:
    """Stature of the figure stretched out [m]: leg, spine, neck and head, on two legs at least twice the leg.

    (Files that lose a trunk bone would otherwise make a child of a grown-up.)
    """
    by_joint = {j: i for i, j in enumerate(frames.joints)}
    height = leg_length
    for chain in (*anatomy.limbs("spine"), *anatomy.limbs("neck")):
        height += sum(float(np.linalg.norm(frames.offsets[by_joint[j]])) for j in chain.joints)
    for chain in anatomy.limbs("neck"):
        height += max((float(np.linalg.norm(t)) for t in frames.tips[by_joint[chain.joints[-1]]]), default=0.0)
    return height if anatomy.four_legged else max(height, 2.0 * leg_length)


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
            words = _ARM_ROLES if chain.kind == "arm" else _FRONT_ROLES if chain.place == "front" else _LEG_ROLES
            if chain.upper:
                roles.setdefault(f"{chain.side}_collar", bodies[chain.upper - 1])
            main = bodies[chain.upper :]
            for word, body in zip(words, main):
                roles.setdefault(prefix + word, body)
            for missing in words[len(main) : 3]:
                roles.setdefault(prefix + missing, main[-1])
            if chain.place == "hind":
                for word, body in zip(_LEG_ROLES, main):
                    roles.setdefault(f"{chain.side}_{word}", body)
            if chain.place == "front":
                for word, body in zip(_ARM_ROLES, main):
                    roles.setdefault(f"{chain.side}_{word}", body)
    return roles


def _unique_points(points: list[ContactPoint]) -> tuple[ContactPoint, ...]:
    names = unique_names(p.name for p in points)
    return tuple(ContactPoint(n, p.body, p.offset, p.radius, p.part) for n, p in zip(names, points))
