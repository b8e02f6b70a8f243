"""A synthesized run as a scene: the figures, what stands around them, what pushed, and why they did what they did.

Walls and floors are plates; holds, bars and balls are bodies.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.analysis.support import hulls
from poise.body.anthropometry import PERSON_MASS
from poise.body.posing import body_poses
from poise.core import rotations
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.filter.forces import Force, Push
from poise.goals.surroundings import INSTANT, Hold, Surface
from poise.goals.surroundings import Scene as GoalScene
from poise.show.camera import VIEWS, travel_heading
from poise.show.look import ARROW_COLOR, FIGURE_COLORS, arrow_of, force_scale, limbs_of, words_of
from poise.show.motion_scene import skins_on
from poise.show.physics import COM_COLOR, FORCE_COLOR, LEAST_FORCE, ROW_COLOR, SUPPORT_COLOR, TRAIL
from poise.show.scene import (
    Ball,
    Box,
    Color,
    Curve,
    Cylinder,
    Layer,
    Overlay,
    Plot,
    Points,
    Polygon,
    Prop,
    Row,
    Scene,
    Series,
    Skinned,
    Style,
    Track,
    Vectors,
)
from poise.show.world_scene import CLEAR, STEEP, companion_tracks, is_wall, props_of_thing
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.report import GripSpan
from poise.synthesis.run import BallResult, FigureResult, SynthesisResult
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

FAR = 10.0
"""A camera looks from about so far away [m]."""

ENDLESS = 12.0
"""Sides of the plate for a surface without end [m]."""

GONE = -100.0
"""A thing that was taken away is put down here [m], below every ground."""

BELOW = 3.0
"""Where the floor is not a plain ground, the ground is drawn this far below the lowest thing [m]."""


def is_ground(surface: Surface) -> bool:
    """True for a level floor without end that stays."""
    return (
        surface.normal == (0.0, 0.0, 1.0)
        and not np.isfinite(surface.size).any()
        and surface.movement is None
        and not np.isfinite(surface.until)
    )


def ground_of(scene: GoalScene) -> Terrain:
    """The ground to draw: the floor without end, or a level one far below where there is none."""
    for surface in scene.surfaces:
        if is_ground(surface):
            return Terrain.flat(surface.origin[2])
    lowest = min([0.0, *(s.origin[2] - (0.5 * s.size[1] if s.normal[2] == 0.0 else 0.0) for s in scene.surfaces)])
    return Terrain.flat(lowest - BELOW)


def clear_view(scene: Scene, surfaces: Sequence[Surface]) -> str:
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


def props_of(scene: GoalScene, balls: Sequence[BallResult], times: Array) -> tuple[Prop, ...]:
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


def props_at(scene: GoalScene, balls: Sequence[Array], time: float) -> tuple[Prop, ...]:
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
    back = rotations.conjugate(shapes[0].rotation)
    spans = [np.abs(rotations.to_matrix(rotations.multiply(back, s.rotation))) @ s.half for s in shapes]
    is_clear = is_wall(np.max(spans, axis=0), shapes[0].rotation)
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


FELL_COLOR: Color = (0.8, 0.2, 0.2)
LAYERS = (
    Layer("com", "Center of mass"),
    Layer("support", "Support polygon"),
    Layer("forces", "Contact forces"),
    Layer("pushes", "Pushes"),
    Layer("grips", "Grips"),
)

LONGEST_TITLE = 110
"""Longest title [characters]."""

MOST_CORNERS = 12
"""Corners of the support polygon."""

LEAST_PRESS = 1.0
"""A contact point that pushes up with less than this is not a corner of the support [N]."""


def scene_of_synthesis(result: SynthesisResult, *, title: str = "") -> Scene:
    """What a recording of a synthesized run shows.

    Args:
        result: The run.
        title: One line; by default the behavior, what pushed, and what was not as usual.
    """
    times = result.figures[0].motion.times - result.figures[0].motion.times[0]
    tracks, overlays, rows = [], [], []
    for k, figure in enumerate(result.figures):
        color = FIGURE_COLORS[k % len(FIGURE_COLORS)]
        skins = skins_on(figure.character, figure.motion)
        skinned = Skinned(skins, *figure.motion.world) if skins else None
        poses = body_poses(figure.character, figure.q)
        tracks.append(Track(figure.name, figure.character, *poses, Style(color=color), skinned))
        overlays += [*_center_of_mass(result, k, times), *_forces(result, k, times)]
        rows += _states(figure, color, len(result.figures) > 1)
    arrows = tuple(arrow_of(push, k, tracks[k], times) for push, k in zip(result.pushes, result.push_owners))
    things = tuple(prop for thing in result.things for prop in props_of_thing(thing))
    tracks += companion_tracks(result.companions, first=len(tracks))
    scene = Scene(
        times,
        tuple(tracks),
        ground_of(result.scene),
        arrows,
        title or title_of(result),
        things or props_of(result.scene, result.balls, times),
        tuple(overlays),
        timeline=(*_events(result, float(times[-1])), *rows),
        plots=_plots(result, times),
        layers=LAYERS,
        notes=_notes(result),
        camera=result.view,
    )
    return replace(scene, camera=clear_view(scene, result.scene.surfaces))


def title_of(result: SynthesisResult) -> str:
    """What tells one run from another: the behavior, what pushed, and what was not as usual."""
    d = result.report.data
    options, settings = d["settings"]["options"], d["settings"]
    return run_title(d["behavior"], options, result.pushes, result.figures[0].character.mass, d["is_literal"], settings)


def run_title(
    behavior: str, options: Mapping[str, Any], pushes: Sequence[Force], mass: float, is_literal: bool,
    settings: Mapping[str, Any],
) -> str:  # fmt: skip
    """The title of a run, in a recording and in a live page.

    Args:
        behavior: Its name.
        options: Of the behavior.
        pushes: Those that the run was given.
        mass: Of the first figure [kg].
        is_literal: Whether the goals are the paper's own.
        settings: "engine" and "responsiveness" of the run.
    """
    usual = BEHAVIORS[behavior].options if behavior in BEHAVIORS else options
    changed = [f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in options.items() if usual.get(k) != v]
    given = [
        f"{p.body} {' '.join(f'{v:g}' for v in p.force)} N @{p.start:g}+{p.duration:g}"
        for p in pushes
        if isinstance(p, Push)
    ]
    others = [
        f"{mass:.3g} kg" if abs(mass - PERSON_MASS) > 0.05 else "",
        "literal" if is_literal else "",
        "on MuJoCo" if settings["engine"] == "mujoco" else "",
        f"responsiveness {settings['responsiveness']:g}" if settings["responsiveness"] != 1.0 else "",
    ]
    parts = [f"poise synthesize {behavior}", *given, *changed, *(o for o in others if o)]
    return textwrap.shorten(" · ".join(parts), LONGEST_TITLE, placeholder=" …")


def _at_frames(values: npt.NDArray[np.floating], frames: int) -> Array:
    """Numbers of the steps as numbers of the frames before them; the last frame has those of the last step."""
    if not len(values):
        return np.full((frames, *values.shape[1:]), np.nan)
    return values[np.minimum(np.arange(frames), len(values) - 1)].astype(np.float64)


def _center_of_mass(result: SynthesisResult, k: int, times: Array) -> list[Overlay]:
    figure = result.figures[k]
    com, size = _at_frames(result.trace.com[:, k], len(times)), figure.character.leg_scale
    if not np.isfinite(com).all():
        return []
    found: list[Overlay] = [
        Points(f"center of mass of {figure.name}", "com", COM_COLOR, com[:, None], 0.07 * size),
        Curve(f"trail of {figure.name}", "com", COM_COLOR, com, times, "trail", TRAIL),
    ]
    floor = next((s for s in result.scene.surfaces if is_ground(s)), None)
    if floor is not None:
        below = np.column_stack([com[:, :2], np.full(len(com), floor.origin[2])])
        found.append(Points(f"projection of {figure.name}", "com", COM_COLOR, below[:, None], 0.10 * size, "ring"))
    return found


def _forces(result: SynthesisResult, k: int, times: Array) -> list[Overlay]:
    """One arrow a limb, at the middle of what presses it; the support polygon; a mark at every grip."""
    trace, character, frames = result.trace, result.figures[k].character, len(times)
    own = np.flatnonzero(trace.owners == k)
    points, forces = _at_frames(trace.points[:, own], frames), _at_frames(trace.forces[:, own], frames)
    limbs, sizes = limbs_of(character), np.linalg.norm(forces, axis=2)
    least, size = LEAST_FORCE * character.mass * GRAVITY, character.leg_scale
    places, vectors = [], []
    for name in dict.fromkeys(limbs):
        chosen = [i for i, limb in enumerate(limbs) if limb == name]
        total = sizes[:, chosen].sum(axis=1)
        if not (total > least).any():
            continue
        share = sizes[:, chosen] / np.maximum(total, 1e-9)[:, None]
        middle, whole = np.einsum("fp,fpi->fi", share, points[:, chosen]), forces[:, chosen].sum(axis=1)
        is_on = (total > least)[:, None]
        places.append(np.where(is_on, middle, np.nan))
        vectors.append(np.where(is_on, whole, np.nan))
    found: list[Overlay] = []
    if places:
        scale = 0.5 * force_scale(character.leg_length, character.mass)
        found.append(
            Vectors(
                "contact force",
                "forces",
                FORCE_COLOR,
                np.stack(places, axis=1),
                np.stack(vectors, axis=1),
                "N",
                scale,
                0.03 * size,
            )
        )
    held = [g for g in trace.grips if g.figure == k]
    support = _support(points, forces)
    for grip in held:  # what hangs on something has no polygon to stand on
        support[_lasts(grip, times)] = np.nan
    found.append(Polygon("support polygon", "support", SUPPORT_COLOR, support))
    for part in dict.fromkeys(g.part for g in held):
        places = np.full((frames, 1, 3), np.nan)
        for grip in (g for g in held if g.part == part):
            is_on = _lasts(grip, times)
            places[is_on, 0] = points[is_on, np.searchsorted(own, grip.point)]
        found.append(Points(f"grip of {part}", "grips", HOLD_COLOR, places, 0.06 * size))
    return found


def _lasts(grip: GripSpan, times: Array) -> npt.NDArray[np.bool_]:
    """In which frames a grip holds, shape (T,)."""
    return (times >= grip.start - INSTANT) & (times <= grip.end + INSTANT)


def _support(points: Array, forces: Array) -> Array:
    """Hull of the points that press up, corners (T, MOST_CORNERS, 3); NaN where there are fewer than three."""
    hull, counts = hulls(np.ascontiguousarray(points), forces[:, :, 2] > LEAST_PRESS)
    places = np.minimum(np.arange(MOST_CORNERS), np.maximum(counts[:, None] - 1, 0))
    chosen = np.maximum(np.take_along_axis(hull, np.minimum(places, hull.shape[1] - 1), axis=1), 0)
    corners = np.take_along_axis(points, chosen[:, :, None], axis=1)
    return np.where((counts >= 3)[:, None, None], corners, np.nan)


def _states(figure: FigureResult, color: Color, is_named: bool) -> list[Row]:
    """The states of a controller as spans; those of machines inside a state in a row of their own."""
    rows = []
    for level, name in enumerate(("states", "states inside", "states further inside")):
        spans = tuple(
            (v.start, v.end, v.name.rpartition(" / ")[2]) for v in figure.visits if v.name.count(" / ") == level
        )
        if spans:
            rows.append(Row(f"{figure.name}: {name}" if is_named else name, color, spans))
    return rows


def _events(result: SynthesisResult, last: float) -> list[Row]:
    """Pushes, grips and supports, hits, things taken away, and falls."""
    rows: list[Row] = []
    pushes = tuple((p.start, min(p.start + p.duration, last), words_of(p)) for p in result.pushes if p.start <= last)
    if pushes:
        rows.append(Row("pushes", ARROW_COLOR, pushes))
    grips = tuple((g.start, g.end, f"{g.part.replace('_', ' ')}: {g.what}") for g in result.trace.grips)
    marks = tuple((s["time"], f"{s['body']} on {s['object']}") for s in result.report["supports"])
    marks += tuple((s["time"], f"{s['body']} loses {s['object']}") for s in result.report["losses"])
    if grips or marks:
        rows.append(Row("grips and supports", HOLD_COLOR, grips, tuple(sorted(marks))[:200]))
    hits = tuple((h["time"], f"{h['ball']} hits {h['body']}") for h in result.report["hits"])
    if hits:
        rows.append(Row("hits", FELL_COLOR, (), hits[:200]))
    things = (*result.scene.surfaces, *result.scene.holds)
    gone = tuple((t.until, f"{t.name} is gone") for t in things if t.until <= last)
    gone += tuple((b.ball.at, f"{b.ball.name} is thrown") for b in result.balls if b.ball.at <= last)
    if gone:
        rows.append(Row("events", ROW_COLOR, (), tuple(sorted(gone))))
    falls = tuple((f.fell, f"{f.name} fell") for f in result.figures if f.fell is not None)
    if falls:
        rows.append(Row("falls", FELL_COLOR, (), falls))
    return rows


def _plots(result: SynthesisResult, times: Array) -> tuple[Plot, ...]:
    """Height of the centers of mass, load of the contacts, effort, what held the root, and swinging."""
    trace, frames = result.trace, len(times)

    def lines(values: npt.NDArray[np.floating]) -> tuple[Series, ...]:
        shown = _at_frames(values, frames)
        return tuple(
            Series(f.name, FIGURE_COLORS[k % len(FIGURE_COLORS)], shown[:, k]) for k, f in enumerate(result.figures)
        )

    weights = np.array([f.character.mass * GRAVITY for f in result.figures])
    load = np.stack([trace.forces[:, trace.owners == k].sum(axis=1)[:, 2] for k in range(len(weights))], axis=1)
    plots = [
        Plot("Height of the center of mass", "m", lines(trace.com[:, :, 2])),
        Plot("Largest torque, in parts of its limit", "", lines(trace.effort), ((1.0, "limit"),)),
        Plot("Contacts carry, in parts of the weight", "", lines(load / weights), ((1.0, "weight"),)),
        Plot("Force that holds the root", "N", lines(trace.root_force)),
    ]
    if np.isfinite(trace.swing).any():
        plots.append(Plot("Swing", "°", lines(trace.swing)))
    if trace.is_delayed.any():
        plots.append(Plot("Reaction delay", "", lines(trace.is_delayed.astype(np.float32))))
    return tuple(plots)


def _notes(result: SynthesisResult) -> tuple[str, ...]:
    d = result.report.data
    people = ", ".join(f"{f.character.mass:.3g} kg" for f in result.figures)
    return (
        f"Made from goals alone, no clip: {d['behavior']}, {people}, {result.figures[0].outcome}",
        f"Nobody holds the root: at most {d['root_residual_max']['force_N']:.1g} N; steps of {d['settings']['dt']:g} s",
    )
