"""What stands in the picture at one time: capsules with colors, and arrows, in the world frame.

A push or pull is an arrow that follows its body, and a few words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.body.character import Capsule, Character
from poise.core import rotations
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.filter.forces import Force, Hand, Pull, Push
from poise.show.scene import (
    GOALS,
    SOLID_COLOR,
    Arrow,
    Ball,
    Box,
    Color,
    Cylinder,
    Points,
    Prop,
    Scene,
    Style,
    Track,
    Vectors,
)

FIGURE_COLORS: tuple[Color, ...] = (SOLID_COLOR, (0.45, 0.62, 0.80), (0.55, 0.72, 0.45), (0.75, 0.55, 0.75))
"""Of the first figure, the second, and so on."""
GHOST_ALPHA = 0.24
ARROW_COLOR: Color = (0.85, 0.10, 0.16)
ARROW_AFTERGLOW = 0.15
"""How long an arrow fades after its push has ended [s]: at 30 pictures a second a short push is else gone at once."""
BACKGROUND: Color = (0.945, 0.955, 0.965)
GROUND: Color = (0.80, 0.825, 0.84)
GROUND_LINE: Color = (0.55, 0.59, 0.63)


@dataclass(frozen=True)
class DrawnArrow:
    """An arrow from tail to tip [m]; `alpha` fades it after its push."""

    tail: Array
    tip: Array
    radius: float
    alpha: float


@dataclass(frozen=True)
class Still:
    """Everything that moves, at one time.

    Attributes:
        time: Scene time [s].
        starts: First center of each capsule in the world frame [m], shape (N, 3).
        ends: Second center [m], shape (N, 3).
        radii: Radius of each capsule [m], shape (N,).
        colors: Red, green, blue, alpha of each capsule, shape (N, 4).
        arrows: Pushes and pulls that act or have just ended.
    """

    time: float
    starts: Array
    ends: Array
    radii: Array
    colors: Array
    arrows: tuple[DrawnArrow, ...]


@dataclass(frozen=True)
class _Shape:
    """Capsules of one track in their bodies' frames."""

    bodies: npt.NDArray[np.int64]
    starts: Array
    ends: Array
    radii: Array
    colors: Array


@dataclass(frozen=True)
class _Prop:
    """Capsules of a thing in its own frame, and where it is."""

    places: Array
    turns: Array
    starts: Array
    ends: Array
    radii: Array
    colors: Array


def body_sides(character: Character) -> list[str]:
    """The side of each body, "left", "right" or "", from the limbs' and roles' names."""
    sides = [""] * len(character.bodies)
    for limb in character.limbs:
        for side in ("left", "right"):
            if limb.name.lower().startswith(side):
                for b in limb.bodies:
                    sides[b] = side
    for role, b in character.roles.items():
        for side in ("left", "right"):
            if role.lower().startswith(side):
                sides[b] = side
    return sides


def side_shades(color: Color) -> dict[str, Color]:
    """A figure's color for its trunk (""), lighter for its "left" and darker for its "right" limbs."""
    red, green, blue = color
    return {
        "": color,
        "left": (red + 0.35 * (1.0 - red), green + 0.35 * (1.0 - green), blue + 0.35 * (1.0 - blue)),
        "right": (0.68 * red, 0.68 * green, 0.68 * blue),
    }


def body_colors(character: Character, style: Style) -> Array:
    """Red, green, blue, alpha of each body (B, 4): left limbs lighter, right limbs darker than the trunk."""
    shades = side_shades(style.color)
    alpha = GHOST_ALPHA if style.kind == "ghost" else 1.0
    return np.array([[*shades[side], alpha] for side in body_sides(character)])


class Look:
    """Turns a scene into stills; what does not change with time is computed once."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._shapes = [_shape(t.character, t.style) for t in scene.tracks]
        self._props = [_prop(p) for p in scene.props if p.shapes]

    def still(self, time: float) -> Still:
        """Everything that moves, at a time [s]."""
        starts, ends = [], []
        for k, shape in enumerate(self._shapes):
            positions, orientations = self._scene.pose(k, time)
            p, q = positions[shape.bodies], orientations[shape.bodies]
            starts.append(p + rotations.rotate(q, shape.starts))
            ends.append(p + rotations.rotate(q, shape.ends))
        radii, colors = [s.radii for s in self._shapes], [s.colors for s in self._shapes]
        before, _, _ = self._scene.bracket(time)
        for prop in self._props:
            at = before if len(prop.places) > 1 else 0
            place, turn = prop.places[at], prop.turns[at]
            starts.append(place + rotations.rotate(turn, prop.starts))
            ends.append(place + rotations.rotate(turn, prop.ends))
            radii.append(prop.radii)
            colors.append(prop.colors)
        for center, size, color in self._marks(time):
            starts.append(center - 0.5 * size * np.eye(3))
            ends.append(center + 0.5 * size * np.eye(3))
            radii.append(np.full(3, 0.06 * size))
            colors.append(np.tile([*color, 1.0], (3, 1)))
        return Still(
            time,
            np.concatenate(starts),
            np.concatenate(ends),
            np.concatenate(radii),
            np.concatenate(colors),
            tuple(self._arrows(time)),
        )

    def _marks(self, time: float) -> Iterator[tuple[Array, float, Color]]:
        """Place, size and color of the crosses at goals that act at a time [s]."""
        nearest = int(np.argmin(np.abs(self._scene.times - time)))
        for o in self._scene.overlays:
            if isinstance(o, Points) and o.layer == GOALS:
                for place in o.positions[nearest if len(o.positions) > 1 else 0]:
                    if np.isfinite(place).all():
                        yield place, o.size, o.color

    def _arrows(self, time: float) -> list[DrawnArrow]:
        drawn = []
        for a in self._scene.arrows:
            if not a.start_s <= time <= a.end_s + ARROW_AFTERGLOW:
                continue
            force = self._scene.force(a, min(time, a.end_s))
            strength = float(np.linalg.norm(force))
            if strength < 1e-9:
                continue
            character = self._scene.tracks[a.track].character
            positions, orientations = self._scene.pose(a.track, time)
            point = positions[a.body] + rotations.rotate(orientations[a.body], a.offset)
            # half a leg length long at a third of the body's weight, within reason
            weights = strength / (character.mass * GRAVITY)
            length = character.leg_length * float(np.clip(1.5 * weights, 0.35, 1.5))
            along = force / strength * length
            thick = max([c.radius for c in character.bodies[a.body].capsules], default=0.0)
            gap = force / strength * thick
            tail, tip = (point + gap, point + gap + along) if a.pulls else (point - gap - along, point - gap)
            fade = 1.0 - max(0.0, time - a.end_s) / ARROW_AFTERGLOW
            drawn.append(DrawnArrow(tail, tip, 0.035 * character.leg_length, max(fade, 0.15)))
        return drawn


def _shape(character: Character, style: Style) -> _Shape:
    pairs = [(i, c) for i, b in enumerate(character.bodies) for c in b.capsules]
    bodies = np.array([i for i, _ in pairs], dtype=np.int64)
    colors = body_colors(character, style)
    # where two shades meet in one joint, the limb's is a hair thicker: equal surfaces would flicker
    grow = np.array([1.02 if side else 1.0 for side in body_sides(character)])
    return _Shape(
        bodies,
        np.array([c.start for _, c in pairs], dtype=np.float64).reshape(-1, 3),
        np.array([c.end for _, c in pairs], dtype=np.float64).reshape(-1, 3),
        np.array([c.radius for _, c in pairs], dtype=np.float64) * grow[bodies],
        colors[bodies].reshape(-1, 4),
    )


def _prop(prop: Prop) -> _Prop:
    """A thing as capsules: balls and rods as they are, boxes and meshes by their edges."""
    parts: list[tuple[Array, Array, float, float]] = []
    for shape in prop.shapes:
        if isinstance(shape, Ball):
            parts.append((shape.center, shape.center, shape.radius, 1.0))
        elif isinstance(shape, (Cylinder, Capsule)):
            parts.append((np.asarray(shape.start), np.asarray(shape.end), shape.radius, 1.0))
        elif isinstance(shape, Box):
            corners = shape.center + rotations.rotate(shape.rotation, _CORNERS * shape.half)
            parts += [(corners[a], corners[b], EDGE, EDGE_ALPHA) for a, b in _EDGES]
        else:
            sides = np.concatenate([shape.vertices[shape.indices[:, pair]] for pair in ((0, 1), (1, 2), (2, 0))])
            parts += [(a, b, EDGE, EDGE_ALPHA) for a, b in sides if tuple(a) < tuple(b)]  # each is in two triangles
    return _Prop(
        prop.positions,
        prop.orientations,
        np.array([p[0] for p in parts]).reshape(-1, 3),
        np.array([p[1] for p in parts]).reshape(-1, 3),
        np.array([p[2] for p in parts]),
        np.array([[*prop.color, p[3]] for p in parts]).reshape(-1, 4),
    )


EDGE_ALPHA = 0.99
"""Alpha of edges: what is not quite solid casts no shadow."""
EDGE = 0.008
"""Radius of a box's edges in a drawing of capsules [m]."""
_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if (_CORNERS[a] != _CORNERS[b]).sum() == 1]


LEGS_PER_WEIGHT = 1.5
"""Length of the arrow of a force as large as the figure's weight, in leg lengths."""


def arrow_of(push: Force, who: int, track: Track, times: Array) -> Arrow:
    """The arrow of a force on a track.

    Args:
        push: What acted.
        who: Index of the track.
        track: Whose body it acted on, over the T times.
        times: Of the scene [s], shape (T,).
    """
    body = push.body_of(track.character)
    point = track.character.bodies[body].com if push.offset is None else push.offset
    if isinstance(push, Push):
        force = np.array(push.force, dtype=np.float64)
    elif isinstance(push, Pull):
        force = push.stiffness * (np.array(push.point) - track.positions[:, body])
    elif isinstance(push, Hand):
        force = push.forces(times)
    else:
        raise TypeError(f"Cannot draw an arrow for a {type(push).__name__}.")
    end = min(push.start + push.duration, float(times[-1]))
    return Arrow(who, body, push.start, end, force, np.asarray(point), pulls=not isinstance(push, Push))


def words_of(push: Force) -> str:
    """Such as "chest, 300 N" or "hand on left_hand"."""
    if isinstance(push, Push):
        return f"{push.body}, {np.linalg.norm(push.force):.0f} N"
    return f"{'hand on' if isinstance(push, Hand) else 'pull of'} {push.body}"


def force_scale(leg_length: float, mass: float) -> float:
    """Drawn length of a newton on a figure [m/N]."""
    return LEGS_PER_WEIGHT * leg_length / (mass * GRAVITY)


def push_overlays(scene: Scene) -> list[Vectors]:
    """Pushes and pulls of a scene as arrows that follow their bodies; they stay a moment after they have ended."""
    found = []
    for pulls in (False, True):
        arrows = [a for a in scene.arrows if a.pulls is pulls]
        if not arrows:
            continue
        figure = scene.tracks[arrows[0].track].character
        vectors = np.stack([_force(scene, a) for a in arrows], axis=1)
        points = np.stack([_place(scene, a, vectors[:, k]) for k, a in enumerate(arrows)], axis=1)
        scale, width = force_scale(figure.leg_length, figure.mass), 0.04 * figure.leg_length
        name = "pull" if pulls else "push"
        color = (0.80, 0.25, 0.55) if pulls else ARROW_COLOR
        found.append(Vectors(name, "pushes", color, points, vectors, "N", scale, width, is_push=not pulls))
    return found


def _force(scene: Scene, arrow: Arrow) -> Array:
    force = np.array(np.broadcast_to(np.asarray(arrow.force, dtype=np.float64), (len(scene.times), 3)))
    is_on = (scene.times >= arrow.start_s - 1e-9) & (scene.times <= arrow.end_s + ARROW_AFTERGLOW)
    # what has ended shrinks away: at full length it would look as if it still pushed
    force *= np.clip(1.0 - (scene.times - arrow.end_s) / ARROW_AFTERGLOW, 0.0, 1.0)[:, None]
    return np.where(is_on[:, None], force, np.nan)


def _place(scene: Scene, arrow: Arrow, force: Array) -> Array:
    """Where the arrow touches the body's surface [m], shape (T, 3); NaN while nothing acts."""
    track = scene.tracks[arrow.track]
    turned = rotations.rotate(track.orientations[:, arrow.body], np.asarray(arrow.offset, dtype=np.float64))
    thick = max((c.radius for c in track.character.bodies[arrow.body].capsules), default=0.0)
    along = force / np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-12)
    return track.positions[:, arrow.body] + turned + (thick if arrow.pulls else -thick) * along


def limbs_of(character: Character) -> list[str]:
    """The limb of each contact point, or its body where no limb has it."""
    by_body = {b: limb.name for limb in character.limbs for b in limb.bodies}
    return [by_body.get(p.body, character.bodies[p.body].name) for p in character.contact_points]
