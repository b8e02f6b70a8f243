"""The memory of a state machine: which values goals and conditions read, and which actions write them.

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
"""Parts of the body that are stored in the memory, and under which topic."""

_READS: dict[type, tuple[tuple[str, ...], str]] = {}
_WRITES: dict[Callable[..., None], tuple[str, ...]] = {}


def reads(*topics: str, unless: str = "") -> Callable[[Kind], Kind]:
    """Declare which topics a goal or condition needs; with the setting named by `unless` it needs none."""

    def note(kind: Kind) -> Kind:
        _READS[kind] = (topics, unless)
        return kind

    return note


def writes(*topics: str) -> Callable[[Function], Function]:
    """Declare which topics an action writes."""

    def note(action: Function) -> Function:
        _WRITES[action] = topics
        return action

    return note


def read_by(thing: Any) -> list[str]:
    """Topics that a goal or condition needs, for parts named in its settings too."""
    needed: list[str] = []
    for kind in type(thing).__mro__:
        topics, unless = _READS.get(kind, ((), ""))
        if not (unless and getattr(thing, unless)):
            needed += topics
    for value in (getattr(thing, f.name) for f in fields(thing)) if is_dataclass(thing) else ():
        names = value if isinstance(value, tuple) else (value,)
        needed += [NAMED[n] for n in names if isinstance(n, str) and n in NAMED]
    return list(dict.fromkeys(needed))


def written_by(action: Callable[..., None]) -> tuple[str, ...] | None:
    """Topics that an action writes; None for one that does not declare them."""
    return _WRITES.get(getattr(action, "func", action))


def writers(topic: str) -> list[Callable[..., None]]:
    """The actions that write a topic, in the order of their definition."""
    return [action for action, topics in _WRITES.items() if topic in topics]


def state_key(machine: str) -> str:
    """Key in the memory under which a machine notes its present state."""
    return f"state of {machine}"
