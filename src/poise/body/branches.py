"""The branches of a skeleton: how long they are, and what is no part of trunk or limbs."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from poise.body.anatomy import (
    Poses,
    bone_lengths,
    hints,
    is_aside,
    is_end,
    is_twist,
    side_of,
    sound_ends,
    twins_of,
    without_side,
)
from poise.core import rotations
from poise.core.typing import Array
from poise.intake.anatomy import is_finger, is_hand
from poise.phases.points import far_tips, figure_skin

Pair = tuple[int, int, int]
"""A joint of the trunk, and the first joints of two branches on it that mirror each other."""

LIMB, SMALL = 0.15, 0.05
"""Least length of a limb, and of a neck or tail, as shares of the longest path through the bones [1]."""

FEWEST_VERTICES = 20.0
"""Joints that move fewer vertices than this are not told apart by their number."""

TRUNK = 0.2
"""Joints above the first fork with so much of the skin are the trunk, as a share of all [1]."""

CARRIES = 0.4
"""A joint with this share of all joints below it carries the figure [1]."""

INSIDE = 0.12
"""A branch lies inside a bone if it keeps this near to its line, as a share of its length [1]."""

BESIDE = 0.1
"""A tail begins at the pelvis if it begins this near to it, as a share of the span [1]."""

FAN = 5
"""A fork of so many short branches, far from the root, is a face or a hand."""

MORE = 2
"""A limb goes on through such a fork if one branch has more than so many times the joints of any other [1]."""

SHORT = 0.8
"""Longest branch of such a fork, over the way from the root to it [1]."""


class Branches:
    """The branches of a skeleton, with the lengths that decide what is a limb; never changed once made.

    Attributes:
        poses, skeleton: What it was made from.
        skin: Vertices each joint moves, shape (J,); None where it is not known or covers hardly any joint.
        lengths: Bone length from each joint's parent to it [m], shape (J,).
        reach: From each joint along its longest branch to the end of it [m], shape (J,).
        span: Longest path through the bones [m].
        is_hand: True for a hand alone.
        asides: Joints that are not part of trunk or limbs: controls, fingers, faces, hair, twist bones, things held.
    """

    def __init__(self, poses: Poses) -> None:
        self.poses, self.skeleton = poses, poses.skeleton
        self.lengths = bone_lengths(poses)
        self.twins = twins_of(self.skeleton.names)
        for j, (_, other) in list(self.twins.items()):  # a lone "right_root" is not a twin of the whole "root"
            few, many = sorted(len(self.skeleton.carried_by(k)) for k in (j, other))
            if self._depth(j) != self._depth(other) or many > 3 * few + 3:
                self.twins.pop(j, None)
        self.skin = figure_skin(self.skeleton)
        self.is_hand = is_hand(self.skeleton)
        self.asides = self._find_asides()
        markers = self._find_markers()
        self.asides |= markers
        self._measure(markers)
        if self._without_trajectory():
            self._measure(markers)
        self.asides |= self._find_inside()
        if not self.is_hand:
            self.asides |= self._find_fans()

    def _measure(self, markers: frozenset[int]) -> None:
        """Reach of every joint and the span, from the lengths."""
        count = self.skeleton.joint_count
        self.reach = np.zeros(count)
        for site in sound_ends(self.skeleton):
            if site.joint not in markers:
                self.reach[site.joint] = max(self.reach[site.joint], float(np.linalg.norm(site.offset)))
        span = 0.0
        for j in range(count - 1, -1, -1):
            kids = [c for c in self.skeleton.children[j] if c not in markers]
            below = sorted((self.lengths[c] + self.reach[c] for c in kids), reverse=True)
            if below:
                span = max(span, self.reach[j], sum(below[:2]))
                self.reach[j] = max(self.reach[j], below[0])
        self.span = span if span > 0.0 else 1.0

    def _without_trajectory(self) -> bool:
        """Take the length from links above the pelvis that are as long as half the figure: they are where it went."""
        joint, changed = 0, False
        while len(kids := self.skeleton.children[joint]) == 1:
            joint = kids[0]
            below = sorted((self.lengths[c] + self.reach[c] for c in self.skeleton.children[joint]), reverse=True)
            if self.lengths[joint] > 0.5 * max(sum(below[:2]), self.reach[joint]) > 0.0:
                self.lengths[joint], changed = 0.0, True
        return changed

    def _find_asides(self) -> frozenset[int]:
        """Joints aside by their skin (they and all below them move none) or by name, where the skin says nothing."""
        skin, names = self.skin, self.skeleton.names
        by_name = frozenset(j for j, name in enumerate(names) if is_aside(name, has_skin=skin is not None))
        if self.is_hand:
            by_name = frozenset(j for j in by_name if not is_finger(names[j]))
        # a twist bone that carries the hand is a link of the arm
        below = {j: self.skeleton.carried_by(j)[1:].tolist() for j in by_name if is_twist(names[j])}
        by_name -= {j for j, kids in below.items() if not by_name.issuperset(kids)}
        # what carries the figure is not a control, whatever it is called
        by_name -= {j for j in by_name if len(self.skeleton.carried_by(j)) > CARRIES * len(names)}
        if skin is None:
            return by_name
        bare = set(np.flatnonzero(self.below_skin <= 0.0).tolist())
        legs = {j for j, name in enumerate(names) if "leg" in hints(name) and self.is_sided(j) and not is_aside(name)}
        return by_name | frozenset(bare - legs if legs <= bare else bare)  # legs under a robe move nothing of it

    def _find_markers(self) -> frozenset[int]:
        """Joints that only mark a place: a control without skin, a far last joint that never turns, beside others.

        They have no part in any length: helpers of some tools lie meters from the bone they belong to.
        """
        skin, kids = self.skin, self.skeleton.children
        beside = {j for j in range(1, len(kids)) if not kids[j] and len(kids[int(self.skeleton.parents[j])]) > 1}
        found = set() if skin is None else {j for j in beside if skin[j] <= 0.0}
        found |= {j for j in beside if self._doubles(j)} | far_tips(self.skeleton)
        if self.poses.frame_count > 2:
            ends = {site.joint for site in self.skeleton.end_sites if np.linalg.norm(site.offset) > 0.0}
            heads = {
                j for j in beside if "head" in hints(self.skeleton.names[j]) and not is_aside(self.skeleton.names[j])
            }
            for j in beside - ends - heads:  # a head that looks ahead all the time is a head
                parent = int(self.skeleton.parents[j])
                others = [self.lengths[c] for c in (parent, *kids[parent]) if c != j]
                has_twin = any(self.are_twins(j, c) for c in kids[parent] if c != j)
                if self.lengths[j] > max(others) and not has_twin and not self.turns(j):
                    found.add(j)
        return frozenset(found)

    def _doubles(self, joint: int) -> bool:
        """True for a last joint that lies on its parent and never turns.

        In a limb it holds one more mesh there. On a parent without skin some exporters hang what no bone moves on one.
        """
        parent = int(self.skeleton.parents[joint])
        is_there = self.lengths[joint] < 1e-3 * max(self.lengths[c] for c in self.skeleton.children[parent])
        if not is_there or self.turns(joint):
            return False
        if self.skin is not None and self.skin[parent] <= 0.0:
            return bool(self.skin[joint] < FEWEST_VERTICES) and not self.is_sided(joint)
        return self.is_sided(parent)

    def _find_inside(self) -> frozenset[int]:
        """Branches that lie inside a bone, whatever they are called: they share its twist or hold its flesh.

        Such a branch begins beside the joint at the far end of the bone, keeps to the bone's line at rest, and carries
        less than that joint does.
        """
        skeleton, rest = self.skeleton, self.skeleton.rest[0]
        found: set[int] = set()
        for parent, kids in enumerate(skeleton.children):
            for end in kids if len(kids) > 1 else ():
                bone = rest[end] - rest[parent]
                length = float(np.linalg.norm(bone))
                if end in self.asides or length < SMALL * self.span:
                    continue
                for kid in kids:
                    branch = skeleton.carried_by(kid)
                    if len(branch) >= len(skeleton.carried_by(end)) or self.is_sided(kid) > self.is_sided(end):
                        continue  # the end itself, or a hand beside what it holds
                    away = rest[branch] - rest[parent]
                    along = away @ bone / length**2
                    off = np.linalg.norm(away - along[:, None] * bone, axis=-1) / length
                    if off.max() < INSIDE and 0.0 < along.min() <= along.max() < 0.95:
                        found.update(branch.tolist())
        return frozenset(found)

    def _find_fans(self) -> frozenset[int]:
        """First joints of the branches of faces and hands, whatever they are called: many, and short.

        A limb that goes on among loose ends, such as a hand among the bones of a sleeve, carries more than they do.
        """
        kids = [[c for c in below if c not in self.asides] for below in self.skeleton.children]
        way = np.zeros(self.skeleton.joint_count)
        root = self.find_root()
        found: set[int] = set()
        for j in self.skeleton.carried_by(root).tolist():
            way[j] = 0.0 if j == root else way[int(self.skeleton.parents[j])] + self.lengths[j]
            longest = max((self.lengths[c] + self.reach[c] for c in kids[j]), default=0.0)
            if len(kids[j]) >= FAN and longest < SHORT * way[j]:
                (second, _), (first, limb) = sorted((len(self.skeleton.carried_by(c)), c) for c in kids[j])[-2:]
                goes_on = self.is_sided(j) and self.is_sided(limb) and first > MORE * second
                found.update(set(kids[j]) - ({limb} if goes_on else set()))
        return frozenset(found)

    def weight(self, joint: int) -> float:
        """Length of the longest path from the joint's parent through it, as a share of the span."""
        return float(self.lengths[joint] + self.reach[joint]) / self.span

    def _worth(self, joint: int) -> float:
        """Weight of a branch that may carry a limb on: of branches as long, the one that moves more of the skin."""
        if self.skin is None:
            return self.weight(joint)
        below = self.below_skin
        parent = int(self.skeleton.parents[joint])
        most = max((below[c] for c in self.skeleton.children[parent]), default=0.0)
        return self.weight(joint) * (0.5 + 0.5 * float(below[joint]) / most if most > 0.0 else 1.0)

    @cached_property
    def below_skin(self) -> Array:
        """Vertices that each joint and all below it move, by weight, shape (J,); zeros where no skin is known."""
        skin = self.skin
        below = np.zeros(self.skeleton.joint_count) if skin is None else skin.copy()
        for j in range(len(below) - 1, 0, -1):
            below[int(self.skeleton.parents[j])] += below[j]
        return below

    def major(self, joint: int, share: float) -> list[int]:
        """Children whose branch is at least this share of the span, asides by name left out."""
        kids = [c for c in self.skeleton.children[joint] if self.weight(c) >= share]
        return [c for c in kids if c not in self.asides] or (kids if len(kids) == 1 else [])

    def find_root(self) -> int:
        """The pelvis: the first joint from the file's root at which limb-sized branches part, or a tail beside it."""
        joint = 0
        while len(kids := self._figure_branches(joint)) == 1 and self._leads_to_hub(kids[0]):
            joint = kids[0]
        above = list(reversed(self.skeleton.ancestors(joint)))
        if self.skin is not None and self.skin[above].sum() > TRUNK * self.skin.sum():
            return next(j for j in above if self.skin[j] > 0.0)  # the trunk of a figure without legs
        return next((j for j in above if self._bears_beside(j, joint)), joint)

    def _figure_branches(self, joint: int) -> list[int]:
        """Branches as long as limbs. On a joint without skin, props of one or two bones beside the trunk are none."""
        kids = self.major(joint, LIMB)
        if self.skin is None or self.skin[joint] > 0.0 or len(kids) < 2:
            return kids
        figures = [c for c in kids if self._leads_to_hub(c)]
        if len(figures) != 1:
            return kids
        rest, trunk = self.skeleton.rest[0], self.path(figures[0])

        def is_part(kid: int) -> bool:
            away = float(np.linalg.norm(rest[trunk] - rest[kid], axis=-1).min())
            return kid in figures or self.bone_count(kid) > 2 or self.is_sided(kid) or away < BESIDE * self.span

        return [c for c in kids if is_part(c)]

    def _bears_beside(self, above: int, joint: int) -> bool:
        """Whether a joint above another, at nearly the same place, carries a chain of bones besides it."""
        away = np.linalg.norm(self.skeleton.rest[0] - self.skeleton.rest[0][joint], axis=-1) / self.span
        on_way = {joint, *self.skeleton.ancestors(joint)}
        return away[above] < BESIDE and any(
            away[c] < BESIDE and self.bone_count(c) > (2 if self.skin is None else 1) and not self.is_sided(c)
            for c in self.major(above, SMALL)
            if c not in on_way
        )

    def _leads_to_hub(self, joint: int) -> bool:
        while True:
            kids = self.major(joint, LIMB)
            if len(kids) != 1:
                return len(kids) > 1
            joint = kids[0]

    def is_sided(self, joint: int) -> bool:
        """Whether the name claims a side."""
        return self.side(joint) != ""

    def side(self, joint: int) -> str:
        """The side a joint's name claims, by itself or beside its twin's: "left", "right" or ""."""
        return side_of(self.skeleton.names[joint]) or self.twins.get(joint, ("", -1))[0]

    def are_twins(self, a: int, b: int) -> bool:
        """Whether the names of two joints say that one mirrors the other."""
        names = self.skeleton.names
        return self.twins.get(a, ("", -1))[1] == b or (
            {side_of(names[a]), side_of(names[b])} == {"left", "right"}
            and without_side(names[a]) == without_side(names[b])
        )

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

    def _depth(self, joint: int) -> int:
        return len(self.skeleton.ancestors(joint))

    def path(self, joint: int, *, with_asides: bool = False) -> list[int]:
        """Joints from this one down its longest branch, asides by name left out unless asked for."""
        path = [joint]
        while kids := self._kids(path[-1]):
            straight = [c for c in kids if c not in self.asides]
            # what is on one side goes on with what has its twin on the other: a hand, not what it holds
            sided = [c for c in straight if self.is_sided(c)] if self.is_sided(path[-1]) else []
            best = max(sided or straight or kids, key=self._worth)
            if not straight and len(path) > 1 and not with_asides:
                break
            path.append(best)
        return path

    def _kids(self, joint: int) -> list[int]:
        """Children of a joint but for far tips, which are at no place of the body."""
        return [c for c in self.skeleton.children[joint] if c not in far_tips(self.skeleton)]

    def named(self, pair: Pair) -> frozenset[str]:
        """Kinds of limb that names along a pair speak of; "other" by its first joints alone: an arm may have claws."""
        joints = [j for joint in pair[1:] for j in self.path(joint)]
        first = frozenset().union(*(hints(self.skeleton.names[j]) for j in pair[1:]))
        return frozenset().union(*(hints(self.skeleton.names[j]) for j in joints)) - ({"other"} - first)

    def bone_count(self, joint: int) -> int:
        """Joints of a branch that move skin, as far as that is known."""
        path = self.path(joint)
        return len(path) if self.skin is None else max(1, int(np.sum(self.below_skin[path] > 0.0)))

    def worth(self, joint: int) -> float:
        """Weight of a branch as a limb: controls in it, which move no skin, count for nothing."""
        path = self.path(joint)
        has_skin = np.ones(len(path)) if self.skin is None else self.skin[path] > 0.0
        return self.weight(joint) * float(np.mean(has_skin))

    def tip_height(self, joint: int) -> Array:
        """Height of the far end of the joint's longest branch in each frame [m], shape (F,)."""
        return self.tips(self.poses.positions, self.poses.orientations, joint)[..., 2]

    def tips(self, positions: Array, orientations: Array, joint: int) -> Array:
        """Far end of the joint's longest branch, its end site if it has one, in poses (..., J, 3): shape (..., 3).

        Without one it is the control that hangs there, such as the target of an insect's leg.
        """
        last = self.path(joint)[-1]
        sound = sound_ends(self.skeleton)
        below = self._kids(last)
        ends = [c for c in below if is_end(self.skeleton.names[c])]
        ends = ends or ([] if any(s.joint == last for s in sound) else below)
        if ends:
            last = max(ends, key=lambda c: float(self.lengths[c]))
        at = positions[..., last, :]
        sites = [s.offset for s in sound if s.joint == last]
        if not sites:
            return at
        longest = max(sites, key=lambda offset: float(np.linalg.norm(offset)))
        return at + rotations.rotate(orientations[..., last, :], longest)

    def distance(self, a: int, b: int) -> float:
        """How far two joints are from each other, the median over the poses [m]."""
        return float(np.median(np.linalg.norm(self.poses.positions[:, a] - self.poses.positions[:, b], axis=-1)))

    def parted(self, a: int, b: int) -> tuple[int, int]:
        """First joints along two mirrored paths that stand clearly apart."""
        for p, q in zip(self.path(a), self.path(b)):
            if self.distance(p, q) > 0.02 * self.span:
                return p, q
        return self.path(a)[-1], self.path(b)[-1]
