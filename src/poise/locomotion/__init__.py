"""Walking, running, turning and stopping at any velocity, from example clips of any figure."""

from poise.locomotion.examples import Locomotion, build, load
from poise.locomotion.walker import Pose, Toward, Walker, Walking, retrieve, scripted, walk

__all__ = ["Locomotion", "Pose", "Toward", "Walker", "Walking", "build", "load", "retrieve", "scripted", "walk"]
