"""A branch of the tree as a limb: which of its joints are worth simulating, and where thigh or upper arm begins."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from poise.body.anatomy import Chain, is_twist, stem
from poise.body.branches import LIMB, SMALL
from poise.body.joint_tree import JointTree
from poise.intake.anatomy import name_words

MOST_PIECES = 4
"""A bone is divided into no more pieces than this."""

GOES_ON = 0.25
"""A leg has a joint beyond the toe if this share of its length is still to come [1]."""
NEAR_MIDDLE = 0.75
"""A link to the leg begins nearer to the middle line than the thigh does, by this share of its distance [1]."""
OWN_SKIN = 0.1
"""A last joint that moves more than this share of the skin from the joint before on is a hand or a toe [1]."""
SHORT_LINK = 0.25
"""A joint this near to the one before is a second joint of the shoulder, as a share of the longest bone [1]."""


def limb_chain(tree: JointTree, kind: str, side: str, place: str, hub: int, kid: int, other: int) -> Chain | None:
    """Trim a branch to the joints worth simulating: [collar], upper, lower, hand; thigh, shin, foot, toe."""
    # a paw's toes are often called fingers
    path = tree.path(kid, with_asides=kind == "leg")
    if kind == "other":
        return Chain(kind, side, place, hub, tuple(path)) if tree.weight(kid) >= LIMB else None
    mirror = tree.path(other, with_asides=kind == "leg")
    if kind == "arm" and 1 < len(mirror) < len(path) and all(map(tree.are_twins, path, mirror)):
        path = path[: len(mirror)]  # what goes on in one hand alone is held
    path, twin = _undivided(tree, path, mirror), _undivided(tree, mirror, path)
    upper = first_long_bone(tree, kind, path, kid, other)
    keep = [j for j in path[:upper] if kind == "arm" or place == "front"]
    keep = [j for j in keep if j not in tree.skeleton.fixed]
    if len(keep) > 1 and not tree.poses.is_bare:
        keep = [j for j in keep if tree.turns(j)] or keep[-1:]
    # a twist bone before the hand or foot goes with the one before
    whole = [j for j in path[upper:] if j in (path[upper], path[-1]) or not is_twist(tree.skeleton.names[j])]
    # joints that double another, or cannot turn, stay with the one before
    main = [whole[0]]
    shortest = 0.05 * tree.reach[whole[0]]  # wide wings say nothing of a bird's legs
    for n, j in enumerate(whole[1:], start=1):
        way = (
            tree.distance(whole[n - 1], j)
            if is_twist(tree.skeleton.names[tree.skeleton.parents[j]])
            else tree.lengths[j]
        )
        too_close = way < min(0.012 * tree.span, shortest) and n > 1
        if j in tree.skeleton.fixed or too_close:
            is_control = tree.skin is not None and tree.skin[main[-1]] <= 0.0 < tree.skin[j]
            if is_control and any(tree.are_twins(j, k) for k in tree.path(other)):
                main[-1] = j  # the bone at the place of a control that moves no skin
            elif n > 2 and (tree.skin is None or tree.skin[j] > 0.0 or tree.below_skin[j] <= 0.0):
                break
            continue
        if kind == "leg" and 1 < n < len(whole) - 1 and _is_double(tree, whole[n - 2 : n + 2]):
            continue
        main.append(j)
    most = 3 if kind == "arm" else 4
    if kind == "leg":  # an insect's leg goes on
        total = tree.reach[main[0]]
        while most < len(main) and tree.lengths[main[most]] + tree.reach[main[most]] > GOES_ON * total:
            most += 1
    main = (_to_hand(tree, main) if kind == "arm" else main)[:most]
    is_bare = tree.below_skin[main[0]] <= 0.0
    while len(main) > 1 and tree.skin is not None and not is_bare and tree.below_skin[main[-1]] <= 0.0:
        main.pop()  # it marks where the skin ends
    place_of_last = path.index(main[-1])
    twin_is_tip = place_of_last >= len(twin) or _is_tip(tree, twin[place_of_last])
    if len(main) == most and _is_tip(tree, main[-1]) and twin_is_tip:
        main.pop()
    return Chain(kind, side, place, hub, tuple(keep + main), upper=len(keep))


def _to_hand(tree: JointTree, arm: list[int]) -> list[int]:
    """Of an arm in pieces: first joint, elbow, hand; the elbow by name, else halfway.

    The hand is the joint called so; where names tell nothing, the joint on which three or more fingers hang.
    """
    words = {j: set(name_words(tree.skeleton.names[j])) for j in arm}
    hands = [j for j in arm[2:] if words[j] & {"hand", "wrist"}]
    if not hands and len({stem(tree.skeleton.names[j]) for j in arm}) < 2:
        hands = [j for j in arm[2:] if len(tree.skeleton.children[j]) > 2]
    if len(arm) < 4 or not hands:
        return arm
    pieces = arm[1 : arm.index(hands[0])]
    ways = np.cumsum([tree.distance(a, b) for a, b in pairwise(arm)])
    off = {j: abs(float(ways[n] / ways[len(pieces)]) - 0.5) for n, j in enumerate(pieces)}
    elbow = min(pieces, key=lambda j: (not words[j] & {"elbow"}, off[j]))
    return [arm[0], elbow, hands[0]]


def _is_double(tree: JointTree, joints: list[int]) -> bool:
    """Whether the third of four joints doubles the second: a knee of two, a short way apart between two long bones."""
    before, between, after = (tree.distance(a, b) for a, b in pairwise(joints))
    return min(before, after) > SMALL * tree.span and between < SHORT_LINK * min(before, after)


def _undivided(tree: JointTree, path: list[int], mirror: list[int]) -> list[int]:
    """The path without joints inside a bone: pieces in one line on both sides whose names differ by a number alone."""
    stems = [stem(name) for name in tree.skeleton.names]
    sides = (path, mirror) if len(mirror) == len(path) else (path,)
    kept = path[:1]
    for n, j in enumerate(path[1:-1], start=1):
        # "node 1" and "node 2" are not pieces of one bone: too many share the name
        same_name = stems[kept[-1]] == stems[j] and stems.count(stems[j]) <= MOST_PIECES
        straight = min(_straightness(tree, *side[n - 1 : n + 2]) for side in sides) if same_name else 0.0
        if straight < np.cos(np.radians(12.0)):
            kept.append(j)
    return kept + path[max(len(path) - 1, 1) :]


def _straightness(tree: JointTree, before: int, joint: int, after: int) -> float:
    """Least cosine, over the poses and at rest, between the bones before and after a joint; 0 without bones."""
    at = np.concatenate([tree.poses.positions, tree.skeleton.rest[0][None]])
    into, out = at[:, joint] - at[:, before], at[:, after] - at[:, joint]
    size = np.linalg.norm(into, axis=-1) * np.linalg.norm(out, axis=-1)
    if (size < (0.005 * tree.span) ** 2).any():
        return 0.0
    return float(np.min(np.sum(into * out, axis=-1) / size))


def _is_tip(tree: JointTree, joint: int) -> bool:
    """A leaf that only marks where the limb ends: no length beyond it, little skin, and it never turns."""
    if tree.skin is not None and tree.skin[joint] > OWN_SKIN * tree.below_skin[int(tree.skeleton.parents[joint])]:
        return False
    return bool(tree.reach[joint] < 1e-3 * tree.span and not tree.turns(joint) and not tree.poses.is_bare)


def first_long_bone(tree: JointTree, kind: str, path: list[int], kid: int, other: int) -> int:
    """Place in the path of the thigh or upper arm: the first long bone that does not start at the middle line."""
    mirror = _undivided(tree, tree.path(other), tree.path(kid))
    # what a hand holds is not part of it: the other one tells how far the limb reaches
    while kind == "arm" and len(path) > len(mirror) > 1 and tree.is_sided(path[0]) > tree.is_sided(path[-1]):
        path = path[:-1]
    beyond = min(tree.reach[path[-1]], tree.reach[mirror[-1]] if len(mirror) == len(path) else np.inf)
    bones = [*_bones(tree, path), float(beyond)]
    if len(mirror) == len(path):  # both sides are judged alike
        bones[:-1] = [0.5 * (a + b) for a, b in zip(bones, _bones(tree, mirror))]
    # a big foot is not a measure for a thigh
    longest = max(bones[:-1]) if kind == "leg" and len(path) > 2 else max(bones)
    for k in range(len(path) - 1):
        if kind == "leg" and (_is_hip_link(tree, path, mirror, k) or _is_leg_link(tree, path, mirror, k)):
            continue
        # before a person's thigh lie only short links; a robot or a bird may have a short first bone
        turns = any(_is_own_bone(tree, side[k]) for side in (path, mirror) if k < len(side))
        is_link = not turns or len(path) - k > 4
        if bones[k] < 0.45 * longest and kind == "leg" and is_link:
            continue
        if bones[k] < 0.25 * longest:
            continue
        if kind == "arm" and k + 2 < len(path) and k + 1 < len(mirror):
            here = tree.distance(path[k], mirror[k])
            there = tree.distance(path[k + 1], mirror[k + 1])
            name = tree.skeleton.names[path[k]].lower()
            after = tree.skeleton.names[path[k + 1]].lower()
            named = any(w in name for w in ("collar", "clavicle", "scapula"))
            is_upper = "arm" in after and "fore" not in after and "low" not in after
            named = named or (is_upper and ("shoulder" in name or "up" in after))
            # near the middle line, shorter than the next bone, and two bones still to come: a collar bone
            if here < 0.6 * there and bones[k + 2] > 0.0 and (named or (k == 0 and bones[k] < 0.9 * bones[k + 1])):
                continue
            is_doubled = len(path) > 4 and bones[k + 1] < SHORT_LINK * min(longest, 2.0 * bones[k])
            if here < 0.6 * there and k == 0 and is_doubled:
                continue
            if named and k == 0 and len(path) > 3:  # a dinosaur's begin far from the middle
                continue
            is_long = bones[k] < 1.5 * bones[k + 1] and bones[k + 2] > 0.6 * bones[k + 1]  # no hand follows yet
            if here < 0.6 * there and k == 0 and len(path) > 3 and is_long:
                continue
            if k and k + 3 < len(path) and here < 0.8 * there and bones[k] < 0.6 * min(bones[k + 1 : k + 3]):
                continue  # a second joint of the shoulder
        return k
    return 0


def _is_own_bone(tree: JointTree, joint: int) -> bool:
    """Whether a joint moves skin of its own, or, where that is not known, turns in the clip."""
    if tree.skin is not None:
        return bool(tree.skin[joint] > 0.0)
    return tree.turns(joint)


def _bones(tree: JointTree, path: list[int]) -> list[float]:
    """Lengths between the joints of a path, which may leave joints out [m]."""
    parents = tree.skeleton.parents
    return [float(tree.lengths[j]) if parents[j] == i else tree.distance(i, j) for i, j in pairwise(path)]


def _is_hip_link(tree: JointTree, path: list[int], mirror: list[int], k: int) -> bool:
    """A piece of the pelvis before the thigh: it never turns, begins at the middle line, and a leg follows."""
    if k + 3 >= len(path) or k + 1 >= len(mirror) or tree.poses.frame_count < 2:
        return False
    if tree.turns(path[k]) or tree.turns(mirror[k]):
        return False
    begins, ends = tree.distance(path[k], mirror[k]), tree.distance(path[k + 1], mirror[k + 1])
    return begins < 0.25 * ends and ends > 0.03 * tree.span


def _is_leg_link(tree: JointTree, path: list[int], mirror: list[int], k: int) -> bool:
    """A first bone that goes out from near the middle line and is not the thigh.

    On both sides it moves no skin before one that does, or it is called after the pelvis before one that is called the
    upper one: "Leg_Pelvis", "Leg_Upper".
    """
    if k or len(path) < 4 or len(mirror) < 4:
        return False
    begins, ends = tree.distance(path[0], mirror[0]), tree.distance(path[1], mirror[1])
    if begins > NEAR_MIDDLE * ends:
        return False  # a thigh whose flesh is painted to the trunk
    first, following = (set(name_words(tree.skeleton.names[j])) for j in path[:2])
    if first & {"pelvis", "hip", "hips"} and following & {"upper", "thigh", "up"}:
        return True
    if tree.skin is None:
        return False
    own = [tree.below_skin[side[n]] - tree.below_skin[side[n + 1]] for side in (path, mirror) for n in (0, 1)]
    return bool(max(own[0], own[2]) <= 1e-9 < min(own[1], own[3]))
