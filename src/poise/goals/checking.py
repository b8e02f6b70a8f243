"""Checks of a controller before it runs: unknown names, and goals that read a value that no action writes."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from poise.core.errors import InvalidValue, UnknownName
from poise.goals.conditions import Condition, InState, Reached
from poise.goals.memory import NAMED, read_by, writers, written_by
from poise.goals.registry import action_name
from poise.goals.state_machine import ControlState, StateMachine

HANDS_AND_FEET = ("left_hand", "right_hand", "left_foot", "right_foot", "mover")
RELEASES = (
    *HANDS_AND_FEET, "left", "right", "both", "swing", "stance", "trailing", "hands", "arms", "loose arms", "body",
    "pelvis", "chest", "head", "left_knee", "right_knee", "left_elbow", "right_elbow",
)  # fmt: skip
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
