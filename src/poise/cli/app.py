"""What all commands share: the application, its exit codes, and where it prints.

Exit codes: 0 fine, 1 the command ran and its verdict is "no", 2 wrong use or unreadable input, 130 interrupted.
A command imports what it computes with inside its body, so that `poise --help` stays fast.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from poise.core.errors import InvalidValue, MotionWarning, PoiseError, failed_inside, on_command_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from poise.core.motion import Motion

WRONG_USE = 2
INTERRUPTED = 130

_UsageError: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


FIRST = (
    "demo",
    "simulate",
    "view",
    "check",
    "edit",
    "synthesize",
    "spacetime",
    "track",
    "info",
    "convert",
    "character",
    "setup",
)
"""The commands in the order of the help; others follow."""


class _Commands(TyperGroup):
    """The commands; an interrupt leaves them as one, not as a silent exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


app = typer.Typer(
    name="poise",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from poise import __version__

        typer.echo(f"poise {__version__}")
        raise typer.Exit


@app.callback()
def poise(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Give animated characters weight. Any motion clip goes in, a physically plausible reaction comes out.

    Example: [bold]poise info walk.bvh[/bold]
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    line = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in line
    sys.exit(run([w for w in line if w != "--debug"], debug=debug))


def run(words: Sequence[str], *, debug: bool = False) -> int:
    """Run one command line; its exit code. Errors become one sentence on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]

    def call() -> Any:
        _refuse_repeated(_command(), words)
        return _command().main(list(words), prog_name="poise", standalone_mode=False)

    return answered(call, debug=debug)


@cache
def _command() -> Any:
    """The tree of all commands, made once: reading the signatures of all functions takes 50 ms."""
    return typer.main.get_command(app)


def _refuse_repeated(command: Any, words: Sequence[str]) -> None:
    """Refuse an option that takes one value and is given twice; the parser would keep the last without a word."""
    left = list(words)
    while left and left[0] in getattr(command, "commands", {}):
        command = command.commands[left.pop(0)]
    options = [p for p in command.params if p.param_type_name == "option" and not (p.is_flag or p.count)]
    takes = {name: option for option in options for name in option.opts}
    seen: set[str] = set()
    rest = iter(left)
    for word in rest:
        name, separator, _ = word.partition("=")
        if word == "--":
            return
        if name not in takes:
            continue
        option = takes[name]
        if not separator:
            for _ in range(option.nargs):
                next(rest, None)
        if option.name in seen and not option.multiple:
            raise InvalidValue(
                f"{name} is given twice, but takes one value. Give it once; run again for the other value."
            )
        seen.add(option.name)


def answered(call: Callable[[], Any], *, debug: bool = False) -> int:
    """Call a command; its exit code. Errors become one sentence on stderr."""
    token = on_command_line.set(True)
    with _interrupts() as interrupts, warnings.catch_warnings():
        warnings.simplefilter("always", MotionWarning)
        warnings.showwarning = _show_warning
        try:
            code = call()
            if interrupts and code == INTERRUPTED:
                _complain("Interrupted.")
            return code if isinstance(code, int) else 0
        except typer.Exit as leave:
            return leave.exit_code
        except _UsageError as error:
            _complain(_usage_sentence(error))
        except (KeyboardInterrupt, typer.Abort) as stop:
            _complain(str(stop) or "Interrupted.")
            return INTERRUPTED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more can be said there
            return 0
        except PoiseError as error:
            if debug:
                traceback.print_exc()
            _complain(str(error))
        except MemoryError:
            _complain("There is not enough memory for this. Give a shorter part of the clip (--start, --end).")
        except Exception as error:
            if debug:
                traceback.print_exc()
            if interrupts:  # a library that was interrupted may raise an error of its own
                _complain("Interrupted.")
                return INTERRUPTED
            if isinstance(error, OSError):
                from poise.io.files import why

                _complain(f"{error.filename or 'A file'} cannot be read or written: {why(error)}.")
                return WRONG_USE
            _complain(f"{failed_inside(error)} --debug shows the traceback.")
        finally:
            on_command_line.reset(token)
    return WRONG_USE


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Counts the interrupts of the user; each still raises KeyboardInterrupt."""
    seen: list[int] = []

    def interrupt(number: int, _: object) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, interrupt)
    except ValueError:  # not the main thread, which alone is interrupted
        yield seen
        return
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def out() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def progress(**options: Any) -> Progress:
    """A progress display on stderr that leaves nothing behind."""
    from rich.console import Console
    from rich.progress import Progress

    # rich before 15 ends even a disabled display with an empty line where stderr is not a terminal
    return Progress(console=Console(stderr=True, quiet=not sys.stderr.isatty()), transient=True, **options)


SAYS_EVERY = 30.0
"""Time between two lines of a `ProgressLines` [s]."""


class ProgressLines:
    """Says in a line now and then how far a long run is, where stderr is no terminal and shows no bar."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._begun = self._said = time.monotonic()

    def advance(self) -> None:
        """One more is done."""
        self._done, now = self._done + 1, time.monotonic()
        if sys.stderr.isatty() or self._done >= self._total or now - self._said < SAYS_EVERY:
            return
        self._said = now
        left = (now - self._begun) / self._done * (self._total - self._done)
        words = f"{left:.0f} s" if left < 100.0 else f"{left / 60.0:.0f} min"
        note(f"{self._done} of {self._total} done, about {words} left")


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A sign of life on stderr while something without steps of its own runs; nothing where no one looks."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def note(sentence: str) -> None:
    """A sentence for the user, on stderr."""
    print(sentence, file=sys.stderr)


def note_warnings(motion: Motion) -> None:
    """What the reader of a file found worth knowing, on stderr."""
    for sentence in motion.source.warnings if motion.source else ():
        note(f"warning: {sentence}")


def print_json(data: dict[str, Any]) -> None:
    """Data for machines, on stdout. What JSON cannot hold (an infinite number) is an error, not a lie."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=_to_json))


def output_path(path: Path, *, inputs: Sequence[Path], overwrite: bool) -> Path:
    """The path of a file that may be written.

    Raises:
        InvalidValue: if it is one of the inputs or a folder, exists and `overwrite` is not given, or its folder may not
            be written.
    """
    try:
        if path.exists() and any(p.exists() and path.samefile(p) for p in inputs):
            raise InvalidValue(f"{path} is the input file, which Poise never overwrites. Give another name.")
        if path.is_dir():
            raise InvalidValue(f"{path} is a folder. Name a file in it.")
        if path.is_file() and not overwrite:
            raise InvalidValue(f"{path} exists. Give another name, or --overwrite.")
        folder = Path(os.path.realpath(path)).parent
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            raise InvalidValue(f"{path} cannot be written: no permission to write to {folder}. Choose another folder.")
    except (OSError, ValueError) as error:  # a name too long, a folder that may not be entered
        if isinstance(error, PoiseError):
            raise
        from poise.io.files import why

        raise InvalidValue(f"{path} cannot be written: {why(error)}.") from error
    return path


def output_paths(paths: Sequence[Path | None], named: str, *, inputs: Sequence[Path | None], overwrite: bool) -> None:
    """Refuse early what could not be written at the end.

    Args:
        paths: What will be written; None for what was not asked for.
        named: The options they come from, for the message, such as "-o and --report".
        inputs: Files that are read.
        overwrite: Existing files may be replaced.

    Raises:
        InvalidValue: if two are the same file, one may not be written (`output_path`), or its folder is not there.
    """
    written = [p for p in paths if p is not None]
    if len({p.resolve() for p in written}) < len(written):
        raise InvalidValue(f"{named} name the same file; give each its own.")
    for path in written:
        output_path(path, inputs=[p for p in inputs if p is not None], overwrite=overwrite)
        if not path.parent.is_dir():
            raise InvalidValue(f"Cannot write {path}: there is no folder {path.parent}. Create it first.")


def _complain(sentence: str) -> None:
    print(f"poise: {' '.join(sentence.split())}", file=sys.stderr)


PARTS = {
    "--interval": "--interval S:E, such as --interval 0.5:1.4",
    "--start": "--start S and --end S",
    "--end": "--start S and --end S",
}
"""How commands take a part of a clip: what they change of it, or what they read of it [s]."""


def _options_of(context: Any) -> set[str]:
    return {name for option in context.command.params for name in option.opts} if context else set()


def _usage_sentence(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "poise"
    message = error.format_message()  # pyright: ignore[reportAttributeAccessIssue]
    asked, known = getattr(error, "option_name", ""), _options_of(context)
    if asked in PARTS and asked not in known and (other := [n for n in PARTS if n in known]):
        message = f"No such option: {asked}. A part of the clip is given by {PARTS[other[0]]}."
    return f"{message if message.endswith(('.', '?')) else message + '.'} See {command} --help."


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, MotionWarning):
        note(f"warning: {message}")


def _to_json(value: Any) -> Any:
    """NumPy's numbers and arrays, and paths, as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
