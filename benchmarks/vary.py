"""`python -m benchmarks.vary [FILE…] [-n 20] [--seed 7]`: do kept variants pass a check, and how far apart are they?

Runs `poise vary` on each clip and reads back what it kept. Prints, for each clip and in all: variants kept; kept ones
whose file has no failing finding that the clip does not have; the distance between two kept ones over that of two
copies with 1° of white noise a joint (joints about the root, turned to its heading, rms): least, tenth and median.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import combinations
from pathlib import Path

import numpy as np

import poise
from benchmarks.clips import MOTIONS
from poise.check.clip import findings_of
from poise.cli.app import run
from poise.edit import vary
from poise.edit.report import new_findings

CLIPS = (
    "bvh/accad/Female1_B15_WalkTurnAround180.bvh",
    "bvh/other/bvh_example.bvh",
    "deepmimic/humanoid3d_crawl.txt",
)
"""Of the first motion set, besides the bundled walk."""


def measured(path: Path, count: int, seed: int) -> tuple[int, int, list[float]]:
    """Variants kept, those of them that pass, and the distances of all pairs over the noise."""
    source = poise.load(path)
    before, noise = findings_of(source), vary.noise_of(source)
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        asked = ["vary", str(path), "-o", folder, "-n", str(count), "--seed", str(seed), "--no-sheet", "--jobs", "1"]
        run(asked)
        rows = json.loads((Path(folder) / "variants.json").read_text(encoding="utf-8"))["variants"]
        kept = [poise.load(Path(folder) / row["file"]) for row in rows if row["kept"]]
    passing = sum(not new_findings(before, findings_of(m)) for m in kept)
    shapes = [vary.shape_of(m) for m in kept]
    return len(kept), passing, [vary.distance(a, b) / noise for a, b in combinations(shapes, 2)]


def row(name: str, tried: int, kept: int, passing: int, apart: Sequence[float]) -> str:
    """One line of the table."""
    far = " / ".join(f"{np.percentile(apart, p):.1f}" for p in (0, 10, 50)) if apart else "–"
    share = f"{100 * passing / kept:.0f} %" if kept else "–"
    return f"{name:<34} {kept:>4} of {tried:<5} {share:>6}   {far}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("-n", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    wanted = parser.parse_args()
    files = wanted.files or [poise.sample_path("walk"), *(MOTIONS / name for name in CLIPS)]
    print("clip                               kept          pass     apart: least / tenth / median")
    every: list[tuple[int, int, list[float]]] = []
    for path in files:
        every.append(measured(path, wanted.n, wanted.seed))
        print(row(path.name, wanted.n, *every[-1]), flush=True)
    kept, passing = sum(k for k, _, _ in every), sum(p for _, p, _ in every)
    print(row("all", wanted.n * len(files), kept, passing, [d for _, _, apart in every for d in apart]))


if __name__ == "__main__":
    main()
