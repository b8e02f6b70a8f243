# SPDX-FileCopyrightText: Poise authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is drawn over the viewport: physics of the current frame, the arc of a flight, ghosts, the live preview.

`lines` and `points` say what is drawn, as plain numbers; only `_draw` needs a graphics card.
"""

from dataclasses import dataclass

import bpy
import numpy as np

from . import rig
from .server import unpacked

GRAVITY = 9.81
FORCE = 0.5
"""Length of an arrow of one body weight [m]."""
SPEED, SPIN = 0.3, 1.8
"""Length of the arrows of momentum, for 1 m/s [m], and for 1 m²/s of angular momentum by mass [m]."""
GHOSTS = 8
"""Ghosts over the whole clip."""
BLUE, ORANGE, GREEN, RED, GRAY, PURPLE = (
    (0.25, 0.55, 1.0, 1.0), (1.0, 0.6, 0.1, 1.0), (0.3, 0.85, 0.35, 1.0), (0.95, 0.25, 0.25, 1.0),
    (0.6, 0.6, 0.6, 0.5), (0.75, 0.45, 0.95, 1.0),
)  # fmt: skip


@dataclass
class Flight:
    """A time in the air: frames of the scene, center of mass at both ends, seconds."""

    first: int
    last: int
    start: tuple
    end: tuple
    duration: float


@dataclass
class Physics:
    """What the server said of a motion, by frame of the scene."""

    armature: str
    first: int
    mass: float
    flights: list
    arrays: dict
    corners: list


@dataclass
class Figures:
    """Skeletons to draw: parents, frames (F,), world positions (F, J, 3)."""

    parents: list
    frames: np.ndarray
    places: np.ndarray


physics = ghost = preview = None


def keep_physics(made, data):
    global physics
    names = (
        "com", "pressure", "polygon", "points", "touches", "forces", "linear_momentum", "angular_momentum",
    )  # fmt: skip
    first = made.frames[0]
    flights = [
        Flight(first + f["frames"][0], first + f["frames"][1], tuple(f["start"]), tuple(f["end"]), f["duration"])
        for f in data["flights"]
    ]
    physics = Physics(made.name, first, data["mass"], flights, {n: unpacked(data[n]) for n in names}, data["corners"])


def keep_ghost(made):
    global ghost
    step = max(1, len(made.frames) // GHOSTS)
    ghost = Figures(made.message["parents"], np.array(made.frames[::step]), made.places[::step])


def keep_preview(made, result):
    global preview
    preview = Figures(made.message["parents"], result.frames, result.places)


def forget_physics():
    global physics
    physics = None


def forget_ghost():
    global ghost
    ghost = None


def forget_preview():
    global preview
    preview = None


def arc(start, end, duration, count=24):
    """A parabola between two places: r(t) = r0 + t v0 + t² g / 2."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    g, t = np.array([0.0, 0.0, -GRAVITY]), np.linspace(0.0, duration, count)[:, None]
    velocity = (end - start) / duration - 0.5 * duration * g
    return start + t * velocity + 0.5 * t * t * g


def lines(scene):
    """Line segments of the current frame as (color, places (2 n, 3) in units of Blender)."""
    unit = rig.unit(scene)
    return [(c, places / unit) for c, places in _lines(scene) if len(places) and np.isfinite(places).all()]


def _lines(scene):
    """The same, in meters."""
    from .flight import flight_handles

    found, own = [], scene.poise
    handles = flight_handles()
    if handles is not None:
        duration = float(handles[0].poise.flight.split()[3])
        found.append((GREEN, _strip(arc(*(rig.unit(scene) * h.matrix_world.translation for h in handles), duration))))
    if own.ghosts and ghost is not None:
        found += [(GRAY, _bones(ghost, i)) for i in range(len(ghost.frames))]
    if preview is not None:
        count = len(preview.frames)
        found += [((*ORANGE[:3], 0.35), _bones(preview, i)) for i in range(0, count, max(1, count // GHOSTS))]
        now = int(np.argmin(np.abs(preview.frames - scene.frame_current)))
        found.append((ORANGE, _bones(preview, now)))
    at = _index(scene)
    if at is None:
        return found
    seen = physics.arrays
    weight = physics.mass * GRAVITY
    com, pressure = seen["com"][at], seen["pressure"][at]
    low = pressure[2] if np.isfinite(pressure[2]) else com[2] - 1.0
    found.append((BLUE, np.array([com, [com[0], com[1], low]])))
    corners = seen["polygon"][at][: physics.corners[at]]
    if len(corners) > 1:
        found.append((GREEN, _strip(np.vstack([corners, corners[:1]]))))
    pressing = np.linalg.norm(seen["forces"][at], axis=1) > 1e-3 * weight
    if pressing.any():
        begin = seen["points"][at][pressing]
        found.append((RED, _arrows(begin, seen["forces"][at][pressing] * (FORCE / weight))))
    for name, color, scale in (("linear_momentum", ORANGE, SPEED), ("angular_momentum", PURPLE, SPIN)):
        found.append((color, _arrows(com[None], seen[name][at][None] * (scale / physics.mass))))
    found += [(BLUE, _strip(arc(f.start, f.end, f.duration))) for f in physics.flights]
    return found


def points(scene):
    """Points of the current frame as (color, size, places (n, 3) in units of Blender)."""
    at, unit = _index(scene), rig.unit(scene)
    if at is None:
        return []
    seen = physics.arrays
    touching = seen["points"][at][seen["touches"][at] > 0.5]
    found = [
        (BLUE, 12.0, seen["com"][at][None]), (ORANGE, 10.0, seen["pressure"][at][None]), (RED, 6.0, touching),
    ]  # fmt: skip
    return [(color, size, places / unit) for color, size, places in found if len(places) and np.isfinite(places).all()]


def _index(scene):
    """Index of the current frame, where physics is known and wanted."""
    if physics is None or not scene.poise.overlays:
        return None
    at = scene.frame_current - physics.first
    return at if 0 <= at < len(physics.arrays["com"]) else None


def _strip(places):
    return np.repeat(places, 2, axis=0)[1:-1]


def _arrows(begin, along):
    return np.stack([begin, begin + along], axis=1).reshape(-1, 3)


def _bones(figures, i):
    child = np.flatnonzero(np.array(figures.parents) >= 0)
    above = np.array(figures.parents)[child]
    return np.stack([figures.places[i, above], figures.places[i, child]], axis=1).reshape(-1, 3)


def _draw():
    import gpu
    from gpu_extras.batch import batch_for_shader

    scene = bpy.context.scene
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("NONE")
    shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
    shader.bind()
    shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
    for color, places in lines(scene):
        shader.uniform_float("lineWidth", 2.0)
        shader.uniform_float("color", color)
        batch_for_shader(shader, "LINES", {"pos": places.astype(np.float32)}).draw(shader)
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    shader.bind()
    for color, size, places in points(scene):
        gpu.state.point_size_set(size)
        shader.uniform_float("color", color)
        batch_for_shader(shader, "POINTS", {"pos": places.astype(np.float32)}).draw(shader)
    gpu.state.blend_set("NONE")


def redraw(context):
    """Draw all 3D viewports again."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


_handle = None


def register():
    global _handle
    if not bpy.app.background:
        _handle = bpy.types.SpaceView3D.draw_handler_add(_draw, (), "WINDOW", "POST_VIEW")


def unregister():
    global _handle
    if _handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
        _handle = None
    forget_physics()
    forget_ghost()
    forget_preview()
