# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both ends of a flight are dragged; what is between them follows on its arc."""

import bpy
from mathutils import Vector

from . import draw, rig
from .jobs import PREFIX, NewActionOperator, Running, read


class POISE_OT_flight(bpy.types.Operator):
    """Put a handle at each end of the flight at the current frame; drag them, then apply"""

    bl_idname = PREFIX + "flight"
    bl_label = "Edit flight"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return draw.physics is not None and bool(draw.physics.flights)

    def execute(self, context):
        seen, now, unit = draw.physics, context.scene.frame_current, rig.unit(context.scene)
        near = min(seen.flights, key=lambda f: max(f.first - now, now - f.last, 0))
        forget_flights()
        for end, place in (("start", near.start), ("end", near.end)):
            handle = bpy.data.objects.new(f"Poise flight {end}", None)
            handle.empty_display_type, handle.empty_display_size = "SPHERE", 0.08 / unit
            handle.location = Vector(place) / unit
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
        self.rig, unit = read(context), rig.unit(context.scene)
        first, last = (int(f) - self.rig.frames[0] for f in start.poise.flight.split()[1:3])
        return "ballistic", {
            "motion": self.rig.message,
            "flight": [first, last],
            "start": list(unit * start.matrix_world.translation),
            "end": list(unit * end.matrix_world.translation),
            "keep": "timing",
            "amount": context.scene.poise.amount,
        }

    def end(self, context, result):
        said = super().end(context, result)
        forget_flights()
        return said


register, unregister = bpy.utils.register_classes_factory((POISE_OT_flight, POISE_OT_apply_flight))
