"""Characters: skeletons with weight, shape, limits and points that touch the world."""

from poise.body.character import Body, Capsule, Character, ContactPoint, Limb, Limits, fit
from poise.body.limits import clamp_rotation, limit_angles
from poise.body.mjcf import to_mjcf
from poise.body.toml_file import load_character, save_character

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
