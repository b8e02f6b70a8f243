"""The built-in figures: a grown-up and a child, made from a skeleton of 18 joints, fitted like any other."""

from __future__ import annotations

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import UnknownName
from poise.core.skeleton import EndSite, Hinge, Skeleton

FIGURES = {"adult": (1.70, 70.0, 1.0), "child": (1.20, 24.0, 1.18)}
"""Stature [m], mass [kg], and the head's size against a grown-up's of the same stature."""

_TRUNK = (
    ("Hips", "", (0.0, 0.0, 0.925)),
    ("Abdomen", "Hips", (0.0, 0.0, 0.10)),
    ("Chest", "Abdomen", (0.0, 0.0, 0.16)),
    ("Head", "Chest", (0.0, 0.0, 0.25)),
)
_SIDE = (
    ("Arm", "Chest", (0.0, 0.18, 0.19)),
    ("ForeArm", "Arm", (0.0, 0.0, -0.28)),
    ("Hand", "ForeArm", (0.0, 0.0, -0.25)),
    ("UpLeg", "Hips", (0.0, 0.09, -0.04)),
    ("Leg", "UpLeg", (0.0, 0.0, -0.41)),
    ("Foot", "Leg", (0.0, 0.0, -0.40)),
    ("Toe", "Foot", (0.135, 0.0, -0.05)),
)
_TIPS = {"Head": (0.0, 0.0, 0.22), "Hand": (0.0, 0.0, -0.17), "Toe": (0.065, 0.0, 0.0)}
_HINGES = {"Leg": (0.0, 150.0), "ForeArm": (-145.0, 0.0), "Toe": (-60.0, 25.0)}
"""Range of the joints with one axis, about the axis to the figure's left [deg]."""


def figure_skeleton(stature: float = 1.70, head: float = 1.0) -> Skeleton:
    """Skeleton of a standing figure that faces +x, soles at z = 0, arms hanging.

    Args:
        stature: [m].
        head: Size of the head against a grown-up's.
    """
    scale = stature / 1.70
    parts = list(_TRUNK)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        own = {name for name, _, _ in _SIDE}
        for name, parent, (x, y, z) in _SIDE:
            parts.append((side + name, side + parent if parent in own else parent, (x, sign * y, z)))
    names = [name for name, _, _ in parts]
    plain = [name.removeprefix("Left").removeprefix("Right") for name in names]
    sites = tuple(
        EndSite(j, scale * np.array(_TIPS[p]) * (head if p == "Head" else 1.0))
        for j, p in enumerate(plain)
        if p in _TIPS
    )
    hinges = {
        j: Hinge(np.array([0.0, 1.0, 0.0]), *np.radians(_HINGES[p]).tolist())
        for j, p in enumerate(plain)
        if p in _HINGES
    }
    return Skeleton(
        names=tuple(names),
        parents=np.array([names.index(parent) if parent else -1 for _, parent, _ in parts], dtype=np.int64),
        offsets=scale * np.array([offset for _, _, offset in parts]),
        rest_rotations=np.tile(rotations.IDENTITY, (len(names), 1)),
        end_sites=sites,
        hinges=hinges,
    )


def figure(name: str = "adult") -> Character:
    """A built-in figure by name: "adult" (1.70 m, 70 kg) or "child" (1.20 m, 24 kg).

    Raises:
        UnknownName: if there is no such figure.
    """
    if name not in FIGURES:
        raise UnknownName(f"No built-in figure {name!r}. Figures: {', '.join(FIGURES)}; or give a character file.")
    stature, mass, head = FIGURES[name]
    return Character.fit(figure_skeleton(stature, head), mass=mass, masses="anthropometric")
