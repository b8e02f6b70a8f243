"""What figures step on among the bodies: boxes marked as ground, where they are now, and what feet press them with.

A figure that plays a clip stands on ground by its own step, which finds the forces at its feet. Where the ground is a
body, the body gets the opposite of these forces in the next step, at the places where they acted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array, Index
from poise.filter.filter import SimulatedCharacter
from poise.physics.mujoco_bodies import Bodies
from poise.physics.mujoco_scene import is_tread, meets_some
from poise.terrain import Terrain
from poise.terrain.shapes import AXES, BOX_SIZE, HALF, MIDDLE, NO_BOXES, SPIN, VELOCITY
from poise.terrain.tops import Tops
from poise.world.answers import PoseAt, velocities_of

STEP = 0.4
"""A figure steps up by this part of its leg at most."""


class Pressed(NamedTuple):
    """A force on a body under a foot.

    Attributes:
        body: Its index.
        offset: Where it acts, in the body's frame [m], shape (3,).
        force: [N], shape (3,).
    """

    body: int
    offset: Array
    force: Array


class Treads:
    """The boxes of a scene that are ground to figures: geoms of group `STEPPED_ON`.

    Attributes:
        boxes: Where they are now and how they move, see `terrain.tops.Tops`, shape (K, 21). The grounds of all figures
            read this array.
    """

    def __init__(self) -> None:
        self.boxes = NO_BOXES

    def find(self, bodies: Bodies) -> None:
        """Find them in a model; it is called again where the same scene is in another one."""
        m, _ = bodies.engine
        self._geoms = np.flatnonzero(is_tread(m))
        self._bodies = bodies.geom_body[self._geoms]
        if len(self.boxes) != len(self._geoms):
            self.boxes = np.zeros((len(self._geoms), BOX_SIZE))

    def see(self, bodies: Bodies, carried: Sequence[tuple[int, PoseAt]], time: float, dt: float) -> None:
        """Take over where the bodies are and how they move, in the state last moved to.

        Args:
            bodies: Of the world.
            carried: Those with a given motion; the state does not know how fast they go.
            time, dt: Of the state, and of a step [s].
        """
        if not len(self._geoms):
            return
        m, d = bodies.engine
        out, own = self.boxes, self._bodies
        out[:, MIDDLE], out[:, AXES] = d.geom_xpos[self._geoms], d.geom_xmat[self._geoms]
        out[:, HALF] = m.geom_size[self._geoms]
        spin, speed = d.cvel[own, :3], d.cvel[own, 3:]
        out[:, VELOCITY] = speed + np.cross(spin, out[:, MIDDLE] - d.subtree_com[m.body_rootid[own]])
        out[:, SPIN] = spin
        for body, pose in carried:
            if (mine := np.flatnonzero(own == body)).size:
                out[mine, VELOCITY], out[mine, SPIN] = velocities_of(pose, time, dt, out[mine, MIDDLE])

    def ground(self, terrain: Terrain, leg: float) -> Terrain:
        """A ground with these boxes on it, for a figure with legs so long [m]."""
        return terrain.topped(self.boxes, STEP * leg) if len(self.boxes) else terrain

    def sort(self, bodies: Bodies, figures: Sequence[SimulatedCharacter | None]) -> None:
        """Find which boxes are in the way of figures, that is too high to step on, where these are now."""
        if not len(self._geoms):
            return
        for figure in figures:
            if figure is not None and isinstance(shape := figure.terrain.shape, Tops):
                shape.look_from(figure.q[:2])
        self.let_meet(bodies, figures)

    def let_meet(self, bodies: Bodies, figures: Sequence[SimulatedCharacter | None]) -> None:
        """Let figures meet the boxes in their way as other bodies."""
        for k, figure in enumerate(figures):
            shape = None if figure is None else figure.terrain.shape
            high = shape.is_high if isinstance(shape, Tops) else np.zeros(len(self._geoms), dtype=np.bool_)
            if meets_some(bodies.engine[0], k, self._geoms, high):
                bodies.is_placed = False

    def note_levels(self, figures: Sequence[SimulatedCharacter | None]) -> None:
        """Note how high figures stand in the step that they just solved, which decides how high they may step next."""
        for figure, shape, points, _ in _standing(figures):
            shape.level = float(figure.problem.heights[points].max())

    def pressed(self, bodies: Bodies, figures: Sequence[SimulatedCharacter | None]) -> list[Pressed]:
        """What figures have pressed on bodies with, in the step that they just solved from the state last moved to."""
        out: list[Pressed] = []
        for figure, shape, points, forces in _standing(figures):
            under = shape.under(figure.state.centers[points], figure.time)
            for k in np.flatnonzero(under >= 0).tolist():
                body, force = int(self._bodies[under[k]]), forces[k]
                if bodies.is_loose(body) and force.any():
                    out.append(Pressed(body, bodies.offset(body, figure.state.points[points[k]]), -force))
        return out


def _standing(
    figures: Sequence[SimulatedCharacter | None],
) -> Iterator[tuple[SimulatedCharacter, Tops, Index, Array]]:
    """Figures that stand on ground with boxes in the step that they just solved.

    Yields:
        Each with its ground, the points that touch it, and the force on each of them [N], shape (n, 3).
    """
    for figure in figures:
        last = None if figure is None else figure.last
        if figure is None or last is None or last.frame != figure.frame:
            continue
        shape, points = figure.terrain.shape, last.step.contacts.points
        if isinstance(shape, Tops) and len(points):
            yield figure, shape, points, last.result.forces


def loads(bodies: Bodies, pressed: Sequence[Pressed]) -> Array:
    """Generalized force of what feet press with, shape (nv,)."""
    out = np.zeros(bodies.nv)
    for body, offset, force in pressed:
        out += bodies.point(body, offset)[1].T @ force
    return out
