"""Scenes as TOML that a person writes: what stands around a figure, and what happens to it.

    schema = "poise.scene/1"

    [options]
    wall.distance = 0.6

    [floor]
    friction = 0.8

    [[walls]]
    name = "wall"
    place = ["$wall.distance", 0.0, 1.2]
    facing = [-1.0, 0.0, 0.0]

    [[events]]
    remove = "wall"
    time = 3.0

Lengths in meters, times in seconds, angles in degrees, Z up; the built-in figures stand at the origin and face +x.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from poise.core.errors import InvalidValue
from poise.goals.surroundings import Ball, Hold, Scene, Surface, Triple
from poise.io.files import read_text
from poise.io.toml_text import parse_toml
from poise.synthesis.reading import Option, Spot, built, flat_options, only_keys, require_schema, tables
from poise.synthesis.scene_events import take_in
from poise.synthesis.scene_tables import BallTable, BarTable, BoxTable, FloorTable, HoldTable, WallTable

SCHEMA = "poise.scene/1"
MAX_BYTES = 1_000_000
"""Largest scene file that is read [bytes]."""

FILE_KEYS = ("schema", "name", "options", "floor", "walls", "boxes", "holds", "bars", "balls", "events")
INSIDE = 0.2
"""Points deeper inside a thin thing than this are behind it [m]."""


def load_scene(path: str | os.PathLike[str], options: Mapping[str, Option] | None = None) -> Scene:
    """A scene from a file.

    Args:
        path: The file.
        options: What to change of the file's [options].

    Raises:
        UnreadableFile: if there is no such file.
        FileFormatError: if it is no TOML, or says what no scene can; names file, object and key, and what is allowed.
    """
    return scene_of(read_text(Path(path), limit=MAX_BYTES), options, path=path)


def scene_options(path: str | os.PathLike[str]) -> dict[str, Option]:
    """The options of a scene file by dotted name, with their defaults."""
    data = parse_toml(read_text(Path(path), limit=MAX_BYTES), path)
    return flat_options(data.get("options", {}), Spot(path, ("[options]",)))


def scene_of(
    text: str, options: Mapping[str, Option] | None = None, *, path: str | os.PathLike[str] = "scene.toml"
) -> Scene:
    """A scene from TOML text; `path` is what errors call it.

    Raises:
        FileFormatError: as `load_scene`.
    """
    data = parse_toml(text, path)
    require_schema(data, SCHEMA, Spot(path))
    only_keys(data, FILE_KEYS, Spot(path))
    known = flat_options(data.get("options", {}), Spot(path, ("[options]",)))
    for name in options or {}:
        if name not in known:
            raise Spot(path).wrong(f"there is no option {name!r}.", f"Options: {', '.join(known) or 'none'}.")
    spot = Spot(path, (), {**known, **(options or {})})
    groups: dict[str, list[Surface]] = {}
    floor = data.get("floor", {})
    if floor is not False:
        found = _floor(floor, spot.at("[floor]"))
        groups[found.name] = [found]
    for table in _each(data, "walls", WallTable, spot):
        _new(table.name, groups, spot)
        groups[table.name] = [_wall(table, spot.at(f"wall {table.name!r}"))]
    for table in _each(data, "boxes", BoxTable, spot):
        _new(table.name, groups, spot)
        groups[table.name] = _box(table, spot.at(f"box {table.name!r}"))
    holds: dict[str, Hold] = {}
    for table in _each(data, "holds", HoldTable, spot):
        _new(table.name, holds, spot)
        holds[table.name] = _hold(table, spot)
    for table in _each(data, "bars", BarTable, spot):
        _new(table.name, holds, spot)
        holds[table.name] = _bar(table, spot.at(f"bar {table.name!r}"))
    balls = {t.name: t for t in _each(data, "balls", BallTable, spot)}
    thrown: dict[str, Ball] = {}
    for number, table in enumerate(tables(data.get("events", []), spot.at("key 'events'"))):
        take_in(table, groups, holds, balls, thrown, spot.at(f"event {number + 1}"))
    for name in balls:
        if name not in thrown:
            raise spot.at(f"ball {name!r}").wrong(
                "nothing throws it.", f'Write [[events]] throw = "{name}", time, place, velocity.'
            )
    try:
        return Scene(
            tuple(s for group in groups.values() for s in group), tuple(holds.values()), tuple(thrown.values())
        )
    except InvalidValue as error:
        raise spot.wrong(str(error)) from error


def _each(data: Mapping[str, Any], key: str, kind: type, spot: Spot) -> list[Any]:
    found = []
    for number, table in enumerate(tables(data.get(key, []), spot.at(f"[[{key}]]"))):
        found.append(built(kind, table, spot.at(f"{key} {table.get('name', number + 1)!r}")))
    return found


def _new(name: str, known: Mapping[str, Any], spot: Spot) -> None:
    if name in known:
        raise spot.wrong(f"two things are called {name!r}; give each a name of its own.")


def _floor(table: Any, spot: Spot) -> Surface:
    if not isinstance(table, dict):
        raise spot.wrong("it is no table.", "Write [floor] with its keys, or floor = false for none.")
    f = built(FloorTable, table, spot)
    return _surface(spot, f.name, f.place, (0.0, 0.0, 1.0), _extents((0.0, 0.0, 1.0), (*f.size, 0.0)), f.friction)


def _extents(normal: Triple, sides: Triple) -> tuple[float, float]:
    """Width and height, as a surface across an axis has them, of sides along x, y and z."""
    width, height = (sides[int(np.argmax(np.abs(row)))] for row in Surface("", (0.0, 0.0, 0.0), normal).frame[:2])
    return width, height


def _surface(
    spot: Spot, name: str, place: Triple, normal: Triple, size: tuple[float, float], friction: float,
    depth: float = INSIDE,
) -> Surface:  # fmt: skip
    if not (size[0] > 0.0 and size[1] > 0.0):
        raise spot.wrong(f"its size is {size}; give positive lengths.")
    try:
        return Surface(name, place, normal, size, friction, depth)
    except InvalidValue as error:
        raise spot.wrong(str(error)) from error


def _wall(table: WallTable, spot: Spot) -> Surface:
    return _surface(spot, table.name, table.place, _unit(table.facing, spot), table.size, table.friction)


def _hold(table: HoldTable, spot: Spot) -> Hold:
    normal = _unit(table.facing, spot.at(f"hold {table.name!r}"))
    return Hold(table.name, table.place, table.radius, friction=table.friction, normal=normal)


def _unit(facing: Triple, spot: Spot) -> Triple:
    length = float(np.linalg.norm(facing))
    if length < 1e-9:
        raise spot.at("key 'facing'").wrong("it points nowhere; give the direction that it faces.")
    x, y, z = (float(v) / length for v in facing)
    return x, y, z


def _box(table: BoxTable, spot: Spot) -> list[Surface]:
    """Its six faces, each as large as the box there; a point is behind a face from half its depth."""
    if min(table.sides) <= 0.0:
        raise spot.at("key 'sides'").wrong(f"they are {list(table.sides)}; give positive lengths.")
    faces: list[Surface] = []
    for axis, ends in enumerate((("front", "back"), ("left", "right"), ("top", "bottom"))):
        for end, sign in zip(ends, (1.0, -1.0)):
            normal, place = np.zeros(3), np.array(table.place)
            normal[axis] = sign
            place[axis] += 0.5 * sign * table.sides[axis]
            x, y, z = normal.tolist()
            depth = min(INSIDE, 0.5 * table.sides[axis])
            where = (float(place[0]), float(place[1]), float(place[2]))
            name = f"{table.name} {end}"
            faces.append(
                _surface(spot, name, where, (x, y, z), _extents((x, y, z), table.sides), table.friction, depth)
            )
    return faces


def _bar(table: BarTable, spot: Spot) -> Hold:
    start, end = np.array(table.start), np.array(table.end)
    length = float(np.linalg.norm(end - start))
    if length < 1e-6:
        raise spot.wrong("it begins where it ends; give two places, or write it as a hold.")
    x, y, z = ((end - start) / length).tolist()
    mx, my, mz = (0.5 * (start + end)).tolist()
    return Hold(table.name, (mx, my, mz), table.radius, (x, y, z), 0.5 * length)
