"""Drives the Blender extension inside of Blender; run by tests/test_blender.py, which judges what it writes.

Arguments: the folder of the extension, a folder for results, then BVH files: a walk, a hop.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import bpy
import numpy as np

SENTENCES = (
    "slides 14 cm while it stands, frames 3–5, 7 and 2 more stretches",
    "leaves its parabola by 3 cm at frame 12, 0.30 m/s on the whole",
    "raise it 2 cm at frame 8, less and less toward frames 3 and 14",
    "pin the foot from frame 1 to 25: it moves 3 cm",
    "delete the keys 3–9 of all joints and interpolate",
    "Frame 0 is a rest pose; 12 frames (0.20 s) are few",
)
ID = "bl_ext.user_default.poise"
extension, folder, walk, hop = (Path(p) for p in sys.argv[sys.argv.index("--") + 1 :][:4] if p)
said: dict[str, Any] = {"version": bpy.app.version_string}


def part(name: str) -> Any:
    """A module of the installed extension."""
    return importlib.import_module(f"{ID}.{name}")


def install() -> None:
    """Build, validate and install the zip, as a user gets it."""
    tool = Path(bpy.utils.resource_path("LOCAL"), "scripts", "addons_core", "bl_pkg", "cli", "blender_ext.py")
    made = folder / "poise.zip"
    for words in (["build", "--source-dir", extension, "--output-filepath", made], ["validate", made]):
        done = subprocess.run([sys.executable, str(tool), *map(str, words)], capture_output=True, text=True)
        said[f"{words[0]}"] = [done.returncode, done.stdout]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(filepath=str(made), repo="user_default", enable_on_install=True)
    said["enabled"] = ID in bpy.context.preferences.addons


def scene_with(file: Path) -> Any:
    """A new scene with an armature from a BVH, as Blender's own importer makes it."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False)
    bpy.ops.import_anim.bvh(
        filepath=str(file), global_scale=0.01, update_scene_fps=True, update_scene_duration=True, frame_start=1
    )
    scene = bpy.context.scene
    scene.frame_end = min(scene.frame_end, 80)
    scene.poise.armature = bpy.context.object
    return bpy.context.object


def curves(action: Any) -> list[Any]:
    """All F-curves of an action, in old and new Blenders."""
    if hasattr(action, "layers"):
        return [c for layer in action.layers for s in layer.strips for b in s.channelbags for c in b.fcurves]
    return list(action.fcurves)


def keys(action: Any) -> list[Any]:
    return [[c.data_path, c.array_index, [list(p.co) for p in c.keyframe_points]] for c in curves(action)]


def places(armature: Any) -> Any:
    return part("rig").read(armature, bpy.context.scene, 1, bpy.context.scene.frame_end).places


def save(name: str, armature: Any, before: Any, pushes: Any = ()) -> None:
    """What was sent and what the armature then does."""
    (folder / f"{name}.json").write_text(json.dumps({"motion": before.message, "pushes": list(pushes)}))
    np.savez(folder / f"{name}.npz", before=before.places, after=places(armature))


def read(armature: Any) -> Any:
    return part("rig").read(armature, bpy.context.scene, 1, bpy.context.scene.frame_end)


def refusal(call: Any) -> str:
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return ""


def simulate() -> None:
    armature = scene_with(walk)
    before, action = read(armature), armature.animation_data.action
    own = keys(action)
    bpy.context.scene.frame_set(15)
    bpy.ops.poise.add_push()
    starting = [t for t in threading.enumerate() if t.name == "poise begins"]
    for thread in starting:
        thread.join()
    said["begun by add push"] = part("server")._server is not None and part("server")._server.runs
    (arrow,) = part("scene").pushes(bpy.context.scene, armature)
    arrow.rotation_euler = (-np.pi / 2.0, 0.0, 0.3)
    arrow.poise.force = 250.0
    bpy.context.view_layer.update()
    pushes = part("scene").read_pushes(bpy.context.scene, before)
    began = time.perf_counter()
    bpy.ops.poise.simulate()
    said["seconds"] = time.perf_counter() - began
    save("pushed", armature, before, pushes)
    said["bone"] = arrow.poise.bone
    said["frame"] = bpy.context.scene.frame_current
    said["actions"] = [a.name for a in bpy.data.actions]
    said["new"] = armature.animation_data.action.name
    said["keys kept"] = keys(action) == own and action.use_fake_user
    armature.animation_data.action = action
    arrow.poise.bone = "no such bone"
    said["bad bone"] = refusal(bpy.ops.poise.simulate)
    bpy.data.objects.remove(arrow)
    bpy.context.scene.poise.as_nla = True
    bpy.ops.poise.simulate()
    save("still", armature, before)
    said["nla"] = [t.name for t in armature.animation_data.nla_tracks]
    said["nla active"] = armature.animation_data.action is None


def odd() -> None:
    """An armature that is scaled, turned and moved, has Euler and axis-angle bones, and a bone that is no joint."""
    armature = scene_with(walk)
    armature.scale = (0.9, 0.9, 0.9)
    armature.rotation_euler = (0.0, 0.0, 1.0)
    armature.location = (1.0, 2.0, 0.0)
    bones = armature.pose.bones
    for i, bone in enumerate(bones):
        bone.rotation_mode = ("XYZ", "QUATERNION", "AXIS_ANGLE", "ZYX")[i % 4]
    middle = next(b for b in armature.data.bones if b.parent and b.parent.parent and b.children)
    middle.use_deform = False
    bpy.context.view_layer.update()
    before = read(armature)
    said["left out"] = middle.name not in before.bones
    bpy.ops.poise.simulate()
    save("odd", armature, before)
    middle.use_deform = True
    parts = ("LeftUpLeg", "LeftFoot", "RightFoot", "RightArm")
    owners = [armature.data.bones[name].parent.name for name in parts]
    bpy.ops.object.mode_set(mode="EDIT")
    for name in parts:
        armature.data.edit_bones[name].parent = None
    bpy.ops.object.mode_set(mode="OBJECT")
    bones, above, _, notes = part("rig").joints_of(armature.data)
    said["hung"] = [owners, [above[bones.index(name)] for name in parts], notes]
    armature.scale = (1.0, 2.0, 1.0)
    said["skewed"] = refusal(bpy.ops.poise.simulate)


def constrained() -> None:
    """A leg that an IK target holds, with a mesh on the armature."""
    armature = scene_with(walk)
    target = bpy.data.objects.new("target", None)
    bpy.context.scene.collection.objects.link(target)
    target.location = armature.matrix_world @ armature.pose.bones["LeftFoot"].head
    ik = armature.pose.bones["LeftLeg"].constraints.new("IK")
    ik.target, ik.chain_count = target, 2
    armature.data.bones["Spine"].use_deform = False
    armature.pose.bones["Spine"].constraints.new("LIMIT_ROTATION").use_limit_x = True
    bpy.ops.mesh.primitive_cube_add()
    mesh = bpy.context.object
    mesh.modifiers.new("Armature", "ARMATURE").object = armature
    bpy.context.view_layer.update()
    before, action = read(armature), armature.animation_data.action
    bpy.ops.poise.simulate()
    copy = bpy.context.scene.poise.armature
    save("constrained", copy, before)
    said["copy"] = [
        copy.name,
        armature.animation_data.action == action,
        len(armature.pose.bones["LeftLeg"].constraints),
        sum(o.type == "MESH" and o.modifiers[0].object == copy for o in bpy.data.objects),
        float(np.abs(places(armature) - before.places).max()),
    ]


def set_up(case: str) -> Any:
    """A walk in a scene of somebody else; what is said of it is in test_blender.py."""
    armature = scene_with(walk)
    scene, data = bpy.context.scene, armature.animation_data
    action = data.action
    spine = armature.pose.bones["Spine"]
    if case == "driver":
        driver = armature.driver_add('pose.bones["Spine"].rotation_euler', 0).driver
        driver.type, driver.expression = "SCRIPTED", "0.2 * sin(frame / 8)"
    elif case == "centimeters":
        scene.unit_settings.system, scene.unit_settings.scale_length = "METRIC", 0.01
        armature.scale = (100.0, 100.0, 100.0)
    elif case in ("added layer", "solo track"):
        data.action = None
        track = data.nla_tracks.new()
        track.strips.new("walk", 1, action)
        track.is_solo = case == "solo track"
        if case == "added layer":
            data.action = bpy.data.actions.new("lean")
            for frame, angle in ((1, 0.0), (20, 0.3), (40, 0.0)):
                spine.rotation_euler.x = angle
                spine.keyframe_insert("rotation_euler", frame=frame)
            data.action_blend_type, data.action_influence = "ADD", 0.7
    elif case == "nla off":
        data.use_nla, scene.poise.as_nla = False, True
    elif case == "squash":
        for frame, size in ((1, 1.0), (20, 1.4), (40, 0.7)):
            spine.scale = (size**-0.5, size, size**-0.5)
            spine.keyframe_insert("scale", frame=frame)
    elif case == "curve modifiers":
        for curve in curves(action):
            if "Arm" in curve.data_path:
                noise = curve.modifiers.new("NOISE")
                noise.scale, noise.strength = 12.0, 0.2
    elif case == "rest position":
        armature.data.pose_position = "REST"
    elif case == "edit mode":
        bpy.ops.object.mode_set(mode="EDIT")
    elif case == "disabled":
        armature.hide_viewport = True
    elif case == "stretched time":
        scene.render.frame_map_new = 200
    elif case == "linked":
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / "library.blend"), copy=True)
        bpy.data.objects.remove(armature)
        with bpy.data.libraries.load(str(folder / "library.blend"), link=True) as (_, wanted):
            wanted.objects = ["walk"]
        armature = wanted.objects[0]
        scene.collection.objects.link(armature)
        scene.poise.armature = armature
    scene.frame_end = 40
    bpy.context.view_layer.update()
    return armature


def seen(armature: Any) -> Any:
    """Where its bones begin in each frame, as Blender shows it."""
    found, scene = [], bpy.context.scene
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        found.append([shown.matrix_world @ bone.head for bone in shown.pose.bones])
    return np.array(found)


def strange() -> None:
    """Scenes of strangers: unpushed, they come back as they were, or are refused in a sentence."""
    cases = "plain", "driver", "centimeters", "added layer", "solo track", "nla off", "squash", "curve modifiers"
    said["strange"] = {}
    for case in cases:
        armature = set_up(case)
        scene, before = bpy.context.scene, seen(armature)
        size = float(np.ptp(before[0], axis=0).max())
        bpy.ops.poise.simulate()
        still = float(np.abs(seen(scene.poise.armature) - before).max()) / size
        scene.frame_set(10)
        bpy.ops.poise.add_push()
        said["forces"] = [o.poise.force for o in part("scene").pushes(scene, armature)]
        bpy.ops.poise.simulate()
        once = seen(scene.poise.armature)
        bpy.ops.poise.simulate()
        again = seen(scene.poise.armature)
        scene.frame_set(10)
        bpy.ops.poise.physics()
        drawn = np.concatenate([p for _, _, p in part("draw").points(scene)])
        said["strange"][case] = {
            "still": still,
            "moved": float(np.abs(once - before).max()) / size,
            "again": float(np.abs(again - once).max()) / size,
            "copy": scene.poise.armature != armature,
            "pushes": len(part("scene").pushes(scene, armature)),
            "drawn": float(np.abs(drawn - seen(scene.poise.armature)[9].mean(axis=0)).max()) / size,
            "armatures": sum(o.type == "ARMATURE" for o in bpy.data.objects),
        }
    bpy.context.scene.poise.armature.scale = (0.4, 0.4, 0.4)
    bpy.context.view_layer.update()
    bpy.ops.poise.add_push()
    said["forces"] += [bpy.context.object.poise.force]
    said["refused"] = {}
    for case in ("rest position", "edit mode", "disabled", "stretched time", "linked"):
        set_up(case)
        said["refused"][case] = refusal(bpy.ops.poise.simulate)


def check_and_mend() -> None:
    armature = scene_with(walk)
    action = armature.animation_data.action
    root = next(b for b in armature.pose.bones if b.parent is None)
    for curve in curves(action):
        if curve.data_path == f'pose.bones["{root.name}"].location':
            slide = root.bone.matrix_local.to_3x3().inverted() @ __import__("mathutils").Vector((0.0, 0.25, 0.0))
            for point in curve.keyframe_points:
                point.co.y += slide[curve.array_index] * point.co.x / 60.0
            curve.update()
    own = keys(action)
    before = read(armature)
    bpy.ops.poise.check()
    scene = bpy.context.scene
    said["findings"] = [
        {"name": f.name, "fails": f.fails, "mendable": f.is_mendable, "sentence": f.sentence,
         "cures": [c.text for c in f.cures], "frames": [[s.first, s.last] for s in f.stretches]}
        for f in scene.poise.findings
    ]  # fmt: skip
    renumbered = part("scene").in_scene
    said["sentences"] = [renumbered(text, 10) for text in SENTENCES]
    said["markers"] = [[m.name, m.frame] for m in scene.timeline_markers]
    bpy.ops.poise.mend(only="skate")
    save("mended", armature, before)
    said["mended"] = armature.animation_data.action.name
    said["keys kept by mend"] = keys(action) == own
    said["left by mend"] = [f.name for f in scene.poise.findings if f.fails], scene.poise.is_checked
    bpy.ops.poise.check()
    bpy.ops.poise.forget()
    said["cleared"] = not scene.timeline_markers and not scene.poise.findings
    armature.animation_data.action = action
    bpy.ops.poise.check()
    bpy.ops.poise.repair()
    said["findings forgotten"] = not scene.poise.is_checked and not scene.timeline_markers
    said["repaired"] = armature.animation_data.action.name


def flight() -> None:
    armature = scene_with(hop)
    bpy.context.scene.frame_end = 10_000
    action = armature.animation_data.action
    bpy.context.scene.frame_end = int(action.frame_range[1])
    bpy.ops.poise.physics()
    draw = part("draw")
    seen = draw.physics
    said["flights"] = len(seen.flights)
    bpy.context.scene.frame_set(seen.flights[0].first)
    said["drawn"] = [len(draw.lines(bpy.context.scene)), len(draw.points(bpy.context.scene))]
    bpy.ops.poise.flight()
    start, end = part("flight").flight_handles()
    end.location.x += 0.3
    bpy.context.scene.poise.armature, bpy.context.view_layer.objects.active = None, end  # as who drags it leaves it
    bpy.context.view_layer.update()
    arc = draw.lines(bpy.context.scene)[0][1]
    said["arc ends"] = [arc[0].tolist(), arc[-1].tolist()]
    said["handles"] = [list(start.location), list(end.location)]
    said["arc rise"] = float(arc[:, 2].max() - max(arc[0, 2], arc[-1, 2]))
    before = read(armature)
    frames = [f - 1 for f in (seen.flights[0].first, seen.flights[0].last)]
    wanted = [list(start.location), list(end.location)]
    bpy.ops.poise.apply_flight()
    save("thrown", armature, before)
    said["thrown"] = {"frames": frames, "ends": wanted, "handles left": part("flight").flight_handles() is not None}


def surroundings() -> None:
    armature = scene_with(walk)
    scene = bpy.context.scene
    before = read(armature)
    ground, bodies = (bpy.data.collections.new(n) for n in ("ground", "bodies"))
    for collection, place, size in (
        (ground, (*before.places[-1, 0, :2], -0.92), 2.0), (bodies, (*before.places[0, 0, :2] + [0.0, 2.0], 1.0), 0.4),
    ):  # fmt: skip
        scene.collection.children.link(collection)
        bpy.ops.mesh.primitive_cube_add(size=size, location=place)
        cube = bpy.context.object
        for other in list(cube.users_collection):
            other.objects.unlink(cube)
        collection.objects.link(cube)
    bpy.context.view_layer.update()
    scene.poise.bodies = bodies
    bpy.ops.poise.simulate()
    crate = bodies.objects[0]
    scene.frame_set(scene.frame_end)
    said["crate"] = [crate.animation_data.action.name, list(crate.matrix_world.translation), scene.frame_current]
    for frame, x in ((scene.frame_start, 2.0), (scene.frame_end, 5.0)):
        crate.location.x = x
        crate.keyframe_insert("location", frame=frame)
    said["crate begins"] = part("scene").read_bodies(scene, scene.frame_start)[0]["position"][0], scene.frame_current
    scene.poise.bodies, scene.poise.ground = None, ground
    said["message of ground"] = part("scene").read_ground(ground, bpy.context.evaluated_depsgraph_get())
    bpy.ops.poise.simulate()
    save("ground", armature, before)


def track() -> None:
    armature = scene_with(walk)
    bpy.ops.import_anim.bvh(filepath=str(walk), global_scale=0.012, frame_start=1)
    other = bpy.context.object
    scene = bpy.context.scene
    scene.poise.actor, scene.poise.armature = armature, other
    before = read(other)
    bpy.ops.poise.track()
    save("tracked", other, before)
    scene.poise.actor = other
    said["same"] = refusal(bpy.ops.poise.track)


def live() -> None:
    armature = scene_with(walk)
    bpy.context.scene.frame_set(10)
    bpy.ops.poise.add_push()
    (arrow,) = part("scene").pushes(bpy.context.scene, armature)
    running = part("live").Live(bpy.context)
    seen, took = [], []
    for turn in (0.0, 1.5, 3.0, 4.5):
        arrow.rotation_euler.z = turn
        bpy.context.view_layer.update()
        part("draw").forget_preview()
        began = time.perf_counter()
        while part("draw").preview is None:
            running.tick(bpy.context)
            time.sleep(0.002)
        took.append(time.perf_counter() - began)
        seen.append(part("draw").preview.places[-1, 0].tolist())
    said["live"] = {"seconds": took, "ends": seen, "frames": len(part("draw").preview.frames)}
    bones, there = running.rig.bones, running.rig.places[9]
    said["live bones"] = []
    for name in ("LeftForeArm", "RightUpLeg"):
        child = running.rig.message["parents"].index(bones.index(name))
        arrow.location = 0.5 * (there[bones.index(name)] + there[child]) + np.array([0.0, 0.0, 0.02])
        bpy.context.view_layer.update()
        part("scene").move_pushes(bpy.context.scene, running.rig)
        said["live bones"].append(arrow.poise.bone)
    arrow.poise.bone = "Head"
    part("scene").move_pushes(bpy.context.scene, running.rig)
    said["live bones"].append(arrow.poise.bone)
    said["moved name"] = arrow.name
    before = arrow.poise.bone
    arrow.location.z += 0.5
    running.state(bpy.context)
    said["live asked"] = arrow.poise.bone == before
    said["live lines"] = len(part("draw").lines(bpy.context.scene))
    part("live").POISE_OT_live.is_on = True  # as while it runs; another file ends it
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False)
    said["live after another file"] = part("live").POISE_OT_live.is_on


def end() -> None:
    server, rig = part("server"), part("rig")
    armature = scene_with(walk)
    bpy.context.scene.frame_end = 390
    job = server.Job(server.get(), "repair", {"motion": rig.read(armature, bpy.context.scene, 1, 390).message})
    job.cancel()
    try:
        job.result()
    except server.PoiseError as error:
        said["cancelled"] = str(error)
    bpy.context.scene.poise.armature = None
    bpy.context.view_layer.objects.active = None
    bpy.ops.mesh.primitive_cube_add()
    skin, figure = bpy.context.object, part("jobs").figure
    said["figures"] = [figure(bpy.context) == armature]
    bpy.data.objects.new("another", bpy.data.armatures.new("another"))
    bpy.context.scene.collection.objects.link(bpy.data.objects["another"])
    said["figures"].append(figure(bpy.context) is None)
    skin.modifiers.new("Armature", "ARMATURE").object = armature
    said["figures"].append(figure(bpy.context) == armature)
    bpy.data.objects.remove(skin)
    said["no armature"] = refusal(bpy.ops.poise.simulate)
    process = server.get().process
    bpy.ops.preferences.addon_disable(module=ID)
    said["server ended"] = process.poll() is not None
    said["unregistered"] = not hasattr(bpy.types.Scene, "poise")
    try:
        server.get("/no/such/python")
    except server.PoiseError as error:
        said["no python"] = str(error)
    try:
        server.get("/bin/false")
    except server.PoiseError as error:
        said["no poise"] = str(error)


install()
for step in (simulate, odd, constrained, strange, check_and_mend, flight, surroundings, track, live, end):
    step()
(folder / "said.json").write_text(json.dumps(said))
