"""Legs, arms and head of a bare skeleton, before its unit and up axis are known: names first, mirrored shape second.

Only lengths and joints are used here, never a direction, so a file can be asked before it is turned upright.

How tall a figure is has one definition, for every command and for `--height`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.units import HUMAN_LEG, UNITS
from poise.phases.points import body_points, body_tips, far_tips

_SIDES = ("left", "right", "l", "r")
THIGHS = ("upleg", "upperleg", "thigh", "femur", "hip")
UPPER_ARMS = ("uparm", "upperarm", "humerus", "shldr", "arm", "shoulder")
HEADS = ("head", "skull")

FRONT_LEG = 0.75
"""Arms at least this long may be legs, as a share of the legs: people's are 0.65 [1]."""
HAND = 0.19
"""Length of a grown person's hand, wrist to fingertip [m]."""
ROW, SIDE_BY_SIDE = 0.5, 0.77
"""Knuckles lie in a row if they spread so much less across it than along it; fingers point one way by this cosine."""
FINGERS = "finger|thumb|index|middle|ring|pinky|pinkie|metacarpal"
SAME_LENGTH = 0.1
"""Two chains mirror each other if their lengths differ by no more than this share [1]."""
AS_LONG = 0.8
"""Thigh and shin are at least this long, as a share of shin and foot [1]."""
SHORTEST_LIMB = 0.12
"""A limb is at least this long, as a share of the longest way from tip to tip [1]."""


@dataclass(frozen=True)
class Limb:
    """A leg or an arm: its first joint, the middle one and the one that ends its two long bones."""

    first: int
    middle: int
    end: int


@dataclass(frozen=True)
class Anatomy:
    """What a skeleton's names and lengths say about its limbs.

    Attributes:
        skeleton: In any unit and axes.
        legs: The legs that carry the pelvis; empty where none were found.
        arms: The pair further up; empty where none were found.
        by_name: True if the legs were known by name.
        is_hand: True for a hand alone.
    """

    skeleton: Skeleton
    legs: tuple[Limb, ...]
    arms: tuple[Limb, ...]
    by_name: bool
    is_hand: bool = False

    @property
    def is_person(self) -> bool:
        """True for two legs known by name, and two arms that are shorter."""
        if not self.by_name or len(self.legs) != 2 or len(self.arms) != 2:
            return False
        return max(map(self.bone_sum, self.arms)) < FRONT_LEG * self.leg_length

    @property
    def personhood(self) -> float:
        """How much the limbs are those of a person: two legs, one or two shorter arms (0 … 1)."""
        if self.is_hand or self.is_person:
            return 1.0
        if len(self.legs) != 2:
            return 0.1
        arms = [self.bone_sum(arm) for arm in self.arms]
        return 0.9 if 0 < len(arms) <= 2 and max(arms) < FRONT_LEG * self.leg_length else 0.3

    @cached_property
    def lengths(self) -> np.ndarray:
        """Length of the bone that ends at each joint, in the skeleton's unit, shape (J,)."""
        return np.linalg.norm(self.skeleton.offsets, axis=1)

    @cached_property
    def leg_length(self) -> float:
        """Thigh and shank of the longest leg; without legs a quarter of the longest way through the tree.

        Of a hand alone, that of the person it belongs to.
        """
        if self.is_hand:
            return _longest(self.skeleton)[1] / HAND * HUMAN_LEG
        if self.legs:
            return max(self.bone_sum(leg) for leg in self.legs)
        return max(0.5 * _reach(self.skeleton), 1e-12)

    @cached_property
    def size_words(self) -> str:
        """What `leg_length` measures, as the beginning of a sentence that goes on with a number."""
        names = self.skeleton.names
        if self.is_hand:
            return "this is a hand; the legs of a person with such hands are"
        if not self.legs:
            return "no leg was known by name or shape; a quarter of the longest chain is"
        leg = max(self.legs, key=self.bone_sum)
        chain = " – ".join(names[j] for j in (leg.first, leg.middle, leg.end))
        found = "" if self.by_name else "no leg was known by name; by shape "
        return f"{found}thigh and shank ({chain}) are"

    def bone_sum(self, limb: Limb) -> float:
        """Length of a limb from its first joint to its end."""
        total, joint = 0.0, limb.end
        while joint != limb.first:
            total += float(self.lengths[joint])
            joint = int(self.skeleton.parents[joint])
        return total

    @cached_property
    def head(self) -> int | None:
        """The joint at the top of the trunk; None where none is known."""
        skeleton = self.skeleton
        named = [j for j, name in enumerate(without_counts(skeleton.names)) if simple_name(name).endswith(HEADS)]
        if named:  # a guide or a control of the rig moves no skin
            skinned = [j for j in named if skeleton.skin is None or skeleton.skin[skeleton.carried_by(j)].sum() > 0.0]
            return (skinned or named)[0]
        if not self.arms:
            return None
        paired = {int(j) for limb in (*self.arms, *self.legs) for j in skeleton.carried_by(limb.first)}
        chest = _common(skeleton, self.arms[0].first, self.arms[-1].first)
        above = [int(j) for j in skeleton.carried_by(chest) if int(j) not in paired and int(j) != chest]
        return max(above, key=lambda j: _way(skeleton, j, chest), default=None)

    @cached_property
    def trunk_length(self) -> float:
        """From the hips to the head along the bones; 0 without a head or legs."""
        if self.head is None or not self.legs:
            return 0.0
        hips = _common(self.skeleton, self.legs[0].first, self.legs[-1].first)
        fork = _common(self.skeleton, hips, self.head)
        way, rest = _way(self.skeleton, self.head, fork), self.skeleton.rest[0]
        up = [self.head, *self.skeleton.ancestors(self.head)]
        if fork != self.head:  # it may be a joint on the ground that trunk and legs hang on side by side
            first = up[up.index(fork) - 1]
            link = float(np.linalg.norm(rest[first] - rest[fork]))
            away = float(np.linalg.norm(rest[first] - rest[[leg.first for leg in self.legs]].mean(axis=0)))
            way -= link - away if away < ASIDE * link else 0.0
        return way

    @cached_property
    def feet(self) -> tuple[tuple[int, ...], ...]:
        """Of each leg, the joints from its end on: the foot with its toes."""
        return tuple(tuple(int(j) for j in self.skeleton.carried_by(leg.end)) for leg in self.legs)


def simple_name(name: str) -> str:
    """A joint's name without prefix, case and punctuation: "mixamorig:LeftUpLeg" → "leftupleg"."""
    return re.sub(r"[^a-z0-9]", "", without_namespace(name).lower())


def without_counts(names: Sequence[str]) -> tuple[str, ...]:
    """Names without the number that an exporter counted them with, as in "Bip001 L Thigh_179".

    It is one if all but the root's end in one and no two are the same: "leg_1" and "arm_1" stay as they are.
    """
    counts = [re.search(r"(?<=[a-zA-Z0-9.])_([0-9]+)$", name) for name in names]
    numbers = [count[1] for count in counts if count]
    if len(names) < 2 or not all(counts[1:]) or len(set(numbers)) < len(numbers):
        return tuple(names)
    return tuple(name[: count.start()] if count else name for name, count in zip(names, counts, strict=True))


_ONLY_WHERE = re.compile(
    r"[^a-zA-Z]*((left|right|upper|lower|up|low|front|back|end|tip|[lr])[^a-zA-Z]*)*", re.IGNORECASE
)


def without_namespace(name: str) -> str:
    """A joint's name behind its namespace: "mixamorig:Hips" gives "Hips".

    What says only which one it is needs the word before: "Leg:Left:Upper" stays as it is.
    """
    parts = re.split(r"[:|]", name)
    first = len(parts) - 1
    while first > 0 and _ONLY_WHERE.fullmatch(parts[first]):
        first -= 1
    return ":".join(parts[first:])


@lru_cache(maxsize=2048)
def name_words(name: str) -> tuple[str, ...]:
    """Lower-case words of a joint's name, its namespace dropped: "mixamorig:LeftUpLeg" gives ("left", "up", "leg")."""
    name = without_namespace(name)
    name = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", name)
    return tuple(w for w in re.split(r"[^a-zA-Z]+", name.lower()) if w)


def is_finger(name: str) -> bool:
    """True for the joints of a finger."""
    return any(re.fullmatch(rf"[lr]?({FINGERS})s?", w) for w in name_words(name))


def is_hand(skeleton: Skeleton) -> bool:
    """True for a hand alone: nearly all of its joints are a finger's by name, or it has the shape of one."""
    return sum(map(is_finger, skeleton.names)) > 0.7 * skeleton.joint_count or _is_shaped_as_hand(skeleton)


def _is_shaped_as_hand(skeleton: Skeleton) -> bool:
    """Four or five chains from one palm and nothing else; all but a thumb begin in one row and point one way."""
    palm = 0
    while len(skeleton.children[palm]) == 1:
        palm = skeleton.children[palm][0]
    fingers = [skeleton.carried_by(child).tolist() for child in skeleton.children[palm]]
    is_chain = all(all(len(skeleton.children[j]) < 2 for j in finger) for finger in fingers)
    if len(fingers) not in (4, 5) or not is_chain or min(map(len, fingers)) < 2 or palm > 2:
        return False
    places = skeleton.rest[0] - skeleton.rest[0][palm]
    tips = places[[finger[-1] for finger in fingers]]
    lengths = np.linalg.norm(tips, axis=1, keepdims=True)
    if lengths.min() < 1e-9:
        return False
    ways = tips / lengths
    thumb = int(np.argmin(ways @ ways.sum(axis=0)))
    row = [k for k in range(len(fingers)) if k != thumb]
    along = ways[row].mean(axis=0)
    along /= max(float(np.linalg.norm(along)), 1e-9)
    knuckles = places[[fingers[k][0] for k in row]]
    spread = np.linalg.svd(knuckles - knuckles.mean(axis=0), compute_uv=False)
    is_row = float(spread[1]) < ROW * float(spread[0])
    return is_row and float((ways[row] @ along).min()) > SIDE_BY_SIDE and float(ways[thumb] @ along) > 0.0


def anatomy_of(skeleton: Skeleton) -> Anatomy:
    """Legs and arms of a skeleton in any unit and axes."""
    if "anatomy" not in skeleton.found:
        hand = is_hand(skeleton)
        legs, arms = ((), ()) if hand else (_named(skeleton, THIGHS), _named(skeleton, UPPER_ARMS))
        by_name = bool(legs)
        if not legs and not hand:
            upper = {a.first for a in arms}
            pairs = [p for p in _mirrored_pairs(skeleton) if not upper & {limb.first for limb in p}]
            legs = pairs[0] if pairs else ()
            arms = arms or (pairs[1] if len(pairs) > 1 else ())
        skeleton.found["anatomy"] = Anatomy(skeleton, legs, arms, by_name, hand)
    return skeleton.found["anatomy"]


def _named(skeleton: Skeleton, keywords: tuple[str, ...]) -> tuple[Limb, ...]:
    """Limbs whose first joint bears one of the keywords with a side; the first word that is found wins."""
    for word in keywords:
        names = {f"{s}{word}" for s in _SIDES} | {f"{word}{s}" for s in ("l", "r")}
        found: list[Limb] = []
        for j, name in enumerate(without_counts(skeleton.names)):
            bare = simple_name(name)
            is_prefixed = any(
                len(n) > 4 and bare.endswith(n) and not bare.startswith(n[0]) for n in names
            )  # Bip01 L Thigh
            if bare not in names and not is_prefixed:
                continue
            middle = _longest_child(skeleton, j)
            end = _longest_child(skeleton, middle)
            if end >= 0:
                found.append(Limb(j, middle, end))
        reach = {f: float(np.linalg.norm(skeleton.offsets[[f.middle, f.end]], axis=1).sum()) for f in found}
        nested = [(f, g) for f in found for g in found if g.first in (f.middle, f.end)]
        shorter = {min(pair, key=lambda limb: reach[limb]) for pair in nested}  # a link of the pelvis is called so, too
        limbs = tuple(f for f in found if f not in shorter and reach[f] > 0.0)
        if limbs:
            return limbs
    return ()


def _longest_child(skeleton: Skeleton, joint: int) -> int:
    """The child at the end of the longest bone, -1 without one."""
    if joint < 0:
        return -1
    return max(skeleton.children[joint], key=lambda c: float(np.linalg.norm(skeleton.offsets[c])), default=-1)


def _mirrored_pairs(skeleton: Skeleton) -> list[tuple[Limb, ...]]:
    """Pairs of like chains that hang on one joint, nearest the root first."""
    lengths, places = np.linalg.norm(skeleton.offsets, axis=1), skeleton.rest[0]
    below, following = np.zeros(skeleton.joint_count), np.full(skeleton.joint_count, -1)
    for j in range(skeleton.joint_count - 1, 0, -1):
        parent, way = int(skeleton.parents[j]), below[j] + lengths[j]
        if way > below[parent]:
            below[parent], following[parent] = way, j

    def main_chain(joint: int) -> list[int]:
        chain = [joint]
        while following[chain[-1]] >= 0:
            chain.append(int(following[chain[-1]]))
        return chain

    shortest = SHORTEST_LIMB * 2.0 * _reach(skeleton)
    found: list[tuple[float, tuple[Limb, ...]]] = []
    for joint, kids in enumerate(skeleton.children):
        long = [k for k in kids if below[k] > shortest]
        for i, a in enumerate(long):
            for b in long[i + 1 :]:
                first, second = main_chain(a), main_chain(b)
                alike = abs(below[a] - below[b]) <= SAME_LENGTH * max(below[a], below[b])
                if alike and len(first) == len(second) >= 3:
                    found.append((_way(skeleton, joint, 0), _pair(places, (first, second))))
    taken: set[int] = set()
    pairs: list[tuple[Limb, ...]] = []
    for _, pair in sorted(found, key=lambda f: f[0]):
        firsts = {limb.first for limb in pair}
        if not any(taken & {*skeleton.ancestors(f), f} for f in firsts):
            pairs.append(pair)
            taken |= firsts
    return pairs


def _pair(places: np.ndarray, chains: tuple[list[int], list[int]]) -> tuple[Limb, ...]:
    """The two longest neighboring bones of mirrored chains, or nearly as long ones above that reach farther.

    A long foot stands off from its shin.
    """
    bones = np.array([np.linalg.norm(np.diff(places[c], axis=0), axis=1) for c in chains]).sum(axis=0)
    ends = np.array([np.linalg.norm(places[c[2:]] - places[c[:-2]], axis=1) for c in chains]).sum(axis=0)
    sums = bones[:-1] + bones[1:]
    longest = int(sums.argmax())
    best = next(k for k in range(longest + 1) if ends[k] >= ends[longest] and sums[k] >= AS_LONG * sums[longest])
    return tuple(Limb(*c[best : best + 3]) for c in chains)


def _way(skeleton: Skeleton, joint: int, above: int) -> float:
    """Length of the bones from a joint up to one above it."""
    total = 0.0
    while joint not in (above, -1):
        total += float(np.linalg.norm(skeleton.offsets[joint]))
        joint = int(skeleton.parents[joint])
    return total


def _reach(skeleton: Skeleton) -> float:
    """Half the longest way from tip to tip along the bones, or the longest end site of a skeleton of one joint."""
    return 0.5 * _longest(skeleton)[0]


def _longest(skeleton: Skeleton) -> tuple[float, float]:
    """Longest ways along the bones: from tip to tip, and from the root to a tip."""
    below = np.zeros(skeleton.joint_count)
    for site in body_tips(skeleton):
        below[site.joint] = max(below[site.joint], float(np.linalg.norm(site.offset)))
    longest = float(below.max(initial=0.0))
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    lengths[list(far_tips(skeleton))] = 0.0
    for j in range(skeleton.joint_count - 1, 0, -1):
        parent, way = int(skeleton.parents[j]), below[j] + lengths[j]
        longest = max(longest, float(below[parent] + way))
        below[parent] = max(below[parent], way)
    return longest, float(below[0])


def _common(skeleton: Skeleton, a: int, b: int) -> int:
    """The nearest joint above both."""
    above = {a, *skeleton.ancestors(a)}
    return next(j for j in (b, *skeleton.ancestors(b)) if j in above)


ASIDE = 0.5
"""A fork of trunk and legs lies aside if the trunk's first joint is nearer to the hips than this share of its distance
from the fork [1]."""
UPRIGHT_SHARE = 0.6
"""A rest pose stands if trunk and legs reach this share of their length upwards, and its head beyond 0.7 of all [1]."""
HEAD, SOLE = 0.2, 0.1
"""Height of a person's head above its joint, and of the ankle above the ground, as shares of the leg [1]."""
LEG_TO_TRUNK = 1.25
"""Longest leg of a person, over the way from the hips to the head's joint [1]."""
LYING, ALL_FOURS = 0.6, 0.15
"""A rest pose lower than this share of the clip's poses lies; hands this near to the height of feet, as a share of the
whole height, are feet [1]."""
BEYOND_BONES = 1.5
"""A skin taller than this many times the longest extent of its bones is drawn in another unit or place [1]."""
HEIGHTS = (0.01, 100.0)
"""Heights that make sense [m]."""


def height_of(source: Motion | Skeleton) -> float:
    """How tall a figure is [m].

    On two legs: the height of its rest pose if that stands, else leg, trunk and head stretched out. On other legs or
    none: how high the rest pose reaches, or the poses of the clip where that lies.
    """
    skeleton = source.skeleton if isinstance(source, Motion) else source
    anatomy = anatomy_of(skeleton)
    rest = _rest_height(skeleton)
    if len(anatomy.legs) != 2 or anatomy.head is None or _is_on_all_fours(anatomy, source):
        if isinstance(source, Motion):
            moving = float(np.median(np.ptp(body_points(source)[0][:, :, 2], axis=1)))
            return rest if rest > LYING * moving else moving
        return rest
    tips = [float(np.linalg.norm(s.offset)) for s in skeleton.end_sites if s.joint == anatomy.head]
    above = max(tips, default=0.0) or _above_head(anatomy) or HEAD * anatomy.leg_length
    stretched = (1.0 + SOLE) * anatomy.leg_length + anatomy.trunk_length + above
    heights = skeleton.rest[0][:, 2]
    far = list(far_tips(skeleton))
    low, head = float(np.delete(heights, far).min()), float(heights[anatomy.head])
    hips = float(np.mean(heights[[leg.first for leg in anatomy.legs]]))
    below = np.delete(heights, [*skeleton.carried_by(anatomy.head), *far])  # a large head reaches far above its joint
    stands = head - low > 0.7 * float(np.ptp(below)) and head - hips > UPRIGHT_SHARE * anatomy.trunk_length
    return rest if stands and hips - low > UPRIGHT_SHARE * anatomy.leg_length else stretched


def _above_head(anatomy: Anatomy) -> float:
    """How far the head goes on along the trunk, by the joints on it that move skin or have no skin known; 0 if none."""
    skeleton, head = anatomy.skeleton, anatomy.head
    rest = skeleton.rest[0]
    trunk = rest[head] - rest[[leg.first for leg in anatomy.legs]].mean(axis=0)
    length = float(np.linalg.norm(trunk))
    on_top, far = 0.0, far_tips(skeleton)
    for joint in skeleton.carried_by(int(head or 0)).tolist():
        if joint == head or joint in far or length < 1e-9:
            continue
        if skeleton.skin is not None and skeleton.skin[joint] <= 0.0:
            continue
        way = rest[joint] - rest[head]
        along = float(way @ trunk) / length
        if along > 0.9 * float(np.linalg.norm(way)):
            on_top = max(on_top, along)
    return on_top


def _is_on_all_fours(anatomy: Anatomy, source: Motion | Skeleton) -> bool:
    """True if what would be arms reaches as far down as what would be legs, in the rest pose and in some of the clip.

    A galloping animal has its front feet in the air for most of a stride.
    """
    if not anatomy.arms:
        return False
    if anatomy.is_person and np.ptp(anatomy.skeleton.rest[0][:, 2]) < 0.5 * anatomy.leg_length:
        return False
    poses = [anatomy.skeleton.rest[0][None]] + ([source.world[0]] if isinstance(source, Motion) else [])
    for places in poses:
        height = places[..., 2]
        arms, legs = (height[:, [limb.end for limb in limbs]].min(axis=1) for limbs in (anatomy.arms, anatomy.legs))
        if float(np.quantile((arms - legs) / np.maximum(np.ptp(height, axis=1), 1e-9), 0.25)) > ALL_FOURS:
            return False
    return True


def height_in_meters(text: str | float) -> float:
    """A height as a user writes it: "1.8", "1.8m", "180cm", "6ft" [m].

    Raises:
        InvalidValue: if it is not a length between HEIGHTS.
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-z]*)\s*", str(text).lower())
    unit = None if match is None else {"": 1.0, **UNITS, "in": UNITS["inch"]}.get(match[2])
    value = float(match[1]) * unit if match is not None and unit is not None else None
    if value is None or not HEIGHTS[0] <= value <= HEIGHTS[1]:
        raise InvalidValue(f"Height {text!r} is not a length between 1 cm and 100 m. Write it as 1.8m, 180cm or 6ft.")
    return value


def _unmarked_head(skeleton: Skeleton, top: float) -> float:
    """How far a standing person's head reaches above its joint, the highest [m]; 0 where a tip or skin ends it."""
    anatomy, heights = anatomy_of(skeleton), skeleton.rest[0][:, 2]
    highest = int(heights.argmax())
    names = [set(name_words(skeleton.names[j])) for j in (highest, *skeleton.ancestors(highest)[:1])]
    is_head = bool(names[0] & {*HEADS, "neck"}) and not names[0] & {"end", "nub", "tip", "top"}
    is_head &= not any(above & set(HEADS) for above in names[1:]) and not skeleton.children[highest]
    if skeleton.skin is not None or heights[highest] < top or not is_head or not anatomy.is_person:
        return 0.0
    hips, leg = float(heights[[limb.first for limb in anatomy.legs]].mean()), anatomy.leg_length
    stands = hips - float(heights.min()) > UPRIGHT_SHARE * leg
    return HEAD * min(leg, LEG_TO_TRUNK * (top - hips)) if stands else 0.0


def _rest_height(skeleton: Skeleton) -> float:
    """Height of the rest pose with its tips and its skin [m].

    Beyond the skin only the first joint counts, which marks its end.
    """
    places, turned = skeleton.rest
    tips = [places[s.joint] + rotations.rotate(turned[s.joint], s.offset) for s in body_tips(skeleton)]
    skin, shown = skeleton.skin, np.ones(skeleton.joint_count, dtype=bool)
    if skin is not None and skin.any():
        has_skin = np.array([skin[skeleton.carried_by(j)].any() for j in range(skeleton.joint_count)])
        shown[1:] = has_skin[1:] | has_skin[skeleton.parents[1:]]
    shown[list(far_tips(skeleton))] = False
    points = np.concatenate([places[shown], np.reshape(tips, (-1, 3))])
    low, high = float(points[:, 2].min()), float(points[:, 2].max())
    if skeleton.sole is not None and skeleton.crown is not None:
        tall = max(high, skeleton.crown) - min(low, skeleton.sole)
        if tall < BEYOND_BONES * float(np.ptp(points, axis=0).max()):  # else it is drawn in another unit or place
            return tall
    return high - low + _unmarked_head(skeleton, high)
