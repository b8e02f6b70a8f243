"""Shape of each body, capsules as thick as that part of a figure is, and the points that touch the world.

These are soles fitted to the clip, and small spheres on hands, knees, elbows, head and trunk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.body import anthropometry
from poise.body.feet import Foot, Ground
from poise.body.fit_bodies import Frames
from poise.body.parts import Capsule, ContactPoint, unique_names
from poise.core.typing import Array


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
            shapes.append((Capsule(0.35 * top, (1.0 - inset) * top if inset < 0.6 else top, radius),))
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
    return tuple(radii), tuple(shapes)


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
    points = [*ground.soles, *_body_spheres(frames, names, shapes, ground.floor)]
    unique = unique_names(p.name for p in points)
    return tuple(ContactPoint(n, p.body, p.offset, p.radius, p.part) for n, p in zip(unique, points))


def _body_spheres(frames: Frames, names: tuple[str, ...], shapes: Shapes, floor: float) -> list[ContactPoint]:
    """Spheres on hands, knees, elbows, head and trunk, as thick as the body there but not thicker than the clip shows.

    Args:
        frames: Body frames over the poses.
        names: Unique name of each body.
        shapes: Of the bodies.
        floor: Height of the floor [m].
    """
    radii = shapes.radii
    points: list[ContactPoint] = []

    def add(label: str, body: int, offset: Array, radius: float, part: str) -> None:
        center, fitting = _out_of_floor(frames, body, offset, radius, floor)
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
        elif part == "pelvis":
            add("pelvis", i, np.zeros(3) if shapes.middle is None else shapes.middle, r, "trunk")
        elif part == "chest":
            add("chest", i, np.mean(tips, axis=0) if tips else np.zeros(3), r, "trunk")
        if part in ("thigh", "upper_arm") and frames.parents[i] >= 0:
            label = f"{frames.sides[i]}_{'hip' if part == 'thigh' else 'shoulder'}"
            thick = 0.9 * r if part == "thigh" else 1.1 * r
            add(label, frames.parents[i], frames.offsets[i], thick, "trunk")
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
