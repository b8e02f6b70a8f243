"""Options that several commands share, each with one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path, typer.Argument(metavar="FILE", help="A motion or skeleton file.", show_default=False)]
Skeleton = Annotated[
    Path | None,
    typer.Option(
        "--skeleton", metavar="FILE", help="The .asf or character file a motion needs; default: the one beside it."
    ),
]
Clip = Annotated[str | None, typer.Option("--clip", metavar="NAME|INDEX", help="Which clip of a file with several.")]
SourceUnit = Annotated[
    str | None,
    typer.Option("--unit", metavar="U", help="Meters per file unit: a number, or m, dm, cm, mm, inch, ft, cmu."),
]
SourceUp = Annotated[
    str | None, typer.Option("--up", metavar="AXIS", help="The file's up axis: x, y, z, -x, -y or -z.")
]
Height = Annotated[
    str | None,
    typer.Option("--height", metavar="H", help="How tall the figure is, such as 1.8m: one size for toys and giants."),
]
SourceFps = Annotated[
    float | None,
    typer.Option("--source-fps", metavar="N", help="Frame rate of the data, where the file's label is wrong."),
]
FramesFromData = Annotated[
    bool, typer.Option("--frames-from-data", help="Take the frames that are there where the declared count is wrong.")
]
Port = Annotated[int, typer.Option(metavar="N", help="Port of --live; default: a free one.")]
Headless = Annotated[bool, typer.Option("--headless", help="With --live: print the address, open nothing.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def clip_key(text: str | None) -> str | int | None:
    """A clip as `load` takes it: a whole number is an index, anything else a name."""
    return int(text) if text is not None and text.isdecimal() else text
