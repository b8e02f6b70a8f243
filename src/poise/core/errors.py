"""Every error Poise raises on purpose: one root, and the builtin a stranger would catch.

`require` refuses an argument of a public function that is not of the kind needed, in a sentence.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from types import NoneType
from typing import Any

on_command_line: ContextVar[bool] = ContextVar("the caller types options, not arguments", default=False)


class PoiseError(Exception):
    """Root of all errors raised on purpose. The message says what was wrong, seen, allowed, and what to do.

    Messages are written with options of the command line, such as `--unit cm`; Python's caller reads `unit=cm`.

    Example:
        >>> try:
        ...     poise.load("nowhere.bvh")
        ... except poise.PoiseError as error:
        ...     print(error)
    """

    def __str__(self) -> str:
        text = super().__str__()
        return text if on_command_line.get() else with_arguments(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[PoiseError], args: tuple[Any, ...], data: dict[str, Any]) -> PoiseError:
    """An error as another process raised it."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(data)
    return error


_OPTION = re.compile(
    r"(?P<command>(?:poise|blender) [a-z-]+[^.;()]*?)?(?<![\w-])--(?P<name>[a-z][a-z-]*)"
    r"(?P<value> (?:[A-Z]+\b|[\d.]+\b|[A-Z]:[A-Z])(?!=))?(?P<argument> \([a-z_]+=[^)]*\))?"
)
SKELETON_ALONE = ("`poise character` uses its skeleton", "`poise.load_skeleton` reads its skeleton")
"""The way to a skeleton without a motion: on the command line, and in Python."""
_ARGUMENTS = {"source-fps": "fps", "source-unit": "unit", "source-up": "up"}


def with_arguments(text: str) -> str:
    """The text with options of the command line as arguments of Python; commands that it quotes stay."""

    def argument(found: re.Match[str]) -> str:
        if found["command"]:
            return found[0]
        if found["argument"]:
            return found["argument"].strip(" ()")
        name = _ARGUMENTS.get(found["name"], found["name"].replace("-", "_"))
        return f"{name}={found['value'].strip()}" if found["value"] else f"`{name}`"

    return _OPTION.sub(argument, text.replace(*SKELETON_ALONE))


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """A question to end a message with, for a name close to one that is known; else nothing."""
    by_lower, plain = {name.lower(): name for name in known}, wanted.strip().lower()
    behind_prefix = rf"[:_|.]{re.escape(plain)}$"  # of the rig
    same = sorted((name for name in by_lower if plain and re.search(behind_prefix, name)), key=len)
    close = same or difflib.get_close_matches(plain, by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


MOST_LISTED = 12
"""Names that one message lists; of more, those near the one that was meant."""


LISTING = "`poise info FILE --json`"
"""What lists all joints, roles and clips of a file."""


def first_names(names: Sequence[str], most: int) -> str:
    """The first few names of a list in a sentence, and how many more there are: "a, b and 3 more"."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def known_names(wanted: str, known: Iterable[str], what: str, listing: str) -> str:
    """The end of a message on an unknown name: the one that was meant, and all there are or,
    of many, those like it and what lists all.

    Args:
        wanted: The name that was not found.
        known: The names that are.
        what: What they are, such as "joints".
        listing: The command that lists all, such as "`poise info FILE --json`".
    """
    names = list(dict.fromkeys(known))
    meant = did_you_mean(wanted, names)
    if len(names) <= MOST_LISTED:
        return f"{meant} {what.capitalize()}: {', '.join(names) or 'none'}."
    by_lower = {name.lower(): name for name in names}
    plain = wanted.strip().lower()
    near = [n for n in by_lower if plain and plain in n]
    near += [n for n in difflib.get_close_matches(plain, by_lower, n=MOST_LISTED, cutoff=0.5) if n not in near]
    others = [by_lower[n] for n in near if repr(by_lower[n]) not in meant][: MOST_LISTED // 2]
    like = f" Like it: {', '.join(others)}." if others else ""
    if not meant and not others:
        like = f" Some of them: {', '.join(names[: MOST_LISTED // 2])}."
    return f"{meant}{like} There are {len(names)} {what}; {listing} lists them."


class InvalidValue(PoiseError, ValueError):
    """A value that cannot be used: wrong shape, sign, unit or range.

    Example:
        >>> try:
        ...     poise.Physicality(factor=-1.0)
        ... except poise.InvalidValue as error:  # also a ValueError
        ...     print(error)
    """


class UnknownName(PoiseError, LookupError):
    """A name (joint, role, preset, format) that nothing here carries.

    Example:
        >>> try:
        ...     poise.load_preset("recomended")
        ... except poise.UnknownName as error:  # also a LookupError
        ...     print(error)
    """


class MissingExtra(PoiseError, ImportError):
    """An optional package is needed; the message holds the line that installs it."""


def install_line(extra: str) -> str:
    """The command that installs an extra for the Python that runs; `pip` alone may belong to another."""
    python = sys.executable or "python"
    python = f'"{python}"' if " " in python else python
    return f'{python} -m pip install "poise[{extra}]"'


class FileFormatError(PoiseError, ValueError):
    """A file that cannot be read as what it claims to be.

    Example:
        >>> try:
        ...     poise.load("broken.bvh")
        ... except poise.FileFormatError as error:
        ...     print(error.path, error.line)

    Attributes:
        path: The file as the caller named it.
        line: Line number from 1, or None where the format has no lines.
        column: Column from 1, or None.
        text: The offending text, cut to 120 characters, or None.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: object,
        line: int | None = None,
        column: int | None = None,
        text: str | None = None,
        cure: str = "",
    ) -> None:
        self.path, self.line, self.column = str(path), line, column
        self.text = None if text is None else text[:120]
        self.problem, self.cure = problem, cure
        place = self.path + (f":{line}" if line is not None else "") + (f":{column}" if column is not None else "")
        seen = f" Seen: {self.text!r}." if self.text else ""
        super().__init__(f"{place}: {problem}{seen}{' ' + cure if cure else ''}")


class NoMotion(FileFormatError):
    """A file that holds a skeleton and no motion.

    Args:
        problem: What is missing.
        path: The file as the caller named it.
        motion: Where a motion would come from, as the end of a sentence.
        line: Line number from 1, or None.
    """

    def __init__(self, problem: str, *, path: object, motion: str, line: int | None = None) -> None:
        super().__init__(problem, path=path, line=line, cure=f"{SKELETON_ALONE[0]}; {motion}.")


class UnreadableFile(PoiseError, OSError):
    """A file that is not there, or cannot be opened or written at all."""


class InternalError(PoiseError, RuntimeError):
    """A mistake in Poise, not in what it was given; its cause is the error that was met.

    Example:
        >>> try:
        ...     poise.load("walk.bvh")
        ... except poise.core.errors.InternalError as error:
        ...     print(error, error.__cause__)
    """


def failed_inside(error: BaseException) -> str:
    """What to say of an error that nobody raised on purpose: its kind, and the last line of Poise it came through."""
    place, trace = "", error.__traceback__
    package = __file__.replace("\\", "/").removesuffix("core/errors.py")  # a clone may be called poise, too
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename.replace("\\", "/")
        if file.startswith(package):
            place = f", poise/{file.removeprefix(package)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"Poise failed inside ({type(error).__name__}: {str(error)[:200]}{place}). This is a bug: please report it."


class StepInfeasible(PoiseError, RuntimeError):
    """One step has no solution under its hard constraints.

    Example:
        >>> try:
        ...     solve_step(step, objectives, [Equal(y.JointAcceleration(), 0.0), Equal(y.JointAcceleration(), 1.0)])
        ... except poise.StepInfeasible as error:
        ...     print(error.constraints)

    Attributes:
        problem: The condensed problem as handed to the solver.
        constraints: Names of the constraints that cannot hold together.
    """

    def __init__(self, message: str, *, problem: Any = None, constraints: tuple[str, ...] = ()) -> None:
        self.problem, self.constraints = problem, constraints
        super().__init__(message)


class BudgetExceeded(PoiseError, RuntimeError):
    """An edit would change more than it was allowed to; nothing was changed.

    Attributes:
        seen: What the edit would have changed at most, by the budget's names [rad, m].
        allowed: The budget [rad, m].
        reason: What it would have changed, and what was allowed, in words.
        amount: Part of the edit (0 … 1) that keeps the budget, as far as a change in proportion tells; 0 if none does.
        report: The whole report of the edit that was refused.
    """

    def __init__(
        self, reason: str, *, seen: dict[str, float], allowed: dict[str, float], amount: float, report: Any = None
    ) -> None:
        self.reason, self.seen, self.allowed, self.amount, self.report = reason, seen, allowed, amount, report
        cure = f"An amount of about {amount:g} keeps it" if amount > 0.0 else "No part of it keeps that"
        super().__init__(f"{reason} Nothing was changed. {cure}, or give a larger budget.")


class SimulationDiverged(PoiseError, RuntimeError):
    """The run left the range where its answer means anything.

    Example:
        >>> try:
        ...     result = poise.simulate(motion, character, pushes=[push])
        ... except poise.SimulationDiverged as error:
        ...     print(error.frame, error.reason)

    Attributes:
        frame: Simulated frame of the last good state.
        reason: What was seen.
    """

    def __init__(self, message: str, *, frame: int, reason: str) -> None:
        self.frame, self.reason = frame, reason
        super().__init__(message)


class NotForThisClip(InvalidValue):
    """What was asked is for other clips: this one is a single pose, or never leaves the ground.

    A folder run leaves such a clip out, without a failure.

    Example:
        >>> try:
        ...     poise.simulate(motion.frames(np.array([0])))
        ... except poise.core.errors.NotForThisClip as error:
        ...     print(error)
    """


class MotionWarning(UserWarning):
    """Something in a motion that a user will want to know; the message names the option that cures it.

    Example:
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", poise.MotionWarning)
        ...     motion = poise.load("walk.bvh")
    """


PLAIN_KINDS = {"Real": "number", "str": "text", "PathLike": "path"}
"""Kinds that are said in a plain word."""
MADE_BY = {
    "Behavior": 'such as "balance" or the path of a controller file',
    "Character": "`poise.Character.fit(motion)` makes one, `poise.load_character(path)` reads one",
    "Force": 'such as `poise.Push("chest", (150.0, 0.0, 0.0), start=0.5)`',
    "Motion": "`poise.load(path)` reads one",
    "Pull": '`poise.Pull("chest", (1.0, 0.0, 1.5), stiffness=200.0)` is one',
    "Push": '`poise.Push("chest", (150.0, 0.0, 0.0), start=0.5)` is one',
    "Scene": "`poise.synthesis.load_scene(path)` reads one",
    "Settings": "`poise.synthesis.Settings(...)` is one",
    "Terrain": '`poise.Terrain.parse("slope:10")` makes one',
}
"""How to come by one of each kind."""


def require(*kinds: type, **given: object) -> None:
    """Refuse arguments that are of none of these kinds; `NoneType` among them lets one be left out.

    Example:
        >>> require(Motion, motion=motion, get_up=get_up)

    Raises:
        InvalidValue: with the argument's name, what was given, and how to make what is needed.
    """
    for name, value in given.items():
        if not isinstance(value, kinds):
            raise InvalidValue(f"{name} is {_shown(value)}; give {_wanted(kinds)}.")


def require_each(*kinds: type, **given: object) -> None:
    """Refuse arguments that are not a list of things of these kinds."""
    for name, values in given.items():
        if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
            raise InvalidValue(f"{name} is {_shown(values)}; give a list, each {_wanted(kinds)}.")
        for value in values:
            if not isinstance(value, kinds):
                raise InvalidValue(f"{name} holds {_shown(value)}; each must be {_wanted(kinds)}.")


def _shown(value: object) -> str:
    kind = type(value).__name__
    if value is None:
        return "None"
    return f"the {kind} {value!r:.60}" if isinstance(value, (str, bytes, int, float, complex)) else f"a {kind}"


def _wanted(kinds: tuple[type, ...]) -> str:
    kinds = tuple(kind for kind in kinds if kind is not NoneType)
    names = " or ".join(f"a {PLAIN_KINDS.get(kind.__name__, kind.__name__)}" for kind in kinds)
    how = "; ".join(MADE_BY[kind.__name__] for kind in kinds if kind.__name__ in MADE_BY)
    return f"{names}: {how}" if how else names
