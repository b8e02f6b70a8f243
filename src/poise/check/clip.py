"""One clip, checked: from a file to measures, findings, pictures and samples."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from poise.analysis.analyze import Analysis, analyze
from poise.analysis.measures import measures
from poise.analysis.scale import implied_scale
from poise.body import load_character
from poise.check.files import clips_of_refused
from poise.check.judge import judge
from poise.check.measures import facts_of, measures_of, samples_of
from poise.check.page.pictures import pictures_of
from poise.check.profile import Profile
from poise.check.report import ClipReport, Wanted, unreadable
from poise.core.errors import PoiseError
from poise.io import load
from poise.io.format import ReadOptions


def check_motion(clip: Analysis, profile: Profile, name: str, wanted: Wanted) -> ClipReport:
    """The report of a clip that was read and analyzed.

    Args:
        clip: Its dynamics.
        profile: The thresholds.
        name: What to call it.
        wanted: What to make besides the findings.
    """
    start = time.perf_counter()
    quality, scale = measures(clip), implied_scale(clip)
    findings = judge(clip, quality, scale, profile)
    source = clip.motion.source
    samples = samples_of(clip)
    report = ClipReport(
        name, "", "fail" if any(f.fails for f in findings) else "pass", findings, measures_of(clip, quality, scale),
        notes=source.warnings if source is not None else (), facts=facts_of(clip, scale, samples.gait),
        samples=replace(samples, is_counted=not any(f.name == "frame-rate" for f in findings))
        if wanted.samples else None,
        pictures=pictures_of(clip, findings) if wanted.pictures else None,
    )  # fmt: skip
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
        return (unreadable(path, _failed(error)),)
    found = []
    for name in names:
        try:
            found.append(replace(_check_one(path, profile, replace(options, clip=name), wanted), clip=name))
        except PoiseError as error:
            found.append(replace(unreadable(path, str(error)), clip=name))
        except Exception as error:
            found.append(replace(unreadable(path, _failed(error)), clip=name))
    return tuple(found)


def _failed(error: Exception) -> str:
    return f"Poise failed inside ({type(error).__name__}: {error}). Please report this."


def _check_one(path: Path, profile: Profile, options: ReadOptions, wanted: Wanted) -> ClipReport:
    start = time.perf_counter()
    motion = load(
        path, skeleton=options.skeleton, clip=options.clip, unit=options.unit, up=options.up, fps=options.fps,
        frames_from_data=options.frames_from_data,
    )  # fmt: skip
    character = None if wanted.character is None else load_character(wanted.character)
    report = check_motion(analyze(motion, character), profile, str(path), wanted)
    return replace(report, seconds=time.perf_counter() - start)
