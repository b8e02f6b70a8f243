"""One clip in the time of another: so that the same feet come down together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from poise.analysis import Analysis
from poise.core.errors import InvalidValue
from poise.show.scene import Curve, Label, Overlay, Scene

Array = npt.NDArray[np.float64]
Landing = tuple[str, float]

FEWEST = 2
"""Landings in common below which clips are only laid on their first common one."""

FASTEST = 2.0
"""A stretch of a clip is run at most this many times faster, or slower, to be in step."""


def landings(analysis: Analysis) -> tuple[Landing, ...]:
    """When each foot comes down: its limb and the time [s], in order."""
    touch = analysis.touch
    feet = {s for s, is_foot in zip(touch.supports, touch.is_foot) if is_foot}
    found = [
        (name, float(analysis.times[k + 1]))
        for i, name in enumerate(analysis.support_names)
        if name in feet
        for k in np.flatnonzero(np.diff(analysis.supports[:, i].astype(np.int8)) > 0)
    ]
    return tuple(sorted(found, key=lambda landing: landing[1]))


def matched(theirs: Sequence[Landing], ours: Sequence[Landing]) -> tuple[Array, Array]:
    """Times of the same landings in two clips: the longest stretch in which the same feet follow each other.

    Of equally long ones that which begins earliest.

    Returns:
        Times in `theirs` and in `ours` [s], each (n,).
    """
    best: tuple[int, int, int] = (0, 0, 0)
    for i in range(len(theirs)):
        for j in range(len(ours)):
            n = 0
            while i + n < len(theirs) and j + n < len(ours) and theirs[i + n][0] == ours[j + n][0]:
                n += 1
            if n > best[0]:
                best = (n, i, j)
    n, i, j = best
    return np.array([t for _, t in theirs[i : i + n]]), np.array([t for _, t in ours[j : j + n]])


def in_step(scene: Scene, own: Analysis, leader: Analysis) -> Scene:
    """The scene of a clip in the time of another clip.

    Between landings both have in common time runs evenly; before the first and after the last at its own speed. With
    fewer than two in common, or where a stretch would run more than twice too fast, the clip is only shifted so that
    the first common landing falls together.
    """
    theirs, ours = matched(landings(leader), landings(own))
    if len(ours) == 0:
        return scene
    gaps = np.diff(theirs) / np.maximum(np.diff(ours), 1e-9)
    if len(ours) < FEWEST or (gaps > FASTEST).any() or (gaps < 1.0 / FASTEST).any():
        theirs, ours, gaps = theirs[:1], ours[:1], np.ones(1)
    note = f"in step by {len(ours)} landing(s), at {1.0 / gaps.max():.2f} to {1.0 / gaps.min():.2f} of its own speed"
    return replace(retimed(scene, ours, theirs), notes=(*scene.notes, note))


def retimed(scene: Scene, own: Array, new: Array) -> Scene:
    """The scene with its times moved from `own` to `new` [s] (n,): evenly between, at the same speed outside.

    Frames before time 0 are left out.

    Raises:
        InvalidValue: if nothing of it comes after time 0.
    """

    def moved(times: Array) -> Array:
        inside = np.interp(times, own, new)
        return inside + np.minimum(times - own[0], 0.0) + np.maximum(times - own[-1], 0.0)

    times = moved(scene.times)
    if times[-1] < 0.0:
        raise InvalidValue("The clip would end before the other begins; show them without --side-by-side.")
    rows = tuple(
        replace(
            r,
            spans=tuple((float(moved(np.array(a))), float(moved(np.array(b))), w) for a, b, w in r.spans),
            marks=tuple((float(moved(np.array(t))), w) for t, w in r.marks),
        )
        for r in scene.timeline
    )

    def over(overlay: Overlay) -> Overlay:
        if isinstance(overlay, Label | Curve) and overlay.span is not None:
            first, last = moved(np.array(overlay.span)).tolist()
            overlay = replace(overlay, span=(first, last))
        if isinstance(overlay, Curve) and overlay.times is not None:
            overlay = replace(overlay, times=moved(overlay.times))
        return overlay

    return replace(scene, times=times, timeline=rows, overlays=tuple(over(o) for o in scene.overlays))
