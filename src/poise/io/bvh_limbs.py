"""Legs, arms and what stands on what, in a BVH figure: by names first, by shape where they say nothing."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.skeleton import Skeleton, world_pose
from poise.io.bvh_document import BvhDocument

Array = npt.NDArray[np.float64]

_SIDES = ("left", "right", "l", "r")
THIGHS = ("upleg", "upperleg", "thigh", "femur", "hip")
UPPER_ARMS = ("uparm", "upperarm", "humerus", "shldr", "arm", "shoulder")


def plain(name: str) -> str:
    """A joint's name without prefix, case, digits of a copy and punctuation: "mixamorig:LeftUpLeg" → "leftupleg"."""
    return re.sub(r"[^a-z0-9]", "", name.rsplit(":", 1)[-1].lower())


def limb(document: BvhDocument, words: tuple[str, ...]) -> list[tuple[int, int, int]]:
    """Chains of three joints whose first bears one of the words with a side; the first word that is found wins."""
    children: dict[int, list[int]] = {}
    for i, joint in enumerate(document.joints):
        children.setdefault(joint.parent, []).append(i)
    for word in words:
        names = {f"{s}{word}" for s in _SIDES} | {f"{word}{s}" for s in ("l", "r")}
        found = []
        for i, joint in enumerate(document.joints):
            name = plain(joint.name)
            is_prefixed = any(
                len(n) > 4 and name.endswith(n) and not name.startswith(n[0]) for n in names
            )  # Bip01 L Thigh
            if name not in names and not is_prefixed:
                continue
            lower = _next(document, children, i)
            end = _next(document, children, lower)
            if end >= 0:
                found.append((i, lower, end))
        if found:
            return found
    return []


def _next(document: BvhDocument, children: dict[int, list[int]], joint: int) -> int:
    """The child at the end of the longest bone, -1 without one."""
    if joint < 0:
        return -1
    return max(children.get(joint, []), key=lambda c: float(np.linalg.norm(document.joints[c].offset)), default=-1)


def leg_length(document: BvhDocument, offsets: Array) -> tuple[float, float, str]:
    """Length of thigh and shank [file units], how sure, and how it was found."""
    lengths = np.linalg.norm(offsets, axis=1)
    legs = limb(document, THIGHS)
    if legs:
        thigh, shin, foot = max(legs, key=lambda c: lengths[c[1]] + lengths[c[2]])
        if lengths[shin] + lengths[foot] > 0.0:
            joints = document.joints
            chain = f"{joints[thigh].name} – {joints[shin].name} – {joints[foot].name}"
            return float(lengths[shin] + lengths[foot]), 1.0, chain
    best, where = 0.0, ""
    for i, joint in enumerate(document.joints):
        if joint.parent > 0 and lengths[i] + lengths[joint.parent] > best:
            best, where = float(lengths[i] + lengths[joint.parent]), f"ending at {joint.name}"
    if best == 0.0:
        best = float(max(lengths[1:].max(initial=0.0), *(np.linalg.norm(s.offset) for s in document.end_sites), 0.0))
        where = "the longest bone"
    return best, 0.5, f"no leg was known by name; the two longest bones in a row, {where}"


def upright(document: BvhDocument, translations: Array, turned: Array) -> Array:
    """Mean direction from the feet to the top of the trunk, shape (3,); shorter than 1 where it varies."""
    skeleton = Skeleton(
        tuple(j.name for j in document.joints),
        np.array([j.parent for j in document.joints]),
        translations[0],
        np.tile(rotations.IDENTITY, (len(document.joints), 1)),
    )
    places, world = world_pose(skeleton, translations, turned)
    feet = [chain[2] for chain in limb(document, THIGHS)]
    if not feet:
        return _standing_on_tips(document, places, world, skeleton)
    hips = [chain[0] for chain in limb(document, THIGHS)]
    up = places[:, hips].mean(axis=1) - places[:, feet].mean(axis=1)
    length = np.linalg.norm(up, axis=1, keepdims=True)
    return np.asarray((up / np.where(length > 1e-9, length, 1.0)).mean(axis=0))


def _standing_on_tips(document: BvhDocument, places: Array, turned: Array, skeleton: Skeleton) -> Array:
    """Without legs known by name: how many tips of chains lie at the low end of each axis, where the body is long."""
    tips = [places[:, s.parent] + rotations.rotate(turned[:, s.parent], s.offset) for s in document.end_sites]
    with_site = {s.parent for s in document.end_sites}
    tips += [places[:, j] for j, kids in enumerate(skeleton.children) if not kids and j not in with_site]
    ends = np.stack(tips, axis=1)
    extent = np.ptp(ends, axis=1)
    share = ((ends - ends.min(axis=1, keepdims=True)) < 0.12 * extent[:, None] + 1e-12).mean(axis=1)
    long = extent / np.maximum(extent.max(axis=1, keepdims=True), 1e-9)
    score = np.minimum(1.5 * share * long, 1.0).mean(axis=0)
    return np.where([_is_lateral(ends[0], axis) for axis in range(3)], 0.0, score)


def _is_lateral(tips: Array, axis: int) -> bool:
    """True if tips (N, 3) on one side of the body's middle mirror those on the other side, and there are any."""
    mirrored = tips.copy()
    mirrored[:, axis] *= -1.0
    size = max(float(np.ptp(tips, axis=0).max()), 1e-9)
    apart = np.linalg.norm(tips[:, None] - mirrored[None], axis=-1).min(axis=1)
    return bool(apart.mean() < 0.03 * size and np.ptp(tips[:, axis]) > 0.1 * size)
