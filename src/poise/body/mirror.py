"""The plane that mirrors a skeleton's left onto its right, found in the rest pose without names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from poise.core.skeleton import Skeleton
from poise.core.typing import Array

NEAR = 0.03
"""A joint this near to the mirror image of another one is that image, as a share of the span [1]."""
NEARER = 0.1
"""A joint lies in the plane if no other one is nearer to its image by more than this share of `NEAR` [1]."""
LEAST_MIRRORED = 0.7
"""Least share of the joints beside a mirror plane that have an image [1]."""
FEWEST_JOINTS = 4
"""A plane with fewer mirrored joints than this is none."""


def mirror_images(skeleton: Skeleton, counted: Iterable[int], span: float) -> Array | None:
    """For each joint its mirror image at rest: itself in the plane, -1 without one, shape (J,); None without a plane.

    Planes are tried halfway between any two joints on one parent whose bones are as long, and through the root along
    the axes. The plane with the most mirrored joints is taken, less those without an image.

    Args:
        skeleton: The joints.
        counted: Those that speak for a plane: no controls, no things held.
        span: Longest path through the bones [m].
    """
    rest, near = skeleton.rest[0], NEAR * span
    joints = np.array(sorted(counted))
    if len(joints) < FEWEST_JOINTS:
        return None
    places = rest[joints]
    row = {int(j): n for n, j in enumerate(joints)}
    above = [next((row[k] for k in skeleton.ancestors(int(j)) if k in row), -1) for j in joints]
    below = np.array([[k in skeleton.ancestors(int(j)) for j in joints] for k in joints])
    tried = [(_score(*_gaps(places, plane), near), plane) for plane in _planes(skeleton, joints.tolist(), near)]
    best: tuple[float, Array] | None = None
    for most, plane in sorted(tried, key=lambda t: -t[0]):
        if most <= (best[0] if best else 0.0):
            break
        gaps, away = _gaps(places, plane)
        for n, parent in enumerate(above):  # a joint's image goes on from its parent's
            if parent >= 0 and (image := gaps[parent] < near).any():
                gaps[n, ~below[image].any(axis=0)] = np.inf
        score = _score(gaps, away, near)
        if score > (best[0] if best else 0.0):
            found = np.where(gaps.min(axis=1) < near, joints[gaps.argmin(axis=1)], -1)
            best = score, np.where(_in_plane(gaps, away, near), joints, found)
    if best is None:
        return None
    result = np.full(skeleton.joint_count, -1)
    result[joints] = best[1]
    return result


def _gaps(places: Array, plane: tuple[Array, float]) -> tuple[Array, Array]:
    """How far the mirror image of each joint is from every joint, and each joint from the plane [m]."""
    normal, offset = plane
    away = places @ normal - offset
    images = places - 2.0 * away[:, None] * normal
    return np.linalg.norm(images[:, None] - places[None], axis=-1), away


def _in_plane(gaps: Array, away: Array, near: float) -> Array:
    """Whether each joint lies in the plane: no other joint is clearly nearer to its image than itself."""
    return 2.0 * np.abs(away) < np.minimum(gaps.min(axis=1) + NEARER * near, near)


def _score(gaps: Array, away: Array, near: float) -> float:
    """Joints beside the plane with an image, less those without, and less than one for how far the images are off."""
    beside = np.logical_not(_in_plane(gaps, away, near))
    least = gaps[beside].min(axis=1) if beside.any() else np.zeros(0)
    has = len(set(gaps[beside].argmin(axis=1)[least < near].tolist()))  # no joint is the image of two
    if has < max(FEWEST_JOINTS, LEAST_MIRRORED * len(least)):
        return 0.0
    return float(2 * has - len(least)) - 0.9 * float(np.mean(np.minimum(least / near, 1.0)))


def _planes(skeleton: Skeleton, joints: list[int], near: float) -> list[tuple[Array, float]]:
    """Unit normals and offsets of the planes to try, no two alike."""
    rest = skeleton.rest[0]
    planes = [(axis, float(rest[joints[0]] @ axis)) for axis in np.eye(3)]
    chosen = set(joints)
    for kids in skeleton.children:
        kids = [j for j in kids if j in chosen]
        for n, a in enumerate(kids):
            for b in kids[n + 1 :]:
                apart = rest[a] - rest[b]
                far = float(np.linalg.norm(apart))
                lengths = np.linalg.norm(skeleton.offsets[[a, b]], axis=-1)
                if far < near or abs(lengths[0] - lengths[1]) > near:
                    continue
                normal = apart / far
                offset = float(0.5 * (rest[a] + rest[b]) @ normal)
                along = [(float(normal @ other), at) for other, at in planes]
                known = (abs(abs(c) - 1.0) < 1e-3 and abs(offset - np.sign(c) * at) < 0.2 * near for c, at in along)
                if not any(known):
                    planes.append((normal, offset))
    return planes
