"""A folder in place of a file: the same command for every clip in it, on all cores, resumable, with one summary page.

The output folder gets `manifest.jsonl`, a line for each finished clip, and `index.html`, which shows them all.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import INTERRUPTED, WRONG_USE, ProgressLines, answered, note, out, print_json
from poise.cli.folder_page import LEFT_OUT, MEASURES, MOST_NAMES, Done, fail_their_check, reasons, summary_page
from poise.cli.options import flag, option
from poise.cli.outcome import falls_at, require_kinds
from poise.cli.workers import workers_of
from poise.core.batch import each
from poise.core.batch import shard as part_of
from poise.core.errors import FileFormatError, InvalidValue, NoMotion, NotForThisClip, UnreadableFile
from poise.core.process import keep_freed_memory

ALL_CLIPS = "For all of them: --clip all, and a folder as the output."
"""What a command that takes folders adds to the cure of a file with several clips."""

COMMANDS: dict[str, Callable[..., None]] = {}
"""What runs for one file, by the command's name; filled where commands are declared."""

ENOUGH = 20
"""Clips that say how long one takes."""
MANIFEST, SUMMARY = "manifest.jsonl", "index.html"

Resume = Annotated[bool, flag("--resume", "Skip the clips that are done already.", panel=options.BATCH)]
Shard = Annotated[str | None, option("I/N", "Only part I of N, for several machines.", "--shard", panel=options.BATCH)]
Jobs = Annotated[
    str | None,
    option(
        "N|ADDRESS",
        "Processes; default: one per core. Or a Dask scheduler whose workers see the same files: tcp://node:8786.",
        "-j",
        "--jobs",
        panel=options.BATCH,
    ),
]
To = Annotated[
    str | None,
    option("ENDING", "Format of the new files, such as .glb. Default: each clip's own.", "--to", panel=options.BATCH),
]
_ODD = re.compile(r"[^\w.-]+")
_SHARED = {"resume": (Resume, False), "shard": (Shard, None), "jobs": (Jobs, None), "to": (To, None)}


@dataclass(frozen=True)
class Job:
    """One clip of a folder.

    Attributes:
        name: Its path below the folder.
        command: Key of `COMMANDS`.
        given: Arguments of the command for this clip.
        target: What it writes, relative to the output folder; "" for commands that only print.
        key: Changes when the clip or what was asked for changes.
    """

    name: str
    command: str
    given: dict[str, Any]
    target: str
    key: str


def over_folders(name: str, *, source: str = "file", target: str | None = "output") -> Callable[[Any], Any]:
    """Let a command take a folder where it takes a file.

    Args:
        name: Of the command, such as "edit spin".
        source: The parameter that names its file.
        target: The parameter that names what it writes, or None.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())
        COMMANDS[name] = function
        shared = [
            inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for k, (kind, default) in _SHARED.items()
            if target is not None or k in ("jobs", "shard")
        ]

        def run(**given: Any) -> None:
            batch = {p.name: given.pop(p.name) for p in shared}
            path = given.get(source)
            if target not in (None, "output") and given.get("output") is not None:  # -o for an argument
                if given[target] is not None:
                    raise InvalidValue(f"Give one output: {given[target]}, or -o {given['output']}.")
                given |= {target: given["output"], "output": None}
            if path is not None and Path(path).is_dir():
                run_folder(name, given, source, target, **batch)
                return
            if path is not None and _asks_for_all(Path(path), given):
                run_folder(name, given | {"clip": None}, source, target, **batch)
                return
            used = [f"--{k}" for k, v in batch.items() if v not in (None, False)]
            if used:
                raise InvalidValue(f"{', '.join(used)} is for folders, or for all clips of a file (--clip all).")
            try:
                function(**given)
            except FileFormatError as error:
                from poise.io.format import CHOOSE_CLIP

                if error.cure != CHOOSE_CLIP:
                    raise
                raise FileFormatError(error.problem, path=error.path, cure=f"{CHOOSE_CLIP} {ALL_CLIPS}") from None

        own = [p.replace(annotation=options.ClipOrAll) if p.name == "clip" else p for p in own]
        return options.take_options(run, [*own, *shared], like=function)

    return decorate


def _asks_for_all(path: Path, given: dict[str, Any]) -> bool:
    """Whether all clips of a file are asked for, and none of them has that name."""
    if given.get("clip") != "all" or not path.is_file():
        return False
    return "all" not in clips_in(path, given | {"clip": None})


def work(job: Job) -> Done:
    """One clip, in whatever process: the command as if it had been typed for it alone."""
    import poise.cli  # noqa: F401 - it fills COMMANDS in a new process
    from poise.io.files import make_folder

    keep_freed_memory()
    began = sum(os.times()[:4])
    said, errors = io.StringIO(), io.StringIO()
    output = job.given.get("output") or job.given.get("target")

    is_left_out = False

    def command() -> None:
        nonlocal is_left_out
        if output is not None:
            make_folder(Path(output).parent)
        try:
            COMMANDS[job.command](**job.given)
        except (NotForThisClip, NoMotion):
            is_left_out = True
            raise

    with redirect_stdout(said), redirect_stderr(errors):
        code = answered(command)
    if code == INTERRUPTED:  # in this process, where it ends the whole run
        raise KeyboardInterrupt
    lines = [line for line in errors.getvalue().splitlines() if line.strip()]
    warnings = tuple(line.removeprefix("warning: ") for line in lines if line.startswith("warning: "))
    others = [line.removeprefix("poise: ") for line in lines if not line.startswith("warning: ")]
    state = "done" if code == 0 else LEFT_OUT if is_left_out else "failed"
    message = "" if code == 0 else " ".join(others[-1:]) or f"It ended with code {code}."
    data = _printed(said.getvalue())
    own_warnings = data.get("warnings", [])  # `poise info` prints its own
    warnings += tuple(w for w in own_warnings if isinstance(w, str) and w not in warnings)
    if isinstance(fall := data.get("fall"), dict) and "start" in fall:
        warnings += (falls_at(fall),)
    found = _measures(data)
    return Done(job.name, state, message, job.target, job.key, sum(os.times()[:4]) - began, found, warnings)


def _printed(text: str) -> dict[str, Any]:
    """What a command printed as JSON; empty where it printed something else."""
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _measures(data: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, places in MEASURES.items():
        for place in places:
            value = data
            for part in place.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            value = len(value) if isinstance(value, list) and name == "joints" else value
            if isinstance(value, int | float) and name not in found:
                found[name] = float(value)
    return found


def run_folder(
    name: str,
    given: dict[str, Any],
    source: str,
    target: str | None,
    *,
    resume: bool = False,
    shard: str | None = None,
    jobs: str | None = None,
    to: str | None = None,
) -> None:
    """The command for every clip of a folder."""
    from poise.io.format import known_extensions

    folder = Path(given[source])
    place = given.get(target) if target is not None else None
    if target is not None and place is None:
        what = f"{folder} is a folder" if folder.is_dir() else "Several clips become several files"
        raise InvalidValue(f"{what}: name the folder for the new files too (-o OUT).")
    if place is not None and not Path(place).is_dir() and Path(place).suffix.lower() in known_extensions():
        way = f"{Path(place).with_suffix('')} --to {Path(place).suffix}"
        raise InvalidValue(f"{place} names one file; several clips need a folder: {way}.")
    if given.get("live"):
        raise InvalidValue("--live shows one clip; name a file and one clip of it.")
    if to and name != "library check":  # whose files are reports
        require_kinds(Path(f"clip{_ending(to)}"), None)
    note_passed_over(folder)
    todo = _jobs(name, given, folder, source, None if place is None else Path(place), target, to)
    if not todo:
        raise InvalidValue(f"There is no motion file in {folder}.")
    done, asked, earlier = carry_out(
        name,
        todo,
        None if place is None else Path(place),
        resume=resume,
        shard=shard,
        jobs=jobs,
        overwrite=bool(given.get("overwrite")),
    )
    _finish(name, place, done, asked - earlier, earlier, as_json=bool(given.get("json") or given.get("as_json")))
    failed = sum(d.state == "failed" for d in done)
    raise typer.Exit(0 if not failed else WRONG_USE if failed == asked else 1)


def note_passed_over(folder: Path) -> None:
    """Say which files of a folder are not opened, though they may look like clips."""
    from poise.check.clip import passed_over

    if folder.is_dir() and (names := passed_over(folder)):
        more = ", …" if len(names) > MOST_NAMES else ""
        files = "1 file of a kind" if len(names) == 1 else f"{len(names)} files of kinds"
        shown = ", ".join(names[:MOST_NAMES])
        note(f"left out: {files} in which no clips are looked for ({shown}{more}). Name one alone if it holds a clip.")


def carry_out(
    name: str,
    todo: list[Job],
    place: Path | None,
    *,
    resume: bool,
    shard: str | None,
    jobs: str | None,
    overwrite: bool,
    is_done: Callable[[Done | None, Job], bool] | None = None,
) -> tuple[list[Done], int, int]:
    """Do the jobs in processes and note each in the manifest.

    Args:
        name: Of the command.
        todo: All jobs, of all parts.
        place: Folder of the manifest.
        resume: Leave out what is done.
        shard: Which part of the jobs, such as "2/8"; all if None.
        jobs: Number of processes, or the address of a Dask scheduler.
        overwrite: Whether files may be replaced.
        is_done: Whether a job need not be done again after what the manifest says of it; by default, its file is there.

    Returns:
        What was done, how many jobs this part has, and how many of them were done before.
    """
    with workers_of(jobs) as workers:  # before a folder is made
        part = todo if shard is None else part_of(todo, shard)
        log = f"manifest-{shard.replace('/', '-of-')}.jsonl" if shard else MANIFEST
        manifest = None if place is None else place / log
        before = read_manifests(place) if place is not None else {}
        if manifest is not None:
            _require(manifest, resume=resume or overwrite)
        asked = len(part)
        if resume:
            is_done = is_done or partial(_is_done, place=place or Path("."))
            part = [j for j in part if not is_done(before.get(j.name), j)]
        earlier = asked - len(part)
        done: list[Done] = []
        try:
            with _Bar(len(part), name) as bar:
                for job, result in each(work, part, **workers):
                    if isinstance(result, Exception):
                        result = Done(job.name, "failed", str(result), job.target, job.key, 0.0)
                    done.append(result)
                    bar.advance(result)
                    if manifest is not None:
                        _note(manifest, result)
        except KeyboardInterrupt:
            _finish(name, place, done, len(part), earlier)
            raise typer.Abort(f"Interrupted: {len(done)} of {len(part)} clips done; --resume goes on.") from None
    return done, asked, earlier


def _note(manifest: Path, result: Done) -> None:
    """A line more in the manifest, whole or not at all."""
    from poise.io.files import append_line

    append_line(manifest, json.dumps(asdict(result)), "Then go on with --resume.")


def _jobs(
    name: str, given: dict[str, Any], folder: Path, source: str, place: Path | None, target: str | None, to: str | None
) -> list[Job]:
    """A job for each clip below the folder, in name order; or for each clip of a file."""
    from poise.check.clip import clip_files
    from poise.io.format import written_ending

    asked = {k: v for k, v in given.items() if k not in (source, target, "overwrite", "json", "as_json")}
    request = json.dumps([name, to, asked], sort_keys=True, default=str)
    found, taken = [], set[str]()
    is_folder, inside = folder.is_dir(), None if place is None else place.resolve()
    if not is_folder or inside == folder.resolve():
        inside = None
    for path in clip_files([folder]):
        if inside is not None and path.resolve().is_relative_to(inside):  # new files of an earlier run
            continue
        seen = path.stat()
        for clip in clips_in(path, given):
            short = path.relative_to(folder) if is_folder else Path(path.name)
            new = dict(given) | {source: path}
            label, stamp = os.fspath(short), f"{request} {seen.st_size} {seen.st_mtime_ns}"
            if clip is not None:
                label, stamp = f"{label}@{clip}", f"{stamp} {clip}"
                short = short.with_name(f"{short.stem}-{_ODD.sub('_', clip)}{short.suffix}")
                new["clip"] = clip
            written = ""
            if place is not None and target is not None:
                goal = short.with_suffix(_ending(to) if to and clip is None else written_ending(short.suffix))
                if to and clip is not None:  # a clip's name may hold dots
                    goal = short.with_name(short.name.removesuffix(short.suffix) + _ending(to))
                has_more = given.get("report") is not None or given.get("record") is not None
                for other in (goal, short.with_name(short.name + goal.suffix)):  # two clips of one name in two formats
                    goal, key, written = other, str(other.with_suffix("") if has_more else other), str(other)
                    if key not in taken:
                        break
                taken.add(key)
                new |= {target: place / goal, "overwrite": True}
                for extra in ("report", "record"):
                    if given.get(extra) is not None:
                        new[extra] = (place / goal).with_suffix(_ending(given[extra]))
            if "json" in given:
                new["json"] = True
            elif "as_json" in given:
                new["as_json"] = True
            key = hashlib.sha256(stamp.encode("utf-8", "replace")).hexdigest()[:16]
            found.append(Job(label, name, new, written, key))
    return found


def clips_in(path: Path, given: dict[str, Any]) -> tuple[str | None, ...]:
    """Names of the clips of a file that holds several; one None for any other, or where --clip names one."""
    from poise.check.clip import clips_of_refused
    from poise.io import read_options
    from poise.io.format import WITH_SCENES

    if given.get("clip") is not None or "clip" not in given or path.suffix.lower() not in WITH_SCENES:
        return (None,)
    names = clips_of_refused(path, read_options()) or ()
    return names if len(set(names)) == len(names) > 1 else (None,)


def _ending(wish: str | Path) -> str:
    """The ending that a name or an ending asks for: ".html", "html" and "all.html" say the same."""
    name = Path(wish).name
    return Path(name).suffix or f".{name.lstrip('.')}"


def _require(manifest: Path, *, resume: bool) -> None:
    """Make the output folder and its manifest, at once: other machines may begin their parts in the same folder."""
    from poise.io.files import make_folder, why

    place = manifest.parent
    if place.exists() and not place.is_dir():
        raise InvalidValue(f"{place} is a file; the new files of a folder need a folder.")
    make_folder(place)
    if not resume and manifest.exists():
        raise InvalidValue(f"{place} holds an earlier run. Continue it with --resume, or give --overwrite.")
    beside = manifest.name != MANIFEST and any(place.glob("manifest-*-of-*.jsonl"))
    if not resume and not beside and any(place.iterdir()):
        raise InvalidValue(f"{place} is not empty. Name another folder, or give --overwrite.")
    try:
        manifest.touch()
    except OSError as error:
        raise UnreadableFile(f"{manifest} cannot be written: {why(error)}.") from error


def read_manifests(place: Path) -> dict[str, Done]:
    """The last word of all manifests of a folder on each clip; lines that are no such words are passed over."""
    found: dict[str, Done] = {}
    for path in sorted(place.glob("manifest*.jsonl")) if place.is_dir() else []:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                done = Done(**json.loads(line))
            except (ValueError, TypeError):  # a line that was cut off by a crash
                continue
            found[done.name] = done
    return found


def _is_done(before: Done | None, job: Job, place: Path) -> bool:
    if before is None or before.key != job.key:
        return False
    return before.state == LEFT_OUT or (before.state == "done" and (place / job.target).exists())


def _finish(name: str, place: Any, done: Sequence[Done], total: int, earlier: int, *, as_json: bool = False) -> None:
    """Say what became of the clips, `earlier` ones apart, and write the summary page."""
    from poise.io.files import write_atomically

    failed = [d for d in done if d.state == "failed"]
    if as_json:
        print_json({"schema": "poise.folder/1", "command": name, "clips": [asdict(d) for d in done]})
    elif place is None:
        _print(done)
    left_out = [d for d in done if d.state == LEFT_OUT]
    for sentence in (*reasons(failed), *reasons(left_out, "left out. ")):
        note(sentence)
    if place is not None:
        everything = sorted(read_manifests(Path(place)).values(), key=lambda d: d.name)
        write_atomically(Path(place) / SUMMARY, summary_page(f"poise {name}", everything, Path(place)))
        if not as_json:
            _say_pace(done)
            message = f"{len(done) - len(failed) - len(left_out)} of {total} clips done"
            message += f" ({earlier} were done before)" if earlier else ""
            message += f", {len(left_out)} left out" if left_out else ""
            message += f", {len(failed)} failed" if failed else ""
            message += fail_their_check(done)
            out().print(f"{message}. See {Path(place) / SUMMARY}.", markup=False)


def _say_pace(done: Sequence[Done]) -> None:
    """How long a clip took on one core, where there were enough to say it."""
    if len(done) >= ENOUGH:
        each_s = sum(d.seconds for d in done) / len(done)
        note(f"A clip takes {each_s:.2g} s of one core; 1000 take {1000.0 * each_s / 60.0:.2g} min on one.")


def _print(done: Sequence[Done]) -> None:
    from rich.table import Table

    columns = [m for m in MEASURES if any(m in d.measures for d in done)]
    table = Table("clip", *columns, "warnings", box=None)
    for d in sorted(done, key=lambda d: d.name):
        cells = [f"{d.measures[m]:.4g}" if m in d.measures else "" for m in columns]
        table.add_row(d.name, *cells, str(len(d.warnings)) if d.state == "done" else d.state)
    out().print(table)


class _Bar:
    """Progress with the time that is left, on stderr, where someone looks."""

    def __init__(self, total: int, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task(f"poise {name}", total=total)
        self._lines = ProgressLines(total)

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self, done: Done) -> None:
        self._bar.update(self._task, advance=1, description=done.name)
        self._lines.advance()
