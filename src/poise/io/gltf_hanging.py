"""On which bone a joint of a glTF hangs, where the file's tree does not say it.

Game rigs are animated by controls: feet, hands and weapons that follow a target are exported as children of the root,
beside pole targets that move no skin. Where such a joint is carried by a bone, the motion shows it (its place in the
bone's frame stays as it is), and so does the skin (it goes on from the bone's vertices to the joint's). Where a target
is out of the leg's reach, the bone still points at it: its direction in the bone's frame stays, its distance does not.
Each witness is one function that gives the logarithm of a likelihood ratio, this bone against the file's parent, and
its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.typing import Array

Ints = npt.NDArray[np.int64]

WANDERS = 0.005
"""A joint asks on what it hangs if it moves this far against the file's parent, as a share of the figure's size."""
ROUNDING = 0.004
"""Wander that says nothing: stretch of a baked limb, rounding, as a share of the size."""
LOOSEST = 0.06
"""No joint hangs on a bone in whose frame it wanders more than this share of the size."""
SURE = 1.2
"""Least sum of the witnesses: odds of 3.3 to 1."""
WANDERS_PLAINLY = 0.02
"""What wanders less than this, as a share of the size, hangs on a bone only if their skin is one."""
MOVED = 1.5
"""It wanders this much less in the frame of the bone that carries it, at least."""
POINTS = 0.03
"""A bone points at a joint whose direction from it wanders less than this in the bone's frame [rad]."""
SWINGS = 5.0
"""It does so by turning: in the frame of the bone above it, the direction wanders at least so many times more [1]."""
MIRRORED = 0.02
"""A foot is as far from its shin as the other one from its own, within this share of the size."""
FEWEST_FLAT = 6
"""So many joints beside each other, and nothing else, are a tree whose bones the file does not tell."""
AWAY = 0.15
"""A node this far from all that hangs on it, as a share of the size, is not a joint of the body [1]."""
FLAT = 0.9
"""At least this share of the joints that move skin lie beside each other in such a tree [1]."""
NEAR, UNSEWN, CARRIES = 0.25, 0.02, 0.9
"""An end that stands still hangs on a bone this near, as a share of the size, if it has with the file's parent no more
of the skin in common than this share of what it has with the bone, and if that parent carries this much of all [1]."""
MOST_POSES = 400


@dataclass(frozen=True)
class Rig:
    """What the witnesses look at, over the P poses of all clips of a file.

    Attributes:
        parents: The file's tree, shape (J,).
        wander: Root-mean-square wander of joint j in the frame of joint k about where it is in that clip, as a share of
            the size, shape (J, J) [k, j].
        distance: Median distance of two joints as a share of the size, shape (J, J).
        skin: Vertices that each joint moves, by weight, shape (J,); None where no skin can be read.
        seams: Edges of the skin's triangles between the vertices of two joints, by weight, shape (J, J).
        points: Where bone k points at joint j: how many times more the direction from k to j wanders in the frame of
            the bone above k than in that of k; 0 elsewhere, and where they share no seam, shape (J, J) [k, j].
    """

    parents: Ints
    wander: Array
    distance: Array
    skin: Array | None
    seams: Array
    points: Array

    def may_carry(self, bone: int, joint: int) -> bool:
        """Whether the motion allows that a joint hangs on a bone."""
        return bool(self.wander[bone, joint] < LOOSEST or self.points[bone, joint] > 0.0)


@dataclass(frozen=True)
class Hanging:
    """A joint found to hang on another bone than the file's tree says.

    Attributes:
        joint, bone: Indices of both.
        odds: Logarithm of the likelihood ratio against the file's parent.
        reasons: What spoke for it.
    """

    joint: int
    bone: int
    odds: float
    reasons: tuple[str, ...]


def motion_witness(rig: Rig, joint: int, bone: int) -> tuple[float, str]:
    """The joint keeps its place in the frame of the bone that carries it, or at least its direction there."""
    here, there = rig.wander[rig.parents[joint], joint], rig.wander[bone, joint]
    if rig.points[bone, joint] > 0.0 and there > 0.5 * LOOSEST:
        return float(np.log(rig.points[bone, joint])), "that bone always points at it"
    odds = float(np.log((here + ROUNDING) / (there + ROUNDING)))
    return odds, f"it wanders {there:.1%} of the figure's size in that bone's frame, {here:.1%} in its file parent's"


def skin_witness(rig: Rig, joint: int, bone: int) -> tuple[float, str]:
    """The skin goes on from the bone to what it carries; a bone without skin carries nothing."""
    if rig.skin is None:
        return 0.0, ""
    if rig.skin[bone] <= 0.0:
        return -10.0, "the bone moves no skin"
    if rig.skin[joint] <= 0.0:
        return 0.0, ""
    seams = np.where(np.arange(len(rig.parents)) == joint, 0.0, rig.seams[joint])
    if seams[bone] > 0.0 and seams[bone] >= 0.5 * seams.max():
        strong = np.flatnonzero(seams >= 0.8 * seams.max()).tolist()
        if any(_are_mirrored(rig, bone, other, MIRRORED) for other in strong):
            return 0.0, ""  # a belly goes on in both thighs
        return 1.5, "their skin is one"
    return (-0.5, "their skins do not touch") if seams.max() > 0.0 else (0.0, "")


def distance_witness(rig: Rig, joint: int, bone: int) -> tuple[float, str]:
    """What hangs on a bone is near it."""
    gap = float(rig.distance[bone, joint])
    return (0.3, f"they are {gap:.0%} of the size apart") if gap < 0.35 else (-1.0, "they are far apart")


def twin_witness(rig: Rig, joint: int, bone: int) -> tuple[float, str]:
    """Two limbs that move alike hang on one bone, not one on the other: both begin at it and carry about as much."""
    if _are_mirrored(rig, joint, bone):
        return -3.0, ""
    parent, top = int(rig.parents[joint]), bone
    while top >= 0 and rig.parents[top] != parent:
        top = int(rig.parents[top])
    if top < 0:
        return 0.0, ""
    own, other = (sum(_is_above(rig.parents, t, j) for j in range(len(rig.parents))) for t in (joint, top))
    if rig.distance[joint, top] < ROUNDING:  # legs and trunk that begin at one place: legs hang on the trunk
        return (-3.0, "both begin at one place, and it carries no less") if own >= other > 1 else (0.0, "")
    return (-3.0, "both begin at one bone and carry as much") if own > 1 and own > 0.5 * other else (0.0, "")


def _are_mirrored(rig: Rig, joint: int, bone: int, within: float = ROUNDING) -> bool:
    """Whether two joints are as deep in the file's tree, as far from their own parents, and carry as much.

    Such are the knees of a figure that grows as a whole: they keep their place beside each other, not on their thighs.
    """
    parents = rig.parents
    here, there = int(parents[joint]), int(parents[bone])
    if here == there or there < 0 or _depth(parents, joint) != _depth(parents, bone):
        return False
    alike = abs(rig.distance[here, joint] - rig.distance[there, bone]) < within
    carried = [sum(_is_above(parents, k, j) for j in range(len(parents))) for k in (joint, bone)]
    return bool(alike and carried[0] == carried[1])


WITNESSES: tuple[Callable[[Rig, int, int], tuple[float, str]], ...] = (
    motion_witness,
    skin_witness,
    distance_witness,
    twin_witness,
)


def find_hanging(rig: Rig) -> tuple[Hanging, ...]:
    """Joints that hang on another bone than their file parent, the surest first; never in a circle."""
    parents, count = rig.parents.copy(), len(rig.parents)
    found: list[Hanging] = []
    for joint in range(1, count):
        if rig.wander[rig.parents[joint], joint] < WANDERS:
            continue
        options = [
            _weigh(rig, joint, bone)
            for bone in range(count)
            if bone != joint and rig.may_carry(bone, joint) and not _is_above(rig.parents, joint, bone)
        ]
        best = max(options, key=lambda h: (round(h.odds, 1), -_depth(rig.parents, h.bone), -h.bone), default=None)
        moved = best is not None and motion_witness(rig, joint, best.bone)[0] > np.log(MOVED)
        is_plain = rig.wander[rig.parents[joint], joint] > WANDERS_PLAINLY
        if (
            best is not None
            and moved
            and best.odds > SURE
            and (is_plain or skin_witness(rig, joint, best.bone)[0] > 0.0)
        ):
            found.append(best)
    found += [like for hanging in found for like in _likes(rig, hanging, {h.joint for h in found})]
    kept: list[Hanging] = []
    for hanging in sorted(found, key=lambda h: (-h.odds, h.joint)):
        if not _is_above(parents, hanging.joint, hanging.bone):
            parents[hanging.joint] = hanging.bone
            kept.append(hanging)
    return tuple(kept)


def _likes(rig: Rig, one: Hanging, taken: set[int]) -> list[Hanging]:
    """The other foot: a joint beside one that hangs on a bone, and a bone as far from it.

    It may have stood still in every clip; its skin tells then.
    """
    joints = [j for j in range(1, len(rig.parents)) if rig.parents[j] == rig.parents[one.joint] and j not in taken]
    away = rig.distance
    options = [
        _weigh(rig, joint, bone)
        for joint in joints
        for bone in range(1, len(rig.parents))
        if bone not in (one.bone, one.joint, joint)
        and rig.may_carry(bone, joint)
        and not _is_above(rig.parents, joint, bone)
        and abs(away[joint, bone] - away[one.joint, one.bone]) < MIRRORED
        and away[joint, one.bone] > away[joint, bone]
    ]
    best = max(options, key=lambda h: (h.odds, -h.bone), default=None)
    if best is not None and best.odds > SURE:
        return [best]
    # a shin as deep in the tree as the other, whose flesh was painted to the thigh
    moved = [(motion_witness(rig, h.joint, h.bone), h) for h in options]
    bare = [
        replace(h, odds=odds, reasons=(why,))
        for (odds, why), h in moved
        if odds > SURE and _depth(rig.parents, h.bone) == _depth(rig.parents, one.bone)
    ]
    if bare:
        return [max(bare, key=lambda h: (h.odds, -h.bone))]
    # or both hang on one bone, as collar bones do that the file hangs on the neck
    bones = (one.bone, int(rig.parents[one.joint]))
    alike = [j for j in joints if all(abs(away[j, b] - away[one.joint, b]) < MIRRORED for b in bones)]
    twins = [_weigh(rig, j, one.bone) for j in alike if not _is_above(rig.parents, j, one.bone)]
    return [twin for twin in twins if twin.odds > 0.0 and motion_witness(rig, twin.joint, twin.bone)[0] > 0.0]


def hang_by_skin(parents: Ints, seams: Array, places: Array) -> tuple[Hanging, ...]:
    """How the joints of a flat tree hang on each other: by the seams of the skin, the strongest first.

    Some files name every joint of a hand, or every bone that bends a figure's skin, as a child of one node, beside
    controls. Where nearly all joints that move skin are last ones on one parent, the spanning tree of the strongest
    seams tells which bone goes on in which; it is rooted at its middle, the wrist or the hips. Nothing is said of any
    other tree.

    Args:
        parents, seams: See `Rig`.
        places: Joints at rest in the world, shape (J, 3).
    """
    sewn = np.flatnonzero(seams.any(axis=1))
    leaves = np.setdiff1d(sewn, parents)
    if len(leaves) < FEWEST_FLAT:
        return ()
    beside = leaves[parents[leaves] == np.bincount(parents[leaves]).argmax()]
    if len(beside) < max(FEWEST_FLAT, FLAT * len(np.setdiff1d(sewn, parents[beside]))):
        return ()
    if 2 * np.count_nonzero(seams[parents[beside[0]], beside]) > len(beside):
        return ()  # legs of a spider, which do hang on it
    leaves = beside
    bonds: dict[int, list[int]] = {int(j): [] for j in leaves}
    of = {int(j): int(j) for j in leaves}
    strongest = np.argsort(-seams[np.ix_(leaves, leaves)], axis=None)
    for a, b in zip(*np.unravel_index(strongest, (len(leaves), len(leaves)))):
        one, other = int(leaves[a]), int(leaves[b])
        if of[one] != of[other] and seams[one, other] > 0.0:
            bonds[one].append(other)
            bonds[other].append(one)
            of = {j: of[one] if part == of[other] else part for j, part in of.items()}
    found: list[Hanging] = []
    for part in set(of.values()):
        waiting = [min((j for j in bonds if of[j] == part), key=lambda j: _farthest(bonds, places, j))]
        seen = set(waiting)
        while waiting:
            bone = waiting.pop()
            for joint in bonds[bone]:
                if joint not in seen:
                    seen.add(joint)
                    waiting.append(joint)
                    found.append(Hanging(joint, bone, 1.5, ("their skin is one",)))
    return tuple(found)


def hang_chains(rig: Rig, taken: frozenset[int]) -> tuple[Hanging, ...]:
    """How chains that a file keeps beside the trunk hang on it: legs and tails of their own under one bare node.

    Where the root moves no skin and lies away from the body, on the floor, each chain hangs on a bone of the trunk with
    which it shares many edges of the skin: the one nearest to the root, so that both legs hang on one. In the clips
    each must stay in place there at least as well as on the node. Where single joints hang, such as feet that follow
    a target, motion alone decides.

    Args:
        rig: What is known; without clips nothing wanders.
        taken: Joints that hang elsewhere already.
    """
    skin = rig.skin
    if skin is None or skin[0] > 0.0:
        return ()
    chains: dict[int, list[int]] = {}
    for j in np.flatnonzero(skin > 0.0).tolist():
        top = j
        while top > 0 and rig.parents[top] > 0:
            top = int(rig.parents[top])
        chains.setdefault(top, []).append(j)
    chains = {top: joints for top, joints in chains.items() if len(joints) > 1 and top not in taken}
    if len(chains) < 2 or min(float(rig.distance[0, top]) for top in chains) < AWAY:
        return ()
    trunk = chains.pop(max(chains, key=lambda top: float(skin[chains[top]].sum())))
    found: list[Hanging] = []
    for top, joints in chains.items():
        shared = rig.seams[np.ix_(joints, trunk)].sum(axis=0)
        strong = [k for k, much in zip(trunk, shared.tolist(), strict=True) if much > 0.25 * float(shared.max())]
        bone = min(strong, key=lambda k: _depth(rig.parents, k), default=-1)
        if bone < 0 or rig.wander[bone, top] >= max(LOOSEST, float(rig.wander[0, top])):
            return ()  # one leg alone would be worse than none
        found.append(Hanging(top, bone, 1.5, ("their skin is one",)))
    return tuple(found)


def hang_ends(rig: Rig, taken: frozenset[int]) -> tuple[Hanging, ...]:
    """How feet or hands that a file keeps beside the limbs, and that stand still in its clips, hang on them.

    Such an end hangs on a joint that carries nearly all the skin but has none in common with it; its own goes on in
    the last joint of a limb nearby. It is believed of two that mirror each other.

    Args:
        rig: The joints.
        taken: Joints that hang elsewhere already.
    """
    if rig.skin is None:
        return ()
    below = rig.skin.astype(np.float64)
    for j in range(len(below) - 1, 0, -1):
        below[rig.parents[j]] += below[j]
    ends = np.flatnonzero((rig.skin > 0.0) & (below <= rig.skin))  # nothing with skin hangs on them
    found: list[Hanging] = []
    for joint in (int(j) for j in ends if j not in taken and rig.parents[j] >= 0):
        parent, seams = int(rig.parents[joint]), np.where(np.arange(len(below)) == joint, 0.0, rig.seams[joint])
        bone = int(seams.argmax())
        near = rig.distance[bone, joint] < NEAR
        apart = rig.seams[joint, parent] <= UNSEWN * seams[bone] and below[parent] > CARRIES * below[0]
        if near and apart and bone in ends and bone != joint and rig.may_carry(bone, joint):
            found.append(Hanging(joint, bone, 1.5, ("their skin is one",)))
    beside = {h.joint for h in found} | taken  # two feet that touch, or what goes on in such an end, say nothing
    found = [h for h in found if not beside & {h.bone, *_above(rig.parents, h.bone)}]
    away = {h.joint: float(rig.distance[h.bone, h.joint]) for h in found}

    def has_twin(one: Hanging) -> bool:
        same = [h for h in found if rig.parents[h.joint] == rig.parents[one.joint] and h.bone != one.bone]
        return any(abs(away[h.joint] - away[one.joint]) < MIRRORED for h in same)

    return tuple(h for h in found if has_twin(h))


def without_circles(parents: Ints, hanging: Iterable[Hanging]) -> tuple[Hanging, ...]:
    """Those that close no circle with what the file says and what came before them; the first are the surest."""
    above = [{int(p)} for p in parents]
    kept: list[Hanging] = []
    for one in hanging:
        carriers, waiting = set[int](), [one.bone]
        while waiting:
            bone = waiting.pop()
            if bone >= 0 and bone not in carriers:
                carriers.add(bone)
                waiting += above[bone]
        if one.joint not in carriers:
            above[one.joint].add(one.bone)
            kept.append(one)
    return tuple(kept)


def _farthest(bonds: dict[int, list[int]], places: Array, joint: int) -> float:
    """Longest way from a joint along the bonds [m]."""
    far, waiting = 0.0, [(joint, -1, 0.0)]
    while waiting:
        at, before, way = waiting.pop()
        far = max(far, way)
        waiting += [(j, at, way + float(np.linalg.norm(places[j] - places[at]))) for j in bonds[at] if j != before]
    return far


def _weigh(rig: Rig, joint: int, bone: int) -> Hanging:
    said = [witness(rig, joint, bone) for witness in WITNESSES]
    return Hanging(joint, bone, sum(odds for odds, _ in said), tuple(why for odds, why in said if why and odds > 0.0))


def _is_above(parents: Ints, joint: int, other: int) -> bool:
    """True if `joint` is `other` or one of its ancestors."""
    while other >= 0:
        if other == joint:
            return True
        other = int(parents[other])
    return False


def _above(parents: Ints, joint: int) -> list[int]:
    """The joints above one, the nearest first."""
    above: list[int] = []
    while (joint := int(parents[joint])) >= 0:
        above.append(joint)
    return above


def _depth(parents: Ints, joint: int) -> int:
    return len(_above(parents, joint))


def measure(
    positions: Array,
    orientations: Array,
    parents: Ints,
    skin: Array | None,
    seams: Array | None,
    clips: Ints | None = None,
) -> Rig:
    """The rig as the witnesses see it.

    Args:
        positions, orientations: Joints in the world, over poses of all clips, shapes (P, J, 3) and (P, J, 4).
        parents: The file's tree, shape (J,).
        skin, seams: Of the skin, see `Rig`; None where it cannot be read.
        clips: Clip of each pose, shape (P,). Controls may be baked with another offset in each. Default: one clip.
    """
    keep = np.unique(np.linspace(0, len(positions) - 1, MOST_POSES).astype(np.int64))
    positions, orientations = positions[keep], orientations[keep]
    clips = np.zeros(len(keep), dtype=np.int64) if clips is None else clips[keep]
    of_clips = [np.flatnonzero(clips == clip) for clip in np.unique(clips)]
    size = max(float(np.median(np.ptp(positions, axis=1).max(axis=1))), 1e-12)
    count = len(parents)
    seams = np.zeros((count, count)) if seams is None else seams
    wander, distance, points = np.empty((count, count)), np.empty((count, count)), np.zeros((count, count))
    for bone in range(count):
        away = positions - positions[:, bone, None]
        place = rotations.rotate(rotations.conjugate(orientations[:, bone])[:, None], away)
        sewn = np.flatnonzero(seams[bone] > 0.0)
        points[bone, sewn] = _pointing(place[:, sewn], away[:, sewn], orientations[:, max(int(parents[bone]), 0)])
        for frames in of_clips:
            place[frames] -= np.median(place[frames], axis=0)
        wander[bone] = np.sqrt(np.mean(np.sum(place**2, axis=-1), axis=0)) / size
        distance[bone] = np.median(np.linalg.norm(away, axis=-1), axis=0) / size
    return Rig(parents, wander, distance, skin, seams, points)


def _pointing(place: Array, away: Array, above: Array) -> Array:
    """How many times more directions wander in the frame of the bone above than in a bone's own; 0 if not pointed at.

    Args:
        place, away: Joints from the bone, in its own frame and in the world, shape (P, K, 3).
        above: Orientations of the bone above, shape (P, 4).
    """
    own = _spread(place)
    swing = _spread(rotations.rotate(rotations.conjugate(above)[:, None], away))
    return np.where((own < POINTS) & (swing > SWINGS * own), swing / np.maximum(own, 0.1 * POINTS), 0.0)


def _spread(ways: Array) -> Array:
    """Root-mean-square angle between directions and their mean [rad]: of (P, K, 3) shape (K,)."""
    unit = ways / np.maximum(np.linalg.norm(ways, axis=-1, keepdims=True), 1e-12)
    middle = unit.mean(axis=0)
    middle /= np.maximum(np.linalg.norm(middle, axis=-1, keepdims=True), 1e-12)
    return np.sqrt(np.mean(np.arccos(np.clip(np.sum(unit * middle, axis=-1), -1.0, 1.0)) ** 2, axis=0))
