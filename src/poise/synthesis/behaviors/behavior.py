"""What a behavior is: a name, its options, and a function that sets it up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.goals.machine import Machine
from poise.goals.surroundings import Scene
from poise.synthesis.behaviors.option import Option, Value, named
from poise.synthesis.stance import standing

Array = npt.NDArray[np.float64]
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
        pose: Coordinates of a character at the start, before it is placed.
    """

    machine: Machine
    name: str = "figure"
    character: str | None = None
    place: tuple[float, float] = (0.0, 0.0)
    turn: float = 0.0
    pose: Callable[[Character], Array] = standing


@dataclass(frozen=True)
class Setup:
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
    """

    name: str
    summary: str
    build: Callable[[Options], Setup]
    declared: Mapping[str, Option] = field(default_factory=dict)
    literal: Callable[[Options], Setup] | None = None

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

    def setup(self, changed: Options | None = None, *, is_literal: bool = False) -> Setup:
        """The setup, with some options changed.

        Raises:
            UnknownName: if there is no such option.
            InvalidValue: if an option cannot be so.
        """
        build = self.literal if is_literal and self.literal is not None else self.build
        return build(self.chosen(changed))
