"""Figures and things of a pack: shapes once, poses as small integers in chunks, checked against what was asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poise.body.character import Capsule
from poise.core import rotations
from poise.show.arrays import Blobs, Header
from poise.show.look import body_colors
from poise.show.scene import Ball, Box, Cylinder, Prop, Shape, Skinned, Track

Array = npt.NDArray[np.float64]

CHUNK = 512
"""Frames that are packed, and unpacked, together."""

QUATERNION_STEP = 1.0 / 32767.0
"""A component's error is half of this: an orientation's at most 0.004 degrees."""

PLACE_STEP = 5e-5
"""Step of a stored coordinate [m]."""

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
        "name": track.name, "layer": track.name, "style": track.style.kind, "color": _rounded(track.style.color),
        "mass": round(track.character.mass, 3), **({"view": track.view} if track.view else {}),
        "skins": [] if track.skinned is None else _skins(track.skinned, blobs),
        **_posed(entries, parents, positions, orientations, blobs, is_live=is_live),
    }  # fmt: skip


def pack_prop(prop: Prop, frames: int, blobs: Blobs, *, is_live: bool) -> Header:
    """A rigid thing: a track of one body."""
    entry = _body(prop.name, [], np.array(prop.color), np.zeros(3))
    entry["shapes"] = [pack_shape(s, blobs) for s in prop.shapes]
    entry["draggable"] = prop.is_draggable
    positions = np.broadcast_to(prop.positions, (frames, 3))[:, None]
    orientations = np.broadcast_to(prop.orientations, (frames, 4))[:, None]
    return {
        "name": prop.name, "layer": "props", "style": "ghost" if prop.is_clear else "solid",
        "color": _rounded(prop.color), "mass": prop.mass,
        "skins": [], **_posed([entry], [-1], positions, orientations, blobs, is_live=is_live),
    }  # fmt: skip


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
        "indices": blobs.plain(shape.indices, wide),
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
    told = rotations.normalize(np.round(turns / QUATERNION_STEP) * QUATERNION_STEP)
    places = np.empty_like(positions)
    stored: list[int] = []
    for i, parent in enumerate(parents):
        if parent >= 0:
            local = rotations.rotate(rotations.conjugate(turns[:, parent]), positions[:, i] - positions[:, parent])
            offset = np.round(0.5 * (local.min(axis=0) + local.max(axis=0)), 6)
            places[:, i] = places[:, parent] + rotations.rotate(told[:, parent], offset)
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
            "vertices": blobs.plain(skin.vertices, "f32"),
            "indices": blobs.plain(skin.indices, wide),
            "joints": blobs.plain(skin.joints, "u16"),
            "weights": blobs.plain(skin.weights, "f32"),
            "inverse_binds": blobs.plain(skin.inverse_binds, "f32"),
            "color": _rounded(skin.color),
        }
        if skin.uvs is not None:
            entry["uvs"] = blobs.plain(skin.uvs, "f32")
        if skin.texture is not None:
            entry["texture"] = {"blob": blobs.bytes(skin.texture, compressed=False), "type": skin.texture_type}
        packed.append(entry)
    return packed


def _rounded(values: Sequence[float] | Array, digits: int = 5) -> list[float]:
    return [round(float(x), digits) for x in values]
