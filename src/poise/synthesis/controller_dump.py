"""A controller as TOML text that reads back as the same controller."""

from __future__ import annotations

import dataclasses
import math
import os
from functools import partial
from pathlib import Path
from typing import Any

from poise.core.errors import InvalidValue
from poise.goals import registry
from poise.goals.conditions import Always, Condition
from poise.goals.machine import ControlState, Entry, Machine, Part
from poise.goals.printing import default_of, entry_name
from poise.goals.wish import Wish
from poise.io.files import write_atomically
from poise.io.toml_text import quoted

WIDEST = 120


def save_controller(
    machine: Machine, path: str | os.PathLike[str], *, seconds: float | None = None,
    within: tuple[str, str] | None = None,
) -> None:  # fmt: skip
    """Write a controller as TOML; never half.

    Raises:
        InvalidValue: if a part of it cannot be written in a file.
        UnreadableFile: if it cannot be written there.
    """
    write_atomically(Path(path), controller_text(machine, seconds=seconds, within=within).encode())


def controller_text(
    machine: Machine, *, seconds: float | None = None, within: tuple[str, str] | None = None
) -> str:  # fmt: skip
    """A controller as TOML; `controller_of` of it gives an equal machine.

    Args:
        machine: The controller.
        seconds: How long it runs if nobody says [s].
        within: Behavior and figure whose controller it takes the place of.

    Raises:
        InvalidValue: if a goal holds what no file can, or an entry was not marked with `@entry`; names it.
    """
    from poise.synthesis.controller_file import SCHEMA

    out = [f'schema = "{SCHEMA}"', f"name = {quoted(machine.name)}"]
    out += [] if seconds is None else [f"seconds = {_value(seconds, 'seconds')}"]
    out += [] if within is None else [f"within = {quoted(within[0])}", f"figure = {quoted(within[1])}"]
    for state in machine.states:
        out += _state(state, "states")
    return "\n".join(out) + "\n"


def _state(state: ControlState, table: str) -> list[str]:
    out = ["", f"[[{table}]]", f"name = {quoted(state.name)}"]
    if state.condition != Always():
        out.append(f"condition = {_thing(state.condition, state.name)}")
    if state.enter is not None:
        out.append(f"enter = {_entry(state.enter, state.name)}")
    out += _list("wishes", [_thing(w, state.name) for w in state.wishes])
    out += _list("musts", [_thing(w, state.name) for w in state.musts])
    out += _list("then", [quoted(t) for t in state.then])
    out += _list("lifts", [quoted(part) for part in state.lifts])
    out += _list("grips", [quoted(part) for part in state.grips])
    for part in state.inside:
        out += _part(part, f"{table}.inside")
    return out


def _part(part: Part, table: str) -> list[str]:
    out = ["", f"[[{table}]]", f"name = {quoted(part.machine.name)}"]
    out += [] if part.priority == 1.0 else [f"priority = {_value(part.priority, 'priority')}"]
    for state in part.machine.states:
        out += _state(state, f"{table}.states")
    return out


def _list(key: str, items: list[str]) -> list[str]:
    if not items:
        return []
    line = f"{key} = [{', '.join(items)}]"
    return [line] if len(line) <= WIDEST else [f"{key} = [", *(f"  {item}," for item in items), "]"]


def _thing(thing: Wish | Condition, where: str) -> str:
    """A goal or a condition with the settings that are not as they come."""
    kind: Any = type(thing)
    name = registry.name_of(kind, registry.wishes() | registry.conditions())
    if name is None:
        raise InvalidValue(
            f"State {where!r}: {kind.__name__} is no frozen dataclass, so it cannot be written in a file."
        )
    parts = [f"is = {quoted(name)}"]
    for field in dataclasses.fields(kind):
        value = getattr(thing, field.name)
        if value != default_of(field):
            parts.append(f"{field.name} = {_value(value, f'state {where!r}, {kind.__name__}.{field.name}')}")
    return "{ " + ", ".join(parts) + " }"


def _entry(entry: Entry, where: str) -> str:
    name = registry.name_of(entry.func if isinstance(entry, partial) else entry, registry.entries())
    if name is None:
        raise InvalidValue(
            f"State {where!r} enters with {entry_name(entry)!r}, which no file can name: entries are public functions "
            "of poise.goals. Put it there, or leave it out."
        )
    settings: dict[str, Any] = dict(entry.keywords) if isinstance(entry, partial) else {}
    if not settings:
        return quoted(name)
    words = [f"{k} = {_value(v, f'state {where!r}, {name}.{k}')}" for k, v in settings.items()]
    return "{ " + ", ".join([f"is = {quoted(name)}", *words]) + " }"


def _value(value: Any, where: str) -> str:
    if isinstance(value, Wish | Condition):
        return _thing(value, where)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else ("inf" if value > 0 else "-inf" if value < 0 else "nan")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(_value(v, where) for v in value)}]"
    raise InvalidValue(f"{where[0].upper()}{where[1:]} is a {type(value).__name__}, which no controller file can hold.")
