# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel in the sidebar of the 3D viewport."""

import textwrap

import bpy

from . import actions, jobs
from . import scene as around
from .live import POISE_OT_live

STRETCHES = 3
"""Stretches of one finding that have a button."""


class PoisePanel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Poise"


class POISE_PT_main(PoisePanel, bpy.types.Panel):
    bl_label = "Poise"
    bl_idname = "POISE_PT_main"

    def draw(self, context):
        layout, own = self.layout, context.scene.poise
        layout.prop(own, "armature")
        if own.armature is None and jobs.figure(context) is None:
            layout.label(text="Choose an armature.", icon="INFO")
            return
        job = jobs.Running.job
        column = layout.column(align=True)
        if job is None:
            column.operator("poise.simulate", icon="PHYSICS")
        else:  # in its place, so that no button moves
            row = column.row(align=True)
            row.progress(factor=job.progress, text=job.doing or jobs.Running.title)
            row.operator("poise.cancel", text="", icon="X")
        column.operator("poise.live", icon="PLAY", depress=POISE_OT_live.is_on)
        row = layout.row(align=True)
        row.operator("poise.check", icon="CHECKMARK")
        row.operator("poise.mend", icon="MODIFIER").only = ""
        row.operator("poise.repair", icon="TOOL_SETTINGS")
        layout.prop(own, "as_nla")


class POISE_PT_pushes(PoisePanel, bpy.types.Panel):
    bl_label = "Pushes"
    bl_parent_id = "POISE_PT_main"

    def draw(self, context):
        layout = self.layout
        layout.operator("poise.add_push", icon="ADD")
        armature = actions.source(jobs.figure(context))
        for arrow in around.pushes(context.scene, armature):
            box, own = layout.box(), arrow.poise
            box.label(text=arrow.name, icon="EMPTY_SINGLE_ARROW")
            box.prop_search(own, "bone", armature.data, "bones")
            column = box.column(align=True)
            for name in ("force", "frame", "duration"):
                column.prop(own, name)


class POISE_PT_around(PoisePanel, bpy.types.Panel):
    bl_label = "Ground and bodies"
    bl_parent_id = "POISE_PT_main"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, own = self.layout, context.scene.poise
        for name in ("ground", "bodies", "physicality", "friction", "amount", "preview"):
            layout.prop(own, name)
        active = context.active_object
        if own.bodies is not None and active is not None and active.name in own.bodies.all_objects:
            layout.prop(active.poise, "mass", text=f"Mass of {active.name} [kg]")


class POISE_PT_track(PoisePanel, bpy.types.Panel):
    bl_label = "Actor"
    bl_parent_id = "POISE_PT_main"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        self.layout.prop(context.scene.poise, "actor")
        self.layout.operator("poise.track", icon="CON_ARMATURE")


class POISE_PT_see(PoisePanel, bpy.types.Panel):
    bl_label = "Physics"
    bl_parent_id = "POISE_PT_main"

    def draw(self, context):
        layout, own = self.layout, context.scene.poise
        row = layout.row(align=True)
        row.operator("poise.physics", icon="ORIENTATION_GIMBAL")
        row.operator("poise.forget", text="", icon="TRASH")
        row = layout.row(align=True)
        row.prop(own, "overlays", toggle=True)
        row.prop(own, "ghosts", toggle=True)
        row = layout.row(align=True)
        row.operator("poise.flight")
        row.operator("poise.apply_flight")


class POISE_PT_findings(PoisePanel, bpy.types.Panel):
    bl_label = "Findings"
    bl_parent_id = "POISE_PT_main"

    @classmethod
    def poll(cls, context):
        return context.scene.poise.is_checked

    def draw(self, context):
        layout, found = self.layout, context.scene.poise.findings
        if not found:
            layout.label(text="Nothing was found.", icon="CHECKMARK")
        width = max(24, int(context.region.width / (7.0 * context.preferences.system.ui_scale)) - 4)
        for one in found:
            box = layout.box()
            row = box.row(align=True)
            row.label(text=one.name, icon="ERROR" if one.fails else "INFO")
            for stretch in one.stretches[:STRETCHES]:
                row.operator("poise.go_to", text=f"{stretch.first}–{stretch.last}").frame = stretch.first
            column = box.column(align=True)
            column.scale_y = 0.7
            for line in textwrap.wrap(one.sentence, width):
                column.label(text=line)
            for i, cure in enumerate(one.cures):
                if one.is_mendable and i == 0:  # the smallest; it chooses the tool by itself
                    button = box.operator("poise.mend", text=cure.text, icon="MODIFIER")
                    button.only, button.cure = one.name, cure.text
                    continue
                column = box.column(align=True)
                column.scale_y = 0.7
                for line in textwrap.wrap(f"or {cure.text}" if i else cure.text, width):
                    column.label(text=line)


CLASSES = (
    POISE_PT_main, POISE_PT_pushes, POISE_PT_findings, POISE_PT_see, POISE_PT_around, POISE_PT_track,
)  # fmt: skip

register, unregister = bpy.utils.register_classes_factory(CLASSES)
