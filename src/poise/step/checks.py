"""What a quantity may be given, checked where it is made: bodies, points, dofs, trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Index


def require_body(body: int | str | None, whose: str) -> None:
    """Raise InvalidValue unless this may be a body: an index, or a name."""
    is_index = isinstance(body, (int, np.integer)) and not isinstance(body, bool) and body >= 0
    if not (body is None or isinstance(body, str) or is_index):
        raise InvalidValue(f"{whose}: body is {body!r}; give a name, or an index of the model from 0.")


def require_dofs(dofs: tuple[int, int | None], whose: str) -> None:
    """Raise InvalidValue unless this may be a range of dofs."""
    ends = [dof for dof in dofs if dof is not None] if isinstance(dofs, tuple) and len(dofs) == 2 else []
    if not ends or dofs[0] is None or any([not isinstance(dof, (int, np.integer)) or dof < 0 for dof in ends]):
        raise InvalidValue(f"{whose}: dofs are {dofs!r}; give the first dof and the one after the last, (first, end).")


def require_tree(of: int, whose: str) -> None:
    """Raise InvalidValue unless this may be the number of a tree."""
    if not isinstance(of, (int, np.integer)) or of < 0:
        raise InvalidValue(f"{whose}: of is {of!r}; give the number of a tree of the model, from 0.")


Points = Index | Sequence[int | str]
"""Contact points by index or by name."""


def checked_points(points: Points, whose: str) -> Index | tuple[int | str, ...]:
    """Points as an array of indices, or as a tuple where there are names among them.

    Raises:
        InvalidValue: if they are something else, or an index is below zero.
    """
    if not isinstance(points, np.ndarray):
        names = (points,) if isinstance(points, str) else tuple(points)
        if any([isinstance(name, str) for name in names]):
            return names
        points = np.array(names if names else np.zeros(0, dtype=np.int64))
    if points.dtype.kind not in "iu" or points.ndim != 1:
        raise InvalidValue(f"{whose}: points are {points.dtype} {points.shape}; give a list of indices or names.")
    if points.size and points.min() < 0:
        raise InvalidValue(f"{whose}: point {points.min()}; points count from 0.")
    return points
