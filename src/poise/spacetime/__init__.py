"""Many steps at once: the repair of a clip within a budget, and space-time constraints."""

from poise.spacetime.planar import Link, Planar, Stance, move
from poise.spacetime.problem import BSplines, Points, Problem, Solution, SpacetimeUnsolved
from poise.spacetime.ready import READY, Answer, Task, solve

__all__ = [
    "READY", "Answer", "BSplines", "Link", "Planar", "Points", "Problem", "Solution", "SpacetimeUnsolved", "Stance",
    "Task", "move", "solve",
]  # fmt: skip
