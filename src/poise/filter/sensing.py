"""One look at the world in a step: the state, the ground below it, what pushes, and where everything should go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.units import GRAVITY
from poise.filter.falling import presses
from poise.filter.footing import Footholds
from poise.filter.forces import Force
from poise.filter.frame import give_way
from poise.filter.plan import PlannedFrame
from poise.filter.protective import recover
from poise.filter.reference import ReferenceFrame
from poise.filter.routine import MOST_PUSHES
from poise.step import Contacts, Step

if TYPE_CHECKING:
    from poise.filter.filter import Machine

Array = npt.NDArray[np.float64]

Vector = tuple[float, float, float]

CARRIED = 0.3
"""A figure whose root carries this part of its weight in the reference hovers; one that is carried less flies."""

_NOTHING: Vector = (0.0, 0.0, 0.0)
_RESTING = (0.0, 0.0)


class Sensed(NamedTuple):
    """What one look at the world shows: the targets and the step are made from it.

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


def sense(m: Machine, reference: ReferenceFrame, pushes: Sequence[Force], planned: PlannedFrame | None) -> Sensed:
    """Bring the state, the goal's particle, the trunk's sway and the footholds to this step."""
    s, problem, seen = m.state, m.problem, m.routine
    home, shift, below = _home(m), m.particle.shift, _RESTING
    m.follower.plan(planned)
    s.begin(m.q, m.v)
    if not seen.see(reference, shift, home, planned, m.time):
        s.move_to(m.q, m.v)  # says which joint
    if not m.terrain.is_static:
        below = tuple(problem.ground_velocities.mean(axis=0)[:2].tolist())
    limbs = m.limbs
    _hits(m, pushes)
    limbs.values.pressed = m.particle.pressed
    give_way(problem)
    is_moving = _is_moving(m, pushes)
    force, moment = _NOTHING, _NOTHING
    if is_moving and limbs.values.is_pushed:
        force, moment = tuple(limbs.trunk_force.tolist()), tuple(limbs.trunk_moment.tolist())
    flies = is_moving and _flies(m, reference)
    if flies:  # by mechanics alone
        force = force[0] / m.scale, force[1] / m.scale, force[2] / m.scale
    if is_moving and not flies and not m.particle.is_at_rest:
        m.recovery = recover(
            m.recovery, m.preset.protective, m.particle.shift, m.particle.velocity, m.particle.ground,
            m.character.leg_length, m.dt, returns=m.options.after != "stay", is_guided=m.options.goal != "none",
        )  # fmt: skip
        m.particle.rest = m.recovery.rest
    is_thrown = is_moving and not flies and _is_thrown(m, reference)
    m.particle.accelerate(
        force, m.mass, below, m.dt, flies=flies or is_thrown, weight=GRAVITY * m.scale if is_thrown else 0.0
    )
    m.sway.accelerate(moment, spin=_spin(m) if flies else None, dt=m.dt)
    m.sway_share[:] = m.own_share + m.sway.whole * (1.0 - m.own_share) if m.sway.whole > 1e-3 else m.own_share
    footholds = m.footing.place(reference, s.points, shift, home, m.time, m.dt, planned, m.recovery)
    near = problem.touching_count
    points, normals = problem.touching[:near].copy(), problem.normals[:near].copy()
    if m.fall is not None:
        held = presses(s.point_velocities[points] - problem.ground_velocities[points], normals, problem.gaps[points])
        points, normals = points[held], normals[held]
    contacts = Contacts(points, normals, m.options.friction)
    external = limbs.external
    for k, push in enumerate(pushes):
        if push.is_solved_for:
            external = external - s.external_torque(int(limbs.hit_body[k]), limbs.hit_place[k], limbs.hit_force[k])
    return Sensed(Step(s, contacts, dt=m.dt, external=external), problem.gaps, footholds, planned)


def _home(m: Machine) -> tuple[float, float] | None:
    """Where the goal will rest [m]; None while it never moved, or where nobody holds the figure."""
    if not m.particle.is_away or m.options.goal == "none" or m.physicality.is_strict:
        return None
    return m.particle.home


def _hits(m: Machine, pushes: Sequence[Force]) -> None:
    """Write where each force meets the figure now."""
    s, limbs = m.state, m.limbs
    if len(pushes) > MOST_PUSHES:
        raise InvalidValue(f"{len(pushes)} forces act on one figure at once; give at most {MOST_PUSHES}.")
    limbs.values.hits = len(pushes)
    for k, push in enumerate(pushes):
        body = push.body_of(m.character) + 1
        offset = push.offset
        place = s.data.xipos[body].copy() if offset is None else s.body_place(body, offset)
        speed = s.body_point_motion(body, place)[0]
        limbs.hit_force[k] = push.force_at(place, speed, m.time, float(m.model.body_masses[body]))
        limbs.hit_body[k], limbs.hit_place[k] = body, place


def _flies(m: Machine, reference: ReferenceFrame) -> bool:
    """Nothing touches, here or in the reference, and the root does not carry the figure there."""
    is_free = not m.problem.touching_count and not reference.flags.any()
    return is_free and abs(float(reference.torque[2])) < CARRIED * GRAVITY * m.mass


def _is_thrown(m: Machine, reference: ReferenceFrame) -> bool:
    """A push has lifted the figure off the ground it stands on in the reference."""
    return not m.problem.touching_count and bool(reference.flags.any()) and m.particle.height > 0.02 * m.scale


def _spin(m: Machine) -> Vector:
    """Angular acceleration of the whole figure as one rigid body [rad/s²]."""
    limbs, count = m.limbs, m.limbs.hits
    if not count:
        return _NOTHING
    root, data = m.model.roots[0], m.state.data
    com = data.subtree_com[root]
    moment = np.cross(limbs.hit_place[:count] - com, limbs.hit_force[:count]).sum(axis=0)
    frame = data.xmat[root].reshape(3, 3)
    arm = com - data.xpos[root]
    inertia = frame @ m.state.M[3:6, 3:6] @ frame.T - m.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    x, y, z = np.linalg.solve(inertia, moment).tolist()
    return x, y, z


def _is_moving(m: Machine, pushes: Sequence[Force]) -> bool:
    """The goal moves with what pushes."""
    if m.options.goal not in ("auto", "none"):
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
