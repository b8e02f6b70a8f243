"""`poise simulate`: the quasi-physical filter on a clip."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import INTERRUPTED, app, note, out, print_json, progress
from poise.cli.folder import over_folders
from poise.cli.live_from import Buffer, LiveFrom, LiveTo, Seconds, follow, keep_live, require_live
from poise.cli.options import RUBBLE, argument, flag, option
from poise.cli.outcome import PREPARING, keep, play_live, reporting_interrupts, require_kinds, summarize_run
from poise.cli.world import SaveFigure, figure_files, play_world, require_figures
from poise.core.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poise.body.character import Character
    from poise.core.motion import Motion
    from poise.filter.forces import Force
    from poise.filter.report import SimulationResult
    from poise.filter.setup import Options
    from poise.terrain import Terrain

RECOVERY = 3.0
"""What `--loop` leaves after the last push [s]."""

MOST_ROUNDS = 200
"""What `--loop` plays at most [1]."""

DISTURB = options.PUSHES
REACTION = "Reaction"
CONTROL = "Control (rarely needed; --settings FILE or --preset FILE can hold them)"

LEAST_PHYSICAL, MOST_PHYSICAL = 1e-3, 1e3
"""What `--physicality` takes [1]: a tenth of and ten times what the page of `--live` offers."""


@app.command()
@over_folders("simulate")
@options.grouped
def simulate(
    file: Annotated[
        Path | None,
        argument("FILE", "The motion, or a folder of motions; none with --live-from."),
    ] = None,
    output: options.Output = None,
    record: options.Record = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    push: options.Push = None,
    pull: Annotated[
        list[str] | None,
        option(
            "'BODY X Y Z STIFFNESS @START+DURATION'",
            "Pull a body to a point by a spring: meters, N/m. Can be repeated.",
            panel=DISTURB,
        ),
    ] = None,
    terrain: options.Terrain = "flat",
    scene: Annotated[
        str | None,
        option(
            "FILE|rubble:COUNT,SEED",
            "Objects that the figure can bump into: a scene file (.toml), a MuJoCo file (.xml), or rubble on its path: "
            f"{RUBBLE}.",
            panel=DISTURB,
        ),
    ] = None,
    save_figure: SaveFigure = None,
    friction: Annotated[float, option("MU", "Friction coefficient of the ground.", panel=DISTURB)] = 0.8,
    allow: options.Allow = False,
    seed: Annotated[
        int | None,
        option("N", "Seed of rough ground, if SPEC has none.", panel=DISTURB),
    ] = None,
    amount: Annotated[float, option("0…1", "Share of the reaction to keep.", panel=REACTION)] = 1.0,
    only: Annotated[str | None, option("JOINT,…", "Joints that may change.", panel=REACTION)] = None,
    freeze: Annotated[str | None, option("JOINT,…", "Joints that must not change.", panel=REACTION)] = None,
    loop: Annotated[
        bool,
        flag("--loop", "Repeat a cyclic clip: twice, or until 3 s after the last push.", panel=REACTION),
    ] = False,
    character: options.CharacterFile = None,
    mass: options.Mass = None,
    reading: options.Reading = options.READ_AS_IS,
    start: options.Start = None,
    end: options.End = None,
    floor: options.Floor = None,
    live: Annotated[
        bool,
        flag("--live", "Run in the browser: drag bodies, change the ground. Ctrl-C ends.", panel=options.LIVE),
    ] = False,
    port: options.Port = 0,
    headless: options.Headless = False,
    live_from: LiveFrom = None,
    live_to: LiveTo = None,
    seconds: Seconds = None,
    buffer: Buffer = None,
    settings: options.Settings = None,
    preset: Annotated[
        str,
        option("NAME|FILE", "All weights and gains: recommended, paper, or a TOML file.", panel=CONTROL),
    ] = "recommended",
    physicality: Annotated[
        str,
        option(
            "X",
            "Penalty on external force at the root, relative to the paper's. Higher: joints do more of the work. "
            "strict: no force beyond the clip's own. off: joint torques cost nothing.",
            panel=CONTROL,
        ),
    ] = "1",
    goal: Annotated[
        str,
        option(
            "GOAL",
            "Goal of the center of mass. com-xy: stay on the clip's path. moving: give way, then return. "
            "none: no goal. auto: moving if anything pushes, else com-xy.",
            panel=CONTROL,
        ),
    ] = "auto",
    goal_point: Annotated[
        list[str] | None,
        option("'JOINT X,Y,Z [@START+DURATION]'", "Move a joint to a point. Can be repeated.", panel=CONTROL),
    ] = None,
    goal_without: Annotated[
        str | None,
        option("JOINT,…", "Joints that do not help with the goal.", panel=CONTROL),
    ] = None,
    hard_contact: Annotated[
        bool,
        flag("--hard-contact", "Forbid ground penetration exactly (slower).", panel=CONTROL),
    ] = False,
    after: Annotated[
        str,
        option(
            "path|stay|blend",
            "After steps: back to the clip's path, or stay beside it. blend: gets up from a fall by blending.",
            "--return",
            panel=CONTROL,
        ),
    ] = "path",
    get_up: Annotated[
        Path | None,
        option("FILE", "A clip of getting up, of the same skeleton.", panel=CONTROL),
    ] = None,
    engine: Annotated[
        str,
        option("qp|pd", "qp: the filter. pd: a simple controller, for comparison.", panel=CONTROL),
    ] = "qp",
    fps: Annotated[
        float | None,
        option("N", "Simulation rate. Default: a multiple of the clip's rate, at least 50 Hz.", panel=CONTROL),
    ] = None,
) -> None:
    """Give a clip physical reactions to shoves, slopes and stairs. If nothing disturbs it, it comes back unchanged.

    Example: [bold]poise simulate walk.bvh -o out.bvh --push 'chest 300 0 0 @1+0.2' --terrain slope:15[/bold]
    """
    require_live(live_from, live_to, seconds, buffer)
    if (file is None) == (live_from is None):
        raise InvalidValue("Give a motion, or a live actor: --live-from vmc:39539.")
    if output is None and not live and not live_to:
        raise InvalidValue("No output was given. Give -o OUT, such as -o moved.bvh; only --live goes without.")
    files = figure_files(
        save_figure, output, report, record, inputs=(file, reading.skeleton, character), overwrite=overwrite
    )
    if files and (scene is None or live):
        raise InvalidValue(
            "--save-figure saves figures of a --scene, and not of --live; poise world SCENE --live does."
        )
    require_kinds(output, record, live=live)
    numbers = {"--mass": mass, "--floor": floor, "--fps": fps, "--source-fps": reading.source_fps}
    for name, number in numbers.items():
        if number is not None and not math.isfinite(number):
            raise InvalidValue(f"{name} is {number}; give a finite number.")
    run_options = _options(goal, goal_point, goal_without, physicality, friction, hard_contact, engine, after)
    pushes = _pushes(push, pull)
    ground = _terrain(terrain, seed)
    if live_from is not None:
        if live:
            raise InvalidValue("--live shows a clip; a live actor has a page in `poise track --live-from … --live`.")
        from poise.tracking.followers import Filtering

        follower = Filtering(options=run_options, terrain=ground, pushes=pushes, mass=mass, preset=preset)
        kept = output is not None or record is not None
        heard = follow(live_from, follower, live_to=live_to, seconds=seconds, buffer=buffer, is_kept=kept)
        keep_live(heard, output, report, record, json=json)
        return
    assert file is not None
    import poise.io

    whole = reading.load(file)
    motion = options.part_of(whole, start, end)
    advise(whole, motion, start or 0.0, is_level=ground.is_flat, has_scene=scene is not None, is_live=live)
    if loop:
        motion = _looped(motion, pushes)
    require_felt(pushes, motion.duration, is_allowed=allow, is_live=live)
    tell_useless(run_options, seed=seed, terrain=terrain, headless=headless, port=port, live=live)
    arguments: dict[str, Any] = {
        "terrain": ground,
        "pushes": pushes,
        "preset": preset,
        "options": run_options,
        "fps": fps,
        "floor": floor,
        "amount": amount,
        "only": options.names_in(only),
        "freeze": options.names_in(freeze),
        **(
            {}
            if get_up is None
            else {"get_up": poise.io.load(get_up, skeleton=reading.skeleton, unit=reading.unit, up=reading.up)}
        ),
    }
    if scene is not None:
        from poise.world import World

        if live:
            figure = _figure(motion, character, mass)
            play_world(motion, figure, scene, friction, arguments, (output, record, report), port, headless)
            return
        arguments["world"] = World(scene, friction=friction)
        require_figures(arguments["world"], files)
    with reporting_interrupts(output, report, record):
        if live:
            result = run_live(
                motion, character, mass=mass, port=port, headless=headless, is_saved=output is not None, **arguments
            )
        else:
            result = run_behind_bar(motion, character, mass=mass, **arguments)
        keep(result, output, report, record)
        for name, path in files.items():
            poise.io.save(arguments["world"].motion(name), path)
    from poise.cli.describe import is_size_doubted, mass_doubt
    from poise.intake.anatomy import height_of

    told = motion.source.warnings if motion.source else ()
    may_doubt = character is None and mass is None and not is_size_doubted(told)
    if may_doubt and (doubt := mass_doubt(result.character, height_of(motion))):
        note(f"warning: {doubt}")
    if json:
        print_json(result.report.data)
    else:
        summarize_run(result, output)
        if amount < 1.0 or only or freeze:
            out().print("Pushes, ground and root force are those of the whole reaction, of which a part was kept.")
    if not result.is_complete and not live:
        raise typer.Exit(INTERRUPTED)


def _options(
    goal: str,
    points: list[str] | None,
    without: str | None,
    physicality: str,
    friction: float,
    hard: bool,
    engine: str,
    after: str,
) -> Options:
    from poise.filter.forces import parse_goal
    from poise.filter.quasi_physical import Physicality
    from poise.filter.setup import Options

    if physicality in ("strict", "off"):
        knob = Physicality(is_strict=physicality == "strict", is_off=physicality == "off")
    else:
        try:
            if not LEAST_PHYSICAL <= float(physicality) <= MOST_PHYSICAL:
                raise ValueError
            knob = Physicality(float(physicality))
        except ValueError:  # no number, or none that makes sense
            raise InvalidValue(
                f"--physicality is {physicality!r}; give a number from {LEAST_PHYSICAL:g} to {MOST_PHYSICAL:g}, strict "
                "or off."
            ) from None
    goals = tuple(parse_goal(p) for p in points or ())
    try:
        return Options(
            goal=goal,
            goal_points=goals,
            goal_without=options.names_in(without),
            physicality=knob,
            friction=friction,
            hard_contact=hard,
            engine=engine,
            after=after,
        )
    except InvalidValue as error:  # it names the option it is about
        raise InvalidValue(f"--{error}") from None


def _pushes(push: list[str] | None, pull: list[str] | None) -> list[Any]:
    from poise.filter.forces import parse_pull, parse_push

    return [*(parse_push(p) for p in push or ()), *(parse_pull(p) for p in pull or ())]


def _terrain(spec: str, seed: int | None) -> Terrain:
    from poise.terrain import Terrain

    if seed is not None and spec.startswith("rough:") and "," not in spec:
        spec = f"{spec},{seed}"
    return Terrain.parse(spec)


def _looped(motion: Motion, pushes: list[Any]) -> Motion:
    """The motion again and again: twice, or until every push has had three seconds to be recovered from."""
    from poise.phases.travel import repeat

    last_end = max((p.start + (p.duration if math.isfinite(p.duration) else 0.0) for p in pushes), default=0.0)
    rounds = max(2, math.ceil((last_end + RECOVERY) / max(motion.duration, motion.dt)))
    if rounds > MOST_ROUNDS:
        raise InvalidValue(
            f"A push at {last_end:g} s needs {rounds} rounds of this clip; --loop plays {MOST_ROUNDS} at most."
        )
    return repeat(motion, rounds)


def run_live(
    motion: Motion,
    character: Path | None,
    *,
    mass: float | None,
    port: int,
    headless: bool,
    is_saved: bool,
    **arguments: Any,
) -> SimulationResult:
    """Fit, and simulate in a page in real time until Ctrl-C; the last round."""
    from poise.show.live_clip import LiveClip

    source = LiveClip(motion, _figure(motion, character, mass), **arguments)
    return play_live(source, port=port, headless=headless, is_saved=is_saved)


def _figure(motion: Motion, character: Path | None, mass: float | None) -> Character:
    """The character file, or one fitted to the motion."""
    from poise.body import fit, load_character

    if character is None:
        return fit(motion, mass=mass)
    if mass is not None:
        raise InvalidValue("--mass needs a fitted character; edit the masses in the character file instead.")
    return load_character(character)


def run_behind_bar(motion: Motion, character: Path | None, *, mass: float | None, **arguments: Any) -> SimulationResult:
    """Fit and simulate behind a progress bar."""
    with progress(disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(PREPARING, total=None)
        from poise.filter.simulate import Live
        from poise.filter.simulate import simulate as run

        figure = _figure(motion, character, mass)

        def watch(live: Live) -> None:
            bar.update(task, description="Simulating", total=1.0, completed=live.fraction)

        return run(motion, figure, watch=watch, **arguments)


# --- warnings before the run: problems of the clip and of its options, each with its cure


def advise(
    whole: Motion, motion: Motion, start: float, *, is_level: bool, has_scene: bool = False, is_live: bool = False
) -> None:
    """What a user should know of the clip.

    Args:
        whole: The clip.
        motion: The part of it that is kept.
        start: Where that begins [s].
        is_level: The ground is level.
        has_scene: There are bodies around it, so that the ground stays where it is.
        is_live: It is shown in a page, whose ground rests.
    """
    from poise.phases.glitches import find_glitches, leading_rest_frames
    from poise.phases.travel import is_in_place

    if start > 0.0:
        note(f"Times and frames count from --start {start:g} s, those of pushes too.")
    lead = leading_rest_frames(motion)
    if lead:
        note(
            f"warning: the first {lead} frame(s) look like a rest pose; "
            f"--start {start + lead * motion.dt:.5g} skips them."
        )
    glitches = [g for g in find_glitches(motion) if g.kind != "t-pose"]
    if glitches:
        first = glitches[0]
        note(
            f"warning: {len(glitches)} glitch{'es' * (len(glitches) != 1)}, first a {first.kind} of "
            f"{motion.skeleton.names[first.joint]!r} in frame {first.frame}; there the reaction is "
            "carried over instead of computed."
        )
    if is_live and not has_scene:
        if is_in_place(whole):
            note("The clip walks on the spot. In the page it goes ahead, and so does what is kept.")
    elif not is_level and is_in_place(whole):
        note("warning: the clip walks in place; slopes and stairs need a clip that travels.")
    elif has_scene and is_in_place(whole):
        note(
            "warning: the clip walks in place, so its feet slide on the floor of the scene. As a figure of the scene "
            "file with travels = true it goes ahead in `poise world`."
        )


def require_felt(pushes: Sequence[Force], duration: float, *, is_allowed: bool, is_live: bool) -> None:
    """Refuse pushes that start after the clip's end [s]. Where they are allowed, a run warns of them, a page does not.

    Raises:
        InvalidValue: if there is one and it is not allowed.
    """
    from poise.filter.simulate import without_effect

    for what in without_effect(pushes, duration):
        if not is_allowed:
            raise InvalidValue(f"{what} Start it earlier, repeat a cyclic clip (--loop), or accept it (--allow).")
        if is_live:
            note(f"warning: {what}")


def tell_useless(options: Options, *, seed: int | None, terrain: str, headless: bool, port: int, live: bool) -> None:
    """Warn of options that change nothing beside others."""
    from poise.filter.setup import Options as Usual

    usual = Usual()
    if options.engine == "pd":
        given = {
            "--goal": options.goal != usual.goal,
            "--goal-point": options.goal_points,
            "--goal-without": options.goal_without,
            "--physicality": options.physicality != usual.physicality,
            "--hard-contact": options.hard_contact,
        }
        _tell([name for name, is_given in given.items() if is_given], "--engine pd has no goals and no ground to weigh")
    elif options.goal == "none" and options.goal_without:
        _tell(["--goal-without"], "--goal none guides no center of mass")
    if seed is not None and not (terrain.startswith("rough:") and "," not in terrain):
        _tell(["--seed"], "--terrain is not rough ground without a seed of its own")
    if not live:
        _tell([n for n, given in (("--headless", headless), ("--port", port)) if given], "they belong to --live")


def _tell(names: list[str], why: str) -> None:
    if names:
        note(f"warning: {', '.join(names)} {'changes' if len(names) == 1 else 'change'} nothing: {why}.")
