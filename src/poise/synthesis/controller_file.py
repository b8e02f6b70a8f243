"""Controllers as TOML that a person writes: states with goals and weights, conditions and transitions.

    schema = "poise.controller/1"
    name = "stand"

    [options]
    weight = 0.3

    [[states]]
    name = "balance"
    condition = { is = "Standing", also = "Balanced" }
    goals = [{ is = "ComOver", weight = "$weight" }, { is = "Upright", weight = 0.1, bodies = ["chest"] }]
    then = ["fallen"]

Alone it controls one figure on a level floor. With `within = "hands"` and `figure = "child"` it replaces that figure's
controller in that behavior, or in another file; the other figures and the scene stay as they are.

Goals, conditions and actions are named as in Python (`poise synthesize --goals` lists them). A list of goals that
several states share has a name in [groups]. A machine inside a state is an item of `inside`: its states, or `use` with
the name of a behavior or of another file.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, create_model

from poise.core.errors import InvalidValue, UnknownName, require
from poise.goals import registry
from poise.goals.conditions import Always, Condition
from poise.goals.goal import Goal
from poise.goals.registry import action_name, default_of, require_memory, require_names
from poise.goals.state_machine import Action, ControlState, Part, StateMachine
from poise.io.files import parse_toml, quoted, read_text, write_atomically
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.behaviors.behavior import Behavior, Role, Scenario
from poise.synthesis.behaviors.behavior import Option as Declared
from poise.synthesis.toml_schema import (
    Expander,
    Number,
    Option,
    Place,
    Table,
    Text,
    build,
    find,
    label,
    options_of,
    require_schema,
    validate,
)

SCHEMA = "poise.controller/1"
MAX_BYTES = 1_000_000
"""Largest controller file that is read [bytes]."""
WIDEST = 120
"""Longer lists are written one item a line [characters]."""

Wanted = str | os.PathLike[str] | StateMachine | Behavior
"""A built-in behavior's name, the path of a controller file (*.toml), a state machine, or a behavior."""

Positive = Annotated[Number, Field(gt=0.0, allow_inf_nan=False)]
Goals = tuple[dict[str, Any], ...]
"""Tables of goals, read by their names."""


class PartTable(Table):
    """[[states.inside]]: a machine inside a state, its states or what it uses."""

    name: Text | None = None
    priority: Number = 1.0
    states: tuple[StateTable, ...] = ()
    use: Text | None = None


class StateTable(Table):
    """[[states]]: goals, one condition, and what may follow."""

    name: Annotated[Text, Field(min_length=1)]
    goals: Goals = ()
    condition: Any = "Always"
    then: tuple[Text, ...] = ()
    on_enter: Any = None
    releases: tuple[Text, ...] = ()
    grips: tuple[Text, ...] = ()
    constraints: Goals = ()
    inside: tuple[PartTable, ...] = ()


class ControllerTable(Table):
    """A controller file."""

    schema_: Text = Field(alias="schema")
    name: Text = ""
    summary: Text = ""
    seconds: Positive | None = None
    within: Text | None = None
    figure: Text | None = None
    begins_as_clip: bool = False
    options: dict[str, Any] = Field(default_factory=dict)
    groups: dict[str, Goals] = Field(default_factory=dict)
    states: Annotated[tuple[StateTable, ...], Field(min_length=1)]


def find_behavior(wanted: Wanted) -> Behavior:
    """The behavior that is meant.

    Raises:
        UnknownName: if there is no such behavior, or a state machine uses an unknown name.
        InvalidValue: if a goal reads a value that no action writes.
        FileFormatError: if a controller file cannot be read as one.
    """
    if isinstance(wanted, Behavior):
        return wanted
    if isinstance(wanted, StateMachine):
        require_names(wanted)
        require_memory(wanted)
        return Behavior(wanted.name, "", lambda options: Scenario((Role(wanted),)))
    require(str, os.PathLike, Behavior, StateMachine, behavior=wanted)
    if not isinstance(wanted, str) or wanted.lower().endswith(".toml"):
        return load_controller(Path(wanted))
    if wanted not in BEHAVIORS:
        close = difflib.get_close_matches(wanted.lower(), BEHAVIORS, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownName(
            f"No behavior {wanted!r}.{hint} Behaviors: {', '.join(BEHAVIORS)}; or give a controller file (*.toml)."
        )
    return BEHAVIORS[wanted]


def load_controller(path: str | os.PathLike[str]) -> Behavior:
    """A controller file as a behavior: its options can be changed, and it runs as a built-in one does.

    Raises:
        UnreadableFile: if there is no such file.
        FileFormatError: if it is not TOML or not a controller; names file, state and key, what is allowed and what may
            have been meant.
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
        users: Files that use this one; it cannot use them.

    Raises:
        FileFormatError: as `load_controller`.
    """
    users = (*users, Path(path).resolve())
    data, place = parse_toml(text, path), Place(path)
    require_schema(data, SCHEMA, place)
    defaults = options_of(data.get("options", {}), place.at("[options]"))

    def setup(options: Mapping[str, Option]) -> Scenario:
        file = validate(ControllerTable, Expander(options)(data, place), place)
        reader = _Reader(file.groups, users)
        for name, items in file.groups.items():
            reader.goals(items, "goals", place.at(f"[groups], key {name!r}"))
        machine = reader.machine(file.name or Path(path).stem, file.states, place)
        if len(users) == 1:  # conditions of a used file may ask for machines of the file that uses it
            try:
                require_names(machine)
                require_memory(machine)
            except (UnknownName, InvalidValue) as error:
                raise place.error(str(error)) from error
        result = _around(machine, file, options, place, users)
        return result if file.seconds is None else replace(result, seconds=file.seconds)

    setup(defaults)  # errors of a file are raised when it is read
    name, summary = data.get("name", Path(path).stem), data.get("summary", "")
    return Behavior(name, summary, setup, {k: Declared(v) for k, v in defaults.items()})


def _around(
    machine: StateMachine, file: ControllerTable, options: Mapping[str, Option], place: Place, users: tuple[Path, ...]
) -> Scenario:
    """The setup of a machine: its own, or the one of `within` in which it replaces a figure's controller."""
    if file.within is None:
        if file.figure is not None:
            raise place.at("key 'figure'").error("it says whose place this takes.", 'Write within = "hands" as well.')
        return Scenario((Role(machine, begins_as_clip=file.begins_as_clip),))
    behavior = _behavior(file.within, place.at("key 'within'"), users)
    setup = behavior.setup({name: value for name, value in options.items() if name in behavior.declared})
    roles = {role.name: role for role in setup.roles}
    who = setup.roles[0].name if file.figure is None else file.figure
    find(who, roles, "figure", place.at("key 'figure'"))
    return replace(setup, roles=tuple(replace(r, machine=machine) if r.name == who else r for r in setup.roles))


def _behavior(name: str, place: Place, users: tuple[Path, ...]) -> Behavior:
    """A built-in behavior, or that of a file beside this one."""
    if not name.lower().endswith(".toml"):
        try:
            return find_behavior(name)
        except UnknownName as error:
            raise place.error(str(error)) from error
    path = (users[-1].parent / name).resolve()
    if not path.is_file():
        raise place.error(f"there is no file {name} beside this one.", "Give its name, or that of a behavior.")
    if path in users:
        raise place.error(f"{name} uses itself.", "A machine cannot be inside itself.")
    return controller_of(read_text(path, limit=MAX_BYTES), path=path, users=users)


@dataclasses.dataclass(frozen=True)
class _Reader:
    """Makes machines of tables whose options are filled in.

    Attributes:
        groups: Lists of goals by name.
        users: The file and those that use it.
    """

    groups: Mapping[str, Goals]
    users: tuple[Path, ...]

    def machine(self, name: str, states: Sequence[StateTable], place: Place) -> StateMachine:
        """A state machine of its states."""
        try:
            return StateMachine(name, tuple(self.state(s, place.at(f"state {s.name!r}")) for s in states))
        except InvalidValue as error:
            raise place.error(str(error)) from error

    def state(self, s: StateTable, place: Place) -> ControlState:
        """One state."""
        parts = tuple(self.part(p, place.at(f"inside {k + 1}")) for k, p in enumerate(s.inside))
        return ControlState(
            s.name,
            self.goals(s.goals, "goals", place),
            self.condition(s.condition, place.at("key 'condition'")),
            s.then,
            None if s.on_enter is None else self.action(s.on_enter, place.at("key 'on_enter'")),
            s.releases,
            s.grips,
            self.goals(s.constraints, "constraints", place),
            parts,
        )

    def part(self, p: PartTable, place: Place) -> Part:
        """A machine inside a state."""
        if p.use is not None and not p.states:
            machine = _behavior(p.use, place.at("key 'use'"), self.users).setup().roles[0].machine
            machine = machine if p.name is None else StateMachine(p.name, machine.states)
        elif p.states and p.use is None:
            machine = self.machine(p.name or "inside", p.states, place)
        else:
            raise place.error("it needs either `states`, or `use` with the name of a behavior or of a controller file.")
        try:
            return Part(machine, p.priority)
        except InvalidValue as error:
            raise place.at("key 'priority'").error(str(error)) from error

    def goals(self, tables: Goals, key: str, place: Place) -> tuple[Goal, ...]:
        """A list of goals and groups of them."""
        out: list[Goal] = []
        for k, table in enumerate(tables):
            here = place.at(label(key, k, table))
            if "group" in table:
                group = validate(_Group, table, here).group
                out += self.goals(find(group, self.groups, "group", here), key, here)
            else:
                out.append(self.thing(table, registry.goals(), "goal", here))
        return tuple(out)

    def condition(self, value: Any, place: Place) -> Condition:
        """A condition, by its name alone or as a table."""
        return self.thing(value, registry.conditions(), "condition", place)

    def thing(self, value: Any, known: Mapping[str, type], what: str, place: Place) -> Any:
        """A goal or a condition; settings that are such are read first."""
        table = _named(value, place)
        kind = find(table.pop("is"), known, what, place)
        place = place.at(kind.__name__)
        inner: dict[str, Any] = {}
        for name, f in registry.settings_of(kind).items():
            if name in table and str(f.type) == "Goal":
                inner[name] = self.thing(table.pop(name), registry.goals(), "goal", place.at(f"key {name!r}"))
            elif name in table and "Condition" in str(f.type):
                given, here = table.pop(name), place.at(f"key {name!r}")
                is_many = isinstance(given, list)
                read = tuple(self.condition(v, here) for v in (given if is_many else [given]))
                inner[name] = read if "tuple" in str(f.type) else read[0]
        return build(kind, table, place, **inner)

    def action(self, value: Any, place: Place) -> Action:
        """An action, by its name alone or with its settings."""
        table = _named(value, place)
        function = find(table.pop("is"), registry.actions(), "action", place)
        if not table:
            return function
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        fields: dict[str, Any] = {p.name: (type(p.default), p.default) for p in parameters}
        settings = validate(create_model(function.__name__, __base__=Table, **fields), table, place)
        return partial(function, **{key: getattr(settings, key) for key in settings.model_fields_set})


class _Group(Table):
    group: Text


def _named(value: Any, place: Place) -> dict[str, Any]:
    """A goal, condition or action as a table; a bare name is one without settings."""
    if isinstance(value, str):
        return {"is": value}
    if not isinstance(value, dict) or "is" not in value:
        raise place.error("its name is missing.", 'Write { is = "Balanced" }, with its settings after the name.')
    return dict(value)


# --- written


def save_controller(
    machine: StateMachine,
    path: str | os.PathLike[str],
    *,
    seconds: float | None = None,
    within: tuple[str, str] | None = None,
) -> None:
    """Write a controller as TOML; never half.

    Raises:
        InvalidValue: if a part of it cannot be written in a file.
        UnreadableFile: if it cannot be written there.
    """
    write_atomically(Path(path), controller_text(machine, seconds=seconds, within=within).encode())


def controller_text(
    machine: StateMachine, *, seconds: float | None = None, within: tuple[str, str] | None = None
) -> str:
    """A controller as TOML; `controller_of` of it gives an equal machine.

    Args:
        machine: The controller.
        seconds: How long it runs if nobody says [s].
        within: Behavior and figure whose controller it replaces.

    Raises:
        InvalidValue: if a goal holds what no file can, or an action is none of `poise.goals`; names it.
    """
    out = [f'schema = "{SCHEMA}"', f"name = {quoted(machine.name)}"]
    out += [] if seconds is None else [f"seconds = {_value(seconds, 'seconds')}"]
    out += [] if within is None else [f"within = {quoted(within[0])}", f"figure = {quoted(within[1])}"]
    for state in machine.states:
        out += _state_lines(state, "states")
    return "\n".join(out) + "\n"


def _state_lines(state: ControlState, table: str) -> list[str]:
    out = ["", f"[[{table}]]", f"name = {quoted(state.name)}"]
    if state.condition != Always():
        out.append(f"condition = {_thing_text(state.condition, state.name)}")
    if state.on_enter is not None:
        out.append(f"on_enter = {_action_text(state.on_enter, state.name)}")
    out += _list("goals", [_thing_text(g, state.name) for g in state.goals])
    out += _list("constraints", [_thing_text(g, state.name) for g in state.constraints])
    for key in ("then", "releases", "grips"):
        out += _list(key, [quoted(name) for name in getattr(state, key)])
    for part in state.inside:
        out += ["", f"[[{table}.inside]]", f"name = {quoted(part.machine.name)}"]
        out += [] if part.priority == 1.0 else [f"priority = {_value(part.priority, 'priority')}"]
        for inner in part.machine.states:
            out += _state_lines(inner, f"{table}.inside.states")
    return out


def _list(key: str, items: list[str]) -> list[str]:
    if not items:
        return []
    line = f"{key} = [{', '.join(items)}]"
    return [line] if len(line) <= WIDEST else [f"{key} = [", *(f"  {item}," for item in items), "]"]


def _thing_text(thing: Goal | Condition, where: str) -> str:
    """A goal or a condition with the settings that differ from their defaults."""
    kind: Any = type(thing)
    name = registry.name_of(kind, registry.goals() | registry.conditions())
    if name is None:
        raise InvalidValue(
            f"State {where!r}: {kind.__name__} is not a frozen dataclass, so it cannot be written in a file."
        )
    parts = [f"is = {quoted(name)}"]
    for field in dataclasses.fields(kind):
        value = getattr(thing, field.name)
        if value != default_of(field):
            parts.append(f"{field.name} = {_value(value, f'state {where!r}, {kind.__name__}.{field.name}')}")
    return "{ " + ", ".join(parts) + " }"


def _action_text(action: Action, where: str) -> str:
    name = registry.name_of(action.func if isinstance(action, partial) else action, registry.actions())
    if name is None:
        raise InvalidValue(
            f"State {where!r} has on_enter {action_name(action)!r}, which no file can name: actions are public "
            "functions of poise.goals. Put it there, or leave it out."
        )
    settings: dict[str, Any] = dict(action.keywords) if isinstance(action, partial) else {}
    if not settings:
        return quoted(name)
    words = [f"{k} = {_value(v, f'state {where!r}, {name}.{k}')}" for k, v in settings.items()]
    return "{ " + ", ".join([f"is = {quoted(name)}", *words]) + " }"


def _value(value: Any, where: str) -> str:
    if isinstance(value, Goal | Condition):
        return _thing_text(value, where)
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
