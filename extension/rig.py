# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An armature as a motion for Poise (actions.py puts a motion on it).

Poise's joints stand where bones begin and are turned as bones are. World space, meters, Z up.
"""

import math
from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Matrix

from .server import PoiseError, packed

LARGE, SMALL = 15.0, 0.1
"""A figure beyond these sizes is seldom meant so [m]."""

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
        worlds: The object's matrix in each frame, to meters.
        shapes: Axes of each bone in each frame, where it is scaled or sheared, and its turn.
        basis: Own pose of bones between joints, by frame and name.
        action: Name of the action that moved it, or empty.
        slot: Identifier of its slot, or empty.
        is_held: Constraints or drivers act on bones of the chain.
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
    shapes: dict
    basis: list
    action: str
    slot: str
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


def unit(scene):
    """Meters of one unit of Blender."""
    return 1.0 if scene.unit_settings.system == "NONE" else scene.unit_settings.scale_length


def read(armature, scene, first, last):
    """Read frames first … last of an armature.

    Raises:
        PoiseError: if it has no bones, or its poses or its scale cannot be read.
    """
    if armature is None or armature.type != "ARMATURE":
        raise PoiseError("Choose an armature first.")
    if last - first < 2:
        raise PoiseError(f"Frames {first} to {last} are too few: Poise needs three or more. Set the frame range.")
    _require_posed(armature, scene)
    bones, above, chain, notes = joints_of(armature.data)
    index = {name: j for j, name in enumerate(bones)}
    parents = np.array([-1 if name is None else index[name] for name in above])
    frames, now = list(range(first, last + 1)), scene.frame_current_final
    places, turns = np.empty((len(frames), len(bones), 3)), np.empty((len(frames), len(bones), 4))
    worlds, shapes, basis = [], {}, []
    to_meters = Matrix.Scale(unit(scene), 4)
    try:
        for i, frame in enumerate(frames):
            scene.frame_set(frame)
            world = to_meters @ armature.matrix_world
            worlds.append(world)
            pose = armature.pose.bones
            for j, name in enumerate(bones):
                matrix = pose[name].matrix
                place, turn, _ = (world @ matrix).decompose()
                places[i, j], turns[i, j] = place, turn
                axes = matrix.to_3x3()
                if np.abs(np.array(axes.transposed() @ axes) - np.eye(3)).max() > 2e-5:
                    shapes[i, name] = axes, matrix.to_quaternion()
            basis.append({name: _own_pose(pose[name]) for name in chain if name not in index})
    finally:
        scene.frame_set(int(now), subframe=now - int(now))
    _require_square(armature, worlds[0])
    is_held = _is_driven(armature, chain) or any(
        not c.mute for name in chain for c in armature.pose.bones[name].constraints
    )
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    message = _message(armature, bones, parents, worlds[0])
    moved, turned = local_poses(parents, places, turns)
    rate = frame_rate(scene)
    message |= {"fps": rate, "translations": packed(moved), "rotations": packed(turned)}
    size = np.ptp(places[0], axis=0).max()
    if not SMALL < size < LARGE:
        notes.append(
            f"The figure is {size:.3g} m large. If it should not be, set Unit Scale in the scene's units "
            "(0.01 where one unit is a centimeter), or scale it."
        )
    action, slot = _moved_by(armature)
    return Rig(
        armature.name, bones, chain, frames, rate, message, places, worlds, shapes, basis, action, slot, is_held, notes
    )  # fmt: skip


def _moved_by(armature):
    """Names of the action and its slot."""
    data = armature.animation_data
    if data is None or data.action is None:
        return "", ""
    slot = getattr(data, "action_slot", None)
    return data.action.name, "" if slot is None else slot.identifier


def _require_posed(armature, scene):
    """Refuse an armature that does not show its poses, or whose new keys would not be seen."""
    name, wrong = repr(armature.name), ""
    if armature.library is not None:
        wrong = f"{name} is linked from another file. Make a library override first (Object > Library Override)."
    elif armature.mode == "EDIT":
        wrong = f"{name} is being edited. Leave edit mode first (Tab)."
    elif armature.data.pose_position == "REST":
        wrong = f"{name} shows its rest position. Choose Pose Position in its data properties."
    elif not (armature.visible_get() or _is_hidden_by_eye(armature)):
        wrong = f"{name} is disabled in viewports, so it is not animated. Show it first, and its collection."
    elif scene.render.frame_map_old != scene.render.frame_map_new:
        wrong = "The scene stretches time. Set both numbers of Time Stretching to the same (Output > Format)."
    if wrong:
        raise PoiseError(wrong)


def _is_hidden_by_eye(armature):
    """Blender animates what is hidden so, but nothing that is disabled, or in a collection that is."""
    return armature.name in bpy.context.view_layer.objects and armature.hide_get() and not armature.hide_viewport


def _is_driven(armature, names):
    """True if drivers move or turn one of these bones."""
    data = armature.animation_data
    paths = {d.data_path.rpartition(".")[0] for d in ([] if data is None else data.drivers) if not d.mute}
    return any(f'pose.bones["{bpy.utils.escape_identifier(name)}"]' in paths for name in names)


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
            f"{armature.name!r} is mirrored, or scaled by another amount along each axis. Apply its scale (Ctrl A), "
            "or that of what it is parented to."
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
