"""The trunk of a figure: which joints are its ends, pelvis and chest."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from poise.body.anatomy import hints
from poise.body.branches import Pair
from poise.body.joint_tree import JointTree
from poise.body.standing import comes_near_ground, rest_is_level, share_on_ground, time_on_ground, trunk_of
from poise.core.skeleton import rest_pose
from poise.core.typing import Array
from poise.intake.anatomy import FRONT_LEG

VERTICAL = 0.7
"""A trunk whose direction is so much vertical is upright [1]."""

BELOW = 0.1
"""Least height of an upright figure's chest above its pelvis, as a share of the span [1]."""

STANDS = 0.6
"""Limbs that are on the ground so much, at rest and in the clip, are legs, if the trunk between them is level [1]."""

BOTH_STAND = 0.9
"""Two pairs that are both on the ground so much, at rest and in the clip, are legs, a rabbit's short ones too [1]."""

RISES = 0.1
"""A single branch that moves more skin than any limb and rises by this share of the span bears a head [1]."""
LITTLE = 0.4
"""Feelers and ears move less skin than this share of what the largest limbs move [1]."""


def find_trunk(
    tree: JointTree, root: int, hubs: list[int], pairs: list[Pair], single: list[tuple[int, int]]
) -> tuple[int, int]:
    """Both ends of the trunk, pelvis and chest: the root and the last fork, but the head goes on from the chest.

    Some animals are drawn from their shoulders: neck and front legs hang on the root, hind legs and tail further down.
    Others are drawn from the middle of the trunk, and neither end is the root.
    """
    chest = _chest(tree, root, hubs, pairs)
    pairs = [p for p in pairs if chest not in tree.skeleton.ancestors(p[0]) or chest == root]
    bear = sorted({hub for hub, _, _ in pairs})
    above = tree.skeleton.ancestors
    separate = [h for h in bear if h != chest and chest not in above(h) and h not in above(chest)]
    low = [h for h in separate if root not in bear and _stands_below(tree, h, chest, pairs)]
    if low:
        return max(low, key=lambda h: len(above(h))), chest
    if root not in bear and separate and (_named_leg(tree, chest, pairs) or _is_nameless_beast(tree, pairs)):
        pelvis = max(separate, key=lambda h: (_named_leg(tree, h, pairs), len(above(h))))
        if not _named_leg(tree, pelvis, pairs) and not _is_nameless_beast(tree, pairs):
            return root, chest
    elif chest == root or not {root, chest} <= set(bear):
        return _first_bearing(tree, root, chest, pairs), chest
    elif not rest_is_level(tree, root, chest, pairs):
        return (chest, root) if _hangs_down(tree, root, chest, pairs) else (root, chest)
    else:
        pelvis = root

    def headness(hub: int) -> float:
        best = 0.0
        way = [hub, *(j for j in above(hub) if j != root and root in above(j))] if hub != root else [hub]
        for at, kid in single:
            if at not in way:
                continue
            said = frozenset().union(*(hints(tree.skeleton.names[j]) for j in tree.path(kid)))
            rise = tree.skeleton.rest[0][tree.path(kid)[-1], 2] - tree.skeleton.rest[0][at, 2]
            own = bool(said & {"head", "neck"}) - ("tail" in said) + 0.5 * float(rise) / tree.span
            best = own if abs(own) > abs(best) else best
        return best

    head = head_branch(tree, root, single)
    if head is not None and root not in (pelvis, chest) and headness(pelvis) == headness(chest) == 0.0:
        trunk = trunk_of(tree, pelvis, chest, pairs, rest_pose(tree.skeleton)[0][None])[0]
        return (chest, pelvis) if float(trunk @ toward(tree, root, head)) < 0.0 else (pelvis, chest)
    height = tree.skeleton.rest[0][:, 2]
    flesh = max((float(tree.below_skin[kid]) for _, *pair in pairs for kid in pair), default=0.0)
    heads = [kid for at, kid in single if at == pelvis and tree.below_skin[kid] > flesh]
    bears_head = any(height[tree.path(kid)[-1]] - height[pelvis] > RISES * tree.span for kid in heads)
    margin = 0.0 if bears_head and headness(chest) <= 0.0 else 0.5
    return (chest, pelvis) if headness(pelvis) > max(headness(chest), 0.0) + margin else (pelvis, chest)


def head_branch(tree: JointTree, root: int, single: list[tuple[int, int]]) -> int | None:
    """The single branch of the root that is called the head, else the highest and fleshiest one: not the tail."""
    kids = [kid for hub, kid in single if hub == root]
    rest = tree.skeleton.rest[0]
    most = max((float(tree.below_skin[kid]) for kid in kids), default=0.0)

    def score(kid: int) -> float:
        said = frozenset().union(*(hints(tree.skeleton.names[j]) for j in tree.path(kid)))
        rise = float(rest[tree.path(kid)[-1], 2] - rest[root, 2]) / tree.span
        called = 2.0 * bool(said & {"head", "neck"}) - 2.0 * ("tail" in said)
        return called + rise + (float(tree.below_skin[kid]) / most if most > 0.0 else 0.0)

    return max(kids, key=score, default=None)


def toward(tree: JointTree, root: int, kid: int) -> Array:
    """Level way from the root to the end of a branch at rest [m]."""
    rest = tree.skeleton.rest[0]
    return (rest[tree.path(kid)[-1]] - rest[root]) * np.array([1.0, 1.0, 0.0])


def _first_bearing(tree: JointTree, root: int, chest: int, pairs: list[Pair]) -> int:
    """The pelvis of a trunk whose root bears no pair: the first fork on the way to the chest that bears legs, or one.

    The root may be a joint on the ground that bears the tail as well.
    """
    way = [j for j in reversed(tree.skeleton.ancestors(chest)) if j == root or root in tree.skeleton.ancestors(j)]
    bear = [j for j in way if any(hub == j for hub, _, _ in pairs)]
    if root in bear:
        return root
    return next((j for j in bear if _named_leg(tree, j, pairs)), bear[0] if bear else root)


def _chest(tree: JointTree, root: int, hubs: list[int], pairs: list[Pair]) -> int:
    """The fork of the trunk that bears the arms or front legs, by name or else the last; the root if there is none.

    Hair and horns fork further up, on the head.
    """
    bearing = {hub for hub, a, b in pairs if hub != root and tree.named((hub, a, b)) & {"arm", "leg"}}
    rising = {p[0] for p in pairs if not bearing and p[0] != root and _rises(tree, p)}
    if rising and any(hub not in (root, *rising) for hub, _, _ in pairs):  # feelers and ears of what has arms below
        below = {j for hub in rising for j in tree.skeleton.ancestors(hub)}
        pairs = [p for p in pairs if p[0] not in rising]
        hubs = [hub for hub in hubs if hub in below - rising] or [hub for hub in hubs if hub not in rising]
    bearing = bearing or _bears_front_legs(tree, root, pairs)

    def last(of: Iterable[int]) -> int:
        return max(of, key=lambda j: (len(tree.skeleton.ancestors(j)), j), default=root)

    if bearing or tree.skin is None:
        return last(bearing or hubs)
    way = {last(hubs), *tree.skeleton.ancestors(last(hubs))}
    flesh = {hub: float(tree.below_skin[[a, b]].sum()) for hub, a, b in pairs if hub != root}
    return last({hub for hub in way & flesh.keys() if flesh[hub] > LITTLE * max(flesh.values())} or hubs)


def _rises(tree: JointTree, pair: Pair) -> bool:
    """Whether both limbs of a pair go up from the hub they hang on, at rest."""
    rest, turned = tree.skeleton.rest
    ways = [tree.tips(rest, turned, kid) - rest[pair[0]] for kid in pair[1:]]
    return all(way[2] > VERTICAL * np.linalg.norm(way) for way in ways)


def _bears_front_legs(tree: JointTree, root: int, pairs: list[Pair]) -> set[int]:
    """Forks of a level trunk whose pair stands, as does one elsewhere, while what hangs beyond does not.

    Wings, tufts and long ears do not end the trunk.
    """
    stand = [p for p in pairs if time_on_ground(tree, p) > STANDS]
    beyond = {above for p in pairs if p not in stand for above in tree.skeleton.ancestors(p[0])}
    found = {p[0] for p in stand if p[0] in beyond - {root} and any(q[0] != p[0] for q in stand)}
    return {hub for hub in found if rest_is_level(tree, root, hub, pairs)}


def _hangs_down(tree: JointTree, root: int, chest: int, pairs: list[Pair]) -> bool:
    """Whether an upright figure is drawn from its chest: the limbs of the last fork begin below the root's and stand.

    So it must be at rest and in most poses; a handstand is not a rest pose.
    """
    for at in (rest_pose(tree.skeleton)[0][None], tree.poses.positions):
        trunk = trunk_of(tree, root, chest, pairs, at)
        if np.median(trunk[:, 2] + VERTICAL * np.linalg.norm(trunk, axis=-1)) > 0.0:
            return False
    lower = [p for p in pairs if p[0] == chest]
    return any(comes_near_ground(tree, p) and "arm" not in tree.named(p) for p in lower) and not any(
        "leg" in tree.named(p) for p in pairs if p[0] == root
    )


def is_beside_trunk(tree: JointTree, hub: int, chest: int, pairs: list[Pair]) -> bool:
    """Whether a fork is on a side branch, off the line from pelvis to chest, and the chest bears longer limbs."""
    if hub == chest or hub in tree.skeleton.ancestors(chest) or chest in tree.skeleton.ancestors(hub):
        return False
    own, others = (max((tree.worth(a) for h, a, _ in pairs if h == at), default=0.0) for at in (hub, chest))
    return own < others


def _named_leg(tree: JointTree, hub: int, pairs: list[Pair]) -> bool:
    """Whether a pair on this joint is called a leg."""
    return any("leg" in tree.named(pair) for pair in pairs if pair[0] == hub)


def _stands_below(tree: JointTree, hub: int, chest: int, pairs: list[Pair]) -> bool:
    """Whether a fork is the pelvis of an upright figure without telling names.

    It lies below the chest, and in the rest pose its limbs stand on the ground while those of the chest hang free.
    """
    rest, said = rest_pose(tree.skeleton)[0], {"arm", "leg", "other"}
    if any(tree.named(p) & said for p in pairs) or rest[hub, 2] > rest[chest, 2] - BELOW * tree.span:
        return False

    def share(at: int) -> float:
        return max((share_on_ground(tree, p) for p in pairs if p[0] == at), default=0.0)

    return share(hub) >= 0.5 > share(chest)


def _is_nameless_beast(tree: JointTree, pairs: list[Pair]) -> bool:
    """Whether the only two pairs have no telling names and are as long as the legs of an animal are, or both stand."""
    if len(pairs) != 2 or any(tree.named(pair) & {"arm", "leg", "other"} for pair in pairs):
        return False
    short, long = sorted(tree.reach[a] for _, a, _ in pairs)
    return bool(short > FRONT_LEG * long) or all(time_on_ground(tree, pair) > BOTH_STAND for pair in pairs)
