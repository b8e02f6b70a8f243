"""Options of a behavior found by CMA-ES: tried on some cases, judged on others that the search never sees.

    cost of a case = 10 (1 − share of its time without a fall) + 5 min(|v / v_d − 1|, 1)

The second part counts for behaviors with an option `speed` v_d; v is the way over the last third of the time, by
that time. Every try is written down at once, so a search that was stopped goes on: the same seed draws the same tries.

Source: N. Hansen, "The CMA Evolution Strategy: A Tutorial", 2016, by the library `cma`. Deviates: what lies outside its
bounds is mapped into them by the library.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.body.toml_file import to_toml
from poise.core.errors import FileFormatError, InvalidValue, MissingExtra, install_line
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.io.files import append_line, parse_toml, quoted, read_text, write_atomically
from poise.synthesis.behaviors.behavior import Behavior, named, shown
from poise.synthesis.controller_file import Wanted, find_behavior
from poise.synthesis.figure import Settings
from poise.synthesis.run import SynthesisResult, has_fallen, synthesize
from poise.synthesis.world import World

SCHEMA = "poise.gains/1"
FALL, SPEED = 10.0, 5.0
"""Weights of a fall and of a wrong speed [1]."""
SPREAD = 0.2
"""Of the first tries, as a share of each range [1]."""

Case = Mapping[str, Any]
"""Options that a case sets."""
Ranges = Mapping[str, tuple[float, float]]
"""Lowest and highest value of each option that is tuned."""


@dataclass(frozen=True)
class Outcome:
    """How a case went.

    Attributes:
        case: Its options.
        cost: As at the top of this file, or the caller's own [1].
        fell: When the first figure fell [s], or None.
        speed: Over the last third of the time [m/s].
    """

    case: Case
    cost: float
    fell: float | None
    speed: float

    @property
    def typed(self) -> str:
        """Its case as it is typed: "speed=2 friction=0.5"."""
        return " ".join(f"{name}={shown(value)}" for name, value in self.case.items())


@dataclass(frozen=True)
class Tuned:
    """What was found, and how.

    Attributes:
        behavior: Its name.
        options: The best values by name.
        before, after: The tuned cases with the values at the start and with the best ones.
        held_before, held_after: The same of cases that the search has not seen.
        found: Seed, number of tries, ranges and so on, for the file.
    """

    behavior: str
    options: Mapping[str, float]
    before: tuple[Outcome, ...]
    after: tuple[Outcome, ...]
    held_before: tuple[Outcome, ...]
    held_after: tuple[Outcome, ...]
    found: Mapping[str, Any]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a gains file (TOML), which `load_gains` and `poise synthesize --gains` read."""
        lines = [f"schema = {quoted(SCHEMA)}", f"behavior = {quoted(self.behavior)}", "", "[options]"]
        lines += [f"{name} = {value!r}" for name, value in self.options.items()]
        lines += ["", "[found]", *(f"{name} = {_toml(value)}" for name, value in self.found.items())]
        for key, before, after in (
            ("tuned_on", self.before, self.after),
            ("held_out", self.held_before, self.held_after),
        ):
            for old, new in zip(before, after, strict=True):
                lines += ["", f"[[found.{key}]]", f"case = {quoted(new.typed)}"]
                for name, outcome in (("before", old), ("after", new)):
                    fell = "" if outcome.fell is None else f", fell_s = {outcome.fell:.2f}"
                    lines.append(f"{name} = {{ cost = {outcome.cost:.4f}, speed = {outcome.speed:.3f}{fell} }}")
        write_atomically(Path(path), "\n".join(lines) + "\n")


def load_gains(path: str | os.PathLike[str]) -> tuple[str, dict[str, float]]:
    """The behavior and the options of a gains file.

    Raises:
        FileFormatError: if it is none.
    """
    data = parse_toml(read_text(Path(path)), path)
    options, behavior = data.get("options"), data.get("behavior")
    is_whole = isinstance(options, dict) and all(type(v) in (int, float) for v in options.values())
    if data.get("schema") != SCHEMA or not isinstance(behavior, str) or not is_whole:
        raise FileFormatError(
            f'It is not a gains file: schema = "{SCHEMA}", behavior and numbers in [options] are needed.',
            path=path,
            cure="Make one with poise synthesize NAME --tune OPTION -o FILE.",
        )
    return behavior, {name: float(value) for name, value in data["options"].items()}


def tune(
    behavior: Wanted,
    ranges: Ranges | Sequence[str],
    *,
    cases: Sequence[Case] = ({},),
    held_out: Sequence[Case] = (),
    character: Character | None = None,
    seconds: float | None = None,
    settings: Settings | None = None,
    tries: int = 64,
    population: int = 8,
    seed: int = 0,
    log: str | os.PathLike[str] | None = None,
    cost: Callable[[SynthesisResult, Case], float] | None = None,
    clip: Motion | None = None,
    is_logarithmic: bool = False,
    on_try: Callable[[int, float, float], None] | None = None,
) -> Tuned:
    """Search options of a behavior whose cost, summed over cases, is least.

    Args:
        behavior: As in `synthesize`.
        ranges: Lowest and highest value of each option that is tuned, or names alone where the behavior says both.
        cases: Other options of each run that is tried.
        held_out: Cases that are run at the end alone, with the values at the start and the best ones.
        character, seconds, settings: As in `synthesize`.
        tries: How many sets of values are tried.
        population: Tries of a generation.
        seed: Of the search; the same one gives the same tries.
        log: File in which every try is kept. If it exists, its tries are not run again.
        cost: Of a result and its case, instead of the one above.
        clip: As in `synthesize`.
        is_logarithmic: Whether ranges, all positive, are searched on a logarithmic scale.
        on_try: Called with the number of a try, its cost and the least one so far.

    Raises:
        InvalidValue: if an option, a range or a number makes no sense, a case sets an option that is tuned, or the log
            is of another search.
        UnknownName: if the behavior has no such option.
        MissingExtra: if `cma` is not installed.

    Example:
        >>> found = tune("run", ["sinks", "flight"], cases=[{"speed": 2.0}], tries=2, population=2, seconds=1.0)
        >>> found.save("gains.toml")
    """
    wanted = find_behavior(behavior)
    bounds = _bounds(wanted, ranges)
    if tries < 1 or population < 2:
        raise InvalidValue(f"tries is {tries} and population {population}; give at least 1 and 2.")
    if seed < 0:
        raise InvalidValue(f"seed is {seed}; give a whole number of 0 or more.")
    if not cases:
        raise InvalidValue("No case is given; cases = ({},) tries the behavior as it is.")
    names, spans = list(bounds), np.array(list(bounds.values()))
    start = np.array([float(wanted.declared[name].default) for name in names])
    if np.any((start < spans[:, 0]) | (start > spans[:, 1])):
        raise InvalidValue("A range does not hold the value at the start: " + _ranges_said(bounds, start) + ".")

    if is_logarithmic and spans.min() <= 0.0:
        raise InvalidValue("On a logarithmic scale all ranges are positive: " + _ranges_said(bounds, start) + ".")
    to, back = (np.log, np.exp) if is_logarithmic else (np.asarray, np.asarray)
    low, high = to(spans).T
    cases = [_checked(wanted, case, bounds) for case in cases]
    held_out = [_checked(wanted, case, bounds) for case in held_out]
    how = settings or Settings()
    method = cma()

    def run(values: Array, some: Sequence[Case]) -> tuple[Outcome, ...]:
        options = dict(zip(names, values.tolist(), strict=True))
        return tuple(_outcome(wanted, case, options, character, seconds, how, cost, clip) for case in some)

    book = _Book(
        log,
        {
            "behavior": wanted.name,
            "ranges": {name: list(pair) for name, pair in bounds.items()},
            "cases": cases,
            "options": {name: option.default for name, option in wanted.declared.items()},
            "character": None if character is None else hashlib.sha256(to_toml(character).encode()).hexdigest()[:16],
            "settings": None if settings is None else repr(settings),
            "seconds": seconds,
            "seed": seed,
            "population": population,
            **({} if clip is None else {"clip": _digest(clip)}),
            **({"is_logarithmic": True} if is_logarithmic else {}),
        },
    )
    before = run(start, cases)
    best, least = start, _total(before)
    random = np.random.default_rng(seed)
    strategy = method.CMAEvolutionStrategy(
        (to(start) - low) / (high - low),
        SPREAD,
        {
            "bounds": [0.0, 1.0],
            "popsize": population,
            "seed": math.nan,  # the numbers come from `random`; others' stay as they are
            "randn": lambda count, size: random.standard_normal((count, size)),
            "verbose": -9,
        },
    )
    number = 0
    while number < tries:
        drawn, costs = strategy.ask(), []
        for share in drawn:
            values = back(low + np.asarray(share) * (high - low))
            costs.append(book.cost(number, values, lambda values=values: _total(run(values, cases))))
            number += 1
            if costs[-1] < least:
                best, least = values, costs[-1]
            if on_try is not None:
                on_try(number, costs[-1], least)
            if number == tries:
                break
        if len(costs) == population:
            strategy.tell(drawn, costs)
    held_before = run(start, held_out)
    return Tuned(
        wanted.name,
        dict(zip(names, best.tolist(), strict=True)),
        before,
        before if best is start else run(best, cases),
        held_before,
        held_before if best is start else run(best, held_out),
        {
            "method": f"CMA-ES, cma {method.__version__}",
            "seed": seed,
            "tries": tries,
            "population": population,
            "seconds": wanted.setup(is_literal=how.is_literal).seconds if seconds is None else seconds,
            "ranges": _ranges_said(bounds, start),
        },
    )


def cma() -> Any:
    """The module cma.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # it wants to plot, which is not used here
            return importlib.import_module("cma")
    except ImportError as error:
        raise MissingExtra(f"Tuning needs the package cma: {install_line('tune')}.") from error


def _bounds(behavior: Behavior, ranges: Ranges | Sequence[str]) -> dict[str, tuple[float, float]]:
    bounds: dict[str, tuple[float, float]] = {}
    for name in ranges:
        option = named(behavior.declared, name, behavior.name)
        if isinstance(option.default, bool | str) or option.is_whole:
            raise InvalidValue(f"Option {name!r} is {option.allowed}; only other numbers are tuned.")
        low, high = ranges[name] if isinstance(ranges, Mapping) else (option.low, option.high)
        if not (math.isfinite(low) and math.isfinite(high) and option.low <= low < high <= option.high):
            raise InvalidValue(
                f"The range of {name!r} is {low:g} to {high:g}; give two numbers, the lower first: {option.allowed}."
            )
        bounds[name] = (float(low), float(high))
    if not bounds:
        raise InvalidValue("No option is named that is to be tuned.")
    return bounds


def _checked(behavior: Behavior, case: Case, bounds: Ranges) -> dict[str, Any]:
    """A case with its values as the behavior takes them."""
    every = behavior.chosen(case)
    if tuned := [name for name in case if name in bounds]:
        raise InvalidValue(
            f"A case sets {', '.join(tuned)}, which is tuned; leave it out of the case or of the ranges."
        )
    return {name: every[name] for name in case}


def _digest(motion: Motion) -> str:
    return hashlib.sha256(
        b"".join(a.tobytes() for a in (motion.times, motion.translations, motion.rotations))
    ).hexdigest()


def _ranges_said(bounds: Ranges, start: Array) -> str:
    return ", ".join(f"{k} {a:g} to {b:g} from {x:g}" for (k, (a, b)), x in zip(bounds.items(), start, strict=True))


def _total(outcomes: Sequence[Outcome]) -> float:
    return sum(outcome.cost for outcome in outcomes)


def _outcome(
    behavior: Behavior,
    case: Case,
    options: Mapping[str, float],
    character: Character | None,
    seconds: float | None,
    settings: Settings,
    cost: Callable[[SynthesisResult, Case], float] | None,
    clip: Motion | None,
) -> Outcome:
    """One run, which ends with a fall."""
    chosen = {**options, **case}
    length = behavior.setup(chosen, is_literal=settings.is_literal).seconds if seconds is None else seconds

    def look(world: World) -> None:
        if has_fallen(world.state, world.figures[0].body):
            raise KeyboardInterrupt  # ends the run, which keeps what it has

    result = synthesize(behavior, character, options=chosen, seconds=length, clip=clip, settings=settings, on_step=look)
    fell = result.figures[0].fell
    if fell is None and result.report["stopped"] == "interrupted":
        raise KeyboardInterrupt
    q, times = result.figures[0].q, result.motion.times
    last = max(1, len(times) // 3)
    speed = float(np.linalg.norm(q[-1, :2] - q[-1 - last, :2]) / (times[-1] - times[-1 - last]))
    if cost is not None:
        return Outcome(case, float(cost(result, case)), fell, speed)
    up = 1.0 if result.is_complete else float(times[-1]) / length
    total = FALL * (1.0 - up)
    if "speed" in behavior.declared:
        asked = float(behavior.chosen(chosen)["speed"])
        total += SPEED * min(abs(speed - asked) / max(asked, 0.1), 1.0)
    return Outcome(case, total, fell, speed)


class _Book:
    """Tries that were run, a line each; the first line says of which search."""

    def __init__(self, path: str | os.PathLike[str] | None, search: Mapping[str, Any]) -> None:
        self.path, self.tries = None if path is None else Path(path), []
        if self.path is None:
            return
        head = json.dumps(search)
        if not self.path.exists():
            write_atomically(self.path, head + "\n")
            return
        lines = read_text(self.path).splitlines()
        is_cut = bool(lines) and not lines[-1].endswith("}")  # stopped as the last line was written
        whole = lines[:-1] if is_cut else lines
        try:
            first, *rows = [json.loads(line) for line in whole]
            if not isinstance(first, dict):
                raise TypeError
            self.tries = [(np.array(row["values"]), float(row["cost"])) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            raise FileFormatError("It is not a list of tries.", path=self.path, cure="Delete it.") from error
        search = json.loads(head)
        if first != search:
            changed = ", ".join(k for k in search if first.get(k) != search[k])
            raise InvalidValue(
                f"{self.path} holds the tries of another search, with other {changed}. Give the same again, or delete "
                "it."
            )
        if is_cut:
            write_atomically(self.path, "".join(line + "\n" for line in whole))

    def cost(self, number: int, values: Array, run: Callable[[], float]) -> float:
        """The cost of a try, from the book if it is there."""
        if number < len(self.tries):
            kept, cost = self.tries[number]
            if kept.shape != values.shape or not np.allclose(kept, values, rtol=1e-6, atol=1e-12):
                raise InvalidValue(f"Try {number + 1} of {self.path} has other values; delete the file and begin anew.")
            return cost
        cost = run()
        if self.path is not None:
            line = json.dumps({"values": values.tolist(), "cost": cost})
            append_line(self.path, line, "Then give the same again: the search goes on.")
        return cost


def _toml(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else repr(value)
