# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Live: the next frames are simulated again whenever a push moves, and drawn."""

import bpy

from . import actions, draw, server
from . import scene as around
from .jobs import PREFIX, Running, program, read_source
from .operators import simulation
from .server import Job, PoiseError


class Live:
    """Simulates the next frames again whenever a push or the current frame changes."""

    def __init__(self, context):
        self.rig, self.job, self.seen = read_source(context), None, None
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
            came = actions.result_of(self.rig, result["motion"], result["frames"][0])
            draw.keep_preview(self.rig, came)
            draw.redraw(context)
        around.move_pushes(context.scene, self.rig)
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
        context.workspace.status_text_set("Poise is live: move a push. Esc, or the button, ends it")
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
        context.workspace.status_text_set(None)
        context.window_manager.event_timer_remove(self.timer)
        draw.forget_preview()
        draw.redraw(context)
        return {"CANCELLED"}


@bpy.app.handlers.persistent
def end(_):
    """Another file ends live mode without a word to the operator: the next click begins it, and does not end it."""
    POISE_OT_live.is_on = False
    draw.forget_preview()


def register():
    bpy.utils.register_class(POISE_OT_live)
    bpy.app.handlers.load_pre.append(end)


def unregister():
    bpy.app.handlers.load_pre.remove(end)
    bpy.utils.unregister_class(POISE_OT_live)
