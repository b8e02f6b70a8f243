"""One look at the world in a step: the state, the ground below it, what pushes, and where everything should go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.filter.footing import Footholds
from poise.filter.forces import Force
from poise.filter.plan import PlannedFrame
from poise.filter.reference import ReferenceFrame
from poise.step import Contacts, Step

if TYPE_CHECKING:
    from poise.filter.filter import Machine

Array = npt.NDArray[np.float64]

Vector = tuple[float, float, float]

_NOTHING: Vector = (0.0, 0.0, 0.0)
_RESTING = (0.0, 0.0)


class Sight(NamedTuple):
    """What one look at the world shows: the wishes and the step are made from it.

    Attributes:
        step: The step to be solved.
        gaps: Distances of the contact points to the ground [m], shape (P,).
        footholds: Which contact points stand, and which limb steps back.
        planned: The plan over the ground, if there is one.
    """

    step: Step
    gaps: Array
    footholds: Footholds
    planned: PlannedFrame | None


def look(m: Machine, reference: ReferenceFrame, pushes: Sequence[Force], planned: PlannedFrame | None) -> Sight:
    """Bring the state, the goal's particle, the trunk's sway and the footholds to this step."""
    s, problem, seen = m.state, m.problem, m.routine
    home, shift, below = _home(m), m.particle.shift, _RESTING
    m.follower.plan(planned)
    s.begin(m.q, m.v)
    if not seen.see(reference, shift, home, planned, m.time):
        s.move_to(m.q, m.v)  # says which joint
    if not m.terrain.is_static:
        below = tuple(seen.moving.mean(axis=0)[:2].tolist())
    external, force, moment = _pushes(m, pushes) if pushes else (m.no_push, _NOTHING, _NOTHING)
    problem.external[:] = external
    if not _is_moving(m, pushes):
        force, moment = _NOTHING, _NOTHING
    m.particle.accelerate(force, m.mass, below)
    m.sway.accelerate(moment)
    footholds = m.footing.place(reference, s.points, shift, home, m.time, m.dt, planned)
    near = problem.touching_count
    contacts = Contacts(problem.touching[:near].copy(), problem.normals[:near].copy(), m.options.friction)
    return Sight(Step(s, contacts, dt=m.dt, external=external), seen.gaps, footholds, planned)


def _home(m: Machine) -> tuple[float, float] | None:
    """Where the goal will rest [m]; None while it never moved, or where nobody holds the figure."""
    if not m.particle.is_away or m.options.goal == "none" or m.options.physicality.is_strict:
        return None
    return m.particle.ground


def _pushes(m: Machine, pushes: Sequence[Force]) -> tuple[Array, Vector, Vector]:
    """Generalized force (nv,) of all that pushes, and what the goal feels of its force [N] and moment [N m].

    The moment is about the center of mass. A push of so many body weights moves figures of any size by the same part
    of their legs.
    """
    s, root = m.state, m.model.roots[0]
    external, force, moment = np.zeros(m.model.nv), _NOTHING, _NOTHING
    cx, cy, cz = s.data.subtree_com[root].tolist()
    for push in pushes:
        body = push.body_of(m.character) + 1
        offset = push.offset
        place = s.data.xipos[body].copy() if offset is None else s.body_place(body, offset)
        f = push.force_at(place, s.body_point_motion(body, place)[0], m.time, m.model.body_masses[body])
        external += s.external_torque(body, place, f)
        (x, y, z), (fx, fy, fz) = place.tolist(), f.tolist()
        x, y, z = x - cx, y - cy, z - cz
        force = force[0] + fx, force[1] + fy, force[2] + fz
        moment = moment[0] + y * fz - z * fy, moment[1] + z * fx - x * fz, moment[2] + x * fy - y * fx
    k, (fx, fy, fz), (mx, my, mz) = m.scale, force, moment
    return external, (k * fx, k * fy, k * fz), (k * mx, k * my, k * mz)


def _is_moving(m: Machine, pushes: Sequence[Force]) -> bool:
    """The goal moves with what pushes."""
    if m.options.goal != "auto":
        return m.options.goal == "moving"
    return bool(pushes) or not m.particle.is_at_rest or not m.terrain.is_static


def feet_of(character: Character) -> tuple[tuple[int, ...], ...]:
    """Contact points of each foot, by limb."""
    feet: list[tuple[int, ...]] = []
    for limb in character.limbs:
        if limb.kind == "leg":
            points = tuple(
                i for i, p in enumerate(character.contact_points) if p.body in limb.bodies and p.part == "foot"
            )
            if points:
                feet.append(points)
    return tuple(feet)


def limbs_of(character: Character) -> tuple[tuple[int, ...], ...]:
    """Contact points of each leg and arm: what can step back."""
    limbs = [limb for limb in character.limbs if limb.kind in ("leg", "arm")]
    points = [tuple(i for i, p in enumerate(character.contact_points) if p.body in limb.bodies) for limb in limbs]
    return tuple(p for p in points if p)
