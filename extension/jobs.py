# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A button's job: it runs on the server while Blender stays usable; Esc cancels it. Its result is a new action."""

import time
from contextlib import suppress

import bpy
from bpy.props import StringProperty

from . import actions, draw, rig, server
from .scene import forget_findings
from .server import Job, PoiseError

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
    """The armature of the settings, or the one that the active object is or belongs to, or the only one."""
    if context.scene.poise.armature is not None:
        return context.scene.poise.armature
    active = context.active_object
    if active is not None:
        own = active if active.type == "ARMATURE" else active.poise.target or active.find_armature()
        if own is not None:
            return own
    found = [thing for thing in context.scene.objects if thing.type == "ARMATURE"]
    return found[0] if len(found) == 1 else None


def read_source(context):
    """The figure as it was before its last simulation."""
    armature = actions.source(figure(context))
    with actions.before_simulation(armature):
        return read(context, armature)


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
    is_simulation = False

    def end(self, context, result):
        self.put(context, result)
        return result["notes"][-1] if result["notes"] else self.done

    def put(self, context, result, first=0):
        came = actions.result_of(self.rig, result["motion"], first)
        armature, action = actions.write(
            self.rig,
            came,
            f"{self.rig.action or self.rig.name} {self.suffix}",
            as_nla=context.scene.poise.as_nla,
            is_simulated=self.is_simulation,
        )
        self.notes = list(self.rig.notes)
        if armature != self.rig.armature:
            context.scene.poise.armature = armature
            self.notes.append(
                f"Constraints or drivers act on {self.rig.name!r}: the result is on {armature.name!r}, without them."
            )
        draw.keep_ghost(self.rig)
        draw.forget_physics()
        forget_findings(context.scene)  # they are those of the motion before
        draw.redraw(context)
        return action


register, unregister = bpy.utils.register_classes_factory((PoisePreferences,))
