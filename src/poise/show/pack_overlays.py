"""Overlays, timeline and plots of a pack; pushes and pulls as arrows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.units import GRAVITY
from poise.show.arrays import TIME_STEP, Blobs, Header
from poise.show.look import ARROW_AFTERGLOW, ARROW_COLOR
from poise.show.scene import Arrow, Curve, Label, Overlay, Plot, Points, Polygon, Row, Scene, Vectors

Array = npt.NDArray[np.float64]

PLACE_STEP = 1e-4
"""Step of a coordinate of an overlay [m]: nobody sees half of it."""

PARTS = 20_000
"""A plotted value, or a component of an arrow, is stored to half a part of its range."""

LEGS_PER_WEIGHT = 1.5
"""Length of the arrow of a force as large as the figure's weight, in leg lengths."""


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


def pack_overlay(overlay: Overlay, blobs: Blobs, *, is_live: bool) -> Header:
    """One overlay; live, those over time only say how many there are."""
    common: Header = {"layer": overlay.layer, "color": [round(c, 4) for c in overlay.color]}
    if overlay.view:
        common["view"] = overlay.view
    if isinstance(overlay, Label):
        place = [round(float(x), 4) for x in overlay.position]
        return {"kind": "label", "text": overlay.text, "position": place, **_span(overlay.span), **common}
    common["name"] = overlay.name
    if isinstance(overlay, Curve):
        entry = {"kind": "curve", "vertices": blobs.packed(overlay.vertices, PLACE_STEP), "show": overlay.show}
        if overlay.times is not None:
            entry["times"] = blobs.packed(overlay.times, TIME_STEP)
        entry |= {"trail": overlay.trail, "ticks": overlay.has_ticks, "dashed": overlay.is_dashed}
        return {**entry, **_span(overlay.span), **common}
    if isinstance(overlay, Points):
        common |= {"kind": "points", "size": overlay.size, "mark": overlay.mark}
        if overlay.names:
            common["names"] = list(overlay.names)
        arrays = {"positions": (overlay.positions, PLACE_STEP)}
    elif isinstance(overlay, Vectors):
        tip = "start" if overlay.is_push else "end"
        common |= {"kind": "vectors", "unit": overlay.unit, "scale": overlay.scale, "width": overlay.width, "tip": tip}
        arrays = {"points": (overlay.points, PLACE_STEP), "vectors": (overlay.vectors, _step(overlay.vectors))}
    else:
        common["kind"] = "polygon"
        arrays = {"vertices": (overlay.vertices, PLACE_STEP)}
    if is_live:
        return {**common, "count": int(next(iter(arrays.values()))[0].shape[1])}
    shown = np.all([np.isfinite(a).all(axis=2) for a, _ in arrays.values()], axis=0)
    if isinstance(overlay, Polygon):
        shown = np.broadcast_to(shown.all(axis=1, keepdims=True), shown.shape)
        if not shown.all():
            common["shown"] = blobs.plain(shown[:, :1], "u8")
    elif not shown.all():
        common["shown"] = blobs.plain(shown, "u8")
    return {**common, **{name: blobs.packed(_held(a, shown), step) for name, (a, step) in arrays.items()}}


def pack_plot(plot: Plot, blobs: Blobs, *, is_live: bool) -> Header:
    """One plot with its lines."""
    series = []
    for line in plot.series:
        entry: Header = {"name": line.name, "color": [round(c, 4) for c in line.color]}
        if not is_live:
            shown = np.isfinite(line.values)
            values = _held(np.asarray(line.values, dtype=np.float64)[:, None, None], shown[:, None])[:, 0, 0]
            entry["values"] = blobs.packed(values, _step(values))
            if not shown.all():
                entry["shown"] = blobs.plain(shown, "u8")
        series.append(entry)
    return {"name": plot.name, "unit": plot.unit, "series": series, "lines": [list(level) for level in plot.lines]}


def pack_row(row: Row) -> Header:
    """One row under the timeline."""
    spans = [[round(a, 6), round(b, 6), word] for a, b, word in row.spans]
    marks = [[round(t, 6), word] for t, word in row.marks]
    return {"name": row.name, "color": [round(c, 4) for c in row.color], "spans": spans, "marks": marks}


def _span(span: tuple[float, float] | None) -> Header:
    return {} if span is None else {"from": round(span[0], 6), "to": round(span[1], 6)}


def _step(values: Array) -> float:
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    return max(largest, 1e-9) / PARTS


def _held(values: Array, shown: npt.NDArray[np.bool_]) -> Array:
    """Values (T, N, k) where hidden ones repeat the last that was shown, which costs nothing to store."""
    rows = np.where(shown, np.arange(len(values))[:, None], 0)
    rows = np.maximum.accumulate(rows, axis=0)
    held = np.take_along_axis(values, rows[:, :, None], axis=0)
    return np.where(np.isfinite(held), held, 0.0)
