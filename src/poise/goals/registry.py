"""Wishes, conditions and entries by name: whatever module defines one makes it known, there is no second list.

A wish or a condition is a frozen dataclass; its name is the class's, its settings are the fields. An entry is a public
function `name(view: View, *, …) -> None` of a module here. Controller files, tables and help all read this.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from poise.goals.conditions import Condition
from poise.goals.machine import Entry
from poise.goals.printing import default_of
from poise.goals.wish import Wish


def wishes() -> dict[str, type[Wish]]:
    """Every wish by name."""
    return _classes(Wish)


def conditions() -> dict[str, type[Condition]]:
    """Every condition by name."""
    return _classes(Condition)


def entries() -> dict[str, Entry]:
    """Every function that a state may run when it is entered, by name."""
    return _by_name([
        thing for module in _modules() for name, thing in vars(module).items()
        if isinstance(thing, types.FunctionType) and thing.__module__ == module.__name__ and _is_entry(name, thing)
    ])  # fmt: skip


def _by_name(things: list[Any]) -> dict[str, Any]:
    """Things by their names, in order; of several with one name, each as "module.name"."""
    names = [thing.__name__ for thing in things]
    return dict(sorted(
        (n if names.count(n) == 1 else f"{thing.__module__.rpartition('.')[2]}.{n}", thing)
        for n, thing in zip(names, things)
    ))  # fmt: skip


def name_of(thing: Any, known: dict[str, Any]) -> str | None:
    """The name under which something is known, None if it is not."""
    return next((name for name, other in known.items() if other is thing), None)


def _is_entry(name: str, function: types.FunctionType) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    told = function.__annotations__
    return (
        not name.startswith("_") and bool(parameters) and told.get(parameters[0].name) == "View"
        and told.get("return") == "None" and all(p.kind is p.KEYWORD_ONLY for p in parameters[1:])
    )  # fmt: skip


def settings_of(kind: type) -> dict[str, dataclasses.Field[Any]]:
    """The settings of a wish or a condition by name, in the order in which its class lists them."""
    return {f.name: f for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {}


def shown(kind: type) -> str:
    """A wish or a condition as it is written: its name and settings, with their defaults."""
    parts = []
    for name, field in settings_of(kind).items():
        default = default_of(field)
        parts.append(name if default is dataclasses.MISSING else f"{name}={default!r}")
    return f"{kind.__name__}({', '.join(parts)})"


def _classes(root: type) -> dict[str, Any]:
    _modules()
    found: list[Any] = []
    waiting = list(root.__subclasses__())
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        # classes of tests and scripts are theirs; a controller file speaks of what comes with Poise, or was registered
        if dataclasses.is_dataclass(kind) and not kind.__name__.startswith("_"):
            found.append(kind)
    return _by_name(found)


@functools.cache
def _modules() -> tuple[types.ModuleType, ...]:
    """All modules that may define one, imported."""
    import poise.goals as here

    return tuple(import_module(f"{here.__name__}.{m.name}") for m in iter_modules(here.__path__))
