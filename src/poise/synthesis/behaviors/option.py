"""Options of behaviors: what each means, its unit and what it may be; declared where the behavior is, checked here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from poise.core.errors import InvalidValue, UnknownName

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
