"""A small figure for tests that need something to draw but no clip: a trunk and two legs with feet."""

from __future__ import annotations

import numpy as np

from poise.body.character import Body, Capsule, Character, Limb
from poise.core import rotations
from poise.core.skeleton import Skeleton
from poise.show.scene import SOLID, Style, Track

HIP = 0.8
_PLACES = np.array([[0, 0, HIP], [0, 0.12, HIP], [0, 0.12, 0.05], [0, -0.12, HIP], [0, -0.12, 0.05]], dtype=np.float64)


def stick_figure() -> Character:
    """Faces +x, soles at height 0, top of the trunk at 1.62 m."""
    return scaled_figure(1.0)


def scaled_figure(size: float) -> Character:
    """The same figure, so many times larger."""
    names = ("hips", "left_hip", "left_foot", "right_hip", "right_foot")
    parents = np.array([-1, 0, 1, 0, 3])
    offsets = size * np.array([_PLACES[j] - (_PLACES[p] if p >= 0 else 0.0) for j, p in enumerate(parents)])
    skeleton = Skeleton(names, parents, offsets, np.tile(rotations.IDENTITY, (5, 1)))
    trunk = Capsule(np.zeros(3), size * np.array([0.0, 0.0, 0.7]), size * 0.12)
    leg = Capsule(np.zeros(3), size * np.array([0.0, 0.0, -0.7]), size * 0.06)
    foot = Capsule(np.zeros(3), size * np.array([0.18, 0.0, 0.0]), size * 0.05)
    shapes = [trunk, leg, foot, leg, foot]
    bodies = tuple(_body(j, name, int(parents[j]), offsets[j], shapes[j]) for j, name in enumerate(names))
    limbs = (Limb("left_leg", "leg", (1, 2)), Limb("right_leg", "leg", (3, 4)))
    return Character(skeleton, bodies, (), limbs, {"pelvis": 0, "left_foot": 2, "right_foot": 4}, size * HIP)


def sliding_track(
    times: np.ndarray, *, speed: float = 1.0, name: str = "figure", style: Style = SOLID, height: float = 0.0
) -> Track:
    """The figure standing straight and sliding along +x at a speed [m/s], its soles at a height [m]."""
    positions = np.tile(_PLACES, (len(times), 1, 1))
    positions[..., 0] += speed * times[:, None]
    positions[..., 2] += height
    return Track(name, stick_figure(), positions, np.tile(rotations.IDENTITY, (len(times), 5, 1)), style)


def _body(joint: int, name: str, parent: int, offset: np.ndarray, shape: Capsule) -> Body:
    place, kind = (offset, "ball") if joint else (np.zeros(3), "free")
    return Body(name, joint, parent, place, kind, 10.0, np.zeros(3), np.eye(3), (shape,))
