"""Many characters in one process: `python -m benchmarks.crowd [COUNT]`; 200 by default.

Each is a filter of its own on the bundled walk, at another moment of it, and is shoved. `poise.step_all` gives all of
them their next pose. Printed are the wall time of a tick (fastest and median of 40), how many characters that makes
at 50 Hz, and the processor time of a frame.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import numpy as np

import poise
from poise.body import fit
from poise.samples import sample_path

RATE, TICKS = 50.0, 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=200)
    count = parser.parse_args().count
    motion = poise.load(sample_path("walk"))
    character = fit(motion)
    poses = poise.motion_to_q(character, motion.resampled(np.arange(0.0, motion.duration, 1.0 / RATE)))
    crowd = [poise.QuasiPhysicalFilter(character, dt=1.0 / RATE) for _ in range(count)]
    rng = np.random.default_rng(0)
    first = rng.integers(0, len(poses) - TICKS - 20, count)
    for filter_ in crowd:
        way = rng.uniform(0.0, 2.0 * np.pi)
        filter_.push(poise.Push("chest", (250.0 * np.cos(way), 250.0 * np.sin(way), 0.0), rng.uniform(0.0, 0.6), 0.2))
    print(f"{count} characters of {character.nv} dof, {os.cpu_count()} processors")
    for threads in (1, 2, os.cpu_count() or 2):
        walls, used = [], []
        for filter_ in crowd:
            filter_.reset()
        for k in range(TICKS + 15):
            now = [poses[at + k] for at in first]
            began, cpu = time.perf_counter(), time.process_time()
            poise.step_all(crowd, now, threads=threads)
            walls.append(time.perf_counter() - began)
            used.append(time.process_time() - cpu)
        wall, best = np.median(walls[15:]), min(walls[15:])
        each = 1e6 * np.median(used[15:]) / count
        print(
            f"  {threads} threads: a tick {1e3 * best:.1f} ms (median {1e3 * wall:.1f}); {each:.0f} µs of processor a "
            f"frame; {count / (RATE * best):.0f} characters at {RATE:.0f} Hz (median "
            f"{count / (RATE * wall):.0f})   bar 200, stretch 400",
            flush=True,
        )


if __name__ == "__main__":
    main()
