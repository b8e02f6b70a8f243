"""Controllers as state machines: states with goals and one condition, and the transitions between them.

At each step the present state's condition is asked. When it fails, the first listed successor whose own condition holds
is entered in the same step; if none does, the state stays and that is noted. Source: [Jain2009]_ 5.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from poise.errors import InvalidValue
from poise.methods.goals.conditions import Always, Condition
from poise.methods.goals.objectives import Wish
from poise.methods.goals.view import View


@dataclass(frozen=True)
class ControlState:
    """One control strategy.

    Attributes:
        name: Unique in its machine.
        wishes: Its goals, each with its weight.
        condition: True while the strategy applies.
        then: States that may follow, in the order in which they are tried.
        enter: What to note when the state is entered, such as which foot shall step.
        lifts: Parts whose points may leave their contacts and whose grips open: "swing", "left_hand", …
        grips: Hands and feet that close around what they reach for: "left_hand", …; the machine's memory names it as
            "left_hand reaches": a hold, or "figure:left_hand".
        musts: Goals that must be met, as hard rows; where they cannot be, the slack is reported.
    """

    name: str
    wishes: tuple[Wish, ...]
    condition: Condition = field(default_factory=Always)
    then: tuple[str, ...] = ()
    enter: Callable[[View], None] | None = None
    lifts: tuple[str, ...] = ()
    grips: tuple[str, ...] = ()
    musts: tuple[Wish, ...] = ()


@dataclass(frozen=True)
class Machine:
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
            raise InvalidValue(f"Controller {self.name!r} needs states with names of their own; it has {names}.")
        for state in self.states:
            for name in state.then:
                if name not in names:
                    raise InvalidValue(
                        f"State {state.name!r} of controller {self.name!r} leads to {name!r}, which is none of its "
                        f"states: {', '.join(names)}."
                    )

    def state(self, name: str) -> ControlState:
        """The state with this name."""
        return next(s for s in self.states if s.name == name)


@dataclass(frozen=True)
class Visit:
    """One stay in a state: its name, and when it began and ended [s]."""

    name: str
    start: float
    end: float


class Course:
    """A machine at work: where it is, and where it has been. The one changing thing of a controller."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.state = machine.states[0]
        self.entered = 0.0
        self.visits: list[Visit] = []
        self.stuck = 0
        self.memory: dict[str, object] = {}
        self._has_begun = False

    def advance(self, view: View) -> ControlState:
        """The state that applies now; enters another if the present one fails."""
        if not self._has_begun:
            self._enter(self.state, view)
        if self.state.condition.holds(replace(view, since=view.time - self.entered)):
            return self.state
        for name in self.state.then:
            following = self.machine.state(name)
            trial = replace(view, since=0.0)
            if following.enter is not None:
                following.enter(trial)
            if following.condition.holds(trial):
                self.visits.append(Visit(self.state.name, self.entered, view.time))
                self._enter(following, view)
                return self.state
        self.stuck += 1
        return self.state

    def _enter(self, state: ControlState, view: View) -> None:
        if not self._has_begun and state.enter is not None:
            state.enter(view)
        self._has_begun = True
        self.state, self.entered = state, view.time

    def end(self, time: float) -> tuple[Visit, ...]:
        """All visits, the present one closed at a time [s]."""
        return (*self.visits, Visit(self.state.name, self.entered, time))


def table(machine: Machine) -> str:
    """A controller as a table a person can read: state, goals with weights, condition, what follows."""
    lines = [f"{machine.name}", ""]
    for state in machine.states:
        lines.append(f"{state.name}  [{_short(state.condition)}]  → {', '.join(state.then) or '—'}")
        lines += [f"    {_short(wish)}" for wish in state.wishes]
    return "\n".join(lines)


def graph(machine: Machine) -> str:
    """The transitions of a controller in Graphviz' language."""
    edges = [f'  "{s.name}" -> "{name}";' for s in machine.states for name in s.then]
    return "\n".join(["digraph {", *(f'  "{s.name}";' for s in machine.states), *edges, "}"])


def _short(thing: Wish | Condition) -> str:
    values = {k: v for k, v in vars(thing).items() if not isinstance(v, Wish)}
    return f"{type(thing).__name__}({', '.join(f'{k}={v!r}' for k, v in values.items())})"
