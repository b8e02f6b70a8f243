"""Several scenes as one: side by side, their steps at the same times or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poise.analysis import Analysis
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.typing import Array, Index
from poise.show.look import side_shades
from poise.show.physics import SIDE_COLORS
from poise.show.scene import (
    Arrow,
    Color,
    Curve,
    Label,
    Overlay,
    Plot,
    Points,
    Polygon,
    Scene,
    Series,
    Skinned,
    Track,
    Vectors,
)


def side_by_side(scenes: Sequence[Scene]) -> Scene:
    """Scenes beside each other in one page, each in a view of its own, under one timeline.

    Times are those of the longest; where another ends earlier its last frame stays. The ground is the first's.

    Raises:
        InvalidValue: if there is no scene, or one has views already.
    """
    if not scenes or any(s.views for s in scenes):
        raise InvalidValue("Scenes stand side by side only if there are some, and none has views of its own.")
    times = max((s.times for s in scenes), key=lambda t: float(t[-1]))
    names = _distinct([s.title or s.tracks[0].name for s in scenes])
    parts = [_named(resampled(s, times), name, k) for k, (s, name) in enumerate(zip(scenes, names))]
    arrows: list[Arrow] = []
    before = 0
    for p in parts:
        arrows += [replace(a, track=a.track + before) for a in p.arrows]
        before += len(p.tracks)
    layers = {layer.name: layer for p in parts for layer in p.layers}
    return Scene(
        times,
        tuple(t for p in parts for t in p.tracks),
        scenes[0].terrain,
        tuple(arrows),
        " | ".join(names),
        tuple(x for p in parts for x in p.props),
        tuple(o for p in parts for o in p.overlays),
        tuple(r for p in parts for r in p.timeline),
        _merged(parts),
        tuple(layers.values()),
        notes=tuple(n for p in parts for n in p.notes),
        views=tuple(names),
    )


def _named(scene: Scene, name: str, view: int) -> Scene:
    """A scene whose parts say whose they are, in a view."""
    tracks = tuple(replace(t, name=f"{name}: {t.name}" if t.name != name else name, view=view) for t in scene.tracks)
    plots = tuple(replace(p, series=tuple(replace(s, name=f"{name}: {s.name}") for s in p.series)) for p in scene.plots)
    shades = side_shades(tracks[0].style.color)
    own = {color: shades[side] for side, color in SIDE_COLORS.items()}  # whose leg it is, and which
    rows = tuple(replace(r, name=f"{name}: {r.name}", color=own.get(r.color, r.color)) for r in scene.timeline)
    overlays = tuple(replace(o, view=view) for o in scene.overlays)
    return replace(scene, tracks=tracks, plots=plots, timeline=rows, overlays=overlays)


def _merged(parts: Sequence[Scene]) -> tuple[Plot, ...]:
    """Plots of one name and unit become one, with the lines of all; later scenes' lines are drawn paler."""
    plots: dict[tuple[str, str], Plot] = {}
    for k, part in enumerate(parts):
        for p in part.plots:
            series = tuple(replace(s, color=paler(s.color, 0.5 * k / (1 + k))) for s in p.series)
            known = plots.get((p.name, p.unit))
            plots[p.name, p.unit] = replace(p, series=series) if known is None else _with(known, series)
    return tuple(plots.values())


def _with(plot: Plot, series: tuple[Series, ...]) -> Plot:
    return replace(plot, series=plot.series + series)


def paler(color: Color, part: float) -> Color:
    """A color that has gone a part of its way to white."""
    return (color[0] + part * (1 - color[0]), color[1] + part * (1 - color[1]), color[2] + part * (1 - color[2]))


def resampled(scene: Scene, times: Array) -> Scene:
    """A scene at other times [s] (T,): poses between frames, ends hold; marks and spans keep their own times."""
    if len(times) == len(scene.times) and np.array_equal(times, scene.times):
        return scene
    before, blend = _between(scene.times, times)
    arrows = tuple(
        a if np.ndim(a.force) == 1 else replace(a, force=_linear(np.asarray(a.force), before, blend))
        for a in scene.arrows
    )
    props = tuple(
        p
        if len(p.positions) == 1
        else replace(
            p, positions=_linear(p.positions, before, blend), orientations=_turned(p.orientations, before, blend)
        )
        for p in scene.props
    )
    plots = tuple(
        replace(p, series=tuple(replace(s, values=_linear(s.values, before, blend)) for s in p.series))
        for p in scene.plots
    )
    return replace(
        scene,
        times=times,
        tracks=tuple(_track(t, before, blend) for t in scene.tracks),
        arrows=arrows,
        props=props,
        overlays=tuple(_overlay(o, before, blend) for o in scene.overlays),
        plots=plots,
    )


def _track(track: Track, before: Index, blend: Array) -> Track:
    skin = track.skinned
    if skin is not None:
        places, turns = _linear(skin.positions, before, blend), _turned(skin.orientations, before, blend)
        skin = Skinned(skin.skins, places, turns)
    return replace(
        track,
        positions=_linear(track.positions, before, blend),
        orientations=_turned(track.orientations, before, blend),
        skinned=skin,
    )


def _overlay(overlay: Overlay, before: Index, blend: Array) -> Overlay:
    if isinstance(overlay, Curve | Label):
        return overlay
    if isinstance(overlay, Points):
        return replace(overlay, positions=_nearest(overlay.positions, before, blend))
    if isinstance(overlay, Polygon):
        return replace(overlay, vertices=_nearest(overlay.vertices, before, blend))
    assert isinstance(overlay, Vectors)
    points, vectors = (_nearest(a, before, blend) for a in (overlay.points, overlay.vectors))
    return replace(overlay, points=points, vectors=vectors)


def _between(own: Array, times: Array) -> tuple[Index, Array]:
    """Frame before each time, and how far on to the next it lies."""
    place = np.interp(times, own, np.arange(len(own), dtype=np.float64))
    before = np.minimum(place.astype(np.int64), max(len(own) - 2, 0))
    return before, place - before


def _linear(values: Array, before: Index, blend: Array) -> Array:
    after = np.minimum(before + 1, len(values) - 1)
    part = blend.reshape(-1, *([1] * (values.ndim - 1)))
    return (1.0 - part) * values[before] + part * values[after]


def _nearest(values: Array, before: Index, blend: Array) -> Array:
    """Values where hiding (NaN) matters: those of the nearer frame."""
    if len(values) == 1:
        return values
    return values[np.minimum(before + (blend > 0.5), len(values) - 1)]


def _turned(turns: Array, before: Index, blend: Array) -> Array:
    return rotations.normalize(_linear(rotations.continuous(turns), before, blend))


def _distinct(names: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


Landing = tuple[str, float]

FEWEST = 2
"""Landings in common below which clips are only laid on their first common one."""

FASTEST = 2.0
"""A stretch of a clip is run at most this many times faster, or slower, to be in step."""


def landings(analysis: Analysis) -> tuple[Landing, ...]:
    """When each foot comes down: its limb and the time [s], in order."""
    touch = analysis.touch
    feet = {s for s, is_foot in zip(touch.supports, touch.is_foot) if is_foot}
    found = [
        (name, float(analysis.times[k + 1]))
        for i, name in enumerate(analysis.support_names)
        if name in feet
        for k in np.flatnonzero(np.diff(analysis.supports[:, i].astype(np.int8)) > 0)
    ]
    return tuple(sorted(found, key=lambda landing: landing[1]))


def matched(theirs: Sequence[Landing], ours: Sequence[Landing]) -> tuple[Array, Array]:
    """Times of the same landings in two clips: the longest stretch in which the same feet follow each other.

    Of equally long ones that which begins earliest.

    Returns:
        Times in `theirs` and in `ours` [s], each (n,).
    """
    best: tuple[int, int, int] = (0, 0, 0)
    for i in range(len(theirs)):
        for j in range(len(ours)):
            n = 0
            while i + n < len(theirs) and j + n < len(ours) and theirs[i + n][0] == ours[j + n][0]:
                n += 1
            if n > best[0]:
                best = (n, i, j)
    n, i, j = best
    return np.array([t for _, t in theirs[i : i + n]]), np.array([t for _, t in ours[j : j + n]])


def in_step(scene: Scene, own: Analysis, leader: Analysis) -> Scene:
    """The scene of a clip in the time of another clip.

    Between landings both have in common time runs evenly; before the first and after the last at its own speed. With
    fewer than two in common, or where a stretch would run more than twice too fast, the clip is only shifted so that
    the first common landing falls together.
    """
    theirs, ours = matched(landings(leader), landings(own))
    if len(ours) == 0:
        return scene
    gaps = np.diff(theirs) / np.maximum(np.diff(ours), 1e-9)
    if len(ours) < FEWEST or (gaps > FASTEST).any() or (gaps < 1.0 / FASTEST).any():
        theirs, ours, gaps = theirs[:1], ours[:1], np.ones(1)
    note = f"in step by {len(ours)} landing(s), at {1.0 / gaps.max():.2f} to {1.0 / gaps.min():.2f} of its own speed"
    return replace(retimed(scene, ours, theirs), notes=(*scene.notes, note))


def retimed(scene: Scene, own: Array, new: Array) -> Scene:
    """The scene with its times moved from `own` to `new` [s] (n,): evenly between, at the same speed outside.

    Frames before time 0 are left out.

    Raises:
        InvalidValue: if nothing of it comes after time 0.
    """

    def moved(times: Array) -> Array:
        inside = np.interp(times, own, new)
        return inside + np.minimum(times - own[0], 0.0) + np.maximum(times - own[-1], 0.0)

    times = moved(scene.times)
    if times[-1] < 0.0:
        raise InvalidValue("The clip would end before the other begins; show them without --side-by-side.")
    rows = tuple(
        replace(
            r,
            spans=tuple((float(moved(np.array(a))), float(moved(np.array(b))), w) for a, b, w in r.spans),
            marks=tuple((float(moved(np.array(t))), w) for t, w in r.marks),
        )
        for r in scene.timeline
    )

    def moved_overlay(overlay: Overlay) -> Overlay:
        if isinstance(overlay, Label | Curve) and overlay.span is not None:
            first, last = moved(np.array(overlay.span)).tolist()
            overlay = replace(overlay, span=(first, last))
        if isinstance(overlay, Curve) and overlay.times is not None:
            overlay = replace(overlay, times=moved(overlay.times))
        return overlay

    return replace(scene, times=times, timeline=rows, overlays=tuple(moved_overlay(o) for o in scene.overlays))
