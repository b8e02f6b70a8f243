"""glTF: real models against matrices worked out apart, scales and armatures folded in, writing back, and bad files."""

from __future__ import annotations

import base64
import copy
import json
import struct
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import poise.io
from poise.cli.describe import describe_file
from poise.cli.folder import clips_in
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Motion, Source
from poise.io import asf_amc, deepmimic, gltf, gltf_draco
from poise.io.format import ReadOptions
from poise.io.gltf_clip import sample
from poise.io.gltf_document import GltfDocument
from poise.io.gltf_mesh import SkinnedMesh, heights_of, skin_volume
from poise.io.gltf_pose import GltfSource, skeleton_tree
from poise.io.gltf_tree import GltfTree
from poise.io.gltf_write import Pack, as_figure
from poise.show.motion_scene import skins_of
from tests.clips import MOTIONS, first_cases, needs_motions

URI = "data:application/octet-stream;base64,"

CLIPS = [
    ("Fox.glb", "Survey", 83),
    ("Fox.glb", "Walk", 18),
    ("cesium_man.gltf", None, 49),
    ("greenman.glb", "0_pose", 4),
    ("greenman.glb", "1_idle", 60),
    ("greenman.glb", "2_move", 30),
    ("greenman.glb", "3_attack", 20),
]


def source_of(motion: Motion) -> Source:
    assert motion.source is not None
    return motion.source


def document_of(motion: Motion) -> GltfSource:
    assert isinstance(source_of(motion).document, GltfSource)
    return source_of(motion).document


# ------------------------------------------------------------------------------------- a second way to work it out


def matrix(translation: Any, xyzw: Any, scale: Any) -> np.ndarray:
    x, y, z, w = np.asarray(xyzw, dtype=float) / np.linalg.norm(xyzw)
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = turn * np.asarray(scale, dtype=float), translation
    return found


@cache
def other_library(path: Path, changed: int) -> Any:
    return pytest.importorskip("pygltflib").GLTF2().load(str(path))


def world_matrices(path: Path, clip: int, key: int) -> dict[str, np.ndarray]:
    """World matrix of each node at one key, by another library and plain 4 × 4 products, in the file's world."""
    file = other_library(path, path.stat().st_mtime_ns)

    def numbers(index: int) -> np.ndarray:
        accessor = file.accessors[index]
        view = file.bufferViews[accessor.bufferView]
        data = file.get_data_from_buffer_uri(file.buffers[0].uri) if file.buffers[0].uri else file.binary_blob()
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor.type]
        start = (view.byteOffset or 0) + (accessor.byteOffset or 0)
        return np.frombuffer(data, "<f4", accessor.count * width, start).reshape(-1, width)

    parts = {}
    for i, node in enumerate(file.nodes):
        parts[i] = {"translation": node.translation, "rotation": node.rotation, "scale": node.scale}
    for channel in file.animations[clip].channels:
        parts[channel.target.node][channel.target.path] = numbers(
            file.animations[clip].samplers[channel.sampler].output
        )[key]
    local = {}
    for i, node in enumerate(file.nodes):
        rest = {"translation": [0, 0, 0], "rotation": [0, 0, 0, 1], "scale": [1, 1, 1]}
        local[i] = matrix(*(rest[k] if parts[i][k] is None else parts[i][k] for k in rest))
        if node.matrix is not None:
            local[i] = np.array(node.matrix).reshape(4, 4).T
    parent = {c: i for i, node in enumerate(file.nodes) for c in node.children or []}
    found = {}
    for i, node in enumerate(file.nodes):
        world, at = local[i], i
        while at in parent:
            at = parent[at]
            world = local[at] @ world
        found[node.name or f"node {i}"] = world
    return found


def z_up(points: np.ndarray) -> np.ndarray:
    return np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)


@needs_motions
@first_cases(2, ("name", "clip", "frames"), CLIPS)
def test_every_joint_is_where_plain_matrices_put_it(name, clip, frames):
    motion = gltf.read(MOTIONS / "gltf" / name, ReadOptions(clip=clip))
    assert motion.frame_count == frames
    assert motion.fps == pytest.approx(24.0)
    assert source_of(motion).evidence["fps"].reason == "the frames are the keys"
    for key in (0, frames // 2, frames - 1):
        expected = world_matrices(MOTIONS / "gltf" / name, source_of(motion).clip, key)
        for j, joint in enumerate(motion.skeleton.names):
            size = max(1.0, float(np.abs(expected[joint][:3, 3]).max()))
            gap = np.abs(motion.world[0][key, j] - z_up(expected[joint][:3, 3])).max()
            assert gap / size < 1e-5, joint  # scales off 1 by a rounding are left out


@needs_motions
@pytest.mark.parametrize(
    ("name", "clip", "low", "high"),
    [("Fox.glb", "Walk", 0.0, 58.29), ("cesium_man.gltf", None, 0.01, 1.21), ("greenman.glb", "1_idle", 0.19, 1.86)],
)
def test_heights_of_the_manifest(name, clip, low, high):
    motion = gltf.read(MOTIONS / "gltf" / name, ReadOptions(clip=clip))
    skin = document_of(motion).file.json["skins"][0]["joints"]
    own = [j for j, n in enumerate(document_of(motion).tree.nodes) if n in skin]
    feet = [j for j in own if motion.skeleton.names[j] != "root"]  # greenman's root joint lies on the floor
    heights = motion.world[0][:, feet, 2]
    assert [heights.min(), heights.max()] == pytest.approx([low, high], abs=0.011)


@needs_motions
@pytest.mark.parametrize(("name", "height"), [("cesium_man.gltf", 1.507), ("Fox.glb", 79.0), ("greenman.glb", 2.03)])
def test_skin_follows_the_skeleton(name, height):
    """Vertices moved by joint · inverse bind stand on the floor and are as high as the model's own bounds."""
    motion = gltf.read(MOTIONS / "gltf" / name, ReadOptions(clip=0))
    places, turns = motion.world
    tree = document_of(motion).tree
    tops, bottoms = [], []
    for mesh in document_of(motion).meshes:
        assert mesh.weights.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
        assert mesh.texture is not None
        assert mesh.texture[:4] in (b"\x89PNG", b"\xff\xd8\xff\xe1", b"\xff\xd8\xff\xe0")
        assert mesh.uvs is not None
        assert mesh.indices.max() < len(mesh.positions)
        corners = np.c_[mesh.positions, np.ones(len(mesh.positions))]
        moved = np.zeros((len(corners), 3))
        for j in range(len(tree.nodes)):
            inside = corners @ mesh.inverse_binds[j].T[:, :3]
            weight = ((mesh.joints == j) * mesh.weights).sum(axis=1)
            moved += weight[:, None] * (places[0, j] + rotations.rotate(turns[0, j], inside))
        bottoms.append(moved[:, 2].min())
        tops.append(moved[:, 2].max())
    assert max(tops) - min(bottoms) == pytest.approx(height, rel=0.06)  # a head bends
    assert abs(min(bottoms)) < 0.05 * height


@needs_motions
def test_several_clips_are_listed_and_one_is_chosen():
    path = MOTIONS / "gltf" / "Fox.glb"
    with pytest.raises(FileFormatError, match=r"0 'Survey', 1 'Walk', 2 'Run'.*clip"):
        gltf.read(path, ReadOptions())
    with pytest.raises(FileFormatError, match="'Trot' is not one"):
        gltf.read(path, ReadOptions(clip="Trot"))
    for clip in ("Walk", "walk", 1, "1"):
        assert source_of(gltf.read(path, ReadOptions(clip=clip))).clip == 1
    assert source_of(gltf.read(path, ReadOptions(clip=2))).clips == ("Survey", "Walk", "Run")
    facts = gltf.describe(path, ReadOptions())
    assert facts is not None
    assert facts["clips"] == ["Survey", "Walk", "Run"]
    assert len(facts["joints"]) == 24
    assert gltf.describe(path, ReadOptions(clip=1)) is None


@needs_motions
def test_unusual_size_is_warned_of_with_its_cure():
    path = MOTIONS / "gltf" / "Fox.glb"
    large = poise.io.load(path, clip=1)
    assert "m tall in the unit of its file" in source_of(large).warnings[0]
    assert "--height" in source_of(large).warnings[0]
    assert not source_of(poise.io.load(path, clip=1, height="1m")).warnings
    small = poise.io.load(path, clip=1, unit=0.01)
    assert not source_of(small).warnings
    assert small.world[0] == pytest.approx(0.01 * large.world[0])
    assert small.skeleton.end_sites[0].offset == pytest.approx(0.01 * large.skeleton.end_sites[0].offset)


@needs_motions
def test_uneven_keys_are_sampled_evenly_from_first_to_last():
    motion = gltf.read(MOTIONS / "gltf" / "Fox.glb", ReadOptions(clip="Run"))
    assert motion.is_uniform
    assert motion.duration == pytest.approx(1.15833, abs=1e-5)
    assert "not evenly spaced" in source_of(motion).evidence["fps"].reason
    channel = document_of(motion).clip.channels[0]
    assert len(channel.times) == 25  # the file's own keys are kept
    assert channel.mode == "LINEAR"


@needs_motions
@pytest.mark.parametrize(("name", "clip"), [(n, c) for n, c, _ in CLIPS] + [("Fox.glb", "Run")])
def test_untouched_motion_is_written_byte_for_byte(tmp_path, name, clip):
    motion = gltf.read(MOTIONS / "gltf" / name, ReadOptions(clip=clip))
    gltf.write(motion, tmp_path / name)
    assert (tmp_path / name).read_bytes() == (MOTIONS / "gltf" / name).read_bytes()


@needs_motions
@first_cases(
    1, ("name", "clip"), [("Fox.glb", "Run"), ("Fox.glb", "Walk"), ("cesium_man.gltf", 0), ("greenman.glb", 2)]
)
def test_changed_joint_alone_gets_new_channels(tmp_path, name, clip):
    motion = gltf.read(MOTIONS / "gltf" / name, ReadOptions(clip=clip))
    turned, moved = motion.rotations.copy(), motion.translations.copy()
    turned[2, 4] = rotations.multiply(turned[2, 4], rotations.from_rotation_vector(np.array([0.1, 0.2, 0.3])))
    moved[:, 0, 2] += 0.25
    changed = replace(motion, rotations=turned, translations=moved)
    for out in (tmp_path / "out.glb", tmp_path / "out.gltf"):
        gltf.write(changed, out)
        again = gltf.read(out, ReadOptions(clip=clip))
        assert again.skeleton.names == motion.skeleton.names
        assert source_of(again).clips == source_of(motion).clips
        assert rotations.angle_between(again.rotations, turned).max() < 1e-6  # single precision
        assert again.translations == pytest.approx(moved, abs=1e-5, rel=1e-6)
        assert again.times == pytest.approx(motion.times, abs=1e-6)
        before, after = document_of(motion), document_of(again)
        assert [len(m.positions) for m in after.meshes] == [len(m.positions) for m in before.meshes]
        assert after.meshes[0].texture == before.meshes[0].texture
        for key in ("meshes", "skins", "materials"):
            assert len(after.file.json[key]) == len(before.file.json[key])
        if name == "greenman.glb":
            old = {(c.node, c.path): c.values for c in before.clip.channels}
            new = {(c.node, c.path): c.values for c in after.clip.channels}
            untouched = [k for k in old if k[0] not in (before.tree.nodes[4], before.tree.nodes[0])]
            assert all(np.array_equal(old[k], new[k]) for k in untouched)


@needs_motions
def test_other_clips_of_the_file_stay(tmp_path):
    path = MOTIONS / "gltf" / "Fox.glb"
    motion = gltf.read(path, ReadOptions(clip="Walk"))
    gltf.write(replace(motion, rotations=np.roll(motion.rotations, 1, axis=0)), tmp_path / "out.glb")
    kept, first = (gltf.read(p, ReadOptions(clip="Survey")) for p in (tmp_path / "out.glb", path))
    assert np.array_equal(kept.rotations, first.rotations)


@needs_motions
def test_another_library_reads_what_is_written(tmp_path):
    library = pytest.importorskip("pygltflib")
    motion = gltf.read(MOTIONS / "gltf" / "cesium_man.gltf", ReadOptions())
    gltf.write(replace(motion, rotations=motion.rotations[::-1].copy()), tmp_path / "out.glb")
    file = library.GLTF2().load(str(tmp_path / "out.glb"))
    assert len(file.animations[0].channels) > 0
    expected = world_matrices(tmp_path / "out.glb", 0, 5)
    again = gltf.read(tmp_path / "out.glb", ReadOptions())
    for j, joint in enumerate(again.skeleton.names):
        assert again.world[0][5, j] == pytest.approx(z_up(expected[joint][:3, 3]), abs=1e-5)


@needs_motions
@pytest.mark.parametrize("cut", [slice(3, 12), slice(0, 1)])
def test_cut_clip_is_written_with_the_skin(tmp_path, cut):
    motion = gltf.read(MOTIONS / "gltf" / "greenman.glb", ReadOptions(clip=2))
    part = motion.frames(np.arange(motion.frame_count)[cut])
    gltf.write(part, tmp_path / "out.glb")
    again = gltf.read(tmp_path / "out.glb", ReadOptions(clip=2))
    assert again.times == pytest.approx(part.times, abs=1e-6)
    assert again.world[0] == pytest.approx(part.world[0], abs=1e-5)
    assert document_of(again).meshes


@needs_motions
@pytest.mark.parametrize("name", ["asf_amc/02_01.amc", "deepmimic/humanoid3d_backflip.txt"])
def test_motion_from_elsewhere_becomes_a_bare_hierarchy(tmp_path, name):
    reader = asf_amc if name.endswith(".amc") else deepmimic
    motion = reader.read(MOTIONS / name, ReadOptions())
    gltf.write(motion, tmp_path / "out.glb")
    again = gltf.read(tmp_path / "out.glb", ReadOptions())
    assert again.skeleton.names == motion.skeleton.names
    assert np.array_equal(again.skeleton.parents, motion.skeleton.parents)
    assert [(e.joint, e.name) for e in again.skeleton.end_sites] == [
        (e.joint, f"{motion.skeleton.names[e.joint]} tip") for e in motion.skeleton.end_sites
    ]
    assert again.world[0] == pytest.approx(motion.world[0], abs=1e-5)
    assert again.times == pytest.approx(motion.times, abs=1e-6)


# ----------------------------------------------------------------------------------------------------- made by hand


def made(
    *,
    armature: dict[str, Any] | None = None,
    mode: str = "LINEAR",
    times: Any = (0.0, 0.5, 1.0),
    hip_scale: Any = (1.0, 1.0, 1.0),
) -> dict[str, Any]:
    """A leg of three joints under an armature; its hip swings about z, its root moves along x."""
    keys = np.array(times, dtype="<f4")
    half = 0.5 * np.interp(np.arange(len(keys)), (0, 1, 2), (0.0, 0.4, 1.0))
    turns = np.stack([0 * half, 0 * half, np.sin(half), np.cos(half)], axis=1).astype("<f4")
    moves = np.stack([np.arange(len(keys)), 0 * half, 0 * half], axis=1).astype("<f4")
    if mode == "CUBICSPLINE":
        turns = np.stack([0 * turns, turns, 0 * turns], axis=1).reshape(-1, 4)
        moves = np.stack([0 * moves + [2.0, 0, 0], moves, 0 * moves + [2.0, 0, 0]], axis=1).reshape(-1, 3).astype("<f4")
    data = [keys.tobytes(), turns.tobytes(), moves.tobytes()]
    starts = np.cumsum([0, *map(len, data)])
    return {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [
            {"name": "Armature", "children": [1], **(armature or {})},
            {"name": "root", "children": [2], "translation": [0, 100, 0]},
            {"name": "hip", "children": [3], "translation": [0, -10, 0], "scale": list(hip_scale)},
            {"name": "knee", "translation": [0, -40, 0]},
        ],
        "skins": [{"joints": [1, 2, 3]}],
        "animations": [
            {
                "name": "kick",
                "channels": [
                    {"sampler": 0, "target": {"node": 2, "path": "rotation"}},
                    {"sampler": 1, "target": {"node": 1, "path": "translation"}},
                ],
                "samplers": [
                    {"input": 0, "output": 1, "interpolation": mode},
                    {"input": 0, "output": 2, "interpolation": mode},
                ],
            }
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(keys), "type": "SCALAR"},
            {"bufferView": 1, "componentType": 5126, "count": len(turns), "type": "VEC4"},
            {"bufferView": 2, "componentType": 5126, "count": len(moves), "type": "VEC3"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": int(s), "byteLength": len(d)} for s, d in zip(starts, data, strict=False)
        ],
        "buffers": [
            {
                "byteLength": int(starts[-1]),
                "uri": "data:application/octet-stream;base64," + base64.b64encode(b"".join(data)).decode(),
            }
        ],
    }


def saved(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "leg.gltf"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_armature_with_scale_and_turn_is_folded_into_the_root(tmp_path):
    turn = [float(np.sin(np.pi / 4)), 0.0, 0.0, float(np.cos(np.pi / 4))]
    path = saved(tmp_path, made(armature={"scale": [0.01] * 3, "rotation": turn, "translation": [1, 2, 3]}))
    motion = gltf.read(path, ReadOptions())
    # file: +90° about x brings y to z; the armature's place is in metres, what hangs on it in hundredths
    in_file = np.array([1 + 0.0, 2 + 0.0, 3 + 0.0])
    assert motion.skeleton.names == ("root", "hip", "knee")
    assert motion.world[0][0, 0] == pytest.approx(z_up(in_file), abs=1e-6)
    assert motion.skeleton.offsets[2] == pytest.approx([0.0, -0.4, 0.0])
    assert source_of(motion).evidence["folded"].value == ["Armature"]
    lift = np.array([0.0, 0.0, 0.5])
    gltf.write(replace(motion, translations=motion.translations + lift), tmp_path / "out.glb")
    again = gltf.read(tmp_path / "out.glb", ReadOptions())
    assert again.translations == pytest.approx(motion.translations + lift, abs=1e-6)


def test_uniform_scale_of_a_joint_is_folded_and_an_uneven_one_is_told(tmp_path):
    even = gltf.read(saved(tmp_path, made(hip_scale=(2, 2, 2))), ReadOptions(unit=0.01))
    assert even.skeleton.offsets[2] == pytest.approx([0.0, -0.8, 0.0])
    assert not any("uneven" in w for w in source_of(even).warnings)
    uneven = gltf.read(saved(tmp_path, made(hip_scale=(1, 3, 1))), ReadOptions(unit=0.01))
    assert uneven.skeleton.offsets[2] == pytest.approx([0.0, -1.2, 0.0])
    assert any("unevenly: hip" in w for w in source_of(uneven).warnings)
    with pytest.raises(FileFormatError, match="mirrored"):
        gltf.read(saved(tmp_path, made(hip_scale=(-1, 1, 1))), ReadOptions())
    above = gltf.read(saved(tmp_path, made(armature={"scale": [1, 1.1, 0.9]})), ReadOptions(unit=0.01))
    assert any("unevenly: Armature" in w for w in source_of(above).warnings)
    assert above.skeleton.offsets[2] == pytest.approx([0.0, -0.4, 0.0])
    with pytest.raises(FileFormatError, match=r"Armature.*unevenly"):
        gltf.read(saved(tmp_path, made(armature={"scale": [1, 2, 1]})), ReadOptions())


def moved_by(place: Any) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, 3] = place
    return matrix


def motion_in_file(frame: int, motion: Any) -> np.ndarray:
    """The hip's turn in the file at a frame of `made`: keys at 0, 0.5 and 1 s turn it by 0, 0.4 and 1 rad about z."""
    angle = np.interp(motion.times[frame], [0.0, 0.5, 1.0], [0.0, 0.4, 1.0])
    return rotations.from_rotation_vector(np.array([0.0, 0.0, angle]))


def in_scene(nodes: list[np.ndarray]) -> np.ndarray:
    """Places (J, 3) of a chain of nodes in the scene, from their matrices, outermost first."""
    places, above = [], np.eye(4)
    for matrix in nodes:
        above = above @ matrix
        places.append(above[:3, 3])
    return np.array(places)


@pytest.mark.parametrize(
    "above",
    [
        {"scale": [-1, 1, 1]},
        {"scale": [2, 2, -2], "rotation": [0.0, 0.6, 0.0, 0.8], "translation": [3, 4, 5]},
        {"scale": [-1, 1, -1], "rotation": [0.6, 0.0, 0.0, 0.8]},
        {"matrix": [0, -1, 0, 0, -1, 0, 0, 0, 0, 0, -1, 0, 7, 8, 9, 1]},
    ],
)
def test_nodes_that_mirror_the_whole_figure_are_read_and_written(tmp_path, above):
    """Places agree with the matrices of the standard, and what is written has them again; twice mirrored, too."""
    scene = made(armature=above)
    matrix = np.eye(4)
    if "matrix" in above:
        matrix = np.array(above["matrix"], dtype=float).reshape(4, 4).T
    else:
        turn = np.array(above.get("rotation", [0, 0, 0, 1]), dtype=float)[[3, 0, 1, 2]]
        matrix[:3, :3] = rotations.to_matrix(turn) * above["scale"]
        matrix[:3, 3] = above.get("translation", [0, 0, 0])
    for outer in (np.eye(4), np.diag([1.0, -1.0, 1.0, 1.0])):
        content = copy.deepcopy(scene)
        if outer[1, 1] < 0.0:
            content["nodes"].append({"name": "outer", "children": [0], "scale": [1, -1, 1]})
            content["scenes"][0]["nodes"] = [4]
        motion = gltf.read(saved(tmp_path, content), ReadOptions(unit=1.0, up="z"))
        for frame in (0, motion.frame_count // 2):
            swing = np.eye(4)
            swing[:3, :3] = rotations.to_matrix(motion_in_file(frame, motion))
            chain = [outer @ matrix, moved_by([frame * 2.0 / (motion.frame_count - 1), 0, 0])]
            chain += [moved_by([0, -10, 0]) @ swing, moved_by([0, -40, 0])]
            np.testing.assert_allclose(motion.world[0][frame], in_scene(chain)[1:], atol=1e-4)
        lift = np.array([0.0, 0.0, 0.5])
        lifted = motion.translations + np.array([lift, 0 * lift, 0 * lift])
        gltf.write(replace(motion, translations=lifted), tmp_path / "o.glb")
        again = gltf.read(tmp_path / "o.glb", ReadOptions(unit=1.0, up="z"))
        np.testing.assert_allclose(again.world[0], motion.world[0] + lift, atol=1e-4)


@needs_motions
def test_the_skin_below_a_mirror_is_mirrored_with_its_front_outside():
    def skinned(document: GltfDocument) -> tuple[np.ndarray, float]:
        source = replace(plain_source, file=document, tree=skeleton_tree(document))
        motion_of = gltf.figure_skeleton(document, source.tree, ReadOptions(unit=1.0, up="z"))
        places, turns = motion_of.rest
        mesh = source.meshes[0]
        volume, vertices = 0.0, np.zeros((len(mesh.positions), 3))
        ahead = np.concatenate([mesh.positions, np.ones((len(mesh.positions), 1))], axis=1)
        for k in range(mesh.joints.shape[1]):
            bind = np.einsum("vij,vj->vi", mesh.inverse_binds[mesh.joints[:, k]], ahead)[:, :3]
            own = source.joint_scales[mesh.joints[:, k], None]
            at = places[mesh.joints[:, k]] + rotations.rotate(turns[mesh.joints[:, k]], own * bind)
            vertices += mesh.weights[:, k, None] * at
        a, b, c = (vertices[mesh.indices[:, k]] for k in range(3))
        volume = float(np.sum(a * np.cross(b, c))) / 6.0
        return vertices, volume

    plain_source = document_of(poise.load(MOTIONS / "gltf" / "cesium_man.gltf"))
    plain, volume = skinned(plain_source.file)
    content = copy.deepcopy(plain_source.file.json)
    (top,) = content["scenes"][0]["nodes"]
    content["nodes"].append({"name": "mirror", "children": [top], "scale": [1, -1, 1]})
    content["scenes"][0]["nodes"] = [len(content["nodes"]) - 1]
    seen, same = skinned(replace(plain_source.file, json=content))
    np.testing.assert_allclose(seen, plain * [1.0, -1.0, 1.0], atol=1e-5)
    assert same == pytest.approx(volume, rel=1e-4)
    assert volume > 0.0


@pytest.mark.parametrize(
    ("mode", "angle", "place"),
    [
        ("LINEAR", 0.2, 0.5),
        ("STEP", 0.0, 0.0),
        # Hermite halfway: value (0 + 1) / 2 + (2 - 2) · 0.5 / 8; the turn is the normalized mean of two quaternions
        ("CUBICSPLINE", 0.2, 0.5),
    ],
)
def test_interpolation_between_keys(tmp_path, mode, angle, place):
    content = made(mode=mode, times=(0.0, 0.5, 1.0))
    content["nodes"].append({"name": "other"})
    path = saved(tmp_path, content)
    document = document_of(gltf.read(path, ReadOptions()))
    turn, move = document.clip.channels
    halfway = np.array([0.0, 0.25, 0.5])
    assert rotations.to_rotation_vector(sample(turn, halfway))[:, 2] == pytest.approx([0.0, angle, 0.4], abs=1e-6)
    assert sample(move, halfway)[:, 0] == pytest.approx([0.0, place, 1.0])
    assert (turn.mode, move.mode) == (mode, mode)


def test_turns_take_the_short_way_whatever_sign_a_key_has(tmp_path):
    content = made()
    data = bytearray(base64.b64decode(content["buffers"][0]["uri"].split(",")[1]))
    data[28:44] = (-np.frombuffer(bytes(data[28:44]), "<f4")).tobytes()  # the second key's quaternion
    content["buffers"][0]["uri"] = URI + base64.b64encode(bytes(data)).decode()
    turn = document_of(gltf.read(saved(tmp_path, content), ReadOptions())).clip.channels[0]
    halfway = rotations.to_rotation_vector(sample(turn, np.array([0.0, 0.25, 0.5])))
    assert halfway[:, 2] == pytest.approx([0.0, 0.2, 0.4], abs=1e-6)


def test_interleaved_data_in_a_second_buffer(tmp_path):
    content = made()
    expected = gltf.read(saved(tmp_path, content), ReadOptions())
    data = base64.b64decode(content["buffers"][0]["uri"].split(",")[1])
    turns, moves = np.frombuffer(data, "<f4", 12, 12).reshape(3, 4), np.frombuffer(data, "<f4", 9, 60).reshape(3, 3)
    mixed = np.c_[turns, moves].astype("<f4").tobytes()
    content["buffers"] = [
        {"byteLength": 12, "uri": URI + base64.b64encode(data[:12]).decode()},
        {"byteLength": len(mixed), "uri": URI + base64.b64encode(mixed).decode()},
    ]
    content["bufferViews"] = [
        {"buffer": 0, "byteLength": 12},
        {"buffer": 1, "byteLength": len(mixed), "byteStride": 28},
    ]
    content["accessors"][1]["bufferView"] = 1
    content["accessors"][2] |= {"bufferView": 1, "byteOffset": 16}
    motion = gltf.read(saved(tmp_path, content), ReadOptions())
    assert np.array_equal(motion.rotations, expected.rotations)
    assert np.array_equal(motion.translations, expected.translations)
    gltf.write(motion, tmp_path / "out.glb")  # both buffers become one
    again = gltf.read(tmp_path / "out.glb", ReadOptions())
    assert np.array_equal(again.rotations, expected.rotations)


def test_cubic_tangents_are_scaled_by_the_gap(tmp_path):
    document = document_of(gltf.read(saved(tmp_path, made(mode="CUBICSPLINE")), ReadOptions()))
    u = 0.25  # a straight line of slope 2 per second through keys 1 apart every half second
    assert sample(document.clip.channels[1], np.array([0.0, 0.5 * u, 0.5]))[1, 0] == pytest.approx(u)


@pytest.mark.parametrize(("times", "fps", "said"), [
    ((0, 5, 10, 20, 30, 45, 65, 75, 85, 95), 24.0, "lie on this grid"),  # most gaps are two frames
    ((0, 5, 10, 15, 20, 24, 25, 30, 35, 40, 45), 24.0, "91 % of the keys"),  # one channel has a rate of its own
    ((0, 1.3, 3.7, 8.21, 10.9, 13.37, 21.7, 22.91, 24), 30.0, "not evenly"),
])  # fmt: skip
def test_frames_lie_where_most_keys_do(tmp_path, times, fps, said):
    keys = np.array(times) / (120.0 if fps == 24.0 else 37.0)
    motion = gltf.read(saved(tmp_path, made(times=tuple(keys))), ReadOptions())
    assert motion.fps == pytest.approx(fps, rel=0.05)
    assert said in source_of(motion).evidence["fps"].reason
    assert motion.duration == pytest.approx(keys[-1], abs=1e-5)


def test_keys_of_several_rates_share_a_grid(tmp_path):
    content = made(times=(0.0, 0.25, 1.0))
    motion = gltf.read(saved(tmp_path, content), ReadOptions())
    assert motion.times[0] == 0.0
    assert motion.times[-1] == pytest.approx(1.0)
    content = made(times=(0.5, 1.0, 1.5))
    motion = gltf.read(saved(tmp_path, content), ReadOptions())
    assert motion.times[::15] == pytest.approx([0.0, 0.5, 1.0])
    assert source_of(motion).evidence["start"].value == pytest.approx(0.5)
    assert gltf.read(saved(tmp_path, content), ReadOptions(fps=10.0)).times == pytest.approx([0.0, 0.1, 0.2])


def test_data_beside_the_file_is_read_and_taken_in(tmp_path):
    content = made()
    data = base64.b64decode(content["buffers"][0]["uri"].split(",")[1])
    (tmp_path / "leg data.bin").write_bytes(data)
    content["buffers"][0]["uri"] = "leg%20data.bin"
    motion = gltf.read(saved(tmp_path, content), ReadOptions())
    assert motion.frame_count == 31
    (tmp_path / "out").mkdir()
    gltf.write(motion, tmp_path / "out" / "leg.gltf")
    assert gltf.read(tmp_path / "out" / "leg.gltf", ReadOptions()).rotations == pytest.approx(motion.rotations)


def test_skeleton_without_animation(tmp_path):
    content = made()
    del content["animations"]
    path = saved(tmp_path, content)
    with pytest.raises(FileFormatError, match=r"no animation.*load_skeleton"):
        gltf.read(path, ReadOptions())
    assert gltf.read_skeleton(path, ReadOptions()).names == ("root", "hip", "knee")


def test_motion_with_other_joints_is_refused(tmp_path):
    motion = gltf.read(saved(tmp_path, made()), ReadOptions())
    other = replace(motion, skeleton=replace(motion.skeleton, names=("a", "b", "c")))
    with pytest.raises(InvalidValue, match="joints"):
        gltf.write(other, tmp_path / "out.glb")


# -------------------------------------------------------------------------------------------------------- bad files


def changed(*path: Any, to: Any) -> dict[str, Any]:
    content = copy.deepcopy(made())
    place: Any = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return content


NAN = base64.b64encode(struct.pack("<3f", 0.0, float("nan"), 1.0) + bytes(84)).decode()
FALLING = base64.b64encode(struct.pack("<3f", 0.0, 1.0, 0.5) + bytes(84)).decode()

SPOILED: list[tuple[Any, str]] = [
    ("", "empty"),
    ("{", "not JSON"),
    ("[1]", "not an object"),
    ("\x00\x01\x02", "not JSON"),
    ("[" * 200_000, "nested"),
    ('{"asset": {"version": "2.0"}, "nodes": [], "nodes": []}', "appears twice"),
    ("[" + "[]," * 3_000_000 + "]", "at most"),
    ('{"asset": {"version": "2.0"}, "a": NaN}', "NaN"),
    ('{"asset": {"version": "2.0"}, "a": 1' + "0" * 6000 + "}", "not usable|no skeleton"),
    ({"asset": {"version": "1.0"}}, "version '1.0'"),
    ({"asset": {"version": "2.0"}}, "no skeleton"),
    ({"nodes": []}, "version None"),
    (changed("nodes", to=7), "'nodes' is not a list"),
    (changed("nodes", to=[1, 2]), "'nodes' is not a list"),
    (changed("nodes", 3, to={"name": "knee", "children": [1]}), "two parents"),
    (changed("nodes", 3, "children", to=[9]), "child 9"),
    (changed("nodes", 3, "children", to="a"), "is not a list"),
    (changed("nodes", 3, "translation", to=[1, 2]), "3 numbers"),
    (changed("nodes", 3, "translation", to=[1, 2, 1e300]), "sensible size"),
    (changed("nodes", 3, "rotation", to=[0, 0, 0, 0]), "length 0"),
    (changed("nodes", 3, "matrix", to=[0] * 16), "flat"),
    (changed("nodes", 2, "scale", to=[-1, 1, 1]), "mirrored"),
    (changed("nodes", 3, "matrix", to=[1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]), "shears"),
    (changed("skins", 0, "joints", to=[1, 2, 77]), "nodes 77"),
    (changed("skins", 0, "joints", to=[]), "no joints"),
    (changed("animations", 0, "channels", to=[]), "no channels"),
    (changed("animations", 0, "channels", 0, "sampler", to=5), "sampler 5"),
    (changed("animations", 0, "channels", 0, "target", to={"node": 44, "path": "rotation"}), "node 44"),
    (changed("animations", 0, "channels", 1, "target", to={"node": 2, "path": "rotation"}), "values of 3|twice"),
    (changed("animations", 0, "samplers", 0, "interpolation", to="MAGIC"), "MAGIC"),
    (changed("animations", 0, "samplers", 0, "output", to=2), "4 belong|of 4"),
    (changed("accessors", 1, "count", to=4), "claims 4 elements"),
    (changed("accessors", 1, "count", to=10**12), "claims 1000000000000 elements"),
    (changed("accessors", 1, "count", to=0), "count 0"),
    (changed("accessors", 1, "count", to=-3), "count -3"),
    (changed("accessors", 1, "count", to=2.5), "count is 2.5"),
    (changed("accessors", 1, to={"componentType": 5126, "count": 10**9, "type": "VEC4"}), "names no data"),
    (changed("accessors", 1, "type", to="VEC9"), "VEC9"),
    (changed("accessors", 1, "bufferView", to=12), "bufferViews 12"),
    (changed("accessors", 1, "byteOffset", to=-4), "offset -4"),
    (changed("bufferViews", 1, "byteOffset", to=10**6), "ends at byte"),
    (changed("bufferViews", 1, "byteLength", to=10**9), "ends at byte"),
    (changed("bufferViews", 1, "buffer", to=3), "buffer 3"),
    (changed("buffers", 0, "byteLength", to=10**12), "at most"),
    (changed("buffers", 0, "byteLength", to=1000), "claims 1000 bytes and has 96"),
    (changed("buffers", 0, to={"byteLength": 96}), "names no data"),
    (changed("buffers", 0, "uri", to="missing.bin"), "not there"),
    (changed("buffers", 0, "uri", to="../secret.bin"), "outside its own folder"),
    (changed("buffers", 0, "uri", to="%2e%2e/secret.bin"), "outside its own folder"),
    (changed("buffers", 0, "uri", to="/etc/passwd"), "outside its own folder"),
    (changed("buffers", 0, "uri", to="https://example.com/a.bin"), "outside its own folder"),
    (changed("buffers", 0, "uri", to="file:///etc/passwd"), "outside its own folder"),
    (changed("buffers", 0, "uri", to=URI + "@@@"), "damaged"),
    (changed("buffers", 0, "uri", to="data:text/plain,hello"), "not base64"),
    (changed("buffers", 0, "uri", to=URI + NAN), "not finite"),
    (changed("buffers", 0, "uri", to=URI + FALLING), "do not rise"),
    (
        changed("buffers", 0, "uri", to=URI + base64.b64encode(struct.pack("<3f", 0, 0.5, 1) + bytes(84)).decode()),
        "quaternion",
    ),
    (made(times=(0.0, 3.7e5, 1e6)), "Its key times are wrong"),
]


@pytest.mark.parametrize(("content", "problem"), SPOILED)
def test_spoiled_file_is_refused(tmp_path, content, problem):
    path = saved(tmp_path, content)
    began = time.process_time()
    with pytest.raises(FileFormatError, match=problem) as caught:
        gltf.read(path, ReadOptions())
    assert time.process_time() - began < 2.0  # the promise to every malformed file
    assert caught.value.cure


def test_circle_of_nodes_ends(tmp_path):
    content = made()
    content["nodes"] += [{"children": [5]}, {"children": [4]}]
    with pytest.raises(FileFormatError, match="circle"):
        gltf.read(saved(tmp_path, content), ReadOptions())


def test_endless_chain_ends(tmp_path):
    content = made()
    content["nodes"] = [{"children": [i + 1]} for i in range(50_000)] + [{}]
    content["skins"] = [{"joints": list(range(50_000))}]
    with pytest.raises(FileFormatError, match="ancestors"):
        gltf.read(saved(tmp_path, content), ReadOptions())


def test_keys_too_close_for_the_frames_are_told(tmp_path):
    motion = gltf.read(saved(tmp_path, made(times=(0.0, 1e-6, 1.0))), ReadOptions())
    assert "so close to another" in source_of(motion).evidence["fps"].reason


def test_the_largest_of_several_skeletons_is_read_and_the_others_are_told(tmp_path):
    content = made()
    first = len(content["nodes"])
    content["nodes"] += [{"name": f"tail{n}", "children": [first + n + 1]} for n in range(3)] + [{"name": "tail3"}]
    content["nodes"] += [{"name": "flower"}]
    content["nodes"][3]["children"] = [first]
    content["skins"] = [{"joints": [1, 2, 3, *range(first, first + 4)]}, {"joints": [first + 4]}]
    content["animations"].append(
        {"name": "sway", "channels": [{"sampler": 0, "target": {"node": first + 4, "path": "rotation"}}],
         "samplers": content["animations"][0]["samplers"]}
    )  # fmt: skip
    motion = gltf.read(saved(tmp_path, content), ReadOptions())  # "sway" moves none of it
    assert motion.skeleton.names[-1] == "tail3"
    assert any("'flower'" in warning for warning in source_of(motion).warnings)
    facts = gltf.describe(saved(tmp_path, content), ReadOptions())
    assert facts is not None
    assert facts["clips"] == ["kick"]


def test_copies_of_a_skeleton_count_as_one(tmp_path):
    content = made()
    content["nodes"].append({"name": "ankle", "translation": [0, -40, 0]})
    content["nodes"][3]["children"] = [4]
    count = len(content["nodes"])
    copies = [dict(node) for node in content["nodes"]]
    for node in copies:
        if "children" in node:
            node["children"] = [child + count for child in node["children"]]
    content["nodes"] += copies
    content["skins"] = [{"joints": [1, 2, 3, 4]}, {"joints": [1 + count, 2 + count, 3 + count, 4 + count]}]
    assert gltf.read(saved(tmp_path, content), ReadOptions()).skeleton.names == ("root", "hip", "knee", "ankle")


def test_two_skeletons_apart_are_named(tmp_path):
    content = made()
    content["nodes"][0] = {"name": "Armature"}
    content["skins"].append({"joints": [0]})
    with pytest.raises(FileFormatError, match="2 skeletons apart: Armature, root"):
        gltf.read(saved(tmp_path, content), ReadOptions())


@needs_motions
@pytest.mark.parametrize("keep", [0, 3, 11, 19, 500, 100_000, 162_000])
def test_cut_glb_is_refused(tmp_path, keep):
    (tmp_path / "fox.glb").write_bytes((MOTIONS / "gltf" / "Fox.glb").read_bytes()[:keep])
    with pytest.raises(FileFormatError) as caught:
        gltf.read(tmp_path / "fox.glb", ReadOptions(clip=0))
    assert caught.value.cure


@needs_motions
def test_no_flipped_byte_of_the_json_crashes(tmp_path):
    """Damage anywhere in the JSON gives a motion or one FileFormatError, never another exception."""
    data = (MOTIONS / "gltf" / "Fox.glb").read_bytes()
    draw = np.random.default_rng(5)
    for place in draw.integers(20, 16000, size=60):
        spoiled = bytearray(data)
        spoiled[place] = int(draw.integers(32, 127))
        (tmp_path / "fox.glb").write_bytes(spoiled)
        try:
            gltf.read(tmp_path / "fox.glb", ReadOptions(clip=0))
        except FileFormatError:
            continue


def parts_of_a_figure() -> dict[str, Any]:
    """A body and two legs as separate meshes on moving nodes, without a skin."""
    content = made()
    corners = np.array([[-1, 0, 0], [1, 0, 0], [0, -30, 1]], dtype="<f4").tobytes()
    uri = content["buffers"][0]["uri"]
    data = base64.b64decode(uri.split(",", 1)[1])
    content["buffers"] = [
        {
            "byteLength": len(data) + len(corners),
            "uri": "data:application/octet-stream;base64," + base64.b64encode(data + corners).decode(),
        }
    ]
    content["bufferViews"].append({"buffer": 0, "byteOffset": len(data), "byteLength": len(corners)})
    content["accessors"].append({"bufferView": 3, "componentType": 5126, "count": 3, "type": "VEC3"})
    content["meshes"] = [{"name": "part", "primitives": [{"attributes": {"POSITION": 3}}]}]
    del content["skins"]
    for node in content["nodes"][1:]:
        node["mesh"] = 0
    for node in (2, 3):
        content["animations"][0]["channels"].append({"sampler": 0, "target": {"node": node, "path": "rotation"}})
    content["animations"][0]["channels"] = content["animations"][0]["channels"][1:]
    return content


def test_moving_parts_without_a_skin_are_joints_and_are_drawn(tmp_path):
    motion = poise.load(saved(tmp_path, parts_of_a_figure()))
    assert motion.skeleton.names == ("root", "hip", "knee")
    meshes = document_of(motion).meshes
    assert sorted(int(mesh.joints[0, 0]) for mesh in meshes) == [0, 1, 2]
    assert all((mesh.weights == 1.0).all() for mesh in meshes)
    for skin in skins_of(motion):  # the page reads four joints a vertex
        assert skin.joints.shape == skin.weights.shape == (3, 4)
        np.testing.assert_allclose(skin.weights, [[1.0, 0.0, 0.0, 0.0]] * 3)
    tip = next(site for site in motion.skeleton.end_sites if site.joint == 2)
    assert np.linalg.norm(tip.offset) == pytest.approx(30.0, rel=0.01)  # where the part ends
    assert motion.skeleton.skin is not None
    np.testing.assert_allclose(motion.skeleton.skin, 3.0)


def test_a_node_that_only_places_a_mesh_is_part_of_the_bone_above(tmp_path):
    content = parts_of_a_figure()
    nodes = content["nodes"]
    for node in nodes[1:]:
        del node["mesh"]
        nodes += [
            {"name": "cube", "children": [len(nodes) + 1], "translation": [0, -3, 0]},
            {"name": "object", "mesh": 0},
        ]
        node.setdefault("children", []).append(len(nodes) - 2)
    motion = poise.load(saved(tmp_path, content))
    assert motion.skeleton.names == ("root", "hip", "knee")
    assert sorted(int(mesh.joints[0, 0]) for mesh in document_of(motion).meshes) == [0, 1, 2]


def test_nodes_left_in_one_place_have_the_bones_of_the_clip(tmp_path):
    content = made()
    for node in content["nodes"]:
        node.pop("translation", None)
    places = np.array([[0, -40, 0], [0.1, -40, 0], [0, -40, 0]], dtype="<f4").tobytes()
    add_channels(content, places, nodes=(2, 3))
    motion = poise.load(saved(tmp_path, content))
    np.testing.assert_allclose(np.linalg.norm(motion.skeleton.offsets[1:], axis=1), [40.0, 40.0], rtol=1e-3)


def add_channels(content: dict[str, Any], keys: bytes, nodes: tuple[int, ...]) -> None:
    """Translation channels of the same three keys for some nodes."""
    data = base64.b64decode(content["buffers"][0]["uri"].split(",", 1)[1])
    uri = "data:application/octet-stream;base64," + base64.b64encode(data + keys).decode()
    content["buffers"] = [{"byteLength": len(data) + len(keys), "uri": uri}]
    content["bufferViews"].append({"buffer": 0, "byteOffset": len(data), "byteLength": len(keys)})
    content["accessors"].append(
        {"bufferView": len(content["bufferViews"]) - 1, "componentType": 5126, "count": 3, "type": "VEC3"}
    )
    animation = content["animations"][0]
    animation["samplers"].append({"input": 0, "output": len(content["accessors"]) - 1, "interpolation": "LINEAR"})
    for node in nodes:
        target = {"node": node, "path": "translation"}
        animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": target})


def test_a_weight_that_is_no_number_moves_no_vertex(tmp_path):
    content = parts_of_a_figure()
    weights = np.array([[1, 0, 0, 0], [np.nan, 0, 0, 0], [0.5, 0.5, 0, 0]], dtype="<f4").tobytes()
    joints = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 2, 0, 0]], dtype="u1").tobytes()
    data = base64.b64decode(content["buffers"][0]["uri"].split(",", 1)[1])
    for part in (weights, joints):
        content["bufferViews"].append({"buffer": 0, "byteOffset": len(data), "byteLength": len(part)})
        data += part
    content["buffers"] = [
        {"byteLength": len(data), "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}
    ]
    content["accessors"] += [
        {"bufferView": 4, "componentType": 5126, "count": 3, "type": "VEC4"},
        {"bufferView": 5, "componentType": 5121, "count": 3, "type": "VEC4"},
    ]
    content["meshes"][0]["primitives"][0]["attributes"] |= {"WEIGHTS_0": 4, "JOINTS_0": 5}
    content["skins"] = [{"joints": [1, 2, 3]}]
    for node in content["nodes"][1:]:
        node.pop("mesh")
    content["nodes"][0] |= {"mesh": 0, "skin": 0}
    motion = poise.load(saved(tmp_path, content))
    (mesh,) = document_of(motion).meshes
    np.testing.assert_allclose(mesh.weights.sum(axis=1), [1.0, 0.0, 1.0])


def test_a_last_joint_may_vanish_and_one_that_carries_others_may_not(tmp_path):
    content = made()
    content["nodes"][3]["scale"] = [0.0, 0.0, 0.0]
    assert poise.load(saved(tmp_path, content)).frame_count > 1
    content["nodes"][2]["scale"] = [0.0, 0.0, 0.0]
    with pytest.raises(FileFormatError, match="'hip' is mirrored or scaled to nothing"):
        poise.load(saved(tmp_path, content))


def test_info_says_why_a_clip_cannot_be_used(tmp_path):
    content = made()
    content["animations"][0]["channels"][1]["target"] = {"node": 2, "path": "scale"}  # down to nothing
    found = describe_file(saved(tmp_path, content), ReadOptions())
    assert found["joints"] == ["root", "hip", "knee"]
    assert any("cannot be used: Joint 'hip' is mirrored or scaled to nothing" in w for w in found["warnings"])
    content = made()  # of several clips, the one that is wrong, not that one has to be chosen
    content["animations"].append({**content["animations"][0], "name": "again"})
    content["animations"][1]["channels"] = 2 * content["animations"][0]["channels"]
    found = describe_file(saved(tmp_path, content), ReadOptions())
    assert any("cannot be used: Clip 'again' states the" in w and "twice" in w for w in found["warnings"])
    assert found["clips"] == ["kick", "again"]
    assert found["frames"][0] > 1
    assert found["frames"][1] == 0
    assert any("holds 2 clips" in w for w in found["warnings"])


def test_a_folder_takes_the_clips_beside_a_damaged_one(tmp_path):
    content = made()
    content["animations"] += [{**content["animations"][0], "name": name} for name in ("again", "third")]
    content["animations"][1]["channels"] = 2 * content["animations"][0]["channels"]
    assert clips_in(saved(tmp_path, content), {"clip": None}) == ("kick", "again", "third")


def test_sparse_keys_are_sampled_at_a_multiple_of_their_rate(tmp_path):
    sparse = poise.load(saved(tmp_path, made(times=(0.0, 0.5, 1.0))))
    assert sparse.fps == pytest.approx(30.0)
    assert sparse.frame_count == 31
    assert sparse.source is not None
    assert "sparse" in sparse.source.evidence["fps"].reason
    # the keys themselves are frames: the root has moved by one unit at each
    np.testing.assert_allclose(np.ptp(sparse.translations[[0, 15, 30], 0], axis=0).max(), 2.0, atol=1e-6)


def test_bones_that_a_clip_does_not_move_belong_to_the_figure(tmp_path):
    content = made()
    del content["skins"]  # the clip moves root and hip; the knee follows
    assert poise.load(saved(tmp_path, content)).skeleton.names == ("root", "hip", "knee")


def test_bones_beside_the_skin_of_a_part_belong_to_the_figure(tmp_path):
    content = made()
    content["skins"][0]["joints"] = [1]
    assert poise.load(saved(tmp_path, content)).skeleton.names == ("root", "hip")


def test_expressions_and_a_look_target_beside_a_figure_are_no_joints(tmp_path):
    content = made()
    del content["skins"]
    content["nodes"] += [{"name": "happy"}, {"name": "lookAt", "translation": [0, 1.5, 5]}]
    content["scenes"] = [{"nodes": [0, 4, 5]}]
    for node in (4, 5):
        content["animations"][0]["channels"].append({"sampler": 1, "target": {"node": node, "path": "translation"}})
    assert set(poise.load(saved(tmp_path, content)).skeleton.names) == {"root", "hip", "knee"}


def test_bones_that_a_vrm_animation_names_belong_to_the_figure(tmp_path):
    content = made()
    del content["skins"]
    content["nodes"][2]["children"].append(4)
    content["nodes"] += [{"name": "spine", "translation": [0, 30, 0]}]
    content["nodes"][1]["children"] = [2, 5]
    content["nodes"] += [{"name": "chest", "translation": [0, 50, 0]}]
    content["animations"][0]["channels"] = content["animations"][0]["channels"][:1]  # the hip alone
    assert set(poise.load(saved(tmp_path, content)).skeleton.names) == {"hip", "knee", "spine"}
    bones = {"hips": {"node": 1}, "chest": {"node": 5}, "spine": {"node": 99}, "head": None}
    content["extensions"] = {"VRMC_vrm_animation": {"humanoid": {"humanBones": bones}}}
    assert set(poise.load(saved(tmp_path, content)).skeleton.names) == {"root", "hip", "knee", "spine", "chest"}


@pytest.mark.parametrize("used", ["VRM", "VRMC_vrm", "KHR_materials_unlit"])
def test_a_vrm_says_that_it_is_one(tmp_path, used):
    source = poise.load(saved(tmp_path, made() | {"extensionsUsed": [used]})).source
    assert source is not None
    assert source.dialect.startswith("VRM, glTF 2.0") == used.startswith("VRM")


def test_a_skin_encloses_its_pieces_whichever_way_they_are_turned():
    corners = np.array([[x, y, z] for x in (0, 2) for y in (0, 3) for z in (0, 4)], dtype=np.float32)
    faces = ConvexHull(corners)
    outward = [
        s if np.cross(*(corners[s[1:]] - corners[s[0]])) @ n[:3] > 0 else s[::-1]
        for s, n in zip(faces.simplices, faces.equations)
    ]
    split = corners[np.array(outward)].reshape(-1, 3)  # every triangle has corners of its own
    joints, weights = np.zeros((len(split), 1), dtype=np.int64), np.ones((len(split), 1), dtype=np.float32)
    half = np.diag([0.5, 0.5, 0.5, 1.0])[None]
    triangles = np.arange(len(split)).reshape(-1, 3)
    box = SkinnedMesh("box", split, triangles, joints, weights, half)
    inside_out = SkinnedMesh("box", split + 9.0, triangles[:, ::-1].copy(), joints, weights, half)
    assert skin_volume((box, inside_out), np.array([10.0])) == pytest.approx(2 * 24.0 * 0.125 * 1000.0, rel=1e-4)
    assert skin_volume((), np.array([10.0])) is None


def test_the_lowest_and_highest_points_of_a_skin_follow_its_joints() -> None:
    corners = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], dtype=np.float32)
    joints, weights = np.array([[0, 1]] * 3), np.array([[1, 0], [0.5, 0.5], [0, 1]], dtype=np.float32)
    mesh = SkinnedMesh("leaf", corners, np.array([[0, 1, 2]]), joints, weights, np.tile(np.eye(4), (2, 1, 1)))
    down = np.array([np.cos(np.pi / 4.0), 0.0, np.sin(np.pi / 4.0), 0.0])  # x points down
    turns, places = np.array([rotations.IDENTITY, down]), np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    # the second vertex is half on a joint that leaves it at height 1, half on one that lays it 2 m lower
    assert heights_of((mesh,), places, turns, np.array([0.5, 0.5])) == pytest.approx((0.0, 1.0), abs=1e-6)
    turns[1, 2] *= -1.0  # x points up
    assert heights_of((mesh,), places, turns, np.array([0.5, 0.5])) == pytest.approx((1.0, 2.0), abs=1e-6)
    low, high = heights_of((mesh,), places, turns, np.array([0.5, 0.5]), frozenset({1})) or (0.0, 0.0)
    assert (low, high) == pytest.approx((1.0, 1.0), abs=1e-6), "what an arm holds up"
    assert heights_of((), places, turns, np.ones(2)) is None
    if MOTIONS.is_dir():
        assert poise.load(MOTIONS / "gltf/cesium_man.gltf").skeleton.sole == pytest.approx(0.0, abs=1e-3)


def test_a_base_color_is_drawn_as_its_factor(tmp_path):
    content = parts_of_a_figure()
    paint: dict[str, Any] = {"baseColorFactor": [1.0, 0.2158605, 0.0, 1.0]}
    content["materials"] = [{"pbrMetallicRoughness": paint}]
    content["meshes"][0]["primitives"][0]["material"] = 0
    motion = poise.load(saved(tmp_path, content))
    assert [skin.color for skin in skins_of(motion)] == [pytest.approx((1.0, 0.5019, 0.0), abs=1e-3)] * 3
    paint["baseColorFactor"] = ["red", None, 2]
    assert all(skin.color == (0.8, 0.8, 0.8) for skin in skins_of(poise.load(saved(tmp_path, content))))


def packed_with_draco(content: dict[str, Any], data: bytes) -> dict[str, Any]:
    """A figure of parts whose mesh lies in a Draco stream alone: three vertices of 0, one triangle."""
    raw = base64.b64decode(content["buffers"][0]["uri"].split(",", 1)[1])
    content["buffers"] = [
        {
            "byteLength": len(raw + data),
            "uri": "data:application/octet-stream;base64," + base64.b64encode(raw + data).decode(),
        }
    ]
    content["bufferViews"].append({"buffer": 0, "byteOffset": len(raw), "byteLength": len(data)})
    del content["accessors"][3]["bufferView"]
    content["accessors"].append({"componentType": 5125, "count": 3, "type": "SCALAR"})
    note = {"bufferView": len(content["bufferViews"]) - 1, "attributes": {"POSITION": 0}}
    content["meshes"][0]["primitives"][0] |= {"indices": 4, "extensions": {"KHR_draco_mesh_compression": note}}
    return content


DRACO_TRIANGLE = b"DRACO\x02\x02\x01\x00\x00\x00\x01\x03"
"""Begin of a stream of one triangle and three vertices, sequential."""


def test_a_mesh_packed_with_draco_is_told_and_its_clip_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(gltf, "is_installed", lambda: False)
    monkeypatch.setattr(gltf_draco, "is_installed", lambda: False)
    motion = poise.load(saved(tmp_path, packed_with_draco(parts_of_a_figure(), DRACO_TRIANGLE)))
    assert motion.frame_count > 1
    assert document_of(motion).meshes == ()
    assert motion.source is not None
    assert any("Draco" in w and 'pip install "poise[draco]"' in w for w in motion.source.warnings)


@pytest.mark.parametrize("method", [0, 1, 7])
def test_a_mesh_packed_with_draco_is_drawn(tmp_path, method):
    draco = pytest.importorskip("DracoPy", reason='needs DracoPy: pip install "poise[draco]"')
    places = np.array([[-1, 0, 0], [1, 0, 0], [0, -30, 1]], dtype=np.float32)
    data = draco.encode(places, np.array([[0, 1, 2]], dtype=np.uint32), quantization_bits=14, compression_level=method)
    motion = poise.load(saved(tmp_path, packed_with_draco(parts_of_a_figure(), data)))
    meshes = document_of(motion).meshes
    assert len(meshes) == 3
    corners = meshes[0].positions[meshes[0].indices[0]]
    np.testing.assert_allclose(np.sort(corners, axis=0), np.sort(places, axis=0), atol=1e-2)
    assert motion.source is not None
    assert not any("Draco" in w for w in motion.source.warnings)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:20],
        lambda data: data[:9],
        lambda data: b"",
        lambda data: data[:5] + b"\x01" + data[6:],
        lambda data: DRACO_TRIANGLE[:11] + b"\xff\xff\xff\x7f\x03" + data[13:],
        lambda data: DRACO_TRIANGLE[:11] + b"\xff" * 20,
    ],
)
def test_damaged_draco_is_told_before_it_costs_memory(tmp_path, damage):
    draco = pytest.importorskip("DracoPy", reason='needs DracoPy: pip install "poise[draco]"')
    places = np.array([[-1, 0, 0], [1, 0, 0], [0, -30, 1]], dtype=np.float32)
    data = damage(draco.encode(places, np.array([[0, 1, 2]], dtype=np.uint32)))
    motion = poise.load(saved(tmp_path, packed_with_draco(parts_of_a_figure(), data)))
    assert document_of(motion).meshes == ()
    assert motion.source is not None
    assert any("cannot be unpacked" in w for w in motion.source.warnings)


def test_draco_that_never_ends_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(gltf, "is_installed", lambda: True)
    monkeypatch.setattr(gltf_draco, "is_installed", lambda: True)
    monkeypatch.setattr(gltf_draco, "SECONDS", 0.2)
    monkeypatch.setattr(gltf_draco, "CHILD", "while True: pass")
    motion = poise.load(saved(tmp_path, packed_with_draco(parts_of_a_figure(), DRACO_TRIANGLE + b"never ends")))
    assert document_of(motion).meshes == ()
    assert motion.source is not None
    assert any("cannot be unpacked" in w for w in motion.source.warnings)


def test_a_draco_stream_must_not_claim_more_than_its_accessors(tmp_path):
    draco = pytest.importorskip("DracoPy", reason='needs DracoPy: pip install "poise[draco]"')
    places = np.array([[-1, 0, 0], [1, 0, 0], [0, -30, 1], [0, 3, 1]], dtype=np.float32)
    data = draco.encode(places, np.array([[0, 1, 2], [0, 2, 3]], dtype=np.uint32))
    assert document_of(poise.load(saved(tmp_path, packed_with_draco(parts_of_a_figure(), data)))).meshes == ()


@needs_motions
def test_a_file_is_read_once_for_all_its_clips_and_again_where_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fox.glb"
    path.write_bytes((MOTIONS / "gltf/Fox.glb").read_bytes())
    trees: list[GltfDocument] = []

    def counted(file: GltfDocument) -> GltfTree:
        trees.append(file)
        return skeleton_tree(file)

    monkeypatch.setattr(gltf, "skeleton_tree", counted)
    one, two = (poise.io.load(path, clip=name) for name in ("Run", "Walk"))
    assert len(trees) == 1
    assert one.frame_count != two.frame_count
    path.write_bytes(path.read_bytes().replace(b'"Run"', b'"Ran"'))
    assert poise.io.load(path, clip="Ran").frame_count == one.frame_count
    assert len(trees) == 2


def test_the_only_clip_of_a_file_may_be_named(tmp_path):
    content = parts_of_a_figure()
    content["animations"][0]["name"] = "Rig|Walk"
    path = saved(tmp_path, content)
    for clip in ("Rig|Walk", "walk", "0", 0):
        assert poise.io.load(path, clip=clip).frame_count == poise.io.load(path).frame_count
    with pytest.raises(FileFormatError, match="'Hop' is not one of its clips"):
        poise.io.load(path, clip="Hop")
    bvh = tmp_path / "pose.bvh"
    poise.io.save(poise.io.load(path), bvh)
    assert poise.io.load(bvh, clip="pose").frame_count
    with pytest.raises(FileFormatError, match="one motion only"):
        poise.io.load(bvh, clip="Hop")


def test_a_skin_that_is_bound_elsewhere_tells_no_tips(tmp_path):
    content = parts_of_a_figure()
    far = {"name": "object", "mesh": 0, "translation": [0, 0, 400]}  # the parts of all last joints lie far away
    nodes = content["nodes"]
    first = len(nodes)
    nodes += [{"name": f"tip {n}", "translation": [5 * n, -20, 0], "children": [first + 4 + n]} for n in range(4)]
    nodes += [dict(far) for _ in range(4)]
    nodes[3]["children"] = [first + n for n in range(4)]
    content["animations"][0]["channels"] += [
        {"sampler": 0, "target": {"node": first + n, "path": "rotation"}} for n in range(4)
    ]
    assert document_of(motion := poise.load(saved(tmp_path, content))).meshes
    assert len(motion.skeleton.names) == 7
    assert motion.skeleton.end_sites == ()
    for node in nodes[first + 4 :]:
        node["translation"] = [0, 0, 0]
    assert len(poise.load(saved(tmp_path, content)).skeleton.end_sites) == 4
    nodes[-1]["translation"] = [0, 0, 4000]  # of one of them alone
    assert len(poise.load(saved(tmp_path, content)).skeleton.end_sites) == 3


def test_keys_between_frames_that_nobody_changed_stay(tmp_path):
    keys = np.array((0, 5, 10, 15, 20, 24, 25, 30, 35, 36, 40, 45)) / 120.0  # 24 and 36 are between frames
    motion = gltf.read(saved(tmp_path, made(times=tuple(keys))), ReadOptions())
    assert not document_of(motion).clip.hits_keys
    turned = motion.rotations.copy()
    turned[7, 1] = rotations.multiply(turned[7, 1], rotations.from_rotation_vector(np.array([0.3, 0.0, 0.0])))
    gltf.write(replace(motion, rotations=turned), tmp_path / "out.glb")
    again = gltf.read(tmp_path / "out.glb", ReadOptions())
    assert again.times == pytest.approx(motion.times, abs=1e-9)
    assert rotations.angle_between(again.rotations, turned).max() < 1e-6
    old, new = ({c.path: c for c in document_of(m).clip.channels} for m in (motion, again))
    assert np.array_equal(old["translation"].values, new["translation"].values)  # of the root, which nobody changed
    is_same = (keys != 36 / 120.0) & (keys != 35 / 120.0)  # frame 7 was changed, and the other key is beside it
    at = np.abs(new["rotation"].times[:, None] - keys[is_same]).argmin(axis=0)
    assert new["rotation"].times[at] == pytest.approx(keys[is_same], abs=1e-6)
    assert rotations.angle_between(new["rotation"].values[at], old["rotation"].values[is_same]).max() < 1e-6
    assert len(new["rotation"].times) == motion.frame_count + 1
    gltf.write(replace(again, rotations=again.rotations.copy()), tmp_path / "twice.glb")
    assert (tmp_path / "twice.glb").read_bytes() == (tmp_path / "out.glb").read_bytes()


def test_a_cut_clip_keeps_the_scale_that_only_clips_state(tmp_path):
    content = made(hip_scale=(2, 2, 2))
    first = gltf.read(saved(tmp_path, content), ReadOptions(unit=0.01))
    pack = Pack.of(document_of(first).file)
    animation = pack.content["animations"][0]
    pack.channel(animation, 2, "scale", pack.accessor(np.array([0.0, 1.0]), bounds=True), np.full((2, 3), 0.5))
    (tmp_path / "scaled.glb").write_bytes(pack.as_glb())
    motion = gltf.read(tmp_path / "scaled.glb", ReadOptions())
    assert motion.skeleton.offsets[2] == pytest.approx([0.0, -20.0, 0.0])
    (tmp_path / "figure.glb").write_bytes(as_figure(motion, 1.0))
    gltf.write(motion.frames(np.arange(3, 9)), tmp_path / "cut.glb")
    for name, frames in (("figure", slice(None)), ("cut", slice(3, 9))):
        again = gltf.read(tmp_path / f"{name}.glb", ReadOptions())
        assert again.world[0] == pytest.approx(motion.world[0][frames], abs=1e-4)
