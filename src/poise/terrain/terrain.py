"""One type for every ground, placed under a clip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.errors import InvalidValue, require
from poise.core.typing import Array
from poise.terrain.shapes import Place, Plane, Shape, Steps
from poise.terrain.tops import Tops


class Surface(NamedTuple):
    """The ground under n points, in the world frame. The arrays may be shared and read-only.

    Example:
        >>> ground = poise.Terrain.slope(10.0).sample(np.array([[0.0, 0.0], [1.0, 0.0]]))
        >>> heights, normals = ground.height, ground.normal

    Attributes:
        height: [m], shape (n,).
        normal: Unit, upwards, shape (n, 3).
        velocity: Of the ground itself [m/s], shape (n, 3).
    """

    height: Array
    normal: Array
    velocity: Array


@dataclass(frozen=True)
class Terrain:
    """The ground under a clip. Made by one of the constructors below, then laid under a clip by `placed`.

    Unplaced it starts at the world's origin, rises along +x, and its height 0 is the world's.

    Example:
        >>> ramp = poise.Terrain.parse("slope:5")
        >>> result = poise.simulate(motion, character, terrain=ramp)

    Attributes:
        shape: The ground in its own frame.
        spec: How the command line would say it.
        origin: Start of the clip in the world frame [m].
        heading: Direction in which slopes, steps and stairs rise, counterclockwise from world +x [rad].
        ground: World height of the shape's height 0: the clip's floor [m].
        fixed_heading: A heading the user asked for [rad], which `placed` keeps; or None.
        size: How many times as large it is as what was asked for [1]; `spec` ends with it.
    """

    shape: Shape
    spec: str = "flat"
    origin: tuple[float, float] = (0.0, 0.0)
    heading: float = 0.0
    ground: float = 0.0
    fixed_heading: float | None = None
    size: float = 1.0
    _usual: dict[int, Surface] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def flat(cls, ground: float = 0.0) -> Terrain:
        """Level ground.

        Args:
            ground: Its height [m]; `placed` lays it at the height of a clip's floor instead.
        """
        return cls(Plane(0.0)).placed(origin=(0.0, 0.0), heading=0.0, ground=ground)

    @classmethod
    def slope(cls, degrees: float) -> Terrain:
        """A plane through the start that rises along the direction of travel.

        Args:
            degrees: Angle [deg], between -80 and 80; negative goes down.
        """
        _check("A slope", "degrees", degrees, -80.0, 80.0)
        return cls(Plane(math.tan(math.radians(degrees))), f"slope:{degrees:.12g}")

    @classmethod
    def step(cls, height: float, *, distance: float = 1.0) -> Terrain:
        """One step across the way.

        Args:
            height: [m]; negative goes down.
            distance: From the start to the riser [m]; a meter, so that no clip begins on it.
        """
        _check("A step", "height", height, -100.0, 100.0)
        _check("A step", "distance", distance, -1e6, 1e6)
        return cls(Steps(float(height), math.inf, float(distance)), f"step:{height:.12g}{_riser(distance)}")

    @classmethod
    def stairs(cls, rise: float, tread: float, *, distance: float = 1.0) -> Terrain:
        """Stairs without end across the way.

        Args:
            rise: Height of a riser [m]; negative goes down.
            tread: Depth of a tread [m], at least 0.05.
            distance: From the start to the first riser [m].
        """
        _check("Stairs", "rise", rise, -100.0, 100.0)
        _check("Stairs", "tread", tread, 0.05, 1e6)
        _check("Stairs", "distance", distance, -1e6, 1e6)
        return cls(
            Steps(float(rise), float(tread), float(distance)), f"stairs:{rise:.12g},{tread:.12g}{_riser(distance)}"
        )

    @classmethod
    def rough(cls, height: float, seed: int, max_slope: float | None = None) -> Terrain:
        """Bumps with a dominant wavelength of 1 m that repeat every 20 m.

        The ground is flat within 0.5 m of the start and fades in over the next meter. The standard deviation is
        about a quarter of the height.

        Args:
            height: Peak to peak [m].
            seed: Not negative; the same seed gives the same ground everywhere.
            max_slope: Steepest slope [deg]; it wins over `height`.
        """
        from poise.terrain.shapes import rough

        _check("Rough ground", "height", height, 0.0, 100.0)
        if isinstance(seed, bool) or seed != int(seed) or not 0 <= seed < 2**63:
            raise InvalidValue(f"Rough ground has seed {seed}; give a whole number from 0.")
        spec = f"rough:{height:.12g},{int(seed)}"
        if max_slope is not None:
            _check("Rough ground", "max_slope", max_slope, 1.0, 89.0)
            spec += f",{max_slope:.12g}"
        return cls(rough(float(height), int(seed), max_slope), spec)

    @classmethod
    def image(cls, path: str | Path, size: float, height: float) -> Terrain:
        """A picture `size` [m] wide around the start, black at 0 and white at `height` [m]; see `files.from_image`."""
        from poise.terrain.files import from_image

        _check("A picture as ground", "size", size, 0.01, 1e5)
        _check("A picture as ground", "height", height, -1e4, 1e4)
        return cls(from_image(path, float(size), float(height)), f"image:{path},{size:.12g},{height:.12g}")

    @classmethod
    def mesh(cls, path: str | Path) -> Terrain:
        """A mesh (meters, Z up) with its origin at the start; see `files.from_mesh`. Needs the extra "mesh"."""
        from poise.terrain.files import from_mesh

        return cls(from_mesh(path), f"mesh:{path}")

    @classmethod
    def platform(cls, keys: str | Path | npt.ArrayLike | Sequence[Sequence[float]]) -> Terrain:
        """A flat platform without end that moves from key to key; see `platform.Platform`.

        Args:
            keys: A CSV file with the header `time,x,y,z` or `time,x,y,z,pitch_deg,roll_deg`, or such rows
                [s, m, m, m, deg, deg], shape (K, 4) or (K, 6).
        """
        from poise.terrain.shapes import Platform, checked_keys, read_keys

        if isinstance(keys, str | Path):
            return cls(Platform(read_keys(keys)), f"platform:{keys}")
        return cls(Platform(checked_keys(keys)), "platform")

    @classmethod
    def parse(cls, spec: str) -> Terrain:
        """The terrain a command line names, such as `stairs:0.2,0.6@90`; see `parse.parse`."""
        from poise.terrain.files import parse

        return parse(spec)

    def toward(self, degrees: float) -> Terrain:
        """The same ground, rising toward this heading whatever the clip does [deg, counterclockwise from +x]."""
        _check("A terrain", "heading", degrees, -360.0, 360.0)
        turned = math.radians(degrees)
        return replace(self, fixed_heading=turned, heading=turned, spec=f"{self.spec}@{degrees:.12g}", _usual={})

    def scaled(self, size: float) -> Terrain:
        """This ground with all lengths multiplied by `size` [1] about the world's origin, as a clip is scaled."""
        _check("A terrain", "size", self.size * size, 1e-6, 1e6)
        shape, spec, whole = self.shape.scaled(size), self.spec, self.size * size
        if shape is not self.shape:
            spec = spec.removesuffix(_suffix(self.size)) + _suffix(whole)
        origin = (self.origin[0] * size, self.origin[1] * size)
        return replace(self, shape=shape, spec=spec, origin=origin, ground=self.ground * size, size=whole, _usual={})

    def placed(self, *, origin: Sequence[float] | Array, heading: float, ground: float = 0.0) -> Terrain:
        """The same ground under a clip.

        Args:
            origin: Where the clip starts, in the world frame [m]; the first two numbers count.
            heading: Its direction of travel, counterclockwise from +x [rad]; a heading asked for by the user wins.
            ground: Height of its floor [m].
        """
        heading = heading if self.fixed_heading is None else self.fixed_heading
        values = (float(origin[0]), float(origin[1]), float(heading), float(ground))
        if not all(map(math.isfinite, values)):
            raise InvalidValue(f"A terrain is placed at {values}; origin, heading and ground must be finite.")
        return replace(self, origin=values[:2], heading=values[2], ground=values[3], _usual={})

    def topped(self, boxes: Array, step: float) -> Terrain:
        """This ground with boxes on it whose tops are ground, too, for one figure; see `tops.Tops`."""
        return replace(self, shape=Tops(self.shape, self.place, boxes, step), _usual={})

    def begun_at(self, place: Sequence[float] | Array, heading: float, *, is_lifted: bool) -> Terrain:
        """This ground for a figure that begins at a place [m] and goes toward a heading [rad].

        Only one with boxes on it becomes another: it knows on what the figure begins.

        Args:
            place: The first two numbers count.
            heading: Counterclockwise from +x.
            is_lifted: The figure is laid on what is there; else it begins at this ground's own height.
        """
        if not isinstance(self.shape, Tops):
            return self
        shape, level = self.shape.begun_at(np.array([place[:2]], dtype=np.float64))
        ground = level if is_lifted else self.ground
        return replace(self, shape=shape, heading=heading, ground=ground, _usual={})

    @property
    def bare(self) -> Terrain:
        """This ground without the boxes on it."""
        if not isinstance(self.shape, Tops):
            return self
        base, place = self.shape.base, self.shape.place
        return replace(self, shape=base, origin=place.origin, heading=place.heading, ground=place.ground, _usual={})

    @property
    def is_flat(self) -> bool:
        """True for level ground that stands still."""
        return self.shape.is_flat

    @property
    def is_static(self) -> bool:
        """True if nothing of it moves."""
        return self.shape.is_static

    @property
    def treads(self) -> bool:
        """True for steps and stairs: there are footholds to choose."""
        return self.shape.treads

    @cached_property
    def place(self) -> Place:
        """Where the shape lies."""
        return Place(self.origin, self.heading, self.ground)

    @property
    def forward(self) -> Array:
        """Horizontal unit vector along the heading, shape (2,)."""
        return self.place.forward

    def sample(self, points: Array, time: float = 0.0) -> Surface:
        """Height, normal and velocity of the ground under points.

        Args:
            points: Horizontal places in the world frame [m], shape (n, 2).
            time: [s].
        """
        usual = self._usual_surface(len(points))
        if self.is_flat:
            return usual
        height, normal, velocity = self.shape.at(points, self.place, time)
        return Surface(
            height, usual.normal if normal is None else normal, usual.velocity if velocity is None else velocity
        )

    def heights(self, points: Array, time: float = 0.0) -> Array:
        """Height of the ground under points (n, 2) at a time [s], shape (n,) [m]."""
        return self._usual_surface(len(points)).height if self.is_flat else self.shape.at(points, self.place, time)[0]

    def edges(self, points: Array) -> tuple[Array, Array]:
        """Distance along `forward` back to the riser behind and ahead to the next one.

        Args:
            points: Horizontal places in the world frame [m], shape (n, 2).

        Returns:
            Behind and ahead [m], each (n,), never negative; infinite where there is no riser, as on every ground
            without treads. A point on an edge stands on the upper tread, with that riser at distance 0 behind it.
        """
        if isinstance(self.shape, Steps):
            return self.shape.edges(points, self.place)
        none = np.full(len(points), np.inf)
        return none, none.copy()

    def grid(self, center: Sequence[float] | Array, extent: float, spacing: float, time: float = 0.0) -> Array:
        """Heights on a square for drawing.

        Args:
            center: Middle in the world frame [m]; the first two numbers count.
            extent: Half the side of the square [m].
            spacing: Distance between neighbors [m]; the square is divided evenly into steps no longer than this.
            time: [s].

        Returns:
            Heights [m], shape (N, N): rows along world y, columns along world x, both rising.
        """
        count = max(2, math.ceil(2.0 * extent / spacing - 1e-9) + 1)
        if count > 4096:
            raise InvalidValue(f"A grid has {count} x {count} heights; at most 4096 a side. Use a wider spacing.")
        line = np.linspace(-extent, extent, count)
        points = np.stack(np.meshgrid(center[0] + line, center[1] + line), axis=-1).reshape(-1, 2)
        parts = np.array_split(points, max(1, len(points) // 100_000))
        return np.concatenate([self.heights(part, time) for part in parts]).reshape(count, count)

    def _usual_surface(self, count: int) -> Surface:
        """Ground at height 0 with the shape's constant normal, standing still; read-only and shared between calls."""
        known = self._usual.get(count)
        if known is None:
            normal = np.tile(self.place.to_world(self.shape.normal), (count, 1))
            known = Surface(np.full(count, self.ground), normal, np.zeros((count, 3)))
            for array in known:
                array.flags.writeable = False
            if len(self._usual) < 32:
                self._usual[count] = known
        return known


def _riser(distance: float) -> str:
    """End of a specification that says how far away the first riser is [m], "" at the usual distance."""
    return "" if distance == 1.0 else f",{distance:.12g}"


def _suffix(size: float) -> str:
    return "" if abs(size - 1.0) < 1e-9 else f"x{size:.12g}"


def _check(what: str, name: str, value: float, low: float, high: float) -> None:
    """Raise InvalidValue unless low <= value <= high."""
    require(Real, **{name: value})
    if not low <= value <= high:
        raise InvalidValue(f"{what} has {name} {value}; it must lie between {low:g} and {high:g}.")
