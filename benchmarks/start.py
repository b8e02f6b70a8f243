"""How fast Poise starts and reads: `python -m benchmarks.start`. Rows are fresh processes; wall time, best of three."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from poise.io import load
from poise.samples import sample_path

SIMULATE = (
    "-m", "poise", "simulate", "{walk}", "--push", "chest 300 0 0 @0.2+0.2", "--terrain", "slope:5", "-o", "{out}",
    "--overwrite",
)  # fmt: skip


def seconds(*command: str, times: int = 3, **environment: str) -> float:
    """Wall time of a fresh process [s]."""
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, *command], check=True, env={**os.environ, **environment}, stdout=subprocess.DEVNULL
        )
        best = min(best, time.perf_counter() - began)
    return best


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    bare = seconds("-c", "")
    print(f"python itself                   {bare:5.2f} s")
    print(f"import poise                    {seconds('-c', 'import poise'):5.2f} s   bar 0.5, stretch 0.3")
    print(f"poise --help                    {seconds('-m', 'poise', '--help'):5.2f} s   bar 0.6, stretch 0.4")
    with tempfile.TemporaryDirectory() as folder:
        words = [w.format(walk=sample_path("walk"), out=Path(folder) / "out.bvh") for w in SIMULATE]
        print(f"simulate                        {seconds(*words):5.2f} s   bar 3, stretch 1.5")
        print(f"read BVH, 10,000 frames         {reading(Path(folder) / 'long.bvh'):5.2f} s   bar 0.5, in this process")


def reading(path: Path, frames: int = 10_000) -> float:
    """Wall time to read a BVH file of so many frames, the bundled walk again and again [s]; best of three."""
    head, rows = sample_path("walk").read_text(encoding="utf-8").split("MOTION\n")
    table = rows.splitlines()[2:]
    lines = [table[k % len(table)] for k in range(frames)]
    path.write_text(
        "\n".join((f"{head}MOTION", f"Frames: {frames}", rows.splitlines()[1], *lines, "")), encoding="utf-8"
    )
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        load(path)
        best = min(best, time.perf_counter() - began)
    return best


if __name__ == "__main__":
    main()
