"""Skeletons of every shape with random motion: what strangers' files may hold, made from one number.

`python -m benchmarks.skeletons` runs thousands of them.
"""

from __future__ import annotations

import numpy as np

from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Hinge, Skeleton

SHAPES = ("tree", "biped", "quadruped", "star", "chain", "one", "spider", "detached", "helpers", "long", "doubled")


class _Tree:
    """A skeleton being grown."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.names: list[str] = []
        self.parents: list[int] = []
        self.offsets: list[np.ndarray] = []
        self.sites: list[EndSite] = []

    def add(self, name: str, parent: int, *offset: float) -> int:
        self.names.append(name)
        self.parents.append(parent)
        self.offsets.append(np.array(offset, dtype=np.float64))
        return len(self.names) - 1

    def end(self, joint: int, *offset: float) -> None:
        """An end site as files have them: sound, missing, of no length, or nearly none."""
        kind = self.rng.choice(["sound", "sound", "missing", "zero", "short"])
        if kind != "missing":
            factor = {"sound": 1.0, "zero": 0.0, "short": 1e-4}[kind]
            self.sites.append(EndSite(joint, factor * np.array(offset, dtype=np.float64)))


def generated_motion(seed: int) -> Motion:
    """A skeleton and a motion of it, both random; equal seeds give equal motions."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    tree = _Tree(rng)
    _GROW[shape](tree)
    count = len(tree.names)
    offsets = np.array(tree.offsets)
    if rng.random() < 0.3:  # bones of no length
        offsets[rng.random(count) < 0.15] = 0.0
    if rng.random() < 0.2:
        offsets[1:] *= rng.uniform(0.2, 2.0, (count - 1, 1))
    unit = float(rng.choice([1.0, 1.0, 1.0, 0.01, 0.0254, 100.0, 39.37]))
    offsets *= unit
    if rng.random() < 0.3:
        tree.names = [f"node {j}" for j in range(count)]
    rest = np.tile(rotations.IDENTITY, (count, 1))
    if rng.random() < 0.4:  # any rest orientation, the figure's shape unchanged
        rest, offsets = _turned_rest(rng, tree.parents, offsets)
    hinges = {}
    if rng.random() < 0.2:
        for j in range(1, count):
            if rng.random() < 0.2:
                axis = rng.normal(size=3)
                hinges[j] = Hinge(axis / np.linalg.norm(axis), *([-1.0, 1.0] if rng.random() < 0.5 else []))
    fixed = frozenset(j for j in range(1, count) if rng.random() < 0.08) if rng.random() < 0.2 else frozenset()
    frames = int(rng.choice([1, 2, 3, 20, 60]))
    times = np.arange(frames) / float(rng.choice([24.0, 30.0, 60.0, 120.0]))
    turned, moved = np.tile(rest, (frames, 1, 1)), np.tile(offsets, (frames, 1, 1))
    swing = float(rng.choice([0.0, 0.0, 0.2, 0.8, 3.0]))
    phase = rng.uniform(0, 2 * np.pi, (1, count, 3))
    wave = (
        swing * np.sin(2 * np.pi * times[:, None, None] * rng.uniform(0.2, 2.0) + phase) * rng.normal(size=(count, 3))
    )
    for j in range(count):
        if j in fixed:
            continue
        if j in hinges:
            wave[:, j] = wave[:, j, :1] * hinges[j].axis
        turned[:, j] = rotations.multiply(turned[:, j], rotations.from_rotation_vector(wave[:, j]))
    size = max(float(np.abs(offsets).max()), 1e-6)
    moved[:, 0] += size * rng.uniform(0, 2) * np.outer(times, rng.normal(size=3)) + rng.normal(size=3) * size
    translating = {0}
    if rng.random() < 0.3:  # bones that wander
        for j in range(1, count):
            if rng.random() < 0.1:
                translating.add(j)
                moved[:, j] += 0.2 * size * np.sin(times[:, None] * rng.uniform(1, 9, 3))
    skeleton = Skeleton(
        tuple(tree.names),
        np.array(tree.parents),
        offsets,
        rest,
        tuple(EndSite(e.joint, unit * e.offset, e.name) for e in tree.sites),
        hinges,
        frozenset(translating),
        fixed,
    )
    return Motion(skeleton, times, moved, rotations.normalize(turned))


def _turned_rest(rng: np.random.Generator, parents: list[int], offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    world = rotations.normalize(rng.normal(size=(len(parents), 4)))
    rest, places = world.copy(), offsets.copy()
    for j, p in enumerate(parents):
        if p >= 0:
            rest[j] = rotations.multiply(rotations.conjugate(world[p]), world[j])
            places[j] = rotations.rotate(rotations.conjugate(world[p]), offsets[j])
    return rotations.normalize(rest), places


def _random_tree(tree: _Tree) -> None:
    rng = tree.rng
    tree.add("root", -1, 0.0, 0.0, 1.0)
    for j in range(int(rng.integers(1, 40))):
        parent = int(rng.integers(max(0, j - 5), j + 1))
        tree.add(str(rng.choice(["bone", "Bone.L", "Bone.R", "leg", "arm", "head", "ik", "twist", ""])), parent,
                 *rng.normal(scale=0.2, size=3))  # fmt: skip
    for j in range(len(tree.names)):
        if j not in tree.parents:
            tree.end(j, *tree.rng.normal(scale=0.1, size=3))


def _leg(tree: _Tree, hip: int, side: str, y: float, x: float = 0.0, bones: int = 4) -> None:
    joint = tree.add(f"{side}UpLeg", hip, x, y, -0.05)
    lengths = [("Leg", 0.0, -0.42), ("Foot", 0.0, -0.4), ("Toe", 0.13, -0.05)]
    for name, ahead, down in lengths[: bones - 1]:
        joint = tree.add(f"{side}{name}", joint, ahead, 0.0, down)
    tree.end(joint, 0.08, 0.0, 0.0)


def _arm(tree: _Tree, chest: int, side: str, sign: float) -> None:
    joint = chest
    if tree.rng.random() < 0.5:
        joint = tree.add(f"{side}Shoulder", joint, 0.0, 0.04 * sign, 0.1)
    joint = tree.add(f"{side}Arm", joint, 0.0, 0.14 * sign, 0.05)
    joint = tree.add(f"{side}ForeArm", joint, 0.0, 0.28 * sign, 0.0)
    if tree.rng.random() < 0.7:
        joint = tree.add(f"{side}Hand", joint, 0.0, 0.25 * sign, 0.0)
    tree.end(joint, 0.0, 0.15 * sign, 0.0)


def _trunk(tree: _Tree, hips: int) -> None:
    joint = hips
    for n in range(int(tree.rng.integers(0, 4))):
        joint = tree.add(f"Spine{n}", joint, 0.0, 0.0, 0.15)
    if tree.rng.random() < 0.9:
        for side, sign in (("Left", 1.0), ("Right", -1.0)):
            _arm(tree, joint, side, sign)
    if tree.rng.random() < 0.9:
        neck = tree.add("Neck", joint, 0.0, 0.0, 0.15)
        head = tree.add("Head", neck, 0.0, 0.0, 0.1)
        tree.end(head, 0.0, 0.0, 0.2)


def _biped(tree: _Tree) -> None:
    hips = tree.add("Hips", -1, 0.0, 0.0, 0.95)
    bones = int(tree.rng.integers(1, 5))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        _leg(tree, hips, side, 0.1 * sign, bones=bones)
    _trunk(tree, hips)


def _quadruped(tree: _Tree) -> None:
    hips = tree.add("Hips", -1, 0.0, 0.0, 0.95)
    bones = int(tree.rng.integers(2, 5))
    chest = tree.add("Chest", hips, 0.7, 0.0, 0.05)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        _leg(tree, hips, side, 0.1 * sign, bones=bones)
        _leg(tree, chest, side, 0.1 * sign, bones=bones)
    head = tree.add("Head", tree.add("Neck", chest, 0.2, 0.0, 0.2), 0.1, 0.0, 0.1)
    tree.end(head, 0.2, 0.0, 0.0)
    if tree.rng.random() < 0.7:
        tree.end(tree.add("Tail", hips, -0.2, 0.0, 0.0), -0.3, 0.0, 0.0)


def _star(tree: _Tree) -> None:
    middle = tree.add("middle", -1, 0.0, 0.0, 1.0)
    arms = int(tree.rng.integers(2, 12))
    for n in range(arms):
        way = np.array([np.cos(2 * np.pi * n / arms), np.sin(2 * np.pi * n / arms), 0.0])
        joint = middle
        for _ in range(int(tree.rng.integers(1, 5))):
            joint = tree.add("ray", joint, *(0.3 * way))
        tree.end(joint, *(0.3 * way))


def _chain(tree: _Tree) -> None:
    joint = tree.add("link", -1, 0.0, 0.0, 0.1)
    for _ in range(int(tree.rng.integers(1, 30))):
        joint = tree.add("link", joint, 0.1, 0.0, 0.0)
    tree.end(joint, 0.1, 0.0, 0.0)


def _one(tree: _Tree) -> None:
    tree.end(tree.add("only", -1, 0.0, 0.0, 0.5), 0.0, 0.0, 0.5)


def _spider(tree: _Tree) -> None:
    body = tree.add("Body", -1, 0.0, 0.0, 0.4)
    for n in range(int(tree.rng.integers(3, 6))):
        for side, sign in (("L", 1.0), ("R", -1.0)):
            joint = tree.add(f"Leg{n}_{side}", body, 0.1 * n - 0.2, 0.1 * sign, 0.0)
            joint = tree.add(f"Leg{n}b_{side}", joint, 0.0, 0.3 * sign, 0.2)
            joint = tree.add(f"Leg{n}c_{side}", joint, 0.0, 0.2 * sign, -0.3)
            tree.end(joint, 0.0, 0.1 * sign, -0.25)
    tree.end(tree.add("Abdomen", body, -0.3, 0.0, 0.0), -0.3, 0.0, 0.0)


def _detached(tree: _Tree) -> None:
    root = tree.add("Bone", -1, 0.0, 0.0, 0.0)
    hips = tree.add("Body", root, 0.0, 0.0, 0.95)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        _leg(tree, hips, side, 0.1 * sign, bones=2)
        tree.end(tree.add(f"{side}Foot", root, 0.0, 0.1 * sign, 0.08), 0.15, 0.0, 0.0)
        tree.add(f"PoleTarget.{side[0]}", root, 1.0, 0.1 * sign, 0.5)
    _trunk(tree, hips)


def _helpers(tree: _Tree) -> None:
    _biped(tree)
    for _ in range(int(tree.rng.integers(1, 12))):
        parent = int(tree.rng.integers(0, len(tree.names)))
        word = str(tree.rng.choice(["twist", "ik_hand", "prop", "socket", "constraint", "_RIGMESH", "end", "nub"]))
        tree.add(word, parent, *(tree.rng.choice([0.0, 1e-9, 0.05, 1.0]) * tree.rng.normal(size=3)))


def _long(tree: _Tree) -> None:
    tree.add("root", -1, 0.0, 0.0, 1.0)
    for j in range(200):
        tree.add(f"j{j}", int(tree.rng.integers(max(0, j - 8), j + 1)), *tree.rng.normal(scale=0.1, size=3))


def _doubled(tree: _Tree) -> None:
    _biped(tree)
    for j in range(len(tree.names)):
        if tree.rng.random() < 0.4:
            tree.add(tree.names[j], int(tree.rng.choice([j, max(tree.parents[j], 0)])), *tree.offsets[j])


_GROW = {
    "tree": _random_tree, "biped": _biped, "quadruped": _quadruped, "star": _star, "chain": _chain, "one": _one,
    "spider": _spider, "detached": _detached, "helpers": _helpers, "long": _long, "doubled": _doubled,
}  # fmt: skip
