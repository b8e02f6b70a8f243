"""Types of arrays, named once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
"""Numbers."""
Index = npt.NDArray[np.int64]
"""Positions in another array, and counts."""
Flags = npt.NDArray[np.bool_]
"""True and false."""
