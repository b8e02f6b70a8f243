"""Necks, tails and what else hangs alone on a trunk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.body.anatomy import Chain, hints
from poise.body.branches import LIMB, SMALL
from poise.body.joint_tree import JointTree
from poise.core.typing import Array

BODY = 0.4
"""Least length of what goes on behind a head to be a body, as a share of the span [1]."""
NECK = 0.25
"""The last joint of a neck moves at most this share of the skin that the skull moves [1]."""
STRAIGHT = 0.7
"""A branch goes on along the trunk, or back from it, if the cosine between them is more than this [1]."""


def single_chain(tree: JointTree, root: int, chest: int, hub: int, kid: int, has_hubs: bool) -> Chain | None:
    """What a branch is that hangs alone on the trunk: a neck, a spine, a tail or something else; None for a stub."""
    path = [j for j in tree.path(kid) if j not in tree.skeleton.fixed]
    # what is on one side of the body does not go on what lies in its middle: feathers, the parts of a jaw
    middle = [j for j in path if not tree.is_sided(j)]
    path = path[: len(middle)] if middle == path[: len(middle)] else path
    named = frozenset().union(*(hints(tree.skeleton.names[j]) for j in path)) if path else frozenset()
    at = tree.poses.positions
    way = float(sum(tree.lengths[j] for j in path[1:]))
    # a control without skin may lie on the ground
    is_control = tree.skin is not None and tree.skin[hub] <= 0.0 and way > 2.0 * SMALL * tree.span
    is_at_root = hub == root or hub in tree.skeleton.ancestors(root)
    away = at[:, tree.path(kid)[-1]] - at[:, path[0] if is_control else hub]
    rises = float(np.mean(away[:, 2])) > 0.4 * float(np.mean(np.linalg.norm(away, axis=-1)))
    if not path:
        return None
    trunk = at[:, chest] - at[:, root]
    straight = float(np.mean(np.linalg.norm(away, axis=-1) * np.linalg.norm(trunk, axis=-1)))
    ahead = float(np.mean(np.sum(away * trunk, axis=-1))) / max(straight, 1e-12)
    above = hub == chest != root and "tail" not in named and (rises or ahead > STRAIGHT or "trunk" not in named)
    if named & {"head", "neck"} or above:
        kind = "neck"
    elif "trunk" in named and "tail" not in named and (rises or not is_at_root or chest == root):
        kind = "spine"  # what goes on behind the pelvis is a tail, however it is called
    elif "tail" in named or (is_at_root and (not rises or ahead < -STRAIGHT)):
        kind = "tail"
    elif not has_hubs and rises:
        kind = "neck"
    else:
        kind = "other"
    if kind == "neck":
        return Chain(kind, "", "", hub, to_head(tree, path))
    kept = tuple(j for j in path if tree.weight(j) > 0.01)
    if kind == "other" and tree.weight(kid) < LIMB:
        return None
    return Chain(kind, "", "", hub, kept) if kept else None


def by_heading(tree: JointTree, chain: Chain, forward: Array) -> Chain:
    """A nameless branch of a figure on many legs, which is a neck ahead of its trunk and a tail behind it."""
    named = frozenset().union(*(hints(tree.skeleton.names[j]) for j in chain.joints))
    away = tree.poses.positions[:, chain.joints[-1]] - tree.poses.positions[:, chain.hub]
    along = float(np.mean(np.sum(away * forward, axis=-1))) / max(float(np.mean(np.linalg.norm(away, axis=-1))), 1e-12)
    if named & {"head", "neck", "tail"} or abs(along) < STRAIGHT:
        return chain
    if along > 0.0:
        return replace(chain, kind="neck", joints=to_head(tree, list(chain.joints)))
    return replace(chain, kind="tail")


def neck_before_chest(tree: JointTree, pelvis: int, chest: int, chains: list[Chain]) -> list[Chain]:
    """The neck of a figure whose arms fork off before it: the heaviest branch of the trunk that was nothing else.

    Else a joint of the chest that is called a head.
    """
    trunk = [j for j in tree.skeleton.ancestors(chest) if pelvis in tree.skeleton.ancestors(j)]
    options = [c for c in chains if c.kind == "other" and not c.side and c.hub in trunk]
    best = max(options, key=lambda c: tree.weight(c.joints[0]), default=None)
    if best is None:  # a head that the file gives no length
        taken = {j for c in chains for j in c.joints}
        heads = [c for c in tree.skeleton.children[chest] if "head" in hints(tree.skeleton.names[c]) and c not in taken]
        heads = [c for c in heads if c not in tree.asides and not tree.is_sided(c)]
        return [*chains, *(Chain("neck", "", "", chest, (head,)) for head in heads[:1])]
    neck = Chain("neck", "", "", best.hub, to_head(tree, list(best.joints)))
    return [neck if c is best else c for c in chains]


def neck_above_arms(tree: JointTree, chains: list[Chain]) -> list[Chain]:
    """The chains with a neck, where two arms, the legs and a spine that goes up to the head all begin at the hips.

    The spine ends at the height of the shoulders; above them it is neck and head.
    """
    rest = tree.skeleton.rest[0][:, 2]
    arms = [c.joints[c.upper] for c in chains if c.kind == "arm"]
    spine = max((c for c in chains if c.kind == "spine"), key=lambda c: len(c.joints), default=None)
    if len(arms) != 2 or spine is None:
        return chains
    low = [j for j in spine.joints if rest[j] <= max(rest[arms])]
    if not low or len(low) == len(spine.joints) or list(spine.joints[: len(low)]) != low:
        return chains
    neck = Chain("neck", "", "", low[-1], spine.joints[len(low) :])
    return [replace(c, joints=tuple(low)) if c is spine else c for c in chains] + [neck]


def one_of_each(tree: JointTree, chains: list[Chain]) -> list[Chain]:
    """One neck and one tail: those called so, else the heaviest; sails, crests and flaps beside it are neither."""
    kept = list(chains)
    for kind in ("neck", "tail"):
        alike = [c for c in chains if c.kind == kind and len(c.joints)]
        called = [c for c in alike if any({kind, "head"} & hints(tree.skeleton.names[j]) for j in c.joints)]
        best = called or [max(alike, key=lambda c: tree.weight(c.joints[0]), default=None)]
        for chain in alike:
            if chain not in best:
                kept.remove(chain)
                if tree.weight(chain.joints[0]) >= LIMB:
                    kept.append(Chain("other", "", "", chain.hub, chain.joints))
    return kept


def spine_and_neck(tree: JointTree, chain: Chain) -> list[Chain]:
    """A trunk that bears no limbs on its way to the head (they hang on the pelvis): its spine, then neck and head."""
    named = [n for n, j in enumerate(chain.joints) if {"neck", "head"} & hints(tree.skeleton.names[j])]
    if chain.kind != "neck" or not named or named[0] == 0:
        return [chain]
    spine = Chain("spine", "", "", chain.hub, chain.joints[: named[0]])
    return [spine, Chain("neck", "", "", spine.joints[-1], chain.joints[named[0] :])]


def beyond_head(tree: JointTree, chain: Chain) -> list[Chain]:
    """A snake's body that hangs on its head: what goes on from the last joint of a neck for longer than a limb."""
    path = [j for j in tree.path(chain.joints[-1])[1:] if j not in tree.skeleton.fixed]
    if chain.kind != "neck" or len(path) < 3 or tree.weight(path[0]) < BODY:
        return []
    return [Chain("tail", "", "", chain.joints[-1], tuple(path))]


def to_head(tree: JointTree, path: list[int]) -> tuple[int, ...]:
    """The neck's joints up to the head: the named head, else the last before the path forks or shrinks to nothing."""
    names, children = tree.skeleton.names, tree.skeleton.children
    for n, j in enumerate(path):
        if "head" in hints(names[j]):
            return tuple(path[: n + 1])
        heads = [c for c in children[j] if "head" in hints(names[c]) and not tree.is_sided(c)]
        if heads and n + 1 < len(path) and path[n + 1] not in heads:
            return (*path[: n + 1], heads[0])  # one whose skin was painted to the neck, beside an elephant's trunk
    kept, waiting = [path[0]], list(path[1:])
    while True:
        j = kept[-1]
        kids = [c for c in children[j] if tree.skin is None or tree.below_skin[c] > 0.0]
        if len(kids) > 1 and (tree.skin is None or tree.skin[j] > 0.0):
            skull = _skull(tree, j, kids)
            if skull is None:
                break
            waiting = tree.path(skull)
        if not waiting or waiting[0] in tree.asides:
            break
        kept.append(waiting.pop(0))
    return tuple(kept)


def _skull(tree: JointTree, neck: int, kids: list[int]) -> int | None:
    """The skull beside its jaw: the branch in the middle of the body that moves most skin; None where there is none.

    It moves far more skin than the joint that both hang on, the last of the neck; a head would move more itself.
    """
    middle = [c for c in kids if not tree.is_sided(c) and c not in tree.asides]
    skull = max(middle, key=lambda c: float(tree.below_skin[c]), default=None)
    if tree.skin is None or skull is None or tree.skin[neck] > NECK * tree.below_skin[skull]:
        return None
    return skull
