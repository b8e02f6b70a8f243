"""`poise view`: clips, several clips, recordings and reports in the player."""

from __future__ import annotations

import json
import time
import webbrowser
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from poise.cli import options
from poise.cli.app import app, note, out, output_path, waiting
from poise.cli.options import argument, flag, option
from poise.core.errors import FileFormatError, InvalidValue, NoMotion

if TYPE_CHECKING:
    from poise.core.motion import Motion
    from poise.io.format import ReadOptions
    from poise.show.scene import Scene


@app.command()
@options.grouped
def view(
    files: Annotated[
        list[Path],
        argument(
            "FILE…", "Clips (FILE@CLIP names one of several); a recording (.html); a report (.json) beside its clip."
        ),
    ],
    side_by_side: Annotated[
        bool, flag("--side-by-side", "Show clips beside each other, with their steps at the same times.")
    ] = False,
    plain: Annotated[bool, flag("--plain", "Show only the figures, without forces, momenta and flights.")] = False,
    headless: Annotated[bool, flag("--headless", "Print the address; open no browser.")] = False,
    port: Annotated[
        int | None,
        option("N", "Serve the page on this port of this machine, such as for an SSH tunnel; Ctrl-C ends.", "--port"),
    ] = None,
    record: Annotated[
        Path | None,
        option("OUT", "Page to play (.html), film (.mp4, .gif) or strip of stills (.png).", "--record", "-o"),
    ] = None,
    overwrite: options.Overwrite = False,
    reading: options.Reading = options.READ_AS_IS,
    start: options.Start = None,
    end: options.End = None,
) -> None:
    """Show clips in the browser: one with its physics, several in one place, or two to four side by side.

    A file without a clip is shown at rest. Recordings of markers (TRC, C3D) are shown too, one at a time.

    With --record or -o, a file is written instead.

    Example: [bold]poise view walk.bvh shoved.bvh --side-by-side[/bold]
    """
    from poise.show.page import require_page
    from poise.show.recording import require_kind
    from poise.show.server import require_server

    if folder := next((f for f in files if f.is_dir()), None):
        raise InvalidValue(_why_no_folder(folder))
    pages = [f for f in files if f.suffix.lower() in (".html", ".htm")]
    reports = [f for f in files if f.suffix.lower() == ".json" and _is_report(f)]
    clips = [f for f in files if f not in pages and f not in reports]
    if pages:
        if len(files) > 1 or record is not None:
            raise InvalidValue("A recording is opened as it is: give it alone, without --record.")
        _open_recording(pages[0], headless=headless, port=port)
        return
    if not clips:
        raise InvalidValue(f"{reports[0]} is a report; give the clip it belongs to as well.")
    if record is not None:
        output_path(record, inputs=files, overwrite=overwrite)
        require_kind(record)
        if port is not None:
            raise InvalidValue("--port serves a page, and --record writes a file instead; give one of them.")
    else:
        require_page()
        if port is not None:
            require_server()
    from poise.io.format import file_and_clip, format_of
    from poise.io.markers import NAME as MARKERS

    if any(format_of(file_and_clip(str(file))[0]).NAME == MARKERS for file in clips):
        if len(clips) > 1:
            raise InvalidValue("A recording of markers is shown alone; view the other clips separately.")
        _deliver(_of_markers(clips[0], reading.checked), clips, record, headless=headless, port=port)
        return
    motions = [options.part_of(_clip_or_rest(file, reading), start, end) for file in clips]
    with waiting("Looking at the clips"):
        scene = _scene(motions, side_by_side=side_by_side, physics=not plain)
        for file in reports:
            scene = _with_report(scene, file)
    _deliver(scene, clips, record, headless=headless, port=port)


def _why_no_folder(folder: Path) -> str:
    """Why a folder is not shown, and what shows the clips in it."""
    from poise.check.clip import clip_files

    found = list(clip_files([folder]))
    if not found:
        return f"{folder} is a folder without clips. Name a file."
    others = " and others in it" if len(found) > 1 else ""
    return (
        f"{folder} is a folder, and view takes files: {found[0]}{others}. A page with all that it holds, each with its "
        f"recording: poise library check {folder} -o {folder.name}-seen --record .html"
    )


def _deliver(scene: Scene, clips: list[Path], record: Path | None, *, headless: bool, port: int | None) -> None:
    """Write a scene, or show it."""
    from poise.show import record as write
    from poise.show.pack import pack
    from poise.show.page import passing_page, recording_page

    if record is None:
        page = recording_page(pack(scene), scene.title)
        if port is not None:
            _serve(page, port, headless=headless)
            return
        show(passing_page(clips[0].stem, page), headless=headless)
        return
    made = write(scene, record)
    out().print(f"{record}: {', '.join(f.name for f in clips)}", markup=False)
    if made.note:
        note(made.note)


def _clip_or_rest(file: Path, reading: options.Reading) -> Motion:
    """The motion of a file, or one frame at rest where it has none."""
    try:
        return reading.load(file)
    except NoMotion as refusal:
        note(f"{file.name}: {refusal.problem} It is shown at rest.")
        return reading.load_at_rest(file)


def _of_markers(file: Path, how: ReadOptions) -> Scene:
    """The scene of a recording of markers; says so where the up axis is a guess."""
    from poise.io.markers import UNSURE, read_markers
    from poise.show.motion_scene import scene_of_markers

    markers = read_markers(file, how)
    guess = markers.evidence["up"]
    if guess.confidence <= UNSURE:
        note(f"The up axis is a guess, {markers.up}: {guess.reason}. Give another with --up.")
    return scene_of_markers(markers, file.name)


def show(path: Path, *, headless: bool) -> None:
    """Open a page in the browser, or say where it is."""
    if headless or not webbrowser.open(path.resolve().as_uri()):
        out().print(f"Open {path} in a browser.", markup=False)


def _serve(page: str, port: int, *, headless: bool) -> None:
    """Serve a page on loopback, with a token, until Ctrl-C."""
    from poise.show.server import Server

    server = Server(lambda socket: page, port=port)
    try:
        with suppress(KeyboardInterrupt):
            note(f"Open {server.url} in a browser (Ctrl-C ends).")
            if not headless:
                webbrowser.open(server.url)
            while True:
                time.sleep(3600.0)
    finally:
        server.close()


def _scene(motions: list[Motion], *, side_by_side: bool, physics: bool) -> Scene:
    from poise.show.motion_scene import compare, scene_of_motions

    if side_by_side:
        return compare(motions, physics=physics)
    return scene_of_motions(motions, physics=physics)


def _open_recording(path: Path, *, headless: bool, port: int | None) -> None:
    from poise.show.arrays import read_recording

    seen = read_recording(path)
    if port is not None:
        from poise.io.files import read_text

        _serve(read_text(path), port, headless=headless)
        return
    if headless:
        header = seen.header
        frames = header["times"]["shape"][0]
        names = ", ".join(t["name"] for t in header["tracks"])
        out().print(f"{path}: {header['title'] or 'untitled'}, {frames} frames of {names}.", markup=False)
        return
    show(path, headless=False)


def _is_report(path: Path) -> bool:
    """True for a report of `poise simulate`; other JSON files are clips."""
    from poise.io.files import read_head

    return b'"poise.simulate/' in read_head(path, 4096)


def _with_report(scene: Scene, path: Path) -> Scene:
    """The scene with the plots and pushes of a report whose frames are its own."""
    import numpy as np

    from poise.io.files import read_text
    from poise.show.look import ARROW_COLOR
    from poise.show.result_scene import fields_plots
    from poise.show.scene import Row

    try:
        data: dict[str, Any] = json.loads(read_text(path))
        fields = data["per_frame"]
        times = np.asarray(fields["time"], dtype=np.float64)
        last = float(scene.times[-1])
        starts = [(e, float(e["start"])) for e in data["events"]]
        spans = [
            (s, min(s + float(e.get("duration", 0.0)), last), f"push of {e['body']}") for e, s in starts if s < last
        ]
        if times.ndim != 1 or not len(times) or not np.isfinite(times).all():
            raise ValueError
        plots = fields_plots(fields, times, scene.times)
    except (KeyError, TypeError, ValueError) as error:
        cure = "Give a report that `poise simulate --report` wrote for this clip."
        raise FileFormatError("This is not a report of poise simulate.", path=path, cure=cure) from error
    row = (Row("pushes", ARROW_COLOR, tuple(spans)),) if spans else ()
    return replace(scene, plots=(*plots, *scene.plots), timeline=(*row, *scene.timeline))
