"""Left and right of a skeleton, by names and by the rest pose."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.body.anatomy import side_of, without_side
from poise.core.skeleton import Skeleton
from poise.core.typing import Array

ACROSS = 0.97
"""Cosine beyond which two ways from a right to a left joint have one direction [1]."""


def left_from_right(skeleton: Skeleton, twins: Mapping[int, tuple[str, int]], least: float) -> Array | None:
    """Unit direction from right to left in the rest pose, by all joints whose names say their sides.

    None where they are together no farther apart than `least`.

    Args:
        skeleton: The joints.
        twins: For each joint that has a mirrored one: its side, and that joint; see `twins_of`.
        least: Length of the sum of the ways from right to left that says nothing [m].
    """
    names, rest = skeleton.names, skeleton.rest[0]
    sided = {(side_of(n), without_side(n), len(skeleton.ancestors(j))): j for j, n in enumerate(names) if side_of(n)}
    total = np.zeros(3)
    for left, (side, right) in twins.items():
        if side == "left" and not side_of(names[left]):
            total += rest[left] - rest[right]
    for (side, name, depth), left in sided.items():
        right = sided.get(("right", name, depth))
        if side == "left" and right is not None:
            total += rest[left] - rest[right]
    size = float(np.linalg.norm(total))
    return total / size if size > least else None


def lie_apart(first: Array, second: Array, least: float) -> bool:
    """Whether joints of two rows (N, 3) [m] that are farther apart than `least` [m] are so along one direction."""
    apart = first - second
    far = np.linalg.norm(apart, axis=-1)
    ways = apart[far > least] / far[far > least, None]
    return len(ways) > 1 and float((ways @ ways[-1]).min()) > ACROSS
