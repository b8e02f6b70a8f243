"""What stands in a figure's way, before it touches it."""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import mujoco
import numpy as np

from poise.core.typing import Array, Flags, Index
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


class Look(NamedTuple):
    """A question of a figure: what it would run into.

    Attributes:
        way: Horizontal, shape (2,), of length 1.
        reach: It asks no farther than so far ahead of its root [m].
        seconds: It is there after so long; what moves is taken to go on as it goes until then [s].
        left: It looks from so far to the left of where the figure is [m].
        least: Things with less mass than this against a push along the way do not count, see `resistance` [kg].
        low: What nowhere rises above this height does not count [m].
    """

    way: Array
    reach: float
    seconds: float = 0.0
    left: float = 0.0
    least: float = 0.0
    low: float = -np.inf


class Sight:
    """Finds what figures would run into. It moves parts in a second state of the engine, so the scene does not move.

    Args:
        bodies: Of the world.
        paces: Says how fast each tree of the engine goes, horizontally [m/s], shape (T + 1, 2); else `Bodies.paces`.
    """

    def __init__(self, bodies: Bodies, paces: Callable[[], Array] | None = None) -> None:
        self._bodies, self._paces = bodies, paces or bodies.paces
        m, _ = bodies.engine
        self._ahead = mujoco.MjData(m)
        tree = m.body_treeid
        names = [m.geom(g).name for g in range(m.ngeom)]
        is_part = np.array(["/point " not in n and not n.startswith("ground/") for n in names], dtype=np.bool_)
        least = GIVES_WAY * m.body_subtreemass[m.body_rootid] * np.append(bodies.is_figure, False)[tree]
        self._is_obstacle = ~np.isin(m.geom_type, GROUND) & is_part & (m.body_mass >= least)[m.geom_bodyid]
        self._tree_of_geom = tree[m.geom_bodyid]
        self._weights = bodies.weights()
        self._thing = np.where(tree >= 0, tree, -1 - np.arange(m.nbody))  # each body that never moves is one by itself

    def distance(self, figure: int, look: Look) -> float:
        """How far ahead of a figure's root the first thing is that it would run into [m]; the reach if there is none.

        Every part of the figure but its feet and arms is moved straight along the way, as far as it can go, as seen
        from what it may meet: who crosses its way is met where both will be. Where it looks from another place than its
        own, and a part would be inside something there, there is no room.
        """
        bodies, way, reach = self._bodies, look.way, look.reach
        _, d = bodies.engine
        own = bodies.solid[figure][self._is_obstacle[bodies.solid[figure]]]
        others = np.flatnonzero(self._is_obstacle & (self._tree_of_geom != figure))
        axes = np.array([[way[0], way[1], 0.0], [-way[1], way[0], 0.0], [0.0, 0.0, 1.0]])
        root = bodies.q[bodies.figure_q[figure]][:2]
        moves = look.seconds * self._paces()[self._tree_of_geom[others]]
        comes = np.maximum(0.0, -(moves @ way))
        low, high = self._boxes(others, axes)
        firsts = low[:, 0] - comes - root @ way  # no point of it is met nearer than this
        counts = (high[:, 2] > look.low) & (firsts < reach) & ~(self._weights[bodies.geom_body[others]] < look.least)
        others, moves, firsts = others[counts], moves[counts], firsts[counts]
        ways = reach * way - moves  # of the figure, as seen from each thing
        most = np.linalg.norm(ways, axis=1)
        ways /= np.maximum(most, APART)[:, None]
        left = look.left * axes[1]
        places = d.geom_xpos[own] + left
        trees = np.where(moves.any(axis=1), self._tree_of_geom[others], -1)
        near = np.zeros((len(own), len(others)), dtype=np.bool_)
        for tree in np.unique(trees).tolist():
            rows = np.flatnonzero(trees == tree)
            near[:, rows] = self._near(own, others[rows], left, ways[rows[0]], float(most[rows[0]]))
        parts, things = np.nonzero(near)
        self._ahead.geom_xpos[:], self._ahead.geom_xmat[:] = d.geom_xpos, d.geom_xmat
        hinged: dict[int, tuple[float, float]] = {}
        nearest = reach
        for at in np.argsort(firsts[things], kind="stable").tolist():
            part, k = int(parts[at]), int(things[at])
            if firsts[k] >= nearest:
                break
            met = self._met(
                int(own[part]), int(others[k]), places[part], ways[k], float(most[k]), is_aside=bool(look.left)
            )
            if met is None:
                continue
            place, gone = met
            body, then = int(bodies.geom_body[others[k]]), min(1.0, gone / max(float(most[k]), APART)) * moves[k]
            far, weight = float((place[:2] + then - root) @ way), self._weights[body]
            if np.isnan(weight):  # where it is hinged counts: of all places that are met, the one that yields most
                thing, weight = int(self._thing[body]), bodies.resistance(body, place, way)
                old = hinged.get(thing, (np.inf, np.inf))
                hinged[thing] = min(far, old[0]), min(weight, old[1])
            else:
                nearest = min(nearest, far)
        return max(0.0, min([nearest, *(far for far, weight in hinged.values() if weight >= look.least)]))

    def _near(self, own: Index, others: Index, left: Array, way: Array, most: float) -> Flags:
        """Which of a figure's geoms (M,), moved aside (3,) and along a way (2,), may meet which others (N,), (M, N)."""
        m, d = self._bodies.engine
        axes = np.array([[way[0], way[1], 0.0], [-way[1], way[0], 0.0], [0.0, 0.0, 1.0]])
        low, high = self._boxes(others, axes)
        start, end = self._boxes(own, axes)
        between = (d.geom_xpos[others] - (d.geom_xpos[own] + left)[:, None]) @ axes.T
        size = m.geom_rbound[others] + m.geom_rbound[own][:, None]
        near = (between[..., 0] > -size) & (between[..., 0] < most + size)
        near &= (np.abs(between[..., 1:]) < size[..., None]).all(axis=-1)
        aside = axes @ left
        near &= (high > (start + aside)[:, None] - TOUCH).all(axis=-1)
        return near & (low[:, 1:] < (end + aside)[:, None, 1:] + TOUCH).all(axis=-1)

    def _met(
        self, part: int, other: int, place: Array, way: Array, most: float, *, is_aside: bool
    ) -> tuple[Array, float] | None:
        """Where a part of a figure, moved along a way from a place (3,), meets another geom (3,), and how far off.

        The second is how far it was moved until then [m]. None where it passes it, or does not come so far.

        Args:
            part, other: Geoms.
            place: Where the part begins.
            way: Where it goes.
            most: As far as that.
            is_aside: It is somewhere else now: if it begins inside the other, it meets it.
        """
        m, _ = self._bodies.engine
        gone, far, line, normal = 0.0, 0.0, np.zeros(6), np.zeros(3)
        moved = self._ahead.geom_xpos[part]
        moved[:] = place
        for _ in range(TRIES):
            far = float(mujoco.mj_geomDistance(m, self._ahead, part, other, 99.0, line))
            if abs(far) > APART:
                normal = (line[3:] - line[:3]) * (1.0 if far >= 0.0 else -1.0)
            if far < TOUCH or gone > most:
                break
            gone += far
            moved[:2] += far * way
        is_inside = is_aside and gone == 0.0
        is_met = far < TOUCH and (is_inside or normal[:2] @ way > AGAINST * float(np.linalg.norm(normal)))
        return (line[3:], gone) if is_met else None

    def _boxes(self, geoms: Index, axes: Array) -> tuple[Array, Array]:
        """Boxes around geoms (N,), along axes (3, 3): least and largest coordinates [m], shapes (N, 3)."""
        m, d = self._bodies.engine
        turns = axes @ d.geom_xmat[geoms].reshape(-1, 3, 3)
        boxes = m.geom_aabb[geoms]
        middle = d.geom_xpos[geoms] @ axes.T + np.einsum("gij,gj->gi", turns, boxes[:, :3])
        half = np.einsum("gij,gj->gi", np.abs(turns), boxes[:, 3:])
        return middle - half, middle + half
