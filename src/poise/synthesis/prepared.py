"""Figures prepared to move by goals: soles to stand on, inertias for steps of 0.01 s, shoulders that reach overhead."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from poise.body.anthropometry import PERSON_MASS
from poise.body.character import Body, Character, Limits, figure
from poise.core import rotations
from poise.core.typing import Array
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.synthesis.poses import (
    LEFT,
    SIDES,
    ankle_of,
    is_one_with_shin,
    places_of,
    plane_of,
    sole_points,
    soles_of,
    standing,
    upright,
)

LEAST_INERTIA = 4e-3
"""No body of a person of `PERSON_MASS` with legs of `HUMAN_LEG` turns more easily than this about any axis [kg m²]."""
RAISED = np.radians(60.0)
"""A shoulder's range is measured from an arm raised forward by so much [rad] …"""
BACK, OVERHEAD = np.radians(-120.0), np.radians(125.0)
"""… and goes so far back and up from there [rad]."""
ALIKE = 0.04
"""Two soles are alike where no point of one, mirrored, is further from the other's than this part of a leg."""
FLAT = 1e-5
"""A sole is flat where no point is further from its plane than this part of a leg."""


def prepared(character: Character) -> Character:
    """A figure that can stand and reach: soles flat and alike, no body that turns too easily, limber shoulders."""
    return limber(steadied(soled(character)))


@cache
def prepared_figure(name: str) -> Character:
    """A built-in figure, prepared."""
    return prepared(figure(name))


def soled(character: Character) -> Character:
    """The figure with flat soles, one the mirror image of the other where they differ much.

    Contact points are fitted to a clip, each foot to what it does there. A foot that the clip never shows flat on level
    ground gets a sole that is bent or lies too high in the foot: what a filter of that clip needs, and nobody can stand
    on. Of two soles that are not alike both become the flatter one; then each is pressed flat. A foot that is one with
    its shin gets a level sole at its lowest point. A figure whose soles are
    flat and alike is returned as it is.

    Args:
        character: With two legs.

    Raises:
        InvalidValue: if it does not stand.
    """
    turned, leg = upright(character), character.leg_length
    places = places_of(character, turned)
    of = {side: sole_points(character, side) for side in SIDES}
    ankles = {side: places[ankle_of(character, side)] for side in SIDES}
    soles = {side: soles_of(character, turned, side) for side in SIDES}
    before = dict(soles)
    if len(of["left"]) == len(of["right"]) > 0:
        apart = ankles["left"] - ankles["right"]
        apart[2] = 0.0
        mirror = np.eye(3) - 2.0 * np.outer(apart, apart) / max(float(apart @ apart), 1e-12)
        if np.linalg.norm(soles["left"] @ mirror - soles["right"], axis=1).max() > ALIKE * leg:
            worse, better = sorted(SIDES, key=lambda side: -_unevenness(soles[side]))
            soles[worse] = soles[better] @ mirror
    for side in SIDES:
        if is_one_with_shin(character, side) and len(soles[side]):
            if np.ptp(soles[side][:, 2]) > FLAT * leg:
                low = np.full(len(soles[side]), soles[side][:, 2].min())
                soles[side] = np.column_stack([soles[side][:, :2], low])
            continue
        plane = plane_of(soles[side])
        if plane is not None and _unevenness(soles[side]) > FLAT * leg:
            middle, down = plane
            soles[side] = soles[side] - np.outer((soles[side] - middle) @ down, down)
    if all(soles[side] is before[side] for side in SIDES):
        return character
    points = list(character.contact_points)
    for side in SIDES:
        for i, at in zip(of[side], soles[side], strict=True):
            body = points[i].body
            own = rotations.rotate(rotations.conjugate(turned[body]), at + ankles[side] - places[body])
            points[i] = replace(points[i], offset=own)
    return replace(character, contact_points=tuple(points))


def _unevenness(points: Array) -> float:
    """How far a point of a sole is from its plane at the most [m]."""
    plane = plane_of(points)
    return 0.0 if plane is None else float(np.abs((points - plane[0]) @ plane[1]).max())


def steadied(character: Character) -> Character:
    """The figure with no body that turns too easily for a step of 0.01 s.

    A hand of 0.4 kg turns about its own length with 1e-4 kg m²; a wrist's 20 N m would spin it by 2000 rad/s in a step.
    A living wrist turns the forearm with it. Masses stay, inertias are widened, in proportion to mass times leg².
    """
    least = LEAST_INERTIA * character.mass / PERSON_MASS * character.leg_scale**2
    bodies: list[Body] = []
    for body in character.bodies:
        values, vectors = np.linalg.eigh(body.inertia)
        wide = (vectors * np.maximum(values, least)) @ vectors.T
        bodies.append(replace(body, inertia=wide) if values.min() < least else body)
    return replace(character, bodies=tuple(bodies))


def limber(character: Character) -> Character:
    """The figure with shoulders that reach overhead; one without arms as it is.

    A range of ±130° about a hanging arm, which is what a character fitted without clips gets, ends 50° short of
    overhead and goes as far back as forward.
    """
    roles = character.roles
    armed = [s for s in SIDES if {f"{s}_shoulder", f"{s}_elbow"} <= set(roles)]
    arms = [(roles[f"{s}_shoulder"], roles[f"{s}_elbow"]) for s in armed]
    if not arms:
        return character
    model = model_of(character)
    state = State(model).at(standing(character), np.zeros(model.nv))
    turns = state.data.xmat[model.roots[0] :].reshape(-1, 3, 3)
    left = LEFT  # it stands facing +x
    up = rotations.to_matrix(rotations.from_rotation_vector(-RAISED * left))
    bodies = list(character.bodies)
    for shoulder, elbow in arms:
        body = bodies[shoulder]
        if body.kind != "ball" or body.limits is None:
            continue
        axis = bodies[elbow].offset / np.linalg.norm(bodies[elbow].offset)
        raised = up @ turns[shoulder]
        bend = -raised.T @ left
        bend -= (bend @ axis) * axis
        rest = rotations.from_matrix(turns[body.parent].T @ raised)
        old = body.limits
        limits = Limits(
            rest,
            axis,
            bend / np.linalg.norm(bend),
            old.twist_lower,
            old.twist_upper,
            BACK,
            OVERHEAD,
            old.side_lower,
            old.side_upper,
        )
        bodies[shoulder] = replace(body, limits=limits)
    return replace(character, bodies=tuple(bodies))
