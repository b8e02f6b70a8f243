# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The buttons that send a clip away, and those that work on the scene at once."""

import bpy
import numpy as np
from bpy.props import IntProperty, StringProperty

from . import actions, draw, rig, server
from . import scene as around
from .flight import forget_flights
from .jobs import PREFIX, JobOperator, NewActionOperator, Running, figure, program, read, read_source
from .server import PoiseError, unpacked


class POISE_OT_simulate(NewActionOperator, bpy.types.Operator):
    """Give the figure reactions to pushes, ground and bodies, as a new action"""

    bl_idname = PREFIX + "simulate"
    bl_label = "Simulate"
    suffix = "simulated"
    is_simulation = True

    def begin(self, context):
        self.rig = read_source(context)
        return "simulate", simulation(context, self.rig) | {
            "bodies": around.read_bodies(context.scene, self.rig.frames[0]),
        }

    def end(self, context, result):
        action = self.put(context, result)
        around.write_bodies(self.rig, result["bodies"], rig.unit(context.scene))
        return f"{action.name}: the figure {'fell' if result['fell'] else 'stays up'}."


def simulation(context, made):
    """The fields of a simulation, without bodies."""
    own = context.scene.poise
    data = {
        "motion": made.message,
        "pushes": around.read_pushes(context.scene, made),
        "options": {"physicality": own.physicality, "friction": own.friction, "amount": own.amount},
    }
    ground = around.read_ground(own.ground, context.evaluated_depsgraph_get())
    return data | ({} if ground is None else {"terrain": ground})


class POISE_OT_check(JobOperator, bpy.types.Operator):
    """Find what is physically wrong with the figure's motion"""

    bl_idname = PREFIX + "check"
    bl_label = "Check"

    def begin(self, context):
        self.rig = read(context)
        self.notes = self.rig.notes
        return "check", {"motion": self.rig.message}

    def end(self, context, result):
        around.show_findings(context.scene, self.rig, result["findings"])
        bad = sum(f["fails"] for f in result["findings"])
        return f"{bad} findings fail, {len(result['findings']) - bad} are warnings." if bad else "Nothing fails."


class POISE_OT_mend(NewActionOperator, bpy.types.Operator):
    """Do what a check asks for, as a new action"""

    bl_idname = PREFIX + "mend"
    bl_label = "Mend"
    suffix = "mended"

    only: StringProperty(description="One finding; all if empty")
    cure: StringProperty(options={"SKIP_SAVE"})

    @classmethod
    def description(cls, context, properties):
        """The whole cure: the button may be too narrow for it."""
        return properties.cure or "Do what a check asks for, as a new action"

    def begin(self, context):
        self.rig = read(context)
        only = [self.only] if self.only else []
        return "mend", {"motion": self.rig.message, "only": only, "amount": context.scene.poise.amount}

    def end(self, context, result):
        """The panel lists what is left."""
        self.put(context, result)
        around.show_findings(context.scene, self.rig, result["findings"])
        had, left = (len(result["report"][when]["findings"]) for when in ("before", "after"))
        return f"{had} failing findings before, {left} after."


class POISE_OT_repair(NewActionOperator, bpy.types.Operator):
    """Change the whole motion a little, so that feet and ground can carry it, as a new action"""

    bl_idname = PREFIX + "repair"
    bl_label = "Repair"
    suffix = "repaired"

    def begin(self, context):
        self.rig = read(context)
        return "repair", {"motion": self.rig.message, "amount": context.scene.poise.amount}

    def end(self, context, result):
        self.put(context, result)
        had, has = (result["report"][when]["force_rms"] for when in ("before", "after"))
        return f"Force that contacts cannot give: {100.0 * had:.2g} % of the weight before, {100.0 * has:.2g} % after."


class POISE_OT_track(NewActionOperator, bpy.types.Operator):
    """Let the actor's motion drive the figure, as a new action"""

    bl_idname = PREFIX + "track"
    bl_label = "Track"
    suffix = "tracked"

    @classmethod
    def poll(cls, context):
        return Running.job is None and context.scene.poise.actor is not None

    def begin(self, context):
        actor = context.scene.poise.actor
        if actor == figure(context):
            raise PoiseError("Actor and figure are the same armature. Choose another actor.")
        theirs, self.rig = read(context, actor), read(context)
        still = self.rig.message | {
            name: server.packed(unpacked(self.rig.message[name])[:1]) for name in ("translations", "rotations")
        }
        return "track", {"actor": theirs.message, "character": still}

    def end(self, context, result):
        return f"{self.put(context, result).name}: done."


class POISE_OT_physics(JobOperator, bpy.types.Operator):
    """Draw center of mass, pressure, support, contacts, forces, momenta and flights in the viewport"""

    bl_idname = PREFIX + "physics"
    bl_label = "Physics"

    def begin(self, context):
        self.rig = read(context)
        return "overlays", {"motion": self.rig.message}

    def end(self, context, result):
        draw.keep_physics(self.rig, result)
        draw.redraw(context)
        return f"{result['mass']:.0f} kg, {len(result['flights'])} flights."


class POISE_OT_add_push(bpy.types.Operator):
    """Add a push on the active bone at the current frame: an arrow to turn, and to move to another bone"""

    bl_idname = PREFIX + "add_push"
    bl_label = "Add push"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        chosen = figure(context)
        armature = actions.source(chosen)
        if armature is None:
            self.report({"ERROR"}, "Choose an armature first.")
            return {"CANCELLED"}
        active = context.active_pose_bone
        bone = active.name if active is not None and active.id_data == armature else _trunk(armature)
        arrow = bpy.data.objects.new(f"Push {bone}", None)
        arrow.empty_display_type, arrow.empty_display_size = "SINGLE_ARROW", 0.5 / rig.unit(context.scene)
        arrow.location = armature.matrix_world @ armature.pose.bones[bone].head
        arrow.rotation_euler = (0.0, np.pi / 2.0, 0.0)  # along x
        own = arrow.poise
        own.is_push, own.target, own.bone, own.frame = True, armature, bone, context.scene.frame_current
        own.force = _fitting_force(armature, context.scene)
        context.scene.collection.objects.link(arrow)
        if context.object is not None and context.object.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        for other in context.selected_objects:
            other.select_set(False)
        arrow.select_set(True)
        context.view_layer.objects.active = arrow
        context.scene.poise.armature = chosen
        server.begin(program(context))  # while the arrow is turned
        return {"FINISHED"}


PERSON, FORCE = 1.7, 200.0
"""Size of a person [m], and a push that one feels [N]."""


def _fitting_force(armature, scene):
    """The same push for a figure of another size: weight grows with its third power."""
    ends = np.array([end for bone in armature.data.bones for end in (bone.head_local, bone.tail_local)])
    scale = rig.unit(scene) * np.mean(np.abs(armature.matrix_world.to_scale()))
    size = np.ptp(ends, axis=0).max() * scale / PERSON
    return FORCE if 0.7 < size < 1.4 else float(f"{FORCE * size**3:.1g}")


def _trunk(armature):
    """The bone in the middle of the body: where most of the skeleton lies beyond, and which is not the root."""
    bones = rig.joints_of(armature.data)[0]
    inside = [armature.data.bones[n] for n in bones]
    root = inside[0]
    below = [b for b in inside if b.parent is not None and root in b.parent_recursive and len(b.children) >= 3]
    return (max(below, key=lambda b: len(b.children_recursive)) if below else root).name


class POISE_OT_go_to(bpy.types.Operator):
    """Go to the frame of a finding"""

    bl_idname = PREFIX + "go_to"
    bl_label = "Go to frame"

    frame: IntProperty()

    def execute(self, context):
        context.scene.frame_set(self.frame)
        return {"FINISHED"}


class POISE_OT_forget(bpy.types.Operator):
    """Remove findings, their markers, and what is drawn"""

    bl_idname = PREFIX + "forget"
    bl_label = "Clear"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        around.forget_findings(context.scene)
        forget_flights()
        draw.forget_physics()
        draw.forget_ghost()
        draw.redraw(context)
        return {"FINISHED"}


class POISE_OT_cancel(bpy.types.Operator):
    """Cancel the job that runs"""

    bl_idname = PREFIX + "cancel"
    bl_label = "Cancel"

    def execute(self, context):
        Running.job = None  # its operator sees it at its next tick
        return {"FINISHED"}


CLASSES = (
    POISE_OT_simulate,
    POISE_OT_check,
    POISE_OT_mend,
    POISE_OT_repair,
    POISE_OT_track,
    POISE_OT_physics,
    POISE_OT_add_push,
    POISE_OT_go_to,
    POISE_OT_forget,
    POISE_OT_cancel,
)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
