"""Loose pieces on a figure's way: boxes, round bars or stones, as MJCF text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from pydantic import ValidationError

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.synthesis.scene_tables import RubbleTable
from poise.terrain import Terrain

MOST_BODIES = 2000
"""Most pieces of rubble."""
CORNERS = 14
"""Of a stone, before those inside the others are left out."""
RUBBLE_FORM = "rubble:COUNT,SEED,size=0.04-0.12,mass=1-5,shape=mesh"
"""An example of the short form, for messages."""


def parse_rubble(text: str) -> RubbleTable:
    """What follows "rubble:": COUNT, SEED, and size=, mass=, density= (one number or LEAST-MOST) and shape=.

    Raises:
        InvalidValue: if it is none of these.
    """
    here = f"Cannot read 'rubble:{text}'."
    words = text.split(",")
    counts = [word for word in words if "=" not in word]
    given: dict[str, object] = {}
    try:
        if not 1 <= len(counts) <= 2 or words[: len(counts)] != counts:
            raise ValueError
        given |= zip(("count", "seed"), map(int, counts))
        for word in words[len(counts) :]:
            key, _, value = word.partition("=")
            if key in ("size", "mass"):
                least, _, most = value.partition("-")
                given["sizes" if key == "size" else key] = (float(least), float(most or least))
            else:
                given[key] = float(value) if key == "density" else value
    except ValueError:
        raise InvalidValue(f"{here} Write {RUBBLE_FORM}; what follows COUNT may be left out: rubble:40,1.") from None
    try:
        return RubbleTable.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        key = "size" if first["loc"] == ("sizes",) else ".".join(map(str, first["loc"]))
        raise InvalidValue(
            f"{here} {key}: {first['msg'].removeprefix('Value error, ')}. Write {RUBBLE_FORM}."
        ) from None


def rubble(
    count: int, seed: int = 0, *, way: Array | None = None, scale: float = 1.0, width: float = 0.9, clear: float = 0.45
) -> str:
    """Loose boxes and round bars on level ground along a way, as MJCF text.

        poise.World(rubble(40, seed=1, way=motion_path))

    Args:
        count: How many pieces.
        seed: Of sizes and places.
        way: Horizontal places that the figure goes through [m], shape (N, 2); 5 m along x if not given.
        scale: Leg length / 0.82 m.
        width: Of the strip that they lie on [m], times the scale.
        clear: Nothing lies so near the beginning of the way [m], times the scale.

    Raises:
        InvalidValue: if there are fewer than one or more than `MOST_BODIES`.
    """
    bodies, _ = pieces(RubbleTable(count=count, seed=seed), way=way, scale=scale, width=width, clear=clear)
    return mjcf_of([ground_plane(0.0), *bodies])


def pieces(
    table: RubbleTable,
    *,
    way: Array | None = None,
    scale: float = 1.0,
    width: float = 0.9,
    clear: float = 0.45,
    terrain: Terrain | None = None,
    without: frozenset[str] = frozenset(),
) -> tuple[list[str], list[str]]:
    """The pieces of `rubble` alone, above a terrain: bodies of MJCF, and the meshes that they use.

    Some may be left out. Their sides are as the table says, times the scale.
    """
    if not 1 <= table.count <= MOST_BODIES:
        raise InvalidValue(f"{table.count} pieces of rubble; give a number from 1 to {MOST_BODIES}.")
    rng = np.random.default_rng(table.seed)
    way = np.linspace([0.0, 0.0], [5.0, 0.0], 51) if way is None else np.asarray(way, dtype=np.float64)
    least, most = table.sizes
    bodies: list[str] = []
    meshes: list[str] = []
    for k in range(table.count):
        x, y = _place(rng, way, scale * width, scale * clear)
        half = (scale * rng.uniform(0.5 * least, 0.5 * most, 3)).tolist()
        height = max(half) * 1.8 + 0.16 * scale * rng.random()
        if terrain is not None:
            height += float(terrain.heights(np.array([[x, y]]))[0])
        turn = rng.normal(size=4)
        quat = " ".join(repr(float(c)) for c in turn / np.linalg.norm(turn))
        weight = f'density="{table.density!r}"' if table.mass is None else f'mass="{rng.uniform(*table.mass)!r}"'
        name, kind = _name(k), table.shape
        if kind == "mixed":
            kind = "box" if k % 3 < 2 else "bar"
        if kind == "mesh":
            corners = rng.normal(size=(CORNERS, 3))
            corners *= np.array(half) / np.linalg.norm(corners, axis=1, keepdims=True)
            vertices = " ".join(repr(c) for c in corners.ravel().tolist())
            mesh = f'<mesh name="{name}" inertia="convex" vertex="{vertices}"/>'
            shape = f'type="mesh" mesh="{name}"'
        elif kind == "box":
            mesh, shape = "", f'type="box" size="{half[0]!r} {half[1]!r} {half[2]!r}"'
        else:
            mesh, shape = "", f'type="capsule" size="{half[0]!r} {half[1]!r}"'
        if name in without:
            continue
        bodies += [
            f'    <body name="{name}" pos="{float(x)!r} {float(y)!r} {height!r}" quat="{quat}">',
            f'      <freejoint/><geom {shape} {weight} friction="0.8 0.005 0.0001"/>',
            "    </body>",
        ]
        if mesh:
            meshes.append(f"  <asset>{mesh}</asset>")
    return bodies, meshes


def names_of(table: RubbleTable) -> frozenset[str]:
    """Names of the pieces, whether they are left out or not."""
    return frozenset(map(_name, range(table.count)))


def mjcf_of(things: Iterable[str], assets: Iterable[str] = ()) -> str:
    """MJCF text of what is in the world's body, and of what stands beside it."""
    head = ["<mujoco>", f'  <option gravity="0 0 {-GRAVITY!r}"/>', *assets, "  <worldbody>"]
    return "\n".join([*head, *things, "  </worldbody>", "</mujoco>", ""])


def ground_plane(height: float) -> str:
    """Level ground at a height [m]."""
    return f'    <geom name="ground" type="plane" size="100 100 1" pos="0 0 {height!r}"/>'


def _name(k: int) -> str:
    """Name of a piece of rubble, counted from 0."""
    return f"piece {k + 1}"


def _place(rng: np.random.Generator, way: Array, width: float, clear: float) -> tuple[float, float]:
    """A place beside the way, not too near its beginning where there is room."""
    x = y = 0.0
    for _ in range(100):
        x, y = (way[rng.integers(len(way))] + width * (rng.random(2) - 0.5)).tolist()
        if np.hypot(x - way[0, 0], y - way[0, 1]) > clear:
            return x, y
    return x, y
