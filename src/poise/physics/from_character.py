"""The dynamic model of a character, and of several in one world."""

from __future__ import annotations

from collections.abc import Sequence

from poise.body.character import Character
from poise.body.mjcf import prefixes, scene_mjcf
from poise.physics.mujoco_backend import Model, Point


def model_of(character: Character) -> Model:
    """Bodies 1 … B of the model are the character's bodies 0 … B−1; points are its contact points, in order."""
    return model_of_scene((character,))


def model_of_scene(characters: Sequence[Character], rovers: int = 0, *, names: Sequence[str] | None = None) -> Model:
    """One model of several characters: their bodies, coordinates and contact points in order, then the rovers.

    A thing that flies is a character too, see `character.thing`.

    Args:
        characters: One at least.
        rovers: How many roving points there are besides, see `State.place_rovers`.
        names: Of the characters. Where there are several, names of bodies and points start with "name/"; by default
            "1/", "2/", …

    Raises:
        InvalidValue: if there is no character, or not one name for each.
    """
    points: list[Point] = []
    first = 1
    xml = scene_mjcf(characters, names=names)
    for character, prefix in zip(characters, prefixes(characters, names), strict=True):
        for p in character.contact_points:
            offset = (float(p.offset[0]), float(p.offset[1]), float(p.offset[2]))
            points.append(Point(prefix + p.name, first + p.body, offset, p.radius))
        first += len(character.bodies)
    return Model(xml, points, rovers)
