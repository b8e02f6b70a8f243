"""Characters: skeletons with weight, shape, limits and points that touch the world."""

from poise.character.character import Body, Capsule, Character, ContactPoint, Limb, Limits
from poise.character.fit import fit
from poise.character.limits import clamp_rotation, limit_angles
from poise.character.mjcf import to_mjcf
from poise.character.toml_file import load_character, save_character

__all__ = [
    "Body",
    "Capsule",
    "Character",
    "ContactPoint",
    "Limb",
    "Limits",
    "clamp_rotation",
    "fit",
    "limit_angles",
    "load_character",
    "save_character",
    "to_mjcf",
]
