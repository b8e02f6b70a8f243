"""Which joints are pelvis, spine, neck, tail, arms and legs: from geometry and motion, with names as a hint.

The tree of joints is read from the trunk outwards. A *hub* is a joint with at least two limb-sized branches: the first
one below the root is the pelvis, the next ones end the spine. Branches of a hub that lead to no other hub are limbs:
two alike make a pair (arms or legs), one alone is a neck or a tail. Pairs at the pelvis are legs; pairs higher up are
legs only if the figure stands on them with a level trunk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.character.fit_names import hints, is_aside, side_of, without_side
from poise.character.fit_poses import Poses
from poise.skeleton import Skeleton, rest_pose
from poise.spatial import rotations

Array = npt.NDArray[np.float64]

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Chain:
    """A limb as joints of the skeleton, before bodies exist.

    Attributes:
        kind: "leg", "arm", "spine", "neck", "tail" or "other".
        side: "left", "right" or "".
        place: "front" or "hind" for the legs of a four-legged figure, else "".
        hub: Joint of the trunk it hangs on.
        joints: Simulated joints, from the trunk outwards.
        upper: Place in `joints` of the thigh or upper arm; 0 for other kinds.
    """

    kind: str
    side: str
    place: str
    hub: int
    joints: tuple[int, ...]
    upper: int = 0

    @property
    def name(self) -> str:
        """Such as "left_hind_leg" or "tail"."""
        return "_".join(w for w in (self.side, self.place, self.kind) if w)


@dataclass(frozen=True)
class Anatomy:
    """What the joints of a skeleton are for.

    Attributes:
        root: Joint of the root body, the pelvis.
        chest: Joint the arms or front legs hang on; the pelvis if there is no spine.
        chains: Limbs, the spine first.
        forward: Direction the figure faces, level, in each frame, shape (F, 3).
        lengths: Bone length from each joint's parent to it [m], shape (J,).
        span: Longest path through the bones, such as toe to fingertip [m].
        four_legged: True if it stands on its front limbs as well.
        simulated: Joints that become bodies, depth first.
    """

    root: int
    chest: int
    chains: tuple[Chain, ...]
    forward: Array
    lengths: Array
    span: float
    four_legged: bool
    simulated: tuple[int, ...]

    def at_rest(self, rest: Poses) -> Anatomy:
        """The same anatomy facing as the rest pose does; `rest` are the poses of the bare skeleton."""
        return replace(self, forward=find_anatomy(rest).forward)

    def limbs(self, kind: str) -> tuple[Chain, ...]:
        """All chains of this kind."""
        return tuple(c for c in self.chains if c.kind == kind)


def find_anatomy(poses: Poses) -> Anatomy:
    """Read the joints of a skeleton as pelvis, spine, limbs, neck and tail.

    Sizes below are shares of the skeleton's longest path through its bones (toe to fingertip, 2.3 m for a person):
    a limb is at least 0.15 of it, a neck or tail at least 0.05.
    """
    tree = _Tree(poses)
    root = tree.find_root()
    spine_paths, hubs = tree.find_hubs(root)
    chest = _highest_chain_end(poses, root, hubs)
    chains: list[Chain] = []
    trunk = {root, *hubs, *(j for path in spine_paths for j in path)}
    for path in spine_paths:
        kept = tuple(j for j in path if tree.is_spine_bone(j))
        if kept:
            chains.append(Chain("spine", "", "", root, kept))
    loose = {hub: [c for c in tree.major(hub, 0.05) if c not in trunk] for hub in (root, *hubs)}
    pairs: list[tuple[int, int, int]] = []
    single: list[tuple[int, int]] = []
    for hub, kids in loose.items():
        paired, alone = tree.pair_up(kids)
        pairs += [(hub, a, b) for a, b in paired]
        single += [(hub, c) for c in alone]
    leg_pair = _main_legs(tree, root, pairs)
    forward, left = _heading(tree, root, chest, leg_pair, pairs)
    four_legged = _stands_on_four(tree, root, chest, leg_pair, pairs, single)
    for hub, a, b in pairs:
        kind, place = _pair_kind(tree, hub, (a, b), leg_pair, pairs, four_legged)
        a, b = _left_first(tree, a, b, left)
        for side, kid in (("left", a), ("right", b)):
            if chain := tree.limb_chain(kind, side, place, hub, kid, b if kid == a else a):
                chains.append(chain)
    for hub, kid in single:
        if chain := _single_chain(tree, root, chest, hub, kid, bool(hubs)):
            chains.append(chain)
    chains = _unique(chains)
    wanted = {root} | {j for c in chains for j in c.joints}
    simulated = tuple(j for j in _depth_first(poses.skeleton, root) if j in wanted)
    four = four_legged and any(c.place == "front" for c in chains)
    return Anatomy(root, chest, tuple(chains), forward, tree.lengths, tree.span, four, simulated)


class _Tree:
    """The skeleton's tree with the lengths that decide; helper of `find_anatomy`, never changed after it is made."""

    def __init__(self, poses: Poses) -> None:
        self.poses, self.skeleton = poses, poses.skeleton
        count = self.skeleton.joint_count
        parents = self.skeleton.parents
        moved = poses.positions[:, 1:] - poses.positions[:, parents[1:]]
        self.lengths = np.concatenate([[0.0], np.median(np.linalg.norm(moved, axis=-1), axis=0)])
        self.reach = np.zeros(count)
        for site in self.skeleton.end_sites:
            self.reach[site.joint] = max(self.reach[site.joint], float(np.linalg.norm(site.offset)))
        span = 0.0
        for j in range(count - 1, -1, -1):
            below = sorted((self.lengths[c] + self.reach[c] for c in self.skeleton.children[j]), reverse=True)
            if below:
                span = max(span, self.reach[j], sum(below[:2]))
                self.reach[j] = max(self.reach[j], below[0])
        self.span = span if span > 0.0 else 1.0

    def weight(self, joint: int) -> float:
        """Length of the longest path from the joint's parent through it, as a share of the span."""
        return float(self.lengths[joint] + self.reach[joint]) / self.span

    def major(self, joint: int, share: float) -> list[int]:
        """Children whose branch is at least this share of the span, asides by name left out."""
        kids = [c for c in self.skeleton.children[joint] if self.weight(c) >= share]
        return [c for c in kids if not is_aside(self.skeleton.names[c])] or (kids if len(kids) == 1 else [])

    def find_root(self) -> int:
        joint = 0
        while len(kids := self.major(joint, 0.15)) == 1 and self._leads_to_hub(kids[0]):
            joint = kids[0]
        return joint

    def _leads_to_hub(self, joint: int) -> bool:
        while True:
            kids = self.major(joint, 0.15)
            if len(kids) != 1:
                return len(kids) > 1
            joint = kids[0]

    def find_hubs(self, root: int) -> tuple[list[tuple[int, ...]], list[int]]:
        """Paths of trunk joints below the root up to each further hub (inclusive), and those hubs."""
        paths: list[tuple[int, ...]] = []
        hubs: list[int] = []
        waiting = [root]
        while waiting:
            hub = waiting.pop(0)
            for kid in self.major(hub, 0.15):
                path: list[int] = [kid]
                while len(kids := self.major(path[-1], 0.15)) == 1:
                    path.append(kids[0])
                if len(kids) > 1 and self._is_trunk_hub(path[-1], kids):
                    paths.append(tuple(path))
                    hubs.append(path[-1])
                    waiting.append(path[-1])
        return paths, hubs

    def _is_trunk_hub(self, joint: int, kids: list[int]) -> bool:
        """A fork of the trunk, not of a hand or a branching tail: it carries a pair, or asymmetric big parts."""
        paired, _ = self.pair_up(self.major(joint, 0.05))
        return bool(paired) or len(kids) > 2

    def is_spine_bone(self, joint: int) -> bool:
        """False for a joint the file cannot turn, and for one that only doubles its single child."""
        if joint in self.skeleton.fixed:
            return False
        kids = self.skeleton.children[joint]
        doubled = len(kids) == 1 and self.lengths[kids[0]] < 0.005 * self.span and not self.turns(joint)
        return not doubled

    def turns(self, joint: int) -> bool:
        """True if the joint turns by more than half a degree over the poses."""
        turn = rotations.angle_between(self.poses.rotations[:, joint], self.poses.rotations[:1, joint])
        return bool(turn.max() > np.radians(0.5))

    def pair_up(self, kids: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
        """Children that mirror each other, and those left over; asides by name do not take part."""
        left_over = list(kids)
        pairs: list[tuple[int, int]] = []
        scored = []
        names = self.skeleton.names
        for n, a in enumerate(kids):
            for b in kids[n + 1 :]:
                unlike = abs(self.weight(a) - self.weight(b)) / max(self.weight(a), self.weight(b))
                sides = {side_of(names[a]), side_of(names[b])}
                mirrored = sides == {"left", "right"} and without_side(names[a]) == without_side(names[b])
                if sides & {"left", "right"} and not mirrored and len(sides) == 2:
                    continue
                if unlike < (0.4 if mirrored else 0.12) and min(self.weight(a), self.weight(b)) >= 0.1:
                    scored.append((unlike - (1.0 if mirrored else 0.0), a, b))
        for _, a, b in sorted(scored):
            if a in left_over and b in left_over:
                pairs.append((a, b))
                left_over.remove(a)
                left_over.remove(b)
        return pairs, left_over

    def path(self, joint: int, *, with_asides: bool = False) -> list[int]:
        """Joints from this one down its longest branch, asides by name left out unless asked for."""
        path = [joint]
        while kids := self.skeleton.children[path[-1]]:
            plain = [c for c in kids if not is_aside(self.skeleton.names[c])]
            best = max(plain or kids, key=self.weight)
            if not plain and len(path) > 1 and not with_asides:
                break
            path.append(best)
        return path

    def tip_height(self, joint: int) -> Array:
        """Height of the far end of the joint's longest branch in each frame [m], shape (F,)."""
        return self.poses.positions[:, self.path(joint)[-1], 2]

    def limb_chain(self, kind: str, side: str, place: str, hub: int, kid: int, other: int) -> Chain | None:
        """Trim a branch to the joints worth simulating: [collar], upper, lower, hand; thigh, shin, foot, toe."""
        # a paw's toes are often called fingers
        path = self.path(kid, with_asides=kind == "leg")
        if kind == "other":
            return Chain(kind, side, place, hub, tuple(path)) if self.weight(kid) >= 0.15 else None
        bones = [float(self.lengths[path[k + 1]]) for k in range(len(path) - 1)]
        bones.append(float(self.reach[path[-1]]))
        upper = self.upper(kind, path, bones, other)
        keep = [j for j in path[:upper] if kind == "arm" or place == "front"]
        keep = [j for j in keep if j not in self.skeleton.fixed]
        whole = path[upper:]
        # joints that double another, or cannot turn, stay with the one before
        main = [whole[0]]
        for n, j in enumerate(whole[1:], start=1):
            too_close = self.lengths[j] < 0.012 * self.span and n > 1
            if j in self.skeleton.fixed or too_close:
                if n > 2:
                    break
                continue
            main.append(j)
        most = 3 if kind == "arm" else 4
        main = main[:most]
        if len(main) == most and self._is_tip(main[-1]):
            main.pop()
        return Chain(kind, side, place, hub, tuple(keep + main), upper=len(keep))

    def _is_tip(self, joint: int) -> bool:
        """A leaf that only marks where the limb ends: no length beyond it and it never turns."""
        return bool(self.reach[joint] < 1e-3 * self.span and not self.turns(joint) and not self.poses.is_bare)

    def upper(self, kind: str, path: list[int], bones: list[float], other: int) -> int:
        """Place in the path of the thigh or upper arm: the first long bone that does not start at the middle line."""
        longest = max(bones)
        mirror = self.path(other)
        for k in range(len(path) - 1):
            if bones[k] < 0.45 * longest and kind == "leg":
                continue
            if bones[k] < 0.25 * longest:
                continue
            if kind == "arm" and k + 2 < len(path) and k + 1 < len(mirror):
                here = self._apart(path[k], mirror[k])
                there = self._apart(path[k + 1], mirror[k + 1])
                name = self.skeleton.names[path[k]].lower()
                named = any(w in name for w in ("collar", "clavicle", "scapula"))
                # near the middle line, shorter than the next bone, and two bones still to come: a collar bone
                if here < 0.6 * there and bones[k + 2] > 0.0 and (named or (k == 0 and bones[k] < 0.9 * bones[k + 1])):
                    continue
            return k
        return 0

    def _apart(self, a: int, b: int) -> float:
        return float(np.median(np.linalg.norm(self.poses.positions[:, a] - self.poses.positions[:, b], axis=-1)))


def _highest_chain_end(poses: Poses, root: int, hubs: list[int]) -> int:
    """The hub with the most joints between it and the root that is not below a leg; the root if there is none."""
    if not hubs:
        return root
    return max(hubs, key=lambda j: (len(poses.skeleton.ancestors(j)), j))


def _main_legs(tree: _Tree, root: int, pairs: list[tuple[int, int, int]]) -> tuple[int, int, int] | None:
    """The pair that carries the figure: at the root, else the one whose tips are lowest."""
    if not pairs:
        return None

    def score(pair: tuple[int, int, int]) -> float:
        hub, a, b = pair
        tips = np.minimum(tree.tip_height(a), tree.tip_height(b))
        ground = tree.poses.positions[..., 2].min(axis=1)
        low = float(np.median(tips - ground)) / tree.span
        named = hints(tree.skeleton.names[tree.path(a)[-1]]) | hints(tree.skeleton.names[a])
        hint = 0.3 * ("arm" in named) - 0.3 * ("leg" in named)
        return low + hint + (0.0 if hub == root else 0.25)

    return min(pairs, key=score)


def _heading(
    tree: _Tree, root: int, chest: int, legs: tuple[int, int, int] | None, pairs: list[tuple[int, int, int]]
) -> tuple[Array, Array]:
    """Level forward and left directions in each frame, shapes (F, 3)."""
    at = tree.poses.positions
    frames = len(at)
    trunk = at[:, chest] - at[:, root]
    pair = legs or (pairs[0] if pairs else None)
    if pair is None:
        forward = _level(trunk if chest != root else at[:, tree.path(root)[-1]] - at[:, root])
        return forward, np.cross(UP, forward)
    _, a, b = pair
    a_top, b_top = _wide(tree, a, b)
    across = at[:, a_top] - at[:, b_top]
    named = (side_of(tree.skeleton.names[a]), side_of(tree.skeleton.names[b]))
    if named == ("right", "left"):
        across = -across
    elif named != ("left", "right"):
        across = across * _which_is_left(tree, root, chest, (a, b), across)
    across = across / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-9)
    # on all fours the trunk points forward; upright, forward is left × up along the trunk
    along = trunk if chest != root else np.tile(UP, (frames, 1))
    along = along / np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-9)
    ahead = np.cross(across, along)
    level = np.abs(along[:, 2:3]) < 0.7
    stands = _rest_is_level(tree, root, chest)
    forward = np.where(level & stands, along, ahead)
    return _level(forward), across


def _wide(tree: _Tree, a: int, b: int) -> tuple[int, int]:
    """First joints along two mirrored paths that stand clearly apart."""
    for p, q in zip(tree.path(a), tree.path(b)):
        if tree._apart(p, q) > 0.02 * tree.span:
            return p, q
    return tree.path(a)[-1], tree.path(b)[-1]


def _which_is_left(tree: _Tree, root: int, chest: int, pair: tuple[int, int], across: Array) -> float:
    """+1 if the first of an unnamed pair is the left one: judged by the trunk, by knees and toes, then by travel."""
    at, rest = tree.poses.positions, rest_pose(tree.skeleton)[0][None]
    if chest != root and _rest_is_level(tree, root, chest):
        return _votes_left(at[:, chest] - at[:, root], across)
    a, b = _wide(tree, *pair)
    vote = 0.0
    for positions, side in ((rest, rest[:, a] - rest[:, b]), (at, across)):
        for kid in pair:
            hip, knee, ankle, toe = _leg_joints(tree, kid, pair[1] if kid == pair[0] else pair[0])
            leg = positions[:, ankle] - positions[:, hip]
            length = float(tree.lengths[knee] + tree.lengths[ankle])
            if np.mean(leg[:, 2]) > -0.5 * length:
                continue
            # a bent knee is ahead of the line from hip to ankle; so are the toes of a foot at rest
            vote += _votes_left(positions[:, knee] - positions[:, hip] - 0.5 * leg, side) / length**2
            if positions is rest:
                vote += _votes_left(positions[:, toe] - positions[:, ankle], side) / length**2
    if abs(vote) < 1e-4 and len(at) > 1:
        vote = _votes_left(np.gradient(at[:, root], axis=0), across)
    return 1.0 if vote >= 0.0 else -1.0


def _votes_left(forward: Array, across: Array) -> float:
    """Positive if `across` points to the left of a figure that faces `forward`."""
    return float(np.mean(np.sum(np.cross(UP, forward) * across, axis=-1)))


def _leg_joints(tree: _Tree, kid: int, other: int) -> tuple[int, int, int, int]:
    path = tree.path(kid)
    bones = [float(tree.lengths[path[k + 1]]) for k in range(len(path) - 1)] + [float(tree.reach[path[-1]])]
    upper = tree.upper("leg", path, bones, other)
    last = len(path) - 1
    hip, knee, ankle, toe = (path[min(upper + k, last)] for k in range(4))
    return hip, knee, ankle, toe


def _level(direction: Array) -> Array:
    flat = direction * np.array([1.0, 1.0, 0.0])
    length = np.linalg.norm(flat, axis=-1, keepdims=True)
    return np.where(length > 1e-6, flat / np.maximum(length, 1e-6), np.array([1.0, 0.0, 0.0]))


def _rest_is_level(tree: _Tree, root: int, chest: int) -> bool:
    """True if the trunk lies level in the rest pose, or in nearly all frames where the rest pose is no pose at all."""
    if chest == root:
        return False
    rest = rest_pose(tree.skeleton)[0][None]
    at = np.concatenate([rest, tree.poses.positions])
    trunk = at[:, chest] - at[:, root]
    tilt = np.abs(trunk[:, 2]) / np.maximum(np.linalg.norm(trunk, axis=-1), 1e-9)
    return bool(np.mean(tilt < 0.6) > 0.9)


def _stands_on_four(
    tree: _Tree,
    root: int,
    chest: int,
    legs: tuple[int, int, int] | None,
    pairs: list[tuple[int, int, int]],
    single: list[tuple[int, int]],
) -> bool:
    """Whether the front pair are legs: votes of rest pose, trunk and tips in motion, lengths, and a tail."""
    front = [p for p in pairs if p is not legs and p[0] == chest and chest != root]
    if legs is None or not front:
        return False
    at, rest = tree.poses.positions, rest_pose(tree.skeleton)[0]
    hind_tip, front_tip = tree.path(legs[1])[-1], tree.path(front[0][1])[-1]
    vote = 0.0
    leg = rest[hind_tip] - rest[legs[1]]
    if leg[2] < -0.5 * max(float(np.linalg.norm(leg)), 1e-9):
        trunk = rest[chest] - rest[root]
        vote += 1.0 if abs(trunk[2]) < 0.5 * max(float(np.linalg.norm(trunk)), 1e-9) else -1.0
    if not tree.poses.is_bare:
        trunk = at[:, chest] - at[:, root]
        tilt = np.abs(trunk[:, 2]) / np.maximum(np.linalg.norm(trunk, axis=-1), 1e-9)
        vote += 1.0 if np.mean(tilt < 0.6) > 0.8 else -1.0
        gap = at[:, front_tip, 2] - at[..., 2].min(axis=1)
        vote += 0.5 if np.mean(gap < 0.06 * tree.span) > 0.4 else -0.5
    # without the step from trunk to first joint: a person's arm is 0.65 of the leg, a dog's front leg 0.85
    vote += 0.5 if tree.reach[front[0][1]] > 0.75 * tree.reach[legs[1]] else -1.0
    vote += 0.5 if any(hub == root for hub, _ in single) else 0.0
    return vote > 0.6


def _pair_kind(
    tree: _Tree,
    hub: int,
    pair: tuple[int, int],
    legs: tuple[int, int, int] | None,
    pairs: list[tuple[int, int, int]],
    four_legged: bool,
) -> tuple[str, str]:
    if legs is not None and pair == legs[1:]:
        return "leg", "hind" if four_legged else ""
    weight = tree.weight(pair[0])
    rivals = [tree.weight(p[1]) for p in pairs if p[0] == hub and p != legs]
    if weight < max(rivals) or weight < 0.15:
        return "other", ""
    return ("leg", "front") if four_legged else ("arm", "")


def _left_first(tree: _Tree, a: int, b: int, left: Array) -> tuple[int, int]:
    names = tree.skeleton.names
    sides = (side_of(names[a]), side_of(names[b]))
    if sides == ("left", "right"):
        return a, b
    if sides == ("right", "left"):
        return b, a
    top_a, top_b = _wide(tree, a, b)
    apart = tree.poses.positions[:, top_a] - tree.poses.positions[:, top_b]
    return (a, b) if float(np.mean(np.sum(apart * left, axis=-1))) >= 0.0 else (b, a)


def _single_chain(tree: _Tree, root: int, chest: int, hub: int, kid: int, has_hubs: bool) -> Chain | None:
    path = [j for j in tree.path(kid) if j not in tree.skeleton.fixed]
    named = frozenset().union(*(hints(tree.skeleton.names[j]) for j in path)) if path else frozenset()
    at = tree.poses.positions
    away = at[:, tree.path(kid)[-1]] - at[:, hub]
    rises = float(np.mean(away[:, 2])) > 0.4 * float(np.mean(np.linalg.norm(away, axis=-1)))
    if not path:
        return None
    if named & {"head", "neck"} or (hub == chest and hub != root and "tail" not in named):
        kind = "neck"
    elif "tail" in named or (hub == root and not rises):
        kind = "tail"
    elif not has_hubs and rises:
        kind = "neck"
    else:
        kind = "other"
    if kind == "neck":
        return Chain(kind, "", "", hub, _to_head(tree, path))
    kept = tuple(j for j in path if tree.weight(j) > 0.01)
    if kind == "other" and tree.weight(kid) < 0.15:
        return None
    return Chain(kind, "", "", hub, kept) if kept else None


def _to_head(tree: _Tree, path: list[int]) -> tuple[int, ...]:
    """The neck's joints up to the head: the named head, else the last before the path forks or shrinks to nothing."""
    for n, j in enumerate(path):
        if "head" in hints(tree.skeleton.names[j]):
            return tuple(path[: n + 1])
    kept: list[int] = []
    for j in path:
        if kept and is_aside(tree.skeleton.names[j]):
            break
        kept.append(j)
        if len(tree.skeleton.children[j]) > 1:
            break
    return tuple(kept)


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
