"""What commands that make a motion share: outputs refused before the run, drawings after it, runs in a page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from poise.cli.app import note, progress
from poise.core.errors import InvalidValue, PoiseError, UnknownName

if TYPE_CHECKING:
    from poise.filter.result import SimulationResult
    from poise.show.live import Source
    from poise.show.scene import Scene
    from poise.synthesis.run import SynthesisResult

PREPARING = "Preparing (the first run on a machine compiles, about 10 s)"
"""What a progress bar says until the first step is made."""


def require_kinds(output: Path | None, record: Path | None, *, live: bool = False) -> None:
    """Refuse before a run what could not be written or shown after it.

    Raises:
        InvalidValue: if no writer knows the extension of the motion or of the recording.
        MissingExtra: if the run shall be live and the server is not installed.
    """
    if live:
        from poise.show.page import require_page
        from poise.show.server import require_server

        require_server()
        require_page()
    if output is not None:
        from poise.io.format import format_for

        try:
            format_for(output)
        except UnknownName as error:
            raise InvalidValue(str(error)) from error
    if record is not None:
        from poise.show.recording import require_kind

        require_kind(record)


@contextmanager
def telling_interrupts(*paths: Path | None) -> Iterator[None]:
    """Where Ctrl-C ends what runs inside, say which of these files it has written by then and which not."""
    wanted = [p for p in paths if p is not None]
    before = [_stamp(p) for p in wanted]
    try:
        yield
    except KeyboardInterrupt:
        written = [str(p) for p, then in zip(wanted, before) if _stamp(p) not in (None, then)]
        missing = [str(p) for p in wanted if str(p) not in written]
        told = [
            f"{what}: {', '.join(those)}" for what, those in (("Written", written), ("Not written", missing)) if those
        ]
        raise typer.Abort(" ".join(("Interrupted.", *(f"{t}." for t in told)))) from None


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written; None where there is none."""
    if not path.exists():
        return None
    seen = path.stat()
    return seen.st_ino, seen.st_mtime_ns


def keep(
    result: SimulationResult | SynthesisResult,
    output: Path | None,
    report: Path | None,
    record: Path | None,
    **look: Any,
) -> None:
    """Write what was asked for of a run: its motion, its report, its recording; `look` is that of `draw`."""
    from poise.io.files import all_or_none

    with all_or_none():
        if output is not None:
            import poise.io

            poise.io.save(result.motion, output)
        if report is not None:
            result.report.save(report)
        if record is not None:
            from poise.show.result_scene import scene_of

            draw(scene_of(result), record, **look)


def draw(scene: Scene, path: Path, **look: Any) -> None:
    """Write a recording of a scene, behind a progress bar; `look` goes to `poise.show.record`."""
    from poise.show import record

    with progress(disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Drawing", total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        made = record(scene, path, progress=advance, **look)
    if made.note:
        note(made.note)


def _keeper() -> Callable[[Any], str]:
    """What the page's button does: the round so far as a clip and a recording, in the current folder, numbered."""
    from poise.io.files import all_or_none
    from poise.io.format import format_of

    def keep_round(result: Any) -> str:
        import poise.io
        from poise.show import record
        from poise.show.result_scene import scene_of

        source = result.motion.source
        path = Path(source.path if source else "motion")
        try:
            ending = path.suffix if path.is_file() and path.suffix.lower() in format_of(path).EXTENSIONS else ".bvh"
            number = 1
            while any(Path(f"{path.stem}-live-{number}{e}").exists() for e in (ending, ".html")):
                number += 1
            clip, page = Path(f"{path.stem}-live-{number}{ending}"), Path(f"{path.stem}-live-{number}.html")
            with all_or_none():
                poise.io.save(result.motion, clip)
                record(scene_of(result), page)
        except PoiseError as error:
            return f"Not kept: {error}"
        note(f"Kept as {clip} and {page}.")
        return f"Kept as {clip} and {page}."

    return keep_round


def play_live(source: Source, *, port: int, headless: bool, is_saved: bool) -> Any:
    """Play a source in a page in real time until Ctrl-C; the result of its last round.

    Raises:
        InvalidValue: if it was stopped before it began.
    """
    from poise.show.live import LiveRun
    from poise.show.viewer import Viewer

    with Viewer(port=port, is_opened=not headless) as viewer:
        note(f"Live at {viewer.url} (Ctrl-C ends{', and the last round is saved' if is_saved else ''})")
        result = LiveRun(source, viewer, _keeper()).play()
    if result is None:
        raise InvalidValue("The run was stopped before it began; nothing is saved.")
    return result
