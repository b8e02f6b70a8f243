# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion that comes back, as a new action of the armature that it was read from (rig.py)."""

from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from .rig import world_poses
from .server import unpacked

SOURCE = "poise_source"
"""Property of a simulated action: the action that it was made from, or "" for none; of a free copy: its armature."""


@dataclass
class Result:
    """A motion that came back: frames of the scene (F,), world positions (F, J, 3), orientations (F, J, 4)."""

    frames: np.ndarray
    places: np.ndarray
    turns: np.ndarray


def result_of(rig, data, first=0):
    """What the server sent, in the world; `first` is its first frame, counted from that of the rig."""
    frames = rig.frames[first] + unpacked(data["times"]) * rig.fps
    places, turns = world_poses(rig.message["parents"], unpacked(data["translations"]), unpacked(data["rotations"]))
    return Result(frames, places, turns)


def source(armature):
    """The armature that a free copy was made of; any other one itself."""
    return None if armature is None else armature.get(SOURCE) or armature


@contextmanager
def before_simulation(armature):
    """Show what was there before the last simulation: pushes act on it, however often they are changed."""
    data = None if armature is None else armature.animation_data
    now = None if data is None else data.action
    before = None if now is None else now.get(SOURCE)
    if before is None:
        yield
        return
    slot = getattr(data, "action_slot", None)
    identifier = "" if slot is None else slot.identifier
    _show(data, before or None, identifier)
    try:
        yield
    finally:
        _show(data, now, identifier)


def _show(data, action, identifier):
    data.action = action
    slot = next((s for s in getattr(action, "slots", ()) if s.identifier == identifier), None)
    if slot is not None:
        data.action_slot = slot


def write(rig, result, name, *, as_nla=False, is_simulated=False):
    """Put a result on the armature as a new action. The action that was there keeps its keys.

    Where constraints act on its bones, they would act on the result, too: it goes onto a copy without them.
    """
    armature = free_copy(rig.armature) if rig.is_held else rig.armature
    data = armature.animation_data_create()
    data.use_tweak_mode = False
    before = bpy.data.actions.get(rig.action)
    action = before.copy() if before is not None else bpy.data.actions.new(name)
    action.name = name
    if is_simulated and not rig.is_held:
        action[SOURCE] = before or ""
    elif SOURCE in action:
        del action[SOURCE]
    slot = None
    if hasattr(action, "slots"):
        slot = next((s for s in action.slots if s.identifier == rig.slot), None)
        slot = slot or action.slots.new(id_type="OBJECT", name=armature.name)
    holder = _holder(action, slot)
    keys = _keys(rig, result, {c.data_path for c in holder.fcurves})
    replaced = {path for path, _, _ in keys} | {
        f'pose.bones["{bpy.utils.escape_identifier(n)}"].{c}'
        for n in (rig.chain if rig.is_held else rig.bones)
        for c in ("rotation_quaternion", "rotation_euler", "rotation_axis_angle")
    }
    for curve in [c for c in holder.fcurves if c.data_path in replaced]:
        holder.fcurves.remove(curve)
    for path, bone, values in keys:
        for i in range(values.shape[1]):
            _key(holder, path, i, bone, result.frames, values[:, i])
    for kept in {before, data.action} - {None}:
        kept.use_fake_user = True  # it stays in the file, whatever is done with the new one
    for track in data.nla_tracks:
        track.is_solo = False  # else nothing but this track is seen
    if as_nla:
        if before is not None:
            _strip(data, before, f"{before.name} (before)", slot)
        data.action = None
        data.use_nla = True
        _strip(data, action, name, slot)
    else:
        data.action = action
        if slot is not None:
            data.action_slot = slot
        data.action_blend_type, data.action_influence, data.action_extrapolation = "REPLACE", 1.0, "HOLD"
    return armature, action


def free_copy(armature):
    """A copy of an armature whose bones are moved by keys alone; its meshes are copied with it. It is made once."""
    for other in bpy.context.scene.objects:
        if other.get(SOURCE) == armature:
            return other
    made = armature.copy()
    made.name, made[SOURCE] = f"{armature.name} Poise", armature
    for collection in armature.users_collection:
        collection.objects.link(made)
    for posed in made.pose.bones:
        for constraint in list(posed.constraints):
            posed.constraints.remove(constraint)
    if made.animation_data is not None:
        for driver in [d for d in made.animation_data.drivers if d.data_path.startswith("pose.bones")]:
            made.animation_data.drivers.remove(driver)
    for mesh in [o for o in bpy.data.objects if o.type == "MESH"]:
        if any(m.type == "ARMATURE" and m.object == armature for m in mesh.modifiers):
            other = mesh.copy()
            for collection in mesh.users_collection:
                collection.objects.link(other)
            for modifier in other.modifiers:
                if modifier.type == "ARMATURE" and modifier.object == armature:
                    modifier.object = made
            if other.parent == armature:
                other.parent = made
    return made


def write_object(thing, name, frames, rows):
    """A new action of an object: location and quaternion in each frame, (F, 7)."""
    data = thing.animation_data_create()
    if data.action is not None:
        data.action.use_fake_user = True
    action = bpy.data.actions.new(name)
    slot = action.slots.new(id_type="OBJECT", name=thing.name) if hasattr(action, "slots") else None
    holder = _holder(action, slot)
    for i in range(7):
        path, index = ("location", i) if i < 3 else ("rotation_quaternion", i - 3)
        _key(holder, path, index, "", frames, rows[:, i])
    data.action = action
    if slot is not None:
        data.action_slot = slot
    return action


def _holder(action, slot):
    """What holds F-curves: the action, or since 4.4 the channels of its slot."""
    if slot is None:
        return action
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True)


def _strip(data, action, name, slot):
    track = data.nla_tracks.new()
    track.name = name
    strip = track.strips.new(name, int(action.frame_range[0]), action)
    if slot is not None and hasattr(strip, "action_slot"):
        strip.action_slot = next((s for s in action.slots if s.identifier == slot.identifier), None)


def _key(holder, path, index, group, frames, values):
    curve = holder.fcurves.new(path, index=index)
    if group:
        curve.group = holder.groups.get(group) or holder.groups.new(group)
    points = curve.keyframe_points
    points.add(len(frames))
    points.foreach_set("co", np.column_stack([frames, values]).ravel().astype(np.float32))
    for point in points:
        point.interpolation = "LINEAR"
    curve.update()


def _keys(rig, result, known):
    """Channels as (path, bone, values (F, n)): each bone's own pose that puts it where the result has it.

    Args:
        rig, result: What was read, and what came back.
        known: Channels that the action has: places of bones are keyed where it does, or where they move.
    """
    index = {name: j for j, name in enumerate(rig.bones)}
    data, pose = rig.armature.data, rig.armature.pose.bones
    count = len(result.frames)
    keyed = rig.chain if rig.is_held else rig.bones
    moves, turns, sizes = ({name: np.ones((count, n)) for name in rig.chain} for n in (3, 4, 3))
    nearest = np.clip(np.round(result.frames).astype(int) - rig.frames[0], 0, len(rig.frames) - 1)
    for i in range(count):
        back, made = rig.worlds[nearest[i]].inverted(), {}
        for name in rig.chain:
            bone = data.bones[name]
            above = (
                {}
                if bone.parent is None
                else {"parent_matrix": made[bone.parent.name], "parent_matrix_local": bone.parent.matrix_local}
            )
            if name not in index:
                own = rig.basis[nearest[i]][name]
                made[name] = bone.convert_local_to_pose(own, bone.matrix_local, **above)
                moves[name][i], turns[name][i], sizes[name][i] = own.decompose()
                continue
            j = index[name]
            there = back @ Matrix.LocRotScale(Vector(result.places[i, j]), Quaternion(result.turns[i, j]), None)
            place, turn, _ = there.decompose()
            made[name] = Matrix.LocRotScale(place, turn, None)
            if (nearest[i], name) in rig.shapes:
                axes, before = rig.shapes[nearest[i], name]
                made[name] = Matrix.LocRotScale(place, turn @ before.inverted(), None) @ axes.to_4x4()
            own = bone.convert_local_to_pose(made[name], bone.matrix_local, invert=True, **above)
            move, turn, size = own.decompose()
            if (nearest[i], name) in rig.shapes:
                turn = _turn_along(own)
            moves[name][i], turns[name][i], sizes[name][i] = move, turn, size
            if bone.use_connect and bone.parent is not None:  # it cannot be moved: its children start where it ends up
                own = Matrix.LocRotScale(None, turn, size)
                made[name] = bone.convert_local_to_pose(own, bone.matrix_local, **above)
    keys = []
    for name in keyed:
        bone = data.bones[name]
        path = f'pose.bones["{bpy.utils.escape_identifier(name)}"]'
        is_fixed = bone.use_connect and bone.parent is not None
        is_moved = bone.parent is None or name == rig.bones[0] or np.abs(moves[name]).max() > 1e-6
        if not is_fixed and (is_moved or f"{path}.location" in known):
            keys.append((f"{path}.location", name, moves[name]))
        turning, values = _turning(path, pose[name].rotation_mode, turns[name])
        keys.append((turning, name, values))
        if rig.is_held and np.abs(sizes[name] - 1.0).max() > 1e-5:  # constraints stretch bones, too
            keys.append((f"{path}.scale", name, sizes[name]))
    return keys


def _turn_along(own):
    """The turn of a sheared matrix that keeps the direction of the bone, its second axis."""
    x, y = own.col[0].to_3d(), own.col[1].to_3d().normalized()
    z = x.cross(y).normalized()
    return Matrix((y.cross(z), y, z)).transposed().to_quaternion()


def _turning(path, mode, turns):
    """Rotation channels in the way the bone is turned by."""
    before, rows = None, []
    for q in (Quaternion(t) for t in turns):
        if mode == "QUATERNION":
            if before is not None:
                q.make_compatible(before)
            rows.append(q)
            before = q
        elif mode == "AXIS_ANGLE":
            axis, angle = q.to_axis_angle()
            rows.append((angle, *axis))
        else:
            before = q.to_euler(mode) if before is None else q.to_euler(mode, before)
            rows.append(before)
    channel = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(mode, "rotation_euler")
    return f"{path}.{channel}", np.array([tuple(r) for r in rows])
