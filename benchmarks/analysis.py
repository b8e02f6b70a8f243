"""Time and memory of the analysis of a 45 s clip at 120 Hz, 31 joints: `python -m benchmarks.analysis`.

Process CPU time, the least of several runs, on one core. The clip is real (a walk, played back and forth), so contacts
come and go.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.clips import MOTIONS
from poise.analysis import analyze, body_motion, center_of_mass, inverse_dynamics, measures, momentum, support
from poise.analysis.analyze import Analysis
from poise.body import Character, fit
from poise.core.motion import Motion
from poise.io import load

FRAMES = 5400


def long_clip() -> tuple[Motion, Character]:
    """45 s at 120 Hz, and its character."""
    motion = load(MOTIONS / "bvh" / "cmu_3dsmax" / "143_32.bvh")
    back_and_forth = np.concatenate([np.arange(motion.frame_count), np.arange(motion.frame_count - 2, 0, -1)])
    index = np.resize(back_and_forth, FRAMES)
    times = np.arange(FRAMES) / 120.0
    return Motion(motion.skeleton, times, motion.translations[index], motion.rotations[index]), fit(
        motion, masses="auto"
    )


def least(work: Callable[[], object], runs: int = 7) -> float:
    """Least CPU time [s] of some runs."""
    best = float("inf")
    for _ in range(runs):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore")
    motion, character = long_clip()
    first = analyze(motion, character)
    assert first.phases  # compiled code is loaded

    def fresh() -> Motion:
        return Motion(motion.skeleton, motion.times, motion.translations, motion.rotations)

    def momenta() -> None:
        clip = fresh()
        center_of_mass(clip, character)
        momentum(body_motion(clip, character, first.filter), character)

    def dynamics() -> None:
        forces = inverse_dynamics(first.bodies, first.momentum, first.touch, character)
        support(first.momentum.com, forces, first.touch, character)

    def whole() -> None:
        a: Analysis = analyze(fresh(), character)
        assert a.phases
        assert measures(a)

    print(f"## Analysis: {motion.skeleton.joint_count} joints, {FRAMES} frames, frames a second on one core")
    for name, work, bar in (
        ("center of mass, momentum, energy", momenta, "20,000 (200,000)"),
        ("contact forces, inverse dynamics, pressure", dynamics, "3,000 (10,000)"),
        ("all of it, phases and measures too", whole, "—"),
    ):
        print(f"{name:45s} {FRAMES / least(work):10,.0f}   bar {bar}", flush=True)
    if sys.platform != "win32":
        code = "from benchmarks.analysis import *; from benchmarks.memory import peak_mb; m, c = long_clip(); "
        code += "a = analyze(m, c); a.phases; measures(a); print(peak_mb())"
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
        peak = float(done.stdout)
        print(f"{'peak memory [MB]':45s} {peak:10,.0f}   bar 400 (250)")


if __name__ == "__main__":
    main()
