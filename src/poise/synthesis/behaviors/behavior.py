"""What a behavior is: a name, options with defaults, and a function that sets it up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from poise.errors import InvalidValue, UnknownName
from poise.methods.goals.machine import Machine
from poise.synthesis.surroundings import Surface

Options = Mapping[str, float]


@dataclass(frozen=True)
class Setup:
    """A behavior ready to run.

    Attributes:
        machine: The controller.
        surfaces: What stands around the figure.
        seconds: How long it runs if nobody says [s].
    """

    machine: Machine
    surfaces: tuple[Surface, ...] = (Surface("floor"),)
    seconds: float = 6.0


@dataclass(frozen=True)
class Behavior:
    """Something a figure can do.

    Attributes:
        name: As typed.
        summary: One sentence.
        options: Name to default.
        build: The setup for given options.
        literal: The setup with the paper's own weights and form, where there is one.
    """

    name: str
    summary: str
    build: Callable[[Options], Setup]
    options: Mapping[str, float] = field(default_factory=dict)
    literal: Callable[[Options], Setup] | None = None

    def setup(self, changed: Mapping[str, float] | None = None, *, is_literal: bool = False) -> Setup:
        """The setup, with some options changed.

        Raises:
            UnknownName: if there is no such option.
            InvalidValue: if there is no literal form.
        """
        for name in changed or {}:
            if name not in self.options:
                known = ", ".join(f"{k}={v:g}" for k, v in self.options.items()) or "none"
                raise UnknownName(f"{self.name!r} has no option {name!r}. Options: {known}.")
        options = {**self.options, **(changed or {})}
        if not is_literal:
            return self.build(options)
        if self.literal is None:
            raise InvalidValue(f"{self.name!r} has no literal form; run it with --mode horizon.")
        return self.literal(options)
