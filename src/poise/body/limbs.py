"""Which joints are pelvis, spine, neck, tail, arms and legs: from geometry and motion, with names as a hint.

The tree of joints is read from the trunk outwards. A *hub* is a joint with at least two limb-sized branches: the first
one below the root is the pelvis, the next ones end the spine. Branches of a hub that lead to no other hub are limbs:
two alike make a pair (arms or legs), one alone is a neck or a tail. Pairs at the pelvis are legs; pairs higher up are
legs only if the figure stands on them with a level trunk.

Which way the figure faces is decided by its legs, trunk, knees, toes and travel.
"""

from __future__ import annotations

import numpy as np

from poise.body.anatomy import Anatomy, Chain, Poses, hints
from poise.body.branches import LIMB, SMALL, Pair
from poise.body.doubt import doubt_of
from poise.body.joint_tree import JointTree
from poise.body.limb_chain import limb_chain
from poise.body.neck_and_tail import (
    beyond_head,
    by_heading,
    neck_above_arms,
    neck_before_chest,
    one_of_each,
    single_chain,
    spine_and_neck,
    to_head,
)
from poise.body.standing import comes_near_ground, heading, share_on_ground, time_on_ground, trunk_of
from poise.body.trunk import find_trunk, head_branch, is_beside_trunk, toward
from poise.core.skeleton import Skeleton, rest_pose
from poise.core.typing import Array
from poise.intake.anatomy import FRONT_LEG, name_words


def find_anatomy(poses: Poses) -> Anatomy:
    """Read the joints of a skeleton as pelvis, spine, limbs, neck and tail.

    Lengths count as shares of the skeleton's longest path through its bones: toe to fingertip, 2.3 m for a person.
    """
    tree = JointTree(poses)
    root = tree.find_root()
    spine_paths, hubs = tree.find_hubs(root)
    trunk = {root, *hubs, *(j for path in spine_paths for j in path)}
    loose = {hub: [c for c in tree.limbs_of(hub) if c not in trunk] for hub in (root, *hubs)}
    pairs: list[Pair] = []
    single: list[tuple[int, int]] = []
    for hub, kids in loose.items():
        paired, alone = ([], kids) if tree.is_hand else tree.pair_up(kids)
        pairs += [(hub, a, b) for a, b in paired]
        single += [(hub, c) for c in alone]
    pelvis, chest = find_trunk(tree, root, hubs, pairs, single)
    chains: list[Chain] = []
    for path in spine_paths:
        kept = tuple(j for j in path if tree.is_spine_bone(j))
        kind = "neck" if chest in poses.skeleton.ancestors(path[-1]) and path[-1] != pelvis != chest else "spine"
        if kept and kind == "spine" and "head" in hints(poses.skeleton.names[kept[-1]]):  # a head with ears or feelers
            named = next(n for n, j in enumerate(kept) if {"neck", "head"} & hints(poses.skeleton.names[j]))
            chains.append(Chain("neck", "", "", kept[named - 1] if named else root, kept[named:]))
            kept = kept[:named]
        on = [kid for hub, kid in single if hub == path[-1]]
        if kept and kind == "neck" and len(on) == 1 and not any("head" in hints(poses.skeleton.names[j]) for j in kept):
            kept += to_head(tree, tree.path(on[0]))  # tufts and wings fork off between neck and head
            single.remove((path[-1], on[0]))
        called_tail = kept and "tail" in hints(poses.skeleton.names[kept[0]]) and path[-1] not in (pelvis, chest)
        kind = "tail" if called_tail else kind  # feathers fork off on it
        if kept:
            chains.append(Chain(kind, "", "", chest if kind == "neck" else root, kept))
    # tracks and wheels are not limbs
    is_figure = len(pairs) <= MOST_PAIRS or any(tree.named(p) & {"leg", "arm"} for p in pairs)
    is_figure = is_figure and not tree.is_hand and (bool(hubs) or not _are_loose(tree, pairs))
    limbs = [p for p in pairs if _lie_beside(tree, p)]
    leg_pair = _main_legs(tree, pelvis, limbs) if is_figure else None
    is_figure = is_figure and (leg_pair is not None or bool(single) or any(tree.named(p) for p in limbs))
    standing = _standing_pairs(tree, leg_pair, pairs)
    forward, left = heading(tree, pelvis, chest, leg_pair, pairs, standing)
    head = None
    if len(standing) == 2 and chest == root:
        head = head_branch(tree, root, single)
        is_called = head is not None and bool({"head", "neck"} & hints(poses.skeleton.names[head]))
        if any(tree.is_sided(p[1]) for p in standing) and not is_called:
            head = None  # the names of the legs tell more; but some are those of the viewer's left and right
        if head is not None and np.mean(forward @ toward(tree, root, head)) < 0.0:  # knees of a beast say little
            forward, left = -forward, -left
    if len(standing) == 2 and leg_pair is not None:
        standing = sorted(standing, key=lambda p: _ahead(tree, root, p, forward))
        leg_pair, four_legged = standing[0], True
    else:
        four_legged = len(standing) < 2 and _stands_on_four(tree, pelvis, chest, leg_pair, pairs, single)
    for hub, a, b in pairs:
        others = [p for p in pairs if p not in standing or p[1] == a]
        kind, place = _pair_kind(tree, hub, (a, b), leg_pair, others, four_legged)
        named = tree.named((hub, a, b))
        if len(standing) > 1 and (hub, a, b) in standing:
            kind, place = "leg", "" if len(standing) > 2 else "hind" if (hub, a, b) == leg_pair else "front"
        elif len(standing) > 1 and kind == "leg":
            kind, place = "arm" if named & {"arm", "leg"} == {"arm"} else "other", ""
        if kind == "arm" and leg_pair is not None and hub == leg_pair[0] and hub != chest and not named & {"arm"}:
            kind = "other" if any(p[0] == chest for p in pairs) else kind  # coat tails
        if kind == "arm" and len(pairs) == 1 and not named and _beats(tree, (hub, a, b)):
            kind = "other"  # a bird in flight
        if kind == "arm" and len(standing) > 1 and not named and hub not in {p[0] for p in standing}:
            kind = "other" if _beats(tree, (hub, a, b)) else kind  # ears of a beast whose legs hang on one joint
        if kind == "arm" and is_beside_trunk(
            tree, hub, chest, [p for p in pairs if p != leg_pair]
        ):  # breasts, the straps of a bag
            kind = "other"
        if place == "front" and hub != chest and (hub, a, b) not in standing:  # what else hangs on the pelvis
            kind, place = "other", ""
        if chest in poses.skeleton.ancestors(hub) and hub != pelvis:  # hair, ears and horns of the head
            kind, place = "other", ""
        is_limb = is_figure and (hub, a, b) in limbs
        is_limb = is_limb and (kind == "leg" or named & {"arm", "leg"} or "head" not in named)  # beasts of many heads
        if not is_limb or (kind != "leg" and ("other" in named or (tree.bone_count(a) == 1 and "arm" not in named))):
            kind, place = "other", ""
        a, b = _left_first(tree, a, b, left)
        for side, kid in (("left", a), ("right", b)):
            if chain := limb_chain(tree, kind, side, place, hub, kid, b if kid == a else a):
                chains.append(chain)
    for hub, kid in single:
        if tree.is_hand:
            chains.append(Chain("other", "", "", hub, tuple(tree.path(kid))))
        elif (like := _in_circle(tree, hub, kid, pairs)) and is_figure:
            kind = "leg" if like in standing else "other"
            ends = poses.positions[:, tree.path(kid)[-1]] - poses.positions[:, hub]
            place = "front" if float(np.mean(np.sum(ends * forward, axis=-1))) > 0.0 else "hind"
            chains.append(Chain(kind, "", place, hub, tuple(tree.path(kid))))
        elif kid == head:
            chains.append(Chain("neck", "", "", hub, to_head(tree, tree.path(kid))))
        elif chain := single_chain(tree, pelvis, chest, hub, kid, bool(hubs)):
            if len(standing) > 2 and chain.kind in ("neck", "tail"):
                chain = by_heading(tree, chain, forward)
            is_trunk = hub == root and (not hubs or "trunk" in hints(poses.skeleton.names[chain.joints[0]]))
            chains += spine_and_neck(tree, chain) if is_trunk else [chain]
            chains += [] if leg_pair is not None else beyond_head(tree, chain)
    if is_figure and not hubs and not any(c.kind == "neck" for c in chains):
        chains = neck_above_arms(tree, chains)
    if not hubs:
        chest = max((c.joints[-1] for c in chains if c.kind == "spine"), default=chest)
    if is_figure and not any(c.kind == "neck" for c in chains):
        chains = neck_before_chest(tree, pelvis, chest, chains)
    chains = _unique(one_of_each(tree, chains))
    wanted = {root} | {j for c in chains for j in c.joints}
    simulated = tuple(j for j in _depth_first(poses.skeleton, root) if j in wanted)
    four = four_legged and any(c.place == "front" for c in chains)
    doubt = doubt_of(tree, root, chains, four)
    return Anatomy(root, chest, tuple(chains), forward, tree.lengths, tree.span, four, simulated, doubt)


def _lie_beside(tree: JointTree, pair: Pair) -> bool:
    """False for two branches of which one is above the other, at rest and in most poses: the limbs of a bow."""
    poses, rest = tree.poses, tree.skeleton.rest
    for places, turned in ((rest[0][None], rest[1][None]), (poses.positions, poses.orientations)):
        middles = [
            np.concatenate([places[:, tree.path(kid)], tree.tips(places, turned, kid)[:, None]], axis=1).mean(axis=1)
            for kid in pair[1:]
        ]
        difference = middles[0] - middles[1]
        if np.median(np.abs(difference[:, 2])) <= ABOVE * np.median(np.linalg.norm(difference, axis=-1)):
            return True
    return False


def _are_loose(tree: JointTree, pairs: list[Pair]) -> bool:
    """Whether all pairs are single joints beside a single head, none of them a leg: head and hands that were tracked.

    Skin would show that they are one body.
    """
    short = all(tree.bone_count(kid) == 1 for pair in pairs for kid in pair[1:])
    return bool(pairs) and tree.skin is None and short and not any("leg" in tree.named(pair) for pair in pairs)


def _main_legs(tree: JointTree, root: int, pairs: list[Pair]) -> Pair | None:
    """The pair that carries the figure: at the root, else the one whose tips are lowest."""
    if not pairs:
        return None

    def score(pair: Pair) -> float:
        hub, a, b = pair
        tips = np.minimum(tree.tip_height(a), tree.tip_height(b))
        ground = tree.poses.positions[..., 2].min(axis=1)
        low = float(np.median(tips - ground)) / tree.span
        named = hints(tree.skeleton.names[tree.path(a)[-1]]) | hints(tree.skeleton.names[a])
        hint = 0.3 * ("arm" in named) - 0.3 * ("leg" in named)
        return low + hint + (0.0 if hub == root else 0.25)

    def can_be(pair: Pair) -> bool:
        named = tree.named(pair)
        if "leg" in named:
            return True
        if _is_wing(tree, pair) or (len(pairs) == 1 and _beats(tree, pair)):
            return False
        short = tree.bone_count(pair[1]) == 1 and share_on_ground(tree, pair) <= PROPPED  # else by name alone
        return not named & {"arm", "other"} and not short and comes_near_ground(tree, pair)

    return min(filter(can_be, pairs), key=score, default=None)


def _is_wing(tree: JointTree, pair: Pair) -> bool:
    """Whether the names along a pair speak of wings, fins or the like before they speak of a leg or an arm."""
    for joint in tree.path(pair[1]):
        said = hints(tree.skeleton.names[joint])
        if said & {"other", "leg", "arm"}:
            if "other" in said:
                return True
            if not {"shoulder", "collar", "clavicle"} & set(name_words(tree.skeleton.names[joint])):
                return False
    return False


def _beats(tree: JointTree, pair: Pair) -> bool:
    """Whether the tips of a pair are above its beginning in many poses: wings."""
    above = [tree.tip_height(kid) > tree.poses.positions[:, kid, 2] for kid in pair[1:]]
    return bool(np.mean(above) > BEATS)


BEATS = 0.2
"""Limbs that are above where they begin for this share of the time are not legs but wings [1]."""
ALIKE = 0.2
"""Limbs on one joint are alike if their lengths or ends differ by no more than this share of them [1]."""
ABOVE = 0.9
"""Two branches lie above each other if so much of the way between them is vertical [1]."""
MOST_PAIRS = 8
"""More pairs than this, none of them named, are the tracks of a vehicle and no limbs."""
PROPPED = 0.7
"""Long front limbs that are on the ground so much, at rest and in the clip, carry a trunk however steep it is [1]."""
ON_ARMS = 0.5
"""What is called an arm, and is on the ground less than this at rest and in the clip, is no leg [1]."""
STANDING = 0.55
"""Least score of a pair of limbs that a figure stands on, beside its main legs; see `_standing_pairs`."""
AS_MUCH = 0.25
"""A leg may be on the ground this much less than the main legs, as a share of the frames [1]."""


def _standing_pairs(tree: JointTree, legs: Pair | None, pairs: list[Pair]) -> list[Pair]:
    """Pairs that the figure stands on, the main legs among them, where the trunk cannot tell: many legs, one hub.

    A pair stands if its tips are on the ground at rest and through most of the clip, or as much as those of the main
    legs if it is called a leg like them: an insect in flight.
    Pairs on two hubs, one ahead of the other, are left to `_stands_on_four`.
    """
    if legs is None:
        return []
    found = [legs]
    main = share_on_ground(tree, legs)
    is_called_leg = tree.named(legs) & {"leg", "arm"} == {"leg"}
    called = [p for p in pairs if p[0] == legs[0] and tree.named(p) & {"leg", "arm"} == {"leg"}]
    for pair in pairs:
        least = 0.3 if "leg" in tree.named(pair) else 0.5  # a frog's
        if pair != legs and tree.reach[pair[1]] >= least * tree.reach[legs[1]]:
            if pair[0] != legs[0] and len(pairs) < 4:
                continue
            named = tree.named(pair)
            if named & {"leg", "arm"} == {"arm"} and len(called) > 2:
                continue  # a crab's claws
            name = 0.2 * ("leg" in named) - 0.4 * ("arm" in named and "leg" not in named) - 0.8 * ("other" in named)
            share = share_on_ground(tree, pair)
            is_leg = is_called_leg and named & {"leg", "arm", "other"} == {"leg"}
            is_leg = is_leg or (not named & {"arm", "other"} and _are_alike(tree, legs, pair, pairs))
            as_main = is_leg and share > main - AS_MUCH
            short, long = sorted((tree.reach[pair[1]], tree.reach[legs[1]]))
            as_long = pair[0] == legs[0] and short > FRONT_LEG * long and not named & {"arm", "leg", "other"}
            if share + name > STANDING or as_main or (as_long and time_on_ground(tree, pair) > PROPPED):
                found.append(pair)
    if len(found) > 2:  # a spider lifts its front legs
        reaches = [tree.reach[p[1]] for p in found]
        for pair in [p for p in pairs if p not in found and p[0] == legs[0] and not tree.named(p)]:
            is_as_long = (1.0 - ALIKE) * min(reaches) < tree.reach[pair[1]] < (1.0 + ALIKE) * max(reaches)
            if is_as_long and tree.bone_count(pair[1]) == tree.bone_count(legs[1]):
                found.append(pair)
    return found


def _are_alike(tree: JointTree, legs: Pair, pair: Pair, pairs: list[Pair]) -> bool:
    """Whether a pair and the legs hang on one joint, are as long as each other and have as many bones.

    There must be a third such pair, or all of them must stand.
    """
    alike = [
        p
        for p in pairs
        if p[0] == legs[0]
        and tree.bone_count(p[1]) == tree.bone_count(legs[1])
        and abs(tree.weight(p[1]) - tree.weight(legs[1])) < ALIKE * tree.weight(legs[1])
    ]
    return pair in alike and (len(alike) > 2 or min(share_on_ground(tree, p) for p in alike) > ON_ARMS)


def _in_circle(tree: JointTree, hub: int, kid: int, pairs: list[Pair]) -> Pair | None:
    """The pair whose limbs a branch repeats, as an arm of an octopus ahead of it; None if it is a neck or a tail.

    At least two pairs and the branch begin on one joint, have as many bones and end as far from it and as high.
    """
    rest = tree.skeleton.rest[0]
    if frozenset().union(*(hints(tree.skeleton.names[j]) for j in tree.path(kid))) & {"head", "neck", "tail"}:
        return None

    def shape(joint: int) -> tuple[int, Array]:
        way = rest[tree.path(joint)[-1]] - rest[hub]
        return tree.bone_count(joint), np.array([np.hypot(way[0], way[1]), way[2]])

    count, place = shape(kid)
    size = tree.span * tree.weight(kid)
    others = [(p, shape(j)) for p in pairs if p[0] == hub for j in p[1:]]
    alike = [p for p, (n, at) in others if n == count and float(np.linalg.norm(at - place)) < ALIKE * size]
    return alike[0] if len(alike) > 3 else None


def _ahead(tree: JointTree, root: int, pair: Pair, forward: Array) -> float:
    """How far ahead of the root a pair begins [m], by the mean over the poses; its name counts where that is little."""
    at = tree.poses.positions
    begin = 0.5 * sum(at[:, tree.parted(*pair[1:])[n]] for n in range(2))
    names = "".join(w for j in tree.path(pair[1]) for w in name_words(tree.skeleton.names[j]))
    said = any(w in names for w in ("front", "fore", "arm")) - any(w in names for w in ("back", "hind", "rear", "leg"))
    return float(np.mean(np.sum((begin - at[:, root]) * forward, axis=-1))) + tree.span * said


def _stands_on_four(
    tree: JointTree,
    root: int,
    chest: int,
    legs: Pair | None,
    pairs: list[Pair],
    single: list[tuple[int, int]],
) -> bool:
    """Whether the front pair are legs: votes of trunk and tips at rest and in motion, lengths, and a tail."""
    front = [p for p in pairs if p is not legs and p[0] == chest and chest != root and not _is_wing(tree, p)]
    if legs is None or not front:
        return False
    front_pair = max(front, key=lambda p: tree.worth(p[1]))  # beside it, stubs may share the flesh of the chest
    at, rest = tree.poses.positions, rest_pose(tree.skeleton)[0]
    hind_tip = tree.path(legs[1])[-1]
    vote = 0.0
    # without the step from trunk to first joint: a person's arm is 0.65 of the leg, a dog's front leg 0.85
    is_long = tree.reach[front_pair[1]] > FRONT_LEG * tree.reach[legs[1]]
    on_ground = time_on_ground(tree, front_pair)
    named = tree.named(front_pair)
    if named & {"arm", "leg"} == {"arm"} and on_ground < ON_ARMS:
        return False  # a dragon's
    steep = 0.0 if is_long and on_ground > PROPPED else -1.0  # a griffon's chest is far above its croup
    leg = rest[hind_tip] - rest[legs[1]]
    if leg[2] < -0.5 * max(float(np.linalg.norm(leg)), 1e-9):
        trunk = trunk_of(tree, root, chest, pairs, rest[None])[0]
        vote += 1.0 if abs(trunk[2]) < 0.5 * max(float(np.linalg.norm(trunk)), 1e-9) else steep
        above = float(rest[tree.path(front_pair[1])[-1], 2] - rest[hind_tip, 2])
        vote += 1.0 if above < 0.2 * float(np.linalg.norm(leg)) else 0.0
    if not tree.poses.is_bare:
        trunk = trunk_of(tree, root, chest, pairs, at)
        tilt = np.abs(trunk[:, 2]) / np.maximum(np.linalg.norm(trunk, axis=-1), 1e-9)
        vote += 1.0 if np.mean(tilt < 0.6) > 0.8 else steep
    as_much = on_ground / max(time_on_ground(tree, legs), 0.25)
    vote += 2.0 * min(as_much, 1.0) - 1.0
    vote += 0.5 if is_long else -1.0
    vote += 0.5 if any(hub == root for hub, _ in single) else 0.0
    vote -= 1.0 if "arm" in named and "leg" not in named else 0.0
    # a hand of four fingers and more, where the foot has none
    branches = [max(len(tree.skeleton.children[j]) for j in tree.path(pair[1])) for pair in (front_pair, legs)]
    vote -= 1.5 if branches[0] >= 4 > branches[1] else 0.0
    return vote > 0.6


def _pair_kind(
    tree: JointTree,
    hub: int,
    pair: tuple[int, int],
    legs: Pair | None,
    pairs: list[Pair],
    four_legged: bool,
) -> tuple[str, str]:
    """Kind and place of a pair beside the legs; `pairs` are those that could be its rivals as arms."""
    if legs is not None and pair == legs[1:]:
        return "leg", "hind" if four_legged else ""
    weight = tree.worth(pair[0])
    beside = [p for p in pairs if p[0] == hub and p != legs and not _is_wing(tree, p)]
    called = [p for p in beside if "arm" in tree.named(p)]
    if called and (hub, *pair) not in called:  # a cloak may be longer than the arms
        return "other", ""
    rivals = [tree.worth(p[1]) for p in called or beside]
    least = SMALL if called or min(map(tree.bone_count, pair)) > 2 else LIMB
    if _is_wing(tree, (hub, *pair)) or weight < max(rivals) or tree.weight(pair[0]) < least:
        return "other", ""
    return ("leg", "front") if four_legged else ("arm", "")


def _left_first(tree: JointTree, a: int, b: int, left: Array) -> tuple[int, int]:
    sides = (tree.side(a), tree.side(b))
    if sides == ("left", "right"):
        return a, b
    if sides == ("right", "left"):
        return b, a
    top_a, top_b = tree.parted(a, b)
    difference = tree.poses.positions[:, top_a] - tree.poses.positions[:, top_b]
    return (a, b) if float(np.mean(np.sum(difference * left, axis=-1))) >= 0.0 else (b, a)


def _unique(chains: list[Chain]) -> list[Chain]:
    """Chains with a joint already taken lose it; empty ones go."""
    seen: set[int] = set()
    result: list[Chain] = []
    for c in chains:
        joints = tuple(j for j in c.joints if j not in seen)
        seen.update(joints)
        if joints:
            upper = min(c.upper, len(joints) - 1)
            result.append(Chain(c.kind, c.side, c.place, c.hub, joints, upper))
    return result


def _depth_first(skeleton: Skeleton, root: int) -> list[int]:
    order: list[int] = []
    waiting = [root]
    while waiting:
        j = waiting.pop()
        order.append(j)
        waiting.extend(reversed(skeleton.children[j]))
    return order
