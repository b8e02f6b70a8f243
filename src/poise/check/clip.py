"""Checking one clip, from a file to measures, findings, pictures and samples; and many clips on all cores."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from poise.analysis.analyze import Analysis, analyze
from poise.analysis.measures import ImpliedScale, Measures, measures
from poise.body import load_character
from poise.body.character import Character, fit
from poise.body.posing import other_size
from poise.check.air import flight_findings, scale_of, wrong_gravity
from poise.check.balance import balance_findings
from poise.check.capture import capture_findings
from poise.check.finding import FORCES, Cure, Doubts, Finding, Trials, doubts, length_words
from poise.check.ground import ground_findings
from poise.check.library import facts_of, measures_of, samples_of
from poise.check.profile import ROOT, Profile, load_profile
from poise.check.report import ClipReport, Level, Wanted, unreadable
from poise.check.thresholds import FLOORS_AGREE
from poise.check.whole import limit_findings, rate_findings, timed_findings
from poise.core.batch import ProcessDied, cores, each
from poise.core.errors import PoiseError, UnreadableFile, failed_inside
from poise.core.motion import Motion
from poise.core.units import HUMAN_LEG
from poise.io import load
from poise.io.files import read_head
from poise.io.format import WITH_SCENES, ReadOptions, file_and_clip, format_of, optional
from poise.io.markers import EXTENSIONS as MARKERS
from poise.phases.floor import SPREAD, carried_ground, leveled, start_of
from poise.phases.travel import direction_of_travel
from poise.terrain import Terrain

MOTION_ENDINGS = frozenset(
    {".bvh", ".amc", ".glb", ".gltf", ".vrma", ".npz", ".usda", ".usdc", ".usdz", ".fbx", ".mvnx"}
)
"""Files with these endings are clips whatever they hold: what cannot be read of them is a fault."""
MAYBE_ENDINGS = frozenset({".txt", ".json", ".usd", ".csv"})
"""Files with these endings may be anything: only those that look like a motion count."""
ONE_POSE = "One pose, not judged: a check needs a motion."


def clip_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files to check: those named, and of folders all that may be clips, in name order, each once.

    FILE@CLIP, one clip of a file, stays as it is; `load` reads it. Hidden files and folders are passed over.

    Raises:
        UnreadableFile: if a path is not there.
    """
    found: dict[tuple[Path, str | int | None], Path] = {}
    for path in paths:
        whole, clip = file_and_clip(str(path))
        if not whole.exists():
            raise UnreadableFile(f"There is no file or folder {path}. Check the name.")
        if path.is_dir():
            for file in sorted(_visible(path)):
                if file.is_file() and is_candidate(file):
                    found.setdefault((file.resolve(), None), file)
        else:
            found.setdefault((whole.resolve(), clip), path)
    return tuple(found.values())


def _visible(folder: Path) -> Iterator[Path]:
    """The files below a folder whose path in it has no hidden part; folders that cannot be read are left out."""
    for inside, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(inside) / name for name in names if not name.startswith("."))


def passed_over(folder: Path) -> tuple[str, ...]:
    """Names of the files below a folder that hold a figure or markers, of kinds in which no clips are looked for."""
    kinds = {*WITH_SCENES, *MARKERS} - MOTION_ENDINGS - MAYBE_ENDINGS
    return tuple(f.name for f in sorted(_visible(folder)) if f.suffix.lower() in kinds)


def is_candidate(path: Path) -> bool:
    """True if a file of a folder is worth opening as a clip."""
    suffix = path.suffix.lower()
    if suffix in MOTION_ENDINGS:
        return True
    if suffix not in MAYBE_ENDINGS:
        return False
    try:
        head = read_head(path)
        return format_of(path).matches(path, head)
    except PoiseError:
        return False


def clips_of_refused(path: Path, options: ReadOptions) -> tuple[str, ...] | None:
    """What a file holds that `load` refused: names of its clips, none for a bare skeleton, None if it is unreadable."""
    try:
        candidate = format_of(path)
        describe = optional(candidate, "describe")
        facts = describe(path, options) if describe is not None else None
    except PoiseError:
        return None
    if facts is None:
        return None
    names = tuple(facts.get("clips") or ())
    if names:
        return names
    return () if not facts.get("frames") else None


WORTH_A_PROCESS = 600_000
"""Bytes of clips below which starting another process takes longer than it saves."""

Done = Callable[[tuple[ClipReport, ...]], None]


def check_files(
    files: Sequence[Path],
    profile: Profile,
    *,
    options: ReadOptions | None = None,
    wanted: Wanted | None = None,
    jobs: int | None = 1,
    done: Done | None = None,
) -> tuple[ClipReport, ...]:
    """Check clips, several at a time; the reports in the order of the files.

    What cannot be read is a report, too, and stops nothing. An interrupt stops the others and is passed on.

    Args:
        files: The files; each may hold several clips.
        profile: The thresholds.
        options: How to read them.
        wanted: Which pictures and samples to make.
        jobs: Processes; 1 stays in this one, None takes as many as there are cores and work for. More than one starts
            processes anew (spawn), so a script needs the usual `if __name__ == "__main__"`.
        done: Called with the reports of a file as it is finished.

    Raises:
        InvalidValue: if `jobs` is less than 1.
    """
    options, wanted = options or ReadOptions(), wanted or Wanted()
    count = process_count(files) if jobs is None else jobs
    work = partial(check_file, profile=profile, options=options, wanted=wanted)
    # largest first, so that no core is left alone with one at the end
    order = sorted(files, key=_size, reverse=True) if count > 1 else files
    reports: dict[Path, tuple[ClipReport, ...]] = {}
    for path, found in each(work, order, workers=count):
        if isinstance(found, ProcessDied):
            found = (unreadable(path, "The process that checked it ended without an answer (out of memory?)."),)
        elif isinstance(found, Exception):
            raise found
        reports[path] = found
        if done is not None:
            done(found)
    folder = _folder_of(files)
    return tuple(replace(report, folder=folder) for path in files for report in reports[path])


def _folder_of(files: Sequence[Path]) -> str:
    """The folder that holds all files, in whatever folders below it; "" where only the root of all does, or nothing."""
    try:
        common = os.path.commonpath([path.absolute().parent for path in files])
    except ValueError:  # two drives
        return ""
    return "" if common == os.path.dirname(common) else common


def _size(path: Path) -> int:
    """Bytes of a file; 0 where there is none."""
    return path.stat().st_size if path.is_file() else 0


def process_count(files: Sequence[Path]) -> int:
    """Processes worth starting for these files: at most one a core."""
    size = sum(_size(path) for path in files)
    return max(1, min(cores(), len(files), size // WORTH_A_PROCESS + 1))


def judge(
    clip: Analysis,
    profile: Profile,
    *,
    quality: Measures | None = None,
    scale: ImpliedScale | None = None,
    trials: Trials | None = None,
    unsure: Doubts | None = None,
) -> tuple[Finding, ...]:
    """Everything a profile has against a clip: failures first, the farthest past its threshold first.

    Where the frame rate itself is wrong, nothing that depends on time is judged: every number would be wrong with it.
    A finding that needs something that is in doubt is a warning; without `unsure`, the doubts of the clip count.
    Measures and scale are taken from the clip where they are not given.
    """
    quality = measures(clip) if quality is None else quality
    scale = scale_of(clip) if scale is None else scale
    unsure = doubts(clip) if unsure is None else unsure
    every = (unsure.weigh(f) for f in _all(clip, quality, scale, profile, trials=trials))
    found = _with_repair([f for f in every if f is not None], clip, trials)
    return tuple(sorted(found, key=lambda f: (not f.fails, -f.excess)))


REPAIR_TURN, REPAIR_SHIFT = math.radians(6.0), 0.06
"""What a repair may change where nothing is said: joints [rad]; the root, for a leg of 0.82 m [m]."""
REPAIRED = ("gravity", "arc", "track", "drift", "spin", "balance", "root-residual")
"""Findings that a repair of the whole clip makes smaller."""


def _with_repair(found: list[Finding], clip: Analysis, trials: Trials | None) -> list[Finding]:
    """The findings. Those that a repair of the whole clip can mend get it as their last cure.

    Of findings about flights only those that fail do; a small one has cures enough.
    """
    chosen = [f.name in FORCES or (f.fails and f.name in REPAIRED) for f in found]
    if not any(chosen):
        return found
    if wrong_gravity(clip) is not None:
        vain = "repairing the whole clip (poise edit repair), which needs flights that fall as they should"
        return [replace(f, tried=(*f.tried, vain)) if c else f for f, c in zip(found, chosen)]
    turn, shift = math.degrees(REPAIR_TURN), 100.0 * REPAIR_SHIFT * clip.character.leg_scale
    text, tried = f"repair the whole clip within {turn:.0f}° and {shift:.2g} cm: poise edit repair", None
    if trials is None:
        text += " (not tried; --try-cures tries it)"
    elif (tried := trials.repaired(clip)) is None:
        vain = "repairing the whole clip (poise edit repair)"
        return [replace(f, tried=(*f.tried, vain)) if c else f for f, c in zip(found, chosen)]
    else:
        before, after, turn, shift = tried
        text = (
            f"repair the whole clip: what contacts cannot give falls from {100.0 * before:.0f} to {100.0 * after:.1f} "
            f"% of the weight, with joints turned by up to {turn:.1f}° and the root moved by {100.0 * shift:.1f} cm "
            "(poise edit repair)"
        )
    return [replace(f, cures=(*f.cures, Cure(text, math.inf))) if c else f for f, c in zip(found, chosen)]


def _all(
    clip: Analysis, quality: Measures, scale: ImpliedScale, profile: Profile, *, trials: Trials | None
) -> Iterator[Finding]:
    yield from capture_findings(clip, profile)
    rate = tuple(rate_findings(clip, profile))
    yield from rate
    yield from ground_findings(clip, profile, is_timed=not rate)
    yield from limit_findings(clip, quality, profile)
    if not rate:
        yield from flight_findings(clip, profile, trials=trials)
        yield from balance_findings(clip, profile, trials=trials)
        yield from timed_findings(clip, quality, scale, profile)


def findings_of(
    motion: Motion, character: Character | None = None, *, floor: float | None = None, terrain: str | None = None
) -> tuple[Finding, ...]:
    """What the realistic profile has against a motion."""
    wanted = Wanted(floor=floor, terrain=terrain)
    clip = on_ground(motion, wanted, character)
    unsure = doubts(clip, is_floor_given=is_ground_given(motion, wanted))
    return judge(clip, load_profile(ROOT), unsure=unsure)


def is_ground_given(motion: Motion, wanted: Wanted) -> bool:
    """True if nobody has to guess where the ground lies: it was said, or the clip carries it."""
    return wanted.floor is not None or wanted.terrain is not None or carried_ground(motion) is not None


def figure_on(motion: Motion, wanted: Wanted) -> Character:
    """The character fitted to a motion, which is first put on level ground where its own ground is known."""
    lying = carried_ground(motion) if wanted.floor is None else None
    if wanted.terrain is not None:
        way, height = direction_of_travel(motion), wanted.floor or 0.0
        lying = Terrain.parse(wanted.terrain).placed(origin=start_of(motion)[:2], heading=way, ground=height)
    return fit(motion if lying is None else leveled(motion, lying))


def on_ground(motion: Motion, wanted: Wanted, character: Character | None = None) -> Analysis:
    """The dynamics of a clip on the ground that was asked for.

    A terrain begins under the first frame's root and rises along the clip's way, as in `poise simulate`; where no
    floor says how high it lies there, it is as high as what touches it stands in the median. A clip that carries the
    ground it was made for is judged on that, unless another is given.
    """
    carried = carried_ground(motion)
    character = figure_on(motion, wanted) if character is None else character
    if wanted.terrain is None and wanted.floor is None and carried is not None:
        return analyze(motion, character, floor=carried.ground, terrain=carried)
    if wanted.terrain is None:
        return analyze(motion, character, floor=wanted.floor)
    start = start_of(motion)[:2]
    ground = Terrain.parse(wanted.terrain)

    def lies(height: float) -> Analysis:
        origin = float(start[0]), float(start[1])
        placed = ground.placed(origin=origin, heading=direction_of_travel(motion), ground=height)
        return analyze(motion, character, floor=height, terrain=placed)

    if wanted.floor is not None:
        return lies(wanted.floor)
    clip = lies(0.0)
    gaps, frames = clip.touch.gaps, np.arange(motion.frame_count)
    lowest = np.argmin(gaps, axis=1)
    slow = np.argsort(np.linalg.norm(clip.touch.velocities[frames, lowest], axis=1))[: max(1, len(frames) // 4)]
    return lies(float(np.median(gaps[frames, lowest][slow])))


def check_motion(clip: Analysis, profile: Profile, name: str, wanted: Wanted) -> ClipReport:
    """The report of a clip that was read and analyzed.

    Args:
        clip: Its dynamics.
        profile: The thresholds.
        name: What to call it.
        wanted: What to make besides the findings.
    """
    start = time.perf_counter()
    quality, scale = measures(clip), scale_of(clip)
    is_given = is_ground_given(clip.motion, wanted)
    unsure = doubts(clip, is_floor_given=is_given, is_floor_shared=wanted.is_floor_shared)
    findings = judge(clip, profile, quality=quality, scale=scale, trials=wanted.trials, unsure=unsure)
    source = clip.motion.source
    notes = (*(source.warnings if source is not None else ()), other_size(clip.character, clip.motion))
    if wanted.is_floor_shared:
        notes += (f"Its floor is taken from the other clips of the file: {clip.floor:.3g} m (--floor M says another).",)
    samples = samples_of(clip)
    report = ClipReport(
        name,
        "",
        "fail" if any(f.fails for f in findings) else "pass",
        findings,
        measures_of(clip, quality, scale, samples),
        notes=tuple(note for note in notes if note),
        unjudged=unsure.unjudged if clip.motion.frame_count > 1 else (ONE_POSE,),
        facts=facts_of(clip, scale, samples.gait),
        samples=replace(samples, is_counted=not any(f.name == "frame-rate" for f in findings))
        if wanted.samples
        else None,
        pictures=wanted.pictures(clip, findings) if wanted.pictures else None,
        level=None
        if is_given and not wanted.is_floor_shared
        else Level(clip.floor, clip.character.leg_scale, "floor" not in unsure.reasons),
    )
    if report.label == "in part":
        whole = clip.motion.duration
        lost = f"{report.unsupported * whole:.1f} of {whole:.1f} s"
        said = f"{lost} are not judged: nothing was found there that carries the body, and it does not fly."
        report = replace(report, unjudged=(said, *report.unjudged))
    return replace(report, seconds=time.perf_counter() - start)


def check_file(path: Path, profile: Profile, options: ReadOptions, wanted: Wanted) -> tuple[ClipReport, ...]:
    """The reports of all clips in a file; one that says why where it cannot be read."""
    try:
        return (_check_one(path, profile, options, wanted),)
    except PoiseError as error:
        names = clips_of_refused(path, options) if options.clip is None else None
        if names is None or len(names) == 1:
            return (unreadable(path, str(error)),)
        if not names:
            return (ClipReport(str(path), "", "skipped"),)
    except Exception as error:
        return (unreadable(path, failed_inside(error)),)
    asked = {name: replace(options, clip=name) for name in names}
    found = {name: _checked(path, profile, asked[name], wanted) for name in names}
    if wanted.floor is None and wanted.terrain is None:
        shared = floor_of_file(tuple(found.values()))
        for name, report in found.items():
            if shared is not None and _is_beside(report, shared):
                found[name] = _on_shared(report, path, profile, asked[name], replace(wanted, floor=shared))
    return tuple(replace(report, clip=name) for name, report in found.items())


SURE_CLIPS, SURE_PART = 3, 2.0 / 3.0
"""So many clips of a file that are sure of their floor [1], and such a part of all that are [1], settle it for the
others: a file whose figure stands in some clips and sits in as many has two floors."""


def floor_of_file(reports: Sequence[ClipReport]) -> float | None:
    """Height of the floor on which the clips of a file stand that are sure of it [m]; None where they do not agree."""
    sure = [report.level for report in reports if report.level is not None and report.level.is_sure]
    if not sure:
        return None
    middle = sorted(level.height for level in sure)[len(sure) // 2]
    agree = [level for level in sure if abs(level.height - middle) <= SPREAD * level.scale]
    return middle if len(agree) >= max(SURE_CLIPS, SURE_PART * len(sure)) else None


def _is_beside(report: ClipReport, shared: float) -> bool:
    """True if a clip was judged on another floor than that of its file, and has no good reason to.

    What it is sure of is another floor, as a seat's, only where it is farther away than floors of one clip may be.
    """
    if report.level is None:
        return False
    apart = abs(report.level.height - shared) / (HUMAN_LEG * report.level.scale)
    return apart > SPREAD / HUMAN_LEG and not (report.level.is_sure and apart > FLOORS_AGREE)


def _on_shared(own: ClipReport, path: Path, profile: Profile, options: ReadOptions, wanted: Wanted) -> ClipReport:
    """The clip's report on the floor of its file; where it does not stand there, on its own, with a sentence."""
    again = _checked(path, profile, options, replace(wanted, is_floor_shared=True))
    if again.level is None or own.level is None:
        return own
    seconds = own.seconds + again.seconds
    if again.level.is_sure:
        return replace(again, seconds=seconds)
    apart = own.level.height - again.level.height
    said = (
        "Whether it stands on the floor of the file's other clips is not judged: it seems to stand "
        f"{length_words(abs(apart))} {'above' if apart > 0.0 else 'below'} it (--floor {again.level.height:.3g} judges "
        "it there)."
    )
    return replace(own, unjudged=(*own.unjudged, said), seconds=seconds)


def _checked(path: Path, profile: Profile, options: ReadOptions, wanted: Wanted) -> ClipReport:
    """The report of one clip of several; one that says why where it cannot be read."""
    try:
        return _check_one(path, profile, options, wanted)
    except PoiseError as error:
        return unreadable(path, str(error))
    except Exception as error:
        return unreadable(path, failed_inside(error))


def _check_one(path: Path, profile: Profile, options: ReadOptions, wanted: Wanted) -> ClipReport:
    start = time.perf_counter()
    motion = load(path, **vars(options))
    character = None if wanted.character is None else load_character(wanted.character)
    report = check_motion(on_ground(motion, wanted, character), profile, str(path), wanted)
    return replace(report, seconds=time.perf_counter() - start)
