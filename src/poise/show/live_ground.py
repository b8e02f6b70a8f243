"""Ground that can be changed while a figure walks on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.terrain import Terrain
from poise.terrain.shapes import Form, Place, Shape

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hill:
    """What the sliders say: slope [deg] and height of bumps [m], from where the figure was."""

    slope: float = 0.0
    roughness: float = 0.0
    seed: int = 7


class ChangingGround(Shape):
    """A ground that hands every question to the terrain of the moment.

    Attributes:
        current: The ground as it lies now.
    """

    def __init__(self, terrain: Terrain) -> None:
        self.current = terrain

    @property
    def is_static(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Never: a way over ground that rests is planned ahead, and this may be other ground by then."""
        return False

    @property
    def treads(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return False

    def at(self, points: Array, place: Place, time: float) -> tuple[Array, Array | None, Array | None]:
        del place
        surface = self.current.sample(points, time)
        return np.array(surface.height), np.array(surface.normal), np.array(surface.velocity)

    def form(self, place: Place, time: float) -> Form:
        del place
        return self.current.shape.form(self.current.place, time)

    def change(self, hill: Hill, position: Array, heading: float) -> None:
        """New ground that meets the old one where the figure is.

        Args:
            hill: What it is like.
            position: Of the figure [m]; its height does not matter, shape (3,).
            heading: In which the slope rises [rad].
        """
        here = float(self.current.heights(position[None, :2])[0])
        if hill.roughness > 0.0:
            shape = Terrain.rough(hill.roughness, hill.seed)
        else:
            shape = Terrain.slope(hill.slope)
        self.current = shape.placed(origin=position[:2], heading=heading, ground=here)
