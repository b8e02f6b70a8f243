"""The skin over a glTF skeleton: what a player needs to show it, and the tips of chains it reveals."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.typing import Array
from poise.io.gltf_document import GltfDocument
from poise.io.gltf_draco import is_packed, unpacked
from poise.io.gltf_tree import GltfTree, node_local, node_parents

WELD = 1e-5
"""Vertices this near are one, as a share of the mesh's size: exporters split them where colors or corners meet."""

LAST = 0.1
"""Vertices in this last share of a bone's reach are its tip [1]."""


@dataclass(frozen=True)
class SkinnedMesh:
    """One drawable piece of a skinned mesh, in file units and the file's axes.

    Attributes:
        name: Of its mesh.
        positions: Vertices in the mesh's frame, shape (V, 3).
        indices: Triangles, shape (T, 3).
        joints: Skeleton joint of each vertex's influences, shape (V, n).
        weights: Their weights, rows sum to 1, shape (V, n).
        inverse_binds: Inverse bind matrix of each skeleton joint, shape (J, 4, 4); identity where the skin has none.
        uvs: Texture coordinates, shape (V, 2), or None.
        texture: Bytes of the base-color image, or None.
        texture_type: Its MIME type, or "".
        color: Base color of its material, red, green and blue (0 … 1), or None.
        colors: Of its vertices, linear light (0 … 1), which the base color multiplies, shape (V, 3), or None.
    """

    name: str
    positions: npt.NDArray[np.float32]
    indices: npt.NDArray[np.int64]
    joints: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]
    inverse_binds: Array
    uvs: npt.NDArray[np.float32] | None = None
    texture: bytes | None = None
    texture_type: str = ""
    color: tuple[float, float, float] | None = None
    colors: npt.NDArray[np.float32] | None = None


def skinned_meshes(document: GltfDocument, tree: GltfTree) -> tuple[SkinnedMesh, ...]:
    """All triangle meshes that hang on the skeleton: by a skin, or as parts on its joints.

    Raises:
        FileFormatError: if a mesh points to vertices, joints or data that are not there.
    """
    found: list[SkinnedMesh] = []
    place = {n: j for j, n in enumerate(tree.nodes)}
    for node in document.items("nodes"):
        if "mesh" not in node or "skin" not in node:
            continue
        mesh, skin = document.item("meshes", node["mesh"]), document.item("skins", node["skin"])
        if not place.keys() >= set(skin["joints"]):
            continue  # the skin of another skeleton, which is not read
        joints = np.array([place[n] for n in skin["joints"]], dtype=np.int64)
        binds = np.tile(np.eye(4), (len(tree.nodes), 1, 1))
        if "inverseBindMatrices" in skin:
            matrices = document.accessor(skin["inverseBindMatrices"])
            if matrices.shape[1] != 16 or len(matrices) < len(joints):
                raise document.fault(f"A skin has {len(joints)} joints and {len(matrices)} inverse bind matrices.")
            binds[joints] = matrices[: len(joints)].reshape(-1, 4, 4).transpose(0, 2, 1)
        for primitive in mesh.get("primitives", []):
            piece = _piece(document, str(mesh.get("name", "")), primitive, joints, binds)
            if piece is not None:
                found.append(piece)
    meshes = (*found, *_parts(document, tree))
    return tuple(map(_mirrored, meshes)) if tree.above_mirrors else meshes


def _mirrored(mesh: SkinnedMesh) -> SkinnedMesh:
    """A mesh as a mirror along x shows it; its triangles go round the other way, so that their front stays outside."""
    mirror = np.array([-1.0, 1.0, 1.0, 1.0])
    return replace(
        mesh,
        positions=mesh.positions * mirror[:3].astype(np.float32),
        indices=mesh.indices[:, ::-1],
        inverse_binds=mirror[:, None] * mesh.inverse_binds * mirror,
    )


def _parts(document: GltfDocument, tree: GltfTree) -> tuple[SkinnedMesh, ...]:
    """Meshes on joints, which make a whole figure or are held by one: each as a skin that follows its joint alone."""
    found: list[SkinnedMesh] = []
    place, parents = {n: j for j, n in enumerate(tree.nodes)}, node_parents(document)
    for index, node in enumerate(document.items("nodes")):
        if "mesh" not in node or "skin" in node:
            continue
        bind, above = np.eye(4), index
        while above >= 0 and above not in place:
            bind, above = _matrix(document, above) @ bind, parents[above]
        if above < 0:
            continue
        binds = np.tile(np.eye(4), (len(tree.nodes), 1, 1))
        binds[place[above]] = bind
        mesh = document.item("meshes", node["mesh"])
        for primitive in mesh.get("primitives", []):
            piece = _piece(document, str(mesh.get("name", "")), primitive, np.array([place[above]]), binds, rigid=True)
            if piece is not None:
                found.append(piece)
    return tuple(found)


def _matrix(document: GltfDocument, node: int) -> Array:
    """Place of a node in its parent as a matrix (4, 4)."""
    moved, turned, scaled = node_local(document, node)
    matrix = np.eye(4)
    matrix[:3, :3] = rotations.to_matrix(turned) * scaled
    matrix[:3, 3] = moved
    return matrix


def _piece(
    document: GltfDocument,
    name: str,
    primitive: dict[str, Any],
    joints: npt.NDArray[np.int64],
    binds: Array,
    *,
    rigid: bool = False,
) -> SkinnedMesh | None:
    attributes = primitive.get("attributes", {})
    if primitive.get("mode", 4) != 4:
        return None  # points and lines are not drawn
    if not ({"POSITION"} if rigid else {"POSITION", "JOINTS_0", "WEIGHTS_0"}) <= set(attributes):
        return None
    packed: dict[str, npt.NDArray[Any]] | None = {}
    if is_packed(primitive) and (packed := unpacked(document, primitive)) is None:
        return None  # the skeleton does not need its vertices

    def values(attribute: str, *, finite: bool = True) -> npt.NDArray[Any]:
        if attribute in packed:
            return packed[attribute]
        return document.accessor((attributes | primitive)[attribute], finite=finite)

    positions = values("POSITION")
    if rigid:
        local, weights = np.zeros((len(positions), 1), dtype=np.uint8), np.ones((len(positions), 1))
    else:
        local = values("JOINTS_0")
        weights = values("WEIGHTS_0", finite=False)
        weights = np.where(np.isfinite(weights), weights, 0.0)  # such a vertex follows its other joints, or stays
    count = len(positions)
    if positions.shape[1] != 3 or local.shape != weights.shape or len(local) != count or local.dtype.kind != "u":
        raise document.fault(f"Mesh {name!r} has vertices, joints and weights that do not belong together.")
    if local.max() >= len(joints):
        raise document.fault(f"Mesh {name!r} hangs on joint {local.max()} of a skin with {len(joints)}.")
    if "indices" in primitive:
        indices = values("indices")[:, 0].astype(np.int64)
        if len(indices) % 3 or indices.max() >= count:
            raise document.fault(f"Mesh {name!r} has triangles of vertices that are not there.")
    else:
        indices = np.arange(count - count % 3)
    uvs, texture, kind = None, None, ""
    if "TEXCOORD_0" in attributes:
        uvs = values("TEXCOORD_0").astype(np.float32)
        if uvs.shape != (count, 2):
            raise document.fault(f"Mesh {name!r} has {len(uvs)} texture coordinates for {count} vertices.")
    colors = None
    if "COLOR_0" in attributes:
        colors = values("COLOR_0").astype(np.float32)
        if len(colors) != count or colors.shape[1] not in (3, 4):
            raise document.fault(f"Mesh {name!r} has {len(colors)} colors for {count} vertices.")
        colors = np.clip(colors[:, :3], 0.0, 1.0)
    base, color = None, None
    if "material" in primitive:
        paint = document.item("materials", primitive["material"]).get("pbrMetallicRoughness", {})
        base, color = paint.get("baseColorTexture"), _color(paint.get("baseColorFactor"))
    if base is not None:
        image = document.item("textures", base.get("index")).get("source")
        if image is not None:
            with contextlib.suppress(FileFormatError):  # a picture that is not there: drawn without
                texture, kind = document.image(image)
    total = weights.sum(axis=1, keepdims=True)
    return SkinnedMesh(
        name=name,
        positions=positions.astype(np.float32),
        indices=indices.reshape(-1, 3),
        joints=joints[local],
        weights=np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), 0.0).astype(np.float32),
        inverse_binds=binds,
        uvs=uvs,
        texture=texture,
        texture_type=kind,
        color=color,
        colors=colors,
    )


def _color(factor: Any) -> tuple[float, float, float] | None:
    """Base color factor of a material as it is drawn: linear light in the file, sRGB on the screen; None for none."""
    if not isinstance(factor, list) or len(factor) not in (3, 4):
        return None
    if not all(type(v) in (int, float) and 0.0 <= v <= 1.0 for v in factor):
        return None
    red, green, blue = (12.92 * v if v <= 0.0031308 else 1.055 * v ** (1.0 / 2.4) - 0.055 for v in factor[:3])
    return red, green, blue


def skin_of(meshes: tuple[SkinnedMesh, ...], joint_count: int) -> Array | None:
    """How many vertices each joint moves, by weight, shape (J,); None without a mesh, or with a compressed one."""
    if not meshes:
        return None
    skin = np.zeros(joint_count)
    for mesh in meshes:
        skin += np.bincount(mesh.joints.ravel(), weights=mesh.weights.ravel(), minlength=joint_count)
    return skin


def skin_volume(meshes: tuple[SkinnedMesh, ...], scales: Array) -> float | None:
    """What the skin encloses at rest [file units³]; None without a mesh.

    Each connected piece counts by itself, ⅙ |Σ a · (b × c)| over its triangles, whichever way it is turned.

    Args:
        meshes: The skin.
        scales: Of each joint, from the scene down to it, shape (J,).
    """
    total = 0.0
    for mesh in meshes:
        main = int(np.bincount(mesh.joints.ravel(), weights=mesh.weights.ravel()).argmax())
        size = abs(float(np.linalg.det(mesh.inverse_binds[main, :3, :3]))) * abs(scales[main]) ** 3
        places = mesh.positions.astype(np.float64)
        grain = max(float(np.ptp(places, axis=0).max(initial=0.0)) * WELD, 1e-30)
        _, vertex = np.unique(np.round(places / grain).astype(np.int64), axis=0, return_inverse=True)
        corners = vertex.reshape(-1)[mesh.indices]
        edges = np.concatenate([corners[:, :2], corners[:, 1:]]).T
        graph = coo_matrix((np.ones(edges.shape[1]), tuple(edges)), shape=(corners.max(initial=0) + 1,) * 2)
        piece = connected_components(graph, directed=False)[1][corners[:, 0]]
        a, b, c = (places[mesh.indices[:, k]] - places.mean(axis=0) for k in range(3))
        enclosed = np.bincount(piece, weights=np.sum(a * np.cross(b, c), axis=1)) / 6.0
        total += size * float(np.abs(enclosed).sum())
    return total if meshes else None


def heights_of(
    meshes: tuple[SkinnedMesh, ...],
    places: Array,
    turns: Array,
    sizes: Array,
    aside: frozenset[int] = frozenset(),
) -> tuple[float, float] | None:
    """Heights of the lowest vertex of a skin in a pose, and of the highest [m]; None without a mesh.

    Args:
        meshes: The skin.
        places: World positions of the joints [m], shape (J, 3).
        turns: Their world orientations, shape (J, 4).
        sizes: Meters that a unit of each joint's own frame is, shape (J,).
        aside: Joints whose vertices are not asked for the highest.
    """
    down = rotations.rotate(rotations.conjugate(turns), np.array([0.0, 0.0, 1.0])) * sizes[:, None]
    is_aside = np.isin(np.arange(len(places)), list(aside))
    lowest: list[float] = []
    highest: list[float] = []
    for mesh in meshes:
        binds = mesh.inverse_binds
        rows = np.einsum("ji,jik->jk", down, binds[:, :3, :3])  # height over the joint of a vertex in the mesh's frame
        above = np.einsum("ji,ji->j", down, binds[:, :3, 3]) + places[:, 2]
        vertices, height = mesh.positions.astype(np.float64), np.zeros(len(mesh.positions))
        beside = np.zeros(len(vertices))
        for k in range(mesh.joints.shape[1]):
            joint = mesh.joints[:, k]
            height += mesh.weights[:, k] * (np.einsum("vi,vi->v", rows[joint], vertices) + above[joint])
            beside += mesh.weights[:, k] * is_aside[joint]
        has_weight = mesh.weights.sum(axis=1) > 0.5
        lowest += [float(height[has_weight].min())] if has_weight.any() else []
        asked = has_weight & (beside < 0.5)
        highest += [float(height[asked].max())] if asked.any() else []
    return (min(lowest), max(highest, default=max(places[:, 2]))) if lowest else None


def seams_of(meshes: tuple[SkinnedMesh, ...], joint_count: int) -> Array:
    """How many edges of triangles join the vertices of two joints, by weight, shape (J, J)."""
    seams = np.zeros((joint_count, joint_count))
    for mesh in meshes:
        shares = np.zeros((len(mesh.positions), joint_count), dtype=np.float32)
        rows = np.arange(len(mesh.positions))
        for k in range(mesh.joints.shape[1]):
            np.add.at(shares, (rows, mesh.joints[:, k]), mesh.weights[:, k])
        for a, b in ((0, 1), (1, 2), (2, 0)):
            both = shares[mesh.indices[:, a]].T @ shares[mesh.indices[:, b]]
            seams += both + both.T
    return seams


def tips_from_meshes(meshes: tuple[SkinnedMesh, ...], tree: GltfTree) -> dict[int, Array]:
    """Where the skin of each last joint ends, in that joint's frame [file units].

    The middle of the vertices that follow the joint and lie farthest along their mean direction: on the line itself the
    tip of a foot would lie below its sole.
    """
    has_child = set(tree.skeleton_parents.tolist())
    smooth = np.zeros(len(tree.nodes), dtype=bool)
    for mesh in meshes:
        smooth[mesh.joints[(mesh.weights > 0.5) & (mesh.joints.shape[1] > 1)]] = True
    found: dict[int, Array] = {}
    for joint in range(len(tree.nodes)):
        if joint in has_child or (
            not smooth[joint] and smooth[tree.skeleton_parents[joint]] and tree.skeleton_parents[joint] >= 0
        ):
            continue  # what only bears a separate part, below a skin that bends, holds a weapon
        clouds = []
        # what a hand holds is not part of it: separate parts count where the joint moves no skin
        own_skin = [m for m in meshes if m.joints.shape[1] > 1 and bool((m.weights[m.joints == joint] > 0.5).any())]
        for mesh in own_skin or meshes:
            own = ((mesh.joints == joint) * mesh.weights).sum(axis=1) > 0.5
            vertices = mesh.positions[own].astype(np.float64)
            clouds.append(vertices @ mesh.inverse_binds[joint, :3, :3].T + mesh.inverse_binds[joint, :3, 3])
        cloud = np.concatenate(clouds) if clouds else np.zeros((0, 3))
        middle = cloud.mean(axis=0) if len(cloud) else np.zeros(3)
        length = float(np.linalg.norm(middle))
        if length > 0.0:
            direction = middle / length
            far = cloud @ direction
            found[joint] = cloud[far >= (1.0 - LAST) * float(far.max())].mean(axis=0)
    return found
