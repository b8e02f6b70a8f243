"""`poise demo`: the main job on a bundled sample."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from poise.cli.app import app, note, out, output_path
from poise.cli.simulate import draw, run_behind_bar, summarize


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files go.")] = Path("poise-demo"),
    headless: Annotated[bool, typer.Option("--headless", help="Do not open the recording.")] = False,
) -> None:
    """Shove a walking figure while it crosses uneven ground; write the moved clip, a report and pictures.

    Example: [bold]poise demo --out demo[/bold]
    """
    import poise.io
    from poise.record import Camera
    from poise.samples import sample_path
    from poise.sim.forces import Push
    from poise.terrain import Terrain

    folder.mkdir(parents=True, exist_ok=True)
    clip, report, strip, film = (folder / n for n in ("walk_shoved.bvh", "report.json", "strip.png", "demo.gif"))
    motion = poise.io.load(sample_path("walk"))
    for path in (clip, report, strip, film):
        output_path(path, inputs=[sample_path("walk")], overwrite=True)
    # the walk goes towards −y: one shove from its right, then one from behind
    shoves = [Push("chest", (450.0, 0.0, 0.0), 1.4, 0.2), Push("chest", (0.0, -400.0, 0.0), 4.0, 0.2)]
    result = run_behind_bar(motion, None, mass=None, terrain=Terrain.rough(0.3, 7), pushes=shoves)
    poise.io.save(result.motion, clip)
    result.report.save(report)
    view = Camera("quarter", zoom=1.1)
    draw(result, strip, width=250, height=360, camera=view, times=[0.8, 1.4, 1.6, 1.9, 2.6, 4.0, 4.2, 4.6])
    draw(result, film, width=400, height=260, fps=12.5, camera=view)
    out().print("A walking figure crosses uneven ground and is shoved twice; the ghost is what it was asked to do.")
    summarize(result, clip)
    out().print(f"See {strip} and {film}; the numbers are in {report}.", markup=False)
    if not headless and sys.stdout.isatty() and not webbrowser.open(film.resolve().as_uri()):
        note(f"Could not open a viewer; open {film} by hand.")
