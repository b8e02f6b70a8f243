"""How a figure stands: where its trunk lies, which way it faces, and which of its limbs are on the ground.

Where it faces follows from its legs, trunk, knees and toes, and from where it travels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poise.body.anatomy import hints
from poise.body.branches import Pair
from poise.body.joint_tree import JointTree
from poise.body.limb_chain import first_long_bone
from poise.core.skeleton import rest_pose
from poise.core.typing import Array

UP = np.array([0.0, 0.0, 1.0])
AHEAD = 0.02
"""Limbs begin ahead of others if they do so by this share of the span [1]."""
GROUNDED = 0.02
"""Feet are on the ground while they are above their lowest place by less than this share of the span [1]."""
STEADY = 0.3
"""Feet show where a figure goes if so much of their way on the ground is in one direction [1]."""


def heading(
    tree: JointTree, root: int, chest: int, legs: Pair | None, pairs: list[Pair], standing: list[Pair]
) -> tuple[Array, Array]:
    """Level forward and left directions in each frame, shapes (F, 3); `standing` are the pairs that carry it."""
    at = tree.poses.positions
    frames = len(at)
    trunk = trunk_of(tree, root, chest, pairs, at)
    pair = legs or (pairs[0] if pairs else None)
    if pair is None:
        forward = _level(trunk if chest != root else at[:, tree.path(root)[-1]] - at[:, root])
        return forward, np.cross(UP, forward)
    _, a, b = pair
    a_top, b_top = tree.parted(a, b)
    across = at[:, a_top] - at[:, b_top]
    named = (tree.side(a), tree.side(b))
    many = None if "" not in named else _ahead_of_many(tree, root, pairs, standing)
    if named == ("right", "left"):
        across = -across
    elif many is not None:
        rest = tree.skeleton.rest[0]
        across = across * np.sign(_votes_left(many[None], (rest[a_top] - rest[b_top])[None]) or 1.0)
    elif named != ("left", "right"):
        across = across * _which_is_left(tree, root, chest, (a, b), pairs, across)
    across = across / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-9)
    # on all fours the trunk points forward; upright, forward is left × up along the trunk
    along = trunk if chest != root and many is None else np.tile(UP, (frames, 1))
    along = along / np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-9)
    ahead = np.cross(across, along)
    level = np.abs(along[:, 2:3]) < 0.7
    stands = rest_is_level(tree, root, chest, pairs)
    forward = np.where(level & stands, along, ahead)
    return _level(forward), across


def trunk_of(tree: JointTree, root: int, chest: int, pairs: list[Pair], at: Array) -> Array:
    """From pelvis to chest in poses (F, J, 3): from the middle of the limbs that hang on one to that of the other's.

    The joints themselves may lie anywhere between: some rigs fork at one point.
    """
    if chest == root:
        return at[:, chest] - at[:, root]
    ends = []
    for hub in (root, chest):
        tops = [j for at_hub, a, b in pairs if at_hub == hub for j in tree.parted(a, b)]
        ends.append(at[:, tops].mean(axis=1) if tops else at[:, hub])
    return ends[1] - ends[0]


def _which_is_left(
    tree: JointTree, root: int, chest: int, pair: tuple[int, int], pairs: list[Pair], across: Array
) -> float:
    """+1 if the first of an unnamed pair is the left one: judged by the trunk, by knees and toes, then by travel."""
    at, rest = tree.poses.positions, rest_pose(tree.skeleton)[0][None]
    a, b = tree.parted(*pair)
    if chest != root and rest_is_level(tree, root, chest, pairs):
        return _votes_left(trunk_of(tree, root, chest, pairs, at), across)
    vote = 0.0
    for positions, side in ((rest, rest[:, a] - rest[:, b]), (at, across)):
        for kid in pair:
            hip, knee, ankle, toe = _leg_joints(tree, kid, pair[1] if kid == pair[0] else pair[0])
            leg = positions[:, ankle] - positions[:, hip]
            length = float(tree.lengths[knee] + tree.lengths[ankle])
            if length < 1e-3 * tree.span or np.mean(leg[:, 2]) > -0.5 * length:
                continue
            # a bent knee is ahead of the line from hip to ankle; so are the toes of a foot at rest
            vote += _votes_left(positions[:, knee] - positions[:, hip] - 0.5 * leg, side) / length**2
            if positions is rest:
                vote += _votes_left(positions[:, toe] - positions[:, ankle], side) / length**2
    if abs(vote) < 1e-4 and len(at) > 1:
        vote = _votes_left(np.gradient(at[:, root], axis=0), across)
    return 1.0 if vote >= 0.0 else -1.0


def _ahead_of_many(tree: JointTree, root: int, pairs: list[Pair], standing: list[Pair]) -> Array | None:
    """Where a nameless figure with several pairs of legs faces, shape (3,).

    Its knees point to all sides. A head, claws, fangs and feelers are ahead of the legs; else feet on the ground go
    backward under the body; else it faces −y, as most files are drawn. None for one pair of legs, or two pairs on two
    joints, whose trunk shows it.
    """
    hubs = {hub for hub, _, _ in standing}
    if len(standing) < 2 or len(hubs) == len(standing) == 2:
        return None
    rest, at, names = tree.skeleton.rest[0], tree.poses.positions, tree.skeleton.names

    def begin(of: list[Pair]) -> Array:
        return rest[[j for p in of for j in tree.parted(*p[1:])]].mean(axis=0)

    heads = [j for j in tree.skeleton.carried_by(root).tolist() if hints(names[j]) & {"head", "neck"}]
    others = [p for p in pairs if p[0] in hubs and p not in standing]
    for places in (rest[heads], np.array([begin(others)]) if others else rest[:0]):
        ahead = places.mean(axis=0) - begin(standing) if len(places) else np.zeros(3)
        if np.linalg.norm(ahead[:2]) > AHEAD * tree.span:
            return ahead
    went, length = np.zeros(3), 0.0  # where the body goes over its feet, and how long their ways are
    for foot in (kid for p in standing for kid in p[1:]):
        place = tree.tips(at, tree.poses.orientations, foot)
        step = np.diff(place - at[:, root], axis=0)[place[1:, 2] < place[:, 2].min() + GROUNDED * tree.span]
        went, length = went - step.sum(axis=0), length + float(np.linalg.norm(step, axis=-1).sum())
    return went if np.linalg.norm(went[:2]) > STEADY * length > 0.0 else np.array([0.0, -1.0, 0.0])


def _votes_left(forward: Array, across: Array) -> float:
    """Positive if `across` points to the left of a figure that faces `forward`."""
    return float(np.mean(np.sum(np.cross(UP, forward) * across, axis=-1)))


def _leg_joints(tree: JointTree, kid: int, other: int) -> tuple[int, int, int, int]:
    """Hip, knee, ankle and toe of the leg that begins at `kid`; the last joint again where it has fewer."""
    path = tree.path(kid)
    upper = first_long_bone(tree, "leg", path, kid, other)
    last = len(path) - 1
    hip, knee, ankle, toe = (path[min(upper + k, last)] for k in range(4))
    return hip, knee, ankle, toe


def _level(direction: Array) -> Array:
    flat = direction * np.array([1.0, 1.0, 0.0])
    length = np.linalg.norm(flat, axis=-1, keepdims=True)
    return np.where(length > 1e-6, flat / np.maximum(length, 1e-6), np.array([1.0, 0.0, 0.0]))


def rest_is_level(tree: JointTree, root: int, chest: int, pairs: list[Pair]) -> bool:
    """True if the trunk is level in the rest pose, or in nearly all frames if the rest pose is unusable."""
    if chest == root:
        return False
    rest = rest_pose(tree.skeleton)[0][None]
    at = np.concatenate([rest, tree.poses.positions])
    trunk = trunk_of(tree, root, chest, pairs, at)
    tilt = np.abs(trunk[:, 2]) / np.maximum(np.linalg.norm(trunk, axis=-1), 1e-9)
    return bool(np.mean(tilt < 0.6) > 0.9)


def share_on_ground(tree: JointTree, pair: Pair) -> float:
    """Mean of the share of frames in which both tips are near the lowest joint, and of whether they are at rest."""
    return _on_ground(tree, pair, lambda near: near.min(axis=0), tree.tips)


def time_on_ground(tree: JointTree, pair: Pair) -> float:
    """The same of the lowest joints of both limbs, fingers and all, one by one: the feet of a walk stand in turn."""

    def lowest(positions: Array, orientations: Array, joint: int) -> Array:
        tip = tree.tips(positions, orientations, joint)[..., None, :]
        every = np.concatenate([positions[..., list(tree.skeleton.carried_by(joint)), :], tip], axis=-2)
        return np.take_along_axis(every, every[..., 2:].argmin(axis=-2, keepdims=True), axis=-2)[..., 0, :]

    return _on_ground(tree, pair, lambda near: near.mean(axis=0), lowest)


def _on_ground(
    tree: JointTree, pair: Pair, of_both: Callable[[Array], Array], end: Callable[[Array, Array, int], Array]
) -> float:
    def near(positions: Array, orientations: Array) -> Array:
        heights = np.stack([end(positions, orientations, joint)[..., 2] for joint in pair[1:]])
        ground = np.minimum(positions[..., 2].min(axis=-1), heights.min(axis=0))
        return of_both((heights - ground < 0.05 * tree.span).astype(np.float64))

    at_rest = float(np.mean(near(*rest_pose(tree.skeleton))))
    if tree.poses.is_bare:
        return at_rest
    return 0.5 * at_rest + 0.5 * float(np.mean(near(tree.poses.positions, tree.poses.orientations)))


def comes_near_ground(tree: JointTree, pair: Pair) -> bool:
    """Whether a tip of the pair is ever about as low as the lowest joint, at rest or in the clip."""
    rest, turned = rest_pose(tree.skeleton)
    gaps = []
    for positions, orientations in ((rest[None], turned[None]), (tree.poses.positions, tree.poses.orientations)):
        tips = np.min([tree.tips(positions, orientations, joint)[..., 2] for joint in pair[1:]], axis=0)
        gaps.append(float(np.min(tips - np.minimum(positions[..., 2].min(axis=-1), tips))))
    return min(gaps) < 0.06 * tree.span
