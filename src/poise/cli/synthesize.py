"""`poise synthesize`: motion from goals alone."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import INTERRUPTED, app, note, output_paths, print_json, progress
from poise.cli.behaviors import (
    SynthesizeCommand,
    describe,
    list_behaviors,
    list_goals,
    tune_behavior,
    with_gains,
    write_controller,
)
from poise.cli.figure import captured, read_figure
from poise.cli.options import RUBBLE, argument, flag, option
from poise.cli.outcome import PREPARING, keep, play_live, reporting_interrupts, require_kinds
from poise.cli.synthesized import failure_of, summarize_synthesis
from poise.core.errors import InvalidValue

if TYPE_CHECKING:
    from poise.body.character import Character
    from poise.filter.forces import Push
    from poise.goals.state_machine import StateMachine
    from poise.synthesis.behaviors.behavior import Behavior
    from poise.synthesis.run import SynthesisResult


MODES = ("horizon", "literal")
VIEWS = ("side", "front", "back", "quarter", "top")
"""Names of `poise.show.VIEWS`, which this module does not load before it must."""
ENGINES = {"own": "poise", "mujoco": "mujoco"}
FAILED = 1
"""Exit code of a run that ended early because a step had no solution, and of an athlete that fell unpushed."""


SCENE, CONTROL, LISTS = "What happens", "Control (rarely needed)", "Behaviors and controllers"
TUNER = "Tuner"
"""Panels of the help."""


@app.command(cls=SynthesizeCommand)
def synthesize(
    name: Annotated[
        str | None,
        argument("NAME|FILE.toml", "A behavior (--list), or a controller file."),
    ] = None,
    output: options.Output = None,
    change: Annotated[
        list[str] | None,
        option("NAME=VALUE", "Change an option of the behavior. Can be repeated.", "--set", panel=SCENE),
    ] = None,
    scene: Annotated[
        str | None,
        option(
            "SCENE",
            "Objects instead of the behavior's own: a scene file (.toml), also with bodies that move, a MuJoCo file "
            f"(.xml), or {RUBBLE}.",
            panel=SCENE,
        ),
    ] = None,
    responsiveness: Annotated[
        float,
        option("R", "How quickly the figure reacts: 0.1 slow, 10 quick.", panel=SCENE),
    ] = 1.0,
    push: Annotated[
        list[str] | None,
        option(
            "'BODY FX FY FZ @START+DURATION'",
            "Push a body: newtons, Z up, seconds. With several figures: adult.chest. Can be repeated.",
            panel=options.PUSHES,
        ),
    ] = None,
    allow: options.Allow = False,
    seconds: Annotated[
        float | None,
        option("S", "Length in seconds. Default: the behavior's own.", panel=SCENE),
    ] = None,
    character: Annotated[
        str | None,
        option(
            "WHO",
            "adult, child, a character file (TOML), or any file with a skeleton "
            "(FILE@CLIP names one of several clips).",
            "-c",
            "--character",
            panel=SCENE,
        ),
    ] = None,
    clip: Annotated[
        Path | None,
        option("FILE", "A captured motion to follow (FILE@CLIP if the file has several).", panel=SCENE),
    ] = None,
    height: options.FigureHeight = None,
    mode: Annotated[
        str,
        option("horizon|literal", "horizon: goals look ahead. literal: exactly as in the paper.", panel=CONTROL),
    ] = "horizon",
    engine: Annotated[
        str,
        option("own|mujoco", "Simulator: own, or MuJoCo's forward simulation.", panel=CONTROL),
    ] = "own",
    seed: Annotated[int | None, option("N", "Random seed of the behavior.", panel=SCENE)] = None,
    record: options.Record = None,
    report: options.Report = None,
    camera: Annotated[
        str | None,
        option(
            "VIEW", f"View of a film or strip: {', '.join(VIEWS)}. Default: the behavior's own.", panel=options.OUTPUT
        ),
    ] = None,
    live: Annotated[
        bool,
        flag("--live", "Run in the browser: drag bodies and things. Ctrl-C ends.", panel=options.LIVE),
    ] = False,
    port: options.Port = 0,
    headless: options.Headless = False,
    listing: Annotated[bool, flag("--list", "List the behaviors.", panel=LISTS)] = False,
    goals: Annotated[
        bool,
        flag("--goals", "List the goals and conditions that a controller file can use.", panel=LISTS),
    ] = False,
    describing: Annotated[
        bool,
        flag("--describe", "Show the behavior's options and its controller.", panel=LISTS),
    ] = False,
    write: Annotated[
        Path | None,
        option("OUT.toml", "Write its controller to a file that you can edit and run.", panel=LISTS),
    ] = None,
    tuning: Annotated[
        list[str] | None,
        option(
            "NAME[=LOW:HIGH]", "Search this option by CMA-ES; -o takes a .toml. Can be repeated.", "--tune", panel=TUNER
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        option("'NAME=VALUE …'", "Options of a run; every try makes all such runs. Can be repeated.", panel=TUNER),
    ] = None,
    held_out: Annotated[
        list[str] | None,
        option(
            "'NAME=VALUE …'",
            "A run that the search does not use; it tests the values found. Can be repeated.",
            panel=TUNER,
        ),
    ] = None,
    tries: Annotated[int | None, option("N", "How many sets of values are tried. Default: 64.", panel=TUNER)] = None,
    gains: Annotated[
        Path | None, option("FILE.toml", "Options that --tune found. --set overrides them.", panel=TUNER)
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Make a motion from goals alone: balance, protective steps, a controller of your own. No clip is needed.

    [bold]poise synthesize learn CLIP -o mine.toml[/bold] finds the weights of a controller's goals from a clip.

    Example: [bold]poise synthesize step -o step.bvh --push 'chest 250 0 0 @1+0.1' --record step.html[/bold]
    """
    if listing or goals:
        list_behaviors(as_json=json) if listing else list_goals()
        return
    if name is None:
        raise InvalidValue("Name a behavior or a controller file; `poise synthesize --list` lists the behaviors.")
    from poise.synthesis.controller_file import find_behavior

    behavior = find_behavior(name)
    if gains is not None:
        behavior = with_gains(behavior, gains)
    if describing:
        describe(behavior, as_json=json)
        return
    if write is not None:
        output_paths((write,), "--write", inputs=[], overwrite=overwrite)
        write_controller(behavior, write)
        return
    if tuning:
        unused = {
            "--set": change,
            "--scene": scene,
            "--push": push,
            "--clip": clip,
            "--mode": mode != "horizon",
            "--engine": engine != "own",
            "--responsiveness": responsiveness != 1.0,
            "--record": record,
            "--report": report,
            "--camera": camera,
            "--live": live,
            "--json": json,
        }
        if given := [flag for flag, value in unused.items() if value]:
            raise InvalidValue(
                f"--tune does not use {', '.join(given)}. Options of the runs that are tried belong in --case, such as "
                "--case 'speed=2'."
            )
        require_length(seconds)
        figure = None if character is None else read_figure(character, height).character
        tune_behavior(
            behavior,
            tuning,
            output,
            cases=case or [],
            held_out=held_out or [],
            character=figure,
            seconds=seconds,
            tries=64 if tries is None else tries,
            seed=seed or 0,
            overwrite=overwrite,
        )
        return
    if case or held_out or tries is not None:
        raise InvalidValue("--case, --held-out and --tries belong to a search; give --tune as well.")
    if output is None and record is None and report is None and not live:
        raise InvalidValue(
            f"Give a file to write: poise synthesize {name} -o {behavior.name.replace(' ', '-')}.bvh, or --record, "
            "or --report."
        )
    files = [
        Path(n)
        for n in (name if name.lower().endswith(".toml") else None, character, scene, clip)
        if n is not None and not str(n).startswith("rubble:")
    ]
    require_kinds(output, record, live=live)
    if camera is not None and camera not in VIEWS:
        raise InvalidValue(f"--camera is {camera!r}; give {', '.join(VIEWS[:-1])} or {VIEWS[-1]}.")
    if mode not in MODES:
        raise InvalidValue(f"--mode is {mode!r}; give {' or '.join(MODES)}.")
    if engine not in ENGINES:
        raise InvalidValue(f"--engine is {engine!r}; give {' or '.join(ENGINES)}.")
    require_length(seconds)
    if height is not None and character is None and clip is None:
        raise InvalidValue("--height is that of a figure read from a file; give --character FILE as well.")
    if not (math.isfinite(responsiveness) and responsiveness > 0.0):
        raise InvalidValue(f"--responsiveness is {responsiveness:g}; give a positive number.")
    from poise.filter.forces import parse_push
    from poise.synthesis.figure import Settings
    from poise.synthesis.scene_file import is_world

    pushes = [parse_push(p) for p in push or ()]
    moves = scene is not None and is_world(scene)
    arguments: dict[str, Any] = {
        "pushes": pushes,
        "seconds": seconds,
        **changes(behavior, None if moves or scene is None else Path(scene), change, seed),
        "settings": Settings(responsiveness=responsiveness, is_literal=mode == "literal", engine=ENGINES[engine]),
    }
    followed = None if clip is None else captured(clip, height if character is None else None)
    who = None if character is None else read_figure(character, height)
    figure = None if who is None else who.character
    arguments["drawn"] = None if who is None else who.drawn
    output_paths((output, report, record), "-o, --report and --record", inputs=files, overwrite=overwrite)
    tell_useless(behavior, pushes, arguments, is_clip_given=clip is not None, is_allowed=allow)
    if scene is not None and moves:
        if followed is not None or engine != "own":
            raise InvalidValue("--clip and --engine cannot be combined with a scene whose bodies move; leave them out.")
        from poise.world import World

        if live:
            from poise.cli.world import play_goals

            play_goals(behavior, figure, scene, arguments, (output, record, report), camera, port, headless)
            return
        arguments["world"] = World(scene)
    with reporting_interrupts(output, report, record):
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
        summarize_synthesis(result, output, is_live=live)
    if not live and (failed := failure_of(behavior, result)):
        note(failed)
        raise typer.Exit(FAILED)
    if not result.is_complete and not live:
        raise typer.Exit(INTERRUPTED if result.report["stopped"] == "interrupted" else FAILED)


def _run(behavior: Behavior, character: Character | None, **arguments: Any) -> SynthesisResult:
    """Synthesize behind a progress bar."""
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


def changes(behavior: Behavior, scene: Path | None, settings: list[str] | None, seed: int | None) -> dict[str, Any]:
    """The options and the scene as --set, --seed and --scene have them; a name may be the behavior's or the scene's."""
    from poise.synthesis.behaviors.behavior import Option, named
    from poise.synthesis.scene_file import load_scene, scene_options

    of_scene = {} if scene is None else {k: Option(v) for k, v in scene_options(scene).items()}
    known = {**of_scene, **behavior.declared}
    changed: dict[str, Any] = {}
    for word in settings or ():
        name, text = options.name_and_value(word, "friction=0.5")
        changed[name] = named(known, name, behavior.name).checked(f"--set {name}", text)
    if seed is not None:
        if "seed" in changed:
            raise InvalidValue("--seed and --set seed set the same option; give one of them.")
        if "seed" in known:
            changed["seed"] = known["seed"].checked("--seed", seed)
        else:
            note(f"warning: nothing in {behavior.name!r} is drawn by chance, so --seed changes nothing.")
    return {
        "options": {k: v for k, v in changed.items() if k in behavior.declared},
        "scene": None if scene is None else load_scene(scene, {k: v for k, v in changed.items() if k in of_scene}),
    }


def require_length(seconds: float | None) -> None:
    """Refuse a length that is none."""
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0.0):
        raise InvalidValue(f"--seconds is {seconds:g}; give a positive number.")


def tell_useless(
    behavior: Behavior, pushes: Sequence[Push], arguments: dict[str, Any], *, is_clip_given: bool, is_allowed: bool
) -> None:
    """Warn of what changes nothing: a clip that nobody follows, a goal without its clip, pushes after the end."""
    from poise.synthesis.behaviors import BEHAVIORS

    setup = behavior.setup(arguments["options"], is_literal=arguments["settings"].is_literal)
    if is_clip_given and not follows(setup.roles[0].machine):
        note(f"warning: {behavior.name!r} has no goal Follow, so only the skeleton of --clip is used.")
    if not is_clip_given and behavior.name not in BEHAVIORS and follows(setup.roles[0].machine):
        note(f"warning: {behavior.name!r} has a goal Follow and no clip to follow; give --clip FILE.")
    end = arguments["seconds"] or setup.seconds
    for push in pushes:
        if push.start < end:
            continue
        what = (
            f"The push of {push.body!r} starts at {push.start:g} s, but the run ends at {end:g} s, so it has no effect."
        )
        if not is_allowed:
            raise InvalidValue(f"{what} Start it earlier, make the run longer (--seconds), or accept it (--allow).")
        note(f"warning: {what}")


def follows(machine: StateMachine) -> bool:
    """Whether a controller has a goal that follows a clip, in a machine inside too."""
    from poise.goals.objectives import Follow

    return any(
        any(isinstance(goal, Follow) for goal in (*state.goals, *state.constraints))
        or any(follows(part.machine) for part in state.inside)
        for state in machine.states
    )
