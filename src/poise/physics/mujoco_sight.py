"""What stands in a figure's way, before it touches it."""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

import mujoco
import numpy as np

from poise.core.typing import Array
from poise.physics.mujoco_bodies import Bodies
from poise.physics.mujoco_scene import GROUND

TOUCH, TRIES = 0.02, 8
"""A part of a body that comes this near to something meets it [m]; to come there it is moved on at most so often."""
APART = 1e-9
"""Between places nearer than this the line has no direction [m]."""
AGAINST = 0.3
"""What is met is in the way if more than this share of its force pushes back along the way [1]; else it is passed."""
GIVES_WAY = 0.035
"""A body of a figure with less than this share of its mass, such as an arm, is no obstacle [1]."""


class Sight:
    """Finds what figures would run into. It moves parts in a second state of the engine, so the scene does not move."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        m, _ = bodies.engine
        self._ahead = mujoco.MjData(m)
        tree = m.body_treeid
        names = [m.geom(g).name for g in range(m.ngeom)]
        is_part = np.array(["/point " not in n and not n.startswith("ground/") for n in names], dtype=np.bool_)
        least = GIVES_WAY * m.body_subtreemass[m.body_rootid] * np.append(bodies.is_figure, False)[tree]
        self._is_obstacle = ~np.isin(m.geom_type, GROUND) & is_part & (m.body_mass >= least)[m.geom_bodyid]
        self._tree_of_geom = tree[m.geom_bodyid]
        self._thing = np.where(tree >= 0, tree, -1 - np.arange(m.nbody))  # each body that never moves is one by itself

    def distance(
        self, figure: int, way: Array, reach: float, least: float, seconds: float, low: float, left: float
    ) -> float:
        """How far ahead of a figure's root the first thing is that it would run into [m]; the reach if there is none.

        Every part of the figure but its feet and arms is moved straight along the way, as far as it can go. Where it
        looks from another place than its own, and a part would be inside something there, there is no room.

        Args:
            figure: Its number.
            way: Horizontal, shape (2,), of length 1.
            reach: From the root [m].
            least: Things with less mass than this against a push along the way do not count, see `resistance` [kg].
            seconds: Things that come toward the figure are taken to come nearer for so long [s].
            low: What nowhere rises above this height does not count [m].
            left: It looks from so far to the left of where the figure is [m].
        """
        bodies, ahead, (m, d) = self._bodies, self._ahead, self._bodies.engine
        ahead.geom_xpos[:], ahead.geom_xmat[:] = d.geom_xpos, d.geom_xmat
        own = bodies.solid[figure][self._is_obstacle[bodies.solid[figure]]]
        others = np.flatnonzero(self._is_obstacle & (self._tree_of_geom != figure) & (self._tops() > low))
        root, line, aside = bodies.q[bodies.figure_q[figure]][:2], np.zeros(6), np.array([-way[1], way[0]])
        comes = seconds * bodies.approaches(others, way)
        met: dict[int, tuple[float, float]] = {}
        centers, sizes = d.geom_xpos, m.geom_rbound
        places = centers[own] + left * np.append(aside, 0.0)
        between, size = centers[others] - places[:, None], sizes[others] + sizes[own][:, None]
        along = between[..., :2] @ way
        near = (along > -size) & (along < reach + comes + size)
        near &= (np.abs(between[..., :2] @ aside) < size) & (np.abs(between[..., 2]) < size)
        for number, k in np.argwhere(near).tolist():
            part, other, gone, far, normal = int(own[number]), int(others[k]), 0.0, 0.0, np.zeros(3)
            moved = ahead.geom_xpos[part]
            moved[:] = places[number]
            for _ in range(TRIES):
                far = float(mujoco.mj_geomDistance(m, ahead, part, other, 99.0, line))
                if abs(far) > APART:
                    normal = (line[3:] - line[:3]) * (1.0 if far >= 0.0 else -1.0)
                if far < TOUCH or gone > reach + comes[k]:
                    break
                gone += far
                moved[:2] += far * way
            is_inside = bool(left) and gone == 0.0
            if far < TOUCH and (is_inside or normal[:2] @ way > AGAINST * float(np.linalg.norm(normal))):
                body = int(bodies.geom_body[other])
                thing, at = int(self._thing[body]), float((line[3:5] - root) @ way) - float(comes[k])
                old = met.get(thing, (np.inf, np.inf))
                met[thing] = min(at, old[0]), min(bodies.resistance(body, line[3:], way), old[1])
        return max(0.0, min([reach, *(at for at, weight in met.values() if weight >= least)]))

    def _tops(self) -> Array:
        """Height of the highest point of the box around each part of a body [m], shape (G,)."""
        m, d = self._bodies.engine
        up = d.geom_xmat[:, 6:]
        middle = np.einsum("gc,gc->g", up, m.geom_aabb[:, :3])
        return np.asarray(d.geom_xpos[:, 2] + middle + np.einsum("gc,gc->g", np.abs(up), m.geom_aabb[:, 3:]))
