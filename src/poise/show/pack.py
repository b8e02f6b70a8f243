"""A scene as a pack: the bytes that a recording holds and a live page is sent first (docs/scene_format.md).

The ground is a grid of heights where it is smooth and triangles where it has edges, and moves where it moves.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from poise.body.character import Capsule
from poise.core import rotations
from poise.core.typing import Array
from poise.show.arrays import MAGIC, PLACE_STEP, QUATERNION_STEP, TIME_STEP, VERSION, Blobs, Header, require_within
from poise.show.camera import stature, travel_heading
from poise.show.look import body_colors, push_overlays
from poise.show.scene import (
    Ball,
    Box,
    Control,
    Curve,
    Cylinder,
    Label,
    Layer,
    Overlay,
    Plot,
    Points,
    Polygon,
    Prop,
    Row,
    Scene,
    Shape,
    Skinned,
    Track,
    Vectors,
)
from poise.terrain.shapes import Platform, Steps

HEIGHT_STEP = 2e-4
"""Step of a height [m]."""

SPACING = 0.08
"""Distance between heights of smooth ground [m, for a person]."""

MARGIN = 6.0
"""Ground beyond the figures' way [m, for a person]."""

LIVE_MARGIN = 14.0
"""The same where nobody knows the way [m, for a person]."""

LIVE_RATE, MOST_POSES = 30.0, 20_000
"""Poses a second of a platform in a live page [1/s], and how many at most."""

MOST_LINES = 400
"""Grid lines in one direction."""

FLATNESS = 1e-3
"""A grid line is left out where its neighbors tell its height to this [m, for a person]."""

_FLATNESS = 0.003  # a grid line is left out where its neighbors tell its height to this [m]


def pack_terrain(scene: Scene, blobs: Blobs, *, is_live: bool = False) -> list[Header]:
    """The ground under and around all figures; live, of which only a first place is known, farther around it."""
    shape, place = scene.terrain.shape, scene.terrain.place
    unit = stature(scene) / 1.7
    low, high = _extent(scene, (LIVE_MARGIN if is_live else MARGIN) * unit)
    if isinstance(shape, Steps):
        return [_steps(scene, low, high, blobs)]
    if isinstance(shape, Platform):
        entry = _grid(scene, np.array([low[0], high[0]]), np.array([low[1], high[1]]), np.zeros((2, 2)), blobs)
        # the shape's frame itself is what moves: its grid lies at height 0 of a frame without place or turn
        entry |= {"origin": [0.0, 0.0], "heading": 0.0}
        times = _own_times(shape) if is_live else scene.times
        poses = [_platform_pose(shape, scene, float(t)) for t in times]
        positions, turns = np.array([p for p, _ in poses]), rotations.continuous(np.array([q for _, q in poses]))
        entry["poses"] = {
            "positions": blobs.packed(positions, PLACE_STEP),
            "orientations": blobs.packed(turns, QUATERNION_STEP),
        }
        if is_live:  # its frames are not the scene's: it has one
            entry["poses"]["times"] = blobs.exact(times, "f32")
        return [entry]
    along, across = (_lines(low[k], high[k], SPACING * unit) for k in range(2))
    left = np.array([-place.forward[1], place.forward[0]])
    points = np.array(place.origin) + along[:, None, None] * place.forward + across[None, :, None] * left
    heights = scene.terrain.heights(points.reshape(-1, 2), float(scene.times[0])).reshape(points.shape[:2])
    a = needed(along, heights, FLATNESS * unit)
    c = needed(across, heights[a].T, FLATNESS * unit)
    return [_grid(scene, along[a], across[c], heights[np.ix_(a, c)], blobs)]


def _grid(scene: Scene, along: Array, across: Array, heights: Array, blobs: Blobs) -> Header:
    place = scene.terrain.place
    return {
        "kind": "grid",
        "origin": list(place.origin),
        "heading": place.heading,
        "along": blobs.exact(along, "f32"),
        "across": blobs.exact(across, "f32"),
        "heights": blobs.packed(heights, HEIGHT_STEP),
    }


def _steps(scene: Scene, low: Array, high: Array, blobs: Blobs) -> Header:
    """Treads and risers as triangles with sharp edges."""
    shape, place = scene.terrain.shape, scene.terrain.place
    assert isinstance(shape, Steps)
    edges = [shape.first]
    if not math.isinf(shape.tread):
        edges = np.arange(shape.first, high[0], shape.tread).tolist()
    edges = [e for e in edges if low[0] < e < high[0]]
    level = 0.0 if not edges else round((edges[0] - shape.first) / shape.tread) if not math.isinf(shape.tread) else 0
    ends, heights = [low[0], *np.repeat(edges, 2).tolist(), high[0]], []
    for k in range(len(edges) + 1):
        heights += [place.ground + (level + k) * shape.rise] * 2
    left = np.array([-place.forward[1], place.forward[0]])
    rows = np.array(place.origin) + np.array(ends)[:, None] * place.forward
    sides = [np.column_stack([rows + side * left, heights]) for side in (low[1], high[1])]
    vertices = np.stack(sides, axis=1).reshape(-1, 3)
    quads = 2 * np.arange(len(ends) - 1)[:, None]
    indices = np.concatenate([quads + np.array(corner) for corner in ([0, 2, 3], [0, 3, 1])])
    wide = "u16" if len(vertices) < 65536 else "u32"
    return {"kind": "mesh", "vertices": blobs.exact(vertices, "f32"), "indices": blobs.exact(indices, wide)}


def _own_times(shape: Platform) -> Array:
    """Times between a platform's first and last key, close enough for straight lines between them [s]."""
    first, last = float(shape.keys[0, 0]), float(shape.keys[-1, 0])
    return np.linspace(first, last, int(np.clip((last - first) * LIVE_RATE, 1, MOST_POSES)) + 1)


def _platform_pose(shape: Platform, scene: Scene, time: float) -> tuple[Array, Array]:
    """Place [m] and orientation of a moving platform's frame in the world."""
    place = scene.terrain.place
    pose = shape.pose(time)[0]
    position = np.array([*place.origin, place.ground]) + place.to_world(pose[:3])
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, place.heading]))
    for axis, angle in ((np.array([0.0, -1.0, 0.0]), pose[3]), (np.array([1.0, 0.0, 0.0]), pose[4])):
        turn = rotations.multiply(turn, rotations.from_rotation_vector(axis * angle))
    return position, turn


def _extent(scene: Scene, margin: float) -> tuple[Array, Array]:
    """Where the figures go in the terrain's own frame, and a margin: lowest and highest along and across [m]."""
    place = scene.terrain.place
    left = np.array([-place.forward[1], place.forward[0]])
    way = np.concatenate([t.positions[:, 0, :2] for t in scene.tracks] + [p.positions[:, :2] for p in scene.props])
    own = np.stack([(way - place.origin) @ place.forward, (way - place.origin) @ left], axis=-1)
    return own.min(axis=0) - margin, own.max(axis=0) + margin


def _lines(first: float, last: float, step: float) -> Array:
    return np.linspace(first, last, int(np.clip(np.ceil((last - first) / step), 1, MOST_LINES)) + 1)


def needed(places: Array, values: Array, tolerance: float = _FLATNESS) -> npt.NDArray[np.int64]:
    """Rows that piecewise linear interpolation needs to tell all rows to a tolerance (Douglas and Peucker).

    Args:
        places: Rising coordinate of each row, shape (N,).
        values: The rows, shape (N, K).
        tolerance: Largest error of a row left out, in the unit of `values`.

    Returns:
        Indices of the rows kept, rising, the first and the last among them.
    """
    keep, spans = {0, len(places) - 1}, [(0, len(places) - 1)]
    while spans:
        a, b = spans.pop()
        if b - a < 2:
            continue
        blend = ((places[a + 1 : b] - places[a]) / (places[b] - places[a]))[:, None]
        error = np.abs(values[a] * (1.0 - blend) + values[b] * blend - values[a + 1 : b]).max(axis=1)
        if error.max() > tolerance:
            split = a + 1 + int(np.argmax(error))
            keep.add(split)
            spans += [(a, split), (split, b)]
    return np.array(sorted(keep), dtype=np.int64)


LABELS = {"shapes": "capsules", "com": "center of mass", "cop": "center of pressure", "zmp": "zero-moment point"}
"""What layers are called that nobody gave a label."""


def pack(scene: Scene, *, is_live: bool = False) -> bytes:
    """A scene as bytes.

    Args:
        scene: What is seen. Live, its first frame says what there is; poses come later, as states.
        is_live: Leave out everything over time.

    Raises:
        InvalidValue: if it is larger than a page may be, or a number in it is not finite.
    """
    blobs = Blobs()
    every = None if is_live else scene.times
    tracks = [pack_track(t, blobs, is_live=is_live) for t in scene.tracks]
    tracks += [pack_prop(p, len(scene.times), blobs, is_live=is_live) for p in scene.props]
    overlays = [pack_overlay(o, blobs, is_live=is_live) for o in (*push_overlays(scene), *scene.overlays)]
    header: Header = {
        "format": "poise.scene",
        "version": VERSION,
        "title": scene.title,
        "made_by": _made_by(),
        "times": None if every is None else blobs.packed(every, TIME_STEP),
        "notes": list(scene.notes),
        "follow": next((k for k, t in enumerate(scene.tracks) if t.style.kind == "solid"), 0),
        "heading": travel_heading(scene),
        "size": stature(scene),
        "tracks": tracks,
        "terrain": pack_terrain(scene, blobs, is_live=is_live),
        "overlays": overlays,
        "timeline": [pack_row(r) for r in scene.timeline],
        "plots": [pack_plot(p, blobs, is_live=is_live) for p in scene.plots],
        "controls": [_control(c) for c in scene.controls],
    }
    if scene.views:
        header["views"] = list(scene.views)
    if scene.choices is not None:
        header["choices"] = asdict(scene.choices)
    used = [layer for t in tracks for layer in (t["layer"], *([f"{t['layer']}.shapes"] if t["skins"] else []))]
    used += [o["layer"] for o in overlays]
    header["layers"] = [{"name": x.name, "label": x.label, "on": x.is_on} for x in _layers(scene, used)]
    require_within(header)
    header["blobs"], body = blobs.join()
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "backslashreplace"
    )
    head = zlib.compress(text, 9)
    return MAGIC + len(head).to_bytes(4, "little") + len(text).to_bytes(4, "little") + head + body


def _layers(scene: Scene, used: list[str]) -> list[Layer]:
    """The scene's layers that something names, then the others that are named."""
    known = {layer.name: layer for layer in scene.layers}
    names = dict.fromkeys(used)
    listed = [layer for layer in scene.layers if layer.name in names]
    return listed + [Layer(n, _label(n), not n.endswith(".shapes")) for n in names if n not in known]


def _label(name: str) -> str:
    parts = name.split(".")
    return " ".join([*parts[:-1], LABELS.get(parts[-1], parts[-1])])


def _control(control: Control) -> Header:
    c: Header = {"name": control.name, "label": control.label, "kind": control.kind, "value": control.value}
    if control.kind == "slider":
        c |= {"unit": control.unit, "low": control.low, "high": control.high, "step": control.step}
        c |= {"power": True} if control.is_power else {}
    if control.kind == "choice":
        c["choices"] = list(control.choices)
    return c


def _made_by() -> str:
    from poise import __version__

    return f"Poise {__version__}"


CHUNK = 512
"""Frames that are packed, and unpacked, together."""

MOST_OFF = 1e-4
"""Largest error of a body's place [m]; a body that follows from its parent less exactly is stored with its place."""


def pack_track(track: Track, blobs: Blobs, *, is_live: bool) -> Header:
    """A figure: its bodies, or where it has a skin all its joints, in the skeleton's order."""
    colors = body_colors(track.character, track.style)[:, :3]
    bodies = track.character.bodies
    if track.skinned is None:
        positions, orientations = track.positions, track.orientations
        parents = [b.parent for b in bodies]
        entries = [_body(b.name, list(b.capsules), colors[i], b.com) for i, b in enumerate(bodies)]
    else:
        positions, orientations = track.skinned.positions, track.skinned.orientations
        skeleton = track.character.skeleton
        parents = skeleton.parents.tolist()
        simulated = {b.joint: i for i, b in enumerate(bodies)}
        entries = []
        for j, name in enumerate(skeleton.names):
            i = simulated.get(j)
            shapes = [] if i is None else list(bodies[i].capsules)
            com = np.zeros(3) if i is None else bodies[i].com
            entries.append(_body(name, shapes, colors[0 if i is None else i], com))
    return {
        "name": track.name,
        "layer": track.name,
        "style": track.style.kind,
        "color": _rounded(track.style.color),
        "mass": round(track.character.mass, 3),
        **({"view": track.view} if track.view else {}),
        **({} if track.skinned is None else {"root": bodies[0].joint}),
        "skins": [] if track.skinned is None else _skins(track.skinned, blobs),
        **_posed(entries, parents, positions, orientations, blobs, is_live=is_live),
    }


def pack_prop(prop: Prop, frames: int, blobs: Blobs, *, is_live: bool) -> Header:
    """A rigid thing: a track of one body."""
    entry = _body(prop.name, [], np.array(prop.color), np.zeros(3))
    entry["shapes"] = [pack_shape(s, blobs) for s in prop.shapes]
    entry["draggable"] = prop.is_draggable
    positions = np.broadcast_to(prop.positions, (frames, 3))[:, None]
    orientations = np.broadcast_to(prop.orientations, (frames, 4))[:, None]
    return {
        "name": prop.name,
        "layer": "props",
        "style": "ghost" if prop.is_clear else "solid",
        "color": _rounded(prop.color),
        "mass": prop.mass,
        "skins": [],
        **_posed([entry], [-1], positions, orientations, blobs, is_live=is_live),
    }


def pack_shape(shape: Shape, blobs: Blobs) -> Header:
    """One shape in its body's frame."""
    if isinstance(shape, Capsule):
        ends = {"start": _rounded(shape.start), "end": _rounded(shape.end)}
        return {"kind": "capsule", **ends, "radius": round(float(shape.radius), 5)}
    if isinstance(shape, Cylinder):
        ends = {"start": _rounded(shape.start), "end": _rounded(shape.end)}
        return {"kind": "cylinder", **ends, "radius": round(float(shape.radius), 5)}
    if isinstance(shape, Ball):
        return {"kind": "sphere", "center": _rounded(shape.center), "radius": round(float(shape.radius), 5)}
    if isinstance(shape, Box):
        box = {"center": _rounded(shape.center), "half": _rounded(shape.half)}
        return {"kind": "box", **box, "rotation": _rounded(shape.rotation, 7)}
    wide = "u16" if len(shape.vertices) < 65536 else "u32"
    return {
        "kind": "mesh",
        "vertices": blobs.packed(shape.vertices, PLACE_STEP),
        "indices": blobs.exact(shape.indices, wide),
    }


def _body(name: str, capsules: Sequence[Capsule], color: Array, com: Array) -> Header:
    shapes = [
        {"kind": "capsule", "start": _rounded(c.start), "end": _rounded(c.end), "radius": round(float(c.radius), 5)}
        for c in capsules
    ]
    return {"name": name, "color": _rounded(color), "shapes": shapes, "com": _rounded(com), "draggable": True}


def _posed(
    entries: list[Header], parents: list[int], positions: Array, orientations: Array, blobs: Blobs, *, is_live: bool
) -> Header:
    """Bodies with their parents, and their poses over time unless they come later."""
    for entry, parent in zip(entries, parents):
        entry["parent"] = int(parent)
    if is_live:
        return {"bodies": entries}
    turns = rotations.continuous(rotations.normalize(np.asarray(orientations, dtype=np.float64)))
    read_back = rotations.normalize(np.round(turns / QUATERNION_STEP) * QUATERNION_STEP)
    places = np.empty_like(positions)
    stored: list[int] = []
    for i, parent in enumerate(parents):
        if parent >= 0:
            local = rotations.rotate(rotations.conjugate(turns[:, parent]), positions[:, i] - positions[:, parent])
            offset = np.round(0.5 * (local.min(axis=0) + local.max(axis=0)), 6)
            places[:, i] = places[:, parent] + rotations.rotate(read_back[:, parent], offset)
            if np.linalg.norm(places[:, i] - positions[:, i], axis=1).max() <= MOST_OFF:
                entries[i]["offset"] = offset.tolist()
                continue
        stored.append(i)
        places[:, i] = np.round(positions[:, i] / PLACE_STEP) * PLACE_STEP
    chunks = range(0, len(positions), CHUNK)
    frames = {
        "chunk": CHUNK,
        "orientations": [blobs.packed(turns[k : k + CHUNK], QUATERNION_STEP) for k in chunks],
        "positions": [blobs.packed(positions[k : k + CHUNK, stored], PLACE_STEP) for k in chunks] if stored else [],
    }
    return {"bodies": entries, "frames": frames}


def _skins(skinned: Skinned, blobs: Blobs) -> list[Header]:
    packed = []
    for skin in skinned.skins:
        wide = "u16" if len(skin.vertices) < 65536 else "u32"
        entry = {
            "name": skin.name,
            "vertices": blobs.exact(skin.vertices, "f32"),
            "indices": blobs.exact(skin.indices, wide),
            "joints": blobs.exact(skin.joints, "u16"),
            "weights": blobs.exact(skin.weights, "f32"),
            "inverse_binds": blobs.exact(skin.inverse_binds, "f32"),
            "color": _rounded(skin.color),
        }
        if skin.uvs is not None:
            entry["uvs"] = blobs.exact(skin.uvs, "f32")
        if skin.colors is not None:
            entry["colors"] = blobs.exact(skin.colors, "f32")
        if skin.texture is not None:
            entry["texture"] = {"blob": blobs.bytes(skin.texture, compressed=False), "type": skin.texture_type}
        packed.append(entry)
    return packed


def _rounded(values: Sequence[float] | Array, digits: int = 5) -> list[float]:
    return [round(float(x), digits) for x in values]


MARK_STEP = 1e-4
"""Step of a coordinate of an overlay [m]: nobody sees half of it."""

PARTS = 20_000
"""A plotted value, or a component of an arrow, is stored to half a part of its range."""


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
        entry = {"kind": "curve", "vertices": blobs.packed(overlay.vertices, MARK_STEP), "show": overlay.show}
        if overlay.times is not None:
            entry["times"] = blobs.packed(overlay.times, TIME_STEP)
        entry |= {"trail": overlay.trail, "ticks": overlay.has_ticks, "dashed": overlay.is_dashed}
        return {**entry, **_span(overlay.span), **common}
    if isinstance(overlay, Points):
        common |= {"kind": "points", "size": overlay.size, "mark": overlay.mark}
        if overlay.names:
            common["names"] = list(overlay.names)
        arrays = {"positions": (overlay.positions, MARK_STEP)}
    elif isinstance(overlay, Vectors):
        tip = "start" if overlay.is_push else "end"
        common |= {"kind": "vectors", "unit": overlay.unit, "scale": overlay.scale, "width": overlay.width, "tip": tip}
        arrays = {"points": (overlay.points, MARK_STEP), "vectors": (overlay.vectors, _step(overlay.vectors))}
    else:
        common["kind"] = "polygon"
        arrays = {"vertices": (overlay.vertices, MARK_STEP)}
    if is_live:
        return {**common, "count": int(next(iter(arrays.values()))[0].shape[1])}
    shown = np.all([np.isfinite(a).all(axis=2) for a, _ in arrays.values()], axis=0)
    if isinstance(overlay, Polygon):
        shown = np.broadcast_to(shown.all(axis=1, keepdims=True), shown.shape)
        if not shown.all():
            common["shown"] = blobs.exact(shown[:, :1], "u8")
    elif not shown.all():
        common["shown"] = blobs.exact(shown, "u8")
    return {**common, **{name: blobs.packed(_held(a, shown), step) for name, (a, step) in arrays.items()}}


def pack_plot(plot: Plot, blobs: Blobs, *, is_live: bool) -> Header:
    """One plot with its lines."""
    series = []
    for line in plot.series:
        entry: Header = {"name": line.name, "color": [round(c, 4) for c in line.color]}
        if line.is_dashed:
            entry["dashed"] = True
        if not is_live:
            shown = np.isfinite(line.values)
            values = _held(np.asarray(line.values, dtype=np.float64)[:, None, None], shown[:, None])[:, 0, 0]
            entry["values"] = blobs.packed(values, _step(values))
            if not shown.all():
                entry["shown"] = blobs.exact(shown, "u8")
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
