"""`poise synthesize`: motion from goals alone."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import INTERRUPTED, app, output_paths, print_json, progress
from poise.cli.outcome import PREPARING, keep, play_live, require_kinds, telling_interrupts
from poise.cli.synthesize_help import NamedHelp, describe, list_behaviors, list_goals, write_controller
from poise.cli.synthesize_input import captured, changes, figure_of, require_length, tell_useless
from poise.cli.synthesize_summary import summarize
from poise.core.errors import InvalidValue

if TYPE_CHECKING:
    from poise.body.character import Character
    from poise.synthesis.behaviors.behavior import Behavior
    from poise.synthesis.run import SynthesisResult

MODES = ("horizon", "literal")
VIEWS = ("side", "front", "back", "quarter", "top")
"""Names of `poise.show.VIEWS`, which this module does not load before it must."""
ENGINES = {"own": "poise", "mujoco": "mujoco"}
FAILED = 1
"""Exit code of a run that ended early because a step had no solution."""


@app.command(cls=NamedHelp)
def synthesize(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME|FILE.toml", help="A behavior (--list), or a controller file.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT", help="The motion; the extension says the format."),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change an option of the behavior; repeatable."),
    ] = None,
    scene: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="What stands around the figure, instead of its own scene.")
    ] = None,
    responsiveness: Annotated[
        float, typer.Option(metavar="R", help="Scales all goals against torque change: 0.1 sluggish, 10 quick.")
    ] = 1.0,
    push: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'BODY FX FY FZ @START+DURATION'",
            help="A push in newtons, Z up; repeatable. A figure is named as adult.chest.",
        ),
    ] = None,
    seconds: Annotated[float | None, typer.Option(metavar="S", help="How long; default: as the behavior says.")] = None,
    character: Annotated[
        str | None,
        typer.Option(
            metavar="WHO",
            help="adult, child, a character (TOML), or any file with a skeleton; FILE@CLIP of one with several clips.",
        ),
    ] = None,
    clip: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A captured motion to follow; FILE@CLIP of several.")
    ] = None,
    mode: Annotated[
        str, typer.Option(metavar="horizon|literal", help="Goals with a horizon, or the paper's own form and weights.")
    ] = "horizon",
    engine: Annotated[
        str, typer.Option(metavar="own|mujoco", help="Who moves the figure on: the step itself, or MuJoCo.")
    ] = "own",
    seed: Annotated[int | None, typer.Option(metavar="N", help="Of what is drawn by chance in the behavior.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="OUT.json", help="Write the report.")] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="A page to play (.html), a film (.mp4, .gif), or a strip of stills (.png)."),
    ] = None,
    camera: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(VIEWS), help="Where a film or strip is taken from; default: as the behavior says."
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Run in the browser, in real time: drag bodies and things; Ctrl-C ends.")
    ] = False,
    port: options.Port = 0,
    headless: options.Headless = False,
    listing: Annotated[bool, typer.Option("--list", help="List the behaviors.")] = False,
    goals: Annotated[bool, typer.Option("--goals", help="List what a controller file can say.")] = False,
    describing: Annotated[
        bool, typer.Option("--describe", help="Tell the behavior's options and show its controller.")
    ] = False,
    write: Annotated[
        Path | None, typer.Option(metavar="OUT.toml", help="Write its controller, to change it and run it.")
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Make a motion from goals alone: balance, protective steps, a controller of your own. No clip is needed.

    Example: [bold]poise synthesize step -o step.bvh --push 'chest 250 0 0 @1+0.1' --record step.html[/bold]
    """
    if listing or goals:
        list_behaviors(as_json=json) if listing else list_goals()
        return
    if name is None:
        raise InvalidValue("Name a behavior or a controller file; `poise synthesize --list` lists the behaviors.")
    from poise.synthesis.behaviors.find import find_behavior

    behavior = find_behavior(name)
    if describing:
        describe(behavior, as_json=json)
        return
    if write is not None:
        output_paths((write,), "--write", inputs=[], overwrite=overwrite)
        write_controller(behavior, write)
        return
    if output is None and record is None and report is None and not live:
        raise InvalidValue(
            f"Give a file to write: poise synthesize {name} -o {behavior.name.replace(' ', '-')}.bvh, or --record, "
            "or --report."
        )
    files = [
        Path(n) for n in (name if name.lower().endswith(".toml") else None, character, scene, clip) if n is not None
    ]
    require_kinds(output, record, live=live)
    if camera is not None and camera not in VIEWS:
        raise InvalidValue(f"--camera is {camera!r}; give {', '.join(VIEWS[:-1])} or {VIEWS[-1]}.")
    if mode not in MODES:
        raise InvalidValue(f"--mode is {mode!r}; give {' or '.join(MODES)}.")
    if engine not in ENGINES:
        raise InvalidValue(f"--engine is {engine!r}; give {' or '.join(ENGINES)}.")
    require_length(seconds)
    if not (math.isfinite(responsiveness) and responsiveness > 0.0):
        raise InvalidValue(f"--responsiveness is {responsiveness:g}; give a positive number.")
    from poise.filter.forces import parse_push
    from poise.synthesis.settings import Settings

    pushes = [parse_push(p) for p in push or ()]
    arguments: dict[str, Any] = {
        "pushes": pushes, "seconds": seconds,
        **changes(behavior, scene, change, seed),
        "settings": Settings(
            responsiveness=responsiveness, is_literal=mode == "literal", engine=ENGINES[engine]
        ),
    }  # fmt: skip
    followed = None if clip is None else captured(clip)
    figure = None if character is None else figure_of(character)
    output_paths((output, report, record), "-o, --report and --record", inputs=files, overwrite=overwrite)
    tell_useless(behavior, pushes, arguments, is_clip_given=clip is not None)
    with telling_interrupts(output, report, record):
        if live:
            result = _run_live(
                behavior, figure, port=port, headless=headless, is_saved=output is not None, clip=followed, **arguments
            )
        else:
            result = _run(behavior, figure, clip=followed, **arguments)
        keep(result, output, report, record, camera=camera)
    if json:
        print_json(result.report.data)
    else:
        summarize(result, output, is_live=live)
    if not result.is_complete and not live:
        raise typer.Exit(INTERRUPTED if result.report["stopped"] == "interrupted" else FAILED)


def _run(behavior: Behavior, character: Character | None, **arguments: Any) -> SynthesisResult:
    """Synthesize behind a progress bar; the first run on a machine also compiles."""
    with progress(disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(PREPARING, total=None)
        from poise.synthesis.run import synthesize as run

        setup = behavior.setup(arguments["options"], is_literal=arguments["settings"].is_literal)
        seconds = arguments["seconds"] or setup.seconds

        def watch(runner: Any) -> None:
            bar.update(task, description="Synthesizing", total=seconds, completed=runner.time)

        return run(behavior, character, on_step=watch, **arguments)


def _run_live(
    behavior: Behavior, character: Character | None, *, port: int, headless: bool, is_saved: bool, **arguments: Any
) -> SynthesisResult:
    """Synthesize in a page in real time until Ctrl-C; the last round."""
    from poise.show.live_synthesis import LiveSynthesis

    source = LiveSynthesis(behavior, character, **arguments)
    return play_live(source, port=port, headless=headless, is_saved=is_saved)
