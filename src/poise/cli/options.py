"""Options that several commands share, each with one meaning, and the panels they stand in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from poise.core.errors import FileFormatError

OUTPUT = "Output"
READING = "Reading the file"
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
Port = Annotated[int, typer.Option(metavar="N", help="Port of the page. Default: a free one.", rich_help_panel=LIVE)]
Headless = Annotated[bool, typer.Option("--headless", help="Print the address; open no browser.", rich_help_panel=LIVE)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.", rich_help_panel=OUTPUT)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]


def _take_settings(context: typer.Context, path: Path | None) -> Path | None:
    """Options of a TOML file become the defaults of a command; what stands on the command line wins."""
    if path is None or context.resilient_parsing:
        return path
    from poise.io.files import read_text
    from poise.io.toml_text import parse_toml

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


def clip_key(text: str | None) -> str | int | None:
    """A clip as `load` takes it: a whole number is an index, anything else a name."""
    return int(text) if text is not None and text.isdecimal() else text
