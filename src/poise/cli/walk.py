"""`poise locomotion build` makes a controller from clips; `poise walk` walks with it."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from poise.cli import options
from poise.cli.app import app, note, out, output_path, output_paths, print_json
from poise.cli.options import argument, flag, option
from poise.cli.outcome import draw_last, keep, require_kinds, summarize_run
from poise.cli.simulate import run_behind_bar
from poise.cli.world import play_in_page, summarize_world
from poise.core.errors import FileFormatError, InvalidValue

if TYPE_CHECKING:
    from poise.core.motion import Motion
    from poise.locomotion import Locomotion, Toward
    from poise.locomotion.walker import Commands

locomotion = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(locomotion, name="locomotion", help="Make a controller that walks, from example clips.")

WHERE = "Where to go"
MOST_SECONDS = 3600.0
"""Longest walk [s]."""


@locomotion.callback()
def _locomotion() -> None:
    """Make a controller that walks, from example clips."""


@locomotion.command()
def build(
    clips: Annotated[
        list[Path],
        argument("CLIP…", "Clips of one figure, or a folder of them."),
    ],
    output: options.OutputNeeded,
    clip: Annotated[
        list[str] | None,
        option("NAME|INDEX", "Clip of a file that holds several. Can be repeated.", panel=options.READING),
    ] = None,
    mirror: Annotated[bool, flag("--mirror/--no-mirror", "Use every clip mirrored, too.")] = True,
    unit: options.SourceUnit = None,
    up: options.SourceUp = None,
    height: options.Height = None,
    source_fps: options.SourceFps = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Make a walking controller from clips that walk, run, turn, sidestep and stand.

    Example: [bold]poise locomotion build walk.bvh run.bvh stand.bvh -o walker.npz[/bold]
    """
    from poise.check.clip import clip_files
    from poise.locomotion import build as build_from

    if output.suffix.lower() != ".npz":
        raise InvalidValue(f"{output}: a controller is an .npz file; give -o walker.npz.")
    files = clip_files(clips)
    if not files:
        raise InvalidValue("These folders hold no motion.")
    output_path(output, inputs=files, overwrite=overwrite)
    motions: list[Motion] = []
    for file in files:
        for name in clip or [None]:
            how = options.Reading(clip=name, unit=unit, up=up, height=height, source_fps=source_fps)
            motions.append(how.load(file))
    made = build_from(motions, mirror=mirror)
    made.save(output)
    for sentence in made.notes:
        note(sentence)
    out().print(
        f"{output}: {made.count} cycles; walks from {made.walk:.2f} m/s, fastest {made.fastest:.2f} m/s", markup=False
    )


@app.command()
def walk(
    file: Annotated[Path, argument("WALKER", "A controller (.npz).")],
    output: options.Output = None,
    record: options.Record = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    speed: Annotated[
        float | None,
        option("M/S", "Speed. Default: that of the slowest walk.", panel=WHERE),
    ] = None,
    direction: Annotated[
        float,
        option("DEG", "Where to go: 0 ahead, 90 to the left, 180 back.", panel=WHERE),
    ] = 0.0,
    turn: Annotated[float, option("DEG/S", "How fast to turn to the left.", panel=WHERE)] = 0.0,
    to: Annotated[str | None, option("X,Y", "Go there and stop: meters.", panel=WHERE)] = None,
    path: Annotated[str | None, option("'X,Y X,Y…'", "Go through these points and stop.", panel=WHERE)] = None,
    script: Annotated[
        Path | None,
        option("FILE", "Text file; each line has time, speed, direction and turn. # begins a comment.", panel=WHERE),
    ] = None,
    seconds: Annotated[
        float | None,
        option("S", "How long. Default: 10, until it arrives, or 3 s after the last line of the script.", panel=WHERE),
    ] = None,
    push: options.Push = None,
    terrain: options.Terrain = "flat",
    mass: options.Mass = None,
    fps: Annotated[float, option("N", "Frames per second.")] = 60.0,
    live: Annotated[
        bool,
        flag(
            "--live",
            "Walk in the browser: set speed, direction and turn, push and drag. Ctrl-C ends.",
            panel=options.LIVE,
        ),
    ] = False,
    scene: Annotated[
        str | None,
        option(
            "FILE|rubble:COUNT,SEED",
            "With --live: bodies and figures around it, as for poise simulate.",
            panel=options.LIVE,
        ),
    ] = None,
    port: options.Port = 0,
    headless: options.Headless = False,
) -> None:
    """Walk, run, turn and stop with a controller; with --push or --terrain, with physical reactions.

    A pushed figure takes steps with the push and then walks on.

    Example: [bold]poise walk walker.npz -o out.bvh --path '3,0 3,3' --push 'chest 300 0 0 @2+0.2'[/bold]
    """
    from poise.body import fit
    from poise.filter.forces import parse_push
    from poise.locomotion import Walking, load
    from poise.locomotion import walk as walk_on
    from poise.locomotion.examples import MEAN_STAND
    from poise.terrain import Terrain
    from poise.world import World

    if output is None and record is None and not live:
        raise InvalidValue("No output was given. Give -o OUT, such as -o walk.bvh, or --record OUT.html.")
    if scene is not None and not live:
        raise InvalidValue("--scene needs --live.")
    if live and any(given is not None for given in (to, path, script, seconds)):
        raise InvalidValue(
            "--to, --path, --script and --seconds cannot be combined with --live: the page sets where to go."
        )
    output_paths((output, report, record), "-o, --report and --record", inputs=(file, script), overwrite=overwrite)
    require_kinds(output, record, live=live)
    for name, number in (("--speed", speed), ("--direction", direction), ("--turn", turn), ("--seconds", seconds)):
        if number is not None and not math.isfinite(number):
            raise InvalidValue(f"{name} is {number}; give a finite number.")
    if not 1.0 <= fps <= 1000.0:
        raise InvalidValue(f"--fps is {fps:g}; give a number from 1 to 1000.")
    if sum(x is not None for x in (to, path, script)) > 1:
        raise InvalidValue("--to, --path and --script exclude each other; give one of them.")
    examples = load(file)
    if any(MEAN_STAND in n for n in examples.notes):
        note(
            f"warning: {file.name} was built by an earlier version, so the figure crouches where it stands; to have it "
            "stand upright, build it again from its clips: poise locomotion build CLIP… -o WALKER."
        )
    pushes = [parse_push(p) for p in push or ()]
    ground = Terrain.parse(terrain)
    if live:
        walking, made = Walking(examples), 1.0 / max(fps, 50.0)
        walking.velocity = (examples.walk if speed is None else speed), 0.0
        around = World(scene, figures={"walker": walking}, terrain=ground, dt=made)
        for one in pushes:
            around.push("walker", one)
        summarize_world(play_in_page(around, f"poise walk {file.name}", (output, record, report), port, headless))
        return
    command, longest = _command(examples, speed, direction, turn, to, path, script)
    longest = longest if seconds is None else seconds
    if not 0.0 < longest <= MOST_SECONDS:
        raise InvalidValue(f"--seconds is {longest:g}; give a number above 0 and up to {MOST_SECONDS:g}.")
    weight = fit(examples.motion, mass=mass).mass
    motion = walk_on(examples, command, longest, dt=1.0 / fps, pushes=pushes, mass=weight)
    if not pushes and ground.is_flat:
        if report is not None or json:
            raise InvalidValue("--report and --json describe the physics; give --push or --terrain, or leave them out.")
        _keep_plain(motion, output, record)
        return
    result = run_behind_bar(motion, None, mass=mass, terrain=ground, pushes=pushes)
    keep(result, output, report, record)
    if json:
        print_json(result.report.data)
    else:
        summarize_run(result, output)


def _keep_plain(motion: Motion, output: Path | None, record: Path | None) -> None:
    from poise.io.files import all_or_none

    with all_or_none():
        if output is not None:
            import poise.io

            poise.io.save(motion, output)
    if record is not None:
        from poise.body import fit
        from poise.show.motion_scene import scene_of_motion

        draw_last(lambda: scene_of_motion(motion, fit(motion), name="walk"), record, output)
    out().print(f"{output or record}: {motion.frame_count} frames, {motion.duration:.1f} s", markup=False)


def _command(
    examples: Locomotion,
    speed: float | None,
    direction: float,
    turn: float,
    to: str | None,
    path: str | None,
    script: Path | None,
) -> tuple[Commands | Toward, float]:
    """What the options ask for, and how long it takes at most [s]."""
    from poise.locomotion import Toward, scripted
    from poise.locomotion.walker import TOO_FAST

    speed = examples.walk if speed is None else speed
    most = TOO_FAST * examples.fastest
    rows = [(0.0, speed, math.radians(direction), math.radians(turn))]
    if script is not None:
        rows = _script(script)
    if any(not 0.0 <= row[1] <= most for row in rows):
        worst = max(row[1] for row in rows)
        raise InvalidValue(
            f"A speed of {worst:g} m/s was asked for; this controller goes up to {most:.2f} m/s, half as fast "
            "again as its fastest clip. Use --direction 180 to go back."
        )
    if to is not None or path is not None:
        if direction or turn:
            raise InvalidValue("--direction and --turn cannot be combined with --to and --path.")
        points = [_point(p) for p in (to or path or "").split()]
        if not points or speed <= 0.0:
            raise InvalidValue("Give at least one place, as in --path '3,0 3,3', and a speed above 0.")
        way = [(0.0, 0.0), *points]
        length = sum(math.dist(a, b) for a, b in pairwise(way))
        return Toward(points, speed), min(MOST_SECONDS, 10.0 + 2.0 * length / speed + 4.0 * len(points))
    return scripted(rows), rows[-1][0] + 3.0 if script is not None else 10.0


def _point(text: str) -> tuple[float, float]:
    try:
        x, y = (float(v) for v in text.split(","))
        if not (math.isfinite(x) and math.isfinite(y) and math.hypot(x, y) < 1e4):
            raise ValueError
    except ValueError:
        raise InvalidValue(f"{text!r} is not a place; give meters as X,Y, such as 3,0.5.") from None
    return x, y


def _script(path: Path) -> list[tuple[float, float, float, float]]:
    """The lines of a script; direction and turn may be left out."""
    from poise.io.files import read_text

    rows: list[tuple[float, float, float, float]] = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        parts = line.split("#")[0].replace(",", " ").split()
        if not parts:
            continue
        try:
            values = [float(p) for p in parts]
            if not 2 <= len(values) <= 4 or not all(map(math.isfinite, values)):
                raise ValueError
        except ValueError:
            raise FileFormatError(
                "A line holds time [s], speed [m/s] and optionally direction [deg] and turn [deg/s].",
                path=path,
                line=number,
                text=line,
            ) from None
        time, speed, direction, turn = [*values, 0.0, 0.0][:4]
        if time < (rows[-1][0] if rows else 0.0) or time > MOST_SECONDS:
            raise FileFormatError("Times must start at 0 or later and increase.", path=path, line=number, text=line)
        rows.append((time, speed, math.radians(direction), math.radians(turn)))
    if not rows:
        raise FileFormatError("The script is empty.", path=path, cure="Such as: 0 1.4")
    return rows
