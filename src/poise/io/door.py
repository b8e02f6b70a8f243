"""The door between a file's world and Poise's: which turn brings a file's up axis to Z."""

from __future__ import annotations

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array

_HALF = np.sqrt(0.5)
_TURNS = {
    "x": np.array([_HALF, 0.0, -_HALF, 0.0]),
    "y": np.array([_HALF, _HALF, 0.0, 0.0]),
    "z": np.array([1.0, 0.0, 0.0, 0.0]),
    "-x": np.array([_HALF, 0.0, _HALF, 0.0]),
    "-y": np.array([_HALF, -_HALF, 0.0, 0.0]),
    "-z": np.array([0.0, 1.0, 0.0, 0.0]),
}
UP_AXES = tuple(_TURNS)
"""Names of axes that may be up: "x" … "-z"."""


def door_turn(up: str) -> Array:
    """Turn from a world whose up axis is `up` to Poise's Z-up world, unit wxyz, shape (4,).

    From Y up it is +90° about x: (x, y, z) → (x, -z, y). From X up it is -90° about y: (x, y, z) → (-z, y, x).

    Raises:
        InvalidValue: if `up` is not one of "x", "y", "z", "-x", "-y", "-z".
    """
    if up.lower() not in _TURNS:
        raise InvalidValue(f"Up axis {up!r} is not one of {', '.join(_TURNS)}. Give one of these to --up.")
    return _TURNS[up.lower()].copy()
