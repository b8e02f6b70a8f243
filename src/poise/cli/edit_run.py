"""What all edits share: their options, what the words of options mean, how an edit is run and its result written."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from poise.cli import options
from poise.cli.app import note, out, output_paths, print_json, progress, waiting
from poise.cli.folder import over_folders
from poise.cli.options import option
from poise.cli.outcome import draw_last, require_kinds, summarize_edit
from poise.core.errors import BudgetExceeded, InvalidValue
from poise.core.units import GRAVITY

if TYPE_CHECKING:
    from poise.body.character import Character
    from poise.core.motion import Motion
    from poise.core.typing import Array
    from poise.edit import Budget, Edited, Scope
    from poise.goals.surroundings import Scene as GoalScene
    from poise.show.scene import Scene

Flight = Annotated[
    list[str] | None,
    option("A:B|all", "First and last frame of a flight. Can be repeated. Default: all flights.", "--flight"),
]


MOST_CHOSEN = 4000
"""A page holds all choices of an edit only of clips of so many frames, or it would get too large."""
TRIES = 6
"""Amounts tried for a budget that refused an edit, at most."""


@dataclass(frozen=True)
class Common:
    """What every edit is given: each field is an option of every edit (`command`)."""

    file: options.FileOrFolder
    output: options.OutputNeeded
    amount: options.Amount = 1.0
    budget: options.Budget = None
    interval: options.Interval = None
    blend: options.Blend = 0.2
    record: options.Record = None
    side_by_side: options.SideBySide = False
    report: options.Report = None
    overwrite: options.Overwrite = False
    json: options.Json = False
    character: options.CharacterFile = None
    reading: options.Reading = options.READ_AS_IS

    def check_outputs(self, *read: Path | None) -> None:
        """Refuse what could not be written at the end.

        Args:
            read: Files that are read besides the motion, its skeleton and the character.
        """
        if self.side_by_side and self.record is None:
            raise InvalidValue("--side-by-side is for a recording; give --record as well.")
        output_paths(
            (self.output, self.report, self.record),
            "-o, --report and --record",
            inputs=(self.file, self.reading.skeleton, self.character, *read),
            overwrite=self.overwrite,
        )


Tool = Callable[..., "Edited"]
"""An edit that knows its own options already: a motion and its character, `scope` and `budget` by name."""


def command(group: typer.Typer, *, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], None]:
    """Make a function a command of the group: its own options between file, output and what every edit is given.

    Args:
        group: The commands it joins.
        without: Fields of `Common` that it has no use for.
    """

    def decorate(function: Callable[..., None]) -> None:
        run = options.grouped(function)
        first, second, *others = inspect.signature(run).parameters.values()
        count = len(inspect.signature(function).parameters) - 1
        shared, own = others[: len(others) - count], others[len(others) - count :]
        left = [p for p in shared if p.name not in without]
        options.take_options(run, [first, second, *own, *left], like=function)
        group.command()(over_folders(f"edit {function.__name__}")(run))

    return decorate


def run_edit(asked: Common, tool: Tool, around: GoalScene | None = None, *, has_rounds: bool = False) -> None:
    """Read the clip, edit it, write what was asked for, and say what happened.

    Args:
        asked: Files, and what every edit is given.
        tool: The edit.
        around: What a recording draws around the figure.
        has_rounds: The tool takes `on_round` and shows how far it is.

    Raises:
        InvalidValue: if an option makes no sense or a file would be written over.
        Exit: with 1 if the budget refuses the edit; then nothing is written.
    """
    motion, character, scope, budget = prepare(asked)
    with _counting(tool) if has_rounds else _waiting(tool) as tool:
        try:
            edited = tool(motion, character, scope=scope, budget=budget)
        except BudgetExceeded as error:
            kept = keeping_amount(error, scope, lambda part: tool(motion, character, scope=part, budget=budget))
            cure = f"An amount of {kept:g} keeps it" if kept else "No part of it keeps that"
            sentence = f"{error.reason} Nothing was changed or written. {cure}, or give a larger budget."
            if asked.json:
                print_json(error.report.data | {"refused": sentence})
            note(sentence)
            raise typer.Exit(1) from error
    write(asked, motion, edited, around)


@contextmanager
def _waiting(tool: Tool) -> Iterator[Tool]:
    """The tool, behind a sign of life."""
    with waiting("Editing"):
        yield tool


@contextmanager
def _counting(tool: Tool) -> Iterator[Tool]:
    """The tool, behind a bar with the round and the time left."""
    with progress(disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Looking at the clip", total=None)

        def watch(done: int, most: int) -> None:
            words = f"Round {done + 1} of at most {most}" if done < most else "Checking the result"
            bar.update(task, description=words, total=most, completed=done)

        yield partial(tool, on_round=watch)


def keeping_amount(error: BudgetExceeded, scope: Scope, edit: Callable[[Scope], Edited]) -> float:
    """An amount at which an edit that was refused keeps its budget, seen by trying it; 0 if none was found."""
    amount = error.amount
    for _ in range(TRIES):
        if amount <= 0.0:
            return 0.0
        try:
            edit(replace(scope, amount=amount))
        except BudgetExceeded as again:
            amount = min(again.amount, 0.9 * amount)
        else:
            return amount
    return 0.0


def prepare(asked: Common) -> tuple[Motion, Character | None, Scope, Budget | None]:
    """Check what was asked for before anything is computed; read the clip and the character."""
    from poise.edit import Budget, Scope

    asked.check_outputs()
    interval = None if asked.interval is None else pair("--interval", asked.interval)
    scope = Scope(asked.amount, interval, asked.blend)
    budget = None if asked.budget is None else Budget.parse(asked.budget)
    require_kinds(asked.output, asked.record)
    motion = asked.reading.load(asked.file)
    character = None
    if asked.character is not None:
        from poise.body import load_character
        from poise.body.posing import other_size

        character = load_character(asked.character)
        if doubt := other_size(character, motion):
            note(f"warning: {doubt}")
    return motion, character, scope, budget


def write(asked: Common, motion: Motion, edited: Edited, around: GoalScene | None = None) -> None:
    """The edited motion, its report and its recording; a few lines for a person, or JSON."""
    import poise.io
    from poise.io.files import all_or_none
    from poise.io.format import format_for, optional

    companion = optional(format_for(asked.output), "companion")
    beside = companion(edited.motion, asked.output) if companion is not None else None
    with all_or_none():
        poise.io.save(edited.motion, asked.output)
        if asked.report is not None:
            edited.report.save(asked.report)
    if (record := asked.record) is not None:

        def drawn() -> Scene:
            from poise.show.motion_scene import compare, scene_of_edit

            has_layers = record.suffix.lower() == ".html"
            if asked.side_by_side:
                both = compare([motion, edited.motion], names=("before", "after"), physics=has_layers)
                return replace(both, title=f"{asked.file.name}: before and after")
            choices = edited.report.motions() if has_layers and len(edited.motion.times) <= MOST_CHOSEN else ()
            scene = scene_of_edit(motion, edited.motion, edited.report.data, physics=has_layers, choices=choices)
            if around is not None:
                from poise.show.synthesis_scene import props_of

                scene = replace(scene, props=scene.props + props_of(around, (), scene.times))
            return scene

        draw_last(drawn, record, asked.output, asked.report)
    if asked.json:
        print_json(edited.report.data)
    else:
        summarize_edit(asked.output, edited.report.data)
        if beside is not None:
            out().print(f"{beside}: the skeleton it needs, written beside it", markup=False)


BARE_GRAVITY = 4.0
"""A gravity without a unit is in g up to this, as `poise check` prints it, and in m/s^2 above."""


def pair(name: str, text: str) -> tuple[float, float]:
    """Two numbers with a colon between.

    Raises:
        InvalidValue: naming the option.
    """
    parts = text.split(":")
    try:
        first, second = (float(p) for p in parts)
    except ValueError:
        raise InvalidValue(f"{name} is {text!r}; give two numbers with a colon between, such as 0.5:1.2.") from None
    return first, second


def vector(name: str, text: str | None) -> Array | None:
    """Three numbers with commas between, or None.

    Raises:
        InvalidValue: naming the option.
    """
    import numpy as np

    if text is None:
        return None
    try:
        numbers = np.array([float(p) for p in text.split(",")])
    except ValueError:
        numbers = np.zeros(0)
    if numbers.shape != (3,) or not np.isfinite(numbers).all():
        raise InvalidValue(f"{name} is {text!r}; give three numbers such as 0,1.5,0.9 (Z up, meters).")
    return numbers


def flights_of(texts: list[str] | None) -> str | list[tuple[int, int]]:
    """What --flight says: "all", or pairs of frames.

    Raises:
        InvalidValue: if a text is not a pair of frame numbers.
    """
    if not texts or texts == ["all"]:
        return "all"
    found: list[tuple[int, int]] = []
    for text in (t for whole in texts for t in whole.split(",")):
        match = re.fullmatch(r"\s*(\d+)\s*:\s*(\d+)\s*", text)
        if match is None:
            raise InvalidValue(f"--flight is {text!r}; give frames such as 120:131, or all.")
        found.append((int(match[1]), int(match[2])))
    return found


def frames_of(name: str, text: str | None) -> tuple[int, ...]:
    """Frame numbers with commas between.

    Raises:
        InvalidValue: naming the option.
    """
    if not text:
        return ()
    try:
        return tuple(int(p) for p in text.split(","))
    except ValueError:
        raise InvalidValue(f"{name} is {text!r}; give frame numbers such as 120,131.") from None


def gravity_of(text: str | None) -> float | Array | None:
    """A gravity in m/s^2: "1.3" or "1.3g" times 9.81, "1.62m/s2", or a vector "0,0,-9.81" in m/s^2.

    A bare number above 4 is m/s^2 and a note says so: nothing is meant to fall with 9.81 g.

    Raises:
        InvalidValue: if it cannot be read.
    """
    if text is None:
        return None
    if "," in text:
        return vector("--gravity", text)
    match = re.fullmatch(r"\s*([0-9.]+(?:e-?\d+)?)\s*(g|m/s2|m/s\^2|m/s²)?\s*", text, re.IGNORECASE)
    try:
        number = float(match[1]) if match else math.nan
    except ValueError:
        number = math.nan
    if match is None or not math.isfinite(number):
        raise InvalidValue(f"--gravity is {text!r}; give 1.3 (times 9.81 m/s²), 1.62m/s2, or 0,0,-9.81.")
    if match[2] is None and number > BARE_GRAVITY:
        note(f"--gravity {text} is taken as {number:g} m/s²; write {text}g for {number:g} times 9.81 m/s².")
        return number
    return number * (GRAVITY if match[2] is None or match[2].lower() == "g" else 1.0)
