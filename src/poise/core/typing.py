"""Types of arrays, named once, and the check of an array that is given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core.errors import InvalidValue

Array = npt.NDArray[np.float64]
"""Numbers."""
Index = npt.NDArray[np.int64]
"""Positions in another array, and counts."""
Flags = npt.NDArray[np.bool_]
"""True and false."""


def checked(value: Any, shape: tuple[int | None, ...], whose: str) -> Array:
    """A value as finite numbers of this shape, the same array where it is one; None stands for any extent.

    Raises:
        InvalidValue: if it is something else; says whose it is.
    """
    try:
        out: Array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidValue(f"{whose} is {value!r}; give numbers of shape {_words(shape)}.") from None
    if out.shape != shape and (
        out.ndim != len(shape) or any([own not in (None, seen) for own, seen in zip(shape, out.shape, strict=True)])
    ):
        raise InvalidValue(f"{whose} has shape {out.shape}; give numbers of shape {_words(shape)}.")
    if not math.isfinite(np.add.reduce(out, axis=None)):  # faster than `out.sum()`
        raise InvalidValue(f"{whose} is {value}; give finite numbers.")
    return out


def _words(shape: tuple[int | None, ...]) -> str:
    return str(tuple("any" if extent is None else extent for extent in shape)).replace("'", "")
