"""What goals and conditions read of what a machine remembers, and which entries write it.

Topics: "swing" (which foot steps and which carries), "seconds" (how long a step takes), "hands" (that go to walls),
"mover" (the limb that climbs on), "hand" (that takes another's), "holds" (what hands and feet reach for).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type)
Function = TypeVar("Function", bound=Callable[..., None])

NAMED = {
    "swing": "swing", "stance": "swing", "swing leg": "swing", "stance leg": "swing", "mover": "mover",
    "hands": "hands", "arms": "hands", "loose arms": "hands",
}  # fmt: skip
"""Parts of the body that only memory tells, and what of it."""

_READS: dict[type, tuple[tuple[str, ...], str]] = {}
_WRITES: dict[Callable[..., None], tuple[str, ...]] = {}


def reads(*topics: str, unless: str = "") -> Callable[[Kind], Kind]:
    """Say of a goal or condition what it does nothing without; `unless` names a setting with which it does."""

    def note(kind: Kind) -> Kind:
        _READS[kind] = (topics, unless)
        return kind

    return note


def writes(*topics: str) -> Callable[[Function], Function]:
    """Say of an entry what it remembers for goals."""

    def note(entry: Function) -> Function:
        _WRITES[entry] = topics
        return entry

    return note


def read_by(thing: Any) -> list[str]:
    """Topics that a goal or condition needs, settings that name a remembered part included."""
    needed: list[str] = []
    for kind in type(thing).__mro__:
        topics, unless = _READS.get(kind, ((), ""))
        if not (unless and getattr(thing, unless)):
            needed += topics
    for value in (getattr(thing, f.name) for f in fields(thing)) if is_dataclass(thing) else ():
        names = value if isinstance(value, tuple) else (value,)
        needed += [NAMED[n] for n in names if isinstance(n, str) and n in NAMED]
    return list(dict.fromkeys(needed))


def written_by(entry: Callable[..., None]) -> tuple[str, ...] | None:
    """What an entry remembers for goals; None for one that does not say."""
    return _WRITES.get(getattr(entry, "func", entry))


def writers(topic: str) -> list[Callable[..., None]]:
    """The entries that remember something, in the order in which they became known."""
    return [entry for entry, topics in _WRITES.items() if topic in topics]
