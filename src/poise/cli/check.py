"""`poise check`: is this clip, or every clip of a library, physically believable?"""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import WRONG_USE, ProgressLines, app, note, out, output_paths, print_json, progress
from poise.cli.options import argument, flag, option
from poise.core.errors import InvalidValue, PoiseError, first_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poise.check.finding import Trials
    from poise.check.library import Group
    from poise.check.profile import Profile
    from poise.check.report import ClipReport, Draw, Wanted
    from poise.io.format import ReadOptions

VERDICT_NO = 1
MOST_CURES = 3
"""Cures shown of a finding on a terminal; reports hold all."""
MOST_PLAYERS = 12
"""Failing clips that are recorded for a page."""
MOST_NAMES = 3
"""Clips named that one sentence refuses."""


@app.command()
@options.grouped
def check(
    files: Annotated[
        list[Path],
        argument("FILE|FOLDER…", "Motion files (FILE@CLIP names one of several clips), and folders of them."),
    ],
    profile: Annotated[
        str,
        option("NAME|FILE", "How strict: realistic, stylized, strict, or a TOML file of your own."),
    ] = "realistic",
    fail_on: Annotated[
        list[str] | None,
        option("NAME…", "Fail only on these findings. Can be repeated, or separated by commas.", "--fail-on"),
    ] = None,
    try_cures: Annotated[
        bool,
        flag("--try-cures", "Try slow cures as well, and name only those that work."),
    ] = False,
    jobs: Annotated[int | None, option("N", "Number of processes. Default: one per core.", "-j", "--jobs")] = None,
    html: Annotated[
        Path | None,
        option("OUT.html", "Page with pictures and recordings.", panel=options.OUTPUT),
    ] = None,
    players: Annotated[
        bool,
        flag(
            "--players/--no-players",
            "With --html: record failing clips, and link findings to their frames.",
            panel=options.OUTPUT,
        ),
    ] = True,
    junit: Annotated[
        Path | None,
        option("OUT.xml", "JUnit report for a build server.", panel=options.OUTPUT),
    ] = None,
    stats: Annotated[
        Path | None,
        option("FOLDER", "Statistics of all clips, as figures (SVG) and CSV.", panel=options.OUTPUT),
    ] = None,
    as_json: options.Json = False,
    overwrite: options.Overwrite = False,
    character: options.CharacterFile = None,
    terrain: Annotated[
        str | None,
        option(
            "SPEC",
            "Ground of the clips, as in poise simulate. Default: what the clip carries, else flat.",
            panel=options.READING,
        ),
    ] = None,
    floor: options.Floor = None,
    reading: options.Reading = options.READ_AS_IS,
) -> None:
    """Find what is physically wrong in clips: what, how much, in which frames, and the smallest cure.

    Exit code 0: all pass. 1: a clip fails, or one of several cannot be read. 2: nothing can be read.

    Example: [bold]poise check clips/ --profile stylized --html check.html --junit check.xml[/bold]
    """
    from poise.check.clip import clip_files
    from poise.check.profile import load_profile
    from poise.check.report import Wanted
    from poise.io.files import all_or_none

    paths = clip_files(files)
    if not paths:
        raise InvalidValue(f"There is no motion file in {', '.join(map(str, files))}. Name a file or another folder.")
    inputs = paths if character is None else [*paths, character]
    _outputs([p for p in (html, junit) if p is not None], stats, inputs, overwrite=overwrite)
    _require_endings(html, stats)
    if character is not None:
        from poise.body import load_character

        load_character(character)  # one sentence now is better than one for each clip
    chosen = load_profile(profile)
    names = options.names_in(*(fail_on or ()))
    if names:
        chosen = chosen.failing_only_on(names)
    how = reading.checked
    how = replace(how, clip=None) if how.clip == "all" else how
    if terrain is not None:
        from poise.terrain import Terrain

        Terrain.parse(terrain)  # one sentence now is better than one for each clip
    if floor is not None and not math.isfinite(floor):
        raise InvalidValue(f"--floor is {floor}; give a finite number.")
    wanted = Wanted(
        pictures=_draw() if html is not None else None,
        samples=stats is not None,
        character=character,
        floor=floor,
        terrain=terrain,
        trials=_trials() if try_cures else None,
    )
    reports = _run(paths, chosen, how, wanted, jobs)
    groups = _groups(reports)
    with all_or_none():
        linked = _players(html, reports, how, wanted) if html is not None and players else {}
        _write(reports, groups, chosen, html, junit, stats, linked)
    if as_json:
        print_json(_json(reports, groups, chosen))
    code = _exit_code(reports)
    if as_json or code == WRONG_USE:
        for sentence in _refusals(reports):
            note(sentence)
    if not as_json and code != WRONG_USE:
        show(reports, groups, chosen)
        left = [r.name for r in reports if r.samples is not None and not r.samples.is_counted]
        if left:
            out().print(f"Left out of the statistics, since their frame rate is wrong: {', '.join(left)}", markup=False)
    raise typer.Exit(code)


def _draw() -> Draw:
    from poise.show.check_page import BUNDLE, pictures_of
    from poise.show.page import require_page

    require_page(BUNDLE)
    return pictures_of


def _trials() -> Trials:
    from poise.edit.mend import Cures

    return Cures()


def _refusals(reports: Sequence[ClipReport]) -> list[str]:
    """Why clips could not be checked: a reader's errors name the file, others are said once for all they meet."""
    said: list[str] = []
    met: dict[str, list[str]] = {}
    for report in reports:
        if report.verdict != "unreadable":
            continue
        if report.file in report.error:
            said.append(f"cannot be read: {report.error}")
        else:
            met.setdefault(report.error, []).append(report.name)
    for error, names in met.items():
        said.append(f"cannot be checked: {first_names(names, MOST_NAMES)}: {error}")
    return said


def _exit_code(reports: Sequence[ClipReport]) -> int:
    verdicts = {r.verdict for r in reports}
    if verdicts <= {"unreadable", "skipped"}:
        return WRONG_USE
    return VERDICT_NO if verdicts & {"fail", "unreadable"} else 0


def _outputs(written: list[Path], stats: Path | None, inputs: Sequence[Path], *, overwrite: bool) -> None:
    """Refuse early what could not be written at the end."""
    output_paths(written, "--html and --junit", inputs=inputs, overwrite=overwrite)
    if stats is not None and stats.exists() and not stats.is_dir():
        raise InvalidValue(f"--stats {stats} is a file; name a folder.")
    if stats is not None and stats.is_dir() and any(stats.iterdir()) and not overwrite:
        raise InvalidValue(f"--stats {stats} is not empty. Name another folder, or --overwrite.")


def _require_endings(html: Path | None, stats: Path | None) -> None:
    """Refuse names that say another kind than what would be written there."""
    from poise.io.format import known_extensions
    from poise.show import EXTENSIONS

    if html is not None and html.suffix.lower() not in (".html", ".htm"):
        raise InvalidValue(f"--html writes a page; call it {html.with_suffix('.html')}, or give --junit for XML.")
    of_files = {*known_extensions(), *EXTENSIONS, ".csv", ".htm", ".svg", ".toml"}
    if stats is not None and stats.suffix.lower() in of_files:
        raise InvalidValue(f"--stats writes a folder of figures and CSV; call it {stats.with_suffix('')}.")


def _run(
    paths: Sequence[Path], profile: Profile, how: ReadOptions, wanted: Wanted, jobs: int | None
) -> tuple[ClipReport, ...]:
    from poise.check.clip import check_files

    with progress(disable=not sys.stderr.isatty()) as bar:
        task, lines = bar.add_task("Checking", total=len(paths)), ProgressLines(len(paths))

        def done(found: tuple[ClipReport, ...]) -> None:
            bar.update(task, advance=1, description=f"Checking: {Path(found[0].file).name}")
            lines.advance()

        return check_files(paths, profile, options=how, wanted=wanted, jobs=jobs, done=done)


def _groups(reports: Sequence[ClipReport]) -> tuple[Group, ...]:
    from poise.check.library import compare

    return compare([(r.name, r.facts) for r in reports if r.facts is not None])


def _players(html: Path, reports: Sequence[ClipReport], how: ReadOptions, wanted: Wanted) -> dict[str, str]:
    """Recordings of the clips that fail, in a folder beside the page; their addresses from the page, by clip."""
    from urllib.parse import quote

    from poise import load
    from poise.body import load_character
    from poise.check.clip import on_ground
    from poise.io.files import make_folder
    from poise.show import record
    from poise.show.motion_scene import scene_of_motion

    failing = [r for r in reports if r.verdict == "fail"]
    if len(failing) > MOST_PLAYERS:
        note(f"{len(failing)} clips fail; the first {MOST_PLAYERS} of them are recorded for the page.")
    folder = html.with_name(f"{html.stem}_clips")
    linked: dict[str, str] = {}
    if not failing:
        return linked
    is_new = not folder.exists()
    make_folder(folder)
    with progress(disable=not sys.stderr.isatty()) as bar:
        for number, report in enumerate(bar.track(failing[:MOST_PLAYERS], description="Recording")):
            motion = load(report.file, **vars(replace(how, clip=report.clip or how.clip)))
            character = None if wanted.character is None else load_character(wanted.character)
            clip = on_ground(motion, wanted, character)
            name = f"{number + 1}-{Path(report.file).stem}.html"
            try:
                record(scene_of_motion(motion, clip.character, terrain=clip.terrain), folder / name)
            except PoiseError as error:  # the page says all without them
                note(f"The page has no recordings: {error}")
                break
            linked[report.name] = quote(f"{folder.name}/{name}")
    if is_new and not linked:
        folder.rmdir()
    return linked


def _write(
    reports: Sequence[ClipReport],
    groups: Sequence[Group],
    profile: Profile,
    html: Path | None,
    junit: Path | None,
    stats: Path | None,
    players: dict[str, str],
) -> None:
    from poise.io.files import write_atomically

    if html is not None:
        from poise.show.check_page import page

        write_atomically(html, page(reports, groups, profile, players).encode("utf-8", "replace"))
    if junit is not None:
        from poise.check.report import junit_xml

        write_atomically(junit, junit_xml([r for r in reports if r.verdict != "skipped"], profile))
    if stats is not None:
        from poise.check.statistics import write_statistics

        write_statistics(stats, [(r.name, r.samples) for r in reports if r.samples is not None])


def _json(reports: Sequence[ClipReport], groups: Sequence[Group], profile: Profile) -> dict[str, Any]:
    from poise.check.report import as_json

    return as_json(reports, groups, profile)


def show(reports: Sequence[ClipReport], groups: Sequence[Group], profile: Profile) -> None:
    """Print what was found, for a person."""
    from rich.text import Text

    from poise.check.finding import FLAWS, frame_words

    console = out()
    colors = {"pass": "green", "in part": "yellow", "fail": "bold red", "unreadable": "bold red"}
    for report in reports:
        if report.verdict == "skipped":
            continue
        word = "FAIL" if report.label == "fail" else report.label
        mild = sum(not f.fails for f in report.findings)
        beside = f"  ({mild} warning{'s' * (mild > 1)})" if mild else ""
        console.print(Text.assemble((f"{word:<5}", colors[report.label]), " ", (report.name, "bold"), beside))
        for finding in report.findings:
            frames = f"  [frames {frame_words(finding.frames)}]" if finding.frames else ""
            color = "red" if finding.fails else "yellow"
            name = finding.name if finding.fails else f"warning: {finding.name}"
            console.print(Text.assemble("  ", (name, color), f"  {finding.sentence}.", (frames, "dim")))
            if finding.doubt:
                console.print(Text(f"      only a warning, since {finding.doubt}", style="dim"))
            measured, allowed = f"{finding.measure:.3g}", f"{finding.threshold:.3g}"
            if measured != allowed:
                side = "at least" if finding.measure < finding.threshold else "up to"
                label, unit = FLAWS[finding.name]
                line = f"      {label}: {measured} {unit}".rstrip()
                console.print(Text(f"{line}, allowed {side} {allowed}", style="dim"))
            for number, cure in enumerate(finding.cures[:MOST_CURES]):
                console.print(Text(f"      {'cure:' if number == 0 else '  or:'} {cure.text}"))
            if finding.tried:
                console.print(Text(f"      tried in vain: {'; '.join(finding.tried)}", style="dim"))
        for sentence in report.unjudged:
            console.print(Text(f"  {sentence}", style="dim"))
        if report.verdict == "unreadable":
            console.print(Text(f"  {report.error}"))
    strays = [(g, s) for g in groups for s in g.strays]
    if strays:
        console.print(Text("\nUnlike the other clips of the same skeleton", style="bold"))
        for _, stray in strays:
            console.print(Text(f"  {stray.clip}: {stray.sentence}"))
    counts = Counter(r.label for r in reports)
    summary = [f"{counts['pass']} pass", *[f"{counts['in part']} in part"] * bool(counts["in part"])]
    summary += [f"{counts['fail']} fail"]
    summary += [f"{counts['unreadable']} unreadable"] * bool(counts["unreadable"])
    summary += [f"{counts['skipped']} without motion passed over"] * bool(counts["skipped"])
    if len(reports) > 1:
        console.print(Text(f"\n{', '.join(summary)} (profile {profile.name})", style="bold"))
