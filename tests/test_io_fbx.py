"""FBX through Blender: there and back, against Blender's other importer; refusals where there is no Blender."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.cli.describe import describe_file
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Motion
from poise.io import fbx
from poise.io.format import ReadOptions
from poise.io.gltf_document import open_gltf
from poise.io.gltf_write import Pack, as_figure
from tests.clips import MOTIONS, needs_motions, sample_clip
from tests.test_round_trips import figure

needs_blender = pytest.mark.skipif(
    fbx._blender() is None, reason='needs Blender: pip install "poise[blender]", or name it in POISE_BLENDER'
)

ORACLE = """
import json, sys
import bpy
file, made, count = sys.argv[-3:]
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.fbx(filepath=file)
arm = next(o for o in bpy.data.objects if o.type == "ARMATURE")
first, last = arm.animation_data.action.frame_range
rows = []
for i in range(int(count)):
    frame = first + i * (last - first) / (int(count) - 1)
    bpy.context.scene.frame_set(int(frame // 1), subframe=frame % 1)
    rows.append({b.name: list((arm.matrix_world @ b.matrix).translation) for b in arm.pose.bones})
render = bpy.context.scene.render
json.dump({"rows": rows, "fps": render.fps / render.fps_base}, open(made, "w"))
"""


def by_the_other_importer(path: Path, motion: Motion) -> np.ndarray:
    """Places of the joints [m], as Blender's importer in Python has them, which shares no code with the one in C++."""
    script, made = path.with_suffix(".py"), path.with_suffix(".json")
    in_blender(script, ORACLE, str(path), str(made), str(motion.frame_count))
    told = json.loads(made.read_text())
    assert told["fps"] == pytest.approx(motion.fps, rel=1e-4)
    return np.array([[row[name] for name in motion.skeleton.names] for row in told["rows"]])


LOOSE = """
import sys
import bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.object.armature_add(enter_editmode=True)
arm = bpy.context.object
bone = arm.data.edit_bones.new("tip")
bone.parent, bone.head, bone.tail = arm.data.edit_bones["Bone"], (0, 0, 1), (0, 0, 2)
bpy.ops.object.mode_set(mode="OBJECT")
for name, held in (("skin", (0, 1)), ("scenery", ())):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([(0, 0, 0), (1, 0, 1), (0, 1, 2)], [], [(0, 1, 2)])
    thing = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(thing)
    thing.parent = arm
    thing.modifiers.new("Armature", "ARMATURE").object = arm
    thing.vertex_groups.new(name="tip").add(held, 1.0, "REPLACE")
for frame, turn in ((0, 0.0), (10, 1.0)):
    arm.pose.bones["tip"].rotation_quaternion = (1.0 - turn / 4, turn / 4, 0.0, 0.0)
    arm.pose.bones["tip"].keyframe_insert("rotation_quaternion", frame=frame)
bpy.ops.export_scene.fbx(filepath=sys.argv[-1], add_leaf_bones=False, bake_anim_force_startend_keying=True)
"""

TURNED = """
import sys
import bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.object.armature_add(enter_editmode=True)
arm = bpy.context.object
arm.name = "rig"
for name, place in (("nose", (0, 2, 1)), ("tail", (0, -1, 1)), ("ear", (1, 2, 2))):
    bone = arm.data.edit_bones.new(name)
    bone.parent, bone.head, bone.tail = arm.data.edit_bones["Bone"], place, (place[0], place[1], place[2] + 1)
bpy.ops.object.mode_set(mode="OBJECT")
mesh = bpy.data.meshes.new("skin")
mesh.from_pydata([(0, 2, 1), (0, -1, 1), (1, 2, 2), (0, 0, 0)], [], [(0, 1, 2), (0, 1, 3)])
thing = bpy.data.objects.new("skin", mesh)
bpy.context.collection.objects.link(thing)
thing.parent = arm
thing.modifiers.new("Armature", "ARMATURE").object = arm
for index, name in enumerate(("nose", "tail", "ear", "Bone")):
    thing.vertex_groups.new(name=name).add((index,), 1.0, "REPLACE")
for frame, turn in ((0, 0.0), (10, 1.0)):
    arm.pose.bones["ear"].rotation_quaternion = (1.0 - turn / 4, turn / 4, 0.0, 0.0)
    arm.pose.bones["ear"].keyframe_insert("rotation_quaternion", frame=frame)
bpy.ops.export_scene.fbx(filepath=sys.argv[-1], add_leaf_bones=False, bake_anim_force_startend_keying=True)

from io_scene_fbx import encode_bin, parse_fbx
root, version = parse_fbx.parse(sys.argv[-1])
ADD = {b"B": "bool", b"C": "char", b"Z": "int8", b"Y": "int16", b"I": "int32", b"L": "int64", b"F": "float32",
       b"D": "float64", b"R": "bytes", b"S": "string", b"i": "int32_array", b"l": "int64_array",
       b"f": "float32_array", b"d": "float64_array", b"b": "bool_array", b"c": "byte_array"}

def written(element, turned):
    made = encode_bin.FBXElem(element.id)
    turned = turned or (element.id == b"Deformer" and element.props[2] == b"Cluster")
    for kind, value in zip(element.props_type, element.props):
        if turned and element.id == b"TransformLink":  # bound when the rig faced the other way
            value = type(value)(value.typecode, [-v if i % 4 < 2 else v for i, v in enumerate(value)])
        getattr(made, "add_" + ADD[bytes((kind,))])(value)
    made.elems.extend(written(e, turned) for e in element.elems)
    return made

encode_bin.write(sys.argv[-1], written(root, False), version)
"""

TOUCHING = """
import sys
import bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.object.armature_add(enter_editmode=True)
arm = bpy.context.object
bone = arm.data.edit_bones.new("hips")
bone.parent, bone.head, bone.tail = arm.data.edit_bones["Bone"], arm.data.edit_bones["Bone"].tail, (0, 0, 2)
bpy.ops.object.mode_set(mode="OBJECT")
for frame, place in ((0, 0.0), (10, 3.0)):
    arm.pose.bones["hips"].location = (place, 0.0, 0.0)
    arm.pose.bones["hips"].keyframe_insert("location", frame=frame)
bpy.context.scene.frame_set(0)
bpy.ops.export_scene.fbx(filepath=sys.argv[-1], add_leaf_bones=False, bake_anim_force_startend_keying=True)
"""

STANDING = f"""
import runpy
import sys
import bpy
globals().update(runpy.run_path({str(fbx.SCRIPT)!r}))
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.object.armature_add(enter_editmode=True)
arm = bpy.context.object
for name, above, height in (("mid", "Bone", 1), ("top", "mid", 2)):
    bone = arm.data.edit_bones.new(name)
    bone.parent, bone.head, bone.tail = arm.data.edit_bones[above], (0, 0, height), (0, 0, height + 1)
bpy.ops.object.mode_set(mode="OBJECT")
for frame in (3, 10):
    arm.pose.bones["top"].keyframe_insert("location", frame=frame)
arm.pose.bones["mid"].rotation_quaternion = (0.5**0.5, 0.5**0.5, 0.0, 0.0)
bpy.ops.export_scene.fbx(filepath=sys.argv[-1], add_leaf_bones=False)
root, version, _ = FILE["read"](sys.argv[-1])
key_what_stands(root, version)
found = {{(c.data_path.split('"')[1], c.array_index): c.evaluate(5.0) for c in curves_of(arm.animation_data.action)}}
assert {{name for name, _ in found}} == {{"mid", "top"}}, found
assert max(abs(found["mid", i] - 0.5**0.5 * (i < 2)) for i in range(4)) < 1e-4, found
"""

MOSTLY_WHOLE = f"""
import runpy
import bpy
globals().update(runpy.run_path({str(fbx.SCRIPT)!r}))
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.object.armature_add()
arm = bpy.context.object
for frame in range(11):
    for what in ("location", "scale"):
        arm.keyframe_insert(what, frame=frame)
for tenth in range(0, 101):
    arm.keyframe_insert("rotation_euler", index=0, frame=tenth / 10)
put_keys_on_frames(0.0)
assert bpy.context.scene.render.fps_base == 1.0, bpy.context.scene.render.fps_base
"""

CONTROL = f"""
import runpy
import bpy
globals().update(runpy.run_path({str(fbx.SCRIPT)!r}))
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.object.armature_add()
arm = bpy.context.object
bpy.ops.object.empty_add()
control = bpy.context.object
control.rotation_euler = (0.3, 0.4, 0.5)
control.keyframe_insert("rotation_euler", frame=1)
settle_armatures(curves_by_path())
assert tuple(arm.rotation_euler) == (0.0, 0.0, 0.0)
assert len(curves_of(control.animation_data.action)) == 3
arm.rotation_euler = (0.1, 0.2, 0.3)
arm.keyframe_insert("rotation_euler", frame=1)
arm.rotation_euler = (0.0, 0.0, 0.0)
settle_armatures(curves_by_path())
assert max(abs(a - b) for a, b in zip(arm.rotation_euler, (0.1, 0.2, 0.3))) < 1e-6
assert len(curves_of(control.animation_data.action)) == 3
"""

SPARSE = f"""
{TOUCHING}
exec(open({str(fbx.FILE)!r}).read())

def bent_keys(curve, rate, *, is_angle=False):
    times, values = curve[b"KeyTime"], curve[b"KeyValueFloat"]
    return {{
        b"KeyTime": np.array([times[0], times[-1]]), b"KeyValueFloat": np.array([values[0], values[-1]], np.float32),
        b"KeyAttrFlags": np.array([FLAGS], np.int32), b"KeyAttrDataFloat": np.zeros(4, np.float32),
        b"KeyAttrRefCount": np.array([2], np.int32),
    }}

import os
made = sys.argv[-1]
os.replace(prepared(made, made), made)
"""

LOOSE_BONE = f"""
import runpy
import sys
import bpy
from mathutils import Vector
globals().update(runpy.run_path({str(fbx.SCRIPT)!r}))
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.object.armature_add(enter_editmode=True)
arm = bpy.context.object
for name, above, place in (("hip", "Bone", (1, 0, 1)), ("nub", "hip", (2, 1, 1)), ("tip", "nub", (3, 1, 2))):
    bone = arm.data.edit_bones.new(name)
    bone.parent, bone.head, bone.tail = arm.data.edit_bones[above], place, (place[0], place[1], place[2] + 1)
bpy.ops.object.mode_set(mode="OBJECT")
mesh = bpy.data.meshes.new("skin")
mesh.from_pydata([(0, 2, 1), (0, -1, 1), (1, 2, 2)], [], [(0, 1, 2)])
thing = bpy.data.objects.new("skin", mesh)
bpy.context.collection.objects.link(thing)
thing.parent = arm
thing.modifiers.new("Armature", "ARMATURE").object = arm
thing.vertex_groups.new(name="hip").add((0, 1, 2), 1.0, "REPLACE")
bpy.ops.export_scene.fbx(filepath=sys.argv[-1], add_leaf_bones=False)
bpy.context.view_layer.objects.active = arm
bpy.ops.object.mode_set(mode="EDIT")
# as Blender has it where a rig was moved after it was bound: what has no skin stays behind
arm.data.edit_bones["hip"].translate(Vector((0.5, 0.25, 0.0)))
bpy.ops.object.mode_set(mode="OBJECT")
root, version, _ = FILE["read"](sys.argv[-1])
parts = {{e.id: e.elems for e in root.elems}}
loose = [e.props[0] for e in parts[b"Objects"] if e.props[1] in (b"nub\\0\\1Model", b"tip\\0\\1Model")]
clusters = [e.props[0] for e in parts[b"Objects"] if e.props[2] == b"Cluster"]  # of every bone: Blender writes them
for link in [e for e in parts[b"Connections"] if e.props[1] in loose and e.props[2] in clusters]:
    parts[b"Connections"].remove(link)
settle_loose(root, version, {{}})
for name, place in (("hip", (1.5, 0.25, 1)), ("nub", (2.5, 1.25, 1)), ("tip", (3.5, 1.25, 2))):
    assert (arm.data.bones[name].head_local - Vector(place)).length < 1e-5, (name, arm.data.bones[name].head_local)
"""

TEXT = """; FBX 7.4.0 project file
FBXHeaderExtension:  {
	FBXVersion: 7400
}
GlobalSettings:  {
	Properties70:  {
		P: "UpAxis", "int", "Integer", "",2
		P: "UnitScaleFactor", "double", "Number", "",100
		P: "TimeMode", "enum", "", "",0
	}
}
Objects:  {
	Model: 1, "Model::hips", "LimbNode" {
		Version: 232
		Shading: Y
	}
	Model: 2, "Model::chest", "LimbNode" {
		Properties70:  {
			P: "Lcl Translation", "Lcl Translation", "", "A",0,0,1
		}
	}
	AnimationStack: 3, "AnimStack::Take 001", "" {
	}
	AnimationLayer: 4, "AnimLayer::Base", "" {
	}
	AnimationCurveNode: 5, "AnimCurveNode::T", "" {
		Properties70:  {
			P: "d|X", "Number", "", "A",0
		}
	}
	AnimationCurve: 6, "AnimCurve::", "" {
		Default: 0
		KeyVer: 4009
		KeyTime: *3 {
			a: 0,46186158000,
138558474000
		}
		KeyValueFloat: *3 {
			a: 0,3,1
		}
		;KeyAttrFlags: Cubic|TangeantTCB
		KeyAttrFlags: *1 {
			a: 520
		}
		KeyAttrDataFloat: *4 {
			a: 0,0,1056964608,0
		}
		KeyAttrRefCount: *1 {
			a: 3
		}
	}
}
Connections:  {
	C: "OO",1,0
	C: "OO",2,1
	C: "OO",4,3
	C: "OO",5,4
	C: "OP",5,1, "Lcl Translation"
	C: "OP",6,5, "d|X"
}
"""


def in_blender(script: Path, text: str, *words: str) -> None:
    """Let Blender run a script."""
    script.write_text(text)
    call = [str(script) if c == str(fbx.SCRIPT) else c for c in fbx._blender() or ()]
    subprocess.run([*call, *words], capture_output=True, check=True, timeout=300)


def made_in_blender(folder: Path, text: str) -> Motion:
    """The motion of the FBX that a script writes."""
    file = folder / "made.fbx"
    in_blender(folder / "make.py", text, str(file))
    return poise.load(file)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


FILE = runpy.run_path(str(fbx.FILE))


def test_a_text_fbx_has_the_types_of_a_binary_one() -> None:
    parts = {e.id: e for e in FILE["parse_text"](TEXT.encode()).elems}
    curve = parts[b"Objects"].elems[-1]
    assert curve.props == [6, b"\0\1AnimCurve", b""]
    assert curve.props_type == b"LSS"
    arrays = {e.id: e.props[0] for e in curve.elems}
    assert list(arrays[b"KeyTime"]) == [0, 46186158000, 138558474000]
    assert arrays[b"KeyAttrDataFloat"] == pytest.approx([0, 0, 0.5, 0])
    (place,) = parts[b"Objects"].elems[1].elems[0].elems
    assert (place.props[4:], place.props_type) == ([0.0, 0.0, 1.0], b"SSSSDDD")
    assert [e.props for e in parts[b"Connections"].elems][-1] == [b"OP", 6, 5, b"d|X"]


@pytest.mark.parametrize(("flags", "data", "reaching", "leaving"), [
    (0x208, (0, 0, 0, 0), 1.0, 1.0),  # TCB: half of both sides
    (0x208, (0.5, 0, 0, 0), 0.5, 0.5),
    (0x208, (0, 1, 0, 0), -1.0, 3.0),  # 3 from the left, −1 to the right
    (0x208, (0, 0, 1, 0), 3.0, 3.0),
    (0x2108, (0, 0, 0, 0), 1 / 3, 1 / 3),  # automatic, even: past both neighbors
    (0x108, (0, 0, 0, 0), 1.0, 1.0),  # half of that, half of both sides by their lengths: 3 × 2/3 − 1 × 1/3
    (0x108, (100, -100, 0, 0), -1.0, -1.0),  # with a bias to the next key
])  # fmt: skip
def test_slopes_of_an_fbx_key(flags: int, data: tuple[float, ...], reaching: float, leaving: float) -> None:
    times, values = np.array([0.0, 1.0, 3.0]), np.array([0.0, 3.0, 1.0])
    found = FILE["slopes"](times, values, np.full(3, flags), np.tile(np.array(data, float), (3, 1)))
    assert [side[1] for side in found] == pytest.approx([reaching, leaving])


@needs_blender
@pytest.mark.long
def test_a_text_fbx_follows_its_curves(tmp_path: Path) -> None:
    file = tmp_path / "text.fbx"
    file.write_text(TEXT)
    motion = poise.load(file)
    assert motion.fps == pytest.approx(30.0)
    share = np.arange(31)[:, None] / 30.0
    # a cubic from 0 to 3 in the first second; a bias of 1/2 at its end: ¾ of the slope 3 and ¼ of the slope −1
    ends, slopes = np.array([0.0, 3.0]), np.array([1.5, 2.0])
    basis = np.hstack([2 * share**3 - 3 * share**2 + 1, 3 * share**2 - 2 * share**3])
    lean = np.hstack([share**3 - 2 * share**2 + share, share**3 - share**2])
    assert motion.world[0][:31, 0, 0] == pytest.approx(basis @ ends + lean @ slopes, abs=1e-4)


@needs_blender
@pytest.mark.long
def test_an_axis_that_moves_without_the_first_is_read(tmp_path: Path) -> None:
    """Blender takes the times of a place's keys from the curve of x alone."""
    files = [tmp_path / f"{axis}.fbx" for axis in "xz"]
    for file in files:
        file.write_text(TEXT.replace('"d|X"\n}', f'"d|{file.stem.upper()}"\n}}'))
    along, up = (poise.load(file).world[0][:, 0] for file in files)
    assert np.ptp(along[:, 0]) > 2.9
    assert up[:, 2] == pytest.approx(along[:, 0], abs=1e-5)
    assert up[:, :2] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(("own", "others", "times", "is_new"), [
    ([0, 10**9], [[0, 10**9 + 100]], [0, 10**9], [False, False]),  # a rounding apart
    ([0], [[0, 10**9], [2 * 10**9]], [0, 10**9, 2 * 10**9], [False, True, True]),
    ([], [[5], [7, 10**9]], [5, 10**9], [True, True]),
])  # fmt: skip
def test_times_of_three_axes(own: list[int], others: list[list[int]], times: list[int], is_new: list[bool]) -> None:
    found = FILE["joined"]([own, *others])
    assert [part.tolist() for part in found] == [times, is_new]


def test_a_file_is_called_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skeleton = figure(3, np.arange(3) / 30.0, lying=False).skeleton
    monkeypatch.setattr(fbx, "describe", lambda path, options: None)
    monkeypatch.setattr("poise.cli.describe.load_skeleton", lambda path, **options: skeleton)
    monkeypatch.setattr(fbx, "_blender", lambda: None)
    for ending in ("fbx", "dae", "blend"):
        file = tmp_path / f"a.{ending}"
        file.write_bytes(b"<")
        assert describe_file(file, ReadOptions())["format"] == ending


def test_the_version_of_an_fbx() -> None:
    binary = b"Kaydara FBX Binary  \0\x1a\0" + (6100).to_bytes(4, "little")
    assert [fbx._version(own) for own in (binary, TEXT.encode(), b"BLENDER")] == [6100, 7400, 0]


def test_a_curve_between_and_beyond_its_keys() -> None:
    held, line = 2, 4
    curve = {b"KeyTime": [0, 100, 200], b"KeyValueFloat": [1.0, 3.0, 5.0], b"KeyAttrFlags": [line, held],
             b"KeyAttrDataFloat": [0.0] * 8, b"KeyAttrRefCount": [1, 2]}  # fmt: skip
    found = FILE["at_times"](curve, np.array([-50, 0, 50, 150, 200, 300]))
    assert found == pytest.approx([1.0, 1.0, 2.0, 3.0, 5.0, 5.0])


@needs_blender
@pytest.mark.long
def test_a_few_curves_with_more_keys_set_no_rate(tmp_path: Path) -> None:
    in_blender(tmp_path / "rate.py", MOSTLY_WHOLE)


@needs_blender
@pytest.mark.long
def test_a_bone_that_a_clip_does_not_move_stands_where_the_file_has_it(tmp_path: Path) -> None:
    in_blender(tmp_path / "stand.py", STANDING, str(tmp_path / "made.fbx"))


@needs_blender
@pytest.mark.long
def test_a_bone_without_skin_rests_where_the_file_has_it(tmp_path: Path) -> None:
    in_blender(tmp_path / "loose.py", LOOSE_BONE, str(tmp_path / "made.fbx"))


@needs_blender
@pytest.mark.long
def test_a_motion_goes_to_fbx_and_back(tmp_path: Path) -> None:
    motion = figure(12, np.arange(12) / 29.97, lying=False)
    file = tmp_path / "made.fbx"
    poise.save(motion, file)
    back = poise.load(file)
    assert back.frame_count == 12
    assert back.fps == pytest.approx(29.97, rel=1e-5)
    order = [back.skeleton.names.index(n) for n in motion.skeleton.names]
    assert back.world[0][:, order] == pytest.approx(motion.world[0], abs=1e-5)
    assert by_the_other_importer(file, back) == pytest.approx(back.world[0], abs=1e-5)
    copy = tmp_path / "copy.fbx"
    poise.save(back, copy)
    assert copy.read_bytes() == file.read_bytes()
    turned = back.rotations.copy()
    turned[4, 2] = rotations.multiply(turned[4, 2], rotations.from_rotation_vector(np.array([0.4, 0, 0])))
    changed = replace(back, rotations=turned)
    poise.save(changed, copy)
    again = poise.load(copy)
    order = [again.skeleton.names.index(n) for n in changed.skeleton.names]
    assert again.world[0][:, order] == pytest.approx(changed.world[0], abs=1e-5)


@needs_blender
@pytest.mark.long
def test_a_clip_that_moves_several_things_is_one_clip(tmp_path: Path) -> None:
    """Blender wrote a clip of each: of the armature, and of the moving and scaled node that it stands under."""
    motion = figure(12, np.arange(12) / 30.0, lying=False)
    first = tmp_path / "first.glb"
    poise.save(motion, first)
    pack = Pack.of(open_gltf(first))
    content = pack.content
    content["skins"] = [{"joints": list(range(motion.skeleton.joint_count))}]
    above = len(content["nodes"])
    content["nodes"].append({"name": "Mover", "children": content["scenes"][0]["nodes"]})
    content["nodes"].append({"name": "World", "children": [above], "scale": [0.5] * 3})
    content["scenes"][0]["nodes"] = [above + 1]
    for clip, turns in (("Walk", motion.rotations), ("Run", motion.rotations[::-1])):
        animation = {"name": clip, "channels": [], "samplers": []}
        content["animations"] = [*(content["animations"] if clip == "Run" else []), animation]
        at = pack.accessor(motion.times, bounds=True)
        pack.channel(animation, above, "translation", at, motion.translations[:, 0] + np.arange(12)[:, None])
        for joint in range(motion.skeleton.joint_count):
            pack.channel(animation, joint, "rotation", at, turns[:, joint])
    (tmp_path / "rig.glb").write_bytes(pack.as_glb())
    rig = poise.load(tmp_path / "rig.glb", clip="Walk")
    file = tmp_path / "rig.fbx"
    poise.save(rig, file)
    for clip in ("Walk", "Run"):
        own = poise.load(tmp_path / "rig.glb", clip=clip)
        back = poise.load(file, clip=clip)
        assert back.source is not None
        assert sorted(back.source.clips) == ["Run", "Walk"]
        order = [back.skeleton.names.index(n) for n in own.skeleton.names]
        assert back.world[0][:, order] == pytest.approx(own.world[0], abs=2e-5)
    assert file.read_bytes().count(b"\0\1AnimStack") == 2


@needs_blender
@needs_motions
@pytest.mark.long
def test_skin_and_clips_stay(tmp_path: Path) -> None:
    motion = poise.load(MOTIONS / "gltf/Fox.glb", clip="Run")
    file = tmp_path / "fox.fbx"
    poise.save(motion, file)
    back = poise.load(file, clip="Run")
    size = float(np.ptp(motion.world[0][0], axis=0).max())
    order = [back.skeleton.names.index(n) for n in motion.skeleton.names]
    assert back.world[0][:, order] == pytest.approx(motion.world[0], abs=1e-5 * size)
    assert back.source is not None
    assert len(back.source.clips) == 3
    assert back.source.document.meshes[0].texture
    again = poise.load(file, clip="Walk")  # from memory and cache, without Blender
    assert again.frame_count > 1


@needs_blender
@pytest.mark.long
def test_a_bone_that_rests_on_its_parents_tip_moves_as_its_keys_say(tmp_path: Path) -> None:
    motion = made_in_blender(tmp_path, TOUCHING)
    places = motion.world[0][:, motion.skeleton.names.index("hips")]
    assert np.linalg.norm(places[-1] - places[0]) == pytest.approx(3.0, abs=1e-4)


@needs_blender
@pytest.mark.long
@pytest.mark.parametrize(
    ("flags", "shares"),
    [
        ("CUBIC | USER", [0.0, 0.15625, 0.5, 0.84375, 1.0]),  # slopes 0 at both ends: 3 s² - 2 s³
        ("CUBIC | AUTO | EVEN | PROGRESSIVE", [0.0, 0.15625, 0.5, 0.84375, 1.0]),
        ("CONSTANT", [0.0, 0.0, 0.0, 0.0, 1.0]),
        ("LINEAR", [0.0, 0.25, 0.5, 0.75, 1.0]),
    ],
)
def test_curves_between_distant_keys_are_followed(tmp_path: Path, flags: str, shares: list[float]) -> None:
    motion = made_in_blender(tmp_path, SPARSE.replace("FLAGS", flags).replace("(10, 3.0)", "(8, 3.0)"))
    places = motion.world[0][:, motion.skeleton.names.index("hips")]
    way = np.linalg.norm(places - places[0], axis=1) / 3.0
    assert motion.frame_count == 9
    assert way[::2] == pytest.approx(shares, abs=1e-5)


@needs_blender
@pytest.mark.long
def test_loose_vertices_and_scenery_make_no_bone_and_clips_start_at_0(tmp_path: Path) -> None:
    motion = made_in_blender(tmp_path, LOOSE)
    assert not [name for name in motion.skeleton.names if "neutral" in name]
    assert {"Bone", "tip"} <= set(motion.skeleton.names)
    assert motion.source is not None
    assert "start" not in motion.source.evidence
    (skin,) = motion.source.document.meshes
    assert len(skin.positions) == 3


@needs_blender
@pytest.mark.long
def test_a_skin_faces_as_its_bones_where_the_rig_was_turned_after_it_was_bound(tmp_path: Path) -> None:
    motion = made_in_blender(tmp_path, TURNED)
    assert motion.source is not None
    (skin,) = motion.source.document.meshes
    whole = np.append(skin.positions, np.ones((len(skin.positions), 1)), axis=1)
    from_bones = np.einsum("bij,vj->vbi", skin.inverse_binds, whole)[..., :3]
    assert np.linalg.norm(from_bones, axis=-1).min(axis=1) == pytest.approx(0.0, abs=1e-4)  # each at a bone of its own


@needs_blender
@pytest.mark.long
def test_keys_of_a_control_do_not_turn_the_armature(tmp_path: Path) -> None:
    in_blender(tmp_path / "settle.py", CONTROL)


def test_controls_stay_in_step_with_a_clip_that_begins_later(tmp_path: Path) -> None:
    """Blender gets a clip from second 0; the controls of a rig, which are no joints, began a frame later there."""
    motion = sample_clip("walk")
    first = tmp_path / "first.glb"
    poise.save(motion, first)
    pack = Pack.of(open_gltf(first))
    content, animation = pack.content, pack.content["animations"][0]
    content["skins"] = [{"joints": list(range(motion.skeleton.joint_count))}]
    content["nodes"].append({"name": "Ctrl"})
    content["scenes"][0]["nodes"].append(len(content["nodes"]) - 1)
    late = pack.accessor(1 / 30 + motion.times, bounds=True)
    for sampler in animation["samplers"]:
        sampler["input"] = late
    pack.channel(animation, len(content["nodes"]) - 1, "translation", late, motion.translations[:, 0])
    rig = tmp_path / "rig.glb"
    rig.write_bytes(pack.as_glb())
    loaded = poise.load(rig)
    assert loaded.source is not None
    assert "Ctrl" not in loaded.skeleton.names
    assert loaded.source.document.clip.start == pytest.approx(1 / 30)
    made = tmp_path / "made.glb"
    made.write_bytes(as_figure(loaded, 1.0))
    found = open_gltf(made)
    begins = [found.accessor(s["input"])[0, 0] for s in found.items("animations")[0]["samplers"]]
    ends = [found.accessor(s["input"])[-1, 0] for s in found.items("animations")[0]["samplers"]]
    assert begins == [0.0] * len(begins)
    assert ends == pytest.approx([motion.duration] * len(ends), abs=1e-5)


@needs_blender
@pytest.mark.long
def test_what_blender_cannot_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "broken.fbx"
    file.write_bytes(b"Kaydara FBX Binary  \x00\x1a\x00" + b"nothing")
    with pytest.raises(FileFormatError, match=r"Blender cannot use this file|no skeleton"):
        poise.load(file)


def test_a_blender_that_does_not_work_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "clip.fbx"
    file.write_bytes(b"Kaydara FBX Binary")
    monkeypatch.setenv("POISE_BLENDER", str(tmp_path / "none"))
    with pytest.raises(FileFormatError, match="cannot be run"):
        poise.load(file)
    python = tmp_path / "python"  # one without bpy
    python.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'raise SystemExit(\"Error: no bpy\")'\n")
    python.chmod(0o755)
    monkeypatch.setenv("POISE_BLENDER", str(python))
    with pytest.raises(FileFormatError, match="Error: no bpy"):
        poise.load(file)


def test_only_fbx_is_written(tmp_path: Path) -> None:
    motion = figure(3, np.arange(3) / 30.0, lying=False)
    for suffix in ("dae", "blend"):
        with pytest.raises(InvalidValue, match="read but not written"):
            poise.save(motion, tmp_path / f"clip.{suffix}")


@pytest.mark.skipif(os.name == "nt", reason="needs a script that a shell runs")
def test_a_blender_that_crashes_after_it_wrote_the_file_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, made = tmp_path / "blender", tmp_path / "made.glb"
    monkeypatch.setenv("POISE_BLENDER", str(program))
    for said, is_right in (("poise: written", True), ("exporting", False)):
        program.write_text(f"#!/bin/sh\necho whole > {made}\necho '{said}'\nkill -SEGV $$\n")
        program.chmod(0o755)
        if is_right:
            fbx._run(tmp_path / "a.fbx", tmp_path / "a.fbx", ".fbx", made, ".glb", 0.0)
        else:
            with pytest.raises(FileFormatError, match="cannot use"):
                fbx._run(tmp_path / "a.fbx", tmp_path / "a.fbx", ".fbx", made, ".glb", 0.0)


def test_without_blender_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fbx, "_blender", lambda: None)
    with pytest.raises(InvalidValue, match="POISE_BLENDER"):
        poise.save(figure(3, np.arange(3) / 30.0, lying=False), tmp_path / "clip.fbx")
    assert list(tmp_path.glob("clip*")) == []
