"""Meshes of a USD stage as meshes of the figure document: skinned by UsdSkel, or parts on prims that move."""

from __future__ import annotations

import contextlib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core.errors import PoiseError
from poise.core.typing import Array
from poise.io.files import read_bytes
from poise.io.gltf_mesh import SkinnedMesh
from poise.io.gltf_write import Pack

Ar, Gf, Usd, UsdGeom, UsdShade, UsdSkel, Vt = (
    import_module(f"pxr.{name}") for name in ("Ar", "Gf", "Usd", "UsdGeom", "UsdShade", "UsdSkel", "Vt")
)

INFLUENCES = 4
"""Joints that move one vertex in the document; of more, the strongest stay."""
MAX_PICTURE = 64_000_000
"""Largest picture that is read [bytes]."""
MAX_CORNERS = 20_000_000
"""Most corners of faces of one mesh."""
PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


def add_skins(pack: Pack, roots: list[Any], skins: dict[str, int]) -> list[tuple[Any, int, int]]:
    """Every mesh that a skeleton of the stage moves: its prim, its mesh and its skin in the document.

    Args:
        pack: The document, which gets the meshes.
        roots: Prims of kind SkelRoot.
        skins: Skin of each skeleton, by the path of its prim.
    """
    cache = UsdSkel.Cache()
    found: dict[str, tuple[Any, int, int]] = {}
    for prim in roots:
        root = UsdSkel.Root(prim)
        cache.Populate(root, Usd.PrimDefaultPredicate)
        for binding in cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate):
            skeleton = binding.GetSkeleton()
            skin = skins.get(str(skeleton.GetPath()))
            if skin is None or "inverseBindMatrices" not in pack.content["skins"][skin]:
                continue
            order = [str(t) for t in skeleton.GetJointsAttr().Get()]
            for query in binding.GetSkinningTargets():
                mesh = UsdGeom.Mesh(query.GetPrim())
                own = [str(t) for t in query.GetJointOrder() or order]
                points = _points(mesh)
                if not len(points) or str(mesh.GetPath()) in found or not set(own) <= set(order):
                    continue
                rows = _influences(query, len(points), np.array([order.index(t) for t in own]))
                if rows is None:
                    continue
                bind = np.array(query.GetGeomBindTransform(), dtype=np.float64)
                index = _mesh(pack, mesh, points @ bind[:3, :3] + bind[3, :3], rows, bind)
                if index is not None:
                    found[str(mesh.GetPath())] = mesh.GetPrim(), index, skin
    return list(found.values())


def add_parts(pack: Pack, prims: list[Any]) -> list[tuple[Any, int]]:
    """Meshes that move as they are: the prim of each, and its mesh in the document."""
    found = []
    for prim in prims:
        mesh = UsdGeom.Mesh(prim)
        points = _points(mesh)
        index = _mesh(pack, mesh, points, None, np.eye(4)) if len(points) else None
        if index is not None:
            found.append((prim, index))
    return found


def _points(mesh: Any) -> Array:
    values = mesh.GetPointsAttr().Get(Usd.TimeCode.EarliestTime()) if mesh else None
    return np.array(values if values is not None else (), dtype=np.float64).reshape(-1, 3)


def _influences(query: Any, count: int, joints: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Array] | None:
    """Joints of the skeleton and weights of each vertex, shape (V, 4); None where they do not fit the mesh."""
    found = query.ComputeVaryingJointInfluences(count, Usd.TimeCode.EarliestTime())
    if not found:
        return None
    width = len(found[0]) // count
    index, weights = (
        np.array(found[0]).reshape(count, width),
        np.array(found[1], dtype=np.float64).reshape(count, width),
    )
    if width == 0 or index.min() < 0 or index.max() >= len(joints):
        return None
    strongest = np.argsort(-weights, axis=1, kind="stable")[:, :INFLUENCES]
    missing = ((0, 0), (0, max(INFLUENCES - width, 0)))
    index = np.pad(np.take_along_axis(joints[index], strongest, axis=1), missing)
    return index, np.pad(np.take_along_axis(weights, strongest, axis=1), missing)


def _mesh(
    pack: Pack, mesh: Any, points: Array, rows: tuple[npt.NDArray[np.int64], Array] | None, bind: Array
) -> int | None:
    """Index of a new mesh in the document: one primitive of each material."""
    counts = np.array(mesh.GetFaceVertexCountsAttr().Get(Usd.TimeCode.EarliestTime()) or (), dtype=np.int64)
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get(Usd.TimeCode.EarliestTime()) or (), dtype=np.int64)
    if not len(counts) or counts.min() < 0 or counts.sum() != len(corners) or len(corners) > MAX_CORNERS:
        return None
    if corners.min() < 0 or corners.max() >= len(points) or not np.isfinite(points).all():
        return None
    triangles, faces = _triangles(counts)
    is_left = (mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded) != (np.linalg.det(bind[:3, :3]) < 0.0)
    if is_left:
        triangles = triangles[:, ::-1]
    uvs = _uvs(mesh, corners, counts)
    keys = (
        corners
        if uvs is None
        else np.unique(np.column_stack([corners, np.round(uvs * 65536)]), axis=0, return_inverse=True)[1]
    )
    _, kept, vertex = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    at = corners[kept]
    attributes = {"POSITION": pack.accessor(points[at])}
    if rows is not None:
        attributes |= {"JOINTS_0": pack.accessor(rows[0][at]), "WEIGHTS_0": pack.accessor(rows[1][at])}
    if uvs is not None:
        attributes["TEXCOORD_0"] = pack.accessor(np.column_stack([uvs[kept, 0], 1.0 - uvs[kept, 1]]))
    primitives = []
    for prim, mask in _pieces(mesh, len(counts)):
        own = vertex.ravel()[triangles[mask[faces]]]
        if len(own):
            primitive: dict[str, Any] = {"attributes": attributes, "indices": pack.accessor(own.ravel())}
            paint = _paint(pack, prim, mesh)
            if paint is not None:
                primitive["material"] = paint
            primitives.append(primitive)
    pack.content["meshes"].append({"name": str(mesh.GetPrim().GetName()), "primitives": primitives})
    return len(pack.content["meshes"]) - 1


def _triangles(counts: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Corners of the triangles that fan out each face, shape (T, 3), and the face of each, shape (T,)."""
    starts = np.cumsum(counts) - counts
    each = np.maximum(counts - 2, 0)
    faces = np.repeat(np.arange(len(counts)), each)
    place = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    return np.column_stack([starts[faces], starts[faces] + place + 1, starts[faces] + place + 2]), faces


def _uvs(mesh: Any, corners: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> Array | None:
    """Texture coordinates of each corner, shape (C, 2); None where there are none that fit."""
    of = UsdGeom.PrimvarsAPI(mesh.GetPrim())
    primvar = next(
        (p for p in of.GetPrimvars() if str(p.GetTypeName()) in ("texCoord2f[]", "float2[]") and p.HasValue()), None
    )
    if primvar is None:
        return None
    values = np.array(primvar.ComputeFlattened() or (), dtype=np.float64).reshape(-1, 2)
    kind = str(primvar.GetInterpolation())
    if kind in ("vertex", "varying") and len(values) > corners.max():
        return values[corners]
    if kind == "faceVarying" and len(values) == len(corners):
        return values
    return np.repeat(values, counts, axis=0) if kind == "uniform" and len(values) == len(counts) else None


def _pieces(mesh: Any, faces: int) -> list[tuple[Any, npt.NDArray[np.bool_]]]:
    """The prims that say a material, each with the mask of its faces: subsets, and the mesh for the rest."""
    rest, found = np.ones(faces, dtype=bool), []
    for subset in UsdShade.MaterialBindingAPI(mesh.GetPrim()).GetMaterialBindSubsets():
        own = np.array(subset.GetIndicesAttr().Get() or (), dtype=np.int64)
        mask = np.zeros(faces, dtype=bool)
        mask[own[(own >= 0) & (own < faces)]] = True
        found.append((subset.GetPrim(), mask & rest))
        rest &= ~mask
    return [*found, (mesh.GetPrim(), rest)]


def _paint(pack: Pack, prim: Any, mesh: Any) -> int | None:
    """Index of a material with the base color and the picture of a prim; None if it says none."""
    color, picture = None, None
    material = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]
    shader = material.ComputeSurfaceSource()[0] if material else None
    diffuse = shader.GetInput("diffuseColor") if shader else None
    if diffuse:
        source = diffuse.GetConnectedSource() if diffuse.HasConnectedSource() else None
        if source:
            file = UsdShade.Shader(source[0].GetPrim()).GetInput("file")
            asset = file.Get(Usd.TimeCode.EarliestTime()) if file else None
            picture = _picture(pack, asset) if asset is not None else None
        else:
            color = diffuse.Get()
    if color is None and picture is None:
        shown = mesh.GetDisplayColorPrimvar().ComputeFlattened()
        color = shown[0] if shown is not None and len(shown) == 1 else None
    if color is None and picture is None:
        return None
    paint: dict[str, Any] = {}
    if color is not None:
        paint["baseColorFactor"] = [min(max(float(c), 0.0), 1.0) for c in color] + [1.0]
    if picture is not None:
        content = pack.content
        content.setdefault("images", []).append(picture)
        content.setdefault("textures", []).append({"source": len(content["images"]) - 1})
        paint["baseColorTexture"] = {"index": len(content["textures"]) - 1}
    pack.content["materials"].append({"pbrMetallicRoughness": paint})
    return len(pack.content["materials"]) - 1


def _picture(pack: Pack, asset: Any) -> dict[str, Any] | None:
    """A picture of the stage as an image of the document; None if it is not there, or of a kind no page shows."""
    name = str(asset.resolvedPath or asset.path)
    kind = PICTURES.get(Path(name.rstrip("]")).suffix.lower())
    if kind is None:
        return None
    data = b""
    if Ar.IsPackageRelativePath(name):
        opened = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(name))
        if opened and opened.GetSize() <= MAX_PICTURE:
            data = bytes(opened.GetBuffer())
    else:
        with contextlib.suppress(PoiseError, OSError, ValueError):
            data = read_bytes(Path(name), limit=MAX_PICTURE)
    return {"bufferView": pack.view(data), "mimeType": kind} if data else None


def write_skins(
    stage: Any, root: str, skeleton: Any, meshes: tuple[SkinnedMesh, ...], sizes: Array, binds: Array
) -> Array:
    """Put a figure's skin under a SkelRoot: each mesh in the bind pose, with joints and weights. Pictures stay behind.

    Args:
        stage: The stage.
        root: Path of the SkelRoot.
        skeleton: The skeleton.
        meshes: The skin.
        sizes: Units of the stage for one unit in each joint's own frame, shape (J,).
        binds: Place of each joint at rest as matrices of row vectors, shape (J, 4, 4).

    Returns:
        Bind transforms (J, 4, 4): where the skin's own bind pose has each joint, or at rest where it has no skin.
    """
    binds, known = binds.transpose(0, 2, 1).copy(), np.zeros(len(binds), dtype=bool)
    for count, mesh in enumerate(meshes):
        inverse = np.concatenate([mesh.inverse_binds[:, :3] * sizes[:, None, None], mesh.inverse_binds[:, 3:]], axis=1)
        used = np.zeros(len(binds), dtype=bool)
        used[mesh.joints[mesh.weights > 0.0]] = True
        for j in np.flatnonzero(used & ~known):
            place = np.linalg.inv(inverse[j])
            place[:3, :3] /= np.linalg.norm(place[:3, :3], axis=0)
            binds[j] = place
        known |= used
        moves = (binds @ inverse)[mesh.joints]  # (V, n, 4, 4)
        points = np.einsum("vn,vnab,vb->va", mesh.weights, moves[..., :3, :3], mesh.positions.astype(np.float64))
        points += np.einsum("vn,vna->va", mesh.weights, moves[..., :3, 3])
        shown = UsdGeom.Mesh.Define(stage, f"{root}/Skin_{count}")
        shown.GetPrim().SetDisplayName(mesh.name)
        shown.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(points, dtype=np.float32)))
        shown.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(mesh.indices), 3, dtype=np.int32)))
        corners = np.ascontiguousarray(mesh.indices.ravel(), dtype=np.int32)
        shown.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(corners))
        shown.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        if mesh.color is not None:
            linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in mesh.color]
            shown.CreateDisplayColorAttr(Vt.Vec3fArray([linear]))
        width = mesh.joints.shape[1]
        binding = UsdSkel.BindingAPI.Apply(shown.GetPrim())
        index = np.ascontiguousarray(mesh.joints.ravel(), dtype=np.int32)
        binding.CreateJointIndicesPrimvar(False, width).Set(Vt.IntArray.FromNumpy(index))
        weights = np.ascontiguousarray(mesh.weights.ravel(), dtype=np.float32)
        binding.CreateJointWeightsPrimvar(False, width).Set(Vt.FloatArray.FromNumpy(weights))
        binding.CreateGeomBindTransformAttr(Gf.Matrix4d(1.0))
        binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    return binds.transpose(0, 2, 1)
