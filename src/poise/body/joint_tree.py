"""The joints of a skeleton as a tree: where its trunk forks, and which branches mirror each other."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from poise.body.anatomy import (
    have_one_build,
    hints,
    is_end,
    left_from_right,
    lie_apart,
)
from poise.body.branches import FEWEST_VERTICES, LIMB, SHORT, SMALL, Branches
from poise.body.mirror import mirror_images
from poise.core.typing import Array

HALF = 0.01
"""A joint this near to its parent may bear the limbs of the body's other side, as a share of the span [1]."""
MIRRORED = 0.02
"""Mirrored bones of many vertices move equally many within this share [1]."""
ANCHOR = 0.25
"""Limbs that part this near to the trunk are limbs of their own: way to the fork over the shortest of them [1]."""


class JointTree(Branches):
    """The branches of a skeleton with its forks and pairs; never changed once made."""

    def find_hubs(self, root: int) -> tuple[list[tuple[int, ...]], list[int]]:
        """Paths of trunk joints below the root up to each further hub (inclusive), and those hubs."""
        paths: list[tuple[int, ...]] = []
        hubs: list[int] = []
        waiting = [root]
        while waiting:
            hub = waiting.pop(0)
            every = {kid for pair in self.pair_up(self.branches_of(hub, SMALL))[0] for kid in pair}
            paired = {kid for kid in every if self.is_sided(kid)}
            for kid in self.branches_of(hub, LIMB):
                if kid in paired:
                    continue  # a limb, whatever its hand looks like
                path: list[int] = [kid]
                while len(kids := self.major(path[-1], LIMB)) == 1 and not self._bears_legs(path[-1]):
                    path.append(kids[0])
                way = float(sum(self.lengths[j] for j in path))
                if kid in every and len(kids) > 2 and max(map(self.weight, kids)) * self.span < SHORT * way:
                    continue  # the hand of a nameless arm
                if self._bears_legs(path[-1]) or (len(kids) > 1 and self._is_trunk_hub(path[-1], kids)):
                    paths.append(tuple(path))
                    hubs.append(path[-1])
                    waiting.append(path[-1])
        if not hubs and (arms := self._path_to_arms(root)):
            return [arms], [arms[-1]]
        return paths, hubs

    def branches_of(self, hub: int, share: float) -> list[int]:
        """Branches of a hub of at least this share of the span, with those of a child that bears its other half.

        Some rigs have a joint for each side of the body, both at one place, and one hangs on the other.
        """
        kids = self.major(hub, share)
        halves = {kid: half for kid in kids if (half := self._other_half(hub, kid, share))}
        return [branch for kid in kids for branch in halves.get(kid, [kid])]

    def _other_half(self, hub: int, kid: int, share: float) -> list[int]:
        """Branches of a child at the place of its hub, if most of them mirror those of the hub; else none."""
        if self.lengths[kid] > HALF * self.span or self.images is None:
            return []
        own, others = self.major(kid, share), [k for k in self.major(hub, share) if k != kid]
        found = self._images_of([*own, *others])
        crossing = sum(found.get(branch, -1) in others for branch in own)
        return own if crossing > 1 and 2 * crossing > len(own) else []

    def _path_to_arms(self, root: int) -> tuple[int, ...]:
        """The trunk from a root that bears legs to the first pair of short arms on it, such as a tyrannosaur's."""
        pairs, single = self.pair_up(self.major(root, SMALL))
        for first in single if pairs else ():
            path = [first]
            while not (arms := self._short_arms(path[-1])) and (kids := self.major(path[-1], LIMB)):
                path.append(max(kids, key=self.weight))
            if arms:
                return tuple(path)
        return ()

    def _short_arms(self, joint: int) -> bool:
        pairs, _ = self.pair_up(self.major(joint, SMALL))
        return any(min(map(self.bone_count, pair)) > 2 for pair in pairs)

    def limbs_of(self, hub: int) -> list[int]:
        """First joints of the branches of a hub; of limbs that begin at one anchor, the joints after the anchor."""
        waiting, found = self.branches_of(hub, SMALL), []
        while waiting:
            kid = waiting.pop(0)
            way, fork = float(self.lengths[kid]), kid
            while len(kids := self.major(fork, LIMB)) == 1:
                fork = kids[0]
                way += float(self.lengths[fork])
            is_anchor = len(kids) > 1 and self.is_sided(kid)
            if is_anchor and way < ANCHOR * min(float(self.lengths[c] + self.reach[c]) for c in kids):
                waiting = [*kids, *waiting]
            else:
                found.append(kid)
        return found

    def _bears_legs(self, joint: int) -> bool:
        """Whether a pair hangs on the joint whose names say that they are legs, however short beside a long tail."""
        small = self.major(joint, SMALL)
        paired, _ = self.pair_up(small) if len(small) > 1 else ([], [])
        return any("leg" in hints(self.skeleton.names[a]) and self.is_sided(a) for a, _ in paired)

    def _is_trunk_hub(self, joint: int, kids: list[int]) -> bool:
        """A fork of the trunk, not of a hand or a branching tail: it carries or leads to a pair, or has many parts."""
        if len(kids) > 2 or self.pair_up(self.major(joint, SMALL))[0]:
            return True
        return any(self._leads_to_pair(kid) for kid in kids if not self.is_sided(kid))

    def _leads_to_pair(self, joint: int) -> bool:
        """Whether limbs with a left and a right begin further down a branch."""
        pair = next(iter(self.pair_up(self.major(joint, SMALL))[0]), ())
        builds = [self.lengths[self.path(kid)[1:]] for kid in pair]
        if any(map(self.is_sided, pair)) or (pair and (self._mirrored(*pair) or have_one_build(*builds))):
            return max(map(self.weight, pair)) >= LIMB
        return any(self._leads_to_pair(kid) for kid in self.major(joint, LIMB) if not self.is_sided(kid))

    def pair_up(self, kids: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
        """Children that mirror each other, and those left over; asides by name do not take part."""
        left_over = list(kids)
        pairs: list[tuple[int, int]] = []
        scored = []
        names = self.skeleton.names
        across, images = self.across, self._images_of(kids)
        for n, a in enumerate(kids):
            for b in kids[n + 1 :]:
                unlike = abs(self.weight(a) - self.weight(b)) / max(self.weight(a), self.weight(b))
                sides, mirrored = {self.side(a), self.side(b)}, self.are_twins(a, b)
                drawn_alike = self._have_one_shape(a, b)
                is_image = images.get(a) == b and images.get(b) == a
                if not mirrored and not is_image and {a, b} & images.keys():
                    continue
                may_be = is_image or ("" in sides and drawn_alike) or self._mirrored(a, b)
                if len(sides) == 2 and not mirrored and not may_be:
                    continue
                if not mirrored and across is not None and not self._is_apart_along(a, b, across):
                    continue
                alike = hints(names[a]) & hints(names[b]) & {"leg", "arm"} or self._have_one_skin(a, b)
                is_stub = min(self.bone_count(a), self.bone_count(b)) < 2
                if (
                    is_stub
                    and not mirrored
                    and not alike
                    and not (is_image and min(len(self.path(a)), len(self.path(b))) > 1)
                ):
                    continue
                is_limb = is_image and min(self.bone_count(a), self.bone_count(b)) > 2
                least = SMALL if is_limb or (mirrored and hints(names[a]) & {"leg", "arm"}) else 0.1
                most = 0.9 if mirrored else 0.5 if alike or is_image else 0.12
                if unlike < most and min(self.weight(a), self.weight(b)) >= least:
                    scored.append((unlike - (1.0 if mirrored else 0.5 if is_image else 0.0), a, b))
        for _, a, b in sorted(scored):
            if a in left_over and b in left_over:
                pairs.append((a, b))
                left_over.remove(a)
                left_over.remove(b)
        return pairs, left_over

    @cached_property
    def images(self) -> Array | None:
        """The mirror image of each joint in the rest pose, see `mirror_images`."""
        counted = [
            j for j in range(self.skeleton.joint_count) if j not in self.asides or is_end(self.skeleton.names[j])
        ]
        return mirror_images(self.skeleton, counted, self.span)

    def _images_of(self, kids: list[int]) -> dict[int, int]:
        """Of branches on one joint those with a mirror image: themselves in the middle, else another of them."""
        if self.images is None:
            return {}
        found: dict[int, int] = {}
        branches = {kid: set(self.skeleton.carried_by(kid).tolist()) for kid in kids}
        for kid in kids:
            path = self.path(kid)
            beside = [int(self.images[j]) for j in path if self.images[j] != j]
            other = next((k for k in kids if k != kid and 2 * sum(i in branches[k] for i in beside) > len(beside)), -1)
            if other >= 0:
                found[kid] = other
            elif 2 * len(beside) < len(path) > 1 and not any(self._coincide(kid, k) for k in kids if k != kid):
                found[kid] = kid
        return {other: kid for kid, other in found.items()} | found

    def _coincide(self, a: int, b: int) -> bool:
        """Whether two branches lie on each other at rest, in files whose rest pose is none."""
        first, second = self.path(a), self.path(b)
        places = self.skeleton.rest[0]
        if len(first) != len(second):
            return False
        return bool(np.linalg.norm(places[first] - places[second], axis=-1).max() < SMALL * self.span)

    def _mirrored(self, a: int, b: int) -> bool:
        """Whether two branches mirror each other at rest, whatever their names say: one may have been mistyped."""
        first, second, rest = self.path(a), self.path(b), self.skeleton.rest[0]
        alike = len(first) == len(second) and np.allclose(self.lengths[first[1:]], self.lengths[second[1:]], rtol=0.1)
        return alike and lie_apart(rest[first], rest[second], 0.02 * self.span)

    def _have_one_skin(self, a: int, b: int) -> bool:
        """Whether two joints are as long and move as many vertices: what is drawn for one side is mirrored."""
        if self.skin is None or min(self.skin[a], self.skin[b]) < FEWEST_VERTICES:
            return False
        same = [abs(float(of[a] - of[b])) / max(float(of[a]), float(of[b]), 1e-12) for of in (self.skin, self.lengths)]
        return max(same) < MIRRORED

    def _have_one_shape(self, a: int, b: int) -> bool:
        """Whether two branches have as many bones and move as many vertices: mirrored, though a name was mistyped."""
        if self.skin is None or min(self.below_skin[a], self.below_skin[b]) < FEWEST_VERTICES:
            return False
        unlike = abs(float(self.below_skin[a] - self.below_skin[b])) / float(self.below_skin[[a, b]].max())
        return unlike < MIRRORED and self.bone_count(a) == self.bone_count(b)

    @cached_property
    def across(self) -> Array | None:
        """Direction from right to left in the rest pose, by all joints whose names say their sides; None without."""
        return left_from_right(self.skeleton, self.twins, 0.02 * self.span)

    def _is_apart_along(self, a: int, b: int, across: Array) -> bool:
        """Whether two branches lie beside each other, not one ahead and one behind, by the middle of their joints."""
        rest = self.skeleton.rest[0]
        difference = rest[self.path(a)].mean(axis=0) - rest[self.path(b)].mean(axis=0)
        return abs(float(difference @ across)) > 0.5 * float(np.linalg.norm(difference))
