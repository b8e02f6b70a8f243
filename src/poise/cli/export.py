"""`poise export`: clips of robots for learning systems, with measured contacts, forces and feasibility."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from poise.cli import options
from poise.cli.app import app, note, out, output_paths, print_json, progress
from poise.cli.folder import over_folders
from poise.cli.options import argument, option
from poise.core.errors import InvalidValue


@app.command()
@over_folders("export", source="clip_file")
@options.grouped
def export(
    system: Annotated[
        str,
        argument("SYSTEM", "mjlab, isaac, unitree, mimickit or protomotions."),
    ],
    clip_file: Annotated[
        Path,
        argument("CLIP", "Clip of the robot or of an actor, or a folder of clips."),
    ],
    robot: Annotated[
        Path,
        option("ROBOT.xml", "MJCF file of the robot that moves.", "--robot", show_default=False),
    ],
    output: Annotated[
        Path,
        option(
            "OUT",
            "File to write; beside it NAME.json with joints, contacts and feasibility. For a folder, a folder.",
            "-o",
            "--output",
            panel=options.OUTPUT,
            show_default=False,
        ),
    ],
    fps: Annotated[
        float | None,
        option("N", "Frames per second of OUT. Default: the clip's, or what SYSTEM expects."),
    ] = None,
    start: options.Start = None,
    end: options.End = None,
    reading: options.Reading = options.READ_AS_IS,
    as_json: options.Json = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Export clips for robot learning systems, with the contacts and forces that Poise measures.

    A clip of another figure serves as an actor: Poise first makes the robot follow it.

    Example: [bold]poise export mjlab dance.bvh --robot g1.xml -o dance.npz[/bold]
    """
    import poise.io
    from poise.analysis.export import clip_of, receiver
    from poise.analysis.export import export as write
    from poise.io.files import all_or_none
    from poise.io.format import format_of
    from poise.io.mjcf import read_robot
    from poise.io.robot_clip import NAME as CLIPS

    chosen = receiver(system)
    if output.suffix.lower() != chosen.ending:
        name = output.with_suffix(chosen.ending).name
        raise InvalidValue(
            f"{system} reads {chosen.ending}: name the output {name} (for a folder, --to {chosen.ending})."
        )
    beside = output.with_name(output.name + ".json")
    output_paths([output, beside], "-o and its sidecar", inputs=[clip_file, robot], overwrite=overwrite)
    model = read_robot(robot)
    if format_of(clip_file).NAME == CLIPS:
        reading = replace(reading, skeleton=robot)
    motion = options.part_of(reading.load(clip_file), start, end)
    followed = None
    if motion.skeleton.names != model.skeleton.names:
        from poise.tracking.robots import follow

        with progress(disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task("Following", total=None)
            motion, followed = follow(
                motion, model, progress=lambda done, total: bar.update(task, completed=done, total=total)
            )
    rate = fps or chosen.rate
    motion = motion if rate is None else poise.io.resampled_to(motion, rate)
    exported = clip_of(motion, model)
    with all_or_none():
        summary = write(exported, system, output, followed)
    if chosen.note:
        note(chosen.note)
    if as_json:
        print_json(summary)
        return
    if followed is not None:
        done = summary["followed"]
        how = "to the end" if done["complete"] else "not to the end: it fell, or lost the actor"
        helped, feet = done["helped_share"], 1000.0 * done["foot_error_p95_m"]
        message = (
            f"The robot follows {how}; its root is helped in {helped:.0%} of the steps, feet are within {feet:.0f} mm"
        )
        out().print(f"{message} (95th percentile).", markup=False)
    force, moment = (summary["feasibility"][k] for k in ("root_force_rms_weights", "root_moment_rms_Nm"))
    out().print(
        f"{output}: {summary['frames']} frames at {summary['fps']:.4g} fps, {len(summary['joints'])} joints.",
        markup=False,
    )
    out().print(f"Root force that no contact explains: {force:.2f} of weight and {moment:.1f} N m rms.", markup=False)
