"""From a sampled glTF clip to the pose of a Poise skeleton and back: scales and the nodes above folded in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.skeleton import EndSite, Skeleton
from poise.io.door import door_turn
from poise.io.gltf_clip import Clip, sample
from poise.io.gltf_document import GltfDocument
from poise.io.gltf_mesh import SkinnedMesh, skinned_meshes, tips_from_meshes
from poise.io.gltf_sized import sized
from poise.io.gltf_tree import GltfTree, find_tree

Array = npt.NDArray[np.float64]

MOVES = 1e-4
"""A joint moves by translation if it wanders by more than this part of the longest bone."""


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
        file = sized(self.file, factor)
        return replace(self, file=file, tree=find_tree(file))

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


def parent_scales(tree: GltfTree, scales: Array) -> Array:
    """What a joint's translation is multiplied with, from the nodes above it, shape (..., J, 3).

    Directly under a parent with uneven scale each axis has its own factor; further down its geometric mean is used.
    """
    total = np.empty(scales.shape[:-1])
    factor = np.empty(scales.shape)
    for j, p in enumerate(tree.parents.tolist()):
        if p < 0:
            above = np.full(scales.shape[:-2], tree.above_scale)
            factor[..., j, :] = above[..., None]
        else:
            above = total[..., p]
            even = np.ptp(scales[..., p, :], axis=-1) <= 1e-6 * np.abs(scales[..., p, :]).max(axis=-1)
            mean = np.cbrt(np.prod(scales[..., p, :], axis=-1))
            outer = above / np.where(mean != 0.0, mean, 1.0)
            factor[..., j, :] = np.where(even[..., None], above[..., None], outer[..., None] * scales[..., p, :])
        total[..., j] = above * np.cbrt(np.prod(scales[..., j, :], axis=-1))
    return factor


def pose_of(tree: GltfTree, moved: Array, turned: Array, scales: Array, *, unit: float, up: str) -> tuple[Array, Array]:
    """Translations [m] and rotations of the skeleton from its nodes' T, R, S, shapes (..., J, 3), (..., J, 4)."""
    translations = unit * parent_scales(tree, scales) * moved
    turned = turned.copy()
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
    moved, turned = translations.copy(), turned.copy()
    turn = door_turn(up)
    above = rotations.multiply(turn, tree.above_turn)
    moved[..., 0, :] = rotations.rotate(
        rotations.conjugate(above), moved[..., 0, :] - unit * rotations.rotate(turn, tree.above_place)
    )
    turned[..., 0, :] = rotations.multiply(rotations.conjugate(above), turned[..., 0, :])
    return moved / (unit * parent_scales(tree, scales)), turned


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
    marked = [(joint, place) for joint, _, place in tree.end_sites]
    places = marked or sorted(tips_from_meshes(meshes, tree).items())
    return Skeleton(
        names=tree.names,
        parents=tree.parents,
        offsets=offsets,
        rest_rotations=rest,
        end_sites=tuple(EndSite(j, unit * own[j] * place, f"{tree.names[j]} tip") for j, place in places),
    )


def settled(skeleton: Skeleton, translations: Array) -> tuple[Skeleton, float]:
    """The skeleton with the places its joints keep in a clip, and how far [m] the farthest is from the nodes' rest.

    Exporters often state one constant translation a little off the node's own: bone lengths are the clip's then. A
    joint that wanders by more than a rounding moves by translation.
    """
    size = max(float(np.abs(skeleton.offsets[1:]).max()) if skeleton.joint_count > 1 else 0.0, 1e-9)
    wanders = np.ptp(translations, axis=0).max(axis=1) > MOVES * size
    wanders[0] = True
    offsets = np.where(wanders[:, None], skeleton.offsets, translations[0])
    away = float(np.abs(offsets - skeleton.offsets).max())
    return replace(skeleton, offsets=offsets, translating=frozenset(np.flatnonzero(wanders).tolist())), away
