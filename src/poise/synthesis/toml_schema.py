"""Tables of controller and scene files, validated by pydantic; errors say where, what was seen and what is allowed."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Strict, ValidationError, create_model

from poise.core.errors import FileFormatError, InvalidValue

DEEPEST = 100
"""Tables, keys and items may be inside each other this deep."""

Option = float | bool | str
"""A value that a user may set by name."""


def _a_number(value: float) -> float:
    if math.isnan(value):
        raise ValueError("a number is needed")
    return value


Number = Annotated[float, Strict(), AfterValidator(_a_number)]
Text = Annotated[str, Strict()]
Triple = tuple[Number, Number, Number]
Pair = tuple[Number, Number]
_STRICT: dict[Any, Any] = {float: Number, str: Text, int: Annotated[int, Strict()], bool: Annotated[bool, Strict()]}


class Table(BaseModel):
    """A table of a file: its fields are the keys, those without a default are required."""

    model_config = ConfigDict(extra="forbid", frozen=True)


AnyTable = TypeVar("AnyTable", bound=BaseModel)


@dataclass(frozen=True)
class Place:
    """A place in a file, for errors.

    Attributes:
        path: The file.
        trail: State, table and key, from outside in, in words.
    """

    path: object
    trail: tuple[str, ...] = ()

    def at(self, step: str) -> Place:
        """A place inside this one.

        Raises:
            FileFormatError: if it is nested too deep.
        """
        if len(self.trail) >= DEEPEST:
            raise self.error("its tables are nested too deep.")
        return dataclasses.replace(self, trail=(*self.trail, step))

    def error(self, problem: str, cure: str = "") -> FileFormatError:
        """The error to raise here; `problem` continues the trail."""
        trail = ", ".join(self.trail)
        return FileFormatError(f"{trail}: {problem}" if trail else problem, path=self.path, cure=cure)


def validate(model: type[AnyTable], table: Any, place: Place) -> AnyTable:
    """A table as its model.

    Raises:
        FileFormatError: naming the key, what was seen, what is allowed and what may have been meant.
    """
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise _error(model, table, error.errors(), place) from error


def build(kind: type, table: Mapping[str, Any], place: Place, **known: Any) -> Any:
    """A frozen dataclass from a table; its fields are the keys.

    Args:
        kind: The dataclass.
        table: Key to value.
        place: Where it is.
        known: Fields that were read already.

    Raises:
        FileFormatError: for a key that is unknown, missing or of the wrong kind, or if the class refuses a value.
    """
    read = validate(_model_of(kind, tuple(known)), table, place)
    try:
        return kind(**{key: getattr(read, key) for key in read.model_fields_set}, **known)
    except InvalidValue as error:
        raise place.error(str(error)) from error


@functools.cache
def _model_of(kind: type, known: tuple[str, ...]) -> type[Table]:
    hints = typing.get_type_hints(kind)
    fields: dict[str, Any] = {}
    for f in dataclasses.fields(kind):
        if f.init and f.name not in known:
            is_required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
            fields[f.name] = (_strict(hints[f.name]), ... if is_required else None)
    return create_model(kind.__name__, __base__=Table, **fields)


def _strict(hint: Any) -> Any:
    """A type hint that takes no text or truth value for a number."""
    inner = typing.get_args(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return functools.reduce(lambda a, b: a | b, (_strict(h) for h in inner))
    if typing.get_origin(hint) is tuple:
        return tuple[tuple(h if h is Ellipsis else _strict(h) for h in inner)]  # type: ignore[misc]
    return _STRICT.get(hint, hint)


_NEEDED = {
    "float_type": "a number is needed",
    "int_type": "a whole number is needed",
    "bool_type": "true or false is needed",
    "string_type": "text in quotes is needed",
    "tuple_type": "a list in [brackets] is needed",
    "list_type": "a list in [brackets] is needed",
    "model_type": "a table is needed, such as { … }",
    "dict_type": "a table is needed, such as { … }",
    "string_too_short": "it must not be empty",
    "greater_than": "give a positive number",
    "finite_number": "give a positive number",
}


def _error(model: Any, table: Any, errors: list[Any], place: Place) -> FileFormatError:
    """The first of pydantic's errors, in words; a wrong key before a missing one, which it often explains."""
    first = min(errors, key=lambda e: e["type"] != "extra_forbidden")
    *above, last = first["loc"]
    if isinstance(last, int) and first["type"] in ("missing", "too_long"):
        *above, last = above
    for k, part in enumerate(above):
        if isinstance(table, dict) and part not in table:
            continue  # the name of one model of several
        model, table = _inner(model, part), table[part]
        if not isinstance(table, list) or not isinstance(table[0], dict):
            place = place.at(label(str(above[k - 1]), part, table) if isinstance(part, int) else f"key {part!r}")
    keys = [field.alias or name for name, field in getattr(model, "model_fields", {}).items()]
    if first["type"] == "extra_forbidden":
        return place.error(f"there is no key {last!r}.", f"{meant(str(last), keys)}Keys: {', '.join(keys) or 'none'}.")
    if first["loc"][-1] != last:
        place, count = place.at(f"key {last!r}"), len(typing.get_args(_inner(model, last)))
        return place.error(f"it has {len(first['input'])} items; {count} are needed.")
    if first["type"] == "missing":
        return place.error(f"the key {last!r} is missing.", f"Keys: {', '.join(keys)}.")
    place = place.at(f"item {last + 1}" if isinstance(last, int) else f"key {last!r}")
    return place.error(f"it is {seen(first['input'])}; {_NEEDED.get(first['type']) or _without_prefix(first['msg'])}.")


def _without_prefix(message: str) -> str:
    return message.removeprefix("Value error, ").removeprefix("Input ")


def _inner(model: Any, part: int | str) -> Any:
    """The model of a field of a model, or of an item of a list of models."""
    if isinstance(part, str):
        field = getattr(model, "model_fields", {}).get(part)
        return None if field is None else _of_optional(field.annotation)
    return next(iter(typing.get_args(model)), None)


def _of_optional(kind: Any) -> Any:
    """What a value is that may be left out: HingeTable of HingeTable | None, without validators."""
    kinds = [k for k in typing.get_args(kind) if k is not type(None)]
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return _of_optional(kinds[0]) if len(kinds) == 1 else kind
    return kinds[0] if typing.get_origin(kind) is typing.Annotated else kind


def meant(name: str, known: Iterable[str]) -> str:
    """The known name nearest to a wrong one, as a question."""
    folded = {k.lower().replace("_", ""): k for k in known}
    close = difflib.get_close_matches(name.lower().replace("_", ""), folded, n=1)
    return f"Did you mean {folded[close[0]]!r}? " if close else ""


def seen(value: Any) -> str:
    """A value in an error."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def find(name: Any, known: Mapping[str, Any], what: str, place: Place) -> Any:
    """What has a name.

    Raises:
        FileFormatError: if nothing has, with what may have been meant.
    """
    if not isinstance(name, str) or name not in known:
        raise place.error(f"there is no {what} {name!r}.", f"{meant(str(name), known)}Known: {', '.join(known)}.")
    return known[name]


def require_schema(data: dict[str, Any], schema: str, place: Place) -> None:
    """Refuse a file of another schema.

    Raises:
        FileFormatError: naming both.
    """
    if data.get("schema") != schema:
        raise place.error(
            f"schema is {data['schema']!r}; this version reads {schema!r}."
            if "schema" in data
            else "It names no schema.",
            f'Begin the file with schema = "{schema}".',
        )


def options_of(table: Any, place: Place, above: str = "") -> dict[str, Option]:
    """The table [options] as dotted names with their defaults.

    Raises:
        FileFormatError: if it is not a table, or a default is not a number, true or false, or text.
    """
    if not isinstance(table, dict):
        raise place.error(f"it is {seen(table)}; a table of names with their defaults is needed.")
    out: dict[str, Option] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            out |= options_of(value, place, f"{above}{name}.")
        elif isinstance(value, bool | str) or (isinstance(value, int | float) and value == value):
            out[f"{above}{name}"] = value if isinstance(value, bool | str) else float(value)
        else:
            raise place.error(f"{above}{name} is {seen(value)}; an option is a number, true or false, or text.")
    return out


@dataclass(frozen=True)
class Expander:
    """Replaces "$name" (or "-$name") by the value of an option, anywhere in a file.

    Attributes:
        options: Values by dotted name.
    """

    options: Mapping[str, Option] = field(default_factory=dict)

    def __call__(self, value: Any, place: Place) -> Any:
        """The value with options filled in.

        Raises:
            FileFormatError: if there is no such option, or it is nested too deep.
        """
        if isinstance(value, dict):
            out = {}
            for key, inner in value.items():
                if isinstance(inner, list) and inner and isinstance(inner[0], dict):
                    out[key] = [self(item, place.at(label(key, k, item))) for k, item in enumerate(inner)]
                else:
                    out[key] = self(inner, place.at(f"key {key!r}"))
            return out
        if isinstance(value, list):
            return [self(inner, place.at(f"item {k + 1}")) for k, inner in enumerate(value)]
        if not isinstance(value, str) or not value.startswith(("$", "-$")):
            return value
        name = value.partition("$")[2]
        option = find(name, self.options, "option", place)
        if value.startswith("-"):
            if isinstance(option, bool | str):
                raise place.error(f"option {name!r} is {option!r}; only a number can be negative.")
            return -option
        return option


_ONE = {
    "states": "state",
    "goals": "goal",
    "constraints": "constraint",
    "walls": "wall",
    "boxes": "box",
    "holds": "hold",
    "bars": "bar",
    "balls": "ball",
    "events": "event",
    "keys": "key",
}


def label(key: str, k: int, item: Any) -> str:
    """What errors call the k-th item of a list of tables: "state 'stand'", "event 2"."""
    name = item.get("name") if isinstance(item, dict) else None
    return f"{_ONE.get(key, key)} {k + 1 if name is None else repr(name)}"
