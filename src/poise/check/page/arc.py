"""The path of the center of mass in flight against the parabola it should follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.check.page.svg import dots, line, picture, round_step, text
from poise.core.units import GRAVITY

Array = npt.NDArray[np.float64]
Box = tuple[float, float, float, float]
"""Left, right, low, high."""

WIDTH, HEIGHT = 300.0, 190.0
LEFT, RIGHT, TOP, BOTTOM = 40.0, 12.0, 24.0, 34.0
TRAVELS = 0.3
"""Height is drawn over the ground covered if that is this share of the height's range, else over time [1]."""
MARGIN = 4
"""Frames shown before and after the flight."""


@dataclass(frozen=True)
class Arc:
    """One flight to draw.

    Attributes:
        first, last: Its frames.
        gravity: What it falls with [g].
        ground: Distance along the ground track from take-off, over all shown frames [m], shape (n,).
        time: From take-off [s], shape (n,).
        height: Of the center of mass above the floor [m], shape (n,).
        fitted: Height of the fitted parabola [m], NaN outside the flight, shape (n,).
        is_bad: True if a finding names it.
    """

    first: int
    last: int
    gravity: float
    ground: Array
    time: Array
    height: Array
    fitted: Array
    is_bad: bool


def arc_of(
    times: Array, com: Array, floor: float, first: int, last: int, gravity: float, fitted: Array, is_bad: bool
) -> Arc:
    """The data of one flight's picture.

    Args:
        times: Of the clip [s], shape (F,).
        com: Center of mass [m], shape (F, 3).
        floor: Height of the floor [m].
        first, last: Frames of the flight.
        gravity: [g].
        fitted: Height of the fitted parabola at frames first … last [m].
        is_bad: True if a finding names it.
    """
    a, b = max(0, first - MARGIN), min(len(times), last + MARGIN + 1)
    across = com[last, :2] - com[first, :2]
    length = float(np.linalg.norm(across))
    direction = across / length if length > 1e-9 else np.array([1.0, 0.0])
    full = np.full(b - a, np.nan)
    full[first - a : last - a + 1] = fitted - floor
    return Arc(
        first, last, gravity, (com[a:b, :2] - com[first, :2]) @ direction, times[a:b] - times[first],
        com[a:b, 2] - floor, full, is_bad,
    )  # fmt: skip


def arc(data: Arc) -> str:
    """Dots: the center of mass; line: its parabola; dashes: the parabola of 1 g between the same ends and times."""
    inside = np.isfinite(data.fitted)
    time, ends = data.time[inside], data.fitted[inside][[0, -1]]
    chord = np.interp(time, time[[0, -1]], ends)
    right = np.full_like(data.fitted, np.nan)
    right[inside] = chord + 0.5 * GRAVITY * time * (time[-1] - time)
    rise = float(np.ptp(np.concatenate([data.height, right[inside]])))
    over_ground = float(np.ptp(data.ground)) > TRAVELS * rise
    x = data.ground if over_ground else data.time
    even = x.copy()  # a free body covers equal ground in equal times, whatever the clip does
    even[inside] = np.interp(time, time[[0, -1]], x[inside][[0, -1]])
    y = np.concatenate([data.height, data.fitted[inside], right[inside]])
    box = _box(x, y, is_square=over_ground)
    name = f"frames {data.first}–{data.last}: {data.gravity:.2f} g"
    parts = [text(LEFT, 15, name, "title bad" if data.is_bad else "title")]
    parts += _axes(box, "m along the ground" if over_ground else "s")
    place = _placer(box)
    parts.append(line(place(even, right), "right-path"))
    parts.append(line(place(even, data.fitted), "fit-path"))
    parts.append(dots(place(x[~inside], data.height[~inside]), "com-out"))
    parts.append(dots(place(x[inside], data.height[inside]), "com-in"))
    return picture(WIDTH, HEIGHT, parts, f"Path of the center of mass, {name}")


def _box(x: Array, y: Array, *, is_square: bool) -> Box:
    """Ranges of x and y with a little room; equal scales where both are lengths and neither is too thin."""
    left, right, low, high = float(x.min()), float(x.max()), float(np.nanmin(y)), float(np.nanmax(y))
    if is_square:
        wide, tall = max(right - left, 1e-6), max(high - low, 1e-6)
        aspect = (WIDTH - LEFT - RIGHT) / (HEIGHT - TOP - BOTTOM)
        if 0.25 < wide / tall / aspect < 4.0:
            more = max(tall * aspect - wide, 0.0) / 2.0
            left, right = left - more, right + more
            more = max(wide / aspect - tall, 0.0) / 2.0
            low, high = low - more, high + more
    pad_x, pad_y = 0.04 * (right - left) + 1e-6, 0.06 * (high - low) + 1e-6
    return left - pad_x, right + pad_x, low - pad_y, high + pad_y


def _placer(box: Box) -> Callable[[Array, Array], Array]:
    left, right, low, high = box

    def place(x: Array, y: Array) -> Array:
        return np.stack(
            [
                LEFT + (WIDTH - LEFT - RIGHT) * (x - left) / (right - left),
                HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - low) / (high - low),
            ],
            axis=-1,
        )

    return place


def _axes(box: Box, unit: str) -> list[str]:
    left, right, low, high = box
    place, parts = _placer(box), []
    step = round_step(high - low, 4)
    for value in np.arange(np.ceil(low / step) * step, high, step):
        y = float(place(np.array(left), np.array(value))[1])
        parts.append(line(np.array([[LEFT, y], [WIDTH - RIGHT, y]]), "grid"))
        parts.append(text(LEFT - 5, y + 4, f"{value:.3g}", "soft", "end"))
    step = round_step(right - left, 5)
    for value in np.round(np.arange(np.ceil(left / step) * step, right, step), 9):
        x = float(place(np.array(value), np.array(low))[0])
        parts.append(text(x, HEIGHT - BOTTOM + 14, f"{value + 0.0:.3g}".replace("-", "−"), "soft", "middle"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, unit, "soft", "middle"))
    return parts
