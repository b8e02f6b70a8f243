"""Options that several commands share, each with one meaning, and the panels they stand in."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli.app import note, note_warnings
from poise.core.errors import FileFormatError, InvalidValue

if TYPE_CHECKING:
    import poise.core.skeleton
    from poise.core.motion import Motion
    from poise.io.format import ReadOptions

OUTPUT = "Output"
PUSHES = "Pushes and ground"
READING = "Reading the file"
FIGURE = "Figure"
CHANGE = "How much may change"
LIVE = "Live"
BATCH = "Folders"


def argument(metavar: str, text: str) -> Any:
    """An argument of a command, with what its help says."""
    return typer.Argument(metavar=metavar, help=text, show_default=False)


def option(metavar: str, text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option with a value, such as 0.8 of --friction. Without names it is called as the parameter."""
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, **more)


def flag(name: str, text: str, *, panel: str | None = None) -> Any:
    """An option without a value, such as --live."""
    return typer.Option(name, help=text, rich_help_panel=panel, metavar="")


RUBBLE = "rubble:COUNT (,SEED ,size=0.05-0.2 ,mass=1-5 ,shape=mesh, box or bar)"
"""Rubble as help says it: with spaces, where a narrow screen may break the line."""

File = Annotated[Path, argument("FILE", "A motion or skeleton file.")]
FileOrFolder = Annotated[Path, argument("FILE", "A motion file, or a folder of them.")]
Skeleton = Annotated[
    Path | None,
    option("FILE", "Skeleton file (.asf) of a motion. Default: the one beside it.", "--skeleton", panel=READING),
]
Clip = Annotated[
    str | None,
    option("NAME|INDEX", "Clip to use, if the file holds several.", "--clip", panel=READING),
]
ClipOrAll = Annotated[
    str | None,
    option(
        "NAME|INDEX|all",
        "Clip to use, if the file holds several. all: each of them, into a folder.",
        "--clip",
        panel=READING,
    ),
]
SourceUnit = Annotated[
    str | None,
    option("U", "Unit of the file: m, dm, cm, mm, inch, ft, cmu, or meters as a number.", "--unit", panel=READING),
]
SourceUp = Annotated[
    str | None,
    option("AXIS", "Up axis of the file: x, y, z, -x, -y or -z.", "--up", panel=READING),
]
Height = Annotated[
    str | None,
    option("H", "Height of the figure in its file, such as 1.8m; scales toys and giants.", "--height", panel=READING),
]
FigureHeight = Annotated[
    str | None,
    option("H", "Height of the figure in its file, such as 1.8m; scales toys and giants.", "--height", panel=FIGURE),
]
SourceFps = Annotated[
    float | None,
    option("N", "True frame rate of the file, if it states a wrong one.", "--source-fps", panel=READING),
]
FramesFromData = Annotated[
    bool,
    flag("--frames-from-data", "Read the frames that are there if the stated count is wrong.", panel=READING),
]
Push = Annotated[
    list[str] | None,
    option(
        "'BODY FX FY FZ @START+DURATION'",
        "Push a body: newtons, Z up, seconds from the first frame used. Can be repeated.",
        "--push",
        panel=PUSHES,
    ),
]
Terrain = Annotated[
    str,
    option(
        "SPEC",
        "Ground: flat, slope:DEG, step:HEIGHT(,DISTANCE), stairs:RISE,TREAD (,DISTANCE), rough:HEIGHT,SEED (,MAXSLOPE)"
        ", image:FILE,SIZE,HEIGHT, mesh:FILE or platform:FILE. It rises in the direction of travel; @DEGREES sets "
        "another. See docs/terrain.md.",
        "--terrain",
        panel=PUSHES,
    ),
]
Allow = Annotated[
    bool,
    flag("--allow", "Accept pushes that start after the end.", panel=PUSHES),
]
Start = Annotated[float | None, option("S", "Start of the part to use, in seconds.", panel=READING)]
End = Annotated[float | None, option("S", "End of the part to use, in seconds.", panel=READING)]
Floor = Annotated[
    float | None,
    option("M", "Height of the floor in the clip, in meters. Default: found.", panel=READING),
]
CharacterFile = Annotated[
    Path | None,
    option("FILE", "Character file (TOML). Default: fitted to the clip.", "-c", "--character", panel=FIGURE),
]
Mass = Annotated[float | None, option("KG", "Total mass. Default: 70 kg at human size.", panel=FIGURE)]
Output = Annotated[
    Path | None,
    option("OUT", "File for the new motion; its extension sets the format.", "-o", "--output", panel=OUTPUT),
]
OutputNeeded = Annotated[
    Path,
    option(
        "OUT",
        "File for the new motion; its extension sets the format.",
        "-o",
        "--output",
        panel=OUTPUT,
        show_default=False,
    ),
]
Record = Annotated[
    Path | None,
    option("OUT", "Page to play (.html), film (.mp4, .gif) or strip of stills (.png).", "--record", panel=OUTPUT),
]
SideBySide = Annotated[
    bool,
    flag("--side-by-side", "With --record: the original beside the result, not as a ghost.", panel=OUTPUT),
]
Report = Annotated[
    Path | None,
    option("OUT.json", "Report with all numbers.", "--report", panel=OUTPUT),
]
Amount = Annotated[
    float,
    option("0…1", "Share of the change to keep.", "--amount", panel=CHANGE),
]
Interval = Annotated[
    str | None,
    option("S:E", "Change only this part, in seconds, such as 0.5:1.4.", "--interval", panel=CHANGE),
]
Blend = Annotated[
    float,
    option("S", "Fade the change in and out over this time.", "--blend", panel=CHANGE),
]
Budget = Annotated[
    str | None,
    option(
        "'joint 3deg, root 2cm'",
        "Largest change allowed, also of single limbs and joints: 'joint 3deg, left_arm 10deg'. A larger one is "
        "refused (exit 1).",
        "--budget",
        panel=CHANGE,
    ),
]
Port = Annotated[
    int,
    option("N", "Port of the page. Default: a free one.", panel=LIVE, show_default=False),
]
Headless = Annotated[bool, flag("--headless", "Print the address; open no browser.", panel=LIVE)]
Overwrite = Annotated[bool, flag("--overwrite", "Replace existing files.", panel=OUTPUT)]
Json = Annotated[bool, flag("--json", "Print JSON.", panel=OUTPUT)]


@dataclass(frozen=True)
class Reading:
    """How a file is read: options that commands share (`grouped`)."""

    skeleton: Skeleton = None
    clip: Clip = None
    unit: SourceUnit = None
    up: SourceUp = None
    height: Height = None
    source_fps: SourceFps = None
    frames_from_data: FramesFromData = False

    @property
    def given(self) -> dict[str, Any]:
        """The same as arguments of `poise.io.load`."""
        found = asdict(self)
        return found | {"clip": clip_key(self.clip), "fps": found.pop("source_fps")}

    @property
    def checked(self) -> ReadOptions:
        """The same for a reader.

        Raises:
            InvalidValue: naming the option and what is allowed.
        """
        from poise.io import read_options

        return read_options(**self.given)

    def load(self, file: Path) -> Motion:
        """The motion of a file; what its reader found worth knowing goes to stderr."""
        import poise.io

        motion = poise.io.load(file, **self.given)
        note_warnings(motion)
        return motion

    def load_skeleton(self, file: Path) -> poise.core.skeleton.Skeleton:
        """The skeleton of a file, whether or not it holds motion as well."""
        import poise.io

        return poise.io.load_skeleton(file, **self._given_of_rest)

    def load_at_rest(self, file: Path) -> Motion:
        """The figure of a file as one frame at rest, with its skin."""
        import poise.io

        return poise.io.load_at_rest(file, **self._given_of_rest)

    @property
    def _given_of_rest(self) -> dict[str, Any]:
        """The arguments that bear on a file's figure at rest."""
        return {"skeleton": self.skeleton, "unit": self.unit, "up": self.up, "height": self.height}


READ_AS_IS = Reading()
"""No option is given: the file alone decides."""


def grouped(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: a parameter that is a dataclass stands for an option for each field."""
    own = _parameters(function)

    def run(**given: Any) -> None:
        function(**{p.name: _taken(p, given) for p in own})

    return take_options(run, [flat for p in own for flat in _flat(p)], like=function)


def take_options(
    run: Callable[..., None], parameters: Sequence[inspect.Parameter], *, like: Callable[..., None]
) -> Callable[..., None]:
    """Declare what a function takes by name, and give it the name and the help of the command that it stands for."""
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__name__, run.__doc__ = like.__name__, like.__doc__
    return run


def _parameters(called: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(called, eval_str=True).parameters.values())


def _flat(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """A parameter, or those of the group that it is."""
    group = parameter.annotation
    if not isinstance(group, type) or not is_dataclass(group):
        return [parameter]
    return [flat for p in _parameters(group) for flat in _flat(p)]


def _taken(parameter: inspect.Parameter, given: dict[str, Any]) -> Any:
    """The value of a parameter among what was given by name; a group of them as its dataclass."""
    group = parameter.annotation
    if not isinstance(group, type) or not is_dataclass(group):
        return given.get(parameter.name, parameter.default)
    return group(**{p.name: _taken(p, given) for p in _parameters(group)})


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
        is_single = isinstance(value, str | int | float | bool)
        if not is_single and not (is_list and isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise FileFormatError(f"The value of {name!r} has a wrong type.", path=path, text=str(value)[:60])
        found[key] = [str(value)] if is_list and is_single else value
    context.default_map = found
    return path


Settings = Annotated[
    Path | None,
    option(
        "FILE",
        "TOML file with any of these options, such as friction = 0.5. The command line wins.",
        "--settings",
        is_eager=True,
        callback=_take_settings,
    ),
]


def name_and_value(text: str, example: str, flag: str = "--set") -> tuple[str, str]:
    """The two sides of a --set NAME=VALUE, or of another option like it.

    Raises:
        InvalidValue: if one is missing; shows the example.
    """
    name, _, value = (part.strip() for part in text.partition("="))
    if not name or not value:
        raise InvalidValue(f"Cannot read {flag} {text!r}. Write NAME=VALUE, such as {flag} {example}.")
    return name, value


def names_in(*texts: str | None) -> tuple[str, ...]:
    """Names with commas between, of an option that may be repeated."""
    return tuple(n.strip() for text in texts if text for n in text.split(",") if n.strip())


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
        if number is not None and number < 0.0:
            raise InvalidValue(f"{name} is {number:g}; give 0 or more: seconds from the first frame.")
    if start is None and end is None:
        return motion
    if end is not None and end > motion.duration + motion.dt:
        note(f"warning: --end {end:g} is past the end of the clip, {motion.duration:.4g} s; all of it is used.")
    return motion.cut(start or 0.0, motion.duration if end is None else end)
