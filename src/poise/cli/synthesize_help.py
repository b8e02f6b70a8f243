"""What `poise synthesize` tells of itself: behaviors, their options and controllers, what files can say."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from poise.cli.app import out

if TYPE_CHECKING:
    from poise.synthesis.behaviors.behavior import Behavior


class NamedHelp(TyperCommand):
    """A command whose --help, given a behavior too, also tells of that behavior."""

    _words: tuple[str, ...] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        self._words = tuple(args)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        from poise.errors import PoiseError
        from poise.synthesis.behaviors.find import find_behavior

        for word in self._words:
            if word.startswith("-"):
                continue
            try:
                behavior = find_behavior(word)
            except PoiseError:
                continue
            describe(behavior)
            return


def list_behaviors() -> None:
    """Every behavior with its sentence and its options."""
    from poise.synthesis.behaviors import BEHAVIORS

    width = max(len(name) for name in BEHAVIORS)
    for behavior in BEHAVIORS.values():
        out().print(f"{behavior.name.ljust(width)}  {behavior.summary}", markup=False)
        if behavior.options:
            out().print(f"{' ' * width}    --set {_options(behavior.options)}", markup=False)
    out().print("\nA controller of your own: a TOML file; --goals lists what it can say.", markup=False)


def _options(values: Mapping[str, Any]) -> str:
    return "  ".join(f"{name}={shown(value)}" for name, value in values.items())


def shown(value: Any) -> str:
    """An option's value as it is typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def describe(behavior: Behavior) -> None:
    """A behavior's options with defaults, and its controller as a table and as a graph."""
    from poise.methods.goals.printing import graph, table

    setup = behavior.setup()
    lines = [f"{behavior.name}: {behavior.summary}".rstrip(": "), f"Runs {setup.seconds:g} s unless --seconds says."]
    lines.append("Has the paper's literal form (--mode literal)." if behavior.literal else "Has no literal form.")
    lines += ["", "Options (--set NAME=VALUE):" if behavior.options else "It has no options."]
    lines += [f"  {name} = {shown(value)}" for name, value in behavior.options.items()]
    for machine in machines_of(setup):
        lines += ["", table(machine), "", "Its transitions, for Graphviz:", graph(machine)]
    out().print("\n".join(lines), markup=False)


def machines_of(setup: Any) -> list[Any]:
    """The controllers of a setup, one a figure."""
    return [role.machine for role in setup.roles]


def list_goals() -> None:
    """Every goal, condition and entry with its settings and its sentence."""
    from poise.methods.goals import registry

    for title, kinds in (("Goals", registry.wishes()), ("Conditions", registry.conditions())):
        out().print(f"{title}:", markup=False)
        for kind in kinds.values():
            out().print(f"  {registry.shown(kind)}\n      {_sentence(kind)}", markup=False)
    out().print("Entries:", markup=False)
    for name, function in registry.entries().items():
        out().print(f"  {name}\n      {_sentence(function)}", markup=False)


def _sentence(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]
