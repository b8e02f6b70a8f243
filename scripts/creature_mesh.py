"""Creatures as joints and soft rods, their melted surface, and binary glTF: what `make_creatures.py` draws with.

The rods melt into one surface (a smooth union of signed distances, cut by surface nets), whose points hang on the
nearest joints. Frames here: x ahead, y to the left, z up, meters.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Color = tuple[float, float, float]

CELL = 0.016
"""Size of the cells in which a surface is cut, for a creature of a meter [m]."""
MELT = 0.035
"""How far rods melt into one another [m]."""


@dataclass
class Rod:
    """A rod with round ends of two radii [m], carried by a joint, in one color; `sharp` ones do not melt."""

    joint: str
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    first: float
    last: float
    color: Color
    is_sharp: bool = False


@dataclass
class Creature:
    """Joints by name: parent and place; rods; and how far it reaches."""

    name: str
    joints: dict[str, tuple[str, tuple[float, float, float]]] = field(default_factory=dict)
    rods: list[Rod] = field(default_factory=list)
    belly: Color = (0.9, 0.85, 0.7)
    stripes: Color | None = None

    def joint(self, name: str, parent: str, x: float, y: float, z: float) -> None:
        self.joints[name] = (parent, (x, y, z))

    def pair(self, name: str, parent: str, x: float, y: float, z: float) -> None:
        """A joint on each side; LEFT joints hang on LEFT ones."""
        for side, sign in (("Left", 1.0), ("Right", -1.0)):
            above = side + parent if side + parent in self.joints else parent
            self.joint(side + name, above, x, sign * y, z)

    def tail(self, places: Sequence[tuple[float, float]]) -> None:
        """Joints Tail1, Tail2, … behind the hips, at these x and z."""
        for k, (x, z) in enumerate(places, start=1):
            self.joint(f"Tail{k}", "Hips" if k == 1 else f"Tail{k - 1}", x, 0.0, z)

    def rod(
        self, joint: str, end: str | tuple[float, float, float], first: float, last: float, color: Color, *,
        start: tuple[float, float, float] | None = None, sharp: bool = False,
    ) -> None:  # fmt: skip
        """A rod from a joint (or `start`) to another joint or place."""
        tip = self.joints[end][1] if isinstance(end, str) else end
        self.rods.append(Rod(joint, start or self.joints[joint][1], tip, first, last, color, sharp))

    def rods_of_pair(
        self, joint: str, end: str | tuple[float, float, float], first: float, last: float, color: Color, *,
        start: tuple[float, float, float] | None = None, sharp: bool = False,
    ) -> None:  # fmt: skip
        for side, sign in (("Left", 1.0), ("Right", -1.0)):
            tip = side + end if isinstance(end, str) else (end[0], sign * end[1], end[2])
            begin = None if start is None else (start[0], sign * start[1], start[2])
            name = joint if joint in self.joints else side + joint
            self.rod(name, tip, first, last, color, start=begin, sharp=sharp)

    def eyes(self, joint: str, x: float, y: float, z: float, size: float) -> None:
        """White eyes with dark pupils that look ahead."""
        for sign in (1.0, -1.0):
            at = (x, sign * y, z)
            self.rod(joint, at, size, size, (0.97, 0.97, 0.93), start=at, sharp=True)
            ahead = (x + 0.62 * size, sign * (y + 0.42 * size), z + 0.1 * size)
            self.rod(joint, ahead, 0.52 * size, 0.52 * size, (0.05, 0.05, 0.08), start=ahead, sharp=True)


@dataclass(frozen=True)
class Clip:
    """Places of the first joint (F, 3) and turns of joints by name (F, 4): x to the left, y up, z ahead."""

    fps: int
    root: Array
    turns: dict[str, Array]


# --- the surface


def distance(rod: Rod, points: Array) -> Array:
    """Signed distance of points (n, 3) to a rod [m]."""
    a, b = np.array(rod.start), np.array(rod.end)
    way = b - a
    part = np.clip((points - a) @ way / max(float(way @ way), 1e-12), 0.0, 1.0)
    return np.linalg.norm(points - a - part[:, None] * way, axis=1) - (rod.first + part * (rod.last - rod.first))


def field_of(rods: list[Rod], points: Array, melt: float) -> Array:
    """Signed distance to all rods, melted together [m]."""
    total = np.zeros(len(points))
    for rod in rods:
        total += np.exp(np.clip(-distance(rod, points) / (0.3 * melt), -60.0, 60.0))
    return -0.3 * melt * np.log(total + 1e-30)


def surface(rods: list[Rod], cell: float, melt: float) -> tuple[Array, npt.NDArray[np.int64]]:
    """Points (n, 3) and triangles (m, 3) of the surface, by naive surface nets."""
    ends = np.array([rod.start for rod in rods] + [rod.end for rod in rods])
    widest = max(max(rod.first, rod.last) for rod in rods) + 3.0 * cell
    low, high = ends.min(axis=0) - widest, ends.max(axis=0) + widest
    counts = np.ceil((high - low) / cell).astype(int) + 1
    axes = [low[k] + cell * np.arange(counts[k]) for k in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    values = np.full(len(grid), 1.0)
    for begin in range(0, len(grid), 200_000):
        values[begin : begin + 200_000] = field_of(rods, grid[begin : begin + 200_000], melt)
    values = values.reshape(counts)
    inside = values < 0.0
    corner = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    cut = tuple(c - 1 for c in counts)
    filled = sum(inside[i : i + cut[0], j : j + cut[1], k : k + cut[2]].astype(int) for i, j, k in corner)
    cells = np.argwhere((filled > 0) & (filled < 8))
    number = np.full(cut, -1)
    number[tuple(cells.T)] = np.arange(len(cells))
    # a point in every cell that is cut, at the mean of where its edges are cut
    total, hits = np.zeros((len(cells), 3)), np.zeros(len(cells))
    for first in range(8):
        for axis in range(3):
            if corner[first][axis]:
                continue
            second = corner[first].copy()
            second[axis] = 1
            va, vb = values[tuple((cells + corner[first]).T)], values[tuple((cells + second).T)]
            is_cut = (va < 0.0) != (vb < 0.0)
            share = np.where(is_cut, va / np.where(va == vb, 1.0, va - vb), 0.0)
            place = cells + corner[first] + share[:, None] * np.eye(3)[axis]
            total += np.where(is_cut[:, None], place, 0.0)
            hits += is_cut
    points = low + cell * total / np.maximum(hits, 1.0)[:, None]
    faces = []
    for axis in range(3):
        ahead = np.eye(3, dtype=int)[axis]
        one, two = (axis + 1) % 3, (axis + 2) % 3
        body = tuple(slice(None, -1) if k == axis else slice(1, -1) for k in range(3))
        there = tuple(slice(1, None) if k == axis else slice(1, -1) for k in range(3))
        crossing = np.argwhere(inside[body] != inside[there]) + (1 - ahead)
        begins = inside[tuple(crossing.T)]
        back_one, back_two = np.eye(3, dtype=int)[one], np.eye(3, dtype=int)[two]
        quad = [number[tuple((crossing - s * back_one - t * back_two).T)] for s, t in ((0, 0), (1, 0), (1, 1), (0, 1))]
        quad_array = np.stack(quad, axis=1)
        quad_array[~begins] = quad_array[~begins][:, ::-1]
        faces += [quad_array[:, [0, 1, 2]], quad_array[:, [0, 2, 3]]]
    triangles = np.concatenate(faces)
    return points, triangles[(triangles >= 0).all(axis=1)]


def hung(creature: Creature, rods: list[Rod], points: Array, reach: float) -> tuple[npt.NDArray[np.int64], Array]:
    """The four nearest joints of each point and their weights, shapes (n, 4)."""
    names = list(creature.joints)
    near = np.full((len(points), len(names)), np.inf)
    for rod in rods:
        own = names.index(rod.joint)
        near[:, own] = np.minimum(near[:, own], distance(rod, points))
    weight = np.exp(-np.clip(near - near.min(axis=1, keepdims=True), 0.0, 10.0) / reach)
    order = np.argsort(-weight, axis=1)[:, :4].astype(np.int64)
    chosen = np.take_along_axis(weight, order, axis=1)
    chosen[chosen < 0.02] = 0.0
    return order, chosen / chosen.sum(axis=1, keepdims=True)


def painted(creature: Creature, rods: list[Rod], points: Array, normals: Array) -> Array:
    """Colors of points, shape (n, 3): of the rods near by, lighter below, with stripes above."""
    off = np.stack([distance(rod, points) for rod in rods], axis=1)
    share = np.exp(-np.clip(off - off.min(axis=1, keepdims=True), 0.0, 1.0) / 0.008)
    share /= share.sum(axis=1, keepdims=True)
    colors = share @ np.array([rod.color for rod in rods])
    if creature.name == "cartoon":
        return colors
    below = np.clip(-normals[:, 2] * 1.6 - 0.25, 0.0, 1.0)[:, None]
    colors = (1.0 - 0.85 * below) * colors + 0.85 * below * np.array(creature.belly)
    if creature.stripes is not None:
        wave = np.sin(points[:, 0] * 2.0 * math.pi / 0.115 + 2.0 * np.abs(points[:, 1]) / 0.1)
        band = np.clip(1.6 * wave - 0.6, 0.0, 1.0) * np.clip(normals[:, 2] * 1.5 + 0.15, 0.0, 1.0)
        colors = colors + (0.75 * band)[:, None] * (np.array(creature.stripes) - colors)
    return colors


def normals_of(points: Array, triangles: npt.NDArray[np.int64]) -> Array:
    """Normals of points, by the triangles around each."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    out = np.zeros_like(points)
    for k in range(3):
        np.add.at(out, triangles[:, k], across)
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)


def pieces(creature: Creature) -> list[tuple[Array, npt.NDArray[np.int64], Array, Array, npt.NDArray[np.int64], Array]]:
    """The melted body and each sharp thing: points, triangles, normals, colors, joints, weights."""
    soft = [rod for rod in creature.rods if not rod.is_sharp]
    groups = [(soft, CELL, MELT)] + [
        ([rod], max(0.25 * max(rod.first, rod.last), 0.004), 0.004) for rod in creature.rods if rod.is_sharp
    ]
    found = []
    for rods, cell, melt in groups:
        points, triangles = surface(rods, cell, melt)
        normals = normals_of(points, triangles)
        joints, weights = hung(creature, rods, points, 0.03)
        found.append((points, triangles, normals, painted(creature, rods, points, normals), joints, weights))
    return found


# --- the file


def write(creature: Creature, path: Path, clips: Mapping[str, Clip] = MappingProxyType({})) -> None:
    """Write a binary glTF: x to the left, y up, z ahead; "Stand" is its first animation, then come the clips."""
    names, blob, views, accessors = list(creature.joints), bytearray(), [], []

    def put(data: npt.NDArray[np.generic], kind: str, component: int, target: int | None = None, **more: object) -> int:
        blob.extend(b"\0" * (-len(blob) % 4))
        views.append(
            {"buffer": 0, "byteOffset": len(blob), "byteLength": data.nbytes} | ({"target": target} if target else {})
        )
        blob.extend(data.tobytes())
        accessors.append(
            {"bufferView": len(views) - 1, "componentType": component, "count": len(data), "type": kind, **more}
        )
        return len(accessors) - 1

    def turned(points: Array) -> npt.NDArray[np.float32]:
        return points[:, [1, 2, 0]].astype(np.float32)

    all_pieces, base = pieces(creature), 0
    points = np.concatenate([p[0] for p in all_pieces])
    triangles = []
    for piece in all_pieces:
        triangles.append(piece[1] + base)
        base += len(piece[0])
    places = turned(points)
    colors = np.concatenate([np.concatenate([p[3] for p in all_pieces]) ** 2.2, np.ones((len(points), 1))], axis=1)
    weights = np.concatenate([p[5] for p in all_pieces]).astype(np.float32)
    attributes = {
        "POSITION": put(places, "VEC3", 5126, 34962, min=places.min(axis=0).tolist(), max=places.max(axis=0).tolist()),
        "NORMAL": put(turned(np.concatenate([p[2] for p in all_pieces])), "VEC3", 5126, 34962),
        "COLOR_0": put(
            (np.clip(colors, 0.0, 1.0) * 255.0).round().astype(np.uint8), "VEC4", 5121, 34962, normalized=True
        ),
        "JOINTS_0": put(np.concatenate([p[4] for p in all_pieces]).astype(np.uint8), "VEC4", 5121, 34962),
        "WEIGHTS_0": put(weights / weights.sum(axis=1, keepdims=True), "VEC4", 5126, 34962),
    }
    indices = put(np.concatenate(triangles).astype(np.uint32).ravel(), "SCALAR", 5125, 34963)
    at = turned(np.array([creature.joints[name][1] for name in names]))
    bind = np.tile(np.eye(4, dtype=np.float32), (len(names), 1, 1))
    bind[:, 3, :3] = -at  # columns first
    binds = put(bind.reshape(-1, 16), "MAT4", 5126)
    nodes = []
    for k, name in enumerate(names):
        parent = creature.joints[name][0]
        offset = at[k] - (at[names.index(parent)] if parent else 0.0)
        kids = [names.index(other) for other in names if creature.joints[other][0] == name]
        nodes.append(
            {"name": name, "translation": [round(float(x), 6) for x in offset]} | ({"children": kids} if kids else {})
        )
    nodes.append({"name": creature.name, "mesh": 0, "skin": 0})
    times = put(np.array([0.0, 1.0], dtype=np.float32), "SCALAR", 5126, min=[0.0], max=[1.0])
    still = put(np.array([[0.0, 0.0, 0.0, 1.0]] * 2, dtype=np.float32), "VEC4", 5126)
    animations = [_animation("Stand", [(0, "rotation", still)], times)]
    for title, clip in clips.items():
        moments = (np.arange(len(clip.root)) / clip.fps).astype(np.float32)
        clock = put(moments, "SCALAR", 5126, min=[0.0], max=[float(moments[-1])])
        moved = [(0, "translation", put(clip.root.astype(np.float32), "VEC3", 5126))]
        for name, turn in clip.turns.items():  # x, y, z, w in the file
            moved.append((names.index(name), "rotation", put(turn[:, [1, 2, 3, 0]].astype(np.float32), "VEC4", 5126)))
        animations.append(_animation(title, moved, clock))
    document = {
        "asset": {"version": "2.0", "generator": "Poise scripts/make_creatures.py", "copyright": "CC0"},
        "scene": 0, "scenes": [{"nodes": [0, len(nodes) - 1]}], "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}],
        "materials": [{"name": "skin", "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.75}}],
        "skins": [{"joints": list(range(len(names))), "inverseBindMatrices": binds, "skeleton": 0}],
        "animations": animations,
        "buffers": [{"byteLength": len(blob)}], "bufferViews": views, "accessors": accessors,
    }  # fmt: skip
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    blob.extend(b"\0" * (-len(blob) % 4))
    size = 12 + 8 + len(text) + 8 + len(blob)
    head = struct.pack("<4sII", b"glTF", 2, size)
    path.write_bytes(
        head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(blob), b"BIN\0") + bytes(blob)
    )


def _animation(title: str, moved: Sequence[tuple[int, str, int]], times: int) -> dict[str, object]:
    """An animation of nodes: (node, what moves, accessor of its values), all at the times of one accessor."""
    return {
        "name": title,
        "samplers": [{"input": times, "output": values} for _, _, values in moved],
        "channels": [{"sampler": k, "target": {"node": node, "path": what}} for k, (node, what, _) in enumerate(moved)],
    }
