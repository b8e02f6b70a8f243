"""Conditions made of conditions, and of where a machine inside a state is."""

from __future__ import annotations

from dataclasses import dataclass

from poise.goals.conditions import Condition
from poise.goals.machine import at
from poise.goals.view import View


@dataclass(frozen=True)
class AllOf(Condition):
    """Every one of them holds; all are asked, in this order, since some take notes."""

    of: tuple[Condition, ...]

    def holds(self, view: View) -> bool:
        return all([condition.holds(view) for condition in self.of])


@dataclass(frozen=True)
class AnyOf(Condition):
    """One of them holds; none is asked after the first that does."""

    of: tuple[Condition, ...]

    def holds(self, view: View) -> bool:
        return any(condition.holds(view) for condition in self.of)


@dataclass(frozen=True)
class Not(Condition):
    """It does not hold."""

    of: Condition

    def holds(self, view: View) -> bool:
        return not self.of.holds(view)


@dataclass(frozen=True)
class InState(Condition):
    """A machine, such as one inside the state, is in one of some states; or it is not at work yet.

    Attributes:
        machine: Its name.
        states: Names of its states.
    """

    machine: str
    states: tuple[str, ...]

    def holds(self, view: View) -> bool:
        now = view.memory.get(at(self.machine))
        return now is None or now in self.states


@dataclass(frozen=True)
class Reached(Condition):
    """A machine is in one of some states; false until it is, so that `Not` of it waits for it.

    Attributes:
        machine: Its name.
        states: Names of its states.
    """

    machine: str
    states: tuple[str, ...]

    def holds(self, view: View) -> bool:
        return view.memory.get(at(self.machine)) in self.states
