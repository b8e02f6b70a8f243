"""From a sampled glTF clip to the pose of a Poise skeleton and back: scales and the nodes above folded in.

A glTF gets another size by scaled nodes above its scene, so that bones, skin and every clip grow together.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.skeleton import EndSite, Skeleton, world_pose
from poise.core.typing import Array
from poise.intake.anatomy import anatomy_of
from poise.io.format import SAME_UNIT, door_turn
from poise.io.gltf_clip import Channel, Clip, read_clip, sample
from poise.io.gltf_document import GltfDocument
from poise.io.gltf_hanging import find_hanging, hang_by_skin, hang_chains, hang_ends, measure, without_circles
from poise.io.gltf_mesh import SkinnedMesh, heights_of, seams_of, skin_of, skin_volume, skinned_meshes, tips_from_meshes
from poise.io.gltf_tree import UNIFORM, GltfTree, are_even, find_tree, mirrored, node_parents

EXACT = 5e-6
"""A joint scales its children evenly if its scales agree this well; else each axis of their places has its own [1].
Baked keys of even scales, in single precision, differ by 1.1e-6."""


def sized(document: GltfDocument, factor: float, turn: Array = rotations.IDENTITY) -> GltfDocument:
    """The file `factor` times as large, and turned (wxyz): above each node without a parent stands a new one.

    No other number changes: a skinned vertex follows its joints' places in the scene, which the new node scales, and
    clips move the nodes below it. `raw`, and an FBX's `own`, are empty, since no file has these bytes.
    """
    above_all = {"name": f"{factor:g} times as large", "scale": [factor] * 3}
    if not np.array_equal(turn, rotations.IDENTITY):
        above_all["rotation"] = turn[[1, 2, 3, 0]].tolist()
    content = copy.deepcopy(document.json)
    nodes = content["nodes"]
    above: dict[int, int] = {}
    for index, parent in enumerate(node_parents(document)):
        if parent < 0:
            above[index] = len(nodes)
            nodes.append(above_all | {"children": [index]})
    for scene in content.get("scenes", []):
        if "nodes" in scene:
            scene["nodes"] = [above.get(n, n) for n in scene["nodes"]]
    return replace(document, json=content, raw=b"", **({"own": b""} if hasattr(document, "own") else {}))


MOVES = 1e-4
"""A joint moves by translation if it wanders by more than this part of the longest bone."""


FEW_TIPS, BOUND_ELSEWHERE, FAR_ELSEWHERE = 4, 0.6, 10.0
"""So many tips are none if half of them lie farther from their joints than this share of the figure at rest, and one is
none if it lies so many times as far [1]."""

POSES_PER_CLIP = 24
"""Poses of each clip that tell which joint hangs on which bone."""


@dataclass(frozen=True)
class GltfSource:
    """A glTF file as it was read: what is needed to write it again and to show its skin.

    Attributes:
        file: The file: JSON, buffers and own bytes.
        tree: Which nodes are joints, and what is above them.
        clip_index: Which animation was read.
        clip: Its channels with key times and interpolation, and its frames.
        unit, up: How it was read: meters per file unit, and the file's up axis.
        is_whole: False once frames were cut out: the channels then no longer belong to the motion.
    """

    file: GltfDocument
    tree: GltfTree
    clip_index: int
    clip: Clip
    unit: float
    up: str
    is_whole: bool = True

    def select_frames(self, index: npt.NDArray[np.int64]) -> GltfSource:
        """The same file, whose channels no longer belong to the motion's frames."""
        return replace(self, is_whole=False)

    def sized(self, factor: float) -> GltfSource:
        """The same file with everything in it `factor` times as large: skin, skeleton and all clips."""
        return self._below(sized(self.file, factor))

    def as_stated(self) -> GltfSource:
        """The same figure in meters and Y up, as the standard says, where it was read otherwise."""
        if abs(self.unit - 1.0) < SAME_UNIT and self.up == "y":
            return self
        turn = rotations.multiply(rotations.conjugate(door_turn("y")), door_turn(self.up))
        return replace(self._below(sized(self.file, self.unit, turn)), unit=1.0, up="y")

    def _below(self, file: GltfDocument) -> GltfSource:
        tree = find_tree(file)
        place = {node: j for j, node in enumerate(tree.nodes)}
        tree = tree.in_order([place[node] for node in self.tree.nodes])
        return replace(
            self, file=file, tree=replace(tree, skeleton_parents=self.tree.skeleton_parents, hanging=self.tree.hanging)
        )

    @property
    def meshes(self) -> tuple[SkinnedMesh, ...]:
        """The skin over the skeleton: vertices, weights, inverse bind matrices, texture; in file units."""
        return skinned_meshes(self.file, self.tree)

    @property
    def joint_scales(self) -> Array:
        """Meters for one unit in each joint's own frame, shape (J,)."""
        return self.unit * own_scales(self.tree)


def node_values(tree: GltfTree, clip: Clip, times: Array) -> tuple[Array, Array, Array]:
    """T (F, J, 3), R (F, J, 4) and S (F, J, 3) of all joints' nodes at file times (F,)."""
    frames = len(times)
    place = {n: j for j, n in enumerate(tree.nodes)}
    found = {
        "translation": np.tile(tree.translations, (frames, 1, 1)),
        "rotation": np.tile(tree.turns, (frames, 1, 1)),
        "scale": np.tile(tree.scales, (frames, 1, 1)),
    }
    for channel in clip.channels:
        if channel.node in place:
            found[channel.path][:, place[channel.node]] = sample(channel, times)
    return found["translation"], found["rotation"], found["scale"]


def with_kept_scales(tree: GltfTree, scales: Array) -> GltfTree:
    """The joints at the scales that they keep in a clip, shape (F, J, 3): some files state them in clips alone."""
    is_kept = np.ptp(scales, axis=0).max(axis=1) <= UNIFORM * np.abs(scales).max(axis=(0, 2))
    return replace(tree, scales=np.where(is_kept[:, None], scales[0], tree.scales))


def parent_scales(tree: GltfTree, turned: Array, scales: Array) -> Array:
    """What a joint's translation is multiplied with, from the nodes above it, shape (..., J, 3, 3).

    A node of uneven scale also shears what lies beyond the next joint; `turned` are the rotations of the nodes.
    """
    turns, factor = rotations.to_matrix(turned), np.empty((*scales.shape, 3))
    even = are_even(scales, EXACT)
    for j, p in enumerate(tree.parents.tolist()):
        if p < 0:
            factor[..., j, :, :] = tree.above_scale * np.eye(3)
            continue
        above, turn = factor[..., p, :, :], turns[..., p, :, :]
        stays = even[..., p] & (np.abs(above - above[..., :1, :1] * np.eye(3)).max(axis=(-2, -1)) == 0.0)
        mean = np.cbrt(np.prod(scales[..., p, :], axis=-1))
        sheared = np.swapaxes(turn, -2, -1) @ above @ turn * scales[..., p, None, :]
        factor[..., j, :, :] = np.where(stays[..., None, None], above * mean[..., None, None], sheared)
    return factor


def pose_of(tree: GltfTree, moved: Array, turned: Array, scales: Array, *, unit: float, up: str) -> tuple[Array, Array]:
    """Translations [m] and rotations of the skeleton from its nodes' T, R, S, shapes (..., J, 3), (..., J, 4)."""
    pose = file_pose_of(tree, moved, turned, scales, unit=unit, up=up)
    return _rehung(tree, *pose, tree.parents, tree.skeleton_parents)


def file_pose_of(
    tree: GltfTree, moved: Array, turned: Array, scales: Array, *, unit: float, up: str
) -> tuple[Array, Array]:
    """The same against the file's own parents."""
    translations = unit * np.einsum("...ab,...b", parent_scales(tree, turned, scales), moved)
    translations, turned = mirrored(translations, turned) if tree.above_mirrors else (translations, turned.copy())
    turn = door_turn(up)
    above = rotations.multiply(turn, tree.above_turn)
    translations[..., 0, :] = rotations.rotate(above, translations[..., 0, :]) + unit * rotations.rotate(
        turn, tree.above_place
    )
    turned[..., 0, :] = rotations.multiply(above, turned[..., 0, :])
    return translations, turned


def nodes_of(
    tree: GltfTree, translations: Array, turned: Array, scales: Array, *, unit: float, up: str
) -> tuple[Array, Array]:
    """T and R of the joints' nodes from translations [m] and rotations: the inverse of `pose_of`."""
    moved, turned = (values.copy() for values in to_file_parents(tree, translations, turned))
    turn = door_turn(up)
    above = rotations.multiply(turn, tree.above_turn)
    moved[..., 0, :] = rotations.rotate(
        rotations.conjugate(above), moved[..., 0, :] - unit * rotations.rotate(turn, tree.above_place)
    )
    turned[..., 0, :] = rotations.multiply(rotations.conjugate(above), turned[..., 0, :])
    if tree.above_mirrors:
        moved, turned = mirrored(moved, turned)
    factor = unit * parent_scales(tree, turned, scales)
    found = moved / np.diagonal(factor, axis1=-2, axis2=-1)
    away = np.abs(factor * (1.0 - np.eye(3))).reshape(-1, len(tree.parents), 9)
    for j in np.flatnonzero(away.max(axis=(0, 2)) > 0.0):
        found[..., j, :] = np.einsum("...ab,...b", np.linalg.pinv(factor[..., j, :, :]), moved[..., j, :])
    return found, turned


def to_file_parents(tree: GltfTree, translations: Array, turned: Array) -> tuple[Array, Array]:
    """Translations [m] and rotations of the skeleton as they are against the file's own parents."""
    return _rehung(tree, translations, turned, tree.skeleton_parents, tree.parents)


def _rehung(
    tree: GltfTree, translations: Array, turned: Array, before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]
) -> tuple[Array, Array]:
    """A pose given against one set of parents, expressed against another; joints with one parent keep their numbers."""
    moved = np.flatnonzero(before != after)
    if not len(moved):
        return translations, turned
    count = len(before)
    tree_before = Skeleton(tree.names, before, np.zeros((count, 3)), np.tile(rotations.IDENTITY, (count, 1)))
    places, orientations = world_pose(tree_before, translations, turned)
    back = rotations.conjugate(orientations[..., after[moved], :])
    translations, turned = translations.copy(), turned.copy()
    away = places[..., moved, :] - places[..., after[moved], :]
    translations[..., moved, :] = rotations.rotate(back, away)
    turned[..., moved, :] = rotations.multiply(back, orientations[..., moved, :])
    return translations, turned


def skeleton_tree(file: GltfDocument) -> GltfTree:
    """The joints of a file, each on the bone that carries it: as the file says, or as motion and skin show.

    Every clip of the file is looked at, so that all of its clips have one skeleton.
    """
    tree = find_tree(file)
    if not file.items("skins") and not file.items("animations"):
        return tree
    meshes = skinned_meshes(file, tree)
    tree = replace(tree, skin=skin_of(meshes, len(tree.nodes)))
    seams = seams_of(meshes, len(tree.nodes))
    at_rest = pose_of(tree, tree.translations, tree.turns, tree.scales, unit=1.0, up="y")
    rest, _ = world_pose(Skeleton(tree.names, tree.parents, *at_rest), *at_rest)
    if by_skin := hang_by_skin(tree.parents, seams, rest):
        return tree.with_hanging(by_skin)
    places, turns = [], []
    for index in range(len(file.items("animations"))):
        try:
            clip = read_clip(file, index, len(tree.nodes), frozenset(tree.nodes))
        except FileFormatError:
            continue  # another clip than the one that is read may be damaged
        if not any(_detaches(tree, channel) for channel in clip.channels):
            continue
        keep = np.unique(np.linspace(0, len(clip.times) - 1, POSES_PER_CLIP).astype(np.int64))
        pose = file_pose_of(tree, *node_values(tree, clip, clip.start + clip.times[keep]), unit=1.0, up="y")
        at = world_pose(Skeleton(tree.names, tree.parents, pose[0][0], pose[1][0]), *pose)
        places.append(at[0])
        turns.append(at[1])
    clips = np.repeat(np.arange(len(places)), [len(at) for at in places])
    still = rest[None], np.tile(rotations.IDENTITY, (1, len(rest), 1))
    posed = (np.concatenate(places), np.concatenate(turns)) if places else still
    rig = measure(*posed, tree.parents, tree.skin, seams, clips if places else None)
    found = find_hanging(rig)
    chains = hang_chains(rig, frozenset(h.joint for h in found))
    ends = hang_ends(rig, frozenset(h.joint for h in (*found, *chains)))
    return tree.with_hanging(without_circles(tree.parents, (*chains, *found, *ends)))  # a trunk hangs on no limb


def _detaches(tree: GltfTree, channel: Channel) -> bool:
    """Whether a channel moves a joint that is not the root, by translation."""
    if channel.path != "translation" or channel.node not in tree.nodes[1:]:
        return False
    values = channel.values if channel.values.ndim == 2 else channel.values[:, 1]
    size = float(np.linalg.norm(tree.translations, axis=1).max())
    return bool(np.ptp(values, axis=0).max() > MOVES * size)


def own_scales(tree: GltfTree) -> Array:
    """Product of all scales from the scene down to each joint, its own among them, shape (J,)."""
    own = np.empty(len(tree.parents))
    for j, p in enumerate(tree.parents.tolist()):
        own[j] = (tree.above_scale if p < 0 else own[p]) * np.cbrt(np.prod(tree.scales[j]))
    return own


def skeleton_of(tree: GltfTree, meshes: tuple[SkinnedMesh, ...], *, unit: float, up: str) -> Skeleton:
    """The skeleton at the nodes' own rest, with end sites from Poise's own marks or from the skin."""
    offsets, rest = pose_of(tree, tree.translations, tree.turns, tree.scales, unit=unit, up=up)
    own = own_scales(tree)
    volume = skin_volume(meshes, own)
    marked = [
        (joint, mirrored(at, rotations.IDENTITY)[0] if tree.above_mirrors else at) for joint, _, at in tree.end_sites
    ]
    places = marked or sorted(tips_from_meshes(meshes, tree).items())
    bare = Skeleton(tree.names, tree.skeleton_parents, offsets, rest)
    sites = tuple(EndSite(j, unit * own[j] * place, f"{tree.names[j]} tip") for j, place in places)
    if len(sites) >= FEW_TIPS and not marked:  # a skin bound elsewhere, such as facing the other way, ends nowhere
        size = np.ptp(bare.rest[0], axis=0).max()
        away = [float(np.linalg.norm(site.offset)) for site in sites]
        is_bound = np.median(away) < BOUND_ELSEWHERE * size
        sites = tuple(site for site, far in zip(sites, away) if is_bound and far < FAR_ELSEWHERE * size)
    held = [bare.carried_by(arm.first).tolist() for arm in anatomy_of(bare).arms]
    heights = heights_of(meshes, *bare.rest, unit * own, frozenset(j for joints in held for j in joints))
    return replace(
        bare,
        end_sites=sites,
        skin=tree.skin,
        skin_volume=None if volume is None else unit**3 * volume,
        sole=None if heights is None else heights[0],
        crown=None if heights is None else heights[1],
    )


def settled(skeleton: Skeleton, translations: Array) -> tuple[Skeleton, float]:
    """The skeleton with the places its joints keep in a clip, and how far [m] the farthest is from the nodes' rest.

    Exporters often state one constant translation a little off the node's own: bone lengths are the clip's then. A
    joint that wanders by more than a rounding moves by translation.
    """
    first = translations[0]
    size = max(float(np.abs(np.stack([skeleton.offsets, first])[:, 1:]).max(initial=0.0)), 1e-9)
    wanders = np.ptp(translations, axis=0).max(axis=1) > MOVES * size
    wanders[0] = True
    # some exporters leave all nodes in one place, and only the clips part them
    is_drawn = np.abs(skeleton.offsets[1:]).max(initial=0.0) > MOVES * size
    offsets = np.where((wanders & (is_drawn | (np.arange(len(wanders)) == 0)))[:, None], skeleton.offsets, first)
    away = float(np.abs(offsets - skeleton.offsets).max())
    return replace(skeleton, offsets=offsets, translating=frozenset(np.flatnonzero(wanders).tolist())), away
