"""Peak memory of simulating a 45 s clip at 120 Hz, 31 joints, in processes of their own (POSIX only)."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

_WORK = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from benchmarks.clips import MOTIONS
from benchmarks.memory import peak_mb
from poise.io import load
from poise.core.motion import Motion
from poise.filter.simulate import simulate
from poise.terrain import Terrain
motion = load(MOTIONS / "bvh" / "cmu_3dsmax" / "143_32.bvh")
back_and_forth = np.concatenate([np.arange(motion.frame_count), np.arange(motion.frame_count - 2, 0, -1)])
index = np.resize(back_and_forth, 5400)
times = motion.dt * np.arange(len(index))
long = Motion(motion.skeleton, times, motion.translations[index], motion.rotations[index])
result = simulate(long, terrain=Terrain.parse(sys.argv[1]))
print(long.skeleton.joint_count, len(result.q), peak_mb())
"""


def peak_mb() -> float:
    """Largest memory of this process [MB].

    On Linux from the kernel's own table: `ru_maxrss` begins at that of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:"))
        return float(line.split()[1]) / 1024.0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024.0**2 if sys.platform == "darwin" else 1024.0)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for ground in ("flat", "stairs:0.2,0.6"):
        done = subprocess.run([sys.executable, "-c", _WORK, ground], check=True, capture_output=True, text=True)
        joints, frames, peak = done.stdout.split()
        what = f"{ground}, {joints} joints, {frames} frames; bar 400, stretch 250"
        print(f"## Peak memory: {float(peak):.0f} MB ({what})", flush=True)


if __name__ == "__main__":
    main()
