"""One look at the world in a step: the state, the ground below it, what pushes, and where everything should go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from poise.character.character import Character
from poise.control.footing import Footholds
from poise.control.plan import PlannedFrame
from poise.control.reference import ReferenceFrame
from poise.sim.forces import Pull, Push
from poise.step import Contacts, Step

if TYPE_CHECKING:
    from poise.sim.filter import Machine

Array = npt.NDArray[np.float64]

_NOTHING = np.zeros(3)
_RESTING = np.zeros(2)


class Scene(NamedTuple):
    """One look at the world: what the wishes and the step are made from.

    Attributes:
        step: The step to be solved.
        gaps: Distances of the contact points to the ground [m], shape (P,).
        footholds: Where the contact points should be.
        moving: Velocity of the ground below them [m/s], shape (P, 3), or None where it rests.
        planned: The plan over the ground, if there is one.
    """

    step: Step
    gaps: Array
    footholds: Footholds
    moving: Array | None
    planned: PlannedFrame | None


def look(m: Machine, reference: ReferenceFrame, pushes: Sequence[Push | Pull], planned: PlannedFrame | None) -> Scene:
    """Bring the state, the goal's particle, the trunk's sway and the footholds to this step."""
    s, dt, problem, seen = m.state, m.dt, m.problem, m.routine
    moving = None
    if m.terrain.is_flat:
        s.begin(m.q, m.v)
    else:
        s.move_to(m.q, m.v)
        surface = m.terrain.sample(s.centers[:, :2], m.time)
        seen.normals[:], seen.heights[:] = surface.normal, surface.height
        if not m.terrain.is_static:
            moving = surface.velocity
            seen.moving[:] = moving
    if not seen.see(reference, planned, is_level=m.terrain.is_flat):
        s.move_to(m.q, m.v)  # says which joint
    s.complete()
    external, force, moment = _pushes(m, pushes) if pushes else (m.no_push, _NOTHING, _NOTHING)
    problem.external[:] = external
    below = _RESTING if moving is None else moving.mean(axis=0)[:2]
    if _is_moving(m, pushes):
        # a push of so many body weights moves figures of any size by the same part of their legs
        m.particle.accelerate(m.scale * force, m.mass, below)
        m.sway.accelerate(m.scale * moment)
    else:
        m.particle.accelerate(_NOTHING, m.mass, below)
        m.sway.accelerate(_NOTHING)
    shift = m.particle.shift
    m.follower.accelerate(reference.q[:3], reference.v[:3], shift, m.time, planned)
    footholds = m.footing.place(
        reference, s.points, s.point_velocities, seen.heights, seen.stands.copy(), moving, shift, _home(m), m.time, dt,
        planned,
    )  # fmt: skip
    near = problem.touching_count
    contacts = Contacts(problem.touching[:near].copy(), problem.normals[:near].copy(), m.options.friction)
    return Scene(Step(s, contacts, dt=dt, external=external), seen.gaps, footholds, moving, planned)


def _home(m: Machine) -> Array | None:
    """Where the goal will rest [m], shape (2,); None while it never moved, or where nobody holds the figure."""
    if m.options.goal == "none" or m.options.physicality.is_strict or not m.particle.is_away:
        return None
    return m.particle.ground


def _pushes(m: Machine, pushes: Sequence[Push | Pull]) -> tuple[Array, Array, Array]:
    """Generalized force (nv,), force [N] and moment about the center of mass [N m], (3,), of all that pushes."""
    external, force, moment = np.zeros(m.model.nv), np.zeros(3), np.zeros(3)
    for push in pushes:
        body = push.body_of(m.character) + 1
        offset = push.offset
        place = m.state.data.xipos[body].copy() if offset is None else m.state.body_place(body, offset)
        velocity = m.state.body_point_motion(body, place)[0]
        f = push.force_at(place, velocity, m.time, m.model.body_masses[body])
        external += m.state.external_torque(body, place, f)
        force += f
        (x, y, z), (fx, fy, fz) = (place - m.state.com(m.model.roots[0])).tolist(), f.tolist()
        moment += (y * fz - z * fy, z * fx - x * fz, x * fy - y * fx)
    return external, force, moment


def _is_moving(m: Machine, pushes: Sequence[Push | Pull]) -> bool:
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
