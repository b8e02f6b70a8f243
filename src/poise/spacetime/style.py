"""What eyes notice first in a changed clip: the head, hands and feet, and what moves now though it stood still.

Each of many joints may turn by a little, and the head then sways and a hand goes astray by a lot; and a body that was
drawn still may begin to bob. Offsets alone do not show that, so each has a price of its own.
"""

from __future__ import annotations

import math

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.typing import Array, Index
from poise.spacetime.figure import Figure, Pose, axial

GAZE = math.radians(1.0)
"""Turn of the head in the world that costs one unit a frame [rad]."""
LEAST_CHANGE = 0.2
"""What does not move at all in the clip may change by this share of what a moving thing may [1]."""


REACHED = 0.05
"""Way of a hand or foot in the world that costs one unit a frame, for a leg of 0.82 m [m]."""


def ends_of(character: Character) -> Index:
    """One contact point of each hand and foot: those whose ways are kept."""
    ends: dict[int, int] = {}
    for i, point in enumerate(character.contact_points):
        if point.part in ("hand", "foot"):
            ends.setdefault(point.body, i)
    return np.array(sorted(ends.values()), dtype=np.int64)


def strays_of(pose: Pose, ends: Index, origins: Array) -> Array:
    """Way of hands and feet from where they are in the clip [m], shape (K, E, 3).

    Args:
        pose: K frames.
        ends: Their contact points, as `ends_of` finds them, shape (E,).
        origins: Places of all points in the clip, shape (K, P, 3).
    """
    return pose.points[:, ends] - origins[:, ends]


def head_of(character: Character) -> int:
    """The body whose direction in the world is kept; −1 if there is no head."""
    return character.roles.get("head", -1)


def gaze_turns(pose: Pose, head: int, looked: Array) -> Array:
    """Turn of the head in the world against where it looked [rad], shape (K, 3); sin θ in place of θ.

    Args:
        pose: K frames.
        head: A body, or −1 for none: then nothing turns.
        looked: Its rotation before, shape (K, 3, 3).
    """
    if head < 0:
        return np.zeros((len(pose.com), 3))
    return 0.5 * axial(pose.turns[:, head] @ np.swapaxes(looked, -1, -2))


def turn_rows(figure: Figure, pose: Pose, frames: slice, body: int) -> Array:
    """How a body turns in the world with the offsets of its chain, shape (k, 3, N)."""
    moves = pose.moves[frames]
    rows = np.zeros((len(moves), 3, figure.size))
    while body >= 0:
        own = moves[:, body]
        rows[:, :, figure.columns(body)] = own @ figure.axes[body][:, None] if figure.is_hinge[body] else own
        body = int(figure.parents[body])
    return rows


def ease_of(figure: Figure, angle: float, length: float) -> Array:
    """Share (N,) of an offset's usual size that fits the clip's own movement, from LEAST_CHANGE to 1.

    A joint that turns by `angle` [rad] or more over the clip has 1, the root along an axis of the world that moves by
    `length` [m] or more, too.
    """
    ease = np.ones(figure.size)
    ease[:3] = np.ptp(figure.root, axis=0) / length
    for b in range(len(figure.parents)):
        turns = rotations.from_matrix(figure.local[:, b])
        middle = turns[len(turns) // 2]
        ease[figure.columns(b)] = rotations.angle_between(turns, middle).max() / angle
    return np.clip(ease, LEAST_CHANGE, 1.0)
