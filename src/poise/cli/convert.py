"""`poise convert`: any readable format to any writable one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from poise.cli import options
from poise.cli.app import app, out, output_path
from poise.cli.folder import over_folders
from poise.cli.options import argument, option
from poise.core.errors import InvalidValue


@app.command()
@over_folders("convert", source="source", target="target")
def convert(
    source: Annotated[Path, argument("IN", "File to read, or a folder of files.")],
    target: Annotated[
        Path | None,
        argument("OUT", "File to write; its extension sets the format. For a folder, a folder (see --to)."),
    ] = None,
    output: Annotated[
        Path | None, option("OUT", "The same as the argument OUT.", "-o", "--output", panel=options.OUTPUT)
    ] = None,
    fps: Annotated[float | None, option("N", "New frame rate, in frames per second.")] = None,
    start: options.Start = None,
    end: options.End = None,
    unit: Annotated[
        str | None,
        option("U", "Unit of OUT (BVH only), such as cm, or meters as a number. Default: that of IN, else cm."),
    ] = None,
    up: Annotated[
        str | None,
        option("AXIS", "Up axis of OUT (BVH only): x, y or z. Default: that of IN, else y."),
    ] = None,
    skeleton: options.Skeleton = None,
    clip: options.Clip = None,
    source_unit: Annotated[
        str | None,
        option("U", "Unit of IN, if it was guessed wrong.", panel=options.READING),
    ] = None,
    source_up: Annotated[
        str | None,
        option("AXIS", "Up axis of IN, if it was guessed wrong.", panel=options.READING),
    ] = None,
    height: options.Height = None,
    source_fps: options.SourceFps = None,
    frames_from_data: options.FramesFromData = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Convert a motion to another format, frame rate, unit or up axis, or cut a part of it.

    What does not change is written as it was: a BVH keeps its hierarchy, its channels and its digits.

    Example: [bold]poise convert walk.amc walk.bvh --fps 30[/bold]
    """
    import poise.io
    from poise.io.format import format_for

    if target is None:
        raise InvalidValue(f"Give one file to write: poise convert {source} OUT, such as {source.stem}.glb.")
    assert output is None  # it was given as `target`, see `over_folders`
    output_path(target, inputs=[source], overwrite=overwrite)
    format_for(target)  # an unknown extension is refused before anything is read
    how = options.Reading(skeleton, clip, source_unit, source_up, height, source_fps, frames_from_data)
    motion = options.part_of(how.load(source), start, end)
    if fps is not None:
        motion = poise.io.resampled_to(motion, fps)
    poise.io.save(motion, target, unit=unit, up=up)
    out().print(
        f"{target}: {motion.frame_count} frames at {motion.fps:.4g} fps, {motion.skeleton.joint_count} joints",
        markup=False,
    )
