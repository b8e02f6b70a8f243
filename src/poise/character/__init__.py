"""Characters: skeletons with weight, shape, limits and points that touch the world."""

from poise.character.character import Body, Capsule, Character, ContactPoint, Limb, Limits
from poise.character.fit import fit
from poise.character.mjcf import to_mjcf

__all__ = ["Body", "Capsule", "Character", "ContactPoint", "Limb", "Limits", "fit", "to_mjcf"]
