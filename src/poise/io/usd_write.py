"""Writing USD: the source's own layer with new keys for what changed, or a new UsdSkel stage.

Whatever nobody changed stays as it is: other animations, meshes, materials, and the values of joints that still move
as they did. A motion nobody changed at all is the source's own file, byte for byte.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.io.files import whole_file, write_atomically
from poise.io.format import door_turn, ground_noted
from poise.io.gltf_clip import Clip
from poise.io.gltf_pose import GltfSource, node_values, nodes_of
from poise.io.gltf_write import changed_joints, frame_note, keys_between
from poise.io.usd_skin import write_skins
from poise.io.usd_stage import UsdDocument, quietly, said_by

Gf, Sdf, Tf, Usd, UsdGeom, UsdSkel, UsdUtils, Vt = (
    import_module(f"pxr.{name}") for name in ("Gf", "Sdf", "Tf", "Usd", "UsdGeom", "UsdSkel", "UsdUtils", "Vt")
)

SAME_CODE = 1e-3
"""Time codes this near are one: seconds are kept in single precision on the way."""
KINDS = {"translations": "float3[]", "rotations": "quatf[]", "scales": "half3[]"}


def write_stage(motion: Motion, path: Path) -> None:
    """Write a motion back into the stage it came from, or a new stage; see `usd.write`."""
    source = motion.source.document if motion.source else None
    if not isinstance(source, GltfSource) or not isinstance(source.file, UsdDocument):
        return write_new(motion, path, unit=1.0, up="z")
    if motion.skeleton.names != source.tree.names:
        raise InvalidValue(
            "The motion's joints are not those of the stage it was read from. Write .bvh or .npz instead."
        )
    file = source.file
    changed = changed_joints(motion, source)
    factor = float(np.prod([n["scale"][0] for n in file.items("nodes")[len(file.targets) :]]))
    noted = ground_noted(file.items("animations"), source.clip_index) if file.items("animations") else None
    is_same = not any(changed.values()) and noted == (motion.source and motion.source.ground) and factor == 1.0
    same_place = path.resolve().parent == file.path.resolve().parent
    if (
        is_same
        and file.is_own
        and not file.is_read_otherwise
        and path.suffix.lower() == file.path.suffix.lower()
        and same_place
    ):
        return write_atomically(path, file.layer)
    with whole_file(path) as new, quietly(path), tempfile.TemporaryDirectory() as folder:
        layer = _layer_of(file, Path(folder))
        stage = Usd.Stage.Open(layer, None)
        if any(changed.values()) or not is_same:
            _put_keys(stage, motion, source, changed)
        if factor != 1.0 or file.is_read_otherwise:
            UsdGeom.SetStageMetersPerUnit(stage, factor * file.unit)
            if file.up in ("y", "z"):  # a stage has no other
                UsdGeom.SetStageUpAxis(stage, file.up.upper())
        if not same_place:
            UsdUtils.ModifyAssetPaths(layer, lambda name: _from_there(name, file.path.parent, path.parent))
        _export(layer, new, Path(folder) / f"made{path.suffix.lower()}")
    return None


def _layer_of(file: UsdDocument, folder: Path) -> Any:
    copy = folder / ("stage.usda" if file.layer.startswith(b"#usda") else "stage.usdc")
    copy.write_bytes(file.layer)
    return Sdf.Layer.OpenAsAnonymous(str(copy))


def _export(layer: Any, path: Path, made: Path) -> None:
    """Write a layer to `made`, whose extension tells USD the kind, and copy it."""
    try:
        layer.Export(str(made))
    except Tf.ErrorException as error:
        raise OSError(f"USD says: {said_by(error)}") from error
    path.write_bytes(made.read_bytes())


def _from_there(name: str, before: Path, after: Path) -> str:
    """A relative name of another file as seen from a new folder; any other name as it is."""
    file = before / name
    if not name or os.path.isabs(name) or "[" in name or "://" in name or not file.is_file():
        return name
    return Path(os.path.relpath(file.resolve(), after.resolve())).as_posix()


def _put_keys(stage: Any, motion: Motion, source: GltfSource, changed: dict[str, list[int]]) -> None:
    """New keys for the changed joints in the animation that was read, and new transforms for changed prims."""
    file, tree, clip = source.file, source.tree, source.clip
    assert isinstance(file, UsdDocument)
    times = (clip.start if source.is_whole else 0.0) + motion.times
    scales = node_values(tree, clip, times if source.is_whole else np.full(1, clip.start))[2]
    scales = scales if len(scales) == len(times) else np.repeat(scales[:1], len(times), axis=0)
    moved, turned = nodes_of(tree, motion.translations, motion.rotations, scales, unit=source.unit, up=source.up)
    codes = file.first + times * file.rate
    path = file.clips[source.clip_index]

    def stays(had: list[float]) -> list[float]:
        """Codes between frames that nobody changed."""
        seconds = (np.array(had) - file.first) / file.rate
        kept = keys_between(motion, source, seconds) if had else seconds
        return [code for code, at in zip(had, seconds) if at in kept]

    joints: dict[str, dict[str, Array]] = {"translations": {}, "rotations": {}}
    prims: dict[str, int] = {}
    for part, values, indices in (
        ("translations", moved, changed["translation"]),
        ("rotations", turned, changed["rotation"]),
    ):
        for j in indices:
            prim, token = file.targets[tree.nodes[j]]
            if token:
                joints[part][token] = values[:, j]
            else:
                prims[prim] = j
    if path:
        animation = UsdSkel.Animation(stage.GetPrimAtPath(path))
        _put_joints(animation, joints, codes, _rest(source), stays, is_whole=source.is_whole)
        note = frame_note(motion, has_keys_between=source.is_whole and not clip.hits_keys)
        animation.GetPrim().SetCustomDataByKey("poise", json.dumps(note))
    for prim, j in prims.items():
        if not _is_moved(moved[:, j], turned[:, j], tree.translations[j], tree.turns[j]) and not _has_channel(
            clip, tree.nodes[j]
        ):
            continue
        matrices = _row_matrices(moved[:, j], turned[:, j], scales[:, j])
        place = UsdGeom.Xformable(stage.GetPrimAtPath(prim))
        kept = [(code, place.GetLocalTransformation(code)) for code in stays(place.GetTimeSamples())]
        place.ClearXformOpOrder()
        operation = place.MakeMatrixXform()
        operation.GetAttr().Clear()
        for code, matrix in zip(_snapped(codes, []), matrices):
            operation.Set(Gf.Matrix4d(matrix.tolist()), float(code))
        for code, matrix in kept:
            operation.Set(matrix, code)
    _stretch(stage, codes)


def _stretch(stage: Any, codes: Array) -> None:
    """A stage that says where it begins and ends shows all keys."""
    if stage.HasAuthoredTimeCodeRange():
        stage.SetStartTimeCode(min(stage.GetStartTimeCode(), float(codes[0])))
        stage.SetEndTimeCode(max(stage.GetEndTimeCode(), float(codes[-1])))


def _is_moved(moved: Array, turned: Array, place: Array, turn: Array) -> bool:
    return bool(np.abs(moved - place).max() > 1e-9 or rotations.angle_between(turned, turn).max() > 1e-9)


def _has_channel(clip: Clip, node: int) -> bool:
    return any(c.node == node for c in clip.channels)


def _rest(source: GltfSource) -> dict[str, tuple[Array, Array, Array]]:
    """T, R (wxyz) and S of each joint at rest, by token."""
    tree, file = source.tree, source.file
    assert isinstance(file, UsdDocument)
    return {
        file.targets[node][1]: (tree.translations[j], tree.turns[j], tree.scales[j])
        for j, node in enumerate(tree.nodes)
        if file.targets[node][1]
    }


def _put_joints(
    animation: Any,
    joints: dict[str, dict[str, Array]],
    codes: Array,
    rest: dict[str, tuple[Array, Array, Array]],
    stays: Callable[[list[float]], list[float]],
    *,
    is_whole: bool,
) -> None:
    """New time samples of translations and rotations; joints the animation did not name are added at rest."""
    tokens = [str(t) for t in animation.GetJointsAttr().Get() or ()]
    new = [t for t in dict.fromkeys([*joints["translations"], *joints["rotations"]]) if t not in tokens]
    new = [t for t in new if _leaves_rest(t, joints, rest)]
    names = [*tokens, *new]
    place = {t: k for k, t in enumerate(names)}
    attributes = {
        "translations": animation.GetTranslationsAttr(),
        "rotations": animation.GetRotationsAttr(),
        "scales": animation.GetScalesAttr(),
    }
    for at, (part, attribute) in enumerate(attributes.items()):
        values = joints.get(part, {})
        had = attribute.GetTimeSamples()
        if not new and not any(t in place for t in values) and is_whole:
            continue
        stay = np.array(
            [_as_file(rest[t][at], part) if t in rest else np.zeros(3 + (part == "rotations")) for t in names]
        )
        kept = [] if part == "scales" else stays(had)
        times = had if part == "scales" and is_whole and had else _snapped(codes, had).tolist()
        rows = np.empty((len(times) + len(kept), *stay.shape))
        for k, code in enumerate(times + kept):
            own = attribute.Get(code if is_whole or not had else had[0])
            own = np.array(own if own is not None else (), dtype=np.float64)
            rows[k] = stay
            if len(own) == len(tokens):
                rows[k, : len(tokens)] = own
        for token, numbers in values.items():
            if token in place:
                rows[: len(times), place[token]] = _as_file(numbers, part)
        attribute.Clear()
        for k, code in enumerate(times + kept):
            attribute.Set(_array(rows[k], str(attribute.GetTypeName()) or KINDS[part]), float(code))
    if new:
        animation.GetJointsAttr().Set(Vt.TokenArray(names))


def _leaves_rest(token: str, joints: dict[str, dict[str, Array]], rest: dict[str, tuple[Array, Array, Array]]) -> bool:
    place, turn, _ = rest[token]
    moved, turned = joints["translations"].get(token, place[None]), joints["rotations"].get(token, turn[None])
    return _is_moved(moved, turned, place, turn)


def _as_file(values: Array, part: str) -> Array:
    """Numbers as a layer holds them: quaternions xyzw."""
    if part != "rotations":
        return values
    values = rotations.continuous(values) if values.ndim == 2 else values
    return values[..., [1, 2, 3, 0]]


def _snapped(codes: Array, own: list[float]) -> Array:
    """Time codes of the frames: a key's own where there is one, else whole where they are nearly."""
    found = np.where(np.abs(codes - np.round(codes)) < SAME_CODE, np.round(codes), codes)
    if own:
        keys = np.array(own)
        near = keys[np.abs(keys[None, :] - codes[:, None]).argmin(axis=1)] if len(keys) * len(codes) < 4e7 else found
        found = np.where(np.abs(near - codes) < SAME_CODE, near, found)
    return found


def _array(values: Array, kind: str) -> Any:
    if kind.startswith("quat"):
        make = {"quatf[]": Vt.QuatfArray, "quath[]": Vt.QuathArray}.get(kind, Vt.QuatfArray)
        one = {"quatf[]": Gf.Quatf, "quath[]": Gf.Quath}.get(kind, Gf.Quatf)
        return make([one(*map(float, (v[3], v[0], v[1], v[2]))) for v in values])
    if kind == "half3[]":
        return Vt.Vec3hArray([Gf.Vec3h(*map(float, v)) for v in values])
    return Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, dtype=np.float32))


def _row_matrices(moved: Array, turned: Array, scales: Array) -> Array:
    """T R S as matrices of row vectors, shape (F, 4, 4)."""
    found = np.tile(np.eye(4), (len(moved), 1, 1))
    found[:, :3, :3] = (rotations.to_matrix(turned) * scales[:, None, :]).transpose(0, 2, 1)
    found[:, 3, :3] = moved
    return found


# ------------------------------------------------------------------------------------------------- a stage of its own


def write_new(motion: Motion, path: Path, *, unit: float, up: str) -> None:
    """Write a new stage: /Figure (SkelRoot) with Skeleton, Animation and, where the motion has one, its skin.

    Args:
        motion: The motion.
        path: A .usd, .usda or .usdc file.
        unit: Meters per unit [m].
        up: Up axis, "y" or "z".
    """
    if up not in ("y", "z"):
        raise InvalidValue(f"A USD stage has y or z up, not {up!r}.")
    skeleton = motion.skeleton
    back = rotations.conjugate(door_turn(up))
    offsets, rest = skeleton.offsets / unit, skeleton.rest_rotations.copy()
    moved, turned = motion.translations / unit, motion.rotations.copy()
    offsets[0], moved[:, 0] = rotations.rotate(back, offsets[0]), rotations.rotate(back, moved[:, 0])
    rest[0], turned[:, 0] = rotations.multiply(back, rest[0]), rotations.multiply(back, turned[:, 0])
    tokens = _tokens(skeleton.names, skeleton.parents)
    with whole_file(path) as new, quietly(path), tempfile.TemporaryDirectory() as folder:
        stage = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageUpAxis(stage, up.upper())
        UsdGeom.SetStageMetersPerUnit(stage, unit)
        rate = motion.fps if motion.frame_count > 1 else 24.0
        whole = max(1.0, float(round(rate)))  # if no frame moves by it
        rate = whole if abs(rate - whole) * max(motion.duration, 0.1) < 5e-7 * whole else rate
        stage.SetTimeCodesPerSecond(rate)
        stage.SetFramesPerSecond(rate)
        codes = _snapped((motion.times - motion.times[0]) * rate, [])
        stage.SetStartTimeCode(float(codes[0]))
        stage.SetEndTimeCode(float(codes[-1]))
        root = UsdSkel.Root.Define(stage, "/Figure")
        stage.SetDefaultPrim(root.GetPrim())
        shown = UsdSkel.Skeleton.Define(stage, "/Figure/Skeleton")
        shown.CreateJointsAttr(Vt.TokenArray(tokens))
        shown.CreateJointNamesAttr(Vt.TokenArray(list(skeleton.names)))
        local = _row_matrices(offsets, rest, np.ones_like(offsets))
        shown.CreateRestTransformsAttr(_matrix_array(local))
        binds = local.copy()
        for j, p in enumerate(skeleton.parents.tolist()):
            binds[j] = local[j] if p < 0 else local[j] @ binds[p]
        document = motion.source.document if motion.source else None
        if isinstance(document, GltfSource) and document.tree.names == skeleton.names:
            binds = write_skins(stage, "/Figure", shown, document.meshes, document.joint_scales / unit, binds)
        shown.CreateBindTransformsAttr(_matrix_array(binds))
        tips = [[tokens[e.joint], (e.offset / unit).tolist()] for e in skeleton.end_sites]
        shown.GetPrim().SetCustomDataByKey("poise", json.dumps({"end_sites": tips}))
        name = _clip_name(motion)
        animation = UsdSkel.Animation.Define(stage, f"/Figure/{name}")
        animation.CreateJointsAttr(Vt.TokenArray(tokens))
        turned = np.stack([rotations.continuous(turned[:, j]) for j in range(len(tokens))], axis=1)
        places, turns = animation.CreateTranslationsAttr(), animation.CreateRotationsAttr()
        for code, place, turn in zip(codes.tolist(), moved, turned[..., [1, 2, 3, 0]]):
            places.Set(_array(place, "float3[]"), code)
            turns.Set(_array(turn, "quatf[]"), code)
        animation.CreateScalesAttr(_array(np.ones_like(offsets), "half3[]"))
        animation.GetPrim().SetCustomDataByKey("poise", json.dumps(frame_note(motion)))
        binding = UsdSkel.BindingAPI.Apply(shown.GetPrim())
        binding.CreateAnimationSourceRel().SetTargets([animation.GetPath()])
        _export(stage.GetRootLayer(), new, Path(folder) / f"made{path.suffix.lower()}")


def _matrix_array(values: Array) -> Any:
    return Vt.Matrix4dArray([Gf.Matrix4d(m.tolist()) for m in values])


def _clip_name(motion: Motion) -> str:
    source = motion.source
    name = source.clips[source.clip] if source and len(source.clips) > source.clip else "Animation"
    made = Tf.MakeValidIdentifier(name)
    return "Animation" if made == "Skeleton" else made


def _tokens(names: tuple[str, ...], parents: npt.NDArray[np.int64]) -> list[str]:
    """Joint paths of valid identifiers, each of its own."""
    found: list[str] = []
    for j, name in enumerate(names):
        above = "" if parents[j] < 0 else found[parents[j]] + "/"
        identifier = Tf.MakeValidIdentifier(name)
        token, count = above + identifier, 1
        while token in found:
            count += 1
            token = f"{above}{identifier}_{count}"
        found.append(token)
    return found
