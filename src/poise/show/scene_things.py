"""What stands around synthesized figures as things to see: walls and floors as plates, holds, bars, balls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.core import rotations
from poise.core.typing import Array
from poise.goals.surroundings import Hold, Scene, Surface
from poise.show.camera import VIEWS, travel_heading
from poise.show.scene import Ball, Box, Color, Cylinder, Prop
from poise.show.scene import Scene as Seen
from poise.synthesis.run import BallResult
from poise.terrain import Terrain

FLOOR_COLOR: Color = (0.78, 0.80, 0.80)
WALL_COLOR: Color = (0.66, 0.70, 0.74)
HOLD_COLOR: Color = (0.80, 0.42, 0.18)
BALL_COLOR: Color = (0.72, 0.82, 0.20)
HARMFUL_COLOR: Color = (0.80, 0.15, 0.15)

THICK = 0.03
"""Thickness of the plate that stands for a surface [m]."""

FACES = ("front", "back", "left", "right", "top", "bottom")
"""Last words of the names of a box's faces."""

CLEAR = 0.8
"""A wall larger than this is drawn as a veil, so that nobody is hidden behind it [m]."""

FAR, STEEP = 10.0, 0.7
"""A camera looks from about so far away [m]; what rises more than `STEEP` is no wall."""

ENDLESS = 12.0
"""Sides of the plate for a surface without end [m]."""

GONE = -100.0
"""A thing that was taken away is put down here [m], below every ground."""

BELOW = 3.0
"""Where the floor is no plain ground, the ground is drawn this far below the lowest thing [m]."""


def is_ground(surface: Surface) -> bool:
    """True for a level floor without end that stays."""
    return (
        surface.normal == (0.0, 0.0, 1.0) and not np.isfinite(surface.size).any() and surface.movement is None
        and not np.isfinite(surface.until)
    )  # fmt: skip


def ground_of(scene: Scene) -> Terrain:
    """The ground to draw: the floor without end, or a level one far below where there is none."""
    for surface in scene.surfaces:
        if is_ground(surface):
            return Terrain.flat(surface.origin[2])
    lowest = min([0.0, *(s.origin[2] - (0.5 * s.size[1] if s.normal[2] == 0.0 else 0.0) for s in scene.surfaces)])
    return Terrain.flat(lowest - BELOW)


def clear_view(scene: Seen, surfaces: Sequence[Surface]) -> str:
    """The scene's own view, or the first of the others that no wall stands before; its own where all are blocked."""
    heading = travel_heading(scene)
    middle = np.mean([track.positions[:, 0].mean(axis=0) for track in scene.tracks], axis=0)
    for view in dict.fromkeys((scene.camera, "quarter", "side", "back", "front")):
        turn, rise = np.radians(heading + VIEWS[view][0]), np.radians(VIEWS[view][1])
        away = -FAR * np.array([np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), np.sin(rise)])
        if not any(_blocks(surface, middle, away) for surface in surfaces):
            return view
    return scene.camera


def _blocks(surface: Surface, place: Array, away: Array) -> bool:
    """Whether a wall stands between a place (3,) and the end of a way (3,) from it [m]; what is small hides little."""
    if abs(surface.normal[2]) > STEEP or max(surface.size) <= CLEAR:
        return False
    local = np.asarray(surface.frame) @ (place - np.array(surface.origin))
    along = np.asarray(surface.frame) @ away
    if local[2] * (local[2] + along[2]) >= 0.0:
        return False
    crossing = local + along * (-local[2] / along[2])
    return bool((np.abs(crossing[:2]) < 0.5 * np.array(surface.size)).all())


def props_of(scene: Scene, balls: Sequence[BallResult], times: Array) -> tuple[Prop, ...]:
    """Everything of a scene but its plain ground, at the times of a recording [s] (T,)."""
    plates = [s for s in scene.surfaces if not is_ground(s)]
    boxes: dict[str, list[Surface]] = {}
    for surface in plates:
        name, _, face = surface.name.rpartition(" ")
        boxes.setdefault(name if face in FACES and name else surface.name, []).append(surface)
    return (
        *(_plates(name, faces, times) for name, faces in boxes.items()),
        *(_hold(h, times) for h in scene.holds),
        *(_ball(b, times) for b in balls),
    )


def props_at(scene: Scene, balls: Sequence[Array], time: float) -> tuple[Prop, ...]:
    """The same at one time [s], with the balls at places (3,) [m]."""
    results = [BallResult(ball, np.asarray(place)[None]) for ball, place in zip(scene.balls, balls)]
    return props_of(scene, results, np.array([time]))


def _plates(name: str, faces: Sequence[Surface], times: Array) -> Prop:
    """One thing of all the faces of a box, or of one wall or floor; it moves as its first face does."""
    first = faces[0]
    origin, shapes = np.array(first.origin), []
    for face in faces:
        size = np.minimum(np.array(face.size), ENDLESS)
        _, height, normal = face.frame
        frame = np.stack([np.cross(height, normal), height, normal], axis=1)  # right-handed; the plate looks the same
        center = np.array(face.origin) - origin - 0.5 * THICK * normal
        half = np.array([0.5 * size[0], 0.5 * size[1], 0.5 * THICK])
        shapes.append(Box(center, half, rotations.from_matrix(frame)))
    places, turns = _path(first, origin, times)
    is_floor = any(f.normal[2] > 0.7 for f in faces)
    is_clear = not is_floor and max(first.size) > CLEAR
    return Prop(name, tuple(shapes), places, turns, FLOOR_COLOR if is_floor else WALL_COLOR, is_clear=is_clear)


def _hold(hold: Hold, times: Array) -> Prop:
    if hold.axis is None:
        shape = Ball(np.zeros(3), hold.radius)
    else:
        along = hold.half_length * np.array(hold.axis)
        shape = Cylinder(-along, along, hold.radius)
    places, turns = _path(hold, np.array(hold.place), times)
    return Prop(hold.name, (shape,), places, turns, HOLD_COLOR)


def _path(thing: Surface | Hold, place: Array, times: Array) -> tuple[Array, Array]:
    """Places (T, 3) [m] and orientations (T, 4) of a thing made at a place (3,); one of each if it never changes."""
    if thing.movement is None and not np.isfinite(thing.until):
        return place[None].copy(), rotations.IDENTITY[None].copy()
    if thing.movement is None:
        places, turns = np.tile(place, (len(times), 1)), np.tile(rotations.IDENTITY, (len(times), 1))
    else:
        placed = [thing.movement.placed(place, float(t)) for t in times]
        places = np.array([p for p, _ in placed])
        turns = rotations.continuous(np.array([rotations.from_matrix(R) for _, R in placed]))
    places[[not thing.exists(float(t)) for t in times], 2] = GONE
    return places, turns


def _ball(result: BallResult, times: Array) -> Prop:
    ball = result.ball
    color = HARMFUL_COLOR if ball.harmful else BALL_COLOR
    still = np.tile(rotations.IDENTITY, (len(times), 1))
    return Prop(ball.name, (Ball(np.zeros(3), ball.radius),), result.places, still, color, ball.mass)
