"""A BVH hierarchy for a motion that did not come from one."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from poise.core import rotations
from poise.core.errors import MotionWarning
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Skeleton, rest_pose
from poise.io.bvh_document import BvhDocument
from poise.io.bvh_hierarchy import parse_hierarchy
from poise.io.door import door_turn

ORDER = "ZXY"


def clean_document(motion: Motion, unit: float, up: str) -> tuple[BvhDocument, Motion]:
    """A BVH document without frames, and the motion as that document describes it.

    Every joint's axes are turned to the file's axes at rest, so "all rotations zero" is the skeleton's rest pose,
    upright; a joint's orientation O becomes U⁻¹ O A⁻¹ U with A its orientation at rest and U the turn from the file's
    axes to the world's. All joints get three rotation channels in ZXY order; the root and every joint that moves by
    translation get three position channels before them. Joints are put in depth-first order, as BVH needs.

    Args:
        motion: Any motion.
        unit: Meters per unit of the file.
        up: The file's up axis.
    """
    skeleton = motion.skeleton
    order = depth_first(skeleton)
    turn = door_turn(up)
    _, rest = rest_pose(skeleton)
    _, world = motion.world
    parents = skeleton.parents
    into = rotations.multiply(rotations.conjugate(turn), rest)  # from a joint's axes at rest to the file's
    turned = rotations.multiply(world, rotations.conjugate(into))  # U O'
    local = turned.copy()
    moved = motion.translations.copy()
    offsets = skeleton.offsets.copy()
    for j, p in enumerate(parents.tolist()):
        if p >= 0:
            local[:, j] = rotations.multiply(rotations.conjugate(turned[:, p]), turned[:, j])
            moved[:, j] = rotations.rotate(into[p], moved[:, j])
            offsets[j] = rotations.rotate(into[p], offsets[j])
    place = {j: i for i, j in enumerate(order)}
    names = tuple(_writable(skeleton.names[j], j) for j in order)
    changed = [skeleton.names[j] for j, n in zip(order, names) if skeleton.names[j] != n]
    if changed:
        warnings.warn(
            f"Names that BVH cannot hold were changed: {', '.join(map(repr, changed[:5]))}.",
            MotionWarning,
            stacklevel=4,
        )
    sites = [EndSite(place[s.joint], rotations.rotate(into[s.joint], s.offset), s.name) for s in skeleton.end_sites]
    rest_rotations = np.tile(rotations.IDENTITY, (len(order), 1))
    rest_rotations[0] = turn
    described = Skeleton(
        names=names,
        parents=np.array([place.get(int(parents[j]), -1) for j in order], dtype=np.int64),
        offsets=offsets[order],
        rest_rotations=rest_rotations,
        translating=frozenset(place[j] for j in _translating(motion)),
    )
    with_tips = {s.joint for s in sites} | {int(p) for p in described.parents}
    sites += [EndSite(i, np.zeros(3)) for i in range(len(order)) if i not in with_tips]
    text, written = _hierarchy(described, sites, unit, turn)
    joints, end_sites = parse_hierarchy(Path("new.bvh"), text)
    head = "MOTION\nFrames: 0\nFrame Time: 0\n"
    document = BvhDocument(
        encoding="utf-8",
        hierarchy=text,
        head=head,
        count_span=(head.index("0"), head.index("0") + 1),
        time_span=(head.rindex("0"), head.rindex("0") + 1),
        joints=joints,
        end_sites=end_sites,
        values=np.empty((0, sum(len(j.channels) for j in joints))),
        rows=b"",
        row_starts=np.zeros(1, dtype=np.int64),
        unit=unit,
        up=up,
    )
    skeleton = replace(described, end_sites=tuple(written))
    return document, Motion(skeleton, motion.times, moved[:, order], local[:, order], motion.source)


def depth_first(skeleton: Skeleton) -> list[int]:
    """Joints in depth-first order, children in file order."""
    order, stack = [], [0]
    while stack:
        order.append(joint := stack.pop())
        stack += reversed(skeleton.children[joint])
    return order


def _translating(motion: Motion) -> set[int]:
    """The root, and joints that leave their offset by more than 0.1 µm."""
    away = np.abs(motion.translations - motion.skeleton.offsets).max(axis=(0, 2))
    return {0} | set(np.flatnonzero(away > 1e-7).tolist())


def _writable(name: str, joint: int) -> str:
    return re.sub(r"[{}\r\n\t]", "_", name).strip() or f"joint_{joint}"


def _hierarchy(skeleton: Skeleton, sites: list[EndSite], unit: float, turn: np.ndarray) -> tuple[str, list[EndSite]]:
    """Text of the hierarchy, and its end sites in the order in which they stand there."""
    rotation = " ".join(f"{a}rotation" for a in ORDER)
    lines, written, open_joints = ["HIERARCHY"], [], []

    def numbers(vector: np.ndarray) -> str:
        return " ".join(f"{x:.8f}" for x in np.round(vector / unit, 8) + 0.0)

    def close() -> None:
        joint = open_joints.pop()
        indent = "\t" * len(open_joints)
        for site in (s for s in sites if s.joint == joint):
            written.append(site)
            lines.extend([f"{indent}\tEnd Site", f"{indent}\t{{"])
            lines.extend([f"{indent}\t\tOFFSET {numbers(site.offset)}", f"{indent}\t}}"])
        lines.append(f"{indent}}}")

    for joint, parent in enumerate(skeleton.parents.tolist()):
        while open_joints and open_joints[-1] != parent:
            close()
        indent = "\t" * len(open_joints)
        offset = skeleton.offsets[joint]
        if joint == 0:
            offset = rotations.rotate(rotations.conjugate(turn), offset)
        position = "6 Xposition Yposition Zposition" if joint in skeleton.translating else "3"
        lines.extend([f"{indent}{'JOINT' if joint else 'ROOT'} {skeleton.names[joint]}", f"{indent}{{"])
        lines.extend([f"{indent}\tOFFSET {numbers(offset)}", f"{indent}\tCHANNELS {position} {rotation}"])
        open_joints.append(joint)
    while open_joints:
        close()
    return "\n".join(lines) + "\n", written
