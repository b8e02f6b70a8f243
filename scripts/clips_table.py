"""Write docs/clips.md: what the analysis says of a folder of clips. `python scripts/clips_table.py MOTIONS [-o FILE]`.

Folders named nc (not for commercial use) are left out. Nothing is tuned to a clip: the same call measures each. The
rate is the file's, but where the flights of a subject's clips say it is wrong (`poise.phases.implied_fps`).
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from poise.analysis import Analysis, Measures, analyze, implied_scale, measures
from poise.core.errors import FileFormatError, PoiseError
from poise.core.motion import Motion
from poise.io import load
from poise.phases import implied_fps

SUFFIXES = {".bvh", ".amc", ".txt", ".glb", ".gltf"}

NOTES = Path(__file__).with_name("clips_notes.md")
"""What is said of the tables by hand."""


@dataclass(frozen=True)
class Row:
    """One measured clip."""

    name: str
    rate: str
    analysis: Analysis
    measures: Measures


def readable(folder: Path) -> Iterator[tuple[str, Path, Motion]]:
    """Every clip of a folder with the name of its row; files that hold no clip are skipped."""
    for path in sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES):
        inside = path.relative_to(folder)
        if inside.parts[0] in ("nc", "licences"):
            continue
        try:
            try:
                yield path.stem, path, load(path)
            except FileFormatError:  # one that holds several clips is read by their numbers
                if path.suffix not in (".glb", ".gltf"):
                    raise
                source = load(path, clip=0).source
                for index, name in enumerate(source.clips if source else ()):
                    yield f"{path.stem} {name}", path, load(path, clip=index)
        except PoiseError as error:
            print(f"not read: {inside}: {str(error).splitlines()[0][:110]}", file=sys.stderr)


def doubted_rates(clips: list[tuple[str, Path, Motion]]) -> dict[str, float]:
    """Rates that flights imply, by subject: what stands before the underscore of a name."""
    found: dict[str, list[float]] = {}
    for name, _, motion in clips:
        rate = implied_fps(motion)
        if rate.confidence > 0.5:
            found.setdefault(name.split("_")[0], []).append(rate.fps)
    return {subject: rates[0] for subject, rates in found.items() if len(set(rates)) == 1 and len(rates) > 1}


def measured(folder: Path) -> list[Row]:
    """All rows, in the order of the files."""
    clips = list(readable(folder))
    doubted = doubted_rates(clips)
    rows: list[Row] = []
    for name, path, motion in clips:
        rate = doubted.get(name.split("_")[0])
        label = f"{motion.fps:.0f}"
        if rate is not None:
            motion, label = load(path, fps=rate), f"{rate:.0f} (not {motion.fps:.0f})"
        analysis = analyze(motion)
        rows.append(Row(name, label, analysis, measures(analysis)))
    return rows


def flights_table(rows: list[Row]) -> list[str]:
    """One line a flight."""
    out = [
        "| clip | Hz | flight [s] | frames | gravity [g] | off parabola [mm] | track error | linear, max "
        "| angular, max |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        for f in row.analysis.flights:
            track = "vertical" if math.isnan(f.track_error) else f"{f.track_error:.3f}"
            linear = f"{np.abs(f.linear_error[:, :2]).max():.2f}" + (" †" if f.linear_is_tiny else "")
            angular = f"{np.abs(f.angular_error).max():.2f}" + (" †" if f.angular_is_tiny else "")
            out.append(
                f"| {row.name} | {row.rate} | {f.start_s:.2f}–{f.end_s:.2f} | {f.last - f.first + 1} "
                f"| {f.gravity_g:.2f} ± {f.gravity_error / 9.81:.2f} | {1e3 * f.residual:.1f} | {track} "
                f"| {linear} | {angular} |"
            )
    return [*out, "", "† relative to the natural scale m √(g h), h the leg length, because the mean is near zero."]


def clips_table(rows: list[Row]) -> list[str]:
    """One line a clip."""
    out = [
        "| clip | Hz | s | in flight | inside | within | residual [% weight] | slide [mm/frame] | into the floor [cm] "
        "| floats [cm] | jitter [m/s³] | glitches | implied size |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        a, m = row.analysis, row.measures
        error = a.support.error[np.isfinite(a.support.error) & ~a.is_glitch]
        balance = ("—", "—") if not len(error) else (f"{np.mean(error <= 0):.2f}", f"{np.mean(error <= 1):.2f}")
        residual = np.linalg.norm(a.forces.residual_force, axis=1)[~a.is_glitch] / (a.mass * a.gravity)
        scale = implied_scale(a)
        sure = "own size" in str(scale)
        good = ~a.is_glitch
        out.append(
            f"| {row.name} | {row.rate} | {a.motion.duration:.1f} | {a.is_airborne.mean():.2f} "
            f"| {balance[0]} | {balance[1]} "
            f"| {100 * float(np.sqrt(np.mean(residual**2))):.0f} | {m.slide_mm_per_frame:.1f} "
            f"| {100 * m.penetration[good].max(initial=0.0):.1f} | {100 * m.floating[good].max(initial=0.0):.1f} "
            f"| {np.nanmedian(m.jitter):.0f} | {len(a.glitches)} | {'own' if sure else f'{scale.size:.2g} ×'} |"
        )
    return out


def page(rows: list[Row]) -> str:
    """The whole page."""
    lines = ["# Clips, as measured", ""]
    lines += [
        "What the analysis says of public clips: how they fall, balance and touch the floor. "
        "`python scripts/clips_table.py MOTIONS`\nwrites this page; `poise.analysis` defines the columns.",
        "",
        "## Flights",
        "",
    ]
    lines += [*flights_table(rows), "", "## Why the numbers are what they are", ""]
    lines += [NOTES.read_text(encoding="utf-8"), "## Clips", ""]
    return "\n".join([*lines, *clips_table(rows)]) + "\n"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("motions", type=Path)
    parser.add_argument("-o", type=Path, default=Path(__file__).parents[1] / "docs" / "clips.md")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted.o.write_text(page(measured(wanted.motions)), encoding="utf-8")


if __name__ == "__main__":
    main()
