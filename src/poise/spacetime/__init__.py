"""Many steps at once: the repair of a clip within a budget, and space-time constraints."""

from poise.spacetime.planar import Ground, Link, Muscles, Planar, Stance, move
from poise.spacetime.problem import BSplines, Points, Problem, Solution, SpacetimeUnsolved
from poise.spacetime.ready import READY, Answer, Task, solve

__all__ = [
    "READY",
    "Answer",
    "BSplines",
    "Ground",
    "Link",
    "Muscles",
    "Planar",
    "Points",
    "Problem",
    "Solution",
    "SpacetimeUnsolved",
    "Stance",
    "Task",
    "move",
    "solve",
]
