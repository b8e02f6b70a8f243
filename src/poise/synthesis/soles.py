"""Soles to stand on: flat, and the left one like the right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.typing import Array
from poise.synthesis.poses import SIDES, ankle_of, places_of, plane_of, sole_points, soles_of, upright

ALIKE = 0.04
"""Two soles are alike where no point of one, mirrored, is further from the other's than this part of a leg."""
FLAT = 1e-3
"""A sole is flat where no point is further from its plane than this part of a leg."""


def soled(character: Character) -> Character:
    """The figure with flat soles, one the mirror image of the other where they differ much.

    Contact points are fitted to a clip, each foot to what it does there. A foot that the clip never shows flat on level
    ground gets a sole that is bent or lies too high in the foot: what a filter of that clip needs, and nobody can stand
    on. Of two soles that are not alike both become the flatter one; then each is pressed flat. A figure whose soles are
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
        across = ankles["left"] - ankles["right"]
        across[2] = 0.0
        mirror = np.eye(3) - 2.0 * np.outer(across, across) / max(float(across @ across), 1e-12)
        if np.linalg.norm(soles["left"] @ mirror - soles["right"], axis=1).max() > ALIKE * leg:
            worse, better = sorted(SIDES, key=lambda side: -_unevenness(soles[side]))
            soles[worse] = soles[better] @ mirror
    for side in SIDES:
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
