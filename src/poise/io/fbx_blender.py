"""What Blender does for Poise: open a file and export it. Blender runs this file; Poise never imports it.

Arguments after `--`: the file, its ending, the file to write, its ending, frames per second (0: as the file says).

Blender's glTF knows whole rates only. So a .glb is handed in and out as if it had the nearest whole rate; the scene's
extra `poise_stretch` says by what its times are to be multiplied.
"""

import runpy
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy  # pyright: ignore[reportMissingImports]
import numpy as np
from mathutils import Matrix, Quaternion, Vector  # pyright: ignore[reportMissingImports]
from mathutils.kdtree import KDTree  # pyright: ignore[reportMissingImports]

FILE = runpy.run_path(str(Path(__file__).with_name("fbx_file.py")))
"""What is done to an FBX before Blender opens it."""


def open_file(path: str, kind: str, made: str, rate: float) -> None:
    """Bring a file into an empty scene, at a rate [1/s] if one is given; `made` is the file to write later."""
    given = path
    if kind == ".blend":
        bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)
        return  # the scene of its maker, as it is
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if kind == ".fbx":
        try:
            path = FILE["prepared"](path, made, is_binary_wanted="fbx_import" not in dir(bpy.ops.wm))
        except Exception as error:  # what this parser cannot read, the importer may
            print(f"poise: the file stays as it is: {error!r}")
    if rate > 0.0:
        bpy.context.scene.render.fps = max(1, round(rate))
        bpy.context.scene.render.fps_base = 1.0
    if kind == ".glb":
        bpy.ops.import_scene.gltf(filepath=path)
    elif kind == ".dae":
        if "collada_import" not in dir(bpy.ops.wm):
            raise SystemExit(f"Blender {bpy.app.version_string} no longer reads Collada; Blender 4.5 and older do.")
        bpy.ops.wm.collada_import(filepath=path)
    elif "fbx_import" in dir(bpy.ops.wm):
        bpy.ops.wm.fbx_import(filepath=path, anim_offset=0.0)
    else:
        bpy.ops.import_scene.fbx(filepath=path, automatic_bone_orientation=False, anim_offset=0.0)
        settle_clips()
    let_bones_move()
    curves = curves_by_path()
    settle_armatures(curves)
    settle_tips(curves)
    if kind == ".fbx":
        try:
            root, version, _ = FILE["read"](given)
            settle_loose(root, version, curves)
            key_what_stands(root, version)
            turn_skins(root, version)
        except Exception as error:  # a bind pose that says nothing
            print(f"poise: bones and skins stay as they are: {error!r}")
    skin_every_vertex()
    put_keys_on_frames(rate)


def settle_clips() -> None:
    """Name clips and time their keys as the importer of Blender 4.5 does; before it there is only the one in Python.

    That one makes an action of each object and clip, of which only the first is exported. Tracks of one name become one
    clip. It counts keys in frames of the whole rate, and 29.97 frames per second are 30 to it.
    """
    bpy.context.scene.render.fps_base = 1.0
    things = sorted(bpy.data.objects, key=lambda thing: -len(thing.name))
    for action in bpy.data.actions:
        thing = next((thing for thing in things if action.name.startswith(thing.name + "|")), None)
        if thing is None or thing.animation_data is None:  # of a material or a shape
            continue
        name = action.name.removeprefix(thing.name + "|").removesuffix("|BaseLayer")
        track = thing.animation_data.nla_tracks.new()
        track.name = name
        track.strips.new(name, 0, action)
        thing.animation_data.action = None


def let_bones_move() -> None:
    """Disconnect the bones: Blender connects one that rests on its parent's tip, and it then ignores its places."""
    for thing in bpy.context.view_layer.objects:
        if thing.type == "ARMATURE":
            bpy.context.view_layer.objects.active = thing
            bpy.ops.object.mode_set(mode="EDIT")
            for bone in thing.data.edit_bones:
                bone.use_connect = False
            bpy.ops.object.mode_set(mode="OBJECT")


def holders_of(action: bpy.types.Action) -> list:
    """What holds the curves of an action: its channel bags, or itself before Blender 4.4."""
    bags = [bag for layer in getattr(action, "layers", ()) for strip in layer.strips for bag in strip.channelbags]
    return bags or ([action] if hasattr(action, "fcurves") else [])


def curves_of(action: bpy.types.Action) -> list:
    """All curves of an action."""
    return [curve for holder in holders_of(action) for curve in holder.fcurves]


def put_keys_on_frames(rate: float) -> None:
    """Let the scene have the rate of the keys, if none is given: what lies between whole frames is not exported.

    Keys that miss a frame by a rounding are moved onto it, or the last one would be left out.
    """
    times = {a: [[k.co[0] for k in c.keyframe_points] for c in curves_of(a)] for a in bpy.data.actions}
    curves = max(times.values(), key=lambda found: len({t for one in found for t in one}), default=[])
    longest, long = sorted({t for one in curves for t in one}), [one for one in curves if len(one) > 2]
    are_whole = [all(abs(t - round(t)) <= 0.005 for t in one) for one in long]
    gaps = sorted(b - a for a, b in pairwise(longest) if b - a > 1e-3)
    step, first = 1.0, 0.0
    if gaps and rate <= 0.0 and sum(are_whole) <= 0.5 * len(long):  # a few curves with more keys set no rate
        own, start = gaps[len(gaps) // 2], longest[0]
        own = (longest[-1] - start) / max(round((longest[-1] - start) / own), 1)
        is_even = all(abs((t - start) / own - round((t - start) / own)) < 0.02 for t in longest)
        if is_even and any(abs(t - round(t)) > 0.005 for t in longest):
            step, first = own, start - round(start / own) * own
    scene = bpy.context.scene
    scene.render.fps_base *= step
    for action in bpy.data.actions:
        for curve in curves_of(action):
            for key in curve.keyframe_points:
                key.interpolation = "LINEAR" if step != 1.0 and key.interpolation == "BEZIER" else key.interpolation
                key.co[0] = (key.co[0] - first) / step
                if abs(key.co[0] - round(key.co[0])) < 0.02:
                    key.co[0] = round(key.co[0])
            curve.update()


def turn_skins(root: Any, version: int) -> None:
    """Turn a skin to its bones as the bind pose of an FBX says.

    Where an armature was turned after its skin was bound, Blender turns the bones back and leaves the skin. The bind
    pose holds, for each bone, where the bone and the skin stood: T_scene_bone and T_bone_skin.
    """
    if not 7000 <= version < 8000:
        return
    parts = {e.id: e.elems for e in root.elems}
    own = {e.props[0]: e for e in parts[b"Objects"]}
    below: dict[int, list[int]] = {}
    for link in parts[b"Connections"]:
        below.setdefault(link.props[2], []).append(link.props[1])

    def under(uid: int, kind: bytes) -> list[int]:
        return [u for u in below.get(uid, ()) if u in own and kind in (own[u].id, own[u].props[2])]

    for mesh in [e for e in own.values() if e.id == b"Geometry"]:
        clusters = [c for skin in under(mesh.props[0], b"Skin") for c in under(skin, b"Cluster") if under(c, b"Model")]
        names = [own[under(c, b"Model")[0]].props[1].split(b"\0")[0].decode() for c in clusters]
        placed = [
            {e.id: np.reshape(e.props[0], (4, 4)).T for e in own[c].elems if len(e.props) and np.size(e.props[0]) == 16}
            for c in clusters
        ]
        size = next((np.size(e.props[0]) // 3 for e in mesh.elems if e.id == b"Vertices"), 0)
        for thing in bpy.data.objects:
            armature = thing.parent
            if thing.type != "MESH" or armature is None or armature.type != "ARMATURE" or len(names) < 3:
                continue
            if len(thing.data.vertices) == size and set(names) == {group.name for group in thing.vertex_groups}:
                turn_skin(thing, armature, names, placed)


def turn_skin(thing: bpy.types.Object, armature: bpy.types.Object, names: list[str], placed: list[dict]) -> None:
    """Turn one skin so that it stands to its bones as when it was bound, if that brings it nearer to them."""
    T_scene_bone = np.array([one[b"TransformLink"] for one in placed])
    T_scene_skin = T_scene_bone @ np.array([one[b"Transform"] for one in placed])
    rest = np.array([armature.data.bones[name].head_local for name in names])
    bound, size = T_scene_bone[:, :3, 3], np.ptp(rest, axis=0).max()
    left, sizes, right = np.linalg.svd((rest - rest.mean(0)).T @ (bound - bound.mean(0)))
    sides = np.array([1.0, 1.0, np.linalg.det(left @ right)])
    scale = (sizes * sides).sum() / ((bound - bound.mean(0)) ** 2).sum()  # of centimeters to meters, say
    T_armature_scene = np.eye(4)
    T_armature_scene[:3, :3] = scale * left @ np.diag(sides) @ right
    T_armature_scene[:3, 3] = rest.mean(0) - T_armature_scene[:3, :3] @ bound.mean(0)
    fitted = bound @ T_armature_scene[:3, :3].T + T_armature_scene[:3, 3]
    found = T_armature_scene @ T_scene_skin[0]
    now = np.array(armature.matrix_world.inverted() @ thing.matrix_world)
    turn = found @ np.linalg.inv(now)
    if np.abs(fitted - rest).max() > 1e-3 * size or np.ptp(T_scene_skin, axis=0)[:3, :3].max() > 1e-3:
        return  # the bones do not rest as in the bind pose, or it disagrees with itself
    if np.abs(turn[:3, :3] @ turn[:3, :3].T - np.eye(3)).max() > 1e-3 or np.abs(turn[:3, :3] - np.eye(3)).max() < 1e-3:
        return
    groups, vertices = {group.index: group.name for group in thing.vertex_groups}, thing.data.vertices
    held = [(v.index, names.index(groups[g.group]), g.weight) for v in vertices for g in v.groups if g.weight > 0.0]
    places = np.array([[*v.co, 1.0] for v in vertices])
    at, bone, weights = np.array([h[0] for h in held]), np.array([h[1] for h in held]), np.array([h[2] for h in held])
    away = [np.linalg.norm((places[at] @ T.T)[:, :3] - rest[bone], axis=1) @ weights for T in (now, found)]
    if away[1] < 0.7 * away[0]:
        thing.matrix_world = armature.matrix_world @ Matrix(found)


def skin_every_vertex() -> None:
    """A vertex that no bone moves takes the bones of the nearest that has some; a mesh without any is no skin.

    Else the exporter would invent a bone for them, `neutral_bone`, which Poise would take for a limb.
    """
    for thing in bpy.data.objects:
        skins = [m for m in getattr(thing, "modifiers", ()) if m.type == "ARMATURE" and m.object is not None]
        if thing.type != "MESH" or not skins:
            continue
        bones = {bone.name for m in skins for bone in m.object.data.bones}
        groups = {group.index: group for group in thing.vertex_groups if group.name in bones}
        held = {v.index: [g for g in v.groups if g.group in groups and g.weight > 0.0] for v in thing.data.vertices}
        near = KDTree(len(held))
        for vertex in thing.data.vertices:
            if held[vertex.index]:
                near.insert(vertex.co, vertex.index)
        near.balance()
        loose = [index for index, found in held.items() if not found]
        if len(loose) == len(held):
            for modifier in skins:
                thing.modifiers.remove(modifier)
            continue
        for index in loose:
            _, other, _ = near.find(thing.data.vertices[index].co)
            for weight in [(g.group, g.weight) for g in held[other]]:
                groups[weight[0]].add([index], weight[1], "REPLACE")


def curves_by_path() -> dict[str, list[tuple]]:
    """All curves of all actions with what holds each, by what they move."""
    found = {}
    for action in bpy.data.actions:
        for holder in holders_of(action):
            for curve in holder.fcurves:
                found.setdefault(curve.data_path, []).append((holder, curve))
    return found


def settle_armatures(curves: dict[str, list[tuple]]) -> None:
    """An armature that stands still in all actions is not a bone: what keeps it there are no keys."""
    for thing in bpy.data.objects:
        if thing.type == "ARMATURE":
            paths = {"location", "rotation_quaternion", "rotation_euler", "scale"}
            for (path, index), value in without_still_keys(thing, curves, paths, 1e-6).items():
                getattr(thing, path)[index] = value


def settle_tips(curves: dict[str, list[tuple]]) -> None:
    """A last bone without skin that stands still on its parent rests there.

    Blender 4.5 takes its rest from the bind pose, but measures its keys from elsewhere.
    """
    skinned = {group.name for thing in bpy.data.objects for group in getattr(thing, "vertex_groups", ())}
    for thing in bpy.data.objects:
        for bone in thing.pose.bones if thing.type == "ARMATURE" else ():
            if not bone.children and bone.name not in skinned:
                paths = {f'pose.bones["{bone.name}"].{what}' for what in ("location", "rotation_quaternion", "scale")}
                if without_still_keys(thing, curves, paths, 1e-4):
                    bone.matrix_basis.identity()


def settle_loose(root: Any, version: int, curves: dict[str, list[tuple]]) -> None:
    """A bone that never moves on its parent rests where the file has it, if no skin is bound to it nor to one below it.

    Where a rig was moved after its skin was bound, Blender puts such a bone where it was before.
    """
    places, bound = FILE["places"](root, version), FILE["bound_bones"](root)
    for thing in [o for o in bpy.data.objects if o.type == "ARMATURE"] if bound else ():
        found = {}
        for bone in thing.data.bones:  # parents come first
            above, T = places.get(bone.name, ("", None))
            if bone.parent is None or bound & {bone.name, *(b.name for b in bone.children_recursive)}:
                continue
            if above != bone.parent.name or is_moved(bone.name, curves):
                T = np.array(bone.parent.matrix_local.inverted() @ bone.matrix_local)
            found[bone.name] = found.get(bone.parent.name, np.array(bone.parent.matrix_local)) @ T
        size = max((np.abs(bone.head_local).max() for bone in thing.data.bones), default=0.0)
        steps = {name: Vector(T[:3, 3]) - thing.data.bones[name].head_local for name, T in found.items()}
        steps = {name: step for name, step in steps.items() if step.length > 1e-5 * size}
        if not steps:
            continue
        bpy.context.view_layer.objects.active = thing
        bpy.ops.object.mode_set(mode="EDIT")
        for name, step in steps.items():
            thing.data.edit_bones[name].translate(step)
        bpy.ops.object.mode_set(mode="OBJECT")
        for name in steps:
            if not is_moved(name, curves):
                thing.pose.bones[name].matrix_basis.identity()


def key_what_stands(root: Any, version: int) -> None:
    """Give a bone that a clip does not move a key where the file has it: the exporter has it at rest in that clip."""
    places = FILE["places"](root, version)
    for thing in [o for o in bpy.data.objects if o.type == "ARMATURE"]:
        stands = {}
        for bone in thing.data.bones:
            above, T = places.get(bone.name, ("", None))
            if bone.parent is None or above != bone.parent.name or np.linalg.det(places[above][1][:3, :3]) < 0.0:
                continue  # what stands on a mirrored bone is mirrored in the file only
            basis = bone.matrix_local.inverted() @ bone.parent.matrix_local @ Matrix(T)
            place, turn, size = basis.decompose()
            if np.abs(np.array(size) - 1.0).max() < 1e-3:
                stands[bone.name, "location"] = place, 1e-5 * max(bone.head.length, bone.length)
                stands[bone.name, "rotation_quaternion"] = turn - Quaternion(), 1e-5
        for action in bpy.data.actions:
            for holder in (h for h in holders_of(action) if moves(h, thing)):
                keyed = {curve.data_path for curve in holder.fcurves}
                begin = min((k.co[0] for curve in holder.fcurves for k in curve.keyframe_points), default=0.0)
                for (name, what), (off, least) in stands.items():
                    path = f'pose.bones["{name}"].{what}'
                    if path in keyed or max(map(abs, off)) <= least:
                        continue
                    for index, value in enumerate(off + Quaternion() if len(off) == 4 else off):
                        holder.fcurves.new(path, index=index).keyframe_points.insert(begin, value)


def is_moved(bone: str, curves: dict[str, list[tuple]]) -> bool:
    """Whether a bone has keys."""
    return any(f'pose.bones["{bone}"].{what}' in curves for what in ("location", "rotation_quaternion", "scale"))


def moves(holder: Any, thing: bpy.types.Object) -> bool:
    """Whether what holds curves is a thing's: all things of a clip share one action, each with a slot of its own."""
    if hasattr(holder, "slot"):
        return holder.slot.identifier == "OB" + thing.name
    data = thing.animation_data
    return data is not None and (
        holder == data.action or holder in [s.action for t in data.nla_tracks for s in t.strips]
    )


def without_still_keys(
    thing: bpy.types.Object, curves: dict[str, list[tuple]], paths: set[str], tolerance: float
) -> dict[tuple[str, int], float]:
    """Remove a thing's curves of these paths and give their values, if none moves in any action; else nothing."""
    held = [pair for path in paths for pair in curves.get(path, ()) if moves(pair[0], thing)]
    values = {}
    for _, curve in held:
        keys = values.setdefault((curve.data_path, curve.array_index), [])
        keys.extend(key.co[1] for key in curve.keyframe_points)
    if any(max(v) - min(v) > tolerance for v in values.values() if v):  # a curve may have no keys
        return {}
    for holder, curve in held:
        holder.fcurves.remove(curve)
    for path in paths & curves.keys():
        curves[path] = [pair for pair in curves[path] if pair not in held]
    return {where: keys[0] for where, keys in values.items() if keys}


def mark_owners() -> dict[str, tuple[str, int]]:
    """Let the curves of each thing move a property that it alone has: the exporter plays all that fit on everything.

    It writes a clip for each thing. Given back, by the exporter's name, is the name of the clip that it belongs to, and
    which of that name it is.
    """
    clips = {}
    for number, thing in enumerate(bpy.data.objects):
        tracks = thing.animation_data.nla_tracks if thing.animation_data is not None else ()
        names, mark = [], f"poise_{number}"
        for name, action in [(track.name, s.action) for track in tracks for s in track.strips if s.action is not None]:
            clips[f"{thing.name}|{action.name}"] = name, names.count(name)
            names.append(name)
            thing[mark] = 0.0
            for holder in holders_of(action):
                if moves(holder, thing) and holder.fcurves.find(f'["{mark}"]') is None:
                    holder.fcurves.new(f'["{mark}"]')
    return clips


def write_file(path: str, kind: str, rate: float) -> None:
    """Export the scene with every action, at a rate [1/s] if one is given."""
    scene = bpy.context.scene
    if rate > 0.0:
        scene.render.fps_base = scene.render.fps / rate
    if kind == ".glb":
        scene["poise_stretch"] = scene.render.fps_base
        scene.render.fps_base = 1.0
        bpy.ops.export_scene.gltf(
            filepath=path,
            export_format="GLB",
            export_animations=True,
            export_animation_mode="ACTIONS",
            export_force_sampling=True,
            export_optimize_animation_size=False,
            export_frame_range=False,
            export_def_bones=False,
            export_rest_position_armature=True,
            export_cameras=False,
            export_lights=False,
            export_extras=True,
        )
        return
    clips = mark_owners()
    bpy.ops.export_scene.fbx(
        filepath=path,
        object_types={"ARMATURE", "MESH", "EMPTY"},
        add_leaf_bones=False,
        bake_anim=True,
        bake_anim_use_all_bones=True,
        bake_anim_use_nla_strips=False,
        bake_anim_use_all_actions=True,
        bake_anim_step=1.0,
        bake_anim_simplify_factor=0.0,
        path_mode="COPY",
        embed_textures=True,
    )
    FILE["join_clips"](path, clips)


def main() -> None:
    """Open one file and write another."""
    file, kind, made, wanted, rate = sys.argv[sys.argv.index("--") + 1 :]
    open_file(file, kind, made, float(rate))
    write_file(made, wanted, float(rate))
    print("poise: written", flush=True)


if __name__ == "__main__":
    main()
