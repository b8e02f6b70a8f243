"""The dynamic model of a character."""

from __future__ import annotations

from poise.character.character import Character
from poise.character.mjcf import to_mjcf
from poise.dynamics.mujoco_backend import Model, Point


def model_of(character: Character) -> Model:
    """Bodies 1 … B of the model are the character's bodies 0 … B−1; points are its contact points, in order."""
    points = [
        Point(p.name, p.body + 1, (float(p.offset[0]), float(p.offset[1]), float(p.offset[2])), p.radius)
        for p in character.contact_points
    ]
    return Model(to_mjcf(character), points)
