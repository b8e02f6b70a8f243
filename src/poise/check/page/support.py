"""Where the weight is: center of pressure, center of mass and support, seen from above."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poise.check.page.svg import dots, line, picture, round_step, text

Array = npt.NDArray[np.float64]

WIDTH, HEIGHT, MARGIN = 640.0, 300.0, 16.0
FAR = 0.15
"""How far beyond support and path a center of pressure is still drawn, as a part of the map [1]."""
MOST, APART = 50, 0.03
"""Support areas drawn at most, and how far their middles are apart at least [m]."""


def support(com: Array, cop: Array, distance: Array, areas: Sequence[Array]) -> str:
    """A map: areas of support, the center of pressure over them, the center of mass's track.

    Args:
        com: Center of mass of every frame [m], shape (F, 3).
        cop: Center of pressure [m], NaN where nothing carries load, shape (F, 2 or 3).
        distance: Signed distance from the support over its radius, positive outside, shape (F,).
        areas: Corners of the support area of each frame [m], shape (k, 2 or 3); k < 3 where there is none.
    """
    loaded = np.isfinite(cop).all(axis=1)
    shown = _few([a[:, :2] for a in areas if len(a) >= 3])
    ground = [com[:, :2], *shown]
    low = np.min([p.min(axis=0) for p in ground], axis=0)
    high = np.max([p.max(axis=0) for p in ground], axis=0)
    # far outliers would shrink all the rest: they are left out
    beyond = FAR * float((high - low).max())
    flat = np.where(np.isfinite(cop[:, :2]), cop[:, :2], np.inf)
    seen = loaded & (flat > low - beyond).all(axis=1) & (flat < high + beyond).all(axis=1)
    if seen.any():
        low, high = np.minimum(low, cop[seen, :2].min(axis=0)), np.maximum(high, cop[seen, :2].max(axis=0))
    upright = (high - low)[1] > (high - low)[0]
    if upright:  # the longer way lies across the page: turned by a quarter
        com, cop, shown = _turned(com), _turned(cop), [_turned(a) for a in shown]
        low, high = np.array([low[1], -high[0]]), np.array([high[1], -low[0]])
    span = np.maximum(high - low, 0.3)
    scale = min((WIDTH - 2 * MARGIN) / span[0], (HEIGHT - 2 * MARGIN) / span[1])
    width, height = span[0] * scale + 2 * MARGIN, span[1] * scale + 2 * MARGIN + 18

    def place(points: Array) -> Array:
        flat = (points[:, :2] - low) * scale
        return np.stack([MARGIN + flat[:, 0], height - 18 - MARGIN - flat[:, 1]], axis=1)

    parts = [line(place(a), "support", closed=True) for a in shown]
    parts.append(line(place(com), "com-track"))
    for chosen, look in (
        (distance <= 0.0, "cop-in"),
        ((distance > 0.0) & (distance <= 1.0), "cop-near"),
        (distance > 1.0, "cop-out"),
    ):
        parts.append(dots(place(cop[seen & chosen]), look, 1.6))
    step = round_step(span[0], 4)
    parts.append(line(np.array([[MARGIN, height - 8], [MARGIN + step * scale, height - 8]]), "ruler"))
    parts.append(text(MARGIN + step * scale + 6, height - 4, f"{step:g} m"))
    return picture(max(width, 160.0), height, parts, "Center of pressure and support, seen from above")


def _turned(points: Array) -> Array:
    return np.stack([points[:, 1], -points[:, 0]], axis=1)


def _few(areas: list[Array]) -> list[Array]:
    """Areas that differ by more than APART from the last one kept, evenly thinned to MOST."""
    keep: list[Array] = []
    for area in areas:
        if not keep or np.linalg.norm(area.mean(axis=0) - keep[-1].mean(axis=0)) > APART:
            keep.append(area)
    index = np.unique(np.linspace(0, len(keep) - 1, min(MOST, len(keep))).astype(int)) if keep else []
    return [keep[int(k)] for k in index]
