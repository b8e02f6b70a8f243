"""What a behavior is: a name, its options, and a function that sets it up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from poise.body.character import Character
from poise.core.errors import InvalidValue, UnknownName
from poise.core.typing import Array
from poise.goals.state_machine import StateMachine
from poise.goals.surroundings import Scene
from poise.synthesis.poses import standing

Value = float | bool | str


@dataclass(frozen=True)
class Option:
    """One option of a behavior.

    Attributes:
        default: A number, true or false, or text; every value is of its kind.
        what: It means, in some words.
        unit: Of a number, "" where it has none.
        low, high: Least and largest number.
        is_whole: Whether only whole numbers make sense.
    """

    default: Value
    what: str = ""
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    is_whole: bool = False

    @property
    def allowed(self) -> str:
        """What it may be, in words."""
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return "text"
        kind, unit = "a whole number" if self.is_whole else "a number", f" {self.unit}" if self.unit else ""
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"{kind} from {self.low:g} to {self.high:g}{unit}"
        if math.isfinite(self.low):
            return f"{kind} of {self.low:g}{unit} or more"
        return f"{kind}{f' in{unit}' if unit else ''}"

    def checked(self, name: str, value: Any) -> Value:
        """A value of this option, in its own kind; 1 and 0 also stand for true and false.

        Args:
            name: What the error calls it, such as "Option friction".
            value: As given: of its kind, or text as typed.

        Raises:
            InvalidValue: naming the option, what was seen and what is allowed.
        """
        if isinstance(self.default, str):
            if isinstance(value, str):
                return value
        elif isinstance(self.default, bool):
            truth = _TRUTH.get(str(value).lower())
            if truth is not None:
                return truth
        else:
            number = _number(value)
            if number is not None and self.low <= number <= self.high and (number.is_integer() or not self.is_whole):
                return number
        raise InvalidValue(f"{name} is {shown(value)}; give {self.allowed}.")


_TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def shown(value: Any) -> str:
    """An option's value as it is typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def named(options: Mapping[str, Any], name: str, owner: str) -> Any:
    """What stands under a name among options.

    Raises:
        UnknownName: if nothing does, with all that there are and their values.
    """
    if name not in options:
        known = ", ".join(f"{k}={shown(v.default if isinstance(v, Option) else v)}" for k, v in options.items())
        raise UnknownName(f"{owner!r} has no option {name!r}. Options: {known or 'none'}.")
    return options[name]


def friction(default: float = 1.0) -> Option:
    """The floor's friction, an option of most behaviors."""
    return Option(default, "Coulomb friction of the floor", low=0.0, high=10.0)


Options = Mapping[str, Any]
"""Values by name: numbers, true or false, or text."""


@dataclass(frozen=True)
class Role:
    """One figure of a behavior.

    Attributes:
        machine: Its controller.
        name: Unique in the behavior.
        character: A built-in figure, or None for the one the user brings.
        place: Where it stands in the plane [m].
        turn: Heading against the figure's own [rad], about the upward axis.
        pose: Coordinates of a character at rest, before it is placed; it begins so.
        begins_as_clip: Whether it begins as its clip does instead, moving.
    """

    machine: StateMachine
    name: str = "figure"
    character: str | None = None
    place: tuple[float, float] = (0.0, 0.0)
    turn: float = 0.0
    pose: Callable[[Character], Array] = standing
    begins_as_clip: bool = False


@dataclass(frozen=True)
class Scenario:
    """A behavior ready to run.

    Attributes:
        roles: Who takes part; the first is the user's.
        scene: What stands around.
        seconds: How long it runs if nobody says [s].
        view: From where pictures show it best: "side", "front", "back", "quarter" or "top".
    """

    roles: tuple[Role, ...]
    scene: Scene = field(default_factory=Scene)
    seconds: float = 6.0
    view: str = "quarter"


@dataclass(frozen=True)
class Behavior:
    """Something a figure can do.

    Attributes:
        name: As typed.
        summary: One sentence.
        declared: Its options by name: what they mean and may be.
        build: The setup for given options.
        literal: The setup with the paper's own weights; without one its own weights are taken in the literal form.
        is_athletic: It leaves the ground again and again, and has failed if it falls though nothing pushed it.
    """

    name: str
    summary: str
    build: Callable[[Options], Scenario]
    declared: Mapping[str, Option] = field(default_factory=dict)
    literal: Callable[[Options], Scenario] | None = None
    is_athletic: bool = False

    @property
    def options(self) -> dict[str, Value]:
        """Its options with their defaults."""
        return {name: option.default for name, option in self.declared.items()}

    def chosen(self, changed: Options | None = None) -> dict[str, Value]:
        """All options, some of them changed.

        Raises:
            UnknownName: if there is no such option.
            InvalidValue: if a value is none that the option may have.
        """
        own = {
            n: named(self.declared, n, self.name).checked(f"Option {n}", value) for n, value in (changed or {}).items()
        }
        return {**self.options, **own}

    def setup(self, changed: Options | None = None, *, is_literal: bool = False) -> Scenario:
        """The setup, with some options changed.

        Raises:
            UnknownName: if there is no such option.
            InvalidValue: if an option cannot be so.
        """
        build = self.literal if is_literal and self.literal is not None else self.build
        return build(self.chosen(changed))
