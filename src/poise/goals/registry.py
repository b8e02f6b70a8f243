"""Goals, conditions and actions by name: written in files, printed in tables.

Whatever module of this package defines one makes it known; there is no second list. A goal or a condition is a frozen
dataclass: its name is the class's, its settings are the fields. An action is a public function
`name(observed: Observation, *, …) -> None`.

A controller is checked before it runs: for unknown names, and for goals that read a value that no action writes.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import json
import types
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from poise.core.errors import InvalidValue, UnknownName
from poise.goals.conditions import Condition, InState, Reached
from poise.goals.goal import NAMED, Goal, read_by, writers, written_by
from poise.goals.state_machine import Action, ControlState, StateMachine

HEADS = ("state", "holds while", "goals, with weights", "then")
WIDEST = 44
"""A column's text is broken where it gets wider than this."""


def table(machine: StateMachine, *, indent: str = "") -> str:
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
    if state.on_enter is not None:
        name += f"\n  on enter: {action_name(state.on_enter)}"
    if state.releases:
        name += f"\n  releases: {', '.join(state.releases)}"
    if state.grips:
        name += f"\n  grips: {', '.join(state.grips)}"
    goals = [written(w) for w in state.goals] + [f"constraint {written(w)}" for w in state.constraints]
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


def written(thing: Goal | Condition) -> str:
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
    if isinstance(value, Goal | Condition):
        return written(value)
    if isinstance(value, tuple):
        return f"({', '.join(_value(v) for v in value)}{',' if len(value) == 1 else ''})"
    return f"{value:g}" if isinstance(value, float) else repr(value)


def action_name(action: Action) -> str:
    """Name of an action, as files write it."""
    function = action.func if isinstance(action, partial) else action
    if (known := name_of(function, actions())) is not None:
        return known
    return getattr(function, "__name__", type(function).__name__)


def graph(machine: StateMachine) -> str:
    """The transitions of a controller in Graphviz' language; machines inside a state are boxes beside it."""
    return "\n".join(
        [f"digraph {_quoted(machine.name)} {{", "  node [shape=box, style=rounded];", *_part(machine, "", "  "), "}"]
    )


def _part(machine: StateMachine, above: str, indent: str) -> list[str]:
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


def goals() -> dict[str, type[Goal]]:
    """Every goal by name."""
    return _classes(Goal)


def conditions() -> dict[str, type[Condition]]:
    """Every condition by name."""
    return _classes(Condition)


def actions() -> dict[str, Action]:
    """Every function that a state may run when it is entered, by name."""
    return _by_name(
        [
            thing
            for module in _modules()
            for name, thing in vars(module).items()
            if isinstance(thing, types.FunctionType) and thing.__module__ == module.__name__ and _is_action(name, thing)
        ]
    )


def _by_name(balls: list[Any]) -> dict[str, Any]:
    """Things by their names, in order; of several with one name, each as "module.name"."""
    names = [thing.__name__ for thing in balls]
    return dict(
        sorted(
            (n if names.count(n) == 1 else f"{thing.__module__.rpartition('.')[2]}.{n}", thing)
            for n, thing in zip(names, balls)
        )
    )


def name_of(thing: Any, known: dict[str, Any]) -> str | None:
    """The name under which something is known, None if it is not."""
    return next((name for name, other in known.items() if other is thing), None)


def _is_action(name: str, function: types.FunctionType) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    hints = function.__annotations__
    return (
        not name.startswith("_")
        and bool(parameters)
        and hints.get(parameters[0].name) == "Observation"
        and hints.get("return") == "None"
        and all(p.kind is p.KEYWORD_ONLY for p in parameters[1:])
    )


def settings_of(kind: type) -> dict[str, dataclasses.Field[Any]]:
    """The settings of a goal or a condition by name, in the order in which its class lists them."""
    return {f.name: f for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {}


def shown(kind: type) -> str:
    """A goal or a condition as it is written: its name and settings, with their defaults."""
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


HANDS_AND_FEET = ("left_hand", "right_hand", "left_foot", "right_foot", "mover")
RELEASES = (
    *HANDS_AND_FEET,
    "left",
    "right",
    "both",
    "swing",
    "stance",
    "trailing",
    "heel",
    "hands",
    "arms",
    "loose arms",
    "body",
    "pelvis",
    "chest",
    "head",
    "left_knee",
    "right_knee",
    "left_elbow",
    "right_elbow",
)
"""Parts that a state may release: hands, feet, those stored in the memory, trailing heels, bodies by their roles."""


def require_names(machine: StateMachine) -> None:
    """Refuse a controller that names parts, machines or states that there are not.

    Args:
        machine: The outermost one.

    Raises:
        UnknownName: naming the state, what was seen and what is allowed.
    """
    known: dict[str, list[str]] = {}
    for each in _machines(machine):
        known.setdefault(each.name, []).extend(s.name for s in each.states)
    for each in _machines(machine):
        for state in each.states:
            where = f"state {state.name!r}"
            for key, allowed in (("releases", RELEASES), ("grips", HANDS_AND_FEET)):
                for part in getattr(state, key):
                    _require(part, allowed, f"{where}, {key}: there is no part", "Parts")
            for condition in _conditions(state):
                if isinstance(condition, InState | Reached):
                    kind = type(condition).__name__
                    _require(condition.machine, known, f"{where}, {kind}: there is no machine", "Machines")
                    for name in condition.states:
                        states = known[condition.machine]
                        _require(name, states, f"{where}, {kind}: {condition.machine!r} has no state", "States")


def require_memory(machine: StateMachine) -> None:
    """Refuse a controller with a goal, condition, release or grip that reads a value that no action has written before.

    Actions of the state itself, of states that lead to it, and of machines around or beside it count, since they share
    one memory. An action that does not declare what it writes may write anything.

    Args:
        machine: The outermost one.

    Raises:
        InvalidValue: naming the state, what reads what, and the actions that would write it.
    """
    every = list(_machines(machine))
    for each in every:
        others = [s for other in every if other is not each for s in other.states]
        for state in each.states:
            actions = [s.on_enter for s in (*_before(each, state), *others) if s.on_enter is not None]
            written = [written_by(action) for action in actions]
            if None in written:
                continue
            known = {topic for topics in written for topic in topics or ()}
            for who, topic in _needs(state):
                if topic not in known:
                    cures = " or ".join(repr(action_name(action)) for action in writers(topic))
                    raise InvalidValue(
                        f"State {state.name!r}: {who} reads {topic!r} from the memory, and no action before it "
                        f"writes it. Give this state, or one that leads to it, `on_enter` {cures}."
                    )


def _before(machine: StateMachine, state: ControlState) -> list[ControlState]:
    """A state and all those of its machine that lead to it."""
    found = [state]
    for each in found:
        found += [s for s in machine.states if each.name in s.then and s not in found]
    return found


def _needs(state: ControlState) -> Iterator[tuple[str, str]]:
    """Who in a state reads what of the memory."""
    for thing in (*state.goals, *state.constraints, *_conditions(state)):
        yield from ((type(thing).__name__, topic) for topic in read_by(thing))
    for key in ("releases", "grips"):
        for part in getattr(state, key):
            if part in NAMED:
                yield f"{part!r} in {key}", NAMED[part]
            if key == "grips":
                yield f"{part!r} in {key}", "holds" if part != "mover" else "mover"


def _machines(machine: StateMachine) -> Iterator[StateMachine]:
    yield machine
    for state in machine.states:
        for part in state.inside:
            yield from _machines(part.machine)


def _conditions(state: ControlState) -> Iterator[Condition]:
    waiting: list[Any] = [state.condition]
    while waiting:
        condition = waiting.pop()
        yield condition
        fields = dataclasses.fields(condition) if dataclasses.is_dataclass(condition) else ()
        for value in (getattr(condition, f.name) for f in fields):
            waiting += [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, Condition)]


def _require(name: str, allowed: Iterable[str], what: str, title: str) -> None:
    allowed = list(dict.fromkeys(allowed))
    if name not in allowed:
        close = difflib.get_close_matches(name, allowed, n=1)
        meant = f"Did you mean {close[0]!r}? " if close else ""
        raise UnknownName(f"{what} {name!r}. {meant}{title}: {', '.join(allowed)}.")
