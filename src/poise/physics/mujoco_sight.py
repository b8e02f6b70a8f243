"""What stands in a figure's way, before it touches it."""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

import ctypes
from typing import NamedTuple

import mujoco
import numpy as np

from poise.core.typing import Array
from poise.native import Block, compiled
from poise.physics.mujoco_backend import engine_block
from poise.physics.mujoco_bodies import Bodies
from poise.physics.mujoco_scene import FIRST, GROUND, is_tread

TOUCH, TRIES = 0.02, 8
"""A part of a body that comes this near to something meets it [m]; to come there it is moved on at most so often."""
FARTHEST = 99.0
"""The engine measures distances up to this [m]."""
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


@compiled(
    "Engine *engine, const real places[g][3], const real turns[g][9], const real boxes[g][6], const real radii[g],"
    "const real weights[g], const word trees[g], const real paces[t][2], const word own[n], const word others[k],"
    "const real way[2], const real root[2], real reach, real seconds, real left, real least, real low,"
    "real ahead[g][3], word order[k], real firsts[k], word hinged[h], real met[h][4], word count[1]",
    returns="real",
)
def first_met(
    engine, places, turns, boxes, radii, weights, trees, paces, own, others, way, root, reach, seconds, left, least,
    low, ahead, order, firsts, hinged, met, count,
):  # fmt: skip
    """How far ahead of a root the first thing is that any of a figure's own geoms would run into [m], see `Look`.

    What is hinged does not count here: `hinged` and `met` get its geoms, how far they are [m] and where they are met,
    and `count` their number. Geoms are asked about from the nearest on, and only those whose boxes lie in the way.

    Args:
        engine: The engine's state that may be changed, with the orientations of the geoms.
        places, turns: Of the geoms [m].
        boxes, radii: Middle and half sizes of boxes around geoms in their own frames, and radii of spheres [m].
        weights: Of the bodies of the geoms, NaN for those hinged [kg].
        trees, paces: Tree of each geom, −1 for what never moves, and how fast each goes horizontally [m/s].
        own, others: Geoms of the figure, and what may be in their way.
        way, root: See `Look`; where the figure's root is [m].
        reach, seconds, left, least, low: See `Look`.
        ahead: Places of the geoms in the engine's state.
        order, firsts: Room.
        hinged, met, count: Are filled, h at least n k.
    """
    count[0], nearest = 0, reach
    moves = seconds * np.where(trees[others, None] < 0, 0.0, paces[trees[others]])
    bottom, top = _boxes(places[others], turns[others], boxes[others], way)
    # no point of it is met nearer than this
    firsts[:] = bottom[:, 0] - np.maximum(0.0, -(moves @ way)) - root @ way
    counts = (top[:, 2] > low) & (firsts < reach) & ~(weights[others] < least)
    aside = left * np.array([-way[1], way[0], 0.0])
    for k in np.flatnonzero(counts)[np.argsort(firsts[counts], kind="stable")].tolist():
        if firsts[k] >= nearest:
            break
        other, there = int(others[k]), reach * way - moves[k]  # where the figure goes, as seen from the other
        most = float(np.linalg.norm(there))
        there /= max(most, APART)
        bottom, top = _boxes(places[[other]], turns[[other]], boxes[[other]], there)
        for part in own.tolist():
            place, line = places[part] + aside, np.zeros(6)
            between, size = places[other] - place, radii[other] + radii[part]
            along, across = there @ between[:2], there[0] * between[1] - there[1] * between[0]
            if along <= -size or along >= most + size or abs(across) >= size or abs(between[2]) >= size:
                continue
            start, end = _boxes(place[None], turns[[part]], boxes[[part]], there)
            if (top <= start - TOUCH).any() or (bottom[:, 1:] >= end[:, 1:] + TOUCH).any():
                continue
            gone = meets(engine, ahead, part, other, place, there, most, bool(left), line)
            if gone < 0.0:
                continue
            far = float((line[3:5] + min(1.0, gone / max(most, APART)) * moves[k] - root) @ way)
            if np.isnan(weights[other]):
                hinged[count[0]], met[count[0]] = other, [far, *line[3:]]
                count[0] += 1
            else:
                nearest = min(nearest, far)
    return nearest


def meets(
    engine: Block, ahead: Array, part: int, other: int, place: Array, way: Array, most: float, is_aside: bool,
    line: Array,
) -> float:  # fmt: skip
    """How far a geom can be moved along a way from a place (3,) until it meets another one, at most so far [m].

    −1 where it passes it, or does not come so far. If it begins inside the other, it meets it where it is aside: now it
    is somewhere else. `line` gets the two nearest places [m], shape (6,).
    """
    kinds = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_double, ctypes.c_void_p
    distance = ctypes.CFUNCTYPE(ctypes.c_double, *kinds)(engine.addresses["mj_geomDistance"])
    gone, far, normal = 0.0, 0.0, np.zeros(3)
    ahead[part] = place
    for _ in range(TRIES):
        far = distance(engine.addresses["model"], engine.addresses["data"], part, other, FARTHEST, line.ctypes.data)
        if abs(far) > APART:
            normal = (line[3:] - line[:3]) * (1.0 if far >= 0.0 else -1.0)
        if far < TOUCH or gone > most:
            break
        gone += far
        ahead[part, :2] += far * way
    is_inside = is_aside and gone == 0.0
    is_met = is_inside or float(normal[:2] @ way) > AGAINST * float(np.linalg.norm(normal))
    return gone if far < TOUCH and is_met else -1.0


def _boxes(places: Array, turns: Array, boxes: Array, way: Array) -> tuple[Array, Array]:
    """Boxes around geoms, along a way, to the left of it and up: least and largest coordinates [m], shapes (N, 3)."""
    axes = np.array([[way[0], way[1], 0.0], [-way[1], way[0], 0.0], [0.0, 0.0, 1.0]])
    own = axes @ turns.reshape(-1, 3, 3)
    middle = places @ axes.T + np.einsum("gij,gj->gi", own, boxes[:, :3])
    half = np.einsum("gij,gj->gi", np.abs(own), boxes[:, 3:])
    return middle - half, middle + half


class Sight:
    """Finds what figures would run into. It moves parts in a second state of the engine, so the scene does not move."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        m, _ = bodies.engine
        self._ahead = mujoco.MjData(m)
        self._engine = engine_block(m, self._ahead)
        tree = m.body_treeid
        names = [m.geom(g).name for g in range(m.ngeom)]
        is_part = np.array(["/point " not in n and not n.startswith("ground/") for n in names], dtype=np.bool_)
        least = GIVES_WAY * m.body_subtreemass[m.body_rootid] * np.append(bodies.is_figure, False)[tree]
        is_obstacle = ~(np.isin(m.geom_type, GROUND) | is_tread(m)) & is_part & (m.body_mass >= least)[m.geom_bodyid]
        self._trees, self._weights = tree[m.geom_bodyid].astype(np.int64), bodies.weights()[m.geom_bodyid]
        figures = range(len(bodies.solid))
        self._own = [bodies.solid[k][is_obstacle[bodies.solid[k]]] for k in figures]
        self._others = [np.flatnonzero(is_obstacle & (self._trees != k)) for k in figures]
        self._treads = np.flatnonzero(is_tread(m) & (m.body_mass >= least)[m.geom_bodyid])
        self._thing = np.where(tree >= 0, tree, -1 - np.arange(m.nbody))[m.geom_bodyid]  # what never moves: each body
        hinged = int(np.isnan(self._weights[is_obstacle | is_tread(m)]).sum()) * max(map(len, self._own), default=0)
        self._hinged, self._met = np.zeros(hinged + 1, dtype=np.int64), np.zeros((hinged + 1, 4))
        self._count = np.zeros(1, dtype=np.int64)

    def distance(self, figure: int, look: Look, paces: Array) -> float:
        """How far ahead of a figure's root the first thing is that it would run into [m]; the reach if there is none.

        Every part of the figure but its feet and arms is moved straight along the way, as far as it can go, as seen
        from what it may meet: who crosses its way is met where both will be. Where it looks from another place than its
        own, and a part would be inside something there, there is no room.

        Args:
            figure: Number of the figure.
            look: Which way and how far it looks.
            paces: How fast each tree of the engine is taken to go, horizontally [m/s], shape (T + 1, 2).
        """
        bodies, others = self._bodies, self._others[figure]
        m, d = bodies.engine
        high = self._treads[(m.geom_conaffinity[self._treads] & (FIRST << figure)) != 0]  # too high to step on
        others = np.append(others, high) if len(high) else others
        self._ahead.geom_xpos[:], self._ahead.geom_xmat[:] = d.geom_xpos, d.geom_xmat
        order, firsts = np.empty(len(others), dtype=np.int64), np.empty(len(others))
        nearest = first_met(
            self._engine, d.geom_xpos, d.geom_xmat, m.geom_aabb, m.geom_rbound, self._weights, self._trees,
            paces, self._own[figure], others, look.way, bodies.q[bodies.figure_q[figure]][:2], look.reach,
            look.seconds, look.left, look.least, look.low, self._ahead.geom_xpos, order, firsts, self._hinged,
            self._met, self._count,
        )  # fmt: skip
        hinged: dict[int, tuple[float, float]] = {}
        for other, met in zip(self._hinged[: self._count[0]].tolist(), self._met):
            # where it is met counts: of all places, the one that yields most
            far, least = hinged.get(self._thing[other], (np.inf, np.inf))
            weight = bodies.resistance(int(bodies.geom_body[other]), met[1:], look.way)
            hinged[self._thing[other]] = min(far, float(met[0])), min(least, weight)
        return max(0.0, min([nearest, *(far for far, weight in hinged.values() if weight >= look.least)]))
