# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poise in Blender: an armature and its action go to `poise serve`, and come back as a new action."""

from . import draw, flight, jobs, live, operators, panel, scene, server

MODULES = (scene, jobs, operators, flight, live, panel, draw)


def register():
    for module in MODULES:
        module.register()


def unregister():
    for module in reversed(MODULES):
        module.unregister()
    server.stop()
