"""`poise library`: thousands of clips at once, resumable and in parts, with one page to browse, filter and compare."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import app, output_paths, print_json
from poise.cli.folder import COMMANDS, Jobs, Resume, Shard, To, run_folder
from poise.cli.options import argument, option
from poise.cli.vary import vary as make_variants

library = typer.Typer(no_args_is_help=True)
app.add_typer(library, name="library", help="Check, mend or vary thousands of clips, with one page to browse them.")

Folder = Annotated[Path, argument("FOLDER", "Folder of clips.")]
Output = Annotated[
    Path,
    option("OUT", "Folder for the new files and index.html.", "-o", "--output", panel=options.OUTPUT),
]
Record = Annotated[
    str | None,
    option("ENDING", "A recording of each clip too: .png (strip), .html (player).", panel=options.OUTPUT),
]


@library.command("check")
def check_all(
    folder: Folder,
    output: Output,
    profile: Annotated[
        str, option("NAME|FILE", "How strict: realistic, stylized, strict, or a TOML file.")
    ] = "realistic",
    record: Record = None,
    resume: Resume = False,
    shard: Shard = None,
    jobs: Jobs = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Check every clip of a folder; each gets a report (poise.check/1) in OUT.

    Unlike poise check, it can be interrupted and resumed, and split over several machines.

    Example: [bold]poise library check clips/ -o checked/ --record .png[/bold]
    """
    from poise.check.profile import load_profile

    load_profile(profile)
    given: dict[str, Any] = {"file": folder, "output": output, "clip": None, "profile": profile, "record": record}
    given |= {"overwrite": overwrite, "as_json": as_json}
    run_folder("library check", given, "file", "output", resume=resume, shard=shard, jobs=jobs, to=".json")


def check_one(
    file: Path,
    output: Path,
    profile: str,
    record: Path | None = None,
    clip: str | None = None,
    overwrite: bool = False,
    as_json: bool = False,
) -> None:
    """One clip of a library: its report, its recording, and what its row of the page says."""
    from poise import load
    from poise.check.clip import check_file, on_ground
    from poise.check.profile import load_profile
    from poise.check.report import Wanted
    from poise.check.report import as_json as report_of
    from poise.core.errors import UnreadableFile
    from poise.io import read_options
    from poise.io.files import all_or_none, write_json

    output_paths((output, record), "-o and --record", inputs=[file], overwrite=overwrite)
    chosen, how = load_profile(profile), read_options(clip=options.clip_key(clip))
    (report,) = check_file(file, chosen, how, Wanted())
    if report.verdict == "unreadable":
        raise UnreadableFile(report.error)
    data = report_of([report], (), chosen)
    with all_or_none():
        write_json(output, data)
        if record is not None and report.verdict != "skipped":
            from poise.show import record as draw
            from poise.show.motion_scene import scene_of_motion

            seen = on_ground(load(file, **vars(how)), Wanted(), None)
            look: dict[str, Any] = {"width": 110, "height": 110} if record.suffix.lower() == ".png" else {}
            draw(scene_of_motion(seen.motion, seen.character, terrain=seen.terrain), record, **look)
    for fails, how_bad in ((True, "fails"), (False, "mild")):
        counts = Counter(f.name for f in report.findings if f.fails is fails)
        if counts:
            names = ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in counts.items())
            typer.echo(f"warning: {how_bad}: {names}.", err=True)
    for sentence in report.unjudged:
        typer.echo(f"warning: {sentence}", err=True)
    failing = sum(f.fails for f in report.findings)
    measures = {k: report.measures.get(k) for k in ("frames", "fps")}
    print_json(measures | {"failing": failing, "warned": len(report.findings) - failing})


COMMANDS["library check"] = check_one


@library.command("mend")
def mend_all(
    folder: Folder,
    output: Output,
    budget: options.Budget = None,
    record: Record = None,
    side_by_side: options.SideBySide = False,
    resume: Resume = False,
    shard: Shard = None,
    jobs: Jobs = None,
    to: To = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Correct what poise check finds in every clip of a folder, as poise edit mend does; each with a report.

    Example: [bold]poise library mend clips/ -o mended/ --budget 'joint 5deg, root 5cm'[/bold]
    """
    given: dict[str, Any] = {"file": folder, "output": output, "clip": None, "budget": budget, "record": record}
    given |= {"side_by_side": side_by_side, "report": Path(".json"), "overwrite": overwrite, "json": as_json}
    run_folder("library mend", given, "file", "output", resume=resume, shard=shard, jobs=jobs, to=to)


COMMANDS["library mend"] = COMMANDS["edit mend"]

library.command("vary")(make_variants)
