"""The way of a clip's figure round what stands in its way: it goes aside as it walks, and comes back behind it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from poise.core.typing import Array
from poise.filter.simulate import Playback
from poise.native import Block
from poise.physics.mujoco_sight import Look

Room = Callable[[Look], float]
"""How far ahead of a figure's root the first thing in its way is [m]."""

FORESEES, STRAIGHT = (3.0, 2.0, 1.0), 0.1
"""A figure looks for a way round so far ahead [s]: the farthest at which its clip strays from a straight line by less
than the second [m]. Distances here are for a leg of 0.82 m."""
TRIES, ELBOWS = 0.15, 0.15
"""It tries lines that are this much farther aside each [m]. Where there is room, it passes by the second more [m]."""
WIDEST = 0.75
"""It goes no farther aside than this [m]."""
HALVES = 4
"""The time until it would meet something is found by halving so often."""
LAG = 0.4
"""The figure comes to the place where it is to be so much later [s]."""


def way_round(playback: Playback, frame: float, aside: float, bent: float, *, stands: bool, room: Room) -> float:
    """How far to the left of its clip a figure goes [m], below 0 to the right, so that nothing is in its way.

    It keeps the line on which it goes. Else it takes the nearest one that it can still reach, of two equal ones the
    right. Where there is none it stays on its line. It comes back once nothing is on its clip's line nor on the other
    side: two who make way for each other would both come back.

    Args:
        playback: The clip and its figure.
        frame: Place in the clip.
        aside: How far to the left it goes by now [m].
        bent: How far to the left its clip is bent already [m].
        stands: It stands, and has time to step aside.
        room: How far ahead something is.
    """
    figure, dt, scale = playback.figure, playback.dt, playback.figure.scale
    first, count = int(frame), playback.frame_count
    for most in FORESEES:
        last = min(first + round(most / dt), count - 1)
        path = playback.q[first : last + 1, :2] - playback.q[first, :2]
        far = float(np.hypot(*path[-1]))
        way = path[-1] / max(far, 1e-9)
        left = np.array([-way[1], way[0]])
        if far > 0.0 and float(np.abs(path @ left).max()) < STRAIGHT * scale:
            break
    else:
        return aside
    seconds, goal = (last - first) * dt, figure.goal
    now = bent + float((goal.shift - goal.ground) @ left)

    def is_free(line: float, part: float = 1.0) -> bool:
        reach = part * far + scale * TRIES
        return room(Look(way, reach, part * seconds, line - now)) >= reach

    if is_free(0.0) and (not aside or is_free(-aside)):
        return 0.0
    if aside and is_free(aside):
        return aside
    soon, late = 0.0, 1.0  # parts of the time until it would meet something
    for _ in range(0 if stands else HALVES):
        middle = 0.5 * (soon + late)
        soon, late = (middle, late) if is_free(now, middle) else (soon, middle)
    reaches = WIDEST * scale if stands else float(goal.values.drift) * max(0.0, soon * seconds - LAG)
    for size in scale * np.arange(TRIES, WIDEST + 1e-9, TRIES):
        for line in (-float(size), float(size)):
            if abs(line - now) <= reaches and is_free(line):
                wide = line + math.copysign(min(scale * ELBOWS, reaches - abs(line - now)), line)
                return wide if is_free(wide) else line
    return aside


def steer(goal: Block, way: Array, far: float, dt: float) -> None:
    """Move the place where a figure's goal rests to so far along a way (2,) [m], no faster than it drifts home.

    Its feet follow: the filter lets them land where the goal will be.
    """
    most = goal.values.drift * dt
    goal.rest += float(np.clip(far - goal.rest @ way, -most, most)) * way
    goal.values.rests = goal.values.returns = goal.values.is_returning = False
