"""Stretches of a clip by what carries the body: flight, single, double and multiple support."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from poise.analysis.support import Support
from poise.analysis.touching import Touching
from poise.core.typing import Array, Flags, Index
from poise.phases.runs import runs

KINDS = ("flight", "single", "double", "multiple", "none")
"""By number of limbs that carry: 0 in the air, 1, 2, 3 or more; "none": nothing can, and yet it is no flight."""
SHORTEST = 0.035
"""Shorter gaps and touches of a support are noise [s]."""


@dataclass(frozen=True)
class SupportPhase:
    """A stretch with one set of supports.

    Attributes:
        kind: One of KINDS.
        supports: Limbs (or bodies) that carry, by name.
        first, last: Frames.
        start_s, end_s: Their times [s].
        cop_error: Largest normalized distance of the zero-moment point from the polygon; nan where undefined.
        inside_ratio: Share of its loaded frames in which that point lies inside; nan without any.
        within_radius_ratio: Share in which it lies inside or within one mean radius.
    """

    kind: str
    supports: tuple[str, ...]
    first: int
    last: int
    start_s: float
    end_s: float
    cop_error: float
    inside_ratio: float
    within_radius_ratio: float


def supporting(touch: Touching) -> tuple[tuple[str, ...], Flags]:
    """Names of all supports, and which of them carry in each frame, shape (F, S)."""
    names = tuple(dict.fromkeys(touch.supports))
    columns = [touch.carries[:, [i for i, s in enumerate(touch.supports) if s == name]].any(axis=1) for name in names]
    return names, np.stack(columns, axis=1) if columns else np.zeros((len(touch.carries), 0), dtype=np.bool_)


def steady_supports(touch: Touching, airborne: Flags, times: Array) -> Flags:
    """`supporting` without gaps and touches shorter than SHORTEST, which are noise, shape (F, S).

    A touch that alone carries a frame stays, however short. A gap is closed by the limb that carries on both sides, or
    by those that carried before it.
    """
    on = supporting(touch)[1] & ~airborne[:, None]
    frames = max(2, math.ceil(SHORTEST / float(np.median(np.diff(times))))) if len(times) > 1 else 2
    for s in range(on.shape[1]):
        for first, last in runs(~on[:, s]):
            if first > 0 and last + 1 < len(on) and last + 1 - first < frames:
                on[first : last + 1, s] = True
    nowhere: Flags = np.logical_not(on.any(axis=1))
    for first, last in runs(nowhere):
        if first > 0 and last + 1 < len(on) and last + 1 - first < frames:
            on[first : last + 1] = on[first - 1]
    for s in range(on.shape[1]):
        for first, last in runs(on[:, s]):
            if last + 1 - first < frames and (on[first : last + 1].sum(axis=1) > 1).all():
                on[first : last + 1, s] = False
    return on


def kind_per_frame(on: Flags, airborne: Flags) -> Index:
    """Index into KINDS for each frame, shape (F,), from what carries, shape (F, S)."""
    count = on.sum(axis=1)
    return np.where(count == 0, np.where(airborne, 0, 4), np.minimum(count, 3)).astype(np.int64)


def support_phases(
    names: tuple[str, ...], on: Flags, airborne: Flags, pressure: Support, times: Array
) -> tuple[SupportPhase, ...]:
    """All stretches in order; a new one begins where the set of supports changes.

    Args:
        names: Of the supports.
        on: Which of them carry in each frame, shape (F, S).
        airborne: True in flight, shape (F,).
        pressure: Zero-moment point and polygon.
        times: Of the frames [s], shape (F,).
    """
    kinds = kind_per_frame(on, airborne)
    state = np.column_stack([kinds, on])
    cuts = [0, *(np.flatnonzero((np.diff(state, axis=0) != 0).any(axis=1)) + 1).tolist(), len(times)]
    found: list[SupportPhase] = []
    for first, end in pairwise(cuts):
        error = pressure.error[first:end]
        error = error[np.isfinite(error)]
        some = len(error) > 0
        held = tuple(name for name, is_on in zip(names, on[first]) if is_on)
        found.append(
            SupportPhase(
                KINDS[int(kinds[first])], held, first, end - 1, float(times[first]), float(times[end - 1]),
                float(error.max()) if some else float("nan"),
                float((error <= 0.0).mean()) if some else float("nan"),
                float((error <= 1.0).mean()) if some else float("nan"),
            )
        )  # fmt: skip
    return tuple(found)
