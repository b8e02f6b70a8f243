"""What commands that make a motion share: outputs refused before the run, drawings after it, runs in a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poise.cli.app import note, progress
from poise.errors import InvalidValue, UnknownName

if TYPE_CHECKING:
    from poise.scene import Scene
    from poise.studio.source import Source

PREPARING = "Preparing (the first run on a machine compiles, about 10 s)"
"""What a progress bar says until the first step is made."""


def require_kinds(output: Path | None, record: Path | None, *, live: bool = False) -> None:
    """Refuse before a run what could not be written or shown after it.

    Raises:
        InvalidValue: if no writer knows the extension of the motion or of the recording.
        MissingExtra: if the run shall be live and the server is not installed.
    """
    if live:
        from poise.record.page import require_page
        from poise.studio.server import require_server

        require_server()
        require_page()
    if output is not None:
        from poise.io.format import format_for

        try:
            format_for(output)
        except UnknownName as error:
            raise InvalidValue(str(error)) from error
    if record is not None:
        from poise.record.recording import require_kind

        require_kind(record)


def draw(scene: Scene, path: Path, **look: Any) -> None:
    """Write a recording of a scene, behind a progress bar; `look` goes to `poise.record.record`."""
    from poise.record import record

    with progress(disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Drawing", total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        made = record(scene, path, progress=advance, **look)
    if made.note:
        note(made.note)


def play_live(source: Source, *, port: int, headless: bool, is_saved: bool) -> Any:
    """Play a source in a page in real time until Ctrl-C; the result of its last round.

    Raises:
        InvalidValue: if it was stopped before it began.
    """
    from poise.studio.live import LiveRun
    from poise.studio.viewer import Viewer

    with Viewer(port=port, is_opened=not headless) as viewer:
        note(f"Live at {viewer.url} (Ctrl-C ends{', and the last round is saved' if is_saved else ''})")
        result = LiveRun(source, viewer).play()
    if result is None:
        raise InvalidValue("The run was stopped before it began; nothing is saved.")
    return result
