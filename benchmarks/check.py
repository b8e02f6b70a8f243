"""`poise check`: seconds for all real clips, and peak memory for one of 45 s at 120 Hz, each a process of its own.

Wall time needs two free cores; the processor time of all processes together is told beside it. Memory is POSIX only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import poise
from benchmarks.clips import MOTIONS
from poise.core.motion import Motion

RUNS = 3
MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024.0, done.returncode)
"""


def measured(*words: str) -> tuple[float, float, float]:
    """Wall time, processor time [s] and the largest process [MB] of one check."""
    began = time.perf_counter()
    command = [sys.executable, "-c", MEASURE, sys.executable, "-m", "poise", "check", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    wall = time.perf_counter() - began
    busy, peak, code = (float(x) for x in done.stdout.split())
    if code not in (0.0, 1.0):
        raise RuntimeError(f"poise check ended with {code:.0f}")
    return wall, busy, peak


def long_clip(path: Path) -> None:
    """45 s at 120 Hz, 31 joints: a real walk back and forth in time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = poise.load(MOTIONS / "bvh" / "cmu_3dsmax" / "143_32.bvh")
        back_and_forth = np.concatenate([np.arange(motion.frame_count), np.arange(motion.frame_count - 2, 0, -1)])
        index = np.resize(back_and_forth, 5400)
        times = np.arange(len(index), dtype=np.float64) * motion.dt
        poise.save(Motion(motion.skeleton, times, motion.translations[index], motion.rotations[index]), path)


def main() -> None:
    measured(str(poise.sample_path("walk")))  # warm compile cache
    best = min((measured(str(MOTIONS)) for _ in range(RUNS)), key=lambda m: m[0])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"## Check of all real clips: {best[0]:.1f} s on {cores} cores, {best[1]:.1f} s of work (bar 20, stretch 6)")
    with tempfile.TemporaryDirectory() as folder:
        page = str(Path(folder) / "page.html")
        drawn = min((measured(str(MOTIONS), "--html", page, "--overwrite") for _ in range(RUNS)), key=lambda m: m[0])
        print(f"   with the page: {drawn[0]:.1f} s, {drawn[1]:.1f} s of work")
        path = Path(folder) / "long.bvh"
        long_clip(path)
        wall, _, peak = measured(str(path))
        print(f"## Check of 45 s at 120 Hz: peak memory {peak:.0f} MB, {wall:.1f} s (bar 400, stretch 250)")


if __name__ == "__main__":
    main()
