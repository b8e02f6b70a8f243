"""Controllers as TOML that a person writes: states with goals and weights, conditions and transitions; read strictly.

    schema = "poise.controller/1"
    name = "stand"

    [options]
    weight = 0.3

    [[states]]
    name = "balance"
    condition = { is = "Standing", also = "Balanced" }
    wishes = [{ is = "ComOver", weight = "$weight" }, { is = "Upright", weight = 0.1, bodies = ["chest"] }]
    then = ["fallen"]

Alone it controls one figure on a level floor. With `within = "hands"` and `figure = "child"` it takes the place of that
figure's controller in that behavior, or in another file; the others, where they stand and the scene stay as they are.

Goals, conditions and entries are named as in Python (`poise synthesize --goals` lists them). A list of goals that
several states share has a name in [groups]. A machine inside a state is an item of `inside`: its states, or `use` with
the name of a behavior or of another file.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from poise.core.errors import InvalidValue, UnknownName
from poise.goals import registry
from poise.goals.checking import require_memory, require_names
from poise.goals.conditions import Always, Condition
from poise.goals.machine import ControlState, Entry, Machine, Part
from poise.goals.wish import Wish
from poise.io.files import read_text
from poise.io.toml_text import parse_toml
from poise.synthesis.behaviors.behavior import Behavior, Role, Setup
from poise.synthesis.behaviors.option import Option as Declared
from poise.synthesis.reading import (
    Option,
    Spot,
    built,
    converted,
    flat_options,
    named,
    only_keys,
    reads,
    require_schema,
    tables,
)

SCHEMA = "poise.controller/1"
MAX_BYTES = 1_000_000
"""Largest controller file that is read [bytes]."""

FILE_KEYS = ("schema", "name", "summary", "seconds", "within", "figure", "options", "groups", "states")
STATE_KEYS = ("name", "wishes", "condition", "then", "enter", "lifts", "grips", "musts", "inside")
PART_KEYS = ("name", "priority", "states", "use")


def load_controller(path: str | os.PathLike[str]) -> Behavior:
    """A controller file as a behavior: its options can be changed, and it runs as a built-in one does.

    Raises:
        UnreadableFile: if there is no such file.
        FileFormatError: if it is no TOML, or says what no controller can; names file, state and key, what is allowed
            and what may have been meant.
    """
    source = Path(path)
    return controller_of(read_text(source, limit=MAX_BYTES), path=source)


def controller_of(
    text: str, *, path: str | os.PathLike[str] = "controller.toml", users: tuple[Path, ...] = ()
) -> Behavior:
    """A controller from TOML text; `path` is what errors call it, and files it uses are beside it.

    Args:
        text: The file's text.
        path: Where it is from.
        users: Files that use this one, which it must not use again.

    Raises:
        FileFormatError: as `load_controller`.
    """
    users = (*users, Path(path).resolve())
    data = parse_toml(text, path)
    spot = Spot(path)
    require_schema(data, SCHEMA, spot)
    only_keys(data, FILE_KEYS, spot)
    defaults = flat_options(data.get("options", {}), spot.at("[options]"))
    name = converted(data.get("name", Path(path).stem), str, spot.at("key 'name'"))
    summary = converted(data.get("summary", ""), str, spot.at("key 'summary'"))

    def build(options: Mapping[str, Option]) -> Setup:
        own = Spot(path, (), options)
        machine = _machine(name, data.get("states"), _groups(data.get("groups", {}), own), own, users)
        if len(users) == 1:  # a file that another uses may ask where that one's machines are
            try:
                require_names(machine)
                require_memory(machine)
            except (UnknownName, InvalidValue) as error:
                raise own.wrong(str(error)) from error
        setup = _around(machine, data, own, users)
        if "seconds" not in data:
            return setup
        seconds = converted(data["seconds"], float, own.at("key 'seconds'"))
        if not 0.0 < seconds < float("inf"):
            raise own.at("key 'seconds'").wrong(f"it is {seconds:g}; give a positive number.")
        return replace(setup, seconds=seconds)

    build(defaults)  # what is wrong is said when the file is read
    return Behavior(name, summary, build, {k: Declared(v) for k, v in defaults.items()})


def _around(machine: Machine, data: Mapping[str, Any], spot: Spot, users: tuple[Path, ...]) -> Setup:
    """The setup in which a machine works: its own, or the one that it takes a figure's place in."""
    if "within" not in data:
        if "figure" in data:
            raise spot.at("key 'figure'").wrong("it says whose place this takes.", 'Write within = "hands" as well.')
        return Setup((Role(machine),))
    here = spot.at("key 'within'")
    behavior = _behavior(converted(data["within"], str, here), here, users)
    setup = behavior.setup({name: value for name, value in spot.options.items() if name in behavior.declared})
    roles = {role.name: role for role in setup.roles}
    who = data.get("figure", setup.roles[0].name)
    named(who, roles, "figure", spot.at("key 'figure'"))
    return replace(setup, roles=tuple(replace(r, machine=machine) if r.name == who else r for r in setup.roles))


def _machine(name: str, states: Any, groups: Mapping[str, Any], spot: Spot, users: tuple[Path, ...]) -> Machine:
    if not isinstance(states, list) or not states:
        raise spot.at("key 'states'").wrong("a controller needs at least one state.", "Write [[states]] with a name.")
    found: list[ControlState] = []
    for number, table in enumerate(tables(states, spot.at("key 'states'"))):
        label = table.get("name")
        found.append(_state(table, groups, spot.at(f"state {label!r}" if label else f"state {number + 1}"), users))
    try:
        return Machine(name, tuple(found))
    except InvalidValue as error:
        raise spot.wrong(str(error)) from error


def _state(table: dict[str, Any], groups: Mapping[str, Any], spot: Spot, users: tuple[Path, ...]) -> ControlState:
    only_keys(table, STATE_KEYS, spot)
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise spot.wrong("a state needs a name.", 'Write name = "balance".')
    parts = tables(table.get("inside", []), spot.at("key 'inside'"))
    condition = table.get("condition")
    return ControlState(
        name,
        _wishes(table.get("wishes", []), groups, spot.at("key 'wishes'")),
        Always() if condition is None else _condition(condition, spot.at("key 'condition'")),
        converted(table.get("then", []), tuple[str, ...], spot.at("key 'then'")),
        None if "enter" not in table else _entry(table["enter"], spot.at("key 'enter'")),
        converted(table.get("lifts", []), tuple[str, ...], spot.at("key 'lifts'")),
        converted(table.get("grips", []), tuple[str, ...], spot.at("key 'grips'")),
        _wishes(table.get("musts", []), groups, spot.at("key 'musts'")),
        tuple(_part(p, groups, spot.at(f"inside {k + 1}"), users) for k, p in enumerate(parts)),
    )


def _groups(table: Any, spot: Spot) -> dict[str, list[Any]]:
    spot = spot.at("[groups]")
    if not isinstance(table, dict) or not all(isinstance(v, list) for v in table.values()):
        raise spot.wrong("a table of lists of goals is needed.", 'Write posture = [{ is = "Pose", weight = 0.005 }].')
    for name, items in table.items():
        _wishes(items, {}, spot.at(f"key {name!r}"))
    return table


def _wishes(items: Any, groups: Mapping[str, Any], spot: Spot) -> tuple[Wish, ...]:
    out: list[Wish] = []
    for number, table in enumerate(tables(items, spot)):
        here = spot.at(f"goal {number + 1}")
        if "group" in table:
            only_keys(table, ("group",), here)
            out += _wishes(named(table["group"], groups, "group", here), {}, here)
        else:
            out.append(_wish(table, here))
    return tuple(out)


def _wish(value: Any, spot: Spot) -> Wish:
    kinds = registry.wishes()
    table = _table(value, spot)
    kind = named(table.pop("is", None), kinds, "goal", spot)
    return built(kind, table, spot.at(kind.__name__))


def _condition(value: Any, spot: Spot) -> Condition:
    table = _table(value, spot)
    kind = named(table.pop("is", None), registry.conditions(), "condition", spot)
    return built(kind, table, spot.at(kind.__name__))


def _table(value: Any, spot: Spot) -> dict[str, Any]:
    """A goal or condition as a table of its own; a bare name is one without settings."""
    if isinstance(value, str):
        return {"is": value}
    if not isinstance(value, dict) or "is" not in value:
        raise spot.wrong("its name is missing.", 'Write { is = "Balanced" }, with its settings after the name.')
    return dict(value)


def _entry(value: Any, spot: Spot) -> Entry:
    table = _table(value, spot)
    entries = registry.entries()
    function = named(table.pop("is", None), entries, "entry", spot)
    if not table:
        return function
    allowed = {p.name: p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
    only_keys(table, allowed, spot)
    hints = {name: type(p.default) for name, p in allowed.items()}
    return partial(function, **{k: converted(v, hints[k], spot.at(f"key {k!r}")) for k, v in table.items()})


def _part(table: dict[str, Any], groups: Mapping[str, Any], spot: Spot, users: tuple[Path, ...]) -> Part:
    only_keys(table, PART_KEYS, spot)
    if ("use" in table) == ("states" in table):
        raise spot.wrong("it needs either `states`, or `use` with the name of a behavior or of a controller file.")
    if "use" in table:
        machine = _used(converted(table["use"], str, spot.at("key 'use'")), spot.at("key 'use'"), users)
        if "name" in table:
            machine = Machine(converted(table["name"], str, spot.at("key 'name'")), machine.states)
    else:
        name = converted(table.get("name", "inside"), str, spot.at("key 'name'"))
        machine = _machine(name, table["states"], groups, spot, users)
    priority = converted(table.get("priority", 1.0), float, spot.at("key 'priority'"))
    try:
        return Part(machine, priority)
    except InvalidValue as error:
        raise spot.at("key 'priority'").wrong(str(error)) from error


def _used(name: str, spot: Spot, users: tuple[Path, ...]) -> Machine:
    """The machine of a behavior, or of a file beside this one."""
    return _behavior(name, spot, users).setup().roles[0].machine


def _behavior(name: str, spot: Spot, users: tuple[Path, ...]) -> Behavior:
    """A built-in behavior, or that of a file beside this one."""
    from poise.synthesis.behaviors.find import find_behavior

    if not name.lower().endswith(".toml"):
        try:
            return find_behavior(name)
        except UnknownName as error:
            raise spot.wrong(str(error)) from error
    path = (users[-1].parent / name).resolve()
    if not path.is_file():
        raise spot.wrong(f"there is no file {name} beside this one.", "Give its name, or that of a behavior.")
    if path in users:
        raise spot.wrong(f"{name} uses itself.", "A machine cannot be inside itself.")
    return controller_of(read_text(path, limit=MAX_BYTES), path=path, users=users)


reads(Condition, _condition)
reads(Wish, _wish)
