"""`poise edit`: the animator's physics tools."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import app, out
from poise.cli.edit_run import Common, Flight, Tool, command, flights_of, frames_of, gravity_of, pair, run_edit, vector
from poise.cli.options import flag, option
from poise.core.errors import InvalidValue
from poise.core.units import GRAVITY

if TYPE_CHECKING:
    from poise.core.motion import Motion
    from poise.edit import Edited

edit = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(edit, name="edit")


@edit.callback()
def tools() -> None:
    """Correct the physics of a clip and keep its style: flights, spin, timing, size, feet, or the whole clip.

    Example: [bold]poise edit mend jump.bvh -o mended.bvh --record mended.html[/bold]
    """


@command(edit)
def ballistic(
    asked: Common,
    flight: Flight = None,
    keep: Annotated[
        str,
        option(
            "ends|timing",
            "ends: the flight gets the frames it needs. timing: it keeps its frames and changes its height.",
        ),
    ] = "ends",
    gravity: Annotated[
        str | None, option("G", "Gravity: in g (1.3), in m/s2 (1.62m/s2), or a vector (0,0,-9.81).")
    ] = None,
    start: Annotated[str | None, option("X,Y,Z", "Center of mass at take-off, in meters, Z up.", "--from")] = None,
    end: Annotated[str | None, option("X,Y,Z", "Center of mass at landing.", "--to")] = None,
    duration: Annotated[
        str | None, option("T|MIN:MAX", "Time in the air in seconds, or a range for several paths.")
    ] = None,
    count: Annotated[
        int | None,
        option("N", "Number of paths over the range of durations, each in a file of its own."),
    ] = None,
    start_velocity: Annotated[str | None, option("X,Y,Z", "Velocity at take-off, in m/s.")] = None,
    end_velocity: Annotated[str | None, option("X,Y,Z", "Velocity at landing, in m/s.")] = None,
) -> None:
    """Make each flight follow gravity. Joint angles stay, and feet stay where they stood.

    Example: [bold]poise edit ballistic jump.bvh -o mended.bvh --keep timing[/bold]
    """
    flights, strength = flights_of(flight), gravity_of(gravity)
    places = vector("--from", start), vector("--to", end)
    speeds = vector("--start-velocity", start_velocity), vector("--end-velocity", end_velocity)
    durations = _durations(duration, count)

    def tool(seconds: float | None) -> Tool:
        from poise.edit import PathTarget
        from poise.edit import ballistic as apply

        target = PathTarget(places[0], places[1], seconds, speeds[0], speeds[1])
        g = GRAVITY if strength is None else strength
        return partial(apply, flights=flights, keep=keep, gravity=g, target=target)

    if len(durations) == 1:
        run_edit(asked, tool(durations[0]))
        return
    family = [(_numbered(asked, k + 1), seconds) for k, seconds in enumerate(durations)]
    for one, _ in family:  # all of them, before the first is written
        one.check_outputs()
    for one, seconds in family:
        out().print(f"{seconds:.4g} s in the air", markup=False)
        run_edit(one, tool(seconds))


@command(edit)
def spin(
    asked: Common,
    flight: Flight = None,
    momentum: Annotated[
        str,
        option(
            "mean|takeoff|X,Y,Z",
            "Angular momentum to give the flight: its mean, that of take-off, or a vector in kg m²/s, Z up.",
        ),
    ] = "mean",
    by: Annotated[str, option("root|pose", "root: turn the whole figure. pose: swing its limbs.")] = "root",
    priority: Annotated[str | None, option("F,…", "Frames whose pose must stay.")] = None,
    limbs: Annotated[str | None, option("NAME,…", "Limbs that swing with --by pose. Default: arms and tail.")] = None,
    damping: Annotated[float, option("0…1", "Size of each Newton step; smaller is slower and more robust.")] = 1.0,
) -> None:
    """Give each flight a constant angular momentum. The path of the center of mass does not change.

    Example: [bold]poise edit spin flip.bvh -o mended.bvh --momentum takeoff[/bold]
    """
    flights, frames = flights_of(flight), frames_of("--priority", priority)
    given = momentum if momentum in ("mean", "takeoff") else vector("--momentum", momentum)
    assert given is not None
    names = options.names_in(limbs)
    if names and by == "root":
        raise InvalidValue("--limbs needs --by pose; --by root turns the whole figure and swings no limb.")

    from poise.edit import spin as apply

    run_edit(
        asked,
        partial(apply, flights=flights, momentum=given, by=by, priority=frames, limbs=names, damping=damping),
    )


@command(edit)
def retime(
    asked: Common,
    factor: Annotated[float | None, option("F", "New duration divided by the old one: 1.2 is slower.")] = None,
    gravity: Annotated[
        str | None,
        option("G", "Choose the factor so that flights fall with this gravity: 1, 1.3g, 9.81m/s2."),
    ] = None,
    keys: Annotated[str | None, option("FRAME:TIME,…", "New times of some frames, in seconds.")] = None,
    move_keys: Annotated[
        bool,
        flag("--move-keys", "Move every frame in time instead of resampling (not for BVH and AMC)."),
    ] = False,
    keep_flights: Annotated[bool, flag("--keep-flights", "Do not change the pace of flights.")] = False,
) -> None:
    """Make a clip, or a part of it, slower or faster, with smooth borders.

    Example: [bold]poise edit retime jump.bvh -o slow.bvh --factor 1.2 --interval 0.5:1.4[/bold]
    """
    strength, times = gravity_of(gravity), _keys(keys)
    if strength is not None and not isinstance(strength, float):
        raise InvalidValue("--gravity of a retiming is a number, such as 1 or 9.81m/s2, not a vector.")

    from poise.edit import retime as apply

    how = {"factor": factor, "gravity": strength, "keys": times, "move_keys": move_keys, "keep_flights": keep_flights}
    run_edit(asked, partial(apply, **how))


@command(edit, without=("character",))
def scale(
    asked: Common,
    size: Annotated[float, option("K", "New height divided by the old one.", show_default=False)],
    keep_time: Annotated[bool, flag("--keep-time", "Change only the size, not the time.")] = False,
    keep_size: Annotated[
        bool, flag("--keep-size", "Change only the time: move like a figure K times as tall.")
    ] = False,
) -> None:
    """Make a figure K times as large. Bones and path grow by K and time by √K, so that falls still match gravity.

    Example: [bold]poise edit scale walk.bvh -o giant.bvh --size 4[/bold]
    """
    from poise.edit import scale as apply

    def tool(motion: Motion, _: object, **how: Any) -> Edited:
        return apply(motion, size, keep_time=keep_time, keep_size=keep_size, **how)

    run_edit(asked, tool)


@command(edit)
def ground(
    asked: Common,
    floor: options.Floor = None,
) -> None:
    """Lock feet where they stand and lift them out of the floor. Idempotent: a second run changes nothing.

    Example: [bold]poise edit ground walk.bvh -o planted.bvh --report planted.json[/bold]
    """
    from poise.edit import ground as apply

    run_edit(asked, partial(apply, floor=floor))


@command(edit)
def repair(
    asked: Common,
    keep: Annotated[
        str | None,
        option("NAME,…", "Bodies or limbs that keep their places, such as hands,head,left_arm."),
    ] = None,
    freeze: Annotated[str | None, option("JOINT,…", "Joints that must not change.")] = None,
    exact: Annotated[str | None, option("F,…", "Frames that must stay exactly as they are.")] = None,
    contacts: Annotated[
        Path | None,
        option("FILE.json", "Contacts to use instead of those found: the report of a repair, edited or not."),
    ] = None,
    floor: options.Floor = None,
    terrain: Annotated[
        str | None,
        option(
            "SPEC",
            "Ground under the clip, such as slope:10 or stairs:0.18,0.3 (docs/terrain.md). Default: what the clip "
            "carries, else level.",
        ),
    ] = None,
    scene: Annotated[
        Path | None,
        option(
            "FILE.toml", "Walls, boxes and bars that bear load, too; hands may pull at bars and holds (docs/world.md)."
        ),
    ] = None,
    friction: Annotated[float, option("MU", "Friction coefficient of the ground, and of --scene.")] = 0.8,
    gravity: Annotated[str | None, option("G", "Gravity: in g (1.3) or in m/s2 (1.62m/s2).")] = None,
    jump: Annotated[
        str | None,
        option(
            "CHANGE",
            "Change the flights: 'height +20%', 'length -10%', 'turn +180deg', 'mass +30%', or several with commas "
            "between. Take-off and landing follow.",
        ),
    ] = None,
    flight: Flight = None,
    trust_time: Annotated[
        bool, flag("--trust-time", "Repair even if the flights show that the frame rate is wrong.")
    ] = False,
) -> None:
    """Make the whole clip physically possible with the least change.

    Without --budget joints change by up to 6° and the root by up to 6 cm (for a leg of 0.82 m).

    Example: [bold]poise edit repair jump.bvh -o mended.bvh --budget 'joint 3deg, root 2cm'[/bold]
    """
    if asked.side_by_side and scene is not None:
        raise InvalidValue(
            "--side-by-side shows two figures apart, and what stands in --scene has one place. Leave it out."
        )
    asked.check_outputs(contacts, scene)
    names, still = options.names_in(keep), options.names_in(freeze)
    frames, strength, spans = frames_of("--exact", exact), gravity_of(gravity), flights_of(flight)
    if strength is not None and not isinstance(strength, float):
        raise InvalidValue("--gravity of a repair is a number, such as 1 or 9.81m/s2, not a vector.")

    from poise.edit import FlightChange, load_touches
    from poise.edit import repair as apply
    from poise.synthesis import load_scene
    from poise.terrain import Terrain

    if terrain is not None:
        Terrain.parse(terrain)  # before anything is computed

    change = None if jump is None else FlightChange.parse(jump)
    touches = None if contacts is None else load_touches(contacts)
    around = None if scene is None else load_scene(scene)
    run_edit(
        asked,
        partial(
            apply,
            keep=names,
            freeze=still,
            exact=frames,
            contacts=touches,
            floor=floor,
            terrain=terrain,
            scene=around,
            friction=friction,
            gravity=GRAVITY if strength is None else strength,
            flights=spans,
            jump=change,
            trust_time=trust_time,
        ),
        around,
        has_rounds=True,
    )


@command(edit)
def mend(
    asked: Common,
    only: Annotated[
        list[str] | None,
        option(
            "NAME…", "Correct only these findings of poise check. Can be repeated, or separated by commas.", "--only"
        ),
    ] = None,
    floor: options.Floor = None,
) -> None:
    """Correct what poise check finds, one tool after another. A change that does not help is undone.

    The order is: timing, capture faults, feet, flights, spin. The report lists what remains. The exit code is 0.

    Example: [bold]poise edit mend jump.bvh -o mended.bvh --budget 'joint 5deg, root 5cm'[/bold]
    """
    from poise.check.profile import require_flaw
    from poise.edit import mend as apply

    names = options.names_in(*(only or ()))
    for name in names:
        require_flaw(name)
    run_edit(asked, partial(apply, only=names, floor=floor))


@command(edit)
def clean(asked: Common) -> None:
    """Remove capture faults: a rest pose at the start, jumps of the root, spikes, and flipped joints.

    Example: [bold]poise edit clean take.bvh -o clean.bvh --report clean.json[/bold]
    """
    from poise.edit import clean as apply

    run_edit(asked, apply)


def _durations(text: str | None, count: int | None) -> list[float | None]:
    """What --duration and --count ask for: one duration (or none), or several."""
    if text is None or ":" not in text:
        if count is not None:
            raise InvalidValue("--count needs a range of durations, such as --duration 0.4:0.8 --count 5.")
        try:
            return [None if text is None else float(text)]
        except ValueError:
            raise InvalidValue(f"--duration is {text!r}; give seconds, or a range such as 0.4:0.8.") from None
    shortest, longest = pair("--duration", text)
    number = 5 if count is None else count
    if not (2 <= number <= 100) or not 0.0 < shortest < longest:
        raise InvalidValue(f"{number} paths from {shortest:g} to {longest:g} s; give 2 to 100, and a rising range.")
    return [shortest + (longest - shortest) * k / (number - 1) for k in range(number)]


def _numbered(asked: Common, number: int) -> Common:
    """The same with a number in the name of every file that is written."""

    def name(path: Path | None) -> Path | None:
        return None if path is None else path.with_name(f"{path.stem}-{number}{path.suffix}")

    output = asked.output.with_name(f"{asked.output.stem}-{number}{asked.output.suffix}")
    return replace(asked, output=output, report=name(asked.report), record=name(asked.record))


def _keys(text: str | None) -> dict[int, float] | None:
    if text is None:
        return None
    found: dict[int, float] = {}
    for part in text.split(","):
        frame, _, time = part.partition(":")
        try:
            found[int(frame)] = float(time)
        except ValueError:
            raise InvalidValue(f"--keys has {part!r}; give frames and seconds, such as 30:1.2,45:2.") from None
    return found
