"""Peak memory of simulating a 45 s clip at 120 Hz, 31 joints, as a process of its own (POSIX only)."""

from __future__ import annotations

import subprocess
import sys
import warnings

_WORK = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from benchmarks.clips import MOTIONS
from poise.io import load
from poise.motion import Motion
from poise.sim.simulate import simulate
motion = load(MOTIONS / "bvh" / "cmu_3dsmax" / "143_32.bvh")
back_and_forth = np.concatenate([np.arange(motion.frame_count), np.arange(motion.frame_count - 2, 0, -1)])
index = np.resize(back_and_forth, 5400)
times = motion.dt * np.arange(len(index))
long = Motion(motion.skeleton, times, motion.translations[index], motion.rotations[index])
result = simulate(long)
print(long.skeleton.joint_count, len(result.q), result.report["wall_seconds"])
"""


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = subprocess.run([sys.executable, "-c", _WORK], check=True, capture_output=True, text=True)
    import resource

    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024.0
    joints, frames, _ = done.stdout.split()
    print(f"## Peak memory: {peak:.0f} MB ({joints} joints, {frames} frames; bar 400, stretch 250)")


if __name__ == "__main__":
    main()
