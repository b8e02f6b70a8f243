"""What stands and lies around figures, as MJCF text."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.io.files import read_text

MOST_BYTES = 4_000_000
"""Largest scene file that is read [bytes]."""
MOST_BODIES = 2000
"""Most pieces of rubble."""
DENSITY = 700.0
"""Of rubble, as wood [kg/m³]."""


def scene_of(text: str | os.PathLike[str], *, way: Array | None = None, scale: float = 1.0) -> str:
    """MJCF text of a scene: a MuJoCo file (.xml), or "rubble:COUNT" or "rubble:COUNT,SEED".

    Args:
        text: File or short form.
        way: Where the figure goes, which rubble lies along, horizontal [m], shape (N, 2).
        scale: Leg length / 0.82 m; sizes of rubble grow with it.

    Raises:
        InvalidValue: if it is neither.
        UnreadableFile: if there is no such file.
    """
    kind, _, rest = str(text).partition(":")
    if kind == "rubble":
        try:
            count, seed = (int(x) for x in (rest.split(",") if "," in rest else (rest, "0")))
        except ValueError:
            raise InvalidValue(f"Cannot read {str(text)!r}. Write rubble:COUNT,SEED, such as rubble:40,1.") from None
        return rubble(count, seed, way=way, scale=scale)
    if Path(text).suffix.lower() == ".xml":
        return read_text(Path(text), limit=MOST_BYTES)
    raise InvalidValue(f"{str(text)!r} is no scene. Give a MuJoCo file (.xml) or rubble:COUNT,SEED.")


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
    if not 1 <= count <= MOST_BODIES:
        raise InvalidValue(f"{count} pieces of rubble; give a number from 1 to {MOST_BODIES}.")
    rng = np.random.default_rng(seed)
    way = np.array([[0.0, 0.0], [5.0, 0.0]]) if way is None else np.asarray(way, dtype=np.float64)
    out = [
        "<mujoco>", f'  <option gravity="0 0 {-GRAVITY!r}"/>', "  <worldbody>",
        '    <geom name="ground" type="plane" size="100 100 1"/>',
    ]  # fmt: skip
    for k in range(count):
        x, y = _place(rng, way, scale * width, scale * clear)
        half = (scale * rng.uniform(0.02, 0.06, 3)).tolist()
        height = max(half) * 1.8 + 0.16 * scale * rng.random()
        turn = rng.normal(size=4)
        quat = " ".join(repr(float(c)) for c in turn / np.linalg.norm(turn))
        if k % 3 < 2:
            shape = f'type="box" size="{half[0]!r} {half[1]!r} {half[2]!r}"'
        else:
            shape = f'type="capsule" size="{half[0]!r} {half[1]!r}"'
        out += [
            f'    <body name="piece {k + 1}" pos="{float(x)!r} {float(y)!r} {height!r}" quat="{quat}">',
            f'      <freejoint/><geom {shape} density="{DENSITY!r}" friction="0.8 0.005 0.0001"/>', "    </body>",
        ]  # fmt: skip
    return "\n".join([*out, "  </worldbody>", "</mujoco>", ""])


def _place(rng: np.random.Generator, way: Array, width: float, clear: float) -> tuple[float, float]:
    """A place beside the way, not too near its beginning where there is room."""
    x = y = 0.0
    for _ in range(100):
        x, y = (way[rng.integers(len(way))] + width * (rng.random(2) - 0.5)).tolist()
        if np.hypot(x - way[0, 0], y - way[0, 1]) > clear:
            return x, y
    return x, y
