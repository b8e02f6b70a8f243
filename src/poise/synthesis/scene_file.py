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
With [[bodies]], [[ropes]] and [rubble] that move by physics (`poise.world.scenes`), or [[figures]] (`poise.world.cast`)
it is a world. `poise simulate --scene`, `poise synthesize --scene` and `poise world` run it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from poise.core.errors import InvalidValue
from poise.goals import surroundings
from poise.goals.surroundings import Ball, Hold, Movement, Scene, Surface, throw
from poise.io.files import parse_toml, read_text
from poise.synthesis.scene_tables import (
    BallTable,
    BarTable,
    BoxTable,
    MoveTable,
    RemoveTable,
    SceneTable,
    ThrowTable,
)
from poise.synthesis.toml_schema import (
    Expander,
    Option,
    Place,
    label,
    meant,
    options_of,
    require_schema,
    validate,
)

SCHEMA = "poise.scene/1"
MAX_BYTES = 1_000_000
"""Largest scene file that is read [bytes]."""
INSIDE = 0.2
"""Points deeper inside a thin thing than this are behind it [m]."""
EVENTS = ("remove", "move", "throw")
FIGURE_EVENTS = ("drive", "push", "guide", "hold")
"""Events of [[figures]] and [[bodies]], which `poise.world.cast` reads."""
MOVING = ("bodies", "ropes", "rubble", "figures")
"""Tables of what moves by physics; a scene with one of them is a world."""


def load_scene(path: str | os.PathLike[str], options: Mapping[str, Option] | None = None) -> Scene:
    """A scene from a file.

    Args:
        path: The file.
        options: What to change of the file's [options].

    Raises:
        UnreadableFile: if there is no such file.
        FileFormatError: if it is not TOML or not a scene; names file, object and key, and what is allowed.
        InvalidValue: if it is no scene file, but rubble or a MuJoCo file.
    """
    if _is_rubble_or_mjcf(path):
        raise InvalidValue(
            f"{str(path)!r} holds bodies that move by physics; use poise.synthesize, or world=poise.World(…)."
        )
    return scene_of(read_text(Path(path), limit=MAX_BYTES), options, path=path)


def scene_options(path: str | os.PathLike[str]) -> dict[str, Option]:
    """The options of a scene file by dotted name, with their defaults."""
    data = parse_toml(read_text(Path(path), limit=MAX_BYTES), path)
    return options_of(data.get("options", {}), Place(path, ("[options]",)))


def scene_of(
    text: str, options: Mapping[str, Option] | None = None, *, path: str | os.PathLike[str] = "scene.toml"
) -> Scene:
    """A scene from TOML text; `path` is what errors call it.

    Raises:
        FileFormatError: as `load_scene`.
    """
    place, file = Place(path), scene_table(text, options, path=path)
    if moving := _moving(file):
        raise place.error(
            f"it has {', '.join(moving)}, which move by physics.",
            "Run it with `poise synthesize --scene`, or in Python with poise.synthesize(…, scene=file).",
        )
    return scene_from(file, place)


def is_world(scene: str | os.PathLike[str]) -> bool:
    """Whether a scene has what moves by physics: rubble, a MuJoCo file, or a scene file with such tables or events.

    Raises:
        FileFormatError: as `load_scene`.
    """
    path = Path(scene)
    return _is_rubble_or_mjcf(scene) or bool(_moving(scene_table(read_text(path, limit=MAX_BYTES), path=path)))


def _is_rubble_or_mjcf(scene: str | os.PathLike[str]) -> bool:
    """Whether it is rubble or a MuJoCo file."""
    return str(scene).startswith("rubble:") or "<mujoco" in str(scene) or Path(scene).suffix.lower() == ".xml"


def _moving(file: SceneTable) -> list[str]:
    """Tables and events of a file that only a world plays."""
    events = [key for key in FIGURE_EVENTS if any(key in event for event in file.events)]
    return [key for key in MOVING if getattr(file, key)] + [f"events that {key}" for key in events]


def scene_from(file: SceneTable, place: Place) -> Scene:
    """The scene of a scene file, without the bodies that move by physics.

    Raises:
        FileFormatError: as `load_scene`.
    """
    surfaces: dict[str, list[Surface]] = {}
    holds: dict[str, Hold] = {}
    if file.floor is not False:
        f, up = file.floor, (0.0, 0.0, 1.0)
        surfaces[f.name] = [Surface(f.name, f.place, up, _extents(up, (*f.size, 0.0)), f.friction, INSIDE)]
    for w in file.walls:
        _add(w.name, [Surface(w.name, w.place, w.facing, w.size, w.friction, INSIDE)], surfaces, place)
    for b in file.boxes:
        _add(b.name, _box(b), surfaces, place)
    for h in file.holds:
        _add(h.name, Hold(h.name, h.place, h.radius, friction=h.friction, normal=h.facing), holds, place)
    for r in file.bars:
        _add(r.name, _bar(r, place.at(f"bar {r.name!r}")), holds, place)
    balls = {b.name: b for b in file.balls}
    thrown: dict[str, Ball] = {}
    for k, table in enumerate(file.events):
        here = place.at(label("events", k, table))
        if set(FIGURE_EVENTS) & set(table):
            continue
        kinds = [key for key in EVENTS if key in table]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise here.error(f"it has {found} of the keys {', '.join((*EVENTS, *FIGURE_EVENTS))}; give one of them.")
        if kinds == ["throw"]:
            _throw(validate(ThrowTable, table, here), balls, thrown, here)
        elif kinds == ["remove"]:
            removed = validate(RemoveTable, table, here)
            _change(removed.remove, {"until": removed.time}, surfaces, holds, here.at("key 'remove'"))
        else:
            moved = validate(MoveTable, table, here)
            _change(moved.move, {"movement": _movement(moved, here)}, surfaces, holds, here.at("key 'move'"))
    for name in balls:
        if name not in thrown:
            raise place.at(f"ball {name!r}").error(
                "nothing throws it.", f'Write [[events]] throw = "{name}", time, place, velocity.'
            )
    try:
        return Scene(
            tuple(s for faces in surfaces.values() for s in faces), tuple(holds.values()), tuple(thrown.values())
        )
    except InvalidValue as error:
        raise place.error(str(error)) from error


def scene_table(
    text: str, options: Mapping[str, Option] | None = None, *, path: str | os.PathLike[str] = "scene.toml"
) -> SceneTable:
    """What a scene file says, with its options filled in, validated.

    Raises:
        FileFormatError: as `load_scene`.
    """
    data, place = parse_toml(text, path), Place(path)
    require_schema(data, SCHEMA, place)
    known = options_of(data.get("options", {}), place.at("[options]"))
    for name in options or {}:
        if name not in known:
            raise place.error(f"there is no option {name!r}.", f"Options: {', '.join(known) or 'none'}.")
    return validate(SceneTable, Expander({**known, **(options or {})})(data, place), place)


def _add(name: Any, thing: Any, known: dict[str, Any], place: Place) -> None:
    if name in known:
        raise place.error(f"two things are called {name!r}; give each a name of its own.")
    known[name] = thing


def _extents(normal: surroundings.Triple, sides: surroundings.Triple) -> tuple[float, float]:
    """Width and height, as a surface across an axis has them, of sides along x, y and z."""
    width, height = (sides[int(np.argmax(np.abs(row)))] for row in Surface("", (0.0, 0.0, 0.0), normal).frame[:2])
    return width, height


def _box(table: BoxTable) -> list[Surface]:
    """Its six faces, each as large as the box there; a point is behind a face from half its depth."""
    faces: list[Surface] = []
    for axis, ends in enumerate((("front", "back"), ("left", "right"), ("top", "bottom"))):
        for end, sign in zip(ends, (1.0, -1.0)):
            normal, middle = [0.0, 0.0, 0.0], list(table.place)
            normal[axis] = sign
            middle[axis] += 0.5 * sign * table.sides[axis]
            (x, y, z), (nx, ny, nz) = middle, normal
            size = _extents((nx, ny, nz), table.sides)
            depth = min(INSIDE, 0.5 * table.sides[axis])
            faces.append(
                Surface(f"{table.name} {end}", (x, y, z), (nx, ny, nz), size, table.friction, depth, solid=table.name)
            )
    return faces


def _bar(table: BarTable, place: Place) -> Hold:
    start, end = np.array(table.start), np.array(table.end)
    length = float(np.linalg.norm(end - start))
    if length < 1e-6:
        raise place.error("it begins where it ends; give two places, or write it as a hold.")
    x, y, z = ((end - start) / length).tolist()
    mx, my, mz = (0.5 * (start + end)).tolist()
    return Hold(table.name, (mx, my, mz), table.radius, (x, y, z), 0.5 * length)


def _change(
    named: str | list[str],
    change: dict[str, Any],
    surfaces: dict[str, list[Surface]],
    holds: dict[str, Hold],
    place: Place,
) -> None:
    """Change things by name, in place; faces of one box turn about its middle if no other point is given."""
    for name in [named] if isinstance(named, str) else named:
        if name not in surfaces and name not in holds:
            known = [*surfaces, *holds]
            raise place.error(
                f"there is nothing called {name!r}.", f"{meant(name, known)}Things: {', '.join(known) or 'none'}."
            )
        if name in surfaces:
            own, faces = change, surfaces[name]
            movement = change.get("movement")
            if movement is not None and movement.about is None and len(faces) > 1:
                x, y, z = np.mean([s.origin for s in faces], axis=0).tolist()
                own = {"movement": replace(movement, about=(x, y, z))}
            surfaces[name] = [replace(s, **own) for s in faces]
        if name in holds:
            holds[name] = replace(holds[name], **change)


def _movement(table: MoveTable, place: Place) -> Movement:
    keys = table.keys
    turns = [(float(x), float(y), float(z)) for x, y, z in np.radians([k.turn for k in keys]).reshape(-1, 3)]
    try:
        return Movement(tuple(k.time for k in keys), tuple(k.shift for k in keys), tuple(turns), table.about)
    except InvalidValue as error:
        raise place.at("key 'keys'").error(str(error)) from error


def _throw(table: ThrowTable, balls: Mapping[str, BallTable], thrown: dict[str, Ball], place: Place) -> None:
    name = table.throw
    if name not in balls:
        raise place.at("key 'throw'").error(
            f"there is no ball {name!r}.", f"{meant(name, balls)}Balls: {', '.join(balls) or 'none'}."
        )
    if name in thrown:
        raise place.error(f"ball {name!r} is thrown twice; give each throw a ball of its own.")
    velocity = table.velocity
    if velocity is not None and (table.to is not None or table.flight is not None):
        raise place.error("give either its velocity, or `to` and `flight`.")
    if velocity is None:
        if table.to is None or table.flight is None:
            raise place.error("give its velocity, or where it goes (`to`) and for how long (`flight`).")
        velocity = throw(table.place, table.to, table.flight)
    ball = balls[name]
    try:
        thrown[name] = Ball(name, table.place, velocity, table.time, ball.radius, ball.mass, ball.harmful)
    except InvalidValue as error:
        raise place.error(str(error)) from error
