"""Options that several commands share, each with one meaning, and the panels they stand in."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli.app import note
from poise.core.errors import FileFormatError, InvalidValue

if TYPE_CHECKING:
    from poise.core.motion import Motion

OUTPUT = "Output"
PUSHES = "Pushes and ground"
READING = "Reading the file"
FIGURE = "Figure"
CHANGE = "How much may change"
LIVE = "Live"
BATCH = "Folders"

File = Annotated[Path, typer.Argument(metavar="FILE", help="A motion or skeleton file.", show_default=False)]
Skeleton = Annotated[
    Path | None,
    typer.Option(
        "--skeleton",
        metavar="FILE",
        help="Skeleton file (.asf) of a motion. Default: the one beside it.",
        rich_help_panel=READING,
    ),
]
Clip = Annotated[
    str | None,
    typer.Option(
        "--clip", metavar="NAME|INDEX", help="Clip to use, if the file holds several.", rich_help_panel=READING
    ),
]
SourceUnit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="U",
        help="Unit of the file: m, dm, cm, mm, inch, ft, cmu, or meters as a number.",
        rich_help_panel=READING,
    ),
]
SourceUp = Annotated[
    str | None,
    typer.Option("--up", metavar="AXIS", help="Up axis of the file: x, y, z, -x, -y or -z.", rich_help_panel=READING),
]
Height = Annotated[
    str | None,
    typer.Option(
        "--height",
        metavar="H",
        help="Height of the figure, such as 1.8m; scales toys and giants.",
        rich_help_panel=READING,
    ),
]
SourceFps = Annotated[
    float | None,
    typer.Option(
        "--source-fps",
        metavar="N",
        help="True frame rate of the file, if it states a wrong one.",
        rich_help_panel=READING,
    ),
]
FramesFromData = Annotated[
    bool,
    typer.Option(
        "--frames-from-data",
        help="Read the frames that are there if the stated count is wrong.",
        rich_help_panel=READING,
    ),
]
Push = Annotated[
    list[str] | None,
    typer.Option(
        "--push",
        metavar="'BODY FX FY FZ @START+DURATION'",
        help="Push a body: newtons, Z up, seconds. Can be repeated.",
        rich_help_panel=PUSHES,
    ),
]
Terrain = Annotated[
    str,
    typer.Option(
        "--terrain",
        metavar="SPEC",
        help="Ground: flat, slope:DEG, step:HEIGHT, stairs:RISE,TREAD, rough:HEIGHT,SEED (and ,MAXSLOPE), "
        "image:FILE,SIZE,HEIGHT, mesh:FILE or platform:FILE. It rises in the direction of travel; @DEGREES sets "
        "another. See docs/terrain.md.",
        rich_help_panel=PUSHES,
    ),
]
Allow = Annotated[
    bool,
    typer.Option("--allow", help="Accept pushes that start after the end.", rich_help_panel=PUSHES),
]
Start = Annotated[
    float | None, typer.Option(metavar="S", help="Start of the part to use, in seconds.", rich_help_panel=READING)
]
End = Annotated[
    float | None, typer.Option(metavar="S", help="End of the part to use, in seconds.", rich_help_panel=READING)
]
Floor = Annotated[
    float | None,
    typer.Option(
        metavar="M", help="Height of the floor in the clip, in meters. Default: found.", rich_help_panel=READING
    ),
]
CharacterFile = Annotated[
    Path | None,
    typer.Option(
        "--character",
        metavar="FILE",
        help="Character file (TOML). Default: fitted to the clip.",
        rich_help_panel=FIGURE,
    ),
]
Mass = Annotated[
    float | None, typer.Option(metavar="KG", help="Total mass. Default: 70 kg at human size.", rich_help_panel=FIGURE)
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="OUT",
        help="File for the new motion; its extension sets the format.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
OutputNeeded = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="OUT",
        help="File for the new motion; its extension sets the format.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Record = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="OUT",
        help="Page to play (.html), film (.mp4, .gif) or strip of stills (.png).",
        rich_help_panel=OUTPUT,
    ),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="OUT.json", help="Report with all numbers.", rich_help_panel=OUTPUT),
]
Amount = Annotated[
    float,
    typer.Option("--amount", metavar="0…1", help="Share of the change to keep.", rich_help_panel=CHANGE),
]
Interval = Annotated[
    str | None,
    typer.Option(
        "--interval", metavar="S:E", help="Change only this part, in seconds, such as 0.5:1.4.", rich_help_panel=CHANGE
    ),
]
Blend = Annotated[
    float,
    typer.Option("--blend", metavar="S", help="Fade the change in and out over this time.", rich_help_panel=CHANGE),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="'joint 3deg, root 2cm'",
        help="Largest change allowed, also of single limbs and joints: 'joint 3deg, left_arm 10deg'. A larger one is "
        "refused (exit 1).",
        rich_help_panel=CHANGE,
    ),
]
Port = Annotated[
    int,
    typer.Option(metavar="N", help="Port of the page. Default: a free one.", show_default=False, rich_help_panel=LIVE),
]
Headless = Annotated[bool, typer.Option("--headless", help="Print the address; open no browser.", rich_help_panel=LIVE)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.", rich_help_panel=OUTPUT)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]


def _take_settings(context: typer.Context, path: Path | None) -> Path | None:
    """Options of a TOML file become the defaults of a command; what stands on the command line wins."""
    if path is None or context.resilient_parsing:
        return path
    from poise.io.files import parse_toml, read_text

    known = {str(o.name): o for o in context.command.params if o.param_type_name == "option"}
    found: dict[str, Any] = {}
    for name, value in parse_toml(read_text(path), path).items():
        key = name.replace("-", "_")
        if key not in known or key == "settings":
            names = ", ".join(sorted(k.replace("_", "-") for k in known if k not in ("settings", "help")))
            raise FileFormatError(f"There is no option {name!r}.", path=path, cure=f"Options: {names}.")
        is_list = known[key].multiple  # pyright: ignore[reportAttributeAccessIssue]
        plain = isinstance(value, str | int | float | bool)
        if not plain and not (is_list and isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise FileFormatError(f"The value of {name!r} has a wrong type.", path=path, text=str(value)[:60])
        found[key] = [str(value)] if is_list and plain else value
    context.default_map = found
    return path


Settings = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        is_eager=True,
        callback=_take_settings,
        help="TOML file with any of these options, such as friction = 0.5. The command line wins.",
    ),
]


def name_and_value(text: str, example: str) -> tuple[str, str]:
    """The two sides of a --set NAME=VALUE.

    Raises:
        InvalidValue: if one is missing; shows the example.
    """
    name, _, value = (part.strip() for part in text.partition("="))
    if not name or not value:
        raise InvalidValue(f"Cannot read --set {text!r}. Write NAME=VALUE, such as --set {example}.")
    return name, value


def clip_key(text: str | None) -> str | int | None:
    """A clip as `load` takes it: a whole number is an index, anything else a name."""
    return int(text) if text is not None and text.isdecimal() else text


def part_of(motion: Motion, start: float | None, end: float | None) -> Motion:
    """The part of a motion between --start and --end [s].

    Raises:
        InvalidValue: if they are not finite times, or nothing lies between them.
    """
    for name, number in (("--start", start), ("--end", end)):
        if number is not None and not math.isfinite(number):
            raise InvalidValue(f"{name} is {number}; give a finite number.")
    if start is None and end is None:
        return motion
    if end is not None and end > motion.duration + motion.dt:
        note(f"warning: --end {end:g} is past the end of the clip, {motion.duration:.4g} s; all of it is used.")
    return motion.cut(start or 0.0, motion.duration if end is None else end)
