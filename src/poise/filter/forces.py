"""Forces on a body for a while: pushes and pulls that are known in advance, and what else a run is given."""

from __future__ import annotations

import abc
import math
import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.typing import Array


def acts(start: float, duration: float, time: float) -> bool:
    """True from the first step that begins at or after `start` until `duration` is over [s]."""
    return start - 1e-9 <= time < start + duration - 1e-9


class Force(abc.ABC):
    """Something that acts on a place of a body for a while.

    Attributes:
        body: A joint's own name or a role.
        start, duration: [s].
        kind: What a report calls it.
        is_solved_for: The step finds the force itself; here it is only felt.
    """

    body: str
    start: float
    duration: float
    kind: ClassVar[str] = "push"
    is_solved_for: ClassVar[bool] = False

    @property
    @abc.abstractmethod
    def offset(self) -> Array | None:
        """Where it acts, in the body's frame [m], shape (3,); None is the center of mass."""

    @abc.abstractmethod
    def is_on(self, time: float) -> bool:
        """Whether it acts in the step that begins now [s]."""

    @abc.abstractmethod
    def body_of(self, character: Character) -> int:
        """Index of the body it acts on."""

    @abc.abstractmethod
    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        """Force now [N], shape (3,).

        Args:
            place, velocity: Of the place it acts on, in the world [m], [m/s], shape (3,).
            time: [s].
            mass: Of the body [kg].
        """


class _Planned(Force):
    """A force known in advance, on the center of mass of a body by name."""

    @property
    def offset(self) -> Array | None:
        return None

    def is_on(self, time: float) -> bool:
        return acts(self.start, self.duration, time)

    def body_of(self, character: Character) -> int:
        return character.body_index(self.body)


@dataclass(frozen=True)
class Push(_Planned):
    """A constant force on the center of mass of a body.

    Attributes:
        body: A joint's own name or a role.
        force: [N], world frame, (3,).
        start, duration: [s].
    """

    body: str
    force: tuple[float, float, float]
    start: float = 0.0
    duration: float = 0.2

    def __post_init__(self) -> None:
        _check(self.force, self.start, self.duration, "force")

    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        del place, velocity, time, mass
        return np.array(self.force, dtype=np.float64)


@dataclass(frozen=True)
class Pull(_Planned):
    """A spring from a body's center of mass to a fixed point, critically damped for the body's own mass.

    Attributes:
        body: A joint's own name or a role.
        point: [m], world frame, (3,).
        stiffness: [N/m].
        start, duration: [s].
    """

    kind: ClassVar[str] = "pull"

    body: str
    point: tuple[float, float, float]
    stiffness: float
    start: float = 0.0
    duration: float = math.inf

    def __post_init__(self) -> None:
        _check(self.point, self.start, self.duration, "point")
        if not self.stiffness > 0.0 or not math.isfinite(self.stiffness):
            raise InvalidValue(f"A pull needs a positive stiffness [N/m], not {self.stiffness}.")

    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        del time
        damping = 2.0 * math.sqrt(self.stiffness * mass)
        return self.stiffness * (np.array(self.point) - place) - damping * velocity


def _check(vector: tuple[float, float, float], start: float, duration: float, what: str) -> None:
    if len(vector) != 3 or not all(math.isfinite(x) for x in vector):
        raise InvalidValue(f"The {what} {vector} is not three finite numbers.")
    if not (math.isfinite(start) and start >= 0.0) or not duration > 0.0:
        raise InvalidValue(
            f"Start {start} s and duration {duration} s: give a start of zero or more and a positive duration."
        )


_WHEN = re.compile(r"^@(?P<start>[^+]+)(\+(?P<duration>.+))?$")


def parse_push(text: str) -> Push:
    """Read "BODY FX FY FZ @START+DURATION" in newtons and seconds; the name may hold spaces.

    Raises:
        InvalidValue: with the form that is wanted.
    """
    body, numbers, start, duration = _parse(text, 3, "BODY FX FY FZ @START+DURATION")
    return Push(body, (numbers[0], numbers[1], numbers[2]), start, 0.2 if duration is None else duration)


def parse_pull(text: str) -> Pull:
    """Read "BODY X Y Z STIFFNESS @START+DURATION" in meters, newtons per meter, seconds; the name may hold spaces."""
    body, numbers, start, duration = _parse(text, 4, "BODY X Y Z STIFFNESS @START+DURATION")
    return Pull(
        body, (numbers[0], numbers[1], numbers[2]), numbers[3], start, math.inf if duration is None else duration
    )


def _parse(text: str, count: int, form: str) -> tuple[str, list[float], float, float | None]:
    words = text.split()
    when = _WHEN.match(words[-1]) if words else None
    try:
        if when is None or len(words) < count + 2:
            raise ValueError
        numbers = [float(w) for w in words[-1 - count : -1]]
        start = float(when["start"])
        duration = None if when["duration"] is None else float(when["duration"])
    except ValueError:
        raise InvalidValue(f"Cannot read {text!r}. Write it as {form!r}, for example {_EXAMPLES[count]!r}.") from None
    return " ".join(words[: -1 - count]), numbers, start, duration


_EXAMPLES = {3: "chest 300 0 0 @1.0+0.2", 4: "left_hand 0.4 0.3 1.2 500 @1.0+2"}
