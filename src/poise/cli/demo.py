"""`poise demo`: the main job on a bundled sample."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

from poise.cli.app import app, note, out, output_path
from poise.cli.options import flag, option
from poise.cli.outcome import PREPARING, draw, reporting_interrupts, summarize_run
from poise.cli.simulate import run_behind_bar


@app.command()
def demo(
    folder: Annotated[Path, option("DIR", "Folder for the files.", "--out")] = Path("poise-demo"),
    headless: Annotated[bool, flag("--headless", "Do not open a browser.")] = False,
) -> None:
    """Shove a figure that walks over uneven ground, and show it in the browser.

    Writes the new clip, a report, a strip of stills and a recording to play.

    Example: [bold]poise demo --out demo[/bold]
    """
    import poise.io
    from poise.filter.forces import Push
    from poise.io.files import all_or_none, make_folder, write_atomically
    from poise.samples import sample_path
    from poise.show import Camera
    from poise.show.pack import pack
    from poise.show.page import has_page, recording_page
    from poise.show.result_scene import scene_of
    from poise.terrain import Terrain

    # a film stands in where the player was not built
    seen = folder / ("demo.html" if has_page() else "demo.gif")
    clip, report, strip = (folder / n for n in ("walk_shoved.bvh", "report.json", "strip.png"))
    motion = poise.io.load(sample_path("walk"))
    for path in (clip, report, strip, seen):
        output_path(path, inputs=[sample_path("walk")], overwrite=True)
    # the walk goes towards −y: one shove from its right, then one from behind
    shoves = [Push("chest", (300.0, 0.0, 0.0), 1.4, 0.2), Push("chest", (0.0, -300.0, 0.0), 4.0, 0.2)]
    with reporting_interrupts(clip, report, strip, seen), all_or_none():
        _say(f"1 of 3: simulating. {PREPARING}")
        result = run_behind_bar(motion, None, mass=None, terrain=Terrain.rough(0.3, 7), pushes=shoves)
        make_folder(folder)
        poise.io.save(result.motion, clip)
        result.report.save(report)
        _say(f"2 of 3: drawing {strip}")
        view = Camera("quarter", zoom=1.1)
        times = [0.8, 1.4, 1.6, 1.9, 2.6, 4.0, 4.2, 4.6]
        draw(scene_of(result), strip, width=250, height=360, camera=view, times=times, painter="plain")
        _say(f"3 of 3: drawing {seen}")
        if has_page():
            scene = scene_of(result, title="A walk over uneven ground, shoved twice")
            page = recording_page(pack(scene), scene.title, {"view": "quarter", "play": 1, "t": 0.6})
            write_atomically(seen, page)
        else:
            draw(scene_of(result), seen, width=400, height=260, fps=12.5, camera=view, painter="plain")
    out().print("A walking figure crosses uneven ground and is shoved twice; the ghost is the original clip.")
    summarize_run(result, clip)
    if not has_page():
        note("The player was not built with this installation, so the recording is a film; see README, Recordings.")
    out().print(f"See {seen} and {strip}; the numbers are in {report}.", markup=False)
    if not headless and sys.stdout.isatty() and not webbrowser.open(seen.resolve().as_uri()):
        note(f"Could not open a viewer; open {seen} by hand.")


def _say(what: str) -> None:
    """What is being done, where no progress bar shows it: the first run on a machine takes a while."""
    if not sys.stderr.isatty():
        note(what)
