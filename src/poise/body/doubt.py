"""What speaks against the reading of a figure's limbs: skin that belongs to no limb, names that say otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from poise.body.anatomy import Chain, hints
from poise.body.branches import LIMB, SMALL
from poise.body.joint_tree import JointTree
from poise.intake.anatomy import name_words

FLESH = 0.02
"""A branch with less of the skin than this share is no limb that was missed [1]."""
GOES_ON = 0.4
"""A leg that goes on with skin for this share of its length beyond its last joint was cut short [1]."""
FLESHY = 0.05
"""A last joint, of unknown length, with more of the skin than this share may be a leg [1]."""
NEAR_GROUND = 0.06
"""A tip is on the ground this near to the lowest joint, as a share of the span [1]."""
BEGINS_ABOVE = 0.15
"""A branch stands on the ground if it begins this far above it, as a share of the span [1]."""
NAMED = 3
"""Joints that a sentence names."""


def doubt_of(tree: JointTree, root: int, chains: Sequence[Chain], four_legged: bool) -> str:
    """Why the reading may be wrong, as one sentence with what to do; "" where nothing speaks against it.

    Args:
        tree: The joints.
        root: Joint of the root body.
        chains: The limbs that were found.
        four_legged: Whether the figure stands on its front limbs.
    """
    if tree.is_hand:
        return ""
    why = _unread(tree, root, chains) or _cut_short(tree, chains) or _contrary(tree, chains, four_legged)
    why = why or _without_legs(tree, chains)
    if not why:
        return ""
    return (
        f"The limbs may be read wrongly: {why}. `poise info FILE` lists them; `poise setup FILE -o figure.toml` lets "
        "you set them by hand, for --character figure.toml."
    )


def _unread(tree: JointTree, root: int, chains: Sequence[Chain]) -> str:
    """Limbs that were not read: called a leg or an arm, with a side, or as long as one; with skin, in no limb."""
    skeleton, names = tree.skeleton, tree.skeleton.names
    if tree.skin is None:
        return ""
    taken = {root, *(j for chain in chains for j in chain.joints)}
    carries = {a for j in taken for a in skeleton.ancestors(j)}
    total = max(float(tree.skin.sum()), 1e-12)
    limbs = {j for chain in chains if chain.kind != "spine" for j in chain.joints}
    found: list[int] = []
    for j in skeleton.carried_by(root).tolist():
        above = skeleton.ancestors(j)
        if j in taken or j in carries or j in tree.asides or any(a in found or a in tree.asides for a in above):
            continue
        holder = next(a for a in above if a in taken or a in carries)
        if holder in limbs or tree.below_skin[j] < FLESH * total:
            continue
        said = hints(names[j]) & {"leg", "arm"} and tree.is_sided(j) and tree.bone_count(j) > 1
        is_long = tree.weight(j) > LIMB and tree.is_sided(j)
        if said or is_long:
            found.append(j)
    if not found:
        return ""
    which = ", ".join(names[j] for j in found[:NAMED])
    return f"{which}, with skin, {'is' if len(found) == 1 else 'are'} part of no limb"


def _cut_short(tree: JointTree, chains: Sequence[Chain]) -> str:
    """The first leg that ends far before its skin does."""
    if tree.skin is None:
        return ""
    for chain in chains:
        if chain.kind != "leg" or len(chain.joints) < 2:
            continue
        last = chain.joints[-1]
        rest = tree.skeleton.rest[0]
        length = sum(tree.distance(a, b) for a, b in pairwise(chain.joints))
        beyond = [j for j in tree.skeleton.carried_by(last) if tree.skin[j] > 0.0 and j not in tree.asides]
        way = max((float(np.linalg.norm(rest[j] - rest[last])) for j in beyond), default=0.0)
        if way > GOES_ON * length and way > SMALL * tree.span:
            return f"the {chain.name.replace('_', ' ')} ends at {tree.skeleton.names[last]}, but its skin goes on"
    return ""


def _contrary(tree: JointTree, chains: Sequence[Chain], four_legged: bool) -> str:
    """A leg whose joints are called an arm's, on two legs, or an arm whose joints are called a leg's."""
    for chain in chains if not four_legged else ():
        if chain.kind not in ("leg", "arm"):
            continue
        said = [hints(tree.skeleton.names[j]) & {"leg", "arm"} for j in chain.joints]
        other = "arm" if chain.kind == "leg" else "leg"
        words = {word for j in chain.joints for word in name_words(tree.skeleton.names[j])}
        if chain.kind == "arm" and words & {"front", "fore"}:
            continue  # the arms of a beast that stands up
        if sum(s == {other} for s in said) > max(1, sum(chain.kind in s for s in said)):
            joints = ", ".join(tree.skeleton.names[j] for j in chain.joints[:NAMED])
            read, called = ("a leg", "an arm") if chain.kind == "leg" else ("an arm", "a leg")
            return f"{joints} are read as {read}, but called {called}"
    return ""


def _without_legs(tree: JointTree, chains: Sequence[Chain]) -> str:
    """Ends that stand on the ground, or that have much skin and no known length, in a figure without legs."""
    if any(chain.kind == "leg" for chain in chains):
        return ""
    skeleton, rest = tree.skeleton, tree.skeleton.rest
    arms = {j for chain in chains if chain.kind == "arm" for j in chain.joints}
    ground = float(rest[0][:, 2].min())
    standing: list[int] = []
    fleshy: list[int] = []
    for j in range(1, skeleton.joint_count):
        if skeleton.children[j] or j in tree.asides or j in arms:
            continue
        branch = [j]
        while (above := int(skeleton.parents[branch[-1]])) > 0 and len(skeleton.children[above]) == 1:
            branch.append(above)
        if any(hints(skeleton.names[k]) & {"head", "neck", "tail", "arm", "other"} for k in branch):
            continue
        low = float(tree.tips(rest[0], rest[1], j)[2]) - ground
        if low < NEAR_GROUND * tree.span and rest[0][above, 2] - ground > BEGINS_ABOVE * tree.span:
            standing.append(j)
        elif tree.skin is not None and tree.reach[j] <= 0.0 and tree.skin[j] > FLESHY * tree.skin.sum():
            fleshy.append(j)
    if len(standing) < 2 and len(standing) + len(fleshy) < 3:
        return ""
    which = ", ".join(skeleton.names[j] for j in sorted(standing + fleshy)[:NAMED])
    return f"no leg was found, but {which} may be some"
