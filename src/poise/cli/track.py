"""`poise track`: an actor's motion drives a character of another shape."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import app, note, output_paths, print_json, progress
from poise.cli.folder import over_folders
from poise.cli.live_from import Buffer, LiveFrom, LiveTo, Seconds, follow, keep_live, require_live
from poise.cli.options import argument, flag, option
from poise.cli.outcome import PREPARING, keep, reporting_interrupts, require_kinds
from poise.core.errors import InvalidValue

if TYPE_CHECKING:
    from poise.body.character import Character
    from poise.core.motion import Motion
    from poise.show.scene import Scene
    from poise.tracking.followers import Tracking
    from poise.tracking.live import LiveResult
    from poise.tracking.run import TrackResult

FAILED = 1
"""Exit code of a run in which the character fell or was lost."""
OFTEN = 0.2
"""A root that is held in more than this share of the steps gets a warning [1]."""
ROOTS = ("hard", "strict", "soft")
DISTURB = options.PUSHES


@app.command()
@over_folders("track", source="actor")
@options.grouped
def track(
    character: Annotated[
        str,
        option(
            "WHO",
            "The character to drive: adult, child, a character file (TOML), or any file with a skeleton "
            "(FILE@CLIP names one of several clips).",
            "-c",
            "--character",
            show_default=False,
        ),
    ],
    actor: Annotated[
        Path | None,
        argument("ACTOR", "Motion of the actor, or a folder of motions; none with --live-from."),
    ] = None,
    character_height: Annotated[
        str | None,
        option(
            "H", "Height of the character in its file, such as 1.8m; --height is the actor's.", "--character-height"
        ),
    ] = None,
    roles: Annotated[
        str,
        option("TEXT", "What each limb does, such as 'tail=free, left_leg<-right_leg'. Default: by kind of limb."),
    ] = "",
    root: Annotated[
        str,
        option(
            "hard|strict|soft",
            "hard: no outside force at the root, except in steps that the report counts. strict: never; the "
            "character falls instead, and gets up. soft: a small outside force is always allowed.",
        ),
    ] = "hard",
    responsiveness: Annotated[
        float,
        option(
            "R",
            "Stiffness of pelvis and hands, relative to the default: above 1 they follow more closely, below 1 calmly.",
        ),
    ] = 1.0,
    style: Annotated[
        str,
        option(
            "'NAME=SHARE, …'",
            "Posture: rest poses of the character file, such as 'sad=1'. Default: the pose in which it stands.",
            show_default=False,
        ),
    ] = "",
    prior: Annotated[
        list[Path] | None,
        option(
            "CLIP",
            "A clip of the character itself (FILE@CLIP names one of several). Its joints are drawn to the poses in it. "
            "Can be repeated.",
        ),
    ] = None,
    push: options.Push = None,
    terrain: options.Terrain = "flat",
    friction: Annotated[
        float | None,
        option("MU", "Friction coefficient of the ground. Default: the character's, 0.8.", panel=DISTURB),
    ] = None,
    fps: Annotated[float, option("N", "Steps per second, 50 or more.")] = 120.0,
    output: options.Output = None,
    record: options.Record = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    reading: options.Reading = options.READ_AS_IS,
    start: options.Start = None,
    end: options.End = None,
    live: Annotated[
        bool,
        flag(
            "--live",
            "Follow in the browser: drag the character, change its roles, style and tail. Ctrl-C ends.",
            panel=options.LIVE,
        ),
    ] = False,
    port: options.Port = 0,
    headless: options.Headless = False,
    live_from: LiveFrom = None,
    live_to: LiveTo = None,
    seconds: Seconds = None,
    buffer: Buffer = None,
) -> None:
    """Let an actor drive a character of another shape. Feet that stand stay in place; free limbs swing.

    Exit code 1 if the character fell or lost the actor; the files are written all the same.

    Example: [bold]poise track walk.bvh -c child -o child.bvh --report child.json[/bold]
    """
    require_live(live_from, live_to, seconds, buffer)
    if (actor is None) == (live_from is None):
        raise InvalidValue("Give a motion of the actor, or a live one: --live-from vmc:39539.")
    if output is None and record is None and report is None and not live_to and not live:
        raise InvalidValue(
            f"Give a file to write: poise track {actor or '--live-from …'} -c {character} -o out.bvh, or --record, "
            "--report; or --live."
        )
    if not live and (port or headless):
        raise InvalidValue("--port and --headless belong to --live; leave them out, or add --live.")
    if root not in ROOTS:
        raise InvalidValue(f"--root is {root!r}; give {', '.join(ROOTS)}.")
    for name, number, low, high in (
        ("--responsiveness", responsiveness, 0.05, 20.0),
        ("--friction", friction, 0.05, 5.0),
        ("--fps", fps, 50.0, 1000.0),
    ):
        if number is not None and not low <= number <= high:
            raise InvalidValue(f"{name} is {number:g}; give {low:g} to {high:g}.")
    require_kinds(output, record)
    from poise.cli.figure import captured, read_figure, require_figure

    require_figure(character)
    from poise.filter.forces import parse_push
    from poise.terrain import Terrain
    from poise.tracking.lists import settings_of

    pushes, ground = [parse_push(text) for text in push or ()], Terrain.parse(terrain)
    inputs = [*([actor] if actor else []), *([Path(character)] if Path(character).exists() else [])]
    output_paths((output, report, record), "-o, --report and --record", inputs=inputs, overwrite=overwrite)
    who = read_figure(character, character_height, flag="--character-height")
    figure = who.character
    own = settings_of(figure)
    settings = replace(
        own, responsiveness=responsiveness * own.responsiveness, friction=own.friction if friction is None else friction
    )
    shares = shares_of(style)
    if live_from is not None:
        from poise.tracking.followers import Tracking

        for name, given in (
            ("--push", push),
            ("--terrain", not ground.is_flat),
            ("--start", start),
            ("--end", end),
            ("--prior", prior),
            ("--fps", fps != 120.0),
        ):
            if given:
                raise InvalidValue(f"{name} needs a recorded actor; leave it out with --live-from.")
        follower = Tracking(figure, roles=roles, root=root, settings=settings, style=shares)
        kept = output is not None or record is not None or live

        def show(run: Callable[..., LiveResult], listen: Callable[[float], None]) -> LiveResult:
            title = f"A live actor drives {Path(character).name}"
            return _in_page(follower, run, who.drawn, title, port=port, headless=headless, listen=listen)

        heard = follow(
            live_from,
            follower,
            live_to=live_to,
            seconds=seconds,
            buffer=buffer,
            is_kept=kept,
            show=show if live else None,
        )
        keep_live(heard, output, report, record, json=json)
        if not heard.report["run"].get("complete", False):
            raise typer.Exit(FAILED)
        return
    assert actor is not None
    motion = options.part_of(reading.load(actor), start, end)
    examples = [captured(path) for path in prior or ()]
    if live:
        if prior:
            raise InvalidValue("--prior is not for --live; leave it out.")
        from poise.tracking.calibration import standing_pose
        from poise.tracking.followers import Tracking
        from poise.tracking.live import play
        from poise.tracking.run import RATE, place_terrain, recorded_actor

        if fps != RATE:
            raise InvalidValue(f"--live makes {RATE:g} steps a second; leave --fps out.")
        recorded = recorded_actor(motion)
        follower = Tracking(
            figure,
            roles=roles,
            root=root,
            settings=settings,
            style=shares,
            pushes=pushes,
            terrain=place_terrain(ground, recorded, standing_pose(figure), figure),
            recorded=recorded,
        )
        is_saved = any(path is not None for path in (output, report, record))
        run = partial(play, recorded, follower)
        title = f"{actor.name} drives {Path(character).name}"
        result = _in_page(follower, run, who.drawn, title, port=port, headless=headless, is_saved=is_saved)
        keep_live(result, output, report, record, json=json)
        if not result.report.get("run", {}).get("complete", True):
            raise typer.Exit(FAILED)
        return
    with reporting_interrupts(output, report, record):
        with progress(disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task(PREPARING, total=None)
            from poise.body import fit
            from poise.tracking.retarget import parse_roles
            from poise.tracking.run import track as run

            theirs = fit(motion)

            def advance(done: int, total: int) -> None:
                bar.update(task, description="Tracking", total=total, completed=done)

            result = run(
                motion,
                figure,
                actor_character=theirs,
                roles=parse_roles(roles, figure, theirs),
                root=root,
                settings=settings,
                pushes=pushes,
                terrain=ground,
                fps=fps,
                drawn=who.drawn,
                style=shares,
                prior=examples,
                progress=advance,
            )
        title = f"{actor.name} drives {Path(character).name}"
        keep(result, output, report, record, partial(_scene, figure=figure, title=title))
    if json:
        print_json(result.report)
    else:
        for line in _summary(result.report, output):
            note(line)
    if not result.report["complete"]:
        raise typer.Exit(FAILED)


def _in_page(
    follower: Tracking,
    run: Callable[..., LiveResult],
    drawn: Motion | None,
    title: str,
    *,
    port: int,
    headless: bool,
    listen: Callable[[float], None] | None = None,
    is_saved: bool = False,
) -> LiveResult:
    """Play a run in a page. A recorded actor begins again at its end, a live one, with `listen`, does not."""
    from poise.cli.outcome import play_live
    from poise.show.live_tracking import LiveTracking

    source = LiveTracking(follower, run, drawn=drawn, title=title)
    return play_live(
        source,
        port=port,
        headless=headless,
        is_saved=is_saved,
        keeps_time=listen is not None,
        is_over=lambda: listen is not None and source.is_over,
        listen=listen or time.sleep,
    )


def shares_of(text: str) -> dict[str, float]:
    """Shares of rest poses as they are typed: "sad=1, proud=0.3".

    Raises:
        InvalidValue: if a part is not a name with a number.
    """
    found: dict[str, float] = {}
    for part in (p.strip() for p in text.split(",") if p.strip()):
        name, _, number = part.partition("=")
        try:
            found[name.strip()] = float(number or "1")
        except ValueError:
            raise InvalidValue(f"--style: {part!r} cannot be read. Write 'sad=1' or 'sad=0.5, proud=0.2'.") from None
        if not -2.0 <= found[name.strip()] <= 2.0:
            raise InvalidValue(f"--style: {part!r}; give numbers from -2 to 2.")
    return found


def _scene(result: TrackResult, figure: Character, title: str) -> Scene:
    from poise.show.motion_scene import scene_of_motion
    from poise.terrain import Terrain

    # not at the floor of the figure's own file, which may lie elsewhere
    ground = result.terrain or Terrain.flat()
    return replace(scene_of_motion(result.motion, figure, terrain=ground, name="tracked"), title=title)


def _end_of(data: dict[str, Any]) -> str:
    """Whether a run followed to the end, in words."""
    if data["complete"]:
        return "followed to the end"
    if data["falls"]:
        return "fell, or lost the actor"
    return f"crumpled: the pelvis was far too low or tilted in {data['crumpled_steps']} of {data['steps']} steps"


def _summary(data: dict[str, Any], output: Path | None) -> list[str]:
    """What a run was like, in a few lines."""
    from poise.tracking.retarget import BIG

    name = "" if output is None else f"{output}: "
    steps, helped = data["steps"], data["fallback_steps"]
    lines = [
        f"{name}{_end_of(data)}, {data['source']['frames']} "
        f"frames, {data['realtime_factor']:.1f} times as fast as real time",
        "roles: "
        + ", ".join(f"{r['limb']}<-{r['actor']}" if r["actor"] else f"{r['limb']}={r['kind']}" for r in data["roles"]),
    ]
    if data["settings"]["root"] == "soft" or helped:
        which = (
            "the root was held softly throughout"
            if data["settings"]["root"] == "soft"
            else (f"the root was held in {helped} of {steps} steps")
        )
        lines.append(f"{which}, with up to {data['root_residual']['force_max_N']:.0f} N")
    if data["settings"]["root"] == "hard" and helped > OFTEN * steps:
        lines.append(
            f"warning: the root was held in {100.0 * helped / steps:.0f} % of the steps; on its own the character "
            "would have fallen there, --root strict shows where. Mend its feet, masses and roles with poise setup, or "
            "choose a calmer part of the clip with --start and --end"
        )
    if data["leg_ratio"] > BIG:
        lines.append(
            f"warning: the character's legs are {data['leg_ratio']:.1f} times as long as the actor's; at the actor's "
            "pace it stays behind and bent. If it is not meant as a giant, give it a smaller --character-height"
        )
    if data["off_the_spot_m_s"]:
        lines.append(f"the actor walks on the spot; it was moved ahead at {data['off_the_spot_m_s']:.2f} m/s")
    if data["actor_noise"]["cutoff_hz"] is not None:
        lines.append(
            f"the actor trembles by {1000.0 * data['actor_noise']['noise_m']:.0f} mm; what is faster than "
            f"{data['actor_noise']['cutoff_hz']:.1f} Hz was smoothed away"
        )
    if data["stance_slip_p95_m_s"] is not None:
        lines.append(f"standing feet slip {100.0 * data['stance_slip_p95_m_s']:.1f} cm/s (95th percentile)")
    return lines
