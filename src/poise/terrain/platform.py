"""A flat platform that moves as told: a deck, a lift, a shaking table."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.interpolate import make_interp_spline

from poise.core.errors import FileFormatError, InvalidValue
from poise.core.typing import Array
from poise.terrain.shapes import NO_TABLE, PLANE, Form, Place, Shape

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
