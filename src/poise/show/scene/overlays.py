"""What is drawn over the figures: points, arrows, polygons, curves, words. All of it in the world frame.

Arrays over time have a first axis of T, the scene's frames, or of 1 for what never changes. NaN hides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array

Color = tuple[float, float, float]


@dataclass(frozen=True)
class Points:
    """Marks at places.

    Attributes:
        name: What they are.
        layer: Name of the layer they belong to.
        color: Red, green, blue in 0 … 1.
        positions: [m], shape (T, N, 3) or (1, N, 3); NaN where there is none.
        size: Diameter [m].
        mark: "ball", "ring" (lies on the ground) or "cross".
        names: Of each point, or none.
        view: Index of the view it is seen in.
    """

    name: str
    layer: str
    color: Color
    positions: Array
    size: float = 0.04
    mark: str = "ball"
    names: tuple[str, ...] = ()
    view: int = 0

    def __post_init__(self) -> None:
        _check(self.name, "positions", self.positions, 3)
        if self.mark not in ("ball", "ring", "cross"):
            raise InvalidValue(f"Points {self.name!r} have the mark {self.mark!r}; give 'ball', 'ring' or 'cross'.")


@dataclass(frozen=True)
class Vectors:
    """Arrows.

    Attributes:
        name: What they are.
        layer: Name of the layer they belong to.
        color: Red, green, blue in 0 … 1.
        points: Where they act [m], shape (T, N, 3) or (1, N, 3); NaN where there is none.
        vectors: What they stand for, in `unit`, same shape.
        unit: "N", "kg m/s", …
        scale: Drawn length of one unit [m].
        width: Of the shaft [m].
        is_push: The tip is at the point; else the arrow starts there.
        view: Index of the view it is seen in.
    """

    name: str
    layer: str
    color: Color
    points: Array
    vectors: Array
    unit: str
    scale: float
    width: float = 0.02
    is_push: bool = False
    view: int = 0

    def __post_init__(self) -> None:
        _check(self.name, "points", self.points, 3)
        _check(self.name, "vectors", self.vectors, 3)
        if self.points.shape != self.vectors.shape:
            raise InvalidValue(
                f"Vectors {self.name!r}: points {self.points.shape} and vectors {self.vectors.shape} differ in shape."
            )


@dataclass(frozen=True)
class Polygon:
    """A convex area on the ground.

    Attributes:
        name: What it is.
        layer: Name of the layer it belongs to.
        color: Red, green, blue in 0 … 1.
        vertices: In order [m], shape (T, K, 3) or (1, K, 3); one with fewer corners repeats its last; NaN where none.
        view: Index of the view it is seen in.
    """

    name: str
    layer: str
    color: Color
    vertices: Array
    view: int = 0

    def __post_init__(self) -> None:
        _check(self.name, "vertices", self.vertices, 3)


@dataclass(frozen=True)
class Curve:
    """A line through places.

    Attributes:
        name: What it is.
        layer: Name of the layer it belongs to.
        color: Red, green, blue in 0 … 1.
        vertices: [m], shape (N, 3).
        times: When each place is reached [s], shape (N,), or None.
        show: "always", "past" (up to now), or "trail" (the last `trail` seconds).
        trail: Length of a trail [s].
        span: First and last time it is drawn [s], or None for all.
        has_ticks: A small tick at each vertex.
        is_dashed: Dashes.
        view: Index of the view it is seen in.
    """

    name: str
    layer: str
    color: Color
    vertices: Array
    times: Array | None = None
    show: str = "always"
    trail: float = 1.5
    span: tuple[float, float] | None = None
    has_ticks: bool = False
    is_dashed: bool = False
    view: int = 0

    def __post_init__(self) -> None:
        if self.show not in ("always", "past", "trail"):
            raise InvalidValue(f"Curve {self.name!r} is shown {self.show!r}; give 'always', 'past' or 'trail'.")
        if np.ndim(self.vertices) != 2 or np.shape(self.vertices)[1] != 3 or not np.isfinite(self.vertices).all():
            raise InvalidValue(
                f"Curve {self.name!r} has vertices {np.shape(self.vertices)}; give finite places (N, 3)."
            )
        if (self.times is None) != (self.show == "always") and self.times is None:
            raise InvalidValue(f"Curve {self.name!r} is shown as {self.show!r}: it needs the times of its vertices.")
        if self.times is not None and np.shape(self.times) != (len(self.vertices),):
            raise InvalidValue(
                f"Curve {self.name!r} has {len(self.vertices)} vertices and times {np.shape(self.times)}."
            )


@dataclass(frozen=True)
class Label:
    """Words at a place.

    Attributes:
        text: The words.
        layer: Name of the layer they belong to.
        color: Red, green, blue in 0 … 1.
        position: [m], shape (3,).
        span: First and last time they are shown [s], or None for all.
        view: Index of the view they are seen in.
    """

    text: str
    layer: str
    color: Color
    position: Array
    span: tuple[float, float] | None = None
    view: int = 0


Overlay = Points | Vectors | Polygon | Curve | Label


GOALS = "goals"
"""Layer of the targets of point goals; its marks are in strips and films, too."""


@dataclass(frozen=True)
class Layer:
    """What can be shown and hidden at one click: a name, what it is called, and whether it is shown at first."""

    name: str
    label: str
    is_on: bool = True


@dataclass(frozen=True)
class Row:
    """A row under the timeline.

    Attributes:
        name: What it tells, such as "left foot".
        color: Red, green, blue in 0 … 1.
        spans: Start, end [s] and a word or nothing.
        marks: Time [s] and a word.
    """

    name: str
    color: Color
    spans: tuple[tuple[float, float, str], ...] = ()
    marks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Series:
    """One line of a plot: a value at each of the scene's times (T,), NaN where there is none."""

    name: str
    color: Color
    values: Array
    is_dashed: bool = False


@dataclass(frozen=True)
class Plot:
    """Values over time.

    Attributes:
        name: What is plotted.
        unit: Its unit.
        series: The lines.
        lines: Levels to compare with, and what they are.
    """

    name: str
    unit: str
    series: tuple[Series, ...]
    lines: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Control:
    """Something a live page can set.

    Attributes:
        name: What the simulation calls it.
        label: What the user reads.
        kind: "slider", "toggle", "choice", "button"; or "ground": places that a click on the ground, or a path drawn
            there, sets as text "1.5,2 1.5,3" [m]; keys then set the sliders "speed" and "turn".
        value: What it is now.
        unit: Unit of a slider.
        low, high, step: Range of a slider.
        choices: Of a choice.
        is_power: The slider's value is the power of ten of the factor that the page shows.
    """

    name: str
    label: str
    kind: str = "slider"
    value: float | bool | str = 0.0
    unit: str = ""
    low: float = 0.0
    high: float = 1.0
    step: float = 0.01
    choices: tuple[str, ...] = ()
    is_power: bool = False

    def __post_init__(self) -> None:
        kinds = ("slider", "toggle", "choice", "button", "ground")
        if self.kind not in kinds:
            raise InvalidValue(f"Control {self.name!r} is a {self.kind!r}; use {', '.join(kinds[:-1])} or {kinds[-1]}.")


@dataclass(frozen=True)
class Choice:
    """One of several results: where it lies in the chart of choices, and the layer that shows it.

    Attributes:
        layer: Name of its track.
        x, y: Its place in the chart, in the units of the axes.
        label: Its numbers in words.
    """

    layer: str
    x: float
    y: float
    label: str


@dataclass(frozen=True)
class Choices:
    """Several results of one computation; the page shows one at a time, and a click on a point of the chart another.

    Attributes:
        title: Of the chart.
        x_label, y_label: What the axes are, with units.
        points: In the order of the line through them.
        chosen: Number of the point that is marked, and shown at first.
    """

    title: str
    x_label: str
    y_label: str
    points: tuple[Choice, ...]
    chosen: int


def _check(name: str, what: str, array: Array, width: int) -> None:
    if array.ndim != 3 or array.shape[2] != width:
        raise InvalidValue(f"{name!r}: {what} have shape {array.shape}; give (T, N, {width}) or (1, N, {width}).")
