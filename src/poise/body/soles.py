"""The sole of a foot as a plane: the one its points lie in, and points brought onto it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.body.parts import ContactPoint
from poise.core.typing import Array

CORNERS = ("heel.in", "heel.out", "ball.in", "ball.out")
"""The points of a foot that stands on heel and ball."""

FLAT = 0.003
"""Points of a foot that are nearer than this to the plane of its sole are moved into it, for a person's size [m]."""


def flattened(points: list[ContactPoint], body: int, near: float) -> list[ContactPoint]:
    """The points of a foot, with those of its sole moved into one plane: that which is nearest to its corners.

    Each is found where it stands lowest, so over a clip they do not quite agree. A sole that is warped by half a
    millimeter stands on two of its corners, and its pressure cannot leave the line between them. A foot that lacks one
    of the corners keeps its points.

    Args:
        points: Of the foot.
        body: The one with the heel.
        near: Points this near to the plane belong to the sole, and no others [m].
    """
    corners = [p.offset for p in points if p.body == body and _label(p) in CORNERS]
    if len(corners) < len(CORNERS):
        return points
    middle = np.mean(corners, axis=0)
    up = np.linalg.svd(corners - middle)[2][-1]
    off = [float((p.offset - middle) @ up) if p.body == body else 0.0 for p in points]
    return [replace(p, offset=p.offset - h * up) if abs(h) < near else p for p, h in zip(points, off)]


def sole_plane(own: list[ContactPoint]) -> tuple[Array, Array, Array] | None:
    """Middle of the heel, middle of the ball and unit normal towards the ankle, in the foot's frame; None for paws."""
    by_label = {_label(p): p.offset for p in own}
    if not set(CORNERS) <= set(by_label):
        return None
    heel = 0.5 * (by_label["heel.in"] + by_label["heel.out"])
    ball = 0.5 * (by_label["ball.in"] + by_label["ball.out"])
    up = np.cross(ball - heel, by_label["ball.out"] - by_label["ball.in"])
    size = float(np.linalg.norm(up))
    if size < 1e-12:
        return None
    up = up / size
    up = up if heel @ up < 0.0 else -up
    return (heel, ball, up) if -heel @ up > 1e-3 else None


def _label(point: ContactPoint) -> str:
    """What a point of a foot is called without its body, such as "heel.in"."""
    return ".".join(point.name.split(".")[-2:])
