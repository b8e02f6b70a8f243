"""What the joints of a skeleton are for, and what that is read from.

`limbs.find_anatomy` finds it from poses: every frame of the clips, or the rest pose of a bare skeleton. Joint names are
hints; geometry and motion decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Skeleton, rest_pose
from poise.core.typing import Array
from poise.intake.anatomy import FINGERS, name_words, without_namespace
from poise.phases.points import body_tips
from poise.phases.travel import in_place_velocity

ACROSS = 0.97
"""Cosine beyond which two ways from a right to a left joint have one direction [1]."""


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
        doubt: Why the limbs may be read wrongly, as a sentence; "" where nothing speaks against them.
    """

    root: int
    chest: int
    chains: tuple[Chain, ...]
    forward: Array
    lengths: Array
    span: float
    four_legged: bool
    simulated: tuple[int, ...]
    doubt: str = ""

    def limbs(self, kind: str) -> tuple[Chain, ...]:
        """All chains of this kind."""
        return tuple(c for c in self.chains if c.kind == kind)


_ASIDE = (
    f"{FINGERS}|eye|jaw|brow|eyebrow|lip|tongue|teeth|cheek|ear|nose|hair|bang|bun|ponytail|braid|"
    "breast|skirt|cape|cloth|twist|roll|weapon|prop"
)
_CONTROL = "helper|socket|ik|pole|target|nub|end|ctrl|control"
_LIMB = {
    "leg": "(front|fore|back|hind|rear|mid|top|bot|bottom)?(leg|legs|thigh|calf|foot|feet|paw)|"
    "shin|knee|hip|hips|ankle|toe|toes|femur|tibia|upleg|hoof",
    "arm": "arm|arms|forearm|shoulder|elbow|wrist|hand|hands|humerus|radius|clavicle|collar|shldr|upperarm|lowerarm",
    "head": "head|skull|face",
    "neck": "neck|neck1|lowerneck|upperneck",
    "tail": "tail",
    "other": "[a-z]*wing|[a-z]*wings|fin|fins|flipper|flippers|antenna|mandible|horn|claw",
    "trunk": "torso|chest|abdomen|spine|back|body|pelvis|belly|waist",
}


@lru_cache(maxsize=2048)
def side_of(name: str) -> str:
    """The side a name claims: "left", "right", or "" when it claims none."""
    parts = name_words(name)
    for side in ("left", "right"):
        if side in parts or side[0] in parts or "".join(parts).startswith(side):
            return side
    joined = "".join(parts)
    anatomical = "femur|tibia|foot|toes|hipjoint|clavicle|humerus|radius|wrist|hand|fingers|thumb|thigh|shin|hip"
    if match := re.match(rf"([lr])({anatomical})", joined):
        return {"l": "left", "r": "right"}[match.group(1)]
    return ""


@lru_cache(maxsize=2048)
def without_side(name: str) -> str:
    """The name with its side taken out, so that mirrored joints give the same text."""
    parts = [w for w in name_words(name) if w not in ("left", "right", "l", "r")]
    joined = "".join(parts)
    joined = re.sub(r"^(left|right)", "", joined)
    return joined[1:] if side_of(name) and len(parts) == len(name_words(name)) and joined[:1] in "lr" else joined


def twins_of(names: Sequence[str]) -> dict[int, tuple[str, int]]:
    """Side and mirrored joint of each joint that has one, by index: "fl1" and "fr1" differ in one letter, l or r.

    What `side_of` knows goes first; else two names are twins if a single l or r at the edge of a word is all that tells
    them apart, beside a number that the exporter put behind ("arm.L_3" and "arm.R_5").
    """
    places: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        places.setdefault(_bare(name), []).append(j)
    found: dict[int, tuple[str, int]] = {}
    for j, name in enumerate(names):
        own = _bare(name)
        if len(places[own]) > 1 or side_of(name) == "right":
            continue
        for match in re.finditer(r"(?<![a-z])l|l(?![a-z])|(?<=[a-z])l(?=[0-9_.\- ]|$)|(?<=^.)l|L", own):
            other = own[: match.start()] + ("r" if match.group() == "l" else "R") + own[match.end() :]
            if len(places.get(other, ())) == 1:
                right = places[other][0]
                found[j], found[right] = ("left", right), ("right", j)
                break
    for j, name in enumerate(names):  # "R_leg" beside "leg"
        side = side_of(name)
        bare = re.sub(r"(?i)(^|[_.\- ])(l|r|left|right)(?=[_.\- ]|$)", "", _bare(name)).strip("_.- ")
        if not side or bare == _bare(name) or len(places.get(bare, ())) != 1 or j in found:
            continue
        other = places[bare][0]
        has_twin = any(without_side(n) == without_side(name) and side_of(n) not in (side, "") for n in names)
        if other not in found and not has_twin:
            found[j], found[other] = (side, other), ("left" if side == "right" else "right", j)
    return found


def left_from_right(skeleton: Skeleton, twins: Mapping[int, tuple[str, int]], least: float) -> Array | None:
    """Unit direction from right to left in the rest pose, by all joints whose names say their sides.

    None where they are together no farther apart than `least`.

    Args:
        skeleton: The joints.
        twins: For each joint that has a mirrored one: its side, and that joint; see `twins_of`.
        least: Length of the sum of the ways from right to left that says nothing [m].
    """
    names, rest = skeleton.names, skeleton.rest[0]
    sided = {(side_of(n), without_side(n), len(skeleton.ancestors(j))): j for j, n in enumerate(names) if side_of(n)}
    total = np.zeros(3)
    for left, (side, right) in twins.items():
        if side == "left" and not side_of(names[left]):
            total += rest[left] - rest[right]
    for (side, name, depth), left in sided.items():
        right = sided.get(("right", name, depth))
        if side == "left" and right is not None:
            total += rest[left] - rest[right]
    size = float(np.linalg.norm(total))
    return total / size if size > least else None


ONE_BUILD = 0.02
"""Bones of two mirrored limbs have equal lengths within this share [1]."""


def have_one_build(first: Array, second: Array) -> bool:
    """Whether two limbs of three or more bones have bones of equal length, one by one, in whatever pose they are."""
    return len(first) == len(second) > 2 and np.allclose(first, second, rtol=ONE_BUILD)


def lie_apart(first: Array, second: Array, least: float) -> bool:
    """Whether joints of two rows (N, 3) [m] that are farther apart than `least` [m] are so along one direction."""
    apart = first - second
    far = np.linalg.norm(apart, axis=-1)
    ways = apart[far > least] / far[far > least, None]
    return len(ways) > 1 and float((ways @ ways[-1]).min()) > ACROSS


def _bare(name: str) -> str:
    """The name without namespace and without the number that an exporter put behind it, as in "arm.L_3"."""
    return re.sub(r"(?<=[a-zA-Z0-9.])_[0-9]+$", "", without_namespace(name))


@lru_cache(maxsize=2048)
def is_aside(name: str, *, has_skin: bool = False) -> bool:
    """True for fingers, faces, hair, twist bones, sockets and the like, by name alone.

    Args:
        name: The joint's.
        has_skin: Its skin shows that it is not a mere control, whatever it is called: a foot named "IK foot" is a foot.
    """
    words_aside = _ASIDE if has_skin else f"{_ASIDE}|{_CONTROL}"
    # "rear" is not an ear, and a "middle leg" no finger
    found = [w for w in name_words(name) if w != "rear" and re.fullmatch(rf"[lr]?({words_aside})(s|base)?", w)]
    return bool(found) and not ("leg" in name_words(name) and set(found) <= {"middle", "ring", "index"})


@lru_cache(maxsize=2048)
def is_twist(name: str) -> bool:
    """True for a bone that spreads the twist of a limb, by its name."""
    return bool({"twist", "roll"} & set(name_words(name)))


@lru_cache(maxsize=2048)
def is_end(name: str) -> bool:
    """True for a joint that only marks where a bone ends: "toe_end", "HeadNub"."""
    return bool({"end", "nub", "tip", "site"} & set(name_words(name)))


def stem(name: str) -> str:
    """The name without its numbers, the same for the pieces of a divided bone: "upperarm01.L", "DEF-thigh.L.001"."""
    return re.sub(r"[^a-z]", "", name.lower())


@lru_cache(maxsize=2048)
def hints(name: str) -> frozenset[str]:
    """Kinds of limb the name speaks of: any of "leg", "arm", "head", "neck", "tail", "trunk", "other"."""
    found = set()
    joined = re.sub(r"^(left|right)", "", "".join(name_words(name)))
    for kind, pattern in _LIMB.items():
        if any(re.fullmatch(rf"[lr]?({pattern})", w) for w in name_words(name)) or re.fullmatch(
            rf"[lr]?({pattern})(left|right)?", joined
        ):
            found.add(kind)
    if "leg" in found and "trunk" in found and set(name_words(name)) & {"back"}:
        found.discard("trunk")  # a hind leg
    if "arm" in found and "forearm" in joined:
        found.discard("leg")
    return frozenset(found)


@dataclass(frozen=True)
class Poses:
    """Poses of one skeleton, from any number of clips.

    Attributes:
        skeleton: The J joints.
        positions: World positions [m], shape (F, J, 3).
        orientations: World orientations, shape (F, J, 4).
        rotations: Rotations in the parent's frame, shape (F, J, 4).
        speeds: Speed of each joint over the floor, which slides under a walk on the spot [m/s], shape (F, J); zeros
            for a bare skeleton.
        rises: Absolute vertical part of it [m/s], shape (F, J).
        is_bare: True if these are not from a clip but the one rest pose.
    """

    skeleton: Skeleton
    positions: Array
    orientations: Array
    rotations: Array
    speeds: Array
    rises: Array
    is_bare: bool

    @property
    def frame_count(self) -> int:
        return len(self.positions)

    def thinned(self, most: int) -> Poses:
        """Evenly chosen poses, at most this many: enough to tell what a body is, at a fraction of the time."""
        if self.frame_count <= most:
            return self
        keep = np.linspace(0, self.frame_count - 1, most).astype(np.int64)
        return replace(
            self,
            positions=self.positions[keep],
            orientations=self.orientations[keep],
            rotations=self.rotations[keep],
            speeds=self.speeds[keep],
            rises=self.rises[keep],
        )


def gather_poses(source: Motion | Skeleton | Sequence[Motion]) -> Poses:
    """Poses of a motion, of several motions of one skeleton, or of a bare skeleton's rest pose.

    Raises:
        InvalidValue: if no motion is given, or their skeletons differ.
    """
    if isinstance(source, Skeleton):
        positions, orientations = rest_pose(source)
        return Poses(
            source,
            positions[None],
            orientations[None],
            source.rest_rotations[None],
            np.zeros((1, source.joint_count)),
            np.zeros((1, source.joint_count)),
            is_bare=True,
        )
    motions = [source] if isinstance(source, Motion) else list(source)
    if not motions:
        raise InvalidValue("No motion was given to fit a character to. Give a motion, several, or a skeleton.")
    skeleton = motions[0].skeleton
    for other in motions[1:]:
        if other.skeleton.names != skeleton.names or not np.allclose(
            other.skeleton.offsets, skeleton.offsets, atol=1e-6
        ):
            raise InvalidValue(
                "The motions have different skeletons (joint names or offsets differ). Fit one character per skeleton."
            )
    positions = np.concatenate([m.world[0] for m in motions])
    orientations = np.concatenate([m.world[1] for m in motions])
    turned = np.concatenate([m.rotations for m in motions])
    velocities = np.concatenate([_velocities(m) for m in motions])
    speeds, rises = np.linalg.norm(velocities, axis=-1), np.abs(velocities[..., 2])
    return Poses(skeleton, positions, orientations, turned, speeds, rises, is_bare=False)


def _velocities(motion: Motion) -> Array:
    positions = motion.world[0]
    if motion.frame_count < 2:
        return np.zeros_like(positions)
    return np.gradient(positions, motion.times, axis=0) - in_place_velocity(motion)


STRETCH = 0.01
"""A bone whose length varies by more than this over a clip is stretched by it: standard deviation over median [1]."""


def sound_ends(skeleton: Skeleton) -> tuple[EndSite, ...]:
    """Tips without those that lie many times as far from their joint as the mirrored one does."""
    length: dict[tuple[str, str], float] = {}
    for site in body_tips(skeleton):
        name = skeleton.names[site.joint]
        length[without_side(name), side_of(name)] = float(np.linalg.norm(site.offset))
    other = {"left": "right", "right": "left", "": ""}

    def is_sound(site: EndSite) -> bool:
        name, own = skeleton.names[site.joint], float(np.linalg.norm(site.offset))
        twin = length.get((without_side(name), other[side_of(name)]), own)
        bone = float(np.linalg.norm(skeleton.offsets[site.joint]))
        return own <= max(4.0 * twin, 1.5 * bone)

    return tuple(site for site in body_tips(skeleton) if is_sound(site))


def bone_lengths(poses: Poses) -> Array:
    """Bone length from each joint's parent to it [m], shape (J,).

    It is the skeleton's own where the clip stretches the bone, and the clip's where that has another length throughout.
    """
    moved = np.linalg.norm(poses.positions[:, 1:] - poses.positions[:, poses.skeleton.parents[1:]], axis=-1)
    typical = np.median(moved, axis=0)
    drawn = np.linalg.norm(poses.skeleton.offsets[1:], axis=-1)
    is_stretched = (moved.std(axis=0) > STRETCH * typical) & (drawn > 0.0)
    return np.concatenate([[0.0], np.where(is_stretched, drawn, typical)])
