"""The figures of a scene file: who stands where, what drives each, and what changes while the world runs.

[[figures]]
name = "bob"
clip = "walk.bvh"               # beside the scene file
place = [2.4, 0.1]
heading = 180

[[events]]
drive = "bob"
by = "ragdoll"
time = 1.2
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import AfterValidator, Field

from poise.body.character import Character, fit
from poise.body.posing import motion_to_q
from poise.body.toml_file import load_character
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Motion
from poise.filter.forces import Push
from poise.goals.surroundings import Surface
from poise.io import load
from poise.io.files import read_text
from poise.io.format import file_and_clip
from poise.physics.mujoco_backend import model_of
from poise.synthesis.scene_file import FIGURE_EVENTS, scene_from, scene_table
from poise.synthesis.scene_tables import SceneTable, Time
from poise.synthesis.toml_schema import Number, Pair, Place, Table, Text, Triple, label, meant, validate
from poise.world.drivers import Clip, Driver, moved_to
from poise.world.guides import MOST_HELP, Guide
from poise.world.holds import Hold
from poise.world.muscles import Goals, Ragdoll
from poise.world.scenes import MOST_BYTES


def _duration(time: float) -> float:
    if not 0.0 < time < np.inf:
        raise ValueError("give a positive time")
    return time


def _help(share: float) -> float:
    if not 0.0 < share <= MOST_HELP:
        raise ValueError(f"give a number above 0, up to {MOST_HELP:g}")
    return share


class DriverTable(Table):
    """What drives a figure: a clip (from a time on), goals (a behavior), or nothing.

    A clip and a get-up clip are files beside the scene file, FILE@CLIP of one with several; `height` is that of the
    figure in them, such as "1.8m". One that `travels` goes ahead as fast as its feet slide back.
    """

    clip: Text | None = None
    height: Text | None = None
    travels: bool = False
    sees: bool = True
    start: Time = 0.0
    get_up: Text | None = None
    behavior: Text | None = None
    options: dict[str, Any] = Field(default_factory=dict)


class FigureTable(DriverTable):
    """[[figures]]: one that the world drives itself."""

    name: Text
    driver: Literal["clip", "goals", "ragdoll"] | None = None
    character: Text | None = None
    place: Pair | None = None
    heading: Number | None = None


class DriveTable(DriverTable):
    """An event that lets a figure be driven otherwise."""

    drive: Text
    by: Literal["clip", "goals", "ragdoll"]
    time: Time


class PushTable(Table):
    """An event that pushes a body of a figure."""

    push: Text
    body: Text
    force: Triple
    time: Time
    duration: Annotated[Number, AfterValidator(_duration)] = 0.2


class GuideTable(Table):
    """An event that gives a body a goal of its own: where it is to be, and when."""

    guide: Text
    place: Triple
    time: Time
    by: Time
    turn: Triple | None = None
    help: Annotated[Number, AfterValidator(_help)] = 1.0


class TakeHoldTable(Table):
    """An event that lets a figure take hold of a body of another one, or of a body of the scene, until it lets go."""

    hold: Text
    by: Text
    hand: Text
    body: Text = ""
    time: Time
    until: Time | None = None


class Cast(NamedTuple):
    """The figures of a scene file.

    Attributes:
        drivers: By the figure's name.
        events: Time [s], name of the figure or body, and its new driver, a push, a goal or a hold, in order.
        walls: What stands around them, without the floor.
    """

    drivers: dict[str, Driver]
    events: tuple[tuple[float, str, Driver | Push | Guide | Hold], ...] = ()
    walls: tuple[Surface, ...] = ()


def cast_of(scene: str | os.PathLike[str] | None) -> Cast:
    """The figures of a scene file (.toml), ready to begin; other scenes have none.

    Raises:
        FileFormatError: if a table of a figure is not valid; names it.
        UnreadableFile: if there is no such clip or character.
    """
    if scene is None or "<mujoco" in str(scene) or Path(scene).suffix.lower() != ".toml":
        return Cast({})
    path = Path(scene)
    file, place = scene_table(read_text(path, limit=MOST_BYTES), path=path), Place(path)
    return _cast(file, place, path.parent)


def _cast(file: SceneTable, place: Place, folder: Path) -> Cast:
    @cache
    def motion(name: str, height: str | None = None) -> Motion:
        path, clip = file_and_clip(name, folder)
        try:
            return load(path, clip=clip, height=height)
        except FileFormatError as error:
            if "clip" not in error.cure:
                raise
            cure = f'Name one in the scene file, such as clip = "{path.name}@0" or "{path.name}@NAME".'
            raise FileFormatError(error.problem, path=path, cure=cure) from error

    drivers: dict[str, Driver] = {}
    played: dict[str, tuple[FigureTable, Character | None]] = {}
    for k, table in enumerate(file.figures):
        here = place.at(label("figures", k, table))
        own = validate(FigureTable, table, here)
        if own.name in drivers:
            raise here.error("another figure has this name.", "Give each a name of its own.")
        kind = own.driver or ("goals" if own.clip is None else "clip")
        if own.character is not None:
            character = load_character(folder / own.character)
        else:
            character = fit(motion(own.clip, own.height)) if own.clip is not None else None
        heading = None if own.heading is None else float(np.radians(own.heading))
        at = None if own.place is None else (own.place[0], own.place[1])
        if kind == "ragdoll":
            if own.clip is None or character is None:
                raise here.error("a ragdoll has no pose to begin with.", "Give a clip; it begins as the clip does.")
            drivers[own.name] = _falling(_from(motion(own.clip, own.height), own.start), character, at, heading)
        else:
            drivers[own.name] = _driver(own, kind, character, motion, here, at, heading)
        played[own.name] = own, drivers[own.name].character
    events: list[tuple[float, str, Driver | Push | Guide | Hold]] = []
    for k, table in enumerate(file.events):
        if not set(FIGURE_EVENTS) & set(table):
            continue
        here = place.at(label("events", k, table))
        if "guide" in table:
            events.append(_goal_of(validate(GuideTable, table, here), file, here))
            continue
        if "hold" in table:
            events += _holds_of(validate(TakeHoldTable, table, here), played, file, here)
            continue
        change = validate(DriveTable if "drive" in table else PushTable, table, here)
        name = change.drive if isinstance(change, DriveTable) else change.push
        if name not in played:
            known = ", ".join(played) or "none"
            raise here.error(f"there is no figure {name!r}.", f"{meant(name, list(played))}Figures: {known}.")
        own, character = played[name]
        if isinstance(change, DriveTable):
            if change.by == "clip" and change.clip is None:
                change = change.model_copy(
                    update={
                        "clip": own.clip,
                        "height": own.height,
                        "get_up": change.get_up or own.get_up,
                        "travels": own.travels,
                        "sees": own.sees,
                    }
                )
            driver = Ragdoll() if change.by == "ragdoll" else _driver(change, change.by, character, motion, here)
            events.append((change.time, name, driver))
        else:
            if character is not None:
                _require_body(character, change.body, here)
            events.append((change.time, name, Push(change.body, change.force, change.time, change.duration)))
    floor = file.floor.name if file.floor is not False else ""
    walls = tuple(surface for surface in scene_from(file, place).surfaces if surface.name != floor)
    return Cast(drivers, tuple(sorted(events, key=lambda event: event[0])), walls)


def _holds_of(
    table: TakeHoldTable, played: Mapping[str, tuple[FigureTable, Character | None]], file: SceneTable, here: Place
) -> list[tuple[float, str, Hold]]:
    """When a figure takes hold, and when it lets go."""
    things = [thing.name for thing in (*file.bodies, *file.balls)]
    for key, name, known in (("by", table.by, [*played]), ("hold", table.hold, [*played, *things])):
        if name not in known:
            cure = f"{meant(name, known)}There are: {', '.join(known) or 'none'}."
            raise here.at(f"key {key!r}").error(f"there is nothing called {name!r} for it.", cure)
    for name, body, key in ((table.by, table.hand, "hand"), (table.hold, table.body, "body")):
        character = played[name][1] if name in played else None
        if character is not None:
            _require_body(character, body, here, key)
    hold = Hold(table.hand, table.hold, table.body)
    ends = [] if table.until is None else [(table.until, table.by, hold._replace(lets_go=True))]
    return [(table.time, table.by, hold), *ends]


def _goal_of(table: GuideTable, file: SceneTable, here: Place) -> tuple[float, str, Guide]:
    """The goal of a body from a time on."""
    names = [thing.name for thing in (*file.bodies, *file.balls)]
    if table.guide not in names:
        known = ", ".join(names) or "none"
        raise here.error(f"there is no body {table.guide!r}.", f"{meant(table.guide, names)}Bodies: {known}.")
    if any(b.name == table.guide and (b.hinge or b.slide) is not None for b in file.bodies):
        raise here.error(
            f"{table.guide!r} does not move freely.", "Only a body without hinge or slide can have a goal."
        )
    if not table.by > table.time:
        raise here.error(f"its goal is for {table.by:g} s, but it begins at {table.time:g} s.", "Give a later `by`.")
    x, y, z = np.radians(table.turn or (0.0, 0.0, 0.0)).tolist()
    return table.time, table.guide, Guide(table.place, table.by, table.turn and (x, y, z), table.help)


def _driver(
    table: DriverTable,
    kind: str,
    character: Character | None,
    motion: Any,
    here: Place,
    place: tuple[float, float] | None = None,
    heading: float | None = None,
) -> Driver:
    """A driver that plays a clip or goals."""
    try:
        if kind == "goals":
            behavior = table.behavior or "balance"
            return Goals(behavior, character, options=table.options, place=place, heading=heading or 0.0)
        if table.clip is None:
            raise here.error("it has no clip to play.", "Give clip, the file's name.")
        get_up = None if table.get_up is None else motion(table.get_up, table.height)
        clip = _from(motion(table.clip, table.height), table.start)
        return Clip(
            clip, character, place=place, heading=heading, get_up=get_up, travels=table.travels, sees=table.sees
        )
    except InvalidValue as error:
        raise here.error(str(error)) from error


def _falling(motion: Motion, character: Character, place: tuple[float, float] | None, heading: float | None) -> Ragdoll:
    """A ragdoll in the first pose of a motion, as fast as it is there."""
    q = motion_to_q(character, moved_to(motion, place, heading, 0.0).frames(np.arange(2)))
    ragdoll = Ragdoll(character, q[0], model_of(character).difference(q[0], q[1], motion.dt))
    ragdoll.drawn = motion
    return ragdoll


def _from(motion: Motion, start: float) -> Motion:
    return motion if start <= 0.0 else motion.cut(start, motion.duration)


def _require_body(character: Character, body: str, here: Place, key: str = "body") -> None:
    try:
        character.body_index(body)
    except LookupError as error:
        raise here.at(f"key {key!r}").error(str(error)) from error
