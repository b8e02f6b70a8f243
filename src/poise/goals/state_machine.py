"""Controllers as state machines: states with goals and one condition, and the transitions between them.

At each step the present state's condition is asked. When it fails, the first listed successor whose own condition holds
is entered in the same step; if none does, the state stays and that is noted. Source: [Jain2009]_ 5.1. Beyond it: whole
machines may work inside a state, [Jain2009]_ 6.4, each with a priority; they begin anew when the state is entered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from poise.core.errors import InvalidValue, UnknownName
from poise.goals.conditions import Always, Condition
from poise.goals.goal import Goal, state_key
from poise.goals.observation import Observation
from poise.step import AtLeast, Objective

Action = Callable[[Observation], None]
"""What a state does once when it is entered, such as choosing the foot that steps; it writes the memory."""

DEEPEST = 8
"""Machines may be inside each other this deep."""


@dataclass(frozen=True)
class ControlState:
    """One control strategy.

    Attributes:
        name: Unique in its machine.
        goals: Each with its weight.
        condition: True while the strategy applies.
        then: States that may follow, in the order in which they are tried.
        on_enter: Runs once when the state is entered, and writes the memory, such as which foot steps.
        releases: Parts whose points may leave their contacts and whose grips open: "swing", "left_hand", …
        grips: Hands and feet that close around what they reach for: "left_hand", …; the machine's memory names it as
            "left_hand reaches": a hold, or "figure:left_hand".
        constraints: Goals that must be met, as hard rows; where they cannot be, the slack is reported.
        inside: Machines that work while the state lasts; their goals come on top of its own.
    """

    name: str
    goals: tuple[Goal, ...] = ()
    condition: Condition = field(default_factory=Always)
    then: tuple[str, ...] = ()
    on_enter: Action | None = None
    releases: tuple[str, ...] = ()
    grips: tuple[str, ...] = ()
    constraints: tuple[Goal, ...] = ()
    inside: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        for key, kind in (("goals", Goal), ("constraints", Goal), ("then", str), ("releases", str), ("grips", str)):
            held: Any = getattr(self, key)
            if not isinstance(held, tuple) or not all(isinstance(x, kind) for x in held):
                raise InvalidValue(
                    f"State {self.name!r}: {key} is {held!r}; give a tuple of {_KINDS[kind]}, such as (a, b) or (a,)."
                )
        for goal in (*self.goals, *self.constraints):
            require_weight(goal, f"State {self.name!r}")
        if not isinstance(self.condition, Condition):
            raise InvalidValue(f"State {self.name!r}: its condition is {self.condition!r}; give one, such as Always().")


_KINDS = {Goal: "goals", str: "names"}


def require_weight(goal: Goal, owner: str) -> None:
    """Refuse a goal whose weight or horizon makes no sense.

    Raises:
        InvalidValue: naming the owner, the goal and the number.
    """
    for key, least in (("weight", "zero or more"), ("horizon", "a positive number")):
        value: Any = getattr(goal, key, None)
        if value is not None and not (value > 0.0 or (key == "weight" and value == 0.0)):
            raise InvalidValue(f"{owner}: {type(goal).__name__} has {key} {value!r}; give {least}.")


@dataclass(frozen=True)
class Part:
    """A machine inside a state.

    Attributes:
        machine: The machine.
        priority: Multiplies the weights of all its goals.
    """

    machine: StateMachine
    priority: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.priority) and self.priority > 0.0):
            raise InvalidValue(f"Machine {self.machine.name!r} has priority {self.priority}; give a positive number.")


@dataclass(frozen=True)
class StateMachine:
    """A controller: its states, the first of which is where it starts.

    Attributes:
        name: What it is called.
        states: At least one.
    """

    name: str
    states: tuple[ControlState, ...]

    def __post_init__(self) -> None:
        names = [s.name for s in self.states]
        if not names or len(set(names)) < len(names):
            raise InvalidValue(f"Controller {self.name!r} needs a different name for each state; it has {names}.")
        for state in self.states:
            for name in state.then:
                if name not in names:
                    raise InvalidValue(
                        f"State {state.name!r} of controller {self.name!r} leads to {name!r}, which is none of its "
                        f"states: {', '.join(names)}."
                    )
        if depth(self) > DEEPEST:
            raise InvalidValue(f"Controller {self.name!r} has machines inside each other {depth(self)} deep.")

    def state(self, name: str) -> ControlState:
        """The state with this name."""
        return next(s for s in self.states if s.name == name)


def depth(machine: StateMachine) -> int:
    """How deep machines are inside each other; 1 for one without any inside."""
    return 1 + max((depth(part.machine) for s in machine.states for part in s.inside), default=0)


@dataclass(frozen=True)
class Visit:
    """One stay in a state: its name, "outer / inner" in a machine inside, and when it began and ended [s]."""

    name: str
    start: float
    end: float


class Controller:
    """A state machine at work: its present state, its memory and its past visits.

    Attributes:
        state: Where it is.
        entered: Since when [s].
        visits: Stays that are over, of the machines inside too.
        stuck: Steps in which the state's condition failed and no successor's held.
        memory: What conditions and actions wrote; one for all machines inside each other.
        inside: The machines at work inside the state, with their priorities.
    """

    def __init__(self, machine: StateMachine, *, memory: dict[str, Any] | None = None, above: str = "") -> None:
        self.machine = machine
        self.state = machine.states[0]
        self.entered = 0.0
        self.visits: list[Visit] = []
        self.stuck = 0
        self.memory: dict[str, Any] = {} if memory is None else memory
        self.inside: list[tuple[Controller, float]] = []
        self._above = above
        self._has_begun = False

    def advance(self, observed: Observation) -> ControlState:
        """The state that applies now; enters another if the present one fails. Machines inside follow."""
        if not self._has_begun:
            if self.state.on_enter is not None:
                self.state.on_enter(observed)
            self._enter(self.state, observed)
        if not self.state.condition.holds(observed.at(observed.time - self.entered)):
            following = self._following(observed)
            if following is None:
                self.stuck += 1
            else:
                self._leave(observed.time)
                self._enter(following, observed)
        for controller, _ in self.inside:
            controller.advance(observed)
        return self.state

    def _following(self, observed: Observation) -> ControlState | None:
        for name in self.state.then:
            following, trial = self.machine.state(name), observed.at(0.0)
            if following.on_enter is not None:
                following.on_enter(trial)
            if following.condition.holds(trial):
                return following
        return None

    def objectives(self, observed: Observation) -> list[Objective | AtLeast]:
        """Goals of the present state, and of the machines inside times their priorities."""
        now = observed.at(observed.time - self.entered)
        desired = [o for goal in self.state.goals for o in self._asked(goal, now)]
        for controller, priority in self.inside:
            inner = controller.objectives(observed)
            desired += inner if priority == 1.0 else [replace(o, weight=priority * np.asarray(o.weight)) for o in inner]
        return desired

    def constraints(self, observed: Observation) -> list[Objective | AtLeast]:
        """Goals that must be met in the present state and in the machines inside."""
        now = observed.at(observed.time - self.entered)
        own = [o for goal in self.state.constraints for o in self._asked(goal, now)]
        return [*own, *(o for controller, _ in self.inside for o in controller.constraints(observed))]

    def _asked(self, goal: Goal, observed: Observation) -> Sequence[Objective | AtLeast]:
        """Objectives of a goal; an error names the controller, the state and the goal."""
        try:
            return goal.objectives(observed)
        except UnknownName as error:
            where = f"Controller {self.machine.name!r}, state {self.state.name!r}, goal {type(goal).__name__}"
            raise UnknownName(f"{where}: {error}") from error

    def releases(self) -> tuple[str, ...]:
        """Parts whose points may leave their contacts now."""
        return tuple(
            dict.fromkeys([*self.state.releases, *(p for controller, _ in self.inside for p in controller.releases())])
        )

    def grips(self) -> tuple[str, ...]:
        """Hands and feet that close around what they reach for now."""
        return tuple(
            dict.fromkeys([*self.state.grips, *(p for controller, _ in self.inside for p in controller.grips())])
        )

    def _enter(self, state: ControlState, observed: Observation) -> None:
        self._has_begun = True
        self.state, self.entered = state, observed.time
        path = f"{self._above}{state.name} / "
        self.inside = [(Controller(p.machine, memory=self.memory, above=path), p.priority) for p in state.inside]
        self.memory[state_key(self.machine.name)] = state.name

    def _leave(self, time: float) -> None:
        self.visits = list(self.end(time))
        for controller, _ in self.inside:
            controller.forget()

    def forget(self) -> None:
        """Note that this machine is not at work any more."""
        self.memory.pop(state_key(self.machine.name), None)
        for controller, _ in self.inside:
            controller.forget()

    def end(self, time: float) -> tuple[Visit, ...]:
        """All visits, the present ones closed at a time [s]; of machines inside right after the state's own."""
        within = [visit for controller, _ in self.inside for visit in controller.end(time)]
        return (*self.visits, Visit(f"{self._above}{self.state.name}", self.entered, time), *within)
