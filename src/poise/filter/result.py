"""What a run gives back."""

from __future__ import annotations

from dataclasses import dataclass

from poise.body.character import Character
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.forces import Force
from poise.filter.goals import PointGoal
from poise.filter.report import Report
from poise.filter.things import Thing
from poise.terrain import Terrain


@dataclass(frozen=True)
class SimulationResult:
    """A simulated clip.

    Attributes:
        motion: The source's frames with the reaction in them.
        source: The frames that went in.
        character: The character.
        terrain: The ground, placed.
        times: Simulated times [s], shape (S,).
        q: Simulated coordinates, shape (S, nq).
        reference_q: Undisturbed coordinates, shape (S, nq).
        pushes: What pushed and pulled.
        report: Numbers of the run.
        goal_points: Places on bodies that had targets of their own.
        things: Bodies around the figure.
        is_complete: False if the run was interrupted.
    """

    motion: Motion
    source: Motion
    character: Character
    terrain: Terrain
    times: Array
    q: Array
    reference_q: Array
    pushes: tuple[Force, ...]
    report: Report
    goal_points: tuple[PointGoal, ...] = ()
    is_complete: bool = True
    things: tuple[Thing, ...] = ()

    def __repr__(self) -> str:
        many = "" if len(self.pushes) == 1 else "es"
        return (
            f"<simulated: {self.motion.frame_count} frames, {self.motion.duration:.2f} s, "
            f"{self.motion.skeleton.joint_count} joints on {self.terrain.spec}, {len(self.pushes)} push{many}>"
        )
