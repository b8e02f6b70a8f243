# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An armature as a motion for Poise, and a motion as a new action of it.

Poise's joints stand where bones begin and are turned as bones are. World space, meters, Z up.
"""

import math
from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from .server import PoiseError, packed, unpacked

SKEW = 1e-3
"""Bones whose axes are less square than this cannot be read [1]."""


@dataclass
class Rig:
    """What was read from an armature, and is needed to write to it.

    Attributes:
        name: Of the armature's object.
        bones: Names of the bones that are joints, parents before children.
        chain: The same with the bones between them.
        frames: Frames of the scene.
        fps: [1/s].
        message: The motion.
        places: World positions of the joints, (F, J, 3).
        worlds: The object's matrix in each frame.
        scales: Scale of each bone in each frame, where it is not 1.
        basis: Own pose of bones between joints, by frame and name.
        is_held: Constraints act on bones of the chain.
        notes: What the user should know.
    """

    name: str
    bones: list
    chain: list
    frames: list
    fps: float
    message: dict
    places: np.ndarray
    worlds: list
    scales: dict
    basis: list
    is_held: bool
    notes: list = field(default_factory=list)

    @property
    def armature(self):
        """The object; by name, since an undo while a job runs replaces all objects."""
        found = bpy.data.objects.get(self.name)
        if found is None:
            raise PoiseError(f"The armature {self.name!r} is gone.")
        return found


def frame_rate(scene):
    return scene.render.fps / scene.render.fps_base


def read(armature, scene, first, last):
    """Read frames first … last of an armature.

    Raises:
        PoiseError: if it has no bones, or its scale cannot be read.
    """
    if armature is None or armature.type != "ARMATURE":
        raise PoiseError("Choose an armature first.")
    if last - first < 2:
        raise PoiseError(f"Frames {first} to {last} are too few: Poise needs three or more. Set the frame range.")
    bones, above, chain, notes = joints_of(armature.data)
    index = {name: j for j, name in enumerate(bones)}
    parents = np.array([-1 if name is None else index[name] for name in above])
    frames, now = list(range(first, last + 1)), scene.frame_current_final
    places, turns = np.empty((len(frames), len(bones), 3)), np.empty((len(frames), len(bones), 4))
    worlds, scales, basis = [], {}, []
    try:
        for i, frame in enumerate(frames):
            scene.frame_set(frame)
            world = armature.matrix_world.copy()
            worlds.append(world)
            pose = armature.pose.bones
            for j, name in enumerate(bones):
                matrix = pose[name].matrix
                place, turn, _ = (world @ matrix).decompose()
                places[i, j], turns[i, j] = place, turn
                scale = matrix.to_scale()
                if max(abs(s - 1.0) for s in scale) > 1e-5:
                    scales[i, name] = scale
            basis.append({name: _own_pose(pose[name]) for name in chain if name not in index})
    finally:
        scene.frame_set(int(now), subframe=now - int(now))
    _require_square(armature, worlds[0])
    is_held = any(not c.mute for name in chain for c in armature.pose.bones[name].constraints)
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    message = _message(armature, bones, parents, worlds[0])
    moved, turned = local_poses(parents, places, turns)
    rate = frame_rate(scene)
    message |= {"fps": rate, "translations": packed(moved), "rotations": packed(turned)}
    return Rig(armature.name, bones, chain, frames, rate, message, places, worlds, scales, basis, is_held, notes)


def _own_pose(posed):
    """A bone's own pose as it is seen, constraints and drivers included."""
    bone, above = posed.bone, {}
    if posed.parent is not None:
        above = {"parent_matrix": posed.parent.matrix, "parent_matrix_local": bone.parent.matrix_local}
    return bone.convert_local_to_pose(posed.matrix, bone.matrix_local, invert=True, **above)


NEAR = 0.15
"""A bone without a parent that begins so near to another one, by the size of the armature, hangs on it [1]: feet often
lie beside their IK controls, and rigs are often made of parts."""
MIDDLE = 0.03
"""What is no farther from the middle belongs to no side, by the width or size of the armature [1]."""


def joints_of(data):
    """Bones that become joints: those that deform, or all if none do; the trunk's tree, and what hangs on it.

    Returns:
        Their names, parents before children; the joint that each hangs on, or None; the same names with the bones
        between them; what the user should know.
    """
    deforming = {b.name for b in data.bones if b.use_deform} or {b.name for b in data.bones}
    if not deforming:
        raise PoiseError("The armature has no bones.")
    trees, parent = {}, {}
    for bone in _parents_first(data):
        if bone.name in deforming:
            above = parent[bone.name] = next((b.name for b in bone.parent_recursive if b.name in deforming), None)
            root = bone.name if above is None else next(r for r, t in trees.items() if above in t)
            trees.setdefault(root, []).append(bone.name)
    main, notes = _trunk(data, trees), []
    bones, hung = trees.pop(main), []
    size = max(max(b.head_local[k] for b in data.bones) - min(b.head_local[k] for b in data.bones) for k in range(3))
    near = {root: _nearest(data.bones[root], [data.bones[name] for name in bones], size) for root in trees}
    while trees:
        root = min(trees, key=lambda r: near[r])
        if near[root][0] > NEAR * size:
            break
        parent[root], added = near[root][1], trees.pop(root)
        bones = bones + added
        hung.append(root)
        for other in trees:
            near[other] = min(near[other], _nearest(data.bones[other], [data.bones[name] for name in added], size))
    if hung:
        shown = ", ".join(f"{root!r} on {parent[root]!r}" for root in hung[:2])
        notes.append(f"{len(hung)} bones without a parent hang on the nearest one: {shown}{' …' if hung[2:] else ''}.")
    if len(deforming) > len(bones):
        notes.append(f"{len(deforming) - len(bones)} bones outside of the tree of {main!r} stay as they are.")
    needed = set(bones)
    for name in bones:
        needed |= {b.name for b in data.bones[name].parent_recursive}
    chain = [b.name for b in _parents_first(data) if b.name in needed]
    return bones, [parent[name] for name in bones], chain, notes


def _trunk(data, trees):
    """The root of the tree that the others hang on: the longest of those that begin in the middle of the armature."""
    places = [b.head_local.x for tree in trees.values() for b in (data.bones[name] for name in tree)]
    middle, width = 0.5 * (max(places) + min(places)), max(places) - min(places)
    inside = [r for r in trees if abs(data.bones[r].head_local.x - middle) <= MIDDLE * width] or list(trees)
    return max(inside, key=lambda root: sum(data.bones[name].length for name in trees[root]))


def _nearest(bone, others, size):
    """How far a bone begins from the nearest of others at rest, and which that is; none of the other side."""
    best = (math.inf, "")
    start, side = bone.head_local, bone.head_local.x
    for other in others:
        a, b = other.head_local, other.tail_local
        if abs(side) > MIDDLE * size and max(a.x * side, b.x * side) < 0.0:
            continue
        along = b - a
        part = min(1.0, max(0.0, (start - a).dot(along) / max(along.length_squared, 1e-12)))
        best = min(best, ((start - (a + part * along)).length, other.name))
    return best


def _parents_first(data):
    todo = [b for b in data.bones if b.parent is None]
    while todo:
        bone = todo.pop(0)
        yield bone
        todo[:0] = bone.children


def _require_square(armature, world):
    axes = np.array(world.to_3x3())
    sizes = np.linalg.norm(axes, axis=0)
    if np.linalg.det(axes) <= 0.0 or np.ptp(sizes) > SKEW * sizes.max():
        raise PoiseError(
            f"{armature.name!r} is mirrored, or scaled by another amount along each axis. Apply its scale (Ctrl A)."
        )


def _message(armature, bones, parents, world):
    """The skeleton: rest pose, and tips of the last bones."""
    places, turns, sites = np.empty((len(bones), 3)), np.empty((len(bones), 4)), []
    size = world.to_scale()[0]
    for j, name in enumerate(bones):
        bone = armature.data.bones[name]
        places[j], turns[j], _ = (world @ bone.matrix_local).decompose()
        if j not in parents:
            sites.append({"joint": j, "offset": [0.0, bone.length * size, 0.0], "name": f"{name} tip"})
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    moved, turned = local_poses(parents, places[None], turns[None])
    return {
        "names": list(bones),
        "parents": parents.tolist(),
        "offsets": packed(moved[0]),
        "rest_rotations": packed(turned[0]),
        "end_sites": sites,
    }


# --- quaternions, wxyz


def product(a, b):
    w1, x1, y1, z1 = np.moveaxis(a, -1, 0)
    w2, x2, y2, z2 = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        ],
        axis=-1,
    )


def rotated(q, v):
    twice = 2.0 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * twice + np.cross(q[..., 1:], twice)


BACK = np.array([1.0, -1.0, -1.0, -1.0])


def local_poses(parents, places, turns):
    """Poses in the parent's frame from poses in the world, (F, J, 3) and (F, J, 4)."""
    moved, turned = places.copy(), turns.copy()
    child = np.flatnonzero(parents >= 0)
    above = parents[child]
    moved[:, child] = rotated(turns[:, above] * BACK, places[:, child] - places[:, above])
    turned[:, child] = product(turns[:, above] * BACK, turns[:, child])
    return moved, turned


def world_poses(parents, moved, turned):
    """The other way round."""
    places, turns = moved.copy(), turned.copy()
    for j, p in enumerate(parents):
        if p >= 0:
            places[:, j] = places[:, p] + rotated(turns[:, p], moved[:, j])
            turns[:, j] = product(turns[:, p], turned[:, j])
    return places, turns


# --- the result


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


def write(rig, result, name, *, as_nla=False):
    """Put a result on the armature as a new action. The action that was there keeps its keys.

    Where constraints act on its bones, they would act on the result, too: it goes onto a copy without them.
    """
    armature = free_copy(rig.armature) if rig.is_held else rig.armature
    data = armature.animation_data_create()
    before = data.action
    action = before.copy() if before is not None else bpy.data.actions.new(name)
    action.name = name
    slot = None
    if hasattr(action, "slots"):
        old = data.action_slot.identifier if before is not None and data.action_slot is not None else None
        slot = next((s for s in action.slots if s.identifier == old), None)
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
    if before is not None:
        before.use_fake_user = True  # it stays in the file, whatever is done with the new one
    if as_nla:
        if before is not None:
            _strip(data, before, f"{before.name} (before)", data.action_slot if slot is not None else None)
        data.action = None
        _strip(data, action, name, slot)
    else:
        data.action = action
        if slot is not None:
            data.action_slot = slot
    return armature, action


def free_copy(armature):
    """A copy of an armature whose bones are moved by keys alone; its meshes are copied with it."""
    made = armature.copy()
    made.name = f"{armature.name} Poise"
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
            scale = rig.scales.get((nearest[i], name), Vector((1.0, 1.0, 1.0)))
            made[name] = Matrix.LocRotScale(place, turn, scale)
            own = bone.convert_local_to_pose(made[name], bone.matrix_local, invert=True, **above)
            move, turn, size = own.decompose()
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
