"""Make the project's own creatures as skinned, colored glTF: a raptor, an alien, a cat and a round-headed child.

    python scripts/make_creatures.py [FOLDER]

A creature is joints and soft rods. The rods melt into one surface (a smooth union of signed distances, cut by surface
nets), whose points hang on the two nearest joints. All of it is drawn by this script; nobody else's model is used.
Frames here: x ahead, y to the left, z up, meters.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

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


def raptor() -> Creature:
    """A long neck, and a heavy tail behind two legs."""
    c = Creature("raptor", belly=(0.93, 0.84, 0.62), stripes=(0.13, 0.30, 0.24))
    skin, claw = (0.24, 0.55, 0.40), (0.16, 0.14, 0.13)
    c.joint("Hips", "", 0.0, 0.0, 0.84)
    c.joint("Spine", "Hips", 0.13, 0.0, 0.87)
    c.joint("Chest", "Spine", 0.31, 0.0, 0.91)
    c.joint("Neck", "Chest", 0.46, 0.0, 1.0)
    c.joint("Neck1", "Neck", 0.54, 0.0, 1.12)
    c.joint("Neck2", "Neck1", 0.58, 0.0, 1.25)
    c.joint("Head", "Neck2", 0.62, 0.0, 1.37)
    before = "Hips"
    tail = [(-0.16, 0.85), (-0.36, 0.85), (-0.56, 0.85), (-0.75, 0.86), (-0.93, 0.88), (-1.10, 0.91)]
    for k, (x, z) in enumerate(tail, start=1):
        c.joint(f"Tail{k}", before, x, 0.0, z)
        before = f"Tail{k}"
    c.pair("UpLeg", "Hips", 0.02, 0.13, 0.80)
    c.pair("Leg", "UpLeg", 0.17, 0.14, 0.50)
    c.pair("Foot", "Leg", 0.0, 0.14, 0.17)
    c.pair("ToeBase", "Foot", 0.12, 0.14, 0.035)
    c.pair("Arm", "Chest", 0.40, 0.12, 0.86)
    c.pair("ForeArm", "Arm", 0.40, 0.15, 0.69)
    c.pair("Hand", "ForeArm", 0.52, 0.13, 0.61)
    c.rod("Hips", "Spine", 0.145, 0.155, skin)
    c.rod("Spine", "Chest", 0.155, 0.15, skin)
    c.rod("Chest", "Neck", 0.145, 0.085, skin)
    c.rod("Neck", "Neck1", 0.085, 0.068, skin)
    c.rod("Neck1", "Neck2", 0.068, 0.062, skin)
    c.rod("Neck2", "Head", 0.062, 0.07, skin)
    c.rod("Head", (0.68, 0.0, 1.40), 0.082, 0.085, skin)
    c.rod("Head", (0.90, 0.0, 1.365), 0.072, 0.045, skin, start=(0.70, 0.0, 1.385))
    c.rod("Head", (0.86, 0.0, 1.315), 0.045, 0.028, c.belly, start=(0.68, 0.0, 1.335))
    for k in range(3):
        x, z = 0.60 - 0.05 * k, 1.475 - 0.075 * k
        c.rod(
            "Head" if k == 0 else "Neck2",
            (x - 0.07, 0.0, z + 0.045),
            0.022,
            0.006,
            (0.93, 0.47, 0.18),
            start=(x, 0.0, z - 0.02),
        )
    c.eyes("Head", 0.715, 0.062, 1.425, 0.03)
    radii = [0.14, 0.11, 0.088, 0.068, 0.05, 0.034, 0.012]
    for k in range(6):
        end = f"Tail{k + 2}" if k < 5 else (-1.30, 0.0, 0.96)
        c.rod(f"Tail{k + 1}", end, radii[k], radii[k + 1], skin)
    c.rod("Hips", "Tail1", 0.145, 0.14, skin)
    c.rods_of_pair("UpLeg", "Leg", 0.105, 0.066, skin)
    c.rods_of_pair("Leg", "Foot", 0.062, 0.036, skin)
    c.rods_of_pair("Foot", "ToeBase", 0.034, 0.034, skin)
    for out in (-0.05, 0.0, 0.05):
        c.rods_of_pair("ToeBase", (0.25, 0.14 + out, 0.026), 0.034, 0.024, skin)
        c.rods_of_pair(
            "ToeBase",
            (0.30, 0.14 + 1.3 * out, 0.013),
            0.018,
            0.005,
            claw,
            start=(0.26, 0.14 + 1.1 * out, 0.026),
            sharp=True,
        )
    c.rods_of_pair("Arm", "ForeArm", 0.048, 0.032, skin)
    c.rods_of_pair("ForeArm", "Hand", 0.032, 0.024, skin)
    for out in (-0.02, 0.02):
        c.rods_of_pair("Hand", (0.60, 0.13 + out, 0.555), 0.02, 0.007, claw)
    return c


def alien() -> Creature:
    """Walks on its hands; two tails rise from its back."""
    c = Creature("alien", belly=(0.72, 0.93, 0.95))
    skin, glow = (0.42, 0.32, 0.66), (0.35, 0.95, 0.85)
    c.joint("Hips", "", 0.0, 0.0, 0.86)
    c.joint("Spine", "Hips", 0.05, 0.0, 1.0)
    c.joint("Neck", "Spine", 0.12, 0.0, 1.13)
    c.joint("Head", "Neck", 0.17, 0.0, 1.24)
    c.pair("UpLeg", "Hips", 0.0, 0.19, 0.86)
    c.pair("Leg", "UpLeg", 0.05, 0.25, 0.46)
    c.pair("Foot", "Leg", 0.0, 0.21, 0.08)
    c.pair("ToeBase", "Foot", 0.10, 0.21, 0.03)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        before = "Hips"
        places = [
            (-0.14, 0.10, 0.92),
            (-0.34, 0.15, 1.0),
            (-0.52, 0.20, 1.12),
            (-0.62, 0.25, 1.28),
            (-0.60, 0.28, 1.45),
        ]
        for k, (x, y, z) in enumerate(places, start=1):
            c.joint(f"{side}Tail{k}", before, x, sign * y, z)
            before = f"{side}Tail{k}"
    c.rod("Hips", "Spine", 0.16, 0.14, skin)
    c.rod("Spine", "Neck", 0.14, 0.07, skin)
    c.rod("Neck", "Head", 0.06, 0.06, skin)
    c.rod("Head", (0.25, 0.0, 1.33), 0.10, 0.12, skin)
    c.rod("Head", (0.05, 0.0, 1.44), 0.10, 0.06, skin, start=(0.2, 0.0, 1.36))
    c.eyes("Head", 0.325, 0.07, 1.35, 0.042)
    c.rods_of_pair("Hips", (0.0, 0.19, 0.86), 0.10, 0.10, skin, start=(0.0, 0.08, 0.88))
    c.rods_of_pair("UpLeg", "Leg", 0.095, 0.062, skin)
    c.rods_of_pair("Leg", "Foot", 0.07, 0.042, skin)
    c.rods_of_pair("Foot", "ToeBase", 0.042, 0.035, skin)
    for out in (-0.055, -0.018, 0.018, 0.055):
        c.rods_of_pair(
            "ToeBase", (0.22, 0.21 + 1.4 * out, 0.02), 0.03, 0.018, glow, start=(0.08, 0.21 + 0.8 * out, 0.028)
        )
    c.rods_of_pair("Foot", (-0.07, 0.21, 0.025), 0.04, 0.024, skin)
    radii = [0.075, 0.062, 0.05, 0.04, 0.03, 0.028]
    for k in range(5):
        end = f"Tail{k + 2}" if k < 4 else (-0.50, 0.30, 1.60)
        c.rods_of_pair(f"Tail{k + 1}", end, radii[k], radii[k + 1], skin)
    c.rods_of_pair("Tail5", (-0.44, 0.305, 1.68), 0.045, 0.006, glow, start=(-0.50, 0.30, 1.58))
    c.rods_of_pair("Hips", "Tail1", 0.09, 0.08, skin, start=(-0.04, 0.05, 0.89))
    return c


def cat() -> Creature:
    """A quadruped with a long tail."""
    c = Creature("cat", belly=(0.97, 0.93, 0.86), stripes=(0.62, 0.30, 0.12))
    fur, nose = (0.91, 0.55, 0.25), (0.35, 0.18, 0.18)
    c.joint("Hips", "", -0.28, 0.0, 0.50)
    c.joint("Spine", "Hips", -0.08, 0.0, 0.53)
    c.joint("Chest", "Spine", 0.16, 0.0, 0.52)
    c.joint("Neck", "Chest", 0.33, 0.0, 0.58)
    c.joint("Head", "Neck", 0.44, 0.0, 0.68)
    before = "Hips"
    for k, (x, z) in enumerate([(-0.40, 0.53), (-0.55, 0.55), (-0.69, 0.60), (-0.80, 0.69), (-0.86, 0.81)], start=1):
        c.joint(f"Tail{k}", before, x, 0.0, z)
        before = f"Tail{k}"
    c.pair("UpLeg", "Hips", -0.28, 0.085, 0.45)
    c.pair("Leg", "UpLeg", -0.20, 0.095, 0.26)
    c.pair("Foot", "Leg", -0.31, 0.095, 0.10)
    c.pair("ToeBase", "Foot", -0.26, 0.095, 0.025)
    c.pair("Arm", "Chest", 0.22, 0.085, 0.43)
    c.pair("ForeArm", "Arm", 0.17, 0.095, 0.24)
    c.pair("Hand", "ForeArm", 0.20, 0.095, 0.065)
    c.pair("Finger", "Hand", 0.235, 0.095, 0.025)
    c.rod("Hips", "Spine", 0.11, 0.12, fur)
    c.rod("Spine", "Chest", 0.12, 0.125, fur)
    c.rod("Chest", "Neck", 0.12, 0.08, fur)
    c.rod("Neck", "Head", 0.075, 0.075, fur)
    c.rod("Head", (0.50, 0.0, 0.71), 0.10, 0.10, fur)
    c.rod("Head", (0.60, 0.0, 0.67), 0.06, 0.045, c.belly, start=(0.54, 0.0, 0.675))
    c.rod("Head", (0.645, 0.0, 0.685), 0.014, 0.014, nose, start=(0.64, 0.0, 0.685), sharp=True)
    c.eyes("Head", 0.572, 0.05, 0.745, 0.027)
    c.rods_of_pair("Head", (0.43, 0.085, 0.875), 0.045, 0.008, fur, start=(0.455, 0.055, 0.78))
    radii = [0.055, 0.044, 0.040, 0.038, 0.036, 0.022]
    for k in range(5):
        end = f"Tail{k + 2}" if k < 4 else (-0.86, 0.0, 0.95)
        c.rod(f"Tail{k + 1}", end, radii[k], radii[k + 1], fur if k < 4 else c.belly)
    c.rod("Hips", "Tail1", 0.09, 0.055, fur)
    c.rods_of_pair("UpLeg", "Leg", 0.085, 0.052, fur)
    c.rods_of_pair("Leg", "Foot", 0.048, 0.032, fur)
    c.rods_of_pair("Foot", "ToeBase", 0.032, 0.032, fur)
    c.rods_of_pair("ToeBase", (-0.19, 0.095, 0.024), 0.036, 0.030, c.belly)
    c.rods_of_pair("Arm", "ForeArm", 0.065, 0.042, fur)
    c.rods_of_pair("ForeArm", "Hand", 0.040, 0.032, fur)
    c.rods_of_pair("Hand", (0.29, 0.095, 0.024), 0.036, 0.030, c.belly)
    return c


def cartoon() -> Creature:
    """A big head on short legs."""
    c = Creature("cartoon", belly=(0.98, 0.80, 0.66))
    shirt, trousers, shoe = (0.93, 0.36, 0.32), (0.22, 0.36, 0.62), (0.95, 0.93, 0.88)
    skin, hair = (0.98, 0.78, 0.62), (0.33, 0.20, 0.12)
    c.belly = skin
    c.joint("Hips", "", 0.0, 0.0, 0.36)
    c.joint("Spine", "Hips", 0.0, 0.0, 0.46)
    c.joint("Chest", "Spine", 0.0, 0.0, 0.57)
    c.joint("Neck", "Chest", 0.0, 0.0, 0.69)
    c.joint("Head", "Neck", 0.01, 0.0, 0.75)
    c.pair("UpLeg", "Hips", 0.0, 0.075, 0.34)
    c.pair("Leg", "UpLeg", 0.015, 0.08, 0.20)
    c.pair("Foot", "Leg", 0.0, 0.08, 0.06)
    c.pair("ToeBase", "Foot", 0.085, 0.08, 0.03)
    c.pair("Shoulder", "Chest", 0.0, 0.05, 0.655)
    c.pair("Arm", "Shoulder", 0.0, 0.125, 0.65)
    c.pair("ForeArm", "Arm", 0.0, 0.19, 0.51)
    c.pair("Hand", "ForeArm", 0.03, 0.23, 0.385)
    c.rod("Hips", "Spine", 0.115, 0.12, trousers)
    c.rod("Spine", "Chest", 0.12, 0.11, shirt)
    c.rod("Chest", "Neck", 0.105, 0.05, shirt)
    c.rod("Neck", "Head", 0.045, 0.05, skin)
    c.rod("Head", (0.02, 0.0, 0.95), 0.16, 0.185, skin, start=(0.02, 0.0, 0.89))
    c.rod("Head", (-0.05, 0.0, 1.02), 0.17, 0.16, hair, start=(-0.05, 0.0, 0.97))
    c.rod("Head", (0.13, -0.02, 1.11), 0.07, 0.03, hair, start=(0.0, 0.02, 1.12))
    c.rod("Head", (0.215, 0.0, 0.885), 0.028, 0.028, (0.97, 0.66, 0.53), start=(0.205, 0.0, 0.885), sharp=True)
    c.eyes("Head", 0.172, 0.07, 0.945, 0.045)
    c.rods_of_pair("Head", (0.0, 0.20, 0.90), 0.035, 0.035, skin, start=(0.0, 0.19, 0.90))
    c.rods_of_pair("UpLeg", "Leg", 0.075, 0.062, trousers)
    c.rods_of_pair("Leg", "Foot", 0.06, 0.055, trousers)
    c.rods_of_pair("Foot", "ToeBase", 0.052, 0.048, shoe, start=(-0.02, 0.08, 0.05))
    c.rods_of_pair("ToeBase", (0.12, 0.085, 0.042), 0.048, 0.045, shoe)
    c.rods_of_pair("Shoulder", "Arm", 0.06, 0.055, shirt)
    c.rods_of_pair("Arm", "ForeArm", 0.052, 0.042, shirt)
    c.rods_of_pair("ForeArm", "Hand", 0.036, 0.032, skin)
    c.rods_of_pair("Hand", (0.045, 0.245, 0.33), 0.04, 0.038, skin)
    return c


CREATURES: dict[str, Callable[[], Creature]] = {"raptor": raptor, "alien": alien, "cat": cat, "cartoon": cartoon}


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


def write(creature: Creature, path: Path) -> None:
    """Write a binary glTF: x to the left, y up, z ahead."""
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
    document = {
        "asset": {"version": "2.0", "generator": "Poise scripts/make_creatures.py", "copyright": "CC0"},
        "scene": 0, "scenes": [{"nodes": [0, len(nodes) - 1]}], "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}],
        "materials": [{"name": "skin", "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.75}}],
        "skins": [{"joints": list(range(len(names))), "inverseBindMatrices": binds, "skeleton": 0}],
        "animations": [{
            "name": "Stand", "samplers": [{"input": times, "output": still}],
            "channels": [{"sampler": 0, "target": {"node": 0, "path": "rotation"}}],
        }],
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


def main() -> None:
    """Write all of them."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "creatures")
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in CREATURES.items():
        write(make(), folder / f"{name}.glb")
        print(folder / f"{name}.glb")


if __name__ == "__main__":
    main()
