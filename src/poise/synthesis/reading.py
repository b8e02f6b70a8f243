"""Tables of a controller or scene file as frozen dataclasses, checked key by key; errors say where and what else."""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from poise.core.errors import FileFormatError, InvalidValue

DEEPEST = 100
"""Tables, keys and items may be inside each other this deep."""

Option = float | bool | str
"""A value that a user may set by name."""


@dataclass(frozen=True)
class Spot:
    """Where in a file one is, and what its "$name" stand for.

    Attributes:
        path: The file.
        trail: State, table and key, from outside in, in words.
        options: Values by dotted name.
    """

    path: object
    trail: tuple[str, ...] = ()
    options: Mapping[str, Option] = field(default_factory=dict)

    def at(self, step: str) -> Spot:
        """One further in.

        Raises:
            FileFormatError: if that is too deep for anything that makes sense.
        """
        if len(self.trail) >= DEEPEST:
            raise self.wrong("its tables are nested too deep.")
        return dataclasses.replace(self, trail=(*self.trail, step))

    def wrong(self, problem: str, cure: str = "") -> FileFormatError:
        """The error to raise here; the problem goes on where the trail ends."""
        trail = ", ".join(self.trail)
        return FileFormatError(f"{trail}: {problem}" if trail else problem, path=self.path, cure=cure)


def only_keys(table: Mapping[str, Any], allowed: Iterable[str], spot: Spot) -> None:
    """Refuse keys that mean nothing here.

    Raises:
        FileFormatError: naming the key, what it may have meant, and what is allowed.
    """
    allowed = list(allowed)
    for key in table:
        if key not in allowed:
            raise spot.wrong(
                f"there is no key {key!r}.", f"{_meant(key, allowed)}Keys: {', '.join(allowed) or 'none'}."
            )


def require_schema(data: Mapping[str, Any], schema: str, spot: Spot) -> None:
    """Refuse a file of another schema.

    Raises:
        FileFormatError: naming both.
    """
    if data.get("schema") != schema:
        raise spot.wrong(
            f"schema is {data.get('schema')!r}; this version reads {schema!r}.",
            f'Begin the file with schema = "{schema}".',
        )


def named(name: Any, known: Mapping[str, Any], what: str, spot: Spot) -> Any:
    """What a name stands for.

    Raises:
        FileFormatError: if nothing has it, with what it may have meant.
    """
    if not isinstance(name, str) or name not in known:
        raise spot.wrong(
            f"there is no {what} {name!r}.", f"{_meant(str(name), known)}Known: {', '.join(known) or 'none'}."
        )
    return known[name]


def _meant(name: str, known: Iterable[str]) -> str:
    folded = {k.lower().replace("_", ""): k for k in known}
    close = difflib.get_close_matches(name.lower().replace("_", ""), folded, n=1)
    return f"Did you mean {folded[close[0]]!r}? " if close else ""


def tables(value: Any, spot: Spot) -> list[dict[str, Any]]:
    """A list of tables.

    Raises:
        FileFormatError: if it is anything else.
    """
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise spot.wrong(f"it is {_seen(value)}; a list of tables is needed, such as [{{ … }}, {{ … }}].")
    return value


def built(kind: type, table: Mapping[str, Any], spot: Spot, *, also: Mapping[str, Any] | None = None) -> Any:
    """A frozen dataclass from the keys of a table.

    Args:
        kind: The dataclass; its fields are the keys, those without a default are needed.
        table: Key to value.
        spot: Where it is.
        also: Fields already known.

    Raises:
        FileFormatError: for a key that is unknown, missing or of the wrong kind, and where the class itself refuses.
    """
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}
    given = dict(also or {})
    only_keys(table, [name for name in fields if name not in given], spot)
    hints = typing.get_type_hints(kind)
    for key, value in table.items():
        given[key] = converted(value, hints[key], spot.at(f"key {key!r}"))
    missing = [
        name for name, f in fields.items()
        if name not in given and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]  # fmt: skip
    if missing:
        raise spot.wrong(f"the key {missing[0]!r} is missing.", f"Keys: {', '.join(fields)}.")
    for name in ("weight", "priority", "horizon"):
        if isinstance(given.get(name), float) and not (given[name] > 0.0 or (name == "weight" and given[name] == 0.0)):
            raise spot.at(f"key {name!r}").wrong(f"it is {given[name]:g}; give a positive number.")
    try:
        return kind(**given)
    except InvalidValue as error:
        raise spot.wrong(str(error)) from error


def converted(value: Any, hint: Any, spot: Spot) -> Any:
    """A TOML value as a field's type has it.

    Raises:
        FileFormatError: if it is of another kind; says which is needed.
    """
    value = _option(value, spot)
    kind, inner = typing.get_origin(hint), typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        return _one_of(value, inner, spot)
    if kind is typing.Literal:
        if value not in inner:
            raise spot.wrong(f"it is {_seen(value)}; it must be one of {', '.join(map(repr, inner))}.")
        return value
    if kind is tuple:
        return _tuple(value, inner, spot)
    if hint is float:
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise spot.wrong(f"it is {_seen(value)}; a number is needed.")
        return float(value)
    for plain, words in ((bool, "true or false"), (int, "a whole number"), (str, "text in quotes")):
        if hint is plain:
            if not isinstance(value, plain) or (plain is int and isinstance(value, bool)):
                raise spot.wrong(f"it is {_seen(value)}; {words} is needed.")
            return value
    special = _SPECIAL.get(hint)
    if special is not None:
        return special(value, spot)
    raise spot.wrong("a file cannot give this setting.", "Write this part of the controller in Python.")


_SPECIAL: dict[Any, Any] = {}


def reads(hint: type, reader: Any) -> None:
    """Say how values of a type of one's own are read: `reader(value, spot)`."""
    _SPECIAL[hint] = reader


def _one_of(value: Any, kinds: tuple[Any, ...], spot: Spot) -> Any:
    """The first kind that fits; the error of the first where none does."""
    first: FileFormatError | None = None
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return converted(value, kind, spot)
        except FileFormatError as error:
            first = first or error
    assert first is not None
    raise first


def _tuple(value: Any, inner: tuple[Any, ...], spot: Spot) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise spot.wrong(f"it is {_seen(value)}; a list in [brackets] is needed.")
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(converted(v, inner[0], spot.at(f"item {k + 1}")) for k, v in enumerate(value))
    if len(value) != len(inner):
        raise spot.wrong(f"it has {len(value)} items; {len(inner)} are needed.")
    return tuple(converted(v, kind, spot.at(f"item {k + 1}")) for k, (v, kind) in enumerate(zip(value, inner)))


def _option(value: Any, spot: Spot) -> Any:
    """A value, or what "$name" (or "-$name") stands for."""
    if not isinstance(value, str) or not value.startswith(("$", "-$")):
        return value
    name = value.partition("$")[2]
    found = named(name, spot.options, "option", spot)
    if value.startswith("-"):
        if isinstance(found, bool | str):
            raise spot.wrong(f"option {name!r} is {found!r}; only a number can be negative.")
        return -found
    return found


def _seen(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def flat_options(table: Any, spot: Spot, *, above: str = "") -> dict[str, Option]:
    """The table [options] as dotted names with their defaults.

    Args:
        table: As read.
        spot: Where it is.
        above: What goes before its names.

    Raises:
        FileFormatError: if it is no table, or a default is no number, truth or text.
    """
    if not isinstance(table, dict):
        raise spot.wrong(f"it is {_seen(table)}; a table of names with their defaults is needed.")
    out: dict[str, Option] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            out |= flat_options(value, spot, above=f"{above}{name}.")
        elif isinstance(value, bool | int | float | str) and value == value:
            out[f"{above}{name}"] = (
                float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
            )
        else:
            raise spot.wrong(f"{above}{name} is {_seen(value)}; an option is a number, true or false, or text.")
    return out
