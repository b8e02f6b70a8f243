"""Names in a controller that stand for nothing: parts of the body, machines and their states."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from poise.errors import UnknownName
from poise.methods.goals.combining import InState, Reached
from poise.methods.goals.conditions import Condition
from poise.methods.goals.machine import ControlState, Machine

HANDS_AND_FEET = ("left_hand", "right_hand", "left_foot", "right_foot", "mover")
LIFTS = (
    *HANDS_AND_FEET, "left", "right", "both", "swing", "stance", "trailing", "hands", "arms", "loose arms",
)  # fmt: skip
"""What a state may lift: a hand or foot, those that the machine remembers, heels that trail, arms."""


def require_names(machine: Machine) -> None:
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
            for key, allowed in (("lifts", LIFTS), ("grips", HANDS_AND_FEET)):
                for part in getattr(state, key):
                    _require(part, allowed, f"{where}, {key}: there is no part", "Parts")
            for condition in _conditions(state):
                if isinstance(condition, InState | Reached):
                    kind = type(condition).__name__
                    _require(condition.machine, known, f"{where}, {kind}: there is no machine", "Machines")
                    for name in condition.states:
                        states = known[condition.machine]
                        _require(name, states, f"{where}, {kind}: {condition.machine!r} has no state", "States")


def _machines(machine: Machine) -> Iterator[Machine]:
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
