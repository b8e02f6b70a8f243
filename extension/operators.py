# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The buttons. Each job runs on the server while Blender stays usable; Esc cancels it."""

import time
from contextlib import suppress

import bpy
import numpy as np
from bpy.props import IntProperty, StringProperty
from mathutils import Vector

from . import draw, rig, server
from . import scene as around
from .server import Job, PoiseError, unpacked

PREFIX = "poise."


class PoisePreferences(bpy.types.AddonPreferences):
    bl_idname = __package__

    python: StringProperty(
        name="Python with Poise",
        subtype="FILE_PATH",
        description="A Python in which Poise is installed, or the program poise. Empty: poise is looked for",
    )

    def draw(self, context):
        self.layout.prop(self, "python")
        self.layout.label(text='Install Poise there: pip install "poise"')


def program(context):
    """What the preferences name."""
    own = context.preferences.addons.get(__package__)
    return "" if own is None else bpy.path.abspath(own.preferences.python)


def figure(context):
    """The armature of the settings, or the active one."""
    chosen = context.scene.poise.armature
    active = context.active_object
    return chosen or (active if active is not None and active.type == "ARMATURE" else None)


def read(context, armature=None):
    armature = armature or figure(context)
    scene = context.scene
    if scene.use_preview_range:
        return rig.read(armature, scene, scene.frame_preview_start, scene.frame_preview_end)
    return rig.read(armature, scene, scene.frame_start, scene.frame_end)


class Running:
    """The job that runs now, for the panel."""

    job = None
    title = ""


class JobOperator:
    """Sends a request, waits without blocking Blender, and puts the result into the scene."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return Running.job is None

    def begin(self, context):
        """Name of the job and its fields."""
        raise NotImplementedError

    def end(self, context, result):
        """Put the result into the scene; a sentence for the status line."""
        raise NotImplementedError

    def _start(self, context):
        name, data = self.begin(context)
        self.job = Job(server.get(program(context)), name, data)
        Running.job, Running.title = self.job, self.bl_label

    def _finish(self, context, result):
        said = self.end(context, result)
        notes = [*getattr(self, "notes", ()), *result.get("warnings", ())]
        self.report({"WARNING"} if notes else {"INFO"}, " ".join([said, *notes]))
        return {"FINISHED"}

    def _failed(self, error):
        Running.job = None
        self.report({"ERROR"}, str(error))
        return {"CANCELLED"}

    def execute(self, context):
        """All at once, for scripts and where there is no window."""
        try:
            self._start(context)
            while (result := self.job.result()) is None:
                time.sleep(0.02)
            Running.job = None
            return self._finish(context, result)
        except PoiseError as error:
            return self._failed(error)

    def invoke(self, context, event):
        if bpy.app.background:
            return self.execute(context)
        try:
            self._start(context)
        except PoiseError as error:
            return self._failed(error)
        window = context.window_manager
        self.timer = window.event_timer_add(0.1, window=context.window)
        window.progress_begin(0.0, 1.0)
        window.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" or Running.job is not self.job:
            return self.cancel_job(context)
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        try:
            result = self.job.result()
            if result is None:
                context.window_manager.progress_update(self.job.progress)
                draw.redraw(context)
                return {"RUNNING_MODAL"}
            self._leave(context)
            return self._finish(context, result)
        except PoiseError as error:
            self._leave(context)
            return self._failed(error)

    def cancel_job(self, context):
        self._leave(context)
        with suppress(PoiseError):  # of a server that is gone, and the job with it
            self.job.cancel()
        self.report({"INFO"}, "Cancelled; nothing was changed.")
        return {"CANCELLED"}

    def _leave(self, context):
        Running.job = None
        context.window_manager.progress_end()
        context.window_manager.event_timer_remove(self.timer)
        draw.redraw(context)


class NewActionOperator(JobOperator):
    """One whose result is a motion; `done` is said where the result has no notes."""

    suffix = done = ""

    def end(self, context, result):
        self.put(context, result)
        return result["notes"][-1] if result["notes"] else self.done

    def put(self, context, result, first=0):
        came = rig.result_of(self.rig, result["motion"], first)
        base = self.rig.armature.animation_data
        before = base.action.name if base is not None and base.action is not None else self.rig.armature.name
        armature, action = rig.write(self.rig, came, f"{before} {self.suffix}", as_nla=context.scene.poise.as_nla)
        self.notes = list(self.rig.notes)
        if armature != self.rig.armature:
            context.scene.poise.armature = armature
            self.notes.append(
                f"Constraints act on {self.rig.name!r}: the result is on {armature.name!r}, without them."
            )
        draw.keep_ghost(self.rig)
        draw.forget_physics()
        draw.redraw(context)
        return action


class POISE_OT_simulate(NewActionOperator, bpy.types.Operator):
    """Give the figure reactions to pushes, ground and bodies, as a new action"""

    bl_idname = PREFIX + "simulate"
    bl_label = "Simulate"
    suffix = "simulated"

    def begin(self, context):
        own = context.scene.poise
        self.rig = read(context)
        return "simulate", simulation(context, self.rig) | {
            "bodies": around.read_bodies(own.bodies),
        }

    def end(self, context, result):
        action = self.put(context, result)
        around.write_bodies(self.rig, result["bodies"])
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
    suffix, done = "mended", "Mended."

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


class POISE_OT_repair(NewActionOperator, bpy.types.Operator):
    """Change the whole motion a little, so that feet and ground can carry it, as a new action"""

    bl_idname = PREFIX + "repair"
    bl_label = "Repair"
    suffix, done = "repaired", "Repaired."

    def begin(self, context):
        self.rig = read(context)
        return "repair", {"motion": self.rig.message, "amount": context.scene.poise.amount}


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


class POISE_OT_flight(bpy.types.Operator):
    """Put a handle at each end of the flight at the current frame; drag them, then apply"""

    bl_idname = PREFIX + "flight"
    bl_label = "Edit flight"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return draw.physics is not None and bool(draw.physics.flights)

    def execute(self, context):
        seen, now = draw.physics, context.scene.frame_current
        near = min(seen.flights, key=lambda f: max(f.first - now, now - f.last, 0))
        forget_flights()
        for end, place in (("start", near.start), ("end", near.end)):
            handle = bpy.data.objects.new(f"Poise flight {end}", None)
            handle.empty_display_type, handle.empty_display_size = "SPHERE", 0.08
            handle.location = Vector(place)
            handle.poise.flight = f"{end} {near.first} {near.last} {near.duration!r}"
            handle.poise.target = bpy.data.objects.get(seen.armature)
            context.scene.collection.objects.link(handle)
        context.scene.frame_set(near.first)
        return {"FINISHED"}


def flight_handles():
    """Both handles of the flight that is edited: start and end, or None."""
    found = {o.poise.flight.split()[0]: o for o in bpy.data.objects if o.poise.flight}
    return (found["start"], found["end"]) if {"start", "end"} <= set(found) else None


def forget_flights():
    for handle in [o for o in bpy.data.objects if o.poise.flight]:
        bpy.data.objects.remove(handle)


class POISE_OT_apply_flight(NewActionOperator, bpy.types.Operator):
    """Put the flight on the arc between its handles, as a new action"""

    bl_idname = PREFIX + "apply_flight"
    bl_label = "Apply flight"
    suffix, done = "thrown", "The flight is on its arc."

    @classmethod
    def poll(cls, context):
        return Running.job is None and flight_handles() is not None

    def begin(self, context):
        start, end = flight_handles()
        self.rig = read(context)
        first, last = (int(f) - self.rig.frames[0] for f in start.poise.flight.split()[1:3])
        return "ballistic", {
            "motion": self.rig.message,
            "flight": [first, last],
            "start": list(start.matrix_world.translation),
            "end": list(end.matrix_world.translation),
            "keep": "timing",
            "amount": context.scene.poise.amount,
        }

    def end(self, context, result):
        said = super().end(context, result)
        forget_flights()
        return said


class POISE_OT_add_push(bpy.types.Operator):
    """Add a push on the active bone at the current frame: an arrow to turn and move"""

    bl_idname = PREFIX + "add_push"
    bl_label = "Add push"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        armature = figure(context)
        if armature is None:
            self.report({"ERROR"}, "Choose an armature first.")
            return {"CANCELLED"}
        active = context.active_pose_bone
        bone = active.name if active is not None and active.id_data == armature else _trunk(armature)
        arrow = bpy.data.objects.new(f"Push {bone}", None)
        arrow.empty_display_type, arrow.empty_display_size = "SINGLE_ARROW", 0.5
        arrow.location = armature.matrix_world @ armature.pose.bones[bone].head
        arrow.rotation_euler = (0.0, np.pi / 2.0, 0.0)  # along x
        own = arrow.poise
        own.is_push, own.target, own.bone, own.frame = True, armature, bone, context.scene.frame_current
        context.scene.collection.objects.link(arrow)
        if context.object is not None and context.object.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        for other in context.selected_objects:
            other.select_set(False)
        arrow.select_set(True)
        context.view_layer.objects.active = arrow
        context.scene.poise.armature = armature
        return {"FINISHED"}


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


class Live:
    """Simulates the next frames again whenever a push or the current frame changes."""

    def __init__(self, context):
        self.rig, self.job, self.seen = read(context), None, None
        self.link = server.get(program(context))

    def state(self, context):
        """All that the simulation of the next frames depends on."""
        own = context.scene.poise
        arrows = [
            (tuple(map(tuple, o.matrix_world)), o.poise.force, o.poise.frame, o.poise.duration, o.poise.bone)
            for o in around.pushes(context.scene, self.rig.armature)
        ]
        return context.scene.frame_current, own.physicality, own.friction, own.preview, arrows

    def tick(self, context):
        """Take a result that came; ask again if something changed since."""
        if self.job is not None:
            result = self.job.result()
            if result is None:
                return
            self.job = None
            came = rig.result_of(self.rig, result["motion"], result["frames"][0])
            draw.keep_preview(self.rig, came)
            draw.redraw(context)
        state = self.state(context)
        if state == self.seen:
            return
        self.seen = state
        first = min(max(0, state[0] - self.rig.frames[0]), len(self.rig.frames) - 3)
        last = min(first + context.scene.poise.preview, len(self.rig.frames) - 1)
        self.job = Job(self.link, "simulate", simulation(context, self.rig) | {"frames": [first, last]})


class POISE_OT_live(bpy.types.Operator):
    """Live: simulate the next frames again whenever a push moves, and draw them. Esc ends"""

    bl_idname = PREFIX + "live"
    bl_label = "Live"
    is_on = False

    def invoke(self, context, event):
        cls = type(self)
        if cls.is_on:  # the button ends it, too
            cls.is_on = False
            return {"FINISHED"}
        try:
            self.live = Live(context)
        except PoiseError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        cls.is_on = True
        self.timer = context.window_manager.event_timer_add(0.04, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        cls = type(self)
        if event.type == "ESC" or not cls.is_on:
            return self._leave(context)
        if event.type == "TIMER" and Running.job is None:
            try:
                self.live.tick(context)
            except PoiseError as error:
                self.report({"ERROR"}, str(error))
                return self._leave(context)
        return {"PASS_THROUGH"}

    def _leave(self, context):
        type(self).is_on = False
        context.window_manager.event_timer_remove(self.timer)
        draw.forget_preview()
        draw.redraw(context)
        return {"CANCELLED"}


CLASSES = (
    PoisePreferences,
    POISE_OT_simulate,
    POISE_OT_check,
    POISE_OT_mend,
    POISE_OT_repair,
    POISE_OT_track,
    POISE_OT_physics,
    POISE_OT_flight,
    POISE_OT_apply_flight,
    POISE_OT_add_push,
    POISE_OT_go_to,
    POISE_OT_forget,
    POISE_OT_cancel,
    POISE_OT_live,
)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
