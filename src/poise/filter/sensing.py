"""What is sensed in a step: forces that meet the figure, flight, contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.filter.falling import presses
from poise.filter.footing import Footholds
from poise.filter.forces import Force
from poise.filter.plan import PlannedFrame
from poise.filter.reference import ReferenceFrame
from poise.filter.routine import MOST_PUSHES
from poise.native import Block
from poise.physics import State
from poise.step import Contacts, Step

Vector = tuple[float, float, float]

CARRIED = 0.3
"""A figure whose root carries this part of its weight in the reference hovers; one that is carried less flies."""

NOTHING: Vector = (0.0, 0.0, 0.0)


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


def write_hits(limbs: Block, pushes: Sequence[Force], character: Character, state: State, time: float) -> None:
    """Write where each force meets the figure now.

    Raises:
        InvalidValue: if too many act at once.
    """
    if len(pushes) > MOST_PUSHES:
        raise InvalidValue(f"{len(pushes)} forces act on one figure at once; give at most {MOST_PUSHES}.")
    limbs.values.hits = len(pushes)
    for k, push in enumerate(pushes):
        body = push.body_of(character) + 1
        offset = push.offset
        place = state.data.xipos[body].copy() if offset is None else state.body_place(body, offset)
        speed = state.body_point_motion(body, place)[0]
        limbs.hit_force[k] = push.force_at(place, speed, time, float(state.model.body_masses[body]))
        limbs.hit_body[k], limbs.hit_place[k] = body, place


def flies(touching: int, reference: ReferenceFrame, mass: float) -> bool:
    """Nothing touches, here or in the reference, and the root does not carry the figure there."""
    is_free = not touching and not reference.flags.any()
    return is_free and abs(float(reference.torque[2])) < CARRIED * GRAVITY * mass


def is_thrown(touching: int, reference: ReferenceFrame, rise: float, scale: float) -> bool:
    """A push has lifted the figure, by so much [m], off the ground it stands on in the reference."""
    return not touching and bool(reference.flags.any()) and rise > 0.02 * scale


def spin(limbs: Block, state: State) -> Vector:
    """Angular acceleration of the whole figure as one rigid body by the forces that meet it [rad/s²]."""
    count, root, data = limbs.hits, limbs.root, state.data
    if not count:
        return NOTHING
    com = data.subtree_com[root]
    moment = np.cross(limbs.hit_place[:count] - com, limbs.hit_force[:count]).sum(axis=0)
    frame = data.xmat[root].reshape(3, 3)
    arm = com - data.xpos[root]
    inertia = frame @ state.M[3:6, 3:6] @ frame.T - limbs.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    x, y, z = np.linalg.solve(inertia, moment).tolist()
    return x, y, z


def contacts_of(f: Block, state: State, friction: float, *, is_falling: bool) -> Contacts:
    """What touches, from a block "Frame" that was sensed; of a figure that falls, what presses."""
    near = f.touching_count
    points, normals = f.touching[:near].copy(), f.normals[:near].copy()
    if is_falling:
        held = presses(state.point_velocities[points] - f.ground_velocities[points], normals, f.gaps[points])
        points, normals = points[held], normals[held]
    return Contacts(points, normals, friction)


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
