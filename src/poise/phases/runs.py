"""Runs of frames in which something holds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def runs(flags: npt.NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    """First and last index of each run of True in flags (F,), in order."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return tuple((first, end - 1) for first, end in edges.reshape(-1, 2).tolist())
