"""`poise vary`: many plausible, different variants of a clip, each with what was done and why it is kept."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import WRONG_USE, app, note, out, print_json
from poise.cli.folder import (
    COMMANDS,
    SUMMARY,
    Job,
    Jobs,
    Resume,
    Shard,
    To,
    carry_out,
    note_passed_over,
    read_manifests,
)
from poise.cli.folder_page import LEFT_OUT, Done, summary_page
from poise.cli.options import argument, flag, option
from poise.cli.outcome import require_kinds
from poise.core.errors import InvalidValue, first_names

if TYPE_CHECKING:
    from poise.core.motion import Motion

MOST = 100_000
SHEET_ROWS = 40
"""Variants on the contact sheet."""
HINGED = (".txt", ".json", ".csv")
"""Clips whose joints are hinges of a character beside them; variants turn joints about any axis, so they become GLB."""
NEW_FINDINGS = "The check finds something new"
TABLE, SHEET = "variants.json", "sheet.png"


@app.command()
def vary(
    file: Annotated[Path, argument("CLIP", "A clip, or a folder of clips.")],
    output: Annotated[Path, option("FOLDER", "Folder for the variants.", "--output", "-o", show_default=False)],
    count: Annotated[int, option("N", "Variants to try of each clip.", "-n")] = 20,
    seed: Annotated[int, option("N", "Random seed: another one gives other variants.", "--seed")] = 0,
    sheet: Annotated[bool, flag("--sheet/--no-sheet", "Draw the contact sheet.")] = True,
    clip: options.Clip = None,
    height: options.Height = None,
    resume: Resume = False,
    shard: Shard = None,
    jobs: Jobs = None,
    to: To = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Make variants of a clip: shoves, grounds, crates, pace, size, style. Keep those that are plausible and differ.

    A variant is plausible if poise check finds nothing that it does not find in the clip. Near duplicates
    are dropped. variants.json lists every variant and why it was kept or not; index.html shows all of them, and
    sheet.png those that were kept.

    Example: [bold]poise vary walk.bvh -n 50 --seed 7 -o variants[/bold]
    """
    from poise.check.clip import clip_files
    from poise.io.format import file_and_clip, written_ending

    named, in_name = file_and_clip(str(file))
    if in_name is not None:
        if clip is not None:
            raise InvalidValue(f"{file} names a clip, and so does --clip {clip}; give one of them.")
        file, clip = named, str(in_name)
    if not 1 <= count <= MOST:
        raise InvalidValue(f"-n is {count}; give 1 to {MOST}.")
    if seed < 0:
        raise InvalidValue(f"--seed is {seed}; give 0 or more.")
    files = clip_files([file]) if file.is_dir() else (file,)
    if not files:
        raise InvalidValue(f"There is no motion file in {file}.")
    if to is not None:
        require_kinds(Path(f"clip.{to.lstrip('.')}"), None)
    note_passed_over(file)
    names = _names(files, file, None if clip == "all" else clip)
    if not file.is_dir() and len(names) == 1:
        _prepared(*next(iter(names)), height)  # what cannot be varied is refused once, before anything is written
    todo = []
    for (path, key), name in names.items():
        stamp = f"{path.stat().st_size} {path.stat().st_mtime_ns} {key} {to} {height or ''}" if path.exists() else ""
        for index in range(count):
            ending = written_ending(path.suffix) if to is None else f".{to.lstrip('.')}"
            ending = ".glb" if to is None and ending.lower() in HINGED else ending
            target = f"{name}-{index:04d}{ending}"
            words = hashlib.sha256(f"{path} {stamp} {seed} {index}".encode("utf-8", "replace")).hexdigest()[:16]
            given = {"file": path, "clip": key, "seed": seed, "index": index, "height": height}
            given["output"] = output / target
            todo.append(Job(f"{name}-{index:04d}", "variant", given, target, words))
    done, asked, earlier = carry_out(
        "vary", todo, output, resume=resume, shard=shard, jobs=jobs, overwrite=overwrite, is_done=_was_tried
    )
    _choose(todo, output, with_sheet=sheet)
    table = json.loads((output / TABLE).read_text(encoding="utf-8"))
    failed: dict[str, list[str]] = {}
    for d in done:
        if _has_failed(d):
            failed.setdefault(d.message, []).append(d.name)
    count_failed = sum(map(len, failed.values()))
    code = 0 if not failed else WRONG_USE if count_failed == asked else 1
    if as_json:
        print_json(table)
        raise typer.Exit(code)
    kept = sum(v["kept"] for v in table["variants"])
    made = f" ({earlier} were tried before)" if earlier else ""
    for why, names in failed.items():
        note(f"{first_names(names, 1)}: {why}")
    spread = table["apart_median"]
    far = (
        "" if spread is None else f" Kept ones are {spread:.1f} times as far apart as copies with 1° of noise (median)."
    )
    out().print(f"{kept} of {len(table['variants'])} variants kept{made}.{far} See {output / SUMMARY}.", markup=False)
    if failed:
        out().print(f"{count_failed} failed", markup=False)
    dropped = Counter(
        v["why"].partition(": ")[0] for v in table["variants"] if not v["kept"] and v["why"] not in failed
    )
    for why, number in dropped.most_common():
        out().print(f"{number} dropped: {why}", markup=False)
    if 4 * kept < len(table["variants"]) - count_failed:
        few = "Few variants were" if kept else "No variant was"
        out().print(f"{few} kept. Try more: -n {4 * count}, or another --seed, or a longer clip.", markup=False)
    raise typer.Exit(code)


def _has_failed(done: Done) -> bool:
    """Whether a variant could not be made or written; one that is not plausible is only dropped."""
    return done.state in ("failed", LEFT_OUT) and not done.message.startswith(NEW_FINDINGS)


def _was_tried(before: Done | None, job: Job) -> bool:
    """Whether a variant was made and judged before, of the same clip; one that was dropped has no file."""
    if before is None or before.key != job.key:
        return False
    return before.state == "done" or before.message.startswith(NEW_FINDINGS)


def _names(files: tuple[Path, ...], folder: Path, clip: str | None) -> dict[tuple[Path, str | None], str]:
    """Each clip of the files, and what its variants are called."""
    from poise.cli.folder import clips_in

    found: dict[tuple[Path, str | None], str] = {}
    for path in files:
        for key in clips_in(path, {"clip": clip}):
            short = path.relative_to(folder).with_suffix("") if folder.is_dir() else Path(path.stem)
            name = (
                short.as_posix()
                if key is None
                else f"{short.as_posix()}-{''.join(c if c.isalnum() else '_' for c in key)}"
            )
            while name in found.values():
                name += "_"
            found[path, clip if key is None else key] = name
    return found


def variant(
    file: Path, output: Path, seed: int, index: int, clip: str | None = None, height: str | None = None
) -> None:
    """One variant: drawn, made, judged, and written if it is plausible."""
    import poise.io
    from poise.edit import vary as edit
    from poise.world import World

    require_kinds(output, None)
    motion, character, before, noise = _prepared(file, clip, height)
    drawn = edit.draw(motion, character, seed, index)
    tried = edit.make(motion, character, drawn, before, World)
    if why := edit.reasons(tried):
        raise InvalidValue(f"{NEW_FINDINGS} ({why})")
    poise.io.save(tried.motion, output)
    shape = edit.shape_of(tried.motion)
    distance = edit.distance(shape, edit.shape_of(motion)) / noise
    print_json({"apart": distance, "frames": tried.motion.frame_count, "fps": tried.motion.fps})


COMMANDS["variant"] = variant

_known: tuple[Any, Any] | None = None


def _prepared(file: Path, clip: str | None, height: str | None = None) -> tuple[Any, Any, Any, float]:
    """The clip, its character, what a check has against it, and what noise is; remembered in each process."""
    global _known
    import poise.io
    from poise.body import fit
    from poise.check.clip import findings_of
    from poise.edit.vary import noise_of

    key = (file, clip, height, file.stat().st_mtime_ns if file.exists() else 0)
    if _known is None or _known[0] != key:
        motion = poise.io.load(file, clip=options.clip_key(clip), height=height)
        character = fit(motion)
        _known = key, (motion, character, findings_of(motion, character), noise_of(motion))
    return _known[1]


def _choose(todo: list[Job], place: Path, *, with_sheet: bool) -> None:
    """Write table, page and sheet, and drop doubles: clip by clip, in the order of their numbers."""
    import numpy as np

    from poise.io.files import all_or_none, write_atomically, write_json

    tried = read_manifests(place)
    groups: dict[tuple[Path, str | None], list[tuple[Job, Done]]] = {}
    for job in todo:
        done = tried.get(job.name)
        if done is not None and done.key == job.key:  # others belong to another part of several
            groups.setdefault((job.given["file"], job.given["clip"]), []).append((job, done))
    rows: list[dict[str, Any]] = []
    shown: list[tuple[str, Motion]] = []
    gaps: list[float] = []
    for (file, clip), group in groups.items():
        if any(done.state == "done" for _, done in group):
            rows += _choose_of(file, clip, group, place, shown, gaps)
        else:
            rows += [_row(job, "", done.message) for job, done in group]
    median = float(np.median(gaps)) if gaps else None
    states = []
    for row in rows:
        done, words = tried[row["name"]], row.get("words", "")
        if _has_failed(done):
            states.append(done)
            continue
        state, message = ("kept", words) if row["kept"] else ("dropped", f"{row['why']}: {words}".removesuffix(": "))
        states.append(replace(done, state=state, message=message))
    with all_or_none():
        write_json(place / TABLE, {"schema": "poise.variants/1", "apart_median": median, "variants": rows})
        if drawn := with_sheet and bool(shown):
            _draw_sheet(shown[:SHEET_ROWS], place / SHEET)
        write_atomically(place / SUMMARY, summary_page("poise vary", states, place, sheet=SHEET if drawn else ""))


def _choose_of(
    file: Path,
    clip: str | None,
    group: list[tuple[Job, Done]],
    place: Path,
    shown: list[tuple[str, Motion]],
    gaps: list[float],
) -> list[dict[str, Any]]:
    """The rows of one clip's variants; kept ones join `shown`, and their distances `gaps`. Doubles are deleted."""
    import poise.io
    from poise.edit import vary as edit
    from poise.io.format import WITH_SCENES

    motion, character, _, noise = _prepared(file, clip, group[0][0].given["height"])
    kept = [edit.shape_of(motion)]
    rows = []
    for job, done in group:
        path, row = place / done.target, _row(job, "", done.message or _double(done))
        if done.state == "done" and path.exists():
            several = path.suffix.lower() in WITH_SCENES and clip is not None
            made = poise.io.load(path, clip=options.clip_key(clip) if several else 0)
            shape = edit.shape_of(made)
            away = [edit.distance(shape, other) / noise for other in kept]
            if min(away) > edit.APART:
                kept.append(shape)
                gaps += away[1:]
                shown.append((f"{job.given['index']}", made))
                row = _row(job, done.target, "plausible, and unlike the others")
            else:
                path.unlink()
        drawn = edit.draw(motion, character, job.given["seed"], job.given["index"])
        rows.append(row | _as_data(drawn, motion))
    return rows


def _double(done: Done) -> str:
    """Why a plausible variant is dropped; the same when its file is gone and the run goes on."""
    from poise.edit.vary import APART

    away = done.measures.get("apart", math.inf)
    if away > APART:
        return "nearly another variant"
    return f"nearly the clip: {away:.1f} times as far from it as noise; {APART:g} are needed"


def _row(job: Job, target: str, why: str) -> dict[str, Any]:
    number = {"seed": job.given["seed"], "index": job.given["index"]}
    return {"name": job.name, "file": target or None, "kept": bool(target), "why": why, **number}


def _as_data(drawn: Any, motion: Any) -> dict[str, Any]:
    """A variant as data: all that `draw` decided."""
    names = motion.skeleton.names
    style = None
    if drawn.style is not None:
        style = {
            "swing": {names[j]: f for j, f in drawn.style.swing.items()},
            "offset_rad": {names[j]: list(v) for j, v in drawn.style.offsets.items()},
        }
    pushes = [
        {"body": p.body, "force_n": list(p.force), "start_s": p.start, "duration_s": p.duration} for p in drawn.pushes
    ]
    return {
        "words": drawn.words,
        "style": style,
        "pushes": pushes,
        "terrain": drawn.terrain,
        "crates": [
            {"place_m": list(c.place), "heading_rad": c.heading, "side_m": c.side, "mass_kg": c.mass}
            for c in drawn.crates
        ],
        "responsiveness": drawn.responsiveness,
        "pace": drawn.pace,
        "size": drawn.size,
    }


def _draw_sheet(shown: list[tuple[str, Motion]], path: Path) -> None:
    """A strip of stills of each variant, below each other."""
    from poise.show import record
    from poise.show.motion_scene import scene_of_motion

    scenes = [scene_of_motion(motion, name=title, physics=False) for title, motion in shown]
    record(scenes, path, painter="plain", width=200, height=160)
