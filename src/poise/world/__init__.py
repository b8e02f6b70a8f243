"""One world: figures with drivers of their own, among bodies that push back."""

from poise.world.drivers import Clip, Driver, Stream
from poise.world.guides import Guide
from poise.world.holds import Hold
from poise.world.muscles import Goals, Ragdoll
from poise.world.rubble import rubble
from poise.world.scenes import read_scene
from poise.world.world import World

__all__ = ["Clip", "Driver", "Goals", "Guide", "Hold", "Ragdoll", "Stream", "World", "read_scene", "rubble"]
