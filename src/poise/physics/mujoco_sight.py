"""What stands in a figure's way, before it touches it."""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

import mujoco
import numpy as np

from poise.core.typing import Array
from poise.physics.mujoco_bodies import Bodies

TOUCH, TRIES = 0.02, 8
"""A part of a body that comes this near to something meets it [m]; to come there it is moved on at most so often."""
AGAINST = 0.3
"""What is met is in the way if more than this share of its force pushes back along the way [1]; else it is passed."""


def way_ahead(bodies: Bodies, figure: int, way: Array, reach: float, least: float, seconds: float) -> float:
    """How far ahead of a figure's root the first thing is that it would run into [m]; the reach if there is none.

    Every part of the figure is moved straight along the way, as far as it can go, and then put back.

    Args:
        bodies: Where they are now.
        figure: Its number.
        way: Horizontal, shape (2,), of length 1.
        reach: From the root [m].
        least: Things with less mass than this against a push along the way do not count, see `resistance` [kg].
        seconds: Things that come toward the figure are taken to come nearer for so long [s].
    """
    m, d = bodies.engine
    own, others = bodies.obstacles(figure)
    root, line, aside = bodies.q[bodies.figure_q[figure]][:2], np.zeros(6), np.array([-way[1], way[0]])
    comes = seconds * bodies.approaches(others, way)
    met: dict[int, tuple[float, float]] = {}
    for part in own.tolist():
        place = d.geom_xpos[part].copy()
        between, size = d.geom_xpos[others] - place, m.geom_rbound[others] + m.geom_rbound[part]
        along = between[:, :2] @ way
        near = (along > -size) & (along < reach + comes + size)
        near &= (np.abs(between[:, :2] @ aside) < size) & (np.abs(between[:, 2]) < size)
        for k in np.flatnonzero(near).tolist():
            other, gone, far = int(others[k]), 0.0, 0.0
            for _ in range(TRIES):
                far = float(mujoco.mj_geomDistance(m, d, part, other, 99.0, line))
                if far < TOUCH or gone > reach + comes[k]:
                    break
                gone += far
                d.geom_xpos[part, :2] += far * way
            d.geom_xpos[part] = place
            normal = (line[3:] - line[:3]) * (1.0 if far >= 0.0 else -1.0)
            if far < TOUCH and normal[:2] @ way > AGAINST * float(np.linalg.norm(normal)):
                body = int(bodies.geom_body[other])
                ahead = float((line[3:5] - root) @ way) - float(comes[k])
                old = met.get(bodies.tree_of(body), (np.inf, np.inf))
                met[bodies.tree_of(body)] = min(ahead, old[0]), min(bodies.resistance(body, line[3:], way), old[1])
    return max(0.0, min([reach, *(ahead for ahead, weight in met.values() if weight >= least)]))
