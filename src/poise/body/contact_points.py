"""What touches the world: soles fitted to the clip, and small spheres on hands, knees, elbows, head and trunk."""

from __future__ import annotations

import numpy as np

from poise.body.feet import Ground
from poise.body.fit_bodies import Frames
from poise.body.parts import ContactPoint, unique_names
from poise.body.shapes import Shapes
from poise.core.typing import Array


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
