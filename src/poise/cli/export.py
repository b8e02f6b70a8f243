"""`poise export`: clips of robots for learning systems, with measured contacts, forces and feasibility."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from poise.cli import options
from poise.cli.app import app, note, note_warnings, out, output_paths, print_json
from poise.cli.folder import over_folders
from poise.core.errors import InvalidValue


@app.command()
@over_folders("export", source="clip_file")
def export(
    system: Annotated[
        str,
        typer.Argument(metavar="SYSTEM", help="mjlab, isaac, unitree, mimickit or protomotions.", show_default=False),
    ],
    clip_file: Annotated[
        Path, typer.Argument(metavar="CLIP", help="Clip of the robot, or a folder of clips.", show_default=False)
    ],
    robot: Annotated[
        Path,
        typer.Option("--robot", metavar="ROBOT.xml", help="MJCF file of the robot that moves.", show_default=False),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="File to write; beside it OUT.json, with names, contacts and feasibility. For a folder, a folder.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ],
    fps: Annotated[
        float | None,
        typer.Option(metavar="N", help="Frames per second of OUT. Default: the clip's, or what SYSTEM expects."),
    ] = None,
    start: options.Start = None,
    end: options.End = None,
    clip: options.Clip = None,
    source_fps: options.SourceFps = None,
    as_json: options.Json = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Write clips of a robot as learning systems read them, with the contacts and forces that Poise measures.

    A person's clip is followed by the robot first: poise track CLIP -c ROBOT.xml -o FOLLOWED.npz.

    Example: [bold]poise export mjlab dance.csv --robot g1.xml -o dance.npz[/bold]
    """
    import poise.io
    from poise.analysis.export import clip_of, receiver
    from poise.analysis.export import export as write
    from poise.io.files import all_or_none
    from poise.io.mjcf import read_robot

    chosen = receiver(system)
    if output.suffix.lower() != chosen.ending:
        name = output.with_suffix(chosen.ending).name
        raise InvalidValue(
            f"{system} reads {chosen.ending}: name the output {name} (for a folder, --to {chosen.ending})."
        )
    beside = output.with_name(output.name + ".json")
    output_paths([output, beside], "-o and its sidecar", inputs=[clip_file, robot], overwrite=overwrite)
    model = read_robot(robot)
    motion = poise.io.load(clip_file, skeleton=robot, clip=options.clip_key(clip), fps=source_fps)
    note_warnings(motion)
    motion = options.part_of(motion, start, end)
    rate = fps or chosen.rate
    motion = motion if rate is None else poise.io.resampled_to(motion, rate)
    exported = clip_of(motion, model)
    with all_or_none():
        told = write(exported, system, output)
    if chosen.note:
        note(chosen.note)
    if as_json:
        print_json(told)
        return
    force, moment = (told["feasibility"][k] for k in ("root_force_rms_weights", "root_moment_rms_Nm"))
    out().print(
        f"{output}: {told['frames']} frames at {told['fps']:.4g} fps, {len(told['joints'])} joints.", markup=False
    )
    out().print(f"At the root, what no contact gives: {force:.2f} of weight and {moment:.1f} N m rms.", markup=False)
