"""`poise synthesize`: motion from goals alone."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import INTERRUPTED, app, note, note_warnings, out, output_paths, print_json, progress
from poise.cli.outcome import PREPARING, draw, play_live, require_kinds
from poise.cli.synthesize_help import NamedHelp, describe, list_behaviors, list_goals, shown
from poise.errors import InvalidValue

if TYPE_CHECKING:
    from poise.character.character import Character
    from poise.motion import Motion
    from poise.synthesis.behaviors.behavior import Behavior
    from poise.synthesis.run import SynthesisResult

MODES = ("horizon", "literal")
VIEWS = ("side", "front", "back", "quarter", "top")
"""Names of `poise.record.VIEWS`, which this module does not load before it must."""
ENGINES = {"own": "poise", "mujoco": "mujoco"}
FAILED = 1
"""Exit code of a run that ended early because a step had no solution."""
BUILT_IN = ("adult", "child")


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
        typer.Option(metavar="adult|child|FILE", help="Who: a built-in figure, a character (TOML), or any skeleton."),
    ] = None,
    clip: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A captured motion to follow, where the controller does.")
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
        typer.Option(metavar="OUT.html|.mp4|.gif|.png", help="A page to play the run, a film, or a strip of stills."),
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
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Make a motion from goals alone: balance, protective steps, a controller of your own. No clip is needed.

    Example: [bold]poise synthesize step -o step.bvh --push 'chest 250 0 0 @1+0.1' --record step.html[/bold]
    """
    if listing or goals:
        list_behaviors() if listing else list_goals()
        return
    if name is None:
        raise InvalidValue("Name a behavior or a controller file; `poise synthesize --list` lists the behaviors.")
    from poise.synthesis.behaviors.find import find_behavior

    behavior = find_behavior(name)
    if describing:
        describe(behavior)
        return
    if output is None and record is None and report is None and not live:
        raise InvalidValue(
            f"Give a file to write: poise synthesize {name} -o {behavior.name.replace(' ', '-')}.bvh, or --record, "
            "or --report."
        )
    files = [
        Path(n) for n in (name if name.lower().endswith(".toml") else None, character, scene, clip) if n is not None
    ]
    output_paths((output, report, record), "-o, --report and --record", inputs=files, overwrite=overwrite)
    require_kinds(output, record, live=live)
    if camera is not None and camera not in VIEWS:
        raise InvalidValue(f"--camera is {camera!r}; give {', '.join(VIEWS[:-1])} or {VIEWS[-1]}.")
    if mode not in MODES:
        raise InvalidValue(f"--mode is {mode!r}; give {' or '.join(MODES)}.")
    if engine not in ENGINES:
        raise InvalidValue(f"--engine is {engine!r}; give {' or '.join(ENGINES)}.")
    for label, number in (("--seconds", seconds), ("--responsiveness", responsiveness)):
        if number is not None and not (math.isfinite(number) and number > 0.0):
            raise InvalidValue(f"{label} is {number:g}; give a positive number.")
    from poise.sim.forces import parse_push
    from poise.synthesis.settings import Settings

    pushes = [parse_push(p) for p in push or ()]
    arguments: dict[str, Any] = {
        "pushes": pushes, "seconds": seconds,
        **_changes(behavior, scene, change, seed),
        "settings": Settings(
            responsiveness=responsiveness, is_literal=mode == "literal", engine=ENGINES[engine]
        ),
    }  # fmt: skip
    captured = None if clip is None else _captured(clip)
    figure = None if character is None and captured is not None else _character(character)
    if live:
        result = _run_live(
            behavior, figure, port=port, headless=headless, is_saved=output is not None, clip=captured, **arguments
        )
    else:
        result = _run(behavior, figure, clip=captured, **arguments)
    if output is not None:
        import poise.io

        poise.io.save(result.motion, output)
    if report is not None:
        result.report.save(report)
    if record is not None:
        from poise.record.synthesis_scene import scene_of_synthesis

        draw(scene_of_synthesis(result), record, camera=camera)
    if json:
        print_json(result.report.data)
    else:
        summarize(result, output)
    if not result.is_complete and not live:
        raise typer.Exit(INTERRUPTED if result.report["stopped"] == "interrupted" else FAILED)


def _changes(behavior: Behavior, scene: Path | None, words: list[str] | None, seed: int | None) -> dict[str, Any]:
    """The options and the scene as --set, --seed and --scene have them; a name may be the behavior's or the scene's."""
    from poise.synthesis.scene_file import load_scene, scene_options

    of_scene = {} if scene is None else scene_options(scene)
    known = {**of_scene, **behavior.options}
    changed: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        name, text = name.strip(), text.strip()
        if not equals or not name or not text:
            raise InvalidValue(f"Cannot read --set {word!r}. Write NAME=VALUE, such as --set friction=0.5.")
        if name not in known:
            told = ", ".join(f"{k}={shown(v)}" for k, v in known.items()) or "none"
            raise InvalidValue(f"--set {name}: {behavior.name!r} has no such option. Options: {told}.")
        changed[name] = _value(name, text, known[name])
    if seed is not None:
        if "seed" in known:
            changed["seed"] = float(seed)
        else:
            note(f"warning: nothing in {behavior.name!r} is drawn by chance, so --seed changes nothing.")
    return {
        "options": {k: v for k, v in changed.items() if k in behavior.options},
        "scene": None if scene is None else load_scene(scene, {k: v for k, v in changed.items() if k in of_scene}),
    }


def _value(name: str, text: str, default: object) -> float | bool | str:
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise InvalidValue(f"--set {name} is {text!r}; give true or false.")
        return text == "true"
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidValue(f"--set {name} is {text!r}; give a number.")
    return number


def _character(which: str | None) -> Character:
    """A built-in figure, a character file, or one fitted to the skeleton of any file that has one."""
    from poise.character.figure import figure

    if which is None or which in BUILT_IN:
        return figure(which or BUILT_IN[0])
    path = Path(which)
    if not path.exists():
        raise InvalidValue(f"--character is {which!r}, which is no file. Built-in figures: {', '.join(BUILT_IN)}.")
    if path.suffix.lower() == ".toml":
        from poise.character import load_character

        return load_character(path)
    import poise.io
    from poise.character import fit

    return fit(poise.io.load(path))


def _captured(path: Path) -> Motion:
    import poise.io

    motion = poise.io.load(path)
    note_warnings(motion)
    return motion


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
    from poise.studio.live_synthesis import LiveSynthesis

    source = LiveSynthesis(behavior, character, **arguments)
    return play_live(source, port=port, headless=headless, is_saved=is_saved)


def summarize(result: SynthesisResult, output: Path | None) -> None:
    """What happened, in a few lines a person reads."""
    d = result.report.data
    work, sunk = 100.0 * d["contact_work_ratio"], 1000.0 * d["penetration_max_m"]
    lines = [
        f"{output or d['behavior']}: {d['seconds']:.2f} s, {result.motion.skeleton.joint_count} joints, "
        f"{d['step_ms']['median']:.2f} ms a step ({d['realtime_factor']:.1f} × real time)",
        f"Fell at {d['fell']:.2f} s." if d["fell"] is not None else "Did not fall.",
    ]
    shown = [s for s in d["states"] if " / " not in s["name"]]
    if len(shown) > 1:
        path = " → ".join(f"{s['name']} {s['start']:.2f}" for s in shown[:8])
        lines.append(f"States [s]: {path}{f' → … ({len(shown)} in all)' if len(shown) > 8 else ''}")
    told = (
        (d["steps_taken"], f"{d['steps_taken']} protective step{'s' if d['steps_taken'] != 1 else ''}"),
        (d["climbed_m"] > 0.01, f"climbed {d['climbed_m']:.2f} m"),
        (d["swing_max_deg"] > 0.5, f"swung up to {d['swing_max_deg']:.0f}°"),
        (d["supports"], f"{len(d['supports'])} grips or supports by hand"),
        (d["hits"], f"hit {len(d['hits'])} times"),
    )
    if some := [words for is_so, words in told if is_so]:
        lines.append(f"{', '.join(some)}.".capitalize())
    lines.append(
        f"Nobody holds it: root force {d['root_residual_max']['force_N']:.0e} N; penetration {sunk:.2f} mm; "
        f"contacts put in {work:.1f} % of the joints' work; largest torque {d['torque_max_Nm']:.0f} N m"
    )
    if d["slack_used_max"] > 0.0:
        lines.append(f"Bounds gave way by up to {d['slack_used_max']:.3g}.")
    for kind, count in d["solver"]["fallbacks"].items():
        lines.append(f"In {count} steps: {kind}")
    if not result.is_complete:
        lines.append(f"Not complete: {d['stopped']}. What was done is kept.")
    for line in lines:
        out().print(line, markup=False)
