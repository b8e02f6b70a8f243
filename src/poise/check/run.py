"""Which files are clips, and many of them on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from poise.check.profile import Profile
from poise.check.report import ClipReport, Wanted, unreadable
from poise.core.errors import InvalidValue, PoiseError, UnreadableFile
from poise.io.files import read_head
from poise.io.format import ReadOptions, format_of, optional

MOTION_ENDINGS = frozenset({".bvh", ".amc", ".glb", ".gltf", ".npz"})
"""Files with these endings are clips whatever they hold: what cannot be read of them is a fault."""
MAYBE_ENDINGS = frozenset({".txt", ".json"})
"""Files with these endings may be anything: only those that look like a motion count."""


def clip_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files to check: those named, and of folders all that may be clips, in name order, each once.

    Hidden files and folders are passed over.

    Raises:
        UnreadableFile: if a path is not there.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise UnreadableFile(f"There is no file or folder {path}. Check the name.")
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
                if file.is_file() and not hidden and is_candidate(file):
                    found.setdefault(file.resolve(), file)
        else:
            found.setdefault(path.resolve(), path)
    return tuple(found.values())


def is_candidate(path: Path) -> bool:
    """True if a file of a folder is worth opening as a clip."""
    suffix = path.suffix.lower()
    if suffix in MOTION_ENDINGS:
        return True
    if suffix not in MAYBE_ENDINGS:
        return False
    try:
        head = read_head(path)
        return format_of(path).matches(path, head)
    except PoiseError:
        return False


def clips_of_refused(path: Path, options: ReadOptions) -> tuple[str, ...] | None:
    """What a file holds that `load` refused: names of its clips, none for a bare skeleton, None if it is unreadable."""
    try:
        candidate = format_of(path)
        describe = optional(candidate, "describe")
        facts = describe(path, options) if describe is not None else None
    except PoiseError:
        return None
    if facts is None:
        return None
    names = tuple(facts.get("clips") or ())
    if names:
        return names
    return () if not facts.get("frames") else None


THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What numerical libraries ask for their number of threads; one each, where the cores are shared out by clips."""

WORTH_A_PROCESS = 600_000
"""Bytes of clips below which starting another process takes longer than it saves."""

Done = Callable[[tuple[ClipReport, ...]], None]


def check_files(
    files: Sequence[Path],
    profile: Profile,
    *,
    options: ReadOptions | None = None,
    wanted: Wanted | None = None,
    jobs: int | None = 1,
    done: Done | None = None,
) -> tuple[ClipReport, ...]:
    """Check clips, several at a time; the reports in the order of the files.

    What cannot be read is a report, too, and stops nothing. An interrupt stops the others and is passed on.

    Args:
        files: The files; each may hold several clips.
        profile: The thresholds.
        options: How to read them.
        wanted: Which pictures and samples to make.
        jobs: Processes; 1 stays in this one, None takes as many as there are cores and work for. More than one starts
            processes anew (spawn), so a script needs the usual `if __name__ == "__main__"`.
        done: Called with the reports of a file as it is finished.

    Raises:
        InvalidValue: if `jobs` is less than 1.
    """
    options, wanted = options or ReadOptions(), wanted or Wanted()
    if jobs is not None and jobs < 1:
        raise InvalidValue(f"jobs is {jobs}; give 1 or more, or None for as many as there are cores.")
    count = process_count(files) if jobs is None else min(jobs, len(files))
    reports: dict[int, tuple[ClipReport, ...]] = {}

    def finished(index: int, found: tuple[ClipReport, ...]) -> None:
        reports[index] = found
        if done is not None:
            done(found)

    if count <= 1:
        for index, path in enumerate(files):
            finished(index, check_one(path, profile, options, wanted))
    else:
        _in_processes(files, profile, options, wanted, count, finished)
    return tuple(report for index in range(len(files)) for report in reports[index])


def check_one(path: Path, profile: Profile, options: ReadOptions, wanted: Wanted) -> tuple[ClipReport, ...]:
    """What the process that checks a file runs: only there the physics is loaded."""
    from poise.check.clip import check_file

    return check_file(path, profile, options, wanted)


def process_count(files: Sequence[Path]) -> int:
    """Processes worth starting for these files: at most one a core."""
    size = sum(p.stat().st_size for p in files if p.is_file())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, len(files), size // WORTH_A_PROCESS + 1))


def _in_processes(
    files: Sequence[Path],
    profile: Profile,
    options: ReadOptions,
    wanted: Wanted,
    count: int,
    finished: Callable[[int, tuple[ClipReport, ...]], None],
) -> None:
    """Largest files first, so that no core is left alone with one at the end."""
    order = sorted(range(len(files)), key=lambda i: -files[i].stat().st_size if files[i].is_file() else 0)
    while order:
        lost: list[int] = []
        with _pool(count) as pool:
            pending: dict[Future[tuple[ClipReport, ...]], int] = {}
            for index in order:
                pending[pool.submit(check_one, files[index], profile, options, wanted)] = index
            while pending:
                complete, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in complete:
                    index = pending.pop(future)
                    try:
                        finished(index, future.result())
                    except BrokenProcessPool:
                        lost.append(index)
        lost.sort(key=order.index)
        if count == 1 and lost:  # alone in its process, so it was this one
            reason = "The process that checked it ended without an answer (out of memory?)."
            finished(lost[0], (unreadable(files[lost[0]], reason),))
            lost = lost[1:]
        order, count = lost, 1


@contextmanager
def _pool(count: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes with one thread each, that end at once when this one is interrupted."""
    import multiprocessing

    kept = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(max_workers=count, mp_context=context, initializer=_deaf_to_interrupts)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _deaf_to_interrupts() -> None:
    """Ctrl-C reaches the whole group of processes; the first one decides what to do."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
