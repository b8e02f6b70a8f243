"""Bodies around a figure, as the filter knows them: who simulates them is `poise.world`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from poise.core.typing import Array
from poise.filter.forces import Force
from poise.physics import Model
from poise.step import Constraint, Objective, Step


@dataclass(frozen=True)
class Thing:
    """A body around the figure over time.

    Attributes:
        name: What it is called.
        shapes: Kind, half sizes (3,), place (3,) and turn (4,) in its frame, see `poise.physics.mujoco_bodies.Shape`.
        positions, orientations: At every simulated time, shapes (S, 3) [m] and (S, 4), or (1, …) for what stands still.
        mass: [kg], 0 for what never moves.
    """

    name: str
    shapes: tuple[tuple[str, Array, Array, Array], ...]
    positions: Array
    orientations: Array
    mass: float


class Surroundings(Protocol):
    """Bodies that a figure may run into: `poise.World`."""

    @property
    def felt(self) -> Sequence[Force]:
        """Their forces on the figure in the last step."""
        ...

    def join(self, model: Model, q: Array, v: Array, dt: float, *, way: Array, scale: float) -> None:
        """Begin with a figure at a pose (nq,) and velocity (nv,), steps of dt [s], its way (N, 2) and its scale."""

    def meet(
        self, step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint]
    ) -> tuple[list[Objective], list[Constraint], Array]:
        """The lists of a step as they are to be solved, and the force of the bodies on the figure, shape (nv,)."""
        ...

    def advance(self, q: Array, v: Array) -> None:
        """Go on with the figure at its next pose (nq,) and velocity (nv,)."""

    def report(self) -> dict[str, Any]:
        """What a run's report says under "scene"."""
        ...

    def things(self) -> tuple[Thing, ...]:
        """The bodies over time."""
        ...
