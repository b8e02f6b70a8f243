"""Shapes of ground: in their own frame x is forward from the start, y left, z up, and height 0 the clip's floor.

One of them moves: a flat platform such as a deck, a lift or a shaking table.
"""

from __future__ import annotations

import abc
import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.core.errors import FileFormatError, InvalidValue
from poise.core.rotations import eased
from poise.core.typing import Array

UP: Array = np.array([0.0, 0.0, 1.0])
NO_TABLE: Array = np.zeros((0, 0))
PLANE, STEPS, GRID = 0, 1, 2
"""Kinds of ground in compiled code."""
MIDDLE, AXES, HALF, VELOCITY, SPIN = slice(0, 3), slice(3, 12), slice(12, 15), slice(15, 18), slice(18, 21)
"""Numbers of a box on the ground, all in the world: middle [m], axes as columns, half sides [m], velocity of the middle
[m/s] and angular velocity [rad/s]. Compiled code has the same order, as box[MIDDLE], …"""
BOX_SIZE = 21
NO_BOXES: Array = np.zeros((0, BOX_SIZE))
Form = tuple[int, Sequence[float], Array]
"""Kind, numbers and table of a ground that lies at its place, for `ground.surface`."""


@dataclass(frozen=True)
class Place:
    """Where a shape lies in the world.

    Attributes:
        origin: Its start [m].
        heading: Its forward direction, counterclockwise from world +x [rad].
        ground: World height of its height 0 [m].
    """

    origin: tuple[float, float]
    heading: float
    ground: float

    @cached_property
    def forward(self) -> Array:
        """Horizontal unit vector, shape (2,)."""
        return np.array([math.cos(self.heading), math.sin(self.heading)])

    @cached_property
    def start(self) -> float:
        """How far the origin lies along `forward` [m]."""
        return float(np.array(self.origin) @ self.forward)

    @cached_property
    def frame(self) -> Array:
        """Origin x, y [m], cosine and sine of the heading, ground [m], shape (5,)."""
        return np.array([*self.origin, *self.forward, self.ground])

    @cached_property
    def _axes(self) -> Array:
        """Rows: the shape's axes in the world, shape (3, 3)."""
        c, s = self.forward
        return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])

    def to_world(self, vectors: Array) -> Array:
        """Vectors of the shape's frame (..., 3) in world axes."""
        return vectors @ self._axes


class Shape(abc.ABC):
    """A ground. The defaults say: not flat, still, without treads, level."""

    is_flat: bool = False
    is_static: bool = True
    treads: bool = False
    normal: Array = UP
    """Unit normal in the shape's frame, where `at` gives none."""
    boxes: Array = NO_BOXES
    """Boxes on it whose tops are ground too, shape (K, 21); see `MIDDLE`."""
    highest: float = math.inf
    """Height of the highest of these tops that count [m]."""
    beneath: float = math.inf
    """A point so far below such a top is beneath its box [m]."""

    @abc.abstractmethod
    def at(self, points: Array, place: Place, time: float) -> tuple[Array, Array | None, Array | None]:
        """The ground under points, in the world frame.

        Args:
            points: Horizontal places [m], shape (n, 2).
            place: Where the shape lies.
            time: [s].

        Returns:
            Height [m] (n,); unit normal (n, 3), or None where it is `normal` everywhere; velocity of the ground
            itself [m/s] (n, 3), or None where it stands still.
        """

    @abc.abstractmethod
    def form(self, place: Place, time: float) -> Form:
        """The same for the compiled core; see `ground.PlacedGround`."""

    @abc.abstractmethod
    def scaled(self, size: float) -> Shape:
        """The same ground with all lengths multiplied by `size` [1]; a moving one keeps its times."""


@dataclass(frozen=True)
class Plane(Shape):
    """A plane through the start that rises forward.

    Attributes:
        rise: Height gained per meter forward [1].
    """

    rise: float

    @property
    def is_flat(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.rise == 0.0

    @property
    def normal(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        return np.array([-self.rise, 0.0, 1.0]) / math.hypot(1.0, self.rise)

    def at(self, points: Array, place: Place, time: float) -> tuple[Array, Array | None, Array | None]:
        return points @ (place.forward * self.rise) + (place.ground - place.start * self.rise), None, None

    def form(self, place: Place, time: float) -> Form:
        """Numbers: how it rises along x and y, its height at the world's origin [m]."""
        x, y = (place.forward * self.rise).tolist()
        return PLANE, (x, y, place.ground - place.start * self.rise), NO_TABLE

    def scaled(self, size: float) -> Plane:
        return self


@dataclass(frozen=True)
class Steps(Shape):
    """Level treads with vertical risers across the way; the normal is vertical everywhere.

    Attributes:
        rise: Height of each riser [m]; negative goes down.
        tread: Depth of each tread [m], infinite for a single step.
        first: Distance from the start to the first riser [m].
    """

    rise: float
    tread: float
    first: float
    treads = True

    def at(self, points: Array, place: Place, time: float) -> tuple[Array, Array | None, Array | None]:
        return self.number(points, place) * self.rise + place.ground, None, None

    def form(self, place: Place, time: float) -> Form:
        """Numbers: forward direction x, y, place of the first riser along it, tread, rise, height before it [m]."""
        x, y = place.forward.tolist()
        return STEPS, (x, y, place.start + self.first, self.tread, self.rise, place.ground), NO_TABLE

    def scaled(self, size: float) -> Steps:
        return Steps(self.rise * size, self.tread * size, self.first * size)

    def number(self, points: Array, place: Place) -> Array:
        """Number of risers behind each point (n,); a point on an edge stands on the upper tread."""
        beyond = points @ place.forward - (place.start + self.first)
        if math.isinf(self.tread):
            return (beyond >= 0.0).astype(np.float64)
        return np.maximum(np.floor(beyond / self.tread) + 1.0, 0.0)

    def edges(self, points: Array, place: Place) -> tuple[Array, Array]:
        """Distance back to the riser behind and ahead to the next one [m], each (n,); infinite where there is none."""
        forward = points @ place.forward - place.start
        number = self.number(points, place)
        width = self.tread if not math.isinf(self.tread) else 0.0
        last = self.first + (number - 1.0) * width
        behind = np.where(number > 0.0, forward - last, np.inf)
        ahead = np.where(number > 0.0, last + self.tread - forward, self.first - forward)
        return behind, ahead


class Heightfield(Shape):
    """Heights on a square grid, joined by a smooth surface.

    The surface is the uniform biquadratic B-spline with the grid's heights as control values: once continuously
    differentiable, and never above or below the heights around it. It rounds off what is finer than the spacing
    and does not run through the grid's heights.

    Attributes:
        heights: Control values [m], shape (rows, columns): rows along y, columns along x.
        spacing: Distance between neighbors [m].
        corner: Place of heights[0, 0] in the shape's frame [m], shape (2,).
        periodic: True if the grid repeats in both directions; else its edge goes on outwards.
    """

    def __init__(self, heights: Array, spacing: float, corner: Array, *, periodic: bool) -> None:
        self.heights, self.spacing, self.corner, self.periodic = heights, spacing, corner, periodic
        # one ring of neighbors, so that a 3 x 3 neighborhood never leaves the table
        self._table = np.ascontiguousarray(np.pad(heights, 1, mode="wrap" if periodic else "edge"), dtype=np.float64)
        self._grid = np.array([1.0 / spacing, corner[0], corner[1], float(periodic)])

    def at(self, points: Array, place: Place, time: float) -> tuple[Array, Array | None, Array | None]:
        from poise.terrain.ground import PlacedGround, sample

        ground, height, normal = PlacedGround(self, place).block, np.empty(len(points)), np.empty((len(points), 3))
        sample(ground, np.asarray(points, dtype=np.float64), height, normal)
        return height, normal, None

    def form(self, place: Place, time: float) -> Form:
        """Numbers: control heights per meter, place of the first one x, y [m], 1 if it repeats; `Place.frame`."""
        return GRID, (*self._grid, *place.frame.tolist()), self._table

    def scaled(self, size: float) -> Heightfield:
        return Heightfield(self.heights * size, self.spacing * size, self.corner * size, periodic=self.periodic)


SIZE = 20.0
"""Side of the square after which the bumps repeat [m]."""
SPACING = 0.1
"""Distance between control heights [m]."""
WAVELENGTH = 1.0
"""Dominant wavelength of the bumps [m]."""
FLAT_RADIUS, FADE = 0.5, 1.0
"""Radius around the start that is flat, and the width over which the bumps fade in [m]."""
SPREAD = 4.0
"""Peak to peak height over standard deviation."""


def rough(height: float, seed: int, max_slope: float | None) -> Heightfield:
    """Bumps of one dominant wavelength over 20 x 20 m, repeated beyond; flat around the start.

    A periodic field of random phases, its wave numbers in a ring around 1 / WAVELENGTH, is squashed by tanh until
    its peak to peak height is SPREAD standard deviations, so that no single bump rules the scale. The random bits
    are PCG64's own, which NumPy promises never to change.

    Args:
        height: Peak to peak height over the square [m].
        seed: Not negative.
        max_slope: Steepest slope anywhere [deg], or None for no limit. Where it bites, peaks and hollows become
            cones; a height that cannot be had under the limit comes out lower.
    """
    unit = _squashed(_waves(seed))
    x = (np.arange(len(unit)) - len(unit) // 2) * SPACING
    radius = np.hypot(*np.meshgrid(x, x))
    blend = np.clip((radius - FLAT_RADIUS - 2.2 * SPACING) / FADE, 0.0, 1.0)
    unit *= eased(blend)
    corner = np.array([x[0], x[0]])
    if height == 0.0:
        return Heightfield(unit * 0.0, SPACING, corner, periodic=True)
    field = _measured(unit * height, corner)
    scaled = unit * (height * height / field[0])
    if max_slope is None:
        return Heightfield(scaled, SPACING, corner, periodic=True)
    limit = math.tan(math.radians(max_slope))
    gain, before = 1.0, 0.0
    heights = scaled
    for _ in range(5):
        heights = _limited(scaled * gain, limit)
        reached = _measured(heights, corner)[0]
        if reached > 0.999 * height or reached < 1.01 * before:
            break
        gain, before = gain * min(height / reached, 1.5), reached
    reached, steepest = _measured(heights, corner)
    return Heightfield(heights * min(height / reached, limit / max(steepest, 1e-12)), SPACING, corner, periodic=True)


def _waves(seed: int) -> Array:
    """Periodic field of random phases whose wave numbers lie in a ring around 1 / WAVELENGTH."""
    count = round(SIZE / SPACING)
    wave = np.fft.fftfreq(count, SPACING)
    number = np.hypot(*np.meshgrid(wave, wave))
    ring = np.exp(-0.5 * ((number * WAVELENGTH - 1.0) / 0.2) ** 2)
    ring[number * WAVELENGTH > 1.8] = 0.0
    bits = np.random.PCG64(seed).random_raw(count * count)
    phase = 2.0 * np.pi * (np.asarray(bits >> np.uint64(11), dtype=np.float64) * 2.0**-53).reshape(count, count)
    field = np.real(np.fft.ifft2(ring * np.exp(1j * phase)))
    return np.asarray(field / field.std())


def _squashed(field: Array) -> Array:
    """The field through tanh(field / c), with c such that peak to peak is SPREAD standard deviations, scaled to 1."""
    low, high = 0.1, 20.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        trial = np.tanh(field / middle)
        low, high = (middle, high) if np.ptp(trial) / trial.std() < SPREAD else (low, middle)
    trial = np.tanh(field / low)
    return np.asarray(trial / np.ptp(trial))


def _limited(heights: Array, limit: float) -> Array:
    """Mean of the highest surface below and the lowest above that are nowhere steeper than `limit` [1]."""
    return 0.5 * (_below(heights, limit) - _below(-heights, limit))


def _below(heights: Array, limit: float) -> Array:
    """The highest periodic surface under `heights` that rises by no more than `limit` [1] toward 16 neighbors."""
    steps = [(i, j) for i in range(-2, 3) for j in range(-2, 3) if math.gcd(i, j) == 1]
    low = heights
    while True:
        lower = low
        for i, j in steps:
            lower = np.minimum(lower, np.roll(lower, (i, j), axis=(0, 1)) + limit * SPACING * math.hypot(i, j))
        if np.array_equal(lower, low):
            return low
        low = lower


def _measured(heights: Array, corner: Array) -> tuple[float, float]:
    """Peak to peak height [m] and steepest slope [1] of the smooth surface, on a grid four times as fine."""
    surface = Heightfield(heights, SPACING, corner, periodic=True)
    x = corner[0] + np.arange(4 * len(heights)) * (0.25 * SPACING)
    points = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    height, normal, _ = surface.at(points, Place((0.0, 0.0), 0.0, 0.0), 0.0)
    steepest = 0.0 if normal is None else float((np.hypot(normal[:, 0], normal[:, 1]) / normal[:, 2]).max())
    return float(np.ptp(height)), steepest


COLUMNS = ("time", "x", "y", "z", "pitch_deg", "roll_deg")
MAX_KEYS = 100_000
MAX_NUMBER = 1e6
"""Largest time [s], place [m] or angle [deg] of a key."""
MIN_GAP = 1e-3
"""Shortest time between two keys [s]."""


class Platform(Shape):
    """A plane without end that is carried from key to key and stands still before the first and after the last.

    Between keys every coordinate follows the quintic spline through all keys that starts and ends at rest without
    acceleration, so position, velocity and acceleration are continuous at all times.

    Attributes:
        keys: Rows of time [s], x forward, y left, z up [m], pitch, roll [rad], shape (K, 6). Pitch lifts the
            front, roll lifts the left; pitch is applied about the platform's middle after roll.
    """

    def __init__(self, keys: Array) -> None:
        self.keys = keys
        if len(keys) > 1:
            from scipy.interpolate import make_interp_spline

            rest = [(1, np.zeros(5)), (2, np.zeros(5))]
            spline = make_interp_spline(keys[:, 0], keys[:, 1:], k=5, bc_type=(rest, rest))
            # its knots are the keys: between two of them it is one polynomial, written here from its derivatives
            terms = [spline(keys[:-1, 0], m) / math.factorial(m) for m in range(5, -1, -1)]
            self._pieces = np.ascontiguousarray(np.stack(terms, axis=1))

    @property
    def is_static(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.keys) == 1

    def pose(self, time: float) -> tuple[Array, Array]:
        """Place x, y, z [m], pitch, roll [rad], and their rates [1/s], each (5,), in the shape's frame."""
        if not self.keys[0, 0] < time < self.keys[-1, 0]:
            return self.keys[0 if time <= self.keys[0, 0] else -1, 1:], np.zeros(5)
        piece = int(np.searchsorted(self.keys[:, 0], time, side="right")) - 1
        t = time - self.keys[piece, 0]
        powers = np.array(
            [
                [t**5, t**4, t**3, t**2, t, 1.0],
                [5.0 * t**4, 4.0 * t**3, 3.0 * t**2, 2.0 * t, 1.0, 0.0],
            ]
        )
        value, rate = powers @ self._pieces[piece]
        return value, rate

    def at(self, points: Array, place: Place, time: float) -> tuple[Array, Array | None, Array | None]:
        slope, height, velocity = np.split(np.array(self.form(place, time)[1]), [2, 3])
        normal = np.array([*-slope, 1.0]) / math.hypot(1.0, *slope)
        moving = None if self.is_static else points @ velocity[:6].reshape(2, 3) + velocity[6:]
        return points @ slope + height, np.full((len(points), 3), normal), moving

    def form(self, place: Place, time: float) -> Form:
        """Numbers of a plane: how height and, after the height at the world's origin, velocity go with the place."""
        pose, rate = self.pose(time)
        cp, sp, cr, sr = math.cos(pose[3]), math.sin(pose[3]), math.cos(pose[4]), math.sin(pose[4])
        # roll turns about x, then pitch about -y
        axes = [[-sp * cr, -sr, cp * cr], pose[:3], rate[:3], [rate[4] * cp, -rate[3], rate[4] * sp]]
        normal, middle, speed, (wx, wy, wz) = place.to_world(np.array(axes)).tolist()
        # everything is affine in the place: z = z0 + gx x + gy y, velocity = speed + turn x (x, y, gx x + gy y)
        gx, gy = -normal[0] / normal[2], -normal[1] / normal[2]
        x0, y0 = place.origin[0] + middle[0], place.origin[1] + middle[1]
        per_x, per_y = [wy * gx, wz - wx * gx, -wy], [wy * gy - wz, -wx * gy, wx]
        still = [v - a * x0 - b * y0 for v, a, b in zip(speed, per_x, per_y)]
        return PLANE, (gx, gy, place.ground + middle[2] - gx * x0 - gy * y0, *per_x, *per_y, *still), NO_TABLE

    def scaled(self, size: float) -> Platform:
        keys = self.keys.copy()
        keys[:, 1:4] *= size
        return Platform(keys)


def checked_keys(keys: npt.ArrayLike) -> Array:
    """Keys (K, 4) or (K, 6) with angles in degrees as a table (K, 6) with angles in radians.

    Raises:
        InvalidValue: if the shape is another, a value is not finite or too large, times rise by less than a
            millisecond, or it tilts 80° or more.
    """
    table = np.array(keys, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] not in (4, 6) or not 1 <= len(table) <= MAX_KEYS:
        raise InvalidValue(
            f"Platform keys have shape {table.shape}; give rows of time, x, y, z or of {', '.join(COLUMNS)}, "
            f"at least 1 and at most {MAX_KEYS}."
        )
    if not np.isfinite(table).all():
        row = int(np.argmin(np.isfinite(table).all(axis=1)))
        raise InvalidValue(f"Platform key {row} holds a value that is not finite: {table[row].tolist()}.")
    if np.abs(table).max() > MAX_NUMBER:
        row = int(np.argmax(np.abs(table).max(axis=1)))
        raise InvalidValue(f"Platform key {row} holds a number above {MAX_NUMBER:g}: {table[row].tolist()}.")
    if len(table) > 1 and not (np.diff(table[:, 0]) >= MIN_GAP - 1e-9).all():
        row = int(np.argmin(np.diff(table[:, 0]) >= MIN_GAP - 1e-9)) + 1
        seen = f"key {row} is at {table[row, 0]} s after {table[row - 1, 0]} s"
        raise InvalidValue(f"Platform times must rise by at least {MIN_GAP:g} s; {seen}.")
    if table.shape[1] == 4:
        table = np.hstack([table, np.zeros((len(table), 2))])
    if np.abs(table[:, 4:]).max() >= 80.0:
        row = int(np.argmax(np.abs(table[:, 4:]).max(axis=1)))
        seen = np.abs(table[row, 4:]).max()
        raise InvalidValue(f"Platform key {row} tilts {seen}°; pitch and roll must stay below 80°.")
    table[:, 4:] = np.radians(table[:, 4:])
    return table


def read_keys(path: str | Path) -> Array:
    """Keys of a platform file: CSV (UTF-8) with the header `time,x,y,z` or `time,x,y,z,pitch_deg,roll_deg`.

    Seconds, meters and degrees; lines that are empty or start with # are skipped.

    Raises:
        FileFormatError: if the file cannot be read as that; it names the line.
    """
    cure = f"A platform file is CSV with the header {','.join(COLUMNS[:4])} or {','.join(COLUMNS)} and one key a line."
    rows: list[list[float]] = []
    width = 0
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            for number, line in enumerate(file, start=1):
                if len(line) > 1000:
                    problem = "a line is longer than 1000 characters."
                    raise FileFormatError(problem, path=path, line=number, text=line, cure=cure)
                if not line.strip() or line.lstrip().startswith("#"):
                    continue
                cells = [cell.strip() for cell in next(csv.reader([line]))]
                if not width:
                    if tuple(cells) not in (COLUMNS[:4], COLUMNS):
                        problem = "the header is not a platform's."
                        raise FileFormatError(problem, path=path, line=number, text=line.strip(), cure=cure)
                    width = len(cells)
                    continue
                try:
                    row = [float(cell) for cell in cells]
                except ValueError:
                    row = []
                if len(row) != width:
                    problem = f"a key needs {width} numbers."
                    raise FileFormatError(problem, path=path, line=number, text=line.strip(), cure=cure)
                rows.append(row)
                if len(rows) > MAX_KEYS:
                    raise FileFormatError(f"more than {MAX_KEYS} keys.", path=path, line=number, cure="Thin them out.")
    except OSError as error:
        problem = f"cannot be opened: {error.strerror or error}."
        raise FileFormatError(problem, path=path, cure="Check the path.") from error
    except UnicodeDecodeError as error:
        raise FileFormatError("is not UTF-8 text.", path=path, cure=cure) from error
    if not rows:
        raise FileFormatError("holds no keys.", path=path, cure=cure)
    try:
        return checked_keys(rows)
    except InvalidValue as error:
        raise FileFormatError(str(error), path=path, cure=cure) from error
