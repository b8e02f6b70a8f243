"""What the analysis of a clip finds, as things to see: forces, support, center of mass, momenta, flights, plots."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.analysis import Analysis, FlightFit
from poise.core.typing import Array, Index
from poise.core.units import GRAVITY
from poise.phases.points import runs
from poise.show.look import force_scale
from poise.show.scene import (
    GOALS,
    Color,
    Curve,
    Label,
    Layer,
    Overlay,
    Plot,
    Points,
    Polygon,
    Row,
    Scene,
    Series,
    Vectors,
)

FORCE_COLOR: Color = (0.13, 0.55, 0.33)
SUPPORT_COLOR: Color = (0.25, 0.65, 0.45)
COM_COLOR: Color = (0.48, 0.25, 0.72)
COP_COLOR: Color = (0.05, 0.60, 0.75)
ZMP_COLOR: Color = (0.85, 0.35, 0.10)
LINEAR_COLOR: Color = (0.20, 0.35, 0.80)
ANGULAR_COLOR: Color = (0.80, 0.30, 0.55)
ACTUAL_COLOR: Color = (0.90, 0.45, 0.10)
BALLISTIC_COLOR: Color = (0.10, 0.45, 0.85)
AXIS_COLORS: tuple[Color, ...] = ((0.85, 0.25, 0.25), (0.25, 0.65, 0.30), (0.25, 0.40, 0.85))
SIDE_COLORS: dict[str, Color] = {"left": (0.95, 0.70, 0.35), "right": (0.60, 0.38, 0.12)}
ROW_COLOR: Color = (0.50, 0.55, 0.60)

LAYERS = (
    Layer("com", "Center of mass"),
    Layer("support", "Support polygon"),
    Layer("forces", "Contact forces"),
    Layer("cop", "Center of pressure"),
    Layer("zmp", "Zero-moment point", False),
    Layer("momentum", "Momentum", False),
    Layer("flights", "Flights"),
    Layer("pushes", "Pushes"),
    Layer(GOALS, "Goals"),
)
"""What can be shown and hidden, and what is shown at first."""

LEAST_FORCE = 0.01
"""A contact force below this part of the weight is not drawn."""

TRAIL = 1.5
"""Length of the center of mass's trail [s]."""

AROUND = 0.6
"""A flight's paths are seen this long before and after it [s]."""

MOST_RADII = 5.0
"""A zero-moment point farther out than this is not plotted: a few such spikes would hide all the rest."""

LEAST_GRAVITY = 0.05
"""Below this part of gravity a flight has no ballistic path of its own height."""


@dataclass(frozen=True)
class Physics:
    """What is drawn of one clip's analysis."""

    overlays: tuple[Overlay, ...]
    timeline: tuple[Row, ...]
    plots: tuple[Plot, ...]


def with_physics(scene: Scene, analysis: Analysis, *, name: str = "") -> Scene:
    """The scene with what an analysis of one of its figures finds; `name` goes before the lines of plots."""
    found = physics(analysis, scene.times)
    curves, rows = found.plots, found.timeline
    if name:
        curves = tuple(
            replace(p, series=tuple(replace(s, name=f"{name} {s.name}") for s in p.series)) for p in found.plots
        )
        rows = tuple(replace(r, name=f"{name} {r.name}") for r in rows)
    known = {layer.name for layer in scene.layers}
    return replace(
        scene,
        overlays=scene.overlays + found.overlays,
        timeline=scene.timeline + rows,
        plots=scene.plots + curves,
        layers=scene.layers + tuple(layer for layer in LAYERS if layer.name not in known),
    )


def physics(analysis: Analysis, times: Array) -> Physics:
    """Overlays, rows and plots of an analysis, at the times of a scene [s] (T,): each takes the nearest frame."""
    nearest = np.interp(times, analysis.times, np.arange(len(analysis.times), dtype=np.float64))
    at = np.clip(np.round(nearest).astype(np.int64), 0, len(analysis.times) - 1)
    overlays: list[Overlay] = [
        *_center_of_mass(analysis, at, times),
        *_support(analysis, at),
        _forces(analysis, at),
        *_momenta(analysis, at),
    ]
    flights = analysis.flights
    between = [0.5 * (one.end_s + other.start_s) for one, other in itertools.pairwise(flights)]
    for flight, since, until in zip(flights, [-np.inf, *between], [*between, np.inf]):
        overlays += _flight(analysis, flight, since, until)
    return Physics(tuple(overlays), tuple(_rows(analysis)), tuple(plots(analysis, at)))


def _ground(analysis: Analysis, points: Array, times: Array) -> Array:
    """Points (T, 3) put on the ground under them."""
    on = points.copy()
    if analysis.terrain.is_static:
        on[:, 2] = analysis.terrain.heights(points[:, :2])
    else:
        on[:, 2] = [analysis.terrain.heights(p[None, :2], float(t))[0] for p, t in zip(points, times)]
    return on


def _center_of_mass(analysis: Analysis, at: Index, times: Array) -> list[Overlay]:
    com = analysis.com[at]
    below, size = _ground(analysis, com, times), analysis.character.leg_scale
    return [
        Points("center of mass", "com", COM_COLOR, com[:, None], 0.07 * size),
        Points("its projection", "com", COM_COLOR, below[:, None], 0.10 * size, "ring"),
        Curve("its trail", "com", COM_COLOR, com, times, "trail", TRAIL),
        Curve("its trail on the ground", "com", (0.62, 0.52, 0.74), below, times, "trail", TRAIL),
    ]


def _support(analysis: Analysis, at: Index) -> list[Overlay]:
    s, size = analysis.support, analysis.character.leg_scale
    corners = max(3, int(s.corners.max(initial=0)))
    places = np.minimum(np.arange(corners), np.maximum(s.corners[:, None] - 1, 0))
    vertices = np.take_along_axis(s.polygon, np.minimum(places, s.polygon.shape[1] - 1)[:, :, None], axis=1)
    vertices = np.where((s.corners >= 3)[:, None, None], vertices, np.nan)
    return [
        Polygon("support polygon", "support", SUPPORT_COLOR, vertices[at]),
        Points("center of pressure", "cop", COP_COLOR, s.cop[at][:, None], 0.06 * size),
        Points("zero-moment point", "zmp", ZMP_COLOR, s.zmp[at][:, None], 0.06 * size, "cross"),
    ]


def _forces(analysis: Analysis, at: Index) -> Overlay:
    """One arrow a limb, at the middle of its pressure: an arrow a point would hide the foot."""
    force, touch = analysis.forces.contact, analysis.touch
    names = tuple(dict.fromkeys(touch.supports))
    points, vectors = np.full((len(at), len(names), 3), np.nan), np.full((len(at), len(names), 3), np.nan)
    least = LEAST_FORCE * analysis.mass * GRAVITY
    for k, name in enumerate(names):
        own = [i for i, s in enumerate(touch.supports) if s == name]
        size = np.linalg.norm(force[:, own], axis=2)
        total = size.sum(axis=1)
        is_on = total > least
        share = np.where(is_on[:, None], size / np.maximum(total, 1e-9)[:, None], 0.0)
        middle = np.einsum("fp,fpi->fi", share, touch.points[:, own])
        whole = force[:, own].sum(axis=1)
        points[:, k] = np.where(is_on[:, None], middle, np.nan)[at]
        vectors[:, k] = np.where(is_on[:, None], whole, np.nan)[at]
    used = np.flatnonzero(np.isfinite(points).any(axis=(0, 2))) if len(names) > 1 else np.arange(len(names))
    scale = force_scale(analysis.character.leg_length, analysis.mass) * 0.5
    width = 0.03 * analysis.character.leg_scale
    return Vectors("contact force", "forces", FORCE_COLOR, points[:, used], vectors[:, used], "N", scale, width)


def _momenta(analysis: Analysis, at: Index) -> list[Overlay]:
    leg, m = analysis.character.leg_length, analysis.momentum
    natural = analysis.mass * np.sqrt(GRAVITY * leg)
    points, width = m.com[at][:, None], 0.025 * analysis.character.leg_scale
    linear = Vectors(
        "linear momentum", "momentum", LINEAR_COLOR, points, m.linear[at][:, None], "kg m/s", leg / natural, width
    )
    angular = Vectors(
        "angular momentum", "momentum", ANGULAR_COLOR, points, m.angular[at][:, None], "kg m²/s", 5.0 / natural, width
    )
    return [linear, angular]


def _flight(analysis: Analysis, flight: FlightFit, since: float, until: float) -> list[Overlay]:
    """The path taken and, beside it, the same path under the analysis' gravity: a tick a frame.

    The fitted parabola start + v t − ½ γ t² ẑ, run through sqrt(g / γ) times as fast, falls with g: the ballistic path
    of the same places and height. The label tells how many frames it takes; it is seen from `since` to `until` at most,
    so that the words of two flights never lie on each other.
    """
    times, dt = analysis.times[flight.first : flight.last + 1], analysis.motion.dt
    path = analysis.com[flight.first : flight.last + 1]
    span = (flight.start_s - AROUND, flight.end_s + AROUND)
    said = (max(span[0], since), min(span[1], until))
    across = np.array([-flight.velocity[1], flight.velocity[0], 0.0])
    speed = float(np.linalg.norm(across))
    across = across / speed if speed > 0.1 else np.array([0.0, 1.0, 0.0])
    beside = 0.12 * analysis.character.leg_scale * across
    actual = Curve("path in the air", "flights", ACTUAL_COLOR, path, times, span=span, has_ticks=True)
    end = path[-1]
    frames = flight.last - flight.first
    if min(flight.gravity, analysis.gravity) < LEAST_GRAVITY * GRAVITY:
        label = f"{frames} frames · {flight.gravity_g:.2f} g".replace("-", "−")
        return [actual, Label(label, "flights", ACTUAL_COLOR, end, said)]
    faster = float(np.sqrt(analysis.gravity / flight.gravity))
    length = (flight.end_s - flight.start_s) / faster
    moments = np.append(np.arange(0.0, length - 1e-9, dt), length) * faster
    fitted = flight.start + moments[:, None] * flight.velocity
    fitted[:, 2] -= 0.5 * flight.gravity * moments**2
    ballistic = Curve(
        "ballistic path",
        "flights",
        BALLISTIC_COLOR,
        fitted + beside,
        flight.start_s + moments / faster,
        span=span,
        has_ticks=True,
        is_dashed=True,
    )
    off = frames - length / dt
    longer = f"{-off:+.0f}" if round(off) else "±0"
    label = f"{frames} frames, ballistic {length / dt:.0f} ({longer}) · {flight.gravity_g:.2f} g".replace("-", "−")
    return [actual, ballistic, Label(label, "flights", BALLISTIC_COLOR, end, said)]


def _rows(analysis: Analysis) -> list[Row]:
    """Who touches when, when it flies, and where the capture has faults."""
    times = analysis.times
    rows: list[Row] = []
    for k, name in enumerate(analysis.support_names):
        spans = spans_of(analysis.supports[:, k], times)
        if spans:
            rows.append(Row(name.replace("_", " "), side_color(name), spans))
    flights = tuple((f.start_s, f.end_s, f"{f.gravity_g:.2f} g") for f in analysis.flights)
    if flights:
        rows.append(Row("flight", BALLISTIC_COLOR, flights))
    if analysis.glitches:
        marks = tuple(
            (float(times[g.frame]), f"{g.kind} of {analysis.motion.skeleton.names[g.joint]}")
            for g in analysis.glitches[:200]
        )
        rows.append(Row("glitches", (0.8, 0.2, 0.2), (), marks))
    return rows


def side_color(limb: str) -> Color:
    """The color of a limb's row in the timeline: that of its side, as its name says it."""
    return next((color for side, color in SIDE_COLORS.items() if limb.startswith(side)), ROW_COLOR)


def spans_of(flags: npt.NDArray[np.bool_], times: Array) -> tuple[tuple[float, float, str], ...]:
    """First and last time of each run of flags [s], without a word."""
    return tuple((float(times[a]), float(times[b]), "") for a, b in runs(flags))


def plots(analysis: Analysis, at: Index) -> list[Plot]:
    """The curves of an analysis at its frames `at`."""
    m = analysis.momentum

    def axes(values: Array) -> tuple[Series, ...]:
        return tuple(Series(a, c, values[at, k]) for k, (a, c) in enumerate(zip("xyz", AXIS_COLORS)))

    height, outside = analysis.com[at, 2] - analysis.floor, analysis.support.error[at]
    speed = np.linalg.norm(m.linear[at], axis=1) / analysis.mass
    weights = analysis.forces.contact[at, :, 2].sum(axis=1) / (analysis.mass * GRAVITY)
    return [
        Plot("Height of the center of mass", "m", (Series("height", COM_COLOR, height),)),
        Plot("Speed of the center of mass", "m/s", (Series("speed", LINEAR_COLOR, speed),)),
        Plot("Weight on the ground", "body weights", (Series("weight", FORCE_COLOR, weights),), ((1.0, "at rest"),)),
        Plot("Momentum", "kg m/s", axes(m.linear)),
        Plot("Angular momentum", "kg m²/s", axes(m.angular)),
        Plot(
            "Zero-moment point outside the support",
            "radii",
            (Series("distance", ZMP_COLOR, np.where(np.abs(outside) <= MOST_RADII, outside, np.nan)),),
            ((0.0, "edge"), (1.0, "one radius")),
        ),
    ]
