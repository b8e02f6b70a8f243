"""Controllers for people: a table of states, and a graph of their transitions."""

from __future__ import annotations

import dataclasses
import json
from functools import partial
from typing import Any

from poise.goals.conditions import Condition
from poise.goals.machine import ControlState, Entry, Machine
from poise.goals.wish import Wish

HEADS = ("state", "holds while", "goals, with weights", "then")
WIDEST = 44
"""A column's text is broken where it gets wider than this."""


def table(machine: Machine, *, indent: str = "") -> str:
    """A controller as a table a person can read: states, conditions, goals with weights, what follows.

    Settings that are as they come are left out; machines inside a state follow below, indented.
    """
    rows = [HEADS, *(_row(state) for state in machine.states)]
    cells = [[_lines(text) for text in row] for row in rows]
    widths = [max(len(line) for row in cells for line in row[k]) for k in range(len(HEADS))]
    lines = [f"{indent}{machine.name}"]
    for number, row in enumerate(cells):
        for k in range(max(len(cell) for cell in row)):
            texts = [cell[k] if k < len(cell) else "" for cell in row]
            lines.append(indent + "  ".join(t.ljust(w) for t, w in zip(texts, widths)).rstrip())
        if number == 0:
            lines.append(indent + "  ".join("-" * w for w in widths))
    for state in machine.states:
        for part in state.inside:
            lines += ["", f"{indent}  inside {state.name!r}, priority {part.priority:g}:"]
            lines.append(table(part.machine, indent=indent + "  "))
    return "\n".join(lines)


def _row(state: ControlState) -> tuple[str, str, str, str]:
    name = state.name
    if state.enter is not None:
        name += f"\n  enters: {entry_name(state.enter)}"
    if state.lifts:
        name += f"\n  lifts: {', '.join(state.lifts)}"
    if state.grips:
        name += f"\n  grips: {', '.join(state.grips)}"
    goals = [written(w) for w in state.wishes] + [f"must {written(w)}" for w in state.musts]
    goals += [f"machine {p.machine.name!r} × {p.priority:g}" for p in state.inside]
    return name, written(state.condition), "\n".join(goals) or "—", "\n".join(state.then) or "—"


def _lines(text: str) -> list[str]:
    """The lines of a cell, broken between words where they are too wide."""
    out: list[str] = []
    for line in text.split("\n"):
        while len(line) > WIDEST and " " in line[4:WIDEST]:
            cut = line.rindex(" ", 4, WIDEST)
            out.append(line[:cut])
            line = "    " + line[cut + 1 :]
        out.append(line)
    return out


def written(thing: Wish | Condition) -> str:
    """A goal or a condition as one would write it in Python, without settings that are as they come."""
    if not dataclasses.is_dataclass(thing):
        return type(thing).__name__
    parts = []
    for number, field in enumerate(dataclasses.fields(thing)):
        value = getattr(thing, field.name)
        if value == default_of(field):
            continue
        text = _value(value)
        parts.append(text if number == 0 else f"{field.name}={text}")
    return f"{type(thing).__name__}({', '.join(parts)})" if parts else type(thing).__name__


def default_of(field: dataclasses.Field[Any]) -> Any:
    """A setting's default, `dataclasses.MISSING` where there is none."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _value(value: Any) -> str:
    if isinstance(value, Wish | Condition):
        return written(value)
    if isinstance(value, tuple):
        return f"({', '.join(_value(v) for v in value)}{',' if len(value) == 1 else ''})"
    return f"{value:g}" if isinstance(value, float) else repr(value)


def entry_name(entry: Entry) -> str:
    """What an entry of a state is called, as files write it."""
    from poise.goals import registry

    function = entry.func if isinstance(entry, partial) else entry
    if (known := registry.name_of(function, registry.entries())) is not None:
        return known
    return getattr(function, "__name__", type(function).__name__)


def graph(machine: Machine) -> str:
    """The transitions of a controller in Graphviz' language; machines inside a state are boxes beside it."""
    return "\n".join(
        [f"digraph {_quoted(machine.name)} {{", "  node [shape=box, style=rounded];", *_part(machine, "", "  "), "}"]
    )


def _part(machine: Machine, above: str, indent: str) -> list[str]:
    lines: list[str] = []
    for k, state in enumerate(machine.states):
        start = ", penwidth=2" if k == 0 else ""
        lines.append(f"{indent}{_quoted(above + state.name)} [label={_quoted(state.name)}{start}];")
        for n, name in enumerate(state.then):
            lines.append(
                f"{indent}{_quoted(above + state.name)} -> {_quoted(above + name)} [label={_quoted(str(n + 1))}];"
            )
        for part in state.inside:
            path = f"{above}{state.name} / "
            lines.append(f"{indent}subgraph {_quoted('cluster ' + path + part.machine.name)} {{")
            lines.append(
                f"{indent}  label={_quoted(f'{part.machine.name} inside {state.name}, priority {part.priority:g}')};"
            )
            lines += [*_part(part.machine, f"{path}{part.machine.name}: ", indent + "  "), f"{indent}}}"]
    return lines


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
