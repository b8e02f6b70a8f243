"""A placed ground as compiled code reads it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.terrain.kernels import NUMBERS
from poise.terrain.shapes import Place, Shape

Index = npt.NDArray[np.int64]


class Relief:
    """Keeps the numbers of a ground where `kernels.surface` finds them.

    Attributes:
        at: Kind of ground, addresses of its numbers and of its table, and the table's rows and columns, shape (5,).
    """

    def __init__(self, shape: Shape, place: Place) -> None:
        self._shape, self._place, self._numbers = shape, place, np.zeros(NUMBERS)
        self.at: Index = np.zeros(5, dtype=np.int64)
        self.move_to(0.0)

    def move_to(self, time: float) -> None:
        """Bring ground that moves, or that becomes other ground, to this time [s]."""
        kind, numbers, self._table = self._shape.form(self._place, time)
        self._numbers[:] = 0.0
        self._numbers[: len(numbers)] = numbers
        self.at[:] = kind, self._numbers.ctypes.data, self._table.ctypes.data, *self._table.shape
