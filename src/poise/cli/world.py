"""`poise world`: the figures and bodies of a scene file, seen, dragged and saved."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from poise.cli import options
from poise.cli.app import app, note, out, output_paths, print_json, progress
from poise.cli.options import argument, flag, option
from poise.cli.outcome import draw_last, play_live, reporting_interrupts, require_kinds
from poise.core.errors import InvalidValue

if TYPE_CHECKING:
    from poise.body.character import Character
    from poise.core.motion import Motion
    from poise.show.live_world import WorldRun
    from poise.synthesis.behaviors.behavior import Behavior
    from poise.world import World

SaveFigure = Annotated[
    list[str] | None,
    option(
        "NAME=FILE",
        "Save what a figure of the scene did, such as bob=bob.bvh. Can be repeated.",
        "--save-figure",
        panel=options.OUTPUT,
    ),
]
MOST_SECONDS = 3600.0
"""Longest run [s]."""


@app.command()
def world(
    scene: Annotated[Path, argument("SCENE", r"A scene file (.toml) with \[\[figures]].")],
    output: Annotated[
        Path | None,
        option("OUT", "Motion of the first figure.", "-o", "--output", panel=options.OUTPUT),
    ] = None,
    save_figure: SaveFigure = None,
    record: options.Record = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    seconds: Annotated[float, option("S", "Duration in seconds.")] = 10.0,
    fps: Annotated[float, option("N", "Steps per second.")] = 100.0,
    terrain: options.Terrain = "flat",
    live: Annotated[
        bool,
        flag(
            "--live", "Run in the browser: drag figures and bodies, let figures fall. Ctrl-C ends.", panel=options.LIVE
        ),
    ] = False,
    port: options.Port = 0,
    headless: options.Headless = False,
) -> None:
    """Run a scene file: figures play clips, pursue goals or fall, and collide with each other and with objects.

    Example: [bold]poise world street.toml --record street.html --save-figure bob=bob.bvh[/bold]
    """
    from poise.io.files import read_text

    read_text(scene)  # a scene that cannot be read is the first thing to know
    if not (live or output or save_figure or record or report or json):
        raise InvalidValue(
            "No output was given. Give --live, --record street.html, -o first.bvh or --save-figure bob=bob.bvh."
        )
    if not 0.0 < seconds <= MOST_SECONDS:
        raise InvalidValue(f"--seconds is {seconds:g}; give a number above 0 and up to {MOST_SECONDS:g}.")
    if not (math.isfinite(fps) and fps >= 50.0):
        raise InvalidValue(f"--fps is {fps:g}; give 50 or more.")
    files = figure_files(save_figure, output, record, report, inputs=(scene,), overwrite=overwrite)
    require_kinds(output, record, live=live)
    from poise.show.live_world import LiveWorld
    from poise.terrain import Terrain
    from poise.world import World

    made = World(scene, terrain=Terrain.parse(terrain), dt=1.0 / fps)
    require_figures(made, files)
    if output is not None:
        first, *others = (f.name for f in made.figures)
        if first in files:
            raise InvalidValue(f"-o and --save-figure both save {first!r}, the first figure; give one of them.")
        if others:
            note(f"{output} will hold {first} alone; --save-figure saves {', '.join(others)}.")
        files = {first: output, **files}
    with reporting_interrupts(record, report, *files.values()):
        if live:
            source = LiveWorld(made, title=scene.name)
            run = play_live(source, port=port, headless=headless, is_saved=bool(files))
        else:
            run = play_alone(made, seconds, scene.name)
        keep_world(run, files, record, report)
    if json:
        print_json(run.report.data)
    else:
        summarize_world(run)


def play_world(
    motion: Motion,
    figure: Character,
    scene: str,
    friction: float,
    run: dict[str, Any],
    paths: tuple[Path | None, Path | None, Path | None],
    port: int,
    headless: bool,
) -> None:
    """`poise simulate --scene --live`: a clip among the bodies and figures of a scene, in a page; its last round.

    Args:
        motion: The clip.
        figure: Its character.
        scene, friction: As for the command.
        run: Further arguments of `poise.simulate`.
        paths: Of the motion, the recording and the report.
        port, headless: Of the page.
    """
    from poise.phases.floor import laid_under
    from poise.show.scene import file_name
    from poise.world import Clip, World

    if run["amount"] < 1.0 or run["only"] or run["freeze"]:
        raise InvalidValue("--amount, --only and --freeze cannot be combined with --scene and --live; leave them out.")
    ground = laid_under(run["terrain"], motion, figure.floor if run["floor"] is None else run["floor"])
    clip = Clip(motion, figure, preset=run["preset"], options=run["options"], get_up=run.get("get_up"))
    dt = 1.0 / (run["fps"] or 100.0)
    made = World(scene, figures={"figure": clip}, terrain=ground, dt=dt, friction=friction)
    for push in run["pushes"]:
        made.push("figure", push)
    summarize_world(play_in_page(made, f"{file_name(motion)} in {Path(scene).name}", paths, port, headless))


def play_goals(
    behavior: Behavior,
    character: Character | None,
    scene: str,
    run: dict[str, Any],
    paths: tuple[Path | None, Path | None, Path | None],
    camera: str | None,
    port: int,
    headless: bool,
) -> None:
    """`poise synthesize --scene --live` of a scene whose bodies move: a world with one more figure, in a page.

    Args:
        behavior: What drives the figure.
        character: The figure; the behavior's own if not given.
        scene: As for the command.
        run: Further arguments of `poise.synthesize`.
        paths: Of the motion, the recording and the report.
        camera: View of the recording.
        port, headless: Of the page.
    """
    from poise.world import World

    made = World(scene)
    own = made.admit(behavior, character, run["options"], run["settings"])
    made.figures[0].drawn = run["drawn"]
    for push in run["pushes"]:
        own.push(push)
    title = f"poise synthesize {behavior.name} in {Path(scene).name}"
    summarize_world(play_in_page(made, title, paths, port, headless, camera=camera))


def play_alone(made: World, seconds: float, title: str) -> WorldRun:
    """Run a world for so long [s], behind a progress bar."""
    from poise.show.live_world import LiveWorld

    with progress(disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Simulating", total=seconds)

        def watch() -> bool:
            bar.update(task, completed=made.time)
            return True

        return LiveWorld(made, seconds=seconds, title=title).play(watch)


def play_in_page(
    made: World,
    title: str,
    paths: tuple[Path | None, Path | None, Path | None],
    port: int,
    headless: bool,
    *,
    camera: str | None = None,
) -> WorldRun:
    """Play a world in a page and write what was asked for: the first figure's motion, the recording, the report."""
    from poise.show.live_world import LiveWorld

    output, record, report = paths
    with reporting_interrupts(output, record, report):
        source = LiveWorld(made, title=title)
        played = play_live(source, port=port, headless=headless, is_saved=output is not None)
        keep_world(played, {} if output is None else {made.figures[0].name: output}, record, report, camera=camera)
    return played


def figure_files(
    asked: list[str] | None, *paths: Path | None, inputs: tuple[Path | None, ...], overwrite: bool
) -> dict[str, Path]:
    """Files by the name of the figure, refused early where they could not be written."""
    from poise.io.format import format_for

    files: dict[str, Path] = {}
    for text in asked or ():
        name, is_given, file = text.partition("=")
        if not (name and is_given and file):
            raise InvalidValue(f"--save-figure is {text!r}; write NAME=FILE, such as bob=bob.bvh.")
        if name in files:
            raise InvalidValue(f"--save-figure names {name!r} twice.")
        files[name] = Path(file)
        try:
            format_for(files[name])
        except LookupError as error:
            raise InvalidValue(str(error)) from None
    output_paths(
        (*files.values(), *paths), "-o, --report, --record and --save-figure", inputs=inputs, overwrite=overwrite
    )
    return files


def require_figures(world: World, files: dict[str, Path]) -> None:
    """Refuse names that no figure of the world has."""
    for name in files:
        world.figure(name)


def keep_world(
    run: WorldRun, files: dict[str, Path], record: Path | None, report: Path | None, *, camera: str | None = None
) -> None:
    """Write what was asked for of a run: figures' motions, the recording (from a view of `draw`), the report."""
    import poise.io
    from poise.io.files import all_or_none
    from poise.show.world_scene import scene_of_world

    with all_or_none():
        for name, file in files.items():
            poise.io.save(run.world.motion(name), file)
        if report is not None:
            run.report.save(report)
    if record is not None:
        draw_last(lambda: scene_of_world(run.world), record, *files.values(), report, camera=camera)
    for name, file in files.items():
        note(f"{file}: {name}, {len(run.world.track)} frames")


def summarize_world(run: WorldRun) -> None:
    """What happened, in a few lines."""
    scene, world = run.report["scene"], run.world
    names = ", ".join(f.name for f in world.figures)
    met = ""
    if scene["bodies"]:
        bodies = f"{scene['bodies']} {'body' if scene['bodies'] == 1 else 'bodies'}"
        met = (
            f"; {bodies}, {scene['contacts_mean']:.0f} contacts on average, "
            f"deepest {1e3 * scene['penetration_max_m']:.0f} mm"
        )
    out().print(f"{world.time:.2f} s: {names}{met}", markup=False)
    for name, figure in run.report["figures"].items():
        if "states" in figure:
            path = " → ".join(f"{s['name']} {s['start']:.2f}" for s in figure["states"] if " / " not in s["name"])
            fell = "" if figure["fell"] is None else f" It fell at {figure['fell']:.2f} s."
            out().print(f"States of {name} [s]: {path}.{fell}", markup=False)
