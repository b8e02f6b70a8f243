"""One world: figures driven by clips, among bodies that push back."""

from poise.world.scenes import read_scene, rubble
from poise.world.world import World

__all__ = ["World", "read_scene", "rubble"]
