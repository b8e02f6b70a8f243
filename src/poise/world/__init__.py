"""One world: figures driven by clips, among bodies that push back."""

from poise.world.scenes import rubble, scene_of
from poise.world.world import World

__all__ = ["World", "rubble", "scene_of"]
