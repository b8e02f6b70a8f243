"""Events of a scene file: things that are taken away, moved from key to key, and thrown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from poise.core.errors import InvalidValue
from poise.goals.surroundings import Ball, Hold, Movement, Surface, Triple, throw
from poise.synthesis.reading import Spot, built, converted, only_keys, tables
from poise.synthesis.scene_tables import BallTable, KeyTable

EVENTS = ("remove", "move", "throw")


def take_in(
    table: dict[str, Any], groups: dict[str, list[Surface]], holds: dict[str, Hold], balls: dict[str, BallTable],
    thrown: dict[str, Ball], spot: Spot,
) -> None:  # fmt: skip
    """Take in one event.

    Args:
        table: What the file says of it.
        groups: The faces of floors, walls and boxes by the name of the thing; changed.
        holds: Holds and bars by name; changed.
        balls: Those that can be thrown, by name.
        thrown: Those that are; a throw adds its ball.
        spot: Where it is.

    Raises:
        FileFormatError: if it says what no event can.
    """
    kinds = [k for k in EVENTS if k in table]
    if len(kinds) != 1:
        raise spot.wrong(f"it has {' and '.join(kinds) or 'none'} of the keys {', '.join(EVENTS)}; give one of them.")
    if kinds == ["throw"]:
        _throw(table, balls, thrown, spot)
        return
    named = table[kinds[0]]
    names = converted(named if isinstance(named, list) else [named], tuple[str, ...], spot.at(f"key {kinds[0]!r}"))
    change = _removal(table, spot) if kinds == ["remove"] else _movement(table, spot)
    for name in names:
        if name not in groups and name not in holds:
            known = ", ".join([*groups, *holds]) or "none"
            raise spot.at(f"key {kinds[0]!r}").wrong(f"there is nothing called {name!r}.", f"Things: {known}.")
        if name in groups:
            groups[name] = [replace(s, **_about(change, groups[name])) for s in groups[name]]
        if name in holds:
            holds[name] = replace(holds[name], **change)


def _about(change: dict[str, Any], group: list[Surface]) -> dict[str, Any]:
    """The change of each face of a group: those of a box turn about its middle, if nothing else is said."""
    movement = change.get("movement")
    if movement is None or movement.about is not None or len(group) == 1:
        return change
    x, y, z = np.mean([s.origin for s in group], axis=0).tolist()
    return {"movement": replace(movement, about=(x, y, z))}


def _removal(table: dict[str, Any], spot: Spot) -> dict[str, Any]:
    only_keys(table, ("remove", "time"), spot)
    return {"until": _time(table, spot)}


def _time(table: Mapping[str, Any], spot: Spot) -> float:
    if "time" not in table:
        raise spot.wrong("the key 'time' is missing.")
    time = converted(table["time"], float, spot.at("key 'time'"))
    if not 0.0 <= time < np.inf:
        raise spot.at("key 'time'").wrong(f"it is {time:g}; give a time of zero or more.")
    return time


def _movement(table: dict[str, Any], spot: Spot) -> dict[str, Any]:
    only_keys(table, ("move", "keys", "about"), spot)
    keys = [
        built(KeyTable, k, spot.at(f"key {n + 1} of its movement"))
        for n, k in enumerate(tables(table.get("keys", []), spot.at("key 'keys'")))
    ]
    about = converted(table["about"], Triple, spot.at("key 'about'")) if "about" in table else None
    turns = tuple(
        (float(np.radians(k.turn[0])), float(np.radians(k.turn[1])), float(np.radians(k.turn[2]))) for k in keys
    )
    try:
        return {"movement": Movement(tuple(k.time for k in keys), tuple(k.shift for k in keys), turns, about)}
    except InvalidValue as error:
        raise spot.at("key 'keys'").wrong(str(error)) from error


def _throw(table: dict[str, Any], balls: dict[str, BallTable], thrown: dict[str, Ball], spot: Spot) -> None:
    only_keys(table, ("throw", "time", "place", "velocity", "to", "flight"), spot)
    name = converted(table["throw"], str, spot.at("key 'throw'"))
    if name not in balls:
        raise spot.at("key 'throw'").wrong(f"there is no ball {name!r}.", f"Balls: {', '.join(balls) or 'none'}.")
    if name in thrown:
        raise spot.wrong(f"ball {name!r} is thrown twice; give each throw a ball of its own.")
    if "place" not in table:
        raise spot.wrong("the key 'place' is missing: where it is thrown from.")
    place = converted(table["place"], Triple, spot.at("key 'place'"))
    ball, at = balls[name], _time(table, spot)
    velocity = _velocity(table, place, spot)
    try:
        thrown[name] = Ball(name, place, velocity, at, ball.radius, ball.mass, ball.harmful)
    except InvalidValue as error:
        raise spot.wrong(str(error)) from error


def _velocity(table: Mapping[str, Any], place: Triple, spot: Spot) -> Triple:
    """As given, or such that the ball passes a place after its flight."""
    if "velocity" in table:
        if "to" in table or "flight" in table:
            raise spot.wrong("give either its velocity, or `to` and `flight`.")
        return converted(table["velocity"], Triple, spot.at("key 'velocity'"))
    if "to" not in table or "flight" not in table:
        raise spot.wrong("give its velocity, or where it goes (`to`) and for how long (`flight`).")
    to = converted(table["to"], Triple, spot.at("key 'to'"))
    flight = converted(table["flight"], float, spot.at("key 'flight'"))
    if not 0.0 < flight < np.inf:
        raise spot.at("key 'flight'").wrong(f"it is {flight:g}; give a positive time.")
    return throw(place, to, flight)
