# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What surrounds the figure: settings of the scene, pushes as empties, ground and bodies as mesh objects."""

import re

import bpy
import numpy as np
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)
from mathutils import Matrix, Quaternion, Vector

from . import actions, rig
from .server import PoiseError, packed, unpacked

MARK = "Poise: "
"""Begins the names of the timeline markers of findings."""
MOST_FINDINGS, MOST_MARKERS = 60, 200


def _is_armature(_self, thing):
    return thing.type == "ARMATURE"


class PoiseCure(bpy.types.PropertyGroup):
    text: StringProperty()


class PoiseStretch(bpy.types.PropertyGroup):
    """Frames of the scene."""

    first: IntProperty()
    last: IntProperty()


class PoiseFinding(bpy.types.PropertyGroup):
    """One thing that a check found."""

    sentence: StringProperty()
    fails: BoolProperty()
    stretches: CollectionProperty(type=PoiseStretch)
    is_mendable: BoolProperty()
    cures: CollectionProperty(type=PoiseCure)


class PoiseScene(bpy.types.PropertyGroup):
    """Settings, kept in the file."""

    armature: PointerProperty(name="Armature", type=bpy.types.Object, poll=_is_armature, description="The figure")
    actor: PointerProperty(
        name="Actor", type=bpy.types.Object, poll=_is_armature, description="Its motion drives the figure (Track)"
    )
    ground: PointerProperty(
        name="Ground", type=bpy.types.Collection, description="Its meshes are the ground; empty: level ground"
    )
    bodies: PointerProperty(
        name="Bodies",
        type=bpy.types.Collection,
        description="Its meshes are boxes that come to rest and can be pushed over; a mass of 0 stays where it is",
    )
    physicality: FloatProperty(
        name="Physicality", default=1.0, min=0.05, max=20.0, description="How little help from outside is allowed"
    )
    friction: FloatProperty(name="Friction", default=0.8, min=0.0, max=5.0)
    amount: FloatProperty(name="Amount", default=1.0, min=0.0, max=1.0, description="Part of the change that is kept")
    as_nla: BoolProperty(
        name="As NLA tracks", description="Put the action that was there and the new one on tracks of the NLA editor"
    )
    overlays: BoolProperty(name="Physics", default=True, description="Draw what Physics has computed")
    ghosts: BoolProperty(name="Ghosts", default=True, description="Draw what the figure was before the last result")
    preview: IntProperty(name="Live frames", default=40, min=5, max=500, description="Frames that live mode computes")
    findings: CollectionProperty(type=PoiseFinding)
    is_checked: BoolProperty()


def _stay(own, _context):
    """A bone that was chosen holds until the arrow moves."""
    own.seat = own.id_data.location


class PoiseObject(bpy.types.PropertyGroup):
    """An empty as a push, or a mesh as a body."""

    is_push: BoolProperty()
    target: PointerProperty(name="Figure", type=bpy.types.Object, poll=_is_armature)
    bone: StringProperty(
        name="Bone", description="What it pushes. Move the arrow to another bone, or choose it here", update=_stay
    )
    seat: FloatVectorProperty(description="Where the arrow was when its bone was chosen", subtype="XYZ")
    force: FloatProperty(name="Force [N]", default=200.0, min=0.0, max=1e7, description="Newtons, along the arrow")
    frame: IntProperty(name="Frame", default=1, description="Frame in which it begins")
    duration: FloatProperty(name="Seconds", default=0.2, min=0.001, max=100.0)
    flight: StringProperty()
    mass: FloatProperty(name="Mass [kg]", default=10.0, min=0.0, description="Kilograms; 0 never moves")


def pushes(scene, armature):
    """Empties that push this armature."""
    return [o for o in scene.objects if o.poise.is_push and o.poise.target == armature]


def move_pushes(scene, made):
    """An arrow that was moved pushes the bone nearest to its start, in the frame in which it begins."""
    above, unit = np.array(made.message["parents"]), rig.unit(scene)
    begin = np.maximum(above, 0)
    for empty in pushes(scene, made.armature):
        own, at = empty.poise, unit * np.array(empty.location)
        is_carried = empty.animation_data is not None or empty.parent is not None
        if is_carried or np.linalg.norm(at - unit * np.array(own.seat)) < 1e-3:
            continue
        places = made.places[min(max(own.frame - made.frames[0], 0), len(made.places) - 1)]
        along = places - places[begin]
        share = ((at - places[begin]) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-12)
        away = np.linalg.norm(places[begin] + np.clip(share, 0.0, 1.0)[:, None] * along - at, axis=1)
        nearest = int(np.argmin(away))  # what is between two joints moves with the upper one
        is_named_so = empty.name == f"Push {own.bone}"
        own.bone = made.bones[nearest if share[nearest] >= 1.0 else begin[nearest]]
        if is_named_so:
            empty.name = f"Push {own.bone}"


def read_pushes(scene, made):
    """Pushes for the server; the direction is that of the arrow in the frame in which it begins."""
    move_pushes(scene, made)
    found, now = [], scene.frame_current_final
    for empty in pushes(scene, made.armature):
        own = empty.poise
        if own.bone not in made.bones:
            raise PoiseError(
                f"The push {empty.name!r} names the bone {own.bone!r}, which is no joint of {made.armature.name!r}."
            )
        start = (own.frame - made.frames[0]) / made.fps
        if start + own.duration <= 0.0 or own.frame > made.frames[-1]:
            continue
        if empty.animation_data is not None or empty.parent is not None:
            scene.frame_set(own.frame)
        arrow = empty.matrix_world.to_3x3() @ Vector((0.0, 0.0, 1.0))
        arrow.normalize()
        force = [own.force * x for x in arrow]
        cut = min(0.0, start)
        found.append({"body": own.bone, "force": force, "start": start - cut, "duration": own.duration + cut})
    scene.frame_set(int(now), subframe=now - int(now))
    return found


def read_ground(collection, depsgraph):
    """Triangles of all meshes of a collection, in the world [m]; None without one."""
    if collection is None:
        return None
    faces = [np.zeros((0, 3, 3))]
    for thing in collection.all_objects:
        if thing.type != "MESH":
            continue
        made = thing.evaluated_get(depsgraph)
        mesh = made.to_mesh()
        mesh.calc_loop_triangles()
        points = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", points)
        corners = np.empty(3 * len(mesh.loop_triangles), np.int32)
        mesh.loop_triangles.foreach_get("vertices", corners)
        made.to_mesh_clear()
        world = np.array(thing.matrix_world)
        places = points.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]
        faces.append(places[corners].reshape(-1, 3, 3))
    triangles = rig.unit(depsgraph.scene) * np.concatenate(faces)
    if not len(triangles):
        raise PoiseError(f"The collection {collection.name!r} has no mesh: there is no ground in it.")
    return {"triangles": packed(triangles)}


def _box(thing):
    """Middle and half sizes of a mesh's bounding box, turned as the object is."""
    corners = np.array(thing.bound_box)
    low, high = corners.min(axis=0), corners.max(axis=0)
    _, turn, scale = thing.matrix_world.decompose()
    middle = thing.matrix_world @ Vector(0.5 * (low + high))
    half = np.maximum(0.5 * (high - low) * np.abs(np.array(scale)), 1e-3)
    return middle, turn, half


def read_bodies(scene, frame):
    """Boxes around the meshes of the collection of bodies, where they are in this frame."""
    collection, found, unit, now = scene.poise.bodies, [], rig.unit(scene), scene.frame_current_final
    if collection is None:
        return found
    scene.frame_set(frame)
    for thing in collection.all_objects:
        if thing.type == "MESH":
            middle, turn, half = _box(thing)
            found.append(
                {
                    "name": thing.name,
                    "half": list(unit * half),
                    "position": list(unit * middle),
                    "rotation": list(turn.normalized()),
                    "mass": thing.poise.mass,
                }
            )
    scene.frame_set(int(now), subframe=now - int(now))
    return found


def write_bodies(made, data, unit):
    """Bodies that moved get an action each; one that they had keeps its keys. `unit` is that of Blender [m]."""
    for body in data:
        thing = bpy.data.objects.get(body["name"])
        if thing is None:
            continue
        middle, turn, _ = _box(thing)
        begin = Matrix.LocRotScale(middle, turn, None)
        inside = begin.inverted() @ thing.matrix_world
        above = thing.matrix_world @ thing.matrix_basis.inverted()
        rows = []
        for place, turned in zip(unpacked(body["positions"]), unpacked(body["rotations"])):
            there = Matrix.LocRotScale(Vector(place) / unit, Quaternion(turned), None) @ inside
            place, turned, _ = (above.inverted() @ there).decompose()
            rows.append((*place, *turned))
        frames = made.frames[0] + unpacked(body["times"]) * made.fps
        thing.rotation_mode = "QUATERNION"
        actions.write_object(thing, f"{thing.name} Poise", frames, np.array(rows))


def forget_findings(scene):
    """Clear findings and their markers."""
    for marker in [m for m in scene.timeline_markers if m.name.startswith(MARK)]:
        scene.timeline_markers.remove(marker)
    scene.poise.findings.clear()
    scene.poise.is_checked = False


FRAMES = re.compile(
    r"(?<=[Ff]rame )\d+(?: to \d+)?"
    r"|(?<=[Ff]rames )[\d–]+(?:(?:, | and )\d+(?:–\d+)?(?= and|[,;:.)]|$))*"
    r"|(?<=keys )\d+–\d+"
)
"""Frame numbers in sentences of a check, which counts from 0."""


def in_scene(text, first):
    """A sentence of a check with the frame numbers of the scene."""
    return FRAMES.sub(lambda found: re.sub(r"\d+", lambda n: str(int(n[0]) + first), found[0]), text)


def show_findings(scene, made, found):
    """Findings as markers in the timeline, and in the panel."""
    forget_findings(scene)
    scene.poise.is_checked = True
    begin, marked = made.frames[0], set()
    for one in found[:MOST_FINDINGS]:
        new = scene.poise.findings.add()
        new.name, new.fails, new.is_mendable = one["name"], one["fails"], bool(one["tools"])
        new.sentence = in_scene(one["sentence"], begin)
        for text in one["cures"]:
            new.cures.add().text = in_scene(text.split(" (poise ")[0], begin)
        for first, last in one["frames"] or [[0, len(made.frames) - 1]]:
            stretch = new.stretches.add()
            stretch.first, stretch.last = begin + first, begin + last
            marker = (MARK + one["name"], stretch.first)
            if marker not in marked and len(marked) < MOST_MARKERS:
                marked.add(marker)
                scene.timeline_markers.new(marker[0], frame=marker[1])


CLASSES = (PoiseCure, PoiseStretch, PoiseFinding, PoiseScene, PoiseObject)


_register, _unregister = bpy.utils.register_classes_factory(CLASSES)


def register():
    _register()
    bpy.types.Scene.poise = PointerProperty(type=PoiseScene)
    bpy.types.Object.poise = PointerProperty(type=PoiseObject)


def unregister():
    del bpy.types.Object.poise
    del bpy.types.Scene.poise
    _unregister()
