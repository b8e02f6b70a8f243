"""Ground from words, from a picture or from a mesh."""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core.errors import FileFormatError, InvalidValue, MissingExtra, did_you_mean, install_line
from poise.core.typing import Array, Index
from poise.terrain.shapes import Heightfield
from poise.terrain.terrain import Terrain

MAX_PIXELS = 64_000_000
"""Largest picture that is read [pixels]."""
MAX_PICTURE_BYTES = 160_000_000
"""Most memory that a picture may take once it is unpacked [bytes]."""
MAX_SIDE = 2048
"""Most control heights along one side; finer pictures are averaged down to it."""
MAX_MESH_BYTES = 200_000_000
"""Largest mesh file that is read [bytes]."""
MAX_FACES = 2_000_000
"""Most triangles that are rasterized."""
MESH_SIDE = 1024
"""Most control heights along one side of a rasterized mesh."""
MESH_SPACING = 0.02
"""Finest spacing of a rasterized mesh [m]."""
MAX_TRIED = 20_000_000
"""Most cells that are tried for all triangles of a mesh together; faces over faces make the grid coarser."""
LEAST_SIDE = 64
"""A mesh whose faces lie so often over one another that fewer cells a side would be left is refused."""


def from_image(path: str | Path, size: float, height: float) -> Heightfield:
    """A picture as ground, its middle at the start: black is height 0, white is `height`.

    The picture's right lies forward, its upper edge to the left. Its edge goes on outwards.

    Args:
        path: Any format Pillow reads; colors are turned to gray, 16-bit gray is kept.
        size: Width of the picture on the ground [m]; pixels are square.
        height: Height of white [m].

    Raises:
        FileFormatError: if it is not a picture, or one of more than 64 megapixels (nothing is decoded then).
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            opened = Image.open(path)
        with opened as picture:
            width, rows = picture.size
            if width * rows > MAX_PIXELS:
                problem = f"the picture has {width} x {rows} pixels, more than {MAX_PIXELS}."
                raise FileFormatError(problem, path=path, cure="Scale it down first.")
            if min(width, rows) < 2:
                raise FileFormatError(f"the picture has {width} x {rows} pixels; 2 x 2 are needed.", path=path)
            unpacked = width * rows * _BYTES.get(picture.mode, 4)
            if unpacked > MAX_PICTURE_BYTES:
                problem = f"the picture unpacks to {unpacked} bytes, more than {MAX_PICTURE_BYTES}."
                raise FileFormatError(problem, path=path, cure="Save it as gray, or scale it down.")
            deep = picture.mode in ("I", "I;16", "I;16B", "I;16L", "F")
            white = 1.0 if picture.mode == "F" else 65535.0 if deep else 255.0
            factor = math.ceil(max(width, rows) / MAX_SIDE)
            values = _averaged(picture, factor, is_deep=deep)
    except (UnidentifiedImageError, Image.DecompressionBombError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, FileFormatError):
            raise
        cure = "Give a PNG, TIFF or JPEG of at most 64 megapixels."
        raise FileFormatError(f"cannot be read as a picture: {error}.", path=path, cure=cure) from error
    except OSError as error:
        problem = f"cannot be opened: {error.strerror or error}."
        raise FileFormatError(problem, path=path, cure="Check the path.") from error
    if not np.isfinite(values).all():
        raise FileFormatError("the picture holds values that are not finite.", path=path)
    heights = np.ascontiguousarray(values[::-1], dtype=np.float64) * (height / white)
    spacing = size / width * factor
    corner = -0.5 * spacing * (np.array(heights.shape[::-1]) - 1.0)
    return Heightfield(heights, spacing, corner, periodic=False)


_BYTES = {"1": 1, "L": 1, "P": 1, "LA": 2, "I;16": 2, "I;16B": 2, "I;16L": 2, "RGB": 3, "YCbCr": 3}
"""Bytes of a pixel of the usual modes; others have four."""


def _averaged(picture: Any, factor: int, *, is_deep: bool) -> npt.NDArray[np.float32]:
    """The picture with blocks of `factor` x `factor` pixels averaged to one; its last row and column fill the rest."""
    width, rows = picture.size
    strips = []
    for top in range(0, rows, factor):
        strip = picture.crop((0, top, width, min(top + factor, rows)))
        values = np.asarray(strip if is_deep else strip.convert("L"), dtype=np.float32)
        if factor > 1:
            values = np.pad(values, ((0, -len(values) % factor), (0, -width % factor)), mode="edge")
            values = values.reshape(factor, -1, factor).mean(axis=(0, 2))[None]
        strips.append(values)
    return np.concatenate(strips)


def from_mesh(path: str | Path) -> Heightfield:
    """A mesh as ground: the highest face over each place; its origin lies at the start, its x axis forward.

    Meters, Z up. Where no face is, and all around, the ground is at height 0. Overhangs are filled down to the
    ground: a heightfield has one height per place.

    Raises:
        MissingExtra: if trimesh is not installed.
        FileFormatError: if the file is not a mesh, or too large.
    """
    try:
        import trimesh
    except ImportError as error:
        raise MissingExtra(f"Reading a mesh needs trimesh: {install_line('mesh')}.") from error
    try:
        size = os.path.getsize(path)
    except OSError as error:
        problem = f"cannot be opened: {error.strerror or error}."
        raise FileFormatError(problem, path=path, cure="Check the path.") from error
    if size > MAX_MESH_BYTES:
        problem = f"the mesh file has {size} bytes, more than {MAX_MESH_BYTES}."
        raise FileFormatError(problem, path=path, cure="Simplify it.")
    try:
        mesh = trimesh.load(str(path), force="mesh", process=False)
        triangles = np.asarray(mesh.triangles, dtype=np.float64)  # pyright: ignore[reportAttributeAccessIssue]
    except Exception as error:  # trimesh's readers raise whatever a broken file makes them trip over
        cure = "Give an OBJ, STL, PLY or glTF mesh."
        raise FileFormatError(f"cannot be read as a mesh: {error}.", path=path, cure=cure) from error
    if triangles.ndim != 3 or triangles.shape[1:] != (3, 3):
        raise FileFormatError("its vertices do not have three coordinates each.", path=path, cure="Export it again.")
    if len(triangles) == 0 or len(triangles) > MAX_FACES:
        raise FileFormatError(f"the mesh has {len(triangles)} faces; 1 to {MAX_FACES} are allowed.", path=path)
    if not np.isfinite(triangles).all():
        raise FileFormatError("the mesh has corners that are not finite.", path=path)
    return rasterize(triangles, path)


def rasterize(triangles: Array, path: str | Path) -> Heightfield:
    """Highest face over each place of a grid.

    Args:
        triangles: Corners [m], shape (T, 3, 3).
        path: Where they are from, for the error.

    Raises:
        FileFormatError: if the mesh has no horizontal extent, is more than 10 km wide, or its faces lie over one
            another so often that they are too much work.
    """
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    extent = float((high - low)[:2].max())
    if not 1e-3 < extent < 1e4:
        cure = "Meshes are in meters, Z up; scale it."
        raise FileFormatError(f"the mesh is {extent:g} m wide.", path=path, cure=cure)
    spacing = max(extent / (MESH_SIDE - 4), MESH_SPACING)
    boxes = np.ceil(np.ptp(triangles[:, :, :2], axis=1) / spacing) + 1.0
    # a triangle is tried in a square block of cells, whose side is a power of two
    tried = float((4.0 ** np.ceil(np.log2(boxes.max(axis=1)))).sum())
    if tried > MAX_TRIED:
        spacing *= 2.0 ** math.ceil(0.5 * math.log2(tried / MAX_TRIED))
        if extent / spacing < LEAST_SIDE:
            cells = f"{len(triangles)} faces, which together cover {tried:.2g} cells"
            cure = "Leave out what lies below the surface, or simplify it."
            raise FileFormatError(f"the mesh has {cells}.", path=path, cure=cure)
    corner = low[:2] - 2.0 * spacing
    columns, rows = (np.ceil((high - low)[:2] / spacing).astype(int) + 5).tolist()
    heights = np.full((rows, columns), -np.inf)
    flat = (triangles[:, :, :2] - corner) / spacing
    first = np.ceil(flat.min(axis=1) - 1e-9).astype(int)
    span = np.floor(flat.max(axis=1) + 1e-9).astype(int) - first + 1
    keep = (span > 0).all(axis=1)
    flat, first, span, tops = flat[keep], first[keep], span[keep], triangles[keep][:, :, 2]
    # triangles of like size together: one block of cells for all of them
    size = np.exp2(np.ceil(np.log2(span.max(axis=1, initial=1)))).astype(int)
    for side in np.unique(size).tolist():
        members = np.flatnonzero(size == side)
        cells = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
        for part in np.array_split(members, max(1, len(members) * side * side // 500_000)):
            _cover(heights, flat[part], tops[part], first[part][:, None, :] + cells)
    heights[np.isneginf(heights)] = 0.0
    return Heightfield(heights, spacing, corner, periodic=False)


def _cover(heights: Array, flat: Array, tops: Array, cells: Index) -> None:
    """Raise `heights` to triangles: corners in cells (T, 3, 2), tops (T, 3) [m], cells to try (T, N, 2)."""
    a, b, c = flat[:, None, 0], flat[:, None, 1], flat[:, None, 2]
    area = (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])
    safe = np.where(np.abs(area) > 1e-12, area, np.inf)
    ax, ay = cells[..., 0] - a[..., 0], cells[..., 1] - a[..., 1]
    v = (ax * (c[..., 1] - a[..., 1]) - ay * (c[..., 0] - a[..., 0])) / safe
    w = ((b[..., 0] - a[..., 0]) * ay - (b[..., 1] - a[..., 1]) * ax) / safe
    tolerance = 1e-9
    hit = (v >= -tolerance) & (w >= -tolerance) & (v + w <= 1.0 + tolerance) & np.isfinite(safe)
    top = tops[:, None, 0] * (1.0 - v - w) + tops[:, None, 1] * v + tops[:, None, 2] * w
    rows, columns = heights.shape
    hit &= (cells[..., 0] >= 0) & (cells[..., 0] < columns) & (cells[..., 1] >= 0) & (cells[..., 1] < rows)
    np.maximum.at(heights, (cells[..., 1][hit], cells[..., 0][hit]), top[hit])


ALLOWED = (
    "flat, slope:DEG, step:HEIGHT[,DISTANCE], stairs:RISE,TREAD[,DISTANCE], rough:HEIGHT,SEED[,MAXSLOPE], "
    "image:FILE,SIZE,HEIGHT, mesh:FILE, platform:FILE, each with an optional @HEADING in degrees and xSIZE, such as x2 "
    "for twice as large"
)
ARGUMENTS = {
    "flat": (0, 0),
    "slope": (1, 1),
    "step": (1, 2),
    "stairs": (2, 3),
    "rough": (2, 3),
    "image": (3, 3),
    "mesh": (1, 1),
    "platform": (1, 1),
}
"""Fewest and most arguments of each kind."""


def parse(spec: str) -> Terrain:
    """The terrain that a specification names.

    The kind ends at the first colon, so Windows paths keep theirs. Numbers are split off a file's name from the
    right, so the name may hold commas. `@HEADING` is what follows the last @ if it is a number and no file of the
    whole name exists; likewise `xSIZE`, before or after it.

    Args:
        spec: Such as `slope:20`, `stairs:0.2,0.6@90` or `image:hills.png,20,1.5`.

    Raises:
        InvalidValue: if it is none of the allowed forms, or a number is out of range.
        FileFormatError: if its file cannot be read.
    """
    kind, colon, rest = spec.strip().partition(":")
    heading = size = None
    if not colon:
        kind, heading = _split_off("@", kind)
    else:
        rest, size = _split_off("x", rest)
        rest, heading = _split_off("@", rest)
        if size is None:
            rest, size = _split_off("x", rest)
    kind = kind.strip().lower()
    if kind not in ARGUMENTS:
        hint = did_you_mean(kind, ARGUMENTS).replace(" Did", "; did").rstrip("?")
        if kind == "rubble":
            hint = "; loose rubble is --scene rubble:COUNT,SEED"
        raise _wrong(spec, f"there is no terrain {kind!r}{hint}")
    low, high = ARGUMENTS[kind]
    if kind in ("image", "mesh", "platform"):
        words = rest.rsplit(",", high - 1)
    else:
        words = rest.split(",") if rest.strip() else []
    if not low <= len(words) <= high or any(not word.strip() for word in words) or (colon and not words):
        raise _wrong(spec, f"{kind} takes {low if low == high else f'{low} to {high}'} values")
    try:
        terrain = _build(kind, words, spec)
        terrain = terrain if heading is None else terrain.toward(heading)
        return terrain if size is None else terrain.scaled(size)
    except InvalidValue as error:
        if str(error).startswith("Terrain "):
            raise
        raise _wrong(spec, str(error).rstrip(".")) from error


def _build(kind: str, words: list[str], spec: str) -> Terrain:
    if kind == "flat":
        return Terrain.flat()
    if kind == "mesh":
        return Terrain.mesh(words[0])
    if kind == "platform":
        return Terrain.platform(words[0])
    if kind == "image":
        return Terrain.image(words[0], _number(words[1], spec), _number(words[2], spec))
    if kind == "rough":
        if not words[1].strip().isdecimal():
            raise _wrong(spec, f"the seed {words[1]!r} is not a whole number from 0")
        slope = _number(words[2], spec) if len(words) == 3 else None
        return Terrain.rough(_number(words[0], spec), int(words[1]), slope)
    numbers = [_number(word, spec) for word in words]
    if kind == "slope":
        return Terrain.slope(*numbers)
    count, make = (1, Terrain.step) if kind == "step" else (2, Terrain.stairs)
    return make(*numbers) if len(numbers) == count else make(*numbers[:count], distance=numbers[count])


def _split_off(mark: str, text: str) -> tuple[str, float | None]:
    """The text before the last mark and the number behind it; all of it and None where that is none, or a file."""
    before, at, after = text.rpartition(mark)
    if not at or os.path.exists(text):
        return text, None
    try:
        return before, float(after)
    except ValueError:
        return text, None


def _number(word: str, spec: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _wrong(spec, f"{word.strip()!r} is not a number")
    return value


def _wrong(spec: str, problem: str) -> InvalidValue:
    return InvalidValue(f"Terrain {spec!r}: {problem}. Allowed: {ALLOWED}.")
