"""Clips as scenes: one with its analysis and skin, several in one place or in step, one before and after an edit."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from poise.analysis import Analysis, analyze, center_of_mass
from poise.body.character import Character, ball, fit
from poise.core import rotations
from poise.core.errors import InvalidValue, MotionWarning
from poise.core.motion import Motion
from poise.core.units import GRAVITY, kilograms
from poise.io.markers import Markers
from poise.phases.floor import carried_ground
from poise.phases.travel import direction_of_travel
from poise.show.join import in_step, paler, resampled, side_by_side
from poise.show.physics import with_physics
from poise.show.scene import (
    GHOST,
    GHOST_COLOR,
    SOLID,
    Choice,
    Choices,
    Color,
    Curve,
    Layer,
    Plot,
    Points,
    Scene,
    Series,
    Skin,
    Skinned,
    Style,
    Track,
    clip_word,
    file_name,
    track_of_motion,
)
from poise.terrain import Terrain

COLORS: tuple[Color, ...] = (
    (0.93, 0.63, 0.29),
    (0.30, 0.55, 0.80),
    (0.45, 0.70, 0.40),
    (0.75, 0.45, 0.70),
    (0.85, 0.45, 0.40),
    (0.40, 0.68, 0.68),
)
"""Colors of clips shown together, in turn."""

MOST_CLIPS = 12
"""More clips than this in one page are too many to tell apart."""


def scene_of_motion(
    motion: Motion,
    character: Character | None = None,
    *,
    terrain: Terrain | None = None,
    name: str = "",
    style: Style = SOLID,
    physics: bool = True,
    gravity: float = GRAVITY,
) -> Scene:
    """A clip with what its analysis finds: forces, support, center of mass, momenta, flights and their plots.

    Example:
        >>> scene = poise.scene_of_motion(motion, character)
        >>> poise.View(scene).save("walk.html")

    Args:
        motion: The clip.
        character: Fitted to the motion if not given.
        terrain: The ground as it lies; if not given the one the clip carries, else flat at the character's floor.
        name: What it is called; by default the name of its file.
        style: How it is drawn.
        physics: Analyze it.
        gravity: What its flights are compared with [m/s^2].
    """
    return _scene_with_physics(motion, character, terrain, name, style, physics, gravity)[0]


def scene_of_motions(motions: Sequence[Motion], *, names: Sequence[str] = (), physics: bool = True) -> Scene:
    """Several clips in one place, each in its own color, all from time 0; the analysis drawn is that of the first.

    Raises:
        InvalidValue: if there is none, or more than a page shows.
    """
    if not 1 <= len(motions) <= MOST_CLIPS:
        raise InvalidValue(f"{len(motions)} clips were given; 1 to {MOST_CLIPS} are shown together.")
    names = _names(motions, names)
    scenes = []
    for k, (motion, name) in enumerate(zip(motions, names)):
        scenes.append(
            _scene_with_physics(motion, None, None, name, Style("solid", COLORS[k % len(COLORS)]), physics)[0]
        )
    times = max((s.times for s in scenes), key=lambda t: float(t[-1]))
    parts = [resampled(s, times) for s in scenes]
    first = parts[0]
    if len(parts) == 1:
        return first
    plots = [
        Plot(p.name, p.unit, tuple(_line(q, k, name) for k, (q, name) in enumerate(zip(same, names))), p.lines)
        for p, *_ in [(p,) for p in first.plots]
        if (same := [next((q for q in s.plots if q.name == p.name), None) for s in parts])
        and all(q is not None and len(q.series) == 1 for q in same)
    ]
    rows = tuple(replace(r, name=f"{name}: {r.name}") for s, name in zip(parts, names) for r in s.timeline)
    return replace(
        first,
        tracks=tuple(s.tracks[0] for s in parts),
        title=", ".join(names),
        timeline=rows,
        plots=tuple(plots),
        notes=tuple(n for s in parts for n in s.notes),
    )


def compare(motions: Sequence[Motion], *, names: Sequence[str] = (), physics: bool = True) -> Scene:
    """Clips beside each other, in step: each from the same place and heading, and all but the first in the first's
    time, so that feet come down together.

    Raises:
        InvalidValue: if there are fewer than two, or more than four.
    """
    if not 2 <= len(motions) <= 4:
        raise InvalidValue(f"{len(motions)} clips were given; two to four are shown side by side.")
    names = _names(motions, names)
    heading = direction_of_travel(motions[0])
    seen: list[tuple[Scene, Analysis | None]] = []
    for motion, name in zip(motions, names):
        character = fit(motion)
        placed = _placed(motion, heading, character.floor)
        style = Style("solid", COLORS[len(seen) % len(COLORS)])
        seen.append(_scene_with_physics(placed, replace(character, floor=0.0), Terrain.flat(), name, style, physics))
    first = seen[0][1]
    scenes = [seen[0][0]]
    for scene, analysis in seen[1:]:
        stepped = in_step(scene, analysis, first) if analysis is not None and first is not None else scene
        scenes.append(stepped)
    return side_by_side([resampled(s, scenes[0].times) for s in scenes])


def scene_of_markers(markers: Markers, name: str) -> Scene:
    """A recording of markers: a ball for each where it is seen, a pale one where it was seen last.

    Args:
        markers: The recording.
        name: What it is called.
    """
    seen = np.asarray(np.isfinite(markers.places).all(axis=2))
    known = np.flatnonzero(seen.any(axis=0))
    known = known[np.argsort(-seen[:, known].sum(axis=0), kind="stable")]  # the camera follows the first
    frames, names = np.arange(len(seen)), [markers.names[k] for k in known]
    places, seen = markers.places[:, known], seen[:, known]
    last = np.maximum.accumulate(np.where(seen, frames[:, None], np.argmax(seen, axis=0)), axis=0)
    held = np.take_along_axis(places, last[:, :, None], axis=0)
    spread = float(np.median(np.linalg.norm(held - held.mean(axis=1, keepdims=True), axis=2)))
    size = max(0.08 * spread, 1e-3)
    one = ball(names[0], 0.4 * size, 1.0)
    bodies = [replace(one.bodies[0], name=n, parent=0, kind="ball") for n in names]
    bodies[0] = one.bodies[0]
    turns = np.broadcast_to(rotations.IDENTITY, (*held.shape[:2], 4)).copy()
    figure = replace(one, bodies=tuple(bodies), leg_length=spread)
    shown = np.where(seen[:, :, None], places, np.nan)
    points = Points("markers", "markers", COLORS[0], shown, size, names=tuple(names))
    lost = 1.0 - float(np.isfinite(markers.places).all(axis=2).mean())
    note = f"{name}: {len(markers.names)} markers, {lost:.1%} of their places lost, at {markers.fps:.4g} Hz"
    return Scene(
        markers.times,
        (Track("markers", figure, held, turns, GHOST),),
        Terrain.flat(float(held[:, :, 2].min())),
        title=name,
        overlays=(points,),
        layers=(Layer("markers", "Markers"),),
        notes=(note,),
    )


def _scene_with_physics(
    motion: Motion,
    character: Character | None,
    terrain: Terrain | None,
    name: str,
    style: Style,
    physics: bool,
    gravity: float = GRAVITY,
) -> tuple[Scene, Analysis | None]:
    character = fit(motion) if character is None else character
    name = name or _names([motion], ())[0]
    if terrain is None:
        terrain = carried_ground(motion) or Terrain.flat(character.floor)
    track = track_of_motion(motion, character, name=name, style=style, skins=skins_of(motion))
    note = f"{name}: {motion.frame_count} frames at {motion.fps:.4g} Hz, {kilograms(character.mass)}"
    scene = Scene(motion.times, (track,), terrain, title=name, notes=(note,))
    if not physics or motion.frame_count < 5:
        return scene, None
    analysis = analyze(motion, character, terrain=terrain, gravity=gravity)
    return with_physics(scene, analysis), analysis


def _placed(motion: Motion, heading: float, floor: float) -> Motion:
    """The motion moved and turned: its root starts over the origin, its floor at 0, its way along a heading [rad]."""
    angle = heading - direction_of_travel(motion)
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, angle]))
    start = np.array([*motion.translations[0, 0, :2], floor])
    translations, turned = motion.translations.copy(), motion.rotations.copy()
    translations[:, 0] = rotations.rotate(turn, translations[:, 0] - start)
    turned[:, 0] = rotations.multiply(turn, turned[:, 0])
    return replace(motion, translations=translations, rotations=turned)


def _line(plot: Plot | None, k: int, name: str) -> Series:
    assert plot is not None
    return Series(name, COLORS[k % len(COLORS)], plot.series[0].values)


def _names(motions: Sequence[Motion], names: Sequence[str]) -> list[str]:
    """Given names, or those of the files; where two are the same, numbered."""
    found: list[str] = []
    for k, motion in enumerate(motions):
        path = motion.source.path if motion.source else ""
        own = PurePosixPath(path.replace("\\", "/")).stem or "clip"
        own += clip_word(motion)
        name = names[k] if k < len(names) else own
        found.append(name if name not in found else f"{name} ({sum(n.startswith(name) for n in found) + 1})")
    return found


MAX_VERTICES = 300_000
"""Vertices of all skins of a figure; a file with more is shown as capsules."""

LIVE_VERTICES = 60_000
"""The same on a live page, whose scene is sent anew with every new ground."""

MAX_TEXTURE = 16_000_000
"""Largest texture [bytes]."""

MAX_PIXELS = 4096 * 4096
"""Largest texture [pixels]: a small file can unpack to a huge picture."""

_FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}


def skins_on(character: Character, drawn: Motion | None, *, most: int = MAX_VERTICES) -> tuple[Skin, ...]:
    """The skins of a motion, on a character with the same joints; none where joints differ or skins are too large.

    Args:
        character: The character.
        drawn: A motion of the file that holds the skins.
        most: Vertices of all skins.
    """
    if drawn is None or drawn.skeleton.names != character.skeleton.names:
        return ()
    skins = skins_of(drawn)
    return skins if sum(len(skin.vertices) for skin in skins) <= most else ()


def skins_of(motion: Motion) -> tuple[Skin, ...]:
    """The skins of the file a motion was read from; none where its format has none.

    What is too large is left out with a warning: the vertices, or only the texture.
    """
    document = motion.source.document if motion.source else None
    meshes = getattr(document, "meshes", ())
    if not meshes:
        return ()
    count = sum(len(m.positions) for m in meshes)
    if count > MAX_VERTICES:
        message = f"The skin has {count} vertices, more than the {MAX_VERTICES} a page holds; capsules are shown."
        warnings.warn(message, MotionWarning, stacklevel=2)
        return ()
    scales = document.joint_scales  # pyright: ignore[reportOptionalMemberAccess]  # what has meshes has scales
    found = []
    for mesh in meshes:
        binds = mesh.inverse_binds.copy()
        binds[:, :3] *= scales[:, None, None]
        texture, kind = _checked(mesh.texture)
        order = np.argsort(-mesh.weights, axis=1)[:, :4]
        joints, weights = (np.take_along_axis(a, order, axis=1) for a in (mesh.joints, mesh.weights))
        spare = ((0, 0), (0, 4 - order.shape[1]))  # a rigid part has one joint a vertex; the page reads four
        joints, weights = np.pad(joints, spare), np.pad(weights, spare)
        total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        skin = Skin(
            mesh.name,
            mesh.positions,
            mesh.indices,
            joints,
            (weights / total).astype(np.float32),
            binds,
            mesh.uvs,
            texture,
            kind,
            mesh.color or ((0.8, 0.8, 0.8) if mesh.colors is None else (1.0, 1.0, 1.0)),
            mesh.colors,
        )
        found.append(skin)
    return tuple(found)


def _checked(texture: bytes | None) -> tuple[bytes | None, str]:
    """A texture and its type by its own first bytes, or none if it is too large or no picture a browser shows."""
    if texture is None:
        return None, ""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(texture)) as picture:  # reads the header only
                width, height, kind = *picture.size, _FORMATS.get(picture.format or "", "")
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError):
        width, height, kind = 0, 0, ""
    if kind and width * height <= MAX_PIXELS and len(texture) <= MAX_TEXTURE:
        return texture, kind
    seen = f"{width} x {height} pixels in {len(texture)} bytes" if kind else "no PNG, JPEG or WebP"
    warnings.warn(f"A texture is left out: it is {seen}.", MotionWarning, stacklevel=3)
    return None, ""


def scene_of_edit(
    before: Motion,
    after: Motion,
    report: dict[str, Any] | None = None,
    *,
    physics: bool = False,
    choices: Sequence[Motion] = (),
) -> Scene:
    """What a recording of an edit shows, in the time of the edited clip.

    Args:
        before: The clip as it was; it stands on its last frame where the edited one lasts longer.
        after: The edited clip.
        report: The edit's report, for the title and the notes.
        physics: Show the analysis of the edited clip (flights, momenta, support, pressure), dashed the path that the
            center of mass took before, and in each plot the lines of before besides those of after.
        choices: The clip at each point of the report's curve; the page shows another one when its point is clicked.
    """
    own, edited = fit(before), fit(after)
    lasting = after.times[after.times <= before.times[-1]]
    seen = before.resampled(lasting) if len(lasting) and before.frame_count > 1 else before
    ghost = track_of_motion(seen, own, name="before", style=GHOST, skins=skins_of(before))
    hold = np.minimum(np.arange(after.frame_count), len(ghost.positions) - 1)
    skin = ghost.skinned
    if skin is not None:
        skin = Skinned(skin.skins, skin.positions[hold], skin.orientations[hold])
    ghost = replace(ghost, positions=ghost.positions[hold], orientations=ghost.orientations[hold], skinned=skin)
    terrain = Terrain.flat(own.floor)
    scene = scene_of_motion(after, edited, terrain=terrain, name="after", physics=physics, gravity=_gravity(report))
    overlays = scene.overlays
    if any(layer.name == "com" for layer in scene.layers):
        path = center_of_mass(before, own)
        overlays += (Curve("center of mass before", "com", GHOST_COLOR, path, is_dashed=True),)
    if physics:
        was = scene_of_motion(before, own, terrain=terrain, name="before", gravity=_gravity(report))
        scene = replace(scene, plots=_both(scene.plots, resampled(was, scene.times).plots))
    title, notes = file_name(before), scene.notes
    if report is not None:
        title, notes = f"{title}: edit {report['edit']}", notes + tuple(report["notes"])
    scene = replace(scene, tracks=(*scene.tracks, ghost), overlays=overlays, title=title, notes=notes)
    return scene if report is None or len(choices) < 2 else _with_choices(scene, report, choices, edited)


def _with_choices(scene: Scene, report: dict[str, Any], choices: Sequence[Motion], body: Character) -> Scene:
    """The scene with a chart of how physical against how much changed, and the clip at each of its points."""
    chosen, tracks, layers, points = report["chosen"], [], [], []
    own, skins = scene.tracks[0], skins_of(choices[0])
    for k, (point, motion) in enumerate(zip(report["curve"], choices)):
        label = (
            f"force left {100.0 * point['force_rms']:.1f} % of the weight, moment {point['moment_rms_Nm']:.3g} N m; "
            f"joints by up to {point['joint_change_max_deg']:.2g}°, root by {100.0 * point['root_change_max_m']:.2g} cm"
        )
        layer = own.name if k == chosen else f"choice {k}"
        points.append(Choice(layer, point["change"], 100.0 * point["force_rms"], label))
        if k != chosen:
            tracks.append(track_of_motion(motion, body, name=layer, skins=skins))
            layers.append(Layer(layer, f"choice {k}: force left {100.0 * point['force_rms']:.1f} %", is_on=False))
    chart = Choices(
        "Choices",
        "change (1: a joint by 5°, or the root by 3 cm)",
        "force left [% of the weight]",
        tuple(points),
        chosen,
    )
    return replace(scene, tracks=(*scene.tracks, *tracks), layers=(*scene.layers, *layers), choices=chart)


def _both(after: tuple[Plot, ...], before: tuple[Plot, ...]) -> tuple[Plot, ...]:
    """The plots of after, and under them, dashed, the lines of before: pale, or one alone in the ghost's color."""
    known = {plot.name: plot for plot in before}
    return tuple(
        replace(plot, series=_named("before", _pale(known[plot.name].series)) + _named("after", plot.series))
        if plot.name in known
        else plot
        for plot in after
    )


def _named(when: str, lines: tuple[Series, ...]) -> tuple[Series, ...]:
    return tuple(replace(line, name=f"{when} {line.name}") for line in lines)


def _pale(lines: tuple[Series, ...]) -> tuple[Series, ...]:
    if len(lines) == 1:
        return (replace(lines[0], color=GHOST_COLOR, is_dashed=True),)
    return tuple(replace(line, color=paler(line.color, 0.5), is_dashed=True) for line in lines)


def _gravity(report: dict[str, Any] | None) -> float:
    """The gravity that an edit was told to give the flights, where it points down; else that of the Earth [m/s^2]."""
    given = None if report is None else report["settings"].get("gravity_m_s2")
    if given is None or np.ndim(given) == 0:
        return GRAVITY if given is None else float(given)
    x, y, z = (float(v) for v in given)
    return -z if z < 0.0 and x == y == 0.0 else GRAVITY
