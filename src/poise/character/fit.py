"""A character from any skeleton, with no parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poise.character.anthropometry import capsule_inertia
from poise.character.character import Body, Capsule, Character, ContactPoint, Limb
from poise.character.fit_poses import Poses, gather_poses
from poise.errors import InvalidValue
from poise.motion import Motion
from poise.skeleton import Skeleton
from poise.spatial import rotations

Array = npt.NDArray[np.float64]

_CARRIED = re.compile(
    r"finger|thumb|index|middle|ring|pinky|eye|jaw|brow|lip|tongue|hipjoint|twist|roll|^[lr]hand$|socket", re.I
)


def fit(
    source: Motion | Skeleton | Sequence[Motion], *, mass: float | None = None, masses: str = "length"
) -> Character:
    """Fit (first form)."""
    if mass is not None and not mass > 0.0:
        raise InvalidValue(f"The mass must be positive; {mass} kg was given.")
    poses = gather_poses(source)
    skeleton = poses.skeleton
    lengths = _subtree_lengths(skeleton)
    size = lengths[0]
    root = 0
    while True:
        major = [c for c in skeleton.children[root] if lengths[c] + np.linalg.norm(skeleton.offsets[c]) > 0.2 * size]
        if len(major) != 1:
            break
        root = major[0]
    chosen = _simulated(skeleton, lengths, root, size)
    return _assemble(poses, chosen, mass)


def _subtree_lengths(skeleton: Skeleton) -> Array:
    lengths = np.zeros(skeleton.joint_count)
    for site in skeleton.end_sites:
        lengths[site.joint] = max(lengths[site.joint], float(np.linalg.norm(site.offset)))
    for j in range(skeleton.joint_count - 1, 0, -1):
        p = int(skeleton.parents[j])
        lengths[p] = max(lengths[p], lengths[j] + float(np.linalg.norm(skeleton.offsets[j])))
    return lengths


def _simulated(skeleton: Skeleton, lengths: Array, root: int, size: float) -> list[int]:
    order: list[int] = []

    def visit(j: int) -> None:
        order.append(j)
        for c in skeleton.children[j]:
            visit_child(c)

    def visit_child(c: int) -> None:
        keep = not _CARRIED.search(skeleton.names[c].split(":")[-1])
        keep = keep and lengths[c] + np.linalg.norm(skeleton.offsets[c]) > 0.03 * size
        if keep:
            visit(c)
        else:
            for g in skeleton.children[c]:
                visit_child(g)

    visit(root)
    return order


def _assemble(poses: Poses, chosen: list[int], mass: float | None) -> Character:
    skeleton = poses.skeleton
    by_joint = {j: i for i, j in enumerate(chosen)}

    def parent_body(j: int) -> int:
        j = int(skeleton.parents[j])
        while j >= 0 and j not in by_joint:
            j = int(skeleton.parents[j])
        return by_joint.get(j, -1)

    parents = [-1] + [parent_body(j) for j in chosen[1:]]
    offsets = [np.zeros(3)]
    for i, j in enumerate(chosen[1:], start=1):
        offsets.append(_local(poses, chosen[parents[i]], poses.positions[:, j]))
    tips: list[list[Array]] = [[] for _ in chosen]
    for i in range(1, len(chosen)):
        tips[parents[i]].append(offsets[i])
    for site in skeleton.end_sites:
        j = site.joint
        while j >= 0 and j not in by_joint:
            j = int(skeleton.parents[j])
        if j >= 0:
            at = poses.positions[:, site.joint] + rotations.rotate(poses.orientations[:, site.joint], site.offset)
            if not tips[by_joint[j]]:
                tips[by_joint[j]].append(_local(poses, j, at))
    span = float(np.median(np.ptp(poses.positions[..., 2], axis=1)))
    total = 70.0 if mass is None else mass
    shapes: list[tuple[Capsule, ...]] = []
    weights: list[float] = []
    for i, ends in enumerate(tips):
        long = [t for t in ends if np.linalg.norm(t) > 0.01 * span]
        if not long:
            guess = offsets[i] * 0.3 if i else np.array([0.0, 0.0, 0.05 * span])
            long = [guess]
        shapes.append(
            tuple(
                Capsule(np.zeros(3), t, float(np.clip(0.2 * np.linalg.norm(t), 0.012 * span, 0.04 * span)))
                for t in long
            )
        )
        weights.append(float(sum(np.linalg.norm(t) for t in long)))
    share = np.maximum(np.array(weights) / sum(weights), 0.004)
    share /= share.sum()
    bodies: list[Body] = []
    for i, j in enumerate(chosen):
        com, inertia = capsule_inertia(shapes[i], total * share[i])
        hinge = skeleton.hinges.get(j)
        kind = "free" if i == 0 else ("hinge" if hinge else "ball")
        rest = None
        if kind == "hinge":
            rest = skeleton.rest_rotations[j]
        bodies.append(
            Body(
                name=skeleton.names[j],
                joint=j,
                parent=parents[i],
                offset=offsets[i],
                kind=kind,
                mass=float(total * share[i]),
                com=com,
                inertia=inertia,
                capsules=shapes[i],
                axis=hinge.axis if hinge and i else None,
                rest_rotation=rest,
            )
        )
    roles, points = _first_roles(bodies, poses)
    return Character(skeleton, tuple(bodies), points, _first_limbs(bodies), roles, leg_length=0.5 * span, floor=0.0)


def _local(poses: Poses, joint: int, at: Array) -> Array:
    inverse = rotations.conjugate(poses.orientations[:, joint])
    return np.median(rotations.rotate(inverse, at - poses.positions[:, joint]), axis=0)


def _first_roles(bodies: list[Body], poses: Poses) -> tuple[dict[str, int], tuple[ContactPoint, ...]]:
    roles = {"pelvis": 0}
    points: list[ContactPoint] = []
    floor = float(np.quantile(poses.positions[..., 2].min(axis=1), 0.1))
    del floor
    for i, b in enumerate(bodies):
        name = b.name.split(":")[-1].lower()
        side = "left" if name.startswith(("l", "b_l")) else "right" if name.startswith(("r", "b_r")) and i else ""
        for key, words in {
            "hand": ("hand", "wrist"),
            "foot": ("foot", "ankle"),
            "toe": ("toe",),
            "knee": ("knee", "leg"),
            "elbow": ("elbow", "forearm"),
        }.items():
            if side and any(w in name for w in words) and not (key == "knee" and "upleg" in name):
                roles.setdefault(f"{side}_{key}", i)
                break
        if "head" in name:
            roles.setdefault("head", i)
        if "neck" in name:
            roles.setdefault("neck", i)
        if re.search("spine|chest", name):
            roles["chest"] = i
    for role, i in roles.items():
        if re.search("foot|toe|hand", role):
            for k, c in enumerate(bodies[i].capsules):
                points.append(
                    ContactPoint(f"{bodies[i].name}.{k}", i, c.end, 0.0, "hand" if "hand" in role else "foot")
                )
                points.append(
                    ContactPoint(f"{bodies[i].name}.{k}.root", i, c.start, 0.0, "hand" if "hand" in role else "foot")
                )
    return roles, tuple(points)


def _first_limbs(bodies: list[Body]) -> tuple[Limb, ...]:
    return (Limb("body", "other", tuple(range(len(bodies)))),)
